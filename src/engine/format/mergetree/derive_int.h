/* Columns that are computed: what derive.c and its companions share.
 *
 *   derive.c        which columns are computed, from which expression or by which cast
 *   derive_parse.c  text of an expression to a tree
 *   derive_check.c  tree to typed nodes: names, functions, types of results
 *   derive_func.c   functions, one loop each: arithmetic, texts;  derive_logic.c  comparisons and
 *                   choices;  derive_array.c  arrays and hashes;  derive_date.c  parts of dates
 *   derive_cast.c   one type to another;  derive_text.c  texts
 *   derive_eval.c   values of columns to registers, nodes to registers, registers to values
 *
 * Semantics are ClickHouse's: integers wrap at the width of their result's type, division by zero
 * is an error, comparisons with NaN are false.  What is not known to be the same is refused when
 * the column is bound, with the name of what is not known.
 *
 * A register has the values of one node for n rows.  Under a null anything may stand. */
#ifndef AX_MT_DERIVE_INT_H
#define AX_MT_DERIVE_INT_H

#include "mergetree_int.h"

__extension__ typedef unsigned __int128 ax_mt_u128;

/* ---- text ------------------------------------------------------------------------------------ */

typedef enum ax_mt_tree_kind
{
    MT_T_NAME,       /* column, or parameter of a lambda */
    MT_T_NUMBER,     /* text of a number, with its sign */
    MT_T_STRING,     /* unescaped */
    MT_T_CALL,       /* text(arg...): functions and operators by their names as functions */
    MT_T_LAMBDA      /* arg[0 .. narg - 1]: parameters; the last: body */
} ax_mt_tree_kind;

typedef struct ax_mt_tree
{
    uint8_t kind;                 /* ax_mt_tree_kind */
    const char *s;                /* [n] and a zero behind it */
    uint32_t n;
    uint32_t narg;
    struct ax_mt_tree **arg;
} ax_mt_tree;

/* *out NULL: it is no expression of the subset that is understood, from *at on. */
ax_status ax_mt_tree_parse(ax_task *t, ax_arena *a, const char *s, size_t n, ax_mt_tree **out,
                           const char **at) AX_MUST_USE;

/* ---- registers ------------------------------------------------------------------------------- */

typedef enum ax_mt_cls { MT_R_NONE, MT_R_INT, MT_R_FLOAT, MT_R_STR, MT_R_ARRAY } ax_mt_cls;

typedef struct ax_mt_reg
{
    uint32_t n;
    uint8_t *null;                /* [n] or NULL: none is */
    ax_i128 *i;                   /* INT: integers, Bool, dates, times, enums, IPv4, decimals */
    double *f;                    /* FLOAT: Float32 as well */
    const uint8_t **ptr;          /* STR: String; FixedString, UUID, IPv6 with all their bytes */
    uint32_t *len;
    uint32_t *off;                /* ARRAY: [n + 1] into child, off[0] is 0 */
    struct ax_mt_reg *child;
} ax_mt_reg;

/* What values of a type are kept as (Nullable looked through); NONE: they cannot be. */
ax_mt_cls ax_mt_cls_of(const ax_mt_type *ty);

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct ax_mt_x ax_mt_x;

typedef struct ax_mt_run
{
    ax_task *t;
    ax_arena *a;                  /* dies with the window */
    uint32_t n;                   /* rows */
    ax_mt_reg *column;            /* [of the derived column's args], loaded */
    const uint32_t *row;          /* in a lambda: row of the columns for each element, else NULL */
    const ax_mt_reg *param;       /* values of the lambda's parameters */
} ax_mt_run;

typedef struct ax_mt_check ax_mt_check;

/* A function.  type: sets x->type (and x->raises) from the types of x->arg.  run: arg[i] has the
 * values of x->arg[i]; unless `nulls`, arguments have no nulls, `skip` tells the rows that are null
 * (or is NULL), and out->null is set by the caller. */
typedef struct ax_mt_fn
{
    const char *name;
    uint8_t least, most;          /* arguments; most 255: any number */
    bool nulls;                   /* it looks at nulls itself */
    int op;                       /* which of several that share functions */
    ax_status (*type)(ax_mt_check *c, ax_mt_x *x);
    ax_status (*run)(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint8_t *skip,
                     ax_mt_reg *out);
} ax_mt_fn;

typedef enum ax_mt_xkind { MT_X_CONST, MT_X_COLUMN, MT_X_PARAM, MT_X_CALL } ax_mt_xkind;

struct ax_mt_x
{
    uint8_t kind;                 /* ax_mt_xkind */
    bool raises;                  /* some values of its arguments are an error */
    uint32_t at;                  /* COLUMN: which of the args; PARAM: which parameter */
    const ax_mt_type *type;       /* without LowCardinality */
    const ax_mt_fn *fn;           /* CALL */
    uint32_t narg;
    ax_mt_x **arg;                /* [narg]; of arrayMap: the body, and the arrays */
    ax_mt_reg value;              /* CONST: one row */
};

/* ---- checking -------------------------------------------------------------------------------- */

/* Names of columns to nodes.  *found: false when the name is no column. */
struct ax_mt_check
{
    ax_task *t;
    ax_arena *a;
    const ax_mt_part *part;
    const char *column;           /* whose expression it is, for messages */
    const char *expr;             /* [nexpr] the beginning of it; NULL: it is a cast */
    int nexpr;
    const ax_mt_column **arg;     /* [cap] */
    uint32_t narg, cap;
    uint32_t depth;               /* expressions in expressions: defaults of columns of defaults */
    uint32_t nodes;
    const ax_mt_tree *lambda;     /* whose body is checked, or NULL */
    const ax_mt_type **param;     /* types of its parameters */
};

ax_status ax_mt_check_tree(ax_mt_check *c, const ax_mt_tree *tree, ax_mt_x **out) AX_MUST_USE;

/* The value of a column of the table as a node (derive.c). */
ax_status ax_mt_check_column(ax_mt_check *c, const char *name, ax_mt_x **out) AX_MUST_USE;

/* A stored column as an argument. */
ax_status ax_mt_x_stored(ax_mt_check *c, const ax_mt_column *column, ax_mt_x **out) AX_MUST_USE;

/* x as a value of the type, by a cast where it has another one. */
ax_status ax_mt_x_cast(ax_mt_check *c, ax_mt_x *x, const ax_mt_type *to, ax_mt_x **out)
    AX_MUST_USE;

/* The type of that name; a name that is a constant of ours. */
ax_status ax_mt_x_type(ax_mt_check *c, const char *name, const ax_mt_type **out) AX_MUST_USE;
ax_status ax_mt_x_nullable(ax_mt_check *c, const ax_mt_type *ty, const ax_mt_type **out)
    AX_MUST_USE;

/* The type to which both go without loss, as if() and arrays have it. */
ax_status ax_mt_x_super(ax_mt_check *c, const ax_mt_type *l, const ax_mt_type *r,
                        const ax_mt_type **out) AX_MUST_USE;

/* "column ...: ..." */
ax_status ax_mt_x_refuse(const ax_mt_check *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* By name, NULL: unknown. */
const ax_mt_fn *ax_mt_fn_find(const char *name);

/* ---- casts ----------------------------------------------------------------------------------- */

/* Is there a cast (both without Nullable at the top)?  *raises: some values have none. */
bool ax_mt_cast_known(const ax_mt_type *from, const ax_mt_type *to, bool *raises);

ax_status ax_mt_cast(ax_mt_run *e, const ax_mt_type *from, const ax_mt_type *to,
                     const ax_mt_reg *arg, const uint8_t *skip, ax_mt_reg *out) AX_MUST_USE;

/* The cast of arg[0], as a function. */
extern const ax_mt_fn ax_mt_cast_fn;

/* Digits of a number with `scale` behind the point, the rest cut off; returns how many were read,
 * 0: none, or too many. */
size_t ax_mt_digits(const uint8_t *s, size_t n, int scale, ax_i128 *out);

/* v wrapped to an integer type. */
static inline ax_i128 ax_mt_wrap(ax_i128 v, uint32_t width, bool is_signed)
{
    unsigned shift = width < 16 ? 128 - 8 * width : 0;
    ax_mt_u128 u = (ax_mt_u128) v << shift;

    return is_signed ? (ax_i128) u >> shift : (ax_i128) (u >> shift);
}

static inline ax_i128 ax_mt_pow10(int n)
{
    ax_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static inline bool ax_mt_fits_decimal(const ax_mt_type *to, ax_i128 v)
{
    ax_i128 most = ax_mt_pow10(to->width == 4 ? 9 : to->width == 8 ? 18 : 38);

    if (to->width == 4)
        return v >= INT32_MIN && v <= INT32_MAX;
    if (to->width == 8)
        return v >= INT64_MIN && v <= INT64_MAX;
    return v < most && v > -most;
}

static inline bool ax_mt_fits_int(const ax_mt_type *to, ax_i128 v)
{
    return to->id == MT_BOOL || ax_mt_wrap(v, to->width, to->id == MT_INT) == v;
}

static inline ax_i128 ax_mt_floor_div(ax_i128 v, ax_i128 d) { return v / d - (v % d < 0); }

/* Texts to values that are kept as INT, FLOAT, and 16 bytes; false: the text is none. */
bool ax_mt_int_of_text(const uint8_t *s, size_t n, const ax_mt_type *to, ax_i128 *out);
bool ax_mt_float_of_text(const uint8_t *s, size_t n, double *out);
bool ax_mt_uuid_of_text(const uint8_t *s, size_t n, uint8_t *out);

/* Values to texts. */
ax_status ax_mt_texts(ax_mt_run *e, const ax_mt_type *from, const ax_mt_reg *arg,
                      const uint8_t *skip, ax_mt_reg *out) AX_MUST_USE;

/* ---- evaluation ------------------------------------------------------------------------------ */

ax_status ax_mt_x_run(ax_mt_run *e, const ax_mt_x *x, ax_mt_reg *out) AX_MUST_USE;

/* Room for e->n values of a class (arrays: off only). */
ax_status ax_mt_reg_room(ax_mt_run *e, ax_mt_cls cls, uint32_t n, ax_mt_reg *out) AX_MUST_USE;

/* out: rows at[0 .. n) of r. */
ax_status ax_mt_reg_gather(ax_mt_run *e, const ax_mt_type *ty, const ax_mt_reg *r,
                           const uint32_t *at, uint32_t n, ax_mt_reg *out) AX_MUST_USE;

/* ---- types of results (derive_func.c) -------------------------------------------------------- */

static inline bool ax_mt_whole(const ax_mt_type *ty)
{
    ty = ax_mt_bare(ty);
    return ty->id == MT_INT || ty->id == MT_UINT || ty->id == MT_BOOL;
}

/* Only times of UTC are known. */
static inline bool ax_mt_in_utc(const ax_mt_type *ty)
{
    return ty->zone != NULL && (strcmp(ty->zone, "UTC") == 0 || strcmp(ty->zone, "Etc/UTC") == 0);
}

/* x->type: the type of that name. */
ax_status ax_mt_x_result(ax_mt_check *c, ax_mt_x *x, const char *name) AX_MUST_USE;

/* "f of type ..." */
ax_status ax_mt_x_wrong(const ax_mt_check *c, const ax_mt_x *x, uint32_t i);

/* A row of INT or FLOAT as a double. */
static inline double ax_mt_real(const ax_mt_reg *r, uint32_t i)
{
    return r->f != NULL ? r->f[i] : (double) r->i[i];
}

/* Row i of arg[which[i]] for each row: all have x's type. */
ax_status ax_mt_pick(ax_mt_run *e, const ax_mt_x *x, const ax_mt_reg *arg, const uint32_t *which,
                     ax_mt_reg *out) AX_MUST_USE;

/* Functions of one file; the last has no name. */
extern const ax_mt_fn ax_mt_fn_logic[], ax_mt_fn_dates[], ax_mt_fn_arrays[];

#endif
