/* Families of links, and which measured rows cross one of them: what is fitted together. */
#pragma once

#include "calibrate/collectives.h"
#include "calibrate/minimise.h"
#include "evidence/tables/collective-predictor.h"

/* A family while it is fitted. The variables are the result's figures. */
typedef struct
{
  FittedFamily *result;
  GArray       *rows;   /* guint */
  GArray       *ranges; /* MinimiseRange of each variable */
  GArray       *values; /* double */
  GArray       *own;    /* double: each link's own value of each variable, link by link */
  GArray       *known;  /* double: what a variable is without the fit; 0 = nobody says */
  GArray       *beside; /* double: what is always added to a variable: its distance is the sum's */
} LinkFamily;

/*
 * The families that the healthy rows of MEASUREMENTS cross, by name, but for rows of the source
 * LEFT_OUT (may be NULL); of the names in ONLY where that is not NULL. Owned by the caller; each
 * one's result is not.
 */
GPtrArray *link_families_collect (const GPtrArray *measurements, CollectivePredictor *predictor,
                                  const char *left_out, const GPtrArray *only);

void link_family_free (gpointer data); /* GDestroyNotify: all but the result */
void fitted_family_free (gpointer data);
