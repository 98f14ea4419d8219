/* From a scenario to a prediction: the replay, the confidence of its inputs, and the interval that their ranges imply. */
#include "analysis/prediction.h"

static void
add_to_version (GChecksum *sum, const char *key, double value)
{
  g_autofree char *text = number_format_exact (value);
  g_autofree char *line = g_strdup_printf ("%s=%s\n", key, text);

  g_checksum_update (sum, (const guchar *) line, -1);
}

/*
 * What a profile said when it was used: the start of a hash of all its figures, those that it extends included, and of CURVE, its
 * measured products.
 */
static char *
profile_version (const GArray *figures, const GArray *curve)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureView *view = &g_array_index (figures, FigureView, i);

      add_to_version (sum, view->key, view->figure->value);
    }
  for (guint i = 0; curve != NULL && i < curve->len; i++)
    {
      const MatmulPoint *point = &g_array_index (curve, MatmulPoint, i);

      add_to_version (sum, "batch", point->batch);
      add_to_version (sum, "m", point->m);
      add_to_version (sum, "n", point->n);
      add_to_version (sum, "k", point->k);
      add_to_version (sum, "seconds", point->seconds);
    }
  return g_strndup (g_checksum_get_string (sum), 8);
}

static void
count_figures (Prediction *self, ProfileSet *profiles, const char *kind, const char *id, GString *names)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   figures = profile_set_figures (profiles, kind, id, diags);
  g_autofree char     *version = NULL;
  const GpuProfile    *gpu = NULL;

  if (figures == NULL)
    return;
  if (g_str_equal (kind, "gpu"))
    gpu = profile_set_gpu (profiles, id, NULL, diags);
  version = profile_version (figures, gpu != NULL ? gpu->matmul_curve : NULL);
  g_string_append_printf (names, "%s%s %s (%s)", names->len > 0 ? ", " : "", kind, id, version);
  for (guint i = 0; i < figures->len; i++)
    {
      const Figure *figure = g_array_index (figures, FigureView, i).figure;

      if (figure->source == NULL)
        continue;
      self->n_measured += figure->confidence == CONFIDENCE_MEASURED;
      self->n_datasheet += figure->confidence == CONFIDENCE_DATASHEET;
      self->n_estimate += figure->confidence == CONFIDENCE_ESTIMATE;
    }
}

/* Each distinct profile of the cluster once, in the order of nodes. */
static void
fill_confidence (Prediction *self, ProfileSet *profiles, const Cluster *cluster)
{
  g_autoptr (GString)   names = g_string_new (NULL);
  g_autoptr (GPtrArray) seen = g_ptr_array_new ();

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const NodeProfile *profile = cluster_node_profile (cluster, node);
      const LinkProfile *nic = cluster_nic_profile (cluster, node);
      const struct
      {
        const char *kind, *id;
      } uses[] = {
        { "gpu", cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node))->id },
        { "link", cluster_intra_profile (cluster, node)->id },
        { "link", nic != NULL ? nic->id : NULL },
        { "node", profile->id },
      };

      for (guint i = 0; i < G_N_ELEMENTS (uses); i++)
        if (uses[i].id != NULL
            && !g_ptr_array_find_with_equal_func (seen, uses[i].id, g_str_equal, NULL))
          {
            g_ptr_array_add (seen, (gpointer) uses[i].id);
            count_figures (self, profiles, uses[i].kind, uses[i].id, names);
          }
    }
  self->profiles = g_strdup (names->str);
}

/* ---- the interval ------------------------------------------------------------------------------------------------ */

static Prediction *
predict_with (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles,
              Replay **replay, DiagList *diags, GError **error)
{
  Prediction *self = NULL;

  if (replay == NULL && scenario->replay.multiply && scenario->training.lengths == NULL)
    self = predict_multiplied (scenario, options, profiles);
  return self != NULL ? self : predict_replayed (scenario, options, profiles, replay, diags, error);
}

/* Step time with every figure at END of its range. */
static gboolean
step_time_at (const Scenario *scenario, const PredictOptions *options, ProfileEnd end,
              double *seconds, DiagList *diags, GError **error)
{
  g_autoptr (ProfileSet) profiles = profile_set_new_at (options->profile_dir, end);
  PredictOptions         without = *options;
  g_autoptr (Prediction) at = NULL;

  without.replay.keep_pools = FALSE;
  at = predict_with (scenario, &without, profiles, NULL, diags, error);
  if (at == NULL)
    return FALSE;
  *seconds = at->step_time_s;
  return TRUE;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

Prediction *
predict_replayed (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles,
                  Replay **replay, DiagList *diags, GError **error)
{
  g_autoptr (Replay) own = replay_run (scenario, profiles, &options->replay, diags, error);
  Prediction        *self;

  if (own == NULL)
    return NULL;
  self = prediction_from_replay (own);
  fill_confidence (self, profiles, replay_cluster (own));
  if (replay != NULL)
    *replay = g_steal_pointer (&own);
  return self;
}

Prediction *
predict_with_replay (const Scenario *scenario, const PredictOptions *options, Replay **replay,
                     ProfileSet **profiles, DiagList *diags, GError **error)
{
  g_autoptr (ProfileSet) own_profiles = profile_set_new (options->profile_dir);
  g_autoptr (Replay)     own_replay = NULL;
  g_autoptr (Prediction) self = predict_with (scenario, options, own_profiles,
                                              replay != NULL ? &own_replay : NULL, diags, error);

  if (self == NULL)
    return NULL;
  if (options->interval
      && !(step_time_at (scenario, options, PROFILE_OPTIMISTIC, &self->step_time_low_s, diags, error)
           && step_time_at (scenario, options, PROFILE_PESSIMISTIC, &self->step_time_high_s, diags,
                            error)))
    return NULL;
  if (replay != NULL)
    {
      *replay = g_steal_pointer (&own_replay);
      *profiles = g_steal_pointer (&own_profiles);
    }
  return g_steal_pointer (&self);
}

Prediction *
predict (const Scenario *scenario, const PredictOptions *options, DiagList *diags, GError **error)
{
  return predict_with_replay (scenario, options, NULL, NULL, diags, error);
}
