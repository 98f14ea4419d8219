/* Measured collectives of the files on a command line, and the hardware of logs among them. */
#pragma once

#include "cli/argument/common.h"
#include "cli/help/page-values.h"
#include "evidence/tables/measurement-file.h"

/* Lines of --help about what files hold. */
#define MEASUREMENT_FILES_HELP                                                                     \
  "Files: tables with the columns id, nodes, gpus_per_node, gpu, intra, nics, nic, collective, "   \
  "bytes, time_us (optional: source, healthy, nccl, env and every key of the section 'cluster'), " \
  "or logs of nccl-tests and rccl-tests as they are, text or JSON: the options of the cluster "    \
  "give their hardware."

/* What logs do not say of their runs; part of a command's settings. NULL: not given. */
typedef struct
{
  char *collective, *algorithm, *protocol, *env;
} MeasurementArguments;

/* Of MEMBER, the MeasurementArguments of the settings. */
#define OPTIONS_OF_LOGS(member)                                                                    \
  { OPTION ("collective", VALUE_TEXT, member.collective, "NAME",                                   \
            "what logs measure that do not name it: all_reduce, alltoall, ..."),                   \
    .words = &words_collectives },                                                                 \
      { OPTION ("algorithm", VALUE_TEXT, member.algorithm, "NAME",                                 \
                "of logs that do not say which was forced: ring, tree, ...") },                    \
      { OPTION ("protocol", VALUE_TEXT, member.protocol, "NAME", "the same: ll, ll128, simple") }, \
  {                                                                                                \
    OPTION ("env", VALUE_TEXT, member.env, "WORDS",                                                \
            "other words of the column 'env' for logs that say nothing of the same, such as "      \
            "'nvls=0 nchannels=16'")                                                               \
  }

/*
 * The rows of all files named (parsed with COMMON_CLUSTER). MEASURED: predictions are an error.
 * NULL after diagnostics in DIAGS; words about logs without a log are an error too.
 */
GPtrArray *measurement_arguments_load (const Common *common, const MeasurementArguments *arguments,
                                       gboolean measured, DiagList *diags);
