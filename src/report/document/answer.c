#include "report/document/answer.h"

#include "report/prediction/results-private.h"

static struct json_object *
diag_json (const DiagView *diag)
{
  static const char *const severities[] = { "error", "warning", "note" };
  struct json_object      *object = json_object_new_object ();

  json_add_text (object, "severity", severities[diag->severity]);
  json_add_text (object, "message", diag->message);
  json_add_text (object, "hint", diag->hint);
  json_add_text (object, "file", diag->file);
  json_add_count (object, "line", diag->line);
  json_add_count (object, "column", diag->column);
  return object;
}

static void
add_diags (struct json_object *root, const DiagList *diags)
{
  struct json_object *list = json_object_new_array ();
  DiagView            view;

  for (guint i = 0; diag_list_get (diags, i, &view); i++)
    json_object_array_add (list, diag_json (&view));
  json_object_object_add (root, "diagnostics", list);
}

void
report_answer_json (const GPtrArray *predictions, char *const *left_out, const DiagList *diags,
                    const char *failure, GString *out)
{
  struct json_object *root = json_document_new (), *results = json_object_new_array ();
  struct json_object *names = json_object_new_array ();

  for (guint i = 0; i < predictions->len; i++)
    json_object_array_add (results, prediction_json (g_ptr_array_index (predictions, i)));
  for (guint i = 0; left_out[i] != NULL; i++)
    json_object_array_add (names, json_object_new_string (left_out[i]));
  json_object_object_add (root, "results", results);
  json_object_object_add (root, "left_out", names);
  add_diags (root, diags);
  json_add_text (root, "error", failure);
  json_finish (root, out);
}

void
report_answer_around (const GString *document, const DiagList *diags, const char *failure,
                      GString *out)
{
  /* numbers are kept as they are written */
  struct json_object *root =
      document != NULL ? json_tokener_parse (document->str) : json_document_new ();

  g_assert (root != NULL);
  add_diags (root, diags);
  json_add_text (root, "error", failure);
  json_finish (root, out);
}

void
report_items_json (const GArray *items, const DiagList *diags, GString *out)
{
  struct json_object *root = json_document_new (), *list = json_object_new_array ();

  for (guint i = 0; i < items->len; i++)
    {
      const AnswerItem   *item = &g_array_index (items, AnswerItem, i);
      struct json_object *object = json_object_new_object ();

      json_add_text (object, "name", item->name);
      json_add_text (object, "title", item->title);
      json_object_array_add (list, object);
    }
  json_object_object_add (root, "items", list);
  add_diags (root, diags);
  json_finish (root, out);
}
