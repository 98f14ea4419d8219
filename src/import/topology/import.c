#include "import/topology/import.h"

#include <string.h>

#include "base/file/file-roles.h"
#include "import/topology/import-private.h"

static const MachineFormat *
find_format (const Machine *self)
{
  static const MachineFormat *const formats[] = { &machine_format_nccl, &machine_format_lstopo };
  if (self->table != NULL)
    return &machine_format_matrix;
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (xml_node_is (self->root, formats[i]->root))
      return formats[i];
  machine_error (self, &self->mark,
                 xml_node_is (self->root, "graphs")
                     ? "that is NCCL_GRAPH_DUMP_FILE's; take NCCL_TOPO_DUMP_FILE's"
                     : "NCCL's topology starts with <system>, lstopo's with <topology>",
                 "<%s> is no topology", self->root->name);
  return NULL;
}

/* NCCL's elements, and lstopo's. */
static guint
count_devices (const XmlNode *node)
{
  guint n = xml_node_is (node, "pci") || g_strcmp0 (xml_node_get (node, "type"), "PCIDev") == 0;

  for (guint i = 0; i < xml_node_length (node); i++)
    n += count_devices (xml_node_child (node, i));
  return n;
}

/* With what the file has instead. */
static void
say_no_gpu (const Machine *self)
{
  const guint      n = self->root != NULL ? count_devices (self->root) : 0;
  g_autofree char *hint =
      n > 0 ? g_strdup_printf (
          "PCI devices in it: %u, none an accelerator of NVIDIA or AMD by vendor "
          "and class",
          n)
            : g_strdup ("it has no PCI devices either: was it made without them ('lstopo --of xml' "
                        "shows them on the machine itself)?");

  machine_error (self, &self->mark, self->table == NULL ? hint : NULL, "no GPU in the file");
}

static gboolean
read_machine (Machine *self, const ImportOptions *options, ProfileSet *profiles)
{
  const guint          errors = diag_list_n_errors (self->diags);
  const MachineFormat *format = find_format (self);
  if (format == NULL)
    return FALSE;
  format->read_devices (self);
  if (diag_list_n_errors (self->diags) > errors)
    return FALSE;
  machine_leave_out_displays (self, options, profiles);
  if (self->gpus->len == 0)
    say_no_gpu (self);
  else if (self->sockets > 64)
    machine_error (self, &self->mark, NULL, "more than 64 NUMA nodes");
  else
    {
      machine_number (self);
      format->read_links (self);
    }
  return diag_list_n_errors (self->diags) == errors;
}

static char *
base_name (const char *name)
{
  g_autofree char *base = g_path_get_basename (name);
  return g_filename_display_name (base);
}

static char *
title_of (const char *name, const ImportOptions *options)
{
  if (options->name != NULL)
    return g_strdup (options->name);
  char *title = base_name (name);
  if (g_str_has_suffix (title, ".xml") || g_str_has_suffix (title, ".txt"))
    title[strlen (title) - strlen (".xml")] = '\0';
  return title;
}

/* What parts of the profile are called by: letters that an id may have. */
static char *
stem_of (const char *title)
{
  g_autofree char *ascii = g_str_to_ascii (title, "C");
  return g_strcanon (g_steal_pointer (&ascii), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.", '-');
}

static char *
import_machine (Machine *machine, const char *title, const ImportOptions *options,
                ProfileSet *profiles)
{
  DiagList         *diags = machine->diags;
  const guint       errors = diag_list_n_errors (diags);
  g_autofree char  *gpu = machine_gpu_id (machine, options, profiles), *intra = NULL;
  g_autofree char  *nic = machine_nic_id (machine, options, profiles);
  const GpuProfile *profile = gpu != NULL ? profile_set_gpu (profiles, gpu, NULL, diags) : NULL;

  if (profile != NULL)
    machine_check_gpu (machine, profile, profiles);
  if (profile != NULL)
    intra = machine_intra_id (machine, options, profiles, profile, &gpu);
  return diag_list_n_errors (diags) == errors
             ? machine_write (machine, title, profile, gpu, intra, nic)
             : NULL;
}

/* Of a file that is XML, or a matrix: the other is NULL. */
static char *
import_file (const XmlDoc *doc, const SmiTable *table, const char *name,
             const ImportOptions *options, ProfileSet *profiles, DiagList *diags)
{
  g_autofree char *title = title_of (name, options), *stem = stem_of (title);
  g_autofree char *source = base_name (name), *text = NULL;
  Machine          machine;

  machine_init (&machine, doc, table, diags);
  machine.source = source;
  machine.stem = stem;
  machine.in_folders = options->in_folders;
  if (read_machine (&machine, options, profiles))
    text = import_machine (&machine, title, options, profiles);
  for (guint i = 0; text != NULL && options->parts != NULL && i < machine.parts->len; i++)
    g_ptr_array_add (options->parts, import_part_copy (g_ptr_array_index (machine.parts, i)));
  machine_clear (&machine);
  return g_steal_pointer (&text);
}

/* Blank files are XML's, which has the words for them. */
static gboolean
is_xml (const char *text, gsize length)
{
  gsize i = length >= 3 && memcmp (text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  while (i < length && g_ascii_isspace (text[i]))
    i++;
  return i == length || text[i] == '<';
}

char *
import_topology_text (const char *name, const char *text, gsize length,
                      const ImportOptions *options, ProfileSet *profiles, DiagList *diags)
{
  const gboolean       xml = is_xml (text, length);
  g_autoptr (XmlDoc)   doc = xml ? xml_doc_load_text (name, text, length, diags) : NULL;
  g_autoptr (SmiTable) table = xml ? NULL : smi_table_load_text (name, text, length, diags);
  if (doc == NULL && table == NULL)
    return NULL;
  return import_file (doc, table, name, options, profiles, diags);
}

char *
import_topology (const char *file, const ImportOptions *options, ProfileSet *profiles,
                 DiagList *diags)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);
  if (bytes == NULL)
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (error));
      return NULL;
    }
  return import_topology_text (file, bytes->data != NULL ? (const char *) bytes->data : "",
                               bytes->len, options, profiles, diags);
}
