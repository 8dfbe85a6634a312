/* What the scans of one row group share: share.c (bytes, dictionaries, rows), share_page.c (large
 * pages). */
#ifndef AX_PARQUET_SHARE_INT_H
#define AX_PARQUET_SHARE_INT_H

#include "parquet_int.h"

/* A page that several scans decompress. */
typedef struct ax_pq_team
{
    uint8_t state;            /* private to share_page.c; 0: nobody began */
    bool failed;              /* what was cut is no piece */
    bool wanted;              /* by the pages that stay */
    ax_pq_packed in;
    ax_cdc_cut *cut;
    uint32_t next, done;      /* walks or pieces: taken, finished */
    ax_buf *body;             /* owned */
    ax_pq_mark *marks;        /* where its strings stand, in the same arena, or NULL */
} ax_pq_team;

enum { PQ_WHOLE_FREE, PQ_WHOLE_TAKEN, PQ_WHOLE_READY };

/* Of a column's chunk: its bytes, its dictionary, and its data pages where they are few. */
typedef struct ax_pq_whole
{
    uint8_t chunk_state, dict_state; /* PQ_WHOLE_* */
    ax_buf *chunk;            /* owned */
    ax_pq_team dict_page;
    ax_pq_team *page;         /* [npages] or NULL */
    uint32_t npages;
    ax_dict *dict;            /* owned through its arena; scans have dictionaries of their own with
                               * the same values, since caches hang on them */
    uint8_t *dict_bad;        /* in that arena */
} ax_pq_whole;

/* Guarded by the ax_fmt_share's lock. */
typedef struct ax_pq_shared
{
    ax_arena *arena;
    ax_pq_whole *whole;       /* [n] as the scans' col */
    uint32_t n;
} ax_pq_shared;

/* Take part in decompressing page p of column c, whose team is m.  AX_OK and *wait: others have not
 * finished yet.  AX_OK, *wait false: m->body is the page, and stays as it is. */
ax_status ax_pq_team_page(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m,
                          const ax_pq_page *p, bool *wait) AX_MUST_USE;
void ax_pq_team_free(ax_pq_team *m);

#endif
