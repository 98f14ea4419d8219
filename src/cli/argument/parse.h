/* Command lines, as a command's struct says what they may hold. */
#pragma once

#include "cli/argument/common.h"

/*
 * Parses WORDS, of which the first is the name of COMMAND, into SELF (zeroed) and SETTINGS (zeroed,
 * of the command). FALSE after saying what is wrong; then the command returns EXIT_USAGE. --help
 * prints and sets *DONE. What either holds is to be freed either way: common_clear, settings_clear.
 */
gboolean parse_words (Common *self, const Command *command, gpointer settings, char *const *words,
                      gboolean *done);

void settings_clear (const Command *command, gpointer settings);
