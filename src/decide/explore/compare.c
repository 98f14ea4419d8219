/* Why two predictions differ: their differences in words, the largest effect on the step first. */
#include "predict/prediction.h"

#include <math.h>

typedef struct
{
  double weight; /* seconds of effect; ties keep the order of addition */
  guint  order;
  char  *text;
} Reason;

static gint
compare_reasons (gconstpointer a, gconstpointer b)
{
  const Reason *x = a, *y = b;

  if (x->weight != y->weight)
    return x->weight > y->weight ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

static void add (GArray *reasons, double weight, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
add (GArray *reasons, double weight, const char *format, ...)
{
  Reason  reason = { .weight = weight, .order = reasons->len };
  va_list arguments;

  va_start (arguments, format);
  reason.text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_array_append_val (reasons, reason);
}

/* "33 % less", "2.1 times as much"; FROM > 0. */
static char *
ratio_text (double from, double to)
{
  if (to >= 2 * from)
    return g_strdup_printf ("%.1f times as much", to / from);
  return g_strdup_printf ("%.0f %% %s", fabs (to / from - 1) * 100, to < from ? "less" : "more");
}

static void
add_part (GArray *reasons, const Prediction *first, const Prediction *other, TimePart part)
{
  double           change = other->parts[part] - first->parts[part];
  g_autofree char *amount = quantity_format (QUANTITY_TIME, fabs (change), 3);
  g_autofree char *now = quantity_format (QUANTITY_TIME, other->parts[part], 3);

  if (fabs (change) < 0.005 * first->step_time_s)
    return;
  add (reasons, fabs (change), "%s on the critical path: %s %s (now %s)", time_part_name (part),
       amount, change < 0 ? "less" : "more", now);
}

/* A quantity of bytes; its weight is that of the time part that it drives. */
static void
add_bytes (GArray *reasons, const char *what, double from, double to, double weight)
{
  g_autofree char *before = quantity_format (QUANTITY_BYTES, from, 4),
                  *after = quantity_format (QUANTITY_BYTES, to, 4);
  g_autofree char *ratio = from > 0 ? ratio_text (from, to) : NULL;

  if (fabs (to - from) <= 0.002 * MAX (from, to))
    return;
  if (from == 0)
    add (reasons, weight, "%s: %s, where there was nothing", what, after);
  else
    add (reasons, weight, "%s: %s instead of %s, %s", what, after, before, ratio);
}

char **
compare_explain (const Prediction *first, const Prediction *other)
{
  g_autoptr (GArray)    reasons = g_array_new (FALSE, FALSE, sizeof (Reason));
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  g_autofree char      *step =
      quantity_format (QUANTITY_TIME, fabs (other->step_time_s - first->step_time_s), 3);
  double change = other->step_time_s / first->step_time_s - 1;
  double inter = fabs (other->parts[TIME_INTER_NODE] - first->parts[TIME_INTER_NODE]);
  double intra = fabs (other->parts[TIME_INTRA_NODE] - first->parts[TIME_INTRA_NODE]);
  double host = fabs (other->parts[TIME_HOST_COPIES] - first->parts[TIME_HOST_COPIES]);

  if (fabs (change) < 0.0005)
    add (reasons, INFINITY, "the step takes the same time");
  else
    add (reasons, INFINITY, "the step is %s %s (%.2f times the throughput)", step,
         change < 0 ? "shorter" : "longer", first->step_time_s / other->step_time_s);
  for (guint part = 0; part < TIME_N; part++)
    add_part (reasons, first, other, (TimePart) part);
  add_bytes (reasons, "bytes between nodes, a GPU and step", first->inter_node_bytes_per_gpu,
             other->inter_node_bytes_per_gpu, inter * 1.0000001);
  add_bytes (reasons, "bytes between the GPUs of a node", first->intra_node_bytes_per_gpu,
             other->intra_node_bytes_per_gpu, intra * 0.9999999);
  add_bytes (reasons, "copies between GPU and host memory", first->host_link_bytes_per_gpu,
             other->host_link_bytes_per_gpu, host);
  add_bytes (reasons, "peak of GPU memory", (double) first->hbm.device, (double) other->hbm.device,
             0);
  add_bytes (reasons, "peak of host memory a node", (double) first->host.device,
             (double) other->host.device, 0);
  add_bytes (reasons, "peak of NVMe drives a node", (double) first->drives.device,
             (double) other->drives.device, 0);
  if (first->fits != other->fits)
    add (reasons, INFINITY,
         other->fits ? "it fits, which %s does not" : "it does not fit, which %s does",
         first->scenario);
  if (!g_str_equal (first->binding_resource, other->binding_resource))
    add (reasons, 0, "what binds most of the step is '%s' instead of '%s'", other->binding_resource,
         first->binding_resource);
  g_array_sort (reasons, compare_reasons);
  for (guint i = 0; i < reasons->len; i++)
    g_ptr_array_add (texts, g_array_index (reasons, Reason, i).text);
  g_ptr_array_add (texts, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&texts), FALSE);
}
