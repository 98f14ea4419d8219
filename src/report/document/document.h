/*
 * The answer of a command, as a document: what an answer has to say is written once, as a title, a
 * verdict, sections, facts, tables and lines, and each of four renderers makes of it what its
 * format shows.
 *
 *   text  all but what is for pages: titles of columns are capitals, facts are lines
 *   page  all (html.h); tables sort, sections are listed, facts are large or small
 *   CSV   the results' columns, a row each
 *   JSON  the results' keys, and objects that the answer adds (document_json)
 *
 * What is added stands in the order in which it is added.
 */
#pragma once

#include <json-c/json.h>

#include "base/config/column.h"
#include "report/document/html.h"
#include "report/document/page.h"

typedef struct _Document Document;

DocumentFormat document_format (const Document *self);
/* The page itself, for parts that only a page has; NULL: it is none. */
HtmlPage *document_page (const Document *self);
/* The document's object, for keys of its own; NULL: it is no JSON. */
struct json_object *document_json (const Document *self);

/* ---- words ----------------------------------------------------------------------------------- */

/* What the answer is of: the page's title, the text's first line. */
void document_title (Document *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The answer in a sentence. */
void document_verdict (Document *self, HtmlTone tone, const char *format, ...) G_GNUC_PRINTF (3, 4);
void document_section (Document *self, const char *title);
void document_subheading (Document *self, const char *title);
/* A paragraph: a line of text. */
void document_line (Document *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* TEXT with its lines as they are; nothing where it is empty. */
void document_lines (Document *self, const char *text);
/* What to type: on a page it can be copied. */
void document_copyable (Document *self, const char *text);
/* NOTE may be NULL. The value is taken. */
void document_fact (Document *self, const char *name, char *value, const char *note);
/* The same, one of the few numbers that a reader looks for. */
void document_tile (Document *self, const char *name, char *value, const char *note);
/* Each column of ROW that has a title, and a value that is not 0. */
void document_facts (Document *self, const Column *columns, gconstpointer row);
/* The picture NAME with its caption, where it was drawn. */
void document_picture (Document *self, const char *name);
/* What follows is on a page hidden behind SUMMARY until it is asked for. */
void document_begin_fold (Document *self, const char *summary);
void document_end_fold (Document *self);

/* "1.234 s", "39.4 GiB", "12.3 %" of a whole; newly allocated. */
char *document_seconds (double seconds);
char *document_bytes (double bytes);
char *document_share (double part, double whole);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Columns of a table, over rows of theirs. */
typedef struct
{
  const Column      *columns;
  Rows               rows;
  const char *const *keys; /* the columns of these keys alone; NULL: all that have a title */
} TableBlock;

/*
 * For people: blocks of columns side by side, with as many rows each. TONES: one a row, or NULL.
 * Nothing where there are no rows.
 */
void document_blocks (Document *self, const TableBlock *blocks, guint n_blocks,
                      const HtmlTone *tones);
/* Of a single block. */
void document_table (Document *self, const Column *columns, Rows rows);

/*
 * What machines read: the rows of CSV; in JSON a list under KEY (NULL: the answer adds it); on a
 * page all columns, folded.
 */
void document_results (Document *self, const char *key, const Column *columns, Rows rows);

/* ROW as an object, and rows as a list of them. */
struct json_object *column_object (const Column *columns, gconstpointer row);
struct json_object *column_list (const Column *columns, Rows rows);
void column_add_keys (const Column *columns, gconstpointer row, struct json_object *object);
