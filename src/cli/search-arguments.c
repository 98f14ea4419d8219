#include "cli/search-arguments.h"

#include <string.h>

#include "analysis/vary.h"
#include "report/emit.h"

#define MAX_VALUES 1000 /* of an axis: each is tried in every configuration */
#define WITHIN     2    /* percent */
#define MARGIN     3
#define UNSET      -1

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
  self->simulate = NOT_GIVEN;
  self->effort = NOT_GIVEN;
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

  if (text == NULL || (quantity_parse (kind, text, bytes, &why) && *bytes > 0))
    return TRUE;
  stream_say ("shardsim %s: %s: %s\n", common->command, option,
              why != NULL ? why : "nothing fits into no memory: leave it out for all there is");
  return FALSE;
}

/* "KEY=VALUES", as a sweep reads them, into KEY and its values. */
static void
take_vary (SearchWords *self, const char *text, DiagList *diags)
{
  g_autoptr (Vary)      axis = vary_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *place = g_strdup_printf ("--vary %s", text);
  const SourceMark      mark = { .file = g_intern_string (place) };
  SearchVary           *vary = &self->varied[self->n_varied];

  if (!vary_add (axis, text, &mark, diags))
    return;
  if (vary_length (axis) > MAX_VALUES)
    {
      diag_error (diags, &mark, "a few values, or a step: 1,2,4..64",
                  "%" G_GUINT64_FORMAT " values are too many to search among (at most %d)",
                  vary_length (axis), MAX_VALUES);
      return;
    }
  for (guint64 i = 0; i < vary_length (axis); i++)
    g_ptr_array_add (values, vary_value (axis, i, 0));
  g_ptr_array_add (values, NULL);
  vary->key = g_intern_string (vary_key (axis, 0));
  vary->values = (const char *const *) values->pdata;
  vary->mark = mark;
  g_ptr_array_add (self->pool, g_ptr_array_steal (values, NULL));
  self->n_varied++;
}

gboolean
search_words_take (SearchWords *self, const Common *common, SearchOptions *options)
{
  const guint          n = self->vary != NULL ? g_strv_length (self->vary) : 0;
  g_autoptr (DiagList) diags = diag_list_new ();
  gint                 simulate = 0; /* the usual */

  if (!common_take_count (common, "--simulate", self->simulate, &simulate))
    return FALSE;
  if (self->effort != NOT_GIVEN && !(self->effort > 0 && self->effort <= 1000))
    {
      stream_say ("shardsim %s: --effort takes a multiple above 0, up to 1000\n", common->command);
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
    take_vary (self, self->vary[i], diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return FALSE;
  options->max_simulated = (guint) simulate;
  options->effort = self->effort != NOT_GIVEN ? self->effort : 0;
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
