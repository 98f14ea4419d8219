/*
 * Causal attention, forward and backward, by the kernels that cuDNN has for it, where there is
 * cuDNN. Operands are random; the sets of them rotate where one would stay in the L2 cache, as with
 * matrix products.
 */
#ifdef BENCH_CUDA

#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/gpu/fused-attention.h"
#include "bench/gpu/lanes.h"
#include "bench/room.h"

#define MIN_CAPABILITY 80
#define MIN_SEQ        1024u
#define MAX_SEQ        32768u
#define L2_TIMES       4
#define COMMANDS       8 /* of one pass at most */

/*
 * Heads of a device: a 7B's, half of them (a 13B's under tensor parallelism 2, and so on), a 70B's
 * under 8, and small ones.
 */
static const struct
{
  unsigned heads, head_size;
} head_shapes[] = { { 32, 128 }, { 16, 128 }, { 8, 128 }, { 32, 64 } };
#define N_HEAD_SHAPES (sizeof head_shapes / sizeof *head_shapes)

static const unsigned batches[] = { 1, 4 };
#define N_BATCHES (sizeof batches / sizeof *batches)

typedef struct
{
  Cudnn   *cudnn;
  Lanes    lanes;
  uint64_t l2_bytes, room;
  char     remark[48];
  unsigned n_failed; /* shapes; the others were measured */
} Attention;

/* One shape's buffers and passes. */
typedef struct
{
  char           *memory;
  FusedAttention *forward, *backward, *timed;
  unsigned        sets, next;
} Case;

static size_t
aligned (size_t bytes)
{
  return (bytes + 255) / 256 * 256;
}

/* Q, K, V, O, dO, dQ, dK, dV and the statistics. */
static size_t
set_bytes (const AttentionShape *shape)
{
  return 8 * aligned (attention_bytes (shape)) + aligned (attention_stats_bytes (shape));
}

static AttentionBuffers
buffers_of_set (const Case *self, const AttentionShape *shape, unsigned set)
{
  char  *at = self->memory + set * set_bytes (shape);
  size_t step = aligned (attention_bytes (shape));

  return (AttentionBuffers){ .q = at,
                             .k = at + step,
                             .v = at + 2 * step,
                             .o = at + 3 * step,
                             .d_o = at + 4 * step,
                             .d_q = at + 5 * step,
                             .d_k = at + 6 * step,
                             .d_v = at + 7 * step,
                             .stats = at + 8 * step };
}

static bool
run_pass (const Bench *bench, cudaStream_t stream, void *user)
{
  Case    *self = user;
  unsigned set = self->next;

  (void) bench;
  self->next = (set + 1) % self->sets;
  return fused_attention_run (self->timed, set, stream);
}

static bool
time_pass (Bench *bench, Attention *attention, const AttentionShape *shape, Case *self,
           const char *variant, FusedAttention *pass)
{
  Result result = {
    .benchmark = bench->name,
    .variant = variant,
    .dtype = shape->dtype,
    .m = shape->seq,
    .n = shape->heads,
    .k = shape->head_size,
    .batch = shape->batch,
    .remark = attention->remark,
  };

  self->timed = pass;
  self->next = 0;
  return lanes_time (bench, &attention->lanes, run_pass, NULL, self, COMMANDS, &result)
         && results_add (bench->results, &result);
}

/* The forward pass of every set leaves the statistics that the backward pass needs. */
static bool
prepare_sets (const Bench *bench, const Attention *attention, const AttentionShape *shape,
              Case *self)
{
  CUDA_TRY (cudaMalloc ((void **) &self->memory, self->sets * set_bytes (shape)));
  if (!cuda_fill_random (bench, self->memory, self->sets * set_bytes (shape), shape->dtype, 1))
    return false;
  for (unsigned i = 0; i < self->sets; i++)
    {
      AttentionBuffers buffers = buffers_of_set (self, shape, i);

      if (!fused_attention_bind (self->forward, &buffers)
          || !fused_attention_bind (self->backward, &buffers)
          || !fused_attention_run (self->forward, i, attention->lanes.stream[0]))
        return false;
    }
  CUDA_TRY (cudaStreamSynchronize (attention->lanes.stream[0]));
  return true;
}

static unsigned
count_sets (const Attention *attention, const AttentionShape *shape)
{
  uint64_t sets = (L2_TIMES * attention->l2_bytes + set_bytes (shape) - 1) / set_bytes (shape);

  return sets < 1 ? 1 : sets > CUDNN_MAX_SETS ? CUDNN_MAX_SETS : (unsigned) sets;
}

static bool
measure (Bench *bench, Attention *attention, const AttentionShape *shape)
{
  Case self = { .sets = count_sets (attention, shape) };
  bool ran;

  self.forward = fused_attention_new (bench, attention->cudnn, shape, false);
  self.backward =
      self.forward != NULL ? fused_attention_new (bench, attention->cudnn, shape, true) : NULL;
  ran = self.backward != NULL && prepare_sets (bench, attention, shape, &self)
        && time_pass (bench, attention, shape, &self, "forward", self.forward)
        && time_pass (bench, attention, shape, &self, "backward", self.backward);
  fused_attention_free (self.forward);
  fused_attention_free (self.backward);
  cudaFree (self.memory);
  return ran;
}

/* Sets of operands, and backward's sums and workspace (at most as much again as a set). */
static bool
fits (const Bench *bench, const Attention *attention, const AttentionShape *shape)
{
  uint64_t bytes = (count_sets (attention, shape) + 1) * set_bytes (shape);
  uint64_t limit = bench->options->max_bytes;

  return bytes <= attention->room && (limit == 0 || attention_bytes (shape) <= limit);
}

static bool
run_dtype (Bench *bench, Attention *attention, const char *dtype)
{
  for (unsigned i = 0; i < N_HEAD_SHAPES; i++)
    for (unsigned seq = MIN_SEQ; seq <= MAX_SEQ; seq *= 2)
      for (unsigned j = 0; j < N_BATCHES; j++)
        {
          AttentionShape shape = { dtype, batches[j], seq, head_shapes[i].heads,
                                   head_shapes[i].head_size };

          if (fits (bench, attention, &shape) && !measure (bench, attention, &shape)
              && (++attention->n_failed >= CUDA_MAX_FAILURES || !cuda_recovers ()))
            return false;
        }
  return true;
}

static bool
run_with_cudnn (Bench *bench, Attention *self)
{
  static const char *const dtypes[] = { "bf16", "fp16" };
  unsigned                 version = cudnn_version (self->cudnn);

  snprintf (self->remark, sizeof self->remark, "causal; cuDNN %u.%u.%u", version / 10000,
            version / 100 % 100, version % 100);
  for (unsigned i = 0; i < 2; i++)
    if (bench_list_has (bench->options->dtypes, dtypes[i])
        && (i == 0 || bench->options->dtypes != NULL) && !run_dtype (bench, self, dtypes[i]))
      return false;
  return true;
}

bool
bench_attention (Bench *bench)
{
  Attention self = { 0 };
  int       device, major, l2_bytes;
  bool      ran;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));
  if (10 * major < MIN_CAPABILITY)
    {
      bench_note (bench, "cuDNN's fused attention needs compute capability 8.0: left out");
      return true;
    }
  self.l2_bytes = (uint64_t) l2_bytes;
  self.cudnn = cudnn_open (bench);
  if (self.cudnn == NULL)
    return true;
  ran = room_device (bench, &self.room) && lanes_open (bench, &self.lanes)
        && run_with_cudnn (bench, &self);
  cudnn_close (self.cudnn);
  lanes_close (&self.lanes);
  return ran && self.n_failed == 0;
}

#endif
