#include "model/layer/flops.h"

#include "model/shape/family-private.h"
#include "model/step/workload.h"

/*
 * Forward and backward of scores and context, a token: 3 * 2 FLOPs per pair and width; and of
 * states.
 */
static double
attention_flops (const ModelShape *s, const TrainingOptions *training, FlopsConvention convention,
                 double seq_len)
{
  double products = 0, states = 0;

  for (gint64 i = 0; i < model_n_blocks (s); i++)
    {
      ModelLayer layer = model_layer (s, i);
      ModelShape own = model_layer_shape (s, &layer);

      states += flops_state (&own, layer.mixer);
      if (model_mixer_attends (layer.mixer))
        products += flops_attention_pairs (s, training, convention,
                                           layer.mixer == MODEL_MIXER_WINDOW, seq_len)
                    * (double) own.n_heads
                    * (double) (model_qk_dim (&own) + model_value_dim (&own));
    }
  return 6 * products / seq_len + 3 * states;
}

/* All parameters that a token uses, embeddings included. */
static double
active_parameters (const ModelShape *shape, gint64 seq_len)
{
  TrainingOptions      training = { .seq_len = seq_len, .micro_batch = 1, .grad_accum = 1 };
  g_autoptr (Workload) workload = workload_new (shape, &training);

  return (double) workload_n_active_parameters (workload);
}

static double
count_flops (const ModelShape *shape, const TrainingOptions *training, FlopsConvention convention,
             gint64 seq_len)
{
  switch (convention)
    {
    case FLOPS_PALM:
    case FLOPS_CAUSAL:
      return 6 * flops_matrix_parameters (shape)
             + attention_flops (shape, training, convention, (double) seq_len);
    case FLOPS_6N:
      return 6 * active_parameters (shape, seq_len);
    }
  g_assert_not_reached ();
}

double
flops_per_token (const ModelShape *shape, FlopsConvention convention, gint64 seq_len)
{
  TrainingOptions training = { .causal = TRUE };

  return count_flops (shape, &training, convention, seq_len);
}

/* Of the adapters. */
static double
trained_parameters (const ModelShape *shape, const TrainingOptions *training, gint64 seq_len)
{
  TrainingOptions      options = { .seq_len = seq_len,
                                   .micro_batch = 1,
                                   .grad_accum = 1,
                                   .peft = training->peft,
                                   .use_dora = training->use_dora,
                                   .lora_r = training->lora_r,
                                   .lora_target_modules = training->lora_target_modules };
  g_autoptr (Workload) workload = workload_new (shape, &options);

  return (double) workload_n_trainable_parameters (workload);
}

/* Of a slice of the model, those that other ranks train: a matrix or all. */
static double
others_parameters (const ModelShape *shape, const TrainingOptions *training, gint64 seq_len,
                   FlopsConvention convention)
{
  TrainingOptions      options = { .seq_len = seq_len,
                                   .micro_batch = 1,
                                   .grad_accum = 1,
                                   .trained_slices = training->trained_slices,
                                   .slice_heads = training->slice_heads };
  g_autoptr (Workload) workload = workload_new (shape, &options);
  double               sum = 0;

  for (guint l = 0; l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      {
        const TensorDesc *tensor = &workload_layer (workload, l)->tensors[t];

        if (tensor->frozen && (tensor->n_dims == 2 || convention == FLOPS_6N))
          sum += (double) tensor->elements;
      }
  return sum;
}

/* Parameters of experts that a token was routed to and did not pass: they had no room. */
static double
dropped_parameters (const ModelShape *shape, const MeshOptions *mesh)
{
  return (1 - mesh_rows_kept (mesh)) * flops_routed_parameters (shape);
}

double
flops_trained_per_token (const ModelShape *shape, const TrainingOptions *training,
                         const MeshOptions *mesh, FlopsConvention convention, gint64 seq_len)
{
  double all = count_flops (shape, training, convention, seq_len), frozen;
  double dropped = dropped_parameters (shape, mesh);

  if (training_slices (training) > 1)
    return all - 2 * others_parameters (shape, training, seq_len, convention);
  if (training->peft == PEFT_NONE)
    return all - 6 * dropped;
  frozen =
      convention == FLOPS_6N ? active_parameters (shape, seq_len) : flops_matrix_parameters (shape);
  return all - 2 * frozen - 4 * dropped + 6 * trained_parameters (shape, training, seq_len);
}

double
flops_forward_per_token (const ModelShape *shape, const TrainingOptions *training,
                         const MeshOptions *mesh, FlopsConvention convention, gint64 seq_len)
{
  double all =
      count_flops (shape, training, convention, seq_len) / 3 - 2 * dropped_parameters (shape, mesh);

  return training->peft == PEFT_NONE ? all
                                     : all + 2 * trained_parameters (shape, training, seq_len);
}
