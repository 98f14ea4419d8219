/*
 * A program goes by a print of all that a role's checks look at: kinds, streams, events, buffers
 * and uses, but no amounts. Of 2^64 programs two may share the 128 bits of one by chance.
 */
#include "schedule/schedule-private.h"

#include <pthread.h>

#define KEPT 64

struct _SoundPrograms
{
  pthread_mutex_t lock;
  ProgramPrint    prints[KEPT];
  guint           n, next; /* the next print goes there */
  guint           n_known;
};

SoundPrograms *
sound_programs_new (void)
{
  SoundPrograms *self = g_new0 (SoundPrograms, 1);

  pthread_mutex_init (&self->lock, NULL);
  return self;
}

void
sound_programs_free (SoundPrograms *self)
{
  if (self == NULL)
    return;
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

guint
sound_programs_n_known (const SoundPrograms *self)
{
  return self->n_known;
}

gboolean
sound_programs_have (SoundPrograms *self, const ProgramPrint *print)
{
  gboolean found = FALSE;

  pthread_mutex_lock (&self->lock);
  for (guint i = 0; i < self->n && !found; i++)
    found = self->prints[i].a == print->a && self->prints[i].b == print->b;
  self->n_known += found;
  pthread_mutex_unlock (&self->lock);
  return found;
}

void
sound_programs_add (SoundPrograms *self, const ProgramPrint *print)
{
  pthread_mutex_lock (&self->lock);
  self->prints[self->next] = *print;
  self->next = (self->next + 1) % KEPT;
  self->n = MIN (self->n + 1, KEPT);
  pthread_mutex_unlock (&self->lock);
}

/* ---- prints ---------------------------------------------------------------------------------- */

/* Two sums that share no constant: odd factors, and shifts that carry high bits down. */
static inline void
mix (ProgramPrint *self, guint64 low, guint64 high)
{
  self->a = (self->a ^ low) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  self->a = (self->a ^ self->a >> 32 ^ high) * G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  self->b = (self->b + high) * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  self->b = (self->b ^ self->b >> 29) + low * G_GUINT64_CONSTANT (0xc4ceb9fe1a85ec53);
}

static inline guint64
pair (guint32 low, guint32 high)
{
  return (guint64) high << 32 | low;
}

static void
mix_program (ProgramPrint *self, const ScheduleProgram *program)
{
  mix (self, pair (program->items->len, program->uses->len), program->n_events);
  for (guint i = 0; i < program->items->len; i++)
    {
      const ScheduleItem *item = &vector_at (program->items, ScheduleItem, i);
      const guint32       what =
          (guint32) item->kind << 16 | (guint32) item->collective << 8 | (guint32) item->more;

      mix (self, pair (what, item->stream), pair (item->ref, item->event));
    }
  for (guint i = 0; i < program->uses->len; i++)
    {
      const ScheduleUse *use = &vector_at (program->uses, ScheduleUse, i);
      const guint32      how = (guint32) use->stream << 8 | use->access;

      mix (self, pair (use->item, use->buffer), pair (use->part, how));
    }
}

static void
mix_buffers (ProgramPrint *self, const ScheduleRole *role)
{
  mix (self, pair (role->buffers->len, role->data->len),
       pair (role->carried->len, role->passed->len));
  for (guint i = 0; i < role->buffers->len; i++)
    {
      const ScheduleBuffer *buffer = &g_array_index (role->buffers, ScheduleBuffer, i);

      /* what is passed on has the bytes of what takes it */
      mix (self, pair (buffer->place, buffer->category),
           pair (buffer->stream, (guint32) (role->passed->len > 0)));
      if (role->passed->len > 0)
        mix (self, buffer->bytes, 0);
    }
  for (guint i = 0; i < role->passed->len; i++)
    mix (self, g_array_index (role->passed, CarriedBuffer, i).buffer, i);
}

ProgramPrint
program_print (const Schedule *schedule, guint role)
{
  const gboolean shared = schedule_shares_steady (schedule, role);
  ProgramPrint   self = { 0 };

  mix (&self, pair (schedule->streams->len, schedule->steps_per_period), (guint64) shared);
  mix_buffers (&self, &schedule->roles[role]);
  for (guint s = 0; s < SECTION_N; s++)
    if (s != SECTION_STEADY || !shared)
      mix_program (&self, schedule_program (schedule, role, (ScheduleSection) s));
  return self;
}
