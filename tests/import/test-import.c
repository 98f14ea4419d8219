/*
 * Imported topologies: the profiles of tests/data/topology by their text, by their distances
 * against those of the XML tree, which are found here in another way, and every mistake with its
 * message. Whether real files look like these is not tested.
 */
#include <glib/gstdio.h>
#include <stdlib.h>

#define GOLDEN_FOLDER "tests/import/golden"
#include "../hardware/fixture.h"
#include "../suite.h"
#include "import/topology/import-xml.h"
#include "import/topology/import.h"

/* ---- shipped fixtures ------------------------------------------------------------------------ */

typedef struct
{
  const char   *file;
  ImportOptions options;
  guint         gpus, cards;
  const char   *nearest; /* card of each GPU */
  const char   *sockets; /* of each GPU */
} Fixture;

static const Fixture fixtures[] = {
  { "nccl-p4d", { 0 }, 8, 4, "0 0 1 1 2 2 3 3", "0 0 0 0 1 1 1 1" },
  /* each pair of GPUs has its cards the other way round */
  { "nccl-h100", { .name = "box" }, 8, 8, "1 0 3 2 5 4 7 6", "0 0 0 0 1 1 1 1" },
  /*
   * GPUs 0 to 3 stand in the file backwards, and cards under GPUs 3, 1, 4 and 6: the rest share
   * their socket's
   */
  { "nccl-mi300x", { 0 }, 8, 4, "0 1 1 0 2 2 3 3", "0 0 0 0 1 1 1 1" },
  { "nccl-dgx1", { 0 }, 8, 1, "0 0 0 0 0 0 0 0", "0 0 0 0 1 1 1 1" },
  { "lstopo-a100", { .nic = "ib-hdr-200" }, 8, 5, "0 0 1 1 2 2 3 4", "0 0 0 0 1 1 1 1" },
  { "lstopo-v1", { .intra = "pcie3", .nic = "ib-edr-100" }, 4, 1, "0 0 0 0", "0 0 1 1" },
};

static char *
fixture_file (const Fixture *fixture)
{
  g_autofree char *relative = g_strdup_printf ("tests/data/topology/%s.xml", fixture->file);
  return source_file (relative);
}

static char *
import (const Fixture *fixture)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char       *file = fixture_file (fixture);
  char                  *text = import_topology (file, &fixture->options, profiles, diags);
  g_autofree char       *said = diag_list_format (diags, FALSE);
  ck_assert_msg (text != NULL, "%s", said);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return text;
}

START_TEST (test_text)
{
  g_autofree char *text = import (&fixtures[_i]);
  g_autofree char *golden = g_strdup_printf ("import-%s.yaml", fixtures[_i].file);
  assert_golden (golden, text);
}
END_TEST

/* ---- round trip ------------------------------------------------------------------------------ */

/* A folder of profiles that has only node/imported; removed by drop_folder. */
static char *
make_folder (const char *text)
{
  char            *folder = g_dir_make_tmp ("shardsim-import-XXXXXX", NULL);
  g_autofree char *node = g_build_filename (folder, "node", NULL);
  g_autofree char *file = g_build_filename (node, "imported.yaml", NULL);
  ck_assert_int_eq (g_mkdir (node, 0700), 0);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  return folder;
}

static void
drop_folder (const char *folder)
{
  g_autofree char *node = g_build_filename (folder, "node", NULL);
  g_autofree char *file = g_build_filename (node, "imported.yaml", NULL);
  g_unlink (file);
  g_rmdir (node);
  g_rmdir (folder);
}

/* Number of its kind -> the numbers of the elements above it, NUMA node first. */
typedef struct
{
  GArray *chains[2]; /* GPUs, cards: guint[8], 0 = end, innermost last */
} Chains;

typedef struct
{
  guint  number, depth;
  gint64 dev;
  guint  chain[8];
} Chain;

/* NCCL's files: every <cpu> and every <pci> that holds other <pci> is a step of the chain. */
static void
collect (const XmlNode *node, Chain above, guint *number, Chains *out)
{
  if (xml_node_is (node, "cpu")
      || (xml_node_is (node, "pci") && xml_node_find (node, "pci") != NULL))
    above.chain[above.depth++] = ++*number;
  if (xml_node_is (node, "gpu") || xml_node_is (node, "net"))
    {
      above.dev = atoi (xml_node_get (node, "dev"));
      g_array_append_val (out->chains[xml_node_is (node, "net")], above);
    }
  for (guint i = 0; i < xml_node_length (node); i++)
    collect (xml_node_child (node, i), above, number, out);
}

static const Chain *
chain_of (const GArray *chains, guint dev)
{
  for (guint i = 0; i < chains->len; i++)
    if (g_array_index (chains, Chain, i).dev == dev)
      return &g_array_index (chains, Chain, i);
  ck_abort_msg ("no device %u", dev);
}

/* By the number of steps that two chains share. */
static PathClass
distance (const Chain *a, const Chain *b)
{
  guint shared = 0;
  while (shared < a->depth && shared < b->depth && a->chain[shared] == b->chain[shared])
    shared++;
  if (shared == 0)
    return PATH_SYS;
  if (shared == 1)
    return PATH_PHB;
  return shared == a->depth && shared == b->depth ? PATH_PIX : PATH_PXB;
}

/* The file's first cards are the cluster's. */
static void
check_distances (const Cluster *cluster, const XmlDoc *doc)
{
  Chains chains;
  guint  number = 0;
  for (guint i = 0; i < 2; i++)
    chains.chains[i] = g_array_new (FALSE, TRUE, sizeof (Chain));
  collect (xml_doc_root (doc), (Chain){ 0 }, &number, &chains);
  for (guint gpu = 0; gpu < cluster_gpus_of_node (cluster, 0); gpu++)
    for (guint card = 0; card < cluster_nics_of_node (cluster, 0); card++)
      {
        const PathClass expected =
            distance (chain_of (chains.chains[0], gpu), chain_of (chains.chains[1], card));
        ck_assert_str_eq (path_class_name (cluster_gpu_card_pcie (cluster, gpu, card)),
                          path_class_name (expected));
      }
  g_array_unref (chains.chains[0]);
  g_array_unref (chains.chains[1]);
}

START_TEST (test_round_trip)
{
  const Fixture         *fixture = &fixtures[_i];
  g_autofree char       *text = import (fixture);
  g_autofree char       *folder = make_folder (text);
  g_autofree char       *shipped = source_file ("hwprofiles");
  g_autofree char       *path = g_strdup_printf ("%s:%s", folder, shipped);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);
  g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=2 x imported");
  g_autoptr (GString)    nearest = g_string_new (NULL), sockets = g_string_new (NULL);
  drop_folder (folder);
  ck_assert_uint_eq (cluster_gpus_of_node (cluster, 0), fixture->gpus);
  ck_assert_uint_eq (cluster_nics_of_node (cluster, 0), fixture->cards);
  for (guint gpu = 0; gpu < fixture->gpus; gpu++)
    {
      g_string_append_printf (nearest, "%s%u", gpu > 0 ? " " : "",
                              cluster_nearest_card (cluster, gpu));
      g_string_append_printf (sockets, "%s%u", gpu > 0 ? " " : "",
                              cluster_socket_of_gpu (cluster, gpu));
    }
  ck_assert_str_eq (nearest->str, fixture->nearest);
  ck_assert_str_eq (sockets->str, fixture->sockets);
  if (g_str_has_prefix (fixture->file, "nccl"))
    {
      g_autofree char     *file = fixture_file (fixture);
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (XmlDoc)   doc = xml_doc_load (file, diags);
      check_distances (cluster, doc);
    }
}
END_TEST

/* ---- random trees ---------------------------------------------------------------------------- */

typedef struct
{
  GRand   *rand;
  GString *xml;
  guint    gpus, cards, elements;
} Grower;

static void
grow_device (Grower *self)
{
  if (g_rand_boolean (self->rand))
    g_string_append_printf (self->xml, "<pci busid=\"%u\"><gpu dev=\"%u\"/></pci>", self->elements,
                            self->gpus++);
  else
    g_string_append_printf (self->xml, "<pci busid=\"%u\"><nic><net dev=\"%u\"/></nic></pci>",
                            self->elements, self->cards++);
}

/* Devices and switches in any order, four switches deep. */
static void
grow (Grower *self, guint depth)
{
  const gint32 n = g_rand_int_range (self->rand, 0, 4);
  for (gint32 i = 0; i < n && self->elements < 100; i++)
    {
      self->elements++;
      if (depth == 4 || g_rand_boolean (self->rand))
        {
          grow_device (self);
          continue;
        }
      g_string_append_printf (self->xml, "<pci busid=\"%u\" class=\"0x060400\">", self->elements);
      grow (self, depth + 1);
      g_string_append (self->xml, "</pci>");
    }
}

static GString *
grow_tree (guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  Grower            grower = { .rand = rand, .xml = g_string_new ("<system>") };
  const gint32      sockets = g_rand_int_range (rand, 1, 5);
  g_string_append (grower.xml, "<cpu>");
  grow_device (&grower);
  for (gint32 i = 0; i < sockets; i++)
    {
      g_string_append (grower.xml, i > 0 ? "<cpu>" : "");
      grow (&grower, 0);
      g_string_append (grower.xml, "</cpu>");
    }
  g_string_append (grower.xml, "<cpu><pci busid=\"g\"><gpu dev=\"");
  g_string_append_printf (grower.xml, "%u\"/></pci></cpu></system>", grower.gpus);
  return grower.xml;
}

static guint
count (const char *text, const char *word)
{
  guint n = 0;
  for (const char *p = text; (p = strstr (p, word)) != NULL; p++)
    n++;
  return n;
}

START_TEST (test_random_trees)
{
  g_autoptr (ProfileSet) own = profile_set_new (NULL);
  const ImportOptions    options = { .gpu = "h100-sxm-80",
                                     .intra = "nvlink4-switch",
                                     .nic = "ib-ndr-400" };
  const ImportOptions    no_cards = { .gpu = "h100-sxm-80", .intra = "nvlink4-switch" };
  g_autofree char       *shipped = source_file ("hwprofiles");
  for (guint32 seed = 0; seed < 500; seed++)
    {
      g_autoptr (GString)  xml = grow_tree (seed);
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (XmlDoc)   doc = xml_doc_load_text ("tree.xml", xml->str, xml->len, diags);
      const gboolean       cards = strstr (xml->str, "<net") != NULL;
      g_autofree char     *text = import_topology_text ("tree.xml", xml->str, xml->len,
                                                    cards ? &options : &no_cards, own, diags);
      ck_assert_msg (text != NULL, "seed %u: %s", seed, diag_list_first_message (diags));
      g_autofree char       *folder = make_folder (text);
      g_autofree char       *path = g_strdup_printf ("%s:%s", folder, shipped);
      g_autoptr (ProfileSet) profiles = profile_set_new (path);
      g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=1 x imported");
      drop_folder (folder);
      ck_assert_uint_eq (cluster_n_gpus (cluster), count (xml->str, "<gpu "));
      ck_assert_uint_eq (cluster_nics_of_node (cluster, 0), count (xml->str, "<net "));
      check_distances (cluster, doc);
    }
}
END_TEST

/* ---- what is read of small files ------------------------------------------------------------- */

#define GPU(bus, inside)                                                           \
  "<pci busid=\"" bus "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" " \
  "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu>" inside "</gpu></pci>"
#define NVLINK(target, count, class_) \
  "<nvlink target=\"" target "\" count=\"" count "\" tclass=\"" class_ "\"/>"
#define NIC(ids, name, speed) \
  "<pci busid=\"20\" " ids "><nic><net name=\"" name "\" speed=\"" speed "\"/></nic></pci>"
#define BARE(bus, class_) \
  "<pci busid=\"" bus "\" class=\"" class_ "\" link_speed=\"16 GT/s\" link_width=\"16\"/>"
#define CPU(words, inside) "<cpu " words ">" inside "</cpu>"
#define CPUS(words) \
  "<system>" CPU ("arch=\"x86_64\" " words, GPU ("1", "")) CPU ("", GPU ("2", "")) "</system>"
#define PACKAGE(bus)                                                                         \
  OBJECT ("Package", "",                                                                     \
          "<info name=\"CPUVendor\" value=\"AuthenticAMD\"/>"                                \
          "<info name=\"CPUFamilyNumber\" value=\"26\"/>"                                    \
          "<info name=\"CPUModelNumber\" value=\"2\"/>" OBJECT ("NUMANode", "", "") OBJECT ( \
              "PCIDev", "pci_busid=\"" bus "\" pci_type=\"0302 [10de:2330] [0:0] 0\"", ""))
#define SYSTEM(inside) "<system version=\"1\"><cpu numaid=\"0\">" inside "</cpu></system>"
#define OBJECT(type, attributes, inside) \
  "<object type=\"" type "\" " attributes ">" inside "</object>"
#define TWO_LSTOPO                                                                              \
  OBJECT ("PCIDev", "gp_index=\"1\" pci_busid=\"1\" pci_type=\"0302 [10de:2330] [0:0] 0\"", "") \
  OBJECT ("PCIDev", "gp_index=\"2\" pci_busid=\"2\" pci_type=\"0302 [10de:2330] [0:0] 0\"", "")

/* A line that the profile must have. */
typedef struct
{
  const char   *xml, *line;
  ImportOptions options;
} Reading;

static const Reading readings[] = {
  /* links between GPUs, which name each other or a switch */
  { SYSTEM (GPU ("1", "")), "intra: none\n", { 0 } },
  { SYSTEM (GPU ("1", "") GPU ("2", "")), "intra: pcie5\n", { 0 } },
  { SYSTEM (GPU ("1", NVLINK ("9", "18", "0x068000")) GPU ("2", NVLINK ("9", "18", "0x068000"))),
    "intra: nvlink4-switch\n",
    { 0 } },
  { SYSTEM (GPU ("1", NVLINK ("2", "2", "0x030200")) GPU ("2", NVLINK ("1", "2", "0x030200"))),
    "intra: a-b-links.yaml\n",
    { 0 } },
  { SYSTEM (GPU ("a", NVLINK ("B", "6", "0x030200") NVLINK ("c", "6", "0x030200")
                          NVLINK ("d", "6", "0x030200"))
                GPU ("b", NVLINK ("a", "6", "0x030200") NVLINK ("c", "6", "0x030200")
                              NVLINK ("d", "6", "0x030200"))
                    GPU ("c", NVLINK ("a", "6", "0x030200") NVLINK ("b", "6", "0x030200")
                                  NVLINK ("d", "6", "0x030200"))
                        GPU ("d", NVLINK ("a", "6", "0x030200") NVLINK ("b", "6", "0x030200")
                                      NVLINK ("c", "6", "0x030200"))),
    "intra: nvlink4-mesh\n",
    { 0 } },
  { "<topology version=\"2.0\">" OBJECT (
        "Machine", "",
        TWO_LSTOPO) "<distances2 name=\"NVLinkBandwidth\"><indexes>1 2</indexes><u64values>"
                    "9 5</u64values><u64values>5 9</u64values></distances2></topology>",
    "intra: nvlink-pairs\n",
    { 0 } },
  /* cards */
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020700\" vendor=\"0x15b3\" device=\"0x101b\"", "mlx5_0", "100000")),
    "nic: ib-hdr-100\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020700\" vendor=\"0x15b3\" device=\"0x1017\"", "mlx5_0", "100000")),
    "nic: ib-edr-100\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020000\" vendor=\"0x15b3\" device=\"0x1017\"", "mlx5_0", "100000")),
    "nic: roce-100\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020000\" vendor=\"0x8086\" device=\"0x1\"", "ens1", "25000")),
    "nic: tcp-25\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020000\" vendor=\"0x17db\" device=\"0x501\"", "cxi0", "200000")),
    "nic: slingshot-200\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")), "nic: none\n", { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020700\" vendor=\"0x15b3\" device=\"0x101c\"", "mlx5_0", "200000")),
    "nic: ib-hdr-200\n",
    { 0 } },
  { SYSTEM (GPU ("1", "")
                NIC ("class=\"0x020700\" vendor=\"0x15b3\" device=\"0x101e\"", "mlx5_0", "400000")),
    "nic: ib-ndr-400\n",
    { 0 } },
  /* four cards that the plug-in shows as one; two that were fused; those are listed nowhere else */
  { SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xefa1\"",
                               "rdmap82s0", "400000")),
    "nic: efa-100\n",
    { 0 } },
  { SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xefa1\"",
                               "rdmap82s0", "400000")),
    "nic_socket: [0, 0, 0, 0]\n",
    { 0 } },
  { SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xefa2\"",
                               "rdmap82s0", "400000")),
    "nic: efa-200\n",
    { 0 } },
  { SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xefa3\"",
                               "rdmap82s0", "400000")),
    "nic: efa-400\n",
    { 0 } },
  { SYSTEM (GPU ("1", "") "<pci busid=\"s\"><pci busid=\"20\" class=\"0x020000\"><nic>"
                          "<net name=\"mlx5_0+mlx5_1\" speed=\"800000\"/><net name=\"mlx5_0\" "
                          "speed=\"400000\" net=\"0\"/></nic></pci></pci>"),
    "nic_switch: [0, 0]\n",
    { .nic = "roce-400" } },
  /* an interface stands under every CPU */
  { "<system>" CPU ("", GPU ("1", "") "<nic><net name=\"eth0\" speed=\"10000\"/></nic>")
        CPU ("", "<nic><net name=\"eth0\" speed=\"10000\"/></nic>") "</system>",
    "nic_socket: [0]\n",
    { .nic = "tcp-10" } },
  /* made for NCCL_TOPO_FILE: PCI classes alone */
  { SYSTEM ("<pci busid=\"s\" class=\"0x060400\">" BARE ("1", "0x030200") BARE ("2", "0x020000")
                BARE ("3", "0x068000") "</pci>" BARE ("4", "0x120000")),
    "gpus: { value: 2, source: \"a\\\"b.xml\", confidence: measured }\nnics: { value: 1,",
    { .gpu = "a100-sxm-40", .intra = "nvlink3-switch", .nic = "efa-100" } },
  { SYSTEM (BARE ("1", "0x030200") "<pci busid=\"s\" class=\"0x060400\">" BARE (
        "2", "0x020000") "</pci>"),
    "gpu_switch: [none]\ngpu_socket: [0]\nnic_switch: [0]\n",
    { .gpu = "a100-sxm-40", .nic = "efa-100" } },
  /* what NCCL takes the link between two NUMA nodes for: its own table */
  { CPUS ("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"79\""),
    "socket_link: { value: 6.000 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\""),
    "socket_link: { value: 10.00 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\""),
    "socket_link: { value: 22.00 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"173\""),
    "socket_link: { value: 40.00 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"207\""),
    "socket_link: { value: 40.00 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\""),
    "socket_link: { value: 16.00 GB/s,",
    { 0 } },
  { CPUS ("vendor=\"AuthenticAMD\" familyid=\"25\" modelid=\"1\""),
    "socket_link: { value: 24.00 GB/s,",
    { 0 } },
  { "<topology version=\"2.0\">" OBJECT (
        "Machine", "",
        "<info name=\"Architecture\" value=\"x86_64\"/>" PACKAGE ("1") PACKAGE ("2")) "</topology>",
    "socket_link: { value: 32.00 GB/s,",
    { .intra = "pcie5" } },
  /* three levels: the middle one has nothing of its own */
  { SYSTEM ("<pci busid=\"s\"><pci busid=\"t\"><pci busid=\"u\">" GPU (
        "1", "") "</pci></pci>"
                 "<pci busid=\"v\">" GPU ("2", "") "</pci></pci>"),
    "pcie_upper: { value: 1,",
    { 0 } },
  { SYSTEM (
        "<pci busid=\"s\"><pci busid=\"t\"><pci busid=\"u\">" GPU ("1", "") "</pci></pci></pci>"),
    "switch_socket: [0]\n",
    { 0 } },
  /* a device at the upper switch itself: that one is both */
  { SYSTEM ("<pci busid=\"s\">" GPU ("1", "") "<pci busid=\"t\">" GPU ("2", "") "</pci></pci>"),
    "gpu_switch: [0, 1]\nswitch_socket: [0, 0]\nswitch_upper: [0, 0]\n",
    { 0 } },
  { SYSTEM (GPU ("1", "") "<pci busid=\"t\">" GPU ("2", "") "</pci>"),
    "gpu_switch: [none, 0]\ngpu_socket: [0, none]\nswitch_socket: [0]\n",
    { 0 } },
  /* no rates */
  { "<topology version=\"2.0\">" OBJECT (
        "Bridge", "pci_link_speed=\"inf\"",
        OBJECT ("PCIDev",
                "pci_busid=\"1\" pci_link_speed=\"nan\" pci_type=\"0302 [10de:2330] [0:0] 0\"", "")
            OBJECT ("PCIDev",
                    "pci_busid=\"2\" pci_link_speed=\"-1\" pci_type=\"0302 [10de:2330] [0:0] 0\"",
                    "")) "</topology>",
    "pcie_uplink: { value: 63.00 GB/s, source: \"a\\\"b.xml: does not say; as the GPU's own slot\"",
    { .intra = "pcie5" } },
  /* a switch of cards alone does not count */
  { SYSTEM ("<pci busid=\"s\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" GPU (
        "2", "") "<pci busid=\"n\"/></pci><pci busid=\"c\" link_speed=\"8.0 GT/s PCIe\" "
                 "link_width=\"8\">" NIC ("class=\"0x020000\"", "eth0", "10000") "</pci>"),
    "pcie_uplink: { value: 31.51 GB/s,",
    { 0 } },
  /* ports of one switch, as virtual links of 5 GT/s between them */
  { SYSTEM ("<pci busid=\"s\" vendor=\"0x1000\" device=\"0xc030\" link_speed=\"16.0 GT/s PCIe\" "
            "link_width=\"16\"><pci busid=\"t\" vendor=\"0x1000\" device=\"0xc030\" "
            "link_speed=\"5.0 GT/s PCIe\" link_width=\"16\">" GPU ("2", "") "</pci></pci>"),
    "pcie_uplink: { value: 31.51 GB/s,",
    { 0 } },
  /* the switches' own links are not said */
  { SYSTEM (
        "<pci busid=\"t\" link_speed=\"Unknown speed\" link_width=\"0\">" GPU ("2", "") "</pci>"),
    "pcie_uplink: { value: 63.00 GB/s, source: \"a\\\"b.xml: does not say; as the GPU's own "
    "slot\", confidence: estimate }\n",
    { 0 } },
};

START_TEST (test_reading)
{
  const Reading         *c = &readings[_i];
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char       *text =
      import_topology_text ("x/a\"b.xml", c->xml, strlen (c->xml), &c->options, profiles, diags);
  g_autofree char *said = diag_list_format (diags, FALSE);
  ck_assert_msg (text != NULL && strstr (text, c->line) != NULL, "%s\n%s", said, text);
}
END_TEST

#define CHIP(bus, words)                                                                       \
  "<pci busid=\"" bus "\" class=\"0x120000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" \
  "<gpu " words "/></pci>"
#define LSTOPO(pci)        "<topology version=\"2.0\">" pci "</topology>"
#define DEVICE(bus, words) OBJECT ("PCIDev", "pci_busid=\"" bus "\" pci_type=\"" words "\"", "")

/* What a file does not show as it is, or what was named against it, is said. */
START_TEST (test_unknown)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  static const struct
  {
    const char   *xml, *why; /* NULL: nothing */
    ImportOptions options;
    gboolean      refused;
  } cases[] = {
    /* the graphics of a server's board are no GPU of it; a card for games of a model that is known
       is */
    { LSTOPO (DEVICE ("1", "0302 [10de:20b2] [0:0] a1") DEVICE ("2", "0300 [1002:515e] [0:0] 02")),
      "the display adapter 1002:515e is left out",
      { .nic = "none" },
      FALSE },
    { LSTOPO (DEVICE ("1", "0300 [10de:2684] [0:0] a1") DEVICE ("2", "0300 [1002:515e] [0:0] 02")),
      "the display adapter 1002:515e is left out",
      { .nic = "none" },
      FALSE },
    { LSTOPO (DEVICE ("1", "0302 [10de:20b2] [0:0] a1") DEVICE ("2", "0300 [10de:2684] [0:0] a1")),
      "GPU 1 is 10de:2684, but GPU 0 is 10de:20b2",
      { .nic = "none" },
      TRUE },
    { LSTOPO (DEVICE ("1", "0300 [10de:2684] [0:0] a1")), NULL, { .nic = "none" }, FALSE },
    /* alone it is none either, unless it is named */
    { LSTOPO (DEVICE ("1", "0300 [1002:515e] [0:0] 02")),
      "PCI devices in it: 1, none an accelerator",
      { 0 },
      TRUE },
    { LSTOPO (DEVICE ("1", "0300 [1002:515e] [0:0] 02")), NULL, { .gpu = "rtx4090-24" }, FALSE },
    { LSTOPO (DEVICE ("1", "0200 [8086:1521] [0:0] 02")),
      "PCI devices in it: 1, none an accelerator",
      { 0 },
      TRUE },
    { LSTOPO (OBJECT ("Machine", "", "")), "it has no PCI devices either", { 0 }, TRUE },
    /* RCCL says the chip where it says no ids */
    { SYSTEM (CHIP ("1", "gcn=\"gfx942\" sm=\"94\"")),
      "the file says no more of the GPUs than their chip, 'gfx942': 'mi300x-192' is taken",
      { 0 },
      FALSE },
    { SYSTEM (CHIP ("1", "gcn=\"gfx942:sramecc+:xnack-\"")),
      "name yours with --gpu ID: mi300a-128, mi308x-192, mi325x-256",
      { 0 },
      FALSE },
    /* ... and its compute units where one model has as many */
    { SYSTEM (CHIP ("1", "gcn=\"906\" sm=\"64\"")), NULL, { 0 }, FALSE },
    { SYSTEM (CHIP ("1", "gcn=\"gfx942\" sm=\"80\"")), NULL, { 0 }, FALSE },
    { SYSTEM (CHIP ("1", "sm=\"86\"")),
      "of 'sm86' there are: a10-24, a10g-24, a16-16, a40-48, rtx3090-24, rtxa6000-48",
      { .intra = "none" },
      TRUE },
    { SYSTEM (CHIP ("1", "gcn=\"gfx1100\"")), "'shardsim hardware' lists the ids", { 0 }, TRUE },
    /* an id that no profile has, of a chip that some have */
    { SYSTEM ("<pci busid=\"1\" vendor=\"0x1002\" device=\"0x74ff\" link_speed=\"32.0 GT/s PCIe\" "
              "link_width=\"16\"><gpu gcn=\"gfx942\"/></pci>"),
      "'mi300x-192' is taken",
      { 0 },
      FALSE },
    { SYSTEM (CHIP ("1", "gcn=\"910\" sm=\"104\"")), NULL, { .gpu = "mi250x-gcd-64" }, FALSE },
    { SYSTEM (CHIP ("1", "gcn=\"gfx942\"")),
      "'a100-sxm-80' is of 'ampere', but the file's GPUs are of 'cdna3' ('gfx942')",
      { .gpu = "a100-sxm-80" },
      FALSE },
    { SYSTEM (CHIP ("1", "sm=\"90\"")),
      "'a100-sxm-80' is of 'ampere', but the file's GPUs are of 'hopper' ('sm90')",
      { .gpu = "a100-sxm-80" },
      FALSE },
    { SYSTEM (CHIP ("1", "sm=\"86\"")), NULL, { .gpu = "a40-48", .intra = "none" }, FALSE },
    { SYSTEM (GPU ("1", "")),
      "'a100-sxm-80', but the file has GPUs 10de:2330, 'h100-sxm-80'",
      { .gpu = "a100-sxm-80" },
      FALSE },
    { SYSTEM (GPU ("1", "")), NULL, { .gpu = "h100-sxm-80" }, FALSE },
    /* slots and links that virtual machines, or idle ones, do not show */
    { SYSTEM ("<pci busid=\"1\" vendor=\"0x10de\" device=\"0x2330\" link_speed=\"2.5 GT/s PCIe\" "
              "link_width=\"16\"><gpu/></pci>"),
      "the slot of GPU 0 carries 4 GB/s, where 'h100-sxm-80' can do 63",
      { 0 },
      FALSE },
    { SYSTEM (GPU ("1", "") GPU ("2", "")),
      "'h100-sxm-80' has links of its own (18 x nvlink4, 25 GB/s), the file shows none: 'pcie5'",
      { 0 },
      FALSE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char *text = import_topology_text ("vm.xml", cases[i].xml, strlen (cases[i].xml),
                                                    &cases[i].options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      ck_assert_msg ((text == NULL) == cases[i].refused, "case %u: %s", i, said);
      if (cases[i].why != NULL)
        ck_assert_msg (strstr (said, cases[i].why) != NULL, "case %u: %s", i, said);
      else
        ck_assert_msg (*said == '\0', "case %u: %s", i, said);
    }
}
END_TEST

/* ---- models ---------------------------------------------------------------------------------- */

/* PCI ids are of the model that the PCI ID database and the vendors' drivers have, VFs too. */
START_TEST (test_ids)
{
  static const struct
  {
    const char *vendor, *device, *gpu;
  } ids[] = {
    { "10de", "15f9", "p100-sxm-16" },   { "10de", "1db4", "v100-pcie-16" },
    { "10de", "1db5", "v100-sxm-32" },   { "10de", "1eb8", "t4-16" },
    { "10de", "20b2", "a100-sxm-80" },   { "10de", "20b5", "a100-pcie-80" },
    { "10de", "20b7", "a30-24" },        { "10de", "2204", "rtx3090-24" },
    { "10de", "2230", "rtxa6000-48" },   { "10de", "2235", "a40-48" },
    { "10de", "2236", "a10-24" },        { "10de", "25b6", "a16-16" },
    { "10de", "2684", "rtx4090-24" },    { "10de", "26b1", "rtx6000ada-48" },
    { "10de", "26b5", "l40-48" },        { "10de", "27b8", "l4-24" },
    { "10de", "2321", "h100-nvl-94" },   { "10de", "2330", "h100-sxm-80" },
    { "10de", "2335", "h200-sxm-141" },  { "10de", "233b", "h200-nvl-141" },
    { "10de", "2342", "gh200-96" },      { "10de", "2348", "gh200-144" },
    { "10de", "2901", "b200-sxm-180" },  { "10de", "2941", "gb200-186" },
    { "10de", "3182", "b300-288" },      { "10de", "31c2", "gb300-288" },
    { "10de", "2e12", "gb10-128" },      { "1002", "738c", "mi100-32" },
    { "1002", "7408", "mi250x-gcd-64" }, { "1002", "740f", "mi210-64" },
    { "1002", "7410", "mi210-64" },      { "1002", "74a0", "mi300a-128" },
    { "1002", "74a1", "mi300x-192" },    { "1002", "74b5", "mi300x-192" },
    { "1002", "74a2", "mi308x-192" },    { "1002", "74b6", "mi308x-192" },
    { "1002", "74a5", "mi325x-256" },    { "1002", "74b9", "mi325x-256" },
    { "1002", "75a0", "mi350x-288" },    { "1002", "75b0", "mi350x-288" },
    { "1002", "75a3", "mi355x-288" },    { "1002", "75b3", "mi355x-288" },
  };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const ImportOptions    options = { .intra = "none" };
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *line = g_strdup_printf ("\ngpu: %s\n", ids[i].gpu);
      g_autofree char     *xml =
          g_strdup_printf (SYSTEM ("<pci busid=\"1\" vendor=\"0x%s\" device=\"0x%s\"><gpu/></pci>"),
                           ids[i].vendor, ids[i].device);
      g_autofree char *text =
          import_topology_text ("box.xml", xml, strlen (xml), &options, profiles, diags);
      ck_assert_msg (text != NULL && strstr (text, line) != NULL, "%s:%s: %s", ids[i].vendor,
                     ids[i].device, text);
    }
}
END_TEST

/*
 * A model that extends another has ids of its own, and a folder's profile of the same id keeps
 * them.
 */
START_TEST (test_names_of_others)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_auto (GStrv)         ids = profile_set_list (profiles, "gpu");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *gpu = profile_set_gpu (profiles, ids[i], NULL, diags);
      ck_assert_msg (gpu->pci_ids != NULL || gpu_profile_is_host (gpu), "'%s' has none", ids[i]);
      for (guint k = 0; k < i && gpu->pci_ids != NULL; k++)
        {
          const GpuProfile *other = profile_set_gpu (profiles, ids[k], NULL, diags);
          ck_assert_msg (g_strcmp0 (gpu->pci_ids, other->pci_ids) != 0
                             || gpu->sms.value != other->sms.value,
                         "'%s' and '%s' are not told apart", ids[i], ids[k]);
        }
    }
}
END_TEST

/* ---- parts ----------------------------------------------------------------------------------- */

#define XGMI(target, count) "<xgmi target=\"" target "\" count=\"" count "\" tclass=\"0x038000\"/>"
#define AMD_GPU(bus, chip, links)                                                                 \
  "<pci busid=\"" bus "\" class=\"0x038000\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu " chip \
  ">" links "</gpu></pci>"

/* What no shipped profile has is a profile of its own, which the node names from where it lies. */
START_TEST (test_parts)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  static const struct
  {
    const char *xml, *node;
    const char *kinds[2], *lines[2]; /* of each part */
  } cases[] = {
    /* a ring of four: single links */
    { SYSTEM (AMD_GPU ("1", "gcn=\"908\"", XGMI ("2", "1") XGMI ("4", "1"))
                  AMD_GPU ("2", "gcn=\"908\"", XGMI ("1", "1") XGMI ("3", "1"))
                      AMD_GPU ("3", "gcn=\"908\"", XGMI ("2", "1") XGMI ("4", "1"))
                          AMD_GPU ("4", "gcn=\"908\"", XGMI ("1", "1") XGMI ("3", "1"))),
      "gpu: mi100-32\nintra: box-links.yaml\n",
      { "link" },
      { "kind: graph\ntechnology: xgmi2\nlinks: \"0-1 0-3 1-2 2-3\"\n" } },
    /* all three pairs alike: a mesh */
    { SYSTEM (AMD_GPU ("1", "gcn=\"908\"", XGMI ("2", "1") XGMI ("3", "1"))
                  AMD_GPU ("2", "gcn=\"908\"", XGMI ("1", "1") XGMI ("3", "1"))
                      AMD_GPU ("3", "gcn=\"908\"", XGMI ("2", "1") XGMI ("1", "1"))),
      "intra: box-links.yaml\n",
      { "link" },
      { "kind: mesh\ntechnology: xgmi2\nlinks:\nbandwidth: { value: 46 GB/s," } },
    /* NVIDIA's, which the file does not name: the generation is the GPU's */
    { SYSTEM (GPU ("1", NVLINK ("2", "2", "0x030200")) GPU ("2", NVLINK ("3", "1", "0x030200"))
                  GPU ("3", "")),
      "gpu: h100-sxm-80\nintra: box-links.yaml\n",
      { "link" },
      { "technology: nvlink4\nlinks: \"0-1:2 1-2\"\n" } },
    /* more links than the model's profile has: another GPU */
    { SYSTEM (AMD_GPU ("1", "gcn=\"906\" sm=\"64\"", XGMI ("2", "2") XGMI ("3", "1"))
                  AMD_GPU ("2", "gcn=\"906\" sm=\"64\"", XGMI ("1", "2"))
                      AMD_GPU ("3", "gcn=\"906\" sm=\"64\"", XGMI ("1", "1"))),
      "gpu: box-gpu.yaml\nintra: box-links.yaml\n",
      { "link", "gpu" },
      { "links: \"0-1:2 0-2\"\n", "extends: mi60-32\n" } },
    /* cards at a rate that no profile of their family has */
    { SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\"", "mlx5_0", "25000")),
      "nic: box-nic.yaml\n",
      { "link" },
      { "extends: roce-100\n" } },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (import_part_free);
      const ImportOptions   options = { .parts = parts };
      g_autofree char *text = import_topology_text ("box.xml", cases[i].xml, strlen (cases[i].xml),
                                                    &options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      ck_assert_msg (text != NULL && strstr (text, cases[i].node) != NULL, "case %u: %s\n%s", i,
                     said, text);
      for (guint k = 0; k < 2; k++)
        {
          const ImportPart *part = k < parts->len ? g_ptr_array_index (parts, k) : NULL;
          ck_assert_int_eq (part != NULL, cases[i].kinds[k] != NULL);
          if (part == NULL)
            continue;
          ck_assert_str_eq (part->kind, cases[i].kinds[k]);
          ck_assert_msg (strstr (part->text, cases[i].lines[k]) != NULL, "case %u: %s", i,
                         part->text);
        }
    }
}
END_TEST

/* FOLDER has no folders. */
static void
drop_files (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (folder, name, NULL);
      g_unlink (file);
    }
  g_rmdir (folder);
}

static void
write_part (const char *folder, const char *name, const char *text)
{
  g_autofree char *file = g_build_filename (folder, name, NULL);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
}

/* A node and its parts that lie in one folder are a cluster by their file. */
START_TEST (test_by_file)
{
  static const char xml[] =
      SYSTEM (AMD_GPU ("1", "gcn=\"906\" sm=\"64\"", XGMI ("2", "2") XGMI ("3", "1"))
                  AMD_GPU ("2", "gcn=\"906\" sm=\"64\"", XGMI ("1", "2"))
                      AMD_GPU ("3", "gcn=\"906\" sm=\"64\"", XGMI ("1", "1"))
                          NIC ("class=\"0x020700\"", "mlx5_0", "200000"));
  g_autofree char       *folder = g_dir_make_tmp ("shardsim-import-XXXXXX", NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GPtrArray)  parts = g_ptr_array_new_with_free_func (import_part_free);
  const ImportOptions    options = { .nic = "ib-hdr-200", .parts = parts };
  g_autofree char       *text =
      import_topology_text ("box.xml", xml, strlen (xml), &options, profiles, diags);
  g_autofree char *file = g_build_filename (folder, "box.yaml", NULL);
  ClusterOptions   asked = { 0 };
  ck_assert_ptr_nonnull (text);
  write_part (folder, "box.yaml", text);
  ck_assert_uint_eq (parts->len, 2);
  for (guint i = 0; i < parts->len; i++)
    {
      const ImportPart *part = g_ptr_array_index (parts, i);
      g_autofree char  *name = g_strconcat (part->id, ".yaml", NULL);
      write_part (folder, name, part->text);
    }
  ck_assert_str_eq (profile_file_kind (file), "node");
  option_table_defaults (cluster_options, &asked);
  asked.name = g_strdup_printf ("2 x %s", file);
  g_autoptr (Cluster) cluster = cluster_new (&asked, profiles, NULL, diags);
  g_autofree char    *said = diag_list_format (diags, FALSE);
  ck_assert_msg (cluster != NULL, "%s", said);
  ck_assert_uint_eq (cluster_n_gpus (cluster), 6);
  ck_assert_uint_eq (cluster_gpu_profile (cluster, 0)->own_links.count, 3);
  ck_assert_uint_eq (cluster_intra_profile (cluster, 0)->graph.links[0][1], 2);
  ck_assert_double_eq_tol (cluster_intra_profile (cluster, 0)->bandwidth.value, 46e9, 1);
  option_table_clear (cluster_options, &asked);
  drop_files (folder);
}
END_TEST

/* Interfaces that a host makes up are no cards, and a speed in kbit/s is none in Mbit/s. */
START_TEST (test_cards)
{
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  static const char *const made_up[] = { "veth608058c", "docker0", "bond0",
                                         "br-1a2b",     "lo",      "eth0.100" };
  for (guint i = 0; i < G_N_ELEMENTS (made_up); i++)
    {
      g_autofree char *xml = g_strdup_printf (
          SYSTEM (GPU ("1", "") NIC ("class=\"0x020000\"", "enp1s0",
                                     "10000") "<nic><net name=\"%s\" speed=\"100000\"/></nic>"),
          made_up[i]);
      g_autoptr (DiagList) diags = diag_list_new ();
      const ImportOptions  options = { 0 };
      g_autofree char     *text =
          import_topology_text ("box.xml", xml, strlen (xml), &options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      ck_assert_msg (text != NULL && strstr (text, "nic: tcp-10\n") != NULL, "%s: %s", made_up[i],
                     said);
      ck_assert_ptr_nonnull (strstr (said, "an interface that the host makes up is no card"));
    }
  static const struct
  {
    const char *xml, *nic;
  } cases[] = {
    { NIC ("class=\"0x020700\"", "mlx5_0", "200000"), "nic: ib-hdr-200\n" },
    { NIC ("class=\"0x020700\"", "mlx5_0", "100000"), "nic: ib-edr-100\n" },
    { "<pci busid=\"20\" class=\"0x020000\" vendor=\"0x17db\" device=\"0x0501\"><nic>"
      "<net name=\"cxi0\" speed=\"200000000\"/></nic></pci>",
      "nic: slingshot-200\n" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *xml =
          g_strconcat ("<system><cpu>", GPU ("1", ""), cases[i].xml, "</cpu></system>", NULL);
      g_autoptr (DiagList) diags = diag_list_new ();
      const ImportOptions  options = { 0 };
      g_autofree char     *text =
          import_topology_text ("box.xml", xml, strlen (xml), &options, profiles, diags);
      ck_assert_msg (text != NULL && strstr (text, cases[i].nic) != NULL, "case %u: %s", i, text);
    }
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

typedef struct
{
  const char   *title, *xml;
  ImportOptions options;
} Mistake;

static const Mistake mistakes[] = {
  { "empty", "", { 0 } },
  { "blank", " \n", { 0 } },
  { "not XML", "gpus: 8\n", { 0 } },
  { "truncated", "<system>\n  <cpu numaid=\"0\">\n", { 0 } },
  { "crossed", "<system>\n  <cpu></system></cpu>\n", { 0 } },
  { "bytes", "<system a=\"\377\"/>", { 0 } },
  { "two roots", "<system/>\n<system/>\n", { 0 } },
  { "unknown root", "<?xml version=\"1.0\"?>\n<machine/>\n", { 0 } },
  { "a graph dump", "<graphs version=\"1\"></graphs>", { 0 } },
  { "a comment alone", "<!-- x -->", { 0 } },
  { "an instruction alone", "<?>", { 0 } },
  { "no GPU", "<system version=\"1\">\n  <cpu numaid=\"0\"/>\n</system>\n", { 0 } },
  { "no GPU of lstopo",
    "<topology version=\"2.0\">\n" OBJECT ("Machine", "", "") "</topology>",
    { 0 } },
  { "made for NCCL_TOPO_FILE",
    "<system>\n<cpu>" BARE ("1", "0x030200") "\n" BARE ("2", "0x030200") "\n" BARE (
        "3", "0x020000") "\n</cpu></system>",
    { 0 } },
  { "the same without links",
    "<system>\n<cpu>" BARE ("1", "0x030200") "\n" BARE ("2", "0x030200") "\n</cpu></system>",
    { .gpu = "a100-sxm-40" } },
  { "missing NVLinks",
    SYSTEM (
        GPU ("1", NVLINK ("9", "18", "0x068000")) "\n" GPU ("2", NVLINK ("9", "17", "0x068000"))),
    { 0 } },
  { "a card of another rate",
    SYSTEM (GPU ("1", "") "\n" NIC ("class=\"0x020700\"", "mlx5_0", "100000")),
    { .nic = "ib-ndr-400" } },
  { "a card for four",
    SYSTEM (GPU ("1", "") "\n" NIC ("class=\"0x020700\"", "mlx5_0", "400000")),
    { .nic = "efa-100" } },
  { "no bus ids",
    "<system>\n <cpu>\n  <pci class=\"0x030200\">\n   <gpu/>\n  </pci>\n  <gpu/>\n"
    "  <pci busid=\"\"><gpu/></pci>\n </cpu>\n</system>",
    { 0 } },
  { "one bus id twice", SYSTEM (GPU ("1", "") "\n" GPU ("1", "")), { 0 } },
  { "two hosts",
    "<system>\n<cpu host_hash=\"0x1\">" GPU ("1", "") "</cpu>\n<cpu host_hash=\"0x2\"/></system>",
    { 0 } },
  { "links",
    SYSTEM (GPU ("1", "\n<nvlink/>\n<nvlink target=\"2\"/>\n" NVLINK ("2", "many",
                                                                      "0x030200") /* no number */
                 "\n" NVLINK ("2", "0", "0x030200")                               /* no link */
                 "\n" NVLINK ("1", "1", "0x030200")                               /* itself */
                 "\n" NVLINK ("3", "1", "")                                       /* no class */
                 "\n" NVLINK ("4", "1", "0x030200")                               /* no such GPU */
                 "\n" NVLINK ("5", "1", "0x030200")) GPU ("2", "")),
    { 0 } },
  { "unlike GPUs",
    SYSTEM (GPU ("1", "") "\n<pci busid=\"2\" vendor=\"0x10de\" device=\"0x2331\"><gpu/></pci>"),
    { 0 } },
  { "unknown GPU",
    SYSTEM ("<pci busid=\"2\" vendor=\"0x10de\" device=\"0xffff\">\n<gpu/></pci>"),
    { 0 } },
  { "wrong ids",
    SYSTEM (GPU ("1", "") GPU ("2", "")),
    { .gpu = "h100-sxm-8", .nic = "ib-ndr-400" } },
  { "wrong links",
    SYSTEM (GPU ("1", "") GPU ("2", "") NIC ("class=\"0x020700\"", "mlx5_0", "400000")),
    { .intra = "ib-ndr-400", .nic = "nvlink4-switch" } },
  { "no link", SYSTEM (GPU ("1", "") GPU ("2", "")), { .intra = "none" } },
  { "unknown card",
    SYSTEM (GPU ("1", "") "\n" NIC ("class=\"0x020700\"", "odd0", "400000")),
    { 0 } },
  { "bad speed", SYSTEM (GPU ("1", "") "\n" NIC ("class=\"0x020700\"", "mlx5_0", "fast")), { 0 } },
  { "unlike cards",
    SYSTEM (GPU (
        "1", "") "<pci busid=\"20\" vendor=\"0x15b3\" device=\"0x1021\" class=\"0x020700\"><nic>\n"
                 "<net name=\"mlx5_0\" speed=\"400000\" gdr=\"0\"/>\n"
                 "<net name=\"mlx5_1\" speed=\"100000\"/>\n<net/></nic></pci>"),
    { 0 } },
  { "half of them at a switch",
    SYSTEM (GPU ("1", NVLINK ("9", "18", "0x068000")) GPU ("2", "")),
    { 0 } },
  { "unknown slots",
    SYSTEM ("<pci busid=\"1\" vendor=\"0x10de\" device=\"0x2331\"><gpu/></pci>"
            "<pci busid=\"2\" vendor=\"0x10de\" device=\"0x2331\"><gpu/></pci>"),
    { 0 } },
  { "unlike switches",
    SYSTEM ("<pci busid=\"s\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">" GPU (
        "1", "") "<pci busid=\"n\"/></pci>"
                 "<pci busid=\"t\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" GPU (
                     "2", "") "<pci busid=\"n\"/></pci>"),
    { 0 } },
  { "four NUMA nodes", "<system><cpu/><cpu/><cpu/>\n<cpu>" GPU ("1", "") "</cpu></system>", { 0 } },
  { "lstopo",
    "<topology version=\"2.0\">\n" OBJECT ("PCIDev", "", "") "\n" OBJECT (
        "PCIDev", "pci_busid=\"1\"",
        "") "\n" OBJECT ("PCIDev", "pci_busid=\"1\" pci_type=\"0302 10de:2330\"", "") "</topology>",
    { 0 } },
  { "lstopo without links", "<topology version=\"2.0\">\n" TWO_LSTOPO "</topology>", { 0 } },
  { "lstopo with half a matrix",
    "<topology version=\"2.0\">" TWO_LSTOPO
    "\n<distances2 name=\"NVLinkBandwidth\"><indexes>1 2</indexes>"
    "<u64values>9 x 5 9</u64values></distances2></topology>",
    { 0 } },
  /* a GPU that is refused has no number, so that nothing may read its links */
  { "lstopo with a matrix of a GPU that is there twice",
    "<topology version=\"2.0\">" TWO_LSTOPO
    "\n" OBJECT ("PCIDev", "gp_index=\"3\" pci_busid=\"1\" pci_type=\"0302 [10de:2330] [0:0] 0\"",
                 "") "<distances2 name=\"NVLinkBandwidth\"><indexes>1 2 3</indexes>"
                     "<u64values>9 9 9 9 9 9 9 9 9</u64values></distances2></topology>",
    { 0 } },
  { "lstopo with one number for two GPUs",
    "<topology version=\"2.0\">" TWO_LSTOPO
    "\n" OBJECT ("PCIDev", "gp_index=\"4\" pci_busid=\"3\" pci_type=\"0302 [10de:2330] [0:0] 0\"",
                 "\n<object type=\"OSDev\" gp_index=\"2\"/>") "</topology>",
    { 0 } },
  { "lstopo outside of NUMA nodes",
    "<topology version=\"2.0\">\n" OBJECT (
        "Machine", "",
        OBJECT ("Package", "", OBJECT ("NUMANode", "", ""))
            OBJECT ("Package", "", OBJECT ("NUMANode", "", ""))
                OBJECT ("PCIDev", "pci_busid=\"1\" pci_type=\"0302 [10de:2330] [0:0] 0\"",
                        "")) "</topology>",
    { 0 } },
};

static void
append_mistake (GString *all, const char *title, const char *xml, gsize length,
                const ImportOptions *options)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char *text = import_topology_text ("bad.xml", xml, length, options, profiles, diags);
  g_autofree char *said = diag_text (diags);
  ck_assert_str_ne (said, "");
  ck_assert_int_eq (text == NULL, diag_list_has_errors (diags));
  g_string_append_printf (all, "== %s\n%s\n", title, said);
}

START_TEST (test_mistakes)
{
  g_autoptr (GString) all = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (mistakes); i++)
    append_mistake (all, mistakes[i].title, mistakes[i].xml, strlen (mistakes[i].xml),
                    &mistakes[i].options);
  assert_golden ("import-mistakes.txt", all->str);
}
END_TEST

static GString *
repeat (const char *start, const char *middle, guint n, const char *end)
{
  GString *text = g_string_new (start);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, middle, i); /* every middle has one %u */
  g_string_append (text, end);
  return text;
}

/* At a limit, and one beyond. */
START_TEST (test_limits)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  static const struct
  {
    const char *start, *middle, *end;
    guint       max;
    const char *message;
  } cases[] = {
    { "<system><cpu>", "<pci busid=\"%u\"><gpu/></pci>", "</cpu></system>", 1024,
      "more than 1024 GPUs" },
    { "<system><cpu><pci busid=\"x\"><gpu/></pci><pci busid=\"y\"><nic>", "<net name=\"mlx%u\"/>",
      "</nic></pci></cpu></system>", 256, "more than 256 network cards" },
    { "<system>", "<cpu numaid=\"%u\"/>", "<cpu><pci busid=\"x\"><gpu/></pci></cpu></system>", 63,
      "more than 64 NUMA nodes" },
    { "<system><cpu>", "<pci busid=\"s\"><pci busid=\"%u\"><gpu/></pci></pci>", "</cpu></system>",
      256, "more than 256 PCIe switches" },
    { "<system>", "<a i=\"%u\">", "", 63, "nested deeper than 64 levels" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint more = 0; more < 2; more++)
      {
        const ImportOptions  options = { .gpu = "h100-pcie-80",
                                         .intra = "pcie5",
                                         .nic = i == 1 ? "ib-ndr-400" : NULL };
        g_autoptr (DiagList) diags = diag_list_new ();
        g_autoptr (GString)  xml =
            repeat (cases[i].start, cases[i].middle, cases[i].max + more, cases[i].end);
        g_autofree char *text =
            import_topology_text ("big.xml", xml->str, xml->len, &options, profiles, diags);
        const char *first = diag_list_first_message (diags);
        ck_assert_msg ((g_strcmp0 (first, cases[i].message) == 0) == (more == 1), "case %u: %s", i,
                       first);
        ck_assert_int_eq (text == NULL, diag_list_has_errors (diags));
      }
  g_autoptr (DiagList) diags = diag_list_new ();
  const ImportOptions  none = { 0 };
  g_autofree char     *huge = g_strnfill (XML_MAX_BYTES + 1, ' ');
  ck_assert_ptr_null (
      import_topology_text ("big.xml", huge, XML_MAX_BYTES + 1, &none, profiles, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "larger than 16 MiB");
}
END_TEST

/* Long lines and many errors are read once. */
START_TEST (test_long_line)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const ImportOptions    options = { 0 };
  g_autoptr (GString)    xml =
      repeat ("<system><cpu>", "<pci a=\"%u\"><gpu/></pci>", 50000, "</cpu></system>");
  ck_assert_ptr_null (
      import_topology_text ("long.xml", xml->str, xml->len, &options, profiles, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "<pci> without 'busid'");
  ck_assert_uint_eq (diag_list_n_errors (diags), 50000);
}
END_TEST

/* Whether a file is good does not depend on what was said about others before. */
START_TEST (test_full_list)
{
  static const char *const files[] = {
    SYSTEM (GPU ("1", "") GPU ("1", "")), /* twice on one bus */
    SYSTEM (GPU ("1", "<nvlink target=\"2\" count=\"-1\"/>") GPU ("2", "")),
    SYSTEM (""), /* without GPUs */
  };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      const ImportOptions  options = { .gpu = "h100-sxm-80", .intra = "pcie5", .nic = "none" };
      g_autoptr (DiagList) diags = diag_list_new ();
      for (guint n = 0; n < DIAG_LIST_MAX; n++)
        diag_error (diags, NULL, NULL, "another file's");
      g_autofree char *text =
          import_topology_text ("bad.xml", files[i], strlen (files[i]), &options, profiles, diags);
      ck_assert_msg (text == NULL, "file %u", i);
      ck_assert_uint_gt (diag_list_n_errors (diags), DIAG_LIST_MAX);
    }
}
END_TEST

/* Pieces of TEXT taken out, put elsewhere or doubled, and digits changed. */
static GString *
mutate (const char *text, GRand *rand)
{
  GString *out = g_string_new (text);
  for (gint32 n = g_rand_int_range (rand, 1, 6); n > 0 && out->len > 1; n--)
    {
      const gint32     at = g_rand_int_range (rand, 0, (gint32) out->len);
      const gint32     rest = (gint32) out->len - at;
      const gint32     length = g_rand_int_range (rand, 1, MIN (rest, 400) + 1);
      g_autofree char *piece = g_strndup (out->str + at, (gsize) length);
      const gint32     action = g_rand_int_range (rand, 0, 4);
      if (action < 2)
        g_string_erase (out, at, length);
      if (action > 0 && action < 3)
        g_string_insert (out, g_rand_int_range (rand, 0, (gint32) out->len + 1), piece);
      for (gint32 i = at; action == 3 && i < at + length; i++)
        if (g_ascii_isdigit (out->str[i]))
          out->str[i] = (char) ('0' + g_rand_int_range (rand, 0, 10));
    }
  return out;
}

/*
 * Nonsense is a profile or errors, and (under a sanitizer) nothing else; whether it is a good
 * profile is the fuzzer's.
 */
START_TEST (test_mutations)
{
  g_autoptr (GDir)       folder = NULL;
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char       *path = source_file ("tests/data/topology");
  const ImportOptions    options[] = {
       { 0 }, { .gpu = "h100-sxm-80", .intra = "nvlink4-switch", .nic = "none" }
  };
  const char *name;
  guint       n_profiles = 0, n_refused = 0;
  folder = g_dir_open (path, 0, NULL);
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL), *text = NULL;
      ck_assert (g_file_get_contents (file, &text, NULL, NULL));
      for (guint32 seed = 0; seed < 200; seed++)
        {
          g_autoptr (GRand)    rand = g_rand_new_with_seed (seed);
          g_autoptr (GString)  bad = mutate (text, rand);
          g_autoptr (DiagList) diags = diag_list_new ();
          g_autofree char     *profile =
              import_topology_text (name, bad->str, bad->len, &options[seed % 2], profiles, diags);
          ck_assert_msg ((profile == NULL) == diag_list_has_errors (diags), "%s, seed %u", name,
                         seed);
          n_profiles += profile != NULL;
          n_refused += profile == NULL;
        }
    }
  ck_assert (n_profiles > 50 && n_refused > 50); /* both ways are taken */
}
END_TEST

START_TEST (test_no_file)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const ImportOptions    options = { 0 };
  ck_assert_ptr_null (import_topology ("absent.xml", &options, profiles, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "cannot read 'absent.xml': No such file or directory");
}
END_TEST

SUITE_MAIN (import)
{
  TCase *tcase = tcase_create ("import");
  tcase_add_loop_test (tcase, test_text, 0, G_N_ELEMENTS (fixtures));
  tcase_add_loop_test (tcase, test_round_trip, 0, G_N_ELEMENTS (fixtures));
  tcase_add_loop_test (tcase, test_reading, 0, G_N_ELEMENTS (readings));
  tcase_add_test (tcase, test_random_trees);
  tcase_add_test (tcase, test_unknown);
  tcase_add_test (tcase, test_ids);
  tcase_add_test (tcase, test_names_of_others);
  tcase_add_test (tcase, test_parts);
  tcase_add_test (tcase, test_by_file);
  tcase_add_test (tcase, test_cards);
  tcase_add_test (tcase, test_mistakes);
  tcase_add_test (tcase, test_limits);
  tcase_add_test (tcase, test_long_line);
  tcase_add_test (tcase, test_full_list);
  tcase_add_test (tcase, test_mutations);
  tcase_add_test (tcase, test_no_file);
  return run_case ("import", tcase);
}
