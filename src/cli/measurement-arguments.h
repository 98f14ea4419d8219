/* Measured collectives of the files on a command line, and the hardware of logs among them. */
#pragma once

#include "cli/common.h"
#include "measure/measurement-file.h"

/* Lines of --help about what files hold. */
#define MEASUREMENT_FILES_HELP                                                                     \
  "Files: tables with the columns id, nodes, gpus_per_node, gpu, intra, nics, nic, collective, "   \
  "bytes, time_us (optional: source, healthy, nccl, env and every key of the section 'cluster'), " \
  "or logs of nccl-tests and rccl-tests as they are, text or JSON: the options of the cluster "    \
  "give their hardware."

/* An entry for --collective, kept in WHERE (char **). */
#define MEASUREMENT_COLLECTIVE_ENTRY(where)                                        \
  {                                                                                \
    "collective", 0, 0, G_OPTION_ARG_STRING, where,                                \
        "what logs measure that do not name it: all_reduce, alltoall, ...", "NAME" \
  }

/*
 * The rows of all files named (parsed with COMMON_CLUSTER). COLLECTIVE: of --collective, or NULL.
 * MEASURED: predictions are an error. NULL after diagnostics in DIAGS; words about logs without a
 * log are an error too.
 */
GPtrArray *measurement_arguments_load (const Common *common, const char *collective,
                                       gboolean measured, DiagList *diags);
