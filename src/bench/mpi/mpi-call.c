#ifdef BENCH_MPI

#include "bench/mpi/mpi-call.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARMUP_SECONDS 0.5
#define REPEAT_SECONDS 1.0
#define MAX_CHECKED    (1u << 20)

/* ---- errors ---------------------------------------------------------------------------------- */

bool
mpi_failed (const Bench *bench, const char *call, int code)
{
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  char name[64];
  int  length = 0;

  if (MPI_Error_string (code, text, &length) != MPI_SUCCESS)
    snprintf (text, sizeof text, "error %d", code);
  snprintf (name, sizeof name, "%.*s", (int) strcspn (call, " ("), call);
  bench_error (bench, name, "%s", text);
  return false;
}

const char *
mpi_library (char *text, size_t size)
{
  char whole[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int  length = 0;

  if (MPI_Get_library_version (whole, &length) != MPI_SUCCESS)
    snprintf (whole, sizeof whole, "MPI");
  snprintf (text, size, "%.*s", (int) strcspn (whole, ",\n"), whole);
  return text;
}

/* ---- algorithms ------------------------------------------------------------------------------ */

/*
 * Open MPI 4's parameter of a collective, the names of its values from 1 on, and the value that is
 * this program's own: the one that does what NCCL does over several hosts, rings, and for alltoall
 * every pair at once.
 */
typedef struct
{
  const char *parameter;
  const char *names[10];
  unsigned    own;
} Algorithms;

static const Algorithms algorithms[TEST_N_KINDS] = {
  [TEST_ALL_REDUCE] = { "allreduce",
                        { "linear", "nonoverlapping", "recursive_doubling", "ring",
                          "segmented_ring" },
                        4 },
  [TEST_ALL_GATHER] = { "allgather",
                        { "linear", "bruck", "recursive_doubling", "ring", "neighbor" },
                        4 },
  [TEST_REDUCE_SCATTER] = { "reduce_scatter",
                            { "nonoverlapping", "recursive_halving", "ring", "butterfly" },
                            3 },
  [TEST_ALLTOALL] = { "alltoall", { "linear", "pairwise", "bruck", "linear_sync" }, 1 },
  [TEST_BROADCAST] = { "bcast",
                       { "linear", "chain", "pipeline", "split_binary", "binary", "binomial",
                         "knomial", "scatter_allgather", "scatter_allgather_ring" },
                       3 },
};

/*
 * Number in `algorithms` of what is forced; 0: nothing. The process has one MPI library, and this
 * is a parameter of it.
 */
static unsigned forced[TEST_N_KINDS];

#ifdef OPEN_MPI

/* Once on stderr: every rank gets here, before it can talk to the others. */
static void
complain (const char *name)
{
  fprintf (stderr, "shardsim-bench: no collective has the algorithm '%s'\n", name);
  for (TestKind kind = 0; kind < TEST_N_KINDS; kind++)
    {
      if (algorithms[kind].parameter == NULL)
        continue;
      fprintf (stderr, "  %s:", test_collectives[kind].name);
      for (unsigned i = 0; algorithms[kind].names[i] != NULL; i++)
        fprintf (stderr, " %s", algorithms[kind].names[i]);
      fprintf (stderr, "\n");
    }
  fprintf (stderr, "  library: what Open MPI chooses\n");
}

bool
mpi_force_algorithm (const char *name)
{
  bool known = name == NULL;

  if (name != NULL && strcmp (name, "library") == 0)
    return true;
  for (TestKind kind = 0; kind < TEST_N_KINDS; kind++)
    {
      const Algorithms *list = &algorithms[kind];
      char              variable[96], value[16];

      if (list->parameter == NULL)
        continue;
      forced[kind] = list->own;
      for (unsigned i = 0; name != NULL && list->names[i] != NULL; i++)
        if (strcmp (list->names[i], name) == 0)
          {
            forced[kind] = i + 1;
            known = true;
          }
      snprintf (variable, sizeof variable, "OMPI_MCA_coll_tuned_%s_algorithm", list->parameter);
      snprintf (value, sizeof value, "%u", forced[kind]);
      setenv (variable, value, 1);
    }
  if (!known)
    complain (name);
  setenv ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
  /* Parts of a broadcast that are on their way down the chain at the same time. */
  setenv ("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "65536", 0);
  return known;
}

#else

bool
mpi_force_algorithm (const char *name)
{
  if (name == NULL || strcmp (name, "library") == 0)
    return true;
  fprintf (stderr,
           "shardsim-bench: '--algorithm' needs Open MPI: this program was built with another MPI "
           "library\n");
  return false;
}

#endif

const char *
mpi_call_algorithm (TestKind kind)
{
  if (algorithms[kind].parameter == NULL)
    return "shift";
  return forced[kind] > 0 ? algorithms[kind].names[forced[kind] - 1] : "library";
}

/* ---- data ------------------------------------------------------------------------------------ */

/*
 * Element AT of RANK's send buffer: multiples of 2^-10 in [-1, 1), so that sums over up to 2^13
 * ranks are exact in fp32.
 */
static float
value_of (uint64_t seed, unsigned rank, uint64_t at)
{
  uint64_t state = seed ^ ((uint64_t) (rank + 1) << 44) ^ at;

  return (float) ((int) (bench_random (&state) >> 53) - 1024) / 1024;
}

/* What element AT of this rank's result has to be. */
static float
expected_of (const MpiCall *self, uint64_t seed, uint64_t at)
{
  const unsigned source = (unsigned) (at / self->count);
  float          sum = 0;

  switch (self->kind)
    {
    case TEST_ALL_REDUCE:
    case TEST_REDUCE_SCATTER:
      at += self->kind == TEST_REDUCE_SCATTER ? self->rank * self->count : 0;
      for (unsigned rank = 0; rank < self->ranks; rank++)
        sum += value_of (seed, rank, at);
      return sum;
    case TEST_ALL_GATHER:
      return value_of (seed, source, at % self->count);
    case TEST_ALLTOALL:
      return value_of (seed, source, self->rank * self->count + at % self->count);
    case TEST_SENDRECV:
      return value_of (seed, (self->rank + self->ranks - 1) % self->ranks, at);
    default: /* TEST_BROADCAST: rank 0's */
      return value_of (seed, 0, at);
    }
}

/* ---- one collective -------------------------------------------------------------------------- */

bool
mpi_call_open (MpiCall *self, const Bench *bench, TestKind kind, MPI_Comm comm, uint64_t count,
               uint64_t seed)
{
  uint64_t n_send, n_recv;
  int      rank, ranks;

  *self = (MpiCall){ .kind = kind, .comm = comm, .count = count };
  MPI_TRY (MPI_Comm_rank (comm, &rank));
  MPI_TRY (MPI_Comm_size (comm, &ranks));
  self->rank = (unsigned) rank;
  self->ranks = (unsigned) ranks;
  if (count > INT_MAX)
    {
      bench_error (bench, "size", "MPI counts elements in an int: at most %d of them", INT_MAX);
      return false;
    }
  n_send = test_collective_send_elements (kind, count, self->ranks);
  n_recv = test_collective_recv_elements (kind, count, self->ranks);
  self->send = malloc (n_send * sizeof (float));
  self->recv = calloc (n_recv, sizeof (float));
  self->counts = calloc (self->ranks, sizeof (int));
  if (self->send == NULL || self->recv == NULL || self->counts == NULL)
    {
      bench_error (bench, "malloc", "no memory for %llu elements",
                   (unsigned long long) n_send + n_recv);
      mpi_call_close (self);
      return false;
    }
  for (uint64_t at = 0; at < n_send; at++)
    self->send[at] = value_of (seed, self->rank, at);
  for (unsigned i = 0; i < self->ranks; i++)
    self->counts[i] = (int) count;
  if (kind == TEST_BROADCAST && rank == 0)
    memcpy (self->recv, self->send, count * sizeof (float));
  return true;
}

bool
mpi_call_run (const MpiCall *self, const Bench *bench)
{
  const int n = (int) self->count, size = (int) self->ranks, rank = (int) self->rank;

  switch (self->kind)
    {
    case TEST_ALL_REDUCE:
      MPI_TRY (MPI_Allreduce (self->send, self->recv, n, MPI_FLOAT, MPI_SUM, self->comm));
      break;
    case TEST_ALL_GATHER:
      MPI_TRY (MPI_Allgather (self->send, n, MPI_FLOAT, self->recv, n, MPI_FLOAT, self->comm));
      break;
    case TEST_REDUCE_SCATTER:
      /* Not the _block one: Open MPI has no ring for it. */
      MPI_TRY (MPI_Reduce_scatter (self->send, self->recv, self->counts, MPI_FLOAT, MPI_SUM,
                                   self->comm));
      break;
    case TEST_ALLTOALL:
      MPI_TRY (MPI_Alltoall (self->send, n, MPI_FLOAT, self->recv, n, MPI_FLOAT, self->comm));
      break;
    case TEST_SENDRECV:
      MPI_TRY (MPI_Sendrecv (self->send, n, MPI_FLOAT, (rank + 1) % size, 0, self->recv, n,
                             MPI_FLOAT, (rank + size - 1) % size, 0, self->comm,
                             MPI_STATUS_IGNORE));
      break;
    default:
      MPI_TRY (MPI_Bcast (self->recv, n, MPI_FLOAT, 0, self->comm));
    }
  return true;
}

bool
mpi_call_check (const MpiCall *self, const Bench *bench, uint64_t seed, int64_t *wrong)
{
  const uint64_t n = test_collective_recv_elements (self->kind, self->count, self->ranks);
  int64_t        mine = 0;

  for (uint64_t at = 0; at < n; at += 1 + n / MAX_CHECKED)
    mine += self->recv[at] != expected_of (self, seed, at);
  MPI_TRY (MPI_Allreduce (&mine, wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  return true;
}

void
mpi_call_close (MpiCall *self)
{
  free (self->send);
  free (self->recv);
  free (self->counts);
  *self = (MpiCall){ 0 };
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* *SECONDS: of CALLS of WORK on the slowest rank. */
static bool
time_calls (const Bench *bench, MpiWork work, void *user, unsigned calls, double *seconds)
{
  const double start = bench_now ();

  for (unsigned i = 0; i < calls; i++)
    if (!work (bench, user))
      return false;
  *seconds = bench_now () - start;
  if (world_max (bench->world, seconds))
    return true;
  bench_error (bench, "world_max", "times could not be exchanged: another rank has ended");
  return false;
}

bool
mpi_measure (Bench *bench, MpiWork work, void *user, Result *row)
{
  const BenchOptions *options = bench->options;
  const unsigned      repeats = options->repeats;
  unsigned            calls = options->iterations;
  double             *samples = calloc (repeats, sizeof *samples), once = 0, spent = 0;
  /* The first call makes the connections; warm-up is as many more as there is time for. */
  bool good = samples != NULL && time_calls (bench, work, user, 1, &once);

  for (unsigned i = 0; good && i < options->warmup && spent + once < WARMUP_SECONDS; i++)
    {
      good = time_calls (bench, work, user, 1, &once);
      spent += once;
    }
  if (calls * once > REPEAT_SECONDS)
    calls = once < REPEAT_SECONDS ? (unsigned) (REPEAT_SECONDS / once) : 1;
  for (unsigned i = 0; good && i < repeats; i++)
    {
      good = time_calls (bench, work, user, calls, &samples[i]);
      samples[i] /= calls;
    }
  if (good)
    {
      row->dtype = "fp32";
      result_set_times (row, samples, repeats);
      good = results_add (bench->results, row);
    }
  free (samples);
  return good;
}

bool
mpi_call_is_right (const MpiCall *self, const Bench *bench, uint64_t seed, const char *what)
{
  int64_t wrong;

  if (!mpi_call_check (self, bench, seed, &wrong))
    return false;
  if (wrong > 0)
    bench_error (bench, what, "%lld wrong elements", (long long) wrong);
  return wrong == 0;
}

#endif
