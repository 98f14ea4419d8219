#ifdef BENCH_CUDA

#include <stdlib.h>

#include "bench/nccl/nccl-session.h"

#define REPEAT_SECONDS 0.2
#define WARM_SECONDS   1.0

/* Calls of an operation, in turn at its offsets. */
typedef struct
{
  NcclSession  *session;
  const NcclOp *op;
  unsigned      next;
} Calls;

static bool
launch_next (const Bench *bench, cudaStream_t stream, void *user)
{
  Calls *self = user;

  (void) bench, (void) stream; /* the session's */
  return nccl_op_launch (self->session, self->op, self->next++);
}

/* N calls of OP as *CHAIN. A library may meet the other ranks to make them. */
static bool
capture (NcclSession *self, const NcclOp *op, unsigned n, cudaGraphExec_t *chain)
{
  Calls calls = { .session = self, .op = op };
  bool  good;

  nccl_watch_begin (self->watch, nccl_op_call (op));
  good = cuda_capture (self->bench, self->stream, launch_next, &calls, n, chain);
  return nccl_watch_end (self->watch) && good;
}

/* N calls on the stream: those of CHAIN, if there is one. */
static bool
launch_calls (NcclSession *self, const NcclOp *op, unsigned n, cudaGraphExec_t chain)
{
  const Bench *bench = self->bench;

  if (chain != NULL)
    CUDA_TRY (cudaGraphLaunch (chain, self->stream));
  for (unsigned i = 0; chain == NULL && i < n; i++)
    if (!nccl_op_launch (self, op, i))
      return false;
  return true;
}

/*
 * *SECONDS of one of N calls of OP, the mean over the ranks. A small all-reduce goes before what is
 * timed: ranks come out of a barrier at different times (files are polled), and that must not be
 * measured.
 */
static bool
time_calls (NcclSession *self, const NcclOp *op, unsigned n, cudaGraphExec_t chain, double *seconds)
{
  const Bench *bench = self->bench;
  const char  *call = nccl_op_call (op);
  float        ms;

  if (!world_barrier (bench->world))
    {
      bench_error (bench, "world_barrier", "another rank has ended, or does not answer");
      return false;
    }
  nccl_watch_begin (self->watch, call);
  NCCL_TRY (ncclAllReduce (self->scratch, self->scratch, 1, ncclFloat32, ncclSum, self->comm,
                           self->stream));
  CUDA_TRY (cudaEventRecord (self->begin, self->stream));
  if (!launch_calls (self, op, n, chain))
    return false;
  CUDA_TRY (cudaEventRecord (self->end, self->stream));
  if (!nccl_session_wait (self, call))
    return false;
  CUDA_TRY (cudaEventElapsedTime (&ms, self->begin, self->end));
  if (!nccl_watch_end (self->watch))
    return false;
  *seconds = 1e-3 * ms / n;
  if (world_mean (bench->world, seconds))
    return true;
  bench_error (bench, "world_mean", "another rank has ended, or does not answer");
  return false;
}

/* The same with what GRAPHS asks for. */
static bool
repeat (NcclSession *self, const NcclOp *op, unsigned n, bool graphs, double *seconds)
{
  cudaGraphExec_t chain = NULL;
  const bool      good =
      (!graphs || capture (self, op, n, &chain)) && time_calls (self, op, n, chain, seconds);

  if (chain != NULL)
    cudaGraphExecDestroy (chain);
  return good;
}

/* N calls, or as many as take LIMIT where one takes SECONDS. */
static unsigned
at_most (unsigned n, double seconds, double limit)
{
  if (seconds * n <= limit)
    return n;
  return seconds < limit ? (unsigned) (limit / seconds) : 1;
}

bool
nccl_time (NcclSession *self, const NcclOp *op, Result *result)
{
  const BenchOptions *options = self->bench->options;
  double             *samples = calloc (options->repeats, sizeof *samples), once = 0;
  unsigned            n = options->warmup > 0 ? options->warmup : 1;
  /* The first call connects ranks: it says nothing about the next. */
  bool good = samples != NULL && repeat (self, op, 1, false, &once);

  /* On a slow network five calls of GiBs would take longer than what is watched for. */
  good = good && repeat (self, op, at_most (n, once, WARM_SECONDS), false, &once);
  n = at_most (options->iterations, once, REPEAT_SECONDS);
  for (unsigned i = 0; good && i < options->repeats; i++)
    good = repeat (self, op, n, options->graphs, &samples[i]);
  if (good)
    result_set_times (result, samples, options->repeats);
  free (samples);
  return good;
}

#endif
