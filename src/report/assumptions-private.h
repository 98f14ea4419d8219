/* What had to be assumed of a figure's rows. */
#pragma once

#include <glib.h>

/* Appends a line of ASSUMPTIONS to OUT unless it is empty or among SAID, to which it is added. */
void report_assumed_once (const char *assumptions, GPtrArray *said, GString *out);
