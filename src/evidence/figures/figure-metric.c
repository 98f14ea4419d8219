#include "evidence/figures/figure-metric.h"

#include <math.h>
#include <string.h>

#include "predict/trace/op-times.h"

#define GIB 1073741824.0

#define OPS "op_ms"

#define OF(member) G_STRUCT_OFFSET (Prediction, member)
#define BUSY(kind) (OF (busy_percent) + (kind) * sizeof (double))

static const FigureMetric metrics[] = {
  { "step_time_s", .offset = OF (step_time_s), .speed = FIGURE_TIME },
  { "tokens_per_s_per_gpu", .offset = OF (tokens_per_s_per_gpu), .speed = FIGURE_RATE },
  { "tokens_per_s", .offset = OF (tokens_per_s), .speed = FIGURE_RATE },
  { "mfu_percent", .offset = OF (mfu_percent), .speed = FIGURE_RATE },
  { "hfu_percent", .offset = OF (hfu_percent), .speed = FIGURE_RATE },
  { "hardware_tflops_per_gpu", .offset = OF (hardware_tflops_per_gpu), .speed = FIGURE_RATE },
  { "step_flops_per_gpu", .offset = OF (hardware_flops) },
  { "executed_flops_per_gpu", .offset = OF (executed_flops) },
  { "kernel_bytes_per_gpu", .offset = OF (kernel_bytes) },
  { "inter_node_forward_bytes_per_gpu", .offset = OF (inter_node_forward_bytes_per_gpu) },
  { "inter_node_backward_bytes_per_gpu", .offset = OF (inter_node_backward_bytes_per_gpu) },
  { "peak_allocated_gib", .offset = OF (hbm.allocated), .bytes = TRUE },
  { "peak_reserved_gib", .offset = OF (hbm.reserved), .bytes = TRUE },
  { "peak_device_gib", .offset = OF (hbm.device), .bytes = TRUE },
  { "peak_host_gib", .offset = OF (host.device), .bytes = TRUE },
  { "busy_kernels_percent", .offset = BUSY (BUSY_KERNELS) },
  { "busy_to_host_percent", .offset = BUSY (BUSY_TO_HOST) },
  { "busy_from_host_percent", .offset = BUSY (BUSY_FROM_HOST) },
  { "busy_communication_percent", .offset = BUSY (BUSY_COMMUNICATION) },
  { "time_optimizer_s", .offset = OF (parts) + TIME_OPTIMIZER * sizeof (double) },
  { "exposed_comm_s", .offset = OF (exposed_comm_s) },
  { "largest_parameters", .offset = OF (n_parameters), .largest = TRUE },
  { "run_tokens_per_s", .offset = OF (tokens_per_s), .run = TRUE, .speed = FIGURE_RATE },
};

static const FigureMetric ops = { .name = OPS };

/* NULL: NAME is of no ops. */
static const char *
label_of (const char *name)
{
  return g_str_has_prefix (name, OPS ":") && name[strlen (OPS ":")] != '\0'
             ? name + strlen (OPS ":")
             : NULL;
}

const FigureMetric *
figure_metric_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (strcmp (metrics[i].name, name) == 0)
      return &metrics[i];
  return label_of (name) != NULL ? &ops : NULL;
}

void
figure_metric_ask (const char *name, PredictOptions *options)
{
  options->op_times = options->op_times || label_of (name) != NULL;
}

/* The median milliseconds of LABEL; NAN: nothing is called so. */
static double
op_ms (const Prediction *prediction, const char *label)
{
  for (guint i = 0; i < prediction->op_times->len; i++)
    {
      const OpTime *time = &g_array_index (prediction->op_times, OpTime, i);

      if (strcmp (time->label, label) == 0)
        return 1e3 * time->median_s;
    }
  return NAN;
}

gboolean
figure_metric_of (const Prediction *prediction, const char *name, double *value)
{
  const FigureMetric *metric = figure_metric_find (name);
  gconstpointer       at = G_STRUCT_MEMBER_P (prediction, metric->offset);
  g_auto (GStrv)      labels = metric == &ops ? g_strsplit (label_of (name), "+", -1) : NULL;

  if (metric != &ops)
    *value = metric->bytes ? (double) *(const guint64 *) at / GIB : *(const double *) at;
  else
    *value = 0;
  for (guint i = 0; labels != NULL && labels[i] != NULL; i++) /* of several the sum */
    *value += op_ms (prediction, labels[i]);
  return metric != &ops || !isnan (*value);
}
