/*
 * Asserts the arithmetic of the kernel model by hand-worked numbers, and that no kernel beats the
 * datasheet. It does not assert that the model agrees with a measured GPU: that is validation's
 * business.
 */
#include "kernel/kernel.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define EPSILON           1e-12
#define assert_near(a, b) ck_assert_double_le (fabs ((a) - (b)), EPSILON *fabs (b))

/* Round figures of an A100's size, so that the arithmetic below can be followed. */
static GpuProfile
test_gpu (void)
{
  return (GpuProfile){
    .matmul_16bit = { .value = 312e12 },
    .matmul_fp32 = { .value = 19.5e12 },
    .bf16 = TRUE,
    .sms = { .value = 108 },
    .hbm_bandwidth = { .value = 2e12 },
    .matmul_efficiency = { .value = 0.75 },
    .stream_efficiency = { .value = 0.8 },
    .attention_efficiency = { .value = 0.5 },
    .attention_backward_efficiency = { .value = 0.4 },
    .tile_m = { .value = 128 },
    .tile_n = { .value = 256 },
    .kernel_latency = { .value = 4e-6 },
  };
}

static KernelDesc
matmul (guint64 m, guint64 n, guint64 k, guint64 batch)
{
  double each = 2.0 * batch;

  return (KernelDesc){
    .kind = KERNEL_MATMUL,
    .name = "product",
    .dtype = DTYPE_BF16,
    .m = m,
    .n = n,
    .k = k,
    .batch = batch,
    .flops = 2.0 * m * n * k * batch,
    .read_bytes = each * (m * k + k * n),
    .write_bytes = each * m * n,
    .launches = 1,
    .module = -1,
  };
}

START_TEST (test_matmul_by_hand)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = matmul (4096, 4096, 4096, 1);
  KernelCost cost;
  double     sm_rate = 312e12 * 0.75 / 108; /* 2.1667 TFLOP/s an SM */

  kernel_cost (&gpu, &kernel, &cost);
  /*
   * 32 x 16 tiles of 128 x 256; 5 waves over 108 SMs (4.74); 268 435 456 FLOP a tile: 123.89 us; in
   * all 619.47 us
   */
  ck_assert_double_eq (cost.wave_units, 512);
  assert_near (cost.wave_seconds, 268435456.0 / sm_rate);
  assert_near (cost.alone, 5 * 268435456.0 / sm_rate + 4e-6);
  ck_assert_double_gt (cost.alone, 623e-6);
  ck_assert_double_lt (cost.alone, 624e-6);
  /* three matrices of 33 554 432 bytes at 80 % of the bandwidth */
  assert_near (cost.hbm_bytes, 3 * 33554432 / 0.8);
  ck_assert_double_eq (cost.sm_seconds, 0);
  ck_assert_double_eq (cost.flops, 2.0 * 4096 * 4096 * 4096);
}
END_TEST

START_TEST (test_matmul_waves)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc one = matmul (UINT64_C (128) * 108, 256, 4096, 1),
             more = matmul (UINT64_C (128) * 109, 256, 4096, 1);
  KernelCost cost_one, cost_more;
  double     tile = 268435456.0 / (312e12 * 0.75 / 108);

  kernel_cost (&gpu, &one, &cost_one);
  kernel_cost (&gpu, &more, &cost_more);
  /* 108 tiles fill one wave; the 109th costs a second one */
  ck_assert_double_eq (cost_one.wave_units, 108);
  assert_near (cost_one.alone, tile + 4e-6);
  ck_assert_double_eq (cost_more.wave_units, 109);
  assert_near (cost_more.alone, 2 * tile + 4e-6);
}
END_TEST

START_TEST (test_matmul_small_tile)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = matmul (512, 1024, 1024, 1);
  KernelCost cost;

  kernel_cost (&gpu, &kernel, &cost);
  /*
 * 16 full tiles would leave 92 SMs idle. 64 x 128: 64 tiles of a quarter of the work at half the
 * rate, because 64*128/(64+128) is half of 128*256/(128+256): half the time. k is too shallow to be
 * cut.
   */
  ck_assert_double_eq (cost.wave_units, 64);
  assert_near (cost.wave_seconds, 2.0 * 64 * 128 * 1024 / (312e12 * 0.75 / 108 * 0.5));
}
END_TEST

START_TEST (test_matmul_split)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = matmul (128, 128, 65536, 1);
  KernelCost cost;

  kernel_cost (&gpu, &kernel, &cost);
  /*
   * 2 tiles of 64 x 128, k in 16 parts of 4096; partial sums: 16 x 128 x 128 fp32 written and read
   */
  ck_assert_double_eq (cost.wave_units, 32);
  assert_near (cost.wave_seconds, 2.0 * 64 * 128 * 4096 / (312e12 * 0.75 / 108 * 0.5));
  assert_near (cost.hbm_bytes, (2 * (2 * 128.0 * 65536 + 128 * 128) + 8.0 * 16 * 128 * 128) / 0.8);
}
END_TEST

START_TEST (test_matmul_lying)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc upright = matmul (UINT64_C (256) * 40, 128, 512, 1),
             lying = matmul (128, UINT64_C (256) * 40, 512, 1);
  KernelCost a, b;

  kernel_cost (&gpu, &upright, &a);
  kernel_cost (&gpu, &lying, &b);
  ck_assert_double_eq (a.alone, b.alone);
  ck_assert_double_eq (a.wave_units, b.wave_units);
}
END_TEST

START_TEST (test_matmul_dtype)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = matmul (8192, 8192, 8192, 1);
  KernelCost with, without, single;

  kernel_cost (&gpu, &kernel, &with);
  gpu.bf16 = FALSE;
  kernel_cost (&gpu, &kernel, &without);
  kernel.dtype = DTYPE_FP32;
  kernel_cost (&gpu, &kernel, &single);
  /* 312 / 19.5 = 16 times slower in plain fp32, which is what bf16 comes to without units for it */
  assert_near (without.alone - without.latency, 16 * (with.alone - with.latency));
  ck_assert_double_eq (without.alone, single.alone);
  kernel.dtype = DTYPE_FP16;
  kernel_cost (&gpu, &kernel, &single);
  ck_assert_double_eq (single.alone, with.alone);
}
END_TEST

START_TEST (test_attention)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = { .kind = KERNEL_ATTENTION,
                        .dtype = DTYPE_BF16,
                        .flops = 156e9,
                        .read_bytes = 6e6,
                        .write_bytes = 2e6,
                        .launches = 1 };
  KernelCost cost;

  kernel_cost (&gpu, &kernel, &cost);
  /* 156 GFLOP at half of 312 TFLOP/s: 1 ms on 108 SMs; 8 MB at 1.6 TB/s: 5 us */
  assert_near (cost.sm_seconds, 0.108);
  assert_near (cost.hbm_bytes, 1e7);
  assert_near (cost.alone, 1e-3 + 4e-6);
  ck_assert_double_eq (cost.wave_units, 0);
  kernel.kind = KERNEL_ATTENTION_BACKWARD;
  kernel_cost (&gpu, &kernel, &cost);
  assert_near (cost.alone, 1.25e-3 + 4e-6);
}
END_TEST

START_TEST (test_stream)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc kernel = kernel_desc_stream (KERNEL_ELEMENTWISE, "residual", DTYPE_BF16, 12e6, 4e6, 3);
  KernelCost cost;

  kernel_cost (&gpu, &kernel, &cost);
  /* 16 MB at 1.6 TB/s: 10 us; three launches of 4 us */
  assert_near (cost.hbm_bytes, 2e7);
  assert_near (cost.latency, 12e-6);
  assert_near (cost.alone, 22e-6);
  ck_assert_uint_eq (cost.launches, 3);
  /*
   * it needs SMs, but does not bind on them: it stays HBM-bound while others hold a fifth of them
   */
  ck_assert_double_gt (cost.sm_seconds, 0);
  ck_assert_double_lt (cost.sm_seconds / (0.8 * 108), cost.hbm_bytes / 2e12);
}
END_TEST

START_TEST (test_small_is_latency)
{
  GpuProfile gpu = test_gpu ();
  KernelDesc product = matmul (64, 64, 16, 1);
  KernelDesc stream = kernel_desc_stream (KERNEL_REDUCTION, "norm", DTYPE_BF16, 4096, 4096, 1);
  KernelDesc nothing = matmul (0, 64, 64, 1);
  KernelCost cost;

  kernel_cost (&gpu, &product, &cost);
  ck_assert_double_lt (cost.alone, 1.1 * cost.latency);
  kernel_cost (&gpu, &stream, &cost);
  ck_assert_double_lt (cost.alone, 1.1 * cost.latency);
  kernel_cost (&gpu, &nothing, &cost);
  ck_assert_double_eq (cost.wave_units, 0);
}
END_TEST

static guint64
random_size (GRand *rand)
{
  return (guint64) exp2 (g_rand_double_range (rand, 0, 14));
}

/*
 * No product beats the datasheet's roofline, demands give back the stand-alone time, and more rows
 * or products take no less.
 */
START_TEST (test_property_roofline)
{
  GpuProfile        gpu = test_gpu ();
  const guint32     seed = 20240607 + (guint32) _i;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  guint64           m = random_size (rand), n = random_size (rand), k = random_size (rand);
  guint64           batch = (guint64) g_rand_int_range (rand, 1, 5);
  KernelDesc        kernel = matmul (m, n, k, batch);
  KernelDesc taller = matmul (kernel.m + random_size (rand), kernel.n, kernel.k, kernel.batch);
  KernelDesc more = matmul (kernel.m, kernel.n, kernel.k, kernel.batch + 1);
  KernelCost cost, other;
  double     waves;

  kernel_cost (&gpu, &kernel, &cost);
  waves = ceil (cost.wave_units / 108);
  ck_assert_msg (cost.alone >= MAX (kernel.flops / 312e12, cost.bytes / 2e12) + cost.latency,
                 "seed %u", seed);
  ck_assert_msg (cost.alone == cost.latency + MAX (waves * cost.wave_seconds, cost.hbm_bytes / 2e12),
                 "seed %u", seed);
  ck_assert_msg (cost.wave_units * cost.wave_seconds * 312e12 / 108 >= kernel.flops * (1 - EPSILON),
                 "seed %u", seed);
  kernel_cost (&gpu, &taller, &other);
  ck_assert_msg (other.alone >= cost.alone * (1 - EPSILON), "seed %u", seed);
  kernel_cost (&gpu, &more, &other);
  ck_assert_msg (other.alone >= cost.alone * (1 - EPSILON), "seed %u", seed);
}
END_TEST

static Suite *
kernel_suite (void)
{
  Suite *suite = suite_create ("kernel");
  TCase *hand = tcase_create ("by hand"), *property = tcase_create ("property");

  tcase_add_test (hand, test_matmul_by_hand);
  tcase_add_test (hand, test_matmul_waves);
  tcase_add_test (hand, test_matmul_small_tile);
  tcase_add_test (hand, test_matmul_split);
  tcase_add_test (hand, test_matmul_lying);
  tcase_add_test (hand, test_matmul_dtype);
  tcase_add_test (hand, test_attention);
  tcase_add_test (hand, test_stream);
  tcase_add_test (hand, test_small_is_latency);
  tcase_add_loop_test (property, test_property_roofline, 0, 500);
  suite_add_tcase (suite, hand);
  suite_add_tcase (suite, property);
  return suite;
}

int
main (void)
{
  SRunner *runner = srunner_create (kernel_suite ());
  int      failed;

  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
