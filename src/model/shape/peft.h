/*
 * Parameter-efficient fine-tuning: which parameters are trained.
 *
 * LoRA (Hu et al., arXiv:2106.09685): the model's own parameters are frozen, and each linear module
 * that is named gets an adapter, two narrow linears A (r x k) and B (n x r) that are trained: y = x
 * W' + s (x A') B'. Kernels, their order and the names of modules are those of Hugging Face's peft
 * (peft/tuners/lora/layer.py).
 */
#pragma once

#include "model/step/workload.h"

#define PEFT_ALL_LINEAR "all-linear" /* among the targets: every linear of the blocks */

/* The names that TRAINING targets, of which some may be empty: g_strfreev. */
char **peft_targets (const TrainingOptions *training);

/* Whether TARGET means the module NAME, as peft matches: all of it, or its end behind a dot. */
gboolean peft_is_target (const char *name, const char *target);

/* Whether the linear module NAME of a block gets an adapter. */
gboolean peft_adapts (const TrainingOptions *training, const char *name);

/*
 * Diagnoses at the MARKS (may be NULL) of TRAINING targets that no block of SHAPE has, and options
 * of a method that is not asked for.
 */
gboolean peft_check (const ModelShape *shape, const TrainingOptions *training,
                     const OptionMarks *marks, DiagList *diags);
