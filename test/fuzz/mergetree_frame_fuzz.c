/* One compressed frame behind its checksum: method, sizes, body.  The declared size is bounded, so
 * that the time goes into decoding. */
#include "format/mergetree/mergetree_int.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ax_budget budget;
    ax_task t;
    ax_cdc *cdc;
    ax_mt_frame f;
    uint8_t *p = malloc(size + 16);

    if (p == NULL || size < 9) {
        free(p);
        return 0;
    }
    memset(p, 0, 16);
    memcpy(p + 16, data, size);
    /* The length is what there is. */
    uint32_t packed = (uint32_t)size;
    memcpy(p + 17, &packed, 4);
    ax_budget_init(&budget, "fuzz", 64 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        abort();
    if (ax_mt_frame_head(&t, p, size + 16, &f) == AX_OK && f.size < 1 << 20 &&
        ax_cdc_create(&t, t.arena, &cdc) == AX_OK) {
        uint8_t *dst = malloc(f.size);

        if (dst != NULL)
            (void)!ax_mt_frame_decode(&t, cdc, &f, dst);
        free(dst);
    }
    ax_task_fini(&t);
    free(p);
    if (atomic_load(&budget.used_bytes) != 0)
        abort();
    return 0;
}
