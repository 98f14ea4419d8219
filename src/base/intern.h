/*
 * Strings that live as long as the process, one copy of each: names that are composed of data and
 * handed from one object to another.
 */
#pragma once

#include <glib.h>

/*
 * The one copy of TEXT, NULL for NULL; any thread may ask. g_intern_string is for words of the code
 * alone: its table grows by an array that GLib never frees, and a sweep has as many names as rows.
 */
const char *intern_text (const char *text);
