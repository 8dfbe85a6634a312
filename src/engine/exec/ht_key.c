/* Key images: packs the key columns of a batch into words that are equal when SQL says so, hashes
 * them, and makes columns of them again.
 *
 * Values that SQL calls equal but that print differently (numeric 1.0 and 1.00, -0, intervals)
 * get one image; what tells them apart is kept in bits that the mask hides from comparisons, so
 * that the group shows the value of its first row. */
#include "exec/ht_image.h"

#include "base/bytes.h"

#include <string.h>


/* ---- layout ---------------------------------------------------------------------------------- */

static uint32_t image_width(ax_phys p)
{
    switch (p)
    {
        case AX_P_NUM: return 24;      /* v without trailing zeros 16, scale 2, special 1, _ 1,
                                        * display scale 4 (masked) */
        case AX_P_INTERVAL: return 32; /* microseconds 16, the interval 16 (masked) */
        default: return ax_phys_width(p);
    }
}

static bool is_float(ax_phys p) { return p == AX_P_F32 || p == AX_P_F64; }

/* Offsets of the fixed-width keys, widest first; returns their bytes. */
static uint32_t place_fixed(ax_ht_layout *lay)
{
    static const uint8_t widths[] = {32, 24, 16, 8, 4, 2, 1};
    uint32_t off = 0;

    for (uint32_t w = 0; w < sizeof(widths); w++)
        for (uint32_t k = 0; k < lay->nkeys; k++)
        {
            ax_ht_key *key = &lay->key[k];

            if (key->type.phys != AX_P_STR && image_width(key->type.phys) == widths[w])
            {
                key->off = (uint16_t) off;
                off += widths[w];
            }
        }
    return off;
}

static void mask_bits(ax_ht_layout *lay, uint32_t byte, uint8_t bits)
{
    lay->mask[byte / 8] &= ~((uint64_t) bits << (byte % 8 * 8));
}

/* Null bits: in the length words of strings as far as they reach, then behind the fixed keys. */
static uint32_t place_nulls(ax_ht_layout *lay, uint32_t fixed_bytes, uint32_t nstr)
{
    uint32_t bit = fixed_bytes * 8, lent = 0;

    for (uint32_t k = 0; k < lay->nkeys; k++)
    {
        ax_ht_key *key = &lay->key[k];

        if (key->type.phys == AX_P_STR)
            continue;
        if (lay->has_null_row)
            key->null_bit = 0;
        else if (lent < nstr)
            lent++; /* placed with the strings */
        else
        {
            key->null_off = (uint16_t) (bit / 8);
            key->null_bit = (uint8_t) (1u << (bit % 8));
            bit++;
        }
        if (is_float(key->type.phys))
        {
            key->negz_off = (uint16_t) (bit / 8);
            key->negz_bit = (uint8_t) (1u << (bit % 8));
            bit++;
        }
    }
    return (bit + 63) / 64;
}

static void place_strings(ax_ht_layout *lay, uint32_t nstr)
{
    uint32_t w = lay->str_w, lent = 0;

    for (uint32_t k = 0; k < lay->nkeys; k++)
        if (lay->key[k].type.phys == AX_P_STR)
        {
            lay->key[k].off = (uint16_t) (w * 8);
            lay->key[k].null_off = (uint16_t) (w * 8 + 3);
            lay->key[k].null_bit = AX_HT_STR_NULL >> 24;
            w += 2;
        }
    for (uint32_t k = 0; k < lay->nkeys && lent < nstr; k++)
        if (lay->key[k].type.phys != AX_P_STR && lay->key[k].null_bit == 0)
        {
            lay->key[k].null_off = (uint16_t) ((lay->str_w + 2 * lent) * 8 + 3);
            lay->key[k].null_bit = AX_HT_STR_LENT >> 24;
            lent++;
        }
}

static void place_masks(ax_ht_layout *lay)
{
    for (uint32_t k = 0; k < lay->nkeys; k++)
    {
        const ax_ht_key *key = &lay->key[k];

        if (key->negz_bit)
            mask_bits(lay, key->negz_off, key->negz_bit);
        if (key->type.phys == AX_P_NUM)
            lay->mask[key->off / 8 + 2] = 0xffffffffu;
        if (key->type.phys == AX_P_INTERVAL)
            lay->mask[key->off / 8 + 2] = lay->mask[key->off / 8 + 3] = 0;
    }
}

uint8_t ax_ht_find_shape(const ax_ht_layout *lay)
{
    for (uint32_t w = 0; w < lay->str_w; w++)
        if (lay->mask[w] != ~(uint64_t) 0)
            return AX_HT_ANY;
    if (lay->str_w == lay->kw)
        return lay->kw >= 1 && lay->kw <= 4 ? (uint8_t) (AX_HT_W1 + lay->kw - 1) : AX_HT_ANY;
    if (lay->kw == 2)
        return AX_HT_S;
    return lay->kw == 3 && lay->str_w == 1 ? AX_HT_WS : AX_HT_ANY;
}

ax_status ax_ht_layout_init(ax_task *t, ax_arena *a, ax_ht_layout *lay, const ax_type *key,
                            uint32_t nkeys, uint32_t state_bytes, bool null_row)
{
    uint32_t nstr = 0, fixed_bytes;

    *lay = (ax_ht_layout){.nkeys = nkeys};
    AX_NEW(t, lay->key, ax_arena_alloc0(a, sizeof(*lay->key) * nkeys));
    for (uint32_t k = 0; k < nkeys; k++)
    {
        lay->key[k].type = key[k];
        nstr += key[k].phys == AX_P_STR;
        AX_CHECK(t, key[k].phys == AX_P_STR || image_width(key[k].phys) > 0, AX_EUNSUPPORTED,
                 "type %s cannot be grouped", ax_type_name(key[k].id));
    }
    fixed_bytes = place_fixed(lay);
    lay->has_null_row = null_row && nkeys == 1 && nstr == 0 && fixed_bytes % 8 == 0
                        && !is_float(key[0].phys);
    lay->str_w = place_nulls(lay, fixed_bytes, nstr);
    lay->kw = lay->str_w + 2 * nstr;
    AX_CHECK(t, lay->kw <= AX_HT_MAX_WORDS, AX_EUNSUPPORTED, "too many grouping columns");
    place_strings(lay, nstr);
    AX_NEW(t, lay->mask, ax_arena_alloc(a, sizeof(*lay->mask) * (lay->kw + 1)));
    memset(lay->mask, 0xff, sizeof(*lay->mask) * (lay->kw + 1));
    place_masks(lay);
    lay->shape = ax_ht_find_shape(lay);
    lay->gaps = fixed_bytes != lay->str_w * 8;
    lay->stored_hash = nstr > 0;
    lay->img_off = lay->stored_hash ? 8 : 0;
    lay->state_off = lay->img_off + lay->kw * 8;
    lay->row_bytes = lay->state_off + state_bytes;
    return AX_OK;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* One key column of the rows to fill: value i is data[at(i)]. */
typedef struct source
{
    ax_vec v;             /* FLAT, or VIEW for strings */
    const uint16_t *sel;  /* NULL: value i is row i */
    uint32_t n;
    uint32_t stride;      /* words of an image */
    bool trim;            /* trailing blanks do not count */
} source;

static inline uint32_t src_row(const source *s, uint32_t i) { return s->sel ? s->sel[i] : i; }

static ax_status source_open(ax_task *t, ax_arena *scratch, const ax_vec *v, const uint16_t *sel,
                             uint32_t n, source *s)
{
    s->n = n;
    if (v->kind == AX_VK_FLAT || v->kind == AX_VK_VIEW)
    {
        s->v = *v;
        s->sel = sel;
        return AX_OK;
    }
    s->sel = NULL;
    return ax_vec_gather(t, scratch, v, sel, n, false, &s->v);
}

#define FILL(T)                                                                                    \
    do                                                                                             \
    {                                                                                              \
        const T *d_ = (const T *) s->v.u.data;                                                     \
        uint8_t *o_ = (uint8_t *) img + off;                                                       \
        if (s->sel)                                                                                \
            for (uint32_t i = 0; i < s->n; i++, o_ += s->stride * 8)                               \
                memcpy(o_, &d_[s->sel[i]], sizeof(T));                                             \
        else                                                                                       \
            for (uint32_t i = 0; i < s->n; i++, o_ += s->stride * 8)                               \
                memcpy(o_, &d_[i], sizeof(T));                                                     \
    } while (0)

static void fill_f64(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint8_t *o = (uint8_t *) img;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride * 8)
    {
        double d = ((const double *) s->v.u.data)[src_row(s, i)];

        if (d != d)
            d = __builtin_nan("");
        if (d == 0)
        {
            if (__builtin_signbit(d))
                o[key->negz_off] |= key->negz_bit;
            d = 0;
        }
        memcpy(o + key->off, &d, 8);
    }
}

static void fill_f32(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint8_t *o = (uint8_t *) img;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride * 8)
    {
        float d = ((const float *) s->v.u.data)[src_row(s, i)];

        if (d != d)
            d = __builtin_nanf("");
        if (d == 0)
        {
            if (__builtin_signbit(d))
                o[key->negz_off] |= key->negz_bit;
            d = 0;
        }
        memcpy(o + key->off, &d, 4);
    }
}

static void fill_num(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint64_t *o = img + key->off / 8;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride)
    {
        const ax_num *d = &((const ax_num *) s->v.u.data)[src_row(s, i)];
        ax_i128 v = d->special ? 0 : d->v;
        uint32_t scale = d->special || v == 0 ? 0 : (uint32_t) d->dscale;

        while (scale > 0 && v % 10 == 0)
        {
            v /= 10;
            scale--;
        }
        o[0] = (uint64_t) v;
        o[1] = (uint64_t) (v >> 64);
        o[2] = scale | (uint64_t) d->special << 16 | (uint64_t) (uint16_t) d->dscale << 32;
    }
}

static void fill_interval(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint64_t *o = img + key->off / 8;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride)
    {
        const ax_interval *d = &((const ax_interval *) s->v.u.data)[src_row(s, i)];
        ax_i128 us = ((ax_i128) d->months * 30 + d->days) * 86400000000LL + d->usec;

        o[0] = (uint64_t) us;
        o[1] = (uint64_t) (us >> 64);
        memcpy(o + 2, d, 16);
    }
}

/* Bytes behind a string may be read up to AX_PAD, so that short ones need no loop. */
static inline void pack_str(uint64_t *o, const uint8_t *p, uint32_t len)
{
    uint32_t head;

    if (len > AX_HT_INLINE_MAX)
    {
        o[0] = len | (uint64_t) ax_load_u32(p) << 32;
        o[1] = (uint64_t) (uintptr_t) p;
        return;
    }
    if (len == 0) /* p may be NULL */
    {
        o[0] = o[1] = 0;
        return;
    }
    head = ax_load_u32(p);
    if (len <= 4)
    {
        o[0] = len | (uint64_t) (head & (0xffffffffu >> (32 - 8 * len))) << 32;
        o[1] = 0;
        return;
    }
    o[0] = len | (uint64_t) head << 32;
    o[1] = ax_load_u64(p + 4) & (~(uint64_t) 0 >> (96 - 8 * len));
}

static ax_status fill_str(ax_task *t, const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint64_t *o = img + key->off / 8;
    uint32_t longest = 0;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride)
    {
        uint32_t row = src_row(s, i), len;
        const uint8_t *p;

        if (s->v.null != NULL && s->v.null[row])
            continue;
        p = ax_vec_str(&s->v, row, &len);
        if (s->trim)
            len = ax_bpchar_len(p, len);
        longest = len > longest ? len : longest;
        pack_str(o, p, len);
    }
    AX_CHECK(t, longest <= AX_HT_LEN_MASK, AX_ELIMIT, "string too long to be grouped");
    return AX_OK;
}

static ax_status fill_key(ax_task *t, const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint32_t off = key->off;

    switch (key->type.phys)
    {
        case AX_P_U8:
        case AX_P_I8: FILL(uint8_t); break;
        case AX_P_I16:
        case AX_P_U16: FILL(uint16_t); break;
        case AX_P_I32:
        case AX_P_U32: FILL(uint32_t); break;
        case AX_P_I64:
        case AX_P_U64: FILL(uint64_t); break;
        case AX_P_F32: fill_f32(s, key, img); break;
        case AX_P_F64: fill_f64(s, key, img); break;
        case AX_P_NUM: fill_num(s, key, img); break;
        case AX_P_INTERVAL: fill_interval(s, key, img); break;
        case AX_P_STR: return fill_str(t, s, key, img);
        default:
            if (ax_phys_width(key->type.phys) == 16)
                FILL(ax_u128);
            else
            {
                typedef struct w32 { uint64_t w[4]; } w32;
                FILL(w32);
            }
            break;
    }
    return AX_OK;
}

/* Under nulls: zeros and the null bit. */
static void fill_nulls(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint32_t width = key->type.phys == AX_P_STR ? 16 : image_width(key->type.phys);
    uint8_t *o = (uint8_t *) img;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride * 8)
        if (s->v.null[src_row(s, i)])
        {
            memset(o + key->off, 0, width);
            if (key->negz_bit)
                o[key->negz_off] &= (uint8_t) ~key->negz_bit;
        }
}

static void fill_null_bits(const source *s, const ax_ht_key *key, uint64_t *img)
{
    uint8_t *o = (uint8_t *) img + key->null_off;

    for (uint32_t i = 0; i < s->n; i++, o += s->stride * 8)
        if (s->v.null[src_row(s, i)])
            *o |= key->null_bit;
}

static ax_status null_rows(ax_task *t, ax_arena *scratch, const source *s, const uint8_t **null)
{
    uint8_t *out, any = 0;

    AX_NEW(t, out, ax_arena_values(scratch, s->n));
    for (uint32_t i = 0; i < s->n; i++)
        any |= out[i] = s->v.null[src_row(s, i)];
    *null = any ? out : NULL;
    return AX_OK;
}

/* ---- hashes ---------------------------------------------------------------------------------- */

uint64_t ax_ht_image_hash(const ax_ht_layout *lay, const uint64_t *img)
{
    uint64_t h;
    uint32_t w = 0;

    if (lay->str_w == 0)
    {
        h = lay->kw > 0 ? ax_ht_str_hash(img) : 0;
        w = 2;
    }
    else
    {
        h = ax_hash_u64(img[0] & lay->mask[0]);
        for (w = 1; w < lay->str_w; w++)
            h = ax_hash_combine(h, img[w] & lay->mask[w]);
    }
    for (; w < lay->kw; w += 2)
        h = ax_hash_combine(h, ax_ht_str_hash(img + w));
    return h;
}

#define HASH_IMAGES(name, shape)                                                                   \
    static void hash_##name(const ax_ht_layout *lay, const uint64_t *img, uint32_t n,              \
                            uint64_t *hash)                                                        \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++, img += ax_ht_shape_words(lay, shape))                     \
            hash[i] = ax_ht_shape_hash(lay, shape, img);                                           \
    }
AX_HT_EACH_SHAPE(HASH_IMAGES)

static void hash_images(const ax_ht_layout *lay, const uint64_t *img, uint32_t n, uint64_t *hash)
{
    switch (lay->shape)
    {
        case AX_HT_W1: hash_w1(lay, img, n, hash); break;
        case AX_HT_W2: hash_w2(lay, img, n, hash); break;
        case AX_HT_W3: hash_w3(lay, img, n, hash); break;
        case AX_HT_W4: hash_w4(lay, img, n, hash); break;
        case AX_HT_S: hash_s(lay, img, n, hash); break;
        case AX_HT_WS: hash_ws(lay, img, n, hash); break;
        default: hash_any(lay, img, n, hash); break;
    }
}

bool ax_ht_image_eq(const ax_ht_layout *lay, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t w = 0; w < lay->str_w; w++)
        if ((a[w] ^ b[w]) & lay->mask[w])
            return false;
    for (uint32_t w = lay->str_w; w < lay->kw; w += 2)
    {
        uint64_t len = a[w] & AX_HT_LEN_MASK;

        if (a[w] != b[w])
            return false;
        if (a[w + 1] != b[w + 1]
            && (len <= AX_HT_INLINE_MAX
                || memcmp((const uint8_t *) (uintptr_t) a[w + 1] + 4,
                          (const uint8_t *) (uintptr_t) b[w + 1] + 4, len - 4) != 0))
            return false;
    }
    return true;
}

ax_status ax_ht_images(ax_task *t, const ax_ht_layout *lay, ax_arena *scratch,
                       const ax_vec *const *col, const uint16_t *sel, uint32_t n, uint64_t *img,
                       uint64_t *hash, const uint8_t **null)
{
    *null = NULL;
    if (lay->gaps)
        memset(img, 0, (size_t) n * lay->kw * 8);
    /* Strings first: they overwrite the words in which other keys set null bits. */
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < lay->nkeys; k++)
        {
            const ax_ht_key *key = &lay->key[k];
            source s = {.stride = lay->kw};

            if ((key->type.phys == AX_P_STR) != (pass == 0))
                continue;
            AX_TRY(source_open(t, scratch, col[k], sel, n, &s));
            s.trim = key->type.id == AX_T_BPCHAR && key->type.precision == 0;
            AX_TRY(fill_key(t, &s, key, img));
            if (s.v.null == NULL)
                continue;
            fill_nulls(&s, key, img);
            if (key->null_bit)
                fill_null_bits(&s, key, img);
            else
                AX_TRY(null_rows(t, scratch, &s, null));
        }
    hash_images(lay, img, n, hash);
    return AX_OK;
}

/* ---- columns of groups ----------------------------------------------------------------------- */

static ax_status key_nulls(ax_task *t, ax_arena *a, const ax_ht_layout *lay, const ax_ht_key *key,
                           uint8_t *const *row, uint32_t n, const uint8_t *null_row, ax_vec *out)
{
    uint8_t any = 0;

    if (!key->null_bit && null_row == NULL)
        return AX_OK;
    AX_NEW(t, out->null, ax_arena_values(a, n));
    for (uint32_t i = 0; i < n; i++)
    {
        out->null[i] = key->null_bit
            ? (row[i][lay->img_off + key->null_off] & key->null_bit) != 0
            : row[i] == null_row;
        any |= out->null[i];
    }
    if (!any)
        out->null = NULL;
    return AX_OK;
}

static ax_status key_strings(ax_task *t, ax_arena *a, uint32_t off, uint8_t *const *row, uint32_t n,
                             ax_vec *out)
{
    const uint8_t **ptr;
    uint32_t *len;

    AX_NEW(t, ptr, ax_arena_values(a, sizeof(*ptr) * n));
    AX_NEW(t, len, ax_arena_values(a, sizeof(*len) * n));
    for (uint32_t i = 0; i < n; i++)
    {
        const uint8_t *w = row[i] + off;

        len[i] = ax_load_u32(w) & AX_HT_LEN_MASK;
        ptr[i] = len[i] <= AX_HT_INLINE_MAX ? w + 4
                                            : (const uint8_t *) (uintptr_t) ax_load_u64(w + 8);
    }
    out->kind = AX_VK_VIEW;
    out->u.view.ptr = ptr;
    out->u.view.len = len;
    return AX_OK;
}

static void key_num(const uint8_t *w, ax_num *out)
{
    uint64_t meta = ax_load_u64(w + 16);
    uint32_t scale = (uint16_t) meta;

    *out = (ax_num){.dscale = (int16_t) (meta >> 32), .special = (uint8_t) (meta >> 16)};
    memcpy(&out->v, w, 16);
    for (; scale < (uint32_t) out->dscale && out->v != 0; scale++)
        out->v *= 10;
}

/* Copy n values of width bytes. */
static void key_fixed(uint8_t *o, uint32_t off, uint32_t width, uint8_t *const *row, uint32_t n)
{
    switch (width)
    {
        case 8:
            for (uint32_t i = 0; i < n; i++)
                memcpy(o + (size_t) i * 8, row[i] + off, 8);
            break;
        case 4:
            for (uint32_t i = 0; i < n; i++)
                memcpy(o + (size_t) i * 4, row[i] + off, 4);
            break;
        default:
            for (uint32_t i = 0; i < n; i++)
                memcpy(o + (size_t) i * width, row[i] + off, width);
            break;
    }
}

ax_status ax_ht_key_vec(ax_task *t, ax_arena *a, const ax_ht_layout *lay, uint32_t k,
                        uint8_t *const *row, uint32_t n, const uint8_t *null_row, ax_vec *out)
{
    const ax_ht_key *key = &lay->key[k];
    uint32_t width = ax_phys_width(key->type.phys), off = lay->img_off + key->off;
    uint8_t *o;

    *out = (ax_vec){.kind = AX_VK_FLAT, .type = key->type, .n = n};
    AX_TRY(key_nulls(t, a, lay, key, row, n, null_row, out));
    if (key->type.phys == AX_P_STR)
        return key_strings(t, a, off, row, n, out);
    AX_NEW(t, o, ax_arena_values(a, (size_t) width * n));
    out->u.data = o;
    if (key->type.phys == AX_P_NUM)
        for (uint32_t i = 0; i < n; i++)
            key_num(row[i] + off, (ax_num *) (void *) o + i);
    else
        key_fixed(o, key->type.phys == AX_P_INTERVAL ? off + 16 : off, width, row, n);
    if (!key->negz_bit)
        return AX_OK;
    for (uint32_t i = 0; i < n; i++)
        if (row[i][lay->img_off + key->negz_off] & key->negz_bit)
            o[(size_t) (i + 1) * width - 1] = 0x80; /* little-endian sign bit of a zero */
    return AX_OK;
}
