/*-------------------------------------------------------------------------
 *
 * import.c
 *		IMPORT FOREIGN SCHEMA: a foreign table for each file of a directory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "afdw.h"

List *
afdw_import(ImportForeignSchemaStmt *stmt, Oid serverOid)
{
	return NIL;
}
