/*
 * Optimizers: what one keeps of each tensor, what it must have as a whole, kernels of an update.
 *
 *   adamw, adamw-fused  two moments an element
 *   adamw-8bit          two moments of 8 bits, a pair of fp32 scales for 256 elements of what a
 *                       rank has, in order: no shard cuts what an update needs. Dettmers et al.,
 *                       arXiv:2110.02861; bitsandbytes, Optimizer2State (2048 elements before
 *                       0.44). Or, with `optimizer_tile`, for each tile of a matrix, and vectors
 *                       in the moments' type: arXiv:2602.22437
 *   sgd, sgd-momentum   nothing; one moment
 *   lamb                two moments, and two norms of each tensor. You et al., arXiv:1904.00962
 *   adafactor           the means of a matrix' squared gradients by rows and by columns; of vectors
 *                       one moment. Shazeer and Stern, arXiv:1804.04235
 *   muon                a moment, made orthogonal matrix by matrix; Newton-Schulz, a quintic of
 *                       ns_steps steps. Jordan et al., 2024; torch.optim.Muon
 *   shampoo             of each block of a matrix two preconditioners and their inverse roots, and
 *                       AdamW's moments for grafting. Shi et al., arXiv:2309.06497
 *   soap                AdamW in the eigenbasis of Shampoo's preconditioners. Vyas et al.,
 *                       arXiv:2409.11321
 *
 * The last three take the matrices of blocks (TensorDesc.matrix) and leave the rest to AdamW.
 */
#pragma once

#include "model/step/workload.h"

#define OPTIMIZER_NAME_SEPARATORS ", " /* of patterns in `matrix_parameters` */

/* What of a tensor an update has to have at once. */
typedef enum
{
  SCOPE_ELEMENT, /* each element by itself */
  SCOPE_TENSOR,  /* sums over all of it */
  SCOPE_BLOCK,   /* blocks of some rows */
  SCOPE_MATRIX,  /* the same; the update is products, which one rank makes for all */
} UpdateScope;

UpdateScope optimizer_scope (const TrainingOptions *training);

/* "muon", as `training.optimizer` names it. */
const char *optimizer_name (const TrainingOptions *training);

/* The host's cores can run it (DeepSpeed's CPU Adam; SGD; bitsandbytes' of 8 bits, since 2026). */
gboolean optimizer_runs_on_host (const TrainingOptions *training);

/*
 * Whether an optimizer of SCOPE_MATRIX accepts TENSOR, which is IN_BLOCK or in the embedding or
 * the head: TensorDesc.matrix.
 */
gboolean optimizer_accepts (const TrainingOptions *training, const TensorDesc *tensor,
                            gboolean in_block);

/*
 * Diagnoses at the MARKS (may be NULL) of WORKLOAD's training, the whole model's, options of an
 * optimizer that is another one, and names of parameters that are none or no matrix; warns where
 * one of matrices takes none.
 */
gboolean optimizer_check (const Workload *workload, const OptionMarks *marks, DiagList *diags);

/*
 * Whether its moments are in unified memory, which the driver moves to the host where the GPU is
 * short of it; and bytes of TENSOR's on each of M ranks that share it. A small share has none.
 */
gboolean optimizer_is_paged (const TrainingOptions *training);
guint64  optimizer_paged_bytes (const TrainingOptions *training, const TensorDesc *tensor, guint m);

/* Side of the tiles that share scales, of 8-bit AdamW; 0: it has none. */
guint64 optimizer_tile_side (const TrainingOptions *training);

/* Values that it keeps of every element, of those that are no matrix' beside them; their type. */
guint optimizer_moments (const TrainingOptions *training);
guint optimizer_rest_moments (const TrainingOptions *training);
Dtype optimizer_moment_dtype (const TrainingOptions *training);

/* Bytes that it keeps of TENSOR beside them: those that its shards share; those on each of them. */
typedef struct
{
  guint64 shared, each;
} OptimizerBytes;

OptimizerBytes optimizer_bytes (const TrainingOptions *training, const TensorDesc *tensor);

/*
 * Elements of TENSOR that no boundary of shards may cut if ranks are to update what they have; 1:
 * it may be cut anywhere.
 */
guint64 optimizer_block (const TrainingOptions *training, const TensorDesc *tensor);

/* ---- passes over elements -------------------------------------------------------------------- */

/* Bytes an element that an update holds for as long as it runs. */
typedef struct
{
  guint gradients;    /* in the master's type, beside narrower ones */
  guint denominators; /* AdamW's */
} OptimizerTemporaries;

/* Of gradients of GRADIENT_BYTES an element. */
OptimizerTemporaries optimizer_temporaries (const TrainingOptions *training, guint gradient_bytes);

/* What a rank updates. */
typedef struct
{
  double elements;                     /* all that it has; */
  double alone;                        /* of them those that are updated by passes over elements */
  guint  master_bytes, gradient_bytes; /* an element, as the strategy keeps them */
  guint  parameter_bytes;              /* of the low-precision copy that is written, too; 0: none */
} OptimizerShare;

/* What ranks that hold parts of a tensor add up behind a pass. */
typedef enum
{
  SUM_NOTHING,
  SUM_GRADIENT, /* the square of the gradient's norm, over everything */
  SUM_TENSORS,  /* norms of each tensor */
  SUM_COLUMNS,  /* means of columns */
} OptimizerSum;

typedef struct
{
  KernelDesc   kernel;
  OptimizerSum sum;
} OptimizerPass;

/*
 * [gradient norm, clip,] update: appends to PASSES (of OptimizerPass). The last one writes the
 * parameters.
 */
void optimizer_passes (const TrainingOptions *training, const OptimizerShare *share,
                       GArray *passes);

/* fp32 values of TENSOR that SUM adds up. */
guint64 optimizer_sum (const TrainingOptions *training, OptimizerSum sum, const TensorDesc *tensor);

/* ---- matrices -------------------------------------------------------------------------------- */

/* COUNT matrices of one shape. */
typedef struct
{
  guint64 count, rows, columns;
  guint64 stack; /* so many of them are a tensor, whose products are one kernel */
} MatrixShape;

/* What an optimizer of SCOPE_MATRIX makes of TENSOR; count 0: its passes take it. */
MatrixShape optimizer_matrices (const TrainingOptions *training, const TensorDesc *tensor);

/* Of Shampoo's and SOAP's preconditioners. */
guint64 optimizer_longest_side (const TrainingOptions *training);

/* Whether both sides of TENSOR's matrices are too long for a preconditioner: AdamW updates it. */
gboolean optimizer_is_bare (const TrainingOptions *training, const TensorDesc *tensor);

/* Of one matrix: FLOPs of a step's products, and bytes that live for ever where it is updated. */
double  optimizer_matrix_flops (const TrainingOptions *training, MatrixShape shape);
guint64 optimizer_matrix_bytes (const TrainingOptions *training, MatrixShape shape);

/* Bytes that products hold on their way, of those matrices of SHAPE that are under way at once. */
guint64 optimizer_matrix_workspace (const TrainingOptions *training, MatrixShape shape);

/* Appends the kernels that update the matrices of SHAPE on one rank. */
void optimizer_matrix_kernels (const TrainingOptions *training, MatrixShape shape, GArray *kernels);

/*
 * Bytes that an element of matrices is read and written by what stands before the products and
 * behind them, on who has its parameters.
 */
typedef struct
{
  double prepare_read, prepare_written, apply_read, apply_written;
} MatrixTraffic;

/* SENT: bytes of an element on its way to who makes the products. */
MatrixTraffic optimizer_matrix_traffic (const TrainingOptions *training,
                                        const OptimizerShare *share, guint sent);

/* As what an element travels there and back. */
Dtype optimizer_exchange_dtype (const TrainingOptions *training);
