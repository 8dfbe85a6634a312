/*-------------------------------------------------------------------------
 *
 * host.c
 *		The dictionary service: functions that PostgreSQL computes for the
 *		engine.
 *
 * Where the engine lacks a function, its expression becomes a host function
 * of the engine's plan: a template in which the parts that the engine can
 * compute are numbered columns.  While the query runs, the engine asks for
 * the distinct inputs that it meets (AX_REQ_HOST_FN), a batch at a time, and
 * remembers the answers; the backend computes them here, between two calls of
 * the engine, so that no error jumps over a frame of it.
 *
 * Errors belong to inputs: PostgreSQL raises them only for rows that it gets
 * to, and the engine may ask for rows that a LIMIT cuts off later.  So each
 * request runs in a subtransaction; what an input raises is stored with it,
 * and raised by the engine if a row that counts has that input.
 *
 * Volatile functions never get here.  Stable ones do: within one execution
 * they give the same result for the same arguments, which is all that
 * remembering needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "afdw.h"

#define MAX_ARGS		8		/* columns of one template */
#define TEMPLATE_VARNO	1

/* ---- which expressions ------------------------------------------------------ */

typedef struct Split
{
	AfdwTranslate *ctx;
	bool		root;			/* the expression itself, which the engine refused */
	bool		in_case;		/* CaseTestExpr has a meaning inside the template */
	bool		failed;
	List	   *args;			/* of Expr: what the columns of the template stand for */
	ax_expr    *arg[MAX_ARGS];
} Split;

/* Is it a function that must not be remembered, or whose author is not PostgreSQL? */
static bool
unsuitable_function(Oid funcid, void *context)
{
	HeapTuple	tuple;
	Form_pg_proc proc;
	bool		result;

	if (funcid >= FirstNormalObjectId)
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return true;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	result = proc->provolatile == PROVOLATILE_VOLATILE || proc->proretset ||
		proc->prokind != PROKIND_FUNCTION;
	ReleaseSysCache(tuple);
	return result;
}

/* Kinds of nodes that depend on nothing but their arguments and functions. */
static bool
suitable_node(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return !((FuncExpr *) node)->funcretset;
		case T_SubscriptingRef:
			return ((SubscriptingRef *) node)->refassgnexpr == NULL;
		case T_NullTest:
			return !((NullTest *) node)->argisrow;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayExpr:
		case T_List:
			return true;
		default:
			return false;
	}
}

/* The column of the template that stands for an expression of the engine. */
static Node *
template_column(Split *s, Node *node, ax_expr *e)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, s->args)
	{
		if (equal(lfirst(lc), node))
			break;
		i++;
	}
	if (lc == NULL)
	{
		if (i == MAX_ARGS)
		{
			s->failed = true;
			return node;
		}
		s->args = lappend(s->args, node);
		s->arg[i] = e;
	}
	return (Node *) makeVar(TEMPLATE_VARNO, (AttrNumber) (i + 1), exprType(node),
							exprTypmod(node), exprCollation(node), 0);
}

/* The template of an expression: its largest parts that the engine computes become columns. */
static Node *
split_mutator(Node *node, Split *s)
{
	bool		root = s->root;
	bool		in_case = s->in_case;
	Node	   *copy;

	check_stack_depth();
	if (node == NULL || s->failed)
		return node;
	s->root = false;
	if (IsA(node, Const))
		return copyObject(node);
	if (IsA(node, CaseTestExpr))
	{
		s->failed |= !in_case;
		return copyObject(node);
	}
	if (!root && !IsA(node, List) && !IsA(node, CaseWhen))
	{
		ax_expr    *e = afdw_translate(s->ctx, (Expr *) node);

		/* What may raise stays inside, where CASE and COALESCE guard it. */
		if (e == NULL)
			e = afdw_translate_stored(s->ctx, node);
		if (e && !e->can_raise)
			return template_column(s, node, e);
	}
	if (!suitable_node(node) || check_functions_in_node(node, unsuitable_function, NULL))
	{
		s->failed = true;
		return node;
	}
	if (!IsA(node, CaseExpr))
		return expression_tree_mutator(node, split_mutator, (void *) s);

	copy = (Node *) makeNode(CaseExpr);
	memcpy(copy, node, sizeof(CaseExpr));
	((CaseExpr *) copy)->arg = (Expr *) split_mutator((Node *) ((CaseExpr *) node)->arg, s);
	s->in_case = in_case || ((CaseExpr *) node)->arg != NULL;
	((CaseExpr *) copy)->args = (List *) split_mutator((Node *) ((CaseExpr *) node)->args, s);
	((CaseExpr *) copy)->defresult =
		(Expr *) split_mutator((Node *) ((CaseExpr *) node)->defresult, s);
	s->in_case = in_case;
	return copy;
}

/*
 * Nearly as many distinct inputs as rows, and many of them: remembering does
 * not pay.  Unknown counts as few: then the work is at most that of
 * PostgreSQL, which would do it for each row.
 */
static bool
too_many_inputs(AfdwTranslate *ctx, List *args)
{
	double		rows = (double) ax_source_rows(ctx->table->source);
	double		distinct = 1;
	ListCell   *lc;

	foreach(lc, args)
	{
		Var		   *var = lfirst(lc);
		ax_col_facts facts;

		if (!IsA(var, Var) || ctx->attcol == NULL ||
			!ax_source_col_facts(ctx->table->source, (uint32) ctx->table->ord[var->varattno],
								 &facts) || facts.distinct <= 0)
			return false;
		distinct *= facts.distinct;
	}
	if (rows > 0)
		distinct = Min(distinct, rows);
	if (distinct <= afdw_dictionary_service_limit || distinct * 4 < rows)
		return false;
	ctx->reason = psprintf("about %.0f distinct values, more than "
						   "analytics_fdw.dictionary_service_limit", distinct);
	return true;
}

/* May a result of this type travel back?  Unbounded numbers may have too many digits. */
static bool
result_fits(Expr *expr, ax_type *type)
{
	const char *obstacle;

	if (!afdw_type(exprType((Node *) expr), exprTypmod((Node *) expr),
				   exprCollation((Node *) expr), type, &obstacle))
		return false;
	if (type->id == AX_T_NUMERIC)
		return type->precision > 0 && type->precision <= 38;
	return type->id != AX_T_INTERVAL;	/* infinite ones are unknown to the engine */
}

static bool
is_listed(List *list, Expr *expr)
{
	ListCell   *lc;

	foreach(lc, list)
		if (equal(lfirst(lc), expr))
			return true;
	return false;
}

/* Was it decided when the plan was made that PostgreSQL computes this? */
bool
afdw_host_decided(const AfdwTranslate *ctx, Expr *expr)
{
	return ctx->frozen && is_listed(ctx->desc->hosts, expr);
}

/*
 * The expression by the engine, if it lacks nothing but digits: then the host
 * is asked only for rows whose numbers have more of them.
 */
static ax_expr *
engine_but_for_digits(AfdwTranslate *ctx, Expr *expr)
{
	const char *reason = ctx->reason;
	ax_expr    *e;

	ctx->in_host = ctx->any_digits = true;
	e = afdw_translate_node(ctx, expr);
	ctx->in_host = ctx->any_digits = false;
	ctx->reason = reason;
	return e;
}

/*
 * The expression as a host function; NULL when that cannot be, with
 * ctx->reason as it was unless there is a better one.
 */
ax_expr *
afdw_host_translate(AfdwTranslate *ctx, Expr *expr)
{
	Split		s;
	const char *reason = ctx->reason;
	ax_expr    *saved_case = ctx->case_arg;
	int			nparams = list_length(ctx->desc->params);
	AfdwHostFn *fn = NULL;
	Node	   *node;
	ax_type		type;
	ax_expr    *e = NULL,
			   *fast = NULL;
	uint32		i = 0;
	ListCell   *lc;

	if (ctx->in_host || (!ctx->frozen && !afdw_enable_dictionary_service) ||
		!result_fits(expr, &type))
		return NULL;

	memset(&s, 0, sizeof(s));
	s.ctx = ctx;
	s.root = true;
	ctx->in_host = true;
	ctx->case_arg = NULL;
	node = split_mutator((Node *) expr, &s);
	ctx->in_host = false;
	ctx->case_arg = saved_case;
	ctx->reason = reason;
	if (!s.failed && s.args != NIL)
		fast = engine_but_for_digits(ctx, expr);
	if (s.failed || s.args == NIL || (!ctx->frozen && !fast && too_many_inputs(ctx, s.args)))
	{
		if (!ctx->frozen)
			ctx->desc->params = list_truncate(ctx->desc->params, nparams);
		if (s.failed && contain_volatile_functions((Node *) expr))
			ctx->reason = "a volatile function";
		return NULL;
	}

	/* Equal templates are one function, whatever their columns stand for. */
	foreach(lc, ctx->hosts)
	{
		fn = lfirst(lc);
		if (equal(fn->expr, node))
			break;
		i++;
	}
	if (lc == NULL)
	{
		fn = palloc(sizeof(AfdwHostFn));
		fn->expr = (Expr *) node;
		fn->args = s.args;
		fn->type = palloc(sizeof(ax_type) * list_length(s.args));
		for (int k = 0; k < list_length(s.args); k++)
			fn->type[k] = s.arg[k]->type;
		ctx->hosts = lappend(ctx->hosts, fn);
	}
	if (ax_expr_host(&ctx->plan->task, ctx->plan->arena, i, s.arg, (uint32) list_length(s.args),
					 type, &e) != AX_OK ||
		(fast && ax_expr_beyond(&ctx->plan->task, ctx->plan->arena, fast, e, &e) != AX_OK))
	{
		ctx->reason = afdw_error_text(&ctx->plan->task.err);
		ax_error_clear(&ctx->plan->task.err);
		return NULL;
	}
	if (!ctx->frozen && !is_listed(ctx->desc->hosts, expr))
		ctx->desc->hosts = lappend(ctx->desc->hosts, copyObject(expr));
	return e;
}

/* ---- computing ---------------------------------------------------------------- */

typedef struct HostState
{
	ExprState  *state;
	TupleTableSlot *slot;		/* the columns of the template */
	AfdwOut    *out;			/* makes them from the engine's values */
	AttrNumber *target;			/* 0, 1, ... */
	ax_type		result;
} HostState;

struct AfdwHosts
{
	MemoryContext reply_cxt;	/* answers of the last request */
	ExprContext *econtext;
	int			n;
	HostState  *fn;				/* [n] */
};

/* Prepares the functions of a plan, in CurrentMemoryContext; checks permissions. */
AfdwHosts *
afdw_hosts_create(List *hosts)
{
	AfdwHosts  *h = palloc0(sizeof(AfdwHosts));
	ListCell   *lc;

	h->reply_cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw answers",
										 ALLOCSET_DEFAULT_SIZES);
	h->econtext = CreateStandaloneExprContext();
	h->fn = palloc0(sizeof(HostState) * Max(list_length(hosts), 1));
	foreach(lc, hosts)
	{
		AfdwHostFn *def = lfirst(lc);
		HostState  *fn = &h->fn[h->n++];
		TupleDesc	desc = CreateTemplateTupleDesc(list_length(def->args));
		uint32	   *column = palloc(sizeof(uint32) * list_length(def->args));
		AttrNumber	att = 0;
		ListCell   *arg;

		fn->target = palloc(sizeof(AttrNumber) * list_length(def->args));
		foreach(arg, def->args)
		{
			Node	   *node = lfirst(arg);

			fn->target[att] = att;
			column[att] = (uint32) att;
			TupleDescInitEntry(desc, ++att, NULL, exprType(node), exprTypmod(node), 0);
			TupleDescInitEntryCollation(desc, att, exprCollation(node));
		}
		fn->out = afdw_out_create(def->args, column, def->type, false);
		(void) result_fits(def->expr, &fn->result);
		fix_opfuncids((Node *) def->expr);
		fn->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
		fn->state = ExecInitExpr(def->expr, NULL);
	}
	return h;
}

/* One result, kept in reply_cxt. */
static void
compute(AfdwHosts *h, HostState *fn, uint32 row, ax_value *out)
{
	MemoryContext old;
	bool		isnull;
	Datum		datum;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(h->econtext);
	old = MemoryContextSwitchTo(h->econtext->ecxt_per_tuple_memory);
	ExecClearTuple(fn->slot);
	afdw_out_row(fn->out, (int) row, fn->slot->tts_values, fn->slot->tts_isnull, fn->target);
	ExecStoreVirtualTuple(fn->slot);
	h->econtext->ecxt_scantuple = fn->slot;
	datum = ExecEvalExpr(fn->state, h->econtext, &isnull);
	if (!afdw_value(datum, isnull, exprType((Node *) fn->state->expr), fn->result, out))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a result has more digits than the engine can hold")));
	if (!isnull && fn->result.phys == AX_P_STR)
	{
		char	   *copy = MemoryContextAlloc(h->reply_cxt, Max(out->u.s.len, 1));

		memcpy(copy, out->u.s.p, out->u.s.len);
		out->u.s.p = (const uint8_t *) copy;
	}
	MemoryContextSwitchTo(old);
}

/* Errors that are not about the input but about the session or the server end the query now. */
static bool
about_input(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
		case ERRCODE_TRANSACTION_ROLLBACK:
			return false;
		default:
			return true;
	}
}

static ax_error *
engine_error(const ErrorData *edata)
{
	ax_error   *err = palloc(sizeof(ax_error));

	ax_error_clear(err);
	err->code = AX_EHOST;
	strlcpy(err->msg, edata->message ? edata->message : "", sizeof(err->msg));
	strlcpy(err->detail, edata->detail ? edata->detail : "", sizeof(err->detail));
	strlcpy(err->sqlstate, unpack_sql_state(edata->sqlerrcode), sizeof(err->sqlstate));
	return err;
}

/*
 * Computes rows from `row` on until one raises an error; returns the row
 * behind the last one that has an answer.
 */
static uint32
compute_some(AfdwHosts *h, HostState *fn, const ax_host_need *need, uint32 row, ax_value *value,
			 const ax_error **raised)
{
	MemoryContext old = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile uint32 at = row;
#if PG_VERSION_NUM >= 170000
	bool		guarded = true;
#else
	/* The leader of a parallel plan has no subtransactions: there errors are raised at once. */
	bool		guarded = !IsInParallelMode();
#endif

	if (guarded)
		BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(h->reply_cxt);
	PG_TRY();
	{
		for (; at < need->nrows; at++)
			compute(h, fn, at, &value[at]);
		if (guarded)
			ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(old);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		if (!guarded)
			PG_RE_THROW();
		MemoryContextSwitchTo(h->reply_cxt);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(h->reply_cxt);
		CurrentResourceOwner = owner;
		if (!about_input(edata->sqlerrcode))
			ReThrowError(edata);
		raised[at++] = engine_error(edata);
		MemoryContextSwitchTo(old);
	}
	PG_END_TRY();
	return at;
}

/* Fills in the answer, which is valid until the next one. */
void
afdw_hosts_answer(AfdwHosts *h, const ax_host_need *need, ax_reply *reply)
{
	ax_value   *value;
	const ax_error **raised;
	ax_batch	batch = {0};

	if (h == NULL || need->host >= (uint32) h->n)
		elog(ERROR, "analytics_fdw: unknown host function %u", need->host);
	MemoryContextReset(h->reply_cxt);
	/* values hold 128-bit integers, which need more than palloc's alignment */
	value = (ax_value *) TYPEALIGN(16, MemoryContextAllocZero(h->reply_cxt,
															  sizeof(ax_value) * need->nrows + 16));
	raised = MemoryContextAllocZero(h->reply_cxt, sizeof(ax_error *) * (need->nrows + 1));
	batch.nrows = batch.nsel = need->nrows;
	batch.ncols = need->nargs;
	batch.col = need->arg;
	afdw_out_batch(h->fn[need->host].out, &batch);
	for (uint32 row = 0; row < need->nrows;)
		row = compute_some(h, &h->fn[need->host], need, row, value, raised);
	reply->value = value;
	reply->raised = raised;
}
