/* Sorting and selecting of entries.
 *
 * Images are sorted by radix, 11 bits a pass from the lowest, and passes in which all digits are
 * equal are left out; runs of equal images are then put in order by comparing rows. */
#include "exec/order_int.h"

#include "base/task.h"

#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)
#define PASSES 6u
#define SMALL 24u
#define RADIX_MIN 512u

static inline void swap(ax_order_entry *a, ax_order_entry *b)
{
    ax_order_entry x = *a;

    *a = *b;
    *b = x;
}

static void insertion_sort(const ax_order_layout *l, ax_order_entry *e, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
    {
        ax_order_entry x = e[i];
        uint64_t k = i;

        for (; k > 0 && ax_order_cmp(l, &x, &e[k - 1]) < 0; k--)
            e[k] = e[k - 1];
        e[k] = x;
    }
}

/* Bottom-up merge sort: its time does not depend on the input. */
static ax_status merge_sort(ax_task *t, const ax_order_layout *l, ax_order_entry *e,
                            ax_order_entry *tmp, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += SMALL)
        insertion_sort(l, e + i, n - i < SMALL ? n - i : SMALL);
    for (uint64_t w = SMALL; w < n; w *= 2)
        for (uint64_t lo = 0; lo + w < n; lo += 2 * w)
        {
            uint64_t hi = n - lo < 2 * w ? n : lo + 2 * w, a = 0, b = lo + w, o = lo;

            if (w >= 4096 && ax_task_stopped(t))
                return ax_fail(t, AX_ESTOPPED, "query stopped");
            if (ax_order_cmp(l, &e[lo + w - 1], &e[lo + w]) <= 0)
                continue;
            memcpy(tmp, e + lo, w * sizeof(*e));
            while (a < w && b < hi)
                e[o++] = ax_order_cmp(l, &e[b], &tmp[a]) < 0 ? e[b++] : tmp[a++];
            memcpy(e + o, tmp + a, (w - a) * sizeof(*e));
        }
    return AX_OK;
}

static ax_status radix_sort(ax_task *t, ax_order_entry *e, ax_order_entry *tmp, uint64_t n)
{
    uint64_t all_or = 0, all_and = ~(uint64_t) 0;
    ax_order_entry *from = e, *to = tmp;

    for (uint64_t i = 0; i < n; i++)
    {
        all_or |= e[i].image;
        all_and &= e[i].image;
    }
    for (uint32_t p = 0; p < PASSES; p++)
    {
        uint32_t shift = p * DIGIT_BITS;
        uint64_t at[DIGITS] = {0}, sum = 0;

        if (((all_or ^ all_and) >> shift & (DIGITS - 1)) == 0)
            continue;
        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        for (uint64_t i = 0; i < n; i++)
            at[from[i].image >> shift & (DIGITS - 1)]++;
        for (uint32_t d = 0; d < DIGITS; d++)
        {
            uint64_t c = at[d];

            at[d] = sum;
            sum += c;
        }
        for (uint64_t i = 0; i < n; i++)
            to[at[from[i].image >> shift & (DIGITS - 1)]++] = from[i];
        to = from;
        from = from == e ? tmp : e;
    }
    if (from != e)
        memcpy(e, from, n * sizeof(*e));
    return AX_OK;
}

ax_status ax_order_sort(ax_task *t, const ax_order_layout *l, ax_order_entry *e,
                        ax_order_entry *tmp, uint64_t n)
{
    if (n < RADIX_MIN)
        return merge_sort(t, l, e, tmp, n);
    AX_TRY(radix_sort(t, e, tmp, n));
    /* The image of a null may equal that of a value, so even exact images leave ties. */
    for (uint64_t i = 0, end; i < n; i = end)
    {
        for (end = i + 1; end < n && e[end].image == e[i].image; end++)
            ;
        if (end - i > 1 && (l->nkeys > 1 || !l->exact || e[i].image == 0
                            || e[i].image == ~(uint64_t) 0))
            AX_TRY(merge_sort(t, l, e + i, tmp, end - i));
    }
    return AX_OK;
}

/* ---- selection ------------------------------------------------------------------------------ */

static inline uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return *s >> 33;
}

ax_status ax_order_select(ax_task *t, const ax_order_layout *l, ax_order_entry *e, uint64_t n,
                          uint64_t k)
{
    uint64_t lo = 0, hi = n, random = n;

    /* Three-way partition: equal keys end it early.  Invariant: the k-th is in [lo, hi). */
    while (hi - lo > 1)
    {
        ax_order_entry pivot = e[lo + next_random(&random) % (hi - lo)];
        uint64_t lt = lo, gt = hi, i = lo;

        if (hi - lo > 65536 && ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        while (i < gt)
        {
            int c = ax_order_cmp(l, &e[i], &pivot);

            if (c < 0)
                swap(&e[i++], &e[lt++]);
            else if (c > 0)
                swap(&e[i], &e[--gt]);
            else
                i++;
        }
        if (k <= lt)
            hi = lt;
        else if (k > gt)
            lo = gt;
        else
            return AX_OK;
    }
    return AX_OK;
}

uint64_t ax_order_kth(uint64_t *v, uint32_t n, uint32_t k)
{
    uint32_t lo = 0, hi = n;
    uint64_t random = n;

    while (hi - lo > 1)
    {
        uint64_t pivot = v[lo + next_random(&random) % (hi - lo)];
        uint32_t lt = lo, gt = hi, i = lo;

        while (i < gt)
        {
            uint64_t x = v[i];

            if (x < pivot)
            {
                v[i++] = v[lt];
                v[lt++] = x;
            }
            else if (x > pivot)
            {
                v[i] = v[--gt];
                v[gt] = x;
            }
            else
                i++;
        }
        if (k <= lt)
            hi = lt;
        else if (k > gt)
            lo = gt;
        else
            return pivot;
    }
    return v[lo];
}
