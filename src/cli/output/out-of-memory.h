/* The memory that the program takes: counted, limited, and said where there is no more. */
#pragma once

#include <glib.h>

/* Half of what the machine has for this process, until a command says otherwise. */
void out_of_memory_prepare (void);
