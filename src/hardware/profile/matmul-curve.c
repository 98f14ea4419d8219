#include "hardware/profile/matmul-curve.h"

#include <math.h>

#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "base/config/units.h"

typedef enum
{
  COLUMN_BATCH,
  COLUMN_M,
  COLUMN_N,
  COLUMN_K,
  COLUMN_TFLOPS,
  N_NUMBERS,
  COLUMN_DTYPE = N_NUMBERS,
  N_COLUMNS,
} CurveColumn;

static const char *const column_names[] = { "batch", "m", "n", "k", "tflops", "dtype", NULL };
static const char *const dtype_names[] = {
  "bf16", "fp16", "fp32", "fp8", "fp8_block", "nvfp4", NULL
};

static const MatmulType dtype_types[] = { MATMUL_16BIT, MATMUL_16BIT,     MATMUL_FP32,
                                          MATMUL_FP8,   MATMUL_FP8_BLOCK, MATMUL_NVFP4 };

static gboolean
find_columns (const CsvReader *reader, gint places[N_COLUMNS], DiagList *diags)
{
  guint n_errors = diag_list_n_errors (diags);

  for (guint c = 0; c < N_COLUMNS; c++)
    {
      places[c] = csv_reader_find (reader, column_names[c]);
      if (places[c] < 0 && c < N_NUMBERS)
        csv_reader_missing (reader, column_names[c], NULL, diags);
    }
  csv_reader_check_names (reader, column_names, diags);
  return diag_list_n_errors (diags) == n_errors;
}

static MatmulType
read_type (const CsvReader *reader, gint place, DiagList *diags)
{
  const char *text = place >= 0 ? csv_reader_field (reader, (guint) place) : dtype_names[0];

  for (guint i = 0; dtype_names[i] != NULL; i++)
    if (g_str_equal (text, dtype_names[i]))
      return dtype_types[i];

  SourceMark       mark = csv_reader_mark (reader, (guint) place);
  g_autofree char *hint = suggest_hint (text, dtype_names);

  diag_error (diags, &mark, hint, "unknown dtype '%s'", text);
  return MATMUL_16BIT;
}

static MatmulPoint
read_point (const CsvReader *reader, const gint places[N_COLUMNS], DiagList *diags)
{
  double v[N_NUMBERS];

  for (guint c = 0; c < N_NUMBERS; c++)
    {
      guint       place = (guint) places[c];
      CurveColumn column = (CurveColumn) c;
      const char *text = csv_reader_field (reader, place);
      char       *end;
      double      value = g_ascii_strtod (text, &end);

      /* Sizes are whole. */
      if (end == text || *end != '\0' || !number_is_usable (value) || value <= 0
          || (column != COLUMN_TFLOPS && value != floor (value)))
        {
          const SourceMark mark = csv_reader_mark (reader, place);

          diag_error (diags, &mark, NULL, "expected a %s above 0 in column '%s', got '%s'",
                      column == COLUMN_TFLOPS ? "number" : "whole number", column_names[column],
                      text);
        }
      v[c] = value;
    }
  return (MatmulPoint){
    .batch = v[COLUMN_BATCH],
    .m = v[COLUMN_M],
    .n = v[COLUMN_N],
    .k = v[COLUMN_K],
    .seconds =
        2 * v[COLUMN_BATCH] * v[COLUMN_M] * v[COLUMN_N] * v[COLUMN_K] / (v[COLUMN_TFLOPS] * 1e12),
    .type = read_type (reader, places[COLUMN_DTYPE], diags),
  };
}

GArray *
matmul_curve_load (const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  g_autoptr (GArray)    points = g_array_new (FALSE, FALSE, sizeof (MatmulPoint));
  guint                 n_errors = diag_list_n_errors (diags);
  gint                  places[N_COLUMNS];

  if (reader == NULL || !find_columns (reader, places, diags))
    return NULL;
  while (csv_reader_next (reader, diags))
    {
      MatmulPoint point = read_point (reader, places, diags);

      g_array_append_val (points, point);
    }
  if (points->len == 0 && diag_list_n_errors (diags) == n_errors)
    {
      SourceMark mark = csv_reader_mark (reader, 0);

      mark.column = mark.length = 0;
      diag_error (diags, &mark, "one product a row, or no file", "no products under the header");
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&points) : NULL;
}
