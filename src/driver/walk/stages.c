/* Units of all stages, and what the runs of their levels see of them. */
#include "driver/walk/driver-private.h"

static void
plan_stage (Driver *self, DriverStage *stage)
{
  guint           n_layers = workload_n_layers (stage->workload);
  UnitGranularity granularity = strategy_granularity (stage->levels[self->n_levels - 1].strategy);
  g_autoptr (GArray) units = plan_units (stage->workload, granularity);
  guint              u = 0;

  stage->unit_offset = self->units->len;
  stage->n_units = units->len;
  stage->places = g_new (UnitPlaces, units->len);
  stage->uses = plan_uses (stage->workload, units, granularity);
  stage->first_unit = g_new (guint, n_layers + 1);
  for (guint l = 0; l <= n_layers; l++)
    {
      stage->first_unit[l] = u;
      while (u < units->len && g_array_index (units, PlanUnit, u).layer == l)
        u++;
      g_assert (l == n_layers || u > stage->first_unit[l]); /* every layer owns parameters */
    }
  g_array_append_vals (self->units, units->data, units->len);
}

void
driver_plan_stages (Driver *self)
{
  self->units = g_array_new (FALSE, FALSE, sizeof (PlanUnit));
  for (guint s = 0; s < self->pipeline.stages; s++)
    plan_stage (self, &self->stages[s]);
  /* the array of all units no longer grows: runs may point into it */
  for (guint s = 0; s < self->pipeline.stages; s++)
    policy_plan_units (self, &self->stages[s]);
  for (guint s = 0; s < self->pipeline.stages; s++)
    for (guint i = 0; i < self->n_levels; i++)
      {
        StrategyRun *run = &self->stages[s].levels[i].run;

        run->units = &g_array_index (self->units, PlanUnit, self->stages[s].unit_offset);
        run->n_units = self->stages[s].n_units;
        run->places = self->stages[s].places;
        run->policy = self->stages[s].policy;
        run->shares = self->stages[s].shares;
        run->matrices = self->stages[s].matrices;
        run->uses = (const PlanUse *) (void *) self->stages[s].uses->data;
        run->n_uses = self->stages[s].uses->len;
      }
  self->owner = g_array_new (FALSE, FALSE, sizeof (guint));
  self->accumulating = g_hash_table_new (NULL, NULL);
}
