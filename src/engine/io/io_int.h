/* What the files of the io module share.
 *
 *   io.c     the module, backends, opening, files as counted objects
 *   local.c  descriptors, reads and identity of files of the local file system
 *   local_list.c  its directories
 *   fetch.c  requests: merging, what is answered at once, delivery
 *   pages.c  pages that stay after decompression
 *   flight.c what is under way: flights and tickets, completions, forgetting
 *
 * Locks.  ax_io.lock guards what says so; it is held for moments, never over a system call that
 * reads data and never while a backend is called.  ax_job_wake is called under it (the scheduler's
 * lock is inner), so that a job whose requests are forgotten is not woken afterwards. */
#ifndef AX_IO_INT_H
#define AX_IO_INT_H

#include "io/io.h"

#include <pthread.h>

#define AX_IO_BACKENDS_MAX 16u
#define AX_IO_BUCKET_CNT 256u
#define AX_IO_LOCAL_GAP_BYTES (16u << 10)  /* a pread costs about as much as copying this */
#define AX_IO_LISTED_MAX_CNT (8u << 20)    /* entries of one listing */
#define AX_IO_MERGED_MAX_BYTES (8u << 20)  /* merged reads stop growing here */

typedef enum ax_io_where { AX_IO_LOCAL, AX_IO_MEMORY, AX_IO_REMOTE } ax_io_where;

struct ax_io_file
{
    _Atomic int32_t refs;
    ax_io_where where;       /* this and the next six: immutable */
    ax_io *io;               /* borrowed; outlives all files */
    ax_io_id id;
    char *name;              /* owned: as the user would write it */
    const char *path;        /* LOCAL: in name, behind file:// or slice://.../ */
    uint64_t base, whole;    /* LOCAL: where a slice begins, and the size of the file around it */
    const ax_io_backend *backend; /* REMOTE: borrowed from io */
    void *handle;            /* REMOTE: owned, the backend's */
    ax_buf *bytes;           /* MEMORY: owned reference */
    ax_buf *tail;            /* REMOTE: owned reference to the last bytes, or NULL; guarded by
                              * io->lock */
    int fd;                  /* LOCAL: -1 while closed to save descriptors; guarded by io->lock */
    uint32_t pins;           /* LOCAL: reads under way, guarded by io->lock */
    ax_io_file *lru_next, *lru_prev; /* LOCAL: open and not pinned, guarded by io->lock */
    ax_io_stats *_Atomic stats; /* borrowed account; NULL: nobody counts */
};

/* Something a backend was asked for and has not answered; serves one or several reads, or one other
 * request.  What says so is guarded by io->lock; answers are written by the backend's thread before
 * `done` and read after it; the rest is immutable. */
typedef struct ax_io_flight
{
    uint8_t kind;       /* ax_io_kind: what the backend was asked for */
    bool recursive;     /* LIST */
    const ax_io_backend *backend; /* borrowed from io */
    const char *uri;    /* OPEN, LIST, STAT: a copy behind the struct; READ: the file's name */
    ax_io_known known;  /* OPEN, STAT: a copy; etag behind the struct */
    bool has_known;
    ax_io_file *file;   /* READ: owned reference; OPEN: owned, complete when done */
    uint64_t off, len;  /* READ; OPEN: len bytes of the tail */
    ax_buf *buf;        /* READ: owned reference; the backend writes it until done */
    ax_arena *arena;    /* LIST: owned, charged to the module; entries lie in it */
    ax_io_entry *entry; /* LIST: answer */
    uint32_t nentries, entry_cap;
    ax_io_id id;        /* STAT: answer */
    bool is_dir;        /* STAT: answer */
    int64_t start_ns;
    int64_t wait_ns;    /* known when done */
    uint32_t refs;      /* tickets, callers, and one for the backend until done; guarded */
    uint32_t ntickets;  /* requests it was made for */
    pthread_t starter;  /* thread that asks the backend; set before */
    bool done;          /* guarded, like the next four */
    bool at_once;       /* done within the call that asked: no request went out */
    bool orphan;        /* no request wants it any more */
    ax_status status;
    ax_error *err;      /* owned; NULL without an error report */
    struct ax_io_flight *next; /* local list of the caller that made it */
} ax_io_flight;

/* Request -> flight; lives from the request until delivery or ax_io_forget. */
typedef struct ax_io_ticket
{
    struct ax_io_ticket *next; /* bucket */
    ax_io_req *req;            /* the key, not followed by anybody but its owner */
    ax_io_flight *flight;      /* a reference */
    ax_job *waker;             /* borrowed; NULL: its owner waits for io->arrived */
} ax_io_ticket;

struct ax_io
{
    pthread_mutex_t lock;
    pthread_cond_t arrived;     /* a flight ended; monotonic clock */
    uint32_t max_open_files;    /* immutable */
    uint32_t open_files;        /* descriptors we hold; guarded by lock */
    ax_io_file *lru_oldest, *lru_newest; /* guarded by lock */
    ax_io_backend backends[AX_IO_BACKENDS_MAX];
    _Atomic uint32_t nbackends; /* entries below are immutable; grows under lock */
    ax_io_ticket *buckets[AX_IO_BUCKET_CNT]; /* guarded by lock */
    uint32_t in_flight;         /* flights that backends still own; guarded by lock */
    ax_budget budget;           /* bytes that belong to no query */
    struct ax_io_pages *_Atomic pages; /* owned; NULL: none were ever to be kept */
};

/* Scheme of a URI as a length, 0 for a plain path. */
size_t ax_io_scheme_len(const char *uri);

/* The local path of a URI without scheme, with file:// or slice://; NULL for other schemes. */
const char *ax_io_local_path(const char *uri);

/* Where slice://<off>+<len>/<path> has its path; NULL: the URI is none. */
const char *ax_io_slice(const char *uri, uint64_t *off, uint64_t *len);

/* The registered backend of a URI's scheme. */
ax_status ax_io_backend_find(ax_task *t, ax_io *io, const char *uri, const ax_io_backend **out)
    AX_MUST_USE;

/* A file without references to anything but its name; NULL: out of memory. */
ax_io_file *ax_io_file_new(ax_io *io, const char *name, ax_io_where where);

/* Answer now: local files, and backends without late forms.  *late: nothing was done, the backend
 * wants to be started. */
ax_status ax_io_open_now(ax_task *t, ax_io *io, const char *uri, ax_io_file **out, bool *late)
    AX_MUST_USE;
ax_status ax_io_list_now(ax_task *t, ax_io *io, ax_io_req *r, bool *late) AX_MUST_USE;
ax_status ax_io_stat_now(ax_task *t, ax_io *io, ax_io_req *r, bool *late) AX_MUST_USE;

/* Entries in order of their paths. */
void ax_io_entries_sort(ax_io_entry *e, uint32_t n);

/* Report a failed system call: the code follows from err; what: "could not open file". */
ax_status ax_io_fail_os(ax_task *t, int err, const char *what, const char *name);

/* Count what a task asked for: in its own account, else in the file's (NULL: none). */
static inline void ax_io_count(ax_task *t, ax_io_file *f, uint64_t bytes, uint64_t requests,
                               uint64_t wait_ns)
{
    ax_io_stats *s = t->io;

    if (s == NULL && f != NULL)
        s = atomic_load_explicit(&f->stats, memory_order_acquire);

    if (s == NULL)
        return;
    atomic_fetch_add_explicit(&s->bytes_read, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->requests, requests, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->wait_ns, wait_ns, memory_order_relaxed);
}

int64_t ax_io_now_ns(void);

/* ---- local.c --------------------------------------------------------------------------------- */

ax_status ax_io_local_open(ax_task *t, ax_io_file *f) AX_MUST_USE;
void ax_io_local_close(ax_io_file *f);
void ax_io_local_end(ax_io *io);    /* closes the descriptors of files that are still open */
ax_status ax_io_local_stat(ax_task *t, const char *uri, ax_io_id *out, bool *is_dir) AX_MUST_USE;
ax_status ax_io_local_check(ax_task *t, ax_io_file *f) AX_MUST_USE;
void ax_io_local_advise(ax_io_file *f, uint64_t off, uint64_t len);

/* After a system call failed for want of descriptors: was one of ours closed, so that the call may
 * succeed now?  Takes the lock. */
bool ax_io_local_spare(ax_io *io, int err);

/* One piece of a read; a NULL dst is skipped over. */
typedef struct ax_io_piece
{
    uint8_t *dst;
    size_t len;
} ax_io_piece;

/* Read consecutive pieces beginning at off; all or an error. */
ax_status ax_io_local_read(ax_task *t, ax_io_file *f, uint64_t off, const ax_io_piece *piece,
                           uint32_t n) AX_MUST_USE;

/* ---- local_list.c --------------------------------------------------------------------------- */

/* Answers LIST: entries of a directory, sorted by path, in the task's arena.  Those of one
 * directory were in it at one moment; ECHANGED when it changes too fast to tell. */
ax_status ax_io_local_list(ax_task *t, ax_io *io, ax_io_req *r) AX_MUST_USE;

/* ---- pages.c --------------------------------------------------------------------------------- */

void ax_io_pages_destroy(struct ax_io_pages *c); /* NULL is allowed */

/* ---- flight.c -------------------------------------------------------------------------------- */

/* A flight for a run of reads that ends at `end`, or for one other request, with a ticket for each;
 * not started.  The caller holds one reference, the backend's is counted already. */
ax_status ax_io_flight_make(ax_task *t, ax_io *io, ax_io_req *const *r, uint32_t n, uint64_t end,
                            ax_job *waker, ax_io_flight **out) AX_MUST_USE;

/* Ask the backend, and drop the caller's reference.  A refusal is the flight's answer. */
void ax_io_flight_start(ax_task *t, ax_io *io, ax_io_flight *f);

/* Look up a request: delivered (done set), under way (*under_way), or unknown. */
ax_status ax_io_look_up(ax_task *t, ax_io *io, ax_io_req *r, ax_job *waker, bool *under_way)
    AX_MUST_USE;

/* For callers without a job: sleep until something arrived, with looks at the stop flag. */
ax_status ax_io_wait_arrival(ax_task *t, ax_io *io, const ax_io_need *need) AX_MUST_USE;

/* Wait until no backend owns a flight. */
void ax_io_drain(ax_io *io);

#endif
