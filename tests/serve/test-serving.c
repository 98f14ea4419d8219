/*
 * Requests over time, against steps that are timed one by one: who runs when, who waits, who loses
 * the cache. Not asserted: that a real engine's steps take as long.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "fixture.h"
#include "serve/serving-run.h"

static ServingOptions
serving (void)
{
  ServingOptions options = { 0 };

  option_table_defaults (serving_options, &options);
  return options;
}

static ServingAnswer
run (Fixture *f, const ServingOptions *options, const ServeRequest *requests, guint n)
{
  g_autoptr (Generator) generator = generator_of (f);
  g_autoptr (GArray)    all = g_array_new (FALSE, FALSE, sizeof (ServeRequest));
  ServingAnswer         answer;

  g_array_append_vals (all, requests, n);
  ck_assert_msg (serving_run (generator, &f->options, options, generation_ranks (&f->options), all,
                              &answer, f->diags),
                 "%s", diag_list_first_message (f->diags));
  return answer;
}

/* A prompt of 500 tokens and 3 written: its step, and two of decoding with 500 and 501 cached. */
START_TEST (test_one_request)
{
  Fixture              f = fixture_new ("llama-3-8b", "dgx-h100");
  const ServingOptions options = serving ();
  const ServeRequest   request = { 5, 500, 3 };
  const ServingAnswer  answer = run (&f, &options, &request, 1);
  const double         first = step (&f, 1, 500, 0).seconds,
               rest = step (&f, 1, 1, 500).seconds + step (&f, 1, 1, 501).seconds;

  CLOSE (answer.first_token.mean, first, 1e-12);
  CLOSE (answer.between_tokens.mean, rest / 2, 1e-12);
  CLOSE (answer.latency.p99, first + rest, 1e-12);
  CLOSE (answer.seconds, first + rest, 1e-12);
  ck_assert (answer.n_steps == 3 && answer.wait.mean == 0 && answer.n_preempted == 0);
  CLOSE (answer.output_tokens, 3, 1e-12);
  CLOSE (answer.busy, 1, 1e-12);
  fixture_clear (&f);
}
END_TEST

/* A step takes 100 tokens: prompts of 150 need two, and the second one shares the second step. */
START_TEST (test_chunks)
{
  Fixture             f = fixture_new ("llama-3-8b", "dgx-h100");
  ServingOptions      options = serving ();
  const ServeRequest  requests[] = { { 0, 150, 1 }, { 0, 150, 1 } };
  const SequenceGroup second[] = { { 1, 50, 100 }, { 1, 50, 0 } };
  ServingAnswer       answer;
  GenerationTime      time;
  double              first;

  f.options.prefill_tokens = 100;
  {
    g_autoptr (Generator) generator = generator_of (&f);

    generator_step (generator, second, 2, &time);
  }
  answer = run (&f, &options, requests, 2);
  ck_assert_uint_eq (answer.n_steps, 3);
  first = step (&f, 1, 100, 0).seconds + time.seconds;
  CLOSE (answer.first_token.mean, first + step (&f, 1, 100, 50).seconds / 2, 1e-12);
  CLOSE (answer.first_token.p50, answer.first_token.mean, 1e-12);
  options.whole_prompts = TRUE; /* each is longer than a step takes, and has one of its own */
  answer = run (&f, &options, requests, 2);
  ck_assert_uint_eq (answer.n_steps, 2);
  CLOSE (answer.first_token.p50, 1.5 * step (&f, 1, 150, 0).seconds, 1e-12);
  fixture_clear (&f);
}
END_TEST

/* What is in the cache already is not computed; one token always is. */
START_TEST (test_prefix)
{
  Fixture            f = fixture_new ("llama-3-8b", "dgx-h100");
  ServingOptions     options = serving ();
  const ServeRequest request = { 0, 400, 1 };

  options.prefix_reuse = 0.75;
  CLOSE (run (&f, &options, &request, 1).first_token.mean, step (&f, 1, 100, 300).seconds, 1e-12);
  options.prefix_reuse = 1;
  CLOSE (run (&f, &options, &request, 1).first_token.mean, step (&f, 1, 1, 399).seconds, 0.1);
  fixture_clear (&f);
}
END_TEST

/*
 * Room for so many tokens that two sequences of 64 blocks each begin, and the 33rd written token of
 * the first one is the block too many: the second one loses its own, and is computed anew.
 */
START_TEST (test_preemption)
{
  Fixture               f = fixture_new ("llama-3-8b", "dgx-h100");
  const ServeRequest    requests[] = { { 0, 1000, 100 }, { 0, 1000, 100 } };
  const ServingOptions  options = serving ();
  g_autoptr (Generator) generator = NULL;
  ServingAnswer         answer;
  double                share;

  f.options.prefill_tokens = 2048;
  generator = generator_of (&f);
  share = generator_cache_room (generator, 2048) - 2 * generator_cache_bytes (generator, 1032);
  f.options.memory_utilization -= share / (79.1 * 1073741824.0);
  answer = run (&f, &options, requests, 2);
  ck_assert_uint_eq (answer.n_preempted, 1);
  ck_assert_double_gt (answer.peak_cache, 0.95);
  ck_assert_double_le (answer.peak_cache, 1);
  CLOSE (answer.output_tokens, 200, 1e-12);
  f.options.memory_utilization = 0.9;
  ck_assert_double_lt (run (&f, &options, requests, 2).seconds, answer.seconds);
  fixture_clear (&f);
}
END_TEST

/*
 * Prompts on an instance of their own: the first token comes as if nobody decoded, the others after
 * the cache has travelled; of a request of one token nothing travels on.
 */
START_TEST (test_apart)
{
  Fixture               f = fixture_new ("llama-3-8b", "dgx-h100");
  ServingOptions        options = serving ();
  const ServeRequest    requests[] = { { 0, 500, 3 }, { 100, 500, 1 } };
  g_autoptr (GArray)    all = g_array_new (FALSE, FALSE, sizeof (ServeRequest));
  g_autoptr (Generator) generator = generator_of (&f);
  const double          first = step (&f, 1, 500, 0).seconds;
  const double          rest = step (&f, 1, 1, 500).seconds + step (&f, 1, 1, 501).seconds;
  const double          travels =
      generator_hand_over_seconds (generator, generator_cache_bytes (generator, 501));
  ServingAnswer answer;

  g_array_append_vals (all, requests, 2);
  options.prefill_instances = 1;
  ck_assert (serving_run (generator, &f.options, &options, 2, all, &answer, f.diags));
  CLOSE (answer.first_token.p50, first, 1e-9);
  CLOSE (answer.between_tokens.mean, (rest + travels) / 2, 1e-9);
  CLOSE (answer.latency.mean, first + (travels + rest) / 2, 1e-9);
  ck_assert_double_gt (travels, generator_cache_bytes (generator, 501) / 450e9); /* NVLink */
  options.prefill_instances = 2;
  ck_assert (!serving_run (generator, &f.options, &options, 2, all, &answer, f.diags));
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (f.diags), "leaves none"));
  fixture_clear (&f);
}
END_TEST

/* Below what is sustained nobody waits long; far above it the queue grows, and that is said. */
START_TEST (test_overload)
{
  Fixture              f = fixture_new ("llama-3-8b", "dgx-h100");
  const ServingOptions options = serving ();
  RequestDraw          draw = { .n = 300, .rate = 2, .prompt = 1000, .output = 200, .seed = 1 };
  g_autoptr (GArray)   few = serve_requests_draw (&draw), many = NULL;
  ServingAnswer        calm, busy, again;

  draw.rate = 2000;
  many = serve_requests_draw (&draw);
  calm = run (&f, &options, (const ServeRequest *) (gconstpointer) few->data, few->len);
  busy = run (&f, &options, (const ServeRequest *) (gconstpointer) many->data, many->len);
  again = run (&f, &options, (const ServeRequest *) (gconstpointer) many->data, many->len);
  ck_assert (!calm.overloaded && busy.overloaded);
  ck_assert_double_lt (busy.sustained_rate, 1000);
  ck_assert_double_lt (calm.wait.p99, 0.1);
  ck_assert_double_gt (busy.wait.p99, 10 * calm.wait.p99);
  ck_assert_double_gt (busy.tokens_per_s, calm.tokens_per_s);
  ck_assert (memcmp (&busy, &again, sizeof busy) == 0);
  fixture_clear (&f);
}
END_TEST

/* Drawn lengths have the mean and the spread that were asked for; arrivals their rate. */
START_TEST (test_draw)
{
  const RequestDraw draw = { .n = 20000, .rate = 50, .prompt = 1000, .output = 100, .spread = 0.5 };
  g_autoptr (GArray) all = serve_requests_draw (&draw);
  double             sum = 0, squares = 0;

  for (guint i = 0; i < all->len; i++)
    {
      const ServeRequest *request = &g_array_index (all, ServeRequest, i);

      ck_assert (i == 0 || request->arrival_s >= (request - 1)->arrival_s);
      sum += request->prompt;
      squares += (double) request->prompt * request->prompt;
    }
  CLOSE (sum / all->len, 1000, 0.02);
  CLOSE (sqrt (squares / all->len - pow (sum / all->len, 2)), 500, 0.05);
  CLOSE (g_array_index (all, ServeRequest, all->len - 1).arrival_s, 400, 0.03);
}
END_TEST

/* A request that no empty cache holds is named. */
START_TEST (test_never_fits)
{
  Fixture               f = fixture_new ("llama-3-8b", "dgx-h100");
  const ServeRequest    request = { 0, 2000000, 1 };
  const ServingOptions  options = serving ();
  g_autoptr (Generator) generator = generator_of (&f);
  g_autoptr (GArray)    all = g_array_new (FALSE, FALSE, sizeof (ServeRequest));
  ServingAnswer         answer;

  g_array_append_val (all, request);
  ck_assert (!serving_run (generator, &f.options, &options, 1, all, &answer, f.diags));
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (f.diags), "never fits"));
  fixture_clear (&f);
}
END_TEST

/* Faults of a trace, each with its line. */
START_TEST (test_traces)
{
  static const struct
  {
    const char *text, *message;
  } cases[] = {
    { "arrival,input\n0,1\n", "output" },
    { "arrival,input,output\n", "no requests" },
    { "arrival,input,output\n0,10,5\n-1,10,5\n", "expected a number" },
    { "arrival,input,output\n2,10,5\n1,10,5\n", "before the request above it" },
    { "arrival,input,output\n0,0,5\n", "expected a whole number" },
    { "arrival,input,output\n0,1.5,5\n", "expected a whole number" },
  };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   requests = NULL;
  g_autofree char     *file = NULL;
  const gint           fd = g_file_open_tmp ("requests-XXXXXX.csv", &file, NULL);

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (file, cases[_i].text, -1, NULL));
  requests = serve_requests_load (file, diags);
  g_unlink (file);
  ck_assert_ptr_null (requests);
  ck_assert_msg (strstr (diag_list_first_message (diags), cases[_i].message) != NULL, "%s",
                 diag_list_first_message (diags));
}
END_TEST

SUITE_MAIN (serving)
{
  Suite *suite = suite_create ("serving");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_one_request);
  tcase_add_test (tcase, test_chunks);
  tcase_add_test (tcase, test_prefix);
  tcase_add_test (tcase, test_preemption);
  tcase_add_test (tcase, test_apart);
  tcase_add_test (tcase, test_overload);
  tcase_add_test (tcase, test_draw);
  tcase_add_test (tcase, test_never_fits);
  tcase_add_loop_test (tcase, test_traces, 0, 6);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
