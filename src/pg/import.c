/*-------------------------------------------------------------------------
 *
 * import.c
 *		IMPORT FOREIGN SCHEMA: a foreign table for each file and Hive tree, or
 *		for each table of a ClickHouse database.
 *
 * The remote schema is a directory or a glob.  Its files are listed, and told
 * apart by their names alone: files below directories key=value are one table,
 * the tree above the first of these; every other file is one.  Of each table
 * that is wanted one file is opened for its schema.  Files that are in no known
 * format, or damaged, are skipped with a warning.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_table.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "afdw.h"

typedef struct AfdwImport
{
	ImportForeignSchemaStmt *stmt;
	char	   *server;
	AfdwOptions opts;
	AfdwShape	shape;
	bool		recursive;
	bool		one_table;
	bool		comments;
	bool		has_format;		/* given by an option of the import, */
	bool		has_path;		/* so that the schema's name is free for another meaning */
	List	   *pass;			/* table options handed through, DefElem */
	ax_source  *source;			/* listed */
	List	   *names;			/* tables so far, char * */
	List	   *commands;
	List	   *unknown;		/* files in no format that we know, char * */
} AfdwImport;

/* What becomes one table. */
typedef struct Found
{
	const char *name;
	const char *path;
	bool		single;			/* the path is one file */
	List	   *files;			/* of int, into the listing */
} Found;

/* ---- options ---------------------------------------------------------------- */

/* One of some words; ends with NULL. */
static int
one_of(DefElem *def, const char *const *words)
{
	StringInfoData valid;
	char	   *value = defGetString(def);

	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], value) == 0)
			return i;
	initStringInfo(&valid);
	for (int i = 0; words[i]; i++)
		appendStringInfo(&valid, "%s%s", i ? ", " : "", words[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", def->defname, value),
			 errhint("Valid values are: %s", valid.data)));
	return 0;
}

/* Options of the import itself; false: it is another's. */
static bool
own_option(AfdwImport *im, DefElem *def)
{
	static const char *const cases[] = {"keep", "lower", NULL};
	static const char *const unsupported[] = {"skip", "text", "error", NULL};
	static const char *const json[] = {"jsonb", "json", "text", NULL};
	static const char *const nested[] = {"jsonb", "composite", NULL};
	const char *name = def->defname;

	if (strcmp(name, "import_not_null") == 0)
		im->shape.not_null = defGetBoolean(def);
	else if (strcmp(name, "import_collate") == 0)
		(void) defGetBoolean(def);	/* files know no collations */
	else if (strcmp(name, "recursive") == 0)
		im->recursive = defGetBoolean(def);
	else if (strcmp(name, "one_table") == 0)
		im->one_table = defGetBoolean(def);
	else if (strcmp(name, "comments") == 0)
		im->comments = defGetBoolean(def);
	else if (strcmp(name, "case") == 0)
		im->shape.lower = one_of(def, cases) == 1;
	else if (strcmp(name, "unsupported") == 0)
		im->shape.unsupported = (AfdwUnsupported) one_of(def, unsupported);
	else if (strcmp(name, "json_as") == 0)
		im->shape.json_as = json[one_of(def, json)];
	else if (strcmp(name, "nested_as") == 0)
		im->shape.composite = one_of(def, nested) == 1;
	else
		return false;
	return true;
}

static void
read_options(AfdwImport *im)
{
	ListCell   *lc;

	im->shape.not_null = true;
	im->opts.format = "auto";
	im->opts.match_by = AX_BY_NAME;
	im->opts.allow_missing_columns = true;
	afdw_options_list(GetForeignServerByName(im->server, false)->options, &im->opts);
	foreach(lc, im->stmt->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (own_option(im, def))
			continue;
		if (!afdw_option_exists(def->defname, ForeignTableRelationId) ||
			strcmp(def->defname, "files_func") == 0 ||
			strcmp(def->defname, "files_func_arg") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", def->defname),
					 errhint("Valid options in this context are: path, import_not_null, "
							 "import_collate, case, comments, json_as, nested_as, unsupported, "
							 "recursive, one_table, and options of foreign tables")));
		if (!afdw_option_names_files(def->defname))
			im->pass = lappend(im->pass, def);
		else
			im->has_path = true;
		im->has_format = im->has_format || strcmp(def->defname, "format") == 0;
		afdw_options_list(list_make1(def), &im->opts);
	}
	if (im->opts.paths == NIL)
	{
		char	   *schema = im->stmt->remote_schema;

		if (strlen(schema) >= NAMEDATALEN - 1)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("remote schema name may have been cut at %d bytes", NAMEDATALEN - 1),
					 errhint("Give the directory in the option \"path\".")));
		im->opts.paths = list_make1(pstrdup(schema));
	}
}

/* All paths as a value of option path. */
static const char *
path_value(const AfdwImport *im)
{
	StringInfoData buf;
	ListCell   *lc;

	if (list_length(im->opts.paths) == 1)
		return linitial(im->opts.paths);
	initStringInfo(&buf);
	foreach(lc, im->opts.paths)
	{
		appendStringInfoString(&buf, buf.len ? ",\"" : "{\"");
		for (const char *p = lfirst(lc); *p; p++)
			appendStringInfo(&buf, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
		appendStringInfoChar(&buf, '"');
	}
	appendStringInfoChar(&buf, '}');
	return buf.data;
}

/* ---- names ------------------------------------------------------------------- */

/* Base name without suffix; of a directory its last component, of a glob that in front of it. */
static char *
base_name(const char *path, bool file)
{
	char	   *copy = pstrdup(path);
	char	   *base,
			   *dot;
	size_t		len = strcspn(copy, "*?[{");

	if (copy[len] != '\0')
		while (len > 0 && copy[len - 1] != '/')
			len--;
	copy[len] = '\0';
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	base = strrchr(copy, '/');
	base = base ? base + 1 : copy;
	dot = strrchr(base, '.');
	if (file && dot && dot != base)
		*dot = '\0';
	return base;
}

static bool
wanted(AfdwImport *im, const char *name)
{
	ListCell   *lc;
	bool		listed = false;

	foreach(lc, im->stmt->table_list)
		if (strcmp(lfirst_node(RangeVar, lc)->relname, name) == 0)
			listed = true;
	switch (im->stmt->list_type)
	{
		case FDW_IMPORT_SCHEMA_LIMIT_TO:
			return listed;
		case FDW_IMPORT_SCHEMA_EXCEPT:
			return !listed;
		default:
			return true;
	}
}

/* ---- files ------------------------------------------------------------------- */

static void
source_callback(void *arg)
{
	if (!afdw_engine_gone())
		ax_source_destroy((ax_source *) arg);
}

/*
 * The files under the paths, not listed yet; lives until CurrentMemoryContext is reset.  details:
 * "name=value" lines for the format, or NULL.
 */
ax_source *
afdw_files(const AfdwOptions *opts, const char *details)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ax_source_spec spec;
	ax_source  *source = NULL;
	const char **paths = palloc(sizeof(char *) * list_length(opts->paths));
	ax_error	err;
	ListCell   *lc;

	memset(&spec, 0, sizeof(spec));
	afdw_check_directories(opts->paths);
	afdw_check_directories(opts->places);
	foreach(lc, opts->paths)
		paths[spec.npaths++] = lfirst(lc);
	spec.path = paths;
	spec.format = opts->format;
	spec.options = details;
	spec.bind.allow_missing = true;
	spec.allow_no_files = opts->allow_no_files;
	ax_error_clear(&err);
	if (ax_source_create(afdw_engine(), &spec, &source, &err) != AX_OK)
		afdw_ereport(&err);
	callback->func = source_callback;
	callback->arg = source;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return source;
}

/* Opens one file for its schema; NULL: *err says why not. */
ax_source *
afdw_open_file(const AfdwOptions *opts, const char *path, ax_error *err)
{
	AfdwOptions one = *opts;
	AfdwOpening opening = {0};
	ax_source  *source;

	one.paths = list_make1(unconstify(char *, path));
	source = afdw_files(&one, NULL);
	return afdw_query_open_some(source, &one, &opening, err) ? source : NULL;
}

/* The part of a file's path below the directory that was named, or the beginning of a glob. */
static const char *
below(const char *path, const char *file, bool *glob)
{
	size_t		len = strcspn(path, "*?[{");

	*glob = path[len] != '\0' && strcmp(path, file) != 0;
	if (*glob)
		while (len > 0 && path[len - 1] != '/')
			len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (strncmp(file, path, len) != 0 || (len > 1 && file[len] != '/' && file[len] != '\0'))
		return NULL;
	file += len;
	while (*file == '/')
		file++;
	return file;
}

/*
 * Where the Hive tree of a file begins: its length in the path, 0: in none.
 * *depth: directories above it, or above the file.
 */
static size_t
tree_root(const char *file, const char *rest, int *depth)
{
	*depth = 0;
	for (const char *slash; (slash = strchr(rest, '/')) != NULL; rest = slash + 1)
	{
		const char *equals = memchr(rest, '=', slash - rest);

		if (equals && equals > rest)
		{
			size_t		len = rest - file;

			while (len > 1 && file[len - 1] == '/')
				len--;
			return len;
		}
		(*depth)++;
	}
	return 0;
}

static Found *
find_tree(List *found, const char *root)
{
	ListCell   *lc;

	foreach(lc, found)
		if (!((Found *) lfirst(lc))->single && strcmp(((Found *) lfirst(lc))->path, root) == 0)
			return lfirst(lc);
	return NULL;
}

/* Puts file i to the table it belongs to. */
static List *
sort_in(AfdwImport *im, List *found, uint32 i)
{
	const char *file = ax_source_file_path(im->source, i);
	const char *rest = NULL;
	bool		glob = false;
	int			depth = 0;
	size_t		root = 0;
	Found	   *f = NULL;
	ListCell   *lc;

	foreach(lc, im->opts.paths)
		if ((rest = below(lfirst(lc), file, &glob)) != NULL)
			break;
	if (rest && im->opts.hive != AFDW_HIVE_OFF)
		root = tree_root(file, rest, &depth);
	else if (rest)
		for (const char *p = rest; (p = strchr(p, '/')) != NULL; p++)
			depth++;
	if (!im->recursive && !glob && depth > (root > 0 ? 1 : 0))
		return found;
	if (root > 0)
		f = find_tree(found, pnstrdup(file, root));
	if (f == NULL)
	{
		f = palloc0(sizeof(Found));
		f->single = root == 0;
		f->path = root > 0 ? pnstrdup(file, root) : file;
		f->name = base_name(f->path, f->single);
		found = lappend(found, f);
	}
	f->files = lappend_int(f->files, (int) i);
	return found;
}

/* Everything that was listed as one table. */
static List *
all_in_one(AfdwImport *im)
{
	Found	   *f = palloc0(sizeof(Found));
	const char *path = linitial(im->opts.paths);
	uint32		n = ax_source_files(im->source);

	f->path = path_value(im);
	f->single = n == 1 && strcmp(path, ax_source_file_path(im->source, 0)) == 0;
	f->name = base_name(path, f->single);
	for (uint32 i = 0; i < n; i++)
		f->files = lappend_int(f->files, (int) i);
	return n > 0 ? list_make1(f) : NIL;
}

/* ---- tables ------------------------------------------------------------------ */

/* Comments of an import, run by the event trigger at its end. */
static List *comments = NIL;

static void
forget_comments(void *arg)
{
	comments = NIL;
}

List *
afdw_import_comments(void)
{
	List	   *mine = comments;

	comments = NIL;
	return mine;
}

static void
comment_on(const char *what, const char *schema, const char *table, const char *column,
		   const char *text)
{
	if (comments == NIL)
	{
		MemoryContextCallback *callback = MemoryContextAllocZero(CurTransactionContext,
																 sizeof(MemoryContextCallback));

		callback->func = forget_comments;
		MemoryContextRegisterResetCallback(CurTransactionContext, callback);
	}
	comments = lappend(comments, psprintf("COMMENT ON %s %s%s%s IS %s", what,
										  quote_qualified_identifier(schema, table),
										  column ? "." : "",
										  column ? quote_identifier(column) : "",
										  quote_literal_cstr(text)));
}

static void
add_comments(AfdwImport *im, const char *table, const AfdwColumnList *list, const char *text)
{
	MemoryContext old = MemoryContextSwitchTo(CurTransactionContext);
	ListCell   *name,
			   *type;

	comment_on("FOREIGN TABLE", im->stmt->local_schema, table, NULL, text);
	forboth(name, list->used, type, list->comments)
		comment_on("COLUMN", im->stmt->local_schema, table, lfirst(name), lfirst(type));
	MemoryContextSwitchTo(old);
}

/* The first file of the table that can be opened; *at: which.  NULL: none. */
static ax_source *
open_one(AfdwImport *im, const Found *f, const char **at)
{
	ListCell   *lc;

	foreach(lc, f->files)
	{
		const char *path = ax_source_file_path(im->source, (uint32) lfirst_int(lc));
		ax_error	err;
		ax_source  *source = afdw_open_file(&im->opts, path, &err);

		*at = path;
		if (source)
			return source;
		/* a file that was named, and not found in a directory */
		if (err.code == AX_ENOMEM || (f->single && strcmp(linitial(im->opts.paths), path) == 0))
			afdw_ereport(&err);
		if (strcmp(im->opts.format, "auto") == 0 &&
			ax_format_guess(path, NULL, 0, NULL, 0) == NULL)
			im->unknown = lappend(im->unknown, unconstify(char *, path));
		else
			ereport(WARNING,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("skipping file \"%s\"", path),
					 errdetail("%s", afdw_error_text(&err))));
	}
	return NULL;
}

/* Is the name free, and short enough? */
static void
check_name(AfdwImport *im, char *table, const char *path)
{
	if (strlen(table) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("table name \"%s\" is longer than %d bytes", table, NAMEDATALEN - 1),
				 errhint("Create the foreign table with a name of its own.")));
	if (afdw_has_name(im->names, table))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("two files would become table \"%s\"", table),
				 errdetail("The second is \"%s\".", path),
				 errhint("Import them with \"one_table\", or directory by directory.")));
	im->names = lappend(im->names, table);
}

/* The command; own: options besides the path and those handed through. */
static void
create_table(AfdwImport *im, const char *table, AfdwColumnList *list, ax_source *source,
			 const List *files, const char *path, const char *own)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	list->sql = &sql;
	list->table = table;
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s (", quote_identifier(table));
	afdw_append_columns(list, ax_source_schema(source),
						files == NIL || im->opts.hive == AFDW_HIVE_OFF ? NULL : im->source, files);
	/* what else lies in the directory is no part of the table */
	appendStringInfo(&sql, "\n) SERVER %s OPTIONS (path %s%s", quote_identifier(im->server),
					 quote_literal_cstr(afdw_server_name(path)), own);
	foreach(lc, im->pass)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		appendStringInfo(&sql, ", %s %s", quote_identifier(def->defname),
						 quote_literal_cstr(defGetString(def)));
	}
	appendStringInfoString(&sql, ")");
	im->commands = lappend(im->commands, sql.data);
}

static void
add_table(AfdwImport *im, const Found *f)
{
	AfdwColumnList list = {.shape = &im->shape, .prefix = "", .schema = im->stmt->local_schema};
	char	   *table = afdw_server_name(im->shape.lower ? afdw_lower_case(f->name) : f->name);
	ax_source  *source;

	if (!wanted(im, table) || (source = open_one(im, f, &list.path)) == NULL)
		return;
	check_name(im, table, f->path);
	create_table(im, table, &list, source, f->files, f->path,
				 !f->single && !im->has_format ?
				 psprintf(", format %s", quote_literal_cstr(ax_source_format(source))) : "");
	if (im->comments)
		add_comments(im, table, &list,
					 psprintf("%s %s", f->single ? "file" : "files below", f->path));
}

static void
report_unknown(AfdwImport *im)
{
	StringInfoData names;
	int			n = list_length(im->unknown);

	if (n == 0)
		return;
	initStringInfo(&names);
	for (int i = 0; i < Min(n, 5); i++)
		appendStringInfo(&names, "%s\"%s\"", i ? ", " : "", (char *) list_nth(im->unknown, i));
	ereport(WARNING,
			(errcode(ERRCODE_FDW_ERROR),
			 errmsg_plural("skipping %d file whose format is not known",
						   "skipping %d files whose format is not known", n, n),
			 errdetail("%s%s", names.data, n > 5 ? ", ..." : "")));
}

/* ---- ClickHouse ---------------------------------------------------------------- */

/* What the directory of a server, a backup or a disk calls table i. */
static const char *
told(const AfdwImport *im, uint32 i, const char *what)
{
	uint32		n;
	const char *const *names = ax_source_file_part_names(im->source, i, &n);

	for (uint32 k = 0; k < n; k++)
		if (strcmp(names[k], what) == 0)
			return ax_source_file_part_values(im->source, i)[k];
	return NULL;
}

static void
add_clickhouse_table(AfdwImport *im, uint32 i)
{
	const char *database = told(im, i, "database"),
			   *name = told(im, i, "table"),
			   *comment = told(im, i, "comment"),
			   *path = path_value(im);
	char	   *table = afdw_server_name(im->shape.lower ? afdw_lower_case(name) : name);
	char	   *label = database ? psprintf("%s.%s", database, name) : pstrdup(name);
	/* a path that is one table needs no name */
	bool		named = database != NULL || ax_source_files(im->source) > 1;
	AfdwColumnList list = {.shape = &im->shape, .prefix = "", .schema = im->stmt->local_schema};
	AfdwOpening opening = {.open_files = 1};
	ax_source  *source;
	ax_error	err;

	if (!wanted(im, table))
		return;
	list.path = path;
	source = afdw_files(&im->opts, psprintf("%s%s%s%s", im->opts.details ? im->opts.details : "",
											named ? "table_name=" : "", named ? label : "",
											named ? "\n" : ""));
	if (!afdw_query_open_some(source, &im->opts, &opening, &err))
	{
		if (err.code == AX_ENOMEM || !named)
			afdw_ereport(&err);
		ereport(WARNING,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("skipping table \"%s\"", label),
				 errdetail("%s", afdw_error_text(&err))));
		return;
	}
	if (ax_source_schema(source) == NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("skipping table \"%s\"", label),
				 errdetail("It has no parts.")));
		return;
	}
	check_name(im, table, label);
	create_table(im, table, &list, source, NIL, path,
				 psprintf("%s%s%s", im->has_format ? "" : ", format 'mergetree'",
						  named ? ", table_name " : "",
						  named ? quote_literal_cstr(afdw_server_name(label)) : ""));
	if (im->comments)
		add_comments(im, table, &list,
					 comment && *comment ? afdw_server_name(comment) :
					 psprintf("table %s of %s", label, path));
}

/*
 * The tables of a ClickHouse server, backup or disk.  Where the path is given as an option, the
 * remote schema is the database.
 */
static void
import_clickhouse(AfdwImport *im)
{
	uint32		n,
				mine = 0;

	im->source = afdw_files(&im->opts, psprintf("%slist=tables\n",
												im->opts.details ? im->opts.details : ""));
	afdw_query_end(afdw_query_list(im->source, &im->opts));
	n = ax_source_files(im->source);
	for (uint32 i = 0; i < n; i++)
	{
		const char *database = told(im, i, "database");

		CHECK_FOR_INTERRUPTS();
		if (im->has_path && database &&
			strcmp(afdw_server_name(database), im->stmt->remote_schema) != 0)
			continue;
		mine++;
		add_clickhouse_table(im, i);
	}
	if (n > 0 && mine == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
				 errmsg("there is no database \"%s\"", im->stmt->remote_schema),
				 errhint("The first one with tables is \"%s\".", told(im, 0, "database"))));
}

List *
afdw_import(ImportForeignSchemaStmt *stmt, Oid serverOid)
{
	AfdwImport	im;
	List	   *found = NIL;
	ListCell   *lc;

	afdw_check_read_server_files();
	memset(&im, 0, sizeof(im));
	im.stmt = stmt;
	im.server = GetForeignServer(serverOid)->servername;
	read_options(&im);
	if (strcmp(im.opts.format, "mergetree") == 0)
	{
		import_clickhouse(&im);
		return im.commands;
	}

	im.source = afdw_files(&im.opts, NULL);
	afdw_query_end(afdw_query_list(im.source, &im.opts));
	afdw_check_found(im.source, &im.opts);
	if (im.one_table)
		found = all_in_one(&im);
	else
		for (uint32 i = 0; i < ax_source_files(im.source); i++)
			found = sort_in(&im, found, i);
	foreach(lc, found)
	{
		CHECK_FOR_INTERRUPTS();
		add_table(&im, lfirst(lc));
	}
	report_unknown(&im);
	return im.commands;
}
