/*
 * What a framework calls the options of a scenario: the tables of its folder in frameworks/.
 *
 *   about.yaml    title, format (toml, json, yaml, shell), version and sources of its options;
 *                 `detect`: a list of texts, each of keys with spaces between: a file that has all
 *                 keys of one of them may be the framework's; `like`: frameworks whose rows of
 *                 reading.csv and models.csv come behind its own; `models`: whose models do
 *   options.csv   its own options: key, type, values, source
 *   mapping.csv   the options of a scenario: option, value, when, do, key, text
 *   reading.csv   what a job's keys say that the mapping, read backwards, does not: key, value,
 *                 when, do, option, text
 *   models.csv    the models that it knows by name: name, do, text
 *
 * and frameworks/common.csv, a mapping for what none of a framework's rows is about. A framework
 * without a mapping is one that is read only; then options.csv may lack, too.
 *
 * A row of a mapping matches a setting by its name ("training.seq_len"; '*' stands for the rest)
 * and value, and where all conditions of `when` ("mesh.pp=>1; mesh.vp=1") hold. Values are words
 * with '|' between them: a text, '*' (anything), a text with a '*' in it, one between two of them
 * (anywhere in the value), '>N' or '<N'; or the word 'otherwise', where no row above matched. A
 * framework's rows for a setting hide the common ones.
 * Rows that match say what becomes of it, together:
 *
 *   set      `key` gets the text, in which $NAME is another setting's value, $value this one's,
 *            $number the same in base units, $rest what '*' stood for
 *   skip     nothing: the framework's default, or nothing that changes what runs
 *   note     the text stands as a comment in the file
 *   refuse   the framework cannot say it, for the reason in the text
 *
 * Rows of reading.csv are for the keys of a job (import/job/job.h), with the same values and
 * conditions; of rows that set the same option the first that matches counts, others together.
 * Conditions are on other keys first ("option.training.seq_len": an option that a key is called
 * like);
 * 'missing' among a condition's values is for what is not there, '$value' the setting's own. They
 * hide what the mapping says of a key:
 *
 *   alias    the text is the key's newer name ($rest: what '*' stood for; $dashed: with '-' for its
 *            '_'), of another framework with "NAME/" before it
 *   default  where the key is not there the framework takes the text
 *   set      `option` gets the text (none: the value), in which $first and $last are parts of a
 *            list with commas; with '=' before it, what it works out to
 *   ignore   nothing that changes speed or memory, where no row above matched; the text may say why
 *   warn     it is not followed, and what that means is said: the text
 *   refuse   it cannot be followed, for the reason in the text
 *   ask      `option` is the user's to give; the text (none: it must be given) is taken meanwhile
 *   model    the text names a model of models.csv
 *   file     the value names a file beside the job's, or is a map of what stands there: a job of
 *            the framework in the text
 *
 * A row without a key is for every job, unless `option` has a value by then. Rows of models.csv set
 * what their text lists ("model.config=llama-3-8b; model.n_layers=2"), a config.json among them by
 * its name in the framework's folder 'models', or with "$name" what the job calls it; or refuse for
 * the reason in the text.
 */
#pragma once

#include <glib.h>

#include "scenario/scenario.h"

typedef enum
{
  FRAMEWORK_INT,
  FRAMEWORK_FLOAT,
  FRAMEWORK_BOOL,
  FRAMEWORK_STRING,
  FRAMEWORK_WORDS, /* a list of strings, with commas between them */
  FRAMEWORK_FLAG,  /* of a command line: there or not */
} FrameworkType;

/* An option of the framework. */
typedef struct
{
  char         *key;    /* "training.seq_len", "--seq-length" */
  FrameworkType type;   /* int, float, bool, string, words, flag */
  char        **values; /* that it takes; NULL: any of its type */
} FrameworkOption;

typedef enum
{
  RULE_SET,
  RULE_SKIP,
  RULE_NOTE,
  RULE_REFUSE,
} FrameworkAction;

/* A condition on a setting. */
typedef struct
{
  char  *name;
  char **values; /* one of them matches */
} FrameworkMatch;

typedef struct
{
  SourceMark      mark;
  FrameworkMatch  match;
  GPtrArray      *when; /* FrameworkMatch* */
  FrameworkAction action;
  guint           option; /* of `options`, where action is RULE_SET */
  char           *text;
} FrameworkRule;

typedef enum
{
  READING_ALIAS,
  READING_DEFAULT,
  READING_SET,
  READING_IGNORE,
  READING_WARN,
  READING_REFUSE,
  READING_ASK,
  READING_MODEL,
  READING_FILE,
} ReadingAction;

/* A row of reading.csv. */
typedef struct
{
  SourceMark     mark;
  FrameworkMatch match; /* its name: of a key; "": every job */
  GPtrArray     *when;  /* FrameworkMatch* */
  ReadingAction  action;
  char          *option; /* "mesh.tp", "fact.dp_shard"; "": none */
  char          *text;
  guint          level; /* 0: the framework's own; else of one that it is like */
} FrameworkReading;

/* A row of models.csv. */
typedef struct
{
  char    *name; /* a pattern */
  gboolean refused;
  char    *text;
} FrameworkModel;

typedef struct
{
  char      *name, *title, *format, *version;
  GPtrArray *options;        /* FrameworkOption*, in the order in which they are written */
  GPtrArray *rules, *common; /* FrameworkRule*; empty where it is read only */
  GPtrArray *readings;       /* FrameworkReading* */
  GPtrArray *models;         /* FrameworkModel* */
  char     **detect;         /* keys with spaces between; may be empty */
  gboolean   emits;          /* has a mapping */
} Framework;

/* NULL-terminated names of the folders, sorted; newly allocated. EMIT: those with a mapping. */
char **framework_names (gboolean emit);

/* NULL after diagnostics. */
Framework *framework_load (const char *name, DiagList *diags);

/* All of framework_names that can be read, Framework*, which go with the array. */
GPtrArray *framework_load_all (gboolean emit, DiagList *diags);

/* As framework_load, from a folder of tables; COMMON: the file of common rows. */
Framework *framework_load_folder (const char *folder, const char *common, DiagList *diags);
void       framework_free (Framework *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Framework, framework_free)

/* Index of the option KEY, -1 where there is none. */
gint framework_find (const Framework *self, const char *key);

/* Whether TEXT is a value of OPTION: of its type, and one of its values. */
gboolean framework_option_accepts (const FrameworkOption *option, const char *text);

/*
 * Whether PATTERN, one of the values of a row, is for TEXT; *REST: what its '*' stands for, else
 * "".
 */
gboolean framework_pattern_matches (const char *pattern, const char *text, const char **rest);

/* The same of one of VALUES. */
gboolean framework_values_match (char *const *values, const char *text, const char **rest);

/* The config.json NAME in the folder 'models' of SELF's; NULL: there is none. Newly allocated. */
char *framework_model_file (const Framework *self, const char *name);
