#include "cli/output/profile-output.h"

#include <stdio.h>
#include <string.h>

#define SUFFIX ".yaml"

gboolean
profile_output_is_folder (const char *output)
{
  return g_str_has_suffix (output, G_DIR_SEPARATOR_S) || g_file_test (output, G_FILE_TEST_IS_DIR);
}

ExitStatus
profile_output_check (const char *option, const char *path)
{
  return stream_check_output (
      option, path, profile_output_is_folder (path) ? OUTPUT_FOLDER : OUTPUT_FILE_ANYWHERE);
}

static char *
refuse (const Common *common, const char *what, const char *why, const char *hint)
{
  common_say (common, "'%s' %s\n  hint: %s\n", what, why, hint);
  return NULL;
}

/* As profiles are found by their ids. */
static gboolean
is_id (const char *word)
{
  static const char all[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.";

  return g_ascii_isalnum (word[0]) && strspn (word, all) == strlen (word);
}

char *
profile_output_file (const Common *common, const char *output, const char *kind, const char *id)
{
  g_autofree char *base = g_path_get_basename (output);
  g_autofree char *own = NULL, *name = NULL, *hint = NULL;

  if (profile_output_is_folder (output))
    {
      name = g_strconcat (id, SUFFIX, NULL);
      return is_id (id)
                 ? g_build_filename (output, kind, name, NULL)
                 : refuse (common, id, "is no name that a profile can have",
                           "give one of letters, digits, '-', '_' and '.', as the file of -o or "
                           "with --name");
    }
  if (!g_str_has_suffix (base, SUFFIX))
    {
      hint = g_strdup_printf (
          "'%s/' is a folder of profiles, which is made; '%s" SUFFIX "' is a file", output, output);
      return refuse (common, output, "gives the profile no id", hint);
    }
  own = g_strndup (base, strlen (base) - strlen (SUFFIX));
  return is_id (own) ? g_strdup (output)
                     : refuse (common, output, "gives the profile no plain id",
                               "letters, digits, '-', '_' and '.', as in 'mine/box" SUFFIX "'");
}

char *
profile_output_use (const char *file, const char *kind)
{
  g_autofree char *folder = g_path_get_dirname (file), *name = g_path_get_basename (folder);
  g_autofree char *above = g_path_get_dirname (folder), *base = g_path_get_basename (file);
  const int        length = (int) (strlen (base) - strlen (SUFFIX));

  if (strcmp (name, kind) == 0)
    return g_strdup_printf ("use it as '%.*s' with --hwprofiles '%s'", length, base, above);
  return g_strdup_printf ("use it as '%.*s' from a folder '%s' with --hwprofiles", length, base,
                          kind);
}
