/* The list of formats, references of opened files, and the driver for tools and tests. */
#include "format/format.h"

#include <string.h>
#include <strings.h>

#define AX_FORMAT(name) extern const ax_format ax_format_##name;
#include "format/formats.def"
#undef AX_FORMAT

static const ax_format *const formats[] = {
#define AX_FORMAT(name) &ax_format_##name,
#include "format/formats.def"
#undef AX_FORMAT
    NULL
};

const ax_format *ax_format_at(uint32_t i)
{
    return i < sizeof formats / sizeof formats[0] ? formats[i] : NULL;
}

const ax_format *ax_format_find(const char *name)
{
    uint32_t i;

    for (i = 0; formats[i] != NULL; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

/* Is `suffix` one of the words of `list`? */
static bool has_word(const char *list, const char *suffix)
{
    size_t n = strlen(suffix);

    while (*list != '\0')
    {
        size_t k = strcspn(list, " ");

        if (k == n && strncasecmp(list, suffix, n) == 0)
            return true;
        list += k;
        list += strspn(list, " ");
    }
    return false;
}

const ax_format *ax_format_guess(const char *uri, const uint8_t *head, size_t nhead,
                                 const uint8_t *tail, size_t ntail)
{
    const char *slash = strrchr(uri, '/'), *dot;
    uint32_t i;

    dot = strrchr(slash != NULL ? slash : uri, '.');
    for (i = 0; dot != NULL && formats[i] != NULL; i++)
        if (has_word(formats[i]->suffixes, dot + 1))
            return formats[i];
    for (i = 0; formats[i] != NULL; i++)
        if (formats[i]->sniff != NULL && formats[i]->sniff(head, nhead, tail, ntail))
            return formats[i];
    return NULL;
}

ax_fmt_file *ax_fmt_file_ref(ax_fmt_file *f)
{
    int32_t before = atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);

    AX_ASSERT(before > 0);
    (void) before;
    return f;
}

void ax_fmt_file_unref(ax_fmt_file *f)
{
    ax_io_file *io;

    if (f == NULL)
        return;
    /* Release our use of the metadata; acquire that of all others before freeing it. */
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    f->format->close(f);
    io = f->io;
    ax_arena_destroy(f->arena); /* f itself lies there */
    ax_io_file_unref(io);
}

static ax_status drive(ax_task *t, ax_io *io, const ax_format *fmt, ax_fmt_op *op,
                       ax_status (*on_batch)(ax_task *t, void *arg, ax_batch *b), void *arg,
                       ax_fmt_event *ev)
{
    for (;;)
    {
        ax_io_ready ready = AX_IO_READY;

        memset(ev, 0, sizeof *ev);
        AX_TRY(fmt->step(t, op, ev));
        switch (ev->step)
        {
            case AX_STEP_NEED:
                AX_CHECK(t, ev->host == NULL, AX_EUNSUPPORTED,
                         "a function of the host cannot be called here");
                AX_TRY(ax_io_fetch(t, io, &ev->need, NULL, &ready));
                if (ready != AX_IO_READY)
                {
                    ax_io_forget(io, &ev->need);
                    return ax_fail(t, AX_EUNSUPPORTED, "files that answer late need a scheduler");
                }
                break;
            case AX_STEP_BATCH:
                if (ev->batch->poison != NULL && ev->batch->nsel == 0)
                    break;
                if (on_batch != NULL)
                    AX_TRY(on_batch(t, arg, ev->batch));
                break;
            default:
                return AX_OK;
        }
    }
}

ax_status ax_fmt_drive(ax_task *t, ax_io *io, const ax_format *fmt, ax_fmt_op *op,
                       ax_status (*on_batch)(ax_task *t, void *arg, ax_batch *b), void *arg,
                       ax_fmt_event *last)
{
    ax_fmt_event ev = {0};
    ax_status st = drive(t, io, fmt, op, on_batch, arg, &ev);

    fmt->end(op);
    if (last != NULL)
        *last = ev;
    return st;
}

void ax_fmt_share_tell(ax_fmt_share *s)
{
    s->epoch++;
    for (uint32_t i = 0; i < s->nwaiters; i++)
        ax_job_wake(s->waiter[i]);
    s->nwaiters = 0;
}
