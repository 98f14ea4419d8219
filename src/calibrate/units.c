/* A GPU's matrix units, against the model of its kernels: products, attention, the clock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/profile.h"
#include "evidence/tables/statistics.h"

/* A kernel is large with this many waves of thread blocks; a product, if it is this deep. */
#define LARGE_WAVES 4
#define LARGE_DEPTH 2048

/* Figures of attention are those of this head size; its thread blocks have so many rows. */
#define HEAD_SIZE  128
#define BLOCK_ROWS 128

#define LEAST_SUSTAINED 10 /* s, until power and heat have settled */

/* A kernel of the model, and what it was measured to take. */
typedef struct
{
  KernelDesc desc;
  double     seconds;
  gboolean   large;
} MeasuredKernel;

static int
compare_numbers (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* By type and shape; then by layout or direction, or where MERGED by time. */
static int
compare_rows (const BenchRow *p, const BenchRow *q, gboolean merged)
{
  const guint64 x[] = { p->batch, p->m, p->n, p->k }, y[] = { q->batch, q->m, q->n, q->k };
  int           order = strcmp (p->dtype, q->dtype);

  for (guint i = 0; order == 0 && i < G_N_ELEMENTS (x); i++)
    order = (x[i] > y[i]) - (x[i] < y[i]);
  return order != 0 || merged ? order : strcmp (p->variant, q->variant);
}

static int
compare_layouts (gconstpointer a, gconstpointer b)
{
  return compare_rows (*(const BenchRow *const *) a, *(const BenchRow *const *) b, FALSE);
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const BenchRow *p = *(const BenchRow *const *) a, *q = *(const BenchRow *const *) b;
  const int       order = compare_rows (p, q, TRUE);

  return order != 0 ? order : (p->value > q->value) - (p->value < q->value);
}

/* Repeats of the same thing agree, or OUT is refused. */
static void
check_repeats (GPtrArray *rows, FittedValue *out)
{
  g_ptr_array_sort (rows, compare_layouts);
  for (guint first = 0, end; first < rows->len; first = end)
    {
      g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));
      double             ratio;

      for (end = first;
           end < rows->len && compare_layouts (&rows->pdata[first], &rows->pdata[end]) == 0; end++)
        g_array_append_val (times, ((const BenchRow *) rows->pdata[end])->value);
      g_array_sort (times, compare_numbers);
      ratio = robust_agreement ((const double *) times->data, times->len);
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

/* Rows that have a shape. */
static GPtrArray *
shaped_rows (const Calibration *self, const char *benchmark, const char *variants,
             const char *dtypes)
{
  GPtrArray *rows = calibration_rows (self, benchmark, variants, dtypes, 0);

  for (guint i = rows->len; i-- > 0;)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      if (row->m == 0 || row->n == 0 || row->k == 0)
        g_ptr_array_remove_index (rows, i);
    }
  return rows;
}

/* One of each shape of ROWS, in their order: the median of its layouts and repeats. */
static GArray *
merge_shapes (GPtrArray *rows)
{
  GArray *merged = g_array_new (FALSE, FALSE, sizeof (BenchRow));

  g_ptr_array_sort (rows, compare_times);
  for (guint first = 0, end; first < rows->len; first = end)
    {
      const BenchRow *const *row = (const BenchRow *const *) rows->pdata;
      BenchRow               one = *row[first];

      for (end = first + 1; end < rows->len && compare_rows (&one, row[end], TRUE) == 0; end++)
        continue;
      one.value = (row[(first + end - 1) / 2]->value + row[(first + end) / 2]->value) / 2;
      g_array_append_val (merged, one);
    }
  return merged;
}

static MeasuredKernel
measured_product (const GpuProfile *gpu, const BenchRow *row)
{
  const double m = (double) row->m, n = (double) row->n, k = (double) row->k,
               batch = (double) MAX (row->batch, 1);
  const gboolean fp8 = strcmp (row->dtype, "fp8") == 0;
  const double   blocks = m * n * batch / (gpu->tile_m.value * gpu->tile_n.value);

  return (MeasuredKernel){
    .desc = { .kind = KERNEL_MATMUL,
              .dtype = fp8                                ? DTYPE_FP8
                       : strcmp (row->dtype, "fp16") == 0 ? DTYPE_FP16
                                                          : DTYPE_BF16,
              .batch = MAX (row->batch, 1),
              .m = row->m,
              .n = row->n,
              .k = row->k,
              .launches = 1,
              .flops = 2 * batch * m * n * k,
              .read_bytes = (fp8 ? 1 : 2) * batch * (m + n) * k,
              .write_bytes = 2 * batch * m * n },
    .seconds = row->value,
    .large = row->k >= LARGE_DEPTH && blocks >= LARGE_WAVES * gpu->sms.value,
  };
}

/* Seconds of a kernel as the simulator has it, in a short measurement. */
static double
model_seconds (const GpuProfile *gpu, const KernelDesc *kernel)
{
  GpuProfile cool = *gpu;
  KernelCost cost;

  cool.sustained_clock.value = 1;
  kernel_cost (&cool, kernel, &cost);
  return cost.alone;
}

/*
 * Causal attention of m queries and keys and n heads of size k. The simulator has the sums over
 * rows and the conversion of the query's gradient, which the measured backward pass includes, as
 * kernels of their own.
 */
static MeasuredKernel
measured_attention (const GpuProfile *gpu, const BenchRow *row)
{
  const gboolean backward = strcmp (row->variant, "backward") == 0;
  const guint64  heads = row->n * MAX (row->batch, 1);
  const double   rows = (double) row->m * (double) heads, elements = rows * (double) row->k,
               columns = ceil ((double) row->m / BLOCK_ROWS);
  const double     pairs = (double) row->m * (double) row->m / 2 * (double) heads;
  const Dtype      dtype = strcmp (row->dtype, "fp16") == 0 ? DTYPE_FP16 : DTYPE_BF16;
  const KernelDesc sums = kernel_desc_stream (KERNEL_REDUCTION, "sums", dtype, 4 * elements,
                                              4 * rows + 4 * elements, 1);
  const KernelDesc cast =
      kernel_desc_stream (KERNEL_COPY, "cast", dtype, 4 * elements, 2 * elements, 1);

  return (MeasuredKernel){
    .desc = { .kind = backward ? KERNEL_ATTENTION_BACKWARD : KERNEL_ATTENTION,
              .dtype = dtype,
              .batch = heads,
              .m = row->m,
              .n = row->m,
              .k = row->k,
              .launches = 1,
              .flash = FLASH_CUDNN,
              .flops = (backward ? 10 : 4) * pairs * (double) row->k,
              .read_bytes = (backward ? 12 : 6) * elements,
              .write_bytes = (backward ? 8 : 2) * elements + 4 * rows },
    .seconds =
        row->value - (backward ? model_seconds (gpu, &sums) + model_seconds (gpu, &cast) : 0),
    .large = row->k == HEAD_SIZE && columns * (double) heads >= LARGE_WAVES * gpu->sms.value,
  };
}

/* How far the model with the efficiency of OUT is from all KERNELS, each alone. */
static void
fill_residuals (const GpuProfile *fitted, const GArray *kernels, FittedValue *out)
{
  g_autoptr (GArray) errors = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < kernels->len; i++)
    {
      const MeasuredKernel *kernel = &g_array_index (kernels, MeasuredKernel, i);
      double error = fabs (model_seconds (fitted, &kernel->desc) / kernel->seconds - 1);

      g_array_append_val (errors, error);
    }
  g_array_sort (errors, compare_numbers);
  out->n = errors->len;
  out->residual_median = statistics_quantile ((const double *) errors->data, errors->len, 0.5);
  out->residual_p90 = statistics_quantile ((const double *) errors->data, errors->len, 0.9);
}

void
calibration_fit_units (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = shaped_rows (self, rule->benchmark, rule->variant, rule->dtypes);
  g_autoptr (GArray)    merged = NULL;
  g_autoptr (GArray)    kernels = g_array_new (FALSE, FALSE, sizeof (MeasuredKernel));
  g_autoptr (GArray)    large = g_array_new (FALSE, FALSE, sizeof (double));
  const gboolean        attention = strcmp (rule->benchmark, "attention") == 0;
  const double          start = self->gpu->kernel_latency.value;
  GpuProfile            model = *self->gpu;
  Figure *figure = (Figure *) (gpointer) ((guint8 *) (gpointer) &model + rule->offset);
  double  middle;

  figure->value = 1;
  check_repeats (rows, out);
  merged = merge_shapes (rows);
  for (guint i = 0; i < merged->len; i++)
    {
      const BenchRow      *row = &g_array_index (merged, BenchRow, i);
      const MeasuredKernel kernel =
          attention ? measured_attention (self->gpu, row) : measured_product (self->gpu, row);
      const double implied =
          (model_seconds (&model, &kernel.desc) - start) / MAX (kernel.seconds - start, 1e-12);

      g_array_append_val (kernels, kernel);
      if (kernel.large)
        g_array_append_val (large, implied);
    }
  if (kernels->len == 0)
    calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not measured"));
  else if (strcmp (rule->dtypes, "fp8") == 0 && self->gpu->matmul_fp8.value == 0)
    calibration_refuse (out, FIT_TOO_LITTLE,
                        g_strdup_printf ("'%s' has no fp8 units: extend a profile with "
                                         "'matmul_fp8'",
                                         self->gpu->id));
  else if (large->len == 0 && out->verdict == FIT_GOOD)
    calibration_refuse (
        out, FIT_TOO_LITTLE,
        attention
            ? g_strdup_printf ("too little data: no heads of %d in %d waves of thread blocks",
                               HEAD_SIZE, LARGE_WAVES)
            : g_strdup_printf ("too little data: no %s product of %d waves of thread blocks and a "
                               "depth of %d",
                               strcmp (rule->dtypes, "fp8") == 0 ? "fp8" : "16-bit", LARGE_WAVES,
                               LARGE_DEPTH));
  if (out->verdict != FIT_GOOD)
    return;
  g_array_sort (large, compare_numbers);
  middle = statistics_quantile ((const double *) large->data, large->len, 0.5);
  while (robust_is_outlier (middle, g_array_index (large, double, large->len - 1)))
    g_array_set_size (large, large->len - 1);
  out->high = g_array_index (large, double, large->len - 1);
  out->low = statistics_quantile ((const double *) large->data, large->len, attention ? 0.1 : 0.5);
  out->after = attention ? middle : out->high;
  figure->value = out->after;
  fill_residuals (&model, kernels, out);
}

GArray *
calibration_products (const Calibration *self)
{
  g_autoptr (GPtrArray) rows =
      shaped_rows (self, "matmul|decode_matmul", CALIBRATE_LAYOUTS, "bf16|fp16|fp32");

  return merge_shapes (rows);
}

void
calibration_fit_sustained_clock (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, rule->benchmark, rule->variant, NULL, 0);
  g_autoptr (GPtrArray) brief = calibration_rows (self, rule->benchmark, "nn", NULL, 0);
  const BenchRow       *loaded;
  FittedValue           other = { 0 };
  guint                 span = 0;

  if (rows->len == 0)
    {
      calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not measured"));
      return;
    }
  loaded = g_ptr_array_index (rows, rows->len - 1);
  for (guint i = brief->len; i-- > 0;)
    {
      const BenchRow *row = g_ptr_array_index (brief, i);

      if (compare_rows (row, loaded, TRUE) != 0)
        g_ptr_array_remove_index (brief, i);
    }
  calibration_median (brief, &other);
  out->n = rows->len + other.n;
  if (sscanf (loaded->remark, "second half of %u s", &span) != 1 || span < LEAST_SUSTAINED)
    calibration_refuse (
        out, FIT_TOO_LITTLE,
        g_strdup_printf ("too little data: sustained for less than %d s", LEAST_SUSTAINED));
  else if (other.verdict != FIT_GOOD)
    calibration_refuse (out, other.verdict, g_strdup (other.why));
  else
    {
      out->after = MIN (other.after / loaded->value, 1);
      out->low = other.low / loaded->high;
      out->high = other.high / loaded->low;
    }
  g_free (other.why);
}
