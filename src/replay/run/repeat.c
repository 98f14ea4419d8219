/*
 * Micro-batches that repeat inside a run.
 *
 * Set: rank 0 begins micro-batch i when all that its stream held before has ended, at t (i). Two
 * neighbouring spans of n micro-batches last from a = t (i) to b = t (i + n) to c = t (i + 2 n).
 * Where they are as long, every rank does the same in both by its program, every op of the run that
 * begins in the one begins and ends in the other by that much later, and the allocators hold as
 * much at the three ends, the device is at c as it was at b: n more micro-batches put one more such
 * span between them, and nothing else moves. Hosts run ahead. One that takes longer than the span
 * for its part would be caught up with some day: then nothing is said. One that gains a lead would
 * have a longer one where the last span ends: that moves nothing unless an op that comes behind
 * waits for that host before the host has waited for the device.
 */
#include "replay/run/run-private.h"

/* ---- marks ----------------------------------------------------------------------------------- */

/* The item where the next micro-batch of the section begins. */
static guint
next_micro (const RankHost *self)
{
  guint                n;
  const ScheduleMicro *micros = schedule_micros (host_schedule (self), self->program->role,
                                                 period_section (self->period), &n);

  return self->micros->len < n ? micros[self->micros->len].item : REPLAY_NONE;
}

void
host_mark_micro (RankHost *self, Engine *engine)
{
  const PoolStats *pool = engine_pool_stats (engine, self->run->ranks[self->rank].hbm);
  MicroMark        mark = { .time = engine_now (engine), .reserved = pool->heap };

  for (PoolCategory c = 0; c < POOL_N_CATEGORIES; c++)
    mark.held += pool->now[c];
  if (self->rank == 0)
    mark.note =
        engine_note_use (engine, engine_stream_last (engine, host_stream (self, SCHEDULE_COMPUTE)));
  g_array_append_val (self->micros, mark);
  self->next_micro = next_micro (self);
}

void
host_open_micros (RankHost *self)
{
  self->next_micro = REPLAY_NONE;
  if (self->micros == NULL)
    return;
  g_array_set_size (self->micros, 0);
  self->next_micro = next_micro (self);
}

/* ---- stretches ------------------------------------------------------------------------------- */

#define MOST_PERIODS 3 /* stages may swap their parts: then only so many repeat */

typedef struct
{
  const Replay *replay;
  guint         first, n; /* micro-batches of the first span; the second one's are behind them */
  SimTime       ends[3];
} Spans;

static const MicroMark *
mark_of (const RankHost *host, guint micro)
{
  return &g_array_index (host->micros, MicroMark, micro);
}

static const UseNote *
note_of (const Replay *self, guint micro)
{
  const RankHost *host = &self->run->hosts[0];

  return engine_use_note (self->run->engine, mark_of (host, micro)->note);
}

/* ---- what the programs say ------------------------------------------------------------------- */

static gboolean
programs_repeat (const Spans *self)
{
  const Schedule *schedule = self->replay->bound->schedule;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    {
      const MicroSpan one = { self->first, self->n }, other = { self->first + self->n, self->n };
      const ScheduleItems a = schedule_span (schedule, role, one);
      const ScheduleItems b = schedule_span (schedule, role, other);

      if (a.n != b.n)
        return FALSE;
      for (guint i = 0; i < a.n; i++)
        if (!schedule_items_alike (&a.items[i], &b.items[i]))
          return FALSE;
    }
  return TRUE;
}

/* ---- what the ops did ------------------------------------------------------------------------ */

/* An op by when it ran, from where its span begins. */
typedef struct
{
  SimTime begin, end;
  guint64 what;
} SpanOp;

static gint
compare_ops (gconstpointer a, gconstpointer b)
{
  const SpanOp *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return x->what < y->what ? -1 : x->what > y->what;
}

/* A number for what ITEM asks for, whichever of the ranks that take part issued it first. */
static guint64
what_of (const ScheduleItem *item)
{
  guint64 what = (guint64) item->kind << 56 | (guint64) item->phase << 48 | item->unit;

  return (what * 1000003 + item->collective) * 1000003 + item->bytes;
}

/* Those that begin in the first and in the second span, each by when they ran. */
static void
list_ops (const Spans *self, GArray *lists[2])
{
  const Engine *engine = self->replay->run->engine;

  for (OpId op = engine_first_op (engine); op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      const guint     i = record->begin >= self->ends[1];
      SpanOp          of;

      if (record->begin < self->ends[0] || record->begin >= self->ends[2])
        continue;
      of = (SpanOp){ record->begin - self->ends[i], record->end - self->ends[i],
                     what_of (replay_op (self->replay, op).item) };
      g_array_append_val (lists[i], of);
    }
  for (guint i = 0; i < 2; i++)
    g_array_sort (lists[i], compare_ops);
}

static gboolean
ops_repeat (const Spans *self)
{
  g_autoptr (GArray) a = g_array_new (FALSE, FALSE, sizeof (SpanOp));
  g_autoptr (GArray) b = g_array_new (FALSE, FALSE, sizeof (SpanOp));

  list_ops (self, (GArray *[2]){ a, b });
  if (a->len != b->len)
    return FALSE;
  for (guint i = 0; i < a->len; i++)
    if (compare_ops (&g_array_index (a, SpanOp, i), &g_array_index (b, SpanOp, i)) != 0)
      return FALSE;
  return TRUE;
}

/* ---- what the hosts did ---------------------------------------------------------------------- */

/* When HOST next waits for the device behind the spans, and goes on. */
static SimTime
next_wait (const Spans *self, const RankHost *host)
{
  const Run       *run = self->replay->run;
  guint            n;
  const HostBlock *blocks = engine_host_blocks (run->engine, run->ranks[host->rank].host, &n);

  for (guint i = 0; i < n; i++)
    if (blocks[i].end >= self->ends[2] && blocks[i].end > blocks[i].start)
      return blocks[i].end;
  return SIM_TIME_MAX;
}

/*
 * Whether an op behind the spans waits for one of the hosts that GAINED a lead: [ranks], which are
 * numbered as their hosts.
 */
static gboolean
leads_matter (const Spans *self, const gboolean *gained)
{
  const Run          *run = self->replay->run;
  const guint         n = self->replay->bound->binding->ranks->len;
  g_autofree SimTime *until = g_new (SimTime, n);

  for (guint i = 0; i < n; i++)
    until[i] = gained[i] ? next_wait (self, &run->hosts[i]) : 0;
  for (OpId op = engine_first_op (run->engine); op < engine_n_ops (run->engine); op++)
    {
      const OpRecord *record = engine_op_record (run->engine, op);

      if (record->begin >= self->ends[2] && record->gate == CAUSE_HOST
          && record->begin < until[record->gate_host])
        return TRUE;
    }
  return FALSE;
}

/* Whether HOST finds the same in its GPU at all three ends, and takes no longer than the spans. */
static gboolean
keeps_up (const Spans *self, const RankHost *host, gboolean *gained)
{
  const SimTime    length = self->ends[1] - self->ends[0];
  const MicroMark *a, *b, *c;

  if (host->micros->len <= self->first + 2 * self->n)
    return FALSE;
  a = mark_of (host, self->first);
  b = mark_of (host, self->first + self->n);
  c = mark_of (host, self->first + 2 * self->n);
  *gained = c->time - b->time < length;
  return b->time - a->time <= length && c->time - b->time <= length && a->held == b->held
         && b->held == c->held;
}

/*
 * Whether the allocator of the GPU that has given most holds as much at all three ends. What its
 * cuts leave over may creep on for long; where it stands, a later peak is no surprise.
 */
static gboolean
fullest_stands (const Spans *self)
{
  const guint     n = self->replay->bound->binding->ranks->len, last = self->first + 2 * self->n;
  const RankHost *fullest = &self->replay->run->hosts[0];

  for (guint i = 1; i < n; i++)
    {
      const RankHost *host = &self->replay->run->hosts[i];

      if (mark_of (host, last)->reserved > mark_of (fullest, last)->reserved)
        fullest = host;
    }
  return mark_of (fullest, self->first)->reserved == mark_of (fullest, last)->reserved;
}

static gboolean
hosts_keep_up (const Spans *self)
{
  const guint          n = self->replay->bound->binding->ranks->len;
  g_autofree gboolean *gained = g_new (gboolean, n);
  gboolean             any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      if (!keeps_up (self, &self->replay->run->hosts[i], &gained[i]))
        return FALSE;
      any = any || gained[i];
    }
  return fullest_stands (self) && (!any || !leads_matter (self, gained));
}

/* ---- the spans ------------------------------------------------------------------------------- */

static gboolean
spans_repeat (Spans *self)
{
  for (guint i = 0; i < 3; i++)
    self->ends[i] = note_of (self->replay, self->first + i * self->n)->time;
  return self->ends[1] > self->ends[0]
         && self->ends[2] - self->ends[1] == self->ends[1] - self->ends[0] && hosts_keep_up (self)
         && programs_repeat (self) && ops_repeat (self);
}

gboolean
replay_find_repeat (const Replay *self, guint filled, guint period, guint end,
                    ReplayStretch *stretch)
{
  const GArray *micros = self->run->hosts[0].micros;

  g_assert (micros != NULL);
  /* Records do not say when each twin ended, where they may end apart. */
  if (end >= micros->len || self->bound->binding->lockstep == LOCKSTEP_APART)
    return FALSE;
  for (guint each = 1; each <= MOST_PERIODS; each++)
    {
      Spans spans = { .replay = self, .n = each * period };

      if (end < filled + 2 * spans.n)
        return FALSE;
      spans.first = end - 2 * spans.n;
      if (!spans_repeat (&spans))
        continue;
      *stretch = (ReplayStretch){
        .begin = spans.ends[1],
        .end = spans.ends[2],
        .used_begin = note_of (self, spans.first + spans.n)->used,
        .used_end = note_of (self, spans.first + 2 * spans.n)->used,
        .micros = { spans.first + spans.n, spans.n },
      };
      return TRUE;
    }
  return FALSE;
}
