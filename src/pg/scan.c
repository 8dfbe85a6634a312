/*-------------------------------------------------------------------------
 *
 * scan.c
 *		Execution of a foreign scan.
 *
 * Begin only reads the plan.  The first row asked for lists and opens the
 * files, builds the engine's plan, evaluates parameters and starts threads.
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

	scan->desc = afdw_desc_load(plan->fdw_private);
	scan->relid = scan_relid(node);
	scan->param_states = ExecInitExprList(plan->fdw_exprs, (PlanState *) node);
	node->fdw_state = scan;
}

/* Opens the files and builds the plan, once per scan. */
void
afdw_scan_prepare(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	EState	   *estate = node->ss.ps.state;
	MemoryContext old;
	const char *reason = NULL;
	ListCell   *lc;
	int			i = 0;
	bool		upper = ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid == 0;

	if (scan->table)
		return;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	scan->table = afdw_table_open(scan->relid, estate, true);
	if (!afdw_desc_build(scan->desc, scan->table, true, &scan->built, &reason))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("analytics_fdw cannot run the plan any more: %s", reason)));
	scan->target = palloc(sizeof(AttrNumber) * Max(scan->built.noutput, 1));
	foreach(lc, scan->desc->output)
	{
		scan->target[i] = upper ? i : ((Var *) lfirst(lc))->varattno - 1;
		i++;
	}
	scan->out = afdw_out_create(scan->desc->output, scan->built.outcol, scan->built.outtype);
	MemoryContextSwitchTo(old);
}

/* Values of the parameters now; strings live in the expression context's per-tuple memory. */
static void
evaluate_params(ForeignScanState *node, ax_params *params)
{
	AfdwScan   *scan = node->fdw_state;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	int			n = list_length(scan->param_states);
	ax_value   *val;
	MemoryContext old;
	ListCell   *lc,
			   *le;
	int			i = 0;

	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	/* values hold 128-bit integers, which need more than palloc's alignment */
	val = (ax_value *) TYPEALIGN(16, palloc0(sizeof(ax_value) * Max(n, 1) + 16));
	MemoryContextSwitchTo(old);
	forboth(lc, scan->param_states, le, scan->desc->params)
	{
		Node	   *expr = lfirst(le);
		bool		isnull;
		Datum		datum = ExecEvalExprSwitchContext(lfirst(lc), econtext, &isnull);
		ax_type		type;
		const char *obstacle;

		(void) afdw_type(exprType(expr), -1, exprCollation(expr), &type, &obstacle);
		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		if (!afdw_value(datum, isnull, exprType(expr), type, &val[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a parameter has more digits than the engine can compare"),
					 errhint("SET analytics_fdw.enabled = off evaluates the query "
							 "in PostgreSQL.")));
		MemoryContextSwitchTo(old);
		if (i == scan->built.limit_param && !isnull && DatumGetInt64(datum) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE),
					 errmsg("LIMIT must not be negative")));
		if (i == scan->built.offset_param && !isnull && DatumGetInt64(datum) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE),
					 errmsg("OFFSET must not be negative")));
		i++;
	}
	params->val = val;
	params->n = (uint32) n;
}

/* Starts the query, or starts it over; threads run from the first row on. */
void
afdw_scan_start(ForeignScanState *node)
{
	AfdwScan   *scan = node->fdw_state;
	ax_params	params;

	afdw_scan_prepare(node);
	evaluate_params(node, &params);
	if (scan->query)
		afdw_query_rebind(scan->query, &params);
	else
		scan->query = afdw_query_start(scan->built.plan, &scan->table->opts, &params,
									   node->ss.ps.state->es_query_cxt);
	scan->batch = NULL;
	scan->nrows = scan->row = 0;
	scan->done = false;
}

/* Gets rows into scan->batch; false at the end. */
static bool
next_batch(AfdwScan *scan)
{
	while (scan->row >= scan->nrows)
	{
		if (scan->batch && scan->batch->poison)
			afdw_ereport(scan->batch->poison);
		scan->row = scan->nrows = 0;
		scan->batch = afdw_query_next(scan->query);
		if (scan->batch == NULL)
		{
			scan->done = true;
			return false;
		}
		if (scan->batch->nsel == 0)
			continue;			/* nothing but an error, perhaps not even columns */
		afdw_out_batch(scan->out, scan->batch);
		scan->nrows = (int) scan->batch->nsel;
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
	if (!next_batch(scan))
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

	if (scan == NULL)
		return;
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
