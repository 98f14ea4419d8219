/*
 * libcudnn.so.9's calls for graphs. What is kept of a graph are the dimensions of its tensors and
 * which of them its products multiply: half of their operations, as under a causal mask, is the
 * time of a run. Kinds and attributes have the numbers of the C interface.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stand-in.h"

enum
{
  SUCCESS = 0,
  NOT_INITIALIZED = 1001,
  BAD_PARAM = 2000,
  EXECUTION_FAILED = 5000,
};

enum
{
  HEURISTICS_GRAPH = 201,
  HEURISTICS_RESULTS = 202,
  PLAN_CONFIG = 401,
  PLAN_WORKSPACE = 402,
  GRAPH_OPERATIONS = 801,
  TENSOR_DIMS = 902,
  MATMUL_A = 1520,
  MATMUL_B = 1521,
};

typedef struct Descriptor
{
  int                kind;
  int                final;
  int64_t            dims[4];
  struct Descriptor *a, *b;
  double             flops;
} Descriptor;

typedef struct
{
  cudaStream_t stream;
} Handle;

size_t
cudnnGetVersion (void)
{
  return 90500;
}

const char *
cudnnGetErrorString (int status)
{
  return status == SUCCESS ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_STAND_IN";
}

void
cudnnGetLastErrorString (char *text, size_t size)
{
  if (size > 0)
    *text = '\0';
}

int
cudnnCreate (Handle **handle)
{
  if (stand_in_fails ("cudnnCreate"))
    return NOT_INITIALIZED;
  stand_in_count ("cuDNN handles", 1);
  *handle = calloc (1, sizeof **handle);
  return SUCCESS;
}

int
cudnnDestroy (Handle *handle)
{
  stand_in_count ("cuDNN handles", -1);
  free (handle);
  return SUCCESS;
}

int
cudnnSetStream (Handle *handle, cudaStream_t stream)
{
  handle->stream = stream;
  return SUCCESS;
}

int
cudnnBackendCreateDescriptor (int kind, Descriptor **self)
{
  stand_in_count ("cuDNN descriptors", 1);
  *self = calloc (1, sizeof **self);
  (*self)->kind = kind;
  return SUCCESS;
}

int
cudnnBackendDestroyDescriptor (Descriptor *self)
{
  stand_in_count ("cuDNN descriptors", -1);
  free (self);
  return SUCCESS;
}

int
cudnnBackendFinalize (Descriptor *self)
{
  if (stand_in_fails ("cudnnBackendFinalize"))
    return BAD_PARAM;
  if (self->a != NULL && self->b != NULL)
    self->flops = 2.0 * (double) self->a->dims[0] * (double) self->a->dims[1]
                  * (double) self->a->dims[2] * (double) self->a->dims[3]
                  * (double) self->b->dims[3];
  self->final = 1;
  return SUCCESS;
}

int
cudnnBackendSetAttribute (Descriptor *self, int name, int type, int64_t n, const void *values)
{
  Descriptor *const *descriptors = values;

  (void) type;
  if (self->final)
    return BAD_PARAM;
  if (name == TENSOR_DIMS)
    memcpy (self->dims, values, sizeof self->dims);
  else if (name == MATMUL_A)
    self->a = descriptors[0];
  else if (name == MATMUL_B)
    self->b = descriptors[0];
  else if (name == GRAPH_OPERATIONS || name == HEURISTICS_GRAPH || name == PLAN_CONFIG)
    for (int64_t i = 0; i < n; i++)
      self->flops += descriptors[i]->flops;
  return SUCCESS;
}

int
cudnnBackendGetAttribute (Descriptor *self, int name, int type, int64_t wanted, int64_t *n,
                          void *values)
{
  (void) type, (void) wanted;
  *n = 1;
  if (name == PLAN_WORKSPACE)
    *(int64_t *) values = 256;
  else if (name == HEURISTICS_RESULTS)
    (*(Descriptor **) values)->flops = self->flops;
  else
    return BAD_PARAM;
  return SUCCESS;
}

int
cudnnBackendExecute (Handle *handle, Descriptor *plan, Descriptor *pack)
{
  if (!pack->final || stand_in_fails ("cudnnBackendExecute"))
    return EXECUTION_FAILED;
  stand_in_run (handle->stream, ENGINE_KERNEL,
                STAND_IN_KERNEL + plan->flops / 2 / STAND_IN_PRODUCT);
  return SUCCESS;
}
