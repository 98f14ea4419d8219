/*
 * What is asked of a search, as words: of every caller that searches configurations. The command
 * line's options and the keys of a request (api/shardsim.h) are made of these tables.
 */
#pragma once

#include "base/config/option.h"
#include "decide/search/search.h"

typedef struct
{
  double      max_memory, max_host_memory; /* bytes; 0: all there are */
  double      within, memory_margin;       /* percent */
  double      effort;                      /* 0: the usual */
  gint64      simulate;                    /* 0: the usual */
  gboolean    only, no_refine;
  GPtrArray  *values; /* strv, that `varied` points to; NULL: nothing is varied */
  SearchVary *varied;
  guint       n_varied;
} SearchWords;

extern const OptionSpec search_options[];

/* KEY=VALUES, as a sweep reads them, as one more to vary; ORIGIN: "--vary". FALSE after
 * diagnostics. */
gboolean search_words_vary (SearchWords *self, const char *text, const char *origin,
                            DiagList *diags);

/* The fields of OPTIONS that the words say. */
void search_words_apply (const SearchWords *self, SearchOptions *options);
void search_words_clear (SearchWords *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SearchWords, search_words_clear)

/* What is wanted most, of a search alone: a plan has a goal of its own. */
typedef struct
{
  gint   objective;
  double price;
  gint64 best;
} SearchGoal;

extern const OptionSpec search_goal_options[];

/* The same of SELF. FALSE after diagnostics. */
gboolean search_goal_apply (const SearchGoal *self, SearchOptions *options, DiagList *diags);
