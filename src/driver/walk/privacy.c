/* Which policies can have gradients that are clipped sample by sample (model/step/privacy.h). */
#include "model/step/privacy.h"

#include "driver/walk/driver-private.h"

/* Kernels that add noise run on GPUs. */
static gboolean
check_noise (const Strategy *strategy, const Policy *policy, const TrainingOptions *training,
             DiagList *diags)
{
  const Place home = policy->kinds[0].states[STATE_OPTIMIZER].home;

  if (training_noise (training) != NOISE_OWNER || home == PLACE_HBM)
    return TRUE;
  return diag_option_error (diags, "private_noise", "take 'private_noise: rank', or none",
                            "who updates a parameter would add the noise, and strategy '%s' "
                            "updates them in %s",
                            strategy->name, place_title (home));
}

/* The second backward pass would gather everything again. */
static gboolean
check_repeated (const Strategy *strategy, const TrainingOptions *training, DiagList *diags)
{
  if (!training_repeats_backward (training)
      || (strategy->issue != NULL && strategy->issue->carries.goes_back_twice))
    return TRUE;
  return diag_option_error (
      diags, "private_method", "take book-keeping, or ddp, zero1 or zero2",
      "ghost clipping goes back twice, and strategy '%s' gathers parameters for one backward pass",
      strategy->name);
}

gboolean
policy_check_privacy (const Strategy *strategy, const Policy *policy,
                      const TrainingOptions *training, DiagList *diags)
{
  if (!training_is_private (training))
    return TRUE;
  if (policy->passes > 0)
    return diag_option_error (diags, "private_method", "leave it out",
                              "strategy '%s' has no gradients of samples to clip", strategy->name);
  if (policy->fuses_gradients)
    return diag_option_error (
        diags, "private_method", "set the strategy's 'gradient_accumulation_fusion' to false",
        "gradients are clipped sample by sample before they are summed, and with "
        "'gradient_accumulation_fusion' products add all samples to the kept gradients at once");
  return check_noise (strategy, policy, training, diags)
         && check_repeated (strategy, training, diags);
}
