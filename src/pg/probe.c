/*-------------------------------------------------------------------------
 *
 * probe.c
 *		What a foreign table's files say that its columns depend on, before the
 *		engine gets to know the columns.
 *
 * The files are listed and opened by a source of their own, without columns;
 * opening them again costs little, since the engine keeps what it has read of
 * them.  Only tables that need it pay.  What cannot be listed or opened is
 * reported by whoever opens the table after this.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "afdw.h"

#define PROBE_ALL		32		/* so many files are all looked at */
#define PROBE_SAMPLE	16		/* of more than that */

/* Calls look for each file that is open. */
static void
probe(const ax_source_spec *spec, const AfdwOptions *opts, bool all,
	  void (*look) (const ax_fmt_file *file, void *arg), void *arg)
{
	ax_source_spec bare = *spec;
	ax_source  *source;
	ax_error	err;

	bare.col = NULL;
	bare.ncols = 0;
	bare.merged = false;
	ax_error_clear(&err);
	if (ax_source_create(afdw_engine(), &bare, &source, &err) != AX_OK)
		afdw_ereport(&err);
	PG_TRY();
	{
		AfdwOpening opening = {.params = NULL};

		if (afdw_query_try_list(source, opts, &err))
		{
			uint32		n = ax_source_files(source);

			if (!all && n > PROBE_ALL)
				opening.open_files = PROBE_SAMPLE;
			(void) afdw_query_open_some(source, opts, &opening, &err);
			for (uint32 i = 0; i < n; i++)
				if (ax_source_file(source, i) != NULL)
					look(ax_source_file(source, i), arg);
		}
	}
	PG_FINALLY();
	{
		ax_source_destroy(source);
	}
	PG_END_TRY();
}

/* ---- zones of writers -------------------------------------------------------- */

typedef struct Zones
{
	ax_named_zone *zone;		/* [n], room for cap */
	uint32		n,
				cap;
} Zones;

static void
look_zone(const ax_fmt_file *file, void *arg)
{
	Zones	   *z = (Zones *) arg;
	const char *name = file->writer_zone;
	ax_value	v;

	if (name == NULL || !afdw_zone_known(name))
		return;
	for (uint32 i = 0; i < z->n; i++)
		if (strcmp(z->zone[i].name, name) == 0)
			return;
	if (z->n == z->cap)
	{
		z->cap = z->cap * 2;
		z->zone = repalloc(z->zone, sizeof(ax_named_zone) * z->cap);
	}
	afdw_zone_value(CStringGetTextDatum(name), false, &v);
	z->zone[z->n].name = pstrdup(name);
	z->zone[z->n].bytes = v.u.s.p;
	z->zone[z->n++].len = v.u.s.len;
}

/* The zones that files name, all of them, in CurrentMemoryContext. */
ax_named_zone *
afdw_probe_zones(const ax_source_spec *spec, const AfdwOptions *opts, uint32 *n)
{
	Zones		z = {.n = 0, .cap = 8};

	z.zone = palloc(sizeof(ax_named_zone) * z.cap);
	probe(spec, opts, true, look_zone, &z);
	*n = z.n;
	return z.zone;
}

/* ---- decimals ---------------------------------------------------------------- */

/* Has a field decimals that are longer than those the engine computes with? */
static bool
has_long(const ax_field *f)
{
	const ax_type *type = &f->type;

	while (type->id == AX_T_LIST && type->nested)
		type = &type->nested->type[0];
	if (type->id == AX_T_DIGITS)
		return true;
	for (uint32 i = 0; i < f->nchild; i++)
		if (has_long(&f->child[i]))
			return true;
	return false;
}

static void
look_long(const ax_fmt_file *file, void *arg)
{
	List	  **names = (List **) arg;

	for (uint32 i = 0; i < file->schema.n; i++)
		if (has_long(&file->schema.field[i]))
			*names = lappend(*names, pstrdup(file->schema.field[i].name));
}

/* Names of the fields that have such decimals, in the files or the first of many. */
List *
afdw_probe_long(const ax_source_spec *spec, const AfdwOptions *opts)
{
	List	   *names = NIL;

	probe(spec, opts, false, look_long, &names);
	return names;
}
