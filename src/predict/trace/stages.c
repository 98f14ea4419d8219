/*
 * Each stage of a pipeline. Set: of a rank in a stretch, W when anything runs for it, K when
 * kernels run on its compute streams, C when its collectives and messages run. Computed, as means
 * over the ranks of a stage: busy |K|, bubble |period - W|, exposed |C - K|.
 */
#include "predict/trace/stages.h"

#include "predict/trace/intervals.h"
#include "predict/trace/memory-use.h"

/* ---- what it holds --------------------------------------------------------------------------- */

/* Blocks FIRST to END - 1 of the model, if any, to those in OUT. */
static void
append_blocks (GString *out, guint first, guint end)
{
  if (first == end)
    return;
  g_string_append (out, out->len > 0 ? " " : "blocks ");
  if (end - first == 1)
    g_string_append_printf (out, "%u", first);
  else
    g_string_append_printf (out, "%u-%u", first, end - 1);
}

static void
note_chunk (StageUse *self, const Workload *workload, guint chunk, GString *blocks)
{
  guint first, end, first_block = 0, end_block = 0;

  workload_chunk (workload, chunk, &first, &end);
  for (guint i = first; i < end; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      const guint      block = workload_model_layer (workload, i) - 1;

      self->embedding |= layer->kind == LAYER_EMBEDDING;
      self->head |= layer->kind == LAYER_HEAD;
      self->n_mtp += layer->mtp > 0;
      if (layer->kind != LAYER_BLOCK || layer->mtp > 0)
        continue;
      first_block = end_block == 0 ? block : first_block;
      end_block = block + 1;
    }
  append_blocks (blocks, first_block, end_block);
  self->n_blocks += end_block - first_block;
}

static void
read_layers (StageUse *self, const Workload *workload)
{
  g_autoptr (GString) blocks = g_string_new (NULL);
  g_autofree char    *mtp = NULL;
  const char         *layers[5] = { NULL };
  guint               n = 0;

  for (guint chunk = 0; chunk < workload_n_chunks (workload); chunk++)
    note_chunk (self, workload, chunk, blocks);
  if (self->embedding)
    layers[n++] = "embedding";
  if (blocks->len > 0)
    layers[n++] = blocks->str;
  if (self->n_mtp > 0)
    {
      mtp = g_strdup_printf ("%u mtp", self->n_mtp);
      layers[n++] = mtp;
    }
  if (self->head)
    layers[n++] = "head";
  self->layers = g_strjoinv (", ", (char **) layers);
  self->n_parameters = (double) workload_n_parameters (workload);
}

/* ---- what it does ---------------------------------------------------------------------------- */

/* When something runs for a simulated rank, kernels compute, and collectives and messages run. */
typedef struct
{
  GArray *work, *kernels, *messages; /* Interval */
} RankTimes;

static void
rank_times_clear (gpointer data)
{
  RankTimes *self = data;

  g_array_unref (self->work);
  g_array_unref (self->kernels);
  g_array_unref (self->messages);
}

static void
note_op (const Replay *replay, OpId op, Interval within, GArray *times)
{
  const OpRecord     *record = engine_op_record (replay_engine (replay), op);
  const ScheduleItem *item = replay_op (replay, op).item;
  g_autoptr (GArray)  members = replay_op_members (replay, op);

  for (guint i = 0; i < members->len; i++)
    {
      guint      rank = g_array_index (members, guint, i);
      RankTimes *of = &g_array_index (times, RankTimes, rank);

      intervals_add (of->work, record->begin, record->end, within);
      if (item->kind == ITEM_KERNEL && rank_computes_on (replay, rank, record->stream))
        intervals_add (of->kernels, record->begin, record->end, within);
      else if (item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P)
        intervals_add (of->messages, record->begin, record->end, within);
    }
}

/* RankTimes of each simulated rank, sorted. */
static GArray *
collect_times (const Replay *replay, Interval within)
{
  const Engine *engine = replay_engine (replay);
  GArray       *times = g_array_new (FALSE, FALSE, sizeof (RankTimes));

  g_array_set_clear_func (times, rank_times_clear);
  for (guint i = 0; i < replay_n_ranks (replay); i++)
    {
      RankTimes of = { intervals_new (), intervals_new (), intervals_new () };

      g_array_append_val (times, of);
    }
  for (OpId op = engine_first_op (engine); op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);

      if (record->end > within.start && record->begin < within.end)
        note_op (replay, op, within, times);
    }
  for (guint i = 0; i < times->len; i++)
    {
      RankTimes *of = &g_array_index (times, RankTimes, i);

      intervals_sort (of->work);
      intervals_sort (of->kernels);
      intervals_sort (of->messages);
    }
  return times;
}

/* Seconds of a step of LIST outside BUSY. */
static double
seconds_outside (const Replay *replay, const GArray *list, const GArray *busy)
{
  return sim_time_to_seconds (intervals_outside (list, busy))
         / schedule_steps_per_period (replay_schedule (replay));
}

static void
read_times (StageUse *self, const Replay *replay, Interval whole, const GArray *times)
{
  g_autoptr (GArray) period = intervals_new (), none = intervals_new ();
  double             n = 0;

  g_array_append_val (period, whole);
  for (guint i = 0; i < replay_n_ranks (replay); i++)
    {
      const ReplayRank *rank = replay_rank (replay, i);
      const RankTimes  *of = &g_array_index (times, RankTimes, i);
      double            size = rank->size;

      if (schedule_role_stage (replay_schedule (replay), rank->role) != self->stage)
        continue;
      self->busy_s += size * seconds_outside (replay, of->kernels, none);
      self->bubble_s += size * seconds_outside (replay, period, of->work);
      self->exposed_comm_s += size * seconds_outside (replay, of->messages, of->kernels);
      n += size;
    }
  self->busy_s /= n;
  self->bubble_s /= n;
  self->exposed_comm_s /= n;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void
stage_use_clear (gpointer data)
{
  StageUse *self = data;

  memory_use_clear (&self->hbm);
  g_free (self->layers);
}

static GArray *
array_new (void)
{
  GArray *stages = g_array_new (FALSE, FALSE, sizeof (StageUse));

  g_array_set_clear_func (stages, stage_use_clear);
  return stages;
}

/* That of any of its roles: they hold the same layers. */
static const Workload *
workload_of (const Replay *replay, guint stage)
{
  const Schedule *schedule = replay_schedule (replay);

  for (guint i = 0; i < replay_n_ranks (replay); i++)
    if (schedule_role_stage (schedule, replay_rank (replay, i)->role) == stage)
      return schedule_role_workload (schedule, replay_rank (replay, i)->role);
  g_assert_not_reached ();
}

GArray *
stages_new (const Replay *replay, const ReplayStretch *stretch)
{
  const Interval     whole = { stretch->begin, stretch->end };
  g_autoptr (GArray) times = collect_times (replay, whole);
  GArray            *stages = array_new ();

  for (guint i = 0; i < schedule_n_stages (replay_schedule (replay)); i++)
    {
      StageUse stage = { .stage = i };

      read_layers (&stage, workload_of (replay, i));
      memory_use_read_hbm (&stage.hbm, replay, i);
      read_times (&stage, replay, whole, times);
      g_array_append_val (stages, stage);
    }
  return stages;
}

GArray *
stages_copy (const GArray *stages)
{
  GArray *copy = array_new ();

  for (guint i = 0; i < stages->len; i++)
    {
      StageUse stage = g_array_index (stages, StageUse, i);

      stage.layers = g_strdup (stage.layers);
      memory_use_keep (&stage.hbm);
      g_array_append_val (copy, stage);
    }
  return copy;
}
