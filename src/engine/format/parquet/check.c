/* Is the text of a window valid?  Asked late: about the rows that leave, or whose characters count.
 *
 * Why late: a filter on a column of text drops most rows by their bytes, and checking all of them
 * cost more than the filter (docs/decisions/0009). */
#include "parquet_int.h"

static bool row_ok(const ax_pq_col *c, uint32_t row, bool *ascii)
{
    const uint32_t none = 0;

    if (c->rep == REP_VIEW)
        return ax_utf8_ok(c->sptr[row], &none, c->slen + row, 1, -1, ascii);
    return ax_utf8_ok(c->win_base, c->soff + row, c->slen + row, 1, -1, ascii);
}

/* Is one look at all bytes cheaper than one at each selected row?  Measured: 0.1 ns a byte, 12 ns
 * and more a row. */
static bool whole_is_cheaper(const ax_pq_col *c, uint32_t n, uint32_t nsel)
{
    uint64_t span = (uint64_t) c->soff[n - 1] + c->slen[n - 1] - c->soff[0];

    return span <= 128 * (uint64_t) nsel;
}

/* Rows that nobody selected become empty, so that no invalid text is left in the window. */
static ax_status check_rows(ax_task *t, ax_pq_col *c, const uint16_t *sel, uint32_t nsel,
                            uint32_t n)
{
    bool ascii = true;
    uint32_t row, k = 0;

    for (row = 0; row < n; row++)
    {
        if (sel != NULL && (k == nsel || sel[k] != row))
        {
            c->slen[row] = 0;
            continue;
        }
        k++;
        if (row_ok(c, row, &ascii))
            continue;
        c->fail_row = row;
        return ax_fail(t, AX_ETEXT, "text is not valid UTF-8 or contains a NUL byte");
    }
    return AX_OK;
}

ax_status ax_pq_col_check(ax_task *t, ax_pq_col *c, const uint16_t *sel, uint32_t nsel, ax_vec *v)
{
    bool ascii = true;

    c->fail_row = UINT32_MAX;
    if (!c->unchecked)
        return AX_OK;
    c->unchecked = false;
    if (v->kind == AX_VK_CONST)
        return AX_OK; /* nothing but nulls */
    if (c->rep == REP_STR && c->win_gap >= 0 &&
        (sel == NULL || whole_is_cheaper(c, v->n, nsel)) &&
        ax_utf8_ok(c->win_base, c->soff, c->slen, v->n, c->win_gap, &ascii))
    {
        v->flags |= ascii ? AX_VF_ASCII : 0;
        return AX_OK;
    }
    return check_rows(t, c, sel, nsel, v->n);
}
