/* A calibration as link profiles. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "analysis/calibrate-collectives.h"

#define MAX_NAMES 8

/* What a figure's source says, for double quotes in YAML. */
static char *
source_text (const FittedFamily *family)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "fitted to %u rows of ", family->n_rows);
  for (guint i = 0; i < family->sources->len && i < MAX_NAMES; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "",
                            (const char *) g_ptr_array_index (family->sources, i));
  if (family->sources->len > MAX_NAMES)
    g_string_append_printf (text, " and %u more", family->sources->len - MAX_NAMES);
  for (char *c = text->str; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c) || *c == '"' || *c == '\\')
      *c = ' ';
  g_string_append_printf (text, ": mean |log (predicted / measured)| of %.3f", family->after);
  return g_string_free (text, FALSE);
}

/* The profile of LINK; NULL when none of its figures moved. */
static char *
profile_text (const FittedFamily *family, const char *link)
{
  GString         *text = g_string_new (NULL);
  g_autofree char *source = source_text (family);
  gboolean         moved = FALSE;

  g_string_append_printf (text, "extends: %s\n", link);
  for (guint i = 0; i < family->figures->len; i++)
    {
      const FittedFigure *figure = &g_array_index (family->figures, FittedFigure, i);
      g_autofree char    *value = figure->kind == QUANTITY_RATIO
                                      ? number_format_exact (figure->after)
                                      : quantity_format_exact (figure->kind, figure->after);

      if (!figure->moved || (figure->link != NULL && strcmp (figure->link, link) != 0))
        continue;
      moved = TRUE;
      g_string_append_printf (text, "%s: { value: %s, source: \"%s\", confidence: measured }\n",
                              figure->key, value, source);
    }
  return g_string_free (text, !moved);
}

/* A profile on its way: complete in `fresh` before any of them takes its place. */
typedef struct
{
  char *file, *fresh, *text;
} Output;

static void
output_free (gpointer data)
{
  Output *self = data;

  g_unlink (self->fresh); /* nothing where it was renamed */
  g_free (self->file);
  g_free (self->fresh);
  g_free (self->text);
  g_free (self);
}

static void
add_family (const FittedFamily *family, const char *folder, GPtrArray *outputs)
{
  for (guint l = 0; l < family->links->len; l++)
    {
      const char      *link = g_ptr_array_index (family->links, l);
      char            *text = profile_text (family, link);
      g_autofree char *name = g_strconcat (link, ".yaml", NULL);
      Output          *output = text != NULL ? g_new (Output, 1) : NULL;

      if (output == NULL)
        continue;
      output->file = g_build_filename (folder, name, NULL);
      output->fresh = g_strconcat (output->file, ".new", NULL);
      output->text = text;
      g_ptr_array_add (outputs, output);
    }
}

static gboolean
fail (GError **error, const char *what, const char *file, int code)
{
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (code), "cannot %s '%s': %s", what,
               file, g_strerror (code));
  return FALSE;
}

static gboolean
write_outputs (const GPtrArray *outputs, GError **error)
{
  for (guint i = 0; i < outputs->len; i++)
    {
      const Output *output = g_ptr_array_index (outputs, i);

      if (g_file_test (output->file, G_FILE_TEST_IS_DIR))
        return fail (error, "write", output->file, EISDIR);
      if (!g_file_set_contents_full (output->fresh, output->text, -1,
                                     G_FILE_SET_CONTENTS_CONSISTENT, 0666, error))
        return FALSE;
    }
  for (guint i = 0; i < outputs->len; i++)
    {
      const Output *output = g_ptr_array_index (outputs, i);

      if (g_rename (output->fresh, output->file) != 0)
        return fail (error, "write", output->file, errno);
    }
  return TRUE;
}

gboolean
collective_calibration_write (const CollectiveCalibration *self, const char *dir, guint *n_files,
                              GError **error)
{
  g_autofree char      *folder = g_build_filename (dir, "link", NULL);
  g_autoptr (GPtrArray) outputs = g_ptr_array_new_with_free_func (output_free);

  *n_files = 0;
  for (guint i = 0; i < self->families->len; i++)
    {
      const FittedFamily *family = g_ptr_array_index (self->families, i);

      if (family->refusal == NULL)
        add_family (family, folder, outputs);
    }
  if (outputs->len > 0 && g_mkdir_with_parents (folder, 0777) != 0)
    return fail (error, "make the folder", folder, errno);
  if (!write_outputs (outputs, error))
    return FALSE;
  *n_files = outputs->len;
  return TRUE;
}
