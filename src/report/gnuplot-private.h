/*
 * Running gnuplot for the pictures of the reports. A picture NAME leaves four files in its folder: NAME.dat and NAME.gp, which draw
 * it again with `gnuplot NAME.gp`, and NAME.png and NAME.svg, which the script makes.
 */
#pragma once

#include <gio/gio.h>

typedef struct
{
  char *name;
  char *data, *script; /* texts of NAME.dat and NAME.gp */
} GnuplotPicture;

/*
 * Draws N pictures of different names into DIR, which is made when it is missing. FALSE with ERROR set when gnuplot is missing or
 * fails, or a file cannot be written; then DIR is as it was, up to pictures that were complete when writing failed.
 */
gboolean gnuplot_draw (const GnuplotPicture *pictures, guint n, const char *dir, GError **error);

/* TEXT, cut after MOST characters, without what ends a line or a string in gnuplot's files. Newly allocated. */
char *gnuplot_plain_text (const char *text, glong most);

/* Appends TEXT in single quotes, where gnuplot expands nothing. */
void gnuplot_append_quoted (GString *out, const char *text);
