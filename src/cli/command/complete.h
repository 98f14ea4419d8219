/* `shardsim complete`, which is in no list of commands: it is the shells' own. */
#pragma once

#include "cli/output/stream.h"

/* TYPED: the words behind it. */
ExitStatus complete_words (char *const *typed);
