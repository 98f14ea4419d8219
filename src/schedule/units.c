#include "schedule/strategy.h"

/* The table that a tied head reads again. */
static const TensorDesc *
embedding_table (const Workload *workload)
{
  const LayerDesc *layer = workload_layer (workload, 0);

  for (guint t = 0; t < layer->n_tensors; t++)
    if (layer->tensors[t].n_dims == 2)
      return &layer->tensors[t];
  g_assert_not_reached ();
}

static void
append_layer (GArray *units, guint index, const LayerDesc *layer)
{
  PlanUnit unit = {
    .layer = index,
    .desc = layer,
    .module = -1,
    .elements = layer->elements,
    .own_elements = layer->elements,
    .tensors = layer->tensors,
    .n_tensors = layer->n_tensors,
    .shares = layer->tied_head ? 0 : units->len,
  };

  g_array_append_val (units, unit);
}

static void
append_modules (GArray *units, guint index, const LayerDesc *layer)
{
  for (guint m = 0; m < layer->n_modules; m++)
    {
      const ModuleDesc *module = &layer->modules[m];
      PlanUnit          unit = {
                 .layer = index,
                 .desc = layer,
                 .module = (gint) m,
                 .elements = module->elements,
                 .own_elements = module->elements,
                 .tensors = layer->tensors + module->first_tensor,
                 .n_tensors = module->n_tensors,
                 .shares = units->len,
      };

      if (module->elements > 0)
        g_array_append_val (units, unit);
    }
}

static guint
owner_of_tensor (const GArray *units, const TensorDesc *tensor)
{
  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      if (tensor >= unit->tensors && tensor < unit->tensors + unit->n_tensors)
        return u;
    }
  g_assert_not_reached ();
}

static void
append_tied_table (GArray *units, guint index, const LayerDesc *layer, const TensorDesc *table)
{
  PlanUnit unit = {
    .layer = index,
    .desc = layer,
    .module = -1,
    .elements = table->elements,
    .own_elements = 0,
    .tensors = table,
    .n_tensors = 1,
    .shares = owner_of_tensor (units, table),
  };

  g_array_append_val (units, unit);
}

GArray *
plan_units (const Workload *workload, UnitGranularity granularity)
{
  guint   n_layers = workload_n_layers (workload);
  GArray *units = g_array_sized_new (FALSE, FALSE, sizeof (PlanUnit), n_layers);

  for (guint i = 0; i < n_layers; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (granularity == UNIT_LAYER)
        {
          append_layer (units, i, layer);
          continue;
        }
      append_modules (units, i, layer);
      if (layer->tied_head)
        append_tied_table (units, i, layer, embedding_table (workload));
    }
  return units;
}

gboolean
plan_unit_recomputes (const Workload *workload, const PlanUnit *unit)
{
  const LayerDesc *layer = unit->desc;

  if (layer->n_recompute > 0 && workload_training (workload)->checkpointing == CHECKPOINT_FULL)
    return TRUE;
  for (guint k = 0; k < layer->n_recompute; k++)
    if (layer->recompute[k].module >= 0 && layer->recompute[k].module == unit->module)
      return TRUE;
  return FALSE;
}
