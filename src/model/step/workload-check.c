/* What no workload is made of: too long, too much, or adapters of modules that are not there. */
#include "model/optimizer/optimizer.h"
#include "model/optimizer/shard-block.h"
#include "model/shape/block-parts.h"
#include "model/shape/peft.h"
#include "model/step/privacy.h"

#include <fnmatch.h>

#define MAX_ACTIVATION_BYTES 0x1p60 /* leaves room for all that a strategy adds, within 64 bits */
#define MAX_LOSS_CHUNKS      4096

static gboolean
check_positions (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
                 DiagList *diags)
{
  if (shape->position != MODEL_POSITION_LEARNED && shape->longest > 0
      && training->seq_len > shape->longest)
    diag_warning (diags, option_mark (marks, "seq_len", NULL),
                  "rotary embeddings are scaled for more: the speed is the same, the model is not",
                  "sequences of %" G_GINT64_FORMAT " tokens, but '%s' was made for %" //
                  G_GINT64_FORMAT,
                  training->seq_len, shape->name, shape->longest);
  if (shape->position != MODEL_POSITION_LEARNED || shape->max_positions == 0
      || training->seq_len <= shape->max_positions)
    return TRUE;
  diag_error (
      diags, option_mark (marks, "seq_len", NULL), "the model has a learned row for each position",
      "sequences of %" G_GINT64_FORMAT " tokens, but '%s' has %" G_GINT64_FORMAT " positions",
      training->seq_len, shape->name, shape->max_positions);
  return FALSE;
}

/* What a rule of 'shard_block' is for. */
typedef struct
{
  guint dims;  /* the most of a tensor that it names; 0: it names none */
  guint taken; /* the most of one that it takes: no earlier rule names that */
} RuleReach;

/* Of each of the rules of PATTERNS, one after another; the caller's. */
static RuleReach *
reach_of_rules (char *const *patterns, const Workload *workload)
{
  RuleReach *reach = g_new0 (RuleReach, g_strv_length ((GStrv) patterns) + 1);

  for (guint l = 0; l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      {
        const TensorDesc *tensor = &workload_layer (workload, l)->tensors[t];
        gboolean          taken = FALSE;

        for (guint i = 0; patterns[i] != NULL; i++)
          {
            if (fnmatch (patterns[i], tensor->name, 0) != 0)
              continue;
            reach[i].dims = MAX (reach[i].dims, tensor->n_dims);
            if (!taken)
              reach[i].taken = MAX (reach[i].taken, tensor->n_dims);
            taken = TRUE;
          }
      }
  return reach;
}

static gboolean
check_block_names (const Workload *workload, const char *spec, const SourceMark *mark,
                   DiagList *diags)
{
  g_auto (GStrv)        patterns = shard_block_patterns (spec);
  g_autofree RuleReach *reach = reach_of_rules (patterns, workload);
  gboolean              ok = TRUE;

  for (guint i = 0; patterns[i] != NULL; i++)
    {
      if (reach[i].dims == 0)
        diag_error (diags, mark, WORKLOAD_NAMES_HINT,
                    "'shard_block' has '%s', which matches no parameter of '%s'", patterns[i],
                    workload_shape (workload)->name);
      else if (reach[i].dims == 1)
        diag_warning (diags, mark, "leave it out, or name matrices",
                      "'shard_block' has '%s', which matches vectors alone: shards cut these "
                      "anywhere",
                      patterns[i]);
      else if (reach[i].taken < 2)
        diag_warning (diags, mark, "put it before those, or leave it out",
                      "'shard_block' has '%s', but earlier rules take all matrices that it matches",
                      patterns[i]);
      ok = ok && reach[i].dims > 0;
    }
  return ok;
}

gboolean
workload_check_block_sizes (const Workload *workload, const char *spec, const SourceMark *mark,
                            DiagList *diags)
{
  for (guint l = 0; spec != NULL && l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      if (!shard_block_check_tensor (spec, &workload_layer (workload, l)->tensors[t], mark, diags))
        return FALSE;
  return TRUE;
}

gboolean
workload_check_blocks (const Workload *workload, const char *spec, const SourceMark *mark,
                       DiagList *diags)
{
  return spec == NULL
         || (shard_block_check (spec, mark, diags)
             && check_block_names (workload, spec, mark, diags)
             && workload_check_block_sizes (workload, spec, mark, diags));
}

/* A factor of a matrix has no higher rank than the matrix. */
static gboolean
check_adapters (const Workload *workload, const OptionMarks *marks, DiagList *diags)
{
  const TrainingOptions *training = workload_training (workload);
  guint64                most = 0, in = 0;

  if (training->peft == PEFT_NONE)
    return TRUE;
  for (guint l = 0; l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      {
        const TensorDesc *tensor = &workload_layer (workload, l)->tensors[t];

        if (fnmatch ("*.lora_A*", tensor->name, 0) == 0)
          in = tensor->shape[tensor->n_dims - 1];
        else if (fnmatch ("*.lora_B*", tensor->name, 0) == 0)
          most = MAX (most, MIN (in, tensor->shape[tensor->n_dims - 2]));
      }
  if ((guint64) training->lora_r <= most)
    return TRUE;
  diag_error (diags, option_mark (marks, "lora_r", NULL), "ranks of 4 to 256 are usual",
              "'lora_r' of %" G_GINT64_FORMAT " is above the rank of every matrix that it adapts, "
              "%" G_GUINT64_FORMAT " at most",
              training->lora_r, most);
  return FALSE;
}

/* Of the workload that is made of both. */
static gboolean
check_whole (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
             DiagList *diags)
{
  g_autoptr (Workload) workload = workload_new (shape, training);
  double               saved = 0, transient = 0;
  double               bytes;
  gboolean             ok;

  /* In doubles: an upper bound of what is held at once. */
  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      saved += (double) layer->saved_bytes;
      transient = MAX (transient, (double) layer->working_bytes + (double) layer->backward_bytes);
    }
  bytes = saved + transient;
  if (bytes > MAX_ACTIVATION_BYTES)
    {
      diag_error (diags, option_mark (marks, "lengths", "micro_batch", "seq_len", NULL),
                  "take shorter sequences, or fewer a micro-step",
                  "%" G_GUINT64_FORMAT
                  " tokens in a micro-step need more than 2^60 bytes of activations",
                  training_tokens (training));
      return FALSE;
    }
  ok = workload_check_blocks (workload, training->shard_block,
                              option_mark (marks, "shard_block", NULL), diags);
  ok = check_adapters (workload, marks, diags) && ok;
  return optimizer_check (workload, marks, diags) && ok;
}

/* Blocks are counted from those that there are. */
static gboolean
check_checkpoints (const ModelShape *shape, const TrainingOptions *training,
                   const OptionMarks *marks, DiagList *diags)
{
  const gint64 period = training->checkpointing - CHECKPOINT_LAYERS;
  guint        before = diag_list_n_errors (diags);

  if (period > shape->n_layers)
    diag_error (diags, option_mark (marks, "activation_checkpointing", NULL),
                "at most as many as there are, or none",
                "every %" G_GINT64_FORMAT "th block is none of %" G_GINT64_FORMAT " blocks", period,
                shape->n_layers);
  if (training->checkpointing == CHECKPOINT_FULL && training->recompute_layers > shape->n_layers)
    diag_error (diags, option_mark (marks, "recompute_layers", NULL), "0 for all of them",
                "'recompute_layers' of %" G_GINT64_FORMAT ", but the model has %" G_GINT64_FORMAT
                " blocks",
                training->recompute_layers, shape->n_layers);
  return diag_list_n_errors (diags) == before;
}

static gboolean
check_layers_in_16bit (const ModelShape *shape, const TrainingOptions *training,
                       const OptionMarks *marks, DiagList *diags)
{
  const gint64 blocks = training->num_layers_at_start_in_bf16 + training->num_layers_at_end_in_bf16;

  if (blocks <= shape->n_layers)
    return TRUE;
  diag_error (diags,
              option_mark (marks, "num_layers_at_end_in_bf16", "num_layers_at_start_in_bf16", NULL),
              "take fewer, or set 'fp8_recipe' to none",
              "%" G_GINT64_FORMAT " blocks in 16 bits, but the model has %" G_GINT64_FORMAT, blocks,
              shape->n_layers);
  return FALSE;
}

/*
 * TiledLinear takes parts that do not divide, but no more of them than features; it is no linear
 * that LoRA adapts, or a recipe casts.
 */
static gboolean
check_tiles (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
             DiagList *diags)
{
  gint64            most = MAX (training->tiled_in_splits, training->tiled_out_splits);
  const SourceMark *mark = option_mark (marks, "tiled_out_splits", "tiled_in_splits", NULL);
  const gint64      keys =
      shape->kv_lora_rank > 0 ? shape->d_model : shape->n_kv_heads * shape->head_dim;

  if (most > 1 && training->peft != PEFT_NONE)
    diag_error (diags, mark, "take 1 part each", "adapters of tiled linears are not modelled");
  else if (most > 1 && training->fp8_recipe != FP8_NONE)
    diag_error (diags, mark, "take 1 part each, or set 'fp8_recipe' to none",
                "fp8 products of tiled linears are not modelled");
  else if (most > 1 && shape->d_model / most < 64)
    diag_error (diags, mark, "take fewer parts",
                "%" G_GINT64_FORMAT " parts of a width of %" G_GINT64_FORMAT
                " have less than 64 features",
                most, shape->d_model);
  else if (training->tiled_out_splits > keys)
    diag_error (diags, mark, "TiledLinear takes no more parts than there are features",
                "%" G_GINT64_FORMAT " parts of keys and values of %" G_GINT64_FORMAT " features",
                training->tiled_out_splits, keys);
  else
    return TRUE;
  return FALSE;
}

/* What a slice is not modelled with; NULL: nothing. */
static const char *
beside_slices (const ModelShape *shape, const TrainingOptions *training)
{
  if (shape->n_experts > 0)
    return "slices of experts are not modelled";
  if (shape->layers != NULL)
    return "slices of blocks that differ are not modelled";
  if (training->slice_heads && shape->kv_lora_rank > 0)
    return "slices of latent attention are not modelled";
  if (training->peft != PEFT_NONE)
    return "slices of adapted modules are not modelled";
  if (training->fp8_recipe != FP8_NONE)
    return "fp8 products of slices are not modelled";
  if (MAX (training->tiled_in_splits, training->tiled_out_splits) > 1)
    return "slices of tiled linears are not modelled";
  return NULL;
}

/* Slices are equal: whole columns, whole heads. */
static gboolean
check_slices (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
              DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "trained_slices", "slice_heads", NULL);
  gint64            q = training_slices (training);
  const char       *beside = beside_slices (shape, training);

  if (q <= 1)
    return TRUE;
  if (beside != NULL)
    diag_error (diags, mark, "take 'trained_slices' of 1", "%s", beside);
  else if (shape->d_ff % q != 0)
    diag_error (diags, mark, "slices are whole columns, all of one width",
                "'trained_slices' of %" G_GINT64_FORMAT
                " does not divide 'd_ff' of %" G_GINT64_FORMAT,
                q, shape->d_ff);
  else if (training->slice_heads && (shape->n_heads % q != 0 || shape->n_kv_heads % q != 0))
    diag_error (diags, mark, "slices are whole heads of queries, keys and values",
                "'trained_slices' of %" G_GINT64_FORMAT
                " does not divide the heads, %" G_GINT64_FORMAT " of queries and %" G_GINT64_FORMAT
                " of keys and values",
                q, shape->n_heads, shape->n_kv_heads);
  else
    return TRUE;
  return FALSE;
}

/* Each chunk is kernels of its own. */
static gboolean
check_loss (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  guint64 tokens = training_tokens (training);

  if (training->loss == LOSS_CHUNKED && (guint64) training->loss_chunk > tokens)
    diag_warning (diags, option_mark (marks, "loss_chunk", "loss", NULL), "take smaller chunks",
                  "'loss_chunk' of %" G_GINT64_FORMAT " is more than the %" G_GUINT64_FORMAT
                  " tokens of a micro-batch: nothing is cut",
                  training->loss_chunk, tokens);
  if (training->loss != LOSS_CHUNKED || tokens <= MAX_LOSS_CHUNKS * (guint64) training->loss_chunk)
    return TRUE;
  diag_error (diags, option_mark (marks, "loss_chunk", "loss", NULL), "take larger chunks",
              "'loss_chunk' of %" G_GINT64_FORMAT " cuts the %" G_GUINT64_FORMAT
              " tokens of a micro-step into more than %d chunks",
              training->loss_chunk, tokens, MAX_LOSS_CHUNKS);
  return FALSE;
}

/* A graph has one shape, and a host that waits for each kernel has none. */
static gboolean
check_graphs (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "cuda_graphs", NULL);

  if (training->cuda_graphs == GRAPHS_NONE)
    return TRUE;
  if (training->launch_blocking)
    diag_error (diags, mark, "leave one of them away",
                "'launch_blocking' waits for each kernel: 'cuda_graphs' does not go with it");
  else if (training->lengths != NULL)
    diag_error (diags, mark, "leave one of them away",
                "sequences of 'lengths' differ, and a CUDA graph has one shape");
  else
    return TRUE;
  return FALSE;
}

/* Kernels that make all scores take masks of any form, and cost the same. */
static gboolean
check_documents (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "document_length", NULL);

  if (training->document_length == 0)
    return TRUE;
  if (training->lengths != NULL)
    diag_error (diags, mark, "leave one of them away",
                "'lengths' says where each sequence ends: 'document_length' does not go with it");
  else if (training_flash_version (training) == FLASH_NONE)
    diag_error (diags, mark, "set 'attention' to flash2, or leave it away",
                "'document_length' has no effect on attention that computes all pairs");
  else
    return TRUE;
  return FALSE;
}

/* What chooses keys is a part of a fused kernel. */
static gboolean
check_sparse (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
              DiagList *diags)
{
  if (shape->index_topk == 0 || training_flash_version (training) != FLASH_NONE)
    return TRUE;
  diag_error (diags, option_mark (marks, "attention", NULL), "take attention: flash",
              "attention to chosen keys is modelled as a fused kernel only");
  return FALSE;
}

gboolean
workload_check (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
                DiagList *diags)
{
  gboolean ok = check_positions (shape, training, marks, diags);

  ok = check_checkpoints (shape, training, marks, diags) && ok;
  ok = block_parts_check (shape, training, marks, diags) && ok;
  ok = check_documents (training, marks, diags) && ok;
  ok = check_loss (training, marks, diags) && ok;
  ok = check_graphs (training, marks, diags) && ok;
  ok = check_sparse (shape, training, marks, diags) && ok;
  ok = check_slices (shape, training, marks, diags) && ok;
  ok = check_tiles (shape, training, marks, diags) && ok;
  ok = check_layers_in_16bit (shape, training, marks, diags) && ok;
  ok = privacy_check (shape, training, marks, diags) && ok;
  ok = peft_check (shape, training, marks, diags) && ok;
  return ok && check_whole (shape, training, marks, diags);
}
