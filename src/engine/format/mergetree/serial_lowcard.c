/* LowCardinality: chunks of indexes into dictionaries.
 *
 *      u64  index width (bits 0-7), 0x100 the shared dictionary is used, 0x200 keys of its own,
 *           0x400 a new shared dictionary begins here
 *      [0x200]  u64 n, n keys
 *      u64  rows, rows x index
 *
 * Shared dictionaries stand one behind the other in a stream of their own (Wide parts only).  The
 * mark of that stream says where the one begins that a granule uses first; later chunks of the
 * granule go on to the next one with 0x400.  An index is one of the shared dictionary, and beyond
 * its end of the chunk's own keys.  Of a nullable type entry 0 stands for NULL.
 *
 * Values stay indexes while one dictionary serves a whole window.  A dictionary lives until the
 * window after the last one that used it.
 *
 * Format: mergetree.md, "LowCardinality". */
#include "mergetree_int.h"

enum { SHARED = 0x100, OWN_KEYS = 0x200, NEW_SHARED = 0x400, KNOWN = 0x7ff };

/* ---- dictionaries ---------------------------------------------------------------------------- */

static void unref(ax_mt_dict *d)
{
    if (d != NULL && --d->refs == 0)
        ax_arena_destroy(d->arena);
}

static ax_status new_dict(ax_task *t, ax_mt_reader *r, ax_mt_dict **out)
{
    ax_arena *a = ax_arena_create(r->cur[0]->env->budget, 0);
    ax_mt_dict *d;

    *out = NULL;
    if (a == NULL)
        return ax_fail_nomem(t, 0);
    d = (ax_mt_dict *) ax_arena_alloc0(a, sizeof *d);
    if (d == NULL)
    {
        ax_arena_destroy(a);
        return ax_fail_nomem(t, sizeof *d);
    }
    d->arena = a;
    d->refs = 1;
    *out = d;
    return AX_OK;
}

/* Strings go into one buffer, so that they are a flat vector later. */
static ax_status read_strings(ax_task *t, ax_mt_cur *c, uint32_t n, ax_mt_dict *d)
{
    uint64_t cap = 0, used = 0;
    uint8_t *bytes = NULL;
    uint32_t i;

    AX_NEW(t, d->off, (uint32_t *) ax_arena_values(d->arena, ((size_t) n + 1) * 4));
    AX_NEW(t, d->len, (uint32_t *) ax_arena_values(d->arena, (size_t) n * 4 + 1));
    for (i = 0; i < n; i++)
    {
        uint64_t len;

        AX_TRY(ax_mt_cur_varint(t, c, &len));
        AX_CHECK(t, len <= INT32_MAX - used, AX_ECORRUPT, "dictionary of stream %s is too large",
                 c->stream->name);
        if (used + len > cap)
        {
            uint64_t grown = cap * 2 > used + len ? cap * 2 : used + len + 1024;
            uint8_t *p;

            AX_TRY(ax_mt_cur_holds(t, c, len));
            AX_NEW(t, p, (uint8_t *) ax_arena_values(d->arena, grown));
            if (used > 0)
                memcpy(p, bytes, used);
            bytes = p;
            cap = grown;
        }
        if (len > 0)
            AX_TRY(ax_mt_cur_copy(t, c, bytes + used, len));
        d->off[i] = (uint32_t) used;
        d->len[i] = (uint32_t) len;
        used += len;
    }
    d->bytes = bytes != NULL ? bytes : (const uint8_t *) "";
    return AX_OK;
}

/* u64 n and n keys. */
static ax_status read_keys(ax_task *t, ax_mt_reader *r, ax_mt_cur *c, ax_mt_dict **out)
{
    size_t width = r->node->child[0]->type->width;
    ax_mt_dict *d;
    uint64_t n;
    uint8_t *data;
    ax_status st = AX_OK;

    AX_TRY(ax_mt_cur_u64(t, c, &n));
    AX_CHECK(t, n <= INT32_MAX, AX_ECORRUPT, "dictionary of stream %s claims %llu keys",
             c->stream->name, (unsigned long long) n);
    AX_TRY(ax_mt_cur_holds(t, c, n * (width > 0 ? width : 1)));
    AX_TRY(new_dict(t, r, &d));
    *out = d;
    d->n = (uint32_t) n;
    if (width == 0)
        st = read_strings(t, c, d->n, d);
    else
    {
        data = (uint8_t *) ax_arena_values(d->arena, n * width + 1);
        d->bytes = data;
        st = data != NULL ? ax_mt_cur_copy(t, c, data, n * width) : ax_fail_nomem(t, n * width);
    }
    if (st == AX_OK)
        return AX_OK;
    unref(d);
    *out = NULL;
    return st;
}

/* The keys of a and then those of b. */
static ax_status concat(ax_task *t, ax_mt_reader *r, const ax_mt_dict *a, const ax_mt_dict *b,
                        ax_mt_dict **out)
{
    size_t width = r->node->child[0]->type->width, na, nb;
    uint64_t n = (uint64_t) a->n + b->n;
    uint8_t *bytes;
    ax_mt_dict *d;

    AX_CHECK(t, n <= INT32_MAX, AX_ECORRUPT, "dictionaries are too large");
    AX_TRY(new_dict(t, r, &d));
    d->n = (uint32_t) n;
    na = width > 0 ? a->n * width : a->n > 0 ? a->off[a->n - 1] + (size_t) a->len[a->n - 1] : 0;
    nb = width > 0 ? b->n * width : b->n > 0 ? b->off[b->n - 1] + (size_t) b->len[b->n - 1] : 0;
    bytes = (uint8_t *) ax_arena_values(d->arena, na + nb + 1);
    if (width == 0)
    {
        d->off = (uint32_t *) ax_arena_values(d->arena, n * 4 + 4);
        d->len = (uint32_t *) ax_arena_values(d->arena, n * 4 + 4);
    }
    if (bytes == NULL || na + nb > INT32_MAX || (width == 0 && (d->off == NULL || d->len == NULL)))
    {
        unref(d);
        return ax_fail_nomem(t, na + nb);
    }
    memcpy(bytes, a->bytes, na);
    memcpy(bytes + na, b->bytes, nb);
    d->bytes = bytes;
    for (uint32_t i = 0; width == 0 && i < d->n; i++)
    {
        const ax_mt_dict *from = i < a->n ? a : b;
        uint32_t k = i < a->n ? i : i - a->n;

        d->off[i] = from->off[k] + (from == a ? 0 : (uint32_t) na);
        d->len[i] = from->len[k];
    }
    *out = d;
    return AX_OK;
}

/* The dictionary is not used by chunks any more; windows may still use it. */
static void retire(ax_mt_reader *r, ax_mt_dict **d)
{
    if (*d == NULL)
        return;
    if ((*d)->refs > 1)
        unref(*d);
    else
    {
        (*d)->next = r->retired;
        r->retired = *d;
    }
    *d = NULL;
}

void ax_mt_retire(ax_mt_reader *r, bool all)
{
    if (all)
    {
        retire(r, &r->keys);
        retire(r, &r->shared);
    }
    while (r->retired != NULL)
    {
        ax_mt_dict *d = r->retired;

        r->retired = d->next;
        unref(d);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

ax_status ax_mt_begin_lowcard(ax_task *t, ax_mt_reader *r, uint32_t gran)
{
    uint64_t version = 1;

    r->chunk_left = 0;
    r->fresh = true;
    r->gran = gran;
    if (r->cur[2] != NULL)
        AX_TRY(ax_mt_cur_u64(t, ax_mt_cur_of(r, 2), &version));
    else if (!r->known && r->cur[1] != NULL)
    {
        ax_mt_cur_put(r->cur[1], 0, 0);
        AX_TRY(ax_mt_cur_u64(t, r->cur[1], &version));
    }
    AX_CHECK(t, version == 1, AX_EUNSUPPORTED, "version %llu of LowCardinality keys is not known",
             (unsigned long long) version);
    r->known = true;
    return AX_OK;
}

ax_status ax_mt_finish_lowcard(ax_task *t, ax_mt_reader *r)
{
    AX_CHECK(t, r->chunk_left == 0, AX_ECORRUPT,
             "chunk of a LowCardinality column goes on behind its granule");
    return AX_OK;
}

/* Make r->shared the dictionary that this chunk uses. */
static ax_status use_shared(ax_task *t, ax_mt_reader *r, bool is_new)
{
    ax_mt_cur *c = r->cur[1];
    const ax_mt_marks *m;

    AX_CHECK(t, c != NULL, AX_ECORRUPT, "chunk of a Compact part uses a shared dictionary");
    m = ax_mt_marks_of(c->stream);
    if (r->fresh)
    {
        uint64_t off = m->off[r->gran];
        uint32_t at = m->at[r->gran];

        r->fresh = false;
        if (r->shared != NULL && r->dict_off == off && r->dict_at == at)
            return AX_OK;
        ax_mt_cur_put(c, off, at);
    }
    else if (!is_new)
        return AX_OK;
    retire(r, &r->shared);
    r->dict_off = c->off;
    r->dict_at = c->pos;
    return read_keys(t, r, c, &r->shared);
}

static ax_status chunk(ax_task *t, ax_mt_reader *r)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);
    ax_mt_dict *own = NULL;
    uint64_t type, rows;
    ax_status st = AX_OK;

    AX_TRY(ax_mt_cur_u64(t, c, &type));
    AX_CHECK(t, (type & 0xff) <= 3 && (type & ~(uint64_t) KNOWN) == 0 &&
                 (type & (SHARED | OWN_KEYS)) != 0,
             AX_ECORRUPT, "chunk of a LowCardinality column has type 0x%llx",
             (unsigned long long) type);
    r->idx_width = (uint8_t) (1u << (type & 0xff));
    if ((type & SHARED) != 0)
        AX_TRY(use_shared(t, r, (type & NEW_SHARED) != 0));
    if ((type & OWN_KEYS) != 0)
        AX_TRY(read_keys(t, r, c, &own));
    retire(r, &r->keys);
    if ((type & SHARED) == 0)
        r->keys = own;
    else if (own == NULL)
    {
        r->keys = r->shared;
        r->shared->refs++;
    }
    else
    {
        st = concat(t, r, r->shared, own, &r->keys);
        unref(own);
    }
    AX_TRY(st);
    AX_TRY(ax_mt_cur_u64(t, c, &rows));
    AX_CHECK(t, rows > 0 && rows <= INT32_MAX, AX_ECORRUPT,
             "chunk of a LowCardinality column has %llu rows", (unsigned long long) rows);
    r->chunk_left = (uint32_t) rows;
    return AX_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* n indexes of `width` bytes as ids; false: one is too large. */
static bool ids_of(const uint8_t *p, uint8_t width, uint32_t n, uint32_t limit, uint32_t *id)
{
    uint64_t max = 0;
    uint32_t i;

    switch (width)
    {
        case 1:
            for (i = 0; i < n; i++)
                max = (id[i] = p[i]) > max ? id[i] : max;
            break;
        case 2:
            for (i = 0; i < n; i++)
                max = (id[i] = ax_load_u16(p + 2 * i)) > max ? id[i] : max;
            break;
        case 4:
            for (i = 0; i < n; i++)
                max = (id[i] = ax_load_u32(p + 4 * i)) > max ? id[i] : max;
            break;
        default:
            for (i = 0; i < n; i++)
            {
                uint64_t x = ax_load_u64(p + 8 * i);

                max = x > max ? x : max;
                id[i] = (uint32_t) x;
            }
    }
    return max < limit;
}

/* Values from ids: of rows [from, v->n) that have ids in dictionary d. */
static void spread(const ax_mt_reader *r, ax_mt_vals *v, const ax_mt_dict *d, const uint32_t *id,
                   uint32_t at, uint32_t n)
{
    size_t width = r->node->child[0]->type->width;
    uint32_t i;

    for (i = 0; i < n; i++)
        if (width > 0)
            memcpy((uint8_t *) (uintptr_t) v->data + (at + i) * width, d->bytes + id[i] * width,
                   width);
        else
        {
            v->ptr[at + i] = d->bytes + d->off[id[i]];
            v->len[at + i] = d->len[id[i]];
        }
}

static ax_status value_room(ax_task *t, ax_mt_reader *r, ax_mt_win *w, ax_mt_vals *v, uint32_t cap)
{
    size_t width = r->node->child[0]->type->width;
    uint32_t have = v->dict != NULL ? 0 : v->n;

    if (width > 0)
        return ax_mt_room(t, w, &v->data, have, cap, width);
    AX_TRY(ax_mt_room(t, w, &v->ptr, have, cap, sizeof *v->ptr));
    return ax_mt_room(t, w, &v->len, have, cap, sizeof *v->len);
}

static bool is_nullable(const ax_mt_reader *r)
{
    return r->node->type->child[0]->id == MT_NULLABLE;
}

/* The dictionary changes inside the window: values instead of ids from now on. */
static ax_status give_up_ids(ax_task *t, ax_mt_reader *r, ax_mt_win *w, ax_mt_vals *v)
{
    AX_TRY(value_room(t, r, w, v, v->cap));
    spread(r, v, v->dict, v->id, 0, v->n);
    v->dict = NULL;
    return AX_OK;
}

static ax_status room(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    uint32_t cap;

    AX_TRY(ax_mt_grown(t, v, n, &cap));
    if (cap == 0)
        return AX_OK;
    AX_TRY(ax_mt_room(t, w, &v->id, v->n, cap, sizeof *v->id));
    if (is_nullable(r))
        AX_TRY(ax_mt_room(t, w, &v->null, v->n, cap, 1));
    if (v->n > 0 && v->dict == NULL)
        AX_TRY(value_room(t, r, w, v, cap));
    v->cap = cap;
    return AX_OK;
}

ax_status ax_mt_read_lowcard(ax_task *t, ax_mt_reader *r, ax_mt_win *w, uint32_t n, ax_mt_vals *v)
{
    ax_mt_cur *c = ax_mt_cur_of(r, 0);

    if (v != NULL)
        AX_TRY(room(t, r, w, n, v));
    while (n > 0)
    {
        const uint8_t *p;
        uint32_t k, i;

        if (r->chunk_left == 0)
            AX_TRY(chunk(t, r));
        k = r->chunk_left < n ? r->chunk_left : n;
        r->chunk_left -= k;
        n -= k;
        if (v == NULL)
        {
            AX_TRY(ax_mt_cur_skip(t, c, (uint64_t) k * r->idx_width));
            continue;
        }
        if (v->n == 0)
            v->dict = r->keys;
        else if (v->dict != NULL && v->dict != r->keys)
            AX_TRY(give_up_ids(t, r, w, v));
        AX_TRY(ax_mt_cur_take(t, c, w, (size_t) k * r->idx_width, &p));
        AX_CHECK(t, ids_of(p, r->idx_width, k, r->keys->n, v->id + v->n), AX_ECORRUPT,
                 "index of stream %s is beyond its dictionary", c->stream->name);
        if (v->dict == NULL)
            spread(r, v, r->keys, v->id + v->n, v->n, k);
        for (i = v->n; is_nullable(r) && i < v->n + k; i++)
            v->null[i] = v->id[i] == 0;
        v->n += k;
    }
    return AX_OK;
}
