/*-------------------------------------------------------------------------
 *
 * explain.c
 *		EXPLAIN of foreign scans, and explain_pipeline().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_explain_pipeline);

/* ---- printing of expressions ------------------------------------------------ */

typedef struct Deparse
{
	List	   *context;
	int			varno;			/* of the description */
	int			rti;			/* of the relation in the finished plan */
	bool		prefix;			/* expressions may have columns of other relations */
} Deparse;

static char *
deparse(Deparse *d, Node *node)
{
	node = copyObject(node);
	/* all relations of one planner run moved by as much */
	if (d->varno != d->rti)
		OffsetVarNodes(node, d->rti - d->varno, 0);
	return deparse_expression(node, d->context, d->prefix, false);
}

static void
deparse_init(Deparse *d, ForeignScanState *node, AfdwDesc *desc, List *ancestors, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;

	d->varno = (int) desc->varno;
	d->prefix = desc->parameterized;
	d->rti = plan->scan.scanrelid > 0 ? (int) plan->scan.scanrelid :
		bms_next_member(afdw_scan_relids(plan), -1);
	d->context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);
}

/* "column = outer column", whichever way round the planner wrote the lookup. */
static Node *
column_first(const Deparse *d, Node *expr)
{
	OpExpr	   *op = (OpExpr *) expr;
	Var		   *first;

	if (!d->prefix || !IsA(expr, OpExpr) || list_length(op->args) != 2)
		return expr;
	first = linitial(op->args);
	if (!IsA(first, Var) || first->varno == d->varno || !IsA(lsecond(op->args), Var) ||
		!OidIsValid(get_commutator(op->opno)))
		return expr;
	op = copyObject(op);
	CommuteOpExpr(op);
	return (Node *) op;
}

static char *
and_list(Deparse *d, List *exprs)
{
	List	   *shown = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		shown = lappend(shown, column_first(d, lfirst(lc)));
	exprs = shown;
	return deparse(d, list_length(exprs) == 1 ? linitial(exprs) :
				   (Node *) makeBoolExpr(AND_EXPR, exprs, -1));
}

static List *
each(Deparse *d, List *exprs)
{
	List	   *out = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		out = lappend(out, deparse(d, lfirst(lc)));
	return out;
}

/* ---- counters ------------------------------------------------------------------ */

static const char *const pruned_words[AX_PRUNED_CNT] = {
	[AX_PRUNED_NOT] = NULL,
	[AX_PRUNED_PARTITION] = "partition",
	[AX_PRUNED_MINMAX] = "min/max",
	[AX_PRUNED_BLOOM] = "bloom",
	[AX_PRUNED_DICTIONARY] = "dictionary",
	[AX_PRUNED_PAGE_INDEX] = "page index",
	[AX_PRUNED_PRIMARY_KEY] = "primary key",
	[AX_PRUNED_SKIP_INDEX] = "skip index",
	[AX_PRUNED_LIMIT] = "limit",
};

/* "12 of 226", or a group of two numbers outside of text; the group stays open. */
static void
open_share(const char *label, uint64 part, uint64 total, const char *why, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(label, psprintf(UINT64_FORMAT " of " UINT64_FORMAT "%s", part, total,
											why), es);
		return;
	}
	ExplainOpenGroup(label, label, true, es);
	ExplainPropertyInteger("Read", NULL, (int64) part, es);
	ExplainPropertyInteger("Total", NULL, (int64) total, es);
}

static void
close_share(const char *label, ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainCloseGroup(label, label, true, es);
}

static void
explain_share(const char *label, uint64 part, uint64 total, ExplainState *es)
{
	open_share(label, part, total, "", es);
	close_share(label, es);
}

/* "12 of 226 (min/max 200, bloom 14 removed)", with a group for what was removed by what. */
static void
pruned(const char *label, uint64 total, const uint64_t *by, ExplainState *es)
{
	uint64		removed = 0;
	StringInfoData why;

	initStringInfo(&why);
	for (int i = 1; i < AX_PRUNED_CNT; i++)
	{
		if (by[i] == 0)
			continue;
		appendStringInfo(&why, "%s%s " UINT64_FORMAT, why.len ? ", " : " (", pruned_words[i],
						 (uint64) by[i]);
		removed += by[i];
	}
	if (removed)
		appendStringInfoString(&why, " removed)");
	open_share(label, total - removed, total, why.data, es);
	if (removed && es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainOpenGroup("Removed", "Removed", true, es);
		for (int i = 1; i < AX_PRUNED_CNT; i++)
			if (by[i])
				ExplainPropertyInteger(pruned_words[i], NULL, (int64) by[i], es);
		ExplainCloseGroup("Removed", "Removed", true, es);
	}
	close_share(label, es);
}

/* Which of a format's marks indexes left, and what each of them removed. */
static void
explain_marks(const ax_profile *p, ExplainState *es)
{
	uint64		removed = 0;
	StringInfoData why;

	initStringInfo(&why);
	for (uint32 i = 0; i < p->nremoved; i++)
	{
		appendStringInfo(&why, "%s%s " UINT64_FORMAT, i ? ", " : " (", p->removed[i].name,
						 (uint64) p->removed[i].granules);
		removed += p->removed[i].granules;
	}
	if (removed)
		appendStringInfoString(&why, " removed)");
	open_share("Marks", p->scan.granules_total - Min(removed, p->scan.granules_total),
			   p->scan.granules_total, why.data, es);
	if (removed && es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainOpenGroup("Removed", "Removed", true, es);
		for (uint32 i = 0; i < p->nremoved; i++)
			ExplainPropertyInteger(p->removed[i].name, NULL, (int64) p->removed[i].granules, es);
		ExplainCloseGroup("Removed", "Removed", true, es);
	}
	close_share("Marks", es);
}

static char *
unit_label(const char *unit)
{
	char	   *label;
	bool		start = true;

	if (unit == NULL || unit[0] == '\0')
		unit = "split";
	label = psprintf("%ss", unit);
	for (char *p = label; *p; p++)
	{
		if (start)
			*p = pg_toupper((unsigned char) *p);
		start = *p == ' ';
	}
	return label;
}

static void
explain_times(const ax_profile *p, ExplainState *es)
{
	const struct
	{
		const char *name;
		uint64		ns;
	}			part[] = {
		{"Engine", p->elapsed_ns}, {"Processor", p->cpu_ns}, {"Open", p->scan.open_ns},
		{"Read", p->scan.read_ns}, {"Decode", p->scan.decode_ns}, {"Filter", p->scan.filter_ns},
		{"Aggregate", p->aggregate_ns}, {"Sort", p->sort_ns}
	};
	StringInfoData line;

	initStringInfo(&line);
	for (int i = 0; i < (int) lengthof(part); i++)
	{
		double		ms = (double) part[i].ns / 1e6;

		if (es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyFloat(psprintf("%s Time", part[i].name), "ms", ms, 3, es);
		else if (part[i].ns > 0)
			appendStringInfo(&line, "%s%c%s %.3f ms", line.len ? ", " : "",
							 pg_tolower((unsigned char) part[i].name[0]), part[i].name + 1, ms);
	}
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Time", line.data, es);
}

/* What depends on the machine and its load. */
static void
explain_resources(const ax_profile *p, ExplainState *es)
{
	if (p->host_calls > 0)
		ExplainPropertyInteger("Values Computed by PostgreSQL", NULL, (int64) p->host_values, es);
	ExplainPropertyInteger("Bytes Read", "kB", (int64) (p->bytes_read + 1023) / 1024, es);
	if (p->bytes_cached || es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Pages From Cache", NULL, (int64) p->pages_cached, es);
		ExplainPropertyInteger("Bytes From Cache", "kB", (int64) (p->bytes_cached + 1023) / 1024,
							   es);
	}
	ExplainPropertyInteger("Requests", NULL, (int64) p->requests, es);
	ExplainPropertyInteger("Threads", NULL, p->threads_peak, es);
	if (es->verbose)
		ExplainPropertyInteger("Threads Granted", NULL, p->threads_granted, es);
	ExplainPropertyInteger("Peak Memory", "kB", (p->memory_peak_bytes + 1023) / 1024, es);
	if (p->spilled_bytes || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyInteger("Spilled", "kB", (int64) (p->spilled_bytes + 1023) / 1024, es);
	if (es->verbose && es->timing)
		explain_times(p, es);
}

static void
explain_profile(AfdwScan *scan, ExplainState *es)
{
	ax_query   *q = scan->query ? afdw_query_handle(scan->query) : NULL;
	ax_profile	p;

	if (q == NULL)
		return;					/* never executed */
	memset(&p, 0, sizeof(p));
	ax_query_profile(q, &p);
	if (p.runs > 1)
		ExplainPropertyInteger("Runs", NULL, p.runs, es);
	pruned("Files", p.files, p.files_pruned, es);
	if (p.splits > 0)
		pruned(unit_label(p.split_unit), p.splits, p.splits_pruned, es);
	/* As PostgreSQL does: what is read by programs has all its lines. */
	if (p.from_metadata || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyBool("From Metadata", p.from_metadata, es);
	ExplainPropertyInteger("Rows Read", NULL, (int64) p.scan.rows_read, es);
	if (p.scan.rows_after_filter != p.scan.rows_read || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyInteger("Rows After Prewhere", NULL, (int64) p.scan.rows_after_filter, es);
	if (p.late_columns > 0)
		explain_share("Late Columns", p.late_columns, p.late_of, es);
	if (p.scan.granules_total)
	{
		explain_marks(&p, es);
		explain_share("Granules", p.scan.granules, p.scan.granules_total, es);
	}
	else if (p.scan.pages_skipped || es->format != EXPLAIN_FORMAT_TEXT)
		explain_share("Pages", p.scan.pages, p.scan.pages + p.scan.pages_skipped, es);
	if (es->timing || es->summary || es->costs)
		explain_resources(&p, es);
}

/* ---- EXPLAIN ---------------------------------------------------------------------- */

static void
explain_relations(Deparse *d, AfdwDesc *desc, Oid relid, ExplainState *es)
{
	char	   *name = (char *) quote_identifier(get_rel_name(relid));
	RangeTblEntry *rte = rt_fetch(d->rti, es->rtable);

	if (es->verbose)
		name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
										  get_rel_name(relid));
	if (rte->eref && strcmp(rte->eref->aliasname, get_rel_name(relid)) != 0)
		name = psprintf("%s %s", name, quote_identifier(rte->eref->aliasname));
	if (desc->grouped)
		name = psprintf("Aggregate on (%s)", name);
	if (desc->distinct)
		name = psprintf("Distinct on (%s)", name);
	ExplainPropertyText("Relations", name, es);
}

static void
explain_sort(Deparse *d, AfdwDesc *desc, ExplainState *es)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, desc->sort)
	{
		List	   *key = lfirst(lc);
		bool		desc_order = afdw_sort_desc(key);
		char	   *text = deparse(d, (Node *) afdw_sort_expr(key));

		if (desc_order)
			text = psprintf("%s DESC", text);
		if (afdw_sort_nulls_first(key) != desc_order)
			text = psprintf("%s NULLS %s", text, desc_order ? "LAST" : "FIRST");
		keys = lappend(keys, text);
	}
	ExplainPropertyList(desc->merged ? "Merge Key" : desc->stored ? "Stored Order" : "Sort Key",
						keys, es);
}

static void
explain_count(const char *label, Deparse *d, Node *node, ExplainState *es)
{
	if (IsA(node, Const) && !((Const *) node)->constisnull)
		ExplainPropertyInteger(label, NULL, DatumGetInt64(((Const *) node)->constvalue), es);
	else
		ExplainPropertyText(label, deparse(d, node), es);
}

static void
explain_skipped(Deparse *d, AfdwDesc *desc, ExplainState *es)
{
	ListCell   *lc;

	if (desc->skipped == NIL)
		return;
	ExplainOpenGroup("Not Pushed Down", "Not Pushed Down", false, es);
	foreach(lc, desc->skipped)
	{
		List	   *item = lfirst(lc);
		Node	   *what = linitial(item);
		char	   *text = IsA(what, String) ? strVal(what) : deparse(d, what);

		if (es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Not Pushed Down",
								psprintf("%s (%s)", text, strVal(lsecond(item))), es);
		else
		{
			ExplainOpenGroup("Item", NULL, true, es);
			ExplainPropertyText("What", text, es);
			ExplainPropertyText("Reason", strVal(lsecond(item)), es);
			ExplainCloseGroup("Item", NULL, true, es);
		}
	}
	ExplainCloseGroup("Not Pushed Down", "Not Pushed Down", false, es);
}

/* How many of the table's columns are read. */
static void
explain_columns(AfdwDesc *desc, Oid relid, ExplainState *es)
{
	int			n = bms_num_members(afdw_desc_attrs(desc));
	int			total = 0;
	Relation	rel = table_open(relid, AccessShareLock);

	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
		if (!TupleDescAttr(RelationGetDescr(rel), i)->attisdropped)
			total++;
	table_close(rel, AccessShareLock);
	explain_share("Columns", n, total, es);
}

/* As execution or planning opened it, or NULL. */
static AfdwTable *
scan_table(AfdwScan *scan)
{
	return scan->table ? scan->table : afdw_table_peek(scan->relid);
}

/* Rows of which key become one, and how.  Returns if there are such. */
static bool
explain_final(AfdwScan *scan, ExplainState *es)
{
	AfdwTable  *table = scan_table(scan);
	const ax_final *final = table ? ax_source_final(table->source) : NULL;

	if (final)
		ExplainPropertyText("Final", psprintf("%s by %s", final->title, final->key), es);
	return final != NULL;
}

/* The format of the files that execution or planning opened; without files what was declared. */
static void
explain_format(AfdwScan *scan, ExplainState *es)
{
	AfdwTable  *table = scan_table(scan);
	const char *name = table ? ax_source_format(table->source) : "";
	const ax_format *format;
	AfdwOptions opts;

	if (name[0] == '\0')
	{
		afdw_options_table(scan->relid, &opts);
		name = opts.format;
	}
	format = ax_format_find(name);
	ExplainPropertyText("Format", format ? format->title : name, es);
}

void
afdw_explain(ForeignScanState *node, ExplainState *es)
{
	AfdwScan   *scan = node->fdw_state;
	AfdwDesc   *desc = scan->desc;
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Deparse		d;
	bool		final;

	deparse_init(&d, node, desc, NIL, es);
	if (plan->scan.scanrelid == 0)
		explain_relations(&d, desc, scan->relid, es);

	explain_format(scan, es);
	final = explain_final(scan, es);
	if (desc->quals)
		ExplainPropertyText("Pushed Filter", and_list(&d, desc->quals), es);
	/* Conditions on rows are the reader's, unless that is switched off or rows are merged first. */
	if (desc->quals && es->verbose && afdw_enable_prewhere && !final)
		ExplainPropertyText("Prewhere", and_list(&d, desc->quals), es);
	if (desc->grouped && desc->keys)
		ExplainPropertyList("Group Key", each(&d, desc->keys), es);
	if (desc->having)
		ExplainPropertyText("Pushed Having", and_list(&d, desc->having), es);
	if (desc->distinct)
		ExplainPropertyList("Distinct Key", each(&d, desc->distinct), es);
	if (desc->sort)
		explain_sort(&d, desc, es);
	if (desc->limit)
		explain_count("Limit", &d, desc->limit, es);
	if (desc->offset)
		explain_count("Offset", &d, desc->offset, es);
	if (desc->hosts)
		ExplainPropertyList("Computed by PostgreSQL", each(&d, desc->hosts), es);
	if (afdw_explain_not_pushed)
		explain_skipped(&d, desc, es);
	explain_columns(desc, scan->relid, es);
	if (es->analyze)
		explain_profile(scan, es);
}

/* ---- explain_pipeline() ---------------------------------------------------------------- */

typedef struct Pipeline
{
	StringInfoData text;
	bool		dot;
	int			scans;
} Pipeline;

static bool
pipeline_walker(PlanState *ps, Pipeline *out)
{
	if (IsA(ps, ForeignScanState) && afdw_is_our_routine(((ForeignScanState *) ps)->fdwroutine))
	{
		ForeignScanState *node = (ForeignScanState *) ps;
		AfdwScan   *scan = node->fdw_state;
		const char *text = NULL;
		ax_query   *q;

		/* Prepared but never asked for a row: no thread starts. */
		afdw_scan_start(node);
		q = afdw_query_handle(scan->query);
		text = ax_query_pipeline(q, scan->built.plan->arena, out->dot);
		if (text == NULL)
			text = ax_plan_print(scan->built.plan, scan->built.plan->arena, out->dot);
		if (text == NULL)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
		if (out->scans++)
			appendStringInfoChar(&out->text, '\n');
		appendStringInfoString(&out->text, text);
	}
	return planstate_tree_walker(ps, pipeline_walker, (void *) out);
}

Datum
analytics_fdw_explain_pipeline(PG_FUNCTION_ARGS)
{
	char	   *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *format = text_to_cstring(PG_GETARG_TEXT_PP(1));
	List	   *raw,
			   *queries;
	PlannedStmt *planned;
	QueryDesc  *qd;
	Pipeline	out;

	memset(&out, 0, sizeof(out));
	initStringInfo(&out.text);
	if (strcmp(format, "dot") == 0)
		out.dot = true;
	else if (strcmp(format, "text") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid format: \"%s\"", format),
				 errhint("Valid formats are: text, dot")));

	raw = pg_parse_query(sql);
	if (list_length(raw) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("exactly one statement is expected")));
	queries = afdw_analyze_and_rewrite(linitial_node(RawStmt, raw), sql);
	if (list_length(queries) != 1 || linitial_node(Query, queries)->commandType != CMD_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only SELECT has a pipeline")));
	planned = pg_plan_query(linitial_node(Query, queries), sql, CURSOR_OPT_PARALLEL_OK, NULL);

	qd = CreateQueryDesc(planned, sql, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, NULL,
						 NULL, 0);
	ExecutorStart(qd, EXEC_FLAG_EXPLAIN_ONLY);
	(void) pipeline_walker(qd->planstate, &out);
	ExecutorEnd(qd);
	FreeQueryDesc(qd);
	if (out.scans == 0)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(out.text.data));
}
