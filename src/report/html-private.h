/* The parts of a page of predictions. */
#pragma once

#include "analysis/advice.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot-private.h"

/* Pictures and what gnuplot made of them. */
typedef struct
{
  GArray *pictures; /* GnuplotPicture */
  char  **svgs;     /* one each */
} PagePictures;

/* How an answer of one kind becomes a page and pictures. */
struct _PageKind
{
  char *(*title) (gconstpointer answer); /* newly allocated */
  gboolean (*draw) (GArray *pictures, const PlotScripts *scripts, gconstpointer answer,
                    GError **error); /* as plot_add; NULL: there are no pictures */
  void (*fill) (HtmlPage *page, const PagePictures *pictures, gconstpointer answer);
};

/* Adds the picture NAME with its caption, where there is one. */
void page_add_picture (HtmlPage *page, const PagePictures *pictures, const char *name);

/* ---- of one prediction (html-prediction.c) --------------------------------------------------- */

void page_add_headline (HtmlPage *page, const Prediction *p);
void page_add_time (HtmlPage *page, const Prediction *p);
void page_add_bindings (HtmlPage *page, const Prediction *p);
void page_add_advice (HtmlPage *page, const Advice *self);
void page_add_memory (HtmlPage *page, const Prediction *p);
void page_add_traffic (HtmlPage *page, const Prediction *p);
/* What ranks' streams did in a period of REPLAY, about MAX_SLICES ops at most. */
void page_add_streams (HtmlPage *page, const Replay *replay, guint max_slices);

/* What made the results: version, schema, profiles with hashes, and of what kind they are. */
void page_add_provenance (HtmlPage *page, const GPtrArray *predictions);
void page_add_scenario (HtmlPage *page, const Prediction *p);

/* ---- of one and of several (page.c) ---------------------------------------------------------- */

/*
 * Sections of what is behind a headline: time, bindings, memory, traffic; with REPLAY (or NULL)
 * streams and kernels, too.
 */
void page_add_details (HtmlPage *page, const Prediction *p, const Replay *replay,
                       const PagePictures *pictures);

/* The section of every column of report_csv, folded. */
void page_add_all_results (HtmlPage *page, const GPtrArray *predictions);
