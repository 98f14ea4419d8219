#include "replay/run/collective-run.h"
#include "replay/step/step-run.h"

gboolean
collective_run_step (const Cluster *cluster, const CollectiveRunItem *items, guint n,
                     SimTime *finish, GError **error)
{
  const guint             n_resources = cluster_n_resources (cluster);
  g_autofree double      *capacity = g_new (double, n_resources), *seconds = g_new (double, n);
  g_autofree StepRunItem *programs = g_new (StepRunItem, n);
  StepProgram           **owned = g_new (StepProgram *, n);
  gboolean                fits = TRUE;

  for (guint i = 0; i < n_resources; i++)
    capacity[i] = cluster_resource (cluster, i)->capacity;
  for (guint i = 0; i < n; i++)
    {
      owned[i] = collective_plan_steps (items[i].plan, items[i].bytes);
      programs[i] = (StepRunItem){ owned[i], items[i].start };
    }
  step_run (capacity, n_resources, programs, n, seconds);
  for (guint i = 0; i < n; i++)
    {
      finish[i] = sim_time_from_seconds (seconds[i]);
      if (finish[i] == SIM_TIME_MAX && fits)
        {
          g_autofree char *where = g_strdup_printf ("collective %u", i);

          engine_set_too_long (error, where);
          fits = FALSE;
        }
      step_program_free (owned[i]);
    }
  g_free (owned);
  return fits;
}
