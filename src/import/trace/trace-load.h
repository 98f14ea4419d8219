/* Traces of a step, of PyTorch's profiler or Chakra. */
#pragma once

#include "import/trace/step-trace.h"

/* The format is told by the first bytes and the name's end. NULL after diagnostics. */
StepTrace *step_trace_load (const char *file, DiagList *diags);
