/* Functions of integers and floats against a real server's answers. */
#include "func/golden_test.h"

#include "func/number.h"

#include <math.h>

static bool put_int(ax_status s, int64_t v, char *got, size_t size)
{
    if (!golden_failed(s, got, size))
        snprintf(got, size, "%lld", (long long) v);
    return true;
}

static bool put_f64(ax_status s, double v, char *got, size_t size)
{
    if (!golden_failed(s, got, size))
        golden_put_f64(v, got, size);
    return true;
}

static bool int_line(const golden_line *l, uint32_t bits, uint32_t op_len, char *got, size_t size)
{
    const char *op = l->f[0];
    int64_t a = golden_int(l->f[1]), b = golden_int(l->f[2]), r = 0;
    ax_status s = AX_OK;

    if (strncmp(op, "div", op_len) == 0)
        s = ax_int_div(a, b, bits, &r);
    else if (strncmp(op, "mod", op_len) == 0)
        s = ax_int_mod(a, b, &r);
    else if (strncmp(op, "abs", op_len) == 0)
        s = ax_int_abs(a, bits, &r);
    else if (strncmp(op, "shl", op_len) == 0)
        r = ax_int_shl(a, (int32_t) b, bits);
    else if (strncmp(op, "shr", op_len) == 0)
        r = ax_int_shr(a, (int32_t) b, bits);
    else
        return false;
    return put_int(s, r, got, size);
}

static bool float_line(const golden_line *l, char *got, size_t size)
{
    static const struct
    {
        const char *op;
        ax_status (*fn)(double, double *);
    } table[] = {{"sqrt", ax_f64_sqrt}, {"exp", ax_f64_exp}, {"ln", ax_f64_ln},
                 {"log10", ax_f64_log10}};
    const char *op = l->f[0];
    double a = golden_f64(l->f[1]), b = golden_f64(l->f[2]), r = 0;

    for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, op) == 0)
        {
            ax_status s = table[i].fn(a, &r);

            return put_f64(s, r, got, size);
        }
    if (strcmp(op, "sign") == 0)
        return put_f64(AX_OK, ax_f64_sign(a), got, size);
    if (strcmp(op, "fdiv") == 0)
    {
        ax_status s = ax_f64_div(a, b, &r);

        return put_f64(s, r, got, size);
    }
    if (strcmp(op, "power") == 0)
    {
        ax_status s = ax_f64_power(a, b, &r);

        return put_f64(s, r, got, size);
    }
    if (strcmp(op, "fdiv4") == 0)
    {
        float q = 0;

        if (!golden_failed(ax_f32_div(golden_f32(l->f[1]), golden_f32(l->f[2]), &q), got, size))
            golden_put_f32(q, got, size);
        return true;
    }
    return false;
}

static bool number_line(const golden_line *l, char *got, size_t size)
{
    size_t n = strlen(l->f[0]);
    const char *tail = n > 2 ? l->f[0] + n - 2 : "";
    uint32_t bits = (uint32_t) atoi(tail);

    if (bits == 16 || bits == 32 || bits == 64)
        return int_line(l, bits, (uint32_t) n - 2, got, size);
    return float_line(l, got, size);
}

/* Another C library may be off by a few units in the last place. */
static bool is_near(const golden_line *l, const char *got)
{
    static const char *const inexact[] = {"exp", "ln", "log10", "power"};

    for (uint32_t i = 0; i < sizeof(inexact) / sizeof(inexact[0]); i++)
        if (strcmp(l->f[0], inexact[i]) == 0 && got[0] != '!' && l->want[0] != '!')
        {
            double a = golden_f64(got), b = golden_f64(l->want);

            return fabs(a - b) <= 1e-15 * fabs(b);
        }
    return false;
}

static void same_as_the_server(void **state)
{
    (void) state;
    golden_replay("ints.tsv", number_line, is_near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_the_server)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
