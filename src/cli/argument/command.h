/*
 * A command is one const struct: what it takes, what is said of it, and what it does. The parser,
 * the help, the manual, completion and the check of outputs read that and nothing else. Adding one
 * is a file command/cmd-NAME.c and its name in meson.build.
 */
#pragma once

#include "base/config/option.h"
#include "cli/output/stream.h"

typedef struct Common Common;

/* What a value is, and the type of the member that keeps it. */
typedef enum
{
  VALUE_SWITCH,   /* gboolean */
  VALUE_TEXT,     /* char * */
  VALUE_TEXTS,    /* char **: the option may be repeated */
  VALUE_FILE,     /* char * */
  VALUE_FILES,    /* char ** */
  VALUE_FOLDER,   /* char *: of a folder, or what begins with one */
  VALUE_INT,      /* gint */
  VALUE_INT64,    /* gint64 */
  VALUE_COUNT,    /* gint from 1 on */
  VALUE_QUANTITY, /* double, in the base unit of `kind` */
  VALUE_TABLE,    /* the struct of an option table, which has an option for each key */
} ValueType;

/* Words that may stand for a value, for completion. */
typedef struct
{
  char **(*list) (const char *of); /* strv; NULL: none are known */
  const char *of;
  gboolean    files; /* names of files, too */
} ValueWords;

typedef struct
{
  const char       *name; /* "max"; of a table, how that is called; NULL ends a list */
  ValueType         type;
  char              letter; /* 'o' of -o; 0: none */
  gsize             offset; /* in the settings */
  const char       *value;  /* what stands for it in the help: "KEY" */
  const char       *help;
  gint              fallback; /* of whole numbers and quantities */
  QuantityKind      kind;     /* of VALUE_QUANTITY */
  const OptionSpec *table;    /* of VALUE_TABLE */
  const ValueWords *words;
  /* An output: whether PATH could be written; EXIT_DONE, or the status to end with after a message.
   */
  ExitStatus (*check) (const char *option, const char *path);
} CommandOption;

/* The members of a CommandOption; `Settings` is the struct that a command's options fill. */
#define OPTION(name_, type_, member, value_, help_)                                            \
  .name = name_, .type = type_, .offset = G_STRUCT_OFFSET (Settings, member), .value = value_, \
  .help = help_

/* All options of TABLE, into a struct that is a member. */
#define OPTIONS_OF(table_, member)                                                    \
  .name = #table_, .type = VALUE_TABLE, .offset = G_STRUCT_OFFSET (Settings, member), \
  .table = table_

/* Of a command that says itself what is wrong with its words. */
#define ANY_WORDS G_MAXUINT

/* What a whole number or quantity is that is not given, where none is of that value. */
#define NOT_GIVEN G_MININT

/*
 * What goes with what. `given`, `excludes` and `needs` are names of options with spaces between;
 * "format=csv" is that format. Where one of `given` is (NULL: always), none of `excludes` may be,
 * and one of `needs` must be; else WORDS are said.
 */
typedef struct
{
  const char *given, *excludes, *needs;
  const char *words; /* NULL ends a list */
} OptionRule;

/* Which groups of options a command takes. */
typedef enum
{
  COMMON_SCENARIO = 1 << 0, /* scenario files, --set and the options of the tables */
  COMMON_FORMAT = 1 << 1,
  COMMON_RUN = 1 << 2,     /* --unfolded --interval --steps, and those of COMMON_JOBS */
  COMMON_NETWORK = 1 << 3, /* the options of the cluster and of the collective library */
  COMMON_JOBS = 1 << 4,    /* --jobs */
  COMMON_CLUSTER = 1 << 5, /* the options of the cluster */
  COMMON_TRACE = 1 << 6,   /* --trace */
  COMMON_CHAKRA = 1 << 7,  /* one more FORMAT */
  COMMON_PAGES = 1 << 8,   /* --plot --html */
  COMMON_TIME = 1 << 9,    /* --time-limit, and interrupts that leave a result (patience.h) */
  COMMON_ASKED = 1 << 10,  /* --figure NAME, which asks about it: Common.asked */
} CommonFlags;

typedef struct Command Command;
struct Command
{
  const char          *name; /* "simulate"; "validate training" is a subject of "validate" */
  const char          *help; /* a line of a list */
  const char          *arguments, *summary, *examples; /* of --help; NULL: none */
  CommonFlags          takes;
  const CommandOption *options; /* NULL: none of its own */
  const OptionRule    *rules;   /* NULL: none */
  gsize                settings_size;
  guint                most_words; /* behind the options */
  const char          *missing;    /* what is said where there are none; NULL: there may be none */
  const ValueWords    *words;      /* what they may be; NULL: as `arguments` say, or files */

  /* Replaces words that its options could not read as they are. FALSE after a message. May be NULL.
   */
  gboolean (*prepare) (char ***words, gpointer settings);

  /* What is wrong with SETTINGS alone goes into DIAGS; FALSE after a message. May be NULL. */
  gboolean (*check) (Common *common, gpointer settings, DiagList *diags);

  /* NULL: its subjects do. SETTINGS are zeroed, then filled, and are right as far as that goes. */
  ExitStatus (*run) (Common *common, gpointer settings);

  /* Frees what SETTINGS hold beside the values of options; may be NULL. */
  void (*clear) (gpointer settings);

  /* The other command that WORDS mean, which it may replace; NULL: this one. May be NULL. */
  const Command *(*meant) (char ***words);
};

/* All of them in the order of the help, subjects behind their command; ends with NULL. */
extern const Command *const commands[];

extern const char program_summary[]; /* what the program does, in a sentence */

/* In any case of letters; NULL: there is none. */
const Command *command_find (const char *name);

/* The subject of SELF after PREVIOUS (NULL: the first); NULL: there are no more. */
const Command *command_next_subject (const Command *self, const Command *previous);

/* What stands behind the command of a subject: "training"; else the whole name. */
const char *command_word (const Command *self);

/* NULL-terminated names of commands, or of the subjects of SELF; the container is newly allocated.
 */
const char **command_names (const Command *self);

/* Runs SELF with WORDS, of which the first is its name. The exit status. */
int command_run (const Command *self, char *const *words);
