/* What became of a job's settings: what the account says of each, and what they set. */
#include "import/job/job-private.h"

void
job_note (JobReader *self, JobUse use, const JobSetting *setting, const char *option,
          const char *set, const char *why)
{
  JobEntry *entry = g_new0 (JobEntry, 1);

  entry->use = use;
  if (setting != NULL)
    {
      entry->key = g_strdup (setting->written != NULL ? setting->written : setting->key);
      entry->value = g_strdup (setting->value != NULL ? setting->value : "null");
      entry->mark = setting->mark;
    }
  entry->option = g_strdup (option);
  entry->set = g_strdup (set);
  entry->why = why != NULL && *why != '\0' ? g_strdup (why) : NULL;
  g_ptr_array_add (self->account->entries, entry);
}

void
job_refuse (JobReader *self, const JobSetting *setting, const char *why)
{
  const char *key = setting->written != NULL ? setting->written : setting->key;

  if (self->request->lenient)
    {
      diag_warning (self->diags, &setting->mark, why, "'%s: %s' is not followed", key,
                    setting->value);
      job_note (self, JOB_NOT_FOLLOWED, setting, NULL, NULL, why);
    }
  else
    {
      g_autofree char *hint = g_strdup_printf ("%s%s'--lenient' predicts without it",
                                               why != NULL ? why : "", why != NULL ? "; " : "");

      diag_error (self->diags, &setting->mark, hint, "'%s: %s' cannot be followed", key,
                  setting->value);
    }
}

/* VALUE as options read it: switches in small letters. */
static char *
plain_value (const char *value)
{
  char *text = g_strstrip (g_strdup (value));

  if (g_ascii_strcasecmp (text, "true") == 0 || g_ascii_strcasecmp (text, "false") == 0)
    for (char *c = text; *c != '\0'; c++)
      *c = g_ascii_tolower (*c);
  return text;
}

JobUse
job_set_option (JobReader *self, const JobSetting *setting, const char *option, const char *value,
                JobUse use)
{
  g_autofree char *plain = plain_value (value);

  job_set (self, option, plain, &setting->mark, use);
  job_note (self, use, setting, option, plain, NULL);
  return use;
}
