/*-------------------------------------------------------------------------
 *
 * source.c
 *		Foreign tables as sources of the engine.
 *
 * An AfdwTable is a definition (options, columns) with its files listed, and
 * opened as far as they are wanted (files.c).  Per backend the last one of each
 * relation is kept: what planning listed is what execution reads, and two scans
 * of one statement see the same files.
 *
 * A later statement plans with what is kept, as long as directories and some of
 * the opened files look as they did: a plan must be right whatever the files
 * are, since it may be executed later.  It executes with files as they are
 * then.  They are listed again, unless a look at each of them has told all that
 * a listing would; sizes of files that are not new are remembered, and footers
 * come from the engine's cache, which checks that the files are still the same.
 * (docs/decisions/0015-planning-with-a-kept-listing.md)
 *
 * References: one of the cache, one of each memory context that uses the
 * table (released by its reset callback).  Invalidation messages only mark an
 * entry; nothing is freed while somebody may read it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "afdw.h"

typedef struct AfdwEntry
{
	Oid			relid;			/* hash key */
	AfdwTable  *table;			/* counted reference, or NULL */
} AfdwEntry;

/* A reference of a memory context. */
typedef struct AfdwTableRef
{
	MemoryContextCallback callback;
	AfdwTable  *table;
	const void *owner;			/* lives no longer than the context; NULL: nobody */
} AfdwTableRef;

#define CHECK_OPEN_MAX 32		/* so many opened files planning looks at again */

static HTAB *cache = NULL;
static bool stale = false;		/* some entry may be invalid */
static bool any_nested = false; /* some table has, or had, columns of composite types */

/* ---- references ---------------------------------------------------------- */

static void
table_unref(AfdwTable *table)
{
	if (--table->refs > 0)
		return;
	/* At backend exit the engine goes first, and takes everything with it. */
	if (table->source && !afdw_engine_gone())
		ax_source_destroy(table->source);
	MemoryContextDelete(table->cxt);
}

static void
ref_callback(void *arg)
{
	AfdwTableRef *ref = (AfdwTableRef *) arg;

	/* another owner may get the same address */
	if (ref->owner && ref->table->owner == ref->owner)
		ref->table->owner = NULL;
	table_unref(ref->table);
}

static void
table_ref(AfdwTable *table, const void *owner)
{
	AfdwTableRef *ref = palloc0(sizeof(AfdwTableRef));

	ref->table = table;
	ref->owner = owner;
	ref->callback.func = ref_callback;
	ref->callback.arg = ref;
	table->refs++;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &ref->callback);
}

/* ---- invalidation -------------------------------------------------------- */

static void
relation_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS seq;
	AfdwEntry  *entry;

	if (cache == NULL)
		return;
	if (OidIsValid(relid))
	{
		entry = hash_search(cache, &relid, HASH_FIND, NULL);
		if (entry && entry->table)
		{
			entry->table->valid = false;
			stale = true;
		}
		if (entry || !any_nested)
			return;
	}
	/* what is not known may be the composite type of a column */
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
		if (entry->table && (!OidIsValid(relid) || entry->table->nested))
		{
			entry->table->valid = false;
			stale = true;
		}
}

/* Forgets what is invalid: nobody will ask for a dropped table again. */
static void
forget_invalid(void)
{
	HASH_SEQ_STATUS seq;
	AfdwEntry  *entry;

	if (!stale)
		return;
	stale = false;
	hash_seq_init(&seq, cache);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		AfdwTable  *table = entry->table;

		if (table && table->valid)
			continue;
		(void) hash_search(cache, &entry->relid, HASH_REMOVE, NULL);
		if (table)
			table_unref(table);
	}
}

static void
server_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	relation_changed(arg, InvalidOid);
}

void
afdw_source_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, server_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNTABLEREL, server_changed, (Datum) 0);
}

/* ---- definition ---------------------------------------------------------- */

/* `a.b."c.d"` as a list of names; one name when nothing is nested. */
const char **
afdw_name_path(const char *name, uint32 *n)
{
	const char **path = palloc(sizeof(char *) * (strlen(name) / 2 + 2));
	StringInfoData part;
	const char *p = name;

	*n = 0;
	initStringInfo(&part);
	for (;;)
	{
		if (*p == '"')
		{
			for (p++; *p && !(p[0] == '"' && p[1] != '"'); p++)
			{
				if (p[0] == '"')
					p++;
				appendStringInfoChar(&part, *p);
			}
			if (*p == '"')
				p++;
		}
		else if (*p == '.' || *p == '\0')
		{
			path[(*n)++] = pstrdup(part.data);
			resetStringInfo(&part);
			if (*p++ == '\0')
				break;
		}
		else
			appendStringInfoChar(&part, *p++);
	}
	return path;
}

/* A virtual column has the type of what it shows. */
static void
check_virtual(const AfdwColumn *col, ax_virtual virt)
{
	const char *want = NULL;

	switch (virt)
	{
		case AX_VIRT_PATH:
		case AX_VIRT_FILE:
			want = col->type.id == AX_T_TEXT ? NULL : "text";
			break;
		case AX_VIRT_SIZE:
		case AX_VIRT_ROW_NUMBER:
			want = col->type.id == AX_T_INT8 ? NULL : "bigint";
			break;
		case AX_VIRT_ROW_GROUP:
			want = col->type.id == AX_T_INT4 ? NULL : "integer";
			break;
		case AX_VIRT_MTIME:
			want = col->type.id == AX_T_TIMESTAMPTZ ? NULL : "timestamp with time zone";
			break;
		default:
			break;
	}
	if (want)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("virtual column \"%s\" must be of type %s, not %s", col->name, want,
						format_type_with_typemod(col->typid, col->typmod))));
}

static void
default_callback(void *arg)
{
	errcontext("option \"default\" of column \"%s\"", (const char *) arg);
}

/* Option default of a column, in the current memory context. */
static const ax_value *
default_value(const AfdwColumn *col, const char *text)
{
	/* values hold 128-bit integers, which need more than palloc's alignment */
	ax_value   *v = (ax_value *) TYPEALIGN(16, palloc0(sizeof(ax_value) + 16));
	ErrorContextCallback context;

	context.callback = default_callback;
	context.arg = unconstify(char *, col->name);
	context.previous = error_context_stack;
	error_context_stack = &context;
	afdw_text_value(col, text, v);
	error_context_stack = context.previous;
	return v;
}

/* Is the column one of these fields?  Where columns are not found by name, it may be any. */
static bool
among_fields(const AfdwTable *table, const ax_colspec *s, List *names)
{
	ListCell   *lc;

	foreach(lc, names)
		if (table->opts.match_by != AX_BY_NAME || pg_strcasecmp(lfirst(lc), s->path[0]) == 0)
			return true;
	return false;
}

/*
 * The next column of the table, from its attribute.  zone: option time_zone, or
 * of no type; long_names: fields with long decimals.
 */
static void
define_column(AfdwTable *table, Form_pg_attribute att, const ax_value *zone, List *long_names,
			  ax_colspec *s)
{
	AfdwColumn *col = &table->col[table->ncols];
	AfdwColumnOptions co;

	/* nothing would compute it when a row is read */
	if (att->attgenerated == ATTRIBUTE_GENERATED_STORED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of foreign table \"%s\" is a stored generated column, "
						"which files do not have", NameStr(att->attname),
						get_rel_name(table->relid)),
				 errhint("Use a view over the foreign table.")));
	afdw_options_column(table->relid, att->attnum, &co);
	col->attnum = att->attnum;
	col->typid = att->atttypid;
	col->typmod = att->atttypmod;
	col->collation = att->attcollation;
	table->nested = table->nested || type_is_rowtype(getBaseType(col->typid)) ||
		type_is_array_domain(col->typid);
	any_nested = any_nested || table->nested;
	col->pushable = afdw_type(att->atttypid, att->atttypmod, att->attcollation, &col->type,
							  &col->obstacle);
	col->name = s->name = pstrdup(NameStr(att->attname));
	col->not_null = s->not_null = att->attnotnull;
	if (co.column_name)
		s->path = afdw_name_path(co.column_name, &s->npath);
	else
	{
		const char **one = palloc(sizeof(char *));

		one[0] = s->name;
		s->path = one;
		s->npath = 1;
	}
	if (afdw_type_is_bare(&col->type) && among_fields(table, s, long_names))
	{
		afdw_type_long(col->typid, &col->type, &col->obstacle);
		col->pushable = false;
	}
	s->field_id = co.field_id;
	s->type = col->type;
	s->epoch = co.epoch_unit;
	s->binary_as = co.binary_as;
	s->encoding_check = table->opts.encoding_check;
	s->calendar = table->opts.calendar;
	s->drill_dates = table->opts.drill_dates;
	s->out_of_range = table->opts.out_of_range;
	s->timestamp_ns = table->opts.timestamp_ns;
	s->virt = co.virt;
	if (zone->type.id != AX_T_NONE)
	{
		s->zone = zone->u.s.p;
		s->zone_len = zone->u.s.len;
	}
	check_virtual(col, co.virt);
	if (co.virt == AX_VIRT_PARTITION)
		col->key = co.key;
	else if (co.virt == AX_VIRT_NONE && s->npath == 1 && table->opts.hive != AFDW_HIVE_OFF)
		col->key = s->path[0];
	if (co.deflt)
	{
		s->deflt = default_value(col, co.deflt);
		table->parsed = true;
	}
}

/*
 * Whoever set the path had the right to read files of the server; tables can be
 * given away, and roles can lose the right.  What a table shows is on the
 * owner's account, so the owner must have it now.  Functions that name files
 * are on the account of theirs.
 */
static void
check_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	if (!has_privs_of_role(owner, ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for foreign table \"%s\"", get_rel_name(relid)),
				 errdetail("Its owner \"%s\" may not read files of the server.",
						   GetUserNameFromId(owner, true)),
				 errhint("Grant the owner the privileges of the pg_read_server_files role, "
						 "or give the table to a role that has them.")));
}

/* Option int96_timezone. */
static void
define_int96(AfdwTable *table, const ax_source_spec *spec, ax_colspec *col)
{
	ax_named_zone *zone;
	uint32		n = 0;
	ax_value	v;

	if (table->opts.int96_zone == NULL)
		return;
	if (strcmp(table->opts.int96_zone, "writer") == 0)
		zone = afdw_probe_zones(spec, &table->opts, &n);
	else
	{
		afdw_zone_value(CStringGetTextDatum(table->opts.int96_zone), false, &v);
		zone = palloc0(sizeof(ax_named_zone));
		zone->bytes = v.u.s.p;
		zone->len = v.u.s.len;
		n = 1;
	}
	for (int i = 0; i < table->ncols; i++)
	{
		col[i].int96_zone = zone;
		col[i].nint96_zones = n;
	}
}

/*
 * Fields of the files whose decimals may be too long for a column that is
 * numeric without a precision; NIL when there is no such column.
 */
static List *
long_fields(const AfdwTable *table, TupleDesc desc, const ax_source_spec *spec)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		ax_type		type;
		const char *obstacle;

		if (att->attisdropped)
			continue;
		(void) afdw_type(att->atttypid, att->atttypmod, att->attcollation, &type, &obstacle);
		if (afdw_type_is_bare(&type))
			return afdw_probe_long(spec, &table->opts);
	}
	return NIL;
}

/* The columns of the relation; all else of the source is known. */
static void
define_columns(AfdwTable *table, ax_source_spec *source)
{
	Relation	rel = table_open(table->relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	ax_colspec *spec = palloc0(sizeof(ax_colspec) * Max(desc->natts, 1));
	List	   *long_names = long_fields(table, desc, source);
	uint32		position = 0;
	ax_value	zone;

	memset(&zone, 0, sizeof(zone));
	if (table->opts.time_zone)
		afdw_zone_value(CStringGetTextDatum(table->opts.time_zone), false, &zone);
	table->natts = desc->natts;
	table->ord = palloc(sizeof(int) * (desc->natts + 1));
	table->col = palloc0(sizeof(AfdwColumn) * Max(desc->natts, 1));
	table->ord[0] = -1;
	for (int i = 0; i < desc->natts; i++)
	{
		table->ord[i + 1] = -1;
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		table->ord[i + 1] = table->ncols;
		define_column(table, TupleDescAttr(desc, i), &zone, long_names, &spec[table->ncols]);
		spec[table->ncols].position = position;
		position += spec[table->ncols++].virt == AX_VIRT_NONE;
	}
	table_close(rel, NoLock);
	define_int96(table, source, spec);
	source->col = spec;
	source->ncols = table->ncols;
}

/* Reads the definition from the catalogs into the table's context. */
static AfdwTable *
table_define(Oid relid)
{
	MemoryContext cxt,
				old;
	AfdwTable  *table;
	ax_source_spec source;
	const char **paths;
	ListCell   *lc;
	uint32		npaths = 0;
	ax_error	err;

	cxt = AllocSetContextCreate(CurrentMemoryContext, "analytics_fdw table",
								ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	table = palloc0(sizeof(AfdwTable));
	table->cxt = cxt;
	table->relid = relid;
	table->valid = true;
	afdw_options_table(relid, &table->opts);
	if (table->opts.paths != NIL || table->opts.places != NIL)
		check_owner(relid);
	if (table->opts.paths != NIL)
		;						/* they are known */
	else if (table->opts.files_func)
		table->opts.paths = afdw_files_function(relid, &table->opts);
	else
		ereport(ERROR,
				(errcode(ERRCODE_FDW_DYNAMIC_PARAMETER_VALUE_NEEDED),
				 errmsg("option \"path\" is missing for foreign table \"%s\"",
						get_rel_name(relid))));
	afdw_check_directories(table->opts.paths);
	afdw_check_directories(table->opts.places);
	paths = palloc(sizeof(char *) * (list_length(table->opts.paths) + 1));
	foreach(lc, table->opts.paths)
		paths[npaths++] = lfirst(lc);

	memset(&source, 0, sizeof(source));
	source.path = paths;
	source.npaths = npaths;
	source.format = table->opts.format;
	source.options = table->opts.details;
	source.bind.match_by = table->opts.match_by;
	source.bind.case_insensitive = table->opts.case_insensitive;
	source.bind.allow_missing = table->opts.allow_missing_columns;
	source.bind.legacy_lists = table->opts.legacy_lists;
	source.bind.skip_null_keys = table->opts.skip_null_keys;
	source.merged = table->opts.final;
	source.allow_no_files = table->opts.allow_no_files;
	define_columns(table, &source);
	ax_error_clear(&err);
	if (ax_source_create(afdw_engine(), &source, &table->source, &err) != AX_OK)
		afdw_ereport(&err);
	MemoryContextSwitchTo(old);
	return table;
}

/* ---- opening --------------------------------------------------------------- */

#define MAX_TRIES 10

/* Is it a part that was merged away since the table was listed? */
bool
afdw_part_gone(const AfdwTable *table, const ax_error *err)
{
	const ax_format *format = ax_format_find(table->opts.format);
	ListCell   *lc;

	if (err->code != AX_ENOFILE || format == NULL || !format->directory)
		return false;
	foreach(lc, table->opts.paths)
		if (strcmp(err->place.file, lfirst(lc)) == 0)
			return false;		/* the table itself is not there */
	return true;
}

/*
 * Parts of a live table are merged away between listing and opening: would it
 * help to list it again?  Waits, twice as long each time, a second in all.
 */
bool
afdw_files_gone(const AfdwTable *table, const ax_error *err, int *tries)
{
	if (*tries >= MAX_TRIES || !afdw_part_gone(table, err))
		return false;
	pg_usleep(1000L << (*tries)++);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* The table as it is defined, and its files as they are now; earlier: as it was once, or NULL. */
static AfdwTable *
list_anew(Oid relid, const void *owner, const AfdwTable *earlier)
{
	static int	listings = 0;
	ax_error	err;
	int			tries = 0;

	for (;;)
	{
		AfdwTable  *table = table_define(relid);

		MemoryContextSetParent(table->cxt, CacheMemoryContext);
		table_ref(table, owner);	/* destroys the source if opening fails */
		table->listing = listings = listings % PG_INT32_MAX + 1;
		if (earlier && afdw_enable_listing_cache)
			ax_source_follow(table->source, earlier->source);
		if (afdw_files_list(table, &err))
			return table;
		if (!afdw_files_gone(table, &err, &tries))
			afdw_ereport(&err);
	}
}

static AfdwEntry *
find_entry(Oid relid)
{
	AfdwEntry  *entry;
	bool		found;

	if (cache == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(AfdwEntry);
		cache = hash_create("analytics_fdw tables", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	forget_invalid();
	entry = hash_search(cache, &relid, HASH_ENTER, &found);
	if (!found)
		entry->table = NULL;
	return entry;
}

/* Lists a table anew, and keeps it. */
static AfdwTable *
replace(Oid relid, const void *owner, AfdwTable *earlier)
{
	AfdwTable  *table;
	AfdwEntry  *entry;

	if (earlier)
		earlier->refs++;		/* the entry may go while catalogs are read */
	PG_TRY();
	{
		table = list_anew(relid, owner, earlier);
	}
	PG_FINALLY();
	{
		if (earlier)
			table_unref(earlier);
	}
	PG_END_TRY();
	entry = find_entry(relid);
	if (entry->table)
		table_unref(entry->table);
	entry->table = table;
	table->refs++;
	return table;
}

/* Is what is kept of a table still so?  Its definition is, or it would not be kept. */
static ax_current
still_current(AfdwTable *table)
{
	if (!afdw_enable_listing_cache || table->opts.files_func)
		return AX_CURRENT_CHANGED;
	check_owner(table->relid);
	afdw_check_directories(table->opts.paths);
	/* that files are sorted is proved by all of them */
	return ax_source_current(table->source, table->opts.sorted ? 0 : CHECK_OPEN_MAX);
}

AfdwTable *
afdw_table_plan(Oid relid, const void *owner)
{
	TimestampTz now = GetCurrentStatementStartTimestamp();
	AfdwTable  *table = find_entry(relid)->table;
	ax_current	how;

	if (table && table->valid && table->statement == now && table->owner == owner)
	{
		table_ref(table, owner);
		return table;
	}
	how = table && table->valid ? still_current(table) : AX_CURRENT_CHANGED;
	if (how == AX_CURRENT_CHANGED)
	{
		table = replace(relid, owner, table);
		table->handoff = true;
	}
	else
	{
		table_ref(table, owner);
		table->handoff = how == AX_CURRENT_FILES && !table->parsed;
	}
	table->statement = now;
	table->owner = owner;
	return table;
}

AfdwTable *
afdw_table_execute(Oid relid, const void *owner, int listing)
{
	TimestampTz now = GetCurrentStatementStartTimestamp();
	AfdwTable  *table = find_entry(relid)->table;

	/* the plan's listing, or that of another scan of the statement; else what a look proves */
	if (table && table->valid &&
		((table->statement == now &&
		  (table->owner == owner || (table->handoff && table->listing == listing))) ||
		 (!table->parsed && still_current(table) == AX_CURRENT_FILES)))
		table_ref(table, owner);
	else
		table = replace(relid, owner, table);
	table->statement = now;
	table->owner = owner;
	table->handoff = false;
	table->users++;
	return table;
}

AfdwTable *
afdw_table_peek(Oid relid)
{
	AfdwEntry  *entry = cache ? hash_search(cache, &relid, HASH_FIND, NULL) : NULL;

	return entry && entry->table && entry->table->valid ? entry->table : NULL;
}

/* The next open lists the files anew.  false: another scan of the statement has read them. */
bool
afdw_table_forget(AfdwTable *table)
{
	if (table->users > 1)
		return false;
	table->valid = false;
	return true;
}

/* A scan ended; when none is left, the next execution lists the files again. */
void
afdw_table_done(AfdwTable *table)
{
	if (--table->users == 0)
		table->owner = NULL;
}
