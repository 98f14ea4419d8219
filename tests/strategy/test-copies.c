/*
 * What FSDP2's and FSDP1's copies move, by hand: out of what was gathered, and into what is
 * reduced, of each kind of unit, on 8 ranks of one node. Not asserted: their times (test-kernel),
 * when they run.
 *
 * A model of one block whose 4 experts are stacked: the table 100 x 64 = 6 400, over 8 ranks padded
 * to 104 x 64 = 6 656; the head 6 400 + 64, padded to 6 720. The block: 4 x 64^2 of attention, a
 * router of 4 x 64 (padded to 8 x 64), 2 norms of 64, and 3 x 4 x 128 x 64 = 98 304 of experts,
 * which are twice as many over 8 ranks unless they are cut inside.
 */
#include <check.h>

#include "../suite.h"
#include "small-llama.h"

#define ATTENTION (4 * 64 * 64 + 2 * 64)
#define ROUTER    (4 * 64)
#define EXPERTS   (3 * 4 * 128 * 64)

typedef struct
{
  const char *strategy, *options, *reduce;
  const char *kernel;
  double      read, write; /* of the block */
  gboolean    widens;
  guint       n; /* a step of two micro-steps */
} Copy;

/* With and without what 8 ranks pad. */
#define BLOCK        (ATTENTION + ROUTER + EXPERTS)
#define BLOCK_ROWS   (ATTENTION + 2 * ROUTER + 2 * EXPERTS)
#define BLOCK_INSIDE (ATTENTION + 2 * ROUTER + EXPERTS)

static const Copy copies[] = {
  { "fsdp2", "shard_format=rows", "bf16", "reduce_copy_in", 2.0 * BLOCK, 2.0 * BLOCK_ROWS, FALSE,
    2 },
  { "fsdp2", "shard_format=rows", "fp32", "reduce_copy_in", 2.0 * BLOCK, 4.0 * BLOCK_ROWS, TRUE,
    2 },
  { "fsdp2", "shard_format=rows", "fp32", "reduce_cat", 0, 0, FALSE, 0 },
  /* cut inside, experts pass once more, in their own type */
  { "fsdp2", "", "fp32", "reduce_cat", 2.0 * EXPERTS, 2.0 * EXPERTS, FALSE, 2 },
  { "fsdp2", "", "fp32", "reduce_copy_in", 2.0 * BLOCK, 4.0 * BLOCK_INSIDE, TRUE, 2 },
  /* what is whole until the last micro-step has the reduction's type by then */
  { "fsdp2", "requires_gradient_sync=false", "fp32", "reduce_copy_in", 4.0 * BLOCK,
    4.0 * BLOCK_INSIDE, FALSE, 1 },
  /* parameters are views of storage that has the padding; twice a micro-step */
  { "fsdp2", "shard_format=rows", "bf16", "copy_out", 2.0 * BLOCK_ROWS, 2.0 * BLOCK_ROWS, FALSE,
    4 },
  { "fsdp2", "shard_format=rows", "bf16", "copy_out_cat", 0, 0, FALSE, 0 },
  { "fsdp2", "", "bf16", "copy_out", 2.0 * BLOCK_INSIDE, 2.0 * BLOCK_INSIDE, FALSE, 4 },
  { "fsdp2", "", "bf16", "copy_out_cat", 2.0 * EXPERTS, 2.0 * EXPERTS, FALSE, 4 },
  { "fsdp2", "shard_format=flat", "bf16", "copy_out", 0, 0, FALSE, 0 },
  /* FSDP1: autograd puts gradients together; what is reduced is divided before, its shard behind */
  { "fsdp1", "", "bf16", "gradient_cat", 2.0 * BLOCK, 2.0 * BLOCK, FALSE, 2 },
  { "fsdp1", "", "fp32", "gradient_cat", 2.0 * BLOCK, 2.0 * BLOCK, FALSE, 2 },
  { "fsdp1", "", "fp32", "gradient_cast", 2.0 * BLOCK, 4.0 * BLOCK, FALSE, 2 },
  { "fsdp1", "", "bf16", "shard_gradient_cast", 2.0 * BLOCK / 8, 4.0 * BLOCK / 8, FALSE, 2 },
  { "fsdp1", "", "bf16", "shard_gradient_add", 8.0 * BLOCK / 8, 4.0 * BLOCK / 8, FALSE, 1 },
  { "fsdp1", "", "fp32", "shard_gradient_cast", 0, 0, FALSE, 0 },
  { "fsdp1", "", "fp32", "shard_gradient_add", 8.0 * BLOCK / 8, 4.0 * BLOCK / 8, FALSE, 1 },
  /* in place: nothing, or a cast as any other */
  { "fsdp2", "shard_format=flat", "bf16", "reduce_copy_in", 0, 0, FALSE, 0 },
  { "fsdp2", "shard_format=flat", "fp32", "reduce_copy_in", 2.0 * BLOCK, 4.0 * BLOCK, FALSE, 2 },
};

static Workload *
model (const char *reduce)
{
  ModelOptions         options = { 0 };
  ModelShape           shape = { 0 };
  TrainingOptions      training = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  Workload            *workload;

  option_table_defaults (model_options, &options);
  option_table_defaults (training_options, &training);
  options.arch = g_strdup ("llama");
  options.n_layers = 1;
  options.d_model = 64;
  options.n_heads = options.n_kv_heads = 4;
  options.d_ff = options.d_expert = 128;
  options.n_experts = 4;
  options.n_experts_per_token = 2;
  options.vocab = 100;
  training.seq_len = 32;
  training.micro_batch = 1;
  training.grad_accum = 2;
  training.clip_gradients = FALSE;
  ck_assert (option_set_key (training_options, &training, "reduce_dtype", reduce, NULL, diags));
  ck_assert_msg (model_resolve (&options, NULL, NULL, &shape, NULL, diags), "%s",
                 diag_list_first_message (diags));
  workload = workload_new (&shape, &training);
  model_shape_clear (&shape);
  option_table_clear (model_options, &options);
  option_table_clear (training_options, &training);
  return workload;
}

static const Mesh mesh = { .n_ranks = 8, .ranks_per_node = 8, .world = 8 };

START_TEST (test_copies)
{
  const Copy          *copy = &copies[_i];
  g_autoptr (Workload) workload = model (copy->reduce);
  g_autoptr (Schedule) schedule = schedule_under (workload, &mesh, copy->strategy, copy->options);
  const ScheduleItems  items = schedule_items (schedule, 0, SECTION_STEADY);
  guint                n = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (item->kind != ITEM_KERNEL || item->unit != 1
          || !g_str_equal (item->kernel->name, copy->kernel))
        continue;
      n++;
      ck_assert_double_eq (item->kernel->read_bytes, copy->read);
      ck_assert_double_eq (item->kernel->write_bytes, copy->write);
      ck_assert_int_eq (item->kernel->widens, copy->widens);
    }
  ck_assert_uint_eq (n, copy->n);
}
END_TEST

/* Buffers of the block that are called LABEL, of BYTES each: so many in the whole program. */
static guint
n_buffers (const Schedule *schedule, const char *label, double bytes)
{
  guint n = 0;

  for (BufferRef i = 0; i < schedule_n_buffers (schedule, 0); i++)
    {
      const ScheduleBuffer *buffer = schedule_buffer_info (schedule, 0, i);

      n += g_str_equal (buffer->label, label) && (double) buffer->bytes == bytes;
    }
  return n;
}

START_TEST (test_buffers)
{
  g_autoptr (Workload) workload = model ("bf16");
  g_autoptr (Schedule) rows = schedule_under (workload, &mesh, "fsdp2", "shard_format=rows");
  g_autoptr (Schedule) inside = schedule_under (workload, &mesh, "fsdp2", "");

  ck_assert_uint_gt (n_buffers (rows, "parameters", 2.0 * BLOCK_ROWS), 0);
  ck_assert_uint_eq (n_buffers (rows, "parameters", 2.0 * BLOCK), 0);
  ck_assert_uint_eq (n_buffers (rows, "interleaved shards", 2.0 * EXPERTS), 0);
  ck_assert_uint_gt (n_buffers (inside, "parameters", 2.0 * BLOCK_INSIDE), 0);
  ck_assert_uint_eq (n_buffers (inside, "interleaved shards", 2.0 * EXPERTS),
                     n_buffers (inside, "parameters", 2.0 * BLOCK_INSIDE));
}
END_TEST

/* The passes over what FSDP1 reduces of the block, in fp32, and over its shard. */
START_TEST (test_divisions)
{
  static const double  bytes[] = { 4.0 * BLOCK, 4.0 * BLOCK / 8 };
  g_autoptr (Workload) workload = model ("fp32");
  g_autoptr (Schedule) schedule = schedule_under (workload, &mesh, "fsdp1", "");
  const ScheduleItems  items = schedule_items (schedule, 0, SECTION_STEADY);
  guint                n = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (item->kind != ITEM_KERNEL || item->unit != 1
          || !g_str_equal (item->kernel->name, "gradient_divide"))
        continue;
      ck_assert_double_eq (item->kernel->read_bytes, bytes[n % 2]);
      ck_assert_double_eq (item->kernel->write_bytes, bytes[n % 2]);
      ck_assert_str_eq (schedule_stream_info (schedule, item->stream)->name, "post_backward");
      n++;
    }
  ck_assert_uint_eq (n, 2 * 2);
}
END_TEST

/*
 * DeepSpeed's runtime cuts tensor by tensor, by elements or, where it is told to, by whole rows: of
 * both micro-steps each tensor is gathered for forward and for backward.
 */
START_TEST (test_tensor_by_tensor)
{
  static const struct
  {
    const char *options;
    double      elements;
  } cases[] = {
    { "variant=paper", BLOCK + 2 * 6400 + 64 },
    { "variant=paper,shard_format=rows", BLOCK_ROWS + 2 * 6656 + 64 },
  };
  const MeshGroup all = { .size = 8, .stride = 1 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Workload) workload = model ("bf16");
      g_autoptr (Schedule) schedule = schedule_under (workload, &mesh, "zero3", cases[i].options);
      PlanTotals           totals = { 0 };

      schedule_totals (schedule, 0, &totals);
      ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER, all),
                           2 * 2 * 2.0 * cases[i].elements);
      ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_REDUCE_SCATTER, all),
                           2 * 2.0 * cases[i].elements);
    }
}
END_TEST

SUITE_MAIN (copies)
{
  Suite *suite = suite_create ("copies");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_copies, 0, G_N_ELEMENTS (copies));
  tcase_add_test (tcase, test_buffers);
  tcase_add_test (tcase, test_divisions);
  tcase_add_test (tcase, test_tensor_by_tensor);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
