/* One row group for several scans: who takes which rows, and what is made once for all.
 *
 *   scan A   rows [0, k)   [2k, 3k) ...        each goes forward only, so that no scan steps over
 *   scan B   rows [k, 2k)  ...                 the rows of the others more than once
 *
 * Rows are taken up to where a page of the largest column ends, so that pages are decompressed by
 * one scan alone.  The bytes of chunks belong to all, dictionaries, and the pages of chunks that
 * have few (DuckDB's): one scan reads, decodes or decompresses them, while the others do the same
 * with other columns, or wait.  Large pages are cut, and all scans decompress them together.  Where
 * there is no memory for that, one scan takes all rows.
 *
 * What is shared lives in an arena of its own, from the first scan's beginning to the last one's
 * end. */
#include "share_int.h"

enum { SHARE_ROWS = 65536, CLAIMS_PER_SCAN = 4, PAGES_PER_SCAN = 4, SMALL_PAGE_BYTES = 64 << 10 };
enum { PAGE_BYTES = 128 << 20 }; /* about the largest that writers make */

/* Is there memory for what all scans share: chunks, and the pages of those that have few? */
static bool fits(const ax_pq_scan *s)
{
    uint64_t most = 2 * s->req.buffer_bytes * s->req.share->nscans, sum = 0;
    uint64_t pages = (uint64_t) PAGES_PER_SCAN * PAGE_BYTES * s->req.share->nscans;

    for (uint32_t i = 0; i < s->nphys; i++)
    {
        const ax_pq_col *c = &s->col[i];

        if (c->scan == NULL || c->len == 0 || c->meta.uncompressed < 0)
            continue;
        sum += c->len;
        sum += (uint64_t) c->meta.uncompressed < pages ? (uint64_t) c->meta.uncompressed : pages;
    }
    return most == 0 || sum <= most;
}

bool ax_pq_share_alone(ax_pq_scan *s)
{
    uint32_t none = 0;

    if (s->req.share == NULL || fits(s))
        return false;
    if (!atomic_compare_exchange_strong_explicit(&s->req.share->next, &none, UINT32_MAX,
                                                 memory_order_relaxed, memory_order_relaxed))
        return true;
    s->req.share = NULL;
    return false;
}

ax_status ax_pq_share_join(ax_task *t, ax_pq_scan *s)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_shared *d = NULL;
    ax_arena *a = NULL;

    if (h == NULL)
        return AX_OK;
    pthread_mutex_lock(&h->lock);
    if (h->state == NULL)
    {
        a = ax_arena_create(s->req.budget, 0);
        d = a != NULL ? (ax_pq_shared *) ax_arena_alloc0(a, sizeof *d) : NULL;
        if (d != NULL)
            d->whole = (ax_pq_whole *) ax_arena_alloc0(a, (s->nphys + 1) * sizeof *d->whole);
        if (d != NULL && d->whole != NULL)
        {
            d->arena = a;
            d->n = s->nphys;
            h->state = d;
            s->first = !h->seen;
            h->seen = true;
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
    ax_pq_shared *d = NULL;

    if (!s->joined)
        return;
    s->joined = false;
    pthread_mutex_lock(&h->lock);
    for (uint32_t i = 0; i < s->nphys; i++)
        if (s->col[i].fetching) /* somebody else has to */
        {
            s->col[i].fetching = false;
            ((ax_pq_shared *) h->state)->whole[i].chunk_state = PQ_WHOLE_FREE;
            ax_fmt_share_tell(h);
        }
    if (--h->users == 0)
    {
        d = (ax_pq_shared *) h->state;
        h->state = NULL;
    }
    pthread_mutex_unlock(&h->lock);
    if (d == NULL)
        return;
    for (uint32_t i = 0; i < d->n; i++)
    {
        ax_buf_unref(d->whole[i].chunk);
        for (uint32_t k = 0; k < d->whole[i].npages; k++)
            ax_pq_team_free(&d->whole[i].page[k]);
        ax_pq_team_free(&d->whole[i].dict_page);
        if (d->whole[i].dict != NULL)
            ax_arena_destroy(d->whole[i].dict->arena);
    }
    ax_arena_destroy(d->arena);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

ax_pq_whose ax_pq_share_bytes(ax_pq_scan *s, uint32_t i, uint32_t *epoch)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_whose whose = PQ_OTHERS;
    ax_buf *chunk = NULL;
    ax_pq_whole *w;

    pthread_mutex_lock(&h->lock);
    *epoch = h->epoch;
    w = &((ax_pq_shared *) h->state)->whole[i];
    if (w->chunk_state == PQ_WHOLE_READY)
        chunk = ax_buf_ref(w->chunk);
    else if (w->chunk_state == PQ_WHOLE_FREE)
    {
        w->chunk_state = PQ_WHOLE_TAKEN;
        s->col[i].fetching = true;
        whose = PQ_MINE;
    }
    pthread_mutex_unlock(&h->lock);
    if (chunk == NULL)
        return whose;
    ax_pq_col_data(&s->col[i], chunk);
    return PQ_HERE;
}

void ax_pq_share_give(ax_pq_scan *s, uint32_t i)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_whole *w;

    if (!s->col[i].fetching)
        return;
    s->col[i].fetching = false;
    pthread_mutex_lock(&h->lock);
    w = &((ax_pq_shared *) h->state)->whole[i];
    w->chunk = ax_buf_ref(s->col[i].chunk);
    w->chunk_state = PQ_WHOLE_READY;
    ax_fmt_share_tell(h);
    pthread_mutex_unlock(&h->lock);
}

/* ---- pages that all use ---------------------------------------------------------------------- */

/* The data pages of a chunk into p[most], where it has no more of them, all large and compressed;
 * returns how many.  With so few pages, who takes the rows of one leaves too little for others. */
static uint32_t few_pages(ax_task *t, const ax_pq_col *c, ax_pq_page *p, uint32_t most)
{
    int64_t left = c->slots_left;
    ax_cur cur = c->cur;
    uint32_t n = 0;

    if (c->pages.n > 0 || c->codec == AX_CDC_NONE || c->pos > 0 || c->page_no >= 0)
        return 0;
    while (left > 0)
    {
        ax_pq_page one;

        if (ax_pq_page_header(t, &cur, (int64_t) (c->chunk_off + ax_cur_off(&cur)), left, &one) !=
            AX_OK)
        {
            ax_error_clear(&t->err); /* the reader will come by */
            return 0;
        }
        if (one.type != PQ_PAGE_DATA && one.type != PQ_PAGE_DATA_V2)
            continue;
        if (one.type == PQ_PAGE_DATA_V2 &&
            (!one.is_compressed || one.compressed <= one.def_len + one.rep_len))
            return 0; /* read in place */
        if (n == most || one.uncompressed <= SMALL_PAGE_BYTES || one.num_values == 0)
            return 0;
        left -= one.num_values;
        p[n++] = one;
    }
    return n;
}

/* Teams for n pages of column c, with marks for those whose strings are stepped through; the lock
 * is held.  NULL: no memory. */
static ax_pq_team *make_teams(ax_arena *a, const ax_pq_col *c, const ax_pq_page *p, uint32_t n)
{
    ax_pq_team *m = (ax_pq_team *) ax_arena_alloc0(a, n * sizeof *m);

    for (uint32_t k = 0; m != NULL && k < n; k++)
    {
        size_t marks = (size_t) p[k].num_values / AX_PQ_MARK_VALUES + 1;

        if (c->conv->src != SRC_BYTES || p[k].encoding != PQ_PLAIN)
            continue;
        m[k].marks = (ax_pq_mark *) ax_arena_alloc0(a, marks * sizeof *m[k].marks);
        if (m[k].marks == NULL)
            return NULL;
    }
    return m;
}

/* Take part in decompressing the pages of column i; *wait: others have not finished. */
static ax_status share_data(ax_task *t, ax_pq_scan *s, uint32_t i, bool *wait)
{
    ax_pq_whole *w = &((ax_pq_shared *) s->req.share->state)->whole[i];
    ax_pq_col *c = &s->col[i];
    uint32_t most = PAGES_PER_SCAN * s->req.share->nscans, n;
    ax_pq_page *p;

    *wait = false;
    AX_NEW(t, p, (ax_pq_page *) ax_arena_alloc(t->arena, most * sizeof *p));
    n = few_pages(t, c, p, most);
    if (n == 0)
        return AX_OK;
    pthread_mutex_lock(&s->req.share->lock);
    if (w->page == NULL)
        w->page = make_teams(((ax_pq_shared *) s->req.share->state)->arena, c, p, n);
    if (w->page != NULL)
        w->npages = n;
    pthread_mutex_unlock(&s->req.share->lock);
    if (w->page == NULL)
        return ax_fail_nomem(t, n * sizeof *w->page);
    for (uint32_t k = 0; k < n; k++)
    {
        bool behind;

        AX_TRY(ax_pq_team_page(t, s, c, &w->page[k], &p[k], &behind));
        *wait |= behind;
    }
    if (*wait)
        return AX_OK;
    AX_NEW(t, c->whole, (ax_buf **) ax_arena_alloc(s->arena, n * sizeof *c->whole));
    AX_NEW(t, c->whole_marks,
           (ax_pq_mark **) ax_arena_alloc(s->arena, n * sizeof *c->whole_marks));
    for (c->nwhole = 0; c->nwhole < n; c->nwhole++)
    {
        c->whole[c->nwhole] = ax_buf_ref(w->page[c->nwhole].body);
        c->whole_marks[c->nwhole] = w->page[c->nwhole].marks;
    }
    return AX_OK;
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
static ax_status make_dictionary(ax_task *t, ax_pq_scan *s, uint32_t i, const ax_pq_page *p,
                                 ax_buf *body)
{
    ax_fmt_share *h = s->req.share;
    ax_pq_col *c = &s->col[i];
    ax_status st = ax_pq_dict_load(t, c, p, body);
    ax_pq_whole *w;

    pthread_mutex_lock(&h->lock);
    w = &((ax_pq_shared *) h->state)->whole[i];
    w->dict_state = st == AX_OK ? PQ_WHOLE_READY : PQ_WHOLE_FREE;
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
    ax_pq_whole *w;

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
    w = &((ax_pq_shared *) h->state)->whole[i];
    if (c->codec != AX_CDC_NONE && p.uncompressed > SMALL_PAGE_BYTES)
    {
        AX_TRY(ax_pq_team_page(t, s, c, &w->dict_page, &p, behind));
        if (*behind)
            return AX_OK;
    }
    pthread_mutex_lock(&h->lock);
    state = w->dict_state;
    if (state == PQ_WHOLE_FREE)
        w->dict_state = PQ_WHOLE_TAKEN;
    pthread_mutex_unlock(&h->lock);
    *behind = state == PQ_WHOLE_TAKEN;
    if (*behind)
        return AX_OK;
    if (state == PQ_WHOLE_FREE)
        AX_TRY(make_dictionary(t, s, i, &p, w->dict_page.body));
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
        bool behind;

        if (c->staged || c->chunk == NULL || c->nread != NULL || c->in_nest)
            continue;
        AX_TRY(share_dictionary(t, s, i, &behind));
        if (behind)
        {
            *wait = true;
            continue;
        }
        AX_TRY(share_data(t, s, i, &behind));
        c->staged = !behind;
        *wait |= behind;
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

        if (c->chunk != NULL && c->nwhole == 0 && c->pages.n == 0 && c->nread == NULL &&
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
