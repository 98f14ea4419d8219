/*
 * The options of the command line that are keys of a scenario: made from the option tables of its
 * sections, and kept as overrides.
 */
#pragma once

#include "cli/common.h"
#include "cli/help.h"

/* A section whose keys become options: a group of the help. */
typedef struct
{
  const char *name, *title;
  CommonFlags flags; /* of commands that have them */
} OptionSection;

enum
{
  N_OPTION_SECTIONS = 7
};

extern const OptionSection option_sections[N_OPTION_SECTIONS];

/* Adds those that FLAGS ask for to GROUPS (of HelpGroup) and to CONTEXT; they fill SELF. */
void section_options_add (Common *self, CommonFlags flags, GPtrArray *groups,
                          GOptionContext *context);

/* Adds every strategy's own keys to GROUPS: known once plug-ins are loaded, given with --set. */
void section_options_add_strategies (Common *self, GPtrArray *groups);
