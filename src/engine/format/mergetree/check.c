/* Is the text of a window valid?  Asked late, as of Parquet files: of the rows that leave, or whose
 * characters a condition looks at (docs/decisions/0009). */
#include "scan_int.h"

#include "base/utf8.h"

/* Is the column text that may be checked late?  Dictionaries are checked once a value, defaults
 * when they are made. */
bool ax_mt_checks_late(const ax_mt_conv *c, const ax_mt_node *node)
{
    if (!c->check_text || node->deflt != NULL)
        return false;
    if (node->form == MT_F_NULLABLE || node->form == MT_F_SPARSE)
        node = node->child[0];
    return node->deflt == NULL && (node->form == MT_F_STRING || node->form == MT_F_STRING_SIZE ||
                                   (node->form == MT_F_FIXED && c->kind == MT_C_FIXSTR));
}

static bool row_ok(const ax_vec *v, uint32_t row)
{
    static const uint32_t zero = 0;
    bool ascii = true;

    if (v->kind == AX_VK_VIEW)
        return ax_utf8_ok(v->u.view.ptr[row], &zero, v->u.view.len + row, 1, -1, &ascii);
    return ax_utf8_ok(v->u.str.base, v->u.str.off + row, v->u.str.len + row, 1, -1, &ascii);
}

/* Do the strings stand behind each other, with no more bytes than are worth one look?  One at each
 * selected row costs as much as one at 128 bytes. */
static bool at_once(const ax_vec *v, uint32_t nsel)
{
    const uint32_t *off = v->u.str.off, *len = v->u.str.len;
    uint32_t n = v->n;

    if (v->kind != AX_VK_FLAT || n < 2 || off[1] != off[0] + len[0])
        return false;
    return (uint64_t) off[n - 1] + len[n - 1] - off[0] <= 128 * (uint64_t) nsel;
}

ax_status ax_mt_check_text(ax_task *t, const uint16_t *sel, uint32_t nsel, ax_vec *v,
                           uint32_t *fail_row)
{
    uint32_t *len = (uint32_t *) (uintptr_t) (v->kind == AX_VK_VIEW ? v->u.view.len
                                                                     : v->u.str.len);
    bool ascii = true;
    uint32_t k = 0;

    *fail_row = UINT32_MAX;
    if (v->kind != AX_VK_FLAT && v->kind != AX_VK_VIEW)
        return AX_OK; /* there is no row, or nothing but nulls */
    if (at_once(v, nsel) && ax_utf8_ok(v->u.str.base, v->u.str.off, len, v->n, 0, &ascii))
    {
        v->flags |= ascii ? AX_VF_ASCII : 0;
        return AX_OK;
    }
    for (uint32_t row = 0; row < v->n; row++)
    {
        if (sel != NULL && (k == nsel || sel[k] != row))
        {
            /* So that no invalid text is left in the window. */
            len[row] = 0;
            continue;
        }
        k++;
        if (row_ok(v, row))
            continue;
        *fail_row = row;
        return ax_fail(t, AX_ETEXT, "value is no valid UTF-8");
    }
    return AX_OK;
}
