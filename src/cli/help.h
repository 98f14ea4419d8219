/* What --help prints: options in groups, their descriptions wrapped to the terminal. */
#pragma once

#include <glib.h>

/* Options under one title. */
typedef struct
{
  const char *name;    /* "model": what --help-model shows; NULL: shown by --help at once */
  const char *title;   /* "Model" */
  GArray     *entries; /* GOptionEntry, NULL-terminated; owned */
} HelpGroup;

GPtrArray *help_groups_new (void); /* of HelpGroup */
HelpGroup *help_groups_add (GPtrArray *groups, const char *name, const char *title);

typedef struct
{
  const char        *command, *arguments, *summary, *examples;
  const GPtrArray   *groups; /* the command's own options first */
  const char *const *common; /* shown behind its own, in place of groups with a name; or NULL */
  guint              width;  /* columns of the terminal */
} Help;

/* Columns of the terminal: COLUMNS, or what stdout's says; 80 in a pipe. */
guint help_terminal_width (void);

/* WANTED: name of a group, "all", or NULL for the overview. Newly allocated. */
char *help_format (const Help *self, const char *wanted);

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
