/* Where MergeTree tables lie: what the files of this folder that find their parts share.
 *
 *   mergetree.c         which parts are rows of the table
 *   mergetree_sql.c     definitions of tables
 *   mergetree_site.c   what a path stands for: a part, a table, a server, a disk, a backup
 *   mergetree_tree.c    trees of files that lie elsewhere: how one table is cut out of them
 *   mergetree_backup.c  the index of a BACKUP
 *   mergetree_disk.c    metadata of object-storage disks
 *   tar.c               archives
 *
 * All texts live in the arena of the operation. */
#ifndef AX_LAKE_MERGETREE_INT_H
#define AX_LAKE_MERGETREE_INT_H

#include "lake/lake_int.h"

/* ---- trees ----------------------------------------------------------------------------------- */

/* A table that a path leads to, by the names that ClickHouse has for it. */
typedef struct ax_site_table
{
    const char *database;        /* NULL on a disk */
    const char *name;            /* on a disk: its UUID */
    const char *definition;      /* a file, or NULL */
    const char *text;            /* [ntext] of the definition */
    size_t ntext;
} ax_site_table;

/* A file by its name in a tree, `store/abc/.../all_1_1_0/id.bin`, and where its bytes are. */
typedef struct ax_tree_file
{
    const char *name;
    const char *uri;             /* NULL: it has no bytes */
    uint64_t size;
} ax_tree_file;

typedef struct ax_tree
{
    ax_arena *arena;
    const char *root;            /* as the user named it */
    const char *stat;            /* a file whose version stands for the tree's */
    bool moved;                  /* files do not lie where their names say */
    ax_tree_file *file;          /* [n] */
    uint32_t n, cap;
} ax_tree;

ax_status ax_tree_add(ax_task *t, ax_tree *tree, const char *name, const char *uri, uint64_t size)
    AX_MUST_USE;
void ax_tree_sort(ax_tree *tree);

/* The file of that name in a sorted tree, or NULL. */
const ax_tree_file *ax_tree_find(const ax_tree *tree, const char *name);

/* The first file of a sorted tree whose name is not before key[n]. */
uint32_t ax_tree_from(const ax_tree *tree, const char *key, size_t n);

/* May it stand behind a root?  Not with `..`, a slash in front, or characters that end lines. */
bool ax_tree_name_ok(const char *name);

/* The directory of the one table in a sorted tree that `wanted` names (NULL: there must be one
 * only): database.table in data/, the UUID in store/. */
ax_status ax_tree_table(ax_task *t, const ax_tree *tree, const char *wanted, const char **prefix)
    AX_MUST_USE;

/* All tables in a sorted tree, with their definitions as far as they are in the tree. */
ax_status ax_tree_tables(ax_task *t, const ax_tree *tree, ax_site_table **out, uint32_t *n)
    AX_MUST_USE;

/* A name without the escapes of paths. */
ax_status ax_path_unescape(ax_task *t, ax_arena *a, const char *s, size_t n, const char **out)
    AX_MUST_USE;

/* dir/name */
ax_status ax_path_join(ax_task *t, ax_arena *a, const char *dir, const char *name, const char **out)
    AX_MUST_USE;

/* The last name in a path. */
const char *ax_path_base(const char *path);

/* ---- sites ----------------------------------------------------------------------------------- */

/* A directory in a table's. */
typedef struct ax_site_dir
{
    const char *path, *name;
    const char *stat;            /* what stands for its version; NULL: the path */
    const char *files;           /* its files as lines of options; NULL: those that lie in it */
} ax_site_dir;

/* A file in a table's directory. */
typedef struct ax_site_file { const char *path, *name; } ax_site_file;

/* One of the paths of a table. */
typedef struct ax_site
{
    ax_site_table *table;        /* [ntables] when tables are listed (option list), */
    uint32_t ntables;            /* and then nothing else is */
    bool is_part;                /* it is the part dir[0] */
    ax_site_dir *dir;           /* [ndirs] */
    uint32_t ndirs;
    ax_site_file *file;         /* [nfiles] */
    uint32_t nfiles;
    const char *definition;      /* the table's, when the path leads to it, or NULL */
} ax_site;

/* The table's directory `prefix` (with its slash, or empty) of a sorted tree. */
ax_status ax_tree_site(ax_task *t, const ax_tree *tree, const char *prefix, ax_site *out)
    AX_MUST_USE;

/* Find out what paths stand for; stepped like lakes.  done: site[i] is that of spec->path[i]. */
typedef struct ax_site_op ax_site_op;
ax_status ax_site_begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_site_op **out)
    AX_MUST_USE;
ax_status ax_site_step(ax_task *t, ax_site_op *op, ax_lake_event *ev, bool *done) AX_MUST_USE;
const ax_site *ax_site_of(const ax_site_op *op, uint32_t i);
void ax_site_end(ax_site_op *op);

/* The value of an option of a lake, in arena a; NULL: it is not given. */
ax_status ax_lake_option(ax_task *t, ax_arena *a, const char *options, const char *key,
                         const char **out) AX_MUST_USE;

/* ---- backups --------------------------------------------------------------------------------- */

typedef struct ax_backup_file
{
    const char *name, *data_file; /* data_file: NULL when it is the name */
    uint64_t size;
    char checksum[33];
    bool use_base;
} ax_backup_file;

typedef struct ax_backup
{
    const char *base;            /* the base backup as the index names it, or NULL */
    ax_backup_file *file;        /* [n] */
    uint32_t n;
} ax_backup;

/* The text of `.backup`. */
ax_status ax_backup_parse(ax_task *t, ax_arena *a, const char *s, size_t n, ax_backup *out)
    AX_MUST_USE;

/* The last path in `File('b1')`, `Disk('backups', 'b1')`. */
ax_status ax_backup_base_name(ax_task *t, ax_arena *a, const char *base, const char **out)
    AX_MUST_USE;

/* ---- disks ----------------------------------------------------------------------------------- */

/* A file of a disk's metadata tree: size, and the URI of its object below `objects` (NULL: there is
 * none, it is empty). */
ax_status ax_disk_file_parse(ax_task *t, ax_arena *a, const char *objects, const char *s, size_t n,
                             uint64_t *size, const char **uri) AX_MUST_USE;

/* ---- archives -------------------------------------------------------------------------------- */

/* Members of a tar archive, taken from windows of it. */
typedef struct ax_tar
{
    ax_arena *arena;
    uint64_t pos;                /* where the next window must begin */
    uint64_t window;             /* and how many bytes it should have */
    bool done;
    const char *long_name;       /* of the next member */
    ax_tree_file *file;          /* uri is not set; off: where its bytes begin */
    uint64_t *off;
    uint32_t n, cap;
} ax_tar;

/* Take the headers in the window s[n] at tar->pos of an archive of `size` bytes. */
ax_status ax_tar_take(ax_task *t, ax_tar *tar, const uint8_t *s, size_t n, uint64_t size)
    AX_MUST_USE;

#endif
