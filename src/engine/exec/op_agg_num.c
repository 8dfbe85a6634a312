/* Averages of integers as PostgreSQL's numeric division shows them. */
#include "exec/agg_int.h"

/* First base-10000 digit of v > 0 and its position. */
static void first_digit(ax_u128 v, int32_t *weight, uint32_t *digit)
{
    *weight = 0;
    while (v >= 10000)
    {
        v /= 10000;
        ++*weight;
    }
    *digit = (uint32_t) v;
}

/* The server's select_div_scale for two integers: 16 significant digits, in steps of the
 * base-10000 digits that it computes with. */
static uint32_t div_scale(ax_u128 a, ax_u128 b)
{
    int32_t wa, wb, scale;
    uint32_t da, db;

    first_digit(a, &wa, &da);
    first_digit(b, &wb, &db);
    scale = 16 - 4 * (wa - wb - (da <= db));
    return scale > 0 ? (uint32_t) scale : 0;
}

ax_num ax_num_avg(ax_i128 sum, uint64_t count)
{
    ax_u128 a = sum < 0 ? -(ax_u128) sum : (ax_u128) sum;
    uint32_t scale = div_scale(a, count), left = scale;
    ax_u128 v = a / count, rest = a % count;

    /* The remainder is below 2^64, so 19 digits at a time stay below 2^128. */
    while (left > 0)
    {
        uint32_t step = left < 19 ? left : 19;
        ax_u128 pow = 1;

        for (uint32_t i = 0; i < step; i++)
            pow *= 10;
        v = v * pow + rest * pow / count;
        rest = rest * pow % count;
        left -= step;
    }
    v += rest >= count - rest; /* half away from zero */
    return (ax_num){.v = sum < 0 ? -(ax_i128) v : (ax_i128) v, .dscale = (int16_t) scale};
}
