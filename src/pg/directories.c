/*-------------------------------------------------------------------------
 *
 * directories.c
 *		analytics_fdw.allowed_directories: where files may be read at all.
 *
 * Looked at whenever files are listed or opened, for everybody, since a table
 * may have been defined before the setting, or by somebody else.  Definitions
 * are not checked: they must be restorable anywhere.
 *
 * A path is compared as it is written, without `..`, and once more with the
 * links on the way to it resolved.  Links that a directory or glob inside an
 * allowed directory leads to are followed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/varlena.h"

#include "afdw.h"

bool
afdw_check_allowed_directories(char **newval, void **extra, GucSource source)
{
	List	   *list = NIL;

	if (SplitDirectoriesString(pstrdup(*newval), ',', &list))
	{
		ListCell   *lc;

		foreach(lc, list)
			if (!is_absolute_path((char *) lfirst(lc)))
			{
				GUC_check_errdetail("\"%s\" is not an absolute path.", (char *) lfirst(lc));
				return false;
			}
		return true;
	}
	GUC_check_errdetail("List syntax is invalid.");
	return false;
}

/* Is the path in one of the directories?  Both as they are written or both as they resolve to. */
static bool
inside(List *directories, const char *path, bool resolved)
{
	ListCell   *lc;

	foreach(lc, directories)
	{
		const char *dir = lfirst(lc);
		char		real[PATH_MAX];

		if (resolved && realpath(dir, real) != NULL)
			dir = real;
		if (path_is_prefix_of_path(dir, path))
			return true;
	}
	return false;
}

static bool
allowed(List *directories, const char *path)
{
	char	   *fixed = pstrdup(path);
	size_t		magic = strcspn(fixed, "*?[{\\");
	char		real[PATH_MAX];

	if (strncmp(fixed, "file://", 7) == 0)
	{
		fixed += 7;
		magic = magic > 7 ? magic - 7 : 0;
	}
	if (fixed[magic] != '\0')	/* the directory in front of a glob */
	{
		while (magic > 0 && fixed[magic - 1] != '/')
			magic--;
		if (strstr(fixed + magic, "..") != NULL)
			return false;
		fixed[magic] = '\0';
	}
	if (!is_absolute_path(fixed))
		return false;
	for (char *p = fixed; (p = strstr(p, "..")) != NULL; p += 2)
		if (p[-1] == '/' && (p[2] == '/' || p[2] == '\0'))
			return false;
	canonicalize_path(fixed);
	if (!inside(directories, fixed, false))
		return false;
	return realpath(fixed, real) == NULL || inside(directories, real, true);
}

/* Raises an error for the first of the paths that is nowhere allowed. */
void
afdw_check_directories(List *paths)
{
	List	   *directories = NIL;
	ListCell   *lc;

	if (afdw_allowed_directories == NULL || afdw_allowed_directories[0] == '\0')
		return;
	if (!SplitDirectoriesString(pstrdup(afdw_allowed_directories), ',', &directories))
		elog(ERROR, "invalid value of analytics_fdw.allowed_directories");
	foreach(lc, paths)
		if (!allowed(directories, lfirst(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("path \"%s\" is not in an allowed directory", (char *) lfirst(lc)),
					 errhint("See analytics_fdw.allowed_directories.")));
}
