/*
 * A command's own options that an option table tells: they are read as text, as GOption knows no
 * units, and then set.
 */
#pragma once

#include "base/option.h"

/* Of the commands that search. */
#define VARY_OPTION(target)                                                                 \
  {                                                                                         \
    "vary", 0, 0, G_OPTION_ARG_STRING_ARRAY, target,                                        \
        "values of an option to choose from, in the place of those that are tried unasked", \
        "KEY=V1,V2"                                                                         \
  }

typedef struct _TableWords TableWords;

/* Appends the options of TABLE to ENTRIES (GOptionEntry), which is used before the words are freed.
 */
TableWords *table_words_new (const OptionSpec *table, GArray *entries);

/* The defaults, and over them what was given, into STRUCTURE (zeroed). FALSE after diagnostics. */
gboolean table_words_take (const TableWords *self, gpointer structure, DiagList *diags);

void table_words_free (TableWords *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TableWords, table_words_free)
