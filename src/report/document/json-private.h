/* What all JSON output shares, over json-c. */
#pragma once

#include <json-c/json.h>

#include <glib.h>

#include "base/stop.h"
#include "scenario/scenario.h"

/* VALUE with the fewest digits that read back as it is; NULL (null) for one that is not finite. */
struct json_object *json_number (double value);

void json_add_number (struct json_object *object, const char *key, double value);
void json_add_count (struct json_object *object, const char *key, guint64 value);
/* TEXT may be NULL: null. */
void json_add_text (struct json_object *object, const char *key, const char *text);

/* A whole number, true or false, or a text: quantities keep their units. NULL (null) for NULL. */
struct json_object *json_setting (const ScenarioSetting *setting);

/* Of a reason: why, at what, how many of how many. */
struct json_object *json_partial (const Partial *partial);

/* What every document of results begins with: the schema's number and the program's version. */
struct json_object *json_document_new (void);

/* Appends ROOT and a line end to OUT, and frees it. */
void json_finish (struct json_object *root, GString *out);
