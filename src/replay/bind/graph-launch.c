#include "replay/bind/graph-launch.h"

/* The device gets it from the host. */
static gboolean
is_issued (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL || item->kind == ITEM_COLLECTIVE || item->kind == ITEM_MOVE
         || item->kind == ITEM_P2P || item->kind == ITEM_HOST_OP;
}

static gboolean
is_of_pass (const ScheduleItem *item)
{
  return item->phase == PHASE_FORWARD || item->phase == PHASE_RECOMPUTE
         || item->phase == PHASE_BACKWARD;
}

/* Neither the embedding, which is layer 0, nor the head behind all blocks. */
static gboolean
is_of_block (const Schedule *schedule, guint role, const ScheduleItem *item)
{
  const gint64 blocks = model_n_blocks (workload_shape (schedule_role_workload (schedule, role)));
  guint        layer;

  if (!item->layer || item->unit == SCHEDULE_NONE)
    return FALSE;
  layer = schedule_unit_layer (schedule, item->unit);
  return layer > 0 && layer <= blocks;
}

/*
 * What a strategy launches among a block's kernels ends the graph, and so does the host's wait for
 * one of them: the rest is another one.
 */
static LaunchKind
next_of_block (GraphLaunch *self, const Schedule *schedule, guint role, const ScheduleItem *item)
{
  guint    layer;
  gboolean inside;

  if (item->kind == ITEM_HOST_WAIT)
    self->open = FALSE;
  if (!is_issued (item))
    return LAUNCH_ALONE;
  if (!is_of_pass (item) || !is_of_block (schedule, role, item))
    {
      self->open = FALSE;
      return LAUNCH_ALONE;
    }
  layer = schedule_unit_layer (schedule, item->unit);
  inside = self->open && self->phase == item->phase && self->layer == layer;
  self->open = TRUE;
  self->phase = item->phase;
  self->layer = layer;
  return inside ? LAUNCH_INSIDE : LAUNCH_FIRST;
}

/* A framework's hooks ran when the graph was captured. */
static LaunchKind
next_of_step (GraphLaunch *self, const ScheduleItem *item)
{
  gboolean inside = self->open;

  if (item->kind == ITEM_STEP || (is_issued (item) && !is_of_pass (item)))
    self->open = FALSE;
  if (!is_of_pass (item) || item->kind == ITEM_STEP)
    return LAUNCH_ALONE;
  if (item->kind == ITEM_HOST_HOOK)
    return LAUNCH_INSIDE;
  if (!is_issued (item))
    return LAUNCH_ALONE;
  self->open = TRUE;
  return inside ? LAUNCH_INSIDE : LAUNCH_FIRST;
}

LaunchKind
graph_launch_next (GraphLaunch *self, const Schedule *schedule, guint role,
                   const ScheduleItem *item)
{
  switch (self->scope)
    {
    case GRAPHS_BLOCK:
      return next_of_block (self, schedule, role, item);
    case GRAPHS_STEP:
      return next_of_step (self, item);
    default:
      return LAUNCH_ALONE;
    }
}

gboolean
graph_launch_check (const Schedule *schedule, GraphScope scope, const SourceMark *mark,
                    DiagList *diags)
{
  for (guint role = 0; scope == GRAPHS_STEP && role < schedule_n_roles (schedule); role++)
    for (guint s = SECTION_FIRST; s < SECTION_N; s++)
      {
        ScheduleItems items = schedule_items (schedule, role, (ScheduleSection) s);

        for (guint i = 0; i < items.n; i++)
          {
            const ScheduleItem *item = &items.items[i];

            if (!is_of_pass (item) || (item->kind != ITEM_HOST_WAIT && item->kind != ITEM_HOST_OP))
              continue;
            diag_error (
                diags, mark,
                "take 'block' or 'none', or keep the host out: no limiter of a strategy, 'p2p: "
                "batched' without a wait, states on the GPU",
                "the host %s during the %s pass, so the passes of a step are no one graph",
                item->kind == ITEM_HOST_OP ? "works" : "waits",
                schedule_phase_name ((SchedulePhase) item->phase));
            return FALSE;
          }
      }
  return TRUE;
}
