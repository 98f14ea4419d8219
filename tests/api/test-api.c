/*
 * The functions of api/shardsim.h, as a program in another language sees them: text in, text out.
 * The numbers are those of predict(), which has tests of its own.
 */
#include <check.h>
#include <json-c/json.h>
#include <pthread.h>
#include <string.h>

#include "../suite.h"
#include "api/shardsim.h"
#include "report/prediction/report.h"

/* Two GPUs, ddp, a model of one small layer. */
#define SCENARIO                                                                            \
  "cluster: { node: hand-pair, nodes: 1 }\\n"                                               \
  "model: { arch: llama, n_layers: 1, d_model: 200, n_heads: 2, d_ff: 400, vocab: 500 }\\n" \
  "training: { seq_len: 100, micro_batch: 1 }\\n"                                           \
  "strategy: { name: ddp }\\n"

static char *hardware; /* the hand-made profiles */

/* The answer to a request with TEXT (as JSON has it) and MORE keys. */
static struct json_object *
ask (const char *text, const char *more)
{
  g_autofree char *request =
      g_strdup_printf ("{\"text\": \"%s\", \"name\": \"mine.yaml\", \"hwprofiles\": \"%s\"%s}",
                       text, hardware, more);
  char               *answer = shardsim_predict (request);
  struct json_object *root = json_tokener_parse (answer);

  ck_assert_ptr_nonnull (root);
  shardsim_free (answer);
  return root;
}

static struct json_object *
get (struct json_object *root, const char *key)
{
  struct json_object *value = NULL;

  ck_assert_msg (json_object_object_get_ex (root, key, &value), "there is no '%s'", key);
  return value;
}

static struct json_object *
item (struct json_object *root, const char *key, guint i)
{
  struct json_object *value = json_object_array_get_idx (get (root, key), i);

  ck_assert_msg (value != NULL, "there is no '%s' %u", key, i);
  return value;
}

static const char *
text_of (struct json_object *object, const char *key)
{
  return json_object_get_string (get (object, key));
}

static gsize
length_of (struct json_object *root, const char *key)
{
  return json_object_array_length (get (root, key));
}

START_TEST (test_result_is_the_reports)
{
  struct json_object    *root = ask (SCENARIO, "");
  g_autoptr (DiagList)   diags = diag_list_new ();
  const ScenarioOverride none = { 0 };
  g_autofree char       *text = g_strcompress (SCENARIO);
  g_autoptr (GPtrArray)  scenarios = scenario_load_text (NULL, "mine.yaml", text, &none, 0, diags);
  const PredictOptions   options = { .profile_dir = hardware };
  g_autoptr (GPtrArray)  predictions =
      g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (GString) out = g_string_new (NULL);
  struct json_object *wanted;

  g_ptr_array_add (predictions, predict (scenarios->pdata[0], &options, diags, NULL));
  report_json (predictions, out);
  wanted = json_tokener_parse (out->str);
  ck_assert_int_eq (length_of (root, "results"), 1);
  ck_assert_str_eq (json_object_to_json_string (get (root, "results")),
                    json_object_to_json_string (get (wanted, "results")));
  ck_assert_str_eq (text_of (root, "program_version"), shardsim_version ());
  ck_assert_int_eq (length_of (root, "left_out"), 0);
  ck_assert_int_eq (length_of (root, "diagnostics"), 0);
  ck_assert_ptr_null (get (root, "error"));
  json_object_put (wanted);
  json_object_put (root);
}
END_TEST

START_TEST (test_keys_are_laid_over)
{
  struct json_object *root = ask (SCENARIO, ", \"set\": {\"training.micro_batch\": 3, \"tp\": 2}, "
                                            "\"jobs\": 1");

  ck_assert_int_eq (json_object_get_int (get (item (root, "results", 0), "tp")), 2);
  ck_assert_int_eq (json_object_get_int (get (item (root, "results", 0), "micro_batch")), 3);
  json_object_put (root);
}
END_TEST

START_TEST (test_errors_have_their_place)
{
  struct json_object *root = ask ("cluster: { node: hand-pair }\\ntraining: { seq_len: x }\\n", "");
  struct json_object *diag = item (root, "diagnostics", 0);

  ck_assert_int_eq (length_of (root, "results"), 0);
  ck_assert_str_eq (text_of (diag, "severity"), "error");
  ck_assert_str_eq (text_of (diag, "file"), "mine.yaml");
  ck_assert_int_eq (json_object_get_int (get (diag, "line")), 2);
  ck_assert_int_eq (json_object_get_int (get (diag, "column")), 22);
  ck_assert_ptr_nonnull (strstr (text_of (diag, "message"), "'x'"));
  json_object_put (root);
}
END_TEST

/* One of two scenarios cannot be: its name is said, the other is predicted. */
START_TEST (test_what_fails_is_left_out)
{
  struct json_object *root =
      ask (SCENARIO "scenarios: [{ name: good }, { name: bad, mesh: { tp: 3 } }]\\n", "");

  ck_assert_int_eq (length_of (root, "results"), 1);
  ck_assert_str_eq (text_of (item (root, "results", 0), "scenario"), "good");
  ck_assert_int_eq (length_of (root, "left_out"), 1);
  ck_assert_str_eq (json_object_get_string (item (root, "left_out", 0)), "bad");
  ck_assert_int_ge (length_of (root, "diagnostics"), 1);
  json_object_put (root);
}
END_TEST

/* What is no request is an error like any other: nothing is ignored. */
START_TEST (test_bad_requests)
{
  static const char *const requests[][2] = {
    { "[]", "map" },
    { "{\"txt\": \"\"}", "'txt'" },
    { "{\"file\": \"a\", \"text\": \"b\"}", "both" },
    { "{\"set\": [1]}", "map" },
    { "{\"set\": {\"training.seq_len\": [1]}}", "value" },
    { "{\"plugins\": \"x.so\"}", "list" },
    { "{\"hwprofiles\": \"/no/such/folder\"}", "/no/such/folder" },
    { "{\"file\": \"/no/such/file.yaml\"}", "/no/such/file.yaml" },
    { "{\"steps\": -1}", "-1" },
    { "{", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (requests); i++)
    {
      char               *answer = shardsim_predict (requests[i][0]);
      struct json_object *root = json_tokener_parse (answer);

      ck_assert_int_eq (length_of (root, "results"), 0);
      ck_assert_msg (strstr (text_of (item (root, "diagnostics", 0), "message"), requests[i][1])
                         != NULL,
                     "%s: %s", requests[i][0], answer);
      json_object_put (root);
      shardsim_free (answer);
    }
}
END_TEST

START_TEST (test_a_plugin_that_is_absent)
{
  struct json_object *root = ask (SCENARIO, ", \"plugins\": [\"/no/such.so\"]");

  ck_assert_int_eq (length_of (root, "results"), 0);
  ck_assert_ptr_nonnull (strstr (text_of (root, "error"), "/no/such.so"));
  json_object_put (root);
}
END_TEST

static gboolean
is_listed (const char *kind, const char *name)
{
  char               *answer = shardsim_list (kind);
  struct json_object *root = json_tokener_parse (answer), *items = get (root, "items");
  gboolean            found = FALSE;

  for (gsize i = 0; i < json_object_array_length (items); i++)
    found |= strcmp (text_of (json_object_array_get_idx (items, i), "name"), name) == 0;
  json_object_put (root);
  shardsim_free (answer);
  return found;
}

START_TEST (test_lists)
{
  char *answer = shardsim_list ("gpus");

  ck_assert (is_listed ("strategies", "fsdp2"));
  ck_assert (is_listed ("models", "llama-3-8b"));
  ck_assert (is_listed ("gpu", "h100-sxm-80"));
  ck_assert (is_listed ("cluster", "frontier-system"));
  ck_assert (!is_listed ("link", "h100-sxm-80"));
  ck_assert_ptr_nonnull (strstr (answer, "there are no lists of 'gpus'"));
  shardsim_free (answer);
}
END_TEST

/* ---- commands -------------------------------------------------------------------------------- */

typedef char *(*Function) (const char *request, ShardsimStop *stop);

/* A request of each command, and the key of its answer. */
static const struct
{
  const char *name;
  Function    call;
  const char *more, *key;
} commands[] = {
  { "predict", shardsim_predict_until, "", "results" },
  { "search", shardsim_search, ", \"only\": true, \"vary\": [\"micro_batch=1,2\"]", "search" },
  { "plan", shardsim_plan, ", \"tokens\": \"1G\", \"node_counts\": \"1,2\"", "plans" },
  { "sensitivity", shardsim_sensitivity, ", \"figure\": [\"nic.bandwidth\"]", "sensitivity" },
  { "map", shardsim_sensitivity, ", \"map\": [\"mesh.tp=1,2\", \"training.micro_batch=1,2\"]",
    "heat_map" },
  { "maximum", shardsim_maximum, ", \"max\": \"seq-len\"", "maximum" },
  { "timeline", shardsim_timeline, ", \"all_ranks\": true, \"boxes\": 9", "boxes" },
};

/* What a form is drawn of, and a scenario as text. */
START_TEST (test_options)
{
  char               *answer = shardsim_options ();
  struct json_object *root = json_tokener_parse (answer), *training = item (root, "sections", 2);

  ck_assert_int_eq (length_of (root, "sections"), 7);
  ck_assert_str_eq (text_of (training, "name"), "training");
  for (guint i = 0; i < (guint) length_of (training, "options"); i++)
    {
      struct json_object *option = item (training, "options", i);

      if (!g_str_equal (text_of (option, "key"), "activation_checkpointing"))
        continue;
      ck_assert_str_eq (text_of (option, "type"), "word");
      ck_assert_str_eq (text_of (option, "default"), "none");
      ck_assert_str_eq (json_object_get_string (item (option, "choices", 0)), "none");
    }
  json_object_put (root);
  shardsim_free (answer);
}
END_TEST

START_TEST (test_scenario_texts)
{
  char *answer = shardsim_scenario ("{\"set\": {\"cluster\": \"2 x dgx-h100\", \"model\": "
                                    "\"llama-2-7b\", \"seq_len\": 1024}}");
  struct json_object *root = json_tokener_parse (answer);

  ck_assert_str_eq (text_of (root, "options"),
                    "--cluster '2 x dgx-h100' --model llama-2-7b --seq-len 1024");
  ck_assert_ptr_nonnull (strstr (text_of (item (root, "scenarios", 0), "yaml"), "seq_len: 1024"));
  ck_assert_ptr_null (get (root, "error"));
  json_object_put (root);
  shardsim_free (answer);
  answer = shardsim_scenario ("{\"set\": {\"tp\": \"x\"}}");
  ck_assert_ptr_nonnull (strstr (answer, "\"severity\":\"error\""));
  shardsim_free (answer);
}
END_TEST

/* 16 bytes a parameter and no option that changes it: a search is asked for, and says so. */
START_TEST (test_proposals)
{
  struct json_object *root = ask (SCENARIO, ", \"remedies\": true, \"advise\": true");
  struct json_object *result = item (root, "results", 0);

  ck_assert (json_object_get_boolean (get (result, "fits")));
  get (result, "advice");
  ck_assert (!json_object_object_get_ex (result, "remedies", NULL));
  json_object_put (root);
}
END_TEST

static char *
ask_command (guint i, ShardsimStop *stop)
{
  g_autofree char *request = g_strdup_printf ("{\"text\": \"%s\", \"hwprofiles\": \"%s\"%s}",
                                              SCENARIO, hardware, commands[i].more);

  return commands[i].call (request, stop);
}

START_TEST (test_commands)
{
  char               *answer = ask_command ((guint) _i, NULL);
  struct json_object *root = json_tokener_parse (answer);

  get (root, commands[_i].key);
  ck_assert_int_eq (length_of (root, "diagnostics"), 0);
  ck_assert_ptr_null (get (root, "error"));
  ck_assert (!json_object_object_get_ex (root, "partial", NULL));
  json_object_put (root);
  shardsim_free (answer);
}
END_TEST

/* Of a function that is stopped before it begins: it returns, and says so. */
START_TEST (test_stopped_commands)
{
  ShardsimStop       *stop = shardsim_stop_new ();
  struct json_object *root;
  char               *answer;

  shardsim_stop_now (stop);
  answer = ask_command ((guint) _i, stop);
  root = json_tokener_parse (answer);
  ck_assert_msg (json_object_object_get_ex (root, "partial", NULL) || get (root, "error") != NULL,
                 "%s: %s", commands[_i].name, answer);
  json_object_put (root);
  shardsim_free (answer);
  shardsim_stop_free (stop);
}
END_TEST

static struct json_object *
progress_of (ShardsimStop *stop)
{
  char               *text = shardsim_progress (stop);
  struct json_object *root = json_tokener_parse (text);

  ck_assert_ptr_nonnull (root);
  shardsim_free (text);
  return root;
}

/* A call that waits has no time; the best that a search told of is the first that it answers. */
START_TEST (test_progress)
{
  static const char *const same[] = { "options", "step_time_s", "tokens_per_s_per_gpu" };
  ShardsimStop            *stop = shardsim_stop_new ();
  struct json_object      *before = progress_of (stop), *after, *answer;
  char                    *text = ask_command (1, stop);

  ck_assert_ptr_null (get (before, "seconds"));
  ck_assert_int_eq (length_of (before, "found"), 0);
  answer = json_tokener_parse (text);
  after = progress_of (stop);
  ck_assert (json_object_get_double (get (after, "seconds")) > 0);
  ck_assert_str_eq (text_of (after, "step"), "refining the best");
  ck_assert_int_ge (length_of (after, "found"), 2);
  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    ck_assert_str_eq (text_of (item (after, "found", 0), same[i]),
                      text_of (item (answer, "results", 0), same[i]));
  for (guint i = 1; i < (guint) length_of (after, "found"); i++)
    ck_assert_double_le (
        json_object_get_double (get (item (after, "found", i), "tokens_per_s_per_gpu")),
        json_object_get_double (get (item (after, "found", i - 1), "tokens_per_s_per_gpu")));
  json_object_put (before);
  json_object_put (after);
  json_object_put (answer);
  shardsim_free (text);
  shardsim_stop_free (stop);
}
END_TEST

typedef struct
{
  ShardsimStop *stop;
  gint          over, looked;
} Looker;

static void *
look (void *data)
{
  Looker *self = data;

  while (!g_atomic_int_get (&self->over))
    {
      json_object_put (progress_of (self->stop));
      g_atomic_int_inc (&self->looked);
    }
  return NULL;
}

/* Whoever looks all the time changes nothing about the answer. */
START_TEST (test_progress_meanwhile)
{
  Looker    looker = { .stop = shardsim_stop_new () };
  pthread_t thread;
  char     *alone = ask_command (1, NULL), *seen;

  ck_assert_int_eq (pthread_create (&thread, NULL, look, &looker), 0);
  while (g_atomic_int_get (&looker.looked) == 0)
    g_thread_yield ();
  seen = ask_command (1, looker.stop);
  g_atomic_int_set (&looker.over, TRUE);
  pthread_join (thread, NULL);
  ck_assert_str_eq (seen, alone);
  shardsim_free (alone);
  shardsim_free (seen);
  shardsim_stop_free (looker.stop);
}
END_TEST

/* A plan says which of its searches is under way. */
START_TEST (test_progress_of_plan)
{
  ShardsimStop       *stop = shardsim_stop_new ();
  char               *text = ask_command (2, stop);
  struct json_object *after = progress_of (stop);

  ck_assert_ptr_nonnull (strstr (text, "\"plans\""));
  ck_assert_ptr_nonnull (get (after, "work"));
  json_object_put (after);
  shardsim_free (text);
  shardsim_stop_free (stop);
}
END_TEST

START_TEST (test_bad_requests_of_commands)
{
  static const char *const requests[][2] = {
    { "[]", "map" },
    { "{\"stregthy\": 1}", "'stregthy'" },
    { "{\"file\": \"/no/such/file.yaml\", \"tokens\": 1}", "tokens|/no/such/file.yaml" },
    { "{\"vary\": {}, \"map\": 1, \"set\": []}", "list|vary|map" },
    { "{\"steps\": -1, \"within\": -1, \"factor\": 0.5}", "steps|within|factor" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (requests); i++)
    {
      char               *answer = commands[_i].call (requests[i][0], NULL);
      struct json_object *root = json_tokener_parse (answer);

      ck_assert (!json_object_object_get_ex (root, commands[_i].key, NULL)
                 || length_of (root, commands[_i].key) == 0);
      ck_assert_msg (g_regex_match_simple (requests[i][1], answer, 0, 0), "%s: %s", requests[i][0],
                     answer);
      ck_assert_str_eq (text_of (item (root, "diagnostics", 0), "severity"), "error");
      json_object_put (root);
      shardsim_free (answer);
    }
}
END_TEST

/* What a null unsets is open, which a search takes and a prediction does not. */
START_TEST (test_null_unsets)
{
  struct json_object *root = ask (SCENARIO, ", \"set\": {\"strategy.name\": null}");

  ck_assert_int_eq (length_of (root, "results"), 0);
  ck_assert_ptr_nonnull (strstr (text_of (item (root, "diagnostics", 0), "message"), "strategy"));
  json_object_put (root);
}
END_TEST

static gpointer
command_in_thread (gpointer i)
{
  return ask_command (GPOINTER_TO_UINT (i), NULL);
}

/* All of them at once, twice: each answers the same. */
START_TEST (test_commands_in_threads)
{
  GThread *threads[2 * G_N_ELEMENTS (commands)];
  char    *answers[2 * G_N_ELEMENTS (commands)];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("call", command_in_thread, GUINT_TO_POINTER (i / 2));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    answers[i] = g_thread_join (threads[i]);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    ck_assert_str_eq (answers[2 * i], answers[2 * i + 1]);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    shardsim_free (answers[i]);
}
END_TEST

static gpointer
ask_in_thread (gpointer unused)
{
  struct json_object *root = ask (SCENARIO, ", \"jobs\": 1");
  char               *text = g_strdup (json_object_to_json_string (root));

  (void) unused;
  json_object_put (root);
  return text;
}

/* Any simulation takes more than a byte, and none is over without a limit. */
START_TEST (test_limit_of_memory)
{
  g_autofree char *request =
      g_strdup_printf ("{\"text\": \"%s\", \"hwprofiles\": \"%s\"}", SCENARIO, hardware);
  const char *const limits[] = { "1 B", "1000 GB", "1 B", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    {
      char *set = shardsim_max_memory_use (limits[i]), *answer = shardsim_predict (request);

      ck_assert_ptr_null (strstr (set, "\"severity\""));
      ck_assert_msg ((strstr (answer, "more memory than shardsim may") != NULL) == (i % 2 == 0),
                     "%s", answer);
      shardsim_free (set);
      shardsim_free (answer);
    }
  for (guint i = 0; i < 2; i++)
    {
      char *set = shardsim_max_memory_use (i == 0 ? "much" : "0 B");

      ck_assert_ptr_nonnull (strstr (set, "max_memory_use: "));
      shardsim_free (set);
    }
}
END_TEST

/* Calls know nothing of each other. */
START_TEST (test_threads)
{
  GThread *threads[4];
  char    *first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("call", ask_in_thread, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      char *text = g_thread_join (threads[i]);

      if (first != NULL)
        ck_assert_str_eq (text, first);
      else
        first = g_strdup (text);
      g_free (text);
    }
  g_free (first);
}
END_TEST

SUITE_MAIN (api)
{
  Suite *suite = suite_create ("api");
  TCase *tcase = tcase_create ("api");
  int    status;

  hardware = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs/worked/hwprofiles", NULL);
  tcase_add_test (tcase, test_result_is_the_reports);
  tcase_add_test (tcase, test_keys_are_laid_over);
  tcase_add_test (tcase, test_errors_have_their_place);
  tcase_add_test (tcase, test_what_fails_is_left_out);
  tcase_add_test (tcase, test_bad_requests);
  tcase_add_test (tcase, test_a_plugin_that_is_absent);
  tcase_add_test (tcase, test_lists);
  tcase_add_test (tcase, test_threads);
  tcase_add_test (tcase, test_limit_of_memory);
  tcase_add_test (tcase, test_options);
  tcase_add_test (tcase, test_scenario_texts);
  tcase_add_test (tcase, test_proposals);
  tcase_add_loop_test (tcase, test_commands, 0, G_N_ELEMENTS (commands));
  tcase_add_loop_test (tcase, test_stopped_commands, 0, G_N_ELEMENTS (commands));
  tcase_add_test (tcase, test_progress);
  tcase_add_test (tcase, test_progress_meanwhile);
  tcase_add_test (tcase, test_progress_of_plan);
  tcase_add_loop_test (tcase, test_bad_requests_of_commands, 0, G_N_ELEMENTS (commands));
  tcase_add_test (tcase, test_null_unsets);
  tcase_add_test (tcase, test_commands_in_threads);
  suite_add_tcase (suite, tcase);
  status = suite_run (suite);
  g_free (hardware);
  return status;
}
