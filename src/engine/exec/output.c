/* Where jobs and the host's thread meet: output queue, external inputs, requests, the first error.
 * Everything here is guarded by ax_exec.lock, taken once per batch.
 *
 * The host is woken when the output was empty and is not any more, on errors, on requests, when an
 * external input has room again, and at the end; never while the lock is held. */
#include "exec/exec_int.h"

#include <string.h>

static void wake_host(ax_exec *x)
{
    if (x->o.wake != NULL)
        x->o.wake(x->o.wake_arg);
}

/* ---- errors and the end ---------------------------------------------------------------------- */

void ax_exec_fail(ax_exec *x, const ax_error *err)
{
    bool first;

    pthread_mutex_lock(&x->lock);
    first = !atomic_load_explicit(&x->failed, memory_order_relaxed);
    if (first)
    {
        x->error = *err;
        atomic_store_explicit(&x->failed, true, memory_order_relaxed);
        atomic_store_explicit(&x->stop, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&x->lock);
    if (first)
        wake_host(x);
}

void ax_exec_poison(ax_lane *l)
{
    ax_exec *x = l->stage->x;
    uint32_t item = l->item == UINT32_MAX ? 0 : l->item;
    uint64_t key = (uint64_t) l->stage->id << 32 | item;

    pthread_mutex_lock(&x->lock);
    if (key < atomic_load_explicit(&x->poison_key, memory_order_relaxed))
    {
        x->poison = l->poison;
        atomic_store_explicit(&x->poison_key, key, memory_order_relaxed);
    }
    pthread_mutex_unlock(&x->lock);
}

static bool any_limit_reached(const ax_exec *x)
{
    for (const ax_stage *st = x->stages; st != NULL; st = st->all_next)
        if (st->sink->kind == AX_SINK_OUTPUT && ax_stage_enough(st))
            return true;
    return false;
}

void ax_exec_finish(ax_exec *x)
{
    pthread_mutex_lock(&x->lock);
    /* A limit that was satisfied by other rows hides the error, as it would below a local scan. */
    if (any_limit_reached(x))
        atomic_store_explicit(&x->poison_key, UINT64_MAX, memory_order_relaxed);
    x->out_done = true;
    pthread_mutex_unlock(&x->lock);
    wake_host(x);
}

/* ---- batches on arenas of their own ---------------------------------------------------------- */

void ax_held_free(ax_held *h)
{
    if (h == NULL)
        return;
    ax_arena_destroy(h->b.arena);
    ax_obj_free(h);
}

/* Back to the free list. */
void ax_held_release(ax_exec *x, ax_held *h)
{
    pthread_mutex_lock(&x->lock);
    h->next = x->free;
    x->free = h;
    pthread_mutex_unlock(&x->lock);
}

static ax_status held_take(ax_task *t, ax_exec *x, ax_held **out)
{
    ax_held *h;

    pthread_mutex_lock(&x->lock);
    h = x->free;
    if (h != NULL)
        x->free = h->next;
    pthread_mutex_unlock(&x->lock);
    if (h == NULL)
    {
        AX_NEW(t, h, (ax_held *) ax_obj_alloc(sizeof *h));
        h->b.arena = ax_arena_create(&x->budget, 0);
        if (h->b.arena == NULL)
        {
            ax_obj_free(h);
            return ax_fail_nomem(t, 0);
        }
    }
    else
    {
        ax_arena *a = h->b.arena;

        ax_arena_reset(a);
        memset(&h->b, 0, sizeof h->b);
        h->b.arena = a;
    }
    h->next = NULL;
    h->bytes = 0;
    *out = h;
    return AX_OK;
}

static ax_status copy_rows(ax_task *t, const ax_batch *b, ax_batch *out)
{
    out->nrows = b->nsel;
    out->nsel = b->nsel;
    out->ncols = b->ncols;
    out->split = b->split;
    out->row0 = b->row0;
    AX_NEW(t, out->col, (ax_vec *) ax_arena_alloc0(out->arena, (b->ncols + 1) * sizeof *out->col));
    if (b->sel != NULL || b->rowid != NULL)
    {
        AX_NEW(t, out->rowid, (ax_rowid *) ax_arena_alloc(out->arena, b->nsel * sizeof(ax_rowid)));
        for (uint32_t i = 0; i < b->nsel; i++)
        {
            uint32_t r = b->sel != NULL ? b->sel[i] : i;

            out->rowid[i] = b->rowid != NULL ? b->rowid[r] : (ax_rowid){b->split, b->row0 + r};
        }
    }
    for (uint32_t i = 0; i < b->ncols; i++)
        AX_TRY(ax_vec_gather(t, out->arena, &b->col[i], b->sel, b->nsel, true, &out->col[i]));
    return AX_OK;
}

ax_status ax_held_copy(ax_task *t, ax_exec *x, const ax_batch *b, ax_held **out)
{
    ax_held *h = NULL;
    ax_status st;

    AX_TRY(held_take(t, x, &h));
    st = copy_rows(t, b, &h->b);
    if (st != AX_OK)
    {
        ax_held_release(x, h);
        return st;
    }
    h->bytes = ax_arena_used_bytes(h->b.arena);
    *out = h;
    return AX_OK;
}

/* ---- the output queue ------------------------------------------------------------------------ */

/* A small memory limit makes a short queue. */
static size_t queue_bytes(const ax_exec *x)
{
    int64_t share = x->budget.limit_bytes / 8;

    return share < AX_QUEUE_BYTES ? (size_t) share : AX_QUEUE_BYTES;
}

bool ax_out_push(ax_lane *l, ax_held *h)
{
    ax_exec *x = l->stage->x;
    bool full, was_empty = false;

    pthread_mutex_lock(&x->lock);
    full = x->out_n > 0 && (x->out_n >= AX_QUEUE_BATCHES || x->out_bytes >= queue_bytes(x));
    if (full && !l->waits_room)
    {
        l->waits_room = true;
        l->next_wait = x->room_waiters;
        x->room_waiters = l;
    }
    if (!full)
    {
        was_empty = x->out_n == 0;
        if (x->out_tail != NULL)
            x->out_tail->next = h;
        else
            x->out_head = h;
        x->out_tail = h;
        x->out_n++;
        x->out_bytes += h->bytes;
        atomic_fetch_add_explicit(&x->rows_out, h->b.nsel, memory_order_relaxed);
    }
    pthread_mutex_unlock(&x->lock);
    if (was_empty)
        wake_host(x);
    return !full;
}

static void free_list(ax_held *h)
{
    while (h != NULL)
    {
        ax_held *next = h->next;

        ax_held_free(h);
        h = next;
    }
}

void ax_out_clear(ax_exec *x)
{
    free_list(x->out_head);
    x->out_head = x->out_tail = NULL;
    x->out_n = 0;
    x->out_bytes = 0;
    ax_held_free(x->given);
    x->given = NULL;
    free_list(x->free);
    x->free = NULL;
    x->room_waiters = NULL;
    x->host_head = x->host_tail = NULL;
    for (uint32_t i = 0; i < AX_MAX_INPUTS; i++)
    {
        free_list(x->input[i].head);
        memset(&x->input[i], 0, sizeof x->input[i]);
    }
}

/* Take the first batch; lanes that wait go on when half of the room is free again.  Under lock. */
static ax_held *out_pop(ax_exec *x)
{
    ax_held *h = x->out_head;

    x->out_head = h->next;
    if (x->out_head == NULL)
        x->out_tail = NULL;
    x->out_n--;
    x->out_bytes -= h->bytes;
    while (x->out_n <= AX_QUEUE_BATCHES / 2 && x->out_bytes < queue_bytes(x) &&
           x->room_waiters != NULL)
    {
        ax_lane *l = x->room_waiters;

        x->room_waiters = l->next_wait;
        l->waits_room = false;
        ax_job_wake(&l->job);
    }
    return h;
}

/* The deferred error, as a batch without rows behind all others.  Under lock. */
static ax_batch *poison_batch(ax_exec *x)
{
    static ax_batch none; /* all zero, never written */

    atomic_store_explicit(&x->poison_key, UINT64_MAX, memory_order_relaxed);
    x->poisoned = none;
    x->poisoned.poison = &x->poison;
    return &x->poisoned;
}

ax_exec_next_result ax_out_next(ax_exec *x, ax_batch **out)
{
    ax_exec_next_result r = AX_EXEC_WAIT;

    if (x->given != NULL)
        ax_held_release(x, x->given);
    x->given = NULL;
    pthread_mutex_lock(&x->lock);
    if (atomic_load_explicit(&x->failed, memory_order_relaxed))
        r = AX_EXEC_ERROR;
    else if (x->host_head != NULL)
        r = AX_EXEC_REQUEST;
    else if (x->out_head != NULL)
    {
        x->given = out_pop(x);
        *out = &x->given->b;
        r = AX_EXEC_BATCH;
    }
    else if (x->out_done &&
             atomic_load_explicit(&x->poison_key, memory_order_relaxed) != UINT64_MAX)
    {
        *out = poison_batch(x);
        r = AX_EXEC_BATCH;
    }
    else if (x->out_done)
        r = AX_EXEC_DONE;
    pthread_mutex_unlock(&x->lock);
    return r;
}

/* ---- requests to the host -------------------------------------------------------------------- */

/* Put the lane at the end of those that wait.  Under lock; true: the host has to be woken. */
static bool host_enqueue(ax_exec *x, ax_lane *l, const ax_host_need *need)
{
    bool first = x->host_head == NULL;

    l->need = need;
    l->waits_host = true;
    l->next_wait = NULL;
    if (first)
        x->host_head = l;
    else
        x->host_tail->next_wait = l;
    x->host_tail = l;
    return first;
}

void ax_host_ask(ax_lane *l, const ax_host_need *need)
{
    ax_exec *x = l->stage->x;
    bool first;

    pthread_mutex_lock(&x->lock);
    first = !l->waits_host && host_enqueue(x, l, need);
    pthread_mutex_unlock(&x->lock);
    l->asked = true;
    if (first)
        wake_host(x);
}

/* A lane without a need waits for the temporary file. */
bool ax_host_ask_file(ax_lane *l)
{
    ax_exec *x = l->stage->x;
    bool first = false, ask;

    pthread_mutex_lock(&x->lock);
    ask = ax_spill_must_ask(&x->spill);
    if (ask)
        first = host_enqueue(x, l, NULL);
    pthread_mutex_unlock(&x->lock);
    l->asked |= ask;
    if (first)
        wake_host(x);
    return ask;
}

/* A wake for another reason (a read that came late) must not let the lane run: it would write over
 * the question while the host reads it. */
bool ax_host_waits(ax_lane *l)
{
    ax_exec *x = l->stage->x;

    if (!l->asked)
        return false;
    pthread_mutex_lock(&x->lock);
    l->asked = l->waits_host;
    pthread_mutex_unlock(&x->lock);
    return l->asked;
}

const ax_host_need *ax_exec_request(const ax_exec *x)
{
    ax_exec *w = (ax_exec *) x;
    const ax_host_need *need;

    pthread_mutex_lock(&w->lock);
    need = w->host_head != NULL ? w->host_head->need : NULL;
    pthread_mutex_unlock(&w->lock);
    return need;
}

bool ax_exec_asks_file(const ax_exec *x)
{
    ax_exec *w = (ax_exec *) x;
    bool asks;

    pthread_mutex_lock(&w->lock);
    asks = w->host_head != NULL && w->host_head->need == NULL;
    pthread_mutex_unlock(&w->lock);
    return asks;
}

/* All lanes that wait for the file go on, wherever they stand in the list. */
void ax_exec_reply_file(ax_exec *x, int fd)
{
    ax_lane **link, *l, *last = NULL;

    pthread_mutex_lock(&x->lock);
    ax_spill_give(&x->spill, fd);
    for (link = &x->host_head; (l = *link) != NULL;)
    {
        if (l->need != NULL)
        {
            last = l;
            link = &l->next_wait;
            continue;
        }
        *link = l->next_wait;
        l->waits_host = false;
        ax_job_wake(&l->job);
    }
    x->host_tail = last;
    pthread_mutex_unlock(&x->lock);
}

ax_status ax_exec_reply(ax_exec *x, const ax_value *value, const ax_error *const *raised)
{
    const ax_host_need *need = ax_exec_request(x);
    ax_status st;
    ax_lane *l;

    AX_CHECK(&x->task, need != NULL, AX_EPLAN, "reply without a request");
    st = ax_host_reply(&x->task, need, value, raised);
    if (st != AX_OK)
    {
        ax_exec_fail(x, &x->task.err);
        return st;
    }
    atomic_fetch_add_explicit(&x->host_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&x->host_values, need->nrows, memory_order_relaxed);
    pthread_mutex_lock(&x->lock);
    l = x->host_head;
    l->need = need->next;
    if (l->need == NULL)
    {
        x->host_head = l->next_wait;
        if (x->host_head == NULL)
            x->host_tail = NULL;
        l->waits_host = false;
        ax_job_wake(&l->job);
    }
    pthread_mutex_unlock(&x->lock);
    return AX_OK;
}

/* ---- external inputs ------------------------------------------------------------------------- */

static bool input_full(const ax_input *in)
{
    return in->n >= AX_QUEUE_BATCHES || in->bytes >= AX_QUEUE_BYTES;
}

ax_status ax_input_next(ax_lane *l, ax_batch **out, ax_go *go)
{
    ax_exec *x = l->stage->x;
    ax_input *in = &x->input[l->stage->input];
    bool had_room = true;
    ax_held *h;

    *out = NULL;
    if (l->held != NULL)
        ax_held_release(x, l->held);
    l->held = NULL;
    if (ax_stage_enough(l->stage))
    {
        *go = AX_GO_END;
        return AX_OK;
    }
    ax_arena_reset(l->task.arena);
    pthread_mutex_lock(&x->lock);
    h = in->head;
    if (h != NULL)
    {
        had_room = !input_full(in);
        in->head = h->next;
        if (in->head == NULL)
            in->tail = NULL;
        in->n--;
        in->bytes -= h->bytes;
        l->item = l->item == UINT32_MAX ? 0 : l->item + 1;
    }
    else if (!in->ended)
        in->waiter = l;
    *go = h != NULL ? AX_GO_BATCH : in->ended ? AX_GO_END : AX_GO_PARK;
    pthread_mutex_unlock(&x->lock);
    if (h != NULL)
    {
        l->held = h;
        *out = &h->b;
    }
    if (!had_room || *go == AX_GO_PARK)
        wake_host(x);
    return AX_OK;
}

static void input_wake(ax_input *in)
{
    if (in->waiter != NULL)
        ax_job_wake(&in->waiter->job);
    in->waiter = NULL;
}

static ax_status feed(ax_exec *x, uint32_t input, const ax_batch *rows, bool *full)
{
    ax_input *in;
    ax_held *h = NULL;

    *full = false;
    AX_CHECK(&x->task, input < AX_MAX_INPUTS && x->input[input].used, AX_EPLAN,
             "no external input %u", input);
    in = &x->input[input];
    AX_CHECK(&x->task, !in->ended, AX_EPLAN, "external input %u has ended", input);
    if (rows->nsel > 0)
        AX_TRY(ax_held_copy(&x->task, x, rows, &h));
    pthread_mutex_lock(&x->lock);
    if (rows->nsel > 0)
    {
        if (in->tail != NULL)
            in->tail->next = h;
        else
            in->head = h;
        in->tail = h;
        in->n++;
        in->bytes += h->bytes;
    }
    *full = input_full(in);
    input_wake(in);
    pthread_mutex_unlock(&x->lock);
    return AX_OK;
}

ax_status ax_exec_feed(ax_exec *x, uint32_t input, const ax_batch *rows, bool *full)
{
    ax_status st = feed(x, input, rows, full);

    if (st != AX_OK)
        ax_exec_fail(x, &x->task.err);
    return st;
}

ax_status ax_exec_feed_end(ax_exec *x, uint32_t input)
{
    AX_CHECK(&x->task, input < AX_MAX_INPUTS && x->input[input].used, AX_EPLAN,
             "no external input %u", input);
    pthread_mutex_lock(&x->lock);
    x->input[input].ended = true;
    input_wake(&x->input[input]);
    pthread_mutex_unlock(&x->lock);
    return AX_OK;
}
