/*
 * What goes with a prediction for who asked: what would be faster (decide/explore/advice.h), and
 * what would fit (remedies.h). Both run predictions; here is what they found, which a prediction
 * owns.
 */
#pragma once

#include <glib.h>

typedef struct
{
  GArray  *options; /* OptionEffect, the most gain first, one a lever */
  GArray  *figures; /* FigureAdvice, the most gain first */
  guint    n_simulated;
  gboolean cut; /* a bound of the budget left changes out */
} Advice;

void advice_free (Advice *self);

typedef struct
{
  GPtrArray  *found; /* Remedy, the shortest step first, one a set of levers */
  guint       n_planned, n_simulated;
  guint64     n_events; /* that simulations took, with their plans: RemedyBudget.max_events */
  gboolean    cut;      /* a bound of the budget ended the search: there were more changes */
  const char *ended_by; /* "time limit", "SIGINT", in the budget's place; static; NULL: nothing */
  char   *nearest;  /* where none fits: options of what lacks least, "" for the scenario as it is */
  guint64 lacking;  /* bytes, of that */
  char   *sequence; /* options that hold the sequence that does not fit (MemoryUse.sequence), and
                       change nothing else; "": none do; NULL: none is too long */
} Remedies;

void remedies_free (Remedies *self);
