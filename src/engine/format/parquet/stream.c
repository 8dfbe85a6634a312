/* Chunks read in windows, and large pages decompressed in pieces.
 *
 * A column that may not have all bytes of its chunk in memory has a window of them; one that needs
 * others says so (`hungry`: want_off, want_len) and gives up where it stands.  Its reader goes on
 * from there when the next window is delivered.
 *
 *     chunk   |--header--|===== page ======|--header--|===== page =====| ...
 *     window               |---------------|
 *                            body_off ... in_off: taken; the rest is asked for
 *
 * A page of PLAIN values that is much larger than a piece is not decompressed whole: its body is
 * one piece after the other.  A new piece begins with the end of the one before: values that are
 * not read yet, and what the codec refers back to; windows of rows that have pinned the old one
 * keep it.  Pages of other encodings, and codecs that work on whole blocks alone, need the page in
 * memory at once.
 */
#include "parquet_int.h"

#include <zlib.h>

enum { LARGE_PIECES = 2, MOST_LEFT = 4 << 20 };

static uint64_t chunk_end(const ax_pq_col *c) { return c->off + c->len; }

static uint64_t bytes_end(const ax_pq_col *c)
{
    return c->chunk_off + (uint64_t) (c->cur.end - c->cur.start);
}

void ax_pq_want(ax_pq_col *c, uint64_t off, uint64_t least)
{
    uint64_t left = chunk_end(c) - off, n = c->window_bytes;

    n = n < least ? least : n;
    c->want_off = off;
    c->want_len = n < left ? n : left;
    c->hungry = true;
}

/* Can there be more bytes of the chunk than those in memory? */
static bool more_bytes(const ax_pq_col *c)
{
    return c->windowed && bytes_end(c) < chunk_end(c);
}

/* Put the cursor on the header at `off`. */
static void seek(ax_pq_col *c, uint64_t off)
{
    uint64_t have = (uint64_t) (c->cur.end - c->cur.start), at = off - c->chunk_off;

    c->cur.p = c->cur.start + (at < have ? at : have);
    c->beyond = at < have ? 0 : at - have;
}

void ax_pq_col_window(ax_pq_col *c, ax_buf *bytes)
{
    uint64_t next = c->chunk == NULL ? c->off
                                     : c->chunk_off + ax_cur_off(&c->cur) + c->beyond;

    ax_buf_unref(c->chunk);
    c->chunk = bytes;
    c->chunk_off = c->want_off;
    c->cur = ax_cur_make(bytes->data, bytes->len);
    c->hungry = false;
    seek(c, next);
}

static bool body_at_hand(const ax_pq_col *c)
{
    return c->body_off >= c->chunk_off &&
           c->body_off + (uint64_t) c->page.compressed <= bytes_end(c);
}

static const uint8_t *at_offset(const ax_pq_col *c, uint64_t off)
{
    return c->cur.start + (off - c->chunk_off);
}

ax_status ax_pq_col_header(ax_task *t, ax_pq_col *c)
{
    uint64_t off = c->chunk_off + ax_cur_off(&c->cur) + c->beyond, end;
    ax_cur at = c->cur;
    ax_status st;

    if (more_bytes(c) && ax_cur_left(&at) == 0)
    {
        ax_pq_want(c, off, 0);
        return AX_OK;
    }
    st = ax_pq_page_head(t, &at, (int64_t) off, c->slots_left, &c->page);
    if (st != AX_OK && at.bad && more_bytes(c))
    {
        ax_error_clear(&t->err);
        ax_pq_want(c, off, 2 * (uint64_t) ax_cur_left(&c->cur));
        return AX_OK;
    }
    AX_TRY(st);
    c->body_off = c->chunk_off + ax_cur_off(&at);
    end = more_bytes(c) ? chunk_end(c) : bytes_end(c);
    AX_CHECK(t, (uint64_t) c->page.compressed <= end - c->body_off, AX_ECORRUPT,
             "page of %d bytes reaches beyond its column chunk", (int) c->page.compressed);
    if (c->page.type == PQ_PAGE_DICTIONARY && !body_at_hand(c))
    {
        ax_pq_want(c, off, c->body_off - off + (uint64_t) c->page.compressed);
        return AX_OK;
    }
    c->page.body = at.p;
    seek(c, c->body_off + (uint64_t) c->page.compressed);
    return AX_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Is the page one to be read in pieces, as far as its header and its column tell? */
static bool wants_pieces(const ax_pq_col *c, bool stored)
{
    const ax_pq_page *p = &c->page;
    size_t plain = (size_t) p->uncompressed - ax_pq_page_levels(p);
    size_t piece = c->scan->piece_bytes;

    if (c->in_nest || c->scan->req.share != NULL || p->encoding != PQ_PLAIN ||
        c->conv->src == SRC_BOOL || plain < LARGE_PIECES * piece)
        return false;
    if (p->type == PQ_PAGE_DATA_V2 && (size_t) p->compressed == ax_pq_page_levels(p))
        return false;
    return stored ? !body_at_hand(c) && plain == (size_t) p->compressed - ax_pq_page_levels(p)
                  : ax_cdc_streams(c->codec);
}

/* Is the page, which need not be in memory at once, to be kept there for later queries?  Not when
 * memory is so scarce that one page is more than what a reader is to have of the file. */
static bool kept_whole(const ax_pq_col *c)
{
    uint64_t most = c->scan->req.buffer_bytes;
    ax_io_page key;

    return (most == 0 || (uint64_t) c->page.uncompressed <= most) &&
           ax_pq_page_key(c, &c->page, &key) && ax_io_page_wanted(c->scan->f->base.io, &key);
}

/* The whole page after all, with the reader where it stood in the pieces. */
static ax_status take_whole(ax_task *t, ax_pq_col *c)
{
    size_t done = (size_t) c->page.uncompressed - ax_pq_page_levels(&c->page) - c->out_left;
    size_t at = done - (size_t) (c->vend - c->v);

    c->whole_page = true;
    if (!body_at_hand(c))
    {
        ax_pq_want(c, c->body_off, (uint64_t) c->page.compressed);
        return AX_OK;
    }
    c->page.body = at_offset(c, c->body_off);
    ax_buf_unref(c->body);
    c->body = NULL;
    AX_TRY(ax_pq_page_body(t, c, &c->page, &c->body, &c->v, &c->vend));
    c->base = c->v;
    c->v += at;
    c->out_left = 0;
    c->in_off = c->body_off + (uint64_t) c->page.compressed;
    return AX_OK;
}

/* Input of the page that is in memory. */
static const uint8_t *input(const ax_pq_col *c, const uint8_t **end)
{
    uint64_t stop = c->body_off + (uint64_t) c->page.compressed, have = bytes_end(c);

    if (c->in_off < c->chunk_off || c->in_off >= have)
        return *end = c->cur.start;
    *end = at_offset(c, stop < have ? stop : have);
    return at_offset(c, c->in_off);
}

static void taken(ax_pq_col *c, const uint8_t *from, const uint8_t *to)
{
    if (c->page.has_crc && c->count_crc)
        c->crc = (uint32_t) crc32(c->crc, from, (uInt) (to - from));
    c->in_off += (uint64_t) (to - from);
}

/* The end of the page: what can only be compared there. */
static ax_status finish(ax_task *t, ax_pq_col *c)
{
    uint64_t stop = c->body_off + (uint64_t) c->page.compressed;
    const uint8_t *end, *in = input(c, &end);

    if ((uint64_t) (end - in) < stop - c->in_off)
    {
        ax_pq_want(c, c->in_off, 0);
        return AX_OK;
    }
    AX_TRY(ax_cdc_stream_end(t, c->z, in, end));
    taken(c, in, end);
    AX_CHECK(t, !c->page.has_crc || !c->count_crc || c->crc == c->page.crc, AX_ECORRUPT,
             "checksum of the page does not match");
    c->finished = true;
    return AX_OK;
}

/* Values that are stored as they are: the window is the piece. */
static void stored_piece(ax_pq_col *c)
{
    const uint8_t *end, *in;
    uint64_t left = (uint64_t) (c->vend - c->v);

    c->in_off -= left; /* they come again */
    c->out_left += left;
    in = input(c, &end);
    if (in == end || (size_t) (end - in) <= left)
    {
        /* what is left stays as it is until there is more */
        ax_pq_want(c, c->in_off, 2 * left + 64);
        c->in_off += left;
        c->out_left -= left;
        return;
    }
    ax_buf_unref(c->body);
    c->body = ax_buf_ref(c->chunk);
    c->v = c->base = in;
    c->vend = end;
    c->in_off += (uint64_t) (end - in);
    c->out_left -= (size_t) (end - in);
}

/* One more piece, of `least` bytes not read yet if there are so many. */
static ax_status next_piece(ax_task *t, ax_pq_col *c, size_t least)
{
    size_t left = (size_t) (c->vend - c->v), done, front, cap, pos;
    const uint8_t *in, *end, *from;
    ax_buf *b;
    ax_status st;

    if (c->whole_page)
        return take_whole(t, c);
    if (c->stored)
    {
        stored_piece(c);
        return AX_OK;
    }
    in = from = input(c, &end);
    if (in == end && c->in_off < c->body_off + (uint64_t) c->page.compressed)
    {
        ax_pq_want(c, c->in_off, 0);
        return AX_OK;
    }
    done = (size_t) c->page.uncompressed - ax_pq_page_levels(&c->page) - c->out_left;
    front = done < AX_CDC_HISTORY ? done : AX_CDC_HISTORY;
    front = front < left ? left : front;
    cap = least > left + c->scan->piece_bytes ? least - left : c->scan->piece_bytes;
    cap = front + (cap < c->out_left ? cap : c->out_left);
    AX_TRY(ax_pq_take_buffer(t, c, cap, &b));
    if (front > 0)
        memcpy(b->data, c->vend - front, front);
    pos = front;
    st = ax_cdc_stream_run(t, c->z, &in, end, b->data, &pos, cap);
    if (st != AX_OK)
    {
        ax_buf_unref(b);
        if (st != AX_EUNSUPPORTED)
            return st;
        ax_error_clear(&t->err);
        return take_whole(t, c);
    }
    taken(c, from, in);
    ax_pq_retire_buffer(c);
    c->body = b;
    c->base = b->data;
    c->v = b->data + front - left;
    c->vend = b->data + pos;
    c->out_left -= pos - front;
    AX_CHECK(t, pos > front || in < end || more_bytes(c), AX_ECORRUPT,
             "page ends before all its bytes were found");
    return AX_OK;
}

/* See that `least` bytes stand at c->v, or all that are left; or be hungry. */
static ax_status see(ax_task *t, ax_pq_col *c, size_t least)
{
    while ((size_t) (c->vend - c->v) < least && c->out_left > 0 && !c->hungry)
    {
        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        AX_TRY(next_piece(t, c, least));
    }
    if (c->out_left == 0 && !c->finished && !c->stored && !c->whole_page && !c->hungry)
        return finish(t, c);
    return AX_OK;
}

static ax_status begin(ax_task *t, ax_pq_col *c)
{
    const ax_pq_page *p = &c->page;
    size_t levels = ax_pq_page_levels(p), plain = (size_t) p->uncompressed - levels;
    bool check = (c->scan->req.allow & AX_ALLOW_CHECKSUMS) != 0;

    if (c->z == NULL)
        AX_TRY(ax_cdc_stream_create(t, c->scan->arena, &c->z));
    c->count_crc = check && !body_at_hand(c) && !c->stored;
    if (check && body_at_hand(c))
        AX_TRY(ax_pq_page_check(t, p));
    c->crc = 0;
    if (!c->stored)
        AX_TRY(ax_cdc_stream_begin(t, c->z, c->codec, plain));
    c->in_off = c->body_off;
    taken(c, p->body, p->body + levels);
    c->out_left = plain;
    c->finished = c->whole_page = false;
    c->v = c->vend = c->base = NULL;
    c->scan->req.stats->bytes_compressed += (uint64_t) p->compressed - levels;
    c->scan->req.stats->bytes_decompressed += plain;
    c->pieces = true;
    if (levels > 0)
        c->level_hold = ax_buf_ref(c->chunk);
    return AX_OK;
}

ax_status ax_pq_pieces_open(ax_task *t, ax_pq_col *c, bool stored)
{
    size_t levels = ax_pq_page_levels(&c->page);
    bool in_front = c->page.type == PQ_PAGE_DATA && c->conv->leaf->max_def > 0;

    if (!c->pieces)
    {
        uint64_t least = levels + 64;
        bool some = body_at_hand(c) ||
                    (c->body_off >= c->chunk_off && c->body_off + least <= bytes_end(c));

        if (!wants_pieces(c, stored) || (!stored && body_at_hand(c) && kept_whole(c)))
        {
            if (body_at_hand(c))
                c->page.body = at_offset(c, c->body_off);
            else
                ax_pq_want(c, c->body_off, (uint64_t) c->page.compressed);
            return AX_OK;
        }
        if (!some)
        {
            ax_pq_want(c, c->body_off, least);
            return AX_OK;
        }
        c->page.body = at_offset(c, c->body_off);
        c->stored = stored;
        AX_TRY(begin(t, c));
    }
    AX_TRY(see(t, c, in_front ? 4 : 1));
    /* Levels in front of the values are read from the piece that has all of them. */
    if (in_front && !c->hungry && c->vend - c->v >= 4 && c->page.def_encoding == PQ_RLE)
        AX_TRY(see(t, c, 4 + (size_t) ax_load_u32(c->v)));
    else if (in_front && !c->hungry)
        AX_TRY(see(t, c, (size_t) c->page.num_values));
    if (in_front && !c->hungry && c->level_hold == NULL)
        c->level_hold = ax_buf_ref(c->body);
    return AX_OK;
}

/* Strings at c->v that are whole, up to n of them, into off and len. */
static uint32_t walk(const ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    const uint8_t *v = c->v;
    uint32_t i;

    for (i = 0; i < n && c->vend - v >= 4; i++)
    {
        uint32_t l = ax_load_u32(v);

        if ((int64_t) l > (c->vend - v) - 4)
            break;
        off[i] = (uint32_t) (v - c->base) + 4;
        len[i] = l;
        v += 4 + (size_t) l;
    }
    return i;
}

ax_status ax_pq_pieces_fit(ax_task *t, ax_pq_col *c, uint32_t at, uint32_t *n)
{
    size_t w = c->conv->src == SRC_FIXED ? (size_t) c->conv->leaf->type_length
                                         : c->conv->src_width;
    uint32_t have = 0;

    *n = *n < AX_BATCH_ROWS ? *n : AX_BATCH_ROWS;
    c->walked = 0;
    if (c->conv->src != SRC_BYTES)
    {
        AX_TRY(see(t, c, *n * w));
        have = w == 0 ? *n : (size_t) (c->vend - c->v) / w < *n
                                 ? (uint32_t) ((size_t) (c->vend - c->v) / w) : *n;
    }
    else
        for (;;)
        {
            size_t left = (size_t) (c->vend - c->v);

            have = walk(c, *n, c->soff + at, c->slen + at);
            if (have == *n || c->out_left == 0 || (have > 0 && left >= MOST_LEFT))
                break;
            /* at least what the next length says, where it is known */
            AX_TRY(see(t, c, left + 1));
            if (c->hungry)
                return AX_OK;
        }
    if (have == 0 || c->hungry)
        return AX_OK; /* only nulls are left, or damage that the decoder finds */
    *n = have;
    c->walked = c->conv->src == SRC_BYTES ? have : 0;
    return AX_OK;
}
