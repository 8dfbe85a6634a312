/*-------------------------------------------------------------------------
 *
 * desc.c
 *		What one foreign scan computes: as nodes in a plan, and as a plan of
 *		the engine.
 *
 * Planning callbacks put a description together stage by stage and build the
 * engine's plan after each one only to learn whether the engine accepts it;
 * execution builds it again from the description in the plan tree.  Both use
 * the same function, so that what was accepted is what runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "afdw.h"

#define DESC_VERSION 3

/* A copy whose lists can be extended without changing the original's. */
AfdwDesc *
afdw_desc_copy(const AfdwDesc *desc)
{
	AfdwDesc   *copy = palloc(sizeof(AfdwDesc));

	*copy = *desc;
	copy->output = list_copy(desc->output);
	copy->quals = list_copy(desc->quals);
	copy->having = list_copy(desc->having);
	copy->keys = list_copy(desc->keys);
	copy->aggs = list_copy(desc->aggs);
	copy->distinct = list_copy(desc->distinct);
	copy->sort = list_copy(desc->sort);
	copy->params = list_copy(desc->params);
	copy->skipped = list_copy(desc->skipped);
	copy->hosts = list_copy(desc->hosts);
	copy->zones = list_copy(desc->zones);
	return copy;
}

List *
afdw_desc_save(const AfdwDesc *d)
{
	List	   *l = list_make3(makeInteger(DESC_VERSION), makeInteger((int) d->varno),
							   makeInteger((d->grouped ? 1 : 0) | (d->limited ? 2 : 0) |
							   (d->stored ? 4 : 0) | (d->parameterized ? 8 : 0) |
							   (d->merged ? 16 : 0)));

	l = lappend(l, d->output);
	l = lappend(l, d->quals);
	l = lappend(l, d->keys);
	l = lappend(l, d->aggs);
	l = lappend(l, d->having);
	l = lappend(l, d->distinct);
	l = lappend(l, d->sort);
	l = lappend(l, d->limit);
	l = lappend(l, d->offset);
	l = lappend(l, d->params);
	l = lappend(l, d->skipped);
	l = lappend(l, d->hosts);
	l = lappend(l, d->zones);
	l = lappend(l, makeInteger(d->listing));
	return l;
}

AfdwDesc *
afdw_desc_load(List *l)
{
	AfdwDesc   *d = palloc0(sizeof(AfdwDesc));
	int			flags;

	if (list_length(l) != 17 || intVal(linitial(l)) != DESC_VERSION)
		elog(ERROR, "analytics_fdw: the plan is of another version of the extension");
	d->varno = (Index) intVal(lsecond(l));
	flags = intVal(lthird(l));
	d->grouped = (flags & 1) != 0;
	d->limited = (flags & 2) != 0;
	d->stored = (flags & 4) != 0;
	d->parameterized = (flags & 8) != 0;
	d->merged = (flags & 16) != 0;
	d->output = list_nth(l, 3);
	d->quals = list_nth(l, 4);
	d->keys = list_nth(l, 5);
	d->aggs = list_nth(l, 6);
	d->having = list_nth(l, 7);
	d->distinct = list_nth(l, 8);
	d->sort = list_nth(l, 9);
	d->limit = list_nth(l, 10);
	d->offset = list_nth(l, 11);
	d->params = list_nth(l, 12);
	d->skipped = list_nth(l, 13);
	d->hosts = list_nth(l, 14);
	d->zones = list_nth(l, 15);
	d->listing = intVal(list_nth(l, 16));
	return d;
}

static void
plan_callback(void *arg)
{
	/* plans are charged to the engine's budget and die with it */
	if (!afdw_engine_gone())
		ax_plan_destroy((ax_plan *) arg);
}

/* An empty plan that lives until CurrentMemoryContext is reset. */
ax_plan *
afdw_plan_create(void)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ax_plan    *plan = NULL;
	ax_error	err;

	ax_error_clear(&err);
	if (ax_plan_create(ax_engine_budget(afdw_engine()), &plan, &err) != AX_OK)
		afdw_ereport(&err);
	callback->func = plan_callback;
	callback->arg = plan;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return plan;
}

/* ---- building ------------------------------------------------------------- */

typedef struct Build
{
	AfdwTranslate t;
	AfdwDesc   *d;
	ax_node    *node;			/* root so far */
	int		   *attcol;			/* while columns are the table's; NULL above a grouping */
	const char *reason;
} Build;

/* Memory of the plan; running out of it is an error, not a refusal. */
static void *
plan_alloc(Build *b, Size bytes)
{
	void	   *p = ax_arena_alloc0(b->t.plan->arena, Max(bytes, 1));

	if (p == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return p;
}

/* Takes a node from a builder; NULL: the engine refuses. */
static bool
taken(Build *b, ax_node *node)
{
	ax_error   *err = &b->t.plan->task.err;

	if (node)
	{
		b->node = node;
		return true;
	}
	if (err->code == AX_ENOMEM)
		afdw_ereport(err);
	b->reason = afdw_error_text(err);
	ax_error_clear(err);
	return false;
}

static bool
translate_list(Build *b, List *exprs, ax_expr ***out)
{
	ListCell   *lc;
	int			i = 0;

	*out = plan_alloc(b, sizeof(ax_expr *) * list_length(exprs));
	foreach(lc, exprs)
	{
		ax_expr    *e = afdw_translate(&b->t, lfirst(lc));

		if (e == NULL)
		{
			b->reason = b->t.reason;
			return false;
		}
		(*out)[i++] = e;
	}
	return true;
}

/* Columns are now the given expressions, in order. */
static void
set_env(Build *b, List *env)
{
	b->attcol = NULL;
	b->t.attcol = NULL;
	b->t.env = env;
	b->t.envtype = b->node->type;
}

/* Number of the column that holds an expression, or -1. */
static int
find_column(Build *b, Expr *expr)
{
	ListCell   *lc;
	int			i = 0;

	if (b->attcol)
	{
		Var		   *var = (Var *) expr;

		if (!IsA(expr, Var) || var->varno != b->d->varno || var->varattno <= 0 ||
			var->varattno > b->t.table->natts)
			return -1;
		return b->attcol[var->varattno];
	}
	foreach(lc, b->t.env)
	{
		if (equal(lfirst(lc), expr))
			return i;
		i++;
	}
	return -1;
}

/* Attributes of the table that are read, offset as pull_varattnos does. */
Bitmapset *
afdw_desc_attrs(const AfdwDesc *d)
{
	Bitmapset  *attrs = NULL;
	ListCell   *lc;

	pull_varattnos((Node *) d->output, d->varno, &attrs);
	pull_varattnos((Node *) d->quals, d->varno, &attrs);
	pull_varattnos((Node *) d->keys, d->varno, &attrs);
	pull_varattnos((Node *) d->aggs, d->varno, &attrs);
	pull_varattnos((Node *) d->distinct, d->varno, &attrs);
	foreach(lc, d->sort)
		pull_varattnos((Node *) afdw_sort_expr((List *) lfirst(lc)), d->varno, &attrs);
	return attrs;
}

/* The conditions over columns as declared, to choose files by them. */
static bool
declared_quals(Build *b, AfdwBuilt *built)
{
	int		   *attcol = palloc(sizeof(int) * (b->t.table->natts + 1));
	bool		ok;

	for (int i = 0; i <= b->t.table->natts; i++)
		attcol[i] = b->t.table->ord[i];
	b->t.attcol = attcol;
	ok = translate_list(b, b->d->quals, &built->conj);
	built->nconj = list_length(b->d->quals);
	b->t.attcol = b->attcol;
	return ok;
}

static bool
build_scan(Build *b, AfdwBuilt *built)
{
	AfdwTable  *table = b->t.table;
	AfdwDesc   *d = b->d;
	Bitmapset  *attrs = afdw_desc_attrs(d);
	uint32	   *columns;
	ax_type    *types;
	const char **names;
	ax_expr   **conj;
	int			n = 0;
	int			first = FirstLowInvalidHeapAttributeNumber;

	columns = palloc(sizeof(uint32) * Max(table->ncols, 1));
	types = palloc(sizeof(ax_type) * Max(table->ncols, 1));
	names = plan_alloc(b, sizeof(char *) * table->ncols);
	b->attcol = palloc(sizeof(int) * (table->natts + 1));
	b->attcol[0] = -1;
	for (int att = 1; att <= table->natts; att++)
	{
		b->attcol[att] = -1;
		if (table->ord[att] < 0 || !bms_is_member(att - first, attrs))
			continue;
		b->attcol[att] = n;
		columns[n] = (uint32) table->ord[att];
		types[n] = table->col[table->ord[att]].type;
		names[n] = get_attname(table->relid, (AttrNumber) att, true);
		if (names[n])
			names[n] = ax_arena_strndup(b->t.plan->arena, names[n], strlen(names[n]));
		n++;
	}
	built->ncolumns = n;
	b->t.attcol = b->attcol;
	if (!translate_list(b, d->quals, &conj))
		return false;
	if (b->t.frozen && !declared_quals(b, built))
		return false;
	if (!table->opts.final)
		return taken(b, ax_plan_scan(b->t.plan, table->source, columns, types, names, (uint32) n,
									  conj, (uint32) list_length(d->quals)));

	/* conditions come after the merge, which may let some of them through to the scan */
	if (!taken(b, ax_plan_scan(b->t.plan, table->source, columns, types, names, (uint32) n, NULL,
								0)) ||
		!taken(b, ax_plan_merge_final(b->t.plan, b->node)))
		return false;
	return d->quals == NIL ||
		taken(b, ax_plan_filter(b->t.plan, b->node, conj, (uint32) list_length(d->quals)));
}

static bool
build_aggregate(Build *b)
{
	AfdwDesc   *d = b->d;
	ax_expr   **keys;
	ax_agg_call *calls;
	ListCell   *lc;
	int			i = 0;

	if (!translate_list(b, d->keys, &keys))
		return false;
	foreach(lc, d->keys)
		if (!afdw_shippable_equality(exprType(lfirst(lc)), exprCollation(lfirst(lc)), &b->reason))
			return false;
	calls = plan_alloc(b, sizeof(ax_agg_call) * list_length(d->aggs));
	foreach(lc, d->aggs)
		if (!afdw_translate_agg(&b->t, lfirst_node(Aggref, lc), &calls[i++]))
		{
			b->reason = b->t.reason;
			return false;
		}
	if (!taken(b, ax_plan_aggregate(b->t.plan, b->node, keys, (uint32) list_length(d->keys), calls,
									 (uint32) list_length(d->aggs))))
		return false;
	set_env(b, list_concat_copy(d->keys, d->aggs));
	if (d->having != NIL)
	{
		ax_expr   **conj;

		if (!translate_list(b, d->having, &conj) ||
			!taken(b, ax_plan_filter(b->t.plan, b->node, conj, (uint32) list_length(d->having))))
			return false;
		b->t.envtype = b->node->type;
	}
	return true;
}

/* Adds the expressions as columns behind those that are there (keep), or instead of them. */
static bool
build_project(Build *b, List *exprs, bool keep)
{
	int			old = keep ? (int) b->node->ncols : 0;
	ax_expr   **all = plan_alloc(b, sizeof(ax_expr *) * (old + list_length(exprs)));
	ax_expr   **new;

	for (int i = 0; i < old; i++)
		if (ax_expr_col(&b->t.plan->task, b->t.plan->arena, (uint32) i, b->node->type[i], &all[i])
			!= AX_OK)
			return taken(b, NULL);
	if (!translate_list(b, exprs, &new))
		return false;
	memcpy(all + old, new, sizeof(ax_expr *) * list_length(exprs));
	return taken(b, ax_plan_project(b->t.plan, b->node, all, (uint32) (old + list_length(exprs))));
}

static bool
build_distinct(Build *b)
{
	ListCell   *lc;

	foreach(lc, b->d->distinct)
		if (!afdw_shippable_equality(exprType(lfirst(lc)), exprCollation(lfirst(lc)), &b->reason))
			return false;
	if (!build_project(b, b->d->distinct, false))
		return false;
	if (!taken(b, ax_plan_distinct(b->t.plan, b->node)))
		return false;
	set_env(b, b->d->distinct);
	return true;
}

static ax_expr *
limit_expr(Build *b, Node *node, int *param)
{
	ax_expr    *e;

	*param = -1;
	if (node == NULL)
		return NULL;
	e = afdw_translate(&b->t, (Expr *) node);
	if (e == NULL)
		b->reason = b->t.reason;
	else if (e->kind == AX_X_PARAM)
		*param = (int) e->u.param;
	return e;
}

/* Files that are each in the order wanted become one sequence. */
static bool
merged_order(Build *b)
{
	ax_sort_key *keys = plan_alloc(b, sizeof(ax_sort_key) * list_length(b->d->sort));
	ListCell   *lc;
	int			i = 0;

	foreach(lc, b->d->sort)
	{
		List	   *key = lfirst(lc);

		keys[i].col = (uint32) find_column(b, afdw_sort_expr(key));
		keys[i].desc = afdw_sort_desc(key);
		keys[i].nulls_first = afdw_sort_nulls_first(key);
		i++;
	}
	return taken(b, ax_plan_merge(b->t.plan, &b->node, 1, keys, (uint32) i));
}

/* Reads in stored order, if the files are still in an order that the plan counts on. */
static bool
stored_order(Build *b, AfdwBuilt *built)
{
	List	   *stored = afdw_order_keys(b->t.table, b->d->varno);
	ListCell   *lc;
	int			i = 0;

	if (stored == NIL)
		return false;
	if (!afdw_order_is_stored(b->t.table, stored))
		return afdw_order_merges(b->t.table, stored, b->d->sort) && merged_order(b);
	built->keycol = palloc(sizeof(uint32) * list_length(b->d->sort));
	foreach(lc, b->d->sort)
	{
		int			col = find_column(b, afdw_sort_expr((List *) lfirst(lc)));

		Assert(col >= 0);
		built->keycol[i++] = (uint32) col;
	}
	ax_plan_scan_stored_order(b->node);
	built->in_order = true;
	return true;
}

static bool
build_order_and_limit(Build *b, AfdwBuilt *built)
{
	AfdwDesc   *d = b->d;
	ax_expr    *limit = NULL,
			   *offset = NULL;
	ax_sort_key *keys;
	List	   *extra = NIL;
	ListCell   *lc;
	int			i = 0;

	built->limit_param = built->offset_param = -1;
	if (d->limited)
	{
		limit = limit_expr(b, d->limit, &built->limit_param);
		offset = limit_expr(b, d->offset, &built->offset_param);
		if ((d->limit && !limit) || (d->offset && !offset))
			return false;
	}
	if (d->stored && stored_order(b, built))
		return !d->limited ||
			taken(b, ax_plan_limit(b->t.plan, b->node, limit, offset));
	if (d->sort == NIL)
		return !d->limited ||
			taken(b, ax_plan_limit(b->t.plan, b->node, limit, offset));

	foreach(lc, d->sort)
	{
		Expr	   *expr = afdw_sort_expr((List *) lfirst(lc));
		AfdwColumn *col = NULL;

		if (IsA(expr, Var) && b->attcol && find_column(b, expr) >= 0)
			col = &b->t.table->col[b->t.table->ord[((Var *) expr)->varattno]];
		if (col && !col->pushable)
		{
			b->reason = col->obstacle;
			return false;
		}
		if (find_column(b, expr) < 0)
			extra = lappend(extra, expr);
	}
	keys = plan_alloc(b, sizeof(ax_sort_key) * list_length(d->sort));
	{
		int			next = (int) b->node->ncols;

		foreach(lc, d->sort)
		{
			List	   *key = lfirst(lc);
			int			col = find_column(b, afdw_sort_expr(key));

			keys[i].col = (uint32) (col >= 0 ? col : next++);
			keys[i].desc = afdw_sort_desc(key);
			keys[i].nulls_first = afdw_sort_nulls_first(key);
			i++;
		}
	}
	if (extra != NIL)
	{
		if (!build_project(b, extra, true))
			return false;
		b->t.envtype = b->node->type;
	}
	if (d->limited)
		return taken(b, ax_plan_topn(b->t.plan, b->node, keys, (uint32) i, limit, offset));
	return taken(b, ax_plan_sort(b->t.plan, b->node, keys, (uint32) i));
}

bool
afdw_desc_build(AfdwDesc *desc, AfdwTable *table, const NullableDatum *arrays, AfdwBuilt *built,
				const char **reason)
{
	Build		b;
	ListCell   *lc;
	int			i = 0;

	memset(&b, 0, sizeof(b));
	memset(built, 0, sizeof(*built));
	b.d = desc;
	b.reason = "the engine refuses";
	b.t.table = table;
	b.t.plan = built->plan = afdw_plan_create();
	b.t.desc = desc;
	b.t.arrays = arrays;
	b.t.frozen = arrays != NULL;
	if (!build_scan(&b, built) ||
		(desc->grouped && !build_aggregate(&b)) ||
		(desc->distinct != NIL && !build_distinct(&b)) ||
		!build_order_and_limit(&b, built))
	{
		*reason = b.reason;
		return false;
	}

	built->noutput = list_length(desc->output);
	built->outcol = palloc(sizeof(uint32) * Max(built->noutput, 1));
	built->outtype = palloc(sizeof(ax_type) * Max(built->noutput, 1));
	foreach(lc, desc->output)
	{
		Expr	   *expr = lfirst(lc);
		int			col = find_column(&b, expr);
		ax_type		wanted;
		const char *obstacle;

		if (col < 0)
		{
			*reason = "a result column is not computed";
			return false;
		}
		(void) afdw_type(exprType((Node *) expr), exprTypmod((Node *) expr),
						 exprCollation((Node *) expr), &wanted, &obstacle);
		if (wanted.id == AX_T_BPCHAR && !IsA(expr, Var) && exprTypmod((Node *) expr) < 0)
		{
			*reason = "the length of a character(n) result is not known";
			return false;
		}
		if (wanted.id != b.node->type[col].id &&
			!(wanted.id == AX_T_NUMERIC && b.node->type[col].id == AX_T_DIGITS))
		{
			*reason = psprintf("the engine's result is of type %s, not %s",
							   ax_type_name(b.node->type[col].id), ax_type_name(wanted.id));
			return false;
		}
		built->outcol[i] = (uint32) col;
		built->outtype[i++] = b.node->type[col];
	}
	built->hosts = b.t.hosts;
	built->plan->root = b.node;
	return true;
}
