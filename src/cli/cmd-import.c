/* shardsim import: what other tools wrote, as profiles and tables. One file a subject. */
#include "cli/subjects.h"

int
cmd_import (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "topology", cmd_import_topology,
      "a node, from NCCL's topology dump, lstopo's XML or nvidia-smi topo -m" },
    { "trace", cmd_import_trace,
      "measured kernels, from a trace of PyTorch's profiler or a Chakra trace" },
  };

  return subjects_run (
      subjects, G_N_ELEMENTS (subjects),
      "Makes a profile of a machine's own description, or measured kernels of a trace "
      "of a real step.",
      argc, argv);
}
