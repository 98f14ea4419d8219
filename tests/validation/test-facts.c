/*
 * Figures of profiles against what others measured of the product or what its standard adds up to
 * (tests/data/validation/facts.csv): predicted / value lies between `low` and `high`.
 *
 * It holds what no row of measured collectives or training runs does: capacities of memory as
 * drivers report them, rates on paper by another way (bus width and pin rate, units and clock,
 * lanes and encoding), single kernels, cards of nodes. Kernels are predicted by the kernel model,
 * so that the figures that make up their time are held together. What nothing holds stands in
 * docs/hardware.md.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "cost/kernel/kernel.h"
#include "medians.h"

typedef struct
{
  ProfileSet *profiles;
  DiagList   *diags;
} Context;

/* ---- GPUs ------------------------------------------------------------------------------------ */

static double
memory_gib (const GpuProfile *gpu)
{
  return gpu->hbm_bytes.value / 1073741824.0;
}

static double
bandwidth_gb (const GpuProfile *gpu)
{
  return gpu->hbm_bandwidth.value / 1e9;
}

static double
peak_tflops (const GpuProfile *gpu)
{
  return gpu->matmul_16bit.value / 1e12;
}

static double
fp32_tflops (const GpuProfile *gpu)
{
  return gpu->matmul_fp32.value / 1e12;
}

static double
host_link_gb (const GpuProfile *gpu)
{
  return gpu->host_link.value / 1e9;
}

static double
units (const GpuProfile *gpu)
{
  return gpu->sms.value;
}

/* A short measurement: the clock has not come down. */
static double
seconds_of (const GpuProfile *gpu, const KernelDesc *kernel)
{
  GpuProfile cool = *gpu;
  KernelCost cost;

  cool.sustained_clock.value = 1;
  kernel_cost (&cool, kernel, &cost);
  return cost.alone;
}

/* The best of a few large shapes, as a survey looks for it. */
static double
product_tflops (const GpuProfile *gpu)
{
  double best = 0;

  for (double rows = 8192; rows <= 16384; rows += 1024)
    {
      const double     n = 8192, k = 8192;
      const KernelDesc kernel = { .kind = KERNEL_MATMUL,
                                  .dtype = DTYPE_BF16,
                                  .m = (guint64) rows,
                                  .n = (guint64) n,
                                  .k = (guint64) k,
                                  .batch = 1,
                                  .flops = 2 * rows * n * k,
                                  .read_bytes = 2 * (rows * k + k * n),
                                  .write_bytes = 2 * rows * n,
                                  .launches = 1,
                                  .module = -1 };

      best = MAX (best, kernel.flops / seconds_of (gpu, &kernel) / 1e12);
    }
  return best;
}

static double
copy_gb (const GpuProfile *gpu)
{
  const double     gib = 1073741824;
  const KernelDesc kernel = kernel_desc_stream (KERNEL_COPY, "copy", DTYPE_BF16, gib, gib, 1);

  return 2 * gib / seconds_of (gpu, &kernel) / 1e9;
}

/* Two sequences of 16 heads. */
static double
attention_tflops (const GpuProfile *gpu, guint flash, gboolean forward)
{
  const double     rows = 8192, dim = 128, heads = 32, elements = rows * dim * heads;
  const KernelDesc kernel = { .kind = forward ? KERNEL_ATTENTION : KERNEL_ATTENTION_BACKWARD,
                              .dtype = DTYPE_BF16,
                              .m = (guint64) rows,
                              .n = (guint64) rows,
                              .k = (guint64) dim,
                              .batch = (guint64) heads,
                              .flash = flash,
                              .flops = (forward ? 4 : 10) * rows / 2 * elements,
                              .read_bytes = (forward ? 3 : 5) * 2 * elements,
                              .write_bytes = (forward ? 1 : 3) * 2 * elements,
                              .launches = 1,
                              .module = -1 };

  return kernel.flops / seconds_of (gpu, &kernel) / 1e12;
}

static double
flash2_forward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_2, TRUE);
}

static double
flash2_backward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_2, FALSE);
}

static double
flash3_forward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_3, TRUE);
}

static double
flash3_backward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_3, FALSE);
}

static double
cudnn_forward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_CUDNN, TRUE);
}

static double
cudnn_backward (const GpuProfile *gpu)
{
  return attention_tflops (gpu, FLASH_CUDNN, FALSE);
}

static const struct
{
  const char *figure;
  double (*predict) (const GpuProfile *gpu);
} gpu_figures[] = {
  { "memory GiB", memory_gib },
  { "bandwidth GB/s", bandwidth_gb },
  { "peak TFLOP/s", peak_tflops },
  { "fp32 TFLOP/s", fp32_tflops },
  { "host link GB/s", host_link_gb },
  { "units", units },
  { "product TFLOP/s", product_tflops },
  { "copy GB/s", copy_gb },
  { "flash2 forward TFLOP/s", flash2_forward },
  { "flash2 backward TFLOP/s", flash2_backward },
  { "flash3 forward TFLOP/s", flash3_forward },
  { "flash3 backward TFLOP/s", flash3_backward },
  { "cudnn forward TFLOP/s", cudnn_forward },
  { "cudnn backward TFLOP/s", cudnn_backward },
};

static double
predict_gpu (const Context *context, const char *id, const char *figure)
{
  const GpuProfile *gpu = profile_set_gpu (context->profiles, id, NULL, context->diags);

  for (guint i = 0; gpu != NULL && i < G_N_ELEMENTS (gpu_figures); i++)
    if (strcmp (gpu_figures[i].figure, figure) == 0)
      return gpu_figures[i].predict (gpu);
  return 0;
}

/* ---- links and nodes ------------------------------------------------------------------------- */

static double
predict_link (const Context *context, const char *id, const char *figure)
{
  const LinkProfile *link = profile_set_link (context->profiles, id, NULL, context->diags);

  if (link == NULL)
    return 0;
  if (strcmp (figure, "carried GB/s") == 0)
    return link->bandwidth.value * link->efficiency.value / 1e9;
  return strcmp (figure, "bandwidth GB/s") == 0 ? link->bandwidth.value / 1e9 : 0;
}

static double
predict_node (const Context *context, const char *id, const char *figure)
{
  const NodeProfile *node = profile_set_node (context->profiles, id, NULL, context->diags);
  const LinkProfile *nic =
      node != NULL ? profile_set_link (context->profiles, node->nic, NULL, context->diags) : NULL;

  return nic != NULL && strcmp (figure, "cards GB/s") == 0
             ? node->nics.value * nic->bandwidth.value / 1e9
             : 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static double
predict_fact (const Context *context, const char *kind, const char *id, const char *figure)
{
  return strcmp (kind, "gpu") == 0    ? predict_gpu (context, id, figure)
         : strcmp (kind, "link") == 0 ? predict_link (context, id, figure)
                                      : predict_node (context, id, figure);
}

static double
number (const CsvReader *reader, guint column)
{
  return g_ascii_strtod (csv_reader_field (reader, column), NULL);
}

START_TEST (test_facts)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = medians_path ("facts.csv");
  g_autoptr (CsvReader)  reader = csv_reader_open (file, diags);
  const Context          context = { profiles, diags };
  guint                  n = 0, n_bad = 0;

  ck_assert (reader != NULL && csv_reader_n_columns (reader) == 7);
  while (csv_reader_next (reader, diags))
    {
      const char  *id = csv_reader_field (reader, 1), *figure = csv_reader_field (reader, 2);
      const double predicted = predict_fact (&context, csv_reader_field (reader, 0), id, figure);
      const double ratio = predicted / number (reader, 3);

      n++;
      ck_assert_uint_gt (strlen (csv_reader_field (reader, 6)), 3);
      if (ratio >= number (reader, 4) && ratio <= number (reader, 5))
        continue;
      n_bad++;
      fprintf (stderr, "%s, %s: %g, %.3f of %s (%s to %s): %s\n", id, figure, predicted, ratio,
               csv_reader_field (reader, 3), csv_reader_field (reader, 4),
               csv_reader_field (reader, 5), csv_reader_field (reader, 6));
    }
  ck_assert_msg (diag_list_n_errors (diags) == 0, "%s", diag_list_first_message (diags));
  ck_assert_msg (n_bad == 0, "%u of %u facts are missed", n_bad, n);
}
END_TEST

/* Every shipped link with a rate of its own. */
START_TEST (test_every_link_has_a_fact)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         links = profile_set_list (profiles, "link");
  g_autofree char       *file = medians_path ("facts.csv"), *text = NULL;

  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  for (guint i = 0; links[i] != NULL; i++)
    {
      g_autofree char *start = g_strdup_printf ("\nlink,%s,bandwidth", links[i]);

      if (strcmp (links[i], "none") == 0 || g_str_has_prefix (links[i], "lan-")
          || g_str_has_prefix (links[i], "wan-")) /* examples: the name is the rate */
        continue;
      ck_assert_msg (strstr (text, start) != NULL, "no fact holds the bandwidth of '%s'", links[i]);
    }
}
END_TEST

SUITE_MAIN (facts)
{
  Suite *suite = suite_create ("facts");
  TCase *tests = tcase_create ("tests");

  tcase_add_test (tests, test_facts);
  tcase_add_test (tests, test_every_link_has_a_fact);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
