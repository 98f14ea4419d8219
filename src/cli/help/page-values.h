/* What the values of options and the words of commands may be, for completion. */
#pragma once

#include "cli/help/pages.h"

/* What may follow an option, or stand alone in a command's line. */
typedef struct
{
  gboolean files, folders; /* names of them */
  char   **words;          /* strv, owned; those that are known */
} PageValue;

void page_value_clear (PageValue *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PageValue, page_value_clear)

/* Of OPTION; its words are those of its table, or of the profiles that are shipped. */
PageValue page_value_of_option (const PageOption *option);

/* Of the words behind the options of COMMAND. */
PageValue page_value_of_command (const Command *command);

/* Words of a command's struct. */
extern const ValueWords words_strategies, words_profiles, words_models, words_figures,
    words_commands, words_shard_formats, words_collectives, words_algorithms, words_protocols,
    words_sections, words_maxima, words_keys, words_results, words_tolerances, words_frameworks,
    words_readers, words_gpus, words_links, words_bases;
