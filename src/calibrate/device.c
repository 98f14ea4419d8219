/* The rules of a GPU's profile. */
#include <math.h>
#include <string.h>

#include "calibrate/profile.h"
#include "measure/statistics.h"

#define CACHE_TIMES 4 /* traffic of this many times the L2 cache is memory's */
#define LARGE_TIMES \
  8 /* sizes of this many times a line's half-bandwidth size tell the spread of its rate */

/* A product is large with this many waves of thread blocks, and this deep. */
#define LARGE_WAVES 4
#define LARGE_DEPTH 2048

#define LAYOUTS "nn|nt|tn"

/* ---- memory ---------------------------------------------------------------------------------- */

static void
fit_median (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, rule->benchmark, rule->variant, 0);

  calibration_median (rows, out);
}

/* Exact: it has no spread. */
static void
fit_property (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  fit_median (self, rule, out);
  out->low = out->high = NAN;
}

static void
fit_runtime_bytes (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) total = calibration_rows (self, "property", "total_memory", 0);
  FittedValue           whole = { 0 };

  fit_property (self, rule, out);
  calibration_median (total, &whole);
  if (whole.verdict != FIT_GOOD)
    calibration_refuse (out, whole.verdict, g_steal_pointer (&whole.why));
  else if (out->verdict == FIT_GOOD && out->after > whole.after)
    calibration_refuse (out, FIT_CONTRADICTORY, g_strdup ("more memory is free than there is"));
  else
    out->after = whole.after - out->after;
  g_free (whole.why);
}

/* ---- start of kernels ------------------------------------------------------------------------ */

/* Both ways of queueing kernels bound from above what the device itself needs between two. */
static void
fit_kernel_latency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) device = calibration_rows (self, rule->benchmark, "device", 0);
  g_autoptr (GPtrArray) graph = calibration_rows (self, rule->benchmark, "graph", 0);
  FittedValue           other = { .residual_median = NAN, .residual_p90 = NAN };

  calibration_median (device->len > 0 ? device : graph, out);
  if (device->len == 0 || graph->len == 0 || out->verdict != FIT_GOOD)
    return;
  calibration_median (graph, &other);
  if (other.verdict != FIT_GOOD)
    calibration_refuse (out, other.verdict, g_steal_pointer (&other.why));
  else if (other.after < out->after)
    {
      other.figure = out->figure;
      other.what = out->what;
      other.kind = out->kind;
      other.before = out->before;
      other.n += out->n;
      *out = other;
    }
  else
    out->n += other.n;
}

/* ---- copies between host and device ---------------------------------------------------------- */

enum
{
  TO_DEVICE,
  TO_HOST
};

static const char *const pinned[] = { "h2d.pinned", "d2h.pinned" };

typedef struct
{
  double latency, rate, low, high; /* of both directions: means, and the spread of the rate */
} PinnedCopies;

/*
 * A line a direction; what one copy there and one back take is their mean. FALSE where OUT is
 * refused.
 */
static gboolean
fit_pinned (const Calibration *self, FittedValue *out, PinnedCopies *copies)
{
  LineFit lines[2];

  *copies = (PinnedCopies){ .low = INFINITY };
  for (guint way = TO_DEVICE; way <= TO_HOST; way++)
    {
      g_autoptr (GPtrArray) rows = calibration_rows (self, "host_copy", pinned[way], 0);
      double                low, high;

      lines[way] = calibration_line (rows, 1, out);
      if (out->verdict != FIT_GOOD)
        return FALSE;
      if (calibration_rate_spread (rows, 1, &lines[way], &low, &high))
        {
          copies->low = MIN (copies->low, low);
          copies->high = MAX (copies->high, high);
        }
    }
  copies->latency = (lines[TO_DEVICE].latency + lines[TO_HOST].latency) / 2;
  copies->rate = 2 / (1 / lines[TO_DEVICE].rate + 1 / lines[TO_HOST].rate);
  return TRUE;
}

static void
fit_copy_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  PinnedCopies copies;

  (void) rule;
  if (!fit_pinned (self, out, &copies))
    return;
  out->after = copies.rate / self->gpu->host_link.value;
  out->low = copies.low / self->gpu->host_link.value;
  out->high = copies.high / self->gpu->host_link.value;
}

static void
fit_copy_latency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  PinnedCopies copies;

  (void) rule;
  if (fit_pinned (self, out, &copies))
    out->after = copies.latency;
}

/* Rate a direction while both run over the rate of one. */
static void
fit_copy_duplex (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) both = calibration_rows (self, rule->benchmark, rule->variant, 0);
  PinnedCopies          alone;
  LineFit               line = calibration_line (both, 1, out);

  if (out->verdict != FIT_GOOD || !fit_pinned (self, out, &alone))
    return;
  out->after = MIN (line.rate / alone.rate, 1);
  if (calibration_rate_spread (both, 1, &line, &out->low, &out->high))
    {
      out->low = MIN (out->low / alone.rate, out->after);
      out->high = CLAMP (out->high / alone.rate, out->after, 1);
    }
}

/* ---- streaming kernels ----------------------------------------------------------------------- */

/* A share of the memory's rate on paper, and its spread. */
typedef struct
{
  double share, low, high;
} Stream;

/*
 * The share of the memory's rate that rows with traffic of FACTOR times their bytes reach, their
 * start-up aside.
 */
static void
add_streams (const Calibration *self, const char *benchmark, const char *variant, double factor,
             double least, GArray *streams)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, benchmark, variant, 0);
  double start = self->gpu->kernel_latency.value, peak = self->gpu->hbm_bandwidth.value;

  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);
      double          most = factor * (double) row->bytes / peak; /* s at the rate on paper */
      Stream          stream;

      if (factor * (double) row->bytes < least || row->low <= start)
        continue;
      stream = (Stream){ most / (row->value - start), most / (row->high - start),
                         most / (row->low - start) };
      g_array_append_val (streams, stream);
    }
}

static double
cache_bytes (const Calibration *self)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "property", "l2_bytes", 0);

  return rows->len > 0 ? ((const BenchRow *) g_ptr_array_index (rows, 0))->value : 64 << 20;
}

static void
fit_stream_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GArray) streams = g_array_new (FALSE, FALSE, sizeof (Stream));
  double             least = CACHE_TIMES * cache_bytes (self);
  g_autofree double *shares = NULL;
  MedianFit          fit;

  (void) rule;
  add_streams (self, "triad", "triad", 1, least, streams);
  add_streams (self, "device_copy", "d2d", 2, least, streams);
  shares = g_new (double, streams->len + 1);
  for (guint i = 0; i < streams->len; i++)
    shares[i] = g_array_index (streams, Stream, i).share;
  fit = median_fit (shares, streams->len);
  out->n = fit.n;
  if (fit.verdict != FIT_GOOD)
    {
      calibration_refuse (out, fit.verdict, fit.why);
      return;
    }
  out->after = fit.median;
  out->low = out->high = fit.median;
  for (guint i = 0; i < streams->len; i++)
    if (!robust_is_outlier (fit.median, shares[i]))
      {
        out->low = MIN (out->low, g_array_index (streams, Stream, i).low);
        out->high = MAX (out->high, g_array_index (streams, Stream, i).high);
      }
  out->residual_median = fit.residual_median;
  out->residual_p90 = fit.residual_p90;
}

/* ---- matrix products ------------------------------------------------------------------------- */

static gboolean
is_16bit (const char *dtype)
{
  return strcmp (dtype, "bf16") == 0 || strcmp (dtype, "fp16") == 0;
}

static KernelDesc
describe_product (const MeasuredProduct *p)
{
  gboolean   fp32 = strcmp (p->dtype, "fp32") == 0;
  double     bytes = (fp32 ? 4 : 2) * (double) p->batch;
  KernelDesc kernel = {
    .kind = KERNEL_MATMUL,
    .dtype = fp32                             ? DTYPE_FP32
             : strcmp (p->dtype, "fp16") == 0 ? DTYPE_FP16
                                              : DTYPE_BF16,
    .batch = p->batch,
    .m = p->m,
    .n = p->n,
    .k = p->k,
    .launches = 1,
    .flops = 2.0 * (double) p->batch * (double) p->m * (double) p->n * (double) p->k,
    .read_bytes = bytes * (double) (p->m + p->n) * (double) p->k,
    .write_bytes = bytes * (double) p->m * (double) p->n,
  };

  return kernel;
}

/* As the simulator has it, in a short measurement. */
static double
model_seconds (const GpuProfile *gpu, const MeasuredProduct *product)
{
  KernelDesc kernel = describe_product (product);
  GpuProfile cool = *gpu;
  KernelCost cost;

  cool.sustained_clock.value = 1;
  kernel_cost (&cool, &kernel, &cost);
  return cost.alone;
}

static gboolean
is_large (const GpuProfile *gpu, const MeasuredProduct *p)
{
  double blocks =
      (double) p->m * (double) p->n * (double) p->batch / (gpu->tile_m.value * gpu->tile_n.value);

  return is_16bit (p->dtype) && p->k >= LARGE_DEPTH && blocks >= LARGE_WAVES * gpu->sms.value;
}

/*
 * What matmul_efficiency makes the model's time that of PRODUCT, whose main loop is bound by the
 * matrix units.
 */
static double
implied_efficiency (const GpuProfile *gpu, const MeasuredProduct *product)
{
  GpuProfile ideal = *gpu;
  double     start = gpu->kernel_latency.value;

  ideal.matmul_efficiency.value = 1;
  return (model_seconds (&ideal, product) - start) / MAX (product->seconds - start, 1e-12);
}

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* How far the model with the efficiency of OUT is from all 16-bit products, each alone. */
static void
fill_product_residuals (const GpuProfile *gpu, const GArray *products, FittedValue *out)
{
  g_autoptr (GArray) errors = g_array_new (FALSE, FALSE, sizeof (double));
  GpuProfile         fitted = *gpu;

  fitted.matmul_efficiency.value = out->after;
  for (guint i = 0; i < products->len; i++)
    {
      const MeasuredProduct *product = &g_array_index (products, MeasuredProduct, i);
      double                 error = fabs (model_seconds (&fitted, product) / product->seconds - 1);

      if (is_16bit (product->dtype))
        g_array_append_val (errors, error);
    }
  g_array_sort (errors, compare_numbers);
  out->n = errors->len;
  out->residual_median = statistics_quantile ((const double *) errors->data, errors->len, 0.5);
  out->residual_p90 = statistics_quantile ((const double *) errors->data, errors->len, 0.9);
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const BenchRow *p = *(const BenchRow *const *) a, *q = *(const BenchRow *const *) b;
  const guint64   x[] = { p->batch, p->m, p->n, p->k }, y[] = { q->batch, q->m, q->n, q->k };
  int             order = strcmp (p->dtype, q->dtype);

  if (order == 0)
    order = strcmp (p->variant, q->variant);
  for (guint i = 0; order == 0 && i < G_N_ELEMENTS (x); i++)
    order = (x[i] > y[i]) - (x[i] < y[i]);
  return order;
}

/*
 * How far the rows from FIRST on agree that are of the same product in the same layout; *END is
 * behind them.
 */
static double
repeats_agree (const GPtrArray *rows, guint first, guint *end)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));

  for (*end = first;
       *end < rows->len && compare_rows (&rows->pdata[first], &rows->pdata[*end]) == 0; ++*end)
    g_array_append_val (times, ((const BenchRow *) rows->pdata[*end])->value);
  g_array_sort (times, compare_numbers);
  return robust_agreement ((const double *) times->data, times->len);
}

static void
check_repeats (const Calibration *self, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "matmul", LAYOUTS, 0);

  g_ptr_array_sort (rows, compare_rows);
  for (guint first = 0, end; first < rows->len; first = end)
    {
      double ratio = repeats_agree (rows, first, &end);

      if (ratio <= ROBUST_MAX_REPEAT)
        continue;
      calibration_refuse (
          out, FIT_CONTRADICTORY,
          g_strdup_printf (
              "measurements of the product in line %u differ by a factor of %.2f (at most %g)",
              ((const BenchRow *) rows->pdata[first])->line, ratio, ROBUST_MAX_REPEAT));
      return;
    }
}

/* The largest of N sorted values that is no outlier. */
static double
best_of (const double *sorted, guint n)
{
  double median = statistics_quantile (sorted, n, 0.5);

  while (robust_is_outlier (median, sorted[n - 1]))
    n--;
  return sorted[n - 1];
}

/* The best of the large products. */
static void
fit_matmul_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GArray) products = calibration_products (self);
  g_autoptr (GArray) large = g_array_new (FALSE, FALSE, sizeof (double));

  (void) rule;
  for (guint i = 0; i < products->len; i++)
    {
      const MeasuredProduct *product = &g_array_index (products, MeasuredProduct, i);
      double                 efficiency = implied_efficiency (self->gpu, product);

      if (is_large (self->gpu, product))
        g_array_append_val (large, efficiency);
    }
  check_repeats (self, out);
  if (products->len == 0)
    calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not measured"));
  else if (large->len == 0 && out->verdict == FIT_GOOD)
    calibration_refuse (out, FIT_TOO_LITTLE,
                        g_strdup_printf ("too little data: no 16-bit product of %d waves of thread "
                                         "blocks and a depth of %d",
                                         LARGE_WAVES, LARGE_DEPTH));
  if (out->verdict != FIT_GOOD)
    return;
  g_array_sort (large, compare_numbers);
  out->after = out->high = best_of ((const double *) large->data, large->len);
  out->low = statistics_quantile ((const double *) large->data, large->len, 0.5);
  fill_product_residuals (self->gpu, products, out);
}

static int
compare_products (gconstpointer a, gconstpointer b)
{
  const MeasuredProduct *p = a, *q = b;
  const guint64          x[] = { p->batch, p->m, p->n, p->k }, y[] = { q->batch, q->m, q->n, q->k };
  int                    order = strcmp (p->dtype, q->dtype);

  for (guint i = 0; order == 0 && i < G_N_ELEMENTS (x); i++)
    order = (x[i] > y[i]) - (x[i] < y[i]);
  if (order != 0)
    return order;
  return (p->seconds > q->seconds) - (p->seconds < q->seconds);
}

static gboolean
is_same_product (const MeasuredProduct *p, const MeasuredProduct *q)
{
  return strcmp (p->dtype, q->dtype) == 0 && p->batch == q->batch && p->m == q->m && p->n == q->n
         && p->k == q->k;
}

/* Leaves one of each run of the same product: its median. */
static void
merge_products (GArray *products)
{
  MeasuredProduct *p = (MeasuredProduct *) products->data;
  guint            kept = 0;

  for (guint first = 0, end; first < products->len; first = end)
    {
      MeasuredProduct one = p[first];

      for (end = first + 1; end < products->len && is_same_product (&p[first], &p[end]); end++)
        continue;
      one.seconds = (p[(first + end - 1) / 2].seconds + p[(first + end) / 2].seconds) / 2;
      p[kept++] = one;
    }
  g_array_set_size (products, kept);
}

GArray *
calibration_products (const Calibration *self)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "matmul", LAYOUTS, 0);
  GArray               *products = g_array_new (FALSE, FALSE, sizeof (MeasuredProduct));

  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);
      MeasuredProduct product = {
        MAX (row->batch, 1), row->m, row->n, row->k, row->dtype, row->value,
      };

      if ((is_16bit (row->dtype) || strcmp (row->dtype, "fp32") == 0) && row->m > 0 && row->n > 0
          && row->k > 0)
        g_array_append_val (products, product);
      else
        g_hash_table_remove (self->used, row);
    }
  g_array_sort (products, compare_products);
  merge_products (products);
  return products;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* In an order in which later rules use what earlier ones fitted. */
const FitRule calibrate_device_rules[] = {
  { "hbm_bytes", "memory that the driver reports as total", QUANTITY_BYTES, fit_property,
    "property", "total_memory" },
  { "runtime_bytes", "total less free, right after the context exists", QUANTITY_BYTES,
    fit_runtime_bytes, "property", "free_memory" },
  { "sms", "streaming multiprocessors", QUANTITY_COUNT, fit_property, "property", "sms" },
  { "kernel_latency", "empty kernels on the device, back to back", QUANTITY_TIME,
    fit_kernel_latency, "launch", NULL },
  { "host_copy_efficiency", "pinned copies, both directions, against host_link", QUANTITY_RATIO,
    fit_copy_efficiency, "host_copy", NULL },
  { "host_copy_latency", "start-up of a pinned copy, both directions", QUANTITY_TIME,
    fit_copy_latency, "host_copy", NULL },
  { "host_duplex_efficiency", "pinned copies of both directions at once, against one",
    QUANTITY_RATIO, fit_copy_duplex, "host_copy", "both.pinned" },
  { "stream_efficiency", "triads and device copies beyond the cache, against hbm_bandwidth",
    QUANTITY_RATIO, fit_stream_efficiency, NULL, NULL },
  { "matmul_efficiency", "the best large 16-bit product, against matmul_16bit", QUANTITY_RATIO,
    fit_matmul_efficiency, "matmul", LAYOUTS },
  { 0 },
};
