/*-------------------------------------------------------------------------
 *
 * scanpath.c
 *		More paths of a foreign table: rows in the order in which they are
 *		stored, and scans for one value after another of another relation.
 *
 * An ordered path reads row groups one after the other, or merges files, so it is slower than
 * the scan that all threads share; it pays where the order spares a sort, or
 * where few rows are wanted.  A parameterised path pays where the bounds of row
 * groups leave out most of them for each value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "afdw.h"

/* ---- stored order ---------------------------------------------------------------- */

/* The planner's key for a column in a direction; NULL: no clause of the query asks for it. */
static PathKey *
pathkey_for(PlannerInfo *root, RelOptInfo *rel, List *key)
{
	Expr	   *expr = afdw_sort_expr(key);
	Oid			typid = exprType((Node *) expr);
	Oid			collation = exprCollation((Node *) expr);
	Oid			opclass = GetDefaultOpClass(typid, BTREE_AM_OID);
	Oid			family,
				input,
				equality;
	EquivalenceClass *ec;
	const char *reason;

	if (!OidIsValid(opclass))
		return NULL;
	family = get_opclass_family(opclass);
	input = get_opclass_input_type(opclass);
	if (!afdw_shippable_order(typid, family, collation, &reason))
		return NULL;
	equality = get_opfamily_member(family, input, input, BTEqualStrategyNumber);
	if (!OidIsValid(equality))
		return NULL;
	ec = afdw_eclass_for(root, rel, copyObject(expr), get_mergejoin_opfamilies(equality), input,
						 collation);
	return ec ? afdw_make_pathkey(root, ec, family, afdw_sort_desc(key),
								  afdw_sort_nulls_first(key)) : NULL;
}

/* Fills in fpinfo's order: the declared one as far as the query can make use of it. */
void
afdw_find_stored_order(PlannerInfo *root, RelOptInfo *rel)
{
	AfdwRel    *fpinfo = rel->fdw_private;
	AfdwTable  *table = fpinfo->table;
	List	   *pathkeys = NIL,
			   *keys = NIL,
			   *all,
			   *useful;
	ListCell   *lc;

	if (!afdw_enable_ordered_scan || !afdw_enabled)
		return;
	all = afdw_order_keys(table, rel->relid);
	foreach(lc, all)
	{
		List	   *key = lfirst(lc);
		Var		   *var = (Var *) afdw_sort_expr(key);
		PathKey    *pathkey;

		if (!table->col[table->ord[var->varattno]].pushable ||
			(pathkey = pathkey_for(root, rel, key)) == NULL)
			break;
		/* a column with one value in this query distinguishes nothing */
		if (EC_MUST_BE_REDUNDANT(pathkey->pk_eclass) || list_member_ptr(pathkeys, pathkey))
			continue;
		pathkeys = lappend(pathkeys, pathkey);
		keys = lappend(keys, key);
	}
	useful = truncate_useless_pathkeys(root, rel, pathkeys);
	if (useful == NIL)
		return;
	keys = list_truncate(keys, list_length(useful));
	/* With a column left out in front, bounds of what follows prove nothing across groups. */
	if (!equal(linitial(keys), linitial(all)) && ax_source_files(table->source) > 1 &&
		!table->opts.files_in_order)
		return;
	fpinfo->merged = !afdw_order_is_stored(table, all);
	if (fpinfo->merged && !afdw_order_merges(table, all, keys))
		return;
	fpinfo->stored_pathkeys = useful;
	fpinfo->stored_keys = keys;
}

void
afdw_add_ordered_path(PlannerInfo *root, RelOptInfo *rel)
{
	AfdwRel    *fpinfo = rel->fdw_private;
	Cost		total = fpinfo->total + fpinfo->parallel_saving;

	afdw_find_stored_order(root, rel);
	if (fpinfo->stored_pathkeys == NIL)
		return;
	if (fpinfo->merged)			/* comparisons by a heap */
		total += fpinfo->rows * cpu_operator_cost *
			log2(Max(ax_source_files(fpinfo->table->source), 2));
	add_path(rel, (Path *) afdw_foreignscan_path(root, rel, NULL, rel->rows, fpinfo->startup,
												 total, fpinfo->stored_pathkeys,
												 rel->lateral_relids, NULL,
												 fpinfo->stored_keys));
}

/* ---- parameters ------------------------------------------------------------------ */

/* Of the row groups, how many one value needs on average when a column is compared with it. */
static double
share_of_groups(AfdwTable *table, Oid opno, Var *var)
{
	Oid			opclass = GetDefaultOpClass(var->vartype, BTREE_AM_OID);

	if (!OidIsValid(opclass))
		return 1;
	switch (get_op_opfamily_strategy(opno, get_opclass_family(opclass)))
	{
		case BTEqualStrategyNumber:
			return afdw_stats_probe_share(table, (uint32) table->ord[var->varattno]);
		case InvalidStrategy:
			return 1;
		default:
			return 0.5;
	}
}

/*
 * May the engine evaluate a condition with values of other relations?  Only
 * comparisons of a column, which are what leaves out row groups.  *share: of
 * the row groups that one value needs.
 */
bool
afdw_parameter_clause(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *rinfo, double *share)
{
	AfdwRel    *fpinfo = rel->fdw_private;
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	Node	   *left,
			   *right;
	AfdwDesc   *desc;
	AfdwTranslate t;
	Var		   *var;

	if (!afdw_enable_parameterized_scan || !afdw_enabled || !IsA(op, OpExpr) ||
		list_length(op->args) != 2 || rinfo->pseudoconstant ||
		contain_volatile_functions((Node *) op))
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	if (!bms_is_member(rel->relid, pull_varnos(root, left)))
	{
		Node	   *swap = left;

		left = right;
		right = swap;
	}
	while (IsA(left, RelabelType))
		left = (Node *) ((RelabelType *) left)->arg;
	var = (Var *) left;
	if (!IsA(var, Var) || var->varno != rel->relid || var->varattno <= 0 ||
		bms_is_member(rel->relid, pull_varnos(root, right)) || !afdw_is_constant_here(right))
		return false;

	desc = afdw_desc_copy(fpinfo->desc);
	desc->parameterized = true;
	memset(&t, 0, sizeof(t));
	t.table = fpinfo->table;
	t.plan = afdw_plan_create();
	t.attcol = fpinfo->table->ord;
	t.desc = desc;
	{
		ax_expr    *e = afdw_translate(&t, (Expr *) op);
		Index		local_level = PG_UINT32_MAX;
		ListCell   *lc;

		if (e == NULL || t.hosts != NIL)
			return false;
		foreach(lc, fpinfo->local)
			local_level = Min(local_level, lfirst_node(RestrictInfo, lc)->security_level);
		if ((e->can_raise && fpinfo->local != NIL) ||
			(rinfo->security_level > local_level && !rinfo->leakproof))
			return false;
	}
	*share = share_of_groups(fpinfo->table, op->opno, var);
	return true;
}

static void
add_parameterized_path(PlannerInfo *root, RelOptInfo *rel, Relids outer)
{
	AfdwRel    *fpinfo = rel->fdw_private;
	ParamPathInfo *ppi = get_baserel_parampathinfo(root, rel, outer);
	double		share = 1;
	Cost		work = Max(fpinfo->total - fpinfo->startup - fpinfo->transfer, 0);
	Cost		per_row = fpinfo->transfer / Max(rel->rows, 1);
	ListCell   *lc;

	foreach(lc, ppi->ppi_clauses)
	{
		double		one;

		if (afdw_parameter_clause(root, rel, lfirst_node(RestrictInfo, lc), &one))
			share = Min(share, one);
	}
	if (share > 0.5)
		return;					/* as good as reading all of it each time */
	add_path(rel, (Path *)
			 afdw_foreignscan_path(root, rel, NULL, ppi->ppi_rows, fpinfo->startup,
								   fpinfo->startup + work * share + ppi->ppi_rows * per_row,
								   NIL, outer, NULL, NIL));
}

/* The member of a class that is the column looked at. */
typedef struct Member
{
	Expr	   *expr;
} Member;

static bool
is_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
		  void *arg)
{
	return equal(em->em_expr, ((Member *) arg)->expr);
}

/* Conditions between a column and other relations: join clauses and members of classes. */
static List *
join_clauses(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, rel->joininfo)
		if (join_clause_is_movable_to(lfirst_node(RestrictInfo, lc), rel))
			clauses = lappend(clauses, lfirst(lc));
	if (!rel->has_eclass_joins)
		return clauses;
	foreach(lc, rel->reltarget->exprs)
	{
		Member		member;

		member.expr = lfirst(lc);
		if (IsA(member.expr, Var))
			clauses = list_concat(clauses, generate_implied_equalities_for_column(
									  root, rel, is_member, &member, rel->lateral_referencers));
	}
	return clauses;
}

void
afdw_add_parameterized_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *done = NIL;
	ListCell   *lc;

	if (!afdw_enable_parameterized_scan)
		return;
	foreach(lc, join_clauses(root, rel))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Relids		outer = bms_del_member(bms_union(rinfo->clause_relids, rel->lateral_relids),
										   rel->relid);
		double		share;
		ListCell   *seen;

		if (bms_is_empty(outer) || !afdw_parameter_clause(root, rel, rinfo, &share))
			continue;
		foreach(seen, done)
			if (bms_equal(lfirst(seen), outer))
				break;
		if (seen)
			continue;
		done = lappend(done, outer);
		add_parameterized_path(root, rel, outer);
	}
}
