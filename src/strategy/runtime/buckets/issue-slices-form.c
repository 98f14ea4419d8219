/* The closed form of issue-slices.c, and of the host's part in it (host-slices.c). */
#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/runtime/buckets/issue-slices.h"

/* Slices are added up on the GPU; all kinds of units come back from the host as one. */
static void
break_routes (const UnitPolicy *kind, guint k, IssueForm *form)
{
  const PolicyRoute *store = &kind->routes[ROUTE_STORE], *update = &kind->routes[ROUTE_UPDATE];

  for (guint h = 1; h < store->n; h++)
    if (store->hops[h].from == PLACE_HBM)
      form->plain_before[ROUTE_STORE][k] |= 1u << h;
  for (guint h = 1; h < update->n; h++)
    if (update->hops[h - 1].hop == HOP_MOVE && update->hops[h].hop == HOP_COLLECTIVE)
      form->plain_before[ROUTE_UPDATE][k] |= 1u << h;
}

/* Bytes on the host beyond the states, with SHARES of both kinds there. */
static double
host_bytes (const PlanInput *in, const Policy *policy, const double shares[2])
{
  double held = shares[0] + shares[1], rounding = 0;
  double master = dtype_bytes (training_master_dtype (workload_training (in->workload)));
  double compute = dtype_bytes (policy->compute);
  double kept = policy_state_bytes (&policy->kinds[0].states[STATE_GRADIENTS]);

  for (guint k = 0; k < policy->n_kinds && policy->host_copies; k++)
    rounding += expect_block (shares[k] * master) + expect_block (shares[k] * kept)
                + expect_block (shares[k] * compute) - shares[k] * (master + kept + compute);
  return held * (compute + (policy->late_update ? kept : 0)) + rounding;
}

/*
 * Each micro-step reduces every element once, unpadded, and the parameters come back once a step
 * (Rajbhandari et al., arXiv:1910.02054, 5.2 and 7.2.1). Beyond the states there is the bucket; the
 * gradient of the current module, and one that was too large for the bucket; where the reduction
 * has another precision, what is reduced at a time in it; where slices go to the host, the one that
 * is on its way.
 */
void
slices_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  double bucket = (double) ((const SlicesIssue *) policy->issue)->reduce_bucket_size;
  double gradients = (double) workload_n_trainable_parameters (in->workload);
  double module = expect_largest (in, policy, UNIT_MODULE);
  guint  wire = dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  double most = MIN (gradients, MAX (bucket, module)), shares[2] = { 0, 0 };

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];

      form->passed[ROUTE_REDUCE][k] = expect_trainable_padded (in, kind, k, 1);
      form->passed[ROUTE_UPDATE][k] =
          expect_trainable_padded (in, kind, k, kind->states[STATE_OPTIMIZER].group.size);
      form->passed[ROUTE_STORE][k] = form->passed[ROUTE_UPDATE][k];
      form->walks[ROUTE_REDUCE][k] = form->walks[ROUTE_STORE][k] = expect_modules (in) + 1;
      form->walks[ROUTE_UPDATE][k] = 1;
      break_routes (kind, k, form);
      expect_passing (kind, ROUTE_REDUCE, most, 1, TRUE, form->passing);
      expect_passing (kind, ROUTE_UPDATE, gradients, 1, FALSE, form->passing);
      shares[k] = form->passed[ROUTE_UPDATE][k] / kind->states[STATE_OPTIMIZER].group.size;
    }
  form->uneven = TRUE;
  form->high = (bucket + 2 * module) * dtype_bytes (policy->compute);
  if (wire != dtype_bytes (policy->compute))
    form->high += most * wire;
  compressed_form (in, policy, most, form);
  if (policy->kinds[0].states[STATE_OPTIMIZER].home != PLACE_PINNED)
    return;
  form->clip_passes = 1; /* the norm was summed on the GPU, as slices went */
  form->host = host_bytes (in, policy, shares);
  form->high += (most + 1) * policy_state_bytes (&policy->kinds[0].states[STATE_GRADIENTS]);
}
