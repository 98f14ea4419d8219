#include "decide/explore/option-effects.h"

#include "base/intern.h"
#include "decide/explore/change-private.h"
#include "predict/batch.h"
#include "predict/variation.h"

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *given;
  const PredictOptions *options;
  GArray               *moves, *effects; /* Move; OptionEffect, one each */
} Search;

static Change
change_of (const Search *self, guint i)
{
  return (Change){ .moves = { &g_array_index (self->moves, Move, i) }, .n = 1 };
}

static Scenario *
build_move (gpointer user, guint i, DiagList *diags)
{
  const Search *self = user;
  const Change  change = change_of (self, i);

  (void) diags; /* what cannot be is not possible, whatever the reason */
  return change_scenario (&change, self->scenario, self->strategies);
}

static void
read_effect (gpointer user, guint i, Predicted *one)
{
  const Search     *self = user;
  const Change      change = change_of (self, i);
  const Prediction *p = one->prediction;
  OptionEffect     *effect = &g_array_index (self->effects, OptionEffect, i);

  if (p == NULL && stop_cuts (self->options->replay.stop))
    return;
  effect->options = change_options (&change, self->scenario, self->strategies, self->options);
  effect->lever = change.moves[0]->lever;
  if (p == NULL
      || !prediction_trains_alike (self->given, p)) /* gradients are sent as less than they are */
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
                     double least, guint n_threads, gboolean *cut)
{
  g_autoptr (GArray)       all = lever_moves (scenario, strategies, given->n_gpus, LEVER_ADVICE);
  g_autoptr (GArray)       moves = choose_moves (all, most);
  GArray                  *effects = g_array_new (FALSE, TRUE, sizeof (OptionEffect));
  Search                   self = { .scenario = scenario,
                                    .strategies = strategies,
                                    .given = given,
                                    .options = options,
                                    .moves = moves,
                                    .effects = effects };
  const PredictOptions     bare = predict_what_if (options);
  g_autofree double       *wanted = NULL;
  g_auto (PredictionBatch) batch = { .n = moves->len,
                                     .n_threads = n_threads,
                                     .options = &bare,
                                     .build = build_move,
                                     .read = read_effect,
                                     .user = &self };

  if (least > 0)
    {
      wanted = g_new (double, MAX (moves->len, 1));
      for (guint i = 0; i < moves->len; i++)
        wanted[i] = given->samples_per_s * (1 + least);
      batch.least = wanted;
    }
  *cut = all->len > most;
  g_array_set_clear_func (effects, effect_clear);
  g_array_set_size (effects, moves->len);
  prediction_batch_run (&batch);
  for (guint i = effects->len; i-- > 0;)
    if (g_array_index (effects, OptionEffect, i).options == NULL) /* left out at the end */
      {
        g_array_remove_index (effects, i);
        *cut = TRUE;
      }
  g_array_sort (effects, compare_effects);
  return effects;
}
