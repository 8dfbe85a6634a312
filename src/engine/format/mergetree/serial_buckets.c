/* Maps in buckets: the entries of a map are spread over several maps by a hash of their keys.
 *
 * Which bucket each entry is in stands in a stream of its own (a byte an entry, rows in order and
 * entries in their original order), unless there is one bucket only.  How many buckets there are is
 * told by the streams that exist, and once more by `buckets_info`: u8 0, u64 buckets, statistics.
 *
 * Format: mergetree.md, "Maps in buckets". */
#include "mergetree_int.h"

ax_status ax_mt_begin_buckets(ax_task *t, ax_mt_reader *r)
{
    ax_mt_cur *c = r->cur[1];
    uint64_t off, n;
    uint32_t at;
    uint8_t version;

    if (c == NULL || r->known)
        return AX_OK;
    off = c->off;
    at = c->pos;
    if (c->stream->prefix)
        ax_mt_cur_put(c, 0, 0);
    AX_TRY(ax_mt_cur_copy(t, c, &version, 1));
    AX_TRY(ax_mt_cur_u64(t, c, &n));
    AX_CHECK(t, version == 0, AX_EUNSUPPORTED, "version %u of maps in buckets is not known",
             version);
    AX_CHECK(t, n == r->node->nchild, AX_ECORRUPT,
             "map says it has %llu buckets, and there are %u", (unsigned long long) n,
             r->node->nchild);
    ax_mt_cur_put(c, off, at);
    /* In Compact parts each granule says it. */
    r->known = c->stream->prefix;
    return AX_OK;
}

static ax_status skip(ax_task *t, ax_mt_reader *r, uint32_t n)
{
    uint64_t all = 0, total;

    for (uint32_t b = 0; b < r->node->nchild; b++)
    {
        ax_mt_reader *map = &r->child[b];

        AX_TRY(ax_mt_sum_u64(t, ax_mt_cur_of(map, 0), n, &total));
        AX_CHECK(t, total <= INT32_MAX, AX_ECORRUPT, "sizes of a map are too large");
        AX_TRY(ax_mt_read(t, &map->child[0], NULL, (uint32_t) total, NULL));
        all += total;
    }
    return r->cur[0] != NULL ? ax_mt_cur_skip(t, ax_mt_cur_of(r, 0), all) : AX_OK;
}

/* Entries of the n rows behind v->n, whose buckets were read: offsets, and where each entry is. */
static ax_status place(ax_task *t, ax_mt_reader *r, uint32_t n, const uint32_t *from,
                       ax_mt_vals *v)
{
    uint32_t next[256], left[256], e = v->off[v->n];

    for (uint32_t b = 0; b < r->node->nchild; b++)
        next[b] = v->child[b].off[from[b]];
    for (uint32_t i = 0; i < n; i++)
    {
        for (uint32_t b = 0; b < r->node->nchild; b++)
            left[b] = v->child[b].off[from[b] + i + 1] - v->child[b].off[from[b] + i];
        for (; e < v->off[v->n + i + 1]; e++)
        {
            uint8_t b = v->which[e];

            AX_CHECK(t, b < r->node->nchild && left[b] > 0, AX_ECORRUPT,
                     "entry of a map is in bucket %u, which has no more", b);
            left[b]--;
            v->idx[e] = next[b]++;
        }
    }
    return AX_OK;
}

ax_status ax_mt_read_buckets(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    uint32_t from[256], cap, entries, have;
    uint64_t total;

    if (v == NULL)
        return skip(t, r, n);
    AX_TRY(ax_mt_children(t, w, r->node, v));
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap > 0)
    {
        AX_TRY(ax_mt_room(t, w, &v->off, v->n + 1, cap + 1, sizeof *v->off));
        v->cap = cap;
        if (v->n == 0)
            v->off[0] = 0;
    }
    for (uint32_t b = 0; b < r->node->nchild; b++)
    {
        from[b] = v->child[b].n;
        AX_TRY(ax_mt_read(t, &r->child[b], w, n, &v->child[b]));
    }
    for (uint32_t i = 0; i < n; i++)
    {
        total = v->off[v->n + i];
        for (uint32_t b = 0; b < r->node->nchild; b++)
            total += v->child[b].off[from[b] + i + 1] - v->child[b].off[from[b] + i];
        AX_CHECK(t, total <= INT32_MAX, AX_ECORRUPT, "sizes of a map are too large");
        v->off[v->n + i + 1] = (uint32_t) total;
    }
    have = v->off[v->n];
    entries = v->off[v->n + n] - have;
    AX_TRY(ax_mt_room(t, w, &v->which, have, have + entries + 1, 1));
    AX_TRY(ax_mt_room(t, w, &v->idx, have, have + entries + 1, sizeof *v->idx));
    if (r->cur[0] != NULL)
        AX_TRY(ax_mt_cur_copy(t, ax_mt_cur_of(r, 0), v->which + have, entries));
    else
        memset(v->which + have, 0, entries);
    AX_TRY(place(t, r, n, from, v));
    v->n += n;
    return AX_OK;
}
