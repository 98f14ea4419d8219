#include "calibrate/leave-one-out.h"

#include <string.h>

#include "base/parallel.h"
#include "calibrate/collectives.h"

/* What the folds share; each writes the rows of its own source only. */
typedef struct
{
  const GPtrArray             *measurements;
  const char                  *profile_dir;
  const CollectiveCalibration *all;     /* the fit to all rows */
  const GPtrArray             *sources; /* names: one fold each */
  char                       **source_of_row;
  ValidatedRow                *rows; /* as predicted by `all` */
} Folds;

static void
add_family (GPtrArray *families, const LinkProfile *link)
{
  g_autofree char *name = link != NULL ? measurement_link_family (link) : NULL;

  if (link != NULL && !g_ptr_array_find_with_equal_func (families, name, g_str_equal, NULL))
    g_ptr_array_add (families, g_steal_pointer (&name));
}

/* Whether row I is of SOURCE and predicted: other sources' rows belong to other threads. */
static gboolean
is_row_of (const Folds *self, guint i, const char *source)
{
  return strcmp (self->source_of_row[i], source) == 0 && self->rows[i].reason == NULL;
}

/* Families that the rows of SOURCE cross. */
static GPtrArray *
families_of_source (const Folds *self, CollectivePredictor *predictor, const char *source)
{
  GPtrArray *families = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < self->measurements->len; i++)
    if (is_row_of (self, i, source))
      {
        add_family (families, collective_predictor_intra (predictor, i));
        add_family (families, collective_predictor_nic (predictor, i));
      }
  return families;
}

static gboolean
is_fitted (const CollectiveCalibration *fit, const LinkProfile *link)
{
  g_autofree char    *name = link != NULL ? measurement_link_family (link) : NULL;
  const FittedFamily *family = link != NULL ? collective_calibration_find (fit, name) : NULL;

  return link == NULL || (family != NULL && family->refusal == NULL);
}

/*
 * Replaces row I by what FIT, which has not seen its source, predicts; where it cannot, the row
 * stays as fitted.
 */
static void
replace_row (Folds *self, guint i, CollectivePredictor *predictor, const CollectiveCalibration *fit)
{
  ValidatedRow *row = &self->rows[i];

  if (is_fitted (fit, collective_predictor_intra (predictor, i))
      && is_fitted (fit, collective_predictor_nic (predictor, i)))
    {
      validated_row_clear (row);
      *row = validated_row_predict (predictor, self->measurements, i);
    }
  else if (row->part == VALIDATION_MAIN)
    row->part = VALIDATION_AS_FITTED;
}

static void
run_fold (guint fold, gpointer user)
{
  Folds                            *self = user;
  const char                       *source = g_ptr_array_index (self->sources, fold);
  g_autoptr (ProfileSet)            profiles = profile_set_new (self->profile_dir);
  g_autoptr (CollectivePredictor)   stock = collective_predictor_new (self->measurements, profiles);
  g_autoptr (GPtrArray)             families = families_of_source (self, stock, source);
  g_autoptr (CollectivePredictor)   predictor = NULL;
  g_autoptr (CollectiveCalibration) fit = NULL;

  collective_calibration_apply (self->all, profiles, families);
  fit = calibrate_collectives (self->measurements, profiles, source, families);
  predictor = collective_predictor_new (self->measurements, profiles);
  for (guint i = 0; i < self->measurements->len; i++)
    if (is_row_of (self, i, source))
      replace_row (self, i, predictor, fit);
}

/* Sources with a healthy row, in the table's order. */
static GPtrArray *
healthy_sources (const Folds *self)
{
  GPtrArray *sources = g_ptr_array_new ();

  for (guint i = 0; i < self->measurements->len; i++)
    {
      const Measurement *row = g_ptr_array_index (self->measurements, i);

      if (row->healthy == HEALTHY_YES
          && !g_ptr_array_find_with_equal_func (sources, self->source_of_row[i], g_str_equal, NULL))
        g_ptr_array_add (sources, self->source_of_row[i]);
    }
  return sources;
}

static void
leave_sources_out (CollectiveValidation *self, const char *profile_dir,
                   const CollectiveCalibration *all, guint n_threads, WorkCount *count)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) sources = NULL;
  Folds                 folds = { .measurements = self->measurements,
                                  .profile_dir = profile_dir,
                                  .all = all,
                                  .rows = (ValidatedRow *) (void *) self->rows->data };

  for (guint i = 0; i < self->measurements->len; i++)
    g_ptr_array_add (names, measurement_source_prefix (g_ptr_array_index (self->measurements, i)));
  folds.source_of_row = (char **) names->pdata;
  folds.sources = sources = healthy_sources (&folds);
  parallel_run (sources->len, n_threads, run_fold, &folds, count);
}

CollectiveValidation *
validate_collectives_left_out (GPtrArray *measurements, const char *profile_dir, guint n_threads,
                               WorkCount *count)
{
  g_autoptr (ProfileSet)            profiles = profile_set_new (profile_dir);
  g_autoptr (CollectiveCalibration) all =
      calibrate_collectives (measurements, profiles, NULL, NULL);
  CollectiveValidation *self = collective_validation_new (measurements, profiles);

  leave_sources_out (self, profile_dir, all, n_threads, count);
  self->left_out = TRUE;
  collective_validation_summarise (self);
  return self;
}
