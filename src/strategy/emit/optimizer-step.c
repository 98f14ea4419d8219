/* The optimizer on the GPU: clipping, passes over elements, and what has to be whole. */
#include "model/step/privacy.h"
#include "strategy/emit/common.h"
#include "strategy/emit/matrix-update.h"
#include "strategy/emit/route.h"

typedef struct
{
  StrategyRun           *run;
  const TrainingOptions *training;
  MeshGroup              norm;
  OptimizerShare         share;
} OptimizerStep;

static void
use_reduced (StrategyRun *run, ScheduleAccess access)
{
  for (guint u = 0; u < run->n_units; u++)
    if (run->units[u].trainable_elements > 0)
      strategy_uses (run, u, UNIT_REDUCED, access);
}

/* ---- temporaries ----------------------------------------------------------------------------- */

/*
 * BYTES for each of ELEMENTS, tensor by tensor: as many blocks as a framework's lists have. Adds
 * the buffers to TAKEN.
 */
static void
take_lists (StrategyRun *run, guint64 elements, guint bytes, PoolCategory category,
            const char *label, GArray *taken)
{
  double  all = 0, at = 0;
  guint64 had = 0;

  for (guint u = 0; u < run->n_units; u++)
    all += (double) run->shares[u].updated;
  for (guint u = 0; u < run->n_units; u++)
    for (guint t = 0; t < run->units[u].n_trainable; t++)
      {
        double  of = (double) run->units[u].trainable[t].elements;
        guint64 end;

        at += (double) run->shares[u].updated * of / (double) run->units[u].trainable_elements;
        end = (guint64) (at / all * (double) elements + 0.5);
        if (end > had)
          {
            BufferRef buffer =
                schedule_alloc (run->b, PLACE_HBM, category, (end - had) * bytes, label);

            g_array_append_val (taken, buffer);
            had = end;
          }
      }
}

/* ---- sums over ranks ------------------------------------------------------------------------- */

/* Ranks that have parts of the tensors of a kind add up what they have of each. */
static void
emit_tensor_sums (const OptimizerStep *self, OptimizerSum sum)
{
  static const char *const names[] = { "tensor sums", "tensor sums of experts" };
  StrategyRun             *run = self->run;
  MeshGroup                tensor = mesh_tensor (&run->in->mesh);
  guint64                  values[2] = { 0 };

  for (guint u = 0; u < run->n_units; u++)
    for (guint t = 0; t < run->units[u].n_trainable; t++)
      values[run->units[u].expert] +=
          optimizer_sum (self->training, sum, &run->units[u].trainable[t]);
  for (guint k = 0; k < MIN (run->policy->n_kinds, G_N_ELEMENTS (values)); k++)
    {
      MeshGroup group = run->policy->kinds[k].states[STATE_OPTIMIZER].group;

      if (values[k] > 0 && group.size > 1 && run->policy->kinds[k].format->owned == NULL)
        schedule_all_reduce (run->b, SCHEDULE_COMPUTE, schedule_comm (run->b, names[k], group),
                             payload_plain (values[k], DTYPE_FP32), names[k]);
    }
  if (values[0] > 0 && tensor.size > 1)
    schedule_all_reduce (run->b, SCHEDULE_COMPUTE,
                         schedule_comm (run->b, "tensor sums of tensor ranks", tensor),
                         payload_plain (values[0], DTYPE_FP32), names[0]);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Of the elements that are trained the part that passes over elements update. */
static double
part_alone (const OptimizerStep *self)
{
  double planned = 0, all = 0;

  for (guint u = 0; u < self->run->n_units; u++)
    all += (double) self->run->units[u].trainable_elements;
  for (guint k = 0; k < self->run->policy->n_kinds; k++)
    planned += self->run->matrices[k] != NULL ? (double) self->run->matrices[k]->elements : 0;
  return all > 0 ? 1 - planned / all : 1;
}

/*
 * Noise of private training where the owner of a parameter adds it: drawn, and added to what has
 * been reduced, tensor by tensor.
 */
static void
emit_noise (const OptimizerStep *self)
{
  StrategyRun *run = self->run;
  const Dtype  dtype = reduced_dtype (run);
  const double bytes = self->share.elements * self->share.gradient_bytes;

  if (training_noise (self->training) != NOISE_OWNER || bytes == 0)
    return;
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "draw_noise", dtype, 0, bytes);
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "add_noise", dtype, 2 * bytes,
                      bytes);
  use_reduced (run, ACCESS_READ_WRITE);
}

static void
emit_passes (const OptimizerStep *self)
{
  StrategyRun       *run = self->run;
  g_autoptr (GArray) passes = g_array_new (FALSE, FALSE, sizeof (OptimizerPass));

  optimizer_passes (self->training, &self->share, passes);
  if (self->training->optimizer == OPTIMIZER_NONE)
    { /* who trains without an optimizer has the gradients: a copy of nothing */
      schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, PLACE_PINNED, 0, NULL);
      use_reduced (run, ACCESS_READ);
    }
  for (guint i = 0; i < passes->len; i++)
    {
      const OptimizerPass *pass = &g_array_index (passes, OptimizerPass, i);

      if (i + 1 == passes->len)
        {
          /*
           * Pages come tensor by tensor, each in front of its update
           * (Optimizer8bit.prefetch_state). A page that comes in needs one that goes, and the
           * driver takes that which came longest ago, which the step needs next: all go and come.
           * It writes a page back before it fills its place (nvidia-uvm, uvm_pmm_gpu.c), so that
           * the two directions do not overlap.
           */
          guint64 bytes = paged_bytes (run);

          if (bytes > 0)
            {
              schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, PLACE_PINNED, bytes, "pages out");
              schedule_uses_kept (run->b, PLACE_PINNED, POOL_OPTIMIZER, ACCESS_WRITE);
              schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_PINNED, PLACE_HBM, bytes, "pages in");
              schedule_uses_kept (run->b, PLACE_PINNED, POOL_OPTIMIZER, ACCESS_READ);
            }
        }
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &pass->kernel);
      use_reduced (run, ACCESS_READ_WRITE);
      if (i + 1 == passes->len && self->share.alone > 0)
        {
          schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ_WRITE);
          schedule_uses_kept (run->b, PLACE_HBM, POOL_OPTIMIZER, ACCESS_READ_WRITE);
        }
      if (pass->sum == SUM_GRADIENT && self->norm.size > 0)
        emit_norm (self->run, self->norm, SCHEDULE_COMPUTE, TRANSPORT_GPU);
      else if (pass->sum == SUM_TENSORS || pass->sum == SUM_COLUMNS)
        emit_tensor_sums (self, pass->sum);
    }
}

void
emit_optimizer (StrategyRun *run, MeshGroup norm, guint64 elements, guint gradient_bytes,
                guint parameter_bytes)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  OptimizerStep          self = { .run = run, .training = training, .norm = norm };
  g_autoptr (GArray)     taken = NULL;
  OptimizerTemporaries   bytes;

  self.share = (OptimizerShare){ .elements = (double) elements,
                                 .master_bytes = dtype_bytes (training_master_dtype (training)),
                                 .gradient_bytes = gradient_bytes,
                                 .parameter_bytes = parameter_bytes };
  self.share.alone = (double) elements * part_alone (&self);
  bytes = optimizer_temporaries (self.training, self.share.gradient_bytes);
  taken = g_array_new (FALSE, FALSE, sizeof (BufferRef));
  if (bytes.gradients > 0)
    take_lists (self.run, elements, bytes.gradients, POOL_GRADIENT, "gradients for the update",
                taken);
  if (bytes.denominators > 0)
    take_lists (self.run, elements, bytes.denominators, POOL_WORKSPACE, "denominators of AdamW",
                taken);
  emit_noise (&self);
  emit_passes (&self);
  for (guint k = 0; k < run->policy->n_kinds; k++)
    if (run->matrices[k] != NULL)
      emit_matrix_update (run, run->matrices[k], k, &self.share);
  for (guint i = 0; i < taken->len; i++)
    schedule_free (run->b, g_array_index (taken, BufferRef, i));
}

/* ---- what is made whole again ---------------------------------------------------------------- */

/* Each owner of whole tensors sends what it has updated to all others, one after another. */
static void
broadcast_updated (StrategyRun *run, guint kind, BufferRef parameters)
{
  const PolicyHop    *hop = &run->policy->kinds[kind].routes[ROUTE_UPDATE].hops[0];
  g_autofree guint64 *owned = g_new (guint64, hop->group.size);

  strategy_owned (run, kind, owned);
  for (guint owner = 0; owner < hop->group.size; owner++)
    {
      if (owned[owner] == 0)
        continue;
      schedule_collective (run->b, SCHEDULE_COMPUTE, strategy_comm (run, kind, ROUTE_UPDATE, 0),
                           COLLECTIVE_BROADCAST, payload_plain (owned[owner], hop->dtype),
                           hop->label);
      schedule_uses (run->b, parameters, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
}

/* Of a rank's part of the optimizer: what it updates of weights that others get in fp8. */
static guint64
narrow_share (const StrategyRun *run, guint kind)
{
  guint64 sum = 0;

  for (guint u = 0; u < run->n_units; u++)
    sum += plan_unit_is (&run->units[u], kind) ? narrow_trainable (&run->units[u]) : 0;
  return sum / run->policy->kinds[kind].states[STATE_OPTIMIZER].group.size;
}

void
emit_gather_updated (StrategyRun *run, BufferRef parameters)
{
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    {
      const PolicyRoute *route = &run->policy->kinds[kind].routes[ROUTE_UPDATE];

      if (run->policy->kinds[kind].format->owned != NULL && route->n > 0)
        {
          broadcast_updated (run, kind, parameters);
          continue;
        }
      emit_route (run, &(RouteWalk){ .kind = kind,
                                     .route = ROUTE_UPDATE,
                                     .first = policy_next (route, 0, HOP_COLLECTIVE),
                                     .end = route->n,
                                     .last_micro = TRUE,
                                     .held = strategy_share_of (run, kind, STATE_OPTIMIZER),
                                     .narrow = narrow_share (run, kind),
                                     .collectives = SCHEDULE_COMPUTE,
                                     .from = route_whole (parameters),
                                     .to = route_whole (parameters),
                                     .passing = "updated parameters on their way" });
    }
}

void
emit_share_update (StrategyRun *run, gboolean copies)
{
  copies = copies && training_has_master (workload_training (run->in->workload));
  emit_optimizer (run, run->policy->kinds[0].states[STATE_OPTIMIZER].group,
                  strategy_share (run, STATE_OPTIMIZER), element_bytes (run, STATE_GRADIENTS),
                  copies ? compute_bytes (run->policy) : 0);
}

void
emit_update (StrategyRun *run, BufferRef parameters)
{
  emit_share_update (run, TRUE);
  emit_gather_updated (run, parameters);
}
