/* The engine's door: everything a host needs, and nothing of the host's.
 *
 * A host (the PostgreSQL glue, axq, a test) makes one engine per process, opens sources, builds
 * plans over them, runs queries, and takes batches.  It calls from one thread; the engine's own
 * threads do the work and never call the host, but for `wake`, which says "look again".
 *
 *     engine = ax_engine_create            one per process: pool, caches, budgets
 *     source = ax_source_create(spec)      a table of files as declared; reads nothing yet
 *     q = ax_query_open(source)            reads footers on this thread; ends with DONE
 *     plan = ax_plan_create, builders      plan/plan.h
 *     q = ax_query_start(plan, opts)       from here on threads may run
 *     for (;;) switch (ax_query_next(q, ...))
 *         BATCH    take rows; valid until the next call
 *         WAIT     feed the inputs that are not full (ax_query_feed); with nothing to feed, sleep
 *                  until wake() was called; then call again
 *         REQUEST  answer ax_query_request with ax_query_reply, then call again
 *         DONE     no more rows; calling again gives DONE again
 *         ERROR    ax_query_error; calling again gives ERROR again
 *     ax_query_destroy(q)
 *
 * States of a query:
 *
 *     CREATED --next--> RUNNING --> DRAINED (all rows taken)
 *        |                |  \--> FAILED (first error wins)
 *        +--- stop -------+-----> STOPPED         destroy is allowed in every state
 *
 * Ends.  ax_query_stop and ax_query_destroy are idempotent, allocate nothing, raise nothing, and
 * always return: they wait only for jobs of this query that run now, which look at the stop flag at
 * least every 5 ms.  They may be called from a clean-up handler, in any order, and with the query
 * unread.  After destroy no thread, descriptor, buffer or temporary file of the query is left.
 *
 * Threads start at the first ax_query_next of a run, not before: opening sources, building plans,
 * printing them and starting a query that is never read start none.
 *
 * Errors travel as ax_error values; functions without a query fill the ax_error given to them.
 * No function here longjmps, exits, or touches signals of the calling thread. */
#ifndef AX_H
#define AX_H

#include "base/sched.h"
#include "expr/expr.h"
#include "format/format.h"
#include "plan/plan.h"
#include "vector/vector.h"

#define AX_VERSION "0.1.0"

/* ---- engine ---------------------------------------------------------------------------------- */

typedef struct ax_engine ax_engine;

typedef struct ax_engine_opts
{
    uint32_t max_threads;          /* of a query, 0: cores of the cgroup; can be changed later */
    uint32_t idle_ms;              /* idle threads exit after this, 0: 60,000; with the last one
                                      goes the free memory that was kept for the next query */
    uint32_t cpus;                 /* lanes of a query that compute at once (others wait for reads),
                                      0: processors that the process may use */
    uint32_t spin_us;              /* idle threads look for work this long, 0: 30 */
    int64_t memory_limit_bytes;    /* of all queries of this process, 0: unlimited */
    int64_t metadata_cache_bytes;  /* opened files kept between queries, 0: 64 MiB */
    int64_t page_cache_bytes;      /* decompressed pages kept between queries, 0: none; can be
                                      changed later.  They go when no thread is left */
    uint32_t max_open_files;       /* 0: 256 */
} ax_engine_opts;

ax_status ax_engine_create(const ax_engine_opts *o, ax_engine **out, ax_error *err) AX_MUST_USE;
/* All queries must be destroyed; joins all threads, and closes what sources have open, which must
 * not be touched again when they are left. */
void ax_engine_destroy(ax_engine *e);
uint32_t ax_engine_threads(const ax_engine *e);          /* alive now */
uint32_t ax_engine_queries(const ax_engine *e);          /* not destroyed yet */
int64_t ax_engine_used_bytes(const ax_engine *e);
void ax_engine_trim(ax_engine *e);                       /* give idle memory back now */
void ax_engine_set_max_threads(ax_engine *e, uint32_t n);
void ax_engine_set_page_cache(ax_engine *e, int64_t bytes); /* no memory: it stays as it is */

/* Together with all engines that share s, run at most total jobs at once (0: as many as there are
 * cores); see ax_permits.  s counts in the first call, which comes before any query; later ones
 * change the total, also while queries run. */
void ax_engine_share(ax_engine *e, ax_permits *s, uint32_t total);
ax_budget *ax_engine_budget(ax_engine *e);               /* parent account for plans */
ax_io *ax_engine_io(ax_engine *e);                       /* to register backends */

/* ---- sources --------------------------------------------------------------------------------- */

typedef struct ax_source ax_source;

typedef struct ax_source_spec
{
    const char *const *path;       /* [npaths] files, directories, globs */
    uint32_t npaths;
    const char *format;            /* "auto" or a name of formats.def */
    const char *options;           /* "key=value" lines for the format, or NULL */
    const ax_colspec *col;         /* [ncols] declared columns; 0: none, schema is only read */
    uint32_t ncols;
    ax_bind_opts bind;
    bool merged;                   /* its scans stand below AX_N_MERGE_FINAL */
    bool allow_no_files;           /* a path that leads nowhere is no error */
} ax_source_spec;

/* Copies the spec.  No file is touched. */
ax_status ax_source_create(ax_engine *e, const ax_source_spec *spec, ax_source **out, ax_error *err)
    AX_MUST_USE;
void ax_source_destroy(ax_source *s);  /* no query may use it any more; NULL is allowed */

/* Facts; valid after the query of ax_query_open ended with DONE.  A source is listed once: to see
 * new files, make a new one (opened files come from the cache).  ax_source_file gives NULL for a
 * file whose metadata was not read yet; sums are estimates then. */
uint32_t ax_source_files(const ax_source *s);
const ax_fmt_file *ax_source_file(const ax_source *s, uint32_t i);
const char *ax_source_file_path(const ax_source *s, uint32_t i);

/* Is what a source knows still so, by a look at directories and opened files of the local file
 * system?  For a host that keeps sources.  max_files > 0: at no more than so many opened ones.  Of
 * files that were looked at the bytes are the same; the names are, unless a file system tells a
 * change of a directory by neither mtime nor ctime.  Waits for the file system. */
typedef enum ax_current
{
    AX_CURRENT_CHANGED,      /* or it cannot be told */
    AX_CURRENT_NAMES,        /* the same names; files that were not looked at may have changed */
    AX_CURRENT_FILES,        /* each file was opened, looked at and is the same; no directory was
                              * listed to find it */
} ax_current;
ax_current ax_source_current(ax_source *s, uint32_t max_files);

/* s, which is not listed yet, has much the same files as earlier, which is: their sizes, hints as
 * long as files are not open, are taken from there, so that its listing need not look at them. */
void ax_source_follow(ax_source *s, const ax_source *earlier);

/* What the listing told of file i.  false: nothing, or of size and time that they are hints. */
typedef struct ax_file_facts
{
    uint64_t size;
    int64_t mtime_ns;        /* since 1970-01-01 UTC; 0: unknown */
    const char *etag;        /* NULL: none */
} ax_file_facts;
bool ax_source_file_facts(const ax_source *s, uint32_t i, ax_file_facts *out);

/* Directories `key=value` on the way to file i, outermost first: *n of them, decoded; a value NULL
 * is SQL null.  Files of one directory share their arrays. */
const char *const *ax_source_file_part_names(const ax_source *s, uint32_t i, uint32_t *n);
const char *const *ax_source_file_part_values(const ax_source *s, uint32_t i);

/* Values of declared columns that hold for the whole file i, instead of what it says itself;
 * copied, in the columns' types.  Files are left out by them without being opened.  To be called
 * between listing and opening, once for a file. */
ax_status ax_source_fix(ax_source *s, uint32_t i, const ax_fixed_col *fixed, uint32_t n,
                        ax_error *err) AX_MUST_USE;

/* Declared columns by which the rows of each file are ordered, the most significant first, as far
 * as that holds for all files; *key: [max].  Returns how many; 0 when a file is not open. */
uint32_t ax_source_order(const ax_source *s, ax_sort_key_claim *key, uint32_t max);

/* How rows of one key become one, for a source with `merged`; NULL: it has no files. */
const ax_final *ax_source_final(const ax_source *s);

const ax_schema *ax_source_schema(const ax_source *s);   /* of the first opened file */
const char *ax_source_format(const ax_source *s);        /* name of the format, "" without files */
int64_t ax_source_rows(const ax_source *s);              /* -1: a file does not know */
int64_t ax_source_bytes(const ax_source *s);
uint32_t ax_source_splits(const ax_source *s);

/* Facts for the host's planner are of every n-th opened file: many cost no more than some. */
uint32_t ax_source_facts_every(const ax_source *s);

/* Facts about declared column col over these files.  false: unknown. */
typedef struct ax_col_facts
{
    ax_bounds bounds;        /* over all splits; rows and nulls -1 when unknown */
    double distinct;         /* 0: unknown */
    double width;            /* average bytes of a value, 0: unknown */
} ax_col_facts;
bool ax_source_col_facts(const ax_source *s, uint32_t col, ax_col_facts *out);

/* Bounds of declared column col in one split of file i.  false: not known without reading. */
bool ax_source_split_bounds(const ax_source *s, uint32_t i, uint32_t split, uint32_t col,
                            ax_bounds *out);

/* About how many rows are in splits that may match this filter (columns numbered as declared)?
 * From metadata in memory only, of these files. */
int64_t ax_source_rows_matching(ax_source *s, ax_expr *const *conj, uint32_t nconj);

/* ---- queries --------------------------------------------------------------------------------- */

typedef struct ax_query ax_query;

typedef struct ax_query_opts
{
    uint32_t max_threads;          /* lanes, 0: as many as the pool has */
    int64_t memory_limit_bytes;    /* 0: unlimited (the engine's limit holds); half of it, at
                                      least 256 MiB, is kept by the process for the next query */
    uint32_t allow;                /* AX_ALLOW_* */
    void (*wake)(void *arg);       /* called by any thread, must not block; wakes may be merged */
    void *wake_arg;
    ax_params params;              /* values of AX_X_PARAM, copied */
    bool spill;                    /* the host answers AX_REQ_SPILL_FD */
    int64_t spill_limit_bytes;     /* of the temporary file, 0: none */
    bool strict_float_sum;
    /* Over at most so many rows a plan runs on the host's thread, in ax_query_next, in slices
     * between which it returns WAIT with a wake: threads would cost more than they spare.  0:
     * never. */
    uint32_t host_rows;
    /* For ax_query_open only.  Files that may have rows that pass conj (columns numbered as
     * declared, params hold), by what is known without opening them, are opened: all of them, or,
     * when they are more than open_files > 0, a sample of so many, but at most two for each thread.
     * Scans read those that are open first, unless they need an order. */
    uint32_t open_files;
    ax_expr *const *conj; uint32_t nconj;
} ax_query_opts;

/* Open a source: list its files the first time, read the metadata of those wanted (or take it from
 * the cache, checked against the files' identity now), bind the declared columns.  Files that were
 * not opened are opened by scans when they get there.  Yields no batches, ends with DONE. */
ax_status ax_query_open(ax_engine *e, ax_source *s, const ax_query_opts *o, ax_query **out,
                        ax_error *err) AX_MUST_USE;

/* The same without opening the files: ax_source_file is NULL for each of them then. */
ax_status ax_query_list(ax_engine *e, ax_source *s, const ax_query_opts *o, ax_query **out,
                        ax_error *err) AX_MUST_USE;

/* Rows of a table of facts (ax_fact_table) about every file of an opened source: batches in the
 * table's columns, ax_batch.split is the number of the file.  Ends with DONE; cannot be rebound.
 * arg: NULL, or what is asked, borrowed until the query is destroyed.
 * EOPTION: the files' format has no such table. */
ax_status ax_query_facts(ax_engine *e, ax_source *s, const char *table, const ax_fact_arg *arg,
                         const ax_query_opts *o, ax_query **out, ax_error *err) AX_MUST_USE;

/* Prepare a run of a plan whose sources are open.  The plan must outlive the query. */
ax_status ax_query_start(ax_engine *e, const ax_plan *p, const ax_query_opts *o, ax_query **out,
                         ax_error *err) AX_MUST_USE;

typedef enum ax_next
{
    AX_NEXT_BATCH, AX_NEXT_DONE, AX_NEXT_ERROR, AX_NEXT_WAIT, AX_NEXT_REQUEST
} ax_next;

/* See above.  *out: rows as FLAT (fixed width), or VIEW/FLAT (strings), CONST or DICT vectors with
 * an optional selection; the host reads them with ax_vec_value or by kind.  If (*out)->poison is
 * set, its error is raised by the host after the batch's rows are used up: a consumer that stops
 * before (LIMIT) never sees it. */
ax_next ax_query_next(ax_query *q, ax_batch **out);

const ax_error *ax_query_error(const ax_query *q);

void ax_query_stop(ax_query *q);
void ax_query_destroy(ax_query *q); /* NULL is allowed */

/* Start over with new parameters; also for a query that is running or done.  Cheaper than a new
 * query: opened files and metadata stay.  External inputs are open and empty again. */
ax_status ax_query_rebind(ax_query *q, const ax_params *params) AX_MUST_USE;

/* ---- the way back up ------------------------------------------------------------------------- */

typedef enum ax_req_kind
{
    AX_REQ_HOST_FN,   /* apply a host function to distinct values: u.fn */
    AX_REQ_SPILL_FD   /* a descriptor of an unlinked temporary file, read-write: reply->fd */
} ax_req_kind;

typedef struct ax_request
{
    uint8_t kind;     /* ax_req_kind */
    union
    {
        const ax_host_need *fn;
    } u;
} ax_request;

typedef struct ax_reply
{
    const ax_value *value;              /* HOST_FN: [nrows] */
    const ax_error *const *raised;      /* HOST_FN: [nrows] or NULL */
    int fd;                             /* SPILL_FD: owned by the query from now on; -1: refused */
} ax_reply;

/* The request that made next return REQUEST; valid until the reply, rebind, stop or destroy.  NULL
 * when there is none. */
const ax_request *ax_query_request(const ax_query *q);
ax_status ax_query_reply(ax_query *q, const ax_reply *r) AX_MUST_USE;

/* Push rows into AX_N_EXTERNAL_INPUT `input`; copied.  *full: the engine has enough for now, feed
 * again after the next wake.  feed_end closes the input. */
ax_status ax_query_feed(ax_query *q, uint32_t input, const ax_batch *rows, bool *full) AX_MUST_USE;
ax_status ax_query_feed_end(ax_query *q, uint32_t input) AX_MUST_USE;

/* ---- what it did ----------------------------------------------------------------------------- */

/* A snapshot at any time, also while running and after the end.  Things not done count 0. */
typedef struct ax_profile
{
    const char *format;
    const char *split_unit;                       /* "row group" */
    uint32_t runs;                                /* 1 and one for each rebind that was run; counts
                                                   * are sums over them */
    uint64_t files, files_pruned[AX_PRUNED_CNT];
    uint64_t splits, splits_pruned[AX_PRUNED_CNT];
    ax_granules_removed removed[AX_MAX_REMOVED];  /* [nremoved] by which index */
    uint32_t nremoved;
    uint64_t files_done;                          /* lanes have gone past them */
    uint64_t splits_done;                         /* read, or answered from metadata */
    int64_t bytes_total;                          /* of the files */
    ax_scan_stats scan;
    uint64_t requests, bytes_read;
    uint64_t pages_cached, bytes_cached;          /* pages that did not have to be decompressed */
    uint64_t rows_out;
    uint64_t groups;                              /* groups of the top aggregate */
    uint64_t spilled_bytes;                       /* written to the temporary file */
    int64_t memory_bytes, memory_peak_bytes;
    uint32_t threads_granted, threads_peak;
    uint64_t elapsed_ns, cpu_ns;                  /* since the first next; CPU of all jobs */
    uint64_t open_ns, aggregate_ns, sort_ns;
    uint64_t host_calls, host_values;
    bool from_metadata;                           /* answered without reading data */
    uint32_t late_columns, late_of;               /* so many columns, of the result's, were read for
                                                   * the rows of a top-N alone */
} ax_profile;
void ax_query_profile(const ax_query *q, ax_profile *out);

/* Operators with their parallelism, as text or Graphviz; in arena a; NULL when memory is out. */
const char *ax_query_pipeline(const ax_query *q, ax_arena *a, bool dot);

#endif
