/* Binding of declared columns that need no bytes of a file, and of numbers to declared scales. */
#include "format/format.h"

#include <string.h>

ax_status ax_fmt_bind_init(ax_task *t, ax_arena *a, ax_fmt_file *f, const ax_colspec *col,
                           uint32_t ncols, ax_fmt_bind *b)
{
    AX_NEW(t, b->constant, (bool *) ax_arena_alloc0(a, ncols + 1));
    AX_NEW(t, b->value, (ax_value *) ax_arena_alloc0(a, ncols * sizeof(ax_value) + 1));
    b->file = f;
    b->col = col;
    b->ncols = ncols;
    return AX_OK;
}

static ax_status text_value(ax_task *t, ax_arena *a, const char *s, size_t n, ax_value *v)
{
    v->type = ax_type_make(AX_T_TEXT);
    v->u.s.len = (uint32_t) n;
    AX_NEW(t, v->u.s.p, (const uint8_t *) ax_arena_strndup(a, s, n));
    return AX_OK;
}

static void default_value(const ax_colspec *col, ax_value *v)
{
    *v = col->deflt != NULL ? *col->deflt : (ax_value){.type = col->type, .null = true};
}

/* What is known of the whole file; positions are made by windows. */
static ax_status virtual_value(ax_task *t, ax_arena *a, const ax_fmt_names *names,
                               const ax_colspec *col, ax_value *v, bool *constant)
{
    v->type = col->type;
    *constant = true;
    switch (col->virt)
    {
        case AX_VIRT_PATH:
            return text_value(t, a, names->path, strlen(names->path), v);
        case AX_VIRT_FILE:
            return text_value(t, a, names->file, strlen(names->file), v);
        case AX_VIRT_PART:
        case AX_VIRT_PARTITION:
            if (names->part == NULL)
                break;
            return text_value(t, a, names->part,
                              col->virt == AX_VIRT_PART ? strlen(names->part)
                                                        : names->partition_len, v);
        case AX_VIRT_SIZE:
            v->u.i = names->size;
            return AX_OK;
        case AX_VIRT_MTIME:
            v->null = names->id == NULL;
            v->u.i = v->null ? 0 : names->id->mtime_ns / 1000 - AX_Y2K_US;
            return AX_OK;
        case AX_VIRT_PART_OFFSET:
            if (names->part == NULL)
                break;
            *constant = false;
            return AX_OK;
        case AX_VIRT_ROW_NUMBER:
        case AX_VIRT_ROW_GROUP:
        case AX_VIRT_ROWID:
            *constant = false;
            return AX_OK;
        default:
            break;
    }
    default_value(col, v);
    return AX_OK;
}

ax_status ax_fmt_bind_outside(ax_task *t, ax_arena *a, const ax_fmt_names *names,
                              const ax_bind_opts *opts, ax_fmt_bind *b, uint32_t i, bool *bound)
{
    const ax_colspec *col = &b->col[i];

    *bound = true;
    for (uint32_t k = 0; k < opts->nfixed; k++)
        if (opts->fixed[k].col == i)
        {
            b->constant[i] = true;
            b->value[i] = opts->fixed[k].value;
            return AX_OK;
        }
    if (col->virt != AX_VIRT_NONE && col->virt != AX_VIRT_ORDER)
        return virtual_value(t, a, names, col, &b->value[i], &b->constant[i]);
    *bound = false;
    return AX_OK;
}

ax_status ax_fmt_bind_missing(ax_task *t, const ax_fmt_names *names, const ax_bind_opts *opts,
                              ax_fmt_bind *b, uint32_t i)
{
    const ax_colspec *col = &b->col[i];

    AX_CHECK(t, opts->allow_missing || col->deflt != NULL, AX_ENOCOLUMN,
             "column \"%s\" does not exist in the %s",
             col->npath > 0 ? col->path[col->npath - 1] : col->name, names->noun);
    b->constant[i] = true;
    default_value(col, &b->value[i]);
    AX_CHECK(t, !b->value[i].null || !col->not_null, AX_ENOTNULL,
             "column declared NOT NULL does not exist in the %s", names->noun);
    return AX_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static ax_i128 pow10_of(int n)
{
    ax_i128 v = 1;

    while (n-- > 0)
        v *= 10;
    return v;
}

bool ax_fmt_digits_init(ax_type type, int32_t scale, ax_fmt_digits *d)
{
    int32_t want = type.precision > 0 ? type.scale : scale, rescale = want - scale;
    int32_t digits = rescale < 0 ? -rescale : rescale;

    d->most = pow10_of(type.precision > 0 && type.precision < 38 ? type.precision : 38);
    d->factor = pow10_of(digits < 38 ? digits : 0);
    d->room = d->most / d->factor;
    d->dscale = (int16_t) want;
    d->rescale = (int16_t) rescale;
    d->precision = (int16_t) type.precision;
    return want >= 0 && digits < 38;
}
