/* The definition of a table, and the defaults of its columns: the input is SQL; all columns that it
 * defines are computed for a part that has none of them. */
#include "format/mergetree/mergetree_int.h"
#include "lake/lake_int.h"

#include <stdlib.h>
#include <string.h>

static void compute(ax_task *t, const ax_mt_part *p, const ax_mt_column *c, ax_budget *budget)
{
    ax_scan_stats stats = {0};
    ax_batch batch = {.arena = ax_arena_create(budget, 0)};
    ax_mt_env env = {.part = p, .budget = budget, .stats = &stats};
    ax_mt_win win = {.batch = &batch};
    ax_mt_src *src[1] = {NULL};
    ax_mt_vals v = {0};
    ax_mt_col col;
    ax_mt_conv conv;
    ax_type type = ax_mt_default_type(c->type);
    ax_dict *labels = NULL;
    uint32_t fail_row;
    ax_vec out;

    if (batch.arena != NULL && ax_mt_col_init(t, t->arena, &env, c, src, &col) == AX_OK) {
        if (ax_mt_col_read(t, &col, &win, 0, 7, &v) == AX_OK &&
            ax_mt_conv_make(t, t->arena, c->type, type, NULL, &conv) == AX_OK)
            (void)!ax_mt_conv_vec(t, &conv, c->node, &v, 7, &win, t->arena, &labels, &out,
                                  &fail_row);
        ax_mt_col_free(&col);
    }
    ax_error_clear(&t->err);
    ax_arena_destroy(batch.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "b", "c", "d", "n.x"};
    static const uint64_t row_at[] = {0, 7};
    ax_mt_part p = {.rows = 7, .ngran = 1, .row_at = row_at};
    ax_budget budget;
    ax_task t;

    ax_budget_init(&budget, "fuzz", 64 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        abort();
    p.base.arena = t.arena;
    if (ax_lake_mergetree_sql(&t, t.arena, NULL, (const char *)data, size, &p.options) == AX_OK)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const ax_mt_column *c;

            if (ax_mt_default_column(&t, t.arena, &p, names[i], NULL, &c) == AX_OK && c != NULL)
                compute(&t, &p, c, &budget);
            ax_error_clear(&t.err);
        }
    ax_task_fini(&t);
    if (atomic_load(&budget.used_bytes) != 0)
        abort();
    return 0;
}
