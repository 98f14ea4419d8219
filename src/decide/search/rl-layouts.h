/*
 * Layouts of generation that a search tries: ranks, stages and replicas that the scenario leaves
 * open. Numbers double from 1 on; tensor ranks stay inside a node, replicas share experts alone.
 */
#pragma once

#include "decide/explore/levers.h"

typedef struct
{
  gint64 tp, pp, dp;
  double least;  /* s of generation, a bound; INFINITY: nothing is known, or it does not fit */
  char  *reason; /* why not; NULL: it does */
} RlLayout;

/* Those that divide ROOM's GPUs, without bounds: RlLayout, the caller's. */
GArray *rl_layouts_list (const Scenario *scenario, const SearchRoom *room);

/* Keeps what fits, the shortest bound first. */
void rl_layouts_keep (GArray *layouts);
