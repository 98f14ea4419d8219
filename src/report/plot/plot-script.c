/* From a script of the data files to a picture. */
#include <math.h>

#include "report/plot/plot-private.h"

#define MAX_NAME 72

gboolean
plot_scripts_read (PlotScripts *self, const char *style_file, GError **error)
{
  self->folder = g_path_get_dirname (style_file);
  return g_file_get_contents (style_file, &self->style, NULL, error);
}

void
plot_scripts_clear (PlotScripts *self)
{
  g_clear_pointer (&self->folder, g_free);
  g_clear_pointer (&self->style, g_free);
}

gboolean
plot_add (GArray *pictures, const PlotScripts *scripts, const char *name, const char *template,
          GString *settings, GString *data, guint width, guint height, GError **error)
{
  g_autofree char *file = g_strconcat (template, ".gp", NULL);
  g_autofree char *path = g_build_filename (scripts->folder, file, NULL);
  g_autofree char *commands = NULL, *set = g_string_free (settings, FALSE);
  GnuplotPicture   picture = { .data = g_string_free (data, FALSE) };

  if (!g_file_get_contents (path, &commands, NULL, error))
    {
      g_free (picture.data);
      return FALSE;
    }
  picture.name = g_strdup (name);
  picture.script = gnuplot_script (name, scripts->style, set, commands, width, height);
  g_array_append_val (pictures, picture);
  return TRUE;
}

void
plot_set_text (GString *settings, const char *name, const char *text)
{
  g_string_append_printf (settings, "%s = ", name);
  gnuplot_append_quoted (settings, text);
  g_string_append_c (settings, '\n');
}

void
plot_set_number (GString *settings, const char *name, double value)
{
  g_string_append_printf (settings, "%s = ", name);
  plot_append_number (settings, value);
  g_string_append_c (settings, '\n');
}

void
plot_append_number (GString *data, double value)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append_printf (data, "%s ", isfinite (value) ? text : "nan");
}

void
plot_append_text (GString *data, const char *text)
{
  g_autofree char *plain = gnuplot_plain_text (text, MAX_NAME);

  g_string_append_printf (data, "\"%s\" ", plain);
}

void
plot_append_list_label (GString *settings, guint number, const char *text, double height)
{
  g_string_append_printf (settings, "set label %u ", number);
  gnuplot_append_quoted (settings, text);
  g_string_append_printf (settings, " at graph 1.03, graph %.2f left font ',10'\n", height);
}

double
plot_time_unit (double length, const char **name)
{
  *name = length >= 1 ? "s" : length >= 1e-3 ? "ms" : "us";
  return length >= 1 ? 1 : length >= 1e-3 ? 1e-3 : 1e-6;
}
