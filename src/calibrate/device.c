/* The rules of a GPU's profile. */
#include <math.h>
#include <string.h>

#include "calibrate/profile.h"
#include "evidence/tables/statistics.h"

#define CACHE_TIMES 4 /* traffic of this many times the L2 cache is memory's */

/* ---- memory ---------------------------------------------------------------------------------- */

static void
fit_median (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, rule->benchmark, rule->variant, NULL, 0);

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
  g_autoptr (GPtrArray) total = calibration_rows (self, "property", "total_memory", NULL, 0);
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
      g_autoptr (GPtrArray) rows = calibration_rows (self, "host_copy", pinned[way], NULL, 0);
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
  g_autoptr (GPtrArray) both = calibration_rows (self, rule->benchmark, rule->variant, NULL, 0);
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
  g_autoptr (GPtrArray) rows = calibration_rows (self, benchmark, variant, NULL, 0);
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
  g_autoptr (GPtrArray) rows = calibration_rows (self, "property", "l2_bytes", NULL, 0);

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

/* ---- the table ------------------------------------------------------------------------------- */

#define AT(figure) G_STRUCT_OFFSET (GpuProfile, figure)

/* In an order in which later rules use what earlier ones fitted. */
const FitRule calibrate_device_rules[] = {
  { "hbm_bytes", "memory that the driver reports as total", QUANTITY_BYTES, fit_property,
    .benchmark = "property", .variant = "total_memory" },
  { "runtime_bytes", "total less free, right after the context exists", QUANTITY_BYTES,
    fit_runtime_bytes, .benchmark = "property", .variant = "free_memory" },
  { "sms", "streaming multiprocessors", QUANTITY_COUNT, fit_property, .benchmark = "property",
    .variant = "sms" },
  { "kernel_latency", "empty kernels on the device, back to back", QUANTITY_TIME, fit_median,
    .benchmark = "launch", .variant = "device" },
  { "graph_latency", "empty kernels of a chain inside a CUDA graph", QUANTITY_TIME, fit_median,
    .benchmark = "launch", .variant = "graph" },
  { "host_copy_efficiency", "pinned copies, both directions, against host_link", QUANTITY_RATIO,
    fit_copy_efficiency, .benchmark = "host_copy" },
  { "host_copy_latency", "start-up of a pinned copy, both directions", QUANTITY_TIME,
    fit_copy_latency, .benchmark = "host_copy" },
  { "host_duplex_efficiency", "pinned copies of both directions at once, against one",
    QUANTITY_RATIO, fit_copy_duplex, .benchmark = "host_copy", .variant = "both.pinned" },
  { "stream_efficiency", "triads and device copies beyond the cache, against hbm_bandwidth",
    QUANTITY_RATIO, .fit = fit_stream_efficiency },
  { "matmul_efficiency", "the best large 16-bit product, against matmul_16bit", QUANTITY_RATIO,
    calibration_fit_units, .benchmark = "matmul", .variant = CALIBRATE_LAYOUTS,
    .dtypes = "bf16|fp16", .offset = AT (matmul_efficiency) },
  { "matmul_fp8_efficiency", "the best large fp8 product, against matmul_fp8", QUANTITY_RATIO,
    calibration_fit_units, .benchmark = "matmul", .variant = CALIBRATE_LAYOUTS, .dtypes = "fp8",
    .offset = AT (matmul_fp8_efficiency) },
  { "sustained_clock", "a product under load, against the same measured briefly", QUANTITY_RATIO,
    calibration_fit_sustained_clock, .benchmark = "matmul", .variant = "nn.sustained" },
  { "cudnn_efficiency", "large attention of cuDNN, forward, against matmul_16bit", QUANTITY_RATIO,
    calibration_fit_units, .benchmark = "attention", .variant = "forward", .dtypes = "bf16|fp16",
    .offset = AT (cudnn_efficiency) },
  { "cudnn_backward_efficiency", "large attention of cuDNN, backward, against matmul_16bit",
    QUANTITY_RATIO, calibration_fit_units, .benchmark = "attention", .variant = "backward",
    .dtypes = "bf16|fp16", .offset = AT (cudnn_backward_efficiency) },
  { 0 },
};
