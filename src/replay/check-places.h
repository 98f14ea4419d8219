/* Whether a cluster has the places that a schedule uses. */
#pragma once

#include "cluster/cluster.h"
#include "schedule/schedule.h"

/* FALSE after a diagnostic, for strategy NAME, that says which keys would add what is missing. */
gboolean check_places (const Cluster *cluster, const Schedule *schedule, const char *name,
                       DiagList *diags);
