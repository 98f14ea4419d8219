/*
 * The matrix of `nvidia-smi topo -m`: PIX says that one PCIe switch is above two devices, PXB that
 * several are, PHB and NODE that they share a NUMA node, SYS that they do not. So the devices that
 * are joined by PIX are a switch, those by PIX and PXB what hangs under an outer one, those by all
 * but SYS a NUMA node. Between GPUs NV# hides that; there the NUMA node that a GPU says it is near
 * joins them.
 */
#include <string.h>

#include "import/topology/import-private.h"
#include "import/topology/import-smi-private.h"

/* What two devices that are this near have in common; each includes those before it. */
typedef enum
{
  SHARED_SWITCH,
  SHARED_OUTER,
  SHARED_NODE,
  SHARED_NOTHING,
} Shared;

/* Disjoint sets of devices, one partition a kind of what is shared. */
typedef struct
{
  const SmiTable *table;
  guint           n;
  guint          *sets[SHARED_NOTHING]; /* [n] a device of the same set, itself at the root */
  gboolean       *used;                 /* [n] GPUs, and cards that are the nearest of one */
} Sets;

static Shared
shared_by (guint near)
{
  return near == SMI_PIX   ? SHARED_SWITCH
         : near == SMI_PXB ? SHARED_OUTER
         : near == SMI_SYS ? SHARED_NOTHING
                           : SHARED_NODE;
}

static guint
find (guint *set, guint i)
{
  while (set[i] != i)
    i = set[i] = set[set[i]];
  return i;
}

/* The lower number leads. */
static void
join (Sets *self, Shared from, guint a, guint b)
{
  for (guint kind = from; kind < SHARED_NOTHING; kind++)
    {
      const guint x = find (self->sets[kind], a), y = find (self->sets[kind], b);
      self->sets[kind][MAX (x, y)] = MIN (x, y);
    }
}

static gboolean
is_far (const Sets *self, guint device)
{
  for (guint i = 0; i < self->n; i++)
    if (smi_table_cell (self->table, device, i)->near == SMI_SYS)
      return TRUE;
  return FALSE;
}

/* NODE is one NUMA node's number, not a list of them. */
static gboolean
is_one_node (const char *node)
{
  return node != NULL && strspn (node, "0123456789") == strlen (node);
}

/*
 * Across from each other, though both name one NUMA node: a virtual machine, or a host whose
 * memory is interleaved, does not show what lies between them.
 */
static gboolean
is_hidden (const Sets *self, guint a, guint b)
{
  const char *x = smi_table_device (self->table, a)->numa;
  const char *y = smi_table_device (self->table, b)->numa;
  return smi_table_cell (self->table, a, b)->near == SMI_SYS && is_one_node (x)
         && g_strcmp0 (x, y) == 0;
}

static void
warn_of_hidden (const Sets *self, DiagList *diags)
{
  guint n = 0, first_a = 0, first_b = 0;
  for (guint a = 0; a < self->n; a++)
    for (guint b = 0; b < a; b++)
      if (is_hidden (self, a, b) && n++ == 0)
        {
          first_a = a;
          first_b = b;
        }
  if (n == 0)
    return;
  const SourceMark mark = smi_table_cell_mark (self->table, first_a, first_b);
  g_autofree char *hint =
      g_strdup_printf ("a virtual machine hides it: edit 'sockets' and 'gpu_socket' where you know "
                       "better; such pairs in all: %u",
                       n);
  diag_warning (diags, &mark, hint,
                "'%s' and '%s' are 'SYS' apart, but both name NUMA node %s: what lies between them "
                "is not known, and one NUMA node is taken",
                smi_table_device (self->table, first_a)->name,
                smi_table_device (self->table, first_b)->name,
                smi_table_device (self->table, first_a)->numa);
}

/*
 * GPUs that NVLinks join share a NUMA node where both name one, or where both have the same CPUs
 * and none is named. Where nothing is said (virtual machines) they do, but for those that are
 * across from something.
 */
static gboolean
is_same_node (const Sets *self, guint a, guint b, const gboolean *far)
{
  const SmiDevice *x = smi_table_device (self->table, a), *y = smi_table_device (self->table, b);
  if (x->numa != NULL && y->numa != NULL)
    return strcmp (x->numa, y->numa) == 0 && is_one_node (x->numa);
  if (x->numa != NULL || y->numa != NULL)
    return FALSE;
  return g_strcmp0 (x->cpus, y->cpus) == 0 && (x->cpus != NULL || (!far[a] && !far[b]));
}

static void
fill_sets (Sets *self)
{
  g_autofree gboolean *far = g_new (gboolean, self->n);
  for (guint i = 0; i < self->n; i++)
    far[i] = is_far (self, i);
  for (guint a = 0; a < self->n; a++)
    for (guint b = 0; b < a; b++)
      {
        const guint near = smi_table_cell (self->table, a, b)->near;
        if (is_hidden (self, a, b))
          join (self, SHARED_NODE, a, b);
        else if (near != SMI_NVLINK)
          join (self, shared_by (near), a, b);
        else if (is_same_node (self, a, b, far))
          join (self, SHARED_NODE, a, b);
      }
}

/* Cells have two devices at one NUMA node, their rows at two: the cells stand. */
static void
warn_of_nodes (Sets *self, DiagList *diags)
{
  guint n = 0, first_a = 0, first_b = 0;
  for (guint a = 0; a < self->n; a++)
    for (guint b = 0; b < a; b++)
      {
        const char *x = smi_table_device (self->table, a)->numa;
        const char *y = smi_table_device (self->table, b)->numa;
        if (!is_one_node (x) || !is_one_node (y) || strcmp (x, y) == 0
            || find (self->sets[SHARED_NODE], a) != find (self->sets[SHARED_NODE], b) || n++ > 0)
          continue;
        first_a = a;
        first_b = b;
      }
  if (n == 0)
    return;
  const SourceMark mark = smi_table_cell_mark (self->table, first_a, first_b);
  const SmiDevice *x = smi_table_device (self->table, first_a);
  const SmiDevice *y = smi_table_device (self->table, first_b);
  g_autofree char *hint = g_strdup_printf (
      "edit 'sockets' and 'gpu_socket' where the column is right; such pairs in all: %u", n);
  diag_warning (diags, &mark, hint,
                "'%s' and '%s' are at one NUMA node by their cells, but name the nodes %s and %s: "
                "the cells stand",
                x->name, y->name, x->numa, y->numa);
}

/* ---- cards ----------------------------------------------------------------------------------- */

/*
 * A library sends by a GPU's nearest cards: what is no GPU's nearest is for storage or management.
 */
static void
mark_nearest (Sets *self, guint gpu)
{
  Shared nearest = SHARED_NOTHING;
  for (guint pass = 0; pass < 2; pass++)
    for (guint card = 0; card < self->n; card++)
      {
        const Shared own = shared_by (smi_table_cell (self->table, gpu, card)->near);
        if (smi_table_device (self->table, card)->gpu)
          continue;
        if (pass == 0)
          nearest = MIN (nearest, own);
        else if (own == nearest)
          self->used[card] = TRUE;
      }
}

static void
choose_cards (Sets *self, DiagList *diags)
{
  guint n = 0;
  for (guint i = 0; i < self->n; i++)
    if (smi_table_device (self->table, i)->gpu)
      {
        self->used[i] = TRUE;
        mark_nearest (self, i);
      }
  for (guint i = 0; i < self->n; i++)
    if (!self->used[i] && n++ < 8)
      {
        const SourceMark mark = smi_table_row_mark (self->table, i);
        diag_warning (diags, &mark, NULL, "the card '%s' is left out: every GPU has a nearer one",
                      smi_table_device (self->table, i)->name);
      }
}

/* ---- switches and sockets -------------------------------------------------------------------- */

/*
 * Where a set's switch or socket has its number in the machine, by the device that leads the set.
 */
typedef struct
{
  gint *lower, *outer, *socket; /* [n]; MACHINE_NONE = none yet */
} Numbers;

static guint
count_sets (Sets *self, Shared kind, guint leader, Shared inside)
{
  guint n = 0;
  for (guint i = 0; i < self->n; i++)
    n += find (self->sets[kind], i) == leader && find (self->sets[inside], i) == i;
  return n;
}

static gboolean
is_alone (Sets *self, Shared kind, guint device)
{
  const guint leader = find (self->sets[kind], device);
  for (guint i = 0; i < self->n; i++)
    if (i != device && find (self->sets[kind], i) == leader)
      return FALSE;
  return TRUE;
}

/* The switch above DEVICE, added to the machine where it is the first under it. */
static gint
switch_of (Sets *self, Machine *machine, Numbers *numbers, guint device, guint socket)
{
  const guint lower = find (self->sets[SHARED_SWITCH], device);
  const guint outer = find (self->sets[SHARED_OUTER], device);
  if (is_alone (self, SHARED_OUTER, device))
    return MACHINE_NONE;
  if (numbers->lower[lower] != MACHINE_NONE)
    return numbers->lower[lower];
  if (numbers->outer[outer] == MACHINE_NONE
      && count_sets (self, SHARED_OUTER, outer, SHARED_SWITCH) > 1)
    {
      const MachineSwitch add = { MACHINE_NONE, socket, 0 };
      numbers->outer[outer] = machine_add_switch (machine, &add);
    }
  const MachineSwitch add = { numbers->outer[outer], socket, 0 };
  return numbers->lower[lower] = machine_add_switch (machine, &add);
}

static gboolean
add_device (Sets *self, Machine *machine, Numbers *numbers, guint i)
{
  const SmiDevice *device = smi_table_device (self->table, i);
  const guint      node = find (self->sets[SHARED_NODE], i);
  if (numbers->socket[node] == MACHINE_NONE)
    numbers->socket[node] = (gint) machine->sockets++;
  const guint         socket = (guint) numbers->socket[node];
  const MachineDevice add = {
    .mark = smi_table_row_mark (self->table, i),
    .bus = device->gpu ? device->name : NULL,
    .name = device->gpu ? NULL : device->name,
    .order = i,
    .pcie_switch = switch_of (self, machine, numbers, i, socket),
    .socket = socket,
    .gpu_direct = TRUE,
  };
  return device->gpu ? machine_add_gpu (machine, &add) : machine_add_card (machine, &add);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What the sets give two devices in common, which should be what their cell says. */
static Shared
shared_of (Sets *self, guint a, guint b)
{
  guint kind = SHARED_SWITCH;
  while (kind < SHARED_NOTHING && find (self->sets[kind], a) != find (self->sets[kind], b))
    kind++;
  return (Shared) kind;
}

/* A matrix that is no tree: near to near is not always near. */
static void
check_tree (Sets *self, DiagList *diags)
{
  static const char *const words[] = { "PIX", "PXB", "PHB", "SYS" };
  guint                    n = 0, first_a = 0, first_b = 0;
  for (guint a = 0; a < self->n; a++)
    for (guint b = 0; b < a && self->used[a]; b++)
      {
        const guint near = smi_table_cell (self->table, a, b)->near;
        if (!self->used[b] || near == SMI_NVLINK || is_hidden (self, a, b)
            || shared_by (near) == shared_of (self, a, b))
          continue;
        if (n++ == 0)
          {
            first_a = a;
            first_b = b;
          }
      }
  if (n == 0)
    return;
  const SourceMark mark = smi_table_cell_mark (self->table, first_a, first_b);
  g_autofree char *hint = g_strdup_printf ("check the profile's lists; such cells in all: %u", n);
  diag_warning (diags, &mark, hint,
                "other cells have '%s' and '%s' nearer or farther: they are taken for '%s'",
                smi_table_device (self->table, first_a)->name,
                smi_table_device (self->table, first_b)->name,
                words[shared_of (self, first_a, first_b)]);
}

static gint *
new_numbers (guint n)
{
  gint *numbers = g_new (gint, n);
  for (guint i = 0; i < n; i++)
    numbers[i] = MACHINE_NONE;
  return numbers;
}

static void
read_devices (Machine *self)
{
  const guint n = smi_table_length (self->table);
  Sets        sets = { .table = self->table, .n = n, .used = g_new0 (gboolean, n) };
  Numbers     numbers = { new_numbers (n), new_numbers (n), new_numbers (n) };
  for (guint kind = 0; kind < SHARED_NOTHING; kind++)
    {
      sets.sets[kind] = g_new (guint, n);
      for (guint i = 0; i < n; i++)
        sets.sets[kind][i] = i;
    }
  fill_sets (&sets);
  warn_of_hidden (&sets, self->diags);
  warn_of_nodes (&sets, self->diags);
  choose_cards (&sets, self->diags);
  check_tree (&sets, self->diags);
  for (guint i = 0; i < n; i++)
    if (sets.used[i] && !add_device (&sets, self, &numbers, i))
      break;
  for (guint kind = 0; kind < SHARED_NOTHING; kind++)
    g_free (sets.sets[kind]);
  g_free (sets.used);
  g_free (numbers.lower);
  g_free (numbers.outer);
  g_free (numbers.socket);
}

static void
read_links (Machine *self)
{
  const guint       n = smi_table_length (self->table);
  g_autofree guint *gpus = g_new0 (guint, n); /* of a device that is one */
  self->links_said = self->pairs_share_links = TRUE;
  for (guint i = 0; i < n; i++)
    if (smi_table_device (self->table, i)->gpu)
      gpus[i] = (guint) machine_gpu_on (self, smi_table_device (self->table, i)->name);
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < n; b++)
      if (smi_table_cell (self->table, a, b)->near == SMI_NVLINK)
        *machine_link (self, gpus[a], gpus[b]) = smi_table_cell (self->table, a, b)->links;
}

const MachineFormat machine_format_matrix = { NULL, read_devices, read_links };
