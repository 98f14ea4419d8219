/*
 * Sequences of different lengths in a micro-batch: tables of them, and what a packed micro-batch
 * costs: products by its tokens, attention by each sequence's own pairs. Not asserted: what is
 * wrong with a table (tests/cli), and how ranks wait for each other (tests/replay).
 */
#include <math.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../suite.h"
#include "fixture.h"

static SequenceLengths *
load (const char *text, guint n_ranks, guint n_micros, guint per_micro)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *file = NULL;
  int                  fd = g_file_open_tmp ("lengths-XXXXXX.csv", &file, NULL);
  SequenceLengths     *self;

  ck_assert_int_ge (fd, 0);
  close (fd);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  self = sequence_lengths_load (file, n_ranks, n_micros, per_micro, 1, 100, diags);
  g_unlink (file);
  ck_assert_ptr_nonnull (self);
  return self;
}

static void
assert_batch (const SequenceLengths *self, guint cell, const char *lengths)
{
  const GArray *batch = sequence_lengths_batch (self, sequence_lengths_table (self).table[cell]);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < batch->len; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? " " : "",
                            g_array_index (batch, gint64, i));
  ck_assert_str_eq (text->str, lengths);
}

/* Rows in any order; 7 + 3 and 3 + 7 are the same micro-batch. That of most tokens is first. */
START_TEST (test_placed)
{
  g_autoptr (SequenceLengths) self =
      load ("rank,micro_batch,length\n1,1,7\n0,0,3\n1,1,3\n0,0,7\n0,1,100\n1,0,4\n", 2, 2, 9);

  ck_assert_uint_eq (sequence_lengths_n_batches (self), 3);
  assert_batch (self, 0, "7 3");
  assert_batch (self, 1, "100");
  assert_batch (self, 2, "4");
  assert_batch (self, 3, "7 3");
  ck_assert_uint_eq (sequence_lengths_table (self).table[1], 0);
  ck_assert_uint_eq (sequence_lengths_table (self).table[0],
                     sequence_lengths_table (self).table[3]);
}
END_TEST

/*
 * 2 ranks, 2 micro-batches of 2 sequences: 1 to 8 are dealt 1 3 | 5 7 and 2 4 | 6 8; the ninth is
 * for the next step.
 */
START_TEST (test_dealt)
{
  g_autoptr (SequenceLengths) self = load ("length\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", 2, 2, 2);

  assert_batch (self, 0, "3 1");
  assert_batch (self, 1, "7 5");
  assert_batch (self, 2, "4 2");
  assert_batch (self, 3, "8 6");
}
END_TEST

/* 3 and 1: 4 tokens, 10 / 4 = 2.5 long, 1.6 of them: 1.6 * 2.5^2 = 10 squares again. */
START_TEST (test_mean)
{
  g_autoptr (SequenceLengths) self = load ("rank,micro_batch,length\n0,0,1\n0,0,3\n", 1, 1, 1);
  TrainingOptions             options = training (8, 1);

  options.batch = sequence_lengths_batch (self, 0);
  ck_assert_uint_eq (training_tokens (&options), 4);
  ck_assert (training_mean_length (&options) == 2.5);
  ck_assert (training_sequences (&options) == 1.6);
}
END_TEST

/* Within a thousandth. */
static void
assert_quantile (LengthDraw draw, double u, double wanted)
{
  const double length = length_distribution_quantile (&draw, u);

  ck_assert_msg (fabs (length / wanted - 1) < 1e-3, "%g at %g, wanted %g", length, u, wanted);
}

/*
 * The bins' shares sum to 100.02. Half of that is 50.01: up to 500 tokens are 46.75, so 3.26 of the
 * 24.64 up to 1000: 500 + 500 * 0.13231 = 566.2. 99 %: 99.0198, 0.2998 of the 0.85 behind 16 000:
 * 16 000 * 1.35271 = 21 643.
 */
START_TEST (test_magi)
{
  const LengthDraw draw = { .distribution = LENGTHS_MAGI };

  assert_quantile (draw, 0.5, 566.15);
  assert_quantile (draw, 0.99, 21643);
  assert_quantile (draw, 1, 192000);
  ck_assert (length_distribution_quantile (&draw, 0) == 0);
}
END_TEST

/*
 * A document of the bins, cut at 65 536, has 1570.4 tokens in the mean (157 067 / 100.02: bins
 * times their middles, of that up to 128 000 0.024 up to the cut). Of 1 token, 0.4 / 1570.4 =
 * 2.5472e-4 are such sequences, 0.6 / 65 536 = 9.1553e-6 are whole ones: 0.9653 of all sequences
 * are documents. Their median is at 0.48265.
 */
START_TEST (test_prolong)
{
  const LengthDraw draw = { .distribution = LENGTHS_PROLONG };

  assert_quantile (draw, 0.48265, 566.15);
  ck_assert (length_distribution_quantile (&draw, 0.966) == 65536);
  ck_assert (length_distribution_quantile (&draw, 0.96) < 65536);
}
END_TEST

/* 16 is the tail over the median: sigma is ln 16 / 2.32635 = 1.19182, e^sigma is 3.2931. */
START_TEST (test_log_normal)
{
  const LengthDraw draw = { LENGTHS_LOG_NORMAL, .median = 2000, .tail = 32000 };

  assert_quantile (draw, 0.5, 2000);
  assert_quantile (draw, 0.99, 32000);
  assert_quantile (draw, 0.8413447, 2000 * 3.2931);
  assert_quantile (draw, 0.1586553, 2000 / 3.2931);
}
END_TEST

/*
 * Half of the lengths that are drawn are below the median; all are multiples of the unit, none is
 * longer than the longest; more of them begin with the same; another seed has others.
 */
START_TEST (test_drawn)
{
  LengthDraw         draw = { LENGTHS_LOG_NORMAL, .median = 2000, .tail = 32000, .seed = 7 };
  g_autoptr (GArray) few = length_distribution_draw (&draw, 100, 16, 40000),
                     many = length_distribution_draw (&draw, 20000, 16, 40000), other = NULL;
  guint below = 0;

  ck_assert (memcmp (few->data, many->data, 100 * sizeof (gint64)) == 0);
  for (guint i = 0; i < many->len; i++)
    {
      const gint64 length = g_array_index (many, gint64, i);

      ck_assert (length > 0 && length % 16 == 0 && length <= 40000);
      below += length <= 2000;
    }
  ck_assert_uint_gt (below, 9700); /* 10 000 and four of its standard deviations, 71 each */
  ck_assert_uint_lt (below, 10300);
  draw.seed = 8;
  other = length_distribution_draw (&draw, 100, 16, 40000);
  ck_assert (memcmp (few->data, other->data, 100 * sizeof (gint64)) != 0);
}
END_TEST

static double
flops_of (const ModelShape *shape, const TrainingOptions *options, KernelKind kind)
{
  g_autoptr (Workload) workload = workload_new (shape, options);
  const LayerDesc     *block = workload_layer (workload, 1);
  double               sum = 0;

  for (guint i = 0; i < block->n_forward; i++)
    sum += block->forward[i].kind == kind ? block->forward[i].flops : 0;
  return sum;
}

/*
 * A packed micro-batch does what its sequences do one by one, windowed or not; parameters do not
 * change.
 */
START_TEST (test_packed_is_the_sum)
{
  g_autoptr (SequenceLengths) self =
      load ("rank,micro_batch,length\n0,0,64\n0,0,16\n0,0,48\n", 1, 1, 1);
  ModelShape      shape = arch ("llama", 2, 64, 4, 128, 500);
  TrainingOptions options = training (100, 1);
  double          attention = 0, products = 0;
  guint64         elements;

  shape.sliding_window = _i == 0 ? 0 : 32;
  options.attention = ATTENTION_FLASH2;
  for (guint i = 0; i < 3; i++)
    {
      options.seq_len = (gint64[]){ 16, 48, 64 }[i];
      attention += flops_of (&shape, &options, KERNEL_ATTENTION);
      products += flops_of (&shape, &options, KERNEL_MATMUL);
    }
  options.seq_len = 100;
  g_autoptr (Workload) alike = workload_new (&shape, &options);
  elements = workload_n_parameters (alike);
  options.batch = sequence_lengths_batch (self, 0);
  g_autoptr (Workload) packed = workload_new (&shape, &options);

  ck_assert (fabs (flops_of (&shape, &options, KERNEL_ATTENTION) / attention - 1) < 1e-12);
  ck_assert (fabs (flops_of (&shape, &options, KERNEL_MATMUL) / products - 1) < 1e-12);
  ck_assert_uint_eq (workload_n_parameters (packed), elements);
  model_shape_clear (&shape);
}
END_TEST

/*
 * 100 tokens that rank 0 reads go to all four: it sends 300. Then each has one of the others, the
 * longest first: 24 of rank 2 go to rank 0, 24 of rank 3 to rank 1, 20 of rank 1 to rank 2 and 16
 * of rank 0 to rank 3. So rank 0 sends 316, more than any gets (124), and reads two.
 */
START_TEST (test_moved)
{
  g_autoptr (SequenceLengths) dealt =
      load ("rank,micro_batch,length\n0,0,100\n0,0,16\n1,0,20\n2,0,24\n3,0,24\n", 4, 1, 9);
  g_autoptr (DiagList) diags = diag_list_new ();
  InputFiles          *files = input_files_new ();
  const LengthsTable   table =
      sequence_lengths_table (sequence_lengths_hybrid (files, dealt, 25, 1, diags));

  ck_assert_uint_eq (table.read, 2);
  ck_assert_uint_eq (table.moved, 316);
  ck_assert_uint_eq (sequence_lengths_table (dealt).read, 0);
  input_files_free (files);
}
END_TEST

SUITE_MAIN (lengths)
{
  Suite *suite = suite_create ("lengths");
  TCase *tcase = tcase_create ("lengths");

  tcase_add_test (tcase, test_moved);
  tcase_add_test (tcase, test_placed);
  tcase_add_test (tcase, test_dealt);
  tcase_add_test (tcase, test_magi);
  tcase_add_test (tcase, test_prolong);
  tcase_add_test (tcase, test_log_normal);
  tcase_add_test (tcase, test_drawn);
  tcase_add_test (tcase, test_mean);
  tcase_add_loop_test (tcase, test_packed_is_the_sum, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
