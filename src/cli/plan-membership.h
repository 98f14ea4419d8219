/* `plan --membership`: runs of scenarios over a trace of nodes that leave and join. */
#pragma once

#include "analysis/run-goal.h"
#include "cli/common.h"

/* Prints the run of each of SCENARIOS over the trace FILE; EXIT_NO where all miss the deadline. */
ExitStatus plan_membership (const Common *common, const GPtrArray *scenarios, const char *file,
                            const RunOptions *options);
