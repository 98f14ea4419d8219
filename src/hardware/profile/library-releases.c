/* Releases of the collective library: which one a version or a name means, what one says. */
#include <math.h>
#include <string.h>

#include "base/version.h"
#include "hardware/profile/library-profile.h"
#include "hardware/profile/profile-tables-private.h"

#define UNKNOWN  "unknown"
#define SMALLEST 64 /* bytes of the first factor of a correction */

static gint
newest_first (gconstpointer a, gconstpointer b)
{
  const LibraryProfile *const *x = a, *const *y = b;

  return version_compare ((*y)->version, (*x)->version);
}

GPtrArray *
profile_set_libraries (ProfileSet *self, DiagList *diags)
{
  static const char *const all[] = { NULL };
  const char *const       *ids = profile_set_mentioning (self, library_profile_kind.name, all);
  g_autoptr (GPtrArray)    libraries = g_ptr_array_new ();
  gboolean                 ok = TRUE;

  for (guint i = 0; ids[i] != NULL; i++)
    {
      gpointer one = profile_set_get (self, &library_profile_kind, ids[i], NULL, diags);

      if (one != NULL)
        g_ptr_array_add (libraries, one);
      ok = ok && one != NULL;
    }
  if (ok && libraries->len == 0)
    {
      g_autofree char *folders = profile_set_folders (self, library_profile_kind.name);
      g_autofree char *hint = g_strconcat ("searched: ", folders, NULL);

      diag_error (diags, NULL, hint, "there is no profile of a collective library");
      return NULL;
    }
  g_ptr_array_sort (libraries, newest_first);
  return ok ? g_steal_pointer (&libraries) : NULL;
}

/* Whether WORD is one of WORDS (may be NULL), separated by spaces, in either case. */
static gboolean
has_word (const char *words, const char *word)
{
  const gsize length = strlen (word);

  while (words != NULL && *words != '\0')
    {
      const gsize n = strcspn (words, " ");

      if (n == length && g_ascii_strncasecmp (words, word, n) == 0)
        return TRUE;
      words += n + strspn (words + n, " ");
    }
  return FALSE;
}

const LibraryProfile *
library_profile_find (const GPtrArray *libraries, const char *version)
{
  const gboolean any = version == NULL || g_ascii_strcasecmp (version, UNKNOWN) == 0;

  for (guint i = 0; i < libraries->len; i++)
    {
      const LibraryProfile *one = g_ptr_array_index (libraries, i);

      g_assert (one != NULL);
      if (any || has_word (one->aliases, version)
          || (version_is_valid (version) && version_compare (version, one->version) >= 0))
        return one;
    }
  return NULL;
}

const LibraryProfile *
library_profile_nearest (const GPtrArray *libraries, const char *version)
{
  const LibraryProfile *found = library_profile_find (libraries, version);

  return found != NULL
             ? found
             : g_ptr_array_index (libraries, version_is_valid (version) ? libraries->len - 1 : 0);
}

const LibraryProfile *
library_profile_usual (const GPtrArray *libraries, const GpuProfile *gpu)
{
  for (guint i = 0; i < libraries->len; i++)
    if (has_word (((const LibraryProfile *) libraries->pdata[i])->usual, gpu->architecture))
      return libraries->pdata[i];
  return NULL;
}

/* "2.28, 2.18, RCCL, unknown" */
static char *
known_versions (const GPtrArray *libraries)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < libraries->len; i++)
    g_ptr_array_add (names, g_strdup (((const LibraryProfile *) libraries->pdata[i])->version));
  for (guint i = 0; i < libraries->len; i++)
    {
      const char    *aliases = ((const LibraryProfile *) libraries->pdata[i])->aliases;
      g_auto (GStrv) words = g_strsplit (aliases != NULL ? aliases : "", " ", -1);

      for (guint w = 0; words[w] != NULL; w++)
        if (*words[w] != '\0'
            && !g_ptr_array_find_with_equal_func (names, words[w], g_str_equal, NULL))
          g_ptr_array_add (names, g_strdup (words[w]));
    }
  g_ptr_array_add (names, g_strdup (UNKNOWN));
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **) names->pdata);
}

gboolean
library_profile_check (const GPtrArray *libraries, const char *version, const SourceMark *mark,
                       DiagList *diags)
{
  g_autofree char *known = NULL, *hint = NULL;

  if (library_profile_find (libraries, version) != NULL)
    return TRUE;
  known = known_versions (libraries);
  hint = g_strdup_printf ("known: %s; a release in between has the figures of the one before it",
                          known);
  if (version_is_valid (version))
    diag_error (diags, mark, hint, "'%s' is older than all known releases of the library", version);
  else
    diag_error (diags, mark, hint, "expected a version for 'nccl', got '%s'", version);
  return FALSE;
}

/* ---- what one says --------------------------------------------------------------------------- */

static const LibraryGeneration *
find_generation (const LibraryProfile *self, const char *architecture)
{
  for (guint i = 0; self->generations != NULL && i < self->generations->len; i++)
    {
      const LibraryGeneration *generation =
          &g_array_index (self->generations, LibraryGeneration, i);

      if (has_word (generation->architectures, architecture))
        return generation;
    }
  return NULL;
}

double
library_profile_ll_net (const LibraryProfile *self, guint n_nodes)
{
  return n_nodes == 2 ? self->ll_net_two.value : self->ll_net_more.value;
}

double
library_profile_correction (const LibraryProfile *self, CollectiveProtocol protocol, double bytes,
                            guint n_sizes)
{
  const guint size = bytes >= SMALLEST ? (guint) log2 (bytes / SMALLEST) : 0;

  return size < MIN (n_sizes, CORRECTION_SIZES) ? (double) self->tree_correction[protocol][size]
                                                : 1;
}

const LibraryGeneration *
library_profile_generation (const LibraryProfile *self, const GpuProfile *gpu)
{
  const LibraryGeneration *found = find_generation (self, gpu->architecture);

  g_assert (found != NULL);
  return found;
}
