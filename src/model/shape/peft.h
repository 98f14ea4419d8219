/*
 * Parameter-efficient fine-tuning: which parameters are trained.
 *
 * LoRA (Hu et al., arXiv:2106.09685): the model's own parameters are frozen, and each linear module
 * that is named gets an adapter, two narrow linears A (r x k) and B (n x r) that are trained: y = x
 * W' + s (x A') B'. Kernels, their order and the names of modules are those of Hugging Face's peft
 * (peft/tuners/lora/layer.py).
 *
 * Over a tensor group adapters are divided as NeMo's and Megatron-Bridge's are
 * (src/megatron/bridge/peft/utils.py, ParallelLinearAdapter): B by outputs; A by outputs, or, of a
 * module that is divided by inputs, by inputs, too. Every rank gets all of the R numbers a token
 * that A makes, and the gradient of B's input is added up over the group. What B makes stands
 * beside the module's output: divided like it, or gathered over its features; with sequence
 * parallelism each rank keeps its tokens of it, which an all-to-all brings at once
 * (a2a_experimental). Or one factor is divided and the other whole on every rank, as peft's are
 * (src/peft/tuners/lora/tp_layer.py): B beside a module that is divided by outputs, A beside one by
 * inputs; then no collective is wider than the R numbers a token.
 *
 * Modules that a target joins by PEFT_JOIN are one matrix in a framework, such as Megatron's
 * linear_qkv: one A, whose R numbers each one's B takes.
 */
#pragma once

#include "model/step/workload.h"

#define PEFT_JOIN       "+" /* between modules that are one matrix in a framework: one target */
#define PEFT_ALL_LINEAR "all-linear" /* among the targets: every linear of the blocks */

/* The names that TRAINING targets, of which some may be empty: g_strfreev. */
char **peft_targets (const TrainingOptions *training);

/* Whether TARGET means the module NAME, as peft matches: all of it, or its end behind a dot. */
gboolean peft_is_target (const char *name, const char *target);

/* Whether the linear module NAME of a block gets an adapter. */
gboolean peft_adapts (const TrainingOptions *training, const char *name);

/* Number from 1 of the target that joins module NAME to others, whose A is one; 0: none does. */
guint peft_joined (const TrainingOptions *training, const char *name);

/*
 * Diagnoses at the MARKS (may be NULL) of TRAINING targets that no block of SHAPE has, and options
 * of a method that is not asked for.
 */
gboolean peft_check (const ModelShape *shape, const TrainingOptions *training,
                     const OptionMarks *marks, DiagList *diags);
