#include "calibrate/kernels.h"

#include <math.h>
#include <string.h>

#include "calibrate/minimise.h"
#include "evidence/tables/kernel-work.h"

#define MOST_FITTED   300  /* rows of a type that figures are fitted to */
#define MOST_PRODUCTS 400  /* rows of a type in the table */
#define MOST_CASTS    0.85 /* share of a row's time */
#define MOST_MISS     0.5

/* Rows of which the same figures tell. */
typedef enum
{
  CLASS_BF16,
  CLASS_FP8,
  CLASS_FP8_BLOCK,
  CLASS_NVFP4,
  CLASS_ATTENTION,
  CLASS_ATTENTION_FP8,
  CLASS_DECODE,
  CLASS_DECODE_FP8,
  CLASS_EXPERTS,
  CLASS_EXPERTS_FP8,
  CLASS_EXPERTS_FP8_BLOCK,
  CLASS_EXPERTS_NVFP4,
  N_CLASSES,
  CLASS_ANY = N_CLASSES, /* of its kind */
} RowClass;

static const struct
{
  const char     *name;
  const char     *dtype; /* of products and experts */
  const char     *curve; /* as a table of products has it */
  KernelTableKind kind;
  MatmulType      type;
} classes[N_CLASSES] = {
  [CLASS_BF16] = { "products bfloat16", "bfloat16", "bf16", KERNEL_TABLE_PRODUCTS, MATMUL_16BIT },
  [CLASS_FP8] = { "products fp8", "fp8", "fp8", KERNEL_TABLE_PRODUCTS, MATMUL_FP8 },
  [CLASS_FP8_BLOCK] = { "products fp8_block", "fp8_block", "fp8_block", KERNEL_TABLE_PRODUCTS,
                        MATMUL_FP8_BLOCK },
  [CLASS_NVFP4] = { "products nvfp4", "nvfp4", "nvfp4", KERNEL_TABLE_PRODUCTS, MATMUL_NVFP4 },
  [CLASS_ATTENTION] = { "attention bfloat16", NULL, NULL, KERNEL_TABLE_PREFILL, 0 },
  [CLASS_ATTENTION_FP8] = { "attention fp8", NULL, NULL, KERNEL_TABLE_PREFILL, 0 },
  [CLASS_DECODE] = { "decoding bfloat16", NULL, NULL, KERNEL_TABLE_DECODE, 0 },
  [CLASS_DECODE_FP8] = { "decoding fp8", NULL, NULL, KERNEL_TABLE_DECODE, 0 },
  [CLASS_EXPERTS] = { "experts bfloat16", "bfloat16", NULL, KERNEL_TABLE_EXPERTS, 0 },
  [CLASS_EXPERTS_FP8] = { "experts fp8", "fp8", NULL, KERNEL_TABLE_EXPERTS, 0 },
  [CLASS_EXPERTS_FP8_BLOCK] = { "experts fp8_block", "fp8_block", NULL, KERNEL_TABLE_EXPERTS, 0 },
  [CLASS_EXPERTS_NVFP4] = { "experts nvfp4", "nvfp4", NULL, KERNEL_TABLE_EXPERTS, 0 },
};

static const struct
{
  const char     *key;
  QuantityKind    kind;
  gsize           offset;
  MinimiseRange   range;
  KernelTableKind rows;
  RowClass        one; /* that determines it */
} fitted[] = {
#define FIGURE(member, quantity, ...)                                   \
  {                                                                     \
#member, quantity, G_STRUCT_OFFSET(GpuProfile, member), __VA_ARGS__ \
  }
  FIGURE (matmul_operand_bandwidth, QUANTITY_BANDWIDTH, { 10e9, 1e12, TRUE }, KERNEL_TABLE_PRODUCTS,
          CLASS_ANY),
  FIGURE (matmul_efficiency, QUANTITY_RATIO, { 0.2, 1.1, FALSE }, KERNEL_TABLE_PRODUCTS,
          CLASS_BF16),
  FIGURE (matmul_fp8_efficiency, QUANTITY_RATIO, { 0.2, 1.1, FALSE }, KERNEL_TABLE_PRODUCTS,
          CLASS_FP8),
  FIGURE (matmul_fp8_block_efficiency, QUANTITY_RATIO, { 0.2, 1.1, FALSE }, KERNEL_TABLE_PRODUCTS,
          CLASS_FP8_BLOCK),
  FIGURE (matmul_fp4_efficiency, QUANTITY_RATIO, { 0.2, 1.1, FALSE }, KERNEL_TABLE_PRODUCTS,
          CLASS_NVFP4),
  FIGURE (matmul_k_overhead, QUANTITY_COUNT, { 0, 512, FALSE }, KERNEL_TABLE_PRODUCTS, CLASS_ANY),
  FIGURE (graph_latency, QUANTITY_TIME, { 0.5e-6, 5e-6, TRUE }, KERNEL_TABLE_PRODUCTS, CLASS_ANY),
  FIGURE (fmha_efficiency, QUANTITY_RATIO, { 0.05, 1.1, FALSE }, KERNEL_TABLE_PREFILL,
          CLASS_ATTENTION),
  FIGURE (fmha_fp8_efficiency, QUANTITY_RATIO, { 0.05, 1.1, FALSE }, KERNEL_TABLE_PREFILL,
          CLASS_ATTENTION_FP8),
  FIGURE (fmha_softmax_dims, QUANTITY_COUNT, { 0, 300, FALSE }, KERNEL_TABLE_PREFILL, CLASS_ANY),
  FIGURE (fmha_block_latency, QUANTITY_TIME, { 0.1e-6, 10e-6, TRUE }, KERNEL_TABLE_PREFILL,
          CLASS_ANY),
  FIGURE (decode_efficiency, QUANTITY_RATIO, { 0.2, 1, FALSE }, KERNEL_TABLE_DECODE, CLASS_ANY),
  FIGURE (decode_latency, QUANTITY_TIME, { 1e-6, 50e-6, TRUE }, KERNEL_TABLE_DECODE, CLASS_ANY),
  FIGURE (decode_sum_latency, QUANTITY_TIME, { 0.1e-6, 50e-6, TRUE }, KERNEL_TABLE_DECODE,
          CLASS_ANY),
  FIGURE (decode_block_latency, QUANTITY_TIME, { 0.1e-6, 50e-6, TRUE }, KERNEL_TABLE_DECODE,
          CLASS_DECODE),
  FIGURE (decode_fp8_block_latency, QUANTITY_TIME, { 0.1e-6, 50e-6, TRUE }, KERNEL_TABLE_DECODE,
          CLASS_DECODE_FP8),
  FIGURE (decode_head_latency, QUANTITY_TIME, { 0.1e-6, 50e-6, TRUE }, KERNEL_TABLE_DECODE,
          CLASS_ANY),
  FIGURE (experts_operand_bandwidth, QUANTITY_BANDWIDTH, { 10e9, 1e12, TRUE }, KERNEL_TABLE_EXPERTS,
          CLASS_ANY),
  FIGURE (experts_efficiency, QUANTITY_RATIO, { 0.1, 1, FALSE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS),
  FIGURE (experts_fp8_efficiency, QUANTITY_RATIO, { 0.1, 1, FALSE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_FP8),
  FIGURE (experts_fp8_block_efficiency, QUANTITY_RATIO, { 0.05, 1, FALSE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_FP8_BLOCK),
  FIGURE (experts_fp4_efficiency, QUANTITY_RATIO, { 0.1, 1, FALSE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_NVFP4),
  FIGURE (experts_latency, QUANTITY_TIME, { 5e-6, 2e-4, TRUE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS),
  FIGURE (experts_fp8_latency, QUANTITY_TIME, { 5e-6, 2e-4, TRUE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_FP8),
  FIGURE (experts_fp8_block_latency, QUANTITY_TIME, { 5e-6, 2e-4, TRUE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_FP8_BLOCK),
  FIGURE (experts_fp4_latency, QUANTITY_TIME, { 5e-6, 2e-4, TRUE }, KERNEL_TABLE_EXPERTS,
          CLASS_EXPERTS_NVFP4),
  FIGURE (experts_k_overhead, QUANTITY_COUNT, { 1, 1024, FALSE }, KERNEL_TABLE_EXPERTS, CLASS_ANY),
  FIGURE (l2_bandwidth, QUANTITY_BANDWIDTH, { 2e12, 2e13, TRUE }, KERNEL_TABLE_EXPERTS, CLASS_ANY),
#undef FIGURE
};

/* Figures hang together, and rounds narrow the search: it begins anew from what was found. */
#define N_SEARCHES 4
static const MinimiseEffort effort = { 9, 5, 6, 1e-5 };

typedef GArray *Rows[N_CLASSES]; /* const KernelRow *, of each class */

/* ---- rows ------------------------------------------------------------------------------------ */

/* Which half a shape is in. [Fowler, Noll, Vo; FNV-1a over the sizes] */
static guint
half_of (const KernelRow *row)
{
  guint64 hash = G_GUINT64_CONSTANT (14695981039346656037);

  for (guint i = 0; i < KERNEL_TABLE_MOST_SIZES; i++)
    for (guint byte = 0; byte < 8; byte++)
      {
        hash ^= (row->size[i] >> 8 * byte) & 0xff;
        hash *= G_GUINT64_CONSTANT (1099511628211);
      }
  return (guint) (hash >> 32) & 1;
}

static gboolean
is_of_class (const KernelRow *row, RowClass one)
{
  if (row->kind != classes[one].kind)
    return FALSE;
  return classes[one].dtype != NULL
             ? strcmp (row->dtype, classes[one].dtype) == 0
             : kernel_row_is_fp8_attention (row)
                   == (one == CLASS_ATTENTION_FP8 || one == CLASS_DECODE_FP8);
}

/* Rows of GPU by class; HALF 2: of both. The caller's arrays. */
static void
rows_of (const GArray *all, const char *gpu, guint half, Rows rows)
{
  for (guint c = 0; c < N_CLASSES; c++)
    {
      rows[c] = g_array_new (FALSE, FALSE, sizeof (const KernelRow *));
      for (guint i = 0; i < all->len; i++)
        {
          const KernelRow *row = &g_array_index (all, KernelRow, i);

          if (strcmp (row->gpu, gpu) == 0 && is_of_class (row, (RowClass) c)
              && (half == 2 || half_of (row) == half))
            g_array_append_val (rows[c], row);
        }
    }
}

static void
rows_clear (Rows rows)
{
  for (guint c = 0; c < N_CLASSES; c++)
    g_array_unref (rows[c]);
}

/* Square of a distance; of products as kernel_model_cost has it. */
static double
distance (const KernelRow *a, const KernelRow *b)
{
  double square = 0;

  for (guint i = 0; i < KERNEL_TABLE_MOST_SIZES; i++)
    square += pow (log2 ((double) MAX (a->size[i], 1) / (double) MAX (b->size[i], 1)), 2);
  return square;
}

/* At most MOST of ROWS, each the farthest from those before it. */
static GArray *
spread (const GArray *rows, guint most)
{
  GArray            *taken = g_array_new (FALSE, FALSE, sizeof (const KernelRow *));
  g_autofree double *nearest = g_new (double, rows->len + 1);
  guint              next = 0;

  for (guint i = 0; i < rows->len; i++)
    nearest[i] = INFINITY;
  while (taken->len < MIN (most, rows->len))
    {
      const KernelRow *row = g_array_index (rows, const KernelRow *, next);

      g_array_append_val (taken, row);
      for (guint i = 0; i < rows->len; i++)
        nearest[i] = MIN (nearest[i], distance (row, g_array_index (rows, const KernelRow *, i)));
      nearest[next] = -1;
      for (guint i = 0; i < rows->len; i++)
        if (nearest[i] > nearest[next])
          next = i;
    }
  return taken;
}

/* ---- figures --------------------------------------------------------------------------------- */

typedef struct
{
  GpuProfile      gpu;
  Rows            rows;
  KernelTableKind kind;                              /* whose figures are fitted */
  guint           members[G_N_ELEMENTS (fitted)], n; /* of `fitted`, those that rows determine */
} Fit;

static Figure *
figure_of (GpuProfile *gpu, guint member)
{
  return (Figure *) (gpointer) ((guint8 *) (gpointer) gpu + fitted[member].offset);
}

/* Of one row, without the table. */
static double
miss (const KernelBench *bench, const KernelRow *row)
{
  const char  *reason;
  const double seconds = kernel_bench_seconds (bench, row, NULL, &reason);

  return reason != NULL ? MOST_MISS : MIN (fabs (log (seconds / row->seconds)), MOST_MISS);
}

static double
cost_of (const double *x, gpointer data)
{
  Fit                    *self = data;
  g_autoptr (KernelBench) bench = NULL;
  double                  sum = 0;

  for (guint i = 0; i < self->n; i++)
    figure_of (&self->gpu, self->members[i])->value = x[i];
  bench = kernel_bench_new (&self->gpu);
  for (guint c = 0; c < N_CLASSES; c++)
    for (guint i = 0; classes[c].kind == self->kind && i < self->rows[c]->len; i++)
      sum += miss (bench, g_array_index (self->rows[c], const KernelRow *, i)) / self->rows[c]->len;
  return sum;
}

static gboolean
is_determined (const GpuProfile *gpu, const Rows rows, guint member)
{
  if (fitted[member].offset == G_STRUCT_OFFSET (GpuProfile, l2_bandwidth)
      && gpu->l2_bytes.value == 0)
    return FALSE;
  for (guint c = 0; c < N_CLASSES; c++)
    if (rows[c]->len > 0 && classes[c].kind == fitted[member].rows
        && (fitted[member].one == CLASS_ANY || fitted[member].one == c))
      return TRUE;
  return FALSE;
}

/* The figures of KIND that fit best, into the GPU of SELF. */
static void
fit_kind (Fit *self, const Rows rows, KernelTableKind kind)
{
  MinimiseRange ranges[G_N_ELEMENTS (fitted)];
  double        x[G_N_ELEMENTS (fitted)];

  self->kind = kind;
  self->n = 0;
  for (guint m = 0; m < G_N_ELEMENTS (fitted); m++)
    if (fitted[m].rows == kind && is_determined (&self->gpu, rows, m))
      {
        const MinimiseRange *range = &fitted[m].range;

        ranges[self->n] = *range;
        x[self->n] = CLAMP (figure_of (&self->gpu, m)->value, range->lower, range->upper);
        self->members[self->n++] = m;
      }
  if (self->n == 0)
    return;
  for (guint i = 0; i < N_SEARCHES; i++)
    minimise_coordinates (x, ranges, self->n, &effort, cost_of, self);
  cost_of (x, self);
}

/* BASE with the figures that fit ROWS best, and no table. */
static GpuProfile
fit_figures (const GpuProfile *base, Rows rows)
{
  Fit self = { .gpu = *base };

  self.gpu.matmul_curve = NULL;
  self.gpu.measured_on = NULL;
  for (guint c = 0; c < N_CLASSES; c++)
    self.rows[c] = spread (rows[c], MOST_FITTED);
  fit_kind (&self, rows, KERNEL_TABLE_PRODUCTS);
  fit_kind (&self, rows, KERNEL_TABLE_EXPERTS);
  fit_kind (&self, rows, KERNEL_TABLE_PREFILL); /* its rows find in L2 what experts' do */
  fit_kind (&self, rows, KERNEL_TABLE_DECODE);
  rows_clear (self.rows);
  return self.gpu;
}

/* ---- table ----------------------------------------------------------------------------------- */

static void
add_products (const KernelBench *bench, const GArray *rows, MatmulType type, GArray *products)
{
  g_autoptr (GArray) apart = g_array_new (FALSE, FALSE, sizeof (const KernelRow *));
  g_autoptr (GArray) taken = NULL;
  double             casts;
  const char        *reason;

  for (guint i = 0; i < rows->len; i++)
    {
      const KernelRow *row = g_array_index (rows, const KernelRow *, i);

      kernel_bench_seconds (bench, row, &casts, &reason);
      if (reason == NULL && casts < MOST_CASTS * row->seconds)
        g_array_append_val (apart, row);
    }
  taken = spread (apart, MOST_PRODUCTS);
  for (guint i = 0; i < taken->len; i++)
    {
      const KernelRow *row = g_array_index (taken, const KernelRow *, i);
      MatmulPoint      point = { .batch = 1,
                                 .m = (double) row->size[PRODUCT_M],
                                 .n = (double) row->size[PRODUCT_N],
                                 .k = (double) row->size[PRODUCT_K],
                                 .type = type };

      kernel_bench_seconds (bench, row, &casts, &reason);
      point.seconds = row->seconds - casts;
      g_array_append_val (products, point);
    }
}

static GArray *
products_of (const GpuProfile *gpu, const Rows rows)
{
  g_autoptr (KernelBench) bench = kernel_bench_new (gpu);
  GArray                 *products = g_array_new (FALSE, FALSE, sizeof (MatmulPoint));

  for (guint c = 0; c < N_CLASSES; c++)
    if (classes[c].kind == KERNEL_TABLE_PRODUCTS)
      add_products (bench, rows[c], classes[c].type, products);
  return products;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static ErrorStatistics
errors_of (const GpuProfile *gpu, const GArray *rows)
{
  g_autoptr (KernelBench) bench = kernel_bench_new (gpu);
  g_autofree double      *errors = g_new (double, rows->len);
  guint                   n = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const KernelRow *row = g_array_index (rows, const KernelRow *, i);
      const char      *reason;
      const double     seconds = kernel_bench_seconds (bench, row, NULL, &reason);

      if (reason == NULL)
        errors[n++] = seconds / row->seconds - 1;
    }
  return statistics_of_errors (errors, n);
}

/* One half predicts the other. */
static void
leave_out (KernelCalibration *self, const GArray *all)
{
  Rows               known, other;
  GpuProfile         gpu;
  g_autoptr (GArray) products = NULL;

  rows_of (all, self->base->id, 0, known);
  rows_of (all, self->base->id, 1, other);
  gpu = fit_figures (self->base, known);
  products = products_of (&gpu, known);
  for (guint c = 0; c < N_CLASSES; c++)
    {
      KernelLeftOut one = { .name = classes[c].name, .n = known[c]->len + other[c]->len };

      if (one.n == 0)
        continue;
      gpu.matmul_curve = NULL;
      one.figures = errors_of (&gpu, other[c]);
      gpu.matmul_curve = products;
      one.table = errors_of (&gpu, other[c]);
      g_array_append_val (self->left_out, one);
    }
  rows_clear (known);
  rows_clear (other);
}

static GArray *
changed_figures (const GpuProfile *base, const GpuProfile *after, const Rows rows)
{
  GArray    *figures = g_array_new (FALSE, FALSE, sizeof (KernelFigure));
  GpuProfile before = *base, now = *after;

  for (guint m = 0; m < G_N_ELEMENTS (fitted); m++)
    {
      KernelFigure one = { fitted[m].key, fitted[m].kind, figure_of (&before, m)->value,
                           figure_of (&now, m)->value };

      if (is_determined (base, rows, m))
        g_array_append_val (figures, one);
    }
  return figures;
}

KernelCalibration *
calibrate_kernels (const GArray *all, const GpuProfile *base)
{
  KernelCalibration *self = g_new0 (KernelCalibration, 1);
  Rows               rows;
  GpuProfile         after;

  rows_of (all, base->id, 2, rows);
  for (guint c = 0; c < N_CLASSES; c++)
    self->n += rows[c]->len;
  if (self->n < KERNEL_CALIBRATION_LEAST)
    {
      rows_clear (rows);
      g_free (self);
      return NULL;
    }
  self->base = base;
  self->left_out = g_array_new (FALSE, FALSE, sizeof (KernelLeftOut));
  after = fit_figures (base, rows);
  self->figures = changed_figures (base, &after, rows);
  self->products = products_of (&after, rows);
  rows_clear (rows);
  leave_out (self, all);
  return self;
}

void
kernel_calibration_free (KernelCalibration *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->figures);
  g_array_unref (self->products);
  g_array_unref (self->left_out);
  g_free (self);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* To three digits: no measurement knows more. */
static char *
value_text (QuantityKind kind, double value)
{
  char   text[G_ASCII_DTOSTR_BUF_SIZE];
  double rounded = g_ascii_strtod (g_ascii_formatd (text, sizeof text, "%.3g", value), NULL);

  if (kind == QUANTITY_COUNT)
    rounded = round (rounded);
  return kind == QUANTITY_RATIO ? number_format_exact (rounded)
                                : quantity_format_exact (kind, rounded);
}

char *
kernel_calibration_profile (const KernelCalibration *self, const char *source)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "extends: %s\ntitle: \"%s, products as measured\"\n",
                          self->base->id, self->base->title);
  for (guint i = 0; i < self->figures->len; i++)
    {
      const KernelFigure *figure = &g_array_index (self->figures, KernelFigure, i);
      g_autofree char    *value = value_text (figure->kind, figure->after);

      g_string_append_printf (text,
                              "%s: { value: %s,\n  source: \"fitted to %u kernels (%s)\",\n"
                              "  confidence: measured }\n",
                              figure->key, value, self->n, source);
    }
  return g_string_free (text, FALSE);
}

char *
kernel_calibration_table (const KernelCalibration *self)
{
  GString *text = g_string_new ("batch,m,n,k,tflops,dtype\n");

  for (guint i = 0; i < self->products->len; i++)
    {
      const MatmulPoint *p = &g_array_index (self->products, MatmulPoint, i);
      char               rate[G_ASCII_DTOSTR_BUF_SIZE];

      g_ascii_formatd (rate, sizeof rate, "%.5g", 2e-12 * p->m * p->n * p->k / p->seconds);
      for (guint c = 0; c < N_CLASSES; c++)
        if (classes[c].curve != NULL && classes[c].type == p->type)
          g_string_append_printf (text, "1,%.0f,%.0f,%.0f,%s,%s\n", p->m, p->n, p->k, rate,
                                  classes[c].curve);
    }
  return g_string_free (text, FALSE);
}
