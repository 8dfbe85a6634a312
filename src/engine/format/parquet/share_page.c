/* A page that several scans decompress.
 *
 *      FREE --> WALK (find where it can be cut) --> BUSY (join) --> PIECES --> READY
 *        \                                            | no cuts       | one of them was none
 *         +--> BUSY (one scan does it alone) <--------+---------------+
 *
 * BUSY belongs to one scan; walks and pieces are taken by whoever comes by.  A scan that finds
 * nothing left to take waits for the share's next epoch. */
#include "share_int.h"

enum { TEAM_FREE, TEAM_BUSY, TEAM_WALK, TEAM_PIECES, TEAM_READY };

/* Now in a state that others may have waited for; the lock is held. */
static void enter(ax_pq_col *c, ax_pq_team *m, const ax_pq_page *p, uint8_t state)
{
    ax_fmt_share *h = c->scan->req.share;

    if (state == TEAM_READY && m->wanted)
        ax_pq_page_keep(c, p, m->body);
    if (state == TEAM_FREE)
    {
        ax_buf_unref(m->body);
        m->body = NULL;
    }
    m->state = state;
    m->next = m->done = 0;
    ax_fmt_share_tell(h);
}

/* The lock is not held, and the team is BUSY by us, in the functions up to `take_part`. */

static ax_status alone(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m)
{
    return ax_cdc_decompress(t, s->cdc, c->codec, m->in.src, m->in.packed, m->body->data,
                             m->in.plain);
}

static ax_status begin(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m, const ax_pq_page *p,
                       bool *cut)
{
    *cut = false;
    m->body = ax_pq_page_kept(t, c, p, &m->wanted);
    if (m->body != NULL)
        return AX_OK;
    AX_TRY(ax_pq_page_source(t, c, p, &m->in));
    AX_CHECK(t, !m->in.stored, AX_ECORRUPT, "page of %zu bytes says that it is not compressed",
             m->in.packed);
    m->body = ax_buf_alloc(s->req.budget, m->in.plain);
    if (m->body == NULL)
        return ax_fail_nomem(t, m->in.plain);
    if (c->codec == AX_CDC_SNAPPY && m->cut != NULL)
        *cut = ax_cdc_cut_begin(m->in.src, m->in.packed, m->in.plain, m->cut);
    return *cut ? AX_OK : alone(t, s, c, m);
}

/* What take_part found to do. */
typedef struct part { uint8_t state; uint32_t i; } part;

static bool do_part(ax_pq_team *m, part w)
{
    if (w.state == TEAM_PIECES)
        return ax_cdc_cut_piece(m->cut, w.i, m->body->data);
    ax_cdc_cut_walk(m->cut, w.i);
    return true;
}

/* Something to do for the team; false: no part is left.  The lock is held. */
static bool take_part(ax_pq_team *m, part *out)
{
    uint32_t all = m->state == TEAM_WALK ? m->cut->nwalks : m->cut->npieces;

    *out = (part){m->state, m->next};
    if (m->next >= all)
        return false;
    m->next += m->state == TEAM_WALK ? AX_CDC_ABREAST : 1;
    return true;
}

/* A part is done; the last one of a state leads on.  The lock is held, and let go in between. */
static ax_status part_done(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m,
                           const ax_pq_page *p, part w)
{
    ax_fmt_share *h = s->req.share;
    bool walked = w.state == TEAM_WALK;
    uint8_t next = TEAM_READY;
    ax_status st = AX_OK;

    m->done += walked ? AX_CDC_ABREAST : 1;
    if (m->done < (walked ? m->cut->nwalks : m->cut->npieces))
        return AX_OK;
    if (walked || m->failed)
    {
        m->state = TEAM_BUSY;
        pthread_mutex_unlock(&h->lock);
        if (walked && ax_cdc_cut_join(m->cut) > 1)
            next = TEAM_PIECES;
        else
            st = alone(t, s, c, m);
        pthread_mutex_lock(&h->lock);
    }
    enter(c, m, p, st == AX_OK ? next : TEAM_FREE);
    return st;
}

/* Make the page's body, or what is to be done for it.  The lock is held, and let go in between. */
static ax_status first(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m, const ax_pq_page *p)
{
    ax_fmt_share *h = s->req.share;
    bool cut = false;
    ax_status st;

    m->state = TEAM_BUSY;
    if (m->cut == NULL)
        m->cut = (ax_cdc_cut *) ax_arena_alloc(((ax_pq_shared *) h->state)->arena, sizeof *m->cut);
    pthread_mutex_unlock(&h->lock);
    st = begin(t, s, c, m, p, &cut);
    if (p->type != PQ_PAGE_DICTIONARY)
        s->req.stats->pages++;
    pthread_mutex_lock(&h->lock);
    enter(c, m, p, st != AX_OK ? TEAM_FREE : cut ? TEAM_WALK : TEAM_READY);
    return st;
}

ax_status ax_pq_team_page(ax_task *t, ax_pq_scan *s, ax_pq_col *c, ax_pq_team *m,
                          const ax_pq_page *p, bool *wait)
{
    ax_fmt_share *h = s->req.share;
    ax_status st = AX_OK;
    part w;

    pthread_mutex_lock(&h->lock);
    if (m->state == TEAM_FREE)
        st = first(t, s, c, m, p);
    while (st == AX_OK && (m->state == TEAM_WALK || m->state == TEAM_PIECES) && take_part(m, &w))
    {
        bool ok;

        pthread_mutex_unlock(&h->lock);
        ok = do_part(m, w);
        pthread_mutex_lock(&h->lock);
        m->failed |= !ok;
        st = part_done(t, s, c, m, p, w);
    }
    *wait = m->state != TEAM_READY;
    pthread_mutex_unlock(&h->lock);
    return st;
}

void ax_pq_team_free(ax_pq_team *m)
{
    ax_buf_unref(m->body);
    m->body = NULL;
}
