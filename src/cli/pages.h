/*
 * The help of every command as data. Manual pages, the shells' completion and `shardsim help WORD`
 * are made of it: they know what common_parse would accept, and nothing else has to be kept equal.
 */
#pragma once

#include "base/option.h"
#include "cli/help.h"
#include "cli/subjects.h"

/* What may follow an option, or stand alone in a command's line. All owned. */
typedef struct
{
  gboolean files, folders; /* names of them */
  char   **words;          /* strv; those that are known */
} PageValue;

typedef struct
{
  char             *name;     /* "micro-batch" */
  char              letter;   /* 'j' of -j; 0: none */
  char             *argument; /* "VALUE"; NULL: a switch */
  gboolean          optional; /* of the argument: --causal, --causal=off */
  gboolean          repeats;
  char             *help;
  PageValue         value;
  gboolean          of_section; /* of the scenario: a key, or short for one */
  const OptionSpec *spec;       /* of a key, else NULL */
} PageOption;

typedef struct
{
  char *name, *title; /* "model", "Model"; no name: not of a section. The command's own first */
  GPtrArray *options; /* PageOption */
} PageGroup;

typedef struct
{
  char          *command; /* "validate collectives" */
  char          *help;    /* one line */
  char          *arguments, *summary, *examples;
  PageValue      argument; /* what its positional words may be */
  GPtrArray     *groups;   /* PageGroup */
  const Subject *subjects;
  guint          n_subjects;
} Page;

/* Of every command, each followed by those of its subjects: array of Page. */
GPtrArray *pages_collect (void);

/* The page of COMMAND ("simulate"), or NULL. */
const Page *pages_find (const GPtrArray *pages, const char *command);

/*
 * For common_parse and subjects_run: TRUE when pages_collect asks, in this thread; then what the
 * command takes is noted and it shall return at once, as after --help.
 */
gboolean pages_take_help (const Help *help);
gboolean pages_take_subjects (const Subject *subjects, guint n, const char *summary);
