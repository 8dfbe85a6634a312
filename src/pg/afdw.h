/*-------------------------------------------------------------------------
 *
 * afdw.h
 *		What the files of the glue share.
 *
 * The glue translates what PostgreSQL planned into a plan of the engine and
 * rows and errors back.  It reaches the engine through ax.h only.
 *
 *	 option.c	 options and the validator		 source.c	 tables, their definitions
 *	 files.c	 the files of a table, partitions
 *	 shippable.c functions the engine has		 translate.c Expr to ax_expr
 *	 desc.c		 what one scan computes, as nodes and as an ax_plan
 *	 path.c		 planning callbacks				 scan.c		 execution callbacks
 *	 query.c	 running queries: latch loop, clean-up
 *	 slot.c		 values: batch to Datum and Datum to ax_value
 *	 host.c		 functions that PostgreSQL computes for the engine
 *	 stats.c	 statistics from metadata		 analyze.c	 ANALYZE
 *	 zone.c		 time zones as tables
 *	 explain.c	 EXPLAIN						 import.c	 IMPORT FOREIGN SCHEMA
 *	 require.c	 require_pushdown				 directories.c allowed_directories
 *	 columns.c	 column lists from files
 *	 shared.c	 shared memory					 activity.c	 stat_queries, query_log
 *	 introspect.c functions and views about files, options and the build
 *
 * Only the backend's own thread runs code of these files, with one exception:
 * the wake-up callback in query.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef AFDW_H
#define AFDW_H

#include "postgres.h"

#include "access/attnum.h"
#include "foreign/fdwapi.h"
#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"
#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

#include "ax.h"

#include "compat.h"

/* ---- guc.c ------------------------------------------------------------ */

typedef enum AfdwRequirePushdown
{
	AFDW_REQUIRE_OFF,
	AFDW_REQUIRE_WARN,
	AFDW_REQUIRE_ERROR
} AfdwRequirePushdown;

#define AFDW_BOOL(name, dflt, text) extern bool afdw_##name;
#define AFDW_INT(name, dflt, lo, hi, flags, text) extern int afdw_##name;
#define AFDW_ENUM(name, type, dflt, options, text) extern int afdw_##name;
#define AFDW_SERVER_INT(name, dflt, lo, hi, flags, text) extern int afdw_##name;
#define AFDW_ADMIN_STRING(name, check, text) extern char *afdw_##name;
#include "gucs.def"
#undef AFDW_BOOL
#undef AFDW_INT
#undef AFDW_ENUM
#undef AFDW_SERVER_INT
#undef AFDW_ADMIN_STRING

extern void afdw_guc_init(void);
extern int64 afdw_memory_limit_bytes(int64 table_limit);
extern uint32 afdw_allowed(void);

/* ---- directories.c ---------------------------------------------------- */

extern bool afdw_check_allowed_directories(char **newval, void **extra, GucSource source);
extern void afdw_check_directories(List *paths);

/* ---- error.c ---------------------------------------------------------- */

/* Raise an error of the engine.  Copies it first, so that it may be in memory that goes away. */
pg_noreturn extern void afdw_ereport(const ax_error *err);
extern char *afdw_error_text(const ax_error *err);
extern char *afdw_server_text(const char *s);

/* ---- option.c --------------------------------------------------------- */

typedef enum AfdwHive
{
	AFDW_HIVE_AUTO, AFDW_HIVE_ON, AFDW_HIVE_OFF
} AfdwHive;
typedef enum AfdwSampling
{
	AFDW_SAMPLE_AUTO,			/* all row groups, of large tables some */
	AFDW_SAMPLE_RANDOM,			/* all row groups */
	AFDW_SAMPLE_SYSTEM,			/* some row groups */
	AFDW_SAMPLE_OFF				/* every row is read */
} AfdwSampling;

typedef struct AfdwOptions
{
	List	   *paths;			/* of char *; NIL: files_func says */
	const char *files_func;		/* qualified name of a function, or NULL */
	const char *files_func_arg; /* jsonb as text, or NULL */
	AfdwHive	hive;
	ax_encoding_check encoding_check;
	int			max_open_files; /* 0: no limit but the process's */
	const char *time_zone;		/* NULL: UTC */
	const char *format;			/* "auto" or a name the engine knows */
	ax_match_by match_by;
	bool		case_insensitive;
	bool		allow_missing_columns;
	ax_calendar calendar;
	ax_drill_dates drill_dates;
	ax_out_of_range out_of_range;
	ax_timestamp_ns timestamp_ns;
	const char *int96_zone;		/* "writer" or the name of a zone; NULL: UTC */
	bool		allow_no_files;
	ax_legacy_lists legacy_lists;
	bool		skip_null_keys; /* map_null_key */
	bool		pad_arrays;		/* jagged */
	List	   *sorted;			/* of (column, descending, nulls first) */
	bool		files_in_order;
	bool		check_sorted;
	double		startup_cost,	/* -1: the default */
				tuple_cost;
	AfdwSampling sampling;		/* of ANALYZE */
	int			max_threads;	/* 0: as the setting says */
	int64		memory_limit;	/* bytes, 0: as the setting says */
	const char *details;		/* "name=value" lines for the format, or NULL */
	List	   *places;			/* of char *: files and directories of the server among them */
	bool		final;			/* rows of one key become one, as the table's engine says */
} AfdwOptions;

typedef struct AfdwColumnOptions
{
	const char *column_name;	/* NULL: the column's own name */
	int32		field_id;		/* -1: none */
	ax_epoch	epoch_unit;
	ax_binary_as binary_as;
	ax_virtual	virt;
	const char *key;			/* AX_VIRT_PARTITION: directory key */
	const char *deflt;			/* value where a file lacks the column, or NULL */
} AfdwColumnOptions;

extern void afdw_options_table(Oid relid, AfdwOptions *opts);
extern void afdw_options_list(List *options, AfdwOptions *opts);
extern void afdw_options_column(Oid relid, AttrNumber attnum, AfdwColumnOptions *opts);
extern List *afdw_option_paths(const char *value);
extern void afdw_check_read_server_files(void);
extern bool afdw_option_names_files(const char *name);
extern bool afdw_option_exists(const char *name, Oid catalog);

/* ---- source.c --------------------------------------------------------- */

/* A column of a foreign table as the engine sees it. */
typedef struct AfdwColumn
{
	AttrNumber	attnum;
	Oid			typid;			/* declared type */
	int32		typmod;
	Oid			collation;
	ax_type		type;			/* what the engine delivers */
	bool		pushable;		/* has the meaning of the declared type in expressions */
	const char *obstacle;		/* why not, when !pushable */
	const char *name;
	const char *key;			/* directory key that may give its value, or NULL */
	bool		not_null;
} AfdwColumn;

/*
 * A foreign table whose definition was read and whose files were opened.
 * References are counted; all memory is in a context of its own.
 */
typedef struct AfdwTable
{
	MemoryContext cxt;
	int			refs;
	bool		valid;			/* definition not changed since */
	Oid			relid;
	AfdwOptions opts;
	AfdwColumn *col;			/* [ncols] in the engine's numbering */
	int			ncols;
	int			natts;
	int		   *ord;			/* [natts + 1] attribute number to column, -1: dropped */
	ax_source  *source;
	bool		nested;			/* some column may have a composite type */
	bool		parsed;			/* values of columns come from input functions */
	int			listing;		/* number of source among all of this process */
	TimestampTz statement;		/* start of the statement that used it last */
	const void *owner;			/* planner run or executor state that did; NULL: it has ended */
	bool		handoff;		/* it planned with files as they are now, and may execute so */
	int			users;			/* scans that run */
} AfdwTable;

/*
 * The table with its files listed, referenced until CurrentMemoryContext is
 * reset.  Scans of one statement share one listing: owner is the planner run
 * (PlannerGlobal) or the executor's state.  Planning may be content with an
 * earlier listing; execution takes over what its plan was made with, the plan
 * says its number, only if that tells of the files as they are.
 */
extern AfdwTable *afdw_table_plan(Oid relid, const void *owner);
extern AfdwTable *afdw_table_execute(Oid relid, const void *owner, int listing);

/* Opens the files that may have rows for a condition, or a sample of many; see files.c. */
extern bool afdw_table_open_files(AfdwTable *table, ax_expr **conj, int nconj,
								  const ax_params *params, ax_error *err);
extern void afdw_table_done(AfdwTable *table);	/* a scan ended */
extern bool afdw_table_forget(AfdwTable *table);
extern bool afdw_part_gone(const AfdwTable *table, const ax_error *err);
extern bool afdw_files_gone(const AfdwTable *table, const ax_error *err, int *tries);
extern AfdwTable *afdw_table_peek(Oid relid);	/* the one opened last, or NULL */
extern const char **afdw_name_path(const char *name, uint32 *n);
extern void afdw_source_init(void);

/* ---- probe.c ---------------------------------------------------------- */

extern ax_named_zone *afdw_probe_zones(const ax_source_spec *spec, const AfdwOptions *opts,
									   uint32 *n);
extern List *afdw_probe_long(const ax_source_spec *spec, const AfdwOptions *opts);

/* ---- files.c ---------------------------------------------------------- */

extern List *afdw_files_function(Oid relid, const AfdwOptions *opts);
extern void afdw_check_found(const ax_source *source, const AfdwOptions *opts);
extern bool afdw_files_list(AfdwTable *table, ax_error *err);
extern void afdw_text_value(const AfdwColumn *col, const char *text, ax_value *out);

/* ---- slot.c ----------------------------------------------------------- */

extern bool afdw_type_is_bare(const ax_type *type);
extern void afdw_type_long(Oid typid, ax_type *type, const char **obstacle);
extern bool afdw_type(Oid typid, int32 typmod, Oid collation, ax_type *type, const char **obstacle);
extern bool afdw_value(Datum datum, bool isnull, Oid typid, ax_type type, ax_value *out);

extern Datum afdw_datum(ax_type_id id, const ax_value *x);

typedef struct AfdwOut AfdwOut; /* how the columns of one scan become Datums */

extern AfdwOut *afdw_out_create(List *exprs, const uint32 *batchcol, const ax_type *types,
								bool pad_arrays);
extern void afdw_out_batch(AfdwOut *out, const ax_batch *batch);
extern void afdw_out_row(AfdwOut *out, int row, Datum *values, bool *isnull,
						 const AttrNumber *target);
extern void afdw_out_end(AfdwOut *out);

/* ---- nested.c --------------------------------------------------------- */

typedef struct AfdwRecord AfdwRecord;	/* how documents become records */

extern bool afdw_record_type(Oid base, ax_type *type);
extern AfdwRecord *afdw_record_create(Oid base);
extern Datum afdw_record_datum(AfdwRecord *r, const char *json, int len);
extern int	afdw_list_dims(const ax_vec *v, uint32 i, bool pad, int *dims);
extern void afdw_list_places(const ax_vec *v, uint32 i, int ndims, const int *dims, int64 *place);

/* ---- shippable.c ------------------------------------------------------ */

extern ax_fn afdw_shippable_function(Oid funcid, Oid inputcollid, Oid firstarg,
									 const char **reason);
extern ax_fn afdw_shippable_conversion(Oid from, Oid to, const char **reason);
extern ax_agg_id afdw_shippable_aggregate(Oid aggfnoid, Oid inputcollid, const char **reason);
extern bool afdw_shippable_order(Oid typid, Oid opfamily, Oid collation, const char **reason);
extern bool afdw_shippable_equality(Oid typid, Oid collation, const char **reason);
extern bool afdw_collation_is_bytes(Oid collation);
extern bool afdw_is_constant(Node *node);
extern bool afdw_is_constant_here(Node *node);	/* of a parameterised scan: in one run of it */

/* ---- desc.c, translate.c ---------------------------------------------- */

/* One sort key, as a node list in AfdwDesc.sort: (expression, descending, nulls first). */
#define afdw_sort_expr(key)			((Expr *) linitial(key))
#define afdw_sort_desc(key)			(intVal(lsecond(key)) != 0)
#define afdw_sort_nulls_first(key)	(intVal(lthird(key)) != 0)

/*
 * What one scan computes.  Everything is a node that can be copied and
 * printed, so that it can travel in a plan; Vars have the number that the
 * relation had in its planner run.
 */
typedef struct AfdwDesc
{
	Index		varno;
	List	   *output;			/* of Expr: the columns of the result */
	List	   *quals;			/* of Expr: conditions on rows of the table */
	bool		grouped;		/* keys and aggs apply; no keys: one row */
	List	   *keys;			/* of Expr */
	List	   *aggs;			/* of Aggref */
	List	   *having;			/* of Expr over keys and aggs */
	List	   *distinct;		/* of Expr over keys and aggs */
	List	   *sort;			/* of sort keys */
	bool		stored;			/* rows are stored in the order of sort, */
	bool		merged;			/* in each file; files are merged */
	bool		parameterized;	/* quals may have columns of other relations, in params */
	bool		limited;
	Node	   *limit;			/* bigint or NULL */
	Node	   *offset;
	List	   *params;			/* of Expr: constants that are known when the query starts */
	List	   *zones;			/* of Expr: names of time zones, parameters behind params */
	List	   *hosts;			/* of Expr: what PostgreSQL computes for the engine */
	List	   *skipped;		/* of (what, reason): Expr or String, String */
	int			listing;		/* number of the listing that it was planned with */
} AfdwDesc;

/* A description turned into a plan of the engine. */
typedef struct AfdwBuilt
{
	ax_plan    *plan;			/* destroyed with the memory context it was built in */
	uint32	   *outcol;			/* [noutput] column of the plan's root */
	ax_type    *outtype;		/* [noutput] */
	int			noutput;
	int			ncolumns;		/* columns of the table that are read */
	int			limit_param,	/* index in params, -1: none */
				offset_param;
	List	   *hosts;			/* of AfdwHostFn: functions of the host, as the plan numbers them */
	uint32	   *keycol;			/* [of desc->sort] columns of the root that tell the stored order */
	bool		in_order;		/* the scan reads in stored order, keycol is set */
	ax_expr   **conj;			/* [nconj] the quals over columns as declared; when executing */
	int			nconj;
} AfdwBuilt;

extern AfdwDesc *afdw_desc_copy(const AfdwDesc *desc);
extern List *afdw_desc_save(const AfdwDesc *desc);
extern AfdwDesc *afdw_desc_load(List *list);
extern Bitmapset *afdw_desc_attrs(const AfdwDesc *desc);

/*
 * Builds the plan; false: *reason says what the engine does not do.  Planning
 * (arrays is NULL) adds to desc->params.
 */
extern bool afdw_desc_build(AfdwDesc *desc, AfdwTable *table, const NullableDatum *arrays,
							AfdwBuilt *built, const char **reason);

typedef struct AfdwTranslate
{
	AfdwTable  *table;
	ax_plan    *plan;
	const int  *attcol;			/* [natts + 1] attribute to input column, -1; NULL: env counts */
	List	   *env;			/* of Expr: input columns above a grouping */
	const ax_type *envtype;
	AfdwDesc   *desc;			/* for params */
	bool		frozen;			/* no new params */
	const NullableDatum *arrays;	/* [params] values of those that are arrays; NULL: planning */
	bool		placeholder;	/* planning: some value is not known yet */
	ax_expr    *case_arg;		/* meaning of CaseTestExpr */
	List	   *hosts;			/* of AfdwHostFn, in the order of their numbers */
	bool		in_host;		/* translating an argument of a host function */
	bool		any_digits;		/* results may have more digits than the engine has */
	const char *reason;			/* after a failure */
} AfdwTranslate;

extern ax_expr *afdw_translate(AfdwTranslate *ctx, Expr *expr);
extern ax_expr *afdw_translate_node(AfdwTranslate *ctx, Expr *expr);
extern ax_expr *afdw_translate_stored(AfdwTranslate *ctx, Node *node);
extern bool afdw_translate_agg(AfdwTranslate *ctx, Aggref *agg, ax_agg_call *call);
extern ax_plan *afdw_plan_create(void); /* until CurrentMemoryContext is reset */

/* ---- host.c ----------------------------------------------------------- */

/* A function that the engine asks PostgreSQL to compute. */
typedef struct AfdwHostFn
{
	Expr	   *expr;			/* over columns 1, 2, ... of relation 1 */
	List	   *args;			/* of Expr: what the columns stand for */
	ax_type    *type;			/* [args] as the engine has them */
} AfdwHostFn;

typedef struct AfdwHosts AfdwHosts; /* the functions of one plan, ready to run */

extern bool afdw_host_decided(const AfdwTranslate *ctx, Expr *expr);
extern ax_expr *afdw_host_translate(AfdwTranslate *ctx, Expr *expr);
extern AfdwHosts *afdw_hosts_create(List *hosts);
extern void afdw_hosts_answer(AfdwHosts *h, const ax_host_need *need, ax_reply *reply);

/* ---- zone.c ----------------------------------------------------------- */

extern Expr *afdw_zone_session(void);
extern bool afdw_zone_named(Node *node);
extern bool afdw_zone_known(const char *name);
extern void afdw_zone_value(Datum name, bool isnull, ax_value *out);

/* ---- path.c ----------------------------------------------------------- */

/* fdw_private of the RelOptInfos that we plan. */
typedef struct AfdwRel
{
	AfdwTable  *table;
	AfdwDesc   *desc;
	List	   *remote;			/* base relations: RestrictInfos in the engine */
	List	   *local;			/* RestrictInfos or, above, clauses that stay in PostgreSQL */
	RelOptInfo *base;
	List	   *stored_pathkeys,	/* order of the files, as far as it is of use */
			   *stored_keys;	/* the same as sort keys */
	bool		merged;			/* the files do not follow each other in it */
	Cost		transfer,		/* part of total: rows to the server */
				parallel_saving;	/* what one thread would take longer */
	double		rows;			/* result */
	double		groups;			/* rows before a limit */
	Cost		startup,
				total;
} AfdwRel;

extern void afdw_get_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid);
extern void afdw_get_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid);
extern ForeignScan *afdw_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path,
								  List *tlist, List *scan_clauses, Plan *outer_plan);
extern void afdw_get_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								 RelOptInfo *output_rel, void *extra);

/* ---- require.c -------------------------------------------------------- */

extern void afdw_check_required(PlannerInfo *root, RelOptInfo *base, const AfdwDesc *desc,
								Oid relid);

/* ---- scanpath.c ------------------------------------------------------- */

extern void afdw_find_stored_order(PlannerInfo *root, RelOptInfo *rel);
extern void afdw_add_ordered_path(PlannerInfo *root, RelOptInfo *rel);
extern void afdw_add_parameterized_paths(PlannerInfo *root, RelOptInfo *rel);
extern bool afdw_parameter_clause(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *rinfo,
								  double *share);

/* ---- order.c ---------------------------------------------------------- */

typedef struct AfdwOrderCheck AfdwOrderCheck;	/* are rows delivered in order? */

extern List *afdw_order_keys(const AfdwTable *table, Index varno);
extern void afdw_order_open_files(AfdwTable *table);
extern bool afdw_order_is_stored(const AfdwTable *table, List *keys);
extern bool afdw_order_merges(const AfdwTable *table, List *keys, List *wanted);
extern AfdwOrderCheck *afdw_order_check_create(const AfdwTable *table, List *keys,
											   const uint32 *col);
extern void afdw_order_check_reset(AfdwOrderCheck *check);
extern void afdw_order_check_batch(AfdwOrderCheck *check, const ax_batch *batch);

/* ---- shared.c, activity.c --------------------------------------------- */

extern void *afdw_shared(Size size, void (*init) (void *));
extern ax_permits *afdw_permits(void);	/* threads of all backends; NULL: each for itself */

#define AFDW_UPDATE_MS 100		/* progress is told so often */

typedef enum AfdwPhase
{
	AFDW_PHASE_STARTING, AFDW_PHASE_EXECUTING, AFDW_PHASE_RETURNING
} AfdwPhase;

/* What a query of this backend tells the others. */
typedef struct AfdwActivity
{
	bool		begun;
	Oid			relid,
				userid;
	int64		queryid;
	TimestampTz start,
				updated;		/* counters in the slot */
	uint64		batches;
	struct AfdwSlot *slot;		/* in shared memory; NULL: not shown */
	char		sqlstate[6];
	char		error[256];
} AfdwActivity;

extern void afdw_activity_begin(AfdwActivity *a);
extern void afdw_activity_update(AfdwActivity *a, const ax_query *q, AfdwPhase phase);
extern void afdw_activity_error(AfdwActivity *a, const ax_error *err);
extern void afdw_activity_caught(AfdwActivity *a);
extern void afdw_activity_end(AfdwActivity *a, const ax_query *q, bool failed);

/* ---- query.c ---------------------------------------------------------- */

typedef struct AfdwQuery AfdwQuery;

extern ax_engine *afdw_engine(void);
extern bool afdw_engine_gone(void);
extern void afdw_query_init(void);
extern AfdwQuery *afdw_query_open(ax_source *source, const AfdwOptions *opts);
extern AfdwQuery *afdw_query_list(ax_source *source, const AfdwOptions *opts);
extern AfdwQuery *afdw_query_facts(ax_source *source, const char *table, const ax_fact_arg *arg,
								   const AfdwOptions *opts);

/* What an opening opens: see ax_query_opts. */
typedef struct AfdwOpening
{
	uint32		open_files;
	ax_expr   **conj;
	int			nconj;
	const ax_params *params;
} AfdwOpening;

extern bool afdw_query_try_list(ax_source *source, const AfdwOptions *opts, ax_error *err);
extern bool afdw_query_open_some(ax_source *source, const AfdwOptions *opts,
								 const AfdwOpening *opening, ax_error *err);
extern AfdwQuery *afdw_query_start(const ax_plan *plan, const AfdwOptions *opts,
								   const ax_params *params, AfdwHosts *hosts, MemoryContext cxt);
extern void afdw_query_rebind(AfdwQuery *query, const ax_params *params);
extern void afdw_query_watch(AfdwQuery *query, Oid relid, int64 queryid);
extern ax_batch *afdw_query_next(AfdwQuery *query);
extern bool afdw_query_try(AfdwQuery *query, ax_batch **batch, ax_error *err);
pg_noreturn extern void afdw_query_raise(AfdwQuery *query, const ax_error *err);
extern ax_query *afdw_query_handle(AfdwQuery *query);
extern void afdw_query_end(AfdwQuery *query);

/* ---- scan.c ----------------------------------------------------------- */

/* State of one foreign scan; lives in the executor's query context. */
typedef struct AfdwScan
{
	AfdwDesc   *desc;
	Oid			relid;
	AfdwTable  *table;			/* NULL until the first row is wanted */
	AfdwBuilt	built;
	MemoryContext plan_cxt;		/* of built, out and query */
	List	   *param_states;	/* of ExprState */
	bool		has_arrays;		/* parameters that are part of the plan */
	AfdwHosts  *hosts;			/* NULL: the plan has no functions of the host */
	AfdwOrderCheck *order;		/* NULL: rows are not read in stored order */
	AfdwQuery  *query;
	AfdwOut    *out;
	AttrNumber *target;			/* [noutput] position in the slot, from 0 */
	ax_batch   *batch;
	int			nrows,
				row;
	bool		done;
	bool		given;			/* there were rows already */
	int			tries;			/* starts that found files gone */
} AfdwScan;

extern void afdw_begin(ForeignScanState *node, int eflags);
extern TupleTableSlot *afdw_iterate(ForeignScanState *node);
extern void afdw_rescan(ForeignScanState *node);
extern void afdw_end(ForeignScanState *node);
extern void afdw_scan_start(ForeignScanState *node);

/* ---- stats.c ---------------------------------------------------------- */

extern void afdw_stats_init(void);
extern double afdw_stats_probe_share(AfdwTable *table, uint32 col);

/* ---- analyze.c -------------------------------------------------------- */

extern bool afdw_analyze(Relation rel, AcquireSampleRowsFunc *func, BlockNumber *totalpages);

/* ---- columns.c -------------------------------------------------------- */

typedef enum AfdwUnsupported
{
	AFDW_UNSUPPORTED_SKIP, AFDW_UNSUPPORTED_TEXT, AFDW_UNSUPPORTED_ERROR
} AfdwUnsupported;

/* How columns of files become columns of tables. */
typedef struct AfdwShape
{
	bool		not_null;		/* NOT NULL as in the file */
	bool		lower;			/* names in lower case */
	AfdwUnsupported unsupported;
	const char *json_as;		/* type of documents; NULL: jsonb */
	bool		composite;		/* groups become composite types */
} AfdwShape;

/* A list of column definitions under construction. */
typedef struct AfdwColumnList
{
	const AfdwShape *shape;
	StringInfo	sql;
	const char *prefix;			/* before each column */
	const char *path;			/* of the file, for messages */
	const char *schema;			/* where composite types are made, ... */
	const char *table;			/* ... and the beginning of their names */
	List	   *in_file;		/* names in the file, char * */
	List	   *used;			/* names of columns, char * */
	List	   *comments;		/* their types in the file, char * */
} AfdwColumnList;

/* Columns of a schema, then, unless source is NULL, keys of the directories of its files. */
extern void afdw_append_columns(AfdwColumnList *list, const ax_schema *schema, ax_source *source,
								const List *files);
/* composite.c */
extern const char *afdw_composite_type(const AfdwColumnList *list, const ax_field *f);
extern char *afdw_server_name(const char *name);	/* text of a file in the database's encoding */
extern char *afdw_lower_case(const char *name);
extern bool afdw_has_name(List *names, const char *name);

/* ---- explain.c, import.c ---------------------------------------------- */

extern void afdw_explain(ForeignScanState *node, ExplainState *es);
extern List *afdw_import(ImportForeignSchemaStmt *stmt, Oid serverOid);
extern List *afdw_import_comments(void);	/* commands of the import under way, once */
extern ax_source *afdw_open_file(const AfdwOptions *opts, const char *path, ax_error *err);
/* until CurrentMemoryContext is reset */
extern ax_source *afdw_files(const AfdwOptions *opts, const char *details);
extern const char *afdw_sql_type(const ax_field *f);

/* ---- introspect.c ----------------------------------------------------- */

extern struct ReturnSetInfo *afdw_rows_begin(FunctionCallInfo fcinfo);

extern bool afdw_is_our_routine(const FdwRoutine *routine);

#endif							/* AFDW_H */
