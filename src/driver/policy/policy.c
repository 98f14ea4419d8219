/* Policies applied: the communicators of their hops, and what a rank has of each unit. */
#include "driver/matrix/matrix-plan.h"
#include "driver/walk/driver-private.h"

static PolicyHop *
add_hop (PolicyRoute *route)
{
  g_assert (route->n < POLICY_MAX_HOPS);
  return &route->hops[route->n++];
}

PolicyHop *
policy_add_collective (PolicyRoute *route, CollectiveKind kind, const char *name, MeshGroup group,
                       Dtype dtype, PolicyCadence cadence)
{
  PolicyHop *hop = add_hop (route);

  *hop = (PolicyHop){ .hop = HOP_COLLECTIVE,
                      .kind = kind,
                      .name = name,
                      .group = group,
                      .dtype = dtype,
                      .cadence = cadence };
  return hop;
}

PolicyHop *
policy_add_move (PolicyRoute *route, Place from, Place to, Dtype dtype, PolicyCadence cadence)
{
  PolicyHop *hop = add_hop (route);

  *hop = (PolicyHop){ .hop = HOP_MOVE, .from = from, .to = to, .dtype = dtype, .cadence = cadence };
  return hop;
}

/* FILL leaves a rank's part of a copy at HOME; READ puts the parts together in GPU memory. */
static void
add_copy_routes (UnitPolicy *kind, PolicyRouteKind fill, PolicyRouteKind read, const char *name,
                 Place home)
{
  Dtype dtype = kind->copy.dtype;

  policy_add_move (&kind->routes[fill], PLACE_HBM, home, dtype, CADENCE_MICRO_STEP)->label =
      "stash";
  if (home != PLACE_HBM)
    policy_add_move (&kind->routes[read], home, PLACE_HBM, dtype, CADENCE_MICRO_STEP)->label =
        "fetch";
  policy_add_collective (&kind->routes[read], COLLECTIVE_ALL_GATHER, name, kind->copy.group, dtype,
                         CADENCE_MICRO_STEP)
      ->label = "all_gather_copy";
}

void
policy_add_second_copy (UnitPolicy *kind, const char *name, MeshGroup group, Place home,
                        Dtype dtype)
{
  kind->copy = (PolicyState){ group, dtype, 1, home };
  add_copy_routes (kind, ROUTE_FILL, ROUTE_COPY, name, home);
}

void
policy_keep_copies (UnitPolicy *kind, const char *name, guint64 bytes)
{
  kind->kept_copies = bytes;
  if (bytes > 0)
    add_copy_routes (kind, ROUTE_KEEP, ROUTE_KEPT, name, PLACE_HBM);
}

gboolean
policy_hop_is_due (const PolicyHop *hop, gboolean first, gboolean last)
{
  switch (hop->cadence)
    {
    case CADENCE_LAST:
      return last;
    case CADENCE_LATER:
      return !first;
    case CADENCE_MICRO_STEP:
      break;
    }
  return TRUE;
}

gboolean
policy_rule_matches (const TensorRule *rule, const TensorDesc *tensor)
{
  return tensor->n_dims >= rule->dims
         && (rule->divisor == 0 || tensor->elements % rule->divisor == 0);
}

gboolean
policy_hop_codes_itself (const PolicyHop *hop)
{
  return hop->hop == HOP_COLLECTIVE && hop->transport == TRANSPORT_HOST
         && collective_kind_sums (hop->kind);
}

gboolean
policy_hop_adds_parts (PolicyRouteKind route, const PolicyHop *hop)
{
  return policy_route_reduces (route) && hop->hop == HOP_COLLECTIVE
         && hop->kind == COLLECTIVE_ALL_TO_ALL && hop->group.size > 1;
}

gboolean
policy_hop_scatters (PolicyRouteKind route, const PolicyHop *hop)
{
  return hop->hop == HOP_COLLECTIVE
         && (hop->kind == COLLECTIVE_REDUCE_SCATTER
             || (hop->kind == COLLECTIVE_ALL_TO_ALL && policy_route_reduces (route)));
}

/* All-gathers behind those that scatter undo the last of them. */
guint
policy_n_scatters (const PolicyRoute *reduce)
{
  guint n = 0, h;

  while (n < reduce->n && policy_hop_scatters (ROUTE_REDUCE, &reduce->hops[n]))
    n++;
  for (h = n; h < reduce->n && reduce->hops[h].hop == HOP_COLLECTIVE
              && reduce->hops[h].kind == COLLECTIVE_ALL_GATHER;)
    h++;
  return n - MIN (n, h - n);
}

guint
policy_next (const PolicyRoute *route, guint first, PolicyHopKind kind)
{
  while (first < route->n && route->hops[first].hop != kind)
    first++;
  return first;
}

guint
policy_next_of (const PolicyRoute *route, guint first, PolicyCadence cadence)
{
  while (first < route->n && route->hops[first].cadence != cadence)
    first++;
  return first;
}

UnitGranularity
strategy_granularity (const Strategy *strategy)
{
  return strategy->issue != NULL ? strategy->issue->hooks.granularity : strategy->hooks.granularity;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Of the tensors of UNIT that are cut. */
static guint64
cut_padded (const Policy *policy, const PlanUnit *unit, guint m)
{
  const ShardFormat *format = policy->kinds[unit->expert].format;
  guint64            sum = 0;

  if (policy->whole_below == 0)
    return format->padded (unit->tensors, unit->n_tensors, m);
  for (guint t = 0; t < unit->n_tensors; t++)
    if (unit->tensors[t].elements > policy->whole_below)
      sum += format->padded (&unit->tensors[t], 1, m);
  return sum;
}

static guint64
strided (const ShardFormat *format, const TensorDesc *tensors, guint n, guint m)
{
  return format->strided != NULL ? format->strided (tensors, n, m) : 0;
}

static UnitShare
share_of (DriverStage *stage, const PlanUnit *unit)
{
  const Policy     *policy = stage->policy;
  const UnitPolicy *kind = &policy->kinds[unit->expert];
  guint             m = kind->states[STATE_PARAMETERS].group.size;
  guint             g = kind->states[STATE_GRADIENTS].group.size;
  guint64           padded = kind->format->padded (unit->tensors, unit->n_tensors, m);
  guint             o = kind->states[STATE_OPTIMIZER].group.size;
  guint64           trainable = kind->format->padded (unit->trainable, unit->n_trainable, g);
  guint64           updated = kind->format->padded (unit->trainable, unit->n_trainable, o);

  return (UnitShare){
    .policy = kind,
    .padded = padded,
    .elements = padded / m,
    .cut = cut_padded (policy, unit, 1),
    .cut_padded = cut_padded (policy, unit, m),
    .copy_padded = kind->copy.group.size > 0 ? cut_padded (policy, unit, kind->copy.group.size) : 0,
    .strided = strided (kind->format, unit->tensors, unit->n_tensors, m),
    .trainable_strided = strided (kind->format, unit->trainable, unit->n_trainable, g),
    .trainable_padded = trainable,
    .trainable = trainable / g,
    .updated_padded = updated,
    .updated = updated / o,
    .comms = stage->comms[unit->expert]
  };
}

/* Units of layers of one class have the same tensors: what a format made of one holds for all. */
static gboolean
same_tensors (const PlanUnit *one, const PlanUnit *other)
{
  return one->tensors == other->tensors && one->n_tensors == other->n_tensors
         && one->trainable == other->trainable && one->n_trainable == other->n_trainable
         && one->expert == other->expert;
}

/* Units in forward order keep their copies in GPU memory until one has no room there. */
static void
keep_copies (DriverStage *stage, const PlanUnit *units)
{
  guint64 taken[2] = { 0 };

  for (guint u = 0; u < stage->n_units; u++)
    {
      UnitShare        *share = &stage->shares[u];
      const UnitPolicy *kind = share->policy;

      if (kind->kept_copies == 0 || units[u].own_elements == 0)
        continue;
      taken[units[u].expert] +=
          share->copy_padded / kind->copy.group.size * policy_state_bytes (&kind->copy);
      share->keeps_copy = taken[units[u].expert] <= kind->kept_copies;
    }
}

void
policy_plan_units (Driver *self, DriverStage *stage)
{
  const DriverLevel *level = &stage->levels[self->n_levels - 1];
  const PlanUnit    *units;
  g_autoptr (GArray) unlike = NULL;

  if (level->strategy->policy == NULL)
    return;
  stage->policy = g_new0 (Policy, 1);
  level->strategy->policy (&level->in, level->run.options, stage->policy);
  stage->shares = g_new (UnitShare, stage->n_units);
  units = &g_array_index (self->units, PlanUnit, stage->unit_offset);
  unlike = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint u = 0; u < stage->n_units; u++)
    {
      guint k = 0;

      while (k < unlike->len && !same_tensors (&units[g_array_index (unlike, guint, k)], &units[u]))
        k++;
      if (k == unlike->len)
        g_array_append_val (unlike, u);
      stage->shares[u] = g_array_index (unlike, guint, k) == u
                             ? share_of (stage, &units[u])
                             : stage->shares[g_array_index (unlike, guint, k)];
    }
  keep_copies (stage, units);
  for (guint k = 0; k < stage->policy->n_kinds; k++)
    stage->matrices[k] =
        matrix_plan_new (&level->in, &stage->policy->kinds[k], units, stage->n_units, k);
}

/* ---- communicators --------------------------------------------------------------------------- */

static gboolean
is_group (MeshGroup a, MeshGroup b)
{
  return mesh_group_equal (a, b);
}

/* Whether the ranks of GROUP have one copy of a state between them, or one of the second copy. */
static gboolean
shares_state (const UnitPolicy *policy, MeshGroup group)
{
  for (guint s = 0; s < STATE_N; s++)
    if (is_group (policy->states[s].group, group))
      return TRUE;
  return is_group (policy->copy.group, group);
}

static void
open_route (Driver *self, guint kind, PolicyRouteKind r)
{
  const PolicyRoute *route = &self->at->policy->kinds[kind].routes[r];

  for (guint h = 0; h < route->n; h++)
    if (route->hops[h].hop == HOP_COLLECTIVE)
      {
        g_autofree char *expert =
            kind == 1 ? g_strdup_printf ("expert %s", route->hops[h].name) : NULL;
        const char *name = expert != NULL ? expert : route->hops[h].name;

        self->at->comms[kind][r][h] =
            shares_state (&self->at->policy->kinds[kind], route->hops[h].group)
                ? schedule_sharing_comm (self->b, name, route->hops[h].group)
                : schedule_comm (self->b, name, route->hops[h].group);
      }
}

void
policy_open (Driver *self)
{
  for (guint kind = 0; self->at->policy != NULL && kind < self->at->policy->n_kinds; kind++)
    for (guint r = 0; r < ROUTE_N; r++)
      open_route (self, kind, (PolicyRouteKind) r);
}

CommRef
strategy_comm (const StrategyRun *run, guint kind, PolicyRouteKind route, guint hop)
{
  const Driver *self = ((const DriverLevel *) run->driver)->driver;

  g_assert (hop < run->policy->kinds[kind].routes[route].n);
  return self->at->comms[kind][route][hop];
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* An array of TensorDesc: of all units of KIND that the stage owns; TRAINABLE: what is trained. */
static GArray *
tensors_of_kind (const StrategyRun *run, guint kind, gboolean trainable)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (TensorDesc));

  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit *unit = &run->units[u];

      if (unit->own_elements > 0 && plan_unit_is (unit, kind))
        g_array_append_vals (all, trainable ? unit->trainable : unit->tensors,
                             trainable ? unit->n_trainable : unit->n_tensors);
    }
  return all;
}

/* Of the units of KIND that the stage owns; TRAINABLE: only what is trained. */
static guint64
share_of_kind (const StrategyRun *run, guint kind, guint m, gboolean trainable)
{
  const UnitPolicy *policy = &run->policy->kinds[kind];
  const PlanUnit   *last = NULL;
  guint64           sum = 0, padded = 0;

  if (policy->joined)
    {
      g_autoptr (GArray) all = tensors_of_kind (run, kind, trainable);

      return policy->format->padded ((const TensorDesc *) (void *) all->data, all->len, m) / m;
    }
  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit *unit = &run->units[u];

      if (unit->own_elements == 0 || !plan_unit_is (unit, kind))
        continue;
      if (last == NULL || !same_tensors (last, unit))
        padded = policy->format->padded (trainable ? unit->trainable : unit->tensors,
                                         trainable ? unit->n_trainable : unit->n_tensors, m);
      last = unit;
      sum += padded;
    }
  return sum / m;
}

void
strategy_owned (const StrategyRun *run, guint kind, guint64 *elements)
{
  const UnitPolicy  *policy = &run->policy->kinds[kind];
  g_autoptr (GArray) all = tensors_of_kind (run, kind, TRUE);

  policy->format->owned ((const TensorDesc *) (void *) all->data, all->len,
                         policy->states[STATE_OPTIMIZER].group.size, elements);
}

guint64
strategy_share_of (const StrategyRun *run, guint kind, PolicyStateKind state)
{
  return share_of_kind (run, kind, run->policy->kinds[kind].states[state].group.size,
                        state != STATE_PARAMETERS);
}

guint64
strategy_share (const StrategyRun *run, PolicyStateKind state)
{
  guint64 sum = 0;

  if (run->policy == NULL)
    return state == STATE_PARAMETERS ? workload_n_parameters (run->in->workload)
                                     : workload_n_trainable_parameters (run->in->workload);
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += strategy_share_of (run, kind, state);
  return sum;
}

guint64
strategy_trainable_share (const StrategyRun *run)
{
  guint64 sum = 0;

  if (run->policy == NULL)
    return workload_n_trainable_parameters (run->in->workload);
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += share_of_kind (run, kind, run->policy->kinds[kind].states[STATE_PARAMETERS].group.size,
                          TRUE);
  return sum;
}
