/*-------------------------------------------------------------------------
 *
 * compat.h
 *		Differences between the supported server versions, 14 to 18.
 *
 * Every other file of the glue is written against one spelling; what a
 * version spells otherwise is translated here and nowhere else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef AFDW_COMPAT_H
#define AFDW_COMPAT_H

#include "postgres.h"

#include "catalog/pg_collation.h"
#include "commands/explain.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "utils/guc.h"
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* 18 moved the attribute to the front of a declaration. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn _Noreturn
#endif

/* Paths: new arguments in 17 (fdw_restrictinfo) and 18 (disabled_nodes). */
#if PG_VERSION_NUM >= 180000
#define afdw_foreignscan_path(root, rel, tgt, rows, sc, tc, pk, ro, op, priv) \
	create_foreignscan_path(root, rel, tgt, rows, 0, sc, tc, pk, ro, op, NIL, priv)
#define afdw_foreign_upper_path(root, rel, tgt, rows, sc, tc, pk, op, priv) \
	create_foreign_upper_path(root, rel, tgt, rows, 0, sc, tc, pk, op, NIL, priv)
#elif PG_VERSION_NUM >= 170000
#define afdw_foreignscan_path(root, rel, tgt, rows, sc, tc, pk, ro, op, priv) \
	create_foreignscan_path(root, rel, tgt, rows, sc, tc, pk, ro, op, NIL, priv)
#define afdw_foreign_upper_path(root, rel, tgt, rows, sc, tc, pk, op, priv) \
	create_foreign_upper_path(root, rel, tgt, rows, sc, tc, pk, op, NIL, priv)
#else
#define afdw_foreignscan_path(root, rel, tgt, rows, sc, tc, pk, ro, op, priv) \
	create_foreignscan_path(root, rel, tgt, rows, sc, tc, pk, ro, op, priv)
#define afdw_foreign_upper_path(root, rel, tgt, rows, sc, tc, pk, op, priv) \
	create_foreign_upper_path(root, rel, tgt, rows, sc, tc, pk, op, priv)
#endif

/* Group clause without redundant keys, and whether a pathkey descends. */
#if PG_VERSION_NUM >= 160000
#define afdw_group_clause(root) ((root)->processed_groupClause)
#define afdw_distinct_clause(root) ((root)->processed_distinctClause)
#else
#define afdw_group_clause(root) ((root)->parse->groupClause)
#define afdw_distinct_clause(root) ((root)->parse->distinctClause)
#endif
#if PG_VERSION_NUM >= 180000
#define afdw_pathkey_desc(pk) ((pk)->pk_cmptype == COMPARE_GT)
#else
#define afdw_pathkey_desc(pk) ((pk)->pk_strategy == BTGreaterStrategyNumber)
#endif

#if PG_VERSION_NUM >= 180000
#define afdw_make_pathkey(root, ec, family, desc, nulls_first) \
	make_canonical_pathkey(root, ec, family, (desc) ? COMPARE_GT : COMPARE_LT, nulls_first)
#else
#define afdw_make_pathkey(root, ec, family, desc, nulls_first) \
	make_canonical_pathkey(root, ec, family, \
						   (desc) ? BTGreaterStrategyNumber : BTLessStrategyNumber, nulls_first)
#endif
#if PG_VERSION_NUM >= 160000
#define afdw_eclass_for(root, rel, expr, families, input, collation) \
	get_eclass_for_sort_expr(root, expr, families, input, collation, 0, (rel)->relids, false)
#else
#define afdw_eclass_for(root, rel, expr, families, input, collation) \
	get_eclass_for_sort_expr(root, expr, NULL, families, input, collation, 0, (rel)->relids, false)
#endif

/* Relations below a foreign scan. */
#if PG_VERSION_NUM >= 160000
#define afdw_scan_relids(fs) ((fs)->fs_base_relids)
#else
#define afdw_scan_relids(fs) ((fs)->fs_relids)
#endif

#if PG_VERSION_NUM >= 180000
#define afdw_vacuum_delay_point() vacuum_delay_point(true)
#else
#define afdw_vacuum_delay_point() vacuum_delay_point()
#endif
#if PG_VERSION_NUM >= 150000
#define afdw_random_fract(rs) sampler_random_fract(&(rs)->randstate)
#else
#define afdw_random_fract(rs) sampler_random_fract((rs)->randstate)
#endif

#if PG_VERSION_NUM >= 180000
#define afdw_collate_is_c(collation) (pg_newlocale_from_collation(collation)->collate_is_c)
#define afdw_ctype_is_c(collation) (pg_newlocale_from_collation(collation)->ctype_is_c)
#else
#define afdw_collate_is_c(collation) lc_collate_is_c(collation)
#define afdw_ctype_is_c(collation) lc_ctype_is_c(collation)
#endif

/* Functions whose macro got a suffix when a namesake came. */
#if PG_VERSION_NUM >= 180000
#define F_REVERSE F_REVERSE_TEXT
#endif

/* A number of this backend below MaxBackends. */
#if PG_VERSION_NUM >= 170000
#define afdw_my_proc_index() ((int) MyProcNumber)
#else
#define afdw_my_proc_index() ((int) MyBackendId - 1)
#endif

static inline void
afdw_reserve_guc_prefix(const char *prefix)
{
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved(prefix);
#else
	EmitWarningsOnPlaceholders(prefix);
#endif
}

#if PG_VERSION_NUM >= 150000
#define afdw_analyze_and_rewrite(raw, sql) \
	pg_analyze_and_rewrite_fixedparams(raw, sql, NULL, 0, NULL)
#else
#define afdw_analyze_and_rewrite(raw, sql) \
	pg_analyze_and_rewrite(raw, sql, NULL, 0, NULL)
#endif

#endif							/* AFDW_COMPAT_H */
