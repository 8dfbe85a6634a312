/* Variant: which alternative each row has, and the values of each alternative behind each other.
 *
 * Mode 0 has one discriminator a row.  Mode 1 has runs: varuint rows, and either one discriminator
 * for all of them or one for each.  A run never goes beyond its granule.
 *
 * Format: mergetree.md, "Variant". */
#include "mergetree_int.h"

enum { NONE = 255 };

ax_status ax_mt_begin_variant(ax_task *t, ax_mt_reader *r)
{
    uint64_t mode;

    r->run_left = 0;
    if (r->cur[1] != NULL)
        AX_TRY(ax_mt_cur_u64(t, ax_mt_cur_of(r, 1), &mode));
    else if (!r->known)
    {
        ax_mt_cur *c = r->cur[0];
        uint64_t off = c->off;
        uint32_t at = c->pos;

        ax_mt_cur_put(c, 0, 0);
        AX_TRY(ax_mt_cur_u64(t, c, &mode));
        ax_mt_cur_put(c, off, at);
    }
    else
        return AX_OK;
    AX_CHECK(t, mode <= 1, AX_EUNSUPPORTED, "mode %llu of a Variant is not known",
             (unsigned long long) mode);
    r->mode = (uint8_t) mode;
    r->known = true;
    return AX_OK;
}

/* The next k <= n discriminators, into which[k]. */
static ax_status some(ax_task *t, ax_mt_reader *r, uint32_t n, uint8_t *which, uint32_t *k)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    uint8_t b;

    if (r->mode == 1 && r->run_left == 0)
    {
        AX_TRY(ax_mt_cur_varint(t, c, &r->run_left));
        AX_TRY(ax_mt_cur_copy(t, c, &b, 1));
        AX_CHECK(t, b <= 1 && r->run_left > 0 && r->run_left <= INT32_MAX, AX_ECORRUPT,
                 "run of a Variant is corrupt");
        r->run_which = -1;
        if (b == 1)
        {
            AX_TRY(ax_mt_cur_copy(t, c, &b, 1));
            r->run_which = b;
        }
    }
    *k = r->mode == 1 && r->run_left < n ? (uint32_t) r->run_left : n;
    if (r->mode == 1)
        r->run_left -= *k;
    if (r->mode == 1 && r->run_which >= 0)
        memset(which, r->run_which, *k);
    else
        AX_TRY(ax_mt_cur_copy(t, c, which, *k));
    return AX_OK;
}

/* Count the alternatives of n rows. */
static ax_status count(ax_task *t, const ax_mt_reader *r, const uint8_t *which, uint32_t n,
                       uint64_t *counts)
{
    for (uint32_t i = 0; i < n; i++)
    {
        AX_CHECK(t, which[i] < r->node->nchild || which[i] == NONE, AX_ECORRUPT,
                 "Variant has no type %u", which[i]);
        counts[which[i]]++;
    }
    return AX_OK;
}

static ax_status skip(ax_task *t, ax_mt_reader *r, uint32_t n)
{
    uint64_t counts[256] = {0};
    uint8_t which[1024];
    uint32_t k, i;

    for (; n > 0; n -= k)
    {
        AX_TRY(some(t, r, n < sizeof which ? n : sizeof which, which, &k));
        AX_TRY(count(t, r, which, k, counts));
    }
    for (i = 0; i < r->node->nchild; i++)
        AX_TRY(ax_mt_read(t, &r->child[i], NULL, (uint32_t) counts[i], NULL));
    return AX_OK;
}

ax_status ax_mt_read_variant(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    uint64_t counts[256] = {0};
    uint32_t cap, at, k, i;

    if (v == NULL)
        return skip(t, r, n);
    AX_TRY(ax_mt_children(t, w, r->node, v));
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0)
    {
        AX_TRY(ax_mt_room(t, w, &v->which, v->n, cap, 1));
        AX_TRY(ax_mt_room(t, w, &v->idx, v->n, cap, sizeof *v->idx));
        v->cap = cap;
    }
    for (at = 0; at < n; at += k)
    {
        AX_TRY(some(t, r, n - at, v->which + v->n + at, &k));
        AX_TRY(count(t, r, v->which + v->n + at, k, counts));
    }
    for (i = 0; i < r->node->nchild; i++)
        counts[i] = v->child[i].n;
    for (i = v->n; i < v->n + n; i++)
        v->idx[i] = v->which[i] == NONE ? 0 : (uint32_t) counts[v->which[i]]++;
    v->n += n;
    for (i = 0; i < r->node->nchild; i++)
        AX_TRY(ax_mt_read(t, &r->child[i], w, (uint32_t) counts[i] - v->child[i].n,
                          &v->child[i]));
    return AX_OK;
}
