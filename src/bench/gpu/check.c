#ifdef BENCH_CUDA

#include "bench/gpu/check.h"

#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/gpu/gemm.h"

/* A product's shape: no two alike, multiples of 16 as fp8 needs. */
#define ROWS    48ul
#define COLUMNS 80
#define DEPTH   112
#define BATCH   2

typedef struct
{
  double a[ROWS * DEPTH * BATCH], b[DEPTH * COLUMNS * BATCH];
  double want[ROWS * COLUMNS * BATCH], got[ROWS * COLUMNS * BATCH];
} ProductValues;

static void
multiply (const GemmShape *shape, ProductValues *v)
{
  for (size_t z = 0; z < shape->batch; z++)
    for (size_t i = 0; i < shape->m; i++)
      for (size_t j = 0; j < shape->n; j++)
        {
          const double *a = v->a + z * shape->m * shape->k, *b = v->b + z * shape->k * shape->n;
          double        sum = 0;

          for (size_t k = 0; k < shape->k; k++)
            sum += (shape->layout == GEMM_TN ? a[k * shape->m + i] : a[i * shape->k + k])
                   * (shape->layout == GEMM_NT ? b[j * shape->k + k] : b[k * shape->n + j]);
          v->want[(z * shape->m + i) * shape->n + j] = sum;
        }
}

static bool
run_product (const Bench *bench, Gemm *gemm, const GemmShape *shape, char *memory,
             ProductValues *values)
{
  char *a = memory, *b = a + gemm_a_bytes (shape), *c = b + gemm_b_bytes (shape);
  bool  fp8 = strcmp (shape->dtype, "fp8") == 0;

  if (!cuda_fill_random (bench, a, gemm_a_bytes (shape) + gemm_b_bytes (shape), shape->dtype, 7))
    return false;
  CUDA_TRY (cudaMemset (c, 0, gemm_c_bytes (shape)));
  return gemm_run (bench, gemm, NULL, shape, a, b, c)
         && check_read (bench, a, shape->dtype, shape->m * shape->k * shape->batch, values->a)
         && check_read (bench, b, shape->dtype, shape->k * shape->n * shape->batch, values->b)
         && check_read (bench, c, fp8 ? "bf16" : shape->dtype, shape->m * shape->n * shape->batch,
                        values->got);
}

/* DTYPE's products: rounding of the result alone, but for fp32 and fp8's fast accumulation. */
static bool
check_dtype (const Bench *bench, Gemm *gemm, const char *dtype, double bound, ProductValues *values)
{
  bool good = true, fp8 = strcmp (dtype, "fp8") == 0;

  for (GemmLayout layout = GEMM_NT; layout <= (fp8 ? GEMM_NT : GEMM_TN); layout++)
    for (unsigned batch = 1; batch <= (fp8 ? 1 : BATCH); batch++)
      {
        const GemmShape shape = { layout, dtype, ROWS, COLUMNS, DEPTH, batch };
        char            what[64], *memory;

        snprintf (what, sizeof what, "product %s %s, batch %u", dtype, gemm_layout_name (layout),
                  batch);
        CUDA_TRY (cudaMalloc ((void **) &memory, gemm_a_bytes (&shape) + gemm_b_bytes (&shape)
                                                     + gemm_c_bytes (&shape)));
        if (run_product (bench, gemm, &shape, memory, values))
          {
            multiply (&shape, values);
            good =
                check_close (bench, what, values->want, values->got, ROWS * COLUMNS * batch, bound)
                && good;
          }
        else
          good = false;
        cudaFree (memory);
      }
  return good;
}

static bool
check_products (const Bench *bench)
{
  static const struct
  {
    const char *dtype;
    double      bound;
  } cases[] = { { "fp32", 1e-5 }, { "bf16", 5e-3 }, { "fp16", 1e-3 }, { "fp8", 5e-3 } };
  ProductValues *values = calloc (1, sizeof *values);
  Gemm          *gemm = gemm_open (bench);
  bool           good = values != NULL && gemm != NULL;

  for (size_t i = 0; values != NULL && gemm != NULL && i < sizeof cases / sizeof *cases; i++)
    if (gemm_has_dtype (gemm, cases[i].dtype))
      good = check_dtype (bench, gemm, cases[i].dtype, cases[i].bound, values) && good;
  gemm_close (gemm);
  free (values);
  return good;
}

bool
bench_check (Bench *bench)
{
  const bool products = check_products (bench), decoding = check_decode_attention (bench);

  return check_attention (bench) && products && decoding;
}

#endif
