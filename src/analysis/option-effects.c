#include "analysis/option-effects.h"

#include "analysis/change-private.h"
#include "base/intern.h"
#include "base/parallel.h"

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *given;
  const PredictOptions *options;
  GArray               *moves, *effects; /* Move; OptionEffect, one each */
} Search;

static void
try_move (guint i, gpointer user)
{
  Search                *self = user;
  const Move            *move = &g_array_index (self->moves, Move, i);
  OptionEffect          *effect = &g_array_index (self->effects, OptionEffect, i);
  const Change           change = { .moves = { move }, .n = 1 };
  PredictOptions         options = *self->options;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario = change_scenario (&change, self->scenario, self->strategies);
  g_autoptr (Prediction) p = NULL;

  effect->options = change_options (&change, self->scenario, self->strategies, self->options);
  effect->lever = move->lever;
  options.interval = FALSE;
  options.no_band = TRUE;
  options.replay.keep_pools = FALSE;
  options.count = NULL;
  if (scenario != NULL)
    p = predict (scenario, &options, diags, &error);
  if (p == NULL && stop_cuts (options.replay.stop))
    g_clear_pointer (&effect->options, g_free);
  if (p == NULL)
    return;
  if (!prediction_trains_alike (self->given, p)) /* gradients that are sent as less than they are */
    return;
  effect->possible = TRUE;
  effect->fits = p->fits;
  effect->gain = p->tokens_per_s / self->given->tokens_per_s - 1;
  effect->batch = p->tokens_per_step / self->given->tokens_per_step;
  effect->step_time_s = p->step_time_s;
  effect->tokens_per_s_per_gpu = p->tokens_per_s_per_gpu;
  effect->peak_bytes = p->hbm.device;
  effect->host_peak_bytes = p->host.device;
  effect->caveats = intern_text (p->caveats);
}

/* Ties in the order of the levers. */
static gint
compare_effects (gconstpointer a, gconstpointer b)
{
  const OptionEffect *x = a, *y = b;

  if (x->possible != y->possible)
    return x->possible ? -1 : 1;
  return (x->gain < y->gain) - (x->gain > y->gain);
}

static void
effect_clear (gpointer data)
{
  g_free (((OptionEffect *) data)->options);
}

/*
 * The first MOST of MOVES, which come lever by lever, one of each lever first: a newly allocated
 * array.
 */
static GArray *
choose_moves (const GArray *moves, guint most)
{
  GArray *chosen = g_array_new (FALSE, FALSE, sizeof (Move));

  for (guint rank = 0; chosen->len < MIN (moves->len, most); rank++)
    for (guint i = 0, of_lever = 0; i < moves->len && chosen->len < most; i++)
      {
        const Move *move = &g_array_index (moves, Move, i);

        of_lever = i > 0 && move[-1].lever == move->lever ? of_lever + 1 : 0;
        if (of_lever == rank)
          g_array_append_val (chosen, *move);
      }
  return chosen;
}

GArray *
option_effects_find (const Scenario *scenario, const StrategySet *strategies,
                     const Prediction *given, const PredictOptions *options, guint most,
                     guint n_threads, gboolean *cut)
{
  g_autoptr (GArray) all = lever_moves (scenario, strategies, given->n_gpus, LEVER_ADVICE);
  g_autoptr (GArray) moves = choose_moves (all, most);
  GArray            *effects = g_array_new (FALSE, TRUE, sizeof (OptionEffect));
  Search             self = { .scenario = scenario,
                              .strategies = strategies,
                              .given = given,
                              .options = options,
                              .moves = moves,
                              .effects = effects };

  *cut = all->len > most;
  g_array_set_clear_func (effects, effect_clear);
  g_array_set_size (effects, moves->len);
  parallel_run (effects->len, n_threads, try_move, &self, options->count);
  for (guint i = effects->len; i-- > 0;)
    if (g_array_index (effects, OptionEffect, i).options == NULL) /* left out at the end */
      {
        g_array_remove_index (effects, i);
        *cut = TRUE;
      }
  g_array_sort (effects, compare_effects);
  return effects;
}
