/* shardsim import: what other tools wrote, as profiles and tables. A file a subject. */
#include "cli/argument/command.h"

const Command command_import = {
  .name = "import",
  .help = "scenarios, profiles and measured kernels from other tools' files",
  .arguments = "SUBJECT",
  .summary = "Makes a scenario of a framework's job, a profile of a machine's own description, or "
             "measured kernels of a trace of a real step.",
};
