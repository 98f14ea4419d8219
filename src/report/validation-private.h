/* What the validations of collectives and of training runs share. */
#pragma once

#include <glib.h>

#include "report/terminal-private.h"

/*
 * Why rows could not be simulated, each reason once with the number of its rows. REASONS: a string
 * a row, NULL where it could.
 */
void validation_append_reasons (const GPtrArray *reasons, GString *out);

/* Adds a line: how errors of ROWS rows NAME grow by SLOPE a doubling of FEWEST to MOST nodes. */
void validation_take_trend (struct libscols_table *table, const char *name, guint fewest,
                            guint most, guint rows, double slope);
