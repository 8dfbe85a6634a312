/* Regular expressions and LIKE without case as calls. */
#include "func/call_int.h"

#include <string.h>

/* ---- matching -------------------------------------------------------------------------------- */

static ax_status run_regex(const ax_call *c, ax_call_io *io)
{
    ax_strs s = ax_strs_of(io->arg[0]);
    uint8_t *out = (uint8_t *) io->data;

    ax_regex_match_rows(c->regex, &s, io->sel, ax_io_rows(io), ax_is_span(io->arg[0], io), io->n,
                        out);
    if (c->invert)
        for (uint32_t i = 0; i < ax_io_rows(io); i++)
            out[ax_io_row(io, i)] ^= 1;
    return AX_OK;
}

static ax_status bind_match(ax_task *t, ax_arena *a, ax_call *c)
{
    const ax_value *p = c->konst[1];
    uint32_t flags = ax_fn_get((ax_fn) c->fn)->flags & AX_FNF_CTYPE_C ? AX_RE_CTYPE_C : 0;
    ax_regex *re;

    c->invert = c->fn == AX_FN_NOT_REGEX || c->fn == AX_FN_NOT_REGEX_C
             || c->fn == AX_FN_NOT_IREGEX;
    c->run = run_regex;
    if (p->null) /* never run: the result is null */
        return AX_OK;
    if (c->fn == AX_FN_IREGEX || c->fn == AX_FN_NOT_IREGEX)
        flags |= AX_RE_ICASE;
    AX_TRY(ax_regex_compile(t, a, p->u.s.p, p->u.s.len, flags, &re));
    AX_CHECK(t, !ax_regex_may_ask(re), AX_EUNSUPPORTED,
             "regular expression: a character class depends on the collation");
    c->regex = re;
    return AX_OK;
}

static ax_status run_ilike(const ax_call *c, ax_call_io *io)
{
    ax_strs s = ax_strs_of(io->arg[0]);
    uint8_t *out = (uint8_t *) io->data, *fold;
    uint32_t longest = 0;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
        if (s.len[ax_io_row(io, i)] > longest)
            longest = s.len[ax_io_row(io, i)];
    fold = (uint8_t *) ax_arena_alloc(io->arena, (size_t) longest + AX_PAD);
    if (fold == NULL)
        return ax_row_fail(io, AX_ENOMEM, ax_io_row(io, 0), "out of memory");
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_text x = {ax_strs_at(&s, row), s.len[row]};

        out[row] = !ax_io_null(io, row) && ax_ilike_match(&c->like, x, false, fold) != c->invert;
    }
    return AX_OK;
}

static ax_status bind_ilike(ax_task *t, ax_arena *a, ax_call *c)
{
    const ax_value *p = c->konst[1];

    c->invert = c->fn == AX_FN_NOT_ILIKE;
    c->run = run_ilike;
    if (p->null)
        return AX_OK;
    return ax_ilike_compile(t, a, p->u.s.p, p->u.s.len, false, &c->like);
}

/* ---- replacing ------------------------------------------------------------------------------- */

static ax_status run_replace(const ax_call *c, ax_call_io *io)
{
    ax_strs s = ax_strs_of(io->arg[0]);
    const uint8_t **ptr = (const uint8_t **) io->data;

    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (!ax_io_null(io, row)
            && !ax_reseq_replace(c->seq, io->arena, ax_strs_at(&s, row), s.len[row], &ptr[row],
                                 &io->len[row]))
            return ax_row_fail(io, AX_ENOMEM, row, "out of memory");
    }
    return AX_OK;
}

/* Null where nothing matches. */
static ax_status run_substring(const ax_call *c, ax_call_io *io)
{
    ax_strs s = ax_strs_of(io->arg[0]);
    const uint8_t **ptr = (const uint8_t **) io->data;

    if (!io->has_null)
        memset(io->null, 0, io->n);
    io->has_null = true;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        const uint8_t *r = NULL;

        io->len[row] = 0;
        if (!io->null[row])
            r = ax_reseq_substring(c->seq, ax_strs_at(&s, row), s.len[row], &io->len[row]);
        if (r == NULL)
        {
            r = (const uint8_t *) io->len;
            io->len[row] = 0;
            io->null[row] = 1;
        }
        ptr[row] = r;
    }
    return AX_OK;
}

/* Both ends of the pattern are anchored, so there is one match at most and g says nothing. */
static ax_status check_flags(ax_task *t, const ax_value *flags)
{
    for (uint32_t i = 0; i < flags->u.s.len; i++)
        AX_CHECK(t, flags->u.s.p[i] == 'g', AX_EUNSUPPORTED,
                 "regexp_replace: only the flag g is supported");
    return AX_OK;
}

static ax_status bind_replace(ax_task *t, ax_arena *a, ax_call *c)
{
    uint32_t flags = ax_fn_get((ax_fn) c->fn)->flags & AX_FNF_CTYPE_C ? AX_RE_CTYPE_C : 0;
    const ax_value *p = c->konst[1], *rep = c->konst[2];
    ax_reseq *seq;

    c->run = c->nargs == 2 ? run_substring : run_replace;
    for (uint32_t i = 1; i < c->nargs; i++)
        if (c->konst[i]->null)
            return AX_OK;
    if (c->nargs == 4)
        AX_TRY(check_flags(t, c->konst[3]));
    AX_TRY(ax_reseq_compile(t, a, p->u.s.p, p->u.s.len,
                            c->nargs > 2 ? rep->u.s.p : (const uint8_t *) "",
                            c->nargs > 2 ? rep->u.s.len : 0, flags, &seq));
    c->seq = seq;
    return AX_OK;
}

ax_status ax_bind_regex(ax_task *t, ax_arena *a, ax_call *c)
{
    c->whole = false;
    switch (c->fn)
    {
        case AX_FN_ILIKE:
        case AX_FN_NOT_ILIKE:
            return bind_ilike(t, a, c);
        case AX_FN_REGEX:
        case AX_FN_REGEX_C:
        case AX_FN_NOT_REGEX:
        case AX_FN_NOT_REGEX_C:
        case AX_FN_IREGEX:
        case AX_FN_NOT_IREGEX:
            return bind_match(t, a, c);
        default:
            return bind_replace(t, a, c);
    }
}
