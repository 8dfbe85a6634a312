/* Accounts of bytes.  A charge is taken level by level from the leaf to the root; when one level
 * refuses, what was taken below it is put back. */
#include "base/memory.h"
#include "base/task.h"

void ax_budget_init(ax_budget *b, const char *name, int64_t limit_bytes, ax_budget *parent)
{
    atomic_init(&b->used_bytes, 0);
    atomic_init(&b->peak_bytes, 0);
    b->limit_bytes = limit_bytes;
    b->parent = parent;
    b->name = name;
}

/* A compare-and-swap rather than add-and-undo: a charge that fails must not make a smaller one of
 * another thread fail too. */
static bool charge_one(ax_budget *b, int64_t bytes)
{
    int64_t used = atomic_load_explicit(&b->used_bytes, memory_order_relaxed);

    do
    {
        if (bytes > b->limit_bytes - used)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->used_bytes, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void raise_peak(ax_budget *b)
{
    int64_t used = atomic_load_explicit(&b->used_bytes, memory_order_relaxed);
    int64_t peak = atomic_load_explicit(&b->peak_bytes, memory_order_relaxed);

    while (used > peak && !atomic_compare_exchange_weak_explicit(
                              &b->peak_bytes, &peak, used, memory_order_relaxed,
                              memory_order_relaxed))
        ;
}

static void release_one(ax_budget *b, int64_t bytes)
{
    int64_t before = atomic_fetch_sub_explicit(&b->used_bytes, bytes, memory_order_relaxed);

    AX_ASSERT(before >= bytes);
    (void) before;
}

bool ax_budget_charge(ax_budget *b, int64_t bytes)
{
    AX_ASSERT(bytes >= 0);
    for (ax_budget *level = b; level != NULL; level = level->parent)
        if (!charge_one(level, bytes))
        {
            for (ax_budget *taken = b; taken != level; taken = taken->parent)
                release_one(taken, bytes);
            return false;
        }
    for (ax_budget *level = b; level != NULL; level = level->parent)
        raise_peak(level);
    return true;
}

void ax_budget_release(ax_budget *b, int64_t bytes)
{
    AX_ASSERT(bytes >= 0);
    for (; b != NULL; b = b->parent)
        release_one(b, bytes);
}
