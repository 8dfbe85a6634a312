/* Private to expr/: programs, evaluators, the memo of host functions. */
#ifndef AX_EXPR_INT_H
#define AX_EXPR_INT_H

#include "expr/expr.h"

#define AX_NO_COL UINT32_MAX
#define AX_MANY_COLS (UINT32_MAX - 1)

/* One operation of a program.  Arguments come before their users. */
typedef struct ax_node
{
    uint8_t kind;        /* ax_xkind without PARAM */
    bool can_raise;      /* this one or one below */
    bool whole;          /* computed for all physical rows; never raises */
    bool null_in;        /* null wherever only_col is null */
    bool has_host;
    bool negated;        /* IN */
    uint16_t fn;
    ax_type type;
    uint32_t id;         /* unique in the process: key of caches in dictionaries */
    uint32_t col;        /* COL */
    uint32_t only_col;   /* the one column below, AX_NO_COL, AX_MANY_COLS */
    uint32_t nargs;
    uint32_t *arg;       /* [nargs] nodes */
    ax_value val;        /* CONST */
    const ax_value *in;  /* IN: [n_in] values of the argument's type */
    uint32_t n_in;
    const ax_call *call; /* CALL, IN */
    uint32_t host;
    ax_host_memo *memo;  /* HOST */
} ax_node;

struct ax_prog
{
    ax_node *node;
    uint32_t n, cap;
    uint32_t *root;      /* [nroots] */
    uint32_t nroots;
    uint32_t *cols;      /* [ncols] ascending */
    uint32_t ncols;
    uint32_t max_col;    /* highest column + 1 */
    ax_params params;
};

/* Cast a constant by function `cast`; ok false when it raises. */
ax_status ax_value_cast(ax_task *t, ax_arena *a, const ax_value *v, ax_type to, ax_fn cast,
                        ax_value *out, bool *ok) AX_MUST_USE;

/* ---- evaluators ------------------------------------------------------------------------------ */

/* Rows under which a value is computed.  id 0: all physical rows; 1: the batch's selection; others
 * are subsets, whose parents are in ax_eval.parent. */
typedef struct ax_scope
{
    uint32_t id;
    const uint16_t *sel; /* NULL: rows 0..n-1 */
    uint32_t n;
} ax_scope;

typedef struct ax_reg
{
    ax_vec vec;
    uint32_t stamp;      /* run in which vec was computed; 0: never */
    uint32_t scope;      /* and for which rows */
    uint32_t flat_stamp; /* the same for the row-by-row form */
    uint32_t flat_scope;
    ax_vec flat;
    void *data;          /* owned buffers of vec, made at first need */
    uint8_t *null;
    uint32_t *len;
    void *fdata;         /* of flat */
    uint8_t *fnull;
    uint32_t *flen;
    uint16_t *sel[2];    /* sub-selections of lazy nodes */
    uint32_t asked;      /* run in which the host was asked for some rows */
} ax_reg;

typedef struct ax_host_gen ax_host_gen;
typedef struct ax_host_pin { ax_host_memo *memo; ax_host_gen *gen; } ax_host_pin;

struct ax_eval
{
    const ax_prog *prog;
    ax_arena *arena;
    ax_reg *reg;         /* [prog->n] */
    const ax_vec *col;   /* columns of the current input */
    uint32_t n;          /* its rows */
    uint32_t run;        /* stamp of the current run */
    uint32_t *parent;    /* [scope id] */
    uint32_t n_scopes, cap_scopes;
    ax_arena *own_built; /* strings that calls build, made at first need; see built_arena */
    ax_arena **built;    /* own_built, or that of the evaluator above */
    struct ax_eval *sub; /* for dictionaries and runs, made at first need */
    ax_vec *sub_col;     /* [max_col] columns of sub's input */
    /* the failing row of the current attempt */
    bool failed;
    uint32_t fail_row;
    ax_status fail_code;
    const char *fail_msg;
    const ax_error *fail_err; /* host functions */
    ax_host_need *need, **need_end; /* asked for in the current attempt */
    ax_arena *attempt;       /* of host nodes, see host.c; NULL: none yet */
    uint32_t attempt_run;    /* the run it was last used in */
    bool asked;          /* the next run is of the same batch */
    ax_host_pin *pin;    /* [npins] what vectors of the current run point into */
    uint32_t npins, cap_pins;
};

/* "Not an error: a host function must answer first." */
#define AX_EVAL_NEED AX_STATUS_CNT

/* Evaluate nodes on the first n rows of col under a selection (NULL: all n). */
ax_status ax_eval_attempt(ax_task *t, ax_eval *e, const ax_vec *col, uint32_t n,
                          const uint16_t *sel, uint32_t nsel, const uint32_t *root,
                          uint32_t nroots) AX_MUST_USE;

/* Compute node i for the rows of sc into reg[i].vec. */
ax_status ax_eval_node(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc) AX_MUST_USE;

/* The same, then a form that kernels read: FLAT, CONST, or VIEW. */
ax_status ax_eval_flat(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc, const ax_vec **out)
    AX_MUST_USE;

/* Try to compute node i on its dictionary, runs or constant instead of rows. */
ax_status ax_eval_encoded(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc, bool *done)
    AX_MUST_USE;

ax_status ax_eval_host(ax_task *t, ax_eval *e, uint32_t i, const ax_scope *sc) AX_MUST_USE;

/* Buffers of a register: data for n values, null and (strings) len. */
ax_status ax_reg_buffers(ax_task *t, ax_eval *e, uint32_t i) AX_MUST_USE;
void ax_reg_set(ax_eval *e, uint32_t i, uint32_t scope, const ax_vec *v);
ax_status ax_eval_fail_row(ax_eval *e, ax_status code, uint32_t row, const char *msg,
                           const ax_error *err);

static inline uint32_t ax_scope_row(const ax_scope *sc, uint32_t i)
{
    return sc->sel ? sc->sel[i] : i;
}

/* The vectors of the last run are not used any more. */
void ax_host_unpin(ax_eval *e);
ax_status ax_host_memo_create(ax_task *t, ax_arena *a, ax_host_memo **out) AX_MUST_USE;

#endif
