/*-------------------------------------------------------------------------
 *
 * composite.c
 *		Composite types for groups, lists of groups and maps of files:
 *		IMPORT FOREIGN SCHEMA with nested_as 'composite'.
 *
 * A type is named after its table and its column (and, inside of another type,
 * its field), and is made in the schema that the tables go to.  Lists of groups
 * are arrays of one, maps are arrays of one with two fields.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "afdw.h"

static const char *part_type(const char *schema, const char *name, const ax_type *type);

/* `prefix_name`, not longer than a name can be. */
static char *
joined(const char *prefix, const char *name)
{
	char	   *all = psprintf("%s_%s", prefix, name);

	return pnstrdup(all, pg_mbcliplen(all, strlen(all), NAMEDATALEN - 1));
}

/* CREATE TYPE; returns its qualified name. */
static const char *
create_type(const char *schema, const char *name, const ax_nested *fields)
{
	const char *type = quote_qualified_identifier(schema, name);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TYPE %s AS (", type);
	for (uint32 i = 0; i < fields->n; i++)
	{
		const char *field = afdw_server_name(fields->name[i]);

		appendStringInfo(&sql, "%s%s %s", i ? ", " : "", quote_identifier(field),
						 part_type(schema, joined(name, field), &fields->type[i]));
	}
	appendStringInfoChar(&sql, ')');
	SPI_connect();
	if (SPI_execute(sql.data, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "analytics_fdw: a type could not be made: %s", sql.data);
	SPI_finish();
	return type;
}

/* The SQL type of a part; types that it needs are made under `name`. */
static const char *
part_type(const char *schema, const char *name, const ax_type *type)
{
	ax_field	leaf = {.type = *type};

	check_stack_depth();
	if (type->id == AX_T_STRUCT)
		return create_type(schema, name, type->nested);
	if (type->id == AX_T_LIST)
		return psprintf("%s[]", part_type(schema, name, type->nested->type));
	return afdw_sql_type(&leaf);
}

/* The SQL type of a column whose structure the file tells; its composite types exist then. */
const char *
afdw_composite_type(const AfdwColumnList *list, const ax_field *f)
{
	return part_type(list->schema, joined(list->table, afdw_server_name(f->name)), f->structure);
}
