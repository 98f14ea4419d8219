#include "cli/argument/general-options.h"

#include "cli/argument/common.h"
#include "cli/help/page-values.h"

typedef Common Settings;

/* Of commands that may take much memory. */
#define SIMULATES (COMMON_SCENARIO | COMMON_RUN | COMMON_JOBS | COMMON_NETWORK | COMMON_CLUSTER)

const GeneralOption general_options[] = {
  { 0, { OPTION ("help", VALUE_SWITCH, help, NULL, "show this help"), .letter = 'h' } },
  { 0,
    { OPTION (
        "plugin", VALUE_FILES, plugins, "FILE",
        "load a strategy from a shared object: trusted code, which runs with your rights") } },
  { 0,
    { OPTION ("hwprofiles", VALUE_FOLDER, hwprofiles, "DIR",
              "folder of hardware profiles laid over the shipped ones") } },
  { COMMON_FORMAT,
    { OPTION ("format", VALUE_TEXTS, formats, "text|csv|json",
              "how the result is printed (default text)") } },
  { COMMON_CHAKRA,
    { OPTION ("format", VALUE_TEXTS, formats, "text|csv|json|chakra",
              "how the result is printed (default text)") } },
  { COMMON_TRACE,
    { OPTION ("trace", VALUE_FILE, trace, "FILE", "write a Chrome/Perfetto trace"),
      .check = stream_check_file } },
  { COMMON_PAGES,
    { OPTION ("plot", VALUE_FOLDER, plot, "DIR", "draw pictures into the folder DIR (gnuplot)"),
      .check = stream_check_pictures } },
  { COMMON_PAGES,
    { OPTION ("html", VALUE_FILE, html, "FILE",
              "write one self-contained page with tables and pictures (gnuplot)"),
      .check = stream_check_page } },
  { COMMON_SCENARIO,
    { OPTION ("as", VALUE_TEXT, as, "FRAMEWORK",
              "whose job the file is, where its keys do not tell"),
      .words = &words_readers } },
  { COMMON_SCENARIO,
    { OPTION ("lenient", VALUE_SWITCH, lenient, NULL,
              "predict a job without what cannot be followed of it") } },
  { COMMON_SCENARIO,
    { OPTION ("account", VALUE_SWITCH, account, NULL, "say what became of every key of a job") } },
  { COMMON_RUN,
    { OPTION ("print-scenario", VALUE_SWITCH, print_scenario, NULL,
              "print all that would be used, as YAML, and stop") } },
  { COMMON_RUN,
    { OPTION ("unfolded", VALUE_SWITCH, unfolded, NULL,
              "simulate every rank instead of representatives") } },
  { COMMON_RUN,
    { OPTION ("interval", VALUE_SWITCH, interval, NULL,
              "also simulate at both ends of the hardware figures' ranges") } },
  { COMMON_RUN,
    { OPTION ("steps", VALUE_COUNT, steps, "N",
              "simulate at least N steady periods (the steady state is the same)") } },
  { COMMON_RUN | COMMON_JOBS,
    { OPTION ("jobs", VALUE_COUNT, jobs, "N",
              "work side by side in N threads (default: one a core)"),
      .letter = 'j' } },
  { COMMON_TIME,
    { OPTION ("time-limit", VALUE_QUANTITY, time_limit, "TIME",
              "end after so long with what there is by then, such as '2 min'"),
      .kind = QUANTITY_TIME, .fallback = NOT_GIVEN } },
  { SIMULATES,
    { OPTION ("max-memory-use", VALUE_QUANTITY, max_memory_use, "SIZE",
              "memory that shardsim itself may take, such as '16 GB' (default: half of the "
              "machine's)"),
      .kind = QUANTITY_BYTES, .fallback = NOT_GIVEN } },
  { 0, { 0 } },
};

gboolean
general_option_is_of (const GeneralOption *self, const Command *command)
{
  return self->flags == 0 || (self->flags & command->takes);
}
