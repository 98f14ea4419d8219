#include "api/shardsim.h"

#include "base/option.h"
#include "base/parallel.h"
#include "report/answer.h"

/* What a request holds as single values; its `set` and `plugins` are read apart. */
typedef struct
{
  char    *file, *text, *name, *hwprofiles;
  gboolean unfolded, interval;
  gint64   steps, jobs;
} Request;

#define MOST 1e6

static const OptionSpec request_options[] = {
  { .key = "file",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, file),
    .optional = TRUE },
  { .key = "text",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, text),
    .optional = TRUE },
  { .key = "name",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, name),
    .fallback = "scenario" },
  { .key = "hwprofiles",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, hwprofiles),
    .optional = TRUE },
  { .key = "unfolded",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Request, unfolded),
    .fallback = "false" },
  { .key = "interval",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Request, interval),
    .fallback = "false" },
  { .key = "steps",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Request, steps),
    .fallback = "0",
    .max = MOST },
  { .key = "jobs",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Request, jobs),
    .fallback = "0",
    .max = MOST },
  { 0 },
};

/* Everything of one call. */
typedef struct
{
  Request        request;
  GStringChunk  *keys;     /* of the overrides */
  ConfigDoc     *document; /* holds the values of the overrides */
  GArray        *overrides;
  StrategySet   *strategies;
  PredictOptions options;
  GPtrArray     *scenarios;
  guint          n;           /* of the scenarios; slots of what follows */
  Prediction   **predictions; /* a slot a scenario; NULL: it failed */
  DiagList     **diags;       /* the same */
  GError       **errors;
  DiagList      *all; /* that which is answered */
  GError        *error;
} Call;

/* ---- the request ----------------------------------------------------------------------------- */

static void
read_overrides (Call *self, const ConfigNode *set)
{
  if (set == NULL || !config_node_expect (set, CONFIG_MAP, self->all))
    return;
  for (guint i = 0; i < config_node_length (set); i++)
    {
      const ConfigNode *value = config_node_item (set, i);
      const char       *key = config_node_key (set, i);
      g_autofree char  *full = scenario_whole_key (key);
      ScenarioOverride  override = { .origin = key };

      if (!config_node_expect (value, CONFIG_SCALAR, self->all))
        continue;
      override.key = g_string_chunk_insert (self->keys, full);
      override.value = config_node_text (value);
      g_array_append_val (self->overrides, override);
    }
}

static void
read_plugins (Call *self, const ConfigNode *plugins)
{
  if (plugins == NULL || !config_node_expect (plugins, CONFIG_LIST, self->all))
    return;
  for (guint i = 0; self->error == NULL && i < config_node_length (plugins); i++)
    {
      const ConfigNode *file = config_node_item (plugins, i);

      if (config_node_expect (file, CONFIG_SCALAR, self->all))
        strategy_set_load (self->strategies, config_node_text (file), &self->error);
    }
}

/* Folders that are given come before the shipped one, as on the command line. */
static void
read_profile_path (Call *self)
{
  g_autofree char *shipped = layout_data_file ("hwprofiles");
  g_autofree char *given = g_steal_pointer (&self->request.hwprofiles);
  g_auto (GStrv) folders = given != NULL ? g_strsplit (given, G_SEARCHPATH_SEPARATOR_S, -1) : NULL;

  if (given == NULL)
    return;
  for (guint i = 0; folders[i] != NULL; i++)
    if (!g_file_test (folders[i], G_FILE_TEST_IS_DIR))
      diag_error (self->all, NULL, NULL, "hwprofiles: '%s' is not a folder", folders[i]);
  self->request.hwprofiles = g_strconcat (given, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
}

static void
read_request (Call *self, const char *text)
{
  static const char *const apart[] = { "set", "plugins", NULL };
  const ConfigNode        *root;

  self->document = config_load_text ("request", text, -1, self->all);
  root = self->document != NULL ? config_doc_root (self->document) : NULL;
  if (root == NULL || !config_node_expect (root, CONFIG_MAP, self->all))
    return;
  option_load_map (request_options, &self->request, root, apart, self->all);
  if (self->request.file != NULL && self->request.text != NULL)
    diag_error (self->all, NULL, NULL, "'file' and 'text' are both given");
  read_overrides (self, config_node_get (root, "set"));
  read_plugins (self, config_node_get (root, "plugins"));
  read_profile_path (self);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* NULL after diagnostics. */
static GPtrArray *
load_scenarios (const Call *self)
{
  const ScenarioOverride *overrides = (const ScenarioOverride *) (void *) self->overrides->data;
  const Request          *request = &self->request;

  return request->text != NULL ? scenario_load_text (self->strategies, request->name, request->text,
                                                     overrides, self->overrides->len, self->all)
                               : scenario_load (self->strategies, request->file, overrides,
                                                self->overrides->len, self->all);
}

static void
predict_one (guint i, gpointer user)
{
  Call *self = user;

  self->diags[i] = diag_list_new ();
  self->predictions[i] = predict (g_ptr_array_index (self->scenarios, i), &self->options,
                                  self->diags[i], &self->errors[i]);
}

static void
predict_all (Call *self)
{
  const guint n = self->scenarios->len;

  self->n = n;
  self->options = (PredictOptions){ .unfolded = self->request.unfolded,
                                    .interval = self->request.interval,
                                    .replay = { .min_periods = (guint) self->request.steps },
                                    .profile_dir = self->request.hwprofiles,
                                    .files = input_files_new (),
                                    .todays_frameworks = TRUE };
  self->predictions = g_new0 (Prediction *, n);
  self->diags = g_new0 (DiagList *, n);
  self->errors = g_new0 (GError *, n);
  parallel_run (n, self->request.jobs > 0 ? (guint) self->request.jobs : g_get_num_processors (),
                predict_one, self, NULL);
  diag_list_drop_repeats (self->all, TRUE);
  for (guint i = 0; i < n; i++)
    {
      diag_list_append (self->all, self->diags[i]);
      if (diag_list_has_errors (self->diags[i]))
        g_clear_pointer (&self->predictions[i], prediction_free);
      if (self->error == NULL)
        self->error = g_steal_pointer (&self->errors[i]);
    }
  diag_list_drop_repeats (self->all, FALSE);
}

/* The names of the scenarios that have no prediction. */
static char **
name_left_out (const Call *self)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  for (guint i = 0; self->scenarios != NULL && i < self->scenarios->len; i++)
    if (self->predictions[i] == NULL)
      g_strv_builder_add (names, ((const Scenario *) self->scenarios->pdata[i])->name);
  return g_strv_builder_end (names);
}

static char *
answer (const Call *self)
{
  g_autoptr (GPtrArray) predictions = g_ptr_array_new ();
  g_auto (GStrv)        left_out = name_left_out (self);
  GString              *out = g_string_new (NULL);

  for (guint i = 0; i < self->n; i++)
    if (self->predictions[i] != NULL)
      g_ptr_array_add (predictions, self->predictions[i]);
  report_answer_json (predictions, left_out, self->all,
                      self->error != NULL ? self->error->message : NULL, out);
  return g_string_free (out, FALSE);
}

static void
call_clear (Call *self)
{
  for (guint i = 0; i < self->n; i++)
    {
      prediction_free (self->predictions[i]);
      diag_list_free (self->diags[i]);
      g_clear_error (&self->errors[i]);
    }
  g_free (self->predictions);
  g_free (self->diags);
  g_free (self->errors);
  g_clear_pointer (&self->scenarios, g_ptr_array_unref);
  g_clear_pointer (&self->options.files, input_files_free);
  g_clear_pointer (&self->document, config_doc_free);
  g_array_unref (self->overrides);
  g_string_chunk_free (self->keys);
  strategy_set_free (self->strategies);
  diag_list_free (self->all);
  g_clear_error (&self->error);
  option_table_clear (request_options, &self->request);
}

char *
shardsim_predict (const char *request)
{
  Call  self = { .overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride)),
                 .keys = g_string_chunk_new (256),
                 .strategies = strategy_set_new (),
                 .all = diag_list_new () };
  char *text;

  option_table_defaults (request_options, &self.request);
  read_request (&self, request);
  if (self.error == NULL && !diag_list_has_errors (self.all))
    self.scenarios = load_scenarios (&self);
  if (self.scenarios != NULL)
    predict_all (&self);
  text = answer (&self);
  call_clear (&self);
  return text;
}
