/*
 * The job of a shell script, or of a line of arguments, as a flat list of settings. Nothing is run:
 * assignments, arrays, functions, conditions on known values and pure expansions are followed as
 * bash does, and the command that trains is taken apart.
 *
 *   key            of                                                value
 *   --seq-length   an argument of that command                       "2048"; "true"; "mlp,moe"
 *   --nnodes       its launcher, --nproc-per-node likewise           "4"
 *   model.seq_len  an override as Hydra has it (KEY=VALUE)           "2048"
 *   $MINIBS        a variable that no argument uses; all of them     "4"
 *                  where the script has no such command
 *
 * What a value takes from outside of the script (a command's output, an unset variable) stands in
 * it as it is spelled, with its '$' or '`'. Where a condition depends on such a value, the branch
 * 'else' is read and a warning says so. A sourced file is read where it lies beside the script.
 * Variables and arguments that look like secrets are left out, and no message shows their lines.
 */
#pragma once

#include "import/job/job-source.h"

/* JobSetting* of TEXT, the script FILE; NULL after errors. */
GPtrArray *job_shell_read (const char *file, const char *text, DiagList *diags);
