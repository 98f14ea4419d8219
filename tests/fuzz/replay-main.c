/*
 * Replays a corpus through a fuzz target, without libFuzzer: each file of the folder given is one
 * TAP case. A case fails only by a crash, an assertion of the target or a sanitizer's report,
 * which all end the program.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(const char *const *) a, *(const char *const *) b);
}

/* Names in FOLDER, sorted; NULL with ERROR set. */
static GPtrArray *
list_files (const char *folder, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir)      dir = g_dir_open (folder, 0, error);
  const char           *name;

  if (dir == NULL)
    return NULL;
  while ((name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  return g_steal_pointer (&names);
}

static gboolean
replay_file (const char *folder, const char *name, GError **error)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *data = NULL;
  gsize            size;

  if (!g_file_get_contents (path, &data, &size, error))
    return FALSE;
  LLVMFuzzerTestOneInput ((const guint8 *) data, size);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) names = argc == 2 ? list_files (argv[1], &error) : NULL;

  if (names == NULL || names->len == 0)
    {
      fprintf (stderr, "usage: %s FOLDER: %s\n", argv[0],
               error ? error->message : "needs a folder of inputs");
      return EXIT_FAILURE;
    }
  printf ("1..%u\n", names->len);
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);

      fprintf (stderr, "%s\n", name); /* the last one named is the one that crashed */
      if (!replay_file (argv[1], name, &error))
        {
          fprintf (stderr, "%s\n", error->message);
          return EXIT_FAILURE;
        }
      printf ("ok %u - %s\n", i + 1, name);
      fflush (stdout);
    }
  return EXIT_SUCCESS;
}
