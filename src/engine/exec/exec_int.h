/* What the files of exec/ share: stages, operators, lanes, sinks and the run that owns them.
 *
 * compile.c   plan -> stages (host's thread, at start and rebind)
 * pipeline.c  lanes and barriers: the state machine of a run
 * scan.c      the scan source: work list, pruning, readers;  sample.c  a random choice of rows
 * meta.c      answers from metadata
 * late.c      columns of a top-N that are read for the winners alone
 * op_chain.c  filter, project, limit;  op_deletes.c  deletes
 * merge.c     the merge of ordered files;  final.c  rows of one key that become one
 * output.c    output queue, external inputs, requests, errors: everything under `lock`
 * open.c      opening one file;  source.c  opening a source;  facts.c  facts about its files
 * query.c     the door's functions;  explain.c  profile and print */
#ifndef AX_EXEC_INT_H
#define AX_EXEC_INT_H

#include "exec/breaker.h"
#include "exec/exec.h"

#include <pthread.h>

#define AX_QUEUE_BATCHES 16u
#define AX_QUEUE_BYTES (8 << 20)
#define AX_MAX_LANES 256u
#define AX_SLICE_NS 5000000u

typedef struct ax_stage ax_stage;
typedef struct ax_lane ax_lane;
typedef struct ax_sink ax_sink;

/* ---- batches that outlive their maker -------------------------------------------------------- */

/* A batch on an arena of its own, for the output queue and external inputs.  Recycled through a
 * free list, so a steady run allocates nothing. */
typedef struct ax_held
{
    ax_batch b;
    ax_error poison;
    struct ax_held *next;
    size_t bytes;
} ax_held;

/* ---- operators ------------------------------------------------------------------------------- */

typedef enum ax_op_kind
{
    AX_OP_FILTER, AX_OP_PROJECT, AX_OP_LIMIT, AX_OP_DELETES, AX_OP_ADD_META
} ax_op_kind;

/* LIMIT shared by all lanes: rows [offset, offset + limit) of those counted by `seen` pass. */
typedef struct ax_limit
{
    uint64_t limit, offset;      /* limit UINT64_MAX: none */
    _Atomic uint64_t seen;       /* one addition per batch; relaxed, only counts */
    _Atomic bool enough;         /* all rows wanted have passed; a hint, relaxed */
} ax_limit;

typedef struct ax_keyset ax_keyset; /* op_deletes.c */

/* One operator of a chain; shared by lanes, immutable but for the limit. */
typedef struct ax_op
{
    uint8_t kind;                /* ax_op_kind */
    const ax_node *node;         /* for printing; may be NULL */
    uint32_t ncols;              /* output columns */
    const ax_type *type;         /* [ncols] */
    ax_expr **conj;              /* FILTER: before it is merged into a scan */
    uint32_t nconj;
    ax_filter *filter;           /* FILTER, compiled */
    ax_expr **expr;              /* PROJECT: [ncols] */
    ax_prog *prog;
    ax_limit *limit;             /* LIMIT */
    ax_keyset *set;              /* DELETES */
    const struct ax_meta *meta;  /* ADD_META */
} ax_op;

/* A lane's state of one operator. */
typedef struct ax_opstate
{
    ax_filter_lane *filter;
    ax_eval *eval;
    ax_batch out;
    ax_vec *vec;                 /* [ncols] PROJECT */
    uint16_t *sel;               /* [AX_BATCH_ROWS] narrowed selections */
    uint32_t *order;             /* FILTER: order of steps for the current batch */
    uint32_t pos;                /* FILTER: steps of the current batch that are done */
} ax_opstate;

/* ---- sinks ----------------------------------------------------------------------------------- */

typedef enum ax_sink_kind
{
    AX_SINK_OUTPUT, AX_SINK_AGG, AX_SINK_ORDER, AX_SINK_SET, AX_SINK_LATE
} ax_sink_kind;

typedef struct ax_late ax_late; /* late.c */

struct ax_sink
{
    uint8_t kind;                /* ax_sink_kind */
    const ax_node *node;
    ax_breaker *breaker;         /* AGG, ORDER; made at launch */
    ax_arena *arena;             /* of the breaker */
    ax_keyset *set;              /* SET */
    ax_late *late;               /* LATE */
    ax_agg_spec agg;
    ax_order_spec order;
    uint32_t nlanes;             /* of all stages that feed it */
    uint32_t nbusy;              /* of them, those that compute at once */
    uint32_t nparts;             /* after prepare */
    _Atomic uint32_t stages_left;
    ax_stage *next;              /* the stage that reads it; NULL: output */
    const ax_node *tighten_scan; /* ORDER: scan whose filter takes the threshold, or NULL */
    uint32_t tighten_col;
    ax_sink *top_of;             /* ORDER: aggregate whose groups take the threshold, or NULL */
    _Atomic uint64_t rows;       /* that left its parts */
    ax_sink *all_next;
};

/* Aggregates of splits that metadata answered for: meta.c. */
typedef struct ax_meta_call
{
    uint8_t agg;
    uint32_t col;
    ax_type type;      /* of the result */
    ax_value sum;      /* guarded by the scan's live_lock; the rest is immutable */
} ax_meta_call;
typedef struct ax_meta { uint32_t n; ax_meta_call *call; } ax_meta;

/* ---- the scan source ------------------------------------------------------------------------- */

#define AX_SPLIT_ALL UINT32_MAX /* of a file that is not opened yet: all its splits */

typedef struct ax_work
{
    uint32_t file, split;
    ax_rowrange range;           /* end 0: all rows */
    const ax_rowset *rows;       /* sample: these rows, or NULL */
    ax_fmt_share *share;         /* the split is several items, or NULL */
    bool copy;                   /* another item of the same split comes first and counts */
} ax_work;

/* The opening of one file, a step machine: open.c. */
typedef struct ax_opener
{
    ax_env *env;
    const ax_source *src;
    ax_snapshot *snap;        /* borrowed, like the rest above */
    ax_arena *scratch;        /* of the operation; reset for each file */
    ax_arena *binds;          /* the snapshot's; made with the first binding */
    uint32_t i;               /* file under way */
    uint8_t state;
    const ax_format *format;
    ax_io_req req[2];
    ax_io_need need;          /* what is fetched now */
    bool fetching;
    bool of_op;               /* the need belongs to the operation */
    ax_io_file *io;           /* a reference while opening */
    ax_fmt_op *op;
    ax_fmt_event ev;
    ax_io_id id;
    int64_t begin_ns;         /* by the clock of files */
    ax_io_known known;        /* for req[0] */
} ax_opener;

typedef struct ax_scan
{
    const ax_node *node;
    ax_snapshot *snap;           /* a reference */
    const uint32_t *columns;
    uint32_t ncolumns;
    ax_expr **conj;              /* merged conjuncts, over positions in columns */
    uint32_t nconj;
    ax_filter *filter;           /* over positions; NULL: none */
    ax_filter *prune;            /* the same over declared ordinals; NULL: none */
    uint32_t *filter_only;
    uint32_t nfilter_only;
    bool late;                   /* its rows are found again by their ids */
    bool merged;                 /* its splits are inputs of a merge */
    bool whole_files;            /* or rather its files */
    bool gradual;                /* few rows may be wanted: read little at first */
    bool live;                   /* a top-N tightens it */
    ax_fn live_op;
    uint32_t live_col;           /* position */
    bool live_nulls;
    pthread_mutex_t live_lock;   /* guards tightening and sums of meta */
    ax_work *work;               /* [nwork] in file order; unless gradual, open files first */
    uint32_t nwork;
    uint32_t *split0;            /* [nfiles + 1] number of the file's first split in the query */
    uint32_t nexcluded;          /* files left out by what is known without opening them */
    _Atomic uint32_t *gone;      /* [nfiles] splits of the file that statistics removed */
    _Atomic uint32_t cursor;     /* next work item; one addition per morsel */
    ax_meta *meta;               /* answers from metadata, or NULL */
    _Atomic uint32_t read_splits;
} ax_scan;

/* ---- stages and lanes ------------------------------------------------------------------------ */

typedef enum ax_src_kind
{
    AX_SRC_SCAN, AX_SRC_PARTS, AX_SRC_EXTERNAL, AX_SRC_LATE, AX_SRC_WINNERS, AX_SRC_MERGE
} ax_src_kind;

typedef struct ax_limits { ax_limit *limit; struct ax_limits *next; } ax_limits;

struct ax_stage
{
    ax_exec *x;
    uint32_t id;
    uint8_t src;                 /* ax_src_kind */
    ax_scan *scan;               /* SCAN, MERGE */
    const struct ax_merge *merge; /* MERGE */
    ax_sink *parts;              /* PARTS */
    uint32_t input;              /* EXTERNAL */
    ax_late *late;               /* LATE, WINNERS */
    _Atomic uint32_t cursor;     /* PARTS */
    ax_op **op;                  /* [nops] from source to sink */
    uint32_t nops;
    ax_sink *sink;
    uint32_t slot0;              /* first lane of the sink that is ours */
    uint32_t nlanes;             /* planned; fewer run when there is less to do, or no waiting */
    bool one_lane;
    ax_limits *limits;           /* limits between here and the root: any of them may end us */
    _Atomic uint32_t waits;      /* sinks that must be complete before */
    _Atomic uint32_t lanes_left;
    ax_lane *lane;               /* [room] once started */
    uint32_t room;               /* lanes that may begin; immutable once started */
    _Atomic uint32_t begun;      /* of them, from the first; a counter, relaxed */
    uint32_t ran;                /* lanes of the run before, for printing */
    ax_arena *arena;             /* lanes */
    ax_stage *all_next;
    ax_sink *also_waits;         /* key set that must be complete before, or NULL */
    ax_stage *set_next;          /* list of stages that wait for one key set */
};

typedef enum ax_go { AX_GO_BATCH, AX_GO_ON, AX_GO_PARK, AX_GO_END } ax_go;

typedef enum ax_lane_state
{
    AX_LANE_SOURCE, AX_LANE_CHAIN, AX_LANE_SINK, AX_LANE_LAST
} ax_lane_state;
typedef enum ax_scan_state
{
    AX_SCAN_CLAIM, AX_SCAN_OPEN, AX_SCAN_PRUNE, AX_SCAN_READ
} ax_scan_state;

/* Reading one piece of work of a scan, in a lane. */
typedef struct ax_reader
{
    uint8_t scan_state;          /* ax_scan_state */
    bool given;                  /* it has one file to read, and claims no work */
    ax_work work;                /* under way; of AX_SPLIT_ALL one split after the other */
    bool whole_file;             /* more splits of the file may follow */
    ax_opener opener;
    const ax_format *format;
    ax_fmt_op *op;
    ax_fmt_event ev;
    bool fetching;
    ax_scan_req req;
    ax_rowset rows;
    ax_filter_lane *filter;
    ax_arena *arena;             /* of the operation; reset between work items */
} ax_reader;

struct ax_lane
{
    ax_job job;
    ax_stage *stage;
    uint32_t slot;               /* lane number for the sink */
    ax_task task;
    ax_arena *state_arena;       /* evaluators; lives as long as the lane */
    ax_arena *morsel;            /* of the source; reset between work items */
    uint8_t state;               /* ax_lane_state */
    uint32_t item;               /* work item or part under way, orders deferred errors */
    ax_batch *batch;             /* in the chain */
    uint32_t at;                 /* operator that gets it next */
    ax_opstate *ops;
    bool ended;                  /* a deferred error ended the lane */
    ax_error poison;             /* code != OK: a row failed; deferred */
    ax_reader own, *rd;          /* rd: the reader in use; a merge has one for each input */
    struct ax_merging *merging;  /* MERGE */
    ax_scan_stats stats, flushed;
    /* parts */
    ax_part *part;
    /* late columns: op, req and the like above, and the winner that comes next */
    uint32_t at_winner;
    /* external */
    ax_held *held;               /* input batch under way */
    /* output */
    ax_held *pending;            /* copied, not queued yet */
    /* waiting */
    const ax_host_need *need;    /* guarded by the run's lock, like the next three */
    ax_lane *next_wait;          /* list of lanes that wait for room, or for the host */
    bool waits_room, waits_host;
    bool asked;                  /* a question to the host may be open; the lane's own */
};

/* ---- external inputs ------------------------------------------------------------------------- */

typedef struct ax_input
{
    bool used, ended;
    ax_held *head, *tail;
    uint32_t n;
    size_t bytes;
    ax_lane *waiter;
} ax_input;

#define AX_MAX_INPUTS 64u

/* ---- the run --------------------------------------------------------------------------------- */

typedef enum ax_exec_state
{
    AX_ES_CREATED, AX_ES_RUNNING, AX_ES_DRAINED, AX_ES_FAILED, AX_ES_STOPPED
} ax_exec_state;

struct ax_exec
{
    ax_env *env;
    const ax_plan *plan;         /* borrowed; NULL: an opening */
    ax_source *source;           /* of an opening, or of facts */
    struct ax_opening *opening;
    const char *facts_table;     /* in base; NULL: an opening */
    const ax_fact_arg *facts_arg; /* borrowed from the host */
    struct ax_facts *facts;
    ax_exec_opts o;
    ax_budget budget;
    ax_spill spill;
    ax_arena *base;              /* parameters */
    ax_task task;                /* the host's thread; its arena holds the compiled run */
    ax_group *group;
    uint8_t state;               /* ax_exec_state; host's thread only */
    uint32_t runs;               /* launched, by rebinds too */
    uint64_t cpu_ns;             /* of runs before the last rebind */
    uint32_t peak_threads;
    uint32_t granted;            /* threads that the settings allow */
    uint32_t max_lanes;          /* of them, those that can run as things are */
    uint32_t busy_lanes;         /* of these, those that there are processors for */
    bool hosted;                 /* jobs run on the host's thread; always so without a plan */
    uint64_t begin_ns, end_ns;   /* host's thread */
    ax_io_stats io;              /* reads of all tasks of this query */
    ax_held *given;              /* the batch the host has now */
    ax_batch poisoned;           /* or the one without rows that carries a deferred error */

    _Atomic int stop;            /* tasks poll it */

    /* compiled; immutable while running */
    ax_stage *stages;            /* in order of ids, root last */
    ax_sink *sinks;
    uint32_t nstages;
    ax_scan *first_scan;
    bool meta_only;              /* the one scan may be answered from metadata */

    pthread_mutex_t lock;        /* guards everything below */
    ax_error error;
    _Atomic bool failed;         /* written under lock */
    bool out_done;
    ax_held *out_head, *out_tail;
    uint32_t out_n;
    size_t out_bytes;
    ax_held *free;
    ax_lane *room_waiters;
    ax_lane *host_head, *host_tail;
    ax_error poison;             /* deferred row error with the lowest key */
    _Atomic uint64_t poison_key; /* UINT64_MAX: none; written under lock */
    ax_input input[AX_MAX_INPUTS];

    /* counters; relaxed */
    _Atomic uint64_t rows_out, splits, splits_done, host_calls, host_values;
    _Atomic uint64_t splits_pruned[AX_PRUNED_CNT], files_pruned[AX_PRUNED_CNT];
    uint32_t nremoved;           /* guarded by lock, with: */
    ax_granules_removed removed[AX_MAX_REMOVED];
    struct
    {
        _Atomic uint64_t rows_read, rows_after_filter, pages, pages_skipped, granules,
            bytes_compressed, bytes_decompressed, open_ns, read_ns, decode_ns, filter_ns;
    } scan;
    _Atomic uint64_t agg_ns, sort_ns;
};

uint64_t ax_exec_now_ns(void);

/* A task of the run, with an arena of its own. */
ax_status ax_exec_task(ax_exec *x, ax_task *t) AX_MUST_USE;

/* Deferred errors are ordered by stage and work item; work behind the lowest is not wanted. */
static inline bool ax_behind_poison(const ax_stage *st, uint32_t item)
{
    return ((uint64_t) st->id << 32 | item) >
           atomic_load_explicit(&st->x->poison_key, memory_order_relaxed);
}

/* compile.c.  Thread: host. */
ax_status ax_exec_compile(ax_exec *x) AX_MUST_USE;
/* A copy of e with columns renumbered; constants and lists are shared. */
ax_status ax_exec_renumber(ax_task *t, ax_arena *a, const ax_expr *e, const uint32_t *to,
                           ax_expr **out) AX_MUST_USE;
void ax_exec_mark_columns(const ax_expr *e, bool *used, uint32_t n);
/* Free lanes and breakers, keep stages for printing; then forget these too.  No job may run. */
void ax_exec_release(ax_exec *x);
void ax_exec_uncompile(ax_exec *x);

/* pipeline.c */
ax_status ax_exec_launch(ax_exec *x) AX_MUST_USE;
bool ax_stage_enough(const ax_stage *st);
/* The lane waits for a read, or did: another lane of its stage may begin. */
void ax_stage_more(ax_lane *l);

/* scan.c.  plan: *nlanes is how many there may be, then how many there is work for. */
ax_status ax_scan_plan(ax_exec *x, ax_scan *s, uint32_t *nlanes) AX_MUST_USE;
ax_status ax_scan_next(ax_lane *l, ax_batch **out, ax_go *go) AX_MUST_USE;
/* The lane's reader in use gets this to read from ax_scan_next, and nothing else. */
ax_status ax_scan_give(ax_lane *l, const ax_work *w) AX_MUST_USE;
/* Step l->op until it has something for us; PARK: it waits for reads or the host. */
ax_status ax_scan_drive(ax_lane *l, ax_go *go) AX_MUST_USE;
void ax_scan_abandon(ax_lane *l); /* ends the operation under way */
uint64_t ax_scan_buffer_bytes(const ax_lane *l); /* of its scan requests */
void ax_scan_flush_stats(ax_lane *l);
void ax_scan_tighten(void *scan, const ax_value *bound);

/* late.c.  plan, with n the child of a top-N: *out is NULL when no column is late; else *child is a
 * copy of n without them and the keys are renumbered.  scan: the one compiled from the copy.
 * Winners are put as one batch; prepare makes pieces of work, which lanes read; then rows gives the
 * winners with all columns. */
#define AX_LATE_ROWS_MAX AX_BATCH_ROWS
ax_status ax_late_plan(ax_task *t, ax_arena *a, const ax_node *n, ax_sort_key *key, uint32_t nkeys,
                       ax_node **child, ax_late **out) AX_MUST_USE;
void ax_late_scan(ax_late *l, const ax_scan *s);
uint32_t ax_late_columns(const ax_late *l, uint32_t *of); /* how many, of how many */
ax_status ax_late_put(ax_task *t, ax_exec *x, ax_late *l, const ax_batch *b) AX_MUST_USE;
ax_status ax_late_prepare(ax_task *t, ax_late *l) AX_MUST_USE;
uint32_t ax_late_pieces(const ax_late *l);
ax_status ax_late_read(ax_lane *l, ax_go *go) AX_MUST_USE;
ax_status ax_late_rows(ax_lane *l, ax_batch **out, ax_go *go) AX_MUST_USE;
void ax_late_free(ax_late *l); /* no job may run */
/* No file of so many bytes has more splits: what is told of one takes bytes. */
#define AX_LATE_SPLITS ((uint64_t) 1 << 31)
static inline uint64_t ax_late_room(uint64_t bytes) { return bytes / 4 + 64; }

/* sample.c: the work list of a scan that wants some rows; file: [nfiles] NULL: not open. */
ax_status ax_scan_sample(ax_exec *x, ax_scan *s, ax_fmt_file *const *file) AX_MUST_USE;

/* meta.c */
bool ax_meta_fits(const ax_exec *x, const ax_node *n);
ax_status ax_meta_create(ax_exec *x, const ax_node *n, const ax_scan *s, ax_meta **out) AX_MUST_USE;
bool ax_meta_answers(ax_scan *s, const ax_work *w);
ax_status ax_meta_add(ax_task *t, ax_arena *a, const ax_meta *m, ax_batch *b, ax_vec *out)
    AX_MUST_USE;
ax_status ax_meta_order(ax_exec *x, ax_scan *s) AX_MUST_USE;

/* op_chain.c */
ax_status ax_op_init(ax_lane *l, uint32_t i) AX_MUST_USE;
ax_status ax_op_run(ax_lane *l, uint32_t i, ax_batch **b, ax_go *go) AX_MUST_USE;
bool ax_limit_enough(const ax_limit *l);

/* merge.c */
ax_status ax_merge_init(ax_lane *l) AX_MUST_USE;
ax_status ax_merge_next(ax_lane *l, ax_batch **out, ax_go *go) AX_MUST_USE;
void ax_merge_free(ax_lane *l);

/* op_deletes.c */
ax_status ax_vec_of_values(ax_task *t, ax_arena *a, ax_type type, const ax_value *val, uint32_t n,
                           ax_vec *out) AX_MUST_USE;
ax_status ax_keyset_create(ax_task *t, const uint32_t *col, uint32_t ncol, ax_keyset **out)
    AX_MUST_USE;
void ax_keyset_destroy(ax_keyset *s);
ax_status ax_keyset_put(ax_task *t, ax_keyset *s, ax_batch *b) AX_MUST_USE;
ax_status ax_keyset_remove(ax_task *t, const ax_keyset *s, ax_batch *b, uint16_t *sel) AX_MUST_USE;

/* output.c */
void ax_exec_fail(ax_exec *x, const ax_error *err);
void ax_exec_poison(ax_lane *l);          /* keep l->poison for the end of the output */
void ax_exec_finish(ax_exec *x);          /* the output is complete */
ax_status ax_held_copy(ax_task *t, ax_exec *x, const ax_batch *b, ax_held **out) AX_MUST_USE;
void ax_held_release(ax_exec *x, ax_held *h);
void ax_held_free(ax_held *h);            /* NULL is allowed */
bool ax_out_push(ax_lane *l, ax_held *h); /* false: full, the lane is listed as waiting */
ax_exec_next_result ax_out_next(ax_exec *x, ax_batch **out);
void ax_out_clear(ax_exec *x);            /* drop everything queued; no job may run */
void ax_host_ask(ax_lane *l, const ax_host_need *need);
bool ax_host_ask_file(ax_lane *l);        /* false: the host has answered already */
bool ax_host_waits(ax_lane *l); /* the host still reads what the lane asked */
ax_status ax_input_next(ax_lane *l, ax_batch **out, ax_go *go) AX_MUST_USE;

/* open.c.  begin: file i of the snapshot.  run: END, the file is open, bound and published; or
 * PARK.  An error names the file.  end: in every state, also before begin of a zeroed opener. */
void ax_opener_begin(ax_opener *o, uint32_t i);
ax_status ax_opener_run(ax_task *t, ax_opener *o, ax_job *job, ax_go *go) AX_MUST_USE;
void ax_opener_end(ax_opener *o);

/* source.c */
ax_status ax_opening_launch(ax_exec *x) AX_MUST_USE;
void ax_opening_free(ax_exec *x);    /* no job may run */
void ax_opening_publish(ax_exec *x); /* the source gets the new snapshot */

/* facts.c */
ax_status ax_facts_launch(ax_exec *x) AX_MUST_USE;
void ax_facts_free(ax_exec *x);      /* no job may run */

/* cache.c: opened files by path, format, options; checked against identity. */
ax_fmt_file *ax_cache_get(ax_cache *c, const char *path, const ax_format *f, const char *options,
                          const ax_io_id *id);
void ax_cache_put(ax_cache *c, const char *path, const ax_format *f, const char *options,
                  const ax_io_id *id, ax_fmt_file *file);

/* ---- algebra.c ------------------------------------------------------------------------------- */

/* Replaces the argument of sum or avg by one that is less by a constant, which is returned. */
int64_t ax_sum_split(ax_expr **arg);

/* A key as a function, which cannot raise, of a narrower one: equal keys are of equal narrow ones
 * alone.  *in: the narrow one, *out: the key, where column `col` has that; *in == key: there is
 * none, *out is the column. */
ax_status ax_key_split(ax_task *t, ax_arena *a, ax_expr *key, uint32_t col, ax_expr **in,
                       ax_expr **out) AX_MUST_USE;

/* Which keys are functions of the others, so that grouping by the others suffices?  may_raise: also
 * of those that can raise.  have: [ncols] of the input, all false; true in the end for columns that
 * are keys and stay.  drop: [nkeys].  Returns how many; never all. */
uint32_t ax_keys_determined(ax_expr *const *key, uint32_t nkeys, bool may_raise, bool *have,
                            uint32_t ncols, bool *drop);

#endif
