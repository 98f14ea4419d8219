#include "arithmetic.h"

#define US UINT64_C (1000000)

/* The model of all pages: tokens, width, feed-forward width, vocabulary. */
#define T UINT64_C (100)
#define H UINT64_C (200)
#define F UINT64_C (400)
#define V UINT64_C (500)

static const uint64_t x = 2 * T * H, g = 2 * T * F, logits = 2 * T * V, wide = 4 * T * V,
                      ids = 8 * T;
static const uint64_t row = 4 * T, norm = 2 * H, attention_rows = 4 * T * 2;
static const uint64_t parameters = 2 * V * H + 4 * H * H + 3 * H * F + 3 * H;

/* ---- kernels --------------------------------------------------------------------------------- */

static uint64_t
stream (uint64_t launches, uint64_t bytes)
{
  return launches * US / 10 + bytes; /* 1 TB/s: 1 ps a byte */
}

static uint64_t
product (uint64_t k)
{
  return US / 10 + k * 2 * 50 * 50 * 2; /* a wave of 50 x 50 tiles at 1/2 FLOP/ps an SM */
}

/*
 * One of two heads of 100, in the kernel for 128, is one block on one SM: PRODUCTS of T x T x 100
 * at 0.5 x 100/128 FLOP/ps.
 */
static uint64_t
attention (uint64_t products)
{
  return US / 10 + products * 2 * T * T * 100 * 128 * 2 / 100;
}

static uint64_t
head_forward (void)
{
  return product (H) + stream (1, logits + wide + 2) + stream (1, 2 * wide) + stream (2, 12 * T);
}

static uint64_t
block_forward (void)
{
  uint64_t norms = 2 * stream (1, 2 * x + row + norm);
  uint64_t core = 4 * product (H) + stream (10, x * 10 * 2) + attention (2);
  uint64_t mlp = 2 * product (H) + stream (2, 5 * g) + product (F);

  return norms + core + mlp + 2 * stream (1, 3 * x);
}

static uint64_t
norm_backward (void)
{
  return stream (1, 3 * x + row + norm) + stream (1, 2 * x + row + norm);
}

static uint64_t
head_backward (void)
{
  return stream (2, wide) + stream (1, 3 * wide) + stream (1, wide + logits) + product (V)
         + product (T) + norm_backward ();
}

static uint64_t
block_backward (void)
{
  uint64_t sums = 5 * stream (1, 3 * x);
  uint64_t mlp = product (H) + 2 * product (F) + 3 * product (T) + stream (3, 9 * g);
  uint64_t core = stream (1, 4 * x + attention_rows) + attention (5) + stream (1, 3 * x)
                  + stream (18, x * 15 * 2);

  return sums + mlp + core + 4 * (product (H) + product (T)) + 2 * norm_backward ();
}

static uint64_t
embedding_backward (void)
{
  return stream (1, 2 * V * H) + stream (1, 2 * x + ids);
}

/* ---- page 1 ---------------------------------------------------------------------------------- */

static uint64_t
kept_for_backward (void)
{
  uint64_t block = 8 * x + 4 * g + 2 * row + attention_rows;

  return ids + block + 2 * x + row + wide;
}

WorkedDdp
worked_ddp (void)
{
  WorkedDdp d = { 0 };

  d.forward =
      stream (1, 2 * x + ids) + block_forward () + stream (1, 2 * x + row + norm) + head_forward ();
  d.backward = head_backward () + block_backward () + embedding_backward ();
  d.all_reduce = US / 10 + 84 * US / 10 + US * 2 * 34 / 10 + 2 * parameters * 20;
  d.optimizer = stream (1, 28 * parameters);
  d.step = US / 10 + d.forward + d.backward + d.all_reduce + d.optimizer;
  d.hbm = 16 * parameters + kept_for_backward () + 2 * wide + 2;
  return d;
}

/* ---- page 2 ---------------------------------------------------------------------------------- */

#define UNITS 12

/*
 * Of the three steps of the ring's longest path two go between nodes, 16 us each. The hop inside a
 * node takes 3.4 us less what its edge, 50 times as fast, waits for the card's: 0.98 ns a byte of
 * S / 4. Where that is below nothing, the path is shorter without it.
 */
static uint64_t
hops (uint64_t bytes)
{
  int64_t net = 16 * (int64_t) US, inside = 34 * (int64_t) US / 10 - (int64_t) bytes / 4 * 980;
  int64_t through = 2 * net + inside;

  return (uint64_t) (through > net ? through : net);
}

static uint64_t
over_all (uint64_t bytes)
{
  return US / 10 + 84 * US / 10 + hops (bytes) + bytes * 3 / 4 * 1000;
}

static uint64_t
gather_all (void)
{
  return 2 * over_all (2 * V * H) + 3 * over_all (2 * H) + 4 * over_all (2 * H * H)
         + 3 * over_all (2 * H * F);
}

static uint64_t
over_node (uint64_t times, uint64_t bytes)
{
  return times * (US / 10 + 84 * US / 10 + 34 * US / 10) + bytes / 2 * 20;
}

static uint64_t
tail (uint64_t reduce_scatter)
{
  uint64_t shard = parameters / 4;

  /* the host waits for the reduction before it launches the cast to fp32 */
  return US / 10 + embedding_backward () + stream (1, V * H * 2 * 2)
         + stream (1, parameters * 2 * 2) + reduce_scatter + stream (1, shard * 3 * 2)
         + stream (1, 6 * shard) + stream (1, 30 * shard);
}

/* For ever: a quarter of parameters, gradients and optimizer state, and the bucket. */
static uint64_t
zero3_states (void)
{
  return 16 * parameters / 4 + 2 * parameters;
}

/*
 * The host's peak, in the head's backward: what is kept, fp32 gradients of the logits, the head's
 * parameters and gradients.
 */
static uint64_t
zero3_allocated (void)
{
  return zero3_states () + kept_for_backward () + 2 * wide + 2 + 2 * (2 * V * H);
}

/*
 * Released at the device's peak and still used. The host gathers the final norm again; its kernels
 * of the forward pass have not run: down, norm and head, head again and its gradient.
 */
static uint64_t
zero3_waiting (void)
{
  return 2 * (H * F + H + 3 * V * H);
}

/*
 * The host takes the interleaved bucket; the kernels of o are running, five units are behind: their
 * parameters and gradients, and the slices of three whose all-gather has not ended.
 */
static uint64_t
fcdp_waiting (void)
{
  return 2 * 2 * (4 * H * H + H + V * H) + (H * H + H + V * H);
}

WorkedFcdp
worked_fcdp (void)
{
  uint64_t   w = 2 * parameters;
  WorkedFcdp d = { 0 };

  d.all_gathers = gather_all ();
  d.node_all_gathers = over_node (UNITS, w);
  d.reduce_scatter = over_all (w);
  d.head_copy = 2 * V * H / 2 * 10;
  d.head_forward = head_forward ();
  d.tail = tail (d.reduce_scatter);
  d.zero3_step = 2 * US / 10 + 2 * d.all_gathers + d.tail;
  d.fcdp_step =
      2 * US / 10 + d.all_gathers + d.head_forward + 2 * d.head_copy + d.node_all_gathers + d.tail;
  d.zero3_inter_node = 3 * w * 3 / 8;
  d.fcdp_inter_node = 2 * w * 3 / 8;
  d.zero3_allocated = d.fcdp_allocated = zero3_allocated ();
  d.zero3_waiting = zero3_waiting ();
  d.fcdp_waiting = fcdp_waiting ();
  d.zero3_device = zero3_states () + kept_for_backward () + 2 * wide + 2 + d.zero3_waiting + 2 * H;
  d.fcdp_device = zero3_states () + d.fcdp_waiting + w;
  d.fcdp_host = w;
  return d;
}

/* ---- page 3 ---------------------------------------------------------------------------------- */

static const uint64_t embedding = V * H, block = 4 * H * H + 3 * H * F + 2 * H, head = V * H + H;

/*
 * Beside a copy over the host link: 999 of 1000 bytes of the GPU's memory a ns, and the last
 * picosecond is a whole one.
 */
static uint64_t
beside (uint64_t launches, uint64_t bytes)
{
  return launches * US / 10 + (bytes * 1000 + 998) / 999;
}

/* N elements in fp32 over the host link: 1 ns a byte. */
static uint64_t
over_link (uint64_t n)
{
  return 4 * n * 1000;
}

static uint64_t
copy_in (uint64_t n)
{
  return stream (1, 10 * n);
}

static uint64_t
copy_out (uint64_t n)
{
  return stream (1, 4 * n);
}

/* The block's backward kernels, those that stream beside a copy. */
static uint64_t
block_backward_beside (void)
{
  uint64_t norms = 2 * (beside (1, 3 * x + row + norm) + beside (1, 2 * x + row + norm));
  uint64_t products =
      4 * (product (H) + product (T)) + product (H) + 2 * product (F) + 3 * product (T);
  uint64_t core = beside (1, 4 * x + attention_rows) + attention (5) + beside (1, 3 * x)
                  + beside (18, x * 15 * 2);

  return norms + products + core + beside (3, 9 * g) + 5 * beside (1, 3 * x);
}

WorkedOffload
worked_offload (void)
{
  WorkedOffload d = { 0 };
  uint64_t      workspace = 2 * g + x;

  d.forward = over_link (embedding) + copy_in (embedding) + over_link (block) + copy_in (block)
              + over_link (head) + copy_in (head) + copy_out (head);
  d.fetch = over_link (block) + copy_in (block) + copy_out (block);
  d.block_backward = block_backward_beside ();
  d.gradients = beside (1, 4 * block) + beside (1, 6 * block) + over_link (block)
                + stream (1, 6 * embedding) + over_link (embedding);
  d.step = 2 * US / 10 + d.forward + d.fetch + d.block_backward + d.gradients;
  d.host_link = 4 * (2 * parameters - head) + 4 * parameters;
  d.host = 8 * parameters;
  d.allocated = ids + 8 * x + 4 * g + 2 * row + attention_rows + workspace + 2 * embedding
                + 2 * 2 * block + 4 * block;
  d.waiting = 0; /* the reductions' memory is of their own stream, in its order */
  d.device = d.allocated + d.waiting;
  return d;
}
