#ifdef BENCH_CUDA

#include <math.h>
#include <stdlib.h>

#include "bench/gpu/check.h"
#include "bench/gpu/streamed-attention.h"

/* Keys that no part shares evenly, and that are no whole number of what a warp takes at once. */
#define PAIRS   2ul
#define HEADS   4ul
#define KEYS    517ul
#define PARTS   2
#define HEAD    (size_t) STREAMED_HEAD_SIZE
#define QUERIES (PAIRS * HEADS * HEAD)
#define CACHE   (PAIRS * KEYS * HEAD)
#define BOUND   5e-3 /* bf16's rounding of the result */

typedef struct
{
  double q[QUERIES], k[CACHE], v[CACHE];
  double want[QUERIES], got[QUERIES];
} Values;

/* What query head HEAD of PAIR attends to, in WANT, which is zero. */
static void
attend (Values *x, size_t pair, size_t head)
{
  const double *q = x->q + (pair * HEADS + head) * HEAD;
  double       *want = x->want + (pair * HEADS + head) * HEAD, total = 0;

  for (size_t key = 0; key < KEYS; key++)
    {
      const double *k = x->k + (pair * KEYS + key) * HEAD, *v = x->v + (pair * KEYS + key) * HEAD;
      double        score = 0, weight;

      for (size_t i = 0; i < HEAD; i++)
        score += q[i] * k[i];
      weight = exp (score / sqrt ((double) HEAD)); /* operands are at most 1: no overflow */
      total += weight;
      for (size_t i = 0; i < HEAD; i++)
        want[i] += weight * v[i];
    }
  for (size_t i = 0; i < HEAD; i++)
    want[i] /= total;
}

static bool
run_on (const Bench *bench, const StreamedAttention *kernels, char *memory, Values *x)
{
  const StreamedShape shape = { PAIRS, HEADS, KEYS, PARTS };
  const size_t    queries = streamed_query_bytes (&shape), cache = streamed_cache_bytes (&shape);
  StreamedBuffers at = { .q = memory, .k = memory + queries, .v = memory + queries + cache };

  at.o = memory + queries + 2 * cache;
  at.parts = memory + 2 * (queries + cache);
  CUDA_TRY (cudaMemset (at.o, 0, queries));
  if (!cuda_fill_random (bench, memory, queries + 2 * cache, "bf16", 13)
      || !streamed_run (bench, kernels, &shape, &at, NULL))
    return false;
  CUDA_TRY (cudaDeviceSynchronize ());
  if (!check_read (bench, at.q, "bf16", QUERIES, x->q)
      || !check_read (bench, at.k, "bf16", CACHE, x->k)
      || !check_read (bench, at.v, "bf16", CACHE, x->v)
      || !check_read (bench, at.o, "bf16", QUERIES, x->got))
    return false;
  for (size_t pair = 0; pair < PAIRS; pair++)
    for (size_t head = 0; head < HEADS; head++)
      attend (x, pair, head);
  return check_close (bench, "attention over a cache", x->want, x->got, QUERIES, BOUND);
}

bool
check_decode_attention (const Bench *bench)
{
  const StreamedShape shape = { PAIRS, HEADS, KEYS, PARTS };
  const size_t        bytes = 2 * (streamed_query_bytes (&shape) + streamed_cache_bytes (&shape))
                       + streamed_part_bytes (&shape);
  StreamedAttention kernels;
  Values           *x = calloc (1, sizeof *x);
  char             *memory = NULL;
  bool              good = streamed_open (bench, &kernels, HEADS);

  if (x == NULL)
    bench_error (bench, "calloc", "out of memory");
  else if (good && cudaMalloc ((void **) &memory, bytes) != cudaSuccess)
    good = cuda_failed (bench, "cudaMalloc", cudaGetLastError ());
  good = good && x != NULL && run_on (bench, &kernels, memory, x);
  cudaFree (memory);
  free (x);
  streamed_close (&kernels);
  return good;
}

#endif
