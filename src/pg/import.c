/*-------------------------------------------------------------------------
 *
 * import.c
 *		IMPORT FOREIGN SCHEMA: a foreign table for each file; and columns for
 *		foreign tables that were created without any.
 *
 * The remote schema is a directory or a glob; the engine lists and opens the
 * files, and their schemas become column lists.  Names are kept as they are in
 * the file as far as PostgreSQL can have them; what is renamed carries the
 * name in the file in the option column_name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_foreign_table.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_fill_columns);

typedef enum AfdwUnsupported
{
	UNSUPPORTED_SKIP, UNSUPPORTED_TEXT, UNSUPPORTED_ERROR
} AfdwUnsupported;

typedef struct AfdwImport
{
	ImportForeignSchemaStmt *stmt;
	char	   *server;
	AfdwOptions opts;
	bool		not_null;
	bool		lower;
	bool		recursive;
	bool		one_table;
	AfdwUnsupported unsupported;
	char	   *path;			/* as given */
	List	   *pass;			/* table options handed through, DefElem */
	List	   *names;			/* tables so far, char * */
	List	   *commands;
} AfdwImport;

/* ---- options ---------------------------------------------------------------- */

static void
bad_value(DefElem *def, const char *valid)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", def->defname, defGetString(def)),
			 errhint("Valid values are: %s", valid)));
}

static void
read_options(AfdwImport *im)
{
	ListCell   *lc;

	im->not_null = true;
	im->opts.format = "auto";
	im->opts.match_by = AX_BY_NAME;
	im->opts.allow_missing_columns = true;
	afdw_options_list(GetForeignServerByName(im->server, false)->options, &im->opts);
	foreach(lc, im->stmt->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);
		char	   *name = def->defname;

		if (strcmp(name, "import_not_null") == 0)
			im->not_null = defGetBoolean(def);
		else if (strcmp(name, "recursive") == 0)
			im->recursive = defGetBoolean(def);
		else if (strcmp(name, "one_table") == 0)
			im->one_table = defGetBoolean(def);
		else if (strcmp(name, "case") == 0)
		{
			im->lower = strcmp(defGetString(def), "lower") == 0;
			if (!im->lower && strcmp(defGetString(def), "keep") != 0)
				bad_value(def, "keep, lower");
		}
		else if (strcmp(name, "unsupported") == 0)
		{
			char	   *v = defGetString(def);

			if (strcmp(v, "skip") == 0)
				im->unsupported = UNSUPPORTED_SKIP;
			else if (strcmp(v, "text") == 0)
				im->unsupported = UNSUPPORTED_TEXT;
			else if (strcmp(v, "error") == 0)
				im->unsupported = UNSUPPORTED_ERROR;
			else
				bad_value(def, "skip, text, error");
		}
		else if (afdw_option_exists(name, ForeignTableRelationId))
		{
			if (strcmp(name, "path") == 0)
				im->path = defGetString(def);
			else
				im->pass = lappend(im->pass, def);
			afdw_options_list(list_make1(def), &im->opts);
		}
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", name),
					 errhint("Valid options in this context are: path, format, "
							 "import_not_null, case, unsupported, recursive, one_table, "
							 "and options of foreign tables")));
	}
	if (im->opts.paths == NIL)
	{
		char	   *schema = im->stmt->remote_schema;

		if (strlen(schema) >= NAMEDATALEN - 1)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("remote schema name may have been cut at %d bytes", NAMEDATALEN - 1),
					 errhint("Give the directory in the option \"path\".")));
		im->path = schema;
		im->opts.paths = list_make1(pstrdup(schema));
	}
}

/* ---- names ------------------------------------------------------------------- */

/* Text of a file in the encoding of the database. */
static char *
server_name(const char *s)
{
	return pg_any_to_server(s, strlen(s), PG_UTF8);
}

static char *
lower_case(const char *s)
{
	char	   *copy = pstrdup(s);

	for (char *p = copy; *p; p++)
		*p = (char) pg_tolower((unsigned char) *p);
	return copy;
}

static bool
has_name(List *names, const char *name)
{
	ListCell   *lc;

	foreach(lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* A name that PostgreSQL can have and that is not in use. */
static char *
fitting_name(const char *name, List *used)
{
	char	   *fit = pnstrdup(name, pg_mbcliplen(name, strlen(name), NAMEDATALEN - 1));

	for (int i = 1; has_name(used, fit); i++)
	{
		char	   *suffix = psprintf("_%d", i);
		int			room = NAMEDATALEN - 1 - (int) strlen(suffix);

		fit = psprintf("%s%s", pnstrdup(name, pg_mbcliplen(name, strlen(name), room)), suffix);
	}
	return fit;
}

/* Base name without suffix; of a directory its last component, of a glob that in front of it. */
static char *
table_name(const char *path, bool file)
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

/* A name as column_name wants it: quoted when it could be read as a path. */
static char *
column_path(const char *name)
{
	StringInfoData buf;

	if (strpbrk(name, ".\"") == NULL)
		return pstrdup(name);
	initStringInfo(&buf);
	appendStringInfoChar(&buf, '"');
	for (; *name; name++)
	{
		if (*name == '"')
			appendStringInfoChar(&buf, '"');
		appendStringInfoChar(&buf, *name);
	}
	appendStringInfoChar(&buf, '"');
	return buf.data;
}

/* ---- columns ------------------------------------------------------------------- */

/* The SQL type of a field, or NULL when a table cannot have it. */
const char *
afdw_sql_type(const ax_field *f)
{
	const char *elem_type;

	if (f->refusal != NULL)
		return NULL;
	switch ((ax_type_id) f->type.id)
	{
		case AX_T_LIST:
			{
				ax_field	elem = {.source_type = f->source_type};

				if (f->type.nested == NULL || f->type.nested->n != 1)
					return NULL;
				elem.type = f->type.nested->type[0];
				elem_type = afdw_sql_type(&elem);
				return elem_type ? psprintf("%s[]", elem_type) : NULL;
			}
		case AX_T_NONE:
		case AX_T_STRUCT:
		case AX_T_MAP:
		case AX_T_CNT:
			return NULL;
		case AX_T_NUMERIC:
			if (f->type.precision > 0)
				return psprintf("numeric(%d,%d)", f->type.precision, f->type.scale);
			return "numeric";
		case AX_T_BPCHAR:
			return f->type.precision > 0 ? psprintf("character(%d)", f->type.precision) : "text";
		default:
			return ax_type_name(f->type.id);
	}
}

static void
append_columns(AfdwImport *im, StringInfo sql, const char *prefix, const ax_schema *schema,
			   const char *path)
{
	List	   *used = NIL;

	for (uint32 i = 0; i < schema->n; i++)
	{
		const ax_field *f = &schema->field[i];
		const char *type = afdw_sql_type(f);
		char	   *name = server_name(f->name);
		char	   *column;

		if (type == NULL || *name == '\0')
		{
			const char *why = f->refusal ? f->refusal : *name == '\0' ? "it has no name" :
				"the type has no counterpart";
			const char *source_type = f->source_type ? f->source_type : "unknown";

			if (im->unsupported == UNSUPPORTED_ERROR)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
						 errmsg("cannot import column \"%s\" of file \"%s\"", name, path),
						 errdetail("Type %s: %s.", source_type, why)));
			if (im->unsupported == UNSUPPORTED_SKIP || *name == '\0')
			{
				ereport(WARNING,
						(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
						 errmsg("skipping column \"%s\" of file \"%s\"", name, path),
						 errdetail("Type %s: %s.", source_type, why)));
				continue;
			}
			type = "text";
		}
		if (list_length(used) >= MaxHeapAttributeNumber)
			ereport(ERROR,
					(errcode(ERRCODE_TOO_MANY_COLUMNS),
					 errmsg("file \"%s\" has more than %d columns", path, MaxHeapAttributeNumber)));
		column = fitting_name(im->lower ? lower_case(name) : name, used);
		used = lappend(used, column);
		appendStringInfo(sql, "%s\n  %s%s %s", list_length(used) > 1 ? "," : "", prefix,
						 quote_identifier(column), type);
		if (strcmp(column, name) != 0)
			appendStringInfo(sql, " OPTIONS (column_name %s)",
							 quote_literal_cstr(column_path(name)));
		if (im->not_null && !f->nullable)
			appendStringInfoString(sql, " NOT NULL");
	}
}

static void
add_table(AfdwImport *im, const char *name, const char *path, const ax_schema *schema)
{
	StringInfoData sql;
	ListCell   *lc;
	char	   *table = server_name(im->lower ? lower_case(name) : name);

	if (!wanted(im, table))
		return;
	if (strlen(table) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("table name \"%s\" is longer than %d bytes", table, NAMEDATALEN - 1),
				 errhint("Create the foreign table with a name of its own.")));
	if (has_name(im->names, table))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("two files would become table \"%s\"", table),
				 errdetail("The second is \"%s\".", path),
				 errhint("Import them with \"one_table\", or directory by directory.")));
	im->names = lappend(im->names, table);

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s (", quote_identifier(table));
	append_columns(im, &sql, "", schema, path);
	appendStringInfo(&sql, "\n) SERVER %s OPTIONS (path %s", quote_identifier(im->server),
					 quote_literal_cstr(server_name(path)));
	foreach(lc, im->pass)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		appendStringInfo(&sql, ", %s %s", quote_identifier(def->defname),
						 quote_literal_cstr(defGetString(def)));
	}
	appendStringInfoString(&sql, ")");
	im->commands = lappend(im->commands, sql.data);
}

/* ---- files ------------------------------------------------------------------------ */

static void
source_callback(void *arg)
{
	if (!afdw_engine_gone())
		ax_source_destroy((ax_source *) arg);
}

/* The files under the paths, not listed yet; lives until CurrentMemoryContext is reset. */
ax_source *
afdw_files(const AfdwOptions *opts)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ax_source_spec spec;
	ax_source  *source = NULL;
	const char **paths = palloc(sizeof(char *) * list_length(opts->paths));
	ax_error	err;
	ListCell   *lc;

	memset(&spec, 0, sizeof(spec));
	foreach(lc, opts->paths)
		paths[spec.npaths++] = lfirst(lc);
	spec.path = paths;
	spec.format = opts->format;
	spec.bind.allow_missing = true;
	ax_error_clear(&err);
	if (ax_source_create(afdw_engine(), &spec, &source, &err) != AX_OK)
		afdw_ereport(&err);
	callback->func = source_callback;
	callback->arg = source;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return source;
}

static ax_source *
open_files(AfdwImport *im)
{
	ax_source  *source = afdw_files(&im->opts);

	afdw_query_end(afdw_query_open(source, &im->opts));
	return source;
}

/* Is the file directly in one of the directories, or named by a path or glob? */
static bool
shallow(AfdwImport *im, const char *file)
{
	ListCell   *lc;

	foreach(lc, im->opts.paths)
	{
		const char *path = lfirst(lc);
		size_t		len = strlen(path);

		while (len > 1 && path[len - 1] == '/')
			len--;
		if (strncmp(file, path, len) != 0 || strpbrk(path, "*?[{") != NULL)
			return true;
		while (file[len] == '/')
			len++;
		if (strchr(file + len, '/') == NULL)
			return true;
	}
	return false;
}

List *
afdw_import(ImportForeignSchemaStmt *stmt, Oid serverOid)
{
	AfdwImport	im;
	ax_source  *source;
	uint32		nfiles;

	afdw_check_read_server_files();
	memset(&im, 0, sizeof(im));
	im.stmt = stmt;
	im.server = GetForeignServer(serverOid)->servername;
	read_options(&im);

	source = open_files(&im);
	nfiles = ax_source_files(source);
	if (im.one_table)
	{
		const char *first = linitial(im.opts.paths);

		if (nfiles > 0)
			add_table(&im, table_name(first, strcmp(first, ax_source_file_path(source, 0)) == 0),
					  im.path, ax_source_schema(source));
		return im.commands;
	}
	for (uint32 i = 0; i < nfiles; i++)
	{
		const char *path = ax_source_file_path(source, i);
		const ax_fmt_file *file = ax_source_file(source, i);

		if (file && (im.recursive || shallow(&im, path)))
			add_table(&im, table_name(path, true), path, &file->schema);
	}
	return im.commands;
}

/* ---- tables without columns ----------------------------------------------------------- */

/* ALTER FOREIGN TABLE that adds the columns of the table's first file; NULL: nothing to add. */
static char *
fill_command(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	int			natts = RelationGetDescr(rel)->natts;
	ForeignTable *table = GetForeignTable(relid);
	ForeignServer *server = GetForeignServer(table->serverid);
	AfdwImport	im;
	StringInfoData sql;
	ax_source  *source;
	int			start;

	table_close(rel, NoLock);
	if (natts > 0 || !afdw_is_our_routine(GetFdwRoutineByServerId(server->serverid)))
		return NULL;
	memset(&im, 0, sizeof(im));
	im.not_null = true;
	afdw_options_table(relid, &im.opts);
	if (im.opts.paths == NIL)
		return NULL;
	source = open_files(&im);
	if (ax_source_files(source) == 0)
		return NULL;
	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER FOREIGN TABLE %s",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												get_rel_name(relid)));
	start = sql.len;
	append_columns(&im, &sql, "ADD COLUMN ", ax_source_schema(source),
				   ax_source_file_path(source, 0));
	return sql.len > start ? sql.data : NULL;
}

/* Event trigger on CREATE FOREIGN TABLE: an empty column list means the columns of the files. */
Datum
analytics_fdw_fill_columns(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by event trigger manager",
						"analytics_fdw.fill_columns")));
	if (IsBinaryUpgrade)
		PG_RETURN_NULL();
	SPI_connect();
	if (SPI_execute("SELECT c.objid FROM pg_catalog.pg_event_trigger_ddl_commands() c"
					" WHERE c.classid OPERATOR(pg_catalog.=) 1259"
					" AND c.object_type OPERATOR(pg_catalog.=) 'foreign table'", true, 0)
		!= SPI_OK_SELECT)
		elog(ERROR, "could not list the tables that were created");
	for (uint64 i = 0, n = SPI_processed; i < n; i++)
	{
		bool		isnull;
		SPITupleTable *tuples = SPI_tuptable;
		Oid			relid = DatumGetObjectId(SPI_getbinval(tuples->vals[i], tuples->tupdesc, 1,
														   &isnull));
		char	   *command = fill_command(relid);

		if (command && SPI_execute(command, false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not add columns");
		SPI_tuptable = tuples;
	}
	SPI_finish();
	PG_RETURN_NULL();
}
