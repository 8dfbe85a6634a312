/* Cost of grouping: nanoseconds of thread CPU time a row, input and output apart.
 *
 *   ht_bench [rows in millions, default 16] [case]
 *
 * Keys are uniform over the groups.  Best of five rounds, with memory that an earlier one has touched,
 * as a backend's second query has it; "first": with memory new from the system.  The goal is what a bare hash table with this hash function
 * cost a row on the machine the engine was designed on, "bare" what such a table costs here and now. */
#include "bench.h"

#include "base/hash.h"
#include "exec/breaker.h"

enum { ROUNDS = 5 };

static uint64_t state = 88172645463325252ull;
static uint64_t rnd_64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

typedef struct input
{
    ax_budget budget;
    ax_task t;
    ax_arena *a;
    ax_batch batch;
    ax_vec col[3];
    uint64_t nbatches;
    int64_t *key;        /* [rows] */
    uint32_t *id;        /* DICT keys, or NULL */
    ax_type_id type;
} input;

/* Case: key type, groups, average run length. */
typedef struct bench
{
    const char *name;
    ax_type_id type;
    uint64_t groups;
    uint32_t run;
    uint8_t kind;        /* AX_VK_FLAT or AX_VK_DICT */
    const char *aggs;    /* c count(*), s sum(int4), d count(distinct int8) */
    uint32_t str_len;
    double design_ns;    /* 0: none */
} bench;

static const bench benches[] = {
    {"int8, 256 groups, count", AX_T_INT8, 256, 1, AX_VK_FLAT, "c", 0, 7.8},
    {"int8, 64 K groups, count", AX_T_INT8, 65536, 1, AX_VK_FLAT, "c", 0, 9.0},
    {"int8, 1 M groups, count", AX_T_INT8, 1000000, 1, AX_VK_FLAT, "c", 0, 16.2},
    {"int8, 8 M groups, count", AX_T_INT8, 8000000, 1, AX_VK_FLAT, "c", 0, 17.3},
    {"int8, 1 M groups in runs of 4, count", AX_T_INT8, 1000000, 4, AX_VK_FLAT, "c", 0, 0},
    {"int8, all different, count + sum", AX_T_INT8, 1ull << 60, 1, AX_VK_FLAT, "cs", 0, 0},
    {"int2, 200 groups, count + sum", AX_T_INT2, 200, 1, AX_VK_FLAT, "cs", 0, 0},
    {"int4, 5000 groups, count + sum", AX_T_INT4, 5000, 1, AX_VK_FLAT, "cs", 0, 0},
    {"text dictionary of 1000, count", AX_T_TEXT, 1000, 1, AX_VK_DICT, "c", 20, 0},
    {"text of 8 bytes, 1 M groups, count", AX_T_TEXT, 1000000, 1, AX_VK_FLAT, "c", 8, 0},
    {"text of 70 bytes, 300 K groups, count", AX_T_TEXT, 300000, 1, AX_VK_FLAT, "c", 70, 0},
    {"no key, count distinct of 1 M int8", AX_T_NONE, 1000000, 1, AX_VK_FLAT, "d", 0, 0},
    {"int4, 5000 groups, count distinct", AX_T_INT4, 5000, 1, AX_VK_FLAT, "d", 0, 0},
    {"no key, count + sum(int4)", AX_T_NONE, 1000000, 1, AX_VK_FLAT, "cs", 0, 0},
};

static void fill(const bench *b, input *in, uint64_t rows)
{
    int64_t last = 0;

    in->key = (int64_t *) malloc(rows * 8);
    for (uint64_t i = 0; i < rows; i++)
    {
        if (b->run == 1 || rnd_64() % b->run == 0)
            last = (int64_t) (rnd_64() % b->groups);
        in->key[i] = last;
    }
}

#define FIXED(T)                                                                                   \
    for (uint32_t i = 0; i < AX_BATCH_ROWS; i++)                                                   \
    ((T *) in->col[0].u.data)[i] = (T) key[i]

/* The next batch, written over the last one. */
static void next(const bench *b, input *in, uint64_t at)
{
    const int64_t *key = in->key + at;

    switch (b->type)
    {
        case AX_T_INT2: FIXED(int16_t); break;
        case AX_T_INT4: FIXED(int32_t); break;
        case AX_T_TEXT:
            if (b->kind == AX_VK_DICT)
                for (uint32_t i = 0; i < AX_BATCH_ROWS; i++)
                    ((uint32_t *) (uintptr_t) in->col[0].u.dict.id)[i] = (uint32_t) key[i];
            else
                for (uint32_t i = 0; i < AX_BATCH_ROWS; i++)
                {
                    uint8_t *p = (uint8_t *) (uintptr_t) in->col[0].u.str.base + i * b->str_len;

                    memcpy(p + b->str_len - 8, &key[i], 8);
                }
            break;
        case AX_T_INT8: in->col[0].u.data = (void *) (uintptr_t) key; break;
        default: break;
    }
    in->col[2].u.data = (void *) (uintptr_t) key;
}

static void make_batch(const bench *b, input *in)
{
    uint32_t *off = (uint32_t *) ax_arena_values(in->a, 8 * AX_BATCH_ROWS);
    uint32_t n = b->kind == AX_VK_DICT ? (uint32_t) b->groups : AX_BATCH_ROWS;
    ax_vec *k = &in->col[0];

    in->batch = (ax_batch){.nrows = AX_BATCH_ROWS, .nsel = AX_BATCH_ROWS, .ncols = 3,
                           .col = in->col, .arena = in->a};
    *k = (ax_vec){.kind = AX_VK_FLAT, .type = ax_type_make(b->type), .n = n};
    in->col[1] = (ax_vec){.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT4), .n = AX_BATCH_ROWS};
    in->col[2] = (ax_vec){.kind = AX_VK_FLAT, .type = ax_type_make(AX_T_INT8), .n = AX_BATCH_ROWS};
    in->col[1].u.data = ax_arena_values(in->a, 4 * AX_BATCH_ROWS);
    memset(in->col[1].u.data, 1, 4 * AX_BATCH_ROWS);
    if (b->type != AX_T_TEXT)
    {
        k->u.data = ax_arena_values(in->a, 8 * AX_BATCH_ROWS);
        return;
    }
    k->u.str.base = (const uint8_t *) ax_arena_values(in->a, (size_t) n * b->str_len);
    memset((void *) (uintptr_t) k->u.str.base, 'x', (size_t) n * b->str_len);
    k->u.str.off = off = (uint32_t *) ax_arena_values(in->a, 4 * (size_t) n);
    for (uint32_t i = 0; i < n; i++)
    {
        off[i] = i * b->str_len;
        if (b->kind == AX_VK_DICT)
            memcpy((uint8_t *) (uintptr_t) k->u.str.base + off[i], &i, 4);
    }
    k->u.str.len = off = (uint32_t *) ax_arena_values(in->a, 4 * (size_t) n);
    for (uint32_t i = 0; i < n; i++)
        off[i] = b->str_len;
    if (b->kind == AX_VK_DICT)
    {
        ax_dict *d = (ax_dict *) ax_arena_alloc0(in->a, sizeof(*d));

        d->n = n;
        d->uid = ax_dict_uid();
        d->val = *k;
        *k = (ax_vec){.kind = AX_VK_DICT, .type = ax_type_make(b->type), .n = AX_BATCH_ROWS};
        k->u.dict.dict = d;
        k->u.dict.id = (const uint32_t *) ax_arena_values(in->a, 4 * AX_BATCH_ROWS);
    }
}

static uint32_t make_spec(const bench *b, ax_type *key, ax_agg_arg *arg, ax_agg_spec *s)
{
    uint32_t n = 0;

    *key = ax_type_make(b->type);
    for (const char *c = b->aggs; *c; c++, n++)
    {
        arg[n] = (ax_agg_arg){.agg = *c == 'c' ? AX_AGG_COUNT_STAR : *c == 's' ? AX_AGG_SUM
                                                                             : AX_AGG_COUNT,
                              .distinct = *c == 'd', .arg_col = *c == 'c' ? -1 : *c == 's' ? 1 : 2,
                              .filter_col = -1};
        arg[n].arg_type = ax_type_make(*c == 'c' ? AX_T_NONE : *c == 's' ? AX_T_INT4 : AX_T_INT8);
        arg[n].type = ax_agg_result((ax_agg_id) arg[n].agg, arg[n].arg_type);
    }
    *s = (ax_agg_spec){.key_type = key, .nkeys = b->type != AX_T_NONE, .arg = arg, .nargs = n};
    return n;
}

/* A bare hash table of (key, count) cells, prefetched 16 rows ahead: what the memory system of the
 * moment gives. */
static double bare_ns(const input *in, uint64_t rows, uint64_t groups)
{
    uint64_t slots = 256, mask, *cell;
    ax_budget mine;
    double t0;

    while (slots < groups * 2 && slots < rows * 2)
        slots *= 2;
    mask = slots - 1;
    ax_budget_init(&mine, "bare", INT64_MAX, NULL);
    cell = (uint64_t *) ax_slab_alloc(&mine, slots * 16, true);
    memset(cell, 0, slots * 16); /* touched */
    t0 = now_ns();
    for (uint64_t i = 0; i < rows; i++)
    {
        uint64_t k = (uint64_t) in->key[i] + 1, s;

        if (slots > 32768 && i + 16 < rows)
        {
            s = ax_hash_u64((uint64_t) in->key[i + 16] + 1) >> 16 & mask;
            __builtin_prefetch(&cell[s * 2]);
        }
        for (s = ax_hash_u64(k) >> 16 & mask; cell[s * 2] != k && cell[s * 2] != 0;)
            s = (s + 1) & mask;
        cell[s * 2] = k;
        cell[s * 2 + 1]++;
    }
    t0 = now_ns() - t0;
    ax_slab_free(&mine, cell, slots * 16);
    return t0 / (double) rows;
}

/* One pass over the input: nanoseconds of taking rows in, and of giving groups out. */
static void group(const bench *b, input *in, ax_agg_spec *s, double *put_ns, double *out_ns,
                  uint64_t *groups)
{
    double t0, t1;
    uint32_t nparts;
    ax_breaker *br;
    ax_batch *o;
    ax_part *p;

    *groups = 0;
    must(ax_agg_create(&in->t, in->a, s, 1, &br));
    t0 = now_ns();
    for (uint64_t i = 0; i < in->nbatches; i++)
    {
        next(b, in, i * AX_BATCH_ROWS);
        must(br->ops->put(&in->t, br, 0, &in->batch));
    }
    must(br->ops->put_end(&in->t, br, 0));
    t1 = now_ns();
    must(br->ops->prepare(&in->t, br, &nparts));
    for (uint32_t i = 0; i < nparts; i++)
    {
        must(br->ops->part_begin(&in->t, br, i, in->a, &p));
        do
        {
            must(br->ops->part_next(&in->t, p, &o));
            *groups += o != NULL ? o->nsel : 0;
        } while (o != NULL);
        br->ops->part_end(p);
    }
    *put_ns = t1 - t0;
    *out_ns = now_ns() - t1;
    br->ops->destroy(br);
}

static void run_bench(const bench *b, uint64_t rows)
{
    input in = {.nbatches = rows / AX_BATCH_ROWS};
    double put = 1e18, out = 1e18, first = 0, bare = 0, p, o;
    ax_agg_arg arg[4];
    ax_agg_spec s;
    ax_type key;
    uint64_t groups;
    char what[200];

    ax_budget_init(&in.budget, "bench", INT64_MAX, NULL);
    must(ax_task_init(&in.t, &in.budget, NULL));
    in.a = ax_arena_create(&in.budget, 0);
    make_batch(b, &in);
    fill(b, &in, rows);
    make_spec(b, &key, arg, &s);
    ax_slab_trim(0);
    for (int r = 0; r < ROUNDS; r++)
    {
        group(b, &in, &s, &p, &o, &groups);
        first = r == 0 ? p + o : first;
        if (p + o < put + out)
        {
            put = p;
            out = o;
        }
    }
    if (b->type == AX_T_INT8 && b->aggs[1] == 0)
        bare = bare_ns(&in, rows, b->groups);
    snprintf(what, sizeof what, "%s: in %.1f, out %.1f, first %.1f; %llu groups, %lld MB", b->name,
             put / (double) rows, out / (double) rows, first / (double) rows,
             (unsigned long long) groups, (long long) in.budget.peak_bytes >> 20);
    table_row(what, (put + out) / (double) rows, "ns a row", "bare", bare, b->design_ns, true);
    free(in.key);
    ax_arena_destroy(in.a);
    ax_task_fini(&in.t);
}

int main(int argc, char **argv)
{
    uint64_t rows = (argc > 1 ? strtoull(argv[1], NULL, 10) : 16) << 20;

    ax_slab_cache_max((size_t) 2 << 30);
    table_head();
    for (uint32_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (argc <= 2 || strtoul(argv[2], NULL, 10) == i)
            run_bench(&benches[i], rows);
    return 0;
}
