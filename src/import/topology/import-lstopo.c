/*
 * lstopo's XML: nested <object>s. Of version 2 NUMA nodes are memory children of what they serve;
 * of version 1, which the root does not name, they enclose it. Bridges lead to PCI devices, whose
 * OS devices ("cuda0", "mlx5_0") say what they are. Rates of NVLink and xGMI stand in a matrix of
 * their own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/topology/import-private.h"

typedef struct
{
  Machine    *machine;
  GHashTable *gpus; /* of links: gp_index of a GPU and its OS devices -> GPU + 1; looked up only */
  gboolean    one;  /* version 1 */
} Reader;

typedef struct
{
  gint  pcie_switch;
  guint socket;
} Place;

static gboolean
is_type (const XmlNode *node, const char *type)
{
  return xml_node_is (node, "object") && g_strcmp0 (xml_node_get (node, "type"), type) == 0;
}

static gboolean
is_io (const XmlNode *node)
{
  return is_type (node, "Bridge") || is_type (node, "PCIDev") || is_type (node, "OSDev");
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

/* Memory of a GPU is a NUMA node on some machines. */
static gboolean
is_memory (const XmlNode *node)
{
  if (is_type (node, "MemCache"))
    return TRUE;
  return is_type (node, "NUMANode") && g_strcmp0 (xml_node_get (node, "subtype"), "GPUMemory") != 0;
}

static gboolean
has_memory (const Reader *self, const XmlNode *node)
{
  if (self->one)
    return is_type (node, "NUMANode");
  for (guint i = 0; i < xml_node_length (node); i++)
    if (is_memory (xml_node_child (node, i)))
      return TRUE;
  return FALSE;
}

/* Something inside NODE has a NUMA node of its own. */
static gboolean
has_deeper (const Reader *self, const XmlNode *node)
{
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      if (!is_io (child) && !is_memory (child)
          && (has_memory (self, child) || has_deeper (self, child)))
        return TRUE;
      if (self->one && is_memory (child))
        return TRUE;
    }
  return FALSE;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* "0302 [10de:20b0] [10de:134f] a1" */
static gboolean
parse_type (const XmlNode *node, MachineDevice *device)
{
  const char *text = xml_node_get (node, "pci_type");
  return text != NULL
         && sscanf (text, "%4x [%4x:%4x]", &device->class_, &device->vendor, &device->device) == 3;
}

/* Without the driver's libraries lstopo knows no GPUs: by vendor and class. */
static gboolean
is_gpu (const MachineDevice *device)
{
  const guint c = device->class_;
  return (device->vendor == 0x10de || device->vendor == 0x1002)
         && (c == 0x0300 || c == 0x0302 || c == 0x0380 || c == 0x1200);
}

/* OS devices are told apart by a number. */
static const XmlNode *
find_os_device (const XmlNode *node, guint64 wanted)
{
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      guint64        type;
      if (is_type (child, "OSDev") && xml_node_number (child, "osdev_type", &type)
          && type == wanted)
        return child;
    }
  return NULL;
}

#define OS_NETWORK     2
#define OS_OPENFABRICS 3

/* A port without a link is no card. */
static gboolean
is_up (const XmlNode *os_device)
{
  for (guint i = 0; os_device != NULL && i < xml_node_length (os_device); i++)
    {
      const XmlNode *info = xml_node_child (os_device, i);
      if (xml_node_is (info, "info") && g_strcmp0 (xml_node_get (info, "name"), "Port1State") == 0)
        return g_strcmp0 (xml_node_get (info, "value"), "4") == 0;
    }
  return TRUE;
}

static gboolean
add_device (Reader *self, const XmlNode *node, const Place *place)
{
  Machine       *machine = self->machine;
  MachineDevice  device = { .mark = xml_doc_mark (machine->doc, node, NULL),
                            .node = node,
                            .bus = xml_node_get (node, "pci_busid"),
                            .pcie_switch = place->pcie_switch,
                            .socket = place->socket,
                            .gpu_direct = TRUE };
  const XmlNode *verbs = find_os_device (node, OS_OPENFABRICS);
  const XmlNode *network = verbs != NULL ? verbs : find_os_device (node, OS_NETWORK);
  const char    *speed = xml_node_get (node, "pci_link_speed");
  device.rate = speed != NULL ? machine_rate (g_ascii_strtod (speed, NULL) * 1e9) : 0;
  device.name = network != NULL ? xml_node_get (network, "name") : NULL;
  device.verbs = verbs != NULL;
  if (xml_node_require (machine->doc, node, "pci_busid", machine->diags) == NULL
      || xml_node_require (machine->doc, node, "pci_type", machine->diags) == NULL)
    return TRUE;
  if (!parse_type (node, &device))
    {
      xml_doc_error (machine->doc, node, "pci_type", machine->diags,
                     "lstopo writes class and ids, as in '0302 [10de:20b0] [10de:134f] a1'",
                     "bad PCI type '%s'", xml_node_get (node, "pci_type"));
      return TRUE;
    }
  if (is_gpu (&device))
    {
      device.order = machine->gpus->len;
      return machine_add_gpu (machine, &device);
    }
  device.order = machine->cards->len;
  return device.class_ >> 8 != 0x02 || network == NULL || !is_up (verbs)
         || machine_add_card (machine, &device);
}

/* ---- bridges --------------------------------------------------------------------------------- */

static gboolean
leads_to_device (const XmlNode *node)
{
  MachineDevice device = { 0 };
  if (is_type (node, "PCIDev"))
    return !parse_type (node, &device) || is_gpu (&device) || device.class_ >> 8 == 0x02;
  for (guint i = 0; i < xml_node_length (node); i++)
    if (leads_to_device (xml_node_child (node, i)))
      return TRUE;
  return FALSE;
}

/* Functions of one device differ behind the dot. */
static gboolean
same_slot (const char *a, const char *b)
{
  const char *dot = a != NULL && b != NULL ? strrchr (a, '.') : NULL;
  return dot != NULL && strncmp (a, b, (gsize) (dot - a) + 1) == 0;
}

/*
 * A port has one device behind it; several ports or devices make a switch. A host bridge is none.
 */
static gboolean
is_switch (const XmlNode *bridge)
{
  const char *kind = xml_node_get (bridge, "bridge_type");
  const char *slot = NULL;
  guint       n = 0;
  if (kind != NULL && g_str_has_prefix (kind, "0-"))
    return FALSE;
  for (guint i = 0; i < xml_node_length (bridge); i++)
    {
      const XmlNode *child = xml_node_child (bridge, i);
      if (is_type (child, "PCIDev"))
        {
          const char *own = xml_node_get (child, "pci_busid");
          n += !same_slot (slot, own);
          slot = own;
        }
      else
        n += is_type (child, "Bridge");
    }
  return n > 1;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static gboolean walk (Reader *self, const XmlNode *node, Place place);

static gboolean
walk_bridge (Reader *self, const XmlNode *bridge, Place place)
{
  const char  *speed = xml_node_get (bridge, "pci_link_speed");
  const double rate = speed != NULL ? machine_rate (g_ascii_strtod (speed, NULL) * 1e9) : 0;
  if (!leads_to_device (bridge))
    return TRUE;
  if (is_switch (bridge))
    {
      const MachineSwitch add = { place.pcie_switch, place.socket, rate };
      place.pcie_switch = machine_add_switch (self->machine, &add);
    }
  return walk (self, bridge, place);
}

/* The first <info> of NAME in the file, but a device's. */
static const char *
find_info (const XmlNode *node, const char *name)
{
  const char *value = NULL;
  if (xml_node_is (node, "info") && g_strcmp0 (xml_node_get (node, "name"), name) == 0)
    return xml_node_get (node, "value");
  for (guint i = 0; value == NULL && !is_io (node) && i < xml_node_length (node); i++)
    value = find_info (xml_node_child (node, i), name);
  return value;
}

static guint64
info_number (const XmlNode *root, const char *name)
{
  const char *text = find_info (root, name);
  guint64     number = 0;
  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &number, NULL))
    number = 0;
  return number;
}

static void
note_cpu (Machine *self)
{
  const MachineCpu cpu = { .arch = find_info (self->root, "Architecture"),
                           .vendor = find_info (self->root, "CPUVendor"),
                           .family = info_number (self->root, "CPUFamilyNumber"),
                           .model = info_number (self->root, "CPUModelNumber") };
  machine_note_cpu (self, &cpu);
}

#define ASTRAY G_MAXUINT /* the socket of what is outside all NUMA nodes */

/* FALSE when there are too many devices. */
static gboolean
walk (Reader *self, const XmlNode *node, Place place)
{
  guint64 bytes;

  if ((is_type (node, "NUMANode") || is_type (node, "Machine"))
      && g_strcmp0 (xml_node_get (node, "subtype"), "GPUMemory") != 0
      && xml_node_number (node, "local_memory", &bytes)
      && bytes < G_MAXUINT64 / 2 - self->machine->dram_bytes)
    self->machine->dram_bytes += bytes;
  self->machine->cores += is_type (node, "Core");
  if (has_memory (self, node) && !has_deeper (self, node))
    place.socket = self->machine->sockets++;
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      gboolean       go_on = TRUE;
      if (is_type (child, "Bridge"))
        go_on = walk_bridge (self, child, place);
      else if (is_type (child, "PCIDev"))
        go_on = add_device (self, child, &place);
      else if (xml_node_is (child, "object"))
        go_on = walk (self, child, place);
      if (!go_on)
        return FALSE;
    }
  return TRUE;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* A GPU and its OS devices may stand in a matrix. FALSE after a diagnostic. */
static gboolean
note_gpu (Reader *self, const XmlNode *node, guint gpu)
{
  guint64 id;
  if (xml_node_number (node, "gp_index", &id) && id <= G_MAXUINT)
    {
      gpointer key = GUINT_TO_POINTER ((guint) id), value = GUINT_TO_POINTER (gpu + 1);
      gpointer other = g_hash_table_lookup (self->gpus, key);
      if (other != NULL && other != value)
        {
          xml_doc_error (self->machine->doc, node, "gp_index", self->machine->diags,
                         "lstopo gives each object a number of its own",
                         "GPUs %u and %u share the 'gp_index' %" G_GUINT64_FORMAT,
                         GPOINTER_TO_UINT (other) - 1, gpu, id);
          return FALSE;
        }
      g_hash_table_insert (self->gpus, key, value);
    }
  for (guint i = 0; i < xml_node_length (node); i++)
    if (is_type (xml_node_child (node, i), "OSDev")
        && !note_gpu (self, xml_node_child (node, i), gpu))
      return FALSE;
  return TRUE;
}

#define BLANKS " \t\r\n"

/* "Type:3" counts as 3. FALSE when one is malformed. */
static gboolean
append_numbers (GArray *numbers, const char *text)
{
  for (text += strspn (text, BLANKS); *text != '\0'; text += strspn (text, BLANKS))
    {
      const gsize length = strcspn (text, BLANKS);
      const char *colon = memchr (text, ':', length);
      const char *digits = colon != NULL ? colon + 1 : text;
      char       *end;
      guint64     number = g_ascii_strtoull (digits, &end, 10);
      if (!g_ascii_isdigit (*digits) || end != text + length || number == G_MAXUINT64)
        return FALSE;
      g_array_append_val (numbers, number);
      text += length;
    }
  return TRUE;
}

/* The numbers in the children called NAME, one after another. NULL when one is malformed. */
static GArray *
numbers_of (const XmlNode *node, const char *name)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      if (xml_node_is (child, name) && child->text != NULL
          && !append_numbers (numbers, child->text))
        return NULL;
    }
  return g_steal_pointer (&numbers);
}

/* The GPU of an index of the matrix; MACHINE_NONE: a switch. */
static gint
gpu_of (const Reader *self, guint64 id)
{
  return id <= G_MAXUINT ? (gint) GPOINTER_TO_UINT (
                               g_hash_table_lookup (self->gpus, GUINT_TO_POINTER ((guint) id)))
                               - 1
                         : MACHINE_NONE;
}

static void
read_matrix (Reader *self, const GArray *ids, const GArray *values)
{
  Machine *machine = self->machine;
  for (guint i = 0; i < ids->len; i++)
    for (guint k = 0; k < ids->len; k++)
      {
        const gint    a = gpu_of (self, g_array_index (ids, guint64, i));
        const gint    b = gpu_of (self, g_array_index (ids, guint64, k));
        const guint64 value = g_array_index (values, guint64, (gsize) i * ids->len + k);
        const guint   rate = (guint) MIN (value, G_MAXUINT / 2);
        if (a == MACHINE_NONE || a == b || rate == 0)
          continue;
        if (b == MACHINE_NONE)
          {
            MachineDevice *gpu = machine_gpu (machine, (guint) a);

            gpu->switch_links = MIN (gpu->switch_links, G_MAXUINT / 2) + rate;
          }
        else
          *machine_link (machine, (guint) a, (guint) b) = rate;
      }
}

static void
read_distances (Reader *self, const XmlNode *node)
{
  Machine           *machine = self->machine;
  const char        *name = xml_node_get (node, "name");
  g_autoptr (GArray) ids = NULL, values = NULL;
  if ((!xml_node_is (node, "distances2") && !xml_node_is (node, "distances2hetero"))
      || (g_strcmp0 (name, "NVLinkBandwidth") != 0 && g_strcmp0 (name, "XGMIBandwidth") != 0))
    return;
  ids = numbers_of (node, "indexes");
  values = numbers_of (node, "u64values");
  if (ids == NULL || values == NULL || ids->len == 0
      || values->len != (guint64) ids->len * ids->len)
    {
      xml_doc_error (machine->doc, node, "name", machine->diags,
                     "n 'indexes' and n x n 'u64values'", "the matrix '%s' is incomplete", name);
      return;
    }
  machine->links_said = machine->link_rates = TRUE;
  read_matrix (self, ids, values);
}

static void
check_astray (Reader *self)
{
  Machine *machine = self->machine;
  guint    n = 0;
  for (guint i = 0; i < machine->gpus->len; i++)
    if (machine_gpu (machine, i)->socket == ASTRAY)
      machine_gpu (machine, i)->socket = 0, n++;
  for (guint i = 0; i < machine->cards->len; i++)
    if (machine_card (machine, i)->socket == ASTRAY)
      machine_card (machine, i)->socket = 0, n++;
  for (guint i = 0; i < machine->switches->len; i++)
    if (machine_switch (machine, i)->socket == ASTRAY)
      machine_switch (machine, i)->socket = 0;
  if (n > 0 && machine->sockets > 1)
    {
      diag_warning (machine->diags, &machine->mark, NULL,
                    "GPUs or cards outside of all NUMA nodes (%u) are taken to be at the first", n);
    }
  machine->sockets = MAX (machine->sockets, 1);
}

static void
read_devices (Machine *self)
{
  Reader      reader = { .machine = self, .one = xml_node_get (self->root, "version") == NULL };
  const Place place = { MACHINE_NONE, ASTRAY };
  self->gpus_by_class = self->cards_by_class = TRUE;
  if (!walk (&reader, self->root, place))
    return;
  check_astray (&reader);
  note_cpu (self);
}

static void
read_links (Machine *self)
{
  g_autoptr (GHashTable) gpus = g_hash_table_new (NULL, NULL);
  Reader                 reader = { .machine = self, .gpus = gpus };
  for (guint i = 0; i < self->gpus->len; i++)
    if (!note_gpu (&reader, machine_gpu (self, i)->node, i))
      return;
  for (guint i = 0; i < xml_node_length (self->root); i++)
    read_distances (&reader, xml_node_child (self->root, i));
}

const MachineFormat machine_format_lstopo = { "topology", read_devices, read_links };
