#include "model/step/privacy.h"

gboolean
training_is_private (const TrainingOptions *training)
{
  return training->private_method != PRIVATE_NONE;
}

gboolean
training_holds_gradients_back (const TrainingOptions *training)
{
  return training_is_private (training) && training->private_clipping == CLIPPING_FLAT;
}

gboolean
training_repeats_backward (const TrainingOptions *training)
{
  return training_holds_gradients_back (training) && training->private_method == PRIVATE_GHOST;
}

PrivateNoise
training_noise (const TrainingOptions *training)
{
  if (!training_is_private (training))
    return NOISE_NONE;
  if (training->private_noise != NOISE_AUTO)
    return (PrivateNoise) training->private_noise;
  return training->private_method == PRIVATE_FLASHDP ? NOISE_RANK : NOISE_OWNER;
}

/* ---- what contradicts itself ----------------------------------------------------------------- */

/* Why METHOD and CLIPPING do not go together; NULL: they do. */
static const char *
contradiction (const TrainingOptions *training, const char **hint)
{
  const gboolean flat = training->private_clipping == CLIPPING_FLAT;

  *hint = NULL;
  if (training->private_method == PRIVATE_FLASHDP && flat)
    {
      *hint = "take 'private_clipping: per-layer', or the method explicit, ghost or book-keeping";
      return "flashdp adds a sample's gradient to the sum as soon as the layer's norm is known: "
             "flat clipping would need the norms of all layers first";
    }
  if (training->private_method == PRIVATE_GHOST && !flat)
    {
      *hint = "take 'private_clipping: flat', or the method book-keeping, which is what remains";
      return "ghost clipping goes back a second time because it needs the norms of all layers "
             "first: with per-layer clipping each is known in the first pass";
    }
  return NULL;
}

/* What no method is modelled with, and how to do without; NULL: nothing. */
static const char *
beside_privacy (const ModelShape *shape, const TrainingOptions *training, const char **hint)
{
  const struct
  {
    gboolean    is_there;
    const char *what, *hint;
  } cases[] = {
    { shape->n_experts > 0, "experts: their products mix samples", "take a dense model" },
    { shape->layers != NULL, "blocks that mix tokens by states or differ",
      "take a model of equal attention blocks" },
    { shape->index_topk > 0, "an indexer, which is trained by a loss of its own",
      "take a model whose attention chooses no keys" },
    { shape->attention_sinks, "attention sinks", "take a model without them" },
    { shape->n_mtp > 0, "layers that predict further tokens", "leave 'mtp' of the model out" },
    { training->fp8_recipe != FP8_NONE, "fp8 products", "set 'fp8_recipe' to none" },
    { MAX (training->tiled_in_splits, training->tiled_out_splits) > 1, "tiled linears",
      "take 1 part each" },
    { training_slices (training) > 1, "trained slices", "take 'trained_slices' of 1" },
    { training->use_dora, "the magnitudes of DoRA", "set 'use_dora' to false" },
    { training->loss == LOSS_CHUNKED, "a chunked loss: its chunks mix samples",
      "take another 'loss'" },
    { training->lengths != NULL, "sequences that differ: samples are of one length",
      "leave 'lengths' out" },
    { training->measured_kernels != NULL, "times measured without it",
      "leave 'measured_kernels' out" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    if (cases[i].is_there)
      {
        *hint = cases[i].hint;
        return cases[i].what;
      }
  return NULL;
}

gboolean
privacy_check (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
               DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "private_method", "private_clipping", NULL);
  const char       *hint, *text;

  if (!training_is_private (training))
    return TRUE;
  text = contradiction (training, &hint);
  if (text != NULL)
    {
      diag_error (diags, mark, hint, "%s", text);
      return FALSE;
    }
  text = beside_privacy (shape, training, &hint);
  if (text == NULL)
    return TRUE;
  diag_error (diags, mark, hint, "private training is not modelled with %s", text);
  return FALSE;
}

gboolean
privacy_check_mesh (const TrainingOptions *training, const MeshOptions *mesh,
                    const OptionMarks *marks, DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "tp_rows", "tp", "cp", "pp", NULL);

  if (!training_is_private (training))
    return TRUE;
  if (mesh_tensor_ranks (mesh) > 1)
    diag_error (diags, mark, "set 'tp' and 'tp_rows' to 1",
                "private training is not modelled with tensor ranks: a sample's norm would be "
                "summed over them");
  else if (mesh->cp > 1)
    diag_error (diags, mark, "set 'cp' to 1",
                "context ranks have parts of each sample's gradient, which would have to be summed "
                "sample by sample before it is clipped");
  else if (mesh->pp > 1 && training_holds_gradients_back (training))
    diag_error (diags, mark, "set 'pp' to 1, or 'training.private_clipping' to per-layer",
                "flat clipping needs the norms of all layers, and pipeline stages do not exchange "
                "them");
  else
    return TRUE;
  return FALSE;
}
