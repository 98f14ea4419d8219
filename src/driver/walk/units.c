#include "driver/policy/strategy.h"

/* Layer of the token embedding that a tied head reads again. */
static guint
embedding_layer (const Workload *workload)
{
  for (guint i = 0; i < workload_n_layers (workload); i++)
    if (workload_layer (workload, i)->kind == LAYER_EMBEDDING)
      return i;
  g_assert_not_reached ();
}

/* Its table. */
static const TensorDesc *
embedding_table (const Workload *workload)
{
  const LayerDesc *layer = workload_layer (workload, embedding_layer (workload));

  for (guint t = 0; t < layer->n_tensors; t++)
    if (layer->tensors[t].n_dims == 2)
      return &layer->tensors[t];
  g_assert_not_reached ();
}

static PlanUnit
unit_new (const Workload *workload, guint index, const TensorDesc *tensors, guint n, guint shares)
{
  PlanUnit unit = {
    .layer = index,
    .model_layer = workload_model_layer (workload, index),
    .desc = workload_layer (workload, index),
    .module = -1,
    .tensors = tensors,
    .n_tensors = n,
    .shares = shares,
  };

  for (guint t = 0; t < n; t++)
    {
      unit.elements += tensors[t].elements;
      unit.narrow += tensors[t].narrow ? tensors[t].elements : 0;
      unit.n_narrow += tensors[t].narrow;
      unit.n_trainable += !tensors[t].frozen;
      unit.trainable_elements += tensors[t].frozen ? 0 : tensors[t].elements;
    }
  if (unit.n_trainable > 0)
    unit.trainable = unit.desc->trainable;
  for (const TensorDesc *t = unit.desc->tensors; unit.n_trainable > 0 && t < tensors; t++)
    unit.trainable += !t->frozen;
  unit.own_elements = unit.elements;
  return unit;
}

/* Tensors of routed experts stand together. Sets *FIRST to the first; returns their number. */
static guint
expert_tensors (const LayerDesc *layer, guint *first)
{
  guint n = 0;

  for (guint t = 0; t < layer->n_tensors; t++)
    if (layer->tensors[t].expert && n++ == 0)
      *first = t;
  return n;
}

static void
append_part (GArray *units, const Workload *workload, guint index, const TensorDesc *tensors,
             guint n, gboolean expert)
{
  PlanUnit unit = unit_new (workload, index, tensors, n, units->len);

  unit.expert = expert;
  if (n > 0)
    g_array_append_val (units, unit);
}

/*
 * Experts that are spread over ranks are a unit between what stands before and behind them in their
 * layer.
 */
static void
append_layer (GArray *units, const Workload *workload, guint index)
{
  const LayerDesc  *layer = workload_layer (workload, index);
  const TensorDesc *tensors = layer->tensors;
  guint             all = layer->n_tensors, first = all;
  guint n = mesh_spreads_experts (workload_mesh (workload)) ? expert_tensors (layer, &first) : 0;

  append_part (units, workload, index, tensors, first, FALSE);
  append_part (units, workload, index, tensors + first, n, TRUE);
  append_part (units, workload, index, tensors + first + n, all - first - n, FALSE);
}

static void
append_modules (GArray *units, const Workload *workload, guint index)
{
  const LayerDesc *layer = workload_layer (workload, index);

  for (guint m = 0; m < layer->n_modules; m++)
    {
      const ModuleDesc *module = &layer->modules[m];
      const TensorDesc *tensors = layer->tensors + module->first_tensor;
      PlanUnit          unit = unit_new (workload, index, tensors, module->n_tensors, units->len);

      unit.module = (gint) m;
      unit.expert = mesh_spreads_experts (workload_mesh (workload)) && module->n_tensors > 0
                    && tensors->expert;
      if (module->elements > 0)
        g_array_append_val (units, unit);
    }
}

/* The unit that owns what UNIT only uses: the table's, or (layers) the whole embedding's. */
static guint
owner_of (const GArray *units, const Workload *workload, gboolean modules)
{
  const TensorDesc *table = embedding_table (workload);
  guint             layer = embedding_layer (workload);

  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      if (unit->own_elements > 0 && unit->layer == layer
          && (!modules || (table >= unit->tensors && table < unit->tensors + unit->n_tensors)))
        return u;
    }
  g_assert_not_reached ();
}

/*
 * A further use of the table by layer INDEX is a unit that owns nothing. An MTP layer begins with
 * it, a tied head ends so.
 */
static void
append_table_use (GArray *units, const Workload *workload, guint index)
{
  PlanUnit unit = unit_new (workload, embedding_layer (workload), embedding_table (workload), 1, 0);

  unit.layer = index;
  unit.model_layer = workload_model_layer (workload, index);
  unit.desc = workload_layer (workload, index);
  unit.own_elements = unit.trainable_elements = unit.n_trainable = 0;
  g_array_append_val (units, unit);
}

GArray *
plan_units (const Workload *workload, UnitGranularity granularity)
{
  guint    n_layers = workload_n_layers (workload);
  GArray  *units = g_array_sized_new (FALSE, FALSE, sizeof (PlanUnit), n_layers);
  gboolean modules = granularity == UNIT_MODULE;

  for (guint i = 0; i < n_layers; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (modules && layer->reads_table && layer->kind == LAYER_BLOCK)
        append_table_use (units, workload, i);
      if (!modules)
        append_layer (units, workload, i);
      else
        append_modules (units, workload, i);
      if (modules && layer->reads_table && layer->kind == LAYER_HEAD)
        append_table_use (units, workload, i);
    }
  for (guint u = 0; u < units->len; u++)
    {
      PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      if (unit->desc->reads_table && (modules ? unit->own_elements == 0 : !unit->expert))
        unit->shares = owner_of (units, workload, modules);
    }
  return units;
}

gboolean
plan_unit_recomputes (const Workload *workload, const PlanUnit *unit)
{
  const LayerDesc *layer = unit->desc;

  (void) workload;
  if (layer->n_recompute > 0 && layer->checkpoint == CHECKPOINT_FULL)
    return TRUE;
  for (guint k = 0; k < layer->n_recompute; k++)
    if (layer->recompute[k].module >= 0 && layer->recompute[k].module == unit->module)
      return TRUE;
  return FALSE;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void
append_use (GArray *uses, const GArray *units, guint u, UnitUse use)
{
  const PlanUnit *unit = &g_array_index (units, PlanUnit, u);
  PlanUse         next = { unit->own_elements > 0 ? u : unit->shares, use };

  g_array_append_val (uses, next);
}

static void
append_chunk (GArray *uses, const Workload *workload, const GArray *units, guint first, guint end,
              UnitGranularity granularity)
{
  for (guint u = first; u < end; u++)
    append_use (uses, units, u, USE_FORWARD);
  while (end > first)
    {
      guint begin = end - 1;
      guint layer = g_array_index (units, PlanUnit, begin).layer;

      while (begin > first && g_array_index (units, PlanUnit, begin - 1).layer == layer)
        begin--;
      /* A layer's units recompute what they do, then make their gradients. */
      for (guint u = begin; u < end && granularity == UNIT_MODULE; u++)
        if (plan_unit_recomputes (workload, &g_array_index (units, PlanUnit, u)))
          append_use (uses, units, u, USE_RECOMPUTATION);
      for (guint u = end; u-- > begin;)
        append_use (uses, units, u, USE_BACKWARD);
      end = begin;
    }
}

GArray *
plan_uses (const Workload *workload, const GArray *units, UnitGranularity granularity)
{
  GArray *uses = g_array_new (FALSE, FALSE, sizeof (PlanUse));
  guint   u = 0;

  for (guint chunk = 0; chunk < workload_n_chunks (workload); chunk++)
    {
      guint first_layer, end_layer, first = u;

      workload_chunk (workload, chunk, &first_layer, &end_layer);
      while (u < units->len && g_array_index (units, PlanUnit, u).layer < end_layer)
        u++;
      append_chunk (uses, workload, units, first, u, granularity);
    }
  return uses;
}

/* ---- names ----------------------------------------------------------------------------------- */

static char *
layer_name (const PlanUnit *unit)
{
  switch (unit->desc->kind)
    {
    case LAYER_EMBEDDING:
      return g_strdup ("embedding");
    case LAYER_HEAD:
      return g_strdup ("head");
    case LAYER_BLOCK:
      break;
    }
  if (unit->desc->mtp > 0)
    return g_strdup_printf ("mtp %u", unit->desc->mtp);
  return g_strdup_printf ("block %u",
                          unit->model_layer - 1); /* layer 0: embedding; blocks count from 0 */
}

static char *
unit_name (const PlanUnit *info)
{
  g_autofree char *layer = layer_name (info);

  if (info->module >= 0)
    return g_strdup_printf ("%s %s", layer, info->desc->modules[info->module].name);
  if (info->expert)
    return g_strdup_printf ("%s experts", layer);
  if (info->own_elements == 0 && info->elements > 0)
    return g_strdup_printf ("%s embedding", layer); /* a further use of the table */
  return g_steal_pointer (&layer);
}

GArray *
plan_unit_names (const GArray *units)
{
  GArray *names = schedule_units_new ();

  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);
      ScheduleUnit    named = { unit_name (unit), unit->model_layer };

      g_array_append_val (names, named);
    }
  return names;
}
