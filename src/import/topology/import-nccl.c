/*
 * NCCL's and RCCL's topology: <system> of <cpu> (a NUMA node) of <pci>, which hold one another
 * where they are switches, and <gpu> or <nic> where they are devices. A <nic> holds the <net> of
 * the network plug-in. Files made for NCCL_TOPO_FILE have neither <gpu> nor <nic>, which NCCL adds:
 * there a device is what its PCI class says.
 */
#include <string.h>

#include "import/topology/import-private.h"

/* Where an element hangs. */
typedef struct
{
  gint  pcie_switch;
  guint socket;
} Place;

static guint
hex_of (const XmlNode *node, const char *key)
{
  const char *text = xml_node_get (node, key);
  guint64     number = 0;
  if (text != NULL && g_ascii_strncasecmp (text, "0x", 2) == 0)
    text += 2;
  return text != NULL && g_ascii_string_to_unsigned (text, 16, 0, G_MAXUINT32, &number, NULL)
             ? (guint) number
             : 0;
}

/*
 * "16.0 GT/s PCIe" of 16 lanes, after line encoding; 0 when the file does not say. NCCL takes 0
 * lanes for 16.
 */
static double
rate_of (const XmlNode *node)
{
  const char  *text = xml_node_get (node, "link_speed");
  guint64      width = 0;
  const double speed = text != NULL ? g_ascii_strtod (text, NULL) : 0;
  if (!(speed > 0) || speed > 1000 || !xml_node_number (node, "link_width", &width) || width > 32)
    return 0;
  if (width == 0)
    width = 16;
  return machine_rate (speed * 1e9 * (double) width / 8 * (speed < 8 ? 0.8 : 128.0 / 130));
}

static MachineDevice
device_of (const Machine *self, const XmlNode *node, const Place *place)
{
  return (MachineDevice){
    .mark = xml_doc_mark (self->doc, node, NULL),
    .node = node,
    .bus = xml_node_get (node, "busid"),
    .vendor = hex_of (node, "vendor"),
    .device = hex_of (node, "device"),
    .class_ = hex_of (node, "class") >> 8,
    .pcie_switch = place->pcie_switch,
    .socket = place->socket,
    .rate = rate_of (node),
  };
}

static gboolean
add_gpu (Machine *self, const XmlNode *pci, const XmlNode *gpu, const Place *place)
{
  MachineDevice device = device_of (self, pci, place);
  guint64       capability = 0;
  if (!xml_node_number (gpu, "dev", &device.order))
    device.order = self->gpus->len;
  device.chip = xml_node_get (gpu, "gcn");
  if (xml_node_number (gpu, "sm", &capability) && capability < 1000)
    {
      /* RCCL's are compute units, or a chip's number, which is none of them. */
      device.capability = device.chip == NULL ? (guint) capability : 0;
      device.units = device.chip != NULL ? capability : 0;
    }
  return machine_add_gpu (self, &device);
}

/* Sockets are named by their interface ("eth0"), verbs by their device. */
static gboolean
is_verbs (const char *name)
{
  static const char *const prefixes[] = { "mlx",   "bnxt_re", "roce",  "ibp", "irdma",
                                          "ionic", "hfi1",    "rocep", NULL };
  for (guint i = 0; name != NULL && prefixes[i] != NULL; i++)
    if (g_str_has_prefix (name, prefixes[i]))
      return TRUE;
  return FALSE;
}

/*
 * Interfaces that a host makes up: ends of containers' tunnels, bridges between them, bonds of
 * cards that stand in the file themselves.
 */
static gboolean
is_made_up (const char *name)
{
  static const char *const prefixes[] = { "veth",  "docker", "br-",    "virbr", "bond", "team",
                                          "tap",   "tun",    "vnet",   "cni",   "cali", "flannel",
                                          "vxlan", "dummy",  "cilium", "lxc",   "kube", NULL };
  for (guint i = 0; name != NULL && prefixes[i] != NULL; i++)
    if (g_str_has_prefix (name, prefixes[i]))
      return TRUE;
  return name != NULL
         && (strcmp (name, "lo") == 0
             || g_regex_match_simple ("^(br|bridge)[0-9]+$|[.][0-9]+$", name, 0, 0));
}

/*
 * The rate of a <net>, bit/s; 0: not said. Some plug-ins say kbit/s where NCCL has Mbit/s: no card
 * carries 100 Tbit/s.
 */
static double
net_rate (const Machine *self, const XmlNode *net)
{
  const guint64 most = G_GUINT64_CONSTANT (100000000);
  guint64       speed = 0;
  if (xml_node_number (net, "speed", &speed))
    {
      if (speed >= most)
        {
          const SourceMark mark = xml_doc_mark (self->doc, net, "speed");
          diag_warning (self->diags, &mark, "NCCL writes Mbit/s, as in 200000",
                        "a card of %g Tbit/s: its speed is taken for kbit/s",
                        (double) speed * 1e-6);
        }
      return (double) speed * (speed >= most ? 1e3 : 1e6);
    }
  if (xml_node_get (net, "speed") != NULL)
    xml_doc_error (self->doc, net, "speed", self->diags, "NCCL writes Mbit/s, as in 200000",
                   "bad speed '%s'", xml_node_get (net, "speed"));
  return 0;
}

/* An interface without a PCI function stands under every <cpu>. */
static gboolean
is_listed (const Machine *self, const MachineDevice *card)
{
  for (guint i = 0; card->name != NULL && card->bus == NULL && i < self->cards->len; i++)
    {
      const MachineDevice *other = machine_card (self, i);
      if (other->bus == NULL && g_strcmp0 (other->name, card->name) == 0)
        return TRUE;
    }
  return FALSE;
}

/*
 * PCI is the card's function, or NIC itself where it has none. `net="0"`: fused with others into
 * another card.
 */
static gboolean
add_cards (Machine *self, const XmlNode *pci, const XmlNode *nic, const Place *place)
{
  for (guint i = 0; i < xml_node_length (nic); i++)
    {
      const XmlNode *net = xml_node_child (nic, i);
      MachineDevice  device = device_of (self, pci, place);
      guint64        direct = 0;
      if (!xml_node_is (net, "net") || g_strcmp0 (xml_node_get (net, "net"), "0") == 0)
        continue;
      device.node = net;
      device.mark = xml_doc_mark (self->doc, net, NULL);
      device.name = xml_node_get (net, "name");
      device.verbs = is_verbs (device.name);
      device.gpu_direct = !xml_node_number (net, "gdr", &direct) || direct > 0;
      if (!xml_node_number (net, "dev", &device.order))
        device.order = self->cards->len;
      if (device.bus == NULL && is_made_up (device.name))
        {
          if (!self->made_up)
            diag_warning (self->diags, &device.mark, NULL,
                          "'%s' is left out: an interface that the host makes up is no card",
                          device.name);
          self->made_up = TRUE;
          continue;
        }
      device.network = net_rate (self, net);
      if (!is_listed (self, &device) && !machine_add_card (self, &device))
        return FALSE;
    }
  return TRUE;
}

/* ---- files for NCCL_TOPO_FILE ---------------------------------------------------------------- */

static gboolean
is_gpu_class (guint class_)
{
  return class_ >> 8 == 0x03 || class_ >> 8 == 0x12;
}

static gboolean
has_element (const XmlNode *node, const char *name)
{
  for (guint i = 0; i < xml_node_length (node); i++)
    if (xml_node_is (xml_node_child (node, i), name)
        || has_element (xml_node_child (node, i), name))
      return TRUE;
  return FALSE;
}

/* PCI has no <gpu> and no <nic>, and the file has none of that kind at all. */
static gboolean
add_by_class (Machine *self, const XmlNode *pci, const Place *place)
{
  MachineDevice device = device_of (self, pci, place);
  device.gpu_direct = TRUE;
  if (is_gpu_class (device.class_) && self->gpus_by_class)
    {
      device.order = self->gpus->len;
      return machine_add_gpu (self, &device);
    }
  device.order = self->cards->len;
  return device.class_ >> 8 != 0x02 || !self->cards_by_class || machine_add_card (self, &device);
}

static gboolean
has_devices (const Machine *self, const XmlNode *node)
{
  const guint class_ = hex_of (node, "class") >> 8;
  if ((is_gpu_class (class_) && self->gpus_by_class)
      || (class_ >> 8 == 0x02 && self->cards_by_class))
    return TRUE;
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      if (xml_node_is (child, "gpu") || xml_node_is (child, "nic") || has_devices (self, child))
        return TRUE;
    }
  return FALSE;
}

/*
 * Two bridges of one kind, one above the other, are ports of one switch: no link is between them,
 * whatever rate it shows.
 */
static gboolean
is_port (const XmlNode *above, const XmlNode *pci)
{
  return xml_node_is (above, "pci") && hex_of (pci, "vendor") != 0
         && hex_of (above, "vendor") == hex_of (pci, "vendor")
         && hex_of (above, "device") == hex_of (pci, "device");
}

static gboolean walk (Machine *self, const XmlNode *node, Place place);

static gboolean
walk_pci (Machine *self, const XmlNode *above, const XmlNode *pci, Place place)
{
  const gboolean is_switch = xml_node_find (pci, "pci") != NULL;
  if (!has_devices (self, pci) || xml_node_require (self->doc, pci, "busid", self->diags) == NULL)
    return TRUE;
  if (is_switch)
    {
      const double        rate = is_port (above, pci) && place.pcie_switch != MACHINE_NONE
                                     ? machine_switch (self, (guint) place.pcie_switch)->rate
                                     : rate_of (pci);
      const MachineSwitch add = { place.pcie_switch, place.socket, rate };
      place.pcie_switch = machine_add_switch (self, &add);
    }
  else if (xml_node_find (pci, "gpu") == NULL && xml_node_find (pci, "nic") == NULL)
    return add_by_class (self, pci, &place);
  return walk (self, pci, place);
}

/* FALSE when there are too many devices. */
static gboolean
walk (Machine *self, const XmlNode *node, Place place)
{
  for (guint i = 0; i < xml_node_length (node); i++)
    {
      const XmlNode *child = xml_node_child (node, i);
      gboolean       go_on = TRUE;
      if (xml_node_is (child, "pci"))
        go_on = walk_pci (self, node, child, place);
      else if (xml_node_is (child, "nic"))
        go_on = add_cards (self, node, child, &place);
      else if (!xml_node_is (child, "gpu"))
        continue;
      else if (xml_node_is (node, "pci"))
        go_on = add_gpu (self, node, child, &place);
      else
        xml_doc_error (self->doc, child, NULL, self->diags,
                       "NCCL sets each into the <pci> of its bus id", "a <gpu> without a bus id");
      if (!go_on)
        return FALSE;
    }
  return TRUE;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void
add_link (Machine *self, guint gpu, const XmlNode *link)
{
  const char *target = xml_node_require (self->doc, link, "target", self->diags);
  const guint class_ = hex_of (link, "tclass");
  guint64     count = 0;
  if (xml_node_require (self->doc, link, "count", self->diags) == NULL || target == NULL)
    return;
  if (!xml_node_number (link, "count", &count) || count == 0 || count > 1000)
    {
      xml_doc_error (self->doc, link, "count", self->diags, NULL, "bad number of links '%s'",
                     xml_node_get (link, "count"));
      return;
    }
  const gint other = machine_gpu_on (self, target);
  if (other == (gint) gpu)
    xml_doc_error (self->doc, link, "target", self->diags, NULL, "a GPU linked to itself");
  else if (other != MACHINE_NONE)
    *machine_link (self, gpu, (guint) other) += (guint) count;
  else if (class_ == 0x068000)
    machine_gpu (self, gpu)->switch_links += (guint) count;
  else if (class_ == 0 && !self->links_left_out)
    xml_doc_error (self->doc, link, NULL, self->diags,
                   "0x068000 is an NVSwitch, 0x030200 another GPU",
                   "a link to '%s', no GPU of the file, without 'tclass'", target);
  else if ((class_ >> 16 == 0x03 || class_ >> 16 == 0x12) && !self->links_left_out)
    {
      self->links_left_out = TRUE;
      const SourceMark mark = xml_doc_mark (self->doc, link, "target");
      diag_warning (self->diags, &mark,
                    "the dump holds the GPUs of one communicator: make it with all of them",
                    "the link to '%s', no GPU of the file, is left out", target);
    }
}

static void
read_links (Machine *self)
{
  self->links_said = !self->gpus_by_class;
  for (guint i = 0; i < self->gpus->len; i++)
    {
      const XmlNode *gpu = xml_node_find (machine_gpu (self, i)->node, "gpu");
      for (guint k = 0; gpu != NULL && k < xml_node_length (gpu); k++)
        {
          const XmlNode *link = xml_node_child (gpu, k);
          if (xml_node_is (link, "nvlink") || xml_node_is (link, "xgmi"))
            add_link (self, i, link);
        }
    }
}

/* A dump of several hosts (of an NVLink domain) names them in 'host_hash'. */
static gboolean
check_host (const Machine *self, const XmlNode *cpu, const char **host)
{
  const char *own = xml_node_get (cpu, "host_hash");
  if (own != NULL && *host != NULL && strcmp (own, *host) != 0)
    {
      xml_doc_error (self->doc, cpu, "host_hash", self->diags,
                     "dump the topology of a job on one node", "the file holds more than one host");
      return FALSE;
    }
  *host = own != NULL ? own : *host;
  return TRUE;
}

static void
note_cpu (Machine *self, const XmlNode *node)
{
  MachineCpu cpu = { .arch = xml_node_get (node, "arch"), .vendor = xml_node_get (node, "vendor") };
  if (!xml_node_number (node, "familyid", &cpu.family))
    cpu.family = 0;
  if (!xml_node_number (node, "modelid", &cpu.model))
    cpu.model = 0;
  machine_note_cpu (self, &cpu);
}

static void
read_devices (Machine *self)
{
  const char *host = NULL;
  self->gpus_by_class = !has_element (self->root, "gpu");
  self->cards_by_class = self->gpus_by_class && !has_element (self->root, "nic");
  for (guint i = 0; i < xml_node_length (self->root); i++)
    {
      const XmlNode *cpu = xml_node_child (self->root, i);
      const Place    place = { MACHINE_NONE, self->sockets };
      if (!xml_node_is (cpu, "cpu"))
        continue;
      self->sockets++;
      note_cpu (self, cpu);
      if (!check_host (self, cpu, &host) || !walk (self, cpu, place))
        return;
    }
}

const MachineFormat machine_format_nccl = { "system", read_devices, read_links };
