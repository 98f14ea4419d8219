/*
 * Imports of `nvidia-smi topo -m`: the matrices of tests/data/topology by their text, and random
 * machines whose distances come back as they were. Whether a matrix is a true one of its machine
 * is not tested, nor what NV# hides of PCIe.
 */
#include <glib/gstdio.h>

#define GOLDEN_FOLDER "tests/import/golden"
#include "../hardware/fixture.h"
#include "../suite.h"
#include "import/topology/import.h"

/* ---- shipped fixtures ------------------------------------------------------------------------ */

typedef struct
{
  const char   *file;
  ImportOptions options;
} Fixture;

static const Fixture fixtures[] = {
  { "smi-dgx-a100", { .gpu = "a100-sxm-80", .nic = "ib-hdr-200" } },
  { "smi-bridge", { .gpu = "a40-48", .nic = "ib-edr-100", .name = "workstation" } },
  { "smi-pcie", { .gpu = "l40s-48", .nic = "ib-hdr-200" } },
  { "smi-dgx2", { .gpu = "v100-sxm-32", .nic = "ib-edr-100" } },
};

/* With what it said in front, as comments. */
START_TEST (test_text)
{
  const Fixture         *fixture = &fixtures[_i];
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char       *relative = g_strdup_printf ("tests/data/topology/%s.txt", fixture->file);
  g_autofree char       *file = source_file (relative), *text = NULL;
  gsize                  length;
  ck_assert (g_file_get_contents (file, &text, &length, NULL));
  g_autofree char *title = g_strdup_printf ("%s.txt", fixture->file);
  g_autofree char *profile =
      import_topology_text (title, text, length, &fixture->options, profiles, diags);
  g_autofree char *said = diag_list_format (diags, FALSE);
  ck_assert_msg (profile != NULL, "%s", said);
  g_autofree char *whole = g_strconcat (said, profile, NULL);
  g_autofree char *golden = g_strdup_printf ("import-%s.yaml", fixture->file);
  assert_golden (golden, whole);
}
END_TEST

/* ---- random machines ------------------------------------------------------------------------- */

#define MAX_DEVICES 24

/*
 * Where a device hangs; 0 = under none. A lower switch is of one outer switch, which is of one
 * NUMA node.
 */
typedef struct
{
  gboolean gpu;
  guint    node, bridge, outer, lower;
} Place;

typedef struct
{
  Place places[MAX_DEVICES];
  guint n, n_gpus;
} Box;

static Box
random_box (GRand *rand)
{
  Box box = { .n = (guint) g_rand_int_range (rand, 1, MAX_DEVICES + 1) };
  for (guint i = 0; i < box.n; i++)
    {
      Place *place = &box.places[i];
      place->gpu = i == 0 || g_rand_boolean (rand);
      box.n_gpus += place->gpu;
      place->node = (guint) g_rand_int_range (rand, 0, 3);
      place->bridge = 10 * place->node + (guint) g_rand_int_range (rand, 0, 2);
      if (g_rand_int_range (rand, 0, 4) == 0)
        continue;
      place->outer = 10 * place->bridge + (guint) g_rand_int_range (rand, 1, 3);
      place->lower = 10 * place->outer + (guint) g_rand_int_range (rand, 1, 4);
    }
  return box;
}

static const char *
near (const Place *a, const Place *b)
{
  if (a->node != b->node)
    return "SYS";
  if (a->bridge != b->bridge)
    return "NODE";
  if (a->outer != b->outer || a->outer == 0)
    return "PHB";
  return a->lower != b->lower ? "PXB" : "PIX";
}

/* GPUs first, as the tool has them. */
static void
name_devices (const Box *box, guint *order, char names[][16])
{
  guint n = 0;
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0, of_kind = 0; i < box->n; i++)
      if (box->places[i].gpu == (pass == 0))
        {
          order[n] = i;
          g_snprintf (names[n++], 16, "%s%u", pass == 0 ? "GPU" : "mlx5_", of_kind++);
        }
}

static GString *
print_box (const Box *box, const guint *order, char names[][16])
{
  GString *text = g_string_new ("");
  for (guint i = 0; i < box->n; i++)
    g_string_append_printf (text, "\t%s", names[i]);
  g_string_append (text, "\tCPU Affinity\tNUMA Affinity\n");
  for (guint i = 0; i < box->n; i++)
    {
      g_string_append (text, names[i]);
      for (guint k = 0; k < box->n; k++)
        g_string_append_printf (
            text, "\t%s", i == k ? " X " : near (&box->places[order[i]], &box->places[order[k]]));
      g_string_append (text, "\t\n");
    }
  return text;
}

static PathClass
class_of (const char *word)
{
  return strcmp (word, "PIX") == 0   ? PATH_PIX
         : strcmp (word, "PXB") == 0 ? PATH_PXB
         : strcmp (word, "SYS") == 0 ? PATH_SYS
                                     : PATH_PHB;
}

/* Some GPU has no nearer card. */
static gboolean
is_nearest (const Box *box, guint card)
{
  for (guint gpu = 0; gpu < box->n; gpu++)
    {
      PathClass least = PATH_SYS;
      for (guint i = 0; i < box->n; i++)
        if (!box->places[i].gpu)
          least = MIN (least, class_of (near (&box->places[gpu], &box->places[i])));
      if (box->places[gpu].gpu && class_of (near (&box->places[gpu], &box->places[card])) == least)
        return TRUE;
    }
  return FALSE;
}

/* A cluster of PROFILE; *PROFILES, which it needs as long as it lives, becomes the caller's. */
static Cluster *
make_machine (const char *profile, ProfileSet **profiles)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-matrix-XXXXXX", NULL);
  g_autofree char *node = g_build_filename (folder, "node", NULL);
  g_autofree char *file = g_build_filename (node, "imported.yaml", NULL);
  ck_assert (g_mkdir (node, 0700) == 0 && g_file_set_contents (file, profile, -1, NULL));
  g_autofree char *shipped = source_file ("hwprofiles");
  g_autofree char *path = g_strdup_printf ("%s:%s", folder, shipped);
  *profiles = profile_set_new (path);
  Cluster *cluster = make_cluster (*profiles, "name=1 x imported");
  g_unlink (file);
  g_rmdir (node);
  g_rmdir (folder);
  return cluster;
}

/* GPUs and the cards that are the nearest of one keep their distances. */
static void
check_box (const Box *box, const guint *order, const Cluster *cluster, guint32 seed)
{
  guint card = 0;
  ck_assert_uint_eq (cluster_n_gpus (cluster), box->n_gpus);
  for (guint k = box->n_gpus; k < box->n; k++)
    {
      if (!is_nearest (box, order[k]))
        continue;
      for (guint gpu = 0; gpu < box->n_gpus; gpu++)
        {
          const PathClass expected =
              class_of (near (&box->places[order[gpu]], &box->places[order[k]]));
          ck_assert_msg (cluster_gpu_card_pcie (cluster, gpu, card) == expected,
                         "seed %u: GPU %u, card %u: %s, not %s", seed, gpu, card,
                         path_class_name (cluster_gpu_card_pcie (cluster, gpu, card)),
                         path_class_name (expected));
        }
      card++;
    }
  ck_assert_uint_eq (cluster_nics_of_node (cluster, 0), card);
}

START_TEST (test_random_machines)
{
  for (guint32 seed = 0; seed < 300; seed++)
    {
      g_autoptr (GRand)      rand = g_rand_new_with_seed (seed);
      const Box              box = random_box (rand);
      guint                  order[MAX_DEVICES];
      char                   names[MAX_DEVICES][16];
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      const ImportOptions    options = { .gpu = "l40s-48",
                                         .nic = box.n > box.n_gpus ? "ib-hdr-200" : NULL };
      name_devices (&box, order, names);
      g_autoptr (GString) text = print_box (&box, order, names);
      g_autofree char    *profile =
          import_topology_text ("box.txt", text->str, text->len, &options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      ck_assert_msg (profile != NULL, "seed %u: %s\n%s", seed, said, text->str);
      ck_assert_msg (strstr (said, "are taken for") == NULL, "seed %u: %s", seed, said);
      g_autoptr (ProfileSet) own = NULL;
      g_autoptr (Cluster)    cluster = make_machine (profile, &own);
      check_box (&box, order, cluster, seed);
    }
}
END_TEST

/* ---- what is read of small ones -------------------------------------------------------------- */

#define TWO(cell) "\tGPU0\tGPU1\nGPU0\tX\t" cell "\nGPU1\t" cell "\tX\n"
#define FOUR(a)                                                                                    \
  "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\t" a "\t" a "\t" a "\nGPU1\t" a "\tX\t" a "\t" a "\nGPU2\t" a \
  "\t" a "\tX\t" a "\nGPU3\t" a "\t" a "\t" a "\tX\n"

typedef struct
{
  const char *text, *gpu, *line;
} Reading;

static const Reading readings[] = {
  /* the GPU's profile says which links, the counts how they join */
  { TWO ("NV4"), "a40-48", "intra: nvlink-pairs\n" },
  { TWO ("NV12"), "a100-sxm-80", "intra: nvlink3-switch\n" },    /* two of the board's eight */
  { TWO ("NV12"), "a100-pcie-40", "intra: small-links.yaml\n" }, /* not at an A40's rate */
  { TWO ("NV4"), "a100-sxm-80", "intra: nvlink3-mesh\n" },
  { FOUR ("NV4"), "a100-sxm-80", "intra: nvlink3-mesh\n" },
  { FOUR ("NV12"), "a100-sxm-80", "intra: nvlink3-switch\n" },
  { FOUR ("NV6"), "h100-sxm-64", "intra: nvlink4-mesh\n" },
  { FOUR ("NV18"), "h100-sxm-80", "intra: nvlink4-switch\n" },
  { FOUR ("NV18"), "b200-sxm-180", "intra: nvlink5-switch\n" },
  { FOUR ("NV8"), "h800-sxm-80", "intra: nvlink4-switch\n" },
  { TWO ("SYS"), "l40s-48", "intra: pcie4\n" },
  { TWO ("SYS"), "h100-pcie-80", "intra: pcie5\n" },
  { TWO ("PIX"), "rtx4090-24", "intra: pcie4-host\n" },
  { TWO ("PHB"), "rtx5090-32", "intra: pcie5-host\n" },
  { "\tGPU0\nGPU0\tX\n", "rtx4090-24", "intra: none\n" },
  /* sockets */
  { TWO ("SYS"), "l40s-48", "gpu_socket: [0, 1]\n" },
  { TWO ("SOC"), "l40s-48", "gpu_socket: [0, 1]\n" },
  { TWO ("NODE"), "l40s-48", "gpu_socket: [0, 0]\n" },
  { TWO ("PIX"), "l40s-48", "gpu_switch: [0, 0]\nswitch_socket: [0]\n" },
  { TWO ("PXB"), "l40s-48", "gpu_switch: [0, 1]\nswitch_socket: [0, 0]\nswitch_upper: [0, 0]\n" },
  /* virtual machines: nothing is near, but all are near one node */
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0\nGPU1 SYS X 0-7 0\n", "l40s-48",
    "gpu_socket: [0, 0]\n" },
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0-1\nGPU1 SYS X 0-7 0-1\n", "l40s-48",
    "gpu_socket: [0, 1]\n" },
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0\nGPU1 SYS X 0-7 0\n", "l40s-48",
    "sockets: { value: 1," },
  /* what NVLinks hide is found by the NUMA node, or by the CPUs where there is none */
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X NV12 0-7 3\nGPU1 NV12 X 0-7 3\n", "a100-sxm-80",
    "gpu_socket: [0, 0]\n" },
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X NV12 0-7 3\nGPU1 NV12 X 0-7 1\n", "a100-sxm-80",
    "gpu_socket: [0, 1]\n" },
  { "GPU0 GPU1 CPU Affinity\nGPU0 X NV12 0-7\nGPU1 NV12 X 0-7\n", "a100-sxm-80",
    "gpu_socket: [0, 0]\n" },
  { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X NV12 N/A N/A\nGPU1 NV12 X N/A N/A\n",
    "a100-sxm-80", "gpu_socket: [0, 0]\n" },
  /* words around it, and the ways that its escape sequences are pasted */
  { "\357\273\277\n$ nvidia-smi topo -m\r\n\033[4mGPU0\tGPU1\033[0m\r\nGPU0\tX\tPIX\r\n"
    "GPU1\tPIX\tX\r\n",
    "l40s-48", "gpus: { value: 2," },
  { "\t^[[4mGPU0\tGPU1^[[0m\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n", "l40s-48", "gpus: { value: 2," },
  { "\t[4mGPU0\tGPU1[0m\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n", "l40s-48", "gpus: { value: 2," },
  /* a comment, a quotation, a table of Markdown */
  { "#\tGPU0\tGPU1\n#GPU0\tX\tPIX\n#GPU1\tPIX\tX\n", "l40s-48", "gpu_switch: [0, 0]\n" },
  { "// \tGPU0\tGPU1\n// GPU0\tX\tPIX\n// GPU1\tPIX\tX\n", "l40s-48", "gpus: { value: 2," },
  { "> GPU0 GPU1\n> GPU0 X PIX\n> GPU1 PIX X\n", "l40s-48", "gpus: { value: 2," },
  { "| | GPU0 | GPU1 |\n| GPU0 | X | PIX |\n| GPU1 | PIX | X |\n", "l40s-48", "gpus: { value: 2," },
  /* cells that run together, and columns that are empty */
  { "GPU0 GPU1 NIC0 NIC1\nGPU0 X NODEPIXNODE\nGPU1 NODE XNODEPIX\nNIC0 PIX NODEX NODE\n"
    "NIC1 NODE PIX NODE X\n",
    "l40s-48", "gpu_switch: [0, 1]\nnic_switch: [0, 1]\n" },
  { "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV12\t\t0\t\tN/A\n"
    "GPU1\tNV12\t X \t\t1\t\tN/A\n",
    "a100-sxm-80", "gpu_socket: [0, 1]\n" },
  /* wrapped: at a blank, and inside of a cell */
  { "\tGPU0\n\tGPU1\nGPU0\tX\n\tNV4\nGPU1\tNV4\n\tX\n", "a40-48", "intra: nvlink-pairs\n" },
  { "\tGPU0\tGPU1\nGPU0\tX\tNV\n12\nGPU1\tN\nV12\tX\n", "a100-sxm-80", "intra: nvlink3-switch\n" },
  { "GPU0 GPU1 CPU\nAffinity NUMA Affinity\nGPU0 X NV12\n 0-31 3\nGPU1 NV12 X 0-31\n 3\n",
    "a100-sxm-80", "gpu_socket: [0, 0]\n" },
};

START_TEST (test_reading)
{
  const Reading         *c = &readings[_i];
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const char            *nic = strstr (c->text, "NIC0") != NULL ? "ib-hdr-200" : NULL;
  const ImportOptions    options = { .gpu = c->gpu, .nic = nic };
  g_autofree char       *text =
      import_topology_text ("small.txt", c->text, strlen (c->text), &options, profiles, diags);
  g_autofree char *said = diag_list_format (diags, FALSE);
  ck_assert_msg (text != NULL && strstr (text, c->line) != NULL, "%s\n%s", said, text);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

typedef struct
{
  const char   *title, *text;
  ImportOptions options;
} Mistake;

static const Mistake mistakes[] = {
  { "no matrix", "GPU 0: NVIDIA A100\nGPU 1: NVIDIA A100\n", { 0 } },
  { "no line of names", "GPU0\t X \tPIX\nGPU1\tPIX\t X \n", { 0 } },
  { "a name twice", "\tGPU0\tGPU0\nGPU0\tX\tX\n", { 0 } },
  { "a row twice", "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n", { 0 } },
  { "rows missing", "\tGPU0\tGPU1\tmlx5_0\nGPU0\tX\tPIX\tPIX\n", { 0 } },
  { "wrapped behind the cells",
    "GPU0 GPU1 CPU\nAffinity NUMA Affinity\nGPU0 X NV12 0-31\n,64-95 0\n"
    "GPU1 NV12 X 0-31\n,64-95 1\n",
    { .gpu = "a100-sxm-80" } },
  { "one row, wrapped", "\tGPU0\nGPU0\tX\nPIX 0-7\n", { .gpu = "l40s-48" } },
  { "a row without a column", TWO ("PIX") "GPU2\tPIX\tPIX\tX\n", { .gpu = "l40s-48" } },
  { "the same behind a blank line", TWO ("PIX") "\nmlx5_0\tPIX\n", { .gpu = "l40s-48" } },
  { "a column that was cut off",
    "\tGPU0\tGPU1\nGPU0\tX\tPIX\tPIX\nGPU1\tPIX\tX\tSYS\n",
    { .gpu = "l40s-48" } },
  { "other numbers of links the other way",
    "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV12\tX\n",
    { .gpu = "a100-sxm-80" } },
  { "peer access instead", "\tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n", { 0 } },
  { "words", "\tGPU0\tGPU1\nGPU0\tX\tNV\nGPU1\tNV0\tX\n", { 0 } },
  { "X elsewhere", "\tGPU0\tGPU1\nGPU0\tPIX\tPIX\nGPU1\tX\tX\n", { 0 } },
  { "a card with NVLinks", "\tGPU0\tmlx5_0\nGPU0\tX\tNV4\nmlx5_0\tNV4\tX\n", { 0 } },
  { "two ways, two answers", "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tPIX\tX\n", { 0 } },
  { "which GPU", TWO ("PIX"), { 0 } },
  { "which GPU of those with so many links", TWO ("NV18"), { 0 } },
  { "which card", "\tGPU0\tmlx5_0\nGPU0\tX\tPIX\nmlx5_0\tPIX\tX\n", { .gpu = "l40s-48" } },
  { "more links than the GPU has", TWO ("NV18"), { .gpu = "a100-sxm-80" } },
  { "links that the GPU does not have", TWO ("NV4"), { .gpu = "rtx4090-24" } },
  { "a link that cannot be", TWO ("PIX"), { .gpu = "rtx4090-24", .intra = "nvlink4-switch" } },
  { "bridges of another rate", TWO ("NV12"), { .gpu = "a100-pcie-40", .intra = "nvlink-pairs" } },
  { "links that are down", FOUR ("NV17"), { .gpu = "h100-sxm-80" } },
  { "odd links",
    "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV2\tNV1\nGPU1\tNV2\tX\tSYS\nGPU2\tNV1\tSYS\tX\n",
    { .gpu = "v100-sxm-32" } },
  { "no tree",
    "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tPIX\nGPU1\tPIX\tX\tSYS\nGPU2\tPIX\tSYS\tX\n",
    { .gpu = "t4-16" } },
  { "bytes", "\tGPU0\377\n", { 0 } },
  { "rocm-smi's table", "=== Weight between two GPUs ===\n       GPU0 \n", { 0 } },
  { "nvidia-smi's list", "| NVIDIA-SMI 550.54  Driver Version: 550.54 |\n", { 0 } },
  { "lstopo's text", "Machine (504GB total)\n  Package L#0\n", { 0 } },
};

START_TEST (test_mistakes)
{
  g_autoptr (GString) all = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (mistakes); i++)
    {
      const Mistake         *c = &mistakes[i];
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_autofree char       *text =
          import_topology_text ("bad.txt", c->text, strlen (c->text), &c->options, profiles, diags);
      g_autofree char *said = diag_text (diags);
      ck_assert_msg (*said != '\0', "'%s' passed", c->title);
      ck_assert_int_eq (text == NULL, diag_list_has_errors (diags));
      g_string_append_printf (all, "== %s\n%s\n", c->title, said);
    }
  assert_golden ("import-matrix-mistakes.txt", all->str);
}
END_TEST

/* What the file cannot say is said; and nothing where it says all. */
START_TEST (test_unknown)
{
  static const struct
  {
    const char *text, *gpu, *why; /* NULL: nothing */
  } cases[] = {
    { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0\nGPU1 SYS X 0-7 0\n", "l40s-48",
      "'GPU1' and 'GPU0' are 'SYS' apart, but both name NUMA node 0" },
    { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0\nGPU1 SYS X 8-15 1\n", "l40s-48",
      NULL },
    { "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X NODE 0-7 0\nGPU1 NODE X 8-15 1\n", "l40s-48",
      "'GPU1' and 'GPU0' are at one NUMA node by their cells, but name the nodes 1 and 0" },
    { TWO ("PIX"), "a100-sxm-80", "'a100-sxm-80' has links of its own (12 x nvlink3, 25 GB/s)" },
    { TWO ("PIX"), "h100-pcie-80", NULL }, /* bridges are sold apart */
    { TWO ("NV12"), "a100-sxm-80", NULL },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      const ImportOptions    options = { .gpu = cases[i].gpu };
      g_autofree char *text = import_topology_text ("vm.txt", cases[i].text, strlen (cases[i].text),
                                                    &options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      ck_assert_ptr_nonnull (text);
      if (cases[i].why != NULL)
        ck_assert_msg (strstr (said, cases[i].why) != NULL, "case %u: %s", i, said);
      else
        ck_assert_msg (strstr (said, "apart") == NULL && strstr (said, "of its own") == NULL,
                       "case %u: %s", i, said);
    }
}
END_TEST

/*
 * A matrix that is folded anywhere is read as the whole one, or is refused; where the fold hides
 * what stands behind the cells, that is said.
 */
START_TEST (test_folded)
{
  g_autofree char       *file = source_file ("tests/data/topology/smi-dgx-a100.txt"), *text = NULL;
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const ImportOptions    options = { .gpu = "a100-sxm-80", .nic = "ib-hdr-200" };
  guint                  n_read = 0;
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  g_autoptr (DiagList) none = diag_list_new ();
  g_autofree char     *whole =
      import_topology_text ("folded.txt", text, strlen (text), &options, profiles, none);
  for (guint width = 16; width <= 160; width += 8)
    {
      g_autoptr (GString)  folded = g_string_new (NULL);
      g_autoptr (DiagList) diags = diag_list_new ();
      guint                at = 0;
      for (const char *p = text; *p != '\0'; p++)
        {
          const guint next = *p == '\t' ? (at / 8 + 1) * 8 : at + 1;
          if (next > width && *p != '\n')
            g_string_append_c (folded, '\n');
          g_string_append_c (folded, *p);
          at = *p == '\n' ? 0 : next > width ? (*p == '\t' ? 8 : 1) : next;
        }
      g_autofree char *profile =
          import_topology_text ("folded.txt", folded->str, folded->len, &options, profiles, diags);
      g_autofree char *said = diag_list_format (diags, FALSE);
      if (profile == NULL)
        ck_assert_msg (strstr (said, "the text was cut") != NULL
                           || strstr (said, "two columns") != NULL,
                       "at %u: %s", width, said);
      else if (strstr (said, "behind the cells") == NULL)
        ck_assert_msg (strcmp (profile, whole) == 0, "at %u: %s\n%s", width, said, profile);
      n_read += profile != NULL;
    }
  ck_assert_uint_ge (n_read, 10);
}
END_TEST

/* As many as a profile takes, and one more. */
START_TEST (test_limits)
{
  for (guint more = 0; more < 2; more++)
    {
      const guint            n = 1024 + more;
      g_autoptr (GString)    text = g_string_new (NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      const ImportOptions    options = { .gpu = "h100-sxm-80" };
      for (guint i = 0; i < n; i++)
        g_string_append_printf (text, "\tGPU%u", i);
      for (guint i = 0; i < n; i++)
        {
          g_string_append_printf (text, "\nGPU%u", i);
          for (guint k = 0; k < n; k++)
            g_string_append (text, i == k ? "\tX" : "\tNV18");
        }
      g_autofree char *profile =
          import_topology_text ("big.txt", text->str, text->len, &options, profiles, diags);
      if (more == 1)
        ck_assert_str_eq (diag_list_first_message (diags), "more than 1024 GPUs");
      ck_assert_int_eq (profile == NULL, more == 1);
    }
}
END_TEST

SUITE_MAIN (import_matrix)
{
  TCase *tcase = tcase_create ("import-matrix");
  tcase_add_loop_test (tcase, test_text, 0, G_N_ELEMENTS (fixtures));
  tcase_add_test (tcase, test_random_machines);
  tcase_add_loop_test (tcase, test_reading, 0, G_N_ELEMENTS (readings));
  tcase_add_test (tcase, test_mistakes);
  tcase_add_test (tcase, test_unknown);
  tcase_add_test (tcase, test_folded);
  tcase_add_test (tcase, test_limits);
  return run_case ("import-matrix", tcase);
}
