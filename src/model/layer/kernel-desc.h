/*
 * One GPU kernel as the framework launches it: its shape, its nominal FLOPs and bytes. Its time is
 * the kernel layer's business.
 */
#pragma once

#include "model/step/training.h"
#include "vocabulary/collective-kind.h"

typedef enum
{
  KERNEL_MATMUL,    /* batch x (m x k) * (k x n) */
  KERNEL_ATTENTION, /* fused (flash) attention forward; flops and bytes given */
  KERNEL_ATTENTION_BACKWARD,
  KERNEL_DECODE,      /* attention of one query a sequence over its cache: `batch` is sequences x
                         key-value heads, m the query heads of each, n the keys, k the head size */
  KERNEL_SCAN,        /* a recurrence over tokens: streams bytes, makes exponentials; flops given */
  KERNEL_ELEMENTWISE, /* streams bytes: residual adds, activations, rotary, casts, masks */
  KERNEL_REDUCTION,   /* norms, softmax, loss, norms of gradients: streams bytes, reduces rows */
  KERNEL_GATHER,      /* embedding look-up and its backward scatter */
  KERNEL_COPY,        /* device-local copies: copy-in, copy-out, casts of shards */
  KERNEL_CODEC,       /* encodes, decodes, or adds up what is encoded */
  KERNEL_OPTIMIZER,
  KERNEL_COMMUNICATION, /* no kernel of the model: a collective of one mesh axis between kernels */
  KERNEL_N_KINDS,
} KernelKind;

/* Axes of the mesh whose collectives stand among the kernels of a layer. */
typedef enum
{
  MESH_TENSOR,      /* its columns, where it has two axes (parallel.h): */
  MESH_TENSOR_ROWS, /* and its rows */
  MESH_CONTEXT,
  MESH_EXPERT,
  MESH_EXPERT_TENSOR, /* where experts are divided over other ranks than attention */
  MESH_N_AXES,
} MeshAxis;

const char *kernel_kind_name (KernelKind kind);

typedef struct
{
  KernelKind  kind;
  const char *name;         /* static or interned: "mlp.up", "norm1", "flash_fwd" */
  Dtype       dtype;        /* of the matrix units or of the data */
  gboolean    block_scaled; /* of KERNEL_MATMUL: its operands have a scale a block */
  guint64     m, n, k;      /* of KERNEL_MATMUL: output rows, output columns, inner dimension */
  guint64     batch;        /* independent products of that shape (experts); 1 otherwise */
  guint       streams;      /* each of them is a kernel of its own: on so many streams; 1: one after
                             the other; 0: all are one kernel */
  guint       turns;        /* it is one of so many like it that `streams` run in turn; 0: alone */
  double      weight_bytes; /* of KERNEL_MATMUL: of an element of its k x n operand, which it widens
                               before it multiplies; 0: as `dtype` has it */
  double      flops;        /* nominal: multiply-add = 2 */
  double      read_bytes, write_bytes; /* nominal HBM traffic */
  double      exponentials;            /* of KERNEL_SCAN */
  guint       launches;         /* kernels that the host issues for it (eager chains count each) */
  guint       flash;            /* of KERNEL_ATTENTION*: FlashKernel */
  gboolean    packed;           /* ... whose mask ends at the ends of documents, too */
  double      padded;           /* ... what its blocks compute over what that leaves; 0: as its rows
                                  and pairs imply */
  gint        module;           /* module of the layer whose parameters it reads, or -1 */
  gboolean    weight_gradient;  /* of the backward pass: makes gradients of parameters only, so a
                                  pipeline may put it off */
  gboolean    for_norms;        /* of a backward pass that runs twice (model/step/privacy.h): in the
                            first of them only */
  gboolean    first_micro_only; /* runs in the first micro-step of a step only */
  MeshAxis    axis;             /* of KERNEL_COMMUNICATION; its S stands in read_bytes */
  guint       ranks, every; /* ... of MESH_CONTEXT: of so many of its ranks, each `every`-th (0: 1);
                                  0: of all */
  CollectiveKind comm;
  gboolean       async; /* of KERNEL_COMMUNICATION: kernels run with it until one that `joins` */
  guint    own_sms;     /* of KERNEL_COMMUNICATION: 1 + the SMs that it holds; 0: a channel each */
  gboolean widens;      /* of KERNEL_COPY: a thread casts an element at a time to a wider type */
  double   scattered;   /* elements that it adds to others by atomics, one by one */
  gboolean joins;       /* waits for asynchronous communication issued before it */
  gboolean host_waits;  /* the host issues nothing more until it has ended: it needs the result */
  double   recomputed_flops; /* of recomputation: FLOPs as MFU counts them (flops.h), else 0 */
} KernelDesc;

/* Whether they are the same in all: one may stand for the other. */
gboolean kernel_desc_equal (const KernelDesc *a, const KernelDesc *b);

/* A matrix product, fused attention or a scan: what FLOPs are counted of. */
gboolean kernel_desc_is_product (const KernelDesc *kernel);

/*
 * Decoding attention of SEQUENCES with HEADS queries each over KEYS of KV_HEADS heads, QK and V
 * elements wide, which a cache of DTYPE holds: read once for all queries of a head. Latents that
 * are keys and values at once are so read once: KV_HEADS 1 and V 0, FLOPs are then of a value as
 * wide as a key. Queries come, and results leave, in 16 bits.
 */
KernelDesc kernel_desc_decode (const char *name, Dtype dtype, guint64 sequences, guint64 heads,
                               guint64 kv_heads, guint64 qk, guint64 v, guint64 keys);

/* Fills a streaming kernel: FLOPs are one per element moved and play no role in its time. */
KernelDesc kernel_desc_stream (KernelKind kind, const char *name, Dtype dtype, double read_bytes,
                               double write_bytes, guint launches);
