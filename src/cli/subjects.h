/* Commands of several subjects: `shardsim validate collectives`. */
#pragma once

#include "cli/common.h"

typedef struct
{
  const char *name; /* "collectives" */
  CommandMain main; /* gets "validate collectives" as its first word */
  const char *help;
} Subject;

/*
 * Runs the subject that ARGV[1] names, or prints the list of them (--help), or what is wrong with
 * it.
 */
int subjects_run (const Subject *subjects, guint n, const char *summary, int argc, char **argv);

int cmd_validate_collectives (int argc, char **argv);
int cmd_validate_training (int argc, char **argv);
int cmd_calibrate_collectives (int argc, char **argv);
int cmd_calibrate_results (int argc, char **argv);
int cmd_import_topology (int argc, char **argv);
int cmd_import_trace (int argc, char **argv);
