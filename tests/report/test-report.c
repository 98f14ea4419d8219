/*
 * Reports: the names of results are those that users' scripts rely on; a trace is JSON whose slices
 * do not overlap on a track, whose arrows have two ends and which has counters; files are complete
 * or absent.
 */
#include "../replay/fixture.h"
#include "../suite.h"
#include "decide/explore/advice.h"
#include "decide/explore/remedies.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/layout.h"
#include "report/answer/collective.h"
#include "report/answer/heat-map.h"
#include "report/answer/run-plan.h"
#include "report/answer/sensitivity.h"
#include "report/answer/shards.h"
#include "report/document/html-private.h"
#include "report/figure/figures.h"
#include "report/plot/plot.h"
#include "report/prediction/describe.h"
#include "report/prediction/report.h"
#include "report/regress/regress.h"
#include "report/trace/trace.h"
#include "report/validation/validate-training.h"
#include "report/validation/validate.h"

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

/* A replay whose last two periods were simulated, as a trace needs them. */
static Replay *
traced_replay (const Scenario *scenario, ProfileSet *profiles)
{
  const ReplayOptions  options = { .keep_pools = TRUE };
  g_autoptr (DiagList) diags = diag_list_new ();
  Replay              *replay = replay_run (scenario, profiles, &options, diags, NULL);

  ck_assert_msg (replay != NULL, "%s", diag_list_first_message (diags));
  return replay;
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
  Prediction          *prediction =
      replay != NULL ? predict_with_replay (scenario, &options, replay, profiles, diags, NULL)
                              : predict (scenario, &options, diags, NULL);

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

static const Prediction *
prediction_at (const GPtrArray *all, guint i)
{
  return g_ptr_array_index (all, i);
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
  ck_assert (json_object_object_get_ex (root, "schema", &value)
             && json_object_get_int (value) == 1);
  ck_assert (json_object_object_get_ex (root, "results", &results));
  ck_assert_uint_eq (json_object_array_length (results), 1);
  result = json_object_array_get_idx (results, 0);
  for (guint i = 0; names[i] != NULL; i++)
    ck_assert_str_eq (names[i], header[i]);
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

/* ---- documentation --------------------------------------------------------------------------- */

/* First cells of the table N (from 0) of the section HEADING of docs/results.md. */
static GPtrArray *
documented (const char *heading, guint n)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "results.md", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv)   lines = NULL;
  GPtrArray       *names = g_ptr_array_new_with_free_func (g_free);
  gboolean         inside = FALSE, in_table = FALSE;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      if (g_str_has_prefix (lines[i], "## "))
        inside = g_str_equal (lines[i] + 3, heading);
      if (!inside)
        continue;
      if (in_table && *lines[i] == '\0' && n-- == 0)
        break;
      in_table = *lines[i] == '|';
      if (n == 0 && g_str_has_prefix (lines[i], "| `"))
        {
          g_auto (GStrv) cells = g_strsplit (lines[i], "`", 3);

          g_ptr_array_add (names, g_strdup (cells[1]));
        }
    }
  ck_assert_msg (names->len > 0, "no table under '%s'", heading);
  return names;
}

static void
check_columns (const char *heading, const GString *csv)
{
  g_autoptr (GPtrArray) names = documented (heading, 0);
  g_auto (GStrv)        lines = g_strsplit (csv->str, "\n", 2);
  g_auto (GStrv)        columns = g_strsplit (g_strchomp (lines[0]), ",", -1);

  ck_assert_uint_eq (g_strv_length (columns), names->len);
  for (guint i = 0; i < names->len; i++)
    ck_assert_str_eq (columns[i], g_ptr_array_index (names, i));
}

/*
 * Adds "PREFIX.KEY" of every value below OBJECT; not of what is in an object that is documented as
 * a whole.
 */
static void
add_keys (GPtrArray *keys, struct json_object *object, const char *prefix)
{
  struct json_object_iterator at = json_object_iter_begin (object),
                              end = json_object_iter_end (object);

  for (; !json_object_iter_equal (&at, &end); json_object_iter_next (&at))
    {
      const char         *key = json_object_iter_peek_name (&at);
      struct json_object *value = json_object_iter_peek_value (&at), *inner = value;
      g_autofree char *path = g_strdup_printf ("%s%s%s", prefix, *prefix != '\0' ? "." : "", key);

      if (json_object_is_type (value, json_type_array))
        {
          char *list = g_strconcat (path, "[]", NULL);

          g_free (path);
          path = list;
          ck_assert_uint_gt (json_object_array_length (value), 0);
          inner = json_object_array_get_idx (value, 0);
        }
      if (json_object_is_type (inner, json_type_object) && !g_str_equal (key, "settings")
          && !g_str_equal (key, "by_category_bytes"))
        add_keys (keys, inner, path);
      else
        g_ptr_array_add (keys, g_steal_pointer (&path));
    }
}

static GArray *
one_zeroed (gsize size)
{
  GArray *array = g_array_new (FALSE, TRUE, (guint) size);

  return g_array_set_size (array, 1);
}

/* The columns and keys of docs/results.md are the ones that are printed, in their order. */
START_TEST (test_documented)
{
  g_autoptr (GPtrArray) all = one_prediction ();
  g_autoptr (GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) columns = documented ("`simulate` and `compare`", 0);
  g_autoptr (GPtrArray) nested = documented ("`simulate` and `compare`", 1);
  g_autoptr (GPtrArray) fitting = documented ("`simulate` and `compare`", 2);
  g_autoptr (GPtrArray) faster = documented ("`simulate` and `compare`", 3);
  Remedy                remedy = { (char *) "--tp 2", g_ptr_array_index (all, 0) };
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  Remedies remedies = { .found = found, .nearest = (char *) "", .ended_by = "time limit" };
  g_autoptr (GString)        csv = g_string_new (NULL), json = g_string_new (NULL);
  g_autoptr (GArray)         none = g_array_new (FALSE, FALSE, 1);
  const CollectiveValidation collectives = { .rows = none };
  const TrainingValidation   training = { .rows = none };
  const Figures              figures = { .rows = none };
  g_autoptr (GArray)         options = one_zeroed (sizeof (OptionEffect));
  g_autoptr (GArray)         advised = one_zeroed (sizeof (FigureAdvice));
  Advice                     advice = { .options = options, .figures = advised };
  const Sensitivity          sensitivity = { .figures = none, .options = none };
  g_autoptr (GPtrArray)      nothing = g_ptr_array_new ();
  const HeatMap              map = { .x.texts = nothing, .y.texts = nothing, .cells = none };
  const Sensitivity          of_options = { .figures = none, .options = options };
  const Figures              memband = { .kind = FIGURE_MEMBAND, .rows = none };
  const CollectiveSweep sweep = { .samples = none, .options.n_concurrent = 1, .n_placements = 1 };
  const Shards          shards = { .sizes = none, .advice = none, .places = none };
  const RegressAnswer   regress = { nothing, "", NULL };
  struct json_object   *root, *results;

  report_csv (all, csv);
  check_columns ("`simulate` and `compare`", csv);
  report_answer (&collective_rows, &collectives, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`validate collectives`", csv);
  report_answer (&training_rows, &training, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`validate training`", csv);
  report_figures_csv (&figures, g_string_truncate (csv, 0));
  check_columns ("`figures`", csv);
  report_answer (&sensitivity_answer, &sensitivity, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`sensitivity`", csv);
  report_answer (&sensitivity_answer, &of_options, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`sensitivity --only options`", csv);
  report_answer (&heat_map_answer, &map, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`sensitivity --map`", csv);
  report_figures_csv (&memband, g_string_truncate (csv, 0));
  check_columns ("`figures` of a closed form", csv);
  report_answer (&regress_page, &regress, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`regress`", csv);
  report_answer (&collective_answer, &sweep, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`collective`", csv);
  report_answer (&shards_page, &shards, FORMAT_CSV, g_string_truncate (csv, 0));
  check_columns ("`shards`", csv);

  g_ptr_array_add (found, &remedy);
  remedy.prediction->remedies = &remedies;
  remedy.prediction->advice = &advice;
  remedy.prediction->hbm.sequence = 4096;
  remedies.sequence = (char *) "--cp 4";
  report_json (all, json);
  remedy.prediction->remedies = NULL;
  remedy.prediction->advice = NULL;
  root = json_tokener_parse (json->str);
  ck_assert (json_object_object_get_ex (root, "results", &results));
  add_keys (keys, json_object_array_get_idx (results, 0), "");
  g_ptr_array_extend_and_steal (columns, g_steal_pointer (&nested));
  g_ptr_array_extend_and_steal (columns, g_steal_pointer (&fitting));
  g_ptr_array_extend_and_steal (columns, g_steal_pointer (&faster));
  ck_assert_uint_eq (keys->len, columns->len);
  for (guint i = 0; i < keys->len; i++)
    ck_assert_str_eq (g_ptr_array_index (keys, i), g_ptr_array_index (columns, i));
  json_object_put (root);
}
END_TEST

static void
describe_these (Document *document, gconstpointer remedies)
{
  describe_remedies (document, remedies);
}

/* A remedy that leaves less than 3 % of the memory is marked, one that leaves more is not. */
START_TEST (test_tight_remedies)
{
  static const guint64  peaks[] = { 960, 980 };
  g_autoptr (GPtrArray) all = one_prediction (), found = g_ptr_array_new ();
  Prediction           *prediction = g_ptr_array_index (all, 0);
  Remedy                remedy = { (char *) "--tp 2", prediction };
  Remedies              remedies = { .found = found, .nearest = (char *) "" };
  const MemoryUse       before = prediction->hbm;
  const PageKind        kind = { .describe = describe_these };

  g_ptr_array_add (found, &remedy);
  for (guint i = 0; i < G_N_ELEMENTS (peaks); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);

      prediction->hbm.device = peaks[i];
      prediction->hbm.capacity = 1000;
      report_answer (&kind, &remedies, FORMAT_TEXT, text);
      ck_assert_uint_eq (strstr (text->str, " B!\n") != NULL, i == 1);
      ck_assert_uint_eq (strstr (text->str, "! behind a peak: less than 3 %") != NULL, i == 1);
    }
  prediction->hbm = before;
}
END_TEST

/* Retries of the allocator are named with what they may cost; where memory is ample nothing is. */
START_TEST (test_retries_are_told)
{
  g_autoptr (GPtrArray) all = one_prediction ();
  Prediction           *p = g_ptr_array_index (all, 0);
  const MemoryUse       before = p->hbm;

  p->hbm.capacity = 100 * p->hbm.device;
  for (guint retries = 0; retries < 2; retries++)
    {
      g_autoptr (GString) text = g_string_new (NULL);

      p->hbm.n_retries = retries;
      report_prediction_text (p, text);
      ck_assert_uint_eq (strstr (text->str, "it may go either way") != NULL, retries);
      ck_assert_uint_eq (strstr (text->str, "1 to 5 times as long. Remedy: memory.allocator: "
                                            "expandable, or a smaller micro_batch.")
                             != NULL,
                         retries);
    }
  p->hbm = before;
}
END_TEST

/* A result that follows from few micro-batches, or steps, says from how many. */
static void
check_extrapolated (Prediction *self, struct json_object *result)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *said = g_strdup_printf ("from %u of 64 micro-batches\n", self->n_replayed);
  struct json_object *value;

  ck_assert (json_object_object_get_ex (result, "replayed_micro_batches", &value));
  ck_assert_uint_eq ((guint) json_object_get_int (value), self->n_replayed);
  ck_assert (json_object_object_get_ex (result, "round_steps", &value));
  ck_assert_ptr_null (value);
  report_prediction_text (self, text);
  ck_assert_ptr_nonnull (strstr (text->str, said));
  ck_assert_ptr_null (strstr (text->str, "steps of a round"));
  self->n_replayed = 0;
  self->n_steps_replayed = 6;
  self->n_steps = 500;
  g_string_truncate (text, 0);
  report_prediction_text (self, text);
  ck_assert_ptr_nonnull (strstr (text->str, "from 6 of the 500 steps of a round\n"));
  ck_assert_ptr_null (strstr (text->str, "micro-batches\n"));
}

/*
 * What a result is of: the scenario's own values, not those of the few micro-batches that were
 * replayed.
 */
START_TEST (test_provenance)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "2 x a40x8-nvlink-pairs", "model.config", "llama-3-8b", "training.seq_len",
      "256", "training.micro_batch", "2", "training.grad_accum", "64", "mesh.tp", "2",
      "strategy.name", "zero1", NULL);
  PredictOptions        options = { 0 };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (GString)   json = g_string_new (NULL);
  struct json_object   *root, *result, *value, *settings;
  const struct
  {
    const char *key;
    gint        value;
  } wanted[] = { { "seq_len", 256 }, { "micro_batch", 2 }, { "grad_accum", 64 }, { "tp", 2 },
                 { "pp", 1 },        { "data_ranks", 8 },  { "n_gpus", 16 },     { "schema", 1 } };

  g_ptr_array_add (all, predict (scenario, &options, diags, NULL));
  ck_assert_msg (prediction_at (all, 0) != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_gt (prediction_at (all, 0)->n_replayed, 0);
  report_json (all, json);
  root = json_tokener_parse (json->str);
  ck_assert (json_object_object_get_ex (root, "program_version", &value));
  ck_assert_str_eq (json_object_get_string (value), layout_program_version ());
  ck_assert (json_object_object_get_ex (root, "results", &result));
  result = json_object_array_get_idx (result, 0);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      ck_assert (json_object_object_get_ex (result, wanted[i].key, &value));
      ck_assert_int_eq (json_object_get_int (value), wanted[i].value);
    }
  ck_assert (json_object_object_get_ex (result, "profiles", &value));
  ck_assert_ptr_nonnull (strstr (json_object_get_string (value), "gpu a40-48 ("));
  ck_assert (json_object_object_get_ex (result, "settings", &settings));
  ck_assert (json_object_object_get_ex (settings, "training", &settings));
  ck_assert (json_object_object_get_ex (settings, "grad_accum", &value));
  ck_assert_int_eq (json_object_get_int (value), 64);
  check_extrapolated (g_ptr_array_index (all, 0), result);
  json_object_put (root);
}
END_TEST

/* ---- comparison ------------------------------------------------------------------------------ */

/* The predictions of the N scenarios of TEXT. */
static GPtrArray *
predict_text (const char *yaml, guint n)
{
  g_autofree char      *file = g_build_filename (scratch, "grid.yaml", NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  GPtrArray            *all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (GPtrArray) scenarios = NULL;
  PredictOptions        options = { 0 };

  ck_assert (g_file_set_contents (file, yaml, -1, NULL));
  scenarios = scenario_load (NULL, file, NULL, 0, diags);
  ck_assert_msg (scenarios != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (scenarios->len, n);
  for (guint i = 0; i < scenarios->len; i++)
    {
      g_ptr_array_add (all, predict (g_ptr_array_index (scenarios, i), &options, diags, NULL));
      ck_assert_msg (g_ptr_array_index (all, i) != NULL, "%s", diag_list_first_message (diags));
    }
  return all;
}

/* 40 scenarios, of which some do not fit: two clusters, two strategies, ten micro-batches. */
static GPtrArray *
predict_grid (void)
{
  return predict_text (
      "cluster: [a40x8-nvlink-pairs, 2 x a40x8-nvlink-pairs]\n"
      "model: { arch: llama, n_layers: 1, d_model: 256, n_heads: 4, d_ff: 512, vocab: 512 }\n"
      "training: { seq_len: 128, micro_batch: [1, 2, 4, 8, 16, 32, 64, 128, 65536, 131072] }\n"
      "strategy: [zero1, fsdp2]\n",
      40);
}

/*
 * One table, a line a scenario with its name, the best that fits marked, and nothing a scenario
 * beside it.
 */
START_TEST (test_comparison)
{
  g_autoptr (GPtrArray) all = predict_grid ();
  g_autoptr (GString)   text = g_string_new (NULL), explained = g_string_new (NULL);
  g_auto (GStrv)        lines = NULL;
  guint                 at = 0, n_marked = 0, n_misfits = 0, best = 0;

  report_comparison_text (all, text);
  report_comparison_explained (all, explained);
  lines = g_strsplit (text->str, "\n", -1);
  ck_assert_str_eq (lines[0], "40 scenarios: llama");
  ck_assert (g_str_has_prefix (lines[1], "seq_len 128, grad_accum 1"));
  while (!g_str_has_prefix (lines[at], "  SCENARIO"))
    at++;
  ck_assert_ptr_nonnull (strstr (lines[at], " CLUSTER "));
  ck_assert_ptr_nonnull (strstr (lines[at], " MICRO-BATCH "));
  ck_assert_ptr_null (strstr (lines[at], " SEQ-LEN "));
  ck_assert_ptr_null (strstr (lines[at], "HOST"));
  for (guint i = 0; i < all->len; i++)
    if (prediction_at (all, i)->fits
        && (!prediction_at (all, best)->fits
            || prediction_at (all, i)->tokens_per_s_per_gpu
                   > prediction_at (all, best)->tokens_per_s_per_gpu))
      best = i;
  for (guint i = 0; i < all->len; i++)
    {
      const char *line = lines[at + 1 + i];

      ck_assert (g_str_has_prefix (line + 2, prediction_at (all, i)->scenario));
      ck_assert_ptr_nonnull (strstr (line, prediction_at (all, i)->cluster));
      ck_assert_int_eq (*line == '*', i == best);
      ck_assert_int_eq (*line != '!', prediction_at (all, i)->fits);
      n_marked += *line == '*';
      n_misfits += !prediction_at (all, i)->fits;
    }
  ck_assert_uint_eq (n_marked, 1);
  ck_assert_uint_gt (n_misfits, 0);
  ck_assert (g_str_has_prefix (lines[at + 41], "* the most tokens/s/GPU"));
  ck_assert_uint_lt (g_strv_length (lines), 52);
  /* The explained form says why, of each but the first. */
  {
    g_auto (GStrv) pieces = g_strsplit (explained->str, " against ", -1);

    ck_assert_uint_eq (g_strv_length (pieces), 40);
  }
}
END_TEST

/* How experts are computed tells rows of a model with experts apart, and none of another. */
START_TEST (test_comparison_idle)
{
  static const char *const experts[] = { "", ", n_experts: 8, n_experts_per_token: 2" };

  for (guint i = 0; i < G_N_ELEMENTS (experts); i++)
    {
      g_autofree char *yaml = g_strdup_printf (
          "cluster: a40x8-nvlink-pairs\n"
          "model: { arch: llama, n_layers: 1, d_model: 256, n_heads: 4, d_ff: 512, vocab: 512%s }\n"
          "training: { seq_len: 128, expert_products: [sequential, grouped] }\n"
          "strategy: fsdp2\n",
          experts[i]);
      g_autoptr (GPtrArray) all = predict_text (yaml, 2);
      g_autoptr (GString)   text = g_string_new (NULL);

      report_comparison_text (all, text);
      ck_assert_int_eq (strstr (text->str, " EXPERT-PRODUCTS ") != NULL, i);
    }
}
END_TEST

/*
 * One row has no legend: blank lines stand alone. Ends of lines and tabulators in a name break no
 * line.
 */
START_TEST (test_comparison_layout)
{
  g_autoptr (GPtrArray) one = one_prediction (), all = one_prediction ();
  g_autoptr (GString)   text = g_string_new (NULL);
  g_autoptr (GPtrArray) second = one_prediction ();
  g_auto (GStrv)        lines = NULL;
  static const char     hostile[] = "a\n\tb", shown[] = "a\xEF\xBF\xBD\xEF\xBF\xBD"
                                                        "b";
  guint                 n = 0;

  setlocale (LC_CTYPE, "C.UTF-8"); /* as the program: the table's widths are those of characters */
  for (guint explained = 0; explained < 2; explained++)
    for (guint fits = 0; fits < 2; fits++)
      {
        ((Prediction *) g_ptr_array_index (one, 0))->fits = fits;
        ((Prediction *) g_ptr_array_index (one, 0))->hbm.fits = fits;
        ((Prediction *) g_ptr_array_index (one, 0))->hbm.excess = 1024;
        g_string_truncate (text, 0);
        (explained ? report_comparison_explained : report_comparison_text) (one, text);
        ck_assert_ptr_null (strstr (text->str, "\n\n\n"));
        ck_assert_ptr_nonnull (strstr (text->str, "\nMFU counts"));
      }
  g_ptr_array_extend_and_steal (all, g_steal_pointer (&second));
  for (guint i = 0; i < all->len; i++)
    {
      Prediction *p = g_ptr_array_index (all, i);

      g_free (p->scenario);
      p->scenario = g_strdup (i == 0 ? hostile : "c");
      p->hbm.fits = FALSE;
      p->hbm.excess = 1024;
    }
  report_comparison_explained (all, g_string_truncate (text, 0));
  ck_assert_ptr_null (strchr (text->str, '\t'));
  lines = g_strsplit (text->str, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    n += strstr (lines[i], shown) != NULL;
  /* its row, that it does not fit, and what the other one is compared with */
  ck_assert_uint_eq (n, 3);
}
END_TEST

/* By hand: of 100 GiB 97 leave enough, and 98 are marked, as is what fits at a second try alone. */
START_TEST (test_comparison_marks)
{
  static const struct
  {
    guint       device, n_retries; /* GiB */
    const char *shown;
  } cases[] = { { 97, 0, " 97.0 GiB " }, { 98, 0, " 98.0 GiB! " }, { 50, 1, " 50.0 GiB! " } };
  g_autoptr (GPtrArray) all = one_prediction ();
  Prediction           *p = g_ptr_array_index (all, 0);

  p->hbm.capacity = G_GUINT64_CONSTANT (100) << 30;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);

      p->hbm.device = (guint64) cases[i].device << 30;
      p->hbm.n_retries = cases[i].n_retries;
      report_comparison_text (all, text);
      ck_assert_msg (strstr (text->str, cases[i].shown) != NULL, "%s", text->str);
      ck_assert_int_eq (strstr (text->str, "\n! behind a peak: ") != NULL, i > 0);
    }
}
END_TEST

/* By every column: what fits comes first, and rates fall where others rise. */
START_TEST (test_sort)
{
  g_autoptr (GPtrArray)   all = predict_grid ();
  g_autofree const char **names = report_column_names ();

  ck_assert (!report_sort (all, "mfu"));
  ck_assert (report_sort (all, "MFU_Percent")); /* names match in either case */
  for (guint n = 0; names[n] != NULL; n++)
    {
      ck_assert (report_sort (all, names[n]));
      for (guint i = 1; i < all->len; i++)
        ck_assert (prediction_at (all, i - 1)->fits || !prediction_at (all, i)->fits);
    }
  for (guint i = 1; report_sort (all, "mfu_percent") && i < all->len; i++)
    if (prediction_at (all, i)->fits == prediction_at (all, i - 1)->fits)
      ck_assert_double_le (prediction_at (all, i)->mfu_percent,
                           prediction_at (all, i - 1)->mfu_percent);
  for (guint i = 1; report_sort (all, "peak_device_gib") && i < all->len; i++)
    if (prediction_at (all, i)->fits == prediction_at (all, i - 1)->fits)
      ck_assert_uint_ge (prediction_at (all, i)->hbm.device,
                         prediction_at (all, i - 1)->hbm.device);
  /* Whole numbers are no words: 2 comes before 128. */
  for (guint i = 1; report_sort (all, "micro_batch") && i < all->len; i++)
    if (prediction_at (all, i)->fits == prediction_at (all, i - 1)->fits)
      ck_assert_double_ge (
          prediction_at (all, i)->tokens_per_step / prediction_at (all, i)->n_data_ranks,
          prediction_at (all, i - 1)->tokens_per_step / prediction_at (all, i - 1)->n_data_ranks);
}
END_TEST

/* ---- text ------------------------------------------------------------------------------------ */

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
  ck_assert_ptr_nonnull (strstr (text->str, " 1 in 4 steps "));
  ck_assert_ptr_null (strstr (text->str, " 0 calls"));
}
END_TEST

/* ---- trace ----------------------------------------------------------------------------------- */

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
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end; /* the outer one first */
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

/* On every thread slices lie inside each other or follow each other, as viewers assume. */
static void
check_nesting (GArray *slices)
{
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (Slice));

  g_array_sort (slices, compare_slices);
  for (guint i = 0; i < slices->len; i++)
    {
      const Slice *slice = &g_array_index (slices, Slice, i), *outer;

      for (; open->len > 0; g_array_set_size (open, open->len - 1))
        {
          outer = &g_array_index (open, Slice, open->len - 1);
          if (outer->track == slice->track && slice->start < outer->end)
            break;
        }
      if (open->len > 0)
        ck_assert_msg (slice->end <= outer->end, "two slices of track %" G_GINT64_FORMAT " overlap",
                       slice->track);
      g_array_append_val (open, *slice);
    }
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
  check_nesting (seen.slices);
  /* The window is the last two periods: no slice begins outside. */
  for (guint i = 0; i < seen.slices->len; i++)
    ck_assert_uint_lt (g_array_index (seen.slices, Slice, i).start,
                       replay_boundary (replay, last) - replay_boundary (replay, last - 2));
  ck_assert_uint_gt (seen.n_slices, 1000);
  ck_assert_uint_gt (seen.n_arrows, 100);
  ck_assert_uint_gt (seen.n_counters, 100);
  /* Each of the two replays: its ranks and its nodes with host memory. */
  ck_assert_uint_eq (seen.n_processes,
                     2ul * (replay_n_ranks (replay) + replay_n_host_pools (replay)));
  g_array_unref (seen.slices);
  g_hash_table_unref (seen.starts);
  json_object_put (root);
}
END_TEST

/*
 * Four stages of two chunks send and receive at once: messages of one rank overlap. Each is on a
 * thread that has a name, none on one where another runs, and there are no more threads than
 * messages at one time and one that is free at both ends. The compute stream stays one thread.
 */
START_TEST (test_trace_lanes)
{
  g_autofree char     *file = g_build_filename (scratch, "trace.json", NULL);
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b",
                        "training.seq_len", "256", "training.grad_accum", "8", "mesh.pp", "4",
                        "mesh.vp", "2", "mesh.tp", "2", "strategy.name", "zero1", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = traced_replay (scenario, profiles);
  const Replay          *replays[] = { replay };
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GHashTable) lanes = g_hash_table_new (g_str_hash, g_str_equal);
  struct json_object    *root, *events, *args;
  Seen                   seen = { .slices = g_array_new (FALSE, FALSE, sizeof (Slice)),
                                  .starts = g_hash_table_new (NULL, NULL) };

  ck_assert (report_trace_write (replays, 1, file, NULL));
  root = json_object_from_file (file);
  ck_assert (json_object_object_get_ex (root, "traceEvents", &events));
  for (gsize i = 0; i < json_object_array_length (events); i++)
    {
      struct json_object *event = json_object_array_get_idx (events, i);
      gint64              track = int_of (event, "pid") * 100000 + int_of (event, "tid");

      see_event (&seen, event);
      if (g_str_equal (text_of (event, "name"), "thread_name")
          && json_object_object_get_ex (event, "args", &args))
        {
          ck_assert (g_hash_table_insert (names, g_memdup2 (&track, sizeof track), event));
          g_hash_table_add (lanes, (gpointer) text_of (args, "name"));
        }
    }
  check_nesting (seen.slices);
  for (guint i = 0; i < seen.slices->len; i++)
    ck_assert (g_hash_table_contains (names, &g_array_index (seen.slices, Slice, i).track));
  ck_assert_uint_gt (seen.n_arrows, 100);
  ck_assert (g_hash_table_contains (lanes, "pipeline (2)"));
  /* Forward and backward, to and from: four at one time. */
  ck_assert (!g_hash_table_contains (lanes, "pipeline (6)"));
  ck_assert (!g_hash_table_contains (lanes, "compute (2)"));
  g_array_unref (seen.slices);
  g_hash_table_unref (seen.starts);
  json_object_put (root);
}
END_TEST

/* ---- steps and counters ---- */

/* A counter of a trace: its integral and where it ends. */
typedef struct
{
  double integral, value, since;
  guint  n;
} CounterSeen;

static double
double_of (struct json_object *object, const char *key)
{
  struct json_object *value;

  ck_assert (json_object_object_get_ex (object, key, &value));
  return json_object_get_double (value);
}

static void
see_counter (GHashTable *counters, struct json_object *event)
{
  char *key =
      g_strdup_printf ("%" G_GINT64_FORMAT " %s", int_of (event, "pid"), text_of (event, "name"));
  CounterSeen        *counter = g_hash_table_lookup (counters, key);
  double              time = double_of (event, "ts");
  struct json_object *args;

  ck_assert (json_object_object_get_ex (event, "args", &args));
  if (counter == NULL)
    {
      counter = g_new0 (CounterSeen, 1);
      g_hash_table_insert (counters, key, counter);
    }
  else
    {
      ck_assert_double_gt (time, counter->since);
      ck_assert_double_ne (double_of (args, "value"), counter->value);
      counter->integral += 1e-6 * counter->value * (time - counter->since);
      g_free (key);
    }
  counter->value = double_of (args, "value");
  ck_assert_double_ge (counter->value, 0);
  counter->since = time;
  counter->n++;
}

/* The events of REPLAY's trace; no slice is of no length. */
static struct json_object *
write_trace (const Replay *replay, struct json_object **events)
{
  g_autofree char    *file = g_build_filename (scratch, "trace.json", NULL);
  struct json_object *root;

  ck_assert (report_trace_write (&replay, 1, file, NULL));
  root = json_object_from_file (file);
  ck_assert_ptr_nonnull (root);
  ck_assert (json_object_object_get_ex (root, "traceEvents", events));
  for (gsize i = 0; i < json_object_array_length (*events); i++)
    {
      struct json_object *event = json_object_array_get_idx (*events, i);

      if (g_str_equal (text_of (event, "ph"), "X"))
        ck_assert_double_gt (double_of (event, "dur"), 0);
    }
  return root;
}

/* Work of the host's cores is an op like others: its elements and bytes stand in the trace. */
START_TEST (test_trace_host_ops)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "1 x dgx-a100", "model.config", "gpt2-xl",
                        "training.seq_len", "128", "strategy.name", "zero-offload", NULL);
  g_autoptr (Replay)  replay = traced_replay (scenario, profiles);
  struct json_object *events, *root = write_trace (replay, &events), *args, *elements;
  guint               n = 0;

  for (gsize i = 0; i < json_object_array_length (events); i++)
    {
      struct json_object *event = json_object_array_get_idx (events, i), *cat;

      if (!json_object_object_get_ex (event, "cat", &cat)
          || !g_str_equal (json_object_get_string (cat), "host op"))
        continue;
      ck_assert (json_object_object_get_ex (event, "args", &args));
      ck_assert (json_object_object_get_ex (args, "elements", &elements));
      ck_assert_int_gt (json_object_get_int64 (elements), 0);
      n++;
    }
  ck_assert_uint_gt (n, 0);
  json_object_put (root);
}
END_TEST

/*
 * Two steady steps of four micro-steps on two stages: eight marks a rank, steps that follow each
 * other, stages in the names.
 */
START_TEST (test_trace_steps)
{
  static const struct
  {
    const char *pp, *vp, *pipeline;
  } cases[] = {
    { "1", "1", "auto" }, { "2", "1", "1f1b" }, { "2", "2", "auto" }, { "2", "1", "dualpipe" }
  };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b", "training.seq_len", "256",
      "training.grad_accum", "4", "mesh.tp", "4", "mesh.pp", cases[_i].pp, "mesh.vp", cases[_i].vp,
      "mesh.pipeline", cases[_i].pipeline, "strategy.name", "zero1", NULL);

  g_autoptr (Replay)  replay = traced_replay (scenario, profiles);
  guint               n_ranks = replay_n_ranks (replay), n_names = 0;
  guint               last = replay_n_boundaries (replay) - 1;
  SimTime             window = replay_boundary (replay, last) - replay_boundary (replay, last - 2);
  g_autofree guint   *n_marks = g_new0 (guint, n_ranks + 1);
  g_autofree double  *ends = g_new0 (double, n_ranks + 1);
  struct json_object *events, *root = write_trace (replay, &events), *args;

  for (gsize i = 0; i < json_object_array_length (events); i++)
    {
      struct json_object *event = json_object_array_get_idx (events, i), *cat;
      gint64              pid = int_of (event, "pid");

      if (g_str_equal (text_of (event, "name"), "process_name") && pid <= n_ranks)
        {
          g_autofree char *stage = g_strdup_printf (", stage %u of 2", pid == 1 ? 0 : 1);

          ck_assert (json_object_object_get_ex (event, "args", &args));
          ck_assert_int_eq (strstr (text_of (args, "name"), stage) != NULL, *cases[_i].pp == '2');
          n_names++;
        }
      if (!json_object_object_get_ex (event, "cat", &cat))
        continue;
      if (g_str_equal (json_object_get_string (cat), "micro-step"))
        {
          g_autofree char *name = g_strdup_printf ("micro-step %u", n_marks[pid] % 4);

          /* The two directions of DualPipe have micro-batches of their own. */
          if (!g_str_equal (cases[_i].pipeline, "dualpipe"))
            ck_assert_str_eq (text_of (event, "name"), name);
          n_marks[pid]++;
        }
      else if (g_str_equal (json_object_get_string (cat), "step"))
        {
          ck_assert_double_eq_tol (double_of (event, "ts"), ends[pid], 1e-6);
          ends[pid] = double_of (event, "ts") + double_of (event, "dur");
        }
    }
  ck_assert_uint_eq (n_names, n_ranks);
  for (guint pid = 1; pid <= n_ranks; pid++)
    {
      ck_assert_uint_eq (n_marks[pid], 8);
      ck_assert_double_eq_tol (ends[pid], 1e6 * sim_time_to_seconds (window), 1e-5);
    }
  json_object_put (root);
}
END_TEST

/*
 * What counters add up to is what the results say: the cards' bytes, and the use of SMs and HBM, of
 * which every step has the same. All end at 0. On the hand-made hardware, where LL's doubled bytes
 * play no part, the cards' bytes are the payload.
 */
START_TEST (test_trace_counters)
{
  g_autofree char *dir =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "2 x hand-pair", "model.arch", "gpt", "model.n_layers", "2", "model.d_model",
      "1024", "model.n_heads", "8", "model.vocab", "1000", "training.seq_len", "512",
      "strategy.name", "zero3", "collective.protocol", "simple", NULL);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  PredictOptions         options = { .replay = { .keep_pools = TRUE }, .profile_dir = dir };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p =
      predict_with_replay (scenario, &options, &replay, &profiles, diags, NULL);
  g_autoptr (GHashTable) counters = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  struct json_object    *events, *root;
  GHashTableIter         iter;
  gpointer               key, value;
  ReplayStretch          period;
  double                 seconds;
  guint                  n_cards = 0, n_kernels = 0;

  ck_assert_msg (p != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (schedule_steps_per_period (replay_schedule (replay)), 1);
  period = replay_last_period (replay);
  seconds = 2 * replay_step_time (replay);
  root = write_trace (replay, &events);
  for (gsize i = 0; i < json_object_array_length (events); i++)
    {
      struct json_object *event = json_object_array_get_idx (events, i);

      if (g_str_equal (text_of (event, "ph"), "C")
          && strstr (text_of (event, "name"), "memory") == NULL)
        see_counter (counters, event);
    }
  g_hash_table_iter_init (&iter, counters);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const CounterSeen *counter = value;

      ck_assert (counter->value == 0);
      if (strstr (key, "nic0.tx (GB/s)") != NULL)
        {
          n_cards++;
          ck_assert_double_eq_tol (1e9 * counter->integral / 2 / p->inter_node_bytes_per_nic, 1,
                                   1e-5);
        }
    }
  ck_assert_uint_gt (n_cards, 0);
  for (ResourceId r = 0; r < engine_n_resources (replay_engine (replay)); r++)
    {
      const ClusterResource *resource = cluster_resource (
          replay_cluster (replay), replay_bound_cluster_resource (replay_bound (replay), r, NULL));
      const char      *what = resource->kind == RESOURCE_SM    ? "SM in use (%)"
                              : resource->kind == RESOURCE_HBM ? "HBM in use (%)"
                                                               : NULL;
      g_autofree char *name = g_strdup_printf ("1 %s", what);
      CounterSeen     *counter = g_hash_table_lookup (counters, name);

      if (what == NULL || resource->node != 0 || resource->index != 0)
        continue;
      ck_assert_ptr_nonnull (counter);
      ck_assert_double_eq_tol (
          counter->integral / seconds / (100 * replay_utilisation (replay, &period, r)), 1, 1e-5);
      n_kernels++;
    }
  ck_assert_uint_eq (n_kernels, 2);
  json_object_put (root);
}
END_TEST

/* Large all-reduces by what is forced; every other slice says nothing of a library. */
START_TEST (test_trace_choice)
{
  g_autofree char       *file = g_build_filename (scratch, "trace.json", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "2 x dgx-h100", "model.config", "gpt2-xl", "training.seq_len", "256",
      "strategy.name", "ddp", "collective.algorithm", "tree", "collective.protocol", "ll128", NULL);

  g_autoptr (Replay)  replay = traced_replay (scenario, profiles);
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

/* ---- picture --------------------------------------------------------------------------------- */

START_TEST (test_plot_errors)
{
  g_autoptr (GPtrArray) all = one_prediction ();
  g_autofree char      *style = g_build_filename (scratch, "style.gp", NULL);
  g_autofree char      *dir = g_build_filename (scratch, "a", "b", NULL);
  g_autofree char      *gnuplot = g_find_program_in_path ("gnuplot");
  g_autoptr (GError)    error = NULL, other = NULL;

  ck_assert (!report_plot_write (all, NULL, dir, style, &error)); /* no style file */
  ck_assert (g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
  ck_assert (g_file_set_contents (style, "set nonsense\n", -1, NULL));
  ck_assert (!report_plot_write (all, NULL, dir, style, &other));
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
  g_autofree char   *name = g_strdup_printf ("x\" `touch %s` '.system('touch %s').'\n!touch %s\n",
                                             canary, canary, canary);
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
  ck_assert_msg (report_plot_write (all, NULL, dir, style, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (!g_file_test (canary, G_FILE_TEST_EXISTS));
  ck_assert_uint_eq (n_entries (dir), 4);
}
END_TEST

/* A text of an SVG: where it lies, at 7.5 of 12 points a character. */
typedef struct
{
  double left, right, y;
  char  *text;
} DrawnText;

static void
drawn_text_clear (gpointer data)
{
  g_free (((DrawnText *) data)->text);
}

/* The texts of DIR's picture that lie level, and the picture's WIDTH. */
static GArray *
drawn_texts (const char *dir, double *width)
{
  g_autofree char   *file = g_build_filename (dir, "time-split.svg", NULL), *svg = NULL;
  g_autoptr (GRegex) regex = g_regex_new (
      "translate\\(([0-9.]+),([0-9.]+)\\)\" "
      "stroke[^>]*font-size=\"([0-9.]+)\"[^>]*text-anchor=\"(\\w+)\">\\s*<text>([^\\n]*)</text>",
      0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  GArray                *all = g_array_new (FALSE, FALSE, sizeof (DrawnText));

  ck_assert_ptr_nonnull (regex);
  g_array_set_clear_func (all, drawn_text_clear);
  ck_assert (g_file_get_contents (file, &svg, NULL, NULL));
  ck_assert_ptr_nonnull (strstr (svg, "viewBox=\"0 0 "));
  *width = g_ascii_strtod (strstr (svg, "viewBox=\"0 0 ") + strlen ("viewBox=\"0 0 "), NULL);
  g_regex_match (regex, svg, 0, &match);
  for (; g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      g_auto (GStrv) part = g_match_info_fetch_all (match);
      double         x = g_ascii_strtod (part[1], NULL);
      double         size = g_ascii_strtod (part[3], NULL) / 12;
      DrawnText      text = { .y = g_ascii_strtod (part[2], NULL),
                              .text = g_strdup (g_strstrip (part[5])) };
      double         length = 7.5 * size * (double) g_utf8_strlen (text.text, -1);

      text.left =
          x - length * (g_str_equal (part[4], "middle") ? 0.5 : g_str_equal (part[4], "end"));
      text.right = text.left + length;
      g_array_append_val (all, text);
    }
  return all;
}

static guint
n_drawn (const GArray *texts, const char *text)
{
  guint n = 0;

  for (guint i = 0; i < texts->len; i++)
    n += g_str_equal (g_array_index (texts, DrawnText, i).text, text);
  return n;
}

/*
 * Draws ALL: every name of LABELS stands there once, no text lies over another, and none leaves the
 * picture.
 */
static GArray *
check_picture (const GPtrArray *all, const char *const *labels)
{
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autofree char   *dir = g_build_filename (scratch, "plot", NULL);
  g_autoptr (GError) error = NULL;
  double             width;
  GArray            *texts;

  ck_assert_msg (report_plot_write (all, NULL, dir, style, &error), "%s",
                 error != NULL ? error->message : "");
  texts = drawn_texts (dir, &width);
  for (guint i = 0; i < all->len; i++)
    ck_assert_msg (n_drawn (texts, labels[i]) == 1, "'%s' stands there %u times", labels[i],
                   n_drawn (texts, labels[i]));
  for (guint i = 0; i < texts->len; i++)
    {
      const DrawnText *a = &g_array_index (texts, DrawnText, i);

      ck_assert_msg (a->left >= 0 && a->right <= width, "'%s' leaves the picture", a->text);
      for (guint j = 0; j < i; j++)
        {
          const DrawnText *b = &g_array_index (texts, DrawnText, j);

          ck_assert_msg (fabs (a->y - b->y) >= 8 || a->right <= b->left || b->right <= a->left,
                         "'%s' lies over '%s'", a->text, b->text);
        }
    }
  return texts;
}

/* Names ALL's scenarios PREFIX + name of NAMES + SUFFIX. */
static void
name_scenarios (GPtrArray *all, const char *prefix, const char *const *names, const char *suffix)
{
  for (guint i = 0; i < all->len; i++)
    {
      Prediction *p = g_ptr_array_index (all, i);

      g_free (p->scenario);
      p->scenario = g_strconcat (prefix, names[i], suffix, NULL);
    }
}

static const char **
scenario_names (const GPtrArray *all)
{
  const char **names = g_new0 (const char *, all->len + 1);

  for (guint i = 0; i < all->len; i++)
    names[i] = prediction_at (all, i)->scenario;
  return names;
}

/* Bars have the names of the table, however many and however long: legible, no two alike. */
START_TEST (test_plot_names)
{
  static const char *const micro_batches[] = { "micro_batch=1", "micro_batch=2", "micro_batch=4" };
  static const char *const greek[] = { "alpha", "beta", "gamma" };
  static const char *const letters[] = {
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"
  };
  static const char *const cut[] = { "long-long-...icro_batch=1-too-too-t...too-too-too",
                                     "long-long-...icro_batch=2-too-too-t...too-too-too",
                                     "long-long-...icro_batch=4-too-too-t...too-too-too" };
  g_autoptr (GPtrArray)    all = NULL;
  g_autofree char         *gnuplot = g_find_program_in_path ("gnuplot");
  g_autofree const char  **grid = NULL;
  GArray                  *texts;

  if (gnuplot == NULL)
    return;
  all = predict_grid ();
  grid = scenario_names (all);
  g_array_unref (check_picture (all, grid));
  g_ptr_array_set_size (all, 12);
  name_scenarios (all, "", letters, "");
  g_array_unref (check_picture (all, letters));
  g_ptr_array_set_size (all, 3);
  name_scenarios (all, "", micro_batches, "");
  g_array_unref (check_picture (all, micro_batches));
  name_scenarios (all, "long-long-long-long-long-long-long-", micro_batches,
                  "-too-too-too-too-too-too-too-too-too");
  g_array_unref (check_picture (all, cut));
  /* One model on three clusters: each is headed by its cluster, and the model is said once. */
  name_scenarios (all, "", greek, "");
  for (guint i = 0; i < all->len; i++)
    {
      Prediction *p = g_ptr_array_index (all, i);

      g_free (p->cluster);
      p->cluster =
          g_strdup_printf ("%u nodes x 8 h100-sxm-80, nvlink4-switch, 8 ib-ndr-400", i + 2);
      g_free (p->strategy);
      p->strategy = g_strdup ("fsdp2");
    }
  texts = check_picture (all, greek);
  for (guint i = 0; i < all->len; i++)
    ck_assert_uint_eq (n_drawn (texts, prediction_at (all, i)->cluster), 1);
  ck_assert_uint_eq (n_drawn (texts, "llama, fsdp2"), 1);
  ck_assert_uint_eq (n_drawn (texts, "llama"), 0);
  ck_assert_uint_eq (n_drawn (texts, "fsdp2"), 0);
  g_array_unref (texts);
}
END_TEST

/* What a search says of what failed reaches those who read no text. */
START_TEST (test_plan_of_failures)
{
  RunOption             searched = { .n_nodes = 4, .why = (char *) "no" };
  RunOption             fixed = { .n_nodes = 8, .why = (char *) "no" };
  g_autoptr (GPtrArray) options = g_ptr_array_new (), plans = g_ptr_array_new ();
  RunPlan               plan = { .cluster = (char *) "dgx-h100", .options = options };
  const RunGoal         goal = { .tokens = 1e12 };
  const RunPlanAnswer   answer = { plans, &goal };
  g_autoptr (GString)   csv = g_string_new (NULL), json = g_string_new (NULL);
  g_auto (GStrv)        lines = NULL;

  searched.choice = (RunChoice){ .label = (char *) "tp 2",
                                 .n_failed = 3,
                                 .failure = (char *) "ranks wait for each other" };
  g_ptr_array_add (options, &searched);
  g_ptr_array_add (options, &fixed);
  g_ptr_array_add (plans, &plan);
  report_answer (&run_plan_page, &answer, FORMAT_CSV, csv);
  report_answer (&run_plan_page, &answer, FORMAT_JSON, json);
  lines = g_strsplit (csv->str, "\n", -1);
  ck_assert (g_str_has_suffix (lines[0], ",failed,failure"));
  ck_assert (g_str_has_suffix (lines[1], ",3,ranks wait for each other"));
  ck_assert (g_str_has_suffix (lines[2], ",,"));
  ck_assert_ptr_nonnull (strstr (json->str, "\"failed\":3"));
  ck_assert_ptr_nonnull (strstr (json->str, "\"failure\":\"ranks wait for each other\""));
}
END_TEST

SUITE_MAIN (report)
{
  Suite *suite = suite_create ("report");
  TCase *tests = tcase_create ("report");

  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, test_names);
  tcase_add_test (tests, test_documented);
  tcase_add_test (tests, test_tight_remedies);
  tcase_add_test (tests, test_retries_are_told);
  tcase_add_test (tests, test_plan_of_failures);
  tcase_add_test (tests, test_provenance);
  tcase_add_test (tests, test_comparison);
  tcase_add_test (tests, test_comparison_idle);
  tcase_add_test (tests, test_comparison_layout);
  tcase_add_test (tests, test_comparison_marks);
  tcase_add_test (tests, test_sort);
  tcase_add_test (tests, test_rare_calls);
  tcase_add_test (tests, test_trace);
  tcase_add_test (tests, test_trace_lanes);
  tcase_add_test (tests, test_trace_host_ops);
  tcase_add_loop_test (tests, test_trace_steps, 0, 4);
  tcase_add_test (tests, test_trace_counters);
  tcase_add_test (tests, test_trace_choice);
  tcase_add_test (tests, test_trace_errors);
  tcase_add_test (tests, test_trace_special_files);
  tcase_add_test (tests, test_plot_errors);
  tcase_add_test (tests, test_plot_hostile_name);
  tcase_add_test (tests, test_plot_names);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
