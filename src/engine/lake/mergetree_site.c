/* What the paths of a table stand for.
 *
 *      LIST the path
 *        has columns.txt             a part
 *        has .backup                 a BACKUP: its index, then those of its base backups
 *        has __meta                  a plain_rewritable disk: the names of its directories
 *        has metadata and data       a server's directory: definitions, then the table's directory
 *        has store or data, or is a  a disk, a FREEZE shadow, a tree of .index files: everything in
 *        directory `store`           it, of which one table is taken
 *        else                        a table's directory
 *      is a file *.tar               a BACKUP in an archive: its headers, then the same
 *
 * With the option objects, files of a disk or table are metadata that say where the bytes are.
 * Where there are several tables, option table_name says which.  Paths are looked at one after the
 * other; there are few. */
#include "lake/mergetree_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum
{
    PATH, LISTED, ARCHIVE, HEADERS, INDEX, REWRITABLE, DIRECTORIES, TREE, OBJECTS, DATABASES,
    UUIDS, TABLES, DEFINITION, TABLE, TEXTS, NEXT, READ_OPEN, READ_BYTES, DONE
};

enum { MAX_BASES = 16, MAX_INDEX_BYTES = 1 << 30, MAX_TEXT_BYTES = 1 << 20 };

/* A backup, or one that another one is based on. */
typedef struct store
{
    const char *path;
    bool archive;
    ax_tar tar;
    ax_io_file *file;            /* the archive; owned */
    ax_backup index;
    const ax_backup_file **by_sum; /* [index.n] */
} store;

/* A table of a server. */
typedef struct server_table
{
    const char *database, *name, *sql;
} server_table;

struct ax_site_op
{
    const ax_lake_spec *spec;    /* borrowed */
    ax_arena *a;
    const char *wanted, *objects, *base_path; /* options, or NULL */
    bool listing;                /* of tables: option list */
    ax_site *site;               /* [spec->npaths] */
    uint32_t path;               /* which is looked at */
    uint8_t state, then;         /* then: where to go on when files are read */
    const char *dir;             /* the path without slashes at its end */
    ax_io_req *req;              /* [nreq] under way */
    uint32_t nreq;
    ax_io_file **open;           /* [nopen] files that are read; owned */
    ax_buf **buf;                /* [nopen] and their bytes; owned */
    uint32_t nopen;
    uint64_t max_bytes;          /* of one of them */
    ax_tree tree;
    const char *prefix;          /* of the table in it */
    store store[MAX_BASES];
    uint32_t nstores;
    server_table *table;         /* [ntables] */
    uint32_t ntables, table_cap;
    const char **database;       /* [ndatabases] */
    uint32_t ndatabases;
};

/* ---- requests -------------------------------------------------------------------------------- */

static ax_status ask(ax_site_op *op, uint32_t n, uint8_t next, ax_lake_event *ev)
{
    op->nreq = n;
    op->state = next;
    ev->step = AX_STEP_NEED;
    ev->need = (ax_io_need){op->req, n};
    return AX_OK;
}

static ax_status requests(ax_task *t, ax_site_op *op, uint32_t n)
{
    op->nreq = 0;
    AX_NEW(t, op->req, (ax_io_req *) ax_arena_alloc0(op->a, (n + 1u) * sizeof *op->req));
    return AX_OK;
}

static ax_status list(ax_task *t, ax_site_op *op, const char *uri, bool recursive, uint8_t next,
                      ax_lake_event *ev)
{
    AX_TRY(requests(t, op, 1));
    op->req[0] = (ax_io_req){.kind = AX_IO_LIST, .uri = uri, .arena = op->a,
                             .recursive = recursive};
    return ask(op, 1, next, ev);
}

static void forget(ax_site_op *op)
{
    for (uint32_t i = 0; i < op->nopen; i++)
    {
        ax_io_file_unref(op->open[i]);
        ax_buf_unref(op->buf[i]);
    }
    op->nopen = 0;
}

/* Read whole files, whose requests have their URIs; then go on in state `next` with op->buf. */
static ax_status read_files(ax_task *t, ax_site_op *op, uint32_t n, uint64_t max_bytes,
                            uint8_t next, ax_lake_event *ev)
{
    forget(op);
    AX_NEW(t, op->open, (ax_io_file **) ax_arena_alloc0(op->a, (n + 1u) * sizeof *op->open));
    AX_NEW(t, op->buf, (ax_buf **) ax_arena_alloc0(op->a, (n + 1u) * sizeof *op->buf));
    op->then = next;
    op->max_bytes = max_bytes;
    return ask(op, n, READ_OPEN, ev);
}

static ax_status read_one(ax_task *t, ax_site_op *op, const char *uri, uint64_t max_bytes,
                          uint8_t next, ax_lake_event *ev)
{
    AX_TRY(requests(t, op, 1));
    op->req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = uri};
    return read_files(t, op, 1, max_bytes, next, ev);
}

static ax_status opened(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    op->nopen = op->nreq;
    for (uint32_t i = 0; i < op->nreq; i++)
    {
        op->open[i] = op->req[i].file;
        op->req[i] = (ax_io_req){.kind = AX_IO_READ, .file = op->open[i],
                                 .len = ax_io_file_size(op->open[i])};
    }
    for (uint32_t i = 0; i < op->nreq; i++)
        if (op->req[i].len > op->max_bytes)
        {
            ax_note_file(t, ax_io_file_name(op->open[i]));
            return ax_fail(t, AX_ELIMIT, "file is too large");
        }
    return ask(op, op->nreq, READ_BYTES, ev);
}

static ax_status delivered(ax_task *t, ax_site_op *op)
{
    for (uint32_t i = 0; i < op->nreq; i++)
    {
        op->buf[i] = op->req[i].buf;
        op->req[i].buf = NULL;
        AX_CHECK(t, op->buf[i] != NULL, AX_EIO, "requested bytes were not delivered");
    }
    op->nreq = 0;
    op->state = op->then;
    return AX_OK;
}

/* ---- the path itself ------------------------------------------------------------------------- */

static bool has(const ax_io_req *r, const char *name, bool dir)
{
    for (uint32_t i = 0; i < r->nentries; i++)
        if (r->entries[i].is_dir == dir && strcmp(ax_path_base(r->entries[i].path), name) == 0)
            return true;
    return false;
}

static ax_site *site_of(ax_site_op *op) { return &op->site[op->path]; }

/* Directories and files of the listing as they lie there. */
static ax_status plain_site(ax_task *t, ax_site_op *op, const ax_io_req *r)
{
    ax_site *s = site_of(op);
    size_t n = r->nentries + 1u;

    AX_NEW(t, s->dir, (ax_site_dir *) ax_arena_alloc0(op->a, n * sizeof *s->dir));
    AX_NEW(t, s->file, (ax_site_file *) ax_arena_alloc0(op->a, n * sizeof *s->file));
    for (uint32_t i = 0; i < r->nentries; i++)
    {
        const char *path = r->entries[i].path, *name = ax_path_base(path);

        if (r->entries[i].is_dir)
            s->dir[s->ndirs++] = (ax_site_dir){.path = path, .name = name};
        else
            s->file[s->nfiles++] = (ax_site_file){path, name};
    }
    op->state = NEXT;
    return AX_OK;
}

static ax_status part_site(ax_task *t, ax_site_op *op)
{
    ax_site *s = site_of(op);

    AX_NEW(t, s->dir, (ax_site_dir *) ax_arena_alloc0(op->a, sizeof *s->dir));
    s->dir[0] = (ax_site_dir){.path = op->dir, .name = ax_path_base(op->dir)};
    s->ndirs = 1;
    s->is_part = true;
    op->state = NEXT;
    return AX_OK;
}

/* The site's tables are known: read their definitions. */
static ax_status read_texts(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const ax_site *s = site_of(op);
    uint32_t n = 0;

    AX_TRY(requests(t, op, s->ntables));
    for (uint32_t i = 0; i < s->ntables; i++)
        if (s->table[i].definition != NULL)
            op->req[n++] = (ax_io_req){.kind = AX_IO_OPEN, .uri = s->table[i].definition};
    if (n > 0)
        return read_files(t, op, n, MAX_TEXT_BYTES, TEXTS, ev);
    op->state = NEXT;
    return AX_OK;
}

static ax_status take_texts(ax_task *t, ax_site_op *op)
{
    ax_site *s = site_of(op);
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->ntables; i++)
        if (s->table[i].definition != NULL)
        {
            const ax_buf *b = op->buf[n++];

            AX_NEW(t, s->table[i].text, ax_arena_strndup(op->a, (const char *) b->data, b->len));
            s->table[i].ntext = b->len;
        }
    forget(op);
    op->state = NEXT;
    return AX_OK;
}

static ax_status list_tree(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    AX_TRY(ax_tree_tables(t, &op->tree, &site_of(op)->table, &site_of(op)->ntables));
    return read_texts(t, op, ev);
}

/* A path that is a table. */
static ax_status list_path(ax_task *t, ax_site_op *op)
{
    ax_site *s = site_of(op);

    AX_NEW(t, s->table, (ax_site_table *) ax_arena_alloc0(op->a, sizeof *s->table));
    s->table[0].name = ax_path_base(op->dir);
    s->ntables = 1;
    op->state = NEXT;
    return AX_OK;
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n > k && strcmp(s + n - k, suffix) == 0;
}

static ax_status not_found(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    static const char *const others[] = {".zip", ".tar.gz", ".tgz", ".tzst", ".tar.zst", ".tar.bz2",
                                         ".tar.xz", ".tar.lzma"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        AX_CHECK(t, !ends_with(op->dir, others[i]), AX_EUNSUPPORTED,
                 "archives of kind %s cannot be read: unpack it", others[i]);
    if (!ends_with(op->dir, ".tar"))
        return ax_fail(t, AX_ENOFILE, "could not open table: no such directory");
    op->nstores = 1;
    op->store[0] = (store){.path = op->dir, .archive = true, .tar = {.arena = op->a}};
    AX_TRY(requests(t, op, 1));
    op->req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = op->dir};
    return ask(op, 1, ARCHIVE, ev);
}

/* One tree of everything that was listed below op->dir. */
static ax_status listed_tree(ax_task *t, ax_site_op *op, const ax_io_req *r)
{
    size_t n = strlen(op->dir);

    op->tree = (ax_tree){.arena = op->a, .root = op->dir, .stat = op->dir};
    while (n > 0 && op->dir[n - 1] == '/')
        n--;
    for (uint32_t i = 0; i < r->nentries; i++)
        if (!r->entries[i].is_dir)
            AX_TRY(ax_tree_add(t, &op->tree, r->entries[i].path + n + 1, r->entries[i].path,
                               r->entries[i].size));
    ax_tree_sort(&op->tree);
    return AX_OK;
}

static ax_status listed(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const ax_io_req *r = &op->req[0];
    bool tree, table = has(r, "format_version.txt", false);
    const char *path;

    if (!r->found)
        return not_found(t, op, ev);
    if (has(r, ".backup", false))
    {
        op->nstores = 1;
        op->store[0] = (store){.path = op->dir};
        AX_TRY(ax_path_join(t, op->a, op->dir, ".backup", &path));
        return read_one(t, op, path, MAX_INDEX_BYTES, INDEX, ev);
    }
    if (has(r, "__meta", true))
        return list(t, op, op->dir, true, REWRITABLE, ev);
    if (!table && has(r, "metadata", true) && (has(r, "data", true) || has(r, "store", true)))
    {
        AX_TRY(ax_path_join(t, op->a, op->dir, "metadata", &path));
        return list(t, op, path, true, DATABASES, ev);
    }
    tree = !table && (has(r, "store", true) || has(r, "data", true) ||
                      strcmp(ax_path_base(op->dir), "store") == 0);
    if (tree || op->objects != NULL)
        return list(t, op, op->dir, true, TREE, ev);
    if (op->listing)
        return list_path(t, op);
    return has(r, "columns.txt", false) ? part_site(t, op) : plain_site(t, op, r);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static ax_status tree_site(ax_task *t, ax_site_op *op)
{
    op->state = NEXT;
    return ax_tree_site(t, &op->tree, op->prefix, site_of(op));
}

/* Which directory of the tree is the table's?  With objects: read the metadata of its files. */
static ax_status take_tree(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    uint32_t n = 0;

    AX_TRY(listed_tree(t, op, &op->req[0]));
    if (op->listing && ax_tree_find(&op->tree, "format_version.txt") == NULL)
        return list_tree(t, op, ev);
    if (op->listing)
        return list_path(t, op);
    if (ax_tree_find(&op->tree, "format_version.txt") != NULL)
        op->prefix = "";
    else
        AX_TRY(ax_tree_table(t, &op->tree, op->wanted, &op->prefix));
    if (op->objects == NULL)
        return tree_site(t, op);
    /* Only the table's files are of interest. */
    for (uint32_t i = 0; i < op->tree.n; i++)
        if (strncmp(op->tree.file[i].name, op->prefix, strlen(op->prefix)) == 0 &&
            strstr(op->tree.file[i].name, ".proj/") == NULL)
            op->tree.file[n++] = op->tree.file[i];
    op->tree.n = n;
    AX_TRY(requests(t, op, n));
    for (uint32_t i = 0; i < n; i++)
        op->req[i] = (ax_io_req){.kind = AX_IO_OPEN, .uri = op->tree.file[i].uri};
    return read_files(t, op, n, MAX_TEXT_BYTES, OBJECTS, ev);
}

static ax_status take_objects(ax_task *t, ax_site_op *op)
{
    op->tree.moved = true;
    for (uint32_t i = 0; i < op->tree.n; i++)
    {
        ax_tree_file *f = &op->tree.file[i];
        const char *meta = f->uri;
        ax_status st = ax_disk_file_parse(t, op->a, op->objects, (const char *) op->buf[i]->data,
                                          op->buf[i]->len, &f->size, &f->uri);

        if (i == 0)
            op->tree.stat = meta;
        if (st != AX_OK)
        {
            ax_note_file(t, meta);
            return st;
        }
    }
    forget(op);
    return tree_site(t, op);
}

/* ---- plain_rewritable disks ------------------------------------------------------------------ */

/* __meta/<token>/prefix.path: the directory whose files lie in <token>/. */
static bool is_prefix(const char *name)
{
    const char *slash = strncmp(name, "__meta/", 7) == 0 ? strchr(name + 7, '/') : NULL;

    return slash != NULL && strcmp(slash, "/prefix.path") == 0;
}

static ax_status take_rewritable(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    uint32_t n = 0;

    AX_TRY(listed_tree(t, op, &op->req[0]));
    AX_TRY(requests(t, op, op->tree.n));
    for (uint32_t i = 0; i < op->tree.n; i++)
        if (is_prefix(op->tree.file[i].name))
            op->req[n++] = (ax_io_req){.kind = AX_IO_OPEN, .uri = op->tree.file[i].uri};
    return read_files(t, op, n, MAX_TEXT_BYTES, DIRECTORIES, ev);
}

/* A part whose directory has lost its name is no part of nothing. */
static ax_status all_named(ax_task *t, ax_site_op *op)
{
    for (uint32_t i = 0; i < op->tree.n; i++)
    {
        const ax_tree_file *f = &op->tree.file[i];
        const char *slash = strchr(f->name, '/');
        char prefix[160];

        if (slash == NULL || strcmp(slash, "/columns.txt") != 0 || slash - f->name > 100)
            continue;
        snprintf(prefix, sizeof prefix, "__meta/%.*s/prefix.path", (int) (slash - f->name),
                 f->name);
        if (ax_tree_find(&op->tree, prefix) == NULL)
        {
            ax_note_file(t, f->uri);
            return ax_fail(t, AX_ECORRUPT, "part lies in no directory of the disk");
        }
    }
    return AX_OK;
}

static ax_status take_directories(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    ax_tree *flat = &op->tree, tree = {.arena = op->a, .root = op->dir, .moved = true};
    uint32_t k = 0;

    for (uint32_t i = 0; i < flat->n; i++)
    {
        const char *token = flat->file[i].name + 7, *dir, *name, *end;
        size_t ntoken;

        if (!is_prefix(flat->file[i].name))
            continue;
        ntoken = (size_t) (strchr(token, '/') + 1 - token);
        AX_NEW(t, dir, ax_arena_strndup(op->a, (const char *) op->buf[k]->data, op->buf[k]->len));
        k++;
        end = dir + strlen(dir);
        if (dir != end && (end[-1] != '/' || !ax_tree_name_ok(dir)))
        {
            ax_note_file(t, flat->file[i].uri);
            return ax_fail(t, AX_ECORRUPT, "file names no directory of the disk");
        }
        tree.stat = flat->file[i].uri;
        for (uint32_t m = ax_tree_from(flat, token, ntoken); m < flat->n; m++)
        {
            const ax_tree_file *f = &flat->file[m];

            if (strncmp(f->name, token, ntoken) != 0)
                break;
            name = f->name + ntoken;
            if (*dir != '\0')
                AX_TRY(ax_path_join(t, op->a, dir, name, &name));
            AX_TRY(ax_tree_add(t, &tree, name, f->uri, f->size));
        }
    }
    forget(op);
    AX_TRY(all_named(t, op));
    op->tree = tree;
    ax_tree_sort(&op->tree);
    if (op->listing)
        return list_tree(t, op, ev);
    AX_TRY(ax_tree_table(t, &op->tree, op->wanted, &op->prefix));
    return tree_site(t, op);
}

/* ---- backups --------------------------------------------------------------------------------- */

static ax_status next_window(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    store *s = &op->store[op->nstores - 1];
    uint64_t left = ax_io_file_size(s->file) - s->tar.pos;

    AX_TRY(requests(t, op, 1));
    op->req[0] = (ax_io_req){.kind = AX_IO_READ, .file = s->file, .off = s->tar.pos,
                             .len = left < s->tar.window ? left : s->tar.window};
    return ask(op, 1, HEADERS, ev);
}

static ax_status archive_opened(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    store *s = &op->store[op->nstores - 1];

    s->file = op->req[0].file;
    op->req[0].file = NULL;
    s->tar.window = 4096;
    return next_window(t, op, ev);
}

static ax_status slice(ax_task *t, ax_site_op *op, const store *s, uint32_t i, const char **uri)
{
    size_t n = strlen(s->path) + 64;
    char *p;

    AX_NEW(t, p, (char *) ax_arena_alloc(op->a, n));
    snprintf(p, n, "slice://%llu+%llu/%s", (unsigned long long) s->tar.off[i],
             (unsigned long long) s->tar.file[i].size, s->path);
    *uri = p;
    return AX_OK;
}

static ax_status headers(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    store *s = &op->store[op->nstores - 1];
    ax_buf *b = op->req[0].buf;
    const char *uri = NULL;
    ax_status st;

    AX_CHECK(t, b != NULL, AX_EIO, "requested bytes were not delivered");
    st = ax_tar_take(t, &s->tar, b->data, b->len, ax_io_file_size(s->file));
    ax_buf_unref(b);
    op->req[0].buf = NULL;
    op->nreq = 0;
    AX_TRY(st);
    if (!s->tar.done)
        return next_window(t, op, ev);
    ax_io_file_unref(s->file);
    s->file = NULL;
    for (uint32_t i = 0; i < s->tar.n; i++)
    {
        AX_TRY(slice(t, op, s, i, &s->tar.file[i].uri));
        if (strcmp(s->tar.file[i].name, ".backup") == 0)
            uri = s->tar.file[i].uri;
    }
    AX_CHECK(t, uri != NULL, AX_EUNSUPPORTED, "archive is no backup: it has no .backup");
    return read_one(t, op, uri, MAX_INDEX_BYTES, INDEX, ev);
}

static int by_sum(const void *a, const void *b)
{
    const ax_backup_file *x = *(const ax_backup_file *const *) a;
    const ax_backup_file *y = *(const ax_backup_file *const *) b;
    int c = strcmp(x->checksum, y->checksum);

    return c != 0 ? c : (x->size > y->size) - (x->size < y->size);
}

/* The base backup lies beside the backup, unless option base_backup says where. */
static ax_status next_base(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const store *s = &op->store[op->nstores - 1];
    const char *name, *path = op->nstores == 1 ? op->base_path : NULL, *slash;

    AX_CHECK(t, op->nstores < MAX_BASES, AX_ELIMIT, "backup has too many base backups");
    if (path == NULL)
    {
        AX_TRY(ax_backup_base_name(t, op->a, s->index.base, &name));
        slash = strrchr(s->path, '/');
        AX_NEW(t, path, ax_arena_strndup(op->a, s->path, slash != NULL ? (size_t) (slash - s->path)
                                                                       : 0));
        AX_TRY(ax_path_join(t, op->a, slash != NULL ? path : ".", name, &path));
    }
    op->store[op->nstores++] = (store){.path = path, .archive = ends_with(path, ".tar"),
                                       .tar = {.arena = op->a}};
    if (ends_with(path, ".tar"))
    {
        AX_TRY(requests(t, op, 1));
        op->req[0] = (ax_io_req){.kind = AX_IO_OPEN, .uri = path};
        return ask(op, 1, ARCHIVE, ev);
    }
    AX_TRY(ax_path_join(t, op->a, path, ".backup", &path));
    return read_one(t, op, path, MAX_INDEX_BYTES, INDEX, ev);
}

/* Where the bytes of a file are, which the index of store k lists; NULL: it has none. */
static ax_status bytes_of(ax_task *t, ax_site_op *op, uint32_t k, const ax_backup_file *f,
                          const char **uri)
{
    const char *name;
    store *s = &op->store[k];

    *uri = NULL;
    if (f->size == 0)
        return AX_OK;
    if (f->use_base)
    {
        const ax_backup_file **hit = NULL;

        if (k + 1 < op->nstores)
            hit = bsearch(&f, op->store[k + 1].by_sum, op->store[k + 1].index.n, sizeof f, by_sum);
        AX_CHECK(t, hit != NULL, AX_ECORRUPT, "base backup has no file with the bytes of \"%s\"",
                 f->name);
        return bytes_of(t, op, k + 1, *hit, uri);
    }
    name = f->data_file != NULL ? f->data_file : f->name;
    if (!s->archive)
        return ax_path_join(t, op->a, s->path, name, uri);
    for (uint32_t lo = 0, hi = s->tar.n; lo < hi;)
    {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(s->tar.file[mid].name, name);

        if (c == 0)
        {
            *uri = s->tar.file[mid].uri;
            return AX_OK;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return ax_fail(t, AX_ECORRUPT, "archive has no member \"%s\"", name);
}

static int by_member(const void *a, const void *b)
{
    return strcmp(((const ax_tree_file *) a)->name, ((const ax_tree_file *) b)->name);
}

static ax_status backup_tree(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const store *s = &op->store[0];
    const char *uri, *sql;
    size_t n;

    op->tree = (ax_tree){.arena = op->a, .root = op->dir, .stat = op->dir, .moved = true};
    if (!s->archive)
        AX_TRY(ax_path_join(t, op->a, op->dir, ".backup", &op->tree.stat));
    for (uint32_t i = 0; i < s->index.n; i++)
    {
        AX_TRY(bytes_of(t, op, 0, &s->index.file[i], &uri));
        AX_TRY(ax_tree_add(t, &op->tree, s->index.file[i].name, uri, s->index.file[i].size));
    }
    ax_tree_sort(&op->tree);
    if (op->listing)
        return list_tree(t, op, ev);
    AX_TRY(ax_tree_table(t, &op->tree, op->wanted, &op->prefix));
    AX_TRY(tree_site(t, op));
    /* data/<database>/<table>/ has its definition in metadata/<database>/<table>.sql */
    n = strlen(op->prefix);
    if (strncmp(op->prefix, "data/", 5) == 0)
    {
        char *p;
        const ax_tree_file *f;

        AX_NEW(t, p, (char *) ax_arena_alloc(op->a, n + 16));
        snprintf(p, n + 16, "metadata/%.*s.sql", (int) (n - 6), op->prefix + 5);
        sql = p;
        f = ax_tree_find(&op->tree, sql);
        site_of(op)->definition = f != NULL ? f->uri : NULL;
    }
    return AX_OK;
}

static ax_status take_index(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    store *s = &op->store[op->nstores - 1];
    ax_status st = ax_backup_parse(t, op->a, (const char *) op->buf[0]->data, op->buf[0]->len,
                                   &s->index);
    bool base = false;

    if (st != AX_OK)
    {
        ax_note_file(t, ax_io_file_name(op->open[0]));
        return st;
    }
    forget(op);
    if (s->archive && s->tar.n > 1)
        qsort(s->tar.file, s->tar.n, sizeof *s->tar.file, by_member);
    AX_NEW(t, s->by_sum, (const ax_backup_file **) ax_arena_alloc(
                             op->a, (s->index.n + 1u) * sizeof *s->by_sum));
    for (uint32_t i = 0; i < s->index.n; i++)
    {
        s->by_sum[i] = &s->index.file[i];
        base |= s->index.file[i].use_base;
    }
    if (s->index.n > 1)
        qsort(s->by_sum, s->index.n, sizeof *s->by_sum, by_sum);
    if (base && s->index.base != NULL)
        return next_base(t, op, ev);
    return backup_tree(t, op, ev);
}

/* ---- servers --------------------------------------------------------------------------------- */

static ax_status add_table(ax_task *t, ax_site_op *op, const char *database, const char *sql)
{
    const char *base = ax_path_base(sql);

    if (strlen(base) == 4) /* ".sql" has no name in front */
        return AX_OK;
    if (op->ntables == op->table_cap)
    {
        uint32_t cap = op->table_cap == 0 ? 64 : op->table_cap * 2;
        server_table *grown;

        AX_CHECK(t, cap < (1u << 24), AX_ELIMIT, "too many tables");
        AX_NEW(t, grown, (server_table *) ax_arena_alloc(op->a, cap * sizeof *grown));
        if (op->ntables > 0)
            memcpy(grown, op->table, op->ntables * sizeof *grown);
        op->table = grown;
        op->table_cap = cap;
    }
    op->table[op->ntables] = (server_table){.database = database, .sql = sql};
    AX_NEW(t, op->table[op->ntables].name, ax_arena_strndup(op->a, base, strlen(base) - 4));
    op->ntables++;
    return AX_OK;
}

/* metadata/<database>.sql, metadata/<database>/<table>.sql; where the directory of a database is a
 * link that leads nowhere, its UUID tells where its tables are defined. */
static ax_status databases(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const ax_io_req *r = &op->req[0];
    size_t root = strlen(op->dir) + strlen("/metadata/");
    uint32_t n = 0;
    const char **uri;

    AX_NEW(t, op->database, (const char **) ax_arena_alloc(op->a, (r->nentries + 1u) *
                                                                      sizeof *op->database));
    AX_NEW(t, uri, (const char **) ax_arena_alloc(op->a, (r->nentries + 1u) * sizeof *uri));
    for (uint32_t i = 0; i < r->nentries; i++)
    {
        const char *path = r->entries[i].path, *name = path + root, *slash = strchr(name, '/');
        bool linked = false;

        if (r->entries[i].is_dir || !ends_with(name, ".sql"))
            continue;
        if (slash != NULL)
        {
            const char *database;

            AX_NEW(t, database, ax_arena_strndup(op->a, name, (size_t) (slash - name)));
            if (strchr(slash + 1, '/') == NULL)
                AX_TRY(add_table(t, op, database, path));
            continue;
        }
        for (uint32_t k = 0; k < r->nentries && !linked; k++)
            linked = r->entries[k].is_dir &&
                     strlen(r->entries[k].path + root) == strlen(name) - 4 &&
                     strncmp(r->entries[k].path + root, name, strlen(name) - 4) == 0;
        if (linked)
            continue;
        AX_NEW(t, op->database[n], ax_arena_strndup(op->a, name, strlen(name) - 4));
        uri[n++] = path;
    }
    op->ndatabases = n;
    AX_TRY(requests(t, op, n));
    for (uint32_t i = 0; i < n; i++)
        op->req[i] = (ax_io_req){.kind = AX_IO_OPEN, .uri = uri[i]};
    if (n > 0)
        return read_files(t, op, n, MAX_TEXT_BYTES, UUIDS, ev);
    op->state = TABLES;
    return AX_OK;
}

/* store/<first three digits>/<uuid> of a definition; NULL: it has no UUID. */
static ax_status uuid_dir(ax_task *t, ax_site_op *op, const ax_buf *b, const char **out)
{
    const char *p = memmem(b->data, b->len, "UUID '", 6), *end = (const char *) b->data + b->len;
    char dir[64];

    *out = NULL;
    if (p == NULL || end - p < 43 || p[42] != '\'')
        return AX_OK;
    p += 6;
    for (int i = 0; i < 36; i++)
        if ((p[i] < '0' || p[i] > '9') && (p[i] < 'a' || p[i] > 'f') && p[i] != '-')
            return AX_OK;
    snprintf(dir, sizeof dir, "store/%.3s/%.36s", p, p);
    return ax_path_join(t, op->a, op->dir, dir, out);
}

static ax_status take_uuids(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    uint32_t n = 0;
    const char *dir;

    AX_TRY(requests(t, op, op->ndatabases));
    for (uint32_t i = 0; i < op->ndatabases; i++)
    {
        AX_TRY(uuid_dir(t, op, op->buf[i], &dir));
        if (dir == NULL)
            continue;
        op->database[n] = op->database[i];
        op->req[n++] = (ax_io_req){.kind = AX_IO_LIST, .uri = dir, .arena = op->a};
    }
    forget(op);
    op->ndatabases = n;
    if (n > 0)
        return ask(op, n, TABLES, ev);
    op->state = TABLES;
    return AX_OK;
}

/* Databases that hold what a server writes about itself. */
static bool is_system(const char *database)
{
    return strcmp(database, "system") == 0 || strcasecmp(database, "information_schema") == 0;
}

static ax_status list_server(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    ax_site *s = site_of(op);

    AX_NEW(t, s->table, (ax_site_table *) ax_arena_alloc0(op->a, (op->ntables + 1u) *
                                                                     sizeof *s->table));
    for (uint32_t i = 0; i < op->ntables; i++)
    {
        const server_table *from = &op->table[i];
        ax_site_table *to = &s->table[s->ntables];

        if (is_system(from->database))
            continue;
        AX_TRY(ax_path_unescape(t, op->a, from->database, strlen(from->database), &to->database));
        AX_TRY(ax_path_unescape(t, op->a, from->name, strlen(from->name), &to->name));
        to->definition = from->sql;
        s->ntables++;
    }
    return read_texts(t, op, ev);
}

static ax_status choose_table(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    ax_tree names = {.arena = op->a, .root = op->dir};
    const ax_tree_file *definition;
    const char *prefix, *name;

    for (uint32_t i = 0; i < op->ndatabases && op->nreq > 0; i++)
        for (uint32_t k = 0; k < op->req[i].nentries; k++)
            if (!op->req[i].entries[k].is_dir && ends_with(op->req[i].entries[k].path, ".sql"))
                AX_TRY(add_table(t, op, op->database[i], op->req[i].entries[k].path));
    op->nreq = 0;
    if (op->listing)
        return list_server(t, op, ev);
    for (uint32_t i = 0; i < op->ntables; i++)
    {
        const server_table *table = &op->table[i];
        size_t n = strlen(table->database) + strlen(table->name) + 16;
        char *p;

        if (op->wanted == NULL && is_system(table->database))
            continue;
        AX_NEW(t, p, (char *) ax_arena_alloc(op->a, n));
        snprintf(p, n, "data/%s/%s/.", table->database, table->name);
        AX_TRY(ax_tree_add(t, &names, p, table->sql, 0));
    }
    ax_tree_sort(&names);
    AX_TRY(ax_tree_table(t, &names, op->wanted, &prefix));
    AX_TRY(ax_path_join(t, op->a, prefix, ".", &name));
    op->prefix = prefix;
    definition = ax_tree_find(&names, name);
    AX_CHECK(t, definition != NULL, AX_EUNSUPPORTED, "directory \"%s\" is no table of a server",
             prefix);
    site_of(op)->definition = definition->uri;
    return read_one(t, op, site_of(op)->definition, MAX_TEXT_BYTES, DEFINITION, ev);
}

static ax_status take_definition(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const char *dir;

    AX_TRY(uuid_dir(t, op, op->buf[0], &dir));
    forget(op);
    if (dir == NULL)
        AX_TRY(ax_path_join(t, op->a, op->dir, op->prefix, &dir));
    return list(t, op, dir, false, TABLE, ev);
}

static ax_status take_table(ax_task *t, ax_site_op *op)
{
    if (!op->req[0].found)
    {
        ax_note_file(t, op->req[0].uri);
        return ax_fail(t, AX_ENOFILE, "could not open table: no such directory");
    }
    return plain_site(t, op, &op->req[0]);
}

/* ---- the operation --------------------------------------------------------------------------- */

ax_status ax_lake_option(ax_task *t, ax_arena *a, const char *options, const char *key,
                         const char **out)
{
    size_t n = strlen(key);

    *out = NULL;
    for (const char *s = options; s != NULL && *s != '\0';)
    {
        const char *end = strchr(s, '\n');

        if (strncmp(s, key, n) == 0 && s[n] == '=')
        {
            s += n + 1;
            AX_NEW(t, *out, ax_arena_strndup(a, s, end != NULL ? (size_t) (end - s) : strlen(s)));
            return AX_OK;
        }
        s = end != NULL ? end + 1 : NULL;
    }
    return AX_OK;
}

ax_status ax_site_begin(ax_task *t, ax_arena *a, const ax_lake_spec *spec, ax_site_op **out)
{
    const char *list;
    ax_site_op *op;

    AX_NEW(t, op, (ax_site_op *) ax_arena_alloc0(a, sizeof *op));
    op->spec = spec;
    op->a = a;
    AX_NEW(t, op->site, (ax_site *) ax_arena_alloc0(a, (spec->npaths + 1u) * sizeof *op->site));
    AX_TRY(ax_lake_option(t, a, spec->options, "table_name", &op->wanted));
    AX_TRY(ax_lake_option(t, a, spec->options, "objects", &op->objects));
    AX_TRY(ax_lake_option(t, a, spec->options, "base_backup", &op->base_path));
    AX_TRY(ax_lake_option(t, a, spec->options, "list", &list));
    op->listing = list != NULL;
    *out = op;
    return AX_OK;
}

const ax_site *ax_site_of(const ax_site_op *op, uint32_t i) { return &op->site[i]; }

static ax_status next_path(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    const char *path = op->spec->path[op->path];
    size_t n = strlen(path);

    op->nstores = op->ntables = op->ndatabases = 0;
    while (n > 1 && path[n - 1] == '/')
        n--;
    AX_NEW(t, op->dir, ax_arena_strndup(op->a, path, n));
    return list(t, op, op->dir, false, LISTED, ev);
}

static ax_status advance(ax_task *t, ax_site_op *op, ax_lake_event *ev)
{
    switch (op->state)
    {
        case PATH: return next_path(t, op, ev);
        case LISTED: return listed(t, op, ev);
        case ARCHIVE: return archive_opened(t, op, ev);
        case HEADERS: return headers(t, op, ev);
        case INDEX: return take_index(t, op, ev);
        case REWRITABLE: return take_rewritable(t, op, ev);
        case DIRECTORIES: return take_directories(t, op, ev);
        case TREE: return take_tree(t, op, ev);
        case OBJECTS: return take_objects(t, op);
        case DATABASES: return databases(t, op, ev);
        case UUIDS: return take_uuids(t, op, ev);
        case TABLES: return choose_table(t, op, ev);
        case DEFINITION: return take_definition(t, op, ev);
        case TABLE: return take_table(t, op);
        case TEXTS: return take_texts(t, op);
        case READ_OPEN: return opened(t, op, ev);
        case READ_BYTES: return delivered(t, op);
        default:
            op->state = ++op->path < op->spec->npaths ? PATH : DONE;
            return AX_OK;
    }
}

ax_status ax_site_step(ax_task *t, ax_site_op *op, ax_lake_event *ev, bool *done)
{
    *done = false;
    ev->need.n = 0;
    while (op->state != DONE && ev->need.n == 0)
    {
        ax_status st = advance(t, op, ev);

        if (st != AX_OK)
        {
            ax_note_file(t, op->dir);
            return st;
        }
    }
    *done = op->state == DONE;
    return AX_OK;
}

void ax_site_end(ax_site_op *op)
{
    if (op == NULL)
        return;
    forget(op);
    for (uint32_t i = 0; i < op->nreq; i++)
    {
        ax_buf_unref(op->req[i].buf);
        if (op->req[i].kind == AX_IO_OPEN)
            ax_io_file_unref(op->req[i].file);
    }
    op->nreq = 0;
    for (uint32_t i = 0; i < op->nstores; i++)
        ax_io_file_unref(op->store[i].file);
    op->nstores = 0;
}
