/* The parts of a page of predictions. */
#pragma once

#include "analysis/advice.h"
#include "report/html.h"
#include "report/plot-private.h"

/* Pictures and what gnuplot made of them. */
typedef struct
{
  GArray *pictures; /* GnuplotPicture */
  char  **svgs;     /* one each */
} PagePictures;

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
