#include "report/plot.h"

#include <string.h>

#include "report/gnuplot-private.h"

#define NAME       "time-split"
#define BAR_PIXELS 105
#define MAX_NAME   36 /* characters of a bar's name */

/* ---- what is drawn --------------------------------------------------------------------------------------------------- */

typedef struct
{
  const GPtrArray *predictions;
  gboolean         shown[TIME_N]; /* parts that are visible somewhere */
  gboolean by_strategy; /* bars are told apart by their strategies, otherwise by the scenarios' names */
  double      unit;     /* seconds in a unit of the axis */
  const char *unit_name;
  double      highest; /* in units */
} Picture;

static const Prediction *
prediction_at (const Picture *self, guint i)
{
  return g_ptr_array_index (self->predictions, i);
}

static gboolean
same_group (const Prediction *a, const Prediction *b)
{
  return g_str_equal (a->model, b->model) && g_str_equal (a->cluster, b->cluster);
}

static gboolean
strategies_differ (const Picture *self)
{
  for (guint i = 0; i < self->predictions->len; i++)
    for (guint j = 0; j < i; j++)
      if (same_group (prediction_at (self, i), prediction_at (self, j))
          && g_str_equal (prediction_at (self, i)->strategy, prediction_at (self, j)->strategy))
        return FALSE;
  return TRUE;
}

static void
picture_init (Picture *self, const GPtrArray *predictions)
{
  double longest = 0;

  *self = (Picture){ .predictions = predictions };
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (self, i);

      longest = MAX (longest, p->step_time_s);
      for (guint part = 0; part < TIME_N; part++)
        self->shown[part] |= p->parts[part] > 0.001 * p->step_time_s;
    }
  self->by_strategy = strategies_differ (self);
  self->unit = longest >= 1 ? 1 : longest >= 1e-3 ? 1e-3 : 1e-6;
  self->unit_name = longest >= 1 ? "s" : longest >= 1e-3 ? "ms" : "us";
  self->highest = longest / self->unit;
}

/* Places of the bars: one apart, and a gap before each group. */
static double *
bar_places (const Picture *self)
{
  double *places = g_new0 (double, MAX (self->predictions->len, 1));
  double  at = 0;

  for (guint i = 0; i < self->predictions->len; i++)
    {
      at += i > 0 && !same_group (prediction_at (self, i - 1), prediction_at (self, i)) ? 1.6 : 1;
      places[i] = at;
    }
  return places;
}

static void
append_number (GString *out, double value)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append (out, text);
}

/* ---- data -------------------------------------------------------------------------------------------------------------- */

static void
append_data_row (const Picture *self, guint i, double place, GString *out)
{
  const Prediction *p = prediction_at (self, i);
  g_autofree char  *name =
      gnuplot_plain_text (self->by_strategy ? p->strategy : p->scenario, MAX_NAME);

  append_number (out, place);
  g_string_append_printf (out, " \"%s\"", name);
  for (guint part = 0; part < TIME_N; part++)
    {
      g_string_append_c (out, ' ');
      append_number (out, p->parts[part]);
    }
  g_string_append_c (out, ' ');
  append_number (out, p->step_time_s);
  g_string_append_printf (out, " %d\n", p->fits);
}

static char *
data_text (const Picture *self, const double *places)
{
  GString *out = g_string_new ("# place name");

  for (guint part = 0; part < TIME_N; part++)
    g_string_append_printf (out, " %s_s", time_part_key ((TimePart) part));
  g_string_append (out, " step_time_s fits\n");
  for (guint i = 0; i < self->predictions->len; i++)
    append_data_row (self, i, places[i], out);
  return g_string_free (out, FALSE);
}

/* ---- script -------------------------------------------------------------------------------------------------------------- */

#define FIRST_PART_COLUMN 3
#define STEP_COLUMN       (FIRST_PART_COLUMN + TIME_N)
#define FITS_COLUMN       (STEP_COLUMN + 1)

/* The group's model and cluster above its bars. */
static void
append_group_titles (const Picture *self, const double *places, GString *out)
{
  guint end;

  for (guint first = 0; first < self->predictions->len; first = end)
    {
      const Prediction *p = prediction_at (self, first);

      for (end = first + 1;
           end < self->predictions->len && same_group (p, prediction_at (self, end)); end++)
        ;
      g_string_append (out, "set label ");
      gnuplot_append_quoted (out, p->model);
      g_string_append (out, " at first ");
      append_number (out, (places[first] + places[end - 1]) / 2);
      g_string_append (out, ", graph 1.04 center font ',13'\n");
    }
}

static gboolean
one_cluster (const Picture *self)
{
  for (guint i = 1; i < self->predictions->len; i++)
    if (!g_str_equal (prediction_at (self, 0)->cluster, prediction_at (self, i)->cluster))
      return FALSE;
  return self->predictions->len > 0;
}

static gsize
longest_name (const Picture *self)
{
  gsize longest = 0;

  for (guint i = 0; i < self->predictions->len; i++)
    {
      const Prediction *p = prediction_at (self, i);

      longest = MAX (longest, MIN (strlen (self->by_strategy ? p->strategy : p->scenario), MAX_NAME));
    }
  return longest;
}

/* Long names would run into each other. */
static gboolean
names_lean (const Picture *self)
{
  return longest_name (self) > 13;
}

static void
append_axes (const Picture *self, const double *places, GString *out)
{
  g_string_append (out, "set title ");
  gnuplot_append_quoted (out, one_cluster (self) ? prediction_at (self, 0)->cluster
                                                 : "Where the time of a step goes");
  g_string_append_printf (
      out,
      " font ',11' offset 0,1.5\nset tmargin 5\nset ylabel 'time of a step on the critical path (%s)'\n",
      self->unit_name);
  g_string_append (out, "set xrange [0.4:");
  append_number (out, places[self->predictions->len - 1] + 0.6);
  g_string_append (out, "]\nset yrange [0:");
  append_number (out, 1.12 * self->highest);
  g_string_append (out, "]\nset boxwidth 0.78\n");
  /* Names are labels, not tics, for which gnuplot looks for room by itself and may find none; so the margin is set here. */
  g_string_append_printf (out, "unset xtics\nset bmargin %u\n",
                          (guint) (names_lean (self) ? 2 + longest_name (self) / 5 : 3));
  append_group_titles (self, places, out);
}

/* Boxes from the highest sum down, so that each leaves its own part visible; the step's time above. */
static void
append_plot (const Picture *self, GString *out)
{
  g_string_append (out, "plot \\\n");
  for (guint part = TIME_N; part-- > 0;)
    if (self->shown[part])
      {
        g_string_append_printf (
            out, "  data using 1:((sum [i=%u:%u] column(i)) / unit) with boxes ls %u title ",
            FIRST_PART_COLUMN, FIRST_PART_COLUMN + part, part + 1);
        gnuplot_append_quoted (out, time_part_name ((TimePart) part));
        g_string_append (out, ", \\\n");
      }
  g_string_append_printf (out, "  data using 1:(0):2 with labels %s notitle, \\\n",
                          names_lean (self) ? "rotate by -25 left offset -1,-0.9"
                                            : "center offset 0,-0.9");
  g_string_append_printf (
      out,
      "  data using 1:(column(%u) / unit):(sprintf('%%.2f', column(%u) / unit)) with labels "
      "offset 0,0.7 font ',11' notitle, \\\n"
      "  data using 1:(column(%u) / unit):(column(%u) > 0 ? '' : 'does not fit') with labels "
      "offset 0,1.6 font ',10' textcolor rgb '#882255' notitle\n",
      STEP_COLUMN, STEP_COLUMN, STEP_COLUMN, FITS_COLUMN);
}

static char *
script_text (const Picture *self, const double *places, const char *style)
{
  GString *out = g_string_new ("# Draws " NAME ".png and " NAME ".svg from " NAME
                               ".dat: gnuplot " NAME ".gp\n");
  guint    width = CLAMP (330 + BAR_PIXELS * self->predictions->len, 640, 3000);

  g_string_append_printf (out, "%s\ndata = '" NAME ".dat'\nunit = ", style);
  append_number (out, self->unit);
  g_string_append_c (out, '\n');
  append_axes (self, places, out);
  g_string_append_printf (
      out, "\nset terminal pngcairo noenhanced font 'Liberation Sans,12' fontscale 1.6 size %u,%u\n",
      8 * width / 5, 8 * 480 / 5);
  g_string_append (out, "set output '" NAME ".png'\n");
  append_plot (self, out);
  g_string_append_printf (
      out,
      "\nset terminal svg noenhanced font 'Liberation Sans,12' size %u,480 background '#ffffff'\n"
      "set output '" NAME ".svg'\nreplot\n",
      width);
  return g_string_free (out, FALSE);
}

gboolean
report_plot_write (const GPtrArray *predictions, const char *dir, const char *style_file,
                   GError **error)
{
  g_autofree char   *style = NULL, *data = NULL, *script = NULL;
  g_autofree double *places = NULL;
  Picture            picture;

  if (predictions->len == 0)
    return TRUE;
  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  picture_init (&picture, predictions);
  places = bar_places (&picture);
  data = data_text (&picture, places);
  script = script_text (&picture, places, style);
  return gnuplot_draw (&(GnuplotPicture){ NAME, data, script }, 1, dir, error);
}
