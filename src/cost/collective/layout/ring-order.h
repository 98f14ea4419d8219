/*
 * In which order a ring of the hosts visits sites, so that its slowest edge is as fast as can be:
 * the bottleneck travelling salesman, and among its answers the one whose round trips add up to
 * least. Members of one site stand together: the ring enters and leaves a site once.
 *
 * Up to RING_ORDER_EXACT sites exactly: the largest threshold whose faster edges hold a Hamiltonian
 * cycle (dynamic programming over sets, Held and Karp 1962), O (n 2^n) a threshold. Above, a local
 * search from the order of the ranks: a site is moved elsewhere while that makes the slowest edge
 * faster, or such edges fewer, or the round trips shorter.
 */
#pragma once

#include "hardware/cluster/cluster.h"

#define RING_ORDER_EXACT 16

typedef struct
{
  double rate; /* B/s */
  double rtt;  /* s */
} SiteEdge;

/* EDGES: [from * n + to] of N sites. ORDER begins with 0; returns the rate of its slowest edge. */
double ring_order_sites (const SiteEdge *edges, guint n, guint *order);

/* N RANKS (GPU indices) in the best order, the first one's site first, into ORDERED. */
void ring_order_ranks (const Cluster *cluster, const guint32 *ranks, guint n, guint32 *ordered);
