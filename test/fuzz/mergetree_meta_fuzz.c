/* Metadata of a part: the first byte chooses what the rest is. */
#include "format/mergetree/mergetree_int.h"

#include <stdlib.h>
#include <string.h>

static void marks(ax_task *t, ax_mt_part *p, const uint8_t *data, size_t size)
{
    static ax_mt_member bin = {"a.bin", "a.bin", 1 << 20};
    ax_mt_stream s[3] = {{.name = "a", .bin = &bin, .mark_idx = 0},
                         {.name = "b", .bin = &bin, .mark_idx = 1},
                         {.name = "c", .bin = &bin, .mark_idx = -1}};
    uint8_t kind;
    uint64_t off, end;

    if (size < 3)
        return;
    kind = data[0];
    p->compact = kind & 1;
    p->adaptive = p->compact || (kind & 2) != 0;
    p->marks_of_columns = kind & 4;
    p->marks_per_record = 2;
    p->rows = data[1] * 10;
    p->stream = s;
    p->nstreams = p->compact ? 3 : 1;
    s[0].ahead = kind & 8;
    s[0].prefix = kind & 16;
    if (ax_mt_granules(t, p, t->arena, data + 3, size - 3, data[2]) != AX_OK ||
        ax_mt_marks_load(t, p, t->arena, &s[0], data + 3, size - 3) != AX_OK)
        return;
    for (uint32_t g = 0; g < p->ngran; g++) {
        ax_mt_extent(p, &s[0], g, p->compact ? g + 1 : p->ngran, &off, &end);
        if (end > bin.size)
            abort();
    }
    if (!p->compact && p->ngran > 0 && ax_mt_prefix_end(p, &s[0]) > bin.size)
        abort();
}

static void keys(ax_task *t, ax_mt_part *p, const uint8_t *data, size_t size)
{
    static const char columns[] = "columns format version: 1\n4 columns:\n`id` UInt32\n"
                                  "`s` Nullable(String)\n`d` Date\n"
                                  "`a` Array(Tuple(UInt8, String))\n";
    const uint8_t *text = (const uint8_t *)columns;
    static const char key[] = "id, s, a DESC, toYYYYMM(d)";

    if (size < 1 || ax_mt_columns_parse(t, p, text, sizeof columns - 1) != AX_OK)
        return;
    p->ngran = data[0];
    (void)!ax_mt_keys_load(t, p, t->arena, key, sizeof key - 1, data + 1, size - 1, false);
    (void)!ax_mt_minmax_load(t, p, "minmax_s.idx", data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ax_budget budget;
    ax_task t;
    ax_mt_part p = {0};
    ax_mt_serinfo ser;
    ax_mt_sum *sum;
    uint32_t n;
    const ax_mt_type *type;
    int64_t rows;

    if (size < 1)
        return 0;
    ax_budget_init(&budget, "fuzz", 64 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        abort();
    p.base.arena = t.arena;
    pthread_mutex_init(&p.lock, NULL);
    uint8_t what = data[0] % 9;
    data++;
    size--;
    switch (what) {
    case 0:
        (void)!ax_mt_columns_parse(&t, &p, data, size);
        break;
    case 1: {
        static const char columns[] =
            "columns format version: 1\n2 columns:\n`a` UInt8\n`n.s` Array(String)\n";
        if (ax_mt_columns_parse(&t, &p, (const uint8_t *)columns, sizeof columns - 1) == AX_OK)
            (void)!ax_mt_substreams_parse(&t, &p, data, size);
        break;
    }
    case 2:
        (void)!ax_mt_count_parse(&t, data, size, &rows);
        break;
    case 3:
        (void)!ax_mt_serinfo_parse(&t, t.arena, data, size, &ser);
        break;
    case 4:
    case 5:
        (void)!ax_mt_checksums_parse(&t, t.arena, data, size, &sum, &n);
        break;
    case 6:
        (void)!ax_mt_type_parse(&t, t.arena, (const char *)data, size, &type);
        break;
    case 7:
        marks(&t, &p, data, size);
        break;
    default:
        keys(&t, &p, data, size);
    }
    pthread_mutex_destroy(&p.lock);
    ax_task_fini(&t);
    if (atomic_load(&budget.used_bytes) != 0)
        abort();
    return 0;
}
