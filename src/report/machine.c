/* CSV and JSON: one table of fields for both. */
#include <math.h>
#include <string.h>

#include "report/advice-private.h"
#include "report/fields-private.h"
#include "report/network-private.h"
#include "report/regress.h"
#include "report/remedies-private.h"
#include "report/report.h"
#include "report/results-private.h"
#include "report/stages.h"
#include "report/sweep.h"

#define GIB 1073741824.0

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Prediction, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Prediction, number_##name, expression)

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
NUMBER_OF (peak_nvme_gib, p->drives.device / GIB)
NUMBER_OF (bubble_s, p->bubble_s)
NUMBER_OF (token_imbalance, p->imbalance)
NUMBER_OF (data_ranks, p->n_data_ranks)
NUMBER_OF (replayed_micro_batches, p->n_replayed)
NUMBER_OF (replayed_steps, p->n_steps_replayed)
NUMBER_OF (round_steps, p->n_steps)
NUMBER_OF (network_scale, p->network_scale)
TEXT_OF (network, p->network)
NUMBER_OF (placements, p->n_placements)
NUMBER_OF (step_time_p10_s, p->step_band.p10)
NUMBER_OF (step_time_p50_s, p->step_band.p50)
NUMBER_OF (step_time_p90_s, p->step_band.p90)
NUMBER_OF (tokens_per_s_per_gpu_p10, prediction_tokens_at (p, p->step_band.p90))
NUMBER_OF (tokens_per_s_per_gpu_p50, prediction_tokens_at (p, p->step_band.p50))
NUMBER_OF (tokens_per_s_per_gpu_p90, prediction_tokens_at (p, p->step_band.p10))
TEXT_OF (profiles, p->profiles)
TEXT_OF (caveats, p->caveats)

#define TEXT(field)                                          \
  {                                                          \
    .name = #field, .type = FIELD_TEXT, .text = text_##field \
  }
/* What the results are of, and how they were made. */
#define ABOUT(field)                                                        \
  {                                                                         \
    .name = #field, .type = FIELD_TEXT, .text = text_##field, .about = TRUE \
  }
#define COUNTED(field)                                                              \
  {                                                                                 \
    .name = #field, .type = FIELD_OPTIONAL, .number = number_##field, .about = TRUE \
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
  ABOUT (scenario),
  ABOUT (strategy),
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
  ABOUT (model),
  ABOUT (cluster),
  NUMBER (n_gpus),
  RATE (tokens_per_s),
  RATE (samples_per_s),
  RATE (model_tflops_per_gpu),
  RATE (hfu_percent),
  ABOUT (flops_convention),
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
  ABOUT (profiles),
  { .name = "program_version", .type = FIELD_TEXT, .text = field_program_version, .about = TRUE },
  { .name = "schema", .type = FIELD_NUMBER, .number = field_schema, .about = TRUE },
  NUMBER (time_outer_s),
  NUMBER (peak_nvme_gib),
  /* what it was extrapolated from */
  COUNTED (replayed_micro_batches),
  COUNTED (replayed_steps),
  COUNTED (round_steps),
  /* what it was scaled to */
  COUNTED (network_scale),
  ABOUT (network),
  /* over placements and hashes */
  COUNTED (placements),
  OPTIONAL (step_time_p10_s),
  OPTIONAL (step_time_p50_s),
  OPTIONAL (step_time_p90_s),
  OPTIONAL (tokens_per_s_per_gpu_p10),
  OPTIONAL (tokens_per_s_per_gpu_p50),
  OPTIONAL (tokens_per_s_per_gpu_p90),
  ABOUT (caveats),
  { 0 },
};

#define N_FIELDS (G_N_ELEMENTS (fields) - 1)

/* ---- for a baseline -------------------------------------------------------------------------- */

static gboolean
is_result (const Field *field)
{
  return field->type != FIELD_SETTING && !field->about;
}

const char **
report_result_names (void)
{
  const char **names = g_new0 (const char *, N_FIELDS + 1);
  guint        n = 0;

  for (guint f = 0; f < N_FIELDS; f++)
    if (is_result (&fields[f]))
      names[n++] = fields[f].name;
  return names;
}

GArray *
report_results (const Prediction *prediction)
{
  GArray *results = regress_results_new ();

  for (const Field *field = fields; field->name != NULL; field++)
    {
      RegressResult result = { .name = g_strdup (field->name), .number = NAN };

      if (!is_result (field))
        {
          g_free (result.name);
          continue;
        }
      if (field->type == FIELD_TEXT)
        result.text = g_strdup (field->text (prediction));
      else
        result.number = field->number (prediction);
      if (!isfinite (result.number) || (field->type == FIELD_OPTIONAL && result.number == 0))
        result.number = NAN;
      g_array_append_val (results, result);
    }
  return results;
}

/* ---- order ----------------------------------------------------------------------------------- */

const char **
report_column_names (void)
{
  const char **names = g_new0 (const char *, N_FIELDS + 1);

  for (guint f = 0; f < N_FIELDS; f++)
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
} Ranked;

static gint
compare_places (gconstpointer a, gconstpointer b, gpointer user)
{
  const Ranked *x = a, *y = b;
  gint          order;

  if (x->prediction->fits != y->prediction->fits)
    return x->prediction->fits ? -1 : 1;
  order = compare_field (user, x->prediction, y->prediction);
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
                     (gpointer) &fields[index]);
  for (guint i = 0; i < predictions->len; i++)
    g_ptr_array_index (predictions, i) = places[i].prediction;
  return TRUE;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static const OptionSpec *
setting_spec (const Field *field)
{
  return option_table_find (scenario_section_table (field->section), field->name);
}

static ResultType
column_type (const Field *field)
{
  switch (field->type)
    {
    case FIELD_TEXT:
    case FIELD_WORD:
      return RESULT_TEXT;
    case FIELD_BOOL:
    case FIELD_COUNT:
      return RESULT_WHOLE;
    case FIELD_SETTING:
      return setting_spec (field)->type == OPTION_INT || setting_spec (field)->type == OPTION_BOOL
                 ? RESULT_WHOLE
                 : RESULT_TEXT;
    default:
      return RESULT_REAL;
    }
}

ResultColumn *
report_result_columns (void)
{
  ResultColumn *columns = g_new0 (ResultColumn, N_FIELDS + 1);

  for (guint f = 0; f < N_FIELDS; f++)
    columns[f] = (ResultColumn){ fields[f].name, column_type (&fields[f]) };
  return columns;
}

gboolean
report_result_is_switch (const char *name)
{
  for (guint f = 0; f < N_FIELDS; f++)
    if (g_str_equal (fields[f].name, name))
      return fields[f].type == FIELD_BOOL
             || (fields[f].type == FIELD_SETTING && setting_spec (&fields[f])->type == OPTION_BOOL);
  return FALSE;
}

static ResultValue
text_value (const char *text)
{
  return text != NULL ? (ResultValue){ .type = RESULT_TEXT, .text = g_strdup (text) }
                      : (ResultValue){ 0 };
}

static ResultValue
setting_value (const ScenarioSetting *setting)
{
  if (setting == NULL)
    return (ResultValue){ 0 };
  if (setting->spec->type == OPTION_BOOL)
    return (ResultValue){ .type = RESULT_WHOLE, .whole = g_str_equal (setting->value, "true") };
  if (setting->spec->type == OPTION_INT)
    return (ResultValue){ .type = RESULT_WHOLE,
                          .whole = g_ascii_strtoll (setting->value, NULL, 10) };
  return text_value (setting->value);
}

static ResultValue
field_result (const Field *field, const Prediction *prediction)
{
  const double number = field->number != NULL ? field->number (prediction) : 0;

  if (field->type == FIELD_SETTING)
    return setting_value (prediction_setting (prediction, field->section, field->name));
  if (field->text != NULL)
    return text_value (field->text (prediction));
  if (!isfinite (number) || (field->type == FIELD_OPTIONAL && number == 0))
    return (ResultValue){ 0 };
  if (column_type (field) == RESULT_WHOLE)
    return (ResultValue){ .type = RESULT_WHOLE, .whole = (gint64) number };
  return (ResultValue){ .type = RESULT_REAL, .real = number };
}

void
report_result_values (const Prediction *prediction, ResultValue *values)
{
  for (guint f = 0; f < N_FIELDS; f++)
    values[f] = field_result (&fields[f], prediction);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

void
report_csv (const GPtrArray *predictions, GString *out)
{
  fields_csv_pointers (fields, predictions, out);
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

FIELD_TEXT_OF (TrafficUse, traffic_group, p->group)
FIELD_TEXT_OF (TrafficUse, traffic_collective, p->collective)
FIELD_NUMBER_OF (TrafficUse, traffic_calls, p->calls)
FIELD_NUMBER_OF (TrafficUse, traffic_bytes, p->bytes)
FIELD_NUMBER_OF (TrafficUse, traffic_inter_node, p->inter_node_per_gpu)
FIELD_NUMBER_OF (TrafficUse, traffic_intra_node, p->intra_node_per_gpu)
FIELD_NUMBER_OF (TrafficUse, traffic_exposed, p->exposed_s)

static const Field traffic_fields[] = {
  { .name = "group", .type = FIELD_WORD, .text = traffic_group },
  { .name = "collective", .type = FIELD_WORD, .text = traffic_collective },
  { .name = "calls", .type = FIELD_NUMBER, .number = traffic_calls },
  { .name = "size_bytes", .type = FIELD_NUMBER, .number = traffic_bytes },
  { .name = "inter_node_bytes_per_gpu", .type = FIELD_NUMBER, .number = traffic_inter_node },
  { .name = "intra_node_bytes_per_gpu", .type = FIELD_NUMBER, .number = traffic_intra_node },
  { .name = "exposed_s", .type = FIELD_NUMBER, .number = traffic_exposed },
  { 0 },
};

FIELD_TEXT_OF (BindingUse, binding_name, p->resource)
FIELD_NUMBER_OF (BindingUse, binding_seconds, p->seconds)
FIELD_NUMBER_OF (BindingUse, binding_utilisation, p->utilisation)

static const Field binding_fields[] = {
  { .name = "resource", .type = FIELD_WORD, .text = binding_name },
  { .name = "seconds", .type = FIELD_NUMBER, .number = binding_seconds },
  { .name = "utilisation", .type = FIELD_NUMBER, .number = binding_utilisation },
  { 0 },
};

static struct json_object *
list_json (const Field *table, const GArray *rows)
{
  return fields_json_list (table, rows->data, rows->len,
                           g_array_get_element_size ((GArray *) rows));
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

struct json_object *
prediction_json (const Prediction *p)
{
  struct json_object *result = fields_json (fields, p), *confidence = json_object_new_object ();

  if (p->measured != NULL)
    json_object_object_add (result, "measured_network", network_json (p->measured));
  json_object_object_add (result, "hbm", memory_json (&p->hbm));
  if (p->of_rank.place != NULL)
    json_object_object_add (result, "of_rank", memory_json (&p->of_rank));
  json_object_object_add (result, "host", memory_json (&p->host));
  json_add_number (result, "host_loading_bytes", p->host_loading_bytes);
  json_object_object_add (result, "nvme", memory_json (&p->drives));
  json_object_object_add (result, "traffic", list_json (traffic_fields, p->traffic));
  json_object_object_add (result, "bindings", list_json (binding_fields, p->bindings));
  json_add_count (confidence, "measured", p->n_measured);
  json_add_count (confidence, "datasheet", p->n_datasheet);
  json_add_count (confidence, "estimate", p->n_estimate);
  if (p->unmeasured != NULL)
    json_object_object_add (confidence, "not_measured", json_object_new_string (p->unmeasured));
  json_object_object_add (confidence, "profiles",
                          json_object_new_string (p->profiles != NULL ? p->profiles : ""));
  json_object_object_add (result, "confidence", confidence);
  json_object_object_add (result, "settings", settings_json (p->settings));
  if (p->stages != NULL)
    json_object_object_add (result, "stages", report_stages_json (p));
  if (p->remedies != NULL)
    remedies_json_add (p->remedies, result);
  if (p->advice != NULL)
    advice_json_add (p->advice, result);
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
