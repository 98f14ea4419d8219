/* CSV and JSON: one table of fields for both. */
#include <string.h>

#include "report/json-private.h"
#include "report/remedies-private.h"
#include "report/report.h"

#define GIB 1073741824.0

typedef enum
{
  FIELD_TEXT,
  FIELD_BOOL,
  FIELD_NUMBER,
  FIELD_RATE,     /* a number of which more is better */
  FIELD_OPTIONAL, /* a number; 0 = not asked for: empty in CSV, null in JSON */
  FIELD_SETTING,  /* an option of the scenario; empty and null where it is unset */
} FieldType;

typedef struct
{
  const char *name;
  FieldType   type;
  const char *(*text) (const Prediction *p);
  double (*number) (const Prediction *p);
  const char *section; /* of a setting */
} Field;

#define TEXT_OF(name, expression)                      \
  static const char *text_##name (const Prediction *p) \
  {                                                    \
    return expression;                                 \
  }
#define NUMBER_OF(name, expression)                 \
  static double number_##name (const Prediction *p) \
  {                                                 \
    return (double) (expression);                   \
  }

TEXT_OF (scenario, p->scenario)
TEXT_OF (strategy, p->strategy)
TEXT_OF (binding_resource, p->binding_resource)
TEXT_OF (model, p->model)
TEXT_OF (cluster, p->cluster)
TEXT_OF (flops_convention, p->flops_convention)
TEXT_OF (hbm_peak_op, p->hbm.peak_op)
NUMBER_OF (fits, p->fits)
NUMBER_OF (step_time_s, p->step_time_s)
NUMBER_OF (tokens_per_s_per_gpu, p->tokens_per_s_per_gpu)
NUMBER_OF (mfu_percent, p->mfu_percent)
NUMBER_OF (hardware_tflops_per_gpu, p->hardware_tflops_per_gpu)
NUMBER_OF (peak_allocated_gib, p->hbm.allocated / GIB)
NUMBER_OF (peak_reserved_gib, p->hbm.reserved / GIB)
NUMBER_OF (peak_device_gib, p->hbm.device / GIB)
NUMBER_OF (peak_host_gib, p->host.device / GIB)
NUMBER_OF (inter_node_bytes_per_gpu, p->inter_node_bytes_per_gpu)
NUMBER_OF (exposed_comm_s, p->exposed_comm_s)
NUMBER_OF (n_gpus, p->n_gpus)
NUMBER_OF (tokens_per_s, p->tokens_per_s)
NUMBER_OF (samples_per_s, p->samples_per_s)
NUMBER_OF (model_tflops_per_gpu, p->model_tflops_per_gpu)
NUMBER_OF (hfu_percent, p->hfu_percent)
NUMBER_OF (intra_node_bytes_per_gpu, p->intra_node_bytes_per_gpu)
NUMBER_OF (host_link_bytes_per_gpu, p->host_link_bytes_per_gpu)
NUMBER_OF (inter_node_bytes_per_nic, p->inter_node_bytes_per_nic)
NUMBER_OF (steady, p->steady)
NUMBER_OF (step_time_low_s, p->step_time_low_s)
NUMBER_OF (step_time_high_s, p->step_time_high_s)
NUMBER_OF (time_compute_s, p->parts[TIME_COMPUTE])
NUMBER_OF (time_optimizer_s, p->parts[TIME_OPTIMIZER])
NUMBER_OF (time_copy_kernels_s, p->parts[TIME_COPY_KERNELS])
NUMBER_OF (time_inter_node_s, p->parts[TIME_INTER_NODE])
NUMBER_OF (time_intra_node_s, p->parts[TIME_INTRA_NODE])
NUMBER_OF (time_host_copies_s, p->parts[TIME_HOST_COPIES])
NUMBER_OF (time_latency_s, p->parts[TIME_LATENCY])
NUMBER_OF (time_host_s, p->parts[TIME_HOST])
NUMBER_OF (time_memory_s, p->parts[TIME_MEMORY])
NUMBER_OF (time_skew_s, p->parts[TIME_SKEW])
NUMBER_OF (time_outer_s, p->parts[TIME_OUTER])
NUMBER_OF (bubble_s, p->bubble_s)
NUMBER_OF (token_imbalance, p->imbalance)
NUMBER_OF (data_ranks, p->n_data_ranks)
TEXT_OF (profiles, p->profiles)
TEXT_OF (program_version, ((void) p, layout_program_version ()))
NUMBER_OF (schema, ((void) p, RESULTS_SCHEMA))

#define TEXT(field)                                          \
  {                                                          \
    .name = #field, .type = FIELD_TEXT, .text = text_##field \
  }
#define NUMBER_AS(field, type_)                             \
  {                                                         \
    .name = #field, .type = type_, .number = number_##field \
  }
#define BOOL(field)     NUMBER_AS (field, FIELD_BOOL)
#define NUMBER(field)   NUMBER_AS (field, FIELD_NUMBER)
#define RATE(field)     NUMBER_AS (field, FIELD_RATE)
#define OPTIONAL(field) NUMBER_AS (field, FIELD_OPTIONAL)
#define SETTING(section_, key)                               \
  {                                                          \
    .name = #key, .type = FIELD_SETTING, .section = section_ \
  }

/*
 * The names of prediction_result_names () first and in their order; new ones are appended, none is
 * renamed.
 */
static const Field fields[] = {
  TEXT (scenario),
  TEXT (strategy),
  BOOL (fits),
  NUMBER (step_time_s),
  RATE (tokens_per_s_per_gpu),
  RATE (mfu_percent),
  RATE (hardware_tflops_per_gpu),
  NUMBER (peak_allocated_gib),
  NUMBER (peak_reserved_gib),
  NUMBER (peak_device_gib),
  NUMBER (peak_host_gib),
  NUMBER (inter_node_bytes_per_gpu),
  NUMBER (exposed_comm_s),
  TEXT (binding_resource),
  TEXT (model),
  TEXT (cluster),
  NUMBER (n_gpus),
  RATE (tokens_per_s),
  RATE (samples_per_s),
  RATE (model_tflops_per_gpu),
  RATE (hfu_percent),
  TEXT (flops_convention),
  NUMBER (intra_node_bytes_per_gpu),
  NUMBER (host_link_bytes_per_gpu),
  NUMBER (inter_node_bytes_per_nic),
  TEXT (hbm_peak_op),
  BOOL (steady),
  OPTIONAL (step_time_low_s),
  OPTIONAL (step_time_high_s),
  NUMBER (time_compute_s),
  NUMBER (time_optimizer_s),
  NUMBER (time_copy_kernels_s),
  NUMBER (time_inter_node_s),
  NUMBER (time_intra_node_s),
  NUMBER (time_host_copies_s),
  NUMBER (time_latency_s),
  NUMBER (time_host_s),
  NUMBER (time_memory_s),
  NUMBER (time_skew_s),
  NUMBER (bubble_s),
  OPTIONAL (token_imbalance),
  /* what it is of */
  SETTING ("training", seq_len),
  SETTING ("training", micro_batch),
  SETTING ("training", grad_accum),
  SETTING ("mesh", shard),
  NUMBER (data_ranks),
  SETTING ("mesh", tp),
  SETTING ("mesh", sp),
  SETTING ("mesh", cp),
  SETTING ("mesh", ep),
  SETTING ("mesh", pp),
  SETTING ("mesh", vp),
  SETTING ("training", precision),
  SETTING ("training", activation_checkpointing),
  SETTING ("training", attention),
  SETTING ("training", compile),
  SETTING ("training", optimizer),
  TEXT (profiles),
  TEXT (program_version),
  NUMBER (schema),
  NUMBER (time_outer_s),
};

static char *
field_text (const Field *field, const Prediction *p)
{
  switch (field->type)
    {
    case FIELD_TEXT:
      return g_strdup (field->text (p) != NULL ? field->text (p) : "");
    case FIELD_BOOL:
      return g_strdup (field->number (p) != 0 ? "1" : "0");
    case FIELD_OPTIONAL:
      return field->number (p) != 0 ? number_format_exact (field->number (p)) : g_strdup ("");
    case FIELD_SETTING:
      {
        const ScenarioSetting *setting = prediction_setting (p, field->section, field->name);

        if (setting != NULL && setting->spec->type == OPTION_BOOL)
          return g_strdup (g_str_equal (setting->value, "true") ? "1" : "0");
        return g_strdup (setting != NULL ? setting->value : "");
      }
    default:
      return number_format_exact (field->number (p));
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

const char **
report_column_names (void)
{
  const char **names = g_new0 (const char *, G_N_ELEMENTS (fields) + 1);

  for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
    names[f] = fields[f].name;
  return names;
}

/* Settings that are whole numbers count as numbers; what is unset comes last. */
static gint
compare_settings (const ScenarioSetting *a, const ScenarioSetting *b)
{
  if (a == NULL || b == NULL)
    return (a == NULL) - (b == NULL);
  if (a->spec->type == OPTION_INT)
    {
      gint64 x = g_ascii_strtoll (a->value, NULL, 10), y = g_ascii_strtoll (b->value, NULL, 10);

      return (x > y) - (x < y);
    }
  return strcmp (a->value, b->value);
}

static gint
compare_field (const Field *field, const Prediction *a, const Prediction *b)
{
  double x, y;

  if (field->type == FIELD_TEXT)
    return g_strcmp0 (field->text (a), field->text (b));
  if (field->type == FIELD_SETTING)
    return compare_settings (prediction_setting (a, field->section, field->name),
                             prediction_setting (b, field->section, field->name));
  x = field->number (a);
  y = field->number (b);
  return field->type == FIELD_RATE || field->type == FIELD_BOOL ? (x < y) - (x > y)
                                                                : (x > y) - (x < y);
}

/* What stands where before. */
typedef struct
{
  Prediction *prediction;
  guint       order;
} Place;

static gint
compare_places (gconstpointer a, gconstpointer b, gpointer user)
{
  const Place *x = a, *y = b;
  gint         order;

  if (x->prediction->fits != y->prediction->fits)
    return x->prediction->fits ? -1 : 1;
  order = compare_field (user, x->prediction, y->prediction);
  return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

gboolean
report_sort (GPtrArray *predictions, const char *key)
{
  g_autofree Place       *places = g_new (Place, MAX (predictions->len, 1));
  g_autofree const char **names = report_column_names ();
  const gint              index = name_index (key, names);

  if (index < 0)
    return FALSE;
  for (guint i = 0; i < predictions->len; i++)
    places[i] = (Place){ g_ptr_array_index (predictions, i), i };
  g_qsort_with_data (places, (gint) predictions->len, sizeof (Place), compare_places,
                     (gpointer) &fields[index]);
  for (guint i = 0; i < predictions->len; i++)
    g_ptr_array_index (predictions, i) = places[i].prediction;
  return TRUE;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void
report_csv (const GPtrArray *predictions, GString *out)
{
  const char *names[G_N_ELEMENTS (fields)];

  for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
    names[f] = fields[f].name;
  csv_append_row (out, names, G_N_ELEMENTS (fields));
  for (guint i = 0; i < predictions->len; i++)
    {
      char *cells[G_N_ELEMENTS (fields)];

      for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
        cells[f] = field_text (&fields[f], g_ptr_array_index (predictions, i));
      csv_append_row (out, (const char *const *) cells, G_N_ELEMENTS (fields));
      for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
        g_free (cells[f]);
    }
}

/* A whole number, true or false, or a text: quantities keep their units. */
static struct json_object *
setting_json (const ScenarioSetting *setting)
{
  if (setting == NULL)
    return NULL;
  switch (setting->spec->type)
    {
    case OPTION_INT:
      return json_object_new_int64 (g_ascii_strtoll (setting->value, NULL, 10));
    case OPTION_BOOL:
      return json_object_new_boolean (g_str_equal (setting->value, "true"));
    default:
      return json_object_new_string (setting->value);
    }
}

static struct json_object *
field_json (const Field *field, const Prediction *p)
{
  g_autofree char *text = field_text (field, p);

  switch (field->type)
    {
    case FIELD_TEXT:
      return json_object_new_string (text);
    case FIELD_BOOL:
      return json_object_new_boolean (field->number (p) != 0);
    case FIELD_OPTIONAL:
      return *text != '\0' ? json_object_new_double_s (field->number (p), text) : NULL;
    case FIELD_SETTING:
      return setting_json (prediction_setting (p, field->section, field->name));
    default:
      return json_object_new_double_s (field->number (p), text);
    }
}

static struct json_object *
memory_json (const MemoryUse *use)
{
  struct json_object *categories = json_object_new_object (), *memory = json_object_new_object ();

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    json_object_object_add (categories, pool_category_name ((PoolCategory) c),
                            json_object_new_uint64 (use->by_category[c]));
  json_add_text (memory, "place", use->place);
  json_add_count (memory, "capacity_bytes", use->capacity);
  json_add_count (memory, "peak_bytes", use->device);
  json_add_count (memory, "waiting_bytes", use->waiting);
  json_add_count (memory, "allocated_bytes", use->allocated);
  json_add_count (memory, "reserved_bytes", use->reserved);
  json_add_count (memory, "cached_bytes", use->cached);
  json_add_count (memory, "allocation_retries", use->n_retries);
  json_add_count (memory, "excess_bytes", use->excess);
  json_add_text (memory, "peak_op", use->peak_op);
  json_object_object_add (memory, "overflow_op",
                          use->overflow_op != NULL ? json_object_new_string (use->overflow_op)
                                                   : NULL);
  json_object_object_add (memory, "by_category_bytes", categories);
  return memory;
}

static struct json_object *
number_json (double value)
{
  g_autofree char *text = number_format_exact (value);

  return json_object_new_double_s (value, text);
}

static struct json_object *
traffic_json (const GArray *traffic)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < traffic->len; i++)
    {
      const TrafficUse   *use = &g_array_index (traffic, TrafficUse, i);
      struct json_object *entry = json_object_new_object ();

      json_add_text (entry, "group", use->group);
      json_add_text (entry, "collective", use->collective);
      json_object_object_add (entry, "calls", number_json (use->calls));
      json_object_object_add (entry, "size_bytes", number_json (use->bytes));
      json_object_object_add (entry, "inter_node_bytes_per_gpu",
                              number_json (use->inter_node_per_gpu));
      json_object_object_add (entry, "intra_node_bytes_per_gpu",
                              number_json (use->intra_node_per_gpu));
      json_object_object_add (entry, "exposed_s", number_json (use->exposed_s));
      json_object_array_add (list, entry);
    }
  return list;
}

static struct json_object *
bindings_json (const GArray *bindings)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < bindings->len; i++)
    {
      const BindingUse   *use = &g_array_index (bindings, BindingUse, i);
      struct json_object *entry = json_object_new_object ();

      json_add_text (entry, "resource", use->resource);
      json_object_object_add (entry, "seconds", number_json (use->seconds));
      json_object_object_add (entry, "utilisation", number_json (use->utilisation));
      json_object_array_add (list, entry);
    }
  return list;
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
                              setting_json (setting));
    }
  return all;
}

static struct json_object *
prediction_json (const Prediction *p)
{
  struct json_object *result = json_object_new_object (), *confidence = json_object_new_object ();

  for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
    json_object_object_add (result, fields[f].name, field_json (&fields[f], p));
  json_object_object_add (result, "hbm", memory_json (&p->hbm));
  json_object_object_add (result, "host", memory_json (&p->host));
  json_object_object_add (result, "traffic", traffic_json (p->traffic));
  json_object_object_add (result, "bindings", bindings_json (p->bindings));
  json_add_count (confidence, "measured", p->n_measured);
  json_add_count (confidence, "datasheet", p->n_datasheet);
  json_add_count (confidence, "estimate", p->n_estimate);
  json_object_object_add (confidence, "profiles",
                          json_object_new_string (p->profiles != NULL ? p->profiles : ""));
  json_object_object_add (result, "confidence", confidence);
  json_object_object_add (result, "settings", settings_json (p->settings));
  if (p->remedies != NULL)
    remedies_json_add (p->remedies, result);
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
