/*-------------------------------------------------------------------------
 *
 * analyze.c
 *		ANALYZE of foreign tables.
 *
 * The number of rows is that of the metadata, exact.  Rows of the sample are
 * chosen by the engine, all equally likely, and only pages that hold some are
 * opened; of large tables only some row groups, chosen at random, lest ANALYZE
 * read everything.  Where files do not know how many rows they have, all are
 * read through a reservoir.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "afdw.h"

#define AUTO_BYTES		(INT64CONST(256) << 20)	/* files that `auto` reads from */
#define MIN_SPLITS		30		/* row groups of a sample, at least */
#define SYSTEM_SHARE	0.1		/* of the row groups, with `system` */

typedef struct Sample
{
	HeapTuple  *rows;			/* [n] the caller's */
	uint64	   *place;			/* [n] split and row in it, for the order of rows */
	int			n;
	int			wanted;
	double		seen;			/* rows that came */
	double		skip;			/* rows to pass over, once the sample is full */
	ReservoirStateData reservoir;
} Sample;

/* How many row groups to look at; 0: all of them. */
static uint32
splits_wanted(const AfdwTable *table)
{
	double		splits = ax_source_splits(table->source);
	double		bytes = (double) ax_source_bytes(table->source);
	double		n = splits;

	if (table->opts.sampling == AFDW_SAMPLE_SYSTEM)
		n = splits * SYSTEM_SHARE;
	else if (table->opts.sampling == AFDW_SAMPLE_AUTO && bytes > AUTO_BYTES)
		n = splits * AUTO_BYTES / bytes;
	n = Max(n, MIN_SPLITS);
	return n < splits ? (uint32) n : 0;
}

/* All columns that are there, as the description of a scan. */
static AfdwDesc *
whole_table(const AfdwTable *table)
{
	AfdwDesc   *desc = palloc0(sizeof(AfdwDesc));

	desc->varno = 1;
	for (int i = 0; i < table->ncols; i++)
	{
		const AfdwColumn *col = &table->col[i];

		desc->output = lappend(desc->output, makeVar(1, col->attnum, col->typid, col->typmod,
													 col->collation, 0));
	}
	return desc;
}

/* Which element of the sample the next row becomes, or -1. */
static int
place_in_sample(Sample *s)
{
	s->seen++;
	if (s->n < s->wanted)
		return s->n++;
	if (s->skip < 0)
		s->skip = reservoir_get_next_S(&s->reservoir, s->seen - 1, s->wanted);
	if (s->skip-- > 0)
		return -1;
	return (int) (s->wanted * afdw_random_fract(&s->reservoir));
}

static void
take_batch(Sample *s, AfdwOut *out, const ax_batch *batch, const AttrNumber *target,
		   TupleDesc tupdesc, MemoryContext row_cxt)
{
	Datum	   *values = palloc0(sizeof(Datum) * Max(tupdesc->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(tupdesc->natts, 1));

	memset(nulls, true, sizeof(bool) * tupdesc->natts);
	afdw_out_batch(out, batch);
	for (uint32 i = 0; i < batch->nsel; i++)
	{
		uint32		r = batch->sel ? batch->sel[i] : i;
		int			k = place_in_sample(s);
		MemoryContext old;

		if (k < 0)
			continue;
		old = MemoryContextSwitchTo(row_cxt);
		afdw_out_row(out, (int) i, values, nulls, target);
		MemoryContextSwitchTo(old);
		if (s->rows[k])
			heap_freetuple(s->rows[k]);
		s->rows[k] = heap_form_tuple(tupdesc, values, nulls);
		s->place[k] = batch->rowid ?
			(uint64) batch->rowid[r].split << 32 | batch->rowid[r].row :
			(uint64) batch->split << 32 | (batch->row0 + r);
		MemoryContextReset(row_cxt);
	}
	pfree(values);
	pfree(nulls);
}

typedef struct Placed
{
	uint64		place;
	HeapTuple	row;
} Placed;

static int
compare_places(const void *a, const void *b)
{
	uint64		x = ((const Placed *) a)->place,
				y = ((const Placed *) b)->place;

	return x < y ? -1 : x > y;
}

/* Threads deliver in no order; correlation is measured in that of storage. */
static void
order_rows(Sample *s)
{
	Placed	   *placed = palloc_extended(sizeof(Placed) * Max(s->n, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < s->n; i++)
		placed[i] = (Placed) {s->place[i], s->rows[i]};
	qsort(placed, s->n, sizeof(Placed), compare_places);
	for (int i = 0; i < s->n; i++)
		s->rows[i] = placed[i].row;
	pfree(placed);
}

/* Runs the scan; queries and what they allocate end with cxt. */
static void
run(AfdwTable *table, Sample *s, TupleDesc tupdesc, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	MemoryContext row_cxt = AllocSetContextCreate(cxt, "analytics_fdw row",
												  ALLOCSET_DEFAULT_SIZES);
	AfdwDesc   *desc = whole_table(table);
	AttrNumber *target = palloc(sizeof(AttrNumber) * Max(table->ncols, 1));
	ax_params	none = {NULL, 0};
	AfdwBuilt	built;
	AfdwQuery  *query;
	AfdwHosts  *hosts;
	AfdwOut    *out;
	ax_batch   *batch;
	const char *reason = NULL;

	if (!afdw_desc_build(desc, table, NULL, &built, &reason))
		ereport(ERROR, (errcode(ERRCODE_FDW_ERROR), errmsg("cannot read the table: %s", reason)));
	if (table->opts.sampling != AFDW_SAMPLE_OFF && !table->opts.final &&
		ax_source_rows(table->source) >= 0)
		ax_plan_scan_sample(built.plan->root, (uint32) s->wanted, splits_wanted(table),
							(uint64) (afdw_random_fract(&s->reservoir) * 9007199254740992.0));
	for (int i = 0; i < table->ncols; i++)
		target[i] = table->col[i].attnum - 1;
	out = afdw_out_create(desc->output, built.outcol, built.outtype, table->opts.pad_arrays);
	hosts = built.hosts != NIL ? afdw_hosts_create(built.hosts) : NULL;
	query = afdw_query_start(built.plan, &table->opts, &none, hosts, cxt);
	MemoryContextSwitchTo(old);
	while ((batch = afdw_query_next(query)) != NULL)
	{
		afdw_vacuum_delay_point();
		if (batch->nsel > 0)
			take_batch(s, out, batch, target, tupdesc, row_cxt);
		if (batch->poison)
			afdw_ereport(batch->poison);
	}
	afdw_query_end(query);
	afdw_out_end(out);
}

/* The table with all of its files open: how many rows there are is told exactly. */
static AfdwTable *
open_table(Relation rel)
{
	AfdwTable  *table = afdw_table_execute(RelationGetRelid(rel), rel, 0);

	afdw_query_end(afdw_query_open(table->source, &table->opts));
	return table;
}

static int
acquire(Relation rel, int elevel, HeapTuple *rows, int wanted, double *totalrows,
		double *totaldeadrows)
{
	AfdwTable  *table = open_table(rel);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw analyze",
											  ALLOCSET_DEFAULT_SIZES);
	Sample		s;

	memset(&s, 0, sizeof(s));
	s.rows = rows;
	s.wanted = wanted;
	s.skip = -1;
	s.place = MemoryContextAllocHuge(cxt, sizeof(uint64) * Max(wanted, 1));
	memset(rows, 0, sizeof(HeapTuple) * wanted);
	reservoir_init_selection_state(&s.reservoir, wanted);
	run(table, &s, RelationGetDescr(rel), cxt);
	order_rows(&s);

	*totalrows = (double) ax_source_rows(table->source);
	if (*totalrows < 0 || table->opts.final)
		*totalrows = s.seen;
	*totaldeadrows = 0;
	ereport(elevel,
			(errmsg("\"%s\": %d of %.0f rows in the sample, from %u of %u row groups",
					RelationGetRelationName(rel), s.n, *totalrows,
					splits_wanted(table) ? splits_wanted(table) : ax_source_splits(table->source),
					ax_source_splits(table->source))));
	afdw_table_done(table);
	MemoryContextDelete(cxt);
	return s.n;
}

bool
afdw_analyze(Relation rel, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	AfdwTable  *table = open_table(rel);
	int64		pages = ax_source_bytes(table->source) / BLCKSZ + 1;

	afdw_table_done(table);
	*func = acquire;
	*totalpages = (BlockNumber) Min(pages, 1000000000);
	return true;
}
