/*
 * cuDNN's graph interface, as far as fused attention needs it: tensors and operations are put
 * together into a graph, and the library finds a kernel for the whole. The library is opened at run
 * time (libcudnn.so.9); neither its headers nor the library are needed to build the runner. The
 * numbers below are those of its C interface, version 9.
 *
 * A graph remembers that something failed: what is put into it later does nothing, and
 * cudnn_graph_plan says so. All tensors have four dimensions.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

typedef enum
{
  CUDNN_FP32 = 0,
  CUDNN_FP16 = 2,
  CUDNN_INT32 = 4,
  CUDNN_BF16 = 9,
  CUDNN_BOOL = 11,
} CudnnType;

typedef enum
{
  CUDNN_ADD = 0,
  CUDNN_MUL = 1,
  CUDNN_DIV = 6,
  CUDNN_SUB = 9,
  CUDNN_EXP = 13,
  CUDNN_LOG = 15,
  CUDNN_IDENTITY = 21,
  CUDNN_GREATER_EQUAL = 303,
  CUDNN_INDEX = 501,  /* of an element along an axis */
  CUDNN_SELECT = 601, /* x where the third is true, else the second */
} CudnnPointwise;

typedef enum
{
  CUDNN_SUM = 0,
  CUDNN_MAX = 3,
} CudnnReduction;

typedef enum
{
  CUDNN_REAL,    /* memory of the caller */
  CUDNN_VIRTUAL, /* between operations: never in memory */
  CUDNN_VALUE,   /* one number, on the host */
} CudnnKind;

typedef struct Cudnn      Cudnn;
typedef struct CudnnGraph CudnnGraph;

/* A tensor of a graph, from 1 on: its unique id there. 0: none. */
typedef unsigned CudnnTensor;

/*
 * NULL after a note where there is no cuDNN 9 or it does not work on this device: what it measures
 * is left out.
 */
Cudnn   *cudnn_open (const Bench *bench);
void     cudnn_close (Cudnn *self);         /* NULL: nothing */
unsigned cudnn_version (const Cudnn *self); /* 91900 = 9.19.0 */

/* BENCH and LIBRARY must outlive it. NULL after a message. */
CudnnGraph *cudnn_graph_new (const Bench *bench, Cudnn *library);
void        cudnn_graph_free (CudnnGraph *self);

CudnnTensor cudnn_graph_tensor (CudnnGraph *self, CudnnType type, const int64_t *dims,
                                const int64_t *strides, CudnnKind kind);

/*
 * Operations. Y 0: a new virtual tensor like X, of type TYPE, which is also what is computed in.
 * They return Y. B and T may be 0 where MODE takes fewer; AXIS is CUDNN_INDEX's alone.
 */
CudnnTensor cudnn_graph_pointwise (CudnnGraph *self, CudnnPointwise mode, CudnnType type,
                                   CudnnTensor x, CudnnTensor b, CudnnTensor t, int64_t axis,
                                   CudnnTensor y);
void        cudnn_graph_matmul (CudnnGraph *self, CudnnTensor a, CudnnTensor b, CudnnTensor c);
void cudnn_graph_reduce (CudnnGraph *self, CudnnReduction mode, CudnnTensor x, CudnnTensor y);
void cudnn_graph_reshape (CudnnGraph *self, CudnnTensor x, CudnnTensor y);

/* Finds a kernel for all of it. False after a message: this cuDNN cannot run it on this device. */
bool   cudnn_graph_plan (CudnnGraph *self);
size_t cudnn_graph_workspace (const CudnnGraph *self);

/*
 * A set of memory to run on: N times TENSORS[i] lies at POINTERS[i], of values on the host. Sets
 * are numbered from 0 on, at most CUDNN_MAX_SETS of them.
 */
#define CUDNN_MAX_SETS 32
bool cudnn_graph_bind (CudnnGraph *self, unsigned n, const CudnnTensor *tensors,
                       void *const *pointers, void *workspace);
bool cudnn_graph_run (CudnnGraph *self, unsigned set, cudaStream_t stream);

#endif
