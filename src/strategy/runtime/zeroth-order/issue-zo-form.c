/* The closed form of zeroth-order steps with blocks in host memory. */
#include <math.h>

#include "driver/oracle/expect.h"
#include "strategy/runtime/zeroth-order/issue-zo.h"

static gboolean
is_block (const Workload *workload, const LayerDesc *layer)
{
  (void) workload;
  return layer->kind == LAYER_BLOCK;
}

static double
power_of_two (double bytes)
{
  return bytes > 0 ? exp2 (ceil (log2 (bytes))) : 0;
}

/* What a block takes at home, as so many slices. */
static double
home_of (const LayerDesc *layer, const ZoIssue *o, double bytes, double slices)
{
  gboolean rounds = o->memory == ZO_PINNED && o->rounds;
  double   sum = 0, all = ceil ((double) layer->elements / slices) * bytes;

  if (o->copies == ZO_BUCKET || slices > 1)
    return rounds ? power_of_two (all) : all;
  for (guint t = 0; t < layer->n_tensors; t++)
    sum += rounds ? power_of_two ((double) layer->tensors[t].elements * bytes)
                  : (double) layer->tensors[t].elements * bytes;
  return sum;
}

/* Elements of layers: all, of the least and the most of a block, of the largest tensor. */
typedef struct
{
  double ends, home, least, most, tensor, blocks;
} ZoSizes;

static ZoSizes
sizes_of (const PlanInput *in, const ZoIssue *o, double bytes, double slices)
{
  ZoSizes sizes = { .least = HUGE_VAL };

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);
      double           elements = (double) layer->elements;

      for (guint t = 0; t < layer->n_tensors; t++)
        sizes.tensor = MAX (sizes.tensor, (double) layer->tensors[t].elements);
      if (layer->kind != LAYER_BLOCK)
        {
          sizes.ends += elements;
          continue;
        }
      sizes.home += home_of (layer, o, bytes, slices);
      sizes.least = MIN (sizes.least, elements);
      sizes.most = MAX (sizes.most, elements);
      sizes.blocks++;
    }
  return sizes;
}

void
zo_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  const TrainingOptions *training = workload_training (in->workload);
  const ZoIssue         *o = policy->issue;
  const UnitPolicy      *kind = &policy->kinds[0];
  guint   g = kind->states[STATE_PARAMETERS].group.size, n = workload_n_layers (in->workload);
  double  stored = dtype_bytes (kind->states[STATE_PARAMETERS].dtype);
  double  working = dtype_bytes (training_master_dtype (training));
  ZoSizes sizes = sizes_of (in, o, stored, g);
  double  passed = expect_micro_steps (in) * expect_padded (in, 0, n, kind->format, 0, g, is_block);
  double  there = MIN (sizes.blocks, o->overlap ? 3 : 2), used = 0, cast = 0;

  if (training_has_master (training))
    {
      used = working;
      cast = dtype_bytes (policy->compute);
    }
  form->passed[ROUTE_GATHER][0] = form->passed[ROUTE_RENEW][0] = passed;
  form->states = sizes.ends * working;
  if (o->memory == ZO_PINNED)
    form->host = sizes.home;
  else
    form->pageable = sizes.home;
  form->low = there * sizes.least * stored;
  /* a slice on its way, and padding */
  form->high = (sizes.most + g) * (there * stored + used + (g > 1 ? stored / g : 0))
               + sizes.tensor * (4 * working + cast);
}

gboolean
zo_expect (const PlanInput *in, gconstpointer issue, PlanTotals *totals)
{
  MeshGroup all = mesh_all (&in->mesh);
  guint     passes = ((const ZoIssue *) issue)->pairs && all.size > 1 ? 2 : 1;
  MeshGroup pair = mesh_group_part (all, passes);

  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, pair, 4 * passes);
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_across (&in->mesh, pair), 4);
  return TRUE;
}
