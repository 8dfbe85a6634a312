/*-------------------------------------------------------------------------
 *
 * zone.c
 *		Time zones as tables for the engine.
 *
 * Functions of timestamptz in the engine take their zone as a constant of
 * bytes (engine/func/datetime.h).  Which zone is an expression of type text
 * in the plan: current_setting('TimeZone'), or the constant of AT TIME ZONE;
 * its table is made when execution starts, so that a plan that was kept works
 * under the zone of the session that runs it.
 *
 * The server knows a zone's changes from the past and, where a rule goes on
 * for ever, extrapolates it with the calendar's period of 400 years; so does
 * the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "afdw.h"

/* Seconds since 1970.  From TABLE_END on a zone that still changes does so by rule. */
#define TABLE_BEGIN		(-INT64CONST(210870000000))	/* before 4714-11-24 BC */
#define TABLE_END		INT64CONST(16725225600)	/* 2500-01-01 */
#define EPOCH_SHIFT		((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400))
#define MAX_STEPS		16384	/* a rule that goes back for ever changes twice a year */

/* The session's time zone when execution starts. */
Expr *
afdw_zone_session(void)
{
	Const	   *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
								 CStringGetTextDatum("TimeZone"), false, false);

	return (Expr *) makeFuncExpr(F_CURRENT_SETTING_TEXT, TEXTOID, list_make1(name),
								 DEFAULT_COLLATION_OID, DEFAULT_COLLATION_OID,
								 COERCE_EXPLICIT_CALL);
}

/*
 * Is it a constant that names a zone of the database of zones?  Abbreviations
 * mean something else and never have a slash; UTC is the same as either.
 */
bool
afdw_zone_named(Node *node)
{
	return IsA(node, Const) && !((Const *) node)->constisnull &&
		((Const *) node)->consttype == TEXTOID &&
		afdw_zone_known(TextDatumGetCString(((Const *) node)->constvalue));
}

/* The same of a name. */
bool
afdw_zone_known(const char *name)
{
	return strlen(name) <= TZ_STRLEN_MAX &&
		(strchr(name, '/') != NULL || pg_strcasecmp(name, "UTC") == 0) &&
		pg_tzset(name) != NULL;
}

/* The zone's changes; returns how many steps. */
static int
zone_steps(const pg_tz *tz, ax_zone_step *step, bool *repeats)
{
	pg_time_t	t = TABLE_BEGIN;
	int			n = 0;

	*repeats = false;
	memset(step, 0, sizeof(ax_zone_step) * MAX_STEPS);
	for (;;)
	{
		long		before,
					after;
		int			before_dst,
					after_dst;
		pg_time_t	boundary;
		int			rc = pg_next_dst_boundary(&t, &before, &before_dst, &boundary, &after,
											  &after_dst, tz);

		if (rc < 0 || n == MAX_STEPS)
			elog(ERROR, "analytics_fdw: time zone \"%s\" cannot be read",
				 pg_get_timezone_name((pg_tz *) tz));
		if (n == 0)
		{
			step[n].utc_usec = PG_INT64_MIN;
			step[n++].offset_s = (int32_t) before;
		}
		if (rc == 0)
			return n;
		step[n].utc_usec = (boundary - EPOCH_SHIFT) * USECS_PER_SEC;
		step[n++].offset_s = (int32_t) after;
		if (boundary > TABLE_END)
		{
			*repeats = true;
			return n;
		}
		t = boundary;
	}
}

/* The table of a zone by its name, as a constant of the engine in CurrentMemoryContext. */
void
afdw_zone_value(Datum name, bool isnull, ax_value *out)
{
	char	   *zone;
	pg_tz	   *tz;
	ax_zone_step *step;
	int64	   *bytes;
	bool		repeats;
	int			n;

	memset(out, 0, sizeof(*out));
	out->type = ax_type_make(AX_T_BYTEA);
	out->null = isnull;
	if (isnull)
		return;
	zone = TextDatumGetCString(name);
	tz = pg_tzset(zone);
	if (tz == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized", zone)));
	step = palloc(sizeof(ax_zone_step) * MAX_STEPS);
	n = zone_steps(tz, step, &repeats);
	bytes = palloc(AX_ZONE_BYTES(n));
	/* the last change is behind TABLE_END; some days before it nothing is missing */
	bytes[0] = repeats ? (TABLE_END - EPOCH_SHIFT - 30 * SECS_PER_DAY) * USECS_PER_SEC : 0;
	memcpy(bytes + 1, step, sizeof(ax_zone_step) * n);
	out->u.s.p = (const uint8_t *) bytes;
	out->u.s.len = (uint32_t) AX_ZONE_BYTES(n);
}
