/* Applies a call to single values: constants, bounds. */
#include "func/call_int.h"

#include <string.h>

ax_status ax_call_value(ax_task *t, ax_arena *a, const ax_call *c, const ax_value *args,
                        uint32_t nargs, ax_value *out, bool *raises)
{
    ax_vec vec[AX_FN_MAX_ARGS];
    ax_call_io io = {.n = 1, .nsel = 1, .arena = a};
    uint32_t width = ax_phys_width(c->result.phys);

    *raises = false;
    for (uint32_t i = 0; i < nargs; i++)
    {
        AX_TRY(ax_vec_const(t, a, &args[i], 1, &vec[i]));
        vec[i].kind = AX_VK_FLAT;
        io.arg[i] = &vec[i];
    }
    AX_NEW(t, io.data, ax_arena_values(a, width > 0 ? width : sizeof(void *)));
    AX_NEW(t, io.len, ax_arena_values(a, sizeof(uint32_t)));
    AX_NEW(t, io.null, ax_arena_values(a, 1));
    io.null[0] = 0;
    *out = (ax_value){.type = c->result};
    if (ax_call_run(c, &io) != AX_OK)
    {
        *raises = true;
        return AX_OK;
    }
    vec[0] = (ax_vec){.kind = AX_VK_FLAT, .type = c->result, .n = 1, .u.data = io.data};
    if (ax_type_is_str(c->result))
    {
        vec[0].kind = AX_VK_VIEW;
        vec[0].u.view.ptr = (const uint8_t *const *) io.data;
        vec[0].u.view.len = io.len;
    }
    if (io.has_null)
        vec[0].null = io.null;
    *out = ax_vec_value(&vec[0], 0);
    return AX_OK;
}
