#include "cost/collective/library/collective.h"

#include <string.h>

static HopClass
hop_class (const LinkProfile *link)
{
  switch (link->kind)
    {
    case LINK_NETWORK:
      return HOP_NET;
    case LINK_PCIE:
    case LINK_HOST:
      return HOP_PCIE;
    default:
      return HOP_NVLINK;
    }
}

double
collective_default_figure (const LibraryProfile *library, const LinkProfile *link,
                           const GpuProfile *gpu, const char *key)
{
  const LibraryGeneration *generation = library_profile_generation (library, gpu);
  const double            *hops = library->hop[hop_class (link)][ALGORITHM_RING];
  gboolean                 network = link->kind == LINK_NETWORK;
  const struct
  {
    const char *key;
    double      value;
  } figures[] = {
    { "inside_start_ll", network ? 0 : library->base[ALGORITHM_RING][PROTOCOL_LL] },
    { "inside_hop_ll", network ? 0 : hops[PROTOCOL_LL] },
    { "inside_ll_rate", network ? 0 : generation->ll / generation->node_channels },
    { "hop_ll", hops[PROTOCOL_LL] },
    { "hop_ll128", hops[PROTOCOL_LL128] },
    { "hop_simple", hops[PROTOCOL_SIMPLE] },
    { "post_ll", network ? library->post[PROTOCOL_LL] : 0 },
    { "post_ll128", network ? library->post[PROTOCOL_LL128] : 0 },
    { "ll_rate",
      network ? library_profile_ll_net (library, 2) : generation->ll / generation->node_channels },
    { "ll128_rate", network ? 0 : generation->ring_ll128[0] / 2 },
    { "channel_rate", network ? 0 : generation->channel_rate },
    { "p2p_rate", network ? 0 : generation->channel_rate },
    { "staged_rate", network ? library->staged_channel.value : 0 },
    { "nvls_latency", library->hop[hop_class (link)][ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE] },
    { "nvls_efficiency", network ? 0 : generation->nvls_efficiency * generation->link_factor },
  };

  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    if (strcmp (figures[i].key, key) == 0)
      return figures[i].value;
  return 0;
}
