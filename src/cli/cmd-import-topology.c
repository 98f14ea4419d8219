/* shardsim import topology: a node profile from NCCL's dump, lstopo's XML, nvidia-smi's matrix. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "cli/profile-output.h"
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

/* What the file is called, less its ending. */
static char *
name_of (const char *file)
{
  static const char *const endings[] = { ".xml", ".txt", ".yaml" };
  g_autofree char         *base = g_path_get_basename (file);

  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (base, endings[i]))
      {
        base[strlen (base) - strlen (endings[i])] = '\0';
        break;
      }
  return g_filename_display_name (base);
}

/* The profile is called as --name says, or as its file. FALSE after a message. */
static gboolean
find_output (const Common *common, Arguments *self)
{
  g_autofree char *asked = g_steal_pointer (&self->output), *id = NULL;

  if (asked == NULL)
    return TRUE;
  id = self->parts.name != NULL ? g_strdup (self->parts.name) : name_of (common->files[0]);
  self->output = profile_output_file (common, asked, "node", id);
  if (self->output != NULL && self->parts.name == NULL)
    self->parts.name = name_of (self->output);
  return self->output != NULL;
}

static ExitStatus
cannot_write (const char *file, const char *why)
{
  g_autoptr (GError) error =
      g_error_new (G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot write '%s': %s", file, why);

  return stream_report_error (error);
}

static ExitStatus
write_profile (const char *file, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char   *folder = g_path_get_dirname (file);
  g_autofree char   *use = profile_output_use (file, "node");

  if (g_mkdir_with_parents (folder, 0777) != 0)
    return cannot_write (file, g_strerror (errno));
  if (!output_file_write (file, text, &error))
    return stream_report_error (error);
  stream_say ("'%s' is written: %s\n", file, use);
  return EXIT_DONE;
}

static ExitStatus
import (const Common *common, Arguments *arguments)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  g_autofree char       *text = NULL;
  g_autoptr (GString)    out = NULL;
  ExitStatus             status = profile_output_check (arguments->output);

  if (status != EXIT_DONE)
    return status;
  text = import_topology (common->files[0], &arguments->parts, profiles, diags);
  stream_report_diags (diags);
  if (text == NULL)
    return EXIT_USAGE;
  if (arguments->output != NULL)
    return write_profile (arguments->output, text);
  out = g_string_new (text);
  return stream_print (out);
}

int
cmd_import_topology (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  g_auto (Arguments) arguments = { 0 };
  gboolean           done = FALSE;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments.output,
      "the profile's file, named ID.yaml, or a folder of profiles (one that is there, or "
      "FOLDER/) for node/NAME.yaml in it; default: stdout",
      "FILE" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.name,
      "what the profile calls itself; default: the file's name", "NAME" },
    { "gpu", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.gpu,
      "the GPUs' profile; default: by PCI id, which a matrix does not have", "ID" },
    { "intra", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.intra,
      "the link between GPUs; default: by the links that the file lists", "ID" },
    { "nic", 0, 0, G_OPTION_ARG_STRING, &arguments.parts.nic,
      "the cards' profile, or none; default: by PCI id and speed", "ID" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, 0, "FILE",
          "Makes a node profile of the XML that NCCL or RCCL writes with NCCL_TOPO_DUMP_FILE, of "
          "lstopo's, or of the matrix that 'nvidia-smi topo -m' prints: where GPUs and network "
          "cards hang, and how the GPUs are linked.",
          "Examples:\n"
          "  NCCL_TOPO_DUMP_FILE=box.xml all_reduce_perf -g 8\n"
          "  shardsim import topology box.xml -o mine/node/box.yaml\n"
          "  lstopo box.xml\n"
          "  shardsim import topology box.xml --intra nvlink4-switch --nic ib-ndr-400\n"
          "  nvidia-smi topo -m >box.txt\n"
          "  shardsim import topology box.txt --gpu a100-sxm-80 --nic ib-hdr-200 -o mine/\n",
          entries, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    {
      stream_say ("shardsim %s: no file given\n  see 'shardsim %s --help'\n", common.command,
                  common.command);
      return EXIT_USAGE;
    }
  if (!common_want_words (&common, 1))
    return EXIT_USAGE;
  if (!find_output (&common, &arguments))
    return EXIT_USAGE;
  return import (&common, &arguments);
}
