/* The metadata cache: opened files by path, format and options, valid while the file's identity is
 * the same.  An entry holds one reference to its file; bytes of entries are bounded, the least
 * recently used go first.  A file that a source still uses stays alive after its entry is gone.
 *
 * Thread: any; one lock, taken once per file. */
#include "base/hash.h"
#include "exec/exec_int.h"

#include <string.h>

#define BUCKETS 1024u

typedef struct entry
{
    struct entry *chain;         /* same bucket */
    struct entry *newer, *older; /* use order */
    char *path;                  /* owned, behind the struct */
    char *options;               /* owned, or NULL */
    const ax_format *format;
    ax_io_id id;
    ax_fmt_file *file;           /* a reference */
    size_t bytes;
    uint32_t bucket;
} entry;

struct ax_cache
{
    pthread_mutex_t lock;
    ax_budget budget;            /* of the metadata; a root: it outlives queries */
    size_t keep_bytes;           /* immutable */
    entry *bucket[BUCKETS];      /* the rest is guarded by lock */
    entry *newest, *oldest;
    size_t bytes;
};

ax_status ax_cache_create(int64_t keep_bytes, ax_cache **out)
{
    ax_cache *c = (ax_cache *) ax_obj_alloc(sizeof *c);

    *out = c;
    if (c == NULL)
        return AX_ENOMEM;
    pthread_mutex_init(&c->lock, NULL);
    ax_budget_init(&c->budget, "file metadata", INT64_MAX, NULL);
    c->keep_bytes = (size_t) keep_bytes;
    return AX_OK;
}

ax_budget *ax_cache_budget(ax_cache *c) { return &c->budget; }

static uint32_t bucket_of(const char *path)
{
    return (uint32_t) (ax_hash_bytes(path, strlen(path), 0) % BUCKETS);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static entry *find(ax_cache *c, uint32_t b, const char *path, const ax_format *f,
                   const char *options)
{
    entry *e = c->bucket[b];

    while (e != NULL && (e->format != f || strcmp(e->path, path) != 0 ||
                         !same_text(e->options, options)))
        e = e->chain;
    return e;
}

static void unlink_use(ax_cache *c, entry *e)
{
    if (e->newer != NULL)
        e->newer->older = e->older;
    else
        c->newest = e->older;
    if (e->older != NULL)
        e->older->newer = e->newer;
    else
        c->oldest = e->newer;
}

static void link_newest(ax_cache *c, entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    if (c->newest != NULL)
        c->newest->newer = e;
    else
        c->oldest = e;
    c->newest = e;
}

/* Take an entry out; the caller frees it without the lock. */
static void take_out(ax_cache *c, entry *e)
{
    entry **at = &c->bucket[e->bucket];

    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(c, e);
    c->bytes -= e->bytes;
}

static void free_entry(entry *e)
{
    ax_fmt_file_unref(e->file);
    ax_obj_free(e);
}

static void free_chain(entry *e)
{
    while (e != NULL)
    {
        entry *next = e->chain;

        free_entry(e);
        e = next;
    }
}

/* Least recently used entries out until at most `keep` bytes stay; chained by `chain`.  `idle`:
 * only those that nobody but the cache uses. */
static entry *shrink(ax_cache *c, size_t keep, bool idle)
{
    entry *out = NULL;

    for (entry *e = c->oldest, *newer; e != NULL && c->bytes > keep; e = newer)
    {
        newer = e->newer;
        if (idle && atomic_load_explicit(&e->file->refs, memory_order_relaxed) > 1)
            continue;
        take_out(c, e);
        e->chain = out;
        out = e;
    }
    return out;
}

void ax_cache_trim(ax_cache *c)
{
    entry *old;

    pthread_mutex_lock(&c->lock);
    old = shrink(c, 0, true);
    pthread_mutex_unlock(&c->lock);
    free_chain(old);
}

void ax_cache_destroy(ax_cache *c)
{
    entry *all;

    if (c == NULL)
        return;
    all = shrink(c, 0, false);
    free_chain(all);
    pthread_mutex_destroy(&c->lock);
    ax_obj_free(c);
}

ax_fmt_file *ax_cache_get(ax_cache *c, const char *path, const ax_format *f, const char *options,
                          const ax_io_id *id)
{
    uint32_t b = bucket_of(path);
    ax_fmt_file *file = NULL;
    entry *stale = NULL, *e;

    pthread_mutex_lock(&c->lock);
    e = find(c, b, path, f, options);
    if (e != NULL && ax_io_id_equal(&e->id, id))
    {
        file = ax_fmt_file_ref(e->file);
        unlink_use(c, e);
        link_newest(c, e);
    }
    else if (e != NULL)
    {
        take_out(c, e);
        stale = e;
    }
    pthread_mutex_unlock(&c->lock);
    if (stale != NULL)
        free_entry(stale);
    return file;
}

static entry *make_entry(const char *path, const ax_format *f, const char *options,
                         const ax_io_id *id, ax_fmt_file *file)
{
    size_t npath = strlen(path) + 1, nopt = options != NULL ? strlen(options) + 1 : 0;
    entry *e = (entry *) ax_obj_alloc(sizeof *e + npath + nopt);

    if (e == NULL)
        return NULL;
    e->path = (char *) (e + 1);
    memcpy(e->path, path, npath);
    if (options != NULL)
    {
        e->options = e->path + npath;
        memcpy(e->options, options, nopt);
    }
    e->format = f;
    e->id = *id;
    e->bytes = sizeof *e + npath + nopt + ax_arena_used_bytes(file->arena);
    e->bucket = bucket_of(path);
    return e;
}

void ax_cache_put(ax_cache *c, const char *path, const ax_format *f, const char *options,
                  const ax_io_id *id, ax_fmt_file *file)
{
    entry *e = make_entry(path, f, options, id, file), *old, *out;

    if (e == NULL)
        return; /* a cache may forget */
    e->file = ax_fmt_file_ref(file);
    pthread_mutex_lock(&c->lock);
    old = find(c, e->bucket, path, f, options);
    if (old != NULL)
        take_out(c, old);
    e->chain = c->bucket[e->bucket];
    c->bucket[e->bucket] = e;
    link_newest(c, e);
    c->bytes += e->bytes;
    out = shrink(c, c->keep_bytes, false);
    pthread_mutex_unlock(&c->lock);
    if (old != NULL)
        free_entry(old);
    free_chain(out);
}
