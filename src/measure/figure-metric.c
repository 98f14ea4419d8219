#include "measure/figure-metric.h"

#include <string.h>

#include "analysis/op-times.h"

#define GIB 1073741824.0

#define OPS "op_ms:"

#define BUSY(kind) (G_STRUCT_OFFSET (Prediction, busy_percent) + (kind) * sizeof (double))

static const struct
{
  const char *name;
  gsize       offset;  /* in Prediction: of a double, */
  gboolean    bytes;   /* or of so many, as a guint64 */
  gboolean    largest; /* a row's answer is the most of those of its scenarios that fit */
  FigureSpeed speed;
} metrics[] = {
  { "step_time_s", G_STRUCT_OFFSET (Prediction, step_time_s), FALSE, FALSE, FIGURE_TIME },
  { "tokens_per_s_per_gpu", G_STRUCT_OFFSET (Prediction, tokens_per_s_per_gpu), FALSE, FALSE,
    FIGURE_RATE },
  { "tokens_per_s", G_STRUCT_OFFSET (Prediction, tokens_per_s), FALSE, FALSE, FIGURE_RATE },
  { "mfu_percent", G_STRUCT_OFFSET (Prediction, mfu_percent), FALSE, FALSE, FIGURE_RATE },
  { "hfu_percent", G_STRUCT_OFFSET (Prediction, hfu_percent), FALSE, FALSE, FIGURE_RATE },
  { "hardware_tflops_per_gpu", G_STRUCT_OFFSET (Prediction, hardware_tflops_per_gpu), FALSE, FALSE,
    FIGURE_RATE },
  { "step_flops_per_gpu", G_STRUCT_OFFSET (Prediction, hardware_flops), FALSE, FALSE,
    FIGURE_NO_SPEED },
  { "inter_node_forward_bytes_per_gpu",
    G_STRUCT_OFFSET (Prediction, inter_node_forward_bytes_per_gpu), FALSE, FALSE, FIGURE_NO_SPEED },
  { "inter_node_backward_bytes_per_gpu",
    G_STRUCT_OFFSET (Prediction, inter_node_backward_bytes_per_gpu), FALSE, FALSE,
    FIGURE_NO_SPEED },
  { "peak_allocated_gib", G_STRUCT_OFFSET (Prediction, hbm.allocated), TRUE, FALSE,
    FIGURE_NO_SPEED },
  { "peak_reserved_gib", G_STRUCT_OFFSET (Prediction, hbm.reserved), TRUE, FALSE, FIGURE_NO_SPEED },
  { "peak_device_gib", G_STRUCT_OFFSET (Prediction, hbm.device), TRUE, FALSE, FIGURE_NO_SPEED },
  { "peak_host_gib", G_STRUCT_OFFSET (Prediction, host.device), TRUE, FALSE, FIGURE_NO_SPEED },
  { "busy_kernels_percent", BUSY (BUSY_KERNELS), FALSE, FALSE, FIGURE_NO_SPEED },
  { "busy_to_host_percent", BUSY (BUSY_TO_HOST), FALSE, FALSE, FIGURE_NO_SPEED },
  { "busy_from_host_percent", BUSY (BUSY_FROM_HOST), FALSE, FALSE, FIGURE_NO_SPEED },
  { "busy_communication_percent", BUSY (BUSY_COMMUNICATION), FALSE, FALSE, FIGURE_NO_SPEED },
  { "time_optimizer_s", G_STRUCT_OFFSET (Prediction, parts) + TIME_OPTIMIZER * sizeof (double),
    FALSE, FALSE, FIGURE_NO_SPEED },
  { "exposed_comm_s", G_STRUCT_OFFSET (Prediction, exposed_comm_s), FALSE, FALSE, FIGURE_NO_SPEED },
  { "largest_parameters", G_STRUCT_OFFSET (Prediction, n_parameters), FALSE, TRUE,
    FIGURE_NO_SPEED },
};

/* -1: there is none; that of ops is not among them. */
static gint
index_of (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (strcmp (metrics[i].name, name) == 0)
      return (gint) i;
  return -1;
}

/* NULL: NAME is of no ops. */
static const char *
label_of (const char *name)
{
  return g_str_has_prefix (name, OPS) && name[strlen (OPS)] != '\0' ? name + strlen (OPS) : NULL;
}

gboolean
figure_metric_is_known (const char *name)
{
  return index_of (name) >= 0 || label_of (name) != NULL;
}

char *
figure_metric_picture (const char *name)
{
  return label_of (name) != NULL ? g_strndup (name, strlen (OPS) - 1) : g_strdup (name);
}

FigureSpeed
figure_metric_speed (const char *name)
{
  const gint i = index_of (name);

  return i >= 0 ? metrics[i].speed : FIGURE_NO_SPEED;
}

gboolean
figure_metric_is_largest (const char *name)
{
  const gint i = index_of (name);

  return i >= 0 && metrics[i].largest;
}

void
figure_metric_ask (const char *name, PredictOptions *options)
{
  options->op_times = options->op_times || label_of (name) != NULL;
}

/* FALSE: nothing is called LABEL. */
static gboolean
add_op (const Prediction *prediction, const char *label, double *sum)
{
  for (guint i = 0; i < prediction->op_times->len; i++)
    {
      const OpTime *time = &g_array_index (prediction->op_times, OpTime, i);

      if (strcmp (time->label, label) != 0)
        continue;
      *sum += 1e3 * time->median_s;
      return TRUE;
    }
  return FALSE;
}

/* The sum of what LABELS, with + between them, take. */
static gboolean
find_op (const Prediction *prediction, const char *labels, double *value)
{
  g_auto (GStrv) list = g_strsplit (labels, "+", -1);

  *value = 0;
  for (guint i = 0; list[i] != NULL; i++)
    if (!add_op (prediction, list[i], value))
      return FALSE;
  return TRUE;
}

gboolean
figure_metric_of (const Prediction *prediction, const char *name, double *value)
{
  const gint    i = index_of (name);
  gconstpointer at;

  if (i < 0)
    return find_op (prediction, label_of (name), value);
  at = G_STRUCT_MEMBER_P (prediction, metrics[i].offset);
  *value = metrics[i].bytes ? (double) *(const guint64 *) at / GIB : *(const double *) at;
  return TRUE;
}
