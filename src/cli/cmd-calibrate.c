/* shardsim calibrate: hardware profiles from measurements. One file a subject. */
#include "cli/subjects.h"

int
cmd_calibrate (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "collectives", cmd_calibrate_collectives, "link profiles from runs of nccl-tests or rccl-tests" },
  };

  return subjects_run (
      subjects, G_N_ELEMENTS (subjects),
      "Fits hardware profiles to a table of measurements and writes them to a folder.", argc, argv);
}
