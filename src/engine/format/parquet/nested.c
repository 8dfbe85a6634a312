/* Columns of several leaves or with repetition: levels and values of each leaf, row by row, and
 * from them a vector for the declared column.
 *
 * A window is read leaf by leaf.  A row of a leaf is the slots from one of repetition level 0 up to
 * the next, so that its end is only known when the slot behind it was seen, which may stand on the
 * next page; `ahead` holds levels that were decoded and not yet taken.  Values are decoded when
 * their page is left or the window is full.  Rows that nobody wants are skipped in the same way,
 * their values by count.
 *
 * Lists of scalars become LIST vectors, one for each nesting.  All else becomes JSON text
 * (nested_json.c), a VIEW or DOC vector: the host makes what it wants of that.
 *
 * Everything that is as large as the window is allocated in the batch's arena.
 *
 * Format: apache/parquet-format, README, "Nested Encoding". */
#include "parquet_int.h"

enum { AHEAD = 256 };

typedef struct leaf_state
{
    ax_pq_slots s;
    uint8_t rep[AHEAD], def[AHEAD]; /* levels ahead: [at, n) */
    uint32_t at, n;
    uint64_t pending;         /* values of the open page that belong to slots already taken */
    bool skips;               /* slots and values are thrown away */
} leaf_state;

typedef struct ax_pq_nread
{
    const ax_pq_nest *nest;
    ax_pq_col *col;           /* [nleaf] borrowed from the scan */
    leaf_state *leaf;         /* [nleaf] */
    uint32_t nleaf;
} ax_pq_nread;

/* ---- life ------------------------------------------------------------------------------------ */

ax_status ax_pq_nested_init(ax_task *t, ax_pq_scan *s, ax_pq_col *c, const ax_pq_conv *conv,
                            ax_pq_col *leaf)
{
    ax_pq_nread *r;
    uint32_t i;

    AX_NEW(t, r, (ax_pq_nread *) ax_arena_alloc0(s->arena, sizeof *r));
    c->conv = conv;
    r->nest = conv->nest;
    r->col = leaf;
    r->nleaf = conv->nest->shape->nleaf;
    AX_NEW(t, r->leaf, (leaf_state *) ax_arena_alloc0(s->arena, r->nleaf * sizeof *r->leaf));
    for (i = 0; i < r->nleaf; i++)
    {
        leaf[i].in_nest = true;
        r->leaf[i].s.conv = &conv->nest->conv[i];
        AX_TRY(ax_pq_col_init(t, s, &leaf[i], &conv->nest->conv[i]));
        AX_CHECK(t, leaf[i].meta.num_values >= s->group->nrows, AX_ECORRUPT,
                 "column chunk has %lld values where its row group has %lld rows",
                 (long long) leaf[i].meta.num_values, (long long) s->group->nrows);
    }
    c->scan = s;
    c->nread = r;
    c->fail_row = UINT32_MAX;
    return AX_OK;
}

bool ax_pq_nested_lacks(const ax_pq_col *c)
{
    uint32_t i;

    for (i = 0; c->nread != NULL && i < c->nread->nleaf; i++)
        if (c->nread->col[i].chunk == NULL && c->nread->col[i].len > 0)
            return true;
    return false;
}

void ax_pq_nested_rewind(ax_pq_col *c)
{
    ax_pq_nread *r = c->nread;
    uint32_t i;

    c->pos = 0;
    for (i = 0; i < r->nleaf; i++)
    {
        ax_pq_col_rewind(&r->col[i]);
        r->leaf[i].at = r->leaf[i].n = 0;
        r->leaf[i].pending = 0;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* An array in the batch's arena with room for `need` elements; it grows by doubling. */
static ax_status grow(ax_task *t, ax_arena *a, void *array, uint32_t have, uint32_t cap,
                      size_t width)
{
    void **p = (void **) array, *q;

    AX_NEW(t, q, ax_arena_values(a, (size_t) cap * width));
    if (have > 0)
        memcpy(q, *p, (size_t) have * width);
    *p = q;
    return AX_OK;
}

/* Lengths that are known make no calls. */
static inline void copy_value(uint8_t *to, const uint8_t *from, uint32_t width)
{
    if (width == 8)
        memcpy(to, from, 8);
    else if (width == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, width);
}

static uint32_t more(uint32_t cap, uint32_t need)
{
    uint64_t n = cap < 1024 ? 1024 : cap;

    while (n < need)
        n *= 2;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t) n;
}

static ax_status value_room(ax_task *t, ax_pq_slots *s, uint32_t n, ax_arena *a)
{
    uint32_t cap;

    AX_CHECK(t, (uint64_t) s->nval + n <= INT32_MAX, AX_ELIMIT,
             "lists of one batch have more values than the limit");
    if (s->nval + n <= s->val_cap)
        return AX_OK;
    cap = more(s->val_cap, s->nval + n);
    if (s->conv->kind == CONV_STR)
    {
        AX_TRY(grow(t, a, &s->ptr, s->nval, cap, sizeof *s->ptr));
        AX_TRY(grow(t, a, &s->len, s->nval, cap, sizeof *s->len));
    }
    else
        AX_TRY(grow(t, a, &s->val, s->nval, cap, s->conv->dst_width));
    if (ax_pq_is_lost(s->conv))
    {
        AX_TRY(grow(t, a, &s->lost, s->nval, cap, 1));
        memset(s->lost + s->nval, 0, cap - s->nval);
    }
    s->val_cap = cap;
    return AX_OK;
}

/* Where values are while they are counted: slot `k`, behind value number `val`, in `row`. */
typedef struct slot_walk { uint32_t k, val, row; } slot_walk;
static const slot_walk walk_start = {.row = UINT32_MAX};

/* Value number i of those decoded last cannot be converted.  w goes to its row of the window. */
static ax_status bad_value(ax_task *t, ax_pq_col *c, const leaf_state *l, slot_walk *w, uint32_t i)
{
    if (l->s.lost != NULL)
        l->s.lost[l->s.nval + i] = 1;
    for (; w->k < l->s.n && w->val <= l->s.nval + i; w->k++)
    {
        w->row += l->s.rep[w->k] == 0;
        w->val += l->s.def[w->k] == c->conv->leaf->max_def;
    }
    return ax_pq_bad_value(t, c, w->row);
}

static ax_status from_dict(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t n)
{
    const ax_vec *d = &c->dict->val;
    ax_pq_slots *s = &l->s;
    uint32_t w = c->conv->dst_width, i;
    slot_walk at = walk_start;

    c->runs_ok = false;
    AX_TRY(ax_pq_dict_ids(t, c, n, 0, c->id));
    for (i = 0; c->dict_bad != NULL && i < n; i++)
        if (c->dict_bad[c->id[i]])
            AX_TRY(bad_value(t, c, l, &at, i));
    if (c->conv->kind == CONV_STR)
        for (i = 0; i < n; i++)
        {
            s->ptr[s->nval + i] = d->u.str.base + d->u.str.off[c->id[i]];
            s->len[s->nval + i] = d->u.str.len[c->id[i]];
        }
    else
        for (i = 0; i < n; i++)
            copy_value(s->val + (size_t) (s->nval + i) * w,
                       (const uint8_t *) d->u.data + (size_t) c->id[i] * w, w);
    return AX_OK;
}

/* Check n strings, or rewrite them: *base is where they are then. */
static ax_status check_strings(ax_task *t, ax_pq_col *c, const leaf_state *l, uint32_t n, int gap,
                               ax_arena *a, const uint8_t **base)
{
    const ax_pq_conv *v = c->conv;
    slot_walk at = walk_start;
    bool ascii = true;
    uint32_t i;

    if (v->rewrite == REWRITE_NOT)
    {
        if (!v->check_text || ax_utf8_ok(*base, c->soff, c->slen, n, gap, &ascii))
            return AX_OK;
        for (i = 0; v->mend == AX_ENC_FAIL && i < n; i++)
            if (!ax_utf8_ok(*base, c->soff + i, c->slen + i, 1, -1, &ascii))
            {
                AX_TRY(bad_value(t, c, l, &at, i));
                c->slen[i] = 0;
            }
        if (v->mend == AX_ENC_FAIL)
            return AX_OK;
    }
    return ax_pq_rewrite(t, a, v, c->soff, c->slen, n, base);
}

static void point_at(ax_pq_col *c, ax_pq_slots *s, uint32_t n, const uint8_t *base)
{
    for (uint32_t i = 0; i < n; i++)
    {
        s->ptr[s->nval + i] = base + c->soff[i];
        s->len[s->nval + i] = c->slen[i];
    }
}

static ax_status from_bytes(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t n, ax_batch *b)
{
    const ax_pq_conv *v = c->conv;
    ax_pq_slots *s = &l->s;
    slot_walk at = walk_start;
    const uint8_t *base;
    ax_buf *hold;
    uint8_t *dst;
    uint32_t i;
    int gap;

    AX_TRY(ax_pq_col_strings(t, c, n, c->soff, c->slen, &base, &hold, &gap));
    if (v->kind == CONV_STR)
    {
        AX_TRY(check_strings(t, c, l, n, gap, b->arena, &base));
        point_at(c, s, n, base);
        return hold != NULL ? ax_batch_pin(t, b, hold) : AX_OK;
    }
    dst = s->val + (size_t) s->nval * v->dst_width;
    if (ax_pq_conv_bytes(v, base, c->soff, c->slen, n, dst))
        return AX_OK;
    for (i = 0; i < n; i++, dst += v->dst_width)
        if (!ax_pq_conv_bytes(v, base, c->soff + i, c->slen + i, 1, dst))
        {
            AX_TRY(bad_value(t, c, l, &at, i));
            memset(dst, 0, v->dst_width);
        }
    return AX_OK;
}

static ax_status from_fixed(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t n, ax_batch *b)
{
    const ax_pq_conv *v = c->conv;
    uint8_t *dst = l->s.val + (size_t) l->s.nval * v->dst_width;
    slot_walk at = walk_start;
    const uint8_t *phys;
    uint32_t i;

    AX_TRY(ax_pq_col_fixed(t, c, n, &phys));
    if (v->kind == CONV_STR)
    {
        AX_TRY(ax_pq_rewrite_ints(t, b->arena, v, phys, n, c->soff, c->slen, &phys));
        point_at(c, &l->s, n, phys);
        return AX_OK;
    }
    if (ax_pq_conv_fixed(v, phys, n, dst))
        return AX_OK;
    for (i = 0; i < n; i++, dst += v->dst_width)
        if (!ax_pq_conv_fixed(v, phys + (size_t) i * v->src_width, 1, dst))
        {
            AX_TRY(bad_value(t, c, l, &at, i));
            memset(dst, 0, v->dst_width);
        }
    return AX_OK;
}

/* Decode, or skip, the values of the slots that were taken. */
static ax_status settle(ax_task *t, ax_pq_col *c, leaf_state *l, ax_batch *b)
{
    bool bytes = c->conv->src == SRC_BYTES || c->conv->src == SRC_FIXED;

    if (c->conv->kind == CONV_NULL)
        l->pending = 0;
    if (l->skips && l->pending > 0)
    {
        AX_TRY(ax_pq_col_skip_values(t, c, l->pending));
        l->pending = 0;
    }
    while (l->pending > 0)
    {
        uint32_t n = l->pending < AX_BATCH_ROWS ? (uint32_t) l->pending : AX_BATCH_ROWS;

        AX_TRY(value_room(t, &l->s, n, b->arena));
        if (c->enc == PQ_RLE_DICTIONARY)
            AX_TRY(from_dict(t, c, l, n));
        else if (bytes)
            AX_TRY(from_bytes(t, c, l, n, b));
        else
            AX_TRY(from_fixed(t, c, l, n, b));
        l->s.nval += n;
        l->pending -= n;
    }
    return AX_OK;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static ax_status narrow(ax_task *t, ax_pq_rle *r, uint32_t n, uint32_t most, uint8_t *out,
                        const char *kind)
{
    uint32_t lvl[AHEAD], max = 0, i;

    AX_CHECK(t, ax_pq_rle_read(r, lvl, n, &max), AX_ECORRUPT,
             "%s levels are corrupt or fewer than the page's values", kind);
    AX_CHECK(t, max <= most, AX_ECORRUPT, "%s level %u is above %u", kind, max, most);
    for (i = 0; i < n; i++)
        out[i] = (uint8_t) lvl[i];
    return AX_OK;
}

/* Have levels ahead; *end: the chunk has no more. */
static ax_status look(ax_task *t, ax_pq_col *c, leaf_state *l, ax_batch *b, bool *end)
{
    const ax_pq_leaf *leaf = c->conv->leaf;

    *end = false;
    if (l->at < l->n)
        return AX_OK;
    while (c->page_left == 0)
    {
        AX_TRY(settle(t, c, l, b));
        if (c->slots_left == 0)
        {
            *end = true;
            return AX_OK;
        }
        AX_TRY(ax_pq_col_next_page(t, c));
    }
    AX_CHECK(t, !ax_task_stopped(t), AX_ESTOPPED, "query stopped");
    if (!c->opened)
        AX_TRY(ax_pq_col_open_page(t, c));
    l->at = 0;
    l->n = c->page_left < AHEAD ? c->page_left : AHEAD;
    c->page_left -= l->n;
    if (leaf->max_rep > 0)
        AX_TRY(narrow(t, &c->rep_levels, l->n, leaf->max_rep, l->rep, "repetition"));
    return narrow(t, &c->def, l->n, leaf->max_def, l->def, "definition");
}

/* Take levels ahead into the window. */
static ax_status keep(ax_task *t, leaf_state *l, uint32_t n, ax_arena *a)
{
    ax_pq_slots *s = &l->s;

    if (s->n + n > s->cap)
    {
        uint32_t cap = more(s->cap, s->n + n);

        AX_CHECK(t, (uint64_t) s->n + n <= INT32_MAX, AX_ELIMIT,
                 "lists of one batch have more values than the limit");
        AX_TRY(grow(t, a, &s->def, s->n, cap, 1));
        AX_TRY(grow(t, a, &s->rep, s->n, cap, 1));
        s->cap = cap;
    }
    memcpy(s->def + s->n, l->def + l->at, n);
    memcpy(s->rep + s->n, l->rep + l->at, n);
    s->n += n;
    return AX_OK;
}

/* Rows of the page at hand when it is whole and need not be opened to know them, else 0.  Pages of
 * version 2 begin with a row. */
static uint32_t whole_page(const ax_pq_col *c)
{
    const ax_pq_page *p = &c->page;
    bool counted = p->type == PQ_PAGE_DATA_V2 && p->num_rows > 0 && p->num_rows <= p->num_values;

    if (c->opened || c->page_left == 0 || c->page_left != (uint32_t) p->num_values)
        return 0;
    if (c->keeps_last && p->encoding == PQ_DELTA_BYTE_ARRAY)
        return 0;
    if (c->conv->leaf->max_rep == 0)
        return (uint32_t) p->num_values;
    return counted ? (uint32_t) p->num_rows : 0;
}

/* Step over pages whose rows are all unwanted, at most n - *rows. */
static ax_status skip_pages(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t n, uint32_t *rows,
                            ax_batch *b)
{
    for (;;)
    {
        uint32_t k;

        if (c->page_left == 0)
        {
            AX_TRY(settle(t, c, l, b));
            if (c->slots_left == 0 || *rows == n)
                return AX_OK;
            AX_TRY(ax_pq_col_next_page(t, c));
        }
        k = whole_page(c);
        if (k > n - *rows || (k == 0 && c->page_left > 0))
            return AX_OK;
        *rows += k;
        c->page_left = 0;
        c->scan->req.stats->pages_skipped += k > 0;
    }
}

/* Pass n rows, into the window or (l->skips) to nowhere. */
static ax_status pass(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t n, ax_batch *b)
{
    uint8_t max_def = c->conv->leaf->max_def;
    uint32_t rows = 0, i;
    bool end, stop = n == 0;

    while (!stop)
    {
        uint64_t vals = 0;

        if (l->skips && l->at == l->n)
            AX_TRY(skip_pages(t, c, l, n, &rows, b));
        AX_TRY(look(t, c, l, b, &end));
        if (end)
        {
            AX_CHECK(t, rows == n, AX_ECORRUPT, "column chunk ends before all its rows were found");
            break;
        }
        for (i = l->at; i < l->n; i++)
        {
            if (l->rep[i] == 0)
            {
                stop = rows == n;
                if (stop)
                    break;
                rows++;
            }
            else
                AX_CHECK(t, rows > 0, AX_ECORRUPT, "first value of a row has repetition level %u",
                         l->rep[i]);
            vals += l->def[i] == max_def;
        }
        if (!l->skips)
            AX_TRY(keep(t, l, i - l->at, b->arena));
        l->pending += vals;
        l->at = i;
    }
    return settle(t, c, l, b);
}

/* Rows [row, row + n) of one leaf; `pos`: where the column stands. */
static ax_status read_leaf(ax_task *t, ax_pq_col *c, leaf_state *l, uint32_t pos, uint32_t row,
                           uint32_t n, ax_batch *b)
{
    bool end;

    l->skips = true;
    AX_TRY(pass(t, c, l, row - pos, b));
    l->skips = false;
    l->s = (ax_pq_slots){.conv = c->conv};
    AX_TRY(pass(t, c, l, n, b));
    if (row + n < c->scan->group->nrows)
        return AX_OK;
    AX_TRY(look(t, c, l, b, &end));
    AX_CHECK(t, end, AX_ECORRUPT, "column chunk has more rows than its row group");
    return AX_OK;
}

/* ---- lists of scalars ------------------------------------------------------------------------ */

/* Values of elements: from dense to one for each element. */
static ax_status elements(ax_task *t, const ax_pq_slots *s, const ax_pq_shape *shape, uint32_t n,
                          ax_batch *b, ax_vec *out)
{
    uint32_t w = s->conv->dst_width, at = 0, k = 0, i;
    bool str = s->conv->type.phys == AX_P_STR;
    const uint8_t **ptr = NULL;
    uint32_t *len = NULL;
    uint8_t *val = NULL;

    *out = (ax_vec){.kind = str ? AX_VK_VIEW : AX_VK_FLAT, .type = s->conv->type, .n = n};
    AX_NEW(t, out->null, (uint8_t *) ax_arena_values(b->arena, n));
    if (str)
    {
        AX_NEW(t, ptr, (const uint8_t **) ax_arena_values(b->arena, n * sizeof *ptr));
        AX_NEW(t, len, (uint32_t *) ax_arena_values(b->arena, (size_t) n * sizeof *len));
        out->u.view.ptr = ptr;
        out->u.view.len = len;
    }
    else
    {
        AX_NEW(t, val, (uint8_t *) ax_arena_values(b->arena, (size_t) n * w));
        out->u.data = val;
    }
    for (i = 0; i < s->n; i++)
    {
        bool there;

        if (s->def[i] < shape->edef)
            continue;
        there = s->def[i] >= shape->child->def && s->conv->kind != CONV_NULL;
        out->null[k] = !there || (s->lost != NULL && s->lost[at]);
        if (str)
        {
            ptr[k] = there ? s->ptr[at] : (const uint8_t *) "";
            len[k] = there ? s->len[at] : 0;
        }
        else if (there)
            copy_value(val + (size_t) k * w, s->val + (size_t) at * w, w);
        else
            memset(val + (size_t) k * w, 0, w);
        at += there;
        k++;
    }
    return AX_OK;
}

/* Lists of one nesting: entries so far, and where their elements begin in the nesting below. */
typedef struct level
{
    const ax_pq_shape *shape;
    uint32_t *off;
    uint8_t *null;
    uint32_t n;
    bool nulls;
} level;

/* Slot i belongs to lists of all levels; *total counts the elements of the innermost ones. */
static ax_status list_slot(ax_task *t, const ax_pq_slots *s, uint32_t i, level *lv, uint32_t depth,
                           uint32_t *total)
{
    uint32_t r = s->rep[i], d = s->def[i], k;

    if (r > 0)
        AX_CHECK(t, d >= lv[r - 1].shape->edef && s->def[i - 1] >= lv[r - 1].shape->edef,
                 AX_ECORRUPT, "an empty or null list has more than one value");
    for (k = r; k < depth; k++)
    {
        level *l = &lv[k];

        if (k > 0 && d < lv[k - 1].shape->edef)
            return AX_OK;
        l->off[l->n] = k + 1 < depth ? lv[k + 1].n : *total;
        l->null[l->n] = d < l->shape->def;
        l->nulls |= l->null[l->n] != 0;
        l->n++;
    }
    *total += d >= lv[depth - 1].shape->edef;
    return AX_OK;
}

static ax_status list_vec(ax_task *t, ax_pq_col *c, uint32_t n, ax_batch *b, ax_vec *out)
{
    const ax_pq_shape *shape = c->nread->nest->shape;
    const ax_pq_slots *s = &c->nread->leaf[0].s;
    level lv[PQ_MAX_DIMENSIONS];
    uint32_t depth = 0, total = 0, i, k;

    for (; shape->kind == SHAPE_LIST; shape = shape->child, depth++)
    {
        size_t cap = depth == 0 ? n : s->n;

        lv[depth] = (level){.shape = shape};
        AX_NEW(t, lv[depth].off, (uint32_t *) ax_arena_values(b->arena, (cap + 1) * 4));
        AX_NEW(t, lv[depth].null, (uint8_t *) ax_arena_values(b->arena, cap));
    }
    for (i = 0; i < s->n; i++)
        AX_TRY(list_slot(t, s, i, lv, depth, &total));
    AX_ASSERT(lv[0].n == n);
    for (k = 0; k < depth; k++)
    {
        level *l = &lv[k];
        ax_vec *child;

        l->off[l->n] = k + 1 < depth ? lv[k + 1].n : total;
        AX_NEW(t, child, (ax_vec *) ax_arena_alloc0(b->arena, sizeof *child));
        *out = (ax_vec){.kind = AX_VK_LIST, .type = c->conv->type, .n = l->n,
                        .null = l->nulls ? l->null : NULL};
        out->u.list.off = l->off;
        out->u.list.child = child;
        out = child;
    }
    return elements(t, s, lv[depth - 1].shape, total, b, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

ax_status ax_pq_slots_none(ax_task *t, ax_pq_slots *slots, const ax_pq_shape *root,
                           const ax_pq_shape *shape)
{
    ax_pq_slots *s = slots + (shape->leaf0 - root->leaf0), *first = s;
    uint32_t i;

    for (i = 0; i < shape->nleaf; i++, s++)
    {
        AX_CHECK(t, s->at < s->n && s->def[s->at] == first->def[i > 0 ? first->at - 1 : first->at],
                 AX_ECORRUPT, "fields of one group do not agree on what is null or empty");
        s->at++;
    }
    return AX_OK;
}

static ax_status json_vec(ax_task *t, ax_pq_col *c, uint32_t n, ax_batch *b, ax_vec *out)
{
    ax_pq_nread *r = c->nread;
    const uint8_t **ptr;
    ax_pq_slots *slots;
    uint32_t *len, i;
    bool nulls = false;

    AX_NEW(t, slots, (ax_pq_slots *) ax_arena_alloc(b->arena, r->nleaf * sizeof *slots));
    for (i = 0; i < r->nleaf; i++)
        slots[i] = r->leaf[i].s;
    AX_NEW(t, ptr, (const uint8_t **) ax_arena_values(b->arena, n * sizeof *ptr));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(b->arena, n * sizeof *len));
    *out = (ax_vec){.kind = AX_VK_VIEW, .type = c->conv->type, .n = n};
    AX_NEW(t, out->null, (uint8_t *) ax_arena_values(b->arena, n));
    AX_TRY(ax_pq_nested_json(t, b->arena, c, r->nest, slots, n, ptr, len, out->null));
    for (i = 0; i < n; i++)
        nulls |= out->null[i] != 0;
    if (!nulls)
        out->null = NULL;
    if (c->conv->type.phys == AX_P_DOC)
    {
        out->kind = AX_VK_DOC;
        out->u.doc.ptr = ptr;
        out->u.doc.len = len;
        return AX_OK;
    }
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

ax_status ax_pq_nested_read(ax_task *t, ax_pq_col *c, uint32_t row, uint32_t n, ax_batch *b,
                            ax_vec *out)
{
    ax_pq_nread *r = c->nread;
    uint32_t i;

    AX_ASSERT(row >= c->pos && n <= AX_BATCH_ROWS);
    c->fail_row = UINT32_MAX;
    for (i = 0; i < r->nleaf; i++)
    {
        ax_status st;

        r->col[i].fail_row = UINT32_MAX;
        st = read_leaf(t, &r->col[i], &r->leaf[i], c->pos, row, n, b);
        if (st != AX_OK)
        {
            c->fail_row = r->col[i].fail_row;
            ax_note_column(t, r->col[i].conv->leaf->path);
            if (r->col[i].page.off > 0)
                ax_note_page(t, r->col[i].page_no < 0 ? 0 : r->col[i].page_no, r->col[i].page.off);
            return st;
        }
    }
    c->pos = row + n;
    if (r->nest->list)
        AX_TRY(list_vec(t, c, n, b, out));
    else
        AX_TRY(json_vec(t, c, n, b, out));
    for (i = 0; c->conv->not_null && out->null != NULL && i < n; i++)
        if (out->null[i] && ax_fmt_window_wants(&c->scan->w, i))
        {
            c->fail_row = i;
            return ax_fail(t, AX_ENOTNULL, "null value in a column declared NOT NULL");
        }
    return AX_OK;
}
