/*
 * What is written for a framework and read again is the same scenario: over random scenarios of
 * every strategy and mesh, for every framework that there is a mapping for. The user gives the
 * cluster, the model, and what the framework leaves to its script. Held are the settings that the
 * mapping writes or leaves out as the framework's default, and the text that is written of what was
 * read. Settings that it only notes are the user's.
 */
#include <string.h>

#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"
#include "import/job/job.h"
#include "report/export/emit.h"

#define N_RANDOM    300
#define MOST_RANDOM 600
#define MOST_TOLD   20000 /* bytes */

typedef struct
{
  const char *framework, *file; /* what a file of it is called */
} FileName;

static const FileName files[] = { { "torchtitan", "job.toml" },
                                  { "deepspeed", "job.json" },
                                  { "accelerate", "job.yaml" },
                                  { "megatron-lm", "job.sh" } };

static const char *
file_of (const Framework *framework)
{
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    if (g_str_equal (files[i].framework, framework->name))
      return files[i].file;
  return "job";
}

/* Whether a row of RULES says something of NAME that a reader cannot know. */
static gboolean
is_told_otherwise (const GPtrArray *rules, const char *name)
{
  for (guint i = 0; i < rules->len; i++)
    {
      const FrameworkRule *rule = g_ptr_array_index (rules, i);
      const char          *rest;

      if (framework_pattern_matches (rule->match.name, name, &rest)
          && (rule->action == RULE_NOTE
              || (rule->action == RULE_SKIP && g_str_equal (rule->match.values[0], "*"))))
        return TRUE;
    }
  return FALSE;
}

/* Whether the user gives NAME: what runs is the same under any framework, or its script's. */
static gboolean
is_users (const Framework *framework, const char *name)
{
  static const char *const sections[] = { "cluster.", "model.", "memory.", "collective.",
                                          "replay." };

  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    if (g_str_has_prefix (name, sections[i]))
      return TRUE;
  return is_told_otherwise (framework->rules, name) || is_told_otherwise (framework->common, name);
}

typedef struct
{
  GArray       *overrides;
  GStringChunk *strings;
} Given;

static Given
given_by_user (const Framework *framework, const Scenario *scenario)
{
  g_autoptr (GArray) settings = scenario_settings (scenario);
  Given              given = { .overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride)),
                               .strings = g_string_chunk_new (1024) };

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);
      g_autofree char       *name = g_strdup_printf ("%s.%s", setting->section, setting->spec->key);
      const ScenarioOverride override = { g_string_chunk_insert (given.strings, name),
                                          g_string_chunk_insert (given.strings, setting->value),
                                          "test" };

      if (is_users (framework, name) && !g_str_has_prefix (name, "strategy."))
        g_array_append_val (given.overrides, override);
    }
  return given;
}

static void
given_clear (Given *self)
{
  g_array_unref (self->overrides);
  g_string_chunk_free (self->strings);
}

/* The value of NAME among SETTINGS, or NULL. */
static const char *
value_of (const GArray *settings, const ScenarioSetting *wanted)
{
  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);

      if (g_str_equal (setting->section, wanted->section)
          && g_str_equal (setting->spec->key, wanted->spec->key))
        return setting->value;
    }
  return NULL;
}

/* Whether the framework is told the same of NAME by A and by B. */
static gboolean
is_written_alike (const Framework *framework, const char *name, const char *a, const char *b)
{
  for (guint i = 0; b != NULL && i < framework->rules->len; i++)
    {
      const FrameworkRule *rule = g_ptr_array_index (framework->rules, i);
      const char          *rest;

      if (rule->action == RULE_SET && g_str_equal (rule->match.name, name)
          && framework_values_match (rule->match.values, a, &rest)
          && framework_values_match (rule->match.values, b, &rest)
          && (strchr (rule->text, '$') == NULL || g_str_has_prefix (rule->text, "$fact.")))
        return TRUE; /* "$fact.hpz": a group by its name or by its ranks, which the text holds */
    }
  return FALSE;
}

/* How the settings of READ differ from those of WRITTEN; NULL: not. */
static char *
difference (const Framework *framework, const ResolvedScenario *written,
            const ResolvedScenario *read)
{
  g_autoptr (GArray) ours = scenario_settings (written->scenario);
  g_autoptr (GArray) theirs = scenario_settings (read->scenario);

  for (guint i = 0; i < ours->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (ours, ScenarioSetting, i);
      g_autofree char       *name = g_strdup_printf ("%s.%s", setting->section, setting->spec->key);
      const char            *got = value_of (theirs, setting);

      if (!is_users (framework, name) && g_strcmp0 (setting->value, got) != 0
          && !is_written_alike (framework, name, setting->value, got))
        return g_strdup_printf ("%s is %s, was %s", name, got != NULL ? got : "unset",
                                setting->value);
    }
  return NULL;
}

/* TEXT without its comments. */
static char *
without_comments (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString       *out = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '#')
      g_string_append_printf (out, "%s\n", lines[i]);
  return g_string_free (out, FALSE);
}

/* What is wrong with what is read of TEXT, which is WRITTEN as FRAMEWORK has it; NULL: nothing. */
static char *
judge (const Framework *framework, const ResolvedScenario *written, const char *text,
       ProfileSet *profiles)
{
  Given                  given = given_by_user (framework, written->scenario);
  const JobRequest       request = { .as = framework->name,
                                     .overrides =
                                         (const ScenarioOverride *) (void *) given.overrides->data,
                                     .n_overrides = given.overrides->len };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (JobAccount) account = NULL;
  g_autoptr (GPtrArray)  all = job_load (file_of (framework), text, &request, &account, diags);
  g_autoptr (ResolvedScenario) read = NULL;
  g_autoptr (GString)          again = g_string_new (NULL);
  g_autofree char             *before = without_comments (text), *after = NULL;
  char                        *wrong = NULL;

  if (all != NULL)
    read = resolved_new (g_ptr_array_index (all, 0), profiles, diags);
  if (read == NULL)
    wrong = diag_list_format (diags, FALSE);
  if (wrong == NULL && job_account_count (account, JOB_UNKNOWN) > 0)
    wrong = g_strdup ("a key of no table");
  if (wrong == NULL)
    wrong = difference (framework, written, read);
  if (wrong == NULL && !emit_settings (framework, read, again, diags))
    wrong = diag_list_format (diags, FALSE);
  after = without_comments (again->str);
  if (wrong == NULL && !g_str_equal (before, after))
    wrong = g_strdup_printf ("written again it is\n%s", after);
  given_clear (&given);
  return wrong;
}

/* Each framework has some, and more than a tenth of all. */
START_TEST (test_round)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   said = diag_list_new ();
  g_autoptr (GPtrArray)  all = framework_load_all (TRUE, said);
  g_autofree guint      *n_read = g_new0 (guint, all->len);
  g_autoptr (GString)    all_wrong = g_string_new (NULL);
  guint                  least = 0;

  ck_assert (diag_list_is_empty (said));
  for (guint i = 0; i < cases_of (N_RANDOM) || (least == 0 && i < MOST_RANDOM); i++)
    {
      g_autoptr (Scenario)         scenario = fixture_random_case (39, i, profiles);
      g_autoptr (DiagList)         diags = diag_list_new ();
      g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

      for (guint f = 0; resolved != NULL && f < all->len; f++)
        {
          const Framework     *framework = g_ptr_array_index (all, f);
          g_autoptr (DiagList) own = diag_list_new ();
          g_autoptr (GString)  text = g_string_new (NULL);
          g_autofree char     *wrong = NULL;

          if (!emit_settings (framework, resolved, text, own))
            continue;
          n_read[f]++;
          wrong = judge (framework, resolved, text->str, profiles);
          if (wrong != NULL && all_wrong->len < MOST_TOLD)
            g_string_append_printf (all_wrong, "case %u, %s: %s\n", i, framework->name, wrong);
        }
      least = G_MAXUINT;
      for (guint f = 0; f < all->len; f++)
        least = MIN (least, n_read[f]);
    }
  ck_assert_msg (all_wrong->len == 0, "%s", all_wrong->str);
  for (guint f = 0; f < all->len; f++)
    ck_assert_msg (n_read[f] > 0, "nothing of %s",
                   ((const Framework *) g_ptr_array_index (all, f))->name);
}
END_TEST

SUITE_MAIN (job_round)
{
  Suite *suite = suite_create ("job-round");
  TCase *tcase = tcase_create ("job-round");

  tcase_set_timeout (tcase, 0);
  tcase_add_test (tcase, test_round);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
