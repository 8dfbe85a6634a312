/*-------------------------------------------------------------------------
 *
 * error.c
 *		Errors of the engine become errors of the server.
 *
 * Called in the backend's own thread only, never from a clean-up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "afdw.h"

/* Text of the engine is UTF-8 or bytes of a file; make it valid in this database. */
char *
afdw_server_text(const char *s)
{
	int			encoding = GetDatabaseEncoding();
	int			len = (int) strlen(s);
	char	   *copy = pstrdup(s);

	/* A fixed buffer may have cut the last character in two. */
	if (encoding == PG_UTF8)
	{
		int			good = pg_encoding_verifymbstr(PG_UTF8, copy, len);

		if (good < len && len - good < 4)
		{
			copy[good] = '\0';
			return copy;
		}
	}
	if (!pg_verify_mbstr(encoding, copy, len, true))
		for (char *p = copy; *p; p++)
			if (IS_HIGHBIT_SET(*p))
				*p = '?';
	return copy;
}

/* Where in the data, as one line of CONTEXT; NULL when nothing is known. */
static char *
place_text(const ax_place *place)
{
	StringInfoData buf;

	if (place->file[0] == '\0' && place->column[0] == '\0')
		return NULL;
	initStringInfo(&buf);
	if (place->file[0])
		appendStringInfo(&buf, "file \"%s\"", place->file);
	if (place->unit[0] && place->unit_idx >= 0)
		appendStringInfo(&buf, "%s%s " INT64_FORMAT, buf.len ? ", " : "", place->unit,
						 place->unit_idx);
	if (place->column[0])
		appendStringInfo(&buf, "%scolumn \"%s\"", buf.len ? ", " : "", place->column);
	if (place->page_idx >= 0)
		appendStringInfo(&buf, ", page " INT64_FORMAT, place->page_idx);
	if (place->byte_off >= 0)
		appendStringInfo(&buf, ", offset " INT64_FORMAT, place->byte_off);
	return buf.data;
}

/* Message alone, for notices and for reasons in EXPLAIN. */
char *
afdw_error_text(const ax_error *err)
{
	return afdw_server_text(err->msg[0] ? err->msg : ax_status_text(err->code));
}

void
afdw_ereport(const ax_error *err)
{
	ax_error	copy = *err;
	const char *state = copy.code == AX_EHOST && copy.sqlstate[0] ? copy.sqlstate :
		ax_status_sqlstate(copy.code);
	char	   *msg = afdw_error_text(&copy);
	char	   *detail = copy.detail[0] ? afdw_server_text(copy.detail) : NULL;
	char	   *place = place_text(&copy.place);
	/* The account of the query is the one that a setting limits. */
	bool		limited = copy.code == AX_ENOMEM && strstr(copy.detail, "Budget \"query\"") != NULL;

	if (place)
		place = afdw_server_text(place);
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
			 errmsg("%s", msg),
			 detail ? errdetail("%s", detail) : 0,
			 limited ? errhint("Consider raising analytics_fdw.memory_limit, or the option "
							   "memory_limit of the table or server.") : 0,
			 place ? errcontext("%s", place) : 0));
	pg_unreachable();
}
