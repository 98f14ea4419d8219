/*
 * Where the GPUs and cards of a node hang: spread in order over switches and sockets, or as the
 * lists of the profile have it.
 */
#include "hardware/cluster/cluster-private.h"
#include "hardware/profile/profile-tables-private.h"

/* Entry I of N spread over LIST, which may be absent: then over BINS in order. */
static gint
place (const GArray *list, guint i, guint n, guint bins)
{
  if (list != NULL)
    return g_array_index (list, gint, (guint64) i * list->len / n);
  return bins > 0 ? (gint) ((guint64) i * bins / n) : PLACEMENT_NONE;
}

/* What a profile says of its switches and sockets. */
typedef struct
{
  guint         switches, upper, sockets;
  const GArray *switch_upper, *switch_socket;
} Levels;

static Levels
levels_of (const NodeProfile *profile)
{
  return (Levels){ .switches = (guint) profile->pcie_switches.value,
                   .upper = (guint) profile->pcie_upper.value,
                   .sockets = (guint) profile->sockets.value,
                   .switch_upper = profile->switch_upper,
                   .switch_socket = profile->switch_socket };
}

static guint
socket_of_switch (const Levels *levels, guint pcie_switch)
{
  return (guint) place (levels->switch_socket, pcie_switch, levels->switches, levels->sockets);
}

static Attachment
attach (const NodeProfile *profile, const GArray *switches, const GArray *sockets, guint device,
        guint n)
{
  const Levels levels = levels_of (profile);
  Attachment   at = { .upper = PLACEMENT_NONE };
  at.pcie_switch = place (switches, device, n, levels.switches);
  if (at.pcie_switch == PLACEMENT_NONE)
    {
      at.socket = (guint) place (sockets, device, n, levels.sockets);
      return at;
    }
  at.socket = socket_of_switch (&levels, (guint) at.pcie_switch);
  at.upper = place (levels.switch_upper, (guint) at.pcie_switch, levels.switches, levels.upper);
  if (at.upper != PLACEMENT_NONE)
    at.upper += (gint) levels.switches;
  return at;
}

void
node_group_place (NodeGroup *group)
{
  const NodeProfile *profile = &group->profile;

  group->gpu_at = g_new (Attachment, group->slots);
  for (guint i = 0; i < group->slots; i++)
    group->gpu_at[i] = attach (profile, profile->gpu_switch, profile->gpu_socket, i, group->slots);
  group->card_at = g_new (Attachment, group->nics);
  for (guint i = 0; i < group->nics; i++)
    group->card_at[i] = attach (profile, profile->nic_switch, profile->nic_socket, i, group->nics);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* A list of N entries that name one of BINS things. */
typedef struct
{
  const char   *key, *per, *of; /* of: the figure that counts the bins */
  const GArray *list;
  double        n, bins;
  gboolean      none; /* an entry may be 'none' */
} ListRule;

static const SourceMark *
mark_of (const ConfigNode *root, const char *key, guint item)
{
  const ConfigNode *node = config_node_get (root, key);
  return config_node_mark (item < config_node_length (node) ? config_node_item (node, item) : node);
}

static void
check_list (const ListRule *rule, const ConfigNode *root, DiagList *diags)
{
  if (rule->list == NULL)
    return;
  if (rule->list->len != (guint) rule->n)
    diag_error (diags, config_node_mark (config_node_get (root, rule->key)), NULL,
                "'%s' has %u entries, but '%s' is %g", rule->key, rule->list->len, rule->per,
                rule->n);
  for (guint i = 0; i < rule->list->len; i++)
    {
      const gint entry = g_array_index (rule->list, gint, i);
      if (entry == PLACEMENT_NONE && !rule->none)
        diag_error (diags, mark_of (root, rule->key, i), NULL, "'none' has no place in '%s'",
                    rule->key);
      else if (entry >= rule->bins)
        diag_error (diags, mark_of (root, rule->key, i), "they are counted from 0",
                    "'%s' names number %d, but '%s' is %g", rule->key, entry, rule->of, rule->bins);
    }
}

/* Devices under no switch need a socket of their own as soon as the others are listed. */
static void
check_device (const char *key, const GArray *switches, const char *socket_key,
              const GArray *sockets, const NodeProfile *profile, const ConfigNode *root,
              DiagList *diags)
{
  const Levels levels = levels_of (profile);
  guint        n_switches = switches != NULL ? switches->len : sockets != NULL ? sockets->len : 0;
  for (guint i = 0; i < n_switches; i++)
    {
      const gint own = place (switches, i, n_switches, levels.switches);
      const gint socket = sockets != NULL ? g_array_index (sockets, gint, i) : PLACEMENT_NONE;
      if (own == PLACEMENT_NONE && socket == PLACEMENT_NONE)
        diag_error (diags, mark_of (root, switches != NULL ? key : socket_key, i), NULL,
                    "entry %u of '%s' is under no switch and '%s' has no socket for it", i, key,
                    socket_key);
      else if (own != PLACEMENT_NONE && socket != PLACEMENT_NONE
               && socket_of_switch (&levels, (guint) own) != (guint) socket)
        diag_error (diags, mark_of (root, socket_key, i),
                    "what hangs under a switch is at its socket",
                    "entry %u of '%s' is socket %d, but its switch is at socket %u", i, socket_key,
                    socket, socket_of_switch (&levels, (guint) own));
    }
}

/* Two switches under one upper switch are at one socket. */
static void
check_uppers (const NodeProfile *profile, const ConfigNode *root, DiagList *diags)
{
  const Levels     levels = levels_of (profile);
  const char      *key = levels.switch_upper != NULL ? "switch_upper" : "switch_socket";
  g_autofree gint *first = g_new0 (gint, levels.upper + 1); /* socket + 1; 0 = not seen */
  for (guint s = 0; s < levels.switches; s++)
    {
      const gint upper = place (levels.switch_upper, s, levels.switches, levels.upper);
      const gint socket = (gint) socket_of_switch (&levels, s);
      if (upper == PLACEMENT_NONE)
        continue;
      g_assert ((guint) upper < levels.upper); /* check_list saw to it */
      if (first[upper] == 0)
        first[upper] = socket + 1;
      else if (first[upper] != socket + 1)
        diag_error (diags, mark_of (root, key, s), NULL,
                    "upper switch %d joins switches of the sockets %d and %d", upper,
                    first[upper] - 1, socket);
    }
}

void
placement_check (const NodeProfile *profile, const ConfigNode *root, DiagList *diags)
{
  const double   gpus = profile->gpus.value, nics = profile->nics.value;
  const double   sockets = profile->sockets.value, switches = profile->pcie_switches.value;
  const double   upper = profile->pcie_upper.value;
  const guint    errors = diag_list_n_errors (diags);
  const ListRule rules[] = {
    { "gpu_switch", "gpus", "pcie_switches", profile->gpu_switch, gpus, switches, TRUE },
    { "nic_switch", "nics", "pcie_switches", profile->nic_switch, nics, switches, TRUE },
    { "gpu_socket", "gpus", "sockets", profile->gpu_socket, gpus, sockets, TRUE },
    { "nic_socket", "nics", "sockets", profile->nic_socket, nics, sockets, TRUE },
    { "switch_socket", "pcie_switches", "sockets", profile->switch_socket, switches, sockets,
      FALSE },
    { "switch_upper", "pcie_switches", "pcie_upper", profile->switch_upper, switches, upper, TRUE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    check_list (&rules[i], root, diags);
  if (diag_list_n_errors (diags) > errors)
    return;
  check_device ("gpu_switch", profile->gpu_switch, "gpu_socket", profile->gpu_socket, profile, root,
                diags);
  check_device ("nic_switch", profile->nic_switch, "nic_socket", profile->nic_socket, profile, root,
                diags);
  if (profile->switch_upper != NULL || profile->switch_socket != NULL)
    check_uppers (profile, root, diags);
}
