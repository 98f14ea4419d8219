/*
 * What a command takes, spelled out: its own options, those that it shares, the keys of a scenario.
 * The parser, --help, manual pages, the shells' completion and `shardsim help WORD` are made of it.
 */
#pragma once

#include "cli/argument/command.h"
#include "scenario/scenario.h"

typedef struct
{
  const char          *name;       /* "micro-batch" */
  char                 letter;     /* 'j' of -j; 0: none */
  const char          *value;      /* "VALUE"; NULL: a switch */
  gboolean             optional;   /* of the value: --causal, --causal=off */
  gboolean             of_section; /* of the scenario: a key, or short for one */
  const char          *help;
  const CommandOption *told; /* NULL: of a section, or of the help */
  const OptionSpec    *spec; /* of a key, of a section or of a table; else NULL */
} PageOption;

typedef enum
{
  PAGE_OWN,     /* the command's: the first */
  PAGE_GENERAL, /* the second */
  PAGE_SECTION,
  PAGE_HELP, /* --help-model and its like, where --help does not show all */
} PageGroupKind;

typedef struct
{
  PageGroupKind kind;
  const char   *name;    /* "model", of a section; else NULL */
  const char   *title;   /* "Model" */
  GArray       *options; /* PageOption */
} PageGroup;

typedef struct
{
  const Command *command;
  GPtrArray     *groups; /* PageGroup; none where its subjects have them */
  GStringChunk  *strings;
} Page;

Page *page_new (const Command *command);
void  page_free (Page *self);

/* Adds every strategy's own keys: known once plug-ins are loaded, given with --set. */
void page_add_strategies (Page *self, const StrategySet *strategies);

/* Of every command: array of Page. */
GPtrArray *pages_collect (void);

/* The page of COMMAND ("simulate"), or NULL. */
const Page *pages_find (const GPtrArray *pages, const char *command);

/* The one at I of all options of PAGE, whatever their group; NULL: behind the last. */
const PageOption *page_option (const Page *page, guint i);
