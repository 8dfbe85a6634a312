/*-------------------------------------------------------------------------
 *
 * order.c
 *		The order in which files are stored: options `sorted`,
 *		`files_in_order` and `check_sorted`, and what files say of it.
 *
 * A declaration is believed but checked twice.  Minimum and maximum of each
 * row group must not contradict it, before the first row; and no row may come
 * before the one that was delivered last, while rows are delivered.  Either is
 * an error.  What a LIMIT leaves unread is not looked at.
 *
 * Several files are one ordered sequence when they are declared to be, or when
 * their bounds prove it; else they are merged.  If a plan counts on what files
 * of today do not give, the engine sorts.
 *
 * Formats whose files tell their order themselves need no declaration.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"

#include "afdw.h"

#define CHECK_FILES 32
#define MERGE_FILES 64

/* What the files say themselves, if all of them are open and say the same. */
static List *
keys_of_files(const AfdwTable *table, Index varno)
{
	ax_sort_key_claim claim[16];
	uint32		n = ax_source_order(table->source, claim, lengthof(claim));
	List	   *keys = NIL;

	for (uint32 i = 0; i < n; i++)
	{
		const AfdwColumn *col = &table->col[claim[i].field];

		keys = lappend(keys, list_make3(makeVar(varno, col->attnum, col->typid, col->typmod,
												col->collation, 0),
										makeInteger(claim[i].desc ? 1 : 0),
										makeInteger(claim[i].nulls_first ? 1 : 0)));
	}
	return keys;
}

/* Declared keys, or those of the files, as sort keys over columns of relation varno. */
List *
afdw_order_keys(const AfdwTable *table, Index varno)
{
	List	   *keys = NIL;
	ListCell   *lc;

	if (table->opts.final)
		return NIL;				/* rows come in another order */
	if (table->opts.sorted == NIL)
		return keys_of_files(table, varno);
	foreach(lc, table->opts.sorted)
	{
		List	   *key = lfirst(lc);
		const char *name = strVal(linitial(key));
		const AfdwColumn *col = NULL;

		for (int i = 0; i < table->ncols && col == NULL; i++)
			if (strcmp(get_attname(table->relid, table->col[i].attnum, false), name) == 0)
				col = &table->col[i];
		if (col == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of option \"sorted\" does not exist in foreign table "
							"\"%s\"", name, get_rel_name(table->relid))));
		keys = lappend(keys, list_make3(makeVar(varno, col->attnum, col->typid, col->typmod,
												col->collation, 0),
										lsecond(key), lthird(key)));
	}
	return keys;
}

/* ---- row groups ---------------------------------------------------------------- */

typedef enum GroupOrder
{
	BEFORE,						/* all rows of the first are less, or equal in the last key */
	TOUCHING,					/* or equal in this key */
	UNKNOWN,
	VIOLATED
} GroupOrder;

/* The key's bounds of one row group. */
typedef struct OrderedGroup
{
	ax_bounds	b;
	uint32		file,
				split;
} OrderedGroup;

static GroupOrder
compare_groups(const OrderedGroup *p, const OrderedGroup *q, bool desc, bool nulls_first)
{
	const ax_bounds *a = &p->b,
			   *b = &q->b;
	bool		a_null,
				b_null;
	const ax_value *last,
			   *first;
	int			cmp;

	if (a->rows < 0 || b->rows < 0 || a->nulls < 0 || b->nulls < 0)
		return UNKNOWN;
	a_null = a->nulls > 0 && (!nulls_first || a->nulls == a->rows);
	b_null = b->nulls > 0 && (nulls_first || b->nulls == b->rows);
	if (a_null && b_null)
		return TOUCHING;
	if (a_null)
		return nulls_first ? BEFORE : VIOLATED;
	if (b_null)
		return nulls_first ? VIOLATED : BEFORE;
	if (desc ? !a->has_min || !b->has_max : !a->has_max || !b->has_min)
		return UNKNOWN;
	last = desc ? &a->min : &a->max;
	first = desc ? &b->max : &b->min;
	cmp = ax_value_cmp(last, first);
	if (desc)
		cmp = -cmp;
	if (cmp <= 0)
		return cmp < 0 ? BEFORE : TOUCHING;
	/* Those of strings may be cut off; numbers are what occurs. */
	if (last->type.phys == AX_P_STR &&
		!(desc ? a->min_exact && b->max_exact : a->max_exact && b->min_exact))
		return UNKNOWN;
	return VIOLATED;
}

/* Has a row group one value only? */
static bool
is_constant(const ax_bounds *b)
{
	return b->nulls == b->rows || (b->nulls == 0 && b->has_min && b->has_max &&
								   ax_value_cmp(&b->min, &b->max) == 0);
}

/*
 * The same for all keys: one with a single value in both groups leaves it to
 * the next.  *column: where they differ.  Never TOUCHING.
 */
static GroupOrder
compare_all(const AfdwTable *table, const OrderedGroup *p, const OrderedGroup *q, List *keys,
			AttrNumber *column)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		List	   *key = lfirst(lc);
		uint32		col;
		OrderedGroup a = *p,
					b = *q;
		GroupOrder	r;

		*column = ((Var *) afdw_sort_expr(key))->varattno;
		col = (uint32) table->ord[*column];
		(void) ax_source_split_bounds(table->source, p->file, p->split, col, &a.b);
		(void) ax_source_split_bounds(table->source, q->file, q->split, col, &b.b);
		r = compare_groups(&a, &b, afdw_sort_desc(key), afdw_sort_nulls_first(key));
		if (r != TOUCHING)
			return r;
		if (lnext(keys, lc) && !(is_constant(&a.b) && is_constant(&b.b)))
			return UNKNOWN;
	}
	return BEFORE;
}

static void
violated(const AfdwTable *table, const OrderedGroup *p, const OrderedGroup *q, const char *column)
{
	const char *file = ax_source_file_path(table->source, q->file);

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("foreign table \"%s\" is not sorted by column \"%s\" as its options say",
					get_rel_name(table->relid), column),
			 p->file == q->file ?
			 errdetail("Row group %u has values that belong before those of row group %u.",
					   q->split, p->split) :
			 errdetail("The file has values that belong before those of file \"%s\".",
					   ax_source_file_path(table->source, p->file)),
			 errcontext("file \"%s\"", file)));
}

/*
 * Do the rows of the table come in the order of these keys when files and row
 * groups are read one after the other?  keys: a prefix of the declared ones.
 */
bool
afdw_order_is_stored(const AfdwTable *table, List *keys)
{
	Var		   *var = (Var *) afdw_sort_expr((List *) linitial(keys));
	uint32		files = ax_source_files(table->source);
	uint32		col = (uint32) table->ord[var->varattno];
	AttrNumber	column = 0;
	bool		alone = files <= 1 || table->opts.files_in_order;
	bool		have = false;
	OrderedGroup		last;

	if (!table->opts.check_sorted)
		return alone;
	for (uint32 f = 0; f < files; f++)
	{
		const ax_fmt_file *file = ax_source_file(table->source, f);

		if (file == NULL && !alone)
			return false;		/* not opened: nothing is proved */
		if (file == NULL)
			have = false;
		for (uint32 split = 0; file && split < file->nsplits; split++)
		{
			OrderedGroup		now;
			bool		inside = have && last.file == f;
			GroupOrder	r = UNKNOWN;

			now.file = f;
			now.split = split;
			(void) ax_source_split_bounds(table->source, f, split, col, &now.b);
			if (now.b.rows == 0)
				continue;
			if (have)
				r = compare_all(table, &last, &now, keys, &column);
			if (have && r == VIOLATED && (inside || table->opts.files_in_order))
				violated(table, &last, &now, get_attname(table->relid, column, false));
			if (have && !inside && !alone && r != BEFORE)
				return false;
			last = now;
			have = true;
		}
	}
	return true;
}

/*
 * Can files, each in the order of `keys`, be merged into the order of `wanted`?
 * Each takes memory while they are merged, so they must not be many.
 */
bool
afdw_order_merges(const AfdwTable *table, List *keys, List *wanted)
{
	if (!afdw_enable_ordered_merge || ax_source_files(table->source) > MERGE_FILES ||
		list_length(wanted) > list_length(keys))
		return false;
	for (int i = 0; i < list_length(wanted); i++)
		if (!equal(list_nth(wanted, i), list_nth(keys, i)))
			return false;
	return true;
}

/*
 * Opens what afdw_order_is_stored looks at.  Many files that are declared to be
 * in order are not opened for the sake of a check.
 */
void
afdw_order_open_files(AfdwTable *table)
{
	if (table->opts.check_sorted &&
		(!table->opts.files_in_order || ax_source_files(table->source) <= CHECK_FILES))
		afdw_query_end(afdw_query_open(table->source, &table->opts));
}

/* ---- rows ---------------------------------------------------------------------- */

/*
 * The last row that was delivered, by its key columns.  Strings are copied at
 * the end of each batch.
 */
struct AfdwOrderCheck
{
	const AfdwTable *table;
	List	   *keys;
	int			n;
	const uint32 *col;			/* [n] in batches */
	ax_value   *last;			/* [n] */
	char	  **room;			/* [n] for strings of last */
	uint32	   *room_len;		/* [n] */
	bool		have;
};

AfdwOrderCheck *
afdw_order_check_create(const AfdwTable *table, List *keys, const uint32 *col)
{
	AfdwOrderCheck *c = palloc0(sizeof(AfdwOrderCheck));

	c->table = table;
	c->keys = keys;
	c->n = list_length(keys);
	c->col = col;
	c->last = (ax_value *) TYPEALIGN(16, palloc0(sizeof(ax_value) * c->n + 16));
	c->room = palloc0(sizeof(char *) * c->n);
	c->room_len = palloc0(sizeof(uint32) * c->n);
	return c;
}

void
afdw_order_check_reset(AfdwOrderCheck *c)
{
	c->have = false;
}

/* <0, 0, >0 in the order of the key. */
static int
compare_key(const ax_value *a, const ax_value *b, List *key)
{
	int			cmp;

	if (a->null || b->null)
		return a->null == b->null ? 0 : (a->null == afdw_sort_nulls_first(key)) ? -1 : 1;
	cmp = ax_value_cmp(a, b);
	return afdw_sort_desc(key) ? -cmp : cmp;
}

static void
keep_string(AfdwOrderCheck *c, int k)
{
	ax_value   *v = &c->last[k];

	if (v->null || v->type.phys != AX_P_STR)
		return;
	if (v->u.s.len > c->room_len[k])
	{
		c->room_len[k] = v->u.s.len * 2;
		c->room[k] = c->room[k] ? repalloc(c->room[k], c->room_len[k]) :
			MemoryContextAlloc(GetMemoryChunkContext(c), c->room_len[k]);
	}
	if (v->u.s.len > 0)
		memmove(c->room[k], v->u.s.p, v->u.s.len);
	v->u.s.p = (const uint8_t *) c->room[k];
}

void
afdw_order_check_batch(AfdwOrderCheck *c, const ax_batch *batch)
{
	for (uint32 i = 0; i < batch->nsel; i++)
	{
		uint32		r = batch->sel ? batch->sel[i] : i;
		int			cmp = c->have ? 0 : -1;
		ListCell   *lc;
		int			k = 0;

		foreach(lc, c->keys)
		{
			ax_value	v = ax_vec_value(&batch->col[c->col[k]], r);

			if (cmp == 0)
				cmp = compare_key(&c->last[k], &v, lfirst(lc));
			c->last[k++] = v;
		}
		c->have = true;
		if (cmp > 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("foreign table \"%s\" is not sorted as its options say",
							get_rel_name(c->table->relid)),
					 errdetail("A row comes after rows that it belongs before."),
					 errhint("Correct or drop the options \"sorted\" and \"files_in_order\".")));
	}
	for (int k = 0; k < c->n && c->have; k++)
		keep_string(c, k);
}
