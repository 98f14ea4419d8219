/* What options of strategies need to have an effect, and strategies that have none. */
#include "base/option-needs.h"
#include "driver/driver-private.h"

typedef struct
{
  const PlanInput *in;
  const Policy    *policy; /* of the innermost strategy, of the first stage */
} About;

static const UnitPolicy *
units_of (gconstpointer about)
{
  return &((const About *) about)->policy->kinds[0];
}

static gboolean
has_frozen (gconstpointer about)
{
  return workload_training (((const About *) about)->in->workload)->peft != PEFT_NONE;
}

static gboolean
updates_elsewhere (gconstpointer about)
{
  return units_of (about)->states[STATE_OPTIMIZER].home != PLACE_HBM;
}

static gboolean
lives_elsewhere (gconstpointer about)
{
  for (guint state = 0; state < STATE_N; state++)
    if (units_of (about)->states[state].home != PLACE_HBM)
      return TRUE;
  return FALSE;
}

static gboolean
spans_nodes (gconstpointer about)
{
  const guint node = mesh_node_ranks (&((const About *) about)->in->mesh);

  return node == 0 || units_of (about)->states[STATE_PARAMETERS].group.size > node;
}

static gboolean
has_replicas (gconstpointer about)
{
  return units_of (about)->states[STATE_PARAMETERS].group.size
         < ((const About *) about)->in->mesh.n_ranks;
}

static gboolean
has_whole (gconstpointer about)
{
  return units_of (about)->states[STATE_PARAMETERS].group.size <= 1;
}

static gboolean
accumulates (gconstpointer about)
{
  return workload_training (((const About *) about)->in->workload)->grad_accum > 1;
}

static gboolean
has_buckets (gconstpointer about)
{
  return !((const About *) about)->in->flat_gradients;
}

static const OptionFact facts[] = {
  { "gradients that are reduced in buckets", has_buckets, NULL },
  { "parameters that are frozen", has_frozen, "set 'training.peft'" },
  { "optimizer states in host memory or on drives", updates_elsewhere, NULL },
  { "states in host memory or on drives", lives_elsewhere,
    "set 'offload_optimizer' or 'offload_param'" },
  { "a shard group over several nodes", spans_nodes, "take a larger 'shard'" },
  { "replicas of the shard group", has_replicas, "take a smaller 'shard'" },
  { "parameters that no ranks share", has_whole, NULL },
  { "several micro-steps", accumulates, "give 'training.grad_accum' above 1" },
  { 0 },
};

/* Ranks of one worker average with nobody. */
static void
warn_of_one_worker (const DriverLevel *level, DiagList *diags)
{
  if (level->run.exchange == NULL || level->exchange.across.size > 1)
    return;
  diag_list_set_key (diags, "worker");
  diag_warning (diags, NULL, "take more nodes, or a smaller 'worker'",
                "strategy '%s' has one worker, of %u ranks: there is nobody to average with",
                level->strategy->name, level->in.mesh.n_ranks);
  diag_list_set_key (diags, NULL);
}

/* A strategy with shard groups, which keeps its states on the GPU, where these have one rank. */
static void
warn_of_whole (const DriverLevel *level, const Policy *policy, DiagList *diags)
{
  const Strategy   *strategy = level->strategy;
  const OptionSpec *shard =
      strategy->options != NULL ? option_table_find (strategy->options, "shard") : NULL;
  g_autofree char *asked = shard != NULL ? option_format (shard, level->run.options) : NULL;

  /* of all ranks nothing is cut where another option says so */
  if (policy == NULL || shard == NULL || (g_str_equal (asked, "all") && level->in.mesh.n_ranks > 1))
    return;
  for (guint k = 0; k < policy->n_kinds; k++)
    for (guint state = 0; state < STATE_N; state++)
      if (policy->kinds[k].states[state].group.size > 1
          || policy->kinds[k].states[state].home != PLACE_HBM)
        return;
  diag_list_set_key (diags, "shard");
  diag_warning (diags, NULL,
                level->in.mesh.n_ranks > 1 ? "take a larger 'shard', or a strategy that replicates"
                                           : "take more GPUs",
                "strategy '%s' shards nothing: its groups have one rank", strategy->name);
  diag_list_set_key (diags, NULL);
}

void
driver_warn_of_idle (const Driver *self, DiagList *diags)
{
  const Policy none = { 0 };

  warn_of_whole (&self->stages[0].levels[self->n_levels - 1], self->stages[0].policy, diags);
  for (guint i = 0; i < self->n_levels; i++)
    {
      const DriverStage *stage = &self->stages[0];
      const DriverLevel *level = &stage->levels[i];
      const About        about = { &level->in, stage->policy != NULL ? stage->policy : &none };
      const OptionScope  scope = { level->strategy->options, level->run.options, level->run.options,
                                   facts, &about };

      option_warn_idle (&scope, NULL, diags);
      warn_of_one_worker (level, diags);
    }
}
