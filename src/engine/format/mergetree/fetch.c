/* Which compressed bytes a scan has at hand: files of streams, and pieces of them, run by run.
 *
 * A run is a stretch of granules that is read at once.  For each column that is wanted the extents
 * of its streams over the run are asked for, merged where they touch.  Dictionaries stay from run
 * to run, since many runs use the same one. */
#include "scan_int.h"

#include <stdlib.h>

enum { MERGE_BYTES = 4096 };

/* ---- sources --------------------------------------------------------------------------------- */

static ax_mt_src *source_of(ax_mt_scan *s, const ax_mt_member *bin)
{
    for (uint32_t i = 0; i < s->nsrc; i++)
        if (s->src[i].member == bin)
            return &s->src[i];
    s->src[s->nsrc].member = bin;
    return &s->src[s->nsrc++];
}

ax_status ax_mt_sources_add(ax_task *t, ax_mt_scan *s, const ax_mt_column *c)
{
    for (uint32_t i = c->stream0; i < c->stream0 + c->nstreams; i++)
    {
        AX_CHECK(t, s->nsrc < s->max_src, AX_EPLAN, "too many streams");
        s->of_stream[i] = source_of(s, s->part->stream[i].bin);
        s->wanted[i] = true;
    }
    return AX_OK;
}

/* Ask for files: of sources, and of marks that nobody has loaded.  false: all are there. */
bool ax_mt_ask_files(ax_mt_scan *s)
{
    s->nio = 0;
    for (uint32_t i = 0; i < s->nsrc; i++)
        if (s->src[i].file == NULL)
        {
            s->io[s->nio] = (ax_io_req){.kind = AX_IO_OPEN, .uri = s->src[i].member->path};
            s->io_of[s->nio++] = i;
        }
    s->nmarks0 = s->nio;
    for (uint32_t i = 0; i < s->part->nstreams; i++)
        if (s->wanted[i] && ax_mt_marks_of(&s->part->stream[i]) == NULL && !s->part->compact)
        {
            s->io[s->nio] = (ax_io_req){.kind = AX_IO_OPEN,
                                        .uri = s->part->stream[i].marks_file->path};
            s->io_of[s->nio++] = i;
        }
    return s->nio > 0;
}

/* Files were opened; ask for the marks' bytes.  false: none are wanted. */
bool ax_mt_ask_marks(ax_mt_scan *s)
{
    uint32_t i, n = s->nio - s->nmarks0;

    for (i = 0; i < s->nmarks0; i++)
    {
        s->src[s->io_of[i]].file = s->io[i].file;
        s->io[i].file = NULL;
    }
    for (i = 0; i < n; i++)
    {
        s->marks_file[i] = s->io[s->nmarks0 + i].file;
        s->marks_of[i] = s->io_of[s->nmarks0 + i];
    }
    s->nio = s->nmarks = n;
    for (i = 0; i < n; i++)
        s->io[i] = (ax_io_req){.kind = AX_IO_READ, .file = s->marks_file[i],
                               .len = ax_io_file_size(s->marks_file[i])};
    return n > 0;
}

ax_status ax_mt_take_marks(ax_task *t, ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->nmarks; i++)
    {
        ax_mt_stream *st = &s->part->stream[s->marks_of[i]];
        ax_status status;

        AX_CHECK(t, s->io[i].buf != NULL, AX_EIO, "requested bytes were not delivered");
        AX_CHECK(t, s->io[i].len <= MT_MAX_META_BYTES, AX_ELIMIT, "mark file is too large");
        status = ax_mt_marks_load(t, s->part, s->arena, st, s->io[i].buf->data,
                                  s->io[i].buf->len);
        if (status != AX_OK)
        {
            ax_note_file(t, st->marks_file->path);
            return status;
        }
    }
    ax_mt_release_io(s);
    return AX_OK;
}

void ax_mt_release_io(ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->nio; i++)
    {
        ax_buf_unref(s->io[i].buf);
        if (s->io[i].kind == AX_IO_OPEN)
            ax_io_file_unref(s->io[i].file);
        memset(&s->io[i], 0, sizeof s->io[i]);
    }
    for (uint32_t i = 0; i < s->nmarks; i++)
        ax_io_file_unref(s->marks_file[i]);
    s->nio = s->nmarks = 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Is [off, end) at hand already? */
static bool covered(const ax_mt_src *s, uint64_t off, uint64_t end)
{
    for (uint32_t i = 0; i < s->npieces; i++)
        if (s->piece[i].off <= off && s->piece[i].off + s->piece[i].buf->len >= end)
            return true;
    return false;
}

static ax_status add_extent(ax_task *t, ax_mt_scan *s, ax_mt_src *src, uint64_t off, uint64_t end)
{
    if (end <= off || covered(src, off, end))
        return AX_OK;
    if (s->nextents == s->max_extents)
    {
        uint32_t max = s->max_extents == 0 ? 64 : s->max_extents * 2;
        ax_mt_extent_of *e;

        AX_NEW(t, e, (ax_mt_extent_of *) ax_arena_alloc(s->arena, max * sizeof *e));
        if (s->nextents > 0)
            memcpy(e, s->extent, s->nextents * sizeof *e);
        s->extent = e;
        s->max_extents = max;
    }
    s->extent[s->nextents++] = (ax_mt_extent_of){(uint32_t) (src - s->src), off, end};
    return AX_OK;
}

static ax_status stream_extents(ax_task *t, ax_mt_scan *s, uint32_t i)
{
    const ax_mt_part *p = s->part;
    const ax_mt_stream *st = &p->stream[i];
    ax_mt_src *src = s->of_stream[i];
    uint64_t off, end;

    if (p->compact)
    {
        for (uint32_t g = s->g0; st->mark_idx >= 0 && g < s->g1; g++)
        {
            ax_mt_extent(p, st, g, g + 1, &off, &end);
            AX_TRY(add_extent(t, s, src, off, end));
        }
        return AX_OK;
    }
    AX_TRY(add_extent(t, s, src, 0, ax_mt_prefix_end(p, st)));
    ax_mt_extent(p, st, s->g0, s->g1, &off, &end);
    return add_extent(t, s, src, off, end);
}

static int by_place(const void *a, const void *b)
{
    const ax_mt_extent_of *x = (const ax_mt_extent_of *) a, *y = (const ax_mt_extent_of *) b;

    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return x->off < y->off ? -1 : x->off > y->off;
}

static void merge(ax_mt_scan *s)
{
    uint32_t n = 0;

    if (s->nextents > 1)
        qsort(s->extent, s->nextents, sizeof *s->extent, by_place);
    for (uint32_t i = 0; i < s->nextents; i++)
    {
        ax_mt_extent_of *e = &s->extent[i], *last = n > 0 ? &s->extent[n - 1] : NULL;

        if (last != NULL && last->src == e->src && e->off <= last->end + MERGE_BYTES)
            last->end = e->end > last->end ? e->end : last->end;
        else
            s->extent[n++] = *e;
    }
    s->nextents = n;
}

ax_status ax_mt_ask_bytes(ax_task *t, ax_mt_scan *s, const bool *column, bool *any)
{
    ax_io_req *io;

    s->nextents = 0;
    for (uint32_t c = 0; c < s->ncol; c++)
    {
        const ax_mt_column *col = s->col[c].column, *in;

        if (col == NULL || s->have[c] || (column != NULL && !column[c]))
            continue;
        s->have[c] = true;
        for (uint32_t k = 0; (in = ax_mt_input(col, k)) != NULL; k++)
            for (uint32_t i = 0; i < in->nstreams; i++)
                AX_TRY(stream_extents(t, s, in->stream0 + i));
    }
    merge(s);
    *any = s->nextents > 0;
    if (s->nextents > s->max_io)
    {
        AX_NEW(t, io, (ax_io_req *) ax_arena_alloc0(s->arena, s->nextents * sizeof *io));
        s->io = io;
        s->max_io = s->nextents;
    }
    for (uint32_t i = 0; i < s->nextents; i++)
    {
        s->io[i] = (ax_io_req){.kind = AX_IO_READ, .file = s->src[s->extent[i].src].file,
                               .off = s->extent[i].off,
                               .len = s->extent[i].end - s->extent[i].off};
        s->req.stats->bytes_compressed += s->io[i].len;
    }
    s->nio = s->nextents;
    return AX_OK;
}

static ax_status add_piece(ax_task *t, ax_mt_scan *s, ax_mt_src *src, uint64_t off, ax_buf *buf)
{
    uint32_t at = src->npieces;

    if (src->npieces == src->cap)
    {
        uint32_t cap = src->cap == 0 ? 8 : src->cap * 2;
        ax_mt_piece *p;

        AX_NEW(t, p, (ax_mt_piece *) ax_arena_alloc(s->arena, cap * sizeof *p));
        if (src->npieces > 0)
            memcpy(p, src->piece, src->npieces * sizeof *p);
        src->piece = p;
        src->cap = cap;
    }
    for (; at > 0 && src->piece[at - 1].off > off; at--)
        src->piece[at] = src->piece[at - 1];
    src->piece[at] = (ax_mt_piece){off, buf};
    src->npieces++;
    return AX_OK;
}

ax_status ax_mt_take_bytes(ax_task *t, ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->nio; i++)
    {
        AX_CHECK(t, s->io[i].done && s->io[i].buf != NULL, AX_EIO,
                 "requested bytes were not delivered");
        AX_TRY(add_piece(t, s, &s->src[s->extent[i].src], s->extent[i].off, s->io[i].buf));
        s->io[i].buf = NULL;
    }
    s->nio = 0;
    return AX_OK;
}

void ax_mt_forget_bytes(ax_mt_scan *s)
{
    bool keep[2] = {false, true};

    for (uint32_t k = 0; k < s->nsrc; k++)
        s->src[k].keep = keep[0];
    for (uint32_t i = 0; i < s->part->nstreams; i++)
        if (s->wanted[i] && s->part->stream[i].ahead)
            s->of_stream[i]->keep = keep[1];
    for (uint32_t k = 0; k < s->nsrc; k++)
    {
        if (s->src[k].keep)
            continue;
        for (uint32_t i = 0; i < s->src[k].npieces; i++)
            ax_buf_unref(s->src[k].piece[i].buf);
        s->src[k].npieces = 0;
    }
    memset(s->have, 0, s->ncol * sizeof *s->have);
}
