/* Kernels: loops over columns, compiled for several instruction sets; and calls, which bind a
 * function to argument types and pick its kernels.
 *
 * Who uses it: expr/ (calls, masks, selections) and exec/ (masks, selections).
 *
 * The kernel table is chosen by ax_cpu_get() and looked up per batch, so that tests may force a
 * level.  Kernels are total functions on plain pointers.  They run over all n physical rows and
 * know nothing of nulls, except where a value costs (strings): there they get the selection.
 * Inputs may be read up to AX_PAD bytes behind their end, masks and selections are written up to
 * 64 bytes behind theirs (buffers of ax_arena_values with 64 bytes to spare).
 * Masks: one byte a row, 0 or 1. */
#ifndef AX_KERNEL_H
#define AX_KERNEL_H

#include "func/func.h" /* either half may be included first */

/* Physical types with vector kernels. */
typedef enum ax_kt
{
    AX_KT_U8, AX_KT_I16, AX_KT_I32, AX_KT_I64, AX_KT_F32, AX_KT_F64, AX_KT_CNT
} ax_kt;

/* Comparisons in the order of the functions EQ..GE. */
typedef enum ax_kcmp
{
    AX_KC_EQ, AX_KC_NE, AX_KC_LT, AX_KC_LE, AX_KC_GT, AX_KC_GE, AX_KC_CNT
} ax_kcmp;

typedef enum ax_karith { AX_KA_ADD, AX_KA_SUB, AX_KA_MUL, AX_KA_CNT } ax_karith;

/* Which side is one value for all rows. */
typedef enum ax_kshape { AX_KS_VV, AX_KS_VC, AX_KS_CV, AX_KS_CNT } ax_kshape;

/* Conversions between fixed-width types; the narrowing ones report a value that does not fit. */
typedef enum ax_kcast
{
    AX_KX_I16_I32, AX_KX_I16_I64, AX_KX_I32_I64,
    AX_KX_I32_I16, AX_KX_I64_I16, AX_KX_I64_I32,
    AX_KX_I16_F64, AX_KX_I32_F64, AX_KX_I64_F64, AX_KX_F32_F64,
    AX_KX_I16_F32, AX_KX_I32_F32, AX_KX_I64_F32, AX_KX_F64_F32,
    AX_KX_F64_I16, AX_KX_F64_I32, AX_KX_F64_I64, AX_KX_F32_I16, AX_KX_F32_I32, AX_KX_F32_I64,
    AX_KX_CNT
} ax_kcast;

/* A needle of a substring search with its two rarest bytes. */
typedef struct ax_needle
{
    const uint8_t *p;
    uint32_t n;       /* >= 1 */
    uint32_t a, b;    /* anchors: offsets of two bytes, a <= b < n, b - a < 64; equal when n == 1 */
} ax_needle;

ax_needle ax_needle_make(const uint8_t *p, uint32_t n);

/* Strings as kernels see them: row i is base + off[i] or ptr[i], len[i] bytes. */
typedef struct ax_strs
{
    const uint8_t *base;        /* NULL: ptr is used */
    const uint32_t *off;
    const uint8_t *const *ptr;
    const uint32_t *len;
} ax_strs;

static inline const uint8_t *ax_strs_at(const ax_strs *s, uint32_t i)
{
    return s->base != NULL ? s->base + s->off[i] : s->ptr[i];
}

typedef struct ax_kernels
{
    /* out[i] = a[i] op b[i] (VV) or a[i] op b[0] (VC); floats in PostgreSQL's order: NaN equals
     * NaN and is greater than everything, -0 = 0. */
    void (*cmp[AX_KT_CNT][AX_KC_CNT][2])(const void *a, const void *b, uint8_t *out, uint32_t n);

    /* out[i] = a[i] op b[i], 0 in the shape's constant side.  Integers wrap.  Not 0 when some row
     * overflows (or underflows: floats), selected or not. */
    uint32_t (*arith[AX_KT_CNT][AX_KA_CNT][AX_KS_CNT])(const void *a, const void *b, void *out,
                                                       uint32_t n);
    uint32_t (*cast[AX_KX_CNT])(const void *a, void *out, uint32_t n);

    void (*and)(const uint8_t *a, const uint8_t *b, uint8_t *out, uint32_t n);
    void (*or)(const uint8_t *a, const uint8_t *b, uint8_t *out, uint32_t n);
    void (*andnot)(const uint8_t *a, const uint8_t *b, uint8_t *out, uint32_t n); /* a and not b */
    void (*not)(const uint8_t *a, uint8_t *out, uint32_t n);
    /* Three-valued: values v, nulls n; the right side's null pointers may be NULL.  In place. */
    void (*and3)(uint8_t *v, uint8_t *nl, const uint8_t *v2, const uint8_t *nl2, uint32_t n);
    void (*or3)(uint8_t *v, uint8_t *nl, const uint8_t *v2, const uint8_t *nl2, uint32_t n);
    uint32_t (*count)(const uint8_t *mask, uint32_t n);

    /* out[i] = table[id[i]]; ids are below n_table. */
    void (*map8)(const uint8_t *table, uint32_t n_table, const uint32_t *id, uint8_t *out,
                 uint32_t n);

    /* Rows whose mask is 1, ascending; returns how many.  n <= 65,536.  `refine` keeps the rows of
     * sel whose mask is 1; out may be sel. */
    uint32_t (*mask_to_sel)(const uint8_t *mask, uint32_t n, uint16_t *sel);
    uint32_t (*refine)(const uint8_t *mask, const uint16_t *sel, uint32_t nsel, uint16_t *out);

    /* Position of the needle in h[0..hn), or hn when it is not there.  Reads behind the end. */
    uint32_t (*find)(const uint8_t *h, uint32_t hn, const ax_needle *needle);
    /* mask[i] = row i contains the needle, all rows i < n, when the rows lie ascending and without
     * overlap in one span of bytes, gaps allowed. */
    void (*find_span)(const ax_strs *s, uint32_t n, const ax_needle *needle, uint8_t *mask);
    /* Characters of UTF-8 in each selected row (sel NULL: all n). */
    void (*utf8_len)(const ax_strs *s, const uint16_t *sel, uint32_t n, int32_t *out);
    /* out[i] = row i equals p[0..len); selected rows only.  p readable 8 bytes. */
    void (*str_eq)(const ax_strs *s, const uint16_t *sel, uint32_t n, const uint8_t *p,
                   uint32_t len, uint8_t *out);
} ax_kernels;

const ax_kernels *ax_k_get(void);

/* ---- calls ----------------------------------------------------------------------------------- */

/* A function bound to argument types.  Immutable; shared by lanes. */
typedef struct ax_call ax_call;

/* What a call reads and writes.  The caller owns all buffers; they have room for n values (and 64
 * bytes more).  Only rows of sel are defined afterwards for functions of strings and for those that
 * may raise; all n rows otherwise. */
typedef struct ax_call_io
{
    /* fixed width: FLAT or CONST; strings: FLAT, VIEW or CONST */
    const ax_vec *arg[AX_FN_MAX_ARGS];
    uint32_t n;
    const uint16_t *sel;   /* NULL: all n rows */
    uint32_t nsel;
    ax_arena *arena;       /* strings that are built; lives as long as the results */
    void *data;            /* out: values; strings: pointers into arguments, call and arena */
    uint32_t *len;         /* out: lengths of strings */
    uint8_t *null;         /* out: nulls, meaningful when has_null */
    bool has_null;
    uint32_t fail_row;     /* on failure: first row of sel that raises */
    const char *fail_msg;  /* static, or in `arena` */
} ax_call_io;

/* What the arguments of fn must be converted to, and the result.  Arguments that already have the
 * type in want[] need no conversion; others are converted by cast[i] (AX_FN_NONE: none).
 * NULL: fine; otherwise why the engine has no such combination (static storage). */
typedef struct ax_fn_shape
{
    ax_type want[AX_FN_MAX_ARGS];
    uint16_t cast[AX_FN_MAX_ARGS];
    ax_type result;
} ax_fn_shape;
const char *ax_fn_resolve(ax_fn fn, const ax_type *args, uint32_t nargs, ax_fn_shape *out);

/* Can fn raise on these types?  Narrower than the flag RAISES: widening cannot.  konst as below. */
bool ax_fn_can_raise(ax_fn fn, const ax_type *args, const ax_value *const *konst);

/* Narrow the result type of a function of decimals to the digits that its arguments allow.
 * NULL: fine; otherwise why the engine must not have it: the server could have a result that does
 * not fit 38 digits (static storage).  args have the wanted types, konst as below. */
const char *ax_fn_digits(ax_fn fn, const ax_type *args, const ax_value *const *konst,
                         ax_type *result);

/* Bind fn to arguments that have the wanted types.  konst[i] is the value of argument i where it is
 * constant, else NULL; borrowed as long as the call lives. */
ax_status ax_call_bind(ax_task *t, ax_arena *a, ax_fn fn, const ax_type *args,
                       const ax_value *const *konst, uint32_t nargs, ax_call **out) AX_MUST_USE;

/* arg = ANY (vals), or arg <> ALL (vals) when negated.  vals have arg's type and are copied; nulls
 * among them make "not found" null.  An empty list is never equal, even to null. */
ax_status ax_call_bind_in(ax_task *t, ax_arena *a, ax_type arg, const ax_value *vals, uint32_t n,
                          bool negated, ax_call **out) AX_MUST_USE;

/* Run it.  Not AX_OK: a selected row without null arguments raises; see fail_row.  Nothing is
 * written to an error slot. */
ax_status ax_call_run(const ax_call *c, ax_call_io *io) AX_MUST_USE;

/* Run it on single values; strings in out are borrowed from args and from `a`.  raises: the call
 * fails on these arguments; out means nothing then. */
ax_status ax_call_value(ax_task *t, ax_arena *a, const ax_call *c, const ax_value *args,
                        uint32_t nargs, ax_value *out, bool *raises) AX_MUST_USE;

/* Does it cost nothing to run on rows that are not selected?  Then all n rows are defined. */
bool ax_call_whole(const ax_call *c);

/* ---- patterns of LIKE ------------------------------------------------------------------------ */

typedef enum ax_like_kind
{
    AX_LIKE_ALL,      /* only % */
    AX_LIKE_EXACT,    /* no wildcard */
    AX_LIKE_PREFIX,   /* lit% */
    AX_LIKE_SUFFIX,   /* %lit */
    AX_LIKE_CONTAINS, /* %lit% */
    AX_LIKE_GENERAL
} ax_like_kind;

typedef struct ax_like
{
    uint8_t kind;
    const uint8_t *lit;     /* the literal of the simple kinds; GENERAL: its longest one */
    uint32_t lit_len;
    const uint8_t *prefix;  /* GENERAL: what every match begins with; may be empty */
    uint32_t prefix_len;
    const uint8_t *pat;     /* GENERAL: the pattern without escapes ... */
    const uint8_t *wild;    /* ... and what each byte of it is: 0 literal, 1 _, 2 % */
    uint32_t pat_len;
    ax_needle needle;       /* of lit, when it is not empty */
    ax_needle *part;        /* GENERAL without _: [nparts] its literals in order */
    uint32_t nparts;        /* 0: it has a _ */
    uint32_t min_len;       /* their lengths together */
} ax_like;

/* EESCAPE for a pattern that ends in a lone escape: the server raises only when matching reaches
 * it, so ax_expr_call refuses such constants (EUNSUPPORTED); what is left are parameters. */
ax_status ax_like_compile(ax_task *t, ax_arena *a, const uint8_t *p, uint32_t n, ax_like *out)
    AX_MUST_USE;
/* The pattern of a bound LIKE or NOT LIKE; NULL: another function, or a null pattern. */
const ax_like *ax_call_like(const ax_call *c);
bool ax_like_match(const ax_like *l, const uint8_t *s, uint32_t n);

#endif
