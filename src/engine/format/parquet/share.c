/* One row group for several scans: who takes which rows, and pages that are decompressed once.
 *
 *   scan A   rows [0, k)   [2k, 3k) ...        each goes forward only, so that no scan steps over
 *   scan B   rows [k, 2k)  ...                 the rows of the others more than once
 *
 * Rows are taken up to where a page of the largest column ends, so that pages are decompressed by
 * one scan alone.  Dictionaries belong to all, and so does a chunk that is one page (DuckDB's are):
 * one scan decodes or decompresses them, while the others do the same with other columns, or wait.
 *
 * What is shared lives in an arena of its own, from the first scan's beginning to the last one's
 * end. */
#include "parquet_int.h"

enum { SHARE_ROWS = 65536, CLAIMS_PER_SCAN = 4, SMALL_PAGE_BYTES = 64 << 10 };

enum { WHOLE_FREE, WHOLE_TAKEN, WHOLE_READY };

/* Of a column's chunk: its dictionary, and its only data page. */
typedef struct whole
{
    uint8_t state, dict_state; /* WHOLE_* */
    ax_buf *body;
    ax_dict *dict;            /* owned through its arena; scans have dictionaries of their own with
                               * the same values, since caches hang on them */
    uint8_t *dict_bad;        /* in that arena */
} whole;

typedef struct shared
{
    ax_arena *arena;
    whole *whole;             /* [nphys of the scans] */
    uint32_t n;
} shared;

ax_status ax_pq_share_join(ax_task *t, ax_pq_scan *s)
{
    ax_fmt_share *h = s->req.share;
    shared *d = NULL;
    ax_arena *a = NULL;

    if (h == NULL)
        return AX_OK;
    pthread_mutex_lock(&h->lock);
    if (h->state == NULL)
    {
        a = ax_arena_create(s->req.budget, 0);
        d = a != NULL ? (shared *) ax_arena_alloc0(a, sizeof *d) : NULL;
        if (d != NULL)
            d->whole = (whole *) ax_arena_alloc0(a, (s->nphys + 1) * sizeof *d->whole);
        if (d != NULL && d->whole != NULL)
        {
            d->arena = a;
            d->n = s->nphys;
            h->state = d;
        }
    }
    h->users += h->state != NULL;
    s->joined = h->state != NULL;
    pthread_mutex_unlock(&h->lock);
    if (s->joined)
        return AX_OK;
    if (a != NULL)
        ax_arena_destroy(a);
    return ax_fail_nomem(t, sizeof *d);
}

void ax_pq_share_leave(ax_pq_scan *s)
{
    ax_fmt_share *h = s->req.share;
    shared *d = NULL;

    if (!s->joined)
        return;
    s->joined = false;
    pthread_mutex_lock(&h->lock);
    if (--h->users == 0)
    {
        d = (shared *) h->state;
        h->state = NULL;
    }
    pthread_mutex_unlock(&h->lock);
    if (d == NULL)
        return;
    for (uint32_t i = 0; i < d->n; i++)
    {
        ax_buf_unref(d->whole[i].body);
        if (d->whole[i].dict != NULL)
            ax_arena_destroy(d->whole[i].dict->arena);
    }
    ax_arena_destroy(d->arena);
}

/* ---- pages that all use ---------------------------------------------------------------------- */

/* The data page of a chunk that has only one, large and compressed. */
static bool only_page(ax_task *t, const ax_pq_col *c, ax_pq_page *p)
{
    ax_cur cur = c->cur;

    if (c->pages.n > 0 || c->codec == AX_CDC_NONE || c->pos > 0 || c->page_no >= 0)
        return false;
    do
    {
        if (ax_pq_page_header(t, &cur, (int64_t) (c->chunk_off + ax_cur_off(&cur)), c->slots_left,
                              p) != AX_OK)
        {
            ax_error_clear(&t->err); /* the reader will come by */
            return false;
        }
    } while (p->type != PQ_PAGE_DATA && p->type != PQ_PAGE_DATA_V2);
    if (p->type == PQ_PAGE_DATA_V2 &&
        (!p->is_compressed || p->compressed <= p->def_len + p->rep_len))
        return false; /* read in place */
    return p->num_values == c->meta.num_values && p->uncompressed > SMALL_PAGE_BYTES;
}

/* Take page i to decompress it; or *body is there already; or somebody has it: false. */
static bool take_whole(ax_pq_scan *s, uint32_t i, ax_buf **body)
{
    ax_fmt_share *h = s->req.share;
    whole *w;
    bool free;

    *body = NULL;
    pthread_mutex_lock(&h->lock);
    w = &((shared *) h->state)->whole[i];
    free = w->state == WHOLE_FREE;
    if (free)
        w->state = WHOLE_TAKEN;
    else if (w->state == WHOLE_READY)
        *body = ax_buf_ref(w->body);
    pthread_mutex_unlock(&h->lock);
    return free || *body != NULL;
}

static ax_status make_whole(ax_task *t, ax_pq_scan *s, uint32_t i, const ax_pq_page *p)
{
    ax_fmt_share *h = s->req.share;
    const uint8_t *v, *end;
    ax_buf *body = NULL;
    ax_status st = ax_pq_page_body(t, &s->col[i], p, &body, &v, &end);
    whole *w;

    pthread_mutex_lock(&h->lock);
    w = &((shared *) h->state)->whole[i];
    w->state = st == AX_OK ? WHOLE_READY : WHOLE_FREE;
    w->body = st == AX_OK ? ax_buf_ref(body) : NULL;
    ax_fmt_share_tell(h);
    pthread_mutex_unlock(&h->lock);
    s->col[i].whole = body;
    return st;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* A dictionary of this scan's own with the values of d. */
static ax_status own_dictionary(ax_task *t, ax_pq_scan *s, ax_pq_col *c, const ax_dict *d,
                                uint8_t *bad)
{
    ax_arena *a;
    ax_dict *own;

    AX_NEW(t, a, ax_arena_create(s->req.budget, 0));
    own = (ax_dict *) ax_arena_alloc0(a, sizeof *own);
    if (own == NULL)
    {
        ax_arena_destroy(a);
        return ax_fail_nomem(t, sizeof *own);
    }
    own->n = d->n;
    own->uid = ax_dict_uid();
    own->val = d->val;
    own->arena = a;
    c->dict = own;
    c->dict_bad = bad;
    return AX_OK;
}

/* Decode the dictionary and give it away. */
static ax_status make_dictionary(ax_task *t, ax_pq_scan *s, uint32_t i, const ax_pq_page *p)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_col *c = &s->col[i];
    ax_status st = ax_pq_dict_load(t, c, p);
    whole *w;

    pthread_mutex_lock(&h->lock);
    w = &((shared *) h->state)->whole[i];
    w->dict_state = st == AX_OK ? WHOLE_READY : WHOLE_FREE;
    w->dict = st == AX_OK ? c->dict : NULL;
    w->dict_bad = st == AX_OK ? c->dict_bad : NULL;
    ax_fmt_share_tell(h);
    pthread_mutex_unlock(&h->lock);
    AX_TRY(st);
    c->dict = NULL;
    return own_dictionary(t, s, c, w->dict, w->dict_bad);
}

/* The dictionary at the beginning of a chunk; *behind: another scan decodes it. */
static ax_status share_dictionary(ax_task *t, ax_pq_scan *s, uint32_t i, bool *behind)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_col *c = &s->col[i];
    ax_cur cur = c->cur;
    ax_pq_page p;
    uint8_t state;
    whole *w;

    *behind = false;
    if (c->pages.n > 0 || c->dict != NULL || c->pos > 0 || c->page_no >= 0)
        return AX_OK;
    if (ax_pq_page_header(t, &cur, (int64_t) c->chunk_off, c->slots_left, &p) != AX_OK)
    {
        ax_error_clear(&t->err); /* the reader will come by */
        return AX_OK;
    }
    if (p.type != PQ_PAGE_DICTIONARY)
        return AX_OK;
    pthread_mutex_lock(&h->lock);
    w = &((shared *) h->state)->whole[i];
    state = w->dict_state;
    if (state == WHOLE_FREE)
        w->dict_state = WHOLE_TAKEN;
    pthread_mutex_unlock(&h->lock);
    *behind = state == WHOLE_TAKEN;
    if (*behind)
        return AX_OK;
    if (state == WHOLE_FREE)
        AX_TRY(make_dictionary(t, s, i, &p));
    else
        AX_TRY(own_dictionary(t, s, c, w->dict, w->dict_bad));
    c->cur = cur;
    return AX_OK;
}

ax_status ax_pq_share_pages(ax_task *t, ax_pq_scan *s, bool *wait, uint32_t *epoch)
{
    ax_fmt_share *h = s->req.share;

    *wait = false;
    if (!s->joined)
        return AX_OK;
    pthread_mutex_lock(&h->lock);
    *epoch = h->epoch;
    pthread_mutex_unlock(&h->lock);
    for (uint32_t i = 0; i < s->nphys; i++)
    {
        ax_pq_col *c = &s->col[i];
        ax_pq_page p;
        ax_buf *body;
        bool behind;

        if (c->staged || c->chunk == NULL || c->nread != NULL || c->in_nest)
            continue;
        AX_TRY(share_dictionary(t, s, i, &behind));
        if (behind)
        {
            *wait = true;
            continue;
        }
        c->staged = true;
        if (!only_page(t, c, &p))
            continue;
        if (!take_whole(s, i, &body))
        {
            c->staged = false;
            *wait = true;
            continue;
        }
        c->whole = body;
        if (body == NULL)
            AX_TRY(make_whole(t, s, i, &p));
    }
    return AX_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* First rows of the pages of the largest column that has several. */
static ax_status find_pages(ax_task *t, ax_pq_scan *s)
{
    const ax_pq_col *best = NULL;
    uint32_t *start, n = 0, cap;
    uint64_t row = 0;
    ax_cur cur;

    for (uint32_t i = 0; i < s->nphys; i++)
    {
        const ax_pq_col *c = &s->col[i];

        if (c->chunk != NULL && c->whole == NULL && c->pages.n == 0 && c->nread == NULL &&
            !c->in_nest && c->page_no < 0 && (best == NULL || c->len > best->len))
            best = c;
    }
    s->claims_ready = true;
    if (best == NULL)
        return AX_OK;
    cap = (uint32_t) (best->len / SMALL_PAGE_BYTES) + 64;
    AX_NEW(t, start, (uint32_t *) ax_arena_alloc(s->arena, cap * sizeof *start));
    for (cur = best->cur; row < (uint64_t) s->group->nrows && n < cap;)
    {
        ax_pq_page p;

        if (ax_pq_page_header(t, &cur, 0, s->group->nrows - (int64_t) row, &p) != AX_OK)
        {
            ax_error_clear(&t->err); /* the reader will come by */
            break;
        }
        if (p.type != PQ_PAGE_DATA && p.type != PQ_PAGE_DATA_V2)
            continue;
        start[n++] = (uint32_t) row;
        row += (uint32_t) p.num_values;
    }
    s->page_start = start;
    s->npage_starts = n;
    return AX_OK;
}

/* Where to end a claim that begins at `from`. */
static uint32_t claim_end(const ax_pq_scan *s, uint32_t from, uint32_t rows)
{
    uint64_t step = rows / (CLAIMS_PER_SCAN * s->req.share->nscans), want;

    step = step < SHARE_ROWS ? SHARE_ROWS : step;
    want = from + (step + AX_BATCH_ROWS - 1) / AX_BATCH_ROWS * AX_BATCH_ROWS;
    for (uint32_t i = 0; i < s->npage_starts; i++)
        if (s->page_start[i] > from && s->page_start[i] + step / 4 >= want)
        {
            want = s->page_start[i];
            break;
        }
    return want < rows ? (uint32_t) want : rows;
}

ax_status ax_pq_share_claim(ax_task *t, ax_pq_scan *s, bool *any)
{
    _Atomic uint32_t *next = &s->req.share->next;
    uint32_t rows = (uint32_t) s->group->nrows, from, end;

    *any = false;
    if (!s->claims_ready)
        AX_TRY(find_pages(t, s));
    from = atomic_load_explicit(next, memory_order_relaxed);
    do
    {
        if (from >= rows)
            return AX_OK;
        end = claim_end(s, from, rows);
    } while (!atomic_compare_exchange_weak_explicit(next, &from, end < rows ? end : UINT32_MAX,
                                                    memory_order_relaxed, memory_order_relaxed));
    s->claim = (ax_rowrange){from, end};
    *any = true;
    return AX_OK;
}
