/* What makes a space: its axes and its variants. */
#pragma once

#include "decide/search/search-space.h"

typedef struct
{
  SearchSpace      *space;
  const SearchRoom *room;
  const SearchVary *vary;
  guint             n_vary;
} SpaceMaker;

/* ---- search-axes.c --------------------------------------------------------------------------- */

GPtrArray *search_axes_new (void);

/* What the user lets vary of sections; then what is open of the levers that are axes. */
void search_axes_add_varied (SpaceMaker *self, DiagList *diags);
void search_axes_add_open (SpaceMaker *self);

/* ---- search-variants.c ----------------------------------------------------------------------- */

GPtrArray *search_variants_new (void);

/*
 * What the user lets vary of strategies, or else the scenario's strategy and changes of it, or else
 * every strategy.
 */
void search_variants_add (SpaceMaker *self, DiagList *diags);
