/* Binds functions to argument types and runs them: nulls here, values in the families. */
#include "func/call_int.h"

#include <string.h>

ax_kt ax_kt_of(uint8_t phys)
{
    switch (phys)
    {
        case AX_P_U8: return AX_KT_U8;
        case AX_P_I16: return AX_KT_I16;
        case AX_P_I32: return AX_KT_I32;
        case AX_P_I64: return AX_KT_I64;
        case AX_P_F32: return AX_KT_F32;
        case AX_P_F64: return AX_KT_F64;
        default: return AX_KT_CNT;
    }
}

/* long: a case for each function */
static ax_status bind_family(ax_task *t, ax_arena *a, ax_call *c, const ax_type *args)
{
    if (c->fn >= AX_FN_DIV_TRUNC && c->fn <= AX_FN_SHR)
        return c->arg.phys == AX_P_NUM ? ax_bind_numeric(t, c) : ax_bind_math(t, c);
    if (ax_fn_get((ax_fn) c->fn)->flags & AX_FNF_ZONE)
        return ax_bind_zone(t, a, c);
    if (c->fn >= AX_FN_TIME_ADD && c->fn <= AX_FN_FROM_EPOCH)
        return ax_bind_interval(t, c);
    if (c->fn >= AX_FN_BOOL_TO_INT && c->fn <= AX_FN_VARCHAR)
        return ax_bind_conv(t, c);
    switch ((ax_fn) c->fn)
    {
        case AX_FN_GREATEST:
        case AX_FN_LEAST:
            return ax_bind_pick(t, c);
        case AX_FN_EQ:
        case AX_FN_NE:
        case AX_FN_LT:
        case AX_FN_LE:
        case AX_FN_GT:
        case AX_FN_GE:
        case AX_FN_DISTINCT:
        case AX_FN_NOT_DISTINCT:
            return ax_bind_compare(t, c);
        case AX_FN_NOT:
        case AX_FN_IS_NULL:
        case AX_FN_IS_NOT_NULL:
        case AX_FN_IS_TRUE:
        case AX_FN_IS_NOT_TRUE:
        case AX_FN_IS_FALSE:
        case AX_FN_IS_NOT_FALSE:
            return ax_bind_bool(t, c);
        case AX_FN_ADD:
        case AX_FN_SUB:
        case AX_FN_MUL:
        case AX_FN_NEG:
        case AX_FN_DIV:
        case AX_FN_MOD:
            return c->arg.phys == AX_P_NUM ? ax_bind_numeric(t, c) : ax_bind_arith(t, c);
        case AX_FN_FLOAT_COERCE:
            return ax_bind_numeric(t, c);
        case AX_FN_TO_INT2:
        case AX_FN_TO_INT4:
        case AX_FN_TO_INT8:
        case AX_FN_TO_FLOAT4:
        case AX_FN_TO_FLOAT8:
        case AX_FN_TO_NUMERIC:
            return c->arg.phys == AX_P_NUM ? ax_bind_numeric(t, c) : ax_bind_cast(t, c);
        case AX_FN_LIKE:
        case AX_FN_NOT_LIKE:
        case AX_FN_LENGTH:
        case AX_FN_OCTET_LENGTH:
        case AX_FN_STRPOS:
        case AX_FN_LEFT:
        case AX_FN_RIGHT:
            return ax_bind_text(t, a, c);
        case AX_FN_SUBSTRING_FROM:
        case AX_FN_SUBSTRING:
        case AX_FN_STARTS_WITH:
        case AX_FN_LOWER:
        case AX_FN_UPPER:
        case AX_FN_REPLACE:
        case AX_FN_BTRIM_BLANK:
        case AX_FN_LTRIM_BLANK:
        case AX_FN_RTRIM_BLANK:
        case AX_FN_BTRIM:
        case AX_FN_LTRIM:
        case AX_FN_RTRIM:
        case AX_FN_SPLIT_PART:
        case AX_FN_CONCAT:
        case AX_FN_REVERSE:
        case AX_FN_TRANSLATE:
        case AX_FN_ASCII:
        case AX_FN_HASHTEXT:
        case AX_FN_REPEAT:
        case AX_FN_LPAD:
        case AX_FN_RPAD:
        case AX_FN_OVERLAY:
        case AX_FN_OVERLAY_FOR:
        case AX_FN_INITCAP:
        case AX_FN_CHR:
        case AX_FN_TO_HEX:
        case AX_FN_MD5:
        case AX_FN_CONCAT_STEP:
        case AX_FN_CONCAT_WS_STEP:
            return ax_bind_str(t, a, c);
        case AX_FN_ILIKE:
        case AX_FN_NOT_ILIKE:
        case AX_FN_REGEX:
        case AX_FN_REGEX_C:
        case AX_FN_NOT_REGEX:
        case AX_FN_NOT_REGEX_C:
        case AX_FN_IREGEX:
        case AX_FN_NOT_IREGEX:
        case AX_FN_REGEXP_REPLACE:
        case AX_FN_REGEXP_REPLACE_C:
        case AX_FN_REGEXP_REPLACE_FLAGS:
        case AX_FN_REGEXP_REPLACE_FLAGS_C:
        case AX_FN_REGEXP_SUBSTRING:
        case AX_FN_REGEXP_SUBSTRING_C:
            return ax_bind_regex(t, a, c);
        default:
            return ax_bind_time(t, c, args);
    }
}

ax_status ax_call_bind(ax_task *t, ax_arena *a, ax_fn fn, const ax_type *args,
                       const ax_value *const *konst, uint32_t nargs, ax_call **out)
{
    const ax_fn_info *info = ax_fn_get(fn);
    ax_fn_shape shape;
    const char *why = ax_fn_resolve(fn, args, nargs, &shape);
    ax_call *c;

    AX_CHECK(t, why == NULL, AX_EUNSUPPORTED, "%s: %s", info->name, why);
    AX_NEW(t, c, ax_arena_alloc0(a, sizeof(*c)));
    c->fn = (uint16_t) fn;
    c->nargs = (uint8_t) nargs;
    c->arg = args[0];
    c->result = shape.result;
    c->strict = !(info->flags & AX_FNF_NOT_STRICT);
    c->whole = true;
    for (uint32_t i = 0; i < nargs; i++)
        c->konst[i] = konst != NULL ? konst[i] : NULL;
    AX_CHECK(t, !(info->flags & AX_FNF_CONST2) || c->konst[1] != NULL, AX_EUNSUPPORTED,
             "%s: the second argument is not constant", info->name);
    AX_CHECK(t, !(info->flags & AX_FNF_CONST1) || c->konst[0] != NULL, AX_EUNSUPPORTED,
             "%s: the first argument is not constant", info->name);
    for (uint32_t i = 1; (info->flags & AX_FNF_LITERAL) && i < nargs; i++)
        AX_CHECK(t, c->konst[i] != NULL, AX_EUNSUPPORTED, "%s: argument %u is not constant",
                 info->name, i + 1);
    AX_TRY(bind_family(t, a, c, args));
    if (ax_fn_can_raise(fn, args, c->konst))
        c->whole = false;
    *out = c;
    return AX_OK;
}

bool ax_call_whole(const ax_call *c) { return c->whole; }

/* Union of the arguments' nulls.  false: everything is null, there is nothing to compute. */
static bool collect_nulls(const ax_call *c, ax_call_io *io)
{
    io->has_null = false;
    for (uint32_t k = 0; k < c->nargs; k++)
    {
        const ax_vec *v = io->arg[k];

        if (v->null == NULL)
            continue;
        if (v->kind == AX_VK_CONST)
        {
            if (!v->null[0])
                continue;
            memset(io->null, 1, io->n);
            io->has_null = true;
            return false;
        }
        if (io->has_null)
            ax_k_get()->or(io->null, v->null, io->null, io->n);
        else
            memcpy(io->null, v->null, io->n);
        io->has_null = true;
    }
    return true;
}

ax_status ax_call_run(const ax_call *c, ax_call_io *io)
{
    if (io->n == 0)
    {
        io->has_null = false;
        return AX_OK;
    }
    if (c->strict && !collect_nulls(c, io))
    {
        uint32_t width = ax_phys_width(c->result.phys);

        if (width > 0)
            memset(io->data, 0, (size_t) width * io->n);
        return AX_OK;
    }
    return c->run(c, io);
}

/* ---- boolean --------------------------------------------------------------------------------- */

static ax_status run_not(const ax_call *c, ax_call_io *io)
{
    (void) c;
    ax_k_get()->not((const uint8_t *) io->arg[0]->u.data, (uint8_t *) io->data, io->n);
    return AX_OK;
}

static ax_status run_is_null(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[0];
    uint8_t *out = (uint8_t *) io->data;

    io->has_null = false;
    if (v->null == NULL)
        memset(out, 0, io->n);
    else if (v->kind == AX_VK_CONST)
        memset(out, v->null[0], io->n);
    else
        memcpy(out, v->null, io->n);
    if (c->invert)
        ax_k_get()->not(out, out, io->n);
    return AX_OK;
}

/* IS [NOT] TRUE, IS [NOT] FALSE */
static ax_status run_is_bool(const ax_call *c, ax_call_io *io)
{
    const ax_vec *v = io->arg[0];
    const ax_kernels *k = ax_k_get();
    uint8_t *out = (uint8_t *) io->data;
    const uint8_t *in = (const uint8_t *) v->u.data;

    io->has_null = false;
    if (c->fn == AX_FN_IS_FALSE || c->fn == AX_FN_IS_NOT_FALSE)
        k->not(in, out, io->n);
    else
        memcpy(out, in, io->n);
    if (v->null != NULL)
        k->andnot(out, v->null, out, io->n);
    if (c->invert)
        k->not(out, out, io->n);
    return AX_OK;
}

ax_status ax_bind_bool(ax_task *t, ax_call *c)
{
    (void) t;
    c->invert = c->fn == AX_FN_IS_NOT_NULL || c->fn == AX_FN_IS_NOT_TRUE
             || c->fn == AX_FN_IS_NOT_FALSE;
    if (c->fn == AX_FN_NOT)
        c->run = run_not;
    else if (c->fn == AX_FN_IS_NULL || c->fn == AX_FN_IS_NOT_NULL)
        c->run = run_is_null;
    else
        c->run = run_is_bool;
    return AX_OK;
}
