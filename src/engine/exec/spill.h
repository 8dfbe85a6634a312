/* The temporary file of a run: breakers near the memory limit write rows there and read them back.
 *
 * The host opens the file (AX_REQ_SPILL_FD), so that its own limits, places and clean-up hold; jobs
 * only pread and pwrite the descriptor.  Space is handed out from the front and never used twice.
 *
 *     NONE --wanted--> the lane asks the host and parks --reply--> OPEN | REFUSED
 *
 * Threads: any, but for init and close (no job may run). */
#ifndef AX_SPILL_H
#define AX_SPILL_H

#include "base/task.h"

#include <stdatomic.h>

#define AX_SPILL_NONE (-1)
#define AX_SPILL_REFUSED (-2)

typedef struct ax_spill
{
    const ax_budget *budget;     /* of the run; borrowed */
    int64_t limit_bytes;         /* of the file; INT64_MAX: none */
    bool allowed;                /* the host answers */
    _Atomic int fd;              /* or AX_SPILL_*; written once */
    _Atomic bool wanted;
    _Atomic int64_t end_bytes;   /* space handed out */
} ax_spill;

/* limit_bytes: of the file, 0: none. */
void ax_spill_init(ax_spill *s, const ax_budget *budget, bool allowed, int64_t limit_bytes);

/* Close the descriptor; the next run may ask for another. */
void ax_spill_close(ax_spill *s);

/* Is 1/parts of the run's memory in use? */
static inline bool ax_spill_pressed(const ax_spill *s, int64_t parts)
{
    return s->allowed
        && atomic_load_explicit(&s->budget->used_bytes, memory_order_relaxed)
               > s->budget->limit_bytes / parts;
}

/* Can rows be written?  If not, remember that somebody wants to. */
bool ax_spill_ready(ax_spill *s);

/* Does a lane have to ask the host before it goes on? */
bool ax_spill_must_ask(const ax_spill *s);

/* The host's answer; fd is owned by s from now on, < 0: refused.  Thread: the host. */
void ax_spill_give(ax_spill *s, int fd);

/* Write n bytes somewhere, *off tells where; read them.  Errors: ELIMIT, EIO, ESTOPPED, and EHOST
 * with the SQLSTATE of a full disk. */
ax_status ax_spill_write(ax_task *t, ax_spill *s, const void *p, size_t n, int64_t *off)
    AX_MUST_USE;
ax_status ax_spill_read(ax_task *t, const ax_spill *s, int64_t off, void *p, size_t n) AX_MUST_USE;

#endif
