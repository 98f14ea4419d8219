/* What the parts of a page are written with. */
#pragma once

#include <json-c/json.h>

#include "report/document/html.h"

extern const char *const html_tone_names[]; /* by HtmlTone: classes of page.css */

/* Appends TEXT as HTML. */
void html_append_escaped (GString *out, const char *text);

/* Appends ROOT, for a script of type application/json. */
void html_append_json (GString *out, struct json_object *root);

/* Appends the table, whose last row is whole, and frees it. */
void html_table_finish (HtmlTable *self, GString *out);
