#include "serve/exchange.h"

#include <math.h>

/*
 * Of M2N, s [estimates]: the CPU sees that the stream has come so far, and lets it go on (a poll
 * and a write over PCIe, each way); a work request for a card; a write with its completion from one
 * card's memory to another's over a switch; the flush that makes it visible to the GPU.
 */
#define STREAM_SIGNAL 2e-6
#define POST          0.2e-6
#define REMOTE_WRITE  3e-6
#define FLUSH         1e-6

const char *const exchange_transport_names[EXCHANGE_N_TRANSPORTS + 1] = { "nccl", "m2n", NULL };

struct _ExchangeEnd
{
  const Cluster *cluster;
  Cluster *joined; /* two nodes like the pool's only one; NULL: it has more, or sends inside */
  CollectivePlan *message;
  double          side_by_side; /* operations of a launch */
  double          share;        /* GPUs of a node that have a card together, at least one */
};

/* Two nodes like the only one of CLUSTER, whose cards are joined. */
static Cluster *
two_of (const Cluster *cluster)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ClusterOptions       options = { 0 };
  Cluster             *joined;

  option_table_defaults (cluster_options, &options);
  options.nodes = 2;
  options.gpus_per_node = cluster_gpus_of_node (cluster, 0);
  options.node = g_strdup (cluster_node_profile (cluster, 0)->id);
  options.gpu = g_strdup (cluster_gpu_profile (cluster, 0)->id);
  options.intra = g_strdup (cluster_intra_profile (cluster, 0)->id);
  options.nic = g_strdup (cluster_nic_profile (cluster, 0)->id);
  options.nics = cluster_nics_of_node (cluster, 0);
  joined = cluster_new (&options, cluster_profiles (cluster), NULL, diags);
  option_table_clear (cluster_options, &options);
  return joined;
}

ExchangeEnd *
exchange_end_new (const Cluster *cluster, gboolean leaves, const CollectiveOptions *library)
{
  ExchangeEnd *self = g_new0 (ExchangeEnd, 1);

  if (leaves && cluster_n_nodes (cluster) == 1)
    cluster = self->joined = two_of (cluster);
  g_assert (cluster != NULL && cluster_n_gpus (cluster) > 1);
  self->cluster = cluster;
  self->message = collective_plan_new_message (cluster, 0, cluster_n_gpus (cluster) - 1, library);
  self->side_by_side = cluster_library (cluster, library->library)->p2p_batch.value;
  self->share = MAX (
      cluster_gpus_of_node (cluster, 0) / (double) MAX (cluster_nics_of_node (cluster, 0), 1), 1);
  return self;
}

void
exchange_end_free (ExchangeEnd *self)
{
  if (self == NULL)
    return;
  collective_plan_free (self->message);
  g_clear_pointer (&self->joined, cluster_free);
  g_free (self);
}

/* Seconds of a byte on RESOURCE, all GPUs of a node at once: its memory and SMs are no link. */
static double
seconds_on (const ExchangeEnd *self, const ClusterResource *resource)
{
  switch (resource->kind)
    {
    case RESOURCE_SM:
    case RESOURCE_HBM:
      return 0;
    case RESOURCE_NIC_TX:
    case RESOURCE_NIC_RX:
      return self->share / resource->capacity;
    default:
      return 1 / resource->capacity;
    }
}

/* What links alone take for BYTES of each GPU. */
static double
link_seconds (const ExchangeEnd *self, const CollectiveCost *cost, double bytes)
{
  double longest = 0;

  for (guint i = 0; i < cost->n_loads; i++)
    longest =
        MAX (longest,
             bytes * cost->loads[i].service
                 * seconds_on (self, cluster_resource (self->cluster, cost->loads[i].resource)));
  return longest;
}

static double
grouped_seconds (ExchangeEnd *self, double peers, double bytes)
{
  const double   launches = ceil (peers / self->side_by_side);
  const double   at_once = peers / launches;
  CollectiveCost one;

  collective_plan_cost (self->message, bytes, &one);
  return launches
         * (one.latency
            + MAX (one.time - one.latency,
                   one.service_scale * link_seconds (self, &one, at_once * bytes)));
}

static double
written_seconds (ExchangeEnd *self, double peers, double bytes)
{
  CollectiveCost one;

  collective_plan_cost (self->message, bytes, &one);
  return 2 * STREAM_SIGNAL + peers * POST + REMOTE_WRITE + FLUSH
         + link_seconds (self, &one, peers * bytes);
}

double
exchange_end_seconds (ExchangeEnd *self, ExchangeTransport transport, double peers, double bytes)
{
  return transport == EXCHANGE_NCCL ? grouped_seconds (self, peers, bytes)
                                    : written_seconds (self, peers, bytes);
}

double
exchange_end_held (ExchangeEnd *self, ExchangeTransport transport, double peers, double bytes)
{
  const double   sms = cluster_gpu_profile (self->cluster, 0)->sms.value;
  CollectiveCost one;

  if (transport != EXCHANGE_NCCL)
    return 0;
  collective_plan_cost (self->message, bytes, &one);
  return MIN (MIN (peers, self->side_by_side) * one.channels, sms / 2) / sms;
}
