#include <cublas_v2.h>
#include <stdlib.h>

#include "stand-in.h"

#define ENTER(name)                          \
  do                                         \
    if (stand_in_fails (name))               \
      return CUBLAS_STATUS_EXECUTION_FAILED; \
  while (0)

struct cublasContext
{
  cudaStream_t stream;
};

static cublasStatus_t
multiply (cudaStream_t stream, double m, double n, double k, double batch)
{
  stand_in_run (stream, ENGINE_KERNEL, STAND_IN_KERNEL + 2 * m * n * k * batch / STAND_IN_PRODUCT);
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

cublasStatus_t
cublasCreate_v2 (cublasHandle_t *handle)
{
  ENTER ("cublasCreate");
  *handle = calloc (1, sizeof **handle);
  stand_in_count ("cuBLAS handles", 1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasDestroy_v2 (cublasHandle_t handle)
{
  free (handle);
  stand_in_count ("cuBLAS handles", -1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetStream_v2 (cublasHandle_t handle, cudaStream_t stream)
{
  ENTER ("cublasSetStream");
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetMathMode (cublasHandle_t handle, cublasMath_t mode)
{
  (void) handle, (void) mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetWorkspace_v2 (cublasHandle_t handle, void *workspace, size_t bytes)
{
  (void) handle, (void) workspace, (void) bytes;
  return CUBLAS_STATUS_SUCCESS;
}

const char *
cublasGetStatusString (cublasStatus_t status)
{
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "the stand-in was told to fail";
}

/* Of column-major operands: a leading dimension below the rows is a mistake of the caller's. */
static bool
good_shape (cublasOperation_t op, int rows, int columns, int leading)
{
  return rows > 0 && columns > 0 && leading >= (op == CUBLAS_OP_N ? rows : columns);
}

cublasStatus_t
cublasGemmEx (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
              int k, const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
              cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
              cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
  (void) alpha, (void) a, (void) a_type, (void) b, (void) b_type, (void) beta, (void) c,
      (void) c_type, (void) compute, (void) algorithm;
  ENTER ("cublasGemmEx");
  if (!good_shape (op_a, m, k, lda) || !good_shape (op_b, k, n, ldb)
      || !good_shape (CUBLAS_OP_N, m, n, ldc))
    return CUBLAS_STATUS_INVALID_VALUE;
  return multiply (handle->stream, m, n, k, 1);
}

cublasStatus_t
cublasGemmStridedBatchedEx (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType a_type, int lda, long long stride_a, const void *b,
                            cudaDataType b_type, int ldb, long long stride_b, const void *beta,
                            void *c, cudaDataType c_type, int ldc, long long stride_c, int batch,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
  (void) alpha, (void) a, (void) a_type, (void) b, (void) b_type, (void) beta, (void) c,
      (void) c_type, (void) compute, (void) algorithm, (void) stride_a, (void) stride_b,
      (void) stride_c;
  ENTER ("cublasGemmStridedBatchedEx");
  if (!good_shape (op_a, m, k, lda) || !good_shape (op_b, k, n, ldb)
      || !good_shape (CUBLAS_OP_N, m, n, ldc) || batch < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  return multiply (handle->stream, m, n, k, batch);
}
