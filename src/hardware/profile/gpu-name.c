#include "hardware/profile/gpu-name.h"

#include <string.h>

#define MOST_WORDS 3 /* of a model: "rtx 6000 ada" */

/* TEXT in lower case, everything but letters and digits a space. */
static char *
plain_words (const char *text)
{
  char *words = g_ascii_strdown (text, -1);

  for (char *c = words; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c))
      *c = ' ';
  return words;
}

/* What an id has of a board and its memory: "rtxpro6000" of "rtx-pro-6000-96". */
static char *
model_of (const char *id)
{
  static const char *const forms[] = { "sxm", "pcie", "nvl", "gcd", "gt", "host", NULL };
  g_auto (GStrv)           parts = g_strsplit (id, "-", -1);
  const guint              n = g_strv_length (parts);
  GString                 *model = g_string_new (NULL);

  for (guint i = 0; i < n && (i == 0 || i + 1 < n) && !g_strv_contains (forms, parts[i]); i++)
    g_string_append (model, parts[i]);
  return g_string_free (model, FALSE);
}

/*
 * The model of a profile's id is a word of WORDS, or some that follow one another: "rtx4090" of
 * "nvidia geforce rtx 4090".
 */
static gboolean
names_model (const char *words, const char *id)
{
  g_auto (GStrv)   parts = g_strsplit_set (words, " ", -1);
  g_autofree char *model = model_of (id);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_autoptr (GString) joined = g_string_new (NULL);

      for (guint k = i; k < i + MOST_WORDS && parts[k] != NULL; k++)
        {
          g_string_append (joined, parts[k]);
          if (strcmp (joined->str, model) == 0)
            return TRUE;
        }
    }
  return FALSE;
}

/* "80" of "nvidia h100 80gb hbm3"; newly allocated, NULL where there is none. */
static char *
memory_of (const char *words)
{
  const char *end = strstr (words, "gb"), *start = end;

  while (start != NULL && start > words && g_ascii_isdigit (start[-1]))
    start--;
  return start != end ? g_strndup (start, (gsize) (end - start)) : NULL;
}

/* ID fits what the words of a GPU's name say of model, board and memory. */
static gboolean
fits_words (const char *words, const char *id)
{
  g_autofree char *memory = memory_of (words);
  const char      *size = strrchr (id, '-');

  return names_model (words, id)
         && !(strstr (words, "sxm") != NULL && strstr (id, "-pcie-") != NULL)
         && !(strstr (words, "pcie") != NULL && strstr (id, "-sxm-") != NULL)
         && (memory == NULL || size == NULL || strcmp (size + 1, memory) == 0);
}

gboolean
gpu_name_is_model (const char *name, const char *id)
{
  g_autofree char *words = plain_words (name);

  return names_model (words, id);
}

gboolean
gpu_name_fits (const char *name, const char *id)
{
  g_autofree char *words = plain_words (name);

  return fits_words (words, id);
}

char *
gpu_name_ids (const char *name, ProfileSet *profiles)
{
  g_auto (GStrv)      known = profile_set_list (profiles, "gpu");
  g_autofree char    *words = plain_words (name);
  g_autoptr (GString) ids = g_string_new (NULL);

  for (guint i = 0; known[i] != NULL; i++)
    if (fits_words (words, known[i]))
      g_string_append_printf (ids, "%s%s", ids->len > 0 ? ", " : "", known[i]);
  return ids->len > 0 ? g_strdup (ids->str) : NULL;
}
