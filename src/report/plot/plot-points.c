/* Pictures of points and of matrices: Pareto fronts, scaling curves, heat maps. */
#include <math.h>

#include "base/words.h"
#include "report/plot/plot-private.h"

#define PLOT_WIDTH      640
#define CELL_WIDTH      96
#define CELL_HEIGHT     40
#define COLUMN          8 /* pixels of a character, at most */
#define MAX_LISTED      14
#define MAX_LISTED_NAME 44
#define MAX_SERIES      48
#define MAX_NAME        24
#define MAX_TITLE       90

static const PlotPoint *
point_at (const GArray *points, guint i)
{
  return &g_array_index (points, PlotPoint, i);
}

/* X and y, what stands BEFORE the label, and it. */
static void
append_point (GString *data, const PlotPoint *point, const char *before)
{
  plot_append_number (data, point->x);
  plot_append_number (data, point->y);
  g_string_append (data, before);
  plot_append_text (data, point->label != NULL ? point->label : "");
  g_string_append_c (data, '\n');
}

static void
end_block (GString *data, gboolean any)
{
  g_string_append (data, any ? "\n\n" : "-9 -9 0 \"\"\n\n\n");
}

/* ---- Pareto ---------------------------------------------------------------------------------- */

/* Whether another point that fits is as good in both and better in one, or the same before it. */
static gboolean
is_behind (const GArray *points, guint i)
{
  const PlotPoint *p = point_at (points, i);

  for (guint j = 0; j < points->len; j++)
    {
      const PlotPoint *other = point_at (points, j);
      gboolean         as_good = other->fits && other->x <= p->x && other->y >= p->y;

      if (j != i && as_good && (other->x < p->x || other->y > p->y || j < i))
        return TRUE;
    }
  return FALSE;
}

static gint
compare_x (gconstpointer a, gconstpointer b)
{
  const PlotPoint *x = a, *y = b;

  return x->x < y->x ? -1 : x->x > y->x;
}

/* The points on the front, in order. */
static GArray *
find_front (const GArray *points)
{
  GArray *front = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  for (guint i = 0; i < points->len; i++)
    if (point_at (points, i)->fits && !is_behind (points, i))
      g_array_append_val (front, *point_at (points, i));
  g_array_sort (front, compare_x);
  return front;
}

/* "3  hsdp / micro_batch=2": what stands in the list. Newly allocated. */
static char *
front_name (const GArray *front, guint i)
{
  const PlotPoint *p = point_at (front, i);
  g_autofree char *plain = gnuplot_plain_text (p->label != NULL ? p->label : "", MAX_LISTED_NAME);

  return g_strdup_printf ("%u  %s", i + 1, plain);
}

/* Behind the front, what does not fit, and FRONT. */
static void
append_front_blocks (const GArray *points, const GArray *front, GString *data)
{
  for (guint block = 0; block < 2; block++)
    {
      gboolean any = FALSE;

      for (guint i = 0; i < points->len; i++)
        {
          const PlotPoint *p = point_at (points, i);

          if (p->fits != (block == 0) || (p->fits && !is_behind (points, i)))
            continue;
          append_point (data, p, "");
          any = TRUE;
        }
      end_block (data, any);
    }
  for (guint i = 0; i < front->len; i++)
    {
      g_autofree char *number = g_strdup_printf ("%u ", i + 1);

      append_point (data, point_at (front, i), number);
    }
  end_block (data, front->len > 0);
}

static void
set_titles (GString *settings, const char *title, const char *x_title, const char *y_title)
{
  plot_set_text (settings, "title_text", title);
  plot_set_text (settings, "x_title", x_title);
  plot_set_text (settings, "y_title", y_title);
}

/* Sets the ends of an axis a little beyond those of the points' X or Y. */
static void
set_range (GString *settings, const char *axis, const GArray *points, gsize offset)
{
  g_autofree char *first = g_strdup_printf ("%s_least", axis);
  g_autofree char *last = g_strdup_printf ("%s_most", axis);
  double           least = INFINITY, most = -INFINITY, margin;

  for (guint i = 0; i < points->len; i++)
    {
      double value = G_STRUCT_MEMBER (double, point_at (points, i), offset);

      least = MIN (least, value);
      most = MAX (most, value);
    }
  margin = most > least ? 0.08 * (most - least) : MAX (0.08 * fabs (most), 1);
  plot_set_number (settings, first, least - margin);
  plot_set_number (settings, last, most + margin);
}

gboolean
plot_add_pareto (GArray *pictures, const PlotScripts *scripts, const char *name, const char *title,
                 const char *x_title, const char *y_title, const GArray *points, GError **error)
{
  g_autoptr (GArray) front = find_front (points);
  GString           *settings = g_string_new (NULL), *data = g_string_new ("# x y number name\n");
  glong              columns = 16;
  guint              list;

  for (guint i = 0; i < front->len; i++)
    {
      g_autofree char *text = front_name (front, i);

      columns = MAX (columns, g_utf8_strlen (text, -1));
      if (i < MAX_LISTED) /* at the right, below the legend */
        plot_append_list_label (settings, i + 1, text, 0.78 - 0.05 * i);
    }
  list = 40 + COLUMN * (guint) columns;
  set_titles (settings, title, x_title, y_title);
  set_range (settings, "x", points, G_STRUCT_OFFSET (PlotPoint, x));
  set_range (settings, "y", points, G_STRUCT_OFFSET (PlotPoint, y));
  plot_set_number (settings, "list_share", (double) list / (PLOT_WIDTH + list));
  append_front_blocks (points, front, data);
  return plot_add (pictures, scripts, name, "pareto", settings, data, PLOT_WIDTH + list, 520,
                   error);
}

/* ---- scaling --------------------------------------------------------------------------------- */

static void
append_series (const GArray *points, const char *name, GString *data)
{
  const PlotPoint *first = NULL;

  for (guint i = 0; i < points->len; i++)
    {
      const PlotPoint *p = point_at (points, i);

      if (!g_str_equal (p->series, name))
        continue;
      if (first == NULL)
        first = p;
      plot_append_number (data, p->x);
      plot_append_number (data, p->y);
      plot_append_number (data, first->y * p->x / first->x);
      g_string_append_c (data, '\n');
    }
  g_string_append (data, "\n\n");
}

gboolean
plot_add_scaling (GArray *pictures, const PlotScripts *scripts, const char *name, const char *title,
                  const char *x_title, const char *y_title, const GArray *points, GError **error)
{
  g_autoptr (GPtrArray) series = words_of (points, G_STRUCT_OFFSET (PlotPoint, series));
  GString *settings = g_string_new (NULL), *data = g_string_new ("# x y y_if_in_step_with_x\n");
  double   least = INFINITY, most = 0;
  guint    list = 60;

  set_titles (settings, title, x_title, y_title);
  g_string_append_printf (settings, "array series[%u] = [", series->len);
  for (guint i = 0; i < series->len; i++)
    {
      g_autofree char *plain = gnuplot_plain_text (g_ptr_array_index (series, i), MAX_SERIES);

      g_string_append (settings, i > 0 ? ", " : "");
      gnuplot_append_quoted (settings, plain);
      list = MAX (list, 60 + COLUMN * (guint) g_utf8_strlen (plain, -1));
      append_series (points, g_ptr_array_index (series, i), data);
    }
  g_string_append (settings, "]\n");
  for (guint i = 0; i < points->len; i++)
    {
      least = MIN (least, point_at (points, i)->x);
      most = MAX (most, point_at (points, i)->x);
    }
  plot_set_number (settings, "list_share", (double) list / (PLOT_WIDTH + list));
  plot_set_number (settings, "x_least", least / 1.2);
  plot_set_number (settings, "x_most", most * 1.2);
  return plot_add (pictures, scripts, name, "scaling", settings, data, PLOT_WIDTH + list, 560,
                   error);
}

/* ---- heat maps ------------------------------------------------------------------------------- */

static guint
widest (const char *const *names)
{
  glong most = 0;

  for (guint i = 0; names[i] != NULL; i++)
    most = MAX (most, MIN (g_utf8_strlen (names[i], -1), MAX_NAME));
  return (guint) most;
}

/* Pixels that a title takes. */
static guint
room_of (const char *title)
{
  return COLUMN * (guint) g_utf8_strlen (title, -1);
}

gboolean
plot_add_heat_map (GArray *pictures, const PlotScripts *scripts, const char *name,
                   const PlotMatrix *self, GError **error)
{
  GString *settings = g_string_new (NULL), *data = g_string_new ("# x y value text words\n");
  guint    n_columns = g_strv_length ((char **) self->x_names);
  guint    n_rows = g_strv_length ((char **) self->y_names);
  guint    cell = MAX (CELL_WIDTH, COLUMN * (widest (self->x_names) + 2));
  double   least = INFINITY, most = -INFINITY;
  g_autofree char *title = gnuplot_plain_text (self->title, MAX_TITLE);

  for (guint i = 0; i < n_rows * n_columns; i++)
    {
      double           value = self->values[i];
      const char      *word = self->words != NULL && self->words[i] != NULL ? self->words[i] : "";
      g_autofree char *text = g_strdup_printf (fabs (value) < 1e4 ? "%.4g" : "%.0f", value);

      g_string_append_printf (data, "%u %u ", i % n_columns, i / n_columns);
      plot_append_number (data, value);
      plot_append_text (data, isfinite (value) ? text : word);
      g_string_append (data, !isfinite (value) && *word != '\0' ? "1\n" : "0\n");
      if (!isfinite (value))
        continue;
      least = MIN (least, value);
      most = MAX (most, value);
    }
  set_titles (settings, title, self->x_title, self->y_title);
  plot_set_text (settings, "z_title", self->z_title);
  g_string_append_printf (settings, "columns = %u\nrows = %u\n", n_columns, n_rows);
  if (!isfinite (least)) /* nothing has a value */
    least = most = 0;
  plot_set_number (settings, "least", least);
  plot_set_number (settings, "most", most > least ? most : least + 1);
  gnuplot_append_tics (settings, 'x', self->x_names, n_columns, MAX_NAME);
  gnuplot_append_tics (settings, 'y', self->y_names, n_rows, MAX_NAME);
  return plot_add (pictures, scripts, name, "heat-map", settings, data,
                   MAX (200 + COLUMN * widest (self->y_names) + cell * n_columns,
                        MAX (80 + room_of (title), 480)),
                   MAX (150 + CELL_HEIGHT * n_rows, 100 + room_of (self->y_title)), error);
}
