/* What an instance holds: weights, caches, activations. */
#include "model/cache/cache.h"
#include "serve/generator-private.h"

#include <math.h>

/* Of a tensor as it is served. */
static double
tensor_bytes (const Generator *self, const TensorDesc *tensor)
{
  return (double) tensor->elements
         * (tensor->narrow ? generation_weight_bytes (&self->options) : 2);
}

double
generator_weight_bytes (Generator *self)
{
  double most = 0;

  for (gint64 s = 0; s < self->options.pp; s++)
    {
      double sum = 0;

      for (guint i = 0; i < workload_n_layers (self->stages[s]); i++)
        {
          const LayerDesc *layer = workload_layer (self->stages[s], i);

          for (guint t = 0; t < layer->n_tensors; t++)
            sum += tensor_bytes (self, &layer->tensors[t]);
        }
      most = MAX (most, sum);
    }
  return most;
}

/* A model's ends are with attention. */
double
generator_side_weight_bytes (const Generator *self, GenerationSide side)
{
  double sum = 0;

  g_assert (self->options.pp == 1);
  for (guint i = 0; i < workload_n_layers (self->stages[0]); i++)
    {
      const LayerDesc *layer = workload_layer (self->stages[0], i);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (layer->tensors[t].expert == (side == GENERATION_EXPERT_SIDE))
          sum += tensor_bytes (self, &layer->tensors[t]);
    }
  return sum;
}

double
generator_cache_bytes (Generator *self, double length)
{
  double most = 0;

  for (gint64 s = 0; s < self->options.pp; s++)
    {
      double sum = 0;

      for (guint i = 0; i < workload_n_layers (self->stages[s]); i++)
        if (workload_layer (self->stages[s], i)->kind == LAYER_BLOCK)
          {
            CacheDesc cache = cache_of_block (&self->shape, workload_block (self->stages[s], i),
                                              self->options.tp, generator_cache_dtype (self));

            cache.token_bytes += (double) cache.heads * generator_cache_scales (self);
            sum += cache_bytes (&cache, length);
          }
      most = MAX (most, sum);
    }
  return most;
}

/* The largest layer's working memory and output: each frees its own. */
static double
activation_bytes (const Generator *self, double tokens)
{
  Workload **stages = generator_new_stages (self, PASS_PREFILL, 1, (guint64) ceil (tokens));
  double     most = 0;

  for (gint64 s = 0; s < self->options.pp; s++)
    for (guint i = 0; i < workload_n_layers (stages[s]); i++)
      {
        const LayerDesc *layer = workload_layer (stages[s], i);

        most = MAX (most, (double) (layer->inference_bytes + layer->output_bytes));
      }
  generator_free_stages (self, stages);
  return most;
}

/* Of a GPU, beside weights of so many BYTES. */
static double
room_beside (const Generator *self, double bytes, double tokens)
{
  return self->gpu.hbm_bytes.value * self->options.memory_utilization
         - self->gpu.runtime_bytes.value - bytes - activation_bytes (self, tokens);
}

double
generator_cache_room (Generator *self, double tokens)
{
  return room_beside (self, generator_weight_bytes (self), tokens);
}

double
generator_side_room (Generator *self, GenerationSide side, double tokens)
{
  return room_beside (self, generator_side_weight_bytes (self, side), tokens);
}
