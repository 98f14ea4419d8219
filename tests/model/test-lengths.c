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
  const GArray       *batch = sequence_lengths_batch (self, sequence_lengths_table (self)[cell]);
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
  ck_assert_uint_eq (sequence_lengths_table (self)[1], 0);
  ck_assert_uint_eq (sequence_lengths_table (self)[0], sequence_lengths_table (self)[3]);
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

SUITE_MAIN (lengths)
{
  Suite *suite = suite_create ("lengths");
  TCase *tcase = tcase_create ("lengths");

  tcase_add_test (tcase, test_placed);
  tcase_add_test (tcase, test_dealt);
  tcase_add_test (tcase, test_mean);
  tcase_add_loop_test (tcase, test_packed_is_the_sum, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
