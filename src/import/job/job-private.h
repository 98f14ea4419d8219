/* What the files share that read a job: its settings on their way to options. */
#pragma once

#include "import/job/job.h"

/* What an option, or a fact ("fact.dp_shard"), is by the job. */
typedef struct
{
  char      *name, *value;
  SourceMark mark;
  JobUse     use; /* JOB_TAKEN, JOB_FILLED, JOB_ASSUMED */
} JobValue;

#define JOB_MOST_SETTINGS 20000 /* of a job with its files */
#define JOB_MOST_HINTS    100   /* nearest keys, which take long to find */

typedef struct JobReader JobReader;
struct JobReader
{
  const JobRequest *request;
  const char       *file;
  const GPtrArray  *frameworks; /* Framework*, all that there are tables for */
  const Framework  *framework;  /* whose job it is */
  GPtrArray        *settings;   /* JobSetting* */
  GHashTable       *by_key;     /* of a setting, to it */
  GHashTable       *user;       /* options that the user gives, to their values */
  GHashTable       *values;     /* of JobValue, to it */
  GPtrArray        *order;      /* JobValue*, as they came; owned */
  GHashTable       *asked;      /* options that are being asked for */
  JobAccount       *account;
  GArray           *overrides; /* the user's, completed: job_overrides; NULL: not yet */
  GStringChunk     *strings;
  Cluster          *cluster;
  ModelShape        shape;
  guint             n_unknown; /* keys that no table knows, so far */
  gboolean          cluster_tried, shape_tried, model_refused;
  DiagList         *diags;

  /* What values are asked of while they are not known: rows that may say NAME, and facts. */
  void (*read) (JobReader *self, const char *name);
  char *(*follow) (JobReader *self, const char *name);
};

/* ---- values: job-values.c -------------------------------------------------------------------- */

/* Gives the option NAME a value, unless it has one; a second, other one is an error. */
void job_set (JobReader *self, const char *name, const char *value, const SourceMark *mark,
              JobUse use);

/* What the job, or the user, says of the option or fact NAME, whose rows are read for it; or NULL.
 */
const char *job_option (JobReader *self, const char *name);

/* The same, or the option's default. */
const char *job_option_or_default (JobReader *self, const char *name);

/* The same as a number; FALLBACK: there is none. */
double job_number (JobReader *self, const char *name, double fallback);

/* Alike as options read them: "5e8" and "500000000", "True" and "true". */
gboolean job_is_same_value (const char *a, const char *b);

/* What the user says of NAME, or NULL. */
const char *job_user (const JobReader *self, const char *name);

/* The setting with KEY, or NULL. */
const JobSetting *job_key (const JobReader *self, const char *key);

/*
 * What NAME is for a row of reading.csv: the value of that key, else of that option or fact
 * ("option.training.seq_len": of the option where a key is called alike). NULL: there is none.
 */
const char *job_name (JobReader *self, const char *name);

/* Whether all of WHEN (FrameworkMatch*) hold for a mapping. */
gboolean job_options_hold (JobReader *self, const GPtrArray *when);

/* The same for a row of reading.csv, of a setting with VALUE (NULL: of none). */
gboolean job_conditions_hold (JobReader *self, const GPtrArray *when, const char *value);

/* ---- rows: job-rows.c ------------------------------------------------------------------------ */

/* Reads SETTING by its rows. */
void job_read_setting (JobReader *self, JobSetting *setting);

/* Reads what has rows that set the option NAME: JobReader.read. */
void job_read_for (JobReader *self, const char *name);

/* The rows without a key, of the option NAME (NULL: all). */
void job_read_always (JobReader *self, const char *name);

/* Gives OPTION the VALUE that SETTING says, and notes it as such a USE, which is returned. */
JobUse job_set_option (JobReader *self, const JobSetting *setting, const char *option,
                       const char *value, JobUse use);

/*
 * Reads SETTING by rows of mapping.csv: job-mapping.c. FALSE: none is for its key with its value.
 */
gboolean job_read_by_mapping (JobReader *self, JobSetting *setting);

/* Newer names of keys, files that keys name, what the framework takes where keys are missing. */
void job_prepare (JobReader *self);

/* Adds an entry of the account. What may be NULL there may be NULL. */
void job_note (JobReader *self, JobUse use, const JobSetting *setting, const char *option,
               const char *set, const char *why);

/* What cannot be followed: an error, or with --lenient a warning and a note. */
void job_refuse (JobReader *self, const JobSetting *setting, const char *why);

/* ---- facts: job-facts.c ---------------------------------------------------------------------- */

/* What follows from cluster, model and mesh: JobReader.follow. NULL: nothing does, or not yet. */
char *job_fact (JobReader *self, const char *name);

/*
 * The user's options, ScenarioOverride: of a type of node without a number the job says how many,
 * and of how many GPUs.
 */
const GArray *job_overrides (JobReader *self);

/* The options that facts of the job say. */
void job_derive (JobReader *self);

/* TEXT ("0.9*4096*4096", "64/8-1") worked out, whole numbers rounded down; NULL: it is none. */
char *job_work_out (const char *text);

/* ---- whose: job-detect.c --------------------------------------------------------------------- */

/* Whose keys SOURCE has; NULL: nobody's. TIED gets its name, and those of all with as many. */
const Framework *job_detect (const GPtrArray *frameworks, const JobSource *source, GString *tied);

/* The one that AS names, or whose keys SOURCE has. NULL after a diagnostic. */
const Framework *job_choose_framework (const GPtrArray *frameworks, const JobSource *source,
                                       const char *as, DiagList *diags);

/* Whether SOURCE is a scenario of ours: no key at its top is another's. */
gboolean job_is_scenario (const JobSource *source);

/* ---- text: job-write.c ----------------------------------------------------------------------- */

/*
 * GIVEN and OVERRIDES as a scenario's text, with where each comes from; MISSING (strings): what it
 * still needs. Newly allocated.
 */
char *job_write (const JobReader *self, const GArray *given, const GArray *overrides,
                 const GPtrArray *missing);
