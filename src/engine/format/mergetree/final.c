/* What rows of one key become: the engine of a table and what it makes of each column.
 *
 * All of it is known from the definition of the table (options engine, order_by, partition_key,
 * column): the engine's name, the columns it was given, the sorting key, and the types.  Rows of
 * the same sorting key are one key; a version column orders them, a sign or a mark takes some
 * away, and SummingMergeTree, AggregatingMergeTree and CoalescingMergeTree make one of them.
 *
 * A row of a SummingMergeTree whose sums are all zero is none, so all columns that are summed are
 * read whatever the query wants.  (A server looks only at those that it reads.)
 *
 * Format: mergetree.md, "Rows that replace others". */
#include "mergetree_int.h"

#include <stdio.h>

typedef struct column
{
    const char *name;
    const ax_mt_type *type;
    const char *simple;          /* function of a SimpleAggregateFunction, or NULL */
    bool key;                    /* the sorting or partition key is made of it */
} column;

typedef struct table
{
    ax_task *t;
    ax_arena *a;
    column *col;                 /* [ncols] in the order of the definition */
    uint32_t ncols;
    const char *engine;          /* without Replicated and Shared */
    ax_mt_span arg[4];           /* what the engine was given, without its paths */
    uint32_t nargs;
} table;

enum engine { NO_ENGINE, REPLACING, COLLAPSING, VERSIONED, SUMMING, AGGREGATING, COALESCING };

/* ---- the definition -------------------------------------------------------------------------- */

/* A name, quoted or not, as it is. */
static ax_status plain_name(table *tb, ax_mt_span s, const char **out)
{
    char *p, *at;

    AX_NEW(tb->t, p, (char *) ax_arena_alloc(tb->a, (size_t) (s.end - s.p) + 1));
    at = p;
    if (s.p < s.end && (*s.p == '`' || *s.p == '"'))
    {
        char q = *s.p++;

        for (; s.p < s.end && *s.p != q; s.p++)
        {
            s.p += *s.p == '\\' && s.p + 1 < s.end;
            *at++ = *s.p;
        }
    }
    else
        for (; s.p < s.end; s.p++)
            *at++ = *s.p;
    *at = '\0';
    *out = p;
    return AX_OK;
}

static ax_status add_column(table *tb, ax_mt_span line)
{
    static const char simple[] = "SimpleAggregateFunction(";
    const char *p = line.p, *expr, *end, *stop;
    column *c = &tb->col[tb->ncols];

    if (p < line.end && *p == '`')
    {
        for (p++; p < line.end && *p != '`'; p++)
            p += *p == '\\' && p + 1 < line.end;
        p += p < line.end;
    }
    else
        while (p < line.end && *p != ' ')
            p++;
    AX_TRY(plain_name(tb, (ax_mt_span){line.p, p}, &c->name));
    while (p < line.end && *p == ' ')
        p++;
    end = ax_mt_type_end(p, line.end, &expr);
    AX_TRY(ax_mt_type_parse(tb->t, tb->a, p, (size_t) (end - p), &c->type));
    if ((size_t) (end - p) > sizeof simple && memcmp(p, simple, sizeof simple - 1) == 0)
    {
        p += sizeof simple - 1;
        stop = memchr(p, ',', (size_t) (end - p));
        if (stop != NULL)
            AX_TRY(plain_name(tb, (ax_mt_span){p, stop}, &c->simple));
    }
    tb->ncols++;
    return AX_OK;
}

static ax_status columns(table *tb, const char *options)
{
    const char *s = options;
    uint32_t n = 0;
    size_t len;

    while ((s = ax_mt_option(s, "column", &len)) != NULL)
    {
        s += len;
        n++;
    }
    AX_NEW(tb->t, tb->col, (column *) ax_arena_alloc0(tb->a, (n + 1) * sizeof *tb->col));
    s = options;
    while ((s = ax_mt_option(s, "column", &len)) != NULL)
    {
        AX_TRY(add_column(tb, (ax_mt_span){s, s + len}));
        s += len;
    }
    return AX_OK;
}

/* Name and arguments: ReplicatedReplacingMergeTree('/path', 'replica', v). */
static ax_status engine(table *tb, const char *options)
{
    size_t n;
    const char *s = ax_mt_option(options, "engine", &n), *open;
    ax_mt_span args, piece;

    AX_CHECK(tb->t, s != NULL, AX_EOPTION,
             "the definition of the table is not known, which tells what its rows become");
    open = memchr(s, '(', n);
    args = open != NULL ? (ax_mt_span){open + 1, s + n - 1} : (ax_mt_span){s + n, s + n};
    AX_TRY(plain_name(tb, (ax_mt_span){s, open != NULL ? open : s + n}, &tb->engine));
    if (strncmp(tb->engine, "Replicated", 10) == 0)
        tb->engine += 10;
    else if (strncmp(tb->engine, "Shared", 6) == 0)
        tb->engine += 6;
    while (tb->nargs < 4 && ax_mt_next_piece(&args, &piece))
        if (piece.p < piece.end && *piece.p != '\'')
            tb->arg[tb->nargs++] = piece;
    return AX_OK;
}

static column *find(table *tb, const char *name)
{
    for (uint32_t i = 0; i < tb->ncols; i++)
        if (strcmp(tb->col[i].name, name) == 0)
            return &tb->col[i];
    return NULL;
}

static bool word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Does the text of a key name the column? */
static bool names(const char *s, size_t n, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i + len <= n; i++)
        if (memcmp(s + i, name, len) == 0 && (i == 0 || !word_char(s[i - 1])) &&
            (i + len == n || !word_char(s[i + len])))
            return true;
    return false;
}

/* ---- columns that are read ------------------------------------------------------------------- */

static ax_status hide(table *tb, ax_final *out, const column *c, ax_type type, ax_virtual virt,
                      uint32_t *at)
{
    ax_colspec *h = &out->hidden[out->nhidden];
    const char **path;

    AX_NEW(tb->t, path, (const char **) ax_arena_alloc(tb->a, sizeof *path));
    path[0] = c->name;
    *h = (ax_colspec){.name = c->name, .path = path, .npath = 1, .field_id = -1, .type = type,
                      .virt = (uint8_t) virt};
    *at = out->nhidden++;
    return AX_OK;
}

static ax_status hide_order(table *tb, ax_final *out, const column *c, uint32_t *at)
{
    ax_type type;

    AX_CHECK(tb->t, ax_mt_order_type(c->type, &type), AX_EUNSUPPORTED,
             "rows cannot be merged by column \"%s\" of type %s", c->name, c->type->text);
    return hide(tb, out, c, type, AX_VIRT_ORDER, at);
}

static ax_status sorting_key(table *tb, ax_final *out, const char *s, size_t n)
{
    ax_mt_span all = {s, s + n}, piece;
    uint32_t count = 2, at;
    const char *name;
    bool *desc;

    for (size_t i = 0; i < n; i++)
        count += s[i] == ',';
    AX_NEW(tb->t, out->hidden,
           (ax_colspec *) ax_arena_alloc0(tb->a, (count + 2 + tb->ncols) * sizeof *out->hidden));
    AX_NEW(tb->t, desc, (bool *) ax_arena_alloc0(tb->a, count));
    while (ax_mt_next_piece(&all, &piece))
    {
        bool down = piece.end - piece.p > 5 && memcmp(piece.end - 5, " DESC", 5) == 0;
        column *c;

        piece.end -= down ? 5 : 0;
        AX_TRY(plain_name(tb, piece, &name));
        c = find(tb, name);
        AX_CHECK(tb->t, c != NULL, AX_EUNSUPPORTED,
                 "rows cannot be merged by the expression %s of the sorting key", name);
        desc[out->nkeys] = down;
        AX_TRY(hide_order(tb, out, c, &at));
        out->nkeys++;
    }
    AX_CHECK(tb->t, out->nkeys > 0, AX_EUNSUPPORTED, "the table has no sorting key");
    out->desc = desc;
    return AX_OK;
}

static ax_status named_by(table *tb, ax_mt_span arg, column **out)
{
    const char *name;

    AX_TRY(plain_name(tb, arg, &name));
    *out = find(tb, name);
    AX_CHECK(tb->t, *out != NULL, AX_EOPTION, "the definition has no column \"%s\", which %s uses",
             name, tb->engine);
    return AX_OK;
}

/* An integer column: a sign, a mark. */
static ax_status hide_sign(table *tb, ax_final *out, ax_mt_span arg)
{
    column *c;

    AX_TRY(named_by(tb, arg, &c));
    return hide(tb, out, c, ax_type_make(AX_T_INT2), AX_VIRT_NONE, &out->sign);
}

static ax_status hide_version(table *tb, ax_final *out, ax_mt_span arg, bool in_key)
{
    column *c;
    uint32_t at = 0;

    AX_TRY(named_by(tb, arg, &c));
    AX_TRY(hide_order(tb, out, c, &at));
    if (in_key)
    {
        out->nkeys++;
        c->key = true;
    }
    else
        out->version = at;
    return AX_OK;
}

/* ---- folds ----------------------------------------------------------------------------------- */

static bool is_nullable(const ax_mt_type *ty)
{
    if (ty->id == MT_LOWCARD)
        ty = ty->child[0];
    return ty->id == MT_NULLABLE;
}

static bool summable(const ax_mt_type *ty)
{
    switch ((ax_mt_tid) ax_mt_bare(ty)->id)
    {
        case MT_INT:
        case MT_UINT:
        case MT_BOOL:
        case MT_FLOAT:
        case MT_BFLOAT16:
        case MT_DECIMAL:
            return true;
        default:
            return false;
    }
}

/* Can values of the type, declared so, be added up? */
static const char *fold_sum(const ax_mt_type *ty, ax_type as, ax_fold_col *f)
{
    ty = ax_mt_bare(ty);
    f->fold = AX_FOLD_SUM;
    f->bits = ty->width <= 16 ? (uint8_t) (8 * ty->width) : 0;
    f->is_signed = ty->id != MT_UINT && ty->id != MT_BOOL;
    f->single = ty->id == MT_FLOAT && ty->width == 4;
    if (ty->id == MT_BFLOAT16)
        return "sums of BFloat16 are not supported";
    if (ty->width > 16)
        return "sums of 256 bits are not supported";
    if (ty->id == MT_FLOAT)
        return as.id == AX_T_FLOAT4 || as.id == AX_T_FLOAT8 ? NULL
                                                            : "it is declared as another type";
    switch (as.id)
    {
        case AX_T_BOOL:
            return ty->id == MT_BOOL ? NULL : "it is declared as another type";
        case AX_T_INT2:
        case AX_T_INT4:
        case AX_T_INT8:
            return ty->id != MT_DECIMAL ? NULL : "it is declared as another type";
        case AX_T_NUMERIC:
            return as.precision == 0 || as.scale == (ty->id == MT_DECIMAL ? ty->scale : 0)
                       ? NULL : "it is declared with another scale";
        default:
            return "it is declared as another type";
    }
}

/* MIN and MAX compare declared values. */
static ax_status fold_extreme(table *tb, const ax_mt_type *ty, const ax_colspec *col,
                              ax_fold_col *f)
{
    ax_mt_conv conv;

    if (ax_mt_conv_make(tb->t, tb->a, ty, col->type, col, &conv) != AX_OK)
        ax_error_clear(&tb->t->err); /* binding tells it better */
    else if (!conv.ordered)
        f->refusal = "its values cannot be compared as they are declared";
    return AX_OK;
}

static ax_status fold_simple(table *tb, const column *c, const ax_colspec *col, ax_fold_col *f)
{
    static const struct { const char *name; uint8_t fold; } known[] = {
        {"any", AX_FOLD_ANY}, {"anyLast", AX_FOLD_ANY_LAST}, {"any_respect_nulls", AX_FOLD_FIRST},
        {"anyLast_respect_nulls", AX_FOLD_LAST}, {"first_value", AX_FOLD_ANY},
        {"last_value", AX_FOLD_ANY_LAST}, {"min", AX_FOLD_MIN}, {"max", AX_FOLD_MAX},
        {"sum", AX_FOLD_SUM}, {"sumWithOverflow", AX_FOLD_SUM}, {"groupBitAnd", AX_FOLD_AND},
        {"groupBitOr", AX_FOLD_OR}, {"groupBitXor", AX_FOLD_XOR},
        {"groupArrayArray", AX_FOLD_CONCAT},
    };
    uint32_t i, n = sizeof known / sizeof known[0];

    for (i = 0; i < n && strcmp(known[i].name, c->simple) != 0;)
        i++;
    f->refusal = "its aggregate function is not supported";
    if (i == n)
        return AX_OK;
    f->refusal = NULL;
    f->fold = known[i].fold;
    switch ((ax_fold) f->fold)
    {
        case AX_FOLD_MIN:
        case AX_FOLD_MAX:
            return fold_extreme(tb, c->type, col, f);
        case AX_FOLD_SUM:
            f->refusal = summable(c->type) ? fold_sum(c->type, col->type, f)
                                           : "its values cannot be added";
            return AX_OK;
        case AX_FOLD_AND:
        case AX_FOLD_OR:
        case AX_FOLD_XOR:
            f->refusal = summable(c->type) ? fold_sum(c->type, col->type, f)
                                           : "its values are no integers";
            f->fold = known[i].fold;
            return AX_OK;
        case AX_FOLD_CONCAT:
            if (col->type.id != AX_T_LIST)
                f->refusal = "it is not declared as an array";
            return AX_OK;
        default:
            return AX_OK;
    }
}

/* A Nested table whose name ends in Map: is it one of keys and numbers, which are added up? */
enum map { NO_MAP, ONE_KEY, MORE_KEYS };

/* The length of the Nested table's name with the dot, 0: it is no such table. */
static size_t map_name(const column *c)
{
    const char *dot = strchr(c->name, '.');

    return c->type->id == MT_ARRAY && dot != NULL && dot - c->name > 3 &&
                   memcmp(dot - 3, "Map", 3) == 0
               ? (size_t) (dot - c->name) + 1 : 0;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static enum map map_of(const table *tb, const column *c)
{
    size_t len = map_name(c);
    uint32_t n = 0, keys = 0;

    for (uint32_t i = 0; len > 0 && i < tb->ncols; i++)
    {
        const column *e = &tb->col[i];
        const ax_mt_type *ty;

        if (map_name(e) != len || memcmp(e->name, c->name, len) != 0)
            continue;
        ty = e->type->child[0];
        if (n++ == 0 || ends_with(e->name, "ID") || ends_with(e->name, "Key") ||
            ends_with(e->name, "Type"))
        {
            keys++;
            if (ty->id != MT_INT && ty->id != MT_UINT && ty->id != MT_DATE &&
                ty->id != MT_DATETIME && ty->id != MT_STRING)
                return MORE_KEYS; /* some are keys, too, in an order that we have not */
        }
        else if (!summable(ty))
            return ty->id == MT_NULLABLE || ty->id == MT_LOWCARD ? MORE_KEYS : NO_MAP;
    }
    return n < 2 ? NO_MAP : keys == 1 ? ONE_KEY : MORE_KEYS;
}

static ax_status fold_map(const column *c, const ax_colspec *col, ax_fold_col *f)
{
    const ax_mt_type *ty = c->type->child[0];
    ax_type as = col->type, elem;

    f->fold = AX_FOLD_MAP;
    if (as.id != AX_T_LIST)
    {
        f->refusal = "it is not declared as an array";
        return AX_OK;
    }
    if (ty->id == MT_STRING && col->encoding_check != AX_ENC_FAIL)
    {
        f->refusal = "keys are changed by encoding_check";
        return AX_OK;
    }
    elem = as.nested != NULL && as.nested->n == 1 ? as.nested->type[0] : ax_mt_default_type(ty);
    if (summable(ty))
        f->refusal = fold_sum(ty, elem, f);
    f->fold = AX_FOLD_MAP;
    return AX_OK;
}

/* Is it one of those the engine was given, or was it given none? */
static bool listed(const table *tb, const column *c)
{
    if (tb->nargs == 0)
        return true;
    for (uint32_t i = 0; i < tb->nargs; i++)
        if (names(tb->arg[i].p, (size_t) (tb->arg[i].end - tb->arg[i].p), c->name))
            return true;
    return false;
}

/* States that are declared as their results, where these can be merged as well: where a state
 * without a value has a result that no value has. */
static ax_status fold_result(table *tb, const column *c, const ax_colspec *col, ax_fold_col *f)
{
    const ax_mt_agg *g = ax_mt_bare(c->type)->agg;
    column result = *c;

    f->refusal = "it is declared as a result and not as a state, which is bytea";
    if (g == NULL || g->result == NULL ||
        (g->kind != MT_A_COUNT && g->kind != MT_A_NUMBER && !(g->kind == MT_A_ONE && g->nullable)))
        return AX_OK;
    result.simple = g->kind == MT_A_COUNT ? "sum" : g->name;
    result.type = g->result;
    return fold_simple(tb, &result, col, f);
}

static ax_status fold_of(table *tb, enum engine e, const column *c, const ax_colspec *col,
                         ax_fold_col *f)
{
    *f = (ax_fold_col){.fold = AX_FOLD_FIRST};
    if (c->key)
        return AX_OK;
    if (e == COALESCING)
    {
        if (listed(tb, c))
            f->fold = is_nullable(c->type) ? AX_FOLD_ANY_LAST : AX_FOLD_LAST;
        return AX_OK;
    }
    if (e == SUMMING && map_of(tb, c) == ONE_KEY)
        return fold_map(c, col, f);
    if (e == SUMMING && !listed(tb, c))
        return AX_OK;
    if (c->simple != NULL)
        return fold_simple(tb, c, col, f);
    if (ax_mt_bare(c->type)->id == MT_AGGREGATE)
        return col->type.id == AX_T_BYTEA
                   ? ax_mt_state_fold(tb->t, tb->a, ax_mt_bare(c->type), col->type, f)
                   : fold_result(tb, c, col, f);
    if (e == SUMMING && summable(c->type))
    {
        f->refusal = fold_sum(c->type, col->type, f);
        f->counts = true;
    }
    return AX_OK;
}

/* Does a row of a SummingMergeTree stay whatever its sums are? */
static bool always_stays(const table *tb)
{
    for (uint32_t i = 0; i < tb->ncols; i++)
    {
        const column *c = &tb->col[i];
        bool folded = c->simple != NULL || ax_mt_bare(c->type)->id == MT_AGGREGATE;

        if (!c->key && (map_of(tb, c) == ONE_KEY || (folded && listed(tb, c))))
            return true;
    }
    return false;
}

static column *declared(table *tb, const ax_colspec *col)
{
    return col->virt == AX_VIRT_NONE && col->npath <= 1
               ? find(tb, col->npath == 1 ? col->path[0] : col->name) : NULL;
}

/* Where column c of the table is among declared and hidden ones; UINT32_MAX: nowhere. */
static uint32_t place_of(table *tb, const column *c, const ax_colspec *col, uint32_t ncols,
                         const ax_final *out)
{
    for (uint32_t i = 0; i < ncols; i++)
        if (declared(tb, &col[i]) == c)
            return i;
    for (uint32_t i = 0; i < out->nhidden; i++)
        if (out->hidden[i].virt == AX_VIRT_NONE && strcmp(out->hidden[i].name, c->name) == 0)
            return ncols + i;
    return UINT32_MAX;
}

/* Of a map all columns are read, if one is declared. */
static ax_status hide_maps(table *tb, const ax_colspec *col, uint32_t ncols, ax_final *out)
{
    uint32_t at;

    for (uint32_t i = 0; i < tb->ncols; i++)
    {
        const column *c = &tb->col[i];
        size_t len = map_name(c);
        bool any = false;

        AX_CHECK(tb->t, len == 0 || map_of(tb, c) != MORE_KEYS, AX_EUNSUPPORTED,
                 "sums of nested tables by several keys are not supported: column \"%s\"", c->name);
        if (len == 0 || map_of(tb, c) != ONE_KEY ||
            place_of(tb, c, col, ncols, out) != UINT32_MAX)
            continue;
        for (uint32_t k = 0; k < ncols && !any; k++)
        {
            const column *d = declared(tb, &col[k]);

            any = d != NULL && map_name(d) == len && memcmp(d->name, c->name, len) == 0;
        }
        if (any)
            AX_TRY(hide(tb, out, c, ax_mt_default_type(c->type), AX_VIRT_NONE, &at));
    }
    return AX_OK;
}

/* Tell the columns of a map of each other. */
static ax_status join_maps(table *tb, const ax_colspec *col, uint32_t ncols, const ax_final *out,
                           ax_fold_col *f)
{
    for (uint32_t i = 0; i < tb->ncols; i++)
    {
        const column *c = &tb->col[i];
        uint32_t at = place_of(tb, c, col, ncols, out), *map;
        size_t len = map_name(c);

        if (at == UINT32_MAX || f[at].fold != AX_FOLD_MAP)
            continue;
        AX_NEW(tb->t, map, (uint32_t *) ax_arena_alloc(tb->a, tb->ncols * sizeof *map));
        f[at].map = map;
        for (uint32_t k = 0; k < tb->ncols; k++)
            if (map_name(&tb->col[k]) == len && memcmp(tb->col[k].name, c->name, len) == 0)
                map[f[at].nmap++] = place_of(tb, &tb->col[k], col, ncols, out);
    }
    return AX_OK;
}

static ax_status folds(table *tb, enum engine e, const ax_colspec *col, uint32_t ncols,
                       ax_final *out)
{
    bool stays = e != SUMMING || always_stays(tb);
    uint32_t hidden0 = out->nhidden, at;
    ax_fold_col *f;

    for (uint32_t i = 0; i < tb->ncols && !stays; i++)
    {
        bool known = false;

        for (uint32_t k = 0; k < ncols && !known; k++)
            known = declared(tb, &col[k]) == &tb->col[i];
        if (!known && !tb->col[i].key && summable(tb->col[i].type) && listed(tb, &tb->col[i]))
            AX_TRY(hide(tb, out, &tb->col[i], ax_mt_default_type(tb->col[i].type), AX_VIRT_NONE,
                        &at));
    }
    if (e == SUMMING)
        AX_TRY(hide_maps(tb, col, ncols, out));
    AX_NEW(tb->t, f,
           (ax_fold_col *) ax_arena_alloc0(tb->a, (ncols + out->nhidden + 1) * sizeof *f));
    out->fold = f;
    for (uint32_t i = 0; i < ncols; i++)
    {
        const column *c = declared(tb, &col[i]);

        if (c != NULL)
            AX_TRY(fold_of(tb, e, c, &col[i], &f[i]));
    }
    for (uint32_t i = hidden0; i < out->nhidden; i++)
        AX_TRY(fold_of(tb, e, find(tb, out->hidden[i].name), &out->hidden[i], &f[ncols + i]));
    for (uint32_t i = 0; i < ncols + out->nhidden && stays; i++)
        f[i].counts = false;
    return join_maps(tb, col, ncols, out, f);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const struct { const char *name; enum engine engine; uint8_t rule; uint32_t min, max; }
    engines[] = {
        {"ReplacingMergeTree", REPLACING, AX_FINAL_LAST, 0, 2},
        {"CollapsingMergeTree", COLLAPSING, AX_FINAL_COLLAPSE, 1, 1},
        {"VersionedCollapsingMergeTree", VERSIONED, AX_FINAL_CANCEL, 2, 2},
        {"SummingMergeTree", SUMMING, AX_FINAL_FOLD, 0, 4},
        {"AggregatingMergeTree", AGGREGATING, AX_FINAL_FOLD, 0, 4},
        {"CoalescingMergeTree", COALESCING, AX_FINAL_FOLD, 0, 4},
};

/* Which declared columns have one value in all rows of a key?  Not floats, which have two zeros. */
static ax_status key_columns(table *tb, const ax_colspec *col, uint32_t ncols, ax_final *out)
{
    bool *is_key;

    AX_NEW(tb->t, is_key, (bool *) ax_arena_alloc0(tb->a, ncols + 1));
    for (uint32_t i = 0; i < ncols; i++)
    {
        const column *c = declared(tb, &col[i]);

        for (uint32_t k = 0; c != NULL && k < out->nkeys; k++)
            is_key[i] = is_key[i] || (strcmp(out->hidden[k].name, c->name) == 0 &&
                                      ax_mt_bare(c->type)->id != MT_FLOAT &&
                                      ax_mt_bare(c->type)->id != MT_BFLOAT16);
    }
    out->is_key = is_key;
    return AX_OK;
}

ax_status ax_mt_final(ax_task *t, ax_arena *a, const char *options, const ax_colspec *col,
                      uint32_t ncols, const ax_bind_opts *opts, ax_final *out)
{
    table tb = {.t = t, .a = a};
    size_t n, npart = 0;
    const char *key, *part;
    uint32_t i, count = sizeof engines / sizeof engines[0];

    out->version = out->sign = UINT32_MAX;
    AX_CHECK(t, opts->match_by == AX_BY_NAME && !opts->case_insensitive, AX_EUNSUPPORTED,
             "rows are merged only where columns are found by their exact names");
    AX_TRY(engine(&tb, options));
    for (i = 0; i < count && strcmp(engines[i].name, tb.engine) != 0;)
        i++;
    AX_CHECK(t, i < count, AX_EUNSUPPORTED, "rows of engine %s are not merged", tb.engine);
    AX_CHECK(t, tb.nargs >= engines[i].min && tb.nargs <= engines[i].max, AX_EOPTION,
             "engine %s of the definition has %u arguments", tb.engine, tb.nargs);
    AX_TRY(columns(&tb, options));
    key = ax_mt_option(options, "order_by", &n);
    AX_CHECK(t, key != NULL, AX_EOPTION, "the definition of the table has no ORDER BY");
    part = ax_mt_option(options, "partition_key", &npart);
    for (uint32_t k = 0; k < tb.ncols; k++)
        tb.col[k].key = names(key, n, tb.col[k].name) ||
                        (part != NULL && names(part, npart, tb.col[k].name));
    out->rule = engines[i].rule;
    out->title = tb.engine;
    AX_NEW(t, out->key, ax_arena_strndup(a, key, n));
    AX_TRY(sorting_key(&tb, out, key, n));
    switch (engines[i].engine)
    {
        case REPLACING:
            if (tb.nargs > 0)
                AX_TRY(hide_version(&tb, out, tb.arg[0], false));
            if (tb.nargs > 1)
                AX_TRY(hide_sign(&tb, out, tb.arg[1]));
            break;
        case COLLAPSING:
            AX_TRY(hide_sign(&tb, out, tb.arg[0]));
            break;
        case VERSIONED:
            AX_TRY(hide_version(&tb, out, tb.arg[1], true));
            AX_TRY(hide_sign(&tb, out, tb.arg[0]));
            break;
        default:
            AX_TRY(folds(&tb, engines[i].engine, col, ncols, out));
    }
    return key_columns(&tb, col, ncols, out);
}
