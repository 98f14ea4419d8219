/*
 * What the subcommands share: the command line, loading scenarios, printing predictions.
 */
#pragma once

#include "analysis/prediction.h"
#include "cli/patience.h"
#include "report/page.h"

typedef enum
{
  FORMAT_TEXT,
  FORMAT_CSV,
  FORMAT_JSON,
} OutputFormat;

/* Filled from the command line by common_parse. */
typedef struct
{
  const char *command;  /* "simulate" */
  char      **files;    /* positional arguments */
  GArray    *overrides; /* ScenarioOverride: --set and the options made from the tables, in order */
  GPtrArray *asked; /* names of --figure that have no value, where the command asks about some */
  GStringChunk *strings; /* owns what the overrides point to */
  OutputFormat  format;
  gboolean      chakra; /* of commands with COMMON_CHAKRA: that format in place of these */
  char         *trace, *plot, *html, **plugins;
  char         *hwprofiles; /* search path of profile_set_new; NULL = the shipped ones */
  InputFiles   *read;       /* models, profiles and tables of all scenarios */
  gboolean      print_scenario, unfolded, interval, quiet;
  gint steps; /* steady periods to simulate at least; 0 = as many as the steady state needs */
  gint jobs;  /* 0 = one a core */
  StrategySet *strategies;
  Patience    *patience; /* of commands with COMMON_TIME; else NULL */
} Common;

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

/*
 * Parses ARGV (the command's own words). SUMMARY and EXAMPLES are for --help, EXTRA further entries
 * (may be NULL). Returns FALSE after printing what is wrong to stderr; then the command returns
 * EXIT_USAGE. --help prints and sets *DONE.
 */
gboolean common_parse (Common *self, CommonFlags flags, const char *arguments, const char *summary,
                       const char *examples, const GOptionEntry *extra, int argc, char **argv,
                       gboolean *done);
void     common_clear (Common *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Common, common_clear)

/* Scenarios of the one file given (or of the overrides alone); NULL after diagnostics on stderr. */
GPtrArray *common_load_scenarios (Common *self);

/* The same where the strategy may be left open: scenario_load_open. */
GPtrArray *common_load_open_scenarios (Common *self);

PredictOptions common_predict_options (const Common *self);

/* Threads to use: --jobs, or one a core. */
guint common_n_jobs (const Common *self);

/* --print-scenario: everything that would be used, as YAML documents. */
ExitStatus common_print_scenarios (const Common *self, const GPtrArray *scenarios);

/*
 * SCENARIO as YAML, with its framework and all that this implies: read again from a file in the
 * folder DIR it is the same, whatever the frameworks of the day. As it is where it has mistakes.
 * Newly allocated.
 */
char *common_print_scenario (const Common *self, const Scenario *scenario, const char *dir);

/* Prints PREDICTIONS to stdout in the format asked for; TEXT writes the text form. */
ExitStatus common_print_report (const Common *self, const GPtrArray *predictions,
                                void (*text) (const GPtrArray *predictions, GString *out));

/*
 * Prints the result OUT, in the format asked for, which says where it is partial; signals end the
 * program from now on.
 */
ExitStatus common_print_result (const Common *self, GString *out);

/* Says it on stderr, where the result is no text. */
void common_say_partial (const Common *self);

/* An option of whole numbers before the command line is read. */
#define NOT_GIVEN G_MININT

/* Sets *TARGET to VALUE when it was given; FALSE after a message when it is less than 1. */
gboolean common_take_count (const Common *self, const char *option, gint value, gint *target);

/* FALSE after a message on stderr when there are more than N positional words. */
gboolean common_want_words (const Common *self, guint n);

/* FALSE after a message on stderr when the file holds several scenarios. */
gboolean common_want_one (const Common *self, const GPtrArray *scenarios);

/*
 * Whether the files that are asked for show what happens in the steps of N scenarios: their replays
 * are kept, with keep_pools for their timelines. --trace shows all of them, --html a few, --plot
 * one.
 */
gboolean common_keeps_replays (const Common *self, guint n);

/* --trace, --plot and --html; REPLAYS: one a prediction, NULL where they are not kept. */
ExitStatus common_check_files (const Common *self);
ExitStatus common_write_files (const Common *self, const GPtrArray *predictions,
                               const Replay *const *replays, ExitStatus status);
/* --plot and --html of an ANSWER of KIND. */
ExitStatus common_write_pages (const Common *self, const PageKind *kind, gconstpointer answer,
                               ExitStatus status);

/*
 * "shardsim COMMAND" with the scenario of this command line and OPTIONS, for a shell. Newly
 * allocated.
 */
char *common_command_line (const Common *self, const char *command, const char *options);

/* One file a command. */
typedef int (*CommandMain) (int argc, char **argv);

typedef struct
{
  const char *name;
  CommandMain main;
  const char *help;
} Command;

extern const Command commands[];        /* ends with a NULL name */
extern const char    program_summary[]; /* what the program does, in a sentence */
int                  cmd_simulate (int argc, char **argv);
int                  cmd_compare (int argc, char **argv);
int                  cmd_sensitivity (int argc, char **argv);
int                  cmd_sweep (int argc, char **argv);
int                  cmd_merge (int argc, char **argv);
int                  cmd_collective (int argc, char **argv);
int                  cmd_figures (int argc, char **argv);
int                  cmd_flows (int argc, char **argv);
int                  cmd_plan (int argc, char **argv);
int                  cmd_schedule (int argc, char **argv);
int                  cmd_search (int argc, char **argv);
int                  cmd_shards (int argc, char **argv);
int                  cmd_strategies (int argc, char **argv);
int                  cmd_hardware (int argc, char **argv);
int                  cmd_import (int argc, char **argv);
int                  cmd_models (int argc, char **argv);
int                  cmd_calibrate (int argc, char **argv);
int                  cmd_regress (int argc, char **argv);
int                  cmd_validate (int argc, char **argv);
int                  cmd_help (int argc, char **argv);
int                  cmd_completion (int argc, char **argv);
int                  cmd_manual (int argc, char **argv);
