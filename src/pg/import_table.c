/*-------------------------------------------------------------------------
 *
 * import_table.c
 *		import_table() and import_parquet(): a foreign table in one call.
 *
 * They run CREATE FOREIGN TABLE with an empty column list, which the event
 * trigger fills (columns.c).  Rights and options are checked as if the user had
 * typed the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_import_table);
PG_FUNCTION_INFO_V1(analytics_fdw_import_parquet);

static void
append_option(StringInfo sql, const char *name, const char *value)
{
	appendStringInfo(sql, "%s%s %s", sql->data[sql->len - 1] == '(' ? "" : ", ",
					 quote_identifier(name), quote_literal_cstr(value));
}

/* Keys and values of a JSON object as options. */
static void
append_options(StringInfo sql, Datum options)
{
	Oid			type = JSONBOID;

	if (SPI_execute_with_args("SELECT key, value FROM pg_catalog.jsonb_each_text($1)", 1, &type,
							  &options, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read options");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *value = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);

		if (value)
			append_option(sql, SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1),
						  value);
	}
}

/* Runs the statement that creates this table. */
static Oid
run(const RangeVar *table, const char *sql)
{
	Oid			schema = RangeVarGetCreationNamespace(table);
	Oid			relid;

	if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not create the foreign table");
	/* The name ends with SPI's memory. */
	relid = get_relname_relid(table->relname, schema);
	SPI_finish();
	return relid;
}

/* import_table(name, path, options) */
Datum
analytics_fdw_import_table(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RangeVar   *table;
	StringInfoData sql;

	SPI_connect();
	initStringInfo(&sql);
	table = makeRangeVarFromNameList(stringToQualifiedNameList(name
#if PG_VERSION_NUM >= 160000
															   , NULL
#endif
															   ));
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s () SERVER analytics_fdw OPTIONS (",
					 quote_qualified_identifier(table->schemaname, table->relname));
	append_option(&sql, "path", text_to_cstring(PG_GETARG_TEXT_PP(1)));
	append_options(&sql, PG_GETARG_DATUM(2));
	appendStringInfoChar(&sql, ')');
	PG_RETURN_OID(run(table, sql.data));
}

/* import_parquet(table, schema, server, function, its argument, options), as parquet_fdw has it */
Datum
analytics_fdw_import_parquet(PG_FUNCTION_ARGS)
{
	Oid			function = PG_GETARG_OID(3);
	RangeVar   *table;
	StringInfoData sql;

	SPI_connect();
	initStringInfo(&sql);
	table = makeRangeVar(text_to_cstring(PG_GETARG_TEXT_PP(1)),
						 text_to_cstring(PG_GETARG_TEXT_PP(0)), -1);
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s () SERVER %s OPTIONS (",
					 quote_qualified_identifier(table->schemaname, table->relname),
					 quote_identifier(text_to_cstring(PG_GETARG_TEXT_PP(2))));
	append_option(&sql, "files_func",
				  quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
											 get_func_name(function)));
	append_option(&sql, "files_func_arg",
				  DatumGetCString(DirectFunctionCall1(jsonb_out, PG_GETARG_DATUM(4))));
	append_options(&sql, PG_GETARG_DATUM(5));
	appendStringInfoChar(&sql, ')');
	PG_RETURN_OID(run(table, sql.data));
}
