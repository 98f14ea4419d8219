/*
 * Blocks that no boundary of shards cuts: that a format says it heeds them where what it pads
 * depends on them, and what is said where they have no effect. Where ragged shards lie is
 * test-ragged's.
 */
#include <check.h>

#include "../suite.h"
#include "small-llama.h"
#include "strategy/shards/format.h"

/*
 * 24 rows of 4 elements and 8 more elements over 4 ranks: 26 elements a rank, aligned 32; in blocks
 * of 12 rows, 48 elements: a rank has one or two of these.
 */
START_TEST (heeds)
{
  const ShardFormat *format = shard_format_list ()[_i];
  const TensorDesc   rows[] = { { .shape = { 24, 4 }, .n_dims = 2, .elements = 96, .block = 4 },
                                { .shape = { 8 }, .n_dims = 1, .elements = 8, .block = 1 } };
  TensorDesc         blocks[] = { rows[0], rows[1] };
  guint64            with, without;

  blocks[0].block = 48;
  with = format->padded (blocks, 2, 4);
  without = format->padded (rows, 2, 4);
  if (format->heeds_blocks)
    ck_assert (with == 4 * 48 && without == 4 * 32);
  else
    ck_assert_uint_eq (with, without);
  ck_assert_int_eq (format->heeds_blocks, format == &format_ragged);
}
END_TEST

#define TAKE_RAGGED                                                                           \
  "leave it out, or take ragged shards: 'vescale' has them, and 'fsdp2' with 'shard_format: " \
  "ragged'"

static const struct
{
  const char *strategy, *options;
  guint       ranks;
  const char *message, *hint; /* NULL: nothing is said */
} cases[] = {
  { "fsdp2", "shard=all", 4,
    "'shard_block' has no effect: shards of format 'rows-inside' heed no blocks", TAKE_RAGGED },
  { "fsdp2", "shard_format=ragged", 4, NULL, NULL },
  { "vescale", "shard=all", 4, NULL, NULL },
  { "vescale", "shard=all", 1,
    "'shard_block' has no effect: strategy 'vescale' shards nothing here", "leave it out" },
  { "simplefsdp", "shard=all", 4,
    "'shard_block' has no effect: shards of format 'rows' heed no blocks", TAKE_RAGGED },
  { "zero1", "partition=flat", 4,
    "'shard_block' has no effect: shards of format 'flat' heed no blocks", TAKE_RAGGED },
  { "zero1", "partition=tensors", 4, "'shard_block' has no effect: ranks own whole tensors",
    TAKE_RAGGED },
  { "ddp", "gradient_dtype=fp32", 4,
    "'shard_block' has no effect: strategy 'ddp' shards nothing here", TAKE_RAGGED },
};

/* One rank has nothing to cut, which the driver says as well, with blocks and without. */
static void
check_said_of_rank (const DiagList *diags, guint at, guint n_ranks)
{
  DiagView view;

  ck_assert_int_eq (diag_list_get (diags, at, &view), n_ranks == 1);
  if (n_ranks == 1)
    ck_assert_str_eq (view.message, "strategy 'vescale' shards nothing: its groups have one rank");
  ck_assert (!diag_list_get (diags, at + 1, &view));
}

START_TEST (says)
{
  const Strategy        *strategy = strategy_find (cases[_i].strategy);
  g_autofree gpointer    options = g_malloc0 (strategy->options_size);
  const StrategyChoice   choice = { strategy, options, NULL };
  g_autoptr (Workload)   workload = llama_trained (2, "compile=true;shard_block=4x4");
  g_autoptr (Workload)   plain = llama_trained (2, "compile=true");
  g_autoptr (InputFiles) files = input_files_new ();
  const guint            n = cases[_i].ranks;
  const Mesh             mesh = { .n_ranks = n, .ranks_per_node = n, .world = n };
  PlanInput              in = { .workload = workload, .mesh = mesh, .files = files };
  g_autoptr (DiagList)   diags = diag_list_new (), none = diag_list_new ();
  DiagView               view;

  set_options (strategy, options, cases[_i].options);
  ck_assert (strategy_check_stages (&in, &choice, diags));
  ck_assert_int_eq (diag_list_get (diags, 0, &view), cases[_i].message != NULL);
  if (cases[_i].message != NULL)
    {
      ck_assert_int_eq (view.severity, DIAG_WARNING);
      ck_assert_str_eq (view.message, cases[_i].message);
      ck_assert_str_eq (view.hint, cases[_i].hint);
    }
  check_said_of_rank (diags, cases[_i].message != NULL, n);
  in.workload = plain;
  ck_assert (strategy_check_stages (&in, &choice, none));
  check_said_of_rank (none, 0, n);
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (shard_blocks)
{
  TCase *tcase = tcase_create ("shard-blocks");
  Suite *suite = suite_create ("shard-blocks");

  tcase_add_loop_test (tcase, heeds, 0, 6);
  tcase_add_loop_test (tcase, says, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
