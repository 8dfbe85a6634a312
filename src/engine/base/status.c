/* Names, texts and SQLSTATEs of the status list, and the printed form of an error. */
#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row
{
    const char *name;
    const char *text;
    const char *sqlstate;
} status_row;

static const status_row status_rows[AX_STATUS_CNT] = {
    [AX_OK] = {"OK", "success", "00000"},
#define AX_STATUS(name, sqlstate, text) [AX_##name] = {#name, text, sqlstate},
#include "base/status.def"
#undef AX_STATUS
};

/* A number outside the list can only come from a mistake of ours; it still prints. */
static const status_row *row_of(ax_status s)
{
    static const status_row unknown = {"EUNKNOWN", "unknown status", "XX000"};

    return (unsigned) s < AX_STATUS_CNT ? &status_rows[s] : &unknown;
}

const char *ax_status_name(ax_status s) { return row_of(s)->name; }
const char *ax_status_text(ax_status s) { return row_of(s)->text; }
const char *ax_status_sqlstate(ax_status s) { return row_of(s)->sqlstate; }

void ax_error_clear(ax_error *e)
{
    /* Not a memset of the whole: the slot is over a kilobyte and cleared per task. */
    e->code = AX_OK;
    e->os_errno = 0;
    e->msg[0] = '\0';
    e->detail[0] = '\0';
    e->place.file[0] = '\0';
    e->place.column[0] = '\0';
    e->place.unit[0] = '\0';
    e->place.unit_idx = -1;
    e->place.page_idx = -1;
    e->place.byte_off = -1;
    e->place.row = -1;
    e->src_file = NULL;
    e->src_line = 0;
}

/* ---- formatting ----------------------------------------------------------------------------- */

typedef struct sink
{
    char *out;
    uint32_t len;
    uint32_t cap;   /* room including the terminating zero */
    uint32_t parts; /* facts written between the brackets */
} sink;

static void sink_put(sink *s, const char *fmt, ...) AX_PRINTF(2, 3);

static void sink_put(sink *s, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (s->len + 1 >= s->cap)
        return;
    va_start(ap, fmt);
    n = vsnprintf(s->out + s->len, s->cap - s->len, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    s->len += (uint32_t) n;
    if (s->len > s->cap - 1)
        s->len = s->cap - 1;
}

static void sink_sep(sink *s) { sink_put(s, s->parts++ == 0 ? " (" : ", "); }

uint32_t ax_error_format(const ax_error *e, char *out, uint32_t out_len)
{
    sink s = {out, 0, out_len, 0};
    const ax_place *p = &e->place;

    out[0] = '\0';
    sink_put(&s, "%s", e->msg[0] != '\0' ? e->msg : ax_status_text(e->code));
    if (p->file[0] != '\0')
    {
        sink_sep(&s);
        sink_put(&s, "file \"%s\"", p->file);
    }
    if (p->unit_idx >= 0)
    {
        sink_sep(&s);
        sink_put(&s, "%s %" PRId64, p->unit[0] != '\0' ? p->unit : "unit", p->unit_idx);
    }
    if (p->column[0] != '\0')
    {
        sink_sep(&s);
        sink_put(&s, "column \"%s\"", p->column);
    }
    if (p->page_idx >= 0)
    {
        sink_sep(&s);
        sink_put(&s, "page %" PRId64, p->page_idx);
    }
    if (p->byte_off >= 0)
    {
        sink_sep(&s);
        sink_put(&s, "offset %" PRId64, p->byte_off);
    }
    if (p->row >= 0)
    {
        sink_sep(&s);
        sink_put(&s, "row %" PRId64, p->row);
    }
    if (s.parts > 0)
        sink_put(&s, ")");
    return s.len;
}
