/* The rows of a framework's mapping.csv, by which settings are written, read backwards. */
#include <string.h>

#include "import/job/job-private.h"

/* Whether TEXT is one name behind a '$', and nothing else. */
static gboolean
is_one_name (const char *text)
{
  return *text == '$'
         && strspn (text + 1, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._") == strlen (text + 1);
}

/* Whether the option of RULE has, as far as is known, a value that RULE is for. */
static gboolean
option_fits (JobReader *self, const FrameworkRule *rule)
{
  const char *known = g_str_equal (rule->match.values[0], "*")
                          ? NULL
                          : job_option_or_default (self, rule->match.name);
  const char *rest;

  return known == NULL || framework_values_match (rule->match.values, known, &rest);
}

/*
 * What RULE, whose key has VALUE, says backwards: *NAME gets *TEXT (newly allocated), or with FALSE
 * nothing; TRUE with *TEXT NULL: the value is one that RULE writes, for more than one of ours.
 */
static gboolean
invert (JobReader *self, const FrameworkRule *rule, const char *value, const char **name,
        char **text)
{
  const char *first = rule->match.values[0];
  const char *star = strchr (first, '*');
  const char *rest;

  *name = rule->match.name;
  *text = NULL;
  if (g_str_equal (rule->text, "$value") || g_str_equal (rule->text, "$number"))
    {
      if (!g_str_equal (first, "otherwise")
          && !framework_values_match (rule->match.values, value, &rest))
        return FALSE;
      *text = g_strdup (value);
      return TRUE;
    }
  if (g_str_equal (rule->text, "$rest") && star != NULL)
    {
      *text = g_strdup_printf ("%.*s%s", (int) (star - first), first, value);
      return TRUE;
    }
  if (strchr (rule->text, '$') != NULL)
    {
      if (!is_one_name (rule->text) || !option_fits (self, rule))
        return FALSE;
      *name = rule->text + 1;
      *text = g_strdup (value);
      return TRUE;
    }
  if (!job_is_same_value (rule->text, value))
    return FALSE;
  if (rule->match.values[1] == NULL && star == NULL && *first != '>'
      && !g_str_equal (first, "otherwise"))
    *text = g_strdup (first);
  return TRUE;
}

/* Whether rows of reading.csv say by which keys the option NAME is told. */
static gboolean
is_told_by_readings (const Framework *framework, const char *name)
{
  for (guint i = 0; i < framework->readings->len; i++)
    if (g_str_equal (((FrameworkReading *) g_ptr_array_index (framework->readings, i))->option,
                     name))
      return TRUE;
  return FALSE;
}

/*
 * One option may be written by several keys, each a constant: which of them tells it is for
 * reading.csv to say, where it says one.
 */
gboolean
job_read_by_mapping (JobReader *self, JobSetting *setting)
{
  const Framework *framework = setting->framework;
  const gint       option = framework_find (framework, setting->key);
  const JobUse     use = setting->filled ? JOB_FILLED : JOB_TAKEN;
  const char      *last = "";
  gboolean         any = FALSE, said = FALSE, other = FALSE;

  for (guint i = 0; option >= 0 && i < framework->rules->len; i++)
    {
      const FrameworkRule *rule = g_ptr_array_index (framework->rules, i);
      const char          *name;
      g_autofree char     *text = NULL;

      if (rule->action != RULE_SET || rule->option != (guint) option
          || !invert (self, rule, setting->value, &name, &text))
        continue;
      other = TRUE;
      if (!job_options_hold (self, rule->when))
        continue;
      any = TRUE;
      if (text == NULL || (said && g_str_equal (name, last))
          || (strchr (rule->text, '$') == NULL && is_told_by_readings (framework, name)))
        continue; /* of two options' values that are written alike, the first */
      last = name;
      job_set_option (self, setting, name, text, use);
      said = TRUE;
    }
  if (any && !said)
    job_note (self, JOB_TAKEN, setting, NULL, NULL, NULL);
  else if (!any && other)
    job_note (self, JOB_NO_EFFECT, setting, NULL, NULL, "beside the other keys");
  setting->use = any ? use : JOB_NO_EFFECT;
  return any || other;
}
