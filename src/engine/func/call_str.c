/* Functions of text that run value by value: the bodies are in text.c. */
#include "func/call_int.h"
#include "func/md5.h"

#include <string.h>

/* ---- bodies ---------------------------------------------------------------------------------- */

static ax_status built(bool done) { return done ? AX_OK : AX_ENOMEM; }

/* The needle of a constant argument is made once. */
static ax_needle needle_of(const ax_call *c, ax_text s)
{
    if (c->like.lit_len > 0)
        return c->like.needle;
    return s.n > 0 ? ax_needle_make(s.p, s.n) : (ax_needle){0};
}

/* Bytes from number `from` (1: the first) to before `end`. */
static ax_text byte_slice(ax_text s, int64_t from, int64_t end)
{
    from = from > 1 ? from - 1 : 0;
    end = end - 1 < s.n ? end - 1 : s.n;
    return from < end ? (ax_text){s.p + from, (uint32_t) (end - from)} : (ax_text){s.p, 0};
}

static ax_status do_substring_from(const ax_call *c, const ax_row_args *x, ax_arena *a,
                                   ax_text *out)
{
    (void) a;
    *out = c->arg.id == AX_T_BYTEA ? byte_slice(x->s[0], x->k[1], INT64_MAX)
                                   : ax_text_substring_from(x->s[0], x->k[1]);
    return AX_OK;
}

static ax_status do_substring(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) a;
    if (x->k[2] < 0)
        return AX_ESUBSTRING;
    *out = c->arg.id == AX_T_BYTEA ? byte_slice(x->s[0], x->k[1], (int64_t) x->k[1] + x->k[2])
                                   : ax_text_substring(x->s[0], x->k[1], x->k[2]);
    return AX_OK;
}

static ax_status do_lower(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_lower(a, x->s[0], out));
}

static ax_status do_upper(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_upper(a, x->s[0], out));
}

static ax_status do_replace(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    ax_needle from = needle_of(c, x->s[1]);

    return built(ax_text_replace(a, x->s[0], &from, x->s[1].n, x->s[2], out));
}

static ax_status do_trim(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    static const uint8_t blank[AX_PAD] = " ";
    ax_text set = c->nargs > 1 ? x->s[1] : (ax_text){blank, 1};
    bool left = c->fn != AX_FN_RTRIM && c->fn != AX_FN_RTRIM_BLANK;
    bool right = c->fn != AX_FN_LTRIM && c->fn != AX_FN_LTRIM_BLANK;

    (void) a;
    *out = ax_text_trim(x->s[0], set, left, right);
    return AX_OK;
}

static ax_status do_split_part(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    ax_needle sep;

    (void) a;
    if (x->k[2] == 0)
        return AX_EPARAM;
    sep = needle_of(c, x->s[1]);
    *out = ax_text_split_part(x->s[0], &sep, x->s[1].n, x->k[2]);
    return AX_OK;
}

static ax_status do_concat(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_concat(a, x->s[0], x->s[1], out));
}

static ax_status do_reverse(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_reverse(a, x->s[0], out));
}

static ax_status do_translate(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_translate(a, x->s[0], x->s[1], x->s[2], out));
}

static ax_status do_repeat(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    if (x->k[1] > 0 && (uint64_t) x->k[1] * x->s[0].n > AX_TEXT_MAX)
        return AX_ETOOLONG;
    return built(ax_text_repeat(a, x->s[0], x->k[1], out));
}

static ax_status do_pad(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    /* the server reckons with four bytes a character before it looks */
    if (x->k[1] > 0 && x->s[2].n > 0 && 4 * (uint64_t) x->k[1] > AX_TEXT_MAX)
        return AX_ETOOLONG;
    return built(ax_text_pad(a, x->s[0], x->k[1], x->s[2], c->fn == AX_FN_LPAD, out));
}

static ax_status do_overlay(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    int32_t from = x->k[2], count = c->nargs > 3 ? x->k[3] : (int32_t) ax_text_chars(x->s[1]), next;
    ax_text head;

    if (from <= 0)
        return AX_ESUBSTRING;
    if (__builtin_add_overflow(from, count, &next))
        return AX_ERANGE;
    if (!ax_text_concat(a, ax_text_substring(x->s[0], 1, from - 1), x->s[1], &head))
        return AX_ENOMEM;
    return built(ax_text_concat(a, head, ax_text_substring_from(x->s[0], next), out));
}

static ax_status do_initcap(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    (void) c;
    return built(ax_text_initcap(a, x->s[0], out));
}

static ax_status do_chr(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out)
{
    int32_t cp = x->k[0];

    (void) c;
    if (cp < 0)
        return AX_EPARAM;
    if (cp == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return AX_ETOOLONG;
    return built(ax_text_chr(a, cp, out));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline void fetch(const ax_vec *v, uint32_t row, uint32_t i, ax_row_args *x)
{
    if (ax_type_is_str(v->type))
        x->s[i].p = ax_vec_str(v, row, &x->s[i].n);
    else
        x->k[i] = ((const int32_t *) v->u.data)[ax_arg_row(v, row)];
}

/* Constants are fetched before the rows. */
static uint32_t fetch_constants(const ax_call *c, const ax_call_io *io, ax_row_args *x,
                                uint32_t *varying)
{
    uint32_t n = 0;

    memset(x, 0, sizeof *x);
    for (uint32_t i = 0; i < c->nargs; i++)
        if (io->arg[i]->kind == AX_VK_CONST)
            fetch(io->arg[i], 0, i, x);
        else
            varying[n++] = i;
    return n;
}

static const char *failure_text(const ax_call *c, ax_status s)
{
    switch (s)
    {
        case AX_ESUBSTRING: return "negative substring length not allowed";
        case AX_ERANGE: return "integer out of range";
        case AX_ETOOLONG:
            return c->fn == AX_FN_CHR ? "requested character is not valid for encoding"
                                      : "requested length too large";
        case AX_EPARAM:
            return c->fn == AX_FN_CHR ? "character number must be positive"
                                      : "field position must not be zero";
        default: return "out of memory";
    }
}

static ax_status run_text(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;
    uint32_t varying[AX_FN_MAX_ARGS], nv;
    ax_row_args x;

    nv = fetch_constants(c, io, &x, varying);
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_text r = {(const uint8_t *) io->len, 0};
        ax_status s = AX_OK;

        if (!ax_io_null(io, row))
        {
            for (uint32_t k = 0; k < nv; k++)
                fetch(io->arg[varying[k]], row, varying[k], &x);
            s = c->body(c, &x, io->arena, &r);
        }
        if (s != AX_OK)
            return ax_row_fail(io, s, row, failure_text(c, s));
        ptr[row] = r.p;
        io->len[row] = r.n;
    }
    return AX_OK;
}

static ax_status run_starts_with(const ax_call *c, ax_call_io *io)
{
    uint32_t varying[AX_FN_MAX_ARGS], nv;
    ax_row_args x;

    nv = fetch_constants(c, io, &x, varying);
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        ((uint8_t *) io->data)[row] = 0;
        if (ax_io_null(io, row))
            continue;
        for (uint32_t k = 0; k < nv; k++)
            fetch(io->arg[varying[k]], row, varying[k], &x);
        ((uint8_t *) io->data)[row] = ax_text_starts_with(x.s[0], x.s[1]);
    }
    return AX_OK;
}

static ax_status run_to_hex(const ax_call *c, ax_call_io *io)
{
    static const char hex[] = "0123456789abcdef";
    const uint8_t **ptr = (const uint8_t **) io->data;
    const void *in = io->arg[0]->u.data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), n = 16;
        uint64_t v;
        uint8_t *p;

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (ax_io_null(io, row))
            continue;
        p = (uint8_t *) ax_arena_alloc(io->arena, 16 + AX_PAD);
        if (p == NULL)
            return ax_row_fail(io, AX_ENOMEM, row, "out of memory");
        v = c->arg.id == AX_T_INT4 ? ((const uint32_t *) in)[row] : ((const uint64_t *) in)[row];
        do
            p[--n] = (uint8_t) hex[v & 15];
        while ((v >>= 4) != 0);
        ptr[row] = p + n;
        io->len[row] = 16 - n;
    }
    return AX_OK;
}

static ax_status run_md5(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;

    (void) c;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_row_args x;
        uint8_t *p;

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (ax_io_null(io, row))
            continue;
        p = (uint8_t *) ax_arena_alloc(io->arena, AX_MD5_HEX + AX_PAD);
        if (p == NULL)
            return ax_row_fail(io, AX_ENOMEM, row, "out of memory");
        memset(&x, 0, sizeof x);
        fetch(io->arg[0], row, 0, &x);
        ax_md5_hex(x.s[0].p, x.s[0].n, p);
        ptr[row] = p;
        io->len[row] = AX_MD5_HEX;
    }
    return AX_OK;
}

static inline bool null_at(const ax_vec *v, uint32_t row)
{
    return v->null != NULL && v->null[ax_arg_row(v, row)];
}

/* concat(x, y): nulls are empty.  concat_ws(before, separator, next): as if the null ones of
 * before and next were not there. */
static ax_status run_concat_step(const ax_call *c, ax_call_io *io)
{
    const uint8_t **ptr = (const uint8_t **) io->data;
    uint32_t last = c->nargs - 1u;
    ax_row_args x;

    memset(&x, 0, sizeof x);
    io->has_null = false;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        bool none = null_at(io->arg[0], row), end = null_at(io->arg[last], row);
        ax_text r = {(const uint8_t *) io->len, 0};
        bool ok = true;

        for (uint32_t k = 0; k < c->nargs; k++)
            if (null_at(io->arg[k], row))
                x.s[k] = r;
            else
                fetch(io->arg[k], row, k, &x);
        if (!none && !end)
            ok = ax_text_concat(io->arena, x.s[0], last > 1 ? x.s[1] : r, &r)
              && ax_text_concat(io->arena, r, x.s[last], &r);
        else
            r = none ? x.s[last] : x.s[0];
        if (!ok)
            return ax_row_fail(io, AX_ENOMEM, row, "out of memory");
        io->null[row] = none && end && last > 1;
        io->has_null |= io->null[row];
        ptr[row] = r.p;
        io->len[row] = r.n;
    }
    return AX_OK;
}

/* ascii and hashtext: a number of each text */
static ax_status run_to_int(const ax_call *c, ax_call_io *io)
{
    int32_t (*number)(ax_text) = c->fn == AX_FN_ASCII ? ax_text_ascii : ax_text_hash;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_row_args x;

        ((int32_t *) io->data)[row] = 0;
        if (ax_io_null(io, row))
            continue;
        fetch(io->arg[0], row, 0, &x);
        ((int32_t *) io->data)[row] = number(x.s[0]);
    }
    return AX_OK;
}

ax_status ax_bind_str(ax_task *t, ax_arena *a, ax_call *c)
{
    const ax_value *second = c->nargs > 1 ? c->konst[1] : NULL;

    (void) a;
    c->whole = false;
    c->run = run_text;
    if (second != NULL && !second->null && ax_type_is_str(second->type) && second->u.s.len > 0)
    {
        c->like.lit_len = second->u.s.len;
        c->like.needle = ax_needle_make(second->u.s.p, second->u.s.len);
    }
    switch (c->fn)
    {
        case AX_FN_SUBSTRING_FROM: c->body = do_substring_from; return AX_OK;
        case AX_FN_SUBSTRING: c->body = do_substring; return AX_OK;
        case AX_FN_LOWER: c->body = do_lower; return AX_OK;
        case AX_FN_UPPER: c->body = do_upper; return AX_OK;
        case AX_FN_REPLACE: c->body = do_replace; return AX_OK;
        case AX_FN_BTRIM_BLANK:
        case AX_FN_LTRIM_BLANK:
        case AX_FN_RTRIM_BLANK:
        case AX_FN_BTRIM:
        case AX_FN_LTRIM:
        case AX_FN_RTRIM: c->body = do_trim; return AX_OK;
        case AX_FN_SPLIT_PART: c->body = do_split_part; return AX_OK;
        case AX_FN_CONCAT: c->body = do_concat; return AX_OK;
        case AX_FN_REVERSE: c->body = do_reverse; return AX_OK;
        case AX_FN_TRANSLATE: c->body = do_translate; return AX_OK;
        case AX_FN_STARTS_WITH: c->run = run_starts_with; return AX_OK;
        case AX_FN_ASCII:
        case AX_FN_HASHTEXT: c->run = run_to_int; return AX_OK;
        case AX_FN_REPEAT: c->body = do_repeat; return AX_OK;
        case AX_FN_LPAD:
        case AX_FN_RPAD: c->body = do_pad; return AX_OK;
        case AX_FN_OVERLAY:
        case AX_FN_OVERLAY_FOR: c->body = do_overlay; return AX_OK;
        case AX_FN_INITCAP: c->body = do_initcap; return AX_OK;
        case AX_FN_CHR: c->body = do_chr; return AX_OK;
        case AX_FN_TO_HEX: c->run = run_to_hex; return AX_OK;
        case AX_FN_MD5: c->run = run_md5; return AX_OK;
        case AX_FN_CONCAT_STEP:
        case AX_FN_CONCAT_WS_STEP: c->run = run_concat_step; return AX_OK;
        default: return ax_fail(t, AX_EUNSUPPORTED, "no such function of text");
    }
}
