/* TOML 1.0, by toml++ (job-toml.cc is the one file in C++). */
#pragma once

#include "import/job/job-source.h"

#ifdef __cplusplus
extern "C"
{
#endif

  /* Gets a setting; VALUE: as text, LINE and COLUMN: of the value, from 1. */
  typedef void (*JobTomlSetting) (gpointer user, const char *key, const char *value, guint line,
                                  guint column);

  /* What is wrong with a text, and where. */
  typedef struct
  {
    char *message; /* newly allocated */
    guint line, column;
  } JobTomlError;

  /* FALSE with *ERROR set. Settings come in the order of keys, not of the text. */
  gboolean job_toml_parse (const char *text, gsize length, JobTomlSetting setting, gpointer user,
                           JobTomlError *error);

#ifdef __cplusplus
}
#endif

/* As JobSyntaxRead. */
GPtrArray *job_toml_read (const char *file, const char *text, DiagList *diags);
