/*
 * The one walk of training that all strategies hang on: round > step > slot of the pipeline > layer
 * > unit > kernel.
 */
#include "base/own-memory.h"
#include "driver/matrix/matrix-plan.h"
#include "driver/walk/driver-private.h"

#include <string.h>

/*
 * Bound of a schedule: 2^25 items are 1.9 GB. Only local-update systems with thousands of steps a
 * round come near.
 */
#define DRIVER_MAX_ITEMS (1u << 25)

/* ---- steps ----------------------------------------------------------------------------------- */

static guint
steps_of_period (const Driver *self)
{
  return self->stages[0].levels[0].steps;
}

/*
 * A period of N_ITEMS, twice (first and steady), for every role. FALSE after a diagnostic when a
 * schedule may not hold so many; without one where nobody wants it any more, or this process may
 * take no more memory.
 */
static gboolean
period_fits (const Driver *self, double n_items, DiagList *diags)
{
  double all = n_items * schedule_n_roles (schedule_builder_peek (self->b)) * 2;

  if (schedule_builder_is_cut (self->b))
    return FALSE;
  if (all <= DRIVER_MAX_ITEMS)
    return !own_memory_is_over ();
  diag_error (diags, NULL, "take fewer steps a round, or fewer micro-steps",
              "strategy '%s': a period of %u steps would take %.0f schedule items (at most %u)",
              self->at->levels[0].strategy->name, steps_of_period (self), all, DRIVER_MAX_ITEMS);
  return FALSE;
}

/* A pass on its own stream, from where the pass before it began; what follows waits for both. */
static void
walk_concurrent (Driver *self, const PipelineSlot *slot)
{
  StreamRef stream = schedule_compute_stream (self->b, "concurrent compute");

  schedule_wait (self->b, stream, self->began);
  schedule_builder_set_compute (self->b, stream);
  self->concurrent = TRUE;
  walk_slot (self, slot);
  schedule_touches (self->b, stream, self->turn, SCHEDULE_WHOLE, ACCESS_WRITE);
  self->concurrent = FALSE;
  schedule_builder_set_compute (self->b, SCHEDULE_COMPUTE);
  schedule_wait_stream (self->b, SCHEDULE_COMPUTE, stream);
  schedule_touches (self->b, SCHEDULE_COMPUTE, self->turn, SCHEDULE_WHOLE, ACCESS_READ);
}

static void
walk_action (Driver *self, guint i)
{
  PipelineSlot          slot = { i % 2 == 0 ? PASS_FORWARD : PASS_BACKWARD, 0, i / 2 };
  const PipelineAction *action =
      self->actions != NULL ? &g_array_index (self->actions, PipelineAction, i) : NULL;

  if (slot.pass == PASS_BACKWARD && driver_is_perturbed (self))
    return;
  if (action == NULL)
    walk_slot (self, &slot);
  else if (action->n_messages > 0)
    messages_call (self, action);
  else if (action->concurrent)
    walk_concurrent (self, &action->slot);
  else
    {
      if (pipeline_is_concurrent (&self->pipeline))
        self->began = schedule_record (self->b, SCHEDULE_COMPUTE);
      walk_slot (self, &action->slot);
    }
}

/* The slots and messages of one step; each time the rest is taken to be like those so far. */
static gboolean
walk_actions (Driver *self, DiagList *diags)
{
  guint n = self->actions != NULL ? self->actions->len : 2 * self->pipeline.micros;
  guint before = schedule_builder_n_items (self->b);

  memset (self->backward_done, 0, self->pipeline.chunks * sizeof *self->backward_done);
  for (guint i = 0; i < n; i++)
    {
      walk_action (self, i);
      if (i % 2 == 1 && self->actions == NULL)
        sets_walk_barrier (self, i / 2);
      if ((i % 2 == 1 || schedule_builder_is_cut (self->b))
          && !period_fits (self,
                           (double) (schedule_builder_n_items (self->b) - before) / (i + 1) * n
                               * steps_of_period (self),
                           diags))
        return FALSE;
    }
  /* the last gradient of an input leaves before the stage's own are reduced */
  if (self->pipeline.stages > 1)
    driver_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (micro_step_end));
  driver_hook (self, PHASE_BACKWARD, HOOK_ENDS, HOOK (backward_done));
  return TRUE;
}

static void
select_section (Driver *self, guint role, ScheduleSection section)
{
  schedule_builder_select (self->b, role, section);
  for (guint axis = 0; axis < MESH_N_AXES; axis++)
    {
      self->pending[axis] = SCHEDULE_NONE;
      self->n_moved[axis] = 0;
    }
  for (guint i = 0; i < self->n_levels; i++)
    {
      self->at->levels[i].run.section = section;
      self->at->levels[i].run.step = self->at->levels[i].run.micro = 0;
    }
}

static void
open_actions (Driver *self)
{
  gboolean batched = mesh_batches_messages (workload_mesh (self->at->workload));

  g_clear_pointer (&self->actions, g_array_unref);
  if (self->pipeline.stages > 1)
    self->actions = pipeline_actions (&self->pipeline, self->stage, batched);
}

/* FALSE after a diagnostic when the period has more items than a schedule may hold. */
static gboolean
walk_period (Driver *self, guint role, ScheduleSection section, DiagList *diags)
{
  select_section (self, role, section);
  for (guint step = 0; step < steps_of_period (self); step++)
    {
      for (guint i = 0; i < self->n_levels; i++)
        {
          self->at->levels[i].run.step = step % self->at->levels[i].steps;
          self->at->levels[i].run.micro = 0;
        }
      driver_hook (self, PHASE_FORWARD, HOOK_BEGINS, HOOK (step_begin));
      sets_walk_loader (self);
      if (!walk_actions (self, diags))
        return FALSE;
      if (!driver_is_perturbed (self))
        messages_shared_gradients (self);
      driver_hook (self, PHASE_OPTIMIZER, HOOK_ENDS, HOOK (step_end));
      driver_step_over (self, step);
      walk_release_outputs (self);
      data_read_result (self);
      schedule_builder_end_step (self->b);
      if (!period_fits (
              self,
              (double) schedule_builder_n_items (self->b) / (step + 1) * steps_of_period (self),
              diags))
        return FALSE;
    }
  return TRUE;
}

/* The first period, of fewer micro-batches where the plan says so. */
static gboolean
walk_first (Driver *self, guint role, DiagList *diags)
{
  guint    all = self->pipeline.micros, few = self->in->first_micros;
  gboolean ok;

  if (few == 0 || few >= all)
    return walk_period (self, role, SECTION_FIRST, diags);
  self->pipeline.micros = few;
  open_actions (self);
  ok = walk_period (self, role, SECTION_FIRST, diags);
  self->pipeline.micros = all;
  open_actions (self);
  return ok;
}

static DriverMail *
new_mail (guint n)
{
  DriverMail *mail = g_new (DriverMail, n);

  for (guint i = 0; i < n; i++)
    mail[i] = (DriverMail){ SCHEDULE_NONE, SCHEDULE_NONE };
  return mail;
}

static void
open_buffers (Driver *self)
{
  guint n_layers = workload_n_layers (self->at->workload), n_mail;

  self->ring = 1;
  if (self->pipeline.stages > 1)
    {
      g_autoptr (GArray) slots = pipeline_slots (&self->pipeline, self->stage);

      /* one more is on its way in */
      self->ring = pipeline_in_flight (slots) + 1;
    }
  open_actions (self);
  n_mail = self->ring * self->pipeline.chunks;
  self->saved = g_new (BufferRef, (gsize) self->ring * n_layers);
  self->handed = new_mail (n_mail);
  for (guint way = 0; way < 2; way++)
    {
      self->mail[way] = new_mail (n_mail);
      self->leaving[way] = SCHEDULE_NONE;
      self->held[way] = SCHEDULE_NONE;
    }
  for (guint pass = 0; pass < POLICY_MAX_PASSES; pass++)
    self->passed[pass] = SCHEDULE_NONE;
  self->backward_done = g_new0 (guint, self->pipeline.chunks);
}

/* Those whose hooks are called: of each level, the outermost first, its own and its issue's. */
static void
add_actor (Driver *self, DriverLevel *level, const StrategyHooks *hooks)
{
  if (hooks != NULL)
    self->actors[self->n_actors++] =
        (DriverActor){ hooks, &level->run, g_malloc0 (hooks->state_size) };
}

static void
open_role (Driver *self, guint role, const DriverVariant *variant)
{
  self->row = variant->row;
  if (self->in->batches != NULL && self->in->batches->counts != NULL)
    self->pipeline.micros = self->in->batches->counts[self->row];
  self->actors = g_new (DriverActor, (gsize) 3 * self->n_levels);
  self->n_actors = 0;
  for (guint i = 0; i < self->n_levels; i++)
    {
      DriverLevel    *level = &self->at->levels[i];
      const Strategy *strategy = level->strategy;

      level->run.b = self->b;
      level->run.role = variant->strategy_role;
      add_actor (self, level, &strategy->hooks);
      add_actor (self, level, strategy->issue != NULL ? &strategy->issue->hooks : NULL);
      add_actor (self, level, strategy->sync != NULL ? &strategy->sync->hooks : NULL);
    }
  schedule_builder_set_stage (self->b, role, self->stage, self->at->workload,
                              self->at->unit_offset);
  open_buffers (self);
}

static void
close_role (Driver *self)
{
  for (guint i = 0; i < self->n_actors; i++)
    {
      const DriverActor *actor = &self->actors[i];

      actor->run->state = actor->state;
      if (actor->hooks->clear != NULL)
        actor->hooks->clear (actor->run);
      g_free (actor->state);
    }
  g_clear_pointer (&self->actors, g_free);
  g_clear_pointer (&self->actions, g_array_unref);
  g_clear_pointer (&self->saved, g_free);
  g_clear_pointer (&self->mail[0], g_free);
  g_clear_pointer (&self->mail[1], g_free);
  g_clear_pointer (&self->handed, g_free);
  g_clear_pointer (&self->backward_done, g_free);
}

static gboolean
walk_role (Driver *self, guint role, DiagList *diags)
{
  guint    n_variants = self->variants->len;
  guint    n_init, n_first;
  gboolean ok;
  guint64  bytes;
  guint64  copies;

  self->stage = role / n_variants;
  self->at = &self->stages[self->stage];
  open_role (self, role, &g_array_index (self->variants, DriverVariant, role % n_variants));
  select_section (self, role, SECTION_INIT);
  data_open (self);
  policy_open (self);
  /*
   * Scales of weights in 4 bits and copies of weights in fp8 are no parameters: no strategy divides
   * them.
   */
  bytes = workload_scale_bytes (self->at->workload);
  copies = workload_cached_bytes (self->at->workload);
  if (bytes > 0)
    schedule_alloc (self->b, PLACE_HBM, POOL_PARAMETER, bytes, "scales of 4-bit weights");
  if (copies > 0)
    schedule_alloc (self->b, PLACE_HBM, POOL_PARAMETER, copies, "fp8 copies of weights");
  driver_hook (self, PHASE_NONE, HOOK_ENDS, HOOK (init));
  n_init = schedule_n_buffers (schedule_builder_peek (self->b), role);
  ok = walk_first (self, role, diags);
  n_first = schedule_n_buffers (schedule_builder_peek (self->b), role);
  ok = ok && data_check_declared (self, diags) && walk_period (self, role, SECTION_STEADY, diags);
  close_role (self);
  if (ok)
    schedule_builder_share_steady (self->b, role, n_init, n_first);
  return ok;
}

/* ---- the stack of strategies ----------------------------------------------------------------- */

static gboolean
check_level (const DriverLevel *level, const StrategyChoice *choice, guint n_outer, DiagList *diags)
{
  const Strategy *strategy = level->strategy;
  guint           n_errors = diag_list_n_errors (diags);
  Policy          policy = { 0 };

  if (strategy->outer && choice->inner == NULL)
    diag_error (diags, NULL, NULL, "strategy '%s' needs an inner strategy", strategy->name);
  if (!strategy->outer && choice->inner != NULL)
    diag_error (diags, NULL, NULL, "strategy '%s' takes no inner strategy ('%s' given)",
                strategy->name, choice->inner->strategy->name);
  if (strategy->check != NULL && !strategy->check (&level->in, choice->options, diags)
      && diag_list_n_errors (diags) == n_errors)
    diag_error (diags, NULL, NULL, "strategy '%s' does not fit the model or the mesh",
                strategy->name);
  if (strategy->policy != NULL && diag_list_n_errors (diags) == n_errors)
    strategy->policy (&level->in, choice->options, &policy);
  if (diag_list_n_errors (diags) != n_errors || !policy_check (strategy, &policy, diags)
      || (strategy->policy != NULL
          && (!policy_check_tables (strategy, &policy, level->in.workload, diags)
              || !policy_check_packed (strategy, &policy, level->in.workload, diags)
              || !policy_check_narrow (strategy, &policy, level->in.workload, diags)
              || !policy_check_perturbed (strategy, &policy, &level->in, diags)
              || !policy_check_privacy (strategy, &policy, workload_training (level->in.workload),
                                        diags)
              || !policy_check_partition (strategy, &policy, &level->in, diags)
              || !policy_check_optimizer (strategy, &policy, workload_training (level->in.workload),
                                          diags))))
    return FALSE;
  for (const DriverLevel *outer = level - n_outer; outer < level; outer++)
    if (!driver_check_roles (strategy, outer->strategy, diags)
        || (outer->run.exchange != NULL
            && !policy_check_average (strategy, &policy, outer->run.exchange, diags)))
      return FALSE;
  return TRUE;
}

/*
 * Fills the levels of a stage from the outermost inwards. Stops at one that does not check: what it
 * would hand inwards means nothing.
 */
static gboolean
resolve_levels (Driver *self, DriverStage *stage, const StrategyChoice *choice, DiagList *diags)
{
  PlanInput input = *self->in;
  guint     i = 0;

  input.workload = stage->workload;
  stage->levels = g_new0 (DriverLevel, self->n_levels);
  for (const StrategyChoice *c = choice; c != NULL; c = c->inner, i++)
    {
      DriverLevel *level = &stage->levels[i];

      level->strategy = c->strategy;
      level->in = input;
      level->run.strategy = c->strategy;
      level->run.in = &level->in;
      level->run.options = c->options;
      level->driver = self;
      level->run.driver = level;
      level->run.inner = c->inner != NULL ? &stage->levels[i + 1].run : NULL;
      if (!check_level (level, c, i, diags))
        return FALSE;
      if (c->strategy->exchange != NULL)
        {
          strategy_exchange (c->strategy, &level->in, c->options, &level->exchange);
          level->run.exchange = &level->exchange;
        }
      strategy_narrow_input (c->strategy, &level->in, c->options, &input);
    }
  return driver_check_slices (stage->levels, i, diags);
}

gboolean
strategy_reads_room (const StrategyChoice *choice)
{
  for (; choice != NULL; choice = choice->inner)
    if (choice->strategy->reads_room != NULL && choice->strategy->reads_room (choice->options))
      return TRUE;
  return FALSE;
}

static gboolean
count_steps (const Driver *self, DriverStage *stage, DiagList *diags)
{
  guint64 steps = 1;

  for (guint i = self->n_levels; i-- > 0;)
    {
      DriverLevel *level = &stage->levels[i];
      guint        own = strategy_own_period (level->strategy, &level->in, level->run.options);

      steps = strategy_join_periods (level->strategy, own, steps);
      if (steps > DRIVER_MAX_ITEMS)
        {
          diag_error (diags, NULL, NULL,
                      "strategy '%s': a period of %" G_GUINT64_FORMAT
                      " steps is too long (at most %u)",
                      level->strategy->name, steps, DRIVER_MAX_ITEMS);
          return FALSE;
        }
      level->steps = (guint) steps;
      level->every = level->strategy->exchange != NULL ? own : level->steps;
    }
  return TRUE;
}

#define MOST_LEVELS 4 /* of strategies in each other */

static guint
count_levels (const StrategyChoice *choice)
{
  guint n = 0;

  for (; choice != NULL; choice = choice->inner)
    n++;
  return n;
}

/* One stage after another: what does not fit one says so once. */
static gboolean
resolve_stages (Driver *self, const StrategyChoice *choice, DiagList *diags)
{
  g_assert (choice != NULL);
  self->n_levels = count_levels (choice);
  if (self->n_levels > MOST_LEVELS)
    {
      diag_error (diags, NULL, "workers that average, around a strategy that shards, are two",
                  "strategies are nested %u deep, at most %d", self->n_levels, MOST_LEVELS);
      return FALSE;
    }
  self->stages = g_new0 (DriverStage, self->pipeline.stages);
  for (guint s = 0; s < self->pipeline.stages; s++)
    {
      DriverStage *stage = &self->stages[s];

      stage->workload = self->in->stages != NULL ? self->in->stages[s] : self->in->workload;
      if (!resolve_levels (self, stage, choice, diags) || !count_steps (self, stage, diags))
        return FALSE;
    }
  driver_plan_stages (self);
  driver_warn_of_optimizer (self, diags);
  driver_warn_of_blocks (self, diags);
  driver_warn_of_idle (self, diags);
  return TRUE;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void
driver_clear (Driver *self)
{
  g_free (self->undeclared);
  g_clear_pointer (&self->units, g_array_unref);
  g_clear_pointer (&self->owner, g_array_unref);
  g_clear_pointer (&self->accumulating, g_hash_table_unref);
  g_clear_pointer (&self->variants, g_array_unref);
  for (guint s = 0; s < self->pipeline.stages && self->stages != NULL; s++)
    {
      g_free (self->stages[s].first_unit);
      g_free (self->stages[s].places);
      g_free (self->stages[s].policy);
      g_free (self->stages[s].shares);
      for (guint k = 0; k < G_N_ELEMENTS (self->stages[s].matrices); k++)
        matrix_plan_free (self->stages[s].matrices[k]);
      g_clear_pointer (&self->stages[s].uses, g_array_unref);
      g_free (self->stages[s].levels);
    }
  g_free (self->stages);
}

static Schedule *
driver_build (Driver *self, guint n_ranks, DiagList *diags)
{
  guint32             *role_of_rank;
  guint                n_roles = driver_assign_roles (self, n_ranks, &role_of_rank, diags);
  g_autoptr (Schedule) schedule = NULL;
  ScheduleShape        shape;
  gboolean             ok = TRUE;
  const DriverLevel   *outer = &self->stages[0].levels[0];

  if (n_roles == 0)
    return NULL;
  shape = (ScheduleShape){ .workload = self->stages[0].workload,
                           .units = plan_unit_names (self->units),
                           .n_roles = n_roles,
                           .n_stages = self->pipeline.stages,
                           .role_of_rank = role_of_rank,
                           .n_ranks = n_ranks,
                           .steps_per_period = steps_of_period (self),
                           .stop = self->in->stop };
  /*
   * The gap is the steps between what the outermost strategy exchanges; it sends so much ahead.
   * Periods are crossed where any one uses later what it sent.
   */
  for (guint i = 0; i < self->n_levels; i++)
    shape.crosses |= outer[i].run.exchange != NULL && outer[i].exchange.delay > 0;
  if (outer->run.exchange != NULL)
    {
      shape.gap = exchange_gap (&outer->exchange);
      shape.ahead = outer->exchange.delay == EXCHANGE_ROUND_LATE ? 0 : outer->exchange.delay;
    }
  self->b = schedule_builder_new (shape);
  for (guint role = 0; role < n_roles && ok; role++)
    ok = walk_role (self, role, diags);
  schedule = schedule_builder_finish (self->b);
  return ok ? g_steal_pointer (&schedule) : NULL;
}

static gboolean
check_stages (const PlanInput *in, const StrategyChoice *choice, guint n, DiagList *diags)
{
  Driver   driver = { .in = in, .pipeline = { .stages = n } };
  gboolean ok = resolve_stages (&driver, choice, diags);

  driver_clear (&driver);
  return ok;
}

gboolean
strategy_check (const PlanInput *in, const StrategyChoice *choice, DiagList *diags)
{
  return check_stages (in, choice, 1, diags);
}

gboolean
strategy_check_stages (const PlanInput *in, const StrategyChoice *choice, DiagList *diags)
{
  return check_stages (in, choice, MAX (in->mesh.stages, 1), diags);
}

Schedule *
schedule_build (const PlanInput *in, const StrategyChoice *choice, DiagList *diags)
{
  Driver driver = { .in = in,
                    .pipeline = pipeline_of (in->stages != NULL ? in->stages[0] : in->workload) };

  Schedule *schedule = NULL;

  g_assert (driver.pipeline.stages == MAX (in->mesh.stages, 1));
  if (resolve_stages (&driver, choice, diags))
    schedule = driver_build (&driver, in->mesh.world, diags);
  driver_clear (&driver);
  return schedule;
}
