/*
 * A job's file in its own words: the settings of a framework's TOML, YAML, JSON or command line,
 * flat, with the place of each.
 *
 *   keys     paths with dots between: "training.seq_len", "data_stages.0.name"; "--seq-length" of
 *            arguments of a command line, "$MINIBS" of variables of a script that none of them uses
 *   values   as text; NULL for null; the items of a list of values with commas between
 */
#pragma once

#include "scenario/framework.h"

/* What became of a setting, or what a job needs beside its settings. */
typedef enum
{
  JOB_UNSEEN,
  JOB_IN_WORK,      /* asked for while it is being read */
  JOB_TAKEN,        /* an option has its value */
  JOB_FILLED,       /* not in the file: the framework's own default, or what it does always */
  JOB_ASSUMED,      /* the user's to give: the option has a value meanwhile */
  JOB_NO_EFFECT,    /* on speed and memory */
  JOB_NOT_FOLLOWED, /* the prediction is not of that */
  JOB_UNKNOWN,      /* of no table */
} JobUse;

typedef struct
{
  char            *key, *value;
  char            *written; /* the key as the file has it, where `key` is its newer name; or NULL */
  SourceMark       mark;
  const Framework *framework; /* whose key it is */
  gboolean         filled;    /* not in the file: a default of the framework */
  JobUse           use;
} JobSetting;

typedef struct
{
  char      *file;     /* as the user named it */
  GPtrArray *settings; /* JobSetting*, in the file's order, each key once */
} JobSource;

/* VALUE: NULL for null. */
JobSetting *job_setting_new (const char *key, const char *value, const SourceMark *mark);
void        job_setting_free (JobSetting *self);

/* The settings of one text: new array that frees them, or NULL after diagnostics. */
typedef GPtrArray *(*JobSyntaxRead) (const char *file, const char *text, DiagList *diags);

/* A way to write jobs. */
typedef struct
{
  const char   *name; /* "TOML" */
  JobSyntaxRead read;
} JobSyntax;

/* Which one TEXT is written in; FILE's ending counts where the text does not tell. */
const JobSyntax *job_syntax_of (const char *file, const char *text);

/* Whether that is YAML, or JSON: what scenarios are written in. */
gboolean job_text_is_yaml (const char *file, const char *text);

/* The bytes of FILE as text. NULL after diagnostics. */
char *job_text_read (const char *file, DiagList *diags);

/* Of TEXT. NULL after diagnostics in terms of its syntax. */
JobSource *job_source_new (const char *file, const char *text, DiagList *diags);
void       job_source_free (JobSource *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (JobSource, job_source_free)
