/* Status codes and the error slot.
 *
 * Every fallible engine function returns ax_status; AX_OK is 0.  What went wrong, and where, is in
 * an ax_error: a fixed struct without pointers to anything that dies, so that reporting allocates
 * nothing (out of memory can be reported too) and an error can be copied between threads. */
#ifndef AX_STATUS_H
#define AX_STATUS_H

#include <stdint.h>

typedef enum ax_status
{
    AX_OK = 0,
#define AX_STATUS(name, sqlstate, text) AX_##name,
#include "base/status.def"
#undef AX_STATUS
    AX_STATUS_CNT
} ax_status;

#define AX_MUST_USE __attribute__((warn_unused_result))
#define AX_COLD __attribute__((cold, noinline))
#define AX_PRINTF(fmt_idx, arg_idx) __attribute__((format(printf, fmt_idx, arg_idx)))

/* Name of a status without prefix ("ECORRUPT"), its English text, and its five-character
 * SQLSTATE.  Valid for every value of ax_status, AX_OK included.  Thread: any. */
const char *ax_status_name(ax_status s);
const char *ax_status_text(ax_status s);
const char *ax_status_sqlstate(ax_status s);

/* Where in the data an error happened.  Negative numbers and empty strings mean "not known". */
typedef struct ax_place
{
    char file[384];     /* path or URI as the user would write it, cut at the front when too long */
    char column[128];   /* column name, dotted for nested fields */
    char unit[32];      /* what `unit_idx` counts: "row group", "part", "granule" */
    int64_t unit_idx;   /* ordinal from 0 */
    int64_t page_idx;   /* ordinal of the page in its column chunk, from 0 */
    int64_t byte_off;   /* offset in the file */
    int64_t row;        /* row in the file, from 0 */
} ax_place;

typedef struct ax_error
{
    ax_status code;      /* AX_OK: the slot is empty */
    int os_errno;        /* errno of the system call that failed, or 0 */
    char msg[512];       /* one sentence in Postgres message style: lower case, no full stop */
    char detail[256];    /* further facts as sentences, or empty */
    char sqlstate[6];    /* EHOST: the code of the host's own error; else empty */
    ax_place place;
    const char *src_file; /* static storage */
    int src_line;
} ax_error;

/* Empty the slot.  Thread: the owner of the slot. */
void ax_error_clear(ax_error *e);

/* Write "msg (file "x", row group 3, column "c", page 2, offset 4711)" into out, always
 * terminated; returns the length written.  out has room for out_len >= 1 bytes. */
uint32_t ax_error_format(const ax_error *e, char *out, uint32_t out_len);

#endif
