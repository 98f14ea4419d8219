/*
 * What the runner writes: results.csv, one measurement a line, self-contained (host, device and
 * versions in each).
 *
 *   format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks,
 *   channels,repeats,value,low,high,unit,remark
 *
 * `value` is the median over `repeats` measurements, `low` and `high` the tenth and ninetieth
 * percentile, in `unit`: us (of one call) for times, B or count for properties. A cell that does
 * not apply is empty. docs/bench.md lists every benchmark and variant. The file is flushed after
 * every line: what was measured before an interrupt is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RESULTS_FORMAT 1

/* The machine, for every line. Strings are borrowed; NULL is an empty cell. */
typedef struct
{
  const char *host, *device, *driver, *cuda, *nccl;
} Machine;

/* One line. Zero and NULL are empty cells, but for the values. */
typedef struct
{
  const char *benchmark, *variant, *dtype;
  uint64_t    bytes, m, n, k, batch;
  unsigned    ranks, channels, repeats;
  double      value, low, high;
  const char *unit, *remark; /* unit NULL: "us" */
} Result;

typedef struct Results Results;

/*
 * Opens FOLDER/results.csv (FOLDER is made; an earlier run's lines stay) and keeps a table on
 * stdout beside it. FOLDER NULL: stdout only. WRITES false: a rank that writes nothing. NULL with
 * *ERROR set to a static or errno text.
 */
Results *results_open (const char *folder, const Machine *machine, bool writes, const char **error);

/* FALSE when the file cannot be written. */
bool results_add (Results *self, const Result *result);

/* Lines added so far. */
unsigned results_count (const Results *self);

/* SHOWN false: lines go to the file only, while a benchmark prints its own table on stdout. */
void results_show (Results *self, bool shown);

/*
 * Median and percentiles of SAMPLES (s; sorted in place) as a Result's value, low, high in us and
 * repeats.
 */
void result_set_times (Result *result, double *samples, unsigned n);

/*
 * The table FOLDER/NAME, which begins with the line HEADER: what an earlier run has written stays
 * and is added to. The same one when it is asked for again; NULL where there is no folder (stays
 * with no error), or when it cannot be opened or holds something else (*ERROR set). Closed with the
 * results.
 */
FILE *results_file (Results *self, const char *name, const char *header, const char **error);

const Machine *results_machine (const Results *self);
bool           results_close (Results *self);
