#ifdef BENCH_CUDA

#include "bench/gpu/gemm.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

struct Gemm
{
  cublasHandle_t handle;
  cudaStream_t   stream; /* of the handle, once HAS_STREAM */
  bool           has_stream;
  void          *workspace;
  size_t         workspace_bytes;
  int            capability; /* 90 = 9.0 */
  float         *one;        /* on the device: scale of fp8 operands */

  /* What cublasLt chose for PLANNED; it is asked again when the shape changes. */
  GemmShape              planned;
  cublasLtMatmulDesc_t   matmul;
  cublasLtMatrixLayout_t layout_a, layout_b, layout_c;
  cublasLtMatmulAlgo_t   algorithm;
};

const char *
gemm_layout_name (GemmLayout layout)
{
  static const char *const names[] = { "nt", "nn", "tn" };
  return names[layout];
}

static const struct
{
  const char  *name;
  size_t       bytes, result_bytes;
  cudaDataType type;
  int          capability; /* the first that multiplies it with tensor cores, or at all */
} types[] = {
  { "bf16", 2, 2, CUDA_R_16BF, 80 },
  { "fp16", 2, 2, CUDA_R_16F, 70 },
  { "fp32", 4, 4, CUDA_R_32F, 0 },
  { "fp8", 1, 2, CUDA_R_8F_E4M3, 89 },
};

static unsigned
type_of (const char *dtype)
{
  unsigned i = 0;

  while (strcmp (types[i].name, dtype) != 0)
    i++;
  return i;
}

size_t
gemm_a_bytes (const GemmShape *shape)
{
  return shape->m * shape->k * shape->batch * types[type_of (shape->dtype)].bytes;
}

size_t
gemm_b_bytes (const GemmShape *shape)
{
  return shape->k * shape->n * shape->batch * types[type_of (shape->dtype)].bytes;
}

size_t
gemm_c_bytes (const GemmShape *shape)
{
  return shape->m * shape->n * shape->batch * types[type_of (shape->dtype)].result_bytes;
}

bool
gemm_has_dtype (const Gemm *self, const char *dtype)
{
  return self->capability >= types[type_of (dtype)].capability;
}

/*
 * PyTorch's default workspaces (CUBLAS_WORKSPACE_CONFIG): :4096:8 since Hopper, :4096:2:16:8
 * before, in KiB.
 */
static size_t
workspace_size (int capability)
{
  return capability >= 90 ? 8ul * 4096 * 1024 : 2ul * 4096 * 1024 + 8ul * 16 * 1024;
}

static bool
open_device (const Bench *bench, Gemm *self)
{
  int         device, major, minor;
  const float one = 1;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&minor, cudaDevAttrComputeCapabilityMinor, device));
  self->capability = 10 * major + minor;
  self->workspace_bytes = workspace_size (self->capability);
  CUDA_TRY (cudaMalloc (&self->workspace, self->workspace_bytes));
  CUDA_TRY (cudaMalloc ((void **) &self->one, sizeof one));
  CUDA_TRY (cudaMemcpy (self->one, &one, sizeof one, cudaMemcpyHostToDevice));
  CUDA_TRY (cudaDeviceSynchronize ()); /* it may return before the value has arrived */
  CUBLAS_TRY (cublasCreate (&self->handle));
  CUBLAS_TRY (cublasSetMathMode (self->handle, CUBLAS_DEFAULT_MATH));
  return true;
}

Gemm *
gemm_open (const Bench *bench)
{
  Gemm *self = calloc (1, sizeof *self);

  if (self == NULL)
    bench_error (bench, "calloc", "out of memory");
  else if (!open_device (bench, self))
    {
      gemm_close (self);
      self = NULL;
    }
  return self;
}

static void
drop_plan (Gemm *self)
{
  if (self->matmul != NULL)
    cublasLtMatmulDescDestroy (self->matmul);
  if (self->layout_a != NULL)
    cublasLtMatrixLayoutDestroy (self->layout_a);
  if (self->layout_b != NULL)
    cublasLtMatrixLayoutDestroy (self->layout_b);
  if (self->layout_c != NULL)
    cublasLtMatrixLayoutDestroy (self->layout_c);
  self->matmul = NULL;
  self->layout_a = self->layout_b = self->layout_c = NULL;
  self->planned = (GemmShape){ 0 };
}

void
gemm_close (Gemm *self)
{
  if (self == NULL)
    return;
  drop_plan (self);
  if (self->handle != NULL)
    cublasDestroy (self->handle);
  cudaFree (self->workspace);
  cudaFree (self->one);
  free (self);
}

/* Column-major cublasLt computes the transpose: its A is our B. */
static bool
plan_fp8 (const Bench *bench, Gemm *self, const GemmShape *shape)
{
  cublasOperation_t               transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  int8_t                          fast = 1;
  cublasLtMatmulPreference_t      preference = NULL;
  cublasLtMatmulHeuristicResult_t found;
  cublasStatus_t                  status;
  int                             n_found = 0;
  const struct
  {
    cublasLtMatmulDescAttributes_t name;
    const void                    *value;
    size_t                         bytes;
  } attributes[] = {
    { CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed },
    { CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain },
    { CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &self->one, sizeof self->one },
    { CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &self->one, sizeof self->one },
    { CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast },
  };

  drop_plan (self);
  CUBLAS_TRY (cublasLtMatmulDescCreate (&self->matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, attributes[i].name,
                                                attributes[i].value, attributes[i].bytes));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_a, CUDA_R_8F_E4M3, shape->k, shape->n,
                                          (int64_t) shape->k));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_b, CUDA_R_8F_E4M3, shape->k, shape->m,
                                          (int64_t) shape->k));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_c, CUDA_R_16BF, shape->n, shape->m,
                                          (int64_t) shape->n));
  CUBLAS_TRY (cublasLtMatmulPreferenceCreate (&preference));
  status =
      cublasLtMatmulPreferenceSetAttribute (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &self->workspace_bytes, sizeof self->workspace_bytes);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic ((cublasLtHandle_t) self->handle, self->matmul,
                                             self->layout_a, self->layout_b, self->layout_c,
                                             self->layout_c, preference, 1, &found, &n_found);
  if (status == CUBLAS_STATUS_SUCCESS && n_found == 0)
    status = CUBLAS_STATUS_NOT_SUPPORTED;
  cublasLtMatmulPreferenceDestroy (preference);
  if (status != CUBLAS_STATUS_SUCCESS)
    return cublas_failed (bench, "cublasLtMatmulAlgoGetHeuristic", status);
  self->algorithm = found.algo;
  self->planned = *shape;
  return true;
}

static bool
run_fp8 (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape, const void *a,
         const void *b, void *c)
{
  const float      one = 1, zero = 0;
  const GemmShape *last = &self->planned;
  const bool       same = last->m == shape->m && last->n == shape->n && last->k == shape->k;

  if (shape->layout != GEMM_NT || shape->batch != 1)
    return cublas_failed (bench, "cublasLtMatmul", CUBLAS_STATUS_NOT_SUPPORTED);
  if (!same && !plan_fp8 (bench, self, shape))
    return false;
  CUBLAS_TRY (cublasLtMatmul ((cublasLtHandle_t) self->handle, self->matmul, &one, b,
                              self->layout_a, a, self->layout_b, &zero, c, self->layout_c, c,
                              self->layout_c, &self->algorithm, self->workspace,
                              self->workspace_bytes, stream));
  return true;
}

/*
 * cuBLAS is column-major, where a row-major matrix is its own transpose: the transpose of C is op
 * (B)' op (A)', so B goes first and a row-major matrix that is not to be transposed is passed as it
 * lies.
 */
bool
gemm_run (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape,
          const void *a, const void *b, void *c)
{
  const float       one = 1, zero = 0;
  cudaDataType      type = types[type_of (shape->dtype)].type;
  int               m = (int) shape->m, n = (int) shape->n, k = (int) shape->k;
  const bool        turned_a = shape->layout == GEMM_TN, turned_b = shape->layout == GEMM_NT;
  int               lead_a = turned_a ? m : k, lead_b = turned_b ? k : n;
  cublasOperation_t op_a = turned_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t op_b = turned_b ? CUBLAS_OP_T : CUBLAS_OP_N;

  if (type == CUDA_R_8F_E4M3)
    return run_fp8 (bench, self, stream, shape, a, b, c);
  if (!self->has_stream || self->stream != stream)
    {
      /* In this order: setting the stream takes the workspace away again. */
      CUBLAS_TRY (cublasSetStream (self->handle, stream));
      CUBLAS_TRY (cublasSetWorkspace (self->handle, self->workspace, self->workspace_bytes));
      self->stream = stream;
      self->has_stream = true;
    }
  if (shape->batch == 1)
    CUBLAS_TRY (cublasGemmEx (self->handle, op_b, op_a, n, m, k, &one, b, type, lead_b, a, type,
                              lead_a, &zero, c, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  else
    CUBLAS_TRY (cublasGemmStridedBatchedEx (
        self->handle, op_b, op_a, n, m, k, &one, b, type, lead_b, (long long) k * n, a, type,
        lead_a, (long long) m * k, &zero, c, type, n, (long long) m * n, (int) shape->batch,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  return true;
}

#endif
