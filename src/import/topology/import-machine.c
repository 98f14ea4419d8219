/* What the importers find in a file, put together. */
#include "import/topology/import-private.h"

void
machine_init (Machine *self, const XmlDoc *doc, const SmiTable *table, DiagList *diags)
{
  *self = (Machine){ .doc = doc, .table = table, .diags = diags };
  self->root = doc != NULL ? xml_doc_root (doc) : NULL;
  self->mark = doc != NULL ? xml_doc_mark (doc, self->root, NULL) : smi_table_mark (table);
  self->switches = g_array_new (FALSE, FALSE, sizeof (MachineSwitch));
  self->gpus = g_array_new (FALSE, FALSE, sizeof (MachineDevice));
  self->cards = g_array_new (FALSE, FALSE, sizeof (MachineDevice));
  self->parts = g_ptr_array_new_with_free_func (import_part_free);
}

void
machine_clear (Machine *self)
{
  g_array_unref (self->switches);
  g_array_unref (self->gpus);
  g_array_unref (self->cards);
  g_ptr_array_unref (self->parts);
  g_free (self->links);
}

void
import_part_free (gpointer data)
{
  ImportPart *self = data;

  g_free (self->kind);
  g_free (self->id);
  g_free (self->text);
  g_free (self);
}

ImportPart *
import_part_copy (const ImportPart *self)
{
  ImportPart *copy = g_new (ImportPart, 1);

  *copy = (ImportPart){ g_strdup (self->kind), g_strdup (self->id), g_strdup (self->text) };
  return copy;
}

/* From the folder of nodes; beside the node where that is in no folder of profiles. */
static char *
name_part (const Machine *self, const ImportPart *part)
{
  g_autofree char *file = g_strconcat (part->id, ".yaml", NULL);

  return self->in_folders ? g_build_filename ("..", part->kind, file, NULL)
                          : g_steal_pointer (&file);
}

char *
machine_add_part (Machine *self, const char *kind, const char *what, const char *text)
{
  ImportPart *part = g_new0 (ImportPart, 1);

  part->kind = g_strdup (kind);
  part->id = g_strdup_printf ("%s-%s", self->stem, what);
  part->text = g_strdup (text);
  g_ptr_array_add (self->parts, part);
  return name_part (self, part);
}

gboolean
machine_has_part (const Machine *self, const char *name)
{
  for (guint i = 0; i < self->parts->len; i++)
    {
      g_autofree char *own = name_part (self, g_ptr_array_index (self->parts, i));

      if (g_str_equal (own, name))
        return TRUE;
    }
  return FALSE;
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
