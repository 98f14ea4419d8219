/*
 * What the host launches as CUDA graphs: a graph costs it one launch, whatever is inside, and
 * kernels inside follow each other as the GPU's graph_latency says.
 */
#pragma once

#include "schedule/schedule.h"

typedef enum
{
  LAUNCH_ALONE,  /* in no graph */
  LAUNCH_FIRST,  /* a graph begins with it */
  LAUNCH_INSIDE, /* it comes with the graph that is open */
} LaunchKind;

typedef struct
{
  GraphScope scope;
  gboolean   open;
  guint      phase, layer; /* of the open one, of GRAPHS_BLOCK */
} GraphLaunch;

/* How ITEM of ROLE is launched, items in the order of their section. */
LaunchKind graph_launch_next (GraphLaunch *self, const Schedule *schedule, guint role,
                              const ScheduleItem *item);

/*
 * FALSE after a diagnostic where the host has to act inside of a graph: it would have to end
 * there.
 */
gboolean graph_launch_check (const Schedule *schedule, GraphScope scope, const SourceMark *mark,
                             DiagList *diags);
