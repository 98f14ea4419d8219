/* The pictures of a planned run: days and money over nodes. */
#include <math.h>

#include "report/answer/run-plan-private.h"
#include "report/document/html-private.h"

#define PLOT_WIDTH 640
#define COLUMN     8 /* pixels of a character, at most */
#define MAX_NAME   44

static const RunPlan *
plan_at (const RunPlanAnswer *self, guint i)
{
  return g_ptr_array_index (self->plans, i);
}

static const RunOption *
option_at (const RunPlan *plan, guint i)
{
  return g_ptr_array_index (plan->options, i);
}

char *
run_plan_title (const RunPlan *plan)
{
  return plan->label != NULL ? g_strdup_printf ("%s, %s", plan->cluster, plan->label)
                             : g_strdup (plan->cluster);
}

/* What is drawn over the nodes, in a unit to read. */
typedef struct
{
  const char *name, *title, *y_title, *limit_title;
  gboolean    logarithmic; /* it falls as nodes are added */
  void (*values) (const RunOption *option, double *y, double *low, double *high);
  double (*limit) (const RunGoal *goal); /* 0: none */
} Curve;

static void
days_of (const RunOption *option, double *y, double *low, double *high)
{
  *y = option->goodput.wall_s / DAY;
  *low = option->sample.p10_s / DAY;
  *high = option->sample.p90_s / DAY;
}

static double
days_limit (const RunGoal *goal)
{
  return goal->deadline_s / DAY;
}

static void
money_of (const RunOption *option, double *y, double *low, double *high)
{
  *y = *low = *high = option->money > 0 ? option->money : NAN;
}

static double
money_limit (const RunGoal *goal)
{
  return goal->budget;
}

static const Curve curves[] = {
  { PICTURE_DAYS, "Days over nodes (band: p10 - p90)", "days", "deadline", TRUE, days_of,
    days_limit },
  { PICTURE_MONEY, "Money over nodes (p90)", "money", "budget", FALSE, money_of, money_limit },
};

/* The ends of both axes. */
typedef struct
{
  double x_least, x_most, y_least, y_most;
} Frame;

static gboolean
has_point (const Curve *curve, const RunOption *option, double *y, double *low, double *high)
{
  if (option->why != NULL)
    return FALSE;
  curve->values (option, y, low, high);
  return isfinite (*y) && isfinite (*low) && isfinite (*high);
}

/* Appends the block of PLAN. */
static void
append_curve (const Curve *curve, const RunPlan *plan, Frame *frame, GString *data)
{
  for (guint i = 0; i < plan->options->len; i++)
    {
      const RunOption *option = option_at (plan, i);
      double           y, low, high;

      if (!has_point (curve, option, &y, &low, &high))
        continue;
      plot_append_number (data, option->n_nodes);
      plot_append_number (data, y);
      plot_append_number (data, low);
      plot_append_number (data, high);
      g_string_append_c (data, '\n');
      *frame = (Frame){ MIN (frame->x_least, option->n_nodes), MAX (frame->x_most, option->n_nodes),
                        MIN (frame->y_least, MIN (y, low)), MAX (frame->y_most, MAX (y, high)) };
    }
  g_string_append (data, "\n\n");
}

static void
set_frame (const Curve *curve, const Frame *frame, double limit, GString *settings)
{
  const double most = MAX (frame->y_most, limit);
  const double least = limit > 0 ? MIN (frame->y_least, limit) : frame->y_least;

  plot_set_text (settings, "title_text", curve->title);
  plot_set_text (settings, "x_title", "nodes");
  plot_set_text (settings, "y_title", curve->y_title);
  plot_set_text (settings, "limit_title", curve->limit_title);
  plot_set_number (settings, "limit", limit);
  plot_set_number (settings, "logarithmic", curve->logarithmic);
  plot_set_number (settings, "x_least", frame->x_least / 1.2);
  plot_set_number (settings, "x_most", frame->x_most * 1.2);
  plot_set_number (settings, "y_least", curve->logarithmic ? least / 1.3 : 0);
  plot_set_number (settings, "y_most", most * (curve->logarithmic ? 1.3 : 1.1));
}

/* What tells plan I from the others: its type of node, its scenario, or both. Newly allocated. */
static char *
series_name (const RunPlanAnswer *self, guint i)
{
  const RunPlan *plan = plan_at (self, i);
  const gboolean one_type =
      g_str_equal (plan_at (self, 0)->cluster, plan_at (self, self->plans->len - 1)->cluster);
  g_autofree char *name =
      plan->label != NULL && one_type ? g_strdup (plan->label) : run_plan_title (plan);

  return gnuplot_plain_text (name, MAX_NAME);
}

/* Nothing where no number of nodes has a point. */
static gboolean
add_curve (GArray *pictures, const PlotScripts *scripts, const Curve *curve,
           const RunPlanAnswer *self, GError **error)
{
  g_autoptr (GString) settings = g_string_new (NULL), data = g_string_new (NULL);
  Frame               frame = { INFINITY, -INFINITY, INFINITY, -INFINITY };
  guint               list = 60;

  g_string_append (data, "# nodes y low high\n");
  g_string_append_printf (settings, "array series[%u] = [", self->plans->len);
  for (guint i = 0; i < self->plans->len; i++)
    {
      g_autofree char *name = series_name (self, i);

      g_string_append (settings, i > 0 ? ", " : "");
      gnuplot_append_quoted (settings, name);
      list = MAX (list, 60 + COLUMN * (guint) g_utf8_strlen (name, -1));
      append_curve (curve, plan_at (self, i), &frame, data);
    }
  g_string_append (settings, "]\n");
  if (!isfinite (frame.x_least))
    return TRUE;
  set_frame (curve, &frame, curve->limit (&self->goals[0]), settings);
  plot_set_number (settings, "list_share", (double) list / (PLOT_WIDTH + list));
  return plot_add (pictures, scripts, curve->name, "run-plan", g_steal_pointer (&settings),
                   g_steal_pointer (&data), PLOT_WIDTH + list, 420, error);
}

gboolean
run_plan_draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (curves); i++)
    if (!add_curve (pictures, scripts, &curves[i], answer, error))
      return FALSE;
  return TRUE;
}
