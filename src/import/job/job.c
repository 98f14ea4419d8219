#include "import/job/job-private.h"

#include <string.h>

#include "base/intern.h"

/* ---- accounts -------------------------------------------------------------------------------- */

static void
entry_free (gpointer data)
{
  JobEntry *self = data;

  g_free (self->key);
  g_free (self->value);
  g_free (self->option);
  g_free (self->set);
  g_free (self->why);
  g_free (self);
}

static JobAccount *
account_new (const char *file)
{
  JobAccount *self = g_new0 (JobAccount, 1);

  self->file = g_strdup (file);
  self->entries = g_ptr_array_new_with_free_func (entry_free);
  return self;
}

void
job_account_free (JobAccount *self)
{
  if (self == NULL)
    return;
  g_free (self->file);
  g_free (self->framework);
  g_ptr_array_unref (self->entries);
  g_free (self);
}

guint
job_account_count (const JobAccount *self, JobUse use)
{
  guint n = 0;

  for (guint i = 0; i < self->entries->len; i++)
    n += ((const JobEntry *) g_ptr_array_index (self->entries, i))->use == use;
  return n;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
value_free (gpointer data)
{
  JobValue *self = data;

  g_free (self->name);
  g_free (self->value);
  g_free (self);
}

static void
reader_clear (JobReader *self)
{
  g_hash_table_unref (self->by_key);
  g_hash_table_unref (self->user);
  g_hash_table_unref (self->values);
  g_hash_table_unref (self->asked);
  g_ptr_array_unref (self->order);
  g_ptr_array_unref (self->settings);
  g_clear_pointer (&self->overrides, g_array_unref);
  g_string_chunk_free (self->strings);
  g_clear_pointer (&self->cluster, cluster_free);
  model_shape_clear (&self->shape);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (JobReader, reader_clear)

static JobReader
reader_new (const JobSource *source, const GPtrArray *frameworks, const JobRequest *request,
            JobAccount *account, DiagList *diags)
{
  JobReader self = {
    .request = request,
    .frameworks = frameworks,
    .account = account,
    .file = intern_text (source->file),
    .settings = g_ptr_array_new_with_free_func ((GDestroyNotify) job_setting_free),
    .by_key = g_hash_table_new (g_str_hash, g_str_equal),
    .user = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
    .values = g_hash_table_new (g_str_hash, g_str_equal),
    .order = g_ptr_array_new_with_free_func (value_free),
    .asked = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
    .strings = g_string_chunk_new (256),
    .diags = diags,
    .read = job_read_for,
    .follow = job_fact,
  };

  for (guint i = 0; i < request->n_overrides; i++)
    g_hash_table_insert (self.user, scenario_whole_key (request->overrides[i].key),
                         (gpointer) request->overrides[i].value);
  return self;
}

/* Takes over SOURCE's settings; what is null is as if it were not there. */
static void
take_settings (JobReader *self, const JobSource *source)
{
  for (guint i = 0; i < source->settings->len; i++)
    {
      const JobSetting *from = g_ptr_array_index (source->settings, i);
      JobSetting       *setting = job_setting_new (from->key, from->value, &from->mark);

      if (from->value == NULL || *from->value == '\0')
        {
          job_note (self, JOB_NO_EFFECT, setting, NULL, NULL, "empty: as if it were not there");
          job_setting_free (setting);
          continue;
        }
      setting->framework = self->framework;
      g_ptr_array_add (self->settings, setting);
      g_hash_table_insert (self->by_key, setting->key, setting);
    }
}

static gboolean
has_prefix (GHashTable *table, const char *prefix)
{
  GHashTableIter iter;
  gpointer       key;

  g_hash_table_iter_init (&iter, table);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_str_has_prefix (key, prefix))
      return TRUE;
  return FALSE;
}

/*
 * What nobody says and no prediction goes without, all at once: errors, or where MISSING is not
 * NULL texts in it.
 */
static void
check_missing (JobReader *self, GPtrArray *missing)
{
  static const struct
  {
    const char *prefix, *what, *hint;
  } needed[] = {
    { "cluster.", "the cluster", "--cluster '4 x dgx-h100'" },
    { "model.", "the model", "--model llama-3-8b, or the path of a config.json" },
    { "training.seq_len", "the length of sequences", "--seq-len 4096" },
    { "strategy.name", "how states are sharded", "--strategy fsdp2" },
  };
  const SourceMark whole = { .file = self->file };

  for (guint n = 0; n < G_N_ELEMENTS (needed) - self->request->open; n++)
    {
      if (has_prefix (self->user, needed[n].prefix) || has_prefix (self->values, needed[n].prefix)
          || (n == 1 && self->model_refused)) /* which says so */
        continue;
      if (missing != NULL)
        g_ptr_array_add (missing, g_strdup_printf ("%s: %s", needed[n].what, needed[n].hint));
      else
        diag_error (self->diags, &whole, needed[n].hint, "the job does not say %s", needed[n].what);
    }
  for (guint i = 0; i < self->account->entries->len; i++)
    {
      const JobEntry  *entry = g_ptr_array_index (self->account->entries, i);
      g_autofree char *word = NULL;

      if (entry->use != JOB_ASSUMED || entry->set != NULL || job_user (self, entry->option) != NULL
          || g_hash_table_lookup (self->values, entry->option) != NULL)
        continue;
      word = scenario_option_word (entry->option);
      if (missing != NULL)
        g_ptr_array_add (missing, g_strdup (word));
      else
        diag_error (self->diags, entry->key != NULL ? &entry->mark : &whole, word,
                    "the job leaves '%s' to be given", entry->option);
    }
}

/* Whether VALUE goes into the scenario: the user may have said otherwise. */
static gboolean
is_given (const JobReader *self, const JobValue *value)
{
  const char *strategy = job_user (self, "strategy.name");
  const char *own = job_user (self, "strategy.name") != NULL ? NULL : "";

  (void) own;
  if (g_str_has_prefix (value->name, "fact.") || job_user (self, value->name) != NULL)
    return FALSE;
  if (g_str_has_prefix (value->name, "model."))
    return job_user (self, "model.config") == NULL && job_user (self, "model.arch") == NULL;
  if (strategy != NULL && g_str_has_prefix (value->name, "strategy."))
    {
      const JobValue *named = g_hash_table_lookup (self->values, "strategy.name");

      return named != NULL && g_str_equal (named->value, strategy);
    }
  return TRUE;
}

/* Whether the strategy that is to be has the option NAME ("strategy.shard"). */
static gboolean
strategy_has (const JobReader *self, const char *name)
{
  const JobValue *value = g_hash_table_lookup (self->values, "strategy.name");
  const char     *word = job_user (self, "strategy.name");
  const Strategy *strategy;

  if (word == NULL)
    word = value != NULL ? value->value : NULL;
  if (word == NULL || g_str_equal (name, "strategy.name"))
    return TRUE;
  strategy = self->request->strategies != NULL ? strategy_set_find (self->request->strategies, word)
                                               : strategy_find (word);
  return strategy == NULL
         || (strategy->options != NULL
             && option_table_find (strategy->options, name + strlen ("strategy.")) != NULL);
}

/* Options that the strategy has not are no error: the framework's file may have them beside. */
static GArray *
collect_given (JobReader *self)
{
  GArray *given = g_array_new (FALSE, FALSE, sizeof (ScenarioGiven));

  for (guint i = 0; i < self->order->len; i++)
    {
      const JobValue     *value = g_ptr_array_index (self->order, i);
      const ScenarioGiven one = { value->name, value->value, value->mark };

      if (is_given (self, value)
          && (!g_str_has_prefix (value->name, "strategy.") || strategy_has (self, value->name)))
        g_array_append_val (given, one);
    }
  return given;
}

/*
 * Keys whose option the strategy does not have are of no effect; what another key says is not the
 * user's to give.
 */
static void
mark_idle (JobReader *self)
{
  for (guint i = 0; i < self->account->entries->len; i++)
    {
      JobEntry *entry = g_ptr_array_index (self->account->entries, i);

      const JobValue *value =
          entry->option != NULL ? g_hash_table_lookup (self->values, entry->option) : NULL;

      if (entry->use == JOB_ASSUMED && value != NULL && value->use == JOB_TAKEN)
        {
          entry->use = JOB_TAKEN;
          g_free (entry->set);
          entry->set = g_strdup (value->value);
          entry->why = g_strdup ("another key says it");
        }
      if (entry->option != NULL && g_str_has_prefix (entry->option, "strategy.")
          && !strategy_has (self, entry->option))
        {
          entry->use = JOB_NO_EFFECT;
          g_clear_pointer (&entry->option, g_free);
          g_clear_pointer (&entry->set, g_free);
          entry->why = g_strdup ("the strategy has nothing of it");
        }
    }
}

/* What is called a framework's has a key of it. */
static void
check_keys (JobReader *self)
{
  const SourceMark whole = { .file = self->file };

  for (guint i = 0; i < self->settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (self->settings, i);

      if (!setting->filled && setting->use != JOB_UNKNOWN)
        return;
    }
  diag_error (self->diags, &whole, "'--as' names another, or nothing", "no key of it is one of %s",
              self->framework->title);
}

/* FALSE after a diagnostic: no job has so many keys, and each is compared with all rows. */
static gboolean
check_length (const JobReader *self, const JobSource *source)
{
  const SourceMark whole = { .file = self->file };

  if (source->settings->len <= JOB_MOST_SETTINGS)
    return TRUE;
  diag_error (self->diags, &whole, "is it a job's file?",
              "it has %u keys, of which a job may have %u", source->settings->len,
              JOB_MOST_SETTINGS);
  return FALSE;
}

/* What the job says: ScenarioGiven. MISSING: as check_missing. NULL after diagnostics. */
static GArray *
read_job (JobReader *self, const JobSource *source, GPtrArray *missing)
{
  const guint n_errors = diag_list_n_errors (self->diags);

  if (!check_length (self, source))
    return NULL;
  self->framework = job_choose_framework (self->frameworks, source, self->request->as, self->diags);
  if (self->framework == NULL)
    return NULL;
  self->account->framework = g_strdup (self->framework->title);
  take_settings (self, source);
  job_prepare (self);
  for (guint i = 0; i < self->settings->len; i++)
    job_read_setting (self, g_ptr_array_index (self->settings, i));
  job_read_always (self, NULL);
  job_derive (self);
  check_keys (self);
  check_missing (self, missing);
  if (diag_list_n_errors (self->diags) > n_errors)
    return NULL;
  mark_idle (self);
  return collect_given (self);
}

/* ---- files ----------------------------------------------------------------------------------- */

static GPtrArray *
load_scenario (const char *file, const char *text, const JobRequest *request, DiagList *diags)
{
  const guint n = request->n_overrides;

  if (text != NULL)
    return (request->open ? scenario_load_text_open : scenario_load_text) (
        request->strategies, file, text, request->overrides, n, diags);
  return (request->open ? scenario_load_open : scenario_load) (request->strategies, file,
                                                               request->overrides, n, diags);
}

static gpointer
read_frameworks (gconstpointer user, DiagList *diags)
{
  (void) user;
  return framework_load_all (FALSE, diags);
}

static void
free_frameworks (gpointer data)
{
  g_ptr_array_unref (data);
}

/* What REQUEST's files have, or else OWN gets. */
static const GPtrArray *
find_frameworks (const JobRequest *request, GPtrArray **own, DiagList *diags)
{
  if (request->files != NULL)
    return input_files_get (request->files, "frameworks", read_frameworks, NULL, free_frameworks,
                            diags);
  return *own = framework_load_all (FALSE, diags);
}

/* SOURCE is a scenario, or nobody's: then its loader tells why. */
static gboolean
is_ours (const JobSource *source, const JobRequest *request)
{
  g_autoptr (GString)   tied = g_string_new (NULL);
  g_autoptr (DiagList)  untold = diag_list_new ();
  g_autoptr (GPtrArray) own = NULL;

  return request->as == NULL
         && (job_is_scenario (source)
             || job_detect (find_frameworks (request, &own, untold), source, tied) == NULL);
}

GPtrArray *
job_load (const char *file, const char *text, const JobRequest *request, JobAccount **account,
          DiagList *diags)
{
  const GPtrArray       *frameworks;
  g_autoptr (GPtrArray)  owned = NULL;
  g_autoptr (JobAccount) own = NULL;
  g_autoptr (JobSource)  source = NULL;
  g_autoptr (DiagList)   said = diag_list_new ();
  g_autofree char       *read = NULL;
  GPtrArray             *scenarios = NULL;

  if (account != NULL)
    *account = NULL;
  if (file == NULL)
    return load_scenario (NULL, NULL, request, diags);
  if (text == NULL)
    {
      read = job_text_read (file, diags);
      if (read == NULL)
        return NULL;
      text = read;
    }
  source = job_source_new (file, text, said);
  if (source != NULL && job_text_is_yaml (file, text) && is_ours (source, request))
    return load_scenario (file, text, request, diags);
  diag_list_append (diags, said);
  if (source == NULL)
    return NULL;
  frameworks = find_frameworks (request, &owned, diags);
  own = account_new (file);
  {
    g_auto (JobReader) reader = reader_new (source, frameworks, request, own, diags);
    g_autoptr (GArray) given = read_job (&reader, source, NULL);
    const GArray      *overrides = given != NULL ? job_overrides (&reader) : NULL;

    if (given != NULL)
      scenarios = scenario_load_given (request->strategies, reader.file,
                                       (const ScenarioGiven *) (void *) given->data, given->len,
                                       (const ScenarioOverride *) (void *) overrides->data,
                                       overrides->len, request->open, diags);
  }
  if (account != NULL)
    *account = g_steal_pointer (&own);
  return scenarios;
}

char *
job_scenario_text (const char *file, const JobRequest *request, JobAccount **account,
                   DiagList *diags)
{
  const GPtrArray       *frameworks;
  g_autoptr (GPtrArray)  owned = NULL;
  g_autoptr (JobAccount) own = account_new (file);
  g_autoptr (JobSource)  source = NULL;
  g_autoptr (GPtrArray)  missing = g_ptr_array_new_with_free_func (g_free);
  g_autofree char       *text = job_text_read (file, diags);
  char                  *written = NULL;

  *account = NULL;
  source = text != NULL ? job_source_new (file, text, diags) : NULL;
  if (source == NULL)
    return NULL;
  frameworks = find_frameworks (request, &owned, diags);
  {
    g_auto (JobReader) reader = reader_new (source, frameworks, request, own, diags);
    g_autoptr (GArray) given = read_job (&reader, source, missing);

    if (given != NULL)
      written = job_write (&reader, given, job_overrides (&reader), missing);
  }
  *account = g_steal_pointer (&own);
  return written;
}
