/*
 * What the documentation says of words: the rows of docs/glossary.md, and the headings of all other
 * pages. Written at build time by help-index.awk.
 */
#pragma once

typedef struct
{
  const char *kind; /* "term": a row of the glossary; "page": a heading */
  const char *name; /* the words, separated by commas; the heading */
  const char *also; /* other words for it; "" of a heading */
  const char *help; /* what it is; "" of a heading */
  const char *page; /* where to read on: "docs/memory.md" */
} HelpIndexEntry;

extern const HelpIndexEntry help_index[]; /* ends with a NULL kind */
