#include "strategy/led.h"

gboolean
led_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const LedOptions *o = opt;

  if (o->workers.transport == TRANSPORT_HOST)
    {
      diag_list_set_key (diags, "transport");
      diag_error (diags, NULL, "take 'gpu'", "owners of parts sum and step on the GPUs");
      diag_list_set_key (diags, NULL);
      return FALSE;
    }
  return workers_check (in, opt, diags) && outer_check_led (in, diags);
}

void
led_exchange (const PlanInput *in, const LedOptions *o, Exchange *exchange)
{
  workers_exchange (in, &o->workers, DTYPE_FP32, exchange);
  exchange->across = mesh_all (&in->mesh);
  exchange->outer = OUTER_MOMENTUM;
  exchange->owners = MIN (in->mesh.n_ranks, (guint) o->shards);
  exchange->base_every = (guint) o->base_every;
}

guint
led_role (const PlanInput *in, const LedOptions *o, guint rank)
{
  return o->base_every > 0 ? outer_leader_role (in, &o->workers, rank) : 0;
}

void
led_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner)
{
  (void) in;
  (void) opt;
  inner->flat_gradients = TRUE;
}
