#include "decide/explore/sensitivity.h"

#include <math.h>

#include "base/intern.h"
#include "base/parallel.h"
#include "predict/batch.h"
#include "predict/trace/op-times.h"

#define LEAST_SHARE   0.01  /* of a rate, where the search for its break-even point begins */
#define MOST_TIMES    1000  /* where it ends */
#define PRECISION     1.002 /* of the point */
#define LEAST_EFFECT  5e-4  /* of an elasticity: what three digits show */
#define LEAST_SETBACK 5e-4  /* of a step: what a tenth of a per cent shows */
#define LEAST_CHANGE  1e-6  /* of a figure, relative */

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const PredictOptions *options;
  Sensitivity          *result;
  gint                  n_simulated; /* atomic */
} Search;

static Prediction *
predict_at (Search *self, const HardwareFigure *figure, double value)
{
  const Variation variation = { .figure = figure, .value = value };

  g_atomic_int_inc (&self->n_simulated);
  return predict_varied (self->scenario, self->strategies, &variation, 1, self->options);
}

/* Whether what failed was cut, and says nothing. */
static gboolean
is_over (const Search *self)
{
  return stop_cuts (self->options->replay.stop);
}

static FigureEffect *
effect_at (const Search *self, guint i)
{
  return &g_array_index (self->result->figures, FigureEffect, i);
}

/* ---- elasticity ------------------------------------------------------------------------------ */

/*
 * What the library runs otherwise in OTHER than in FIRST, of several the one that adds most to what
 * the GPU waits: "all_reduce, tensor of 8, runs as tree/simple/16 instead of ring/simple/8". Newly
 * allocated; NULL: nothing.
 */
static char *
other_ways (const Prediction *first, const Prediction *other)
{
  const TrafficUse *from = NULL, *to = NULL;

  for (guint i = 0; i < first->traffic->len && i < other->traffic->len; i++)
    {
      const TrafficUse *x = &g_array_index (first->traffic, TrafficUse, i);
      const TrafficUse *y = &g_array_index (other->traffic, TrafficUse, i);

      if ((x->ways == y->ways && x->links == y->links) || !g_str_equal (x->group, y->group)
          || (to != NULL && y->exposed_s - x->exposed_s <= to->exposed_s - from->exposed_s))
        continue;
      from = x;
      to = y;
    }
  if (to == NULL)
    return NULL;
  if (from->ways == to->ways)
    return g_strdup_printf ("%s, %s, runs over other links", to->collective, to->group);
  return g_strdup_printf ("%s, %s, runs as %s instead of %s", to->collective, to->group, to->ways,
                          from->ways);
}

/* Of the ops that take longer in OTHER than in FIRST the label of those that take most longer. */
static const char *
longest_label (const Prediction *first, const Prediction *other)
{
  const char *longest = NULL;
  double      most = 0;

  for (guint i = 0; i < first->op_times->len && i < other->op_times->len; i++)
    {
      const OpTime *x = &g_array_index (first->op_times, OpTime, i);
      const OpTime *y = &g_array_index (other->op_times, OpTime, i);
      const double  longer = y->n * y->median_s - x->n * x->median_s;

      if (!g_str_equal (x->label, y->label) || longer <= most)
        continue;
      longest = y->label;
      most = longer;
    }
  return longest;
}

/*
 * Why a step with FIGURE at VALUE, which is better and takes longer, does so. With each op by
 * itself it is a longest path: where that is no longer, ops meet otherwise, else some take longer.
 * Newly allocated.
 */
static char *
explain_setback (Search *self, const HardwareFigure *figure, double value)
{
  const Variation variation = { .figure = figure, .value = value };
  PredictOptions  options = *self->options;
  char           *ways = NULL;

  options.replay.apart = options.op_times = TRUE;
  g_autoptr (Prediction) given =
      predict_varied (self->scenario, self->strategies, NULL, 0, &options);
  g_autoptr (Prediction) other =
      predict_varied (self->scenario, self->strategies, &variation, 1, &options);
  const char *label = NULL;

  g_atomic_int_add (&self->n_simulated, 2);
  if (given == NULL || other == NULL
      || other->step_time_s <= given->step_time_s * (1 + LEAST_CHANGE))
    return g_strdup ("operations that run side by side meet otherwise");
  ways = other_ways (given, other);
  label = longest_label (given, other);
  return ways != NULL    ? ways
         : label != NULL ? g_strdup_printf ("%s takes longer by itself", label)
                         : g_strdup ("single operations take longer");
}

/* Two samples a figure: less, more. */
static FigureSample *
sample_at (const Search *self, guint i)
{
  FigureEffect *effect = effect_at (self, i / 2);

  return i % 2 == 0 ? &effect->down : &effect->up;
}

static Scenario *
build_sample (gpointer user, guint i, DiagList *diags)
{
  Search               *self = user;
  const HardwareFigure *figure = &effect_at (self, i / 2)->figure;
  const double          factor = i % 2 == 0 ? 1 / self->result->factor : self->result->factor;
  const Variation       variation = {
          .figure = figure,
          .value = hardware_figure_clamp (figure, figure->value * factor),
  };

  sample_at (self, i)->value = NAN;
  if (fabs (variation.value / figure->value - 1) < LEAST_CHANGE || variation.value <= 0)
    return NULL;
  g_atomic_int_inc (&self->n_simulated);
  sample_at (self, i)->value = variation.value;
  return scenario_varied (self->scenario, self->strategies, &variation, 1, diags);
}

static void
read_sample (gpointer user, guint i, Predicted *one)
{
  Search           *self = user;
  FigureEffect     *effect = effect_at (self, i / 2);
  FigureSample     *sample = sample_at (self, i);
  const Prediction *p = one->prediction;

  if (isnan (sample->value))
    return;
  if (p == NULL)
    {
      sample->value = is_over (self) ? 0 : NAN;
      return;
    }
  sample->step_time_s = p->step_time_s;
  sample->fits = p->fits;
  if (hardware_figure_better (&effect->figure) == (i % 2 == 0 ? -1 : 1)
      && p->step_time_s > self->result->prediction->step_time_s * (1 + LEAST_SETBACK))
    effect->setback = explain_setback (self, &effect->figure, sample->value);
}

static void
measure_effect (const Sensitivity *self, FigureEffect *effect)
{
  const FigureSample  given = { effect->figure.value, self->prediction->step_time_s,
                                self->prediction->fits };
  const FigureSample *low = isnan (effect->down.value) ? &given : &effect->down;
  const FigureSample *high = isnan (effect->up.value) ? &given : &effect->up;

  if (low->value < high->value)
    effect->elasticity =
        log (high->step_time_s / low->step_time_s) / log (high->value / low->value);
  effect->matters = fabs (effect->elasticity) >= LEAST_EFFECT || low->fits != given.fits
                    || high->fits != given.fits;
}

/* ---- break-even ------------------------------------------------------------------------------ */

typedef gboolean (*IsBelow) (const Prediction *at, const BreakEven *point);

static gboolean
takes_longer (const Prediction *at, const BreakEven *point)
{
  return at->step_time_s > point->unlimited_step_s * (1 + BREAK_EVEN_SHARE);
}

static gboolean
binds_as_below (const Prediction *at, const BreakEven *point)
{
  return g_strcmp0 (at->binding_resource, point->binds_below) == 0;
}

/*
 * The least value of FIGURE between LOW, which is below, and HIGH, which is not; 0: it cannot be.
 */
static double
halve (Search *self, const HardwareFigure *figure, double low, double high, IsBelow is_below,
       const BreakEven *point)
{
  while (high / low > PRECISION)
    {
      const double           middle = sqrt (low * high);
      g_autoptr (Prediction) at = predict_at (self, figure, middle);

      if (at == NULL)
        return 0;
      if (is_below (at, point))
        low = middle;
      else
        high = middle;
    }
  return high;
}

static void
break_even_clear (BreakEven *self)
{
  g_free (self->binds_below);
  g_free (self->binds_above);
  *self = (BreakEven){ 0 };
}

static void
find_break_even (guint i, gpointer user)
{
  Search                *self = user;
  FigureEffect          *effect = effect_at (self, i);
  const HardwareFigure  *figure = &effect->figure;
  BreakEven             *point = &effect->break_even;
  const double           least = hardware_figure_clamp (figure, figure->value * LEAST_SHARE);
  const double           most = hardware_figure_clamp (figure, figure->value * MOST_TIMES);
  g_autoptr (Prediction) low = NULL, high = NULL;

  if (figure->quantity != QUANTITY_BANDWIDTH && figure->quantity != QUANTITY_COMPUTE)
    return;
  low = predict_at (self, figure, least);
  high = predict_at (self, figure, most);
  if (low == NULL || high == NULL)
    return;
  point->least = least;
  point->unlimited_step_s = high->step_time_s;
  point->binds_below = g_strdup (low->binding_resource);
  point->binds_above = g_strdup (high->binding_resource);
  point->kind = BREAK_EVEN_NEVER;
  if (!takes_longer (low, point))
    return;
  point->value = halve (self, figure, least, most, takes_longer, point);
  point->kind = point->value > 0 ? BREAK_EVEN_AT : BREAK_EVEN_NOT_ASKED;
  if (!binds_as_below (high, point))
    point->binds_at = halve (self, figure, least, most, binds_as_below, point);
  if (is_over (self))
    break_even_clear (point);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Ties in the order of the profiles. */
static gint
compare_effects (gconstpointer a, gconstpointer b)
{
  const double x = fabs (((const FigureEffect *) a)->elasticity);
  const double y = fabs (((const FigureEffect *) b)->elasticity);

  return (x < y) - (x > y);
}

static void
effect_clear (gpointer data)
{
  FigureEffect *self = data;

  break_even_clear (&self->break_even);
  g_free (self->setback);
}

static void
add_figure (Sensitivity *self, const HardwareFigure *figure)
{
  const FigureEffect effect = { .figure = *figure };

  g_array_append_val (self->figures, effect);
}

/* The figures that are WANTED; FALSE after diagnostics. */
static gboolean
take_figures (Sensitivity *self, const GArray *all, const char *const *wanted, DiagList *diags)
{
  const guint errors = diag_list_n_errors (diags);

  for (guint i = 0; wanted == NULL && i < all->len; i++)
    add_figure (self, &g_array_index (all, HardwareFigure, i));
  for (; wanted != NULL && *wanted != NULL; wanted++)
    {
      g_autofree char      *place = g_strdup_printf ("--figure %s", *wanted);
      const SourceMark      mark = { .file = intern_text (place) };
      const HardwareFigure *figure = hardware_figure_find (all, *wanted, &mark, diags);

      if (figure != NULL)
        add_figure (self, figure);
    }
  return diag_list_n_errors (diags) == errors;
}

Sensitivity *
sensitivity_find (const Scenario *scenario, const StrategySet *strategies,
                  const SensitivityOptions *wanted, const PredictOptions *options, DiagList *diags,
                  GError **error)
{
  g_autoptr (GArray)       all = NULL; /* figures of the hardware */
  g_autoptr (Sensitivity)  result = g_new0 (Sensitivity, 1);
  Search                   self = { scenario, strategies, options, result, 0 };
  PredictOptions           as_it_is = *options;
  const PredictOptions     bare = predict_what_if (options);
  const guint              n_threads = MAX (wanted->n_threads, 1);
  g_auto (PredictionBatch) samples = { .n_threads = n_threads,
                                       .options = &bare,
                                       .build = build_sample,
                                       .read = read_sample,
                                       .user = &self };

  g_assert (wanted->factor > 1);
  as_it_is.idle_figures = TRUE;
  result->factor = wanted->factor;
  result->figures = g_array_new (FALSE, TRUE, sizeof (FigureEffect));
  g_array_set_clear_func (result->figures, effect_clear);
  result->options = g_array_new (FALSE, FALSE, sizeof (OptionEffect));
  diag_list_drop_repeats (diags, TRUE); /* figures are listed of the scenario that is predicted */
  if (!wanted->no_figures)
    all = scenario_figures (scenario, options, diags);
  if (wanted->no_figures || (all != NULL && take_figures (result, all, wanted->figures, diags)))
    result->prediction = predict (scenario, &as_it_is, diags, error);
  diag_list_drop_repeats (diags, FALSE);
  if (result->prediction == NULL)
    return NULL;
  work_count_step (options->count, "changing figures", FALSE, 0);
  samples.n = 2 * result->figures->len;
  prediction_batch_run (&samples);
  /* Figures that the end of the work left out. */
  for (guint i = result->figures->len; i-- > 0;)
    {
      const FigureEffect *effect = &g_array_index (result->figures, FigureEffect, i);

      if (effect->down.value == 0 || effect->up.value == 0)
        g_array_remove_index (result->figures, i);
    }
  for (guint i = 0; i < result->figures->len; i++)
    measure_effect (result, effect_at (&self, i));
  work_count_step (options->count, "looking for break-even values", FALSE, 0);
  if (wanted->break_even)
    parallel_run (result->figures->len, n_threads, find_break_even, &self, options->count);
  g_array_sort (result->figures, compare_effects);
  work_count_step (options->count, "changing options", FALSE, 0);
  if (wanted->options)
    {
      gboolean cut;

      g_array_unref (self.result->options);
      self.result->options =
          option_effects_find (self.scenario, self.strategies, self.result->prediction,
                               self.options, G_MAXUINT, 0, n_threads, &cut);
    }
  result->n_simulated = 1 + (guint) self.n_simulated + result->options->len;
  return g_steal_pointer (&result);
}

void
sensitivity_free (Sensitivity *self)
{
  if (self == NULL)
    return;
  prediction_free (self->prediction);
  g_array_unref (self->figures);
  g_array_unref (self->options);
  g_free (self);
}
