/* Staged rows of a lane to the temporary file and back.
 *
 * A lane that has staged its share writes all staged rows, partition by partition, and uses their
 * chunks again.  What is written is the rows as they stand in memory: long strings follow their
 * row, also those that the row had only borrowed, so that their addresses are found again; states
 * of extremes and of wide numbers may point into memory that stays until the breaker ends.  Only
 * the builder of a partition reads it.
 */
#include "exec/ht_image.h"

#include <string.h>

#define EXTENT_MOST ((uint64_t) 256 << 10)
#define EXTENT_LEAST ((uint64_t) 32 << 10)
#define EXTENTS 256u /* in the memory limit, at least */
#define SHARE 8 /* of the memory limit, for the staged rows of all lanes and tables */
#define LEAST_LOCAL_ROWS 1024u /* a table so small is not the one that takes the memory */

/* Bytes that are written and read at once. */
static uint64_t extent_bytes(const ax_ht *ht)
{
    uint64_t n = (uint64_t) ht->spill->budget->limit_bytes / EXTENTS & ~(uint64_t) 4095;

    return n < EXTENT_LEAST ? EXTENT_LEAST : n > EXTENT_MOST ? EXTENT_MOST : n;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer
{
    ax_task *t;
    ax_ht *ht;
    ax_ht_lane *l;
    ax_ht_spilled *to;
    uint64_t n, cap;     /* bytes in the lane's buffer, and its size */
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
    if (w->n + c->used_bytes > w->cap)
        AX_TRY(flush(w));
    if (c->used_bytes > w->cap)
        return write_out(w, c + 1, c->used_bytes);
    memcpy(w->l->spill_buf + w->n, c + 1, c->used_bytes);
    w->n += c->used_bytes;
    return AX_OK;
}

/* Rows with the strings they have borrowed. */
static ax_status write_with_strings(writer *w, const ax_ht_chunk *c)
{
    const ax_ht_layout *lay = &w->ht->lay;
    const uint8_t *row = (const uint8_t *) (c + 1), *end = row + c->used_bytes;

    for (; row < end; row += lay->row_bytes)
    {
        const uint64_t *img = (const uint64_t *) (const void *) (row + lay->img_off);
        uint64_t n = lay->row_bytes + ax_ht_long_bytes(lay, img);
        uint8_t *to;

        if (w->n + n > w->cap)
            AX_TRY(flush(w));
        to = w->l->spill_buf + w->n;
        if (n > w->cap)
            AX_NEW(w->t, to, ax_arena_alloc(w->l->scratch, n));
        else
            w->n += n;
        memcpy(to, row, lay->row_bytes);
        ax_ht_put_strings(lay, (uint64_t *) (void *) (to + lay->img_off), to + lay->row_bytes);
        if (n > w->cap)
            AX_TRY(write_out(w, to, n));
    }
    return AX_OK;
}

static ax_status spill_partition(writer *w, uint32_t p)
{
    bool borrows = w->ht->lay.borrow_str && w->ht->lay.str_w < w->ht->lay.kw;
    ax_ht_rows *rows = &w->l->part[p];
    ax_ht_chunk *next;

    if (rows->n == 0)
        return AX_OK;
    w->to = &w->l->spilled[p];
    ax_ht_rows_close(rows);
    for (ax_ht_chunk *c = rows->first; c != NULL; c = next)
    {
        next = c->next;
        AX_TRY(borrows ? write_with_strings(w, c) : write_chunk(w, c));
        ax_ht_spare_put(&w->l->spare, c);
    }
    w->to->rows += rows->n;
    *rows = (ax_ht_rows){.spare = &w->l->spare};
    return flush(w);
}

ax_status ax_ht_own_strings(ax_task *t, const ax_ht *ht, ax_ht_lane *l)
{
    uint64_t i = 0;

    if (!ht->lay.borrow_str || l->owned == l->local.n)
        return AX_OK;
    ax_ht_rows_close(&l->local);
    for (ax_ht_chunk *c = l->local.first; c != NULL; c = c->next)
    {
        uint8_t *row = (uint8_t *) (c + 1), *end = row + c->used_bytes;

        for (; row < end; row += ht->lay.row_bytes, i++)
            if (i >= l->owned)
                AX_TRY(ax_ht_copy_strings(t, l->mem, &ht->lay, ax_ht_img(&ht->lay, row)));
    }
    l->owned = i;
    return AX_OK;
}

ax_status ax_ht_spill(ax_task *t, ax_ht *ht, ax_ht_lane *l)
{
    writer w = {.t = t, .ht = ht, .l = l, .cap = extent_bytes(ht)};

    if (l->part == NULL)
        return AX_OK;
    if (l->spilled == NULL)
        AX_NEW(t, l->spilled, ax_arena_alloc0(l->mem, sizeof(*l->spilled) << ht->pbits));
    if (l->spill_buf == NULL)
        AX_NEW(t, l->spill_buf, ax_arena_alloc(l->mem, w.cap));
    ax_ht_dense_forget(l); /* it may know rows that go, like the next */
    if (l->recent != NULL)
        memset(l->recent, 0, sizeof(*l->recent) * AX_HT_RECENT);
    for (uint32_t p = 0; p < 1u << ht->pbits; p++)
        AX_TRY(spill_partition(&w, p));
    l->spare.used_bytes = 0;
    return AX_OK;
}

ax_status ax_ht_relieve(ax_task *t, ax_ht *ht, ax_ht_lane *l, bool *due)
{
    uint64_t quota;

    *due = false;
    if (ht->spill == NULL || ht->group_limit > 0 || !ax_spill_pressed(ht->spill, 2))
        return AX_OK;
    if (!l->frozen && l->local.n >= LEAST_LOCAL_ROWS)
        AX_TRY(ax_ht_freeze(t, ht, l));
    quota = (uint64_t) ht->spill->budget->limit_bytes / SHARE / ht->nlanes / ht->tables;
    if (quota < l->quota_bytes)
        quota = l->quota_bytes;
    *due = l->part != NULL && l->spare.used_bytes >= quota && ax_spill_ready(ht->spill);
    return AX_OK;
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

ax_status ax_ht_unspill(ax_task *t, const ax_ht *ht, const ax_ht_lane *l, ax_ht_room *room,
                        uint32_t part, ax_ht_take take, void *arg)
{
    const ax_ht_layout *lay = &ht->lay;

    if (l->spilled == NULL)
        return AX_OK;
    for (const ax_ht_extent *e = l->spilled[part].first; e != NULL; e = e->next)
    {
        if (e->bytes > room->cap)
        {
            room->cap = e->bytes < extent_bytes(ht) ? extent_bytes(ht) : e->bytes;
            AX_NEW(t, room->buf, ax_arena_alloc(room->mem, room->cap));
        }
        AX_TRY(ax_spill_read(t, ht->spill, e->off, room->buf, e->bytes));
        for (uint8_t *row = room->buf; row < room->buf + e->bytes;)
        {
            relocate(lay, row);
            AX_TRY(take(arg, row));
            row += lay->row_bytes + ax_ht_long_bytes(lay, ax_ht_img(lay, row));
        }
        AX_TRY(take(arg, NULL));
    }
    return AX_OK;
}
