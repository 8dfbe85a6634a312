/* Cursors: the decompressed bytes of one stream, in order.
 *
 * A cursor stands in a frame, of which it knows first the offset, then the header, and only when
 * somebody wants bytes the content.  So frames that are skipped are never decompressed.  Streams of
 * one Compact column share frames; the source keeps those that were opened last.
 *
 * The position (frame f, all its bytes) and (frame after f, 0) are the same. */
#include "mergetree_int.h"

/* ---- frames ---------------------------------------------------------------------------------- */

static ax_status fail_at(ax_task *t, const ax_mt_cur *c, ax_status st)
{
    ax_note_page(t, -1, (int64_t) c->off);
    ax_note_file(t, c->src->member->path);
    return st;
}

/* The compressed bytes from offset `off` on. */
static bool at_hand(const ax_mt_src *s, uint64_t off, const uint8_t **p, size_t *n)
{
    uint32_t lo = 0, hi = s->npieces;

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (s->piece[mid].off + s->piece[mid].buf->len > off)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo == s->npieces || s->piece[lo].off > off)
        return false;
    *p = s->piece[lo].buf->data + (off - s->piece[lo].off);
    *n = s->piece[lo].buf->len - (size_t) (off - s->piece[lo].off);
    return true;
}

static ax_status head_of(ax_task *t, ax_mt_cur *c, const uint8_t **p, ax_mt_frame *f)
{
    size_t n;

    AX_CHECK(t, c->off < c->src->member->size, AX_ECORRUPT, "stream %s ends too early",
             c->stream->name);
    AX_CHECK(t, at_hand(c->src, c->off, p, &n), AX_ECORRUPT,
             "stream %s goes on where its marks do not tell", c->stream->name);
    AX_TRY(ax_mt_frame_head(t, *p, n, f));
    c->total = f->total;
    c->size = f->size;
    AX_CHECK(t, c->pos <= c->size, AX_ECORRUPT, "mark of stream %s points behind its frame",
             c->stream->name);
    return AX_OK;
}

static void drop(ax_mt_cur *c)
{
    ax_buf_unref(c->buf);
    c->buf = NULL;
    c->pinned = 0;
}

static void next_frame(ax_mt_cur *c)
{
    drop(c);
    c->prev_off = c->off;
    c->prev_size = c->size;
    c->off += c->total;
    c->prev_end = c->off;
    c->total = 0;
    c->pos = 0;
}

/* A buffer for `size` bytes: that of the oldest recent frame when nobody uses it any more, since
 * memory that was touched before is much cheaper. */
static ax_buf *frame_buffer(ax_mt_cur *c, uint32_t size)
{
    ax_mt_src *s = c->src;
    ax_buf *old = s->recent[s->next_recent].buf;

    if (old == NULL || atomic_load_explicit(&old->refs, memory_order_acquire) > 1 ||
        old->cap < size || old->cap / 4 > size)
        return ax_buf_alloc(c->env->budget, size);
    s->recent[s->next_recent].buf = NULL;
    old->len = size;
    memset(old->data + size, 0, AX_PAD);
    return old;
}

/* Decompress the frame at p. */
static ax_status decompress(ax_task *t, ax_mt_cur *c, const uint8_t *p, const ax_mt_frame *f)
{
    ax_mt_src *s = c->src;
    ax_buf *b;
    ax_status st = AX_OK;

    if (c->env->verify)
        AX_TRY(ax_mt_frame_check(t, p, f));
    b = frame_buffer(c, f->size);
    if (b == NULL)
        return ax_fail_nomem(t, f->size);
    st = ax_mt_frame_decode(t, c->env->cdc, f, b->data);
    if (st != AX_OK)
    {
        ax_buf_unref(b);
        return st;
    }
    c->env->stats->pages++;
    c->env->stats->bytes_decompressed += f->size;
    c->buf = b;
    ax_buf_unref(s->recent[s->next_recent].buf);
    s->recent[s->next_recent].off = c->off;
    s->recent[s->next_recent].buf = ax_buf_ref(b);
    s->next_recent = (s->next_recent + 1) % (sizeof s->recent / sizeof s->recent[0]);
    return AX_OK;
}

/* Make sure that the cursor stands before a byte of an open frame. */
static ax_status open_frame(ax_task *t, ax_mt_cur *c)
{
    for (;;)
    {
        const uint8_t *p = NULL;
        ax_mt_frame f;

        if (c->buf != NULL && c->pos < c->size)
            return AX_OK;
        if (c->total == 0 || c->buf == NULL)
        {
            ax_status st = head_of(t, c, &p, &f);

            if (st != AX_OK)
                return fail_at(t, c, st);
        }
        if (c->pos == c->size)
        {
            next_frame(c);
            continue;
        }
        for (uint32_t i = 0; i < sizeof c->src->recent / sizeof c->src->recent[0]; i++)
            if (c->src->recent[i].buf != NULL && c->src->recent[i].off == c->off)
            {
                c->buf = ax_buf_ref(c->src->recent[i].buf);
                return AX_OK;
            }
        {
            ax_status st = decompress(t, c, p, &f);

            if (st != AX_OK)
                return fail_at(t, c, st);
        }
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

void ax_mt_cur_put(ax_mt_cur *c, uint64_t off, uint32_t at)
{
    if (off != c->off)
    {
        drop(c);
        c->off = off;
        c->total = 0;
    }
    c->pos = at;
    if (c->total > 0 && c->pos > c->size)
        c->total = 0; /* head_of refuses it */
}

void ax_mt_cur_seek(ax_mt_cur *c, uint32_t gran)
{
    const ax_mt_marks *m = ax_mt_marks_of(c->stream);

    ax_mt_cur_put(c, m->off[gran], m->at[gran]);
}

void ax_mt_cur_free(ax_mt_cur *c) { drop(c); }

void ax_mt_src_free(ax_mt_src *s)
{
    for (uint32_t i = 0; i < sizeof s->recent / sizeof s->recent[0]; i++)
    {
        ax_buf_unref(s->recent[i].buf);
        s->recent[i].buf = NULL;
    }
    for (uint32_t i = 0; i < s->npieces; i++)
        ax_buf_unref(s->piece[i].buf);
    s->npieces = 0;
    ax_io_file_unref(s->file);
    s->file = NULL;
}

ax_status ax_mt_cur_at_mark(ax_task *t, ax_mt_cur *c, uint32_t g)
{
    const ax_mt_marks *m = ax_mt_marks_of(c->stream);
    uint64_t off = m->off[g];
    uint32_t at = m->at[g];
    bool same;

    same = off == c->off && at == c->pos;
    if (!same && c->total > 0 && c->pos == c->size)
        same = off == c->off + c->total && at == 0;
    /* The mark may be the end of the frame before. */
    if (!same && c->pos == 0 && off < c->off)
        same = c->prev_off == off && c->prev_size == at && c->prev_end == c->off;
    if (same)
        return AX_OK;
    return fail_at(t, c, ax_fail(t, AX_ECORRUPT,
                                 "stream %s is at byte %u of frame %llu after granule %u, its mark "
                                 "says byte %u of frame %llu",
                                 c->stream->name, c->pos, (unsigned long long) c->off, g - 1, at,
                                 (unsigned long long) off));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ax_status pin(ax_task *t, ax_mt_cur *c, ax_mt_win *w)
{
    if (w == NULL || c->pinned == w->no)
        return AX_OK;
    c->pinned = w->no;
    return ax_batch_pin(t, w->batch, c->buf);
}

ax_status ax_mt_cur_peek(ax_task *t, ax_mt_cur *c, ax_mt_win *w, const uint8_t **out, size_t *n)
{
    AX_TRY(open_frame(t, c));
    AX_TRY(pin(t, c, w));
    *out = c->buf->data + c->pos;
    *n = c->size - c->pos;
    return AX_OK;
}

ax_status ax_mt_cur_copy(ax_task *t, ax_mt_cur *c, void *dst, size_t n)
{
    uint8_t *to = (uint8_t *) dst;

    while (n > 0)
    {
        const uint8_t *p;
        size_t k;

        AX_TRY(ax_mt_cur_peek(t, c, NULL, &p, &k));
        k = k < n ? k : n;
        memcpy(to, p, k);
        ax_mt_cur_use(c, k);
        to += k;
        n -= k;
    }
    return AX_OK;
}

ax_status ax_mt_cur_take(ax_task *t, ax_mt_cur *c, ax_mt_win *w, size_t n, const uint8_t **out)
{
    uint8_t *dst;

    *out = (const uint8_t *) "";
    if (n == 0)
        return AX_OK;
    AX_TRY(open_frame(t, c));
    if (c->size - c->pos >= n)
    {
        AX_TRY(pin(t, c, w));
        *out = c->buf->data + c->pos;
        c->pos += (uint32_t) n;
        return AX_OK;
    }
    AX_TRY(ax_mt_cur_holds(t, c, n));
    AX_NEW(t, dst, (uint8_t *) ax_arena_values(w->batch->arena, n));
    *out = dst;
    return ax_mt_cur_copy(t, c, dst, n);
}

ax_status ax_mt_cur_holds(ax_task *t, const ax_mt_cur *c, uint64_t n)
{
    uint64_t off = c->off, have = 0;
    uint32_t pos = c->pos;

    /* Sizes are cheap to lie about: count what frames claim before memory is asked for. */
    while (have < n)
    {
        const uint8_t *p;
        ax_mt_frame f;
        size_t m;

        AX_CHECK(t, off < c->src->member->size && at_hand(c->src, off, &p, &m), AX_ECORRUPT,
                 "stream %s lacks bytes: %llu were announced, %llu are there", c->stream->name,
                 (unsigned long long) n, (unsigned long long) have);
        AX_TRY(ax_mt_frame_head(t, p, m, &f));
        have += f.size - (pos < f.size ? pos : f.size);
        pos = 0;
        off += f.total;
    }
    return AX_OK;
}

ax_status ax_mt_cur_u64(ax_task *t, ax_mt_cur *c, uint64_t *out)
{
    return ax_mt_cur_copy(t, c, out, 8);
}

ax_status ax_mt_cur_varint(ax_task *t, ax_mt_cur *c, uint64_t *out)
{
    unsigned shift = 0;
    uint64_t v = 0;

    for (;;)
    {
        const uint8_t *p;
        size_t n;

        AX_TRY(ax_mt_cur_peek(t, c, NULL, &p, &n));
        AX_CHECK(t, shift < 64 && (shift < 63 || *p < 2), AX_ECORRUPT,
                 "number in stream %s is too long", c->stream->name);
        v |= (uint64_t) (*p & 0x7f) << shift;
        ax_mt_cur_use(c, 1);
        if (*p < 0x80)
            break;
        shift += 7;
    }
    *out = v;
    return AX_OK;
}

ax_status ax_mt_cur_skip(ax_task *t, ax_mt_cur *c, uint64_t n)
{
    while (n > 0)
    {
        const uint8_t *p;
        ax_mt_frame f;
        uint64_t left;

        if (c->total == 0)
        {
            ax_status st = head_of(t, c, &p, &f);

            if (st != AX_OK)
                return fail_at(t, c, st);
        }
        left = c->size - c->pos;
        if (left > n)
        {
            c->pos += (uint32_t) n;
            return AX_OK;
        }
        n -= left;
        c->env->stats->pages_skipped += c->buf == NULL && c->pos == 0;
        next_frame(c);
    }
    return AX_OK;
}
