/* Says which functions exist on which types, what their arguments are widened to, and what comes
 * out.  The answer NULL means "exists"; anything else is shown to users. */
#include "func/call_int.h"

static bool is_int(uint8_t id) { return id >= AX_T_INT2 && id <= AX_T_INT8; }
static bool is_float(uint8_t id) { return id == AX_T_FLOAT4 || id == AX_T_FLOAT8; }

/* The type both sides of a comparison or sum are brought to; AX_T_NONE: there is none. */
static ax_type_id common_type(uint8_t a, uint8_t b)
{
    if (a == b)
        return (ax_type_id) a;
    if (is_int(a) && is_int(b))
        return (ax_type_id) (a > b ? a : b);
    if ((is_int(a) || is_float(a)) && (is_int(b) || is_float(b)))
        return AX_T_FLOAT8;
    if ((is_int(a) && b == AX_T_NUMERIC) || (is_int(b) && a == AX_T_NUMERIC))
        return AX_T_NUMERIC;
    if ((a == AX_T_DATE && b == AX_T_TIMESTAMP) || (b == AX_T_DATE && a == AX_T_TIMESTAMP))
        return AX_T_TIMESTAMP;
    return AX_T_NONE;
}

static ax_fn cast_to(uint8_t from, ax_type_id to)
{
    if (from == to)
        return AX_FN_NONE;
    switch (to)
    {
        case AX_T_INT4: return AX_FN_TO_INT4;
        case AX_T_INT8: return AX_FN_TO_INT8;
        case AX_T_FLOAT8: return AX_FN_TO_FLOAT8;
        case AX_T_NUMERIC: return AX_FN_TO_NUMERIC;
        case AX_T_TIMESTAMP: return AX_FN_DATE_ORDER;
        default: return AX_FN_NONE;
    }
}

static void widen(const ax_type *args, uint32_t nargs, ax_type_id to, ax_fn_shape *out)
{
    for (uint32_t i = 0; i < nargs; i++)
    {
        out->cast[i] = (uint16_t) cast_to(args[i].id, to);
        out->want[i] = out->cast[i] == AX_FN_NONE ? args[i] : ax_type_make(to);
    }
}

static const char *resolve_compare(ax_fn fn, const ax_type *args, ax_fn_shape *out)
{
    ax_type_id common = common_type(args[0].id, args[1].id);
    bool order = fn == AX_FN_LT || fn == AX_FN_LE || fn == AX_FN_GT || fn == AX_FN_GE;

    if (common == AX_T_NONE || ax_type_make(common).phys >= AX_P_DOC)
        return "no comparison of these types in the engine";
    if (common == AX_T_TEXT || common == AX_T_BPCHAR)
    {
        order |= fn == AX_FN_GREATEST || fn == AX_FN_LEAST;
        if (args[0].coll == AX_COLL_NONE || args[1].coll == AX_COLL_NONE)
            return "the collation's equality is not that of bytes";
        if (order && (args[0].coll != AX_COLL_BYTES || args[1].coll != AX_COLL_BYTES))
            return "the collation's order is not that of bytes";
    }
    widen(args, 2, common, out);
    out->result = ax_type_make(AX_T_BOOL);
    return NULL;
}

/* greatest, least: both of one type; digits are told when both have the same. */
static const char *resolve_pick(ax_fn fn, const ax_type *args, ax_fn_shape *out)
{
    const char *why = args[0].id != args[1].id ? "values of different types"
                                               : resolve_compare(fn, args, out);

    out->result = args[0];
    if (args[0].precision != args[1].precision || args[0].scale != args[1].scale)
        out->result.precision = out->result.scale = 0;
    return why;
}

static const char *resolve_arith(const ax_type *args, uint32_t nargs, bool with_float,
                                 ax_fn_shape *out)
{
    ax_type_id common = nargs == 1 ? (ax_type_id) args[0].id : common_type(args[0].id, args[1].id);

    if (!is_int((uint8_t) common) && common != AX_T_NUMERIC
        && !(with_float && is_float((uint8_t) common)))
        return "no arithmetic on these types in the engine";
    widen(args, nargs, common, out);
    out->result = ax_type_make(common);
    return NULL;
}

static const char *resolve_cast(ax_fn fn, uint8_t from, ax_fn_shape *out)
{
    bool number = is_int(from) || is_float(from) || from == AX_T_NUMERIC;
    bool ok;

    switch (fn)
    {
        case AX_FN_TO_NUMERIC: ok = is_int(from); break;
        case AX_FN_TO_TIMESTAMP:
        case AX_FN_DATE_ORDER: ok = from == AX_T_DATE; break;
        case AX_FN_TO_DATE:
        case AX_FN_TO_TIME: ok = from == AX_T_TIMESTAMP; break;
        default: ok = number; break;
    }
    out->result = ax_type_make((ax_type_id) ax_fn_get(fn)->result);
    return ok ? NULL : "no such conversion in the engine";
}

static const char *resolve_text(ax_fn fn, const ax_type *args, uint32_t nargs, ax_fn_shape *out)
{
    bool bytes_too = fn == AX_FN_OCTET_LENGTH || fn == AX_FN_STRPOS || fn == AX_FN_CONCAT;

    if (args[0].id == AX_T_BPCHAR && fn == AX_FN_LENGTH)
    {
        out->want[0] = ax_type_make(AX_T_TEXT);
        out->cast[0] = AX_FN_TO_TEXT;
        out->result = ax_type_make(AX_T_INT4);
        return NULL;
    }
    for (uint32_t i = 0; i < nargs; i++)
    {
        if (args[i].id != args[0].id || (args[i].id == AX_T_BPCHAR)
            || (args[i].id != AX_T_TEXT && !(bytes_too && args[i].phys == AX_P_STR)))
            return "only text is supported";
        if (args[i].id == AX_T_TEXT && args[i].coll == AX_COLL_NONE)
            return "the collation's equality is not that of bytes";
    }
    if (ax_fn_get(fn)->result != AX_T_NONE)
        out->result = ax_type_make((ax_type_id) ax_fn_get(fn)->result);
    return NULL;
}

static const char no_types[] = "no such combination of types in the engine";

/* Functions of numbers that exist for some types only; nothing is widened. */
static const char *resolve_math(ax_fn fn, const ax_type *args, uint32_t nargs)
{
    uint8_t a = args[0].id, b = nargs > 1 ? args[1].id : AX_T_NONE;
    bool ok;

    switch (fn)
    {
        case AX_FN_ABS: ok = is_int(a) || is_float(a) || a == AX_T_NUMERIC; break;
        case AX_FN_SIGN:
        case AX_FN_CEIL:
        case AX_FN_FLOOR:
        case AX_FN_ROUND:
        case AX_FN_TRUNC: ok = a == AX_T_FLOAT8 || a == AX_T_NUMERIC; break;
        case AX_FN_BIT_NOT: ok = is_int(a); break;
        case AX_FN_BIT_AND:
        case AX_FN_BIT_OR:
        case AX_FN_BIT_XOR: ok = is_int(a) && a == b; break;
        case AX_FN_SHL:
        case AX_FN_SHR: ok = is_int(a) && b == AX_T_INT4; break;
        case AX_FN_DIV_TRUNC: ok = a == AX_T_NUMERIC && b == AX_T_NUMERIC; break;
        case AX_FN_SCALE:
        case AX_FN_MIN_SCALE:
        case AX_FN_TRIM_SCALE: ok = a == AX_T_NUMERIC; break;
        case AX_FN_GCD:
        case AX_FN_LCM: ok = is_int(a) && a == b; break;
        case AX_FN_ROUND_TO:
        case AX_FN_TRUNC_TO:
        case AX_FN_NUM_COERCE: ok = a == AX_T_NUMERIC && b == AX_T_INT4; break;
        case AX_FN_ATAN2:
        case AX_FN_POWER: ok = a == AX_T_FLOAT8 && b == AX_T_FLOAT8; break;
        default: ok = a == AX_T_FLOAT8; break;
    }
    return ok ? NULL : no_types;
}

static const char *resolve_time(ax_fn fn, const ax_type *args, ax_fn_shape *out)
{
    bool stamp = args[0].id == AX_T_TIMESTAMP || args[0].id == AX_T_TIMESTAMPTZ, ok;

    switch (fn)
    {
        case AX_FN_FIELD_NUMERIC: ok = args[0].id == AX_T_TEXT && args[1].id == AX_T_INT4; break;
        case AX_FN_EXTRACT:
        case AX_FN_FIELD:
            ok = args[0].id == AX_T_TEXT
              && (args[1].id == AX_T_TIMESTAMP || args[1].id == AX_T_DATE
                  || args[1].id == AX_T_TIME);
            break;
        case AX_FN_TS_DIFF:
        case AX_FN_TS_DIFF_WRAP: ok = stamp && args[0].id == args[1].id; break;
        case AX_FN_ISFINITE: ok = stamp || args[0].id == AX_T_DATE; break;
        case AX_FN_MAKE_DATE:
            ok = args[0].id == AX_T_INT4 && args[1].id == AX_T_INT4 && args[2].id == AX_T_INT4;
            break;
        default: /* date_bin */
            ok = args[0].id == AX_T_INTERVAL && args[1].id == args[2].id
              && (args[1].id == AX_T_TIMESTAMP || args[1].id == AX_T_TIMESTAMPTZ);
            out->result = args[1];
            break;
    }
    return ok ? NULL : no_types;
}

/* The zone is the last argument. */
static const char *resolve_zone(ax_fn fn, const ax_type *args, uint32_t nargs)
{
    uint8_t a = args[0].id;
    bool ok;

    switch (fn)
    {
        case AX_FN_TZ_EXTRACT:
        case AX_FN_TZ_PART:
        case AX_FN_TZ_TRUNC: ok = a == AX_T_TEXT && args[1].id == AX_T_TIMESTAMPTZ; break;
        case AX_FN_TZ_INSTANT:
        case AX_FN_TZ_ORDER: ok = a == AX_T_DATE || a == AX_T_TIMESTAMP; break;
        case AX_FN_TZ_ADD:
        case AX_FN_TZ_SUB: ok = a == AX_T_TIMESTAMPTZ && args[1].id == AX_T_INTERVAL; break;
        default: ok = a == AX_T_TIMESTAMPTZ; break;
    }
    return ok && args[nargs - 1].id == AX_T_BYTEA ? NULL : no_types;
}

static const char *exact_types(const ax_type *args, uint8_t a, uint8_t b)
{
    return args[0].id == a && args[1].id == b ? NULL : no_types;
}

/* Decimals of more digits than ax_num has are only compared. */
static bool digits_fit(ax_fn fn, const ax_type *args, uint32_t nargs)
{
    if ((fn >= AX_FN_EQ && fn <= AX_FN_GE) || fn == AX_FN_DISTINCT || fn == AX_FN_NOT_DISTINCT
        || fn == AX_FN_IS_NULL || fn == AX_FN_IS_NOT_NULL)
        return true;
    for (uint32_t i = 0; i < nargs; i++)
        if (args[i].id == AX_T_NUMERIC && args[i].precision == AX_NUM_ANY_DIGITS)
            return false;
    return true;
}

/* Functions of text that take or give other types too. */
static const char *resolve_str(ax_fn fn, const ax_type *args)
{
    uint8_t a = args[0].id;
    bool ok;

    switch (fn)
    {
        case AX_FN_SUBSTRING:
        case AX_FN_SUBSTRING_FROM:
            ok = (a == AX_T_TEXT || a == AX_T_BYTEA) && args[1].id == AX_T_INT4
              && (fn == AX_FN_SUBSTRING_FROM || args[2].id == AX_T_INT4);
            break;
        case AX_FN_SPLIT_PART:
        case AX_FN_OVERLAY:
        case AX_FN_OVERLAY_FOR:
            ok = a == AX_T_TEXT && args[1].id == AX_T_TEXT && args[2].id == AX_T_INT4
              && (fn != AX_FN_OVERLAY_FOR || args[3].id == AX_T_INT4);
            break;
        case AX_FN_LPAD:
        case AX_FN_RPAD:
            ok = a == AX_T_TEXT && args[1].id == AX_T_INT4 && args[2].id == AX_T_TEXT;
            break;
        case AX_FN_CHR: ok = a == AX_T_INT4; break;
        case AX_FN_TO_HEX: ok = a == AX_T_INT4 || a == AX_T_INT8; break;
        case AX_FN_MD5: ok = a == AX_T_TEXT || a == AX_T_BYTEA; break;
        default: ok = a == AX_T_TEXT && args[1].id == AX_T_INT4; break;
    }
    return ok ? NULL : no_types;
}

/* long: a case for each function */
const char *ax_fn_resolve(ax_fn fn, const ax_type *args, uint32_t nargs, ax_fn_shape *out)
{
    const ax_fn_info *info = ax_fn_get(fn);

    *out = (ax_fn_shape){0};
    if (fn == AX_FN_NONE || nargs != info->nargs)
        return "wrong number of arguments";
    if (!digits_fit(fn, args, nargs))
        return "the argument may need more than 38 digits";
    for (uint32_t i = 0; i < nargs; i++)
        out->want[i] = args[i];
    out->result = info->result == AX_T_NONE ? args[0] : ax_type_make((ax_type_id) info->result);
    if (fn >= AX_FN_DIV_TRUNC && fn <= AX_FN_SHR)
        return resolve_math(fn, args, nargs);
    if (info->flags & AX_FNF_ZONE)
        return resolve_zone(fn, args, nargs);
    if (fn >= AX_FN_TIME_ADD && fn <= AX_FN_FROM_EPOCH)
        return ax_resolve_interval(fn, args, out);
    if (fn >= AX_FN_BOOL_TO_INT && fn <= AX_FN_VARCHAR)
        return ax_resolve_conv(fn, args);
    switch (fn)
    {
        case AX_FN_EQ:
        case AX_FN_NE:
        case AX_FN_LT:
        case AX_FN_LE:
        case AX_FN_GT:
        case AX_FN_GE:
        case AX_FN_DISTINCT:
        case AX_FN_NOT_DISTINCT:
            return resolve_compare(fn, args, out);
        case AX_FN_GREATEST:
        case AX_FN_LEAST:
            return resolve_pick(fn, args, out);
        case AX_FN_IS_NULL:
        case AX_FN_IS_NOT_NULL:
            return NULL;
        case AX_FN_NOT:
        case AX_FN_IS_TRUE:
        case AX_FN_IS_NOT_TRUE:
        case AX_FN_IS_FALSE:
        case AX_FN_IS_NOT_FALSE:
            return args[0].id == AX_T_BOOL ? NULL : "argument is not boolean";
        case AX_FN_ADD:
        case AX_FN_SUB:
        case AX_FN_MUL:
        case AX_FN_NEG:
        case AX_FN_DIV:
            return resolve_arith(args, nargs, true, out);
        case AX_FN_MOD:
            return resolve_arith(args, nargs, false, out);
        case AX_FN_EXTRACT:
        case AX_FN_FIELD:
        case AX_FN_FIELD_NUMERIC:
        case AX_FN_TS_DIFF:
        case AX_FN_TS_DIFF_WRAP:
        case AX_FN_ISFINITE:
        case AX_FN_MAKE_DATE:
        case AX_FN_DATE_BIN:
            return resolve_time(fn, args, out);
        case AX_FN_DATE_PART:
        case AX_FN_DATE_TRUNC:
            return exact_types(args, AX_T_TEXT, AX_T_TIMESTAMP);
        case AX_FN_TS_ADD:
        case AX_FN_TS_SUB:
            return exact_types(args, AX_T_TIMESTAMP, AX_T_INTERVAL);
        case AX_FN_DATE_ADD_INTERVAL:
        case AX_FN_DATE_SUB_INTERVAL:
            return exact_types(args, AX_T_DATE, AX_T_INTERVAL);
        case AX_FN_FLOAT_COERCE:
            return is_float(args[0].id) && args[1].id == AX_T_INT4 ? NULL : no_types;
        case AX_FN_SUBSTRING:
        case AX_FN_SPLIT_PART:
        case AX_FN_SUBSTRING_FROM:
        case AX_FN_LEFT:
        case AX_FN_RIGHT:
        case AX_FN_REPEAT:
        case AX_FN_LPAD:
        case AX_FN_RPAD:
        case AX_FN_OVERLAY:
        case AX_FN_OVERLAY_FOR:
        case AX_FN_CHR:
        case AX_FN_TO_HEX:
        case AX_FN_MD5:
            return resolve_str(fn, args);
        case AX_FN_DATE_ADD:
        case AX_FN_DATE_SUB:
            return exact_types(args, AX_T_DATE, AX_T_INT4);
        case AX_FN_DATE_DIFF:
            return exact_types(args, AX_T_DATE, AX_T_DATE);
        case AX_FN_TO_INT2:
        case AX_FN_TO_INT4:
        case AX_FN_TO_INT8:
        case AX_FN_TO_FLOAT4:
        case AX_FN_TO_FLOAT8:
        case AX_FN_TO_NUMERIC:
        case AX_FN_TO_DATE:
        case AX_FN_TO_TIME:
        case AX_FN_TO_TIMESTAMP:
        case AX_FN_DATE_ORDER:
            return resolve_cast(fn, args[0].id, out);
        case AX_FN_LIKE:
        case AX_FN_NOT_LIKE:
        case AX_FN_LENGTH:
        case AX_FN_OCTET_LENGTH:
        case AX_FN_STRPOS:
            return resolve_text(fn, args, nargs, out);
        default:
            if (fn > AX_FN_SUBSTRING && fn <= AX_FN_REGEXP_SUBSTRING_C)
                return resolve_text(fn, args, nargs, out);
            return "not in the engine";
    }
}

/* An integer divisor that cannot fail: known, not 0 and not -1. */
static bool safe_divisor(ax_type type, const ax_value *const *konst)
{
    const ax_value *v = konst != NULL ? konst[1] : NULL;

    return is_int(type.id) && v != NULL && !v->null && v->u.i != 0 && v->u.i != -1;
}

bool ax_fn_can_raise(ax_fn fn, const ax_type *args, const ax_value *const *konst)
{
    if (!(ax_fn_get(fn)->flags & AX_FNF_RAISES))
        return false;
    if (args[0].id == AX_T_NUMERIC)
        return ax_numeric_can_raise(fn, args, konst);
    switch (fn)
    {
        case AX_FN_DIV:
        case AX_FN_MOD:
            return !safe_divisor(args[0], konst);
        case AX_FN_ABS:
            return !is_float(args[0].id);
        case AX_FN_TO_FLOAT8:
            return false;
        case AX_FN_NEG:
            return !is_float(args[0].id);
        case AX_FN_TO_INT4:
            return args[0].id != AX_T_INT2;
        case AX_FN_TO_INT8:
            return !is_int(args[0].id);
        case AX_FN_TO_FLOAT4:
            return args[0].id == AX_T_FLOAT8;
        case AX_FN_SUBSTRING:
            return konst == NULL || konst[2] == NULL || konst[2]->u.i < 0;
        case AX_FN_SPLIT_PART:
            return konst == NULL || konst[2] == NULL || konst[2]->u.i == 0;
        case AX_FN_DATE_TRUNC:
        case AX_FN_TZ_TRUNC:
            return ax_trunc_can_raise(konst != NULL ? konst[0] : NULL);
        default:
            return true;
    }
}
