/*-------------------------------------------------------------------------
 *
 * fdw.c
 *		The module: initialisation and the handler.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"

#include "afdw.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "analytics_fdw", .version = AX_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PG_FUNCTION_INFO_V1(analytics_fdw_handler);

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
	routine->AnalyzeForeignTable = afdw_analyze;
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
