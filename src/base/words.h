/* The different words that rows have in a member. */
#pragma once

#include <glib.h>

/*
 * The words at OFFSET, of a const char *, of the structs of ROWS: each once, in order of their
 * first row. The words stay the rows'.
 */
GPtrArray *words_of (const GArray *rows, gsize offset);
