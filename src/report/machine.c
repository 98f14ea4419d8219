/* CSV and JSON: one table of fields for both. */
#include "report/json-private.h"
#include "report/report.h"

#define GIB 1073741824.0

typedef enum
{
  FIELD_TEXT,
  FIELD_BOOL,
  FIELD_NUMBER,
  FIELD_OPTIONAL, /* a number; 0 = not asked for: empty in CSV, null in JSON */
} FieldType;

typedef struct
{
  const char *name;
  FieldType   type;
  const char *(*text) (const Prediction *p);
  double (*number) (const Prediction *p);
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
NUMBER_OF (bubble_s, p->bubble_s)
NUMBER_OF (token_imbalance, p->imbalance)

#define TEXT(name)                       \
  {                                      \
#name, FIELD_TEXT, text_##name, NULL \
  }
#define BOOL(name)                         \
  {                                        \
#name, FIELD_BOOL, NULL, number_##name \
  }
#define OPTIONAL(name)                         \
  {                                            \
#name, FIELD_OPTIONAL, NULL, number_##name \
  }
#define NUMBER(name)                         \
  {                                          \
#name, FIELD_NUMBER, NULL, number_##name \
  }

/* The names of prediction_result_names () first and in their order; new ones are appended, none is renamed. */
static const Field fields[] = {
  TEXT (scenario),
  TEXT (strategy),
  BOOL (fits),
  NUMBER (step_time_s),
  NUMBER (tokens_per_s_per_gpu),
  NUMBER (mfu_percent),
  NUMBER (hardware_tflops_per_gpu),
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
  NUMBER (tokens_per_s),
  NUMBER (samples_per_s),
  NUMBER (model_tflops_per_gpu),
  NUMBER (hfu_percent),
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
    default:
      return number_format_exact (field->number (p));
    }
}

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
                          use->overflow_op != NULL ? json_object_new_string (use->overflow_op) : NULL);
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
  return result;
}

void
report_json (const GPtrArray *predictions, GString *out)
{
  struct json_object *root = json_object_new_object (), *results = json_object_new_array ();

  json_object_object_add (root, "schema", json_object_new_int (1));
  for (guint i = 0; i < predictions->len; i++)
    json_object_array_add (results, prediction_json (g_ptr_array_index (predictions, i)));
  json_object_object_add (root, "results", results);
  json_finish (root, out);
}
