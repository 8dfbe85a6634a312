/* Strings, in both serializations: a length before each, or lengths in a stream of their own.
 *
 * Nothing is copied but strings that straddle frames.
 *
 * Format: mergetree.md, "Strings". */
#include "mergetree_int.h"

enum { MAX_STRING_BYTES = 0x3fffffff };

static ax_status reserve(ax_task *t, ax_mt_win *w, ax_mt_vals *v, uint32_t n)
{
    uint32_t cap;

    if (v->n == 0)
        v->one_base = true;
    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap == 0)
        return AX_OK;
    AX_TRY(ax_mt_room(t, w, &v->ptr, v->n, cap, sizeof *v->ptr));
    AX_TRY(ax_mt_room(t, w, &v->len, v->n, cap, sizeof *v->len));
    v->cap = cap;
    return AX_OK;
}

static ax_status too_long(ax_task *t, uint64_t len)
{
    return ax_fail(t, AX_ELIMIT, "string has %llu bytes, more than a value may have",
                   (unsigned long long) len);
}

/* ---- a length before each -------------------------------------------------------------------- */

/* Strings that lie wholly in p[avail] with their lengths: at most n.  Returns how many; *used:
 * bytes of them. */
static uint32_t whole(const uint8_t *p, size_t avail, uint32_t n, const uint8_t **ptr,
                      uint32_t *len, size_t *used)
{
    const uint8_t *at = p, *end = p + avail;
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        const uint8_t *s = at;
        uint64_t k;

        if (s == end)
            break;
        k = *s++;
        if (k >= 0x80)
        {
            unsigned shift = 7;
            uint8_t b;

            k &= 0x7f;
            do
            {
                if (s == end || shift > 28)
                    goto out;
                b = *s++;
                k |= (uint64_t) (b & 0x7f) << shift;
                shift += 7;
            } while (b >= 0x80);
        }
        if (k > (uint64_t) (end - s) || k > MAX_STRING_BYTES)
            break;
        if (ptr != NULL)
        {
            ptr[i] = s;
            len[i] = (uint32_t) k;
        }
        at = s + k;
    }
out:
    *used = (size_t) (at - p);
    return i;
}

ax_status ax_mt_read_string(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);

    if (v != NULL)
    {
        /* Each takes a byte at least. */
        if (n > AX_BATCH_ROWS)
            AX_TRY(ax_mt_cur_holds(t, c, n));
        AX_TRY(reserve(t, w, v, n));
    }
    while (n > 0)
    {
        const uint8_t *p;
        size_t avail, used;
        uint32_t k;
        uint64_t len;

        AX_TRY(ax_mt_cur_peek(t, c, v != NULL ? w : NULL, &p, &avail));
        k = whole(p, avail, n, v != NULL ? v->ptr + v->n : NULL, v != NULL ? v->len + v->n : NULL,
                  &used);
        ax_mt_cur_use(c, used);
        n -= k;
        if (v != NULL && k > 0)
        {
            v->one_base = v->one_base && (v->n == 0 || v->base == c->buf);
            v->base = c->buf;
            v->n += k;
        }
        if (n == 0 || used == avail)
            continue;
        /* One that goes on in the next frame. */
        AX_TRY(ax_mt_cur_varint(t, c, &len));
        if (len > MAX_STRING_BYTES)
            return too_long(t, len);
        if (v == NULL)
            AX_TRY(ax_mt_cur_skip(t, c, len));
        else
        {
            AX_TRY(ax_mt_cur_take(t, c, w, (size_t) len, &v->ptr[v->n]));
            v->len[v->n++] = (uint32_t) len;
            v->one_base = false;
        }
        n--;
    }
    return AX_OK;
}

/* ---- lengths apart --------------------------------------------------------------------------- */

ax_status ax_mt_sum_u64(ax_task *t, ax_mt_cur *c, uint32_t n, uint64_t *out)
{
    uint64_t sum = 0, x;

    while (n > 0)
    {
        const uint8_t *p;
        size_t avail, i;

        AX_TRY(ax_mt_cur_peek(t, c, NULL, &p, &avail));
        avail = avail / 8 < n ? avail / 8 : n;
        for (i = 0; i < avail; i++)
        {
            x = ax_load_u64(p + 8 * i);
            AX_CHECK(t, x <= INT64_MAX - sum, AX_ECORRUPT, "sizes of stream %s are too large",
                     c->stream->name);
            sum += x;
        }
        ax_mt_cur_use(c, avail * 8);
        n -= (uint32_t) avail;
        if (avail > 0)
            continue;
        AX_TRY(ax_mt_cur_u64(t, c, &x));
        AX_CHECK(t, x <= INT64_MAX - sum, AX_ECORRUPT, "sizes of stream %s are too large",
                 c->stream->name);
        sum += x;
        n--;
    }
    *out = sum;
    return AX_OK;
}

ax_status ax_mt_read_sized(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *sizes = ax_mt_cur_of(r, 1), *bytes;
    const uint8_t *size, *p;
    uint64_t total = 0;
    uint32_t i;

    if (v == NULL)
    {
        AX_TRY(ax_mt_sum_u64(t, sizes, n, &total));
        return ax_mt_cur_skip(t, ax_mt_cur_of(r, 0), total);
    }
    if (n > AX_BATCH_ROWS)
        AX_TRY(ax_mt_cur_holds(t, sizes, 8ull * n));
    AX_TRY(reserve(t, w, v, n));
    AX_TRY(ax_mt_cur_take(t, sizes, w, 8ull * n, &size));
    for (i = 0; i < n; i++)
    {
        uint64_t len = ax_load_u64(size + 8ull * i);

        if (len > MAX_STRING_BYTES)
            return too_long(t, len);
        v->len[v->n + i] = (uint32_t) len;
        total += len;
    }
    bytes = ax_mt_cur_of(r, 0);
    AX_TRY(ax_mt_cur_take(t, bytes, w, (size_t) total, &p));
    v->one_base = v->one_base && v->n == 0;
    for (i = 0; i < n; i++)
    {
        v->ptr[v->n + i] = p;
        p += v->len[v->n + i];
    }
    v->n += n;
    return AX_OK;
}
