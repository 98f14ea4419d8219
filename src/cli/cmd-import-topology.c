/* shardsim import topology: a node profile from NCCL's topology dump or lstopo's XML. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/subjects.h"
#include "cluster/import.h"

typedef struct
{
  ImportOptions parts;
  char         *output; /* NULL: to stdout */
} Arguments;

static void
clear (Arguments *self)
{
  g_free ((char *) self->parts.name);
  g_free ((char *) self->parts.gpu);
  g_free ((char *) self->parts.intra);
  g_free ((char *) self->parts.nic);
  g_free (self->output);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Arguments, clear)

/* The id is the file's name. */
static char *
id_of (const char *file, const char *suffix)
{
  g_autofree char *base = g_path_get_basename (file);

  if (g_str_has_suffix (base, suffix))
    base[strlen (base) - strlen (suffix)] = '\0';
  return g_filename_display_name (base);
}

/* As profiles are found by their ids. */
static gboolean
is_id (const char *word)
{
  static const char all[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.";

  return g_ascii_isalnum (word[0]) && strspn (word, all) == strlen (word);
}

/* A folder stands for the profile's place in it. FALSE after a message where there is no id. */
static gboolean
find_output (const Common *common, Arguments *self)
{
  g_autofree char *id = NULL, *base = NULL;

  if (self->output == NULL || !g_file_test (self->output, G_FILE_TEST_IS_DIR))
    return TRUE;
  id = self->parts.name != NULL ? g_strdup (self->parts.name) : id_of (common->files[0], ".xml");
  if (!is_id (id))
    {
      fprintf (
          stderr,
          "shardsim %s: no profile can be called '%s'\n  hint: give --name, of letters, digits, '-', '_' and '.'\n",
          common->command, id);
      return FALSE;
    }
  base = g_strconcat (id, ".yaml", NULL);
  g_autofree char *folder = self->output;
  self->output = g_build_filename (folder, "node", base, NULL);
  return TRUE;
}

static ExitStatus
cannot_write (const char *file, const char *why)
{
  g_autoptr (GError) error =
      g_error_new (G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot write '%s': %s", file, why);

  return common_report_error (error);
}

static ExitStatus
write_profile (const char *file, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char   *folder = g_path_get_dirname (file);

  if (g_mkdir_with_parents (folder, 0777) != 0)
    return cannot_write (file, g_strerror (errno));
  if (!g_file_set_contents_full (file, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0666, &error))
    return cannot_write (file, error->message);
  fprintf (stderr,
           "'%s' is written: put it into a folder FOLDER/node and use it with --hwprofiles FOLDER\n",
           file);
  return EXIT_DONE;
}

static ExitStatus
import (const Common *common, Arguments *arguments)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  g_autofree char       *text = NULL;
  g_autoptr (GString)    out = NULL;

  if (arguments->parts.name == NULL && arguments->output != NULL)
    arguments->parts.name = id_of (arguments->output, ".yaml");
  text = import_topology (common->files[0], &arguments->parts, profiles, diags);
  common_report_diags (diags);
  if (text == NULL)
    return EXIT_USAGE;
  if (arguments->output != NULL)
    return write_profile (arguments->output, text);
  out = g_string_new (text);
  return common_print (out);
}

int
cmd_import_topology (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  g_auto (Arguments) arguments = { 0 };
  gboolean           done = FALSE;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments.output,
      "the profile's file, named ID.yaml, or a folder of profiles for node/NAME.yaml in it; default: stdout",
      "FILE" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.name,
      "what the profile calls itself; default: the file's name", "NAME" },
    { "gpu", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.gpu,
      "the GPUs' profile; default: by PCI id", "ID" },
    { "intra", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.intra,
      "the link between GPUs; default: by the links that the file lists", "ID" },
    { "nic", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.nic,
      "the cards' profile, or none; default: by PCI id and speed", "ID" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, 0, "FILE.xml",
          "Makes a node profile of the XML that NCCL or RCCL writes with NCCL_TOPO_DUMP_FILE, or of lstopo's: where "
          "GPUs and network cards hang, and how the GPUs are linked.",
          "Examples:\n"
          "  NCCL_TOPO_DUMP_FILE=box.xml all_reduce_perf -g 8\n"
          "  shardsim import topology box.xml -o mine/node/box.yaml\n"
          "  lstopo box.xml && shardsim import topology box.xml --intra nvlink4-switch --nic ib-ndr-400\n",
          entries, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    {
      fprintf (stderr, "shardsim %s: no file given\n  see 'shardsim %s --help'\n", common.command,
               common.command);
      return EXIT_USAGE;
    }
  if (!common_want_words (&common, 1))
    return EXIT_USAGE;
  if (!find_output (&common, &arguments))
    return EXIT_USAGE;
  return import (&common, &arguments);
}
