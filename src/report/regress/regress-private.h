/* What the forms of `regress` share. Strings are newly allocated. */
#pragma once

#include "report/regress/regress.h"

/* "8 scenarios against 'baseline.json': 1 moved, 6 as before, 1 new" */
char *regress_summary (const GPtrArray *comparisons, const char *baseline);

/* Scenarios with a result that moved. */
guint regress_n_moved (const GPtrArray *comparisons);

/* The numbers with as many digits as tell them apart; words as they are; "none". */
void        regress_cells (const RegressChange *change, char **was, char **now);
char       *regress_cell_change (double change); /* "+3.5 %"; "" where there is none */
char       *regress_cell_limit (const RegressLimit *limit);
const char *regress_change_name (const RegressChange *change);

/* "option training.compile: off -> on" */
char *regress_cause_text (const RegressCause *cause);

/* That it was the program: "no input changed: shardsim 0.1.0 -> 0.2.0". */
char *regress_program_text (const RegressComparison *self);

/* The effect of EFFECTS on change INDEX; NAN where that is not known. */
double regress_effect (const GArray *effects, guint index);

/* What changed, in words, and what that does alone to one result; NAN: not known. */
typedef struct
{
  char  *text;
  double effect;
} RegressEffect;

/*
 * Each cause of SELF, the program where it did something, and what they do together beyond each
 * alone, to HEADLINE (NULL: none) at INDEX. An array of RegressEffect that frees them.
 */
GArray *regress_effects_of (const RegressComparison *self, const RegressChange *headline,
                            guint index);

/* "step_time_s 1.203 -> 1.245 (+3.5 %, limit 0.5 %)" */
char *regress_change_text (const RegressChange *change);
