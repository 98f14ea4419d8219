/*
 * Which figures of the profiles were fitted to training runs or kernel measurements: their source
 * says so in its first word.
 */
#include <string.h>

#include "evidence/tables/training-private.h"

#define FIRST_WORD "calibrated"

static CalibratedFigures *
find_basis (TrainingValidation *self, const char *basis)
{
  CalibratedFigures fresh = { .basis = g_strdup (basis), .figures = g_strdup ("") };

  for (guint i = 0; i < self->calibrated->len; i++)
    {
      CalibratedFigures *known = &g_array_index (self->calibrated, CalibratedFigures, i);

      if (strcmp (known->basis, basis) != 0)
        continue;
      g_free (fresh.basis);
      g_free (fresh.figures);
      return known;
    }
  g_array_append_val (self->calibrated, fresh);
  return &g_array_index (self->calibrated, CalibratedFigures, self->calibrated->len - 1);
}

/* A profile that extends another shares its figures: those count once. */
static void
add_figure (TrainingValidation *self, GHashTable *seen, const char *kind, const char *id,
            const FigureView *view)
{
  g_autofree char   *value = number_format_exact (view->figure->value);
  char              *key = g_strjoin ("\n", kind, view->key, value, view->figure->source, NULL);
  CalibratedFigures *group;
  char              *figures;

  if (!g_hash_table_add (seen, key))
    return;
  group = find_basis (self, view->figure->source);
  figures = g_strdup_printf ("%s%s%s %s: %s", group->figures, group->n > 0 ? ", " : "", kind, id,
                             view->key);
  g_free (group->figures);
  group->figures = figures;
  group->n++;
}

void
training_count_calibrated (TrainingValidation *self, const PredictOptions *options)
{
  static const char *const kinds[] = { "gpu", "node", "framework" };
  g_autoptr (ProfileSet)   profiles = predict_profiles (options);
  g_autoptr (GHashTable)   seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, kinds[k]);

      for (guint i = 0; ids[i] != NULL; i++)
        {
          g_autoptr (DiagList) diags = diag_list_new ();
          g_autoptr (GArray)   figures = profile_set_figures (profiles, kinds[k], ids[i], diags);

          for (guint f = 0; figures != NULL && f < figures->len; f++)
            {
              const FigureView *view = &g_array_index (figures, FigureView, f);

              if (view->figure->source != NULL
                  && g_str_has_prefix (view->figure->source, FIRST_WORD))
                add_figure (self, seen, kinds[k], ids[i], view);
            }
        }
    }
}
