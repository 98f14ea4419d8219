#include "evidence/tables/scenario-rows.h"

#include <string.h>

#include "evidence/tables/training-columns.h"

/* Columns that are no option of this name: another key, or NULL, passed over. */
static const struct
{
  const char *name, *key;
} other_columns[] = {
  { "strategy", "strategy.name" },
  { "metric", NULL },
  { "value", NULL },
  { "unit", NULL },
  { "use", NULL },
  { "source", NULL },
  { "remark", NULL },
};

typedef struct
{
  SweepSource source; /* the first member */
  char       *file;
  GPtrArray  *options; /* keys, owned, ended by NULL */
  guint      *columns; /* of each option */
  gboolean   *gaps;    /* whether some row leaves it empty */
  gint        id;
  CsvReader  *reader; /* at row `row` */
  guint64     row;
  gboolean    begun;
} Rows;

/* What a column sets, newly allocated; NULL: nothing. *KNOWN: whether it may stand there. */
static char *
key_of_column (const char *name, gboolean *known)
{
  const OptionSpec *spec;
  guint             section;

  *known = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (other_columns); i++)
    if (g_str_equal (other_columns[i].name, name))
      return g_strdup (other_columns[i].key);
  if (g_str_equal (name, "id"))
    return NULL;
  if (strchr (name, '.') != NULL)
    return g_strdup (name); /* the scenario says what is wrong with it */
  spec = training_find_setting (name, &section);
  *known = spec != NULL;
  return spec != NULL ? g_strdup_printf ("%s.%s", training_sections[section].name, spec->key)
                      : NULL;
}

static void
read_columns (Rows *self, DiagList *diags)
{
  const guint n = csv_reader_n_columns (self->reader);

  self->columns = g_new0 (guint, n + 1);
  self->gaps = g_new0 (gboolean, n + 1);
  for (guint i = 0; i < n; i++)
    {
      gboolean         known;
      g_autofree char *key = key_of_column (csv_reader_column (self->reader, i), &known);

      if (!known)
        {
          g_autoptr (GPtrArray) names = g_ptr_array_new ();

          for (guint k = 0; k < G_N_ELEMENTS (other_columns); k++)
            g_ptr_array_add (names, (gpointer) other_columns[k].name);
          g_ptr_array_add (names, (gpointer) "id");
          g_ptr_array_add (names, (gpointer) "cluster");
          for (guint s = 0; s < TRAINING_N_SECTIONS; s++)
            for (const OptionSpec *spec = scenario_section_table (training_sections[s].name);
                 spec->key != NULL; spec++)
              g_ptr_array_add (names, (gpointer) spec->key);
          g_ptr_array_add (names, NULL);
          csv_reader_unknown (self->reader, i, (const char *const *) names->pdata, diags);
        }
      if (key == NULL)
        continue;
      self->columns[self->options->len] = i;
      g_ptr_array_add (self->options, g_steal_pointer (&key));
    }
  g_ptr_array_add (self->options, NULL);
  self->id = csv_reader_find (self->reader, "id");
}

static void
rows_free (SweepSource *source)
{
  Rows *self = (Rows *) source;

  csv_reader_free (self->reader);
  g_ptr_array_unref (self->options);
  g_free (self->columns);
  g_free (self->gaps);
  g_free (self->file);
  g_free (self);
}

/* Goes to row POINT. FALSE with ERROR where the table has changed meanwhile. */
static gboolean
go_to (Rows *self, guint64 point, GError **error)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  if (self->reader == NULL || (self->begun && point < self->row))
    {
      /* Back to the first row. */
      csv_reader_free (self->reader);
      self->reader = csv_reader_open (self->file, diags);
      self->begun = FALSE;
      self->row = 0;
    }
  while (!self->begun || self->row < point)
    {
      if (self->reader == NULL || !csv_reader_next (self->reader, diags))
        {
          const char *why = diag_list_first_message (diags);

          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "'%s': %s", self->file,
                       why != NULL ? why : "the table has fewer rows than it had");
          return FALSE;
        }
      self->row += self->begun;
      self->begun = TRUE;
    }
  return TRUE;
}

static char **
row_values (SweepSource *source, guint64 point, char **label, GError **error)
{
  Rows  *self = (Rows *) source;
  char **values;

  if (!go_to (self, point, error))
    return NULL;
  values = g_new0 (char *, self->options->len);
  for (guint i = 0; self->options->pdata[i] != NULL; i++)
    values[i] = g_strstrip (g_strdup (csv_reader_field (self->reader, self->columns[i])));
  *label = self->id >= 0 ? g_strdup (csv_reader_field (self->reader, (guint) self->id))
                         : g_strdup_printf ("row %" G_GUINT64_FORMAT, point + 1);
  return values;
}

/* How many rows it has, and which cells are empty; what is wrong with one is diagnosed. */
static guint64
count_rows (Rows *self, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (self->file, diags);
  guint64               n = 0;

  for (; reader != NULL && csv_reader_next (reader, diags); n++)
    for (guint i = 0; self->options->pdata[i] != NULL; i++)
      {
        const char *cell = csv_reader_field (reader, self->columns[i]);

        self->gaps[i] |= cell[strspn (cell, " \t\r\n")] == '\0';
      }
  return n;
}

SweepSource *
scenario_rows_open (const char *file, DiagList *diags)
{
  Rows       *self = g_new0 (Rows, 1);
  const guint n_errors = diag_list_n_errors (diags);

  self->file = g_strdup (file);
  self->options = g_ptr_array_new_with_free_func (g_free);
  self->reader = csv_reader_open (file, diags);
  if (self->reader != NULL)
    {
      read_columns (self, diags);
      self->source = (SweepSource){ .options = (const char *const *) self->options->pdata,
                                    .origin = self->file,
                                    .length = count_rows (self, diags),
                                    .gaps = self->gaps,
                                    .values = row_values,
                                    .free = rows_free };
      if (self->source.length == 0 && diag_list_n_errors (diags) == n_errors)
        diag_error (diags, NULL, "give it a row a scenario", "the grid is empty: '%s' has no rows",
                    file);
    }
  if (diag_list_n_errors (diags) == n_errors)
    return &self->source;
  rows_free (&self->source);
  return NULL;
}
