/* What reads a cluster from the words of a scenario: its options, its groups of nodes. */
#pragma once

#include "hardware/cluster/cluster-private.h"

/* Everything that one reading shares. */
typedef struct
{
  Cluster           *cluster;
  ProfileSet        *profiles;
  const OptionMarks *marks; /* NULL: from nowhere */
  DiagList          *diags;
} ClusterReader;

/* The place of the first of these options that was set. */
#define READER_MARK(reader, ...) option_mark ((reader)->marks, __VA_ARGS__, NULL)

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

/* cluster-group.c: adds the nodes of REQUEST, or says why there can be none of the kind. */
void cluster_add_group (ClusterReader *reader, const GroupRequest *request);
void node_group_clear (gpointer data); /* a GDestroyNotify */

/* cluster-file.c: the nodes, the fabric and the facts of FILE, a profile of hwprofiles/cluster. */
void cluster_read_file (ClusterReader *reader, const char *file, ClusterOptions *options);
