/* Measured matrix products beside the model of kernel.c. */
#include <math.h>

#include "cost/kernel/kernel.h"

/*
 * Weight of the model itself among the measured products; found with their distances' unit by
 * leaving each of 80 products of an H100 out.
 */
#define MODEL_WEIGHT 0.3

/* Square of a distance beyond which a weight is lost in the rounding of the model's own. */
#define FAR 80

enum
{
  N_SIZES = 4
};

typedef struct
{
  double size[N_SIZES]; /* log2 of batch, m, n, k */
  double ratio;         /* log of measured over modelled time */
} Correction;

/* Those of one type of products, made when one is first asked for, by whichever thread. */
typedef struct
{
  gsize   made;
  GArray *corrections; /* of Correction */
} TypeCorrections;

struct _KernelModel
{
  const GpuProfile *gpu;
  InputFiles       *files;
  TypeCorrections   types[MATMUL_N_TYPES];
};

static void
log_sizes (const KernelDesc *kernel, double size[N_SIZES])
{
  size[0] = kernel->streams == 1 ? 0 : log2 ((double) kernel->batch); /* in turn: each alone */
  size[0] += log2 (MAX (kernel->turns, 1));
  size[1] = log2 ((double) kernel->m);
  size[2] = log2 ((double) kernel->n);
  size[3] = log2 ((double) kernel->k);
}

static const struct
{
  Dtype    dtype;
  gboolean block_scaled;
  double   bytes; /* of an operand's element */
} types[MATMUL_N_TYPES] = {
  [MATMUL_16BIT] = { DTYPE_BF16, FALSE, 2 },    [MATMUL_FP32] = { DTYPE_FP32, FALSE, 4 },
  [MATMUL_FP8] = { DTYPE_FP8, FALSE, 1 },       [MATMUL_FP8_BLOCK] = { DTYPE_FP8, TRUE, 1 },
  [MATMUL_NVFP4] = { DTYPE_FP4, TRUE, 0.5625 },
};

static MatmulType
type_of (const KernelDesc *kernel)
{
  switch (kernel->dtype)
    {
    case DTYPE_FP32:
      return MATMUL_FP32;
    case DTYPE_FP8:
      return kernel->block_scaled ? MATMUL_FP8_BLOCK : MATMUL_FP8;
    case DTYPE_FP4:
      return MATMUL_NVFP4;
    default:
      return MATMUL_16BIT;
    }
}

/* Products are measured alone and for a short time: at the clock of GPU's short measurements. */
static Correction
correction_new (const GpuProfile *gpu, const MatmulPoint *point)
{
  double     bytes = types[point->type].bytes * point->batch;
  KernelDesc kernel = {
    .kind = KERNEL_MATMUL,
    .dtype = types[point->type].dtype,
    .block_scaled = types[point->type].block_scaled,
    .batch = (guint64) point->batch,
    .m = (guint64) point->m,
    .n = (guint64) point->n,
    .k = (guint64) point->k,
    .launches = 1,
    .flops = 2 * point->batch * point->m * point->n * point->k,
    .read_bytes = bytes * (point->m + point->n) * point->k,
    .write_bytes = MAX (types[point->type].bytes, 2) * point->batch * point->m * point->n,
  };
  KernelCost cost;
  Correction self = { 0 };

  kernel_cost (gpu, &kernel, &cost);
  self.ratio = log (point->seconds / cost.alone);
  log_sizes (&kernel, self.size);
  return self;
}

KernelModel *
kernel_model_new (const GpuProfile *gpu)
{
  return kernel_model_new_shared (gpu, NULL);
}

KernelModel *
kernel_model_new_shared (const GpuProfile *gpu, InputFiles *files)
{
  KernelModel *self = g_new0 (KernelModel, 1);

  self->gpu = gpu;
  self->files = files;
  return self;
}

void
kernel_model_free (KernelModel *self)
{
  for (guint t = 0; t < MATMUL_N_TYPES; t++)
    g_clear_pointer (&self->types[t].corrections, g_array_unref);
  g_free (self);
}

static GArray *
corrections_new (const GpuProfile *gpu, MatmulType type)
{
  GArray    *corrections = g_array_new (FALSE, FALSE, sizeof (Correction));
  GpuProfile cool = gpu->measured_on != NULL ? *gpu->measured_on : *gpu;

  cool.sustained_clock.value = 1;
  cool.release = NULL; /* they are of today's kernels */
  for (guint i = 0; gpu->matmul_curve != NULL && i < gpu->matmul_curve->len; i++)
    {
      const MatmulPoint *point = &g_array_index (gpu->matmul_curve, MatmulPoint, i);

      if (point->type == type)
        {
          const Correction one = correction_new (&cool, point);

          g_array_append_val (corrections, one);
        }
    }
  return corrections;
}

/* Which corrections are made. */
typedef struct
{
  const GpuProfile *gpu;
  MatmulType        type;
} Wanted;

static gpointer
make_corrections (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const Wanted *wanted = user;

  return corrections_new (wanted->gpu, wanted->type);
}

/*
 * A curve belongs to one profile as FILES has read it: its address says which, and copies that run
 * another release's kernels have the same corrections.
 */
static GArray *
shared_corrections (const KernelModel *self, MatmulType type)
{
  const Wanted         wanted = { self->gpu, type };
  g_autoptr (DiagList) none = diag_list_new ();
  g_autofree char     *key =
      g_strdup_printf ("corrections of products %u by %p", type, (void *) self->gpu->matmul_curve);

  return g_array_ref ((GArray *) input_files_get (self->files, key, make_corrections, &wanted,
                                                  (GDestroyNotify) g_array_unref, none));
}

static const GArray *
corrections_of (KernelModel *self, MatmulType type)
{
  TypeCorrections *one = &self->types[type];

  if (g_once_init_enter (&one->made))
    {
      one->corrections = self->files != NULL && self->gpu->matmul_curve != NULL
                             ? shared_corrections (self, type)
                             : corrections_new (self->gpu, type);
      g_once_init_leave (&one->made, 1);
    }
  return one->corrections;
}

static double
weight_of (const Correction *self, const double size[N_SIZES])
{
  double square = 0;

  for (guint i = 0; i < N_SIZES; i++)
    square += (self->size[i] - size[i]) * (self->size[i] - size[i]);
  return square < FAR ? exp (-square / 2) : 0;
}

/* Measured over modelled time of products like KERNEL, by those of its type. */
static double
ratio_of (const GArray *corrections, const KernelDesc *kernel)
{
  double size[N_SIZES], sum = 0, weights = MODEL_WEIGHT;

  log_sizes (kernel, size);
  for (guint i = 0; i < corrections->len; i++)
    {
      const Correction *one = &g_array_index (corrections, Correction, i);
      const double      weight = weight_of (one, size);

      sum += weight * one->ratio;
      weights += weight;
    }
  return exp (sum / weights);
}

void
kernel_model_cost (KernelModel *self, const KernelDesc *kernel, KernelCost *cost)
{
  const GArray *corrections;
  double        ratio;

  kernel_cost (self->gpu, kernel, cost);
  if (kernel->kind != KERNEL_MATMUL)
    return;
  corrections = corrections_of (self, type_of (kernel));
  if (corrections->len == 0)
    return;
  ratio = ratio_of (corrections, kernel);
  cost->wave_seconds *= ratio;
  cost->hbm_bytes *= ratio;
  cost->latency *= ratio;
  cost->alone *= ratio;
}
