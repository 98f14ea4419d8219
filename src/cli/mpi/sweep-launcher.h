/* Whether an MPI launcher started this process with others, and how to talk to them. */
#pragma once

#include <gmodule.h>

#include "decide/sweep/sweep-remote.h"

/* What the module exports; NULL where MPI cannot do it. */
#define SWEEP_WORLD_OPEN "sweep_world_open"
typedef SweepWorld *(*SweepWorldOpen) (void);

/* Processes that the launcher started; 1 without a launcher. */
guint sweep_launcher_size (void);

/* The one of them that this is, before anything is opened; 0 without a launcher. */
guint sweep_launcher_rank (void);

/* Loads the module and joins the others. NULL with ERROR. Newly allocated. */
SweepWorld *sweep_launcher_join (GError **error);
