/* What is known of options while a job is read. */
#include <string.h>

#include "base/intern.h"
#include "import/job/job-private.h"

const char *
job_user (const JobReader *self, const char *name)
{
  return g_hash_table_lookup (self->user, name);
}

const JobSetting *
job_key (const JobReader *self, const char *key)
{
  return g_hash_table_lookup (self->by_key, key);
}

gboolean
job_is_same_value (const char *a, const char *b)
{
  char        *end_a, *end_b;
  const double x = g_ascii_strtod (a, &end_a), y = g_ascii_strtod (b, &end_b);

  return g_ascii_strcasecmp (a, b) == 0
         || (*a != '\0' && *b != '\0' && *end_a == '\0' && *end_b == '\0' && x <= y && x >= y);
}

void
job_set (JobReader *self, const char *name, const char *value, const SourceMark *mark, JobUse use)
{
  JobValue *known = g_hash_table_lookup (self->values, name);

  if (known == NULL)
    {
      known = g_new0 (JobValue, 1);
      known->name = g_strdup (name);
      known->value = g_strdup (value);
      known->mark = *mark;
      known->use = use;
      g_ptr_array_add (self->order, known);
      g_hash_table_insert (self->values, known->name, known);
    }
  else if (use == JOB_TAKEN && known->use != JOB_TAKEN)
    { /* what the file says goes before what the framework would take */
      g_free (known->value);
      known->value = g_strdup (value);
      known->mark = *mark;
      known->use = use;
    }
  else if (use == JOB_TAKEN && !job_is_same_value (known->value, value)
           && job_user (self, name) == NULL)
    diag_error (self->diags, mark, known->mark.text, "'%s' is '%s' here, and '%s' by line %u", name,
                value, known->value, known->mark.line);
}

const char *
job_option (JobReader *self, const char *name)
{
  const char *given = job_user (self, name);
  JobValue   *value;

  if (given != NULL)
    return given;
  if (g_hash_table_lookup (self->values, name) == NULL
      && g_hash_table_add (self->asked, g_strdup (name)))
    {
      self->read (self, name);
      g_hash_table_remove (self->asked, name);
    }
  value = g_hash_table_lookup (self->values, name);
  return value != NULL ? value->value : NULL;
}

/* The option NAME's row in its table: of a section, or of the strategy. NULL: there is none. */
static const OptionSpec *
find_spec (JobReader *self, const char *name)
{
  const char       *dot = strchr (name, '.');
  g_autofree char  *section = dot != NULL ? g_strndup (name, (gsize) (dot - name)) : NULL;
  const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL;
  const char       *strategy;
  const Strategy   *found = NULL;

  if (table == NULL && g_strcmp0 (section, "strategy") == 0 && !g_str_equal (name, "strategy.name"))
    {
      strategy = job_option (self, "strategy.name");
      if (strategy != NULL)
        found = self->request->strategies != NULL
                    ? strategy_set_find (self->request->strategies, strategy)
                    : strategy_find (strategy);
      table = found != NULL ? found->options : NULL;
    }
  return table != NULL ? option_table_find (table, dot + 1) : NULL;
}

const char *
job_option_or_default (JobReader *self, const char *name)
{
  const char       *value = job_option (self, name);
  const OptionSpec *spec = value == NULL ? find_spec (self, name) : NULL;

  return spec != NULL ? spec->fallback : value;
}

double
job_number (JobReader *self, const char *name, double fallback)
{
  const char *text = job_option_or_default (self, name);
  char       *end;
  double      value;

  if (text == NULL)
    return fallback;
  value = g_ascii_strtod (text, &end);
  return end != text ? value : fallback;
}

/* An option, or what follows from some; lives as long as SELF. */
static const char *
option_or_fact (JobReader *self, const char *name)
{
  const char      *value = job_option_or_default (self, name);
  g_autofree char *fact = NULL;

  if (value != NULL || !g_str_has_prefix (name, "fact."))
    return value;
  fact = self->follow (self, name);
  return fact != NULL ? intern_text (fact) : NULL;
}

const char *
job_name (JobReader *self, const char *name)
{
  const JobSetting *setting = job_key (self, name);

  if (setting != NULL)
    return setting->value;
  if (framework_find (self->framework, name) >= 0)
    return NULL; /* a key, which is not there */
  if (g_str_has_prefix (name, "option."))
    name += strlen ("option.");
  return option_or_fact (self, name);
}

/* "missing" among VALUES is for names that have none. */
static gboolean
value_fits (char *const *values, const char *value)
{
  const char *rest;

  return value != NULL ? framework_values_match (values, value, &rest)
                       : g_strv_contains ((const char *const *) values, "missing");
}

gboolean
job_options_hold (JobReader *self, const GPtrArray *when)
{
  for (guint i = 0; i < when->len; i++)
    {
      const FrameworkMatch *match = g_ptr_array_index (when, i);

      if (!value_fits (match->values, option_or_fact (self, match->name)))
        return FALSE;
    }
  return TRUE;
}

gboolean
job_conditions_hold (JobReader *self, const GPtrArray *when, const char *value)
{
  for (guint i = 0; i < when->len; i++)
    {
      const FrameworkMatch *match = g_ptr_array_index (when, i);
      g_auto (GStrv)        values = g_strdupv (match->values);

      for (guint v = 0; value != NULL && values[v] != NULL; v++)
        {
          char *name = strstr (values[v], "$value");

          if (name != NULL)
            {
              char *told = g_strdup_printf ("%.*s%s", (int) (name - values[v]), values[v], value);

              g_free (values[v]);
              values[v] = told;
            }
        }
      if (!value_fits (values, job_name (self, match->name)))
        return FALSE;
    }
  return TRUE;
}
