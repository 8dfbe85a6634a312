/* One snappy block: our decoder and the library agree about it. */
#include "codec/codec.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = 0, lib_n;
    ax_budget budget;
    bool ok, lib_ok;
    ax_task t;
    ax_cdc *c;

    if (snappy_uncompressed_length((const char *) data, size, &n) != SNAPPY_OK || n > 1 << 20)
        return 0;
    lib_n = n;
    ax_budget_init(&budget, "fuzz", 64 << 20, NULL);
    if (ax_task_init(&t, &budget, NULL) != AX_OK || ax_cdc_create(&t, t.arena, &c) != AX_OK)
        abort();
    uint8_t *ours = malloc(n + (n == 0)), *theirs = malloc(n + (n == 0));
    if (ours == NULL || theirs == NULL)
        abort();
    ok = ax_cdc_decompress(&t, c, AX_CDC_SNAPPY, data, size, ours, n) == AX_OK;
    lib_ok = snappy_uncompress((const char *) data, size, (char *) theirs, &lib_n) == SNAPPY_OK;
    if (ok != lib_ok || (ok && memcmp(ours, theirs, n) != 0))
        abort();
    free(ours);
    free(theirs);
    ax_task_fini(&t);
    return 0;
}
