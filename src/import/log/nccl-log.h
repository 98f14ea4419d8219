/*
 * Logs of nccl-tests and rccl-tests, of any release, as they are: text (also with lines of
 * NCCL_DEBUG or of mpirun in between) and the JSON of newer releases.
 */
#pragma once

#include "import/log/measurement.h"

/* FILE has a line that nccl-tests prints: a header, a rank, a verdict. */
gboolean nccl_log_recognise (const char *file);

/* As measurement_file_load (evidence/tables/measurement-file.h). */
GPtrArray *nccl_log_load (const char *file, const MeasurementContext *context, DiagList *diags);
GPtrArray *nccl_json_load (const char *file, const MeasurementContext *context, DiagList *diags);
