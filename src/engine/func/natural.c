/* Natural numbers of any length.  Division: Knuth, The Art of Computer Programming 2, 4.3.1,
 * algorithm D.  Square root: Newton's iteration from above. */
#include "func/natural_int.h"

#include <string.h>

static uint32_t *words(ax_arena *a, uint32_t n)
{
    return (uint32_t *) ax_arena_alloc0(a, sizeof(uint32_t) * ((size_t) n + 1));
}

static ax_nat trimmed(const uint32_t *w, uint32_t n)
{
    while (n > 0 && w[n - 1] == 0)
        n--;
    return (ax_nat){w, n};
}

bool ax_nat_make(ax_arena *a, const uint64_t *word, uint32_t n, ax_nat *out)
{
    uint32_t *w = words(a, 2 * n);

    if (w == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
    {
        w[2 * i] = (uint32_t) word[i];
        w[2 * i + 1] = (uint32_t) (word[i] >> 32);
    }
    *out = trimmed(w, 2 * n);
    return true;
}

int ax_nat_cmp(ax_nat x, ax_nat y)
{
    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    for (uint32_t i = x.n; i-- > 0;)
        if (x.w[i] != y.w[i])
            return x.w[i] < y.w[i] ? -1 : 1;
    return 0;
}

bool ax_nat_add(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out)
{
    uint32_t n = (x.n > y.n ? x.n : y.n) + 1;
    uint32_t *w = words(a, n);
    uint64_t carry = 0;

    if (w == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
    {
        carry += (uint64_t) (i < x.n ? x.w[i] : 0) + (i < y.n ? y.w[i] : 0);
        w[i] = (uint32_t) carry;
        carry >>= 32;
    }
    *out = trimmed(w, n);
    return true;
}

bool ax_nat_sub(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out)
{
    uint32_t *w = words(a, x.n);
    int64_t borrow = 0;

    if (w == NULL)
        return false;
    for (uint32_t i = 0; i < x.n; i++)
    {
        borrow += (int64_t) x.w[i] - (i < y.n ? (int64_t) y.w[i] : 0);
        w[i] = (uint32_t) borrow;
        borrow >>= 32;
    }
    *out = trimmed(w, x.n);
    return true;
}

bool ax_nat_mul(ax_arena *a, ax_nat x, ax_nat y, ax_nat *out)
{
    uint32_t *w = words(a, x.n + y.n);

    if (w == NULL)
        return false;
    for (uint32_t i = 0; i < x.n; i++)
    {
        uint64_t carry = 0;

        for (uint32_t k = 0; k < y.n; k++)
        {
            carry += (uint64_t) x.w[i] * y.w[k] + w[i + k];
            w[i + k] = (uint32_t) carry;
            carry >>= 32;
        }
        w[i + y.n] = (uint32_t) carry;
    }
    *out = trimmed(w, x.n + y.n);
    return true;
}

/* w[0..n) * m in place; returns the carry. */
static uint32_t scale_words(uint32_t *w, uint32_t n, uint32_t m)
{
    uint64_t carry = 0;

    for (uint32_t i = 0; i < n; i++)
    {
        carry += (uint64_t) w[i] * m;
        w[i] = (uint32_t) carry;
        carry >>= 32;
    }
    return (uint32_t) carry;
}

/* Divides w[0..n) in place; returns the remainder. */
static uint32_t divide_words(uint32_t *w, uint32_t n, uint32_t d)
{
    uint64_t rem = 0;

    for (uint32_t i = n; i-- > 0;)
    {
        rem = rem << 32 | w[i];
        w[i] = (uint32_t) (rem / d);
        rem %= d;
    }
    return (uint32_t) rem;
}

bool ax_nat_mul_pow10(ax_arena *a, ax_nat x, uint32_t exponent, ax_nat *out)
{
    static const uint32_t pow10[10] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
                                       100000000, 1000000000};
    uint32_t n = x.n;
    uint32_t *w;

    if (x.n == 0 || exponent == 0)
    {
        *out = x;
        return true;
    }
    w = words(a, x.n + exponent / 9 + 1); /* 10^9 < 2^32 */
    if (w == NULL)
        return false;
    memcpy(w, x.w, sizeof(*w) * x.n);
    while (exponent > 0)
    {
        uint32_t step = exponent < 9 ? exponent : 9;
        uint32_t carry = scale_words(w, n, pow10[step]);

        if (carry != 0)
            w[n++] = carry;
        exponent -= step;
    }
    *out = trimmed(w, n);
    return true;
}

/* x << shift into w[0..x.n + 1), shift < 32. */
static void shift_left(uint32_t *w, ax_nat x, uint32_t shift)
{
    uint32_t carry = 0;

    for (uint32_t i = 0; i < x.n; i++)
    {
        w[i] = x.w[i] << shift | carry;
        carry = shift > 0 ? x.w[i] >> (32 - shift) : 0;
    }
    w[x.n] = carry;
}

static void shift_right(uint32_t *w, uint32_t n, uint32_t shift)
{
    for (uint32_t i = 0; shift > 0 && i < n; i++)
        w[i] = w[i] >> shift | (i + 1 < n ? w[i + 1] << (32 - shift) : 0);
}

/* One digit of the quotient: u[0..n] -= q * v[0..n), u stays the remainder; v's top bit is set. */
static uint32_t quotient_digit(uint32_t *u, const uint32_t *v, uint32_t n)
{
    uint64_t top = (uint64_t) u[n] << 32 | u[n - 1];
    uint64_t q = top / v[n - 1], rest = top % v[n - 1], carry = 0;
    int64_t borrow = 0;

    while (q >> 32 != 0 || q * v[n - 2] > (rest << 32 | u[n - 2]))
    {
        q--;
        rest += v[n - 1];
        if (rest >> 32 != 0)
            break;
    }
    for (uint32_t i = 0; i < n; i++)
    {
        carry += q * v[i];
        borrow += (int64_t) u[i] - (int64_t) (uint32_t) carry;
        u[i] = (uint32_t) borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    borrow += (int64_t) u[n] - (int64_t) carry;
    u[n] = (uint32_t) borrow;
    if (borrow >= 0)
        return (uint32_t) q;
    carry = 0; /* one too many */
    for (uint32_t i = 0; i < n; i++)
    {
        carry += (uint64_t) u[i] + v[i];
        u[i] = (uint32_t) carry;
        carry >>= 32;
    }
    u[n] += (uint32_t) carry;
    return (uint32_t) q - 1;
}

bool ax_nat_div(ax_arena *a, ax_nat x, ax_nat y, ax_nat *quot, ax_nat *rem)
{
    uint32_t *q, *u, *v, shift;

    if (ax_nat_cmp(x, y) < 0)
    {
        *quot = (ax_nat){NULL, 0};
        if (rem != NULL)
            *rem = x;
        return true;
    }
    q = words(a, x.n);
    u = words(a, x.n + 1);
    v = words(a, y.n + 1);
    if (q == NULL || u == NULL || v == NULL)
        return false;
    if (y.n == 1)
    {
        memcpy(q, x.w, sizeof(*q) * x.n);
        u[0] = divide_words(q, x.n, y.w[0]);
        *quot = trimmed(q, x.n);
        if (rem != NULL)
            *rem = trimmed(u, 1);
        return true;
    }
    shift = (uint32_t) __builtin_clz(y.w[y.n - 1]);
    shift_left(u, x, shift);
    shift_left(v, y, shift);
    for (uint32_t i = x.n - y.n + 1; i-- > 0;)
        q[i] = quotient_digit(u + i, v, y.n);
    shift_right(u, x.n + 1, shift);
    *quot = trimmed(q, x.n);
    if (rem != NULL)
        *rem = trimmed(u, y.n);
    return true;
}

bool ax_nat_sqrt(ax_arena *a, ax_nat x, ax_nat *out)
{
    uint32_t bits = x.n == 0 ? 0 : 32 * x.n - (uint32_t) __builtin_clz(x.w[x.n - 1]);
    uint32_t half = (bits + 1) / 2; /* 2^half > sqrt(x) */
    uint32_t *first;
    ax_nat r, next;

    *out = x;
    if (x.n == 0)
        return true;
    first = words(a, half / 32 + 1);
    if (first == NULL)
        return false;
    first[half / 32] = (uint32_t) 1 << half % 32;
    r = trimmed(first, half / 32 + 1);
    for (;;)
    {
        uint32_t *w;

        if (!ax_nat_div(a, x, r, &next, NULL) || !ax_nat_add(a, next, r, &next))
            return false;
        w = words(a, next.n);
        if (w == NULL)
            return false;
        memcpy(w, next.w, sizeof(*w) * next.n);
        shift_right(w, next.n, 1);
        next = trimmed(w, next.n);
        if (ax_nat_cmp(next, r) >= 0)
            break;
        r = next;
    }
    *out = r;
    return true;
}

bool ax_nat_digits(ax_arena *a, ax_nat x, uint8_t **digit, uint32_t *n)
{
    uint32_t room = x.n * 10 + 9, at = room; /* 2^32 < 10^10 */
    uint8_t *d = (uint8_t *) ax_arena_alloc(a, room);
    uint32_t *w = words(a, x.n), left = x.n;

    if (d == NULL || w == NULL)
        return false;
    if (x.n > 0)
        memcpy(w, x.w, sizeof(*w) * x.n);
    while (left > 0)
    {
        uint32_t rest = divide_words(w, left, 1000000000);

        for (uint32_t i = 0; i < 9; i++, rest /= 10)
            d[--at] = (uint8_t) (rest % 10);
        while (left > 0 && w[left - 1] == 0)
            left--;
    }
    while (at < room && d[at] == 0)
        at++;
    *digit = d + at;
    *n = room - at;
    return true;
}

bool ax_nat_fits(ax_nat x, ax_u128 *out)
{
    ax_u128 v = 0;

    if (x.n > 4 || (x.n == 4 && x.w[3] >> 31 != 0))
        return false;
    for (uint32_t i = x.n; i-- > 0;)
        v = v << 32 | x.w[i];
    *out = v;
    return true;
}
