#include "report/document/partial.h"

#include "report/document/json-private.h"

void
partial_mark_text (const Partial *self, GString *out)
{
  g_autofree char *text = self->reason != NULL ? partial_text (self) : NULL;
  g_autofree char *line = text != NULL ? g_strdup_printf ("Partial: %s\n\n", text) : NULL;

  if (line != NULL)
    g_string_prepend (out, line);
}

/* Read again, for what prints documents does not know how they came about. */
void
partial_mark_json (const Partial *self, GString *out)
{
  struct json_object *root = self->reason != NULL ? json_tokener_parse (out->str) : NULL;

  if (root == NULL)
    return;
  json_object_object_add (root, "partial", json_partial (self));
  g_string_truncate (out, 0);
  json_finish (root, out);
}

void
partial_mark_csv (const Partial *self, GString *out)
{
  g_autofree char    *text = self->reason != NULL ? partial_text (self) : NULL;
  g_autofree char    *cell = text != NULL ? g_strdup_printf (",\"%s\"", text) : NULL;
  g_autoptr (GString) marked = g_string_sized_new (out->len + 64);
  gboolean            quoted = FALSE, head = TRUE;

  if (text == NULL)
    return;
  for (gsize i = 0; i < out->len; i++)
    {
      quoted ^= out->str[i] == '"';
      if (out->str[i] == '\n' && !quoted)
        {
          g_string_append (marked, head ? ",partial" : cell);
          head = FALSE;
        }
      g_string_append_c (marked, out->str[i]);
    }
  g_string_truncate (out, 0);
  g_string_append_len (out, marked->str, (gssize) marked->len);
}
