#include "base/config/suggest.h"

#include <string.h>

#define MAX_WORD    64
#define MAX_LISTED  12
#define LEAST_PART  2 /* letters of a word that stands for longer names, which it begins ... */
#define LEAST_PIECE 4 /* ... and of which it is any piece */

/*
 * Edit distance with adjacent transpositions (optimal string alignment), letter case ignored; at
 * most MAX_WORD each.
 */
static guint
edit_distance (const char *a, const char *b)
{
  gsize length_a = strlen (a);
  gsize length_b = strlen (b);
  guint row[3][MAX_WORD + 1]; /* of i - 2, i - 1 and i, cyclic */

  for (gsize j = 0; j <= length_b; j++)
    row[0][j] = (guint) j;
  for (gsize i = 1; i <= length_a; i++)
    {
      guint *this = row[i % 3];
      guint *above = row[(i + 2) % 3];
      guint *above2 = row[(i + 1) % 3];

      this[0] = (guint) i;
      for (gsize j = 1; j <= length_b; j++)
        {
          char  x = g_ascii_tolower (a[i - 1]);
          char  y = g_ascii_tolower (b[j - 1]);
          guint distance = MIN (MIN (above[j] + 1, this[j - 1] + 1), above[j - 1] + (x != y));

          if (i > 1 && j > 1 && x == g_ascii_tolower (b[j - 2]) && y == g_ascii_tolower (a[i - 2]))
            distance = MIN (distance, above2[j - 2] + 1);
          this[j] = distance;
        }
    }
  return row[length_a % 3][length_b];
}

const char *
suggest_nearest (const char *word, const char *const *names)
{
  gsize       length = strlen (word);
  guint       limit = (guint) MAX (1, length / 3);
  const char *best = NULL;

  if (length == 0 || length > MAX_WORD)
    return NULL;
  for (; *names; names++)
    {
      if (strlen (*names) > MAX_WORD)
        continue;
      guint distance = edit_distance (word, *names);
      /* A word that shares no letter with the name is not a misspelling of it. */
      if (distance <= limit && distance < length)
        {
          best = *names;
          if (distance == 0)
            break;
          limit = distance - 1; /* only a nearer name replaces it: the first of equals stays */
        }
    }
  return best;
}

/* Whether WORD begins NAME or a part of it after a dash, in either case: 'h100' of 'dgx-h100'. */
static gboolean
begins_part (const char *name, const char *word)
{
  const gsize length = strlen (word);

  while (name != NULL && g_ascii_strncasecmp (name, word, length) != 0)
    {
      name = strchr (name, '-');
      name = name != NULL ? name + 1 : NULL;
    }
  return name != NULL;
}

char **
suggest_containing (const char *word, const char *const *names)
{
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();

  for (; strlen (word) >= LEAST_PART && *names != NULL; names++)
    if (begins_part (*names, word))
      g_strv_builder_add (found, *names);
  return g_strv_builder_end (found);
}

/*
 * The NAMES of which WORD is any piece: 'a6000' of 'rtxa6000-48'. Only words with a number, which
 * names something by itself: others are in names by chance, as 'bytes' is.
 */
static char **
names_around (const char *word, const char *const *names)
{
  g_autoptr (GStrvBuilder) found = g_strv_builder_new ();
  g_autofree char         *small = g_ascii_strdown (word, -1);

  for (; strlen (word) >= LEAST_PIECE && strpbrk (word, "0123456789") != NULL && *names != NULL;
       names++)
    {
      g_autofree char *name = g_ascii_strdown (*names, -1);

      if (strstr (name, small) != NULL)
        g_strv_builder_add (found, *names);
    }
  return g_strv_builder_end (found);
}

/* Whether NAME has WORD, one of several: 'h100' begins a part, '3090' is a piece, '80gb' is 80. */
static gboolean
has_word (const char *name, const char *word)
{
  g_autofree char *part =
      g_str_has_suffix (word, "gb") ? g_strndup (word, strlen (word) - 2) : g_strdup (word);

  return strlen (part) >= LEAST_PART
         && (begins_part (name, part)
             || (strlen (part) >= LEAST_PIECE && strpbrk (part, "0123456789") != NULL
                 && strstr (name, part) != NULL));
}

/* Leaves those of FOUND that have WORD, if there are any. */
static void
keep_having (GPtrArray *found, const char *word)
{
  guint n = 0;

  for (guint i = 0; i < found->len; i++)
    n += has_word (found->pdata[i], word);
  for (guint i = found->len; n > 0 && i > 0; i--)
    if (!has_word (found->pdata[i - 1], word))
      g_ptr_array_remove_index (found, i - 1);
}

/*
 * The NAMES that several words mean, as people write them: all of those that any name has, in
 * either case. "NVIDIA H100 80GB HBM3" is of 'h100-sxm-80', by two of its words.
 */
static char **
names_of_words (const char *text, const char *const *names)
{
  g_autofree char         *small = g_ascii_strdown (text, -1);
  g_auto (GStrv)           words = g_strsplit_set (small, " -", -1);
  g_autoptr (GPtrArray)    found = g_ptr_array_new ();
  g_autoptr (GStrvBuilder) out = g_strv_builder_new ();
  const gboolean           several = strpbrk (small, " -") != NULL;
  guint                    all;

  for (guint i = 0; several && names[i] != NULL; i++)
    g_ptr_array_add (found, (gpointer) names[i]);
  all = found->len;
  for (char **word = words; *word != NULL; word++)
    keep_having (found, *word);
  for (guint i = 0; i < found->len && found->len < all; i++)
    g_strv_builder_add (out, found->pdata[i]);
  return g_strv_builder_end (out);
}

/* "did you mean 'x'?" of NAMES; NULL: there are none, or too many. Newly allocated. */
static char *
ask_of (char *const *names)
{
  const guint      n = g_strv_length ((char **) names);
  g_autofree char *list = g_strjoinv ("', '", (char **) names);

  if (n == 0 || n > MAX_LISTED)
    return NULL;
  return g_strdup_printf (n > 1 ? "did you mean one of '%s'?" : "did you mean '%s'?", list);
}

char *
suggest_near (const char *word, const char *const *names)
{
  g_auto (GStrv) longer = suggest_containing (word, names), around = NULL, having = NULL;
  const char    *nearest = suggest_nearest (word, names);

  if (nearest != NULL)
    return g_strdup_printf ("did you mean '%s'?", nearest);
  if (*longer != NULL)
    return ask_of (longer);
  around = names_around (word, names);
  if (*around != NULL)
    return ask_of (around);
  having = names_of_words (word, names);
  return ask_of (having);
}

char *
suggest_hint (const char *word, const char *const *names)
{
  g_auto (GStrv) longer = suggest_containing (word, names);
  char          *near = ask_of (longer);
  GString       *hint;

  if (near == NULL)
    near = suggest_near (word, names);
  if (near != NULL)
    return near;
  if (!*names)
    return g_strdup ("there are no valid values");
  hint = g_string_new ("valid values: ");
  for (guint i = 0; names[i]; i++)
    {
      if (i == MAX_LISTED)
        {
          g_string_append (hint, ", ...");
          break;
        }
      g_string_append_printf (hint, "%s%s", i ? ", " : "", names[i]);
    }
  return g_string_free (hint, FALSE);
}

gint
name_index (const char *word, const char *const *names)
{
  for (gint i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], word) == 0)
      return i;
  for (gint i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp (names[i], word) == 0)
      return i;
  return -1;
}

guint
name_find_loosely (const char *const *names, guint n, const char *name)
{
  g_auto (GStrv)   parts = g_strsplit (name, "_", -1);
  g_autofree char *bare = g_strjoinv ("", parts);

  for (guint i = 0; i < n; i++)
    {
      g_auto (GStrv)   known = g_strsplit (names[i], "_", -1);
      g_autofree char *other = g_strjoinv ("", known);

      if (g_ascii_strcasecmp (bare, other) == 0)
        return i;
    }
  return n;
}
