/* Formats: what a reader (and writer) of one kind of file promises to the rest of the engine.
 *
 * A format is one constant struct of functions, listed in format/formats.def.  It knows bytes; it
 * knows nothing of tables of files (lake/), of plans and of hash tables (exec/): where its rows
 * need merging or deletes applied, it says so in the split, and plan nodes do the work.
 *
 * Step machines.  Everything that reads is an operation (ax_fmt_op) that is stepped by a driver:
 *
 *      begin --> step --> NEED  : fetch ev->need through ax_io_fetch, then step again
 *                     --> BATCH : rows (scans only); valid until the next step
 *                     --> DONE  : result is in the event, valid until end; do not step again
 *                     --> error : status of the step; place is filled in as far as known
 *      end (always, in every state; forgets outstanding requests first)
 *
 * because reads depend on reads: footers on tails, page headers on dictionaries, streams on marks,
 * manifests on manifests.  An operation names as many requests at once as it can, in the order in
 * which it wants them.  It never blocks and never sleeps; it checks ax_task_stopped at least every
 * 5 ms of work.  The driver zeroes the event before each step.
 *
 * Values that cannot be converted (ERANGE, ETEXT, ENOTNULL) are errors of rows: the rows before
 * them are delivered, with the error as the batch's poison.  Damage (ECORRUPT) is an error of the
 * step.
 *
 * Hostile input.  Any byte may lie.  Every length and offset is checked against the file before it
 * is used, memory is bounded by the budget, recursion by a depth.  A file that is refused is
 * refused with its place; a row is never skipped silently.
 *
 * Threads.  An ax_fmt_file is immutable after opening and shared by all lanes, but for what its
 * format loads later and keeps for all (marks, page indexes, path directories): that is allocated
 * under the format's own lock, published by one atomic store, and who comes second drops his copy;
 * nobody waits for another's reading.  An operation belongs to one task at a time; different
 * operations on one file run in parallel.
 *
 * Memory.  An operation allocates in the arena given to begin; a file's metadata in an arena of
 * its own, charged to the budget of the cache that holds it.  Files outlive queries: they keep no
 * buffer that a request delivered (it is charged to the query), they copy. */
#ifndef AX_FORMAT_H
#define AX_FORMAT_H

#include "expr/expr.h"
#include "io/io.h"
#include "vector/vector.h"

#include <pthread.h>

typedef struct ax_format ax_format;
typedef struct ax_fmt_op ax_fmt_op;      /* opaque; each format has its own structs behind it */

/* ---- schemas --------------------------------------------------------------------------------- */

typedef struct ax_field
{
    const char *name;         /* bytes as in the file, UTF-8 or shown with replacement characters */
    ax_type type;             /* the type we would declare; AX_T_NONE when there is none (yet) */
    const ax_type *structure; /* STRUCT, or LIST of STRUCT, that it could be declared as; maps are
                               * lists of two fields.  NULL: it has none */
    const char *source_type;  /* as the format calls it: "INT32 (DATE)" */
    const char *refusal;      /* why it cannot be read, or NULL */
    bool nullable;
    int32_t field_id;         /* -1: none */
    struct ax_field *child;   /* [nchild] */
    uint32_t nchild;
} ax_field;

typedef struct ax_schema { ax_field *field; uint32_t n; } ax_schema;

/* ---- opened files ---------------------------------------------------------------------------- */

/* One file (or part, or table directory) whose metadata is parsed.  Formats embed this as the first
 * member of their own struct. */
typedef struct ax_fmt_file
{
    const ax_format *format;
    _Atomic int32_t refs;
    ax_arena *arena;          /* owns the metadata and this struct */
    ax_io_file *io;           /* owned reference; the main file.  Directory formats: the file whose
                               * version stands for all (checksums.txt of a part) */
    ax_schema schema;
    int64_t nrows;            /* exact; -1: not known without reading (text formats, streams) */
    uint32_t nsplits;         /* row groups, parts, byte ranges */
    const char *writer_zone;  /* time zone of the writer's clock, as the file tells; NULL: it does
                               * not */
} ax_fmt_file;

ax_fmt_file *ax_fmt_file_ref(ax_fmt_file *f);
void ax_fmt_file_unref(ax_fmt_file *f);  /* NULL is allowed */

/* A unit of scanning and pruning.  Constants, deletes and order come with it.  It has fewer than
 * 2^32 rows: a format cuts larger units (a part of five billion rows) at granules. */
typedef struct ax_split
{
    const char *unit;         /* "row group", "part" */
    int64_t nrows;            /* -1: not known without reading */
    int64_t row0;             /* rows of the file before this split, -1: unknown; positions of
                               * deletes and _row_number count from the start of the file */
    int64_t bytes;            /* compressed bytes of all columns; for work estimates */
    uint32_t granule_rows;    /* natural step for row ranges: a page or granule; 0: none known */
    uint32_t granules;        /* how many the split has, for EXPLAIN; 0: it is not told */
    bool shares;              /* several scans of it may take turns (ax_fmt_share) */
    const struct ax_sort_key_claim *order; /* rows are ordered by these columns, or NULL.  A
                               * contract that the reader checks while it reads: a violation is
                               * ECORRUPT */
    uint32_t norder;
    const struct ax_delete_ref *deletes;   /* rows to leave out, applied by plan nodes */
    uint32_t ndeletes;
} ax_split;

typedef struct ax_sort_key_claim { uint32_t field; bool desc, nulls_first; } ax_sort_key_claim;

/* Rows of other files that remove rows of this split. */
typedef struct ax_delete_ref
{
    enum { AX_DEL_POSITIONS, AX_DEL_EQUALITY, AX_DEL_BITMAP } kind;
    const char *uri;
    uint64_t off, len;        /* BITMAP: bytes inside uri */
    int64_t sequence;         /* EQUALITY: removes rows of data with a lower sequence number; the
                               * others name their data and were matched by the lake */
    const uint32_t *field;    /* EQUALITY: fields compared */
    uint32_t nfields;
} ax_delete_ref;

/* ---- what a table wants of a file ------------------------------------------------------------ */

typedef enum ax_epoch { AX_EPOCH_NONE, AX_EPOCH_S, AX_EPOCH_MS, AX_EPOCH_US, AX_EPOCH_NS,
    AX_EPOCH_DAYS } ax_epoch;
/* Bytes without annotation.  INET: addresses of 4 or 16 bytes, as text; HEX: two digits a byte. */
typedef enum ax_binary_as { AX_BIN_NONE, AX_BIN_TEXT, AX_BIN_UUID, AX_BIN_INET, AX_BIN_HEX }
    ax_binary_as;
/* Which calendar dates before 1582-10-15 were written by; AUTO: as the file tells. */
typedef enum ax_calendar { AX_CAL_AUTO, AX_CAL_PROLEPTIC, AX_CAL_HYBRID } ax_calendar;
/* Dates of old versions of Drill are corrected: of files that tell, of all that may be, of none. */
typedef enum ax_drill_dates { AX_DRILL_KNOWN, AX_DRILL_AUTO, AX_DRILL_OFF } ax_drill_dates;
/* What becomes of values that the declared type does not reach.  INFINITY is for dates and
 * timestamps; others are errors then. */
typedef enum ax_out_of_range { AX_RANGE_ERROR, AX_RANGE_INFINITY, AX_RANGE_NULL } ax_out_of_range;
/* Nanoseconds that are no whole microseconds: cut off, or as if out of range. */
typedef enum ax_timestamp_ns { AX_NS_FLOOR, AX_NS_ERROR } ax_timestamp_ns;
typedef enum ax_encoding_check { AX_ENC_FAIL, AX_ENC_REMOVE, AX_ENC_REPLACE, AX_ENC_TRUNCATE }
    ax_encoding_check;
typedef enum ax_virtual { AX_VIRT_NONE, AX_VIRT_PATH, AX_VIRT_FILE, AX_VIRT_SIZE, AX_VIRT_MTIME,
    AX_VIRT_ROW_NUMBER, AX_VIRT_ROW_GROUP, AX_VIRT_PART, AX_VIRT_PART_OFFSET, AX_VIRT_PARTITION,
    AX_VIRT_ROWID, /* split_id << 32 | row in split, a SEQ vector: identity that passes joins */
    AX_VIRT_ORDER /* the column named by path, as INT8 or BYTEA (which, the format says) that
                   * compares as the file orders its values; nulls are last */
} ax_virtual;
typedef enum ax_mismatch { AX_MISMATCH_ERROR, AX_MISMATCH_NULL, AX_MISMATCH_TEXT } ax_mismatch;
typedef enum ax_match_by { AX_BY_NAME, AX_BY_POSITION, AX_BY_FIELD_ID } ax_match_by;

/* A time zone and its packed ax_zone (func/datetime.h). */
typedef struct ax_named_zone
{
    const char *name;
    const uint8_t *bytes;
    uint32_t len;
} ax_named_zone;

/* One declared column as a path expression. */
typedef struct ax_colspec
{
    const char *name;          /* name in the host, for messages */
    const char *const *path;   /* [npath] names from the root of the file's schema down */
    uint32_t npath;
    const char *sub_path;      /* path inside a document (JSON), or NULL */
    int32_t field_id;          /* -1: none */
    uint32_t position;         /* ordinal among declared columns, for match_by position */
    ax_type type;              /* wanted type; the reader converts exactly or refuses (ETYPE) */
    uint8_t epoch;             /* ax_epoch: integer column declared as date or timestamp */
    uint8_t binary_as;         /* ax_binary_as */
    uint8_t encoding_check;    /* ax_encoding_check */
    uint8_t calendar;          /* ax_calendar */
    uint8_t drill_dates;       /* ax_drill_dates */
    uint8_t out_of_range;      /* ax_out_of_range */
    uint8_t timestamp_ns;      /* ax_timestamp_ns */
    uint8_t virt;              /* ax_virtual */
    uint8_t on_mismatch;       /* ax_mismatch: a value at sub_path that has not the wanted type */
    bool not_null;             /* declared NOT NULL: a null in the file is an error (23502) */
    const ax_value *deflt;     /* value where the file lacks the column; NULL: SQL null */
    const uint8_t *zone;       /* [zone_len] packed ax_zone (func/datetime.h): what is local time in
                                * the file and declared as an instant, or the reverse, is of this
                                * zone; NULL: UTC */
    uint32_t zone_len;
    const ax_named_zone *int96_zone; /* [nint96_zones] borrowed from the host: INT96 declared as
                                * local time is UTC, and becomes local time of the zone that is
                                * called as the file's writer_zone, or of one without a name */
    uint32_t nint96_zones;
} ax_colspec;

/* How a list of one repeated group with one field is read where the file does not tell. */
typedef enum ax_legacy_lists { AX_LISTS_AUTO, AX_LISTS_TWO_LEVEL, AX_LISTS_THREE_LEVEL }
    ax_legacy_lists;

typedef struct ax_bind_opts
{
    uint8_t match_by;          /* ax_match_by */
    bool case_insensitive;
    bool allow_missing;
    bool skip_null_keys;       /* entries of maps without a key are left out, else errors */
    uint8_t legacy_lists;      /* ax_legacy_lists */
    const struct ax_fixed_col *fixed; /* [nfixed] columns that this file has not to answer for */
    uint32_t nfixed;
} ax_bind_opts;

/* A declared column whose value a directory name or a table format fixes for one file: bind takes
 * the value and does not look for the column. */
typedef struct ax_fixed_col { uint32_t col; ax_value value; } ax_fixed_col;

/* Declared columns resolved against one file: which field, which conversion.  Immutable; formats
 * embed it as first member. */
typedef struct ax_fmt_bind
{
    ax_fmt_file *file;         /* borrowed */
    const ax_colspec *col;     /* [ncols] borrowed from the source */
    uint32_t ncols;
    bool *constant;            /* [ncols] the file lacks the column or a partition fixes it ... */
    ax_value *value;           /* ... and this is its value */
} ax_fmt_bind;

/* ---- rows that become one -------------------------------------------------------------------- */

/* Which of the rows of one key are rows of the table.  Rows of a key are in the order of the files,
 * then of the file. */
typedef enum ax_final_rule
{
    AX_FINAL_NONE,       /* all: rows are only put in order */
    AX_FINAL_LAST,       /* the last with the highest version, unless it is marked as deleted */
    AX_FINAL_COLLAPSE,   /* the last with sign 1, if there are more with 1 than with -1, or as many
                          * and the last row has 1; no other */
    AX_FINAL_CANCEL,     /* those that are left when a row takes away one before it that has the
                          * other sign */
    AX_FINAL_FOLD        /* one, whose columns are folded */
} ax_final_rule;

/* What one column of such a row is made of.  Nulls are values only for FIRST and LAST. */
typedef enum ax_fold
{
    AX_FOLD_FIRST, AX_FOLD_LAST, AX_FOLD_ANY, AX_FOLD_ANY_LAST, AX_FOLD_MIN, AX_FOLD_MAX,
    AX_FOLD_SUM, AX_FOLD_AND, AX_FOLD_OR, AX_FOLD_XOR, AX_FOLD_STATE, AX_FOLD_CONCAT,
    AX_FOLD_MAP          /* arrays of several columns are entries of one map: those of equal keys
                          * are added up, entries without a sum but zeros are left out */
} ax_fold;

enum { AX_STATE_BYTES = 64 }; /* longer states of aggregate functions are not folded */

/* The state x [*n], which has room for AX_STATE_BYTES, becomes that of x and y together; false: one
 * of them is no such state.  Thread: task. */
typedef bool (*ax_state_fn)(const void *how, uint8_t *x, uint32_t *n, const uint8_t *y,
                            uint32_t ny);

typedef struct ax_fold_col
{
    uint8_t fold;             /* ax_fold */
    uint8_t bits;             /* SUM of integers wraps around as one of so many bits, 8 to 128 */
    bool is_signed;
    bool single;              /* SUM of floats is rounded to 32 bits after each addition */
    bool counts;              /* SUM: the row vanishes when all these are zero or null */
    ax_state_fn add;          /* STATE: adds two, */
    const void *how;          /* with this */
    const uint32_t *map;      /* MAP: [nmap] declared, then hidden columns: the keys, those whose
                               * elements are added as SUM says */
    uint32_t nmap;
    const char *refusal;      /* why it cannot be folded, or NULL */
} ax_fold_col;

typedef struct ax_final
{
    uint8_t rule;             /* ax_final_rule */
    const char *title;        /* "ReplacingMergeTree(v)" */
    const char *key;          /* "a, b DESC" */
    ax_colspec *hidden;       /* [nhidden] columns that are read besides the declared ones: */
    uint32_t nhidden;
    uint32_t nkeys;           /* first those of the key, AX_VIRT_ORDER, */
    const bool *desc;         /* [nkeys] */
    uint32_t version, sign;   /* then perhaps the version (AX_VIRT_ORDER), the sign or mark (an
                               * integer), and others that count; UINT32_MAX: none */
    const ax_fold_col *fold;  /* [ncols + nhidden] FOLD: of declared, then hidden columns */
    const bool *is_key;       /* [ncols] declared columns that are the same in all rows of a key */
} ax_final;

/* ---- operations ------------------------------------------------------------------------------ */

typedef enum ax_step { AX_STEP_NEED, AX_STEP_BATCH, AX_STEP_DONE } ax_step;

typedef struct ax_fmt_event
{
    uint8_t step;              /* ax_step */
    ax_io_need need;           /* NEED */
    ax_batch *batch;           /* BATCH: column i is the i-th of req.columns; sel is set by filters
                                * the reader applied */
    ax_fmt_file *file;         /* DONE of an opening: a reference for the caller */
    ax_match match;            /* DONE of a pruning */
    uint8_t by;                /* DONE of a pruning with NONE: ax_pruned_by */
    const struct ax_rowset *rows; /* DONE of a pruning with SOME: rows that may match, or NULL: all;
                               * dies with the operation */
    const struct ax_removed *removed; /* [nremoved] DONE of a pruning: which index removed how many
                               * granules; dies with the operation */
    uint32_t nremoved;
    const ax_host_need *host;  /* NEED with need.n == 0: the filter waits for the host */
    uint32_t epoch;            /* NEED with need.n == 0 and host NULL: req.share has another epoch
                                * when going on makes sense */
} ax_fmt_event;

typedef enum ax_pruned_by { AX_PRUNED_NOT, AX_PRUNED_PARTITION, AX_PRUNED_MINMAX, AX_PRUNED_BLOOM,
    AX_PRUNED_DICTIONARY, AX_PRUNED_PAGE_INDEX, AX_PRUNED_PRIMARY_KEY, AX_PRUNED_SKIP_INDEX,
    AX_PRUNED_LIMIT, AX_PRUNED_CNT } ax_pruned_by;

/* Granules that an index of this name left out: of one pruning, and of a run. */
typedef struct ax_removed { const char *name; uint32_t granules; } ax_removed;
enum { AX_MAX_REMOVED = 32 };
typedef struct ax_granules_removed { char name[64]; uint64_t granules; } ax_granules_removed;

/* Rows of a split as ascending, disjoint ranges [begin, end). */
typedef struct ax_rowrange { uint32_t begin, end; } ax_rowrange;
typedef struct ax_rowset { const ax_rowrange *range; uint32_t n; } ax_rowset;

typedef struct ax_fmt_input
{
    ax_io_file *file;          /* opened file, borrowed; NULL for directory formats: uri counts */
    const char *uri;
    ax_budget *meta_budget;    /* account of the metadata */
    const char *options;       /* format options as "key=value" lines, or NULL */
} ax_fmt_input;

/* Which optimisations may be used (bits of ax_scan_req.allow and of the query). */
enum
{
    AX_ALLOW_MINMAX = 1u << 0, AX_ALLOW_BLOOM = 1u << 1, AX_ALLOW_DICTIONARY = 1u << 2,
    AX_ALLOW_PAGE_INDEX = 1u << 3, AX_ALLOW_PREWHERE = 1u << 4, AX_ALLOW_LAZY = 1u << 5,
    AX_ALLOW_METADATA_AGG = 1u << 6, AX_ALLOW_CHECKSUMS = 1u << 7, AX_ALLOW_LIVE = 1u << 8,
    AX_ALLOW_PRIMARY_KEY = 1u << 9, AX_ALLOW_SKIP_INDEX = 1u << 10,
    AX_ALLOW_PARTITION = 1u << 11, AX_ALLOW_ALGEBRA = 1u << 12,
    AX_ALLOW_TOP_GROUPS = 1u << 16,
    AX_ALLOW_SHARE = 1u << 17,
    AX_ALLOW_KEPT_PAGES = 1u << 18, /* pages that stay between queries (io.h) */
    AX_ALLOW_WINDOWS = 1u << 19,    /* columns and pages that are never in memory as a whole */
    AX_ALLOW_ALL = 0xffffffffu
};

/* Counters of one scan, added to by the lane; summed for EXPLAIN. */
typedef struct ax_scan_stats
{
    uint64_t rows_read, rows_after_filter;   /* rows of windows looked at; rows that survived */
    uint64_t pages, pages_skipped;           /* data pages decompressed; not even read or opened */
    uint64_t granules, granules_total;       /* those of splits that tell: read, and all */
    uint64_t bytes_compressed, bytes_decompressed;
    uint64_t open_ns, read_ns, decode_ns, filter_ns; /* open: of files that no one opened before */
} ax_scan_stats;

/* One split for several scans that run at once: each takes rows that nobody took, again and again,
 * until there are none; and what one of them made for all, the others use.  A scan that waits for
 * what another one makes says so in its event; `waiter` is woken with the next epoch. */
typedef struct ax_fmt_share
{
    uint32_t nscans;          /* at most so many take part */
    _Atomic uint32_t next;    /* first row that nobody took */
    pthread_mutex_t lock;     /* guards the rest */
    uint32_t epoch;
    ax_job **waiter;          /* [nwaiters <= nscans] */
    uint32_t nwaiters;
    bool seen;                /* some scan has joined before */
    void *state;              /* the format's; NULL at first, and again when its last scan ends */
    uint32_t users;           /* scans that use state */
} ax_fmt_share;

/* The lock is held: something was made, wake who waits. */
void ax_fmt_share_tell(ax_fmt_share *s);

/* Borrowed, with all it points to, until the operation ends. */
typedef struct ax_scan_req
{
    const ax_fmt_bind *bind;
    uint32_t split;            /* ordinal in the file */
    uint32_t split_id;         /* ordinal in the query; goes to ax_batch.split */
    const ax_rowset *rows;     /* rows wanted (lazy materialisation, pruning, positions that were
                                * not deleted); NULL: all.  Exact: no other row is selected in what
                                * comes back, and the filter sees no other row */
    const uint32_t *columns;   /* [ncolumns] ordinals in bind->col, ascending */
    uint32_t ncolumns;
    ax_filter_lane *filter;    /* applied by the reader, or NULL.  Its column numbers are positions
                                * in `columns`.  The reader decodes step by step and only for
                                * rows still selected; batches without selected rows are not
                                * returned */
    const uint32_t *filter_only; /* [nfilter_only] positions in columns that nobody needs after the
                                * filter: may be left zeroed in batches */
    uint32_t nfilter_only;
    ax_fmt_share *share;       /* the rows are dealt out among scans, or NULL */
    bool gradual;              /* perhaps only the first rows are wanted: read little ahead at
                                * first */
    uint32_t allow;            /* AX_ALLOW_* */
    ax_scan_stats *stats;      /* borrowed, never NULL */
    ax_budget *budget;         /* pages are charged here */
    uint64_t buffer_bytes;     /* bytes of the file that should be in memory at once, and bytes
                                * after decompression again; 0: any.  Who cannot do with so few
                                * takes more */
    uint32_t window_bytes;     /* columns are read in windows of no less; 0: as the format likes */
} ax_scan_req;

/* ---- facts for people ------------------------------------------------------------------------ */

/* A table of facts about an opened file that a host shows to whoever asks what is in it: row groups
 * and their chunks, parts, marks.  Its rows are batches with these columns.  Each format has tables
 * of its own; nobody above knows more of them than what stands here. */
typedef struct ax_fact_col { const char *name; uint8_t type; } ax_fact_col; /* BOOL INT4 INT8 TEXT
                               * BYTEA */
typedef struct ax_fact_table
{
    const char *name;          /* "row_groups" */
    const ax_fact_col *col;    /* [ncols] */
    uint32_t ncols;
} ax_fact_table;

/* What a table of facts is asked about, where it is not about all of a file: the column at a path
 * of names, and a value that is not null, of the type that the host reads the column as. */
typedef struct ax_fact_arg
{
    const char *const *path;   /* [npath] */
    uint32_t npath;
    ax_value value;
} ax_fact_arg;

/* A batch of nrows <= AX_BATCH_ROWS rows from cell[nrows * table->ncols], row by row, in arena a.
 * Strings are borrowed from the cells, which have the columns' types or are null. */
ax_status ax_facts_batch(ax_task *t, ax_arena *a, const ax_fact_table *table, const ax_value *cell,
                         uint32_t nrows, ax_batch *out) AX_MUST_USE;

/* ---- the struct ------------------------------------------------------------------------------ */

struct ax_format
{
    const char *name;          /* as options say it: "parquet" */
    const char *title;         /* as people write it: "Parquet" */
    const char *suffixes;      /* "parquet parq", for `format 'auto'` */
    bool directory;            /* a table is a directory, not a file */
    const char *lake;          /* kind of lake/lakes.def that finds the files (or parts) of a table;
                                * NULL: "files", or for directories the paths as they are */
    uint32_t tail_bytes;       /* so many last bytes are read first by an opening; 0: others */

    /* Is this the format's file?  head: first bytes, tail: last bytes (both at least 8 when the
     * file has them).  No errors. */
    bool (*sniff)(const uint8_t *head, size_t nhead, const uint8_t *tail, size_t ntail);

    /* Open: parse metadata.  DONE carries the file.  arena: scratch for the operation. */
    ax_status (*open_begin)(ax_task *t, ax_arena *a, const ax_fmt_input *in, ax_fmt_op **out);

    /* Split i < file->nsplits.  Cheap; points into the file.  The caller zeroes *out before. */
    void (*split)(const ax_fmt_file *f, uint32_t i, ax_split *out);

    /* Resolve declared columns.  ENOCOLUMN, EAMBIGUOUS, ETYPE with both types in the message. */
    ax_status (*bind)(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                      uint32_t ncols, const ax_bind_opts *opts, ax_fmt_bind **out);

    /* How rows of a table of such files become one, by what the files' options say of the table;
     * nothing is read.  Out, in arena a; EUNSUPPORTED, EOPTION.  NULL: rows are what is stored. */
    ax_status (*final)(ax_task *t, ax_arena *a, const char *options, const ax_colspec *col,
                       uint32_t ncols, const ax_bind_opts *opts, ax_final *out);

    /* Declared columns by which the rows of every split are ordered, and those of the file split by
     * split, the most significant first, as their declared types compare; *out: [max].  Returns how
     * many.  Who counts on it checks the rows.  NULL: none is known. */
    uint32_t (*order)(const ax_fmt_bind *b, ax_sort_key_claim *out, uint32_t max);

    /* Bounds of a declared column in one split from metadata in memory, in the declared type.
     * false: not known without reading, or not trustworthy. */
    bool (*bounds)(const ax_fmt_bind *b, uint32_t split, uint32_t col, ax_bounds *out);

    /* Rough distinct count of a declared column in the file, 0: unknown; for the host's planner. */
    double (*distinct)(const ax_fmt_bind *b, uint32_t col);

    /* Average bytes of a value of a declared column, 0: unknown; for the host's planner. */
    double (*width)(const ax_fmt_bind *b, uint32_t col);

    /* Prune one split: may rows match `f` (columns numbered like bind->col)?  Uses metadata, then
     * whatever `allow` permits to read (bloom filters, dictionaries, page indexes).  Only rows of
     * `within` are asked about (end 0: all); what is said of others need not be true. */
    ax_status (*prune_begin)(ax_task *t, ax_arena *a, const ax_fmt_bind *b, uint32_t split,
                             ax_rowrange within, const ax_filter *f, uint32_t allow,
                             ax_fmt_op **out);

    /* Scan one split.  The operation may be handed to another task between steps. */
    ax_status (*scan_begin)(ax_task *t, ax_arena *a, const ax_scan_req *req, ax_fmt_op **out);

    /* Tables of facts, and an operation that gives the rows of one of them for one file.  Its
     * batches live in the task's scratch until the next step.  NULL: none.  arg: NULL, or borrowed
     * until `end`. */
    const ax_fact_table *facts; /* [nfacts] */
    uint32_t nfacts;
    ax_status (*facts_begin)(ax_task *t, ax_arena *a, const ax_fmt_file *f, uint32_t table,
                             const ax_fact_arg *arg, ax_fmt_op **out);

    ax_status (*step)(ax_task *t, ax_fmt_op *op, ax_fmt_event *ev);
    void (*end)(ax_fmt_op *op);

    /* Release what the file's arena does not own; called once, when the last reference goes. */
    void (*close)(ax_fmt_file *f);

    /* Writer: five calls; NULL for formats that cannot write.  put takes batches with the schema
     * given to write_begin; finish writes what is left and the metadata.  None waits: bytes go to
     * ax_io_set_append, and the driver lets them drain between calls (ax_io_set_drain).  What was
     * written is learnt by opening it. */
    ax_status (*write_begin)(ax_task *t, ax_arena *a, ax_io_set *set, const ax_schema *schema,
                             const char *options, ax_fmt_op **out);
    ax_status (*write_put)(ax_task *t, ax_fmt_op *op, const ax_batch *b);
    ax_status (*write_flush)(ax_task *t, ax_fmt_op *op);
    ax_status (*write_finish)(ax_task *t, ax_fmt_op *op);
    void (*write_abort)(ax_fmt_op *op);
};

/* Lookup by name; NULL when there is no such format.  ax_format_at enumerates, NULL at the end. */
const ax_format *ax_format_find(const char *name);
const ax_format *ax_format_at(uint32_t i);

/* Which format is this?  By suffix, then by content; NULL: none. */
const ax_format *ax_format_guess(const char *uri, const uint8_t *head, size_t nhead,
                                 const uint8_t *tail, size_t ntail);

/* Drive an operation to its end, blocking, for tools and tests on local or memory files: steps,
 * fetches, and calls on_batch (may be NULL) for each batch.  Ends the operation. */
ax_status ax_fmt_drive(ax_task *t, ax_io *io, const ax_format *fmt, ax_fmt_op *op,
                       ax_status (*on_batch)(ax_task *t, void *arg, ax_batch *b), void *arg,
                       ax_fmt_event *last) AX_MUST_USE;

/* What readers have in common. */
#include "format/reader.h"

#endif
