/* What the validations of collectives and of training runs share. */
#pragma once

#include <glib.h>

/*
 * Why rows could not be simulated, each reason once with the number of its rows. REASONS: a string
 * a row, NULL where it could.
 */
void validation_append_reasons (const GPtrArray *reasons, GString *out);
