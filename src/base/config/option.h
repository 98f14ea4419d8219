/*
 * Option tables: one typed table drives YAML keys, --set on the command line, CSV columns, --help
 * and the docs.
 *
 * A table is a const array of OptionSpec ended by { 0 }; it fills a plain C struct whose members
 * are:
 *   OPTION_STRING   char *     (newly allocated; NULL when unset)
 *   OPTION_BOOL     gboolean   ("1"/"0", true/false, yes/no, on/off)
 *   OPTION_INT      gint64     (decimal; "5e8" and suffixes k M G T accepted when exact)
 *   OPTION_ENUM     gint       (index into choices; a last choice "layers:K" or "K" takes a
 *                              number K from 1: index + K)
 *   OPTION_QUANTITY double     (base unit of kind; unit required unless the kind has none)
 */
#pragma once

#include "base/config/config.h"
#include "base/config/units.h"

typedef enum
{
  OPTION_STRING,
  OPTION_BOOL,
  OPTION_INT,
  OPTION_ENUM,
  OPTION_QUANTITY,
} OptionType;

typedef struct
{
  const char        *key; /* "micro_batch"; NULL ends the table */
  OptionType         type;
  QuantityKind       kind;     /* of OPTION_QUANTITY */
  const char *const *choices;  /* of OPTION_ENUM, NULL-terminated */
  gsize              offset;   /* G_STRUCT_OFFSET (Struct, member) */
  const char        *fallback; /* default as text, or NULL: required unless `optional` */
  gboolean           optional; /* unset stays zero / NULL without error; so no zero is taken, but */
  gboolean           or_zero;  /* 0 may stand beside the range: it says "none" */
  gboolean pairs;    /* a text of NAME=VALUE with commas between them; in a file it may be a map */
  gboolean file;     /* a text may name a file, which stands beside the input's */
  gboolean what_if;  /* nobody proposes another value: it trains something else, or no
                                  released system has it */
  double   min, max; /* of INT and QUANTITY, inclusive; both 0 = no range, max < min = no maximum */
  const char *follows; /* key of the option that decides this one where it is set: then this one
                          is not printed as given; or NULL */
  const char *needs; /* what it has an effect with only: base/config/option-needs.h; NULL: always */
  const char *help;  /* one line */
  const char *source; /* where default or meaning comes from: a paper, a code base, or NULL */
} OptionSpec;

/* Fills STRUCTURE (zeroed by the caller) with the defaults of TABLE. */
void option_table_defaults (const OptionSpec *table, gpointer structure);

/* Frees the strings of STRUCTURE and zeroes them. */
void option_table_clear (const OptionSpec *table, gpointer structure);

/* Deep-copies every option of SOURCE to TARGET (which must be zeroed). */
void option_table_copy (const OptionSpec *table, gconstpointer source, gpointer target);

const OptionSpec *option_table_find (const OptionSpec *table, const char *key);

/*
 * The key "GROUP_KEY" of TABLE; GROUP's keys may stand in a map of their own: "private: { method:
 * ghost }" is "private_method: ghost". NULL: there is none. KEY NULL: any of the group.
 */
const char *option_table_find_in_group (const OptionSpec *table, const char *group,
                                        const char *key);

/* NULL-terminated keys of TABLE, container newly allocated (g_free), strings owned by TABLE. */
const char **option_table_keys (const OptionSpec *table);

/*
 * Sets one option from TEXT. On a bad value (type, unit, range, choice) adds a diagnostic at MARK
 * with a hint and returns FALSE, leaving the old value. "" is a bad value of every option: what
 * says nothing (an empty cell, a null) is not set at all, or unset.
 */
gboolean option_set (const OptionSpec *spec, gpointer structure, const char *text,
                     const SourceMark *mark, DiagList *diags);

/* The same by key; an unknown key is diagnosed with the nearest name. */
gboolean option_set_key (const OptionSpec *table, gpointer structure, const char *key,
                         const char *text, const SourceMark *mark, DiagList *diags);

/* Whether it has the value that a table gives it, or none. */
gboolean option_is_default (const OptionSpec *spec, gconstpointer structure);

/* Whether it has the value that TEXT, which must be a good one, says; NULL: none. */
gboolean option_has_value (const OptionSpec *spec, gconstpointer structure, const char *text);

/* A string has its default again; all else is zero. */
void option_unset (const OptionSpec *spec, gpointer structure);

/*
 * Sets every key of the map NODE, those of groups in maps of their own too; unknown keys, lists or
 * maps where a value belongs, and bad values are diagnosed, all in one pass. Keys in IGNORE
 * (NULL-terminated, may be NULL) are skipped. Absent options keep their values.
 */
gboolean option_load_map (const OptionSpec *table, gpointer structure, const ConfigNode *node,
                          const char *const *ignore, DiagList *diags);

/*
 * Adds "missing 'key'" at MARK (may be NULL) for each option that is required (no fallback, not
 * optional) and still NULL or zero; switches and enums always have a value. FALSE when any is
 * missing.
 */
gboolean option_check_required (const OptionSpec *table, gconstpointer structure,
                                const SourceMark *mark, DiagList *diags);

/*
 * The value of one option as text that option_set reads back ("" for an unset string). Newly
 * allocated.
 */
char *option_format (const OptionSpec *spec, gconstpointer structure);
