/* A collective's algorithm, laid over a cluster: what it puts on every resource, per byte of S. */
#pragma once

#include "cost/collective/layout/members-private.h"
#include "cost/collective/layout/routed-edges-private.h"

typedef struct _Algorithm Algorithm; /* algorithm-private.h */

/*
 * What the edges of rings and trees are like: means over the edges inside nodes and between nodes,
 * s per byte of S that the slowest resource of an edge takes.
 */
typedef struct
{
  double   intra, net;                   /* beside all that the operation puts there */
  double   intra_most, intra_most_alone; /* the slowest edge inside nodes */
  double   intra_alone, net_alone;       /* with the resource to itself */
  double   intra_first, net_first;       /* of chains: beside what is there as early as it */
  double   least; /* of the slower kind of edges: the fastest edge, with the resource to itself */
  guint    n_net, n_net_least; /* edges between nodes, of the rings with most and fewest */
  guint    n_rings;
  double   meet, meet_net; /* edges that a link inside nodes has of each place on a ring's way
                              through, and of those that leave; 0: links are not alike */
  double   net_own;        /* as `net`, but of what only edges between nodes cross */
  gboolean uneven;         /* rings share links unevenly: they fall out of step with each other */
} RingHops;

/*
 * A step of PAT, a phase of a hierarchical collective, or a round of messages: it waits for the one
 * before.
 */
typedef struct
{
  double seconds; /* per byte of S: the slowest resource of the step, beside the rest of it */
  double alone;   /* the fastest edge, with every link to itself */
  double share;   /* of what a rank sends in all */
  double rest;    /* as `seconds`, of the edges that do not cross the slowest resources ... */
  double slow;    /* ... and the share of the edges that do */
  double way;     /* s: the longest between sites */
} StepHop;

/* What an operation does between sites. All zero where it stays at one. */
typedef struct
{
  double flow;  /* s per byte of S that the slowest flow takes, alone on its link; 0: no limit */
  double way;   /* s: the longest way from one site to another */
  double path;  /* s: up a tree's longest branch and down again; 0: it is none */
  double steps; /* s: the longest way of each step, in sum; 0: there are none */
} WanUse;

/* What all flows between two sites make of their link, s per byte of S. */
typedef struct
{
  guint32 resource;
  double  link; /* it takes for all of them */
  double  flow; /* the slowest of them takes alone; 0: no limit */
  double  way;  /* s: from end to end */
} SiteFlow;

/*
 * An edge of a tree over a link between sites: what its first chunk has behind it of ways between
 * sites, and what its last one has before it, that edge included, s.
 */
typedef struct
{
  guint32 link; /* resource */
  double  before, after;
} TreeFlow;

/* An edge of a ring that leaves its site: they are unlike, so each counts. */
typedef struct
{
  double   seconds, alone; /* as in RingHops */
  double   flow, way;      /* as in WanUse */
  guint32  lane;
  gboolean net;
} RingEdge;

typedef struct
{
  CollectiveKind   kind;
  const Algorithm *algorithm; /* NULL: one message */
  CollectiveLoad  *loads;     /* one entry a resource, sorted by resource */
  guint            n_loads;
  double           link_seconds_per_byte; /* max over all loads of service / capacity */
  double           intra_seconds_per_byte,
      net_seconds_per_byte; /* the same inside nodes, and on cards and leaves */
  RingHops  ring;
  RingEdge *edges; /* of a ring between sites, lane after lane; else NULL */
  guint     n_edges;
  WanUse    wan;
  GArray   *sites;      /* SiteFlow; NULL: it stays at one site */
  GArray   *tree_flows; /* TreeFlow, in order of `before`; NULL: it is no tree between sites */
  StepHop  *steps;      /* PAT, hierarchical, all-to-all between plain hosts; else NULL */
  guint     n_steps;
  guint32   binding;   /* the resource of the first maximum */
  gboolean  cut;       /* its stop came first: all else says nothing */
  gint      n_sharers; /* beside the one who made it, in any thread: atomic */
} CollectiveLayout;

/* More than one member. ALGORITHM is one that KIND has on MEMBERS; FLOWS of algorithm_flows. */
CollectiveLayout *collective_layout_new (const Cluster *cluster, CollectiveKind kind,
                                         const Algorithm *algorithm, const Members *members,
                                         const guint32 *ranks, guint flows);

/* One message from the first of RANKS to the second, as a layout of COLLECTIVE_SEND_RECV. */
CollectiveLayout *collective_layout_new_message (const Cluster *cluster, const Members *members,
                                                 const guint32 *ranks, guint flows);

/* The edges of the same layout, one by one. */
RoutedEdges *collective_layout_edges (const Cluster *cluster, CollectiveKind kind,
                                      const Algorithm *algorithm, const Members *members,
                                      const guint32 *ranks, guint flows);

/* One more who frees SELF, which lives until the last one has. */
CollectiveLayout *collective_layout_share (CollectiveLayout *self);
void              collective_layout_free (CollectiveLayout *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectiveLayout, collective_layout_free)
