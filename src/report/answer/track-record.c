#include "report/answer/track-record.h"

#include "base/config/csv.h"
#include "base/file/layout.h"
#include "predict/track-record.h"
#include "report/document/json-private.h"

static gboolean
is_number (const char *column)
{
  return g_str_equal (column, "nodes") || g_str_equal (column, "error");
}

static struct json_object *
run_json (const CsvReader *reader)
{
  struct json_object *run = json_object_new_array ();

  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    {
      const char *text = csv_reader_field (reader, i);

      json_object_array_add (run, is_number (csv_reader_column (reader, i))
                                      ? json_number (g_ascii_strtod (text, NULL))
                                      : json_object_new_string (text));
    }
  return run;
}

void
report_track_record_json (const char *file, DiagList *diags, GString *out)
{
  g_autofree char      *shipped = layout_data_file (TRACK_RECORD_FILE);
  g_autoptr (CsvReader) reader = csv_reader_open (file != NULL ? file : shipped, diags);
  struct json_object   *root = json_document_new ();
  struct json_object   *columns = json_object_new_array (), *runs = json_object_new_array ();

  for (guint i = 0; reader != NULL && i < csv_reader_n_columns (reader); i++)
    json_object_array_add (columns, json_object_new_string (csv_reader_column (reader, i)));
  while (reader != NULL && csv_reader_next (reader, diags))
    json_object_array_add (runs, run_json (reader));
  json_object_object_add (root, "columns", columns);
  json_object_object_add (root, "runs", runs);
  json_finish (root, out);
}
