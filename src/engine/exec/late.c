/* Late columns of a top-N: read for the winners alone, once they are known.
 *
 *     scan without them --> top-N --> winners --> pieces: some rows, some columns --> full rows
 *
 * Planning makes a copy of the nodes below the top-N that lacks the columns which no condition, no
 * expression and no sort key looks at.  The winners of that smaller plan carry their row ids; lanes
 * then claim pieces of work: the winners of one split and some of the late columns (few, so that
 * few pages are held at once, and one split keeps many lanes busy).  What they read is kept, and
 * when all is there it is put together with the winners in one batch.
 *
 * A row id is (split in the query, row in the split); the scan numbers splits of its files so that
 * two never share a number.  A value that cannot be converted in a late column is an error where
 * the row is a winner; nobody looks at the others. */
#include "exec/exec_int.h"
#include "exec/order_int.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define STRETCH_ROWS 256u /* a split with more winners than that is worth a second piece */
#define GROUP_COLUMNS 8u

typedef struct winner { uint32_t split, row, at; } winner;

/* Winners of one split, ascending: winner[first .. first + n). */
typedef struct stretch
{
    uint32_t file, split;
    uint32_t first, n;
    ax_rowset rows;
} stretch;

struct ax_late
{
    const ax_scan *scan;     /* set once it is compiled; lives as long as the run */
    uint32_t ncols;          /* of the full rows */
    const ax_type *type;     /* [ncols] borrowed from the plan */
    uint32_t *early;         /* [ncols] column of the winners, or NONE: late */
    uint32_t *late;          /* [ncols] position in columns, if late */
    uint32_t *columns;       /* [ncolumns] declared ordinals, ascending */
    uint32_t ncolumns, nlate;
    /* made when the winners are known, then immutable */
    ax_held *held;           /* the winners; NULL: none */
    ax_arena *arena;         /* of what follows */
    winner *winner;          /* [held->b.nsel] by split and row */
    stretch *stretch;        /* [nstretches] */
    uint32_t nstretches, ngroups;
    _Atomic uint32_t cursor; /* next piece: stretch * ngroups + group of columns */
    const ax_vec **vec;      /* [ncolumns * winners] each written by the lane that has the piece; */
    uint32_t *row;           /* the vector lives in that lane's arena, and this is the row in it */
};

/* ---- planning -------------------------------------------------------------------------------- */

/* What is known of one node's columns on the way down. */
typedef struct level
{
    const ax_node *n;
    bool *keep;              /* [ncols] stays in the copy */
    uint32_t *to;            /* [ncols] its place there */
    uint32_t nkeep;
} level;

#define LEVELS 16u

typedef struct narrowing
{
    ax_task *t;
    ax_arena *a;
    level level[LEVELS];     /* from the top-N's child down to the scan */
    uint32_t n;
    uint32_t *origin;        /* [columns of level 0] position in the scan, NONE: computed */
} narrowing;

/* The nodes down to the one scan; false: there are others than projections and filters. */
static ax_status find_levels(narrowing *w, const ax_node *n, bool *ok)
{
    *ok = false;
    for (;; n = n->child[0])
    {
        level *l = &w->level[w->n];

        if (w->n == LEVELS || (n->kind != AX_N_SCAN && n->kind != AX_N_PROJECT &&
                               n->kind != AX_N_FILTER))
            return AX_OK;
        l->n = n;
        AX_NEW(w->t, l->keep, (bool *) ax_arena_alloc0(w->a, n->ncols + 1));
        AX_NEW(w->t, l->to, (uint32_t *) ax_arena_alloc0(w->a, (n->ncols + 1) * sizeof *l->to));
        w->n++;
        if (n->kind == AX_N_SCAN)
            break;
    }
    *ok = n->u.scan.sample_rows == 0 && n->u.scan.sample_splits == 0;
    return AX_OK;
}

/* Where does column i of the uppermost node come from unchanged? */
static uint32_t origin_of(const narrowing *w, uint32_t i)
{
    for (uint32_t k = 0; k + 1 < w->n; k++)
    {
        const ax_node *n = w->level[k].n;

        if (n->kind != AX_N_PROJECT)
            continue;
        if (n->u.project.expr[i]->kind != AX_X_COL)
            return NONE;
        i = n->u.project.expr[i]->u.col;
    }
    return i;
}

/* From the columns kept at the top to those kept at the scan. */
static void push_down(narrowing *w)
{
    for (uint32_t k = 0; k < w->n; k++)
    {
        level *l = &w->level[k], *below = k + 1 < w->n ? l + 1 : l;
        const ax_node *n = l->n;

        if (n->kind == AX_N_SCAN)
            for (uint32_t i = 0; i < n->u.scan.nconj; i++)
                ax_exec_mark_columns(n->u.scan.conj[i], l->keep, n->ncols);
        if (n->kind == AX_N_FILTER)
        {
            for (uint32_t i = 0; i < n->u.filter.nconj; i++)
                ax_exec_mark_columns(n->u.filter.conj[i], l->keep, n->ncols);
            for (uint32_t i = 0; i < n->ncols; i++)
                below->keep[i] |= l->keep[i];
        }
        for (uint32_t i = 0; n->kind == AX_N_PROJECT && i < n->ncols; i++)
            if (l->keep[i])
                ax_exec_mark_columns(n->u.project.expr[i], below->keep, below->n->ncols);
    }
}

static uint32_t keep_some(narrowing *w, const ax_sort_key *key, uint32_t nkeys)
{
    const ax_node *top = w->level[0].n;
    const level *scan = &w->level[w->n - 1];
    uint32_t nlate = 0;

    for (uint32_t i = 0; i < top->ncols; i++)
    {
        w->origin[i] = origin_of(w, i);
        w->level[0].keep[i] = w->origin[i] == NONE;
    }
    for (uint32_t i = 0; i < nkeys; i++)
        w->level[0].keep[key[i].col] = true;
    push_down(w);
    /* What the scan reads anyway comes along.  (A filter at the top has marked its columns.) */
    for (uint32_t i = 0; i < top->ncols; i++)
        w->level[0].keep[i] |= scan->keep[w->origin[i] == NONE ? 0 : w->origin[i]];
    push_down(w);
    for (uint32_t i = 0; i < top->ncols; i++)
        nlate += !w->level[0].keep[i];
    return nlate;
}

static ax_status renumber_all(narrowing *w, ax_expr *const *e, uint32_t n, const uint32_t *to,
                              ax_expr ***out)
{
    AX_NEW(w->t, *out, (ax_expr **) ax_arena_alloc(w->a, (n + 1) * sizeof(ax_expr *)));
    for (uint32_t i = 0; i < n; i++)
        AX_TRY(ax_exec_renumber(w->t, w->a, e[i], to, &(*out)[i]));
    return AX_OK;
}

/* The copy of a node that has only the columns kept; its child comes from the level below. */
static ax_status copy_node(narrowing *w, level *l, ax_node *child, ax_node **out)
{
    const ax_node *n = l->n;
    ax_node *c;

    AX_NEW(w->t, c, (ax_node *) ax_arena_alloc(w->a, sizeof *c));
    *c = *n;
    for (uint32_t i = 0; i < n->ncols; i++)
        if (l->keep[i])
            l->to[i] = l->nkeep++;
    c->ncols = l->nkeep;
    c->name = NULL;
    AX_NEW(w->t, c->type, (ax_type *) ax_arena_alloc(w->a, (l->nkeep + 1) * sizeof *c->type));
    for (uint32_t i = 0; i < n->ncols; i++)
        if (l->keep[i])
            c->type[l->to[i]] = n->type[i];
    *out = c;
    if (n->kind == AX_N_SCAN)
    {
        AX_NEW(w->t, c->u.scan.columns,
               (uint32_t *) ax_arena_alloc(w->a, (l->nkeep + 1) * sizeof(uint32_t)));
        for (uint32_t i = 0; i < n->ncols; i++)
            if (l->keep[i])
                c->u.scan.columns[l->to[i]] = n->u.scan.columns[i];
        return renumber_all(w, n->u.scan.conj, n->u.scan.nconj, l->to, &c->u.scan.conj);
    }
    AX_NEW(w->t, c->child, (ax_node **) ax_arena_alloc(w->a, sizeof(ax_node *)));
    c->child[0] = child;
    if (n->kind == AX_N_FILTER)
        return renumber_all(w, n->u.filter.conj, n->u.filter.nconj, l->to, &c->u.filter.conj);
    AX_NEW(w->t, c->u.project.expr,
           (ax_expr **) ax_arena_alloc(w->a, (l->nkeep + 1) * sizeof(ax_expr *)));
    for (uint32_t i = 0; i < n->ncols; i++)
        if (l->keep[i])
            AX_TRY(ax_exec_renumber(w->t, w->a, n->u.project.expr[i], (l + 1)->to,
                                    &c->u.project.expr[l->to[i]]));
    return AX_OK;
}

/* Declared columns to be fetched, ascending, each once; and which output column is which. */
static ax_status list_late(narrowing *w, ax_late *late)
{
    const level *top = &w->level[0], *scan = &w->level[w->n - 1];
    uint32_t *place, ncols = scan->n->ncols;

    AX_NEW(w->t, place, (uint32_t *) ax_arena_alloc0(w->a, (ncols + 1) * sizeof *place));
    AX_NEW(w->t, late->columns, (uint32_t *) ax_arena_alloc(w->a, (ncols + 1) * sizeof(uint32_t)));
    for (uint32_t i = 0; i < late->ncols; i++)
        if (!top->keep[i])
            place[w->origin[i]] = 1;
    for (uint32_t p = 0; p < ncols; p++)
        if (place[p] != 0)
        {
            place[p] = late->ncolumns;
            late->columns[late->ncolumns++] = scan->n->u.scan.columns[p];
        }
    for (uint32_t i = 0; i < late->ncols; i++)
    {
        late->early[i] = top->keep[i] ? top->to[i] : NONE;
        late->late[i] = top->keep[i] ? 0 : place[w->origin[i]];
    }
    return AX_OK;
}

/* Can every split of every file have a number of its own? */
static bool numbers_suffice(const ax_snapshot *s)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < s->nfiles; i++)
        n += ax_late_room(s->file[i].size);
    return n < AX_LATE_SPLITS;
}

ax_status ax_late_plan(ax_task *t, ax_arena *a, const ax_node *n, ax_sort_key *key, uint32_t nkeys,
                       ax_node **child, ax_late **out)
{
    narrowing w = {.t = t, .a = a};
    ax_late *late;
    ax_node *c = NULL;
    uint32_t nlate;
    bool ok;

    *out = NULL;
    AX_TRY(find_levels(&w, n, &ok));
    if (!ok || !numbers_suffice(w.level[w.n - 1].n->u.scan.source->snap))
        return AX_OK;
    AX_NEW(t, w.origin, (uint32_t *) ax_arena_alloc(a, (n->ncols + 1) * sizeof(uint32_t)));
    nlate = keep_some(&w, key, nkeys);
    if (nlate == 0)
        return AX_OK;
    for (uint32_t k = w.n; k-- > 0;)
        AX_TRY(copy_node(&w, &w.level[k], c, &c));
    AX_NEW(t, late, (ax_late *) ax_arena_alloc0(a, sizeof *late));
    late->ncols = n->ncols;
    late->nlate = nlate;
    late->type = n->type;
    AX_NEW(t, late->early, (uint32_t *) ax_arena_alloc(a, (n->ncols + 1) * sizeof(uint32_t)));
    AX_NEW(t, late->late, (uint32_t *) ax_arena_alloc(a, (n->ncols + 1) * sizeof(uint32_t)));
    AX_TRY(list_late(&w, late));
    for (uint32_t i = 0; i < nkeys; i++)
        key[i].col = w.level[0].to[key[i].col];
    *child = c;
    *out = late;
    return AX_OK;
}

void ax_late_scan(ax_late *l, const ax_scan *s) { l->scan = s; }
uint32_t ax_late_columns(const ax_late *l, uint32_t *of)
{
    *of = l->ncols;
    return l->nlate;
}

/* ---- winners --------------------------------------------------------------------------------- */

ax_status ax_late_put(ax_task *t, ax_exec *x, ax_late *l, const ax_batch *b)
{
    AX_CHECK(t, l->held == NULL, AX_EPLAN, "winners come in more than one batch");
    return ax_held_copy(t, x, b, &l->held);
}

static int by_split(const void *pa, const void *pb)
{
    const winner *a = (const winner *) pa, *b = (const winner *) pb;

    if (a->split != b->split)
        return a->split < b->split ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* The file that has the split; files that were left out have no numbers. */
static uint32_t file_of(const ax_scan *s, uint32_t split)
{
    uint32_t lo = 0, hi = s->snap->nfiles;

    while (hi - lo > 1)
    {
        uint32_t mid = lo + (hi - lo) / 2;

        if (s->split0[mid] <= split)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static ax_status add_stretch(ax_task *t, ax_late *l, uint32_t first, uint32_t n)
{
    stretch *w = &l->stretch[l->nstretches++];
    ax_rowrange *r;

    w->file = file_of(l->scan, l->winner[first].split);
    w->split = l->winner[first].split - l->scan->split0[w->file];
    w->first = first;
    w->n = n;
    AX_NEW(t, r, (ax_rowrange *) ax_arena_alloc(l->arena, n * sizeof *r));
    w->rows.range = r;
    for (uint32_t i = first; i < first + n; i++)
        if (w->rows.n > 0 && r[w->rows.n - 1].end == l->winner[i].row)
            r[w->rows.n - 1].end++;
        else
            r[w->rows.n++] = (ax_rowrange){l->winner[i].row, l->winner[i].row + 1};
    return AX_OK;
}

ax_status ax_late_prepare(ax_task *t, ax_late *l)
{
    size_t n = l->held != NULL ? l->held->b.nsel : 0;

    if (n == 0 || l->arena != NULL)
        return AX_OK; /* no winners; or all has been read */
    AX_NEW(t, l->arena, ax_arena_create(t->budget, 0));
    AX_NEW(t, l->winner, (winner *) ax_arena_alloc(l->arena, n * sizeof *l->winner));
    AX_NEW(t, l->stretch, (stretch *) ax_arena_alloc0(l->arena, n * sizeof *l->stretch));
    AX_NEW(t, l->vec,
           (const ax_vec **) ax_arena_alloc0(l->arena, l->ncolumns * n * sizeof *l->vec));
    AX_NEW(t, l->row, (uint32_t *) ax_arena_alloc(l->arena, l->ncolumns * n * sizeof *l->row));
    for (uint32_t i = 0; i < n; i++)
        l->winner[i] = (winner){l->held->b.rowid[i].split, l->held->b.rowid[i].row, i};
    qsort(l->winner, n, sizeof *l->winner, by_split);
    for (uint32_t i = 0, end; i < n; i = end)
    {
        for (end = i + 1; end < n && end - i < STRETCH_ROWS &&
                          l->winner[end].split == l->winner[i].split; end++)
            ;
        AX_TRY(add_stretch(t, l, i, end - i));
    }
    l->ngroups = (l->ncolumns + GROUP_COLUMNS - 1) / GROUP_COLUMNS;
    return AX_OK;
}

uint32_t ax_late_pieces(const ax_late *l) { return l->nstretches * l->ngroups; }

void ax_late_free(ax_late *l)
{
    ax_held_free(l->held);
    l->held = NULL;
    ax_arena_destroy(l->arena);
    l->arena = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const stretch *stretch_of(const ax_lane *l)
{
    return &l->stage->late->stretch[l->item / l->stage->late->ngroups];
}

static ax_status claim(ax_lane *l, ax_go *go)
{
    ax_late *late = l->stage->late;
    uint32_t i = UINT32_MAX, col0;
    const ax_snapfile *f;
    const stretch *w;

    *go = AX_GO_END;
    if (!ax_stage_enough(l->stage))
        i = atomic_fetch_add_explicit(&late->cursor, 1, memory_order_relaxed);
    if (i >= ax_late_pieces(late))
        return AX_OK;
    *go = AX_GO_ON;
    ax_arena_reset(l->morsel);
    ax_arena_reset(l->task.arena);
    l->item = i;
    w = stretch_of(l);
    col0 = i % late->ngroups * GROUP_COLUMNS;
    f = &late->scan->snap->file[w->file];
    l->at_winner = w->first;
    l->rd->format = ax_snapfile_file(f)->format;
    l->rd->req = (ax_scan_req){.bind = f->bind,
                           .split = w->split,
                           .split_id = late->winner[w->first].split,
                           .rows = &w->rows,
                           .columns = late->columns + col0,
                           .ncolumns = late->ncolumns - col0 < GROUP_COLUMNS
                                           ? late->ncolumns - col0 : GROUP_COLUMNS,
                           .allow = l->stage->x->o.allow,
                           .stats = &l->stats,
                           .budget = l->task.budget,
                           .buffer_bytes = ax_scan_buffer_bytes(l)};
    return l->rd->format->scan_begin(&l->task, l->morsel, &l->rd->req, &l->rd->op);
}

/* Keep what was just read. */
static ax_status keep(ax_lane *l, const ax_batch *in)
{
    ax_late *late = l->stage->late;
    const stretch *w = stretch_of(l);
    uint32_t nall = late->held->b.nsel, n = in->nsel;
    uint32_t col0 = (uint32_t) (l->rd->req.columns - late->columns);
    ax_task *t = &l->task;
    ax_vec *v;

    if (in->poison != NULL)
    {
        t->err = *in->poison;
        return t->err.code;
    }
    AX_CHECK(t, l->at_winner + n <= w->first + w->n, AX_EPLAN,
             "a reader gave more rows than were asked for");
    for (uint32_t i = 0; i < n; i++)
        AX_CHECK(t, late->winner[l->at_winner + i].row ==
                        in->row0 + (in->sel != NULL ? in->sel[i] : i),
                 AX_EPLAN, "a reader gave other rows than those asked for");
    AX_NEW(t, v, (ax_vec *) ax_arena_alloc(l->state_arena, l->rd->req.ncolumns * sizeof *v));
    for (uint32_t c = 0; c < l->rd->req.ncolumns; c++)
    {
        size_t base = (size_t) (col0 + c) * nall;

        AX_TRY(ax_vec_gather(t, l->state_arena, &in->col[c], in->sel, n, true, &v[c]));
        for (uint32_t i = 0; i < n; i++)
        {
            late->vec[base + late->winner[l->at_winner + i].at] = &v[c];
            late->row[base + late->winner[l->at_winner + i].at] = i;
        }
    }
    l->at_winner += n;
    return AX_OK;
}

static ax_status read_next(ax_lane *l, ax_go *go)
{
    if (l->rd->op == NULL)
        return claim(l, go);
    AX_TRY(ax_scan_drive(l, go));
    /* They were counted when the scan passed them. */
    l->stats.rows_read = l->flushed.rows_read;
    l->stats.rows_after_filter = l->flushed.rows_after_filter;
    if (*go == AX_GO_PARK)
        return AX_OK;
    *go = AX_GO_ON;
    if (l->rd->ev.step == AX_STEP_BATCH)
        return keep(l, l->rd->ev.batch);
    AX_CHECK(&l->task, l->at_winner == stretch_of(l)->first + stretch_of(l)->n, AX_EPLAN,
             "a reader gave fewer rows than were asked for");
    ax_scan_abandon(l);
    return AX_OK;
}

ax_status ax_late_read(ax_lane *l, ax_go *go)
{
    const ax_late *late = l->stage->late;
    ax_status st = read_next(l, go);

    if (st != AX_OK && st != AX_ESTOPPED && l->item < ax_late_pieces(late))
        ax_note_file(&l->task, late->scan->snap->file[stretch_of(l)->file].path);
    return st;
}

ax_status ax_late_rows(ax_lane *l, ax_batch **out, ax_go *go)
{
    const ax_late *late = l->stage->late;
    const ax_batch *won = late->held != NULL ? &late->held->b : NULL;
    ax_task *t = &l->task;
    ax_batch *b;

    *out = NULL;
    *go = AX_GO_END;
    if (won == NULL || l->item == 0 || ax_stage_enough(l->stage))
        return AX_OK;
    l->item = 0;
    AX_NEW(t, b, (ax_batch *) ax_arena_alloc(l->morsel, sizeof *b));
    *b = *won;
    AX_NEW(t, b->col, (ax_vec *) ax_arena_alloc0(l->morsel, late->ncols * sizeof(ax_vec)));
    b->ncols = late->ncols;
    for (uint32_t c = 0; c < late->ncols; c++)
    {
        size_t base = (size_t) late->late[c] * won->nsel;

        if (late->early[c] != NONE)
        {
            b->col[c] = won->col[late->early[c]];
            continue;
        }
        AX_TRY(ax_vec_merge(t, l->morsel, late->vec + base, late->row + base, won->nsel, false,
                              &b->col[c]));
        b->col[c].type = late->type[c];
    }
    *out = b;
    *go = AX_GO_BATCH;
    return AX_OK;
}
