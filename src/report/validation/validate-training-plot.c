/* Measured against predicted step times and peaks of memory, drawn by gnuplot. */
#include "report/plot/gnuplot-private.h"
#include "report/validation/validate-training.h"

#define N_COLOURS 9

typedef struct
{
  const char *name, *title;
  gboolean    of_speed; /* else of memory */
  const char *unit;
  const char *scale; /* of both axes, in gnuplot's words */
} Picture;

static const Picture pictures[] = {
  { "speed", "step time", TRUE, "s", "set logscale xy" },
  { "memory", "peak memory", FALSE, "GiB", "set xrange [0:]\nset yrange [0:]" },
};

static gboolean
is_shown (const ValidatedTraining *row, const Picture *picture)
{
  TrainingMetric metric = row->measured->metric;

  return row->reason == NULL && !row->measured->calibrates && metric != METRIC_FITS
         && training_metric_is_speed (metric) == picture->of_speed;
}

/* The measured step time, whatever the metric: the predicted one, corrected by the row's error. */
static double
measured_of (const ValidatedTraining *row)
{
  if (!training_metric_is_speed (row->measured->metric))
    return row->measured->value;
  return training_metric_is_time (row->measured->metric) ? row->step_time_s / (1 + row->error)
                                                         : row->step_time_s * (1 + row->error);
}

static double
predicted_of (const ValidatedTraining *row)
{
  return training_metric_is_speed (row->measured->metric) ? row->step_time_s : row->predicted;
}

/* Sources with rows in PICTURE, in order of appearance. */
static GPtrArray *
sources_of (const TrainingValidation *self, const Picture *picture)
{
  GPtrArray *sources = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = &g_array_index (self->rows, ValidatedTraining, i);

      if (is_shown (row, picture)
          && !g_ptr_array_find_with_equal_func (sources, row->measured->source, g_str_equal, NULL))
        g_ptr_array_add (sources, (gpointer) row->measured->source);
    }
  return sources;
}

/* A block a source. */
static char *
data_text (const TrainingValidation *self, const Picture *picture, const GPtrArray *sources)
{
  GString *out = g_string_new ("# measured predicted; a block a source\n");

  for (guint s = 0; s < sources->len; s++)
    {
      for (guint i = 0; i < self->rows->len; i++)
        {
          const ValidatedTraining *row = &g_array_index (self->rows, ValidatedTraining, i);
          g_autofree char         *measured = NULL;
          g_autofree char         *predicted = NULL;

          if (!is_shown (row, picture) || !g_str_equal (row->measured->source, sources->pdata[s]))
            continue;
          measured = number_format_exact (measured_of (row));
          predicted = number_format_exact (predicted_of (row));
          g_string_append_printf (out, "%s %s\n", measured, predicted);
        }
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

static void
append_plot (GString *out, const GPtrArray *sources)
{
  g_string_append (
      out,
      "plot x with lines ls 20 notitle, 1.2 * x with lines ls 21 title '20 %', x / 1.2 with lines "
      "ls 21 notitle");
  for (guint s = 0; s < sources->len; s++)
    {
      g_autofree char *title = gnuplot_plain_text (sources->pdata[s], 40);

      g_string_append_printf (
          out, ", \\\n  data index %u using 1:2 with points ls %u pt %u ps 0.6 title ", s,
          1 + s % N_COLOURS, s < N_COLOURS ? 7 : 5);
      gnuplot_append_quoted (out, title);
    }
  g_string_append_c (out, '\n');
}

static char *
script_text (const Picture *picture, const char *style, const GPtrArray *sources)
{
  g_autoptr (GString) plot = g_string_new (NULL);

  append_plot (plot, sources);
  return g_strdup_printf (
      "# Draws %s.png and %s.svg from %s.dat: gnuplot %s.gp\n%s\ndata = '%s.dat'\n"
      "%s\nset xlabel 'measured %s, %s'\nset ylabel 'predicted %s, %s'\nset format '%%g'\n"
      "set key outside right top\nset grid xtics ytics\n"
      "set terminal pngcairo noenhanced font 'Liberation Sans,12' fontscale 1.2 size 1200,900\n"
      "set output '%s.png'\n%s\n"
      "set terminal svg noenhanced font 'Liberation Sans,12' size 860,650 background '#ffffff'\n"
      "set output '%s.svg'\n%s",
      picture->name, picture->name, picture->name, picture->name, style, picture->name,
      picture->scale, picture->title, picture->unit, picture->title, picture->unit, picture->name,
      plot->str, picture->name, plot->str);
}

gboolean
report_training_plot (const TrainingValidation *self, const char *dir, const char *style_file,
                      GError **error)
{
  GnuplotPicture   drawn[G_N_ELEMENTS (pictures)] = { { 0 } };
  g_autofree char *style = NULL;
  guint            n = 0;
  gboolean         good;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (pictures); i++)
    {
      g_autoptr (GPtrArray) sources = sources_of (self, &pictures[i]);

      if (sources->len > 0)
        drawn[n++] =
            (GnuplotPicture){ g_strdup (pictures[i].name), data_text (self, &pictures[i], sources),
                              script_text (&pictures[i], style, sources) };
    }
  good = gnuplot_draw (drawn, n, dir, error);
  for (guint i = 0; i < n; i++)
    {
      g_free (drawn[i].name);
      g_free (drawn[i].data);
      g_free (drawn[i].script);
    }
  return good;
}
