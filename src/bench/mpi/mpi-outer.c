/*
 * mpi_outer: the rounds of a strategy with local steps (DiLoCo and its kin) between plain hosts: H
 * steps of training, then the mean of what the workers have changed, over MPI, and a Nesterov step.
 * A host is a worker: ranks of the same place in their hosts are a ring of their own, as each holds
 * another shard. On one host every rank is a worker.
 *
 *   exchange             all-reduce of the shard
 *   exchange.fragment    all-reduce of one of P fragments of it
 *   round.local          H steps, nothing else
 *   round.blocking       H steps, the exchange of all, the outer step (DiLoCo)
 *   round.streaming      fragment f is exchanged once in the round: it leaves `overlap` steps
 *                        before the end of step (f + 1) H / P and is waited for there, while
 *                        training goes on (Streaming DiLoCo)
 *   streaming.travel     of those rounds: the time that their fragments are on their way, and
 *   streaming.wait       the part of it in which training waits; means over the ranks
 *
 * A step of training is a GPU's work, which leaves the host's processors alone: a nap of a given
 * length. Differences, momentum and step are done by the host. A thread of its own calls MPI for
 * what travels beside training, as Gloo's and NCCL's do.
 */
#ifdef BENCH_MPI

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/benchmarks.h"
#include "bench/mpi/mpi-call.h"

#define MAX_SIZES      64
#define MAX_FRAGMENTS  1024u
#define OUTER_RATE     0.7f
#define OUTER_MOMENTUM 0.9f

/* ---- what a round is ------------------------------------------------------------------------- */

typedef struct
{
  unsigned steps, step_us, fragments, overlap;
} Plan;

static const struct
{
  const char *name;
  size_t      offset; /* in Plan */
} plan_keys[] = {
  { "steps", offsetof (Plan, steps) },
  { "step_us", offsetof (Plan, step_us) },
  { "fragments", offsetof (Plan, fragments) },
  { "overlap", offsetof (Plan, overlap) },
};

/* The plan of --outer, "key=value,...", or the usual one. FALSE after a message. */
static bool
read_plan (const Bench *bench, Plan *plan)
{
  const char *text = bench->options->outer, *what = NULL;

  *plan = (Plan){ .steps = 8, .step_us = 100000, .fragments = 4, .overlap = 1 };
  while (text != NULL && *text != '\0')
    {
      size_t        length = strcspn (text, "=,"), end = strcspn (text, ",");
      unsigned     *field = NULL;
      char         *rest = NULL;
      unsigned long value = text[length] == '=' ? strtoul (text + length + 1, &rest, 10) : 0;

      for (size_t i = 0; i < sizeof plan_keys / sizeof *plan_keys; i++)
        if (strlen (plan_keys[i].name) == length && memcmp (plan_keys[i].name, text, length) == 0)
          field = (unsigned *) (void *) ((char *) plan + plan_keys[i].offset);
      if (field == NULL)
        {
          bench_error (bench, "--outer", "'%.*s' is none of steps, step_us, fragments, overlap",
                       (int) end, text);
          return false;
        }
      if (rest != text + end || text[length + 1] == '-' || value > 100000000)
        {
          bench_error (bench, "--outer", "'%.*s': expected a whole number up to 100000000",
                       (int) end, text);
          return false;
        }
      *field = (unsigned) value;
      text += end + (text[end] == ',');
    }
  if (plan->steps == 0 || plan->fragments == 0 || plan->fragments > MAX_FRAGMENTS)
    what = "steps and fragments are at least 1, fragments 1024 at most";
  else if (plan->steps % plan->fragments != 0)
    what = "steps must be a multiple of fragments";
  else if (plan->overlap >= plan->steps / plan->fragments)
    what = "overlap must be below steps / fragments: one fragment travels at a time";
  if (what != NULL)
    bench_error (bench, "--outer", "%s", what);
  return what == NULL;
}

bool
bench_mpi_outer_options (const Bench *bench)
{
  Plan plan;

  return read_plan (bench, &plan);
}

/* ---- a worker's shard ------------------------------------------------------------------------ */

typedef struct
{
  Plan         plan;
  MpiCall      whole, part; /* of all elements, of a fragment's; .send: differences, .recv: sums */
  uint64_t     count, part_count;
  float       *now, *outer, *momentum; /* parameters as trained, at the last outer step */
  float        moved;                  /* by training, between two exchanges */
  uint64_t    *exchanges;              /* of each fragment so far */
  double      *travel_s, *wait_s;      /* of the last `repeats` rounds, round i at i % repeats */
  unsigned     n_rounds, repeats;
  double       left, arrival; /* of the fragment on its way */
  pthread_t    thread;
  const Bench *bench;
  bool         arrived;
} Worker;

/* Training has moved all by as much as the rank says, so that the outcome is known. */
static void
subtract (Worker *self, uint64_t from, uint64_t n, float *differences)
{
  for (uint64_t i = 0; i < n; i++)
    {
      self->now[from + i] -= self->moved;
      differences[i] = self->outer[from + i] - self->now[from + i];
    }
}

static void
outer_step (Worker *self, uint64_t from, uint64_t n, const float *sums)
{
  const float part = 1 / (float) self->whole.ranks;

  for (uint64_t i = 0; i < n; i++)
    {
      const float mean = part * sums[i];
      float      *momentum = &self->momentum[from + i];

      *momentum = OUTER_MOMENTUM * *momentum + mean;
      self->outer[from + i] -= OUTER_RATE * (mean + OUTER_MOMENTUM * *momentum);
      self->now[from + i] = self->outer[from + i];
    }
}

/* Every element is what the exchanges so far make of it, from 0, but for rounding. */
static bool
check_worker (const Bench *bench, const Worker *self)
{
  const double mean = (double) (self->whole.ranks + 1) / 2 / 1024;
  uint64_t     wrong = 0;

  for (unsigned f = 0; f < self->plan.fragments; f++)
    {
      double momentum = 0, want = 0;

      for (uint64_t i = 0; i < self->exchanges[f]; i++)
        {
          momentum = (double) OUTER_MOMENTUM * momentum + mean;
          want -= (double) OUTER_RATE * (mean + (double) OUTER_MOMENTUM * momentum);
        }
      for (uint64_t i = f * self->part_count; i < (f + 1) * self->part_count; i++)
        wrong += !(fabs ((double) self->outer[i] - want) <= 1e-3 * fabs (want));
    }
  if (wrong > 0)
    bench_error (bench, "outer step", "%llu wrong elements", (unsigned long long) wrong);
  return wrong == 0;
}

/* ---- a round --------------------------------------------------------------------------------- */

static void
train_step (const Worker *self, double *end)
{
  struct timespec until;

  *end += 1e-6 * self->plan.step_us;
  until.tv_sec = (time_t) *end;
  until.tv_nsec = (long) (1e9 * (*end - (double) until.tv_sec));
  while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    ;
}

static bool
round_local (const Bench *bench, void *user)
{
  const Worker *self = user;
  double        end = bench_now ();

  (void) bench;
  for (unsigned step = 0; step < self->plan.steps; step++)
    train_step (self, &end);
  return true;
}

static bool
round_blocking (const Bench *bench, void *user)
{
  Worker *self = user;

  if (!round_local (bench, user))
    return false;
  subtract (self, 0, self->count, self->whole.send);
  if (!mpi_call_run (&self->whole, bench))
    return false;
  outer_step (self, 0, self->count, self->whole.recv);
  for (unsigned f = 0; f < self->plan.fragments; f++)
    self->exchanges[f]++;
  return true;
}

static void *
travel (void *user)
{
  Worker *self = user;

  self->arrived = mpi_call_run (&self->part, self->bench);
  self->arrival = bench_now ();
  return NULL;
}

static bool
leave (const Bench *bench, Worker *self, unsigned f)
{
  int error;

  subtract (self, f * self->part_count, self->part_count, self->part.send);
  self->bench = bench;
  self->left = bench_now ();
  error = pthread_create (&self->thread, NULL, travel, self);
  if (error != 0)
    bench_error (bench, "pthread_create", "%s", strerror (error));
  return error == 0;
}

static bool
arrive (Worker *self, unsigned f)
{
  const double   start = bench_now ();
  const unsigned at = self->n_rounds % self->repeats;

  pthread_join (self->thread, NULL);
  if (!self->arrived)
    return false;
  self->travel_s[at] += self->arrival - self->left;
  self->wait_s[at] += bench_now () - start;
  outer_step (self, f * self->part_count, self->part_count, self->part.recv);
  self->exchanges[f]++;
  return true;
}

static bool
round_streaming (const Bench *bench, void *user)
{
  Worker        *self = user;
  const Plan    *plan = &self->plan;
  const unsigned gap = plan->steps / plan->fragments, at = self->n_rounds % self->repeats;

  self->travel_s[at] = self->wait_s[at] = 0;
  for (unsigned step = 1; step <= plan->steps; step++)
    {
      double end = bench_now ();

      train_step (self, &end);
      if ((step + plan->overlap) % gap == 0
          && !leave (bench, self, (step + plan->overlap) / gap - 1))
        return false;
      if (step % gap == 0 && !arrive (self, step / gap - 1))
        return false;
    }
  self->n_rounds++;
  return true;
}

static bool
exchange (const Bench *bench, void *user)
{
  const Worker *self = user;

  return mpi_call_run (&self->whole, bench);
}

static bool
exchange_fragment (const Bench *bench, void *user)
{
  const Worker *self = user;

  return mpi_call_run (&self->part, bench);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static const struct
{
  const char *name;
  MpiWork     work;
  bool        part, remote;
} variants[] = {
  { "exchange", exchange, false, true },
  { "exchange.fragment", exchange_fragment, true, true },
  { "round.local", round_local, false, false },
  { "round.blocking", round_blocking, false, true },
  { "round.streaming", round_streaming, false, true },
};

static bool
measure_variants (Bench *bench, Worker *self)
{
  const Plan *plan = &self->plan;
  const struct
  {
    const char *name;
    double     *seconds;
  } means[] = { { "streaming.travel", self->travel_s }, { "streaming.wait", self->wait_s } };
  char   round[128], remark[160];
  Result row = { .benchmark = "outer_round", .ranks = self->whole.ranks, .remark = remark };

  snprintf (round, sizeof round, "%u steps of %u us; %u fragments; overlap %u", plan->steps,
            plan->step_us, plan->fragments, plan->overlap);
  for (unsigned i = 0; i < sizeof variants / sizeof *variants; i++)
    {
      row.variant = variants[i].name;
      row.bytes = (variants[i].part ? self->part_count : self->count) * sizeof (float);
      snprintf (remark, sizeof remark, "%s%s; %s", variants[i].remote ? "mpi " : "nothing is sent",
                variants[i].remote ? mpi_call_algorithm (TEST_ALL_REDUCE) : "", round);
      if (!mpi_measure (bench, variants[i].work, self, &row))
        return false;
    }
  /* Of the last rounds of round_streaming, the mean over the ranks. */
  for (unsigned k = 0; k < 2; k++)
    {
      const unsigned n = self->n_rounds < self->repeats ? self->n_rounds : self->repeats;

      for (unsigned i = 0; i < n; i++)
        if (!world_mean (bench->world, &means[k].seconds[i]))
          {
            bench_error (bench, "world_mean",
                         "times could not be exchanged: another rank has ended");
            return false;
          }
      row.variant = means[k].name;
      result_set_times (&row, means[k].seconds, n);
      if (!results_add (bench->results, &row))
        return false;
    }
  return check_worker (bench, self);
}

static bool
measure_size (Bench *bench, const Plan *plan, MPI_Comm comm, uint64_t bytes)
{
  const uint64_t part = bytes / sizeof (float) / plan->fragments, count = part * plan->fragments;
  const unsigned repeats = bench->options->repeats;
  Worker         self = { .plan = *plan,
                          .repeats = repeats,
                          .part_count = part,
                          .count = count,
                          .now = calloc (count, sizeof (float)),
                          .outer = calloc (count, sizeof (float)),
                          .momentum = calloc (count, sizeof (float)),
                          .exchanges = calloc (plan->fragments, sizeof (uint64_t)),
                          .travel_s = calloc (repeats, sizeof (double)),
                          .wait_s = calloc (repeats, sizeof (double)) };
  bool           good = false;

  if (part == 0)
    bench_error (bench, "size", "%llu bytes are not an element for each of %u fragments",
                 (unsigned long long) bytes, plan->fragments);
  else if (self.now == NULL || self.outer == NULL || self.momentum == NULL || self.exchanges == NULL
           || self.travel_s == NULL || self.wait_s == NULL)
    bench_error (bench, "malloc", "no memory for %llu elements", (unsigned long long) count);
  else
    good = mpi_call_open (&self.whole, bench, TEST_ALL_REDUCE, comm, count, bytes)
           && mpi_call_open (&self.part, bench, TEST_ALL_REDUCE, comm, part, bytes);
  if (good)
    {
      self.moved = (float) (self.whole.rank + 1) / 1024;
      good = measure_variants (bench, &self);
    }
  mpi_call_close (&self.whole);
  mpi_call_close (&self.part);
  free (self.now);
  free (self.outer);
  free (self.momentum);
  free (self.exchanges);
  free (self.travel_s);
  free (self.wait_s);
  return good;
}

bool
bench_mpi_outer (Bench *bench)
{
  const WorldPlace *place = world_place (bench->world);
  uint64_t          sizes[MAX_SIZES];
  const unsigned    n = bench_sizes (bench->options, 8 << 20, 8 << 20, 4, sizes, MAX_SIZES);
  Plan              plan;
  MPI_Comm          comm;
  int               threads;
  bool              good = true;

  if (!read_plan (bench, &plan))
    return false;
  MPI_TRY (MPI_Query_thread (&threads));
  if (threads < MPI_THREAD_SERIALIZED)
    {
      bench_error (bench, "MPI_Init_thread", "this MPI library lets only one thread call it");
      return false;
    }
  MPI_TRY (MPI_Comm_split (MPI_COMM_WORLD, place->nodes > 1 ? (int) place->local_rank : 0,
                           (int) place->rank, &comm));
  for (unsigned i = 0; good && i < n; i++)
    good = measure_size (bench, &plan, comm, sizes[i]);
  MPI_TRY (MPI_Comm_free (&comm));
  return good;
}

#endif
