#include "posttrain/refit.h"

#include <math.h>

#define BYTES_A_PARAMETER 2
#define BUFFER_BYTES      1e9 /* that tensors are packed into on their way to other GPUs */

/* Parameters that ranks hold in the same way. */
typedef struct
{
  double bytes, tensors;
} Holding;

typedef struct
{
  Holding dense, experts;
} ModelHoldings;

/* Of the whole model: a workload of one rank that holds all of it. */
static ModelHoldings
holdings_of (const ModelShape *shape)
{
  TrainingOptions      training = { 0 };
  ModelHoldings        self = { 0 };
  g_autoptr (Workload) all = NULL;

  option_table_defaults (training_options, &training);
  training.seq_len = training.micro_batch = training.grad_accum = 1;
  all = workload_new (shape, &training);
  for (guint i = 0; i < workload_n_layers (all); i++)
    for (guint t = 0; t < workload_layer (all, i)->n_tensors; t++)
      {
        const TensorDesc *tensor = &workload_layer (all, i)->tensors[t];
        Holding          *holding = tensor->expert ? &self.experts : &self.dense;

        holding->bytes += BYTES_A_PARAMETER * (double) tensor->elements;
        holding->tensors += tensor->stacked ? (double) tensor->shape[0] : 1;
      }
  option_table_clear (training_options, &training);
  return self;
}

/* N equal collectives of BYTES in all over so many RANKS, STRIDE apart. */
static double
collectives_seconds (const Cluster *cluster, const CollectiveOptions *library, CollectiveKind kind,
                     guint ranks, guint stride, double bytes, double n)
{
  g_autofree guint32        *group = g_new (guint32, ranks);
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  if (ranks <= 1 || bytes <= 0)
    return 0;
  for (guint i = 0; i < ranks; i++)
    group[i] = i * stride;
  plan = collective_plan_new (cluster, kind, group, ranks, library);
  collective_plan_cost (plan, bytes / n, &cost);
  return n * cost.time;
}

/* Experts' tensor ranks gather as the others do. */
static double
gather_seconds (const ResolvedScenario *training, const CollectiveOptions *library,
                const ModelHoldings *holdings)
{
  const Cluster     *cluster = training->cluster;
  const MeshOptions *mesh = workload_mesh (training->workload);
  const guint        tp = (guint) mesh_tensor_ranks (mesh), pp = (guint) mesh->pp;
  const guint        etp = (guint) mesh->etp, ep = (guint) mesh->ep;
  const guint        stage = cluster_n_gpus (cluster) / pp;
  const Holding      dense = holdings->dense, experts = holdings->experts;
  double             seconds = 0;

  seconds += collectives_seconds (cluster, library, COLLECTIVE_BROADCAST, pp, stage,
                                  dense.bytes / tp, dense.tensors);
  seconds += collectives_seconds (cluster, library, COLLECTIVE_ALL_GATHER, tp, 1, dense.bytes,
                                  dense.tensors);
  if (experts.tensors == 0)
    return seconds;
  seconds += collectives_seconds (cluster, library, COLLECTIVE_BROADCAST, pp, stage,
                                  experts.bytes / (etp * ep), experts.tensors / ep);
  seconds += collectives_seconds (cluster, library, COLLECTIVE_ALL_GATHER, etp, 1,
                                  experts.bytes / ep, experts.tensors / ep);
  return seconds
         + collectives_seconds (cluster, library, COLLECTIVE_ALL_GATHER, ep, etp, experts.bytes,
                                experts.tensors / ep);
}

/* From a rank of training to all others, those that generate among them. */
static double
broadcast_seconds (const Cluster *whole, const CollectiveOptions *library,
                   const ModelHoldings *holdings)
{
  const double bytes = holdings->dense.bytes + holdings->experts.bytes;

  return collectives_seconds (whole, library, COLLECTIVE_BROADCAST, cluster_n_gpus (whole), 1,
                              bytes, ceil (bytes / BUFFER_BYTES));
}

/* Each generating rank's part, from another node where there is one. */
static double
reshard_seconds (const Cluster *whole, const CollectiveOptions *library, double bytes)
{
  g_autoptr (CollectivePlan) plan =
      collective_plan_new_message (whole, cluster_n_gpus (whole) - 1, 0, library);
  CollectiveCost cost;

  collective_plan_cost (plan, bytes, &cost);
  return cost.time;
}

RefitTime
refit_time (const RlConfig *config, const ResolvedScenario *training, Generator *generator,
            const Cluster *whole, gboolean apart)
{
  const ModelHoldings     holdings = holdings_of (workload_shape (training->workload));
  const CollectiveOptions library = collective_config_options (&training->scenario->collective);
  RefitTime               time = { .n_tensors = holdings.dense.tensors + holdings.experts.tensors,
                                   .bytes = holdings.dense.bytes + holdings.experts.bytes };

  time.host_s = time.n_tensors * config->refit_tensor_s;
  if (config->refit == REFIT_RESHARD)
    {
      time.rank_bytes = generator_weight_bytes (generator);
      time.hand_over_s = reshard_seconds (whole, &library, time.rank_bytes);
    }
  else
    {
      time.rank_bytes = time.bytes;
      time.gather_s = gather_seconds (training, &library, &holdings);
      if (apart)
        time.hand_over_s = broadcast_seconds (whole, &library, &holdings);
    }
  time.seconds = MAX (time.host_s + time.gather_s, time.hand_over_s);
  if (!apart)
    time.seconds = time.host_s + time.gather_s + time.hand_over_s;
  return time;
}
