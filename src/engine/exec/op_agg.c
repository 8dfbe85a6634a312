/* The aggregation breaker: groups rows by hash and keeps states in the groups' rows.
 *
 * put resolves each row of a batch to the row of its group (ht_lane.c), then runs one loop for each
 * step of state.  prepare decides between one part, when all lanes together hold few groups, and
 * one part for each run of partitions; a part builds its groups from the rows of all lanes
 * (ht_build.c) and yields them in batches. */
#include "exec/agg_int.h"

#include <string.h>

#define SET_PARTS 64u /* parts with sets of distinct values: the group bits of their hashes */
#define SMALL_GROUPS ((uint64_t) 64 << 10) /* built by one thread below a millisecond or two */

struct ax_part
{
    ax_agg *owner;
    uint32_t idx;
    ax_arena *mem;           /* owned: groups */
    ax_arena *out;           /* owned: the batch last yielded */
    ax_arena *tmp;           /* owned: work of one result */
    ax_ht_groups groups;
    ax_ht_block *at;         /* next to yield */
};

/* ---- create ---------------------------------------------------------------------------------- */

/* Sums of float4 are formed in float4 on the server, which no other order gives again. */
static uint8_t float_sum_op(const ax_agg_arg *g, bool strict)
{
    if (g->agg == AX_AGG_SUM && g->arg_type.id == AX_T_FLOAT4)
        return AX_STEP_SUMF4;
    if (strict)
        return g->agg == AX_AGG_SUM ? AX_STEP_SUMF8 : AX_STEP_AVGF;
    return g->agg == AX_AGG_SUM ? AX_STEP_FSUM : AX_STEP_FAVG;
}

static uint8_t sum_op(const ax_agg_arg *g, bool strict)
{
    switch (g->arg_type.id)
    {
        case AX_T_FLOAT4:
        case AX_T_FLOAT8: return float_sum_op(g, strict);
        case AX_T_NUMERIC: return AX_STEP_SUMNUM;
        case AX_T_INT8: return AX_STEP_SUM128;
        default: return AX_STEP_SUM64;
    }
}

static uint8_t extreme_op(const ax_agg_arg *g)
{
    bool max = g->agg == AX_AGG_MAX || g->agg == AX_AGG_BOOL_OR;

    switch (g->arg_type.phys)
    {
        case AX_P_STR: return max ? AX_STEP_MAXSTR : AX_STEP_MINSTR;
        case AX_P_NUM:
        case AX_P_INTERVAL:
        case AX_P_FIX16: return max ? AX_STEP_MAXVAL : AX_STEP_MINVAL;
        default: return max ? AX_STEP_MAX64 : AX_STEP_MIN64;
    }
}

static uint8_t pick_op(const ax_agg_arg *g, bool strict)
{
    bool f = g->arg_type.id == AX_T_FLOAT4 || g->arg_type.id == AX_T_FLOAT8;

    switch (g->agg)
    {
        case AX_AGG_COUNT_STAR: return AX_STEP_ROWS;
        case AX_AGG_COUNT:
        case AX_AGG_REGR_COUNT: return AX_STEP_COUNT; /* no overflow, so no sums */
        case AX_AGG_SUM:
        case AX_AGG_AVG: return sum_op(g, strict);
        case AX_AGG_VAR_POP:
        case AX_AGG_VAR_SAMP:
        case AX_AGG_STDDEV_POP:
        case AX_AGG_STDDEV_SAMP:
            return f ? AX_STEP_AVGF
                     : g->arg_type.id == AX_T_NUMERIC ? AX_STEP_VARNUM : AX_STEP_VARINT;
        case AX_AGG_MIN:
        case AX_AGG_MAX:
        case AX_AGG_ANY_VALUE: /* the least of them is one */
        case AX_AGG_BOOL_AND:  /* false is less than true */
        case AX_AGG_BOOL_OR: return extreme_op(g);
        case AX_AGG_BIT_AND: return AX_STEP_BITAND;
        case AX_AGG_BIT_OR: return AX_STEP_BITOR;
        case AX_AGG_BIT_XOR: return AX_STEP_BITXOR;
        default: return AX_STEP_REGR;
    }
}

/* Do repeated values change nothing? */
static bool ignores_repeats(uint8_t agg)
{
    return agg == AX_AGG_MIN || agg == AX_AGG_MAX || agg == AX_AGG_ANY_VALUE
        || agg == AX_AGG_BOOL_AND || agg == AX_AGG_BOOL_OR || agg == AX_AGG_BIT_AND
        || agg == AX_AGG_BIT_OR;
}

/* The more a state knows the sooner it is made, so that others share it. */
static uint32_t rank(uint8_t op)
{
    switch (op)
    {
        case AX_STEP_COUNT: return 2;
        case AX_STEP_VARINT:
        case AX_STEP_VARNUM:
        case AX_STEP_FAVG: return 0;
        default: return 1;
    }
}

/* Does the state of `have` tell what `want` asks? */
static bool serves(uint8_t have, uint8_t want)
{
    switch (want)
    {
        case AX_STEP_COUNT:
            return have == AX_STEP_SUM64 || have == AX_STEP_SUM128 || have == AX_STEP_SUMF8
                || have == AX_STEP_AVGF || have == AX_STEP_SUMNUM || have == AX_STEP_VARINT
                || have == AX_STEP_VARNUM || have == AX_STEP_REGR || have == AX_STEP_FSUM
                || have == AX_STEP_FAVG || have == want;
        case AX_STEP_SUM64:
        case AX_STEP_SUM128: return have == AX_STEP_VARINT || have == want;
        case AX_STEP_FSUM: return have == AX_STEP_FAVG || have == want;
        case AX_STEP_SUMNUM: return have == AX_STEP_VARNUM || have == want;
        default: return have == want;
    }
}

static uint16_t step_for(ax_agg *g, const ax_agg_arg *a, uint8_t op, int32_t set)
{
    ax_step *s;

    for (uint32_t i = 0; i < g->nsteps; i++)
    {
        s = &g->step[i];
        if (s->arg_col == a->arg_col && s->arg2_col == a->arg2_col
            && s->filter_col == a->filter_col && s->set == set && serves(s->op, op))
            return (uint16_t) i;
    }
    s = &g->step[g->nsteps];
    *s = (ax_step){.op = op, .arg_col = a->arg_col, .arg2_col = a->arg2_col,
                   .set = set, .filter_col = a->filter_col, .arg_type = a->arg_type,
                   .off = g->state_bytes, .pool = &g->pool};
    g->state_bytes += ax_step_bytes(op);
    return (uint16_t) g->nsteps++;
}

static ax_status plan_steps(ax_task *t, ax_agg *g, const ax_agg_spec *spec)
{
    AX_NEW(t, g->step, ax_arena_alloc0(g->arena, sizeof(*g->step) * (spec->nargs + 1)));
    AX_NEW(t, g->arg, ax_arena_alloc0(g->arena, sizeof(*g->arg) * (spec->nargs + 1)));
    AX_NEW(t, g->arg_step, ax_arena_alloc0(g->arena, sizeof(*g->arg_step) * (spec->nargs + 1)));
    if (spec->nargs > 0)
        memcpy(g->arg, spec->arg, sizeof(*g->arg) * spec->nargs);
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < spec->nargs; i++)
        {
            const ax_agg_arg *a = &spec->arg[i];
            uint8_t op = pick_op(a, spec->strict_float_sum);
            int32_t set = -1;

            AX_CHECK(t, ax_agg_result((ax_agg_id) a->agg, a->arg_type).id != AX_T_NONE,
                     AX_EUNSUPPORTED, "aggregate %s(%s) is not supported",
                     ax_agg_name((ax_agg_id) a->agg), ax_type_name(a->arg_type.id));
            if (rank(op) != pass)
                continue;
            if (a->distinct && !ignores_repeats(a->agg))
                AX_TRY(ax_agg_set_for(t, g, a, &set));
            g->arg_step[i] = step_for(g, a, op, set);
        }
    return AX_OK;
}

static const ax_breaker_ops agg_ops;

static ax_status agg_init(ax_task *t, ax_agg *g, const ax_agg_spec *spec, uint32_t nlanes)
{
    g->nkeys = spec->nkeys;
    g->nargs = spec->nargs;
    g->busy = spec->busy_lanes > 0 ? spec->busy_lanes : nlanes;
    g->top = spec->top;
    g->top_ties = spec->top_ties;
    pthread_mutex_init(&g->pool.lock, NULL);
    g->has_pool = true;
    AX_NEW(t, g->pool.arena, ax_arena_create(t->budget, 0));
    AX_TRY(plan_steps(t, g, spec));
    AX_NEW(t, g->rows_in, ax_arena_alloc0(g->arena, sizeof(*g->rows_in) * nlanes * 16));
    /* Pairs of sets take over the group's image, so nulls must be in it. */
    AX_TRY(ax_ht_layout_init(t, g->arena, &g->ht.lay, spec->key_type, spec->nkeys, g->state_bytes,
                             g->nsets == 0));
    for (uint32_t i = 0; i < g->nsteps; i++)
        g->step[i].off += g->ht.lay.state_off;
    AX_TRY(ax_ht_init(t, g->arena, &g->ht, nlanes, g->busy, spec->est_groups,
                      spec->group_limit));
    if (spec->nargs == 0 && g->ht.group_limit > 0)
        g->b.enough = &g->ht.full; /* keys alone: those chosen are the answer */
    ax_ht_share(&g->ht, spec->spill, 1 + g->nsets);
    if (g->nsets > 0)
    {
        AX_TRY(ax_agg_sets_init(t, g, spec));
        pthread_mutex_init(&g->lock, NULL);
        g->has_lock = true;
    }
    if (spec->nkeys > 0)
        return AX_OK;
    AX_NEW(t, g->one, ax_arena_alloc0(g->arena, sizeof(*g->one) * nlanes));
    for (uint32_t i = 0; i < nlanes; i++)
        AX_NEW(t, g->one[i], ax_arena_alloc0(g->arena, g->ht.lay.row_bytes + 128));
    return AX_OK;
}

ax_status ax_agg_create(ax_task *t, ax_arena *a, const ax_agg_spec *spec, uint32_t nlanes,
                        ax_breaker **out)
{
    ax_status s;
    ax_agg *g;

    AX_NEW(t, g, ax_arena_alloc0(a, sizeof(*g)));
    g->b.ops = &agg_ops;
    g->b.nlanes = nlanes;
    AX_NEW(t, g->arena, ax_arena_create(t->budget, 0));
    s = agg_init(t, g, spec, nlanes);
    if (s != AX_OK)
    {
        agg_ops.destroy(&g->b);
        return s;
    }
    *out = &g->b;
    return AX_OK;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* The selected values of column c, one after the other. */
ax_status ax_agg_load_column(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t c,
                             ax_vec *out)
{
    const ax_vec *v = &in->col[c];

    if (in->sel == NULL && (v->kind == AX_VK_FLAT || v->kind == AX_VK_VIEW))
    {
        *out = *v;
        return AX_OK;
    }
    return ax_vec_gather(t, scratch, v, in->sel, in->nsel, false, out);
}

/* Rows that do not count: argument null, or filter not true. */
ax_status ax_agg_load_skip(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t filter_col,
                           const uint8_t *arg_null, const uint8_t **skip)
{
    ax_vec f;
    uint8_t *o;
    const uint8_t *keep;

    *skip = arg_null;
    if (filter_col < 0)
        return AX_OK;
    AX_TRY(ax_agg_load_column(t, scratch, in, filter_col, &f));
    AX_NEW(t, o, ax_arena_values(scratch, in->nsel));
    keep = (const uint8_t *) f.u.data;
    for (uint32_t i = 0; i < in->nsel; i++)
        o[i] = !keep[i];
    if (f.null != NULL)
        for (uint32_t i = 0; i < in->nsel; i++)
            o[i] |= f.null[i];
    if (arg_null != NULL)
        for (uint32_t i = 0; i < in->nsel; i++)
            o[i] |= arg_null[i];
    *skip = o;
    return AX_OK;
}

/* A column that is only counted need not be decoded: its nulls suffice. */
static ax_status load_nulls(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t c,
                            ax_step_in *out)
{
    const ax_vec *v = &in->col[c];

    if (v->null == NULL && v->kind != AX_VK_RUN)
    {
        out->v = (ax_vec){.type = v->type, .n = in->nsel};
        return AX_OK;
    }
    return ax_agg_load_column(t, scratch, in, c, &out->v);
}

/* The second argument; rows where it is null do not count. */
static ax_status load_second(ax_task *t, ax_arena *scratch, const ax_batch *in, int32_t c,
                             ax_step_in *out)
{
    uint8_t *skip;

    AX_TRY(ax_agg_load_column(t, scratch, in, c, &out->v2));
    if (out->v2.null == NULL)
        return AX_OK;
    AX_NEW(t, skip, ax_arena_values(scratch, in->nsel));
    for (uint32_t i = 0; i < in->nsel; i++)
        skip[i] = out->v2.null[i] | (out->skip != NULL && out->skip[i]);
    out->skip = skip;
    return AX_OK;
}

static ax_status update_steps(ax_task *t, ax_agg *g, uint32_t lane, const ax_batch *in,
                              uint8_t *const *row, uint8_t *one)
{
    ax_ht_lane *l = g->ht.lane[lane];
    ax_step_in si = {.skip = NULL};
    int32_t loaded = -1;

    for (uint32_t i = 0; i < g->nsteps; i++)
    {
        const ax_step *s = &g->step[i];

        if (s->set >= 0)
            continue;
        if (s->op == AX_STEP_COUNT)
        {
            AX_TRY(load_nulls(t, l->scratch, in, s->arg_col, &si));
            loaded = -1;
        }
        else if (s->op == AX_STEP_ROWS)
        {
            si.v.null = NULL;
            loaded = -1;
        }
        else if (s->arg_col != loaded)
        {
            AX_TRY(ax_agg_load_column(t, l->scratch, in, s->arg_col, &si.v));
            loaded = s->arg_col;
        }
        AX_TRY(ax_agg_load_skip(t, l->scratch, in, s->filter_col, si.v.null, &si.skip));
        if (s->arg2_col >= 0)
            AX_TRY(load_second(t, l->scratch, in, s->arg2_col, &si));
        AX_TRY(ax_step_update(t, s, l->scratch, l->mem, row, one, in->nsel, &si));
    }
    return AX_OK;
}

/* Clustered data: whole batches of one group take the loops for one row. */
static bool all_same(uint8_t *const *row, uint32_t n)
{
    uintptr_t diff = 0;

    for (uint32_t i = 0; i < n && diff == 0; i += 64)
        for (uint32_t k = i; k < n && k < i + 64; k++)
            diff |= (uintptr_t) row[k] ^ (uintptr_t) row[0];
    return diff == 0;
}

/* Near the memory limit: staged rows go to the temporary file. */
static ax_status relieve(ax_task *t, ax_agg *g, uint32_t lane)
{
    bool due;

    AX_TRY(ax_ht_relieve(t, &g->ht, g->ht.lane[lane], &due));
    if (due)
    {
        AX_TRY(ax_agg_sets_let_go(t, g, lane));
        AX_TRY(ax_ht_spill(t, &g->ht, g->ht.lane[lane]));
    }
    return ax_agg_sets_relieve(t, g, lane);
}

static ax_status agg_put(ax_task *t, ax_breaker *b, uint32_t lane, ax_batch *in)
{
    ax_agg *g = (ax_agg *) b;
    ax_ht_lane *l = g->ht.lane[lane];
    const ax_vec **col;
    uint8_t **row;

    if (ax_task_stopped(t))
        return ax_fail(t, AX_ESTOPPED, "query stopped");
    if (in->nsel == 0)
        return AX_OK;
    g->rows_in[lane * 16] += in->nsel;
    ax_arena_reset(l->scratch);
    AX_TRY(relieve(t, g, lane));
    if (g->nkeys == 0)
    {
        AX_TRY(update_steps(t, g, lane, in, NULL, g->one[lane]));
        return ax_agg_sets_put(t, g, lane, in, NULL);
    }
    AX_NEW(t, col, ax_arena_alloc(l->scratch, sizeof(*col) * g->nkeys));
    for (uint32_t k = 0; k < g->nkeys; k++)
        col[k] = &in->col[k];
    AX_NEW(t, row, ax_arena_values(l->scratch, sizeof(*row) * in->nsel));
    AX_TRY(ax_ht_resolve(t, &g->ht, l, col, in->sel, in->nsel, row));
    AX_TRY(update_steps(t, g, lane, in, row, all_same(row, in->nsel) ? row[0] : NULL));
    return ax_agg_sets_put(t, g, lane, in, row);
}

static ax_status agg_put_end(ax_task *t, ax_breaker *b, uint32_t lane)
{
    ax_agg *g = (ax_agg *) b;

    ax_arena_reset(g->ht.lane[lane]->scratch);
    AX_TRY(ax_agg_sets_end(t, g, lane));
    return g->nkeys > 0 ? ax_ht_lane_end(t, &g->ht, g->ht.lane[lane]) : AX_OK;
}

/* ---- output ---------------------------------------------------------------------------------- */

static ax_status merge_rows(ax_task *t, void *arg, uint8_t *const *dst, uint8_t *const *src,
                            uint32_t n)
{
    const ax_agg *g = (const ax_agg *) arg;

    for (uint32_t i = 0; i < g->nsteps; i++)
        AX_TRY(ax_step_merge(t, &g->step[i], dst, src, n));
    return AX_OK;
}

/* Few groups with sets: build them now, number them, and let the parts share the pairs. */
static ax_status prepare_shared(ax_task *t, ax_agg *g)
{
    uint64_t n = 0;

    g->shared = true;
    if (ax_agg_sets_large(g))
        g->nparts = g->busy * 4 < SET_PARTS ? g->busy * 4 : SET_PARTS;
    if (g->nkeys == 0)
        return AX_OK;
    AX_TRY(ax_ht_build(t, &g->ht, g->arena, 0, g->part_span, true, merge_rows, g, &g->few));
    for (ax_ht_block *k = g->few.first; k != NULL; k = k->next)
        for (uint32_t i = 0; i < k->n; i++)
            *ax_agg_ordinal(g, k->row[i]) = n++;
    AX_NEW(t, g->acc, ax_arena_alloc0(g->arena, (n + 1) * g->ht.lay.row_bytes));
    return AX_OK;
}

static ax_status agg_prepare(ax_task *t, ax_breaker *b, uint32_t *nparts)
{
    ax_agg *g = (ax_agg *) b;
    uint64_t groups = 0;
    bool staged = false;

    g->part_span = 1u << g->ht.pbits;
    b->rows_in = 0;
    for (uint32_t i = 0; i < b->nlanes; i++)
    {
        b->rows_in += g->rows_in[i * 16];
        groups += g->ht.lane[i]->local.n + g->ht.lane[i]->staged;
        staged |= g->ht.lane[i]->part != NULL;
    }
    for (uint32_t i = 1; g->nkeys == 0 && i < b->nlanes; i++)
        AX_TRY(merge_rows(t, g, &g->one[0], &g->one[i], 1));
    AX_TRY(ax_ht_null_row(t, &g->ht, merge_rows, g, &g->null_row));
    if (groups > SMALL_GROUPS || staged)
        g->part_span = g->nsets > 0 ? g->part_span / SET_PARTS : 1;
    g->nparts = (1u << g->ht.pbits) / g->part_span;
    if (g->nsets > 0 && g->nparts == 1)
        AX_TRY(prepare_shared(t, g));
    AX_NEW(t, g->part, ax_arena_alloc0(g->arena, sizeof(struct ax_part *) * g->nparts));
    b->groups = g->nkeys == 0 ? 1 : groups;
    *nparts = g->nparts;
    return AX_OK;
}

static void part_free(ax_part *p)
{
    ax_arena_destroy(p->out);
    ax_arena_destroy(p->tmp);
    ax_arena_destroy(p->mem); /* holds the part itself */
}

static ax_status block_of_one(ax_task *t, ax_part *p, uint8_t *row)
{
    ax_ht_block *k;

    if (row == NULL)
        return AX_OK;
    AX_NEW(t, k, ax_arena_alloc(p->mem, sizeof(*k)));
    k->n = 1;
    k->row[0] = row;
    k->next = p->at;
    p->at = k;
    return AX_OK;
}

static ax_status merge_set_steps(ax_task *t, const ax_agg *g, uint8_t *dst, uint8_t *src)
{
    for (uint32_t i = 0; i < g->nsteps; i++)
        if (g->step[i].set >= 0)
            AX_TRY(ax_step_merge(t, &g->step[i], &dst, &src, 1));
    return AX_OK;
}

/* Add what this part counted; the last part moves the sums into the groups and yields them. */
static ax_status shared_add(ax_task *t, ax_agg *g, ax_part *p, uint8_t *mine)
{
    uint32_t bytes = g->ht.lay.row_bytes;
    uint64_t i = 0;

    if (g->nkeys == 0)
        AX_TRY(merge_set_steps(t, g, g->one[0], mine));
    else
        for (; i < g->few.n; i++)
            AX_TRY(merge_set_steps(t, g, g->acc + i * bytes, mine + i * bytes));
    if (++g->ended < g->nparts)
        return AX_OK;
    if (g->nkeys == 0)
        return block_of_one(t, p, g->one[0]);
    i = 0;
    for (ax_ht_block *k = g->few.first; k != NULL; k = k->next)
        for (uint32_t r = 0; r < k->n; r++, i++)
        {
            *ax_agg_ordinal(g, k->row[r]) = 0;
            AX_TRY(merge_set_steps(t, g, k->row[r], g->acc + i * bytes));
        }
    p->at = g->few.first;
    return AX_OK;
}

static ax_status shared_part(ax_task *t, ax_agg *g, ax_part *p)
{
    uint64_t n = g->nkeys == 0 ? 1 : g->few.n;
    uint8_t *mine;
    ax_status s;

    AX_NEW(t, mine, ax_arena_alloc0(p->mem, (n + 1) * g->ht.lay.row_bytes));
    if (n > 0)
        AX_TRY(ax_agg_sets_apply(t, g, p->idx, g->nparts, &g->few.dir, mine,
                                 g->nkeys == 0 ? mine : NULL));
    pthread_mutex_lock(&g->lock);
    s = shared_add(t, g, p, mine);
    pthread_mutex_unlock(&g->lock);
    return s;
}

static ax_status agg_part_begin(ax_task *t, ax_breaker *b, uint32_t part, ax_arena *a,
                                ax_part **out)
{
    ax_agg *g = (ax_agg *) b;
    ax_arena *mem;
    ax_part *p;

    (void) a; /* freed by its owner at a time of its choosing: the part has memory of its own */
    AX_NEW(t, mem, ax_arena_create(t->budget, 0));
    p = (ax_part *) ax_arena_alloc0(mem, sizeof(*p));
    if (p == NULL)
    {
        ax_arena_destroy(mem);
        return ax_fail_nomem(t, sizeof(*p));
    }
    p->owner = g;
    p->idx = part;
    p->mem = mem;
    g->part[part] = p;
    AX_NEW(t, p->out, ax_arena_create(t->budget, 0));
    AX_NEW(t, p->tmp, ax_arena_create(t->budget, 0));
    *out = p;
    if (g->shared)
        return shared_part(t, g, p);
    if (g->nkeys == 0)
        return block_of_one(t, p, g->one[0]);
    AX_TRY(ax_ht_build(t, &g->ht, mem, part * g->part_span, g->part_span, g->nsets > 0, merge_rows,
                       g, &p->groups));
    p->at = p->groups.first;
    if (g->nsets > 0 && p->groups.n > 0)
        AX_TRY(ax_agg_sets_apply(t, g, part, g->nparts, &p->groups.dir, NULL, NULL));
    return block_of_one(t, p, part == 0 ? g->null_row : NULL);
}

void ax_agg_tighten(ax_breaker *b, const ax_value *bound)
{
    ax_agg *g = (ax_agg *) b;

    if (g->top == NULL || bound->null)
        return;
    atomic_store_explicit(&g->bound, bound->u.i, memory_order_relaxed);
    atomic_store_explicit(&g->bounded, true, memory_order_release);
}

static ax_status output_column(ax_task *t, ax_part *p, const ax_ht_block *k, uint32_t c,
                               ax_vec *out)
{
    const ax_agg *g = p->owner;
    uint32_t i = c - g->nkeys;

    if (c < g->nkeys)
        return ax_ht_key_vec(t, p->out, &g->ht.lay, c, k->row, k->n, g->null_row, out);
    return ax_step_result(t, p->out, p->tmp, &g->step[g->arg_step[i]], &g->arg[i], k->row, k->n,
                          out);
}

static int64_t int_at(const ax_vec *v, uint32_t i)
{
    return v->type.phys == AX_P_I64   ? ((const int64_t *) v->u.data)[i]
           : v->type.phys == AX_P_I32 ? ((const int32_t *) v->u.data)[i]
                                      : ((const int16_t *) v->u.data)[i];
}

/* Drop groups behind the bound before their other columns are computed. */
static ax_status keep_top(ax_task *t, ax_part *p, ax_ht_block *k)
{
    ax_agg *g = p->owner;
    uint32_t n = 0;
    int64_t bound, x;
    ax_vec v;

    if (g->top == NULL || !atomic_load_explicit(&g->bounded, memory_order_acquire))
        return AX_OK;
    bound = atomic_load_explicit(&g->bound, memory_order_relaxed);
    AX_TRY(output_column(t, p, k, g->top->col, &v));
    for (uint32_t i = 0; i < k->n; i++)
    {
        x = int_at(&v, i);
        k->row[n] = k->row[i];
        n += (g->top->desc ? x > bound : x < bound) || (x == bound && g->top_ties)
          || (v.null != NULL && v.null[i]);
    }
    k->n = n;
    return AX_OK;
}

static ax_status agg_part_next(ax_task *t, ax_part *p, ax_batch **out)
{
    const ax_agg *g = p->owner;
    ax_ht_block *k;
    ax_batch *o;

    *out = NULL;
    for (k = p->at; k != NULL; k = k->next)
    {
        if (ax_task_stopped(t))
            return ax_fail(t, AX_ESTOPPED, "query stopped");
        ax_arena_reset(p->out);
        AX_TRY(keep_top(t, p, k));
        if (k->n > 0)
            break;
    }
    p->at = k != NULL ? k->next : NULL;
    if (k == NULL)
        return AX_OK;
    AX_NEW(t, o, ax_arena_alloc0(p->out, sizeof(*o)));
    o->arena = p->out;
    o->nrows = o->nsel = k->n;
    o->ncols = g->nkeys + g->nargs;
    AX_NEW(t, o->col, ax_arena_alloc0(p->out, sizeof(*o->col) * (o->ncols + 1)));
    for (uint32_t i = 0; i < o->ncols; i++)
        AX_TRY(output_column(t, p, k, i, &o->col[i]));
    *out = o;
    return AX_OK;
}

static void agg_part_end(ax_part *p)
{
    if (p == NULL)
        return;
    p->owner->part[p->idx] = NULL;
    part_free(p);
}

static void agg_destroy(ax_breaker *b)
{
    ax_agg *g = (ax_agg *) b;

    for (uint32_t i = 0; g->part != NULL && i < g->nparts; i++)
        if (g->part[i] != NULL)
            part_free(g->part[i]);
    g->part = NULL;
    ax_agg_sets_fini(g);
    ax_ht_fini(&g->ht);
    if (g->has_lock)
        pthread_mutex_destroy(&g->lock);
    g->has_lock = false;
    if (g->has_pool)
        pthread_mutex_destroy(&g->pool.lock);
    g->has_pool = false;
    ax_arena_destroy(g->pool.arena);
    g->pool.arena = NULL;
    ax_arena_destroy(g->arena);
    g->arena = NULL;
}

static const ax_breaker_ops agg_ops = {agg_put, agg_put_end, agg_prepare, agg_part_begin,
                                       agg_part_next, agg_part_end, agg_destroy};
