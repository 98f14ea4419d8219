/* shardsim import: hardware profiles from descriptions by other tools. One file a subject. */
#include "cli/subjects.h"

int
cmd_import (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "topology", cmd_import_topology,
      "a node, from NCCL's topology dump, lstopo's XML or nvidia-smi topo -m" },
  };

  return subjects_run (subjects, G_N_ELEMENTS (subjects),
                       "Makes a hardware profile of a machine's own description.", argc, argv);
}
