/*
 * What has to do with some words: terms, commands, options, keys, strategies, profiles, models,
 * headings of the documentation.
 */
#pragma once

#include "cli/argument/common.h"

/* How near a thing is to the words, the nearest first. */
typedef enum
{
  NEAR_NAME,     /* it is so called */
  NEAR_WORD,     /* a word of its name begins so */
  NEAR_PART,     /* its name has it inside */
  NEAR_HELP,     /* a word of its text begins so */
  NEAR_ANYWHERE, /* its text has it inside a word: no answer where there is a nearer one */
} Nearness;

typedef struct
{
  const char *kind; /* "option", "strategy", "gpu" */
  char       *name; /* "--micro-batch", "fsdp2: --set strategy.shard" */
  char       *help;
  Nearness    nearness; /* of the word that is farthest */
} Found;

/*
 * All that has to do with every one of WORDS (strv): array of Found, kinds in a fixed order, within
 * each the nearest first. *HINT: where there is nothing, the name nearest to them, newly allocated,
 * or NULL.
 */
GPtrArray *search_all (const Common *common, char *const *words, char **hint);
