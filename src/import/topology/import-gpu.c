/*
 * Which GPUs an imported machine has: by their PCI ids, else by the name of their chip, both as the
 * GPUs' profiles have them. What several models share is told apart by the file's compute units and
 * links; the model that is usual for a chip is taken last, with a warning.
 */
#include <string.h>

#include "import/topology/import-private.h"

/* ---- profiles that the file may mean --------------------------------------------------------- */

static gboolean
has_word (const char *words, const char *word)
{
  g_auto (GStrv) list = words != NULL ? g_strsplit (words, " ", -1) : NULL;
  return list != NULL && g_strv_contains ((const char *const *) list, word);
}

/* Array of GpuProfile, whose `pci_ids` or, as BY_CHIP says, `chip` have WORD (NULL: none do). */
static GPtrArray *
find_named (ProfileSet *profiles, gboolean by_chip, const char *word)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "gpu");
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *found = g_ptr_array_new ();
  for (guint i = 0; word != NULL && ids[i] != NULL; i++)
    {
      const GpuProfile *profile = profile_set_gpu (profiles, ids[i], NULL, diags);
      if (profile != NULL && has_word (by_chip ? profile->chip : profile->pci_ids, word))
        g_ptr_array_add (found, (gpointer) profile);
    }
  return found;
}

static GPtrArray *
find_by_id (const MachineDevice *gpu, ProfileSet *profiles)
{
  g_autofree char *id = g_strdup_printf ("%04x:%04x", gpu->vendor, gpu->device);
  return find_named (profiles, FALSE, gpu->device != 0 ? id : NULL);
}

/*
 * "gfx942" of "gfx942:sramecc+:xnack-" and of "942", as older RCCL has it; "sm90" of NVIDIA's
 * capability 9.0. Newly allocated; NULL: not said.
 */
static char *
chip_of (const MachineDevice *gpu)
{
  const char *chip = gpu->chip;
  if (chip == NULL)
    return gpu->capability > 0 ? g_strdup_printf ("sm%u", gpu->capability) : NULL;
  if (g_str_has_prefix (chip, "gfx"))
    chip += strlen ("gfx");
  return g_strdup_printf ("gfx%.*s", (int) MIN (strcspn (chip, ":"), 64), chip);
}

static GPtrArray *
find_by_chip (const MachineDevice *gpu, ProfileSet *profiles)
{
  g_autofree char *chip = chip_of (gpu);
  return find_named (profiles, TRUE, chip);
}

/* ---- one of several -------------------------------------------------------------------------- */

typedef gboolean (*Fits) (const GpuProfile *profile, guint64 number);

static gboolean
has_units (const GpuProfile *profile, guint64 units)
{
  return profile->sms.value == (double) units;
}

static gboolean
has_links (const GpuProfile *profile, guint64 links)
{
  return profile->own_links.count == links;
}

static gboolean
is_usual (const GpuProfile *profile, guint64 number)
{
  (void) number;
  return profile->usual;
}

/* Leaves those that FIT, where any do. */
static void
narrow (GPtrArray *found, Fits fits, guint64 number)
{
  guint n = 0;
  for (guint i = 0; i < found->len; i++)
    n += fits (g_ptr_array_index (found, i), number);
  for (guint i = found->len; n > 0 && i-- > 0;)
    if (!fits (g_ptr_array_index (found, i), number))
      g_ptr_array_remove_index (found, i);
}

/* Most links of a GPU to the others, where the file counts them. */
static guint64
most_links (const Machine *self)
{
  guint64 most = 0;
  for (guint a = 0; a < self->gpus->len && !self->link_rates && !self->pairs_share_links; a++)
    {
      guint64 sum = machine_gpu (self, a)->switch_links;
      for (guint b = 0; b < self->gpus->len; b++)
        sum += *machine_link (self, a, b);
      most = MAX (most, sum);
    }
  return most;
}

/* Leaves one of FOUND where the file tells them apart. */
static void
settle (const Machine *self, const MachineDevice *gpu, GPtrArray *found)
{
  const guint64 links = most_links (self);
  narrow (found, has_units, gpu->units);
  if (links > 0)
    narrow (found, has_links, links);
  if (found->len > 1)
    narrow (found, is_usual, 0);
}

static char *
list_ids (const GPtrArray *found, const char *but)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < found->len; i++)
    {
      const GpuProfile *profile = g_ptr_array_index (found, i);
      if (g_strcmp0 (profile->id, but) != 0)
        g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", profile->id);
    }
  return g_string_free (text, FALSE);
}

/*
 * GPUs that have as many links as a pair shows, through switches, or as all pairs of one do; NULL:
 * there are none, or the matrix shows no links. Newly allocated.
 */
static char *
list_by_links (const Machine *self, ProfileSet *profiles)
{
  g_auto (GStrv)        ids = profile_set_list (profiles, "gpu");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  guint64               most = 0, sum = 0;
  for (guint a = 0; self->links != NULL && a < self->gpus->len; a++)
    {
      guint64 own = 0;
      for (guint b = 0; b < self->gpus->len; b++)
        {
          own += *machine_link (self, a, b);
          most = MAX (most, *machine_link (self, a, b));
        }
      sum = MAX (sum, own);
    }
  for (guint i = 0; most > 0 && ids[i] != NULL; i++)
    {
      const GpuProfile *profile = profile_set_gpu (profiles, ids[i], NULL, diags);
      if (profile != NULL && (has_links (profile, most) || has_links (profile, sum)))
        g_ptr_array_add (found, (gpointer) profile);
    }
  return found->len > 0 ? list_ids (found, NULL) : NULL;
}

/* Of GPU's vendor the one with the nearest PCI id: a vendor numbers a generation in a row. */
static const GpuProfile *
nearest_id (const MachineDevice *gpu, ProfileSet *profiles)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "gpu");
  g_autoptr (DiagList) diags = diag_list_new ();
  const GpuProfile    *nearest = NULL;
  guint64              least = G_MAXUINT64;
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *profile = profile_set_gpu (profiles, ids[i], NULL, diags);
      g_auto (GStrv)    words = profile != NULL && profile->pci_ids != NULL
                                    ? g_strsplit (profile->pci_ids, " ", -1)
                                    : NULL;
      for (guint w = 0; words != NULL && words[w] != NULL; w++)
        {
          char         *colon;
          const guint64 vendor = g_ascii_strtoull (words[w], &colon, 16);
          const guint64 device = *colon == ':' ? g_ascii_strtoull (colon + 1, NULL, 16) : 0;
          const guint64 away = MAX (device, gpu->device) - MIN (device, gpu->device);
          if (vendor != gpu->vendor || away >= least)
            continue;
          least = away;
          nearest = profile;
        }
    }
  return nearest;
}

/*
 * "name it with --gpu ID: mi300x-192, mi325x-256"; the nearest where the file says no more than a
 * PCI id. A profile with blanks would be of no use: nothing in such a file says how fast a GPU is.
 */
static char *
hint_of (const Machine *self, const MachineDevice *gpu, ProfileSet *profiles)
{
  g_autofree char      *by_links = self->table != NULL ? list_by_links (self, profiles) : NULL;
  g_autoptr (GPtrArray) found = find_by_chip (gpu, profiles);
  g_autofree char      *chip = chip_of (gpu), *list = list_ids (found, NULL);
  const GpuProfile     *near = gpu->device != 0 ? nearest_id (gpu, profiles) : NULL;
  const char           *nearest = near != NULL ? near->id : "ID";
  g_autofree char      *own =
      gpu->device != 0
               ? g_strdup_printf (", '%s' has the nearest; a profile of your own has 'extends: "
                                       "%s' and 'pci_ids: \"%04x:%04x\"'",
                                  nearest, nearest, gpu->vendor, gpu->device)
               : g_strdup ("");
  if (by_links != NULL)
    return g_strdup_printf ("name it with --gpu ID; with so many links there are: %s", by_links);
  return found->len > 0
             ? g_strdup_printf ("name it with --gpu ID; of '%s' there are: %s", chip, list)
             : g_strdup_printf ("name it with --gpu ID; 'shardsim hardware' lists the ids%s", own);
}

/* ---- displays -------------------------------------------------------------------------------- */

void
machine_leave_out_displays (Machine *self, const ImportOptions *options, ProfileSet *profiles)
{
  const guint display = 0x0300;
  gboolean    accelerators = FALSE;
  for (guint i = 0; i < self->gpus->len; i++)
    accelerators |= machine_gpu (self, i)->class_ != display;
  for (guint i = self->gpus->len; self->gpus_by_class && i-- > 0;)
    {
      const MachineDevice  *gpu = machine_gpu (self, i);
      g_autoptr (GPtrArray) known = find_by_id (gpu, profiles);
      if (gpu->class_ != display || known->len > 0 || (options->gpu != NULL && !accelerators))
        continue;
      diag_warning (self->diags, &gpu->mark,
                    accelerators ? NULL : "where it is the GPU, name it with --gpu ID",
                    accelerators
                        ? "the display adapter %04x:%04x is left out: others are accelerators"
                        : "the display adapter %04x:%04x is left out: it is no known model, as "
                          "those of servers' boards",
                    gpu->vendor, gpu->device);
      g_array_remove_index (self->gpus, i);
    }
}

/* ---- the GPU --------------------------------------------------------------------------------- */

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
  const MachineDevice  *first = machine_gpu (self, 0);
  g_autoptr (GPtrArray) own = find_by_id (first, profiles), alike = find_by_chip (first, profiles);
  g_autofree char      *chip = chip_of (first), *ids = list_ids (own, NULL);
  const GpuProfile     *one = alike->len > 0 ? g_ptr_array_index (alike, 0) : NULL;
  if (own->len > 0 && profile->pci_ids != NULL && !g_ptr_array_find (own, profile, NULL))
    diag_warning (self->diags, &first->mark,
                  "is the file this machine's? Without --gpu its own is taken",
                  "'%s', but the file has GPUs %04x:%04x, '%s'", profile->id, first->vendor,
                  first->device, ids);
  else if (one != NULL && strcmp (one->architecture, profile->architecture) != 0)
    {
      g_autofree char *hint = hint_of (self, first, profiles);
      diag_warning (self->diags, &first->mark, hint,
                    "'%s' is of '%s', but the file's GPUs are of '%s' ('%s')", profile->id,
                    profile->architecture, one->architecture, chip);
    }
  check_slots (self, profile);
}

/* FALSE after a diagnostic: GPUs of unlike kinds. */
static gboolean
check_alike (const Machine *self)
{
  const MachineDevice *first = machine_gpu (self, 0);
  for (guint i = 1; i < self->gpus->len; i++)
    {
      const MachineDevice *gpu = machine_gpu (self, i);
      if (gpu->vendor == first->vendor && gpu->device == first->device)
        continue;
      machine_error (self, &gpu->mark, "a node profile has GPUs of one kind",
                     "GPU %u is %04x:%04x, but GPU 0 is %04x:%04x", i, gpu->vendor, gpu->device,
                     first->vendor, first->device);
      return FALSE;
    }
  return TRUE;
}

/* The model of an id that is not known, or of none, by its chip; NULL after a diagnostic. */
static char *
guess_by_chip (const Machine *self, ProfileSet *profiles)
{
  const MachineDevice  *first = machine_gpu (self, 0);
  g_autoptr (GPtrArray) found = find_by_chip (first, profiles),
                        all = find_by_chip (first, profiles);
  g_autofree char *chip = chip_of (first), *hint = hint_of (self, first, profiles);
  guint            n_alike = 0;
  settle (self, first, found);
  for (guint i = 0; i < all->len; i++)
    n_alike += has_units (g_ptr_array_index (all, i), first->units);
  if (found->len == 1)
    {
      const GpuProfile *one = g_ptr_array_index (found, 0);
      g_autofree char  *others = list_ids (all, one->id);
      g_autofree char  *name_it = g_strdup_printf ("name yours with --gpu ID: %s", others);
      if (all->len > 1 && n_alike != 1)
        diag_warning (self->diags, &first->mark, name_it,
                      "the file says no more of the GPUs than their chip, '%s': '%s' is taken",
                      chip, one->id);
      return g_strdup (one->id);
    }
  if (first->device == 0)
    machine_error (self, &first->mark, hint, "the file does not say which model the GPUs are");
  else
    machine_error (self, &first->mark, hint, "the GPU %04x:%04x is no known model", first->vendor,
                   first->device);
  return NULL;
}

char *
machine_gpu_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles)
{
  const MachineDevice *first = machine_gpu (self, 0);
  if (!check_alike (self))
    return NULL;
  if (options->gpu != NULL)
    return g_strdup (options->gpu);
  g_autoptr (GPtrArray) found = find_by_id (first, profiles);
  settle (self, first, found);
  if (found->len == 0)
    return guess_by_chip (self, profiles);
  const GpuProfile *one = g_ptr_array_index (found, 0);
  if (found->len > 1)
    {
      g_autofree char *others = list_ids (found, one->id);
      g_autofree char *hint = g_strdup_printf ("name yours with --gpu ID: %s", others);
      diag_warning (self->diags, &first->mark, hint,
                    "several models have the id %04x:%04x: '%s' is taken", first->vendor,
                    first->device, one->id);
    }
  return g_strdup (one->id);
}
