/*
 * Measurements from files of any kind, told apart by what is in them: the table of measurement.h,
 * text of nccl-tests or rccl-tests of any release, and the JSON that newer ones write (-J).
 * docs/validation.md says what is read.
 */
#pragma once

#include "import/log/measurement.h"

typedef enum
{
  MEASUREMENT_FILE_UNKNOWN,
  MEASUREMENT_FILE_TABLE,   /* CSV with the columns of measurement.h */
  MEASUREMENT_FILE_RESULTS, /* results.csv of the microbenchmark runner: not read here */
  MEASUREMENT_FILE_LOG,     /* text of nccl-tests, rccl-tests or `shardsim collective` */
  MEASUREMENT_FILE_JSON,    /* what nccl-tests -J writes */
} MeasurementFileKind;

/* By content. UNKNOWN where it fits none or cannot be read: that is for the loader to say. */
MeasurementFileKind measurement_file_kind (const char *file);

/*
 * The rows of FILE, in order: newly allocated array of Measurement *, owned by the array. A run of
 * a log makes two runs of rows, out of place and in place (`env` says which), with an id each: the
 * file's name with a number, which makes the file the source. Ranks, hosts, names of GPUs and the
 * version of the library are the log's, and are held against the hardware.
 *
 * NULL after diagnostics, which name everything that is wrong by line and column; so is a file of
 * the runner's results.
 */
GPtrArray *measurement_file_load (const char *file, const MeasurementContext *context,
                                  DiagList *diags);

/*
 * The rows of all FILES (NULL-terminated), in order; every file is looked at before NULL is
 * returned. A file that is given twice is an error: its rows would look like twice the evidence.
 */
GPtrArray *measurement_files_load (char *const *files, const MeasurementContext *context,
                                   DiagList *diags);
