/* Staged rows of a lane to the temporary file and back.
 *
 * A lane that has staged its share writes all staged rows, partition by partition, and uses their
 * chunks again.  What is written is the rows as they stand in memory: long strings follow their
 * row, so that their addresses are found again; states of extremes and of wide numbers may point
 * into memory that stays until the breaker ends.  Only the builder of a partition reads it. */
#include "exec/ht_image.h"

#include <string.h>

#define EXTENT_BYTES ((uint64_t) 256 << 10)
#define SHARE 8 /* of the memory limit, for the staged rows of all lanes of a table */
#define LEAST_LOCAL_ROWS 4096u /* a table so small is not the one that takes the memory */

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer
{
    ax_task *t;
    ax_ht *ht;
    ax_ht_lane *l;
    ax_ht_spilled *to;
    uint64_t n;          /* bytes in the lane's buffer */
} writer;

static ax_status write_out(writer *w, const void *p, uint64_t n)
{
    ax_ht_extent *e;

    if (n == 0)
        return AX_OK;
    AX_NEW(w->t, e, ax_arena_alloc(w->l->mem, sizeof(*e)));
    AX_TRY(ax_spill_write(w->t, w->ht->spill, p, n, &e->off));
    e->bytes = n;
    e->next = w->to->first;
    w->to->first = e;
    return AX_OK;
}

static ax_status flush(writer *w)
{
    uint64_t n = w->n;

    w->n = 0;
    return write_out(w, w->l->spill_buf, n);
}

static ax_status write_chunk(writer *w, const ax_ht_chunk *c)
{
    if (w->n + c->used_bytes > EXTENT_BYTES)
        AX_TRY(flush(w));
    if (c->used_bytes > EXTENT_BYTES)
        return write_out(w, c + 1, c->used_bytes);
    memcpy(w->l->spill_buf + w->n, c + 1, c->used_bytes);
    w->n += c->used_bytes;
    return AX_OK;
}

static ax_status spill_partition(writer *w, uint32_t p)
{
    ax_ht_rows *rows = &w->l->part[p];
    ax_ht_chunk *next;

    if (rows->n == 0)
        return AX_OK;
    w->to = &w->l->spilled[p];
    ax_ht_rows_close(rows);
    for (ax_ht_chunk *c = rows->first; c != NULL; c = next)
    {
        next = c->next;
        AX_TRY(write_chunk(w, c));
        ax_ht_spare_put(&w->l->spare, c);
    }
    w->to->rows += rows->n;
    *rows = (ax_ht_rows){.spare = &w->l->spare};
    return flush(w);
}

static ax_status spill(ax_task *t, ax_ht *ht, ax_ht_lane *l)
{
    writer w = {.t = t, .ht = ht, .l = l};

    if (l->spilled == NULL)
        AX_NEW(t, l->spilled, ax_arena_alloc0(l->mem, sizeof(*l->spilled) << ht->pbits));
    if (l->spill_buf == NULL)
        AX_NEW(t, l->spill_buf, ax_arena_alloc(l->mem, EXTENT_BYTES));
    ax_ht_dense_forget(l); /* it may know rows that go, like the next */
    if (l->recent != NULL)
        memset(l->recent, 0, sizeof(*l->recent) * AX_HT_RECENT);
    for (uint32_t p = 0; p < 1u << ht->pbits; p++)
        AX_TRY(spill_partition(&w, p));
    l->spare.used_bytes = 0;
    return AX_OK;
}

ax_status ax_ht_relieve(ax_task *t, ax_ht *ht, ax_ht_lane *l)
{
    uint64_t quota;

    if (ht->spill == NULL || ht->group_limit > 0 || !ax_spill_pressed(ht->spill, 2))
        return AX_OK;
    if (!l->frozen && l->local.n >= LEAST_LOCAL_ROWS)
        AX_TRY(ax_ht_freeze(t, ht, l));
    quota = (uint64_t) ht->spill->budget->limit_bytes / (SHARE * (uint64_t) ht->nlanes);
    if (quota < l->quota_bytes)
        quota = l->quota_bytes;
    if (l->part == NULL || l->spare.used_bytes < quota || !ax_spill_ready(ht->spill))
        return AX_OK;
    return spill(t, ht, l);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Strings follow their row; the addresses are those of another time. */
static void relocate(const ax_ht_layout *lay, uint8_t *row)
{
    uint64_t *img = ax_ht_img(lay, row);
    uint8_t *at = row + lay->row_bytes;

    for (uint32_t w = lay->str_w; w < lay->kw; w += 2)
    {
        uint64_t len = img[w] & AX_HT_LEN_MASK;

        if (len <= AX_HT_INLINE_MAX)
            continue;
        img[w + 1] = (uint64_t) (uintptr_t) at;
        at += (len + 7) & ~(uint64_t) 7;
    }
}

ax_status ax_ht_unspill(ax_task *t, const ax_ht *ht, const ax_ht_lane *l, ax_arena *mem,
                        uint32_t part, ax_ht_take take, void *arg)
{
    const ax_ht_layout *lay = &ht->lay;
    uint64_t cap = 0;
    uint8_t *buf = NULL;

    if (l->spilled == NULL)
        return AX_OK;
    for (const ax_ht_extent *e = l->spilled[part].first; e != NULL; e = e->next)
    {
        if (e->bytes > cap)
        {
            cap = e->bytes < EXTENT_BYTES ? EXTENT_BYTES : e->bytes;
            AX_NEW(t, buf, ax_arena_alloc(mem, cap));
        }
        AX_TRY(ax_spill_read(t, ht->spill, e->off, buf, e->bytes));
        for (uint8_t *row = buf; row < buf + e->bytes;)
        {
            if (!lay->borrow_str)
                relocate(lay, row);
            AX_TRY(take(arg, row));
            row += lay->row_bytes + ax_ht_str_bytes(lay, ax_ht_img(lay, row));
        }
        AX_TRY(take(arg, NULL));
    }
    return AX_OK;
}
