/* Arrays of several columns as one map, whose entries of equal keys are added up (AX_FOLD_MAP).
 *
 * Each column is made alone: the entries of all rows of a key are put in the order of the map's
 * keys, and those that stay are the same for all columns of the map. */
#include "exec/merge_int.h"

#include <stdlib.h>
#include <string.h>

/* An entry: element i of the arrays in a row, the no-th of all. */
typedef struct entry { ax_value key; ax_row at; uint32_t i, no; } entry;

static int by_key(const void *a, const void *b)
{
    const entry *x = (const entry *) a, *y = (const entry *) b;
    int c = ax_value_cmp(&x->key, &y->key);

    return c != 0 ? c : x->no < y->no ? -1 : x->no > y->no;
}

static const ax_vec *array_of(ax_row r, uint32_t col) { return &r.b->col[col]; }

static uint32_t length(ax_row r, uint32_t col)
{
    const uint32_t *off = array_of(r, col)->u.list.off;

    return off[r.row + 1] - off[r.row];
}

static ax_value element(ax_row r, uint32_t col, uint32_t i)
{
    const ax_vec *v = array_of(r, col);

    return ax_vec_value(v->u.list.child, v->u.list.off[r.row] + i);
}

static ax_status check_row(ax_task *t, ax_row r, const uint32_t *map, uint32_t nmap)
{
    for (uint32_t k = 0; k < nmap; k++)
    {
        const ax_vec *v = array_of(r, map[k]);

        AX_CHECK(t, v->kind == AX_VK_LIST && v->null == NULL, AX_EPLAN, "arrays of another kind");
        AX_CHECK(t, length(r, map[k]) == length(r, map[0]), AX_ECORRUPT,
                 "arrays of one nested table have different lengths");
    }
    return AX_OK;
}

/* The entries of the rows that become one, in order. */
static ax_status collect(ax_task *t, ax_arena *a, const uint32_t *map, uint32_t nmap,
                         const ax_acc *acc, entry **out, uint32_t *n)
{
    uint64_t total = 0;
    entry *e;

    for (uint32_t p = 0; p < acc->nparts; p++)
    {
        AX_TRY(check_row(t, acc->part[p], map, nmap));
        total += length(acc->part[p], map[0]);
    }
    AX_CHECK(t, total < INT32_MAX, AX_ELIMIT, "too many entries of one key");
    AX_NEW(t, e, (entry *) ax_arena_alloc(a, (total + 1) * sizeof *e));
    *n = 0;
    for (uint32_t p = 0; p < acc->nparts; p++)
        for (uint32_t i = 0; i < length(acc->part[p], map[0]); i++, (*n)++)
            e[*n] = (entry){element(acc->part[p], map[0], i), acc->part[p], i, *n};
    if (*n > 1)
        qsort(e, *n, sizeof *e, by_key);
    *out = e;
    return AX_OK;
}

/* Entries e[n] of one key of the map: the value of column c, and whether it stays. */
static ax_status add_up(ax_task *t, const ax_merge *m, uint32_t c, const uint32_t *map,
                        uint32_t nmap, const entry *e, uint32_t n, ax_value *out, bool *stays)
{
    *stays = false;
    *out = e[0].key;
    for (uint32_t k = 1; k < nmap; k++)
    {
        ax_value sum = element(e[0].at, map[k], e[0].i);

        for (uint32_t i = 1; i < n; i++)
        {
            ax_value v = element(e[i].at, map[k], e[i].i);

            AX_TRY(ax_fold_sum(t, m->fold[map[k]], &sum, &v));
        }
        *stays = *stays || !ax_fold_zero(&sum);
        if (map[k] == c)
            *out = sum;
    }
    return AX_OK;
}

ax_status ax_fold_map(ax_task *t, ax_arena *a, const ax_merge *m, uint32_t c, const ax_acc *acc,
                      uint32_t n, ax_vec *out)
{
    const ax_fold_col *f = m->fold[c];
    const uint32_t *map = m->map[c];
    ax_value *value = NULL;
    uint32_t *off, count = 0, cap = 0;
    ax_vec *child;

    AX_NEW(t, off, (uint32_t *) ax_arena_values(a, (n + 1ull) * sizeof *off));
    for (uint32_t r = 0; r < n; r++)
    {
        entry *e = NULL;
        uint32_t ne = 0, end;

        off[r] = count;
        AX_TRY(collect(t, a, map, f->nmap, &acc[r], &e, &ne));
        if (cap - count < ne)
        {
            ax_value *grown;

            AX_CHECK(t, cap < INT32_MAX / 2, AX_ELIMIT, "too many entries of maps");
            cap = (count + ne) * 2;
            AX_NEW(t, grown, (ax_value *) ax_arena_alloc(a, (size_t) cap * sizeof *grown));
            if (count > 0)
                memcpy(grown, value, count * sizeof *grown);
            value = grown;
        }
        for (uint32_t i = 0; i < ne; i = end)
        {
            bool stays;

            for (end = i + 1; end < ne && ax_value_cmp(&e[i].key, &e[end].key) == 0;)
                end++;
            AX_TRY(add_up(t, m, c, map, f->nmap, &e[i], end - i, &value[count], &stays));
            count += stays;
        }
    }
    off[n] = count;
    AX_NEW(t, child, (ax_vec *) ax_arena_alloc0(a, sizeof *child));
    AX_TRY(ax_vec_of_values(t, a, array_of(acc[0].part[0], c)->u.list.child->type, value, count,
                            child));
    *out = (ax_vec){.kind = AX_VK_LIST, .type = m->type[c], .n = n};
    out->u.list.off = off;
    out->u.list.child = child;
    return AX_OK;
}
