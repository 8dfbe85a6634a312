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

#include <time.h>

enum { STATE_FILES, STATE_OPENED, STATE_MARKS, STATE_WAIT, STATE_RUN, STATE_DONE };

/* A run ends when it has so many rows, and columns that no filter reads are asked for together
 * with the filter's when they have at most so many bytes. */
enum { RUN_ROWS = 131072, REST_BYTES = 256 << 10 };

static uint64_t now_ns(void)
{
    struct timespec ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

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

/* Which columns do filter steps and live bounds read? */
static void mark_filter(ax_mt_scan *s)
{
    uint32_t n, live[AX_FILTER_SLOTS];
    const ax_filter *f;

    if (s->req.filter == NULL)
        return;
    f = ax_filter_lane_filter(s->req.filter);
    s->nsteps = ax_filter_steps(f);
    for (uint32_t step = 0; step < s->nsteps; step++)
    {
        const uint32_t *cols = ax_filter_step_columns(f, step, &n);

        for (uint32_t i = 0; i < n; i++)
            s->by_filter[cols[i]] = true;
    }
    n = (s->req.allow & AX_ALLOW_LIVE) != 0 ? ax_filter_live_columns(f, live) : 0;
    for (uint32_t i = 0; i < n; i++)
        s->by_filter[live[i]] = true;
}

/* The file's column that column i of the scan reads, or NULL. */
static const ax_mt_column *column_of(const ax_mt_scan *s, uint32_t i)
{
    if (i == s->req.ncolumns)
        return &s->part->column[s->part->row_exists];
    if (s->bind->base.constant[s->req.columns[i]])
        return NULL;
    return s->bind->conv[s->req.columns[i]].column;
}

static ax_status allocate(ax_task *t, ax_arena *a, ax_mt_scan *s)
{
    const ax_mt_part *p = s->part;
    uint32_t n = s->req.ncolumns + (p->row_exists >= 0), i;

    s->ncol = n;
    for (i = 0; i < n; i++)
        s->max_src += column_of(s, i) != NULL ? column_of(s, i)->nstreams : 0;
    s->max_io = 2 * s->max_src + 1;
    AX_NEW(t, s->col, (ax_mt_col *) ax_arena_alloc0(a, (n + 1) * sizeof *s->col));
    AX_NEW(t, s->labels, (ax_dict **) ax_arena_alloc0(a, (n + 1) * sizeof *s->labels));
    AX_NEW(t, s->have, (bool *) ax_arena_alloc0(a, n + 1));
    AX_NEW(t, s->done, (bool *) ax_arena_alloc0(a, n + 1));
    AX_NEW(t, s->by_filter, (bool *) ax_arena_alloc0(a, n + 1));
    AX_NEW(t, s->src, (ax_mt_src *) ax_arena_alloc0(a, (s->max_src + 1) * sizeof *s->src));
    AX_NEW(t, s->of_stream,
           (ax_mt_src **) ax_arena_alloc0(a, (p->nstreams + 1) * sizeof *s->of_stream));
    AX_NEW(t, s->wanted, (bool *) ax_arena_alloc0(a, p->nstreams + 1));
    AX_NEW(t, s->io, (ax_io_req *) ax_arena_alloc0(a, s->max_io * sizeof *s->io));
    AX_NEW(t, s->io_of, (uint32_t *) ax_arena_alloc0(a, s->max_io * sizeof *s->io_of));
    AX_NEW(t, s->marks_file,
           (ax_io_file **) ax_arena_alloc0(a, (s->max_src + 1) * sizeof *s->marks_file));
    AX_NEW(t, s->marks_of, (uint32_t *) ax_arena_alloc0(a, (s->max_src + 1) * 4));
    AX_NEW(t, s->batch.col, (ax_vec *) ax_arena_alloc0(a, (n + 1) * sizeof(ax_vec)));
    AX_NEW(t, s->sel, (uint16_t *) ax_arena_values(a, AX_BATCH_ROWS * sizeof *s->sel));
    AX_NEW(t, s->alive, (uint16_t *) ax_arena_values(a, AX_BATCH_ROWS * sizeof *s->alive));
    mark_filter(s);
    AX_NEW(t, s->order, (uint32_t *) ax_arena_alloc0(a, s->nsteps * sizeof *s->order + 1));
    return ax_cdc_create(t, a, &s->env.cdc);
}

static ax_status init_columns(ax_task *t, ax_arena *a, ax_mt_scan *s)
{
    for (uint32_t i = 0; i < s->ncol; i++)
    {
        const ax_mt_column *c = column_of(s, i);

        if (c == NULL || c->node == NULL)
            continue;
        AX_TRY(ax_mt_sources_add(t, s, c));
        AX_TRY(ax_mt_col_init(t, a, &s->env, c, s->of_stream, &s->col[i]));
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
    AX_TRY(allocate(t, a, s));
    if (p->row_exists >= 0)
        s->by_filter[req->ncolumns] = true;
    AX_TRY(note(t, s, UINT32_MAX, init_columns(t, a, s)));
    s->batch.ncols = req->ncolumns;
    s->batch.split = req->split_id;
    s->win.batch = &s->batch;
    AX_NEW(t, s->batch.arena, ax_arena_create(req->budget, 0));
    *out = (ax_fmt_op *) s;
    return AX_OK;
}

void ax_mt_scan_end(ax_fmt_op *op)
{
    ax_mt_scan *s = (ax_mt_scan *) op;

    ax_arena_destroy(s->batch.arena);
    s->batch.arena = NULL;
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
            any |= s->by_filter[i];
            if (!s->by_filter[i])
                rest += s->col[i].column->bytes;
        }
    return any && rest / (s->part->ngran + 1) * (s->g1 - s->g0) > REST_BYTES;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The next stretch of granules that has rows wanted, from the window's row on. */
static void next_run(ax_mt_scan *s)
{
    const ax_mt_part *p = s->part;
    uint64_t first = s->row0 + s->row, last = s->row0 + s->range.end;
    uint32_t r = s->range_no;

    ax_mt_forget_bytes(s);
    s->g0 = ax_mt_granule_of(p, first);
    s->g1 = s->g0 + 1;
    while (s->g1 < p->ngran && p->row_at[s->g1 + 1] - p->row_at[s->g0] <= RUN_ROWS)
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
    s->row += s->n;
    s->n = 0;
    for (;;)
    {
        s->range.end = s->range.end < s->nrows ? s->range.end : s->nrows;
        if (s->row < s->range.end)
            break;
        if (s->range_no == s->nranges)
            return false;
        s->range = s->req.rows != NULL ? s->req.rows->range[s->range_no]
                                       : (ax_rowrange){0, s->nrows};
        s->range_no++;
        s->row = s->range.begin > s->row ? s->range.begin : s->row;
    }
    if (s->g0 == s->g1 || s->row0 + s->row >= s->part->row_at[s->g1])
    {
        next_run(s);
        count_granules(s);
        *fresh = true;
    }
    end = s->part->row_at[s->g1] - s->row0;
    end = end < s->range.end ? end : s->range.end;
    s->n = end - s->row < AX_BATCH_ROWS ? (uint32_t) end - s->row : AX_BATCH_ROWS;
    return true;
}

static void begin_window(ax_mt_scan *s)
{
    ax_arena_reset(s->batch.arena);
    s->win.no++;
    s->batch.nrows = s->batch.nsel = s->n;
    s->batch.sel = NULL;
    s->batch.row0 = s->row;
    s->batch.poison = NULL;
    s->step = 0;
    memset(s->done, 0, s->ncol);
    memset(s->batch.col, 0, s->req.ncolumns * sizeof(ax_vec));
    if (s->nsteps > 0)
        memcpy(s->order, ax_filter_lane_order(s->req.filter), s->nsteps * sizeof *s->order);
    s->req.stats->rows_read += s->n;
    s->active = true;
}

static ax_status virtual_column(ax_task *t, ax_mt_scan *s, uint32_t ord, ax_vec *out)
{
    const ax_colspec *col = &s->bind->base.col[ord];
    ax_value v = {.type = col->type};

    if (s->bind->base.constant[ord])
        return ax_vec_const(t, s->batch.arena, &s->bind->base.value[ord], s->n, out);
    if (col->virt == AX_VIRT_ROW_GROUP)
    {
        v.u.i = s->req.split;
        return ax_vec_const(t, s->batch.arena, &v, s->n, out);
    }
    *out = (ax_vec){.kind = AX_VK_SEQ, .type = ax_type_make(AX_T_INT8), .n = s->n};
    out->u.seq.start = col->virt == AX_VIRT_ROWID ? (int64_t) s->req.split_id << 32 | s->row
                                                  : (int64_t) (s->row0 + s->row);
    out->u.seq.step = 1;
    return AX_OK;
}

/* A row raised: keep the rows before it, and the error for whoever gets so far. */
static void cut_at(ax_task *t, ax_mt_scan *s, uint32_t fail_row)
{
    ax_batch *b = &s->batch;
    uint32_t n = 0;

    s->raise = t->err;
    s->raised = true;
    ax_error_clear(&t->err);
    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint32_t row = b->sel != NULL ? b->sel[i] : i;

        if (row < fail_row)
            s->sel[n++] = (uint16_t) row;
    }
    b->sel = s->sel;
    b->nsel = n;
    b->poison = &s->raise;
}

/* Columns decoded so far end before row n. */
static void shorten(ax_mt_scan *s, uint32_t n)
{
    s->n = s->batch.nrows = n;
    for (uint32_t i = 0; i < s->req.ncolumns; i++)
        if (s->done[i])
            s->batch.col[i].n = n;
}

static ax_status read_column(ax_task *t, ax_mt_scan *s, uint32_t i, ax_vec *out)
{
    const ax_mt_conv *c = &s->bind->conv[s->req.columns[i]];
    const ax_mt_node *node = s->col[i].column->node;
    ax_mt_vals v = {0};
    uint32_t fail_row;
    ax_status st;

    AX_TRY(note(t, s, i, ax_mt_col_read(t, &s->col[i], &s->win, s->row0 + s->row, s->n, &v)));
    st = ax_mt_conv_vec(t, c, node, &v, s->n, &s->win, s->arena, &s->labels[i], out, &fail_row);
    if (st == AX_OK || fail_row == UINT32_MAX)
        return note(t, s, i, st);
    (void) note(t, s, i, st);
    t->err.place.row = (int64_t) (s->row0 + s->row + fail_row);
    cut_at(t, s, fail_row);
    shorten(s, fail_row);
    if (fail_row == 0)
        return AX_OK;
    return ax_mt_conv_vec(t, c, node, &v, s->n, &s->win, s->arena, &s->labels[i], out, &fail_row);
}

/* Decode column i for the current window. */
static ax_status decode(ax_task *t, ax_mt_scan *s, uint32_t i)
{
    if (s->done[i] || s->n == 0)
        return AX_OK;
    if (s->col[i].column == NULL)
        AX_TRY(virtual_column(t, s, s->req.columns[i], &s->batch.col[i]));
    else
        AX_TRY(read_column(t, s, i, &s->batch.col[i]));
    s->done[i] = true;
    return AX_OK;
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Take deleted rows out. */
static ax_status row_exists(ax_task *t, ax_mt_scan *s)
{
    uint32_t i = s->req.ncolumns, n = 0;
    ax_mt_vals v = {0};

    if (s->part->row_exists < 0 || s->done[i])
        return AX_OK;
    s->done[i] = true;
    AX_CHECK(t, s->part->column[s->part->row_exists].type->width == 1 && s->col[i].column != NULL,
             AX_ECORRUPT, "column _row_exists has type %s",
             s->part->column[s->part->row_exists].type->text);
    AX_TRY(note(t, s, i, ax_mt_col_read(t, &s->col[i], &s->win, s->row0 + s->row, s->n, &v)));
    for (uint32_t k = 0; k < s->n; k++)
        if (v.data[k] != 0)
            s->alive[n++] = (uint16_t) k;
    if (n == s->n)
        return AX_OK;
    s->batch.sel = s->alive;
    s->batch.nsel = n;
    return AX_OK;
}

/* Run the filter on the window.  *wait_for: the host has to answer first. */
static ax_status filter(ax_task *t, ax_mt_scan *s, const ax_host_need **wait_for)
{
    const ax_filter *f;

    *wait_for = NULL;
    if (s->nsteps == 0)
        return AX_OK;
    f = ax_filter_lane_filter(s->req.filter);
    while (s->step < s->nsteps && s->batch.nsel > 0)
    {
        ax_eval_result r = {.fail_row = UINT32_MAX};
        uint32_t step = s->order[s->step], n;
        const uint32_t *cols = ax_filter_step_columns(f, step, &n);
        uint64_t t0 = now_ns(), t1;
        ax_status st;

        for (uint32_t i = 0; i < n; i++)
            AX_TRY(decode(t, s, cols[i]));
        if (s->batch.nsel == 0)
            break;
        t1 = now_ns();
        st = ax_filter_step(t, s->req.filter, step, &s->batch, &r);
        s->req.stats->decode_ns += t1 - t0;
        s->req.stats->filter_ns += now_ns() - t1;
        if (st != AX_OK && r.fail_row != UINT32_MAX)
        {
            /* The same step again, on the rows before. */
            cut_at(t, s, r.fail_row);
            continue;
        }
        AX_TRY(st);
        if (r.need != NULL)
        {
            *wait_for = r.need;
            return AX_OK;
        }
        s->step++;
    }
    return AX_OK;
}

/* Live bounds, on the columns whose bytes are there. */
static ax_status live_bounds(ax_task *t, ax_mt_scan *s)
{
    uint32_t cols[AX_FILTER_SLOTS], n;

    if (s->req.filter == NULL || (s->req.allow & AX_ALLOW_LIVE) == 0 || s->batch.nsel == 0)
        return AX_OK;
    n = ax_filter_live_columns(ax_filter_lane_filter(s->req.filter), cols);
    for (uint32_t i = 0; i < n; i++)
    {
        if (s->col[cols[i]].column != NULL && !s->have[cols[i]])
            return AX_OK;
        AX_TRY(decode(t, s, cols[i]));
    }
    return n > 0 && s->batch.nsel > 0 ? ax_filter_live(t, s->req.filter, &s->batch) : AX_OK;
}

static ax_status decode_rest(ax_task *t, ax_mt_scan *s)
{
    uint64_t t0 = now_ns();

    for (uint32_t i = 0; i < s->req.ncolumns; i++)
        AX_TRY(decode(t, s, i));
    s->req.stats->decode_ns += now_ns() - t0;
    return AX_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Filter the window and complete its columns.  *stop: the event says what for. */
static ax_status window(ax_task *t, ax_mt_scan *s, ax_fmt_event *ev, bool *stop)
{
    const ax_host_need *wait_for;

    *stop = true;
    AX_TRY(row_exists(t, s));
    AX_TRY(filter(t, s, &wait_for));
    if (wait_for != NULL)
    {
        ev->step = AX_STEP_NEED;
        ev->host = wait_for;
        return AX_OK;
    }
    AX_TRY(live_bounds(t, s));
    if (s->batch.nsel > 0)
    {
        bool any;

        AX_TRY(ax_mt_ask_bytes(t, s, NULL, &any));
        if (any)
            return wait(s, STATE_WAIT, ev);
        AX_TRY(decode_rest(t, s));
    }
    s->active = false;
    s->req.stats->rows_after_filter += s->batch.nsel;
    *stop = s->batch.nsel > 0 || s->batch.poison != NULL;
    if (!*stop)
        return AX_OK;
    if (s->batch.nsel == s->batch.nrows)
        s->batch.sel = NULL;
    ev->step = AX_STEP_BATCH;
    ev->batch = &s->batch;
    return AX_OK;
}

static ax_status run(ax_task *t, ax_mt_scan *s, ax_fmt_event *ev)
{
    for (;;)
    {
        bool stop, fresh = false, any = false;

        AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
        if (!s->active)
        {
            if (s->raised || !next_window(s, &fresh))
                break;
            begin_window(s);
            if (fresh)
                AX_TRY(ax_mt_ask_bytes(t, s, filter_first(s) ? s->by_filter : NULL, &any));
            if (any)
                return wait(s, STATE_WAIT, ev);
        }
        AX_TRY(window(t, s, ev, &stop));
        if (stop)
            return AX_OK;
    }
    if (s->raised)
    {
        t->err = s->raise;
        return s->raise.code;
    }
    s->state = STATE_DONE;
    ev->step = AX_STEP_DONE;
    return AX_OK;
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
