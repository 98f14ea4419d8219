/*
 * One self-contained HTML page: sections of short facts, tables that sort, pictures (inline SVG), a
 * timeline that zooms, texts to copy. It asks the network for nothing, and follows the reader's
 * choice of light or dark and the width of the screen.
 *
 * What is added stands in the order in which it is added. Texts are taken as they are: the page
 * escapes them, and what is not UTF-8 or a control character becomes U+FFFD.
 */
#pragma once

#include <gio/gio.h>

#include "report/trace/timeline.h"

typedef struct _HtmlPage HtmlPage;

typedef enum
{
  HTML_PLAIN,
  HTML_GOOD,
  HTML_BAD,
} HtmlTone;

HtmlPage *html_page_new (const char *title);
void      html_page_free (HtmlPage *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HtmlPage, html_page_free)

void html_page_set_title (HtmlPage *self, const char *title);

/* A line below the title, the answer in words. */
void html_page_add_verdict (HtmlPage *self, HtmlTone tone, const char *text);

/* A heading, which the list of contents at the top names as well. */
void html_page_add_section (HtmlPage *self, const char *title);
void html_page_add_subheading (HtmlPage *self, const char *title);

/* What follows is hidden behind SUMMARY until it is asked for; up to the end, or a section. */
void html_page_begin_fold (HtmlPage *self, const char *summary);
void html_page_end_fold (HtmlPage *self);

void html_page_add_text (HtmlPage *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/*
 * TEXT as in a terminal, without the marks of printable.h; a line goes on in the next one
 * where the screen ends.
 */
void html_page_add_lines (HtmlPage *self, const char *text);

/* TEXT with its lines as they are (a single one as above), and a button that copies it. */
void html_page_add_copyable (HtmlPage *self, const char *text);

/* ---- facts ----------------------------------------------------------------------------------- */

/*
 * One more of CLASS "tiles" (large: the few numbers that a reader looks for) or "facts" (a line
 * each); those that follow each other stand together. NOTE may be NULL.
 */
void html_page_add_fact (HtmlPage *self, const char *class, const char *name, const char *value,
                         const char *note);

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct _HtmlTable HtmlTable;

typedef struct
{
  const char *title;
  gboolean    right; /* numbers */
} HtmlColumn;

/*
 * Rows of a table that stand in the page. Those behind them are data, which the page's script draws
 * as far as a reader asks for them: by the next ones, in another order, or with words in them.
 */
#define HTML_MAX_ROWS 200

/* Cells are added row by row, from left to right. */
HtmlTable *html_table_new (const HtmlColumn *columns, guint n);
void       html_table_add_text (HtmlTable *self, const char *text);
/* Sorted by VALUE; not finite: behind all others. */
void html_table_add_number (HtmlTable *self, const char *text, double value);
/* TEXT that is a number by itself sorts as one, any other as text. */
void html_table_add_either (HtmlTable *self, const char *text);
/* What is added from now on, up to the row's end, is of a row of TONE. */
void html_table_mark_row (HtmlTable *self, HtmlTone tone);

/* Takes TABLE. */
void html_page_take_table (HtmlPage *self, HtmlTable *table);

/* CSV as a table: its first row are the titles. */
void html_page_add_csv (HtmlPage *self, const char *csv);

/* ---- pictures -------------------------------------------------------------------------------- */

/* A picture that gnuplot drew, a whole SVG document. */
void html_page_add_svg (HtmlPage *self, const char *svg, const char *caption);

/* The streams over the period, to zoom into. */
void html_page_add_timeline (HtmlPage *self, const Timeline *timeline);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * Writes the page to FILE, whole or not at all (output.h), with the data files html/page.css
 * and html/page.js in it. FALSE with ERROR set.
 */
gboolean html_page_write (const HtmlPage *self, const char *file, GError **error);
