#include "api/request-private.h"

#include <string.h>

#include "base/config/suggest.h"
#include "report/document/answer.h"
#include "report/document/partial.h"

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
  { .key = "job_as",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, job_as),
    .optional = TRUE },
  { .key = "lenient",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Request, lenient),
    .fallback = "false" },
  { .key = "hwprofiles",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Request, hwprofiles),
    .optional = TRUE },
  { .key = "jobs",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Request, jobs),
    .fallback = "0",
    .max = MOST },
  { 0 },
};

const OptionSpec request_time_options[] = {
  { .key = "time_limit",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    .offset = G_STRUCT_OFFSET (Request, time_limit),
    .optional = TRUE },
  { 0 },
};

const OptionSpec request_run_options[] = {
  { .key = "unfolded",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (RequestRun, unfolded),
    .fallback = "false" },
  { .key = "interval",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (RequestRun, interval),
    .fallback = "false" },
  { .key = "steps",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (RequestRun, steps),
    .fallback = "0",
    .max = MOST },
  { 0 },
};

/* ---- keys ------------------------------------------------------------------------------------ */

static void
add_table (GArray *all, const OptionSpec *table)
{
  for (; table != NULL && table->key != NULL; table++)
    g_array_append_val (all, *table);
}

static void
add_key (GArray *all, const char *key)
{
  const OptionSpec spec = { .key = key };

  g_array_append_val (all, spec);
}

/* All that a request may hold: only the keys of these count. Zero-ended. */
static GArray *
collect_keys (const RequestPart *parts, const RequestList *lists)
{
  GArray *all = g_array_new (TRUE, TRUE, sizeof (OptionSpec));

  add_table (all, request_options);
  add_key (all, "set");
  add_key (all, "plugins");
  for (; parts != NULL && parts->table != NULL; parts++)
    add_table (all, parts->table);
  for (; lists != NULL && lists->key != NULL; lists++)
    add_key (all, lists->key);
  return all;
}

/* Sets what ROOT says of TABLE; other keys are others' to read. */
static void
load_part (const OptionSpec *table, gpointer structure, const ConfigNode *root, DiagList *diags)
{
  g_autoptr (GPtrArray) others = g_ptr_array_new ();

  for (guint i = 0; i < config_node_length (root); i++)
    if (option_table_find (table, config_node_key (root, i)) == NULL)
      g_ptr_array_add (others, (gpointer) config_node_key (root, i));
  g_ptr_array_add (others, NULL);
  option_load_map (table, structure, root, (const char *const *) others->pdata, diags);
}

static char **
read_list (const ConfigNode *node, DiagList *diags)
{
  g_autoptr (GStrvBuilder) texts = g_strv_builder_new ();

  if (node == NULL || !config_node_expect (node, CONFIG_LIST, diags)
      || config_node_length (node) == 0)
    return NULL;
  for (guint i = 0; i < config_node_length (node); i++)
    if (config_node_expect (config_node_item (node, i), CONFIG_SCALAR, diags))
      g_strv_builder_add (texts, config_node_text (config_node_item (node, i)));
  return g_strv_builder_end (texts);
}

/* ---- what all of them hold ------------------------------------------------------------------- */

/*
 * FALSE, and a diagnostic: OVERRIDE is of no option of a scenario, but near one of the keys of the
 * request, ALL, which are Python's keywords, too.
 */
static gboolean
is_of_scenario (const ScenarioOverride *override, const OptionSpec *all, DiagList *diags)
{
  const char             *key = override->origin;
  g_autofree const char **keys = option_table_keys (all);
  g_autoptr (GPtrArray)   words = scenario_words ();
  g_autofree char        *full = scenario_full_key (key), *hint = NULL;
  const SourceMark        mark = scenario_override_mark (override);
  const char             *near;

  g_ptr_array_add (words, NULL);
  if (strchr (key, '.') != NULL || full != NULL
      || suggest_nearest (key, (const char *const *) words->pdata) != NULL)
    return TRUE;
  near = suggest_nearest (key, keys);
  if (near == NULL || g_str_equal (near, key))
    return TRUE;
  hint = g_strdup_printf ("did you mean '%s'?", near);
  diag_error (diags, &mark, hint, "unknown key '%s'", key);
  return FALSE;
}

static void
read_overrides (Request *self, const ConfigNode *set, const OptionSpec *all)
{
  if (set == NULL || !config_node_expect (set, CONFIG_MAP, self->diags))
    return;
  for (guint i = 0; i < config_node_length (set); i++)
    {
      const ConfigNode *value = config_node_item (set, i);
      const char       *key = config_node_key (set, i);
      g_autofree char  *full = scenario_whole_key (key);
      ScenarioOverride  override = { .origin = key };

      if (!config_node_expect (value, CONFIG_SCALAR, self->diags))
        continue;
      override.key = g_string_chunk_insert (self->keys, full);
      override.value = config_node_is_null (value) ? "~" : config_node_text (value);
      if (is_of_scenario (&override, all, self->diags))
        g_array_append_val (self->overrides, override);
    }
}

/* Folders that are given come before the shipped one, as on the command line. */
static void
read_profile_path (Request *self)
{
  g_autofree char *shipped = layout_data_file ("hwprofiles");
  g_autofree char *given = g_steal_pointer (&self->hwprofiles);
  g_auto (GStrv) folders = given != NULL ? g_strsplit (given, G_SEARCHPATH_SEPARATOR_S, -1) : NULL;

  if (given == NULL)
    return;
  for (guint i = 0; folders[i] != NULL; i++)
    if (!g_file_test (folders[i], G_FILE_TEST_IS_DIR))
      diag_error (self->diags, NULL, NULL, "hwprofiles: '%s' is not a folder", folders[i]);
  self->hwprofiles = g_strconcat (given, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
}

static void
read_root (Request *self, const ConfigNode *root, const RequestPart *parts,
           const RequestList *lists)
{
  g_autoptr (GArray)      all = collect_keys (parts, lists);
  const OptionSpec       *keys = (const OptionSpec *) (void *) all->data;
  g_autofree const char **known = option_table_keys (keys);
  g_auto (GStrv)          plugins = NULL;

  option_load_map (keys, NULL, root, known, self->diags); /* none but these */
  load_part (request_options, self, root, self->diags);
  for (; parts != NULL && parts->table != NULL; parts++)
    load_part (parts->table, parts->structure, root, self->diags);
  for (; lists != NULL && lists->key != NULL; lists++)
    *lists->texts = read_list (config_node_get (root, lists->key), self->diags);
  if (self->file != NULL && self->text != NULL)
    diag_error (self->diags, NULL, NULL, "'file' and 'text' are both given");
  read_overrides (self, config_node_get (root, "set"), keys);
  plugins = read_list (config_node_get (root, "plugins"), self->diags);
  for (guint i = 0; plugins != NULL && plugins[i] != NULL && self->error == NULL; i++)
    strategy_set_load (self->strategies, plugins[i], &self->error);
  read_profile_path (self);
}

gboolean
request_read (Request *self, const char *text, ShardsimStop *stop, const RequestPart *parts,
              const RequestList *lists)
{
  const ConfigNode *root;

  self->overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  self->keys = g_string_chunk_new (256);
  self->strategies = strategy_set_new ();
  self->files = input_files_new ();
  self->diags = diag_list_new ();
  self->own = stop == NULL ? shardsim_stop_new () : NULL;
  self->call = stop != NULL ? stop : self->own;
  self->stop = &self->call->stop;
  self->count = &self->call->count;
  call_begin (self->call);
  option_table_defaults (request_options, self);
  for (const RequestPart *part = parts; part != NULL && part->table != NULL; part++)
    option_table_defaults (part->table, part->structure);
  self->document = config_load_text ("request", text, -1, self->diags);
  root = self->document != NULL ? config_doc_root (self->document) : NULL;
  if (root != NULL && config_node_expect (root, CONFIG_MAP, self->diags))
    read_root (self, root, parts, lists);
  stop_after (self->stop, self->time_limit);
  return self->error == NULL && !diag_list_has_errors (self->diags);
}

void
request_clear (Request *self)
{
  g_clear_pointer (&self->files, input_files_free);
  g_clear_pointer (&self->document, config_doc_free);
  g_array_unref (self->overrides);
  g_string_chunk_free (self->keys);
  strategy_set_free (self->strategies);
  diag_list_free (self->diags);
  g_clear_error (&self->error);
  option_table_clear (request_options, self);
  g_clear_pointer (&self->own, shardsim_stop_free);
}

/* ---- the work -------------------------------------------------------------------------------- */

GPtrArray *
request_load (Request *self, gboolean open)
{
  const JobRequest request = { .strategies = self->strategies,
                               .as = self->job_as,
                               .lenient = self->lenient,
                               .open = open,
                               .overrides =
                                   (const ScenarioOverride *) (void *) self->overrides->data,
                               .n_overrides = self->overrides->len,
                               .profile_dir = self->hwprofiles,
                               .files = self->files };

  return job_load (self->text != NULL ? self->name : self->file, self->text, &request, NULL,
                   self->diags);
}

Scenario *
request_load_one (Request *self, gboolean open)
{
  g_autoptr (GPtrArray) scenarios = request_load (self, open);

  if (scenarios == NULL)
    return NULL;
  if (scenarios->len == 1)
    return g_ptr_array_steal_index (scenarios, 0);
  diag_error (self->diags, NULL, NULL, "%u scenarios are given, and one is wanted", scenarios->len);
  return NULL;
}

PredictOptions
request_predict_options (Request *self, const RequestRun *run)
{
  return (PredictOptions){ .unfolded = run != NULL && run->unfolded,
                           .interval = run != NULL && run->interval,
                           .replay = { .min_periods = run != NULL ? (guint) run->steps : 0,
                                       .stop = self->stop },
                           .count = self->count,
                           .profile_dir = self->hwprofiles,
                           .files = self->files,
                           .todays_frameworks = TRUE };
}

guint
request_n_threads (const Request *self)
{
  return self->jobs > 0 ? (guint) self->jobs : g_get_num_processors ();
}

gboolean
request_is_whole (Request *self)
{
  if (!stop_is_due (self->stop))
    return TRUE;
  g_clear_error (&self->error);
  engine_set_over (self->stop, &self->error);
  return FALSE;
}

char *
request_answer (Request *self, GString *document)
{
  const Partial partial = work_count_partial (self->count);
  GString      *out = g_string_new (NULL);

  if (document != NULL)
    partial_mark_json (&partial, document);
  report_answer_around (document, self->diags, self->error != NULL ? self->error->message : NULL,
                        out);
  return g_string_free (out, FALSE);
}
