/* shardsim import topology: a node profile from NCCL's dump, lstopo's XML, nvidia-smi's matrix. */
#include <errno.h>
#include <string.h>

#include "base/file/output.h"
#include "cli/help/page-values.h"
#include "cli/output/profile-output.h"
#include "import/topology/import.h"

typedef struct
{
  ImportOptions parts;
  char         *output; /* NULL: to stdout */
} Settings;

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

/* FOLDER/ID.yaml, made with its folder. */
static gboolean
write_file (const char *file, const char *text, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (file);

  if (g_mkdir_with_parents (folder, 0777) == 0)
    return output_file_write (file, text, error);
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot write '%s': %s", file,
               g_strerror (errno));
  return FALSE;
}

/* NODE is in a folder of that name, so that its parts have theirs beside it. */
static gboolean
is_in_folders (const char *node)
{
  g_autofree char *folder = g_path_get_dirname (node), *name = g_path_get_basename (folder);

  return g_str_equal (name, "node");
}

/* Where PART of the node's file NODE goes. */
static char *
part_file (const char *node, const ImportPart *part)
{
  g_autofree char *folder = g_path_get_dirname (node),
                  *name = g_strconcat (part->id, ".yaml", NULL);
  g_autofree char *above = g_path_get_dirname (folder);

  return is_in_folders (node) ? g_build_filename (above, part->kind, name, NULL)
                              : g_build_filename (folder, name, NULL);
}

/* The parts first: a node that names what is not there is of no use. */
static ExitStatus
write_profiles (const char *file, const char *text, const GPtrArray *parts)
{
  g_autofree char *use = profile_output_use (file, "node");

  for (guint i = 0; i <= parts->len; i++)
    {
      const ImportPart  *part = i < parts->len ? g_ptr_array_index (parts, i) : NULL;
      g_autofree char   *own = part != NULL ? part_file (file, part) : g_strdup (file);
      g_autoptr (GError) error = NULL;

      if (!write_file (own, part != NULL ? part->text : text, &error))
        return stream_report_error (error);
      if (part != NULL)
        stream_say ("'%s' is written: a %s that the node names\n", own, part->kind);
    }
  stream_say ("'%s' is written: %s, or name it by its file: --cluster 'N x %s'\n", file, use, file);
  return EXIT_DONE;
}

/* Parts stand behind the node as comments. */
static ExitStatus
print_profiles (const char *text, const GPtrArray *parts)
{
  g_autoptr (GString) out = g_string_new (text);

  for (guint i = 0; i < parts->len; i++)
    {
      const ImportPart *part = g_ptr_array_index (parts, i);
      g_auto (GStrv)    lines = g_strsplit (part->text, "\n", -1);

      g_string_append_printf (out, "\n# %s.yaml:\n", part->id);
      for (guint k = 0; lines[k] != NULL && *lines[k] != '\0'; k++)
        g_string_append_printf (out, "# %s\n", lines[k]);
      stream_say ("the node names '%s.yaml', a %s that stands behind it as a comment: -o writes "
                  "both\n",
                  part->id, part->kind);
    }
  return stream_print (out);
}

static ExitStatus
run (Common *common, gpointer data)
{
  Settings              *settings = data;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  g_autofree char       *text = NULL, *output = NULL, *called = NULL;
  g_autoptr (GPtrArray)  parts = g_ptr_array_new_with_free_func (import_part_free);
  ExitStatus             status;

  if (settings->output != NULL)
    { /* the profile is called as --name says, or as its file */
      called = settings->parts.name != NULL ? g_strdup (settings->parts.name)
                                            : name_of (common->files[0]);
      output = profile_output_file (common, settings->output, "node", called);
      if (output == NULL)
        return EXIT_USAGE;
      if (settings->parts.name == NULL)
        settings->parts.name = name_of (output);
      settings->parts.in_folders = is_in_folders (output);
    }
  settings->parts.parts = parts;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  text = import_topology (common->files[0], &settings->parts, profiles, diags);
  stream_report_diags (diags);
  if (text == NULL)
    return EXIT_USAGE;
  if (settings->parts.nic == NULL && strstr (text, "\nnic: none\n") != NULL)
    stream_say ("the file shows no network cards: several nodes need some, as 'nics' and 'nic' of "
                "the profile or with --nics N --nic ID\n");
  return output != NULL ? write_profiles (output, text, parts) : print_profiles (text, parts);
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, output, "FILE",
            "the profile's file, named ID.yaml, or a folder of profiles (one that is there, or "
            "FOLDER/) for node/NAME.yaml in it; default: stdout"),
    .letter = 'o', .check = profile_output_check },
  { OPTION ("name", VALUE_TEXT, parts.name, "NAME",
            "what the profile calls itself; default: the file's name") },
  { OPTION ("gpu", VALUE_TEXT, parts.gpu, "ID",
            "the GPUs' profile; default: by PCI id, which a matrix does not have"),
    .words = &words_gpus },
  { OPTION ("intra", VALUE_TEXT, parts.intra, "ID",
            "the link between GPUs; default: by the links that the file lists"),
    .words = &words_links },
  { OPTION ("nic", VALUE_TEXT, parts.nic, "ID",
            "the cards' profile, or none; default: by PCI id and speed"),
    .words = &words_links },
  { 0 },
};

const Command command_import_topology = {
  .name = "import topology",
  .help = "a node, from NCCL's topology dump, lstopo's XML or nvidia-smi topo -m",
  .arguments = "FILE",
  .summary = "Makes a node profile of the XML that NCCL or RCCL writes with NCCL_TOPO_DUMP_FILE, "
             "of lstopo's, or of the matrix that 'nvidia-smi topo -m' prints: where GPUs and "
             "network cards hang, and how the GPUs are linked.",
  .examples = "Examples:\n"
              "  NCCL_TOPO_DUMP_FILE=box.xml all_reduce_perf -g 8\n"
              "  shardsim import topology box.xml -o mine/node/box.yaml\n"
              "  lstopo box.xml\n"
              "  shardsim import topology box.xml --intra nvlink4-switch --nic ib-ndr-400\n"
              "  nvidia-smi topo -m >box.txt\n"
              "  shardsim import topology box.txt --gpu a100-sxm-80 --nic ib-hdr-200 -o mine/\n",
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .missing = "no file given",
  .run = run,
};
