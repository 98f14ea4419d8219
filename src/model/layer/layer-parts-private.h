/*
 * What the parts of a layer share: the layer being built, its modules and tensors, and how they are
 * divided over the tensor group. Internal to the layer.
 */
#pragma once

#include "model/layer/layer-build-private.h"
#include "model/tape/tape-ops-private.h"

typedef struct
{
  const ModelShape      *shape;
  const TrainingOptions *training;
  const MeshOptions     *mesh;
  const FamilyStyle     *style;
  LayerClass             layer;
  Tape                  *tape;
  GArray                *tensors, *modules;
  double                 tokens; /* of a micro-batch on this context rank */
  double    stream_tokens;       /* of them those whose residual stream is on this tensor rank */
  double    width; /* of the residual stream here: of the model, over the rows of a tensor group */
  gint64    tp, rows;
  gint64    slices; /* of what is divided by columns or rows: one is trained */
  gboolean  dropout;
  gboolean  parallel;       /* within a parallel block: its two halves enter and leave together */
  TapeValue gate;           /* of attention's output, where the model has one */
  TapeValue adapted, whole; /* what adapters gathered last, and all of it; 0: nothing */
  guint     joined;         /* target that joined the module adapted last to others, or 0, */
  TapeValue joined_in, joined_narrow; /* its input, and what their A made of it */
  gboolean  covering;                 /* within what runs concurrently with an exchange of tokens */
} LayerBuilder;

/*
 * How a weight is divided over the tensor group. Where this has rows as well, they divide the other
 * of the two, and the sums over them are within the linear: of its output (COLUMNS) or of the
 * gradient of its input (ROWS).
 */
typedef enum
{
  WHOLE,
  COLUMNS, /* outputs: its input has to be complete, see layer_enter */
  ROWS,    /* inputs: its output is a partial sum, see layer_leave */
} Division;

/* ---- tensor parallelism ---- */

CommGroup layer_tensor_group (const LayerBuilder *b);
CommGroup layer_rows_group (const LayerBuilder *b); /* of one member where there are no rows */

/* From the residual stream to the input of products that are divided by columns. */
TapeValue layer_enter (LayerBuilder *b, const char *name, TapeValue x);
/* From the partial sums of a product divided by rows to the residual stream. */
TapeValue layer_leave (LayerBuilder *b, const char *name, TapeValue x);

/* SPEC becomes that of the pieces of documents that this rank attends to, where there are some. */
void layer_attend_pieces (const LayerBuilder *b, gboolean windowed, AttentionSpec *spec);

/* Tokens of a sequence on this context rank. */
double layer_sequence (const LayerBuilder *b);

/* Whole heads; a key-value head is held by several ranks where there are fewer heads than ranks. */
gint64 layer_local_heads (const LayerBuilder *b);
gint64 layer_local_kv_heads (const LayerBuilder *b);

/* Of ROWS tokens that a tensor rank takes through a whole weight, those no other rank takes too. */
double layer_whole_share (const LayerBuilder *b, double rows);

/* ---- context parallelism (layer-context.c) ---- */

/* From a rank's tokens to what its attention takes, and back. */
void      layer_enter_context (LayerBuilder *b, TapeValue *qkv);
TapeValue layer_leave_context (LayerBuilder *b, TapeValue out);

/* The ring that keys and values travel round; of one member: none. */
CommGroup layer_context_ring (const LayerBuilder *b);

/*
 * Under a partition of attention (TrainingOptions.parts): from equal shares of tokens to those that
 * this rank attends to, and back; one value for each part, and all of them together.
 */
void      layer_remap_in (LayerBuilder *b, TapeValue *qkv);
TapeValue layer_remap_out (LayerBuilder *b, TapeValue out);
void      layer_split_parts (LayerBuilder *b, const char *name, TapeValue in, TapeValue *out);
TapeValue layer_join_parts (LayerBuilder *b, const TapeValue *parts);

/*
 * Pairs of the fullest context rank over the mean rank's. A ring cuts each document into chunks for
 * all ranks (Transformer Engine), gathered keys and values are those of chunks of the sequence.
 */
double layer_context_imbalance (const LayerBuilder *b, gboolean windowed);

/* ---- modules and tensors ---- */

gint layer_add_module (LayerBuilder *b, const char *name);

/* Dimensions that are zero are left out; those of this rank. */
TensorDesc *layer_add_tensor (LayerBuilder *b, const char *suffix, gint64 d0, gint64 d1, gint64 d2,
                              gboolean expert);
/*
 * How a K x N matrix of a block is kept: not packed, unless frozen weights are asked to be, or
 * their products are in FP8 alone.
 */
Packing layer_packing (const LayerBuilder *b, gint64 k, gint64 n, gboolean fp8);

/* The same of the table and of the head: as fp32, where they are so. */
Packing layer_wide_packing (const LayerBuilder *b, gint64 k, gint64 n);

TensorDesc *layer_add_packed (LayerBuilder *b, const char *suffix, Packing packing);

/*
 * OUT, which module NAME, a linear of SPEC whose weight is divided so, made of IN, and what its
 * adapter makes: s (IN A') B', two products, the scaling, the sum; DoRA scales both.
 */
TapeValue layer_add_adapter (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                             TapeValue out, Division division, LinearSpec spec);

/* The slice of a tensor that is trained stands before OTHERS, which holds all other slices. */
void layer_mark_others (LayerBuilder *b, TensorDesc *others);

/* One that every tensor rank has whole. */
void layer_add_replicated (LayerBuilder *b, const char *suffix, gint64 d0, gint64 d1);

/*
 * The weights of linear NAME, K x N here, and its bias. One module, or one for each tile; the first
 * one's number.
 */
gint layer_add_weights (LayerBuilder *b, const char *name, gint64 k, gint64 n, gboolean bias,
                        Division division, Packing packing);

/*
 * Whether a matrix of this layer is kept in fewer bits than its products take, which widen it
 * (TrainingOptions.weight_bytes).
 */
gboolean layer_widens_weights (const LayerBuilder *b);

/* A Linear module from K to N, those of the whole model; ROLE names its kernels. */
TapeValue layer_add_linear (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                            gint64 k, gint64 n, gboolean bias, Division division);
/* The same on TOKENS tokens. */
TapeValue layer_add_linear_on (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                               double tokens, gint64 k, gint64 n, gboolean bias, Division division);

TapeValue layer_add_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                          double rows, gint64 width);
/* One of kind NORM over WIDTH elements here, whose weights are DIVIDED over the tensor group. */
TapeValue layer_add_norm_of (LayerBuilder *b, const char *name, const char *role, TapeValue in,
                             double rows, gint64 width, ModelNorm norm, gboolean divided);
/* Of the residual stream, or of what branches made of it. */
TapeValue layer_add_stream_norm (LayerBuilder *b, const char *name, const char *role, TapeValue in);
/* The residual connection; the branch is dropped out first where the block has dropout. */
TapeValue layer_add_residual (LayerBuilder *b, const char *name, TapeValue stream,
                              TapeValue branch);
/* IN times a constant: an element-wise kernel each way. */
TapeValue layer_add_scale (LayerBuilder *b, const char *name, TapeValue in);
/* IN times the sigmoid of GATE. */
TapeValue layer_add_sigmoid_gate (LayerBuilder *b, const char *role, TapeValue in, TapeValue gate);
/* Views of IN, whose gradients are concatenated on the way back. */
void layer_split (LayerBuilder *b, const char *name, TapeValue in, const double *elements, guint n,
                  TapeValue *out);

/* ---- vocabulary, and what predicts further tokens (layer-vocabulary.c) ---- */

/*
 * Rows of the vocabulary on this rank. Megatron-LM pads it so that each tensor rank gets a multiple
 * of 128; undivided it is as it is.
 */
gint64 layer_local_vocab (const LayerBuilder *b);

/* Rows as wide as WIDTH for all tokens: on each tensor rank those that its part of a table has. */
TapeValue layer_look_up (LayerBuilder *b, gint module, gint64 width);

/*
 * The input of layer NAME: residual streams of N predictions one behind the other, the next token's
 * first.
 */
void layer_begin_streams (LayerBuilder *b, const char *name, guint n, TapeValue *streams);

/* A layer of multi-token prediction around BLOCK. */
TapeValue layer_add_mtp (LayerBuilder *b, TapeValue (*block) (LayerBuilder *b, TapeValue x));

/* ---- sublayers (layer-attention.c, layer-feed-forward.c): from residual stream to branch ---- */

TapeValue layer_add_mixer (LayerBuilder *b, TapeValue x); /* whatever mixes tokens in the block */
TapeValue layer_add_attention (LayerBuilder *b, TapeValue x);
/*
 * What chooses the keys of Q, of all heads here: made of X, of the residual stream, and of the
 * LATENT that queries are made of. It is trained by a loss of its own (layer-indexer.c).
 */
void      layer_add_indexer (LayerBuilder *b, TapeValue x, TapeValue latent, TapeValue q);
TapeValue layer_add_feed_forward (LayerBuilder *b, TapeValue x);
/* An MLP of d_ff, whatever the layer is. */
TapeValue layer_add_mlp (LayerBuilder *b, TapeValue x);
