/* Lakes: which files make a table.
 *
 * A path names a file, a directory, or a glob (`*`, `?`, `[a-z]`, `{a,b}`, and `**` for any depth
 * of directories).  Names that begin with `_` or `.` inside directories and globs are left out, as
 * writers of lakes expect.  Files come back sorted by path, each once.  Table formats (Iceberg,
 * Delta) and Hive partitions will answer the same question with constants per file. */
#ifndef AX_LAKE_H
#define AX_LAKE_H

#include "format/format.h"

typedef struct ax_lake_file
{
    const char *path;
    uint64_t size;            /* as listed */
    int64_t mtime_ns;
    const char *const *part_name;  /* [nparts] partition columns and their text values */
    const char *const *part_value; /* NULL entry: SQL null */
    uint32_t nparts;
} ax_lake_file;

/* Expand paths into files.  suffixes: for a directory, only names with one of these suffixes
 * (space-separated, from ax_format); NULL: all.  A plain path that does not exist is ENOFILE; a
 * glob that matches nothing gives zero files.  Blocking for local paths only; runs in jobs. */
ax_status ax_lake_expand(ax_task *t, ax_io *io, ax_arena *a, const char *const *paths,
                         uint32_t npaths, const char *suffixes, ax_lake_file **out, uint32_t *n)
    AX_MUST_USE;

/* Does name match pattern?  `/` is matched by `**` only. */
bool ax_glob_match(const char *pattern, const char *name);
bool ax_glob_has_magic(const char *path);

#endif
