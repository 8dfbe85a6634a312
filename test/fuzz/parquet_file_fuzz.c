/* A whole Parquet file: open it, ask for every bound, read every column alone, then all columns
 * together in two pieces, so that skipping inside pages is covered; and as whatever else a table
 * may declare. */
#include "parquet_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file(data, size, true, fuzz_table);
    return 0;
}
