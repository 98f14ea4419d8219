/* YAML and JSON, by the loader of our own files. */
#pragma once

#include "import/job/job-source.h"

/* As JobSyntaxRead. */
GPtrArray *job_yaml_read (const char *file, const char *text, DiagList *diags);
