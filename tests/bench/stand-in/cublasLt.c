#include <cublasLt.h>
#include <stdlib.h>

#include "stand-in.h"

/*
 * Layouts and descriptions are plain data of the caller's memory in neither library: here they hold
 * what a product's time needs.
 */
typedef struct
{
  uint64_t rows, columns;
} Layout;

typedef struct
{
  cublasOperation_t op_a, op_b;
} Description;

cublasStatus_t
cublasLtCreate (cublasLtHandle_t *handle)
{
  *handle = calloc (1, sizeof (double));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtDestroy (cublasLtHandle_t handle)
{
  free (handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescCreate (cublasLtMatmulDesc_t *self, cublasComputeType_t compute,
                          cudaDataType_t scale)
{
  (void) compute, (void) scale;
  *self = calloc (1, sizeof (Description));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescDestroy (cublasLtMatmulDesc_t self)
{
  free (self);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute (cublasLtMatmulDesc_t self, cublasLtMatmulDescAttributes_t attribute,
                                const void *value, size_t bytes)
{
  Description *description = (Description *) (void *) self;

  (void) bytes;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    description->op_a = *(const cublasOperation_t *) value;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    description->op_b = *(const cublasOperation_t *) value;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutCreate (cublasLtMatrixLayout_t *self, cudaDataType type, uint64_t rows,
                            uint64_t columns, int64_t leading)
{
  Layout *layout = calloc (1, sizeof *layout);

  (void) type, (void) leading;
  layout->rows = rows;
  layout->columns = columns;
  *self = (cublasLtMatrixLayout_t) (void *) layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy (cublasLtMatrixLayout_t self)
{
  free (self);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate (cublasLtMatmulPreference_t *self)
{
  *self = calloc (1, 64);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy (cublasLtMatmulPreference_t self)
{
  free (self);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute (cublasLtMatmulPreference_t           self,
                                      cublasLtMatmulPreferenceAttributes_t attribute,
                                      const void *value, size_t bytes)
{
  (void) self, (void) attribute, (void) value, (void) bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic (cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t preference, int wanted,
                                cublasLtMatmulHeuristicResult_t results[], int *n)
{
  (void) handle, (void) description, (void) a, (void) b, (void) c, (void) d, (void) preference,
      (void) wanted;
  results[0] = (cublasLtMatmulHeuristicResult_t){ .state = CUBLAS_STATUS_SUCCESS };
  *n = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul (cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                cudaStream_t stream)
{
  const Description *what = (const Description *) (const void *) description;
  const Layout      *from = (const Layout *) (const void *) a_layout;
  const Layout      *to = (const Layout *) (const void *) d_layout;

  (void) handle, (void) alpha, (void) a, (void) b, (void) b_layout, (void) beta, (void) c,
      (void) c_layout, (void) d, (void) algorithm, (void) workspace, (void) bytes;
  if (stand_in_fails ("cublasLtMatmul"))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  stand_in_run (stream, ENGINE_KERNEL,
                STAND_IN_KERNEL
                    + 2.0 * (double) to->rows * (double) to->columns
                          * (double) (what->op_a == CUBLAS_OP_N ? from->columns : from->rows)
                          / STAND_IN_PRODUCT);
  return CUBLAS_STATUS_SUCCESS;
}
