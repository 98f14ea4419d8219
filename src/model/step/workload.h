/*
 * What one training step computes on one data-parallel rank: the model's layers in forward order,
 * each with its tensors, modules, kernels and activations. Layer 0 is the embedding, the last one
 * the final norm and the head with the loss.
 */
#pragma once

#include "base/memory.h"
#include "model/layer/flops.h"
#include "model/layer/kernel-desc.h"
#include "model/mesh/parallel.h"
#include "model/shape/model.h"
#include "model/step/sequence-lengths.h"

typedef enum
{
  LAYER_EMBEDDING,
  LAYER_BLOCK,
  LAYER_HEAD,
} LayerKind;

#define TENSOR_MAX_DIMS 3

/*
 * One parameter tensor, with the shape that the reference implementation gives it (sharding formats
 * need it).
 */
typedef struct
{
  const char *name;                   /* interned: "attn.q_proj.weight" */
  guint64     shape[TENSOR_MAX_DIMS]; /* leading dimension first; stacked experts have three */
  guint       n_dims;
  guint64     block;       /* elements that no boundary of shards cuts, where that is heeded */
  guint64     elements;    /* as it is kept, */
  guint64     packed;      /* of a matrix in 4 bits or fp8 alone: its values; else 0 */
  guint64     scale_bytes; /* of its blocks of values, which every rank keeps */
  guint       module;      /* index into the layer's modules */
  gboolean    expert;      /* belongs to routed experts */
  gboolean    matrix;      /* an optimizer of matrices takes it; else passes over elements do */
  gboolean    stacked;     /* to all of a rank's: its leading dimension counts them */
  gboolean    frozen;      /* not trained: no gradient, no optimizer */
  gboolean    sliced;      /* the slice of a tensor that is trained, or (frozen) all others */
  gboolean    replicated;  /* of a tensor group: whole on each of its ranks; with sp its gradient
                             there is a partial sum, added up once a step */
  gboolean    narrow;      /* what gathers it whole brings it in fp8 */
} TensorDesc;

/*
 * A module that owns parameters (Linear, norm, embedding, a layer's experts), in the order in which
 * forward runs them.
 */
typedef struct
{
  const char *name;
  guint       first_tensor, n_tensors;
  guint64     elements;
  gboolean    linear; /* of a block: LoRA can adapt it */
} ModuleDesc;

/*
 * A layer. Layers of equal content share one LayerDesc (workload_layer returns the same pointer),
 * so 126 blocks cost one. Kernels are listed in the order in which they are launched; `backward`
 * excludes recomputation.
 */
typedef struct
{
  LayerKind         kind;
  guint             class_;             /* layers of one class are identical */
  guint             mtp;                /* ModelLayer's: a block beside the main model's */
  CheckpointMode    checkpoint;         /* of this layer: none, selective, full or selective-op */
  guint64           elements;           /* parameters; the head of a tied model has only its norm */
  guint64           trainable_elements; /* of them those that are trained */
  guint64           active_elements;    /* of them used by one token (MoE: top-k experts) */
  const TensorDesc *tensors;
  guint             n_tensors;
  /* those of them that are trained, in the same order */
  const TensorDesc *trainable;
  guint             n_trainable;
  const ModuleDesc *modules;
  guint             n_modules;
  const KernelDesc *forward, *recompute, *backward;
  guint             n_forward, n_recompute, n_backward;
  gboolean reads_table; /* a tied head, or an MTP layer, that also reads layer 0's token embedding:
                           its unit must be gathered, its gradient adds up */
  /*
   * On another rank than the embedding the first MTP layer owns a copy of the table (its first
   * tensor) or, without any, a tied head (its last one); others there read the copy. The gradients
   * of both tables are summed once a step over the embedding group, which holds the first and the
   * last stage (Megatron-LM): an all-reduce of tied_elements.
   */
  gboolean tied_copy;     /* the layer that has the copy */
  gboolean tied_peer;     /* the embedding whose table is copied */
  guint64  tied_elements; /* of both: elements of the table on this rank, else 0 */
  /* activation bytes of one micro-batch on this rank, with the checkpointing mode applied */
  guint64  kept_bytes;    /* of it in between: a slice where tensor ranks share a checkpoint */
  guint64  saved_bytes;   /* kept from this layer's forward until its backward */
  guint64  working_bytes; /* transient beyond `saved_bytes` while its forward runs */
  gboolean offloaded; /* of a checkpoint: saved bytes are in host memory between the two passes */
  guint64  clipped_bytes; /* of flat clipping, what is held between its two backward passes in place
                             of `saved_bytes`; 0: these stay */
  guint64 backward_bytes; /* transient beyond `saved_bytes` while its backward runs (recomputed set,
                             gradients of activations) */
  /*
   * The same tensor by tensor, in the order in which they come and go. Forward leaves what is
   * saved; backward begins with that, made again what a checkpoint left out, and frees all but the
   * gradient that it hands on. At their peaks saved + working and saved + backward bytes are alive
   * (up to the rounding of fractions).
   */
  MemoryProgram forward_memory, backward_memory;
  /*
   * A forward pass of which nothing is kept for a backward pass: what is alive at its peak beyond
   * `output_bytes`, and its tensors, of which only the output is left.
   */
  guint64       inference_bytes;
  MemoryProgram inference_memory;
  guint64       cached_bytes; /* copies of its weights in fp8 that stay for ever */
  guint64       held_bytes;   /* head: of its output, held beyond its forward pass for
                                 training_held_outputs micro-steps; else 0 */
  guint64       head_bytes;   /* head: its logits as its product makes them; 0: never all at once */
  guint64       logits_bytes; /* head: vocabulary-wide tensors of its backward (inside saved_bytes
                                 and backward_bytes): for reports */
  guint64       output_bytes; /* the activation handed to the next layer */
} LayerDesc;

typedef struct _Workload Workload;

/*
 * Diagnoses at the MARKS (may be NULL) of TRAINING a sequence that is longer than the model's
 * table of learned positions, options of peft.h that do not fit, and a micro-step whose activations
 * are too many to be counted: more than 2^60 bytes. SHAPE is one that model_resolve accepted.
 */
gboolean workload_check (const ModelShape *shape, const TrainingOptions *training,
                         const OptionMarks *marks, DiagList *diags);
/* Of patterns that match none of them. */
#define WORKLOAD_NAMES_HINT \
  "'shardsim shards --model NAME --ranks 8 --format ragged' shows the names"

/*
 * Whether SPEC (shard-block.h; NULL: none) is one for the whole model SELF: its patterns match
 * tensors, which its blocks divide. Of a rank's part the latter alone: it has not all names.
 */
gboolean workload_check_blocks (const Workload *self, const char *spec, const SourceMark *mark,
                                DiagList *diags);
gboolean workload_check_block_sizes (const Workload *self, const char *spec, const SourceMark *mark,
                                     DiagList *diags);

/*
 * Diagnoses at the MARKS (may be NULL) of MESH degrees of MESH that do not divide WORLD ranks, the
 * layers, heads, width, vocabulary-free dimensions, experts or the sequence; expert parallelism of
 * a dense model; a pipeline schedule that needs more micro-steps than TRAINING has; every error in
 * one pass.
 */
gboolean mesh_check (const ModelShape *shape, const TrainingOptions *training,
                     const MeshOptions *mesh, guint world, const OptionMarks *marks,
                     DiagList *diags);

/* SHAPE and TRAINING are copied. Never fails for a shape that model_resolve accepted. */
Workload *workload_new (const ModelShape *shape, const TrainingOptions *training);

/*
 * Diagnoses at the MARKS of MESH a micro-batch (TRAINING's batch) whose tokens sequence parallelism
 * under MESH does not divide.
 */
gboolean mesh_check_batch (const TrainingOptions *training, const MeshOptions *mesh,
                           const OptionMarks *marks, DiagList *diags);

/*
 * Layers over chunks. The model is cut into consecutive model chunks: pp of them; interleaved: pp *
 * vp; ZBV: 2 * pp. Chunk c of stage s is model chunk c * pp + s (interleaved; c = 0 elsewhere);
 * ZBV: s for c = 0, 2 * pp - 1 - s for c = 1 (a V: the first stage has both ends); DualPipe: s for
 * c = 0 and pp - 1 - s for c = 1, so each model chunk lives on two stages (arXiv:2412.19437):
 * micro-batches of the one direction pass all chunks 0 in stage order, those of the other all
 * chunks 1 in reverse order. Where the blocks are cut: model/mesh/stage-cut.h (even: BLOOM, 70 over
 * 12, and Llama 3, 126 over 16, have a block less at the ends; else the first model chunks have one
 * more; Megatron-LM refuses both unless told).
 */

/*
 * What a rank of pipeline stage STAGE computes under MESH (copied): its stage's layers only, chunk
 * by chunk, each with the tensors, kernels, activations and collectives (KERNEL_COMMUNICATION) of
 * one tensor-, context- and expert-parallel rank. The first chunk of the first stage has the
 * embedding, the last chunk of the last one the head; a tied head on another stage than the
 * embedding owns a copy of the table. MESH is one that mesh_check accepted. Totals below are of
 * this rank.
 */
Workload *workload_new_stage (const ModelShape *shape, const TrainingOptions *training,
                              const MeshOptions *mesh, guint stage);

/*
 * The first stage, which shares what N_KNOWN others have built of layers that it has as well. Each
 * is a first stage that differs in `activation_checkpointing` alone, and has neither lengths nor
 * measured kernels.
 */
Workload *workload_new_recomputed (const ModelShape *shape, const TrainingOptions *training,
                                   const MeshOptions *mesh, const Workload *const *known,
                                   guint n_known);

/* The stage behind SELF's, which shares what is built of layers that both have; SELF may go. */
Workload *workload_new_next_stage (const Workload *self);
void      workload_free (Workload *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Workload, workload_free)

const ModelShape      *workload_shape (const Workload *self);
const TrainingOptions *workload_training (const Workload *self);
guint workload_n_layers (const Workload *self); /* those listed: the model's blocks + 2 in all */
const LayerDesc   *workload_layer (const Workload *self, guint i);
const MeshOptions *workload_mesh (const Workload *self); /* degrees >= 1; workload_new: all 1 */
guint              workload_stage (const Workload *self);

/* What block I is made of; of embedding and head nothing. */
const ModelLayer *workload_block (const Workload *self, guint i);

/* Layer I's place in the whole model: 0 the embedding, then blocks, the head last. */
guint workload_model_layer (const Workload *self, guint i);

/* Layers [*FIRST, *END) of chunk CHUNK (0 .. n_chunks - 1), in forward order. */
guint workload_n_chunks (const Workload *self);
void  workload_chunk (const Workload *self, guint chunk, guint *first, guint *end);

/* All as they are kept, tied counted once, on one rank: of a matrix in 4 bits a quarter. */
guint64 workload_n_parameters (const Workload *self);
guint64 workload_n_trainable_parameters (const Workload *self); /* of them, on one rank */
guint64 workload_n_active_parameters (const Workload *self);    /* used by one token */

/* Bytes of copies in fp8 of its weights that stay for ever. */
guint64 workload_cached_bytes (const Workload *self);

/* Of the whole model, whatever part of it tensor ranks and stages hold, in whatever bits. */
guint64 workload_n_parameters_of_model (const Workload *self);

/* Whether 16-bit elements hold frozen weights of fewer bits: 4, or fp8. */
gboolean workload_packs (const Workload *self);

/* Bytes of the scales of weights in 4 bits; every rank keeps those of all its layers. */
guint64 workload_scale_bytes (const Workload *self);

/*
 * FLOPs of all kernels of one micro-step as listed (recomputation included): what the hardware
 * executes. DualPipe: the mean of a micro-step, which passes one of the two chunks.
 */
double workload_executed_flops (const Workload *self);

/*
 * Of them those of matrix products and attention.
 */
double workload_matrix_flops (const Workload *self);
