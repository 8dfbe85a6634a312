/*-------------------------------------------------------------------------
 *
 * introspect.c
 *		Functions that show what is in files, and how the library was built.
 *
 * What a format knows about its files comes through the engine's door as
 * tables of facts (ax_query_facts); nothing here knows a format.
 *
 * These functions read files with the rights of the server, so they ask for
 * pg_read_server_files themselves, whatever was granted on them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "afdw.h"

PG_FUNCTION_INFO_V1(analytics_fdw_version);
PG_FUNCTION_INFO_V1(analytics_fdw_build_info);
PG_FUNCTION_INFO_V1(analytics_fdw_list);
PG_FUNCTION_INFO_V1(analytics_fdw_describe);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_metadata);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_file_metadata);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_schema);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_column_stats);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_kv_metadata);
PG_FUNCTION_INFO_V1(analytics_fdw_parquet_bloom_probe);
PG_FUNCTION_INFO_V1(analytics_fdw_mergetree_parts);
PG_FUNCTION_INFO_V1(analytics_fdw_mergetree_columns);
PG_FUNCTION_INFO_V1(analytics_fdw_mergetree_marks);
PG_FUNCTION_INFO_V1(analytics_fdw_mergetree_check);

/* ---- rows ----------------------------------------------------------------------------- */

/* Makes the function's result a tuplestore, which rows are put into. */
ReturnSetInfo *
afdw_rows_begin(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TupleDesc	desc;
	MemoryContext old;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) || !(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setDesc = CreateTupleDescCopy(desc);
	rsinfo->setResult = tuplestore_begin_heap(rsinfo->allowedModes & SFRM_Materialize_Random,
											  false, work_mem);
	MemoryContextSwitchTo(old);
	return rsinfo;
}

static Datum
text_or_null(const char *s, bool *isnull)
{
	*isnull = s == NULL;
	return s ? CStringGetTextDatum(pg_any_to_server(s, strlen(s), PG_UTF8)) : (Datum) 0;
}

/* ---- the build -------------------------------------------------------------------------- */

Datum
analytics_fdw_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(AX_VERSION));
}

static void
put_info(ReturnSetInfo *rsinfo, const char *key, const char *value)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = CStringGetTextDatum(key);
	values[1] = CStringGetTextDatum(value);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
analytics_fdw_build_info(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);
	StringInfoData formats;
	const ax_format *f;

	initStringInfo(&formats);
	for (uint32_t i = 0; (f = ax_format_at(i)) != NULL; i++)
		appendStringInfo(&formats, "%s%s", i ? ", " : "", f->name);
	put_info(rsinfo, "version", AX_VERSION);
	put_info(rsinfo, "postgres", PG_VERSION);
	put_info(rsinfo, "compiler", __VERSION__);
	put_info(rsinfo, "formats", formats.data);
#ifdef AX_DEBUG
	put_info(rsinfo, "debug", "on");
#else
	put_info(rsinfo, "debug", "off");
#endif
	return (Datum) 0;
}

/* ---- files ------------------------------------------------------------------------------ */

/* The files that a path or glob names, neither listed nor opened. */
static ax_source *
source_of(text *uri, const char *format, const char *details, AfdwOptions *opts)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to read files of the server"),
				 errdetail("Only roles with privileges of the \"%s\" role may read files of "
						   "the server.", "pg_read_server_files"),
				 errhint("Grant the privileges of the pg_read_server_files role.")));
	memset(opts, 0, sizeof(*opts));
	opts->paths = afdw_option_paths(text_to_cstring(uri));
	opts->format = format;
	return afdw_files(opts, details);
}

/* What one call needs of engine and memory ends with it. */
static MemoryContext
scratch_begin(void)
{
	return MemoryContextSwitchTo(AllocSetContextCreate(CurrentMemoryContext,
													   "analytics_fdw introspection",
													   ALLOCSET_DEFAULT_SIZES));
}

static void
scratch_end(MemoryContext old)
{
	MemoryContextDelete(MemoryContextSwitchTo(old));
}

Datum
analytics_fdw_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);
	MemoryContext old = scratch_begin();
	AfdwOptions opts;
	ax_source  *source = source_of(PG_GETARG_TEXT_PP(0), "auto", NULL, &opts);

	(void) afdw_query_list(source, &opts);
	for (uint32 i = 0; i < ax_source_files(source); i++)
	{
		Datum		values[4];
		bool		nulls[4];
		ax_file_facts facts;

		memset(nulls, true, sizeof(nulls));
		values[0] = text_or_null(ax_source_file_path(source, i), &nulls[0]);
		if (ax_source_file_facts(source, i, &facts))
		{
			nulls[1] = false;
			values[1] = Int64GetDatum((int64) facts.size);
			nulls[2] = facts.mtime_ns == 0;
			values[2] = TimestampTzGetDatum(facts.mtime_ns / 1000 -
											(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) *
											USECS_PER_DAY);
			values[3] = text_or_null(facts.etag, &nulls[3]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	scratch_end(old);
	return (Datum) 0;
}

Datum
analytics_fdw_describe(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);
	MemoryContext old = scratch_begin();
	AfdwOptions opts;
	ax_source  *source = source_of(PG_GETARG_TEXT_PP(0), "auto", NULL, &opts);
	const ax_schema *schema;

	(void) afdw_query_open(source, &opts);
	schema = ax_source_schema(source);
	for (uint32 i = 0; i < schema->n; i++)
	{
		const ax_field *f = &schema->field[i];
		const char *type = afdw_sql_type(f);
		const char *note = f->refusal ? f->refusal :
			type == NULL ? "the type has no counterpart" : NULL;
		Datum		values[5];
		bool		nulls[5];

		values[0] = text_or_null(f->name, &nulls[0]);
		values[1] = text_or_null(type, &nulls[1]);
		values[2] = text_or_null(f->source_type, &nulls[2]);
		values[3] = BoolGetDatum(f->nullable);
		nulls[3] = false;
		values[4] = text_or_null(note, &nulls[4]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	scratch_end(old);
	return (Datum) 0;
}

/* ---- facts of formats --------------------------------------------------------------------- */

static Datum
fact_datum(const ax_value *v)
{
	if (v->type.id == AX_T_TEXT)
	{
		char	   *s = pnstrdup((const char *) v->u.s.p, v->u.s.len);

		return CStringGetTextDatum(pg_any_to_server(s, (int) v->u.s.len, PG_UTF8));
	}
	if (v->type.id == AX_T_BYTEA)
		return PointerGetDatum(cstring_to_text_with_len((const char *) v->u.s.p,
														(int) v->u.s.len));
	return afdw_datum(v->type.id, v);
}

static void
put_batch(ReturnSetInfo *rsinfo, const ax_batch *batch, const char *path)
{
	int			natts = rsinfo->setDesc->natts;
	Datum	   *values = palloc(sizeof(Datum) * natts);
	bool	   *nulls = palloc(sizeof(bool) * natts);

	if (batch->ncols + 1 != (uint32) natts)
		elog(ERROR, "the function has %d columns, the engine gives %u", natts, batch->ncols + 1);
	for (uint32 r = 0; r < batch->nsel; r++)
	{
		values[0] = text_or_null(path, &nulls[0]);
		for (uint32 c = 0; c < batch->ncols; c++)
		{
			ax_value	v = ax_vec_value(&batch->col[c], batch->sel ? batch->sel[r] : r);

			nulls[c + 1] = v.null;
			values[c + 1] = v.null ? (Datum) 0 : fact_datum(&v);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* The field at a path of names, or NULL. */
static const ax_field *
find_field(const ax_schema *schema, const char **path, uint32 npath)
{
	const ax_field *child = schema->field,
			   *hit = NULL;
	uint32		n = schema->n;

	for (uint32 i = 0; i < npath; i++)
	{
		hit = NULL;
		for (uint32 k = 0; k < n && hit == NULL; k++)
			if (strcmp(child[k].name, path[i]) == 0)
				hit = &child[k];
		if (hit == NULL)
			return NULL;
		child = hit->child;
		n = hit->nchild;
	}
	return hit;
}

/* A column of the first file and a value, in the type that a foreign table would declare. */
static void
column_value(ax_source *source, const char *name, const char *value, ax_fact_arg *arg)
{
	AfdwColumn	col = {.name = name};
	const char **path = afdw_name_path(name, &arg->npath);
	const ax_field *f = find_field(ax_source_schema(source), path, arg->npath);
	const char *type = f ? afdw_sql_type(f) : NULL;

	if (f == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the file has no column \"%s\"", name)));
	if (type == NULL || f->type.id == AX_T_LIST || f->nchild > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" has no single values", name)));
	parseTypeString(type, &col.typid, &col.typmod,
#if PG_VERSION_NUM >= 160000
					NULL
#else
					false
#endif
		);
	/* the value counts as it is given, not as it would be rounded */
	col.typmod = -1;
	(void) afdw_type(col.typid, -1, InvalidOid, &col.type, &col.obstacle);
	if (f->type.id == AX_T_DIGITS)
		afdw_type_long(col.typid, &col.type, &col.obstacle);
	afdw_text_value(&col, value, &arg->value);
	arg->path = path;
}

/* All rows of a format's table of facts, each after the name of its file. */
static Datum
facts(FunctionCallInfo fcinfo, const char *format, const char *table, const char *details)
{
	ReturnSetInfo *rsinfo = afdw_rows_begin(fcinfo);
	MemoryContext old = scratch_begin();
	AfdwOptions opts;
	ax_source  *source = source_of(PG_GETARG_TEXT_PP(0), format, details, &opts);
	MemoryContext batch_cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw facts",
													ALLOCSET_DEFAULT_SIZES);
	/* values hold 128-bit integers, which need more than palloc's alignment */
	ax_fact_arg *arg = (ax_fact_arg *) TYPEALIGN(16, palloc0(sizeof(ax_fact_arg) + 16));
	AfdwQuery  *query;
	ax_batch   *batch;

	(void) afdw_query_open(source, &opts);
	if (PG_NARGS() > 1)
		column_value(source, text_to_cstring(PG_GETARG_TEXT_PP(1)),
					 text_to_cstring(PG_GETARG_TEXT_PP(2)), arg);
	query = afdw_query_facts(source, table, PG_NARGS() > 1 ? arg : NULL, &opts);
	while ((batch = afdw_query_next(query)) != NULL)
	{
		MemoryContext scratch = MemoryContextSwitchTo(batch_cxt);

		put_batch(rsinfo, batch, ax_source_file_path(source, batch->split));
		MemoryContextSwitchTo(scratch);
		MemoryContextReset(batch_cxt);
	}
	scratch_end(old);
	return (Datum) 0;
}

Datum
analytics_fdw_parquet_metadata(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "metadata", NULL);
}

Datum
analytics_fdw_parquet_file_metadata(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "file_metadata", NULL);
}

Datum
analytics_fdw_parquet_schema(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "schema", NULL);
}

Datum
analytics_fdw_parquet_column_stats(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "column_stats", NULL);
}

Datum
analytics_fdw_parquet_kv_metadata(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "kv_metadata", NULL);
}

Datum
analytics_fdw_parquet_bloom_probe(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "parquet", "bloom_probe", NULL);
}

Datum
analytics_fdw_mergetree_parts(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "mergetree", "parts", NULL);
}

Datum
analytics_fdw_mergetree_columns(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "mergetree", "columns", NULL);
}

Datum
analytics_fdw_mergetree_marks(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "mergetree", "marks", NULL);
}

/* What is wrong with a part is a row here, and not an error. */
Datum
analytics_fdw_mergetree_check(PG_FUNCTION_ARGS)
{
	return facts(fcinfo, "mergetree", "check", "checksums=shown\n");
}
