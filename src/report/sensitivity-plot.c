/* What figures of the hardware do to the step, drawn by gnuplot: a bar to each side a figure. */
#include <math.h>

#include "report/gnuplot-private.h"
#include "report/sensitivity.h"

#define NAME         "sensitivity"
#define MAX_FIGURES  24
#define WIDTH        820 /* pixels */
#define LINE_PIXELS  24
#define OTHER_PIXELS 150
#define MAX_NAME     40

/* The figures that are drawn: those that matter most. */
static GPtrArray *
figures_of (const Sensitivity *self)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < self->figures->len && list->len < MAX_FIGURES; i++)
    {
      FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);

      if (effect->matters)
        g_ptr_array_add (list, effect);
    }
  return list;
}

/* Per cent of the step time. */
static double
change_of (const Sensitivity *self, const FigureSample *sample)
{
  return isnan (sample->value) ? 0
                               : 100 * (sample->step_time_s / self->prediction->step_time_s - 1);
}

static char *
data_text (const Sensitivity *self, const GPtrArray *figures)
{
  GString *out = g_string_new ("# line less more: per cent of the step time\n");

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureEffect *effect = g_ptr_array_index (figures, i);
      g_autofree char    *less = number_format_exact (change_of (self, &effect->down));
      g_autofree char    *more = number_format_exact (change_of (self, &effect->up));

      g_string_append_printf (out, "%u %s %s\n", i, less, more);
    }
  return g_string_free (out, FALSE);
}

static char *
head_text (const Sensitivity *self, const GPtrArray *figures)
{
  GString              *out = g_string_new ("set title ");
  const Prediction     *given = self->prediction;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *what = g_strdup_printf ("%s: %s", given->strategy, given->model);

  gnuplot_append_quoted (out, what);
  g_string_append (out, " . \"\\n\" . ");
  gnuplot_append_quoted (out, given->cluster);
  g_string_append_printf (out,
                          "\nset xlabel 'step time, %%' noenhanced\nset yrange [%u.5:-0.5]\n"
                          "set grid noytics xtics back ls 21\nset format x '%%g'\n"
                          "set key outside center bottom horizontal\nset tics scale 0\n"
                          "set yzeroaxis ls 20\n",
                          figures->len - 1);
  for (guint i = 0; i < figures->len; i++)
    {
      const FigureEffect *effect = g_ptr_array_index (figures, i);
      g_autofree char    *value = hardware_figure_format (&effect->figure, effect->figure.value);

      g_ptr_array_add (names, g_strdup_printf ("%s, %s", effect->figure.name, value));
    }
  gnuplot_append_tics (out, 'y', names, MAX_NAME + MAX_NAME / 2);
  return g_string_free (out, FALSE);
}

gboolean
report_sensitivity_plot (const Sensitivity *self, const char *dir, const char *style_file,
                         GError **error)
{
  g_autoptr (GPtrArray) figures = figures_of (self);
  g_autofree char      *style = NULL, *script = NULL, *plot = NULL;
  g_autofree char      *data = NULL, *head = NULL;
  GnuplotPicture        picture = { .name = (char *) NAME };

  if (figures->len == 0)
    return TRUE;
  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  data = data_text (self, figures);
  head = head_text (self, figures);
  plot = g_strdup_printf ("plot data using (0):1:(0):2:($1-0.38):($1+0.38) with boxxyerror ls 4 "
                          "title '1/%g as much', \\\n"
                          "  data using (0):1:(0):3:($1-0.38):($1+0.38) with boxxyerror ls 2 "
                          "title '%g times as much'\n",
                          self->factor, self->factor);
  script =
      gnuplot_script (NAME, style, head, plot, WIDTH, OTHER_PIXELS + LINE_PIXELS * figures->len);
  picture.data = data;
  picture.script = script;
  return gnuplot_draw (&picture, 1, dir, error);
}
