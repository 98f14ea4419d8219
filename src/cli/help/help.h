/* What --help prints: options in groups, their descriptions wrapped to the terminal. */
#pragma once

#include "cli/help/pages.h"

/* Columns of the terminal: COLUMNS, or what stdout's says; 80 in a pipe. */
guint help_terminal_width (void);

/* WANTED: name of a section, "all", or NULL for the overview. Newly allocated. */
char *help_format (const Page *page, const char *wanted, guint width);

/*
 * Appends TEXT, whose lines are paragraphs that are wrapped to WIDTH; those that begin with a
 * blank, which are examples, stay as they are.
 */
void help_append_text (GString *out, const char *text, guint width);

/* Appends "  NAME        TEXT": a command, a subject. */
void help_append_item (GString *out, const char *name, const char *text, guint width);

/*
 * Appends TEXT in lines of at most WIDTH columns, all but the first INDENT to the right; AT: the
 * column that OUT stands at.
 */
void help_wrap (GString *out, const char *text, guint indent, guint at, guint width);
