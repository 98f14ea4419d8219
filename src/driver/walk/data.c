/*
 * What the driver's ops read and write.
 *
 * Kernels of a bracket follow each other on one stream, so the first and the last stand for all:
 * what comes before the first comes before all, and what comes after the last after all. They use
 * the activations of their layer, the parameters of its units and, in a backward pass, the
 * gradients, wherever the strategy has said that these live.
 */
#include "driver/walk/driver-private.h"

/* ---- places ---------------------------------------------------------------------------------- */

static const char *const unit_data_names[UNIT_DATA_N] = {
  [UNIT_PARAMETERS] = "parameters",
  [UNIT_GRADIENT] = "gradient",
  [UNIT_REDUCED] = "reduced gradient",
};

void
strategy_data (StrategyRun *run, guint unit, UnitData what, BufferRef own, BufferRef shared)
{
  guint first = unit == SCHEDULE_NONE ? 0 : unit;
  guint end = unit == SCHEDULE_NONE ? run->n_units : unit + 1;

  g_assert (what < UNIT_DATA_N && end <= run->n_units);
  for (guint u = first; u < end; u++)
    {
      run->places[u].own[what] = own;
      run->places[u].shared[what] = shared;
    }
}

/* The first thing that is not said is remembered: see data_check_declared. */
static const UnitPlaces *
place_of (StrategyRun *run, guint unit, UnitData what)
{
  const UnitPlaces *place = &run->places[unit];
  Driver           *self = ((const DriverLevel *) run->driver)->driver;

  if (place->own[what] == SCHEDULE_NONE && place->shared[what] == SCHEDULE_NONE
      && self->undeclared == NULL)
    self->undeclared = g_strdup_printf (
        "the %s of %s is before something uses it", unit_data_names[what],
        schedule_unit_name (schedule_builder_peek (self->b), self->at->unit_offset + unit));
  return place;
}

void
strategy_uses (StrategyRun *run, guint unit, UnitData what, ScheduleAccess access)
{
  guint             owner = run->units[unit].own_elements == 0 ? run->units[unit].shares : unit;
  const UnitPlaces *place = place_of (run, owner, what);

  schedule_uses (run->b, place->own[what], SCHEDULE_WHOLE, access);
  schedule_uses (run->b, place->shared[what], owner, access);
}

gboolean
data_check_declared (const Driver *self, DiagList *diags)
{
  if (self->undeclared == NULL)
    return TRUE;
  diag_error (diags, NULL, "say it with strategy_data", "strategy '%s' does not say where %s",
              self->at->levels[self->n_levels - 1].strategy->name, self->undeclared);
  return FALSE;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void
use_place (StrategyRun *run, OpRef op, guint unit, UnitData what, ScheduleAccess access)
{
  const UnitPlaces *place = place_of (run, unit, what);

  schedule_builder_use (run->b, op, place->own[what], SCHEDULE_WHOLE, access);
  schedule_builder_use (run->b, op, place->shared[what], unit, access);
}

/*
 * A tied head reads the table of the embedding's unit, too, and adds to its gradient where that is
 * always there.
 */
static void
use_unit (Driver *self, OpRef op, guint unit, gboolean parameters, gboolean gradient)
{
  StrategyRun    *run = driver_run (self);
  const PlanUnit *plan = &run->units[unit];

  if (parameters && plan->own_elements > 0)
    use_place (run, op, unit, UNIT_PARAMETERS, ACCESS_READ);
  if (parameters && plan->shares != unit)
    use_place (run, op, plan->shares, UNIT_PARAMETERS, ACCESS_READ);
  if (gradient && plan->trainable_elements > 0)
    use_place (run, op, unit, UNIT_GRADIENT, ACCESS_WRITE);
  if (gradient && plan->shares != unit && run->units[plan->shares].trainable_elements > 0)
    schedule_builder_use (self->b, op, run->places[plan->shares].shared[UNIT_GRADIENT],
                          plan->shares, ACCESS_WRITE);
}

void
data_kernel (Driver *self, OpRef op, const DataBracket *bracket)
{
  schedule_builder_use (self->b, op, bracket->saved, SCHEDULE_WHOLE, bracket->saves);
  schedule_builder_use (self->b, op, bracket->working, SCHEDULE_WHOLE, ACCESS_WRITE);
  for (guint u = bracket->first; u < bracket->end; u++)
    use_unit (self, op, u, bracket->parameters, bracket->gradient);
}

void
data_no_kernel (Driver *self, const DataBracket *bracket)
{
  for (guint u = bracket->first; u < bracket->end && bracket->gradient; u++)
    {
      /* The unit's kernels stand in other brackets. */
      StrategyRun      *run = driver_run (self);
      const UnitPlaces *place;

      if (run->units[u].trainable_elements != 0)
        {
          place = place_of (run, u, UNIT_GRADIENT);
          schedule_touches (self->b, SCHEDULE_COMPUTE, place->own[UNIT_GRADIENT], SCHEDULE_WHOLE,
                            ACCESS_WRITE);
          schedule_touches (self->b, SCHEDULE_COMPUTE, place->shared[UNIT_GRADIENT], u,
                            ACCESS_WRITE);
        }
    }
}

/* ---- collectives among the kernels ----------------------------------------------------------- */

guint
data_move (Driver *self, MeshAxis axis)
{
  guint part = self->n_moved[axis]++;

  schedule_touches (self->b, SCHEDULE_COMPUTE, self->moved[self->concurrent][axis], part,
                    ACCESS_WRITE);
  return part;
}

void
data_join (Driver *self, MeshAxis axis)
{
  for (guint part = 0; part < self->n_moved[axis]; part++)
    schedule_touches (self->b, SCHEDULE_COMPUTE, self->moved[self->concurrent][axis], part,
                      ACCESS_READ);
  self->n_moved[axis] = 0;
}

/* ---- the current role ------------------------------------------------------------------------ */

void
data_open (Driver *self)
{
  static const char *const moved[MESH_N_AXES] = {
    [MESH_TENSOR] = "what tensor ranks exchange",
    [MESH_TENSOR_ROWS] = "what rows of tensor ranks exchange",
    [MESH_CONTEXT] = "what context ranks exchange",
    [MESH_EXPERT] = "what expert ranks exchange",
    [MESH_EXPERT_TENSOR] = "what ranks that divide an expert exchange",
  };

  for (guint axis = 0; axis < MESH_N_AXES; axis++)
    {
      for (guint pass = 0; pass < 2; pass++)
        self->moved[pass][axis] = schedule_data (self->b, moved[axis]);
      self->n_moved[axis] = 0;
    }
  self->result = schedule_data (self->b, "loss");
  self->turn = schedule_data (self->b, "turn of the next pass");
  for (guint what = 0; what < UNIT_DATA_N; what++)
    strategy_data (driver_run (self), SCHEDULE_NONE, (UnitData) what, SCHEDULE_NONE, SCHEDULE_NONE);
}

void
data_read_result (Driver *self)
{
  schedule_touches (self->b, SCHEDULE_COMPUTE, self->result, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_host_wait (self->b, schedule_record (self->b, SCHEDULE_COMPUTE)); /* the loss is read */
  schedule_host_touches (self->b, self->result, SCHEDULE_WHOLE, ACCESS_READ);
}

void
data_reduced (Driver *self, guint first, guint end)
{
  StrategyRun *run = driver_run (self);

  for (guint u = first; u < end; u++)
    if (run->units[u].trainable_elements > 0)
      strategy_uses (run, u, UNIT_REDUCED, ACCESS_READ_WRITE);
}
