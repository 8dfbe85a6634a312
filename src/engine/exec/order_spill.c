/* Sorted runs of rows in the temporary file.
 *
 * A run is a list of blocks, each read as a whole; a block is records one after the other:
 *
 *     image 8 | row, as in memory | bytes of its strings, each padded to 8
 *
 * Addresses of strings are those of another time, and are set when a record is read. */
#include "exec/order_int.h"

#include "base/bytes.h"

#include <string.h>

#define BLOCK_MOST ((size_t) 128 << 10)
#define BLOCK_LEAST ((size_t) 16 << 10)
#define BLOCKS 512u /* in the memory limit, at least */

size_t ax_order_block_bytes(const ax_spill *s)
{
    uint64_t n = (uint64_t) s->budget->limit_bytes / BLOCKS & ~(uint64_t) 4095;

    return n < BLOCK_LEAST ? BLOCK_LEAST : n > BLOCK_MOST ? BLOCK_MOST : (size_t) n;
}

bool ax_order_spillable(const ax_order_layout *l)
{
    for (uint32_t c = 0; c < l->ncols; c++)
        if (ax_order_nested(l->type[c]) || (l->type[c].phys == AX_P_NUM
                                            && l->type[c].precision == AX_NUM_ANY_DIGITS))
            return false; /* rows hold addresses of what is not in them */
    return true;
}

static inline size_t padded(uint32_t n) { return ((size_t) n + 7) & ~(size_t) 7; }

/* Bytes of the strings of a row. */
static size_t strings_of(const ax_order_layout *l, const uint8_t *row)
{
    size_t n = 0;

    for (uint32_t c = 0; c < l->ncols; c++)
        if (ax_type_is_str(l->type[c]))
            n += padded(ax_load_u32(row + l->off[c] + 8));
    return n;
}

/* ---- writing -------------------------------------------------------------------------------- */

ax_status ax_order_writer_begin(ax_task *t, ax_order_writer *w, ax_spill *s,
                                const ax_order_layout *l, ax_arena *mem)
{
    *w = (ax_order_writer){.spill = s, .lay = l, .mem = mem};
    AX_NEW(t, w->run, ax_arena_alloc0(mem, sizeof(*w->run)));
    AX_NEW(t, w->buf, ax_buf_alloc(t->budget, ax_order_block_bytes(s)));
    return AX_OK;
}

static ax_status flush(ax_task *t, ax_order_writer *w)
{
    ax_order_block *b;

    if (w->n == 0)
        return AX_OK;
    AX_NEW(t, b, ax_arena_alloc(w->mem, sizeof(*b)));
    *b = (ax_order_block){.bytes = w->n, .rows = w->rows};
    AX_TRY(ax_spill_write(t, w->spill, w->buf->data, w->n, &b->off));
    if (w->last != NULL)
        w->last->next = b;
    else
        w->run->first = b;
    w->last = b;
    w->run->rows += w->rows;
    w->n = w->rows = 0;
    return AX_OK;
}

ax_status ax_order_writer_add(ax_task *t, ax_order_writer *w, const ax_order_entry *e)
{
    const ax_order_layout *l = w->lay;
    size_t need = 8 + l->row_bytes + strings_of(l, e->row);
    uint8_t *to;

    if (w->n + need > w->buf->cap)
        AX_TRY(flush(t, w));
    if (need > w->buf->cap)
    {
        ax_buf_unref(w->buf);
        AX_NEW(t, w->buf, ax_buf_alloc(t->budget, need));
    }
    to = w->buf->data + w->n;
    memcpy(to, &e->image, 8);
    memcpy(to + 8, e->row, l->row_bytes);
    to += 8 + l->row_bytes;
    for (uint32_t c = 0; c < l->ncols; c++)
        if (ax_type_is_str(l->type[c]))
        {
            uint32_t len = ax_load_u32(e->row + l->off[c] + 8);

            if (len > 0)
                memcpy(to, (const uint8_t *) (uintptr_t) ax_load_u64(e->row + l->off[c]), len);
            to += padded(len);
        }
    w->n += need;
    w->rows++;
    return AX_OK;
}

ax_status ax_order_writer_end(ax_task *t, ax_order_writer *w, ax_order_run **out)
{
    AX_TRY(flush(t, w));
    *out = w->run;
    return AX_OK;
}

void ax_order_writer_free(ax_order_writer *w)
{
    ax_buf_unref(w->buf);
    w->buf = NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

ax_status ax_order_reader_next(ax_task *t, ax_order_reader *r, const ax_spill *s,
                               const ax_order_layout *l, ax_buf **done)
{
    const ax_order_block *b = r->block;
    uint8_t *str;

    *done = NULL;
    if (r->left == 0)
    {
        *done = r->buf;
        r->buf = NULL;
        r->cur.row = NULL;
        if (b == NULL)
            return AX_OK;
        AX_NEW(t, r->buf, ax_buf_alloc(t->budget, b->bytes));
        AX_TRY(ax_spill_read(t, s, b->off, r->buf->data, b->bytes));
        r->at = r->buf->data;
        r->left = b->rows;
        r->block = b->next;
    }
    r->cur.image = ax_load_u64(r->at);
    r->cur.row = r->at + 8;
    str = r->cur.row + l->row_bytes;
    for (uint32_t c = 0; c < l->ncols; c++)
        if (ax_type_is_str(l->type[c]))
        {
            memcpy(r->cur.row + l->off[c], &str, sizeof(str));
            str += padded(ax_load_u32(r->cur.row + l->off[c] + 8));
        }
    r->at = str;
    r->left--;
    return AX_OK;
}
