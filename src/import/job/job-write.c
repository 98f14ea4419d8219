/* A job as the text of a scenario. */
#include <string.h>

#include "import/job/job-private.h"

#define PLAIN G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_.-"

/* VALUE as YAML reads it back as the same text. */
static char *
yaml_value (const char *value)
{
  g_autofree char *escaped = NULL;

  if (*value != '\0' && *value != '-' && *value != '.' && strspn (value, PLAIN) == strlen (value))
    return g_strdup (value);
  escaped = g_strescape (value, "\001\002\003\004\005\006\007\016\017\020\021\022\023\024\025"
                                "\026\027\030\031\032\033\034\035\036\037\177"
                                "\200\201");
  return g_strdup_printf ("\"%s\"", escaped);
}

/* A file that stands beside the job's is named with its folder: the scenario may stand elsewhere.
 */
static char *
value_of (const JobReader *self, const char *key, const char *value)
{
  g_autofree char *folder = g_path_get_dirname (self->file);
  g_autofree char *beside = g_build_filename (folder, value, NULL);

  if (g_str_equal (key, "model.config") && !g_path_is_absolute (value)
      && g_file_test (beside, G_FILE_TEST_IS_REGULAR))
    return g_canonicalize_filename (beside, NULL);
  return g_strdup (value);
}

/* Which key of the job says the option KEY; NULL: none does. */
static const JobEntry *
find_entry (const JobReader *self, const char *key)
{
  for (guint i = 0; i < self->account->entries->len; i++)
    {
      const JobEntry *entry = g_ptr_array_index (self->account->entries, i);

      if (g_strcmp0 (entry->option, key) == 0)
        return entry;
    }
  return NULL;
}

/* "line 31: training.seq_len"; what the user gives, and what the framework does, is said so. */
static char *
origin_of (const JobReader *self, const ScenarioGiven *given)
{
  const JobEntry *entry = find_entry (self, given->key);

  if (entry != NULL && entry->use == JOB_ASSUMED)
    return g_strdup ("assumed: yours to give");
  if (given->mark.line == 0)
    return g_strdup_printf ("%s's own", self->framework->title);
  if (entry != NULL && entry->key != NULL)
    return g_strdup_printf ("line %u: %s", given->mark.line, entry->key);
  return g_strdup_printf ("line %u", given->mark.line);
}

static void
append_line (const JobReader *self, const char *key, const char *value, const char *origin,
             GString *out)
{
  g_autofree char *whole = value_of (self, key, value);
  g_autofree char *text = yaml_value (whole);

  g_string_append_printf (out, "  %s: %s  # %s\n", strchr (key, '.') + 1, text, origin);
}

static gboolean
is_overridden (const GArray *overrides, const char *key)
{
  for (guint i = 0; i < overrides->len; i++)
    {
      g_autofree char *own =
          scenario_whole_key (g_array_index (overrides, ScenarioOverride, i).key);

      if (g_str_equal (own, key))
        return TRUE;
    }
  return FALSE;
}

/* The options of SECTION ("training."). */
static void
append_section (const JobReader *self, const char *section, const GArray *given,
                const GArray *overrides, GString *out)
{
  const gsize before = out->len;

  g_string_append_printf (out, "%.*s:\n", (int) strlen (section) - 1, section);
  for (guint pass = 0; pass < 2; pass++) /* a strategy's name comes first */
    for (guint i = 0; i < given->len; i++)
      {
        const ScenarioGiven *one = &g_array_index (given, ScenarioGiven, i);
        g_autofree char     *origin = origin_of (self, one);

        if (g_str_has_prefix (one->key, section)
            && g_str_equal (one->key, "strategy.name") == (pass == 0)
            && !is_overridden (overrides, one->key))
          append_line (self, one->key, one->value, origin, out);
      }
  for (guint i = 0; i < overrides->len; i++)
    {
      const ScenarioOverride *one = &g_array_index (overrides, ScenarioOverride, i);
      g_autofree char        *key = scenario_whole_key (one->key);

      if (g_str_has_prefix (key, section))
        append_line (self, key, one->value, "given beside the job", out);
    }
  if (g_str_has_suffix (out->str, ".:\n") || out->str[out->len - 2] == ':')
    g_string_truncate (out, before); /* nothing */
}

char *
job_write (const JobReader *self, const GArray *given, const GArray *overrides,
           const GPtrArray *missing)
{
  static const char *const sections[] = { "cluster.", "model.",      "training.", "mesh.",
                                          "memory.",  "collective.", "replay.",   "strategy." };
  GString                 *out = g_string_new (NULL);
  g_autofree char         *base = g_path_get_basename (self->file);
  char                    *dot = strrchr (base, '.');
  g_autofree char         *name = NULL;

  g_string_append_printf (out, "# %s, a job of %s\n", base, self->framework->title);
  for (guint i = 0; i < missing->len; i++)
    g_string_append_printf (out, "# missing: %s\n", (const char *) g_ptr_array_index (missing, i));
  if (dot != NULL && dot != base)
    *dot = '\0';
  name = yaml_value (base);
  g_string_append_printf (out, "name: %s\n", name);
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    append_section (self, sections[i], given, overrides, out);
  return g_string_free (out, FALSE);
}
