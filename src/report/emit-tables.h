/*
 * What a framework calls the options of a scenario: the tables of its folder in frameworks/.
 *
 *   about.yaml    title, format (toml, json, yaml, shell), version and sources of its options
 *   options.csv   its own options: key, type, values, source
 *   mapping.csv   the options of a scenario: option, value, when, do, key, text
 *
 * and frameworks/common.csv, a mapping for what none of a framework's rows is about.
 *
 * A row of a mapping matches a setting by its name ("training.seq_len"; '*' stands for the rest)
 * and value, and where all conditions of `when` ("mesh.pp=>1; mesh.vp=1") hold. Values are words
 * with '|' between them: a text, '*' (anything), a text that ends with '*', one between two of them
 * (anywhere in the value), or '>N'; or the word 'otherwise', where no row above matched. A
 * framework's rows for a setting hide the common ones.
 * Rows that match say what becomes of it, together:
 *
 *   set      `key` gets the text, in which $NAME is another setting's value, $value this one's,
 *            $number the same in base units, $rest what '*' stood for
 *   skip     nothing: the framework's default, or nothing that changes what runs
 *   note     the text stands as a comment in the file
 *   refuse   the framework cannot say it, for the reason in the text
 */
#pragma once

#include <glib.h>

#include "scenario/scenario.h"

typedef enum
{
  EMIT_INT,
  EMIT_FLOAT,
  EMIT_BOOL,
  EMIT_STRING,
  EMIT_WORDS, /* a list of strings, with commas between them */
  EMIT_FLAG,  /* of a command line: there or not */
} EmitType;

/* An option of the framework. */
typedef struct
{
  char    *key;    /* "training.seq_len", "--seq-length" */
  EmitType type;   /* int, float, bool, string, words, flag */
  char   **values; /* that it takes; NULL: any of its type */
} EmitOption;

typedef enum
{
  EMIT_SET,
  EMIT_SKIP,
  EMIT_NOTE,
  EMIT_REFUSE,
} EmitAction;

/* A condition on a setting. */
typedef struct
{
  char  *name;
  char **values; /* one of them matches */
} EmitMatch;

typedef struct
{
  SourceMark mark;
  EmitMatch  match;
  GPtrArray *when; /* EmitMatch* */
  EmitAction action;
  guint      option; /* of `options`, where action is EMIT_SET */
  char      *text;
} EmitRule;

typedef struct
{
  char      *name, *title, *format, *version;
  GPtrArray *options;        /* EmitOption*, in the order in which they are written */
  GPtrArray *rules, *common; /* EmitRule* */
} EmitFramework;

/* NULL-terminated names of the folders, sorted; newly allocated. */
char **emit_framework_names (void);

/* NULL after diagnostics. */
EmitFramework *emit_framework_load (const char *name, DiagList *diags);

/* The same from a folder of tables; COMMON: the file of common rows. */
EmitFramework *emit_framework_load_folder (const char *folder, const char *common, DiagList *diags);
void           emit_framework_free (EmitFramework *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EmitFramework, emit_framework_free)

/* Index of the option KEY, -1 where there is none. */
gint emit_framework_find (const EmitFramework *self, const char *key);

/* Whether TEXT is a value of OPTION: of its type, and one of its values. */
gboolean emit_option_takes (const EmitOption *option, const char *text);
