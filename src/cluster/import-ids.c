/*
 * Which GPUs and cards an imported machine is made of. Only what is unambiguous is named; otherwise
 * the option that settles it is asked for.
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
  { AMD, 0x75a3, "mi355x-288" },      { NVIDIA, 0x3182, "b300-288" },
  { NVIDIA, 0x31c2, "gb300-288" },    { AMD, 0x74a5, "mi325x-256" },
  { NVIDIA, 0x15f8, "p100-16" },      { NVIDIA, 0x2204, "rtx3090-24" },
  { NVIDIA, 0x2230, "rtxa6000-48" },  { NVIDIA, 0x2236, "a10-24" },
  { NVIDIA, 0x25b6, "a16-16" },       { NVIDIA, 0x27b8, "l4-24" },
  { NVIDIA, 0x2321, "h100-nvl-94" },  { NVIDIA, 0x2bb1, "rtx-pro-6000-96" },
  { AMD, 0x738c, "mi100-32" },        { AMD, 0x740f, "mi210-64" },
};

static const char *
find_gpu (const MachineDevice *gpu)
{
  for (guint i = 0; i < G_N_ELEMENTS (gpu_ids); i++)
    if (gpu_ids[i].vendor == gpu->vendor && gpu_ids[i].device == gpu->device)
      return gpu_ids[i].id;
  return NULL;
}

/* What RCCL calls chips (the later ones with "gfx"), and NVIDIA's compute capabilities. */
static const struct
{
  const char *chip; /* NULL: NVIDIA's, from `capability` on */
  guint       capability;
  const char *architecture;
} chips[] = {
  { "908", 0, "cdna" },   { "90a", 0, "cdna2" },      { "910", 0, "cdna2" },
  { "940", 0, "cdna3" },  { "941", 0, "cdna3" },      { "942", 0, "cdna3" },
  { "950", 0, "cdna4" },  { NULL, 60, "pascal" },     { NULL, 70, "volta" },
  { NULL, 75, "turing" }, { NULL, 80, "ampere" },     { NULL, 89, "ada" },
  { NULL, 90, "hopper" }, { NULL, 100, "blackwell" },
};

/* As a GPU's profile names it; NULL: not said, or none of these. */
static const char *
architecture_of (const MachineDevice *gpu)
{
  const char *chip = gpu->chip, *found = NULL;
  if (chip != NULL && g_str_has_prefix (chip, "gfx"))
    chip += strlen ("gfx");
  for (guint i = 0; i < G_N_ELEMENTS (chips); i++)
    if (chip != NULL ? g_strcmp0 (chips[i].chip, chip) == 0
                     : chips[i].chip == NULL && gpu->capability >= chips[i].capability)
      found = chips[i].architecture;
  return found;
}

/* "name it with --gpu ID: mi300x-192, mi325x-256"; all of them where the file says nothing. */
static char *
hint_of (const MachineDevice *gpu, ProfileSet *profiles)
{
  const char          *architecture = architecture_of (gpu);
  g_auto (GStrv)       ids = profile_set_list (profiles, "gpu");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  fitting = g_string_new (NULL);
  for (guint i = 0; architecture != NULL && ids[i] != NULL; i++)
    {
      const GpuProfile *profile = profile_set_gpu (profiles, ids[i], NULL, diags);
      if (profile != NULL && g_strcmp0 (profile->architecture, architecture) == 0)
        g_string_append_printf (fitting, "%s%s", fitting->len > 0 ? ", " : "", ids[i]);
    }
  return fitting->len > 0 ? g_strdup_printf ("name it with --gpu ID; of '%s' there are: %s",
                                             architecture, fitting->str)
                          : g_strdup ("name it with --gpu ID; 'shardsim hardware' lists the ids");
}

void
machine_leave_out_displays (Machine *self)
{
  const guint display = 0x0300;
  gboolean    accelerators = FALSE;
  for (guint i = 0; i < self->gpus->len; i++)
    accelerators |=
        machine_gpu (self, i)->class_ != display || find_gpu (machine_gpu (self, i)) != NULL;
  for (guint i = self->gpus->len; accelerators && self->gpus_by_class && i-- > 0;)
    {
      const MachineDevice *gpu = machine_gpu (self, i);
      if (gpu->class_ != display || find_gpu (gpu) != NULL)
        continue;
      diag_warning (self->diags, &gpu->mark, NULL,
                    "the display adapter %04x:%04x is left out: others are accelerators",
                    gpu->vendor, gpu->device);
      g_array_remove_index (self->gpus, i);
    }
}

/* What the catalogue has is another one than the file's ids. */
static gboolean
is_other_model (const char *id, const char *own)
{
  for (guint i = 0; i < G_N_ELEMENTS (gpu_ids); i++)
    if (own != NULL && strcmp (gpu_ids[i].id, id) == 0)
      return strcmp (id, own) != 0;
  return FALSE;
}

/* Links step down where nothing runs, and virtual machines report what they like. */
static void
check_slots (const Machine *self, const GpuProfile *profile)
{
  const double own = profile->host_link.value;
  for (guint i = 0; i < self->gpus->len && !profile->c2c; i++)
    {
      const MachineDevice *gpu = machine_gpu (self, i);
      if (gpu->rate <= 0 || gpu->rate > 0.6 * own)
        continue;
      diag_warning (self->diags, &gpu->mark,
                    "idle links step down and virtual machines show other rates: make the file "
                    "while the GPUs work, or edit the profile",
                    "the slot of GPU %u carries %.3g GB/s, where '%s' can do %.3g", i,
                    gpu->rate * 1e-9, profile->id, own * 1e-9);
      return;
    }
}

void
machine_check_gpu (const Machine *self, const GpuProfile *profile, ProfileSet *profiles)
{
  const MachineDevice *first = machine_gpu (self, 0);
  const char          *own = find_gpu (first), *architecture = architecture_of (first);
  if (is_other_model (profile->id, own))
    diag_warning (self->diags, &first->mark,
                  "is the file this machine's? Without --gpu its own is taken",
                  "'%s', but the file has GPUs %04x:%04x, '%s'", profile->id, first->vendor,
                  first->device, own);
  else if (architecture != NULL && g_strcmp0 (architecture, profile->architecture) != 0)
    {
      g_autofree char *hint = hint_of (first, profiles);
      diag_warning (self->diags, &first->mark, hint,
                    "'%s' is of '%s', but the file's GPUs are of '%s'", profile->id,
                    profile->architecture, architecture);
    }
  check_slots (self, profile);
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
      machine_error (self, &gpu->mark, "a node profile has GPUs of one kind",
                     "GPU %u is %04x:%04x, but GPU 0 is %04x:%04x", i, gpu->vendor, gpu->device,
                     first->vendor, first->device);
      return NULL;
    }
  if (options->gpu != NULL)
    return g_strdup (options->gpu);
  if (id != NULL && profile_set_has (profiles, "gpu", id))
    return g_strdup (id);
  g_autofree char *hint = hint_of (first, profiles);
  if (first->device == 0)
    machine_error (self, &first->mark, hint, "the file does not say which model the GPUs are");
  else
    machine_error (self, &first->mark, hint, "the GPU %04x:%04x is no known model", first->vendor,
                   first->device);
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
      if (n++ < 8)
        diag_warning (self->diags, &card->mark, NULL,
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

/*
 * Amazon's plug-in shows the cards of a GPU as one, so that their device says what one of them
 * carries. Quoted from memory; NULL: a later one.
 */
static const char *
efa_of (const MachineDevice *card)
{
  static const char *const ids[] = { "efa-100", "efa-100", "efa-200", "efa-400" };
  const guint              generation = card->device & 0xf;

  return card->vendor == AMAZON && card->device >> 4 == 0xefa && generation < G_N_ELEMENTS (ids)
             ? ids[generation]
             : NULL;
}

static char *
id_of (const MachineDevice *card, ProfileSet *profiles)
{
  const char      *efa = card->network > 0 ? efa_of (card) : NULL;
  g_autofree char *family = card->network > 0 ? family_of (card) : NULL;
  char            *id = efa != NULL      ? g_strdup (efa)
                        : family != NULL ? g_strdup_printf ("%s-%.0f", family, card->network / 1e9)
                                         : NULL;
  if (id == NULL || profile_set_has (profiles, "link", id))
    return id;
  g_free (id);
  return NULL;
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
  if (card->device == 0 && (card->name == NULL || card->network <= 0))
    machine_error (self, &card->mark,
                   "name it with --nic ID, or leave the cards out with --nic none",
                   "the file does not say which model the cards are");
  else
    machine_error (self, &card->mark,
                   "name it with --nic ID, or leave the cards out with --nic none",
                   "the card '%s' (%04x:%04x, %s) is no known model",
                   card->name != NULL ? card->name : "unnamed", card->vendor, card->device, rate);
  return NULL;
}

gboolean
machine_check_link (ProfileSet *profiles, const char *id, gboolean network, DiagList *diags)
{
  const LinkProfile *link = profile_set_link (profiles, id, NULL, diags);
  if (link == NULL)
    return FALSE;
  if ((link->kind == LINK_NETWORK) != network)
    diag_error (diags, NULL, NULL, "'%s' is %s", id,
                network ? "no network card" : "a network card");
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
  const double         ratio = card->network / 8 / link->bandwidth.value;
  const double         n = floor (ratio + 0.5);
  if (card->network <= 0 || (n == 1 && fabs (ratio - n) <= 0.05))
    return;
  if (n >= 2 && n <= MACHINE_MAX_OTHER && fabs (ratio - n) <= 0.05 * n)
    {
      diag_warning (self->diags, &card->mark, NULL, "a card of %g Gbit/s is taken for %g '%s'",
                    card->network / 1e9, n, link->id);
      repeat_cards (self, (guint) n);
    }
  else
    diag_warning (self->diags, &card->mark, "figures of the profile stand",
                  "a card of %g Gbit/s, but '%s' has %g", card->network / 1e9, link->id,
                  link->bandwidth.value * 8e-9);
}

static void
warn_no_gpu_direct (const Machine *self)
{
  for (guint i = 0; i < self->cards->len; i++)
    if (machine_card (self, i)->gpu_direct)
      return;
  diag_warning (self->diags, &machine_card (self, 0)->mark, "set 'gpu_direct: off' of the cluster",
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
        machine_error (self, &self->mark, NULL, "nic '%s', but the file has no network cards",
                       options->nic);
      return g_strdup ("none");
    }
  leave_out_others (self);
  char *id = options->nic != NULL ? g_strdup (options->nic) : guess_nic (self, profiles);
  if (id != NULL && machine_check_link (profiles, id, TRUE, self->diags))
    {
      const LinkProfile *link = profile_set_link (profiles, id, NULL, self->diags);
      check_rate (self, link);
      if (link->gpu_direct)
        warn_no_gpu_direct (self);
    }
  return id;
}
