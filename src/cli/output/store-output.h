/* What the commands say of a store of results (decide/sweep/result-store.h). */
#pragma once

#include "cli/argument/common.h"
#include "decide/sweep/result-store.h"

/* Prints ERROR of a store: EXIT_USAGE for one that is refused, else EXIT_RUNTIME. */
ExitStatus store_report_error (const GError *error);

/* --plot and --html of what STORE, the file FILE, holds. STATUS, or what is worse. */
ExitStatus store_write_pages (const Common *common, ResultStore *store, const char *file,
                              ExitStatus status);
