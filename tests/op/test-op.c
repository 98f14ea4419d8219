/* The words of collectives and element types: each reads back, in nccl-tests' spelling too. */
#include <check.h>

#include "op/collective-kind.h"
#include "op/dtype.h"

START_TEST (kinds_read_back)
{
  const CollectiveKind kind = (CollectiveKind) _i;

  ck_assert_int_eq (collective_kind_parse (collective_kind_name (kind)), kind);
}
END_TEST

START_TEST (kinds_have_other_spellings)
{
  ck_assert_int_eq (collective_kind_parse ("alltoall"), COLLECTIVE_ALL_TO_ALL);
  ck_assert_int_eq (collective_kind_parse ("SendRecv"), COLLECTIVE_SEND_RECV);
  ck_assert_int_eq (collective_kind_parse ("all reduce"), COLLECTIVE_N_KINDS);
  ck_assert_int_eq (collective_kind_parse (""), COLLECTIVE_N_KINDS);
}
END_TEST

START_TEST (elements_have_bytes)
{
  ck_assert_uint_eq (dtype_bytes (DTYPE_FP32), 4);
  ck_assert_uint_eq (dtype_bytes (DTYPE_BF16), 2);
  ck_assert_uint_eq (dtype_bytes (DTYPE_FP16), 2);
  ck_assert_str_eq (dtype_name (DTYPE_BF16), "bf16");
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("op");
  TCase   *tcase = tcase_create ("words");
  SRunner *runner;
  int      n_failed;

  tcase_add_loop_test (tcase, kinds_read_back, 0, COLLECTIVE_N_KINDS);
  tcase_add_test (tcase, kinds_have_other_spellings);
  tcase_add_test (tcase, elements_have_bytes);
  suite_add_tcase (suite, tcase);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  n_failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return n_failed == 0 ? 0 : 1;
}
