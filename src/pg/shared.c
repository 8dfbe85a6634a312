/*-------------------------------------------------------------------------
 *
 * shared.c
 *		One block of shared memory for all backends, without preloading.
 *
 * From 17 on the server keeps a registry of named segments.  Before, a small
 * control block is taken from the slack of the main segment, where the size
 * asked for is always at hand unless others took it; it holds the handle of a
 * segment that is pinned until the server stops.  Either way a crash of a
 * backend makes the server start over with fresh memory, so nothing that a
 * dead process left behind can be found.
 *
 * The block cannot always be had (a stand-alone backend, no room in
 * /dev/shm): then everything that needs it is off, which one line in the log
 * tells, and queries run as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#include "afdw.h"

/* Carries the version of the layout: libraries of two versions never share a block. */
#define SHARED_NAME "analytics_fdw 2"

static void *shared = NULL;

#if PG_VERSION_NUM >= 170000

static void *
attach(Size size, void (*init) (void *))
{
	bool		found;

	return GetNamedDSMSegment(SHARED_NAME, size, init, &found);
}

#else

typedef struct AfdwControl
{
	dsm_handle	handle;			/* of the pinned segment; guarded by AddinShmemInitLock */
	bool		made;
} AfdwControl;

/* Raises what the server raises when there is no room. */
static void *
attach(Size size, void (*init) (void *))
{
	AfdwControl *control;
	dsm_segment *segment;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	control = ShmemInitStruct(SHARED_NAME, sizeof(AfdwControl), &found);
	if (!found)
		control->made = false;
	if (control->made)
		segment = dsm_attach(control->handle);
	else
	{
		segment = dsm_create(size, 0);
		init(dsm_segment_address(segment));
		dsm_pin_segment(segment);
		control->handle = dsm_segment_handle(segment);
		control->made = true;
	}
	if (segment)
		dsm_pin_mapping(segment);
	LWLockRelease(AddinShmemInitLock);
	return segment ? dsm_segment_address(segment) : NULL;
}

#endif

/*
 * The block, made and initialised by whoever comes first; NULL: not to be had.
 * May be called in a transaction only.
 */
void *
afdw_shared(Size size, void (*init) (void *))
{
	static bool tried = false;
	MemoryContext cxt = CurrentMemoryContext;

	if (tried || !IsUnderPostmaster)
		return shared;
	tried = true;
	PG_TRY();
	{
		shared = attach(size, init);
	}
	PG_CATCH();
	{
		/* The error handling has forgotten about the lock's hold on interrupts. */
		if (LWLockHeldByMe(AddinShmemInitLock))
		{
			HOLD_INTERRUPTS();
			LWLockRelease(AddinShmemInitLock);
		}
		MemoryContextSwitchTo(cxt);
		FlushErrorState();
		shared = NULL;
	}
	PG_END_TRY();
	if (shared == NULL)
		ereport(LOG,
				(errmsg("analytics_fdw has no shared memory"),
				 errdetail("The views stat_queries and query_log do not show the queries of this "
						   "session, and max_total_threads does not hold for it.")));
	return shared;
}
