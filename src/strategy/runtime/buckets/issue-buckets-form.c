/* The closed form of issue-buckets.c. */
#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/runtime/buckets/issue-buckets.h"

#include <math.h>

static double
narrow_of_tensor (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  (void) layer;
  (void) data;
  return tensor->narrow ? (double) tensor->elements : 0;
}

/*
 * Elements of KIND, number K, that are gathered as a byte each when all that is updated is: of
 * adapters none, whatever the frozen weights are.
 */
static double
narrow_updates (const PlanInput *in, const UnitPolicy *kind, guint k)
{
  double parts = kind->states[STATE_OPTIMIZER].group.size;

  return floor (expect_tensors (in, k, narrow_of_tensor, NULL) / parts) * parts;
}

/* Parameters that are gathered in buckets: each of these is padded, and there may be but one. */
static void
pad_buckets (const PlanInput *in, const UnitPolicy *kind, guint k, IssueForm *form)
{
  double parts = kind->states[STATE_OPTIMIZER].group.size;

  form->walks[ROUTE_UPDATE][k] = expect_modules (in) + 1;
  form->passed[ROUTE_UPDATE][k] += (parts - 1) * expect_modules (in);
  form->slack[ROUTE_UPDATE][k] = form->wide[ROUTE_UPDATE][k] =
      (parts - 1) * (expect_modules (in) + 1);
}

/*
 * Every element is reduced once where its hop is due, unpadded: 2 W on the wire of an all-reduce,
 * or W + W for reduce-scatter and all-gather (Rajbhandari et al., arXiv:1910.02054, 3.1 and 7).
 * Beyond the states there is at the peak a bucket in the reduction's precision, which closes with
 * the module that fills it, and the gradient of a module as computed, where fp32 ones are kept.
 */
void
buckets_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  const BucketsIssue *o = policy->issue;
  guint               kept = policy_state_bytes (&policy->kinds[0].states[STATE_GRADIENTS]);
  Dtype               wire = policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype;
  double              gradients = (double) workload_n_trainable_parameters (in->workload);
  double              module = expect_largest (in, policy, UNIT_MODULE);
  double              bucket =
      policy->flat_gradients ? gradients : MIN (gradients, o->bucket_bytes / kept + module);
  gboolean beside =
      kept > dtype_bytes (policy->compute) && o->gradient_dtype == GRADIENT_FP32_BESIDE;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];

      form->passed[ROUTE_REDUCE][k] = expect_trainable_padded (in, kind, k, 1);
      form->walks[ROUTE_REDUCE][k] = expect_modules (in) + 1;
      form->walks[ROUTE_UPDATE][k] = 1;
      expect_passing (kind, ROUTE_REDUCE, bucket, 1, TRUE, form->passing);
      expect_passing (kind, ROUTE_UPDATE, gradients, 1, FALSE, form->passing);
      /* what owners of whole tensors broadcast has no padding */
      form->passed[ROUTE_UPDATE][k] = expect_trainable_padded (
          in, kind, k, kind->format->owned != NULL ? 1 : kind->states[STATE_OPTIMIZER].group.size);
      form->narrow[ROUTE_UPDATE][k] = narrow_updates (in, kind, k);
      if (o->overlap_param_gather)
        pad_buckets (in, kind, k, form);
    }
  compressed_form (in, policy, bucket, form);
  form->uneven = TRUE;
  if (beside)
    form->states += gradients * dtype_bytes (policy->compute);
  if (policy->flat_gradients || wire != policy->kinds[0].states[STATE_GRADIENTS].dtype)
    form->high += dtype_bytes (wire) * bucket;
  if (kept > dtype_bytes (policy->compute) && !beside)
    form->high += module * dtype_bytes (policy->compute);
}
