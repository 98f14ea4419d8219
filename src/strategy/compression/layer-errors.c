#include "strategy/compression/layer-errors.h"

#include "base/config/csv.h"
#include "base/config/units.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

typedef struct
{
  guint  first, last; /* layers */
  char  *tensor;
  guint  rank;
  double error;
} Line;

struct _LayerErrors
{
  GArray *lines; /* Line */
};

typedef enum
{
  COLUMN_LAYER,
  COLUMN_TENSOR,
  COLUMN_RANK,
  COLUMN_ERROR,
  COLUMN_N,
} Column;

static const char *const columns[COLUMN_N + 1] = { "layer", "tensor", "rank", "error", NULL };

static void
line_clear (gpointer data)
{
  g_free (((Line *) data)->tensor);
}

static void
errors_free (gpointer data)
{
  LayerErrors *self = data;

  g_array_unref (self->lines);
  g_free (self);
}

/* A whole number from LEAST on; FALSE: it is none. */
static gboolean
read_number (const char *text, guint least, guint *number)
{
  guint64 value;

  if (!g_ascii_string_to_unsigned (text, 10, least, G_MAXUINT16, &value, NULL))
    return FALSE;
  *number = (guint) value;
  return TRUE;
}

/* "*", "3" or "1-12". */
static gboolean
read_layers (const char *text, Line *line)
{
  g_auto (GStrv) ends = g_strsplit (text, "-", 2);

  line->first = 0;
  line->last = G_MAXUINT;
  if (strcmp (text, "*") == 0)
    return TRUE;
  if (ends[0] == NULL || !read_number (ends[0], 0, &line->first))
    return FALSE;
  line->last = line->first;
  return ends[1] == NULL || (read_number (ends[1], 0, &line->last) && line->last >= line->first);
}

static gboolean
read_error (const char *text, Line *line)
{
  g_autofree char *why = NULL;

  return quantity_parse (QUANTITY_RATIO, text, &line->error, &why) && isfinite (line->error)
         && line->error >= 0;
}

static void
read_line (LayerErrors *self, const CsvReader *reader, const gint *place, DiagList *diags)
{
  static const char *const hints[COLUMN_N] = {
    "a layer of the model, a range of them or all: '3', '1-12', '*'",
    "a name or a pattern of names: 'attn.q_proj.weight', '*q_proj*'",
    "a whole number from 1",
    "a number from 0",
  };
  Line     line = { 0 };
  gboolean ok = TRUE;

  for (guint c = 0; c < COLUMN_N; c++)
    {
      const char *text = csv_reader_field (reader, (guint) place[c]);
      gboolean    good = c == COLUMN_LAYER    ? read_layers (text, &line)
                         : c == COLUMN_TENSOR ? *text != '\0'
                         : c == COLUMN_RANK   ? read_number (text, 1, &line.rank)
                                              : read_error (text, &line);
      SourceMark  mark = csv_reader_mark (reader, (guint) place[c]);

      if (!good)
        diag_error (diags, &mark, hints[c], "bad %s '%s'", columns[c], text);
      ok &= good;
    }
  if (!ok)
    return;
  line.tensor = g_strdup (csv_reader_field (reader, (guint) place[COLUMN_TENSOR]));
  g_array_append_val (self->lines, line);
}

static gpointer
read_file (gconstpointer user, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (user, diags);
  const guint           errors = diag_list_n_errors (diags);
  gint                  place[COLUMN_N];
  LayerErrors          *self;

  if (reader == NULL)
    return NULL;
  csv_reader_check_names (reader, columns, diags);
  for (guint c = 0; c < COLUMN_N; c++)
    if ((place[c] = csv_reader_find (reader, columns[c])) < 0)
      csv_reader_missing (reader, columns[c], NULL, diags);
  self = g_new0 (LayerErrors, 1);
  self->lines = g_array_new (FALSE, FALSE, sizeof (Line));
  g_array_set_clear_func (self->lines, line_clear);
  if (diag_list_n_errors (diags) == errors)
    while (csv_reader_next (reader, diags))
      read_line (self, reader, place, diags);
  if (diag_list_n_errors (diags) > errors)
    g_clear_pointer (&self, errors_free);
  return self;
}

const LayerErrors *
layer_errors_get (InputFiles *files, const char *file, DiagList *diags)
{
  g_autofree char *key = g_strdup_printf ("layer errors of %s", file);

  return input_files_get (files, key, read_file, file, errors_free, diags);
}

double
layer_errors_of (const LayerErrors *self, guint layer, const char *tensor, guint rank)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      const Line *line = &g_array_index (self->lines, Line, i);

      if (line->rank == rank && layer >= line->first && layer <= line->last
          && fnmatch (line->tensor, tensor, 0) == 0)
        return line->error;
    }
  return INFINITY;
}
