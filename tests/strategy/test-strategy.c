/*
 * Every registered strategy against its closed forms: over random models, meshes and options, what
 * the emitted schedule moves, copies, computes and holds equals `expect`; and `expect` notices a
 * dropped, doubled or mis-sized op. Not asserted here: time (replay's tests) and bytes on links
 * (collective's tests).
 */
#include <check.h>
#include <malloc.h>

#include "../cases.h"
#include "../suite.h"
#include "driver/oracle/expect-sums.h"
#include "matrix-bounds.h"
#include "policy-rows.h"
#include "random-plan.h"
#include "schedule/schedule-private.h"
#include "strategy/compression/compression.h"
#include "strategy/runtime/deepspeed/issue-deepspeed.h"

#define CASES 500

/* Registered strategies, then the test's own rows. */
static const Strategy *
nth_strategy (int n)
{
  static guint n_registered;

  while (strategy_list ()[n_registered] != NULL)
    n_registered++;
  return (guint) n < n_registered ? strategy_list ()[n] : policy_rows[(guint) n - n_registered];
}

static Schedule *
build_checked (RandomPlan *plan)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = plan->schedule != NULL
                                      ? g_steal_pointer (&plan->schedule)
                                      : schedule_build (&plan->in, plan->choice, diags);
  gboolean sound = schedule != NULL && schedule_check (schedule, &plan->in.mesh, NULL, diags);

  if (!sound)
    {
      g_autofree char *text = diag_list_format (diags, FALSE);

      ck_abort_msg ("%s\n%s", plan->text, text);
    }
  return g_steal_pointer (&schedule);
}

/*
 * The closed form is of a rank that leads its worker, where one does. Others send nothing to other
 * workers as leaders do among themselves, and what leaders keep on their hosts for that is not
 * looked at.
 */
static void
expect_of_others (const RandomPlan *plan, const PlanTotals *measured, PlanTotals *expected)
{
  Exchange        exchange = { 0 };
  MeshGroup       leaders;
  const Strategy *strategy = plan->choice->strategy;

  strategy->exchange (&plan->in, plan->choice->options, &exchange);
  leaders = mesh_across (&plan->in.mesh, exchange.worker);
  for (guint i = 0; i < expected->n_traffic; i++)
    if (expected->traffic[i].kind == COLLECTIVE_ALL_REDUCE
        && mesh_group_equal (expected->traffic[i].group, leaders))
      expected->traffic[i--] = expected->traffic[--expected->n_traffic];
  memcpy (expected->moves, measured->moves, sizeof expected->moves);
  memcpy (expected->host, measured->host, sizeof expected->host);
  for (guint place = 0; place < PLACE_N; place++)
    if (place != PLACE_HBM)
      expected->low[place] = expected->high[place] = measured->low[place];
}

/*
 * A bound that no fault reaches says nothing. DeepSpeed's, whose buckets and windows may be larger
 * than the model, is no more than so many times what is there and the model in 16 bits together,
 * as it is gathered: adapters of 4 rows fill 64 ranks' rows.
 */
#define MOST_ABOVE 8

static gboolean
is_tight (const PlanInput *in, const RandomPlan *plan, const PlanTotals *measured,
          const PlanTotals *expected, char **why)
{
  Policy policy = { 0 };
  double model;

  if (plan->choice->strategy->issue != &issue_deepspeed)
    return TRUE;
  plan->choice->strategy->policy (in, plan->choice->options, &policy);
  model = 2
          * expect_all_padded (in, &policy.kinds[0], 0,
                               policy.kinds[0].states[STATE_PARAMETERS].group.size);
  if (expected->high[PLACE_HBM] <= MOST_ABOVE * (measured->high[PLACE_HBM] + model))
    return TRUE;
  *why = g_strdup_printf ("at most %g bytes are expected of %g, of a model of %g",
                          expected->high[PLACE_HBM], measured->high[PLACE_HBM], model);
  return FALSE;
}

static gboolean
totals_are_equal (const PlanTotals *a, const PlanTotals *b)
{
  gboolean equal = a->n_traffic == b->n_traffic;

  for (guint i = 0; equal && i < a->n_traffic; i++)
    equal = a->traffic[i].bytes == b->traffic[i].bytes && a->traffic[i].slack == b->traffic[i].slack
            && a->traffic[i].kind == b->traffic[i].kind
            && a->traffic[i].codec == b->traffic[i].codec;
  return equal && memcmp (a->moves, b->moves, sizeof a->moves) == 0
         && memcmp (a->host, b->host, sizeof a->host) == 0
         && memcmp (a->low, b->low, sizeof a->low) == 0
         && memcmp (a->high, b->high, sizeof a->high) == 0 && a->states == b->states
         && a->coded == b->coded && a->flops == b->flops && a->resident == b->resident
         && a->updated == b->updated && a->mastered == b->mastered;
}

/*
 * Closed forms that find sums, those of tensors from other plans too, say the same to the bit:
 * while they are kept, and when they are recalled.
 */
static gboolean
recalls (PlanInput in, const StrategyChoice *choice, const PlanTotals *expected)
{
  static ExpectSums *sums; /* of all plans of the process */
  gboolean           equal = TRUE;

  if (sums == NULL)
    sums = expect_sums_new ();
  in.sums = sums;
  expect_sums_begin (sums, in.workload);
  for (guint i = 0; i < 2 && equal; i++)
    {
      PlanTotals totals;

      equal = strategy_expect (&in, choice, &totals) && totals_are_equal (&totals, expected);
    }
  return equal;
}

/* Of all roles of STAGE. */
static gboolean
stage_matches (const RandomPlan *plan, const Schedule *schedule, guint stage, char **why)
{
  guint     n = schedule_n_roles (schedule) / plan->stages->len;
  PlanInput in = plan->in;

  in.workload = plan->in.stages[stage];
  for (guint role = 0; role < n; role++)
    {
      PlanTotals     measured = { 0 }, expected = { 0 };
      const gboolean rows = in.batches != NULL;
      const guint    row = rows ? random_plan_row (plan, schedule, stage * n + role) : 0;

      ck_assert_msg (rows ? strategy_expect_row (&in, plan->choice, row, &expected)
                          : strategy_expect (&in, plan->choice, &expected),
                     "%s states no closed form", plan->text);
      ck_assert_msg (rows || role > 0 || recalls (in, plan->choice, &expected), "%s", plan->text);
      schedule_totals (schedule, stage * n + role, &measured);
      if (role > 0 && !rows)
        expect_of_others (plan, &measured, &expected);
      if (!plan_totals_match (&measured, &expected, why)
          || !is_tight (&in, plan, &measured, &expected, why))
        return FALSE;
    }
  return TRUE;
}

/* Where one strategy trains alone: outer ones have meshes of their own inside. */
static gboolean
is_within_bounds (const RandomPlan *plan, const Schedule *schedule, char **why)
{
  guint roles = schedule_n_roles (schedule) / plan->stages->len;

  for (guint stage = 0; stage < plan->stages->len && plan->choice->inner == NULL; stage++)
    if (!matrix_bounds_hold (plan, plan->in.stages[stage], schedule, stage * roles, why))
      return FALSE;
  return TRUE;
}

static gboolean
matches (const RandomPlan *plan, const Schedule *schedule, char **why)
{
  for (guint stage = 0; stage < plan->stages->len; stage++)
    if (!stage_matches (plan, schedule, stage, why))
      return FALSE;
  return TRUE;
}

static void
check_plan (const Strategy *strategy, guint seed, guint case_)
{
  g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy, seed, case_);
  g_autoptr (Schedule)   schedule = build_checked (plan);
  g_autofree char       *why = NULL;

  ck_assert_msg (matches (plan, schedule, &why), "%s\n%s", plan->text, why);
  ck_assert_msg (is_within_bounds (plan, schedule, &why), "%s\n%s", plan->text, why);
}

START_TEST (test_expect)
{
  const Strategy *strategy = nth_strategy (_i);

  for (guint i = 0; i < cases_of (CASES); i++)
    check_plan (strategy, 1000 + i, i);
}
END_TEST

/*
 * Sequences that differ, under every partition: what the ranks of each row move, compute and hold
 * is what is expected of their own sequences.
 */
START_TEST (test_expect_lengths)
{
  const Strategy *strategy = nth_strategy (_i);

  for (guint i = 0; i < cases_of (CASES / 2); i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_lengths (strategy, 1000 + i, i);
      g_autoptr (Schedule)   schedule = build_checked (plan);
      g_autofree char       *why = NULL;

      ck_assert_msg (matches (plan, schedule, &why), "%s\n%s", plan->text, why);
    }
}
END_TEST

/* A forward pass beside a backward pass of the same units, which stay gathered between the two. */
START_TEST (test_passes_share_units)
{
  check_plan (nth_strategy (_i), 1627, 627);
}
END_TEST

/* DeepSpeed's bound of frozen weights that rest encoded: each tensor comes by one route alone. */
START_TEST (test_one_route_a_use)
{
  const Strategy *const *list = strategy_list ();

  while (*list != NULL && !g_str_equal ((*list)->name, "zeropp"))
    list++;
  ck_assert_ptr_nonnull (*list);
  check_plan (*list, 1218, 218);
}
END_TEST

/* The options of CHOICE and of what is inside it as their tables' defaults. */
static void
take_defaults (StrategyChoice *choice)
{
  for (; choice != NULL; choice = (StrategyChoice *) choice->inner)
    if (choice->strategy->options != NULL)
      {
        option_table_clear (choice->strategy->options, (gpointer) choice->options);
        option_table_defaults (choice->strategy->options, (gpointer) choice->options);
      }
}

/*
 * The largest slack of a plan's closed form: what a prefetcher may keep beside a reuse window, and
 * blocks of CODECS that are not full.
 */
static double
slack_of (const RandomPlan *plan, gboolean codecs)
{
  PlanTotals expected = { 0 };
  double     slack = 0;

  if (plan->in.batches != NULL)
    strategy_expect_row (&plan->in, plan->choice, 0, &expected);
  else
    strategy_expect (&plan->in, plan->choice, &expected);
  for (guint i = 0; i < expected.n_traffic; i++)
    if (codecs || expected.traffic[i].codec == NULL)
      slack = MAX (slack, expected.traffic[i].slack);
  for (guint c = 0; c < MOVE_N; c++)
    slack = MAX (slack, expected.moves_slack[c]);
  for (guint h = 0; h < HOST_N_KINDS; h++)
    slack = MAX (slack, expected.host_slack[h]);
  return MAX (slack, codecs ? expected.coded_slack : 0);
}

/* At the options' defaults nothing is left open but the last blocks of codecs. */
START_TEST (test_defaults_are_exact)
{
  const Strategy *strategy = strategy_list ()[_i];
  guint           n = 0;

  for (guint i = 0; i < 2 * cases_of (CASES) && (i < cases_of (CASES) || n <= cases_of (CASES) / 4);
       i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy, 90000 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = NULL;
      g_autofree char       *why = NULL;

      take_defaults (plan->choice);
      plan->in.round_steps = 3; /* of a round of 500 alike */
      schedule = schedule_build (&plan->in, plan->choice, diags);
      if (schedule
          == NULL) /* node groups where nodes hold none; types and optimizers without offload */
        continue;
      ck_assert_msg (slack_of (plan, FALSE) == 0, "%s", plan->text);
      ck_assert_msg (matches (plan, schedule, &why), "%s\n%s", plan->text, why);
      n++;
    }
  ck_assert_uint_gt (n, cases_of (CASES) / 4);
}
END_TEST

/* The option KEY of the innermost strategy of PLAN; FALSE: it has none, or refuses VALUE. */
static gboolean
set_innermost (RandomPlan *plan, const char *key, const char *value)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  const StrategyChoice *choice = plan->choice;

  while (choice->inner != NULL)
    choice = choice->inner;
  for (const OptionSpec *spec = choice->strategy->options; spec != NULL && spec->key != NULL;
       spec++)
    if (g_str_equal (spec->key, key))
      return option_set (spec, (gpointer) choice->options, value, NULL, diags);
  return FALSE;
}

/* Whether the I-th case tries STRATEGY: it has the option, or now and then is around one. */
static gboolean
may_compress (const Strategy *strategy, guint i)
{
  if (strategy->outer)
    return i % 8 == 1;
  return strategy->options != NULL && option_table_find (strategy->options, "compression") != NULL;
}

/* Every way to compress gradients, of all strategies that have the option. */
START_TEST (test_compressions)
{
  const char *scheme = compression_choices[_i];
  guint       n = 0;

  for (guint i = 0; i < cases_of (CASES); i++)
    for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
      {
        g_autoptr (RandomPlan) plan =
            may_compress (*list, i) ? random_plan_new_mesh (*list, 40000 + i, i) : NULL;
        g_autoptr (DiagList) diags = diag_list_new ();
        g_autoptr (Schedule) schedule = NULL;
        g_autofree char     *why = NULL;

        if (plan == NULL || !set_innermost (plan, "compression", scheme))
          continue;
        set_innermost (plan, "layer_ranks", layer_ranks_choices[i % 2]);
        g_clear_pointer (&plan->schedule, schedule_free_all);
        schedule = schedule_build (&plan->in, plan->choice, diags);
        if (schedule == NULL) /* a rank above the matrices, a k above the tensors */
          continue;
        ck_assert_msg (schedule_check (schedule, &plan->in.mesh, NULL, diags), "%s %s\n%s", scheme,
                       plan->text, diag_list_first_message (diags));
        ck_assert_msg (matches (plan, schedule, &why), "%s %s\n%s", scheme, plan->text, why);
        n++;
      }
  ck_assert_uint_gt (n, cases_of (CASES) / 2);
}
END_TEST

typedef enum
{
  MUTATION_DROP,
  MUTATION_DOUBLE,
  MUTATION_RESIZE,
  MUTATION_N,
} Mutation;

/* What totals count of an op. Receives are the other end's sends. */
static double
amount_of (const ScheduleItem *item)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
      return (double) item->bytes;
    case ITEM_P2P:
      return item->collective == MESSAGE_SEND ? (double) item->bytes : 0;
    case ITEM_HOST_OP:
      return (double) item->host->elements;
    case ITEM_KERNEL:
      return item->kernel->kind == KERNEL_CODEC
                 ? item->kernel->read_bytes + item->kernel->write_bytes
                 : 0;
    default:
      return 0;
    }
}

static gboolean
counts (const ScheduleItem *item)
{
  return amount_of (item) > 0;
}

/*
 * Changes the N-th op that moves bytes over a group of several ranks or to the host, encodes or
 * decodes, or works on the host; FALSE when there are fewer, or when the closed form leaves more
 * open than such an op. A resized op grows by more than that: what moves bytes can always be
 * mutated.
 */
static gboolean
mutate (Schedule *schedule, guint n, Mutation mutation, double slack)
{
  Vector *items = schedule_program (schedule, 0, SECTION_STEADY)->items;

  for (guint i = 0; i < items->len; i++)
    {
      ScheduleItem item = vector_at (items, ScheduleItem, i);

      if (!counts (&item) || n-- > 0)
        continue;
      if (item.kind == ITEM_KERNEL || item.kind == ITEM_HOST_OP)
        {
          /* what comes once in 1e9 steps is less than a byte of one, which rounding hides */
          if (amount_of (&item) <= MAX (slack, 1))
            return FALSE;
          mutation = mutation == MUTATION_RESIZE ? MUTATION_DROP : mutation;
        }
      else if (amount_of (&item) <= slack) /* it may be one that is kept */
        mutation = MUTATION_RESIZE;
      if (mutation == MUTATION_DROP)
        vector_remove (items, i, 1);
      else if (mutation == MUTATION_DOUBLE)
        vector_insert (items, i, item);
      else
        vector_at (items, ScheduleItem, i).bytes += 2 + (guint64) slack;
      return TRUE;
    }
  return FALSE;
}

static guint
count_ops (const Schedule *schedule)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  guint         n = 0;

  for (guint i = 0; i < items.n; i++)
    n += counts (&items.items[i]);
  return n;
}

START_TEST (test_mutations)
{
  const Strategy *strategy = nth_strategy (_i);
  guint           caught = 0;

  for (guint i = 0; i < 200 && caught < 90; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy, 7000 + i, i);
      g_autoptr (Schedule)   schedule = build_checked (plan);
      g_autofree char       *why = NULL;
      guint                  n = count_ops (schedule);
      double                 slack = slack_of (plan, TRUE);

      if (n == 0 || !mutate (schedule, i * 7 % n, (Mutation) (i % MUTATION_N), slack))
        continue;
      ck_assert_msg (!matches (plan, schedule, &why), "mutation %u of op %u was not noticed: %s",
                     i % MUTATION_N, i * 7 % n, plan->text);
      caught++;
    }
  ck_assert_msg (caught >= 30, "only %u mutations were tried for %s", caught, strategy->name);
}
END_TEST

/* The same of sequences that differ, of those that have any: what has roles of its own does not. */
START_TEST (test_lengths_mutations)
{
  guint caught = 0, drawn = 0;

  for (guint i = 0; i < 24 && caught < 8; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_lengths (nth_strategy (_i), 7000 + i, i);
      g_autoptr (Schedule)   schedule = build_checked (plan);
      g_autofree char       *why = NULL;
      guint                  n = count_ops (schedule);

      drawn += plan->in.batches != NULL;
      if (plan->in.batches == NULL || n == 0
          || !mutate (schedule, i * 7 % n, (Mutation) (i % MUTATION_N), slack_of (plan, TRUE)))
        continue;
      ck_assert_msg (!matches (plan, schedule, &why), "mutation %u of op %u was not noticed: %s",
                     i % MUTATION_N, i * 7 % n, plan->text);
      caught++;
    }
  ck_assert_msg (2 * caught >= drawn, "%u mutations in %u plans of %s", caught, drawn,
                 nth_strategy (_i)->name);
}
END_TEST

/* The same of every way to compress, under ddp. */
START_TEST (test_compressed_mutations)
{
  guint caught = 0;

  for (guint i = 0; i < 120 && caught < 40; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy_find ("ddp"), 60000 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = NULL;
      g_autofree char       *why = NULL;
      guint                  n;

      ck_assert (set_innermost (plan, "compression", compression_choices[_i]));
      ck_assert (set_innermost (plan, "layer_ranks", layer_ranks_choices[i % 2]));
      g_clear_pointer (&plan->schedule, schedule_free_all);
      schedule = schedule_build (&plan->in, plan->choice, diags);
      if (schedule == NULL || (n = count_ops (schedule)) == 0
          || !mutate (schedule, i * 7 % n, (Mutation) (i % MUTATION_N), slack_of (plan, TRUE)))
        continue;
      ck_assert_msg (!matches (plan, schedule, &why), "mutation %u of op %u was not noticed: %s",
                     i % MUTATION_N, i * 7 % n, plan->text);
      caught++;
    }
  ck_assert_uint_ge (caught, 20);
}
END_TEST

/* Doubling or dropping a matrix product shows in the FLOPs. */
START_TEST (test_flops_mutation)
{
  const Strategy        *strategy = nth_strategy (_i);
  g_autoptr (RandomPlan) plan = random_plan_new (strategy, 99, 5);
  g_autoptr (Schedule)   schedule = build_checked (plan);
  g_autofree char       *why = NULL;
  Vector                *items = schedule_program (schedule, 0, SECTION_STEADY)->items;

  for (guint i = 0; i < items->len; i++)
    {
      ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_KERNEL && item->kernel->kind == KERNEL_MATMUL)
        {
          vector_remove (items, i, 1);
          break;
        }
    }
  ck_assert (!matches (plan, schedule, &why));
}
END_TEST

/* Dropping or doubling what lives for ever shows in the states, or in the peak of host memory. */
START_TEST (test_state_mutation)
{
  const Strategy *strategy = nth_strategy (_i);

  for (guint i = 0; i < 30; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new (strategy, 500 + i, i);
      g_autoptr (Schedule)   schedule = build_checked (plan);
      g_autofree char       *why = NULL;
      Vector                *items = schedule_program (schedule, 0, SECTION_INIT)->items;
      guint                  n = 0, at = 0;

      for (guint k = 0; k < items->len; k++)
        if (vector_at (items, ScheduleItem, k).kind == ITEM_ALLOC && n++ <= i % 3)
          at = k;
      ck_assert_uint_gt (n, 0);
      if (i % 2 == 0)
        vector_remove (items, at, 1);
      else
        {
          ScheduleItem item = vector_at (items, ScheduleItem, at);

          vector_insert (items, at, item);
        }
      ck_assert_msg (!matches (plan, schedule, &why), "%s", plan->text);
    }
}
END_TEST

/* One rank alone communicates nothing. Groups of several, which it cannot make, are refused. */
START_TEST (test_one_rank)
{
  const Strategy *strategy = nth_strategy (_i);
  guint           n = 0;

  if (g_str_equal (strategy->name, "ppu")) /* a worker a slice: never one rank */
    return;
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new (strategy, 300 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = NULL;
      PlanTotals             totals = { 0 };

      plan->in.mesh = (Mesh){ .n_ranks = 1, .ranks_per_node = 1, .world = 1 };
      if (!strategy_check (&plan->in, plan->choice, diags))
        continue;
      schedule = build_checked (plan);
      schedule_totals (schedule, 0, &totals);
      ck_assert_uint_eq (totals.n_traffic, 0);
      n++;
    }
  ck_assert_uint_ge (n, 10);
}
END_TEST

/* PART: "expect", or "mutations", so that the two run side by side. */
static Suite *
strategy_suite (const char *part)
{
  Suite *suite = suite_create ("strategy");
  TCase *tcase = tcase_create ("all"), *lengths = tcase_create ("lengths");
  int    n = 0, all = 0, schemes = 0;

  while (strategy_list ()[n] != NULL)
    n++;
  while (nth_strategy (all) != NULL)
    all++;
  while (compression_choices[schemes] != NULL)
    schemes++;
  if (g_str_equal (part, "expect"))
    {
      tcase_add_loop_test (tcase, test_expect, 0, all);
      tcase_add_loop_test (lengths, test_expect_lengths, 0, all);
      tcase_add_loop_test (tcase, test_passes_share_units, 0, all);
      tcase_add_test (tcase, test_one_route_a_use);
      tcase_add_loop_test (tcase, test_defaults_are_exact, 0, n);
      tcase_add_loop_test (tcase, test_compressions, 0, schemes);
    }
  else
    {
      tcase_add_loop_test (tcase, test_mutations, 0, all);
      tcase_add_loop_test (lengths, test_lengths_mutations, 0, all);
      tcase_add_loop_test (tcase, test_compressed_mutations, 0, schemes);
      tcase_add_loop_test (tcase, test_flops_mutation, 0, all);
      tcase_add_loop_test (tcase, test_state_mutation, 0, all);
      tcase_add_loop_test (tcase, test_one_rank, 0, all);
    }
  suite_add_tcase (suite, tcase);
  suite_add_tcase (suite, lengths);
  return suite;
}

SUITE_MAIN (strategy)
{
  mallopt (M_MMAP_THRESHOLD, 1 << 28); /* thousands of schedules in turn: keep their pages */
  mallopt (M_TRIM_THRESHOLD, 1 << 28);
  return suite_run (strategy_suite (argc > 1 ? argv[1] : "expect"));
}
