/* Private to func/: what a bound call is, and the families of functions behind it. */
#ifndef AX_CALL_INT_H
#define AX_CALL_INT_H

#include "func/datetime.h"
#include "func/regex.h"
#include "func/text.h"

struct in_set;

/* The arguments of one row; which of the two by type. */
typedef struct ax_row_args { ax_text s[AX_FN_MAX_ARGS]; int32_t k[AX_FN_MAX_ARGS]; } ax_row_args;

/* ENOMEM, or what the server raises. */
typedef ax_status (*ax_str_body)(const ax_call *c, const ax_row_args *x, ax_arena *a, ax_text *out);

struct ax_call
{
    /* Arguments are not all constant, their nulls are in io->null already when `strict`. */
    ax_status (*run)(const ax_call *c, ax_call_io *io);
    uint16_t fn;
    uint8_t nargs;
    bool strict;          /* a null argument makes the result null */
    bool whole;           /* runs over all rows, selected or not */
    bool invert;          /* NE, NOT_LIKE, NOT IN: computed as their opposite */
    uint8_t kt, op, cast; /* ax_kt; ax_kcmp or ax_karith; ax_kcast */
    ax_type arg;          /* of argument 0 */
    ax_type result;
    const ax_value *konst[AX_FN_MAX_ARGS];
    int64_t unit;         /* functions with a unit: which */
    ax_like like;
    const struct in_set *set;
    ax_zone *zone;        /* functions with a zone; NULL while planning */
    const ax_regex *regex;
    const ax_reseq *seq;
    ax_str_body body;     /* functions of text that run value by value */
    bool set_null;        /* IN: the list has a null */
};

/* Kernel type of a physical type; AX_KT_CNT: none. */
ax_kt ax_kt_of(uint8_t phys);

/* Bind a family: set run and what it needs.  EUNSUPPORTED when there is no kernel. */
ax_status ax_bind_compare(ax_task *t, ax_call *c);
ax_status ax_bind_arith(ax_task *t, ax_call *c);
ax_status ax_bind_cast(ax_task *t, ax_call *c);
ax_status ax_bind_bool(ax_task *t, ax_call *c);
ax_status ax_bind_text(ax_task *t, ax_arena *a, ax_call *c);
ax_status ax_bind_str(ax_task *t, ax_arena *a, ax_call *c);
ax_status ax_bind_regex(ax_task *t, ax_arena *a, ax_call *c);
ax_status ax_bind_time(ax_task *t, ax_call *c, const ax_type *args);
ax_status ax_bind_zone(ax_task *t, ax_arena *a, ax_call *c);
ax_status ax_bind_math(ax_task *t, ax_call *c);
ax_status ax_bind_float(ax_task *t, ax_call *c);
ax_status ax_bind_interval(ax_task *t, ax_call *c);
ax_status ax_bind_conv(ax_task *t, ax_call *c);
ax_status ax_bind_pick(ax_task *t, ax_call *c);
ax_status ax_bind_numeric(ax_task *t, ax_call *c);
/* Their combinations of types; NULL or why not, as ax_fn_resolve. */
const char *ax_resolve_interval(ax_fn fn, const ax_type *args, ax_fn_shape *out);
const char *ax_resolve_conv(ax_fn fn, const ax_type *args);
bool ax_numeric_can_raise(ax_fn fn, const ax_type *args, const ax_value *const *konst);

/* May the rows be searched as one span of bytes? */
bool ax_is_span(const ax_vec *v, const ax_call_io *io);

/* date_trunc of this unit; NULL: not known. */
bool ax_trunc_can_raise(const ax_value *unit);

/* Fail at row i. */
static inline ax_status ax_row_fail(ax_call_io *io, ax_status code, uint32_t row, const char *msg)
{
    io->fail_row = row;
    io->fail_msg = msg;
    return code;
}

static inline uint32_t ax_io_rows(const ax_call_io *io) { return io->sel ? io->nsel : io->n; }
static inline uint32_t ax_io_row(const ax_call_io *io, uint32_t i)
{
    return io->sel ? io->sel[i] : i;
}
static inline bool ax_io_null(const ax_call_io *io, uint32_t row)
{
    return io->has_null && io->null[row];
}

/* A string argument as kernels see it; CONST has one row. */
static inline ax_strs ax_strs_of(const ax_vec *v)
{
    if (v->kind == AX_VK_VIEW)
        return (ax_strs){NULL, NULL, v->u.view.ptr, v->u.view.len};
    return (ax_strs){v->u.str.base, v->u.str.off, NULL, v->u.str.len};
}

/* Row of a fixed-width argument: 0 when it is constant. */
static inline uint32_t ax_arg_row(const ax_vec *v, uint32_t row)
{
    return v->kind == AX_VK_CONST ? 0 : row;
}

#endif
