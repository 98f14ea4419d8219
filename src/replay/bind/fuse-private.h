/* Kernels that run back to back on one stream as few ops. */
#pragma once

#include "replay/run/replay-private.h"

/* Puts the kernels of PROGRAM, whose items are compiled one by one, into groups. */
void fuse_program (Program *program, const Schedule *schedule, Granularity granularity,
                   StopPoll *poll);
