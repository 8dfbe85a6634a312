/* Rows of facts, which formats have as values one by one, as batches. */
#include "format/format.h"

#include <string.h>

/* One column: cell[0], cell[stride], ... */
static ax_status column(ax_task *t, ax_arena *a, ax_type type, const ax_value *cell,
                        uint32_t stride, uint32_t n, ax_vec *out)
{
    uint32_t width = ax_phys_width((ax_phys) type.phys);
    const uint8_t **ptr = NULL;
    uint32_t *len = NULL;
    void *data = NULL;

    memset(out, 0, sizeof *out);
    out->type = type;
    out->n = n;
    AX_NEW(t, out->null, (uint8_t *) ax_arena_alloc0(a, n));
    if (ax_type_is_str(type))
    {
        AX_NEW(t, ptr, (const uint8_t **) ax_arena_alloc0(a, n * sizeof *ptr));
        AX_NEW(t, len, (uint32_t *) ax_arena_alloc0(a, n * sizeof *len));
        out->kind = AX_VK_VIEW;
        out->u.view.ptr = ptr;
        out->u.view.len = len;
    }
    else
    {
        AX_NEW(t, data, ax_arena_alloc0(a, (size_t) n * width));
        out->kind = AX_VK_FLAT;
        out->u.data = data;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        const ax_value *v = &cell[(size_t) i * stride];

        out->null[i] = v->null;
        if (ax_type_is_str(type))
        {
            ptr[i] = v->null ? (const uint8_t *) "" : v->u.s.p;
            len[i] = v->null ? 0 : v->u.s.len;
        }
        else if (!v->null)
            ax_value_store(v, data, i);
    }
    return AX_OK;
}

void ax_facts_nulls(ax_value *cell, const ax_fact_table *table)
{
    for (uint32_t i = 0; i < table->ncols; i++)
        cell[i] = (ax_value){.type = ax_type_make((ax_type_id) table->col[i].type), .null = true};
}

ax_status ax_facts_batch(ax_task *t, ax_arena *a, const ax_fact_table *table, const ax_value *cell,
                         uint32_t nrows, ax_batch *out)
{
    AX_CHECK(t, nrows <= AX_BATCH_ROWS, AX_EPLAN, "a batch of %u rows of facts", nrows);
    memset(out, 0, sizeof *out);
    out->nrows = out->nsel = nrows;
    out->ncols = table->ncols;
    out->arena = a;
    AX_NEW(t, out->col, (ax_vec *) ax_arena_alloc0(a, (table->ncols + 1) * sizeof *out->col));
    for (uint32_t i = 0; i < table->ncols; i++)
        AX_TRY(column(t, a, ax_type_make((ax_type_id) table->col[i].type), cell + i, table->ncols,
                      nrows, &out->col[i]));
    return AX_OK;
}
