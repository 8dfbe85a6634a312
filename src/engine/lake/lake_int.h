/* What kinds of lakes share.
 *
 *   lake.c   the list of kinds, dispatch, growing lists of files
 *   files.c  files, directories, globs;  glob.c  patterns;  hive.c  partitions in paths
 *   given.c  paths as they are
 *   mergetree.c  parts of ClickHouse tables;  mergetree_sql.c  their definitions */
#ifndef AX_LAKE_INT_H
#define AX_LAKE_INT_H

#include "lake/lake.h"

/* One kind.  begin allocates an op whose first member is ax_lake_op; lake.c fills that in. */
struct ax_lake
{
    const char *name;
    ax_status (*begin)(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out);
    ax_status (*step)(ax_task *t, ax_lake_op *op, ax_lake_event *ev);
    void (*end)(ax_lake_op *op);
};

struct ax_lake_op
{
    const ax_lake *lake;
};

/* A growing list of files in the caller's arena. */
typedef struct ax_lake_list
{
    ax_arena *arena;
    ax_lake_file *file;
    uint32_t n, cap;
} ax_lake_list;

/* Append a copy of *f; its path and ETag are copied, its partition is shared. */
ax_status ax_lake_list_add(ax_task *t, ax_lake_list *l, const ax_lake_file *f) AX_MUST_USE;

/* Sort by path, and each path once. */
void ax_lake_list_sort(ax_lake_list *l);

/* Partitions from the directories of the sorted list's paths. */
ax_status ax_lake_hive(ax_task *t, ax_lake_list *l) AX_MUST_USE;

/* The definition of a MergeTree table as lines of options, behind those of `before` (or NULL). */
ax_status ax_lake_mergetree_sql(ax_task *t, ax_arena *a, const char *before, const char *s,
                                size_t n, const char **out) AX_MUST_USE;

/* The engine of a table's definition, `ReplacingMergeTree` of ReplicatedReplacingMergeTree(...),
 * and its comment; NULL: it has none, or is no definition of a table (but of a view). */
ax_status ax_lake_mergetree_about(ax_task *t, ax_arena *a, const char *s, size_t n,
                                  const char **engine, const char **comment) AX_MUST_USE;

/* Length of the first name of a pattern, up to its slash or end.  0: it cannot be matched alone,
 * since `**`, a class or braces reach over the slash. */
size_t ax_glob_first(const char *pattern);

/* Has it anything but characters that stand for themselves? */
bool ax_glob_is_literal(const char *pattern, size_t len);

#endif
