/* Tables of measured kernels: reading, what a row ran, and the statistics of the errors. */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "evidence/tables/expert-work.h"
#include "evidence/tables/kernel-work.h"
#include "evidence/tables/validate-kernels.h"

#define PRODUCTS "gpu,version,gemm_dtype,m,n,k,time_us\n"
#define PREFILL                                                                       \
  "gpu,attn_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size," \
  "kv_cache_dtype,time_us\n"
#define DECODE                                                                         \
  "gpu,attn_dtype,batch_size,num_heads,num_key_value_heads,head_dim,window_size,step," \
  "kv_cache_dtype,time_us\n"
#define EXPERTS                                                                               \
  "gpu,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size," \
  "distribution,time_us\n"

/* The rows of TEXT as a file, or NULL with the first message in *MESSAGE. */
static GArray *
load (const char *text, char **message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  char                *name = NULL, *files[2] = { 0 };
  const gint           fd = g_file_open_tmp ("shardsim-kernels-XXXXXX.csv", &name, NULL);
  GArray              *rows;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  files[0] = name;
  rows = kernel_tables_load (files, diags);
  if (message != NULL)
    *message = g_strdup (rows == NULL ? diag_list_first_message (diags) : NULL);
  g_unlink (name);
  g_free (name);
  return rows;
}

static void
expect_message (const char *text, const char *part)
{
  g_autofree char *message = NULL;

  ck_assert_ptr_null (load (text, &message));
  ck_assert_msg (strstr (message, part) != NULL, "'%s' has no '%s'", message, part);
}

START_TEST (test_reading)
{
  g_autoptr (GArray) rows = load (PRODUCTS "h100-sxm-80,1.0,bfloat16,16,4096,8192,12.5\n", NULL);
  const KernelRow   *row = &g_array_index (rows, KernelRow, 0);
  g_autofree char   *shape = kernel_row_shape (row);

  ck_assert_uint_eq (rows->len, 1);
  ck_assert_int_eq (row->kind, KERNEL_TABLE_PRODUCTS);
  ck_assert_str_eq (shape, "m 16, n 4096, k 8192");
  ck_assert_double_eq_tol (row->seconds, 12.5e-6, 1e-15);
}
END_TEST

/* Columns tell what a table is of: prefill and decode share those of their types. */
START_TEST (test_kinds)
{
  static const struct
  {
    const char     *text;
    KernelTableKind kind;
  } tables[] = {
    { PREFILL "h100-sxm-80,bfloat16,2,512,32,8,128,0,bfloat16,30\n", KERNEL_TABLE_PREFILL },
    { DECODE "h100-sxm-80,bfloat16,2,32,8,128,0,511,fp8,30\n", KERNEL_TABLE_DECODE },
    { EXPERTS "h100-sxm-80,fp8,64,4096,1536,8,128,1,8,balanced,30\n", KERNEL_TABLE_EXPERTS },
  };

  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      g_autoptr (GArray) rows = load (tables[i].text, NULL);

      ck_assert_int_eq (g_array_index (rows, KernelRow, 0).kind, tables[i].kind);
    }
}
END_TEST

START_TEST (test_mistakes)
{
  expect_message ("gpu,gemm_dtype,m,n,time_us\nh100-sxm-80,fp8,1,2,3\n", "missing column 'k'");
  expect_message ("gpu,gemm_dtype,m,n,k,time_ms\nh100-sxm-80,fp8,1,2,3,4\n",
                  "missing column 'time_us'");
  expect_message ("a,b\n1,2\n", "no table of measured kernels");
  expect_message (PRODUCTS, "no kernels under the header");
  expect_message (PRODUCTS "h100-sxm-80,1,fp8,0,2,3,4\n", "in column 'm', got '0'");
  expect_message (PRODUCTS "h100-sxm-80,1,fp8,1.5,2,3,4\n", "in column 'm', got '1.5'");
  expect_message (PRODUCTS "h100-sxm-80,1,fp8,1,2,9999999999,4\n", "got '9999999999'");
  expect_message (PRODUCTS "h100-sxm-80,1,fp8,1,2,3,-4\n", "in column 'time_us', got '-4'");
  expect_message (PRODUCTS ",1,fp8,1,2,3,4\n", "column 'gpu' is empty");
}
END_TEST

/* A whole memory-bound product of 1 row at 2 bytes an element, and casts of fp8 before it. */
START_TEST (test_seconds_by_hand)
{
  GpuProfile              gpu = { .id = "hand",
                                  .bf16 = TRUE,
                                  .matmul_16bit = { .value = 1e15 },
                                  .matmul_fp8 = { .value = 2e15 },
                                  .sms = { .value = 100 },
                                  .hbm_bandwidth = { .value = 1e12 },
                                  .stream_efficiency = { .value = 0.5 },
                                  .reduction_efficiency = { .value = 1 },
                                  .matmul_efficiency = { .value = 1 },
                                  .tile_m = { .value = 128 },
                                  .tile_n = { .value = 128 },
                                  .small_tile_power = { .value = 0 },
                                  .sustained_clock = { .value = 0.5 },
                                  .kernel_latency = { .value = 4e-6 },
                                  .graph_latency = { .value = 1e-6 } };
  g_autoptr (GArray)      rows = load (PRODUCTS "hand,1,bfloat16,1000,1280,1000,1\n"
                                                     "hand,1,fp8,1000,1280,1000,1\n"
                                                     "hand,1,int4_wo,1,1,1,1\n",
                                       NULL);
  g_autoptr (KernelBench) bench = kernel_bench_new (&gpu);
  const char             *reason = NULL;
  double                  casts = 0;

  /* (1000 x 1000 + 1280 x 1000 + 1000 x 1280) x 2 B at 0.5 TB/s, and the start in a graph */
  g_array_index (rows, KernelRow, 0).seconds = g_array_index (rows, KernelRow, 1).seconds = 1e-3;
  ck_assert_double_eq_tol (
      kernel_bench_seconds (bench, &g_array_index (rows, KernelRow, 0), &casts, &reason),
      7.12e6 / 0.5e12 + 1e-6, 1e-12);
  ck_assert (casts == 0 && reason == NULL);
  /* the largest of 2 MB, set to zero first; 2 MB to 1 MB; 2.28 MB and 2.56 MB of the product */
  ck_assert_double_eq_tol (
      kernel_bench_seconds (bench, &g_array_index (rows, KernelRow, 1), &casts, &reason),
      casts + 4.84e6 / 0.5e12 + 1e-6, 1e-12);
  ck_assert_double_eq_tol (casts, 5e6 / 0.5e12 + 3 * 4e-6, 1e-12);
  ck_assert (
      isnan (kernel_bench_seconds (bench, &g_array_index (rows, KernelRow, 2), &casts, &reason)));
  ck_assert_str_eq (reason, "its type has no kernel of training");
}
END_TEST

/*
 * 64 tokens to 8 of 128 experts on 8 ranks: 64 rows to each rank's 16. A token's 8 experts on 32
 * ranks: a quarter of a row, and the rank that has one has one. By the power law the largest rank
 * has more than its share, not more than all, and a single rank has all.
 */
START_TEST (test_expert_loads)
{
  ExpertRouting routing = { .tokens = 64, .topk = 8, .experts = 128, .ranks = 8 };
  ExpertLoads   loads, again;

  ck_assert (expert_loads (&routing, "balanced", &loads));
  ck_assert (loads.rows == 64 && loads.used == 16);
  ck_assert (expert_loads (&routing, "power_law_1.2", &loads));
  ck_assert (expert_loads (&routing, "power_law_1.2", &again));
  ck_assert (loads.rows == again.rows && loads.used == again.used);
  ck_assert (loads.rows > 64 && loads.rows < 512 && loads.used <= 16);
  routing.ranks = 1;
  ck_assert (expert_loads (&routing, "power_law_1.01", &loads));
  ck_assert_double_eq_tol (loads.rows, 512, 32); /* rounded expert by expert */
  ck_assert (!expert_loads (&routing, "power_law_0.5", &loads));
  ck_assert (!expert_loads (&routing, "uniform", &loads));
  routing = (ExpertRouting){ .tokens = 1, .topk = 8, .experts = 128, .ranks = 32 };
  ck_assert (expert_loads (&routing, "balanced", &loads));
  ck_assert (loads.rows == 1 && loads.used == 1);
}
END_TEST

static GpuProfile
bench_gpu (void)
{
  return (GpuProfile){ .matmul_16bit = { .value = 1e15 },
                       .sms = { .value = 100 },
                       .hbm_bandwidth = { .value = 1e21 },
                       .stream_efficiency = { .value = 1 },
                       .tile_m = { .value = 128 },
                       .tile_n = { .value = 256 },
                       .experts_efficiency = { .value = 0.5 },
                       .experts_latency = { .value = 10e-6 } };
}

/*
 * 100 experts of 64 rows on 100 SMs of 5 TFLOP/s: 2 x 6400 x 512 x 1024 FLOPs at 500 TFLOP/s are
 * 13.42 us, down half as many. Of 65 rows the best tiles take 72.
 */
START_TEST (test_expert_tiles)
{
  const GpuProfile gpu = bench_gpu ();
  ExpertRouting    routing = { .tokens = 800, .topk = 8, .experts = 100, .ranks = 1 };
  ExpertLoads      loads;
  const ExpertWork work = { &loads, 1024, 256, 2, DTYPE_BF16, FALSE, 2 };

  ck_assert (expert_loads (&routing, "balanced", &loads));
  ck_assert (loads.tiles[0] == 800 && loads.tiles[3] == 100 && loads.tiles[5] == 100);
  ck_assert_double_eq_tol (1e6 * expert_seconds (&gpu, &work), 10 + 13.422 + 6.711, 0.01);
  routing.tokens = 812.5;
  ck_assert (expert_loads (&routing, "balanced", &loads));
  ck_assert_double_eq_tol (1e6 * expert_seconds (&gpu, &work), 10 + (13.422 + 6.711) * 72 / 64,
                           0.01);
}
END_TEST

/* Two thirds of 90 MB are found at 4 TB/s, of twice as much nothing, between them the rest. */
START_TEST (test_repeated_kernels)
{
  GpuProfile gpu = bench_gpu ();

  gpu.hbm_bandwidth.value = 1e12;
  ck_assert_double_eq_tol (repeated_bandwidth (&gpu, 1e6), 1e12, 1);
  gpu.l2_bytes.value = 90e6;
  ck_assert_double_eq_tol (repeated_bandwidth (&gpu, 1e6), 1e12, 1);
  gpu.l2_bandwidth.value = 4e12;
  ck_assert_double_eq_tol (repeated_bandwidth (&gpu, 60e6), 4e12, 1e3);
  ck_assert_double_eq_tol (repeated_bandwidth (&gpu, 90e6), 1.6e12, 1e3);
  ck_assert_double_eq_tol (repeated_bandwidth (&gpu, 120e6), 1e12, 1);
}
END_TEST

/* Groups are by kind, GPU and type; a time in another unit and an unknown GPU say so. */
START_TEST (test_groups)
{
  static const char            text[] = PRODUCTS "h100-sxm-80,1,bfloat16,4096,4096,4096,200\n"
                                                 "h100-sxm-80,1,bfloat16,4096,4096,4096,0.2\n"
                                                 "a100-sxm-80,1,bfloat16,4096,4096,4096,600\n"
                                                 "nothing-1,1,bfloat16,4096,4096,4096,600\n"
                                                 "a100-sxm-80,1,fp8,4096,4096,4096,600\n";
  GArray                      *rows = load (text, NULL);
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (KernelValidation) self = validate_kernels (rows, profiles);
  const KernelGroup           *groups = (const KernelGroup *) (gconstpointer) self->groups->data;

  ck_assert_uint_eq (self->groups->len, 5);
  ck_assert_ptr_null (groups[0].gpu);
  ck_assert_uint_eq (groups[0].errors.n, 2);
  ck_assert_uint_eq (groups[0].n_failed, 3);
  ck_assert_double_eq (groups[0].goal, 0.07);
  ck_assert_str_eq (groups[1].gpu, "h100-sxm-80");
  ck_assert_uint_eq (groups[1].n_failed, 1);
  ck_assert_str_eq (g_array_index (self->rows, ValidatedKernel, 1).reason,
                    "faster than the GPU's peak: 'time_us' is in microseconds");
  ck_assert_str_eq (g_array_index (self->rows, ValidatedKernel, 3).reason,
                    "there is no profile of its GPU");
  ck_assert_str_eq (g_array_index (self->rows, ValidatedKernel, 4).reason,
                    "the GPU's profile has no matrix units of its type");
}
END_TEST

SUITE_MAIN (validate_kernels)
{
  Suite *suite = suite_create ("validate-kernels");
  TCase *tests = tcase_create ("validate-kernels");

  tcase_add_test (tests, test_reading);
  tcase_add_test (tests, test_kinds);
  tcase_add_test (tests, test_mistakes);
  tcase_add_test (tests, test_seconds_by_hand);
  tcase_add_test (tests, test_expert_loads);
  tcase_add_test (tests, test_expert_tiles);
  tcase_add_test (tests, test_repeated_kernels);
  tcase_add_test (tests, test_groups);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
