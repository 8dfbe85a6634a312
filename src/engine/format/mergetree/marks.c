/* Mark files.
 *
 *      .mrk           Wide     { u64 off, u64 at } a granule; rows are told by the table
 *      .mrk2          Wide     { u64 off, u64 at, u64 rows }
 *      .mrk3, .mrk4   Compact  { { u64 off, u64 at } for each column or stream, u64 rows }
 *      .c...          the same in compressed frames
 *
 * Where the last record has no rows it is the final mark, which tells where a stream ends; else a
 * stream ends with its file.  Offsets never go back within a Wide stream.
 *
 * Format: mergetree.md, "Marks". */
#include "mergetree_int.h"

static uint32_t record_bytes(const ax_mt_part *p)
{
    return p->compact ? 16 * p->marks_per_record + 8 : p->adaptive ? 24 : 16;
}

/* The records of a mark file, decompressed when they have to be. */
static ax_status records(ax_task *t, const ax_mt_part *p, ax_arena *scratch, const uint8_t *s,
                         size_t n, const uint8_t **out, uint64_t *count)
{
    uint32_t bytes = record_bytes(p);
    ax_cdc *cdc;

    *out = s;
    if (p->compressed_marks)
    {
        AX_TRY(ax_cdc_create(t, scratch, &cdc));
        AX_TRY(ax_mt_frames_all(t, scratch, cdc, s, n, out, &n));
    }
    AX_CHECK(t, n % bytes == 0, AX_ECORRUPT, "mark file has %zu bytes, which is no multiple of %u",
             n, bytes);
    *count = n / bytes;
    AX_CHECK(t, *count < UINT32_MAX, AX_ELIMIT, "part has too many granules");
    return AX_OK;
}

static uint64_t rows_at(const ax_mt_part *p, const uint8_t *rec, uint64_t i)
{
    uint32_t bytes = record_bytes(p);

    return ax_load_u64(rec + (i + 1) * bytes - 8);
}

/* All granules but the last have as many rows as the table says. */
static ax_status constant(ax_task *t, ax_mt_part *p, uint64_t count, uint64_t granularity)
{
    uint64_t *row, rows = (uint64_t) p->rows;

    AX_CHECK(t, count > 0 || rows == 0, AX_ECORRUPT, "part has rows but no marks");
    AX_CHECK(t, granularity > 0 && (count == 0 || (rows > (count - 1) * granularity &&
                                                   rows <= count * granularity)),
             AX_ECORRUPT, "part of %llu rows has %llu marks, which do not fit %llu rows a granule",
             (unsigned long long) rows, (unsigned long long) count,
             (unsigned long long) granularity);
    AX_NEW(t, row, (uint64_t *) ax_arena_alloc(p->base.arena, (count + 1) * sizeof *row));
    for (uint64_t i = 0; i < count; i++)
        row[i] = i * granularity;
    row[count] = rows;
    p->row_at = row;
    p->ngran = (uint32_t) count;
    return AX_OK;
}

ax_status ax_mt_granules(ax_task *t, ax_mt_part *p, ax_arena *scratch, const uint8_t *s, size_t n,
                         uint64_t granularity)
{
    const uint8_t *rec;
    uint64_t count, i, sum = 0, *row;

    AX_TRY(records(t, p, scratch, s, n, &rec, &count));
    if (!p->adaptive)
        return constant(t, p, count, granularity);
    if (count > 0 && rows_at(p, rec, count - 1) == 0)
        count--;
    AX_NEW(t, row, (uint64_t *) ax_arena_alloc(p->base.arena, (count + 1) * sizeof *row));
    for (i = 0; i < count; i++)
    {
        uint64_t rows = rows_at(p, rec, i);

        row[i] = sum;
        AX_CHECK(t, rows > 0 && rows <= (uint64_t) p->rows - sum, AX_ECORRUPT,
                 "marks count other rows than count.txt, which has %lld",
                 (long long) p->rows);
        sum += rows;
    }
    AX_CHECK(t, sum == (uint64_t) p->rows, AX_ECORRUPT,
             "marks count %llu rows where count.txt has %lld", (unsigned long long) sum,
             (long long) p->rows);
    row[count] = sum;
    p->row_at = row;
    p->ngran = (uint32_t) count;
    return AX_OK;
}

/* Mark k of each record, and the end. */
static ax_status fill(ax_task *t, const ax_mt_part *p, const ax_mt_stream *st, const uint8_t *rec,
                      uint64_t count, uint32_t k, uint64_t *off, uint32_t *at)
{
    uint32_t bytes = record_bytes(p);
    uint64_t i;

    AX_CHECK(t, count == p->ngran || count == p->ngran + 1ull, AX_ECORRUPT,
             "stream %s has %llu marks where the part has %u granules", st->name,
             (unsigned long long) count, p->ngran);
    for (i = 0; i < count; i++)
    {
        uint64_t in = ax_load_u64(rec + i * bytes + 16 * k + 8);

        off[i] = ax_load_u64(rec + i * bytes + 16 * k);
        AX_CHECK(t, off[i] <= st->bin->size && in <= MT_MAX_FRAME_BYTES, AX_ECORRUPT,
                 "mark %llu of stream %s points behind its file", (unsigned long long) i, st->name);
        AX_CHECK(t, p->compact || i == 0 || off[i] >= off[i - 1], AX_ECORRUPT,
                 "marks of stream %s go back", st->name);
        if (p->adaptive && !p->compact)
            AX_CHECK(t, rows_at(p, rec, i) ==
                            (i < p->ngran ? p->row_at[i + 1] - p->row_at[i] : 0),
                     AX_ECORRUPT, "marks of stream %s have other rows than those of the part",
                     st->name);
        at[i] = (uint32_t) in;
    }
    if (count == p->ngran)
    {
        off[count] = st->bin->size;
        at[count] = 0;
    }
    return AX_OK;
}

/* Publish marks that were made in the file's arena; whoever was first wins. */
static void publish(ax_mt_stream *st, const ax_mt_marks *m)
{
    const ax_mt_marks *none = NULL;

    (void) atomic_compare_exchange_strong_explicit(&st->marks, &none, m, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static ax_status one_stream(ax_task *t, ax_mt_part *p, ax_mt_stream *st, const uint8_t *rec,
                            uint64_t count, uint32_t k)
{
    uint64_t *off;
    uint32_t *at;
    ax_mt_marks *m;

    pthread_mutex_lock(&p->lock);
    m = (ax_mt_marks *) ax_arena_alloc(p->base.arena, sizeof *m);
    off = (uint64_t *) ax_arena_alloc(p->base.arena, (p->ngran + 1ull) * sizeof *off);
    at = (uint32_t *) ax_arena_alloc(p->base.arena, (p->ngran + 1ull) * sizeof *at);
    pthread_mutex_unlock(&p->lock);
    if (m == NULL || off == NULL || at == NULL)
        return ax_fail_nomem(t, 0);
    AX_TRY(fill(t, p, st, rec, count, k, off, at));
    *m = (ax_mt_marks){p->ngran, off, at};
    publish(st, m);
    return AX_OK;
}

ax_status ax_mt_marks_load(ax_task *t, ax_mt_part *p, ax_arena *scratch, ax_mt_stream *st,
                           const uint8_t *s, size_t n)
{
    const uint8_t *rec;
    uint64_t count;

    AX_TRY(records(t, p, scratch, s, n, &rec, &count));
    if (!p->compact)
        return one_stream(t, p, st, rec, count, 0);
    for (uint32_t i = 0; i < p->nstreams; i++)
        if (p->stream[i].mark_idx >= 0)
            AX_TRY(one_stream(t, p, &p->stream[i], rec, count, (uint32_t) p->stream[i].mark_idx));
    return AX_OK;
}

/* ---- which bytes ----------------------------------------------------------------------------- */

/* First byte behind the frame that begins at `off`, as far as marks tell: where the next one that
 * some mark points to begins. */
static uint64_t frame_end(const ax_mt_part *p, const ax_mt_stream *s, uint64_t off, uint32_t g)
{
    const ax_mt_marks *m = ax_mt_marks_of(s);
    uint64_t best = s->bin->size;

    if (!p->compact)
    {
        for (; g <= m->n; g++)
            if (m->off[g] > off)
                return m->off[g];
        return best;
    }
    /* Streams of a granule are written behind each other, and granules too; where they share
     * frames, the next frame may be some granules on. */
    for (; g <= m->n && best == s->bin->size; g++)
        for (uint32_t i = 0; i < p->nstreams; i++)
        {
            const ax_mt_marks *o = ax_mt_marks_of(&p->stream[i]);

            if (o != NULL && o->off[g] > off && o->off[g] < best)
                best = o->off[g];
        }
    return best;
}

/* The stream with the lowest mark above `idx` in a record, or NULL. */
static const ax_mt_stream *above(const ax_mt_part *p, int32_t idx)
{
    const ax_mt_stream *best = NULL;

    for (uint32_t i = 0; i < p->nstreams; i++)
        if (p->stream[i].mark_idx > idx &&
            (best == NULL || p->stream[i].mark_idx < best->mark_idx))
            best = &p->stream[i];
    return best;
}

/* Compact: up to the mark that follows in the record, or else in the next one. */
static void extent_in_granule(const ax_mt_part *p, const ax_mt_stream *s, uint32_t g,
                              uint64_t *off, uint64_t *end)
{
    const ax_mt_stream *next = above(p, s->mark_idx);
    const ax_mt_marks *m;

    *off = ax_mt_marks_of(s)->off[g];
    if (next == NULL)
    {
        next = above(p, -1);
        g++;
    }
    m = ax_mt_marks_of(next);
    *end = m->at[g] == 0 ? m->off[g] : frame_end(p, next, m->off[g], g);
    /* Streams of different codecs may share a granule in any order. */
    if (*end < *off)
        *end = s->bin->size;
}

void ax_mt_extent(const ax_mt_part *p, const ax_mt_stream *s, uint32_t g0, uint32_t g1,
                  uint64_t *off, uint64_t *end)
{
    const ax_mt_marks *m = ax_mt_marks_of(s);
    uint32_t g = g1;

    if (p->compact)
    {
        AX_ASSERT(g1 == g0 + 1);
        extent_in_granule(p, s, g0, off, end);
        return;
    }
    *off = m->off[g0];
    if (s->ahead)
        while (g <= m->n && m->off[g] == m->off[g1 - 1] && m->at[g] == m->at[g1 - 1])
            g++;
    if (g > m->n)
        *end = s->bin->size;
    else
        *end = m->at[g] == 0 ? m->off[g] : frame_end(p, s, m->off[g], g);
}

uint64_t ax_mt_prefix_end(const ax_mt_part *p, const ax_mt_stream *s)
{
    return s->prefix && s->bin->size > 0 ? frame_end(p, s, 0, 0) : 0;
}
