/*-------------------------------------------------------------------------
 *
 * stats.c
 *		Statistics for the planner from the metadata of the files.
 *
 * The planner asks for a row of pg_statistic; where ANALYZE left none, one is
 * made from what footers say: null fraction, width, a histogram put together
 * from the bounds of row groups, and a number of distinct values when it is
 * known.  Serves selectivity, join sizes and numbers of groups alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "afdw.h"

static get_relation_stats_hook_type previous_hook = NULL;

/* Types whose order and arithmetic make a histogram of two bounds worth having. */
static bool
has_range(ax_type_id id)
{
	return id == AX_T_INT2 || id == AX_T_INT4 || id == AX_T_INT8 || id == AX_T_FLOAT4 ||
		id == AX_T_FLOAT8 || id == AX_T_NUMERIC || id == AX_T_DATE || id == AX_T_TIMESTAMP ||
		id == AX_T_TIMESTAMPTZ;
}

static bool
is_integral(ax_type_id id)
{
	return id == AX_T_INT2 || id == AX_T_INT4 || id == AX_T_INT8 || id == AX_T_DATE;
}

#define HIST_BOUNDS	101			/* of a histogram, as ANALYZE makes by default */
#define HIST_SPLITS	2000		/* row groups looked at */

/* Where a row group's values begin or end. */
typedef struct Edge
{
	double		x;
	double		density;		/* rows per unit that begin (or, negative, end) here */
	double		mass;			/* rows that have this value */
} Edge;

static int
compare_edges(const void *a, const void *b)
{
	double		x = ((const Edge *) a)->x,
				y = ((const Edge *) b)->x;

	return x < y ? -1 : x > y;
}

static double
number_of(const ax_value *v)
{
	return v->type.phys == AX_P_F32 || v->type.phys == AX_P_F64 ? v->u.f : (double) v->u.i;
}

/* Adds a row group's range; false: it is not known, or no numbers. */
static bool
add_edges(const ax_bounds *b, Edge *edge, int *n)
{
	double		rows = (double) (b->rows - Max(b->nulls, 0));
	double		min,
				max;

	if (b->rows >= 0 && rows <= 0)
		return true;
	if (b->rows < 0 || !b->has_min || !b->has_max)
		return false;
	min = number_of(&b->min);
	max = number_of(&b->max);
	if (!isfinite(min) || !isfinite(max - min))
		return false;
	if (max > min)
	{
		edge[(*n)++] = (Edge) {min, rows / (max - min), 0};
		edge[(*n)++] = (Edge) {max, -rows / (max - min), 0};
	}
	else
		edge[(*n)++] = (Edge) {min, 0, rows};
	return true;
}

/* The ranges of row groups of opened files as edges, sorted; 0: some are not known. */
static int
collect_edges(AfdwTable *table, uint32 col, Edge **out)
{
	uint32		splits = ax_source_splits(table->source);
	uint32		every = ax_source_facts_every(table->source);
	uint32		step = splits / every / HIST_SPLITS + 1;
	uint32		room,
				i = 0,
				nopen = 0;
	int			n = 0;

	room = splits / step + 1;
	*out = palloc(sizeof(Edge) * room * 2);
	for (uint32 f = 0; f < ax_source_files(table->source); f++)
	{
		const ax_fmt_file *file = ax_source_file(table->source, f);

		if (file && nopen++ % every != 0)
			continue;
		for (uint32 split = 0; file && split < file->nsplits; split++)
		{
			ax_bounds	b;

			/* scans that run may open files meanwhile */
			if (i++ % step == 0 && room-- > 0 &&
				!(ax_source_split_bounds(table->source, f, split, col, &b) &&
				  add_edges(&b, *out, &n)))
				return 0;
		}
	}
	qsort(*out, n, sizeof(Edge), compare_edges);
	return n;
}

/* Of the rows of the table, how many are in row groups that may have one value of a column. */
double
afdw_stats_probe_share(AfdwTable *table, uint32 col)
{
	ax_col_facts facts;
	uint32		every = ax_source_facts_every(table->source);
	uint32		nopen = 0;
	double		range,
				rows = 0,
				covered = 0;

	memset(&facts, 0, sizeof(facts));
	if (!has_range(table->col[col].type.id) || table->col[col].type.id == AX_T_NUMERIC ||
		!ax_source_col_facts(table->source, col, &facts) || !facts.bounds.has_min ||
		!facts.bounds.has_max)
		return 1;
	range = number_of(&facts.bounds.max) - number_of(&facts.bounds.min) + 1;
	for (uint32 f = 0; f < ax_source_files(table->source); f++)
	{
		const ax_fmt_file *file = ax_source_file(table->source, f);

		if (file && nopen++ % every != 0)
			continue;
		for (uint32 split = 0; file && split < file->nsplits; split++)
		{
			ax_bounds	b;

			if (!ax_source_split_bounds(table->source, f, split, col, &b) || !b.has_min ||
				!b.has_max || b.rows <= 0)
				return 1;
			rows += (double) b.rows;
			covered += (double) b.rows * (number_of(&b.max) - number_of(&b.min) + 1) / range;
		}
	}
	return rows > 0 && isfinite(covered) ? Min(covered / rows, 1.0) : 1;
}

/*
 * Bounds of buckets of equal numbers of rows, as if the values of a row group
 * were spread evenly over its range.  Exact for sorted columns of which the
 * groups are small.  Returns how many.
 */
static int
make_histogram(AfdwTable *table, uint32 col, const ax_col_facts *facts, ax_value *bound)
{
	ax_type		type = facts->bounds.min.type;
	Edge	   *edge = NULL;
	double		total = 0,
				below = 0,
				density = 0;
	int			n,
				k = 1;

	bound[0] = facts->bounds.min;
	bound[1] = facts->bounds.max;
	if (type.phys == AX_P_NUM || ax_source_splits(table->source) < 2 ||
		(n = collect_edges(table, col, &edge)) == 0)
		return 2;
	for (int i = 0; i < n; i++)
	{
		total += edge[i].mass + (i > 0 ? density * (edge[i].x - edge[i - 1].x) : 0);
		density += edge[i].density;
	}
	density = edge[0].density;
	below = edge[0].mass;
	for (int i = 1; i <= n && k < HIST_BOUNDS - 1; i++)
	{
		double		width = i < n ? edge[i].x - edge[i - 1].x : 0;
		double		here = Max(density, 0) * width;

		for (; k < HIST_BOUNDS - 1; k++)
		{
			double		want = total * k / (HIST_BOUNDS - 1);
			double		x = edge[i - 1].x;

			if (want > below + here && i < n)
				break;
			if (want > below && here > 0)
				x += (want - below) / here * width;
			bound[k] = facts->bounds.min;
			if (type.phys == AX_P_F32 || type.phys == AX_P_F64)
				bound[k].u.f = Max(x, bound[k - 1].u.f);
			else
				bound[k].u.i = Max((int64) x, bound[k - 1].u.i);
			if (ax_value_cmp(&bound[k], &facts->bounds.max) > 0)
				bound[k] = facts->bounds.max;
		}
		below += here;
		if (i < n)
		{
			density += edge[i].density;
			below += edge[i].mass;
		}
	}
	pfree(edge);
	bound[HIST_BOUNDS - 1] = facts->bounds.max;
	return HIST_BOUNDS;
}

/* Distinct values in pg_statistic's convention: 0 unknown, negative a share of the rows. */
static float4
distinct_values(const ax_col_facts *facts, ax_type_id id, double rows)
{
	double		n = facts->distinct;

	if (n <= 0 && id == AX_T_BOOL)
		n = 2;
	if (n <= 0 && is_integral(id) && facts->bounds.has_min && facts->bounds.has_max)
	{
		double		range = (double) facts->bounds.max.u.i - (double) facts->bounds.min.u.i + 1;

		/* Numbers that are not in a dictionary and have room to differ mostly do. */
		n = Min(range, rows - Max((double) facts->bounds.nulls, 0));
	}
	if (n <= 0)
		return 0;
	return n > 0.5 * rows ? (float4) -Min(n / rows, 1.0) : (float4) n;
}

static bool
may_read(RangeTblEntry *rte, AttrNumber attnum)
{
	Oid			user = GetUserId();

#if PG_VERSION_NUM < 160000
	if (OidIsValid(rte->checkAsUser))
		user = rte->checkAsUser;
#endif
	return pg_class_aclcheck(rte->relid, user, ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(rte->relid, attnum, user, ACL_SELECT) == ACLCHECK_OK;
}

static HeapTuple
make_tuple(AfdwTable *table, AttrNumber attnum, const ax_col_facts *facts)
{
	AfdwColumn *col = &table->col[table->ord[attnum]];
	double		rows = (double) ax_source_rows(table->source);
	Datum		values[Natts_pg_statistic];
	bool		nulls[Natts_pg_statistic];
	Relation	rel;
	HeapTuple	tuple;
	float4		null_share = 0;
	int32		width;

	memset(values, 0, sizeof(values));
	memset(nulls, false, sizeof(nulls));
	if (facts->bounds.nulls > 0 && facts->bounds.rows > 0)
		null_share = (float4) Min((double) facts->bounds.nulls / facts->bounds.rows, 1.0);
	width = get_typavgwidth(col->typid, col->typmod);
	if (col->type.phys == AX_P_STR && facts->width > 0)
		width = (int32) Min(facts->width + VARHDRSZ, 1000000);
	values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(table->relid);
	values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(attnum);
	values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(false);
	values[Anum_pg_statistic_stanullfrac - 1] = Float4GetDatum(null_share);
	values[Anum_pg_statistic_stawidth - 1] = Int32GetDatum(width);
	values[Anum_pg_statistic_stadistinct - 1] =
		Float4GetDatum(distinct_values(facts, col->type.id, rows));
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = true;
		nulls[Anum_pg_statistic_stavalues1 - 1 + i] = true;
	}
	if (col->pushable && col->typid == getBaseType(col->typid) && has_range(col->type.id) &&
		facts->bounds.has_min && facts->bounds.has_max &&
		ax_value_cmp(&facts->bounds.min, &facts->bounds.max) < 0)
	{
		TypeCacheEntry *type = lookup_type_cache(col->typid, TYPECACHE_LT_OPR);
		ax_value	value[HIST_BOUNDS];
		Datum		bound[HIST_BOUNDS];
		int			n = make_histogram(table, (uint32) table->ord[attnum], facts, value);

		for (int i = 0; i < n; i++)
			bound[i] = afdw_datum(col->type.id, &value[i]);
		values[Anum_pg_statistic_stakind1 - 1] = Int16GetDatum(STATISTIC_KIND_HISTOGRAM);
		values[Anum_pg_statistic_staop1 - 1] = ObjectIdGetDatum(type->lt_opr);
		values[Anum_pg_statistic_stavalues1 - 1] =
			PointerGetDatum(construct_array(bound, n, col->typid, type->typlen, type->typbyval,
											type->typalign));
		nulls[Anum_pg_statistic_stavalues1 - 1] = false;
	}
	rel = table_open(StatisticRelationId, AccessShareLock);
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	table_close(rel, AccessShareLock);
	return tuple;
}

static bool
stats_hook(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum, VariableStatData *vardata)
{
	AfdwTable  *table;
	ax_col_facts facts;

	if (previous_hook && previous_hook(root, rte, attnum, vardata))
		return true;
	if (rte->relkind != RELKIND_FOREIGN_TABLE || rte->inh || attnum <= 0)
		return false;
	table = afdw_table_peek(rte->relid);
	if (table == NULL || attnum > table->natts || table->ord[attnum] < 0 ||
		SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
							  Int16GetDatum(attnum), BoolGetDatum(false)))
		return false;
	memset(&facts, 0, sizeof(facts));
	if (!ax_source_col_facts(table->source, (uint32) table->ord[attnum], &facts))
		return false;
	vardata->statsTuple = make_tuple(table, attnum, &facts);
	vardata->freefunc = heap_freetuple;
	vardata->acl_ok = may_read(rte, attnum);
	return true;
}

void
afdw_stats_init(void)
{
	previous_hook = get_relation_stats_hook;
	get_relation_stats_hook = stats_hook;
}
