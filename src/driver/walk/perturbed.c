/*
 * Zeroth order: the gradient's projection on a random direction, from the losses of two forward
 * passes with parameters moved along it and against it (MeZO, Malladi et al., arXiv:2305.17333). A
 * step has no backward pass, so nothing is kept for one.
 */
#include "driver/walk/driver-private.h"

gboolean
driver_is_perturbed (const Driver *self)
{
  return self->at->policy != NULL && self->at->policy->passes > 0;
}

StepShape
strategy_step_shape (const PlanInput *in, const StrategyChoice *choice)
{
  const StrategyChoice *innermost = choice;
  PlanInput             input = *in, inner;

  while (innermost->inner != NULL)
    innermost = innermost->inner;
  if (!strategy_perturbs (innermost->strategy))
    return (StepShape){ TRUE, 0, 1 };
  for (; choice != innermost; choice = choice->inner)
    {
      strategy_narrow_input (choice->strategy, &input, choice->options, &inner);
      input = inner;
    }

  Policy policy = { 0 }; /* here, as most strategies never come to clear its many kilobytes */
  choice->strategy->policy (&input, choice->options, &policy);
  return (StepShape){ policy.passes == 0, policy.passes, MAX (policy.pass_ranks, 1) };
}

gboolean
policy_check_perturbed (const Strategy *strategy, const Policy *policy, const PlanInput *in,
                        DiagList *diags)
{
  const TrainingOptions *training = workload_training (in->workload);
  guint                  n_errors = diag_list_n_errors (diags);

  if (policy->passes == 0)
    return TRUE;
  g_assert (policy->passes <= POLICY_MAX_PASSES && policy->held_logits <= POLICY_MAX_HELD);
  if (strategy->issue != NULL && !strategy->issue->carries.perturbs)
    diag_error (diags, NULL, NULL, "strategy '%s': its issue runs no perturbed passes",
                strategy->name);
  if (in->mesh.stages > 1)
    diag_error (diags, NULL, "set 'mesh.pp' to 1",
                "strategy '%s' takes no pipeline stages: all passes of a unit are in one use",
                strategy->name);
  if (training->checkpointing != CHECKPOINT_NONE)
    diag_option_error (
        diags, "activation_checkpointing", "leave it out: no activation is kept",
        "strategy '%s' has no backward pass: 'activation_checkpointing' has no meaning",
        strategy->name);
  if (training->fp8_recipe != FP8_NONE)
    diag_error (diags, NULL, "set 'training.fp8_recipe' to none",
                "strategy '%s' changes weights between passes: copies of them in fp8 do not stay",
                strategy->name);
  if (training->cuda_graphs != GRAPHS_NONE)
    diag_error (diags, NULL, "set 'training.cuda_graphs' to none",
                "strategy '%s' changes weights between passes, and its host waits inside a step",
                strategy->name);
  return diag_list_n_errors (diags) == n_errors;
}
