#include "decide/explore/advice.h"

#include "decide/plan/planned.h"
#include "predict/batch.h"
#include "predict/variation.h"

#define FIGURES_SHARE 4  /* one in so many simulations is of a figure */
#define LEAST_TRIED   16 /* however large the scenario is: a rate of each part among them */
#define GPU_ITEMS     4  /* a GPU of the cluster takes about as long as so many items */

const AdviceBudget advice_default_budget = { .max_simulated = 120,
                                             .max_simulated_items = 6000000,
                                             .n_threads = 1 };

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *given;
  const PredictOptions *options;
  GArray               *figures; /* FigureAdvice */
} Search;

/* ---- figures --------------------------------------------------------------------------------- */

static const HardwareFigure *
figure_at (const GArray *list, guint i)
{
  return &g_array_index (list, FigureAdvice, i).figure;
}

static gboolean
is_alike (const HardwareFigure *a, const HardwareFigure *b)
{
  return g_str_equal (a->kind, b->kind) && g_str_equal (a->id, b->id) && a->quantity == b->quantity;
}

/*
 * How many figures of LIST before number I are of the same profile and kind of quantity; times are
 * behind all rates of as many.
 */
static guint
rank_of (const GArray *list, guint i)
{
  const HardwareFigure *figure = figure_at (list, i);
  guint                 rank = 0;

  for (guint b = 0; b < i; b++)
    rank += is_alike (figure_at (list, b), figure);
  return 2 * rank + (figure->quantity == QUANTITY_TIME);
}

/* Figures that could be bought, better ones of them. */
static GArray *
list_figures (const Search *self)
{
  GArray              *list = g_array_new (FALSE, FALSE, sizeof (FigureAdvice));
  GArray              *ranked = g_array_new (FALSE, FALSE, sizeof (FigureAdvice));
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   all = scenario_figures (self->scenario, self->options, diags);

  for (guint i = 0; all != NULL && i < all->len; i++)
    {
      const HardwareFigure *figure = &g_array_index (all, HardwareFigure, i);
      const gboolean        is_time = figure->quantity == QUANTITY_TIME;
      const double value = is_time ? figure->value / ADVICE_FACTOR : figure->value * ADVICE_FACTOR;
      const FigureAdvice advice = { .figure = *figure,
                                    .value = hardware_figure_clamp (figure, value) };

      if (is_time || figure->quantity == QUANTITY_BANDWIDTH || figure->quantity == QUANTITY_COMPUTE)
        g_array_append_val (list, advice);
    }
  /* one rate of each part first: where it is cut, no part is left out */
  for (guint rank = 0; ranked->len < list->len; rank++)
    for (guint i = 0; i < list->len; i++)
      if (rank_of (list, i) == rank)
        g_array_append_val (ranked, g_array_index (list, FigureAdvice, i));
  g_array_unref (list);
  return ranked;
}

static Scenario *
build_figure (gpointer user, guint i, DiagList *diags)
{
  const Search       *self = user;
  const FigureAdvice *advice = &g_array_index (self->figures, FigureAdvice, i);
  const Variation     variation = { .figure = &advice->figure, .value = advice->value };

  return scenario_varied (self->scenario, self->strategies, &variation, 1, diags);
}

static void
read_figure (gpointer user, guint i, Predicted *one)
{
  const Search *self = user;
  FigureAdvice *advice = &g_array_index (self->figures, FigureAdvice, i);

  if (one->prediction == NULL)
    return;
  advice->gain = one->prediction->tokens_per_s / self->given->tokens_per_s - 1;
  advice->step_time_s = one->prediction->step_time_s;
}

static gint
compare_figures (gconstpointer a, gconstpointer b)
{
  const FigureAdvice *x = a, *y = b;

  return (x->gain < y->gain) - (x->gain > y->gain);
}

/* ---- the best -------------------------------------------------------------------------------- */

/* How many simulations the budget allows. */
static guint
affordable (const Search *self, const AdviceBudget *budget)
{
  g_autoptr (Scenario) planned = scenario_copy (self->scenario);
  g_autoptr (DiagList) diags = diag_list_new ();
  guint64              n_items = 0;

  scenario_planned_excess (planned, self->options, &n_items, diags);
  n_items += (guint64) GPU_ITEMS * self->given->n_gpus;
  return (guint) CLAMP (budget->max_simulated_items / MAX (n_items, 1), LEAST_TRIED,
                        budget->max_simulated);
}

static void
option_clear (gpointer data)
{
  g_free (((OptionEffect *) data)->options);
}

Advice *
advice_find (const Scenario *scenario, const StrategySet *strategies, const Prediction *given,
             const PredictOptions *options, const AdviceBudget *budget)
{
  Search                   self = { scenario, strategies, given, options, NULL };
  const PredictOptions     bare = predict_what_if (options);
  Advice                  *result = g_new0 (Advice, 1);
  const guint              most = affordable (&self, budget);
  g_autoptr (GArray)       effects = NULL;
  g_auto (PredictionBatch) batch = { .n_threads = budget->n_threads,
                                     .options = &bare,
                                     .build = build_figure,
                                     .read = read_figure,
                                     .user = &self };

  result->options = g_array_new (FALSE, FALSE, sizeof (OptionEffect));
  g_array_set_clear_func (result->options, option_clear);
  result->figures = self.figures = list_figures (&self);
  batch.n = MIN (self.figures->len, most / FIGURES_SHARE);
  effects = option_effects_find (scenario, strategies, given, options, most - batch.n, ADVICE_LEAST,
                                 budget->n_threads, &result->cut);
  result->cut |= batch.n < self.figures->len;
  g_array_set_size (self.figures, batch.n);
  prediction_batch_run (&batch);
  result->cut |= work_count_is_cut (options->count);
  g_array_sort (self.figures, compare_figures);
  while (
      self.figures->len > ADVICE_FIGURES
      || (self.figures->len > 0
          && g_array_index (self.figures, FigureAdvice, self.figures->len - 1).gain < ADVICE_LEAST))
    g_array_set_size (self.figures, self.figures->len - 1);
  /* The first of each lever in EFFECTS, which begin with the best, that is worth it. */
  for (guint i = 0; i < effects->len && result->options->len < ADVICE_OPTIONS; i++)
    {
      OptionEffect *effect = &g_array_index (effects, OptionEffect, i);
      gboolean      taken = !effect->fits || effect->gain < ADVICE_LEAST;

      for (guint b = 0; b < result->options->len && !taken; b++)
        taken = g_array_index (result->options, OptionEffect, b).lever == effect->lever;
      if (taken)
        continue;
      g_array_append_val (result->options, *effect);
      effect->options = NULL;
    }
  result->n_simulated = effects->len + batch.n;
  return result;
}
