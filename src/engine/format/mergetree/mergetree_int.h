/* MergeTree: what the files of this folder share.
 *
 *   mergetree.c   the format struct
 *   open.c        the opening of a part: which files are asked for, in which order
 *   meta.c        columns.txt, count.txt, checksums.txt, columns_substreams.txt
 *   serinfo.c     serialization.json
 *   type.c        names of types to trees
 *   cityhash.c    CityHash 1.0.2 and SipHash as ClickHouse has them
 *   frame.c       compressed frames;  codec_*.c  ClickHouse's own codecs
 *   streams.c     type trees to nodes and streams: which bytes a column is made of
 *   marks.c       mark files
 *   cursor.c      decompressed bytes of one stream, from a mark on
 *   serial.c      nodes to values: dispatch, Nullable, Tuple;  serial_*.c  one file a serialization
 *   bind.c conv.c declared columns, and values to vectors
 *   json.c        values of nested types as JSON text
 *   prune.c       which granules may match
 *   skip.c skip_read.c skip_hash.c   skip indexes (skip_int.h)
 *   check.c       text is checked where it leaves
 *   scan.c        the step machine: filter columns first
 *   patch.c       patch parts: which rows of a part they change;  patch_bind.c  and which columns
 *   patch_scan.c  values of patch parts in place of the part's
 *   default.c     nodes of constants
 *   derive.c      columns that a part lacks, or has in another type;  derive_*.c  expressions
 *   final.c       rows that replace others: what the engine of a table makes of them
 *   aggregate.c   states of aggregate functions: layouts, and types of results
 *   finalise.c    their results;  state.c  their sums
 *   facts.c       what is in parts, for people
 *
 * Vocabulary.  Part: a directory, the unit of opening.  Granule: rows between two marks, the same
 * for all columns of a part.  Stream: one sequence of bytes that a column is made of (`s.size`).
 * Wide part: a .bin file a stream.  Compact part: one data.bin, in which granule follows granule
 * and in a granule stream follows stream.  Frame: a compressed block; values may straddle frames.
 * Node: a type as this part stores it.
 *
 * How a column is read.  A cursor (ax_mt_cur) gives the decompressed bytes of one stream in order,
 * after it was put on the mark of a granule.  A reader (ax_mt_reader) walks the nodes of a column;
 * each node takes n values from its cursors into an ax_mt_vals, which says where they are, mostly
 * inside the frames themselves.  A conversion (ax_mt_conv) makes a vector of these.  None of them
 * waits: the scan asks for the compressed bytes of a run of granules before anything is decoded.
 *
 * Ownership.  An ax_mt_part and all below it live in its file's arena and are immutable after
 * opening, but for marks and the primary index, which are loaded once and published (format.h).
 * Readers live in the arena of the scan; what is not memory of it is released by free functions.
 *
 * Format: mergetree.md in docs/formats, with sources. */
#ifndef AX_MERGETREE_INT_H
#define AX_MERGETREE_INT_H

#include <pthread.h>

#include "base/bytes.h"
#include "codec/codec.h"
#include "format/format.h"
#include "func/func.h"

/* Limits against hostile files. */
enum
{
    MT_MAX_DEPTH = 32,                   /* of types, and of codecs in codecs */
    MT_MAX_FRAME_BYTES = 1 << 30,
    MT_MAX_META_BYTES = 256 << 20,       /* of one metadata file after decompression */
    MT_MAX_STREAMS = 1 << 20,
    MT_NO_STREAM = -1
};

/* ---- hashes ---------------------------------------------------------------------------------- */

typedef struct ax_mt_hash { uint64_t lo, hi; } ax_mt_hash; /* in the order of the files */

/* CityHash 1.0.2, which later versions do not agree with. */
uint64_t ax_mt_city64(const uint8_t *s, size_t n);
ax_mt_hash ax_mt_city128(const uint8_t *s, size_t n);
ax_mt_hash ax_mt_city128_seed(const uint8_t *s, size_t n, ax_mt_hash seed);
uint64_t ax_mt_city_mix(uint64_t u, uint64_t v);

/* SipHash-2-4 with a zero key, and ClickHouse's own 128-bit form of it. */
uint64_t ax_mt_sip64(const uint8_t *s, size_t n);
ax_mt_hash ax_mt_sip128(const uint8_t *s, size_t n);

/* Hash of a file's bytes in pieces: start with {0, 0}, add whole blocks of 2048 bytes, the rest
 * last. */
ax_mt_hash ax_mt_file_hash(ax_mt_hash h, const uint8_t *s, size_t n);

/* ---- types ----------------------------------------------------------------------------------- */

typedef enum ax_mt_tid
{
    MT_NONE, MT_INT, MT_UINT, MT_BOOL, MT_FLOAT, MT_BFLOAT16, MT_DECIMAL, MT_DATE, MT_DATE32,
    MT_DATETIME, MT_DATETIME64, MT_TIME, MT_TIME64, MT_INTERVAL, MT_ENUM, MT_UUID, MT_IPV4,
    MT_IPV6, MT_FIXEDSTRING, MT_STRING, MT_NOTHING, MT_NULLABLE, MT_LOWCARD, MT_ARRAY, MT_TUPLE,
    MT_MAP, MT_VARIANT, MT_AGGREGATE, MT_QBIT, MT_DYNAMIC, MT_JSON, MT_OTHER
} ax_mt_tid;

typedef enum ax_mt_unit
{
    MT_NANOSECOND, MT_MICROSECOND, MT_MILLISECOND, MT_SECOND, MT_MINUTE, MT_HOUR, MT_DAY, MT_WEEK,
    MT_MONTH, MT_QUARTER, MT_YEAR
} ax_mt_unit;

typedef struct ax_mt_label { int32_t code; uint32_t len; const char *name; } ax_mt_label;

/* A type.  Aliases and transparent wrappers are resolved: SimpleAggregateFunction is its argument,
 * Nested is Array(Tuple), geo types are what they are made of. */
typedef struct ax_mt_type
{
    uint8_t id;                   /* ax_mt_tid */
    uint8_t unit;                 /* INTERVAL: ax_mt_unit */
    int16_t precision, scale;     /* DECIMAL, DATETIME64, TIME64 (scale only) */
    uint32_t width;               /* bytes of a value in bulk form; 0: varies, or no plain array */
    uint32_t dim;                 /* QBIT */
    const char *text;             /* as written in columns.txt */
    const char *zone;             /* DATETIME*, or NULL */
    const ax_mt_label *label;     /* [nlabel] ENUM, ascending codes */
    uint32_t nlabel;
    uint32_t nchild;              /* NULLABLE, LOWCARD, ARRAY, TUPLE, MAP (2), VARIANT; AGGREGATE:
                                   * its arguments */
    const struct ax_mt_type **child;
    const char **name;            /* [nchild] TUPLE: NULL when unnamed; AGGREGATE: name[0] is the
                                   * function */
    const struct ax_mt_agg *agg;  /* AGGREGATE: its states; NULL: they are not known */
} ax_mt_type;

/* A type without Nullable and LowCardinality. */
static inline const ax_mt_type *ax_mt_bare(const ax_mt_type *ty)
{
    while (ty->id == MT_NULLABLE || ty->id == MT_LOWCARD)
        ty = ty->child[0];
    return ty;
}

/* Parse the canonical name of a type.  ECORRUPT when it is malformed; types that are not known are
 * MT_OTHER, and no error. */
ax_status ax_mt_type_parse(ax_task *t, ax_arena *a, const char *text, size_t n,
                           const ax_mt_type **out) AX_MUST_USE;

/* ---- states of aggregate functions ----------------------------------------------------------- */

typedef enum ax_mt_aggkind
{
    MT_A_NONE, MT_A_COUNT, MT_A_NUMBER, MT_A_AVG, MT_A_WEIGHTED, MT_A_MOMENTS, MT_A_ONE, MT_A_PAIR,
    MT_A_UNIQ, MT_A_SET, MT_A_LIST, MT_A_QUANTILE, MT_A_MAP
} ax_mt_aggkind;

enum { MT_AGG_ARGS = 8 };

/* States of one function over arguments of certain types: what their bytes are (aggregate.c). */
typedef struct ax_mt_agg
{
    uint8_t kind;                 /* ax_mt_aggkind */
    bool flag;                    /* a byte before the state tells if there is one */
    bool nullable;                /* the result is null when there is none */
    const char *name;             /* of the function, without -If */
    const ax_mt_type *arg[MT_AGG_ARGS]; /* without Nullable; MAP: elements of the arrays */
    uint32_t narg;                /* MAP */
    uint32_t width;               /* NUMBER, AVG, MOMENTS: of a number; SET, LIST, QUANTILE: of a
                                   * value, LIST: 0 when it has a length */
    uint32_t version;             /* of the state, as the type says */
    double level;                 /* QUANTILE */
    const ax_mt_type *result;     /* of finalising; NULL: it is not done */
} ax_mt_agg;

/* params: "(0.9)" or "" behind the function's name.  *out NULL: states of the type (an AGGREGATE)
 * are not known. */
ax_status ax_mt_agg_make(ax_task *t, ax_arena *a, const ax_mt_type *ty, uint32_t version,
                         const char *params, const ax_mt_agg **out) AX_MUST_USE;

/* ---- compressed frames ----------------------------------------------------------------------- */

enum { MT_FRAME_HEAD = 25 };      /* checksum (16), method, compressed and decompressed size */

typedef struct ax_mt_frame
{
    const uint8_t *body;          /* [nbody] behind the header */
    uint32_t nbody;
    uint32_t size;                /* bytes after decompression, > 0 */
    uint32_t total;               /* bytes in the file, checksum included */
    uint8_t method;
} ax_mt_frame;

/* The frame at p, of which n bytes are at hand.  Nothing of the body is looked at. */
ax_status ax_mt_frame_head(ax_task *t, const uint8_t *p, size_t n, ax_mt_frame *out) AX_MUST_USE;

/* Compare the checksum.  p: where the frame begins. */
ax_status ax_mt_frame_check(ax_task *t, const uint8_t *p, const ax_mt_frame *f) AX_MUST_USE;

/* Decompress into dst[f->size]; AX_PAD bytes behind dst may be written. */
ax_status ax_mt_frame_decode(ax_task *t, ax_cdc *cdc, const ax_mt_frame *f, uint8_t *dst)
    AX_MUST_USE;

/* All frames of a metadata file in one buffer of arena a. */
ax_status ax_mt_frames_all(ax_task *t, ax_arena *a, ax_cdc *cdc, const uint8_t *p, size_t n,
                           const uint8_t **out, size_t *nout) AX_MUST_USE;

/* Bits, most significant first. */
typedef struct ax_mt_bits { const uint8_t *p; uint64_t at, end; } ax_mt_bits;

/* The next n <= 64 bits; false: there are not so many. */
static inline bool ax_mt_bits_take(ax_mt_bits *b, unsigned n, uint64_t *out)
{
    uint64_t v = 0;

    if (n > b->end - b->at)
        return false;
    while (n > 0)
    {
        unsigned in = (unsigned) (b->at & 7), k = 8 - in < n ? 8 - in : n;
        uint64_t byte = b->p[b->at >> 3];

        v = v << k | ((byte >> (8 - in - k)) & ((1u << k) - 1));
        b->at += k;
        n -= k;
    }
    *out = v;
    return true;
}

/* What stands before the values of Delta, DoubleDelta, Gorilla and GCD.  Returns the width of a
 * value, or 0: corrupt.  All four are moved to the transformed part; *size is a multiple of the
 * width then. */
uint32_t ax_mt_codec_head(const uint8_t **src, size_t *n, uint8_t **dst, size_t *size,
                          uint32_t max_width);

/* One codec of ClickHouse's own: src[n] into dst[size] exactly; false: corrupt. */
typedef bool (*ax_mt_codec_fn)(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_delta(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_double_delta(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_gorilla(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_t64(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_gcd(const uint8_t *src, size_t n, uint8_t *dst, size_t size);
bool ax_mt_alp(const uint8_t *src, size_t n, uint8_t *dst, size_t size);

/* FPC keeps tables, whose size the block says; they are charged to the task. */
ax_status ax_mt_fpc(ax_task *t, const uint8_t *src, size_t n, uint8_t *dst, size_t size)
    AX_MUST_USE;

/* ---- parts ----------------------------------------------------------------------------------- */

/* A file of the part.  name is what stands in the part; path is where its bytes are. */
typedef struct ax_mt_member
{
    const char *name;
    const char *path;
    uint64_t size;
} ax_mt_member;

/* Where granules begin in one stream: n + 1 entries, the last is the end of the stream. */
typedef struct ax_mt_marks
{
    uint32_t n;
    const uint64_t *off;          /* of a frame in the file */
    const uint32_t *at;           /* byte in the decompressed frame */
} ax_mt_marks;

typedef struct ax_mt_stream
{
    const char *name;             /* as section 8 of the format has it: escaped, not hashed */
    const ax_mt_member *bin;      /* its bytes; Compact: data.bin */
    const ax_mt_member *marks_file; /* Wide; NULL: there are no marks, the part has no rows */
    int32_t mark_idx;             /* Compact: which mark of a record; -1: follows the one before it
                                   * in its column (marks of columns only) */
    bool prefix;                  /* Wide: it begins with something that belongs to no granule */
    bool info;                    /* Wide: it has nothing but that */
    bool ahead;                   /* Wide: a mark is where a dictionary begins, which is used up to
                                   * the next mark that differs */
    _Atomic(const ax_mt_marks *) marks; /* NULL: not loaded yet */
} ax_mt_stream;

typedef enum ax_mt_form
{
    MT_F_FIXED,      /* stream 0: values */
    MT_F_STRING,     /* 0: length and bytes of each value */
    MT_F_STRING_SIZE,/* 0: bytes, 1: u64 lengths */
    MT_F_NULLABLE,   /* 0: null bytes; child */
    MT_F_SPARSE,     /* 0: offsets; child: the values that are not the default */
    MT_F_ARRAY,      /* 0: u64 sizes; child.  Maps are arrays of tuples */
    MT_F_TUPLE,      /* children */
    MT_F_EMPTY_TUPLE,/* 0: a byte a row */
    MT_F_LOWCARD,    /* 0: indexes, 1: dictionaries, 2: Compact: version alone; child: the keys */
    MT_F_VARIANT,    /* 0: discriminators, 1: Compact: mode alone; children */
    MT_F_BUCKETS,    /* Map in buckets.  0: bucket of each entry, 1: information; children: maps */
    MT_F_QBIT,       /* children: one FIXED stream a bit */
    MT_F_AGGREGATE   /* 0: states one behind the other */
} ax_mt_form;

/* A type as this part stores it. */
typedef struct ax_mt_node
{
    const ax_mt_type *type;
    uint8_t form;                 /* ax_mt_form */
    int32_t stream[3];            /* ordinals in the part, MT_NO_STREAM: it has none */
    uint32_t nchild;
    struct ax_mt_node **child;
    const struct ax_mt_vals *deflt; /* the part has no bytes of it: the value of every row (its
                                   * forms are FIXED, STRING, NULLABLE, ARRAY, TUPLE, VARIANT) */
} ax_mt_node;

/* How one column is serialized, from serialization.json. */
typedef struct ax_mt_kind
{
    bool sparse;
    uint32_t nsub;                /* elements of a Tuple */
    struct ax_mt_kind *sub;
} ax_mt_kind;

typedef struct ax_mt_serinfo
{
    uint8_t string, nullable, map; /* versions */
    bool propagate;
    uint32_t n;
    const char **name;            /* [n] */
    ax_mt_kind *kind;             /* [n] */
} ax_mt_serinfo;

typedef struct ax_mt_column
{
    const char *name;
    const ax_mt_type *type;
    ax_mt_node *node;             /* NULL: the part has no bytes of it (or `refusal`) */
    const char *refusal;          /* why it cannot be read, or NULL */
    bool dropped;                 /* by a mutation that the part waits for */
    bool patched;                 /* patch parts have values of it: nothing that the part says of
                                   * its values holds */
    uint32_t stream0, nstreams;   /* its streams, in the order of writing */
    uint64_t bytes;               /* compressed; Compact: 0 */
    uint32_t field;               /* in the schema; UINT32_MAX: one of ClickHouse's own */
    const struct ax_mt_value *minmax; /* [2] from minmax_<column>.idx, or NULL */
    const struct ax_mt_derived *derived; /* it is computed from others: it has no streams, and its
                                   * node tells what values look like; or NULL */
} ax_mt_column;

/* A column that is computed (derive_int.h). */
struct ax_mt_derived
{
    uint32_t narg;
    const ax_mt_column **arg;     /* [narg] columns that it reads, none of them derived */
    const struct ax_mt_x *root;   /* its type is that of the column */
};

/* One value outside of streams: bytes as of bulk form, those of a string without its length. */
typedef struct ax_mt_value { const uint8_t *p; uint32_t n; bool null; } ax_mt_value;

/* What a column of the primary key is: a value of which nothing more is known, a function that
 * tells where one value of the column is, the column, or a function that goes up with it. */
typedef enum ax_mt_keyfn
{
    MT_K_OTHER, MT_K_CITY64, MT_K_SIP64, MT_K_INT64, MT_K_INT32, MT_K_MODULO, MT_K_LOWER,
    MT_K_UPPER,
    MT_K_COLUMN, MT_K_DATE, MT_K_YYYYMM, MT_K_YYYYMMDD, MT_K_YEAR, MT_K_MONTH,
    MT_K_START_YEAR, MT_K_MONDAY, MT_K_DAY, MT_K_HOUR, MT_K_MINUTE, MT_K_DIV
} ax_mt_keyfn;

typedef struct ax_mt_keycol
{
    uint8_t fn;                   /* ax_mt_keyfn */
    bool desc;
    int32_t column;               /* of the part, -1: it has no such column */
    uint32_t by;                  /* MODULO, DIV: the divisor */
    const ax_mt_type *type;       /* of the values in the index */
} ax_mt_keycol;

/* The primary index: n rows of ncols values; row g is that of the first row of granule g, and there
 * may be one more, of the last row. */
typedef struct ax_mt_keys
{
    uint32_t ncols, n;
    ax_mt_keycol *col;            /* [ncols] */
    ax_mt_value *value;           /* [n * ncols] */
} ax_mt_keys;

typedef struct ax_mt_part
{
    ax_fmt_file base;
    const char *dir;              /* path of the part */
    const char *options;          /* what is known of the table: "key=value" lines, or NULL */
    const char *name;             /* its last component */
    bool compact, adaptive, compressed_marks;
    bool marks_of_columns;        /* Compact: a mark a column (mrk3), not a stream */
    uint32_t marks_per_record;    /* Compact */
    const char *marks_ext;        /* ".cmrk2" */
    uint64_t bytes;               /* compressed, of all its files */
    int64_t rows;                 /* stored, those that a DELETE hides included */
    uint32_t ngran;
    const uint64_t *row_at;       /* [ngran + 1] first row of each granule */
    ax_mt_member *member;         /* [nmembers] sorted by name */
    uint32_t nmembers;
    ax_mt_column *column;         /* [ncolumns] */
    uint32_t ncolumns;
    ax_mt_stream *stream;         /* [nstreams] */
    uint32_t nstreams;
    ax_mt_serinfo ser;
    const char *const *substream; /* columns_substreams.txt: [nsub_at[ncolumns]] names, or NULL */
    const uint32_t *substream_at; /* [ncolumns + 1] */
    int32_t row_exists;           /* column ordinal of _row_exists, -1: none */
    const ax_mt_member *data;     /* Compact: data.bin */
    const ax_mt_member *data_marks;
    pthread_mutex_t lock;         /* guards the arena for what is loaded later */
    const ax_mt_keys *keys;       /* the primary index; NULL: none, or not to be taken apart */
    const ax_mt_keys *partition;  /* one row, whose values all rows have; NULL as above */
    uint32_t *split_gran;         /* [nsplits + 1] granules at which splits begin */
    struct ax_mt_skip *skip;      /* [nskips] its skip indexes (skip_int.h) */
    uint32_t nskips;
    const ax_mt_member *skip_pack; /* skp_idx.packed, where skip indexes may be; or NULL */
    struct ax_mt_source *source;  /* [nsources] a patch part: the parts whose rows it changes */
    uint32_t nsources;
    const char *source_key;       /* and the sorting key, whose columns it has besides those that it
                                   * changes; NULL: it has not */
    struct ax_mt_patch *patch;    /* [npatches] patch parts that change rows of this part */
    uint32_t npatches;
    bool patched_away;            /* some of them delete rows */
} ax_mt_part;

/* Are there rows in the part that are none of the table? */
static inline bool ax_mt_hides_rows(const ax_mt_part *p)
{
    return p->row_exists >= 0 || p->patched_away;
}

/* Member by name, or NULL. */
const ax_mt_member *ax_mt_member_find(const ax_mt_part *p, const char *name);

/* ---- metadata files -------------------------------------------------------------------------- */

ax_status ax_mt_columns_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n) AX_MUST_USE;
ax_status ax_mt_substreams_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n)
    AX_MUST_USE;
/* Rename and drop columns as the mutations say that the part waits for (options mutation=...). */
ax_status ax_mt_mutations_apply(ax_task *t, ax_mt_part *p) AX_MUST_USE;

ax_status ax_mt_count_parse(ax_task *t, const uint8_t *s, size_t n, int64_t *rows) AX_MUST_USE;
ax_status ax_mt_serinfo_parse(ax_task *t, ax_arena *a, const uint8_t *s, size_t n,
                              ax_mt_serinfo *out) AX_MUST_USE;

typedef struct ax_mt_sum
{
    const char *name;
    uint64_t size, plain_size;
    ax_mt_hash hash, plain_hash;
    bool compressed;
} ax_mt_sum;

/* checksums.txt: entries sorted by name. */
ax_status ax_mt_checksums_parse(ax_task *t, ax_arena *a, const uint8_t *s, size_t n,
                                ax_mt_sum **out, uint32_t *nout) AX_MUST_USE;

/* Name as a part of a file's name. */
ax_status ax_mt_escape(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
    AX_MUST_USE;

/* ---- patch parts ----------------------------------------------------------------------------- */

/* A line of source_parts.dat. */
typedef struct ax_mt_source
{
    const char *name;
    uint64_t min_version, max_version; /* of the rows that change it */
    bool of_part;                 /* it is the part that is being patched, or was merged into it */
} ax_mt_source;

/* A row of a patch part, and which row of the part it changes: {its number, 0}, or its block and
 * the number in the block. */
typedef struct ax_mt_patch_row
{
    uint64_t key[2];
    uint64_t version;             /* of several rows for one the highest counts */
    uint32_t row;                 /* of the patch part */
} ax_mt_patch_row;

typedef struct ax_mt_patch_rows
{
    ax_mt_patch_row *here, *moved; /* [nhere] by number, [nmoved] by block; ascending by key and
                                    * version */
    uint32_t nhere, nmoved;
} ax_mt_patch_rows;

/* A patch part as it concerns one part. */
typedef struct ax_mt_patch
{
    ax_mt_part *part;             /* owned reference */
    ax_mt_source *source;         /* [part->nsources] */
    bool here, moved;             /* it may have rows by their number in the part, by their block */
    _Atomic(const ax_mt_patch_rows *) rows; /* NULL: not loaded yet */
} ax_mt_patch;

/* The opening of the patch parts that p->options name; they are added to p. */
typedef struct ax_mt_patch_opening ax_mt_patch_opening;
ax_status ax_mt_patches_begin(ax_task *t, ax_arena *a, ax_mt_part *p, ax_budget *meta_budget,
                              ax_mt_patch_opening **out) AX_MUST_USE; /* NULL: there are none */
ax_status ax_mt_patches_step(ax_task *t, ax_mt_patch_opening *o, ax_fmt_event *ev, bool *done)
    AX_MUST_USE;
void ax_mt_patches_end(ax_mt_patch_opening *o); /* NULL is allowed */

ax_status ax_mt_sources_parse(ax_task *t, ax_mt_part *p, const uint8_t *s, size_t n) AX_MUST_USE;

/* The column of that name if patch part q changes it, or NULL. */
const ax_mt_column *ax_mt_patch_column(const ax_mt_part *q, const char *name);

/* By its name: the newest change that the part has; the block of which all its rows are, false: it
 * may be of several. */
bool ax_mt_data_version(const ax_mt_part *p, uint64_t *out);
bool ax_mt_one_block(const ax_mt_part *p, uint64_t *out);

/* Keep the rows of r, in any order, which may be another scan's by then; those of r are spoilt. */
ax_status ax_mt_patch_publish(ax_task *t, ax_mt_part *p, ax_mt_patch *e, ax_mt_patch_rows *r)
    AX_MUST_USE;

/* The first of the rows [n] whose key is not below {k0, k1}. */
uint32_t ax_mt_patch_find(const ax_mt_patch_row *r, uint32_t n, uint64_t k0, uint64_t k1);

/* ---- nodes and streams ----------------------------------------------------------------------- */

/* Work out nodes and streams of all columns. */
ax_status ax_mt_streams_make(ax_task *t, ax_mt_part *p) AX_MUST_USE;

/* Parse mark files: for the rows of granules (row_at, while the part is opened; granularity: rows a
 * granule where marks do not tell), and of one stream (Compact: of all).  The bytes are those of
 * the file. */
ax_status ax_mt_granules(ax_task *t, ax_mt_part *p, ax_arena *scratch, const uint8_t *s, size_t n,
                         uint64_t granularity) AX_MUST_USE;
ax_status ax_mt_marks_load(ax_task *t, ax_mt_part *p, ax_arena *scratch, ax_mt_stream *st,
                           const uint8_t *s, size_t n) AX_MUST_USE;

static inline const ax_mt_marks *ax_mt_marks_of(const ax_mt_stream *s)
{
    return atomic_load_explicit(&s->marks, memory_order_acquire);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The compressed bytes of one file that a scan has at hand: pieces in ascending order.  Belongs to
 * one scan. */
typedef struct ax_mt_piece { uint64_t off; ax_buf *buf; } ax_mt_piece;

typedef struct ax_mt_src
{
    const ax_mt_member *member;
    ax_io_file *file;             /* owned; NULL: not opened yet */
    ax_mt_piece *piece;           /* [npieces] owned buffers */
    uint32_t npieces, cap;
    struct ax_mt_open_frame       /* frames decompressed last; several streams of a Compact part
                                   * share them */
    {
        uint64_t off;
        ax_buf *buf;              /* owned reference; NULL: free */
    } recent[4];
    uint32_t next_recent;
    bool keep;                    /* its pieces stay when a run is over */
} ax_mt_src;

/* What all cursors of one scan share. */
typedef struct ax_mt_env
{
    const ax_mt_part *part;
    ax_cdc *cdc;
    ax_budget *budget;
    ax_scan_stats *stats;
    bool verify;                  /* checksums of frames */
} ax_mt_env;

/* One window of rows: where its values live. */
typedef struct ax_mt_win
{
    ax_batch *batch;              /* pins frames; its arena takes copies */
    uint64_t no;                  /* differs from window to window */
} ax_mt_win;

typedef struct ax_mt_cur
{
    const ax_mt_env *env;
    const ax_mt_stream *stream;
    ax_mt_src *src;
    uint64_t off;                 /* of the current frame in the file */
    uint32_t total;               /* its bytes in the file; 0: its header was not read yet */
    uint32_t size;                /* its bytes decompressed, once total is known */
    uint32_t pos;                 /* next byte in it */
    ax_buf *buf;                  /* owned; NULL: not decompressed */
    uint64_t pinned;              /* window that holds buf already */
    uint64_t prev_off, prev_end;  /* the frame it came from */
    uint32_t prev_size;
    bool placed;                  /* false: begins where the stream before it in its column ends */
    uint64_t start_off;           /* where it was placed so */
    uint32_t start_at;
} ax_mt_cur;

void ax_mt_src_free(ax_mt_src *s);

/* Put the cursor on a byte of a frame.  Nothing is read. */
void ax_mt_cur_put(ax_mt_cur *c, uint64_t off, uint32_t at);

/* The same with a granule's mark. */
void ax_mt_cur_seek(ax_mt_cur *c, uint32_t gran);
void ax_mt_cur_free(ax_mt_cur *c);

/* n bytes in one piece, valid with the window; AX_PAD bytes behind are readable.  Bytes that
 * straddle frames are copied. */
ax_status ax_mt_cur_take(ax_task *t, ax_mt_cur *c, ax_mt_win *w, size_t n, const uint8_t **out)
    AX_MUST_USE;

/* What is left of the current frame, at least one byte, valid with the window; then use n of it.
 * w == NULL: valid until the cursor moves on. */
ax_status ax_mt_cur_peek(ax_task *t, ax_mt_cur *c, ax_mt_win *w, const uint8_t **out, size_t *n)
    AX_MUST_USE;
static inline void ax_mt_cur_use(ax_mt_cur *c, size_t n) { c->pos += (uint32_t) n; }

/* Have the frames at hand n more bytes, by their headers?  ECORRUPT: no. */
ax_status ax_mt_cur_holds(ax_task *t, const ax_mt_cur *c, uint64_t n) AX_MUST_USE;

/* Copy n bytes to dst. */
ax_status ax_mt_cur_copy(ax_task *t, ax_mt_cur *c, void *dst, size_t n) AX_MUST_USE;
ax_status ax_mt_cur_u64(ax_task *t, ax_mt_cur *c, uint64_t *out) AX_MUST_USE;
ax_status ax_mt_cur_varint(ax_task *t, ax_mt_cur *c, uint64_t *out) AX_MUST_USE;

/* Step over n bytes; frames wholly inside are not decompressed. */
ax_status ax_mt_cur_skip(ax_task *t, ax_mt_cur *c, uint64_t n) AX_MUST_USE;

/* Does the cursor stand on the mark of granule g? */
ax_status ax_mt_cur_at_mark(ax_task *t, ax_mt_cur *c, uint32_t g) AX_MUST_USE;

/* Compressed bytes [*off, *end) that reading granules [g0, g1) of a stream takes; of a Compact
 * part, one granule.  The stream has marks of its own, which are loaded. */
void ax_mt_extent(const ax_mt_part *p, const ax_mt_stream *s, uint32_t g0, uint32_t g1,
                  uint64_t *off, uint64_t *end);

/* Compressed bytes [0, end) that hold what precedes the first granule of a Wide stream; 0: none. */
uint64_t ax_mt_prefix_end(const ax_mt_part *p, const ax_mt_stream *s);

/* ---- values ---------------------------------------------------------------------------------- */

/* A LowCardinality dictionary: n keys, of fixed width behind each other, or strings.  Entry 0
 * stands for NULL when the type is nullable. */
typedef struct ax_mt_dict
{
    ax_arena *arena;              /* owns all of it */
    uint32_t n;
    int32_t refs;                 /* of its reader: shared dictionary, keys of the chunk */
    const uint8_t *bytes;
    uint32_t *off, *len;          /* [n] strings */
    ax_dict *made;                /* converted to a vector's dictionary, at first use */
    bool failed;                  /* it cannot be converted as a whole */
    struct ax_mt_dict *next;      /* retired ones */
} ax_mt_dict;

/* n values of one node.  What is used depends on the node's form:
 *
 *      FIXED, QBIT      data: n * type->width bytes
 *      STRING*, AGGREGATE  ptr, len; one_base: all inside one buffer, ascending
 *      NULLABLE         null[n]; child[0] has n values, those under a null mean nothing
 *      SPARSE           as its child, with all n values
 *      ARRAY            off[n + 1] into child[0]; off[0] is 0
 *      BUCKETS          off[n + 1] into which, idx: entry idx of map child[which]
 *      TUPLE            children with n values each
 *      LOWCARD          id[n] in dict, while one dictionary serves the whole window; else as the
 *                       keys' form with null[n] when the type is nullable
 *      VARIANT          which[n] (255: null), idx[n] in child[which]
 *
 * Arrays live in the window's arena, or in frames that the window holds. */
typedef struct ax_mt_vals
{
    uint32_t n, cap;
    const uint8_t *data;
    const uint8_t **ptr;
    uint32_t *len;
    bool one_base;
    const ax_buf *base;           /* STRING: buffer of the values so far; only compared */
    uint8_t *null;
    uint32_t *off;
    uint32_t *id;
    ax_mt_dict *dict;
    uint8_t *which;
    uint32_t *idx;
    struct ax_mt_vals *child;     /* [nchild] of the node */
} ax_mt_vals;

/* The state of reading one node. */
typedef struct ax_mt_reader
{
    const ax_mt_node *node;
    ax_mt_cur *cur[3];            /* of its streams, NULL: none */
    struct ax_mt_reader *child;   /* [node->nchild] */
    bool known;                   /* LOWCARD, VARIANT: what precedes all granules was read */
    /* SPARSE: defaults before the next value, whether that is still to come, and whether the list
     * has no end yet */
    uint64_t gap;
    bool has_value, list_open;
    /* LOWCARD */
    bool fresh;                   /* no chunk of the granule used the shared dictionary so far */
    uint8_t idx_width;
    uint32_t gran;
    uint32_t chunk_left;          /* rows of the chunk not taken yet */
    ax_mt_dict *keys;             /* owned; what the chunk's indexes mean */
    ax_mt_dict *shared;           /* owned; the shared dictionary, */
    uint64_t dict_off;            /* and where it was read: frame and byte in it */
    uint32_t dict_at;
    ax_mt_dict *retired;          /* owned; wait for the end of the window */
    /* VARIANT */
    uint8_t mode;
    int16_t run_which;            /* -1: one discriminator a row */
    uint64_t run_left;
} ax_mt_reader;

/* A column under way. */
typedef struct ax_mt_col
{
    const ax_mt_env *env;
    const ax_mt_column *column;   /* NULL: not in use (constants) */
    ax_mt_cur *cur;               /* [column->nstreams] */
    ax_mt_reader *root;
    uint64_t row;                 /* of the part, at which it stands */
    uint32_t gran;                /* granule of `row`; UINT32_MAX: nowhere yet */
    struct ax_mt_col *input;      /* derived: [ninputs] columns that it reads */
    uint32_t ninputs;
} ax_mt_col;

/* src: [part->nstreams] where the bytes of each stream of this column come from. */
ax_status ax_mt_col_init(ax_task *t, ax_arena *a, const ax_mt_env *env, const ax_mt_column *column,
                         ax_mt_src *const *src, ax_mt_col *out) AX_MUST_USE;
void ax_mt_col_free(ax_mt_col *c);

/* Rows [row, row + n), n <= AX_BATCH_ROWS, of the part into *out, which starts zeroed; the bytes of
 * their granules are at hand. */
ax_status ax_mt_col_read(ax_task *t, ax_mt_col *c, ax_mt_win *w, uint64_t row, uint32_t n,
                         ax_mt_vals *out) AX_MUST_USE;

/* The granule that has the row. */
uint32_t ax_mt_granule_of(const ax_mt_part *p, uint64_t row);

/* ---- serializations -------------------------------------------------------------------------- */

/* The cursors were put on granule `gran`: read what precedes its data, forget runs and chunks. */
ax_status ax_mt_begin(ax_task *t, ax_mt_reader *r, uint32_t gran) AX_MUST_USE;

/* Append the next n values of a node to v, or step over them (v == NULL; w may be NULL then).  They
 * are all of the granule on which the cursors were put. */
ax_status ax_mt_read(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;

/* The same of one form each; begin and finish: before the first and after the last row of a
 * granule. */
ax_status ax_mt_read_string(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_read_sized(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_read_array(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_read_aggregate(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n,
                               ax_mt_vals *v) AX_MUST_USE;
ax_status ax_mt_begin_buckets(ax_task *t, ax_mt_reader *r) AX_MUST_USE;
ax_status ax_mt_read_buckets(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_read_sparse(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_finish_sparse(ax_task *t, ax_mt_reader *r) AX_MUST_USE;
ax_status ax_mt_begin_lowcard(ax_task *t, ax_mt_reader *r, uint32_t gran) AX_MUST_USE;
ax_status ax_mt_read_lowcard(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;
ax_status ax_mt_finish_lowcard(ax_task *t, ax_mt_reader *r) AX_MUST_USE;
ax_status ax_mt_begin_variant(ax_task *t, ax_mt_reader *r) AX_MUST_USE;
ax_status ax_mt_read_variant(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
    AX_MUST_USE;

/* Compute n values of a derived column from those of the columns that it reads. */
ax_status ax_mt_derive(ax_task *t, const struct ax_mt_derived *d, const ax_mt_node *node,
                       ax_mt_win *w, const ax_mt_vals *arg, uint32_t n, ax_mt_vals *out)
    AX_MUST_USE;

/* The k-th column with streams that a column is read from (itself, unless it is derived), or
 * NULL. */
const ax_mt_column *ax_mt_input(const ax_mt_column *c, uint32_t k);

/* A node of the type whose values are all the literal s[n], or the type's default (s NULL); *out
 * NULL: the text is no literal. */
ax_status ax_mt_template(ax_task *t, ax_arena *a, const ax_mt_type *ty, const char *s, size_t n,
                         ax_mt_node **out) AX_MUST_USE;
/* A node of the type without streams. */
ax_status ax_mt_plain_node(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_mt_node **out)
    AX_MUST_USE;

/* Values of a node that has a template. */
ax_status ax_mt_read_default(ax_task *t, const ax_mt_node *n, ax_mt_win *w, uint32_t rows,
                             ax_mt_vals *v) AX_MUST_USE;

/* Free dictionaries that no window uses any more; all: also those in use. */
void ax_mt_retire(ax_mt_reader *r, bool all);

/* The cursor of stream i of a node. */
ax_mt_cur *ax_mt_cur_of(ax_mt_reader *r, int i);

/* Sum of the next n sizes. */
ax_status ax_mt_sum_u64(ax_task *t, ax_mt_cur *c, uint32_t n, uint64_t *out) AX_MUST_USE;

/* Memory of values.  grown: how much room v needs for n more, 0: it has enough.  room: move an
 * array (p: pointer to its pointer) with `have` elements into one with room for cap.  children:
 * make v->child. */
ax_status ax_mt_grown(ax_task *t, const ax_mt_vals *v, uint32_t n, uint32_t *cap) AX_MUST_USE;
ax_status ax_mt_room(ax_task *t, ax_mt_win *w, void *p, uint32_t have, uint32_t cap, size_t width)
    AX_MUST_USE;
ax_status ax_mt_children(ax_task *t, ax_mt_win *w, const ax_mt_node *node, ax_mt_vals *v)
    AX_MUST_USE;
/* All of it for n more values of a plain node (ax_mt_plain_node), but for those of its children. */
ax_status ax_mt_reserve(ax_task *t, ax_mt_win *w, const ax_mt_node *node, ax_mt_vals *v, uint32_t n)
    AX_MUST_USE;

/* ---- declared columns ------------------------------------------------------------------------ */

typedef enum ax_mt_convkind
{
    MT_C_COPY,       /* the bytes are the value */
    MT_C_BOOL,
    MT_C_INT,        /* integers to int2, int4, int8 */
    MT_C_INT_F64,
    MT_C_NUM,        /* integers and decimals to numeric */
    MT_C_LINEAR,     /* v * mul / div + add: dates and times */
    MT_C_ZONED,      /* the same, then to the local time of a zone */
    MT_C_F32_F64, MT_C_BF16,
    MT_C_ENUM,       /* dictionary of labels */
    MT_C_UUID,
    MT_C_INTERVAL,
    MT_C_STR,        /* strings as they are */
    MT_C_FIXSTR,     /* FixedString with its padding */
    MT_C_MENDED,     /* strings of both kinds as text, whatever their bytes */
    MT_C_TEXT,       /* other values as text */
    MT_C_ORDER,      /* INT8 or BYTEA that compare as the file's values */
    MT_C_LIST,       /* arrays of values that have a type */
    MT_C_FINAL,      /* results of aggregate states */
    MT_C_JSON        /* everything else, as JSON text */
} ax_mt_convkind;

/* From the values of a node to a vector of a declared column.  Immutable. */
typedef struct ax_mt_conv
{
    const ax_mt_column *column;   /* NULL: constant or virtual column */
    const ax_mt_type *src;        /* without Nullable and LowCardinality */
    ax_type type;
    uint8_t kind;                 /* ax_mt_convkind */
    bool is_signed;               /* INT, NUM, LINEAR: values of src */
    bool check_text;              /* bytes must be UTF-8 without NUL */
    bool not_null;
    bool trim;                    /* FIXSTR, MENDED: without zeros at the end, as a String has it */
    uint8_t mend;                 /* MENDED: ax_encoding_check */
    ax_zone zone;                 /* ZONED */
    bool ordered;                 /* order and equality of the file's values are those of vectors */
    int64_t lo, hi;               /* INT, LINEAR: values allowed */
    int64_t mul, div, add;        /* LINEAR */
    ax_fmt_digits num;            /* NUM */
    ax_status range_code;         /* ERANGE or EDATETIME */
    ax_vec labels;                /* ENUM: FLAT strings */
    const uint32_t *label_at;     /* ENUM: [1 << 8 * width] entry of a code, UINT32_MAX: none */
    const struct ax_mt_conv *elem; /* LIST: of an element; FINAL: of a result */
    const ax_mt_node *result;     /* FINAL: what results look like */
    const ax_error *refused;      /* why the column cannot be read: for the scan that wants it */
} ax_mt_conv;

typedef struct ax_mt_bind
{
    ax_fmt_bind base;
    ax_mt_conv *conv;             /* [ncols] */
    struct ax_mt_patched *patched; /* columns that patch parts change, or NULL */
} ax_mt_bind;

/* Columns that ClickHouse keeps for itself, as they are bound in patch parts. */
enum
{
    MT_P_PART, MT_P_VERSION, MT_P_BLOCK, MT_P_BLOCK_OFFSET, MT_P_OFFSET, MT_P_EXISTS, MT_P_CNT
};

/* A patch part and what it has of the declared columns. */
typedef struct ax_mt_patch_bind
{
    ax_mt_patch *patch;           /* borrowed from the part */
    ax_mt_bind *bind;             /* of the patch part: MT_P_* first */
    int32_t *col;                 /* [ncols] where declared columns are in it, -1: nowhere */
    bool exists;                  /* it tells of rows whether they exist */
} ax_mt_patch_bind;

typedef struct ax_mt_patched
{
    ax_mt_patch_bind *patch;      /* [n] */
    uint32_t n;
    ax_mt_bind *place;            /* of the part: column 0 is the block of a row and 1 its number in
                                   * the block */
    bool has_place[2];            /* the part has these columns; else it is of one block, */
    uint64_t block;               /* this one, and numbers are those of its rows */
} ax_mt_patched;

/* Find out which of the columns of b, which are bound to its part, patch parts change. */
ax_status ax_mt_patches_bind(ax_task *t, ax_arena *a, ax_mt_bind *b, const ax_bind_opts *opts)
    AX_MUST_USE;

/* A declared column of a part (bind.c). */
ax_status ax_mt_bind_column(ax_task *t, ax_arena *a, ax_mt_part *p, const ax_fmt_names *names,
                            const ax_bind_opts *opts, ax_mt_bind *b, uint32_t i) AX_MUST_USE;
/* A scan that wants the column gets the error that t has, which is taken. */
ax_status ax_mt_bind_refuse(ax_task *t, ax_arena *a, ax_mt_conv *c) AX_MUST_USE;

/* What we would declare for a type. */
ax_type ax_mt_default_type(const ax_mt_type *ty);

/* Choose the conversion of a type to a declared one; ETYPE when there is none.  col: what its
 * column says of texts and zones besides, or NULL. */
ax_status ax_mt_conv_make(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_type type,
                          const ax_colspec *col, ax_mt_conv *out) AX_MUST_USE;

/* The first n values of v as a vector.  labels: dictionary of an enum, kept from call to call for
 * one lane; a: where it lives.  *fail_row: the row that has no value in the declared type,
 * UINT32_MAX when another error is returned. */
ax_status ax_mt_conv_vec(ax_task *t, const ax_mt_conv *c, const ax_mt_node *node,
                         const ax_mt_vals *v, uint32_t n, ax_mt_win *w, ax_arena *a,
                         ax_dict **labels, ax_vec *out, uint32_t *fail_row) AX_MUST_USE;

/* The results of states v[n] of a function as values of `node`, a plain node of the function's
 * result.  *fail_row: the state that has none, UINT32_MAX when another error is returned. */
ax_status ax_mt_finalise(ax_task *t, const ax_mt_agg *g, const ax_mt_node *node,
                         const ax_mt_vals *v, uint32_t n, ax_mt_win *w, ax_mt_vals *out,
                         uint32_t *fail_row) AX_MUST_USE;

/* n values of the plain type c->src, without nulls, into dst; false: one is out of range. */
bool ax_mt_conv_fixed(const ax_mt_conv *c, const uint8_t *src, uint32_t n, void *dst);

/* The first n values of v as JSON texts; null[i]: the value is null. */
ax_status ax_mt_json(ax_task *t, const ax_mt_node *node, const ax_mt_vals *v, uint32_t n,
                     ax_arena *a, const uint8_t **ptr, uint32_t *len, uint8_t *null,
                     uint32_t *fail_row) AX_MUST_USE;

/* One value of a plain type (not a string) as text, at most 96 bytes; returns its length. */
uint32_t ax_mt_text(const ax_mt_type *ty, const uint8_t *p, char *out);

/* The type of a column by the definition of the table; *out NULL: it is not known. */
ax_status ax_mt_table_type(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                           const ax_mt_type **out) AX_MUST_USE;

/* A stored column as the table has it: itself, or, when its type has changed so that values are
 * others, one that is computed by a cast. */
ax_status ax_mt_changed_column(ax_task *t, ax_arena *a, const ax_mt_part *p,
                               const ax_mt_column *stored, const ax_mt_column **out) AX_MUST_USE;

/* A column of which the part has no bytes, by the definition of the table.  stored: what the part
 * says of it, or NULL.  *out NULL: nothing is known. */
ax_status ax_mt_default_column(ax_task *t, ax_arena *a, const ax_mt_part *p, const char *name,
                               const ax_mt_column *stored, const ax_mt_column **out) AX_MUST_USE;

/* Pieces of texts of expressions.  next_piece: up to a comma outside of parentheses and quotes,
 * without blanks around it; false: there is none.  type_end: where the type of a column ends and a
 * default expression begins; *expr NULL: there is none. */
typedef struct ax_mt_span { const char *p, *end; } ax_mt_span;
bool ax_mt_next_piece(ax_mt_span *s, ax_mt_span *out);
const char *ax_mt_type_end(const char *s, const char *end, const char **expr);

/* The type that AX_VIRT_ORDER gives columns of this one; false: it has no order here. */
bool ax_mt_order_type(const ax_mt_type *ty, ax_type *out);

/* How columns of states are folded: out->refusal tells when they are not. */
ax_status ax_mt_state_fold(ax_task *t, ax_arena *a, const ax_mt_type *ty, ax_type as,
                           ax_fold_col *out) AX_MUST_USE;
bool ax_mt_state_add(const void *how, uint8_t *x, uint32_t *n, const uint8_t *y, uint32_t ny);

/* Two values of a fixed-width type of ax_mt_order_type; NaN is neither less nor greater. */
int ax_mt_order_cmp(const ax_mt_type *ty, const uint8_t *p, const uint8_t *q);

uint32_t ax_mt_order(const ax_fmt_bind *base, ax_sort_key_claim *out, uint32_t max);
ax_status ax_mt_final(ax_task *t, ax_arena *a, const char *options, const ax_colspec *col,
                      uint32_t ncols, const ax_bind_opts *opts, ax_final *out) AX_MUST_USE;

ax_status ax_mt_schema_make(ax_task *t, ax_mt_part *p) AX_MUST_USE;
ax_status ax_mt_splits_make(ax_task *t, ax_mt_part *p) AX_MUST_USE;
/* Is it the name of a part of format version 0, <date>_<date>_...? */
bool ax_mt_old_name(const char *name);

/* The value of a key in "key=value" lines up to its end, or NULL. */
const char *ax_mt_option(const char *options, const char *key, size_t *n);
uint64_t ax_mt_granularity(const char *options);
ax_status ax_mt_bind_open(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                          uint32_t ncols, const ax_bind_opts *opts, ax_fmt_bind **out) AX_MUST_USE;

/* ---- keys ------------------------------------------------------------------------------------ */

/* The next single value of a type. */
ax_status ax_mt_single(ax_task *t, const ax_mt_type *ty, ax_cur *c, ax_mt_value *out) AX_MUST_USE;

/* Take the primary index apart, by the text of its key.  p->keys stays NULL when that is not
 * possible because expressions are not known. */
ax_status ax_mt_keys_load(ax_task *t, ax_mt_part *p, ax_arena *scratch, const char *key,
                          size_t nkey, const uint8_t *s, size_t n, bool compressed) AX_MUST_USE;

/* Columns and functions of a list of expressions, as far as they are known: others have no type. */
ax_status ax_mt_exprs_parse(ax_task *t, ax_mt_part *p, const char *s, size_t n, ax_mt_keys *out)
    AX_MUST_USE;

/* Take partition.dat (s NULL: it is missing) apart.  ECORRUPT: it is not that of the part's name,
 * as far as the values of the partition key are numbers. */
ax_status ax_mt_partition_load(ax_task *t, ax_mt_part *p, const char *key, size_t nkey,
                                const uint8_t *s, size_t n) AX_MUST_USE;

/* The file minmax_<column>.idx. */
ax_status ax_mt_minmax_load(ax_task *t, ax_mt_part *p, const char *name, const uint8_t *s, size_t n)
    AX_MUST_USE;

/* Bounds of a declared column in the whole part, as far as metadata tells. */
bool ax_mt_part_bounds(const ax_mt_conv *c, const ax_mt_part *p, ax_bounds *out);

/* ---- operations ------------------------------------------------------------------------------ */

enum { MT_OP_OPEN, MT_OP_SCAN, MT_OP_PRUNE, MT_OP_FACTS };

/* All operations begin with this. */
typedef struct ax_mt_op { uint8_t kind; } ax_mt_op; /* MT_OP_* */

ax_status ax_mt_open_begin(ax_task *t, ax_arena *a, const ax_fmt_input *in, ax_fmt_op **out)
    AX_MUST_USE;
ax_status ax_mt_open_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_mt_open_end(ax_fmt_op *op);

ax_status ax_mt_scan_begin(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out)
    AX_MUST_USE;
ax_status ax_mt_scan_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_mt_scan_end(ax_fmt_op *op);

ax_status ax_mt_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            ax_rowrange within, const ax_filter *f, uint32_t allow,
                            ax_fmt_op **out) AX_MUST_USE;
ax_status ax_mt_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_mt_prune_end(ax_fmt_op *op);

enum { MT_NFACTS = 4 };
extern const ax_fact_table ax_mt_fact_table[MT_NFACTS];
ax_status ax_mt_facts_begin(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                            const ax_fact_arg *arg, ax_fmt_op **out) AX_MUST_USE;
ax_status ax_mt_facts_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_mt_facts_end(ax_fmt_op *op);

extern const ax_format ax_format_mergetree;

#endif
