/* Vectors: columns of up to 2048 rows, and batches of them.
 *
 * A batch is a window of AX_BATCH_ROWS rows or fewer.  Its columns are vectors in the encoding in
 * which they arrived (dictionary ids stay ids, runs stay runs); which of its rows count is told by
 * a selection vector, and values are not moved before a breaker (aggregation, sort, join) needs
 * them.  Kernels run over all physical rows where a value costs nothing, and over the selection
 * where it costs (strings) or may fail (division).
 *
 * Kinds.  FLAT: one value a row.  CONST: one value for all rows.  DICT: uint32 ids into an ax_dict.
 * RUN: run i has one value, row i of a child vector that is FLAT or DICT.  SEQ: start + i * step.
 * VIEW: strings by pointer and length per row.  LIST, STRUCT, MAP: offsets and children; children
 * of lists may have more than 2048 rows (but RUN and selections end at 65,535), and off[0] may be
 * more than 0: a window into a longer child.  DOC: JSON values.  Encodings compose: DICT and RUN
 * sit over any flat kind.
 *
 * Strings.  A FLAT string vector is offset + length into one page: nothing is copied, 8 bytes a
 * row.  It therefore refers to exactly one base pointer.  The first operator that gathers strings
 * of several pages makes a VIEW vector.  Pages live as long as the batch: the batch pins them
 * (ax_batch_pin), operators never own them, and what must outlive the batch is copied.  A batch
 * that goes to another task (output queue, exchange) outlives its scan's dictionaries too: it is
 * gathered with copy_bytes, not handed over.
 *
 * Consumers that do not know a kind call ax_vec_flatten (EUNSUPPORTED when that cannot do it), so a
 * new kind breaks nobody.
 *
 * Rows that are not selected, and rows under a null, are defined memory: their values mean nothing
 * but may be computed with.  Dictionary ids are below dict->n in every row (0 will do), lengths of
 * strings under a null are 0, and a FLAT string column does well to let the offset of a null row be
 * that of the next string: searches run over the whole span of bytes as long as offsets ascend.
 *
 * Nulls.  One byte a row, 1 = null, `null == NULL` when the vector has none.  The value under a
 * null is defined memory but means nothing.  For RUN and DICT vectors nulls are per row in the
 * outer vector (an id under a null is 0); CONST has null[0].
 *
 * Alignment.  Value arrays are 64-byte aligned, 64 bytes behind their end are readable, 16 before
 * their start.  Strings: 64 bytes behind the page end are readable.
 *
 * Threads.  A batch belongs to one task.  A dictionary is shared by the batches of one row group:
 * its values are immutable, the caches in it are owned by the one lane that scans the row group.
 *
 * Format facts: none.  Design and measurements: specs of the executor, restated in
 * docs/internals/vector.md. */
#ifndef AX_VECTOR_H
#define AX_VECTOR_H

#include "base/memory.h"
#include "base/task.h"

#define AX_BATCH_ROWS 2048u

/* ---- types ----------------------------------------------------------------------------------- */

typedef enum ax_type_id
{
    AX_T_NONE = 0,
#define AX_TYPE(name, phys, sql) AX_T_##name,
#include "vector/types.def"
#undef AX_TYPE
    AX_T_CNT
} ax_type_id;

/* Physical representation of one value in memory. */
typedef enum ax_phys
{
    AX_P_NONE = 0,
    AX_P_U8,       /* bool: 0 or 1 */
    AX_P_I8, AX_P_I16, AX_P_I32, AX_P_I64,
    AX_P_U16, AX_P_U32, AX_P_U64,
    AX_P_I128, AX_P_U128, AX_P_I256, AX_P_U256,
    AX_P_F32, AX_P_F64,
    AX_P_NUM,      /* ax_num: exact decimal */
    AX_P_INTERVAL, /* ax_interval */
    AX_P_FIX16,    /* 16 bytes */
    AX_P_STR,      /* bytes of any length; see strings above */
    AX_P_DOC, AX_P_LIST, AX_P_STRUCT, AX_P_MAP,
    AX_P_CNT
} ax_phys;

__extension__ typedef __int128 ax_i128;
__extension__ typedef unsigned __int128 ax_u128;

/* An exact decimal: v * 10^-dscale, or a special value.  dscale is PostgreSQL's display scale:
 * 1.10 and 1.1 are equal and print differently.  |v| < 10^38; what needs more digits is WIDE. */
typedef struct ax_num
{
    ax_i128 v;         /* WIDE: address of an ax_num_wide */
    int16_t dscale;    /* 0..16383 */
    uint8_t special;   /* AX_NUM_* */
    uint8_t pad[13];
} ax_num;
enum { AX_NUM_FINITE = 0, AX_NUM_NINF = 1, AX_NUM_PINF = 2, AX_NUM_NAN = 3, AX_NUM_WIDE = 4 };

/* The digits of a decimal that ax_num cannot hold: base 10,000, most significant first, neither the
 * first nor the last is 0; digit[i] counts 10000^(weight - i).  Only aggregates yield such values,
 * their memory is the query's, and only orders, comparisons and the host take them: types say
 * AX_NUM_ANY_DIGITS where they may occur. */
typedef struct ax_num_wide
{
    uint32_t ndigits;
    int32_t weight;
    bool neg;
    uint16_t digit[];
} ax_num_wide;

static inline ax_num ax_num_of_wide(const ax_num_wide *w, int16_t dscale)
{
    return (ax_num){.v = (ax_i128) (uintptr_t) w, .dscale = dscale, .special = AX_NUM_WIDE};
}

static inline const ax_num_wide *ax_num_wide_of(const ax_num *d)
{
    return (const ax_num_wide *) (uintptr_t) d->v;
}

typedef struct ax_interval { int64_t usec; int32_t days; int32_t months; } ax_interval;

/* Order of text under a collation, as far as the engine can reproduce it. */
typedef enum ax_coll
{
    AX_COLL_NONE,  /* the type is not collatable */
    AX_COLL_BYTES, /* C, POSIX and equivalents: unsigned byte order */
    AX_COLL_EQ,    /* deterministic, but another order: only = and <> are known (bytes) */
} ax_coll;

#define AX_NUM_ANY_DIGITS (-1) /* precision: values may be AX_NUM_WIDE */

typedef struct ax_type
{
    uint8_t id;        /* ax_type_id */
    uint8_t phys;      /* ax_phys; follows from id, kept for dispatch */
    uint8_t coll;      /* ax_coll */
    int32_t precision; /* NUMERIC: digits, 0 = unconstrained, but at most 38; AX_NUM_ANY_DIGITS;
                        * BPCHAR: length in characters */
    int16_t scale;     /* NUMERIC with precision: digits behind the point */
    const struct ax_nested *nested; /* LIST, STRUCT, MAP: what it is made of, or NULL: not told */
} ax_type;

/* The parts of a nested type: LIST one, MAP key and value, STRUCT its fields.  Borrowed; lives as
 * long as what the type describes (plan, source, opened file). */
typedef struct ax_nested
{
    uint32_t n;
    const ax_type *type;       /* [n] */
    const char *const *name;   /* [n] STRUCT: names of the fields; else NULL */
    const int32_t *field_id;   /* [n] ids in lake tables, -1: none; NULL: no ids */
} ax_nested;

ax_type ax_type_make(ax_type_id id);           /* text types get AX_COLL_BYTES */
uint32_t ax_phys_width(ax_phys p);             /* bytes a value; 0 for STR, DOC and nested */
const char *ax_type_name(ax_type_id id);       /* SQL name, static storage */
static inline bool ax_type_is_str(ax_type t) { return t.phys == AX_P_STR; }

/* One value outside a vector: constants, bounds, parameters.  Strings are borrowed from an arena
 * named by the holder. */
typedef struct ax_value
{
    ax_type type;
    bool null;
    union
    {
        int64_t i;       /* BOOL, INT*, DATE, TIME, TIMESTAMP*: sign-extended */
        double f;        /* FLOAT4 (exactly representable), FLOAT8 */
        ax_num num;
        ax_interval iv;
        uint8_t fix[16];
        struct { const uint8_t *p; uint32_t len; } s;
    } u;
} ax_value;

/* Total order of two non-null values of one type, as PostgreSQL's default btree operator class has
 * it (NaN equals NaN and is greatest, -0 = 0, numeric by value, text as bytes): <0, 0, >0. */
int ax_value_cmp(const ax_value *a, const ax_value *b);

/* The parts of that order for columns of values.  ax_num_cmp compares across scales; ax_bytes_cmp
 * orders unsigned bytes, shorter first when one is a prefix; ax_bpchar_len is the length that
 * counts for character(n), without trailing blanks. */
int ax_num_cmp(const ax_num *a, const ax_num *b);
int64_t ax_num_wide_floor(const ax_num_wide *w); /* rounded down; the extremes beyond */
int ax_bytes_cmp(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len);
uint32_t ax_bpchar_len(const uint8_t *p, uint32_t len);

/* A copy of v that lives in `a`, with AX_PAD readable bytes behind strings. */
ax_status ax_value_copy(ax_task *t, ax_arena *a, const ax_value *v, ax_value *out) AX_MUST_USE;

/* Write a non-null fixed-width value as element i of an array of its physical type. */
void ax_value_store(const ax_value *v, void *data, uint32_t i);

/* ---- vectors --------------------------------------------------------------------------------- */

typedef enum ax_vkind
{
    AX_VK_FLAT, AX_VK_CONST, AX_VK_DICT, AX_VK_RUN, AX_VK_SEQ, AX_VK_VIEW,
    AX_VK_LIST, AX_VK_STRUCT, AX_VK_MAP, AX_VK_DOC
} ax_vkind;

enum
{
    AX_VF_ASCII = 1,  /* strings: all bytes < 0x80 */
    AX_VF_SORTED = 2, /* ascending without nulls */
};

typedef struct ax_vec ax_vec;
typedef struct ax_dict ax_dict;

struct ax_vec
{
    uint8_t kind;   /* ax_vkind */
    uint8_t flags;
    ax_type type;
    uint32_t n;     /* logical rows */
    uint8_t *null;  /* [n], or [1] for CONST; NULL: no nulls */
    union
    {
        void *data;                                                   /* FLAT, CONST: fixed width */
        struct { const uint8_t *base; const uint32_t *off, *len; } str; /* FLAT, CONST: strings */
        struct { const uint8_t *const *ptr; const uint32_t *len; } view;
        struct { const uint32_t *id; ax_dict *dict; } dict;           /* id[i] < dict->n */
        struct { const uint16_t *end; ax_vec *val; uint32_t n; } run; /* [end[i-1], end[i]) */
        struct { int64_t start, step; } seq;                          /* type INT8 */
        struct { const uint32_t *off; ax_vec *child; } list;          /* LIST, MAP: off[n + 1] */
        struct { ax_vec *child; uint32_t n; } st;
        struct { const uint8_t *const *ptr; const uint32_t *len; uint8_t form; } doc;
    } u;
};

/* A dictionary: one per (file, row group, column).  `val` is a FLAT vector without nulls with n
 * values; they need not be distinct.  The caches are filled by the lane that scans the row group
 * and die with it: pred and proj keep results of predicates and of functions of this column alone,
 * keyed by the expression's number (unique over all programs, see ax_expr.id). */
struct ax_dict
{
    uint32_t n;
    uint64_t uid;            /* unique in the process while the dictionary lives */
    ax_vec val;
    ax_arena *arena;         /* owns val and the caches; the dictionary pins its page itself */
    /* rows: how many rows asked before the result was made; result NULL: not yet, or impossible */
    struct { uint32_t expr_id, rows; uint8_t *result; bool nulls; } pred[8]; /* 0 false, 1 true, 2
                              * null; nulls: some are 2 */
    struct { uint32_t expr_id, rows; ax_vec *result; } proj[8];
};

/* The next value for ax_dict.uid; never 0, never twice in a process.  Thread: any. */
uint64_t ax_dict_uid(void);

/* ---- batches --------------------------------------------------------------------------------- */

/* Where a row came from; survives compaction and merges, and fetches it again later.  A split has
 * fewer than 2^32 rows (format.h).  A batch has one identity; where rows of several sources meet
 * (joins), each source's identity is an ordinary INT8 column (AX_VIRT_ROWID). */
typedef struct ax_rowid { uint32_t split; uint32_t row; } ax_rowid; /* row in split */

typedef struct ax_batch
{
    uint32_t nrows;      /* physical rows, <= AX_BATCH_ROWS */
    uint32_t nsel;       /* selected rows; == nrows when sel is NULL */
    uint16_t *sel;       /* [nsel] ascending row numbers, or NULL: all rows */
    uint32_t ncols;
    ax_vec *col;         /* [ncols] */
    uint32_t split;      /* row identity while the rows are contiguous in one split */
    uint32_t row0;       /* row in split of row 0 */
    ax_rowid *rowid;     /* [nrows] once gathered; NULL: (split, row0 + i) */
    ax_arena *arena;     /* owns everything above and the pins; reset by the batch's driver */
    const ax_error *poison; /* not NULL: the row after the last one failed with this error; it is
                             * raised by whoever consumes that far, and by nobody else */
} ax_batch;

/* Keep buf alive until the batch's arena is reset.  Takes a reference of its own. */
ax_status ax_batch_pin(ax_task *t, ax_batch *b, ax_buf *buf) AX_MUST_USE;

/* Make `out` a FLAT (fixed width) or VIEW (strings) copy of the selected rows of v: out->n = nsel.
 * sel == NULL: all v->n rows.  Fixed-width values are copied into `a`; string bytes are not copied
 * unless copy_bytes. */
ax_status ax_vec_gather(ax_task *t, ax_arena *a, const ax_vec *v, const uint16_t *sel,
                        uint32_t nsel, bool copy_bytes, ax_vec *out) AX_MUST_USE;

/* The same for uint32 row numbers in any order, which may repeat (children of lists have more than
 * 65,536 rows; joins and sorts fetch rows out of order). */
ax_status ax_vec_gather32(ax_task *t, ax_arena *a, const ax_vec *v, const uint32_t *row, uint32_t n,
                          bool copy_bytes, ax_vec *out) AX_MUST_USE;

/* Row k of out = row i[k] of v[k], all of one type and gathered (above); n > 0.  copy: bytes of
 * strings, too, are copied into a. */
ax_status ax_vec_merge(ax_task *t, ax_arena *a, const ax_vec *const *v, const uint32_t *i,
                       uint32_t n, bool copy, ax_vec *out) AX_MUST_USE;

/* Make v readable row by row without knowing its encoding: fixed width becomes FLAT, strings become
 * VIEW, all physical rows, nulls per row (NULL if none).  FLAT input is passed through. */
ax_status ax_vec_flatten(ax_task *t, ax_arena *a, const ax_vec *v, ax_vec *out) AX_MUST_USE;

/* The run of a RUN vector that covers row i. */
uint32_t ax_vec_run_at(const ax_vec *v, uint32_t i);

/* Row i of any vector; strings are borrowed from the vector. */
ax_value ax_vec_value(const ax_vec *v, uint32_t i);

/* A CONST vector of n rows; strings are copied (kernels read AX_PAD bytes behind them).  Null lists
 * and maps become a LIST vector, others have no constants. */
ax_status ax_vec_const(ax_task *t, ax_arena *a, const ax_value *val, uint32_t n, ax_vec *out)
    AX_MUST_USE;

/* String i of a FLAT, VIEW or CONST string vector (not DICT, not RUN). */
static inline const uint8_t *ax_vec_str(const ax_vec *v, uint32_t i, uint32_t *len)
{
    if (v->kind == AX_VK_VIEW)
    {
        *len = v->u.view.len[i];
        return v->u.view.ptr[i];
    }
    if (v->kind == AX_VK_CONST)
        i = 0;
    *len = v->u.str.len[i];
    return v->u.str.base + v->u.str.off[i];
}

#endif
