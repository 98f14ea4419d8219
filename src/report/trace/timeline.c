#include "report/trace/timeline.h"

#include <math.h>
#include <string.h>

#include "report/trace/trace-private.h"

/*
 * While slices are read, their lane is a number that says what it is: of the host 0, else 1 +
 * stream * LANES + lane of the stream.
 */
#define LANE_HOST 0
#define LANES     65536

/* What is read from, and what is known of the labels so far. */
typedef struct
{
  Timeline   *timeline;
  Track       track;
  GArray     *ranks;   /* guint: simulated ranks that are shown */
  GArray    **slices;  /* of each shown rank */
  GHashTable *numbers; /* label: index + 1 */
  SimTime     start, end;
} Reader;

/* ---- which ranks ----------------------------------------------------------------------------- */

static guint
stage_of (const Replay *replay, guint rank)
{
  return schedule_role_stage (
      replay_schedule (replay),
      schedule_role_of_rank (replay_schedule (replay), replay_rank (replay, rank)->rank));
}

static gboolean
is_chosen (const GArray *ranks, guint rank)
{
  for (guint i = 0; i < ranks->len; i++)
    if (g_array_index (ranks, guint, i) == rank)
      return TRUE;
  return FALSE;
}

static gboolean
stage_is_chosen (const Replay *replay, const GArray *ranks, guint rank)
{
  for (guint i = 0; i < ranks->len; i++)
    if (stage_of (replay, g_array_index (ranks, guint, i)) == stage_of (replay, rank))
      return TRUE;
  return FALSE;
}

/* Ops of the window that each simulated rank takes part in: newly allocated. */
static guint *
count_ops (const Reader *self)
{
  guint *counts = g_new0 (guint, self->track.n_ranks);

  for (OpId id = 0; id < engine_n_ops (self->track.engine); id++)
    {
      const OpRecord    *record = engine_op_record (self->track.engine, id);
      g_autoptr (GArray) members = NULL;

      if (record->end <= self->start || record->begin >= self->end || record->end == record->begin)
        continue;
      members = trace_members (&self->track, id);
      for (guint i = 0; i < members->len; i++)
        counts[g_array_index (members, guint, i)]++;
    }
  return counts;
}

static gint
compare_ranks (gconstpointer a, gconstpointer b)
{
  const guint *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* Of each stage one, then others, as far as they have room. */
static void
choose_ranks (Reader *self, guint max_ranks, guint max_slices)
{
  const Replay     *replay = self->track.replay;
  g_autofree guint *counts = count_ops (self);
  guint             sum = 0;

  for (guint pass = 0; pass < 2; pass++)
    for (guint rank = 0; rank < self->track.n_ranks && self->ranks->len < max_ranks; rank++)
      {
        if (is_chosen (self->ranks, rank)
            || (pass == 0 && stage_is_chosen (replay, self->ranks, rank))
            || (self->ranks->len > 0 && sum + counts[rank] > max_slices))
          continue;
        sum += counts[rank];
        g_array_append_val (self->ranks, rank);
      }
  g_array_sort (self->ranks, compare_ranks);
  if (sum > max_slices)
    self->end =
        self->start + (SimTime) ((double) (self->end - self->start) * max_slices / (double) sum);
  self->timeline->length = self->end - self->start;
  self->timeline->n_left_out = self->track.n_ranks - self->ranks->len;
}

static char *
rank_name (const Replay *replay, guint rank)
{
  const ReplayRank *r = replay_rank (replay, rank);
  guint             n_stages = schedule_n_stages (replay_schedule (replay));
  GString          *name = g_string_new (NULL);

  g_string_append_printf (name, "rank %u", r->rank);
  if (n_stages > 1)
    g_string_append_printf (name, ", stage %u of %u", stage_of (replay, rank), n_stages);
  if (r->size > 1)
    g_string_append_printf (name, " (stands for %u)", r->size);
  return g_string_free (name, FALSE);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* The number of LABEL, which is taken. */
static guint
label_number (Reader *self, char *label)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, label));

  if (known > 0)
    {
      g_free (label);
      return known - 1;
    }
  g_ptr_array_add (self->timeline->labels, label);
  g_hash_table_insert (self->numbers, label, GUINT_TO_POINTER (self->timeline->labels->len));
  return self->timeline->labels->len - 1;
}

/* SLICE from BEGIN to END in time of the engine. */
static void
add_slice (Reader *self, guint shown, TimelineSlice slice, SimTime begin, SimTime end)
{
  slice.begin = MAX (begin, self->start) - self->start;
  slice.duration = MIN (end, self->end) - self->start - slice.begin;
  g_array_append_val (self->slices[shown], slice);
}

static void
read_op (Reader *self, OpId id)
{
  const Track        *track = &self->track;
  const OpRecord     *record = engine_op_record (track->engine, id);
  const Schedule     *schedule = replay_schedule (track->replay);
  g_autoptr (GArray)  members = NULL;
  const ScheduleItem *item;
  TimelineSlice       slice = { 0 };
  gboolean            described = FALSE;

  if (!trace_shows (track, record) || record->end <= self->start || record->begin >= self->end)
    return;
  members = trace_members (track, id);
  for (guint shown = 0; shown < self->ranks->len; shown++)
    {
      if (!is_chosen (members, g_array_index (self->ranks, guint, shown)))
        continue;
      if (!described)
        {
          item = replay_op (track->replay, id).item;
          slice.lane = 1 + item->stream * LANES + MIN (track->lanes[id], LANES - 1);
          slice.label = label_number (self, replay_op_label (track->replay, id));
          slice.layer = item->unit != SCHEDULE_NONE ? schedule_unit_layer (schedule, item->unit)
                                                    : SCHEDULE_NONE;
          slice.part = (guint8) time_part_of_op (track->replay, id);
          slice.phase = item->phase;
          slice.binding = trace_binding (track, record);
          described = TRUE;
        }
      add_slice (self, shown, slice, record->begin, record->end);
    }
}

static void
read_blocks (Reader *self, guint shown)
{
  const Track     *track = &self->track;
  guint            n, rank = g_array_index (self->ranks, guint, shown);
  const HostBlock *blocks =
      engine_host_blocks (track->engine, replay_rank (track->replay, rank)->host, &n);

  for (guint i = 0; i < n; i++)
    {
      TimelineSlice    slice = { .lane = LANE_HOST, .layer = SCHEDULE_NONE, .part = TIME_HOST };
      g_autofree char *waited = NULL;

      if (blocks[i].end <= self->start || blocks[i].start >= self->end
          || blocks[i].end == blocks[i].start)
        continue;
      if (blocks[i].op != ENGINE_NONE)
        waited = replay_op_label (track->replay, blocks[i].op);
      else
        slice.part = TIME_MEMORY;
      slice.label = label_number (self, waited != NULL ? g_strdup_printf ("waits for %s", waited)
                                                       : g_strdup ("waits for memory to be freed"));
      add_slice (self, shown, slice, blocks[i].start, blocks[i].end);
    }
}

static gint
compare_slices (gconstpointer a, gconstpointer b)
{
  const TimelineSlice *x = a, *y = b;

  if (x->lane != y->lane)
    return x->lane < y->lane ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* "compute", "pipeline (2)" for what overlaps the ops on it, or the host's. */
static char *
lane_name (const Reader *self, guint number)
{
  const Schedule *schedule = replay_schedule (self->track.replay);
  guint           lane = (number - 1) % LANES;
  const char     *stream;

  if (number == LANE_HOST)
    return g_strdup ("host waits");
  stream = schedule_stream_info (schedule, (number - 1) / LANES)->name;
  return lane > 0 ? g_strdup_printf ("%s (%u)", stream, lane + 1) : g_strdup (stream);
}

/* Numbers the lanes of shown rank SHOWN that have slices, and moves these to the timeline. */
static void
collect (Reader *self, guint shown)
{
  Timeline *timeline = self->timeline;
  GArray   *slices = self->slices[shown];
  guint     number = 0;

  g_array_sort (slices, compare_slices);
  for (guint i = 0; i < slices->len; i++)
    {
      TimelineSlice slice = g_array_index (slices, TimelineSlice, i);

      if (i == 0 || slice.lane != number)
        {
          TimelineLane lane = { lane_name (self, slice.lane), shown };

          g_array_append_val (timeline->lanes, lane);
          number = slice.lane;
        }
      slice.lane = timeline->lanes->len - 1;
      g_array_append_val (timeline->slices, slice);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What there is at the start, then every time at which it changes. */
static void
read_memory (Reader *self)
{
  PoolId        pool = replay_rank (self->track.replay, g_array_index (self->ranks, guint, 0))->hbm;
  GArray       *levels = self->timeline->memory;
  TimelineLevel level = { 0 };
  guint         n;
  const PoolChange *log = engine_pool_log (self->track.engine, &n);

  self->timeline->capacity = engine_pool_stats (self->track.engine, pool)->capacity;
  for (guint i = 0; i < n && log[i].time < self->end; i++)
    {
      SimTime time = MAX (log[i].time, self->start) - self->start;

      if (log[i].pool != pool)
        continue;
      if (levels->len > 0 && g_array_index (levels, TimelineLevel, levels->len - 1).time == time)
        g_array_set_size (levels, levels->len - 1);
      level.time = time;
      level.bytes[log[i].category] = log[i].bytes;
      g_array_append_val (levels, level);
    }
}

static guint64
level_sum (const TimelineLevel *self)
{
  guint64 sum = 0;

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    sum += self->bytes[c];
  return sum;
}

GArray *
timeline_thin_memory (const Timeline *self, guint most)
{
  const GArray *levels = self->memory;
  GArray       *thin = g_array_new (FALSE, FALSE, sizeof (TimelineLevel));
  double        stretch = (double) self->length / most, taken = -1;

  for (guint i = 0; i < levels->len; i++)
    {
      const TimelineLevel *level = &g_array_index (levels, TimelineLevel, i);
      double               at = floor ((double) level->time / stretch);
      TimelineLevel       *last =
          thin->len > 0 ? &g_array_index (thin, TimelineLevel, thin->len - 1) : NULL;

      if (levels->len > most && at == taken && i + 1 < levels->len && thin->len > 1)
        {
          if (level_sum (level) > level_sum (last))
            memcpy (last->bytes, level->bytes, sizeof last->bytes);
          continue;
        }
      taken = at;
      g_array_append_val (thin, *level);
    }
  return thin;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void
lane_clear (gpointer data)
{
  g_free (((TimelineLane *) data)->name);
}

static Timeline *
timeline_alloc (void)
{
  Timeline *self = g_new0 (Timeline, 1);

  self->ranks = g_ptr_array_new_with_free_func (g_free);
  self->labels = g_ptr_array_new_with_free_func (g_free);
  self->lanes = g_array_new (FALSE, FALSE, sizeof (TimelineLane));
  g_array_set_clear_func (self->lanes, lane_clear);
  self->slices = g_array_new (FALSE, FALSE, sizeof (TimelineSlice));
  self->memory = g_array_new (FALSE, FALSE, sizeof (TimelineLevel));
  return self;
}

void
timeline_free (Timeline *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->ranks);
  g_ptr_array_unref (self->labels);
  g_array_unref (self->lanes);
  g_array_unref (self->slices);
  g_array_unref (self->memory);
  g_free (self);
}

/* Lanes are those of a trace, which shows the last two periods. */
static void
reader_init (Reader *self, const Replay *replay)
{
  guint last = replay_n_boundaries (replay) - 1;

  *self = (Reader){ .timeline = timeline_alloc (),
                    .track = { .replay = replay,
                               .engine = replay_engine (replay),
                               .n_ranks = replay_n_ranks (replay),
                               .start = replay_boundary (replay, last >= 2 ? last - 2 : 0),
                               .end = replay_boundary (replay, last) },
                    .ranks = g_array_new (FALSE, FALSE, sizeof (guint)),
                    .numbers = g_hash_table_new (g_str_hash, g_str_equal),
                    .start = replay_boundary (replay, last - 1),
                    .end = replay_boundary (replay, last) };
  self->timeline->period = self->end - self->start;
  self->timeline->n_steps = schedule_steps_per_period (replay_schedule (replay));
}

Timeline *
timeline_new (const Replay *replay, guint max_ranks, guint max_slices)
{
  Reader self;

  reader_init (&self, replay);
  choose_ranks (&self, max_ranks, max_slices);
  g_free (trace_find_lanes (&self.track));
  self.slices = g_new (GArray *, self.ranks->len);
  for (guint i = 0; i < self.ranks->len; i++)
    {
      g_ptr_array_add (self.timeline->ranks,
                       rank_name (replay, g_array_index (self.ranks, guint, i)));
      self.slices[i] = g_array_new (FALSE, FALSE, sizeof (TimelineSlice));
    }
  for (OpId id = 0; id < engine_n_ops (self.track.engine); id++)
    read_op (&self, id);
  for (guint i = 0; i < self.ranks->len; i++)
    {
      read_blocks (&self, i);
      collect (&self, i);
      g_array_unref (self.slices[i]);
    }
  read_memory (&self);
  g_free (self.slices);
  g_free (self.track.lanes);
  g_array_unref (self.ranks);
  g_hash_table_unref (self.numbers);
  return self.timeline;
}
