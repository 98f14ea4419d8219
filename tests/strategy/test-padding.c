/* Padding against published bytes: the per-rank sizes of a layer of Qwen3-4B over 3 ranks. */
#include <check.h>

#include "../suite.h"
#include "strategy/outer/workers.h"
#include "strategy/shards/format.h"
#include "strategy/shards/group.h"

#define N_FORMATS 6 /* of shard_format_list */

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
  ck_assert_uint_eq (format_rows.padded (layer, n, 3) / 3 * 2, 67319300);
  ck_assert_uint_eq (format_flat.padded (layer, n, 3) / 3 * 2, 67287212);
}
END_TEST

START_TEST (test_small)
{
  const TensorDesc t[] = { { .shape = { 5, 3 }, .n_dims = 2, .elements = 15 },
                           { .shape = { 7 }, .n_dims = 1, .elements = 7 } };

  ck_assert_uint_eq (format_flat.padded (t, 2, 4), 24);
  ck_assert_uint_eq (format_rows.padded (t, 2, 4), 8 * 3 + 8);
  ck_assert_uint_eq (format_each.padded (t, 2, 4), 16 + 8);
  ck_assert_uint_eq (format_rows.padded (t, 2, 1), 22);
}
END_TEST

/* Megatron-LM's own example: shards of 12 elements, which hold whole rows of 6, 4 and 2. */
START_TEST (test_lcm_rows)
{
  const TensorDesc t[] = { { .shape = { 2, 6 }, .n_dims = 2, .elements = 12 },
                           { .shape = { 4, 4 }, .n_dims = 2, .elements = 16 },
                           { .shape = { 4, 4 }, .n_dims = 2, .elements = 16 },
                           { .shape = { 1, 2 }, .n_dims = 2, .elements = 2 },
                           { .shape = { 1, 6 }, .n_dims = 2, .elements = 6 } };
  guint64          starts[G_N_ELEMENTS (t)];

  ck_assert_uint_eq (format_lcm_rows.layout (t, G_N_ELEMENTS (t), 5, 0, starts), 60);
  ck_assert_uint_eq (starts[0], 0);
  ck_assert_uint_eq (starts[1], 12);
  ck_assert_uint_eq (starts[2], 32);
  ck_assert_uint_eq (starts[3], 28);
  ck_assert_uint_eq (starts[4], 48); /* ends at 54, within the fifth block of 12 */
  ck_assert_uint_eq (format_lcm_rows.padded (t, G_N_ELEMENTS (t), 5), 60);
}
END_TEST

/* Over random tensors: nothing overlaps, a block's border cuts no row, and padding is a tail. */
START_TEST (test_lcm_rows_never_cut)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (guint i = 0; i < 500; i++)
    {
      guint      n = (guint) g_rand_int_range (rand, 1, 9), block = 12;
      TensorDesc t[8];
      guint64    starts[8], end;

      for (guint k = 0; k < n; k++)
        {
          const guint64 rows[] = { 1, 2, 3, 4, 6, 12 };
          guint64       row = rows[g_rand_int_range (rand, 0, 6)];
          guint64       count = (guint64) g_rand_int_range (rand, 1, 12);

          t[k] = (TensorDesc){ .shape = { count, row }, .n_dims = 2, .elements = count * row };
        }
      t[0] = (TensorDesc){ .shape = { 1, 12 }, .n_dims = 2, .elements = 12 }; /* the block is 12 */
      end = format_lcm_rows.layout (t, n, 4, 0, starts);
      for (guint k = 0; k < n; k++)
        {
          guint64 row = t[k].elements / t[k].shape[0];

          for (guint64 cut = block; cut < end; cut += block)
            ck_assert (cut <= starts[k] || cut >= starts[k] + t[k].elements
                       || (cut - starts[k]) % row == 0);
          for (guint o = 0; o < k; o++)
            ck_assert (starts[o] + t[o].elements <= starts[k]
                       || starts[k] + t[k].elements <= starts[o]);
        }
      ck_assert_uint_eq (end % (4UL * block), 0);
      ck_assert_double_eq (format_lcm_rows.formula (t, n, 4),
                           (double) format_lcm_rows.padded (t, n, 4));
    }
}
END_TEST

/*
 * Rows of prime widths: shards are multiples of their product. Of 1009, 1013 and 1019 it is
 * 1041537223 and shards have it exactly. Of 2^31 - 1 and 2^31 - 19 it has 62 bits, which 64 ranks
 * are beyond, and of 2^32 - 5, 2^32 - 17 and 65537 more than 64: as many as 2^50 are counted, in
 * whole shards (2^50 is 1 more than a multiple of 3), and tensors still lie apart.
 */
START_TEST (test_lcm_rows_of_primes)
{
  static const guint64 small[] = { 1009, 1013, 1019 }, middle[] = { 2147483647, 2147483629 },
                       large[] = { 4294967291, 4294967279, 65537 };
  static const struct
  {
    const guint64 *widths;
    guint          n, m;
    guint64        padded;
  } cases[] = {
    { small, 3, 64, 64 * G_GUINT64_CONSTANT (1041537223) },
    { small, 3, 1024, 1024 * G_GUINT64_CONSTANT (1041537223) },
    { middle, 2, 64, G_GUINT64_CONSTANT (1) << 50 },
    { middle, 2, 1024, G_GUINT64_CONSTANT (1) << 50 },
    { large, 3, 1, G_GUINT64_CONSTANT (1) << 50 },
    { large, 3, 3, (G_GUINT64_CONSTANT (1) << 50) - 1 },
  };
  const guint n = cases[_i].n, m = cases[_i].m;
  TensorDesc  t[3];
  guint64     starts[3];

  for (guint i = 0; i < n; i++)
    t[i] = (TensorDesc){ .shape = { 1, cases[_i].widths[i] },
                         .n_dims = 2,
                         .elements = cases[_i].widths[i] };
  ck_assert_uint_eq (format_lcm_rows.layout (t, n, m, 0, starts), cases[_i].padded);
  ck_assert_double_eq (format_lcm_rows.formula (t, n, m), (double) cases[_i].padded);
  /* the widest first, others from where one of their own rows ends: all are about as wide */
  ck_assert_uint_eq (starts[_i < 2 ? 2 : 0], 0);
  for (guint i = 0; i < n; i++)
    {
      ck_assert_uint_eq (starts[i] % t[i].elements, 0);
      for (guint o = 0; o < i; o++)
        ck_assert (starts[o] + t[o].elements <= starts[i]
                   || starts[i] + t[i].elements <= starts[o]);
    }
}
END_TEST

/*
 * Over random tensors, in any order that a format has: each lies in the buffer by itself, which has
 * what is padded, whether somebody asks where they lie or not. Who has no buffer cuts each.
 */
START_TEST (test_layouts)
{
  const ShardFormat *format = shard_format_list ()[_i];
  g_autoptr (GRand)  rand = g_rand_new_with_seed (17);

  ck_assert_int_eq (shard_format_is_in_place (format), format == &format_flat
                                                           || format == &format_lcm_rows
                                                           || format == &format_ragged);
  for (guint i = 0; shard_format_is_in_place (format) && i < 300; i++)
    {
      const guint n = (guint) g_rand_int_range (rand, 1, 7);
      const guint m = (guint) g_rand_int_range (rand, 1, 40);
      const guint order = format == &format_ragged ? i % (RAGGED_ORDER_BEST + 1) : 0;
      TensorDesc  t[6];
      guint64     starts[6], end;

      for (guint k = 0; k < n; k++)
        {
          const guint64 rows = (guint64) g_rand_int_range (rand, 1, 50);
          const guint64 row = (guint64) g_rand_int_range (rand, 1, 9);

          t[k] = (TensorDesc){
            .shape = { rows, row }, .n_dims = 2, .elements = rows * row, .block = row
          };
        }
      end = format->layout (t, n, m, order, starts);
      ck_assert_uint_eq (end % m, 0);
      ck_assert_uint_eq (format->layout (t, n, m, order, NULL), end);
      if (order == 0)
        ck_assert_uint_eq (format->padded (t, n, m), end);
      for (guint k = 0; k < n; k++)
        {
          ck_assert_uint_le (starts[k] + t[k].elements, end);
          for (guint o = 0; o < k; o++)
            ck_assert (starts[o] + t[o].elements <= starts[k]
                       || starts[k] + t[k].elements <= starts[o]);
        }
    }
}
END_TEST

/* Eight stacked experts: over 16 ranks half of every shard on the first dimension is padding. */
START_TEST (test_stacked_experts)
{
  const TensorDesc experts[] = {
    { .shape = { 8, 64, 32 }, .n_dims = 3, .elements = 16384 },
    { .shape = { 64, 32 }, .n_dims = 2, .elements = 2048 },
  };

  ck_assert_uint_eq (format_rows.padded (experts, 2, 16), 2 * 16384 + 2048);
  ck_assert_uint_eq (format_rows_inside.padded (experts, 2, 16), 16384 + 2048);
  ck_assert_uint_eq (format_rows_inside.strided (experts, 2, 16), 16384);
  ck_assert_uint_eq (format_rows_inside.padded (experts, 1, 60), 120 * 256); /* 64 to 120 */
  ck_assert_uint_eq (format_rows_inside.padded (experts, 2, 8), 16384 + 2048);
  ck_assert_uint_eq (format_rows_inside.strided (experts, 2, 8), 0);
}
END_TEST

/* Each format's two statements of its padding agree, over random tensors. */
START_TEST (test_formulas)
{
  const ShardFormat *format = _i < N_FORMATS ? shard_format_list ()[_i] : &format_whole;
  g_autoptr (GRand)  rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < 1000; i++)
    {
      TensorDesc t[4];
      guint n = (guint) g_rand_int_range (rand, 1, 5), m = (guint) g_rand_int_range (rand, 1, 99);

      for (guint k = 0; k < n; k++)
        {
          guint64 rows = (guint64) g_rand_int_range (rand, 1, 5000);
          guint64 row = (guint64) g_rand_int_range (rand, 1, 5000);

          t[k] = (TensorDesc){ .shape = { rows, row }, .n_dims = 2, .elements = rows * row };
          if (g_rand_boolean (rand)) /* stacked experts, of rows as long */
            {
              guint64 inner = (guint64) g_rand_int_range (rand, 1, 50), width = row / inner + 1;

              t[k] = (TensorDesc){ .shape = { rows % 64 + 1, inner, width }, .n_dims = 3 };
              t[k].elements = t[k].shape[0] * inner * width;
            }
        }
      ck_assert_double_eq (format->formula (t, n, m), (double) format->padded (t, n, m));
      ck_assert_uint_eq (format->padded (t, n, m) % m, 0);
    }
}
END_TEST

START_TEST (test_groups)
{
  const Mesh           mesh = { .n_ranks = 12, .ranks_per_node = 4, .world = 12 };
  g_autoptr (DiagList) diags = diag_list_new ();
  ShardGroups          g;

  ck_assert (shard_groups (&mesh, "node", &g, diags));
  ck_assert_uint_eq (g.shard_group.size, 4);
  ck_assert_uint_eq (g.replica.size, 3);
  ck_assert_uint_eq (g.replica.stride, 4);
  ck_assert (shard_groups (&mesh, "all", &g, diags));
  ck_assert_uint_eq (g.shard_group.size, 12);
  ck_assert_uint_eq (g.replica.size, 1);
  ck_assert (!shard_groups (&mesh, "5", &g, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "shard group of 5 ranks does not divide the 12 ranks of the mesh");
  ck_assert (!shard_groups (&mesh, "nodes", &g, diags));
  ck_assert (!shard_groups (&mesh, "0", &g, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 3);
}
END_TEST

/* What makes workers is the option 'worker': messages say so. */
START_TEST (test_workers)
{
  static const struct
  {
    const char *worker, *message;
    guint       ranks_per_node;
  } cases[] = {
    { "node", "'worker: node' needs nodes of equal size", 0 },
    { "5", "worker of 5 ranks does not divide the 12 ranks of the mesh", 4 },
    { "nodes", "unknown worker 'nodes'", 4 },
  };
  const WorkersOptions options = { .worker = (char *) cases[_i].worker };
  const PlanInput      in = {
         .mesh = { .n_ranks = 12, .ranks_per_node = cases[_i].ranks_per_node, .world = 12 }
  };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (!workers_check (&in, &options, diags));
  ck_assert_str_eq (diag_list_first_message (diags), cases[_i].message);
}
END_TEST

SUITE_MAIN (padding)
{
  Suite *suite = suite_create ("padding");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_qwen3_4b);
  tcase_add_test (tcase, test_small);
  tcase_add_test (tcase, test_lcm_rows);
  tcase_add_test (tcase, test_lcm_rows_never_cut);
  tcase_add_loop_test (tcase, test_lcm_rows_of_primes, 0, 6);
  tcase_add_test (tcase, test_stacked_experts);
  g_assert (shard_format_list ()[N_FORMATS] == NULL);
  tcase_add_loop_test (tcase, test_formulas, 0, N_FORMATS + 1);
  tcase_add_loop_test (tcase, test_layouts, 0, N_FORMATS);
  tcase_add_test (tcase, test_groups);
  tcase_add_loop_test (tcase, test_workers, 0, 3);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
