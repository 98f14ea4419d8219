/*
 * How a cluster is laid out in memory: groups of like nodes, and inside a node a fixed order of
 * resource kinds.
 */
#pragma once

#include "cluster/cluster.h"

#define NO_RESOURCE           G_MAXUINT32
#define CLUSTER_MAX_GPUS      1000000u
#define CLUSTER_MAX_RESOURCES (1u << 26)

/*
 * One run of like nodes as the user asked for it: the keys that a scenario and a `groups:` entry
 * share.
 */
typedef struct
{
  gint64 nodes, gpus_per_node, nics;
  char  *node, *gpu, *intra, *nic;
  double dram_bytes;
} GroupRequest;

/* Where a card or a GPU hangs. */
typedef struct
{
  gint  pcie_switch; /* -1 = directly under the socket's root complex */
  guint socket;
} Attachment;

/*
 * Like nodes. Node n has resources first_resource + (n - first_node) * n_resources + offset[kind]
 * + index. `profile` is the node's with what the scenario overrides; its strings belong to the
 * profile set or to the group.
 */
typedef struct
{
  guint              first_node, n_nodes;
  guint              first_gpu, gpus, nics;
  guint              sockets, switches;
  guint              slots; /* GPU positions of the node: its GPUs hang as the first of that many */
  guint              first_resource, n_resources;
  guint              offset[RESOURCE_N_KINDS], count[RESOURCE_N_KINDS];
  NodeProfile        profile;
  const GpuProfile  *gpu;
  const LinkProfile *intra, *nic; /* nic: NULL without cards */
  char              *gpu_id, *intra_id, *nic_id, *override_source;
} NodeGroup;

struct _Cluster
{
  GArray       *groups; /* NodeGroup */
  guint         n_nodes, n_gpus;
  ClusterFabric fabric;
  guint         leaf_nodes; /* nodes a leaf; 0 = all */
  guint leaves, rails; /* leaf r * leaves + l: nodes of run l, rail r; leaves = 0: no leaf resources */
  double           oversubscription;
  ClusterResource *resources;
  guint            n_resources;
  guint            first_leaf_up, first_leaf_down;
  double          *speeds; /* [n_gpus], or NULL when all are whole */
  char            *title;
};

/* cluster-options.c: fills the groups, the fabric and the speeds; FALSE after diagnostics. */
gboolean cluster_read_options (Cluster *self, const ClusterOptions *options, ProfileSet *profiles,
                               const SourceMark *mark, DiagList *diags);

/* cluster.c */
const NodeGroup *cluster_group_of_node (const Cluster *self, guint node);
Attachment       cluster_attach_gpu (const NodeGroup *group, guint local);
Attachment       cluster_attach_card (const NodeGroup *group, guint card);
guint            cluster_leaf_of (const Cluster *self, guint node, guint card);
