/* Encoded variants: a dictionary of names and a self-describing value, to JSON text.
 *
 *      dictionary  1 byte   version (1) in bits 0-3, bit 4 names are sorted, bits 6-7 width - 1
 *                  width    number of names n, then n + 1 offsets of `width` bytes, then the names
 *
 *      value       1 byte   bits 0-1 basic type, bits 2-7 its header
 *        primitive (0)      header is the type, see below; its bytes follow
 *        short string (1)   header is the length
 *        object (2)         header: bits 0-1 offset width - 1, 2-3 id width - 1, 4 four bytes
 *                           of count
 *                           count, ids[count], offsets[count + 1], values
 *        array (3)          header: bits 0-1 offset width - 1, bit 2 four bytes of count
 *                           count, offsets[count + 1], values
 *
 * The fields of an object should be ordered by name, and have different ones; a value's
 * length is that of its own encoding.
 *
 * Hostile values: nesting is limited, and the bytes of all values of one document may not be more
 * than the document has, so that offsets which point at the same bytes again and again end soon.
 *
 * Dates and times become ISO 8601, binary becomes base64, NaN and infinities become strings.
 *
 * Format: apache/parquet-format, VariantEncoding.md. */
#include "json_int.h"

#include <stdlib.h>

enum { OBJECT = 2, ARRAY = 3, MAX_NESTING = 128, EPOCH_DAYS = 10957 };

typedef struct reader
{
    ax_pq_js *w;
    const ax_pq_vmeta *m;
    uint64_t left;            /* bytes that values may still take */
    uint32_t depth;
} reader;

/* Counts and offsets of an object or an array. */
typedef struct container
{
    const uint8_t *id;        /* objects */
    const uint8_t *off;       /* [n + 1] */
    const uint8_t *values;    /* [size] */
    uint32_t n, size;
    uint8_t id_width, off_width;
} container;

static uint32_t load(const uint8_t *p, uint32_t i, uint8_t width)
{
    uint32_t v = 0;

    memcpy(&v, p + (size_t) i * width, width);
    return v;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

ax_status ax_pq_variant_meta(ax_task *t, const uint8_t *p, size_t n, ax_pq_vmeta *out)
{
    uint64_t head;
    uint32_t i, last;

    AX_CHECK(t, n >= 1, AX_ECORRUPT, "metadata of a variant is empty");
    AX_CHECK(t, (p[0] & 15) == 1, AX_EUNSUPPORTED, "variant has version %u", p[0] & 15);
    out->width = (uint8_t) ((p[0] >> 6) + 1);
    AX_CHECK(t, n >= 1 + (size_t) out->width, AX_ECORRUPT, "metadata of a variant is cut off");
    out->n = load(p + 1, 0, out->width);
    head = 1 + ((uint64_t) out->n + 2) * out->width;
    AX_CHECK(t, head <= n, AX_ECORRUPT, "metadata of a variant has %u names in %zu bytes", out->n,
             n);
    out->off = p + 1 + out->width;
    out->str = p + head;
    last = load(out->off, 0, out->width);
    AX_CHECK(t, last == 0, AX_ECORRUPT, "first name of a variant is not at offset 0");
    for (i = 1; i <= out->n; i++)
    {
        uint32_t off = load(out->off, i, out->width);

        AX_CHECK(t, off >= last && off <= n - head, AX_ECORRUPT,
                 "name %u of a variant has no valid offset", i - 1);
        last = off;
    }
    return AX_OK;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static ax_status text(reader *r, const uint8_t *p, size_t n)
{
    size_t i = 0;

    while (i < n)
    {
        uint32_t len = ax_utf8_len(p + i, (uint32_t) (n - i));

        AX_CHECK(r->w->t, len > 0, AX_ETEXT,
                 "text of a variant is not valid UTF-8 or contains a NUL byte");
        i += len;
    }
    return ax_pq_js_quoted(r->w, p, n);
}

static ax_status decimal(reader *r, const uint8_t *p, uint32_t bytes)
{
    ax_num num = {.dscale = p[0]};
    ax_i128 v = 0;
    int32_t i32;
    int64_t i64;

    AX_CHECK(r->w->t, p[0] <= 38, AX_ECORRUPT, "decimal of a variant has scale %u", p[0]);
    if (bytes == 4)
    {
        memcpy(&i32, p + 1, 4);
        v = i32;
    }
    else if (bytes == 8)
    {
        memcpy(&i64, p + 1, 8);
        v = i64;
    }
    else
        memcpy(&v, p + 1, 16);
    num.v = v;
    return ax_pq_js_num(r->w, &num, false);
}

/* Bytes behind the first one, by type; 255: a length and as many bytes follow. */
static const uint8_t primitive_bytes[] = {0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17,
                                          4, 8, 8, 4, 255, 255, 8, 8, 8, 16};

/* A primitive whose bytes p[len] are all there. */
static ax_status primitive(reader *r, uint8_t type, const uint8_t *p, uint32_t len)
{
    const int64_t day = 86400000000;
    int64_t i64 = 0;
    int32_t i32 = 0;
    int16_t i16;
    double f64;
    float f32;

    if (len >= 4)
        memcpy(&i32, p, 4);
    if (len >= 8)
        memcpy(&i64, p, 8);
    switch (type)
    {
        case 0: return ax_pq_js_str(r->w, "null");
        case 1: return ax_pq_js_str(r->w, "true");
        case 2: return ax_pq_js_str(r->w, "false");
        case 3: return ax_pq_js_int(r->w, (int8_t) p[0], false);
        case 4:
            memcpy(&i16, p, 2);
            return ax_pq_js_int(r->w, i16, false);
        case 5: return ax_pq_js_int(r->w, i32, false);
        case 6: return ax_pq_js_int(r->w, i64, false);
        case 7:
            memcpy(&f64, p, 8);
            return ax_pq_js_float(r->w, f64, 15, 17, false);
        case 8: return decimal(r, p, 4);
        case 9: return decimal(r, p, 8);
        case 10: return decimal(r, p, 16);
        case 11: return ax_pq_js_date(r->w, (int64_t) i32 - EPOCH_DAYS);
        case 12:
        case 13: return ax_pq_js_stamp(r->w, i64, EPOCH_DAYS, 6, type == 12);
        case 14:
            memcpy(&f32, p, 4);
            return ax_pq_js_float(r->w, f32, 6, 9, false);
        case 15: return ax_pq_js_base64(r->w, p, len);
        case 16: return text(r, p, len);
        case 17:
            AX_CHECK(r->w->t, i64 >= 0 && i64 <= day, AX_EDATETIME,
                     "time of a variant is not in a day");
            return ax_pq_js_time(r->w, i64, 6);
        case 18:
        case 19: return ax_pq_js_stamp(r->w, i64, EPOCH_DAYS, 9, type == 18);
        default: return ax_pq_js_uuid(r->w, p);
    }
}

static ax_status charge(reader *r, uint64_t bytes)
{
    AX_CHECK(r->w->t, bytes <= r->left, AX_ECORRUPT, "values of a variant share their bytes");
    r->left -= bytes;
    return AX_OK;
}

static ax_status scalar(reader *r, const uint8_t *p, size_t n)
{
    uint8_t head = p[0] >> 2;
    uint64_t len = head, at = 1;

    if ((p[0] & 3) == 0)
    {
        AX_CHECK(r->w->t, head < sizeof primitive_bytes, AX_EUNSUPPORTED,
                 "variant has type %u", head);
        len = primitive_bytes[head];
        if (len == 255)
        {
            AX_CHECK(r->w->t, n >= 5, AX_ECORRUPT, "value of a variant is cut off");
            len = ax_load_u32(p + 1);
            at = 5;
        }
    }
    AX_CHECK(r->w->t, len <= n - at, AX_ECORRUPT, "value of a variant is cut off");
    AX_TRY(charge(r, at + len));
    return (p[0] & 3) == 0 ? primitive(r, head, p + at, (uint32_t) len) : text(r, p + at, len);
}

/* ---- objects and arrays ---------------------------------------------------------------------- */

static ax_status open_container(reader *r, const uint8_t *p, size_t n, container *c)
{
    bool object = (p[0] & 3) == OBJECT;
    uint8_t head = p[0] >> 2, count_width = (object ? head >> 4 : head >> 2) & 1 ? 4 : 1;
    uint64_t at = 1 + (uint64_t) count_width;

    c->off_width = (uint8_t) ((head & 3) + 1);
    c->id_width = object ? (uint8_t) ((head >> 2 & 3) + 1) : 0;
    AX_CHECK(r->w->t, at <= n, AX_ECORRUPT, "value of a variant is cut off");
    c->n = load(p + 1, 0, count_width);
    c->id = p + at;
    at += (uint64_t) c->n * c->id_width;
    c->off = p + at;
    at += ((uint64_t) c->n + 1) * c->off_width;
    AX_CHECK(r->w->t, at <= n, AX_ECORRUPT, "variant has %u values in %zu bytes", c->n, n);
    c->values = p + at;
    c->size = load(c->off, c->n, c->off_width);
    AX_CHECK(r->w->t, c->size <= n - at, AX_ECORRUPT, "value of a variant is cut off");
    return charge(r, at);
}

static ax_status value(reader *r, const uint8_t *p, size_t n);

static ax_status child(reader *r, const container *c, uint32_t i)
{
    uint32_t off = load(c->off, i, c->off_width);

    AX_CHECK(r->w->t, off < c->size, AX_ECORRUPT, "value %u of a variant has no valid offset", i);
    return value(r, c->values + off, c->size - off);
}

static int compare(const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb)
{
    int d = memcmp(a, b, na < nb ? na : nb);

    return d != 0 ? d : (na > nb) - (na < nb);
}

/* Is there a field of that name? */
static bool is_taken(const ax_pq_vtaken *taken, const uint8_t *name, uint32_t len)
{
    uint32_t lo = 0, hi = taken->n;

    while (lo < hi)
    {
        uint32_t mid = lo + (hi - lo) / 2;
        const char *s = taken->field[mid].name;
        int d = compare((const uint8_t *) s, (uint32_t) strlen(s), name, len);

        if (d == 0)
            return true;
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

typedef struct name { const uint8_t *p; uint32_t len; } name;

static int by_bytes(const void *a, const void *b)
{
    const name *x = (const name *) a, *y = (const name *) b;

    return compare(x->p, x->len, y->p, y->len);
}

/* Name of field i. */
static ax_status name_of(reader *r, const container *c, uint32_t i, name *out)
{
    uint32_t id = load(c->id, i, c->id_width), from;

    AX_CHECK(r->w->t, id < r->m->n, AX_ECORRUPT, "variant has %u names, not %u", r->m->n, id + 1);
    from = load(r->m->off, id, r->m->width);
    out->p = r->m->str + from;
    out->len = load(r->m->off, id + 1, r->m->width) - from;
    return AX_OK;
}

/* Fields should be ordered by name, and some writers do not: no name may stand there twice. */
static ax_status unique(reader *r, const container *c)
{
    name *all;
    uint32_t i;

    AX_NEW(r->w->t, all, (name *) ax_arena_values(r->w->a, (size_t) c->n * sizeof *all));
    for (i = 0; i < c->n; i++)
        AX_TRY(name_of(r, c, i, &all[i]));
    qsort(all, c->n, sizeof *all, by_bytes);
    for (i = 1; i < c->n; i++)
        AX_CHECK(r->w->t, by_bytes(&all[i - 1], &all[i]) != 0, AX_ECORRUPT,
                 "object of a variant has two fields of one name");
    return AX_OK;
}

static ax_status fields(reader *r, const container *c, const ax_pq_vtaken *taken, bool comma)
{
    name at = {NULL, 0}, before;
    bool sorted = true;
    uint32_t i;

    for (i = 0; i < c->n; i++)
    {
        before = at;
        AX_TRY(name_of(r, c, i, &at));
        if (sorted && i > 0 && by_bytes(&before, &at) >= 0)
        {
            sorted = false;
            AX_TRY(unique(r, c));
        }
        AX_CHECK(r->w->t, taken == NULL || !is_taken(taken, at.p, at.len), AX_ECORRUPT,
                 "a field of a variant is in its value and shredded as well");
        if (comma || i > 0)
            AX_TRY(ax_pq_js_str(r->w, ","));
        AX_TRY(text(r, at.p, at.len));
        AX_TRY(ax_pq_js_str(r->w, ":"));
        AX_TRY(child(r, c, i));
    }
    return AX_OK;
}

static ax_status value(reader *r, const uint8_t *p, size_t n)
{
    container c;
    uint32_t i;
    bool object;

    AX_CHECK(r->w->t, n >= 1, AX_ECORRUPT, "value of a variant is empty");
    if ((p[0] & 3) < OBJECT)
        return scalar(r, p, n);
    AX_CHECK(r->w->t, ++r->depth <= MAX_NESTING, AX_ELIMIT, "variant is nested more than %d deep",
             MAX_NESTING);
    object = (p[0] & 3) == OBJECT;
    AX_TRY(open_container(r, p, n, &c));
    AX_TRY(ax_pq_js_str(r->w, object ? "{" : "["));
    if (object)
        AX_TRY(fields(r, &c, NULL, false));
    for (i = 0; !object && i < c.n; i++)
    {
        if (i > 0)
            AX_TRY(ax_pq_js_str(r->w, ","));
        AX_TRY(child(r, &c, i));
    }
    r->depth--;
    return ax_pq_js_str(r->w, object ? "}" : "]");
}

/* ---- doors ----------------------------------------------------------------------------------- */

ax_status ax_pq_variant_value(ax_pq_js *w, const ax_pq_vmeta *m, const uint8_t *p, size_t n)
{
    reader r = {.w = w, .m = m, .left = n};

    return value(&r, p, n);
}

ax_status ax_pq_variant_fields(ax_pq_js *w, const ax_pq_vmeta *m, const uint8_t *p, size_t n,
                               const ax_pq_vtaken *taken, bool comma)
{
    reader r = {.w = w, .m = m, .left = n, .depth = 1};
    container c;

    AX_CHECK(w->t, n >= 1 && (p[0] & 3) == OBJECT, AX_ECORRUPT,
             "variant has shredded fields and a value that is no object");
    AX_TRY(open_container(&r, p, n, &c));
    return fields(&r, &c, taken, comma);
}
