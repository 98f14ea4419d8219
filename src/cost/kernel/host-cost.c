#include "cost/kernel/host-cost.h"

void
host_cost (const NodeProfile *node, const HostDesc *work, HostCost *cost)
{
  double rate = work->kind == HOST_ADAM ? node->cpu_adam_rate.value : 0;
  double all_cores = rate > 0 ? (double) work->elements / rate : 0;

  cost->core_seconds = all_cores * node->cores.value;
  cost->dram_bytes = work->read_bytes + work->write_bytes;
  cost->latency = work->seconds;
  cost->alone =
      cost->latency
      + MAX (all_cores, cost->dram_bytes / (node->dram_bandwidth.value * node->sockets.value));
}
