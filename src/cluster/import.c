#include "cluster/import.h"

#include <string.h>

#include "cluster/import-private.h"

/* ---- the machine ----------------------------------------------------------------------------- */

void
machine_init (Machine *self, const XmlDoc *doc, const SmiTable *table, DiagList *diags)
{
  *self = (Machine){ .doc = doc, .table = table, .diags = diags };
  self->root = doc != NULL ? xml_doc_root (doc) : NULL;
  self->mark = doc != NULL ? xml_doc_mark (doc, self->root, NULL) : smi_table_mark (table);
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
      machine_error (self, &add->mark, NULL, "more than %u %s", max, what);
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
          g_strdup_printf ("first in line %u", machine_gpu (self, (guint) twin)->mark.line);
      machine_error (self, &add->mark, hint, "two GPUs on bus '%s'", add->bus);
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

guint *
machine_link (const Machine *self, guint a, guint b)
{
  g_assert (self->links != NULL && a < self->gpus->len && b < self->gpus->len);
  return &self->links[(gsize) a * self->gpus->len + b];
}

double
machine_rate (double rate)
{
  return rate > 0 && rate <= 1e13 ? rate : 0;
}

void
machine_error (const Machine *self, const SourceMark *mark, const char *hint, const char *format,
               ...)
{
  va_list arguments;
  if (diag_list_count_unread (self->diags))
    return;
  va_start (arguments, format);
  g_autofree char *message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  diag_error (self->diags, mark, hint, "%s", message);
}

/* ---- the whole ------------------------------------------------------------------------------- */

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
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, g_strerror (error));
      return NULL;
    }
  return import_topology_text (file, bytes->data != NULL ? (const char *) bytes->data : "",
                               bytes->len, options, profiles, diags);
}
