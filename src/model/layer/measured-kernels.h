/*
 * What the kernels of a step took on a real GPU, as a YAML file that a scenario names as
 * `training.measured_kernels`:
 *
 *   measured_on:
 *     gpu: h100-sxm-80
 *     training: { seq_len: 4096, micro_batch: 1, precision: bf16-mixed }
 *     mesh: { tp: 1 }
 *   kernels:
 *     - { layer: block, phase: forward, time: 1.25 ms, flops: 3.71e12 }
 *     - { layer: all, phase: optimizer, time: 9.5 ms, bytes: 3.2e10 }
 *
 * `time` is of one layer in one micro-step, of `all` layers of a rank together where `layer` says
 * so; of the optimizer of a rank's whole step. What is under `measured_on` must be so in the
 * scenario. `flops` are those of the products that the time is of, `bytes` what the optimizer's
 * kernels read and write: of the optimizer needed, since its time goes with them.
 */
#pragma once

#include "base/file/input-files.h"
#include "model/step/workload.h"

typedef enum
{
  MEASURED_FORWARD,
  MEASURED_RECOMPUTE,
  MEASURED_BACKWARD,
  MEASURED_BACKWARD_ALL, /* recomputation and backward, where a trace does not tell them apart */
  MEASURED_OPTIMIZER,
  MEASURED_N_PHASES,
} MeasuredPhase;

const char *measured_phase_name (MeasuredPhase phase); /* "forward", "recompute+backward" */

#define MEASURED_ALL_LAYERS (LAYER_HEAD + 1) /* in the place of a LayerKind */
#define MEASURED_N_LAYERS   (MEASURED_ALL_LAYERS + 1)

const char *measured_layer_name (guint layer); /* "embedding", "block", "head", "all" */

typedef struct
{
  gboolean given;
  double   seconds;
  double   flops; /* 0: not said */
  double   bytes; /* of the optimizer */
} MeasuredRow;

typedef struct _MeasuredKernels MeasuredKernels;

/* NULL after diagnostics. From FILES, which owns it: read once. */
const MeasuredKernels *measured_kernels_get (InputFiles *files, const char *file, DiagList *diags);
MeasuredKernels       *measured_kernels_load (const char *file, DiagList *diags);
void                   measured_kernels_free (MeasuredKernels *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MeasuredKernels, measured_kernels_free)

/* GPU's profile; NULL: not said. */
const char *measured_kernels_gpu (const MeasuredKernels *self);

const MeasuredRow *measured_kernels_row (const MeasuredKernels *self, guint layer,
                                         MeasuredPhase phase);

/*
 * Diagnoses every option of TRAINING and MESH that was another one when SELF was measured, at its
 * place in TRAINING_MARKS or MESH_MARKS.
 */
gboolean measured_kernels_check (const MeasuredKernels *self, const TrainingOptions *training,
                                 const MeshOptions *mesh, const OptionMarks *training_marks,
                                 const OptionMarks *mesh_marks, DiagList *diags);

/* Diagnoses at MARK layers of WORKLOAD whose products are not those that were measured. */
gboolean measured_kernels_check_workload (const MeasuredKernels *self, const Workload *workload,
                                          const SourceMark *mark, DiagList *diags);

/* FLOPs of the products of LAYER in PHASE, which is not the optimizer. */
double measured_layer_flops (const LayerDesc *layer, MeasuredPhase phase);

/*
 * Whether the kernels of a phase are counted layer by layer: all blocks of WORKLOAD have the same
 * FLOPs there.
 */
gboolean measured_blocks_are_alike (const Workload *workload, MeasuredPhase phase);

typedef struct
{
  MeasuredRow rows[MEASURED_N_LAYERS][MEASURED_N_PHASES];
} MeasuredTable;

/* The file of TABLE, newly allocated; measured on GPU under TRAINING and MESH, SOURCE in a comment.
 */
char *measured_kernels_print (const MeasuredTable *table, const char *gpu,
                              const TrainingOptions *training, const MeshOptions *mesh,
                              const char *source);
