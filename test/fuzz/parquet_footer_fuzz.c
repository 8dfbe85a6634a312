/* The thrift bytes of a footer; magic and length are put around them. */
#include "parquet_fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 12);
    uint32_t len = (uint32_t)size;

    if (file == NULL)
        return 0;
    memcpy(file, "PAR1", 4);
    if (size > 0)
        memcpy(file + 4, data, size);
    memcpy(file + 4 + size, &len, 4);
    memcpy(file + 8 + size, "PAR1", 4);
    fuzz_file(file, size + 12, false, NULL);
    free(file);
    return 0;
}
