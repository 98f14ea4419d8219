#include "medians.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/csv.h"

typedef struct
{
  char   *source, *class_;
  GArray *errors; /* double */
} Line;

struct _Medians
{
  GPtrArray *lines; /* Line */
};

/* What the table says of one line. */
typedef struct
{
  guint  rows;
  double signed_, absolute;
  char  *bound;
} Held;

static void
line_free (gpointer data)
{
  Line *line = data;

  g_free (line->source);
  g_free (line->class_);
  g_array_unref (line->errors);
  g_free (line);
}

static void
held_free (gpointer data)
{
  Held *held = data;

  g_free (held->bound);
  g_free (held);
}

Medians *
medians_new (void)
{
  Medians *self = g_new (Medians, 1);

  self->lines = g_ptr_array_new_with_free_func (line_free);
  return self;
}

void
medians_free (Medians *self)
{
  g_ptr_array_unref (self->lines);
  g_free (self);
}

char *
medians_path (const char *file)
{
  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests/data/validation", file, NULL);
}

char *
medians_source_of (const char *id)
{
  g_autoptr (GRegex) numbers = g_regex_new ("(-r?[0-9]+)+$", 0, 0, NULL);

  return g_regex_replace_literal (numbers, id, -1, 0, "", 0, NULL);
}

void
medians_note (Medians *self, const char *source, const char *class_, double error)
{
  Line *line = NULL;

  for (guint i = 0; i < self->lines->len && line == NULL; i++)
    {
      Line *other = g_ptr_array_index (self->lines, i);

      if (strcmp (other->source, source) == 0 && strcmp (other->class_, class_) == 0)
        line = other;
    }
  if (line == NULL)
    {
      line = g_new (Line, 1);
      line->source = g_strdup (source);
      line->class_ = g_strdup (class_);
      line->errors = g_array_new (FALSE, FALSE, sizeof (double));
      g_ptr_array_add (self->lines, line);
    }
  g_array_append_val (line->errors, error);
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Of the errors, or of their absolute values. */
static double
median_of (const GArray *errors, gboolean absolute)
{
  g_autoptr (GArray) sorted = g_array_copy ((GArray *) errors);
  double            *values = (double *) (gpointer) sorted->data;

  for (guint i = 0; absolute && i < sorted->len; i++)
    values[i] = fabs (values[i]);
  g_array_sort (sorted, compare_doubles);
  return (values[(sorted->len - 1) / 2] + values[sorted->len / 2]) / 2;
}

/* "source,class" -> Held; empty where there is no table yet. */
static GHashTable *
load_table (const char *path)
{
  static const char *const wanted[] = { "source", "class", "rows", "signed", "absolute", "bound" };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (CsvReader)    reader = NULL;
  GHashTable *table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, held_free);

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return table;
  reader = csv_reader_open (path, diags);
  ck_assert_msg (reader != NULL, "%s", diag_list_first_message (diags));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    ck_assert_int_eq (csv_reader_find (reader, wanted[i]), (int) i);
  while (csv_reader_next (reader, diags))
    {
      Held *held = g_new0 (Held, 1);

      held->rows = (guint) strtoul (csv_reader_field (reader, 2), NULL, 10);
      held->signed_ = g_ascii_strtod (csv_reader_field (reader, 3), NULL);
      held->absolute = g_ascii_strtod (csv_reader_field (reader, 4), NULL);
      held->bound = g_strdup (csv_reader_field (reader, 5));
      g_hash_table_replace (
          table,
          g_strdup_printf ("%s,%s", csv_reader_field (reader, 0), csv_reader_field (reader, 1)),
          held);
    }
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return table;
}

/* Whether LINE is as HELD says; what is not goes to stderr. */
static gboolean
check_line (const Line *line, const Held *held)
{
  const double signed_ = median_of (line->errors, FALSE);
  const double absolute = median_of (line->errors, TRUE);
  gboolean     ok = TRUE;

  if (held == NULL || held->rows != line->errors->len)
    {
      fprintf (stderr, "%s, %s: %u rows, the table says %u\n", line->source, line->class_,
               line->errors->len, held != NULL ? held->rows : 0);
      return FALSE;
    }
  if (!(fabs (signed_ - held->signed_) <= MEDIANS_BAND
        && fabs (absolute - held->absolute) <= MEDIANS_BAND))
    {
      fprintf (stderr, "%s, %s: median %+.4f and %.4f of its absolute value, was %+.4f and %.4f\n",
               line->source, line->class_, signed_, absolute, held->signed_, held->absolute);
      ok = FALSE;
    }
  if (strcmp (held->bound, "-") == 0)
    return ok;
  if (*held->bound == '\0' || !(fabs (signed_) <= g_ascii_strtod (held->bound, NULL)))
    {
      fprintf (stderr, "%s, %s: median %+.4f, bound '%s'\n", line->source, line->class_, signed_,
               held->bound);
      ok = FALSE;
    }
  return ok;
}

static void
write_table (const Medians *self, GHashTable *table, const char *path)
{
  g_autoptr (GString) out = g_string_new ("source,class,rows,signed,absolute,bound\n");

  for (guint i = 0; i < self->lines->len; i++)
    {
      const Line      *line = g_ptr_array_index (self->lines, i);
      g_autofree char *key = g_strdup_printf ("%s,%s", line->source, line->class_);
      const Held      *held = g_hash_table_lookup (table, key);

      g_string_append_printf (out, "%s,%u,%+.4f,%.4f,%s\n", key, line->errors->len,
                              median_of (line->errors, FALSE), median_of (line->errors, TRUE),
                              held != NULL ? held->bound : "");
    }
  ck_assert (g_file_set_contents (path, out->str, -1, NULL));
}

void
medians_check (const Medians *self, const char *file)
{
  g_autofree char       *path = medians_path (file);
  g_autoptr (GHashTable) table = load_table (path);
  guint                  n_bad = 0;

  if (g_getenv ("UPDATE_GOLDEN") != NULL)
    {
      write_table (self, table, path);
      g_hash_table_unref (g_steal_pointer (&table));
      table = load_table (path);
    }
  for (guint i = 0; i < self->lines->len; i++)
    {
      const Line      *line = g_ptr_array_index (self->lines, i);
      g_autofree char *key = g_strdup_printf ("%s,%s", line->source, line->class_);

      n_bad += !check_line (line, g_hash_table_lookup (table, key));
    }
  ck_assert_msg (n_bad == 0, "%u of %u medians are not as %s says (docs/validation.md)", n_bad,
                 self->lines->len, file);
  ck_assert_uint_eq (g_hash_table_size (table), self->lines->len); /* no line without rows */
}
