/* Reference-counted buffers and long-lived small objects. */
#include "base/memory_int.h"
#include "base/task.h"

#include <stdlib.h>
#include <string.h>

/* The struct stands in front of its data, in the same allocation. */
#define BUF_HEAD_BYTES 64u
_Static_assert(sizeof(ax_buf) <= BUF_HEAD_BYTES, "header of a buffer");

static inline size_t buf_raw_bytes(size_t cap) { return BUF_HEAD_BYTES + cap + AX_PAD; }

ax_buf *ax_buf_alloc(ax_budget *b, size_t bytes)
{
    ax_buf *buf;
    size_t size;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    size = ax_raw_size(buf_raw_bytes(bytes));
    if (!ax_budget_charge(b, (int64_t) size))
        return NULL;
    buf = (ax_buf *) ax_raw_alloc(size);
    if (buf == NULL)
    {
        ax_budget_release(b, (int64_t) size);
        return NULL;
    }
    buf->data = (uint8_t *) buf + BUF_HEAD_BYTES;
    buf->len = bytes;
    buf->cap = bytes;
    atomic_init(&buf->refs, 1);
    buf->budget = b;
    buf->slab = size >= AX_SLAB_BYTES;
    /* Kernels may read the padding; what they read must not depend on history. */
    memset(buf->data + bytes, 0, AX_PAD);
    return buf;
}

ax_buf *ax_buf_ref(ax_buf *buf)
{
    int32_t before = atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);

    AX_ASSERT(before > 0);
    (void) before;
    return buf;
}

void ax_buf_unref(ax_buf *buf)
{
    int32_t before;

    if (buf == NULL)
        return;
    /* Release our reads and writes to whoever frees; acquire those of all others before freeing. */
    before = atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel);
    AX_ASSERT(before > 0);
    if (before == 1)
    {
        ax_budget *b = buf->budget;
        size_t size = ax_raw_size(buf_raw_bytes(buf->cap));

        ax_raw_free(buf, size);
        ax_budget_release(b, (int64_t) size);
    }
}

bool ax_buf_recharge(ax_buf *buf, ax_budget *to)
{
    int64_t size = (int64_t) ax_raw_size(buf_raw_bytes(buf->cap));

    if (to == buf->budget)
        return true;
    if (!ax_budget_charge(to, size))
        return false;
    ax_budget_release(buf->budget, size);
    buf->budget = to;
    return true;
}

void *ax_obj_alloc(size_t bytes)
{
    size_t size;
    void *p;

    if (bytes > SIZE_MAX / 4)
        return NULL;
    size = ax_round_up(bytes > 0 ? bytes : 1, AX_ALIGN);
    p = aligned_alloc(AX_ALIGN, size);
    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void ax_obj_free(void *p) { free(p); }
