/*
 * Compressed gradients by hand. A llama of 2 blocks on 4 ranks, in bf16: 8 matrices of 64 x 64, 6
 * of 128 x 64, 2 tables of 100 x 64 and 5 norms of 64, 95 040 elements in one bucket. Not asserted:
 * times.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "../suite.h"
#include "schedule/schedule-private.h"
#include "small-llama.h"

#define ELEMENTS 95040

/* Bytes that products of compressors read and write in a steady step. */
static double
product_bytes (const Schedule *schedule)
{
  const Vector *items = schedule_program (schedule, 0, SECTION_STEADY)->items;
  double        sum = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_KERNEL && item->kernel->kind == KERNEL_MATMUL
          && g_str_has_prefix (item->kernel->name, "powersgd"))
        sum += item->kernel->read_bytes + item->kernel->write_bytes;
    }
  return sum;
}

/* Nodes of so many of the 4 ranks. PRODUCTS: product_bytes, or NULL. */
static PlanTotals
totals_on (const char *name, const char *text, guint ranks_per_node, double *products)
{
  const Strategy        *strategy = strategy_find (name);
  g_autofree gpointer    options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload)   workload = llama_of (2, 1, NULL, NULL);
  g_autoptr (InputFiles) files = input_files_new ();
  const Mesh             mesh = { .n_ranks = 4, .ranks_per_node = ranks_per_node, .world = 4 };
  const PlanInput        in = { .workload = workload, .mesh = mesh, .files = files };
  const StrategyChoice   choice = { strategy, options, NULL };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Schedule)   schedule = NULL;
  PlanTotals             totals = { 0 };

  set_options (strategy, options, text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  schedule_totals (schedule, 0, &totals);
  if (products != NULL)
    *products = product_bytes (schedule);
  option_table_clear (strategy->options, options);
  return totals;
}

static PlanTotals
totals_under (const char *name, const char *text)
{
  return totals_on (name, text, 4, NULL);
}

static PlanTotals
totals_of (const char *text)
{
  return totals_under ("ddp", text);
}

/* A new file of TEXT. */
static char *
write_temporary (const char *text)
{
  char *file = NULL;
  gint  fd = g_file_open_tmp ("shardsim-XXXXXX.csv", &file, NULL);

  ck_assert_int_ge (fd, 0);
  close (fd);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  return file;
}

/* Bytes of all collectives of KIND, which are the only ones beside OTHER's. */
static double
bytes_of (const PlanTotals *totals, CollectiveKind kind, CollectiveKind other)
{
  double sum = 0;

  for (guint i = 0; i < totals->n_traffic; i++)
    {
      ck_assert (totals->traffic[i].kind == kind || totals->traffic[i].kind == other);
      sum += totals->traffic[i].kind == kind ? totals->traffic[i].bytes : 0;
    }
  return sum;
}

static double
reduced (const char *text)
{
  const PlanTotals totals = totals_of (text);

  return bytes_of (&totals, COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_REDUCE);
}

START_TEST (casts)
{
  ck_assert_double_eq (reduced ("compression=none"), 2 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=none,gradient_dtype=fp32"), 4 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=bf16,gradient_dtype=fp32"), 2 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=fp16"), 2 * ELEMENTS);
}
END_TEST

/* 4 bits: 47 520 B; 186 buckets of an offset and a scale of 2 B each: 744 B. */
START_TEST (codes)
{
  const PlanTotals totals = totals_of ("compression=qsgd");

  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_TO_ALL, COLLECTIVE_ALL_GATHER), 48264);
  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_TO_ALL), 48264);
}
END_TEST

/*
 * Two nodes of two: all of it inside, 47 blocks, then half of it between them, 24 blocks, and back.
 */
START_TEST (two_levels)
{
  const PlanTotals totals = totals_on ("ddp", "compression=int8-block", 2, NULL);
  const double     inside = ELEMENTS + 4 * 47, between = ELEMENTS / 2.0 + 4 * 24;

  ck_assert_uint_eq (totals.n_traffic, 4);
  for (guint i = 0; i < totals.n_traffic; i++)
    {
      const TrafficTotal *t = &totals.traffic[i];

      ck_assert_uint_eq (t->group.size, 2);
      ck_assert_double_eq (t->bytes, t->group.stride == 1 ? inside : between);
    }
  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_TO_ALL, COLLECTIVE_ALL_GATHER),
                       inside + between);
}
END_TEST

/* Of KIND alone, whatever else there is. */
static double
carried (const char *strategy, const char *text, CollectiveKind kind)
{
  const PlanTotals totals = totals_under (strategy, text);
  double           sum = 0;

  for (guint i = 0; i < totals.n_traffic; i++)
    sum += totals.traffic[i].kind == kind ? totals.traffic[i].bytes : 0;
  return sum;
}

/*
 * To shards: an all-to-all in place of the reduce-scatter, and nothing else. ZeRO-2 has one bucket.
 * fully_shard has a reduction a unit, 6 400, twice 41 088 and 6 464 elements, whose scales of 2 048
 * each are 4, twice 21, and 4.
 */
START_TEST (shards)
{
  const char *coded = "compression=int8-block";

  ck_assert_double_eq (carried ("zero2", "compression=qsgd", COLLECTIVE_ALL_TO_ALL), 48264);
  ck_assert_double_eq (carried ("zero2", "compression=qsgd", COLLECTIVE_REDUCE_SCATTER), 0);
  ck_assert_double_eq (carried ("zero2", "compression=none", COLLECTIVE_REDUCE_SCATTER),
                       2 * ELEMENTS);
  ck_assert_double_eq (carried ("fsdp2", coded, COLLECTIVE_ALL_TO_ALL),
                       ELEMENTS + 4 * (4 + 2 * 21 + 4));
  ck_assert_double_eq (carried ("fsdp2", coded, COLLECTIVE_REDUCE_SCATTER), 0);
  ck_assert_double_eq (carried ("fsdp1", "compression=fp16", COLLECTIVE_REDUCE_SCATTER),
                       2 * ELEMENTS);
  ck_assert_double_eq (carried ("fsdp2", "compression=none", COLLECTIVE_ALL_GATHER),
                       carried ("fsdp2", coded, COLLECTIVE_ALL_GATHER));
}
END_TEST

/*
 * Two shards of two replicas each: the all-to-all inside the group as above, then one of each
 * shard, 3 200, twice 20 544 and 3 232 elements in 2, twice 11 and 2 blocks, and their all-gather.
 */
START_TEST (replicas)
{
  const char  *coded = "shard=2,compression=int8-block", *plain = "shard=2,compression=none";
  const double inside = ELEMENTS + 4 * (4 + 2 * 21 + 4);
  const double between = ELEMENTS / 2.0 + 4 * (2 + 2 * 11 + 2);

  ck_assert_double_eq (carried ("hsdp", coded, COLLECTIVE_ALL_TO_ALL), inside + between);
  ck_assert_double_eq (carried ("hsdp", coded, COLLECTIVE_ALL_GATHER)
                           - carried ("hsdp", plain, COLLECTIVE_ALL_GATHER),
                       between);
  ck_assert_double_eq (carried ("hsdp", coded, COLLECTIVE_ALL_REDUCE), 0);
  ck_assert_double_eq (carried ("hsdp", plain, COLLECTIVE_ALL_TO_ALL), 0);
}
END_TEST

/*
 * Factors of rank 4 (below) of sharded gradients, in bf16: all ranks all-reduce them
 * as one, nothing is scattered, and errors and factors are whole on each rank.
 */
START_TEST (factors_of_shards)
{
  const char      *plain = "shard=2,compression=none";
  const char      *text = "shard=2,compression=powersgd,matrix_approximation_rank=4";
  const PlanTotals before = totals_under ("fsdp2", plain), after = totals_under ("fsdp2", text);

  ck_assert_double_eq (carried ("fsdp2", plain, COLLECTIVE_REDUCE_SCATTER), 2 * ELEMENTS);
  ck_assert_double_eq (carried ("fsdp2", plain, COLLECTIVE_ALL_REDUCE), ELEMENTS);
  ck_assert_double_eq (carried ("fsdp2", text, COLLECTIVE_REDUCE_SCATTER), 0);
  ck_assert_double_eq (carried ("fsdp2", text, COLLECTIVE_ALL_REDUCE), 2 * (4 * 2504 + 320));
  ck_assert_double_eq (after.states - before.states, 2 * (ELEMENTS + 4 * 2504));
}
END_TEST

/*
 * Rank 4: 8 x 128 + 6 x 192 + 2 x 164 rows and columns, 2 504, of 4 values each, and norms of 320
 * elements as they are. Each of the three products takes matrices of 94 720 elements and both
 * factors to or from memory. The errors of all gradients and the factors stay.
 */
START_TEST (low_rank)
{
  const char      *text = "compression=powersgd,matrix_approximation_rank=4";
  const PlanTotals plain = totals_of ("compression=none");
  double           products;
  const PlanTotals totals = totals_on ("ddp", text, 4, &products);

  ck_assert_double_eq (reduced (text), 2 * (4 * 2504 + 320));
  ck_assert_double_eq (totals.flops - plain.flops, 3 * 2 * 4 * 94720.0);
  ck_assert_double_eq (products, 2 * 3 * (94720 + 4 * 2504));
  ck_assert_double_eq (totals.states - plain.states, 2 * (ELEMENTS + 4 * 2504));
}
END_TEST

/* Rank 16: 128 x 16 x 2 is not below 64 x 64, so those matrices are sent as they are. */
START_TEST (too_small_to_compress)
{
  ck_assert_double_eq (reduced ("compression=powersgd,matrix_approximation_rank=16"),
                       2 * (16 * (6 * 192 + 2 * 164) + 8 * 4096 + 320));
  ck_assert_double_eq (
      reduced ("compression=powersgd,matrix_approximation_rank=16,min_compression_rate=1"),
      2 * (16 * 2504 + 320));
}
END_TEST

/*
 * Both tables of words lose nothing by rank 2, and other matrices have rank 4 alone: 2 x 164 rows
 * and columns of 2 values, 2 176 of 4. Beside errors and factors there are sums of all gradients, 4
 * bytes each.
 */
START_TEST (ranks_by_table)
{
  g_autofree char *file = write_temporary ("layer,tensor,rank,error\n"
                                           "0,*,2,1\n0,*,4,1\n3,*lm_head*,2,1\n*,*,4,1\n");
  g_autofree char *text = g_strdup_printf ("compression=powersgd,matrix_approximation_rank=4,"
                                           "layer_ranks=l-greco,layer_errors=%s",
                                           file);
  const PlanTotals plain = totals_of ("compression=none"), totals = totals_of (text);
  const guint      values = 4 * 2176 + 2 * 328;

  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_REDUCE),
                       2 * (values + 320));
  ck_assert_double_eq (totals.states - plain.states, 2 * (ELEMENTS + values) + 4 * ELEMENTS);
  g_unlink (file);
}
END_TEST

/*
 * Errors are counted in ten-thousandths of their sum, rounded up: of the sum 12.66655 that of
 * 0.77777 is 615 and not 614.03 of these, so that the uniform ranks' own are beyond the budget and
 * one matrix would need a larger rank. The uniform ones stay.
 */
START_TEST (rounded_errors)
{
  const char      *uniform = "compression=powersgd,matrix_approximation_rank=4";
  g_autofree char *file = write_temporary ("layer,tensor,rank,error\n0,*,4,1\n0,*,5,0.5\n"
                                           "*,*,4,0.77777\n*,*,5,0.3\n");
  g_autofree char *text = g_strdup_printf ("%s,layer_ranks=l-greco,layer_errors=%s", uniform, file);

  ck_assert_double_eq (reduced (text), reduced (uniform));
  g_unlink (file);
}
END_TEST

/*
 * What a choice costs, of ranks 1 and 2 of every matrix around a uniform one: 5 power iterations of
 * two products and 3 columns, 30 columns of 94 720 elements, each 100 steps or each 10; the host
 * searches 16 matrices x 2 ranks x 10 000 errors.
 */
START_TEST (choice)
{
  const char      *text = "compression=powersgd,layer_ranks=l-greco,error_budget=0.1,adjust_freq=";
  g_autofree char *none = g_strconcat (text, "0", NULL), *often = g_strconcat (text, "10", NULL);
  g_autofree char *seldom = g_strconcat (text, "100", NULL);
  const PlanTotals first = totals_of (none), then = totals_of (often), now = totals_of (seldom);

  ck_assert_double_eq (then.flops - first.flops, 2 * 3 * 94720.0);
  ck_assert_double_eq (now.flops - first.flops, 2 * 1 * 94720.0);
  ck_assert_double_eq (first.host[HOST_STREAM], 0);
  ck_assert_double_eq (then.host[HOST_STREAM], 16 * 2 * 1000);
  ck_assert_double_eq (now.host[HOST_STREAM], 16 * 2 * 100);
  ck_assert_double_eq (then.coded - first.coded, ELEMENTS * (2 + 4 + 4));
  ck_assert_double_eq (now.coded - first.coded, 0.1 * ELEMENTS * (2 + 4 + 4));
}
END_TEST

/*
 * Where nothing but the uniform rank is tried it stays; where spectra fall faster with depth less
 * is sent for the same error, and still less where more of it is let pass.
 */
START_TEST (ranks_by_spectra)
{
  const char      *text = "compression=powersgd,matrix_approximation_rank=4,layer_ranks=l-greco,";
  const double     uniform = reduced ("compression=powersgd,matrix_approximation_rank=4");
  g_autofree char *spread = g_strconcat (text, "spectrum_spread=0.9", NULL);
  g_autofree char *looser = g_strconcat (text, "spectrum_spread=0.9,error_budget=2", NULL);
  g_autofree char *fixed = g_strconcat (text, "min_rank_ratio=1,max_rank_ratio=1", NULL);

  ck_assert_double_eq (reduced (fixed), uniform);
  ck_assert_double_lt (reduced (spread), uniform);
  ck_assert_double_lt (reduced (looser), 0.8 * reduced (spread));
}
END_TEST

/* 1 %: 8 x 40 + 6 x 81 + 2 x 64 and one of each norm, 939; of 100 each, all 64 of a norm. */
START_TEST (largest)
{
  const PlanTotals plain = totals_of ("compression=none");
  PlanTotals       totals = totals_of ("compression=top-k");

  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_GATHER),
                       4 * 939 * (2 + 4));
  ck_assert_double_eq (totals.states - plain.states, 2 * ELEMENTS);
  totals = totals_of ("compression=top-k,top_k=100,use_error_feedback=false");
  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_GATHER),
                       4 * (1600 + 320) * (2 + 4));
  ck_assert_double_eq (totals.states, plain.states);
}
END_TEST

SUITE_MAIN (compression)
{
  Suite *suite = suite_create ("compression");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, casts);
  tcase_add_test (tcase, codes);
  tcase_add_test (tcase, two_levels);
  tcase_add_test (tcase, shards);
  tcase_add_test (tcase, replicas);
  tcase_add_test (tcase, factors_of_shards);
  tcase_add_test (tcase, low_rank);
  tcase_add_test (tcase, too_small_to_compress);
  tcase_add_test (tcase, ranks_by_table);
  tcase_add_test (tcase, rounded_errors);
  tcase_add_test (tcase, choice);
  tcase_add_test (tcase, ranks_by_spectra);
  tcase_add_test (tcase, largest);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
