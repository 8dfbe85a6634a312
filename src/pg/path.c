/*-------------------------------------------------------------------------
 *
 * path.c
 *		Planning: estimates, paths of base and upper relations, plans.
 *
 * A relation that one scan of ours can produce has an AfdwRel in fdw_private.
 * Each stage (grouping, DISTINCT, ORDER BY, LIMIT) takes the description of
 * the stage below, adds its own work and asks the engine whether it accepts;
 * if not, the reason is noted at the base relation, and PostgreSQL evaluates
 * the stage above the last one that was accepted.
 *
 * Costs are in the server's units.  The engine's work per value is taken as a
 * twentieth of an operator call, so that what can be pushed down is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"

#include "afdw.h"

#define CPU_FACTOR		0.05	/* engine work per value, in operator calls */
#define PAGE_FACTOR		0.02	/* cost of 8 kB of a file */
#define STARTUP_COST	5.0		/* unless fdw_startup_cost says otherwise */
#define TUPLE_COST		(cpu_tuple_cost * 0.5)	/* a row to the server, or fdw_tuple_cost */

static Cost
startup_cost(const AfdwRel *fpinfo)
{
	Cost		cost = fpinfo->table->opts.startup_cost;

	return cost >= 0 ? cost : STARTUP_COST;
}

static Cost
tuple_cost(const AfdwRel *fpinfo)
{
	Cost		cost = fpinfo->table->opts.tuple_cost;

	return cost >= 0 ? cost : TUPLE_COST;
}

/* Notes at the base relation why something stays in PostgreSQL: an expression or a word. */
static void
skip(AfdwRel *fpinfo, Node *what, const char *reason)
{
	AfdwRel    *base = fpinfo->base->fdw_private;
	List	   *item = list_make2(what, makeString(pstrdup(reason)));
	ListCell   *lc;

	/* a stage may be offered more than once */
	foreach(lc, base->desc->skipped)
		if (equal(lfirst(lc), item))
			return;
	base->desc->skipped = lappend(base->desc->skipped, item);
}

static void
skip_word(AfdwRel *fpinfo, const char *what, const char *reason)
{
	skip(fpinfo, (Node *) makeString(pstrdup(what)), reason);
}

/* ---- base relations ------------------------------------------------------------ */

/* Clauses in the order in which PostgreSQL would evaluate them: by security level, then cost. */
static List *
order_clauses(PlannerInfo *root, List *clauses)
{
	int			n = list_length(clauses);
	RestrictInfo **item = palloc(sizeof(RestrictInfo *) * Max(n, 1));
	Cost	   *cost = palloc(sizeof(Cost) * Max(n, 1));
	List	   *result = NIL;
	ListCell   *lc;
	int			k = 0;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		QualCost	qc;
		int			i;

		cost_qual_eval_node(&qc, (Node *) rinfo, root);
		for (i = k; i > 0; i--)
		{
			if (item[i - 1]->security_level < rinfo->security_level ||
				(item[i - 1]->security_level == rinfo->security_level &&
				 cost[i - 1] <= qc.per_tuple))
				break;
			item[i] = item[i - 1];
			cost[i] = cost[i - 1];
		}
		item[i] = rinfo;
		cost[i] = qc.per_tuple;
		k++;
	}
	for (int i = 0; i < n; i++)
		result = lappend(result, item[i]);
	return result;
}

/*
 * Splits the conditions into those of the engine and those that stay.
 * Conditions without columns are among them for the sake of upper relations;
 * above a plain scan PostgreSQL checks them itself.  A
 * condition that can raise errors stays behind a local one that PostgreSQL
 * would evaluate first, and so does one of a higher security level.
 */
static void
classify(PlannerInfo *root, RelOptInfo *rel, AfdwRel *fpinfo, ax_expr ***conj, int *nconj)
{
	AfdwTranslate t;
	AfdwTable  *table = fpinfo->table;
	int		   *attcol = palloc(sizeof(int) * (table->natts + 1));
	List	   *ordered = order_clauses(root, rel->baserestrictinfo);
	ListCell   *lc;
	Index		local_level = PG_UINT32_MAX;

	memset(&t, 0, sizeof(t));
	for (int i = 0; i <= table->natts; i++)
		attcol[i] = table->ord[i];
	t.table = table;
	t.plan = afdw_plan_create();
	t.attcol = attcol;
	t.desc = fpinfo->desc;
	*conj = palloc(sizeof(ax_expr *) * Max(list_length(ordered), 1));
	*nconj = 0;
	foreach(lc, ordered)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		ax_expr    *e = NULL;

		t.placeholder = false;
		if (!afdw_enabled)
			t.reason = "analytics_fdw.enabled is off";
		else
			e = afdw_translate(&t, rinfo->clause);
		if (e && e->can_raise && fpinfo->local != NIL)
		{
			t.reason = "it may raise an error and follows a condition that PostgreSQL evaluates";
			e = NULL;
		}
		if (e && rinfo->security_level > local_level && !rinfo->leakproof)
		{
			t.reason = "it must follow a security condition that PostgreSQL evaluates";
			e = NULL;
		}
		if (e)
		{
			fpinfo->remote = lappend(fpinfo->remote, rinfo);
			fpinfo->desc->quals = lappend(fpinfo->desc->quals, rinfo->clause);
			if (!t.placeholder)
				(*conj)[(*nconj)++] = e;
		}
		else
		{
			fpinfo->local = lappend(fpinfo->local, rinfo);
			local_level = Min(local_level, rinfo->security_level);
			skip(fpinfo, (Node *) rinfo->clause, t.reason);
		}
	}
}

/* Columns that the scan must return: those of the result and of local conditions. */
static List *
wanted_columns(RelOptInfo *rel, AfdwRel *fpinfo)
{
	AfdwTable  *table = fpinfo->table;
	Bitmapset  *attrs = NULL;
	List	   *vars = NIL;
	ListCell   *lc;
	bool		all;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attrs);
	foreach(lc, fpinfo->local)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &attrs);
	all = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attrs);
	for (int att = 1; att <= table->natts; att++)
	{
		AfdwColumn *col;

		if (table->ord[att] < 0 ||
			!(all || bms_is_member(att - FirstLowInvalidHeapAttributeNumber, attrs)))
			continue;
		col = &table->col[table->ord[att]];
		vars = lappend(vars, makeVar(rel->relid, (AttrNumber) att, col->typid, col->typmod,
									 col->collation, 0));
	}
	return vars;
}

/* Average widths from the files; updates the width of the result. */
static void
apply_widths(RelOptInfo *rel, AfdwTable *table)
{
	int64		width = 0;
	ListCell   *lc;

	for (int i = 0; i < table->ncols; i++)
	{
		ax_col_facts facts;
		int			att = table->col[i].attnum;

		if (table->col[i].type.phys == AX_P_STR && ax_source_col_facts(table->source, i, &facts) &&
			facts.width > 0 && att >= rel->min_attr && att <= rel->max_attr)
			rel->attr_widths[att - rel->min_attr] = (int32) Min(facts.width + VARHDRSZ, 1000000);
	}
	foreach(lc, rel->reltarget->exprs)
	{
		Node	   *node = lfirst(lc);

		if (IsA(node, Var) && ((Var *) node)->varno == rel->relid &&
			((Var *) node)->varattno > 0 &&
			rel->attr_widths[((Var *) node)->varattno - rel->min_attr] > 0)
			width += rel->attr_widths[((Var *) node)->varattno - rel->min_attr];
		else
			width += get_typavgwidth(exprType(node), exprTypmod(node));
	}
	rel->reltarget->width = (int) Min(width, 1000000000);
}

void
afdw_get_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	ax_error	err;
	AfdwRel    *fpinfo = palloc0(sizeof(AfdwRel));
	ax_expr   **conj;
	int			nconj;
	Selectivity sel;
	double		matching;

	rel->fdw_private = fpinfo;
	fpinfo->base = rel;
	fpinfo->desc = palloc0(sizeof(AfdwDesc));
	fpinfo->desc->varno = rel->relid;
	fpinfo->table = afdw_table_plan(relid, root->glob);
	fpinfo->desc->listing = fpinfo->table->listing;

	classify(root, rel, fpinfo, &conj, &nconj);
	if (!afdw_table_open_files(fpinfo->table, conj, nconj, NULL, &err))
		afdw_ereport(&err);
	fpinfo->desc->output = wanted_columns(rel, fpinfo);

	rel->tuples = (double) ax_source_rows(fpinfo->table->source);
	if (rel->tuples < 0)		/* a file does not know: a hundred bytes a row */
		rel->tuples = (double) ax_source_bytes(fpinfo->table->source) / 100;
	rel->pages = (BlockNumber) Min(ax_source_bytes(fpinfo->table->source) / BLCKSZ, 1000000000);
	matching = rel->tuples;
	if (nconj > 0 && afdw_enable_row_group_pruning)
		matching = (double) ax_source_rows_matching(fpinfo->table->source, conj, (uint32) nconj);
	if (matching < 0)
		matching = rel->tuples;
	sel = clauselist_selectivity(root, rel->baserestrictinfo, rel->relid, JOIN_INNER, NULL);
	rel->rows = clamp_row_est(Min(rel->tuples * sel, matching));
	apply_widths(rel, fpinfo->table);

	/* What the engine reads and evaluates, over its threads. */
	{
		int			ncols = list_length(fpinfo->desc->output) + nconj;
		double		share = rel->tuples > 0 ? matching / rel->tuples : 1.0;
		double		values = matching * Max(ncols, 1);
		double		width = Min(1.0, (double) Max(ncols, 1) / Max(fpinfo->table->ncols, 1));
		double		threads = Min(ax_source_splits(fpinfo->table->source), 4);
		Cost		work;
		Selectivity local;
		QualCost	qc;
		ListCell   *lc;
		List	   *clauses = NIL;

		if (afdw_max_threads > 0)
			threads = Min(threads, afdw_max_threads);
		work = (values * CPU_FACTOR * cpu_operator_cost +
				share * width * rel->pages * PAGE_FACTOR) / Max(threads, 1);
		foreach(lc, fpinfo->local)
			clauses = lappend(clauses, lfirst(lc));
		local = clauselist_selectivity(root, clauses, rel->relid, JOIN_INNER, NULL);
		cost_qual_eval(&qc, clauses, root);
		fpinfo->rows = rel->rows;
		fpinfo->startup = startup_cost(fpinfo) + qc.startup;
		fpinfo->transfer = rel->rows / Max(local, 1e-6) * (tuple_cost(fpinfo) + qc.per_tuple);
		fpinfo->total = fpinfo->startup + work + fpinfo->transfer;
		fpinfo->parallel_saving = work * (Max(threads, 1) - 1);
	}
}

void
afdw_get_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	AfdwRel    *fpinfo = rel->fdw_private;

	add_path(rel, (Path *) afdw_foreignscan_path(root, rel, NULL, rel->rows, fpinfo->startup,
												 fpinfo->total, NIL, rel->lateral_relids, NULL,
												 NIL));
	afdw_add_ordered_path(root, rel);
	afdw_add_parameterized_paths(root, rel);
}

/* ---- upper relations ------------------------------------------------------------- */

typedef struct Collect
{
	List	   *env;			/* what is computed below: keys and aggregates, or columns */
	bool		columns;		/* Vars of the table count as computed */
	bool		add_aggs;		/* Aggrefs are added to env */
	List	   *found;
	bool		failed;
} Collect;

/* Finds what PostgreSQL's projection needs from below. */
static bool
collect_walker(Node *node, Collect *c)
{
	if (node == NULL)
		return false;
	if (IsA(node, Const))
		return false;
	if (list_member(c->env, node) || (c->columns && IsA(node, Var)))
	{
		if (c->columns && IsA(node, Var) && ((Var *) node)->varattno <= 0)
		{
			c->failed = true;	/* system columns and whole rows are not in our tuples */
			return true;
		}
		c->found = list_append_unique(c->found, node);
		return false;
	}
	if (c->add_aggs && IsA(node, Aggref))
	{
		c->env = lappend(c->env, node);
		c->found = list_append_unique(c->found, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, Aggref) || IsA(node, GroupingFunc) ||
		IsA(node, WindowFunc) || IsA(node, PlaceHolderVar))
	{
		c->failed = true;
		return true;
	}
	return expression_tree_walker(node, collect_walker, (void *) c);
}

/* What the stage below computes, for matching. */
static void
collect_init(Collect *c, const AfdwDesc *desc)
{
	memset(c, 0, sizeof(*c));
	if (desc->distinct != NIL)
		c->env = desc->distinct;
	else if (desc->grouped)
		c->env = list_concat_copy(desc->keys, desc->aggs);
	else
		c->columns = true;
}

/* The columns that a stage must return so that PostgreSQL can compute target; false: it cannot. */
static bool
output_for(AfdwDesc *desc, PathTarget *target)
{
	Collect		c;
	ListCell   *lc;

	collect_init(&c, desc);
	foreach(lc, target->exprs)
	{
		if (collect_walker(lfirst(lc), &c) && c.failed)
			return false;
	}
	desc->output = c.found;
	return true;
}

static bool
accepted(AfdwDesc *desc, AfdwRel *input, const char *what)
{
	AfdwBuilt	built;
	const char *reason = NULL;

	if (afdw_desc_build(desc, input->table, NULL, &built, &reason))
		return true;
	skip_word(input, what, reason);
	return false;
}

/* A new AfdwRel over input; everything else is filled in by the stage. */
static AfdwRel *
stage_rel(AfdwRel *input, AfdwDesc *desc)
{
	AfdwRel    *fpinfo = palloc0(sizeof(AfdwRel));

	fpinfo->table = input->table;
	fpinfo->base = input->base;
	fpinfo->desc = desc;
	fpinfo->rows = input->rows;
	fpinfo->startup = input->startup;
	fpinfo->total = input->total;
	return fpinfo;
}

static double
cheap_log2(double x)
{
	return log(Max(x, 2.0)) / log(2.0);
}

/* Grouping hides what the rows cost: only groups reach the server. */
static void
cost_grouping(AfdwRel *fpinfo, AfdwRel *input, double groups, int width)
{
	Cost		work = input->total - input->startup - input->rows * tuple_cost(input);

	work = Max(work, 0) + input->rows * width * CPU_FACTOR * cpu_operator_cost;
	fpinfo->rows = groups;
	fpinfo->startup = input->startup + work;
	fpinfo->total = fpinfo->startup + groups * tuple_cost(input);
}

/*
 * Keys and aggregates of a grouping.  Constants do not distinguish groups,
 * unless there is nothing else.  Returns why it cannot be done, or NULL.
 */
static const char *
grouping_desc(PlannerInfo *root, AfdwDesc *desc, PathTarget *target, Node *having)
{
	Collect		c;
	ListCell   *lc;
	int			i = 0;

	desc->grouped = true;
	foreach(lc, target->exprs)
	{
		Expr	   *expr = lfirst(lc);
		Index		sgref = get_pathtarget_sortgroupref(target, i++);

		if (sgref && get_sortgroupref_clause_noerr(sgref, root->parse->groupClause) &&
			!afdw_is_constant((Node *) expr))
			desc->keys = list_append_unique(desc->keys, expr);
	}
	if (desc->keys == NIL && root->parse->groupClause != NIL)
		return "all keys are constant";

	memset(&c, 0, sizeof(c));
	c.env = list_copy(desc->keys);
	c.add_aggs = true;
	foreach(lc, target->exprs)
		if (collect_walker(lfirst(lc), &c) && c.failed)
			return "the result needs columns that are not grouped";
	if (collect_walker(having, &c) && c.failed)
		return "HAVING needs columns that are not grouped";
	for (i = list_length(desc->keys); i < list_length(c.env); i++)
		desc->aggs = lappend(desc->aggs, list_nth(c.env, i));
	desc->output = list_concat_copy(desc->keys, desc->aggs);
	return NULL;
}

/* Adds the conditions of HAVING that the engine can evaluate; returns the others. */
static List *
push_having(AfdwDesc **desc, AfdwRel *input, List *having)
{
	List	   *local = NIL;
	ListCell   *lc;

	foreach(lc, having)
	{
		Node	   *clause = lfirst(lc);
		AfdwDesc   *with = afdw_desc_copy(*desc);
		AfdwBuilt	built;
		const char *reason = "it follows a condition that PostgreSQL evaluates";

		with->having = lappend(with->having, clause);
		if (local == NIL && afdw_desc_build(with, input->table, NULL, &built, &reason))
			*desc = with;
		else
		{
			local = lappend(local, clause);
			skip(input, clause, reason);
		}
	}
	return local;
}

static void
grouping_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
			   GroupPathExtraData *extra, bool partial)
{
	AfdwRel    *input = input_rel->fdw_private;
	AfdwDesc   *desc = afdw_desc_copy(input->desc);
	PathTarget *target = output_rel->reltarget;
	AfdwRel    *fpinfo;
	List	   *local;
	const char *reason;
	double		groups = 1.0;

	if (!afdw_enable_aggregate_pushdown)
	{
		skip_word(input, "aggregation", "analytics_fdw.enable_aggregate_pushdown is off");
		return;
	}
	if (root->parse->groupingSets)
	{
		skip_word(input, "aggregation", "the engine has no grouping sets");
		return;
	}
	if (partial != (extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL))
		return;
	/* HAVING is for whole groups */
	reason = grouping_desc(root, desc, target, partial ? NULL : extra->havingQual);
	if (reason)
	{
		skip_word(input, "aggregation", reason);
		return;
	}
	if (!accepted(desc, input, "aggregation"))
		return;
	local = partial ? NIL : push_having(&desc, input, (List *) extra->havingQual);

	fpinfo = stage_rel(input, desc);
	fpinfo->local = local;
	if (desc->keys != NIL)
		groups = estimate_num_groups(root, desc->keys, input->rows, NULL, NULL);
	fpinfo->groups = groups;
	cost_grouping(fpinfo, input, groups, list_length(desc->keys) + list_length(desc->aggs));
	if (extra->havingQual && !partial)
		fpinfo->rows = clamp_row_est(groups * clauselist_selectivity(root,
																	 (List *) extra->havingQual,
																	 0, JOIN_INNER, NULL));
	output_rel->fdw_private = fpinfo;
	add_path(output_rel,
			 (Path *) afdw_foreign_upper_path(root, output_rel, target, fpinfo->rows,
											  fpinfo->startup, fpinfo->total, NIL, NULL, NIL));
}

static void
distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	AfdwRel    *input = input_rel->fdw_private;
	AfdwDesc   *desc = afdw_desc_copy(input->desc);
	PathTarget *target = root->upper_targets[UPPERREL_DISTINCT];
	AfdwRel    *fpinfo;
	List	   *exprs = NIL;
	ListCell   *lc;
	double		groups;
	int			i = 0;

	if (!afdw_enable_distinct_pushdown)
	{
		skip_word(input, "DISTINCT", "analytics_fdw.enable_distinct_pushdown is off");
		return;
	}
	if (root->parse->hasDistinctOn)
	{
		skip_word(input, "DISTINCT", "the engine has no DISTINCT ON");
		return;
	}
	foreach(lc, target->exprs)
	{
		Index		sgref = get_pathtarget_sortgroupref(target, i++);

		if (afdw_is_constant(lfirst(lc)))
			continue;
		if (!sgref || !get_sortgroupref_clause_noerr(sgref, root->parse->distinctClause))
		{
			skip_word(input, "DISTINCT", "the groups have keys that are not in the result");
			return;
		}
		exprs = list_append_unique(exprs, lfirst(lc));
	}
	if (exprs == NIL)
	{
		skip_word(input, "DISTINCT", "all columns are constant");
		return;
	}
	if (desc->grouped)
		desc->distinct = exprs;
	else
	{
		desc->grouped = true;
		desc->keys = exprs;
	}
	desc->output = exprs;
	if (!accepted(desc, input, "DISTINCT"))
		return;

	fpinfo = stage_rel(input, desc);
	groups = estimate_num_groups(root, exprs, input->rows, NULL, NULL);
	fpinfo->groups = groups;
	cost_grouping(fpinfo, input, groups, list_length(exprs));
	output_rel->fdw_private = fpinfo;
	add_path(output_rel,
			 (Path *) afdw_foreign_upper_path(root, output_rel, target, groups, fpinfo->startup,
											  fpinfo->total, NIL, NULL, NIL));
}

/* The expression of a sort key that the stage below has or can compute; NULL: none. */
static Expr *
sort_expr(PlannerInfo *root, AfdwRel *input, AfdwDesc *desc, PathKey *key, const char **reason)
{
	EquivalenceClass *ec = key->pk_eclass;
	ListCell   *lc;

	if (ec->ec_has_volatile)
	{
		*reason = "a volatile sort key";
		return NULL;
	}
	*reason = "a sort key is not computed in the engine";
	foreach(lc, ec->ec_members)
	{
		EquivalenceMember *em = lfirst(lc);
		Expr	   *expr = em->em_expr;
		AfdwDesc   *with;
		AfdwBuilt	built;

		if (em->em_is_const || em->em_is_child)
			continue;
		if (!afdw_shippable_order(exprType((Node *) expr), key->pk_opfamily, ec->ec_collation,
								  reason))
			continue;
		/* varchar columns are sorted as text */
		while (IsA(expr, RelabelType) && ((RelabelType *) expr)->resulttype == TEXTOID &&
			   exprCollation((Node *) ((RelabelType *) expr)->arg) ==
			   ((RelabelType *) expr)->resultcollid)
			expr = ((RelabelType *) expr)->arg;
		with = afdw_desc_copy(desc);
		with->output = NIL;
		with->sort = list_make1(list_make3(expr, makeInteger(0), makeInteger(0)));
		if (afdw_desc_build(with, input->table, NULL, &built, reason))
			return expr;
	}
	return NULL;
}

static void
ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	AfdwRel    *input = input_rel->fdw_private;
	AfdwDesc   *desc = afdw_desc_copy(input->desc);
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	AfdwRel    *fpinfo;
	ListCell   *lc;
	Cost		work;

	if (!afdw_enable_sort_pushdown)
	{
		skip_word(input, "sort", "analytics_fdw.enable_sort_pushdown is off");
		return;
	}
	if (root->parse->hasTargetSRFs)
	{
		skip_word(input, "sort", "the result has set-returning functions");
		return;
	}
	/* rows that OFFSET skips would not be compared with those before them */
	if (!desc->grouped && input->base == input_rel && root->parse->limitOffset == NULL &&
		pathkeys_contained_in(root->sort_pathkeys, input->stored_pathkeys))
	{
		desc->stored = true;
		desc->merged = input->merged;
		desc->sort = list_truncate(list_copy(input->stored_keys),
								   list_length(root->sort_pathkeys));
	}
	foreach(lc, desc->stored ? NIL : root->sort_pathkeys)
	{
		PathKey    *key = lfirst_node(PathKey, lc);
		const char *reason = NULL;
		Expr	   *expr = sort_expr(root, input, desc, key, &reason);

		if (expr == NULL)
		{
			skip_word(input, "sort", reason);
			return;
		}
		desc->sort = lappend(desc->sort,
							 list_make3(expr, makeInteger(afdw_pathkey_desc(key) ? 1 : 0),
										makeInteger(key->pk_nulls_first ? 1 : 0)));
	}
	if (!output_for(desc, target))
	{
		skip_word(input, "sort", "the result needs whole rows or system columns");
		return;
	}
	if (!accepted(desc, input, "sort"))
		return;

	fpinfo = stage_rel(input, desc);
	work = fpinfo->rows * cheap_log2(fpinfo->rows) * CPU_FACTOR * cpu_operator_cost *
		list_length(desc->sort);
	fpinfo->startup = input->total - input->rows * tuple_cost(input) + work;
	fpinfo->startup = Max(fpinfo->startup, input->startup);
	fpinfo->total = fpinfo->startup + fpinfo->rows * tuple_cost(input);
	if (desc->stored)
	{
		fpinfo->startup = input->startup;
		fpinfo->total = input->total + input->parallel_saving;
	}
	output_rel->fdw_private = fpinfo;
	add_path(output_rel,
			 (Path *) afdw_foreign_upper_path(root, output_rel, target, fpinfo->rows,
											  fpinfo->startup, fpinfo->total, root->sort_pathkeys,
											  NULL, NIL));
}

/* Is it a LIMIT or OFFSET that can be evaluated before the first row? */
static bool
good_limit(Node *node)
{
	if (node == NULL)
		return true;
	if (IsA(node, Const))
		return ((Const *) node)->constisnull || DatumGetInt64(((Const *) node)->constvalue) >= 0;
	return afdw_is_constant(node);
}

static void
final_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
			FinalPathExtraData *extra)
{
	AfdwRel    *input = input_rel->fdw_private;
	AfdwDesc   *desc = afdw_desc_copy(input->desc);
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];
	AfdwRel    *fpinfo;
	Query	   *parse = root->parse;
	Cost		run;

	if (!extra->limit_needed)
		return;					/* the paths below are final already */
	if (!afdw_enable_limit_pushdown)
	{
		skip_word(input, "limit", "analytics_fdw.enable_limit_pushdown is off");
		return;
	}
	if (parse->hasTargetSRFs)
	{
		skip_word(input, "limit", "the result has set-returning functions");
		return;
	}
	if (parse->limitOption == LIMIT_OPTION_WITH_TIES)
	{
		skip_word(input, "limit", "the engine has no WITH TIES");
		return;
	}
	if (!good_limit(parse->limitCount) || !good_limit(parse->limitOffset))
	{
		skip_word(input, "limit", "it is volatile, negative or a subquery");
		return;
	}
	desc->limited = true;
	desc->limit = parse->limitCount;
	desc->offset = parse->limitOffset;
	if (!output_for(desc, target))
	{
		skip_word(input, "limit", "the result needs whole rows or system columns");
		return;
	}
	if (!accepted(desc, input, "limit"))
		return;

	fpinfo = stage_rel(input, desc);
	adjust_limit_rows_costs(&fpinfo->rows, &fpinfo->startup, &fpinfo->total, extra->offset_est,
							extra->count_est);
	run = fpinfo->total - fpinfo->startup;
	fpinfo->total = fpinfo->startup + 0.9 * run;	/* rows that are cut off do not travel */
	output_rel->fdw_private = fpinfo;
	add_path(output_rel,
			 (Path *) afdw_foreign_upper_path(root, output_rel, target, fpinfo->rows,
											  fpinfo->startup, fpinfo->total,
											  desc->sort != NIL ? root->sort_pathkeys : NIL, NULL,
											  NIL));
}

/* Tells our base relations below a join why nothing above it is pushed down. */
static void
note_join(PlannerInfo *root, RelOptInfo *input_rel, UpperRelationKind stage)
{
	int			rti = -1;
	const char *what = stage == UPPERREL_GROUP_AGG ? "aggregation" :
		stage == UPPERREL_DISTINCT ? "DISTINCT" : NULL;

	if (what == NULL || !IS_JOIN_REL(input_rel))
		return;
	while ((rti = bms_next_member(input_rel->relids, rti)) >= 0)
	{
		RelOptInfo *rel = rti < root->simple_rel_array_size ? root->simple_rel_array[rti] : NULL;

		if (rel && rel->fdw_private && afdw_is_our_routine(rel->fdwroutine))
			skip_word(rel->fdw_private, what, "joins are evaluated by PostgreSQL");
	}
}

void
afdw_get_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
					 RelOptInfo *output_rel, void *extra)
{
	AfdwRel    *input = input_rel->fdw_private;
	const char *what = stage == UPPERREL_GROUP_AGG || stage == UPPERREL_PARTIAL_GROUP_AGG ?
		"aggregation" :
		stage == UPPERREL_DISTINCT ? "DISTINCT" :
		stage == UPPERREL_ORDERED ? "sort" :
		stage == UPPERREL_WINDOW ? "window functions" : "limit";

	if (output_rel->fdw_private)
		return;					/* offered before */
	if (stage != UPPERREL_GROUP_AGG && stage != UPPERREL_PARTIAL_GROUP_AGG &&
		stage != UPPERREL_DISTINCT && stage != UPPERREL_ORDERED &&
		stage != UPPERREL_FINAL && stage != UPPERREL_WINDOW)
		return;
	if (input == NULL)
	{
		note_join(root, input_rel, stage);
		return;
	}
	if (stage == UPPERREL_FINAL && !((FinalPathExtraData *) extra)->limit_needed)
		return;
	if (!afdw_enabled)
	{
		skip_word(input, what, "analytics_fdw.enabled is off");
		return;
	}
	if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
	{
		skip_word(input, what, "rows are locked or modified");
		return;
	}
	if (input->local != NIL)
	{
		skip_word(input, what, "it follows a condition that PostgreSQL evaluates");
		return;
	}
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
		case UPPERREL_PARTIAL_GROUP_AGG:
			grouping_paths(root, input_rel, output_rel, extra,
						   stage == UPPERREL_PARTIAL_GROUP_AGG);
			break;
		case UPPERREL_DISTINCT:
			distinct_paths(root, input_rel, output_rel);
			break;
		case UPPERREL_ORDERED:
			ordered_paths(root, input_rel, output_rel);
			break;
		case UPPERREL_FINAL:
			final_paths(root, input_rel, output_rel, extra);
			break;
		default:
			skip_word(input, what, "the engine has no window functions");
			break;
	}
}

/* ---- plans ------------------------------------------------------------------------ */

ForeignScan *
afdw_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path, List *tlist,
			  List *scan_clauses, Plan *outer_plan)
{
	AfdwRel    *fpinfo = rel->fdw_private;
	AfdwDesc   *desc = afdw_desc_copy(fpinfo->desc);
	List	   *local = NIL,
			   *recheck = NIL,
			   *probes = NIL,
			   *scan_tlist = NIL;
	double		share;
	AfdwBuilt	built;
	const char *reason = NULL;
	Index		scanrelid = 0;
	ListCell   *lc;

	if (IS_SIMPLE_REL(rel))
	{
		scanrelid = rel->relid;
		desc->quals = NIL;
		foreach(lc, scan_clauses)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (rinfo->pseudoconstant)
				continue;
			if (list_member_ptr(fpinfo->remote, rinfo))
				recheck = lappend(recheck, rinfo->clause);
			else if (path->path.param_info && !list_member_ptr(fpinfo->local, rinfo) &&
					 afdw_parameter_clause(root, rel, rinfo, &share))
			{
				desc->parameterized = true;
				probes = lappend(probes, rinfo->clause);
				recheck = lappend(recheck, rinfo->clause);
			}
			else
				local = lappend(local, rinfo->clause);
		}
		foreach(lc, fpinfo->remote)
			if (!lfirst_node(RestrictInfo, lc)->pseudoconstant)
				desc->quals = lappend(desc->quals, lfirst_node(RestrictInfo, lc)->clause);
		desc->quals = list_concat(desc->quals, probes);
		if (path->path.pathkeys != NIL)
		{
			desc->stored = true;
			desc->merged = fpinfo->merged;
			desc->sort = path->fdw_private;
			foreach(lc, desc->sort)
				desc->output = list_append_unique(desc->output,
												  afdw_sort_expr((List *) lfirst(lc)));
		}
	}
	else
	{
		local = fpinfo->local;
		scan_tlist = add_to_flat_tlist(NIL, desc->output);
	}

	/* The last build decides which parameters there are, and what PostgreSQL computes. */
	desc->params = NIL;
	desc->zones = NIL;
	desc->hosts = NIL;
	if (!afdw_desc_build(desc, fpinfo->table, NULL, &built, &reason))
		elog(ERROR, "analytics_fdw: an accepted plan is refused: %s", reason);
	desc->skipped = ((AfdwRel *) fpinfo->base->fdw_private)->desc->skipped;
	afdw_check_required(root, fpinfo->base, desc, fpinfo->table->relid);

	return make_foreignscan(tlist, local, scanrelid,
							copyObject(list_concat_copy(desc->params, desc->zones)),
							afdw_desc_save(desc), scan_tlist, recheck, outer_plan);
}
