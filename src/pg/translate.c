/*-------------------------------------------------------------------------
 *
 * translate.c
 *		Expressions of PostgreSQL to expressions of the engine.
 *
 * One recursive function answers both questions: can the engine evaluate this
 * (planning), and how (execution).  It returns NULL with a reason when it
 * cannot; the reason is what users read under "Not Pushed Down".
 *
 * Subtrees that have one value for the whole execution (parameters, now(),
 * to_date('...')) are not translated but become parameters of the engine's
 * plan: PostgreSQL evaluates them when the query starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "afdw.h"

static ax_expr *refuse(AfdwTranslate *ctx, const char *fmt,...) pg_attribute_printf(2, 3);

static ax_expr *
refuse(AfdwTranslate *ctx, const char *fmt,...)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&buf, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&buf, needed);
	}
	ctx->reason = buf.data;
	return NULL;
}

/* What the engine said about the last builder call. */
static ax_expr *
refused_by_engine(AfdwTranslate *ctx)
{
	ax_task    *task = &ctx->plan->task;
	ax_status	code = task->err.code;

	ctx->reason = afdw_error_text(&task->err);
	if (code == AX_ENOMEM)
		afdw_ereport(&task->err);
	ax_error_clear(&task->err);
	return NULL;
}

/* *expr when the builder that filled it in succeeded. */
static ax_expr *
built(AfdwTranslate *ctx, ax_status status, ax_expr **expr)
{
	return status == AX_OK ? *expr : refused_by_engine(ctx);
}

/* Copies what a value points to into the plan's memory. */
static bool
value_for_plan(AfdwTranslate *ctx, ax_value *v)
{
	if (!v->null && v->type.phys == AX_P_STR)
	{
		char	   *copy = ax_arena_strndup(ctx->plan->arena, (const char *) v->u.s.p, v->u.s.len);

		if (copy == NULL)
			return false;
		v->u.s.p = (const uint8_t *) copy;
	}
	return true;
}

static ax_expr *
constant(AfdwTranslate *ctx, Datum datum, bool isnull, Oid typid, int32 typmod, Oid collation)
{
	ax_type		type;
	ax_value	value;
	ax_expr    *e = NULL;
	const char *obstacle;

	if (!afdw_type(typid, -1, collation, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	if (!afdw_value(datum, isnull, typid, type, &value))
		return refuse(ctx, "a constant has too many digits");
	if (!value_for_plan(ctx, &value))
		return refuse(ctx, "out of memory");
	return built(ctx, ax_expr_const(&ctx->plan->task, ctx->plan->arena, &value, &e), &e);
}

static bool
contain_own_column(Node *node, void *varno)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == *(Index *) varno;
	return expression_tree_walker(node, contain_own_column, varno);
}

/* Has the subtree one value for one run of the scan? */
static bool
is_constant(AfdwTranslate *ctx, Node *node)
{
	if (ctx->desc->parameterized)
		return !contain_own_column(node, &ctx->desc->varno) && afdw_is_constant_here(node);
	return afdw_is_constant(node);
}

/* Number of a subtree that PostgreSQL evaluates when the query starts. */
static int
parameter_index(AfdwTranslate *ctx, Expr *expr)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, ctx->desc->params)
	{
		if (equal(lfirst(lc), expr))
			break;
		i++;
	}
	if (lc == NULL)
	{
		if (ctx->frozen)
			elog(ERROR, "analytics_fdw: a parameter is missing in the plan");
		ctx->desc->params = lappend(ctx->desc->params, copyObject(expr));
	}
	return i;
}

static ax_expr *
parameter(AfdwTranslate *ctx, Expr *expr)
{
	ax_type		type;
	ax_expr    *e = NULL;
	const char *obstacle;

	if (!afdw_type(exprType((Node *) expr), -1, exprCollation((Node *) expr), &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	ctx->placeholder = ctx->placeholder || ctx->arrays == NULL;
	return built(ctx, ax_expr_param(&ctx->plan->task, ctx->plan->arena,
									(uint32) parameter_index(ctx, expr), type, &e), &e);
}

/* An input column; value: its value is needed, not only whether it is null. */
static ax_expr *
column(AfdwTranslate *ctx, Var *var, bool value)
{
	AfdwColumn *col;
	ax_expr    *e = NULL;

	if (ctx->attcol == NULL)
		return refuse(ctx, "a column that is not grouped");
	if (var->varno != ctx->desc->varno || var->varlevelsup != 0)
		return refuse(ctx, "a column of another table");
	if (var->varattno == 0)
		return refuse(ctx, "a whole row");
	if (var->varattno < 0)
		return refuse(ctx, "a system column");
	if (var->varattno > ctx->table->natts || ctx->table->ord[var->varattno] < 0)
		return refuse(ctx, "a dropped column");
	col = &ctx->table->col[ctx->table->ord[var->varattno]];
	if (value && !col->pushable)
		return refuse(ctx, "%s", col->obstacle);
	if (ctx->attcol[var->varattno] < 0)
		elog(ERROR, "analytics_fdw: column %d is not read", var->varattno);
	return built(ctx, ax_expr_col(&ctx->plan->task, ctx->plan->arena,
								  (uint32) ctx->attcol[var->varattno], col->type, &e), &e);
}

/*
 * A column as it is stored, for PostgreSQL to read: text that the engine does
 * not understand.  NULL: it is something else.
 */
ax_expr *
afdw_translate_stored(AfdwTranslate *ctx, Node *node)
{
	ax_expr    *e;

	if (!IsA(node, Var) || ctx->attcol == NULL)
		return NULL;
	e = column(ctx, (Var *) node, false);
	return e && e->type.id == AX_T_TEXT && e->type.nested == NULL ? e : NULL;
}

static ax_expr **
arguments(AfdwTranslate *ctx, List *args)
{
	ax_expr   **out;
	ListCell   *lc;
	int			i = 0;

	/* one more, for a time zone */
	out = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * (list_length(args) + 1));
	if (out == NULL)
		return (ax_expr **) refuse(ctx, "out of memory");
	foreach(lc, args)
		if ((out[i++] = afdw_translate(ctx, lfirst(lc))) == NULL)
			return NULL;
	return out;
}

static ax_expr *
call(AfdwTranslate *ctx, ax_fn fn, ax_expr **args, int nargs)
{
	ax_expr    *e = NULL;

	return built(ctx, (ctx->any_digits ? ax_expr_call_any : ax_expr_call)
				 (&ctx->plan->task, ctx->plan->arena, fn, args, (uint32) nargs, &e), &e);
}

static ax_expr *
call1(AfdwTranslate *ctx, ax_fn fn, ax_expr *arg)
{
	ax_expr   **args;

	if (arg == NULL)
		return NULL;
	args = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *));
	if (args == NULL)
		return refuse(ctx, "out of memory");
	args[0] = arg;
	return call(ctx, fn, args, 1);
}

static ax_expr *
boolean(AfdwTranslate *ctx, ax_xkind kind, ax_expr **args, int nargs)
{
	ax_expr    *e = NULL;

	return built(ctx, ax_expr_bool(&ctx->plan->task, ctx->plan->arena, kind, args, (uint32) nargs,
								   &e), &e);
}

/* Does the engine's result have the type that PostgreSQL expects? */
static ax_expr *
checked(AfdwTranslate *ctx, ax_expr *e, Oid typid, int32 typmod, Oid collation)
{
	ax_type		type;
	const char *obstacle;

	if (e == NULL)
		return NULL;
	if (!afdw_type(typid, typmod, collation, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	if (type.id != e->type.id)
		return refuse(ctx, "the engine's result is of type %s, not %s", ax_type_name(e->type.id),
					  ax_type_name(type.id));
	return e;
}

/* A time zone as an argument: known when the query starts, numbered behind the parameters. */
static ax_expr *
zone(AfdwTranslate *ctx, Expr *name)
{
	int			i = 0;
	ListCell   *lc;
	ax_expr    *e = NULL;

	foreach(lc, ctx->desc->zones)
	{
		if (equal(lfirst(lc), name))
			break;
		i++;
	}
	if (lc == NULL)
	{
		if (ctx->frozen)
			elog(ERROR, "analytics_fdw: a time zone is missing in the plan");
		ctx->desc->zones = lappend(ctx->desc->zones, copyObject(name));
	}
	ctx->placeholder = true;
	return built(ctx, ax_expr_param(&ctx->plan->task, ctx->plan->arena,
									(uint32_t) (list_length(ctx->desc->params) + i),
									ax_type_make(AX_T_BYTEA), &e), &e);
}

/*
 * A function whose last argument in the engine is a time zone: the session's,
 * or the constant that PostgreSQL's function has as text.
 */
static ax_expr *
zone_function(AfdwTranslate *ctx, ax_fn fn, Oid funcid, List *args)
{
	Node	   *name = NULL;
	ax_expr   **a;
	int			n;

	if (funcid == F_TIMEZONE_TEXT_TIMESTAMP || funcid == F_TIMEZONE_TEXT_TIMESTAMPTZ)
	{
		name = linitial(args);
		args = list_make1(lsecond(args));
	}
	else if (funcid == F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT)
	{
		name = lthird(args);
		args = list_make2(linitial(args), lsecond(args));
	}
	if (name && !afdw_zone_named(name))
		return refuse(ctx, "the time zone is not a constant name like Europe/Berlin");
	if ((ax_fn_get(fn)->flags & AX_FNF_CONST1) && !IsA(linitial(args), Const))
		return refuse(ctx, "the first argument of %s is not constant", ax_fn_get(fn)->name);
	n = list_length(args);
	a = arguments(ctx, args);
	if (a == NULL)
		return NULL;
	a[n] = zone(ctx, name ? (Expr *) name : afdw_zone_session());
	return a[n] ? call(ctx, fn, a, n + 1) : NULL;
}

/* A date or timestamp that is compared with a timestamptz is an instant of the session's zone. */
static bool
compare_instants(AfdwTranslate *ctx, ax_expr **a)
{
	for (int i = 0; i < 2; i++)
	{
		ax_expr   **two;

		if (a[1 - i]->type.id != AX_T_TIMESTAMPTZ ||
			(a[i]->type.id != AX_T_DATE && a[i]->type.id != AX_T_TIMESTAMP))
			continue;
		two = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 2);
		if (two == NULL)
			return refuse(ctx, "out of memory") != NULL;
		two[0] = a[i];
		two[1] = zone(ctx, afdw_zone_session());
		a[i] = two[1] ? call(ctx, AX_FN_TZ_ORDER, two, 2) : NULL;
		return a[i] != NULL;
	}
	return true;
}

/* The order is that of the call's collation, not of the argument's; trees are ours. */
static void
collate(ax_expr **args, int nargs, Oid collation)
{
	for (int i = 0; i < nargs && OidIsValid(collation); i++)
		if (args[i]->type.id == AX_T_TEXT || args[i]->type.id == AX_T_BPCHAR)
			args[i]->type.coll = afdw_collation_is_bytes(collation) ? AX_COLL_BYTES : AX_COLL_EQ;
}

static ax_expr *
function(AfdwTranslate *ctx, Oid funcid, Oid inputcollid, List *args, Node *whole)
{
	Oid			first = args ? exprType(linitial(args)) : InvalidOid;
	ax_fn		fn = afdw_shippable_function(funcid, inputcollid, first, &ctx->reason);
	ax_expr   **a;

	if (fn == AX_FN_NONE)
		return NULL;
	if (ax_fn_get(fn)->flags & AX_FNF_ZONE)
		return checked(ctx, zone_function(ctx, fn, funcid, args), exprType(whole),
					   exprTypmod(whole), exprCollation(whole));
	if (list_length(args) != ax_fn_get(fn)->nargs)
		return refuse(ctx, "the engine has no function %s with %d arguments", ax_fn_get(fn)->name,
					  list_length(args));
	if ((ax_fn_get(fn)->flags & AX_FNF_CONST1) && !IsA(linitial(args), Const))
		return refuse(ctx, "the first argument of %s is not constant", ax_fn_get(fn)->name);
	if ((ax_fn_get(fn)->flags & AX_FNF_CONST2) && !is_constant(ctx, lsecond(args)))
		return refuse(ctx, "the pattern is not constant");
	a = arguments(ctx, args);
	if (a == NULL)
		return NULL;
	if (fn >= AX_FN_EQ && fn <= AX_FN_GE && !compare_instants(ctx, a))
		return NULL;
	collate(a, list_length(args), inputcollid);
	return checked(ctx, call(ctx, fn, a, list_length(args)), exprType(whole), -1,
				   exprCollation(whole));
}

/* x::numeric(p, s) of a float: one function, since x::numeric may have any number of digits. */
static ax_expr *
float_to_numeric(AfdwTranslate *ctx, FuncExpr *f)
{
	FuncExpr   *inner = (FuncExpr *) linitial(f->args);
	ax_expr   **a = arguments(ctx, list_make2(linitial(inner->args), lsecond(f->args)));

	return a ? call(ctx, AX_FN_FLOAT_COERCE, a, 2) : NULL;
}

static bool
is_float_to_numeric(FuncExpr *f)
{
	FuncExpr   *inner = (FuncExpr *) linitial(f->args);

	return f->funcid == F_NUMERIC_NUMERIC_INT4 && IsA(inner, FuncExpr) &&
		(inner->funcid == F_NUMERIC_FLOAT4 || inner->funcid == F_NUMERIC_FLOAT8);
}

static ax_expr *
empty_text(AfdwTranslate *ctx)
{
	return constant(ctx, PointerGetDatum(cstring_to_text("")), false, TEXTOID, -1,
					DEFAULT_COLLATION_OID);
}

/*
 * concat(a, b, ...) and concat_ws(separator, a, b, ...), a step for each
 * argument: what is before it, the separator, and its text.
 */
static ax_expr *
concat(AfdwTranslate *ctx, FuncExpr *f)
{
	bool		ws = f->funcid == F_CONCAT_WS;
	ax_expr   **a;
	ax_expr   **step;
	ax_expr    *e,
			   *end,
			   *null;
	int			n = list_length(f->args);
	List	   *args = NIL;
	ListCell   *lc;
	ax_type		text;
	const char *obstacle;

	foreach(lc, f->args)
	{
		Const	   *c = lfirst(lc);

		/* a literal as it was written */
		if (IsA(c, Const) && c->consttype == UNKNOWNOID)
			c = makeConst(TEXTOID, -1, f->inputcollid, -1,
						  c->constisnull ? (Datum) 0 :
						  CStringGetTextDatum(DatumGetCString(c->constvalue)),
						  c->constisnull, false);
		args = lappend(args, c);
	}
	a = arguments(ctx, args);
	if (a == NULL)
		return NULL;
	for (int i = 0; i < n; i++)
		if (a[i]->type.id != AX_T_TEXT && (a[i] = call1(ctx, AX_FN_CONCAT_TEXT, a[i])) == NULL)
			return NULL;
	if ((end = empty_text(ctx)) == NULL)
		return NULL;
	collate(a, n, f->inputcollid);
	e = ws && n == 1 ? end : a[ws];
	for (int i = ws + 1; i <= n; i++)
	{
		bool		last = i == n;	/* null becomes '' */
		bool		by_ws = ws && !last;

		step = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 3);
		if (step == NULL)
			return refuse(ctx, "out of memory");
		step[0] = e;
		step[1] = by_ws ? a[0] : last ? end : a[i];
		step[2] = by_ws ? a[i] : NULL;
		e = call(ctx, by_ws ? AX_FN_CONCAT_WS_STEP : AX_FN_CONCAT_STEP, step, by_ws ? 3 : 2);
		if (e == NULL)
			return NULL;
	}
	if (!ws || (a[0]->kind == AX_X_CONST && !a[0]->u.val.null))
		return e;
	/* without a separator there is nothing */
	step = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 3);
	if (step == NULL)
		return refuse(ctx, "out of memory");
	if (!afdw_type(TEXTOID, -1, f->funccollid, &text, &obstacle))
		return refuse(ctx, "%s", obstacle);
	step[0] = call1(ctx, AX_FN_IS_NULL, a[0]);
	null = constant(ctx, (Datum) 0, true, TEXTOID, -1, f->funccollid);
	if (step[0] == NULL || null == NULL)
		return NULL;
	step[1] = null;
	step[2] = e;
	return built(ctx, ax_expr_case(&ctx->plan->task, ctx->plan->arena, step, 3, text, &e), &e);
}

/* A conversion by the output function of one type and the input function of another. */
static ax_expr *
coerce_via_io(AfdwTranslate *ctx, CoerceViaIO *c)
{
	Oid			from = exprType((Node *) c->arg);
	Oid			to = c->resulttype;
	ax_fn		fn = afdw_shippable_conversion(from == VARCHAROID ? TEXTOID : from,
											   to == VARCHAROID ? TEXTOID : to, &ctx->reason);

	if (fn == AX_FN_NONE)
		return NULL;
	return checked(ctx, call1(ctx, fn, afdw_translate(ctx, c->arg)), to, -1, c->resultcollid);
}

/* GREATEST and LEAST, two at a time. */
static ax_expr *
min_max(AfdwTranslate *ctx, MinMaxExpr *m)
{
	TypeCacheEntry *cache = lookup_type_cache(m->minmaxtype, TYPECACHE_BTREE_OPFAMILY);
	ax_expr   **a;
	ax_expr    *e;

	if (!afdw_shippable_order(m->minmaxtype, cache->btree_opf, m->inputcollid, &ctx->reason))
		return NULL;
	a = arguments(ctx, m->args);
	if (a == NULL)
		return NULL;
	collate(a, list_length(m->args), m->inputcollid);
	e = a[0];
	for (int i = 1; i < list_length(m->args); i++)
	{
		ax_expr   **two = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 2);

		if (two == NULL)
			return refuse(ctx, "out of memory");
		two[0] = e;
		two[1] = a[i];
		e = call(ctx, m->op == IS_GREATEST ? AX_FN_GREATEST : AX_FN_LEAST, two, 2);
		if (e == NULL)
			return NULL;
	}
	return checked(ctx, e, m->minmaxtype, -1, m->minmaxcollid);
}

/* (a, b) < (c, d): a < c OR (a = c AND b < d); the last pair by the operator itself. */
static ax_expr *
row_compare(AfdwTranslate *ctx, RowCompareExpr *r)
{
	ax_expr    *e = NULL;

	for (int i = list_length(r->opnos) - 1; i >= 0; i--)
	{
		Node	   *left = list_nth(r->largs, i);
		Oid			collation = list_nth_oid(r->inputcollids, i);
		ax_fn		fn = afdw_shippable_function(get_opcode(list_nth_oid(r->opnos, i)), collation,
												 exprType(left), &ctx->reason);
		ax_fn		strict = fn == AX_FN_LT || fn == AX_FN_LE ? AX_FN_LT : AX_FN_GT;
		ax_expr   **a;
		ax_expr   **both = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 2);
		ax_expr   **either = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 2);

		if (fn == AX_FN_NONE)
			return NULL;
		if (fn < AX_FN_LT || fn > AX_FN_GE)
			return refuse(ctx, "the operator is not an order");
		a = arguments(ctx, list_make2(left, list_nth(r->rargs, i)));
		if (a == NULL)
			return NULL;
		if (both == NULL || either == NULL)
			return refuse(ctx, "out of memory");
		collate(a, 2, collation);
		if (e == NULL)
		{
			e = call(ctx, fn, a, 2);
			if (e == NULL)
				return NULL;
			continue;
		}
		both[1] = e;
		if ((either[0] = call(ctx, strict, a, 2)) == NULL ||
			(both[0] = call(ctx, AX_FN_EQ, a, 2)) == NULL ||
			(either[1] = boolean(ctx, AX_X_AND, both, 2)) == NULL ||
			(e = boolean(ctx, AX_X_OR, either, 2)) == NULL)
			return NULL;
	}
	return e;
}

/* a IS DISTINCT FROM b: like the operator =, but never null. */
static ax_expr *
distinct(AfdwTranslate *ctx, DistinctExpr *d)
{
	ax_fn		fn = afdw_shippable_function(d->opfuncid, d->inputcollid,
											 exprType(linitial(d->args)), &ctx->reason);
	ax_expr   **a;

	if (fn == AX_FN_NONE)
		return NULL;
	if (fn != AX_FN_EQ)
		return refuse(ctx, "the operator is not an equality");
	a = arguments(ctx, d->args);
	return a ? call(ctx, AX_FN_DISTINCT, a, 2) : NULL;
}

static bool
is_integer(ax_type type)
{
	return type.id == AX_T_INT2 || type.id == AX_T_INT4 || type.id == AX_T_INT8;
}

/*
 * Elements of a list and the value looked for get one integer type: that of
 * the value when all elements fit, so that statistics of a column still help.
 */
static ax_expr *
same_integer(AfdwTranslate *ctx, ax_expr *arg, ax_value *vals, int n, ax_type elem)
{
	int			bits = arg->type.id == AX_T_INT2 ? 15 : arg->type.id == AX_T_INT4 ? 31 : 63;
	bool		fits = true;

	if (!is_integer(arg->type) || !is_integer(elem) || arg->type.id == elem.id)
		return arg;
	for (int i = 0; i < n; i++)
		if (!vals[i].null && bits < 63 &&
			(vals[i].u.i < -(INT64CONST(1) << bits) || vals[i].u.i >= (INT64CONST(1) << bits)))
			fits = false;
	if (!fits)
		return call1(ctx, elem.id == AX_T_INT8 ? AX_FN_TO_INT8 : AX_FN_TO_INT4, arg);
	for (int i = 0; i < n; i++)
		vals[i].type = arg->type;
	return arg;
}

/* x = ANY (array), x <> ALL (array) with an array whose value is known: a list. */
static ax_expr *
array_list(AfdwTranslate *ctx, ScalarArrayOpExpr *s, ax_fn fn, Datum value, bool isnull)
{
	ArrayType  *array;
	Oid			elemtype = get_base_element_type(exprType(lsecond(s->args)));
	int16		len;
	bool		byval;
	char		align;
	Datum	   *elem;
	bool	   *null;
	int			n;
	ax_value   *vals;
	ax_expr    *arg,
			   *e = NULL;
	ax_type		type;
	const char *obstacle;

	if (!(s->useOr && fn == AX_FN_EQ) && !(!s->useOr && fn == AX_FN_NE))
		return refuse(ctx, "only = ANY and <> ALL work on arrays");
	if (!afdw_type(elemtype, -1, s->inputcollid, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	arg = afdw_translate(ctx, linitial(s->args));
	if (arg == NULL)
		return NULL;
	if (isnull)
		return constant(ctx, (Datum) 0, true, BOOLOID, -1, InvalidOid);
	array = DatumGetArrayTypeP(value);
	get_typlenbyvalalign(elemtype, &len, &byval, &align);
	deconstruct_array(array, elemtype, len, byval, align, &elem, &null, &n);
	vals = ax_arena_alloc(ctx->plan->arena, sizeof(ax_value) * Max(n, 1));
	if (vals == NULL)
		return refuse(ctx, "out of memory");
	for (int i = 0; i < n; i++)
	{
		if (!afdw_value(elem[i], null[i], elemtype, type, &vals[i]))
			return refuse(ctx, "a constant has too many digits");
		if (!value_for_plan(ctx, &vals[i]))
			return refuse(ctx, "out of memory");
	}
	arg = same_integer(ctx, arg, vals, n, type);
	if (arg == NULL)
		return NULL;
	return built(ctx, ax_expr_in(&ctx->plan->task, ctx->plan->arena, arg, vals, (uint32) n,
								 !s->useOr, &e), &e);
}

/*
 * x op ANY (array), x op ALL (array): = ANY and <> ALL become IN when the
 * array is known, a chain of OR or AND when its elements are.  An array that
 * is a parameter is known when the query starts; the plan is built again
 * whenever it changes.  While planning, an empty one stands for it.
 */
static ax_expr *
array_op(AfdwTranslate *ctx, ScalarArrayOpExpr *s)
{
	Node	   *left = linitial(s->args);
	Node	   *right = lsecond(s->args);
	ax_fn		fn = afdw_shippable_function(s->opfuncid, s->inputcollid, exprType(left),
											 &ctx->reason);

	if (fn == AX_FN_NONE)
		return NULL;
	if (IsA(right, Const))
		return array_list(ctx, s, fn, ((Const *) right)->constvalue,
						  ((Const *) right)->constisnull);
	if (IsA(right, ArrayExpr) && !((ArrayExpr *) right)->multidims &&
		((ArrayExpr *) right)->elements != NIL)
	{
		List	   *elements = ((ArrayExpr *) right)->elements;
		ax_expr   **parts;
		ListCell   *lc;
		int			i = 0;

		parts = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * list_length(elements));
		if (parts == NULL)
			return refuse(ctx, "out of memory");
		foreach(lc, elements)
		{
			ax_expr   **a = arguments(ctx, list_make2(left, lfirst(lc)));

			if (a == NULL || (parts[i++] = call(ctx, fn, a, 2)) == NULL)
				return NULL;
		}
		if (i == 1)
			return parts[0];
		return boolean(ctx, s->useOr ? AX_X_OR : AX_X_AND, parts, i);
	}
	if (is_constant(ctx, right))
	{
		int			i = parameter_index(ctx, (Expr *) right);

		if (ctx->arrays)
			return array_list(ctx, s, fn, ctx->arrays[i].value, ctx->arrays[i].isnull);
		ctx->placeholder = true;
		return array_list(ctx, s, fn, PointerGetDatum(construct_empty_array(
							  get_base_element_type(exprType((Node *) right)))), false);
	}
	return refuse(ctx, "the array is not constant");
}

static ax_expr *
case_expr(AfdwTranslate *ctx, CaseExpr *c)
{
	int			n = 2 * list_length(c->args) + (c->defresult ? 1 : 0);
	ax_expr   **parts;
	ax_expr    *saved = ctx->case_arg;
	ax_expr    *e = NULL;
	ax_type		type;
	const char *obstacle;
	ListCell   *lc;
	int			i = 0;

	if (!afdw_type(c->casetype, -1, c->casecollid, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	parts = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * n);
	if (parts == NULL)
		return refuse(ctx, "out of memory");
	if (c->arg)
	{
		ax_expr    *arg = afdw_translate(ctx, c->arg);

		if (arg == NULL)
			return NULL;
		ctx->case_arg = arg;
	}
	foreach(lc, c->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, lc);

		parts[i] = afdw_translate(ctx, when->expr);
		if (parts[i++] == NULL)
			break;
		parts[i] = afdw_translate(ctx, when->result);
		if (parts[i++] == NULL)
			break;
	}
	ctx->case_arg = saved;
	if (i == 0 || parts[i - 1] == NULL)
		return NULL;
	if (c->defresult && (parts[i++] = afdw_translate(ctx, c->defresult)) == NULL)
		return NULL;
	return built(ctx, ax_expr_case(&ctx->plan->task, ctx->plan->arena, parts, (uint32) i, type, &e),
				 &e);
}

/* nullif(a, b): CASE WHEN a = b THEN NULL ELSE a END. */
static ax_expr *
null_if(AfdwTranslate *ctx, NullIfExpr *x)
{
	ax_fn		fn = afdw_shippable_function(x->opfuncid, x->inputcollid,
											 exprType(linitial(x->args)), &ctx->reason);
	ax_expr   **a,
			  **parts;
	ax_expr    *e = NULL;
	ax_type		type;
	const char *obstacle;

	if (fn == AX_FN_NONE)
		return NULL;
	if (!afdw_type(x->opresulttype, -1, x->opcollid, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	a = arguments(ctx, x->args);
	parts = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 3);
	if (a == NULL)
		return NULL;
	if (parts == NULL)
		return refuse(ctx, "out of memory");
	if (a[0]->type.id != type.id)
		return refuse(ctx, "nullif of different types");
	if ((parts[0] = call(ctx, fn, a, 2)) == NULL ||
		(parts[1] = constant(ctx, (Datum) 0, true, x->opresulttype, -1, x->opcollid)) == NULL)
		return NULL;
	parts[2] = a[0];
	return built(ctx, ax_expr_case(&ctx->plan->task, ctx->plan->arena, parts, 3, type, &e), &e);
}

static ax_expr *
boolean_test(AfdwTranslate *ctx, BooleanTest *b)
{
	ax_fn		fn = AX_FN_NONE;

	switch (b->booltesttype)
	{
		case IS_TRUE:
			fn = AX_FN_IS_TRUE;
			break;
		case IS_NOT_TRUE:
			fn = AX_FN_IS_NOT_TRUE;
			break;
		case IS_FALSE:
			fn = AX_FN_IS_FALSE;
			break;
		case IS_NOT_FALSE:
			fn = AX_FN_IS_NOT_FALSE;
			break;
		case IS_UNKNOWN:
			fn = AX_FN_IS_NULL;
			break;
		case IS_NOT_UNKNOWN:
			fn = AX_FN_IS_NOT_NULL;
			break;
	}
	return call1(ctx, fn, afdw_translate(ctx, b->arg));
}

/* Another name for the same bytes, perhaps with another collation. */
static ax_expr *
relabel(AfdwTranslate *ctx, RelabelType *r)
{
	ax_expr    *e = afdw_translate(ctx, r->arg);
	ax_type		type;
	const char *obstacle;

	if (e == NULL)
		return NULL;
	if (!afdw_type(r->resulttype, -1, r->resultcollid, &type, &obstacle))
		return refuse(ctx, "%s", obstacle);
	if (type.id != e->type.id)
		return refuse(ctx, "cast from %s to %s", format_type_be(exprType((Node *) r->arg)),
					  format_type_be(r->resulttype));
	e->type.coll = type.coll;	/* the tree is new and ours */
	return e;
}

/* Is the expression an input column above a grouping? */
static ax_expr *
from_env(AfdwTranslate *ctx, Expr *expr)
{
	ListCell   *lc;
	uint32		i = 0;

	foreach(lc, ctx->env)
	{
		if (equal(lfirst(lc), expr))
		{
			ax_expr    *e = NULL;

			return built(ctx, ax_expr_col(&ctx->plan->task, ctx->plan->arena, i, ctx->envtype[i],
										  &e), &e);
		}
		i++;
	}
	return NULL;
}

/* NULL with ctx->reason when the engine does not have it. */
/* long: one case per kind of node */
ax_expr *
afdw_translate_node(AfdwTranslate *ctx, Expr *expr)
{
	ax_expr    *e = NULL;

	if (IsA(expr, Const))
	{
		Const	   *c = (Const *) expr;

		return constant(ctx, c->constvalue, c->constisnull, c->consttype, c->consttypmod,
						c->constcollid);
	}
	if (is_constant(ctx, (Node *) expr))
		return parameter(ctx, expr);

	switch (nodeTag(expr))
	{
		case T_Var:
			return column(ctx, (Var *) expr, true);
		case T_Param:
			return parameter(ctx, expr);
		case T_OpExpr:
			{
				OpExpr	   *o = (OpExpr *) expr;

				set_opfuncid(o);
				return function(ctx, o->opfuncid, o->inputcollid, o->args, (Node *) o);
			}
		case T_FuncExpr:
			{
				FuncExpr   *f = (FuncExpr *) expr;

				if (f->funcretset || f->funcvariadic)
					return refuse(ctx, "a set-returning or variadic function");
				if (f->funcid == F_CONCAT || f->funcid == F_CONCAT_WS)
					return concat(ctx, f);
				if (f->args != NIL && is_float_to_numeric(f))
					return float_to_numeric(ctx, f);
				return function(ctx, f->funcid, f->inputcollid, f->args, (Node *) f);
			}
		case T_DistinctExpr:
			set_opfuncid((OpExpr *) expr);
			return distinct(ctx, (DistinctExpr *) expr);
		case T_NullIfExpr:
			set_opfuncid((OpExpr *) expr);
			return null_if(ctx, (NullIfExpr *) expr);
		case T_ScalarArrayOpExpr:
			set_sa_opfuncid((ScalarArrayOpExpr *) expr);
			return array_op(ctx, (ScalarArrayOpExpr *) expr);
		case T_BoolExpr:
			{
				BoolExpr   *b = (BoolExpr *) expr;
				ax_expr   **a = arguments(ctx, b->args);

				if (a == NULL)
					return NULL;
				if (b->boolop == NOT_EXPR)
					return call(ctx, AX_FN_NOT, a, 1);
				return boolean(ctx, b->boolop == AND_EXPR ? AX_X_AND : AX_X_OR, a,
							   list_length(b->args));
			}
		case T_NullTest:
			{
				NullTest   *t = (NullTest *) expr;
				ax_expr    *arg;

				if (t->argisrow)
					return refuse(ctx, "a row is tested for null");
				if (IsA(t->arg, Var) && ctx->attcol)
					arg = column(ctx, (Var *) t->arg, false);
				else
					arg = afdw_translate(ctx, t->arg);
				return call1(ctx, t->nulltesttype == IS_NULL ? AX_FN_IS_NULL : AX_FN_IS_NOT_NULL,
							 arg);
			}
		case T_BooleanTest:
			return boolean_test(ctx, (BooleanTest *) expr);
		case T_CaseExpr:
			return case_expr(ctx, (CaseExpr *) expr);
		case T_CaseTestExpr:
			if (ctx->case_arg)
				return ctx->case_arg;
			return refuse(ctx, "a case test outside of CASE");
		case T_CoalesceExpr:
			{
				CoalesceExpr *c = (CoalesceExpr *) expr;
				ax_expr   **a = arguments(ctx, c->args);

				if (a == NULL)
					return NULL;
				return checked(ctx,
							   built(ctx, ax_expr_coalesce(&ctx->plan->task, ctx->plan->arena, a,
														   (uint32) list_length(c->args), &e), &e),
							   c->coalescetype, -1, c->coalescecollid);
			}
		case T_RelabelType:
			return relabel(ctx, (RelabelType *) expr);
		case T_MinMaxExpr:
			return min_max(ctx, (MinMaxExpr *) expr);
		case T_RowCompareExpr:
			return row_compare(ctx, (RowCompareExpr *) expr);
		case T_CoerceViaIO:
			return coerce_via_io(ctx, (CoerceViaIO *) expr);
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_SubLink:
			return refuse(ctx, "a subquery");
		case T_Aggref:
			return refuse(ctx, "an aggregate");
		case T_WindowFunc:
			return refuse(ctx, "a window function");
		default:
			if (contain_volatile_functions((Node *) expr))
				return refuse(ctx, "a volatile function");
			if (IsA(expr, SubscriptingRef))
				return refuse(ctx, "the engine has no elements of arrays");
			return refuse(ctx, "the engine does not have this kind of expression");
	}
}

/*
 * NULL with ctx->reason when the engine cannot evaluate it as PostgreSQL does.
 * What the engine does not have may become a function of the host, the
 * smallest expression first that allows it; execution follows what planning
 * decided.
 */
ax_expr *
afdw_translate(AfdwTranslate *ctx, Expr *expr)
{
	int			decided = list_length(ctx->desc->hosts);
	int			used = list_length(ctx->hosts);
	ax_expr    *e = NULL;

	check_stack_depth();
	if (ctx->attcol == NULL && (e = from_env(ctx, expr)) != NULL)
		return e;
	if (afdw_host_decided(ctx, expr) && (e = afdw_host_translate(ctx, expr)) != NULL)
		return e;
	e = afdw_translate_node(ctx, expr);
	if (e == NULL && !ctx->frozen)
	{
		ctx->desc->hosts = list_truncate(ctx->desc->hosts, decided);
		ctx->hosts = list_truncate(ctx->hosts, used);
		e = afdw_host_translate(ctx, expr);
	}
	return e;
}

/* CASE WHEN filter THEN arg END: only rows that pass the filter may raise. */
static ax_expr *
guarded(AfdwTranslate *ctx, ax_expr *filter, ax_expr *arg)
{
	ax_expr   **parts = ax_arena_alloc(ctx->plan->arena, sizeof(ax_expr *) * 2);
	ax_expr    *e = NULL;

	if (parts == NULL)
		return refuse(ctx, "out of memory");
	parts[0] = filter;
	parts[1] = arg;
	return built(ctx, ax_expr_case(&ctx->plan->task, ctx->plan->arena, parts, 2, arg->type, &e),
				 &e);
}

/*
 * Is the state that a partial aggregate hands on the very value that the whole
 * one would give?  So it is with counts, minima, and sums that stay in one type.
 */
static bool
state_is_result(Aggref *agg)
{
	HeapTuple	tuple;
	bool		result;

	if (agg->aggsplit != AGGSPLIT_INITIAL_SERIAL)
		return false;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", agg->aggfnoid);
	result = !OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalfn) &&
		((Form_pg_aggregate) GETSTRUCT(tuple))->aggtranstype == agg->aggtype;
	ReleaseSysCache(tuple);
	return result;
}

/* One aggregate call over the input columns; false with ctx->reason. */
bool
afdw_translate_agg(AfdwTranslate *ctx, Aggref *agg, ax_agg_call *out)
{
	memset(out, 0, sizeof(*out));
	if ((agg->aggsplit != AGGSPLIT_SIMPLE && !state_is_result(agg)) || agg->agglevelsup != 0)
		return refuse(ctx, "an aggregate whose partial state only PostgreSQL knows") != NULL;
	if (agg->aggkind != AGGKIND_NORMAL || agg->aggdirectargs != NIL || agg->aggvariadic)
		return refuse(ctx, "an ordered-set or variadic aggregate") != NULL;
	if (agg->aggorder != NIL)
		return refuse(ctx, "ORDER BY in an aggregate") != NULL;
	out->agg = (uint8_t) afdw_shippable_aggregate(agg->aggfnoid, agg->inputcollid, &ctx->reason);
	if (out->agg == AX_AGG_NONE)
		return false;
	/* DISTINCT changes nothing for min and max. */
	out->distinct = agg->aggdistinct != NIL && out->agg != AX_AGG_MIN && out->agg != AX_AGG_MAX;
	if (agg->args != NIL)
	{
		TargetEntry *tle = linitial_node(TargetEntry, agg->args);

		if ((uint32_t) list_length(agg->args) != ax_agg_nargs((ax_agg_id) out->agg))
			return refuse(ctx, "an aggregate of several arguments") != NULL;
		if (out->distinct && list_length(agg->args) > 1)
			return refuse(ctx, "DISTINCT over several arguments") != NULL;
		if (out->distinct &&
			!afdw_shippable_equality(exprType((Node *) tle->expr),
									 exprCollation((Node *) tle->expr), &ctx->reason))
			return false;
		if (out->agg == AX_AGG_COUNT && !out->distinct && IsA(tle->expr, Var) && ctx->attcol)
			out->arg = column(ctx, (Var *) tle->expr, false);
		else
			out->arg = afdw_translate(ctx, tle->expr);
		if (out->arg == NULL)
			return false;
		if (list_length(agg->args) > 1)
		{
			tle = lsecond_node(TargetEntry, agg->args);
			out->arg2 = afdw_translate(ctx, tle->expr);
			if (out->arg2 == NULL)
				return false;
		}
	}
	if (agg->aggfilter && (out->filter = afdw_translate(ctx, agg->aggfilter)) == NULL)
		return false;
	if (out->filter && out->arg && (out->arg->can_raise || (out->arg2 && out->arg2->can_raise)))
	{
		/* a row that the filter drops has a null argument, and so does not count */
		out->arg = guarded(ctx, out->filter, out->arg);
		if (out->arg && out->arg2)
			out->arg2 = guarded(ctx, out->filter, out->arg2);
		out->filter = NULL;
		return out->arg != NULL && (out->arg2 != NULL || list_length(agg->args) == 1);
	}
	return true;
}
