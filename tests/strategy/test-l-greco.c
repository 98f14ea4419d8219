/*
 * The layer-wise choice: by hand, against all choices of small cases, and what it never does.
 * Not asserted: what compression does to training.
 */
#include <check.h>
#include <math.h>

#include "../cases.h"
#include "../suite.h"
#include "strategy/compression/l-greco.h"

/*
 * Two layers, ranks 1 and 2: sizes 10, 20 and 100, 200; errors 4, 2 and 4, 3. Uniform rank 2 has
 * error 5 and size 220. Within 6 the large layer may lose more: 20 + 100; within 5 nothing but
 * rank 2 everywhere does; within 8 rank 1 everywhere; within 4 nothing. 120 buckets hold each
 * exactly.
 */
START_TEST (by_hand)
{
  static const GrecoChoice table[] = { { 10, 4 }, { 20, 2 }, { 100, 4 }, { 200, 3 } };
  guint                    chosen[2] = { 7, 7 };

  ck_assert (!greco_choose (table, 2, 2, 4, 120, chosen) && chosen[0] == 7);
  ck_assert (greco_choose (table, 2, 2, 5, 120, chosen) && chosen[0] == 1 && chosen[1] == 1);
  ck_assert (greco_choose (table, 2, 2, 6, 120, chosen) && chosen[0] == 1 && chosen[1] == 0);
  ck_assert (greco_choose (table, 2, 2, 8, 120, chosen) && chosen[0] == 0 && chosen[1] == 0);
  ck_assert_double_eq (greco_total (table, 2, 2, chosen).size, 110);
  ck_assert_double_eq (greco_total (table, 2, 2, chosen).error, 8);
}
END_TEST

#define LAYERS  5
#define CHOICES 4
#define D       40

/* The least size of all CHOICES^LAYERS whose errors, each rounded up to buckets, fit. */
static double
smallest (const GrecoChoice *table, double budget)
{
  double least = INFINITY;

  for (guint code = 0; code < 1024; code++)
    {
      double size = 0, buckets = 0;

      for (guint l = 0, rest = code; l < LAYERS; l++, rest /= CHOICES)
        {
          const GrecoChoice *choice = &table[l * CHOICES + rest % CHOICES];

          size += choice->size;
          buckets += fmax (1, ceil (choice->error * D / budget));
        }
      if (buckets <= D)
        least = fmin (least, size);
    }
  return least;
}

START_TEST (against_all_choices)
{
  guint found = 0;

  for (guint i = 0; i < cases_of (500); i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (77 + i);
      GrecoChoice       table[LAYERS * CHOICES];
      guint             chosen[LAYERS];
      double            budget = g_rand_double_range (rand, 1, 6), least;

      for (guint c = 0; c < LAYERS * CHOICES; c++)
        table[c] = (GrecoChoice){ g_rand_int_range (rand, 1, 1000), g_rand_double (rand) };
      least = smallest (table, budget);
      if (!greco_choose (table, LAYERS, CHOICES, budget, D, chosen))
        {
          ck_assert_msg (isinf (least), "case %u: nothing found", i);
          continue;
        }
      found++;
      ck_assert_double_eq (greco_total (table, LAYERS, CHOICES, chosen).size, least);
      ck_assert_double_le (greco_total (table, LAYERS, CHOICES, chosen).error, budget * (1 + 1e-9));
    }
  ck_assert_uint_gt (found, cases_of (500) / 2);
}
END_TEST

/* Singular values 1, 1/2, 1/3: squares 1, 1/4, 1/9; without the first sqrt (13 / 49) is left. */
START_TEST (power_law)
{
  double errors[4] = { 7, 7, 7, 7 };

  greco_power_law_errors (3, 1, 3, errors);
  ck_assert_double_eq_tol (errors[0], 1, 1e-12);
  ck_assert_double_eq_tol (errors[1], sqrt (13.0 / 49.0), 1e-12);
  ck_assert_double_eq_tol (errors[2], sqrt (4.0 / 49.0), 1e-12);
  ck_assert_double_eq (errors[3], 7);
  greco_power_law_errors (3, 1, 4, errors);
  ck_assert_double_eq (errors[3], 0);
}
END_TEST

SUITE_MAIN (l_greco)
{
  Suite *suite = suite_create ("l-greco");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, by_hand);
  tcase_add_test (tcase, against_all_choices);
  tcase_add_test (tcase, power_law);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
