#include "record.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/track-record.h"

#define HEADER    "id,generation,gpu,framework,strategy,nodes,precision,error"
#define TOLERANCE 0.015 /* of an error: what the answer says of runs like one does not move by it */

static const char *
setting_of (const TrainingRow *row, const char *key)
{
  for (guint i = 0; i < row->settings->len; i++)
    {
      const ScenarioOverride *one = &g_array_index (row->settings, ScenarioOverride, i);

      if (strcmp (one->key, key) == 0)
        return one->value;
    }
  return "";
}

/* A GPU of no profile, or of no name where a cluster has one, is of no generation. */
static char *
line_of (const ValidatedTraining *row, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const TrainingRow   *measured = row->measured;
  const char          *named = setting_of (measured, "training.framework");
  const char          *recipe = setting_of (measured, "training.fp8_recipe");
  const char          *precision = setting_of (measured, "training.precision");
  const GpuProfile    *gpu =
      measured->gpu != NULL ? profile_set_gpu (profiles, measured->gpu, NULL, diags) : NULL;
  const FrameworkProfile *framework =
      *named != '\0' ? profile_set_find_framework (profiles, named, diags) : NULL;

  return g_strdup_printf ("%s,%s,%s,%s,%s,%u,%s,%+.3f", measured->id,
                          gpu != NULL ? gpu->architecture : "", gpu != NULL ? gpu->id : "",
                          framework != NULL ? framework->id : "",
                          setting_of (measured, "strategy.name"), measured->n_nodes,
                          track_precision (*recipe != '\0' && strcmp (recipe, "none") != 0,
                                           strcmp (precision, "fp32") == 0),
                          row->error);
}

static char *
path_of_record (void)
{
  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), TRACK_RECORD_FILE, NULL);
}

/* Lines of the record without its header, newly allocated; their places by id. */
static GPtrArray *
read_record (GHashTable *places)
{
  g_autofree char *file = path_of_record (), *text = NULL;
  g_auto (GStrv)   lines = NULL;
  GPtrArray       *all = g_ptr_array_new_with_free_func (g_free);

  if (!g_file_get_contents (file, &text, NULL, NULL))
    return all;
  lines = g_strsplit (text, "\n", -1);
  ck_assert_str_eq (lines[0], HEADER);
  for (guint i = 1; lines[i] != NULL && *lines[i] != '\0'; i++)
    {
      g_hash_table_insert (places, g_strndup (lines[i], strcspn (lines[i], ",")),
                           GUINT_TO_POINTER (all->len + 1));
      g_ptr_array_add (all, g_strdup (lines[i]));
    }
  return all;
}

static void
write_record (const GPtrArray *all)
{
  g_autofree char    *file = path_of_record ();
  g_autoptr (GString) out = g_string_new (HEADER "\n");

  for (guint i = 0; i < all->len; i++)
    g_string_append_printf (out, "%s\n", (const char *) all->pdata[i]);
  ck_assert (g_file_set_contents (file, out->str, (gssize) out->len, NULL));
}

/* All but the error is the same, and that is near. */
static gboolean
is_near (const char *a, const char *b)
{
  const char *of_a = strrchr (a, ','), *of_b = strrchr (b, ',');

  return of_a - a == of_b - b && strncmp (a, b, (gsize) (of_a - a)) == 0
         && fabs (g_ascii_strtod (of_a + 1, NULL) - g_ascii_strtod (of_b + 1, NULL)) <= TOLERANCE;
}

void
record_check (const TrainingValidation *v)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray)  all = read_record (places);
  const gboolean         update = g_getenv ("UPDATE_GOLDEN") != NULL;
  guint                  n_wrong = 0;

  for (guint i = 0; i < v->rows->len; i++)
    {
      const ValidatedTraining *row = &g_array_index (v->rows, ValidatedTraining, i);
      guint            place = GPOINTER_TO_UINT (g_hash_table_lookup (places, row->measured->id));
      g_autofree char *line = NULL;

      if (row->reason != NULL || row->measured->calibrates || row->measured->slow
          || !training_metric_is_speed (row->measured->metric))
        continue;
      line = line_of (row, profiles);
      if (place > 0 && is_near (all->pdata[place - 1], line))
        continue;
      fprintf (stderr, "record: %s, today %s\n",
               place > 0 ? (const char *) all->pdata[place - 1] : "no line", line);
      n_wrong++;
      if (place == 0)
        {
          g_hash_table_insert (places, g_strdup (row->measured->id),
                               GUINT_TO_POINTER (all->len + 1));
          g_ptr_array_add (all, NULL);
          place = all->len;
        }
      g_free (all->pdata[place - 1]);
      all->pdata[place - 1] = g_steal_pointer (&line);
    }
  if (update)
    write_record (all);
  ck_assert_msg (update || n_wrong == 0, "%u lines of " TRACK_RECORD_FILE " are not today's",
                 n_wrong);
}
