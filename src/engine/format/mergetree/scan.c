/* The scan of one split: windows of 2048 rows, filter columns first.
 *
 *   FILES --> MARKS --> RUN --run of granules--> WAIT --> RUN ... --> DONE
 *
 * A run of granules is asked for at once, first the columns of the filter, when the others are
 * worth it, and the others only when a row survives.  Windows cross granules but not runs.
 *
 * Rows that a lightweight DELETE removed (_row_exists = 0) are taken out of every window before
 * anything else looks at it.
 *
 * A row that raises an error in the filter, or has a value that cannot be converted, ends the scan:
 * the rows before it are delivered with the error as the batch's poison, and the step after returns
 * it.  Damage to the part is an error at once. */
#include "scan_int.h"

enum { STATE_FILES, STATE_OPENED, STATE_MARKS, STATE_WAIT, STATE_RUN, STATE_DONE };

/* A run ends when it has so many rows, and columns that no filter reads are asked for together
 * with the filter's when they have at most so many bytes. */
enum { RUN_ROWS = 131072, REST_BYTES = 256 << 10 };

static ax_status note(ax_task *t, const ax_mt_scan *s, uint32_t i, ax_status st)
{
    if (st == AX_OK)
        return st;
    if (i < s->ncol && s->col[i].column != NULL)
    {
        ax_note_column(t, s->col[i].column->name);
        if (s->col[i].gran != UINT32_MAX)
            ax_note_unit(t, "granule", s->col[i].gran);
    }
    ax_note_file(t, s->part->dir);
    return st;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* The file's column that column i of the scan reads, or NULL. */
static const ax_mt_column *column_of(const ax_mt_scan *s, uint32_t i)
{
    if (i == s->req.ncolumns)
        return s->part->row_exists >= 0 ? &s->part->column[s->part->row_exists] : NULL;
    if (s->bind->base.constant[s->req.columns[i]])
        return NULL;
    return s->bind->conv[s->req.columns[i]].column;
}

static ax_status allocate(ax_task *t, ax_arena *a, ax_mt_scan *s)
{
    const ax_mt_part *p = s->part;
    uint32_t n = s->req.ncolumns + ax_mt_hides_rows(p), i, k;
    const ax_mt_column *c;

    s->ncol = n;
    for (i = 0; i < n; i++)
        for (k = 0; (c = ax_mt_input(column_of(s, i), k)) != NULL; k++)
            s->max_src += c->nstreams;
    s->max_io = 2 * s->max_src + 1;
    AX_NEW(t, s->col, (ax_mt_col *) ax_arena_alloc0(a, (n + 1) * sizeof *s->col));
    AX_NEW(t, s->labels, (ax_dict **) ax_arena_alloc0(a, (n + 1) * sizeof *s->labels));
    AX_NEW(t, s->have, (bool *) ax_arena_alloc0(a, n + 1));
    AX_NEW(t, s->raw, (ax_mt_conv **) ax_arena_alloc0(a, (n + 1) * sizeof *s->raw));
    AX_NEW(t, s->unchecked, (bool *) ax_arena_alloc0(a, n + 1));
    AX_NEW(t, s->stays, (bool *) ax_arena_alloc0(a, n + 1));
    memset(s->stays, true, n);
    for (i = 0; i < s->req.nfilter_only; i++)
        s->stays[s->req.filter_only[i]] = false;
    AX_NEW(t, s->src, (ax_mt_src *) ax_arena_alloc0(a, (s->max_src + 1) * sizeof *s->src));
    AX_NEW(t, s->of_stream,
           (ax_mt_src **) ax_arena_alloc0(a, (p->nstreams + 1) * sizeof *s->of_stream));
    AX_NEW(t, s->wanted, (bool *) ax_arena_alloc0(a, p->nstreams + 1));
    AX_NEW(t, s->io, (ax_io_req *) ax_arena_alloc0(a, s->max_io * sizeof *s->io));
    AX_NEW(t, s->io_of, (uint32_t *) ax_arena_alloc0(a, s->max_io * sizeof *s->io_of));
    AX_NEW(t, s->marks_file,
           (ax_io_file **) ax_arena_alloc0(a, (s->max_src + 1) * sizeof *s->marks_file));
    AX_NEW(t, s->marks_of, (uint32_t *) ax_arena_alloc0(a, (s->max_src + 1) * 4));
    AX_NEW(t, s->alive, (uint16_t *) ax_arena_values(a, AX_BATCH_ROWS * sizeof *s->alive));
    AX_TRY(ax_cdc_create(t, a, &s->env.cdc));
    return ax_fmt_window_init(t, a, &s->req, n, &s->w);
}

/* Columns that could not be bound are not read. */
static ax_status refused(ax_task *t, const ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->req.ncolumns; i++)
    {
        const ax_error *e = s->bind->conv[s->req.columns[i]].refused;

        if (e == NULL)
            continue;
        t->err = *e;
        return e->code;
    }
    return AX_OK;
}

static ax_status init_columns(ax_task *t, ax_arena *a, ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->ncol; i++)
    {
        const ax_mt_column *c = column_of(s, i), *in;

        if (c == NULL || c->node == NULL)
            continue;
        for (uint32_t k = 0; (in = ax_mt_input(c, k)) != NULL; k++)
            AX_TRY(ax_mt_sources_add(t, s, in));
        AX_TRY(ax_mt_col_init(t, a, &s->env, c, s->of_stream, &s->col[i]));
        if (i == s->req.ncolumns ||
            !ax_mt_checks_late(&s->bind->conv[s->req.columns[i]], c->node))
            continue;
        AX_NEW(t, s->raw[i], (ax_mt_conv *) ax_arena_alloc(a, sizeof *s->raw[i]));
        *s->raw[i] = s->bind->conv[s->req.columns[i]];
        s->raw[i]->check_text = false;
    }
    return AX_OK;
}

ax_status ax_mt_scan_begin(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out)
{
    ax_mt_part *p = (ax_mt_part *) req->bind->file;
    ax_mt_scan *s;

    AX_NEW(t, s, (ax_mt_scan *) ax_arena_alloc0(a, sizeof *s));
    AX_ASSERT(req->split < p->base.nsplits);
    s->op.kind = MT_OP_SCAN;
    s->part = p;
    s->bind = (const ax_mt_bind *) req->bind;
    s->req = *req;
    s->arena = a;
    s->row0 = p->row_at[p->split_gran[req->split]];
    s->nrows = (uint32_t) (p->row_at[p->split_gran[req->split + 1]] - s->row0);
    s->nranges = req->rows != NULL ? req->rows->n : 1;
    s->env = (ax_mt_env){.part = p, .budget = req->budget, .stats = req->stats,
                         .verify = (req->allow & AX_ALLOW_CHECKSUMS) != 0};
    AX_TRY(refused(t, s));
    AX_TRY(allocate(t, a, s));
    if (ax_mt_hides_rows(p))
        s->w.by_filter[req->ncolumns] = true;
    AX_TRY(note(t, s, UINT32_MAX, init_columns(t, a, s)));
    s->win.batch = &s->w.batch;
    AX_TRY(ax_fmt_window_open(t, &s->w));
    if (ax_mt_patching_begin(t, a, s->bind, req, &s->patching) != AX_OK)
    {
        ax_fmt_window_close(&s->w);
        return t->err.code;
    }
    *out = (ax_fmt_op *) s;
    return AX_OK;
}

void ax_mt_scan_end(ax_fmt_op *op)
{
    ax_mt_scan *s = (ax_mt_scan *) op;

    ax_mt_patching_end(s->patching);
    s->patching = NULL;
    ax_fmt_window_close(&s->w);
    ax_mt_release_io(s);
    for (uint32_t i = 0; i < s->ncol; i++)
        ax_mt_col_free(&s->col[i]);
    for (uint32_t i = 0; i < s->nsrc; i++)
        ax_mt_src_free(&s->src[i]);
    s->nsrc = 0;
    s->state = STATE_DONE;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ax_status wait(ax_mt_scan *s, uint8_t state, ax_fmt_event *ev)
{
    s->state = state;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){s->io, s->nio};
    return AX_OK;
}

/* Is it worth asking for the filter's columns alone? */
static bool filter_first(const ax_mt_scan *s)
{
    uint64_t rest = 0;
    bool any = false;

    if (s->part->compact || (s->req.allow & AX_ALLOW_PREWHERE) == 0)
        return false;
    for (uint32_t i = 0; i < s->ncol; i++)
        if (s->col[i].column != NULL)
        {
            any |= s->w.by_filter[i];
            if (!s->w.by_filter[i])
                rest += s->col[i].column->bytes;
        }
    return any && rest / (s->part->ngran + 1) * (s->g1 - s->g0) > REST_BYTES;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The next stretch of granules that has rows wanted, from the window's row on. */
static void next_run(ax_mt_scan *s)
{
    const ax_mt_part *p = s->part;
    uint64_t first = s->row0 + s->w.row, last = s->row0 + s->range.end;
    uint32_t r = s->range_no, most = RUN_ROWS;

    /* Nothing at first, then twice as many rows each time. */
    if (s->req.gradual && s->run_rows < RUN_ROWS)
        most = s->run_rows;
    if (s->run_rows < RUN_ROWS)
        s->run_rows = s->run_rows < 8192 ? 8192 : s->run_rows * 2;
    ax_mt_forget_bytes(s);
    s->g0 = ax_mt_granule_of(p, first);
    s->g1 = s->g0 + 1;
    while (s->g1 < p->ngran && p->row_at[s->g1 + 1] - p->row_at[s->g0] <= most)
    {
        /* Does a wanted row lie in granule g1? */
        while (last <= p->row_at[s->g1] && r < s->nranges && s->req.rows != NULL)
        {
            if (s->row0 + s->req.rows->range[r].begin >= p->row_at[s->g1 + 1])
                return;
            last = s->row0 + s->req.rows->range[r++].end;
        }
        if (last <= p->row_at[s->g1])
            return;
        s->g1++;
    }
}

/* Several pieces of one granule are one granule. */
static void count_granules(ax_mt_scan *s)
{
    s->req.stats->granules += s->g1 - s->g0 - (s->counted == s->g0 + 1);
    s->counted = s->g1;
}

/* Move to the next window; false: there is none.  *fresh: a run begins with it. */
static bool next_window(ax_mt_scan *s, bool *fresh)
{
    uint64_t end;

    *fresh = false;
    s->w.row += s->w.n;
    s->w.n = 0;
    for (;;)
    {
        s->range.end = s->range.end < s->nrows ? s->range.end : s->nrows;
        if (s->w.row < s->range.end)
            break;
        if (s->range_no == s->nranges)
            return false;
        s->range = s->req.rows != NULL ? s->req.rows->range[s->range_no]
                                       : (ax_rowrange){0, s->nrows};
        s->range_no++;
        s->w.row = s->range.begin > s->w.row ? s->range.begin : s->w.row;
    }
    if (s->g0 == s->g1 || s->row0 + s->w.row >= s->part->row_at[s->g1])
    {
        next_run(s);
        count_granules(s);
        *fresh = true;
    }
    end = s->part->row_at[s->g1] - s->row0;
    end = end < s->range.end ? end : s->range.end;
    s->w.n = end - s->w.row < AX_BATCH_ROWS ? (uint32_t) end - s->w.row : AX_BATCH_ROWS;
    return true;
}

static void begin_window(ax_mt_scan *s)
{
    s->win.no++;
    memset(s->unchecked, false, s->ncol);
    ax_fmt_window_begin(&s->w);
}

/* Columns decoded so far end before row n. */
static void shorten(ax_mt_scan *s, uint32_t n)
{
    s->w.n = s->w.batch.nrows = n;
    for (uint32_t i = 0; i < s->req.ncolumns; i++)
        if (s->w.done[i])
            s->w.batch.col[i].n = n;
}

/* Does anybody want what the part has in a row of the window? */
static bool wants(const ax_mt_scan *s, uint32_t i, uint32_t row)
{
    return ax_fmt_window_wants(&s->w, row) &&
           (s->patching == NULL ||
            !ax_mt_patching_has(s->patching, i, s->row0 + s->w.row + row));
}

/* Convert once more what failed in a row that nobody wants, with a null in its place. */
static ax_status convert_selected(ax_task *t, ax_mt_scan *s, uint32_t i, ax_mt_vals *v,
                                  ax_vec *out, uint32_t *fail_row)
{
    ax_mt_conv c = s->bind->conv[s->req.columns[i]];
    const uint8_t *null = v->null;
    uint8_t *mask;

    AX_NEW(t, mask, (uint8_t *) ax_arena_values(s->w.batch.arena, s->w.n + 1));
    for (uint32_t k = 0; k < s->w.n; k++)
    {
        bool wanted = wants(s, i, k);

        mask[k] = !wanted || (null != NULL && null[k]);
        if (c.not_null && wanted && mask[k])
        {
            *fail_row = k;
            return ax_fail(t, AX_ENOTNULL, "null value in a column declared NOT NULL");
        }
    }
    v->null = mask;
    c.not_null = false;
    return ax_mt_conv_vec(t, &c, s->col[i].column->node, v, s->w.n, &s->win, s->arena,
                          &s->labels[i], out, fail_row);
}

/* Values of the part. */
static ax_status read_stored(ax_task *t, ax_mt_scan *s, uint32_t i, ax_vec *out)
{
    const ax_mt_conv *c = s->raw[i] != NULL ? s->raw[i] : &s->bind->conv[s->req.columns[i]];
    const ax_mt_node *node = s->col[i].column->node;
    ax_mt_vals v = {0};
    uint32_t fail_row;
    ax_status st;

    AX_TRY(note(t, s, i, ax_mt_col_read(t, &s->col[i], &s->win, s->row0 + s->w.row, s->w.n, &v)));
    st = ax_mt_conv_vec(t, c, node, &v, s->w.n, &s->win, s->arena, &s->labels[i], out, &fail_row);
    if (st != AX_OK && fail_row != UINT32_MAX && !wants(s, i, fail_row))
    {
        ax_error_clear(&t->err);
        st = convert_selected(t, s, i, &v, out, &fail_row);
    }
    if (st == AX_OK || fail_row == UINT32_MAX)
        return note(t, s, i, st);
    (void) note(t, s, i, st);
    t->err.place.row = (int64_t) (s->row0 + s->w.row + fail_row);
    ax_fmt_window_cut(t, &s->w, fail_row);
    shorten(s, fail_row);
    if (fail_row == 0)
        return AX_OK;
    return ax_mt_conv_vec(t, c, node, &v, s->w.n, &s->win, s->arena, &s->labels[i], out, &fail_row);
}

static ax_status read_column(ax_task *t, ax_mt_scan *s, uint32_t i, ax_vec *out)
{
    AX_TRY(read_stored(t, s, i, out));
    if (s->patching == NULL || s->w.n == 0)
        return AX_OK;
    return ax_mt_patching_apply(t, s->w.batch.arena, s->patching, i, s->row0 + s->w.row, out);
}

/* Somebody looks at the characters of the rows that are still selected. */
static ax_status check_text(ax_task *t, ax_mt_scan *s, uint32_t i)
{
    ax_batch *b = &s->w.batch;
    uint32_t fail_row;
    ax_status st;

    if (!s->unchecked[i] || b->nsel == 0)
        return AX_OK;
    s->unchecked[i] = false;
    st = ax_mt_check_text(t, b->sel, b->nsel, &b->col[i], &fail_row);
    if (st == AX_OK)
        return AX_OK;
    (void) note(t, s, i, st);
    t->err.place.row = (int64_t) (s->row0 + s->w.row + fail_row);
    ax_fmt_window_cut(t, &s->w, fail_row);
    shorten(s, fail_row);
    return AX_OK;
}

/* Decode column i for the current window. */
static ax_status decode(ax_task *t, ax_mt_scan *s, uint32_t i)
{
    if (s->w.done[i] || s->w.n == 0)
        return AX_OK;
    if (s->col[i].column == NULL)
        AX_TRY(ax_fmt_window_outside(t, &s->w, s->req.columns[i], s->row0, &s->w.batch.col[i]));
    else
    {
        AX_TRY(read_column(t, s, i, &s->w.batch.col[i]));
        s->unchecked[i] = s->raw[i] != NULL;
    }
    s->w.done[i] = true;
    return AX_OK;
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Take rows out that a lightweight DELETE removed, also one in a patch part. */
static ax_status row_exists(ax_task *t, ax_mt_scan *s)
{
    uint32_t i = s->req.ncolumns, n = 0;
    bool exists[AX_BATCH_ROWS];
    ax_mt_vals v = {0};

    if (!ax_mt_hides_rows(s->part) || s->w.done[i])
        return AX_OK;
    s->w.done[i] = true;
    memset(exists, true, sizeof exists);
    if (s->part->row_exists >= 0)
    {
        AX_CHECK(t, s->part->column[s->part->row_exists].type->width == 1 &&
                        s->col[i].column != NULL,
                 AX_ECORRUPT, "column _row_exists has type %s",
                 s->part->column[s->part->row_exists].type->text);
        AX_TRY(note(t, s, i, ax_mt_col_read(t, &s->col[i], &s->win, s->row0 + s->w.row, s->w.n,
                                            &v)));
        for (uint32_t k = 0; k < s->w.n; k++)
            exists[k] = v.data[k] != 0;
    }
    if (s->patching != NULL)
        ax_mt_patching_exists(s->patching, s->row0 + s->w.row, s->w.n, exists);
    for (uint32_t k = 0; k < s->w.n; k++)
        if (exists[k])
            s->alive[n++] = (uint16_t) k;
    if (n == s->w.n)
        return AX_OK;
    s->w.batch.sel = s->alive;
    s->w.batch.nsel = n;
    return AX_OK;
}

/* Column i for a filter step, with its text if the step looks at it. */
static ax_status for_step(ax_task *t, void *scan, uint32_t i, uint32_t step)
{
    ax_mt_scan *s = (ax_mt_scan *) scan;

    AX_TRY(decode(t, s, i));
    if (s->unchecked[i] &&
        ax_filter_step_reads_text(ax_filter_lane_filter(s->req.filter), step, i))
        AX_TRY(check_text(t, s, i));
    return AX_OK;
}

/* Live bounds, on the columns whose bytes are there. */
static ax_status live_bounds(ax_task *t, ax_mt_scan *s)
{
    uint32_t cols[AX_FILTER_SLOTS], n;

    if (s->req.filter == NULL || (s->req.allow & AX_ALLOW_LIVE) == 0 || s->w.batch.nsel == 0)
        return AX_OK;
    n = ax_filter_live_columns(ax_filter_lane_filter(s->req.filter), cols);
    for (uint32_t i = 0; i < n; i++)
    {
        if (s->col[cols[i]].column != NULL && !s->have[cols[i]])
            return AX_OK;
        AX_TRY(decode(t, s, cols[i]));
    }
    return n > 0 && s->w.batch.nsel > 0 ? ax_filter_live(t, s->req.filter, &s->w.batch) : AX_OK;
}

static ax_status decode_rest(ax_task *t, ax_mt_scan *s)
{
    uint64_t t0 = ax_fmt_now_ns();

    for (uint32_t i = 0; i < s->req.ncolumns; i++)
    {
        AX_TRY(decode(t, s, i));
        if (s->stays[i])
            AX_TRY(check_text(t, s, i));
    }
    s->req.stats->decode_ns += ax_fmt_now_ns() - t0;
    return AX_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Filter the window and complete its columns.  *stop: the event says what for. */
static ax_status window(ax_task *t, ax_mt_scan *s, ax_fmt_event *ev, bool *stop)
{
    const ax_host_need *wait_for;

    *stop = true;
    AX_TRY(row_exists(t, s));
    AX_TRY(ax_fmt_window_filter(t, &s->w, for_step, s, &wait_for));
    if (wait_for != NULL)
    {
        ev->step = AX_STEP_NEED;
        ev->host = wait_for;
        return AX_OK;
    }
    AX_TRY(live_bounds(t, s));
    if (s->w.batch.nsel > 0)
    {
        bool any;

        AX_TRY(ax_mt_ask_bytes(t, s, NULL, &any));
        if (any)
            return wait(s, STATE_WAIT, ev);
        AX_TRY(decode_rest(t, s));
    }
    *stop = ax_fmt_window_finish(&s->w, ev);
    return AX_OK;
}

static void begin_patches(ax_mt_scan *s)
{
    const ax_mt_part *p = s->part;
    uint64_t from = p->row_at[s->g0], to = p->row_at[s->g1], end = s->row0 + s->nrows;

    ax_mt_patching_run(s->patching, from > s->row0 ? from : s->row0, to < end ? to : end);
    s->patches_wanted = true;
}

static ax_status run(ax_task *t, ax_mt_scan *s, ax_fmt_event *ev)
{
    for (;;)
    {
        bool stop, ready, fresh = false, any = false;

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        if (!s->w.active)
        {
            if (s->w.raised || !next_window(s, &fresh))
                break;
            begin_window(s);
            if (fresh && s->patching != NULL)
                begin_patches(s);
            if (fresh)
                AX_TRY(ax_mt_ask_bytes(t, s, filter_first(s) ? s->w.by_filter : NULL, &any));
            if (any)
                return wait(s, STATE_WAIT, ev);
        }
        if (s->patches_wanted)
        {
            AX_TRY(ax_mt_patching_step(t, s->patching, ev, &ready));
            if (!ready)
                return AX_OK;
            s->patches_wanted = false;
        }
        AX_TRY(window(t, s, ev, &stop));
        if (stop)
            return AX_OK;
    }
    s->state = s->w.raised ? s->state : STATE_DONE;
    return ax_fmt_window_last(t, &s->w, ev);
}

ax_status ax_mt_scan_step(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev)
{
    ax_mt_scan *s = (ax_mt_scan *) op;

    switch (s->state)
    {
        case STATE_FILES:
            s->state = STATE_RUN;
            if (ax_mt_ask_files(s))
                return wait(s, STATE_OPENED, ev);
            break;
        case STATE_OPENED:
            if (ax_mt_ask_marks(s))
                return wait(s, STATE_MARKS, ev);
            s->state = STATE_RUN;
            break;
        case STATE_MARKS:
            AX_TRY(note(t, s, UINT32_MAX, ax_mt_take_marks(t, s)));
            s->state = STATE_RUN;
            break;
        case STATE_WAIT:
            AX_TRY(ax_mt_take_bytes(t, s));
            s->state = STATE_RUN;
            break;
        case STATE_DONE:
            ev->step = AX_STEP_DONE;
            return AX_OK;
        default:
            break;
    }
    return run(t, s, ev);
}
