/*-------------------------------------------------------------------------
 *
 * option.c
 *		Options of servers, foreign tables and columns, from options.def.
 *
 * The validator looks at names, values and rights; it never touches a file,
 * so that definitions can be restored on machines without the data.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "pgtime.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/regproc.h"
#include "utils/varlena.h"

#include "afdw.h"

#define AFDW_S 1
#define AFDW_T 2
#define AFDW_C 4

typedef enum AfdwOptKind
{
	OPT_PATH, OPT_FORMAT, OPT_MATCH_BY, OPT_BOOL, OPT_THREADS, OPT_MEMORY,
	OPT_NAME, OPT_FIELD_ID, OPT_EPOCH, OPT_BINARY, OPT_VIRTUAL, OPT_DEFAULT,
	OPT_FILES_FUNC, OPT_FILES_FUNC_ARG, OPT_HIVE, OPT_ENCODING, OPT_OPEN_FILES, OPT_ZONE,
	OPT_FILENAME, OPT_FILES, OPT_DIRNAME, OPT_IGNORED,
	OPT_CALENDAR, OPT_DRILL, OPT_RANGE, OPT_NS, OPT_INT96_ZONE,
	OPT_LISTS, OPT_MAP_KEY, OPT_JAGGED, OPT_SORTED, OPT_COST, OPT_SAMPLING,
	OPT_DEFINITION, OPT_DETAIL
} AfdwOptKind;

typedef struct AfdwOpt
{
	const char *name;
	int			where;
	AfdwOptKind kind;
	bool		alias;			/* a word of another wrapper */
} AfdwOpt;

static const AfdwOpt options[] = {
#define AFDW_OPT(name, where, kind) {name, where, OPT_##kind, false},
#define AFDW_ALIAS(name, where, kind) {name, where, OPT_##kind, true},
#include "options.def"
#undef AFDW_OPT
#undef AFDW_ALIAS
};

/* Words with a number, ended by NULL. */
typedef struct AfdwWord
{
	const char *word;
	int			value;
} AfdwWord;

static const AfdwWord match_words[] = {
	{"name", AX_BY_NAME}, {"position", AX_BY_POSITION}, {"field_id", AX_BY_FIELD_ID}, {NULL, 0}
};
static const AfdwWord epoch_words[] = {
	{"s", AX_EPOCH_S}, {"ms", AX_EPOCH_MS}, {"us", AX_EPOCH_US}, {"ns", AX_EPOCH_NS},
	{"days", AX_EPOCH_DAYS}, {NULL, 0}
};
static const AfdwWord binary_words[] = {
	{"text", AX_BIN_TEXT}, {"uuid", AX_BIN_UUID}, {"inet", AX_BIN_INET}, {"hex", AX_BIN_HEX},
	{NULL, 0}
};

static const AfdwWord encoding_words[] = {
	{"fail", AX_ENC_FAIL}, {"remove", AX_ENC_REMOVE}, {"replace", AX_ENC_REPLACE},
	{"truncate", AX_ENC_TRUNCATE}, {NULL, 0}
};
static const AfdwWord virtual_words[] = {
	{"_path", AX_VIRT_PATH}, {"_file", AX_VIRT_FILE}, {"_size", AX_VIRT_SIZE},
	{"_mtime", AX_VIRT_MTIME}, {"_row_number", AX_VIRT_ROW_NUMBER},
	{"_row_group", AX_VIRT_ROW_GROUP}, {NULL, 0}
};
static const AfdwWord calendar_words[] = {
	{"auto", AX_CAL_AUTO}, {"proleptic", AX_CAL_PROLEPTIC}, {"hybrid", AX_CAL_HYBRID}, {NULL, 0}
};
static const AfdwWord drill_words[] = {
	{"known", AX_DRILL_KNOWN}, {"auto", AX_DRILL_AUTO}, {"off", AX_DRILL_OFF}, {NULL, 0}
};
static const AfdwWord range_words[] = {
	{"error", AX_RANGE_ERROR}, {"null", AX_RANGE_NULL}, {"infinity", AX_RANGE_INFINITY}, {NULL, 0}
};
static const AfdwWord ns_words[] = {
	{"floor", AX_NS_FLOOR}, {"error", AX_NS_ERROR}, {NULL, 0}
};
static const AfdwWord list_words[] = {
	{"auto", AX_LISTS_AUTO}, {"two_level", AX_LISTS_TWO_LEVEL},
	{"three_level", AX_LISTS_THREE_LEVEL}, {NULL, 0}
};
static const AfdwWord map_key_words[] = {{"error", false}, {"skip", true}, {NULL, 0}};
static const AfdwWord jagged_words[] = {{"error", false}, {"null_pad", true}, {NULL, 0}};
static const AfdwWord sampling_words[] = {
	{"auto", AFDW_SAMPLE_AUTO}, {"random", AFDW_SAMPLE_RANDOM}, {"bernoulli", AFDW_SAMPLE_RANDOM},
	{"system", AFDW_SAMPLE_SYSTEM}, {"off", AFDW_SAMPLE_OFF}, {NULL, 0}
};

/* Names that carry secrets somewhere; they belong in user mappings only. */
static const char *const secret_words[] = {
	"key", "secret", "password", "passwd", "token", "sas", "credential", "signature"
};

PG_FUNCTION_INFO_V1(analytics_fdw_validator);

static int
where_of(Oid catalog)
{
	switch (catalog)
	{
		case ForeignServerRelationId:
			return AFDW_S;
		case ForeignTableRelationId:
			return AFDW_T;
		case AttributeRelationId:
			return AFDW_C;
		default:
			return 0;			/* wrapper and user mapping: none yet */
	}
}

static const AfdwOpt *
find_option(const char *name, int where)
{
	for (int i = 0; i < (int) lengthof(options); i++)
		if ((options[i].where & where) && strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

bool
afdw_option_exists(const char *name, Oid catalog)
{
	return find_option(name, where_of(catalog)) != NULL;
}

static bool
looks_secret(const char *name)
{
	for (int i = 0; i < (int) lengthof(secret_words); i++)
		if (strstr(name, secret_words[i]) != NULL)
			return true;
	return false;
}

/* HV00D with the closest valid name and all valid names. */
static void
invalid_option(const char *name, int where)
{
	StringInfoData names;
	const char *closest = NULL;
	int			best = (int) strlen(name) / 2 + 1;

	if (looks_secret(name))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\"", name),
				 errdetail("Everybody can read the options of servers, tables and columns."),
				 errhint("Use CREATE USER MAPPING for secrets.")));

	initStringInfo(&names);
	for (int i = 0; i < (int) lengthof(options); i++)
	{
		int			distance;

		if (!(options[i].where & where) || options[i].alias)
			continue;
		appendStringInfo(&names, "%s%s", names.len ? ", " : "", options[i].name);
		if (strlen(name) > NAMEDATALEN)
			continue;
		distance = varstr_levenshtein_less_equal(name, (int) strlen(name), options[i].name,
												 (int) strlen(options[i].name), 1, 1, 1, best,
												 true);
		if (distance < best)
		{
			best = distance;
			closest = options[i].name;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			 errmsg("invalid option \"%s\"", name),
			 names.len == 0 ? errhint("There are no valid options in this context.") :
			 closest ? errhint("Perhaps you meant the option \"%s\". "
							   "Valid options in this context are: %s",
							   closest, names.data) :
			 errhint("Valid options in this context are: %s", names.data)));
}

static void
invalid_value(const char *name, const char *value, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", name, value),
			 hint ? errhint("%s", hint) : 0));
}

static int
parse_word(const char *name, const char *value, const AfdwWord *words)
{
	StringInfoData buf;

	for (int i = 0; words[i].word; i++)
		if (strcmp(words[i].word, value) == 0)
			return words[i].value;
	initStringInfo(&buf);
	appendStringInfoString(&buf, "Valid values are: ");
	for (int i = 0; words[i].word; i++)
		appendStringInfo(&buf, "%s%s", i ? ", " : "", words[i].word);
	invalid_value(name, value, buf.data);
	return 0;
}

static bool
parse_flag(const char *name, const char *value)
{
	bool		result = false;

	if (!parse_bool(value, &result))
		invalid_value(name, value, "Valid values are Boolean: on, off, true, false, yes, no, 1, 0");
	return result;
}

static int
parse_number(const char *name, const char *value, int flags, int lo, int hi)
{
	int			result = 0;
	const char *hint = NULL;

	if (!parse_int(value, &result, flags, &hint))
		invalid_value(name, value, hint ? hint : "The value must be an integer");
	if (result < lo || result > hi)
		invalid_value(name, value, psprintf("The value must be between %d and %d", lo, hi));
	return result;
}

static double
parse_cost(const char *name, const char *value)
{
	double		result = 0;
	const char *hint = NULL;

	if (!parse_real(value, &result, 0, &hint) || result < 0 || result > 1e10)
		invalid_value(name, value, "The value must be a floating-point number of at least zero");
	return result;
}

/* Takes a word, without regard to case, from the front of *p. */
static bool
take_word(const char **p, const char *word)
{
	size_t		len = strlen(word);
	const char *end = *p + len;

	if (pg_strncasecmp(*p, word, len) != 0 || (*end && *end != ' ' && *end != ',' && *end != '\t'))
		return false;
	for (*p = end; **p == ' ' || **p == '\t'; (*p)++)
		;
	return true;
}

/*
 * Columns of ORDER BY: names, each with ASC or DESC and NULLS FIRST or LAST,
 * separated by commas or blanks.  Of (name, descending, nulls first).
 */
static List *
parse_sorted(const char *name, const char *value)
{
	static const char *const hint =
		"The value is a list of columns, each with an optional direction: ts, id DESC NULLS LAST";
	List	   *keys = NIL;
	const char *p = value;

	while (*p == ' ')
		p++;
	while (*p)
	{
		StringInfoData column;
		bool		desc,
					nulls_first;

		initStringInfo(&column);
		if (*p == '"')
		{
			for (p++; *p && (*p != '"' || p[1] == '"'); p++)
			{
				appendStringInfoChar(&column, *p);
				if (*p == '"')
					p++;
			}
			if (*p++ != '"')
				invalid_value(name, value, hint);
		}
		else
			for (; *p && strchr(" ,\t\"", *p) == NULL; p++)
				appendStringInfoChar(&column, pg_tolower((unsigned char) *p));
		if (column.len == 0)
			invalid_value(name, value, hint);
		while (*p == ' ' || *p == '\t')
			p++;
		desc = take_word(&p, "desc");
		if (!desc)
			(void) take_word(&p, "asc");
		nulls_first = desc;
		if (take_word(&p, "nulls"))
		{
			nulls_first = take_word(&p, "first");
			if (!nulls_first && !take_word(&p, "last"))
				invalid_value(name, value, hint);
		}
		keys = lappend(keys, list_make3(makeString(column.data), makeInteger(desc),
										makeInteger(nulls_first)));
		if (*p == ',')
		{
			for (p++; *p == ' ' || *p == '\t'; p++)
				;
			if (*p == '\0')
				invalid_value(name, value, hint);
		}
	}
	if (keys == NIL)
		invalid_value(name, value, hint);
	return keys;
}

/*
 * Paths of a value: an array literal {a,b} or one path.  A value that begins
 * with a brace but does not end with one is a glob.
 */
List *
afdw_option_paths(const char *value)
{
	List	   *paths = NIL;
	int			len = (int) strlen(value);

	if (len >= 2 && value[0] == '{' && value[len - 1] == '}')
	{
		FmgrInfo	input;
		Datum		array;
		Datum	   *elem;
		bool	   *null;
		int			n;

		fmgr_info(F_ARRAY_IN, &input);
		array = FunctionCall3(&input, CStringGetDatum(value), ObjectIdGetDatum(TEXTOID),
							  Int32GetDatum(-1));
		deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
						  &elem, &null, &n);
		for (int i = 0; i < n; i++)
		{
			if (null[i] || VARSIZE_ANY_EXHDR(DatumGetPointer(elem[i])) == 0)
				invalid_value("path", value, "A path must not be empty");
			paths = lappend(paths, TextDatumGetCString(elem[i]));
		}
		if (paths == NIL)
			invalid_value("path", value, "At least one path is needed");
	}
	else
	{
		if (len == 0)
			invalid_value("path", value, "A path must not be empty");
		paths = list_make1(pstrdup(value));
	}
	return paths;
}

/* Paths separated by any of the characters. */
static List *
separated_paths(const char *name, const char *value, const char *separators)
{
	List	   *paths = NIL;
	char	   *rest = pstrdup(value),
			   *path;

	while ((path = strsep(&rest, separators)) != NULL)
	{
		while (*path == ' ')
			path++;
		if (*path)
			paths = lappend(paths, path);
	}
	if (paths == NIL)
		invalid_value(name, value, "A path must not be empty");
	return paths;
}

static ax_virtual
parse_virtual(const AfdwOpt *opt, const char *value)
{
	if (*value == '\0')
		invalid_value(opt->name, value, "A column or a directory key must be named");
	/* what begins with an underscore is ours, also later */
	if (*value == '_')
		return parse_word(opt->name, value, virtual_words);
	return AX_VIRT_PARTITION;
}

/* A function is named with its schema, or the caller's search_path could replace it. */
static void
check_function_name(const AfdwOpt *opt, const char *value)
{
	List	   *name = stringToQualifiedNameList(value
#if PG_VERSION_NUM >= 160000
												 , NULL
#endif
		);

	if (list_length(name) < 2)
		invalid_value(opt->name, value, "The function must be named with its schema");
}

static AfdwHive
parse_hive(const AfdwOpt *opt, const char *value)
{
	bool		on = false;

	if (strcmp(value, "auto") == 0)
		return AFDW_HIVE_AUTO;
	if (!parse_bool(value, &on))
		invalid_value(opt->name, value, "Valid values are: auto, on, off");
	return on ? AFDW_HIVE_ON : AFDW_HIVE_OFF;
}

/* Does the option say where the files are? */
static bool
names_files(const AfdwOpt *opt)
{
	return opt->kind == OPT_PATH || opt->kind == OPT_FILENAME || opt->kind == OPT_FILES ||
		opt->kind == OPT_DIRNAME || opt->kind == OPT_FILES_FUNC;
}

bool
afdw_option_names_files(const char *name)
{
	const AfdwOpt *opt = find_option(name, AFDW_T);

	return opt && names_files(opt);
}

/* Reading files of the server is a right of its own; the wording is file_fdw's. */
void
afdw_check_read_server_files(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superuser or a role with privileges of the "
						"pg_read_server_files role may specify the path option of an "
						"analytics_fdw foreign table"),
				 errhint("Grant the privileges of the pg_read_server_files role.")));
}

/* Where the files are. */
static void
apply_files_option(const AfdwOpt *opt, const char *value, AfdwOptions *opts)
{
	switch (opt->kind)
	{
		case OPT_PATH:
			opts->paths = afdw_option_paths(value);
			break;
		case OPT_FILES_FUNC:
			check_function_name(opt, value);
			opts->files_func = pstrdup(value);
			break;
		case OPT_FILES_FUNC_ARG:
			(void) DirectFunctionCall1(jsonb_in, CStringGetDatum(value));
			opts->files_func_arg = pstrdup(value);
			break;
		case OPT_FILENAME:
			opts->paths = separated_paths(opt->name, value, " ");
			break;
		case OPT_FILES:
			opts->paths = separated_paths(opt->name, value, ",");
			break;
		case OPT_DIRNAME:
			opts->paths = list_make1(psprintf("%s/", (char *) linitial(
								separated_paths(opt->name, value, ""))));
			break;
		default:
			break;
	}
}

/* Columns. */
static void
apply_column_option(const AfdwOpt *opt, const char *value, AfdwColumnOptions *col)
{
	switch (opt->kind)
	{
		case OPT_NAME:
			if (*value == '\0')
				invalid_value(opt->name, value, "A column name must not be empty");
			col->column_name = pstrdup(value);
			break;
		case OPT_FIELD_ID:
			col->field_id = parse_number(opt->name, value, 0, 0, PG_INT32_MAX);
			break;
		case OPT_EPOCH:
			col->epoch_unit = parse_word(opt->name, value, epoch_words);
			break;
		case OPT_BINARY:
			col->binary_as = parse_word(opt->name, value, binary_words);
			break;
		case OPT_VIRTUAL:
			col->virt = parse_virtual(opt, value);
			if (col->virt == AX_VIRT_PARTITION)
				col->key = pstrdup(value);
			break;
		case OPT_DEFAULT:
			col->deflt = pstrdup(value);
			break;
		default:
			break;
	}
}

static bool *
flag_of(const char *name, AfdwOptions *opts)
{
	if (strcmp(name, "case_insensitive") == 0)
		return &opts->case_insensitive;
	if (strcmp(name, "files_in_order") == 0)
		return &opts->files_in_order;
	if (strcmp(name, "check_sorted") == 0)
		return &opts->check_sorted;
	if (strcmp(name, "final") == 0)
		return &opts->final;
	if (strcmp(name, "allow_no_files") == 0)
		return &opts->allow_no_files;
	return &opts->allow_missing_columns;
}

/* Servers and tables. */
static void
apply_table_option(const AfdwOpt *opt, const char *value, AfdwOptions *opts)
{
	switch (opt->kind)
	{
		case OPT_FORMAT:
			if (strcmp(value, "auto") != 0 && ax_format_find(value) == NULL)
			{
				StringInfoData buf;
				const ax_format *f;

				initStringInfo(&buf);
				appendStringInfoString(&buf, "Valid values are: auto");
				for (uint32 i = 0; (f = ax_format_at(i)) != NULL; i++)
					appendStringInfo(&buf, ", %s", f->name);
				invalid_value(opt->name, value, buf.data);
			}
			opts->format = pstrdup(value);
			break;
		case OPT_MATCH_BY:
			opts->match_by = parse_word(opt->name, value, match_words);
			break;
		case OPT_BOOL:
			*flag_of(opt->name, opts) = parse_flag(opt->name, value);
			break;
		case OPT_CALENDAR:
			opts->calendar = parse_word(opt->name, value, calendar_words);
			break;
		case OPT_DRILL:
			opts->drill_dates = parse_word(opt->name, value, drill_words);
			break;
		case OPT_RANGE:
			opts->out_of_range = parse_word(opt->name, value, range_words);
			break;
		case OPT_NS:
			opts->timestamp_ns = parse_word(opt->name, value, ns_words);
			break;
		case OPT_INT96_ZONE:
			if (strcmp(value, "writer") != 0 && pg_tzset(value) == NULL)
				invalid_value(opt->name, value,
							  "The value must be \"writer\" or the name of a time zone");
			opts->int96_zone = pstrdup(value);
			break;
		case OPT_LISTS:
			opts->legacy_lists = parse_word(opt->name, value, list_words);
			break;
		case OPT_MAP_KEY:
			opts->skip_null_keys = parse_word(opt->name, value, map_key_words);
			break;
		case OPT_JAGGED:
			opts->pad_arrays = parse_word(opt->name, value, jagged_words);
			break;
		case OPT_SORTED:
			opts->sorted = parse_sorted(opt->name, value);
			break;
		case OPT_COST:
			if (strcmp(opt->name, "fdw_startup_cost") == 0)
				opts->startup_cost = parse_cost(opt->name, value);
			else
				opts->tuple_cost = parse_cost(opt->name, value);
			break;
		case OPT_SAMPLING:
			opts->sampling = parse_word(opt->name, value, sampling_words);
			break;
		case OPT_DEFINITION:
		case OPT_DETAIL:
			/* the format's own business */
			if (opt->kind == OPT_DEFINITION)
				opts->places = lappend(opts->places, pstrdup(value));
			opts->details = psprintf("%s%s=%s\n", opts->details ? opts->details : "", opt->name,
									 value);
			break;
		case OPT_THREADS:
			opts->max_threads = parse_number(opt->name, value, 0, 0, 1024);
			break;
		case OPT_MEMORY:
			opts->memory_limit = (int64) parse_number(opt->name, value, GUC_UNIT_KB, 0,
													  MAX_KILOBYTES) * 1024;
			break;
		case OPT_HIVE:
			opts->hive = parse_hive(opt, value);
			break;
		case OPT_ENCODING:
			opts->encoding_check = parse_word(opt->name, value, encoding_words);
			break;
		case OPT_ZONE:
			if (pg_tzset(value) == NULL)
				invalid_value(opt->name, value, "The value must be the name of a time zone");
			opts->time_zone = pstrdup(value);
			break;
		case OPT_OPEN_FILES:
			opts->max_open_files = parse_number(opt->name, value, 0, 0, PG_INT32_MAX);
			break;
		case OPT_IGNORED:
			(void) parse_flag(opt->name, value);
			break;
		default:
			break;
	}
}

/* Is the value good?  Fills in the option where it belongs; opts and col may be NULL. */
static void
apply_option(const AfdwOpt *opt, const char *value, AfdwOptions *opts, AfdwColumnOptions *col)
{
	AfdwOptions o;
	AfdwColumnOptions c;

	memset(&o, 0, sizeof(o));
	memset(&c, 0, sizeof(c));
	if (strpbrk(value, "\r\n") != NULL)
		invalid_value(opt->name, value, "Line breaks are not allowed");
	if (opt->where & AFDW_C)
		apply_column_option(opt, value, col ? col : &c);
	else if (names_files(opt) || opt->kind == OPT_FILES_FUNC_ARG)
		apply_files_option(opt, value, opts ? opts : &o);
	else
		apply_table_option(opt, value, opts ? opts : &o);
}

Datum
analytics_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *list = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	int			where = where_of(catalog);
	const char *files = NULL;
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = (DefElem *) lfirst(lc);
		const AfdwOpt *opt = find_option(def->defname, where);

		if (opt == NULL)
		{
			/* A user mapping is where a secret belongs, once something can use it. */
			invalid_option(def->defname, where);
			continue;
		}
		if (names_files(opt) || opt->kind == OPT_DEFINITION)
			afdw_check_read_server_files();
		if (names_files(opt))
		{
			if (files)
				ereport(ERROR,
						(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
						 errmsg("options \"%s\" and \"%s\" cannot be used together", files,
								opt->name)));
			files = opt->name;
		}
		apply_option(opt, defGetString(def), NULL, NULL);
		if (opt->kind == OPT_IGNORED)
			ereport(NOTICE,
					(errmsg("option \"%s\" has no effect: columns are always matched by name",
							opt->name)));
	}
	PG_RETURN_VOID();
}

/* Applies a list of options of a table or its server; unknown ones were refused long ago. */
void
afdw_options_list(List *list, AfdwOptions *opts)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		DefElem    *def = (DefElem *) lfirst(lc);
		const AfdwOpt *opt = find_option(def->defname, AFDW_S | AFDW_T);

		if (opt)
			apply_option(opt, defGetString(def), opts, NULL);
	}
}

/* Options of a foreign table, over those of its server, over the defaults. */
void
afdw_options_table(Oid relid, AfdwOptions *opts)
{
	ForeignTable *table = GetForeignTable(relid);
	ForeignServer *server = GetForeignServer(table->serverid);

	memset(opts, 0, sizeof(*opts));
	opts->format = "auto";
	opts->match_by = AX_BY_NAME;
	opts->allow_missing_columns = true;
	opts->check_sorted = true;
	opts->startup_cost = opts->tuple_cost = -1;
	afdw_options_list(server->options, opts);
	afdw_options_list(table->options, opts);
}

void
afdw_options_column(Oid relid, AttrNumber attnum, AfdwColumnOptions *opts)
{
	ListCell   *lc;

	memset(opts, 0, sizeof(*opts));
	opts->field_id = -1;
	foreach(lc, GetForeignColumnOptions(relid, attnum))
	{
		DefElem    *def = (DefElem *) lfirst(lc);
		const AfdwOpt *opt = find_option(def->defname, AFDW_C);

		if (opt)
			apply_option(opt, defGetString(def), NULL, opts);
	}
}
