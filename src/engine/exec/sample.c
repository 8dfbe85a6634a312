/* Samples: the work list of a scan that wants some rows of some splits, chosen at random.
 *
 * Splits first, then rows of these: every set of the wanted size is as likely as any other, so that
 * estimators for simple random samples hold over the chosen splits.  The choice is made once, when
 * the run is compiled; readers then open only the pages that hold chosen rows. */
#include "exec/exec_int.h"

#include <stdlib.h>
#include <string.h>

/* Format: splitmix64, Sebastiano Vigna, public domain. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t *state, uint64_t n)
{
    return (uint64_t) (((unsigned __int128) next_random(state) * n) >> 64);
}

static int cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* n of the numbers below total, ascending: one pass over all of them. */
static void choose_dense(uint64_t *state, uint64_t *out, uint64_t n, uint64_t total)
{
    uint64_t m = 0;

    for (uint64_t i = 0; i < total && m < n; i++)
        if (below(state, total - i) < n - m)
            out[m++] = i;
}

/* The same for n well below total: draw, sort, drop repeats, draw what is missing. */
static void choose_sparse(uint64_t *state, uint64_t *out, uint64_t n, uint64_t total)
{
    uint64_t m = 0;

    while (m < n)
    {
        uint64_t unique = 0;

        while (m < n)
            out[m++] = below(state, total);
        qsort(out, n, sizeof *out, cmp_u64);
        for (uint64_t i = 0; i < n; i++)
            if (i == 0 || out[i] != out[unique - 1])
                out[unique++] = out[i];
        m = unique;
    }
}

static int64_t rows_of(const ax_fmt_file *f, uint32_t split)
{
    ax_split sp;

    memset(&sp, 0, sizeof sp);
    f->format->split(f, split, &sp);
    return sp.nrows;
}

/* The chosen splits as work; *rows: how many they have, -1: one does not know. */
static ax_status choose_splits(ax_exec *x, ax_scan *s, ax_fmt_file *const *file, uint64_t *state,
                               int64_t *rows)
{
    uint32_t nfiles = s->snap->nfiles, want = s->node->u.scan.sample_splits;
    uint64_t total = 0, seen = 0;

    for (uint32_t f = 0; f < nfiles; f++)
        total += file[f] != NULL ? file[f]->nsplits : 0;
    AX_CHECK(&x->task, total < UINT32_MAX, AX_ELIMIT, "too many row groups");
    if (want == 0 || want > total)
        want = (uint32_t) total;
    AX_NEW(&x->task, s->work,
           (ax_work *) ax_arena_alloc0(x->task.arena, ((size_t) want + 1) * sizeof *s->work));
    *rows = 0;
    for (uint32_t f = 0; f < nfiles; f++)
        for (uint32_t i = 0; file[f] != NULL && i < file[f]->nsplits; i++)
        {
            int64_t n = rows_of(file[f], i);

            if (below(state, total - seen++) >= want - s->nwork)
                continue;
            *rows = *rows < 0 || n < 0 ? -1 : *rows + n;
            s->work[s->nwork++] = (ax_work){.file = f, .split = i};
        }
    return AX_OK;
}

/* Hand the chosen rows, numbered through the chosen splits, to these as ranges. */
static ax_status deal_rows(ax_exec *x, ax_scan *s, ax_fmt_file *const *file, const uint64_t *row,
                           uint32_t n)
{
    ax_rowrange *range;
    ax_rowset *set;
    uint64_t row0 = 0;
    uint32_t at = 0, kept = 0;

    AX_NEW(&x->task, range,
           (ax_rowrange *) ax_arena_alloc(x->task.arena, ((size_t) n + 1) * sizeof *range));
    AX_NEW(&x->task, set,
           (ax_rowset *) ax_arena_alloc0(x->task.arena, ((size_t) s->nwork + 1) * sizeof *set));
    for (uint32_t w = 0; w < s->nwork; w++)
    {
        uint64_t end = row0 + (uint64_t) rows_of(file[s->work[w].file], s->work[w].split);
        uint32_t m = 0;

        for (; at < n && row[at] < end; at++)
        {
            uint32_t r = (uint32_t) (row[at] - row0);

            if (m > 0 && range[m - 1].end == r)
                range[m - 1].end++;
            else
                range[m++] = (ax_rowrange){r, r + 1};
        }
        row0 = end;
        if (m == 0)
            continue;
        set[kept] = (ax_rowset){range, m};
        s->work[kept] = s->work[w];
        s->work[kept].rows = &set[kept];
        kept++;
        range += m;
    }
    s->nwork = kept;
    return AX_OK;
}

ax_status ax_scan_sample(ax_exec *x, ax_scan *s, ax_fmt_file *const *file)
{
    uint64_t state = s->node->u.scan.sample_seed, *row;
    uint32_t n = s->node->u.scan.sample_rows;
    int64_t rows = 0;

    AX_TRY(choose_splits(x, s, file, &state, &rows));
    atomic_fetch_add_explicit(&x->splits, s->nwork, memory_order_relaxed);
    if (rows < 0 || n == 0 || (int64_t) n >= rows)
        return AX_OK; /* all rows of these splits */
    AX_NEW(&x->task, row, (uint64_t *) ax_arena_alloc(x->task.arena, (size_t) n * sizeof *row));
    if (rows / 4 < (int64_t) n)
        choose_dense(&state, row, n, (uint64_t) rows);
    else
        choose_sparse(&state, row, n, (uint64_t) rows);
    return deal_rows(x, s, file, row, n);
}
