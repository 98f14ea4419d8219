/*
 * Faceted pictures, drawn by gnuplot: blocks of data, and panels that draw them. A panel is some
 * commands and one "plot", whose elements are appended one by one.
 */
#pragma once

#include "report/plot/gnuplot-private.h"

typedef struct
{
  char    *name;
  GString *data; /* lines of the blocks */
  GString *head; /* commands ahead of the panels */
  GString *panels;
  guint    n_blocks;
  gboolean plots; /* a panel's "plot" goes on */
} Facets;

/* A picture of one or more panels: a format and its arguments make the name. */
Facets *facets_new (const char *name, ...) G_GNUC_PRINTF (1, 2);

/* Ends the block before and begins one, whose columns COMMENT names. Its index. */
guint facets_block (Facets *self, const char *comment);

/* Appends a line of numbers to the data, NaN where there is none. */
void facets_numbers (Facets *self, const double *values, gsize n);
#define facets_line(self, ...)                     \
  facets_numbers (self, (double[]){ __VA_ARGS__ }, \
                  sizeof ((double[]){ __VA_ARGS__ }) / sizeof (double))

/* Appends a command, which ends a plot before. */
void facets_command (Facets *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The same for "COMMAND 'TEXT'", of at most MOST characters. */
void facets_text (Facets *self, const char *command, const char *text, glong most);

/*
 * Appends an element to the panel's plot, which it begins: "data index 0 using 1:2 with lines". The
 * key calls it TITLE; NULL: it is not in the key.
 */
void facets_draw (Facets *self, const char *title, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* The panel that follows has nothing but a key. */
void facets_key_panel (Facets *self);

/*
 * Adds the picture to PICTURES (GnuplotPicture) and frees SELF. LAYOUT is of several panels, "1,3",
 * or NULL. WIDTH and HEIGHT in pixels; STYLE as for gnuplot_script.
 */
void facets_finish (Facets *self, const char *layout, guint width, guint height, const char *style,
                    GArray *pictures);
