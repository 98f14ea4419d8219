/*
 * results.csv of the microbenchmark runner (format 1; docs/bench.md lists benchmarks and variants):
 * one measurement a line, self-contained.
 *
 *   format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks,
 *   channels,repeats,value,low,high,unit,remark
 *
 * The order of the columns is free, each must be there. A file, and all files of one set, are of
 * one machine: host, device, driver, CUDA and NCCL are the same in every line that has them. A time
 * whose line is there again in every cell (files that were copied, or joined) counts once, with a
 * warning. A last line without its end was cut, and is an error even where its cells look whole.
 */
#pragma once

#include "replay/run/replay.h"

#define BENCH_RESULTS_FORMAT 1

typedef enum
{
  BENCH_UNIT_TIME,  /* us in the file, s here */
  BENCH_UNIT_BYTES, /* B */
  BENCH_UNIT_COUNT,
  BENCH_UNIT_N,
} BenchUnit;

/* One line. Texts are the set's; "" and 0 are empty cells. */
typedef struct
{
  const char *date; /* "2026-01-31", maybe with a time behind it */
  const char *benchmark, *variant, *dtype, *remark;
  guint64     bytes, m, n, k, batch;
  guint       ranks, channels, repeats;
  double      value, low,
      high; /* median, 10th and 90th percentile, in base units; above 0 but for differences */
  BenchUnit   unit;
  const char *file; /* interned */
  guint       line;
} BenchRow;

typedef struct
{
  const char   *host, *device, *driver, *cuda, *nccl; /* "" where the runner left it empty */
  const char   *first_date, *last_date;               /* "2026-01-31" */
  GArray       *rows;                                 /* BenchRow, in order */
  GStringChunk *strings;
} BenchResults;

/*
 * The rows of FILES (a strv of at least one). NULL after diagnostics, which name every bad cell by
 * line and column.
 */
BenchResults *bench_results_load (const char *const *files, DiagList *diags);
void          bench_results_free (BenchResults *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchResults, bench_results_free)
