/* A calibration as link profiles. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "calibrate/collectives.h"

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

/* Writes the profiles of FAMILY and adds them to FILES, still to be published. */
static gboolean
add_family (const FittedFamily *family, const char *folder, GPtrArray *files, GError **error)
{
  for (guint l = 0; l < family->links->len; l++)
    {
      const char      *link = g_ptr_array_index (family->links, l);
      g_autofree char *text = profile_text (family, link),
                      *name = g_strconcat (link, ".yaml", NULL);
      g_autofree char *path = g_build_filename (folder, name, NULL);
      OutputFile      *file;

      if (text == NULL)
        continue;
      if (g_mkdir_with_parents (folder, 0777) != 0)
        {
          g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (errno),
                       "cannot make the folder '%s': %s", folder, g_strerror (errno));
          return FALSE;
        }
      file = output_file_open (path, error);
      if (file == NULL)
        return FALSE;
      g_ptr_array_add (files, file);
      fputs (text, output_file_stream (file));
    }
  return TRUE;
}

gboolean
collective_calibration_write (const CollectiveCalibration *self, const char *dir, guint *n_files,
                              GError **error)
{
  g_autofree char      *folder = g_build_filename (dir, "link", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) output_file_free);

  *n_files = 0;
  for (guint i = 0; i < self->families->len; i++)
    {
      const FittedFamily *family = g_ptr_array_index (self->families, i);

      if (family->refusal == NULL && !add_family (family, folder, files, error))
        return FALSE;
    }
  if (!output_files_publish ((OutputFile *const *) files->pdata, files->len, error))
    return FALSE;
  *n_files = files->len;
  return TRUE;
}
