/* Completion of command lines: a script for each shell, all from the same pages. */
#pragma once

#include "cli/pages.h"

/* Names of the shells, then NULL. */
extern const char *const completion_shells[];

/* Each appends the script for one of them. */
void completion_write_bash (const GPtrArray *pages, GString *out);
void completion_write_fish (const GPtrArray *pages, GString *out);
void completion_write_zsh (const GPtrArray *pages, GString *out);

/* An option, and the pages on which it is the same: its letter, its text and its values. */
typedef struct
{
  const PageOption *option;
  GPtrArray        *pages;      /* const Page */
  gboolean          everywhere; /* no page has another option of this name */
} SharedOption;

GPtrArray *completion_share_options (const GPtrArray *pages); /* of SharedOption */

/* Appends TEXT between single quotes, as sh and zsh read it. */
void completion_append_quoted (GString *out, const char *text);

/* Of the subjects of PAGE: "collectives training". Newly allocated. */
char *completion_subject_words (const Page *page);
