#include "import/log/measurement.h"

#include <math.h>
#include <string.h>

#include "base/config/units.h"
#include "base/intern.h"

#define NO_COLUMN (-1)

static const char *const health_names[] = { "yes", "unclear", "no", NULL };

const char *
measurement_health_name (MeasurementHealth health)
{
  g_assert ((guint) health < HEALTHY_N);
  return health_names[health];
}

static void
measurement_free (gpointer data)
{
  Measurement *self = data;

  g_free (self->id);
  g_free (self->source);
  g_free (self->reason);
  g_free (self->collective);
  g_free (self->library);
  g_free (self->env);
  g_free (self->env_line);
  option_table_clear (cluster_options, &self->cluster);
  g_free (self);
}

GPtrArray *
measurement_array_new (void)
{
  return g_ptr_array_new_with_free_func (measurement_free);
}

Measurement *
measurement_new (void)
{
  Measurement *self = g_new0 (Measurement, 1);

  option_table_defaults (cluster_options, &self->cluster);
  self->library = g_strdup ("unknown");
  self->env = g_strdup ("");
  self->source = g_strdup ("");
  return self;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Sets a member of ROW from TEXT; FALSE after a diagnostic. */
typedef gboolean (*ReadCell) (Measurement *row, const char *text, const SourceMark *mark,
                              DiagList *diags);

static gboolean
read_text (char **member, const char *column, const char *text, const SourceMark *mark,
           DiagList *diags)
{
  g_free (*member);
  *member = g_strdup (text);
  if (*text != '\0' || column == NULL)
    return TRUE;
  diag_error (diags, mark, NULL, "no value for '%s'", column);
  return FALSE;
}

static gboolean
read_id (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  return read_text (&row->id, "id", text, mark, diags);
}

static gboolean
read_source (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  return read_text (&row->source, NULL, text, mark, diags);
}

static gboolean
read_library (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  return read_text (&row->library, NULL, *text != '\0' ? text : "unknown", mark, diags);
}

static gboolean
read_env (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  if (*text != '\0')
    {
      row->env_line = g_strdup (mark->text);
      row->env_mark = *mark;
      row->env_mark.text = row->env_line;
    }
  return read_text (&row->env, NULL, text, mark, diags);
}

static gboolean
read_collective (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_autofree char *hint = NULL;

  row->kind = collective_kind_parse (text);
  if (!read_text (&row->collective, "collective", text, mark, diags))
    return FALSE;
  if (row->kind != COLLECTIVE_N_KINDS)
    return TRUE;
  hint = suggest_hint (text, collective_kind_names);
  diag_error (diags, mark, hint, "unknown value '%s' for 'collective'", text);
  return FALSE;
}

/* A bare number above 0 and, where it counts something, whole. */
static gboolean
read_number (const char *column, const char *what, gboolean whole, const char *text,
             const SourceMark *mark, double *value, DiagList *diags)
{
  char  *end;
  double number = g_ascii_strtod (text, &end);

  while (g_ascii_isspace (*end))
    end++;
  if (end != text && *end == '\0' && number_is_usable (number) && number > 0
      && (!whole || (number == floor (number) && number <= 9007199254740992.0)))
    {
      *value = number;
      return TRUE;
    }
  diag_error (diags, mark, *end != '\0' && number > 0 ? "no unit belongs here" : NULL,
              "expected %s for '%s', got '%s'", what, column, text);
  return FALSE;
}

static gboolean
read_bytes (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  double   value;
  gboolean good =
      read_number ("bytes", "a whole number of bytes above 0", TRUE, text, mark, &value, diags);

  row->bytes = good ? (guint64) value : 0;
  return good;
}

static gboolean
read_time (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  return read_number ("time_us", "a number of microseconds above 0", FALSE, text, mark,
                      &row->time_us, diags);
}

static gboolean
read_healthy (Measurement *row, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_autofree char *hint = NULL;

  if (name_index (text, health_names) >= 0)
    {
      row->healthy = (MeasurementHealth) name_index (text, health_names);
      return TRUE;
    }
  hint = suggest_hint (text, health_names);
  diag_error (diags, mark, hint, "unknown value '%s' for 'healthy'", text);
  return FALSE;
}

/* Columns beside those of the cluster. */
static const struct
{
  const char *name;
  ReadCell    read;
  gboolean    required;
} columns[] = {
  { "id", read_id, TRUE },
  { "source", read_source, FALSE },
  { "collective", read_collective, TRUE },
  { "bytes", read_bytes, TRUE },
  { "time_us", read_time, TRUE },
  { "healthy", read_healthy, FALSE },
  { "nccl", read_library, FALSE },
  { "env", read_env, FALSE },
};

/* The hardware by parts: all of them, unless the table names nodes or clusters. */
static const char *const parts[] = {
  "nodes", "gpus_per_node", "gpu", "intra", "nics", "nic", NULL
};

/* ---- header ---------------------------------------------------------------------------------- */

static gboolean
is_known (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    if (strcmp (columns[i].name, name) == 0)
      return TRUE;
  return option_table_find (cluster_options, name) != NULL;
}

static void
report_unknown (const CsvReader *reader, guint i, DiagList *diags)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    g_ptr_array_add (names, (gpointer) columns[c].name);
  for (const OptionSpec *spec = cluster_options; spec->key != NULL; spec++)
    g_ptr_array_add (names, (gpointer) spec->key);
  g_ptr_array_add (names, NULL);
  csv_reader_unknown (reader, i, (const char *const *) names->pdata, diags);
}

static void
report_missing (const CsvReader *reader, const char *name, DiagList *diags)
{
  if (csv_reader_find (reader, name) == NO_COLUMN)
    csv_reader_missing (reader, name, NULL, diags);
}

static gboolean
wants_parts (const CsvReader *reader)
{
  return csv_reader_find (reader, "node") == NO_COLUMN
         && csv_reader_find (reader, "name") == NO_COLUMN;
}

static void
check_header (const CsvReader *reader, DiagList *diags)
{
  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    if (!is_known (csv_reader_column (reader, i)))
      report_unknown (reader, i, diags);
  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    if (columns[c].required)
      report_missing (reader, columns[c].name, diags);
  for (guint p = 0; wants_parts (reader) && parts[p] != NULL; p++)
    report_missing (reader, parts[p], diags);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void
read_cluster_cell (const CsvReader *reader, guint i, Measurement *row, DiagList *diags)
{
  const char       *name = csv_reader_column (reader, i), *text = csv_reader_field (reader, i);
  const OptionSpec *spec = option_table_find (cluster_options, name);
  SourceMark        mark = csv_reader_mark (reader, i);

  if (spec == NULL)
    return;
  if (*text == '\0' && wants_parts (reader) && g_strv_contains (parts, name))
    diag_error (diags, &mark, spec->help, "no value for '%s'", name);
  else if (*text != '\0')
    option_set (spec, &row->cluster, text, &mark, diags);
}

static Measurement *
read_row (const CsvReader *reader, DiagList *diags)
{
  Measurement *row = measurement_new ();

  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    {
      SourceMark mark = csv_reader_mark (reader, i);

      row->place = (SourceMark){ .file = mark.file, .line = mark.line };

      for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
        if (strcmp (columns[c].name, csv_reader_column (reader, i)) == 0)
          columns[c].read (row, csv_reader_field (reader, i), &mark, diags);
      read_cluster_cell (reader, i, row, diags);
    }
  return row;
}

/* A row whose first bad word is its reason; all of them are warnings. */
static Measurement *
read_any_row (const CsvReader *reader, DiagList *diags)
{
  g_autoptr (DiagList) own = diag_list_new ();
  Measurement         *row = read_row (reader, own);

  row->reason = diag_list_first_reason (own);
  diag_list_append_warnings (diags, own);
  return row;
}

GPtrArray *
measurement_table_load (const char *file, BadRows bad_rows, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  g_autoptr (GPtrArray) rows = measurement_array_new ();
  guint                 errors = diag_list_n_errors (diags);

  if (reader == NULL)
    return NULL;
  check_header (reader, diags);
  while (csv_reader_next (reader, diags))
    g_ptr_array_add (rows, bad_rows == BAD_ROWS_EXPLAIN ? read_any_row (reader, diags)
                                                        : read_row (reader, diags));
  if (rows->len == 0 && diag_list_n_errors (diags) == errors)
    {
      const SourceMark mark = { .file = intern_text (file) };

      diag_error (diags, &mark, NULL, "a header without rows: expected a measurement a row");
    }
  return diag_list_n_errors (diags) == errors ? g_steal_pointer (&rows) : NULL;
}

char *
measurement_source_prefix (const Measurement *self)
{
  gsize length = strlen (self->id), end = length;

  while (end > 0 && g_ascii_isdigit (self->id[end - 1]))
    end--;
  return g_strndup (self->id,
                    end > 1 && end < length && self->id[end - 1] == '-' ? end - 1 : length);
}

char *
measurement_link_family (const LinkProfile *link)
{
  if (link->kind == LINK_NETWORK)
    return g_strdup (link->technology);
  return g_strdup_printf ("%s %s", link->technology, link_kind_name (link->kind));
}
