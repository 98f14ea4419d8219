/*
 * What a generation of a training framework launches and keeps in its own way, beyond what options
 * say. Its profile (hwprofiles/framework/) fills this, a workload is made of it; all zero: the
 * kernels of PyTorch itself. docs/hardware.md describes each.
 */
#pragma once

#include <glib.h>

/* The loss where the vocabulary is divided over the tensor group. */
typedef enum
{
  FRAMEWORK_LOSS_AUTO,     /* on the divided logits, where they are divided; PyTorch's elsewhere */
  FRAMEWORK_LOSS_PARALLEL, /* its own, which runs where they are not divided too */
  FRAMEWORK_LOSS_GATHERED, /* the logits are gathered first, the loss is PyTorch's on all of them */
  FRAMEWORK_LOSS_TORCH,    /* on the divided logits by PyTorch's loss_parallel, tensor by tensor */
} FrameworkLoss;

/* Whose memory a framework logs. */
typedef enum
{
  FRAMEWORK_LOGS_FULLEST, /* the rank with the least room, or nothing is known */
  FRAMEWORK_LOGS_FIRST,   /* rank 0 */
} FrameworkLogs;

typedef struct
{
  gint64 newest_flash; /* version of FlashAttention that it comes with; 0: whatever is asked for */
  gboolean fused_loss; /* one kernel from the logits to the loss, and one back */
  gboolean compiled_loss; /* compiled kernels: those of the loss too, which so is a fused one */
  gboolean fused_adam;    /* its AdamW is one kernel over all tensors */
  gboolean adam_lists;    /* else torch.optim's over lists, which makes all denominators before it
                          uses any */
  gboolean keeps_table;   /* ZeRO-3: the table that a tied head reads again is the whole model's as
                            well, and stays gathered while that runs */
  gboolean one_communicator; /* ZeRO-3: gradients are reduced over the group's communicator by which
                                parameters are gathered; else over a clone of it */
  gboolean first_coordinator; /* ZeRO-3 before DeepSpeed v0.6: tensors that are gathered as one come
                                 each to its place, in no buffer of which they are copied, and the
                                 host waits for the device at each fetch and for each reduction */
  gboolean loss_scaling; /* fp16: before the update gradients go to fp32, unscaled and checked */
  gint64   softmax_keys; /* most keys that its fused softmax takes, four of them and four score
                            matrices at a time; 0: any number */
  gboolean casts_scores; /* an unfused softmax casts the scores to fp32 first, so that the gradient
                            of the fp32 scores is fp32 too; else one kernel makes fp32
                            probabilities of 16-bit scores */
  gint     loss;         /* FrameworkLoss */
  gboolean loss_copies; /* that on divided logits takes the maximum off a copy of the fp32 logits */
  gint64
      held_outputs; /* micro-steps whose last output, the logits, its loop or pipeline holds on to:
                          0 none */
  gboolean gpt_dropout;    /* a model of the family gpt has its dropouts, where nothing is said */
  gboolean recomputes_all; /* a recomputed block runs its whole forward again (reentrant
                              checkpoints); else it stops when the last kept tensor has been made */
  gboolean keeps_rotary; /* the sines and cosines of the positions are looked up, and kept, in every
                            layer */
  gboolean copies_qkv;   /* queries, keys and values are copied into another order, the latter two
                            twice more, before attention; as much backwards */
  gint64   attention_prologue; /* small kernels before an attention kernel that takes sequences of
                                  different lengths */
  gboolean keeps_gathered;  /* sequence parallelism: the norm gathers its output, which the products
                              after it keep whole and wait for */
  gboolean cats_sequence;   /* sequence parallelism along a dimension that is not the first: what is
                               gathered, and what is to be scattered, is put into order by a copy */
  gboolean holds_scattered; /* sequence parallelism: memory that a reduce-scatter read is not used
                               again before the layer's backward pass */
  gboolean keeps_fp8; /* fp8: a linear layer keeps its input as fp8 for the backward pass, whatever
                         the recipe (Transformer Engine); else a recipe of torchao's keeps it as it
                         came and casts it again */
  gboolean caches_fp8_weights; /* ... and casts weights in the first micro-step of a step only, and
                                  keeps the copies in both directions for ever */
  gboolean fp8_params;   /* ... which are the parameters, where a tensor has one scale: none of
                                  16 bits lies beside them */
  gboolean fused_gate;   /* a gate's activation and product are one kernel, compiled or not */
  gboolean fused_rotary; /* so is the rotary embedding of queries and keys */
  gint     logs_memory;  /* FrameworkLogs: of peaks that a table has */
} FrameworkTraits;
