/*
 * The options of the command line that are keys of a scenario: made from the option tables of its
 * sections, and kept as overrides.
 */
#pragma once

#include "cli/common.h"
#include "cli/help.h"

/* A section of a scenario. Its keys become options of commands, a group of their help. */
typedef struct
{
  const char *name, *title;
  CommonFlags flags; /* of commands that have them; 0: its keys are set with --set */
} OptionSection;

enum
{
  N_OPTION_SECTIONS = 8
};

extern const OptionSection option_sections[N_OPTION_SECTIONS];

/* Adds those that FLAGS ask for to GROUPS (of HelpGroup) and to CONTEXT; they fill SELF. */
void section_options_add (Common *self, CommonFlags flags, GPtrArray *groups,
                          GOptionContext *context);

/* The key that OPTION ("micro-batch") stands for; NULL for others and for short names of keys. */
const OptionSpec *section_options_find (const char *option);

/* "tokens a sequence (default 2048)", with the words of a choice. Newly allocated. */
char *section_options_describe (const OptionSpec *spec);

/* Adds every strategy's own keys to GROUPS: known once plug-ins are loaded, given with --set. */
void section_options_add_strategies (Common *self, GPtrArray *groups);
