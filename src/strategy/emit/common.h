/* What strategies share: precision, streaming kernels and the optimizer step. */
#pragma once

#include "driver/policy/strategy.h"

/*
 * Values an element of the copy of the parameters that the optimizer keeps beside narrower ones (0:
 * parameters are as wide, or there is no optimizer).
 */
guint master_values (const TrainingOptions *training);

/* The optimizer's state, shared by GROUP: the moments and, if it COPIES, that copy. */
PolicyState optimizer_state (const TrainingOptions *training, MeshGroup group, gboolean copies);

/* Of the gradient reduction: `reduce_dtype`, or if 'auto' the compute type. */
Dtype reduce_dtype (const TrainingOptions *training);

/*
 * Bytes an element: as kernels read it, of STATE under the policy, of a gradient as its reduction
 * begins, and its type. The same for all units.
 */
guint compute_bytes (const Policy *policy);
guint element_bytes (const StrategyRun *run, PolicyStateKind state);
guint reduced_bytes (const StrategyRun *run);
Dtype reduced_dtype (const StrategyRun *run);

/* Of what UNIT trains the elements that a narrow hop takes as a byte each. */
guint64 narrow_trainable (const PlanUnit *unit);

/* Bytes of STATE that this rank holds under its policy, of all units. */
guint64 held_bytes (const StrategyRun *run, PolicyStateKind state);

/* Of them those of the optimizer's states that are no values of each element (optimizer_bytes). */
guint64 kept_beside (const StrategyRun *run);

/*
 * Of the optimizer's those moments in unified memory that the GPU has no room for: on the host but
 * for their update.
 */
guint64 paged_bytes (const StrategyRun *run);

/* Allocates the optimizer's states where they live. */
void hold_optimizer (StrategyRun *run);

/*
 * What a block of BYTES of pinned memory takes beyond them where they come from PyTorch's caching
 * allocator (aten/src/ATen/core/CachingHostAllocator.h: PowerOf2Ceil).
 */
guint64 pinned_rounding (const StrategyRun *run, guint64 bytes);

/* One streaming kernel on STREAM. */
void emit_stream_kernel (ScheduleBuilder *b, StreamRef stream, KernelKind kind, const char *name,
                         Dtype dtype, double read, double write);

/*
 * The squared norm of the gradient, summed over NORM, the ranks of the mesh that hold different
 * parts of it (one rank: everyone has all of it), and over the tensor ranks and stages.
 */
void emit_norm (StrategyRun *run, MeshGroup norm, StreamRef stream, Transport transport);

/*
 * Clipping and the optimizer over ELEMENTS on the compute stream. The norm as in emit_norm (size 0:
 * it is there). GRADIENT_BYTES an element; PARAMETER_BYTES of the low-precision copy written beside
 * the master (0: none). Reads the reduced gradients where they are on the GPU (strategy_data), and
 * updates what init allocated for parameters and optimizer states.
 */
void emit_optimizer (StrategyRun *run, MeshGroup norm, guint64 elements, guint gradient_bytes,
                     guint parameter_bytes);

/*
 * The same over the policy's shares of optimizer and gradients; COPIES: where there is a master,
 * the low-precision copy is written beside it.
 */
void emit_share_update (StrategyRun *run, gboolean copies);

/* This with copies, then the policy's route of updates, which makes PARAMETERS whole again. */
void emit_update (StrategyRun *run, BufferRef parameters);

/* The collectives of that route alone. */
void emit_gather_updated (StrategyRun *run, BufferRef parameters);
