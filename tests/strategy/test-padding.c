/* Padding against published bytes: the per-rank sizes of a layer of Qwen3-4B over 3 ranks. */
#include <check.h>

#include "strategy/common.h"

/* Qwen3-4B: d_model 2560, 32 heads of 128, 8 KV heads, MLP 9728, per-head norms. */
static const TensorDesc layer[] = {
  { .name = "norm1", .shape = { 2560 }, .n_dims = 1, .elements = 2560 },
  { .name = "q", .shape = { 4096, 2560 }, .n_dims = 2, .elements = 4096 * 2560 },
  { .name = "k", .shape = { 1024, 2560 }, .n_dims = 2, .elements = 1024 * 2560 },
  { .name = "v", .shape = { 1024, 2560 }, .n_dims = 2, .elements = 1024 * 2560 },
  { .name = "q_norm", .shape = { 128 }, .n_dims = 1, .elements = 128 },
  { .name = "k_norm", .shape = { 128 }, .n_dims = 1, .elements = 128 },
  { .name = "o", .shape = { 2560, 4096 }, .n_dims = 2, .elements = 2560 * 4096 },
  { .name = "norm2", .shape = { 2560 }, .n_dims = 1, .elements = 2560 },
  { .name = "gate", .shape = { 9728, 2560 }, .n_dims = 2, .elements = 9728 * 2560 },
  { .name = "up", .shape = { 9728, 2560 }, .n_dims = 2, .elements = 9728 * 2560 },
  { .name = "down", .shape = { 2560, 9728 }, .n_dims = 2, .elements = 2560 * 9728 },
};

START_TEST (test_qwen3_4b)
{
  guint n = G_N_ELEMENTS (layer);

  /* 67 319 300 bytes a rank under FSDP2, 67 287 212 under FSDP1 (bf16). */
  ck_assert_uint_eq (padded_rows (layer, n, 3) / 3 * 2, 67319300);
  ck_assert_uint_eq (padded_flat (padded_each (layer, n, 1), 3) / 3 * 2, 67287212);
}
END_TEST

START_TEST (test_small)
{
  const TensorDesc t[] = { { .shape = { 5, 3 }, .n_dims = 2, .elements = 15 },
                           { .shape = { 7 }, .n_dims = 1, .elements = 7 } };

  ck_assert_uint_eq (padded_flat (22, 4), 24);
  ck_assert_uint_eq (padded_rows (t, 2, 4), 8 * 3 + 8);
  ck_assert_uint_eq (padded_each (t, 2, 4), 16 + 8);
  ck_assert_uint_eq (padded_rows (t, 2, 1), 22);
}
END_TEST

START_TEST (test_groups)
{
  const Mesh           mesh = { .n_ranks = 12, .ranks_per_node = 4, .world = 12 };
  g_autoptr (DiagList) diags = diag_list_new ();
  ShardGroups          g;

  ck_assert (shard_groups (&mesh, "node", &g, diags));
  ck_assert_uint_eq (g.shard.size, 4);
  ck_assert_uint_eq (g.replica.size, 3);
  ck_assert_uint_eq (g.replica.stride, 4);
  ck_assert (shard_groups (&mesh, "all", &g, diags));
  ck_assert_uint_eq (g.shard.size, 12);
  ck_assert_uint_eq (g.replica.size, 1);
  ck_assert (!shard_groups (&mesh, "5", &g, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "shard group of 5 ranks does not divide the 12 ranks of the mesh");
  ck_assert (!shard_groups (&mesh, "nodes", &g, diags));
  ck_assert (!shard_groups (&mesh, "0", &g, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 3);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("padding");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_test (tcase, test_qwen3_4b);
  tcase_add_test (tcase, test_small);
  tcase_add_test (tcase, test_groups);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
