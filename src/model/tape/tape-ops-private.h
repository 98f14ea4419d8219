/*
 * The operations that layers are made of. Each appends to the tape and returns the values that it
 * makes. Internal to the layer.
 */
#pragma once

#include "model/tape/tape-comm-private.h"
#include "model/tape/tape-fp8-private.h"

/* A value that comes from outside of the layer; the layer's input must be the first. */
TapeValue tape_input (Tape *tape, const char *name, double elements, gboolean needs_grad);

/*
 * ROWS x K times K x N. BATCH > 1: one product for each of BATCH experts, on rows that are shared
 * out evenly. MODULE owns the weights; gradients of weights are written in the compute type.
 */
typedef struct
{
  gint     module;
  double   rows;
  guint64  k, n, batch;
  gboolean bias;
  gboolean together;             /* of BATCH > 1: one kernel, whatever experts are */
  gboolean fp8;                  /* its products are, as the tape's recipe says */
  gboolean narrow;               /* weights are in TrainingOptions.weight_bytes, which it widens */
  Packing  packing;              /* of frozen weights */
  guint64  trained_k, trained_n; /* of the weights that are trained; 0: all */
} LinearSpec;

TapeValue tape_linear (Tape *tape, const char *name, TapeValue in, LinearSpec spec);

/* A product of M x K and K x N, BATCH times, that reads and writes no values yet. */
KernelDesc tape_product_desc (const Tape *tape, const char *name, guint64 batch, guint64 m,
                              guint64 n, guint64 k, double flops);

/*
 * The same linear in IN_SPLITS x OUT_SPLITS tiles, whose modules follow each other from MODULE on,
 * those of one part of the output together (tape-tiles.c). Of N features in PARTS, tape_tile says
 * how many part I has.
 */
TapeValue tape_tiled_linear (Tape *tape, const char *name, TapeValue in, LinearSpec spec,
                             guint in_splits, guint out_splits);
guint64   tape_tile (guint64 n, guint64 parts, guint64 i);

/* Makes the weights of OP whole before a product of LIST, if they are packed. */
void tape_unpack (Tape *tape, GArray *list, const TapeOp *op);

/*
 * IN times a trained factor for each of its WIDTH columns, which MODULE owns; the gradient of the
 * factors is a product and a sum over the rows.
 */
TapeValue tape_scale_columns (Tape *tape, const char *name, TapeValue in, gint module,
                              double width);

/*
 * What DoRA computes of the weights of a module from K to N before it scales: the norms of the rows
 * of W + s B A, through which no gradient flows.
 */
typedef struct
{
  double  k, n, rank;
  gint    weight, down, up; /* modules of W, A and B */
  Packing packing;          /* of W */
} WeightNormSpec;

void tape_weight_norm (Tape *tape, const char *name, TapeValue in, WeightNormSpec spec);

/*
 * The bias of a linear whose partial sums were added up before: the kernel that reads VALUE next
 * adds it, which costs nothing (Megatron-LM: fused with dropout and residual). Only its gradient is
 * a kernel.
 */
void tape_late_bias (Tape *tape, const char *name, TapeValue value, double width);

/* BATCH products of M x K and K x N: both factors are activations. */
TapeValue tape_product (Tape *tape, const char *name, TapeValue a, TapeValue b, guint64 batch,
                        guint64 m, guint64 n, guint64 k);

/*
 * Norm of ROWS rows of WIDTH elements. RMSNorm is a chain of kernels unless fused or compiled,
 * LayerNorm always one kernel.
 */
TapeValue tape_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows,
                     double width, ModelNorm norm);

/* IN without a gradient: what is kept of it is kept of IN. */
TapeValue tape_detach (Tape *tape, TapeValue in);

/* A + B. B may be narrower (repeated over the batch). */
TapeValue tape_add (Tape *tape, const char *name, TapeValue a, TapeValue b);

/*
 * A + PRODUCT, the result of a product that is recorded last and adds A as it writes (beta = 1): no
 * kernel of its own. What overlaps the product overlaps the sum.
 */
TapeValue tape_accumulate (Tape *tape, const char *name, TapeValue a, TapeValue product);

/*
 * A linear rearrangement of values (rotary embedding, copies, permutations): forward reads all
 * inputs and writes all outputs, backward the other way round. The fixed bytes are the traffic of
 * intermediates beside that. No kernel where there are no launches: views.
 */
typedef struct
{
  KernelKind kind;
  guint      forward_launches, backward_launches;
  double     forward_read, forward_write;
  double     backward_read, backward_write;
} MapSpec;

void tape_map (Tape *tape, const char *name, const TapeValue *in, guint n_in,
               const double *out_elements, guint n_out, MapSpec spec, TapeValue *out);

TapeValue tape_gelu (Tape *tape, const char *name, TapeValue in);
TapeValue tape_relu (Tape *tape, const char *name, TapeValue in);
TapeValue tape_squared_relu (Tape *tape, const char *name, TapeValue in);
TapeValue tape_gate (Tape *tape, const char *name, TapeValue gate, TapeValue up);
TapeValue tape_clamped_gate (Tape *tape, const char *name, TapeValue gate_up);
/* ROWS, each weighed by the sigmoid of one of the FACTORS. */
TapeValue tape_weigh_rows (Tape *tape, const char *name, TapeValue rows, TapeValue factors);
TapeValue tape_softcap (Tape *tape, const char *name, TapeValue in);
/* RECOMPUTED: the mask is drawn once more on the way back, from a state that is kept instead. */
TapeValue tape_dropout (Tape *tape, const char *name, TapeValue in, gboolean recomputed);

/* STREAM + dropout (BRANCH) in one kernel, as Megatron-LM fuses them. */
TapeValue tape_dropped_residual (Tape *tape, const char *name, TapeValue stream, TapeValue branch);

/*
 * Flash attention of SEQUENCES sequences of SEQ_LEN queries: q (heads), k and v (kv_heads); PAIRS
 * of query and key a sequence and head. RING: each rank has a block of keys and values; they travel
 * round, each hidden behind the attention over the one before, and their gradients follow them
 * (arXiv:2310.01889; causal balance arXiv:2311.09431: every block costs the same).
 */
typedef struct
{
  double    sequences, seq_len, pairs;
  guint64   heads, kv_heads, qk_dim, v_dim;
  gint      sinks_module; /* -1: none */
  gboolean  packed;       /* sequences are packed of documents */
  double    padded;       /* KernelDesc.padded */
  gboolean  summed;       /* gradients of keys and values are summed in fp32 as they are made */
  CommGroup ring;         /* one member: none */
} AttentionSpec;

TapeValue tape_flash_attention (Tape *tape, TapeValue q, TapeValue k, TapeValue v,
                                AttentionSpec spec);

/*
 * A kernel of a chain: BATCH products of M x K and K x N, or (batch 0) a pass over bytes, or (with
 * exponentials) a scan. It moves what is said and nothing else.
 */
typedef struct
{
  const char *name;
  guint64     batch, m, n, k;
  double      read, write;
  double      exponentials, flops; /* of a scan */
  gboolean    reduces, copies;     /* of a pass */
  guint       launches;            /* 0: one */
} ChainKernel;

/*
 * Kernels forwards and backwards, one value of ELEMENTS (0: none, as of a loss beside the model's,
 * whose gradients begin there), and bytes: alive while it runs, kept for
 * the backward pass besides inputs and output, row statistics among those. LEFT: a bit for each
 * input that the backward pass does not want.
 */
typedef struct
{
  const ChainKernel *forward, *backward;
  guint              n_forward, n_backward;
  gint               module; /* owns the parameters; -1: none */
  double             elements;
  double             forward_extra, backward_extra, kept, statistics;
  guint              left;
  gboolean           keeps_output;
} ChainSpec;

TapeValue tape_chain (Tape *tape, const char *name, const TapeValue *in, guint n_in,
                      const ChainSpec *spec);

/* Scale, mask and softmax of materialised scores. */
TapeValue tape_softmax (Tape *tape, const char *name, TapeValue scores, gboolean eager);

/*
 * Router: TOKENS x EXPERTS logits to weights of the CHOSEN experts. SCORES: fp32 passes over the
 * logits, launches of both directions.
 */
typedef struct
{
  double tokens, experts, chosen;
  double score_reads, score_writes; /* fp32 passes over all scores */
  guint  forward_launches, backward_launches;
} RouteSpec;

TapeValue tape_route (Tape *tape, const char *name, TapeValue logits, RouteSpec spec);

/* The mean of the CELLS keys of each of EXPERTS, WIDTH wide; its gradient is added to theirs. */
TapeValue tape_key_means (Tape *tape, const char *name, double experts, double cells, double width);

/* ROWS by KEYS, WIDTH wide, and the scores of those of each of EXPERTS added up: no gradient. */
typedef struct
{
  guint64 rows, width, keys, experts;
} KeySpec;

TapeValue tape_key_scores (Tape *tape, const char *name, TapeValue in, KeySpec spec);

/*
 * How ROWS of TOKENS go to some of EXPERTS and back. Where maps of tokens and experts say which,
 * the host WAITS for how many rows they mark.
 */
typedef struct
{
  guint    kernels; /* ExpertKernels */
  gboolean waits;
  double   tokens, experts, rows;
} PermuteSpec;

/* Rows of IN, WIDTH wide each, copied to the experts that they visit. */
TapeValue tape_permute (Tape *tape, const char *name, TapeValue in, double width, PermuteSpec spec);

/* Weighted sum of the experts' outputs of each token. */
TapeValue tape_combine (Tape *tape, const char *name, TapeValue expert_rows, TapeValue weights,
                        double out_elements, PermuteSpec spec);

/*
 * Rows of a VOCAB x WIDTH table for COUNT ids. PART: the table is part of a larger one; ids that
 * are elsewhere give rows of zeros.
 */
TapeValue tape_embed (Tape *tape, const char *name, gint module, double count, double width,
                      double vocab, gboolean part);

/* Cross entropy of TOKENS rows of VOCAB logits; the value is the loss. */
TapeValue tape_loss (Tape *tape, TapeValue logits, double tokens, double vocab);

/*
 * The same where each rank of GROUP has VOCAB columns of the logits (Megatron-LM's vocab-parallel
 * cross entropy).
 */
TapeValue tape_parallel_loss (Tape *tape, TapeValue logits, double tokens, double vocab,
                              CommGroup group);

/* The same as PyTorch's loss_parallel (tape-torch-loss.c). */
TapeValue tape_torch_loss (Tape *tape, TapeValue logits, double tokens, double vocab,
                           CommGroup group);

/*
 * Forward kernels of that loss for ROWS rows, of which a pass reads PASS bytes. WIDE: bytes of the
 * softmax that is made in place, 0 where no kernel does.
 */
void tape_push_parallel_rows (Tape *tape, double rows, double pass, double wide, CommGroup group);

/*
 * The loss of the logits that the linear SPEC, without a bias, makes of IN; GROUP divides its
 * columns. The logits are made for `loss_chunk` rows at a time (tape-chunked-loss.c).
 */
TapeValue tape_chunked_loss (Tape *tape, const char *name, TapeValue in, LinearSpec spec,
                             CommGroup group);
