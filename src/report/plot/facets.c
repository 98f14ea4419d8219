#include "report/plot/facets-private.h"

#include <math.h>
#include <stdarg.h>

Facets *
facets_new (const char *name, ...)
{
  Facets *self = g_new0 (Facets, 1);
  va_list arguments;

  va_start (arguments, name);
  self->name = g_strdup_vprintf (name, arguments);
  va_end (arguments);
  self->data = g_string_new (NULL);
  self->head = g_string_new (NULL);
  self->panels = g_string_new (NULL);
  return self;
}

guint
facets_block (Facets *self, const char *comment)
{
  g_string_append_printf (self->data, "%s# %s\n", self->n_blocks > 0 ? "\n\n" : "", comment);
  return self->n_blocks++;
}

void
facets_numbers (Facets *self, const double *values, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *text = number_format_exact (values[i]);

      g_string_append_printf (self->data, "%s%s", i > 0 ? " " : "",
                              isnan (values[i]) ? "NaN" : text);
    }
  g_string_append_c (self->data, '\n');
}

static void
end_plot (Facets *self)
{
  if (self->plots)
    g_string_append_c (self->panels, '\n');
  self->plots = FALSE;
}

void
facets_command (Facets *self, const char *format, ...)
{
  va_list arguments;

  end_plot (self);
  va_start (arguments, format);
  g_string_append_vprintf (self->panels, format, arguments);
  va_end (arguments);
  g_string_append_c (self->panels, '\n');
}

void
facets_text (Facets *self, const char *command, const char *text, glong most)
{
  g_autofree char *plain = gnuplot_plain_text (text, most);

  end_plot (self);
  g_string_append_printf (self->panels, "%s ", command);
  gnuplot_append_quoted (self->panels, plain);
  g_string_append_c (self->panels, '\n');
}

void
facets_draw (Facets *self, const char *title, const char *format, ...)
{
  va_list arguments;

  g_string_append (self->panels, self->plots ? ", \\\n  " : "plot ");
  self->plots = TRUE;
  va_start (arguments, format);
  g_string_append_vprintf (self->panels, format, arguments);
  va_end (arguments);
  g_string_append (self->panels, title != NULL ? " title " : " notitle");
  if (title != NULL)
    gnuplot_append_quoted (self->panels, title);
}

void
facets_key_panel (Facets *self)
{
  facets_command (self, "unset title\nunset xlabel\nunset ylabel\nunset tics\nunset grid\n"
                        "unset border\nset key inside left top Left reverse\nset yrange [0:1]");
}

void
facets_finish (Facets *self, const char *layout, guint width, guint height, const char *style,
               GArray *pictures)
{
  GnuplotPicture picture = { .name = self->name };

  end_plot (self);
  if (self->n_blocks > 0)
    g_string_append (self->data, "\n\n");
  if (layout != NULL)
    {
      g_autofree char *begin = g_strdup_printf ("set multiplot layout %s\n", layout);

      g_string_prepend (self->panels, begin);
      g_string_append (self->panels, "unset multiplot\n");
    }
  picture.script =
      gnuplot_script (self->name, style, self->head->str, self->panels->str, width, height);
  picture.data = g_string_free (self->data, FALSE);
  g_array_append_val (pictures, picture);
  g_string_free (self->head, TRUE);
  g_string_free (self->panels, TRUE);
  g_free (self);
}
