/*
 * The closed form of a policy under an issue. The policy says which bytes a hop moves, the issue
 * how many elements pass a route in a step; nothing of what emits is called.
 */
#include "driver/oracle/expect-private.h"
#include "driver/oracle/expect-sums.h"
#include "model/optimizer/optimizer.h"

#include <math.h>

/* ---- padded elements ------------------------------------------------------------------------- */

/* FORMAT's formula for N TENSORS, or for those of them that are not frozen. */
static double
format_padded (const PlanInput *in, const ShardFormat *format, const TensorDesc *tensors, guint n,
               guint m, gboolean trainable)
{
  g_autofree TensorDesc *some = NULL;
  guint                  n_some = 0;

  if (!trainable)
    return expect_formula (in, format, tensors, n, m);
  some = g_new (TensorDesc, n + 1);
  for (guint i = 0; i < n; i++)
    if (!tensors[i].frozen)
      some[n_some++] = tensors[i];
  return expect_formula (in, format, some, n_some, m);
}

/* Experts that are spread stand together: what is before and behind them are units of one. */
static double
layer_padded (const PlanInput *in, const LayerDesc *layer, const ShardFormat *format, guint kind,
              guint m, gboolean trainable)
{
  const TensorDesc *tensors = layer->tensors;
  const gboolean    spread = mesh_spreads_experts (workload_mesh (in->workload));
  guint             all = layer->n_tensors, first = 0, n = 0;

  while (first < all && (!spread || !tensors[first].expert))
    first++;
  while (first + n < all && tensors[first + n].expert)
    n++;
  if (kind == 1)
    return n > 0 ? format_padded (in, format, tensors + first, n, m, trainable) : 0;
  return format_padded (in, format, tensors, first, m, trainable)
         + format_padded (in, format, tensors + first + n, all - first - n, m, trainable);
}

static double
layers_padded (const PlanInput *in, guint first, guint end, const ShardFormat *format, guint kind,
               guint m, ExpectFilter filter, gboolean trainable)
{
  const Workload *workload = in->workload;
  const ExpectSum wanted = {
    trainable ? SUM_TRAINABLE : SUM_PADDED, format, filter, first, end, kind, m
  };
  double sum = 0;

  g_assert (format->formula != NULL);
  if (expect_sums_find (in, &wanted, &sum))
    return sum;
  while (first < end)
    {
      const LayerDesc *layer = workload_layer (workload, first);
      guint            begin = first;

      while (first < end && workload_layer (workload, first) == layer)
        first++;
      if (filter == NULL || filter (workload, layer))
        sum += (double) (first - begin) * layer_padded (in, layer, format, kind, m, trainable);
    }
  return expect_sums_keep (in, &wanted, sum);
}

double
expect_padded (const PlanInput *in, guint first, guint end, const ShardFormat *format, guint kind,
               guint m, ExpectFilter filter)
{
  return layers_padded (in, first, end, format, kind, m, filter, FALSE);
}

double
expect_padded_trainable (const PlanInput *in, guint first, guint end, const ShardFormat *format,
                         guint kind, guint m)
{
  return layers_padded (in, first, end, format, kind, m, NULL, TRUE);
}

double
expect_narrow (const PlanInput *in, guint first, guint end, guint kind, double m, double *tensors)
{
  const gboolean spread = mesh_spreads_experts (workload_mesh (in->workload));
  double         sum = 0;

  for (guint i = first; i < end; i++)
    {
      const LayerDesc *layer = workload_layer (in->workload, i);
      double           unit = 0;

      for (guint t = 0; t < layer->n_tensors; t++)
        {
          const TensorDesc *tensor = &layer->tensors[t];
          gboolean          apart = spread && t > 0 && tensor->expert != tensor[-1].expert;

          sum += apart ? floor (unit / m) * m : 0; /* of experts, or before or behind them */
          unit = apart ? 0 : unit;
          if (!tensor->narrow || (spread && tensor->expert) != (kind == 1))
            continue;
          unit += (double) tensor->elements;
          *tensors += 1;
        }
      sum += floor (unit / m) * m;
    }
  return sum;
}

/* All tensors of KIND as one list, of all layers in turn. */
static double
joined_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m,
               gboolean trainable)
{
  const ExpectSum        wanted = { .what = trainable ? SUM_JOINED_TRAINABLE : SUM_JOINED,
                                    .format = policy->format,
                                    .kind = kind,
                                    .m = m };
  g_autofree TensorDesc *all = NULL;
  gboolean               spread = mesh_spreads_experts (workload_mesh (in->workload));
  guint                  n = 0;
  double                 sum;

  if (expect_sums_find (in, &wanted, &sum))
    return sum;
  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    n += workload_layer (in->workload, i)->n_tensors;
  all = g_new (TensorDesc, n + 1);
  n = 0;
  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    {
      const LayerDesc *layer = workload_layer (in->workload, i);

      for (guint t = 0; t < layer->n_tensors; t++)
        if ((kind == 1) == (spread && layer->tensors[t].expert)
            && (!trainable || !layer->tensors[t].frozen))
          all[n++] = layer->tensors[t];
    }
  return expect_sums_keep (in, &wanted, policy->format->formula (all, n, m));
}

static double
all_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m, gboolean trainable)
{
  if (policy->joined)
    return joined_padded (in, policy, kind, m, trainable);
  return layers_padded (in, 0, workload_n_layers (in->workload), policy->format, kind, m, NULL,
                        trainable);
}

double
expect_all_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m)
{
  return all_padded (in, policy, kind, m, FALSE);
}

double
expect_trainable_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m)
{
  return all_padded (in, policy, kind, m, TRUE);
}

double
expect_tensors (const PlanInput *in, guint kind, ExpectTensor of, gconstpointer data)
{
  gboolean spread = mesh_spreads_experts (workload_mesh (in->workload));
  double   sum = 0;

  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    {
      const LayerDesc *layer = workload_layer (in->workload, i);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (!layer->tensors[t].frozen && (kind == 1) == (spread && layer->tensors[t].expert))
          sum += of (&layer->tensors[t], i, data);
    }
  return sum;
}

double
expect_largest_trainable (const PlanInput *in, const Policy *policy)
{
  const UnitPolicy *kind = &policy->kinds[0];
  const ExpectSum   wanted = { .what = SUM_LARGEST_TRAINABLE,
                               .format = kind->format,
                               .m = kind->states[STATE_GRADIENTS].group.size };
  double            most = 0;

  if (expect_sums_find (in, &wanted, &most))
    return most;
  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    {
      const LayerDesc *layer = workload_layer (in->workload, i);

      if (layer->n_trainable > 0)
        most = MAX (most, expect_formula (in, kind->format, layer->trainable, layer->n_trainable,
                                          wanted.m));
    }
  return expect_sums_keep (in, &wanted, most);
}

static double
largest_of_layer (const PlanInput *in, const LayerDesc *layer, const ShardFormat *format, guint m,
                  UnitGranularity granularity)
{
  double most = 0;

  if (granularity == UNIT_LAYER)
    return expect_formula (in, format, layer->tensors, layer->n_tensors, m);
  for (guint i = 0; i < layer->n_modules; i++)
    most = MAX (most, expect_formula (in, format, layer->tensors + layer->modules[i].first_tensor,
                                      layer->modules[i].n_tensors, m));
  return most;
}

double
expect_largest (const PlanInput *in, const Policy *policy, UnitGranularity granularity)
{
  const UnitPolicy *kind = &policy->kinds[0];
  const ExpectSum   wanted = { .what =
                                 granularity == UNIT_LAYER ? SUM_LARGEST_LAYER : SUM_LARGEST_MODULE,
                               .format = kind->format,
                               .m = kind->states[STATE_PARAMETERS].group.size };
  double            most = 0;

  if (expect_sums_find (in, &wanted, &most))
    return most;
  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    most = MAX (most, largest_of_layer (in, workload_layer (in->workload, i), kind->format,
                                        wanted.m, granularity));
  return expect_sums_keep (in, &wanted, most);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Of an element. */
static double
bytes_of (const PolicyState *state)
{
  return state->values * dtype_bits (state->dtype) / 8.0;
}

double
expect_off_gpu (const Policy *policy, double share)
{
  return share - floor (share * policy->on_gpu);
}

/* Elements of which a rank holds STATE; gradients and optimizer are those of what is trained. */
static double
held_of_kind (const PlanInput *in, const UnitPolicy *policy, guint kind, PolicyStateKind state)
{
  guint m = policy->states[state].group.size;

  return all_padded (in, policy, kind, m, state != STATE_PARAMETERS) / m;
}

/*
 * What the modules of which nothing is trained take less where their shards rest encoded than as
 * STATE: whole bytes, and a scale for each block.
 */
static double
frozen_saving (const PlanInput *in, const UnitPolicy *policy, const PolicyState *state)
{
  const PolicyRoute *rests = &policy->routes[ROUTE_FROZEN];
  guint              m = state->group.size;
  double             sum = 0;

  for (guint l = 0; l < workload_n_layers (in->workload) && rests->n > 0; l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);
      const Codec     *codec = rests->hops[0].codec;

      for (guint i = 0; i < layer->n_modules; i++)
        {
          const ModuleDesc *module = &layer->modules[i];
          const TensorDesc *tensors = layer->tensors + module->first_tensor;
          double   share = expect_formula (in, policy->format, tensors, module->n_tensors, m) / m;
          gboolean frozen = TRUE;

          for (guint t = 0; t < module->n_tensors; t++)
            frozen = frozen && tensors[t].frozen;
          if (frozen)
            sum += share * bytes_of (state) - ceil (share * codec->bits / 8.0)
                   - (codec->block > 0 ? ceil (share / codec->block) * codec->scale_bits / 8 : 0);
        }
    }
  return sum;
}

double
expect_block (double bytes)
{
  return bytes > 0 ? exp2 (ceil (log2 (bytes))) : 0;
}

double
expect_state_bytes (const PlanInput *in, const Policy *policy, PolicyStateKind state, Place home)
{
  double sum = 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const PolicyState *s = &policy->kinds[k].states[state];
      double             share = held_of_kind (in, &policy->kinds[k], k, state);
      double             away = state == STATE_PARAMETERS ? share : expect_off_gpu (policy, share);

      if (s->home == home)
        sum += away * bytes_of (s);
      if (s->home == home && state == STATE_PARAMETERS)
        sum -= frozen_saving (in, &policy->kinds[k], s);
      if (home == PLACE_HBM && s->home != PLACE_HBM)
        sum += (share - away) * bytes_of (s);
    }
  return sum;
}

/* Of the second copy that lives for ever: what fills it, a part of it on each rank. */
static double
copy_bytes (const Policy *policy, const Issue *issue, const IssueForm *form, Place home)
{
  double sum = 0;

  for (guint k = 0; k < policy->n_kinds && !issue->copies_pass; k++)
    {
      const PolicyState *copy = &policy->kinds[k].copy;
      double             there = home == PLACE_HBM ? form->kept[k] : 0;

      if (copy->home == home)
        there += form->copied[k] - form->kept[k];
      if (copy->group.size > 0)
        sum += bytes_of (copy) * there / copy->group.size;
    }
  return sum;
}

/* Elements of what is trained whose STATE a rank holds. */
static double
trainable_of (const PlanInput *in, const Policy *policy, PolicyStateKind state)
{
  double sum = 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      guint m = policy->kinds[k].states[state].group.size;

      sum += all_padded (in, &policy->kinds[k], k, m, TRUE) / m;
    }
  return sum;
}

/*
 * What outer strategies find on a rank: its parameters that are trained, and what its optimizer
 * goes on from.
 */
static void
add_held (const PlanInput *in, const Policy *policy, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  const PolicyState     *states = policy->kinds[0].states;

  totals->resident = trainable_of (in, policy, STATE_PARAMETERS);
  totals->resident_dtype = states[STATE_PARAMETERS].dtype;
  totals->resident_home = states[STATE_PARAMETERS].home;
  totals->updated = trainable_of (in, policy, STATE_OPTIMIZER);
  totals->updated_home = states[STATE_OPTIMIZER].home;
  if (training->optimizer != OPTIMIZER_NONE
      && dtype_bits (policy->compute) < dtype_bits (training_master_dtype (training)))
    totals->mastered = totals->updated;
}

/* What the update on the GPU holds beside the states, at most. */
static double
temporary_bytes (const PlanInput *in, const Policy *policy)
{
  OptimizerTemporaries bytes = optimizer_temporaries (workload_training (in->workload), 0);
  double               share = trainable_of (in, policy, STATE_OPTIMIZER), away = 0;

  if (policy->passes > 0) /* the issue's own */
    return 0;
  if (policy->kinds[0].states[STATE_OPTIMIZER].home != PLACE_HBM)
    away = expect_off_gpu (policy, share);
  return (share - away) * (bytes.gradients + bytes.denominators);
}

static void
add_memory (const PlanInput *in, const Policy *policy, const Issue *issue, const IssueForm *form,
            PlanTotals *totals)
{
  ActivationBounds activations =
      policy->passes > 0 ? perturbed_bounds (in, policy) : activation_bounds (in);
  double gradients = expect_state_bytes (in, policy, STATE_GRADIENTS, PLACE_HBM);
  double hbm = form->states, host = form->host;

  for (guint state = 0; state < STATE_N; state++)
    {
      hbm += expect_state_bytes (in, policy, (PolicyStateKind) state, PLACE_HBM);
      host += expect_state_bytes (in, policy, (PolicyStateKind) state, PLACE_PINNED);
      for (Place place = PLACE_PAGEABLE; place < PLACE_N; place++)
        {
          double held = expect_state_bytes (in, policy, (PolicyStateKind) state, place);

          totals->low[place] += held;
          totals->high[place] += held;
        }
    }
  totals->low[PLACE_PAGEABLE] += form->pageable;
  totals->high[PLACE_PAGEABLE] += form->pageable;
  hbm += copy_bytes (policy, issue, form, PLACE_HBM);
  host += copy_bytes (policy, issue, form, PLACE_PINNED);
  for (Place place = PLACE_PAGEABLE; place < PLACE_N; place++)
    {
      double held = copy_bytes (policy, issue, form, place);

      totals->low[place] += held;
      totals->high[place] += held;
    }
  for (Place place = 0; place < PLACE_N; place++)
    totals->high[place] += form->passing[place];
  if (!issue->keeps_gradients)
    hbm -= gradients;
  totals->states += hbm;
  totals->low[PLACE_HBM] += hbm + MAX (activations.kept + activations.low, form->low);
  totals->high[PLACE_HBM] += hbm + (issue->keeps_gradients ? 0 : gradients) + activations.kept
                             + activations.high + form->high + temporary_bytes (in, policy);
  totals->low[PLACE_PINNED] += host;
  totals->high[PLACE_PINNED] += host;
}

/* The host updates the optimizer's share of all kinds of units. */
static void
add_host_update (const PlanInput *in, const Policy *policy, const IssueForm *form,
                 PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  OptimizerKind          optimizer = (OptimizerKind) training->optimizer;

  for (guint k = 0; k < policy->n_kinds && optimizer != OPTIMIZER_NONE; k++)
    {
      double share =
          expect_off_gpu (policy, held_of_kind (in, &policy->kinds[k], k, STATE_OPTIMIZER));

      totals->host[optimizer == OPTIMIZER_SGD ? HOST_STREAM : HOST_ADAM] += share;
      if (training->clip_gradients)
        totals->host[HOST_STREAM] += form->clip_passes * share;
    }
}

static void
add_routes (const PlanInput *in, const Policy *policy, const IssueForm *form, PlanTotals *totals)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    for (guint r = 0; r < ROUTE_N; r++)
      {
        const RoutePass pass = { .elements = form->passed[r][k],
                                 .slack = form->slack[r][k],
                                 .walks = form->walks[r][k],
                                 .narrow = form->narrow[r][k],
                                 .wide = form->wide[r][k],
                                 .uneven = form->uneven,
                                 .plain_before = form->plain_before[r][k] };

        expect_route (in, &policy->kinds[k], (PolicyRouteKind) r, &pass, totals);
      }
}

static void
add_compressors (const Policy *policy, const IssueForm *form, PlanTotals *totals)
{
  totals->flops += form->flops;
  totals->coded += form->coded;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      MeshGroup group = policy->kinds[k].routes[ROUTE_REDUCE].hops[0].group;

      if (form->scales[k] > 0)
        plan_totals_add (totals, COLLECTIVE_ALL_REDUCE,
                         policy->kinds[k].states[STATE_PARAMETERS].group,
                         form->scales[k] * dtype_bytes (DTYPE_FP32));
      if (form->all_reduced[k] > 0)
        plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, group, form->all_reduced[k]);
      if (form->all_gathered[k] > 0)
        plan_totals_add (totals, COLLECTIVE_ALL_GATHER, group, form->all_gathered[k]);
    }
}

void
plan_expect_policy (const PlanInput *in, const Policy *policy, const Issue *issue,
                    PlanTotals *totals)
{
  const PolicyState *optimizer = &policy->kinds[0].states[STATE_OPTIMIZER];
  IssueForm          form = { 0 };

  issue->form (in, policy, &form);
  add_routes (in, policy, &form, totals);
  add_compressors (policy, &form, totals);
  if (policy->passes == 0)
    {
      expect_norm (in, optimizer->group, totals);
      expect_optimizer (in, policy, issue, totals);
    }
  if (optimizer->home != PLACE_HBM)
    add_host_update (in, policy, &form, totals);
  totals->host[HOST_STREAM] += form.host_sums;
  totals->flops +=
      policy->passes > 0 ? policy->passes * expect_forward_flops (in) : expect_flops (in);
  add_held (in, policy, totals);
  add_memory (in, policy, issue, &form, totals);
}
