/* The executor's door: sources as snapshots of opened files, and runs of plans over them.
 *
 * ax.c is a thin coat over this module.  The host's thread calls every function here; jobs on the
 * pool do the work.
 *
 * How a plan runs.  The tree is cut at its breakers into stages:
 *
 *     source --> chain of streaming operators --> sink
 *       scan work list        filter                breaker (aggregate, order)
 *       parts of a breaker    project               key set (deletes)
 *       external input        limit, final, ...     output queue
 *
 * A stage runs on lanes; each lane is a job that claims work (atomic cursor), pushes batches
 * through its own copy of the chain and puts them into the sink.  When all lanes of all stages that
 * feed a sink have ended, the last one prepares the sink and starts the stages that wait for it.
 *
 * A lane never sleeps.  It parks (AX_RUN_BLOCKED) on reads under way, on a full output queue, on
 * missing external rows and on answers of the host, and goes to the end of the queue every 5 ms.
 *
 * Errors.  The first one wins, sets the stop flag and ends the run.  An error of one row in a stage
 * that feeds the output is deferred: rows of work items before it are delivered first, then a
 * batch with `poison`; when a limit is satisfied before, nobody sees it. */
#ifndef AX_EXEC_H
#define AX_EXEC_H

#include "format/format.h"
#include "lake/lake.h"
#include "plan/plan.h"

#include <pthread.h>

/* ---- what all queries of an engine share ----------------------------------------------------- */

typedef struct ax_cache ax_cache; /* opened files by path, checked against identity; see cache.c */

typedef struct ax_env
{
    ax_pool *pool;
    ax_io *io;
    ax_budget *budget;             /* parent account of queries, sources and plans */
    ax_cache *cache;
    _Atomic uint32_t max_threads;
    uint32_t cpus;            /* lanes of a query that compute at once */
    _Atomic uint32_t queries;      /* not destroyed yet */
} ax_env;

ax_status ax_cache_create(int64_t keep_bytes, ax_cache **out) AX_MUST_USE;
void ax_cache_destroy(ax_cache *c);
void ax_cache_trim(ax_cache *c);          /* drop everything no source uses */
ax_budget *ax_cache_budget(ax_cache *c);  /* account of the metadata */

/* ---- sources --------------------------------------------------------------------------------- */

/* One file of a snapshot.  It may be opened late, by whoever needs it first: `file` is NULL until
 * then, and is published once, after `bind`, under the snapshot's lock. */
typedef struct ax_snapfile
{
    const char *path;
    uint64_t size;         /* as listed, or remembered from an earlier look: a hint */
    const ax_lake_file *lake;    /* in the snapshot's arena: what the lake knows, its partition */
    const ax_fixed_col *fixed;   /* [nfixed] columns whose value is known without opening: of the
                                  * partition, the name, the size.  Set before queries run */
    uint32_t nfixed;
    _Atomic(ax_fmt_file *) file; /* a reference */
    ax_fmt_bind *bind;     /* NULL: no columns are declared.  Valid once file is not NULL, as are */
    ax_io_id id;           /* the version that was opened, */
    bool settled;          /* and whether a later change would show in it */
} ax_snapfile;

static inline ax_fmt_file *ax_snapfile_file(const ax_snapfile *f)
{
    return atomic_load_explicit(&f->file, memory_order_acquire);
}

/* Bindings live in arenas of those who opened files; a node lies in its own arena. */
typedef struct ax_bind_arena { ax_arena *arena; struct ax_bind_arena *next; } ax_bind_arena;

/* Sums over the files that are open. */
typedef struct ax_opened
{
    uint32_t files, splits;
    int64_t rows;             /* -1: one does not know */
    int64_t bytes;            /* as listed */
    int64_t bytes_now;        /* as opened */
} ax_opened;

/* The files of a source at one moment, shared by the source and its queries; immutable but for
 * files that are opened late. */
typedef struct ax_snapshot
{
    _Atomic int32_t refs;
    ax_arena *arena;          /* list, paths, fixed values; the host's thread */
    ax_snapfile *file;        /* [nfiles] sorted by path */
    uint32_t nfiles;
    int64_t bytes;            /* of all files */
    const ax_lake_watch *watch; /* [nwatch] see ax_lake_event */
    uint32_t nwatch;
    bool watched;
    pthread_mutex_t lock;     /* guards publishing and all below */
    ax_bind_arena *binds;
    struct ax_opened sum;
} ax_snapshot;

typedef struct ax_source
{
    ax_env *env;
    ax_arena *arena;           /* owns the spec's copies */
    const char **path;         /* [npaths] */
    uint32_t npaths;
    const ax_format *format;   /* NULL: guess for each file */
    const char *options;
    ax_colspec *col;           /* [ncols + nhidden] */
    uint32_t ncols;
    ax_bind_opts bind;
    bool merged;               /* rows of one key become one */
    bool allow_no_files;       /* a path that leads nowhere is no error */
    uint32_t nhidden;          /* columns behind the declared ones that this takes, */
    const ax_final *final;     /* and how; NULL: not listed yet, or no files */
    ax_snapshot *snap;         /* NULL before the first open; changed by the host's thread only */
    ax_snapshot *earlier;      /* a reference to that of another source, or NULL: what its files
                                * were like helps the listing */
} ax_source;

void ax_snapshot_unref(ax_snapshot *s); /* NULL is allowed */
ax_opened ax_snapshot_opened(ax_snapshot *s);

/* Can no row of this file match, by what is known without opening it?  f: columns as declared. */
bool ax_snapfile_excluded(const ax_snapfile *f, const ax_filter *filter);

/* Bounds of a declared column from what is known without opening; false: not known. */
bool ax_snapfile_fixed_bounds(const ax_snapfile *f, uint32_t col, ax_bounds *out);

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct ax_exec ax_exec;

typedef struct ax_exec_opts
{
    uint32_t max_threads;
    int64_t memory_limit_bytes;
    uint32_t allow;
    void (*wake)(void *arg);
    void *wake_arg;
    ax_params params;
    bool strict_float_sum;
    uint32_t host_rows;           /* plans over so many rows run on the host's thread */
    bool spill;                   /* the host gives a temporary file when it is asked */
    int64_t spill_limit_bytes;    /* of that file; 0: none */
    bool list_only;               /* an opening stops when it has the list of files */
    uint32_t open_files;          /* with the next two: which files an opening opens */
    ax_expr *const *conj;
    uint32_t nconj;
} ax_exec_opts;

typedef enum ax_exec_next_result
{
    AX_EXEC_BATCH, AX_EXEC_DONE, AX_EXEC_ERROR, AX_EXEC_WAIT, AX_EXEC_REQUEST
} ax_exec_next_result;

typedef struct ax_exec_profile
{
    const char *format, *split_unit;
    uint32_t runs;
    uint64_t files, files_done, splits, splits_done;
    int64_t bytes_total;
    uint64_t files_pruned[AX_PRUNED_CNT], splits_pruned[AX_PRUNED_CNT];
    ax_granules_removed removed[AX_MAX_REMOVED];
    uint32_t nremoved;
    ax_scan_stats scan;
    uint64_t requests, bytes_read, pages_cached, bytes_cached;
    uint64_t rows_out, groups, spilled_bytes;
    uint32_t late_columns, late_of; /* columns read for the winners of a top-N alone */
    int64_t memory_bytes, memory_peak_bytes;
    uint32_t threads_granted, threads_peak;
    uint64_t elapsed_ns, cpu_ns, open_ns, aggregate_ns, sort_ns;
    uint64_t host_calls, host_values;
    bool from_metadata;
} ax_exec_profile;

ax_status ax_exec_open(ax_env *env, ax_source *s, const ax_exec_opts *o, ax_exec **out,
                       ax_error *err) AX_MUST_USE;
ax_status ax_exec_start(ax_env *env, const ax_plan *p, const ax_exec_opts *o, ax_exec **out,
                        ax_error *err) AX_MUST_USE;
ax_status ax_exec_facts(ax_env *env, ax_source *s, const char *table, const ax_fact_arg *arg,
                        const ax_exec_opts *o, ax_exec **out, ax_error *err) AX_MUST_USE;
ax_exec_next_result ax_exec_next(ax_exec *x, ax_batch **out);
const ax_error *ax_exec_error(const ax_exec *x);
void ax_exec_stop(ax_exec *x);
void ax_exec_destroy(ax_exec *x);
ax_status ax_exec_rebind(ax_exec *x, const ax_params *params) AX_MUST_USE;

/* The request that made next return REQUEST. */
const ax_host_need *ax_exec_request(const ax_exec *x);
ax_status ax_exec_reply(ax_exec *x, const ax_value *value, const ax_error *const *raised)
    AX_MUST_USE;

/* Or it was for a temporary file: a descriptor, owned by the run from now on; -1: refused. */
bool ax_exec_asks_file(const ax_exec *x);
void ax_exec_reply_file(ax_exec *x, int fd);

ax_status ax_exec_feed(ax_exec *x, uint32_t input, const ax_batch *rows, bool *full) AX_MUST_USE;
ax_status ax_exec_feed_end(ax_exec *x, uint32_t input) AX_MUST_USE;

void ax_exec_profile_get(ax_exec *x, ax_exec_profile *out);
const char *ax_exec_pipeline(const ax_exec *x, ax_arena *a, bool dot);

#endif
