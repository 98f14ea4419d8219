/*
 * The options of the command line that are keys of a scenario: made from the option tables of its
 * sections, and kept as overrides.
 */
#pragma once

#include "cli/argument/common.h"

/* A section of a scenario. Its keys become options of commands, a group of their help. */
typedef struct
{
  const char *name, *title;
  CommonFlags flags;     /* of commands that have them; 0: its keys are set with --set */
  const char *shorthand; /* help of the option of its name, short for its most used key; or NULL */
} OptionSection;

enum
{
  N_OPTION_SECTIONS = 11
};

extern const OptionSection option_sections[N_OPTION_SECTIONS];

/* Sets any key. */
#define SECTION_OPTION_SET "set"

/* A GOptionArgFunc for the options of sections: DATA is a Common, whose overrides they become. */
gboolean section_options_set (const char *option, const char *value, gpointer data, GError **error);

/* The key that OPTION ("micro-batch") stands for; NULL for others and for short names of keys. */
const OptionSpec *section_options_find (const char *option);

/* "tokens a sequence (default 2048)", with the words of a choice. Newly allocated. */
char *section_options_describe (const OptionSpec *spec);
