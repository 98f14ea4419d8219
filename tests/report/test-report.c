/*
 * Reports: the names of results are those that users' scripts rely on; a trace is JSON whose slices do not overlap on a track, whose
 * arrows have two ends and which has counters; files are complete or absent.
 */
#include "../replay/fixture.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/layout.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/trace.h"

/* The published order: new ones go to the end, none is renamed. Written out here on purpose. */
static const char published[] =
    "scenario,strategy,fits,step_time_s,tokens_per_s_per_gpu,mfu_percent,hardware_tflops_per_gpu,"
    "peak_allocated_gib,peak_reserved_gib,peak_device_gib,peak_host_gib,inter_node_bytes_per_gpu,"
    "exposed_comm_s,binding_resource";

static char *scratch;

static void
set_up (void)
{
  scratch = g_dir_make_tmp ("shardsim-report-XXXXXX", NULL);
  ck_assert_ptr_nonnull (scratch);
}

static guint
n_entries (const char *dir)
{
  g_autoptr (GDir) handle = g_dir_open (dir, 0, NULL);
  guint            n = 0;

  while (handle != NULL && g_dir_read_name (handle) != NULL)
    n++;
  return n;
}

static void
remove_all (const char *dir)
{
  g_autoptr (GDir) handle = g_dir_open (dir, 0, NULL);
  const char      *name;

  while (handle != NULL && (name = g_dir_read_name (handle)) != NULL)
    {
      g_autofree char *path = g_build_filename (dir, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        remove_all (path);
      else
        g_unlink (path);
    }
  g_rmdir (dir);
}

static void
tear_down (void)
{
  remove_all (scratch);
  g_clear_pointer (&scratch, g_free);
}

/* Two nodes, a folded class of ranks, copies to the host, several streams. */
static Prediction *
predict_fcdp (Replay **replay, ProfileSet **profiles)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "2 x a40x8-nvlink-pairs", "model.config", "gpt2-xl",
                        "training.seq_len", "256", "strategy.name", "fcdp", NULL);
  PredictOptions       options = { .replay = { .keep_pools = TRUE } };
  g_autoptr (DiagList) diags = diag_list_new ();
  Prediction *prediction = predict_with_replay (scenario, &options, replay, profiles, diags, NULL);

  ck_assert_ptr_nonnull (prediction);
  return prediction;
}

static GPtrArray *
one_prediction (void)
{
  GPtrArray             *all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;

  g_ptr_array_add (all, predict_fcdp (&replay, &profiles));
  return all;
}

START_TEST (test_names)
{
  g_autoptr (GPtrArray)       all = one_prediction ();
  g_autoptr (GString)         csv = g_string_new (NULL), json = g_string_new (NULL);
  g_auto (GStrv)              names = g_strsplit (published, ",", -1), lines = NULL, header = NULL;
  struct json_object         *root, *results, *result, *value;
  struct json_object_iterator at, end;
  guint                       n = 0;

  report_csv (all, csv);
  report_json (all, json);
  ck_assert (g_str_has_prefix (csv->str, published));
  lines = g_strsplit (csv->str, "\n", -1);
  header = g_strsplit (lines[0], ",", -1);
  root = json_tokener_parse (json->str);
  ck_assert_ptr_nonnull (root);
  ck_assert (json_object_object_get_ex (root, "schema", &value) && json_object_get_int (value) == 1);
  ck_assert (json_object_object_get_ex (root, "results", &results));
  ck_assert_uint_eq (json_object_array_length (results), 1);
  result = json_object_array_get_idx (results, 0);
  for (guint i = 0; names[i] != NULL; i++)
    {
      ck_assert_str_eq (names[i], prediction_result_names ()[i]);
      ck_assert_str_eq (names[i], header[i]);
    }
  ck_assert_ptr_null (prediction_result_names ()[g_strv_length (names)]);
  /* Nested objects follow the fields that CSV has. */
  at = json_object_iter_begin (result);
  end = json_object_iter_end (result);
  for (; n < g_strv_length (header) && !json_object_iter_equal (&at, &end);
       json_object_iter_next (&at))
    ck_assert_str_eq (json_object_iter_peek_name (&at), header[n++]);
  ck_assert_uint_eq (n, g_strv_length (header));
  json_object_put (root);
}
END_TEST

/* ---- text ---------------------------------------------------------------------------------------------------------- */

/* Local SGD averages once in 4 steps: that is neither 0 calls a step nor 1. */
START_TEST (test_rare_calls)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "2 x a40x8-nvlink-pairs", "model.config", "gpt2-xl",
                        "training.seq_len", "256", "strategy.name", "local-sgd",
                        "strategy.local_steps", "4", "strategy.inner.name", "fsdp2", NULL);
  PredictOptions         options = { .replay = { 0 } };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) prediction = predict (scenario, &options, diags, NULL);
  g_autoptr (GString)    text = g_string_new (NULL);
  guint                  rare = 0;

  ck_assert_ptr_nonnull (prediction);
  for (guint i = 0; i < prediction->traffic->len; i++)
    rare += g_array_index (prediction->traffic, TrafficUse, i).calls == 0.25;
  ck_assert_uint_gt (rare, 0);
  report_prediction_text (prediction, text);
  ck_assert_ptr_nonnull (strstr (text->str, " 1 call in 4 steps, S = "));
  ck_assert_ptr_null (strstr (text->str, " 0 calls"));
}
END_TEST

/* ---- trace --------------------------------------------------------------------------------------------------------- */

typedef struct
{
  gint64  track;
  guint64 start, end; /* ps */
} Slice;

static gint
compare_slices (gconstpointer a, gconstpointer b)
{
  const Slice *x = a, *y = b;

  if (x->track != y->track)
    return x->track < y->track ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

static gint64
int_of (struct json_object *event, const char *key)
{
  struct json_object *value;

  ck_assert (json_object_object_get_ex (event, key, &value));
  return json_object_get_int64 (value);
}

/* Microseconds with six decimals: whole picoseconds. */
static guint64
ps_of (struct json_object *event, const char *key)
{
  struct json_object *value;
  double              ps;

  ck_assert (json_object_object_get_ex (event, key, &value));
  ps = json_object_get_double (value) * 1e6;
  ck_assert_double_ge (ps, 0);
  return (guint64) llround (ps);
}

static const char *
text_of (struct json_object *event, const char *key)
{
  struct json_object *value;

  ck_assert (json_object_object_get_ex (event, key, &value));
  return json_object_get_string (value);
}

typedef struct
{
  GArray     *slices;
  GHashTable *starts; /* flow ids */
  guint       n_slices, n_arrows, n_counters, n_processes;
} Seen;

static void
see_event (Seen *seen, struct json_object *event)
{
  const char *phase = text_of (event, "ph");
  gint64      track = int_of (event, "pid") * 100000 + int_of (event, "tid");

  if (*phase == 'X')
    {
      guint64 start = ps_of (event, "ts");
      Slice   slice = { track, start, start + ps_of (event, "dur") };

      g_array_append_val (seen->slices, slice);
      seen->n_slices++;
    }
  else if (*phase == 's')
    ck_assert (g_hash_table_add (seen->starts, GINT_TO_POINTER (int_of (event, "id"))));
  else if (*phase == 'f')
    {
      ck_assert (g_hash_table_contains (seen->starts, GINT_TO_POINTER (int_of (event, "id"))));
      seen->n_arrows++;
    }
  else if (*phase == 'C')
    seen->n_counters++;
  else if (*phase == 'M')
    seen->n_processes += g_str_equal (text_of (event, "name"), "process_name");
}

START_TEST (test_trace)
{
  g_autofree char       *file = g_build_filename (scratch, "trace.json", NULL);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (Prediction) prediction = predict_fcdp (&replay, &profiles);
  const Replay          *replays[] = { replay, replay };
  struct json_object    *root, *events;
  Seen                   seen = { 0 };
  guint                  last = replay_n_boundaries (replay) - 1;

  ck_assert_ptr_nonnull (prediction);
  ck_assert (report_trace_write (replays, 2, file, NULL));
  ck_assert_uint_eq (n_entries (scratch), 1);
  root = json_object_from_file (file);
  ck_assert_ptr_nonnull (root);
  ck_assert (json_object_object_get_ex (root, "traceEvents", &events));
  seen.slices = g_array_new (FALSE, FALSE, sizeof (Slice));
  seen.starts = g_hash_table_new (NULL, NULL);
  for (gsize i = 0; i < json_object_array_length (events); i++)
    see_event (&seen, json_object_array_get_idx (events, i));
  g_array_sort (seen.slices, compare_slices);
  for (guint i = 1; i < seen.slices->len; i++)
    {
      const Slice *a = &g_array_index (seen.slices, Slice, i - 1),
                  *b = &g_array_index (seen.slices, Slice, i);

      ck_assert_msg (a->track != b->track || a->end <= b->start,
                     "two slices of track %" G_GINT64_FORMAT " overlap", b->track);
    }
  /* The window is the last two periods: no slice begins outside. */
  for (guint i = 0; i < seen.slices->len; i++)
    ck_assert_uint_lt (g_array_index (seen.slices, Slice, i).start,
                       replay_boundary (replay, last) - replay_boundary (replay, last - 2));
  ck_assert_uint_gt (seen.n_slices, 1000);
  ck_assert_uint_gt (seen.n_arrows, 100);
  ck_assert_uint_gt (seen.n_counters, 100);
  /* Each of the two replays: its ranks and its nodes with host memory. */
  ck_assert_uint_eq (seen.n_processes, 2ul * (replay_n_ranks (replay) + replay_n_host_pools (replay)));
  g_array_unref (seen.slices);
  g_hash_table_unref (seen.starts);
  json_object_put (root);
}
END_TEST

/* Large all-reduces by what is forced; every other slice says nothing of a library. */
START_TEST (test_trace_choice)
{
  g_autofree char       *file = g_build_filename (scratch, "trace.json", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        "cluster.name", "2 x dgx-h100", "model.config", "gpt2-xl", "training.seq_len", "256",
        "strategy.name", "ddp", "collective.algorithm", "tree", "collective.protocol", "ll128", NULL);
  g_autoptr (Replay)  replay = fixture_replay (scenario, profiles, FALSE, 0);
  const Replay       *replays[] = { replay };
  struct json_object *root, *events, *args, *value;
  guint               n = 0;

  ck_assert (report_trace_write (replays, 1, file, NULL));
  root = json_object_from_file (file);
  ck_assert (json_object_object_get_ex (root, "traceEvents", &events));
  for (gsize i = 0; i < json_object_array_length (events); i++)
    {
      struct json_object *event = json_object_array_get_idx (events, i);

      if (!g_str_equal (text_of (event, "ph"), "X")
          || !json_object_object_get_ex (event, "args", &args))
        continue;
      if (!g_str_equal (text_of (event, "cat"), "collective"))
        {
          ck_assert (!json_object_object_get_ex (args, "algorithm", &value));
          continue;
        }
      n++;
      ck_assert_str_eq (text_of (args, "algorithm"), "tree");
      ck_assert_str_eq (text_of (args, "protocol"), "ll128");
      ck_assert_int_ge (int_of (args, "channels"), 1);
      ck_assert_int_le (int_of (args, "channels"), 64);
    }
  ck_assert_uint_gt (n, 0);
  json_object_put (root);
}
END_TEST

START_TEST (test_trace_errors)
{
  g_autofree char       *absent = g_build_filename (scratch, "absent", "trace.json", NULL);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (Prediction) prediction = predict_fcdp (&replay, &profiles);
  const Replay          *replays[] = { replay };
  g_autoptr (GError)     error = NULL, other = NULL;

  ck_assert_ptr_nonnull (prediction);
  ck_assert (!report_trace_write (replays, 1, scratch, &error));
  ck_assert (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_IS_DIRECTORY));
  ck_assert (!report_trace_write (replays, 1, absent, &other));
  ck_assert (g_error_matches (other, G_IO_ERROR, G_IO_ERROR_NOT_FOUND));
  ck_assert_uint_eq (n_entries (scratch), 0);
}
END_TEST

static gpointer
read_all (gpointer path)
{
  char *text = NULL;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

/* What a name stands for stays what it is: links lead where they led, a pipe is a pipe. */
START_TEST (test_trace_special_files)
{
  g_autofree char       *plain = g_build_filename (scratch, "plain.json", NULL);
  g_autofree char       *link = g_build_filename (scratch, "link.json", NULL);
  g_autofree char       *chain = g_build_filename (scratch, "chain.json", NULL);
  g_autofree char       *round = g_build_filename (scratch, "round.json", NULL);
  g_autofree char       *device = g_build_filename (scratch, "full", NULL);
  g_autofree char       *pipe = g_build_filename (scratch, "pipe", NULL);
  g_autofree char       *written = NULL, *piped = NULL;
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (Prediction) prediction = predict_fcdp (&replay, &profiles);
  const Replay          *replays[] = { replay };
  g_autoptr (GError)     error = NULL, full = NULL;
  GThread               *reader;

  ck_assert_ptr_nonnull (prediction);
  /* relative, through another link, to a file that is not there yet; then it is there */
  ck_assert (symlink ("plain.json", link) == 0 && symlink (link, chain) == 0);
  for (guint i = 0; i < 2; i++)
    {
      ck_assert (report_trace_write (replays, 1, chain, NULL));
      ck_assert (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
      ck_assert (g_file_test (chain, G_FILE_TEST_IS_SYMLINK));
      ck_assert (!g_file_test (plain, G_FILE_TEST_IS_SYMLINK));
    }
  ck_assert (g_file_get_contents (plain, &written, NULL, NULL));
  ck_assert (g_str_has_suffix (written, "]}\n"));
  ck_assert (symlink ("round.json", round) == 0);
  ck_assert (!report_trace_write (replays, 1, round, &error));
  ck_assert (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_LINKS));
  ck_assert (mkfifo (pipe, 0600) == 0);
  reader = g_thread_new ("reader", read_all, pipe);
  ck_assert (report_trace_write (replays, 1, pipe, NULL));
  piped = g_thread_join (reader);
  ck_assert_str_eq (piped, written);
  ck_assert (!g_file_test (pipe, G_FILE_TEST_IS_REGULAR));
  ck_assert_uint_eq (n_entries (scratch), 5);
  if (!g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    return;
  /* by a link, so that not the device would suffer if it were replaced */
  ck_assert (symlink ("/dev/full", device) == 0);
  ck_assert (!report_trace_write (replays, 1, device, &full));
  ck_assert (g_error_matches (full, G_IO_ERROR, G_IO_ERROR_NO_SPACE));
  ck_assert (g_file_test (device, G_FILE_TEST_IS_SYMLINK));
}
END_TEST

/* ---- picture ------------------------------------------------------------------------------------------------------- */

START_TEST (test_plot_errors)
{
  g_autoptr (GPtrArray) all = one_prediction ();
  g_autofree char      *style = g_build_filename (scratch, "style.gp", NULL);
  g_autofree char      *dir = g_build_filename (scratch, "a", "b", NULL);
  g_autofree char      *gnuplot = g_find_program_in_path ("gnuplot");
  g_autoptr (GError)    error = NULL, other = NULL;

  ck_assert (!report_plot_write (all, dir, style, &error)); /* no style file */
  ck_assert (g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
  ck_assert (g_file_set_contents (style, "set nonsense\n", -1, NULL));
  ck_assert (!report_plot_write (all, dir, style, &other));
  ck_assert (
      g_str_has_prefix (other->message, gnuplot != NULL ? "gnuplot failed: " : "cannot draw: "));
  ck_assert_uint_eq (n_entries (scratch), 1);
}
END_TEST

/* Names from files reach gnuplot: nothing in them is run. */
START_TEST (test_plot_hostile_name)
{
  g_autoptr (GPtrArray) all = one_prediction ();
  g_autofree char      *style = layout_data_file ("plots/style.gp");
  g_autofree char      *dir = g_build_filename (scratch, "plot", NULL);
  g_autofree char      *canary = g_build_filename (scratch, "canary", NULL);
  g_autofree char      *gnuplot = g_find_program_in_path ("gnuplot");
  g_autofree char      *name =
      g_strdup_printf ("x\" `touch %s` '.system('touch %s').'\n!touch %s\n", canary, canary, canary);
  Prediction        *p = g_ptr_array_index (all, 0);
  g_autoptr (GError) error = NULL;

  g_free (p->model);
  p->model = g_strdup (name);
  g_free (p->strategy);
  p->strategy = g_strdup (name);
  g_free (p->cluster);
  p->cluster = g_strdup (name);
  if (gnuplot == NULL)
    return;
  ck_assert_msg (report_plot_write (all, dir, style, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (!g_file_test (canary, G_FILE_TEST_EXISTS));
  ck_assert_uint_eq (n_entries (dir), 4);
}
END_TEST

int
main (void)
{
  Suite *suite = suite_create ("report");
  TCase *tests = tcase_create ("report");

  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, test_names);
  tcase_add_test (tests, test_rare_calls);
  tcase_add_test (tests, test_trace);
  tcase_add_test (tests, test_trace_choice);
  tcase_add_test (tests, test_trace_errors);
  tcase_add_test (tests, test_trace_special_files);
  tcase_add_test (tests, test_plot_errors);
  tcase_add_test (tests, test_plot_hostile_name);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
