#include "cluster/import.h"

#include <string.h>

#include "base/file-roles.h"
#include "cluster/import-private.h"

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

static gboolean
read_machine (Machine *self)
{
  const guint          errors = diag_list_n_errors (self->diags);
  const MachineFormat *format = find_format (self);
  if (format == NULL)
    return FALSE;
  format->read_devices (self);
  if (diag_list_n_errors (self->diags) > errors)
    return FALSE;
  machine_leave_out_displays (self);
  if (self->gpus->len == 0)
    machine_error (self, &self->mark, NULL, "no GPU in the file");
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

static char *
import_machine (const XmlDoc *doc, const SmiTable *table, const char *name,
                const ImportOptions *options, ProfileSet *profiles, DiagList *diags)
{
  Machine           machine;
  const GpuProfile *profile = NULL;
  g_autofree char  *gpu = NULL, *intra = NULL, *nic = NULL, *text = NULL;
  machine_init (&machine, doc, table, diags);
  if (read_machine (&machine))
    {
      const guint errors = diag_list_n_errors (diags);
      gpu = machine_gpu_id (&machine, options, profiles);
      nic = machine_nic_id (&machine, options, profiles);
      profile = gpu != NULL ? profile_set_gpu (profiles, gpu, NULL, diags) : NULL;
      if (profile != NULL)
        machine_check_gpu (&machine, profile, profiles);
      if (profile != NULL)
        intra = machine_intra_id (&machine, options, profiles, profile);
      if (diag_list_n_errors (diags) == errors)
        {
          g_autofree char *title = title_of (name, options);
          g_autofree char *source = base_name (name);
          text = machine_write (&machine, title, source, profile, intra, nic);
        }
    }
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
  return import_machine (doc, table, name, options, profiles, diags);
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
