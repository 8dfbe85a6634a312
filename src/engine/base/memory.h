/* Memory of the engine: budgets, slabs, arenas, reference-counted buffers.
 *
 * Rules.  Memory belongs to a lifetime and is freed by ending it; nothing but base/ calls malloc.
 * Every byte is charged to a budget before it is handed out, so that a query is bounded whatever a
 * file claims.  Large memory comes from 2 MiB-aligned mmap regions with MADV_HUGEPAGE (first touch
 * with 4 KiB pages costs 0.23 GB/s on a virtual machine, with huge pages 14 GB/s); freed regions
 * are kept in a process-wide cache and given back to the system when idle (ax_slab_trim).
 *
 * All allocation functions return NULL when the budget or the system refuses; they never abort.
 * Every block is 64-byte aligned where stated, and at least 64 bytes behind its end are readable,
 * so that kernels may load whole vectors at the tail. */
#ifndef AX_MEMORY_H
#define AX_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AX_ALIGN 64u              /* alignment of value buffers */
#define AX_PAD 64u                /* bytes readable behind every value buffer */
#define AX_SLAB_BYTES (2u << 20)  /* unit of large memory */

/* ---- budget ------------------------------------------------------------------------------- */

/* An account of bytes.  Charging walks to the root of the parent chain; each level has its own
 * limit.  Fields: atomic counters, relaxed order (they only count); limit and parent immutable
 * after init. */
typedef struct ax_budget
{
    _Atomic int64_t used_bytes;
    _Atomic int64_t peak_bytes;
    int64_t limit_bytes;        /* INT64_MAX: unlimited */
    struct ax_budget *parent;   /* borrowed; outlives this budget; may be NULL */
    const char *name;           /* static storage, for error details */
} ax_budget;

void ax_budget_init(ax_budget *b, const char *name, int64_t limit_bytes, ax_budget *parent);

/* Charge bytes; false, with nothing charged, when a limit on the chain would be passed.
 * Release never fails; releasing more than charged is a bug of ours (asserted).  Thread: any.
 * Charge in large units (64 KiB and more): the counters are shared. */
bool ax_budget_charge(ax_budget *b, int64_t bytes);
void ax_budget_release(ax_budget *b, int64_t bytes);

/* ---- slabs: large memory ------------------------------------------------------------------ */

/* A region of at least `bytes`, rounded up to AX_SLAB_BYTES, 2 MiB aligned, charged to b; content
 * undefined (recycled regions are dirty) unless `zero`.  ax_slab_free takes the same size.
 * Thread: any; one short lock per call, so not per batch. */
void *ax_slab_alloc(ax_budget *b, size_t bytes, bool zero);
void ax_slab_free(ax_budget *b, void *p, size_t bytes);

/* Give cached free regions back until at most keep_bytes stay cached; returns bytes given back. */
size_t ax_slab_trim(size_t keep_bytes);
size_t ax_slab_cached_bytes(void);

/* From now on keep up to so many free bytes, at least 256 MiB; what is cached beyond goes back. */
void ax_slab_cache_max(size_t bytes);

/* ---- arenas --------------------------------------------------------------------------------- */

/* A bump allocator with one lifetime.  Thread: one owner at a time; handing over needs a
 * happens-before edge (the scheduler gives one between jobs). */
typedef struct ax_arena ax_arena;

/* block_bytes: size of ordinary blocks (0: 64 KiB; the first block may be smaller); larger
 * requests get a block of their own.  NULL when the budget refuses. */
ax_arena *ax_arena_create(ax_budget *b, size_t block_bytes);

/* Run cleanups (last registered first), then free everything.  NULL is allowed. */
void ax_arena_destroy(ax_arena *a);

/* Run cleanups and forget all allocations but keep up to one block for reuse. */
void ax_arena_reset(ax_arena *a);

/* 16-byte aligned memory, content undefined; ax_arena_alloc0 zeroes it. */
void *ax_arena_alloc(ax_arena *a, size_t bytes);
void *ax_arena_alloc0(ax_arena *a, size_t bytes);

/* A value buffer: AX_ALIGN aligned, AX_PAD readable bytes behind it and 16 before it. */
void *ax_arena_values(ax_arena *a, size_t bytes);

/* Copy of n bytes plus a terminating zero. */
char *ax_arena_strndup(ax_arena *a, const char *s, size_t n);

/* Register something that is not memory (descriptor, reference, lock).  false: out of memory, fn
 * was NOT called and the caller still owns arg. */
typedef void (*ax_cleanup_fn)(void *arg);
bool ax_arena_on_reset(ax_arena *a, ax_cleanup_fn fn, void *arg);

size_t ax_arena_used_bytes(const ax_arena *a);
ax_budget *ax_arena_budget(const ax_arena *a);

/* ---- buffers: shared, reference-counted bytes ------------------------------------------------ */

/* Pages and blocks of files travel as ax_buf.  data is AX_ALIGN aligned with AX_PAD readable bytes
 * behind len.  Immutable once shared; refs is atomic. */
typedef struct ax_buf
{
    uint8_t *data;
    size_t len;          /* valid bytes; may be lowered by the owner before sharing */
    size_t cap;          /* allocated bytes without padding */
    _Atomic int32_t refs;
    ax_budget *budget;   /* charged account; must outlive the buffer */
    bool slab;           /* private: came from ax_slab_alloc */
} ax_buf;

/* A new buffer with refs = 1, len = cap = bytes, content undefined. */
ax_buf *ax_buf_alloc(ax_budget *b, size_t bytes);
ax_buf *ax_buf_ref(ax_buf *buf);
void ax_buf_unref(ax_buf *buf); /* NULL is allowed */

/* Move the charge of a buffer to another account, for a buffer that outlives its query (a cache, a
 * read that cannot be cancelled).  false: the account refuses, nothing changed.  Thread: the only
 * owner, before others may drop their references. */
bool ax_buf_recharge(ax_buf *buf, ax_budget *to);

/* ---- long-lived small objects ---------------------------------------------------------------- */

/* For objects that no arena owns (engine, pool, cache entries): zeroed, 64-byte aligned, not
 * charged.  Everything else uses arenas. */
void *ax_obj_alloc(size_t bytes);
void ax_obj_free(void *p);

#endif
