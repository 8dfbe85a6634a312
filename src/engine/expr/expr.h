/* Expressions: typed trees, compiled once, evaluated on batches under a selection; and filters,
 * which can also answer "may this match?" from statistics.
 *
 * Semantics are PostgreSQL's, value for value: three-valued logic, NaN order, overflow errors.
 * What the engine cannot reproduce is never built here: the host keeps it, or hands it in as a
 * host-evaluated function (AX_X_HOST) that is asked once per distinct input.
 *
 * Errors of rows.  Expressions are of two classes: those that cannot raise are evaluated on any
 * row and in any order; those that can (`can_raise`) are evaluated only on rows that survived
 * everything before them in the given order, branches of CASE and COALESCE on the rows that reach
 * them.  A failing row is reported by its number, so that only a consumer that gets so far sees
 * the error.
 *
 * Lifetimes.  Trees and compiled programs live in the arena they were built in and are immutable;
 * each lane has its own evaluator (registers) on its own arena.
 *
 *   tree --compile(params)--> ax_prog --per lane--> ax_eval --batch--> vectors
 *   conjuncts --compile--> ax_filter --per lane--> ax_filter_lane --batch--> narrower selection
 *                              \--match(statistics)--> NONE | SOME | ALL */
#ifndef AX_EXPR_H
#define AX_EXPR_H

#include "func/func.h"
#include "vector/vector.h"

/* ---- trees ----------------------------------------------------------------------------------- */

typedef enum ax_xkind
{
    AX_X_COL,      /* column u.col of the input batch */
    AX_X_CONST,    /* u.val */
    AX_X_PARAM,    /* u.param: a value known at (re)start of the query */
    AX_X_CALL,     /* fn(arg...) */
    AX_X_AND,      /* n arguments, three-valued, in order */
    AX_X_OR,
    AX_X_IN,       /* arg[0] = ANY (u.in) or <> ALL (u.in) */
    AX_X_CASE,     /* when1, then1, when2, then2, ..., else (missing: null) */
    AX_X_COALESCE, /* n arguments of one type */
    AX_X_HOST,     /* host function u.host applied to arg[0..]: a pure function of its arguments */
    AX_X_BEYOND    /* arg[0]; where numbers in it have more digits than the engine has, arg[1] */
} ax_xkind;

typedef struct ax_expr ax_expr;
struct ax_expr
{
    uint8_t kind;     /* ax_xkind */
    bool can_raise;   /* this node or one below */
    uint16_t fn;      /* CALL: ax_fn */
    uint32_t nargs;
    uint32_t id;      /* hash of the structure: equal trees have equal ids, others hardly ever.  The
                       * keys of caches in ax_dict are other numbers, given by each compile to the
                       * nodes of its program from one counter of the process */
    ax_type type;
    ax_expr **arg;    /* [nargs] */
    union
    {
        uint32_t col, param, host;
        ax_value val;
        struct { const ax_value *vals; uint32_t n; bool has_null, negated; } in;
        /* IN with a parameter list: n == 0 and nargs > 1, elements are arg[1..] */
    } u;
};

/* Builders.  They allocate in t->arena... of the plan: `a`.  Type rules are checked (EPLAN). */
ax_status ax_expr_col(ax_task *t, ax_arena *a, uint32_t col, ax_type type, ax_expr **out)
    AX_MUST_USE;
ax_status ax_expr_const(ax_task *t, ax_arena *a, const ax_value *v, ax_expr **out) AX_MUST_USE;
ax_status ax_expr_param(ax_task *t, ax_arena *a, uint32_t param, ax_type type, ax_expr **out)
    AX_MUST_USE;

/* fn(args).  Arguments of comparisons and arithmetic are widened to their common type when the
 * server would do so without loss of meaning: int2 < int4 < int8 < numeric, int* -> float8,
 * float4 -> float8, date -> timestamp.  EUNSUPPORTED when the engine has no such combination; the
 * message says why and is shown to users under "Not Pushed Down". */
ax_status ax_expr_call(ax_task *t, ax_arena *a, ax_fn fn, ax_expr **args, uint32_t nargs,
                       ax_expr **out) AX_MUST_USE;
/* The same where the result may have more digits than the engine computes with: raises EBEYOND on
 * such rows.  Below the first argument of ax_expr_beyond only, whose second one is the same
 * expression by the host. */
ax_status ax_expr_call_any(ax_task *t, ax_arena *a, ax_fn fn, ax_expr **args, uint32_t nargs,
                           ax_expr **out) AX_MUST_USE;
ax_status ax_expr_beyond(ax_task *t, ax_arena *a, ax_expr *fast, ax_expr *exact, ax_expr **out)
    AX_MUST_USE;
ax_status ax_expr_bool(ax_task *t, ax_arena *a, ax_xkind and_or, ax_expr **args, uint32_t nargs,
                       ax_expr **out) AX_MUST_USE;
/* arg IN (vals) (negated: arg <> ALL (vals)).  vals have arg's type or one that widens to it. */
ax_status ax_expr_in(ax_task *t, ax_arena *a, ax_expr *arg, const ax_value *vals, uint32_t n,
                     bool negated, ax_expr **out) AX_MUST_USE;
ax_status ax_expr_case(ax_task *t, ax_arena *a, ax_expr **whens_thens_else, uint32_t n,
                       ax_type type, ax_expr **out) AX_MUST_USE;
ax_status ax_expr_coalesce(ax_task *t, ax_arena *a, ax_expr **args, uint32_t n, ax_expr **out)
    AX_MUST_USE;
ax_status ax_expr_host(ax_task *t, ax_arena *a, uint32_t host, ax_expr **args, uint32_t n,
                       ax_type type, ax_expr **out) AX_MUST_USE;

/* Do both yield the same on every row? (false: not known) */
bool ax_expr_same(const ax_expr *a, const ax_expr *b);

/* Print as SQL-like text into out (always terminated); names[i] names column i, NULL: "$i". */
uint32_t ax_expr_print(const ax_expr *e, const char *const *names, char *out, uint32_t out_len);

/* ---- values known when a query starts -------------------------------------------------------- */

typedef struct ax_params { const ax_value *val; uint32_t n; } ax_params;

/* ---- host-evaluated functions ---------------------------------------------------------------- */

/* The memo of one host function in one query: distinct inputs and their results.  Shared by all
 * lanes; guarded by its own lock, taken once per batch.  Charged to the budget of the program's
 * arena, and bounded: it forgets inputs (at about 16 MiB, an eighth of a smaller budget), but not
 * the answers of a need before its batch was run again. */
typedef struct ax_host_memo ax_host_memo;

/* What an evaluator waits for: nrows argument tuples not in the memo yet. */
typedef struct ax_host_need
{
    uint32_t host;
    ax_host_memo *memo;
    struct ax_eval *eval; /* who waits */
    ax_vec *arg;      /* [nargs], FLAT or VIEW, rows are distinct */
    uint32_t nargs;
    uint32_t nrows;
    struct ax_host_need *next; /* what the same evaluator waits for, too; all are answered before it
                                * runs again */
} ax_host_need;

/* Answer: result[i] for row i of the need, or, where raised[i] is not NULL, the error of that
 * input; it is raised only when a surviving row has this input.  Values and errors are copied. */
ax_status ax_host_reply(ax_task *t, const ax_host_need *need, const ax_value *result,
                        const ax_error *const *raised) AX_MUST_USE;

/* ---- programs -------------------------------------------------------------------------------- */

typedef struct ax_prog ax_prog;
typedef struct ax_eval ax_eval;

/* Compile n expressions into one program: common subexpressions once, constants folded (folding
 * never raises: what would raise stays), parameters bound.  params is copied. */
ax_status ax_prog_compile(ax_task *t, ax_arena *a, ax_expr *const *exprs, uint32_t n,
                          const ax_params *params, ax_prog **out) AX_MUST_USE;

/* Columns that the program reads, ascending. */
const uint32_t *ax_prog_columns(const ax_prog *p, uint32_t *n);

ax_status ax_eval_create(ax_task *t, ax_arena *a, const ax_prog *p, ax_eval **out) AX_MUST_USE;

typedef struct ax_eval_result
{
    const ax_host_need *need; /* not NULL: answer, then run again with the same batch */
    uint32_t fail_row;        /* on error: number of the first selected row that raises */
} ax_eval_result;

/* Evaluate all expressions on the selected rows of in; out[i] gets a vector of in->nrows rows (any
 * kind; rows that are not selected are undefined) valid until the next run or reset of in.
 * DICT columns are evaluated on the dictionary where that is cheaper and exact.
 * Errors: of rows (ERANGE, ...; r->fail_row set, outputs undefined), ENOMEM. */
ax_status ax_eval_run(ax_task *t, ax_eval *e, ax_batch *in, ax_vec *out, ax_eval_result *r)
    AX_MUST_USE;

/* ---- statistics: questions and answers ------------------------------------------------------- */

typedef enum ax_match { AX_MATCH_NONE, AX_MATCH_SOME, AX_MATCH_ALL } ax_match;

/* What is known about one column over a set of rows (file, split, page).  min and max are bounds
 * (every non-null value v: min <= v <= max in the type's own order; for text in byte order);
 * `exact` says that the bound itself occurs. */
typedef struct ax_bounds
{
    bool has_min, has_max, min_exact, max_exact;
    ax_value min, max;
    int64_t nulls;     /* -1: unknown */
    int64_t rows;      /* -1: unknown */
} ax_bounds;

/* A stretch of text that a value must contain, and whether it is the value's beginning or end. */
typedef struct ax_text_part
{
    const uint8_t *p;
    uint32_t len;
    bool first, last;
} ax_text_part;

/* Who answers.  A callback that does not know returns false / AX_MATCH_SOME; NULL callbacks are
 * allowed.  has_any: may one of vals occur? (bloom filter, dictionary, set)  has_text: may a value
 * occur that contains all of these parts? (filters of words or n-grams) */
typedef struct ax_stats_src
{
    void *self;
    bool (*bounds)(void *self, uint32_t col, ax_bounds *out);
    ax_match (*has_any)(void *self, uint32_t col, const ax_value *vals, uint32_t n);
    ax_match (*has_text)(void *self, uint32_t col, const ax_text_part *part, uint32_t n);
} ax_stats_src;

/* ---- filters --------------------------------------------------------------------------------- */

typedef struct ax_filter ax_filter;
typedef struct ax_filter_lane ax_filter_lane;

/* A conjunction, in PostgreSQL's evaluation order.  Steps (conjuncts) that cannot raise may be
 * reordered among themselves in front of the first that can; the order is adapted while running,
 * per lane.  A filter is a live object: bounds may be added while lanes run (ax_filter_tighten),
 * each of which raises its version; lanes see them at their next batch, match at its next call. */
ax_status ax_filter_create(ax_task *t, ax_arena *a, ax_expr *const *conjuncts, uint32_t n,
                           const ax_params *params, ax_filter **out) AX_MUST_USE;
uint32_t ax_filter_steps(const ax_filter *f);
bool ax_filter_can_raise(const ax_filter *f); /* any step; live bounds never do */
const uint32_t *ax_filter_step_columns(const ax_filter *f, uint32_t step, uint32_t *n);
uint32_t ax_filter_version(const ax_filter *f);

/* Does the step look at the characters of text in column `col`?  false: at its bytes at most
 * (comparisons, LIKE without `_`, IS NULL), so that it need not be valid. */
bool ax_filter_step_reads_text(const ax_filter *f, uint32_t step, uint32_t col);

/* May the step be asked of values out of the order of rows?  (Neither it nor one before it can
 * raise, and it needs no host.) */
bool ax_filter_step_apart(const ax_filter *f, uint32_t step);

/* Live bounds of a filter: a top-N threshold takes one, a join key two (from below and above). */
#define AX_FILTER_SLOTS 16u

/* Columns that have live bounds now, each once, into cols[AX_FILTER_SLOTS]; returns how many. */
uint32_t ax_filter_live_columns(const ax_filter *f, uint32_t *cols);

/* From now on only rows with col `op` bound matter (op: LT LE GT GE EQ; nulls_pass: rows where col
 * is null stay).  Used by top-N thresholds and join filters.  Only tightens: the caller
 * guarantees it.  One live bound per (filter, slot < AX_FILTER_SLOTS); bound is copied, and memory
 * does not grow with the number of calls.  Thread: any task. */
ax_status ax_filter_tighten(ax_task *t, ax_filter *f, uint32_t slot, uint32_t col, ax_fn op,
                            const ax_value *bound, bool nulls_pass) AX_MUST_USE;

/* Can rows described by src match?  NONE: no row; ALL: every row (so the filter need not run);
 * SOME: ask the rows.  A filter whose statistics make a row error possible is never ALL or NONE
 * before the raising step. */
ax_match ax_filter_match(const ax_filter *f, const ax_stats_src *src);

/* f may also be the filter of a pruning: readers ask it about the values of a dictionary. */
ax_status ax_filter_lane_create(ax_task *t, ax_arena *a, const ax_filter *f, ax_filter_lane **out)
    AX_MUST_USE;

/* The filter this lane belongs to: steps and their columns. */
const ax_filter *ax_filter_lane_filter(const ax_filter_lane *l);

/* The order in which this lane should evaluate the steps now: order[ax_filter_steps]. */
const uint32_t *ax_filter_lane_order(ax_filter_lane *l);

/* Evaluate one step on the batch and narrow its selection (batch->sel, nsel; sel memory belongs to
 * the lane until its next batch).  Columns of the step must be present; others may be absent
 * (zeroed ax_vec).  Same errors and needs as ax_eval_run. */
ax_status ax_filter_step(ax_task *t, ax_filter_lane *l, uint32_t step, ax_batch *b,
                         ax_eval_result *r) AX_MUST_USE;

/* Live bounds (tighten), evaluated like a step; nothing to do when there are none. */
ax_status ax_filter_live(ax_task *t, ax_filter_lane *l, ax_batch *b) AX_MUST_USE;

#endif
