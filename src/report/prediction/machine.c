/* What machines read of predictions: rows of CSV, JSON, stores and baselines. */
#include <math.h>

#include "predict/columns.h"
#include "predict/trace/stages.h"
#include "report/answer/sweep.h"
#include "report/document/document.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/network-private.h"
#include "report/prediction/report.h"
#include "report/prediction/results-private.h"
#include "report/regress/regress.h"

/* ---- for a baseline -------------------------------------------------------------------------- */

static gboolean
is_result (const Column *column)
{
  return column->key != NULL && !(column->flags & COLUMN_ORIGIN);
}

/* Of the columns that have a key, or of the results alone: strv, newly allocated. */
static const char **
names_of (gboolean results)
{
  GPtrArray *names = g_ptr_array_new ();

  for (const Column *column = prediction_columns; column->kind != COLUMN_END; column++)
    if (results ? is_result (column) : column->key != NULL)
      g_ptr_array_add (names, (gpointer) column->key);
  g_ptr_array_add (names, NULL);
  return (const char **) g_ptr_array_free (names, FALSE);
}

const char **
report_result_names (void)
{
  return names_of (TRUE);
}

const char **
report_column_names (void)
{
  return names_of (FALSE);
}

GArray *
report_results (const Prediction *prediction)
{
  GArray *results = regress_results_new ();

  for (const Column *column = prediction_columns; column->kind != COLUMN_END; column++)
    if (is_result (column))
      {
        RegressResult result = { .name = g_strdup (column->key), .number = NAN };

        if (column_is_text (column))
          result.text = g_strdup (column_text (column, prediction));
        else if (column_has (column, prediction))
          result.number = column_number (column, prediction);
        g_array_append_val (results, result);
      }
  return results;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Texts in alphabetical order, words and numbers that are none last. */
static gint
compare_values (const Column *column, const Prediction *a, const Prediction *b)
{
  double x, y;

  if (column->kind != COLUMN_TEXT && (!column_has (column, a) || !column_has (column, b)))
    return column_has (column, b) - column_has (column, a);
  if (column_is_text (column))
    return g_strcmp0 (column_text (column, a), column_text (column, b));
  x = column_number (column, a);
  y = column_number (column, b);
  return column->flags & COLUMN_MORE ? (x < y) - (x > y) : (x > y) - (x < y);
}

/* What stands where before. */
typedef struct
{
  Prediction *prediction;
  guint       order;
} Ranked;

static gint
compare_places (gconstpointer a, gconstpointer b, gpointer user)
{
  const Ranked *x = a, *y = b;
  gint          order;

  if (x->prediction->fits != y->prediction->fits)
    return x->prediction->fits ? -1 : 1;
  order = compare_values (user, x->prediction, y->prediction);
  return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

gboolean
report_sort (GPtrArray *predictions, const char *key)
{
  g_autofree Ranked      *places = g_new (Ranked, MAX (predictions->len, 1));
  g_autofree const char **names = report_column_names ();
  const gint              index = name_index (key, names);

  if (index < 0)
    return FALSE;
  for (guint i = 0; i < predictions->len; i++)
    places[i] = (Ranked){ g_ptr_array_index (predictions, i), i };
  g_qsort_with_data (places, (gint) predictions->len, sizeof (Ranked), compare_places,
                     (gpointer) column_find (prediction_columns, names[index]));
  for (guint i = 0; i < predictions->len; i++)
    g_ptr_array_index (predictions, i) = places[i].prediction;
  return TRUE;
}

/* ---- stores ---------------------------------------------------------------------------------- */

ResultColumn *
report_result_columns (void)
{
  GArray *columns = g_array_new (TRUE, TRUE, sizeof (ResultColumn));

  for (const Column *column = prediction_columns; column->kind != COLUMN_END; column++)
    {
      const gboolean     is_whole = column->kind == COLUMN_BOOL || column->kind == COLUMN_COUNT;
      const ResultColumn one = { column->key, column_is_text (column) ? RESULT_TEXT
                                              : is_whole              ? RESULT_WHOLE
                                                                      : RESULT_REAL };

      if (column->key != NULL)
        g_array_append_val (columns, one);
    }
  return (ResultColumn *) (void *) g_array_free (columns, FALSE);
}

gboolean
report_result_is_switch (const char *name)
{
  const Column *column = column_find (prediction_columns, name);

  return column != NULL && column->kind == COLUMN_BOOL;
}

void
report_result_values (const Prediction *prediction, ResultValue *values)
{
  for (const Column *column = prediction_columns; column->kind != COLUMN_END; column++)
    {
      ResultValue value = { 0 };

      if (column->key == NULL)
        continue;
      if (!column_has (column, prediction))
        ;
      else if (column_is_text (column))
        value = (ResultValue){ .type = RESULT_TEXT,
                               .text = g_strdup (column_text (column, prediction)) };
      else if (column->kind == COLUMN_BOOL || column->kind == COLUMN_COUNT)
        value = (ResultValue){ .type = RESULT_WHOLE,
                               .whole = (gint64) column_number (column, prediction) };
      else
        value = (ResultValue){ .type = RESULT_REAL, .real = column_number (column, prediction) };
      *values++ = value;
    }
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

void
report_csv (const GPtrArray *predictions, GString *out)
{
  columns_csv (prediction_columns, rows_of_pointers (predictions), out);
}

static const char *
scenario_of_stage (const Column *column, gconstpointer row)
{
  (void) row;
  return ((const Prediction *) column->of)->scenario;
}

static const char *
strategy_of_stage (const Column *column, gconstpointer row)
{
  (void) row;
  return ((const Prediction *) column->of)->strategy;
}

void
report_stages_csv (const Prediction *self, GString *out)
{
  static const Column program[] = { COLUMNS_OF_THE_PROGRAM (0) };
  const Column of[] = { { "scenario", .kind = COLUMN_TEXT, .text = scenario_of_stage, .of = self },
                        { "strategy", .kind = COLUMN_TEXT, .text = strategy_of_stage,
                          .of = self } };
  g_autoptr (GArray) columns = g_array_new (TRUE, TRUE, sizeof (Column));

  g_array_append_vals (columns, of, G_N_ELEMENTS (of));
  for (const Column *column = stage_columns; column->kind != COLUMN_END; column++)
    g_array_append_val (columns, *column);
  g_array_append_vals (columns, program, G_N_ELEMENTS (program));
  columns_csv ((const Column *) (void *) columns->data, rows_of_array (self->stages), out);
}

static struct json_object *
memory_json (const MemoryUse *use)
{
  struct json_object *categories = json_object_new_object ();
  struct json_object *memory = column_object (memory_columns, use);

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    json_object_object_add (categories, pool_category_name ((PoolCategory) c),
                            json_object_new_uint64 (use->by_category[c]));
  json_object_object_add (memory, "by_category_bytes", categories);
  return memory;
}

/*
 * The object of SECTION in SETTINGS, made when it is not there: those of "strategy.inner" lie in
 * "inner" of "strategy".
 */
static struct json_object *
section_json (struct json_object *settings, const char *section)
{
  g_auto (GStrv)      words = g_strsplit (section, ".", -1);
  struct json_object *at = settings;

  for (guint i = 0; words[i] != NULL; i++)
    {
      struct json_object *next = NULL;

      if (!json_object_object_get_ex (at, words[i], &next))
        {
          next = json_object_new_object ();
          json_object_object_add (at, words[i], next);
        }
      at = next;
    }
  return at;
}

static struct json_object *
settings_json (const GArray *settings)
{
  struct json_object *all = json_object_new_object ();

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);

      json_object_object_add (section_json (all, setting->section), setting->spec->key,
                              json_setting (setting));
    }
  return all;
}

/* Of published runs like P; absent where no table of them is there. */
static void
add_record (struct json_object *confidence, const Prediction *p)
{
  struct json_object *object;
  TrackRecord         record;

  if (!track_record_find (&record, &p->like, NULL))
    return;
  object = json_object_new_object ();
  json_add_count (object, "runs", record.n);
  json_add_number (object, "median_absolute_error", record.median);
  json_add_number (object, "p90_absolute_error", record.p90);
  json_add_text (object, "alike", record.alike != NULL ? record.alike : "");
  json_object_object_add (object, "gpu_seen", json_object_new_boolean (record.gpu));
  json_object_object_add (object, "framework_seen", json_object_new_boolean (record.framework));
  json_object_object_add (confidence, "record", object);
  track_record_clear (&record);
}

/* The sequence that does not fit. */
static struct json_object *
sequence_json (const Prediction *p)
{
  struct json_object *object = json_object_new_object ();

  json_add_count (object, "tokens", (guint64) p->hbm.sequence);
  json_add_count (object, "ranks", p->hbm.sequence_ranks);
  if (p->remedies != NULL && p->remedies->sequence != NULL && *p->remedies->sequence != '\0')
    json_object_object_add (object, "fits_with", json_object_new_string (p->remedies->sequence));
  return object;
}

struct json_object *
prediction_json (const Prediction *p)
{
  struct json_object *result = column_object (prediction_columns, p),
                     *confidence = json_object_new_object ();

  if (p->measured != NULL)
    json_object_object_add (result, "measured_network", network_json (p->measured));
  json_object_object_add (result, "hbm", memory_json (&p->hbm));
  if (p->of_rank.place != NULL)
    json_object_object_add (result, "of_rank", memory_json (&p->of_rank));
  json_object_object_add (result, "host", memory_json (&p->host));
  json_object_object_add (result, "nvme", memory_json (&p->drives));
  json_object_object_add (result, "traffic",
                          column_list (traffic_columns, rows_of_array (p->traffic)));
  json_object_object_add (result, "bindings",
                          column_list (binding_columns, rows_of_array (p->bindings)));
  json_add_count (confidence, "measured", p->n_measured);
  json_add_count (confidence, "datasheet", p->n_datasheet);
  json_add_count (confidence, "estimate", p->n_estimate);
  add_record (confidence, p);
  if (p->unmeasured != NULL)
    json_object_object_add (confidence, "not_measured", json_object_new_string (p->unmeasured));
  json_object_object_add (confidence, "profiles",
                          json_object_new_string (p->profiles != NULL ? p->profiles : ""));
  json_object_object_add (result, "confidence", confidence);
  json_object_object_add (result, "settings", settings_json (p->settings));
  if (p->stages != NULL)
    json_object_object_add (result, "stages",
                            column_list (stage_columns, rows_of_array (p->stages)));
  if (p->hbm.sequence > 0)
    json_object_object_add (result, "too_long", sequence_json (p));
  if (p->remedies != NULL)
    remedies_add_json (p->remedies, result);
  if (p->advice != NULL)
    advice_add_json (p->advice, result);
  return result;
}

void
report_json (const GPtrArray *predictions, GString *out)
{
  struct json_object *root = json_document_new (), *results = json_object_new_array ();

  for (guint i = 0; i < predictions->len; i++)
    json_object_array_add (results, prediction_json (g_ptr_array_index (predictions, i)));
  json_object_object_add (root, "results", results);
  json_finish (root, out);
}
