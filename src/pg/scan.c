/*-------------------------------------------------------------------------
 *
 * scan.c
 *		Execution of a foreign scan.
 *
 * Begin only reads the plan.  The first row asked for lists the files, builds
 * the engine's plan, evaluates parameters, opens files and starts threads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "afdw.h"

/* The foreign table below a scan of any kind. */
static Oid
scan_relid(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	int			rti = plan->scan.scanrelid > 0 ? (int) plan->scan.scanrelid :
		bms_next_member(afdw_scan_relids(plan), -1);

	return exec_rt_fetch(rti, node->ss.ps.state)->relid;
}

void
afdw_begin(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	AfdwScan   *scan = palloc0(sizeof(AfdwScan));
	ListCell   *lc;

	scan->desc = afdw_desc_load(plan->fdw_private);
	scan->relid = scan_relid(node);
	scan->param_states = ExecInitExprList(plan->fdw_exprs, (PlanState *) node);
	foreach(lc, scan->desc->params)
		if (type_is_array_domain(exprType(lfirst(lc))))
			scan->has_arrays = true;
	node->fdw_state = scan;
}

/* Builds the engine's plan for these values of array parameters. */
static void
build_plan(ForeignScanState *node, const NullableDatum *arrays)
{
	AfdwScan   *scan = node->fdw_state;
	MemoryContext old;
	const char *reason = NULL;
	ListCell   *lc;
	int			i = 0;
	bool		upper = ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid == 0;

	if (scan->query)
		afdw_query_end(scan->query);
	scan->query = NULL;
	MemoryContextReset(scan->plan_cxt);
	old = MemoryContextSwitchTo(scan->plan_cxt);
	if (scan->desc->stored)
		afdw_order_open_files(scan->table);
	if (!afdw_desc_build(scan->desc, scan->table, arrays, &scan->built, &reason))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("analytics_fdw cannot run the plan any more: %s", reason)));
	scan->target = palloc(sizeof(AttrNumber) * Max(scan->built.noutput, 1));
	foreach(lc, scan->desc->output)
	{
		scan->target[i] = upper ? i : ((Var *) lfirst(lc))->varattno - 1;
		i++;
	}
	scan->out = afdw_out_create(scan->desc->output, scan->built.outcol, scan->built.outtype,
								scan->table->opts.pad_arrays);
	scan->hosts = scan->built.hosts != NIL ? afdw_hosts_create(scan->built.hosts) : NULL;
	scan->order = scan->built.in_order ?
		afdw_order_check_create(scan->table, scan->desc->sort, scan->built.keycol) : NULL;
	MemoryContextSwitchTo(old);
}

/* Values of the expressions now, in the expression context's per-tuple memory. */
static NullableDatum *
evaluate_params(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	NullableDatum *out = MemoryContextAllocZero(econtext->ecxt_per_tuple_memory,
												sizeof(NullableDatum) *
												(list_length(scan->param_states) + 1));
	ListCell   *lc;
	int			i = 0;

	foreach(lc, scan->param_states)
	{
		out[i].value = ExecEvalExprSwitchContext(lfirst(lc), econtext, &out[i].isnull);
		i++;
	}
	return out;
}

static void
check_limit(const NullableDatum *value, bool limit)
{
	if (value->isnull || DatumGetInt64(value->value) >= 0)
		return;
	if (limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE),
				 errmsg("LIMIT must not be negative")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE),
			 errmsg("OFFSET must not be negative")));
}

/* The same as values of the engine, in CurrentMemoryContext; arrays are in the plan already. */
static void
engine_params(AfdwScan *scan, const NullableDatum *value, ax_params *params)
{
	int			n = list_length(scan->desc->params) + list_length(scan->desc->zones);
	ax_value   *val;
	ListCell   *lc;
	int			i = 0;

	if (scan->built.limit_param >= 0)
		check_limit(&value[scan->built.limit_param], true);
	if (scan->built.offset_param >= 0)
		check_limit(&value[scan->built.offset_param], false);

	/* values hold 128-bit integers, which need more than palloc's alignment */
	val = (ax_value *) TYPEALIGN(16, palloc0(sizeof(ax_value) * Max(n, 1) + 16));
	foreach(lc, scan->desc->params)
	{
		Oid			typid = exprType(lfirst(lc));
		ax_type		type;
		const char *obstacle;

		(void) afdw_type(typid, -1, exprCollation(lfirst(lc)), &type, &obstacle);
		if (type_is_array_domain(typid))
			(void) afdw_value((Datum) 0, true, typid, type, &val[i]);
		else if (!afdw_value(value[i].value, value[i].isnull, typid, type, &val[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a parameter has more digits than the engine can compare"),
					 errhint("SET analytics_fdw.enabled = off evaluates the query "
							 "in PostgreSQL.")));
		i++;
	}
	for (; i < n; i++)
		afdw_zone_value(value[i].value, value[i].isnull, &val[i]);
	params->val = val;
	params->n = (uint32) n;
}

/* Ends everything but what afdw_begin made. */
static void
stop(AfdwScan *scan)
{
	if (scan->query)
		afdw_query_end(scan->query);
	if (scan->out)
		afdw_out_end(scan->out);
	if (scan->table)
		afdw_table_done(scan->table);
	scan->query = NULL;
	scan->out = NULL;
	scan->table = NULL;
	scan->batch = NULL;
}

/*
 * Files were gone before a row was given: once more, with files that are listed
 * now.  Any other error is raised.  All scans of a statement read the same
 * parts, so none of them starts again when another one has.
 */
static void
start_again(ForeignScanState *node, const ax_error *err)
{
	AfdwScan   *scan = node->fdw_state;

	if (scan->given || !afdw_files_gone(scan->table, err, &scan->tries) ||
		!afdw_table_forget(scan->table))
	{
		ax_error	told = *err;

		if (afdw_part_gone(scan->table, err))
			strlcpy(told.detail, "The part was there when the query began; the server that writes "
					"the table has merged or dropped it. The query can be run again.",
					sizeof(told.detail));
		if (scan->query)
			afdw_query_raise(scan->query, &told);
		afdw_ereport(&told);
	}
	stop(scan);
	MemoryContextDelete(scan->plan_cxt);
	scan->plan_cxt = NULL;
	scan->hosts = NULL;
	scan->order = NULL;
	memset(&scan->built, 0, sizeof(scan->built));
	afdw_scan_start(node);
}

/* Starts the query, or starts it over; threads run from the first row on. */
void
afdw_scan_start(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	EState	   *estate = node->ss.ps.state;
	NullableDatum *value;
	ax_params	params;
	ax_error	err;
	MemoryContext old;

	if (scan->table == NULL)
	{
		old = MemoryContextSwitchTo(estate->es_query_cxt);
		scan->table = afdw_table_execute(scan->relid, estate, scan->desc->listing);
		scan->plan_cxt = AllocSetContextCreate(estate->es_query_cxt, "analytics_fdw plan",
											   ALLOCSET_DEFAULT_SIZES);
		MemoryContextSwitchTo(old);
	}
	value = evaluate_params(node);
	scan->batch = NULL;
	scan->nrows = scan->row = 0;
	scan->done = false;
	if (scan->query == NULL || scan->has_arrays)
		build_plan(node, value);
	old = MemoryContextSwitchTo(node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	engine_params(scan, value, &params);
	MemoryContextSwitchTo(old);
	if (scan->order)
		afdw_order_check_reset(scan->order);
	if (scan->query)
		afdw_query_rebind(scan->query, &params);
	else
	{
		/* arrays are part of the conditions: with others, other files */
		if (!afdw_table_open_files(scan->table, scan->built.conj, scan->built.nconj, &params,
								   &err))
		{
			start_again(node, &err);
			return;
		}
		scan->query = afdw_query_start(scan->built.plan, &scan->table->opts, &params,
									   scan->hosts, scan->plan_cxt);
		afdw_query_watch(scan->query, scan->relid, (int64) estate->es_plannedstmt->queryId);
	}
}

/* Gets rows into scan->batch; false at the end. */
static bool
next_batch(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	ax_error	err;

	while (scan->row >= scan->nrows)
	{
		if (scan->batch && scan->batch->poison)
			afdw_query_raise(scan->query, scan->batch->poison);
		scan->row = scan->nrows = 0;
		if (!afdw_query_try(scan->query, &scan->batch, &err))
		{
			start_again(node, &err);
			continue;
		}
		if (scan->batch == NULL)
		{
			scan->done = true;
			return false;
		}
		if (scan->batch->nsel == 0)
			continue;			/* nothing but an error, perhaps not even columns */
		if (scan->order)
			afdw_order_check_batch(scan->order, scan->batch);
		afdw_out_batch(scan->out, scan->batch);
		scan->nrows = (int) scan->batch->nsel;
		scan->given = true;
	}
	return true;
}

TupleTableSlot *
afdw_iterate(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (scan->done)
		return slot;			/* asked again after the end */
	if (scan->query == NULL)
		afdw_scan_start(node);
	if (!next_batch(node))
		return slot;
	if (scan->built.noutput < slot->tts_tupleDescriptor->natts)
		memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	afdw_out_row(scan->out, scan->row, slot->tts_values, slot->tts_isnull, scan->target);
	scan->row++;
	return ExecStoreVirtualTuple(slot);
}

/* Also comes before the first row, for the inner side of a nested loop. */
void
afdw_rescan(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;

	scan->done = false;
	if (scan->query)
		afdw_scan_start(node);
}

void
afdw_end(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;

	if (scan != NULL)
		stop(scan);
}
