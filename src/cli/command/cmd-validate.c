/* shardsim validate: predictions against measurements. A file a subject. */
#include "cli/argument/command.h"

const Command command_validate = {
  .name = "validate",
  .help = "predictions against measurements: errors and their statistics",
  .arguments = "SUBJECT",
  .summary = "Predicts the rows of a table of measurements and reports the errors.",
};
