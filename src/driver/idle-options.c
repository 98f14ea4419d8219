/* What options of strategies need to have an effect. */
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

static const OptionFact facts[] = {
  { "parameters that are frozen", has_frozen, "set 'training.peft'" },
  { "optimizer states in host memory or on drives", updates_elsewhere, NULL },
  { "a shard group over several nodes", spans_nodes, "take a larger 'shard'" },
  { "replicas of the shard group", has_replicas, "take a smaller 'shard'" },
  { "parameters that no ranks share", has_whole, NULL },
  { "several micro-steps", accumulates, "give 'training.grad_accum' above 1" },
  { 0 },
};

void
driver_warn_of_idle (const Driver *self, DiagList *diags)
{
  const Policy none = { 0 };

  for (guint i = 0; i < self->n_levels; i++)
    {
      const DriverStage *stage = &self->stages[0];
      const DriverLevel *level = &stage->levels[i];
      const About        about = { &level->in, stage->policy != NULL ? stage->policy : &none };
      const OptionScope  scope = { level->strategy->options, level->run.options, level->run.options,
                                   facts, &about };

      option_warn_idle (&scope, NULL, diags);
    }
}
