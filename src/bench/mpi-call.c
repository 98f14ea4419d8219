#ifdef BENCH_MPI

#include "bench/mpi-call.h"

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

static unsigned
find_algorithm (const Algorithms *list, const char *name)
{
  for (unsigned i = 0; i < sizeof list->names / sizeof list->names[0] && list->names[i] != NULL;
       i++)
    if (strcmp (list->names[i], name) == 0)
      return i + 1;
  return 0;
}

/* Once: every rank gets here, before it can talk to the others. */
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

static void
force (TestKind kind, unsigned number)
{
  char name[96], value[16];

  forced[kind] = number;
  snprintf (name, sizeof name, "OMPI_MCA_coll_tuned_%s_algorithm", algorithms[kind].parameter);
  snprintf (value, sizeof value, "%u", number);
  setenv (name, value, 1);
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
      unsigned number = name != NULL && list->parameter != NULL ? find_algorithm (list, name) : 0;

      known = known || number > 0;
      if (list->parameter != NULL)
        force (kind, number > 0 ? number : list->own);
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

static float
sum_of (const MpiCall *self, uint64_t seed, uint64_t at)
{
  float sum = 0;

  for (unsigned rank = 0; rank < self->ranks; rank++)
    sum += value_of (seed, rank, at);
  return sum;
}

/* What element AT of this rank's result has to be. */
static float
expected_of (const MpiCall *self, uint64_t seed, uint64_t at)
{
  const unsigned source = (unsigned) (at / self->count);

  switch (self->kind)
    {
    case TEST_ALL_REDUCE:
      return sum_of (self, seed, at);
    case TEST_REDUCE_SCATTER:
      return sum_of (self, seed, self->rank * self->count + at);
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

static bool
allocate (MpiCall *self, const Bench *bench)
{
  const uint64_t n_send = test_collective_send_elements (self->kind, self->count, self->ranks);
  const uint64_t n_recv = test_collective_recv_elements (self->kind, self->count, self->ranks);

  if (self->count > INT_MAX)
    {
      bench_error (bench, "size", "MPI counts elements in an int: at most %d of them", INT_MAX);
      return false;
    }
  self->send = malloc (n_send * sizeof (float));
  self->recv = calloc (n_recv, sizeof (float));
  self->counts = calloc (self->ranks, sizeof (int));
  if (self->send != NULL && self->recv != NULL && self->counts != NULL)
    return true;
  bench_error (bench, "malloc", "no memory for %llu elements",
               (unsigned long long) n_send + n_recv);
  return false;
}

bool
mpi_call_open (MpiCall *self, const Bench *bench, TestKind kind, MPI_Comm comm, uint64_t count,
               uint64_t seed)
{
  int rank, ranks;

  *self = (MpiCall){ .kind = kind, .comm = comm, .count = count };
  MPI_TRY (MPI_Comm_rank (comm, &rank));
  MPI_TRY (MPI_Comm_size (comm, &ranks));
  self->rank = (unsigned) rank;
  self->ranks = (unsigned) ranks;
  if (!allocate (self, bench))
    {
      mpi_call_close (self);
      return false;
    }
  for (uint64_t at = 0; at < test_collective_send_elements (kind, count, self->ranks); at++)
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

/*
 * The first call makes the connections; WARMUP more, as many as there is time for. *SECONDS: of one
 * call.
 */
static bool
warm_up (const Bench *bench, MpiWork work, void *user, unsigned warmup, double *seconds)
{
  if (!time_calls (bench, work, user, 1, seconds))
    return false;
  for (double spent = 0; warmup > 0 && spent + *seconds < WARMUP_SECONDS; warmup--)
    {
      if (!time_calls (bench, work, user, 1, seconds))
        return false;
      spent += *seconds;
    }
  return true;
}

bool
mpi_time (const Bench *bench, MpiWork work, void *user, Result *result)
{
  const BenchOptions *options = bench->options;
  const unsigned      repeats = options->repeats;
  unsigned            calls = options->iterations;
  double             *samples = calloc (repeats, sizeof *samples);
  double              once = 0;
  bool                good = samples != NULL && warm_up (bench, work, user, options->warmup, &once);

  if (calls * once > REPEAT_SECONDS)
    calls = once < REPEAT_SECONDS ? (unsigned) (REPEAT_SECONDS / once) : 1;
  for (unsigned i = 0; good && i < repeats; i++)
    {
      good = time_calls (bench, work, user, calls, &samples[i]);
      samples[i] /= calls;
    }
  if (good)
    result_set_times (result, samples, repeats);
  free (samples);
  return good;
}

#endif
