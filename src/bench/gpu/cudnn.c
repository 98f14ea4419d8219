#ifdef BENCH_CUDA

#include "bench/gpu/cudnn.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DESCRIPTORS 224
#define MAX_OPERATIONS  48
#define MAX_TENSORS     64
#define MAX_CONFIGS     16

/* Kinds of descriptors. */
enum
{
  POINTWISE = 0,
  ENGINE_CONFIG = 3,
  ENGINE_HEURISTICS = 4,
  EXECUTION_PLAN = 5,
  OPERATION_POINTWISE = 13,
  OPERATION_GRAPH = 15,
  VARIANT_PACK = 16,
  TENSOR = 17,
  MATMUL = 18,
  OPERATION_MATMUL = 19,
  REDUCTION = 21,
  OPERATION_REDUCTION = 22,
  OPERATION_RESHAPE = 31,
};

/* Their attributes. */
enum
{
  POINTWISE_MODE = 0,
  POINTWISE_PRECISION = 1,
  POINTWISE_AXIS = 9,
  HEURISTICS_MODE = 200,
  HEURISTICS_GRAPH = 201,
  HEURISTICS_RESULTS = 202,
  PLAN_HANDLE = 400,
  PLAN_CONFIG = 401,
  PLAN_WORKSPACE = 402,
  POINTWISE_DESCRIPTOR = 750,
  POINTWISE_X = 751,
  POINTWISE_B = 752,
  POINTWISE_Y = 753,
  POINTWISE_T = 758,
  GRAPH_HANDLE = 800,
  GRAPH_OPERATIONS = 801,
  TENSOR_ALIGNMENT = 900,
  TENSOR_TYPE = 901,
  TENSOR_DIMS = 902,
  TENSOR_STRIDES = 903,
  TENSOR_ID = 906,
  TENSOR_IS_VIRTUAL = 907,
  TENSOR_IS_VALUE = 908,
  PACK_IDS = 1000,
  PACK_POINTERS = 1001,
  PACK_WORKSPACE = 1003,
  MATMUL_PRECISION = 1500,
  MATMUL_A = 1520,
  MATMUL_B = 1521,
  MATMUL_C = 1522,
  MATMUL_DESCRIPTOR = 1523,
  REDUCTION_MODE = 1600,
  REDUCTION_PRECISION = 1601,
  REDUCTION_X = 1610,
  REDUCTION_Y = 1611,
  REDUCTION_DESCRIPTOR = 1612,
  RESHAPE_X = 2200,
  RESHAPE_Y = 2201,
};

/* Types of attributes. */
enum
{
  IS_HANDLE = 0,
  IS_DATA_TYPE = 1,
  IS_BOOLEAN = 2,
  IS_INT64 = 3,
  IS_POINTER = 6,
  IS_HEURISTICS_MODE = 8,
  IS_POINTWISE_MODE = 14,
  IS_DESCRIPTOR = 15,
  IS_REDUCTION = 18,
};

#define HEURISTICS_MODE_A 3

typedef void *Descriptor;

struct Cudnn
{
  void *library, *handle;
  size_t (*version) (void);
  int (*create) (void **handle);
  int (*destroy) (void *handle);
  int (*set_stream) (void *handle, cudaStream_t stream);
  const char *(*error_string) (int status);
  void (*last_error) (char *message, size_t size);
  int (*create_descriptor) (int kind, Descriptor *descriptor);
  int (*destroy_descriptor) (Descriptor descriptor);
  int (*finalize) (Descriptor descriptor);
  int (*set) (Descriptor descriptor, int name, int type, int64_t n, const void *values);
  int (*get) (Descriptor descriptor, int name, int type, int64_t n, int64_t *got, void *values);
  int (*execute) (void *handle, Descriptor plan, Descriptor pack);
};

typedef struct
{
  Descriptor descriptor;
  int64_t    dims[4], strides[4];
} TensorShape;

struct CudnnGraph
{
  const Bench *bench;
  Cudnn       *library;
  bool         failed;
  Descriptor   descriptors[MAX_DESCRIPTORS]; /* all of them, to be destroyed */
  Descriptor   operations[MAX_OPERATIONS];
  TensorShape  tensors[MAX_TENSORS]; /* the first is not used */
  unsigned     n_descriptors, n_operations, n_tensors;
  Descriptor   plan, packs[CUDNN_MAX_SETS];
  unsigned     n_packs;
  int64_t      workspace;
};

/* FALSE after a message when STATUS is not success. */
static bool
check (const Bench *bench, const Cudnn *library, const char *what, int status)
{
  char text[256] = "";

  if (status == 0)
    return true;
  library->last_error (text, sizeof text);
  bench_error (bench, what, "%s%s%s", library->error_string (status), *text != '\0' ? ": " : "",
               text);
  return false;
}

/* What is missing, or NULL. */
static const char *
load (Cudnn *self)
{
  const struct
  {
    const char *name;
    void       *function;
  } symbols[] = {
    { "cudnnGetVersion", &self->version },
    { "cudnnCreate", &self->create },
    { "cudnnDestroy", &self->destroy },
    { "cudnnSetStream", &self->set_stream },
    { "cudnnGetErrorString", &self->error_string },
    { "cudnnBackendCreateDescriptor", &self->create_descriptor },
    { "cudnnBackendDestroyDescriptor", &self->destroy_descriptor },
    { "cudnnBackendFinalize", &self->finalize },
    { "cudnnBackendSetAttribute", &self->set },
    { "cudnnBackendGetAttribute", &self->get },
    { "cudnnBackendExecute", &self->execute },
    { "cudnnGetLastErrorString", &self->last_error },
  };

  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    {
      void *symbol = dlsym (self->library, symbols[i].name);

      if (symbol == NULL)
        return symbols[i].name;
      memcpy (symbols[i].function, &symbol, sizeof symbol);
    }
  return NULL;
}

static bool
open_library (const Bench *bench, Cudnn *self)
{
  const char *missing;
  int         status;

  self->library = dlopen ("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (self->library == NULL)
    {
      bench_note (bench, "no libcudnn.so.9 is found: what it measures is left out");
      return false;
    }
  missing = load (self);
  if (missing != NULL)
    {
      bench_note (bench, "libcudnn.so.9 has no '%s': what it measures is left out", missing);
      return false;
    }
  status = self->create (&self->handle);
  if (status != 0)
    bench_note (bench, "cudnnCreate: %s: what it measures is left out",
                self->error_string (status));
  return status == 0;
}

Cudnn *
cudnn_open (const Bench *bench)
{
  Cudnn *self = calloc (1, sizeof *self);

  if (self == NULL)
    bench_error (bench, "calloc", "out of memory");
  else if (!open_library (bench, self))
    {
      cudnn_close (self);
      self = NULL;
    }
  return self;
}

void
cudnn_close (Cudnn *self)
{
  if (self == NULL)
    return;
  if (self->handle != NULL)
    self->destroy (self->handle);
  /*
   * The library stays loaded: it has threads and handlers of its own, and is not made to be
   * unloaded.
   */
  free (self);
}

unsigned
cudnn_version (const Cudnn *self)
{
  return (unsigned) self->version ();
}

CudnnGraph *
cudnn_graph_new (const Bench *bench, Cudnn *library)
{
  CudnnGraph *self = calloc (1, sizeof *self);

  if (self == NULL)
    {
      bench_error (bench, "calloc", "out of memory");
      return NULL;
    }
  self->bench = bench;
  self->library = library;
  self->n_tensors = 1;
  return self;
}

void
cudnn_graph_free (CudnnGraph *self)
{
  if (self == NULL)
    return;
  for (unsigned i = self->n_descriptors; i > 0; i--)
    self->library->destroy_descriptor (self->descriptors[i - 1]);
  free (self);
}

static bool
full (CudnnGraph *self, bool is_full)
{
  if (is_full)
    {
      bench_error (self->bench, "cuDNN graph", "too large");
      self->failed = true;
    }
  return is_full;
}

/* NULL once the graph has failed. */
static Descriptor
create (CudnnGraph *self, int kind)
{
  Descriptor descriptor = NULL;

  if (self->failed || full (self, self->n_descriptors == MAX_DESCRIPTORS))
    return NULL;
  self->failed = !check (self->bench, self->library, "cudnnBackendCreateDescriptor",
                         self->library->create_descriptor (kind, &descriptor));
  if (!self->failed)
    self->descriptors[self->n_descriptors++] = descriptor;
  return descriptor;
}

static void
set (CudnnGraph *self, Descriptor descriptor, int name, int type, int64_t n, const void *values)
{
  if (!self->failed)
    self->failed = !check (self->bench, self->library, "cudnnBackendSetAttribute",
                           self->library->set (descriptor, name, type, n, values));
}

/* The attributes that are enumerations are ints. */
static void
set_int (CudnnGraph *self, Descriptor descriptor, int name, int type, int value)
{
  set (self, descriptor, name, type, 1, &value);
}

static void
set_descriptor (CudnnGraph *self, Descriptor descriptor, int name, Descriptor value)
{
  set (self, descriptor, name, IS_DESCRIPTOR, 1, &value);
}

static void
set_tensor (CudnnGraph *self, Descriptor descriptor, int name, CudnnTensor tensor)
{
  set_descriptor (self, descriptor, name, self->tensors[tensor].descriptor);
}

static void
finalize (CudnnGraph *self, Descriptor descriptor)
{
  if (!self->failed)
    self->failed = !check (self->bench, self->library, "cudnnBackendFinalize",
                           self->library->finalize (descriptor));
}

static void
add_operation (CudnnGraph *self, Descriptor operation)
{
  finalize (self, operation);
  if (!self->failed && !full (self, self->n_operations == MAX_OPERATIONS))
    self->operations[self->n_operations++] = operation;
}

CudnnTensor
cudnn_graph_tensor (CudnnGraph *self, CudnnType type, const int64_t *dims, const int64_t *strides,
                    CudnnKind kind)
{
  Descriptor   tensor = create (self, TENSOR);
  int64_t      id = self->n_tensors, alignment = 16;
  bool         is_virtual = kind == CUDNN_VIRTUAL, is_value = kind == CUDNN_VALUE;
  TensorShape *shape = &self->tensors[id];

  if (self->failed || full (self, self->n_tensors == MAX_TENSORS))
    return 0;
  set (self, tensor, TENSOR_ID, IS_INT64, 1, &id);
  set_int (self, tensor, TENSOR_TYPE, IS_DATA_TYPE, (int) type);
  set (self, tensor, TENSOR_DIMS, IS_INT64, 4, dims);
  set (self, tensor, TENSOR_STRIDES, IS_INT64, 4, strides);
  set (self, tensor, TENSOR_ALIGNMENT, IS_INT64, 1, &alignment);
  set (self, tensor, TENSOR_IS_VIRTUAL, IS_BOOLEAN, 1, &is_virtual);
  set (self, tensor, TENSOR_IS_VALUE, IS_BOOLEAN, 1, &is_value);
  finalize (self, tensor);
  shape->descriptor = tensor;
  memcpy (shape->dims, dims, sizeof shape->dims);
  memcpy (shape->strides, strides, sizeof shape->strides);
  return self->n_tensors++;
}

CudnnTensor
cudnn_graph_pointwise (CudnnGraph *self, CudnnPointwise mode, CudnnType type, CudnnTensor x,
                       CudnnTensor b, CudnnTensor t, int64_t axis, CudnnTensor y)
{
  Descriptor how = create (self, POINTWISE), operation = create (self, OPERATION_POINTWISE);

  if (y == 0)
    y = cudnn_graph_tensor (self, type, self->tensors[x].dims, self->tensors[x].strides,
                            CUDNN_VIRTUAL);
  set_int (self, how, POINTWISE_MODE, IS_POINTWISE_MODE, (int) mode);
  set_int (self, how, POINTWISE_PRECISION, IS_DATA_TYPE, (int) type);
  if (mode == CUDNN_INDEX)
    set (self, how, POINTWISE_AXIS, IS_INT64, 1, &axis);
  finalize (self, how);
  set_descriptor (self, operation, POINTWISE_DESCRIPTOR, how);
  set_tensor (self, operation, POINTWISE_X, x);
  if (b != 0)
    set_tensor (self, operation, POINTWISE_B, b);
  if (t != 0)
    set_tensor (self, operation, POINTWISE_T, t);
  set_tensor (self, operation, POINTWISE_Y, y);
  add_operation (self, operation);
  return y;
}

void
cudnn_graph_matmul (CudnnGraph *self, CudnnTensor a, CudnnTensor b, CudnnTensor c)
{
  Descriptor how = create (self, MATMUL), operation = create (self, OPERATION_MATMUL);

  set_int (self, how, MATMUL_PRECISION, IS_DATA_TYPE, CUDNN_FP32);
  finalize (self, how);
  set_tensor (self, operation, MATMUL_A, a);
  set_tensor (self, operation, MATMUL_B, b);
  set_tensor (self, operation, MATMUL_C, c);
  set_descriptor (self, operation, MATMUL_DESCRIPTOR, how);
  add_operation (self, operation);
}

void
cudnn_graph_reduce (CudnnGraph *self, CudnnReduction mode, CudnnTensor x, CudnnTensor y)
{
  Descriptor how = create (self, REDUCTION), operation = create (self, OPERATION_REDUCTION);

  set_int (self, how, REDUCTION_MODE, IS_REDUCTION, (int) mode);
  set_int (self, how, REDUCTION_PRECISION, IS_DATA_TYPE, CUDNN_FP32);
  finalize (self, how);
  set_tensor (self, operation, REDUCTION_X, x);
  set_tensor (self, operation, REDUCTION_Y, y);
  set_descriptor (self, operation, REDUCTION_DESCRIPTOR, how);
  add_operation (self, operation);
}

void
cudnn_graph_reshape (CudnnGraph *self, CudnnTensor x, CudnnTensor y)
{
  Descriptor operation = create (self, OPERATION_RESHAPE);

  set_tensor (self, operation, RESHAPE_X, x);
  set_tensor (self, operation, RESHAPE_Y, y);
  add_operation (self, operation);
}

/* The first of the heuristic's CONFIGS, best first, that this device really runs. */
static void
choose_plan (CudnnGraph *self, const Descriptor *configs, int64_t n)
{
  int     status = -1;
  int64_t got;

  for (int64_t i = 0; i < n && !self->failed; i++)
    {
      Descriptor plan = create (self, EXECUTION_PLAN);

      set (self, plan, PLAN_HANDLE, IS_HANDLE, 1, &self->library->handle);
      set_descriptor (self, plan, PLAN_CONFIG, configs[i]);
      if (self->failed)
        return;
      status = self->library->finalize (plan);
      if (status != 0)
        continue;
      self->plan = plan;
      self->failed =
          !check (self->bench, self->library, "cudnnBackendGetAttribute",
                  self->library->get (plan, PLAN_WORKSPACE, IS_INT64, 1, &got, &self->workspace));
      return;
    }
  if (!self->failed)
    bench_error (self->bench, "cudnnBackendFinalize", "none of %d engines runs this graph",
                 (int) n);
  self->failed = true;
}

bool
cudnn_graph_plan (CudnnGraph *self)
{
  Descriptor configs[MAX_CONFIGS];
  Descriptor graph = create (self, OPERATION_GRAPH), heuristics = create (self, ENGINE_HEURISTICS);
  int64_t    n = 0;

  set (self, graph, GRAPH_HANDLE, IS_HANDLE, 1, &self->library->handle);
  set (self, graph, GRAPH_OPERATIONS, IS_DESCRIPTOR, self->n_operations, self->operations);
  finalize (self, graph);
  set_descriptor (self, heuristics, HEURISTICS_GRAPH, graph);
  set_int (self, heuristics, HEURISTICS_MODE, IS_HEURISTICS_MODE, HEURISTICS_MODE_A);
  finalize (self, heuristics);
  for (unsigned i = 0; i < MAX_CONFIGS; i++)
    configs[i] = create (self, ENGINE_CONFIG);
  if (!self->failed)
    self->failed = !check (self->bench, self->library, "cudnnBackendGetAttribute",
                           self->library->get (heuristics, HEURISTICS_RESULTS, IS_DESCRIPTOR,
                                               MAX_CONFIGS, &n, configs));
  if (!self->failed)
    choose_plan (self, configs, n);
  return !self->failed;
}

size_t
cudnn_graph_workspace (const CudnnGraph *self)
{
  return (size_t) self->workspace;
}

bool
cudnn_graph_bind (CudnnGraph *self, unsigned n, const CudnnTensor *tensors, void *const *pointers,
                  void *workspace)
{
  int64_t    ids[MAX_TENSORS];
  Descriptor pack = create (self, VARIANT_PACK);

  if (self->failed || full (self, self->n_packs == CUDNN_MAX_SETS || n > MAX_TENSORS))
    return false;
  for (unsigned i = 0; i < n; i++)
    ids[i] = tensors[i];
  set (self, pack, PACK_IDS, IS_INT64, n, ids);
  set (self, pack, PACK_POINTERS, IS_POINTER, n, pointers);
  set (self, pack, PACK_WORKSPACE, IS_POINTER, 1, &workspace);
  finalize (self, pack);
  self->packs[self->n_packs++] = pack;
  return !self->failed;
}

bool
cudnn_graph_run (CudnnGraph *self, unsigned set, cudaStream_t stream)
{
  return check (self->bench, self->library, "cudnnSetStream",
                self->library->set_stream (self->library->handle, stream))
         && check (self->bench, self->library, "cudnnBackendExecute",
                   self->library->execute (self->library->handle, self->plan, self->packs[set]));
}

#endif
