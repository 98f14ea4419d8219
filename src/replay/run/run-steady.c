/*
 * Whether the periods and steps of a run repeat, what is in flight at their ends, and how many
 * periods are simulated to know it.
 *
 * With one host, and nothing in flight where it ends a period, the state of a run is what its
 * memory holds: the host may decide there. It goes on instead of running all afresh with twice the
 * periods. And where no host waits for memory the next period is the same to the picosecond, so
 * that only its allocations are still made: the peaks may grow, until one more period leaves the
 * memory as it is. The first period stands for steady ones where it issues the same, and nothing is
 * in flight where it begins.
 */
#include "replay/run/run-private.h"

#include <string.h>

/* Blocks of carried buffers change their numbers from period to period. */
static gboolean
carries_buffers (const Schedule *schedule)
{
  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    if (schedule_carries_buffers (schedule, role))
      return TRUE;
  return FALSE;
}

gboolean
run_may_stand (const ReplayBound *bound)
{
  return bound->binding->ranks->len > 1 && !carries_buffers (bound->schedule);
}

/* ---- what repeats ---------------------------------------------------------------------------- */

guint
run_n_boundaries (const Run *self)
{
  return self->hosts[0].boundaries->len;
}

const Boundary *
run_boundary (const Run *self, guint rank, guint b)
{
  return &g_array_index (self->hosts[rank].boundaries, Boundary, b);
}

/* How long after a boundary what a stream then held was still under way. */
static SimTime
in_flight (const Run *self, const Boundary *boundary, guint stream)
{
  OpId    op = boundary->last[stream];
  SimTime end = op != ENGINE_NONE ? engine_op_end (self->engine, op) : 0;

  return end > boundary->time ? end - boundary->time : 0;
}

/* Ends of periods, or of steps: two of a rank, and the same two of rank 0. */
typedef struct
{
  const Boundary *now, *before, *first_now, *first_before;
} BoundaryPair;

static BoundaryPair
pair_at (const GArray *of_rank, const GArray *of_first, guint b)
{
  return (BoundaryPair){ .now = &g_array_index (of_rank, Boundary, b),
                         .before = &g_array_index (of_rank, Boundary, b - 1),
                         .first_now = &g_array_index (of_first, Boundary, b),
                         .first_before = &g_array_index (of_first, Boundary, b - 1) };
}

/*
 * Whether RANK passed both at the same time relative to rank 0's, with (STATE) the same in flight.
 */
static gboolean
boundaries_alike (const Run *self, guint rank, BoundaryPair pair, gboolean state)
{
  if (pair.now->time - pair.first_now->time != pair.before->time - pair.first_before->time)
    return FALSE;
  for (guint s = 0; state && s < host_n_lasts (&self->hosts[rank]); s++)
    if (in_flight (self, pair.now, s) != in_flight (self, pair.before, s))
      return FALSE;
  return TRUE;
}

/* Whether the two steps that end with the LAST-th were alike, for every rank. */
static gboolean
steps_alike (const Run *self, guint last)
{
  const GArray   *first = self->hosts[0].steps;
  const Boundary *ends = &g_array_index (first, Boundary, 0);

  if (ends[last].time - ends[last - 1].time != ends[last - 1].time - ends[last - 2].time)
    return FALSE;
  for (guint i = 0; i < self->bound->binding->ranks->len; i++)
    if (!boundaries_alike (self, i, pair_at (self->hosts[i].steps, first, last), TRUE)
        || !boundaries_alike (self, i, pair_at (self->hosts[i].steps, first, last - 1), FALSE))
      return FALSE;
  return TRUE;
}

/* Of each gap those before the step that sends, which closes the gap where it is used at once. */
gboolean
run_steps_are_even (const Run *self)
{
  const GArray *first = self->hosts[0].steps;
  guint         n = first != NULL ? first->len : 0, ahead;
  guint         gap = schedule_exchange_gap (self->bound->schedule, &ahead);

  if (n == 0 || gap < ahead + 4)
    return FALSE;
  for (guint end = gap; end <= n; end += gap)
    if (!steps_alike (self, end - ahead - 2))
      return FALSE;
  return TRUE;
}

/* Where what is sent in one step is used in another, steps within the period do not end quiet. */
gboolean
run_ends_quiet (const Run *self)
{
  if (schedule_crosses_steps (self->bound->schedule))
    return FALSE;
  for (guint i = 0; i < self->bound->binding->ranks->len; i++)
    for (guint b = 1; b < run_n_boundaries (self); b++)
      for (guint s = 0; s < host_n_lasts (&self->hosts[i]); s++)
        if (in_flight (self, run_boundary (self, i, b), s) > 0)
          return FALSE;
  return TRUE;
}

static SimTime
period_length (const Run *self, guint b)
{
  return run_boundary (self, 0, b)->time - run_boundary (self, 0, b - 1)->time;
}

/*
 * What was in flight at the very end had no next period running with it: the states compared are
 * those where the last two periods began. With one steady period that end must do; where the lack
 * of a next one shows, it differs from the other, and more are needed.
 */
gboolean
run_is_steady (const Run *self)
{
  guint    last = run_n_boundaries (self) - 1;
  gboolean one = self->n_periods == 1;

  if (self->cut)
    return TRUE;
  if (self->n_periods < 1 || (!one && period_length (self, last) != period_length (self, last - 1)))
    return FALSE;
  for (guint i = 0; i < self->bound->binding->ranks->len; i++)
    {
      const GArray *ends = self->hosts[i].boundaries, *first = self->hosts[0].boundaries;

      if (!boundaries_alike (self, i, pair_at (ends, first, last), one)
          || (!one && !boundaries_alike (self, i, pair_at (ends, first, last - 1), TRUE)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
is_settled (const MemoryState *now, const MemoryState *before)
{
  return now->numbers != NULL && before->numbers != NULL && !now->unsettled && !before->unsettled;
}

static gboolean
memory_is_alike (const MemoryState *now, const MemoryState *before)
{
  return now->numbers->len == before->numbers->len
         && memcmp (now->numbers->data, before->numbers->data, now->numbers->len * sizeof (guint64))
                == 0;
}

gboolean
run_repeat_memory (Run *self)
{
  const guint last = run_n_boundaries (self) - 1;
  gboolean    alike = TRUE;

  for (guint i = 0; i < self->bound->binding->ranks->len; i++)
    {
      const Boundary *now = run_boundary (self, i, last),
                     *before = run_boundary (self, i, last - 1);

      if (!is_settled (&now->own, &before->own) || !is_settled (&now->shared, &before->shared)
          || !memory_is_alike (&now->shared, &before->shared))
        return FALSE;
      alike = alike && memory_is_alike (&now->own, &before->own);
    }
  return alike
         || (engine_pool_calls_within (self->engine, POOL_ADMITTED)
             && engine_pool_repeat_calls (self->engine, period_length (self, last),
                                          tag_new (1, 0, 0), POOL_ADMITTED));
}

/* ---- how long -------------------------------------------------------------------------------- */

/* Periods of which the last two are compared. */
#define COMPARED 2

/*
 * Whether the next period asks if waits stand at the end of STREAM, before it puts an op behind
 * them. All that they wait for has ended.
 */
static gboolean
asks_for_waits (const RankHost *host, guint stream)
{
  ScheduleItems next = schedule_items (host_schedule (host), host->program->role, SECTION_STEADY);

  for (guint i = 0; i < next.n; i++)
    switch (next.items[i].stream == stream ? (ItemKind) next.items[i].kind : ITEM_N_KINDS)
      {
      case ITEM_RECORD:
      case ITEM_P2P:
        return TRUE;
      case ITEM_KERNEL:
      case ITEM_COLLECTIVE:
      case ITEM_MOVE:
      case ITEM_HOST_OP:
        return FALSE;
      default:
        break;
      }
  return FALSE;
}

/* The waits that stand at the end of the host's streams, as the next period finds them. */
static gboolean
waits_are_alike (const RankHost *host, const gboolean *before)
{
  for (guint s = 0; s < schedule_n_streams (host_schedule (host)); s++)
    if (host->waited[s] != before[s] && asks_for_waits (host, s))
      return FALSE;
  return TRUE;
}

/* Whether the period ended with its last step: nothing has been used since. */
static gboolean
ends_with_its_step (const Run *self)
{
  const Boundary *end = run_boundary (self, 0, run_n_boundaries (self) - 1);

  for (ResourceId r = 0; r < engine_n_resources (self->engine); r++)
    if (end->used[r] != engine_resource_used (self->engine, r))
      return FALSE;
  return TRUE;
}

/* What has been used, by the end of the last two periods of those that were cut to one. */
static void
move_used (Run *self)
{
  guint     n = engine_n_resources (self->engine), last = run_n_boundaries (self) - 1;
  GArray   *boundaries = self->hosts[0].boundaries;
  Boundary *begin = &g_array_index (boundaries, Boundary, last - 1),
           *end = &g_array_index (boundaries, Boundary, last);

  for (ResourceId r = 0; r < n; r++)
    {
      begin->used[r] = end->used[r];
      end->used[r] = engine_resource_used (self->engine, r);
    }
}

/*
 * PERIOD is over, and began where nothing was in flight, as now. No host waited for memory, so that
 * what the period found in it had no part in its times: those that are left do the same. What they
 * do to the memory is done without them.
 */
static void
try_to_cut (Run *self, guint period)
{
  SimTime  span = engine_now (self->engine) - self->noted_from;
  guint    left = self->n_periods + 1 - period;
  gboolean still = FALSE; /* one more period leaves the memory as it is */

  if (!engine_is_idle (self->engine) || carries_buffers (self->bound->schedule)
      || !engine_pool_calls_within (self->engine, POOL_TRIMMED)
      || !waits_are_alike (&self->hosts[0], self->waited) || !ends_with_its_step (self))
    return;
  self->cut = TRUE;
  for (guint i = 1; i <= left && self->cut; i++)
    {
      still = still || engine_pools_repeat (self->engine);
      self->cut =
          still
          || engine_pool_repeat_calls (self->engine, i * span, tag_new (i, 0, 0), POOL_TRIMMED);
      engine_repeat_use (self->engine);
      move_used (self);
    }
  self->spoilt = !self->cut;
  self->n_periods = period - 1;
}

/* The period behind PERIOD does what is done again in those behind it. */
static gboolean
next_repeats (const Run *self, guint period)
{
  return period == 1 || (period == 0 && schedule_first_is_steady (self->bound->schedule));
}

void
run_decide_length (Run *self, guint period)
{
  if (self->bound->binding->ranks->len > 1)
    return;
  if (!self->whole && self->n_periods <= COMPARED)
    {
      if (self->waited != NULL && period <= self->n_periods)
        try_to_cut (self, period);
      if (!self->cut && !self->spoilt && period < self->n_periods && next_repeats (self, period))
        {
          const RankHost *host = &self->hosts[0];
          gsize           n = schedule_n_streams (host_schedule (host)) * sizeof (gboolean);

          self->noted_from = engine_now (self->engine);
          g_free (self->waited);
          self->waited = g_memdup2 (host->waited, n);
          engine_pool_note_calls (self->engine, engine_is_idle (self->engine));
        }
    }
  if (period > self->n_periods && !self->spoilt && self->n_periods < self->most
      && engine_is_idle (self->engine) && !run_is_steady (self))
    self->n_periods = MIN (2 * self->n_periods, self->most);
}
