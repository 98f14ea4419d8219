/* Figures of matrix products and attention from tables of measured kernels. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "calibrate/kernels.h"
#include "evidence/tables/kernel-work.h"

static GpuProfile
hand_gpu (void)
{
  return (GpuProfile){ .id = "hand",
                       .title = "by hand",
                       .bf16 = TRUE,
                       .matmul_16bit = { .value = 1e15 },
                       .matmul_fp8 = { .value = 2e15 },
                       .sms = { .value = 128 },
                       .hbm_bandwidth = { .value = 3e12 },
                       .stream_efficiency = { .value = 0.8 },
                       .reduction_efficiency = { .value = 1 },
                       .matmul_efficiency = { .value = 0.9 },
                       .attention_efficiency = { .value = 0.3 },
                       .tile_m = { .value = 128 },
                       .tile_n = { .value = 256 },
                       .sustained_clock = { .value = 0.8 },
                       .kernel_latency = { .value = 3e-6 } };
}

/* Rows of three kinds as the model has them with other figures. */
static GArray *
measured_rows (void)
{
  GpuProfile              gpu = hand_gpu ();
  g_autoptr (KernelBench) bench = NULL;
  GArray                 *rows = g_array_new (FALSE, FALSE, sizeof (KernelRow));
  const char             *reason;

  gpu.matmul_operand_bandwidth.value = 120e9;
  gpu.matmul_efficiency.value = 0.7;
  gpu.matmul_fp8_efficiency.value = 0.6;
  gpu.matmul_k_overhead.value = 128;
  gpu.graph_latency.value = 2e-6;
  gpu.fmha_efficiency.value = 0.5;
  gpu.fmha_softmax_dims.value = 60;
  gpu.fmha_block_latency.value = 2e-6;
  gpu.decode_efficiency.value = 0.8;
  gpu.decode_latency.value = 7e-6;
  gpu.decode_sum_latency.value = 4e-6;
  gpu.decode_block_latency.value = 5e-6;
  bench = kernel_bench_new (&gpu);
  for (guint m = 1; m <= 16384; m *= 4)
    for (guint n = 128; n <= 16384; n *= 4)
      for (guint k = 256; k <= 16384; k *= 4)
        for (guint type = 0; type < 2; type++)
          {
            KernelRow row = { .kind = KERNEL_TABLE_PRODUCTS,
                              .gpu = "hand",
                              .dtype = type == 0 ? "bfloat16" : "fp8",
                              .variant = "",
                              .size = { m, n, k },
                              .seconds = 1 };

            row.seconds = kernel_bench_seconds (bench, &row, NULL, &reason);
            g_array_append_val (rows, row);
          }
  for (guint length = 16; length <= 16384; length *= 2)
    for (guint heads = 1; heads <= 64; heads *= 4)
      for (guint d = 64; d <= 128; d *= 2)
        {
          KernelRow row = { .kind = KERNEL_TABLE_PREFILL,
                            .gpu = "hand",
                            .dtype = "bfloat16",
                            .variant = "bfloat16",
                            .size = { 1, length, heads, heads, d, 0 },
                            .seconds = 1 };

          row.seconds = kernel_bench_seconds (bench, &row, NULL, &reason);
          g_array_append_val (rows, row);
        }
  for (guint batch = 1; batch <= 4096; batch *= 2)
    for (guint cached = 16; cached <= 65536; cached *= 2)
      {
        KernelRow row = { .kind = KERNEL_TABLE_DECODE,
                          .gpu = "hand",
                          .dtype = "bfloat16",
                          .variant = "bfloat16",
                          .size = { batch, cached, 8, 2, 128, 0 },
                          .seconds = 1 };

        row.seconds = kernel_bench_seconds (bench, &row, NULL, &reason);
        g_array_append_val (rows, row);
      }
  return rows;
}

static double
after (const KernelCalibration *self, const char *key)
{
  for (guint i = 0; i < self->figures->len; i++)
    if (strcmp (g_array_index (self->figures, KernelFigure, i).key, key) == 0)
      return g_array_index (self->figures, KernelFigure, i).after;
  return NAN;
}

/* What made the rows is found from another start; what no row determines is left alone. */
START_TEST (test_figures_are_found)
{
  const GpuProfile              gpu = hand_gpu ();
  g_autoptr (GArray)            rows = measured_rows ();
  g_autoptr (KernelCalibration) self = calibrate_kernels (rows, &gpu);
  g_autofree char              *profile = kernel_calibration_profile (self, "a bench");
  g_autofree char              *table = kernel_calibration_table (self);

  ck_assert_double_eq_tol (after (self, "matmul_efficiency"), 0.7, 0.03);
  ck_assert_double_eq_tol (after (self, "matmul_fp8_efficiency"), 0.6, 0.03);
  ck_assert_double_eq_tol (after (self, "matmul_operand_bandwidth") / 120e9, 1, 0.1);
  ck_assert_double_eq_tol (after (self, "fmha_efficiency"), 0.5, 0.05);
  ck_assert_double_eq_tol (after (self, "decode_efficiency"), 0.8, 0.03);
  /* where there are fewer blocks than SMs rows tell only what both take together */
  ck_assert_double_eq_tol (
      (after (self, "decode_latency") + after (self, "decode_block_latency")) / 12e-6, 1, 0.1);
  ck_assert (isnan (after (self, "decode_fp8_block_latency")));
  ck_assert (isnan (after (self, "matmul_fp4_efficiency")));
  ck_assert (isnan (after (self, "fmha_fp8_efficiency")));
  ck_assert_uint_eq (self->left_out->len, 4);
  for (guint i = 0; i < self->left_out->len; i++)
    ck_assert_double_lt (g_array_index (self->left_out, KernelLeftOut, i).table.median_abs, 0.03);
  ck_assert_ptr_nonnull (strstr (profile, "extends: hand\n"));
  ck_assert_ptr_nonnull (strstr (profile, "(a bench)"));
  ck_assert_ptr_nonnull (strstr (table, ",bf16\n"));
}
END_TEST

START_TEST (test_too_few)
{
  const GpuProfile   gpu = hand_gpu ();
  g_autoptr (GArray) rows = measured_rows ();

  g_array_set_size (rows, KERNEL_CALIBRATION_LEAST - 1);
  ck_assert_ptr_null (calibrate_kernels (rows, &gpu));
}
END_TEST

SUITE_MAIN (kernels)
{
  Suite *suite = suite_create ("calibrate-kernels");
  TCase *tests = tcase_create ("calibrate-kernels");

  tcase_add_test (tests, test_figures_are_found);
  tcase_add_test (tests, test_too_few);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
