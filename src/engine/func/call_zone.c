/* Calls that depend on a time zone: timestamps with time zone as local time and back.
 *
 * The zone is the last argument, a constant of bytes that the host packed (func/datetime.h); the
 * values are those of func/datetime.h. */
#include "func/call_int.h"

#include "func/datetime.h"

#include <string.h>

#define TS_RANGE "timestamp out of range"

static void set_null(ax_call_io *io, uint32_t row)
{
    if (!io->has_null)
        memset(io->null, 0, io->n);
    io->has_null = true;
    io->null[row] = 1;
}

static int64_t stamp(const ax_vec *v, uint32_t row)
{
    return ((const int64_t *) v->u.data)[ax_arg_row(v, row)];
}

static double num_double(const ax_num *n) { return (double) (int64_t) n->v; }

/* date_part: the same field of the local time; zones are small integers. */
static bool part(const ax_zone *z, ax_unit u, int64_t ts, uint32_t *hint, double *out)
{
    ax_num n;

    if (u == AX_UNIT_EPOCH || !ax_ts_finite(ts))
        return ax_ts_part(u >= AX_UNIT_ZONE ? AX_UNIT_HOUR : u, ts, out);
    if (u < AX_UNIT_ZONE)
        return ax_ts_part(u, ts + ax_zone_offset(z, ts, hint) * AX_USEC_SEC, out);
    if (!ax_tz_extract(z, u, ts, hint, &n))
        return false;
    *out = num_double(&n);
    return true;
}

/* A date or timestamp without zone as an instant.  ORDER: what is too late for one stays later than
 * all of them, too early earlier, both on this side of the infinities. */
static ax_status instant(const ax_call *c, const ax_vec *v, uint32_t row, uint32_t *hint,
                         int64_t *out)
{
    ax_status s;
    int64_t in;

    if (c->arg.id == AX_T_DATE)
    {
        int32_t d = ((const int32_t *) v->u.data)[ax_arg_row(v, row)];

        s = ax_date_to_tz(c->zone, d, hint, out);
        in = d;
    }
    else
    {
        in = stamp(v, row);
        s = ax_tz_to_utc(c->zone, in, hint, out);
    }
    if (s == AX_OK || c->fn != AX_FN_TZ_ORDER)
        return s;
    *out = in > 0 ? AX_TS_PINF - 1 : AX_TS_NINF + 1;
    return AX_OK;
}

/* long: one case a function */
static ax_status run_row(const ax_call *c, ax_call_io *io, uint32_t row, uint32_t *hint)
{
    const ax_zone *z = c->zone;
    ax_unit u = (ax_unit) c->unit;
    int64_t *out = (int64_t *) io->data, local;
    ax_status s = AX_OK;

    switch ((ax_fn) c->fn)
    {
        case AX_FN_TZ_EXTRACT:
            if (!ax_tz_extract(z, u, stamp(io->arg[1], row), hint, &((ax_num *) io->data)[row]))
                set_null(io, row);
            return AX_OK;
        case AX_FN_TZ_PART:
            if (!part(z, u, stamp(io->arg[1], row), hint, &((double *) io->data)[row]))
                set_null(io, row);
            return AX_OK;
        case AX_FN_TZ_TRUNC:
            return ax_tz_trunc(z, u, stamp(io->arg[1], row), hint, &out[row]);
        case AX_FN_TZ_LOCAL:
            return ax_tz_to_local(z, stamp(io->arg[0], row), hint, &out[row]);
        case AX_FN_TZ_DATE:
            ((int32_t *) io->data)[row] = ax_tz_to_date(z, stamp(io->arg[0], row), hint);
            return AX_OK;
        case AX_FN_TZ_TIME:
            s = ax_tz_to_local(z, stamp(io->arg[0], row), hint, &local);
            if (s == AX_OK && !ax_ts_to_time(local, &out[row]))
                set_null(io, row);
            return s;
        case AX_FN_TZ_INSTANT:
        case AX_FN_TZ_ORDER:
            return instant(c, io->arg[0], row, hint, &out[row]);
        default: /* TZ_ADD, TZ_SUB */
            return ax_tz_add(z, stamp(io->arg[0], row),
                             &((const ax_interval *) io->arg[1]->u.data)[ax_arg_row(io->arg[1],
                                                                                    row)],
                             c->fn == AX_FN_TZ_ADD ? 1 : -1, hint, &out[row]);
    }
}

static ax_status run(const ax_call *c, ax_call_io *io)
{
    uint32_t hint = 0;

    if (c->zone == NULL)
        return ax_row_fail(io, AX_EPLAN, ax_io_row(io, 0), "the time zone is not known");
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_status s = ax_io_null(io, row) ? AX_OK : run_row(c, io, row, &hint);

        if (s != AX_OK)
            return ax_row_fail(io, s, row, TS_RANGE);
    }
    return AX_OK;
}

ax_status ax_bind_zone(ax_task *t, ax_arena *a, ax_call *c)
{
    const ax_value *unit = c->konst[0], *zone = c->konst[c->nargs - 1];
    bool ok = true;

    c->run = run;
    c->whole = false;
    if (c->fn == AX_FN_TZ_EXTRACT || c->fn == AX_FN_TZ_PART || c->fn == AX_FN_TZ_TRUNC)
    {
        c->unit = unit->null ? AX_UNIT_NONE : ax_unit_parse(unit->u.s.p, unit->u.s.len);
        ok = unit->null || (c->fn == AX_FN_TZ_TRUNC ? ax_unit_truncates((ax_unit) c->unit)
                                                    : c->unit != AX_UNIT_NONE);
    }
    AX_CHECK(t, ok, AX_EUNSUPPORTED, "%s: this unit is not in the engine", ax_fn_get(c->fn)->name);
    if (zone == NULL)
        return AX_OK; /* not known when the plan is made; known when it runs */
    AX_NEW(t, c->zone, ax_arena_alloc0(a, sizeof(*c->zone)));
    AX_CHECK(t, !zone->null && ax_zone_unpack(zone->u.s.p, zone->u.s.len, c->zone), AX_EPLAN,
             "not a time zone");
    return AX_OK;
}
