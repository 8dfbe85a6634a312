/* Blocks decompressed piece by piece: the state of each codec.  Private to codec/. */
#ifndef AX_CODEC_STREAM_INT_H
#define AX_CODEC_STREAM_INT_H

#include "codec/codec.h"

/* A snappy block.  An element may be cut anywhere by the end of the input or of the room. */
typedef struct ax_snappy_stream
{
    uint64_t produced;
    uint32_t lit_left;            /* bytes of the current literal still to come */
    uint32_t copy_left, copy_off; /* of the current copy */
    uint8_t tag[5], ntag;         /* first bytes of the next element */
    bool begun;                   /* the length in front was read */
    uint8_t nlen;                 /* bytes of it seen */
    uint64_t len;
} ax_snappy_stream;

struct ax_cdc_stream
{
    ax_codec codec;
    size_t total, produced;       /* bytes of the block, and of it so far */
    ax_snappy_stream snappy;
    void *zstd;                   /* ZSTD_DCtx, owned */
    void *zlib;                   /* z_stream in the arena, inflateEnd when not NULL */
    bool ended;                   /* zstd, gzip: between two frames or members */
    ax_arena *arena;
};

/* See ax_cdc_stream_run. */
ax_status ax_snappy_stream_run(ax_task *t, ax_cdc_stream *s, const uint8_t **src,
                               const uint8_t *end, uint8_t *buf, size_t *pos, size_t cap)
    AX_MUST_USE;

#endif
