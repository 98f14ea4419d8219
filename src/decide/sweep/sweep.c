#include "decide/sweep/sweep.h"

#include <pthread.h>
#include <string.h>

#include "base/file/file-roles.h"
#include "base/parallel.h"
#include "predict/few-runs.h"
#include "predict/leavings.h"

/* ---- a grid as a source ---------------------------------------------------------------------- */

typedef struct
{
  SweepSource source; /* the first member */
  const Vary *vary;
  GPtrArray  *keys;
} GridSource;

static char **
grid_values (SweepSource *source, guint64 point, char **label, GError **error)
{
  const GridSource *self = (GridSource *) source;
  const guint       n = vary_n_axes (self->vary);
  char            **values = g_new0 (char *, n + 1);
  GString          *text = g_string_new (NULL);

  (void) error;
  for (guint a = 0; a < n; a++)
    {
      g_autofree char *key = scenario_short_key (vary_key (self->vary, a));

      values[a] = vary_value (self->vary, point, a);
      g_string_append_printf (text, "%s%s=%s", a > 0 ? ", " : "", key, values[a]);
    }
  *label = g_string_free (text, FALSE);
  return values;
}

static void
grid_free (SweepSource *source)
{
  GridSource *self = (GridSource *) source;

  g_ptr_array_unref (self->keys);
  g_free (self);
}

SweepSource *
sweep_source_of_vary (const Vary *vary)
{
  GridSource *self = g_new0 (GridSource, 1);

  self->vary = vary;
  self->keys = g_ptr_array_new ();
  for (guint a = 0; a < vary_n_axes (vary); a++)
    g_ptr_array_add (self->keys, (gpointer) vary_key (vary, a));
  g_ptr_array_add (self->keys, NULL);
  self->source = (SweepSource){ .options = (const char *const *) self->keys->pdata,
                                .origin = "--vary",
                                .length = vary_length (vary),
                                .values = grid_values,
                                .free = grid_free };
  return &self->source;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* One point on its way. */
typedef struct
{
  guint64 index;
  guint   base;
  char  **values, *label;
} Point;

static void
point_clear (Point *self)
{
  g_strfreev (self->values);
  g_free (self->label);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Point, point_clear)

guint64
sweep_length (const SweepPlan *plan)
{
  guint64 n;

  return g_uint64_checked_mul (&n, plan->source->length, plan->bases->len) ? n : G_MAXUINT64;
}

static gboolean
point_read (Point *self, const SweepPlan *plan, guint64 index, GError **error)
{
  self->index = index;
  self->base = (guint) (index % plan->bases->len);
  self->values = plan->source->values (plan->source, index / plan->bases->len, &self->label, error);
  return self->values != NULL;
}

/* Of a scenario that cannot be: of what it was to be. */
static char *
digest_of_values (const Scenario *base, char *const *values, InputFiles *files)
{
  g_autofree char *key = scenario_key (base, files), *all = g_strjoinv ("\n", (char **) values),
                  *text = g_strconcat (key, "\n", all, NULL);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

static Scenario *
point_scenario (const Point *point, const SweepPlan *plan, char **digest, DiagList *diags)
{
  const Scenario    *base = g_ptr_array_index (plan->bases, point->base);
  g_autoptr (GArray) overrides = g_array_new (FALSE, TRUE, sizeof (ScenarioOverride));
  Scenario          *scenario;

  for (guint i = 0; plan->source->options[i] != NULL; i++)
    {
      const ScenarioOverride override = { .key = plan->source->options[i],
                                          .value = point->values[i],
                                          .origin = plan->source->origin };

      if (*point->values[i] != '\0')
        g_array_append_val (overrides, override);
    }
  scenario =
      scenario_with (base, plan->strategies, (const ScenarioOverride *) (void *) overrides->data,
                     overrides->len, diags);
  if (scenario == NULL)
    {
      *digest = digest_of_values (base, point->values, plan->predict.files);
      return NULL;
    }
  if (point->label != NULL && *point->label != '\0')
    {
      g_free (scenario->name);
      scenario->name = g_strdup_printf ("%s, %s", base->name, point->label);
    }
  *digest = scenario_key (scenario, plan->predict.files);
  return scenario;
}

Scenario *
sweep_scenario (const SweepPlan *plan, guint64 index, char **digest, DiagList *diags,
                GError **error)
{
  g_auto (Point) point = { 0 };

  return point_read (&point, plan, index, error) ? point_scenario (&point, plan, digest, diags)
                                                 : NULL;
}

/* ---- work ------------------------------------------------------------------------------------ */

typedef struct
{
  const SweepPlan   *plan;
  const char *const *base_ids;
  SweepDesk         *desk;
  Leavings          *left; /* all threads' */
  pthread_mutex_t    lock; /* points are taken, and the source asked, in one order */
  GError            *error;
} Work;

static gboolean
take_point (Work *self, Point *point)
{
  guint64  index;
  gboolean taken;

  pthread_mutex_lock (&self->lock);
  taken = self->error == NULL && self->desk->next (self->desk, &index)
          && point_read (point, self->plan, index, &self->error);
  pthread_mutex_unlock (&self->lock);
  return taken;
}

/* NULL: predicted. Newly allocated. */
static char *
failure_of (const Prediction *prediction, const DiagList *diags, const GError *error)
{
  char *reason = diag_list_first_of (diags, DIAG_ERROR);

  if (reason == NULL && prediction == NULL)
    reason = g_strdup (error != NULL ? error->message : "no prediction");
  return reason;
}

/* TRUE, and the sweep ends, where a run failed by no fault of its own, or was cut. */
static gboolean
is_disturbed (Work *self)
{
  GError *error = NULL;

  if (stop_cuts (self->plan->predict.replay.stop))
    return TRUE;
  if (file_roles_check (&error))
    return FALSE;
  pthread_mutex_lock (&self->lock);
  if (self->error == NULL)
    self->error = g_steal_pointer (&error);
  pthread_mutex_unlock (&self->lock);
  g_clear_error (&error);
  return TRUE;
}

static void
run_point (Work *self, Point *point, FewRuns *few)
{
  const SweepPlan       *plan = self->plan;
  PredictOptions         options = plan->predict;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *digest = NULL;
  g_autoptr (Scenario)   scenario = point_scenario (point, plan, &digest, diags);
  g_autoptr (Prediction) prediction = NULL;
  g_autoptr (GError)     error = NULL;
  ResultRow             *row;

  if (!self->desk->wants (self->desk, digest, point->index))
    return;
  options.few = few;
  options.left = self->left;
  if (scenario != NULL)
    prediction = predict (scenario, &options, diags, &error);
  if (prediction == NULL && is_disturbed (self))
    return;
  row = g_new0 (ResultRow, 1);
  row->digest = g_steal_pointer (&digest);
  row->base = g_strdup (self->base_ids[point->base]);
  row->point = point->index;
  row->failure = failure_of (prediction, diags, error);
  row->warning = diag_list_first_of (diags, DIAG_WARNING);
  row->settings = g_steal_pointer (&point->values);
  if (row->failure == NULL)
    {
      while (plan->columns[row->n_values].name != NULL)
        row->n_values++;
      row->values = g_new0 (ResultValue, row->n_values);
      plan->results (prediction, row->values);
    }
  self->desk->put (self->desk, row);
}

static void
work (guint thread, gpointer user)
{
  g_autoptr (FewRuns) few = few_runs_new ();
  gboolean            going = TRUE;

  (void) thread;
  while (going)
    {
      g_auto (Point) point = { 0 };

      going = take_point (user, &point);
      if (going)
        run_point (user, &point, few);
    }
}

gboolean
sweep_work (const SweepPlan *plan, const char *const *base_ids, SweepDesk *desk, guint n_threads,
            GError **error)
{
  g_autoptr (Leavings) left = leavings_new ();
  Work                 self = { .plan = plan, .base_ids = base_ids, .desk = desk, .left = left };

  pthread_mutex_init (&self.lock, NULL);
  parallel_run (n_threads, n_threads, work, &self, NULL);
  pthread_mutex_destroy (&self.lock);
  if (self.error == NULL)
    return TRUE;
  g_propagate_error (error, self.error);
  return FALSE;
}

void
sweep_count_left (const SweepPlan *plan, SweepKeeper *keeper)
{
  SweepDesk *desk = sweep_keeper_desk (keeper);
  guint64    point;

  while (sweep_keeper_left (keeper, &point))
    {
      g_autoptr (DiagList) none = diag_list_new ();
      g_autofree char     *digest = NULL;
      Scenario            *scenario = sweep_scenario (plan, point, &digest, none, NULL);

      if (digest != NULL)
        desk->wants (desk, digest, point);
      g_clear_pointer (&scenario, scenario_free);
    }
}

/* ---- what it depends on ---------------------------------------------------------------------- */

static void
hash_file (const char *path, GChecksum *sum)
{
  g_autofree char *text = NULL;
  gsize            length;

  if (file_roles_read (path) != 0 || !g_file_get_contents (path, &text, &length, NULL))
    return;
  g_checksum_update (sum, (const guchar *) &length, sizeof length);
  g_checksum_update (sum, (const guchar *) text, (gssize) length);
}

/* All files below FOLDER, by their names. */
static void
hash_folder (const char *folder, GChecksum *sum)
{
  g_auto (GStrv) names = folder_entries (folder, "");

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);

      g_checksum_update (sum, (const guchar *) names[i], -1);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        hash_folder (path, sum);
      else if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
        hash_file (path, sum);
    }
}

char *
sweep_inputs_hash (const char *path, const char *const *files)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree char      *shipped = layout_data_file ("hwprofiles");
  g_autofree char      *models = layout_data_file ("workloads" G_DIR_SEPARATOR_S "models");
  g_auto (GStrv) dirs = g_strsplit (path != NULL ? path : shipped, G_SEARCHPATH_SEPARATOR_S, -1);

  for (guint i = 0; dirs[i] != NULL; i++)
    hash_folder (dirs[i], sum);
  hash_folder (models, sum);
  for (guint i = 0; files != NULL && files[i] != NULL; i++)
    hash_file (files[i], sum);
  return g_strdup (g_checksum_get_string (sum));
}
