#include "analysis/advice.h"

#include "analysis/planned.h"
#include "analysis/variation.h"
#include "base/parallel.h"

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

/* LIST, which is freed, with one rate of each part first: where it is cut, no part is left out. */
static GArray *
by_rank (GArray *list)
{
  GArray *ranked = g_array_new (FALSE, FALSE, sizeof (FigureAdvice));

  for (guint rank = 0; ranked->len < list->len; rank++)
    for (guint i = 0; i < list->len; i++)
      if (rank_of (list, i) == rank)
        g_array_append_val (ranked, g_array_index (list, FigureAdvice, i));
  g_array_unref (list);
  return ranked;
}

/* Figures that could be bought, better ones of them. */
static GArray *
list_figures (const Search *self)
{
  GArray              *list = g_array_new (FALSE, FALSE, sizeof (FigureAdvice));
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
  return by_rank (list);
}

static void
try_figure (guint i, gpointer user)
{
  Search                *self = user;
  FigureAdvice          *advice = &g_array_index (self->figures, FigureAdvice, i);
  const Variation        variation = { .figure = &advice->figure, .value = advice->value };
  g_autoptr (Prediction) p =
      predict_varied (self->scenario, self->strategies, &variation, 1, self->options, NULL);

  if (p == NULL)
    return;
  advice->gain = p->tokens_per_s / self->given->tokens_per_s - 1;
  advice->step_time_s = p->step_time_s;
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

/* The first of each lever in EFFECTS, which begin with the best, that is worth it. */
static void
take_options (GArray *best, GArray *effects)
{
  for (guint i = 0; i < effects->len && best->len < ADVICE_OPTIONS; i++)
    {
      OptionEffect *effect = &g_array_index (effects, OptionEffect, i);
      gboolean      taken = !effect->fits || effect->gain < ADVICE_LEAST;

      for (guint b = 0; b < best->len && !taken; b++)
        taken = g_array_index (best, OptionEffect, b).lever == effect->lever;
      if (taken)
        continue;
      g_array_append_val (best, *effect);
      effect->options = NULL;
    }
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
  Search             self = { scenario, strategies, given, options, NULL };
  Advice            *result = g_new0 (Advice, 1);
  const guint        most = affordable (&self, budget), n_threads = MAX (budget->n_threads, 1);
  g_autoptr (GArray) effects = NULL;
  guint              n_figures;

  result->options = g_array_new (FALSE, FALSE, sizeof (OptionEffect));
  g_array_set_clear_func (result->options, option_clear);
  result->figures = self.figures = list_figures (&self);
  n_figures = MIN (self.figures->len, most / FIGURES_SHARE);
  effects = option_effects_find (scenario, strategies, given, options, most - n_figures, n_threads,
                                 &result->cut);
  result->cut |= n_figures < self.figures->len;
  g_array_set_size (self.figures, n_figures);
  parallel_run (n_figures, n_threads, try_figure, &self, options->count);
  result->cut |= work_count_is_cut (options->count);
  g_array_sort (self.figures, compare_figures);
  while (
      self.figures->len > ADVICE_FIGURES
      || (self.figures->len > 0
          && g_array_index (self.figures, FigureAdvice, self.figures->len - 1).gain < ADVICE_LEAST))
    g_array_set_size (self.figures, self.figures->len - 1);
  take_options (result->options, effects);
  result->n_simulated = effects->len + n_figures;
  return result;
}
