/* ALP: floats as decimal integers.
 *
 *	 u8 mode (0), u8 integer encoding (0), u8 log2 of values a vector (3..15), i32 values
 *	 u32 offset[vectors], from the first of them on
 *	 vector: u8 e, u8 f, u16 exceptions, reference (i32 or i64), u8 width,
 *	         packed differences (least significant bits first, in whole bytes),
 *	         u16 position[exceptions], raw value[exceptions]
 *
 * value = (reference + difference, wrapping) * 10^f * 10^-e, multiplied twice in the type's own
 * precision; exceptions stand as they are.
 *
 * Format: apache/parquet-format, Encodings.md, "ALP (ALP = 10)". */
#include "parquet_int.h"

enum { HEADER = 7, MAX_E_FLOAT = 10, MAX_E_DOUBLE = 18 };

static const float up_f[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
static const float down_f[] = {1e0f,  1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f,
                               1e-6f, 1e-7f, 1e-8f, 1e-9f, 1e-10f};
static const double up_d[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                              1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
static const double down_d[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,
                                1e-7,  1e-8,  1e-9,  1e-10, 1e-11, 1e-12, 1e-13,
                                1e-14, 1e-15, 1e-16, 1e-17, 1e-18};

static ax_status corrupt(ax_task *t, const char *what)
{
    return ax_fail(t, AX_ECORRUPT, "page of ALP values: %s", what);
}

ax_status ax_pq_alp_open(ax_task *t, ax_pq_col *c)
{
    ax_pq_alp *a = &c->alp;
    uint64_t bytes = (uint64_t) (c->vend - c->v), vectors;

    memset(a, 0, sizeof *a);
    if (bytes == 0)
        return AX_OK; /* only nulls */
    if (bytes < HEADER)
        return corrupt(t, "no header");
    AX_CHECK(t, c->v[0] == 0 && c->v[1] == 0, AX_EUNSUPPORTED,
             "ALP mode %u with integer encoding %u is not supported", c->v[0], c->v[1]);
    a->log2 = c->v[2];
    a->n = ax_load_u32(c->v + 3);
    if (a->log2 < 3 || a->log2 > 15 || a->n > INT32_MAX)
        return corrupt(t, "header is out of range");
    vectors = ((uint64_t) a->n + (1u << a->log2) - 1) >> a->log2;
    if (vectors * 4 > bytes - HEADER)
        return corrupt(t, "offsets reach beyond it");
    a->vector = UINT32_MAX;
    return AX_OK;
}

/* Read the header of vector i. */
static ax_status open_vector(ax_task *t, ax_pq_col *c, uint32_t i)
{
    ax_pq_alp *a = &c->alp;
    const uint8_t *offsets = c->v + HEADER;
    uint32_t w = c->conv->src_width, at = ax_load_u32(offsets + 4 * (size_t) i);
    uint64_t left = (uint64_t) (c->vend - offsets), need;

    if (at > left || left - at < 5 + w)
        return corrupt(t, "vector begins beyond it");
    a->vector = i;
    a->len = a->n - (i << a->log2) < 1u << a->log2 ? a->n - (i << a->log2) : 1u << a->log2;
    a->e = offsets[at];
    a->f = offsets[at + 1];
    a->exceptions = ax_load_u16(offsets + at + 2);
    a->reference = w == 4 ? (uint64_t) (int64_t) (int32_t) ax_load_u32(offsets + at + 4)
                          : ax_load_u64(offsets + at + 4);
    a->width = offsets[at + 4 + w];
    a->packed = offsets + at + 5 + w;
    need = ((uint64_t) a->len * a->width + 7) / 8;
    if (a->e > (w == 4 ? MAX_E_FLOAT : MAX_E_DOUBLE) || a->f > a->e || a->width > 8 * w
        || a->exceptions > a->len)
        return corrupt(t, "header of a vector is out of range");
    if (need + a->exceptions * (uint64_t) (2 + w) > left - at - 5 - w)
        return corrupt(t, "vector reaches beyond it");
    a->positions = a->packed + need;
    return AX_OK;
}

/* Number i of those packed in w bits. */
static inline uint64_t packed(const uint8_t *p, uint64_t i, unsigned w)
{
    uint64_t bit = i * w, v;
    unsigned s = bit & 7;

    if (w == 0)
        return 0; /* what stands behind may be nothing */
    p += bit >> 3;
    v = ax_load_u64(p) >> s;
    if (s + w > 64)
        v |= (uint64_t) p[8] << (64 - s);
    return w == 64 ? v : v & ((1ull << w) - 1);
}

/* Values [from, from + n) of the open vector. */
static void decode(const ax_pq_alp *a, uint32_t src_width, uint32_t from, uint32_t n, uint8_t *out)
{
    const uint8_t *raw = a->positions + 2 * (size_t) a->exceptions;

    if (src_width == 4)
        for (uint32_t i = 0; i < n; i++)
        {
            uint32_t x = (uint32_t) a->reference + (uint32_t) packed(a->packed, from + i, a->width);
            float v = (float) (int32_t) x * up_f[a->f];

            ((float *) (void *) out)[i] = v * down_f[a->e];
        }
    else
        for (uint32_t i = 0; i < n; i++)
        {
            double v = (double) (int64_t) (a->reference + packed(a->packed, from + i, a->width));

            v *= up_d[a->f];
            ((double *) (void *) out)[i] = v * down_d[a->e];
        }
    for (uint32_t i = 0; i < a->exceptions; i++)
    {
        uint32_t at = ax_load_u16(a->positions + 2 * (size_t) i) - from;

        if (at < n)
            memcpy(out + (size_t) at * src_width, raw + (size_t) i * src_width, src_width);
    }
}

static ax_status check_positions(ax_task *t, const ax_pq_alp *a)
{
    for (uint32_t i = 0; i < a->exceptions; i++)
        if (ax_load_u16(a->positions + 2 * (size_t) i) >= a->len)
            return corrupt(t, "exception beyond its vector");
    return AX_OK;
}

ax_status ax_pq_alp_fixed(ax_task *t, ax_pq_col *c, uint32_t n, const uint8_t **out)
{
    ax_pq_alp *a = &c->alp;
    uint32_t done = 0, w = c->conv->src_width;

    *out = c->phys;
    AX_TRY(ax_pq_alp_skip(t, c, n));
    a->at -= n;
    while (done < n)
    {
        uint32_t i = a->at >> a->log2, from = a->at & ((1u << a->log2) - 1), k = n - done;

        if (i != a->vector)
        {
            AX_TRY(open_vector(t, c, i));
            AX_TRY(check_positions(t, a));
        }
        k = k < a->len - from ? k : a->len - from;
        decode(a, w, from, k, c->phys + (size_t) done * w);
        a->at += k;
        done += k;
    }
    return AX_OK;
}

ax_status ax_pq_alp_skip(ax_task *t, ax_pq_col *c, uint64_t n)
{
    AX_CHECK(t, n <= c->alp.n - c->alp.at, AX_ECORRUPT,
             "page has fewer values than its levels promise");
    c->alp.at += (uint32_t) n;
    return AX_OK;
}
