/* A block cut in two: attention and what goes with it, and what routed experts do. */
#include "serve/generator-private.h"

/*
 * What experts do between the rows' arrival and their return, with the casts and biases that are
 * named after it. The sum of tensor ranks' parts is theirs, too: rows come to one of them each,
 * which is half of an all-reduce, and leave from one each, which is the other half. Rows are
 * ordered by expert, and added up, where tokens live.
 */
static const char *const expert_kernels[] = {
  "experts.gate",       "experts.up",   "experts.down",
  "experts.activation", "experts.join", "experts.reduce",
};

static GenerationSide
side_of (const KernelDesc *kernel)
{
  for (guint i = 0; i < G_N_ELEMENTS (expert_kernels); i++)
    if (g_str_has_prefix (kernel->name, expert_kernels[i]))
      return GENERATION_EXPERT_SIDE;
  return GENERATION_ATTENTION_SIDE;
}

guint
generator_n_layers (const Generator *self)
{
  g_assert (self->options.pp == 1);
  return workload_n_layers (self->stages[0]);
}

gboolean
generator_has_experts (const Generator *self, guint i)
{
  const LayerDesc *layer = workload_layer (self->stages[0], i);

  for (guint k = 0; k < layer->n_forward; k++)
    if (side_of (&layer->forward[k]) == GENERATION_EXPERT_SIDE)
      return TRUE;
  return FALSE;
}

/* The GPU waits for the host, which launches kernels one by one outside of graphs. */
static double
seconds_of (const Generator *self, const StageCost *cost)
{
  const double issued = self->options.enforce_eager ? cost->launches * self->options.issue_s : 0;
  double       sum = 0;

  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    sum += cost->parts[p];
  return MAX (sum, issued);
}

/* Layer I of STAGE, which was made for as many tokens as BATCH has. */
static double
side_seconds (Generator *self, GenerationSide side, const Workload *stage, guint i,
              const SequenceGroup *batch)
{
  const LayerDesc *layer = workload_layer (stage, i);
  StageCost        cost = { 0 };

  for (guint k = 0; k < layer->n_forward; k++)
    if (side_of (&layer->forward[k]) == side)
      generator_add_kernel (self, &layer->forward[k], PASS_DECODE, 1, &cost);
  if (side == GENERATION_ATTENTION_SIDE && layer->kind == LAYER_BLOCK)
    generator_add_attention (self, workload_block (stage, i), batch, 1, &cost);
  return seconds_of (self, &cost);
}

void
generator_layer_seconds (Generator *self, GenerationSide side, const SequenceGroup *batch,
                         double *seconds)
{
  Workload **stages =
      generator_new_stages (self, PASS_DECODE, generator_padded (batch->sequences), 1);
  const Workload *stage = stages[0];

  g_assert (self->options.pp == 1 && self->options.dp == 1);
  for (guint i = 0; i < workload_n_layers (stage); i++)
    seconds[i] = i > 0 && workload_layer (stage, i) == workload_layer (stage, i - 1)
                     ? seconds[i - 1]
                     : side_seconds (self, side, stage, i, batch);
  generator_free_stages (self, stages);
}
