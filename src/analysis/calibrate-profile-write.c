/* A calibration as a profile, and the products beside it. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analysis/calibrate-profile.h"

#define DIGITS "%.6g" /* of fitted values: no measurement knows more */

/* ---- text -------------------------------------------------------------------------------------- */

/* For double quotes in YAML. */
static void
clean (char *text)
{
  for (char *c = text; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c) || *c == '"' || *c == '\\')
      *c = ' ';
}

static void
append_version (GString *text, const char *what, const char *version)
{
  if (*version != '\0')
    g_string_append_printf (text, ", %s %s", what, version);
}

/* What ran where and when, and how good the fit is. */
static char *
source_text (const BenchResults *results, const FittedValue *value)
{
  GString *text = g_string_new ("shardsim-bench on ");

  g_string_append (text, *results->device != '\0' ? results->device : results->host);
  append_version (text, "driver", results->driver);
  append_version (text, "CUDA", results->cuda);
  append_version (text, "NCCL", results->nccl);
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
append_plain (GString *text, const BenchResults *results, const FittedValue *value)
{
  g_autofree char *source = source_text (results, value);

  g_string_append_printf (text, "%s: %s # %s\n", value->figure, value->text, source);
}

static void
append_figure (GString *text, const BenchResults *results, const FittedValue *value)
{
  g_autofree char *source = source_text (results, value);
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
  const BenchResults *results = self->results;
  GString            *text = g_string_new (NULL);
  g_autofree char    *title =
      g_strdup_printf ("%s, as measured on %s", self->title,
                       *results->device != '\0' ? results->device : results->host);

  clean (title);
  g_string_append_printf (text, "extends: %s\ntitle: \"%s\"\n", self->base, title);
  for (guint i = 0; i < self->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (self->fits, i);

      if (value->figure == NULL || value->verdict != FIT_GOOD)
        continue;
      if (value->text != NULL)
        append_plain (text, results, value);
      else
        append_figure (text, results, value);
    }
  return text;
}

/* As cluster/matmul-curve.h reads it. NULL without products. */
static GString *
products_text (const ProfileCalibration *self)
{
  GString *text = g_string_new ("batch,m,n,k,tflops,dtype\n");

  for (guint i = 0; self->products != NULL && i < self->products->len; i++)
    {
      const MeasuredProduct *p = &g_array_index (self->products, MeasuredProduct, i);
      double flops = 2.0 * (double) p->batch * (double) p->m * (double) p->n * (double) p->k;
      g_autofree char *rate = number_format_exact (round_value (flops / p->seconds * 1e-12));

      g_string_append_printf (text,
                              "%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT
                              ",%" G_GUINT64_FORMAT ",%s,%s\n",
                              p->batch, p->m, p->n, p->k, rate, p->dtype);
    }
  if (self->products != NULL && self->products->len > 0)
    return text;
  g_string_free (text, TRUE);
  return NULL;
}

/* ---- files ------------------------------------------------------------------------------------- */

static gboolean
fail (GError **error, const char *file, int code)
{
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (code), "cannot write '%s': %s",
               file, g_strerror (code));
  return FALSE;
}

/* TEXT, safe on the disk, in a file beside FILE whose newly allocated name is *NAME. */
static gboolean
write_beside (const char *file, const GString *text, char **name, GError **error)
{
  gint     fd;
  gsize    done = 0;
  gboolean good = TRUE;
  int      code;

  *name = g_strconcat (file, ".XXXXXX", NULL);
  fd = g_mkstemp_full (*name, O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0)
    {
      code = errno;
      g_clear_pointer (name, g_free);
      return fail (error, file, code);
    }
  while (good && done < text->len)
    {
      gssize n = write (fd, text->str + done, text->len - done);

      good = n >= 0 || errno == EINTR;
      done += n > 0 ? (gsize) n : 0;
    }
  good = good && fsync (fd) == 0;
  code = errno;
  good = g_close (fd, NULL) && good;
  return good || fail (error, file, code);
}

/* A finished file, and what it replaces. */
typedef struct
{
  char    *file, *fresh;
  gboolean given; /* to be written at all */
} Output;

static void
output_clear (Output *self)
{
  if (self->fresh != NULL)
    g_unlink (self->fresh); /* nothing where it was renamed */
  g_free (self->fresh);
  g_free (self->file);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Output, output_clear)

/*
 * Both or neither. The table goes first, with its old self kept aside until the profile is in place.
 */
static gboolean
put_in_place (const Output *table, const Output *profile, GError **error)
{
  g_autofree char *old = table->given ? g_strconcat (table->fresh, ".old", NULL) : NULL;
  gboolean         kept = old != NULL && link (table->file, old) == 0;
  gboolean         good = TRUE;
  int              code;

  if (table->given && g_rename (table->fresh, table->file) != 0)
    {
      code = errno;
      good = fail (error, table->file, code);
    }
  else if (g_rename (profile->fresh, profile->file) != 0)
    {
      code = errno;
      good = fail (error, profile->file, code);
      if (kept)
        g_rename (old, table->file);
      else if (table->given)
        g_unlink (table->file);
    }
  if (kept)
    g_unlink (old);
  return good;
}

static gboolean
make_folder (const char *file, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (file);
  int              code;

  if (g_mkdir_with_parents (folder, 0777) == 0)
    return TRUE;
  code = errno;
  return fail (error, file, code);
}

/* A table from another run beside FILE would be taken for this one's. */
static gboolean
check_stale (const Output *table, GError **error)
{
  if (table->given || !g_file_test (table->file, G_FILE_TEST_EXISTS))
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_EXISTS,
               "cannot write the profile: '%s' is there, and the results hold no products: remove it",
               table->file);
  return FALSE;
}

gboolean
profile_calibration_write (const ProfileCalibration *self, const char *file, GError **error)
{
  g_autoptr (GString) text = profile_text (self), products = products_text (self);
  g_auto (Output)     profile = { .file = g_strdup (file), .given = TRUE };
  g_auto (Output)     table = { .given = products != NULL };
  gsize               stem = strlen (file) - strlen (".yaml");

  g_assert (g_str_has_suffix (file, ".yaml"));
  table.file = g_strdup_printf ("%.*s.matmul.csv", (int) stem, file);
  if (!make_folder (file, error) || (strcmp (self->kind, "gpu") == 0 && !check_stale (&table, error)))
    return FALSE;
  return (!table.given || write_beside (table.file, products, &table.fresh, error))
         && write_beside (file, text, &profile.fresh, error)
         && put_in_place (&table, &profile, error);
}
