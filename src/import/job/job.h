/*
 * Jobs: what a framework's own file trains, as a scenario.
 *
 * The rows of a framework's tables (scenario/framework.h) say what its keys mean: those of
 * reading.csv for a key, else those of mapping.csv, read backwards. A mapping's row "option = value
 * sets key to text" holds the other way round: where the key has that text the option has that
 * value. Options that the user gives beside the file come first: rows see them, and they win.
 *
 * The result is options with the places where the file says them, so that whatever is wrong with
 * them later is said there, and an account of every key.
 */
#pragma once

#include "import/job/job-source.h"

/* What became of a key, or what is said beside the keys. All owned. */
typedef struct
{
  JobUse     use;
  char      *key, *value;  /* as the file has them; KEY NULL: no key */
  char      *option, *set; /* what it sets; NULL: nothing, or more than one */
  char      *why;          /* NULL: nothing to say */
  SourceMark mark;
} JobEntry;

typedef struct
{
  char      *file, *framework; /* "llama.toml", "torchtitan" */
  GPtrArray *entries;          /* JobEntry*: keys in the file's order, then the rest */
} JobAccount;

void job_account_free (JobAccount *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (JobAccount, job_account_free)

/* Of USE. */
guint job_account_count (const JobAccount *self, JobUse use);

typedef struct
{
  const StrategySet      *strategies; /* NULL: the built-in ones */
  const char             *as;         /* the framework; NULL: by the file's keys */
  gboolean                lenient;    /* what cannot be followed is a warning */
  gboolean                open;       /* no strategy need be named */
  const ScenarioOverride *overrides;  /* the user's options */
  guint                   n_overrides;
  const char             *profile_dir; /* search path of profiles, or NULL */
  InputFiles             *files;       /* or NULL */
} JobRequest;

/*
 * The scenarios of FILE: a scenario's file, or a job of a framework; NULL: of the user's options
 * alone. TEXT: what stands in it (NULL: it is read). *ACCOUNT gets that of a job, else NULL; it may
 * be NULL. NULL after diagnostics: as scenario_load.
 */
GPtrArray *job_load (const char *file, const char *text, const JobRequest *request,
                     JobAccount **account, DiagList *diags);

/*
 * The job of FILE as a scenario's text, with where each option comes from: what it says and what
 * the user gives, no more. What it still needs is a comment. *ACCOUNT as job_load; NULL after
 * diagnostics. Newly allocated.
 */
char *job_scenario_text (const char *file, const JobRequest *request, JobAccount **account,
                         DiagList *diags);
