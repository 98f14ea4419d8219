#include "predict/placement-band.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/parallel.h"
#include "cost/collective/library/measured.h"

/* ---- quantiles ------------------------------------------------------------------------------- */

/* Sorts the N > 0 VALUES. */
static QuantileBand
band_of (double *values, guint n)
{
  qsort (values, n, sizeof *values, compare_doubles);
  return (QuantileBand){ quantile_of_sorted (values, n, 0.1), quantile_of_sorted (values, n, 0.5),
                         quantile_of_sorted (values, n, 0.9) };
}

/* The options of draw I, where DRAWS says what another seed changes. */
static void
set_seeds (ClusterOptions *options, const Cluster *first, ClusterDraws draws, guint i)
{
  if (draws & CLUSTER_DRAWS_PLACEMENT)
    options->placement_seed += i;
  if (draws & CLUSTER_DRAWS_ROUTES)
    options->routing_seed = (gint64) cluster_routing_seed (first) + i;
}

/* ---- of a training step ---------------------------------------------------------------------- */

typedef struct
{
  const ResolvedScenario *resolved;
  PredictOptions          options;
  PredictDraw             draw;
  ClusterDraws            draws;
  double                 *seconds; /* [n], of every draw */
  DiagList              **diags;   /* [n] */
  GError                **errors;  /* [n] */
} StepBand;

static void
predict_draw (guint job, gpointer user)
{
  StepBand              *self = user;
  const guint            i = job + 1; /* the first is known */
  g_autoptr (Scenario)   scenario = scenario_copy (self->resolved->scenario);
  g_autoptr (Prediction) drawn = NULL;

  self->diags[i] = diag_list_new ();
  set_seeds (&scenario->cluster, self->resolved->cluster, self->draws, i);
  drawn = self->draw (scenario, &self->options, self->diags[i], &self->errors[i]);
  self->seconds[i] = drawn != NULL ? drawn->step_time_s : 0;
}

/* Moves what the first draw that failed has to say; FALSE where one did. */
static gboolean
take_failures (StepBand *self, guint n, DiagList *diags, GError **error)
{
  gboolean good = TRUE;

  for (guint i = 1; i < n; i++)
    {
      if (good && self->seconds[i] == 0)
        {
          good = FALSE;
          diag_list_append (diags, self->diags[i]);
          if (self->errors[i] != NULL)
            g_propagate_error (error, g_steal_pointer (&self->errors[i]));
        }
      g_clear_error (&self->errors[i]);
      diag_list_free (self->diags[i]);
    }
  return good;
}

gboolean
placement_band_predict (Prediction *self, const ResolvedScenario *resolved,
                        const PredictOptions *options, PredictDraw draw, DiagList *diags,
                        GError **error)
{
  const guint           asked = (guint) resolved->scenario->cluster.placements;
  const ClusterDraws    draws = cluster_draws (resolved->cluster);
  const guint           n = draws != 0 ? asked : 1;
  g_autofree double    *seconds = g_new0 (double, MAX (n, 1));
  g_autofree DiagList **lists = g_new0 (DiagList *, MAX (n, 1));
  g_autofree GError   **errors = g_new0 (GError *, MAX (n, 1));
  StepBand              band = { resolved, *options, draw, draws, seconds, lists, errors };

  if (asked == 0)
    return TRUE;
  band.options.no_band = band.options.times_only = band.options.step_only = TRUE;
  band.options.interval = band.options.replay.keep_pools = FALSE;
  band.options.files = profile_set_files (resolved->profiles);
  band.options.left = NULL;
  band.options.limit = NULL;
  band.options.few = NULL;
  band.options.count = NULL;
  band.options.replay.work = NULL; /* several threads draw */
  seconds[0] = self->step_time_s;
  parallel_run (n - 1, MAX (options->n_threads, 1), predict_draw, &band, NULL);
  if (!take_failures (&band, n, diags, error))
    return FALSE;
  self->n_placements = asked;
  self->band_is_drawn = draws != 0;
  self->step_band = band_of (seconds, n);
  return TRUE;
}

/* ---- of a collective ------------------------------------------------------------------------- */

typedef struct
{
  const CollectiveBandInput *input;
  const Cluster             *first;
  ClusterDraws               draws;
  CollectiveSweep          **sweeps; /* [n - 1], of the draws after the first */
  GError                   **errors; /* [n - 1] */
} SweepBand;

CollectiveSweep *
collective_sweep_again (const CollectiveBandInput *input, const ClusterOptions *wanted,
                        Fidelity fidelity, GError **error)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new_shared (input->profile_dir, NULL, input->files);
  g_autoptr (Cluster)    cluster = cluster_new (wanted, profiles, NULL, diags);
  CollectiveSweepOptions options = *input->options;

  if (cluster == NULL)
    {
      g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                           diag_list_first_message (diags));
      return NULL;
    }
  options.fidelity = fidelity;
  options.count = NULL;
  collective_scale_to_measured (cluster, input->library, TRUE, NULL, diags);
  return collective_sweep (cluster, input->ranks, input->n_ranks, input->library, &options, error);
}

static void
sweep_draw (guint job, gpointer user)
{
  SweepBand                 *self = user;
  const CollectiveBandInput *input = self->input;
  ClusterOptions             wanted = { 0 };

  option_table_copy (cluster_options, input->cluster, &wanted);
  set_seeds (&wanted, self->first, self->draws, job + 1);
  self->sweeps[job] =
      collective_sweep_again (input, &wanted, input->options->fidelity, &self->errors[job]);
  option_table_clear (cluster_options, &wanted);
}

gboolean
placement_band_collective (CollectiveSweep *self, const Cluster *cluster,
                           const CollectiveBandInput *input, GError **error)
{
  const guint                  asked = (guint) input->cluster->placements;
  const ClusterDraws           draws = cluster_draws (cluster);
  const guint                  n = draws != 0 ? asked : 1;
  g_autofree CollectiveSweep **sweeps = g_new0 (CollectiveSweep *, MAX (n, 1));
  g_autofree GError          **errors = g_new0 (GError *, MAX (n, 1));
  SweepBand                    band = { input, cluster, draws, sweeps, errors };
  gboolean                     good = TRUE;

  if (asked == 0)
    return TRUE;
  parallel_run (n - 1, MAX (input->n_threads, 1), sweep_draw, &band, NULL);
  for (guint i = 0; i + 1 < n; i++)
    {
      if (good && errors[i] != NULL)
        g_propagate_error (error, g_steal_pointer (&errors[i]));
      good = good && sweeps[i] != NULL;
      g_clear_error (&errors[i]);
    }
  if (good)
    {
      /* The bands of SELF's samples over SELF and the N - 1 others. */
      g_autofree double *times = g_new (double, n);

      for (guint s = 0; s < self->samples->len; s++)
        {
          CollectiveSample *sample = &g_array_index (self->samples, CollectiveSample, s);

          times[0] = sample->time;
          for (guint i = 1; i < n; i++)
            times[i] = g_array_index (sweeps[i - 1]->samples, CollectiveSample, s).time;
          sample->time_band = band_of (times, n);
        }
    }
  self->n_placements = good ? asked : 0;
  self->is_drawn = draws != 0;
  for (guint i = 0; i + 1 < n; i++)
    collective_sweep_free (sweeps[i]);
  return good;
}
