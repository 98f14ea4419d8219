/*
 * Attention and experts apart: exchanges by hand, both sides of a block against the whole, what an
 * answer is made of, and what is refused. Not asserted: how long real exchanges take.
 */
#include <string.h>

#include "../suite.h"
#include "fixture.h"
#include "serve/apart-search.h"

/* ---- exchanges ------------------------------------------------------------------------------- */

/*
 * A DGX A100 has a card of 25 GB/s a GPU, of which 0.94 are reached. M2N of 8 messages of 256 KiB:
 * two signals of 2 us, 8 posts of 0.2, a write of 3, a flush of 1, and 2 MiB over the card.
 */
START_TEST (test_written)
{
  Fixture                 f = fixture_new ("mixtral-8x22b", "2xdgx-a100");
  g_autoptr (ExchangeEnd) end = exchange_end_new (f.cluster, TRUE, &collective_default_options);
  const double            bytes = 256 << 10;

  CLOSE (exchange_end_seconds (end, EXCHANGE_M2N, 8, bytes), 9.6e-6 + 8 * bytes / (0.94 * 25e9),
         1e-9);
  ck_assert_double_eq (exchange_end_held (end, EXCHANGE_M2N, 8, bytes), 0);
  ck_assert_double_gt (exchange_end_held (end, EXCHANGE_NCCL, 8, bytes), 0);
  fixture_clear (&f);
}
END_TEST

/*
 * A pool of one node leaves by its cards, as two such nodes do, and not by NVLink.
 */
START_TEST (test_of_one_node)
{
  Fixture one = fixture_new ("mixtral-8x22b", "dgx-a100"),
          two = fixture_new ("mixtral-8x22b", "2xdgx-a100");
  g_autoptr (ExchangeEnd) by_card =
                              exchange_end_new (one.cluster, TRUE, &collective_default_options),
                          inside =
                              exchange_end_new (one.cluster, FALSE, &collective_default_options),
                          between =
                              exchange_end_new (two.cluster, TRUE, &collective_default_options);

  for (guint t = 0; t < EXCHANGE_N_TRANSPORTS; t++)
    {
      const double seconds = exchange_end_seconds (between, (ExchangeTransport) t, 8, 1e6);

      ck_assert_double_eq (exchange_end_seconds (by_card, (ExchangeTransport) t, 8, 1e6), seconds);
      ck_assert_double_lt (exchange_end_seconds (inside, (ExchangeTransport) t, 8, 1e6),
                           seconds / 2);
    }
  fixture_clear (&one);
  fixture_clear (&two);
}
END_TEST

/* Four cards of 8 GPUs, all of which send at once: a byte takes twice as long, a start as long. */
START_TEST (test_shared_cards)
{
  Fixture                 f = fixture_new ("mixtral-8x22b", "2xdgx-a100");
  ClusterOptions          wanted = { 0 };
  g_autoptr (Cluster)     shared = NULL;
  g_autoptr (ExchangeEnd) of_eight =
      exchange_end_new (f.cluster, TRUE, &collective_default_options);
  g_autoptr (ExchangeEnd) of_four = NULL;

  option_table_defaults (cluster_options, &wanted);
  wanted.node = g_strdup ("dgx-a100");
  wanted.nodes = 2;
  wanted.nics = 4;
  shared = cluster_new (&wanted, f.profiles, NULL, f.diags);
  option_table_clear (cluster_options, &wanted);
  of_four = exchange_end_new (shared, TRUE, &collective_default_options);
  CLOSE (exchange_end_seconds (of_four, EXCHANGE_M2N, 8, 1e6)
             - exchange_end_seconds (of_eight, EXCHANGE_M2N, 8, 1e6),
         8e6 / (0.94 * 25e9), 1e-9);
  fixture_clear (&f);
}
END_TEST

/*
 * Eight operations run side by side: 16 take twice as long as 8, 9 no less than two launches of
 * fewer. Alone, one is the library's own message. Nothing is faster than writes, nor than a card.
 */
START_TEST (test_grouped)
{
  Fixture                    f = fixture_new ("mixtral-8x22b", "2xdgx-a100");
  g_autoptr (ExchangeEnd)    end = exchange_end_new (f.cluster, TRUE, &collective_default_options);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new_message (f.cluster, 0, 15, &collective_default_options);
  CollectiveCost one;

  for (guint size = 11; size < 24; size++)
    {
      const double bytes = 1 << size;
      const double eight = exchange_end_seconds (end, EXCHANGE_NCCL, 8, bytes);

      collective_plan_cost (plan, bytes, &one);
      CLOSE (exchange_end_seconds (end, EXCHANGE_NCCL, 1, bytes), one.time, 1e-9);
      CLOSE (exchange_end_seconds (end, EXCHANGE_NCCL, 16, bytes), 2 * eight, 1e-9);
      ck_assert_double_gt (exchange_end_seconds (end, EXCHANGE_NCCL, 9, bytes), 2 * one.latency);
      ck_assert_double_gt (eight, exchange_end_seconds (end, EXCHANGE_M2N, 8, bytes));
      ck_assert_double_gt (eight, 8 * bytes / 25e9);
    }
  fixture_clear (&f);
}
END_TEST

/* ---- both sides of a block ------------------------------------------------------------------- */

static double
sum_of_sides (Generator *generator, double sequences, double cached)
{
  const SequenceGroup batch = { sequences, 1, cached };
  const guint         n = generator_n_layers (generator);
  g_autofree double  *seconds = g_new (double, n);
  double              sum = 0;

  for (guint s = 0; s < GENERATION_N_SIDES; s++)
    {
      generator_layer_seconds (generator, (GenerationSide) s, &batch, seconds);
      for (guint i = 0; i < n; i++)
        sum += seconds[i];
    }
  return sum;
}

/* Nothing is lost between the sides: seconds of a step, and weights. */
START_TEST (test_sides_are_the_whole)
{
  static const struct
  {
    const char *model;
    gint64      tp;
  } cases[] = { { "mixtral-8x22b", 1 },
                { "mixtral-8x22b", 4 },
                { "deepseek-v3", 8 },
                { "gpt-oss-20b", 2 },
                { "qwen3-30b-a3b", 1 } };
  Fixture               f = fixture_new (cases[_i].model, "8xdgx-h100");
  g_autoptr (Generator) generator = NULL;

  f.options.tp = cases[_i].tp;
  f.options.step_overhead_s = 0;
  generator = generator_of (&f);
  for (guint n = 1; n <= 256; n *= 16)
    CLOSE (sum_of_sides (generator, n, 900), step (&f, n, 1, 900).seconds, 1e-9);
  CLOSE (generator_side_weight_bytes (generator, GENERATION_ATTENTION_SIDE)
             + generator_side_weight_bytes (generator, GENERATION_EXPERT_SIDE),
         generator_weight_bytes (generator), 1e-12);
  ck_assert (!generator_has_experts (generator, 0)); /* the embedding */
  ck_assert (generator_has_experts (generator, generator_n_layers (generator) - 2));
  fixture_clear (&f);
}
END_TEST

static double
seconds_of_side (Fixture *f, GenerationSide side)
{
  g_autoptr (Generator) generator = generator_of (f);
  const SequenceGroup   batch = { 64, 1, 900 };
  const guint           n = generator_n_layers (generator);
  g_autofree double    *seconds = g_new (double, n);

  generator_layer_seconds (generator, side, &batch, seconds);
  return seconds[n - 2];
}

/*
 * Experts half as wide are no matter to attention, whatever weights are in: nothing of theirs,
 * casts and biases among it, is on its side.
 */
START_TEST (test_nothing_is_on_the_wrong_side)
{
  static const char *const models[] = { "mixtral-8x22b", "gpt-oss-20b", "deepseek-v3" };
  Fixture                  f = fixture_new (models[_i / 3], "8xdgx-h100");
  double                   before[GENERATION_N_SIDES];

  f.options.weights = _i % 3;
  for (guint s = 0; s < GENERATION_N_SIDES; s++)
    before[s] = seconds_of_side (&f, (GenerationSide) s);
  f.shape.d_expert /= 2;
  f.shape.n_shared_experts *= 2; /* as wide together as they were: they stay with attention */
  CLOSE (seconds_of_side (&f, GENERATION_ATTENTION_SIDE), before[GENERATION_ATTENTION_SIDE], 1e-9);
  ck_assert_double_lt (seconds_of_side (&f, GENERATION_EXPERT_SIDE),
                       0.8 * before[GENERATION_EXPERT_SIDE]);
  fixture_clear (&f);
}
END_TEST

/* ---- answers --------------------------------------------------------------------------------- */

static ApartOptions
apart_defaults (void)
{
  ApartOptions options = { 0 };

  option_table_defaults (apart_options, &options);
  return options;
}

static Apart *
apart_of (Fixture *f, const ApartOptions *options)
{
  const ApartPools pools = { f->cluster, f->cluster };
  Apart           *apart =
      apart_new (&f->shape, &f->options, options, &pools, &collective_default_options, f->diags);

  ck_assert_msg (apart != NULL, "%s", diag_list_first_message (f->diags));
  return apart;
}

/*
 * Mixtral 8x22B, two ranks each, 4 replicas of 128 sequences a micro-batch: each of 8 experts has
 * 128 x 4 x 2 / 8 = 128 rows. A rank sends 128 x 6144 x 2 x 2 / (8 x 2) = 196608 B to each expert,
 * as the paper has it (7.3); an expert's rank receives as much from each of 8 / 2 senders.
 */
START_TEST (test_answer)
{
  Fixture                 f = fixture_new ("mixtral-8x22b", "4xdgx-a100");
  ApartOptions            options = apart_defaults ();
  g_autoptr (ExchangeEnd) end = exchange_end_new (f.cluster, TRUE, &collective_default_options);
  g_autoptr (Apart)       apart = NULL;
  ApartAnswer             one;

  f.options.tp = 2;
  f.options.step_overhead_s = 0.5e-3;
  options.attention_replicas = 4;
  apart = apart_of (&f, &options);
  apart_answer (apart, (ApartLoad){ 3 * 128, 571, 159, 0.15 }, &one);
  CLOSE (one.rows, 128, 1e-12);
  ck_assert_uint_eq (one.n_gpus, 4 * 2 + 8 * 2);
  CLOSE (one.times.exchange_s, exchange_end_seconds (end, EXCHANGE_M2N, 8, 196608), 1e-9);
  CLOSE (one.tokens_per_s, 4 * 3 * 128 / one.between_tokens_s, 1e-12);
  CLOSE (one.tokens_per_s_per_gpu, one.tokens_per_s / 24, 1e-12);
  CLOSE (one.between_tokens_s, one.run.seconds + 0.5e-3, 1e-12);
  /* 56 blocks alike, and a head behind them: little more than the closed form of the blocks */
  ck_assert_double_ge (one.run.seconds, one.closed_form_s);
  ck_assert_double_le (one.run.seconds, 1.05 * one.closed_form_s);
  for (guint c = 0; c < PING_PONG_N_CONDITIONS; c++)
    ck_assert (one.checks[c].holds);
  CLOSE (one.closed_form_s, one.published_s, 1e-9);
  /* 3 matrices of 6144 x 16384 in 56 blocks, 2 B, on two ranks */
  CLOSE (one.expert_weight_bytes, 56 * 3.0 * 6144 * 16384 * 2 / 2, 1e-9);
  ck_assert (one.fits && one.in_limit);
  fixture_clear (&f);
}
END_TEST

/*
 * Alone, a micro-batch makes each pool wait for the other; two nearly double the tokens, three hide
 * the exchange, and a fourth one changes little: of what the times say, not of a fit.
 */
START_TEST (test_micro_batches)
{
  Fixture           f = fixture_new ("mixtral-8x22b", "4xdgx-a100");
  ApartOptions      options = apart_defaults ();
  g_autoptr (Apart) apart = NULL;
  double            speed[5];

  f.options.tp = 2;
  options.attention_replicas = 4;
  apart = apart_of (&f, &options);
  for (guint m = 1; m <= 4; m++)
    {
      ApartAnswer one;

      apart_set (apart, 4, m);
      apart_answer (apart, (ApartLoad){ 128 * m, 571, 159, 0.15 }, &one);
      speed[m] = one.tokens_per_s;
    }
  ck_assert_double_gt (speed[2], 1.8 * speed[1]);
  ck_assert_double_lt (speed[2], 2 * speed[1]);
  ck_assert_double_gt (speed[3], 1.05 * speed[2]);
  ck_assert_double_lt (speed[4], 1.05 * speed[3]);
  fixture_clear (&f);
}
END_TEST

/* The largest batch is in memory and in the limit, and the next size is not. */
START_TEST (test_largest)
{
  static const double limits[] = { 10, 0.15, 0.045, 0.01 };
  Fixture             f = fixture_new ("mixtral-8x22b", "4xdgx-a100");
  ApartOptions        options = apart_defaults ();
  g_autoptr (Apart)   apart = NULL;
  ApartAnswer         one, next;
  ApartLoad           load = { 0, 571, 159, limits[_i] };

  f.options.tp = 2;
  options.attention_replicas = 4;
  apart = apart_of (&f, &options);
  apart_answer (apart, load, &one);
  ck_assert (one.fits);
  if (!one.in_limit) /* a sequence alone takes longer */
    {
      ck_assert_double_eq (one.micro_batch, 1);
      fixture_clear (&f);
      return;
    }
  load.batch = one.load.batch + 3 * (one.micro_batch >= 512 ? 128 : 8);
  apart_answer (apart, load, &next);
  ck_assert (!next.fits || !next.in_limit);
  ck_assert_double_le (one.load.batch * one.sequence_bytes, one.room_bytes);
  fixture_clear (&f);
}
END_TEST

/* The library's exchange is the longer one, and takes SMs from both pools. */
START_TEST (test_transports)
{
  Fixture           f = fixture_new ("mixtral-8x22b", "4xdgx-a100");
  ApartOptions      options = apart_defaults ();
  g_autoptr (Apart) m2n = NULL, nccl = NULL;
  ApartAnswer       by_m2n, by_nccl;
  const ApartLoad   load = { 384, 571, 159, 0.15 };

  f.options.tp = 2;
  options.attention_replicas = 4;
  m2n = apart_of (&f, &options);
  options.transport = EXCHANGE_NCCL;
  nccl = apart_of (&f, &options);
  apart_answer (m2n, load, &by_m2n);
  apart_answer (nccl, load, &by_nccl);
  ck_assert_double_gt (by_nccl.times.exchange_s, by_m2n.times.exchange_s);
  ck_assert_double_gt (by_nccl.times.attention_s, by_m2n.times.attention_s);
  ck_assert_double_gt (by_nccl.times.experts_s, by_m2n.times.experts_s);
  ck_assert_double_gt (by_nccl.between_tokens_s, by_m2n.between_tokens_s);
  fixture_clear (&f);
}
END_TEST

/* ---- the search ------------------------------------------------------------------------------ */

/*
 * What is found fits, is in the limit, and nothing that is near it is better: of each degree by
 * itself, and of the replicas whatever their number.
 */
START_TEST (test_search)
{
  Fixture          f = fixture_new ("mixtral-8x22b", "4xdgx-a100");
  const ApartPools pools = { f.cluster, f.cluster };
  ApartOptions     options = apart_defaults ();
  const ApartLoad  load = { 0, 571, 159, 0.15 };
  ApartSearch      found;
  double           best;

  ck_assert (apart_search (&f.shape, &f.options, &options, &pools, &collective_default_options,
                           load, &found, f.diags));
  ck_assert (found.best.fits && found.best.in_limit);
  ck_assert_uint_le (found.best.n_gpus, 32);
  best = found.best.tokens_per_s_per_price;
  f.options.tp = found.best.attention_tp;
  options.expert_tp = found.best.expert_tp;
  for (guint n = 1; n * found.best.attention_tp + 8 * found.best.expert_tp <= 32; n++)
    for (guint m = 1; m <= 4; m++)
      {
        g_autoptr (Apart) apart = apart_of (&f, &options);
        ApartAnswer       one;

        apart_set (apart, n, m);
        apart_answer (apart, load, &one);
        ck_assert (!one.fits || !one.in_limit || one.tokens_per_s_per_price <= 1.03 * best);
      }
  fixture_clear (&f);
}
END_TEST

/*
 * At n_a = k1 E / (k3 K) one more sequence costs both pools as much: of replicas so many, T_a and
 * T_e grow alike from the rows on where the slopes were taken.
 */
START_TEST (test_balance)
{
  Fixture           f = fixture_new ("mixtral-8x22b", "8xdgx-a100");
  ApartOptions      options = apart_defaults ();
  const ApartLoad   load = { 0, 571, 159, 0.15 };
  g_autoptr (Apart) apart = NULL;
  ApartAnswer       one, two;
  double            n;

  f.options.tp = 2;
  apart = apart_of (&f, &options);
  n = apart_balanced_replicas (apart, &load);
  ck_assert_double_gt (n, 1);
  apart_set (apart, (guint) round (n), 1);
  apart_answer (apart, (ApartLoad){ 256, 571, 159, 0.15 }, &one);
  apart_answer (apart, (ApartLoad){ 512, 571, 159, 0.15 }, &two);
  CLOSE (two.times.experts_s - one.times.experts_s, two.times.attention_s - one.times.attention_s,
         0.4);
  fixture_clear (&f);
}
END_TEST

/* Nothing that a sequence fits in is found in time, or at all: one message says so. */
START_TEST (test_search_in_vain)
{
  Fixture          f = fixture_new ("mixtral-8x22b", _i == 0 ? "4xdgx-a100" : "dgx-a100");
  const ApartPools pools = { f.cluster, f.cluster };
  ApartOptions     options = apart_defaults ();
  const ApartLoad  load = { 0, 571, 159, _i == 0 ? 1e-4 : 1 };
  ApartSearch      found;

  ck_assert (!apart_search (&f.shape, &f.options, &options, &pools, &collective_default_options,
                            load, &found, f.diags));
  ck_assert_uint_eq (diag_list_n_errors (f.diags), 1);
  fixture_clear (&f);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

typedef struct
{
  const char *model, *cluster, *experts; /* NULL: the same */
  gint64      replicas, nodes;
  gint        transport;
  const char *message;
} Refused;

static const Refused refused[] = {
  { "llama-3-8b", "2xdgx-a100", NULL, 1, 0, EXCHANGE_M2N, "has no experts" },
  { "mixtral-8x22b", "2xdgx-a100", NULL, 1, 3, EXCHANGE_M2N, "do not divide the 8 experts" },
  { "mixtral-8x22b", "2xdgx-a100", NULL, 9, 0, EXCHANGE_M2N, "need 17 GPUs, there are 16" },
  { "mixtral-8x22b", "2xdgx-a100", "2xdgx-h100", 17, 0, EXCHANGE_M2N, "need 17 GPUs" },
  { "mixtral-8x22b", "2xdgx-a100", "2xp4d", 1, 0, EXCHANGE_M2N, "share no network" },
  { "mixtral-8x22b", "dgx-a100", NULL, 1, 4, EXCHANGE_M2N, "in one node" },
};

START_TEST (test_refused)
{
  const Refused    *one = &refused[_i];
  Fixture           f = fixture_new (one->model, one->cluster);
  Fixture           other = fixture_new (one->model, one->experts ? one->experts : one->cluster);
  ApartOptions      options = apart_defaults ();
  const ApartPools  pools = { f.cluster, one->experts != NULL ? other.cluster : f.cluster };
  g_autoptr (Apart) apart = NULL;

  options.attention_replicas = one->replicas;
  options.expert_nodes = one->nodes;
  options.transport = one->transport;
  apart = apart_new (&f.shape, &f.options, &options, &pools, &collective_default_options, f.diags);
  ck_assert_ptr_null (apart);
  ck_assert_msg (strstr (diag_list_first_message (f.diags), one->message) != NULL, "%s",
                 diag_list_first_message (f.diags));
  fixture_clear (&f);
  fixture_clear (&other);
}
END_TEST

SUITE_MAIN (apart)
{
  Suite *suite = suite_create ("apart");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_written);
  tcase_add_test (tcase, test_of_one_node);
  tcase_add_test (tcase, test_shared_cards);
  tcase_add_test (tcase, test_grouped);
  tcase_add_loop_test (tcase, test_sides_are_the_whole, 0, 5);
  tcase_add_loop_test (tcase, test_nothing_is_on_the_wrong_side, 0, 9);
  tcase_add_test (tcase, test_answer);
  tcase_add_test (tcase, test_micro_batches);
  tcase_add_loop_test (tcase, test_largest, 0, 4);
  tcase_add_test (tcase, test_transports);
  tcase_add_test (tcase, test_search);
  tcase_add_test (tcase, test_balance);
  tcase_add_loop_test (tcase, test_search_in_vain, 0, 2);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refused));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
