#include "base/file/layout.h"

#include "base/compare.h"
#include "shardsim-config.h"

char *
layout_data_dir (void)
{
  const char *set = g_getenv ("SHARDSIM_DATADIR");

  if (set && *set)
    return g_strdup (set);
  /*
   * The build system writes the first: a program that runs from its build folder finds the data of
   * its sources.
   */
  if (g_file_test (SHARDSIM_DATADIR_SOURCE "/hwprofiles", G_FILE_TEST_IS_DIR))
    return g_strdup (SHARDSIM_DATADIR_SOURCE);
  return g_strdup (SHARDSIM_DATADIR_INSTALLED);
}

char *
layout_data_file (const char *relative)
{
  g_autofree char *dir = layout_data_dir ();

  return g_build_filename (dir, relative, NULL);
}

char *
layout_module_file (const char *name)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname (program) : g_strdup (".");
  const char      *folders[] = { folder, SHARDSIM_MODULEDIR };

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *file = g_build_filename (folders[i], name, NULL);

      if (g_file_test (file, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer (&file);
    }
  return NULL;
}

char **
folder_entries (const char *folder, const char *ending)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  GPtrArray       *names = g_ptr_array_new ();
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ending))
      g_ptr_array_add (names, g_strndup (name, strlen (name) - strlen (ending)));
  g_ptr_array_sort (names, compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

const char *
layout_program_version (void)
{
  return SHARDSIM_VERSION;
}
