/* Drawn cases of generation: a model, a mesh and a batch. */
#pragma once

#include "fixture.h"

typedef struct
{
  Fixture  f;
  gboolean alike;    /* all blocks are */
  gboolean measured; /* its GPU's products */
  double   batch, cached;
  char    *text;
} Case;

/*
 * The NUMBER-th: plain transformers, dense and of experts, of grouped queries, of latents, of
 * windows, some of them shipped; the instance divides the cluster. What it says of itself is TEXT.
 */
Case case_new (guint number);
void case_clear (Case *self);
