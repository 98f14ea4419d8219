/* Manual pages in the language of man(7), made of the commands' own help. */
#pragma once

#include "cli/help/pages.h"

/* Appends the page of one command. */
void manual_write_command (const Page *page, GString *out);

/* Appends shardsim(1): all commands. */
void manual_write_program (const GPtrArray *pages, GString *out);

/* Appends shardsim-scenario(7): the keys of scenarios, those of the strategies too. */
void manual_write_scenario (GString *out);

/* "shardsim-validate-training", the page's name. Newly allocated. */
char *manual_name (const Command *command);
