/*
 * The bus bandwidth that no network exceeds, whatever the algorithm: what must cross the cards of a
 * node, at their line rate. Of n ranks on N nodes, g of them on one whose cards send L a second and
 * receive as much, and S as nccl-tests counts it:
 *
 *   all-gather      a node has g n-ths of S and must receive the rest:    t >= S (n - g) / (n L)
 *   reduce-scatter  a node must send what the others' ranks keep:         the same
 *   all-to-all      each of its g ranks sends the others' share of its S: t >= g S (n - g) / (n L)
 *   broadcast       the root's node sends S, each other receives it:      t >= S / L
 *   reduce          the other way round:                                  the same
 *   all-reduce      what a node has is in each result, and it needs all:  t >= S / L
 *
 * An all-reduce that no switch reduces costs more: of each element N - 1 sums are sent until one
 * node has it, and N - 1 times the result, so that all nodes together send 2 (N - 1) S. With L of
 * each node alike that is t >= 2 (N - 1) S / (N L): on two nodes the same as in switches, on many
 * twice as long. Bus bandwidth is S / t by collective_bus_factor. What stays inside a node is not
 * counted, which is why an all-gather may exceed L by (n - 1) / (n - g).
 */
#pragma once

#include "cost/collective/library/collective.h"

/* B/s, over all GPUs of CLUSTER, which has several nodes with cards. */
double collective_bus_limit (const Cluster *cluster, CollectiveKind kind, gboolean in_switches);

/* B/s, one direction, of all cards of NODE. */
double collective_line_rate (const Cluster *cluster, guint node);
