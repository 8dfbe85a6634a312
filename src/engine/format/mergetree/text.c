/* Plain values as text: what PostgreSQL prints of the natural type, in JSON's form for dates and
 * times (ISO 8601, instants in UTC). */
#include "mergetree_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* An integer of w bytes, little-endian, in decimal with `scale` digits behind the point. */
static uint32_t integer(const uint8_t *p, uint32_t w, bool is_signed, int scale, char *out)
{
    char buf[90];
    uint32_t word[8], n = w < 4 ? 1 : w / 4, at = sizeof buf, digits = 0, i;
    bool neg = is_signed && (p[w - 1] & 0x80) != 0, any;

    memset(word, neg ? 0xff : 0, sizeof word);
    memcpy(word, p, w);
    for (i = 0; neg && i < n; i++)
        word[i] = ~word[i];
    for (i = 0; neg && i < n && ++word[i] == 0; i++)
        ;
    do
    {
        uint64_t rest = 0;

        any = false;
        for (i = n; i-- > 0;)
        {
            rest = rest << 32 | word[i];
            word[i] = (uint32_t) (rest / 10);
            rest %= 10;
            any |= word[i] != 0;
        }
        buf[--at] = (char) ('0' + rest);
        if (++digits == (uint32_t) scale)
            buf[--at] = '.';
    } while (any || digits <= (uint32_t) scale);
    if (neg)
        buf[--at] = '-';
    memcpy(out, buf + at, sizeof buf - at);
    return (uint32_t) sizeof buf - at;
}

/* Days since 1970-01-01. */
static uint32_t date(int64_t days, char *out)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;

    return (uint32_t) snprintf(out, 40, "%04lld-%02d-%02d",
                               (long long) (yoe + era * 400 + (m <= 2)), (int) m, (int) d);
}

/* "." and digits of ticks without zeros at the end, microseconds at most. */
static uint32_t fraction(int64_t ticks, int scale, char *out)
{
    char buf[8];
    int n = scale < 6 ? scale : 6;

    for (int i = scale; i > 6; i--)
        ticks /= 10;
    if (ticks == 0)
        return 0;
    buf[0] = '.';
    for (int i = n; i > 0; i--, ticks /= 10)
        buf[i] = (char) ('0' + ticks % 10);
    n++;
    while (buf[n - 1] == '0')
        n--;
    memcpy(out, buf, (size_t) n);
    return (uint32_t) n;
}

static int64_t pow10_of(int n)
{
    int64_t v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

static uint32_t stamp(int64_t v, int scale, char *out)
{
    int64_t unit = pow10_of(scale), sec = v / unit - (v % unit < 0), ticks = v - sec * unit;
    int64_t days = sec / 86400 - (sec % 86400 < 0), in_day = sec - days * 86400;
    uint32_t n = date(days, out);

    n += (uint32_t) snprintf(out + n, 16, "T%02d:%02d:%02d", (int) (in_day / 3600),
                             (int) (in_day / 60 % 60), (int) (in_day % 60));
    n += fraction(ticks, scale, out + n);
    memcpy(out + n, "+00:00", 6);
    return n + 6;
}

static uint32_t time_of(int64_t v, int scale, char *out)
{
    bool neg = v < 0;
    uint64_t unit = (uint64_t) pow10_of(scale), u = neg ? 0 - (uint64_t) v : (uint64_t) v;
    uint64_t sec = u / unit;
    uint32_t n = (uint32_t) snprintf(out, 40, "%s%02llu:%02d:%02d", neg ? "-" : "",
                                     (unsigned long long) (sec / 3600), (int) (sec / 60 % 60),
                                     (int) (sec % 60));

    return n + fraction((int64_t) (u % unit), scale, out + n);
}

static uint32_t floating(double v, bool is_float, char *out)
{
    int p = is_float ? 6 : 15, most = is_float ? 9 : 17;
    uint32_t n;

    if (isnan(v) || isinf(v))
        return (uint32_t) snprintf(out, 40, "%s", isnan(v) ? "NaN" : v > 0 ? "Infinity"
                                                                          : "-Infinity");
    do
        n = (uint32_t) snprintf(out, 40, "%.*g", p, v);
    while (p++ < most && (is_float ? strtof(out, NULL) != (float) v : strtod(out, NULL) != v));
    return n;
}

static uint32_t uuid(const uint8_t *p, char *out)
{
    uint64_t high = ax_load_u64(p), low = ax_load_u64(p + 8);

    return (uint32_t) snprintf(out, 40, "%08llx-%04llx-%04llx-%04llx-%012llx",
                               (unsigned long long) (high >> 32),
                               (unsigned long long) (high >> 16 & 0xffff),
                               (unsigned long long) (high & 0xffff),
                               (unsigned long long) (low >> 48),
                               (unsigned long long) (low & 0xffffffffffffull));
}

static uint32_t ipv4(uint32_t v, char *out)
{
    return (uint32_t) snprintf(out, 20, "%u.%u.%u.%u", v >> 24, v >> 16 & 255, v >> 8 & 255,
                               v & 255);
}

/* As RFC 5952 has it: the longest run of two or more zero groups is cut; addresses of version 4
 * that are mapped keep their own form. */
static uint32_t ipv6(const uint8_t *p, char *out)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    int best = -1, best_len = 1, i, k;
    uint32_t n = 0;

    if (memcmp(p, mapped, 12) == 0)
    {
        memcpy(out, "::ffff:", 7);
        return 7 + ipv4((uint32_t) p[12] << 24 | (uint32_t) p[13] << 16 | (uint32_t) p[14] << 8 |
                            p[15], out + 7);
    }
    for (i = 0; i < 8; i = k + 1)
    {
        for (k = i; k < 8 && p[2 * k] == 0 && p[2 * k + 1] == 0;)
            k++;
        if (k - i > best_len)
        {
            best = i;
            best_len = k - i;
        }
    }
    for (i = 0; i < 8; i++)
    {
        if (i == best)
        {
            n += (uint32_t) snprintf(out + n, 3, "::");
            i += best_len - 1;
            continue;
        }
        n += (uint32_t) snprintf(out + n, 8, "%s%x", n > 0 && out[n - 1] != ':' ? ":" : "",
                                 (unsigned) p[2 * i] << 8 | p[2 * i + 1]);
    }
    return n;
}

static int64_t signed_of(const uint8_t *p, uint32_t w)
{
    switch (w)
    {
        case 1: return (int8_t) p[0];
        case 2: return (int16_t) ax_load_u16(p);
        case 4: return (int32_t) ax_load_u32(p);
        default: return (int64_t) ax_load_u64(p);
    }
}

uint32_t ax_mt_text(const ax_mt_type *ty, const uint8_t *p, char *out)
{
    uint32_t bits;
    double d;
    float f;

    switch ((ax_mt_tid) ty->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_INTERVAL:
            return integer(p, ty->width, ty->id != MT_UINT, 0, out);
        case MT_DECIMAL:
            return integer(p, ty->width, true, ty->scale, out);
        case MT_BOOL:
            return (uint32_t) snprintf(out, 8, p[0] != 0 ? "true" : "false");
        case MT_FLOAT:
            if (ty->width == 8)
            {
                memcpy(&d, p, 8);
                return floating(d, false, out);
            }
            memcpy(&f, p, 4);
            return floating(f, true, out);
        case MT_BFLOAT16:
            bits = (uint32_t) ax_load_u16(p) << 16;
            memcpy(&f, &bits, 4);
            return floating(f, true, out);
        case MT_DATE:
            return date(ax_load_u16(p), out);
        case MT_DATE32:
            return date((int32_t) ax_load_u32(p), out);
        case MT_DATETIME:
            return stamp(ax_load_u32(p), 0, out);
        case MT_DATETIME64:
            return stamp((int64_t) ax_load_u64(p), ty->scale, out);
        case MT_TIME:
            return time_of(signed_of(p, 4), 0, out);
        case MT_TIME64:
            return time_of(signed_of(p, 8), ty->scale, out);
        case MT_UUID:
            return uuid(p, out);
        case MT_IPV4:
            return ipv4(ax_load_u32(p), out);
        case MT_IPV6:
            return ipv6(p, out);
        default:
            return 0;
    }
}
