/*-------------------------------------------------------------------------
 *
 * shippable.c
 *		Which functions, aggregates and orders the engine reproduces.
 *
 * Decided by OID, from the lists that the engine itself is made of
 * (func/functions.def, func/aggregates.def): what is not in a list, or is
 * there for another type or collation, stays in PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "afdw.h"

typedef struct AfdwShip
{
	Oid			oid;
	int			id;
} AfdwShip;

#define AX_FN(id, name, nargs, result, flags)
#define AX_PG(id, token, version) {token, AX_FN_##id},
#define AX_PG_IO(id, from, to)
static AfdwShip functions[] = {
#include "func/functions.def"
};
#undef AX_PG
#undef AX_PG_IO

#define AX_PG(id, token, version)
#define AX_PG_IO(id, from, to) {from, to, AX_FN_##id},
static const struct
{
	Oid			from,
				to;
	ax_fn		fn;
}			conversions[] = {
#include "func/functions.def"
};
#undef AX_FN
#undef AX_PG
#undef AX_PG_IO

#define AX_AGG(id, name, nargs)
#define AX_PG_AGG(id, arg, result, token) {token, AX_AGG_##id},
static AfdwShip aggregates[] = {
#include "func/aggregates.def"
};
#undef AX_AGG
#undef AX_PG_AGG

static int
compare_oid(const void *a, const void *b)
{
	Oid			x = ((const AfdwShip *) a)->oid,
				y = ((const AfdwShip *) b)->oid;

	return x < y ? -1 : x > y;
}

static int
look_up(AfdwShip *list, int n, bool *sorted, Oid oid)
{
	AfdwShip	key;
	AfdwShip   *found;

	if (!*sorted)
	{
		qsort(list, n, sizeof(AfdwShip), compare_oid);
		*sorted = true;
	}
	key.oid = oid;
	key.id = 0;
	found = bsearch(&key, list, n, sizeof(AfdwShip), compare_oid);
	return found ? found->id : 0;
}

static const char *
not_listed(Oid funcid)
{
	if (funcid >= FirstNormalObjectId)
		return psprintf("function %s is not built in", format_procedure(funcid));
	return psprintf("the engine has no function %s", format_procedure(funcid));
}

static bool
is_text(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID || typid == BPCHAROID || typid == NAMEOID;
}

/* Name of the locale that orders text under a libc collation, or NULL. */
static char *
libc_locale(Oid collation)
{
	HeapTuple	tuple;
	char	   *name = NULL;

	if (collation != DEFAULT_COLLATION_OID)
	{
		tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
		if (!HeapTupleIsValid(tuple))
			return NULL;
		if (((Form_pg_collation) GETSTRUCT(tuple))->collprovider == COLLPROVIDER_LIBC)
		{
#if PG_VERSION_NUM >= 150000
			bool		isnull;
			Datum		datum = SysCacheGetAttr(COLLOID, tuple, Anum_pg_collation_collcollate,
												&isnull);

			if (!isnull)
				name = TextDatumGetCString(datum);
#else
			name = pstrdup(NameStr(((Form_pg_collation) GETSTRUCT(tuple))->collcollate));
#endif
		}
		ReleaseSysCache(tuple);
		return name;
	}
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (!HeapTupleIsValid(tuple))
		return NULL;
#if PG_VERSION_NUM >= 150000
	if (((Form_pg_database) GETSTRUCT(tuple))->datlocprovider == COLLPROVIDER_LIBC)
	{
		bool		isnull;
		Datum		datum = SysCacheGetAttr(DATABASEOID, tuple, Anum_pg_database_datcollate,
											&isnull);

		if (!isnull)
			name = TextDatumGetCString(datum);
	}
#else
	name = pstrdup(NameStr(((Form_pg_database) GETSTRUCT(tuple))->datcollate));
#endif
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Does the collation order text by its bytes?  C and POSIX do; so does the C
 * library's own C.UTF-8, which compares code points, from glibc 2.35 on.
 */
bool
afdw_collation_is_bytes(Oid collation)
{
	char	   *name;
	bool		result = false;

	if (afdw_collate_is_c(collation))
		return true;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
	if (GetDatabaseEncoding() != PG_UTF8)
		return false;
	name = libc_locale(collation);
	if (name)
	{
		result = pg_strcasecmp(name, "C.UTF-8") == 0 || pg_strcasecmp(name, "C.UTF8") == 0;
		pfree(name);
	}
#else
	(void) name;
#endif
	return result;
}

static bool
byte_order(Oid collation, const char **reason)
{
	if (!OidIsValid(collation))
	{
		*reason = "no collation is known";
		return false;
	}
	if (afdw_collation_is_bytes(collation))
		return true;
	*reason = psprintf("collation \"%s\" does not order text by bytes",
					   get_collation_name(collation));
	return false;
}

static bool
deterministic(Oid collation, const char **reason)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return true;
	*reason = psprintf("collation \"%s\" is not deterministic", get_collation_name(collation));
	return false;
}

/* Are upper and lower case and the classes of characters those of ASCII? */
static bool
ctype_is_c(Oid collation)
{
	return OidIsValid(collation) && afdw_ctype_is_c(collation);
}

/* The engine's function, or AX_FN_NONE and why not. */
ax_fn
afdw_shippable_function(Oid funcid, Oid inputcollid, Oid firstarg, const char **reason)
{
	static bool sorted = false;
	ax_fn		fn = (ax_fn) look_up(functions, lengthof(functions), &sorted, funcid);

	if (fn == AX_FN_NONE)
	{
		*reason = not_listed(funcid);
		return AX_FN_NONE;
	}
	if (fn >= AX_FN_REGEX && fn <= AX_FN_REGEXP_SUBSTRING_C && !afdw_pushdown_regex)
	{
		*reason = "analytics_fdw.pushdown_regex is off";
		return AX_FN_NONE;
	}
	if (is_text(firstarg))
	{
		if ((fn == AX_FN_LT || fn == AX_FN_LE || fn == AX_FN_GT || fn == AX_FN_GE) &&
			!byte_order(inputcollid, reason))
			return AX_FN_NONE;
		if (!deterministic(inputcollid, reason))
			return AX_FN_NONE;
		if ((ax_fn_get(fn)->flags & AX_FNF_NEXT_IF_C) && ctype_is_c(inputcollid))
			fn++;
		if ((ax_fn_get(fn)->flags & AX_FNF_CTYPE_C) && !ctype_is_c(inputcollid))
		{
			*reason = psprintf("case and classes of characters are those of collation \"%s\"",
							   OidIsValid(inputcollid) ? get_collation_name(inputcollid) : "");
			return AX_FN_NONE;
		}
	}
	return fn;
}

/* The engine's function that converts by output and input of the types, or AX_FN_NONE. */
ax_fn
afdw_shippable_conversion(Oid from, Oid to, const char **reason)
{
	for (int i = 0; i < lengthof(conversions); i++)
		if (conversions[i].from == from && conversions[i].to == to)
			return conversions[i].fn;
	*reason = psprintf("cast from %s to %s", format_type_be(from), format_type_be(to));
	return AX_FN_NONE;
}

/* The engine's aggregate, or AX_AGG_NONE and why not. */
ax_agg_id
afdw_shippable_aggregate(Oid aggfnoid, Oid inputcollid, const char **reason)
{
	static bool sorted = false;
	ax_agg_id	agg = (ax_agg_id) look_up(aggregates, lengthof(aggregates), &sorted, aggfnoid);

	if (agg == AX_AGG_NONE)
	{
		if (aggfnoid >= FirstNormalObjectId)
			*reason = psprintf("aggregate %s is not built in", format_procedure(aggfnoid));
		else
			*reason = psprintf("the engine has no aggregate %s", format_procedure(aggfnoid));
		return AX_AGG_NONE;
	}
	if ((agg == AX_AGG_MIN || agg == AX_AGG_MAX) && OidIsValid(inputcollid) &&
		!byte_order(inputcollid, reason))
		return AX_AGG_NONE;
	return agg;
}

/* May values of this type be ordered by the engine as this operator family does? */
bool
afdw_shippable_order(Oid typid, Oid opfamily, Oid collation, const char **reason)
{
	Oid			opclass = GetDefaultOpClass(typid, BTREE_AM_OID);

	if (type_is_enum(getBaseType(typid)))
	{
		*reason = "the order of an enum is not that of its labels";
		return false;
	}
	if (!OidIsValid(opclass) || get_opclass_family(opclass) != opfamily)
	{
		*reason = "the order is not the default one of the type";
		return false;
	}
	return !is_text(typid) || byte_order(collation, reason);
}

/* May values be grouped by the engine's idea of equality? */
bool
afdw_shippable_equality(Oid typid, Oid collation, const char **reason)
{
	return !is_text(typid) || deterministic(collation, reason);
}

static bool
not_constant_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return context == NULL;
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_PlaceHolderVar:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_SubLink:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
		case T_SetToDefault:
			return true;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_EXEC;
		default:
			return expression_tree_walker(node, not_constant_walker, context);
	}
}

/*
 * Has the expression one value for the whole execution, which PostgreSQL can
 * compute at its start?
 */
bool
afdw_is_constant(Node *node)
{
	return !not_constant_walker(node, NULL) && !contain_volatile_functions(node);
}

/* The same for expressions of other relations than the one that is scanned. */
bool
afdw_is_constant_here(Node *node)
{
	bool		columns = true;

	return !not_constant_walker(node, &columns) && !contain_volatile_functions(node);
}
