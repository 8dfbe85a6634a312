/* Reading of skip indexes.
 *
 *      OPEN files --> [READ the listing of skp_idx.packed] --> READ marks --> ready
 *
 * and then, granules by granules, READ the bytes that have them.
 *
 *      minmax        for each expression: minimum, maximum as single values
 *      set           u64 n, for each expression a column of n values (0: there were too many)
 *      bloom_filter  varint count, for each expression ceil(bits * count / 8) bytes
 *      tokenbf_v1, ngrambf_v1   for each expression a filter of the size in the definition
 *
 * A mark has 24 bytes, 16 in parts of constant granularity, and there is one for each granule of
 * the index.  In the archive skp_idx.packed the same files stand behind each other:
 *
 *      u8 version 1, u64 n, n x { varstr name, u64 offset, u64 size, u64 uncompressed size }
 *
 * Format: mergetree.md, "Skip indexes". */
#include "skip_int.h"

enum { OPENING, OPENED, LISTING, MARKS, READY };

enum { MAX_LISTING_BYTES = 256 << 10, MAX_FILTER_BYTES = 256 << 20 };

/* ---- readers --------------------------------------------------------------------------------- */

static const ax_mt_type *inner(const ax_mt_type *ty)
{
    return ty->child[0]->id == MT_NULLABLE ? ty->child[0]->child[0] : ty->child[0];
}

/* The form that values of a SET have: lengths before strings, nothing sparse.  Streams are numbered
 * from *n on, in the order of their bytes. */
static ax_status node_of(ax_task *t, ax_arena *a, const ax_mt_type *ty, int32_t *n,
                         ax_mt_node **out)
{
    ax_mt_node *x;

    AX_NEW(t, x, (ax_mt_node *) ax_arena_alloc0(a, sizeof *x));
    *out = x;
    x->type = ty;
    x->stream[0] = x->stream[1] = x->stream[2] = MT_NO_STREAM;
    x->form = ty->id == MT_NULLABLE ? MT_F_NULLABLE : ty->id == MT_LOWCARD ? MT_F_LOWCARD
              : ty->id == MT_STRING ? MT_F_STRING : MT_F_FIXED;
    if (x->form == MT_F_LOWCARD)
        x->stream[2] = (*n)++;
    x->stream[0] = (*n)++;
    if (x->form != MT_F_NULLABLE && x->form != MT_F_LOWCARD)
        return AX_OK;
    x->nchild = 1;
    AX_NEW(t, x->child, (ax_mt_node **) ax_arena_alloc0(a, sizeof *x->child));
    if (x->form == MT_F_LOWCARD)
    {
        /* Keys stand in the stream of indexes. */
        int32_t none = 0;

        return node_of(t, a, inner(ty), &none, &x->child[0]);
    }
    return node_of(t, a, ty->child[0], n, &x->child[0]);
}

static ax_status reader_of(ax_task *t, ax_arena *a, ax_mt_skip_reader *r, const ax_mt_node *node,
                           ax_mt_reader *out)
{
    out->node = node;
    for (int i = 0; i < 3; i++)
        out->cur[i] = node->stream[i] >= 0 ? &r->cur[node->stream[i]] : NULL;
    AX_NEW(t, out->child,
           (ax_mt_reader *) ax_arena_alloc0(a, (node->nchild + 1) * sizeof *out->child));
    if (node->form == MT_F_NULLABLE)
        return reader_of(t, a, r, node->child[0], &out->child[0]);
    if (node->form == MT_F_LOWCARD)
        out->child[0].node = node->child[0];
    return AX_OK;
}

static ax_status make_columns(ax_task *t, ax_arena *a, ax_mt_skips *s, ax_mt_skip_reader *r)
{
    const ax_mt_skip *x = r->def;
    ax_mt_node *node[MT_MAX_SKIP_COLUMNS];
    int32_t n = 0;
    uint32_t i;

    for (i = 0; x->kind == MT_S_SET && i < x->ncols; i++)
        AX_TRY(node_of(t, a, x->col[i].type, &n, &node[i]));
    r->ncur = n > 0 ? (uint32_t) n : 1;
    AX_NEW(t, r->cur, (ax_mt_cur *) ax_arena_alloc0(a, r->ncur * sizeof *r->cur));
    for (i = 0; i < r->ncur; i++)
        r->cur[i] = (ax_mt_cur){.env = &s->env, .stream = &r->stream, .src = &r->src,
                                .placed = true};
    if (x->kind != MT_S_SET)
        return AX_OK;
    AX_NEW(t, r->root, (ax_mt_reader *) ax_arena_alloc0(a, x->ncols * sizeof *r->root));
    for (i = 0; i < x->ncols; i++)
        AX_TRY(reader_of(t, a, r, node[i], &r->root[i]));
    return AX_OK;
}

static ax_status add(ax_task *t, ax_mt_skips *s, const ax_mt_skip *def)
{
    const ax_mt_member *data = ax_mt_member_find(s->part, def->file);
    const ax_mt_member *marks = ax_mt_member_find(s->part, def->marks);
    ax_mt_skip_reader *r = &s->reader[s->n++];

    r->def = def;
    r->at = UINT32_MAX;
    r->packed = data == NULL || marks == NULL;
    if (r->packed)
    {
        s->pack = data = marks = s->part->skip_pack;
        AX_CHECK(t, data != NULL, AX_EPLAN, "skip index without a file");
    }
    r->path = data->path;
    r->marks_path = marks->path;
    r->marks_size = marks->size;
    r->member = *data;
    r->stream = (ax_mt_stream){.name = def->file, .bin = &r->member};
    atomic_init(&r->stream.marks, &r->marks);
    r->src.member = &r->member;
    AX_NEW(t, r->batch.arena, ax_arena_create(ax_arena_budget(s->a), 0));
    r->win.batch = &r->batch;
    AX_NEW(t, r->value,
           (ax_mt_value *) ax_arena_alloc0(s->a, 2 * def->ncols * sizeof *r->value));
    AX_NEW(t, r->known, (bool *) ax_arena_alloc0(s->a, def->ncols));
    AX_NEW(t, r->bits, (const uint8_t **) ax_arena_alloc0(s->a, def->ncols * sizeof *r->bits));
    return make_columns(t, s->a, s, r);
}

ax_status ax_mt_skips_begin(ax_task *t, ax_arena *a, const ax_mt_part *p,
                            const ax_mt_skip *const *def, uint32_t n, uint32_t allow,
                            ax_mt_skips *s)
{
    s->part = p;
    s->a = a;
    s->env = (ax_mt_env){.part = p, .budget = ax_arena_budget(a), .stats = &s->stats,
                         .verify = (allow & AX_ALLOW_CHECKSUMS) != 0};
    AX_TRY(ax_cdc_create(t, a, &s->env.cdc));
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(add(t, s, def[i]));
    return AX_OK;
}

static void release(ax_mt_skips *s)
{
    for (uint32_t i = 0; i < s->nreq; i++)
    {
        ax_buf_unref(s->req[i].buf);
        if (s->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(s->req[i].file);
    }
    memset(s->req, 0, sizeof s->req);
    s->nreq = 0;
}

static void forget(ax_mt_src *src)
{
    for (uint32_t i = 0; i < src->npieces; i++)
        ax_buf_unref(src->piece[i].buf);
    src->npieces = 0;
}

void ax_mt_skips_end(ax_mt_skips *s)
{
    release(s);
    for (uint32_t i = 0; i < s->n; i++)
    {
        ax_mt_skip_reader *r = &s->reader[i];

        for (uint32_t k = 0; r->cur != NULL && k < r->ncur; k++)
            ax_mt_cur_free(&r->cur[k]);
        for (uint32_t k = 0; r->root != NULL && k < r->def->ncols; k++)
            if (r->root[k].node != NULL && r->root[k].node->form == MT_F_LOWCARD)
                ax_mt_retire(&r->root[k], true);
        ax_mt_src_free(&r->src);
        ax_arena_destroy(r->batch.arena);
        r->batch.arena = NULL;
    }
    for (uint32_t i = 0; i < 2 * MT_MAX_SKIPS + 1; i++)
        ax_io_file_unref(s->file[i]);
    memset(s->file, 0, sizeof s->file);
    s->n = 0;
}

/* ---- the archive ----------------------------------------------------------------------------- */

static bool same_name(const uint8_t *p, uint64_t n, const char *name)
{
    return n == strlen(name) && memcmp(p, name, n) == 0;
}

/* Where the members of the archive are; indexes that are not in it are dropped. */
static ax_status take_listing(ax_task *t, ax_mt_skips *s, const ax_buf *b)
{
    uint64_t size = s->pack->size, count, k;
    ax_cur c = ax_cur_make(b->data, b->len);
    uint32_t n = 0;
    uint8_t version = ax_cur_u8(&c);

    AX_CHECK(t, version == 1, AX_EUNSUPPORTED, "version %u of the archive is not known", version);
    count = ax_cur_u64(&c);
    for (uint32_t i = 0; i < s->n; i++)
        s->reader[i].marks_size = s->reader[i].packed ? 0 : s->reader[i].marks_size;
    for (k = 0; k < count && !c.bad; k++)
    {
        uint64_t len = ax_cur_varint(&c);
        const uint8_t *name = ax_cur_take(&c, len);
        uint64_t off = ax_cur_u64(&c), bytes = ax_cur_u64(&c);

        (void) ax_cur_u64(&c);
        if (c.bad)
            break;
        AX_CHECK(t, off <= size && bytes <= size - off, AX_ECORRUPT,
                 "archive lists a file behind its end");
        for (uint32_t i = 0; i < s->n; i++)
        {
            ax_mt_skip_reader *r = &s->reader[i];

            if (r->packed && same_name(name, len, r->def->file))
            {
                r->base = off;
                r->member.size = bytes;
            }
            if (r->packed && same_name(name, len, r->def->marks))
            {
                r->marks_base = off;
                r->marks_size = bytes;
            }
        }
    }
    AX_CHECK(t, !c.bad, b->len == size ? AX_ECORRUPT : AX_ELIMIT, "listing of the archive is %s",
             b->len == size ? "cut off" : "too long");
    for (uint32_t i = 0; i < s->n; i++)
        n += s->reader[i].marks_size > 0;
    s->state = n > 0 ? LISTING : READY;
    return AX_OK;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static ax_status take_marks(ax_task *t, ax_mt_skips *s, ax_mt_skip_reader *r, const ax_buf *b)
{
    const ax_mt_part *p = s->part;
    const uint8_t *rec = b->data;
    size_t n = b->len, width = p->adaptive ? 24 : 16;
    uint64_t *off;
    uint32_t *at, i, count = p->ngran / r->def->granularity + (p->ngran % r->def->granularity > 0);

    if (p->compressed_marks)
        AX_TRY(ax_mt_frames_all(t, s->a, s->env.cdc, b->data, b->len, &rec, &n));
    AX_CHECK(t, n % width == 0 && n / width >= count, AX_ECORRUPT,
             "skip index %s has marks of %zu bytes where %u granules need %zu", r->def->name, n,
             count, count * width);
    AX_NEW(t, off, (uint64_t *) ax_arena_alloc(s->a, (count + 1ull) * sizeof *off));
    AX_NEW(t, at, (uint32_t *) ax_arena_alloc(s->a, (count + 1ull) * sizeof *at));
    for (i = 0; i < count; i++)
    {
        uint64_t in = ax_load_u64(rec + i * width + 8);

        off[i] = ax_load_u64(rec + i * width);
        AX_CHECK(t, off[i] <= r->member.size && in <= MT_MAX_FRAME_BYTES, AX_ECORRUPT,
                 "mark %u of skip index %s points behind its file", i, r->def->name);
        AX_CHECK(t, i == 0 || off[i] > off[i - 1] || (off[i] == off[i - 1] && in >= at[i - 1]),
                 AX_ECORRUPT, "marks of skip index %s go back", r->def->name);
        at[i] = (uint32_t) in;
    }
    off[count] = r->member.size;
    at[count] = 0;
    r->marks = (ax_mt_marks){count, off, at};
    return AX_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void need(ax_mt_skips *s, uint8_t next, ax_fmt_event *ev)
{
    s->state = next;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){s->req, s->nreq};
}

static void ask_files(ax_mt_skips *s, ax_fmt_event *ev)
{
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < 2 && !s->reader[i].packed; k++)
        {
            s->of[s->nreq] = 2 * i + k;
            s->req[s->nreq++] = (ax_io_req){
                .kind = AX_IO_OPEN, .uri = k == 0 ? s->reader[i].path : s->reader[i].marks_path};
        }
    if (s->pack != NULL)
    {
        s->of[s->nreq] = 2 * MT_MAX_SKIPS;
        s->req[s->nreq++] = (ax_io_req){.kind = AX_IO_OPEN, .uri = s->pack->path};
    }
    need(s, OPENED, ev);
}

static ax_io_file *file_of(const ax_mt_skips *s, uint32_t i, uint32_t k)
{
    return s->file[s->reader[i].packed ? 2 * MT_MAX_SKIPS : 2 * i + k];
}

static ax_status ask_marks(ax_task *t, ax_mt_skips *s, ax_fmt_event *ev)
{
    for (uint32_t i = 0; i < s->n; i++)
    {
        ax_mt_skip_reader *r = &s->reader[i];

        r->src.file = NULL;
        if (r->marks_size == 0)
            continue; /* nothing, or not in the archive */
        AX_CHECK(t, r->marks_size <= MT_MAX_META_BYTES, AX_ELIMIT, "file \"%s\" is too large",
                 r->marks_path);
        s->of[s->nreq] = i;
        s->req[s->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = file_of(s, i, 1),
                                        .off = r->marks_base, .len = r->marks_size};
    }
    need(s, MARKS, ev);
    return AX_OK;
}

static ax_status delivered(ax_task *t, const ax_mt_skips *s)
{
    for (uint32_t i = 0; i < s->nreq; i++)
        AX_CHECK(t, s->req[i].kind != AX_IO_READ || s->req[i].buf != NULL, AX_EIO,
                 "requested bytes were not delivered");
    return AX_OK;
}

static ax_status in_file(ax_task *t, const char *path, ax_status st)
{
    if (st != AX_OK)
        ax_note_file(t, path);
    return st;
}

static ax_status opened(ax_task *t, ax_mt_skips *s, ax_fmt_event *ev)
{
    for (uint32_t i = 0; i < s->nreq; i++)
    {
        s->file[s->of[i]] = s->req[i].file;
        s->req[i].file = NULL;
    }
    s->nreq = 0;
    if (s->pack == NULL)
        return ask_marks(t, s, ev);
    s->req[s->nreq++] = (ax_io_req){
        .kind = AX_IO_READ, .file = s->file[2 * MT_MAX_SKIPS],
        .len = s->pack->size < MAX_LISTING_BYTES ? s->pack->size : MAX_LISTING_BYTES};
    need(s, LISTING, ev);
    return AX_OK;
}

ax_status ax_mt_skips_open(ax_task *t, ax_mt_skips *s, ax_fmt_event *ev, bool *ready)
{
    ax_status st = AX_OK;

    *ready = false;
    switch (s->state)
    {
        case OPENING:
            ask_files(s, ev);
            return AX_OK;
        case OPENED:
            return opened(t, s, ev);
        case LISTING:
            AX_TRY(delivered(t, s));
            st = in_file(t, s->pack->path, take_listing(t, s, s->req[0].buf));
            release(s);
            AX_TRY(st);
            if (s->state != READY)
                return ask_marks(t, s, ev);
            break;
        case MARKS:
            AX_TRY(delivered(t, s));
            for (uint32_t i = 0; i < s->nreq && st == AX_OK; i++)
                st = in_file(t, s->reader[s->of[i]].marks_path,
                             take_marks(t, s, &s->reader[s->of[i]], s->req[i].buf));
            release(s);
            AX_TRY(st);
            s->state = READY;
            break;
        default:
            break;
    }
    *ready = true;
    return AX_OK;
}

/* ---- bytes of granules ----------------------------------------------------------------------- */

bool ax_mt_skips_ask(ax_mt_skips *s, uint32_t g0, uint32_t g1, ax_fmt_event *ev)
{
    for (uint32_t i = 0; i < s->n; i++)
    {
        ax_mt_skip_reader *r = &s->reader[i];
        const ax_mt_marks *m = &r->marks;
        uint32_t a = g0 / r->def->granularity, b = (g1 - 1) / r->def->granularity + 1, k = b;
        uint64_t end;

        for (uint32_t c = 0; c < r->ncur; c++)
            ax_mt_cur_free(&r->cur[c]);
        forget(&r->src);
        if (m->n == 0)
            continue;
        /* A frame that index granule b shares belongs to it. */
        while (m->at[b] > 0 && k < m->n && m->off[k] == m->off[b])
            k++;
        end = m->off[k];
        if (end <= m->off[a])
            continue;
        s->of[s->nreq] = i;
        s->req[s->nreq++] = (ax_io_req){.kind = AX_IO_READ, .file = file_of(s, i, 0),
                                        .off = r->base + m->off[a], .len = end - m->off[a]};
    }
    if (s->nreq > 0)
        need(s, READY, ev);
    return s->nreq > 0;
}

ax_status ax_mt_skips_take(ax_task *t, ax_mt_skips *s)
{
    AX_TRY(delivered(t, s));
    for (uint32_t i = 0; i < s->nreq; i++)
    {
        ax_mt_skip_reader *r = &s->reader[s->of[i]];

        if (r->src.piece == NULL)
            AX_NEW(t, r->src.piece, (ax_mt_piece *) ax_arena_alloc(s->a, sizeof *r->src.piece));
        r->src.piece[0] = (ax_mt_piece){s->req[i].off - r->base, s->req[i].buf};
        r->src.npieces = 1;
        s->req[i].buf = NULL;
    }
    s->nreq = 0;
    return AX_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* A single value as in primary indexes, but from a cursor. */
static ax_status single(ax_task *t, ax_mt_skip_reader *r, const ax_mt_type *ty, ax_mt_value *out)
{
    ax_mt_cur *c = &r->cur[0];
    uint64_t n;
    uint8_t null = 0;

    if (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    if (ty->id == MT_NULLABLE)
    {
        ty = ty->child[0];
        AX_TRY(ax_mt_cur_copy(t, c, &null, 1));
    }
    *out = (ax_mt_value){.null = null != 0};
    if (out->null)
        return AX_OK;
    n = ty->width;
    if (ty->id == MT_STRING)
        AX_TRY(ax_mt_cur_varint(t, c, &n));
    AX_CHECK(t, n <= INT32_MAX, AX_ECORRUPT, "value is too long");
    out->n = (uint32_t) n;
    return ax_mt_cur_take(t, c, &r->win, n, &out->p);
}

static ax_status minmax(ax_task *t, ax_mt_skip_reader *r)
{
    const ax_mt_skip *x = r->def;

    for (uint32_t i = 0; i < x->ncols; i++)
    {
        const ax_mt_type *ty = x->col[i].type;
        uint8_t none = 0;

        if (x->old && (ty->id == MT_NULLABLE ||
                       (ty->id == MT_LOWCARD && ty->child[0]->id == MT_NULLABLE)))
            AX_TRY(ax_mt_cur_copy(t, &r->cur[0], &none, 1));
        r->known[i] = none == 0;
        for (uint32_t k = 0; k < 2 && none == 0; k++)
            AX_TRY(single(t, r, ty, &r->value[2 * i + k]));
    }
    return AX_OK;
}

/* Put a cursor on the first byte of each stream of the set, and the last one behind all. */
static ax_status locate(ax_task *t, ax_mt_skip_reader *r, uint32_t j)
{
    for (uint32_t i = 1; i < r->ncur; i++)
        r->cur[i].placed = false;
    for (uint32_t k = 0; k < r->def->ncols; k++)
    {
        AX_TRY(ax_mt_begin(t, &r->root[k], j));
        AX_TRY(ax_mt_read(t, &r->root[k], NULL, (uint32_t) r->count, NULL));
        AX_CHECK(t, r->root[k].chunk_left == 0, AX_ECORRUPT, "set goes on behind its values");
    }
    return AX_OK;
}

static ax_status set(ax_task *t, ax_mt_skip_reader *r, uint32_t j)
{
    uint64_t off;
    uint32_t at;

    AX_TRY(ax_mt_cur_u64(t, &r->cur[0], &r->count));
    if (r->count == 0)
        return AX_OK;
    AX_CHECK(t, r->count <= INT32_MAX, AX_ECORRUPT, "set has %llu values",
             (unsigned long long) r->count);
    AX_TRY(ax_mt_cur_holds(t, &r->cur[0], r->count * r->def->ncols));
    off = r->cur[0].off;
    at = r->cur[0].pos;
    AX_TRY(locate(t, r, j));
    AX_TRY(ax_mt_cur_at_mark(t, &r->cur[r->ncur - 1], j + 1));
    ax_mt_cur_put(&r->cur[0], off, at);
    for (uint32_t i = 1; i < r->ncur; i++)
        ax_mt_cur_put(&r->cur[i], r->cur[i].start_off, r->cur[i].start_at);
    for (uint32_t k = 0; k < r->def->ncols; k++)
        AX_TRY(ax_mt_begin(t, &r->root[k], j));
    return AX_OK;
}

static ax_status filters(ax_task *t, ax_mt_skip_reader *r)
{
    const ax_mt_skip *x = r->def;

    r->count = 1;
    r->nbytes = x->bytes;
    if (x->kind == MT_S_BLOOM)
    {
        AX_TRY(ax_mt_cur_varint(t, &r->cur[0], &r->count));
        AX_CHECK(t, r->count <= MAX_FILTER_BYTES, AX_ECORRUPT, "filter of %llu values",
                 (unsigned long long) r->count);
        r->nbytes = (x->bits_per * r->count + 7) / 8;
    }
    for (uint32_t i = 0; i < x->ncols; i++)
        AX_TRY(ax_mt_cur_take(t, &r->cur[0], &r->win, r->nbytes, &r->bits[i]));
    return AX_OK;
}

static ax_status decode(ax_task *t, ax_mt_skip_reader *r, uint32_t j)
{
    ax_arena_reset(r->batch.arena);
    r->win.no++;
    for (uint32_t i = 0; i < r->ncur; i++)
        r->cur[i].pinned = 0;
    for (uint32_t k = 0; r->root != NULL && k < r->def->ncols; k++)
        if (r->root[k].node->form == MT_F_LOWCARD)
            ax_mt_retire(&r->root[k], false);
    ax_mt_cur_seek(&r->cur[0], j);
    switch ((ax_mt_skipkind) r->def->kind)
    {
        case MT_S_SET:
            return set(t, r, j);
        case MT_S_MINMAX:
            AX_TRY(minmax(t, r));
            break;
        default:
            AX_TRY(filters(t, r));
    }
    return ax_mt_cur_at_mark(t, &r->cur[0], j + 1);
}

ax_status ax_mt_skip_at(ax_task *t, ax_mt_skips *s, uint32_t i, uint32_t g)
{
    ax_mt_skip_reader *r = &s->reader[i];
    uint32_t j = g / r->def->granularity;
    ax_status st;

    if (r->at == j || r->marks.n == 0)
        return AX_OK;
    st = decode(t, r, j);
    r->at = j;
    if (st != AX_OK)
    {
        ax_note_unit(t, "index granule", j);
        ax_note_file(t, r->path);
    }
    return st;
}

ax_status ax_mt_skip_values(ax_task *t, ax_mt_skip_reader *r, uint32_t k, uint32_t n,
                            ax_mt_vals *v)
{
    return ax_mt_read(t, &r->root[k], &r->win, n, v);
}
