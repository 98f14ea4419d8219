/*
 * Collectives over MPI: checked calls, the algorithm that is forced, data and their check, timing.
 *
 * The algorithm is forced by Open MPI's parameters of its component coll/tuned (`ompi_info --param
 * coll tuned --level 9`), which it reads when it starts: another MPI library chooses for itself,
 * and the results say so.
 */
#pragma once

#ifdef BENCH_MPI

#include <mpi.h>

#include "bench/bench.h"
#include "bench/mpi/mpi-watch.h"
#include "bench/nccl/nccl-text.h"

/*
 * In a function that returns bool with a `bench` in reach: false after a message that names the
 * call, the rank and the cause.
 */
#define MPI_TRY(call)                               \
  do                                                \
    {                                               \
      int mpi_try_;                                 \
                                                    \
      mpi_watch_begin (#call);                      \
      mpi_try_ = (call);                            \
      mpi_watch_end ();                             \
      if (mpi_try_ != MPI_SUCCESS)                  \
        return mpi_failed (bench, #call, mpi_try_); \
    }                                               \
  while (0)

/* FALSE. CALL is the source text: the message names the function in it. */
bool mpi_failed (const Bench *bench, const char *call, int code);

/*
 * Before MPI_Init: forces the algorithm NAME in all collectives that have it and each one's own
 * (mpi_call_algorithm) in the others; "library" forces none. NULL: each one's own. FALSE, with a
 * line on stderr that names what there is, when none has it.
 */
bool mpi_force_algorithm (const char *name);

/* The algorithm that was forced for KIND: "ring"; "library" where the library chose. */
const char *mpi_call_algorithm (TestKind kind);

/* "Open MPI v4.1.4" in TEXT. */
const char *mpi_library (char *text, size_t size);

/* One collective of COUNT (nccl-text.h) fp32 elements on COMM. Buffers are the call's. */
typedef struct
{
  TestKind kind;
  MPI_Comm comm;
  unsigned rank, ranks; /* in COMM */
  uint64_t count;
  float   *send, *recv;
  int     *counts; /* of every rank, for MPI_Reduce_scatter */
} MpiCall;

/* Fills the buffers with data that depend on rank, place and SEED. */
bool mpi_call_open (MpiCall *self, const Bench *bench, TestKind kind, MPI_Comm comm, uint64_t count,
                    uint64_t seed);
bool mpi_call_run (const MpiCall *self, const Bench *bench);

/*
 * *WRONG: elements of the result that are not what the ranks' data give, among at most 2^20 of this
 * rank's. After mpi_call_run.
 */
bool mpi_call_check (const MpiCall *self, const Bench *bench, uint64_t seed, int64_t *wrong);
void mpi_call_close (MpiCall *self);

/*
 * Times WORK, a collective operation of all ranks, and writes ROW, whose benchmark, variant, bytes
 * and ranks are set: warm-up calls (about half a second of them at most), then `repeats` times
 * `iterations` calls back to back without a barrier, as nccl-tests does, as many of them as take
 * about a second. A repeat's time is the mean of a call on the slowest rank. Every rank gets the
 * same times in ROW. What is sent is fp32.
 */
typedef bool (*MpiWork) (const Bench *bench, void *user);
bool mpi_measure (Bench *bench, MpiWork work, void *user, Result *row);

/* Elements of SELF's result that are not what they have to be are an error about WHAT. */
bool mpi_call_is_right (const MpiCall *self, const Bench *bench, uint64_t seed, const char *what);

#endif
