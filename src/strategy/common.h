/*
 * What strategies share: groups, padding, precision, the optimizer step, and the arithmetic of
 * closed forms.
 */
#pragma once

#include "driver/pipeline.h"
#include "driver/strategy.h"

/*
 * Bytes an element of each state; mixed precision keeps a low-precision copy for computing beside
 * the fp32 master.
 */
typedef struct
{
  guint compute; /* gathered parameters, activations, unsharded gradients */
  guint master;  /* the optimizer's copy: 4 */
  guint moments; /* optimizer state beside it: 8 for Adam, 0 for SGD */
} StateBytes;

StateBytes state_bytes (const TrainingOptions *training);

/*
 * Bytes an element of the optimizer's fp32 copy beside low-precision parameters: 0 where these are
 * fp32, and where there is no optimizer.
 */
guint master_copy_bytes (const TrainingOptions *training);

/* Bytes an element of the gradient reduction: `reduce_dtype`, or if 'auto' the compute type. */
guint reduce_bytes (const TrainingOptions *training);

/* The shard group and the group of its replicas. */
typedef struct
{
  MeshGroup shard, replica;
} ShardGroups;

/*
 * SHARD is "all", "node" or a number of ranks. Diagnoses what does not tile the mesh (DIAGS may be
 * NULL when the check has been made before).
 */
gboolean shard_groups (const Mesh *mesh, const char *shard, ShardGroups *groups, DiagList *diags);

/*
 * The same for the two kinds of units, indexed by PlanUnit.expert: experts that are spread over ep
 * ranks of a shard group are sharded over the ranks of the group that hold the same ones. Without
 * expert parallelism both are equal.
 */
gboolean unit_groups (const Mesh *mesh, const char *shard, ShardGroups groups[2], DiagList *diags);

/* Whether the strategy's option 'shard' makes such groups: diagnoses at that option. */
gboolean check_unit_groups (const Mesh *mesh, const char *shard, DiagList *diags);

/* Communicator NAME of units of KIND, or "expert NAME". */
CommRef unit_comm (ScheduleBuilder *b, const char *name, guint kind, MeshGroup group);

/*
 * Elements of tensors after padding for M ranks. flat: one buffer (FSDP1); rows: every tensor on
 * its leading dimension (FSDP2: m ceil (d0/m) n/d0); each: every tensor on its own (DeepSpeed: m
 * ceil (n/m)). Sources: Zhao et al., arXiv:2304.11277, 3.2.1; torch/distributed/fsdp/_fully_shard;
 * deepspeed/runtime/zero/partition_parameters.py.
 */
guint64 padded_flat (guint64 elements, guint m);
guint64 padded_rows (const TensorDesc *tensors, guint n, guint m);
guint64 padded_each (const TensorDesc *tensors, guint n, guint m);

/*
 * The same with the padding of a strategy, summed over all units of KIND (0, or 1: experts that are
 * spread over ranks) that the stage owns: classes of equal layers are multiplied.
 */
typedef guint64 (*PadTensors) (const TensorDesc *tensors, guint n, guint m);
guint64 model_padded (const Workload *workload, PadTensors pad, guint kind, guint m);
/* Of the layers FIRST to END. */
guint64 layers_padded (const Workload *workload, guint first, guint end, PadTensors pad, guint kind,
                       guint m);

/* What a rank holds of both kinds. */
guint64 model_shard (const Workload *workload, PadTensors pad, const guint m[2]);

/* One streaming kernel on STREAM. */
void emit_stream_kernel (ScheduleBuilder *b, StreamRef stream, KernelKind kind, const char *name,
                         Dtype dtype, double read, double write);

/*
 * Clipping and the optimizer over ELEMENTS on the compute stream. The squared norm is all-reduced
 * over NORM, the ranks of the mesh that hold different parts of the gradient (one rank: everyone
 * has all of it), and over the tensor ranks and stages. GRADIENT_BYTES an element; PARAMETER_BYTES
 * of the low-precision copy written beside the master (0: none). Reads the reduced gradients where
 * they are on the GPU (strategy_data), and updates what init allocated for parameters and optimizer
 * states.
 */
void emit_optimizer (StrategyRun *run, MeshGroup norm, guint64 elements, guint gradient_bytes,
                     guint parameter_bytes);

/* Closed forms. */
void   expect_optimizer (const PlanInput *in, MeshGroup norm,
                         PlanTotals *totals); /* the norm's all-reduce */
double expected_flops (const PlanInput *in);  /* a step's products and attention, recomputed too */

/*
 * Activations: `kept` is the most that lives between forward and backward passes (of all
 * micro-batches in flight on a pipeline stage); `low` and `high` bound the transient on top of it
 * (low: at the head's backward, where there is one stage).
 */
typedef struct
{
  double kept, low, high;
} ActivationBounds;

ActivationBounds activation_bounds (const Workload *workload);

/*
 * Largest number of parameters in a unit, and the parameters of the head's own unit, at a
 * granularity.
 */
guint64 largest_unit (const Workload *workload, UnitGranularity granularity);
