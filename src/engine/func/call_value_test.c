/* Bound calls on numbers and dates: a server's answers through single values, and columns with
 * nulls and selections against single values. */
#include "func/golden_test.h"

#include "func/call_int.h"

static ax_budget budget;
static ax_task task;

static int set_up(void **state)
{
    (void) state;
    ax_budget_init(&budget, "query", INT64_MAX, NULL);
    return ax_task_init(&task, &budget, NULL);
}

static int tear_down(void **state)
{
    (void) state;
    ax_task_fini(&task);
    return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static ax_value of_int(ax_type_id id, int64_t v)
{
    return (ax_value){.type = ax_type_make(id), .u.i = v};
}

static ax_value of_text(const char *s)
{
    return (ax_value){.type = ax_type_make(AX_T_TEXT),
                      .u.s = {(const uint8_t *) s, (uint32_t) strlen(s)}};
}

static ax_value of_num(const char *s)
{
    ax_value v = {.type = ax_type_make(AX_T_NUMERIC)};

    assert_true(ax_num_parse(s, (uint32_t) strlen(s), &v.u.num));
    return v;
}

static ax_value of_float(const char *hex)
{
    return (ax_value){.type = ax_type_make(AX_T_FLOAT8), .u.f = golden_f64(hex)};
}

static ax_value of_float4(const char *hex)
{
    return (ax_value){.type = ax_type_make(AX_T_FLOAT4), .u.f = (double) golden_f32(hex)};
}

static ax_value of_interval(const char *s)
{
    ax_value v = {.type = ax_type_make(AX_T_INTERVAL)};
    char *end;

    v.u.iv.months = (int32_t) strtol(s, &end, 10);
    v.u.iv.days = (int32_t) strtol(end + 1, &end, 10);
    v.u.iv.usec = strtoll(end + 1, NULL, 10);
    return v;
}

static void show(const ax_value *v, char *got, size_t size)
{
    if (v->null)
        snprintf(got, size, "NULL");
    else if (v->type.id == AX_T_NUMERIC)
        ax_num_format(&v->u.num, got, (uint32_t) size);
    else if (v->type.id == AX_T_FLOAT8)
        golden_put_f64(v->u.f, got, size);
    else if (v->type.id == AX_T_FLOAT4)
        golden_put_f32((float) v->u.f, got, size);
    else if (v->type.id == AX_T_INTERVAL)
        snprintf(got, size, "%d/%d/%lld", v->u.iv.months, v->u.iv.days, (long long) v->u.iv.usec);
    else
        snprintf(got, size, "%lld", (long long) v->u.i);
}

/* fn(args) as the engine would; false: it has no such function. */
static bool apply(ax_fn fn, const ax_value *args, uint32_t n, char *got, size_t size)
{
    ax_type types[3];
    const ax_value *konst[3];
    ax_fn_shape shape;
    ax_call *call;
    ax_value out;
    bool raises;

    ax_arena_reset(task.arena);
    ax_error_clear(&task.err);
    for (uint32_t i = 0; i < n; i++)
    {
        types[i] = args[i].type;
        konst[i] = &args[i];
    }
    assert_null(ax_fn_resolve(fn, types, n, &shape));
    if (ax_call_bind(&task, task.arena, fn, types, konst, n, &call) != AX_OK)
        return false;
    assert_int_equal(ax_call_value(&task, task.arena, call, args, n, &out, &raises), AX_OK);
    if (raises)
    {
        assert_true(ax_fn_can_raise(fn, types, konst));
        snprintf(got, size, "!");
    }
    else
        show(&out, got, size);
    return true;
}

/* ---- the server's answers ------------------------------------------------------------------- */

typedef struct op_fn { const char *op; ax_fn fn; } op_fn;

static ax_fn find_fn(const op_fn *table, size_t n, const char *op, size_t op_len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(table[i].op) == op_len && strncmp(table[i].op, op, op_len) == 0)
            return table[i].fn;
    return AX_FN_NONE;
}
#define FIND(table, op, len) find_fn(table, sizeof(table) / sizeof(table[0]), op, len)

static bool numeric_line(const golden_line *l, char *got, size_t size)
{
    static const op_fn two[] = {{"add", AX_FN_ADD}, {"sub", AX_FN_SUB}, {"mul", AX_FN_MUL},
                                {"div", AX_FN_DIV}, {"mod", AX_FN_MOD}, {"idiv", AX_FN_DIV_TRUNC}};
    static const op_fn one[] = {{"neg", AX_FN_NEG}, {"abs", AX_FN_ABS}, {"sign", AX_FN_SIGN},
                                {"ceil", AX_FN_CEIL}, {"floor", AX_FN_FLOOR},
                                {"i2", AX_FN_TO_INT2}, {"i4", AX_FN_TO_INT4},
                                {"i8", AX_FN_TO_INT8}, {"f8", AX_FN_TO_FLOAT8},
                                {"f4", AX_FN_TO_FLOAT4}};
    const char *op = l->f[0];
    ax_value arg[2];
    ax_fn fn = FIND(two, op, strlen(op));

    if (fn != AX_FN_NONE)
    {
        arg[0] = of_num(l->f[1]);
        arg[1] = of_num(l->f[2]);
        return apply(fn, arg, 2, got, size);
    }
    fn = FIND(one, op, strlen(op));
    if (fn != AX_FN_NONE)
    {
        arg[0] = of_num(l->f[1]);
        return apply(fn, arg, 1, got, size);
    }
    if (strcmp(op, "round") == 0 || strcmp(op, "trunc") == 0)
    {
        arg[0] = of_num(l->f[1]);
        arg[1] = of_int(AX_T_INT4, atoi(l->f[2]));
        return apply(*op == 'r' ? AX_FN_ROUND_TO : AX_FN_TRUNC_TO, arg, 2, got, size);
    }
    if (strcmp(op, "coerce") == 0)
    {
        int32_t precision = atoi(l->f[2]), scale = atoi(strchr(l->f[2], ',') + 1);

        arg[0] = of_num(l->f[1]);
        arg[1] = of_int(AX_T_INT4, (precision << 16 | (scale & 0x7FF)) + 4);
        return apply(AX_FN_NUM_COERCE, arg, 2, got, size);
    }
    return false; /* of_f8 and of_f4 have no call of their own */
}

static bool number_line(const golden_line *l, char *got, size_t size)
{
    static const op_fn ints[] = {{"div", AX_FN_DIV}, {"mod", AX_FN_MOD}, {"and", AX_FN_BIT_AND},
                                 {"or", AX_FN_BIT_OR}, {"xor", AX_FN_BIT_XOR}, {"shl", AX_FN_SHL},
                                 {"shr", AX_FN_SHR}, {"abs", AX_FN_ABS}, {"not", AX_FN_BIT_NOT},
                                 {"neg", AX_FN_NEG}};
    static const op_fn floats[] = {{"sqrt", AX_FN_SQRT}, {"abs", AX_FN_ABS}, {"ceil", AX_FN_CEIL},
                                   {"floor", AX_FN_FLOOR}, {"round", AX_FN_ROUND},
                                   {"trunc", AX_FN_TRUNC}, {"sign", AX_FN_SIGN},
                                   {"exp", AX_FN_EXP}, {"ln", AX_FN_LN}, {"log10", AX_FN_LOG10},
                                   {"fdiv", AX_FN_DIV}, {"power", AX_FN_POWER}};
    const char *op = l->f[0];
    size_t n = strlen(op);
    int bits = atoi(op + n - 2);
    ax_value arg[2];
    ax_fn fn;

    if (bits == 16 || bits == 32 || bits == 64)
    {
        ax_type_id id = bits == 16 ? AX_T_INT2 : bits == 32 ? AX_T_INT4 : AX_T_INT8;

        fn = FIND(ints, op, n - 2);
        arg[0] = of_int(id, golden_int(l->f[1]));
        arg[1] = of_int(fn == AX_FN_SHL || fn == AX_FN_SHR ? AX_T_INT4 : id, golden_int(l->f[2]));
        return apply(fn, arg, ax_fn_get(fn)->nargs, got, size);
    }
    if (strcmp(op, "fdiv4") == 0)
    {
        arg[0] = of_float4(l->f[1]);
        arg[1] = of_float4(l->f[2]);
        return apply(AX_FN_DIV, arg, 2, got, size);
    }
    fn = FIND(floats, op, n);
    arg[0] = of_float(l->f[1]);
    arg[1] = of_float(l->f[2]);
    return apply(fn, arg, ax_fn_get(fn)->nargs, got, size);
}

static bool datetime_line(const golden_line *l, char *got, size_t size)
{
    static const op_fn units[] = {{"trunc", AX_FN_DATE_TRUNC}, {"unit", AX_FN_DATE_TRUNC},
                                  {"extract", AX_FN_EXTRACT}, {"part", AX_FN_DATE_PART},
                                  {"dextract", AX_FN_EXTRACT}};
    static const op_fn one[] = {{"ts2date", AX_FN_TO_DATE}, {"ts2time", AX_FN_TO_TIME},
                                {"date2ts", AX_FN_TO_TIMESTAMP}};
    static const op_fn interval[] = {{"date+iv", AX_FN_DATE_ADD_INTERVAL},
                                     {"date-iv", AX_FN_DATE_SUB_INTERVAL}, {"ts+iv", AX_FN_TS_ADD},
                                     {"ts-iv", AX_FN_TS_SUB}};
    const char *op = l->f[0];
    ax_type_id id = op[0] == 'd' ? AX_T_DATE : AX_T_TIMESTAMP;
    ax_value arg[3];
    ax_fn fn = FIND(units, op, strlen(op));

    if (fn != AX_FN_NONE)
    {
        arg[0] = of_text(l->f[1]);
        arg[1] = of_int(id, golden_int(l->f[2]));
        return apply(fn, arg, 2, got, size);
    }
    if ((fn = FIND(one, op, strlen(op))) != AX_FN_NONE)
    {
        arg[0] = of_int(id, golden_int(l->f[1]));
        return apply(fn, arg, 1, got, size);
    }
    if ((fn = FIND(interval, op, strlen(op))) != AX_FN_NONE)
    {
        arg[0] = of_int(id, golden_int(l->f[1]));
        arg[1] = of_interval(l->f[2]);
        return apply(fn, arg, 2, got, size);
    }
    if (strcmp(op, "bin") == 0)
    {
        arg[0] = of_interval(l->f[1]);
        arg[1] = of_int(AX_T_TIMESTAMP, golden_int(l->f[2]));
        arg[2] = of_int(AX_T_TIMESTAMP, golden_int(l->f[3]));
        return apply(AX_FN_DATE_BIN, arg, 3, got, size);
    }
    if (strcmp(op, "makedate") == 0)
    {
        arg[0] = of_int(AX_T_INT4, golden_int(l->f[1]));
        arg[1] = of_int(AX_T_INT4, atoi(l->f[2]));
        arg[2] = of_int(AX_T_INT4, atoi(strchr(l->f[2], '/') + 1));
        return apply(AX_FN_MAKE_DATE, arg, 3, got, size);
    }
    arg[0] = of_int(id, golden_int(l->f[1]));
    arg[1] = of_int(strcmp(op, "dateadd") == 0 ? AX_T_INT4 : id, golden_int(l->f[2]));
    if (strcmp(op, "dateadd") == 0)
        return apply(AX_FN_DATE_ADD, arg, 2, got, size);
    if (strcmp(op, "datediff") == 0)
        return apply(AX_FN_DATE_DIFF, arg, 2, got, size);
    return strcmp(op, "tsdiff") == 0 && apply(AX_FN_TS_DIFF, arg, 2, got, size);
}

/* Statuses are tested elsewhere, another C library may differ in the last digits, and what does not
 * fit 38 digits is no error of the server. */
static bool excused(const golden_line *l, const char *got)
{
    static const char *const inexact[] = {"exp", "ln", "log10", "power"};
    ax_num r;

    if (strcmp(got, "!") == 0)
        return l->want[0] == '!' || !ax_num_parse(l->want, (uint32_t) strlen(l->want), &r);
    for (uint32_t i = 0; i < sizeof(inexact) / sizeof(inexact[0]); i++)
        if (strcmp(l->f[0], inexact[i]) == 0 && l->want[0] != '!')
        {
            double a = golden_f64(got), b = golden_f64(l->want);

            return a - b <= 1e-15 * b || b - a <= 1e-15 * b;
        }
    return false;
}

static void calls_give_the_servers_answers(void **state)
{
    (void) state;
    golden_replay("numeric.tsv", numeric_line, excused);
    golden_replay("ints.tsv", number_line, excused);
    golden_replay("datetime.tsv", datetime_line, excused);
}

/* ---- columns -------------------------------------------------------------------------------- */

enum { N = 700 };

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Mostly harmless values, so that many rows are computed before one fails. */
static ax_value random_value(ax_type_id id)
{
    int64_t small = (int64_t) (rnd() % 20001) - 10000;
    ax_value v = of_int(id, rnd() % 8 == 0 && id >= AX_T_DATE ? small : small % 100 + 101);

    switch (id)
    {
        case AX_T_NUMERIC:
            v.u.num = (ax_num){.v = small, .dscale = (int16_t) (rnd() % 4)};
            break;
        case AX_T_FLOAT4:
        case AX_T_FLOAT8:
            v.u.f = (double) (small + 10001) / 16;
            break;
        case AX_T_INTERVAL:
            v.u.iv = (ax_interval){small * 1000000, (int32_t) (small % 40) + 41, 0};
            break;
        case AX_T_TIMESTAMP:
        case AX_T_TIMESTAMPTZ:
            v.u.i = rnd() % 40 ? (int64_t) (rnd() % 2000000000000000) - 1000000000000000
                               : rnd() % 2 ? AX_TS_NINF : AX_TS_PINF;
            break;
        case AX_T_DATE:
            v.u.i = rnd() % 40 ? small : rnd() % 2 ? AX_DATE_NINF : AX_DATE_PINF;
            break;
        default:
            break;
    }
    return v;
}

/* A column of n random values, or one value for all. */
static void random_column(ax_type_id id, bool konst, ax_vec *out)
{
    uint32_t n = konst ? 1 : N, width = ax_phys_width(ax_type_make(id).phys);

    *out = (ax_vec){.kind = konst ? AX_VK_CONST : AX_VK_FLAT, .type = ax_type_make(id), .n = N};
    out->u.data = ax_arena_values(task.arena, (size_t) width * n + 64);
    for (uint32_t i = 0; i < n; i++)
    {
        ax_value v = random_value(id);

        ax_value_store(&v, out->u.data, i);
    }
    if (konst || rnd() % 2)
        return;
    out->null = (uint8_t *) ax_arena_values(task.arena, N + 64);
    for (uint32_t i = 0; i < N; i++)
        out->null[i] = rnd() % 5 == 0;
}

static void check_rows(const ax_call *call, const ax_call_io *io, ax_status s, uint32_t nargs)
{
    ax_vec got = {.kind = AX_VK_FLAT, .type = call->result, .n = N, .u.data = io->data,
                  .null = io->has_null ? io->null : NULL};

    for (uint32_t k = 0; k < (io->sel ? io->nsel : N); k++)
    {
        uint32_t row = io->sel ? io->sel[k] : k;
        ax_value arg[3], want, have;
        char a[100], b[100];
        bool raises;

        for (uint32_t i = 0; i < nargs; i++)
            arg[i] = ax_vec_value(io->arg[i], row);
        assert_int_equal(ax_call_value(&task, task.arena, call, arg, nargs, &want, &raises), AX_OK);
        if (raises)
        {
            assert_int_not_equal(s, AX_OK);
            assert_int_equal(io->fail_row, row);
            assert_non_null(io->fail_msg);
            return;
        }
        if (s != AX_OK)
            continue; /* rows before the one that fails */
        have = ax_vec_value(&got, row);
        show(&want, a, sizeof(a));
        show(&have, b, sizeof(b));
        assert_string_equal(a, b);
    }
    assert_int_equal(s, AX_OK);
}

/* `type` is a type the function has in all arguments that are not units. */
static void check_columns(ax_fn fn, const uint8_t *ids, const char *unit, uint32_t shape)
{
    uint32_t nargs = ax_fn_get(fn)->nargs;
    ax_value konst_val[3];
    const ax_value *konst[3] = {NULL, NULL, NULL};
    uint16_t sel[N];
    ax_type types[3];
    ax_vec vec[3];
    ax_call_io io = {.n = N};
    ax_call *call;
    ax_status s;

    ax_arena_reset(task.arena);
    for (uint32_t i = 0; i < nargs; i++)
    {
        io.arg[i] = &vec[i];
        types[i] = ax_type_make((ax_type_id) ids[i]);
        if (ids[i] == AX_T_TEXT)
        {
            konst_val[i] = of_text(unit);
            konst[i] = &konst_val[i];
            assert_int_equal(ax_vec_const(&task, task.arena, &konst_val[i], N, &vec[i]), AX_OK);
            continue;
        }
        random_column((ax_type_id) ids[i], shape >> i & 1, &vec[i]);
        if (vec[i].kind == AX_VK_CONST)
        {
            konst_val[i] = ax_vec_value(&vec[i], 0);
            konst[i] = &konst_val[i];
        }
    }
    if (shape + 1 >= 1u << nargs) /* all constant: the evaluator makes one row of it */
        return;
    assert_int_equal(ax_call_bind(&task, task.arena, fn, types, konst, nargs, &call), AX_OK);
    io.data = ax_arena_values(task.arena, 32 * N + 64);
    io.null = (uint8_t *) ax_arena_values(task.arena, N + 64);
    if (rnd() % 2 && !ax_call_whole(call))
    {
        uint32_t keep = rnd() % 2 ? 10 : 2;

        io.sel = sel;
        for (uint32_t i = 0; i < N; i++)
            if (rnd() % keep != 0 ? keep > 2 : keep == 2)
                sel[io.nsel++] = (uint16_t) i;
    }
    s = ax_call_run(call, &io);
    check_rows(call, &io, s, nargs);
}

static void columns_equal_single_values(void **state)
{
    enum { I2 = AX_T_INT2, I4 = AX_T_INT4, I8 = AX_T_INT8, F4 = AX_T_FLOAT4, F8 = AX_T_FLOAT8,
           NU = AX_T_NUMERIC, TX = AX_T_TEXT, DA = AX_T_DATE, TS = AX_T_TIMESTAMP,
           TZ = AX_T_TIMESTAMPTZ, IV = AX_T_INTERVAL };
    static const struct { ax_fn fn; uint8_t arg[3]; } calls[] = {
        {AX_FN_ADD, {NU, NU}}, {AX_FN_SUB, {NU, NU}}, {AX_FN_MUL, {NU, NU}}, {AX_FN_DIV, {NU, NU}},
        {AX_FN_MOD, {NU, NU}}, {AX_FN_DIV_TRUNC, {NU, NU}}, {AX_FN_NEG, {NU}}, {AX_FN_ABS, {NU}},
        {AX_FN_SIGN, {NU}}, {AX_FN_CEIL, {NU}}, {AX_FN_FLOOR, {NU}}, {AX_FN_ROUND, {NU}},
        {AX_FN_TRUNC, {NU}}, {AX_FN_ROUND_TO, {NU, I4}}, {AX_FN_TRUNC_TO, {NU, I4}},
        {AX_FN_TO_INT2, {NU}}, {AX_FN_TO_INT4, {NU}}, {AX_FN_TO_INT8, {NU}},
        {AX_FN_TO_FLOAT4, {NU}}, {AX_FN_TO_FLOAT8, {NU}}, {AX_FN_SCALE, {NU}},
        {AX_FN_MIN_SCALE, {NU}}, {AX_FN_TRIM_SCALE, {NU}}, {AX_FN_GCD, {I4, I4}},
        {AX_FN_GCD, {I8, I8}}, {AX_FN_LCM, {I4, I4}}, {AX_FN_LCM, {I8, I8}}, {AX_FN_SIN, {F8}},
        {AX_FN_ASIN, {F8}}, {AX_FN_COSH, {F8}}, {AX_FN_ATAN2, {F8, F8}}, {AX_FN_CBRT, {F8}},
        {AX_FN_DEGREES, {F8}}, {AX_FN_RADIANS, {F8}}, {AX_FN_INTERVAL_ADD, {IV, IV}},
        {AX_FN_INTERVAL_SUB, {IV, IV}}, {AX_FN_INTERVAL_NEG, {IV}}, {AX_FN_INTERVAL_MUL, {IV, F8}},
        {AX_FN_INTERVAL_DIV, {IV, F8}}, {AX_FN_FROM_EPOCH, {F8}}, {AX_FN_MAKE_TIME, {I4, I4, F8}},
        {AX_FN_DIV, {I4, I4}}, {AX_FN_MOD, {I2, I2}},
        {AX_FN_DIV, {I8, I8}}, {AX_FN_DIV, {F4, F4}}, {AX_FN_DIV, {F8, F8}}, {AX_FN_ABS, {I2}},
        {AX_FN_ABS, {I4}}, {AX_FN_ABS, {I8}}, {AX_FN_ABS, {F4}}, {AX_FN_ABS, {F8}},
        {AX_FN_SIGN, {F8}}, {AX_FN_CEIL, {F8}}, {AX_FN_FLOOR, {F8}}, {AX_FN_ROUND, {F8}},
        {AX_FN_TRUNC, {F8}}, {AX_FN_SQRT, {F8}}, {AX_FN_EXP, {F8}}, {AX_FN_LN, {F8}},
        {AX_FN_LOG10, {F8}}, {AX_FN_POWER, {F8, F8}}, {AX_FN_BIT_AND, {I2, I2}},
        {AX_FN_BIT_OR, {I4, I4}}, {AX_FN_BIT_XOR, {I8, I8}}, {AX_FN_BIT_NOT, {I2}},
        {AX_FN_SHL, {I2, I4}}, {AX_FN_SHL, {I8, I4}}, {AX_FN_SHR, {I4, I4}},
        {AX_FN_DATE_ADD, {DA, I4}}, {AX_FN_DATE_SUB, {DA, I4}}, {AX_FN_DATE_DIFF, {DA, DA}},
        {AX_FN_DATE_ADD_INTERVAL, {DA, IV}}, {AX_FN_DATE_SUB_INTERVAL, {DA, IV}},
        {AX_FN_TS_ADD, {TS, IV}}, {AX_FN_TS_SUB, {TS, IV}}, {AX_FN_TS_DIFF, {TS, TS}},
        {AX_FN_TS_DIFF, {TZ, TZ}}, {AX_FN_MAKE_DATE, {I4, I4, I4}}, {AX_FN_ISFINITE, {DA}},
        {AX_FN_ISFINITE, {TS}}, {AX_FN_TO_DATE, {TS}}, {AX_FN_TO_TIME, {TS}},
        {AX_FN_TO_TIMESTAMP, {DA}}, {AX_FN_DATE_BIN, {IV, TS, TS}}, {AX_FN_EXTRACT, {TX, TS}},
        {AX_FN_EXTRACT, {TX, DA}}, {AX_FN_DATE_PART, {TX, TS}}, {AX_FN_DATE_TRUNC, {TX, TS}}};
    static const char *const units[] = {"day", "week", "month", "quarter", "year", "decade"};

    (void) state;
    for (uint32_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
        for (uint32_t shape = 0; shape < 4; shape++)
            for (uint32_t again = 0; again < 6; again++)
                if (calls[k].arg[0] != AX_T_TEXT || shape == 0)
                    check_columns(calls[k].fn, calls[k].arg, units[again], shape);
}

/* Declared precisions and known divisors make functions safe to run on any row. */
static void known_types_do_not_raise(void **state)
{
    ax_type money[2] = {ax_type_make(AX_T_NUMERIC), ax_type_make(AX_T_NUMERIC)};
    ax_type ints[2] = {ax_type_make(AX_T_INT4), ax_type_make(AX_T_INT4)};
    ax_value ten = of_int(AX_T_INT4, 10), none = of_int(AX_T_INT4, 0);
    ax_value minus = of_int(AX_T_INT4, -1);
    const ax_value *konst[3] = {NULL, &ten, NULL};

    (void) state;
    assert_true(ax_fn_can_raise(AX_FN_ADD, money, NULL));
    assert_true(ax_fn_can_raise(AX_FN_TO_FLOAT8, money, NULL));
    money[0].precision = money[1].precision = 15;
    money[0].scale = money[1].scale = 2;
    assert_false(ax_fn_can_raise(AX_FN_ADD, money, NULL));
    assert_false(ax_fn_can_raise(AX_FN_MUL, money, NULL));
    assert_true(ax_fn_can_raise(AX_FN_DIV, money, NULL));
    assert_false(ax_fn_can_raise(AX_FN_TO_FLOAT8, money, NULL));
    assert_false(ax_fn_can_raise(AX_FN_ROUND_TO, money, konst));
    assert_true(ax_fn_can_raise(AX_FN_DIV, ints, NULL));
    assert_false(ax_fn_can_raise(AX_FN_DIV, ints, konst));
    assert_false(ax_fn_can_raise(AX_FN_MOD, ints, konst));
    konst[1] = &none;
    assert_true(ax_fn_can_raise(AX_FN_MOD, ints, konst));
    konst[1] = &minus;
    assert_true(ax_fn_can_raise(AX_FN_DIV, ints, konst));
    assert_false(ax_fn_can_raise(AX_FN_TO_FLOAT8, ints, NULL));
}

/* What the server could answer with more than 38 digits is refused when the plan is made. */
static void results_beyond_are_refused(void **state)
{
    ax_type any[2] = {ax_type_make(AX_T_NUMERIC), ax_type_make(AX_T_NUMERIC)};
    ax_type money[2] = {ax_type_make(AX_T_NUMERIC), ax_type_make(AX_T_NUMERIC)};
    ax_type result = ax_type_make(AX_T_NUMERIC);
    ax_value tenth = {.type = any[0], .u.num = {.v = 11, .dscale = 1}};
    const ax_value *none[2] = {NULL, NULL};
    const ax_value *konst[2] = {NULL, &tenth};

    (void) state;
    money[0].precision = money[1].precision = 15;
    money[0].scale = money[1].scale = 2;
    assert_non_null(ax_fn_digits(AX_FN_ADD, any, none, &result));
    assert_non_null(ax_fn_digits(AX_FN_MUL, any, konst, &result));
    assert_non_null(ax_fn_digits(AX_FN_FLOAT_COERCE, any, none, &result));
    assert_null(ax_fn_digits(AX_FN_NEG, any, none, &result));
    assert_null(ax_fn_digits(AX_FN_MUL, money, none, &result));
    assert_int_equal(result.precision, 30);
    assert_int_equal(result.scale, 4);
    assert_null(ax_fn_digits(AX_FN_MUL, money, konst, &result));
    assert_int_equal(result.precision, 17);
    assert_int_equal(result.scale, 3);
    money[0] = result;
    money[0].precision = 30;
    assert_non_null(ax_fn_digits(AX_FN_MUL, money, none, &result));
}

static void units_of_zones_are_refused(void **state)
{
    ax_type stamp[2] = {ax_type_make(AX_T_TEXT), ax_type_make(AX_T_TIMESTAMP)};
    ax_type zoned[2] = {ax_type_make(AX_T_TEXT), ax_type_make(AX_T_TIMESTAMPTZ)};
    ax_type date[2] = {ax_type_make(AX_T_TEXT), ax_type_make(AX_T_DATE)};
    ax_value zone = of_text("timezone"), hour = of_text("hour"), epoch = of_text("epoch");
    const ax_value *konst[2] = {&zone, NULL};
    ax_call *call;

    (void) state;
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_EXTRACT, stamp, konst, 2, &call), 0);
    konst[0] = &hour;
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_EXTRACT, zoned, konst, 2, &call), 0);
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_EXTRACT, date, konst, 2, &call), 0);
    konst[0] = &epoch;
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_EXTRACT, zoned, konst, 2, &call), 0);
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_DATE_TRUNC, stamp, konst, 2, &call),
                         0);
}

/* With a zone as the last argument all units exist, but not for truncation. */
static void zones_are_arguments(void **state)
{
    ax_type type[3] = {ax_type_make(AX_T_TEXT), ax_type_make(AX_T_TIMESTAMPTZ),
                       ax_type_make(AX_T_BYTEA)};
    static const int64_t table[] = {0, INT64_MIN, -3600, 1000 * AX_USEC_SEC, 7200};
    ax_value args[3] = {of_text("timezone"), {.type = type[1]}, {.type = type[2]}}, r;
    const ax_value *konst[3] = {&args[0], NULL, &args[2]};
    bool raises;
    ax_call *call;

    (void) state;
    args[2].u.s.p = (const uint8_t *) table;
    args[2].u.s.len = sizeof(table);
    for (uint32_t i = 0; i < 2; i++)
    {
        args[1].u.i = (int64_t) i * 1000 * AX_USEC_SEC;
        assert_int_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_EXTRACT, type, konst, 3, &call),
                         0);
        assert_int_equal(ax_call_value(&task, task.arena, call, args, 3, &r, &raises), 0);
        assert_true(!raises && r.u.num.v == (i == 0 ? -3600 : 7200));
        assert_int_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_PART, type, konst, 3, &call), 0);
        assert_int_equal(ax_call_value(&task, task.arena, call, args, 3, &r, &raises), 0);
        assert_true(!raises && r.u.f == (i == 0 ? -3600 : 7200));
    }
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_TRUNC, type, konst, 3, &call), 0);
    args[0] = of_text("hour");
    assert_int_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_TRUNC, type, konst, 3, &call), 0);
    /* no zone, as while planning: bound, but it does not run */
    konst[2] = NULL;
    assert_int_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_TRUNC, type, konst, 3, &call), 0);
    assert_int_equal(ax_call_value(&task, task.arena, call, args, 3, &r, &raises), 0);
    assert_true(raises);
    /* bytes that are no zone */
    konst[2] = &args[2];
    args[2].u.s.len--;
    assert_int_not_equal(ax_call_bind(&task, task.arena, AX_FN_TZ_TRUNC, type, konst, 3, &call), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_give_the_servers_answers),
        cmocka_unit_test(columns_equal_single_values),
        cmocka_unit_test(known_types_do_not_raise),
        cmocka_unit_test(results_beyond_are_refused),
        cmocka_unit_test(units_of_zones_are_refused),
        cmocka_unit_test(zones_are_arguments),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
