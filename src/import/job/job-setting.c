#include "import/job/job-source.h"

JobSetting *
job_setting_new (const char *key, const char *value, const SourceMark *mark)
{
  JobSetting *self = g_new0 (JobSetting, 1);

  self->key = g_strdup (key);
  self->value = g_strdup (value);
  self->mark = source_mark_keep (mark);
  return self;
}

void
job_setting_free (JobSetting *self)
{
  g_free (self->key);
  g_free (self->value);
  g_free (self->written);
  g_free (self);
}
