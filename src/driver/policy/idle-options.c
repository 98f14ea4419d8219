/* What options of strategies need to have an effect, and strategies that have none. */
#include "base/config/option-needs.h"
#include "driver/walk/driver-private.h"

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
  diag_option_warning (diags, "shard",
                       level->in.mesh.n_ranks > 1
                           ? "take a larger 'shard', or a strategy that replicates"
                           : "take more GPUs",
                       "strategy '%s' shards nothing: its groups have one rank", strategy->name);
}

void
driver_warn_of_idle (const Driver *self, DiagList *diags)
{
  static const Policy none;

  warn_of_whole (&self->stages[0].levels[self->n_levels - 1], self->stages[0].policy, diags);
  for (guint i = 0; i < self->n_levels; i++)
    {
      const DriverStage *stage = &self->stages[0];
      const DriverLevel *level = &stage->levels[i];
      const About        about = { &level->in, stage->policy != NULL ? stage->policy : &none };
      const OptionScope  scope = { level->strategy->options, level->run.options, level->run.options,
                                   facts, &about };

      option_warn_idle (&scope, NULL, diags);
      if (level->run.exchange != NULL && exchange_workers (&level->exchange) <= 1)
        diag_option_warning (
            diags, "worker", "take more nodes, or a smaller 'worker'",
            "strategy '%s' has one worker, of %u ranks: there is nobody to average with",
            level->strategy->name, level->in.mesh.n_ranks);
    }
}

/* ---- blocks that somebody asked for (shard-block.h), and shards do not heed ------------------ */

static gboolean
heeds_blocks (const Policy *policy)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    if (policy->kinds[k].format != NULL && policy->kinds[k].format->heeds_blocks)
      return TRUE;
  return FALSE;
}

static gboolean
shards_something (const Policy *policy)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    for (guint state = 0; state < STATE_N; state++)
      if (policy->kinds[k].states[state].group.size > 1)
        return TRUE;
  return FALSE;
}

/* Why blocks have no effect under POLICY of STRATEGY; NULL: they have one. */
static char *
idle_because (const Strategy *strategy, const Policy *policy)
{
  const ShardFormat *format = policy->kinds[0].format;

  if (!shards_something (policy))
    return g_strdup_printf ("strategy '%s' shards nothing here", strategy->name);
  if (format == NULL || heeds_blocks (policy))
    return NULL;
  if (format->owned != NULL)
    return g_strdup ("ranks own whole tensors");
  return g_strdup_printf ("shards of format '%s' heed no blocks", format->name);
}

void
driver_warn_of_blocks (const Driver *self, DiagList *diags)
{
  const DriverLevel *level = &self->stages[0].levels[self->n_levels - 1];
  const Policy      *policy = self->stages[0].policy;
  g_autofree char   *reason = NULL;

  if (workload_training (level->in.workload)->shard_block == NULL || policy == NULL
      || level->strategy->policy == NULL)
    return;
  reason = idle_because (level->strategy, policy);
  if (reason == NULL)
    return;
  diag_option_warning (diags, "shard_block",
                       heeds_blocks (policy)
                           ? "leave it out"
                           : "leave it out, or take ragged shards: 'vescale' has them, "
                             "and 'fsdp2' with 'shard_format: ragged'",
                       "'shard_block' has no effect: %s", reason);
}
