/* The runner's command line: one table that parses it and prints the help. */
#pragma once

#include "bench/bench.h"

typedef enum
{
  OPTIONS_RUN,
  OPTIONS_HELP,    /* printed */
  OPTIONS_LIST,    /* the caller prints the benchmarks */
  OPTIONS_VERSION, /* the caller prints it */
  OPTIONS_BAD,     /* a message is printed */
} OptionsVerdict;

/*
 * Fills OPTIONS from the defaults and ARGV; strings are borrowed. *N words that are not options are
 * moved to WORDS (at most BENCH_MAX_LIST): the benchmarks to run.
 */
OptionsVerdict options_parse (int argc, char **argv, BenchOptions *options, const char **words,
                              unsigned *n);
