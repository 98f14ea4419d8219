/*
 * Which ranks work on which sequence: under Megatron-LM's hybrid context parallelism against a
 * stored table, and over random lengths: every sequence once, sets that tile the ranks, no rank
 * idle; under Zeppelin by hand, and over random lengths: aligned sets, no rank beyond what it may
 * hold where there is room. Not asserted: what that costs (tests/replay).
 *
 * tests/data/hybrid-partition.csv was made by a transcription of the rules of BalancedCPScheduler
 * (Megatron-LM, core/pipeline_parallel/hybrid_cp_schedule.py, as of November 2025) into a Python
 * script that keeps lists of each rank, where this code keeps sets: they share nothing. A group is
 * "ranks:sequence+sequence ...", groups are separated by bars, sequences are places in the list.
 */
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "fixture.h"
#include "model/step/hybrid-partition.h"
#include "model/step/zeppelin-partition.h"

static GArray *
read_lengths (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GArray        *lengths = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = 0; words[i] != NULL; i++)
    {
      gint64 length = g_ascii_strtoll (words[i], NULL, 10);

      g_array_append_val (lengths, length);
    }
  return lengths;
}

/* Neighbouring ranks with the same list, as the table has them. */
static char *
text_of (const HybridPartition *self)
{
  GString *text = g_string_new (NULL);

  for (guint g = 0; g < self->groups->len; g++)
    {
      const GArray *sets = g_ptr_array_index (self->groups, g);

      g_string_append (text, g > 0 ? " | " : "");
      for (guint s = 0; s < sets->len; s++)
        {
          const HybridSet *set = &g_array_index (sets, HybridSet, s);

          g_string_append_printf (text, "%s%u", s > 0 ? " " : "", set->ranks);
          for (guint i = 0; i < set->sequences->len; i++)
            g_string_append_printf (text, "%s%u", i > 0 ? "+" : ":",
                                    g_array_index (set->sequences, guint, i));
        }
    }
  return g_string_free (text, FALSE);
}

START_TEST (test_table)
{
  g_autofree char *file = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "data",
                                            "hybrid-partition.csv", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv)   lines = NULL;
  guint            n = 0;

  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  lines = g_strsplit (g_strchomp (text), "\n", -1);
  for (guint i = 1; lines[i] != NULL; i++, n++)
    {
      g_auto (GStrv)           row = g_strsplit (lines[i], ",", -1);
      g_autoptr (GArray)       lengths = read_lengths (row[3]);
      g_auto (HybridPartition) self = hybrid_partition_of (
          (const gint64 *) lengths->data, lengths->len, (guint) atoi (row[1]), atoi (row[2]));
      g_autofree char *made = text_of (&self);

      ck_assert_msg (g_str_equal (made, row[4]), "%s: %s, the table says %s", row[0], made, row[4]);
    }
  ck_assert_uint_eq (n, 20);
}
END_TEST

/* 1024 tokens a rank: 1 of them is held by one rank, one more by two, 4097 by eight. */
START_TEST (test_need)
{
  ck_assert_uint_eq (hybrid_partition_need (1, 1024), 1);
  ck_assert_uint_eq (hybrid_partition_need (1024, 1024), 1);
  ck_assert_uint_eq (hybrid_partition_need (1025, 1024), 2);
  ck_assert_uint_eq (hybrid_partition_need (4096, 1024), 4);
  ck_assert_uint_eq (hybrid_partition_need (4097, 1024), 8);
}
END_TEST

START_TEST (test_every_sequence_once)
{
  g_autoptr (GRand)        rand = g_rand_new_with_seed ((guint32) _i);
  const guint              ranks = 1u << g_rand_int_range (rand, 0, 7);
  g_autoptr (GArray)       lengths = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autofree guint        *seen = NULL;
  g_auto (HybridPartition) self = { NULL };

  for (gint i = g_rand_int_range (rand, 1, 200); i > 0; i--)
    {
      gint64 length = 1 + (gint64) (1000 * ranks * g_rand_double (rand) * g_rand_double (rand));

      g_array_append_val (lengths, length);
    }
  self = hybrid_partition_of ((const gint64 *) lengths->data, lengths->len, ranks, 1000);
  seen = g_new0 (guint, lengths->len);
  for (guint g = 0; g < self.groups->len; g++)
    {
      const GArray *sets = g_ptr_array_index (self.groups, g);
      guint         next = 0;

      for (guint s = 0; s < sets->len; s++)
        {
          const HybridSet *set = &g_array_index (sets, HybridSet, s);

          ck_assert_uint_eq (set->first, next);
          ck_assert_uint_gt (set->sequences->len, 0);
          next += set->ranks;
          for (guint i = 0; i < set->sequences->len; i++)
            {
              const guint at = g_array_index (set->sequences, guint, i);

              seen[at]++;
              ck_assert_uint_ge (set->ranks,
                                 hybrid_partition_need (g_array_index (lengths, gint64, at), 1000));
            }
        }
      ck_assert_uint_eq (next, ranks);
    }
  for (guint i = 0; i < lengths->len; i++)
    ck_assert_uint_eq (seen[i], 1);
}
END_TEST

/* ---- Zeppelin ---- */

static void
assert_place (const ZeppelinPlace *places, guint i, guint first, guint ranks)
{
  ck_assert_msg (places[i].first == first && places[i].ranks == ranks, "%u: %u ranks from %u on", i,
                 places[i].ranks, places[i].first);
}

/*
 * One node of 2 ranks with 1000 tokens each: 600 and 500 go to a rank each, 400 to the one with
 * less work, which is 500^2, 300 then to the other: 600^2 against 500^2 + 400^2.
 */
START_TEST (test_local)
{
  const gint64              lengths[] = { 300, 600, 400, 500 };
  g_autofree ZeppelinPlace *places = zeppelin_partition_of (lengths, 4, 2, 2, 1000);

  assert_place (places, 0, 0, 1);
  assert_place (places, 1, 0, 1);
  assert_place (places, 2, 1, 1);
  assert_place (places, 3, 1, 1);
}
END_TEST

/*
 * Two nodes of 2 ranks with 1000 tokens each: 3000 fit neither and lie on all four, 750 each; 900
 * goes to the first node, 800 to the second, 300 to the second, which has fewer tokens. A rank has
 * room for 250 more: none of the three fits one, so all lie on both ranks of their node.
 */
START_TEST (test_over_nodes)
{
  const gint64              lengths[] = { 3000, 900, 800, 300 };
  g_autofree ZeppelinPlace *places = zeppelin_partition_of (lengths, 4, 4, 2, 1000);

  assert_place (places, 0, 0, 4);
  assert_place (places, 1, 0, 2);
  assert_place (places, 2, 2, 2);
  assert_place (places, 3, 2, 2);
}
END_TEST

/*
 * 4 ranks of a node: 1800 take the first pair, 900 tokens each, 1500 the other, 750 each: 200 more
 * have room there alone, on its first rank.
 */
START_TEST (test_inside_a_node)
{
  const gint64              lengths[] = { 1800, 1500, 200 };
  g_autofree ZeppelinPlace *places = zeppelin_partition_of (lengths, 3, 4, 4, 1000);

  assert_place (places, 0, 0, 2);
  assert_place (places, 1, 2, 2);
  assert_place (places, 2, 2, 1);
}
END_TEST

/* Of 8 tokens on 4 ranks each has 2 in the mean: the first sends 2, the last two get 1 each. */
START_TEST (test_remapped)
{
  ck_assert (zeppelin_remapped ((const double[]){ 4, 2, 1, 1 }, 4) == 2);
  ck_assert (zeppelin_remapped ((const double[]){ 3, 3 }, 2) == 0);
}
END_TEST

/*
 * At most 4 sequences a rank of at most 125 tokens, in the mean of ranks half of what they hold:
 * each has its place on one rank, and none is overfull.
 */
START_TEST (test_room)
{
  g_autoptr (GRand)         rand = g_rand_new_with_seed ((guint32) _i);
  const guint               node = 1u << g_rand_int_range (rand, 0, 4);
  const guint               ranks = node << g_rand_int_range (rand, 0, 3);
  const guint               n = (guint) g_rand_int_range (rand, 1, 4 * (gint) ranks);
  g_autofree gint64        *lengths = g_new (gint64, n);
  g_autofree double        *tokens = g_new0 (double, ranks);
  g_autofree ZeppelinPlace *places = NULL;

  for (guint i = 0; i < n; i++)
    lengths[i] = g_rand_int_range (rand, 1, 126);
  places = zeppelin_partition_of (lengths, n, ranks, node, 1000);
  for (guint i = 0; i < n; i++)
    {
      ck_assert_uint_eq (places[i].ranks, 1);
      ck_assert_uint_lt (places[i].first, ranks);
      tokens[places[i].first] += (double) lengths[i];
    }
  for (guint r = 0; r < ranks; r++)
    ck_assert (tokens[r] <= 1000);
}
END_TEST

/* Any lengths: sets are powers of two of ranks, on multiples of their size. */
START_TEST (test_aligned)
{
  g_autoptr (GRand)         rand = g_rand_new_with_seed ((guint32) _i);
  const guint               node = 1u << g_rand_int_range (rand, 0, 4);
  const guint               ranks = node << g_rand_int_range (rand, 0, 3);
  const guint               n = (guint) g_rand_int_range (rand, 1, 50);
  g_autofree gint64        *lengths = g_new (gint64, n);
  g_autofree ZeppelinPlace *places = NULL;

  for (guint i = 0; i < n; i++)
    lengths[i] = 1 + (gint64) (5000 * g_rand_double (rand) * g_rand_double (rand));
  places = zeppelin_partition_of (lengths, n, ranks, node, 1000);
  for (guint i = 0; i < n; i++)
    {
      const guint size = places[i].ranks;

      ck_assert (size > 0 && (size & (size - 1)) == 0 && places[i].first % size == 0);
      ck_assert_uint_le (places[i].first + size, ranks);
      ck_assert (size <= node || size % node == 0);
    }
}
END_TEST

SUITE_MAIN (partition)
{
  TCase *tcase = tcase_create ("partition");

  tcase_add_test (tcase, test_table);
  tcase_add_test (tcase, test_need);
  tcase_add_loop_test (tcase, test_every_sequence_once, 0, 40);
  tcase_add_test (tcase, test_local);
  tcase_add_test (tcase, test_over_nodes);
  tcase_add_test (tcase, test_inside_a_node);
  tcase_add_test (tcase, test_remapped);
  tcase_add_loop_test (tcase, test_room, 0, 40);
  tcase_add_loop_test (tcase, test_aligned, 0, 40);
  return run_case ("partition", tcase);
}
