/* Files that are the same under unlike names: links, "a" and "./a". */
#pragma once

#include <glib/gstdio.h>

/* FALSE too where one of the two is not there. */
gboolean file_is_same (const char *file, const char *other);

/* FILES[I] is one of those before it. What is read twice would look like twice the evidence. */
gboolean file_is_repeated (const char *const *files, guint i);

/* The descriptor of this process's output that INFO describes, or -1. */
int file_own_output (const GStatBuf *info);

/*
 * Where the links at the end of FILE lead, there or not; NULL with errno set when they go round.
 * Newly allocated.
 */
char *file_follow_links (const char *file);
