/* GREATEST and LEAST of two values: nulls are passed over, of equal values the first is taken. */
#include "func/call_int.h"

#include <string.h>

/* Whether the second value is to be taken, for rows that have both. */
static inline bool takes_second(int cmp, bool least) { return least ? cmp > 0 : cmp < 0; }

/* take[i] = row from + i takes the second value; n <= AX_BATCH_ROWS.  take has 64 bytes more. */
static void compare(const ax_call *c, const ax_call_io *io, uint32_t from, uint32_t n,
                    uint8_t *take)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    bool least = c->fn == AX_FN_LEAST, a_const = a->kind == AX_VK_CONST;
    uint32_t width = ax_phys_width(c->arg.phys);
    const uint8_t *x = (const uint8_t *) a->u.data, *y = (const uint8_t *) b->u.data;

    x += a_const ? 0 : (size_t) from * width;
    y += b->kind == AX_VK_CONST ? 0 : (size_t) from * width;
    if (a_const) /* the constant goes to the right: b < a */
        ax_k_get()->cmp[c->kt][least ? AX_KC_LT : AX_KC_GT][1](y, x, take, n);
    else
        ax_k_get()->cmp[c->kt][least ? AX_KC_GT : AX_KC_LT][b->kind == AX_VK_CONST](x, y, take, n);
}

static inline bool null_at(const ax_vec *v, uint32_t row)
{
    return v->null != NULL && v->null[ax_arg_row(v, row)];
}

/* Write the null of a row; returns whether there is a value. */
static inline bool has_value(ax_call_io *io, uint32_t row, bool na, bool nb)
{
    io->null[row] = na && nb;
    io->has_null |= na && nb;
    return !(na && nb);
}

#define PICK_LOOP(T)                                                                               \
    for (uint32_t i = 0; i < n; i++)                                                               \
    ((T *) io->data)[from + i] = take[i] ? ((const T *) b->u.data)[ax_arg_row(b, from + i)]        \
                                         : ((const T *) a->u.data)[ax_arg_row(a, from + i)]

/* Types with kernels: all rows. */
static ax_status run_pick_fixed(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    uint8_t take[AX_BATCH_ROWS + 64];

    io->has_null = false;
    for (uint32_t from = 0, n; from < io->n; from += n)
    {
        n = io->n - from < AX_BATCH_ROWS ? io->n - from : AX_BATCH_ROWS;
        compare(c, io, from, n, take);
        for (uint32_t i = 0; (a->null != NULL || b->null != NULL) && i < n; i++)
        {
            bool na = null_at(a, from + i), nb = null_at(b, from + i);

            (void) has_value(io, from + i, na, nb);
            take[i] = !nb && (na || take[i]);
        }
        switch (ax_phys_width(c->arg.phys))
        {
            case 1: PICK_LOOP(uint8_t); break;
            case 2: PICK_LOOP(uint16_t); break;
            case 4: PICK_LOOP(uint32_t); break;
            default: PICK_LOOP(uint64_t); break;
        }
    }
    return AX_OK;
}

/* Decimals, intervals and uuids. */
static ax_status run_pick_value(const ax_call *c, ax_call_io *io)
{
    uint32_t width = ax_phys_width(c->arg.phys);

    io->has_null = false;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i);
        ax_value x = ax_vec_value(io->arg[0], row), y = ax_vec_value(io->arg[1], row);
        const ax_vec *from;

        if (!has_value(io, row, x.null, y.null))
            continue;
        from = y.null || (!x.null && !takes_second(ax_value_cmp(&x, &y), c->fn == AX_FN_LEAST))
                   ? io->arg[0]
                   : io->arg[1];
        memcpy((uint8_t *) io->data + (size_t) row * width,
               (const uint8_t *) from->u.data + (size_t) ax_arg_row(from, row) * width, width);
    }
    return AX_OK;
}

static inline int compare_str(const ax_call *c, const uint8_t *x, uint32_t xn, const uint8_t *y,
                              uint32_t yn)
{
    if (c->arg.id == AX_T_BPCHAR)
        return ax_bytes_cmp(x, ax_bpchar_len(x, xn), y, ax_bpchar_len(y, yn));
    return ax_bytes_cmp(x, xn, y, yn);
}

static ax_status run_pick_str(const ax_call *c, ax_call_io *io)
{
    const ax_vec *a = io->arg[0], *b = io->arg[1];
    const uint8_t **ptr = (const uint8_t **) io->data;

    io->has_null = false;
    for (uint32_t i = 0; i < ax_io_rows(io); i++)
    {
        uint32_t row = ax_io_row(io, i), xn = 0, yn = 0;
        bool na = null_at(a, row), nb = null_at(b, row);
        const uint8_t *x, *y;

        ptr[row] = (const uint8_t *) io->len;
        io->len[row] = 0;
        if (!has_value(io, row, na, nb))
            continue;
        x = na ? NULL : ax_vec_str(a, row, &xn);
        y = nb ? NULL : ax_vec_str(b, row, &yn);
        if (na || (!nb && takes_second(compare_str(c, x, xn, y, yn), c->fn == AX_FN_LEAST)))
        {
            x = y;
            xn = yn;
        }
        ptr[row] = x;
        io->len[row] = xn;
    }
    return AX_OK;
}

ax_status ax_bind_pick(ax_task *t, ax_call *c)
{
    (void) t;
    c->kt = (uint8_t) ax_kt_of(c->arg.phys);
    c->whole = c->kt != AX_KT_CNT;
    c->run = c->whole                   ? run_pick_fixed
             : c->arg.phys == AX_P_STR ? run_pick_str
                                       : run_pick_value;
    return AX_OK;
}
