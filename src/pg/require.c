/*-------------------------------------------------------------------------
 *
 * require.c
 *		analytics_fdw.require_pushdown: complaints about queries in which
 *		PostgreSQL does work on rows of our tables.
 *
 * Called for each foreign scan while its plan is made.  Expressions of the
 * result do not count, nor does what a query does with the results of
 * subqueries in its expressions, and of WITH queries that are materialised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/value.h"
#include "optimizer/pathnode.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "afdw.h"

/* Something that PostgreSQL does, and why. */
typedef struct Work
{
	char	   *what;
	const char *reason;
} Work;

static bool
found(Work *work, char *what, const char *reason)
{
	work->what = what;
	work->reason = reason;
	return true;
}

/* Work of one query level beside what its scan of ours does, whose input is `below`. */
static bool
work_of_level(PlannerInfo *root, RelOptInfo *below, Work *work)
{
	Query	   *parse = root->parse;

	if (below->reloptkind == RELOPT_OTHER_MEMBER_REL)
		return found(work, "UNION ALL or partitions", "rows are put together by PostgreSQL");
	if (parse->setOperations)
		return found(work, "UNION, INTERSECT or EXCEPT",
					 "set operations are evaluated by PostgreSQL");
	if (bms_membership(root->all_baserels) == BMS_MULTIPLE)
		return found(work, "join", "joins are evaluated by PostgreSQL");
	if (root->rowMarks != NIL)
		return found(work, "FOR UPDATE or SHARE", "rows are locked by PostgreSQL");
	if (parse->hasWindowFuncs)
		return found(work, "window functions", "the engine has no window functions");
	return false;
}

/* Work above a subquery in FROM: everything, since nothing is pushed through it. */
static bool
work_above(PlannerInfo *root, Work *work)
{
	Query	   *parse = root->parse;
	const char *reason = "it is above a subquery";

	if (parse->hasAggs || parse->groupClause || parse->groupingSets || parse->havingQual)
		return found(work, "aggregation", reason);
	if (parse->distinctClause)
		return found(work, "DISTINCT", reason);
	if (parse->sortClause)
		return found(work, "sort", reason);
	if (parse->limitCount || parse->limitOffset)
		return found(work, "limit", reason);
	return false;
}

/* The relation of the parent query that this query makes; NULL: none, it is in an expression. */
static RelOptInfo *
rel_of_subquery(PlannerInfo *root)
{
	PlannerInfo *parent = root->parent_root;

	for (int i = 1; parent && i < parent->simple_rel_array_size; i++)
		if (parent->simple_rel_array[i] && parent->simple_rel_array[i]->subroot == root)
			return parent->simple_rel_array[i];
	return NULL;
}

static bool
local_work(PlannerInfo *root, RelOptInfo *base, Work *work)
{
	if (work_of_level(root, base, work))
		return true;
	while ((base = rel_of_subquery(root)) != NULL)
	{
		root = root->parent_root;
		if (base->baserestrictinfo != NIL)
			return found(work, "a condition", "it is above a subquery");
		if (work_of_level(root, base, work) || work_above(root, work))
			return true;
	}
	return false;
}

/* The first of what was noted while paths were made. */
static void
first_skipped(const AfdwDesc *desc, Oid relid, Work *work)
{
	List	   *item = linitial(desc->skipped);

	work->reason = strVal(lsecond(item));
	if (IsA(linitial(item), String))
		work->what = strVal(linitial(item));
	else
	{
		Node	   *expr = copyObject(linitial(item));

		if (desc->varno != 1)
			ChangeVarNodes(expr, (int) desc->varno, 1, 0);
		work->what = deparse_expression(expr, deparse_context_for(get_rel_name(relid), relid),
										false, false);
	}
}

/* base: the relation of the foreign table, relid. */
void
afdw_check_required(PlannerInfo *root, RelOptInfo *base, const AfdwDesc *desc, Oid relid)
{
	Work		work;

	if (afdw_require_pushdown == AFDW_REQUIRE_OFF)
		return;
	if (desc->skipped != NIL)
		first_skipped(desc, relid, &work);
	else if (!local_work(root, base, &work))
		return;
	ereport(afdw_require_pushdown == AFDW_REQUIRE_ERROR ? ERROR : WARNING,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the query is not evaluated entirely in the engine"),
			 errdetail("Not pushed down: %s (%s).", work.what, work.reason),
			 errhint("EXPLAIN shows what is not pushed down and why.")));
}
