/*-------------------------------------------------------------------------
 *
 * nested.c
 *		Composite types, arrays of them, and arrays of several dimensions.
 *
 * A column of a composite type, or of an array of one, is told to the engine as
 * a document with the declared structure: names and types of its fields, down
 * to scalars.  The engine delivers JSON text with those names, and the server's
 * jsonb_populate_record makes rows of it, with the input functions of the
 * fields' types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "afdw.h"

/* ---- types ------------------------------------------------------------------ */

static ax_type document_type(Oid typid, int32 typmod);

static ax_type
struct_type(Oid base)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_domain(base, -1, false);
	ax_nested  *nested = palloc0(sizeof(ax_nested));
	ax_type    *types = palloc0(sizeof(ax_type) * Max(desc->natts, 1));
	const char **names = palloc0(sizeof(char *) * Max(desc->natts, 1));
	ax_type		type = ax_type_make(AX_T_STRUCT);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		names[nested->n] = pg_server_to_any(pstrdup(NameStr(att->attname)),
											(int) strlen(NameStr(att->attname)), PG_UTF8);
		types[nested->n++] = document_type(att->atttypid, att->atttypmod);
	}
	ReleaseTupleDesc(desc);
	nested->type = types;
	nested->name = names;
	type.nested = nested;
	return type;
}

static ax_type
document_type(Oid typid, int32 typmod)
{
	Oid			base = getBaseTypeAndTypmod(typid, &typmod);
	Oid			elemtype = get_element_type(base);
	const char *obstacle;
	ax_type		type;

	check_stack_depth();
	if (get_typtype(base) == TYPTYPE_COMPOSITE)
		return struct_type(base);
	if (OidIsValid(elemtype))
	{
		ax_nested  *nested = palloc0(sizeof(ax_nested));
		ax_type    *elem = palloc(sizeof(ax_type));

		*elem = document_type(elemtype, typmod);
		nested->n = 1;
		nested->type = elem;
		type = ax_type_make(AX_T_LIST);
		type.nested = nested;
		return type;
	}
	(void) afdw_type(typid, typmod, InvalidOid, &type, &obstacle);
	return type;
}

/* Is the type (not a domain) one that comes as a document?  What to ask the engine for then. */
bool
afdw_record_type(Oid base, ax_type *type)
{
	Oid			elemtype = get_element_type(base);
	ax_nested  *nested;
	ax_type    *root;

	if (get_typtype(base) != TYPTYPE_COMPOSITE &&
		!(OidIsValid(elemtype) && get_typtype(getBaseType(elemtype)) == TYPTYPE_COMPOSITE))
		return false;
	nested = palloc0(sizeof(ax_nested));
	root = palloc(sizeof(ax_type));
	*root = document_type(base, -1);
	nested->n = 1;
	nested->type = root;
	*type = ax_type_make(AX_T_TEXT);
	type->coll = AX_COLL_EQ;
	type->nested = nested;
	return true;
}

/* ---- records ------------------------------------------------------------------ */

struct AfdwRecord
{
	Oid			rowtype;		/* composite, or a domain over one */
	bool		array;
	FmgrInfo	populate;
};

/* For values of a type that afdw_record_type knows; lives in CurrentMemoryContext. */
AfdwRecord *
afdw_record_create(Oid base)
{
	AfdwRecord *r = palloc0(sizeof(AfdwRecord));
	Oid			elemtype = get_element_type(base);
	Const	   *row;

	r->array = OidIsValid(elemtype);
	r->rowtype = r->array ? elemtype : base;
	fmgr_info(F_JSONB_POPULATE_RECORD, &r->populate);
	/* the function takes the type of its result from that of its first argument */
	row = makeNullConst(r->rowtype, -1, InvalidOid);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_JSONB_POPULATE_RECORD, r->rowtype, list_make1(row),
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &r->populate);
	return r;
}

static Datum
populate(AfdwRecord *r, Jsonb *object)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		d;

	InitFunctionCallInfoData(*fcinfo, &r->populate, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = (Datum) 0;
	fcinfo->args[0].isnull = true;
	fcinfo->args[1].value = JsonbPGetDatum(object);
	fcinfo->args[1].isnull = false;
	d = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		elog(ERROR, "analytics_fdw: no record came of a document");
	return d;
}

static Datum
record_array(AfdwRecord *r, Jsonb *list)
{
	int			n = JB_ROOT_COUNT(list);
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	int			lower = 1;
	int16		len;
	bool		byval;
	char		align;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(r->rowtype));
	for (int i = 0; i < n; i++)
	{
		JsonbValue *v = getIthJsonbValueFromContainer(&list->root, (uint32) i);

		nulls[i] = v->type == jbvNull;
		values[i] = (Datum) 0;
		if (nulls[i])
			continue;
		if (v->type != jbvBinary || !JsonContainerIsObject(v->val.binary.data))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("lists of lists cannot be read as an array of type %s",
							format_type_be(r->rowtype)),
					 errhint("Declare the column as jsonb.")));
		values[i] = populate(r, JsonbValueToJsonb(v));
	}
	get_typlenbyvalalign(r->rowtype, &len, &byval, &align);
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, r->rowtype, len, byval,
											  align));
}

/* A document of the engine as a value, in CurrentMemoryContext. */
Datum
afdw_record_datum(AfdwRecord *r, const char *json, int len)
{
	char	   *s = pnstrdup(json, len);
	Jsonb	   *doc;

	s = pg_any_to_server(s, len, PG_UTF8);
	doc = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(s)));
	return r->array ? record_array(r, doc) : populate(r, doc);
}

/* ---- arrays of several dimensions ---------------------------------------------- */

static void
jagged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("lists in a list have different lengths or are null, arrays cannot"),
			 errhint("Declare the column as jsonb, or set the option jagged of the table to "
					 "null_pad.")));
}

/*
 * Lengths of the dimensions of row i of a vector of lists; returns how many
 * there are.  Where lists differ in length it is an error, or with `pad` the
 * greatest one counts.
 */
int
afdw_list_dims(const ax_vec *v, uint32 i, bool pad, int *dims)
{
	uint32		from = i,
				to = i + 1;
	int			n = 0;

	for (; v->kind == AX_VK_LIST; v = v->u.list.child)
	{
		int			longest = -1;

		Assert(n < MAXDIM);
		for (uint32 k = from; k < to; k++)
		{
			bool		null = n > 0 && v->null && v->null[k];
			int			len = (int) (v->u.list.off[k + 1] - v->u.list.off[k]);

			if (!pad && (null || (longest >= 0 && len != longest)))
				jagged();
			longest = Max(longest, len);
		}
		dims[n++] = Max(longest, 0);
		if (to > from)
		{
			from = v->u.list.off[from];
			to = v->u.list.off[to];
		}
	}
	return n;
}

/*
 * Element numbers of the innermost vector for each place of an array of those
 * dimensions, in storage order; -1 where a list is too short.
 */
void
afdw_list_places(const ax_vec *v, uint32 i, int ndims, const int *dims, int64 *place)
{
	int64		size = 1;
	uint32		from = v->u.list.off[i];
	uint32		n = v->u.list.off[i + 1] - from;

	for (int d = 1; d < ndims; d++)
		size *= dims[d];
	for (int k = 0; k < dims[0]; k++)
	{
		int64	   *at = place + k * size;
		bool		there = (uint32) k < n;

		if (ndims == 1)
			*at = there ? (int64) from + k : -1;
		else if (there)
			afdw_list_places(v->u.list.child, from + (uint32) k, ndims - 1, dims + 1, at);
		else
			for (int64 j = 0; j < size; j++)
				at[j] = -1;
	}
}
