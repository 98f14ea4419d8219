#include "strategy/outer/leader-average.h"

gboolean
leader_average_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const LeaderAverageOptions *o = opt;

  if (o->workers.transport == TRANSPORT_HOST)
    {
      return diag_option_error (diags, "transport", "take 'gpu'",
                                "owners of parts sum and step on the GPUs");
    }
  return workers_check (in, opt, diags) && outer_check_leaders (in, diags);
}

void
leader_average_exchange (const PlanInput *in, const LeaderAverageOptions *o, Exchange *exchange)
{
  workers_exchange (in, &o->workers, DTYPE_FP32, exchange);
  exchange->across = mesh_all (&in->mesh);
  exchange->outer = OUTER_MOMENTUM;
  exchange->owners = MIN (in->mesh.n_ranks, (guint) o->shards);
  exchange->base_every = (guint) o->base_every;
}

guint
leader_average_role (const PlanInput *in, const LeaderAverageOptions *o, guint rank)
{
  return o->base_every > 0 ? outer_leader_role (in, &o->workers, rank) : 0;
}

void
leader_average_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner)
{
  (void) in;
  (void) opt;
  inner->flat_gradients = TRUE;
}
