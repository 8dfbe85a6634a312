/* A scan of one row group as a step machine.
 *
 *   START --> ask for the chunks the filter needs (or all of them) --> WAIT
 *   WAIT  --> bytes are there --> RUN
 *   BEHIND --> bytes that another scan of the row group fetches are there --> RUN
 *   RUN   --> per window of up to 2048 rows: filter step by step, then its live bounds; no row
 *             left: next window; else the other columns (asking for their chunks the first time:
 *             WAIT), then BATCH; where a chunk is read in windows, any column may ask for its
 *             next one first: WAIT, and the same again
 *   RUN   --> no window left --> DONE
 *
 * Columns that are not read for a window are not touched: their readers catch up by count when a
 * later window wants them, and pages that lie wholly between are never decompressed.
 *
 * Text is checked in rows that leave, and before a step that looks at its characters: what the
 * filter drops by its bytes alone may be invalid.
 *
 * Windows do not end at page boundaries.  A window of strings that spans pages becomes a VIEW
 * vector, which pins them all.
 *
 * A row that raises an error in the filter, or has a value that cannot be converted, ends the scan:
 * the rows before it are delivered with the error as the batch's poison, and the step after returns
 * it.  Damage to the file is an error at once. */
#include "parquet_int.h"

enum { STATE_START, STATE_INDEX, STATE_WAIT, STATE_BEHIND, STATE_RUN, STATE_DONE };

/* Rest columns of at most this many bytes are asked for together with the filter's. */
enum { REST_BYTES = 256 << 10 };

/* Large pages are decompressed in pieces of so many bytes; windows of chunks are no smaller. */
enum { PIECE_MIN = 64 << 10, PIECE_MAX = 1 << 20, WINDOW_MIN = 128 << 10 };

/* Rows after which the place of live bounds is thought over. */
enum { LIVE_ROWS = 32768 };

/* ---- beginning ------------------------------------------------------------------------------- */

static ax_status note(ax_task *t, const ax_pq_scan *s, const ax_pq_col *c, ax_status st)
{
    if (c != NULL && c->conv != NULL)
    {
        ax_note_column(t, c->conv->nest != NULL ? c->conv->nest->shape->name : c->conv->leaf->path);
        if (c->page.off > 0)
            ax_note_page(t, c->page_no < 0 ? 0 : c->page_no, c->page.off);
    }
    ax_note_unit(t, "row group", s->req.split);
    ax_note_file(t, ax_io_file_name(s->f->base.io));
    return st;
}

static ax_status init_columns(ax_task *t, ax_pq_scan *s)
{
    uint32_t i, leaf = s->req.ncolumns;

    for (i = 0; i < s->req.nfilter_only; i++)
        s->stays[s->req.filter_only[i]] = false;
    for (i = 0; i < s->req.ncolumns; i++)
    {
        uint32_t ord = s->req.columns[i], k;
        const ax_pq_conv *conv = &s->bind->conv[ord];
        ax_status st;

        if (s->bind->base.constant[ord] || conv->leaf == NULL)
            continue;
        if (conv->nest == NULL)
            st = ax_pq_col_init(t, s, &s->col[i], conv);
        else
        {
            for (k = 0; k < conv->nest->shape->nleaf; k++)
                s->w.by_filter[leaf + k] = s->w.by_filter[i];
            st = ax_pq_nested_init(t, s, &s->col[i], conv, &s->col[leaf]);
            leaf += conv->nest->shape->nleaf;
        }
        if (st != AX_OK)
            return note(t, s, &s->col[i], st);
    }
    return AX_OK;
}

static ax_status allocate(ax_task *t, ax_arena *a, ax_pq_scan *s)
{
    uint32_t n = s->req.ncolumns, all = n, i;

    for (i = 0; i < n; i++)
        if (!s->bind->base.constant[s->req.columns[i]] &&
            s->bind->conv[s->req.columns[i]].nest != NULL)
            all += s->bind->conv[s->req.columns[i]].nest->shape->nleaf;
    s->nphys = all;
    AX_NEW(t, s->col, (ax_pq_col *) ax_arena_alloc0(a, all * sizeof *s->col + 1));
    AX_NEW(t, s->stays, (bool *) ax_arena_alloc0(a, n + 1));
    memset(s->stays, true, n);
    AX_NEW(t, s->io, (ax_io_req *) ax_arena_alloc0(a, all * sizeof *s->io + 1));
    AX_NEW(t, s->io_col, (uint32_t *) ax_arena_alloc0(a, all * sizeof *s->io_col + 1));
    s->io_cap = all;
    AX_TRY(ax_cdc_create(t, a, &s->cdc));
    return ax_fmt_window_init(t, a, &s->req, all, &s->w);
}

ax_status ax_pq_scan_begin(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out)
{
    const ax_pq_file *f = (const ax_pq_file *) req->bind->file;
    ax_pq_scan *s;
    ax_status st;

    AX_NEW(t, s, (ax_pq_scan *) ax_arena_alloc0(a, sizeof *s));
    s->op.kind = OP_SCAN;
    s->f = f;
    s->bind = (const ax_pq_bind *) req->bind;
    s->req = *req;
    s->arena = a;
    AX_ASSERT(req->split < f->base.nsplits);
    s->group = &f->group[req->split];
    s->nranges = req->rows != NULL ? req->rows->n : 1;
    if (s->group->nrows > UINT32_MAX)
        return note(t, s, NULL, ax_fail(t, AX_EUNSUPPORTED, "row group has %lld rows",
                                        (long long) s->group->nrows));
    st = allocate(t, a, s);
    if (st == AX_OK)
        st = init_columns(t, s);
    if (st == AX_OK && ax_pq_share_alone(s))
        s->state = STATE_DONE;
    else if (st == AX_OK)
        st = ax_pq_share_join(t, s);
    if (st != AX_OK)
        return note(t, s, NULL, st);
    s->live_first = true;
    AX_TRY(ax_fmt_window_open(t, &s->w));
    *out = (ax_fmt_op *) s;
    return AX_OK;
}

void ax_pq_scan_end(ax_pq_scan *s)
{
    uint32_t i;

    ax_pq_share_leave(s);
    ax_fmt_window_close(&s->w);
    for (i = 0; i < s->nio; i++)
    {
        ax_buf_unref(s->io[i].buf);
        s->io[i].buf = NULL;
    }
    for (i = 0; s->col != NULL && i < s->nphys; i++)
        ax_pq_col_free(&s->col[i]);
    s->state = STATE_DONE;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool wants_bytes(const ax_pq_scan *s, uint32_t i)
{
    const ax_pq_col *c = &s->col[i];

    return c->scan != NULL && c->chunk == NULL && c->len > 0 &&
           (c->conv->kind != CONV_NULL || c->in_nest);
}

static void add_request(ax_pq_scan *s, uint32_t i, uint64_t off, uint64_t len)
{
    s->io[s->nio] = (ax_io_req){.kind = AX_IO_READ, .file = s->f->base.io, .off = off, .len = len};
    s->io_col[s->nio++] = i;
}

static void wait_for(ax_pq_scan *s, uint8_t state, ax_fmt_event *ev)
{
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){s->io, s->nio};
    s->state = state;
}

/* Ask for the chunks of the filter's columns, or of all that are still missing. */
static bool ask(ax_pq_scan *s, bool all, ax_fmt_event *ev)
{
    bool behind = false;
    uint32_t i, k;

    s->nio = 0;
    s->asked_all = all;
    for (i = 0; i < s->nphys; i++)
    {
        const ax_pq_col *c = &s->col[i];

        if (!wants_bytes(s, i) || !(all || s->w.by_filter[i]))
            continue;
        if (c->windowed)
        {
            ax_pq_want(&s->col[i], c->off, 0);
            add_request(s, i, c->want_off, c->want_len);
            continue;
        }
        if (s->joined && c->npieces == 0)
        {
            uint32_t epoch;
            ax_pq_whose whose = c->fetching ? PQ_MINE : ax_pq_share_bytes(s, i, &epoch);

            if (whose == PQ_OTHERS && !behind)
                ev->epoch = epoch; /* what comes after it will wake us */
            behind |= whose == PQ_OTHERS;
            if (whose != PQ_MINE)
                continue;
        }
        for (k = 0; k < c->npieces; k++)
            add_request(s, i, c->piece[k].off, c->piece[k].len);
        if (c->npieces == 0)
            add_request(s, i, c->off, c->len);
    }
    if (s->nio > 0)
        wait_for(s, STATE_WAIT, ev);
    else if (behind)
        wait_for(s, STATE_BEHIND, ev);
    return s->nio > 0 || behind;
}

/* ---- pages of the rows wanted ---------------------------------------------------------------- */

/* Can an offset index spare reads of column i? */
static bool wants_index(const ax_pq_scan *s, uint32_t i)
{
    const ax_pq_col *c = &s->col[i];
    int64_t end = (int64_t) s->f->data_end;

    return wants_bytes(s, i) && c->nread == NULL && !c->in_nest && !c->keeps_last &&
           c->meta.oi_off >= 4 && c->meta.oi_len > 0 && c->meta.oi_off < end &&
           c->meta.oi_len <= end - c->meta.oi_off && (uint64_t) c->meta.oi_len < c->len / 8;
}

/* Ask for the offset indexes, when not nearly all rows are wanted. */
static bool ask_index(ax_pq_scan *s, ax_fmt_event *ev)
{
    uint64_t rows = 0;
    uint32_t i;

    if (s->req.rows == NULL || (s->req.allow & AX_ALLOW_PAGE_INDEX) == 0)
        return false;
    for (i = 0; i < s->req.rows->n; i++)
        rows += s->req.rows->range[i].end - s->req.rows->range[i].begin;
    if (rows > (uint64_t) s->group->nrows - (uint64_t) s->group->nrows / 4)
        return false;
    for (i = 0; i < s->nphys; i++)
        if (wants_index(s, i))
            add_request(s, i, (uint64_t) s->col[i].meta.oi_off, (uint64_t) s->col[i].meta.oi_len);
    if (s->nio > 0)
        wait_for(s, STATE_INDEX, ev);
    return s->nio > 0;
}

/* Which pages are to be read?  Columns whose index is no good are read whole. */
static ax_status take_index(ax_task *t, ax_pq_scan *s)
{
    uint32_t i, n = s->nphys;

    for (i = 0; i < s->nio; i++)
    {
        ax_pq_col *c = &s->col[s->io_col[i]];
        ax_buf *b = s->io[i].buf;
        ax_pq_pages pages;

        AX_CHECK(t, b != NULL, AX_EIO, "requested bytes were not delivered");
        if (ax_pq_offset_index(s->arena, b->data, b->len, c->off, c->off + c->len,
                               (uint32_t) s->group->nrows, &pages))
            AX_TRY(ax_pq_col_locate(t, c, &pages, s->req.rows));
        n += c->npieces;
        ax_buf_unref(b);
        s->io[i].buf = NULL;
    }
    s->nio = 0;
    if (n <= s->io_cap)
        return AX_OK;
    AX_NEW(t, s->io, (ax_io_req *) ax_arena_alloc0(s->arena, n * sizeof *s->io));
    AX_NEW(t, s->io_col, (uint32_t *) ax_arena_alloc0(s->arena, n * sizeof *s->io_col));
    s->io_cap = n;
    return AX_OK;
}

/* Take what was delivered. */
static ax_status take(ax_task *t, ax_pq_scan *s)
{
    uint32_t i;

    for (i = 0; i < s->nio; i++)
    {
        ax_io_req *r = &s->io[i];

        AX_CHECK(t, r->done && r->buf != NULL, AX_EIO, "requested bytes were not delivered");
        ax_pq_col_data(&s->col[s->io_col[i]], r->buf);
        r->buf = NULL;
        ax_pq_share_give(s, s->io_col[i]);
    }
    s->nio = 0;
    return AX_OK;
}

/* Columns have read their windows up: ask for the next ones, also of those that soon will have. */
static void ask_more(ax_pq_scan *s, ax_fmt_event *ev)
{
    s->nio = 0;
    s->w.hungry = false;
    for (uint32_t i = 0; i < s->nphys; i++)
        if (s->col[i].hungry)
            add_request(s, i, s->col[i].want_off, s->col[i].want_len);
    wait_for(s, STATE_WAIT, ev);
}

/* Chunks that together are too large to be in memory are read in windows, each with its share. */
static void plan_windows(ax_pq_scan *s)
{
    uint64_t sum = 0, most = s->req.buffer_bytes;
    uint64_t least = s->req.window_bytes > 0 ? s->req.window_bytes : WINDOW_MIN;
    uint64_t least_piece = least / (WINDOW_MIN / PIECE_MIN);
    bool allowed = (s->req.allow & AX_ALLOW_WINDOWS) != 0;
    uint32_t n = 0;

    s->piece_bytes = allowed ? PIECE_MAX : PQ_MAX_PAGE_BYTES;
    for (uint32_t i = 0; i < s->nphys; i++)
        if (wants_bytes(s, i))
        {
            sum += s->col[i].len;
            n += s->col[i].len > least;
        }
    if (!allowed || most == 0 || s->req.share != NULL)
        return;
    n *= 2; /* the piece that a batch has pinned, and the next one */
    if (n > 0 && most / n < PIECE_MAX)
        s->piece_bytes = most / n < least_piece ? least_piece : most / n;
    for (uint32_t i = 0; sum > most && i < s->nphys; i++)
    {
        ax_pq_col *c = &s->col[i];
        uint64_t share = (uint64_t) ((double) most * (double) c->len / (double) sum);

        share = share < least ? least : share;
        if (!wants_bytes(s, i) || c->npieces > 0 || c->in_nest || c->nread != NULL ||
            c->len <= share)
            continue;
        c->windowed = true;
        c->window_bytes = share;
    }
}

/* Is it worth asking for the filter's columns alone? */
static bool filter_first(const ax_pq_scan *s)
{
    uint64_t rest = 0, filter = 0;
    uint32_t i;

    if (s->req.filter == NULL || (s->req.allow & AX_ALLOW_PREWHERE) == 0)
        return false;
    for (i = 0; i < s->nphys; i++)
        if (wants_bytes(s, i))
            *(s->w.by_filter[i] ? &filter : &rest) += s->col[i].len;
    return filter > 0 && rest > REST_BYTES;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The next range of the rows wanted, none of those before; *any: there is one. */
static ax_status next_range(ax_task *t, ax_pq_scan *s, bool *any)
{
    ax_rowrange all = {0, (uint32_t) s->group->nrows};

    *any = true;
    while (s->req.share == NULL ? s->range_no < s->nranges : *any)
    {
        s->range = s->req.rows == NULL ? all : s->range_no < s->nranges
                   ? s->req.rows->range[s->range_no] : (ax_rowrange){UINT32_MAX, UINT32_MAX};
        if (s->req.share == NULL)
        {
            s->range_no++;
            return AX_OK;
        }
        if (s->range.begin >= s->claim.end || s->w.row >= s->claim.end)
            AX_TRY(ax_pq_share_claim(t, s, any));
        else if (s->range.end <= s->claim.begin || s->w.row >= s->range.end)
            s->range_no++;
        else
        {
            s->range.begin = s->range.begin > s->claim.begin ? s->range.begin : s->claim.begin;
            s->range.end = s->range.end < s->claim.end ? s->range.end : s->claim.end;
            return AX_OK;
        }
    }
    *any = false;
    return AX_OK;
}

/* The next window of the rows wanted; *any: there is one. */
static ax_status next_window(ax_task *t, ax_pq_scan *s, bool *any)
{
    s->w.row += s->w.n;
    s->w.n = 0;
    for (;;)
    {
        uint32_t end = s->range.end, rows = (uint32_t) s->group->nrows;

        end = end < rows ? end : rows;
        if (s->w.row < end)
        {
            s->w.n = end - s->w.row < AX_BATCH_ROWS ? end - s->w.row : AX_BATCH_ROWS;
            break;
        }
        AX_TRY(next_range(t, s, any));
        if (!*any)
            return AX_OK;
        s->w.row = s->range.begin > s->w.row ? s->range.begin : s->w.row;
    }
    ax_fmt_window_begin(&s->w);
    *any = true;
    return AX_OK;
}

/* Column i has no value in the declared type at row n: the window ends before it. */
static void cut_window(ax_task *t, ax_pq_scan *s, uint32_t n)
{
    uint32_t j;

    t->err.place.row = s->group->row0 + s->w.row + n;
    ax_fmt_window_cut(t, &s->w, n);
    s->w.n = s->w.batch.nrows = n;
    for (j = 0; n > 0 && j < s->req.ncolumns; j++)
        if (s->w.done[j])
            ax_pq_col_cut(&s->col[j], &s->w.batch.col[j], n);
}

/* Decode column i for the current window. */
static ax_status decode(ax_task *t, ax_pq_scan *s, uint32_t i)
{
    ax_pq_col *c = &s->col[i];
    ax_status st;

    if (s->w.done[i] || s->w.n == 0)
        return AX_OK;
    if (c->scan == NULL)
        st = ax_fmt_window_outside(t, &s->w, s->req.columns[i], (uint64_t) s->group->row0,
                                   &s->w.batch.col[i]);
    else
        st = ax_pq_col_read(t, c, s->w.row, s->w.n, &s->w.batch, &s->w.batch.col[i]);
    s->w.hungry |= c->hungry;
    if (s->w.hungry && st == AX_OK)
        return AX_OK;
    if (st != AX_OK)
    {
        (void) note(t, s, c, st);
        if (c->scan == NULL || c->fail_row == UINT32_MAX)
            return st;
        cut_window(t, s, c->fail_row);
        if (s->w.n == 0)
            return AX_OK;
        ax_pq_col_rewind(c);
        AX_TRY(ax_pq_col_read(t, c, s->w.row, s->w.n, &s->w.batch, &s->w.batch.col[i]));
        s->w.hungry |= c->hungry;
        if (s->w.hungry)
            return AX_OK;
    }
    s->w.done[i] = true;
    return AX_OK;
}

/* Somebody looks at the characters of the rows that are still selected. */
static ax_status check_text(ax_task *t, ax_pq_scan *s, uint32_t i)
{
    ax_pq_col *c = &s->col[i];
    ax_batch *b = &s->w.batch;
    ax_status st;

    if (!c->unchecked || !s->w.done[i] || b->nsel == 0)
        return AX_OK;
    st = ax_pq_col_check(t, c, b->sel, b->nsel, &b->col[i]);
    if (st == AX_OK)
        return AX_OK;
    (void) note(t, s, c, st);
    cut_window(t, s, c->fail_row);
    return AX_OK;
}

/* Column i for a filter step, with its text if the step looks at it. */
static ax_status for_step(ax_task *t, void *scan, uint32_t i, uint32_t step)
{
    ax_pq_scan *s = scan;

    AX_TRY(decode(t, s, i));
    if (!s->w.hungry && s->col[i].unchecked &&
        ax_filter_step_reads_text(ax_filter_lane_filter(s->req.filter), step, i))
        AX_TRY(check_text(t, s, i));
    return AX_OK;
}

/* Live bounds, on the columns whose bytes are there. */
static ax_status live_bounds(ax_task *t, ax_pq_scan *s)
{
    uint32_t cols[AX_FILTER_SLOTS], n, i, rows = s->w.batch.nsel;

    if (s->req.filter == NULL || (s->req.allow & AX_ALLOW_LIVE) == 0 || rows == 0)
        return AX_OK;
    n = ax_filter_live_columns(ax_filter_lane_filter(s->req.filter), cols);
    for (i = 0; i < n; i++)
        if (!wants_bytes(s, cols[i]) && !ax_pq_nested_lacks(&s->col[cols[i]]))
            AX_TRY(decode(t, s, cols[i]));
    if (n == 0 || s->w.batch.nsel == 0 || s->w.hungry)
        return AX_OK;
    AX_TRY(ax_filter_live(t, s->req.filter, &s->w.batch));
    s->live_in += rows;
    s->live_out += s->w.batch.nsel;
    return AX_OK;
}

/* Do live bounds go before the filter?  They do while they leave out an eighth of the rows, which
 * is looked at again and again, for they get tighter.  Not so where a condition can raise, or where
 * the first one needs the same column anyway. */
static bool live_first(ax_pq_scan *s)
{
    uint32_t cols[AX_FILTER_SLOTS], n, nlive;
    const ax_filter *f;
    const uint32_t *first;

    if (s->w.nsteps == 0 || (s->req.allow & AX_ALLOW_LIVE) == 0)
        return false;
    f = ax_filter_lane_filter(s->req.filter);
    nlive = ax_filter_live_columns(f, cols);
    if (nlive == 0 || ax_filter_can_raise(f))
        return false;
    first = ax_filter_step_columns(f, s->w.order[0], &n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < nlive; k++)
            if (first[i] == cols[k])
                return false;
    if (s->live_in >= LIVE_ROWS)
    {
        s->live_first = s->live_out <= s->live_in / 8 * 7;
        s->live_in = s->live_out = 0;
    }
    return s->live_first;
}

/* All columns that are not there yet, with text that may leave. */
static ax_status decode_rest(ax_task *t, ax_pq_scan *s)
{
    uint64_t t0 = ax_fmt_now_ns();
    uint32_t i;

    for (i = 0; i < s->req.ncolumns && !s->w.hungry; i++)
    {
        AX_TRY(decode(t, s, i));
        if (s->stays[i] && !s->w.hungry)
            AX_TRY(check_text(t, s, i));
    }
    s->req.stats->decode_ns += ax_fmt_now_ns() - t0;
    return AX_OK;
}

static ax_status run(ax_task *t, ax_pq_scan *s, ax_fmt_event *ev)
{
    for (;;)
    {
        const ax_host_need *wait = NULL;
        bool behind;

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        AX_TRY(ax_pq_share_pages(t, s, &behind, &ev->epoch));
        if (behind)
        {
            ev->step = AX_STEP_NEED;
            return AX_OK;
        }
        if (!s->w.active)
        {
            bool any = false;

            if (!s->w.raised)
                AX_TRY(next_window(t, s, &any));
            if (!any)
                break;
        }
        if (s->w.step == 0 && live_first(s))
            AX_TRY(live_bounds(t, s));
        if (!s->w.hungry)
            AX_TRY(ax_fmt_window_filter(t, &s->w, for_step, s, &wait));
        if (wait != NULL)
        {
            ev->step = AX_STEP_NEED;
            ev->host = wait;
            return AX_OK;
        }
        if (!s->w.hungry)
            AX_TRY(live_bounds(t, s));
        if (!s->w.hungry && s->w.batch.nsel > 0 && ask(s, true, ev))
            return AX_OK;
        if (!s->w.hungry && s->w.batch.nsel > 0)
            AX_TRY(decode_rest(t, s));
        if (s->w.hungry)
        {
            ask_more(s, ev);
            return AX_OK;
        }
        if (ax_fmt_window_finish(&s->w, ev))
            return AX_OK;
    }
    s->state = s->w.raised ? s->state : STATE_DONE;
    return ax_fmt_window_last(t, &s->w, ev);
}

ax_status ax_pq_scan_step(ax_task *t, ax_pq_scan *s, ax_fmt_event *ev)
{
    if (s->state == STATE_DONE)
    {
        ev->step = AX_STEP_DONE;
        return AX_OK;
    }
    if (s->state == STATE_START && s->group->nrows > 0 && ask_index(s, ev))
        return AX_OK;
    if (s->state == STATE_INDEX)
    {
        AX_TRY(take_index(t, s));
        s->state = STATE_START;
    }
    if (s->state == STATE_START)
    {
        plan_windows(s);
        s->state = STATE_RUN;
        if (s->group->nrows > 0 && ask(s, !filter_first(s), ev))
            return AX_OK;
    }
    if (s->state == STATE_WAIT)
        AX_TRY(take(t, s));
    if (s->state == STATE_WAIT || s->state == STATE_BEHIND)
    {
        s->state = STATE_RUN;
        if (s->joined && ask(s, s->asked_all, ev))
            return AX_OK;
    }
    return run(t, s, ev);
}
