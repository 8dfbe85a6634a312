/* Files: open by URI, identity of a version, ranges, listings.
 *
 * Nothing here blocks a caller that says so: a request answers at once (local files, cached bytes)
 * or later, and then wakes the job that asked.  Readers do not call this module; they are step
 * machines (format.h) that *name* what they need, and their driver calls ax_io_fetch.  So a reader
 * never knows whether its file is local.
 *
 *      reader: step() -> NEED(requests) --> driver: ax_io_fetch() --> READY  --> step() again
 *                                                             \-> PENDING: job parks, is woken,
 *                                                                  calls ax_io_fetch again -> READY
 *
 * That holds for opening, listing and asking as well as for reading: a store may take its time for
 * each of them, and jobs never sleep.
 *
 * Identity.  An opened file is one version: device, inode, size, mtime_ns and ctime_ns for local
 * files, ETag or generation for remote ones.  A version that changes under a reader is an error
 * (ECHANGED), never mixed data: local files are checked again when the last reader closes a split.
 *
 * slice://<offset>+<length>/<path> is a stretch of a local file, as if it were a file of its own: a
 * member of an archive.
 *
 * Local files are read with pread, never mapped: a truncated file must not kill a process.  Pipes,
 * devices and directories are refused without blocking.  Every descriptor is O_CLOEXEC.
 *
 * Caches that keep bytes are keyed by identity and by credential identity (`cred`): nobody reads
 * another role's objects.  Schemes are listed in io/schemes.def; remote ones live in a module of
 * their own that is loaded at the first remote URI.
 *
 * Threads: every function may be called by any thread; an ax_io_file is reference-counted. */
#ifndef AX_IO_H
#define AX_IO_H

#include "base/sched.h"
#include "base/task.h"

typedef struct ax_io ax_io;           /* the module: descriptor cache, read budgets */
typedef struct ax_io_file ax_io_file; /* one version of one file, opened */

/* Identity of a version.  Equal identities have equal bytes.  Remote: dev and ino are a hash of the
 * URL without its query, since ETags are unique within one object only. */
typedef struct ax_io_id
{
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    char etag[72];     /* remote: ETag or generation (a hash of it when longer); local: empty */
    uint64_t cred;     /* hash of the credentials that opened it; 0 for local */
} ax_io_id;

bool ax_io_id_equal(const ax_io_id *a, const ax_io_id *b);

ax_status ax_io_create(ax_io **out, uint32_t max_open_files) AX_MUST_USE;
void ax_io_destroy(ax_io *io);  /* files that are still open must not be touched again */

/* ---- requests ------------------------------------------------------------------------------- */

typedef enum ax_io_kind
{
    AX_IO_READ, /* file, off, len -> buf */
    AX_IO_OPEN, /* uri -> file (a reference), size in file->id */
    AX_IO_LIST, /* uri of a directory or prefix, recursive flag -> entries, sorted by path */
    AX_IO_STAT, /* uri -> *id, is_dir: what stands there now, without opening it */
} ax_io_kind;

/* What a listing, a manifest or a STAT said of an object before, so that a store need not be asked
 * again.  With an ETag that version is meant, and a read that finds another one is ECHANGED.
 * Without one the object is promised never to change under its name (data files of lake tables).
 * Local files are looked at all the same. */
typedef struct ax_io_known
{
    uint64_t size;
    int64_t mtime_ns;  /* 0: not known */
    const char *etag;  /* NULL: not known */
} ax_io_known;

typedef struct ax_io_entry
{
    const char *path;  /* full path or URI, as it must be given to OPEN; directories without a
                        * slash at the end */
    uint64_t size;
    int64_t mtime_ns;
    bool is_dir;
    const char *etag;  /* remote, when the listing tells it; else NULL */
    bool unsized;      /* size and mtime_ns were not asked for */
} ax_io_entry;

/* Nothing at a URI is an answer to LIST and STAT (found stays false), and ENOFILE for OPEN. */
typedef struct ax_io_req
{
    uint8_t kind;          /* ax_io_kind */
    bool done;             /* out */
    bool recursive;        /* LIST */
    bool only_names;       /* LIST: sizes and times need not be found out, if that takes time */
    bool found;            /* LIST, STAT: out */
    bool is_dir;           /* STAT: out; a prefix with objects below it is a directory too */
    ax_io_file *file;      /* READ: in, borrowed; OPEN: out, owned reference */
    uint64_t off, len;     /* READ: must lie inside the file, else ECORRUPT.  OPEN: len is a hint,
                            * so many last bytes are wanted soon and may come along (see
                            * ax_io_file_drop_tail); 0: none */
    ax_buf *buf;           /* READ: out, owned reference with exactly len bytes */
    const char *uri;       /* OPEN, LIST, STAT: in, borrowed */
    const ax_io_known *known; /* OPEN, STAT: in, borrowed, or NULL */
    ax_io_id *id;          /* STAT: in, where the answer goes; borrowed until done or forgotten */
    ax_io_entry *entries;  /* LIST: out, in `arena` */
    uint32_t nentries;
    ax_arena *arena;       /* LIST: in, the asker's own arena; NULL: the task's scratch, which does
                            * not survive parking */
} ax_io_req;

typedef struct ax_io_need
{
    ax_io_req *req;   /* [n]; owned by the reader, valid until its next step */
    uint32_t n;
} ax_io_need;

typedef enum ax_io_ready { AX_IO_READY, AX_IO_PENDING } ax_io_ready;

/* Serve all requests that are not done.  READY: all are.  PENDING: some are under way; `waker` will
 * be woken (ax_job_wake) when calling again makes sense.  Requests must stay in place until then or
 * until ax_io_forget.  Near ranges of one file are merged into one read when the gap between them
 * is at most the file's merge gap.  Errors carry the file; no request is half done, those that were
 * done before keep what they got, and the rest is forgotten.  waker NULL: wait here until READY, or
 * until the task is stopped (tools, tests, the host's thread). */
ax_status ax_io_fetch(ax_task *t, ax_io *io, ax_io_need *need, ax_job *waker, ax_io_ready *out)
    AX_MUST_USE;

/* The requests' memory goes away: drop deliveries still under way.  Always ends at once.  Call it
 * before the waker's group is destroyed. */
void ax_io_forget(ax_io *io, ax_io_need *need);

/* Tell what will probably be read soon, in this order; a hint. */
void ax_io_prefetch(ax_io *io, ax_io_file *file, const uint64_t *off, const uint64_t *len,
                    uint32_t n);

/* ---- files ---------------------------------------------------------------------------------- */

/* Blocking forms of OPEN, LIST, STAT and READ, for tools and tests: never in a job, since a store
 * may answer late.  Here LIST and STAT of nothing are ENOFILE. */
ax_status ax_io_open(ax_task *t, ax_io *io, const char *uri, ax_io_file **out) AX_MUST_USE;
ax_status ax_io_read(ax_task *t, ax_io *io, ax_io_file *f, uint64_t off, uint64_t len, ax_buf **out)
    AX_MUST_USE;
ax_status ax_io_list(ax_task *t, ax_io *io, const char *uri, bool recursive, ax_io_entry **out,
                     uint32_t *n) AX_MUST_USE;
ax_status ax_io_stat(ax_task *t, ax_io *io, const char *uri, ax_io_id *out, bool *is_dir)
    AX_MUST_USE;

ax_io_file *ax_io_file_ref(ax_io_file *f);
void ax_io_file_unref(ax_io_file *f);            /* NULL is allowed */
const ax_io_id *ax_io_file_id(const ax_io_file *f);
const char *ax_io_file_name(const ax_io_file *f); /* as the user would write it */
uint64_t ax_io_file_size(const ax_io_file *f);

/* The last bytes that came along with the open serve reads until somebody drops them; they are not
 * in the query's account.  Who keeps a file longer than its opening calls this. */
void ax_io_file_drop_tail(ax_io_file *f); /* NULL is allowed */

/* Is the version still the one that was opened?  Else ECHANGED. */
ax_status ax_io_file_check(ax_task *t, ax_io_file *f) AX_MUST_USE;

/* What this module did for a query: bytes and requests, for EXPLAIN. */
typedef struct ax_io_stats
{
    _Atomic uint64_t bytes_read, requests, wait_ns;
    _Atomic uint64_t bytes_cached, pages_cached; /* pages that were not decompressed, since the
                                                  * cache had them, and their bytes */
} ax_io_stats;

/* The account of a file that is used by one query only, in tools and tests; ax_task.io goes before
 * it, and is the right place for files that a cache shares among queries.  NULL ends counting, and
 * must come before the account dies. */
void ax_io_file_count_to(ax_io_file *f, ax_io_stats *s);

/* ---- pages that stay ------------------------------------------------------------------------- */

/* Keep pages of files after decompression, up to so many bytes together, for the next queries;
 * 0: none, as at first, and where there is no memory for the table.  What is let in is told in
 * pages.c.  parent: of the account; it outlives the module.  Thread: the host's. */
void ax_io_keep_pages(ax_io *io, size_t bytes, ax_budget *parent);
void ax_io_trim_pages(ax_io *io);        /* drop all of them now */
size_t ax_io_kept_bytes(ax_io *io);

/* A page of a file: where it begins, and how long it is after decompression. */
typedef struct ax_io_page
{
    uint64_t off;
    size_t len;
    uint32_t how;     /* what else its bytes depend on: the codec */
    bool checked;     /* GET: its checksum must have been compared; PUT: it was, or there is none */
} ax_io_page;

/* The page's bytes, exactly len of them: a reference for the caller, who never writes to them.
 * NULL: the cache has not got them; *wanted then: it would keep them, so who decompresses the page
 * now does it into a buffer of its own, and gives that to PUT.  Counts in t->io. */
ax_buf *ax_io_page_get(ax_task *t, ax_io_file *f, const ax_io_page *key, bool *wanted);

/* Would GET find it, or want it?  For readers that need not have the page whole: if the answer is
 * no, the page counts as asked for. */
bool ax_io_page_wanted(ax_io_file *f, const ax_io_page *key);

/* Offer a page that was decompressed.  The caller is its buffer's only owner; afterwards the buffer
 * is shared, and charged to another account than before, if it was kept. */
void ax_io_page_put(ax_io_file *f, const ax_io_page *key, ax_buf *bytes);

/* ---- files that are not files ---------------------------------------------------------------- */

/* A backend serves files of one scheme.  Local files and memory are built in; HTTP and object
 * stores register from their module; tests register fakes (late, out of order, failing).
 *
 * Late forms.  A start function begins something and returns AX_OK; then the backend completes its
 * token exactly once, from any thread, also inside the start function itself, unless cancel()
 * returned true for it:
 *
 *      start       ax_io_complete(AX_OK): dst is filled
 *      start_open  ax_io_complete_open: the handle is the module's from now on
 *      start_list  ax_io_complete_list, page after page in any order of names, the last one with
 *                  more == false
 *      start_stat  ax_io_complete_stat
 *      any         ax_io_complete with an error; ENOFILE when nothing stands at the URI
 *
 * A start function that fails completes nothing.  Its strings, and what `known` points to, stay
 * until the token is complete.  The task is the asker's, valid during the call only: errors, and
 * whose credentials are used.  close may be called inside a completion, when nobody waits for the
 * handle any more.
 *
 * A store has start_open, start_list and start_stat; open and list are for backends that answer at
 * once.  Where start_stat is missing, an opening answers for it; where both forms of list are
 * missing, URIs cannot be listed. */
typedef struct ax_io_backend
{
    const char *scheme; /* "file", "mem", "s3" */
    ax_status (*open)(ax_task *t, void *self, const char *uri, void **handle, ax_io_id *id);
    void (*close)(void *self, void *handle);
    ax_status (*start)(void *self, void *handle, uint64_t off, uint64_t len, uint8_t *dst,
                       void *token);
    bool (*cancel)(void *self, void *token);
    ax_status (*list)(ax_task *t, void *self, const char *uri, bool recursive, ax_io_entry **out,
                      uint32_t *n);
    uint64_t merge_gap_bytes;
    void *self;
    ax_status (*start_open)(ax_task *t, void *self, const char *uri, const ax_io_known *known,
                            uint64_t tail_len, void *token);
    ax_status (*start_list)(ax_task *t, void *self, const char *uri, bool recursive, void *token);
    ax_status (*start_stat)(ax_task *t, void *self, const char *uri, const ax_io_known *known,
                            void *token);
} ax_io_backend;

ax_status ax_io_register(ax_io *io, const ax_io_backend *b) AX_MUST_USE;

/* err: what to report, copied; NULL: a general message. */
void ax_io_complete(ax_io *io, void *token, ax_status status, const ax_error *err);

/* tail: the last ntail bytes of the object, copied; ntail 0: none came along. */
void ax_io_complete_open(ax_io *io, void *token, void *handle, const ax_io_id *id,
                         const uint8_t *tail, size_t ntail);

/* The entries are copied.  True: the token is not complete, and waits for the next page.  False: it
 * is, because this was the last page, or nobody wants the rest, or there is no room for it. */
bool ax_io_complete_list(ax_io *io, void *token, const ax_io_entry *e, uint32_t n, bool more);
void ax_io_complete_stat(ax_io *io, void *token, const ax_io_id *id, bool is_dir);

/* A file over bytes in memory: tests, fuzzers.  The bytes are copied. */
ax_status ax_io_open_memory(ax_task *t, ax_io *io, const char *name, const void *bytes, size_t n,
                            ax_io_file **out) AX_MUST_USE;

/* ---- writing --------------------------------------------------------------------------------- */

/* A set of named members that appears all at once or not at all, without relying on rename (object
 * stores have none): members are written under the backend's staging names, and `publish` makes
 * them visible; destroying an unpublished set leaves nothing.  Implemented with the writers.
 *
 * append takes the bytes and never waits; it is charged to the task's budget.  The driver calls
 * drain between two calls of the writer: PENDING when more than max_bytes are not on their way out
 * yet, with the waker as in ax_io_fetch.  publish is called again until READY; it fails, and
 * nothing is visible, when `last` (a member that must not exist before: a commit of a log; NULL:
 * none) exists already. */
typedef struct ax_io_set ax_io_set;
ax_status ax_io_set_create(ax_task *t, ax_io *io, const char *uri, ax_io_set **out) AX_MUST_USE;
ax_status ax_io_set_append(ax_task *t, ax_io_set *s, const char *member, const void *p, size_t n)
    AX_MUST_USE;
ax_status ax_io_set_drain(ax_task *t, ax_io_set *s, uint64_t max_bytes, ax_job *waker,
                          ax_io_ready *out) AX_MUST_USE;
ax_status ax_io_set_publish(ax_task *t, ax_io_set *s, const char *last, ax_job *waker,
                            ax_io_ready *out) AX_MUST_USE;
void ax_io_set_destroy(ax_io_set *s);

#endif
