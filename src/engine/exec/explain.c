/* What a run did, and how it is built. */
#include "exec/exec_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOAD(field) atomic_load_explicit(&x->field, memory_order_relaxed)

/* Files of the list that no lane came to: a limit was satisfied before. */
static uint64_t unclaimed(const ax_scan *s)
{
    uint64_t n = 0;

    for (uint32_t i = atomic_load_explicit(&s->cursor, memory_order_relaxed); i < s->nwork; i++)
        n += s->work[i].split == AX_SPLIT_ALL;
    return n;
}

/* Splits of open files that no lane came to; of one in several pieces the first counts. */
static uint64_t unclaimed_splits(const ax_scan *s)
{
    uint64_t n = 0;

    for (uint32_t i = atomic_load_explicit(&s->cursor, memory_order_relaxed); i < s->nwork; i++)
        n += s->work[i].split != AX_SPLIT_ALL && s->work[i].range.begin == 0;
    return n;
}

/* Files whose work has all been claimed; at least so many, when work is not in file order. */
static uint32_t files_passed(const ax_scan *s)
{
    uint32_t left = 0;

    for (uint32_t i = atomic_load_explicit(&s->cursor, memory_order_relaxed); i < s->nwork; i++)
        left += left == 0 || s->work[i].file != s->work[i - 1].file;
    return left < s->snap->nfiles ? s->snap->nfiles - left : 0;
}

/* All is counted for each run. */
static void files_and_splits(const ax_exec *x, ax_exec_profile *out)
{
    uint32_t runs = x->runs > 1 ? x->runs : 1;

    out->runs = x->runs;
    out->format = "";
    out->split_unit = "";
    out->splits = LOAD(splits);
    for (uint32_t i = 0; i < AX_PRUNED_CNT; i++)
        out->files_pruned[i] = LOAD(files_pruned[i]);
    for (const ax_stage *st = x->stages; st != NULL; st = st->all_next)
    {
        const ax_snapshot *s = st->scan != NULL ? st->scan->snap : NULL;
        ax_split sp;

        if (s == NULL)
            continue;
        out->files += (uint64_t) s->nfiles * runs;
        if (x->state == AX_ES_DRAINED)
            out->files_pruned[AX_PRUNED_LIMIT] += unclaimed(st->scan);
        out->files_done += files_passed(st->scan) + (uint64_t) s->nfiles * (runs - 1);
        out->bytes_total += s->bytes;
        for (uint32_t i = 0; i < s->nfiles && out->split_unit[0] == '\0'; i++)
        {
            const ax_fmt_file *file = ax_snapfile_file(&s->file[i]);

            if (file == NULL)
                continue;
            out->format = file->format->name;
            if (file->nsplits == 0)
                continue;
            memset(&sp, 0, sizeof sp);
            file->format->split(file, 0, &sp);
            out->split_unit = sp.unit != NULL ? sp.unit : "";
        }
    }
}

/* Sinks are listed from the root down. */
static uint64_t top_groups(const ax_exec *x)
{
    for (const ax_sink *s = x->sinks; s != NULL; s = s->all_next)
        if (s->kind == AX_SINK_AGG)
            return atomic_load_explicit(&s->rows, memory_order_relaxed);
    return 0;
}

static void scan_stats(const ax_exec *x, ax_scan_stats *s)
{
    s->rows_read = LOAD(scan.rows_read);
    s->rows_after_filter = LOAD(scan.rows_after_filter);
    s->pages = LOAD(scan.pages);
    s->pages_skipped = LOAD(scan.pages_skipped);
    s->granules = LOAD(scan.granules);
    s->bytes_compressed = LOAD(scan.bytes_compressed);
    s->bytes_decompressed = LOAD(scan.bytes_decompressed);
    s->open_ns = LOAD(scan.open_ns);
    s->read_ns = LOAD(scan.read_ns) + LOAD(io.wait_ns);
    s->decode_ns = LOAD(scan.decode_ns);
    s->filter_ns = LOAD(scan.filter_ns);
}

/* Granules of the files that were opened. */
static uint64_t all_granules(const ax_exec *x)
{
    uint64_t n = 0;
    ax_split sp;

    for (const ax_stage *st = x->stages; st != NULL; st = st->all_next)
        for (uint32_t i = 0; st->scan != NULL && i < st->scan->snap->nfiles; i++)
        {
            const ax_fmt_file *file = ax_snapfile_file(&st->scan->snap->file[i]);

            for (uint32_t k = 0; file != NULL && k < file->nsplits; k++)
            {
                memset(&sp, 0, sizeof sp);
                file->format->split(file, k, &sp);
                if (sp.granules == 0)
                    break;
                n += sp.granules;
            }
        }
    return n * (x->runs > 1 ? x->runs : 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ax_granules_removed *) a)->name, ((const ax_granules_removed *) b)->name);
}

/* By name, since lanes came in any order. */
static void copy_removed(ax_exec *x, ax_exec_profile *out)
{
    pthread_mutex_lock(&x->lock);
    memcpy(out->removed, x->removed, sizeof out->removed);
    out->nremoved = x->nremoved;
    pthread_mutex_unlock(&x->lock);
    qsort(out->removed, out->nremoved, sizeof out->removed[0], by_name);
}

void ax_exec_profile_get(ax_exec *x, ax_exec_profile *out)
{
    uint64_t end = x->end_ns != 0 ? x->end_ns : ax_exec_now_ns();

    memset(out, 0, sizeof *out);
    files_and_splits(x, out);
    scan_stats(x, &out->scan);
    out->scan.granules_total = all_granules(x);
    copy_removed(x, out);
    for (uint32_t i = 0; i < AX_PRUNED_CNT; i++)
        out->splits_pruned[i] = LOAD(splits_pruned[i]);
    for (const ax_stage *st = x->stages; st != NULL && x->state == AX_ES_DRAINED; st = st->all_next)
        if (st->scan != NULL)
            out->splits_pruned[AX_PRUNED_LIMIT] += unclaimed_splits(st->scan);
    out->splits_done = LOAD(splits_done);
    out->rows_out = LOAD(rows_out);
    out->groups = top_groups(x);
    out->spilled_bytes = (uint64_t) LOAD(spill.end_bytes);
    for (const ax_stage *st = x->stages; st != NULL; st = st->all_next)
        if (st->late != NULL)
            out->late_columns = ax_late_columns(st->late, &out->late_of);
    out->host_calls = LOAD(host_calls);
    out->host_values = LOAD(host_values);
    out->aggregate_ns = LOAD(agg_ns);
    out->sort_ns = LOAD(sort_ns);
    out->memory_bytes = LOAD(budget.used_bytes);
    out->memory_peak_bytes = LOAD(budget.peak_bytes);
    out->threads_granted = x->granted;
    out->threads_peak = x->peak_threads;
    out->cpu_ns = x->cpu_ns;
    if (x->group != NULL)
    {
        uint32_t peak = ax_group_peak_running(x->group);

        out->threads_peak = peak > x->peak_threads ? peak : x->peak_threads;
        out->cpu_ns += ax_group_cpu_ns(x->group);
    }
    if (x->begin_ns != 0)
        out->elapsed_ns = end - x->begin_ns;
    out->requests = LOAD(io.requests);
    out->bytes_read = LOAD(io.bytes_read);
    out->bytes_cached = LOAD(io.bytes_cached);
    out->pages_cached = LOAD(io.pages_cached);
    if (x->plan == NULL)
        out->open_ns = out->elapsed_ns;
    out->from_metadata = x->meta_only && x->state == AX_ES_DRAINED &&
                         atomic_load_explicit(&x->first_scan->read_splits,
                                              memory_order_relaxed) == 0;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

typedef struct out
{
    ax_arena *a;
    char *text; /* NULL: memory ran out */
    size_t len, cap;
} out;

static AX_PRINTF(2, 3) void add(out *o, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    (void) vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    n = strlen(line);
    if (o->text != NULL && o->len + n + 1 > o->cap)
    {
        char *grown = (char *) ax_arena_alloc(o->a, (o->cap + n) * 2);

        if (grown != NULL)
            memcpy(grown, o->text, o->len + 1);
        o->text = grown;
        o->cap = (o->cap + n) * 2;
    }
    if (o->text == NULL)
        return;
    memcpy(o->text + o->len, line, n + 1);
    o->len += n;
}

static const char *sink_name(const ax_sink *s)
{
    switch ((ax_sink_kind) s->kind)
    {
    case AX_SINK_OUTPUT:
        return "Output";
    case AX_SINK_AGG:
        return s->agg.nargs > 0 ? "Aggregate" : "Distinct";
    case AX_SINK_ORDER:
        return s->order.limit >= 0 ? "Top-N" : "Sort";
    case AX_SINK_SET:
        return "Delete Keys";
    case AX_SINK_LATE:
        return "Winners";
    }
    return "";
}

static void source_text(const ax_stage *st, char *text, size_t n)
{
    const ax_scan *s = st->scan;
    const char *format = "nothing";
    uint32_t files, splits;

    if (st->src == AX_SRC_PARTS)
        snprintf(text, n, "Read %s", sink_name(st->parts));
    else if (st->src == AX_SRC_EXTERNAL)
        snprintf(text, n, "External Input %u", st->input);
    else if (st->src == AX_SRC_WINNERS)
        snprintf(text, n, "Read Winners");
    else if (st->src == AX_SRC_LATE)
    {
        uint32_t of, late = ax_late_columns(st->late, &of);

        snprintf(text, n, "Read Late Columns of Winners: %u of %u", late, of);
    }
    if (s == NULL)
        return;
    for (uint32_t i = s->snap->nfiles; i-- > 0;)
        if (ax_snapfile_file(&s->snap->file[i]) != NULL)
            format = ax_snapfile_file(&s->snap->file[i])->format->name;
    files = s->snap->nfiles - s->nexcluded;
    splits = ax_snapshot_opened(s->snap).splits;
    snprintf(text, n, "%s %s: %u %s, %u %s, %u %s%s%s",
             st->src == AX_SRC_MERGE ? "Merge" : "Scan", format, files,
             files == 1 ? "file" : "files", splits, splits == 1 ? "split" : "splits", s->nwork,
             s->nwork == 1 ? "piece" : "pieces",
             s->nconj > 0 ? ", filter pushed into the reader" : "",
             s->live ? ", tightened by Top-N" : "");
}

static const char *op_name(const ax_op *op)
{
    static const char *const names[] = {"Filter", "Project", "Limit", "Apply Deletes",
                                        "Add From Metadata"};

    return names[op->kind];
}

/* Of this run, the one before, or as planned. */
static uint32_t lanes_of(const ax_stage *st)
{
    uint32_t begun = atomic_load_explicit(&st->begun, memory_order_relaxed);

    return begun > 0 ? begun : st->ran > 0 ? st->ran : st->nlanes;
}

static void stage_text(out *o, const ax_stage *st)
{
    uint32_t lanes = lanes_of(st);
    char src[256];

    source_text(st, src, sizeof src);
    add(o, "Stage %u (%u %s)\n", st->id, lanes, lanes == 1 ? "lane" : "lanes");
    add(o, "  %s\n", src);
    for (uint32_t i = 0; i < st->nops; i++)
        add(o, "  %s\n", op_name(st->op[i]));
    add(o, "  -> %s\n", sink_name(st->sink));
}

/* The sink's place in the list of all. */
static uint32_t sink_number(const ax_exec *x, const ax_sink *sink)
{
    uint32_t i = 0;

    for (const ax_sink *s = x->sinks; s != NULL && s != sink; s = s->all_next)
        i++;
    return i;
}

/* One cluster a stage; edges along the chain and from sinks to the stages that read them. */
static void stage_dot(out *o, const ax_exec *x, const ax_stage *st)
{
    uint32_t lanes = lanes_of(st);
    char src[256];

    source_text(st, src, sizeof src);
    add(o, "  subgraph cluster_%u {\n    label=\"stage %u x %u\";\n", st->id, st->id, lanes);
    add(o, "    s%u_0 [label=\"%s\"];\n", st->id, src);
    for (uint32_t i = 0; i < st->nops; i++)
        add(o, "    s%u_%u [label=\"%s\"];\n    s%u_%u -> s%u_%u;\n", st->id, i + 1,
            op_name(st->op[i]), st->id, i, st->id, i + 1);
    add(o, "  }\n  sink%u [label=\"%s\"];\n  s%u_%u -> sink%u;\n", sink_number(x, st->sink),
        sink_name(st->sink), st->id, st->nops, sink_number(x, st->sink));
    if (st->src == AX_SRC_PARTS)
        add(o, "  sink%u -> s%u_0;\n", sink_number(x, st->parts), st->id);
    for (const ax_sink *s = x->sinks; s != NULL && st->late != NULL; s = s->all_next)
        if (s->late == st->late && s->next == st)
            add(o, "  sink%u -> s%u_0;\n", sink_number(x, s), st->id);
}

const char *ax_exec_pipeline(const ax_exec *x, ax_arena *a, bool dot)
{
    out o = {a, (char *) ax_arena_alloc(a, 1024), 0, 1024};

    if (o.text == NULL)
        return NULL;
    o.text[0] = '\0';
    if (dot)
        add(&o, "digraph pipeline {\n  rankdir=BT;\n  node [shape=box];\n");
    for (const ax_stage *st = x->stages; st != NULL; st = st->all_next)
    {
        if (dot)
            stage_dot(&o, x, st);
        else
            stage_text(&o, st);
    }
    if (dot)
        add(&o, "}\n");
    return o.text;
}
