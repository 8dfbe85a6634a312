/* Windows of rows: which columns a filter reads, the filter step by step, rows that raise. */
#include "format/format.h"

#include <string.h>
#include <time.h>

uint64_t ax_fmt_now_ns(void)
{
    struct timespec ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000000u + (uint64_t) ts.tv_nsec;
}

/* Which columns do filter steps and live bounds read? */
static void mark_filter(ax_fmt_window *w)
{
    uint32_t n, live[AX_FILTER_SLOTS];
    const ax_filter *f;

    if (w->req->filter == NULL)
        return;
    f = ax_filter_lane_filter(w->req->filter);
    w->nsteps = ax_filter_steps(f);
    for (uint32_t step = 0; step < w->nsteps; step++)
    {
        const uint32_t *cols = ax_filter_step_columns(f, step, &n);

        for (uint32_t i = 0; i < n; i++)
            w->by_filter[cols[i]] = true;
    }
    n = (w->req->allow & AX_ALLOW_LIVE) != 0 ? ax_filter_live_columns(f, live) : 0;
    for (uint32_t i = 0; i < n; i++)
        w->by_filter[live[i]] = true;
}

ax_status ax_fmt_window_init(ax_task *t, ax_arena *a, const ax_scan_req *req, uint32_t nall,
                             ax_fmt_window *w)
{
    uint32_t n = req->ncolumns;

    AX_ASSERT(nall >= n);
    w->req = req;
    w->nall = nall;
    AX_NEW(t, w->done, (bool *) ax_arena_alloc0(a, nall + 1));
    AX_NEW(t, w->by_filter, (bool *) ax_arena_alloc0(a, nall + 1));
    AX_NEW(t, w->batch.col, (ax_vec *) ax_arena_alloc0(a, n * sizeof(ax_vec) + 1));
    AX_NEW(t, w->sel, (uint16_t *) ax_arena_values(a, AX_BATCH_ROWS * sizeof *w->sel));
    mark_filter(w);
    AX_NEW(t, w->order, (uint32_t *) ax_arena_alloc0(a, w->nsteps * sizeof *w->order + 1));
    w->batch.ncols = n;
    w->batch.split = req->split_id;
    return AX_OK;
}

ax_status ax_fmt_window_open(ax_task *t, ax_fmt_window *w)
{
    AX_NEW(t, w->batch.arena, ax_arena_create(w->req->budget, 0));
    return AX_OK;
}

void ax_fmt_window_close(ax_fmt_window *w)
{
    ax_arena_destroy(w->batch.arena);
    w->batch.arena = NULL;
}

void ax_fmt_window_begin(ax_fmt_window *w)
{
    ax_arena_reset(w->batch.arena);
    w->batch.nrows = w->batch.nsel = w->n;
    w->batch.sel = NULL;
    w->batch.row0 = w->row;
    w->batch.poison = NULL;
    w->step = 0;
    memset(w->done, 0, w->nall);
    memset(w->batch.col, 0, w->batch.ncols * sizeof(ax_vec));
    if (w->nsteps > 0)
        memcpy(w->order, ax_filter_lane_order(w->req->filter), w->nsteps * sizeof *w->order);
    w->req->stats->rows_read += w->n;
    w->active = true;
}

ax_status ax_fmt_window_outside(ax_task *t, ax_fmt_window *w, uint32_t ord, uint64_t row0,
                                ax_vec *out)
{
    const ax_fmt_bind *b = w->req->bind;
    ax_value v = {.type = b->col[ord].type};

    if (b->constant[ord])
        return ax_vec_const(t, w->batch.arena, &b->value[ord], w->n, out);
    if (b->col[ord].virt == AX_VIRT_ROW_GROUP)
    {
        v.u.i = w->req->split;
        return ax_vec_const(t, w->batch.arena, &v, w->n, out);
    }
    *out = (ax_vec){.kind = AX_VK_SEQ, .type = ax_type_make(AX_T_INT8), .n = w->n};
    out->u.seq.start = b->col[ord].virt == AX_VIRT_ROWID
                           ? (int64_t) w->req->split_id << 32 | w->row
                           : (int64_t) (row0 + w->row);
    out->u.seq.step = 1;
    return AX_OK;
}

bool ax_fmt_window_wants(const ax_fmt_window *w, uint32_t row)
{
    const ax_batch *b = &w->batch;
    uint32_t lo = 0, hi = b->nsel;

    if (b->sel == NULL)
        return true;
    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (b->sel[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < b->nsel && b->sel[lo] == row;
}

void ax_fmt_window_cut(ax_task *t, ax_fmt_window *w, uint32_t fail_row)
{
    ax_batch *b = &w->batch;
    uint32_t n = 0;

    w->raise = t->err;
    w->raised = true;
    ax_error_clear(&t->err);
    for (uint32_t i = 0; i < b->nsel; i++)
    {
        uint32_t row = b->sel != NULL ? b->sel[i] : i;

        if (row < fail_row)
            w->sel[n++] = (uint16_t) row;
    }
    b->sel = w->sel;
    b->nsel = n;
    b->poison = &w->raise;
}

ax_status ax_fmt_window_filter(ax_task *t, ax_fmt_window *w, ax_fmt_need need, void *scan,
                               const ax_host_need **wait)
{
    const ax_filter *f;

    *wait = NULL;
    if (w->nsteps == 0)
        return AX_OK;
    f = ax_filter_lane_filter(w->req->filter);
    while (w->step < w->nsteps && w->batch.nsel > 0)
    {
        ax_eval_result r = {.fail_row = UINT32_MAX};
        uint32_t step = w->order[w->step], n;
        const uint32_t *cols = ax_filter_step_columns(f, step, &n);
        uint64_t t0 = ax_fmt_now_ns(), t1;
        ax_status st;

        for (uint32_t i = 0; i < n; i++)
        {
            AX_TRY(need(t, scan, cols[i], step));
            if (w->hungry)
                return AX_OK;
        }
        if (w->batch.nsel == 0)
            break;
        t1 = ax_fmt_now_ns();
        st = ax_filter_step(t, w->req->filter, step, &w->batch, &r);
        w->req->stats->decode_ns += t1 - t0;
        w->req->stats->filter_ns += ax_fmt_now_ns() - t1;
        if (st != AX_OK && r.fail_row != UINT32_MAX)
        {
            /* The same step again, on the rows before. */
            ax_fmt_window_cut(t, w, r.fail_row);
            continue;
        }
        AX_TRY(st);
        if (r.need != NULL)
        {
            *wait = r.need;
            return AX_OK;
        }
        w->step++;
    }
    return AX_OK;
}

bool ax_fmt_window_finish(ax_fmt_window *w, ax_fmt_event *ev)
{
    w->active = false;
    w->req->stats->rows_after_filter += w->batch.nsel;
    if (w->batch.nsel == 0 && w->batch.poison == NULL)
        return false;
    if (w->batch.nsel == w->batch.nrows)
        w->batch.sel = NULL;
    ev->step = AX_STEP_BATCH;
    ev->batch = &w->batch;
    return true;
}

ax_status ax_fmt_window_last(ax_task *t, const ax_fmt_window *w, ax_fmt_event *ev)
{
    if (w->raised)
    {
        t->err = w->raise;
        return w->raise.code;
    }
    ev->step = AX_STEP_DONE;
    return AX_OK;
}
