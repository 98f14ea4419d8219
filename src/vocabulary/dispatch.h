/*
 * How tokens reach the ranks that hold their experts where the exchange knows nodes: DeepEP;
 * DeepSeek-V3, arXiv:2412.19437, 3.2.2. A token goes once to each node that has one of its experts,
 * from card to card of the sender's rail, and from the GPU there over NVLink once to each GPU that
 * has one. Results come back the same way, added up on the GPU, then on the node.
 *
 * Expected number of parts that a token reaches, k of its experts drawn from E without preference,
 * N parts with E / N each:
 *
 *   N (1 - C (E - E/N, k) / C (E, k))
 *
 * since a part is missed where all k are among the E - E/N others. With routing that is limited to
 * M nodes: the smaller of that and M. Such routing takes the nodes with the best few scores, so
 * that nearly each of the M has an expert of the token: of 8 nodes with 32 experts each, 8 experts
 * on at most 4 nodes reach 3.95 where scores are independent (drawn 4000 times). That they then
 * share GPUs a little more often (7.5 instead of 7.7 GPUs there) is left out.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint experts;    /* of a layer, E */
  guint chosen;     /* of a token, k. 0: no such dispatch, whatever the rest says */
  guint most_nodes; /* M; 0: as many as there are */
  guint sms;        /* that the exchange holds on every GPU */
  /*
   * Of messages around a group (send/receive): GPUs of a node over whose cards one to another node
   * goes, a part each; 0 and 1: over its sender's own. Whatever the rest says.
   */
  guint proxies;
} Dispatch;

/* Of PARTS that have equally many of the experts. */
double dispatch_parts (const Dispatch *self, guint parts);

/* The same of nodes, which routing may limit. */
double dispatch_nodes (const Dispatch *self, guint nodes);
