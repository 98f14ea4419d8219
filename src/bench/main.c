/*
 * shardsim-bench: measures the machine that it runs on. docs/bench.md says how to build and to run
 * it, and what the numbers mean.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/options.h"

#ifdef BENCH_CUDA
#include "bench/gpu/cuda.h"
#endif
#ifdef BENCH_MPI
#include "bench/mpi/mpi-call.h"
#endif

#ifndef SHARDSIM_VERSION
#define SHARDSIM_VERSION "0.1.0"
#endif

enum
{
  STATUS_DONE = 0,
  STATUS_FAILED = 1,
  STATUS_USAGE = 2,
};

/* What was asked for. */
typedef struct
{
  const Benchmark *list[BENCH_MAX_LIST];
  unsigned         n, needs;
} Selection;

/* ---- what there is --------------------------------------------------------------------------- */

static void
print_version (void)
{
  printf ("shardsim-bench %s (results format %d)", SHARDSIM_VERSION, RESULTS_FORMAT);
#ifdef BENCH_CUDA
  printf (", CUDA %d.%d, NCCL %d.%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
          NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
#else
  printf (", no CUDA");
#endif
#ifdef BENCH_MPI
  puts (", MPI");
#else
  puts (", no MPI");
#endif
}

/* `all` is what measures a machine by itself. */
static bool
is_in_all (const Benchmark *benchmark)
{
  return !benchmark->checks && (benchmark->needs & NEEDS_MPI) == 0;
}

static void
print_list (void)
{
  for (const Benchmark *one = benchmarks; one->name != NULL; one++)
    printf ("%-20s %s%s\n", one->name, one->title, is_in_all (one) ? "" : " (not in 'all')");
}

static bool
select_word (Selection *selection, const char *word)
{
  bool all = strcmp (word, "all") == 0, known = all;

  for (const Benchmark *one = benchmarks; one->name != NULL; one++)
    {
      bool selected = false;

      if (all ? !is_in_all (one) : strcmp (one->name, word) != 0)
        continue;
      known = true;
      for (unsigned i = 0; i < selection->n; i++)
        selected |= selection->list[i] == one;
      if (selected)
        continue;
      selection->list[selection->n++] = one;
      selection->needs |= one->needs;
    }
  if (!known)
    fprintf (stderr,
             "shardsim-bench: no benchmark '%s' is built in\n"
             "  see 'shardsim-bench --list', and '--version' for what is built in\n",
             word);
  return known;
}

/*
 * Whether the benchmarks can do what the options ask, as far as that is known before MPI and CUDA
 * start.
 */
static bool
check_selection (Bench *bench, const Selection *selection)
{
  bool good = true;

  for (unsigned i = 0; good && i < selection->n; i++)
    {
      bench->name = selection->list[i]->name;
      good = selection->list[i]->check_options == NULL || selection->list[i]->check_options (bench);
    }
  bench->name = NULL;
#ifdef BENCH_MPI
  if (good && (selection->needs & NEEDS_MPI) != 0)
    good = mpi_force_algorithm (bench->options->algorithm);
#endif
  return good;
}

/*
 * What all ranks would say before they know each other one of them says: the others' stderr goes
 * nowhere until it is given back. -1: it is theirs.
 */
static int
mute_others (void)
{
  const int kept = world_launched_rank () > 0 ? dup (STDERR_FILENO) : -1;

  if (kept >= 0 && freopen ("/dev/null", "w", stderr) == NULL)
    return -1;
  return kept;
}

static void
speak_again (int kept)
{
  if (kept < 0)
    return;
  fflush (stderr);
  dup2 (kept, STDERR_FILENO);
  close (kept);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/*
 * As many ranks as were asked for, else one a GPU of this machine where the benchmarks are of all
 * ranks. GPUs are counted in a process of its own: ranks are forked before CUDA starts.
 */
static unsigned
choose_local_ranks (const BenchOptions *options, const Selection *selection)
{
#ifdef BENCH_CUDA
  const unsigned both = NEEDS_CUDA | NEEDS_ALL_RANKS;
  pid_t          child;
  int            how = 0;

  if (options->local_ranks > 0 || (selection->needs & both) != both)
    return options->local_ranks;
  child = fork ();
  if (child == 0)
    {
      int n = 0;

      _exit (cudaGetDeviceCount (&n) == cudaSuccess && n < 128 ? n : 0);
    }
  if (child < 0 || waitpid (child, &how, 0) != child || !WIFEXITED (how))
    return 0;
  return (unsigned) WEXITSTATUS (how);
#else
  (void) selection;
  return options->local_ranks;
#endif
}

/* ---- running --------------------------------------------------------------------------------- */

/* What is of one GPU or host runs on rank 0, while the others wait. */
static int
run_all (Bench *bench, const Selection *selection)
{
  int status = STATUS_DONE;

  for (unsigned i = 0; i < selection->n; i++)
    {
      const Benchmark *one = selection->list[i];
      const bool       alone = (one->needs & NEEDS_ALL_RANKS) == 0;
      const unsigned   before = results_count (bench->results);
      bool             good = true;

      bench->name = one->name;
      if (!alone || world_place (bench->world)->rank == 0)
        good = one->run (bench);
      if (good && !one->checks && results_count (bench->results) == before)
        bench_note (
            bench,
            "nothing measured: no case lies within the sizes, types and memory that there are");
      bench->name = NULL;
      if (!good)
        status = STATUS_FAILED;
      if (!good && !alone) /* the ranks are out of step: nothing more can be measured */
        return status;
      if (!world_barrier (bench->world))
        {
          bench_error (bench, "barrier", "another rank has ended, or does not answer");
          return STATUS_FAILED;
        }
    }
  return status;
}

static int
measure (Bench *bench, const Selection *selection)
{
  const WorldPlace *place = world_place (bench->world);
  Machine           machine = { .host = place->host };
  const char       *error = NULL;
  int               status;

  if ((selection->needs & NEEDS_MPI) != 0 && !world_mpi_launched ())
    {
      bench_error (bench, "MPI", "start it with mpirun, as in 'mpirun -n 2 shardsim-bench ...'");
      return STATUS_USAGE;
    }
#ifdef BENCH_CUDA
  CudaMachine cuda;

  if ((selection->needs & NEEDS_CUDA) != 0)
    {
      if (!cuda_open (bench, place->local_rank, bench->options->one_gpu, &cuda))
        return STATUS_FAILED;
      machine = (Machine){ place->host, cuda.device, cuda.driver, cuda.cuda, cuda.nccl };
    }
#endif
  bench->results = results_open (bench->options->output, &machine, place->rank == 0, &error);
  if (bench->results == NULL)
    {
      bench_error (bench, bench->options->output, "cannot write results there: %s", error);
      return STATUS_USAGE;
    }
  status = run_all (bench, selection);
  if (!results_close (bench->results))
    {
      bench_error (bench, bench->options->output, "results could not be written: %s",
                   strerror (errno));
      status = STATUS_USAGE;
    }
  return status;
}

/* What the command line asks for into SELECTION. *STATUS where nothing is to be run. */
static bool
read_command_line (int argc, char **argv, Bench *bench, BenchOptions *options, Selection *selection,
                   int *status)
{
  const char *words[BENCH_MAX_LIST];
  unsigned    n = 0;

  *status = STATUS_DONE;
  switch (options_parse (argc, argv, options, words, &n))
    {
    case OPTIONS_RUN:
      break;
    case OPTIONS_LIST:
      print_list ();
      return false;
    case OPTIONS_VERSION:
      print_version ();
      return false;
    case OPTIONS_HELP:
      return false;
    default:
      *status = STATUS_USAGE;
      return false;
    }
  *status = STATUS_USAGE;
  for (unsigned i = 0; i < n; i++)
    if (!select_word (selection, words[i]))
      return false;
  if (selection->n == 0)
    fputs ("shardsim-bench: no benchmark named\n"
           "  'shardsim-bench --list' names them, 'shardsim-bench all' runs them\n",
           stderr);
  return selection->n > 0 && check_selection (bench, selection);
}

int
main (int argc, char **argv)
{
  BenchOptions options;
  Selection    selection = { 0 };
  const char  *error;
  int          status, muted = mute_others ();
  Bench        bench = { .options = &options };
  const bool   runs = read_command_line (argc, argv, &bench, &options, &selection, &status);

  speak_again (muted);
  if (!runs)
    return status;
  bench.world = world_open (choose_local_ranks (&options, &selection), options.rendezvous,
                            options.timeout_s, &status, &error);
  if (bench.world == NULL && status >= 0)
    return status; /* the ranks have ended */
  if (bench.world == NULL)
    {
      fprintf (stderr, "shardsim-bench: %s\n", error);
      return STATUS_FAILED;
    }
  status = measure (&bench, &selection);
  world_close (bench.world, status != STATUS_DONE);
  return status;
}
