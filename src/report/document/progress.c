#include "report/document/progress.h"

#include "report/document/json-private.h"

static struct json_object *
json_found (const ProgressFound *self)
{
  struct json_object *row = json_object_new_object ();

  json_add_text (row, "label", self->label);
  json_add_text (row, "options", self->options);
  json_add_number (row, "step_time_s", self->step_s);
  json_add_number (row, "tokens_per_s_per_gpu", self->tokens_per_s_per_gpu);
  json_add_number (row, "peak_device_gib", self->peak_gib);
  return row;
}

void
report_progress_json (const ProgressReport *self, GString *out)
{
  struct json_object *root = json_object_new_object (), *found = json_object_new_array ();

  json_add_number (root, "seconds", self->seconds);
  json_add_text (root, "work", self->work);
  json_add_text (root, "step", self->count.step);
  json_add_count (root, "done", self->count.done);
  json_add_count (root, "todo", self->count.todo);
  json_object_object_add (root, "more", json_object_new_boolean (self->count.more));
  json_add_text (root, "best", self->best);
  for (guint i = 0; i < self->found->len; i++)
    json_object_array_add (found, json_found (&g_array_index (self->found, ProgressFound, i)));
  json_object_object_add (root, "found", found);
  json_finish (root, out);
}
