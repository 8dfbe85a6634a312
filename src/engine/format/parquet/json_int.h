/* JSON text of nested columns: the growing text and the walk's state, shared by json_out.c (bytes
 * and scalars), nested_json.c (lists, maps, structs), nested_variant.c (shredded variants) and
 * variant.c (encoded variants).  All errors are those of the memory unless said. */
#ifndef AX_PARQUET_JSON_INT_H
#define AX_PARQUET_JSON_INT_H

#include "parquet_int.h"

typedef struct ax_pq_js
{
    ax_task *t;
    ax_arena *a;
    uint8_t *p;               /* [cap] */
    size_t n, cap;
    const ax_pq_shape *root;
    ax_pq_slots *slots;       /* [root->nleaf] */
    bool skip_null_keys;
    bool null_key;            /* a map of this row has one, and it was not skipped */
    bool row_failed;          /* the error is one of this row's value, not of the chunk */
} ax_pq_js;

/* Slots of the first leaf of a shape; those of its others follow. */
static inline ax_pq_slots *ax_pq_js_first(const ax_pq_js *w, const ax_pq_shape *s)
{
    return &w->slots[s->leaf0 - w->root->leaf0];
}

/* Room for n bytes more. */
ax_status ax_pq_js_room(ax_pq_js *w, size_t n) AX_MUST_USE;
ax_status ax_pq_js_put(ax_pq_js *w, const char *s, size_t n) AX_MUST_USE;
ax_status ax_pq_js_str(ax_pq_js *w, const char *s) AX_MUST_USE;

/* Bytes that are UTF-8, as a JSON string. */
ax_status ax_pq_js_quoted(ax_pq_js *w, const uint8_t *s, size_t n) AX_MUST_USE;

/* key: in quotes. */
ax_status ax_pq_js_int(ax_pq_js *w, int64_t v, bool key) AX_MUST_USE;
ax_status ax_pq_js_num(ax_pq_js *w, const ax_num *num, bool key) AX_MUST_USE;

/* The shortest decimal that reads back as v: from, to are the digits to try (6, 9 for floats; 15,
 * 17). */
ax_status ax_pq_js_float(ax_pq_js *w, double v, int from, int to, bool key) AX_MUST_USE;

/* Days since 2000-01-01; units of 10^-digits seconds (6 or 9 digits) since midnight; such units
 * since midnight `epoch` days before 2000-01-01. */
ax_status ax_pq_js_date(ax_pq_js *w, int64_t days) AX_MUST_USE;
ax_status ax_pq_js_time(ax_pq_js *w, int64_t frac, int digits) AX_MUST_USE;
ax_status ax_pq_js_stamp(ax_pq_js *w, int64_t frac, int64_t epoch, int digits, bool utc)
    AX_MUST_USE;

ax_status ax_pq_js_uuid(ax_pq_js *w, const uint8_t *p) AX_MUST_USE;
ax_status ax_pq_js_base64(ax_pq_js *w, const uint8_t *p, size_t n) AX_MUST_USE;

/* Value i of a leaf; key: numbers and booleans are quoted too. */
ax_status ax_pq_js_scalar(ax_pq_js *w, const ax_pq_slots *s, uint32_t i, bool key) AX_MUST_USE;

/* Do all leaves of a list go on with it, or none?  ECORRUPT when they do not agree. */
ax_status ax_pq_js_goes_on(ax_pq_js *w, const ax_pq_shape *list, bool *out) AX_MUST_USE;

/* ---- variants -------------------------------------------------------------------------------- */

/* The dictionary of a variant value: names of the fields of its objects. */
typedef struct ax_pq_vmeta
{
    const uint8_t *off;       /* [n + 1] offsets of `width` bytes into str */
    const uint8_t *str;
    uint32_t n;
    uint8_t width;            /* 1..4 */
} ax_pq_vmeta;

/* Names that the object at the root of a variant must not have: fields shredded beside it. */
typedef struct ax_pq_vtaken
{
    const ax_pq_shape *field; /* [n] ordered by name */
    uint32_t n;
} ax_pq_vtaken;

/* Parse and check the dictionary in p[n].  ECORRUPT, EUNSUPPORTED. */
ax_status ax_pq_variant_meta(ax_task *t, const uint8_t *p, size_t n, ax_pq_vmeta *out) AX_MUST_USE;

/* Write the value in p[n].  ECORRUPT, EUNSUPPORTED, ETEXT, ELIMIT. */
ax_status ax_pq_variant_value(ax_pq_js *w, const ax_pq_vmeta *m, const uint8_t *p, size_t n)
    AX_MUST_USE;

/* Write the fields of the object in p[n], without braces; comma: in front of the first one. */
ax_status ax_pq_variant_fields(ax_pq_js *w, const ax_pq_vmeta *m, const uint8_t *p, size_t n,
                               const ax_pq_vtaken *taken, bool comma) AX_MUST_USE;

/* Write a column of VARIANT, where the walk stands at one that is not null. */
ax_status ax_pq_js_variant(ax_pq_js *w, const ax_pq_shape *s) AX_MUST_USE;

#endif
