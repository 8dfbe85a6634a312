/* The temporary file of a run, see spill.h. */
#include "exec/spill.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void ax_spill_init(ax_spill *s, const ax_budget *budget, bool allowed, int64_t limit_bytes)
{
    s->budget = budget;
    s->allowed = allowed && budget->limit_bytes < INT64_MAX;
    s->limit_bytes = limit_bytes > 0 ? limit_bytes : INT64_MAX;
    atomic_init(&s->fd, AX_SPILL_NONE);
    atomic_init(&s->wanted, false);
    atomic_init(&s->end_bytes, 0);
}

void ax_spill_close(ax_spill *s)
{
    int fd = atomic_load_explicit(&s->fd, memory_order_relaxed);

    if (fd >= 0)
        (void) close(fd);
    atomic_store_explicit(&s->fd, AX_SPILL_NONE, memory_order_relaxed);
    atomic_store_explicit(&s->wanted, false, memory_order_relaxed);
}

bool ax_spill_ready(ax_spill *s)
{
    if (atomic_load_explicit(&s->fd, memory_order_relaxed) >= 0)
        return true;
    atomic_store_explicit(&s->wanted, true, memory_order_relaxed);
    return false;
}

bool ax_spill_must_ask(const ax_spill *s)
{
    return atomic_load_explicit(&s->wanted, memory_order_relaxed)
        && atomic_load_explicit(&s->fd, memory_order_relaxed) == AX_SPILL_NONE;
}

void ax_spill_give(ax_spill *s, int fd)
{
    atomic_store_explicit(&s->end_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&s->fd, fd >= 0 ? fd : AX_SPILL_REFUSED, memory_order_relaxed);
}

static ax_status failed(ax_task *t, const char *what, int err)
{
    ax_status st = ax_fail(t, err == ENOSPC ? AX_EHOST : AX_EIO, "could not %s temporary file: %s",
                           what, err == ENOSPC ? "no space left on device" : "input/output error");

    t->err.os_errno = err;
    if (err == ENOSPC)
        (void) snprintf(t->err.sqlstate, sizeof t->err.sqlstate, "53100");
    return st;
}

ax_status ax_spill_write(ax_task *t, ax_spill *s, const void *p, size_t n, int64_t *off)
{
    int fd = atomic_load_explicit(&s->fd, memory_order_relaxed);
    size_t done = 0;

    *off = atomic_fetch_add_explicit(&s->end_bytes, (int64_t) n, memory_order_relaxed);
    AX_CHECK(t, *off <= s->limit_bytes - (int64_t) n, AX_ELIMIT,
             "temporary file size exceeds temp_file_limit (%lldkB)",
             (long long) (s->limit_bytes / 1024));
    while (done < n)
    {
        ssize_t w;

        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        w = pwrite(fd, (const uint8_t *) p + done, n - done, (off_t) (*off + (int64_t) done));
        if (w < 0 && errno != EINTR)
            return failed(t, "write to", errno);
        done += w > 0 ? (size_t) w : 0;
    }
    return AX_OK;
}

ax_status ax_spill_read(ax_task *t, const ax_spill *s, int64_t off, void *p, size_t n)
{
    int fd = atomic_load_explicit(&s->fd, memory_order_relaxed);
    size_t done = 0;

    while (done < n)
    {
        ssize_t r;

        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        r = pread(fd, (uint8_t *) p + done, n - done, (off_t) (off + (int64_t) done));
        if (r == 0)
            return failed(t, "read", EIO); /* somebody cut it */
        if (r < 0 && errno != EINTR)
            return failed(t, "read", errno);
        done += r > 0 ? (size_t) r : 0;
    }
    return AX_OK;
}
