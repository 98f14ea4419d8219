/*
 * Replicas of shard groups under fully_shard, by hand: what their all-reduces carry, on which
 * stream reduced shards are added up, and how much memory of them is there at once. A llama of 3
 * blocks on 4 ranks in groups of 2: 136 128 parameters, which two ranks share without padding (68
 * 064 each, of the table and of the largest block 3 200 and 20 544). Not asserted: when it runs.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "small-llama.h"

#define SHARD 68064.0

typedef struct
{
  const char *options, *reduce;
  guint       micros;
  double      all_reduced;           /* bytes of a step over the replicas */
  double      outputs;               /* most bytes of reduced shards that are no gradients, */
  double      gradients;             /* and of gradients and parts of them */
  guint       casts, adds, partials; /* kernels of a step, over the 5 units */
} Case;

/* A reduction's output that goes at once is of one unit at a time: a block's. */
#define BLOCK 20544.0

static const Case cases[] = {
  /* Narrower than the gradient: replicas work in shards that stay, beside their casts. */
  { "shard=2", "bf16", 1, 2 * SHARD, 2 * SHARD, 4 * SHARD, 5, 0, 0 },
  { "shard=2", "bf16", 3, 3 * 2 * SHARD, 2 * SHARD, 4 * SHARD + 4 * BLOCK, 15, 10, 0 },
  /* As wide: what has been reduced is the gradient; of later micro-steps it is added, and stays. */
  { "shard=2", "fp32", 1, 4 * SHARD, 0, 4 * SHARD, 0, 0, 0 },
  { "shard=2", "fp32", 3, 3 * 4 * SHARD, 4 * SHARD, 4 * SHARD, 0, 10, 0 },
  /* Replicas wait for the last micro-step: shards are kept and added up as they were reduced. */
  { "shard=2,requires_all_reduce=false", "bf16", 1, 2 * SHARD, 2 * SHARD, 4 * SHARD, 5, 0, 0 },
  { "shard=2,requires_all_reduce=false", "bf16", 3, 2 * SHARD, 2 * SHARD, 4 * SHARD, 5, 0, 10 },
  { "shard=2,requires_all_reduce=false", "fp32", 3, 4 * SHARD, 4 * BLOCK, 4 * SHARD + 4 * BLOCK, 0,
    0, 10 },
  /* Whole until then, cast and added where they are computed: one reduction a step. */
  { "shard=2,requires_gradient_sync=false", "fp32", 3, 4 * SHARD, 0, 4 * SHARD, 5, 10, 0 },
  /* No replicas: outputs go as soon as they are cast or added. */
  { "shard=all", "bf16", 1, 0, BLOCK, 2 * SHARD, 5, 0, 0 },
  { "shard=all", "fp32", 1, 0, 0, 2 * SHARD, 0, 0, 0 },
  { "shard=all", "fp32", 3, 0, 2 * BLOCK, 2 * SHARD, 0, 10, 0 },
};

static Workload *
model (const Case *c)
{
  g_autofree char *training =
      g_strdup_printf ("grad_accum=%u;reduce_dtype=%s", c->micros, c->reduce);

  return llama_trained (3, training);
}

static const Mesh mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 };

/* The most bytes of buffers called LABEL that a step has at once. */
static double
most_of (const Schedule *schedule, const char *label)
{
  const ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  double              held = 0, most = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem   *item = &items.items[i];
      const ScheduleBuffer *buffer;

      if (item->kind != ITEM_ALLOC && item->kind != ITEM_FREE)
        continue;
      buffer = schedule_buffer_info (schedule, 0, item->ref);
      if (g_str_equal (buffer->label, label))
        held += (item->kind == ITEM_ALLOC ? 1 : -1) * (double) buffer->bytes;
      most = MAX (most, held);
    }
  return most;
}

/* Kernels called NAME, all of which run on STREAM. */
static guint
kernels_of (const Schedule *schedule, const char *name, const char *stream)
{
  const ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  guint               n = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && g_str_equal (items.items[i].kernel->name, name))
      {
        ck_assert_str_eq (schedule_stream_info (schedule, items.items[i].stream)->name, stream);
        n++;
      }
  return n;
}

START_TEST (test_replicas)
{
  const Case          *c = &cases[_i];
  g_autoptr (Workload) workload = model (c);
  g_autoptr (Schedule) schedule = schedule_under (workload, &mesh, "hsdp", c->options);
  const MeshGroup      replicas = { .size = 2, .stride = 2 };
  const char          *stream = strstr (c->options, "sync") != NULL ? "compute"
                                : c->all_reduced > 0                ? "all_reduce"
                                                                    : "reduce_scatter";
  PlanTotals           totals = { 0 };

  schedule_totals (schedule, 0, &totals);
  ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_ALL_REDUCE, replicas),
                       c->all_reduced);
  ck_assert_double_eq (most_of (schedule, "reduce-scatter output"), c->outputs);
  ck_assert_double_eq (most_of (schedule, "gradient shard"), c->gradients);
  ck_assert_uint_eq (kernels_of (schedule, "gradient_cast", stream), c->casts);
  ck_assert_uint_eq (kernels_of (schedule, "gradient_add", stream), c->adds);
  ck_assert_uint_eq (kernels_of (schedule, "partial_add", "reduce_scatter"), c->partials);
}
END_TEST

/*
 * Offloaded gradients of three micro-steps: with replicas that wait for the last one, the shard
 * crosses to the host once, and the host adds up nothing.
 */
START_TEST (test_offload)
{
  g_autoptr (Workload) workload = llama_trained (3, "grad_accum=3");
  g_autoptr (Schedule) each = schedule_under (workload, &mesh, "hsdp", "shard=2,cpu_offload=true");
  g_autoptr (Schedule) last = schedule_under (workload, &mesh, "hsdp",
                                              "shard=2,cpu_offload=true,requires_all_reduce=false");
  const guint          to_host = move_kind (PLACE_HBM, PLACE_PINNED);
  PlanTotals           totals[2] = { 0 };

  schedule_totals (each, 0, &totals[0]);
  schedule_totals (last, 0, &totals[1]);
  ck_assert_double_eq (totals[0].moves[to_host], 3 * 4 * SHARD);
  ck_assert_double_eq (totals[0].host[HOST_STREAM], 2 * SHARD);
  ck_assert_double_eq (totals[1].moves[to_host], 4 * SHARD);
  ck_assert_double_eq (totals[1].host[HOST_STREAM], 0);
  ck_assert_double_eq (most_of (each, "reduce-scatter output"), 2 * SHARD);
}
END_TEST

SUITE_MAIN (hybrid)
{
  Suite *suite = suite_create ("hybrid");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_replicas, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_offload);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
