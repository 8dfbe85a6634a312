/*-------------------------------------------------------------------------
 *
 * stats.c
 *		Statistics for the planner from the metadata of the files.
 *
 * The planner asks for a row of pg_statistic; where ANALYZE left none, one is
 * made from what footers say: null fraction, width, bounds as a histogram of
 * one bucket, and a number of distinct values when it is known.  Serves
 * selectivity, join sizes and numbers of groups alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

		if (range < rows)
			n = range;
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
		Datum		bound[2];

		bound[0] = afdw_datum(col->type.id, &facts->bounds.min);
		bound[1] = afdw_datum(col->type.id, &facts->bounds.max);
		values[Anum_pg_statistic_stakind1 - 1] = Int16GetDatum(STATISTIC_KIND_HISTOGRAM);
		values[Anum_pg_statistic_staop1 - 1] = ObjectIdGetDatum(type->lt_opr);
		values[Anum_pg_statistic_stavalues1 - 1] =
			PointerGetDatum(construct_array(bound, 2, col->typid, type->typlen, type->typbyval,
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
