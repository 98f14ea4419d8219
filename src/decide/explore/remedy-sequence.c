/* What holds the sequence that does not fit: more ranks for it, and nothing else. */
#include "decide/explore/change-private.h"
#include "predict/variation.h"

/* Whether MOVE has sequences on more ranks. */
static gboolean
divides_sequences (const Move *move)
{
  return g_str_equal (move->key, "training.partition")
         || g_str_equal (move->key, "training.tokens_per_rank")
         || g_str_equal (move->key, "mesh.cp");
}

/* Whether SCENARIO fits with CHANGE: as planned, and then as simulated. */
static gboolean
holds (const Change *change, const Scenario *scenario, const StrategySet *strategies,
       const PredictOptions *options)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   other = change_scenario (change, scenario, strategies);
  g_autoptr (Prediction) prediction = NULL;

  if (other == NULL || scenario_planned_excess (other, options, NULL, diags) > 0)
    return FALSE;
  prediction = predict (other, options, diags, &error);
  return prediction != NULL && prediction->fits;
}

char *
remedy_of_sequence (const Scenario *scenario, const StrategySet *strategies,
                    const Prediction *prediction, const PredictOptions *options,
                    const GArray *moves)
{
  PredictOptions what_if = predict_what_if (options);

  if (prediction->hbm.sequence == 0)
    return NULL;
  what_if.times_only = TRUE;
  for (guint i = 0; i < moves->len; i++)
    {
      const Change change = { .moves = { &g_array_index (moves, Move, i) }, .n = 1 };

      if (divides_sequences (change.moves[0]) && !stop_cuts (options->replay.stop)
          && holds (&change, scenario, strategies, &what_if))
        return change_options (&change, scenario, strategies, options);
    }
  return g_strdup ("");
}
