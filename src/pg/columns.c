/*-------------------------------------------------------------------------
 *
 * columns.c
 *		Column lists from the schemas of files: for imports, and for foreign
 *		tables that were created without columns.
 *
 * Names are kept as they are in the file as far as PostgreSQL can have them;
 * what is renamed carries the name in the file in the option column_name.
 * Directories key=value on the way to the files are columns behind those of the
 * files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/table.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_fill_columns);

/* ---- names ------------------------------------------------------------------- */

/* Text of a file in the encoding of the database. */
char *
afdw_server_name(const char *s)
{
	return pg_any_to_server(s, strlen(s), PG_UTF8);
}

char *
afdw_lower_case(const char *s)
{
	char	   *copy = pstrdup(s);

	for (char *p = copy; *p; p++)
		*p = (char) pg_tolower((unsigned char) *p);
	return copy;
}

bool
afdw_has_name(List *names, const char *name)
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

	for (int i = 1; afdw_has_name(used, fit); i++)
	{
		char	   *suffix = psprintf("_%d", i);
		int			room = NAMEDATALEN - 1 - (int) strlen(suffix);

		fit = psprintf("%s%s", pnstrdup(name, pg_mbcliplen(name, strlen(name), room)), suffix);
	}
	return fit;
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
		case AX_T_DIGITS:
			if (f->type.precision > 0)
				return psprintf("numeric(%d,%d)", f->type.precision, f->type.scale);
			return "numeric";
		case AX_T_BPCHAR:
			return f->type.precision > 0 ? psprintf("character(%d)", f->type.precision) : "text";
		default:
			return ax_type_name(f->type.id);
	}
}

/* ---- columns of files ---------------------------------------------------------- */

/* The SQL type of a column as the import wants it, or NULL. */
static const char *
column_type(const AfdwShape *shape, const ax_field *f)
{
	const char *type = afdw_sql_type(f);

	if (type && shape->json_as && strncmp(type, "jsonb", 5) == 0)
		return psprintf("%s%s", shape->json_as, type + 5);
	return type;
}

/* A column that has no type: it is left out (false), becomes text, or is an error. */
static bool
unsupported(const AfdwShape *shape, const ax_field *f, const char *name, const char *path)
{
	const char *why = f->refusal ? f->refusal : *name == '\0' ? "it has no name" :
		"the type has no counterpart";
	const char *source_type = f->source_type ? f->source_type : "unknown";

	if (shape->unsupported == AFDW_UNSUPPORTED_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("cannot import column \"%s\" of file \"%s\"", name, path),
				 errdetail("Type %s: %s.", source_type, why)));
	if (shape->unsupported == AFDW_UNSUPPORTED_TEXT && *name != '\0')
		return true;
	ereport(WARNING,
			(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
			 errmsg("skipping column \"%s\" of file \"%s\"", name, path),
			 errdetail("Type %s: %s.", source_type, why)));
	return false;
}

static void
append_one(AfdwColumnList *list, const char *name, const char *type, const char *source_type)
{
	char	   *column;

	column = fitting_name(list->shape->lower ? afdw_lower_case(name) : name, list->used);
	if (list_length(list->used) >= MaxHeapAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("file \"%s\" has more than %d columns", list->path,
						MaxHeapAttributeNumber),
				 errhint("Leave the table out with LIMIT TO or EXCEPT, or create it with the "
						 "columns that are needed.")));
	appendStringInfo(list->sql, "%s\n  %s%s %s", list->used != NIL ? "," : "", list->prefix,
					 quote_identifier(column), type);
	list->used = lappend(list->used, column);
	list->comments = lappend(list->comments, pstrdup(source_type));
	if (strcmp(column, name) != 0)
		appendStringInfo(list->sql, " OPTIONS (column_name %s)",
						 quote_literal_cstr(column_path(name)));
}

/* ---- columns of directories ------------------------------------------------------ */

/* A type for values of a key: the narrowest that has all of them. */
typedef enum KeyType
{
	KEY_NONE, KEY_INT4, KEY_INT8, KEY_DATE, KEY_TEXT
} KeyType;

static bool
is_date(const char *v)
{
	int			year,
				month,
				day,
				y,
				m,
				d;

	if (strlen(v) != 10 || strspn(v, "0123456789-") != 10 || v[4] != '-' || v[7] != '-' ||
		sscanf(v, "%4d-%2d-%2d", &year, &month, &day) != 3 || year < 1 || month < 1 || month > 12 ||
		day < 1)
		return false;
	j2date(date2j(year, month, day), &y, &m, &d);
	return y == year && m == month && d == day;
}

static KeyType
widen_key(KeyType type, const char *value)
{
	size_t		digits;

	if (value == NULL || type == KEY_TEXT)
		return type;
	if (is_date(value))
		return type == KEY_NONE || type == KEY_DATE ? KEY_DATE : KEY_TEXT;
	if (*value == '-')
		value++;
	digits = strspn(value, "0123456789");
	if (digits == 0 || digits > 18 || value[digits] != '\0' || type == KEY_DATE)
		return KEY_TEXT;
	return digits > 9 || type == KEY_INT8 ? KEY_INT8 : KEY_INT4;
}

/* Keys of the directories of the files that are not columns yet, in order of appearance. */
static void
append_keys(AfdwColumnList *list, ax_source *source, const List *files)
{
	static const char *const types[] = {"text", "integer", "bigint", "date", "text"};
	List	   *keys = NIL;
	ListCell   *lc;
	const void *last = NULL;
	KeyType    *type = NULL;

	foreach(lc, files)
	{
		uint32		n;
		const char *const *names = ax_source_file_part_names(source, (uint32) lfirst_int(lc), &n);
		const char *const *values = ax_source_file_part_values(source, (uint32) lfirst_int(lc));

		if (values == last)
			continue;			/* another file of the directory */
		last = values;
		for (uint32 k = 0; k < n; k++)
		{
			int			at = 0;

			while (at < list_length(keys) && strcmp(list_nth(keys, at), names[k]) != 0)
				at++;
			if (at == list_length(keys))
			{
				keys = lappend(keys, unconstify(char *, names[k]));
				type = type ? repalloc(type, sizeof(KeyType) * (at + 1)) : palloc(sizeof(KeyType));
				type[at] = KEY_NONE;
			}
			type[at] = widen_key(type[at], values[k]);
		}
	}
	for (int i = 0; i < list_length(keys); i++)
	{
		char	   *name = afdw_server_name(list_nth(keys, i));

		if (!afdw_has_name(list->in_file, name))
			append_one(list, name, types[type[i]], "directory");
	}
}

void
afdw_append_columns(AfdwColumnList *list, const ax_schema *schema, ax_source *source,
					const List *files)
{
	for (uint32 i = 0; i < schema->n; i++)
	{
		const ax_field *f = &schema->field[i];
		const char *type = list->shape->composite && f->structure != NULL && f->refusal == NULL ?
			afdw_composite_type(list, f) : column_type(list->shape, f);
		char	   *name = afdw_server_name(f->name);

		list->in_file = lappend(list->in_file, name);
		if (type == NULL || *name == '\0')
		{
			if (!unsupported(list->shape, f, name, list->path))
				continue;
			type = "text";
		}
		append_one(list, name, type, f->source_type ? f->source_type : "");
		if (list->shape->not_null && !f->nullable)
			appendStringInfoString(list->sql, " NOT NULL");
	}
	if (source)
		append_keys(list, source, files);
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
	AfdwShape	shape = {.not_null = true};
	AfdwColumnList list = {.shape = &shape, .prefix = "ADD COLUMN "};
	AfdwOpening opening = {.open_files = 1};
	AfdwOptions opts;
	ax_source  *source,
			   *first;
	StringInfoData sql;
	List	   *files = NIL;
	ax_error	err;
	int			start;

	table_close(rel, NoLock);
	if (natts > 0 || !afdw_is_our_routine(GetFdwRoutineByServerId(server->serverid)))
		return NULL;
	afdw_options_table(relid, &opts);
	if (opts.paths == NIL && opts.files_func)
		opts.paths = afdw_files_function(relid, &opts);
	if (opts.paths == NIL)
		return NULL;
	source = afdw_files(&opts, opts.details);
	afdw_query_end(afdw_query_list(source, &opts));
	afdw_check_found(source, &opts);
	if (ax_source_files(source) == 0)
		return NULL;
	for (uint32 i = 0; i < ax_source_files(source); i++)
		files = lappend_int(files, (int) i);
	list.path = ax_source_file_path(source, 0);
	/* a part may be more than its path tells */
	if (strcmp(opts.format, "mergetree") == 0)
		first = afdw_query_open_some(source, &opts, &opening, &err) ? source : NULL;
	else
		first = afdw_open_file(&opts, list.path, &err);
	if (first == NULL)
		afdw_ereport(&err);
	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER FOREIGN TABLE %s",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												get_rel_name(relid)));
	start = sql.len;
	list.sql = &sql;
	afdw_append_columns(&list, ax_source_schema(first),
						opts.hive == AFDW_HIVE_OFF ? NULL : source, files);
	return sql.len > start ? sql.data : NULL;
}

/*
 * Event trigger on CREATE FOREIGN TABLE: an empty column list means the columns
 * of the files.  On IMPORT FOREIGN SCHEMA: comments, which an import cannot
 * give itself.
 */
Datum
analytics_fdw_fill_columns(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

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
	foreach(lc, afdw_import_comments())
		if (SPI_execute(lfirst(lc), false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not add comments");
	SPI_finish();
	PG_RETURN_NULL();
}
