/* The hooks of the stack of strategies, called in turn. */
#include "driver/walk/driver-private.h"

typedef void (*RunHook) (StrategyRun *run);
typedef void (*UnitHook) (StrategyRun *run, const UnitSlot *slot);

/* The I-th whose turn it is as hooks of SIDE are called. */
static const DriverActor *
actor_in_turn (const Driver *self, HookSide side, guint i)
{
  return &self->actors[side == HOOK_BEGINS ? i : self->n_actors - 1 - i];
}

void
driver_hook (Driver *self, SchedulePhase phase, HookSide side, gsize hook)
{
  for (guint i = 0; i < self->n_actors; i++)
    {
      const DriverActor *actor = actor_in_turn (self, side, i);
      RunHook            function = *(const RunHook *) G_STRUCT_MEMBER_P (actor->hooks, hook);

      if (function == NULL)
        continue;
      schedule_set_phase (self->b, phase);
      schedule_set_unit (self->b, SCHEDULE_NONE);
      actor->run->state = actor->state;
      function (actor->run);
    }
  schedule_set_phase (self->b, PHASE_NONE);
  schedule_set_unit (self->b, SCHEDULE_NONE);
}

void
driver_unit_hook (Driver *self, SchedulePhase phase, HookSide side, gsize hook,
                  const UnitSlot *slot)
{
  for (guint i = 0; i < self->n_actors; i++)
    {
      const DriverActor *actor = actor_in_turn (self, side, i);
      UnitHook           function = *(const UnitHook *) G_STRUCT_MEMBER_P (actor->hooks, hook);

      if (function == NULL)
        continue;
      schedule_set_phase (self->b, phase);
      schedule_set_unit (self->b, slot->unit);
      actor->run->state = actor->state;
      function (actor->run, slot);
    }
  schedule_set_phase (self->b, phase);
  schedule_set_unit (self->b, slot->unit);
}

void
driver_step_over (Driver *self, guint step)
{
  schedule_set_phase (self->b, PHASE_OUTER);
  for (guint i = 0; i < self->n_actors; i++)
    {
      const DriverActor *actor = actor_in_turn (self, HOOK_ENDS, i);
      const DriverLevel *level = actor->run->driver;

      actor->run->state = actor->state;
      if (actor->hooks->step_over != NULL)
        actor->hooks->step_over (actor->run);
      if ((step + 1) % level->every == 0 && actor->hooks->round_end != NULL)
        actor->hooks->round_end (actor->run);
    }
  schedule_set_phase (self->b, PHASE_NONE);
  schedule_set_unit (self->b, SCHEDULE_NONE);
}
