/* Codecs: bytes to bytes, each call bounded by a size that the caller knows beforehand.
 *
 * A file says how long a block is after decompression.  That number is checked against limits and
 * charged to a budget by the caller; here it is exact: a block that yields fewer or more bytes is
 * corrupt.  Nothing is written behind dst_len, whatever the block says.
 *
 * Contexts of libraries that are costly to make live in an ax_cdc, which belongs to one task and is
 * released with the arena it was made in.
 *
 * Format: the blocks are those of the libraries (raw snappy block, zstd frames, gzip or zlib
 * members, one raw LZ4 block, Hadoop's framing of LZ4 blocks, brotli stream). */
#ifndef AX_CODEC_H
#define AX_CODEC_H

#include "base/task.h"

typedef enum ax_codec
{
    AX_CDC_NONE = 0,
#define AX_CODEC(name, text) AX_CDC_##name,
#include "codec/codecs.def"
#undef AX_CODEC
    AX_CDC_CNT
} ax_codec;

typedef struct ax_cdc ax_cdc;

/* Decompression contexts, made at first use.  Freed when a is reset or destroyed. */
ax_status ax_cdc_create(ax_task *t, ax_arena *a, ax_cdc **out) AX_MUST_USE;

/* Decompress src[src_len] into dst, which gets exactly dst_len bytes.  NONE copies.
 * Thread: task.  Errors: ECORRUPT (dst is undefined then), ENOMEM. */
ax_status ax_cdc_decompress(ax_task *t, ax_cdc *c, ax_codec codec, const uint8_t *src,
                            size_t src_len, uint8_t *dst, size_t dst_len) AX_MUST_USE;

/* ---- piece by piece -------------------------------------------------------------------------- */

#define AX_CDC_HISTORY ((size_t) 64 << 10)

/* The decompression of one block after the other, in pieces of any size. */
typedef struct ax_cdc_stream ax_cdc_stream;
bool ax_cdc_streams(ax_codec codec); /* can its blocks be taken in pieces? */

/* Released when a is reset or destroyed. */
ax_status ax_cdc_stream_create(ax_task *t, ax_arena *a, ax_cdc_stream **out) AX_MUST_USE;
ax_status ax_cdc_stream_begin(ax_task *t, ax_cdc_stream *s, ax_codec codec, size_t total)
    AX_MUST_USE;

/* Take input from [*src, end) and write output to buf[*pos..cap), until one of them is used up.  In
 * front of *pos stand the last AX_CDC_HISTORY bytes of output, or all if there were fewer.
 * Errors: ECORRUPT; EUNSUPPORTED: the rest needs more memory than this gives: decompress the
 * whole block. */
ax_status ax_cdc_stream_run(ax_task *t, ax_cdc_stream *s, const uint8_t **src, const uint8_t *end,
                            uint8_t *buf, size_t *pos, size_t cap) AX_MUST_USE;

/* All output is there; [src, end) is what is left of the input.  Does the block end so? */
ax_status ax_cdc_stream_end(ax_task *t, ax_cdc_stream *s, const uint8_t *src, const uint8_t *end)
    AX_MUST_USE;

/* A large snappy block in pieces that several threads decompress: begin; ax_cdc_cut_walk for each
 * `first` = 0, ABREAST, ... below nwalks, in any order and at once; join; then likewise each piece.
 * Where the pieces do not come out right, the block must be decompressed as a whole: it is corrupt,
 * or from a writer that does not compress 64 KiB at a time. */
enum { AX_CDC_WALKS = 32, AX_CDC_ABREAST = 4, AX_CDC_CUT_BYTES = 4 << 20 };

typedef struct ax_cdc_walk { const uint8_t *begin, *stop, *at; uint64_t out; } ax_cdc_walk;
typedef struct ax_cdc_piece { const uint8_t *src; size_t src_len; uint64_t dst; size_t dst_len; }
    ax_cdc_piece;

typedef struct ax_cdc_cut
{
    const uint8_t *src, *end; /* the block, borrowed */
    size_t dst_len;
    uint32_t nwalks, npieces;
    ax_cdc_walk walk[AX_CDC_WALKS];
    ax_cdc_piece piece[AX_CDC_WALKS];
} ax_cdc_cut;

/* false: not worth it, or no snappy block of dst_len bytes. */
bool ax_cdc_cut_begin(const uint8_t *src, size_t src_len, size_t dst_len, ax_cdc_cut *cut);
void ax_cdc_cut_walk(ax_cdc_cut *cut, uint32_t first);
uint32_t ax_cdc_cut_join(ax_cdc_cut *cut); /* returns npieces; 1: no boundary was found */

/* Decompress piece i to its place in dst[dst_len].  false: it is no piece. */
bool ax_cdc_cut_piece(const ax_cdc_cut *cut, uint32_t i, uint8_t *dst);

const char *ax_cdc_name(ax_codec codec); /* "snappy", "none" */

#endif
