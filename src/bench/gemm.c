#ifdef BENCH_CUDA

#include "bench/gemm.h"

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

static size_t
operand_size (const char *dtype)
{
  return strcmp (dtype, "fp32") == 0 ? 4 : strcmp (dtype, "fp8") == 0 ? 1 : 2;
}

size_t
gemm_a_bytes (const GemmShape *shape)
{
  return shape->m * shape->k * shape->batch * operand_size (shape->dtype);
}

size_t
gemm_b_bytes (const GemmShape *shape)
{
  return shape->k * shape->n * shape->batch * operand_size (shape->dtype);
}

size_t
gemm_c_bytes (const GemmShape *shape)
{
  size_t size = strcmp (shape->dtype, "fp8") == 0 ? 2 : operand_size (shape->dtype);
  return shape->m * shape->n * shape->batch * size;
}

static cudaDataType
data_type (const char *dtype)
{
  if (strcmp (dtype, "fp32") == 0)
    return CUDA_R_32F;
  if (strcmp (dtype, "fp8") == 0)
    return CUDA_R_8F_E4M3;
  return strcmp (dtype, "fp16") == 0 ? CUDA_R_16F : CUDA_R_16BF;
}

bool
gemm_has_dtype (const Gemm *self, const char *dtype)
{
  if (strcmp (dtype, "fp32") == 0)
    return true;
  if (strcmp (dtype, "fp16") == 0)
    return self->capability >= 70;
  if (strcmp (dtype, "bf16") == 0)
    return self->capability >= 80;
  return strcmp (dtype, "fp8") == 0 && self->capability >= 89;
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

static bool
choose_algorithm (const Bench *bench, Gemm *self, cublasLtMatmulPreference_t preference)
{
  cublasLtMatmulHeuristicResult_t found;
  int                             n_found = 0;

  CUBLAS_TRY (
      cublasLtMatmulPreferenceSetAttribute (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &self->workspace_bytes, sizeof self->workspace_bytes));
  CUBLAS_TRY (cublasLtMatmulAlgoGetHeuristic ((cublasLtHandle_t) self->handle, self->matmul,
                                              self->layout_a, self->layout_b, self->layout_c,
                                              self->layout_c, preference, 1, &found, &n_found));
  if (n_found == 0)
    return cublas_failed (bench, "cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  self->algorithm = found.algo;
  return true;
}

/* Column-major cublasLt computes the transpose: its A is our B. */
static bool
plan_fp8 (const Bench *bench, Gemm *self, const GemmShape *shape)
{
  cublasOperation_t          transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  int8_t                     fast = 1;
  cublasLtMatmulPreference_t preference = NULL;
  bool                       chosen;

  drop_plan (self);
  CUBLAS_TRY (cublasLtMatmulDescCreate (&self->matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, CUBLASLT_MATMUL_DESC_TRANSA,
                                              &transposed, sizeof transposed));
  CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, CUBLASLT_MATMUL_DESC_TRANSB, &plain,
                                              sizeof plain));
  CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                              &self->one, sizeof self->one));
  CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                              &self->one, sizeof self->one));
  CUBLAS_TRY (cublasLtMatmulDescSetAttribute (self->matmul, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                                              sizeof fast));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_a, CUDA_R_8F_E4M3, shape->k, shape->n,
                                          (int64_t) shape->k));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_b, CUDA_R_8F_E4M3, shape->k, shape->m,
                                          (int64_t) shape->k));
  CUBLAS_TRY (cublasLtMatrixLayoutCreate (&self->layout_c, CUDA_R_16BF, shape->n, shape->m,
                                          (int64_t) shape->n));
  CUBLAS_TRY (cublasLtMatmulPreferenceCreate (&preference));
  chosen = choose_algorithm (bench, self, preference);
  cublasLtMatmulPreferenceDestroy (preference);
  if (chosen)
    self->planned = *shape;
  return chosen;
}

static bool
same_shape (const GemmShape *a, const GemmShape *b)
{
  return a->layout == b->layout && a->m == b->m && a->n == b->n && a->k == b->k;
}

static bool
run_fp8 (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape, const void *a,
         const void *b, void *c)
{
  const float one = 1, zero = 0;

  if (shape->layout != GEMM_NT || shape->batch != 1)
    return cublas_failed (bench, "cublasLtMatmul", CUBLAS_STATUS_NOT_SUPPORTED);
  if (!same_shape (&self->planned, shape) && !plan_fp8 (bench, self, shape))
    return false;
  CUBLAS_TRY (cublasLtMatmul ((cublasLtHandle_t) self->handle, self->matmul, &one, b,
                              self->layout_a, a, self->layout_b, &zero, c, self->layout_c, c,
                              self->layout_c, &self->algorithm, self->workspace,
                              self->workspace_bytes, stream));
  return true;
}

static bool
use_stream (const Bench *bench, Gemm *self, cudaStream_t stream)
{
  if (self->has_stream && self->stream == stream)
    return true;
  /* In this order: setting the stream takes the workspace away again. */
  CUBLAS_TRY (cublasSetStream (self->handle, stream));
  CUBLAS_TRY (cublasSetWorkspace (self->handle, self->workspace, self->workspace_bytes));
  self->stream = stream;
  self->has_stream = true;
  return true;
}

/*
 * cuBLAS is column-major, where a row-major matrix is its own transpose: the transpose of C is op
 * (B)' op (A)', so B goes first and a row-major matrix that is not to be transposed is passed as it
 * lies.
 */
bool
gemm_run_strided (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape,
                  const GemmStrides *strides, const void *a, const void *b, void *c, float beta)
{
  const float       one = 1;
  cudaDataType      type = data_type (shape->dtype);
  int               m = (int) shape->m, n = (int) shape->n, k = (int) shape->k;
  int               lead_a = (int) strides->lead_a, lead_b = (int) strides->lead_b;
  int               lead_c = (int) strides->lead_c;
  cublasOperation_t op_a = shape->layout == GEMM_TN ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t op_b = shape->layout == GEMM_NT ? CUBLAS_OP_T : CUBLAS_OP_N;

  if (!use_stream (bench, self, stream))
    return false;
  if (shape->batch == 1)
    CUBLAS_TRY (cublasGemmEx (self->handle, op_b, op_a, n, m, k, &one, b, type, lead_b, a, type,
                              lead_a, &beta, c, type, lead_c, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT));
  else
    CUBLAS_TRY (cublasGemmStridedBatchedEx (self->handle, op_b, op_a, n, m, k, &one, b, type,
                                            lead_b, (long long) strides->stride_b, a, type, lead_a,
                                            (long long) strides->stride_a, &beta, c, type, lead_c,
                                            (long long) strides->stride_c, (int) shape->batch,
                                            CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  return true;
}

bool
gemm_run (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *shape,
          const void *a, const void *b, void *c, float beta)
{
  GemmStrides dense = {
    .lead_a = shape->layout == GEMM_TN ? shape->m : shape->k,
    .lead_b = shape->layout == GEMM_NT ? shape->k : shape->n,
    .lead_c = shape->n,
    .stride_a = shape->m * shape->k,
    .stride_b = shape->k * shape->n,
    .stride_c = shape->m * shape->n,
  };

  if (data_type (shape->dtype) == CUDA_R_8F_E4M3)
    return run_fp8 (bench, self, stream, shape, a, b, c);
  return gemm_run_strided (bench, self, stream, shape, &dense, a, b, c, beta);
}

#endif
