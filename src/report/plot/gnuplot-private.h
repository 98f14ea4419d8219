/*
 * Running gnuplot for the pictures of the reports. A picture NAME leaves four files in its folder:
 * NAME.dat and NAME.gp, which draw it again with `gnuplot NAME.gp`, and NAME.png and NAME.svg,
 * which the script makes.
 */
#pragma once

#include <gio/gio.h>

#include "predict/prediction.h"

typedef struct
{
  char *name;
  char *data, *script; /* texts of NAME.dat and NAME.gp */
} GnuplotPicture;

/* FALSE with ERROR set when there is no gnuplot. */
gboolean gnuplot_is_there (GError **error);

/*
 * Whether gnuplot_draw could begin: gnuplot is there, and DIR could be written. FALSE with ERROR
 * set.
 */
gboolean gnuplot_check (const char *dir, GError **error);

/*
 * Draws N pictures of different names into DIR, which is made when it is missing. FALSE with ERROR
 * set when gnuplot is missing or fails, or a file cannot be written; then DIR is as it was, up to
 * pictures that were complete when writing failed.
 */
gboolean gnuplot_draw (const GnuplotPicture *pictures, guint n, const char *dir, GError **error);

/*
 * Draws N pictures and leaves no files: the texts of their NAME.svg, a strv in their order. NULL
 * with ERROR set, as above.
 */
char **gnuplot_draw_svgs (const GnuplotPicture *pictures, guint n, GError **error);

/* Pictures that go with their array, of GnuplotPicture. */
GArray *gnuplot_pictures_new (void);

/*
 * TEXT without what ends a line or a string in gnuplot's files. Of more than MOST (at least 5)
 * characters the middle is left out: names are told apart by their ends. Newly allocated.
 */
char *gnuplot_plain_text (const char *text, glong most);

/* Appends TEXT in single quotes, where gnuplot expands nothing. */
void gnuplot_append_quoted (GString *out, const char *text);

/*
 * Appends "set xtics ('a' 0, 'b' 1)" of the axis LETTER with N NAMES, texts that are cut at MOST
 * characters.
 */
void gnuplot_append_tics (GString *out, char letter, const char *const *names, guint n, glong most);

/*
 * The script of picture NAME: STYLE (of plots/style.gp), HEAD with the axes, then PLOT for the
 * drawing of WIDTH x HEIGHT pixels and for the larger one of points. Newly allocated.
 */
char *gnuplot_script (const char *name, const char *style, const char *head, const char *plot,
                      guint width, guint height);
