/*
 * What a profiler's bars are: the durations of a rank's ops of a kind, added up, whether others run
 * at the same time or not. A collective counts from the arrival of its last rank.
 */
#include "predict/prediction.h"

static gboolean
kind_of (const ScheduleItem *item, BusyKind *kind)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      *kind = BUSY_KERNELS;
      return TRUE;
    case ITEM_COLLECTIVE:
    case ITEM_P2P:
      *kind = BUSY_COMMUNICATION;
      return TRUE;
    case ITEM_MOVE:
      *kind = move_to (item->collective) == PLACE_HBM ? BUSY_FROM_HOST : BUSY_TO_HOST;
      return (move_from (item->collective) == PLACE_HBM) != (*kind == BUSY_FROM_HOST);
    default:
      return FALSE;
    }
}

/* The simulated rank that is world rank RANK. */
static guint
simulated (const Replay *replay, guint rank)
{
  guint i = 0;

  while (replay_rank (replay, i)->rank != rank)
    i++;
  return i;
}

void
busy_shares (const Replay *replay, guint rank, double percent[BUSY_N])
{
  const Engine *engine = replay_engine (replay);
  guint         own = simulated (replay, rank), last = replay_n_boundaries (replay) - 1;
  SimTime       floor = replay_boundary (replay, last - 1);
  SimTime       ceiling = replay_boundary (replay, last);
  SimTime       busy[BUSY_N] = { 0 }, all = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      ReplayOp        what;
      BusyKind        kind;

      if (record->end <= floor || record->begin >= ceiling)
        continue;
      what = replay_op (replay, op);
      if (kind_of (what.item, &kind) && replay_op_has_member (replay, &what, own))
        busy[kind] += MIN (record->end, ceiling) - MAX (record->begin, floor);
    }
  for (guint k = 0; k < BUSY_N; k++)
    all += busy[k];
  for (guint k = 0; k < BUSY_N; k++)
    percent[k] = all > 0 ? 100 * (double) busy[k] / (double) all : 0;
}
