/* What DeepSpeed's coordinator keeps for a later use, and autograd with it. */
#include "strategy/emit/common.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-private.h"

static const DeepspeedIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

/* Whether a tied head reads UNIT again. */
static gboolean
is_table (const StrategyRun *run, guint unit)
{
  for (guint i = 0; i < run->n_units; i++)
    if (run->units[i].shares == unit && i != unit)
      return TRUE;
  return FALSE;
}

/* In a framework where it is the whole model's as well. */
static gboolean
table_stays (const StrategyRun *run, guint unit)
{
  return workload_training (run->in->workload)->traits.keeps_table && is_table (run, unit);
}

/*
 * A use is followed by another one within the distance when fewer than that many elements are
 * traversed in between. A table that belongs to the whole model as well (an external parameter,
 * parameter_offload.py) waits for its last use.
 */
void
deepspeed_mark_reuse (StrategyRun *run)
{
  DeepspeedState    *s = run->state;
  gint64             distance = options_of (run)->max_reuse_distance, from_end = 0;
  g_autofree gint64 *next = g_new (gint64, run->n_units); /* where, from the end */

  for (guint i = 0; i < run->n_units; i++)
    next[i] = -1;
  s->reused = g_new (gboolean, run->n_uses);
  for (guint v = run->n_uses; v-- > 0;)
    {
      guint  owner = run->uses[v].owner;
      gint64 numel = (gint64) run->units[owner].elements;

      s->reused[v] =
          options_of (run)->reuse == REUSE_PAPER
              ? run->uses[v].use == USE_RECOMPUTATION
              : next[owner] >= 0 && (from_end - next[owner] < distance || table_stays (run, owner));
      from_end += numel;
      next[owner] = from_end;
    }
}

gboolean
deepspeed_goes_before (const StrategyRun *run, guint use)
{
  const PlanUse        *next = &run->uses[use];
  const DeepspeedIssue *o = options_of (run);

  if (o->reuse == REUSE_PAPER)
    return next->use != USE_BACKWARD
           || !plan_unit_recomputes (run->in->workload, &run->units[next->owner]);
  return o->max_reuse_distance == 0;
}

/*
 * A tied head's backward pass makes a gradient of the table, which autograd holds until it has the
 * embedding's as well (torch/csrc/autograd/input_buffer.cpp, from memory): a parameter's hook runs
 * once.
 */
void
deepspeed_hold_tied_gradient (StrategyRun *run, const UnitSlot *slot)
{
  DeepspeedState *s = run->state;

  if (slot->use == USE_BACKWARD && slot->plan->own_elements == 0 && slot->plan->shares != slot->unit
      && run->units[slot->plan->shares].trainable_elements > 0)
    s->of_table = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                  slot->plan->elements * compute_bytes (run->policy),
                                  "gradient of the tied table");
}

void
deepspeed_join_tied_gradient (StrategyRun *run, guint unit)
{
  DeepspeedState *s = run->state;

  if (s->of_table == SCHEDULE_NONE || !is_table (run, unit))
    return;
  schedule_free (run->b, s->of_table);
  s->of_table = SCHEDULE_NONE;
}
