/* The task context: the first error wins, and each level on the way up adds what it knows. */
#include "base/task.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ax_status ax_task_init(ax_task *t, ax_budget *b, const _Atomic int *stop)
{
    t->budget = b;
    t->stop = stop;
    t->lane = 0;
    t->io = NULL;
    ax_error_clear(&t->err);
    t->arena = ax_arena_create(b, 0);
    if (t->arena == NULL)
        return ax_fail_nomem(t, 0);
    return AX_OK;
}

void ax_task_fini(ax_task *t)
{
    ax_arena_destroy(t->arena);
    t->arena = NULL;
}

ax_status ax_fail_at(ax_task *t, ax_status code, const char *src_file, int src_line,
                     const char *fmt, ...)
{
    va_list ap;

    AX_ASSERT(code != AX_OK);
    if (t->err.code != AX_OK)
        return t->err.code;
    t->err.code = code;
    t->err.src_file = src_file;
    t->err.src_line = src_line;
    va_start(ap, fmt);
    if (vsnprintf(t->err.msg, sizeof t->err.msg, fmt, ap) < 0)
        t->err.msg[0] = '\0';
    va_end(ap);
    return code;
}

/* The account that has no room: the lowest one on the chain where wanted bytes do not fit. */
static const ax_budget *full_budget(const ax_budget *b, size_t wanted_bytes)
{
    int64_t wanted = wanted_bytes > INT64_MAX ? INT64_MAX : (int64_t) wanted_bytes;
    const ax_budget *tightest = b;
    int64_t least_left = INT64_MAX;

    for (; b != NULL; b = b->parent)
    {
        int64_t used = atomic_load_explicit(&b->used_bytes, memory_order_relaxed);
        int64_t left = b->limit_bytes - used;

        if (wanted > 0 && left < wanted)
            return b;
        if (left < least_left)
        {
            least_left = left;
            tightest = b;
        }
    }
    return tightest;
}

ax_status ax_fail_nomem(ax_task *t, size_t wanted_bytes)
{
    const ax_budget *b = full_budget(t->budget, wanted_bytes);
    char wanted[64] = "";

    if (t->err.code != AX_OK)
        return t->err.code;
    (void) ax_fail(t, AX_ENOMEM, "out of memory");
    if (wanted_bytes > 0)
        snprintf(wanted, sizeof wanted, " when %zu bytes were wanted", wanted_bytes);
    if (b != NULL && b->limit_bytes != INT64_MAX)
        snprintf(t->err.detail, sizeof t->err.detail,
                 "Budget \"%s\" had %" PRId64 " of %" PRId64 " bytes in use%s.", b->name,
                 atomic_load_explicit(&b->used_bytes, memory_order_relaxed), b->limit_bytes,
                 wanted);
    else if (wanted_bytes > 0)
        snprintf(t->err.detail, sizeof t->err.detail, "%zu bytes were wanted.", wanted_bytes);
    return AX_ENOMEM;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Copy what fits; the end of a long path says more than its beginning, so the front is cut, and
 * not inside a UTF-8 sequence. */
static void copy_tail(char *dst, size_t dst_size, const char *src)
{
    size_t n = strlen(src);

    if (n < dst_size)
    {
        memcpy(dst, src, n + 1);
        return;
    }
    src += n - (dst_size - 1 - 3);
    while (((unsigned char) *src & 0xc0) == 0x80)
        src++;
    snprintf(dst, dst_size, "...%s", src);
}

void ax_note_file(ax_task *t, const char *file)
{
    if (t->err.code != AX_OK && file != NULL && t->err.place.file[0] == '\0')
        copy_tail(t->err.place.file, sizeof t->err.place.file, file);
}

void ax_note_unit(ax_task *t, const char *unit, int64_t idx)
{
    ax_place *p = &t->err.place;

    if (t->err.code == AX_OK || p->unit_idx >= 0)
        return;
    if (unit != NULL && p->unit[0] == '\0')
        copy_tail(p->unit, sizeof p->unit, unit);
    if (idx >= 0)
        p->unit_idx = idx;
}

void ax_note_column(ax_task *t, const char *column)
{
    if (t->err.code != AX_OK && column != NULL && t->err.place.column[0] == '\0')
        copy_tail(t->err.place.column, sizeof t->err.place.column, column);
}

void ax_note_page(ax_task *t, int64_t page_idx, int64_t byte_off)
{
    ax_place *p = &t->err.place;

    if (t->err.code == AX_OK)
        return;
    if (page_idx >= 0 && p->page_idx < 0)
        p->page_idx = page_idx;
    if (byte_off >= 0 && p->byte_off < 0)
        p->byte_off = byte_off;
}

#ifdef AX_DEBUG
void ax_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, cond);
    abort();
}
#endif
