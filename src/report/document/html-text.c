#include <string.h>

#include "base/config/printable.h"
#include "report/document/html-parts-private.h"

const char *const html_tone_names[] = { "plain", "good", "bad" };

void
html_append_escaped (GString *out, const char *text)
{
  g_autofree char *plain = printable_text (text, strlen (text), FALSE);
  g_autofree char *escaped = g_markup_escape_text (plain, -1);

  g_string_append (out, escaped);
}

/* Nothing in it, where '<' stands in strings only, ends the script that it is in. */
void
html_append_json (GString *out, struct json_object *root)
{
  g_auto (GStrv) pieces =
      g_strsplit (json_object_to_json_string_ext (root, JSON_C_TO_STRING_PLAIN), "<", -1);
  g_autofree char *safe = g_strjoinv ("\\u003c", pieces);

  g_string_append (out, safe);
}
