/*-------------------------------------------------------------------------
 *
 * guc.c
 *		Settings of the extension, from gucs.def.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <unistd.h>

#include "afdw.h"

static const struct config_enum_entry afdw_require_options[] = {
	{"off", AFDW_REQUIRE_OFF, false},
	{"warn", AFDW_REQUIRE_WARN, false},
	{"error", AFDW_REQUIRE_ERROR, false},
	{NULL, 0, false}
};

#define AFDW_BOOL(name, dflt, text) bool afdw_##name = dflt;
#define AFDW_INT(name, dflt, lo, hi, flags, text) int afdw_##name = dflt;
#define AFDW_ENUM(name, type, dflt, options, text) int afdw_##name = dflt;
#define AFDW_SERVER_INT(name, dflt, lo, hi, flags, text) int afdw_##name = dflt;
#define AFDW_ADMIN_STRING(name, check, text) char *afdw_##name = NULL;
#include "gucs.def"
#undef AFDW_BOOL
#undef AFDW_INT
#undef AFDW_ENUM
#undef AFDW_SERVER_INT
#undef AFDW_ADMIN_STRING

void
afdw_guc_init(void)
{
#define AFDW_BOOL(name, dflt, text) \
	DefineCustomBoolVariable("analytics_fdw." #name, text, NULL, &afdw_##name, dflt, \
							 PGC_USERSET, 0, NULL, NULL, NULL);
#define AFDW_INT(name, dflt, lo, hi, flags, text) \
	DefineCustomIntVariable("analytics_fdw." #name, text, NULL, &afdw_##name, dflt, lo, hi, \
							PGC_USERSET, flags, NULL, NULL, NULL);
#define AFDW_ENUM(name, type, dflt, options, text) \
	DefineCustomEnumVariable("analytics_fdw." #name, text, NULL, &afdw_##name, dflt, options, \
							 PGC_USERSET, 0, NULL, NULL, NULL);
#define AFDW_SERVER_INT(name, dflt, lo, hi, flags, text) \
	DefineCustomIntVariable("analytics_fdw." #name, text, NULL, &afdw_##name, dflt, lo, hi, \
							PGC_SIGHUP, flags, NULL, NULL, NULL);
#define AFDW_ADMIN_STRING(name, check, text) \
	DefineCustomStringVariable("analytics_fdw." #name, text, NULL, &afdw_##name, "", \
							   PGC_SUSET, GUC_LIST_INPUT, check, NULL, NULL);
#include "gucs.def"
#undef AFDW_BOOL
#undef AFDW_INT
#undef AFDW_ENUM
#undef AFDW_SERVER_INT
#undef AFDW_ADMIN_STRING

	afdw_reserve_guc_prefix("analytics_fdw");
}

/* Memory that this process may use at all: of the control group or of the machine. */
static int64
machine_memory_bytes(void)
{
	int64		bytes = (int64) sysconf(_SC_PHYS_PAGES) * (int64) sysconf(_SC_PAGESIZE);
	static const char *const files[] = {
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	};

	for (int i = 0; i < (int) lengthof(files); i++)
	{
		FILE	   *f = fopen(files[i], "r");
		long long	limit;

		if (f == NULL)
			continue;
		if (fscanf(f, "%lld", &limit) == 1 && limit > 0 && (bytes <= 0 || limit < bytes))
			bytes = limit;
		fclose(f);
	}
	return bytes;
}

/* The limit of one query: the setting, bounded by the table's own. */
int64
afdw_memory_limit_bytes(int64 table_limit)
{
	static int64 automatic = 0;
	int64		limit = (int64) afdw_memory_limit * 1024;

	if (limit == 0)
	{
		if (automatic == 0)
		{
			int64		quarter = machine_memory_bytes() / 4;

			automatic = INT64CONST(1) << 30;
			if (quarter > 0 && quarter < automatic)
				automatic = quarter;
		}
		limit = automatic;
	}
	if (table_limit > 0 && table_limit < limit)
		limit = table_limit;
	return limit;
}

/* Optimisations that the settings permit, as the engine's bits. */
uint32
afdw_allowed(void)
{
	uint32		allow = AX_ALLOW_ALL;

	if (!afdw_enable_row_group_pruning)
		allow &= ~(uint32) (AX_ALLOW_MINMAX | AX_ALLOW_BLOOM | AX_ALLOW_DICTIONARY |
							AX_ALLOW_PAGE_INDEX | AX_ALLOW_PRIMARY_KEY | AX_ALLOW_SKIP_INDEX |
							AX_ALLOW_METADATA_AGG | AX_ALLOW_LIVE);
	if (!afdw_enable_bloom_filter)
		allow &= ~(uint32) AX_ALLOW_BLOOM;
	if (!afdw_enable_dictionary_filter)
		allow &= ~(uint32) AX_ALLOW_DICTIONARY;
	if (!afdw_enable_page_index)
		allow &= ~(uint32) AX_ALLOW_PAGE_INDEX;
	if (!afdw_enable_primary_key_pruning)
		allow &= ~(uint32) AX_ALLOW_PRIMARY_KEY;
	if (!afdw_enable_skip_indexes)
		allow &= ~(uint32) AX_ALLOW_SKIP_INDEX;
	if (!afdw_enable_shared_row_groups)
		allow &= ~(uint32) AX_ALLOW_SHARE;
	if (!afdw_enable_partition_pruning)
		allow &= ~(uint32) AX_ALLOW_PARTITION;
	if (!afdw_enable_prewhere)
		allow &= ~(uint32) AX_ALLOW_PREWHERE;
	if (!afdw_enable_lazy_materialization)
		allow &= ~(uint32) AX_ALLOW_LAZY;
	if (!afdw_verify_checksums)
		allow &= ~(uint32) AX_ALLOW_CHECKSUMS;
	if (!afdw_enable_windowed_reads)
		allow &= ~(uint32) AX_ALLOW_WINDOWS;
	if (!afdw_enable_page_cache)
		allow &= ~(uint32) AX_ALLOW_KEPT_PAGES;
	if (!afdw_enable_aggregate_algebra)
		allow &= ~(uint32) AX_ALLOW_ALGEBRA;
	if (!afdw_enable_top_groups)
		allow &= ~(uint32) AX_ALLOW_TOP_GROUPS;
	return allow;
}
