/* What the values of options and the arguments of commands may be, for completion. */
#pragma once

#include "cli/pages.h"

/* Of OPTION of a command; its words are those of its table or of the profiles that are shipped. */
PageValue page_value_of_option (const GOptionEntry *entry, const OptionSpec *spec);

/* Of the positional words that a command's help calls ARGUMENTS. */
PageValue page_value_of_command (const char *command, const char *arguments);

/* "training.attention=flash2" and "training.seq_len=": what --set takes. strv. */
char **page_keys (void);
