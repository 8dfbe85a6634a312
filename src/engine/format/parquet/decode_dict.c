/* Dictionaries: their page, and the ids of data pages.
 *
 * A dictionary is decoded once: values are converted to the declared type, text is checked, and the
 * result is shared by every batch of the row group.  Its strings stay in the page, which it pins.
 *
 * Format: apache/parquet-format, Encodings.md, "Dictionary Encoding". */
#include "parquet_int.h"

static void unref_buffer(void *arg) { ax_buf_unref((ax_buf *) arg); }

/* Some entry cannot be converted: find out which, and give it a harmless value.  It is an error of
 * the rows that have it. */
static ax_status mark_bad(ax_task *t, ax_pq_col *c, ax_dict *d, uint32_t i)
{
    if (c->dict_bad == NULL)
        AX_NEW(t, c->dict_bad, (uint8_t *) ax_arena_alloc0(d->arena, d->n));
    c->dict_bad[i] = 1;
    return AX_OK;
}

static ax_status dict_strings(ax_task *t, ax_pq_col *c, ax_dict *d, uint32_t *off, uint32_t *len)
{
    bool ascii = c->conv->check_text, ok = true;
    uint32_t i;

    d->val.u.str.base = c->base;
    d->val.u.str.off = off;
    d->val.u.str.len = len;
    if (c->conv->check_text)
        ok = ax_utf8_ok(c->base, off, len, d->n, c->conv->src == SRC_FIXED ? 0 : 4, &ascii);
    if (c->conv->rewrite != REWRITE_NOT || (!ok && c->conv->mend != AX_ENC_FAIL))
    {
        ascii = false;
        AX_TRY(ax_pq_rewrite(t, d->arena, c->conv, off, len, d->n, &d->val.u.str.base));
    }
    else if (!ok)
        for (i = 0; i < d->n; i++)
            if (!ax_utf8_ok(c->base, off + i, len + i, 1, -1, &ascii))
            {
                AX_TRY(mark_bad(t, c, d, i));
                len[i] = 0;
            }
    d->val.flags = ascii ? AX_VF_ASCII : 0;
    return AX_OK;
}

static ax_status dict_bytes(ax_task *t, ax_pq_col *c, ax_dict *d)
{
    uint32_t *off, *len, w = c->conv->dst_width, i;
    size_t bytes = (size_t) d->n * 4;
    uint8_t *val;

    AX_NEW(t, off, (uint32_t *) ax_arena_values(d->arena, bytes));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(d->arena, bytes));
    AX_TRY(ax_pq_plain_str(t, c, d->n, off, len));
    if (c->conv->kind == CONV_STR)
        return dict_strings(t, c, d, off, len);
    AX_NEW(t, val, (uint8_t *) ax_arena_values(d->arena, (size_t) d->n * w));
    d->val.u.data = val;
    if (ax_pq_conv_bytes(c->conv, c->base, off, len, d->n, val))
        return AX_OK;
    for (i = 0; i < d->n; i++)
        if (!ax_pq_conv_bytes(c->conv, c->base, off + i, len + i, 1, val + (size_t) i * w))
        {
            AX_TRY(mark_bad(t, c, d, i));
            memset(val + (size_t) i * w, 0, w);
        }
    return AX_OK;
}

/* Integers that become strings. */
static ax_status dict_ints(ax_task *t, ax_pq_col *c, ax_dict *d)
{
    uint32_t *off, *len;
    size_t bytes = (size_t) d->n * 4;

    AX_NEW(t, off, (uint32_t *) ax_arena_values(d->arena, bytes));
    AX_NEW(t, len, (uint32_t *) ax_arena_values(d->arena, bytes));
    d->val.u.str.off = off;
    d->val.u.str.len = len;
    return ax_pq_rewrite_ints(t, d->arena, c->conv, c->v, d->n, off, len, &d->val.u.str.base);
}

static ax_status dict_fixed(ax_task *t, ax_pq_col *c, ax_dict *d)
{
    uint32_t done = 0, w = c->conv->dst_width, i;
    uint8_t *val;

    if (c->conv->kind == CONV_STR)
        return dict_ints(t, c, d);
    AX_NEW(t, val, (uint8_t *) ax_arena_values(d->arena, (size_t) d->n * w));
    d->val.u.data = val;
    while (done < d->n)
    {
        uint32_t k = d->n - done < AX_BATCH_ROWS ? d->n - done : AX_BATCH_ROWS;
        const uint8_t *phys;

        AX_TRY(ax_pq_plain_fixed(t, c, k, &phys));
        if (!ax_pq_conv_fixed(c->conv, phys, k, val + (size_t) done * w))
            for (i = 0; i < k; i++)
            {
                uint8_t *to = val + (size_t) (done + i) * w;

                if (ax_pq_conv_fixed(c->conv, phys + (size_t) i * c->conv->src_width, 1, to))
                    continue;
                AX_TRY(mark_bad(t, c, d, done + i));
                memset(to, 0, w);
            }
        done += k;
    }
    return AX_OK;
}

/* The page's values into d; hold is pinned by d's arena afterwards. */
static ax_status fill(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_buf *body, ax_dict *d)
{
    ax_buf *hold;

    if (body == NULL)
        AX_TRY(ax_pq_page_body(t, c, p, &hold, &c->v, &c->vend));
    else
    {
        hold = ax_buf_ref(body);
        c->v = body->data;
        c->vend = c->v + body->len;
    }
    if (!ax_arena_on_reset(d->arena, unref_buffer, hold))
    {
        ax_buf_unref(hold);
        return ax_fail_nomem(t, 0);
    }
    c->base = c->v;
    c->bit = 0;
    if (c->conv->src == SRC_BYTES)
        AX_CHECK(t, (uint64_t) d->n * 4 <= (uint64_t) (c->vend - c->v), AX_ECORRUPT,
                 "dictionary promises %u values in %zu bytes", d->n, (size_t) (c->vend - c->v));
    else if (c->conv->src == SRC_FIXED)
        AX_CHECK(t,
                 (uint64_t) d->n * (uint64_t) c->conv->leaf->type_length <=
                         (uint64_t) (c->vend - c->v) &&
                     (c->conv->leaf->type_length > 0 || d->n <= 1),
                 AX_ECORRUPT, "dictionary promises %u values in %zu bytes", d->n,
                 (size_t) (c->vend - c->v));
    else if (c->conv->src != SRC_BOOL)
        AX_CHECK(t, (uint64_t) d->n * c->conv->src_width <= (uint64_t) (c->vend - c->v),
                 AX_ECORRUPT, "dictionary promises %u values in %zu bytes", d->n,
                 (size_t) (c->vend - c->v));
    else
        AX_CHECK(t, d->n <= 2, AX_ECORRUPT, "dictionary has %u booleans", d->n);
    return c->conv->src == SRC_BYTES || c->conv->src == SRC_FIXED ? dict_bytes(t, c, d)
                                                                  : dict_fixed(t, c, d);
}

ax_status ax_pq_dict_load(ax_task *t, ax_pq_col *c, const ax_pq_page *p, ax_buf *body)
{
    ax_arena *a;
    ax_dict *d;
    ax_status st;

    AX_CHECK(t, c->dict == NULL, AX_ECORRUPT, "column chunk has a second dictionary page");
    AX_CHECK(t, c->page_no < 0, AX_ECORRUPT, "dictionary page stands behind data pages");
    AX_CHECK(t, p->encoding == PQ_PLAIN || p->encoding == PQ_PLAIN_DICTIONARY, AX_ECORRUPT,
             "dictionary page has encoding %d", (int) p->encoding);
    AX_NEW(t, a, ax_arena_create(c->scan->req.budget, 0));
    d = (ax_dict *) ax_arena_alloc0(a, sizeof *d);
    if (d == NULL)
    {
        ax_arena_destroy(a);
        return ax_fail_nomem(t, sizeof *d);
    }
    d->arena = a;
    d->n = (uint32_t) p->num_values;
    d->uid = ax_dict_uid();
    d->val.kind = AX_VK_FLAT;
    d->val.type = c->conv->type;
    d->val.n = d->n;
    c->dict_bad = NULL;
    st = fill(t, c, p, body, d);
    if (st != AX_OK)
    {
        c->dict_bad = NULL;
        ax_arena_destroy(a);
        return st;
    }
    c->dict = d;
    return AX_OK;
}

/* Remember that rows up to `end` of the window have one id; too many runs: forget them all. */
static void add_run(ax_pq_col *c, uint32_t end, uint32_t id)
{
    if (c->nruns > 0 && c->run_id[c->nruns - 1] == id)
        c->run_end[c->nruns - 1] = (uint16_t) end;
    else if (c->nruns == PQ_MAX_RUNS)
        c->runs_ok = false;
    else
    {
        c->run_end[c->nruns] = (uint16_t) end;
        c->run_id[c->nruns++] = id;
    }
}

ax_status ax_pq_dict_ids(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t at, uint32_t *id)
{
    ax_pq_rle *r = &c->ids;
    uint32_t max = 0, i;

    if (n == 0)
        return AX_OK;
    while (n > 0)
    {
        uint32_t k, m;

        AX_CHECK(t, ax_pq_rle_fill(r), AX_ECORRUPT,
                 "dictionary ids are corrupt or fewer than the levels promise");
        if (r->run_left > 0)
        {
            k = n < r->run_left ? n : r->run_left;
            for (i = 0; i < k; i++)
                id[i] = r->value;
            r->run_left -= k;
            max = r->value > max ? r->value : max;
            if (c->runs_ok)
                add_run(c, at + k, r->value);
        }
        else
        {
            k = n < r->packed_left ? n : r->packed_left;
            m = ax_pq_rle_unpack(r, id, k);
            max = m > max ? m : max;
            c->runs_ok = false;
        }
        id += k;
        at += k;
        n -= k;
    }
    AX_CHECK(t, max < c->dict->n, AX_ECORRUPT, "dictionary id %u where there are %u values", max,
             c->dict->n);
    return AX_OK;
}
