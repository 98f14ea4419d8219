/*
 * Sites and what joins each ordered pair of them, from a square CSV matrix:
 *
 *   site,oregon,tokyo
 *   oregon,-,1.2 Gbit/s 96 ms 0.01 %
 *   tokyo,0.9 Gbit/s 96 ms,-
 *
 * A cell says the rate of the direction from its row's site to its column's, the round-trip time
 * and, if it is known, the share of packets lost in that direction. What the first cell of the
 * header says does not matter. Rows come in any order. Or from "8 x 1 Gbit/s 60 ms": eight sites,
 * 'site-0' to 'site-7', with such a link each way between any two.
 */
#pragma once

#include "base/config/diag.h"
#include "base/file/input-files.h"

#define SITE_MATRIX_MOST 64 /* sites */

typedef struct
{
  double rate; /* B/s */
  double rtt;  /* s, there and back */
  double loss; /* share of packets */
} SiteLink;

typedef struct
{
  guint     n;
  char    **names; /* [n], and NULL */
  SiteLink *links; /* [from * n + to]; zero from a site to itself */
} SiteMatrix;

/* Read once and kept in FILES. NULL after diagnostics: at MARK where FILE cannot be read. */
const SiteMatrix *site_matrix_get (InputFiles *files, const char *file, const SourceMark *mark,
                                   DiagList *diags);

/* The same of sites that are all joined alike: "8 x 1 Gbit/s 60 ms". */
gboolean          site_matrix_is_uniform (const char *text);
const SiteMatrix *site_matrix_get_uniform (InputFiles *files, const char *text,
                                           const SourceMark *mark, DiagList *diags);

/* Index of a site; -1: there is none of that name. */
gint site_matrix_find (const SiteMatrix *self, const char *name);
