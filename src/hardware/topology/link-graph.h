/*
 * Which GPUs of a node are linked, and how widely: the hybrid cube mesh of a DGX-1, the dies of
 * four MI250X. In a profile `links: "0-1:2 0-2 ..."`: pairs of GPUs with the number of links
 * between them, 1 where it is not said.
 */
#pragma once

#include "base/config/diag.h"

#define LINK_GRAPH_MAX        16 /* GPUs */
#define LINK_GRAPH_MAX_CYCLES 32

typedef struct
{
  guint  n; /* GPUs: the highest number and one */
  guint8 links[LINK_GRAPH_MAX][LINK_GRAPH_MAX];
} LinkGraph;

/* FALSE after diagnostics at MARK. */
gboolean link_graph_parse (LinkGraph *self, const char *text, const SourceMark *mark,
                           DiagList *diags);

/* Links of GPU to the others among the first N. */
guint link_graph_degree (const LinkGraph *self, guint n, guint gpu);

/*
 * The linked ordered pairs among the first N GPUs, numbered row by row: their number, the number of
 * (A, B), and the pair of a number.
 */
guint link_graph_n_pairs (const LinkGraph *self, guint n);
guint link_graph_pair (const LinkGraph *self, guint n, guint a, guint b);
void  link_graph_ends (const LinkGraph *self, guint n, guint pair, guint *a, guint *b);

/*
 * The GPU among the first N over which A reaches B in two hops, the widest way and then the lowest
 * number; N when there is none.
 */
guint link_graph_between (const LinkGraph *self, guint n, guint a, guint b);

/*
 * Directed cycles through all of MEMBERS [N], each direction of a link in no more of them than it
 * is wide: positions in MEMBERS, cycle after cycle; their number, 0 when there are none. Each cycle
 * comes with its reverse, as rings are laid in both directions. As many as a bounded search finds;
 * on the graphs above all there can be.
 */
guint link_graph_cycles (const LinkGraph *self, const guint *members, guint n,
                         guint8 cycles[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX]);
