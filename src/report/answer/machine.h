/* A cluster as it was resolved, for pictures of its first node and of its fabric. */
#pragma once

#include "hardware/cluster/cluster.h"

/*
 * Appends {"title": "8 nodes x 8 h100-sxm-80, ...", "n_nodes", "n_gpus", "uniform": whether all
 * nodes are of one make, "node": NODE, "fabric": FABRIC}.
 *
 * NODE, the first one: {"title", "sockets", "socket_link": "22 GB/s", "memory": "2 TB", "drives",
 * "pcie_uplink", "gpu": {"title", "memory", "host_link"}, "gpus": [{"socket": 0, "switch": 0,
 * "upper": -1}], "links": {"title", "kind": "switch", "bandwidth", "pairs": [[0, 1]]}, "card":
 * {"title", "bandwidth"} or null, "cards": as gpus}. Texts have units; "" is none. A switch of -1
 * is none; pairs are of GPUs that a link of their own joins.
 *
 * FABRIC: FabricShape's members, "kind": "leaf-spine", "rails", "fat-tree" or "dragonfly", and
 * "title", null: one switch over all.
 */
void report_machine_json (const Cluster *cluster, GString *out);
