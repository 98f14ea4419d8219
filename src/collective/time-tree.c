#include <math.h>

#include "collective/time-parts-private.h"

#define SLOTS 8 /* of a connection's buffer: NCCL_STEPS */

/* Levels as the library counts them (NVIDIA/nccl, src/graph/connect.cc, connectTrees). */
static double
library_depth (const CollectiveGraph *graph)
{
  return graph->per_node - 1.0 + (g_bit_storage (graph->n_nodes) - 1);
}

/* Of one channel, as NVIDIA/nccl's src/enqueue.cc halves a slot. */
static double
channel_chunk (const CollectiveGraph *graph, double share)
{
  const GArray *halvings = graph->library->tree_halvings;
  double        chunk = graph->buffer / SLOTS;

  for (guint i = 0; halvings != NULL && i < halvings->len; i++)
    {
      const TreeHalving *one = &g_array_index (halvings, TreeHalving, i);
      const double       enough = library_depth (graph) * (double) one->chunks;

      while (floor (share / chunk) < enough && chunk > one->least)
        chunk /= 2;
    }
  return chunk;
}

double
timed_double_tree_chunk (const Timed *self, guint channels)
{
  double most;

  if (self->protocol != PROTOCOL_SIMPLE)
    return timed_tree_chunk (self, channels);
  most = channels * channel_chunk (self->graph, self->bytes / channels);
  return self->bytes / MAX (ceil (self->bytes / most), 1);
}
