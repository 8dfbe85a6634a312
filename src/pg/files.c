/*-------------------------------------------------------------------------
 *
 * files.c
 *		The files of a foreign table: who names them, which are opened, and the
 *		values that directories give to columns.
 *
 * Files are listed first.  Directories key=value on the way to a file give the
 * columns of these names a value that holds for the whole file, converted by
 * the input function of the declared type; with it the engine leaves files out
 * before it opens them.  Then those files are opened that may have rows for
 * the query: all of them when they are few, else a sample, which is enough for
 * estimates.  Scans open the others when they get there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "afdw.h"

#define OPEN_ALL_MAX 32			/* so many files are opened at the start */
#define OPEN_SAMPLE 16			/* of more than that */

/* ---- values ------------------------------------------------------------------ */

static bool
is_text(Oid base)
{
	return base == TEXTOID || base == VARCHAROID;
}

/*
 * A value of a column from its text, as the engine has it.  Types that the
 * engine reads as text stay text, but the text is checked.
 */
void
afdw_text_value(const AfdwColumn *col, const char *value, ax_value *out)
{
	Oid			input,
				ioparam,
				base = getBaseType(col->typid);
	Datum		datum;

	if (col->type.id == AX_T_LIST || col->type.id == AX_T_STRUCT || col->type.id == AX_T_MAP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a value for column \"%s\" of type %s cannot be given by an option or a "
						"directory", col->name, format_type_be(col->typid))));
	getTypeInputInfo(col->typid, &input, &ioparam);
	datum = OidInputFunctionCall(input, (char *) value, ioparam, col->typmod);
	if (col->type.id == AX_T_TEXT && !is_text(base))
	{
		datum = CStringGetTextDatum(value);
		base = TEXTOID;
	}
	if ((col->type.id == AX_T_TEXT || col->type.id == AX_T_BPCHAR) &&
		GetDatabaseEncoding() != PG_UTF8)
	{
		char	   *server = TextDatumGetCString(datum);

		datum = CStringGetTextDatum(pg_server_to_any(server, strlen(server), PG_UTF8));
	}
	if (!afdw_value(datum, false, col->type.id == AX_T_TEXT ? TEXTOID : base, col->type, out))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value \"%s\" for column \"%s\" has too many digits", value, col->name)));
}

/* ---- partitions -------------------------------------------------------------- */

typedef struct Place
{
	const char *key;
	const char *file;
} Place;

static void
place_callback(void *arg)
{
	Place	   *place = (Place *) arg;

	errcontext("directory \"%s\" of file \"%s\"", place->key, place->file);
}

/* The innermost directory with the key of a column, or -1. */
static int
find_key(const AfdwTable *table, const AfdwColumn *col, const char *const *names, uint32 n)
{
	if (col->key == NULL)
		return -1;
	for (int i = (int) n - 1; i >= 0; i--)
		if (table->opts.case_insensitive ? pg_strcasecmp(col->key, names[i]) == 0
			: strcmp(col->key, names[i]) == 0)
			return i;
	return -1;
}

/* Values of the columns that the directories of file i fix; returns how many. */
static int
partition_values(AfdwTable *table, uint32 i, ax_fixed_col *fixed)
{
	uint32		nparts;
	const char *const *names = ax_source_file_part_names(table->source, i, &nparts);
	const char *const *values = ax_source_file_part_values(table->source, i);
	int			n = 0;

	for (int c = 0; c < table->ncols; c++)
	{
		const AfdwColumn *col = &table->col[c];
		int			k = find_key(table, col, names, nparts);
		ErrorContextCallback context;
		Place		place;

		if (k < 0)
			continue;
		place.key = names[k];
		place.file = ax_source_file_path(table->source, i);
		context.callback = place_callback;
		context.arg = &place;
		context.previous = error_context_stack;
		error_context_stack = &context;
		memset(&fixed[n], 0, sizeof(fixed[n]));
		fixed[n].col = (uint32) c;
		if (values[k])
			afdw_text_value(col, pg_any_to_server(values[k], strlen(values[k]), PG_UTF8),
							&fixed[n].value);
		else if (col->not_null)
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value for column \"%s\" declared NOT NULL", col->name)));
		else
		{
			fixed[n].value.type = col->type;
			fixed[n].value.null = true;
		}
		n++;
		error_context_stack = context.previous;
	}
	return n;
}

/* With hive_partitioning on, all files have the keys of the first. */
static void
check_keys(AfdwTable *table, uint32 i)
{
	uint32		n,
				n0;
	const char *const *names = ax_source_file_part_names(table->source, i, &n);
	const char *const *names0 = ax_source_file_part_names(table->source, 0, &n0);
	bool		same = n == n0;

	for (uint32 k = 0; same && k < n; k++)
		same = strcmp(names[k], names0[k]) == 0;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("files \"%s\" and \"%s\" lie in directories with different keys",
						ax_source_file_path(table->source, 0),
						ax_source_file_path(table->source, i)),
				 errhint("Set option hive_partitioning to \"auto\" to let keys differ.")));
}

static void
fix_partitions(AfdwTable *table)
{
	const void *last = NULL;
	ax_fixed_col *fixed;
	int			n = 0;
	MemoryContext cxt,
				old;

	if (table->opts.hive == AFDW_HIVE_OFF)
	{
		bool		keys = false;

		for (int c = 0; c < table->ncols; c++)
			keys = keys || table->col[c].key != NULL;
		if (!keys)
			return;				/* a column with option virtual asks for one all the same */
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw partitions",
								ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);
	/* values hold 128-bit integers, which need more than palloc's alignment */
	fixed = (ax_fixed_col *) TYPEALIGN(16, palloc(sizeof(ax_fixed_col) * (table->ncols + 1) + 16));
	for (uint32 i = 0; i < ax_source_files(table->source); i++)
	{
		const void *values = ax_source_file_part_values(table->source, i);
		ax_error	err;

		if (table->opts.hive == AFDW_HIVE_ON)
			check_keys(table, i);
		CHECK_FOR_INTERRUPTS();
		if (values == NULL)
			continue;
		if (values != last)		/* files of one directory share them */
			n = partition_values(table, i, fixed);
		last = values;
		table->parsed = table->parsed || n > 0;
		if (n > 0 &&
			ax_source_fix(table->source, i, fixed, (uint32) n, &err) != AX_OK)
			afdw_ereport(&err);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

/* ---- listing and opening ----------------------------------------------------- */

/* A path that leads nowhere is a mistake, unless the table says that it may. */
void
afdw_check_found(const ax_source *source, const AfdwOptions *opts)
{
	const ax_format *format = ax_format_find(opts->format);

	/* a function may say that there are none, and a directory of parts may have none yet */
	if (ax_source_files(source) == 0 && !opts->allow_no_files && opts->files_func == NULL &&
		!(format && format->directory))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("no file matches option \"path\""),
				 errcontext("path \"%s\"", (char *) linitial(opts->paths)),
				 errhint("Set option allow_no_files where a table may have none.")));
}

/* false: *err says why they could not be listed. */
bool
afdw_files_list(AfdwTable *table, ax_error *err)
{
	if (!afdw_query_try_list(table->source, &table->opts, err))
		return false;
	afdw_check_found(table->source, &table->opts);
	fix_partitions(table);
	return true;
}

/*
 * params is NULL while planning: estimates can do without a file, and whether
 * it is needed at all may depend on parameters, so errors wait for execution.
 * false: *err says what was wrong.
 */
bool
afdw_table_open_files(AfdwTable *table, ax_expr **conj, int nconj, const ax_params *params,
					  ax_error *err)
{
	AfdwOpening opening = {.conj = conj, .nconj = nconj, .params = params};
	uint32		n = ax_source_files(table->source),
				i = 0;

	while (i < n && ax_source_file(table->source, i) != NULL)
		i++;
	if (i == n)
		return true;
	opening.open_files = n > OPEN_ALL_MAX ? OPEN_SAMPLE : 0;
	return afdw_query_open_some(table->source, &table->opts, &opening, err) ||
		(params == NULL && err->code != AX_ENOMEM);
}

/* ---- files_func -------------------------------------------------------------- */

/*
 * The function chooses among all files of the server: its owner must be allowed
 * to read them, as who named it in the option was.
 */
static void
check_function(const char *name, Oid funcid, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	AclResult	acl;
	Oid			author;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", funcid);
	author = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	if (!has_privs_of_role(author, ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("owner of function %s must have privileges of the pg_read_server_files "
						"role", name),
				 errhint("Grant it the privileges of that role.")));

	if (get_func_rettype(funcid) != TEXTARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s must return type %s", name, "text[]")));
#if PG_VERSION_NUM >= 160000
	acl = object_aclcheck(ProcedureRelationId, funcid, owner, ACL_EXECUTE);
#else
	acl = pg_proc_aclcheck(funcid, owner, ACL_EXECUTE);
#endif
	if (acl != ACLCHECK_OK)
		aclcheck_error(acl, OBJECT_FUNCTION, name);
}

/*
 * Paths from the function that the table names, called with the rights of the
 * table's owner.  Its name is qualified, so that nobody who only reads the
 * table can put another function in its place.
 */
List *
afdw_files_function(Oid relid, const AfdwOptions *opts)
{
	List	   *name = stringToQualifiedNameList(opts->files_func
#if PG_VERSION_NUM >= 160000
												 , NULL
#endif
		);
	Oid			argtype = JSONBOID;
	Oid			funcid = LookupFuncName(name, 1, &argtype, false);
	Oid			user,
				owner;
	int			context,
				nestlevel;
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	LOCAL_FCINFO(fcinfo, 1);
	FmgrInfo	flinfo;
	Datum		result,
			   *elem;
	bool	   *null;
	int			n;
	List	   *paths = NIL;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	check_function(opts->files_func, funcid, owner);

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_RESTRICTED_OPERATION);
	nestlevel = NewGUCNestLevel();
#if PG_VERSION_NUM >= 170000
	RestrictSearchPath();
#endif
	fmgr_info(funcid, &flinfo);
	InitFunctionCallInfoData(*fcinfo, &flinfo, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].isnull = opts->files_func_arg == NULL;
	fcinfo->args[0].value = opts->files_func_arg ?
		DirectFunctionCall1(jsonb_in, CStringGetDatum(opts->files_func_arg)) : (Datum) 0;
	fcinfo->isnull = false;
	result = (Datum) 0;
	if (fcinfo->args[0].isnull && flinfo.fn_strict)
		fcinfo->isnull = true;
	else
		result = FunctionCallInvoke(fcinfo);
	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(user, context);

	if (fcinfo->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s returned no files", opts->files_func)));
	deconstruct_array(DatumGetArrayTypeP(result), TEXTOID, -1, false, TYPALIGN_INT, &elem, &null,
					  &n);
	for (int i = 0; i < n; i++)
	{
		char	   *path = null[i] ? NULL : TextDatumGetCString(elem[i]);

		if (path == NULL || *path == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("function %s returned an empty path", opts->files_func)));
		paths = lappend(paths, path);
	}
	return paths;
}
