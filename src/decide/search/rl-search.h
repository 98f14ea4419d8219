/*
 * The fastest step of reinforcement learning: which GPUs generate, and both layouts.
 *
 * What the scenario sets stays. Open are ranks, stages and replicas of the generator; the
 * configuration of training, as far as a search of training alone (search.h) finds it open; and,
 * where responses may be off policy, how many nodes generate.
 *
 * Training is searched on its own nodes, with sequences as long as `training.seq_len` in the place
 * of packed responses: what it finds is an order, no prediction. Each layout of generation has a
 * bound (generation-bound.h); whole steps with the first configuration of training are simulated in
 * the order of the bounds, until none that is left may be faster. With the layout that is the
 * fastest each other configuration is simulated: the fastest of training and its Pareto front. In
 * turn the two add up, so that this is the best of all pairs. Of pools, the one that waits gives
 * nodes to the other one, by halves of the candidates.
 *
 * The result depends on neither the machine nor the number of threads.
 */
#pragma once

#include "decide/search/search.h"
#include "posttrain/rl-step.h"

/* A whole step that was simulated and fits. */
typedef struct
{
  char     *label;    /* of training, then of generation: "fsdp2 micro_batch=2, generation tp=2" */
  char     *options;  /* that lead to it from the scenario of the search, for the command line */
  Scenario *scenario; /* complete */
  RlStep   *step;
} RlFound;

typedef struct
{
  GPtrArray *found;     /* RlFound, the fastest first: at most SearchOptions.n_best */
  guint      n_splits;  /* of nodes that were looked at */
  guint      n_layouts; /* of generation, of all these */
  guint n_too_large; /* of them: weights and the longest response do not fit, or a rank has none */
  guint n_cut;       /* by their bound */
  guint n_steps;     /* that were simulated */
  guint64  n_open;   /* configurations of training that nobody tried, of all splits */
  char    *reason;   /* why something was not found, the last one; NULL: there is none */
  gboolean is_cut;   /* PREDICT->replay.stop ended it */
} RlSearchResult;

/*
 * SCENARIO's `rl.algorithm` is one; it may name no strategy. OPTIONS are of the search of training,
 * but for n_best, n_threads. NULL after diagnostics, or with ERROR set.
 */
RlSearchResult *rl_search_run (const Scenario *scenario, const StrategySet *strategies,
                               const SearchOptions *options, const PredictOptions *predict,
                               DiagList *diags, GError **error);
void            rl_search_result_free (RlSearchResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RlSearchResult, rl_search_result_free)
