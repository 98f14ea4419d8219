/* Lists on the command line: "--strategy fsdp2,zero3 --tp 1,2,4" is a grid, as in a file. */
#pragma once

#include "cli/argument/common.h"

/*
 * The scenarios of the file given (or of the overrides alone), each once for every combination of
 * the lists among the overrides, the last list running fastest. NULL after diagnostics on stderr.
 */
GPtrArray *common_load_grid (Common *self);
