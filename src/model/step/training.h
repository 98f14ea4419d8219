/* The `training` section of a scenario: what one rank computes in a step, in which precision. */
#pragma once

#include "base/config/option.h"
#include "model/step/length-distribution.h"
#include "vocabulary/dtype.h"
#include "vocabulary/framework-traits.h"

/* What `compile` is about. */
typedef enum
{
  COMPONENTS_AUTO, /* blocks, and the loss where the framework does so */
  COMPONENTS_BOTH,
  COMPONENTS_MODEL, /* blocks alone */
  COMPONENTS_LOSS,
} CompileComponents;

typedef enum
{
  CHECKPOINT_NONE,
  CHECKPOINT_SELECTIVE, /* parts recomputed: the attention core (arXiv:2205.05198), or others */
  CHECKPOINT_FULL,      /* only the input of each block is kept */
  /*
   * Every second matrix product is recomputed, and all that is no product: results of the others,
   * of flash attention and of reduce-scatters are kept (torchtitan's per-op policy).
   */
  CHECKPOINT_SELECTIVE_OP,
  CHECKPOINT_SELECTIVE_LAYER, /* torchtitan's default: every second block is recomputed in full */
  CHECKPOINT_LAYERS,          /* CHECKPOINT_LAYERS + K: every K-th block is */
} CheckpointMode;

typedef enum
{
  ATTENTION_FLASH2,
  ATTENTION_FLASH1,
  ATTENTION_FUSED_SOFTMAX, /* scores materialised, softmax in one kernel */
  ATTENTION_EAGER,
  ATTENTION_FLASH3,
  ATTENTION_CUDNN, /* cuDNN's own fused kernels: Hopper's and Blackwell's */
} AttentionKind;

/*
 * Fused kernels of attention: the three versions of FlashAttention, cuDNN's, and TensorRT-LLM's,
 * which no training runs: measured tables are of it.
 */
typedef enum
{
  FLASH_NONE, /* attention is not fused */
  FLASH_1,
  FLASH_2,
  FLASH_3,
  FLASH_CUDNN,
  FLASH_TRTLLM,
} FlashKernel;

typedef enum
{
  PRECISION_BF16_MIXED,
  PRECISION_FP16_MIXED,
  PRECISION_FP32,
  PRECISION_BF16, /* weights, gradients and moments too: no wider copy */
  PRECISION_FP16,
} PrecisionKind;

typedef enum
{
  OPTIMIZER_ADAMW,       /* one kernel group over all tensors (multi-tensor) */
  OPTIMIZER_ADAMW_FUSED, /* one pass over parameter, gradient and both moments */
  OPTIMIZER_SGD,         /* no state: for tests */
  OPTIMIZER_NONE,        /* nothing is updated or kept for it: forward and backward passes alone */
  OPTIMIZER_ADAMW_8BIT,  /* this and what follows: model/optimizer/optimizer.h */
  OPTIMIZER_SGD_MOMENTUM,
  OPTIMIZER_LAMB,
  OPTIMIZER_ADAFACTOR,
  OPTIMIZER_MUON,
  OPTIMIZER_SHAMPOO,
  OPTIMIZER_SOAP,
  OPTIMIZER_N,
} OptimizerKind;

/* How what an update has to have as a whole comes to one rank, and what it made of it back. */
typedef enum
{
  MATRIX_EXCHANGE_ALL_TO_ALL, /* buckets of layers in turn, to owners and back (torchtitan) */
  MATRIX_EXCHANGE_OWNER,      /* all at once, to owners and back (veScale) */
  MATRIX_EXCHANGE_ALL_GATHER, /* every rank gathers and computes everything */
} MatrixExchange;

typedef enum
{
  DROPOUT_AUTO, /* on for Megatron-LM's classic GPT (both rates are 0.1 unless told), else off */
  DROPOUT_ON,
  DROPOUT_OFF,
} DropoutKind;

/* What type cross entropy is made in, and whether by one kernel. */
typedef enum
{
  LOSS_AUTO,    /* as the framework's profile says, else fp32 */
  LOSS_FP32,    /* the logits are cast to fp32 */
  LOSS_16_BIT,  /* in the type of the logits */
  LOSS_FUSED,   /* one kernel from the logits to the loss, one back */
  LOSS_CHUNKED, /* head and loss for some tokens at a time: all logits are never there at once */
} LossKind;

/* What is launched as one CUDA graph. */
typedef enum
{
  GRAPHS_NONE,
  GRAPHS_BLOCK, /* each pass of a block, with the collectives inside */
  GRAPHS_STEP,  /* the forward and backward passes of a step, with all collectives and messages */
} GraphScope;

/* When the host waits for the GPU in each micro-step, as where a loss is read (loss.item ()). */
typedef enum
{
  SYNC_NONE,
  SYNC_FORWARD, /* behind the loss */
  SYNC_BACKWARD,
} MicroStepSync;

/* How the products of a rank's experts run. */
typedef enum
{
  EXPERT_PRODUCTS_GROUPED,    /* one kernel for all of them */
  EXPERT_PRODUCTS_STREAMS,    /* a kernel each, on several streams */
  EXPERT_PRODUCTS_SEQUENTIAL, /* expert after expert: a kernel each, activations too */
} ExpertProducts;

/* What a tensor of routed experts holds. */
typedef enum
{
  EXPERT_TENSORS_STACKED, /* a weight of all of a rank's experts */
  EXPERT_TENSORS_EACH,    /* of one expert */
} ExpertTensors;

/* How a layer of experts finds out which tokens go where, and moves them. */
typedef enum
{
  EXPERT_KERNELS_INDICES, /* PyTorch's operations on the numbers of the chosen experts */
  EXPERT_KERNELS_MAPS,    /* PyTorch's operations on maps of tokens and experts */
  EXPERT_KERNELS_FUSED,   /* kernels of their own */
} ExpertKernels;

/* Which parameters are trained: model/shape/peft.h. */
typedef enum
{
  PEFT_NONE, /* all */
  PEFT_LORA, /* adapters beside linear modules; the rest is frozen */
} PeftKind;

/* What 'lora_dropout' of adapters is on. */
typedef enum
{
  LORA_DROPOUT_PRE,  /* their input, as peft */
  LORA_DROPOUT_POST, /* what they make */
} LoraDropoutPosition;

/* How model FLOPs are counted for MFU; see model/layer/flops.h. */
typedef enum
{
  FLOPS_PALM,   /* 6 N + 12 L H s per token, N without embeddings, with the head: full attention */
  FLOPS_CAUSAL, /* the same with the masked half of attention left out */
  FLOPS_6N,     /* 6 N with all parameters, attention left out */
} FlopsConvention;

/* An option that goes before a trait of the framework's profile. */
typedef enum
{
  SAYS_AUTO, /* as the profile has it */
  SAYS_TRUE,
  SAYS_FALSE,
} FrameworkSays;

/* How the products of linear layers are made in fp8 or fp4: model/layer/fp8.h. */
typedef enum
{
  FP8_NONE,
  FP8_TENSORWISE, /* a scale a tensor, from the tensor itself */
  FP8_ROWWISE,    /* a scale a row of each operand */
  FP8_DELAYED,    /* a scale a tensor, from the steps before */
  FP8_BLOCKWISE,  /* 1 x 128 of activations and gradients, 128 x 128 of weights */
  FP8_MXFP8,      /* 1 x 32 of all, scales of 8 bits */
  FP8_NVFP4,      /* 4 bits; 1 x 16, of weights 16 x 16, and a scale a tensor */
} Fp8Kind;

/* Whether fully_shard gathers in fp8, and where the scales come from. */
typedef enum
{
  FP8_GATHER_NONE,
  FP8_GATHER_SEARCHED,    /* from the shards, in each gathering */
  FP8_GATHER_PRECOMPUTED, /* of all weights at once, behind the update */
} Fp8Gather;

/* How gradients of single samples are found and clipped (DP-SGD): model/step/privacy.h. */
typedef enum
{
  PRIVATE_NONE,
  PRIVATE_FLASHDP,      /* sample after sample, each added to the sum as it is clipped */
  PRIVATE_EXPLICIT,     /* gradients of all samples are there (Opacus) */
  PRIVATE_GHOST,        /* norms without them, then a second backward pass of a weighted loss */
  PRIVATE_BOOK_KEEPING, /* norms without them, then products of what the one pass has kept */
} PrivateMethod;

/* What a sample's gradient is clipped to a norm of. */
typedef enum
{
  CLIPPING_PER_LAYER, /* each parameter's by itself */
  CLIPPING_FLAT,      /* that of all parameters */
} PrivateClipping;

/* Who adds the noise, and when. */
typedef enum
{
  NOISE_AUTO,  /* each rank of FlashDP, else the owner */
  NOISE_RANK,  /* each rank, in each backward pass, before any reduction */
  NOISE_OWNER, /* who updates a parameter, once a step, behind the reduction */
  NOISE_NONE,
} PrivateNoise;

/*
 * The last choice of a role's type, behind fp32, bf16 and fp16. Of the reduction: the strategy's
 * own default; of what the optimizer keeps: what the precision implies.
 */
#define REDUCE_AUTO 3
#define ROLE_AUTO   REDUCE_AUTO

/* How ranks divide the sequences of a step among them. */
typedef enum
{
  PARTITION_EVEN,     /* every sequence is divided over all context ranks of its data rank */
  PARTITION_HYBRID,   /* each has as many ranks as it needs: model/step/hybrid-partition.h */
  PARTITION_ZEPPELIN, /* the same of context ranks, for attention alone: zeppelin-partition.h */
  PARTITION_PACKED,   /* documents, packed into sequences of equal tokens: document-packing.h */
  PARTITION_WLB,      /* the same, packed into sequences of equal work */
} Partition;

/* What is computed of a micro-batch. */
typedef enum
{
  PASS_TRAINING, /* forward and backward, to a loss */
  PASS_PREFILL,  /* prompts: forward, to the next token of each sequence */
  PASS_DECODE,   /* the same of one token a sequence, whose keys and values are in a cache */
} ModelPass;

/*
 * What a rank attends to in sets of RANKS: sequences of TOKENS altogether, whose squares sum to
 * SQUARES.
 */
typedef struct
{
  guint  ranks;
  double tokens, squares;
} AttentionPart;

typedef struct
{
  gint64   seq_len;           /* tokens a sequence */
  gint64   micro_batch;       /* sequences a data-parallel rank and micro-step */
  gint64   grad_accum;        /* micro-steps an optimizer step */
  gint64   global_batch;      /* sequences of a step on all data ranks; 0: what grad_accum makes */
  gint     checkpointing;     /* CheckpointMode [+ K]; key activation_checkpointing */
  gint64   recompute_layers;  /* blocks of each chunk of a stage that `full` recomputes, the first
                                 ones; 0: all */
  char    *recompute_modules; /* what selective checkpointing recomputes: block-parts.h */
  gboolean cpu_checkpointing; /* checkpoints of whole blocks live in host memory */
  gboolean partition_activations;             /* tensor ranks share them */
  gint64   tiled_in_splits, tiled_out_splits; /* parts of each linear of a block */
  gint     attention;                         /* AttentionKind */
  gboolean causal;
  gint     dropout;    /* DropoutKind: after embedding, attention and both branches of a block */
  gint     loss;       /* LossKind */
  gint64   loss_chunk; /* tokens a chunk, of LOSS_CHUNKED */
  gint     expert_products;          /* ExpertProducts */
  gint     expert_tensors;           /* ExpertTensors */
  gint     expert_routing;           /* ExpertKernels: of the router behind its product */
  gint     expert_permutation;       /* ExpertKernels: of rows to experts and back */
  gboolean fused_norm;               /* one kernel a norm instead of the eager chain */
  gint     fused_gate, fused_rotary; /* FrameworkSays: of the traits */
  gboolean compile;                  /* compiled: element-wise chains fused, cheaper issue */
  gint     precision;                /* PrecisionKind */
  gint     reduce_dtype;             /* Dtype of the gradient reduction, or REDUCE_AUTO */
  gint     master_dtype; /* Dtype of the weights that the optimizer updates, or ROLE_AUTO */
  gint     moment_dtype; /* Dtype of its moments, or ROLE_AUTO */
  gint     fp8_recipe;   /* Fp8Kind */
  gint     fp8_params;   /* FrameworkSays: of the trait */
  gint     fp8_gather;   /* Fp8Gather */
  gint64   num_layers_at_start_in_bf16; /* blocks whose products the recipe leaves in 16 bits */
  gint64   num_layers_at_end_in_bf16;
  gboolean disable_parameter_transpose_cache; /* fp8: weights' columns do not stay */
  gboolean activation_func_fp8_input_store;   /* of a gate's inputs fp8 copies are kept */
  gint     optimizer;                         /* OptimizerKind */
  gboolean optimizer_paged;                   /* its moments are in unified memory */
  gint64   optimizer_tile; /* side of the tiles of matrices that share scales, of 8-bit AdamW */
  gint64   ns_steps;       /* of Newton-Schulz, of Muon, */
  gint64   precondition_frequency; /* steps between two decompositions, of Shampoo and SOAP, and */
  gint64   max_preconditioner_dim; /* the longest side that they take; 0: their own defaults */
  char    *matrix_parameters;      /* names of those that these three take; NULL: matrices of
                                      blocks */
  gint64   matrix_bucket_layers;   /* of the exchange; 0: so many that each rank has a matrix */
  gint     matrix_exchange;        /* MatrixExchange */
  gboolean clip_gradients;
  gint     private_method;      /* PrivateMethod; `private` in a file is a map of these three */
  gint     private_clipping;    /* PrivateClipping */
  gint     private_noise;       /* PrivateNoise */
  gint     flops;               /* FlopsConvention; key flops_convention */
  char    *kernels;             /* release of products and attention; NULL: as GPUs' profiles are */
  char    *framework;           /* id or name of a framework's profile; NULL: none in particular */
  gboolean launch_blocking;     /* the host waits for each kernel before it issues the next */
  gint     cuda_graphs;         /* GraphScope */
  gint     compile_components;  /* CompileComponents; of `compile` */
  gint     micro_step_sync;     /* MicroStepSync */
  gint     peft;                /* PeftKind */
  gint64   lora_r;              /* rank of the adapters */
  char    *lora_target_modules; /* names of the modules that get one */
  gint64   trained_slices;      /* of each MLP's width; a rank trains one of them */
  gboolean slice_heads;         /* and of attention's heads */
  gboolean lora_a2a;            /* under tensor ranks: see model/shape/peft.h */
  gboolean fully_sharded_loras; /* the same: both factors of an adapter are divided, not one */
  gint     partition;           /* Partition: how ranks divide the sequences of `lengths` */
  gint     document_sharding;   /* DocumentSharding: of those that are packed */
  double   lora_dropout;        /* rate; 0: none */
  gint     lora_dropout_position; /* LoraDropoutPosition */
  gboolean lora_dropout_recompute;
  gboolean use_dora;     /* DoRA: a magnitude for each output of an adapted module */
  gboolean load_in_4bit; /* QLoRA: frozen linear modules of blocks are kept in NF4, */
  gboolean prepare_model_for_kbit_training; /* ... and what is not in 4 bits is in fp32 */
  gboolean bnb_4bit_use_double_quant;       /* and the scales of their blocks in 8 bits */
  gint64   document_length; /* mean, tokens: see documents.h; 0: sequences are one document */
  char    *shard_block;     /* what no boundary of shards cuts: shard-block.h; NULL: rows */
  char    *lengths; /* file of sequence lengths, or a distribution: see sequence-lengths.h; NULL:
                       all seq_len */
  gint64 lengths_median, lengths_tail, lengths_seed; /* of a distribution: length-distribution.h */
  gint64 outlier_queues;                             /* of balanced packing: document-packing.h */
  gint64 tokens_per_rank;  /* that a rank may hold, of a sequence (hybrid) or of a micro-batch
                               (zeppelin, wlb); 0: as many as all ranks need for it */
  char  *measured_kernels; /* file of measured times, see measured-kernels.h; NULL: modelled ones */
  const struct _MeasuredKernels *measured; /* no option: that file */
  FrameworkTraits traits;         /* no option: training_take_traits, before a workload is made */
  gboolean        fp8_any_layout; /* no option: of the GPU's profile; set likewise */
  gint            pass;           /* no option: ModelPass */
  double          weight_bytes;   /* no option: of an element of a block's matrix with its share of
                                     scales, of which generation keeps fewer than it multiplies; 0:
                                     as it multiplies */
  const GArray
        *parts;    /* no option: AttentionPart, the largest sets first, what this rank attends to
                          of `batch`; NULL: its share of each sequence */
  double remapped; /* no option: with those, tokens that the fullest rank sends or gets
                             between equal shares and what ranks attend to */
  const GArray *pieces; /* no option: DocumentPiece, what this rank attends to of packed documents;
                             NULL: its share of each sequence */
  const GArray *batch;  /* no option: gint64, the lengths of one micro-batch of that file; NULL:
                             micro_batch of seq_len each */
} TrainingOptions;

extern const OptionSpec training_options[];

/* The framework's TRAITS (may be NULL), but for those that an option says. */
void training_take_traits (TrainingOptions *self, const FrameworkTraits *traits);

/* Of activations and of gathered (compute) parameters; bytes an element. */
Dtype training_compute_dtype (const TrainingOptions *training);
guint training_compute_bytes (const TrainingOptions *training);

/*
 * Of the weights that the optimizer updates: where they are wider than what kernels read, a copy of
 * their own or the shards themselves, as the strategy has it; and of the moments.
 */
Dtype    training_master_dtype (const TrainingOptions *training);
Dtype    training_moment_dtype (const TrainingOptions *training);
gboolean training_has_master (const TrainingOptions *training); /* they are wider */

/* Embedding and head are kept in fp32, in which blocks hand their results on, and nothing else. */
gboolean training_has_wide_stream (const TrainingOptions *training);

/*
 * The mode of block BLOCK (from 0), the NTH (from 0) of its chunk: none, selective, full or
 * selective-op.
 */
CheckpointMode training_block_checkpoint (const TrainingOptions *training, gint64 block,
                                          gint64 nth);

/* Whether the recipe leaves block BLOCK (from 0) of N in 16 bits: never an MTP layer. */
gboolean training_block_in_16bit (const TrainingOptions *training, gint64 block, gint64 n);

/* Micro-steps whose last output, the 16-bit logits, a framework's pipeline holds on to. */
guint training_held_outputs (const TrainingOptions *training);

/* FAMILY: of the model's shape. */
gboolean training_has_dropout (const TrainingOptions *training, const char *family);

/*
 * The fused kernel (FlashKernel) that runs: what is asked for, as far as the framework has it;
 * FLASH_NONE when attention is not fused.
 */
guint training_flash_version (const TrainingOptions *training);

/* TRUE when one kernel leads from the logits to the loss. */
gboolean training_fuses_loss (const TrainingOptions *training);

/* Of `compile` and `compile_components`. */
gboolean training_compiles_blocks (const TrainingOptions *training);
gboolean training_compiles_loss (const TrainingOptions *training);

/* Bytes of an element of what an unfused loss works on; E: of a logit. */
double training_loss_bytes (const TrainingOptions *training, double e);

/* The distribution that lengths are drawn from; LENGTHS_N: none. */
LengthDistribution training_lengths_drawn (const TrainingOptions *training);

/* Tokens of one micro-step on one data-parallel rank. */
guint64 training_tokens (const TrainingOptions *training);

/* Slices of which a rank trains one: 1 where it trains all. */
guint training_slices (const TrainingOptions *training);

/*
 * A micro-batch of sequences that differ, as this many of one length: as many tokens, and as many
 * pairs of tokens of one sequence. Neither need be whole.
 */
double training_mean_length (const TrainingOptions *training); /* sum of l^2 / sum of l */
double training_sequences (const TrainingOptions *training);
