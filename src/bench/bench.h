/*
 * shardsim-bench: what every benchmark of the runner is given, and what it hands back.
 *
 * Plain C (gnu11, POSIX): cluster nodes have a compiler and little else. A file that needs CUDA and
 * NCCL is wrapped in `#ifdef BENCH_CUDA`, one that needs MPI in `#ifdef BENCH_MPI`, so that one
 * compiler call over src/bench/ builds whatever is there (docs/bench.md).
 *
 * Every function that can fail returns false after it has said what failed with bench_error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/results.h"
#include "bench/world/world.h"

#define BENCH_MAX_LIST 32

/* The command line (options.c): one table for all benchmarks; each uses what it needs. */
typedef struct
{
  uint64_t    min_bytes, max_bytes; /* -b, -e; 0: the benchmark's own */
  double      step_factor;          /* -f: from one size to the next */
  unsigned    warmup, iterations;   /* -w, -n: untimed calls, and timed calls a repeat */
  unsigned    repeats;              /* -r: measurements that the median is taken over */
  unsigned    local_ranks; /* -g: processes that it starts itself, one a GPU; 0: as found */
  const char *output;      /* -o: folder of the result files; NULL: none */
  const char *rendezvous;  /* folder that all ranks see, where no MPI is used */
  const char *collectives; /* comma-separated; NULL: all */
  const char *dtypes;      /* comma-separated; NULL: all that the device has */
  const char *channels;    /* comma-separated numbers of NCCL channels to force */
  const char *algorithm;   /* MPI collectives: "ring", "pairwise", ...; NULL: the benchmark's own */
  const char *hardware;    /* key=value,...: columns of collectives.csv that the runner cannot know
                              (gpu, intra, nics, nic) */
  const char *id;          /* prefix of the ids in collectives.csv */
  const char *file;        /* storage: NULL: a temporary one in the output folder */
  const char *outer;       /* mpi_outer: key=value,... of steps step_us fragments overlap */
  unsigned    sustained_s; /* matmul: s that one large product is repeated for; 0: not measured */
  bool        graphs;      /* NCCL collectives: the calls of a measurement are one CUDA graph */
  bool        out_of_place; /* NCCL collectives: leave calls in place out */
  bool        one_gpu;      /* several ranks on one GPU where NCCL allows it */
  unsigned    timeout_s;    /* of an exchange between ranks */
} BenchOptions;

typedef struct
{
  const BenchOptions *options;
  World              *world;
  Results            *results;
  const char         *name; /* of the benchmark that runs */
} Bench;

typedef enum
{
  NEEDS_NOTHING = 0,
  NEEDS_CUDA = 1 << 0, /* a device; main has selected it with cudaSetDevice */
  NEEDS_MPI = 1 << 1,
  NEEDS_ALL_RANKS =
      1 << 2, /* a collective operation, run by every rank; all else runs on rank 0, others wait */
} BenchNeeds;

typedef struct
{
  const char *name;                           /* "host_copy": the word on the command line */
  const char *title;                          /* one line for --list */
  unsigned    needs;                          /* BenchNeeds */
  bool        checks;                         /* it measures nothing: it fails, or all is well */
  bool (*check_options) (const Bench *bench); /* before there is a world; NULL: nothing */
  bool (*run) (Bench *bench);
} Benchmark;

/*
 * The table of what is built in (benchmarks.c), in the order in which `all` runs it: all that
 * measures a machine by itself, without MPI. Ends with a row without a name.
 */
extern const Benchmark benchmarks[];

/*
 * One line on stderr: "shardsim-bench: HOST rank R: BENCHMARK: WHAT: why". WHAT is the call that
 * failed ("cudaMalloc").
 */
void bench_error (const Bench *bench, const char *what, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* One line on stderr, from rank 0 only: what a number does not mean, what is left out and why. */
void bench_note (const Bench *bench, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Sizes from options (or FROM..TO), each FACTOR times the last; *N of them, at most MAX. */
unsigned bench_sizes (const BenchOptions *options, uint64_t from, uint64_t to, double factor,
                      uint64_t *sizes, unsigned max);

/* Is WORD among the comma-separated words of LIST? NULL lists everything. */
bool bench_list_has (const char *list, const char *word);

/* Seconds of CLOCK_MONOTONIC. */
double bench_now (void);

/*
 * SEED's next 64 random bits (splitmix64): data is random, since zeros and constants cost less
 * power and run faster.
 */
uint64_t bench_random (uint64_t *seed);
