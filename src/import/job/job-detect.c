/* Whose job a file is: by the keys that it has. */
#include "base/config/suggest.h"
#include "base/intern.h"
#include "import/job/job-private.h"

#include <string.h>

/* ---- whose ----------------------------------------------------------------------------------- */

static gboolean
has_key (const JobSource *source, const char *pattern)
{
  for (guint i = 0; i < source->settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (source->settings, i);
      const char       *rest;

      if (framework_pattern_matches (pattern, setting->key, &rest))
        return TRUE;
    }
  return FALSE;
}

/* Keys of the text of `detect` that SOURCE fits best, which has all of them; 0: it fits none. */
static guint
detected (const Framework *framework, const JobSource *source)
{
  guint best = 0;

  for (guint d = 0; framework->detect[d] != NULL; d++)
    {
      g_auto (GStrv) keys = g_strsplit (framework->detect[d], " ", -1);
      guint          n = 0;

      while (keys[n] != NULL && has_key (source, keys[n]))
        n++;
      if (keys[n] == NULL)
        best = MAX (best, n);
    }
  return best;
}

/* Keys of SOURCE that FRAMEWORK's tables name in so many words. */
static guint
count_known (const Framework *framework, const JobSource *source)
{
  g_autoptr (GHashTable) keys = g_hash_table_new (g_str_hash, g_str_equal);
  guint                  n = 0;

  for (guint i = 0; i < framework->options->len; i++)
    g_hash_table_add (keys, ((FrameworkOption *) g_ptr_array_index (framework->options, i))->key);
  for (guint i = 0; i < framework->readings->len; i++)
    g_hash_table_add (
        keys, ((FrameworkReading *) g_ptr_array_index (framework->readings, i))->match.name);
  for (guint i = 0; i < source->settings->len; i++)
    n += g_hash_table_contains (
        keys, ((const JobSetting *) g_ptr_array_index (source->settings, i))->key);
  return n;
}

/* Whose keys SOURCE has; NULL: nobody's. TIED gets whether two have as many. */
const Framework *
job_detect (const GPtrArray *frameworks, const JobSource *source, GString *tied)
{
  const Framework *found = NULL;
  guint            most = 0;

  for (guint i = 0; i < frameworks->len; i++)
    {
      const Framework *framework = g_ptr_array_index (frameworks, i);
      const guint n = detected (framework, source) > 0 ? 1 + count_known (framework, source) : 0;

      if (n > most)
        g_string_assign (tied, framework->name);
      else if (n > 0 && n == most)
        g_string_append_printf (tied, ", %s", framework->name);
      if (n > most)
        found = framework;
      most = MAX (most, n);
    }
  return found;
}

/* NULL after a diagnostic. */
const Framework *
job_choose_framework (const GPtrArray *frameworks, const JobSource *source, const char *as,
                      DiagList *diags)
{
  const SourceMark      whole = { .file = intern_text (source->file) };
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GString)   tied = g_string_new (NULL);
  const Framework      *found = as == NULL ? job_detect (frameworks, source, tied) : NULL;
  g_autofree char      *hint = NULL, *all = NULL;

  for (guint i = 0; i < frameworks->len; i++)
    {
      const Framework *framework = g_ptr_array_index (frameworks, i);

      g_ptr_array_add (names, framework->name);
      if (as != NULL && g_ascii_strcasecmp (as, framework->name) == 0)
        return framework;
    }
  g_ptr_array_add (names, NULL);
  all = g_strjoinv (", ", (char **) names->pdata);
  if (as != NULL)
    {
      hint = suggest_hint (as, (const char *const *) names->pdata);
      diag_error (diags, NULL, hint, "unknown framework '%s'", as);
      return NULL;
    }
  if (found != NULL && strchr (tied->str, ',') == NULL)
    return found;
  hint = g_strdup_printf ("'--as NAME' says whose it is: %s", found != NULL ? tied->str : all);
  diag_error (diags, &whole, hint,
              found != NULL ? "these are keys of more than one framework"
                            : "neither a scenario nor a job of a framework that is known here");
  return NULL;
}

/* Whether SOURCE is a scenario of ours: no key at its top is another's. */
gboolean
job_is_scenario (const JobSource *source)
{
  static const char *const others[] = { "name",   "strategy",   "scenarios",
                                        "models", "strategies", NULL };

  for (guint i = 0; i < source->settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (source->settings, i);
      g_auto (GStrv)    parts = g_strsplit (setting->key, ".", 2);

      if (parts[0] != NULL && scenario_section_table (parts[0]) == NULL
          && !g_strv_contains (others, parts[0]))
        return FALSE;
    }
  return TRUE;
}
