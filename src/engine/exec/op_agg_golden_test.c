/* Replays aggregates of a real server (tools/gen/golden.py): one lane takes all values in order,
 * then several lanes take a share each, so that partial states are merged. */
#include "func/golden_test.h"

#include <math.h>

#include "exec/breaker.h"

#define MOST 256u

static ax_type_id type_of(const char *name)
{
    static const ax_type_id ids[] = {AX_T_BOOL, AX_T_INT2, AX_T_INT4, AX_T_INT8, AX_T_NUMERIC,
                                     AX_T_FLOAT4, AX_T_FLOAT8};
    static const char *const names[] = {"bool", "int2", "int4", "int8", "numeric", "float4",
                                        "float8"};

    for (uint32_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return ids[i];
    fail_msg("unknown type %s", name);
    return AX_T_NONE;
}

static ax_agg_id agg_named(const char *name)
{
    for (uint32_t i = 1; i < AX_AGG_CNT; i++)
        if (strcmp(name, ax_agg_name((ax_agg_id) i)) == 0)
            return (ax_agg_id) i;
    fail_msg("unknown aggregate %s", name);
    return AX_AGG_NONE;
}

/* "1,NULL,2": the values, and how many. */
static uint32_t parse(const char *list, ax_type type, ax_value *out)
{
    uint32_t n = 0;

    while (*list != 0)
    {
        char text[128];
        size_t len = strcspn(list, ",");
        ax_value *v = &out[n++];

        assert_true(len < sizeof(text) && n <= MOST);
        memcpy(text, list, len);
        text[len] = 0;
        list += len + (list[len] == ',');
        *v = (ax_value){.type = type, .null = strcmp(text, "NULL") == 0};
        if (v->null)
            continue;
        if (type.id == AX_T_BOOL)
            v->u.i = text[0] == 't';
        else if (type.id == AX_T_NUMERIC)
            assert_true(ax_num_parse(text, (uint32_t) len, &v->u.num));
        else if (type.id == AX_T_FLOAT4)
            v->u.f = (double) strtof(text, NULL);
        else if (type.id == AX_T_FLOAT8)
            v->u.f = strtod(text, NULL);
        else
            v->u.i = golden_int(text);
    }
    return n;
}

/* ---- the breaker ----------------------------------------------------------------------------- */

typedef struct call
{
    ax_agg_arg arg;
    ax_value y[MOST], x[MOST];
    uint32_t n;
} call;

static ax_status column(ax_task *t, ax_type type, const ax_value *v, uint32_t n, ax_vec *out)
{
    *out = (ax_vec){.kind = AX_VK_FLAT, .type = type, .n = n};
    AX_NEW(t, out->u.data, ax_arena_values(t->arena, sizeof(ax_num) * n));
    AX_NEW(t, out->null, (uint8_t *) ax_arena_values(t->arena, n));
    memset(out->u.data, 0, sizeof(ax_num) * n);
    for (uint32_t i = 0; i < n; i++)
    {
        out->null[i] = v[i].null;
        if (!v[i].null)
            ax_value_store(&v[i], out->u.data, i);
    }
    return AX_OK;
}

static ax_status put_share(ax_task *t, ax_breaker *b, const call *c, uint32_t lane, uint32_t nlanes)
{
    uint32_t first = c->n * lane / nlanes, end = c->n * (lane + 1) / nlanes;
    ax_vec col[2];
    ax_batch in = {.nrows = end - first, .nsel = end - first, .ncols = 2, .col = col};

    AX_TRY(column(t, c->arg.arg_type, c->y + first, end - first, &col[0]));
    AX_TRY(column(t, c->arg.arg_type, c->x + first, end - first, &col[1]));
    AX_TRY(b->ops->put(t, b, lane, &in));
    return b->ops->put_end(t, b, lane);
}

/* The one row of the result, which lives as long as b. */
static ax_status run(ax_task *t, ax_breaker *b, const call *c, uint32_t nlanes, ax_part **part,
                     ax_value *out)
{
    ax_batch *o = NULL;
    uint32_t nparts = 0;

    for (uint32_t i = 0; i < nlanes; i++)
        AX_TRY(put_share(t, b, c, i, nlanes));
    AX_TRY(b->ops->prepare(t, b, &nparts));
    assert_int_equal(nparts, 1);
    AX_TRY(b->ops->part_begin(t, b, 0, t->arena, part));
    AX_TRY(b->ops->part_next(t, *part, &o));
    assert_int_equal(o->nsel, 1);
    *out = ax_vec_value(&o->col[0], 0);
    return AX_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void put_wide(const ax_num *d, char *got)
{
    const ax_num_wide *w = ax_num_wide_of(d);
    int32_t groups = (d->dscale + 3) / 4;
    char *p = got;

    if (w->neg)
        *p++ = '-';
    for (int32_t k = w->weight > 0 ? w->weight : 0; k >= -groups; k--)
    {
        int32_t at = w->weight - k;

        if (k == -1)
            *p++ = '.';
        p += sprintf(p, "%04u", at >= 0 && at < (int32_t) w->ndigits ? w->digit[at] : 0u);
    }
    p -= d->dscale % 4 ? 4 - d->dscale % 4 : 0;
    *p = 0;
    /* one digit before the point at least */
    p = got + w->neg;
    while (p[0] == '0' && p[1] != '.' && p[1] != 0)
        memmove(p, p + 1, strlen(p));
}

static void put_text(const ax_value *v, char *got, size_t size)
{
    if (v->null)
        snprintf(got, size, "NULL");
    else if (v->type.id == AX_T_NUMERIC && v->u.num.special == AX_NUM_WIDE)
        put_wide(&v->u.num, got);
    else if (v->type.id == AX_T_NUMERIC)
        assert_true(ax_num_format(&v->u.num, got, (uint32_t) size) > 0);
    else if (v->type.id == AX_T_BOOL)
        snprintf(got, size, v->u.i ? "true" : "false");
    else if (v->type.id == AX_T_FLOAT4)
        golden_put_f32((float) v->u.f, got, size);
    else if (v->type.id == AX_T_FLOAT8)
        golden_put_f64(v->u.f, got, size);
    else
        snprintf(got, size, "%lld", (long long) v->u.i);
}

static void answer(const call *c, uint32_t nlanes, char *got, size_t size)
{
    ax_agg_spec spec = {.arg = &c->arg, .nargs = 1, .strict_float_sum = true};
    ax_breaker *b = NULL;
    ax_part *part = NULL;
    ax_budget budget;
    ax_status s;
    ax_value v;
    ax_task t;

    ax_budget_init(&budget, "golden", INT64_MAX, NULL);
    assert_int_equal(ax_task_init(&t, &budget, NULL), AX_OK);
    assert_int_equal(ax_agg_create(&t, t.arena, &spec, nlanes, &b), AX_OK);
    s = run(&t, b, c, nlanes, &part, &v);
    if (!golden_failed(s, got, size))
        put_text(&v, got, size);
    b->ops->part_end(part);
    b->ops->destroy(b);
    ax_task_fini(&t);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool near(const char *a, const char *b, bool f4)
{
    double x = f4 ? (double) golden_f32(a) : golden_f64(a);
    double y = f4 ? (double) golden_f32(b) : golden_f64(b);

    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-5 * fabs(y);
}

static uint32_t lanes; /* of the replay that runs */

static bool line(const golden_line *l, char *got, size_t size)
{
    call c;
    ax_type type = ax_type_make(type_of(l->f[1]));
    bool two;

    memset(&c, 0, sizeof(c));
    c.arg = (ax_agg_arg){.agg = (uint8_t) agg_named(l->f[0]), .arg_col = 0, .arg2_col = -1,
                         .filter_col = -1, .arg_type = type};
    c.arg.type = ax_agg_result((ax_agg_id) c.arg.agg, type);
    two = ax_agg_nargs((ax_agg_id) c.arg.agg) == 2;
    if (two && lanes > 1)
        return false; /* of equal values, what is 0 in order may be nearly so: op_agg_test.c */
    c.arg.arg2_col = two ? 1 : -1;
    c.n = parse(l->f[2], type, c.y);
    if (two)
        assert_int_equal(parse(l->f[3], type, c.x), c.n);
    answer(&c, lanes, got, size);
    return true;
}

/* Floats depend on the order of additions, and so does where they overflow or cancel. */
static bool merged_floats(const golden_line *l, const char *got)
{
    bool f4 = strcmp(l->f[1], "float4") == 0 && strlen(l->want) == 8;

    if (strncmp(l->f[1], "float", 5) != 0)
        return false;
    if (strcmp(got, "NULL") == 0 || strcmp(l->want, "NULL") == 0)
        return false;
    if (strstr(l->f[2], "e+") != NULL) /* values beside which others vanish */
        return true;
    return got[0] != '!' && l->want[0] != '!' && near(got, l->want, f4);
}

static void in_order_as_the_server(void **state)
{
    (void) state;
    lanes = 1;
    golden_replay("aggregates.tsv", line, NULL);
}

static void merged_as_the_server(void **state)
{
    (void) state;
    for (lanes = 2; lanes < 8; lanes += 3)
        golden_replay("aggregates.tsv", line, merged_floats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_order_as_the_server),
                                       cmocka_unit_test(merged_as_the_server)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
