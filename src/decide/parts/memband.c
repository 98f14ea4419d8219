#include "decide/parts/memband.h"

#include <math.h>

#define STATES   8.0 /* parameters, gradients, and fp32 parameters and two moments, in Q phi */
#define EQUAL    1e-9
#define FULL_ACT 16.0 /* of a block's tensors, in H elements; and 2 H bytes of masks */

double
memband_parameters (const MembandModel *model)
{
  if (model->n_parameters > 0)
    return model->n_parameters;
  return 12 * model->n_layers * model->d_model * model->d_model;
}

static double
parameter_bytes (const MembandModel *model)
{
  return memband_parameters (model) * model->element_bytes;
}

double
memband_forward_flops (const MembandModel *model)
{
  return 2 * memband_parameters (model) + 4 * model->n_layers * model->d_model * model->seq_len;
}

double
memband_free_bytes (const MembandModel *model, const MembandCluster *cluster, MembandStage stage)
{
  const double bytes = parameter_bytes (model);

  if (stage == MEMBAND_STAGE_3)
    return cluster->memory_bytes - STATES * bytes / cluster->n_ranks;
  return cluster->memory_bytes - bytes - (STATES - 1) * bytes / cluster->n_ranks;
}

double
memband_activation_bytes (const MembandModel *model, double gamma)
{
  const double inputs = model->n_layers * model->d_model * model->element_bytes;

  return (1 - gamma) * inputs + gamma * (FULL_ACT * inputs + 2 * model->n_layers * model->d_model);
}

/* One pass over the parameters. */
static double
transfer_time (const MembandModel *model, const MembandCluster *cluster)
{
  return parameter_bytes (model) / cluster->bytes_per_s
         + model->n_layers * cluster->n_ranks * cluster->latency_s;
}

MembandPoint
memband_evaluate (const MembandModel *model, const MembandCluster *cluster, MembandStage stage,
                  double gamma, double tokens)
{
  MembandPoint self = { .stage = stage, .gamma = gamma, .tokens = tokens };
  const double flops = memband_forward_flops (model);
  double       gathered;

  self.forward_s = flops * tokens / (cluster->efficiency * cluster->peak_flops);
  self.backward_s = (3 - gamma) * self.forward_s;
  self.transfer_s = transfer_time (model, cluster);
  gathered = stage == MEMBAND_STAGE_3 ? self.transfer_s : 0;
  self.step_s = fmax (self.forward_s, gathered)
                + fmax (self.backward_s, (cluster->passes - 1) * self.transfer_s);
  self.tokens_per_s = tokens / self.step_s;
  self.mfu = 3 * flops * self.tokens_per_s / cluster->peak_flops;
  self.hfu = (4 - gamma) * flops * self.tokens_per_s / cluster->peak_flops;
  return self;
}

gboolean
memband_search (const MembandModel *model, const MembandCluster *cluster, double tokens,
                MembandPoint *best)
{
  static const MembandStage stages[] = { MEMBAND_STAGE_3, MEMBAND_STAGE_2 };
  gboolean                  found = FALSE;

  for (guint s = 0; s < G_N_ELEMENTS (stages); s++)
    {
      const double room = memband_free_bytes (model, cluster, stages[s]);

      for (guint step = 0; step <= MEMBAND_STEPS; step++)
        {
          const double gamma = (double) step / MEMBAND_STEPS;
          const double most = room / memband_activation_bytes (model, gamma);
          const double taken = tokens > 0 ? tokens : floor (most / model->seq_len) * model->seq_len;
          MembandPoint point;

          if (taken < model->seq_len || taken > most)
            continue;
          point = memband_evaluate (model, cluster, stages[s], gamma, taken);
          if (!found || point.mfu > best->mfu * (1 + EQUAL))
            *best = point;
          found = TRUE;
        }
    }
  return found;
}

MembandBounds
memband_bounds (const MembandModel *model, const MembandCluster *cluster)
{
  const double  Q = model->element_bytes, width = model->d_model;
  const double  context = model->seq_len / width;
  MembandBounds self = { .free_bytes = memband_free_bytes (model, cluster, MEMBAND_STAGE_3) };
  const double  figure = self.free_bytes * cluster->bytes_per_s / (model->n_layers * width * Q * Q);

  self.longest = self.free_bytes / memband_activation_bytes (model, 0);
  self.tokens_per_s = figure / (cluster->passes * memband_parameters (model));
  self.mfu = 2 / cluster->passes * (3 + context / 2) * figure / cluster->peak_flops;
  self.hfu = 2 / cluster->passes * (4 + 2 * context / 3) * figure / cluster->peak_flops;
  self.compute_mfu = 0.75 * cluster->efficiency;
  return self;
}

double
memband_overlapped_step (const MembandModel *model, const MembandCluster *cluster, double compute_s)
{
  return fmax (compute_s, cluster->passes * transfer_time (model, cluster));
}
