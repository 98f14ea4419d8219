/* A calibration as a profile, and the products beside it. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "calibrate/profile.h"

#define DIGITS "%.6g" /* of fitted values: no measurement knows more */

/* ---- text ------------------------------------------------------------------------------------ */

/* For double quotes in YAML. */
static void
clean (char *text)
{
  for (char *c = text; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c) || *c == '"' || *c == '\\')
      *c = ' ';
}

/* A node's cores and drives are the host's. */
static const char *
machine_of (const ProfileCalibration *self)
{
  return strcmp (self->kind, "gpu") == 0 ? self->results->device : self->results->host;
}

/* What ran where and when, and how good the fit is. */
static char *
source_text (const ProfileCalibration *self, const FittedValue *value)
{
  const BenchResults *results = self->results;
  GString            *text = g_string_new ("shardsim-bench on ");
  const char *const   versions[][2] = { { "driver", results->driver },
                                        { "CUDA", results->cuda },
                                        { "NCCL", results->nccl } };

  g_string_append (text, machine_of (self));
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    if (*versions[i][1] != '\0')
      g_string_append_printf (text, ", %s %s", versions[i][0], versions[i][1]);
  g_string_append_printf (text, ", %s", results->first_date);
  if (strcmp (results->first_date, results->last_date) != 0)
    g_string_append_printf (text, " to %s", results->last_date);
  g_string_append_printf (text, ": %s; %u measurement%s", value->what, value->n,
                          value->n == 1 ? "" : "s");
  if (!isnan (value->residual_median))
    g_string_append_printf (text, ", off by %.1f %% (median), %.1f %% (90th percentile)",
                            value->residual_median * 100, value->residual_p90 * 100);
  clean (text->str);
  return g_string_free (text, FALSE);
}

static double
round_value (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  return g_ascii_strtod (g_ascii_formatd (text, sizeof text, DIGITS, value), NULL);
}

/* Counts and bytes as they are; rounding keeps the order of a range's ends and its value. */
static char *
value_text (QuantityKind kind, double value)
{
  if (kind == QUANTITY_RATIO)
    return number_format_exact (round_value (value));
  return quantity_format_exact (
      kind, kind == QUANTITY_BYTES || kind == QUANTITY_COUNT ? value : round_value (value));
}

/* A plain key has no source but a comment. */
static void
append_plain (GString *text, const ProfileCalibration *self, const FittedValue *value)
{
  g_autofree char *source = source_text (self, value);

  g_string_append_printf (text, "%s: %s # %s\n", value->figure, value->text, source);
}

static void
append_figure (GString *text, const ProfileCalibration *self, const FittedValue *value)
{
  g_autofree char *source = source_text (self, value);
  g_autofree char *after = value_text (value->kind, value->after);
  g_autofree char *low = NULL, *high = NULL;

  g_string_append_printf (text, "%s: { value: %s, source: \"%s\", confidence: measured",
                          value->figure, after, source);
  if (!isnan (value->low) && !isnan (value->high))
    {
      low = value_text (value->kind, value->low);
      high = value_text (value->kind, value->high);
      g_string_append_printf (text, ", range: [%s, %s]", low, high);
    }
  g_string_append (text, " }\n");
}

static GString *
profile_text (const ProfileCalibration *self)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *title =
      g_strdup_printf ("%s, as measured on %s", self->title, machine_of (self));

  clean (title);
  g_string_append_printf (text, "extends: %s\ntitle: \"%s\"\n", self->base, title);
  for (guint i = 0; i < self->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (self->fits, i);

      if (value->figure == NULL || value->verdict != FIT_GOOD)
        continue;
      if (value->text != NULL)
        append_plain (text, self, value);
      else
        append_figure (text, self, value);
    }
  return text;
}

/* As hardware/profile/matmul-curve.h reads it. NULL without products. */
static GString *
products_text (const ProfileCalibration *self)
{
  GString *text = g_string_new ("batch,m,n,k,tflops,dtype\n");

  for (guint i = 0; self->products != NULL && i < self->products->len; i++)
    {
      const BenchRow  *p = &g_array_index (self->products, BenchRow, i);
      const guint64    batch = MAX (p->batch, 1);
      const double     flops = 2.0 * (double) batch * (double) p->m * (double) p->n * (double) p->k;
      g_autofree char *rate = number_format_exact (round_value (flops / p->value * 1e-12));

      g_string_append_printf (text,
                              "%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT
                              ",%" G_GUINT64_FORMAT ",%s,%s\n",
                              batch, p->m, p->n, p->k, rate, p->dtype);
    }
  if (self->products != NULL && self->products->len > 0)
    return text;
  g_string_free (text, TRUE);
  return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static gboolean
make_folder (const char *file, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (file);

  if (g_mkdir_with_parents (folder, 0777) == 0)
    return TRUE;
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (errno), "cannot write '%s': %s",
               file, g_strerror (errno));
  return FALSE;
}

/* A table from another run beside FILE would be taken for this one's. */
static gboolean
check_stale (const char *table, GError **error)
{
  if (!g_file_test (table, G_FILE_TEST_EXISTS))
    return TRUE;
  g_set_error (
      error, G_IO_ERROR, G_IO_ERROR_EXISTS,
      "cannot write the profile: '%s' is there, and the results hold no products: remove it",
      table);
  return FALSE;
}

/* TEXT in a file to be published, added to FILES. */
static gboolean
add_file (GPtrArray *files, const char *path, const GString *text, GError **error)
{
  OutputFile *file = output_file_open (path, error);

  if (file == NULL)
    return FALSE;
  g_ptr_array_add (files, file);
  fwrite (text->str, 1, text->len, output_file_stream (file));
  return TRUE;
}

gboolean
profile_calibration_write (const ProfileCalibration *self, const char *file, GError **error)
{
  g_autoptr (GString)   text = profile_text (self), products = products_text (self);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) output_file_free);
  gsize                 stem = strlen (file) - strlen (".yaml");
  g_autofree char      *table = g_strdup_printf ("%.*s.matmul.csv", (int) stem, file);
  gboolean              is_gpu = strcmp (self->kind, "gpu") == 0;

  g_assert (g_str_has_suffix (file, ".yaml"));
  if (!make_folder (file, error) || (is_gpu && products == NULL && !check_stale (table, error)))
    return FALSE;
  return (products == NULL || add_file (files, table, products, error))
         && add_file (files, file, text, error)
         && output_files_publish ((OutputFile *const *) files->pdata, files->len, error);
}
