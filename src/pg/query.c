/*-------------------------------------------------------------------------
 *
 * query.c
 *		Running queries of the engine: the engine of this backend, the latch
 *		loop, and clean-up on every way out.
 *
 * A query is reachable from two clean-up mechanisms, and either may come
 * first: a reset callback of the memory context it belongs to, and the
 * resource owner under which it was started.  Both stop it; stopping twice is
 * harmless.  The handle is malloc memory and is freed by the context callback,
 * which always runs.  At backend exit a third one comes before both: queries
 * are destroyed and all threads joined while the transaction is still open.
 *
 * Clean-up raises nothing, allocates nothing, and waits only for jobs of the
 * query that run at that moment.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/parallel.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "afdw.h"

struct AfdwQuery
{
	ax_query   *q;				/* NULL once destroyed */
	ResourceOwner owner;		/* NULL once released or forgotten */
	MemoryContextCallback callback;
	AfdwHosts  *hosts;			/* answers its questions; NULL: it has none */
	File		temp;			/* what it spills to; 0: nothing */
	AfdwQuery  *next;			/* list of live queries */
	bool		watched;		/* others shall see it */
	AfdwActivity activity;
};

static ax_engine *engine = NULL;
static bool engine_gone = false;
static int	engine_threads = -1;	/* settings that the pool has */
static int	engine_total = -1;
static int	engine_pages = 0;
static AfdwQuery *live = NULL;
static uint32 wait_event = PG_WAIT_EXTENSION;

/* The only function of ours that engine threads call. */
static void
wake_backend(void *arg)
{
	SetLatch((Latch *) arg);
}

/* ---- clean-up ---------------------------------------------------------- */

/* Takes the query off the list and destroys it; the handle stays. */
static void
query_destroy(AfdwQuery *query, bool failed)
{
	for (AfdwQuery **p = &live; *p; p = &(*p)->next)
		if (*p == query)
		{
			*p = query->next;
			break;
		}
	if (query->q)
	{
		ax_query_stop(query->q);
		afdw_activity_end(&query->activity, query->q, failed);
		ax_query_destroy(query->q);
	}
	query->q = NULL;
	if (query->temp > 0)
		FileClose(query->temp);
	query->temp = 0;
}

#if PG_VERSION_NUM >= 170000
static void
owner_release(Datum res)
{
	AfdwQuery  *query = (AfdwQuery *) DatumGetPointer(res);

	query->owner = NULL;
	query->temp = 0;			/* the owner closes it */
	query_destroy(query, true);
}

static char *
owner_print(Datum res)
{
	return psprintf("analytics_fdw query %p", DatumGetPointer(res));
}

static const ResourceOwnerDesc owner_desc = {
	.name = "analytics_fdw query",
	.release_phase = RESOURCE_RELEASE_BEFORE_LOCKS,
	.release_priority = RELEASE_PRIO_FIRST,
	.ReleaseResource = owner_release,
	.DebugPrint = owner_print
};
#else
static void
owner_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel, void *arg)
{
	AfdwQuery  *next;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (AfdwQuery *query = live; query; query = next)
	{
		next = query->next;
		if (query->owner != CurrentResourceOwner)
			continue;
		if (isCommit)
			elog(WARNING, "analytics_fdw query leaked past the end of its resource owner");
		query->owner = NULL;
		query->temp = 0;		/* the owner closes it */
		query_destroy(query, true);
	}
}
#endif

static void
owner_forget(AfdwQuery *query)
{
#if PG_VERSION_NUM >= 170000
	if (query->owner)
		ResourceOwnerForget(query->owner, PointerGetDatum(query), &owner_desc);
#endif
	query->owner = NULL;
}

/* Comes last: also when the query was destroyed at backend exit, the owner must forget it. */
static void
context_callback(void *arg)
{
	AfdwQuery  *query = (AfdwQuery *) arg;

	owner_forget(query);
	query_destroy(query, true);
	free(query);
}

/*
 * Before the transaction of an exiting backend is aborted: no thread may run
 * when the process's destructors do.  Handles stay for the context callbacks.
 */
static void
backend_exit(int code, Datum arg)
{
	while (live)
		query_destroy(live, true);
	if (engine)
		ax_engine_destroy(engine);
	engine = NULL;
	engine_gone = true;
}

void
afdw_query_init(void)
{
#if PG_VERSION_NUM < 170000
	RegisterResourceReleaseCallback(owner_callback, NULL);
#endif
}

/* ---- engine ------------------------------------------------------------ */

bool
afdw_engine_gone(void)
{
	return engine_gone;
}

/*
 * Descriptors that the engine may keep open: a share of this process's, told
 * to the server so that it keeps fewer itself.  Half of what it leaves to
 * extensions, lest others find none.
 */
static uint32
reserve_files(void)
{
	static int	reserved = 0;	/* once, also when the engine cannot be created at first */
	int			n = Max(Min(max_safe_fds / 6, 256), 8);

	for (; reserved < n; reserved++)
		ReserveExternalFD();
	return (uint32) n;
}

ax_engine *
afdw_engine(void)
{
	if (engine_gone)
		elog(ERROR, "analytics_fdw is shutting down");
	if (engine == NULL)
	{
		ax_engine_opts opts = {0};
		ax_error	err;

		Assert(IsUnderPostmaster || !IsPostmasterEnvironment);
		opts.max_threads = (uint32) afdw_max_threads;
		opts.max_open_files = reserve_files();
		opts.page_cache_bytes = (int64) afdw_page_cache_size * 1024;
		engine_pages = afdw_page_cache_size;
		ax_error_clear(&err);
		if (ax_engine_create(&opts, &engine, &err) != AX_OK)
		{
			engine = NULL;
			afdw_ereport(&err);
		}
		engine_threads = afdw_max_threads;
		before_shmem_exit(backend_exit, 0);
#if PG_VERSION_NUM >= 170000
		wait_event = WaitEventExtensionNew("AnalyticsEngine");
#endif
	}
	if (engine_pages != afdw_page_cache_size)
		ax_engine_set_page_cache(engine, (int64) afdw_page_cache_size * 1024);
	engine_pages = afdw_page_cache_size;
	if (engine_total != afdw_max_total_threads && afdw_permits() != NULL)
		ax_engine_share(engine, afdw_permits(), (uint32) afdw_max_total_threads);
	engine_total = afdw_max_total_threads;
	if (engine_threads != afdw_max_threads)
	{
		ax_engine_set_max_threads(engine, (uint32) afdw_max_threads);
		engine_threads = afdw_max_threads;
	}
	return engine;
}

/* ---- queries ------------------------------------------------------------ */

static void
fill_opts(ax_query_opts *o, const AfdwOptions *opts)
{
	memset(o, 0, sizeof(*o));
	o->max_threads = (uint32) afdw_max_threads;
	if (opts->max_threads > 0 &&
		(o->max_threads == 0 || (uint32) opts->max_threads < o->max_threads))
		o->max_threads = (uint32) opts->max_threads;
	if (opts->max_open_files > 0 &&
		(o->max_threads == 0 || (uint32) opts->max_open_files < o->max_threads))
		o->max_threads = (uint32) opts->max_open_files;	/* a thread reads one file at a time */
	if (IsParallelWorker())
		o->max_threads = 1;
	o->memory_limit_bytes = afdw_memory_limit_bytes(opts->memory_limit);
	o->allow = afdw_allowed();
	o->strict_float_sum = afdw_strict_float_sum;
	o->host_rows = (uint32) Max(afdw_min_rows_for_threads - 1, 0);
	o->spill = afdw_enable_spill;
	o->spill_limit_bytes = temp_file_limit >= 0 ? Max((int64) temp_file_limit * 1024, 1) : 0;
	o->wake = wake_backend;
	o->wake_arg = MyLatch;
}

static AfdwQuery *
handle_create(void)
{
	AfdwQuery  *query;

#if PG_VERSION_NUM >= 170000
	ResourceOwnerEnlarge(CurrentResourceOwner);
#endif
	query = calloc(1, sizeof(AfdwQuery));
	if (query == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return query;
}

/* Puts a new query under both clean-ups; nothing here can fail. */
static void
handle_register(AfdwQuery *query, MemoryContext cxt)
{
	query->owner = CurrentResourceOwner;
#if PG_VERSION_NUM >= 170000
	ResourceOwnerRemember(query->owner, PointerGetDatum(query), &owner_desc);
#endif
	query->next = live;
	live = query;
	query->callback.func = context_callback;
	query->callback.arg = query;
	MemoryContextRegisterResetCallback(cxt, &query->callback);
}

/* What can be asked about the files of a source. */
typedef enum AfdwAsk
{
	ASK_OPEN, ASK_LIST, ASK_FACTS
} AfdwAsk;

/* Ends with CurrentMemoryContext at the latest. */
static AfdwQuery *
ask_source(ax_source *source, AfdwAsk what, const char *table, const ax_fact_arg *arg,
		   const AfdwOptions *opts)
{
	ax_engine  *e = afdw_engine();
	AfdwQuery  *query;
	ax_query_opts o;
	ax_error	err;
	ax_status	st;

	fill_opts(&o, opts);
	ax_error_clear(&err);
	query = handle_create();
	if (what == ASK_OPEN)
		st = ax_query_open(e, source, &o, &query->q, &err);
	else if (what == ASK_LIST)
		st = ax_query_list(e, source, &o, &query->q, &err);
	else
		st = ax_query_facts(e, source, table, arg, &o, &query->q, &err);
	if (st != AX_OK)
	{
		free(query);
		afdw_ereport(&err);
	}
	handle_register(query, CurrentMemoryContext);
	return query;
}

/* Lists and opens the files of a source; returns when that is done. */
AfdwQuery *
afdw_query_open(ax_source *source, const AfdwOptions *opts)
{
	AfdwQuery  *query = ask_source(source, ASK_OPEN, NULL, NULL, opts);

	while (afdw_query_next(query) != NULL)
		;
	return query;
}

/* Lists them only. */
AfdwQuery *
afdw_query_list(ax_source *source, const AfdwOptions *opts)
{
	AfdwQuery  *query = ask_source(source, ASK_LIST, NULL, NULL, opts);

	while (afdw_query_next(query) != NULL)
		;
	return query;
}

/* false: *err says why they could not be listed. */
bool
afdw_query_try_list(ax_source *source, const AfdwOptions *opts, ax_error *err)
{
	AfdwQuery  *query = ask_source(source, ASK_LIST, NULL, NULL, opts);
	ax_batch   *batch = NULL;
	bool		ok;

	while ((ok = afdw_query_try(query, &batch, err)) && batch != NULL)
		;
	afdw_query_end(query);
	return ok;
}

/* Rows of a table of facts about the files of an open source. */
AfdwQuery *
afdw_query_facts(ax_source *source, const char *table, const ax_fact_arg *arg,
				 const AfdwOptions *opts)
{
	return ask_source(source, ASK_FACTS, table, arg, opts);
}

/* Prepares a run; threads start at the first afdw_query_next.  Ends with cxt at the latest. */
AfdwQuery *
afdw_query_start(const ax_plan *plan, const AfdwOptions *opts, const ax_params *params,
				 AfdwHosts *hosts, MemoryContext cxt)
{
	ax_engine  *e = afdw_engine();
	AfdwQuery  *query;
	ax_query_opts o;
	ax_error	err;

	fill_opts(&o, opts);
	o.params = *params;
	ax_error_clear(&err);
	query = handle_create();
	if (ax_query_start(e, plan, &o, &query->q, &err) != AX_OK)
	{
		free(query);
		afdw_ereport(&err);
	}
	query->hosts = hosts;
	handle_register(query, cxt);
	return query;
}

/* From its first row on other sessions see what the query does. */
void
afdw_query_watch(AfdwQuery *query, Oid relid, int64 queryid)
{
	query->watched = true;
	query->activity.relid = relid;
	query->activity.queryid = queryid;
}

void
afdw_query_rebind(AfdwQuery *query, const ax_params *params)
{
	if (ax_query_rebind(query->q, params) != AX_OK)
		afdw_ereport(ax_query_error(query->q));
}

/* Raises an error of this query. */
void
afdw_query_raise(AfdwQuery *query, const ax_error *err)
{
	afdw_activity_error(&query->activity, err);
	afdw_ereport(err);
}

/*
 * A descriptor of a temporary file.
 *
 * The file is PostgreSQL's own, so tablespaces, statistics and clean-up are;
 * the engine gets a duplicate, since the original may be closed at any time
 * to make room for others.
 */
static int
open_temp(AfdwQuery *query)
{
	ResourceOwner save = CurrentResourceOwner;
	int			fd;

	if (query->temp > 0)
		FileClose(query->temp);
	query->temp = 0;
	PrepareTempTablespaces();
	/* A cursor is fetched from under other owners. */
	if (query->owner)
		CurrentResourceOwner = query->owner;
	PG_TRY();
	{
		query->temp = OpenTemporaryFile(false);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = save;
	}
	PG_END_TRY();
	fd = fcntl(FileGetRawDesc(query->temp), F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not duplicate descriptor of temporary file: %m")));
	return fd;
}

/* The engine asks for something that only the host has. */
static void
answer_request(AfdwQuery *query)
{
	const ax_request *request = ax_query_request(query->q);
	ax_reply	reply = {0};

	reply.fd = -1;
	if (request->kind == AX_REQ_HOST_FN)
		afdw_hosts_answer(query->hosts, request->u.fn, &reply);
	else if (request->kind == AX_REQ_SPILL_FD)
		reply.fd = open_temp(query);
	else
		elog(ERROR, "analytics_fdw: unexpected request %d of the engine", (int) request->kind);
	if (ax_query_reply(query->q, &reply) != AX_OK)
		afdw_ereport(ax_query_error(query->q));
}

/*
 * Goes on until there is a batch or the end (*batch NULL).  false: the query failed.
 *
 * Every timeout and every kind of cancellation sets the latch, so waiting
 * needs no timeout of its own, but for telling progress.
 */
static bool
step(AfdwQuery *query, ax_batch **batch)
{
	for (;;)
	{
		long		timeout = -1L;

		*batch = NULL;
		CHECK_FOR_INTERRUPTS();
		ResetLatch(MyLatch);	/* before looking: a wake-up in between is not lost */
		switch (ax_query_next(query->q, batch))
		{
			case AX_NEXT_BATCH:
				afdw_activity_update(&query->activity, query->q, AFDW_PHASE_RETURNING);
				return true;
			case AX_NEXT_DONE:
				return true;
			case AX_NEXT_ERROR:
				return false;
			case AX_NEXT_REQUEST:
				answer_request(query);
				break;
			case AX_NEXT_WAIT:
				afdw_activity_update(&query->activity, query->q, AFDW_PHASE_EXECUTING);
				if (!IsUnderPostmaster)
					timeout = 10L;	/* SIGURG is not blocked there, so wake-ups may be lost */
				else if (query->activity.slot)
					timeout = AFDW_UPDATE_MS;
				(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
								 (timeout > 0 ? WL_TIMEOUT : 0), timeout, wait_event);
				break;
		}
	}
}

/* The next batch, or NULL at the end.  false: *err says why there is none. */
bool
afdw_query_try(AfdwQuery *query, ax_batch **batch, ax_error *err)
{
	bool		ok = false;

	if (query->q == NULL)
		elog(ERROR, "analytics_fdw query was stopped");
	if (query->watched && !query->activity.begun)
		afdw_activity_begin(&query->activity);
	PG_TRY();
	{
		ok = step(query, batch);
	}
	PG_CATCH();
	{
		afdw_activity_caught(&query->activity);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!ok)
		*err = *ax_query_error(query->q);
	return ok;
}

/* The same; raises the query's error. */
ax_batch *
afdw_query_next(AfdwQuery *query)
{
	ax_batch   *batch = NULL;
	ax_error	err;

	if (!afdw_query_try(query, &batch, &err))
		afdw_query_raise(query, &err);
	return batch;
}

/* Opens files of a source that may be listed already.  false: *err says why not. */
bool
afdw_query_open_some(ax_source *source, const AfdwOptions *opts, const AfdwOpening *opening,
					 ax_error *err)
{
	AfdwQuery  *query = handle_create();
	ax_query_opts o;
	ax_batch   *none;
	bool		ok;

	fill_opts(&o, opts);
	o.open_files = opening->open_files;
	o.conj = opening->conj;
	o.nconj = (uint32) opening->nconj;
	if (opening->params)
		o.params = *opening->params;
	ax_error_clear(err);
	if (ax_query_open(afdw_engine(), source, &o, &query->q, err) != AX_OK)
	{
		free(query);
		return false;
	}
	handle_register(query, CurrentMemoryContext);
	ok = step(query, &none);
	if (!ok)
		*err = *ax_query_error(query->q);
	afdw_query_end(query);
	return ok;
}

/* NULL when the query is gone. */
ax_query *
afdw_query_handle(AfdwQuery *query)
{
	return query->q;
}

/* Ends the query now; the context callback frees the handle later. */
void
afdw_query_end(AfdwQuery *query)
{
	owner_forget(query);
	query_destroy(query, false);
}
