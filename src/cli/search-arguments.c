#include "cli/search-arguments.h"

#include <string.h>

#include "report/emit.h"

#define WITHIN 2 /* percent */
#define MARGIN 3
#define UNSET  -1

void
search_words_add_options (SearchWords *self, GArray *entries)
{
  const GOptionEntry own[] = {
    { "vary", 0, 0, G_OPTION_ARG_STRING_ARRAY, &self->vary,
      "values of an option to choose from, in the place of those that are tried unasked",
      "KEY=V1,V2" },
    { "only", 0, 0, G_OPTION_ARG_NONE, &self->only, "vary only what --vary names", NULL },
    { "max-memory", 0, 0, G_OPTION_ARG_STRING, &self->max_memory,
      "memory of a GPU that may be taken, such as '70 GiB'", "BYTES" },
    { "max-host-memory", 0, 0, G_OPTION_ARG_STRING, &self->max_host_memory,
      "memory of a node that may be taken", "BYTES" },
    { "within", 0, 0, G_OPTION_ARG_DOUBLE, &self->within,
      "the answer is the simplest that a framework runs of what is at most so much slower than the "
      "fastest, in percent (2); 0: the fastest",
      "PERCENT" },
    { "memory-margin", 0, 0, G_OPTION_ARG_DOUBLE, &self->margin,
      "part of each GPU's memory that stays free, in percent (3)", "PERCENT" },
    { "simulate", 0, 0, G_OPTION_ARG_INT, &self->simulate,
      "configurations that are simulated at most (300)", "N" },
    { "effort", 0, 0, G_OPTION_ARG_DOUBLE, &self->effort,
      "how long a search may look, as a multiple of the usual (1)", "X" },
    { "no-refine", 0, 0, G_OPTION_ARG_NONE, &self->no_refine,
      "do not try the other options of the best", NULL },
  };

  self->within = self->margin = UNSET;
  g_array_append_vals (entries, own, G_N_ELEMENTS (own));
}

/* SearchRunners; USER: SearchWords. */
static char *
find_runners (const Scenario *scenario, gpointer user)
{
  SearchWords                 *self = user;
  const PredictOptions         options = common_predict_options (self->common);
  g_autoptr (DiagList)         untold = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = NULL;

  if (self->profiles == NULL)
    self->profiles = predict_profiles (&options);
  if (self->frameworks == NULL)
    self->frameworks = emit_frameworks_load (untold);
  resolved = resolved_new (scenario, self->profiles, untold);
  return resolved != NULL ? emit_runners (self->frameworks, resolved) : NULL;
}

/* *PERCENT, or USUAL, as a part of one. FALSE after a message. */
static gboolean
take_percent (const Common *common, const char *option, double percent, double usual, double *part)
{
  *part = (percent == UNSET ? usual : percent) / 100;
  if (*part >= 0 && *part < 1)
    return TRUE;
  stream_say ("shardsim %s: %s takes a percentage from 0 to below 100\n", common->command, option);
  return FALSE;
}

static gboolean
take_bytes (const Common *common, const char *option, const char *text, double *bytes)
{
  const QuantityKind kind = QUANTITY_BYTES;
  g_autofree char   *why = NULL;

  if (text == NULL || quantity_parse (kind, text, bytes, &why))
    return TRUE;
  stream_say ("shardsim %s: %s: %s\n", common->command, option, why);
  return FALSE;
}

/* "KEY=V1,V2" into KEY and its values. FALSE after a message. */
static gboolean
take_vary (SearchWords *self, const Common *common, const char *text)
{
  const char      *equals = strchr (text, '=');
  SearchVary      *vary = &self->varied[self->n_varied];
  char           **values;
  g_autofree char *place = g_strdup_printf ("--vary %s", text);
  g_autofree char *key = g_strndup (text, equals != NULL ? (gsize) (equals - text) : 0);

  if (equals == NULL || equals == text || equals[1] == '\0')
    {
      stream_say ("shardsim %s: --vary %s: expected KEY=VALUE,VALUE,... such as mesh.tp=1,2,4\n",
                  common->command, text);
      return FALSE;
    }
  values = g_strsplit (equals + 1, ",", -1);
  g_ptr_array_add (self->pool, values);
  vary->key = g_intern_string (key);
  vary->values = (const char *const *) values;
  vary->mark.file = g_intern_string (place);
  self->n_varied++;
  return TRUE;
}

gboolean
search_words_take (SearchWords *self, const Common *common, SearchOptions *options)
{
  const guint n = self->vary != NULL ? g_strv_length (self->vary) : 0;

  if (self->simulate < 0)
    {
      stream_say ("shardsim %s: --simulate takes no negative number\n", common->command);
      return FALSE;
    }
  if (!(self->effort >= 0 && self->effort <= 1000))
    {
      stream_say ("shardsim %s: --effort takes a multiple up to 1000\n", common->command);
      return FALSE;
    }
  if (!take_percent (common, "--within", self->within, WITHIN, &options->within)
      || !take_percent (common, "--memory-margin", self->margin, MARGIN, &options->memory_margin))
    return FALSE;
  self->common = common;
  options->runners = find_runners;
  options->runners_user = self;
  self->pool = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  self->varied = g_new0 (SearchVary, n);
  for (guint i = 0; i < n; i++)
    if (!take_vary (self, common, self->vary[i]))
      return FALSE;
  options->max_simulated = (guint) self->simulate;
  options->effort = self->effort;
  options->n_threads = common_n_jobs (common);
  options->refine = !self->no_refine;
  return take_bytes (common, "--max-memory", self->max_memory, &options->max_hbm)
         && take_bytes (common, "--max-host-memory", self->max_host_memory, &options->max_host);
}

void
search_words_clear (SearchWords *self)
{
  g_strfreev (self->vary);
  g_free (self->max_memory);
  g_free (self->max_host_memory);
  g_free (self->varied);
  g_clear_pointer (&self->frameworks, g_ptr_array_unref);
  g_clear_pointer (&self->profiles, profile_set_free);
  g_clear_pointer (&self->pool, g_ptr_array_unref);
}
