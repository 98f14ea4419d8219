/* What ops have moved over resources by now, and by times that are noted. */
#include "engine/engine-private.h"

/* What a user of the solver has moved over resource ID that is not counted yet. */
static double
user_progress (const Engine *self, guint32 user, ResourceId id)
{
  const LiveOp *op;

  if (user & TWIN_USER)
    return engine_twin_progress (self, user & ~TWIN_USER);
  op = engine_live_op (self, user);
  return engine_op_progress (self, op) - (op->waves.resource == id ? op->accounted : 0);
}

double
engine_resource_used (const Engine *self, ResourceId id)
{
  double used = engine_resource_at (self, id)->used;

  for (OpClass c = OP_TRAFFIC; c <= OP_KERNEL; c++)
    {
      guint          n;
      const FluidOp *users = fluid_users (self->fluid, id, c, &n);

      for (guint i = 0; i < n; i++)
        {
          used += user_progress (self, fluid_user (self->fluid, users[i]), id)
                  * fluid_amount (self->fluid, users[i], id);
        }
    }
  return used;
}

/* ---- notes ----------------------------------------------------------------------------------- */

void
engine_take_use_note (Engine *self, guint i)
{
  UseNote *note = &g_array_index (self->use_notes, UseNote, i);

  note->time = self->now;
  note->used = g_new (double, self->resources->len);
  for (ResourceId r = 0; r < self->resources->len; r++)
    note->used[r] = engine_resource_used (self, r);
}

static void
use_note_clear (gpointer data)
{
  g_free (((UseNote *) data)->used);
}

guint
engine_note_use (Engine *self, OpId op)
{
  const UseNote none = { 0, NULL };
  guint         i;

  if (self->use_notes == NULL)
    {
      self->use_notes = g_array_new (FALSE, FALSE, sizeof (UseNote));
      g_array_set_clear_func (self->use_notes, use_note_clear);
    }
  i = self->use_notes->len;
  g_array_append_val (self->use_notes, none);
  if (op == ENGINE_NONE || engine_op_done (self, op))
    engine_take_use_note (self, i);
  else
    engine_op_add_waiter (self, op, &(WaiterNode){ .kind = WAITER_USE_NOTE, .id = i });
  return i;
}

const UseNote *
engine_use_note (const Engine *self, guint i)
{
  return &g_array_index (self->use_notes, UseNote, i);
}
