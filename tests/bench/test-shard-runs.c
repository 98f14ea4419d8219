/*
 * The table of the strided copies, carried out with memcpy: where each byte of three tensors lands
 * in the buffer, worked out by its definition, and that copying out gives the tensors back. Not
 * asserted: the kernel that reads the table.
 */
#include <check.h>
#include <string.h>

#include "bench/shard-runs.h"

#define N_TENSORS 3
#define MAX_RUNS  64

/* Two tensors of several runs a shard, the last short, and one of 16 bytes a shard; 4 ranks. */
static const uint64_t bytes[N_TENSORS] = { 4 * 3 * SHARD_RUN_BYTES, 4 * 16,
                                           4 * (SHARD_RUN_BYTES + 48) };

#define TOTAL (4 * (4 * SHARD_RUN_BYTES + 64))

static uint8_t tensors[N_TENSORS][4 * 3 * SHARD_RUN_BYTES], flat[TOTAL + 16];

static unsigned
carry_out (unsigned ranks, bool out)
{
  void *const at[N_TENSORS] = { tensors[0], tensors[1], tensors[2] };
  ShardRun    runs[MAX_RUNS];
  unsigned    n = shard_runs_list (flat, at, bytes, N_TENSORS, ranks, out, NULL);

  ck_assert_uint_le (n, MAX_RUNS);
  ck_assert_uint_eq (shard_runs_list (flat, at, bytes, N_TENSORS, ranks, out, runs), n);
  for (unsigned i = 0; i < n; i++)
    {
      ck_assert_uint_le (runs[i].n * 16, SHARD_RUN_BYTES);
      memcpy (runs[i].to, runs[i].from, runs[i].n * 16);
    }
  return n;
}

/* Different in every tensor and in all that is a run apart. */
static uint8_t
byte_of (unsigned tensor, uint64_t i)
{
  return (uint8_t) (i * 7 + i / SHARD_RUN_BYTES * 31 + tensor * 101);
}

static void
fill (void)
{
  memset (flat, 0, sizeof flat);
  for (unsigned t = 0; t < N_TENSORS; t++)
    for (uint64_t i = 0; i < bytes[t]; i++)
      tensors[t][i] = byte_of (t, i);
}

START_TEST (test_in)
{
  unsigned ranks = _i == 0 ? 1 : 4;
  uint64_t at = 0;

  fill ();
  carry_out (ranks, false);
  for (unsigned rank = 0; rank < ranks; rank++)
    for (unsigned t = 0; t < N_TENSORS; t++)
      for (uint64_t i = 0; i < bytes[t] / ranks; i++, at++)
        ck_assert_msg (flat[at] == byte_of (t, rank * bytes[t] / ranks + i), "byte %lu",
                       (unsigned long) at);
  ck_assert_uint_eq (at, TOTAL);
  for (uint64_t i = TOTAL; i < sizeof flat; i++)
    ck_assert_uint_eq (flat[i], 0);
}
END_TEST

START_TEST (test_out)
{
  fill ();
  carry_out (4, false);
  memset (tensors, 0, sizeof tensors);
  carry_out (4, true);
  for (unsigned t = 0; t < N_TENSORS; t++)
    for (uint64_t i = 0; i < bytes[t]; i++)
      ck_assert_msg (tensors[t][i] == byte_of (t, i), "tensor %u, byte %lu", t, (unsigned long) i);
}
END_TEST

/* Four ranks, each 3 + 1 + 2 runs. */
START_TEST (test_number)
{
  fill ();
  ck_assert_uint_eq (carry_out (4, false), 24);
  ck_assert_uint_eq (carry_out (4, true), 24);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("shard-runs");
  TCase   *tcase = tcase_create ("table");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_in, 0, 2);
  tcase_add_test (tcase, test_out);
  tcase_add_test (tcase, test_number);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
