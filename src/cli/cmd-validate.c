/* shardsim validate: predictions against measurements. One file a subject. */
#include "cli/subjects.h"

int
cmd_validate (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "collectives", cmd_validate_collectives, "runs of nccl-tests or rccl-tests" },
    { "training", cmd_validate_training, "training runs: throughput, step time, memory" },
  };

  return subjects_run (subjects, G_N_ELEMENTS (subjects),
                       "Predicts the rows of a table of measurements and reports the errors.", argc,
                       argv);
}
