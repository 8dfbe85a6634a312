/* Sources that a host keeps: do their files still look as they did? */
#include "ax_int.h"

#include <string.h>

/* Is a path as it was?  No promise about what is in a file. */
static bool same_place(ax_task *t, ax_io *io, const ax_lake_watch *w)
{
    ax_io_id id;
    bool is_dir = false;
    bool found = ax_io_stat(t, io, w->path, &id, &is_dir) == AX_OK;
    bool gone = !found && t->err.code == AX_ENOFILE;

    ax_error_clear(&t->err);
    if (!found)
        return gone && !w->found;
    return w->found && w->is_dir == is_dir && (!w->listed || ax_io_id_equal(&id, &w->id));
}

/* Of the files that are open, all or some spread over the list. */
static bool same_files(ax_task *t, ax_io *io, const ax_snapshot *s, uint32_t nopen, uint32_t max)
{
    uint32_t every = max > 0 && nopen > max ? (nopen + max - 1) / max : 1, k = 0;

    for (uint32_t i = 0; i < s->nfiles; i++)
    {
        ax_io_id id;
        bool is_dir;

        if (ax_snapfile_file(&s->file[i]) == NULL || k++ % every != 0)
            continue;
        if (!s->file[i].settled ||
            ax_io_stat(t, io, s->file[i].path, &id, &is_dir) != AX_OK ||
            !ax_io_id_equal(&id, &s->file[i].id))
            return false;
    }
    return true;
}

ax_current ax_source_current(ax_source *s, uint32_t max_files)
{
    ax_current how = AX_CURRENT_CHANGED;
    ax_opened sum;
    bool listed = false, same = true;
    ax_task t;

    if (s->snap == NULL || !s->snap->watched ||
        ax_task_init(&t, s->env->budget, NULL) != AX_OK)
        return AX_CURRENT_CHANGED;
    sum = ax_snapshot_opened(s->snap);
    for (uint32_t i = 0; i < s->snap->nwatch && same; i++)
    {
        listed = listed || s->snap->watch[i].listed;
        same = same_place(&t, s->env->io, &s->snap->watch[i]);
    }
    if (same && same_files(&t, s->env->io, s->snap, sum.files, max_files))
        how = listed || sum.files < s->snap->nfiles || (max_files > 0 && sum.files > max_files)
                  ? AX_CURRENT_NAMES
                  : AX_CURRENT_FILES;
    ax_task_fini(&t);
    return how;
}

void ax_source_follow(ax_source *s, const ax_source *earlier)
{
    if (s->snap != NULL || earlier->snap == NULL)
        return;
    for (uint32_t c = 0; c < s->ncols; c++)
        if (s->col[c].virt == AX_VIRT_SIZE || s->col[c].virt == AX_VIRT_MTIME)
            return; /* they must be true */
    ax_snapshot_unref(s->earlier);
    s->earlier = earlier->snap;
    atomic_fetch_add_explicit(&s->earlier->refs, 1, memory_order_relaxed);
}
