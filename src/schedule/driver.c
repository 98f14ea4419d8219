/*
 * The one walk of training that all strategies hang on: round > step > micro-step > layer > unit > kernel.
 */
#include "schedule/schedule-private.h"

/* Bound of a schedule: 2^25 items are 1.6 GB. Only local-update systems with thousands of steps a round come near. */
#define DRIVER_MAX_ITEMS (1u << 25)

/* One strategy of the stack. Index 0 is the outermost. */
typedef struct
{
  const Strategy *strategy;
  PlanInput       in;
  StrategyRun     run;
  guint           period; /* its own, in periods of its inner strategy */
  guint           steps;  /* the same in training steps */
} DriverLevel;

typedef struct
{
  const Workload  *workload;
  GArray          *units;      /* PlanUnit; the schedule's */
  guint           *first_unit; /* of each layer; [n_layers] = n_units */
  DriverLevel     *levels;
  guint            n_levels;
  ScheduleBuilder *b;
  BufferRef       *saved; /* activations that a layer keeps for its backward */
  GArray          *owner; /* guint: unit that each kernel of the list at hand goes with */
} Driver;

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

typedef void (*RunHook) (StrategyRun *run);
typedef void (*UnitHook) (StrategyRun *run, const UnitSlot *slot);

#define HOOK(member) G_STRUCT_OFFSET (StrategyHooks, member)

static const StrategyHooks *
run_hooks (const StrategyRun *run)
{
  return &((const DriverLevel *) run->driver)->strategy->hooks;
}

/* The outermost strategy from RUN inwards that has the hook answers. */
static void
call_hook (StrategyRun *run, gsize hook)
{
  for (; run != NULL; run = run->inner)
    {
      RunHook function = *(const RunHook *) G_STRUCT_MEMBER_P (run_hooks (run), hook);

      if (function != NULL)
        {
          function (run);
          return;
        }
    }
}

static void
call_unit_hook (StrategyRun *run, gsize hook, const UnitSlot *slot)
{
  for (; run != NULL; run = run->inner)
    {
      UnitHook function = *(const UnitHook *) G_STRUCT_MEMBER_P (run_hooks (run), hook);

      if (function != NULL)
        {
          function (run, slot);
          return;
        }
    }
}

void
strategy_inner_init (StrategyRun *run)
{
  call_hook (run->inner, HOOK (init));
}

void
strategy_inner_step_begin (StrategyRun *run)
{
  call_hook (run->inner, HOOK (step_begin));
}

void
strategy_inner_unit_forward_begin (StrategyRun *run, const UnitSlot *slot)
{
  call_unit_hook (run->inner, HOOK (unit_forward_begin), slot);
}

void
strategy_inner_unit_forward_end (StrategyRun *run, const UnitSlot *slot)
{
  call_unit_hook (run->inner, HOOK (unit_forward_end), slot);
}

void
strategy_inner_backward_begin (StrategyRun *run)
{
  call_hook (run->inner, HOOK (backward_begin));
}

void
strategy_inner_unit_backward_begin (StrategyRun *run, const UnitSlot *slot)
{
  call_unit_hook (run->inner, HOOK (unit_backward_begin), slot);
}

void
strategy_inner_unit_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  call_unit_hook (run->inner, HOOK (unit_backward_end), slot);
}

void
strategy_inner_micro_step_end (StrategyRun *run)
{
  call_hook (run->inner, HOOK (micro_step_end));
}

void
strategy_inner_step_end (StrategyRun *run)
{
  call_hook (run->inner, HOOK (step_end));
}

static void
walk_hook (Driver *self, SchedulePhase phase, gsize hook)
{
  schedule_set_phase (self->b, phase);
  schedule_set_unit (self->b, SCHEDULE_NONE);
  call_hook (&self->levels[0].run, hook);
  schedule_set_phase (self->b, PHASE_NONE);
  schedule_set_unit (self->b, SCHEDULE_NONE);
}

static void
walk_unit_hook (Driver *self, SchedulePhase phase, gsize hook, const UnitSlot *slot)
{
  schedule_set_phase (self->b, phase);
  schedule_set_unit (self->b, slot->unit);
  call_unit_hook (&self->levels[0].run, hook, slot);
  schedule_set_phase (self->b, phase);
  schedule_set_unit (self->b, slot->unit);
}

/* ---- kernels of units ------------------------------------------------------------------------------------------- */

/*
 * Sets the owner of each kernel: the unit whose module it reads; kernels that read none go with the one before them, at the start
 * with unit START. A tied head's product names no module of its layer, but reads the table that its last unit gathers.
 */
static void
assign_kernels (Driver *self, guint layer, const KernelDesc *kernels, guint n, guint start)
{
  guint           first = self->first_unit[layer], end = self->first_unit[layer + 1];
  const PlanUnit *units = &g_array_index (self->units, PlanUnit, 0);
  guint           owner = start;

  g_array_set_size (self->owner, n);
  for (guint k = 0; k < n; k++)
    {
      gboolean reads_tied = kernels[k].module < 0 && kernels[k].kind == KERNEL_MATMUL
                            && units[end - 1].own_elements == 0;

      for (guint u = first; u < end; u++)
        if (kernels[k].module >= 0 ? units[u].module == kernels[k].module : reads_tied && u == end - 1)
          owner = u;
      g_array_index (self->owner, guint, k) = owner;
    }
}

static void
walk_kernels (Driver *self, const KernelDesc *kernels, guint n, guint unit)
{
  for (guint k = 0; k < n; k++)
    if (g_array_index (self->owner, guint, k) == unit)
      schedule_kernel (self->b, SCHEDULE_COMPUTE, &kernels[k]);
}

static UnitSlot
slot_new (const Driver *self, guint unit, gboolean recompute)
{
  guint micro = self->levels[0].run.micro;

  return (UnitSlot){
    .unit = unit,
    .plan = &g_array_index (self->units, PlanUnit, unit),
    .n_units = self->units->len,
    .micro = micro,
    .first_micro = micro == 0,
    .last_micro = micro + 1 == (guint) workload_training (self->workload)->grad_accum,
    .recompute = recompute,
  };
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

static void
walk_layer_forward (Driver *self, guint layer)
{
  const LayerDesc *desc = workload_layer (self->workload, layer);
  guint            first = self->first_unit[layer], end = self->first_unit[layer + 1];
  BufferRef        working;

  schedule_set_phase (self->b, PHASE_FORWARD);
  schedule_set_unit (self->b, first);
  working = schedule_alloc (self->b, TIER_HBM, POOL_ACTIVATION, desc->working_bytes, "working");
  self->saved[layer] =
      schedule_alloc (self->b, TIER_HBM, POOL_ACTIVATION, desc->saved_bytes, "saved");

  assign_kernels (self, layer, desc->forward, desc->n_forward, first);
  for (guint u = first; u < end; u++)
    {
      UnitSlot slot = slot_new (self, u, FALSE);

      walk_unit_hook (self, PHASE_FORWARD, HOOK (unit_forward_begin), &slot);
      walk_kernels (self, desc->forward, desc->n_forward, u);
      walk_unit_hook (self, PHASE_FORWARD, HOOK (unit_forward_end), &slot);
    }
  schedule_free (self->b, working);
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

/* Module granularity: the modules of a checkpointed layer run their forward again, with its hooks. */
static void
walk_layer_recompute (Driver *self, guint layer)
{
  const LayerDesc *desc = workload_layer (self->workload, layer);
  guint            first = self->first_unit[layer], end = self->first_unit[layer + 1];

  assign_kernels (self, layer, desc->recompute, desc->n_recompute, first);
  for (guint u = first; u < end; u++)
    {
      UnitSlot slot = slot_new (self, u, TRUE);
      gboolean hooks = plan_unit_recomputes (self->workload, slot.plan);

      schedule_set_phase (self->b, PHASE_RECOMPUTE);
      schedule_set_unit (self->b, u);
      if (hooks)
        walk_unit_hook (self, PHASE_RECOMPUTE, HOOK (unit_forward_begin), &slot);
      walk_kernels (self, desc->recompute, desc->n_recompute, u);
      if (hooks)
        walk_unit_hook (self, PHASE_RECOMPUTE, HOOK (unit_forward_end), &slot);
    }
}

static void
walk_unit_backward (Driver *self, const LayerDesc *desc, guint unit, gboolean recompute)
{
  UnitSlot slot = slot_new (self, unit, FALSE);

  walk_unit_hook (self, PHASE_BACKWARD, HOOK (unit_backward_begin), &slot);
  if (recompute)
    {
      schedule_set_phase (self->b, PHASE_RECOMPUTE);
      for (guint k = 0; k < desc->n_recompute; k++)
        schedule_kernel (self->b, SCHEDULE_COMPUTE, &desc->recompute[k]);
      schedule_set_phase (self->b, PHASE_BACKWARD);
    }
  walk_kernels (self, desc->backward, desc->n_backward, unit);
  walk_unit_hook (self, PHASE_BACKWARD, HOOK (unit_backward_end), &slot);
}

static void
walk_layer_backward (Driver *self, guint layer)
{
  const LayerDesc *desc = workload_layer (self->workload, layer);
  guint            first = self->first_unit[layer], end = self->first_unit[layer + 1];
  gboolean  modules = self->levels[self->n_levels - 1].strategy->hooks.granularity == UNIT_MODULE;
  BufferRef workspace;

  schedule_set_phase (self->b, PHASE_BACKWARD);
  schedule_set_unit (self->b, first);
  workspace = schedule_alloc (self->b, TIER_HBM, POOL_WORKSPACE, desc->backward_bytes, "backward");
  if (modules && desc->n_recompute > 0)
    walk_layer_recompute (self, layer);

  assign_kernels (self, layer, desc->backward, desc->n_backward, end - 1);
  for (guint u = end; u-- > first;)
    walk_unit_backward (self, desc, u, !modules);

  schedule_set_unit (self->b, first);
  schedule_free (self->b, workspace);
  schedule_free (self->b, self->saved[layer]);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static void
walk_micro_step (Driver *self, guint micro)
{
  guint n_layers = workload_n_layers (self->workload);

  for (guint i = 0; i < self->n_levels; i++)
    self->levels[i].run.micro = micro;
  for (guint l = 0; l < n_layers; l++)
    walk_layer_forward (self, l);
  walk_hook (self, PHASE_BACKWARD, HOOK (backward_begin));
  for (guint l = n_layers; l-- > 0;)
    walk_layer_backward (self, l);
  walk_hook (self, PHASE_BACKWARD, HOOK (micro_step_end));
}

/* Every strategy whose period ends with STEP closes its round, the innermost first. */
static void
walk_rounds_end (Driver *self, guint step)
{
  schedule_set_phase (self->b, PHASE_OUTER);
  for (guint i = self->n_levels; i-- > 0;)
    {
      DriverLevel *level = &self->levels[i];

      if ((step + 1) % level->steps == 0 && level->strategy->hooks.round_end != NULL)
        level->strategy->hooks.round_end (&level->run);
    }
  schedule_set_phase (self->b, PHASE_NONE);
  schedule_set_unit (self->b, SCHEDULE_NONE);
}

/* A period of N_ITEMS, twice (first and steady), for every role. FALSE after a diagnostic when a schedule may not hold so many. */
static gboolean
period_fits (const Driver *self, double n_items, DiagList *diags)
{
  double all = n_items * self->b->schedule->n_roles * 2;

  if (all <= DRIVER_MAX_ITEMS)
    return TRUE;
  diag_error (diags, NULL, "take fewer steps a round, or fewer micro-steps",
              "strategy '%s': a period of %u steps would take %.0f schedule items (at most %u)",
              self->levels[0].strategy->name, self->levels[0].steps, all, DRIVER_MAX_ITEMS);
  return FALSE;
}

/* The micro-steps of one step; each time the rest is taken to be like those so far. */
static gboolean
walk_micro_steps (Driver *self, const GArray *items, DiagList *diags)
{
  guint n_micro = (guint) workload_training (self->workload)->grad_accum;
  guint before = items->len;

  for (guint m = 0; m < n_micro; m++)
    {
      double so_far;

      walk_micro_step (self, m);
      so_far = (double) (items->len - before);
      if (!period_fits (self, so_far / (m + 1) * n_micro * self->levels[0].steps, diags))
        return FALSE;
    }
  return TRUE;
}

static gboolean
walk_step (Driver *self, guint step, const GArray *items, DiagList *diags)
{
  for (guint i = 0; i < self->n_levels; i++)
    {
      self->levels[i].run.step = step % self->levels[i].steps;
      self->levels[i].run.micro = 0;
    }
  walk_hook (self, PHASE_FORWARD, HOOK (step_begin));
  if (!walk_micro_steps (self, items, diags))
    return FALSE;
  walk_hook (self, PHASE_OPTIMIZER, HOOK (step_end));
  walk_rounds_end (self, step);
  schedule_host_wait (self->b, schedule_record (self->b, SCHEDULE_COMPUTE)); /* the loss is read */
  schedule_builder_end_step (self->b);
  return period_fits (self, (double) items->len / (step + 1) * self->levels[0].steps, diags);
}

static void
select_section (Driver *self, guint role, ScheduleSection section)
{
  schedule_builder_select (self->b, role, section);
  for (guint i = 0; i < self->n_levels; i++)
    {
      self->levels[i].run.section = section;
      self->levels[i].run.step = self->levels[i].run.micro = 0;
    }
}

/* FALSE after a diagnostic when the period has more items than a schedule may hold. */
static gboolean
walk_period (Driver *self, guint role, ScheduleSection section, DiagList *diags)
{
  const GArray *items = schedule_program (self->b->schedule, role, section)->items;

  select_section (self, role, section);
  for (guint step = 0; step < self->levels[0].steps; step++)
    if (!walk_step (self, step, items, diags))
      return FALSE;
  return TRUE;
}

static void
open_role (Driver *self, guint role)
{
  for (guint i = 0; i < self->n_levels; i++)
    {
      DriverLevel *level = &self->levels[i];

      level->run.b = self->b;
      level->run.role = role;
      level->run.state = g_malloc0 (level->strategy->hooks.state_size);
    }
}

static void
close_role (Driver *self)
{
  for (guint i = 0; i < self->n_levels; i++)
    {
      DriverLevel *level = &self->levels[i];

      if (level->strategy->hooks.clear != NULL)
        level->strategy->hooks.clear (&level->run);
      g_clear_pointer (&level->run.state, g_free);
    }
}

static gboolean
walk_role (Driver *self, guint role, DiagList *diags)
{
  gboolean ok;

  open_role (self, role);
  select_section (self, role, SECTION_INIT);
  walk_hook (self, PHASE_NONE, HOOK (init));
  ok = walk_period (self, role, SECTION_FIRST, diags)
       && walk_period (self, role, SECTION_STEADY, diags);
  close_role (self);
  return ok;
}

/* ---- the stack of strategies ------------------------------------------------------------------------------------ */

static gboolean
check_level (const DriverLevel *level, const StrategyChoice *choice, DiagList *diags)
{
  const Strategy *strategy = level->strategy;
  guint           n_errors = diag_list_n_errors (diags);

  if (strategy->outer && choice->inner == NULL)
    diag_error (diags, NULL, NULL, "strategy '%s' needs an inner strategy", strategy->name);
  if (!strategy->outer && choice->inner != NULL)
    diag_error (diags, NULL, NULL, "strategy '%s' takes no inner strategy ('%s' given)",
                strategy->name, choice->inner->strategy->name);
  if (strategy->check != NULL && !strategy->check (&level->in, choice->options, diags)
      && diag_list_n_errors (diags) == n_errors)
    diag_error (diags, NULL, NULL, "strategy '%s' does not fit the model or the mesh", strategy->name);
  return diag_list_n_errors (diags) == n_errors;
}

/* Fills the levels from the outermost inwards. Stops at one that does not check: what it would hand inwards means nothing. */
static gboolean
resolve_levels (Driver *self, const PlanInput *in, const StrategyChoice *choice, DiagList *diags)
{
  PlanInput input = *in;
  guint     i = 0;

  g_assert (choice != NULL);
  for (const StrategyChoice *c = choice; c != NULL; c = c->inner)
    self->n_levels++;
  self->levels = g_new0 (DriverLevel, self->n_levels);
  for (const StrategyChoice *c = choice; c != NULL; c = c->inner, i++)
    {
      DriverLevel *level = &self->levels[i];

      level->strategy = c->strategy;
      level->in = input;
      level->run.strategy = c->strategy;
      level->run.in = &level->in;
      level->run.options = c->options;
      level->run.driver = level;
      level->run.inner = c->inner != NULL ? &self->levels[i + 1].run : NULL;
      if (!check_level (level, c, diags))
        return FALSE;
      level->period = strategy_own_period (c->strategy, &level->in, c->options);
      strategy_narrow_input (c->strategy, &level->in, c->options, &input);
    }
  return TRUE;
}

static gboolean
count_steps (Driver *self, DiagList *diags)
{
  guint64 steps = 1;

  for (guint i = self->n_levels; i-- > 0;)
    {
      steps *= self->levels[i].period;
      if (steps > DRIVER_MAX_ITEMS)
        {
          diag_error (diags, NULL, NULL,
                      "strategy '%s': a period of %" G_GUINT64_FORMAT
                      " steps is too long (at most %u)",
                      self->levels[i].strategy->name, steps, DRIVER_MAX_ITEMS);
          return FALSE;
        }
      self->levels[i].steps = (guint) steps;
    }
  return TRUE;
}

static void
plan_walk (Driver *self)
{
  guint           n_layers = workload_n_layers (self->workload);
  UnitGranularity granularity = self->levels[self->n_levels - 1].strategy->hooks.granularity;
  guint           u = 0;

  self->units = plan_units (self->workload, granularity);
  self->first_unit = g_new (guint, n_layers + 1);
  for (guint l = 0; l <= n_layers; l++)
    {
      self->first_unit[l] = u;
      while (u < self->units->len && g_array_index (self->units, PlanUnit, u).layer == l)
        u++;
      g_assert (l == n_layers || u > self->first_unit[l]); /* every layer owns parameters */
    }
  self->saved = g_new (BufferRef, n_layers);
  self->owner = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < self->n_levels; i++)
    {
      self->levels[i].run.units = &g_array_index (self->units, PlanUnit, 0);
      self->levels[i].run.n_units = self->units->len;
    }
}

/* ---- roles ------------------------------------------------------------------------------------------------------ */

static const DriverLevel *
level_of_roles (const Driver *self)
{
  for (guint i = 0; i < self->n_levels; i++)
    if (self->levels[i].strategy->role != NULL)
      return &self->levels[i];
  return NULL;
}

static gboolean
roles_are_dense (const guint32 *roles, guint n_ranks, guint n_roles)
{
  g_autofree guint8 *seen = g_new0 (guint8, n_roles);
  guint              n_seen = 0;

  for (guint rank = 0; rank < n_ranks; rank++)
    {
      n_seen += !seen[roles[rank]];
      seen[roles[rank]] = 1;
    }
  return n_seen == n_roles;
}

/* Sets *ROLES to the role of each rank of the world, or to NULL when all are alike. Returns their number; 0 after a diagnostic. */
static guint
assign_roles (const Driver *self, guint n_ranks, guint32 **roles, DiagList *diags)
{
  const DriverLevel  *level = level_of_roles (self);
  g_autofree guint32 *role_of_rank = NULL;
  guint               n_roles = 1;

  *roles = NULL;
  if (level == NULL)
    return 1;
  role_of_rank = g_new (guint32, n_ranks);
  for (guint rank = 0; rank < n_ranks; rank++)
    {
      /* an inner strategy knows only the ranks that it spans */
      role_of_rank[rank] =
          level->strategy->role (&level->in, level->run.options, rank % level->in.mesh.n_ranks);
      n_roles = MAX (n_roles, MIN (role_of_rank[rank], n_ranks) + 1);
    }
  if (n_roles > n_ranks || !roles_are_dense (role_of_rank, n_ranks, n_roles))
    {
      diag_error (diags, NULL, NULL, "strategy '%s' does not number its roles from 0 without gaps",
                  level->strategy->name);
      return 0;
    }
  if (n_roles > 1)
    *roles = g_steal_pointer (&role_of_rank);
  return n_roles;
}

/* ---- entry points ----------------------------------------------------------------------------------------------- */

static void
driver_clear (Driver *self)
{
  g_clear_pointer (&self->owner, g_array_unref);
  g_free (self->saved);
  g_free (self->first_unit);
  g_free (self->levels);
}

static Schedule *
driver_run (Driver *self, guint n_ranks, DiagList *diags)
{
  guint32             *role_of_rank;
  guint                n_roles = assign_roles (self, n_ranks, &role_of_rank, diags);
  g_autoptr (Schedule) schedule = NULL;
  gboolean             ok = TRUE;

  if (n_roles == 0)
    return NULL;
  plan_walk (self);
  self->b = schedule_builder_new (self->workload, self->units, n_roles, role_of_rank, n_ranks,
                                  self->levels[0].steps);
  for (guint role = 0; role < n_roles && ok; role++)
    ok = walk_role (self, role, diags);
  schedule = schedule_builder_finish (self->b);
  return ok ? g_steal_pointer (&schedule) : NULL;
}

Schedule *
schedule_build (const PlanInput *in, const StrategyChoice *choice, DiagList *diags)
{
  Driver    driver = { .workload = in->workload };
  Schedule *schedule = NULL;

  if (resolve_levels (&driver, in, choice, diags) && count_steps (&driver, diags))
    schedule = driver_run (&driver, in->mesh.world, diags);
  driver_clear (&driver);
  return schedule;
}
