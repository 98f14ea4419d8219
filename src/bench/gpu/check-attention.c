#ifdef BENCH_CUDA

#include <math.h>
#include <stdlib.h>

#include "bench/gpu/check.h"
#include "bench/gpu/fused-attention.h"

#define SEQUENCES 2ul
#define TOKENS    192ul
#define HEADS     3ul
#define HEAD      64ul
#define VALUES    (SEQUENCES * TOKENS * HEADS * HEAD)
#define MEMORY    ((8 * sizeof (uint16_t) + sizeof (float)) * VALUES)
#define BOUND     2e-2 /* bf16's rounding of probabilities, their gradients and the result */

typedef struct
{
  double q[VALUES], k[VALUES], v[VALUES], d_o[VALUES];
  double o[VALUES], d_q[VALUES], d_k[VALUES], d_v[VALUES]; /* as they should be */
  double got[VALUES];
} Values;

/* Of token and head's first value, in memory (sequence, token, head, value). */
static size_t
place (size_t sequence, size_t token, size_t head)
{
  return ((sequence * TOKENS + token) * HEADS + head) * HEAD;
}

static double
dot (const double *a, const double *b)
{
  double sum = 0;

  for (size_t i = 0; i < HEAD; i++)
    sum += a[i] * b[i];
  return sum;
}

static void
add_scaled (double *to, const double *from, double factor)
{
  for (size_t i = 0; i < HEAD; i++)
    to[i] += factor * from[i];
}

/* Probabilities of the tokens up to QUERY. */
static void
softmax (const Values *x, size_t sequence, size_t query, size_t head, double *p)
{
  double max = -INFINITY, sum = 0;

  for (size_t key = 0; key <= query; key++)
    {
      p[key] = dot (x->q + place (sequence, query, head), x->k + place (sequence, key, head))
               / sqrt (HEAD);
      max = fmax (max, p[key]);
    }
  for (size_t key = 0; key <= query; key++)
    sum += p[key] = exp (p[key] - max);
  for (size_t key = 0; key <= query; key++)
    p[key] /= sum;
}

static void
attend (Values *x, size_t sequence, size_t query, size_t head)
{
  size_t here = place (sequence, query, head);
  double p[TOKENS], mean;

  softmax (x, sequence, query, head, p);
  for (size_t key = 0; key <= query; key++)
    add_scaled (x->o + here, x->v + place (sequence, key, head), p[key]);
  mean = dot (x->d_o + here, x->o + here);
  for (size_t key = 0; key <= query; key++)
    {
      size_t there = place (sequence, key, head);
      double d_s = p[key] * (dot (x->d_o + here, x->v + there) - mean) / sqrt (HEAD);

      add_scaled (x->d_v + there, x->d_o + here, p[key]);
      add_scaled (x->d_q + here, x->k + there, d_s);
      add_scaled (x->d_k + there, x->q + here, d_s);
    }
}

/* Both passes on the device, then on the host, and what is off. */
static bool
run_passes (const Bench *bench, const AttentionBuffers *at, FusedAttention *forward,
            FusedAttention *backward, Values *x)
{
  const struct
  {
    const char *what;
    const void *device;
    double     *values;
  } inputs[] = { { "q", at->q, x->q },
                 { "k", at->k, x->k },
                 { "v", at->v, x->v },
                 { "dO", at->d_o, x->d_o } },
    outputs[] = { { "attention, result", at->o, x->o },
                  { "attention, gradient of the queries", at->d_q, x->d_q },
                  { "attention, gradient of the keys", at->d_k, x->d_k },
                  { "attention, gradient of the values", at->d_v, x->d_v } };
  bool good = true;

  if (!fused_attention_bind (forward, at) || !fused_attention_bind (backward, at)
      || !fused_attention_run (forward, 0, NULL) || !fused_attention_run (backward, 0, NULL))
    return false;
  CUDA_TRY (cudaDeviceSynchronize ());
  for (unsigned i = 0; i < 4; i++)
    if (!check_read (bench, inputs[i].device, "bf16", VALUES, inputs[i].values))
      return false;
  for (size_t sequence = 0; sequence < SEQUENCES; sequence++)
    for (size_t head = 0; head < HEADS; head++)
      for (size_t query = 0; query < TOKENS; query++)
        attend (x, sequence, query, head);
  for (unsigned i = 0; i < 4; i++)
    good = check_read (bench, outputs[i].device, "bf16", VALUES, x->got)
           && check_close (bench, outputs[i].what, outputs[i].values, x->got, VALUES, BOUND)
           && good;
  return good;
}

/* Sums start from zeros: of X, and on the device. */
static bool
check_with (const Bench *bench, Cudnn *library, char *memory, Values *x)
{
  const AttentionShape shape = { "bf16", SEQUENCES, TOKENS, HEADS, HEAD };
  const size_t         step = attention_bytes (&shape);
  AttentionBuffers     at = {
        .q = memory,
        .k = memory + step,
        .v = memory + 2 * step,
        .d_o = memory + 3 * step,
        .o = memory + 4 * step,
        .d_q = memory + 5 * step,
        .d_k = memory + 6 * step,
        .d_v = memory + 7 * step,
        .stats = memory + 8 * step,
  };
  FusedAttention *forward, *backward = NULL;
  bool            good;

  CUDA_TRY (cudaMemset (memory, 0, MEMORY));
  if (!cuda_fill_random (bench, memory, 4 * step, "bf16", 11))
    return false;
  forward = fused_attention_new (bench, library, &shape, false);
  if (forward != NULL)
    backward = fused_attention_new (bench, library, &shape, true);
  good = backward != NULL && run_passes (bench, &at, forward, backward, x);
  fused_attention_free (forward);
  fused_attention_free (backward);
  return good;
}

bool
check_attention (const Bench *bench)
{
  int     device, major;
  Cudnn  *library;
  Values *x;
  char   *memory = NULL;
  bool    good = false;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  library = major >= 8 ? cudnn_open (bench) : NULL;
  if (library == NULL)
    return true;
  x = calloc (1, sizeof *x);
  if (x == NULL)
    bench_error (bench, "calloc", "out of memory");
  else if (cudaMalloc ((void **) &memory, MEMORY) != cudaSuccess)
    cuda_failed (bench, "cudaMalloc", cudaGetLastError ());
  else
    good = check_with (bench, library, memory, x);
  cudaFree (memory);
  free (x);
  cudnn_close (library);
  return good;
}

#endif
