#include "analysis/planned.h"

#include "replay/plan-memory.h"

static guint64
n_items_of (const Schedule *schedule)
{
  guint64 n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    for (guint section = 0; section < SECTION_N; section++)
      n += schedule_items (schedule, role, (ScheduleSection) section).n;
  return n;
}

gint64
scenario_planned_excess (const Scenario *scenario, const PredictOptions *options, guint64 *n_items,
                         DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (ReplayPlan) plan = NULL;

  plan = replay_plan_for_memory (scenario, profiles, diags);
  if (plan == NULL)
    return BYTES_UNKNOWN;
  if (n_items != NULL)
    *n_items = n_items_of (replay_plan_schedule (plan));
  return replay_plan_excess (plan);
}
