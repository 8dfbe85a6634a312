/* Sources: what was declared, and what the files' metadata says about it. */
#include "ax_int.h"

#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

static ax_status copy_text(ax_task *t, ax_arena *a, const char *s, const char **out)
{
    *out = NULL;
    if (s != NULL)
        AX_NEW(t, *out, ax_arena_strndup(a, s, strlen(s)));
    return AX_OK;
}

static ax_status copy_value(ax_task *t, ax_arena *a, const ax_value *v, const ax_value **out)
{
    ax_value *c;

    *out = NULL;
    if (v == NULL)
        return AX_OK;
    AX_NEW(t, c, (ax_value *) ax_arena_alloc(a, sizeof *c));
    *c = *v;
    if (!v->null && ax_type_is_str(v->type))
        AX_NEW(t, c->u.s.p,
               (const uint8_t *) ax_arena_strndup(a, (const char *) v->u.s.p, v->u.s.len));
    *out = c;
    return AX_OK;
}

static ax_status copy_texts(ax_task *t, ax_arena *a, const char *const *in, uint32_t n,
                            const char ***out)
{
    AX_NEW(t, *out, (const char **) ax_arena_alloc0(a, (n + 1) * sizeof(char *)));
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(copy_text(t, a, in[i], &(*out)[i]));
    return AX_OK;
}

static ax_status copy_columns(ax_task *t, ax_source *s, const ax_source_spec *spec)
{
    ax_arena *a = s->arena;

    AX_NEW(t, s->col, (ax_colspec *) ax_arena_alloc0(a, (spec->ncols + 1) * sizeof *s->col));
    for (uint32_t i = 0; i < spec->ncols; i++)
    {
        const ax_colspec *from = &spec->col[i];
        ax_colspec *to = &s->col[i];
        const char **path;

        *to = *from;
        AX_TRY(copy_text(t, a, from->name, &to->name));
        AX_TRY(copy_texts(t, a, from->path, from->npath, &path));
        to->path = path;
        AX_TRY(copy_text(t, a, from->sub_path, &to->sub_path));
        AX_TRY(copy_value(t, a, from->deflt, &to->deflt));
        if (from->zone != NULL)
        {
            uint8_t *zone;

            AX_NEW(t, zone, (uint8_t *) ax_arena_alloc(a, from->zone_len));
            memcpy(zone, from->zone, from->zone_len);
            to->zone = zone;
        }
    }
    s->ncols = spec->ncols;
    return AX_OK;
}

static ax_status source_fill(ax_task *t, ax_source *s, const ax_source_spec *spec)
{
    if (spec->format != NULL && strcmp(spec->format, "auto") != 0)
    {
        s->format = ax_format_find(spec->format);
        AX_CHECK(t, s->format != NULL, AX_EOPTION, "format \"%s\" is not known", spec->format);
    }
    s->bind = spec->bind;
    s->merged = spec->merged;
    s->allow_no_files = spec->allow_no_files;
    s->npaths = spec->npaths;
    AX_TRY(copy_texts(t, s->arena, spec->path, spec->npaths, &s->path));
    AX_TRY(copy_text(t, s->arena, spec->options, &s->options));
    return copy_columns(t, s, spec);
}

ax_status ax_source_create(ax_engine *e, const ax_source_spec *spec, ax_source **out, ax_error *err)
{
    ax_source *s = (ax_source *) ax_obj_alloc(sizeof *s);
    ax_task t = {0};
    ax_status st = AX_ENOMEM;

    ax_error_clear(err);
    ax_error_clear(&t.err);
    t.budget = &e->budget;
    *out = NULL;
    if (s != NULL)
    {
        s->env = &e->env;
        s->arena = ax_arena_create(&e->budget, 0);
        st = s->arena != NULL ? source_fill(&t, s, spec) : ax_fail_nomem(&t, 0);
    }
    if (st != AX_OK)
    {
        *err = t.err;
        err->code = st;
        ax_source_destroy(s);
        return st;
    }
    *out = s;
    return AX_OK;
}

void ax_source_destroy(ax_source *s)
{
    if (s == NULL)
        return;
    ax_snapshot_unref(s->snap);
    ax_snapshot_unref(s->earlier);
    ax_arena_destroy(s->arena);
    ax_obj_free(s);
}

/* ---- values of whole files ------------------------------------------------------------------- */

ax_status ax_source_fix(ax_source *s, uint32_t i, const ax_fixed_col *fixed, uint32_t n,
                        ax_error *err)
{
    ax_snapfile *f = &s->snap->file[i];
    ax_task t = {0};
    ax_fixed_col *all;
    ax_status st = AX_OK;

    ax_error_clear(err);
    ax_error_clear(&t.err);
    all = (ax_fixed_col *) ax_arena_alloc(s->snap->arena, (f->nfixed + n + 1) * sizeof *all);
    if (all == NULL)
        st = ax_fail_nomem(&t, (f->nfixed + n) * sizeof *all);
    for (uint32_t k = 0; k < n && st == AX_OK; k++)
    {
        const ax_value *copy;

        st = copy_value(&t, s->snap->arena, &fixed[k].value, &copy);
        if (st == AX_OK)
            all[k] = (ax_fixed_col){fixed[k].col, *copy};
    }
    if (st != AX_OK)
    {
        *err = t.err;
        return st;
    }
    if (f->nfixed > 0)
        memcpy(all + n, f->fixed, f->nfixed * sizeof *all);
    f->fixed = all;
    f->nfixed += n;
    return AX_OK;
}

/* ---- facts ----------------------------------------------------------------------------------- */

uint32_t ax_source_files(const ax_source *s) { return s->snap != NULL ? s->snap->nfiles : 0; }

const ax_fmt_file *ax_source_file(const ax_source *s, uint32_t i)
{
    return ax_snapfile_file(&s->snap->file[i]);
}

const char *ax_source_file_path(const ax_source *s, uint32_t i) { return s->snap->file[i].path; }

bool ax_source_file_facts(const ax_source *s, uint32_t i, ax_file_facts *out)
{
    const ax_lake_file *f = s->snap->file[i].lake;

    *out = (ax_file_facts){f->size, f->mtime_ns, f->etag};
    return f->listed;
}

const char *const *ax_source_file_part_names(const ax_source *s, uint32_t i, uint32_t *n)
{
    *n = s->snap->file[i].lake->nparts;
    return s->snap->file[i].lake->part_name;
}

const char *const *ax_source_file_part_values(const ax_source *s, uint32_t i)
{
    return s->snap->file[i].lake->part_value;
}

static const ax_fmt_file *first_opened(const ax_source *s)
{
    for (uint32_t i = 0; i < ax_source_files(s); i++)
        if (ax_source_file(s, i) != NULL)
            return ax_source_file(s, i);
    return NULL;
}

uint32_t ax_source_order(const ax_source *s, ax_sort_key_claim *key, uint32_t max)
{
    ax_sort_key_claim one[16];
    uint32_t n = 0;

    max = max < 16 ? max : 16;
    for (uint32_t f = 0; f < ax_source_files(s); f++)
    {
        const ax_fmt_file *file = ax_source_file(s, f);
        uint32_t m = 0;

        if (file == NULL || file->format->order == NULL || s->snap->file[f].bind == NULL)
            return 0;
        if (file->nrows == 0)
            continue; /* it is ordered by anything */
        m = file->format->order(s->snap->file[f].bind, one, max);
        if (n == 0 && m > 0)
            memcpy(key, one, m * sizeof *key);
        if (m == 0)
            return 0;
        n = n == 0 || m < n ? m : n;
        for (uint32_t i = 0; i < n; i++)
            if (one[i].field != key[i].field || one[i].desc != key[i].desc ||
                one[i].nulls_first != key[i].nulls_first)
                n = i;
        if (n == 0)
            return 0;
    }
    return n;
}

const ax_final *ax_source_final(const ax_source *s) { return s->final; }

const ax_schema *ax_source_schema(const ax_source *s)
{
    static const ax_schema none;
    const ax_fmt_file *f = first_opened(s);

    return f != NULL ? &f->schema : &none;
}

const char *ax_source_format(const ax_source *s)
{
    const ax_fmt_file *f = first_opened(s);
    const ax_format *format = f != NULL ? f->format : NULL;

    if (format == NULL && ax_source_files(s) > 0)
        format = s->format != NULL ? s->format
                                   : ax_format_guess(ax_source_file_path(s, 0), NULL, 0, NULL, 0);
    return format != NULL ? format->name : "";
}

int64_t ax_source_bytes(const ax_source *s)
{
    ax_opened sum;

    if (s->snap == NULL)
        return 0;
    sum = ax_snapshot_opened(s->snap);
    return s->snap->bytes - sum.bytes + sum.bytes_now;
}

/* Of files that are not open, by their size. */
static double rows_per_byte(const ax_opened *sum)
{
    return sum->bytes > 0 && sum->rows > 0 ? (double) sum->rows / (double) sum->bytes : 0.01;
}

int64_t ax_source_rows(const ax_source *s)
{
    ax_opened sum;

    if (s->snap == NULL)
        return 0;
    sum = ax_snapshot_opened(s->snap);
    if (sum.rows < 0 || sum.files == s->snap->nfiles)
        return sum.rows;
    return sum.rows + (int64_t) ((double) (s->snap->bytes - sum.bytes) * rows_per_byte(&sum));
}

uint32_t ax_source_splits(const ax_source *s)
{
    ax_opened sum;

    if (s->snap == NULL)
        return 0;
    sum = ax_snapshot_opened(s->snap);
    return sum.splits + (s->snap->nfiles - sum.files);
}

#define FACTS_FILES 64u

uint32_t ax_source_facts_every(const ax_source *s)
{
    uint32_t n = s->snap != NULL ? ax_snapshot_opened(s->snap).files : 0;

    return n > FACTS_FILES ? (n + FACTS_FILES - 1) / FACTS_FILES : 1;
}

/* Widen `all` by one split's bounds; `first`: it has none yet. */
static void add_bounds(ax_bounds *all, const ax_bounds *b, bool first)
{
    if (b->nulls >= 0 && b->rows >= 0 && b->nulls == b->rows)
    {
        /* Only nulls: says nothing about the values. */
    }
    else if (first)
    {
        all->has_min = b->has_min;
        all->has_max = b->has_max;
        all->min = b->min;
        all->max = b->max;
        all->min_exact = b->min_exact;
        all->max_exact = b->max_exact;
    }
    else
    {
        all->has_min = all->has_min && b->has_min;
        all->has_max = all->has_max && b->has_max;
        if (all->has_min && ax_value_cmp(&b->min, &all->min) < 0)
        {
            all->min = b->min;
            all->min_exact = b->min_exact;
        }
        if (all->has_max && ax_value_cmp(&b->max, &all->max) > 0)
        {
            all->max = b->max;
            all->max_exact = b->max_exact;
        }
    }
    all->nulls = all->nulls < 0 || b->nulls < 0 ? -1 : all->nulls + b->nulls;
    all->rows = all->rows < 0 || b->rows < 0 ? -1 : all->rows + b->rows;
}

static bool only_nulls(const ax_bounds *b)
{
    return b->nulls >= 0 && b->nulls == b->rows;
}

/* Distinct values of whole files.  Few are counted; of many, changes from file to file. */
#define SEEN_MAX 64u

typedef struct fixed_values
{
    const ax_value *seen[SEEN_MAX];
    uint32_t n, changes;
    bool many;
    const ax_value *last;
} fixed_values;

static bool same_value(const ax_value *a, const ax_value *b)
{
    return a->null || b->null ? a->null == b->null : ax_value_cmp(a, b) == 0;
}

static void add_fixed(fixed_values *v, const ax_value *x)
{
    if (v->last != NULL && same_value(v->last, x))
        return;
    v->last = x;
    v->changes++;
    for (uint32_t i = 0; i < v->n; i++)
        if (same_value(v->seen[i], x))
            return;
    if (v->n < SEEN_MAX)
        v->seen[v->n++] = x;
    else
        v->many = true;
}

static const ax_value *fixed_value(const ax_snapfile *f, uint32_t col)
{
    for (uint32_t i = 0; i < f->nfixed; i++)
        if (f->fixed[i].col == col)
            return &f->fixed[i].value;
    return NULL;
}

/* A column that the files fix: its value and rows as far as they are known. */
static void fixed_facts(const ax_snapfile *f, const ax_value *v, double per_byte, bool *first,
                        ax_col_facts *out)
{
    const ax_fmt_file *file = ax_snapfile_file(f);
    int64_t rows = file != NULL ? file->nrows : (int64_t) ((double) f->size * per_byte);
    ax_bounds b = {.rows = rows, .nulls = v->null ? rows : 0};

    b.has_min = b.has_max = !v->null;
    b.min = b.max = *v;
    add_bounds(&out->bounds, &b, *first);
    *first = *first && v->null;
    if (v->type.phys == AX_P_STR && !v->null)
        out->width += (double) v->u.s.len * (double) (rows > 0 ? rows : 0);
}

/* What one opened file says; false: not all of its splits have bounds. */
static bool file_facts(const ax_snapfile *f, const ax_fmt_file *file, uint32_t col, bool *first,
                       ax_col_facts *out)
{
    const ax_format *fmt = file->format;
    double distinct = fmt->distinct != NULL ? fmt->distinct(f->bind, col) : 0;
    double width = fmt->width != NULL ? fmt->width(f->bind, col) : 0;

    /* Files may share values: the largest of them is the safe guess. */
    if (distinct > out->distinct)
        out->distinct = distinct;
    if (file->nrows > 0)
        out->width += width * (double) file->nrows;
    for (uint32_t sp = 0; sp < file->nsplits; sp++)
    {
        ax_bounds b;

        memset(&b, 0, sizeof b);
        if (fmt->bounds == NULL || !fmt->bounds(f->bind, sp, col, &b))
            return false;
        add_bounds(&out->bounds, &b, *first);
        *first = *first && only_nulls(&b);
    }
    return true;
}

bool ax_source_col_facts(const ax_source *s, uint32_t col, ax_col_facts *out)
{
    bool known = true, first = true;
    fixed_values fixed = {.n = 0};
    uint32_t every = ax_source_facts_every(s), nopen = 0;
    ax_opened sum;
    double rows = 0;

    memset(out, 0, sizeof *out);
    if (ax_source_files(s) == 0 || col >= s->ncols)
        return false;
    sum = ax_snapshot_opened(s->snap);
    for (uint32_t i = 0; i < s->snap->nfiles; i++)
    {
        const ax_snapfile *f = &s->snap->file[i];
        const ax_fmt_file *file = ax_snapfile_file(f);
        const ax_value *v = fixed_value(f, col);

        if (v != NULL)
        {
            fixed_facts(f, v, rows_per_byte(&sum), &first, out);
            add_fixed(&fixed, v);
            rows += file != NULL && file->nrows >= 0 ? (double) file->nrows
                                                     : (double) f->size * rows_per_byte(&sum);
        }
        else if (file != NULL && nopen++ % every == 0)
        {
            known = file_facts(f, file, col, &first, out) && known;
            rows += file->nrows > 0 ? (double) file->nrows : 0;
        }
    }
    if (fixed.n > out->distinct)
        out->distinct = fixed.many ? fixed.changes : fixed.n;
    out->width = rows > 0 ? out->width / rows : 0;
    if (!known)
    {
        memset(&out->bounds, 0, sizeof out->bounds);
        out->bounds.nulls = out->bounds.rows = -1;
    }
    return known || out->distinct > 0 || out->width > 0;
}

typedef struct split_ref { const ax_snapfile *f; uint32_t split; } split_ref;

static bool split_bounds(void *self, uint32_t col, ax_bounds *out)
{
    const split_ref *r = (const split_ref *) self;
    const ax_format *fmt = ax_snapfile_file(r->f)->format;

    memset(out, 0, sizeof *out);
    return fmt->bounds != NULL && fmt->bounds(r->f->bind, r->split, col, out);
}

bool ax_source_split_bounds(const ax_source *s, uint32_t i, uint32_t split, uint32_t col,
                            ax_bounds *out)
{
    const ax_fmt_file *file = i < ax_source_files(s) ? ax_source_file(s, i) : NULL;
    const ax_value *fixed;
    split_ref ref;
    ax_split sp;

    memset(out, 0, sizeof *out);
    out->nulls = out->rows = -1;
    if (file == NULL || col >= s->ncols || split >= file->nsplits)
        return false;
    ref = (split_ref){&s->snap->file[i], split};
    fixed = fixed_value(ref.f, col);
    if (fixed == NULL)
        return split_bounds(&ref, col, out);
    memset(&sp, 0, sizeof sp);
    file->format->split(file, split, &sp);
    out->rows = sp.nrows;
    out->nulls = fixed->null ? sp.nrows : 0;
    out->has_min = out->has_max = out->min_exact = out->max_exact = !fixed->null;
    out->min = out->max = *fixed;
    return true;
}

/* Rows of one opened file in splits that may match. */
static double file_matching(const ax_snapfile *f, const ax_fmt_file *file, const ax_filter *filter)
{
    double rows = 0;

    for (uint32_t sp = 0; sp < file->nsplits; sp++)
    {
        split_ref ref = {f, sp};
        ax_stats_src src = {.self = &ref, .bounds = split_bounds};
        ax_split split;

        memset(&split, 0, sizeof split);
        file->format->split(file, sp, &split);
        if (ax_filter_match(filter, &src) != AX_MATCH_NONE)
            rows += split.nrows > 0 ? (double) split.nrows : 0;
    }
    return rows;
}

static int64_t rows_matching(const ax_source *s, const ax_filter *f)
{
    ax_opened sum = ax_snapshot_opened(s->snap);
    uint32_t every = ax_source_facts_every(s), nopen = 0;
    double closed = 0, open = 0, asked = 0, matching = 0;

    for (uint32_t i = 0; i < s->snap->nfiles; i++)
    {
        const ax_snapfile *sf = &s->snap->file[i];
        const ax_fmt_file *file = ax_snapfile_file(sf);
        double rows = file != NULL && file->nrows > 0 ? (double) file->nrows : 0;

        if (ax_snapfile_excluded(sf, f))
            continue;
        if (file == NULL)
            closed += (double) sf->size * rows_per_byte(&sum);
        open += rows;
        if (file == NULL || nopen++ % every != 0)
            continue;
        asked += rows;
        matching += file_matching(sf, file, f);
    }
    if (asked > 0 && every > 1)
        matching *= open / asked;
    return (int64_t) (closed + matching);
}

int64_t ax_source_rows_matching(ax_source *s, ax_expr *const *conj, uint32_t nconj)
{
    const ax_params none = {NULL, 0};
    ax_filter *f;
    ax_task t;
    int64_t rows = ax_source_rows(s);

    if (s->snap == NULL || s->ncols == 0 || nconj == 0)
        return rows;
    if (ax_task_init(&t, s->env->budget, NULL) != AX_OK)
        return rows;
    if (ax_filter_create(&t, t.arena, conj, nconj, &none, &f) == AX_OK)
        rows = rows_matching(s, f);
    ax_task_fini(&t);
    return rows;
}
