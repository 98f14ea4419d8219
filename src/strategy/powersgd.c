/*
 * PowerSGD: a matrix M of n x m gradients is sent as P (n x r) and Q (m x r).
 *
 * A bucket: errors of the last step are added to it and it is cloned; tensors that are not
 * compressed are laid side by side; Q is orthogonalised, and P = M Q. Then, behind the collectives
 * that they wait for: the rest is all-reduced and laid back, P all-reduced and orthogonalised,
 * Q = M^T P all-reduced, M = P Q^T written, and what that has lost is kept. The first part runs
 * where gradients are made, the second on the stream of collectives, as the callbacks of PyTorch's
 * futures run off the compute stream. Sources: Vogels et al., arXiv:1905.13727; PyTorch,
 * torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py.
 */
#include "strategy/common.h"
#include "strategy/powersgd-private.h"

static const LayerRanks *
ranks_of (const CompressorPlan *plan)
{
  return (const LayerRanks *) plan;
}

static Factor
factor_of (const CompressionOptions *o, const CompressorPlan *plan, const PlanUnit *unit, guint t)
{
  const TensorDesc *tensor = &unit->trainable[t];
  Factor            f = { .n = tensor->shape[0], .m = tensor->elements / tensor->shape[0] };

  f.rank = plan != NULL ? layer_ranks_of (ranks_of (plan), unit->layer, tensor)
                        : layer_ranks_uniform (o, tensor);
  return f;
}

static CompressorPlan *
powersgd_plan_new (const PlanInput *in, gconstpointer options, guint kind)
{
  g_autoptr (DiagList) said = diag_list_new (); /* by the check */

  return (CompressorPlan *) layer_ranks_new (in, options, kind, said);
}

static void
powersgd_plan_free (CompressorPlan *plan)
{
  layer_ranks_free ((LayerRanks *) plan);
}

static guint64
powersgd_kept (gconstpointer options, const CompressorPlan *plan, const PlanUnit *unit)
{
  const CompressionOptions *o = options;
  guint64                   sum = 0;

  for (guint t = 0; t < unit->n_trainable && o->warm_start; t++)
    {
      Factor f = factor_of (o, plan, unit, t);

      sum += (f.n + f.m) * f.rank;
    }
  return sum;
}

static const char *
powersgd_sends (gconstpointer options)
{
  return ((const CompressionOptions *) options)->layer_ranks == LAYER_RANKS_GRECO
             ? "powersgd with ranks by l-greco"
             : "powersgd";
}

static gboolean
powersgd_keeps_errors (gconstpointer options)
{
  return ((const CompressionOptions *) options)->error_feedback;
}

static gboolean
powersgd_keeps_sums (gconstpointer options)
{
  return layer_ranks_adjusts (options);
}

/* ---- a bucket -------------------------------------------------------------------------------- */

static void
sort_tensors (PowersgdBucket *self)
{
  const CompressionOptions *o = self->run->policy->kinds[self->bucket->kind].compression;

  for (guint i = 0; i < self->bucket->n_units; i++)
    {
      const PlanUnit *unit = &self->run->units[self->bucket->units[i]];

      for (guint t = 0; t < unit->n_trainable; t++)
        {
          Factor f = factor_of (o, self->bucket->plan, unit, t);

          self->p += f.n * f.rank;
          self->q += f.m * f.rank;
          self->rest += f.rank > 0 ? 0 : unit->trainable[t].elements;
          if (f.rank > 0)
            g_array_append_val (self->factors, f);
        }
    }
}

static void
encode (PowersgdBucket *self)
{
  if (self->bucket->sums != SCHEDULE_NONE)
    powersgd_add_to_sums (self);
  if (self->bucket->errors != SCHEDULE_NONE)
    powersgd_add_errors (self);
  if (self->rest > 0)
    {
      self->rest_buffer = powersgd_take (self, self->rest, "uncompressed gradients");
      powersgd_pass (self, "powersgd_cat", (double) self->rest, (double) self->rest, 1);
      powersgd_use (self, ACCESS_READ);
      powersgd_use_buffer (self, self->rest_buffer, ACCESS_WRITE);
    }
  if (self->factors->len == 0)
    return;
  if (self->bucket->factors == SCHEDULE_NONE)
    {
      self->p_buffer = powersgd_take (self, self->p, "P of a bucket");
      self->q_buffer = powersgd_take (self, self->q, "Q of a bucket");
      powersgd_pass (self, "powersgd_random_q", 0, (double) self->q, self->factors->len);
      powersgd_use_buffer (self, self->q_buffer, ACCESS_WRITE);
    }
  powersgd_orthogonalise (self, self->q_buffer, FALSE);
  powersgd_multiply (self, PRODUCT_P);
}

static void
reduce (PowersgdBucket *self)
{
  if (self->rest > 0)
    {
      powersgd_sum (self, self->rest, "all_reduce_rest");
      powersgd_use_buffer (self, self->rest_buffer, ACCESS_READ_WRITE);
      powersgd_pass (self, "powersgd_uncat", (double) self->rest, (double) self->rest, 1);
      powersgd_use_buffer (self, self->rest_buffer, ACCESS_READ);
      powersgd_use (self, ACCESS_WRITE);
    }
  if (self->factors->len > 0)
    {
      powersgd_sum (self, self->p, "all_reduce_p");
      powersgd_use_factors (self, self->p_buffer, ACCESS_READ_WRITE);
      powersgd_orthogonalise (self, self->p_buffer, TRUE);
      powersgd_multiply (self, PRODUCT_Q);
      powersgd_sum (self, self->q, "all_reduce_q");
      powersgd_use_factors (self, self->q_buffer, ACCESS_READ_WRITE);
      powersgd_multiply (self, PRODUCT_M);
    }
  if (self->bucket->errors != SCHEDULE_NONE)
    powersgd_keep_errors (self);
}

static void
powersgd_reduce (StrategyRun *run, const CompressedBucket *bucket)
{
  g_autoptr (GArray) factors = g_array_new (FALSE, FALSE, sizeof (Factor));
  PowersgdBucket     self = {
        .run = run, .bucket = bucket, .factors = factors, .stream = bucket->made
  };

  self.dtype = reduced_dtype (run);
  self.size = reduced_bytes (run);
  self.clone = self.rest_buffer = self.p_buffer = self.q_buffer = SCHEDULE_NONE;
  sort_tensors (&self);
  encode (&self);
  if (bucket->stream != bucket->made)
    schedule_wait_stream (run->b, bucket->stream, bucket->made);
  self.stream = bucket->stream;
  reduce (&self);
  powersgd_give (&self, self.clone);
  powersgd_give (&self, self.rest_buffer);
  powersgd_give (&self, self.p_buffer);
  powersgd_give (&self, self.q_buffer);
}

const Compressor compressor_powersgd = {
  .name = "powersgd",
  .sends = powersgd_sends,
  .keeps_errors = powersgd_keeps_errors,
  .keeps_sums = powersgd_keeps_sums,
  .plan_new = powersgd_plan_new,
  .plan_free = powersgd_plan_free,
  .kept = powersgd_kept,
  .reduce = powersgd_reduce,
  .step_end = powersgd_choose_ranks,
  .form = powersgd_form,
};
