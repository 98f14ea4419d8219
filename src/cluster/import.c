#include "cluster/import.h"

#include <string.h>

#include "cluster/import-private.h"

/* ---- the machine ----------------------------------------------------------------------------- */

void
machine_init (Machine *self, const XmlDoc *doc, DiagList *diags)
{
  *self = (Machine){ .doc = doc, .diags = diags, .root = xml_doc_root (doc) };
  self->switches = g_array_new (FALSE, FALSE, sizeof (MachineSwitch));
  self->gpus = g_array_new (FALSE, FALSE, sizeof (MachineDevice));
  self->cards = g_array_new (FALSE, FALSE, sizeof (MachineDevice));
}

void
machine_clear (Machine *self)
{
  g_array_unref (self->switches);
  g_array_unref (self->gpus);
  g_array_unref (self->cards);
  g_free (self->links);
}

MachineSwitch *
machine_switch (const Machine *self, guint i)
{
  return &g_array_index (self->switches, MachineSwitch, i);
}

MachineDevice *
machine_gpu (const Machine *self, guint i)
{
  return &g_array_index (self->gpus, MachineDevice, i);
}

MachineDevice *
machine_card (const Machine *self, guint i)
{
  return &g_array_index (self->cards, MachineDevice, i);
}

gint
machine_add_switch (Machine *self, const MachineSwitch *add)
{
  g_array_append_val (self->switches, *add);
  return (gint) self->switches->len - 1;
}

static gboolean
add_device (Machine *self, GArray *array, guint max, const char *what, const MachineDevice *add)
{
  if (array->len == max)
    {
      xml_doc_error (self->doc, add->node, NULL, self->diags, NULL, "more than %u %s", max, what);
      return FALSE;
    }
  g_array_append_val (array, *add);
  return TRUE;
}

gboolean
machine_add_gpu (Machine *self, const MachineDevice *add)
{
  const gint twin = machine_gpu_on (self, add->bus);
  if (twin != MACHINE_NONE)
    {
      g_autofree char *hint =
          g_strdup_printf ("first in line %u", machine_gpu (self, (guint) twin)->node->line);
      xml_doc_error (self->doc, add->node, NULL, self->diags, hint, "two GPUs on bus '%s'", add->bus);
      return TRUE;
    }
  return add_device (self, self->gpus, MACHINE_MAX_GPUS, "GPUs", add);
}

gboolean
machine_add_card (Machine *self, const MachineDevice *add)
{
  return add_device (self, self->cards, MACHINE_MAX_OTHER, "network cards", add);
}

gint
machine_gpu_on (const Machine *self, const char *bus)
{
  for (guint i = 0; i < self->gpus->len; i++)
    if (g_ascii_strcasecmp (machine_gpu (self, i)->bus, bus) == 0)
      return (gint) i;
  return MACHINE_NONE;
}

static gint
compare_order (gconstpointer a, gconstpointer b)
{
  const MachineDevice *x = a, *y = b;
  return x->order < y->order ? -1 : x->order > y->order;
}

void
machine_number (Machine *self)
{
  g_array_sort (self->gpus, compare_order); /* stable */
  g_array_sort (self->cards, compare_order);
  self->links = g_new0 (guint, (gsize) self->gpus->len * self->gpus->len + 1);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static gboolean
read_machine (Machine *self)
{
  const guint errors = diag_list_n_errors (self->diags);
  if (xml_node_is (self->root, "system"))
    machine_read_nccl (self);
  else if (xml_node_is (self->root, "topology"))
    machine_read_lstopo (self);
  else
    xml_doc_error (self->doc, self->root, NULL, self->diags,
                   xml_node_is (self->root, "graphs")
                       ? "that is NCCL_GRAPH_DUMP_FILE's; take NCCL_TOPO_DUMP_FILE's"
                       : "NCCL's topology starts with <system>, lstopo's with <topology>",
                   "<%s> is no topology", self->root->name);
  if (diag_list_n_errors (self->diags) > errors)
    return FALSE;
  if (self->gpus->len == 0)
    xml_doc_error (self->doc, self->root, NULL, self->diags, NULL, "no GPU in the file");
  else if (self->sockets > 64)
    xml_doc_error (self->doc, self->root, NULL, self->diags, NULL, "more than 64 NUMA nodes");
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
  if (g_str_has_suffix (title, ".xml"))
    title[strlen (title) - strlen (".xml")] = '\0';
  return title;
}

static char *
import_doc (const XmlDoc *doc, const char *name, const ImportOptions *options, ProfileSet *profiles,
            DiagList *diags)
{
  Machine           machine;
  const GpuProfile *profile = NULL;
  g_autofree char  *gpu = NULL, *intra = NULL, *nic = NULL, *text = NULL;
  machine_init (&machine, doc, diags);
  if (read_machine (&machine))
    {
      const guint errors = diag_list_n_errors (diags);
      gpu = machine_gpu_id (&machine, options, profiles);
      nic = machine_nic_id (&machine, options, profiles);
      profile = gpu != NULL ? profile_set_gpu (profiles, gpu, NULL, diags) : NULL;
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

char *
import_topology_text (const char *name, const char *text, gsize length,
                      const ImportOptions *options, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (XmlDoc) doc = xml_doc_load_text (name, text, length, diags);
  return doc != NULL ? import_doc (doc, name, options, profiles, diags) : NULL;
}

char *
import_topology (const char *file, const ImportOptions *options, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (XmlDoc) doc = xml_doc_load (file, diags);
  return doc != NULL ? import_doc (doc, file, options, profiles, diags) : NULL;
}
