/* The delta encodings: of integers, of lengths, of strings with shared prefixes.
 *
 * DELTA_BINARY_PACKED is a stream and is decoded as far as asked.  The lengths of the string
 * encodings stand in front of the bytes and where they end is known only by walking them; they are
 * decoded once per page into an array of u32.  DELTA_BYTE_ARRAY rebuilds its strings window by
 * window into a buffer of its own, since n strings sharing a long prefix may expand without limit.
 *
 * Format: apache/parquet-format, Encodings.md, "Delta Encoding", "Delta-length byte array",
 * "Delta Strings". */
#include "parquet_int.h"

enum { MAX_BLOCK = 1 << 20 };

bool ax_pq_delta_init(ax_pq_delta *d, const uint8_t *p, const uint8_t *end, uint8_t max_width)
{
    ax_cur c = ax_cur_make(p, (size_t) (end - p));
    uint64_t block = ax_cur_varint(&c), minis = ax_cur_varint(&c), total = ax_cur_varint(&c);
    uint64_t first = ax_cur_varint(&c);

    memset(d, 0, sizeof *d);
    if (c.bad || block == 0 || block > MAX_BLOCK || minis == 0 || minis > block ||
        block % minis != 0 || block / minis % 8 != 0)
        return false;
    d->p = c.p;
    d->end = end;
    d->left = total;
    d->last = (first >> 1) ^ (0 - (first & 1));
    d->first = total > 0;
    d->per_mini = (uint32_t) (block / minis);
    d->minis = (uint32_t) minis;
    d->mini = d->minis;
    d->max_width = max_width;
    return true;
}

/* Begin the next miniblock, and the next block before it where one ends. */
static bool next_mini(ax_pq_delta *d)
{
    uint64_t bytes, need;

    if (d->mini + 1 >= d->minis)
    {
        ax_cur c = ax_cur_make(d->p, (size_t) (d->end - d->p));
        uint64_t z = ax_cur_varint(&c);

        d->widths = ax_cur_take(&c, d->minis);
        if (d->widths == NULL)
            return false;
        d->min_delta = (z >> 1) ^ (0 - (z & 1));
        d->p = c.p;
        d->mini = 0;
    }
    else
        d->mini++;
    d->in_mini = 0;
    d->packed = d->p;
    if (d->widths[d->mini] > d->max_width)
        return false;
    /* The last miniblock is stored full, but its unused tail may be cut off. */
    bytes = (uint64_t) d->per_mini * d->widths[d->mini] / 8;
    need = d->left < d->per_mini ? (d->left * d->widths[d->mini] + 7) / 8 : bytes;
    if (need > (uint64_t) (d->end - d->p))
        return false;
    d->p = bytes > (uint64_t) (d->end - d->p) ? d->end : d->p + bytes;
    return true;
}

/* Values `idx`.. of a miniblock of width w, each added to the running value. */
static void add_deltas(ax_pq_delta *d, uint64_t *out, uint32_t n)
{
    unsigned w = d->widths[d->mini];
    uint64_t mask = w == 64 ? ~0ull : (1ull << w) - 1, last = d->last, min = d->min_delta;
    uint64_t bit = (uint64_t) d->in_mini * w;
    uint32_t i;

    if (w <= 56)
        for (i = 0; i < n; i++, bit += w)
            out[i] = last += min + (ax_load_u64(d->packed + (bit >> 3)) >> (bit & 7) & mask);
    else
        for (i = 0; i < n; i++, bit += w)
        {
            unsigned s = bit & 7;
            uint64_t v = ax_load_u64(d->packed + (bit >> 3)) >> s;

            if (s > 0)
                v |= (uint64_t) d->packed[(bit >> 3) + 8] << (64 - s);
            out[i] = last += min + (v & mask);
        }
    d->last = last;
}

bool ax_pq_delta_read(ax_pq_delta *d, uint64_t *out, uint32_t n)
{
    if (n > d->left)
        return false;
    if (n > 0 && d->first)
    {
        *out++ = d->last;
        d->first = false;
        d->in_mini = d->per_mini;
        d->left--;
        n--;
    }
    while (n > 0)
    {
        uint32_t k;

        if (d->in_mini == d->per_mini && !next_mini(d))
            return false;
        k = d->per_mini - d->in_mini;
        k = k < n ? k : n;
        add_deltas(d, out, k);
        d->in_mini += k;
        d->left -= k;
        out += k;
        n -= k;
    }
    return true;
}

ax_status ax_pq_delta_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    uint64_t *v = (uint64_t *) (void *) c->phys;
    uint32_t *w = (uint32_t *) (void *) c->phys, i;

    AX_CHECK(t, ax_pq_delta_read(&c->delta, v, n), AX_ECORRUPT,
             "delta-encoded integers are corrupt or too few");
    if (c->conv->src_width == 4)
        for (i = 0; i < n; i++)
        {
            uint32_t x = (uint32_t) v[i];

            memcpy(&w[i], &x, sizeof x);
        }
    *out = c->phys;
    return AX_OK;
}

/* All lengths of a stream into a buffer; *end: the byte behind it. */
static ax_status read_lengths(ax_task *t, ax_pq_col *c, const uint8_t *p, ax_buf **buf,
                              uint32_t *n, const uint8_t **end)
{
    ax_pq_delta d;
    uint64_t part[256];
    uint32_t *out, done = 0, i;

    AX_CHECK(t, ax_pq_delta_init(&d, p, c->vend, 32) && d.left <= (uint64_t) c->page.num_values,
             AX_ECORRUPT, "lengths of strings are corrupt");
    if (*buf == NULL || (*buf)->cap < d.left * 4)
    {
        ax_buf_unref(*buf);
        *buf = ax_buf_alloc(c->scan->req.budget, (size_t) d.left * 4);
        if (*buf == NULL)
            return ax_fail_nomem(t, (size_t) d.left * 4);
    }
    *n = (uint32_t) d.left;
    out = (uint32_t *) (void *) (*buf)->data;
    while (done < *n)
    {
        uint32_t k = *n - done < 256 ? *n - done : 256;

        AX_CHECK(t, ax_pq_delta_read(&d, part, k), AX_ECORRUPT, "lengths of strings are corrupt");
        for (i = 0; i < k; i++)
        {
            int32_t len = (int32_t) (uint32_t) part[i];

            AX_CHECK(t, len >= 0, AX_ECORRUPT, "string has length %d", (int) len);
            out[done++] = (uint32_t) len;
        }
    }
    *end = d.p;
    return AX_OK;
}

ax_status ax_pq_delta_open(ax_task *t, ax_pq_col *c)
{
    c->len_idx = 0;
    c->len_n = 0;
    if (c->enc == PQ_DELTA_BYTE_ARRAY)
    {
        uint32_t n;

        AX_TRY(read_lengths(t, c, c->v, &c->prefixes, &n, &c->v));
        AX_TRY(read_lengths(t, c, c->v, &c->lens, &c->len_n, &c->v));
        AX_CHECK(t, n == c->len_n, AX_ECORRUPT, "page has %u prefixes and %u suffixes", n,
                 c->len_n);
        if (!c->keeps_last)
            c->last_len = 0;
        return AX_OK;
    }
    return read_lengths(t, c, c->v, &c->lens, &c->len_n, &c->v);
}

/* DELTA_LENGTH_BYTE_ARRAY: the bytes stand behind the lengths. */
static ax_status length_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    const uint32_t *l = (const uint32_t *) (const void *) c->lens->data + c->len_idx;
    uint64_t at = (uint64_t) (c->v - c->base), end = (uint64_t) (c->vend - c->base);
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        off[i] = (uint32_t) at;
        len[i] = l[i];
        at += l[i];
        if (at > end)
            break;
    }
    AX_CHECK(t, i == n, AX_ECORRUPT, "lengths of strings reach beyond their page");
    c->v = c->base + at;
    c->len_idx += n;
    return AX_OK;
}

static ax_status keep_last(ax_task *t, ax_pq_col *c, const uint8_t *p, uint32_t n)
{
    if (c->last == NULL || c->last->cap < n)
    {
        ax_buf *b = ax_buf_alloc(c->scan->req.budget, n < 256 ? 256 : (size_t) n * 2);

        if (b == NULL)
            return ax_fail_nomem(t, n);
        ax_buf_unref(c->last);
        c->last = b;
    }
    if (n > 0)
        memcpy(c->last->data, p, n);
    c->last_len = n;
    return AX_OK;
}

/* DELTA_BYTE_ARRAY: each string is a prefix of the one before and new bytes. */
static ax_status prefix_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    const uint32_t *pre = (const uint32_t *) (const void *) c->prefixes->data + c->len_idx;
    const uint32_t *suf = (const uint32_t *) (const void *) c->lens->data + c->len_idx;
    uint64_t total = 0;
    uint32_t before = c->last_len, i;
    const uint8_t *from = c->last != NULL ? c->last->data : NULL;
    uint8_t *to;

    for (i = 0; i < n; i++)
    {
        AX_CHECK(t, pre[i] <= before, AX_ECORRUPT,
                 "string shares %u bytes with one of %u bytes", pre[i], before);
        AX_CHECK(t, suf[i] <= INT32_MAX - pre[i], AX_ECORRUPT, "string is too long");
        before = pre[i] + suf[i];
        off[i] = (uint32_t) total;
        len[i] = before;
        total += before;
        AX_CHECK(t, total <= PQ_MAX_PAGE_BYTES, AX_ELIMIT,
                 "strings of one page expand to more than the limit");
        AX_CHECK(t, c->conv->src != SRC_FIXED || before == (uint32_t) c->conv->leaf->type_length,
                 AX_ECORRUPT, "value of %u bytes in a column of fixed length", before);
    }
    AX_TRY(ax_pq_window_buffer(t, c, (size_t) total));
    to = c->wbuf->data;
    for (i = 0; i < n; i++)
    {
        AX_CHECK(t, suf[i] <= (uint64_t) (c->vend - c->v), AX_ECORRUPT,
                 "lengths of strings reach beyond their page");
        if (pre[i] > 0)
            memcpy(to + off[i], from, pre[i]);
        memcpy(to + off[i] + pre[i], c->v, suf[i]);
        c->v += suf[i];
        from = to + off[i];
    }
    c->len_idx += n;
    return n > 0 ? keep_last(t, c, from, len[n - 1]) : AX_OK;
}

ax_status ax_pq_delta_str(ax_task *t, ax_pq_col *c, uint32_t n, uint32_t *off, uint32_t *len)
{
    AX_CHECK(t, n <= c->len_n - c->len_idx, AX_ECORRUPT,
             "page has fewer values than its levels promise");
    if (n == 0)
        return AX_OK;
    return c->enc == PQ_DELTA_BYTE_ARRAY ? prefix_str(t, c, n, off, len)
                                         : length_str(t, c, n, off, len);
}
