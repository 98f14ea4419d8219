/* Names: which one a word means, and the nearest for a misspelt one. */
#pragma once

#include <glib.h>

/*
 * The entry of NAMES (NULL-terminated) that is nearest to WORD by edit distance with
 * transpositions, or NULL when none is near enough to be meant (distance over max (1, a third of
 * the length)). Owned by NAMES.
 */
const char *suggest_nearest (const char *word, const char *const *names);

/*
 * How names are matched everywhere (profiles, strategies, models, values of options): as they are
 * written first, then letters of either case. Index of WORD in NAMES (NULL-terminated), -1 when it
 * is none of them.
 */
gint name_index (const char *word, const char *const *names);

/* Index of NAME in N NAMES, in either case and without underscores; N when there is none. */
guint name_find_loosely (const char *const *names, guint n, const char *name);

/*
 * The NAMES (NULL-terminated) that WORD begins, or of which it begins a part after a dash, in
 * either case: 'h100' stands for 'h100-sxm-80' and for 'dgx-h100'. NULL-terminated, to be freed
 * with g_strfreev; none for a word of one letter.
 */
char **suggest_containing (const char *word, const char *const *names);

/*
 * "did you mean 'x'?" of the nearest of NAMES (NULL-terminated), else of those that WORD begins,
 * else of those that hold it where it has a number, else, where WORD is several with spaces or
 * dashes between them, of those that have all of them that any name has ("NVIDIA H100 80GB HBM3");
 * NULL: none is near, or too many are. Newly allocated.
 */
char *suggest_near (const char *word, const char *const *names);

/*
 * "did you mean 'x'?" of the names that WORD begins, else as suggest_near, or, when nothing is
 * near, "valid values: a, b, c" (at most 12 names). Newly allocated.
 */
char *suggest_hint (const char *word, const char *const *names);
