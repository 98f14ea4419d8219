/*
 * The loop that host_work times, against the same in double. Asserts what it computes, not how
 * fast.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/host-kernels.h"

#define N 5 /* fours */

typedef struct
{
  HostFloats parameter[N], moment1[N], moment2[N], gradient[N];
  HostHalves copy[N];
} Memory;

static HostArrays
fill (Memory *memory)
{
  for (unsigned i = 0; i < N; i++)
    for (unsigned k = 0; k < 4; k++)
      {
        memory->parameter[i][k] = (float) (4 * i + k) / 7 - 1;
        memory->gradient[i][k] = 1 - (float) (4 * i + k) / 11;
        memory->moment1[i][k] = memory->gradient[i][k] / 3;
        memory->moment2[i][k] = (float) (i + 1) / 100;
        memory->copy[i][k] = 0;
      }
  return (HostArrays){ memory->parameter, memory->moment1, memory->moment2, memory->gradient,
                       memory->copy };
}

static float
from_bf16 (uint16_t bits)
{
  uint32_t word = (uint32_t) bits << 16;
  float    value;

  memcpy (&value, &word, sizeof value);
  return value;
}

START_TEST (adam_is_adamw)
{
  Memory     memory, before;
  HostArrays arrays = fill (&memory);

  fill (&before);
  host_kernel_adam (&arrays, N, 3);
  for (unsigned i = 0; i < N; i++)
    for (unsigned k = 0; k < 4; k++)
      {
        double g = (double) before.gradient[i][k];
        double m = 0.9 * (double) before.moment1[i][k] + 0.1 * g;
        double v = 0.999 * (double) before.moment2[i][k] + 0.001 * g * g;
        double mean = m / (1 - pow (0.9, 3)), square = v / (1 - pow (0.999, 3));
        double p = (double) before.parameter[i][k];

        p -= 1e-4 * 0.01 * p;
        p -= 1e-4 * mean / (sqrt (square) + 1e-8);
        ck_assert_double_eq_tol ((double) memory.moment1[i][k], m, 1e-6);
        ck_assert_double_eq_tol ((double) memory.moment2[i][k], v, 1e-6);
        ck_assert_double_eq_tol ((double) memory.parameter[i][k], p, 1e-6);
        /* 8 bits of mantissa, rounded to nearest */
        ck_assert_double_le (
            fabs ((double) (from_bf16 (memory.copy[i][k]) - memory.parameter[i][k])),
            fabs (p) / 256 + 1e-30);
      }
}
END_TEST

/* 1 + 2^-8 lies in the middle of two values of bf16, which are 2^-7 apart. */
START_TEST (copies_round_to_nearest)
{
  HostFloats parameter = { 1 + 0x1p-8f - 0x1p-12f, 1 + 0x1p-8f + 0x1p-12f, -1, 0 };
  HostFloats moment = { 0 }, square = { 1, 1, 1, 1 }, gradient = { 0 };
  HostHalves copy;
  HostArrays arrays = { &parameter, &moment, &square, &gradient, &copy };

  host_kernel_adam (&arrays, 1, 1); /* decay takes a millionth away */
  ck_assert_uint_eq (copy[0], 0x3f80);
  ck_assert_uint_eq (copy[1], 0x3f81);
  ck_assert_uint_eq (copy[2], 0xbf80);
  ck_assert_uint_eq (copy[3], 0);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("host-kernels");
  TCase   *tcase = tcase_create ("host-kernels");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_test (tcase, adam_is_adamw);
  tcase_add_test (tcase, copies_round_to_nearest);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
