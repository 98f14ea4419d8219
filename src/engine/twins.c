/*
 * Twins: ops that one op stands for. Those who issue them, and all that they wait for, are
 * simulated once; what they load is not the same, so that their flows are simulated each. As long
 * as every twin ends with its op, to the picosecond, none of them would have had anybody go on
 * sooner or later than the one that is simulated.
 *
 * Twins apart. Set: streams and hosts that each stand for several devices, t, which meet now and
 * then in an op that begins when the last t has come; twins, one or more a t, that begin together.
 * Computed: of every op an end that no t is behind. Kernels run alone, so that what an op waits for
 * moves it but changes no duration: in t it begins at the latest of times c_i, the same for all t,
 * and of e_ti + w_i, where e_ti is the end of a twin and w_i what lies between. The simulated one,
 * with the last end E_i of all t for each, begins at max (c_i, E_i + w_i), which is the largest
 * over t of what t does. That is exact
 * - where all t meet, as they begin when the last has come;
 * - where the latest is a c_i: then it is so in every t ("sure").
 * An op that flows must be one of these, for the e_ti are those of flows that begin at one time;
 * all others may be sooner in some t ("apart"), and pass that on to what waits for them.
 */
#include "engine/engine-private.h"

static Twin *
twin_at (const Engine *self, guint32 i)
{
  return &vector_at (self->twins, Twin, i);
}

static guint32
take_twin (Engine *self)
{
  guint32 i = self->free_twin;

  if (i != ENGINE_NONE)
    {
      self->free_twin = twin_at (self, i)->next;
      return i;
    }
  vector_extend (self->twins, 1);
  twin_at (self, self->twins->len - 1)->event = ENGINE_NONE;
  return self->twins->len - 1;
}

static void
copy_demands (Twin *twin, const Demand *demands, guint n)
{
  twin->n_demands = 0;
  if (n > twin->demand_room)
    {
      twin->demands = g_renew (Demand, twin->demands, n);
      twin->demand_room = n;
    }
  for (guint i = 0; i < n; i++)
    if (demands[i].amount > 0)
      twin->demands[twin->n_demands++] = demands[i];
}

void
engine_op_add_twin (Engine *self, OpId id, const Demand *demands, guint n_demands)
{
  LiveOp *op = engine_live_op (self, id);
  guint32 i = take_twin (self);

  g_assert (op != NULL && op->n_submitted == 0 && op->waves.resource == ENGINE_NONE);
  copy_demands (twin_at (self, i), demands, n_demands);
  twin_at (self, i)->end = SIM_TIME_MAX;
  twin_at (self, i)->next = op->twins;
  op->twins = i;
}

void
engine_twins_flow (Engine *self, LiveOp *op, FluidSpec *spec)
{
  for (guint32 i = op->twins; i != ENGINE_NONE; i = twin_at (self, i)->next)
    {
      Twin *twin = twin_at (self, i);

      if (twin->n_demands == 0)
        continue;
      spec->demands = twin->demands;
      spec->n_demands = twin->n_demands;
      spec->user = i | TWIN_USER;
      twin->flow = fluid_add (self->fluid, spec);
      twin->op = op->id;
      twin->flows = TRUE;
      op->n_flowing += self->twins_apart;
      if (self->twins_apart && twin->event == ENGINE_NONE)
        twin->event = event_heap_add (self->heap);
      twin->progress = twin->rate = 0;
      twin->settled = self->now;
    }
}

double
engine_twin_progress (const Engine *self, guint32 i)
{
  const Twin *twin = twin_at (self, i);
  double      p = twin->progress + twin->rate * sim_time_to_seconds (self->now - twin->settled);

  return MIN (p, 1.0);
}

/* Counts as an op does, so that both end at the same picosecond where their rates are the same. */
void
engine_twin_apply_rate (Engine *self, guint32 i)
{
  Twin  *twin = twin_at (self, i);
  double rate = fluid_rate (self->fluid, twin->flow).rate;

  if (rate == twin->rate)
    return;
  twin->progress = engine_twin_progress (self, i);
  twin->settled = self->now;
  twin->rate = rate;
  twin->end = sim_time_add (self->now, sim_time_span (1 - twin->progress, rate));
  if (self->twins_apart)
    engine_key_after (self, twin->event, twin->end - self->now, event_sequence (EVENT_TWIN, i));
}

static void
end_flow (Engine *self, Twin *twin)
{
  for (guint d = 0; d < twin->n_demands; d++)
    engine_add_use (self, twin->demands[d].resource, twin->demands[d].amount);
  fluid_remove (self->fluid, twin->flow);
  twin->flows = FALSE;
}

/* One that demands nothing ends with its op's latency, as the op does where it demands nothing. */
void
engine_twins_end (Engine *self, LiveOp *op)
{
  const gboolean flows = op->state != OP_LATENCY;

  for (guint32 i = op->twins, next; i != ENGINE_NONE; i = next)
    {
      Twin *twin = twin_at (self, i);

      next = twin->next;
      if (flows != (twin->n_demands > 0) || (twin->flows && twin->end != self->now))
        self->unlike = TRUE;
      if (twin->flows)
        end_flow (self, twin);
      twin->next = self->free_twin;
      self->free_twin = i;
    }
  op->twins = ENGINE_NONE;
}

/* ---- apart ----------------------------------------------------------------------------------- */

void
engine_set_twins_apart (Engine *self, gboolean apart)
{
  self->twins_apart = apart;
}

gboolean
engine_host_is_apart (const Engine *self, HostId host)
{
  return engine_host_at (self, host)->apart;
}

void
engine_op_note_apart (Engine *self, LiveOp *op)
{
  op->apart = !op->sure && !op->meets;
  if (op->apart && op->class_ == OP_TRAFFIC && op->n_demands > 0)
    self->unlike = TRUE;
}

LiveOp *
engine_twin_end_apart (Engine *self, guint32 i)
{
  Twin   *twin = twin_at (self, i);
  LiveOp *op = engine_live_op (self, twin->op);

  end_flow (self, twin);
  op->n_flowing--;
  op->first_over = MIN (op->first_over, self->now);
  return op;
}

void
engine_twins_clear (Engine *self)
{
  for (guint32 i = 0; i < self->twins->len; i++)
    g_free (twin_at (self, i)->demands);
  vector_free (self->twins);
}
