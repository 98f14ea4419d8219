/*
 * The critical path of a period, walked from its end to its start: an op leads to what gated its
 * beginning, a host to the op that released it. Every instant of the period is on it once, so parts
 * add up exactly.
 */
#include "predict/prediction.h"

#include <string.h>

typedef struct
{
  const Replay *replay;
  const Engine *engine;
  Vector       *path;  /* PathStep */
  SimTime       floor; /* start of the period */
  SimTime       now;   /* everything later is on the path */
} Walk;

/* STEP, which begins at its start or with the period, if it is there at all. */
static void
add_step (Walk *walk, PathStep step)
{
  step.start = MAX (step.start, walk->floor);
  step.end = walk->now;
  if (step.start >= step.end)
    return;
  vector_push (walk->path, step);
  walk->now = step.start;
}

/* What the host does from START on. */
static void
add_host (Walk *walk, SimTime start, TimePart part, Cause cause)
{
  add_step (walk, (PathStep){ .start = start,
                              .part = part,
                              .cause = cause,
                              .op = ENGINE_NONE,
                              .resource = ENGINE_NONE });
}

static TimePart
part_of (const Replay *replay, OpId op, const ScheduleItem *item)
{
  switch (item->kind)
    {
    case ITEM_COLLECTIVE:
    case ITEM_P2P:
      return replay_op_crosses (replay, op) ? TIME_INTER_NODE : TIME_INTRA_NODE;
    case ITEM_MOVE:
      return item->collective == move_kind (PLACE_HBM, PLACE_HBM) ? TIME_COPY_KERNELS
                                                                  : TIME_HOST_COPIES;
    default:
      if (item->phase == PHASE_OPTIMIZER)
        return TIME_OPTIMIZER;
      if (item->phase == PHASE_OUTER)
        return TIME_OUTER;
      if (item->kind == ITEM_HOST_OP)
        return TIME_HOST;
      return item->kernel->kind == KERNEL_COPY || item->kernel->kind == KERNEL_CODEC
                 ? TIME_COPY_KERNELS
                 : TIME_COMPUTE;
    }
}

TimePart
time_part_of_op (const Replay *replay, OpId op)
{
  return part_of (replay, op, replay_op (replay, op).item);
}

/* From the end of OP to the time when nothing held it back any more but its gate. */
static void
walk_op (Walk *walk, OpId op)
{
  const OpRecord     *record = engine_op_record (walk->engine, op);
  const TraceSegment *segments = engine_segments (walk->engine, record);
  const ReplayOp      what = replay_op (walk->replay, op);
  TimePart            part = part_of (walk->replay, op, what.item);
  gboolean            kernel = what.item->kind == ITEM_KERNEL;
  SimTime             time = record->end;

  for (guint i = record->n_segments; i-- > 0;)
    {
      const TraceSegment *s = &segments[i];

      time -= s->duration;
      add_step (walk, (PathStep){
                          .start = time,
                          .part = kernel && s->cause == CAUSE_LATENCY ? TIME_LATENCY : part,
                          .cause = s->cause,
                          .op = op,
                          .rank = what.rank,
                          .resource = s->cause == CAUSE_RESOURCE ? s->resource : ENGINE_NONE,
                      });
    }
  if (record->drain > 0 && walk->now > walk->floor) /* the time of who holds the SMs */
    add_step (walk, (PathStep){ .start = record->begin - record->drain,
                                .part = time_part_of_op (walk->replay, record->drain_op),
                                .cause = CAUSE_DRAIN,
                                .op = record->drain_op,
                                .rank = replay_op (walk->replay, record->drain_op).rank,
                                .resource = ENGINE_NONE });
}

/*
 * The last time at or before the walk's present when HOST was released from a wait; NULL when there
 * was none.
 */
static const HostBlock *
last_block (const Walk *walk, HostId host)
{
  guint            n, low = 0, high;
  const HostBlock *blocks = engine_host_blocks (walk->engine, host, &n);

  for (high = n; low < high;)
    {
      guint middle = low + (high - low) / 2;

      if (blocks[middle].end <= walk->now)
        low = middle + 1;
      else
        high = middle;
    }
  while (low > 0 && blocks[low - 1].end == blocks[low - 1].start)
    low--;
  return low > 0 ? &blocks[low - 1] : NULL;
}

/* Walks HOST back to the op that released it; ENGINE_NONE at the start of the period. */
static OpId
walk_host (Walk *walk, HostId host)
{
  while (walk->now > walk->floor)
    {
      const HostBlock *block = last_block (walk, host);

      add_host (walk, block != NULL ? block->end : walk->floor, TIME_HOST, CAUSE_HOST);
      if (block == NULL || walk->now <= walk->floor)
        return ENGINE_NONE;
      if (block->op != ENGINE_NONE)
        return block->op;
      add_host (walk, block->start, TIME_MEMORY, CAUSE_MEMORY);
    }
  return ENGINE_NONE;
}

/* ---- the rank where it ends ------------------------------------------------------------------ */

static const char *
make_of (const Replay *replay, guint rank)
{
  const Cluster *cluster = replay_cluster (replay);
  guint          node = cluster_node_of_gpu (cluster, replay_rank (replay, rank)->rank);

  return cluster_node_profile (cluster, node)->id;
}

const char *
make_represented (const Replay *replay, guint rank)
{
  const char *make = make_of (replay, rank);

  for (guint i = 0; i < rank; i++)
    if (g_str_equal (make_of (replay, i), make))
      return NULL;
  return make;
}

/* The one that ends the period last, of those that stand for a make; ties as for exposures. */
static guint
last_rank (const Replay *replay)
{
  guint       last = replay_n_boundaries (replay) - 1, rank = 0;
  SimTime     end = replay_rank_boundary (replay, 0, last);
  const char *best = make_of (replay, 0);

  for (guint i = 1; i < replay_n_ranks (replay); i++)
    {
      const char *make = make_represented (replay, i);
      SimTime     time = replay_rank_boundary (replay, i, last);

      if (make == NULL || time < end || (time == end && strcmp (make, best) > 0))
        continue;
      rank = i;
      end = time;
      best = make;
    }
  return rank;
}

Vector *
critical_path (const Replay *replay)
{
  guint last = replay_n_boundaries (replay) - 1, rank = last_rank (replay);
  Walk  walk = { .replay = replay, .engine = replay_engine (replay) };
  OpId  op;

  /* as long as rank 0's, which is the step */
  walk.now = replay_rank_boundary (replay, rank, last);
  walk.floor = walk.now - (replay_boundary (replay, last) - replay_boundary (replay, last - 1));
  walk.path = vector_new (sizeof (PathStep));
  op = walk_host (&walk, replay_rank (replay, rank)->host);
  while (walk.now > walk.floor)
    {
      const OpRecord *record;

      g_assert (op != ENGINE_NONE);
      record = engine_op_record (walk.engine, op);
      walk_op (&walk, op);
      if (walk.now <= walk.floor)
        break;
      op = record->gate == CAUSE_HOST ? walk_host (&walk, record->gate_host) : record->gate_op;
    }
  return walk.path;
}
