/*-------------------------------------------------------------------------
 *
 * activity.c
 *		What queries of the engine do, for other sessions to see: the views
 *		stat_queries and query_log.
 *
 * Shared memory (shared.c) holds
 *	 - SLOTS_PER_BACKEND slots for each backend, of queries that run.  Only the
 *	   owner writes; readers copy and look at a counter that is odd while the
 *	   owner writes, as pgstat does.
 *	 - a ring of the last LOG_ENTRIES queries that ended, under a lock.
 *	 - how many threads of all backends run (ax_permits).
 *
 * The backend's own thread writes: at most every UPDATE_MS, from a snapshot of
 * the engine's counters.  A query that waits for its threads wakes up that
 * often for it.  Ending a query writes the log, also during clean-up after an
 * error, where nothing may be raised or allocated.
 *
 * Slots of a process that ends are released by the clean-up of its queries; a
 * crash makes the server start over with fresh memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_stat_queries);
PG_FUNCTION_INFO_V1(analytics_fdw_query_log);
PG_FUNCTION_INFO_V1(analytics_fdw_query_log_reset);

#define SLOTS_PER_BACKEND 4
#define LOG_ENTRIES 512
#define ERROR_BYTES 160

/* Who runs what. */
typedef struct AfdwWho
{
	int			pid;
	Oid			userid,
				dbid,
				relid;
	int64		queryid;		/* 0: not computed */
	TimestampTz start;
} AfdwWho;

/* The counters that are shown, of both views. */
typedef struct AfdwCounts
{
	char		format[16];
	int64		files,
				files_done,
				splits,
				splits_done,
				pruned[AX_PRUNED_CNT],
				pages,
				pages_skipped;
	int64		rows_read,
				rows_out;
	int64		bytes_read,
				pages_cached,
				bytes_cached,
				bytes_total,
				requests;
	int64		memory,
				memory_peak,
				spilled;
	int32		threads,
				threads_peak;
	int64		elapsed_ns,
				cpu_ns,
				read_ns;
} AfdwCounts;

typedef struct AfdwSlot
{
	pg_atomic_uint32 change;	/* odd: the owner writes */
	bool		used;
	AfdwPhase	phase;
	AfdwWho		who;
	AfdwCounts	counts;
} AfdwSlot;

typedef struct AfdwLogEntry
{
	AfdwWho		who;
	AfdwCounts	counts;
	char		sqlstate[6];	/* "": no error */
	char		error[ERROR_BYTES];
} AfdwLogEntry;

typedef struct AfdwShared
{
	LWLock		lock;			/* guards the ring */
	int			nslots;			/* immutable */
	ax_permits	permits;		/* written by engine threads of all backends */
	uint64		logged;			/* entries since the last reset */
	AfdwLogEntry log[LOG_ENTRIES];
	AfdwSlot	slot[FLEXIBLE_ARRAY_MEMBER];
} AfdwShared;

static AfdwShared *shared = NULL;

/* ---- shared memory --------------------------------------------------------------- */

static int
slot_count(void)
{
	return MaxBackends * SLOTS_PER_BACKEND;
}

static Size
shared_size(void)
{
	return offsetof(AfdwShared, slot) + slot_count() * sizeof(AfdwSlot);
}

static void
shared_init(void *block)
{
	AfdwShared *s = block;

	memset(s, 0, shared_size());
	LWLockInitialize(&s->lock, LWLockNewTrancheId());
	s->nslots = slot_count();
	for (int i = 0; i < s->nslots; i++)
		pg_atomic_init_u32(&s->slot[i].change, 0);
}

static bool
shared_attach(void)
{
	if (shared == NULL)
	{
		shared = afdw_shared(shared_size(), shared_init);
		if (shared)
			LWLockRegisterTranche(shared->lock.tranche, "analytics_fdw");
	}
	return shared != NULL;
}

ax_permits *
afdw_permits(void)
{
	return shared_attach() ? &shared->permits : NULL;
}

/* ---- writing ---------------------------------------------------------------------- */

static void
write_begin(AfdwSlot *slot)
{
	pg_atomic_write_u32(&slot->change, pg_atomic_read_u32(&slot->change) + 1);
	pg_write_barrier();
}

static void
write_end(AfdwSlot *slot)
{
	pg_write_barrier();
	pg_atomic_write_u32(&slot->change, pg_atomic_read_u32(&slot->change) + 1);
}

static void
take_counts(AfdwCounts *c, const ax_query *q)
{
	ax_profile	p;

	memset(&p, 0, sizeof(p));
	ax_query_profile(q, &p);
	memset(c, 0, sizeof(*c));
	strlcpy(c->format, p.format ? p.format : "", sizeof(c->format));
	c->files = (int64) p.files;
	c->files_done = (int64) p.files_done;
	c->splits = (int64) p.splits;
	c->splits_done = (int64) p.splits_done;
	for (int i = 0; i < AX_PRUNED_CNT; i++)
	{
		c->pruned[i] = (int64) p.splits_pruned[i];
		c->splits_done += c->pruned[i];
	}
	c->splits_done = Min(c->splits_done, c->splits);
	c->pages = (int64) p.scan.pages;
	c->pages_skipped = (int64) p.scan.pages_skipped;
	c->rows_read = (int64) p.scan.rows_read;
	c->rows_out = (int64) p.rows_out;
	c->bytes_read = (int64) p.bytes_read;
	c->pages_cached = (int64) p.pages_cached;
	c->bytes_cached = (int64) p.bytes_cached;
	c->bytes_total = p.bytes_total;
	c->requests = (int64) p.requests;
	c->memory = p.memory_bytes;
	c->memory_peak = p.memory_peak_bytes;
	c->spilled = (int64) p.spilled_bytes;
	c->threads = (int32) p.threads_granted;
	c->threads_peak = (int32) p.threads_peak;
	c->elapsed_ns = (int64) p.elapsed_ns;
	c->cpu_ns = (int64) p.cpu_ns;
	c->read_ns = (int64) p.scan.read_ns;
}

static AfdwSlot *
free_slot(void)
{
	int			first = afdw_my_proc_index() * SLOTS_PER_BACKEND;

	for (int i = first; i < first + SLOTS_PER_BACKEND && i < shared->nslots; i++)
		if (i >= 0 && !shared->slot[i].used)
			return &shared->slot[i];
	return NULL;				/* so many cursors: the first ones are shown */
}

/* A run starts.  Called once for each, in a transaction. */
void
afdw_activity_begin(AfdwActivity *a)
{
	a->begun = true;
	a->start = a->updated = GetCurrentTimestamp();
	a->userid = GetSessionUserId();
	if (!shared_attach())
		return;
	a->slot = free_slot();
	if (a->slot)
	{
		AfdwSlot   *slot = a->slot;

		write_begin(slot);
		slot->used = true;
		slot->phase = AFDW_PHASE_STARTING;
		slot->who = (AfdwWho) {MyProcPid, a->userid, MyDatabaseId, a->relid, a->queryid, a->start};
		memset(&slot->counts, 0, sizeof(slot->counts));
		write_end(slot);
	}
}

/*
 * What it does now.  Counters are taken when the last time was long ago, and
 * with batches 1, 2, 4, 8...: the reader of an idle cursor shall see something.
 */
void
afdw_activity_update(AfdwActivity *a, const ax_query *q, AfdwPhase phase)
{
	AfdwSlot   *slot = a->slot;
	TimestampTz now;
	AfdwCounts	counts;
	bool		take;

	if (slot == NULL)
		return;
	now = GetCurrentTimestamp();
	take = now - a->updated >= AFDW_UPDATE_MS * INT64CONST(1000) || now < a->updated;
	if (phase == AFDW_PHASE_RETURNING && (a->batches & (a->batches + 1)) == 0)
		take = true;
	a->batches += phase == AFDW_PHASE_RETURNING;
	if (!take && slot->phase == phase)
		return;
	if (take)
	{
		a->updated = now;
		take_counts(&counts, q);
	}
	write_begin(slot);
	slot->phase = phase;
	if (take)
		slot->counts = counts;
	write_end(slot);
}

/* The engine failed; the query will end soon. */
void
afdw_activity_error(AfdwActivity *a, const ax_error *err)
{
	strlcpy(a->sqlstate, ax_status_sqlstate(err->code), sizeof(a->sqlstate));
	strlcpy(a->error, err->msg[0] ? err->msg : ax_status_text(err->code), sizeof(a->error));
}

/* PostgreSQL raised an error, which is being caught, while it worked for the query or waited. */
void
afdw_activity_caught(AfdwActivity *a)
{
	int			code = geterrcode();
	MemoryContext old;
	ErrorData  *error;

	strlcpy(a->sqlstate, unpack_sql_state(code), sizeof(a->sqlstate));
	a->error[0] = '\0';
	if (code == ERRCODE_OUT_OF_MEMORY)
		return;					/* a copy needs some */
	old = MemoryContextSwitchTo(TopTransactionContext);
	error = CopyErrorData();
	strlcpy(a->error, error->message ? error->message : "", sizeof(a->error));
	FreeErrorData(error);
	MemoryContextSwitchTo(old);
}

/*
 * The run is over; q is stopped and still has its counters.  failed: it was
 * ended by an error, which may be PostgreSQL's own.  Raises and allocates
 * nothing.
 */
void
afdw_activity_end(AfdwActivity *a, const ax_query *q, bool failed)
{
	AfdwLogEntry *e;

	if (!a->begun)
		return;
	a->begun = false;
	if (a->slot)
	{
		write_begin(a->slot);
		a->slot->used = false;
		write_end(a->slot);
		a->slot = NULL;
	}
	/* A process that is on its way out after it gave up its entry may not wait for locks. */
	if (shared == NULL || MyProc == NULL)
		return;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	e = &shared->log[shared->logged++ % LOG_ENTRIES];
	e->who = (AfdwWho) {MyProcPid, a->userid, MyDatabaseId, a->relid, a->queryid, a->start};
	take_counts(&e->counts, q);
	e->sqlstate[0] = e->error[0] = '\0';
	if (a->sqlstate[0])
	{
		int			len = (int) strlen(a->error);

		strlcpy(e->sqlstate, a->sqlstate, sizeof(e->sqlstate));
		len = Min(len, ERROR_BYTES - 1);
		while (len > 0 && len == ERROR_BYTES - 1 && (a->error[len] & 0xc0) == 0x80)
			len--;				/* no half character */
		memcpy(e->error, a->error, len);
		e->error[len] = '\0';
	}
	else if (failed)
		strlcpy(e->error, "ended by PostgreSQL", sizeof(e->error));
	LWLockRelease(&shared->lock);
}

/* ---- reading ----------------------------------------------------------------------- */

/* One's own queries, or all with pg_read_all_stats, as in pg_stat_activity. */
static bool
visible(const AfdwWho *who)
{
	return has_privs_of_role(GetUserId(), who->userid) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

typedef struct Row
{
	Datum		value[40];
	bool		isnull[40];
	int			n;
} Row;

static void
add(Row *row, Datum value, bool isnull)
{
	row->value[row->n] = value;
	row->isnull[row->n++] = isnull;
}

static void
add_int(Row *row, int64 value)
{
	add(row, Int64GetDatum(value), false);
}

static void
add_who(Row *row, const AfdwWho *who)
{
	add(row, Int32GetDatum(who->pid), false);
	add(row, ObjectIdGetDatum(who->dbid), false);
	add(row, ObjectIdGetDatum(who->userid), false);
	add(row, ObjectIdGetDatum(who->relid), false);
	add(row, Int64GetDatum(who->queryid), who->queryid == 0);
	add(row, TimestampTzGetDatum(who->start), false);
}

static void
put(ReturnSetInfo *rsinfo, Row *row)
{
	if (row->n != rsinfo->setDesc->natts)
		elog(ERROR, "the function has %d columns, not %d", rsinfo->setDesc->natts, row->n);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->value, row->isnull);
}

/* A consistent copy; false: nothing runs there. */
static bool
read_slot(AfdwSlot *slot, AfdwSlot *copy)
{
	for (;;)
	{
		uint32		before = pg_atomic_read_u32(&slot->change);

		pg_read_barrier();
		copy->used = slot->used;
		copy->phase = slot->phase;
		copy->who = slot->who;
		copy->counts = slot->counts;
		pg_read_barrier();
		if ((before & 1) == 0 && pg_atomic_read_u32(&slot->change) == before)
			return copy->used;
		CHECK_FOR_INTERRUPTS();
	}
}

Datum
analytics_fdw_stat_queries(PG_FUNCTION_ARGS)
{
	static const char *const phases[] = {"starting", "executing", "returning rows"};
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);

	if (!shared_attach())
		return (Datum) 0;
	for (int i = 0; i < shared->nslots; i++)
	{
		AfdwSlot	s;
		AfdwCounts *c = &s.counts;
		Row			row = {.n = 0};

		if (!read_slot(&shared->slot[i], &s) || !visible(&s.who))
			continue;
		add_who(&row, &s.who);
		add(&row, CStringGetTextDatum(phases[s.phase]), false);
		add_int(&row, c->files_done);
		add_int(&row, c->files);
		add_int(&row, c->splits_done);
		add_int(&row, c->splits);
		add_int(&row, c->rows_read);
		add_int(&row, c->rows_out);
		add_int(&row, c->bytes_read);
		add_int(&row, c->bytes_total);
		add(&row, Int32GetDatum(c->threads_peak), false);
		add(&row, Int32GetDatum(c->threads), false);
		add_int(&row, c->memory);
		add_int(&row, c->memory_peak);
		put(rsinfo, &row);
	}
	return (Datum) 0;
}

static void
put_logged(ReturnSetInfo *rsinfo, const AfdwLogEntry *e)
{
	const AfdwCounts *c = &e->counts;
	Row			row = {.n = 0};
	int64		removed = 0;

	add_who(&row, &e->who);
	add(&row, Float8GetDatum((double) c->elapsed_ns / 1e6), false);
	add(&row, CStringGetTextDatum(c->format), c->format[0] == '\0');
	add_int(&row, c->files);
	for (int i = AX_PRUNED_NOT + 1; i < AX_PRUNED_CNT; i++)
		removed += c->pruned[i];
	add_int(&row, c->splits);
	add_int(&row, Max(c->splits_done - removed, 0));
	for (int i = AX_PRUNED_NOT + 1; i < AX_PRUNED_CNT; i++)
		add_int(&row, c->pruned[i]);
	add_int(&row, c->pages);
	add_int(&row, c->pages_skipped);
	add_int(&row, c->rows_read);
	add_int(&row, c->rows_out);
	add_int(&row, c->bytes_read);
	add_int(&row, c->pages_cached);
	add_int(&row, c->bytes_cached);
	add_int(&row, c->requests);
	add_int(&row, c->memory_peak);
	add(&row, Int32GetDatum(c->threads), false);
	add(&row, Int32GetDatum(c->threads_peak), false);
	add(&row, Float8GetDatum((double) c->cpu_ns / 1e6), false);
	add(&row, Float8GetDatum((double) c->read_ns / 1e6), false);
	add_int(&row, c->spilled);
	add(&row, CStringGetTextDatum(e->sqlstate), e->sqlstate[0] == '\0');
	add(&row, CStringGetTextDatum(afdw_server_text(e->error)), e->error[0] == '\0');
	put(rsinfo, &row);
}

Datum
analytics_fdw_query_log(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);
	AfdwLogEntry *copy;
	uint64		n;

	if (!shared_attach())
		return (Datum) 0;
	copy = palloc(sizeof(shared->log));
	LWLockAcquire(&shared->lock, LW_SHARED);
	n = Min(shared->logged, LOG_ENTRIES);
	for (uint64 i = 0; i < n; i++)
		copy[i] = shared->log[(shared->logged - n + i) % LOG_ENTRIES];
	LWLockRelease(&shared->lock);
	for (uint64 i = 0; i < n; i++)
		if (visible(&copy[i].who))
			put_logged(rsinfo, &copy[i]);
	pfree(copy);
	return (Datum) 0;
}

Datum
analytics_fdw_query_log_reset(PG_FUNCTION_ARGS)
{
	if (shared_attach())
	{
		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
		shared->logged = 0;
		LWLockRelease(&shared->lock);
	}
	PG_RETURN_VOID();
}
