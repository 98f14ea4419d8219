/* `simulate --max`: the largest value that fits, what ends it, and the prediction of it. */
#pragma once

#include "analysis/maximum.h"

void report_maximum_text (const Maximum *self, GString *out);
void report_maximum_csv (const Maximum *self, GString *out);

/* {"schema": 1, "maximum": {...}, "results": [the prediction of the value]} */
void report_maximum_json (const Maximum *self, GString *out);
