/* Versions of software: numbers with a dot between each two, "2.28.9". */
#pragma once

#include <glib.h>

/* Whether TEXT (may be NULL) is one, as a whole. */
gboolean version_is_valid (const char *text);

/* < 0, 0, > 0: A is older, the same, newer. What one has not counts as any: 2.28.9 is 2.28. */
int version_compare (const char *a, const char *b);
