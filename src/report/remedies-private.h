/* What does not fit, and what would. */
#pragma once

#include <json-c/json.h>

#include "analysis/remedies.h"

/* "DOES NOT FIT: ...", a line a tier that is too small. */
void misfits_append_text (const Prediction *prediction, GString *out);

/* The same, and the remedies where they were looked for. */
void remedies_append_text (const Prediction *prediction, GString *out);

/* Adds `remedies` (a list, empty where nothing fits) and `remedy_search` to RESULT. */
void remedies_json_add (const Remedies *self, struct json_object *result);
