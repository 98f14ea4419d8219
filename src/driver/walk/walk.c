/* The slots of a stage: what each layer allocates and runs, and the hooks around its units. */
#include "driver/walk/driver-private.h"

#include "model/step/privacy.h"

/* ---- where the walk stands ------------------------------------------------------------------- */

typedef struct
{
  const PipelineSlot *slot;
  BackwardPart        part;
  guint               first_unit, end_unit; /* of the chunk */
} SlotWalk;

static UnitSlot
unit_slot (const Driver *self, const SlotWalk *walk, guint unit, UnitUse use)
{
  guint n_micros = pipeline_chunk_micros (&self->pipeline);

  return (UnitSlot){
    .unit = unit,
    .plan = &driver_run (self)->units[unit],
    .use = use,
    .micro = walk->slot->micro,
    .first = walk->slot->micro == 0,
    .last = walk->slot->micro + 1 == n_micros,
    .first_unit = walk->first_unit,
    .end_unit = walk->end_unit,
  };
}

static const Strategy *
innermost (const Driver *self)
{
  return self->at->levels[self->n_levels - 1].strategy;
}

/*
 * Either end of the kernels of UNIT, to which items belong from now on: the framework's own hooks
 * run first.
 */
static void
unit_turns (Driver *self, SchedulePhase phase, guint unit)
{
  const Strategy *strategy = innermost (self);
  guint           n =
      strategy->issue != NULL ? strategy->issue->hooks.host_hooks : strategy->hooks.host_hooks;

  schedule_set_phase (self->b, phase);
  schedule_set_unit (self->b, unit);
  if (n > 0)
    schedule_host_hooks (self->b, n);
}

static void
use_begins (Driver *self, SchedulePhase phase, const UnitSlot *slot)
{
  unit_turns (self, phase, slot->unit);
  driver_unit_hook (self, phase, HOOK_BEGINS, HOOK (use_begin), slot);
}

static void
use_ends (Driver *self, SchedulePhase phase, const UnitSlot *slot)
{
  unit_turns (self, phase, slot->unit);
  driver_unit_hook (self, phase, HOOK_ENDS, HOOK (use_end), slot);
}

static gboolean
by_modules (const Driver *self)
{
  return strategy_granularity (innermost (self)) == UNIT_MODULE;
}

/* LAYER with the tokens of the slot's micro-batch. */
static const LayerDesc *
layer_of (const Driver *self, const SlotWalk *walk, guint layer)
{
  return workload_layer (driver_workload (self, self->stage, walk->slot->chunk, walk->slot->micro),
                         layer);
}

static BufferRef *
saved_by (const Driver *self, const SlotWalk *walk, guint layer)
{
  guint n_layers = workload_n_layers (self->at->workload);

  return &self->saved[(gsize) (walk->slot->micro % self->ring) * n_layers + layer];
}

/* What the kernels of LAYER use. */
static DataBracket
layer_bracket (const Driver *self, guint layer, BufferRef saved, ScheduleAccess saves,
               BufferRef working)
{
  return (DataBracket){ .first = self->at->first_unit[layer],
                        .end = self->at->first_unit[layer + 1],
                        .parameters = TRUE,
                        .saved = saved,
                        .saves = saves,
                        .working = working };
}

static DataBracket
of_unit (const DataBracket *layer, guint unit)
{
  DataBracket bracket = *layer;

  bracket.first = unit;
  bracket.end = unit + 1;
  return bracket;
}

/* ---- forward --------------------------------------------------------------------------------- */

/*
 * Units of a layer are gathered one by one as modules run, or (layers whose experts are a unit of
 * their own) all around the layer.
 */
static void
walk_units_forward (Driver *self, const SlotWalk *walk, const LayerDesc *desc,
                    const DataBracket *layer)
{
  for (guint u = layer->first; u < layer->end; u++)
    {
      const DataBracket unit = of_unit (layer, u);
      const UnitSlot    slot = unit_slot (self, walk, u, USE_FORWARD);

      use_begins (self, PHASE_FORWARD, &slot);
      if (by_modules (self))
        {
          walk_kernels (self, desc->forward, desc->n_forward, u, BACKWARD_BOTH, &unit);
          use_ends (self, PHASE_FORWARD, &slot);
        }
    }
  if (by_modules (self))
    return;
  walk_kernels (self, desc->forward, desc->n_forward, SCHEDULE_NONE, BACKWARD_BOTH, layer);
  for (guint u = layer->first; u < layer->end; u++)
    {
      const UnitSlot slot = unit_slot (self, walk, u, USE_FORWARD);

      use_ends (self, PHASE_FORWARD, &slot);
    }
}

static void
release_output (Driver *self, BufferRef *held)
{
  schedule_free (self->b, *held);
  *held = SCHEDULE_NONE;
}

void
walk_release_outputs (Driver *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->held); i++)
    release_output (self, &self->held[i]);
  for (guint i = 0; i < G_N_ELEMENTS (self->passed); i++)
    release_output (self, &self->passed[i]);
}

static void
walk_layer_forward (Driver *self, const SlotWalk *walk, guint layer)
{
  const LayerDesc *desc = layer_of (self, walk, layer);
  guint            first = self->at->first_unit[layer];
  BufferRef        working, saved;
  DataBracket      bracket;

  schedule_set_phase (self->b, PHASE_FORWARD);
  schedule_set_unit (self->b, first);
  saved = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, desc->saved_bytes, "saved");
  working = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, desc->working_bytes, "working");
  schedule_buffer_program (self->b, working, &desc->forward_memory, saved);
  *saved_by (self, walk, layer) = saved;
  walk_assign_kernels (self, layer, desc->forward, desc->n_forward, first);
  bracket = layer_bracket (self, layer, saved, ACCESS_WRITE, working);
  walk_units_forward (self, walk, desc, &bracket);
  schedule_free (self->b, working);
  checkpoint_leaves (self, desc, saved_by (self, walk, layer));
  if (desc->held_bytes > 0)
    {
      guint      n = training_held_outputs (workload_training (self->in->workload));
      BufferRef *held = &self->held[walk->slot->micro % MIN (n, G_N_ELEMENTS (self->held))];

      release_output (self, held);
      *held = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, desc->held_bytes, "held logits");
      schedule_touches (self->b, SCHEDULE_COMPUTE, *held, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
}

/* ---- zeroth order ---------------------------------------------------------------------------- */

/* What a pass hands on behind the head: its loss, an fp32 number. */
#define LOSS_BYTES 4

/*
 * Nothing is kept for a backward pass: the output of the layer before goes as the pass begins,
 * whose own tensors it becomes.
 */
static void
walk_pass (Driver *self, const LayerDesc *desc, guint layer, guint pass)
{
  BufferRef  *input = &self->passed[pass];
  BufferRef   output, working;
  DataBracket bracket;

  schedule_touches (self->b, SCHEDULE_COMPUTE, *input, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (self->b, *input);
  output = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION,
                           desc->kind == LAYER_HEAD ? LOSS_BYTES : desc->output_bytes, "output");
  working = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, desc->inference_bytes, "working");
  schedule_buffer_program (self->b, working, &desc->inference_memory, output);
  bracket = layer_bracket (self, layer, output, ACCESS_WRITE, working);
  walk_kernels (self, desc->forward, desc->n_forward, SCHEDULE_NONE, BACKWARD_BOTH, &bracket);
  schedule_free (self->b, working);
  *input = output;
}

/* A runtime whose passes alternate module by module has the first one's logits to the end. */
static guint
hold_logits (Driver *self, const LayerDesc *desc, guint n_held, BufferRef *held)
{
  guint64 bytes = desc->kind == LAYER_HEAD ? desc->head_bytes : 0;

  if (bytes == 0)
    return n_held;
  for (guint i = 0; i < self->at->policy->held_logits; i++)
    {
      held[n_held] = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, bytes, "held logits");
      schedule_touches (self->b, SCHEDULE_COMPUTE, held[n_held++], SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  return n_held;
}

static void
walk_layer_perturbed (Driver *self, const SlotWalk *walk, guint layer)
{
  const LayerDesc *desc = layer_of (self, walk, layer);
  guint            first = self->at->first_unit[layer], end = self->at->first_unit[layer + 1];
  guint            passes = self->at->policy->passes, n_held = 0;
  BufferRef        held[POLICY_MAX_PASSES * POLICY_MAX_HELD];

  walk_assign_kernels (self, layer, desc->forward, desc->n_forward, first);
  for (guint u = first; u < end; u++)
    {
      const UnitSlot slot = unit_slot (self, walk, u, USE_FORWARD);

      use_begins (self, PHASE_FORWARD, &slot);
    }
  for (guint pass = 0; pass < passes; pass++)
    {
      for (guint u = first; u < end; u++)
        {
          UnitSlot slot = unit_slot (self, walk, u, USE_FORWARD);

          slot.pass = pass;
          driver_unit_hook (self, PHASE_FORWARD, HOOK_BEGINS, HOOK (pass_begin), &slot);
        }
      walk_pass (self, desc, layer, pass);
      if (pass + 1 < passes)
        n_held = hold_logits (self, desc, n_held, held);
    }
  while (n_held > 0)
    schedule_free (self->b, held[--n_held]);
  for (guint u = first; u < end; u++)
    {
      const UnitSlot slot = unit_slot (self, walk, u, USE_FORWARD);

      use_ends (self, PHASE_FORWARD, &slot);
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Module granularity: a checkpointed layer's modules run their forward again, with its hooks. */
static void
walk_layer_recompute (Driver *self, const SlotWalk *walk, guint layer, const DataBracket *bracket)
{
  const LayerDesc *desc = layer_of (self, walk, layer);

  walk_assign_kernels (self, layer, desc->recompute, desc->n_recompute, bracket->first);
  for (guint u = bracket->first; u < bracket->end; u++)
    {
      UnitSlot    slot = unit_slot (self, walk, u, USE_RECOMPUTATION);
      gboolean    hooks = plan_unit_recomputes (self->at->workload, slot.plan);
      DataBracket unit = of_unit (bracket, u);

      if (!hooks) /* its kernels read no parameters */
        unit.end = unit.first;

      schedule_set_phase (self->b, PHASE_RECOMPUTE);
      schedule_set_unit (self->b, u);
      if (hooks)
        use_begins (self, PHASE_RECOMPUTE, &slot);
      walk_kernels (self, desc->recompute, desc->n_recompute, u, BACKWARD_BOTH, &unit);
      if (hooks)
        use_ends (self, PHASE_RECOMPUTE, &slot);
    }
}

static gboolean
has_gradient (const SlotWalk *walk, const UnitSlot *slot)
{
  return walk->part != BACKWARD_INPUTS && slot->plan->trainable_elements > 0;
}

static void
backward_begins (Driver *self, const SlotWalk *walk, guint unit)
{
  UnitSlot slot = unit_slot (self, walk, unit, USE_BACKWARD);

  unit_turns (self, PHASE_BACKWARD, unit);
  if (walk->part != BACKWARD_WEIGHTS)
    driver_unit_hook (self, PHASE_BACKWARD, HOOK_BEGINS, HOOK (use_begin), &slot);
  if (has_gradient (walk, &slot))
    driver_unit_hook (self, PHASE_BACKWARD, HOOK_BEGINS, HOOK (gradient_begin), &slot);
}

static void
backward_ends (Driver *self, const SlotWalk *walk, guint unit)
{
  UnitSlot slot = unit_slot (self, walk, unit, USE_BACKWARD);

  unit_turns (self, PHASE_BACKWARD, unit);
  if (walk->part != BACKWARD_WEIGHTS)
    driver_unit_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (use_end), &slot);
  if (has_gradient (walk, &slot))
    driver_unit_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (gradient_ready), &slot);
  if (walk->part != BACKWARD_INPUTS && slot.last && unit == walk->first_unit)
    driver_unit_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (chunk_end), &slot);
}

static void
walk_units_backward (Driver *self, const SlotWalk *walk, const LayerDesc *desc,
                     const DataBracket *layer)
{
  DataBracket again = *layer;

  for (guint u = layer->end; u-- > layer->first;)
    {
      const DataBracket unit = of_unit (layer, u);

      backward_begins (self, walk, u);
      if (by_modules (self))
        {
          walk_kernels (self, desc->backward, desc->n_backward, u, walk->part, &unit);
          backward_ends (self, walk, u);
        }
    }
  if (by_modules (self))
    return;
  again.gradient = FALSE;
  if (walk->part != BACKWARD_WEIGHTS)
    {
      schedule_set_phase (self->b, PHASE_RECOMPUTE);
      walk_kernels (self, desc->recompute, desc->n_recompute, SCHEDULE_NONE, BACKWARD_BOTH, &again);
      schedule_set_phase (self->b, PHASE_BACKWARD);
    }
  walk_kernels (self, desc->backward, desc->n_backward, SCHEDULE_NONE, walk->part, layer);
  for (guint u = layer->end; u-- > layer->first;)
    backward_ends (self, walk, u);
}

/* Norms have been found: what gradients of weights will be made of takes the place of *SAVED. */
static void
hold_for_gradients (Driver *self, const LayerDesc *desc, BufferRef *saved)
{
  schedule_free (self->b, *saved);
  *saved = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, desc->clipped_bytes,
                           "held for clipping");
  schedule_touches (self->b, SCHEDULE_COMPUTE, *saved, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/*
 * What a layer saved lives until its weights have their gradients: a pass that is put off needs
 * inputs and output gradients.
 */
static void
walk_layer_backward (Driver *self, const SlotWalk *walk, guint layer)
{
  const LayerDesc *desc = layer_of (self, walk, layer);
  guint            first = self->at->first_unit[layer], end = self->at->first_unit[layer + 1];
  BufferRef        workspace = SCHEDULE_NONE, *saved = saved_by (self, walk, layer);
  DataBracket      bracket;

  schedule_set_phase (self->b, PHASE_BACKWARD);
  schedule_set_unit (self->b, first);
  if (walk->part != BACKWARD_WEIGHTS)
    {
      if (walk->part != BACKWARD_AGAIN) /* it has come back before */
        checkpoint_returns (self, desc, saved);
      workspace =
          schedule_alloc (self->b, PLACE_HBM, POOL_WORKSPACE, desc->backward_bytes, "backward");
      if (walk->part != BACKWARD_INPUTS
          && desc->working_bytes > 0) /* else what is saved outlives this pass, or is one block */
        schedule_buffer_program (self->b, workspace, &desc->backward_memory, *saved);
    }
  bracket = layer_bracket (self, layer, *saved, ACCESS_READ, workspace);
  if (walk->part != BACKWARD_WEIGHTS && by_modules (self) && desc->n_recompute > 0)
    walk_layer_recompute (self, walk, layer, &bracket);
  walk_assign_kernels (self, layer, desc->backward, desc->n_backward, end - 1);
  bracket.parameters = walk->part != BACKWARD_WEIGHTS;
  bracket.gradient = walk->part != BACKWARD_INPUTS;
  walk_units_backward (self, walk, desc, &bracket);

  schedule_set_unit (self->b, first);
  schedule_free (self->b, workspace);
  if (walk->part != BACKWARD_INPUTS)
    schedule_free (self->b, *saved);
  else if (desc->clipped_bytes > 0)
    hold_for_gradients (self, desc, saved);
}

/* ---- the host's waits ---- */

/* Whether a pass is followed by one: behind the head, or behind what is a micro-step's last. */
static gboolean
host_waits (const Driver *self, const SlotWalk *walk, guint end)
{
  const Workload *workload = self->at->workload;

  switch ((MicroStepSync) workload_training (workload)->micro_step_sync)
    {
    case SYNC_FORWARD:
      return walk->slot->pass == PASS_FORWARD
             && workload_layer (workload, end - 1)->kind == LAYER_HEAD;
    case SYNC_BACKWARD:
      return walk->slot->pass != PASS_FORWARD && walk->part != BACKWARD_WEIGHTS
             && walk->slot->chunk == 0;
    default:
      return FALSE;
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

static gboolean
all_is_done (const Driver *self)
{
  for (guint c = 0; c < self->pipeline.chunks; c++)
    if (self->backward_done[c] < pipeline_chunk_micros (&self->pipeline))
      return FALSE;
  return TRUE;
}

static void
walk_backward (Driver *self, const SlotWalk *walk, guint first, guint end)
{
  if (walk->part == BACKWARD_BOTH || walk->part == BACKWARD_INPUTS) /* else it has begun before */
    driver_hook (self, PHASE_BACKWARD, HOOK_BEGINS, HOOK (backward_begin));
  for (guint l = end; l-- > first && !schedule_builder_is_cut (self->b);)
    walk_layer_backward (self, walk, l);
  if (schedule_builder_is_cut (self->b))
    return;
  walk_join_collectives (self);
  if (walk->part == BACKWARD_INPUTS)
    return;
  self->backward_done[walk->slot->chunk]++;
  if (self->pipeline.stages == 1 || !all_is_done (self))
    driver_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (micro_step_end));
}

/*
 * Under flat clipping no gradient is there, let alone reduced, before all norms are: the backward
 * pass is two, and between them each sample's factor is made of its norms.
 */
static void
walk_clipped_backward (Driver *self, SlotWalk *walk, guint first, guint end)
{
  const TrainingOptions *training = workload_training (self->at->workload);
  double                 bytes = 4 * (double) training->micro_batch * (double) (end - first);
  const KernelDesc       factors =
      kernel_desc_stream (KERNEL_REDUCTION, "clip_factors", DTYPE_FP32, bytes, 0, 1);

  walk->part = BACKWARD_INPUTS;
  walk_backward (self, walk, first, end);
  if (schedule_builder_is_cut (self->b))
    return;
  schedule_kernel (self->b, SCHEDULE_COMPUTE, &factors);
  walk->part = training_repeats_backward (training) ? BACKWARD_AGAIN : BACKWARD_WEIGHTS;
  walk_backward (self, walk, first, end);
}

void
walk_slot (Driver *self, const PipelineSlot *slot)
{
  static const BackwardPart parts[] = { [PASS_FORWARD] = BACKWARD_BOTH,
                                        [PASS_BACKWARD] = BACKWARD_BOTH,
                                        [PASS_INPUT] = BACKWARD_INPUTS,
                                        [PASS_WEIGHT] = BACKWARD_WEIGHTS };
  SlotWalk                  walk = { .slot = slot, .part = parts[slot->pass] };
  guint                     first, end, micro;

  workload_chunk (self->at->workload, slot->chunk, &first, &end);
  walk.first_unit = self->at->first_unit[first];
  walk.end_unit = self->at->first_unit[end];
  for (guint i = 0; i < self->n_levels; i++)
    self->at->levels[i].run.micro = slot->micro;
  messages_receive (self, slot);
  if (slot->pass == PASS_FORWARD && driver_micro_step (self, slot->chunk, slot->micro, &micro))
    schedule_builder_begin_micro (self->b, micro);
  if (slot->pass == PASS_FORWARD)
    {
      for (guint l = first; l < end && !schedule_builder_is_cut (self->b); l++)
        if (driver_is_perturbed (self))
          walk_layer_perturbed (self, &walk, l);
        else
          walk_layer_forward (self, &walk, l);
      if (!schedule_builder_is_cut (self->b))
        walk_join_collectives (self);
    }
  else if (training_holds_gradients_back (workload_training (self->at->workload)))
    walk_clipped_backward (self, &walk, first, end);
  else
    walk_backward (self, &walk, first, end);
  if (schedule_builder_is_cut (self->b))
    return; /* what hooks were to find is not there */
  if (host_waits (self, &walk, end))
    data_read_result (self);
  messages_leave (self, slot);
  messages_let_go (self, slot);
}
