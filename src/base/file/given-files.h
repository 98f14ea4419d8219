/*
 * Texts that stand for files which this process was given otherwise: what a page uploads is read as
 * if it lay in a folder. As with files (file-roles.h), they are the process's.
 */
#pragma once

#include <glib.h>

#define GIVEN_FILES_MOST 64 /* beyond that the oldest goes */

/*
 * Keeps TEXT of LENGTH bytes under the name that it returns, newly allocated: "given/", what the
 * text hashes to, and ENDING (".json"). NULL: it has more than CONFIG_MAX_BYTES.
 */
char *given_files_add (const char *text, gsize length, const char *ending);

/* A reference to what was given as FILE; NULL: nothing. */
GBytes *given_files_find (const char *file);
