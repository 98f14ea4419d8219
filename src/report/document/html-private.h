/* The parts of a page of predictions. */
#pragma once

#include "report/document/document.h"
#include "report/document/page.h"
#include "report/plot/plot-private.h"

/* Pictures and what gnuplot made of them. */
typedef struct
{
  GArray *pictures; /* GnuplotPicture */
  char  **svgs;     /* one each */
} PagePictures;

/* How an answer of one kind becomes a document and pictures. */
struct _PageKind
{
  gboolean (*draw) (GArray *pictures, const PlotScripts *scripts, gconstpointer answer,
                    GError **error); /* as plot_add; NULL: there are no pictures */
  void (*describe) (Document *document, gconstpointer answer); /* what it says */
  const Column *columns; /* of the answer's results; NULL: those of another answer */
};

/* Fills PAGE with what KIND says of ANSWER. */
void page_describe (const PageKind *kind, gconstpointer answer, HtmlPage *page,
                    const PagePictures *pictures);

/* Adds the picture NAME with its caption, where there is one. */
void page_add_picture (HtmlPage *page, const PagePictures *pictures, const char *name);
