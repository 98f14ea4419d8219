/* shardsim calibrate: hardware profiles from measurements: of the runner's results, or of a subject with a file of its own. */
#include "cli/subjects.h"

int
cmd_calibrate (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "collectives", cmd_calibrate_collectives, "link profiles from runs of nccl-tests or rccl-tests" },
  };

  if (argc < 2 || !g_str_equal (argv[1], subjects[0].name))
    return cmd_calibrate_results (argc, argv);
  return subjects_run (
      subjects, G_N_ELEMENTS (subjects),
      "Fits hardware profiles to a table of measurements and writes them to a folder.", argc, argv);
}
