/* The options that commands share, into Common. */
#pragma once

#include "cli/argument/command.h"

typedef struct
{
  CommonFlags   flags; /* of commands that take it; 0: all do */
  CommandOption option;
} GeneralOption;

extern const GeneralOption general_options[]; /* ends with an option without a name */

gboolean general_option_is_of (const GeneralOption *self, const Command *command);
