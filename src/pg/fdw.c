/*-------------------------------------------------------------------------
 *
 * fdw.c
 *		The module: initialisation, handler, small SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "afdw.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "analytics_fdw", .version = AX_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PG_FUNCTION_INFO_V1(analytics_fdw_handler);
PG_FUNCTION_INFO_V1(analytics_fdw_version);
PG_FUNCTION_INFO_V1(analytics_fdw_build_info);

void		_PG_init(void);

/* Also runs in the postmaster when preloaded: no thread and no engine here. */
void
_PG_init(void)
{
	afdw_guc_init();
	afdw_query_init();
	afdw_source_init();
	afdw_stats_init();
}

static int
updatable(Relation rel)
{
	return 0;
}

Datum
analytics_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = afdw_get_rel_size;
	routine->GetForeignPaths = afdw_get_paths;
	routine->GetForeignPlan = afdw_get_plan;
	routine->GetForeignUpperPaths = afdw_get_upper_paths;
	routine->BeginForeignScan = afdw_begin;
	routine->IterateForeignScan = afdw_iterate;
	routine->ReScanForeignScan = afdw_rescan;
	routine->EndForeignScan = afdw_end;
	routine->IsForeignRelUpdatable = updatable;
	routine->ExplainForeignScan = afdw_explain;
	routine->ImportForeignSchema = afdw_import;

	/*
	 * ShutdownForeignScan stays NULL: the executor calls it after every
	 * partial FETCH, not at the end.
	 */
	PG_RETURN_POINTER(routine);
}

bool
afdw_is_our_routine(const FdwRoutine *routine)
{
	return routine != NULL && routine->GetForeignRelSize == afdw_get_rel_size;
}

Datum
analytics_fdw_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(AX_VERSION));
}

static void
put_info(ReturnSetInfo *rsinfo, const char *key, const char *value)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = CStringGetTextDatum(key);
	values[1] = CStringGetTextDatum(value);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
analytics_fdw_build_info(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TupleDesc	desc;
	MemoryContext old;
	StringInfoData formats;
	const ax_format *f;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) || !(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setDesc = CreateTupleDescCopy(desc);
	rsinfo->setResult = tuplestore_begin_heap(rsinfo->allowedModes & SFRM_Materialize_Random,
											  false, work_mem);
	MemoryContextSwitchTo(old);

	initStringInfo(&formats);
	for (uint32 i = 0; (f = ax_format_at(i)) != NULL; i++)
		appendStringInfo(&formats, "%s%s", i ? ", " : "", f->name);
	put_info(rsinfo, "version", AX_VERSION);
	put_info(rsinfo, "postgres", PG_VERSION);
	put_info(rsinfo, "compiler", __VERSION__);
	put_info(rsinfo, "formats", formats.data);
#ifdef AX_DEBUG
	put_info(rsinfo, "debug", "on");
#else
	put_info(rsinfo, "debug", "off");
#endif
	return (Datum) 0;
}
