/* How a result says that it is partial: its work was ended before it was done (base/stop.h). */
#pragma once

#include "base/stop.h"

/*
 * Each makes the result OUT, of that format and whole, say what SELF is: text begins with a line,
 * a JSON document has an object `partial`, and rows of CSV a last column of that name. Nothing
 * where SELF has no reason.
 */
void partial_mark_text (const Partial *self, GString *out);
void partial_mark_json (const Partial *self, GString *out);
void partial_mark_csv (const Partial *self, GString *out);
