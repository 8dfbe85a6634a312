/* Pages that stay in memory after they were decompressed, for the queries to come.
 *
 * A page is known by its file's identity, its offset and what else its bytes depend on (`how`: the
 * codec), so a file that was written anew never gives old pages: those of the old identity are not
 * found any more, and go when room is needed.
 *
 * What is let in.  Every time that a page is asked for, its counter goes up.  A page that is asked
 * for the first time is not kept: a single pass over files pays for a look at a table, and for no
 * memory.  While there is room the second time lets it in.  When there is none, it must have been
 * asked for more often than the page that would go, the least recently used one; so a pass over
 * more than there is room for leaves in memory what it found there.  All counters are halved from
 * time to time, so that what was wanted long ago does not stay for ever.
 *
 * A page is a buffer that the cache and its readers refer to; letting it in copies nothing, its
 * charge moves to the cache's account.  What is dropped while it is read lives until the reader is
 * done, charged to the same account.
 *
 * Local files are trusted only when they have been left alone for a while: a file that is written
 * twice within one tick of the file system's clock has one identity and two contents.
 *
 * Thread: any; one lock, taken for moments, once or twice a page. */
#include "base/hash.h"
#include "io/io_int.h"

#include <string.h>
#include <time.h>

#define BUCKETS 1024u
#define COUNTERS (1u << 14)          /* in each of two rows */
#define COUNT_MAX 15u
#define HALVE_AFTER (4u * COUNTERS)  /* times that pages are asked for */
#define VICTIMS 4                    /* so many of the least recently used are compared */
#define PAGE_MIN_BYTES 512u
#define QUIET_NS INT64_C(2000000000) /* the clock of some file systems counts in two seconds */

typedef struct page
{
    struct page *chain;              /* same bucket, or to be freed */
    struct page *newer, *older;      /* use order */
    ax_io_id id;
    uint64_t off, hash;
    uint32_t how;
    bool checked;                    /* its checksum was compared, or it has none */
    ax_buf *bytes;                   /* a reference */
} page;

struct ax_io_pages
{
    pthread_mutex_t lock;            /* guards all that follows but `budget` */
    ax_budget budget;                /* what is kept, and what was dropped and is still read */
    size_t limit_bytes, used_bytes;  /* of buffers and what stands around them */
    page *bucket[BUCKETS];
    page *newest, *oldest;
    uint32_t asked;
    uint8_t count[2][COUNTERS];
};

static struct ax_io_pages *kept(ax_io *io)
{
    return atomic_load_explicit(&io->pages, memory_order_acquire);
}

static size_t size_of(size_t page_bytes) { return page_bytes + sizeof(page) + 2 * AX_PAD; }

/* ---- counters -------------------------------------------------------------------------------- */

static uint32_t times(const struct ax_io_pages *c, uint64_t h)
{
    uint8_t a = c->count[0][h % COUNTERS], b = c->count[1][(h >> 32) % COUNTERS];

    return a < b ? a : b;
}

static void count(struct ax_io_pages *c, uint64_t h)
{
    uint8_t *a = &c->count[0][h % COUNTERS], *b = &c->count[1][(h >> 32) % COUNTERS];

    *a += *a < COUNT_MAX;
    *b += *b < COUNT_MAX;
    if (++c->asked < HALVE_AFTER)
        return;
    c->asked = 0;
    for (uint32_t row = 0; row < 2; row++)
        for (uint32_t i = 0; i < COUNTERS; i++)
            c->count[row][i] /= 2;
}

/* ---- entries --------------------------------------------------------------------------------- */

static uint64_t hash_of(const ax_io_id *id, uint64_t off, uint32_t how)
{
    uint64_t h = ax_hash_combine(ax_hash_u64(id->ino), id->dev ^ id->cred);

    h = ax_hash_combine(h, (uint64_t) id->mtime_ns ^ id->size);
    h = ax_hash_combine(h, (uint64_t) id->ctime_ns ^ how);
    if (id->etag[0] != '\0')
        h = ax_hash_bytes(id->etag, strlen(id->etag), h);
    return ax_hash_combine(h, off);
}

static page *find(struct ax_io_pages *c, const ax_io_id *id, uint64_t off, uint32_t how, uint64_t h)
{
    page *p = c->bucket[h % BUCKETS];

    while (p != NULL && (p->hash != h || p->off != off || p->how != how ||
                         !ax_io_id_equal(&p->id, id)))
        p = p->chain;
    return p;
}

static void unlink_use(struct ax_io_pages *c, page *p)
{
    *(p->newer != NULL ? &p->newer->older : &c->newest) = p->older;
    *(p->older != NULL ? &p->older->newer : &c->oldest) = p->newer;
}

static void link_newest(struct ax_io_pages *c, page *p)
{
    p->newer = NULL;
    p->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

/* Put the page on the list of those to be freed without the lock. */
static void take_out(struct ax_io_pages *c, page *p, page **out)
{
    page **at = &c->bucket[p->hash % BUCKETS];

    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    unlink_use(c, p);
    c->used_bytes -= size_of(p->bytes->cap);
    p->chain = *out;
    *out = p;
}

static void free_chain(page *p)
{
    while (p != NULL)
    {
        page *next = p->chain;

        ax_buf_unref(p->bytes);
        ax_obj_free(p);
        p = next;
    }
}

/* Would a page that was asked for `mine` times be let in now?  Those that it displaces go to *out,
 * when given. */
static bool make_room(struct ax_io_pages *c, uint32_t mine, size_t bytes, page **out)
{
    uint32_t tries = 0;
    size_t gone = 0;

    if (mine < 2 || size_of(bytes) > c->limit_bytes)
        return false;
    for (page *p = c->oldest, *next; c->used_bytes - gone + size_of(bytes) > c->limit_bytes;
         p = next)
    {
        if (p == NULL || tries == VICTIMS)
            return false;
        next = p->newer;
        /* One more is no reason: pages of a pass that are still to come lag by one. */
        if (times(c, p->hash) + 1 >= mine)
        {
            tries++;
            if (out == NULL)
                continue;
            unlink_use(c, p);
            link_newest(c, p);
        }
        else if (out == NULL)
            gone += size_of(p->bytes->cap);
        else
            take_out(c, p, out);
    }
    return true;
}

/* Has the file been left alone long enough for its identity to be trusted? */
static bool quiet(const ax_io_file *f)
{
    struct timespec now;
    int64_t last = f->id.ctime_ns > f->id.mtime_ns ? f->id.ctime_ns : f->id.mtime_ns;

    if (f->where != AX_IO_LOCAL)
        return f->where == AX_IO_REMOTE;
    (void) clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec - last >= QUIET_NS;
}

/* ---- what readers see ------------------------------------------------------------------------ */

ax_buf *ax_io_page_get(ax_task *t, ax_io_file *f, const ax_io_page *key, bool *wanted)
{
    struct ax_io_pages *c = kept(f->io);
    uint64_t h;
    ax_buf *b = NULL;
    page *p;

    *wanted = false;
    if (c == NULL || key->len < PAGE_MIN_BYTES || f->where == AX_IO_MEMORY)
        return NULL;
    h = hash_of(&f->id, key->off, key->how);
    pthread_mutex_lock(&c->lock);
    if (c->limit_bytes > 0)
    {
        count(c, h);
        p = find(c, &f->id, key->off, key->how, h);
        if (p != NULL && p->bytes->len == key->len && (p->checked || !key->checked))
        {
            b = ax_buf_ref(p->bytes);
            unlink_use(c, p);
            link_newest(c, p);
        }
        else
            *wanted = make_room(c, times(c, h), key->len, NULL) && quiet(f);
    }
    pthread_mutex_unlock(&c->lock);
    if (b != NULL && t->io != NULL)
    {
        atomic_fetch_add_explicit(&t->io->bytes_cached, key->len, memory_order_relaxed);
        atomic_fetch_add_explicit(&t->io->pages_cached, 1, memory_order_relaxed);
    }
    return b;
}

bool ax_io_page_wanted(ax_io_file *f, const ax_io_page *key)
{
    struct ax_io_pages *c = kept(f->io);
    bool yes = false;
    uint64_t h;

    if (c == NULL || key->len < PAGE_MIN_BYTES || f->where == AX_IO_MEMORY)
        return false;
    h = hash_of(&f->id, key->off, key->how);
    pthread_mutex_lock(&c->lock);
    if (c->limit_bytes > 0)
    {
        yes = find(c, &f->id, key->off, key->how, h) != NULL ||
              (make_room(c, times(c, h) + 1, key->len, NULL) && quiet(f));
        if (!yes)
            count(c, h);
    }
    pthread_mutex_unlock(&c->lock);
    return yes;
}

void ax_io_page_put(ax_io_file *f, const ax_io_page *key, ax_buf *bytes)
{
    struct ax_io_pages *c = kept(f->io);
    page *new, *old, *out = NULL;
    bool in = false;

    if (c == NULL || !quiet(f) || bytes->len != key->len || bytes->cap > 2 * bytes->len)
        return;
    new = (page *) ax_obj_alloc(sizeof *new);
    if (new == NULL)
        return; /* a cache may forget */
    new->id = f->id;
    new->off = key->off;
    new->how = key->how;
    new->checked = key->checked;
    new->hash = hash_of(&f->id, key->off, key->how);
    pthread_mutex_lock(&c->lock);
    old = find(c, &f->id, key->off, key->how, new->hash);
    if (old != NULL && (old->bytes->len != key->len || !old->checked))
    {
        take_out(c, old, &out);
        old = NULL;
    }
    if (old == NULL && c->limit_bytes > 0 && make_room(c, times(c, new->hash), bytes->cap, &out) &&
        ax_buf_recharge(bytes, &c->budget))
    {
        in = true;
        new->bytes = ax_buf_ref(bytes);
        new->chain = c->bucket[new->hash % BUCKETS];
        c->bucket[new->hash % BUCKETS] = new;
        link_newest(c, new);
        c->used_bytes += size_of(bytes->cap);
    }
    pthread_mutex_unlock(&c->lock);
    if (!in)
        ax_obj_free(new);
    free_chain(out);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* At most so many bytes stay. */
static void shrink(struct ax_io_pages *c, size_t bytes)
{
    page *out = NULL;

    while (c->oldest != NULL && c->used_bytes > bytes)
        take_out(c, c->oldest, &out);
    pthread_mutex_unlock(&c->lock);
    free_chain(out);
    pthread_mutex_lock(&c->lock);
}

void ax_io_keep_pages(ax_io *io, size_t bytes, ax_budget *parent)
{
    struct ax_io_pages *c = kept(io);

    if (c == NULL && bytes == 0)
        return;
    if (c == NULL)
    {
        c = (struct ax_io_pages *) ax_obj_alloc(sizeof *c);
        if (c == NULL)
            return;
        pthread_mutex_init(&c->lock, NULL);
        ax_budget_init(&c->budget, "pages", INT64_MAX, parent);
        atomic_store_explicit(&io->pages, c, memory_order_release);
    }
    pthread_mutex_lock(&c->lock);
    c->limit_bytes = bytes;
    shrink(c, bytes);
    pthread_mutex_unlock(&c->lock);
}

void ax_io_trim_pages(ax_io *io)
{
    struct ax_io_pages *c = kept(io);

    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    shrink(c, 0);
    pthread_mutex_unlock(&c->lock);
}

size_t ax_io_kept_bytes(ax_io *io)
{
    struct ax_io_pages *c = kept(io);
    size_t n;

    if (c == NULL)
        return 0;
    pthread_mutex_lock(&c->lock);
    n = c->used_bytes;
    pthread_mutex_unlock(&c->lock);
    return n;
}

void ax_io_pages_destroy(struct ax_io_pages *c)
{
    page *out = NULL;

    if (c == NULL)
        return;
    while (c->oldest != NULL)
        take_out(c, c->oldest, &out);
    free_chain(out);
    AX_ASSERT(atomic_load_explicit(&c->budget.used_bytes, memory_order_relaxed) == 0);
    pthread_mutex_destroy(&c->lock);
    ax_obj_free(c);
}
