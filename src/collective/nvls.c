#include "collective/nvls-private.h"

#include "collective/tree-private.h"

static double
port_efficiency (const LayContext *context, const Members *members)
{
  const Cluster           *cluster = context->sum->cluster;
  const LinkProfile       *intra = cluster_intra_profile (cluster, members->nodes[0].node);
  const LibraryGeneration *generation = library_profile_generation (
      cluster_library (cluster, NULL), cluster_gpu_profile (cluster, members->gpus[0]));

  if (intra->nvls_efficiency.value > 0)
    return intra->nvls_efficiency.value;
  return generation->nvls_efficiency * generation->link_factor;
}

/*
 * Bytes of a GPU's memory that S of KIND move, OWN = 1/p: a copy into the buffers that the switch
 * sees (read, written), what it reads and writes there, and a copy out. Between nodes a head's part
 * is written before a card reads it, and read after a card wrote it.
 */
static double
memory_bytes (CollectiveKind kind, double own, guint n_nodes)
{
  double sent = 2 * (n_nodes - 1.0) / n_nodes * own; /* by the trees, in the mean */

  if (kind == COLLECTIVE_ALL_REDUCE)
    return 6 + 4 * sent;
  return 3 + own;
}

/*
 * The members of SLOT and the switch: PHASE before the trees (all send, the switch reduces, each
 * head gets its part) or after them (each head sends its part, the switch copies it to all).
 */
static void
note_stage (const LayContext *context, const Members *members, guint slot, CollectiveKind kind,
            guint tree, guint32 head, guint8 phase, double bytes)
{
  const Cluster *cluster = context->sum->cluster;
  gboolean       before = phase == TREE_BEFORE;
  double         own = 1.0 / members->nodes[slot].n;
  double         stages = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
  LayJoin        join = { .source = tree_place (context, tree, head),
                          .target = tree_place (context, tree, head),
                          .phase = phase,
                          .until = before ? 0 : TREE_DOWN };

  lay_edges_add_stage (context->edges, LAY_WHOLE_NODE, LAY_WHOLE_NODE, &join, NULL, bytes);
  for (guint i = 0; i < members->nodes[slot].n; i++)
    {
      guint32 gpu = members->gpus[members->nodes[slot].first + i];

      lay_edges_add_resource (context->edges,
                              cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_OUT),
                              before ? 1 : own);
      lay_edges_add_resource (context->edges,
                              cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_IN),
                              before ? own : 1);
      lay_edges_add_resource (context->edges, cluster_gpu_resource (cluster, gpu, RESOURCE_HBM),
                              memory_bytes (kind, own, members->n_nodes) / stages);
    }
}

static void
note_stages (const LayContext *context, const Members *members, CollectiveKind kind, guint slot,
             guint tree, guint32 head, double bytes)
{
  if (kind != COLLECTIVE_ALL_GATHER)
    note_stage (context, members, slot, kind, tree, head, TREE_BEFORE, bytes);
  if (kind != COLLECTIVE_REDUCE_SCATTER)
    note_stage (context, members, slot, kind, tree, head, TREE_AFTER, bytes);
}

/* Each of the trees between nodes moves what the switches of its nodes have reduced for it. */
static void
note_edges (const LayContext *context, const Members *members, CollectiveKind kind)
{
  CardsInUse cards;

  context->edges->names_memory = TRUE;
  if (members->n_nodes == 1)
    {
      note_stages (context, members, kind, 0, 0, members->gpus[0], 1);
      return;
    }
  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint tree = 0; tree < 2 * cards.n_lanes; tree++)
    for (guint slot = 0; slot < members->n_nodes; slot++)
      {
        guint head = tree_head (context, members, slot, cards_in_use_get (&cards, slot, tree / 2));

        note_stages (context, members, kind, slot, tree,
                     members->gpus[members->nodes[slot].first + head], 1 / (2.0 * cards.n_lanes));
      }
  cards_in_use_clear (&cards);
}

void
nvls_lay (const LayContext *context, const Members *members, CollectiveKind kind)
{
  const Cluster *cluster = context->sum->cluster;

  context->sum->port_efficiency = port_efficiency (context, members);
  if (context->edges != NULL)
    note_edges (context, members, kind);
  for (guint slot = 0; slot < members->n_nodes; slot++)
    for (guint i = 0; i < members->nodes[slot].n; i++)
      {
        guint32 gpu = members->gpus[members->nodes[slot].first + i];
        double  own = 1.0 / members->nodes[slot].n;
        double  out = (kind != COLLECTIVE_ALL_GATHER) + (kind != COLLECTIVE_REDUCE_SCATTER) * own;
        double  in = (kind != COLLECTIVE_ALL_GATHER) * own + (kind != COLLECTIVE_REDUCE_SCATTER);

        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_OUT), out);
        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_IN), in);
        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_HBM),
                      memory_bytes (kind, own, members->n_nodes));
      }
}
