#ifdef BENCH_CUDA

#include <math.h>
#include <stdlib.h>

#include "bench/nccl-session.h"

#define REPEAT_SECONDS 0.2
#define WARM_SECONDS   1.0
#define BESIDE_SECONDS 0.1
#define LEAST_SECONDS  1e-6 /* less is no time that an event can tell */
#define MOST_SUBJECTS  64   /* with the others' calls less than what a GPU's queue holds: */
#define MOST_OTHERS    512  /* a launch that waits for room would let the other side run dry */
#define MOST_FACTOR    16   /* how much slower beside something a subject may become */

/* Calls of one repeat. */
typedef struct
{
  unsigned n, others;
} Plan;

/* ---- one repeat ------------------------------------------------------------------------------ */

/*
 * A small all-reduce on the first communicator, which both streams wait for: ranks come out of a
 * barrier at different times (files are polled), and that must not be measured.
 */
static bool
align (NcclSession *self, const NcclLoad *subject, const NcclLoad *other)
{
  const Bench *bench = self->bench;

  NCCL_TRY (ncclAllReduce (self->scratch, self->scratch, 1, ncclFloat32, ncclSum, self->comms[0],
                           self->streams[0]));
  CUDA_TRY (cudaEventRecord (self->aligned, self->streams[0]));
  if (subject->stream != self->streams[0])
    CUDA_TRY (cudaStreamWaitEvent (subject->stream, self->aligned, 0));
  if (other != NULL && other->stream != self->streams[0])
    CUDA_TRY (cudaStreamWaitEvent (other->stream, self->aligned, 0));
  return true;
}

/* The other side's first two calls: the subject's begin when one has ended, and the next runs. */
static bool
start_other (NcclSession *self, const NcclLoad *subject, const NcclLoad *other)
{
  const Bench *bench = self->bench;

  if (!other->launch (self, other->user, 0))
    return false;
  CUDA_TRY (cudaEventRecord (self->begin[1], other->stream));
  CUDA_TRY (cudaStreamWaitEvent (subject->stream, self->begin[1], 0));
  return other->launch (self, other->user, 1);
}

/* Puts all calls on their streams, the two sides' in turns. */
static bool
launch (NcclSession *self, const NcclLoad *subject, const NcclLoad *other, const Plan *plan)
{
  const Bench *bench = self->bench;
  unsigned     others = 2;

  if (!align (self, subject, other) || (other != NULL && !start_other (self, subject, other)))
    return false;
  CUDA_TRY (cudaEventRecord (self->begin[0], subject->stream));
  for (unsigned i = 0; i < plan->n; i++)
    {
      const uint64_t due = (uint64_t) plan->others * (i + 1) / (plan->n + 1);

      for (; other != NULL && others < due; others++)
        if (!other->launch (self, other->user, others))
          return false;
      if (!subject->launch (self, subject->user, i))
        return false;
    }
  CUDA_TRY (cudaEventRecord (self->end[0], subject->stream));
  for (; other != NULL && others < plan->others; others++)
    if (!other->launch (self, other->user, others))
      return false;
  if (other != NULL)
    CUDA_TRY (cudaEventRecord (self->end[1], other->stream));
  return true;
}

static bool
read_clock (NcclSession *self, const NcclLoad *other, const Plan *plan, double *seconds,
            bool *covered)
{
  const Bench *bench = self->bench;
  float        own, others = 0;

  CUDA_TRY (cudaEventSynchronize (self->end[0]));
  CUDA_TRY (cudaEventElapsedTime (&own, self->begin[0], self->end[0]));
  if (other != NULL)
    {
      CUDA_TRY (cudaEventSynchronize (self->end[1]));
      CUDA_TRY (cudaEventElapsedTime (&others, self->begin[0], self->end[1]));
    }
  *seconds = 1e-3 * own / plan->n;
  *covered = other == NULL || others >= own;
  return true;
}

/* *SECONDS of one call, the mean over the ranks; *COVERED on every rank. */
static bool
repeat (NcclSession *self, const NcclLoad *subject, const NcclLoad *other, const Plan *plan,
        double *seconds, bool *covered)
{
  const Bench *bench = self->bench;
  double       bare;

  *covered = false;
  if (!world_barrier (bench->world))
    {
      bench_error (bench, "world_barrier", "another rank has ended, or does not answer");
      return false;
    }
  nccl_watch_begin (self->watch, subject->call);
  if (!launch (self, subject, other, plan) || !nccl_session_wait (self, subject->call)
      || !read_clock (self, other, plan, seconds, covered) || !nccl_watch_end (self->watch))
    return false;
  bare = *covered ? 0 : 1;
  if (!world_mean (bench->world, seconds) || !world_max (bench->world, &bare))
    {
      bench_error (bench, "world_mean", "another rank has ended, or does not answer");
      return false;
    }
  *covered = bare == 0;
  return true;
}

/* ---- repeats --------------------------------------------------------------------------------- */

/*
 * Warm-up, and how many calls a repeat makes. The first call connects ranks: it says nothing about
 * the next.
 */
static bool
plan_alone (NcclSession *self, const NcclLoad *subject, Plan *plan)
{
  const BenchOptions *options = self->bench->options;
  Plan                one = { .n = 1 }, warm = { .n = options->warmup > 0 ? options->warmup : 1 };
  double              seconds;
  bool                covered;

  if (!repeat (self, subject, NULL, &one, &seconds, &covered))
    return false;
  /* On a slow network five calls of GiBs would take longer than what is watched for. */
  if (seconds * warm.n > WARM_SECONDS)
    warm.n = seconds < WARM_SECONDS ? (unsigned) (WARM_SECONDS / seconds) : 1;
  if (!repeat (self, subject, NULL, &warm, &seconds, &covered))
    return false;
  *plan = (Plan){ .n = options->iterations };
  if (seconds * plan->n > REPEAT_SECONDS)
    plan->n = seconds < REPEAT_SECONDS ? (unsigned) (REPEAT_SECONDS / seconds) : 1;
  return true;
}

/*
 * Calls that keep OTHER running while SUBJECT is FACTOR times as slow as alone. FALSE: more than
 * can be queued.
 */
static bool
plan_beside (const NcclSession *self, const NcclLoad *subject, const NcclLoad *other, double factor,
             Plan *plan)
{
  const unsigned most = self->bench->options->iterations;
  const double   own = fmax (subject->alone, LEAST_SECONDS);
  const double   each = factor * own / fmax (other->alone, LEAST_SECONDS);
  double         n = fmin (fmin (MOST_SUBJECTS, most), BESIDE_SECONDS / own);

  n = fmax (1, floor (fmin (n, (MOST_OTHERS - 4) / each)));
  *plan = (Plan){ .n = (unsigned) n, .others = (unsigned) fmin (MOST_OTHERS, ceil (n * each) + 4) };
  return n * each + 4 <= MOST_OTHERS;
}

static bool
take_samples (NcclSession *self, const NcclLoad *subject, const NcclLoad *other, const Plan *plan,
              double *samples, bool *covered)
{
  const unsigned n = self->bench->options->repeats;

  *covered = true;
  for (unsigned i = 0; i < n && *covered; i++)
    if (!repeat (self, subject, other, plan, &samples[i], covered))
      return false;
  return true;
}

static bool
measure_beside (NcclSession *self, const NcclLoad *subject, const NcclLoad *other, double *samples,
                bool *covered)
{
  Plan plan;

  *covered = false;
  for (double factor = 2; factor <= MOST_FACTOR && !*covered; factor *= 2)
    {
      if (!plan_beside (self, subject, other, factor, &plan))
        return true;
      if (!repeat (self, subject, other, &plan, &samples[0], covered))
        return false;
      if (*covered && !take_samples (self, subject, other, &plan, samples, covered))
        return false;
    }
  return true;
}

bool
nccl_time (NcclSession *self, NcclLoad *subject, NcclLoad *other, bool *covered, Result *result)
{
  const unsigned n = self->bench->options->repeats;
  double        *samples = calloc (n, sizeof *samples);
  bool           all = true, good = samples != NULL;
  Plan           plan;

  if (good && other != NULL)
    good = measure_beside (self, subject, other, samples, &all);
  else if (good)
    good = plan_alone (self, subject, &plan)
           && take_samples (self, subject, NULL, &plan, samples, &all);
  if (good && all)
    result_set_times (result, samples, n);
  if (good && other == NULL)
    subject->alone = 1e-6 * result->value;
  if (covered != NULL)
    *covered = all;
  free (samples);
  return good;
}

#endif
