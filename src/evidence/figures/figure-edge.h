/*
 * Learning at the edge: what a round takes over its settings. NAME.star.yaml is a star for split
 * learning (edge/split-round.h), NAME.slim.yaml one for a slimmable network (edge/slim-round.h);
 * nothing is published of them that is compared, so nothing is judged. A panel of the file is a
 * line and what is drawn of it, as a CurvePanel; a row is a CurvePoint.
 */
#pragma once

#include "edge/slim-round.h"
#include "edge/split-round.h"
#include "evidence/figures/figure-curves.h"

/* What a file's own settings give, before any panel. */
typedef struct EdgeFigure
{
  EdgeStar     *star;
  SplitSettings split; /* of split learning */
  SplitWork    *work;  /* NULL: it is a slimmable network */
  double        seconds[SPLIT_N_CLOCKS];
  SlimSettings  slim;
  GArray       *slim_clients; /* SlimClient, [client][system]; else NULL */
} EdgeFigure;
