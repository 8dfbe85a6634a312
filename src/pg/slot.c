/*-------------------------------------------------------------------------
 *
 * slot.c
 *		Values: columns of a batch to Datums, Datums to values of the engine.
 *
 * A batch is converted a column at a time into arrays of Datums, and a row is
 * then only copied from them.  By-reference values are made in one piece of
 * memory per column and batch; values of a dictionary are made once per
 * dictionary.  Both live until the batch after the next row is asked for,
 * which is as long as a slot needs them.
 *
 * The numeric format written here is the one on disk (numeric.c, "NumericShort"
 * and "NumericLong"), unchanged since PostgreSQL 9.1.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "afdw.h"

#define NUM_DIGITS			38	/* of an ax_num */

/* ---- types ------------------------------------------------------------------ */

/* An array may have several dimensions; CurrentMemoryContext holds the type of the elements. */
static ax_type
array_type(Oid elemtype, int32 typmod)
{
	ax_type		type = ax_type_make(AX_T_LIST);
	ax_nested  *nested = palloc0(sizeof(ax_nested));
	ax_type    *elem = palloc0(sizeof(ax_type));
	const char *obstacle;

	(void) afdw_type(elemtype, typmod, InvalidOid, elem, &obstacle);
	nested->n = 1;
	nested->type = elem;
	type.nested = nested;
	return type;
}

/*
 * What the engine should deliver for a declared type.  Returns whether the
 * engine's values then mean the same in expressions; *obstacle says why not.
 */
bool
afdw_type(Oid typid, int32 typmod, Oid collation, ax_type *type, const char **obstacle)
{
	Oid			base = getBaseTypeAndTypmod(typid, &typmod);
	Oid			elemtype = get_element_type(base);
	bool		known = true,
				pushable = false;

	*obstacle = NULL;
	if (afdw_record_type(base, type))
	{
		*obstacle = psprintf("type %s", format_type_be(typid));
		return false;
	}
	if (OidIsValid(elemtype))
	{
		*obstacle = psprintf("type %s", format_type_be(typid));
		*type = array_type(elemtype, typmod);
		return false;
	}
	switch (base)
	{
#define AFDW_TYPE(oid, id, push) \
		case oid: \
			*type = ax_type_make(AX_T_##id); \
			pushable = push; \
			break;
#include "types.def"
#undef AFDW_TYPE
		default:
			*type = ax_type_make(AX_T_TEXT);
			known = false;
	}
	if (type_is_enum(base))
		known = pushable = true;
	if (!known || !pushable)
	{
		*obstacle = psprintf("type %s", format_type_be(typid));
		type->coll = AX_COLL_EQ;
		return false;
	}
	if (type->id == AX_T_TEXT || type->id == AX_T_BPCHAR)
	{
		if (GetDatabaseEncoding() != PG_UTF8)
		{
			*obstacle = "the encoding of the database is not UTF8";
			return false;
		}
		if (!OidIsValid(collation))
			type->coll = AX_COLL_EQ;
		else if (afdw_collation_is_bytes(collation))
			type->coll = AX_COLL_BYTES;
		else if (get_collation_isdeterministic(collation))
			type->coll = AX_COLL_EQ;
		else
		{
			*obstacle = psprintf("collation \"%s\" is not deterministic",
								 get_collation_name(collation));
			return false;
		}
	}
	if (type->id == AX_T_NUMERIC && typmod >= (int32) VARHDRSZ)
	{
		int32		packed = typmod - VARHDRSZ;

		type->precision = (packed >> 16) & 0xffff;
		type->scale = (packed & 0x7ff);
		if (type->scale & 0x400)	/* negative scales, from 15 */
			type->scale = type->scale - 0x800;
		if (type->precision > NUM_DIGITS)
		{
			*obstacle = psprintf("%s has more digits than the engine computes with",
								 format_type_with_typemod(typid, typmod));
			type->id = AX_T_DIGITS;
			type->phys = AX_P_STR;
			return false;
		}
	}
	if (typmod >= 0 && (base == TIMEOID || base == TIMESTAMPOID || base == TIMESTAMPTZOID ||
						base == INTERVALOID))
	{
		/* PostgreSQL rounds after reading */
		*obstacle = psprintf("type %s", format_type_with_typemod(typid, typmod));
		return false;
	}
	return true;
}

/* Is it numeric, or an array of it, without a precision? */
bool
afdw_type_is_bare(const ax_type *type)
{
	if (type->id == AX_T_LIST && type->nested)
		return afdw_type_is_bare(&type->nested->type[0]);
	return type->id == AX_T_NUMERIC && type->precision == 0;
}

/* Lets the engine deliver such a type with any number of digits, and not look at its values. */
void
afdw_type_long(Oid typid, ax_type *type, const char **obstacle)
{
	ax_type    *elem = type;

	while (elem->id == AX_T_LIST)
		elem = unconstify(ax_type *, &elem->nested->type[0]);
	elem->id = AX_T_DIGITS;
	elem->phys = AX_P_STR;
	if (elem == type)
		*obstacle = psprintf("%s has more digits in the files than the engine computes with",
							 format_type_be(typid));
}

/* ---- numeric ----------------------------------------------------------------- */

#define NUM_SHORT			0x8000
#define NUM_SHORT_NEG		0x2000
#define NUM_LONG_NEG		0x4000
#define NUM_NAN				0xC000
#define NUM_PINF			0xD000
#define NUM_NINF			0xF000
#define NUM_MAX_BYTES		MAXALIGN(VARHDRSZ + 4 + 2 * 12)

/* A decimal with more digits than ax_num has, in CurrentMemoryContext. */
static Datum
numeric_wide(const ax_num *x)
{
	const ax_num_wide *w = ax_num_wide_of(x);
	Size		size = VARHDRSZ + sizeof(uint16) * (2 + (Size) w->ndigits);
	char	   *p = palloc(size);
	uint16	   *out = (uint16 *) (p + VARHDRSZ);

	out[0] = (uint16) ((w->neg ? NUM_LONG_NEG : 0) | x->dscale);
	out[1] = (uint16) (int16) w->weight;
	memcpy(out + 2, w->digit, sizeof(uint16) * w->ndigits);
	SET_VARSIZE(p, size);
	return PointerGetDatum(p);
}

/* Writes x at p, which has room for NUM_MAX_BYTES; returns the bytes used. */
static int
numeric_write(char *p, const ax_num *x)
{
	uint16		digit[12];		/* base 10000, least significant first */
	int			n = 0,
				low = 0,
				frac,
				weight,
				rest;
	uint16	   *out;
	bool		negative = x->v < 0;
	ax_u128		u = negative ? -(ax_u128) x->v : (ax_u128) x->v;
	int			header;

	if (x->special != AX_NUM_FINITE)
	{
		out = (uint16 *) (p + VARHDRSZ);
		out[0] = x->special == AX_NUM_NAN ? NUM_NAN :
			x->special == AX_NUM_PINF ? NUM_PINF : NUM_NINF;
		SET_VARSIZE(p, VARHDRSZ + 2);
		return VARHDRSZ + 2;
	}

	/* The lowest group holds what dscale leaves over a multiple of four. */
	rest = x->dscale % 4;
	frac = (x->dscale + 3) / 4;
	if (rest && u)
	{
		static const uint16 pow10[4] = {1, 10, 100, 1000};

		digit[n++] = (uint16) (u % pow10[rest]) * pow10[4 - rest];
		u /= pow10[rest];
	}
	while (u > PG_UINT64_MAX)
	{
		digit[n++] = (uint16) (u % 10000);
		u /= 10000;
	}
	for (uint64 v = (uint64) u; v > 0; v /= 10000)
		digit[n++] = (uint16) (v % 10000);
	while (n > 0 && digit[n - 1] == 0)
		n--;
	weight = n - frac - 1;
	while (low < n && digit[low] == 0)
		low++;
	if (n == low)
	{
		weight = 0;
		negative = false;
	}

	out = (uint16 *) (p + VARHDRSZ);
	if (x->dscale <= 0x3f && weight >= -0x40 && weight <= 0x3f)
	{
		out[0] = (uint16) (NUM_SHORT | (negative ? NUM_SHORT_NEG : 0) | (x->dscale << 7) |
						   (weight & 0x7f));
		header = 1;
	}
	else
	{
		out[0] = (uint16) ((negative ? NUM_LONG_NEG : 0) | x->dscale);
		out[1] = (uint16) (int16) weight;
		header = 2;
	}
	for (int i = n - 1; i >= low; i--)
		out[header++] = digit[i];
	SET_VARSIZE(p, VARHDRSZ + 2 * header);
	return VARHDRSZ + 2 * header;
}

/* Reads the text form of a numeric; false: more digits than the engine has. */
static bool
numeric_read(const char *s, ax_num *out)
{
	bool		negative = false,
				point = false;
	ax_u128		v = 0;
	const ax_u128 limit = (ax_u128) UINT64CONST(10000000000000000000) *
		(ax_u128) UINT64CONST(1000000000000000000); /* 10^37 */

	memset(out, 0, sizeof(*out));
	if (strcmp(s, "NaN") == 0 || strcmp(s, "Infinity") == 0 || strcmp(s, "-Infinity") == 0)
	{
		out->special = s[0] == 'N' ? AX_NUM_NAN : s[0] == 'I' ? AX_NUM_PINF : AX_NUM_NINF;
		return true;
	}
	if (*s == '-')
	{
		negative = true;
		s++;
	}
	for (; *s; s++)
	{
		if (*s == '.')
		{
			point = true;
			continue;
		}
		if (v >= limit)
			return false;
		v = v * 10 + (ax_u128) (*s - '0');
		if (point)
			out->dscale++;
	}
	out->v = negative ? -(ax_i128) v : (ax_i128) v;
	return true;
}

/* ---- Datum to value ------------------------------------------------------------ */

/*
 * A Datum of type typid as a value of the engine's type.  Strings are
 * allocated in CurrentMemoryContext.  false: the engine has no such value.
 */
bool
afdw_value(Datum datum, bool isnull, Oid typid, ax_type type, ax_value *out)
{
	memset(out, 0, sizeof(*out));
	out->type = type;
	out->null = isnull;
	if (isnull)
		return true;
	if (type.id == AX_T_TEXT && type_is_enum(getBaseType(typid)))
	{
		const char *label = DatumGetCString(DirectFunctionCall1(enum_out, datum));

		out->u.s.p = (const uint8_t *) label;
		out->u.s.len = (uint32_t) strlen(label);
		return true;
	}
	switch ((ax_type_id) type.id)
	{
		case AX_T_BOOL:
			out->u.i = DatumGetBool(datum);
			return true;
		case AX_T_INT2:
			out->u.i = DatumGetInt16(datum);
			return true;
		case AX_T_INT4:
			out->u.i = DatumGetInt32(datum);
			return true;
		case AX_T_DATE:
			out->u.i = DatumGetDateADT(datum);
			return true;
		case AX_T_INT8:
		case AX_T_TIME:
		case AX_T_TIMESTAMP:
		case AX_T_TIMESTAMPTZ:
			out->u.i = DatumGetInt64(datum);
			return true;
		case AX_T_FLOAT4:
			out->u.f = DatumGetFloat4(datum);
			return true;
		case AX_T_FLOAT8:
			out->u.f = DatumGetFloat8(datum);
			return true;
		case AX_T_NUMERIC:
			return numeric_read(DatumGetCString(DirectFunctionCall1(numeric_out, datum)),
								&out->u.num);
		case AX_T_DIGITS:
			{
				const char *s = DatumGetCString(DirectFunctionCall1(numeric_out, datum));

				out->u.s.p = (const uint8_t *) s;
				out->u.s.len = (uint32_t) strlen(s);
				return true;
			}
		case AX_T_INTERVAL:
			{
				Interval   *iv = DatumGetIntervalP(datum);

				out->u.iv.usec = iv->time;
				out->u.iv.days = iv->day;
				out->u.iv.months = iv->month;
				return true;
			}
		case AX_T_UUID:
			memcpy(out->u.fix, DatumGetUUIDP(datum)->data, UUID_LEN);
			return true;
		case AX_T_TEXT:
		case AX_T_BPCHAR:
		case AX_T_BYTEA:
			{
				struct varlena *v = PG_DETOAST_DATUM_PACKED(datum);

				out->u.s.p = (const uint8_t *) VARDATA_ANY(v);
				out->u.s.len = (uint32_t) VARSIZE_ANY_EXHDR(v);
				return true;
			}
		default:
			return false;
	}
}

/* ---- batch to Datums -------------------------------------------------------------- */

typedef struct AfdwOutColumn
{
	uint32		batchcol;
	ax_type		type;
	Oid			typid;
	int32		typmod;
	bool		input;			/* text goes through the type's input function */
	bool		recode;			/* text must be converted to the database's encoding */
	int			max_bytes;		/* strings not longer than this need no coerce; -1: always */
	FmgrInfo	in;
	Oid			ioparam;
	bool		timetz;			/* a time gets the zone UTC */
	bool		coerce;			/* apply the type's length coercion */
	FmgrInfo	coercefn;
	bool		domain;			/* check the domain's constraints */
	bool		lazy;			/* may raise: converted when the row is wanted */
	void	   *domain_extra;
	Datum	   *value;			/* [AX_BATCH_ROWS] */
	bool	   *null;
	uint64		dict_uid;		/* dictionary whose values are in dict_value */
	Datum	   *dict_value;
	bool	   *dict_done;
	MemoryContext dict_cxt;
	AfdwRecord *record;			/* a composite type or an array of one, or NULL */
	bool		pad;			/* lists in an array may have different lengths */
	struct AfdwOutColumn *elem; /* of an array, or NULL */
	int16		elem_len;
	bool		elem_byval;
	char		elem_align;
} AfdwOutColumn;

struct AfdwOut
{
	int			n;
	AfdwOutColumn *col;
	MemoryContext cxt;			/* of this struct */
	MemoryContext batch_cxt;	/* values of the current batch */
	MemoryContext elem_cxt;		/* elements of the current array, or NULL */
	const ax_batch *batch;
};

/* How a value of the engine's type becomes one of typid. */
static void
column_init(AfdwOutColumn *c, ax_type type, Oid typid, int32 typmod)
{
	Oid			base;
	Oid			fn;
	const char *obstacle;
	ax_type		wanted;

	c->type = type;
	c->typid = typid;
	c->typmod = typmod;
	base = getBaseTypeAndTypmod(typid, &c->typmod);
	c->domain = typid != base && DomainHasConstraints(typid);
	(void) afdw_type(typid, typmod, InvalidOid, &wanted, &obstacle);
	if (wanted.nested && wanted.id == AX_T_TEXT)
	{
		c->record = afdw_record_create(base);
		c->lazy = true;
		return;
	}
	if (wanted.id == AX_T_LIST)
	{
		Oid			elemtype = get_element_type(base);

		/* of a domain over an array, elements have the domain's typmod */
		c->elem = palloc0(sizeof(AfdwOutColumn));
		column_init(c->elem, type.nested ? type.nested->type[0] : wanted.nested->type[0], elemtype,
					c->typmod);
		get_typlenbyvalalign(elemtype, &c->elem_len, &c->elem_byval, &c->elem_align);
		c->lazy = true;
		return;
	}
	c->input = type.id == AX_T_DIGITS ||
		(wanted.id == AX_T_TEXT && base != TEXTOID && base != VARCHAROID && base != BPCHAROID);
	c->recode = c->type.phys == AX_P_STR && c->type.id != AX_T_BYTEA &&
		GetDatabaseEncoding() != PG_UTF8;
	if (c->input)
	{
		getTypeInputInfo(base, &fn, &c->ioparam);
		fmgr_info(fn, &c->in);
	}
	else if (c->typmod >= 0 && base != NUMERICOID &&
			 find_typmod_coercion_function(base, &fn) == COERCION_PATH_FUNC)
	{
		c->coerce = true;
		fmgr_info(fn, &c->coercefn);
		c->max_bytes = base == VARCHAROID ? c->typmod - VARHDRSZ : -1;
	}
	c->timetz = base == TIMETZOID;
	c->lazy = c->input || c->coerce || c->domain || c->recode || c->timetz;
}

/*
 * exprs: what each column is for PostgreSQL; batchcol, types: where and what
 * it is in batches; pad_arrays: arrays get nulls where lists are too short.
 */
AfdwOut *
afdw_out_create(List *exprs, const uint32 *batchcol, const ax_type *types, bool pad_arrays)
{
	AfdwOut    *out = palloc0(sizeof(AfdwOut));
	ListCell   *lc;
	int			i = 0;

	out->n = list_length(exprs);
	out->cxt = CurrentMemoryContext;
	out->batch_cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw batch",
										   ALLOCSET_DEFAULT_SIZES);
	out->col = palloc0(sizeof(AfdwOutColumn) * Max(out->n, 1));
	foreach(lc, exprs)
	{
		AfdwOutColumn *c = &out->col[i];

		c->batchcol = batchcol[i];
		column_init(c, types[i], exprType(lfirst(lc)), exprTypmod(lfirst(lc)));
		c->pad = pad_arrays;
		if (c->elem && out->elem_cxt == NULL)
			out->elem_cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw array",
												  ALLOCSET_DEFAULT_SIZES);
		c->value = palloc(sizeof(Datum) * AX_BATCH_ROWS);
		c->null = palloc(sizeof(bool) * AX_BATCH_ROWS);
		i++;
	}
	return out;
}

void
afdw_out_end(AfdwOut *out)
{
	for (int i = 0; i < out->n; i++)
		if (out->col[i].dict_cxt)
			MemoryContextDelete(out->col[i].dict_cxt);
	if (out->elem_cxt)
		MemoryContextDelete(out->elem_cxt);
	MemoryContextDelete(out->batch_cxt);
}

/* Bytes of the engine to a Datum, in CurrentMemoryContext. */
static Datum
string_datum(AfdwOutColumn *c, const uint8_t *p, uint32 len)
{
	Datum		d;

	if (c->record)
		return afdw_record_datum(c->record, (const char *) p, (int) len);
	if (c->input)
	{
		char	   *s = pnstrdup((const char *) p, len);

		if (c->recode)
			s = pg_any_to_server(s, len, PG_UTF8);
		return InputFunctionCall(&c->in, s, c->ioparam, c->typmod);
	}
	if (c->recode)
	{
		char	   *s = pnstrdup((const char *) p, len);

		d = CStringGetTextDatum(pg_any_to_server(s, len, PG_UTF8));
		len = (uint32) VARSIZE_ANY_EXHDR(DatumGetPointer(d));
	}
	else
		d = PointerGetDatum(cstring_to_text_with_len((const char *) p, (int) len));
	if (c->coerce && (c->max_bytes < 0 || len > (uint32) c->max_bytes))
		d = FunctionCall3(&c->coercefn, d, Int32GetDatum(c->typmod), BoolGetDatum(false));
	return d;
}

/* Strings that need nothing but a header: one allocation for all rows. */
static void
plain_strings(AfdwOutColumn *c, const ax_vec *v, const uint16_t *sel, int n)
{
	Size		total = 0;
	char	   *p;

	for (int i = 0; i < n; i++)
	{
		uint32		len = 0;

		if (!c->null[i])
			(void) ax_vec_str(v, sel ? sel[i] : (uint32) i, &len);
		total += INTALIGN(VARHDRSZ + (Size) len);
	}
	p = MemoryContextAllocHuge(CurrentMemoryContext, Max(total, 1));
	for (int i = 0; i < n; i++)
	{
		uint32		len;
		const uint8_t *s;

		if (c->null[i])
			continue;
		s = ax_vec_str(v, sel ? sel[i] : (uint32) i, &len);
		SET_VARSIZE(p, VARHDRSZ + len);
		memcpy(p + VARHDRSZ, s, len);
		c->value[i] = PointerGetDatum(p);
		p += INTALIGN(VARHDRSZ + (Size) len);
	}
}

/* The cached Datum of a dictionary's value. */
static Datum
dictionary_datum(AfdwOut *out, AfdwOutColumn *c, ax_dict *dict, uint32 id)
{
	MemoryContext old;

	if (c->dict_cxt == NULL || c->dict_uid != dict->uid)
	{
		if (c->dict_cxt == NULL)
			c->dict_cxt = AllocSetContextCreate(out->cxt, "analytics_fdw dictionary",
												ALLOCSET_DEFAULT_SIZES);
		else
			MemoryContextReset(c->dict_cxt);
		c->dict_value = MemoryContextAllocHuge(c->dict_cxt, sizeof(Datum) * Max(dict->n, 1));
		c->dict_done = MemoryContextAllocHuge(c->dict_cxt, Max(dict->n, 1));
		memset(c->dict_done, 0, dict->n);
		c->dict_uid = dict->uid;
	}
	if (!c->dict_done[id])
	{
		uint32		len;
		const uint8_t *s = ax_vec_str(&dict->val, id, &len);

		old = MemoryContextSwitchTo(c->dict_cxt);
		c->dict_value[id] = string_datum(c, s, len);
		c->dict_done[id] = true;
		MemoryContextSwitchTo(old);
	}
	return c->dict_value[id];
}

/* String of one physical row of any vector. */
static Datum
string_row(AfdwOut *out, AfdwOutColumn *c, const ax_vec *v, uint32 row)
{
	ax_value	x;

	if (v->kind == AX_VK_DICT)
		return dictionary_datum(out, c, v->u.dict.dict, v->u.dict.id[row]);
	x = ax_vec_value(v, row);
	return string_datum(c, x.u.s.p, x.u.s.len);
}

static void
strings(AfdwOut *out, AfdwOutColumn *c, const ax_vec *v, const uint16_t *sel, int n)
{
	if (v->kind == AX_VK_CONST)
	{
		Datum		d = (Datum) 0;

		if (n > 0 && !c->null[0])
			d = string_row(out, c, v, 0);
		for (int i = 0; i < n; i++)
			c->value[i] = d;
	}
	else if (v->kind == AX_VK_FLAT || v->kind == AX_VK_VIEW)
		plain_strings(c, v, sel, n);
	else
		for (int i = 0; i < n; i++)
			if (!c->null[i])
				c->value[i] = string_row(out, c, v, sel ? sel[i] : (uint32) i);
}

/* One fixed-width value in the engine's memory form. */
Datum
afdw_datum(ax_type_id id, const ax_value *x)
{
	switch (id)
	{
		case AX_T_BOOL:
			return BoolGetDatum(x->u.i != 0);
		case AX_T_INT2:
			return Int16GetDatum((int16) x->u.i);
		case AX_T_INT4:
			return Int32GetDatum((int32) x->u.i);
		case AX_T_DATE:
			return DateADTGetDatum((DateADT) x->u.i);
		case AX_T_INT8:
		case AX_T_TIME:
		case AX_T_TIMESTAMP:
		case AX_T_TIMESTAMPTZ:
			return Int64GetDatum(x->u.i);
		case AX_T_FLOAT4:
			return Float4GetDatum((float4) x->u.f);
		case AX_T_FLOAT8:
			return Float8GetDatum(x->u.f);
		case AX_T_NUMERIC:
			{
				char	   *p;

				if (x->u.num.special == AX_NUM_WIDE)
					return numeric_wide(&x->u.num);
				p = palloc(NUM_MAX_BYTES);
				(void) numeric_write(p, &x->u.num);
				return PointerGetDatum(p);
			}
		case AX_T_INTERVAL:
			{
				Interval   *iv = palloc(sizeof(Interval));

				iv->time = x->u.iv.usec;
				iv->day = x->u.iv.days;
				iv->month = x->u.iv.months;
				return IntervalPGetDatum(iv);
			}
		case AX_T_UUID:
			{
				pg_uuid_t  *u = palloc(sizeof(pg_uuid_t));

				memcpy(u->data, x->u.fix, UUID_LEN);
				return UUIDPGetDatum(u);
			}
		default:
			elog(ERROR, "analytics_fdw: unexpected type %d in a result", (int) id);
			return (Datum) 0;
	}
}

#define FLAT_LOOP(ctype, datum) \
	do \
	{ \
		const ctype *src = (const ctype *) v->u.data; \
		if (sel) \
			for (int i = 0; i < n; i++) \
				c->value[i] = datum(src[sel[i]]); \
		else \
			for (int i = 0; i < n; i++) \
				c->value[i] = datum(src[i]); \
	} while (0)

/* Fixed-width types of the vector kinds that results usually have; false: not this one. */
static bool
flat(AfdwOutColumn *c, const ax_vec *v, const uint16_t *sel, int n)
{
	if (v->kind != AX_VK_FLAT)
		return false;
	switch ((ax_type_id) c->type.id)
	{
		case AX_T_BOOL:
			FLAT_LOOP(uint8, BoolGetDatum);
			return true;
		case AX_T_INT2:
			FLAT_LOOP(int16, Int16GetDatum);
			return true;
		case AX_T_INT4:
		case AX_T_DATE:
			FLAT_LOOP(int32, Int32GetDatum);
			return true;
		case AX_T_INT8:
		case AX_T_TIME:
		case AX_T_TIMESTAMP:
		case AX_T_TIMESTAMPTZ:
			FLAT_LOOP(int64, Int64GetDatum);
			return true;
		case AX_T_FLOAT4:
			FLAT_LOOP(float4, Float4GetDatum);
			return true;
		case AX_T_FLOAT8:
			FLAT_LOOP(float8, Float8GetDatum);
			return true;
		case AX_T_NUMERIC:
			{
				const ax_num *src = (const ax_num *) v->u.data;
				char	   *p = palloc((Size) NUM_MAX_BYTES * Max(n, 1));

				for (int i = 0; i < n; i++)
				{
					const ax_num *x = &src[sel ? sel[i] : i];

					if (c->null[i])
						continue;
					if (x->special == AX_NUM_WIDE)
					{
						c->value[i] = numeric_wide(x);
						continue;
					}
					c->value[i] = PointerGetDatum(p);
					p += INTALIGN(numeric_write(p, x));
				}
				return true;
			}
		default:
			return false;
	}
}

static void
fixed(AfdwOut *out, AfdwOutColumn *c, const ax_vec *v, const uint16_t *sel, int n)
{
	if (flat(c, v, sel, n))
		return;
	if (v->kind == AX_VK_CONST && n > 0)
	{
		ax_value	x = ax_vec_value(v, 0);
		Datum		d = x.null ? (Datum) 0 : afdw_datum(c->type.id, &x);

		for (int i = 0; i < n; i++)
			c->value[i] = d;
		return;
	}
	for (int i = 0; i < n; i++)
	{
		ax_value	x;

		if (c->null[i])
			continue;
		x = ax_vec_value(v, sel ? sel[i] : (uint32) i);
		c->value[i] = afdw_datum(c->type.id, &x);
	}
}

/* Converts the selected rows of a batch; forgets the values of the batch before. */
void
afdw_out_batch(AfdwOut *out, const ax_batch *batch)
{
	MemoryContext old;
	int			n = (int) batch->nsel;

	MemoryContextReset(out->batch_cxt);
	old = MemoryContextSwitchTo(out->batch_cxt);
	out->batch = batch;
	for (int k = 0; k < out->n; k++)
	{
		AfdwOutColumn *c = &out->col[k];
		const ax_vec *v = &batch->col[c->batchcol];
		const uint16_t *sel = batch->sel;

		Assert(v->type.id == c->type.id);
		if (v->null == NULL)
			memset(c->null, 0, n);
		else if (v->kind == AX_VK_CONST)
			memset(c->null, v->null[0] != 0, n);
		else
			for (int i = 0; i < n; i++)
				c->null[i] = v->null[sel ? sel[i] : i] != 0;

		if (c->lazy)
			continue;
		if (c->type.phys == AX_P_STR)
			strings(out, c, v, sel, n);
		else
			fixed(out, c, v, sel, n);
	}
	MemoryContextSwitchTo(old);
}

/* One fixed-width value of the engine as a value of the column's type. */
static Datum
fixed_datum(AfdwOutColumn *c, const ax_value *x)
{
	Datum		d;

	if (c->timetz)
	{
		TimeTzADT  *t = palloc(sizeof(TimeTzADT));

		t->time = x->u.i;
		t->zone = 0;
		d = TimeTzADTPGetDatum(t);
	}
	else
		d = afdw_datum(c->type.id, x);
	if (c->coerce)
		d = FunctionCall3(&c->coercefn, d, Int32GetDatum(c->typmod), BoolGetDatum(false));
	return d;
}

/* Row i of a vector of lists. */
static Datum
array_datum(AfdwOut *out, AfdwOutColumn *c, const ax_vec *v, uint32 i)
{
	AfdwOutColumn *e = c->elem;
	const ax_vec *child = v->u.list.child;
	int			dims[MAXDIM];
	int			lower[MAXDIM];
	int			ndims = afdw_list_dims(v, i, c->pad, dims);
	int			n = ArrayGetNItems(ndims, dims);
	Oid			elemtype = get_element_type(getBaseType(c->typid));
	Datum	   *values;
	bool	   *nulls;
	int64	   *place;
	ArrayType  *array;
	MemoryContext old;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(elemtype));
	while (child->kind == AX_VK_LIST)
		child = child->u.list.child;
	MemoryContextReset(out->elem_cxt);
	old = MemoryContextSwitchTo(out->elem_cxt);
	values = MemoryContextAllocHuge(out->elem_cxt, sizeof(Datum) * n);
	nulls = MemoryContextAllocHuge(out->elem_cxt, sizeof(bool) * n);
	place = MemoryContextAllocHuge(out->elem_cxt, sizeof(int64) * n);
	afdw_list_places(v, i, ndims, dims, place);
	for (int d = 0; d < ndims; d++)
		lower[d] = 1;
	for (int k = 0; k < n; k++)
	{
		ax_value	x;

		values[k] = (Datum) 0;
		nulls[k] = place[k] < 0;
		if (!nulls[k])
		{
			x = ax_vec_value(child, (uint32) place[k]);
			nulls[k] = x.null;
		}
		if (!nulls[k] && e->type.phys == AX_P_STR)
			values[k] = string_datum(e, x.u.s.p, x.u.s.len);
		else if (!nulls[k])
			values[k] = fixed_datum(e, &x);
		if (e->domain)
			domain_check(values[k], nulls[k], e->typid, &e->domain_extra, out->cxt);
	}
	MemoryContextSwitchTo(old);
	array = construct_md_array(values, nulls, ndims, dims, lower, elemtype, c->elem_len,
							   c->elem_byval, c->elem_align);
	return PointerGetDatum(array);
}

/* A value whose conversion may fail: only the row that is wanted may raise. */
static Datum
lazy_datum(AfdwOut *out, AfdwOutColumn *c, int row)
{
	const ax_batch *batch = out->batch;
	const ax_vec *v = &batch->col[c->batchcol];
	uint32		i = batch->sel ? batch->sel[row] : (uint32) row;
	MemoryContext old = MemoryContextSwitchTo(out->batch_cxt);
	Datum		d = (Datum) 0;

	if (!c->null[row])
	{
		if (c->elem)
			d = array_datum(out, c, v, i);
		else if (c->type.phys == AX_P_STR)
			d = string_row(out, c, v, i);
		else
		{
			ax_value	x = ax_vec_value(v, i);

			d = fixed_datum(c, &x);
		}
	}
	if (c->domain)
		domain_check(d, c->null[row], c->typid, &c->domain_extra, out->cxt);
	MemoryContextSwitchTo(old);
	return d;
}

/* Row `row` of the converted batch: column k goes to position target[k]. */
void
afdw_out_row(AfdwOut *out, int row, Datum *values, bool *isnull, const AttrNumber *target)
{
	for (int k = 0; k < out->n; k++)
	{
		AfdwOutColumn *c = &out->col[k];

		values[target[k]] = c->lazy ? lazy_datum(out, c, row) : c->value[row];
		isnull[target[k]] = c->null[row];
	}
}
