/* Files that are the same under unlike names: links, "a" and "./a". */
#pragma once

#include <glib.h>

/* FALSE too where one of the two is not there. */
gboolean file_is_same (const char *file, const char *other);

/* FILES[I] is one of those before it. What is read twice would look like twice the evidence. */
gboolean file_is_repeated (const char *const *files, guint i);
