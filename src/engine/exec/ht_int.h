/* Hash grouping: gives every row the address of its group's row.  Private to exec/.
 *
 * A group's row is [hash 8, only if stored_hash] [key image] [states] [bytes of long strings].
 *
 * The key image is a fixed number of 64-bit words that are equal when SQL calls the keys equal:
 * fixed-width keys are packed, widest first, then null bits, then one 16-byte packed string per
 * text key:
 *
 *     0   4   len in bits 0..29; bit 30: a null bit lent to another key; bit 31: null
 *     4   4   first bytes, zero-filled
 *     8   8   len <= 12: the other bytes; else: address of the bytes
 *
 * The directory is an open-addressed array of 64-bit slots: 16 bits of the hash, 48 bits of
 * address; 0 is empty.  Bits of a hash: the top 12 choose the partition, bits 16 and up the slot,
 * the low 16 are the tag.
 *
 * Each lane fills a table of its own.  When that holds freeze_rows groups it is frozen: known
 * groups are still updated in place, each other row is appended, as a group's row of its own, to
 * one of 2^pbits partitions.  So a frequent group stays in cache, and a rare one is inserted once,
 * later, by the one thread that builds its partition from the rows of all lanes (ax_ht_build): rows
 * are not copied then either, equal ones are merged into the first.  Rows never move: callers may
 * keep their addresses as long as the lane's memory lives.
 *
 * Threads: a lane by one thread at a time; ax_ht is immutable after init but for the shared set of
 * group_limit, which has a lock. */
#ifndef AX_HT_INT_H
#define AX_HT_INT_H

#include "base/hash.h"
#include "exec/spill.h"
#include "vector/vector.h"

#include <pthread.h>

#define AX_HT_LEN_MASK 0x3fffffffu
#define AX_HT_INLINE_MAX 12u       /* longest string inside the image */
#define AX_HT_MAX_WORDS 64u        /* of an image */

typedef struct ax_ht_key
{
    ax_type type;
    uint16_t off;        /* of its value in the image */
    uint16_t null_off;   /* byte with its null bit */
    uint8_t null_bit;    /* 0: nulls of this key go to null_row */
    uint8_t negz_bit;    /* floats: set when the value was -0, not compared */
    uint16_t negz_off;
} ax_ht_key;

typedef enum ax_ht_shape { AX_HT_W1, AX_HT_W2, AX_HT_W3, AX_HT_W4, AX_HT_S, AX_HT_WS, AX_HT_ANY }
    ax_ht_shape;

typedef struct ax_ht_layout
{
    ax_ht_key *key;        /* [nkeys] arena of the owner */
    uint32_t nkeys;
    uint32_t kw;           /* words of an image */
    uint32_t str_w;        /* first word of the strings; == kw: none */
    uint64_t *mask;        /* [kw] bits that count in comparisons */
    uint8_t shape;         /* ax_ht_shape: which comparison */
    bool has_null_row;     /* one key of whole words, without room for a null bit */
    bool stored_hash;
    bool borrow_str;       /* string bytes outlive the table: rows keep addresses */
    bool gaps;             /* images must be zeroed before they are filled */
    uint32_t img_off;      /* of the image in a row */
    uint32_t state_off;
    uint32_t row_bytes;    /* without string bytes */
} ax_ht_layout;

/* Records one after the other in chunks. */
typedef struct ax_ht_chunk
{
    struct ax_ht_chunk *next;
    uint64_t used_bytes;   /* valid once the chunk is no longer the last */
    uint64_t cap_bytes;    /* with this header */
} ax_ht_chunk;

/* Chunks of ordinary sizes to use again, and how much memory their users have. */
#define AX_HT_CHUNK_SIZES 4u /* 1, 4, 16, 64 KiB */
typedef struct ax_ht_spare
{
    ax_ht_chunk *chunk[AX_HT_CHUNK_SIZES];
    uint64_t used_bytes;
} ax_ht_spare;

typedef struct ax_ht_rows
{
    uint8_t *at, *end;     /* free room in the last chunk */
    ax_ht_chunk *first, *last;
    uint64_t n;
    ax_ht_spare *spare;    /* chunks come from there first; NULL: only from the arena */
} ax_ht_rows;

/* Rows of a partition in the temporary file. */
typedef struct ax_ht_extent
{
    struct ax_ht_extent *next;
    int64_t off;
    uint64_t bytes;
} ax_ht_extent;

typedef struct ax_ht_spilled { ax_ht_extent *first; uint64_t rows; } ax_ht_spilled;

typedef struct ax_ht_dir
{
    uint64_t *slot;
    uint64_t mask;         /* slots - 1 */
    uint64_t n;            /* used slots */
    uint64_t limit;        /* grow at so many */
} ax_ht_dir;

/* Direct addressing: key values of a small domain to rows, see ht_dense.c. */
typedef struct ax_ht_dense ax_ht_dense;

typedef struct ax_ht_lane
{
    ax_arena *mem;         /* owned: rows, directory, chunks */
    ax_arena *scratch;     /* owned: reset per batch by the caller */
    ax_ht_dir dir;
    ax_ht_rows local;
    ax_ht_rows *part;      /* [2^pbits] once frozen */
    ax_ht_spare spare;     /* of part */
    ax_ht_spilled *spilled; /* [2^pbits] or NULL */
    uint8_t *spill_buf;    /* or NULL */
    uint8_t *null_row;     /* or NULL */
    uint8_t *trash;        /* row of dropped groups, or NULL */
    uint8_t **sorted;      /* [local.n] local rows by partition, made by ax_ht_lane_end */
    uint32_t *sorted_end;  /* [2^pbits] ends in sorted */
    ax_ht_dense *dense;    /* or NULL */
    uint64_t *img;         /* [AX_BATCH_ROWS * kw] */
    uint64_t *hash;        /* [AX_BATCH_ROWS] */
    /* Thresholds, in fields so that tests can lower them: groups of the own table, rows after which
     * its use is judged, staged rows after which freezing is judged; bytes of staged rows worth a
     * write to the temporary file. */
    uint64_t freeze_rows, bypass_rows, thaw_rows, quota_bytes;
    uint64_t probed, missed, again; /* since frozen, or judged last; again: in recent */
    uint64_t *recent;      /* [AX_HT_RECENT] rows staged last, as in a directory; NULL: not used */
    uint64_t staged_mark;  /* value of `staged` at the last look at repeats */
    uint64_t staged;
    uint64_t staged_str_bytes; /* string bytes of staged rows */
    uint64_t *sample;      /* [AX_HT_SAMPLE] hashes of staged rows, 0: empty */
    uint32_t sample_n, sample_rows;
    uint64_t owned;        /* so many first rows of local have strings of their own */
    bool frozen;
    bool bypass;           /* frozen table hardly ever hits: not probed */
} ax_ht_lane;

#define AX_HT_SAMPLE 16384u
#define AX_HT_RECENT 16384u

typedef struct ax_ht
{
    ax_ht_layout lay;
    uint32_t nlanes;
    uint32_t pbits;          /* log2 of partitions */
    uint64_t freeze_rows;
    int64_t group_limit;     /* 0: none */
    ax_spill *spill;         /* borrowed; NULL: staged rows stay in memory */
    uint32_t tables;         /* so many share the memory for staged rows */
    ax_ht_lane **lane;       /* [nlanes] */
    /* Groups chosen under group_limit: guarded by lock until `full`, then immutable. */
    pthread_mutex_t lock;
    bool has_lock;
    _Atomic bool full;       /* release after the last insert, acquire before unlocked reads */
    ax_ht_dir chosen;
    ax_ht_rows chosen_rows;
    ax_arena *chosen_mem;
} ax_ht;

/* ---- ht_key.c: layout and images ------------------------------------------------------------- */

/* state_bytes: multiple of 8.  null_row: a single key of whole words may do without null bits. */
ax_status ax_ht_layout_init(ax_task *t, ax_arena *a, ax_ht_layout *lay, const ax_type *key,
                            uint32_t nkeys, uint32_t state_bytes, bool null_row) AX_MUST_USE;

/* Images and hashes of rows sel[0..n) (NULL: 0..n).  *null: row is null and belongs to null_row, or
 * NULL if there is none such. */
ax_status ax_ht_images(ax_task *t, const ax_ht_layout *lay, ax_arena *scratch,
                       const ax_vec *const *col, const uint16_t *sel, uint32_t n, uint64_t *img,
                       uint64_t *hash, const uint8_t **null) AX_MUST_USE;

uint8_t ax_ht_find_shape(const ax_ht_layout *lay); /* kw, str_w and mask are set */
uint64_t ax_ht_image_hash(const ax_ht_layout *lay, const uint64_t *img);
bool ax_ht_image_eq(const ax_ht_layout *lay, const uint64_t *a, const uint64_t *b);

/* Key k of the groups in row[0..n) as a vector; null_row: the row whose key is null, or NULL. */
ax_status ax_ht_key_vec(ax_task *t, ax_arena *a, const ax_ht_layout *lay, uint32_t k,
                        uint8_t *const *row, uint32_t n, const uint8_t *null_row, ax_vec *out)
    AX_MUST_USE;

static inline uint64_t *ax_ht_img(const ax_ht_layout *lay, uint8_t *row)
{
    return (uint64_t *) (void *) (row + lay->img_off);
}

static inline uint64_t ax_ht_row_hash(const ax_ht_layout *lay, uint8_t *row)
{
    return lay->stored_hash ? *(uint64_t *) (void *) row
                            : ax_ht_image_hash(lay, ax_ht_img(lay, row));
}

/* Bytes of the long strings of an image. */
static inline uint64_t ax_ht_long_bytes(const ax_ht_layout *lay, const uint64_t *img)
{
    uint64_t sum = 0;

    for (uint32_t w = lay->str_w; w < lay->kw; w += 2)
    {
        uint64_t len = img[w] & AX_HT_LEN_MASK;

        if (len > AX_HT_INLINE_MAX)
            sum += (len + 7) & ~(uint64_t) 7;
    }
    return sum;
}

/* Those that stand behind its row. */
static inline uint64_t ax_ht_str_bytes(const ax_ht_layout *lay, const uint64_t *img)
{
    return lay->borrow_str ? 0 : ax_ht_long_bytes(lay, img);
}

/* ---- ht_table.c: rows and the directory ------------------------------------------------------ */

/* Append a row with this image and zero states. NULL: out of memory. */
uint8_t *ax_ht_row_add(ax_arena *mem, const ax_ht_layout *lay, ax_ht_rows *rows, uint64_t hash,
                       const uint64_t *img);

/* Copies of the long strings of an image, to room for so many, or in mem. */
void ax_ht_put_strings(const ax_ht_layout *lay, uint64_t *img, uint8_t *to);
ax_status ax_ht_copy_strings(ax_task *t, ax_arena *mem, const ax_ht_layout *lay, uint64_t *img)
    AX_MUST_USE;
static inline void ax_ht_rows_close(ax_ht_rows *rows)
{
    if (rows->last != NULL)
        rows->last->used_bytes = (uint64_t) (rows->at - (uint8_t *) (rows->last + 1));
}

/* Rows are appended to hundreds of places in turn, and stores to lines that are in no cache hold up
 * all later ones: fetch the lines to come for writing. */
static inline void ax_ht_prefetch_free(const ax_ht_rows *rows)
{
    __builtin_prefetch(rows->at + 128, 1);
}

/* Take a chunk that nobody uses any more. */
void ax_ht_spare_put(ax_ht_spare *s, ax_ht_chunk *c);

ax_status ax_ht_dir_init(ax_task *t, ax_arena *mem, ax_ht_dir *d, uint64_t expect) AX_MUST_USE;
ax_status ax_ht_dir_grow(ax_task *t, ax_arena *mem, const ax_ht_layout *lay, ax_ht_dir *d)
    AX_MUST_USE;
uint8_t *ax_ht_dir_find(const ax_ht_layout *lay, const ax_ht_dir *d, uint64_t hash,
                        const uint64_t *img);

/* A directory is at most 5/8 full: a power of two, so on average less than half. */
#define AX_HT_DIR_LIMIT(slots) ((slots) / 8 * 5)

#define AX_HT_PTR_MASK 0xffffffffffffull
static inline uint64_t ax_ht_slot_of(const ax_ht_dir *d, uint64_t hash)
{
    return (hash >> 16) & d->mask;
}

/* Insert a row that is known to be absent; the directory has room. */
static inline void ax_ht_dir_put(ax_ht_dir *d, uint64_t hash, uint8_t *row)
{
    uint64_t s = ax_ht_slot_of(d, hash);

    while (d->slot[s] != 0)
        s = (s + 1) & d->mask;
    d->slot[s] = hash << 48 | (uint64_t) (uintptr_t) row;
    d->n++;
}

/* ---- ht_lane.c: rows of a batch to groups ---------------------------------------------------- */

/* lay is filled by the caller before; busy: lanes that work at the same time. */
ax_status ax_ht_init(ax_task *t, ax_arena *a, ax_ht *ht, uint32_t nlanes, uint32_t busy,
                     double est_groups, int64_t group_limit) AX_MUST_USE;
void ax_ht_fini(ax_ht *ht);

/* The table is one of so many that share a run's memory, and may write to spill (or NULL). */
void ax_ht_share(ax_ht *ht, ax_spill *spill, uint32_t tables);

/* Group of each of the rows sel[0..n) (NULL: 0..n). */
ax_status ax_ht_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                        const uint16_t *sel, uint32_t n, uint8_t **row) AX_MUST_USE;

/* The same by hash only, and, in ht_dense.c, by direct addressing; *done tells if that could. */
ax_status ax_ht_hash_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                             const uint16_t *sel, uint32_t n, uint8_t **row) AX_MUST_USE;
ax_status ax_ht_dense_resolve(ax_task *t, ax_ht *ht, ax_ht_lane *l, const ax_vec *const *col,
                              const uint16_t *sel, uint32_t n, uint8_t **row, bool *done)
    AX_MUST_USE;

/* The same for images and hashes that stand in l->img and l->hash. */
ax_status ax_ht_resolve_images(ax_task *t, ax_ht *ht, ax_ht_lane *l, uint32_t n,
                               const uint8_t *null, uint8_t **row) AX_MUST_USE;

/* Groups that the lane does not know are staged from now on. */
ax_status ax_ht_freeze(ax_task *t, const ax_ht *ht, ax_ht_lane *l) AX_MUST_USE;
void ax_ht_dense_forget(ax_ht_lane *l);

/* ht_spill.c.  Between batches: is memory so short that staged rows should go?  Then write them to
 * the temporary file.  Addresses of staged rows that the caller has got before are void. */
ax_status ax_ht_relieve(ax_task *t, ax_ht *ht, ax_ht_lane *l, bool *due) AX_MUST_USE;
ax_status ax_ht_spill(ax_task *t, ax_ht *ht, ax_ht_lane *l) AX_MUST_USE;

/* The lane's own rows get copies of the strings they have borrowed until now. */
ax_status ax_ht_own_strings(ax_task *t, const ax_ht *ht, ax_ht_lane *l) AX_MUST_USE;

/* Hand the spilled rows of a partition to take; the row is valid until take(arg, NULL).  room: to
 * read into, for one partition after the other. */
typedef struct ax_ht_room { ax_arena *mem; uint8_t *buf; uint64_t cap; } ax_ht_room;
typedef ax_status (*ax_ht_take)(void *arg, uint8_t *row);
ax_status ax_ht_unspill(ax_task *t, const ax_ht *ht, const ax_ht_lane *l, ax_ht_room *room,
                        uint32_t part, ax_ht_take take, void *arg) AX_MUST_USE;

/* No more rows for this lane. */
ax_status ax_ht_lane_end(ax_task *t, ax_ht *ht, ax_ht_lane *l) AX_MUST_USE;

/* ---- ht_build.c: groups of all lanes --------------------------------------------------------- */

#define AX_HT_BLOCK AX_BATCH_ROWS
typedef struct ax_ht_block
{
    struct ax_ht_block *next;
    uint32_t n;
    uint8_t *row[AX_HT_BLOCK];
} ax_ht_block;

/* Merge states of src[i] into dst[i]. */
typedef ax_status (*ax_ht_merge)(ax_task *t, void *arg, uint8_t *const *dst, uint8_t *const *src,
                                 uint32_t n);

typedef struct ax_ht_groups
{
    ax_ht_dir dir;
    ax_ht_block *first, *last; /* in mem */
    uint64_t n;
} ax_ht_groups;

/* Groups of partitions [part, part + nparts), in mem, without null rows.  The directory is made
 * only when it is needed to find equal rows, or with need_dir.  merge may be NULL: no states. */
ax_status ax_ht_build(ax_task *t, ax_ht *ht, ax_arena *mem, uint32_t part, uint32_t nparts,
                      bool need_dir, ax_ht_merge merge, void *arg, ax_ht_groups *out) AX_MUST_USE;

/* The null rows of all lanes merged into one; NULL if there is none. */
ax_status ax_ht_null_row(ax_task *t, ax_ht *ht, ax_ht_merge merge, void *arg, uint8_t **out)
    AX_MUST_USE;

#endif
