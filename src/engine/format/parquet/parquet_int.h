/* Parquet: what the files of this folder share.
 *
 *   thrift.c      the compact protocol, over a bounds-checked cursor
 *   footer.c      tail and FileMetaData; column chunks stay bytes until asked for
 *   schema.c      schema elements to a tree of fields and a list of leaves
 *   bind.c        declared columns to leaves; bind_nested.c: to groups and repeated fields
 *   conv.c        kernels from physical values to engine values
 *   rewrite.c     strings that become others: mended text, UUIDs and decimals as text
 *   page.c        headers, checks, decompression
 *   levels.c      run-length / bit-packed hybrid, definition levels
 *   decode_*.c    one file an encoding
 *   column.c      a column chunk as a stream of rows with lazy skipping
 *   shape.c       groups and repeated fields as lists, maps and structs
 *   nested.c      columns of several leaves or with repetition: levels to rows
 *   nested_json.c values of such columns as JSON text (json_out.c: the text)
 *   nested_variant.c variant.c  VARIANT: shredded columns, encoded values
 *   scan.c        the step machine: filter columns first
 *   stats.c       min/max: what may be believed
 *   bloom.c       Bloom filters: probes
 *   index.c       page indexes: where pages are, and their bounds
 *   stream.c      chunks read in windows, large pages in pieces
 *   share.c       a row group for several scans
 *   prune.c       may rows of a row group match? which ones?
 *   facts.c       metadata as tables, for people
 *   probe.c       what Bloom filters say of a value, as a table
 *   parquet.c     the format struct
 *
 * Vocabulary.  Leaf: a column of the file.  Chunk: a leaf in one row group.  Slot: one entry of the
 * level streams; for leaves without repetition a slot is a row.  Physical value: as stored.
 *
 * Ownership.  An ax_pq_file and all below it live in the file's arena and are immutable after
 * opening.  A scan and its columns live in the arena given to scan_begin; what is not memory of
 * that arena (page buffers, chunk buffers, dictionaries) is released by `end`.
 *
 * Format: apache/parquet-format, parquet.thrift and Encodings.md. */
#ifndef AX_PARQUET_INT_H
#define AX_PARQUET_INT_H

#include "base/bytes.h"
#include "base/utf8.h"
#include "codec/codec.h"
#include "format/format.h"

/* ---- enumerations of the file format --------------------------------------------------------- */

enum /* Type */
{
    PQ_BOOLEAN, PQ_INT32, PQ_INT64, PQ_INT96, PQ_FLOAT, PQ_DOUBLE, PQ_BYTE_ARRAY, PQ_FLBA,
    PQ_TYPE_CNT
};
enum /* Repetition */ { PQ_REQUIRED, PQ_OPTIONAL, PQ_REPEATED };
enum /* Encoding */
{
    PQ_PLAIN = 0, PQ_PLAIN_DICTIONARY = 2, PQ_RLE = 3, PQ_BIT_PACKED = 4,
    PQ_DELTA_BINARY_PACKED = 5, PQ_DELTA_LENGTH_BYTE_ARRAY = 6, PQ_DELTA_BYTE_ARRAY = 7,
    PQ_RLE_DICTIONARY = 8, PQ_BYTE_STREAM_SPLIT = 9, PQ_ALP = 10
};
enum /* PageType */ { PQ_PAGE_DATA, PQ_PAGE_INDEX, PQ_PAGE_DICTIONARY, PQ_PAGE_DATA_V2 };

/* Limits against hostile files. */
enum
{
    PQ_MAX_DEPTH = 64,                   /* of thrift structs and of the schema tree */
    PQ_MAX_PAGE_BYTES = 1 << 30,         /* of one page after decompression */
    PQ_MAX_TYPE_LENGTH = 1 << 20,
    PQ_MAX_DIMENSIONS = 6,               /* of arrays, in the host too */
    PQ_TAIL_BYTES = 64 << 10             /* read at the end of a file before its size is known */
};

/* ---- thrift ---------------------------------------------------------------------------------- */

enum
{
    TH_TRUE = 1, TH_FALSE = 2, TH_I8 = 3, TH_I16 = 4, TH_I32 = 5, TH_I64 = 6, TH_DOUBLE = 7,
    TH_BINARY = 8, TH_LIST = 9, TH_SET = 10, TH_MAP = 11, TH_STRUCT = 12, TH_UUID = 13
};

/* Position in a struct: id and wire type of the field at the cursor.  Starts as {0, 0}. */
typedef struct ax_pq_fld { int32_t id; uint8_t type; } ax_pq_fld;

/* Move to the next field; false at the end of the struct and when the bytes are bad (c->bad). */
bool ax_pq_th_next(ax_cur *c, ax_pq_fld *f);

/* Step over a value of a wire type.  Depth is bounded by PQ_MAX_DEPTH. */
void ax_pq_th_skip(ax_cur *c, uint8_t type);

/* Values of known fields.  Each consumes the value whatever it is; false, with *out untouched, when
 * the wire type is another one or the number does not fit: the field counts as absent. */
bool ax_pq_th_i64(ax_cur *c, uint8_t type, int64_t *out);
bool ax_pq_th_i32(ax_cur *c, uint8_t type, int32_t *out);
bool ax_pq_th_bool(ax_cur *c, uint8_t type, bool *out);
bool ax_pq_th_bin(ax_cur *c, uint8_t type, const uint8_t **p, uint32_t *n);

/* Head of a list: element type and count; every element takes at least one byte, so that
 * n <= bytes left. */
bool ax_pq_th_list(ax_cur *c, uint8_t type, uint8_t *elem, uint32_t *n);

/* true: the fields of the struct follow.  false: skipped, it was something else. */
bool ax_pq_th_struct(ax_cur *c, uint8_t type);

/* ---- metadata of a file ---------------------------------------------------------------------- */

typedef enum ax_pq_lt
{
    LT_NONE, LT_STRING, LT_MAP, LT_LIST, LT_ENUM, LT_DECIMAL, LT_DATE, LT_TIME, LT_TIMESTAMP,
    LT_INT, LT_UNKNOWN, LT_JSON, LT_BSON, LT_UUID, LT_FLOAT16, LT_VARIANT, LT_GEOMETRY,
    LT_GEOGRAPHY, LT_FILE, LT_INTERVAL, LT_MAP_KEY_VALUE, LT_OTHER
} ax_pq_lt;

enum { UNIT_MS = 1, UNIT_US = 2, UNIT_NS = 3 };

/* Annotation of a schema element; the new kind wins over the old one. */
typedef struct ax_pq_logical
{
    uint8_t kind;       /* ax_pq_lt */
    uint8_t unit;       /* TIME, TIMESTAMP */
    bool utc;           /* TIME, TIMESTAMP: normalised to UTC */
    uint8_t bits;       /* INT */
    bool is_signed;     /* INT */
    int32_t scale, precision; /* DECIMAL */
    int32_t version;    /* VARIANT: of its encoding */
} ax_pq_logical;

typedef struct ax_pq_leaf
{
    ax_field *field;          /* of the schema tree; name, default type, refusal */
    const char *path;         /* dotted, for messages */
    ax_type type;             /* what we would declare for one value of it */
    int8_t phys;              /* Type; -1: not one we know */
    uint8_t max_def, max_rep;
    int32_t type_length;      /* FLBA */
    ax_pq_logical lt;         /* NONE when the annotation does not fit the physical type */
} ax_pq_leaf;

/* An element of the schema: a leaf or a group.  They stand in the order of the file, so that the
 * first child of element i is i + 1, and what follows its subtree is i + span. */
typedef struct ax_pq_elem
{
    ax_field *field;
    uint32_t span;            /* elements of the subtree, itself included */
    uint32_t leaf0, nleaf;    /* leaves of the subtree */
    uint8_t repetition;       /* PQ_REQUIRED, ... */
    uint8_t lt;               /* ax_pq_lt */
    uint8_t version;          /* VARIANT: of its encoding */
    uint8_t def, rep;         /* maximum levels, itself included */
} ax_pq_elem;

typedef enum ax_pq_shape_kind
{
    SHAPE_LEAF, SHAPE_LIST, SHAPE_MAP, SHAPE_STRUCT, SHAPE_VARIANT, SHAPE_ABSENT
} ax_pq_shape_kind;

/* What an element means: the layouts of lists and maps, old and new, are resolved.  A slot whose
 * definition level is below `def` holds a null, of this value or of one around it. */
typedef struct ax_pq_shape
{
    uint8_t kind;             /* ax_pq_shape_kind */
    uint8_t def;              /* level from which the value is there */
    uint8_t edef;             /* LIST, MAP: level from which an element is there */
    uint8_t rep;              /* LIST, MAP: a slot of this level or more goes on with the list */
    const char *name;         /* of the element, shown */
    uint32_t leaf0, nleaf;    /* in the file; 0 leaves: a struct without fields */
    bool hidden;              /* a field of a struct that the declaration lacks */
    bool entries;             /* MAP: an array of entries, with the names of the children */
    const ax_type *as;        /* LEAF: what to read it as inside of JSON, NULL: its own type */
    struct ax_pq_shape *child; /* [n] LIST 1; MAP 2, or 1: keys only; STRUCT its fields;
                               * VARIANT 3: metadata, value, typed_value, each may be ABSENT (the
                               * levels below the root have no metadata).  Below typed_value, the
                               * element of a list and the fields of a struct, which are in order
                               * of their names, are VARIANT */
    uint32_t n;
} ax_pq_shape;

typedef struct ax_pq_group
{
    int64_t nrows;
    int64_t row0;             /* rows of the groups before */
    int64_t bytes;            /* compressed, of all columns */
    const uint32_t *chunk;    /* [nleaf] offsets in the footer of the ColumnChunk structs */
} ax_pq_group;

/* created_by, taken apart. */
typedef struct ax_pq_writer
{
    const char *app;          /* whole string when it does not parse; "" when absent */
    bool known;               /* version parsed */
    int32_t major, minor, patch;
    bool cdh55;               /* parquet-mr of the CDH line with the statistics fixed */
    bool drill;               /* Drill's edition of parquet-mr */
} ax_pq_writer;

enum { ORDER_ABSENT, ORDER_TYPE, ORDER_IEEE, ORDER_INT96, ORDER_UNKNOWN };

typedef struct ax_pq_file
{
    ax_fmt_file base;
    const uint8_t *footer;    /* [footer_len] thrift bytes of FileMetaData, in the arena */
    uint32_t footer_len;
    uint64_t data_end;        /* file offset where the footer begins */
    ax_pq_leaf *leaf;
    uint32_t nleaf;
    ax_pq_elem *elem;         /* [nelem] without the root */
    uint32_t nelem;
    ax_pq_group *group;       /* [base.nsplits] */
    const uint8_t *order;     /* [nleaf] ORDER_*, or NULL: no column_orders */
    ax_pq_writer writer;
    bool hybrid_dates, hybrid_int96; /* written by the hybrid Julian calendar */
    uint8_t drill;            /* PQ_DRILL_* */
} ax_pq_file;

/* ---- old dates (calendar.c) ------------------------------------------------------------------ */

enum { PQ_DRILL_NOT, PQ_DRILL_MAYBE, PQ_DRILL_KNOWN };    /* are a file's dates shifted? */
enum { PQ_DAYS_AS_IS, PQ_DAYS_HYBRID, PQ_DAYS_DRILL };    /* what a column's days are */

struct ax_pq_conv;

/* Look at the writer and the key-values, a list of wire type `type` (0: there is none). */
ax_status ax_pq_calendar_note(ax_task *t, ax_pq_file *f, ax_cur *list, uint8_t type) AX_MUST_USE;

/* PQ_DAYS_* of a leaf read as the column says. */
uint8_t ax_pq_calendar_of(const ax_pq_file *f, const ax_pq_leaf *l, const ax_colspec *col);

/* Correct n values of a date or timestamp, converted as if days were right; false: one is out of
 * range. */
bool ax_pq_redate(const struct ax_pq_conv *c, uint32_t n, void *values);

/* Is a corrected value v as a bound to be believed?  The order of values may not be that of the
 * file. */
bool ax_pq_redate_bound(const struct ax_pq_conv *c, const ax_value *v);

/* A column chunk, decoded on demand. */
typedef struct ax_pq_chunk
{
    bool has_meta;            /* meta_data is present and complete */
    bool encrypted;
    bool external;            /* file_path is set */
    bool dict_only;           /* the footer proves that every data page uses the dictionary */
    int32_t type, codec;
    int64_t num_values, compressed, uncompressed;
    int64_t data_off, dict_off;          /* dict_off <= 0: not declared */
    int64_t ci_off, oi_off, bloom_off;   /* column index, offset index, bloom filter; 0: none */
    int32_t ci_len, oi_len, bloom_len;
    const uint8_t *stats;     /* Statistics struct inside the footer, or NULL */
    uint32_t stats_len;
} ax_pq_chunk;

/* Decode chunk (group, leaf).  false: malformed thrift (cannot happen for a file that opened). */
bool ax_pq_chunk_get(const ax_pq_file *f, uint32_t group, uint32_t leaf, ax_pq_chunk *out);

/* Parse the thrift bytes of a footer into f (footer, footer_len, data_end and base set). */
ax_status ax_pq_footer_parse(ax_task *t, ax_pq_file *f) AX_MUST_USE;

/* A schema element as it stands in the footer; numbers that are not there are -1, but for children,
 * scale and precision. */
typedef struct ax_pq_rawelem
{
    const uint8_t *name;
    uint32_t name_len;
    int32_t type;             /* -2: present, but none that we know */
    int32_t type_length, rep, children, converted, scale, precision, field_id;
    ax_pq_logical lt;         /* of LogicalType, else of ConvertedType */
    bool has_lt;              /* LogicalType is there */
} ax_pq_rawelem;
void ax_pq_elem_parse(ax_cur *c, ax_pq_rawelem *e);

/* Name of a physical type, NULL: none that we know; "DECIMAL(9,2)" of an annotation. */
const char *ax_pq_type_name(int32_t type);
void ax_pq_logical_text(const ax_pq_logical *lt, char *out, size_t n);

/* Text of a file in arena a; bytes that are not UTF-8, and NUL, are shown as U+FFFD. */
ax_status ax_pq_shown(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, const char **out)
    AX_MUST_USE;

/* Build schema and leaves from `n` elements at c. */
ax_status ax_pq_schema_parse(ax_task *t, ax_pq_file *f, ax_cur *c, uint32_t n) AX_MUST_USE;

/* The meaning of element `elem`; it lives in a.  lists: ax_legacy_lists.  *reason: why it cannot
 * be read, else NULL. */
ax_status ax_pq_shape_make(ax_task *t, ax_arena *a, const ax_pq_file *f, uint32_t elem,
                           uint8_t lists, ax_pq_shape **out, const char **reason) AX_MUST_USE;

/* Types and refusals of the columns that are groups or repeated. */
ax_status ax_pq_shape_fields(ax_task *t, ax_pq_file *f) AX_MUST_USE;

/* created_by into its parts; s is copied to a. */
ax_status ax_pq_writer_parse(ax_task *t, ax_arena *a, const uint8_t *s, uint32_t n,
                             ax_pq_writer *out) AX_MUST_USE;

/* Is the writer `app`, of a version below major.minor.patch?  Unknown versions: no. */
bool ax_pq_writer_before(const ax_pq_writer *w, const char *app, int32_t major, int32_t minor,
                         int32_t patch);

/* ---- binding and conversion ------------------------------------------------------------------ */

typedef enum ax_pq_src /* how physical values are read */
{
    SRC_BOOL, SRC_I32, SRC_U32, SRC_I64, SRC_U64, SRC_F32, SRC_F64, SRC_F16, SRC_I96, SRC_FIXED,
    SRC_BYTES
} ax_pq_src;

typedef enum ax_pq_convkind
{
    CONV_NULL,     /* every value is null whatever the file holds */
    CONV_COPY,     /* same bytes */
    CONV_LINEAR,   /* integers: floor(v / div) * mul + add, v in [lo, hi] */
    CONV_INT_F64, CONV_INT_NUM,
    CONV_F32_F64, CONV_F64_F32, CONV_F16_F32, CONV_F16_F64,
    CONV_I96,      /* to microseconds since 2000-01-01 */
    CONV_DEC_NUM,  /* big-endian two's complement bytes to numeric */
    CONV_INTERVAL,
    CONV_STR,      /* bytes stay where they are; integers are rewritten */
    CONV_NEST      /* a group or a repeated field, see ax_pq_nest */
} ax_pq_convkind;

typedef enum ax_pq_rewrite_kind { REWRITE_NOT, REWRITE_UUID, REWRITE_DECIMAL, REWRITE_INET,
    REWRITE_HEX } ax_pq_rewrite_kind;

struct ax_pq_conv;

/* How a nested column is read.  Lists of scalars, one in another, become LIST vectors, all others
 * JSON text. */
typedef struct ax_pq_nest
{
    const ax_pq_shape *shape;
    struct ax_pq_conv *conv;  /* [shape->nleaf] */
    bool list;
    bool skip_null_keys;      /* entries of maps without a key are left out */
} ax_pq_nest;

/* From the physical values of a leaf to the values of a declared column.  Immutable. */
typedef struct ax_pq_conv
{
    const ax_pq_leaf *leaf;   /* NULL: constant or virtual column; NEST: the first */
    uint32_t leaf_idx;
    const ax_pq_nest *nest;   /* NEST */
    ax_type type;
    uint8_t kind;             /* ax_pq_convkind */
    uint8_t src;              /* ax_pq_src */
    uint8_t src_width;        /* bytes of a physical value; 0 for SRC_BYTES and SRC_FIXED */
    uint8_t dst_width;        /* bytes of a value in a vector; 0 for strings */
    bool check_text;          /* bytes must be UTF-8 without NUL */
    uint8_t mend;             /* ax_encoding_check: what is done about text that is not */
    uint8_t rewrite;          /* STR: ax_pq_rewrite_kind */
    bool not_null;
    bool ordered;             /* bounds of the file, converted, are bounds of the values */
    int64_t lo, hi;           /* LINEAR, INT_*: physical values allowed */
    int64_t div, mul, add;
    ax_fmt_digits num;        /* NUM */
    ax_status range_code;     /* ERANGE or EDATETIME */
    ax_zone zone;             /* LINEAR, I96, n > 0: then from local time to UTC, or back */
    uint8_t days;             /* LINEAR, I96: PQ_DAYS_* */
    uint8_t out_of_range;     /* ax_out_of_range; INFINITY: of LINEAR, I96 to a date or timestamp */
    bool whole;               /* LINEAR with div 1000, I96: no nanoseconds may be left over */
} ax_pq_conv;

typedef struct ax_pq_bind
{
    ax_fmt_bind base;
    ax_pq_conv *conv;         /* [ncols] */
} ax_pq_bind;

ax_status ax_pq_bind_open(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                          uint32_t ncols, const ax_bind_opts *opts, ax_fmt_bind **out) AX_MUST_USE;

/* Bind a column to a group or a repeated field. */
ax_status ax_pq_bind_nested(ax_task *t, ax_arena *a, const ax_pq_file *f, const ax_field *fld,
                            const ax_colspec *col, const ax_bind_opts *opts,
                            ax_pq_conv *out) AX_MUST_USE;

/* Choose the conversion of a leaf to a declared type; ETYPE when there is none. */
ax_status ax_pq_conv_make(ax_task *t, const ax_pq_file *f, const ax_pq_leaf *leaf,
                          const ax_colspec *col, ax_pq_conv *out) AX_MUST_USE;

/* Convert n physical values.  src needs no alignment; dst has room for n.  false: some value
 * is out of range (dst is undefined then); who wants to know which asks again value by value. */
bool ax_pq_conv_fixed(const ax_pq_conv *c, const uint8_t *src, uint32_t n, void *dst);

/* The same from byte strings base[off[i], off[i] + len[i]); those of FIXED have the type length. */
bool ax_pq_conv_bytes(const ax_pq_conv *c, const uint8_t *base, const uint32_t *off,
                      const uint32_t *len, uint32_t n, void *dst);

/* One physical value of n bytes, as statistics have them; strings are borrowed from p, and not
 * rewritten.  false: it
 * has another length or is out of range. */
bool ax_pq_conv_one(const ax_pq_conv *c, const uint8_t *p, uint32_t n, ax_value *out);

/* n strings, rewritten into memory of a: as c->rewrite says, or text mended.  off, len and *base
 * change. */
ax_status ax_pq_rewrite(ax_task *t, ax_arena *a, const ax_pq_conv *c, uint32_t *off, uint32_t *len,
                        uint32_t n, const uint8_t **base) AX_MUST_USE;

/* n physical integers as such strings. */
ax_status ax_pq_rewrite_ints(ax_task *t, ax_arena *a, const ax_pq_conv *c, const uint8_t *phys,
                             uint32_t n, uint32_t *off, uint32_t *len,
                             const uint8_t **base) AX_MUST_USE;

/* ---- pages ----------------------------------------------------------------------------------- */

typedef struct ax_pq_page
{
    uint8_t type;             /* PQ_PAGE_* */
    bool has_crc;
    bool is_compressed;       /* V2 */
    uint32_t crc;
    int32_t uncompressed, compressed;
    int32_t num_values, num_rows;
    int32_t encoding, def_encoding, rep_encoding;
    int32_t def_len, rep_len; /* V2 */
    const uint8_t *body;      /* [compressed] in the chunk */
    int64_t off;              /* file offset of the header */
} ax_pq_page;

/* Bytes of the levels that V2 stores in front of the values, never compressed. */
static inline size_t ax_pq_page_levels(const ax_pq_page *p)
{
    return p->type == PQ_PAGE_DATA_V2 ? (size_t) p->def_len + (size_t) p->rep_len : 0;
}

/* Parse and check the header at c and step over its body.  slots_left: slots of the chunk that no
 * page has claimed yet. */
ax_status ax_pq_page_header(ax_task *t, ax_cur *c, int64_t file_off, int64_t slots_left,
                            ax_pq_page *out) AX_MUST_USE;

/* The same without the body, of which nothing need be there: c stands on it then.  c->bad: the
 * header is cut. */
ax_status ax_pq_page_head(ax_task *t, ax_cur *c, int64_t file_off, int64_t slots_left,
                          ax_pq_page *out) AX_MUST_USE;

/* Compare the checksum, when there is one. */
ax_status ax_pq_page_check(ax_task *t, const ax_pq_page *p) AX_MUST_USE;

/* ---- run-length / bit-packed hybrid ---------------------------------------------------------- */

/* A stream of small unsigned numbers.  At most one of run_left and packed_left is not zero. */
typedef struct ax_pq_rle
{
    const uint8_t *p, *end;   /* bytes of the stream not yet looked at */
    const uint8_t *packed;    /* current bit-packed run */
    uint64_t packed_idx;      /* values of it already taken */
    uint32_t packed_left, run_left;
    uint32_t value;           /* of the current run */
    uint8_t width;            /* bits a value, 0..32 */
} ax_pq_rle;

void ax_pq_rle_init(ax_pq_rle *r, const uint8_t *p, const uint8_t *end, uint8_t width);

/* Make sure that values are at hand; false: the stream ends or is corrupt. */
bool ax_pq_rle_fill(ax_pq_rle *r);

/* n <= packed_left values of the bit-packed run; returns the largest.  AX_PAD bytes behind the
 * stream are readable. */
uint32_t ax_pq_rle_unpack(ax_pq_rle *r, uint32_t *out, uint32_t n);

/* Groups of eight numbers of w bits at p; *max is raised.  false: not here, not in this width. */
enum { PQ_UNPACK_WIDTH = 25 };
bool ax_pq_unpack_groups(const uint8_t *p, uint32_t groups, unsigned w, uint32_t *out,
                         uint32_t *max);

/* n values, or false.  *max is raised to the largest value delivered. */
bool ax_pq_rle_read(ax_pq_rle *r, uint32_t *out, uint32_t n, uint32_t *max);
bool ax_pq_rle_skip(ax_pq_rle *r, uint64_t n);

/* n BIT_PACKED values (most significant bit first) as the payload of a bit-packed run. */
void ax_pq_bitpacked_turn(const uint8_t *src, uint8_t *dst, uint64_t n, uint8_t width);

/* ---- page indexes ---------------------------------------------------------------------------- */

/* Data pages of a chunk: ascending in offsets and rows, page 0 begins at row 0. */
typedef struct ax_pq_loc { uint64_t off; uint32_t len, row; } ax_pq_loc;
typedef struct ax_pq_pages { ax_pq_loc *page; uint32_t n, nrows; } ax_pq_pages;

/* Pages of a chunk at [begin, end) of a row group of nrows rows; false: no index to rely on.  The
 * list lives in a. */
bool ax_pq_offset_index(ax_arena *a, const uint8_t *p, size_t len, uint64_t begin, uint64_t end,
                        uint32_t nrows, ax_pq_pages *out);
uint32_t ax_pq_page_end(const ax_pq_pages *p, uint32_t i); /* first row behind page i */
uint32_t ax_pq_page_of(const ax_pq_pages *p, uint32_t row);

/* ---- columns --------------------------------------------------------------------------------- */

typedef enum ax_pq_rep { REP_EMPTY, REP_DICT, REP_FLAT, REP_STR, REP_VIEW } ax_pq_rep;

enum { PQ_MAX_RUNS = 64 };

/* State of a DELTA_BINARY_PACKED stream. */
typedef struct ax_pq_delta
{
    const uint8_t *p, *end;
    const uint8_t *widths;    /* [minis] of the current block */
    const uint8_t *packed;    /* current miniblock */
    uint64_t left;            /* values not yet delivered */
    uint64_t last;            /* value delivered last, or the first one */
    uint64_t min_delta;
    uint32_t per_mini, minis; /* values a miniblock, miniblocks a block */
    uint32_t mini;            /* current miniblock; == minis: none yet */
    uint32_t in_mini;         /* values of it already delivered */
    uint8_t max_width;
    bool first;               /* `last` is still to be delivered */
} ax_pq_delta;

/* An open page of ALP values, and one of its vectors. */
typedef struct ax_pq_alp
{
    uint32_t n, at;          /* values of the page, and the next */
    uint8_t log2;            /* of values a vector */
    uint8_t e, f, width;
    uint16_t exceptions;
    uint32_t vector, len;    /* which it is (UINT32_MAX: none), its values */
    uint64_t reference;
    const uint8_t *packed, *positions;
} ax_pq_alp;

typedef struct ax_pq_scan ax_pq_scan;

/* Where values stand in a page of PLAIN strings that several scans step through: who steps over
 * some goes on from the last place where anybody has been.  An entry for so many values: offset
 * from base << 16 | ordinal in the entry; 0: nobody was there.  Relaxed: the page itself was
 * published before, by the share's lock. */
enum { AX_PQ_MARK_VALUES = 4096 };
typedef _Atomic uint64_t ax_pq_mark;

/* Bytes [off, off + len) of the file. */
typedef struct ax_pq_piece { uint64_t off, len; ax_buf *buf; } ax_pq_piece;

/* A column of a scan: a stream of rows that can be skipped, and the window filled last.
 *
 * A window is made of segments (the rows of it in one page).  Its representation is that of its
 * segments while they agree: ids of the dictionary, flat values, strings of one base pointer.
 * Segments that do not agree turn fixed-width windows into flat values and strings into VIEW. */
typedef struct ax_pq_col
{
    ax_pq_scan *scan;         /* borrowed; NULL: not in use (constants) */
    const ax_pq_conv *conv;
    ax_pq_chunk meta;
    uint64_t off, len;        /* byte range of the chunk in the file */
    ax_pq_pages pages;        /* n > 0: only the pages wanted are fetched */
    ax_pq_piece *piece;       /* [npieces] and stand in these, ascending */
    uint32_t npieces, nfetched;
    bool prefix_done;         /* what stands in front of the first of `pages` was looked at */
    ax_buf *chunk;            /* owned; NULL: not fetched yet.  With pieces: the current one */
    uint64_t chunk_off;       /* file offset of cur.start */
    ax_cur cur;               /* next page header in chunk; its end when that lies behind */
    uint64_t beyond;          /* so many bytes behind the end of chunk */
    bool windowed;            /* chunk is a window of at least window_bytes, see stream.c */
    uint64_t window_bytes;
    bool hungry;              /* bytes [want_off, want_off + want_len) must come before anything */
    uint64_t want_off, want_len;
    uint32_t pos;             /* row of the row group at which the reader stands */
    int64_t slots_left;       /* not yet claimed by a page */
    int64_t page_no;          /* ordinal of the current data page, -1 before the first */
    ax_codec codec;

    ax_pq_page page;          /* current data page */
    uint32_t page_left;       /* rows of it not consumed */
    uint64_t body_off;        /* file offset of its body */
    bool opened;              /* its body is decompressed and the readers below are set */
    bool pieces;              /* body is one piece of it after the other, with the next ones */
    bool stored, finished, whole_page, count_crc;
    uint64_t in_off;          /* file offset of input not taken yet */
    size_t out_left;          /* bytes of the page that no piece had yet */
    uint32_t crc;
    ax_cdc_stream *z;
    ax_buf *level_hold;       /* owned; what the readers of levels point into, or NULL */
    uint32_t walked;          /* strings at v whose offsets and lengths are known already */
    ax_buf *body;             /* owned reference: what v and base point into */
    ax_buf *spare;            /* owned; a page buffer to use again */
    ax_buf *turned, *turned_rep; /* owned; BIT_PACKED levels in the order of the hybrid */
    ax_pq_rle def, rep_levels;
    int32_t enc;              /* encoding of values; RLE_DICTIONARY stands for both dictionaries */
    const uint8_t *base;      /* offsets of strings count from here */
    const uint8_t *v, *vend;  /* PLAIN and others: bytes not consumed */
    ax_pq_mark *marks;        /* borrowed from the share, or NULL */
    uint64_t nth;             /* with marks: ordinal of the value at v */
    uint32_t bit;             /* PLAIN booleans: next bit of *v */
    uint64_t split_idx, split_stride; /* BYTE_STREAM_SPLIT: next value, bytes a stream */
    ax_pq_rle ids;            /* dictionary ids, RLE booleans */
    ax_pq_delta delta;        /* DELTA_BINARY_PACKED */
    ax_pq_alp alp;
    ax_buf *lens, *prefixes;  /* owned; u32 lengths of the page's strings */
    uint32_t len_idx, len_n;
    ax_buf *last;             /* owned; DELTA_BYTE_ARRAY: the previous value */
    uint32_t last_len;
    bool fetching;            /* the scans that share the row group wait for our bytes */
    bool staged;              /* they know about `whole` */
    ax_buf **whole;           /* [nwhole] owned; the data pages, decompressed for all of them */
    ax_pq_mark **whole_marks; /* [nwhole] borrowed, NULL: none */
    uint32_t nwhole;
    bool keeps_last;          /* old writers go on across pages */
    ax_buf *wbuf;             /* owned; bytes of strings that stand nowhere contiguously */

    ax_dict *dict;            /* owned through its arena; NULL: no dictionary page seen */
    uint8_t *dict_bad;        /* [dict->n] in its arena: cannot be converted; NULL: all can */
    uint32_t fail_row;        /* after a failed read: row of the window that has no value in the
                               * declared type, or UINT32_MAX: the chunk is damaged */

    bool reading;             /* the window is read up to row `at`: it was hungry there */
    uint32_t at;
    uint8_t rep;              /* ax_pq_rep of the window */
    uint32_t nnull;           /* nulls so far; > 0: `null` is set for all rows so far */
    const uint8_t *win_base;  /* STR */
    bool ascii;               /* every string so far */
    bool check_later;         /* text is checked by ax_pq_col_check, not when it is read */
    bool unchecked;           /* the window has text that was not checked */
    int win_gap;              /* STR: bytes between all its strings, or -1; as for ax_utf8_ok */
    bool runs_ok;             /* all rows so far are `nruns` runs of ids */
    uint32_t nruns;
    uint8_t *null;            /* [2048] */
    uint32_t *id;             /* [2048] */
    uint32_t *soff, *slen;    /* [2048] */
    const uint8_t **sptr;     /* [2048] */
    uint8_t *val;             /* [2048] values */
    uint8_t *phys;            /* [2048 * 8] scratch: physical values of a segment */
    uint16_t run_end[PQ_MAX_RUNS];
    uint32_t *run_id;         /* [PQ_MAX_RUNS] */
    ax_vec run_vec;

    struct ax_pq_nread *nread; /* a declared nested column: its leaves are columns of their own */
    bool in_nest;             /* such a leaf: rows are counted by its reader */
} ax_pq_col;

/* Where the bytes of a chunk stand in its file. */
ax_status ax_pq_chunk_range(ax_task *t, const ax_pq_file *f, const ax_pq_chunk *m, uint64_t *off,
                            uint64_t *bytes) AX_MUST_USE;

/* Prepare column `conv` of the split; checks its chunk against the file. */
ax_status ax_pq_col_init(ax_task *t, ax_pq_scan *s, ax_pq_col *c, const ax_pq_conv *conv)
    AX_MUST_USE;
void ax_pq_col_free(ax_pq_col *c);

/* Take the fetched bytes [off, off + len), or those of the next piece; ownership moves. */
void ax_pq_col_data(ax_pq_col *c, ax_buf *chunk);

/* Of the pages at `pages`, only those with rows of `rows` are to be fetched, in c->piece; unless
 * that would spare little. */
ax_status ax_pq_col_locate(ax_task *t, ax_pq_col *c, const ax_pq_pages *pages,
                           const ax_rowset *rows) AX_MUST_USE;

/* Rows [row, row + n) of the row group as a vector; row is not below what was read before.  Buffers
 * of the previous vector are used again.  b pins what strings point into.  c->hungry afterwards:
 * there is none yet; the same call again when the bytes have come. */
ax_status ax_pq_col_read(ax_task *t, ax_pq_col *c, uint32_t row, uint32_t n, ax_batch *b,
                         ax_vec *out) AX_MUST_USE;

/* Check the text of the selected rows (sel == NULL: of all) of the window that v is, if it was not
 * yet; other rows may become empty.  Failure as of reading. */
ax_status ax_pq_col_check(ax_task *t, ax_pq_col *c, const uint16_t *sel, uint32_t nsel, ax_vec *v)
    AX_MUST_USE;

/* Begin again at row 0, with the same bytes; a windowed column is hungry for the first. */
void ax_pq_col_rewind(ax_pq_col *c);

/* Shorten a vector that col_read made to its first n > 0 rows. */
void ax_pq_col_cut(ax_pq_col *c, ax_vec *v, uint32_t n);

/* The value of this row of the window cannot be converted: an error, if the row is wanted and the
 * value is not taken for null (ax_pq_is_lost). */
ax_status ax_pq_bad_value(ax_task *t, ax_pq_col *c, uint32_t row) AX_MUST_USE;

/* Are values that cannot be converted nulls? */
bool ax_pq_is_lost(const ax_pq_conv *c);

/* For readers that do their own account of rows.  Go to the next data page (its page_left slots are
 * unread then); open it, so that levels and values can be taken. */
ax_status ax_pq_col_next_page(ax_task *t, ax_pq_col *c) AX_MUST_USE;
ax_status ax_pq_col_open_page(ax_task *t, ax_pq_col *c) AX_MUST_USE;

/* The next n <= AX_BATCH_ROWS values of the open page: physical values; strings, with the buffer
 * that holds them; or none of them (any n). */
ax_status ax_pq_col_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_col_strings(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len,
                            const uint8_t **base, ax_buf **hold, int *gap) AX_MUST_USE;
ax_status ax_pq_col_skip_values(ax_task *t, ax_pq_col *c, uint64_t n) AX_MUST_USE;

/* Nested columns.  init: `c` of conversion `conv`, with leaf[] for its leaves.  read, rewind: as of
 * other columns. */
ax_status ax_pq_nested_init(ax_task *t, ax_pq_scan *s, ax_pq_col *c, const ax_pq_conv *conv,
                            ax_pq_col *leaf) AX_MUST_USE;
ax_status ax_pq_nested_read(ax_task *t, ax_pq_col *c, uint32_t row, uint32_t n, ax_batch *b,
                            ax_vec *out) AX_MUST_USE;
void ax_pq_nested_rewind(ax_pq_col *c);

/* Are bytes of some leaf still missing? */
bool ax_pq_nested_lacks(const ax_pq_col *c);

/* What was read of one leaf for a window: its slots, and the values of those that have one. */
typedef struct ax_pq_slots
{
    const ax_pq_conv *conv;
    uint8_t *def, *rep;       /* [n] */
    uint32_t n, cap;
    uint8_t *val;             /* [nval] values of conv->dst_width bytes */
    const uint8_t **ptr;      /* [nval] strings */
    uint32_t *len;
    uint8_t *lost;            /* [nval] values that are null, being out of range; NULL: none */
    uint32_t nval, val_cap;
    uint32_t at, val_at;      /* where assembly stands */
} ax_pq_slots;

/* Rows [0, n) of the window of column c as JSON texts.  slots: of the leaves of the shape.  null[i]
 * is set for rows that are null, or not selected; their length is 0.  c->fail_row: the row that
 * raised, else UINT32_MAX. */
ax_status ax_pq_nested_json(ax_task *t, ax_arena *a, ax_pq_col *c, const ax_pq_nest *nest,
                            ax_pq_slots *slots, uint32_t n, const uint8_t **ptr, uint32_t *len,
                            uint8_t *null) AX_MUST_USE;

/* One non-null value as text, in arena a: what it is in JSON, without quotes and escapes. */
ax_status ax_pq_value_text(ax_task *t, ax_arena *a, const ax_value *v, ax_value *out) AX_MUST_USE;

/* Step over one slot of every leaf of a shape, at which all must say the same. */
ax_status ax_pq_slots_none(ax_task *t, ax_pq_slots *slots, const ax_pq_shape *root,
                           const ax_pq_shape *shape) AX_MUST_USE;

/* Room for n bytes in c->wbuf. */
ax_status ax_pq_window_buffer(ax_task *t, ax_pq_col *c, size_t n) AX_MUST_USE;

/* Decoders.  Each delivers the next n non-null values of the current page.
 * fixed: *out points at n physical values of conv->src_width bytes, in the page or in c->phys.
 * str: off[n], len[n]; offsets count from c->base, or from c->wbuf->data for the ones that rebuild
 * strings (split_str, and delta_str of DELTA_BYTE_ARRAY). */
ax_status ax_pq_plain_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_plain_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
    AX_MUST_USE;
/* With marks: steps over up to n strings at once; returns how many. */
uint64_t ax_pq_plain_jump(ax_pq_col *c, uint64_t n);
ax_status ax_pq_rle_bool(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_split_open(ax_task *t, ax_pq_col *c) AX_MUST_USE;
ax_status ax_pq_split_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_split_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
    AX_MUST_USE;
ax_status ax_pq_alp_open(ax_task *t, ax_pq_col *c) AX_MUST_USE;
ax_status ax_pq_alp_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_alp_skip(ax_task *t, ax_pq_col *c, uint64_t n) AX_MUST_USE;
ax_status ax_pq_delta_open(ax_task *t, ax_pq_col *c) AX_MUST_USE;
ax_status ax_pq_delta_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out) AX_MUST_USE;
ax_status ax_pq_delta_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
    AX_MUST_USE;

/* Start a stream at p; widths of deltas above max_width are refused. */
bool ax_pq_delta_init(ax_pq_delta *d, const uint8_t *p, const uint8_t *end, uint8_t max_width);
/* n values, wrapping in 64 bits; false: corrupt or too few. */
bool ax_pq_delta_read(ax_pq_delta *d, uint64_t *out, uint32_t n);

/* Decode the dictionary page p: its values are converted once.  body: the page decompressed, or
 * NULL. */
ax_status ax_pq_dict_load(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_buf *body)
    AX_MUST_USE;

/* Ids of n values of a dictionary page into id; keeps account of runs in c. */
ax_status ax_pq_dict_ids(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t at, uint32_t *id)
    AX_MUST_USE;

/* The values of a page as the chunk has them; stored: not compressed.  Checks what can be checked
 * about them, and counts them as read. */
typedef struct ax_pq_packed { const uint8_t *src; size_t packed, plain; bool stored; } ax_pq_packed;
ax_status ax_pq_page_source(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_pq_packed *out)
    AX_MUST_USE;

/* Pages that stay between queries (io.h).  key: false, they are not to be used.  kept: the values
 * of p, a reference, or NULL.  keep: offer them; body has no other owner. */
bool ax_pq_page_key(const ax_pq_col *c, const ax_pq_page *p, ax_io_page *key);
ax_buf *ax_pq_page_kept(ax_task *t, ax_pq_col *c, const ax_pq_page *p, bool *wanted);
void ax_pq_page_keep(ax_pq_col *c, const ax_pq_page *p, ax_buf *body);

/* The values part of a page, decompressed: *v up to *vend inside *hold (a reference for the
 * caller), with 64 readable bytes behind. */
ax_status ax_pq_page_body(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_buf **hold,
                          const uint8_t **v, const uint8_t **vend) AX_MUST_USE;

/* A buffer of n bytes for a page: the spare one when it will do.  Retire: let go of c->body, and
 * keep it as the spare one when nobody else holds it. */
ax_status ax_pq_take_buffer(ax_task *t, ax_pq_col *c, size_t n, ax_buf **out) AX_MUST_USE;
void ax_pq_retire_buffer(ax_pq_col *c);

/* stream.c.  want: be hungry, for at least so many bytes at off.  window: they have come; ownership
 * moves.  header: of the next page into c->page, or be hungry.  open: c->page in pieces, if it
 * is to be; else its body is at hand; or hungry.  fit: of the next *n rows, those whose values
 * stand at c->v; offsets of strings go to c->soff + at. */
void ax_pq_want(ax_pq_col *c, uint64_t off, uint64_t least);
void ax_pq_col_window(ax_pq_col *c, ax_buf *bytes);
ax_status ax_pq_col_header(ax_task *t, ax_pq_col *c) AX_MUST_USE;
ax_status ax_pq_pieces_open(ax_task *t, ax_pq_col *c, bool stored) AX_MUST_USE;
ax_status ax_pq_pieces_fit(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t *n) AX_MUST_USE;

/* Are the values of c->page stored as they are? */
bool ax_pq_page_stored(const ax_pq_col *c, const ax_pq_page *p);

extern const ax_format ax_format_parquet;

/* ---- scans ----------------------------------------------------------------------------------- */

enum { OP_OPEN, OP_SCAN, OP_PRUNE, OP_FACTS, OP_PROBE };

/* All operations begin with this. */
typedef struct ax_pq_op { uint8_t kind; } ax_pq_op; /* OP_* */

struct ax_pq_scan
{
    ax_pq_op op;
    uint8_t state;
    const ax_pq_file *f;
    const ax_pq_bind *bind;
    ax_scan_req req;
    ax_arena *arena;          /* borrowed from begin */
    ax_cdc *cdc;
    size_t piece_bytes;       /* of large pages that are decompressed in pieces */
    const ax_pq_group *group;
    ax_pq_col *col;           /* [nphys]; scan == NULL: constant or virtual; behind ncolumns stand
                               * the leaves of nested columns */
    uint32_t nphys;
    bool *stays;              /* [ncolumns] leaves with the batch: its text must be valid */
    ax_io_req *io;            /* [nio <= io_cap] requests under way, of columns io_col */
    uint32_t *io_col;
    uint32_t nio, io_cap;
    bool joined;              /* takes part in req.share */
    bool first;               /* and was the first to do so */
    bool asked_all;           /* the bytes waited for: of all columns, or those of the filter */
    bool claims_ready;        /* page_start is set */
    ax_rowrange claim;        /* rows taken from req.share */
    uint32_t *page_start;     /* [npage_starts] rows at which claims should end */
    uint32_t npage_starts;
    ax_rowrange range;        /* the current range of rows wanted */
    uint32_t range_no, nranges; /* the next one, and how many there are */
    ax_fmt_window w;          /* with nphys columns */
    bool live_first;          /* live bounds go before the filter */
    uint64_t live_in, live_out; /* rows they were tried on, and passed, since it was decided */
};

ax_status ax_pq_scan_begin(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out)
    AX_MUST_USE;
ax_status ax_pq_scan_step(ax_task *t, ax_pq_scan *s, ax_fmt_event *ev) AX_MUST_USE;
void ax_pq_scan_end(ax_pq_scan *s);

/* Row groups for several scans.
 * alone: has another scan all rows, since memory is short?  (The first to ask gets them, and no
 *   share.)
 * join, leave: at the scan's beginning and end.
 * bytes: does the chunk of column i have to be fetched by this scan (MINE; give it to all then), or
 *   by another one (OTHERS), or is it there (HERE; it was taken)?
 * pages: see that the columns whose bytes are there have what is made for all.  *wait: another scan
 *   is at it, until the share's epoch is another than *epoch.
 * claim: the next rows into s->claim. */
typedef enum ax_pq_whose { PQ_MINE, PQ_OTHERS, PQ_HERE } ax_pq_whose;
ax_pq_whose ax_pq_share_bytes(ax_pq_scan *s, uint32_t i, uint32_t *epoch);
void ax_pq_share_give(ax_pq_scan *s, uint32_t i);
bool ax_pq_share_alone(ax_pq_scan *s);
ax_status ax_pq_share_join(ax_task *t, ax_pq_scan *s) AX_MUST_USE;
void ax_pq_share_leave(ax_pq_scan *s);
ax_status ax_pq_share_pages(ax_task *t, ax_pq_scan *s, bool *wait, uint32_t *epoch) AX_MUST_USE;
ax_status ax_pq_share_claim(ax_task *t, ax_pq_scan *s, bool *any) AX_MUST_USE;

/* ---- statistics ------------------------------------------------------------------------------ */

/* Statistics of a chunk as the file has them; bytes are borrowed from the footer. */
typedef struct ax_pq_bytes { const uint8_t *p; uint32_t n; bool set; } ax_pq_bytes;
typedef struct ax_pq_stats
{
    ax_pq_bytes old_min, old_max, min, max;
    int64_t nulls, nans, distinct; /* -1: not given */
    bool min_exact, max_exact; /* flags present and true */
} ax_pq_stats;
void ax_pq_stats_parse(const ax_pq_chunk *m, ax_pq_stats *s);

/* Bounds of a declared column in a split, as far as they may be believed. */
bool ax_pq_bounds(const ax_fmt_bind *b, uint32_t split, uint32_t col, ax_bounds *out);

/* The same for `rows` rows of which s tells; out->rows and out->nulls are set. */
void ax_pq_believe(const ax_pq_file *f, const ax_pq_conv *c, const ax_pq_stats *s, int64_t rows,
                   ax_bounds *out);

/* ---- Bloom filters --------------------------------------------------------------------------- */

enum
{
    PQ_BLOOM_BLOCK = 32,              /* bytes of a block */
    PQ_BLOOM_MAX = 128 << 20,         /* bytes of a filter */
    PQ_BLOOM_HEADER = 64,             /* bytes that surely hold the header */
    PQ_PROBE_BYTES = 32               /* longest physical value of fixed width that is asked for */
};

uint64_t ax_pq_xxh64(const uint8_t *p, size_t n);

/* Sizes of the header at p and of the blocks behind it; false: not a filter that we know. */
bool ax_pq_bloom_header(const uint8_t *p, size_t n, uint32_t *header, uint32_t *nbytes);

/* The block of a filter of nbytes that a value of this hash is in, and: may it be there? */
uint32_t ax_pq_bloom_block(uint64_t hash, uint32_t nbytes);
bool ax_pq_bloom_may(const uint8_t *block, uint64_t hash);

/* Hashes of the one or two physical values that become v; 0: not known. */
uint32_t ax_pq_bloom_hashes(const ax_pq_conv *c, const ax_value *v, uint64_t *hash);

/* Statistics of n pages, in a; bounds point into p. */
bool ax_pq_column_index(ax_arena *a, const uint8_t *p, size_t len, uint32_t n, ax_pq_stats **out);

/* Bounds of a page, as far as they may be believed. */
bool ax_pq_page_bounds(const ax_pq_file *f, const ax_pq_conv *c, const ax_pq_stats *s,
                       uint32_t rows, ax_bounds *out);

/* ---- pruning --------------------------------------------------------------------------------- */

ax_status ax_pq_prune_begin(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                            ax_rowrange within, const ax_filter *f, uint32_t allow,
                            ax_fmt_op **out) AX_MUST_USE;
ax_status ax_pq_prune_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_pq_prune_end(ax_fmt_op *op);

/* ---- facts ----------------------------------------------------------------------------------- */

#define AX_PQ_NFACTS 6u
extern const ax_fact_table ax_pq_fact_table[AX_PQ_NFACTS];
ax_status ax_pq_facts_begin(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                            const ax_fact_arg *arg, ax_fmt_op **out) AX_MUST_USE;
ax_status ax_pq_facts_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;

/* The table bloom_probe: for each row group, do Bloom filters exclude the value? */
ax_status ax_pq_probe_begin(ax_task *t, ax_arena *a, const ax_pq_file *f,
                            const ax_fact_table *table, const ax_fact_arg *arg,
                            ax_fmt_op **out) AX_MUST_USE;
ax_status ax_pq_probe_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev) AX_MUST_USE;
void ax_pq_probe_end(ax_fmt_op *op);

#endif
