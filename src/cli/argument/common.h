/*
 * What commands share once their words are parsed: loading scenarios, printing answers, outputs.
 */
#pragma once

#include "cli/argument/command.h"
#include "cli/output/patience.h"
#include "import/job/job.h"
#include "predict/prediction.h"
#include "report/document/page.h"

/* What the command line says to every command. */
struct Common
{
  const Command *command;
  gconstpointer  settings; /* of the command */
  char         **files;    /* words behind the options */
  GArray    *overrides; /* ScenarioOverride: --set and the options made from the tables, in order */
  GPtrArray *asked; /* names of --figure that have no value, where the command asks about some */
  GStringChunk  *strings; /* owns what the overrides point to */
  char         **formats; /* as they are typed */
  DocumentFormat format;
  gboolean       chakra; /* of commands with COMMON_CHAKRA: that format in place of these */
  char          *trace, *plot, *html, **plugins;
  char          *as;         /* whose job the file is; NULL: its keys say */
  char          *hwprofiles; /* search path of profile_set_new; NULL = the shipped ones */
  InputFiles    *read;       /* models, profiles and tables of all scenarios */
  gboolean       help, print_scenario, unfolded, interval;
  gboolean       lenient, account;
  gboolean       job_said; /* the account of a job */
  gint   steps; /* steady periods to simulate at least; 0 = as many as the steady state needs */
  gint   jobs;  /* 0 = one a core */
  double time_limit, max_memory_use; /* 0: none is given */
  StrategySet *strategies;
  Patience    *patience; /* of commands with COMMON_TIME; else NULL */
};

void common_clear (Common *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Common, common_clear)

/* Says "shardsim COMMAND: ..." on stderr. */
void common_say (const Common *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The same; returns EXIT_USAGE. */
ExitStatus common_refuse (const Common *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Whether the option NAME is given; "format=csv": whether that format is. */
gboolean common_has (const Common *self, const char *name);

/*
 * The scenarios of FILE (NULL: of OVERRIDES alone), which may be a job of a framework: its account
 * is said once. As scenario_load.
 */
GPtrArray *common_load (Common *self, const char *file, const ScenarioOverride *overrides,
                        guint n_overrides, gboolean open, DiagList *diags);

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

/* What is said in the format asked for: TEXT, CSV or JSON of the rest. */
#define common_say_as(self, text, csv, json, ...)       \
  ((self)->format == FORMAT_CSV    ? csv (__VA_ARGS__)  \
   : (self)->format == FORMAT_JSON ? json (__VA_ARGS__) \
                                   : text (__VA_ARGS__))

/*
 * Prints the result OUT, in the format asked for, which says where it is partial; signals end the
 * program from now on.
 */
ExitStatus common_print_result (const Common *self, GString *out);

/* Says it on stderr, where the result is no text. */
void common_say_partial (const Common *self);

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

/*
 * Before the work, once the inputs are read: whether all that the command line names as outputs
 * could be written, and takes the place of no input and of no other output (file-roles.h).
 */
ExitStatus common_check_outputs (const Common *self);

/* --trace, --plot and --html; REPLAYS: one a prediction, NULL where they are not kept. */
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
