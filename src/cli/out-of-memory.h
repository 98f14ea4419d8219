/* The memory that the program takes: counted, limited, and said where there is no more. */
#pragma once

#include <glib.h>

/* Half of what the machine has for this process, until a command says otherwise. */
void out_of_memory_prepare (void);

/* SIZE of '--max-memory-use', of COMMAND. FALSE after a message. */
gboolean out_of_memory_take_limit (const char *command, const char *size);
