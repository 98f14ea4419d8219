/*
 * What the subcommands share: the option-table-driven command line, loading scenarios, printing diagnostics, exit status.
 */
#pragma once

#include "analysis/prediction.h"

/* Exit status, the same for every command. */
typedef enum
{
  EXIT_DONE = 0,
  EXIT_RUNTIME = 1,
  EXIT_USAGE = 2,
  EXIT_NO = 3,
} ExitStatus;

typedef enum
{
  FORMAT_TEXT,
  FORMAT_CSV,
  FORMAT_JSON,
} OutputFormat;

/* Filled from the command line by common_parse. */
typedef struct
{
  const char *command; /* "simulate" */
  char      **files;   /* positional arguments */
  GArray *overrides;   /* ScenarioOverride: --set and the options made from the tables, in order */
  GStringChunk *strings; /* owns what the overrides point to */
  OutputFormat  format;
  char         *trace, *plot, **plugins;
  char         *hwprofiles; /* search path of profile_set_new; NULL = the shipped ones */
  gboolean      print_scenario, unfolded, interval, quiet;
  gint steps; /* steady periods to simulate at least; 0 = as many as the steady state needs */
  gint jobs;  /* 0 = one a core */
  StrategySet *strategies;
} Common;

/* Which groups of options a command takes. */
typedef enum
{
  COMMON_SCENARIO = 1 << 0, /* scenario files, --set and the options of the tables */
  COMMON_FORMAT = 1 << 1,
  COMMON_RUN = 1 << 2,     /* --unfolded --interval --trace --plot, and those of COMMON_JOBS */
  COMMON_NETWORK = 1 << 3, /* the options of the cluster and of the collective library */
  COMMON_JOBS = 1 << 4,    /* --jobs */
  COMMON_CLUSTER = 1 << 5, /* the options of the cluster */
} CommonFlags;

/*
 * Parses ARGV (the command's own words). SUMMARY and EXAMPLES are for --help, EXTRA further entries (may be NULL). Returns FALSE after
 * printing what is wrong to stderr; then the command returns EXIT_USAGE. --help prints and sets *DONE.
 */
gboolean common_parse (Common *self, CommonFlags flags, const char *arguments, const char *summary,
                       const char *examples, const GOptionEntry *extra, int argc, char **argv,
                       gboolean *done);
void     common_clear (Common *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Common, common_clear)

/* Prints DIAGS to stderr. Returns EXIT_USAGE when there are errors, else EXIT_DONE. */
ExitStatus common_report_diags (const DiagList *diags);

/* Prints "shardsim: MESSAGE" to stderr and returns EXIT_RUNTIME. */
ExitStatus common_report_error (const GError *error);

/* Scenarios of the one file given (or of the overrides alone); NULL after diagnostics on stderr. */
GPtrArray *common_load_scenarios (Common *self);

PredictOptions common_predict_options (const Common *self);

/* Threads to use: --jobs, or one a core. */
guint    common_n_jobs (const Common *self);
gboolean common_stderr_is_terminal (void);

/* --print-scenario: everything that would be used, as YAML documents. */
ExitStatus common_print_scenarios (const GPtrArray *scenarios);

/* Prints PREDICTIONS to stdout in the format asked for; TEXT writes the text form. */
ExitStatus common_print_report (const Common *self, const GPtrArray *predictions,
                                void (*text) (const GPtrArray *predictions, GString *out));

/* FALSE after a message on stderr when there are more than N positional words. */
gboolean common_want_words (const Common *self, guint n);

/* FALSE after a message on stderr when the file holds several scenarios. */
gboolean common_want_one (const Common *self, const GPtrArray *scenarios);

/* Prints OUT to stdout. */
ExitStatus common_print (const GString *out);

/*
 * Writes what --trace and --plot ask for. REPLAYS: one a prediction, needed for --trace only. FALSE with ERROR set; then no partial
 * file is left over.
 */
gboolean common_write_files (const Common *self, const GPtrArray *predictions,
                             const Replay *const *replays, GError **error);

/* One file a command. */
typedef int (*CommandMain) (int argc, char **argv);
int cmd_simulate (int argc, char **argv);
int cmd_compare (int argc, char **argv);
int cmd_collective (int argc, char **argv);
int cmd_figures (int argc, char **argv);
int cmd_flows (int argc, char **argv);
int cmd_schedule (int argc, char **argv);
int cmd_strategies (int argc, char **argv);
int cmd_hardware (int argc, char **argv);
int cmd_import (int argc, char **argv);
int cmd_models (int argc, char **argv);
int cmd_calibrate (int argc, char **argv);
int cmd_validate (int argc, char **argv);
