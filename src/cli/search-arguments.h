/* What a search varies and may take: of every command that searches configurations. */
#pragma once

#include "analysis/search.h"
#include "cli/common.h"

typedef struct
{
  char        **vary, *max_memory, *max_host_memory;
  gint          simulate;
  double        effort, within, margin; /* the latter two in percent; negative: not given */
  gboolean      only, no_refine;
  const Common *common;
  GPtrArray    *frameworks; /* EmitFramework, that an answer may run on */
  ProfileSet   *profiles;   /* of those scenarios */
  GPtrArray    *pool;       /* what the following points to */
  SearchVary   *varied;     /* of --vary */
  guint         n_varied;
} SearchWords;

/* Appends the options to ENTRIES (GOptionEntry), with SELF as their target. */
void search_words_add_options (SearchWords *self, GArray *entries);

/*
 * Takes the words apart, into SELF and those fields of OPTIONS that they set. FALSE after a
 * message.
 */
gboolean search_words_take (SearchWords *self, const Common *common, SearchOptions *options);

void search_words_clear (SearchWords *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SearchWords, search_words_clear)
