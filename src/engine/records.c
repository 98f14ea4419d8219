/* What is known of ops: of all that have ended when they did, of those not forgotten the rest. */
#include "engine/engine-private.h"

#define FORGETS_PART 4 /* of the records, at least, are forgotten in the place of more room */

guint
engine_n_ops (const Engine *self)
{
  return self->forgotten->len + self->records->len;
}

OpId
engine_first_op (const Engine *self)
{
  return self->forgotten->len;
}

SimTime
engine_op_end (const Engine *self, OpId op)
{
  return engine_op_is_forgotten (self, op) ? vector_at (self->forgotten, SimTime, op)
                                           : engine_record_at (self, op)->end;
}

const OpRecord *
engine_op_record (const Engine *self, OpId op)
{
  g_assert (!engine_op_is_forgotten (self, op));
  return engine_record_at (self, op);
}

const TraceSegment *
engine_segments (const Engine *self, const OpRecord *record)
{
  if (record->n_segments == 0)
    return NULL;
  g_assert (record->first_segment >= self->n_segments_gone);
  return &vector_at (self->segments, TraceSegment, record->first_segment - self->n_segments_gone);
}

/* The first ops that are not forgotten, of which none lives or ended after the past. */
static guint
count_past (const Engine *self)
{
  guint n = 0;

  while (n < self->slots->len && vector_at (self->slots, guint32, n) == ENGINE_NONE
         && vector_at (self->records, OpRecord, n).end <= self->past)
    n++;
  return n;
}

/* Ends are few bytes, and asked for long after: by streams that come late to an op that is over. */
static void
forget (Engine *self, guint n)
{
  if (n == 0)
    return;
  for (guint i = 0; i < n; i++)
    vector_push (self->forgotten, vector_at (self->records, OpRecord, i).end);
  vector_remove (self->records, 0, n);
  vector_remove (self->slots, 0, n);
}

void
engine_forget_past (Engine *self)
{
  if (self->twins_apart)
    return;
  self->past = self->now;
  self->n_segments_gone += self->segments->len;
  vector_cut (self->segments, 0);
  forget (self, count_past (self));
}

/* Where it is so few that others are soon asked for again, records had better grow. */
void
engine_forget_more (Engine *self)
{
  const guint n = count_past (self);

  if (n >= self->records->len / FORGETS_PART)
    forget (self, n);
}
