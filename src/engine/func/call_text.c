/* Functions of text: LIKE, lengths, positions and parts. */
#include "func/call_int.h"

#include "base/bytes.h"

#include <string.h>

/* ---- LIKE ------------------------------------------------------------------------------------ */

/* May the rows be searched as one span of bytes?  They must lie ascending in it without overlap,
 * most of them must be wanted, and the gaps must not be most of it. */
bool ax_is_span(const ax_vec *v, const ax_call_io *io)
{
    const uint32_t *off, *len;
    uint32_t bad = 0;
    uint64_t bytes, span;

    if (v->kind != AX_VK_FLAT || io->n < 16 || ax_io_rows(io) < io->n / 4)
        return false;
    off = v->u.str.off;
    len = v->u.str.len;
    bytes = len[0];
    for (uint32_t i = 1; i < io->n; i++)
    {
        bad |= off[i] < off[i - 1] || off[i] - off[i - 1] < len[i - 1];
        bytes += len[i];
    }
    span = (uint64_t) off[io->n - 1] + len[io->n - 1] - off[0];
    return !bad && span <= UINT32_MAX && span <= 2 * bytes + 16u * io->n;
}

/* lit% and %lit: a masked word at one end decides most rows. */
static void like_ends(const ax_call *c, ax_call_io *io, const ax_strs *s)
{
    const ax_like *l = &c->like;
    uint32_t m = l->lit_len;
    bool suffix = l->kind == AX_LIKE_SUFFIX;
    uint64_t live = m >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * m)) - 1;
    uint64_t want = ax_load_u64(l->lit) & live;
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n = s->len[row];
        const uint8_t *p = ax_strs_at(s, row);

        if (ax_io_null(io, row) || n < m)
        {
            out[row] = 0;
            continue;
        }
        p += suffix ? n - m : 0;
        out[row] = (ax_load_u64(p) & live) == want && (m <= 8 || memcmp(p, l->lit, m) == 0);
    }
}

static void like_rows(const ax_call *c, ax_call_io *io, const ax_strs *s)
{
    const ax_kernels *k = ax_k_get();
    const ax_like *l = &c->like;
    uint8_t *out = (uint8_t *) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n = s->len[row];
        const uint8_t *p = ax_strs_at(s, row);

        if (ax_io_null(io, row) || n < l->lit_len)
            out[row] = 0;
        else if (l->kind == AX_LIKE_CONTAINS)
            out[row] = k->find(p, n, &l->needle) < n;
        else
            out[row] = ax_like_match(l, p, n);
    }
}

static ax_status run_like(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[0];
    const ax_kernels *k = ax_k_get();
    const ax_like *l = &c->like;
    uint8_t *out = (uint8_t *) io->data;
    ax_strs s = ax_strs_of(v);
    bool searched = l->kind == AX_LIKE_CONTAINS
                 || (l->kind == AX_LIKE_GENERAL && l->lit_len > 1 && l->prefix_len < 4);

    if (l->kind == AX_LIKE_ALL)
        memset(out, 1, io->n);
    else if (l->kind == AX_LIKE_EXACT)
        k->str_eq(&s, io->sel, ax_io_rows(io), l->lit, l->lit_len, out);
    else if (searched && ax_is_span(v, io))
    {
        k->find_span(&s, io->n, &l->needle, out);
        if (l->kind == AX_LIKE_GENERAL)
            for (uint32_t row = 0; row < io->n; row++)
                if (out[row])
                    out[row] = ax_like_match(l, ax_strs_at(&s, row), s.len[row]);
    }
    else if (l->kind == AX_LIKE_PREFIX || l->kind == AX_LIKE_SUFFIX)
        like_ends(c, io, &s);
    else
        like_rows(c, io, &s);
    if (c->invert)
        k->not(out, out, io->n);
    return AX_OK;
}

static ax_status bind_like(ax_task *t, ax_arena *a, ax_call *c)
{
    const ax_value *p = c->konst[1];

    c->invert = c->fn == AX_FN_NOT_LIKE;
    c->run = run_like;
    if (p->null) /* never run: the result is null */
        return AX_OK;
    return ax_like_compile(t, a, p->u.s.p, p->u.s.len, &c->like);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static ax_status run_length(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[0];
    ax_strs s = ax_strs_of(v);

    if (c->fn == AX_FN_OCTET_LENGTH || (v->flags & AX_VF_ASCII))
        memcpy(io->data, s.len, sizeof(int32_t) * (size_t) io->n);
    else
        ax_k_get()->utf8_len(&s, io->sel, ax_io_rows(io), (int32_t *) io->data);
    return AX_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static inline uint32_t count_chars(const uint8_t *p, uint32_t n)
{
    const uint32_t off = 0;
    ax_strs s = {p, &off, NULL, &n};
    int32_t r;

    ax_k_get()->utf8_len(&s, NULL, 1, &r);
    return (uint32_t) r;
}

/* Byte offset of character number `chars` (n when there are fewer). */
static uint32_t skip_chars(const uint8_t *p, uint32_t n, uint64_t chars)
{
    uint32_t i = 0;

    while (chars-- > 0 && i < n)
        do
            i++;
        while (i < n && (p[i] & 0xC0) == 0x80);
    return i;
}

/* left, right: a negative count means "all but". */
static ax_status run_left_right(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[0], *cnt = io->arg[1];
    const uint8_t **ptr = (const uint8_t **) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n, cut;
        const uint8_t *p;
        int64_t k;

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (ax_io_null(io, row))
            continue;
        p = ax_vec_str(v, row, &n);
        k = ((const int32_t *) cnt->u.data)[ax_arg_row(cnt, row)];
        /* the split is counted from the left */
        if ((c->fn == AX_FN_LEFT) == (k < 0))
        {
            int64_t total = count_chars(p, n);

            k = c->fn == AX_FN_LEFT ? total + k : total - k;
        }
        else if (c->fn == AX_FN_RIGHT)
            k = -k;
        cut = skip_chars(p, n, k > 0 ? (uint64_t) k : 0);
        ptr[row] = c->fn == AX_FN_LEFT ? p : p + cut;
        io->len[row] = c->fn == AX_FN_LEFT ? cut : n - cut;
    }
    return AX_OK;
}

/* strpos(text, part): character position from 1; 0: not there; '' is at 1. */
static ax_status run_strpos(const ax_call *c, ax_call_io *io)
{
    const ax_kernels *k = ax_k_get();
    const ax_vec *v = io->arg[0], *part = io->arg[1];
    int32_t *out = (int32_t *) io->data;
    ax_needle needle = {0};

    if (part->kind == AX_VK_CONST && c->like.lit_len > 0)
        needle = c->like.needle;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n, m, at;
        const uint8_t *p, *q;

        out[row] = 0;
        if (ax_io_null(io, row))
            continue;
        p = ax_vec_str(v, row, &n);
        q = ax_vec_str(part, row, &m);
        if (m == 0)
        {
            out[row] = 1;
            continue;
        }
        if (part->kind != AX_VK_CONST || needle.n == 0)
            needle = ax_needle_make(q, m);
        at = k->find(p, n, &needle);
        if (at < n)
            out[row] = (int32_t) (c->arg.id == AX_T_BYTEA ? at : count_chars(p, at)) + 1;
    }
    return AX_OK;
}

ax_status ax_bind_text(ax_task *t, ax_arena *a, ax_call *c)
{
    (void) a;
    c->whole = false;
    switch (c->fn)
    {
        case AX_FN_LIKE:
        case AX_FN_NOT_LIKE:
            return bind_like(t, a, c);
        case AX_FN_LENGTH:
        case AX_FN_OCTET_LENGTH:
            c->run = run_length;
            c->whole = c->fn == AX_FN_OCTET_LENGTH;
            return AX_OK;
        case AX_FN_LEFT:
        case AX_FN_RIGHT:
            c->run = run_left_right;
            return AX_OK;
        case AX_FN_STRPOS:
            if (c->konst[1] != NULL && !c->konst[1]->null && c->konst[1]->u.s.len > 0)
            {
                c->like.lit_len = c->konst[1]->u.s.len;
                c->like.needle = ax_needle_make(c->konst[1]->u.s.p, c->like.lit_len);
            }
            c->run = run_strpos;
            return AX_OK;
        default:
            return ax_fail(t, AX_EUNSUPPORTED, "no such function of text");
    }
}

const ax_like *ax_call_like(const ax_call *c)
{
    bool like = c->fn == AX_FN_LIKE || c->fn == AX_FN_NOT_LIKE;

    return like && c->like.pat != NULL ? &c->like : NULL;
}
