/* One compressed block: the first byte is the codec, the next two the declared size. */
#include "codec/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ax_budget budget;
    ax_task t;
    ax_cdc *c;

    if (size < 3)
        return 0;
    ax_budget_init(&budget, "fuzz", 64 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK)
        abort();
    size_t n = (size_t)(data[1] | data[2] << 8);
    uint8_t *dst = malloc(n + 1);
    if (dst != NULL && ax_cdc_create(&t, t.arena, &c) == AX_OK)
        (void)!ax_cdc_decompress(&t, c, (ax_codec)(data[0] % AX_CDC_CNT), data + 3, size - 3, dst,
                                 n);
    free(dst);
    ax_task_fini(&t);
    if (atomic_load(&budget.used_bytes) != 0)
        abort();
    return 0;
}
