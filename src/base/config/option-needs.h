/*
 * Options without effect. What an option needs is a key of its table (OptionSpec.needs): terms with
 * commas between them, all of which must hold.
 *
 *   "compression: powersgd|top-k"   another option of the table has one of these values
 *   "pp > 1"                        another option is a number above this one
 *   "no top_k"                      another option is as it is by default
 *   "experts"                       a fact: all else
 *
 * An option that has no effect itself has no value that another could need.
 */
#pragma once

#include "base/config/option-marks.h"

/* What a term stands for that names no option of the table. */
typedef struct
{
  const char *name; /* "experts"; NULL ends a list of them */
  gboolean (*holds) (gconstpointer about);
  const char *hint; /* how to have it; NULL: as the name says */
} OptionFact;

typedef struct
{
  const OptionSpec *table;
  gconstpointer     given;   /* as the user set them: what is as by default is not warned of */
  gconstpointer     options; /* as they are in the end, which terms are asked of */
  const OptionFact *facts;   /* NULL: there are none */
  gconstpointer     about;   /* of the facts */
} OptionScope;

/* Whether SPEC, an option of the table, was moved from its default and needs what is not there. */
gboolean option_is_idle (const OptionScope *scope, const OptionSpec *spec);

/*
 * The first option of the table that SPEC needs above a number and that is not above it, or NULL.
 * What facts say is left out, so a scope without facts will do.
 */
const OptionSpec *option_short_of (const OptionScope *scope, const OptionSpec *spec);

/*
 * Warns of each option that was moved from its default and needs what is not there. MARKS: where
 * options were set, and what somebody set: a framework's implied settings are nobody's mistake,
 * also where a scenario that was printed says them;
 * NULL: all that differ from their defaults, and DIAGS finds their places by key.
 */
void option_warn_idle (const OptionScope *scope, const OptionMarks *marks, DiagList *diags);

/*
 * The same of something that is called NAME but is no option of a table: it needs the fact WITHOUT,
 * and HINT (may be NULL) says how to have it.
 */
void option_warn_without (const char *name, const char *without, const char *hint,
                          const SourceMark *mark, DiagList *diags);
