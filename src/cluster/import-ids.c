/*
 * Which profiles an imported machine is made of. Only what is unambiguous is named; otherwise the option that settles it is asked
 * for.
 */
#include <math.h>
#include <string.h>

#include "cluster/import-private.h"

#define NVIDIA   0x10de
#define AMD      0x1002
#define MELLANOX 0x15b3
#define AMAZON   0x1d0f

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* By the PCI ID database, quoted from memory. Ids that stand for several models are left out. */
static const struct
{
  guint       vendor, device;
  const char *id;
} gpu_ids[] = {
  { NVIDIA, 0x1db1, "v100-sxm-16" },  { NVIDIA, 0x1db5, "v100-sxm-32" },
  { NVIDIA, 0x1db8, "v100-sxm-32" },  { NVIDIA, 0x1eb8, "t4-16" },
  { NVIDIA, 0x20b0, "a100-sxm-40" },  { NVIDIA, 0x20b2, "a100-sxm-80" },
  { NVIDIA, 0x20b3, "a100-sxm-64" },  { NVIDIA, 0x20f1, "a100-pcie-40" },
  { NVIDIA, 0x20f3, "a800-sxm-80" },  { NVIDIA, 0x2235, "a40-48" },
  { NVIDIA, 0x2237, "a10g-24" },      { NVIDIA, 0x2324, "h800-sxm-80" },
  { NVIDIA, 0x2329, "h20-96" },       { NVIDIA, 0x2330, "h100-sxm-80" },
  { NVIDIA, 0x2331, "h100-pcie-80" }, { NVIDIA, 0x2335, "h200-sxm-141" },
  { NVIDIA, 0x2337, "h100-sxm-64" },  { NVIDIA, 0x2684, "rtx4090-24" },
  { NVIDIA, 0x26b9, "l40s-48" },      { NVIDIA, 0x2901, "b200-sxm-180" },
  { NVIDIA, 0x2941, "gb200-186" },    { NVIDIA, 0x2b85, "rtx5090-32" },
  { AMD, 0x7408, "mi250x-gcd-64" },   { AMD, 0x74a1, "mi300x-192" },
  { AMD, 0x75a3, "mi355x-288" },
};

static const char *
find_gpu (const MachineDevice *gpu)
{
  for (guint i = 0; i < G_N_ELEMENTS (gpu_ids); i++)
    if (gpu_ids[i].vendor == gpu->vendor && gpu_ids[i].device == gpu->device)
      return gpu_ids[i].id;
  return NULL;
}

char *
machine_gpu_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles)
{
  const MachineDevice *first = machine_gpu (self, 0);
  const char          *id = find_gpu (first);
  for (guint i = 1; i < self->gpus->len; i++)
    {
      const MachineDevice *gpu = machine_gpu (self, i);
      if (gpu->vendor == first->vendor && gpu->device == first->device)
        continue;
      xml_doc_error (self->doc, gpu->node, NULL, self->diags, "a node profile has GPUs of one kind",
                     "GPU %u is %04x:%04x, but GPU 0 is %04x:%04x", i, gpu->vendor, gpu->device,
                     first->vendor, first->device);
      return NULL;
    }
  if (options->gpu != NULL)
    return g_strdup (options->gpu);
  if (id != NULL && profile_set_has (profiles, "gpu", id))
    return g_strdup (id);
  const char *hint = "name it with --gpu ID; 'shardsim hardware' lists the ids";
  if (first->device == 0)
    xml_doc_error (self->doc, first->node, NULL, self->diags, hint,
                   "the file does not say which model the GPUs are");
  else
    xml_doc_error (self->doc, first->node, NULL, self->diags, hint,
                   "the GPU %04x:%04x is no known model", first->vendor, first->device);
  return NULL;
}

/* ---- cards ----------------------------------------------------------------------------------- */

static double
fastest (const Machine *self)
{
  double rate = 0;
  for (guint i = 0; i < self->cards->len; i++)
    rate = MAX (rate, machine_card (self, i)->network);
  return rate;
}

/* Those that the library would use: the fastest, and with verbs where some have that. */
static gboolean
is_used (const MachineDevice *card, double rate, gboolean verbs)
{
  return card->network == rate && card->verbs >= verbs;
}

static void
leave_out_others (Machine *self)
{
  const double rate = fastest (self);
  gboolean     verbs = FALSE;
  guint        n = 0;
  for (guint i = 0; i < self->cards->len; i++)
    verbs |= machine_card (self, i)->verbs && machine_card (self, i)->network == rate;
  for (guint i = self->cards->len; i-- > 0;)
    {
      const MachineDevice *card = machine_card (self, i);
      if (is_used (card, rate, verbs))
        continue;
      const SourceMark mark = xml_doc_mark (self->doc, card->node, NULL);
      if (n++ < 8)
        diag_warning (self->diags, &mark, NULL,
                      "the card '%s' is left out: others are faster or have verbs",
                      card->name != NULL ? card->name : "unnamed");
      g_array_remove_index (self->cards, i);
    }
}

/* The generation of a card of Mellanox's, which the rate alone does not give. */
static const struct
{
  guint       device;
  const char *generation;
} mellanox[] = {
  { 0x1013, "edr" }, { 0x1014, "edr" }, /* ConnectX-4 and its virtual functions */
  { 0x1017, "edr" }, { 0x1018, "edr" }, /* ConnectX-5 */
  { 0x1019, "edr" }, { 0x101a, "edr" }, /* ConnectX-5 Ex */
  { 0x101b, "hdr" }, { 0x101c, "hdr" }, /* ConnectX-6 */
  { 0x1021, "ndr" }, { 0x1023, "xdr" }, /* ConnectX-7, 8 */
};

/* A virtual function does not say which ConnectX it is of; these rates do. */
static const char *
generation_of (const MachineDevice *card)
{
  for (guint i = 0; i < G_N_ELEMENTS (mellanox); i++)
    if (mellanox[i].device == card->device)
      return mellanox[i].generation;
  return card->network == 400e9 ? "ndr" : card->network == 800e9 ? "xdr" : NULL;
}

/* Family of a card's profile ("ib-hdr"), or NULL. */
static char *
family_of (const MachineDevice *card)
{
  if (card->vendor == AMAZON && card->device >> 4 == 0xefa)
    return g_strdup ("efa");
  if (card->vendor == 0x17db)
    return g_strdup ("slingshot");
  if (card->vendor == 0x8086 && card->device == 0x24f0)
    return g_strdup ("opa");
  if (card->class_ == 0x0207 && card->vendor == MELLANOX && generation_of (card) != NULL)
    return g_strdup_printf ("ib-%s", generation_of (card));
  if (card->class_ == 0x0200 && card->verbs)
    return g_strdup ("roce");
  if ((card->class_ == 0x0200 || card->bus == NULL) && card->name != NULL && card->name[0] == 'e')
    return g_strdup ("tcp");
  return NULL;
}

/* Amazon's plug-in shows the cards of a GPU as one. */
static char *
id_of (const MachineDevice *card, ProfileSet *profiles)
{
  g_autofree char *family = card->network > 0 ? family_of (card) : NULL;
  char *id = family != NULL ? g_strdup_printf ("%s-%.0f", family, card->network / 1e9) : NULL;
  if (id == NULL || profile_set_has (profiles, "link", id))
    return id;
  g_free (id);
  return card->vendor == AMAZON && card->device <= 0xefa1 ? g_strdup ("efa-100") : NULL;
}

static char *
guess_nic (const Machine *self, ProfileSet *profiles)
{
  const MachineDevice *card = machine_card (self, 0);
  g_autofree char     *id = id_of (card, profiles);
  g_autofree char     *rate = card->network > 0 ? g_strdup_printf ("%g Gbit/s", card->network / 1e9)
                                                : g_strdup ("an unknown rate");
  if (id != NULL)
    return g_steal_pointer (&id);
  if (card->device == 0 && card->name == NULL)
    xml_doc_error (self->doc, card->node, NULL, self->diags,
                   "name it with --nic ID, or leave the cards out with --nic none",
                   "the file does not say which model the cards are");
  else
    xml_doc_error (self->doc, card->node, NULL, self->diags,
                   "name it with --nic ID, or leave the cards out with --nic none",
                   "the card '%s' (%04x:%04x, %s) is no known model",
                   card->name != NULL ? card->name : "unnamed", card->vendor, card->device, rate);
  return NULL;
}

/* TRUE when ID is a link of the sort that is WANTED; errors otherwise. */
static gboolean
check_link (ProfileSet *profiles, const char *id, gboolean network, DiagList *diags)
{
  const LinkProfile *link = profile_set_link (profiles, id, NULL, diags);
  if (link == NULL)
    return FALSE;
  if ((link->kind == LINK_NETWORK) != network)
    diag_error (diags, NULL, NULL, "'%s' is %s", id, network ? "no network card" : "a network card");
  return (link->kind == LINK_NETWORK) == network;
}

/* Each card N times, side by side. FALSE when there are too many. */
static gboolean
repeat_cards (Machine *self, guint n)
{
  g_autoptr (GArray) cards = self->cards;
  self->cards = g_array_new (FALSE, FALSE, sizeof (MachineDevice));
  for (guint i = 0; i < cards->len; i++)
    for (guint k = 0; k < n; k++)
      if (!machine_add_card (self, &g_array_index (cards, MachineDevice, i)))
        return FALSE;
  return TRUE;
}

/* One that the file shows may stand for several: a plug-in's, or those that NCCL fused. */
static void
check_rate (Machine *self, const LinkProfile *link)
{
  const MachineDevice *card = machine_card (self, 0);
  const SourceMark     mark = xml_doc_mark (self->doc, card->node, NULL);
  const double         ratio = card->network / 8 / link->bandwidth.value;
  const double         n = floor (ratio + 0.5);
  if (card->network <= 0 || (n == 1 && fabs (ratio - n) <= 0.05))
    return;
  if (n >= 2 && n <= MACHINE_MAX_OTHER && fabs (ratio - n) <= 0.05 * n)
    {
      diag_warning (self->diags, &mark, NULL, "a card of %g Gbit/s is taken for %g '%s'",
                    card->network / 1e9, n, link->id);
      repeat_cards (self, (guint) n);
    }
  else
    diag_warning (self->diags, &mark, "figures of the profile stand",
                  "a card of %g Gbit/s, but '%s' has %g", card->network / 1e9, link->id,
                  link->bandwidth.value * 8e-9);
}

static void
warn_no_gpu_direct (const Machine *self)
{
  for (guint i = 0; i < self->cards->len; i++)
    if (machine_card (self, i)->gpu_direct)
      return;
  const SourceMark mark = xml_doc_mark (self->doc, machine_card (self, 0)->node, NULL);
  diag_warning (self->diags, &mark, "set 'gpu_direct: off' of the cluster",
                "no card reads GPU memory ('gdr'), which a node profile cannot say");
}

char *
machine_nic_id (Machine *self, const ImportOptions *options, ProfileSet *profiles)
{
  if (g_strcmp0 (options->nic, "none") == 0)
    g_array_set_size (self->cards, 0);
  if (self->cards->len == 0)
    {
      if (options->nic != NULL && strcmp (options->nic, "none") != 0)
        xml_doc_error (self->doc, self->root, NULL, self->diags, NULL,
                       "nic '%s', but the file has no network cards", options->nic);
      return g_strdup ("none");
    }
  leave_out_others (self);
  char *id = options->nic != NULL ? g_strdup (options->nic) : guess_nic (self, profiles);
  if (id != NULL && check_link (profiles, id, TRUE, self->diags))
    {
      const LinkProfile *link = profile_set_link (profiles, id, NULL, self->diags);
      check_rate (self, link);
      if (link->gpu_direct)
        warn_no_gpu_direct (self);
    }
  return id;
}

/* ---- links between GPUs ---------------------------------------------------------------------- */

/* How a generation's links are called; n and width: of its mesh; rate: of a link into the switch, B/s a direction. */
typedef struct
{
  const char *architecture, *fabric, *mesh;
  guint       n, width;
  double      rate;
} Generation;

static const Generation generations[] = {
  { "volta", "nvlink2-switch", NULL, 0, 0, 25e9 },
  { "ampere", "nvlink3-switch", "nvlink3-mesh", 4, 4, 25e9 },
  { "hopper", "nvlink4-switch", "nvlink4-mesh", 4, 6, 25e9 },
  { "blackwell", "nvlink5-switch", NULL, 0, 0, 50e9 },
  { "cdna3", NULL, "xgmi-mi300-mesh", 8, 1, 0 },
  { "cdna4", NULL, "xgmi-mi350-mesh", 8, 1, 0 },
};

/* Links of a pair; rates are counted in units of the least. */
static guint
width_of (const Machine *self, guint a, guint b)
{
  const guint n = self->gpus->len;
  const guint own = MAX (self->links[a * n + b], self->links[b * n + a]);
  guint       least = G_MAXUINT;
  if (!self->link_rates || own == 0)
    return own;
  for (guint i = 0; i < n * n; i++)
    if (self->links[i] > 0)
      least = MIN (least, self->links[i]);
  return (guint) ((own + (guint64) least / 2) / least);
}

static LinkGraph *
graph_of (const Machine *self)
{
  LinkGraph *graph = g_new0 (LinkGraph, 1);
  graph->n = self->gpus->len;
  for (guint a = 0; a < graph->n; a++)
    for (guint b = 0; b < graph->n; b++)
      graph->links[a][b] = (guint8) MIN (a == b ? 0 : width_of (self, a, b), G_MAXUINT8);
  return graph;
}

/* Width of every pair where all are alike, else 0. */
static guint
mesh_width (const LinkGraph *graph)
{
  for (guint a = 0; a < graph->n; a++)
    for (guint b = 0; b < graph->n; b++)
      if (a != b && graph->links[a][b] != graph->links[0][1])
        return 0;
  return graph->links[0][1];
}

static gboolean
is_pairs (const LinkGraph *graph)
{
  for (guint a = 0; a < graph->n; a++)
    for (guint b = 0; b < graph->n; b++)
      if ((graph->links[a][b] > 0) != ((a ^ 1) == b))
        return FALSE;
  return TRUE;
}

static gboolean
same_graph (const LinkGraph *a, const LinkGraph *b)
{
  return a->n == b->n && memcmp (a->links, b->links, sizeof a->links) == 0;
}

/* A profile of the kind 'graph' that joins the same pairs. */
static char *
find_graph (const LinkGraph *graph, ProfileSet *profiles)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "link");
  g_autoptr (DiagList) diags = diag_list_new ();
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = profile_set_link (profiles, ids[i], NULL, diags);
      if (link != NULL && link->kind == LINK_GRAPH && same_graph (graph, &link->graph))
        return g_strdup (ids[i]);
    }
  return NULL;
}

static char *
links_text (const LinkGraph *graph)
{
  GString *text = g_string_new (NULL);
  for (guint a = 0; a < graph->n; a++)
    for (guint b = a + 1; b < graph->n; b++)
      if (graph->links[a][b] > 0)
        {
          g_string_append_printf (text, "%s%u-%u", text->len > 0 ? " " : "", a, b);
          if (graph->links[a][b] > 1)
            g_string_append_printf (text, ":%u", graph->links[a][b]);
        }
  return g_string_free (text, FALSE);
}

static void
ask_intra (const Machine *self, const char *hint, const char *what)
{
  xml_doc_error (self->doc, machine_gpu (self, 0)->node, NULL, self->diags, hint, "%s", what);
}

static char *
guess_graph (const Machine *self, ProfileSet *profiles, const Generation *own)
{
  if (self->gpus->len > LINK_GRAPH_MAX)
    {
      ask_intra (self, "name it with --intra ID", "links between more than 16 GPUs without a switch");
      return NULL;
    }
  g_autofree LinkGraph *graph = graph_of (self);
  const guint           all = mesh_width (graph);
  if (own->mesh != NULL && all > 0 && graph->n == own->n && (all == own->width || self->link_rates))
    return g_strdup (own->mesh);
  if (is_pairs (graph))
    return g_strdup ("nvlink-pairs");
  char *id = find_graph (graph, profiles);
  if (id == NULL)
    {
      g_autofree char *links = links_text (graph);
      g_autofree char *hint = g_strdup_printf (
          "name one with --intra ID; a link profile of the kind 'graph' would say links: \"%s\"",
          links);
      ask_intra (self, hint, "no link profile joins GPUs as these are");
    }
  return id;
}

/* By the slowest slot. */
static char *
guess_pcie (const Machine *self)
{
  double rate = G_MAXDOUBLE;
  for (guint i = 0; i < self->gpus->len; i++)
    rate = MIN (rate, machine_gpu (self, i)->rate);
  for (guint generation = 3; generation <= 5; generation++)
    if (rate > 15e9 * (1 << (generation - 3)) && rate < 16e9 * (1 << (generation - 3)))
      return g_strdup_printf ("pcie%u", generation);
  ask_intra (self, "name it with --intra ID, such as 'pcie4' or 'pcie4-host'",
             "no links between the GPUs, and their slots are not 16 lanes of PCIe 3, 4 or 5");
  return NULL;
}

static gboolean
is_linked (const Machine *self)
{
  for (guint i = 0; i < self->gpus->len * self->gpus->len; i++)
    if (self->links[i] > 0)
      return TRUE;
  return FALSE;
}

static guint
count_switched (const Machine *self)
{
  guint n = 0;
  for (guint i = 0; i < self->gpus->len; i++)
    n += machine_gpu (self, i)->switch_links > 0;
  return n;
}

static const Generation *
generation_of_gpu (const GpuProfile *gpu)
{
  static const Generation none = { 0 };
  for (guint i = 0; i < G_N_ELEMENTS (generations); i++)
    if (strcmp (generations[i].architecture, gpu->architecture) == 0)
      return &generations[i];
  return &none;
}

/* Links that are missing, or a GPU that has fewer than its kind's. */
static void
check_switch_links (const Machine *self, const LinkProfile *link, const GpuProfile *gpu,
                    double per_link)
{
  const double limit = gpu->nvlink_limit.value;
  const double rate = limit > 0 ? MIN (limit, link->bandwidth.value) : link->bandwidth.value;
  for (guint i = 0; i < self->gpus->len; i++)
    {
      const MachineDevice *device = machine_gpu (self, i);
      const double         own = device->switch_links * (self->link_rates ? 1e6 : per_link);
      if (own <= 0 || fabs (own / rate - 1) <= 0.05)
        continue;
      const SourceMark mark = xml_doc_mark (self->doc, device->node, NULL);
      diag_warning (self->diags, &mark, "figures of the profiles stand",
                    "GPU %u has %g GB/s of links into the switch, but '%s' with '%s' %g GB/s", i,
                    own * 1e-9, link->id, gpu->id, rate * 1e-9);
      return;
    }
}

static char *
guess_intra (const Machine *self, ProfileSet *profiles, const GpuProfile *gpu)
{
  const Generation *own = generation_of_gpu (gpu);
  const guint       switched = count_switched (self);
  if (self->gpus->len == 1)
    return g_strdup ("none");
  if (!self->links_said)
    ask_intra (self, "name it with --intra ID, such as 'nvlink4-switch' or 'pcie4'",
               "the file does not say how the GPUs are linked");
  else if (switched > 0 && switched < self->gpus->len)
    ask_intra (self, "name it with --intra ID", "some GPUs are linked to a switch and some are not");
  else if (switched > 0 && own->fabric != NULL)
    return g_strdup (own->fabric);
  else if (switched > 0)
    ask_intra (self, "name it with --intra ID", "a switch between GPUs of a generation that has none");
  else if (is_linked (self))
    return guess_graph (self, profiles, own);
  else
    return guess_pcie (self);
  return NULL;
}

char *
machine_intra_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles,
                  const GpuProfile *gpu)
{
  char *id = options->intra != NULL ? g_strdup (options->intra) : guess_intra (self, profiles, gpu);
  const LinkProfile *link = NULL;
  if (id != NULL && check_link (profiles, id, FALSE, self->diags))
    link = profile_set_link (profiles, id, NULL, self->diags);
  if (link != NULL && link->kind == LINK_SWITCH)
    check_switch_links (self, link, gpu, generation_of_gpu (gpu)->rate);
  if (link != NULL && link->kind == LINK_NONE && self->gpus->len > 1)
    diag_error (self->diags, NULL, "name the link between them, such as 'pcie4'",
                "intra '%s' joins no GPUs, but the file has %u", id, self->gpus->len);
  else if (link != NULL && link->kind == LINK_GRAPH && self->gpus->len > link->graph.n)
    diag_error (self->diags, NULL, NULL, "intra '%s' joins %u GPUs, but the file has %u", id,
                link->graph.n, self->gpus->len);
  return id;
}
