/*
 * Which cards an imported machine has. Only what is unambiguous is named; otherwise the option that
 * settles it is asked for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/topology/import-private.h"

#define MELLANOX 0x15b3
#define AMAZON   0x1d0f
#define CRAY     0x17db

static void
leave_out_others (Machine *self)
{
  double   rate = 0;
  gboolean verbs = FALSE;
  guint    n = 0;

  for (guint i = 0; i < self->cards->len; i++)
    rate = MAX (rate, machine_card (self, i)->network);
  for (guint i = 0; i < self->cards->len; i++)
    verbs |= machine_card (self, i)->verbs && machine_card (self, i)->network == rate;
  for (guint i = self->cards->len; i-- > 0;)
    {
      const MachineDevice *card = machine_card (self, i);
      if (card->network == rate && card->verbs >= verbs)
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

/* What InfiniBand carries at a generation's full rate. */
static const struct
{
  double      rate; /* bit/s */
  const char *generation;
} rates[] = { { 100e9, "edr" }, { 200e9, "hdr" }, { 400e9, "ndr" }, { 800e9, "xdr" } };

/*
 * A virtual function does not say which ConnectX it is of, and old dumps have no ids: the rate says
 * what such a card is at least.
 */
static const char *
generation_of (const MachineDevice *card)
{
  for (guint i = 0; i < G_N_ELEMENTS (mellanox); i++)
    if (mellanox[i].device == card->device)
      return mellanox[i].generation;
  for (guint i = 0; i < G_N_ELEMENTS (rates); i++)
    if (rates[i].rate == card->network && (card->device == 0 || rates[i].rate >= 400e9))
      return rates[i].generation;
  return NULL;
}

static gboolean
is_mellanox (const MachineDevice *card)
{
  return card->vendor == MELLANOX
         || (card->vendor == 0 && card->name != NULL && g_str_has_prefix (card->name, "mlx"));
}

/* Family of a card's profile ("ib-hdr"), or NULL. */
static char *
family_of (const MachineDevice *card)
{
  if (card->vendor == AMAZON && card->device >> 4 == 0xefa)
    return g_strdup ("efa");
  if (card->vendor == CRAY || (card->name != NULL && g_str_has_prefix (card->name, "cxi")))
    return g_strdup ("slingshot");
  if (card->vendor == 0x8086 && card->device == 0x24f0)
    return g_strdup ("opa");
  if (card->class_ == 0x0207 && is_mellanox (card) && generation_of (card) != NULL)
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

/* The link of FAMILY, "roce", whose rate is nearest to CARD's; NULL: there is none. */
static char *
find_nearest (const MachineDevice *card, const char *family, ProfileSet *profiles)
{
  g_auto (GStrv)   ids = profile_set_list (profiles, "link");
  g_autofree char *prefix = g_strconcat (family, "-", NULL);
  const char      *found = NULL;
  double           least = G_MAXDOUBLE;
  for (guint i = 0; ids[i] != NULL; i++)
    {
      char        *end = NULL;
      const double rate = g_str_has_prefix (ids[i], prefix)
                              ? (double) g_ascii_strtoull (ids[i] + strlen (prefix), &end, 10)
                              : 0;
      const double off =
          rate > 0 && end != NULL && *end == '\0' ? fabs (log (rate * 1e9 / card->network)) : least;
      if (off >= least)
        continue;
      least = off;
      found = ids[i];
    }
  return g_strdup (found);
}

/* A profile for a card whose family has none of its rate: that of BASE at CARD's own. */
static char *
write_rate (Machine *self, const MachineDevice *card, const char *base)
{
  g_autofree char *rate = g_strdup_printf ("%g GB/s", card->network / 8e9);
  g_autofree char *figure =
      machine_figure ("bandwidth", rate, self->source, "measured", "the rate of its cards");
  g_autofree char *title =
      g_strdup_printf ("title: \"%s at %g Gbit/s\"\n", base, card->network / 1e9);
  g_autofree char *text = g_strconcat ("extends: ", base, "\n", title, figure, NULL);
  char            *name = machine_add_part (self, "link", "nic", text);
  diag_warning (self->diags, &card->mark, "extend that profile where you know better",
                "no profile of such a card has %g Gbit/s: '%s' is '%s' at that rate",
                card->network / 1e9, name, base);
  return name;
}

static char *
id_of (Machine *self, const MachineDevice *card, ProfileSet *profiles)
{
  const char      *efa = card->network > 0 ? efa_of (card) : NULL;
  g_autofree char *family = card->network > 0 ? family_of (card) : NULL;
  g_autofree char *id = efa != NULL      ? g_strdup (efa)
                        : family != NULL ? g_strdup_printf ("%s-%.0f", family, card->network / 1e9)
                                         : NULL;
  g_autofree char *near = NULL;
  if (id == NULL || profile_set_has (profiles, "link", id))
    return g_steal_pointer (&id);
  near = find_nearest (card, family, profiles);
  return near != NULL ? write_rate (self, card, near) : NULL;
}

static char *
guess_nic (Machine *self, ProfileSet *profiles)
{
  const MachineDevice *card = machine_card (self, 0);
  g_autofree char     *id = id_of (self, card, profiles);
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
  if (id != NULL && !machine_has_part (self, id)
      && machine_check_link (profiles, id, TRUE, self->diags))
    {
      const LinkProfile *link = profile_set_link (profiles, id, NULL, self->diags);
      check_rate (self, link);
      if (link->gpu_direct)
        warn_no_gpu_direct (self);
    }
  return id;
}
