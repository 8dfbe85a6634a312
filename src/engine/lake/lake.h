/* Lakes: which files make a table.
 *
 * A kind of lake (lakes.def) turns what the user named into files, each with what is known of it
 * without opening it.  Finding them takes reads that depend on reads (levels of a glob, a manifest
 * after the list of manifests), so it is an operation that is stepped like those of formats:
 *
 *      begin --> step --> NEED : fetch ev->need through ax_io_fetch, then step again
 *                     --> DONE : files are in the event; do not step again
 *                     --> error: place is filled in as far as known
 *      end (always, in every state; forget outstanding requests first)
 *
 * It never blocks and never sleeps.  The driver zeroes the event before each step.  A kind whose
 * metadata is in a format of ours may drive operations of formats inside its own, and passes their
 * needs on.
 *
 * files.  A path names a file, a directory, or a glob (`*`, `?`, `[a-z]`, `{a,b}`, `**` for any
 * depth of directories, `\` before a character that stands for itself).  A file whose name only
 * looks like a pattern is that file.  A plain path where nothing is is ENOFILE, a glob that matches
 * nothing gives no files.  A directory stands for all files below it with a suffix of the format.
 * A glob is walked from its fixed beginning, one level of directories after the other; only from
 * `**` on it is listed with everything below.  Names that begin with `_` or `.` inside directories
 * and globs are left out, as writers of lakes expect, unless the pattern says that character.
 * Directories named `key=value` on the way to a file are its partition.
 *
 * given.  Paths are taken as they are: formats whose table is a directory and that have no kind of
 * their own yet.
 *
 * To add a kind: a file here with a constant struct, a line in lakes.def; a format whose tables it
 * finds says so in ax_format.lake. */
#ifndef AX_LAKE_H
#define AX_LAKE_H

#include "format/format.h"

typedef struct ax_lake ax_lake;
typedef struct ax_lake_op ax_lake_op; /* opaque; each kind has its own struct behind it */

/* What is remembered of a file from an earlier listing. */
typedef struct ax_lake_known
{
    const char *path;
    uint64_t size;
} ax_lake_known;

typedef struct ax_lake_spec
{
    const char *const *path;   /* [npaths] borrowed, like the rest, until end */
    uint32_t npaths;
    const ax_format *format;   /* NULL: not known before files are seen */
    const char *kind;          /* a name of lakes.def; NULL: the format's, else "given" for
                                * directories, else "files" */
    const char *options;       /* "key=value" lines, or NULL */
    bool allow_none;           /* files: a path where nothing is stands for no files */
    const ax_lake_known *known; /* [nknown] sorted by path.  NULL: files are looked at.  Else a file
                                 * of the local file system that is among them need not be: it may
                                 * get the size that is remembered, and no time */
    uint32_t nknown;
} ax_lake_spec;

typedef struct ax_lake_file
{
    const char *path;          /* as it must be given to ax_io */
    const char *stat;          /* what stands for its version, when the path is but a name of it;
                                * NULL: the path */
    bool listed;               /* the next three were told by a listing, a manifest or a STAT; else
                                * size is 0 or remembered */
    uint64_t size;
    int64_t mtime_ns;          /* 0: not known */
    const char *etag;          /* NULL: not known */
    const char *const *part_name;  /* [nparts] partition columns and their text values, decoded; */
    const char *const *part_value; /* NULL entry: SQL null.  Outermost first */
    uint32_t nparts;
    const char *options;       /* what the format must know of this file besides its bytes, as
                                * "key=value" lines in place of the table's; NULL: nothing.  Files
                                * of one table mostly share the string */
} ax_lake_file;

/* Something that a listing stands on.  While each of them is as it was, the same names would be
 * found, if the file system gives a directory that changes another mtime or ctime. */
typedef struct ax_lake_watch
{
    const char *path;          /* of the local file system */
    bool found, is_dir;
    bool listed;               /* a directory whose names count: it must be this version of it */
    ax_io_id id;
} ax_lake_watch;

typedef struct ax_lake_event
{
    uint8_t step;              /* ax_step: NEED or DONE */
    ax_io_need need;           /* NEED: requests, the operation's until its next step */
    const ax_lake_file *file;  /* DONE: [nfiles] in the arena of begin; each once, sorted by path
                                * or as the kind of table orders them */
    uint32_t nfiles;
    const ax_lake_watch *watch; /* DONE: [nwatch] in the same arena */
    uint32_t nwatch;
    bool watched;              /* DONE: these are all that the listing stands on, and a change of
                                * them can be seen: directories had been at rest for a while */
} ax_lake_event;

/* a: holds the files; the operation's scratch is charged to its budget, too.  Thread: task; the
 * operation may be handed to another task between steps. */
ax_status ax_lake_begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_lake_op **out)
    AX_MUST_USE;
ax_status ax_lake_step(ax_task *t, ax_lake_op *op, ax_lake_event *ev) AX_MUST_USE;
void ax_lake_end(ax_lake_op *op); /* NULL is allowed */

/* Does name match pattern?  `/` is matched by `**` only. */
bool ax_glob_match(const char *pattern, const char *name);
bool ax_glob_has_magic(const char *path);

#endif
