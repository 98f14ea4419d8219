/*
 * Chakra traces of a real step: COMP nodes of a GPU with their durations. Whose they are is said by
 * the attributes `phase`, `unit` and `kind` of those that shardsim writes; of those that Chakra's
 * converter makes of PyTorch's traces by the names of the nodes that they depend on by ctrl_deps:
 * the ops that launched them.
 */
#pragma once

#include "import/trace/step-trace.h"

/* NULL after a diagnostic that names the node and the byte. */
StepTrace *chakra_trace_load (const char *file, DiagList *diags);
