/*
 * Where the values of a table's options were set: each option keeps its own origin, so that a
 * finding about one points at it. The texts of the marks outlive the input.
 */
#pragma once

#include "base/config/option.h"

typedef struct
{
  const OptionSpec *table;   /* NULL: of no table, SECTION only */
  SourceMark        section; /* where the map of options stands; without a file: nowhere */
  SourceMark *keys;    /* by the table's order; without a file: nobody set it. NULL: no key was */
  gboolean   *implied; /* by the same: option_marks_imply. NULL: none is */
} OptionMarks;

void option_marks_clear (OptionMarks *self);
/* TARGET is cleared first. */
void option_marks_copy (const OptionMarks *source, OptionMarks *target);
void option_marks_set (OptionMarks *self, const char *key, const SourceMark *mark);
void option_marks_set_section (OptionMarks *self, const SourceMark *mark);
void option_marks_load (OptionMarks      *self,
                        const ConfigNode *node); /* NODE, and every value if it is a map */

/* Whether somebody set KEY. */
gboolean option_marks_has (const OptionMarks *self, const char *key);

/* Whether somebody set any key, or wrote the section down. */
gboolean option_marks_has_any (const OptionMarks *self);

/*
 * Notes whether KEY has the value that it would have anyway. Who printed a scenario and reads it
 * again has said no more than before.
 */
void option_marks_imply (OptionMarks *self, const char *key, gboolean implied);

/* Whether somebody set KEY to what nothing implies. */
gboolean option_marks_has_own (const OptionMarks *self, const char *key);

/*
 * Place of the first of the keys (NULL-terminated) that was set, else of the section; NULL where
 * there is neither, or no SELF.
 */
const SourceMark *option_mark (const OptionMarks *self, ...) G_GNUC_NULL_TERMINATED;
