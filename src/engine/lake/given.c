/* Paths as they are: nothing is listed, nothing is known. */
#include "lake/lake_int.h"

typedef struct given_op
{
    ax_lake_op base;
    const ax_lake_spec *spec; /* borrowed */
    ax_lake_list list;
} given_op;

static ax_status begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
{
    given_op *op;

    AX_NEW(t, op, (given_op *) ax_arena_alloc0(a, sizeof *op));
    op->spec = spec;
    op->list.arena = a;
    *out = &op->base;
    return AX_OK;
}

static ax_status step(ax_task *t, ax_lake_op *base, ax_lake_event *ev)
{
    given_op *op = (given_op *) base;

    for (uint32_t i = 0; i < op->spec->npaths; i++)
        AX_TRY(ax_lake_list_add(t, &op->list, &(ax_lake_file){.path = op->spec->path[i]}));
    ax_lake_list_sort(&op->list);
    ev->step = AX_STEP_DONE;
    ev->file = op->list.file;
    ev->nfiles = op->list.n;
    return AX_OK;
}

static void end(ax_lake_op *op) { (void) op; }

const ax_lake ax_lake_given = {"given", begin, step, end};
