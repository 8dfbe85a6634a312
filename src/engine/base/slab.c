/* Large memory: 2 MiB-aligned regions from the system, cached process-wide when freed.
 *
 * Invariants.  Free regions hang in lists by size in slabs (list 0: all larger ones) and carry
 * their link in their own first bytes.  A region may be split at any slab border, since mmap and
 * munmap do not care where a mapping began, and joined with another that begins where it ends.  All
 * lists are guarded by `lock`; system calls happen outside it.
 *
 * Chunks: requests of 32 KiB to just below a slab are runs of 64 KiB units of a shared slab, whose
 * unit 0 holds the bitmap.  The C library would map and unmap them one by one, and a first touch
 * of 4 KiB pages costs more than decoding a page of data. */
#include "base/memory_int.h"
#include "base/task.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_MAX_BYTES ((size_t) 256 << 20)
#define SMALL_PAGES_BYTES ((size_t) 8 << 20)
#define LIST_CNT 33u /* lists 1..32 hold regions of so many slabs */

typedef struct region
{
    struct region *next;
    size_t bytes;
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static region *lists[LIST_CNT];
static size_t cached_bytes; /* guarded by lock */
static _Atomic size_t system_bytes; /* taken from the system so far */
static size_t cache_max = CACHE_MAX_BYTES; /* guarded by lock: beyond, regions go back at once */

static inline size_t list_of(size_t bytes)
{
    size_t n = bytes / AX_SLAB_BYTES;

    return n < LIST_CNT ? n : 0;
}

static void *system_alloc(size_t bytes)
{
    uint8_t *p = (uint8_t *) mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t head;

    if (p == (uint8_t *) MAP_FAILED)
        return NULL;
    if ((uintptr_t) p % AX_SLAB_BYTES != 0)
    {
        /* Not aligned by luck: map one slab more and cut both ends. */
        munmap(p, bytes);
        p = (uint8_t *) mmap(NULL, bytes + AX_SLAB_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == (uint8_t *) MAP_FAILED)
            return NULL;
        head = (AX_SLAB_BYTES - (uintptr_t) p % AX_SLAB_BYTES) % AX_SLAB_BYTES;
        if (head > 0)
            munmap(p, head);
        munmap(p + head + bytes, AX_SLAB_BYTES - head);
        p += head;
    }
    /* Advice only: without huge pages everything is slower but right.  The first memory of a
     * process has small ones: a short query touches little of it, and clearing 2 MiB takes as long
     * as the query. */
    if (atomic_fetch_add(&system_bytes, bytes) >= SMALL_PAGES_BYTES)
        (void) madvise(p, bytes, MADV_HUGEPAGE);
    AX_UNPOISON(p, bytes);
    return p;
}

static void system_free(void *p, size_t bytes)
{
    AX_UNPOISON(p, bytes);
    munmap(p, bytes);
}

/* Take out the cached region that begins at p, or that ends there; the lock is held. */
static region *neighbour(const uint8_t *p, bool begins)
{
    for (size_t i = 0; i < LIST_CNT; i++)
        for (region **link = &lists[i]; *link != NULL; link = &(*link)->next)
        {
            region *r = *link;

            if ((begins ? (const uint8_t *) r : (const uint8_t *) r + r->bytes) != p)
                continue;
            *link = r->next;
            cached_bytes -= r->bytes;
            return r;
        }
    return NULL;
}

/* Put a region into its list; the lock is held. */
static void cache_put(void *p, size_t bytes)
{
    region *r = (region *) p;
    size_t i = list_of(bytes);

    AX_UNPOISON(r, sizeof *r);
    r->bytes = bytes;
    r->next = lists[i];
    lists[i] = r;
    cached_bytes += bytes;
    AX_POISON((uint8_t *) p + sizeof *r, bytes - sizeof *r);
}

/* The same for a region that comes back from use: it is joined with its neighbours.  Column chunks
 * differ a little in size; without joining, the cache fills up with regions that are too small. */
static void cache_join(void *p, size_t bytes)
{
    region *r = neighbour((uint8_t *) p + bytes, true);

    if (r != NULL)
        bytes += r->bytes;
    r = neighbour((uint8_t *) p, false);
    if (r != NULL)
    {
        bytes += r->bytes;
        p = r;
    }
    cache_put(p, bytes);
}

/* Take the first region of a list that has at least `bytes`; the lock is held. */
static void *cache_take_from(size_t i, size_t bytes)
{
    for (region **link = &lists[i]; *link != NULL; link = &(*link)->next)
    {
        region *r = *link;
        size_t have = r->bytes;

        if (have < bytes)
            continue;
        *link = r->next;
        cached_bytes -= have;
        AX_UNPOISON(r, bytes);
        if (have > bytes)
            cache_put((uint8_t *) r + bytes, have - bytes);
        return r;
    }
    return NULL;
}

static void *cache_take(size_t bytes)
{
    size_t first = list_of(bytes);
    void *p = NULL;

    if (cached_bytes < bytes)
        return NULL;
    for (size_t i = first; p == NULL && first > 0 && i < LIST_CNT; i++)
        if (lists[i] != NULL)
            p = cache_take_from(i, bytes);
    return p != NULL ? p : cache_take_from(0, bytes);
}

void *ax_slab_take(size_t bytes, bool zero)
{
    void *p;

    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = ax_round_up(bytes, AX_SLAB_BYTES);
    pthread_mutex_lock(&lock);
    p = cache_take(bytes);
    pthread_mutex_unlock(&lock);
    if (p != NULL)
    {
        if (zero)
            memset(p, 0, bytes);
        return p;
    }
    p = system_alloc(bytes);
    if (p == NULL && ax_slab_trim(0) > 0)
        p = system_alloc(bytes);
    return p;
}

void ax_slab_give(void *p, size_t bytes)
{
    bool keep;

    AX_ASSERT((uintptr_t) p % AX_SLAB_BYTES == 0);
    bytes = ax_round_up(bytes, AX_SLAB_BYTES);
    pthread_mutex_lock(&lock);
    keep = bytes <= cache_max && cached_bytes <= cache_max - bytes;
    if (keep)
        cache_join(p, bytes);
    pthread_mutex_unlock(&lock);
    if (!keep)
        system_free(p, bytes);
}

void *ax_slab_alloc(ax_budget *b, size_t bytes, bool zero)
{
    void *p;

    if (bytes == 0 || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = ax_round_up(bytes, AX_SLAB_BYTES);
    if (!ax_budget_charge(b, (int64_t) bytes))
        return NULL;
    p = ax_slab_take(bytes, zero);
    if (p == NULL)
        ax_budget_release(b, (int64_t) bytes);
    return p;
}

void ax_slab_free(ax_budget *b, void *p, size_t bytes)
{
    if (p == NULL)
        return;
    ax_slab_give(p, bytes);
    ax_budget_release(b, (int64_t) ax_round_up(bytes, AX_SLAB_BYTES));
}

void ax_slab_cache_max(size_t bytes)
{
    pthread_mutex_lock(&lock);
    cache_max = bytes > CACHE_MAX_BYTES ? bytes : CACHE_MAX_BYTES;
    bytes = cache_max;
    pthread_mutex_unlock(&lock);
    (void) ax_slab_trim(bytes);
}

size_t ax_slab_cached_bytes(void)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = cached_bytes;
    pthread_mutex_unlock(&lock);
    return n;
}

size_t ax_slab_trim(size_t keep_bytes)
{
    region *doomed = NULL;
    size_t given = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < LIST_CNT; i++)
        while (lists[i] != NULL && cached_bytes > keep_bytes)
        {
            region *r = lists[i];
            size_t have = r->bytes, much = ax_round_up(cached_bytes - keep_bytes, AX_SLAB_BYTES);

            lists[i] = r->next;
            cached_bytes -= have;
            if (have > much)
            {
                cache_put((uint8_t *) r + much, have - much);
                r->bytes = much;
            }
            given += r->bytes;
            r->next = doomed;
            doomed = r;
        }
    pthread_mutex_unlock(&lock);
    while (doomed != NULL)
    {
        region *r = doomed;

        doomed = r->next;
        system_free(r, r->bytes);
    }
    return given;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

#define UNIT_BYTES ((size_t) 64 << 10)
#define UNIT_CNT (AX_SLAB_BYTES / UNIT_BYTES)
#define CHUNK_MAX_BYTES ((UNIT_CNT - 1) * UNIT_BYTES)
#define CHUNK_MIN_BYTES ((size_t) 32 << 10)
#define ALL_FREE 0xfffffffeu /* unit 0 is the head's */
#define SEARCH_MAX 32        /* slabs looked at before a new one is made */

_Static_assert(UNIT_CNT == 32, "the bitmap has 32 bits");

/* The head of a shared slab, in its unit 0.  All fields guarded by chunk_lock. */
typedef struct chunk_slab
{
    struct chunk_slab *next; /* list of slabs with a free unit */
    struct chunk_slab *prev;
    uint32_t free_units;     /* bit i: unit i is free */
} chunk_slab;

static pthread_mutex_t chunk_lock = PTHREAD_MUTEX_INITIALIZER;
static chunk_slab *chunk_list;

static void chunk_link(chunk_slab *s)
{
    s->prev = NULL;
    s->next = chunk_list;
    if (chunk_list != NULL)
        chunk_list->prev = s;
    chunk_list = s;
}

static void chunk_unlink(chunk_slab *s)
{
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        chunk_list = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
}

static inline uint32_t unit_mask(uint32_t first, uint32_t cnt)
{
    return (uint32_t) ((((uint64_t) 1 << cnt) - 1) << first);
}

/* First unit of a free run of cnt units, or 0: unit 0 is never free. */
static uint32_t find_run(uint32_t bits, uint32_t cnt)
{
    uint32_t done = 1;

    /* After the step, bit i says that units i .. i + done - 1 are free. */
    while (done < cnt && bits != 0)
    {
        uint32_t step = done < cnt - done ? done : cnt - done;

        bits &= bits >> step;
        done += step;
    }
    return bits != 0 ? (uint32_t) __builtin_ctz(bits) : 0;
}

/* Cut a run out of a slab that has one; chunk_lock is held. */
static void *chunk_cut(chunk_slab *s, uint32_t first, uint32_t cnt)
{
    uint8_t *p = (uint8_t *) s + first * UNIT_BYTES;

    s->free_units &= ~unit_mask(first, cnt);
    if (s->free_units == 0)
        chunk_unlink(s);
    AX_UNPOISON(p, cnt * UNIT_BYTES);
    return p;
}

static void *chunk_alloc(size_t bytes)
{
    uint32_t cnt = (uint32_t) ((bytes + UNIT_BYTES - 1) / UNIT_BYTES);
    uint32_t looked = 0;
    chunk_slab *s;
    void *p = NULL;

    pthread_mutex_lock(&chunk_lock);
    for (s = chunk_list; p == NULL && s != NULL && looked < SEARCH_MAX; looked++)
    {
        uint32_t first = find_run(s->free_units, cnt);
        chunk_slab *next = s->next;

        if (first != 0)
            p = chunk_cut(s, first, cnt);
        s = next;
    }
    pthread_mutex_unlock(&chunk_lock);
    if (p != NULL)
        return p;

    s = (chunk_slab *) ax_slab_take(AX_SLAB_BYTES, false);
    if (s == NULL)
        return NULL;
    AX_POISON((uint8_t *) s + UNIT_BYTES, CHUNK_MAX_BYTES);
    s->free_units = ALL_FREE;
    pthread_mutex_lock(&chunk_lock);
    chunk_link(s);
    p = chunk_cut(s, 1, cnt);
    pthread_mutex_unlock(&chunk_lock);
    return p;
}

static void chunk_free(void *ptr, size_t bytes)
{
    uint32_t cnt = (uint32_t) ((bytes + UNIT_BYTES - 1) / UNIT_BYTES);
    chunk_slab *s = (chunk_slab *) ((uintptr_t) ptr & ~(uintptr_t) (AX_SLAB_BYTES - 1));
    uint32_t first = (uint32_t) (((uintptr_t) ptr - (uintptr_t) s) / UNIT_BYTES);
    bool empty;

    AX_ASSERT((uintptr_t) ptr % UNIT_BYTES == 0 && first > 0);
    AX_POISON(ptr, cnt * UNIT_BYTES);
    pthread_mutex_lock(&chunk_lock);
    AX_ASSERT((s->free_units & unit_mask(first, cnt)) == 0);
    if (s->free_units == 0)
        chunk_link(s);
    s->free_units |= unit_mask(first, cnt);
    empty = s->free_units == ALL_FREE;
    if (empty)
        chunk_unlink(s);
    pthread_mutex_unlock(&chunk_lock);
    if (empty)
        ax_slab_give(s, AX_SLAB_BYTES);
}

/* ---- by size --------------------------------------------------------------------------------- */

size_t ax_raw_size(size_t n)
{
    n = ax_round_up(n, AX_ALIGN);
    if (n < CHUNK_MIN_BYTES)
        return n;
    return ax_round_up(n, n <= CHUNK_MAX_BYTES ? UNIT_BYTES : AX_SLAB_BYTES);
}

void *ax_raw_alloc(size_t n)
{
    n = ax_raw_size(n);
    if (n < CHUNK_MIN_BYTES)
        return aligned_alloc(AX_ALIGN, n);
    return n <= CHUNK_MAX_BYTES ? chunk_alloc(n) : ax_slab_take(n, false);
}

void ax_raw_free(void *p, size_t n)
{
    n = ax_raw_size(n);
    if (n < CHUNK_MIN_BYTES)
    {
        AX_UNPOISON(p, n);
        free(p);
    }
    else if (n <= CHUNK_MAX_BYTES)
        chunk_free(p, n);
    else
        ax_slab_give(p, n);
}
