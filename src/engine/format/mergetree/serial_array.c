/* Arrays, and maps, which are arrays of pairs: sizes, then all elements.
 *
 * Format: mergetree.md, "Arrays". */
#include "mergetree_int.h"

ax_status ax_mt_read_array(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    const uint8_t *size;
    uint64_t total;
    uint32_t cap, i;

    if (v == NULL)
    {
        AX_TRY(ax_mt_sum_u64(t, c, n, &total));
        while (total > 0)
        {
            uint32_t k = total < (1u << 20) ? (uint32_t) total : 1u << 20;

            AX_TRY(ax_mt_read(t, &r->child[0], w, k, NULL));
            total -= k;
        }
        return AX_OK;
    }
    AX_TRY(ax_mt_children(t, w, r->node, v));
    if (n > AX_BATCH_ROWS)
        AX_TRY(ax_mt_cur_holds(t, c, 8ull * n));
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0 || v->off == NULL)
    {
        cap = cap > 0 ? cap : 1;
        AX_TRY(ax_mt_room(t, w, &v->off, v->n + 1, cap + 1, sizeof *v->off));
        v->cap = cap;
        if (v->n == 0)
            v->off[0] = 0;
    }
    AX_TRY(ax_mt_cur_take(t, c, w, 8ull * n, &size));
    total = v->off[v->n];
    for (i = 0; i < n; i++)
    {
        uint64_t k = ax_load_u64(size + 8ull * i);

        AX_CHECK(t, k <= INT32_MAX - total, AX_ECORRUPT, "sizes of stream %s are too large",
                 c->stream->name);
        total += k;
        v->off[v->n + i + 1] = (uint32_t) total;
    }
    v->n += n;
    return ax_mt_read(t, &r->child[0], w, (uint32_t) total - v->off[v->n - n], &v->child[0]);
}
