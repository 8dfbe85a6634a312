/* The kinds of lakes, and lists of files. */
#include "lake/lake_int.h"

#include <stdlib.h>
#include <string.h>

#define AX_LAKE(name) extern const ax_lake ax_lake_##name;
#include "lake/lakes.def"
#undef AX_LAKE

static const ax_lake *const lakes[] = {
#define AX_LAKE(name) &ax_lake_##name,
#include "lake/lakes.def"
#undef AX_LAKE
};

static const char *kind_of(const ax_lake_spec *s)
{
    if (s->kind != NULL)
        return s->kind;
    if (s->format != NULL && s->format->lake != NULL)
        return s->format->lake;
    return s->format != NULL && s->format->directory ? "given" : "files";
}

ax_status ax_lake_begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
{
    const char *kind = kind_of(spec);

    *out = NULL;
    for (size_t i = 0; i < sizeof lakes / sizeof lakes[0]; i++)
        if (strcmp(lakes[i]->name, kind) == 0)
        {
            AX_TRY(lakes[i]->begin(t, a, spec, out));
            (*out)->lake = lakes[i];
            return AX_OK;
        }
    return ax_fail(t, AX_EOPTION, "kind of table \"%s\" is not known", kind);
}

ax_status ax_lake_step(ax_task *t, ax_lake_op *op, ax_lake_event *ev)
{
    return op->lake->step(t, op, ev);
}

void ax_lake_end(ax_lake_op *op)
{
    if (op != NULL)
        op->lake->end(op);
}

/* ---- lists ----------------------------------------------------------------------------------- */

ax_status ax_lake_list_add(ax_task *t, ax_lake_list *l, const ax_lake_file *f)
{
    ax_lake_file *e;

    if (l->n == l->cap)
    {
        uint32_t cap = l->cap == 0 ? 16 : l->cap * 2;
        ax_lake_file *grown;

        AX_CHECK(t, l->cap < (1u << 30), AX_ELIMIT, "too many files");
        AX_NEW(t, grown, (ax_lake_file *) ax_arena_alloc(l->arena, cap * sizeof *grown));
        if (l->n > 0)
            memcpy(grown, l->file, l->n * sizeof *grown);
        l->file = grown;
        l->cap = cap;
    }
    e = &l->file[l->n];
    *e = *f;
    AX_NEW(t, e->path, ax_arena_strndup(l->arena, f->path, strlen(f->path)));
    if (f->etag != NULL)
        AX_NEW(t, e->etag, ax_arena_strndup(l->arena, f->etag, strlen(f->etag)));
    l->n++;
    return AX_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const ax_lake_file *) a)->path, ((const ax_lake_file *) b)->path);
}

void ax_lake_list_sort(ax_lake_list *l)
{
    uint32_t kept = 0, sorted = 1;

    while (sorted < l->n && by_path(&l->file[sorted - 1], &l->file[sorted]) <= 0)
        sorted++; /* mostly all of them */
    if (sorted < l->n)
        qsort(l->file, l->n, sizeof *l->file, by_path);
    for (uint32_t i = 0; i < l->n; i++)
        if (kept == 0 || strcmp(l->file[kept - 1].path, l->file[i].path) != 0)
            l->file[kept++] = l->file[i];
    l->n = kept;
}
