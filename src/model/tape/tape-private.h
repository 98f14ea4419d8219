/*
 * A record of one layer's operations, as automatic differentiation keeps it. Operations are
 * appended in forward order; from the record follow the kernels of forward, recomputation and
 * backward, the tensors that are kept for the backward pass, and the transient memory of both
 * passes. Internal to the layer.
 *
 * What each operation keeps for its backward pass (e: bytes of the compute type; every tensor
 * counts once, however many operations keep it):
 *
 *   linear           its input, of a trained slice of inputs a copy of these alone
 *                    (fp8: see tape-fp8.c)
 *   batched product  both inputs
 *   norm             fused: its input and the row statistics; eager RMSNorm: the fp32 copy of the
 *                    input and the normalised rows
 *   add, map         nothing (residual, rotary, copies: linear in their inputs)
 *   dropout          a mask of one byte an element
 *   GELU, ReLU       its input; its output
 *   gate             gate and up, eagerly also the activated gate (clamped variant: four
 *                    intermediates)
 *   flash attention  q, k, v, the output, and the fp32 log-sum-exp of each row
 *   softmax          its output; eagerly in fp32
 *   route            fp32 probabilities, chosen experts
 *   combine          the experts' outputs and the weights
 *   loss             fp32 log-probabilities; fused: the logits
 *   chunked loss     the head's input and the row statistics
 *   embedding        the token ids
 *   chain            its inputs but those that it says it leaves, and what it says it makes
 *
 * What only gradients of frozen parameters would need is not kept: the input of a linear, the
 * normalised rows of an eager RMSNorm, token ids. Where nothing in a layer nor before it is trained
 * (the embedding, frozen), there is no backward pass.
 *
 * Source: Korthikanti et al., arXiv:2205.05198, section 4; PyTorch's derivative formulas.
 */
#pragma once

#include "model/layer/fp8.h"
#include "model/shape/block-parts.h"
#include "model/step/workload.h"

typedef guint TapeValue;

/*
 * How a frozen matrix is kept in 4 bits, in fp8 or in fp32: its values in 16-bit elements, and the
 * scales of blocks of values. Of 4 bits it is made whole again before each product; of fp32
 * autocast makes a copy of 16 bits. Source: bitsandbytes, nn/modules.py and autograd/_functions.py
 * (MatMul4Bit).
 */
typedef struct
{
  guint64  values, elements;        /* 0 elements: it is not packed */
  guint64  scale_bytes;             /* as they are kept, and */
  double   scale_read, scale_write; /* of the kernels that unpack, for scales alone */
  guint    launches;                /* of these kernels; 0: none, it is multiplied as it is kept */
  gboolean stays; /* what they make is there until the backward pass has used it */
} Packing;

typedef struct
{
  const char *name;
  double      elements, bytes;
  gint        producer; /* operation, -1 for an input of the layer */
  gint        last_use; /* last operation whose forward reads it */
  gint first_saver; /* first operation (the last in the backward pass) that keeps it, -1 for none */
  gboolean saved;   /* kept by some operation */
  gint     last_saver; /* last operation (the first in the backward pass) that keeps it, or -1 */
  guint    savers;     /* BlockPart: parts that all operations which keep it belong to */
  guint    arguments;  /* BlockPart: parts that read it from outside */
  gint     copy_of;    /* of a copy in fp8: what was cast, else -1 */
  gboolean listed; /* the per-op policy keeps it: a product's, flash attention's, reduce-scatter's
                      result */
  gboolean statistic; /* row statistics: left out of the published formulas */
  gboolean needs_grad;
  guint    n_holders; /* of a gradient: values whose gradient it is */
  gint     view_of;   /* of one without a gradient: the value that it is, else -1 */
  gint     piece;     /* of a gathered value: the value that each rank has a piece of, else -1 */
  gboolean shared;    /* input of products whose weights a group divides by columns */
  gboolean gathered_again;        /* the backward pass has the gathered value at the moment */
  gint     fp8_rows, fp8_columns; /* its copies in fp8, -1: none; itself: it is one */
  guint    slices; /* of a value whose gathering overlaps its first use: pieces, else 0 */
} TapeTensor;

typedef struct _Tape   Tape;
typedef struct _TapeOp TapeOp;

#define TAPE_MAX_ARGS 6

struct _TapeOp
{
  const char *name;
  TapeValue   in[TAPE_MAX_ARGS], out[TAPE_MAX_ARGS];
  guint       n_in, n_out;
  TapeValue   aux; /* mask, statistics, probabilities */
  gint        module;
  guint       parts;   /* BlockPart: those that it belongs to */
  gboolean    frozen;  /* its parameters are: they have no gradients */
  double      counted; /* of its FLOPs, the share that MFU's convention counts */
  KernelDesc  shape;   /* m, n, k, batch, flops of its product */
  double      weight_bytes;
  double      bias_bytes;            /* 0: no bias */
  double      clipped;               /* elements of its parameters, of private training */
  Packing     packing;               /* of its weights */
  guint64     trained_k, trained_n;  /* of a linear's weights: those that are trained */
  gint        slice;                 /* copy of those of its inputs that train them, else -1 */
  guint       in_splits, out_splits; /* of a tiled linear */
  double      fixed[2];              /* backward traffic that belongs to no value: read, written */
  guint       launches;              /* of the backward kernel */
  double      backward_extra;        /* transient bytes of the backward kernels besides gradients */
  gboolean    logs_extra;            /* its backward logs them itself */
  MeshAxis    axis;                  /* of a collective: its group, */
  guint       members, slices; /* ranks of it, pieces in which it overlaps products (0: none) */
  double      statistics;      /* of a norm of rows that its group divides: bytes of their sums */
  guint       every;           /* ... that lie so many apart in their axis; 0: 1 */
  double      wire;            /* of tokens that are encoded to be sent: bytes an element, else 0 */
  gboolean    userbuffers;     /* it is no collective of the library: tape-comm.c */
  gboolean    concurrent;      /* its backward overlaps products of weight gradients */
  gboolean    fp8;             /* of a linear: its products are */
  TapeValue   weight_columns;  /* of those, where the backward pass finds them */
  gboolean    grouped;         /* of attention: several query heads a key head */
  guint       n_covering;      /* of an exchange: operations behind it that run concurrently */
  guint       first_chain, n_chain; /* of a chain: its backward kernels among those of the tape */
  guint       first_backward;       /* kernels of the backward pass before its own */
  void (*backward) (Tape *tape, const TapeOp *op);
};

/*
 * A kernel with the values that it reads and writes; desc has the traffic that belongs to none of
 * them.
 */
typedef struct
{
  KernelDesc desc;
  TapeValue  reads[TAPE_MAX_ARGS + 1], writes[TAPE_MAX_ARGS];
  guint      n_reads, n_writes;
  gint       op;
  gint       copy; /* of a cast to fp8: the copy that is kept, else -1 */
  gboolean   fusible;
  double     weight_read; /* bytes of a weight's copy that is no value */
  double     share;       /* of the values' bytes that it moves: 1, less for a slice */
} TapeKernel;

struct _Tape
{
  TrainingOptions        options;
  const TrainingOptions *training; /* these */
  Dtype                  dtype;
  Fp8Recipe              fp8;
  double                 e;            /* bytes of the compute type */
  double                 stream_e;     /* of what layers hand on */
  guint                  context;      /* ranks of the context axis; 0: nobody said */
  gboolean               join_next;    /* the next kernel of the backward pass joins */
  gboolean               join_forward; /* the same forwards */
  gboolean               join_product; /* the next product of a weight gradient joins */
  guint                  n_products;   /* linears so far: the per-op policy keeps every other one */
  guint                  parts;        /* of the block, to which operations recorded now belong */
  guint                  recomputed;   /* parts that selective checkpointing makes again */
  gboolean               frozen;       /* ... have frozen parameters */
  double                 counted;      /* ... count that often in MFU (TapeOp) */
  TapeValue              output;
  GArray                *values;             /* TapeTensor */
  GArray                *ops;                /* TapeOp */
  GArray                *forward, *backward; /* TapeKernel */
  GArray                *grads;              /* gint per value: its gradient, -1 while none */
  double                 cached;             /* bytes of weights' copies that stay for ever */
  GArray                *chains;             /* ChainKernel (tape-ops-private.h) */
  GArray                *memory;             /* MemoryStep: tensors that come and go */
  double                 alive;              /* backward pass: bytes at this moment */
  double                 peak;
};

/*
 * What one layer costs under a checkpointing mode; the arrays are of KernelDesc (MemoryStep) and
 * owned by the caller.
 */
typedef struct
{
  GArray *forward, *recompute, *backward;
  GArray *forward_memory, *backward_memory; /* in the order of the passes */
  GArray *inference_memory;                 /* of a forward pass that leaves its output only */
  guint   forward_to_peak, backward_to_peak, inference_to_peak, n_tensors;
  double  saved, working, backward_bytes, cached;
  double  held;      /* between two backward passes (model/step/privacy.h), in place of `saved` */
  double  inference; /* most bytes that are alive in that pass */
} TapeResult;

/*
 * Strings of TRAINING must outlive the tape. COMPILED: what is recorded is compiled where TRAINING
 * says so.
 */
Tape *tape_new (const TrainingOptions *training, gboolean compiled);
void  tape_free (Tape *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Tape, tape_free)

static inline TapeTensor *
tape_tensor (const Tape *self, TapeValue value)
{
  return &g_array_index (self->values, TapeTensor, value);
}

static inline TapeOp *
tape_op (const Tape *self, guint i)
{
  return &g_array_index (self->ops, TapeOp, i);
}

guint tape_parts_of (const Tape *self, TapeValue value); /* of what makes it */

/* What is recorded from here on belongs to PARTS, too. Returns what `parts` was, to go back to. */
guint tape_enter (Tape *self, guint parts);

/*
 * Bytes that are kept from forward to backward under MODE, row statistics left out on demand. Valid
 * before tape_finish.
 */
double tape_saved_bytes (const Tape *self, CheckpointMode mode, gboolean statistics);

/* Ends the record with OUTPUT and derives everything; once only. */
TapeResult tape_finish (Tape *self, TapeValue output, CheckpointMode mode);

/* ---- for the operations (tape-ops.c) ---- */

TapeValue tape_add_value (Tape *self, const char *name, double elements, double bytes,
                          gboolean needs_grad);
TapeOp   *tape_add_op (Tape *self, const char *name, const TapeValue *in, guint n_in);
TapeValue tape_add_output (Tape *self, TapeOp *op, double elements);
void      tape_save (Tape *self, TapeValue value);
void      tape_save_piece (Tape *self, TapeValue value); /* of a gathered value the rank's piece */
void      tape_list (Tape *self, TapeValue value);       /* the per-op policy keeps it */
TapeValue tape_add_aux (Tape *self, const char *name, double bytes, gboolean statistic);
TapeKernel *tape_push (Tape *self, GArray *list, KernelDesc desc, gboolean fusible);
TapeKernel *tape_insert (Tape *self, GArray *list, guint place, KernelDesc desc);
void        tape_kernel_reads (TapeKernel *kernel, TapeValue value);
void        tape_kernel_writes (TapeKernel *kernel, TapeValue value);
KernelDesc  tape_stream (const Tape *self, KernelKind kind, const char *name, double read,
                         double write, guint launches);
const char *tape_join (const char *name, const char *suffix); /* interned */

TapeValue tape_grad (const Tape *self, TapeValue value); /* gradient of VALUE; it must have one */
TapeValue tape_new_grad (Tape *self, TapeValue value);   /* to be written by a kernel, then given */
/* One that held it is done; the last one frees it. */
void tape_release_grad (Tape *self, TapeValue grad);
void tape_give_grad (Tape *self, TapeValue value, TapeValue grad); /* adds up where VALUE has one */
void tape_give_grads (Tape *self, const TapeOp *op, guint n,
                      const TapeValue *grads); /* of the first N inputs */

/* Forward kernel of OP, recorded last: reads its inputs and writes its outputs. */
void tape_push_forward (Tape *self, const TapeOp *op, KernelDesc desc, gboolean fusible);

/*
 * Backward kernel of OP: reads the gradients of its outputs and writes those of its first N inputs,
 * which it makes.
 */
TapeKernel *tape_push_backward (Tape *self, const TapeOp *op, KernelDesc desc, gboolean fusible,
                                guint n, TapeValue *grads);
const char *tape_backward_name (const TapeOp *op);

/* VALUE comes or goes now. */
void tape_log_tensor (Tape *self, TapeValue value, gboolean comes);

/* ---- what is recomputed (tape-recompute.c) ---- */

/* What a mode makes again, and before whose backward: an operation's number, -1: not at all. */
typedef struct
{
  gint *ops;    /* an operation's forward */
  gint *values; /* selective: a value that was not kept */
} TapeRerun;

void tape_rerun_clear (TapeRerun *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TapeRerun, tape_rerun_clear)

gboolean  tape_keeps (const Tape *self, TapeValue value, CheckpointMode mode);
TapeRerun tape_find_rerun (const Tape *self, CheckpointMode mode);

/* ---- the order of allocations (tape-memory.c) ---- */

/*
 * The forward pass that leaves KEPT behind, one flag for each of the first N_VALUES; those of ALIVE
 * (NULL: none) are there already.
 */
void tape_log_forward (Tape *self, const gboolean *kept, const gboolean *alive, guint n_values);

/*
 * The steps logged since the last call, the caller's; *TO_PEAK: how many of them lead to where most
 * is alive.
 */
GArray *tape_steal_memory (Tape *self, guint *to_peak);
