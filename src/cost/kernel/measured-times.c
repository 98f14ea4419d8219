#include "cost/kernel/measured-times.h"

struct _MeasuredTimes
{
  KernelModel           *model;
  const MeasuredKernels *table;
  GHashTable            *factors; /* KernelDesc, by address -> double */
};

/* Kernels of a layer in a phase: one list, or two. */
typedef struct
{
  const KernelDesc *kernels[2];
  guint             n[2];
} KernelLists;

static KernelLists
lists_of (const LayerDesc *layer, MeasuredPhase phase)
{
  switch (phase)
    {
    case MEASURED_FORWARD:
      return (KernelLists){ { layer->forward }, { layer->n_forward } };
    case MEASURED_RECOMPUTE:
      return (KernelLists){ { layer->recompute }, { layer->n_recompute } };
    case MEASURED_BACKWARD:
      return (KernelLists){ { layer->backward }, { layer->n_backward } };
    case MEASURED_BACKWARD_ALL:
      return (KernelLists){ { layer->recompute, layer->backward },
                            { layer->n_recompute, layer->n_backward } };
    default:
      return (KernelLists){ 0 };
    }
}

double
measured_times_modelled (KernelModel *model, const LayerDesc *layer, MeasuredPhase phase)
{
  KernelLists lists = lists_of (layer, phase);
  double      sum = 0;

  for (guint l = 0; l < 2; l++)
    for (guint i = 0; i < lists.n[l]; i++)
      {
        KernelCost cost;

        if (lists.kernels[l][i].kind == KERNEL_COMMUNICATION)
          continue;
        kernel_model_cost (model, &lists.kernels[l][i], &cost);
        sum += cost.alone;
      }
  return sum;
}

static void
set_factor (MeasuredTimes *self, const LayerDesc *layer, MeasuredPhase phase, double factor)
{
  KernelLists lists = lists_of (layer, phase);

  for (guint l = 0; l < 2; l++)
    for (guint i = 0; i < lists.n[l]; i++)
      g_hash_table_insert (self->factors, (gpointer) &lists.kernels[l][i],
                           g_memdup2 (&factor, sizeof factor));
}

/* A layer after the other by the row of its kind, or all of them by that of all. */
static void
take_phase (MeasuredTimes *self, const Workload *workload, MeasuredPhase phase)
{
  const MeasuredRow *all = measured_kernels_row (self->table, MEASURED_ALL_LAYERS, phase);
  double             sum = 0;

  for (guint i = 0; all->given && i < workload_n_layers (workload); i++)
    sum += measured_times_modelled (self->model, workload_layer (workload, i), phase);
  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc   *layer = workload_layer (workload, i);
      const MeasuredRow *row =
          all->given ? all : measured_kernels_row (self->table, layer->kind, phase);
      double modelled = all->given ? sum : measured_times_modelled (self->model, layer, phase);

      if (row->given && modelled > 0)
        set_factor (self, layer, phase, row->seconds / modelled);
    }
}

MeasuredTimes *
measured_times_new (KernelModel *model, const Workload *workload, const MeasuredKernels *table)
{
  MeasuredTimes *self = g_new0 (MeasuredTimes, 1);

  self->model = model;
  self->table = table;
  self->factors = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  for (guint phase = 0; table != NULL && phase < MEASURED_OPTIMIZER; phase++)
    take_phase (self, workload, (MeasuredPhase) phase);
  return self;
}

void
measured_times_free (MeasuredTimes *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->factors);
  g_free (self);
}

static void
scale (KernelCost *cost, double factor)
{
  cost->wave_seconds *= factor;
  cost->sm_seconds *= factor;
  cost->hbm_bytes *= factor;
  cost->latency *= factor;
  cost->alone *= factor;
}

void
measured_times_cost (const MeasuredTimes *self, const KernelDesc *kernel, gboolean optimizer,
                     KernelCost *cost)
{
  const double *factor;

  kernel_model_cost (self->model, kernel, cost);
  if (self->table == NULL)
    return;
  factor = g_hash_table_lookup (self->factors, kernel);
  if (factor != NULL)
    scale (cost, *factor);
  else if (optimizer)
    {
      const MeasuredRow *row =
          measured_kernels_row (self->table, MEASURED_ALL_LAYERS, MEASURED_OPTIMIZER);

      if (row->given && cost->alone > 0 && cost->bytes > 0)
        scale (cost, row->seconds / row->bytes * cost->bytes / cost->alone);
    }
}
