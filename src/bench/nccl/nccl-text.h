/*
 * Collectives as nccl-tests counts and prints them, whatever library runs them: sizes, bus
 * bandwidth, the text that existing scripts read (stdout), and rows of collectives.csv, the table
 * that `shardsim validate` and `shardsim calibrate` take.
 *
 * With n ranks, S is the buffer of all_reduce and broadcast; all that a rank receives of
 * all_gather; all that a rank puts in of reduce_scatter; a rank's whole send buffer of alltoall;
 * one message of sendrecv (each rank sends to the next and receives from the previous one). algbw =
 * S / t; busbw = algbw x 2 (n - 1) / n of all_reduce, x (n - 1) / n of all_gather, reduce_scatter
 * and alltoall, x 1 of broadcast and sendrecv (nccl-tests, doc/PERFORMANCE.md).
 */
#pragma once

#include "bench/bench.h"

typedef enum
{
  TEST_ALL_REDUCE,
  TEST_ALL_GATHER,
  TEST_REDUCE_SCATTER,
  TEST_ALLTOALL,
  TEST_BROADCAST,
  TEST_SENDRECV,
  TEST_N_KINDS,
} TestKind;

typedef struct
{
  const char *name;  /* in results.csv, collectives.csv, the text (before "_perf"): "all_reduce" */
  const char *redop; /* "sum", "none" */
  int         root;  /* -1: none */
  bool        parts; /* S is n parts, and the count of a call is of one part */
  bool        in_place_checked; /* false: in place a rank overwrites what it has still to send:
                                   timed, but nothing to check */
} TestCollective;

extern const TestCollective test_collectives[TEST_N_KINDS];

/*
 * Elements of a call's count for S as near to BYTES as the ranks divide it, at least one: parts of
 * 16 bytes and more are multiples of 16 bytes, as nccl-tests has them. S of COUNT; busbw / algbw.
 */
uint64_t test_collective_count (TestKind kind, uint64_t bytes, size_t element, unsigned ranks);
uint64_t test_collective_bytes (TestKind kind, uint64_t count, size_t element, unsigned ranks);
double   test_collective_bus_factor (TestKind kind, unsigned ranks);

/* Elements of a rank's send and receive buffer of one call of COUNT. */
uint64_t test_collective_send_elements (TestKind kind, uint64_t count, unsigned ranks);
uint64_t test_collective_recv_elements (TestKind kind, uint64_t count, unsigned ranks);

/* This process's line under "Using devices". */
typedef struct
{
  int  device;   /* 0 where there is none */
  char bus[16];  /* "0000:1b:00" */
  char name[64]; /* "NVIDIA H200", "CPU" */
} TestDevice;

/* ---- the text -------------------------------------------------------------------------------- */

/* What the head says. Strings are borrowed. */
typedef struct
{
  TestKind    kind;
  const char *library; /* "nccl-headers=22809 nccl-library=22809", "Open MPI 4.1.4" */
  const char *version; /* column `nccl` of collectives.csv: "2.28.9", "unknown" */
  const char *type;    /* nccl-tests' name: "float", "half", "bfloat16" */
  size_t      element; /* bytes of one */
  uint64_t    min_bytes, max_bytes;
  const char *remark; /* a further line of the head; NULL: none */
  const char *env;    /* words for `env` of collectives.csv: "algo=ring"; NULL: none. A word that
                         `shardsim validate` does not know keeps the row out of its tables */
  bool table; /* write rows of collectives.csv: not for one rank, where nothing crosses a link */
} TestRun;

/* One of a row's two halves. */
typedef struct
{
  double  seconds; /* of one call; < 0: was not timed */
  int64_t wrong; /* wrong elements among those looked at, over all ranks; < 0: was not looked at */
} TestSample;

typedef struct
{
  Bench   *bench;
  TestRun  run;
  FILE    *table; /* borrowed; NULL: none */
  unsigned sweep; /* the number in the rows' id */
  double   bus_sum;
  unsigned n_bus;
  int64_t  wrong;
} TestText;

/*
 * The head, printed by rank 0. Every rank calls it: the devices' lines are gathered. SWEEP: 1, 2,
 * ... of the program's run.
 */
bool test_text_begin (TestText *self, Bench *bench, const TestRun *run, const TestDevice *device,
                      unsigned sweep);

/*
 * A row for COUNT, printed by rank 0, and its rows in collectives.csv. Every rank calls it with the
 * same samples.
 */
bool test_text_row (TestText *self, uint64_t count, const TestSample *out_of_place,
                    const TestSample *in_place);

/* The closing lines. FALSE, on every rank, where wrong values were counted. */
bool test_text_end (TestText *self);

/*
 * VALUE right-aligned in WIDTH characters with as many decimals up to two as fit. TEXT has 16
 * characters at least.
 */
void test_text_figure (char *text, size_t size, int width, double value);

/*
 * Value of KEY in a list "key=value,key=value" (may be NULL) in TEXT; OTHERWISE when it is not
 * there.
 */
const char *test_list_value (const char *list, const char *key, const char *otherwise, char *text,
                             size_t size);
