/* Skip indexes: what skip.c, skip_read.c, skip_hash.c and prune.c share.
 *
 *   skip.c        which indexes a part has: definitions of the table, files of the part
 *   skip_read.c   their bytes: granules of an index, decoded
 *   skip_hash.c   filters of values, words and n-grams
 *   prune.c       asks the filter with what they know
 *
 * Index granule j of an index with GRANULARITY n covers granules [j n, j n + n) of the part. */
#ifndef AX_MT_SKIP_INT_H
#define AX_MT_SKIP_INT_H

#include "mergetree_int.h"

enum
{
    MT_MAX_SKIPS = 16,            /* indexes looked at in one pruning */
    MT_MAX_SKIP_COLUMNS = 16      /* expressions of one index */
};

typedef enum ax_mt_skipkind
{
    MT_S_MINMAX, MT_S_SET, MT_S_BLOOM, MT_S_TOKENS, MT_S_NGRAMS
} ax_mt_skipkind;

/* An index that the part has files of.  Lives in the part. */
typedef struct ax_mt_skip
{
    const char *name;
    uint8_t kind;                 /* ax_mt_skipkind */
    bool old;                     /* MINMAX: format 1, where nulls are not told */
    uint32_t granularity;         /* granules of the part in one of the index, > 0 */
    uint32_t ncols;
    ax_mt_keycol *col;            /* [ncols] expressions; type NULL: not known */
    uint32_t hashes, bits_per;    /* BLOOM: hashes a value, and bits */
    uint32_t bytes;               /* TOKENS, NGRAMS: of a filter; hashes as above */
    uint32_t gram;                /* NGRAMS: code points of one */
    uint64_t seed;                /* TOKENS, NGRAMS */
    const char *file, *marks;     /* names, also inside skp_idx.packed */
} ax_mt_skip;

/* Parse `index=` lines of the options and find the files.  Indexes of other kinds, of expressions
 * that would have to be known, or without files are left out: they only make pruning weaker. */
ax_status ax_mt_skips_find(ax_task *t, ax_mt_part *p) AX_MUST_USE;

/* ---- filters of values ----------------------------------------------------------------------- */

/* Bits for each value and hashes of bloom_filter(p). */
void ax_mt_bloom_shape(double p, uint32_t *bits_per, uint32_t *hashes);

/* The hash of a value that is equal to v in the declared type; false: any or several may be.
 * *none: the column cannot have such a value. */
bool ax_mt_bloom_hash(const ax_mt_conv *c, const ax_value *v, uint64_t *hash, bool *none);
/* May a row with the value v be in a box of which key column k, a function of the column, goes from
 * lo to hi (NULL: open)? */
bool ax_mt_key_may(const ax_mt_keycol *k, const ax_mt_conv *c, const ax_value *v,
                   const ax_mt_value *lo, const ax_mt_value *hi);
bool ax_mt_bloom_may(const uint8_t *bits, uint64_t nbytes, uint32_t hashes, uint64_t hash);

/* May a text that contains s be in the filter?  first, last: s is the text's beginning, or end. */
bool ax_mt_words_may(const ax_mt_skip *x, const uint8_t *bits, const uint8_t *s, uint32_t n,
                     bool first, bool last);

/* ---- reading --------------------------------------------------------------------------------- */

/* One index in one pruning. */
typedef struct ax_mt_skip_reader
{
    const ax_mt_skip *def;
    const char *path, *marks_path;
    uint64_t base, marks_base, marks_size; /* where the bytes are in these files */
    bool packed;
    ax_mt_member member;          /* the index's own bytes: its offsets count from `base` */
    ax_mt_marks marks;            /* n index granules */
    ax_mt_stream stream;
    ax_mt_src src;                /* its file is borrowed */
    ax_mt_cur *cur;               /* [ncur] SET: one for each stream of each column, else one */
    uint32_t ncur;
    ax_mt_reader *root;           /* [def->ncols] SET */
    ax_batch batch;               /* of the index granule: its arena has what is below */
    ax_mt_win win;
    uint32_t at;                  /* index granule that is decoded; UINT32_MAX: none */
    uint64_t count;               /* SET: tuples, 0: unknown; BLOOM: values */
    ax_mt_value *value;           /* MINMAX: [2 * ncols] */
    bool *known;                  /* MINMAX: [ncols] */
    const uint8_t **bits;         /* filters: [ncols] */
    uint64_t nbytes;              /* of each */
} ax_mt_skip_reader;

typedef struct ax_mt_skips
{
    const ax_mt_part *part;
    ax_arena *a;
    uint8_t state;
    ax_mt_env env;
    ax_scan_stats stats;
    ax_mt_skip_reader reader[MT_MAX_SKIPS];
    uint32_t n;
    const ax_mt_member *pack;     /* skp_idx.packed, when some index is in there */
    ax_io_file *file[2 * MT_MAX_SKIPS + 1]; /* owned */
    ax_io_req req[2 * MT_MAX_SKIPS + 1];
    uint32_t of[2 * MT_MAX_SKIPS + 1];
    uint32_t nreq;
} ax_mt_skips;

/* Read these indexes (n <= MT_MAX_SKIPS).  end is allowed after begin failed. */
ax_status ax_mt_skips_begin(ax_task *t, ax_arena *a, const ax_mt_part *p,
                            const ax_mt_skip *const *def, uint32_t n, uint32_t allow,
                            ax_mt_skips *s) AX_MUST_USE;
void ax_mt_skips_end(ax_mt_skips *s);

/* Open the files and read the marks.  *ready, or the event says what is needed; then again. */
ax_status ax_mt_skips_open(ax_task *t, ax_mt_skips *s, ax_fmt_event *ev, bool *ready) AX_MUST_USE;

/* Bytes for granules [g0, g1) of the part, into the event; then take what came.  false: there are
 * none to be read. */
bool ax_mt_skips_ask(ax_mt_skips *s, uint32_t g0, uint32_t g1, ax_fmt_event *ev);
ax_status ax_mt_skips_take(ax_task *t, ax_mt_skips *s) AX_MUST_USE;

/* Decode what index i says of granule g of the part, whose bytes were taken. */
ax_status ax_mt_skip_at(ax_task *t, ax_mt_skips *s, uint32_t i, uint32_t g) AX_MUST_USE;

/* The next n <= AX_BATCH_ROWS of the values of column k of a SET into v, which starts zeroed. */
ax_status ax_mt_skip_values(ax_task *t, ax_mt_skip_reader *r, uint32_t k, uint32_t n,
                            ax_mt_vals *v) AX_MUST_USE;

#endif
