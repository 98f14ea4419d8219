#include "decide/plan/planned.h"

#include "base/own-memory.h"
#include "replay/bind/plan-memory.h"

static guint64
n_items_of (const Schedule *schedule)
{
  guint64 n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    for (guint section = 0; section < SECTION_N; section++)
      n += schedule_items (schedule, role, (ScheduleSection) section).n;
  return n;
}

static gint64
planned_excess (const Scenario *scenario, const PredictOptions *options, guint64 *n_items,
                DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (ReplayPlan) plan =
      replay_plan_for_memory (scenario, profiles, options->replay.stop, diags);

  if (plan == NULL)
    return BYTES_UNKNOWN;
  if (n_items != NULL)
    *n_items = n_items_of (replay_plan_schedule (plan));
  return replay_plan_excess (plan);
}

gint64
scenario_least_excess (const Scenario *scenario, const PredictOptions *options, DiagList *diags)
{
  g_autoptr (ProfileSet)       profiles = predict_profiles (options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  PlanTotals                   totals;

  if (resolved == NULL || !strategy_check (&resolved->input, resolved->strategy, diags))
    return BYTES_UNKNOWN;
  if (!strategy_expect (&resolved->input, resolved->strategy, &totals))
    return G_MININT64;
  return (gint64) (totals.low[PLACE_HBM]
                   - cluster_gpu_profile (resolved->cluster, 0)->hbm_bytes.value);
}

gint64
scenario_planned_excess (const Scenario *scenario, const PredictOptions *options, guint64 *n_items,
                         DiagList *diags)
{
  for (gboolean alone = FALSE;; alone = TRUE)
    {
      g_autoptr (DiagList) own = diag_list_new ();
      g_autoptr (GError)   error = NULL;
      gint64               excess;
      OwnMemoryEnd         end;

      own_memory_begin (alone);
      excess = planned_excess (scenario, options, n_items, own);
      end = own_memory_end ();
      if (excess == BYTES_UNKNOWN && end == OWN_MEMORY_CROWDED)
        continue;
      if (excess == BYTES_UNKNOWN && end == OWN_MEMORY_OVER)
        {
          own_memory_set_error (&error);
          diag_error (diags, NULL, NULL, "%s", error->message);
        }
      else
        diag_list_append (diags, own);
      return excess;
    }
}
