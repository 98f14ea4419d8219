/*
 * The file of a plug-in before it is loaded. The dynamic loader maps what a shared object says that
 * it holds: of one that was cut off on its way here it touches pages that are not there, and the
 * process ends by a signal.
 */
#pragma once

#include <glib.h>

/* Whether FILE is cut off: less of it is there than its segments take. FALSE of other files. */
gboolean plugin_file_is_cut (const char *file);
