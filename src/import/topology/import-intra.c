/*
 * Which link profile joins the GPUs of an imported machine: by what the file says of their links,
 * and what the GPU's profile says that they have. Only what is unambiguous is named; otherwise
 * --intra is asked for.
 */
#include <math.h>
#include <string.h>

#include "hardware/topology/intra-fit.h"
#include "import/topology/import-graph-private.h"

/* What a guess works on. */
typedef struct
{
  Machine          *machine;
  ProfileSet       *profiles;
  const GpuProfile *gpu;
} Guess;

#define NAME_IT "name it with --intra ID"

static void
ask_intra (const Machine *self, const char *hint, const char *what)
{
  machine_error (self, &machine_gpu (self, 0)->mark, hint, "%s", what);
}

/* ---- the links of the file ------------------------------------------------------------------- */

/* Links of a pair; rates are counted in units of the least. */
static guint
width_of (const Machine *self, guint a, guint b)
{
  const guint n = self->gpus->len;
  const guint own = MAX (*machine_link (self, a, b), *machine_link (self, b, a));
  guint       least = G_MAXUINT;
  if (!self->link_rates || own == 0)
    return own;
  for (guint i = 0; i < n * n; i++)
    if (self->links[i] > 0)
      least = MIN (least, self->links[i]);
  return (guint) ((own + (guint64) least / 2) / least);
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

/* What N links, or N of what is proportional to a rate, carry a direction; 0: unknown. */
static double
rate_of (const Guess *self, guint n)
{
  return n * (self->machine->link_rates ? 1e6 : self->gpu->own_links.rate);
}

static guint
sum_of_links (const Machine *self, guint gpu, guint *most)
{
  guint sum = 0;
  for (guint other = 0; other < self->gpus->len; other++)
    {
      const guint own = *machine_link (self, gpu, other);
      sum += MIN (own, MACHINE_MAX_GPUS);
      *most = MAX (*most, own);
    }
  return sum;
}

/*
 * A matrix of pairs counts the links into switches at every pair: more in all than a GPU has. Two
 * GPUs of boards without bridges that spend all on each other sit on such a board, too.
 */
static void
find_hidden_switch (Machine *self, const GpuLinks *own)
{
  gboolean hidden = FALSE;
  for (guint gpu = 0; gpu < self->gpus->len; gpu++)
    {
      guint       most = 0;
      const guint sum = sum_of_links (self, gpu, &most);
      hidden |= sum > own->count;
      hidden |= self->gpus->len == 2 && sum == own->count && own->bridges == 0;
    }
  for (guint gpu = 0; hidden && gpu < self->gpus->len; gpu++)
    {
      guint most = 0;
      sum_of_links (self, gpu, &most);
      machine_gpu (self, gpu)->switch_links = most;
    }
  if (hidden)
    memset (self->links, 0, (gsize) self->gpus->len * self->gpus->len * sizeof *self->links);
}

/* FALSE after an error: a pair has links that this GPU does not have. */
static gboolean
check_counts (const Guess *self)
{
  const Machine  *machine = self->machine;
  const GpuLinks *own = &self->gpu->own_links;
  for (guint a = 0; own->said && a < machine->gpus->len; a++)
    {
      guint most = 0;
      sum_of_links (machine, a, &most);
      if (most == 0 || (own->technology != NULL && (machine->link_rates || most <= own->count)))
        continue;
      g_autofree char *count = machine->link_rates ? g_strdup ("links")
                               : most == 1         ? g_strdup ("1 link")
                                                   : g_strdup_printf ("%u links", most);
      machine_error (machine, &machine_gpu (machine, a)->mark,
                     "check --gpu, or name the link with --intra ID",
                     "GPU %u has %s to another, but the profile of '%s' has '%s'", a, count,
                     self->gpu->id, self->gpu->links.value);
      return FALSE;
    }
  return TRUE;
}

/* ---- profiles of links ----------------------------------------------------------------------- */

/* 0 and NULL: any. */
typedef struct
{
  LinkKind    kind;
  const char *technology;
  double      bandwidth;
} Wanted;

/* The one link that is WANTED; NULL where there is none, or more than one. */
static char *
find_link (ProfileSet *profiles, const Wanted *wanted)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "link");
  g_autoptr (DiagList) diags = diag_list_new ();
  const char          *found = NULL;
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = profile_set_link (profiles, ids[i], NULL, diags);
      if (link == NULL
          || !(link->kind == wanted->kind
               && (wanted->technology == NULL || strcmp (link->technology, wanted->technology) == 0)
               && (wanted->bandwidth <= 0
                   || fabs (link->bandwidth.value / wanted->bandwidth - 1) <= 0.05)))
        continue;
      if (found != NULL)
        return NULL;
      found = ids[i];
    }
  return g_strdup (found);
}

/* ---- links between pairs --------------------------------------------------------------------- */

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

/* A profile of the kind 'graph' and the GPUs' technology that joins the same pairs. */
static char *
find_graph (const Guess *self, const LinkGraph *graph)
{
  ProfileSet          *profiles = self->profiles;
  const char          *own = self->gpu->own_links.technology;
  g_auto (GStrv)       ids = profile_set_list (profiles, "link");
  g_autoptr (DiagList) diags = diag_list_new ();
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = profile_set_link (profiles, ids[i], NULL, diags);
      if (link != NULL && link->kind == LINK_GRAPH && graph->n == link->graph.n
          && (own == NULL || g_strcmp0 (link->technology, own) == 0)
          && memcmp (graph->links, link->graph.links, sizeof graph->links) == 0)
        return g_strdup (ids[i]);
    }
  return NULL;
}

static char *
find_mesh (const Guess *self, const LinkGraph *graph)
{
  const guint  width = mesh_width (graph);
  const Wanted wanted = { LINK_MESH, self->gpu->own_links.technology,
                          self->machine->link_rates ? 0 : rate_of (self, width) };
  if (width == 0 || wanted.technology == NULL || self->gpu->own_links.bridges > 0)
    return NULL;
  if (self->machine->link_rates && graph->n <= 2) /* how many links that are is not known */
    return NULL;
  return find_link (self->profiles, &wanted);
}

static char *
find_pairs (const Guess *self, const LinkGraph *graph)
{
  const Wanted own = { LINK_PAIRS, self->gpu->own_links.technology, 0 };
  const Wanted any = { LINK_PAIRS, NULL, 0 };
  if (!is_pairs (graph))
    return NULL;
  char *id = find_link (self->profiles, &own);
  if (id == NULL && self->gpu->own_links.technology != NULL)
    id = find_link (self->profiles, &any);
  return id;
}

/* A profile of bridges of this family and, where the file says it, of this rate. */
static char *
find_bridge (const Guess *self, const LinkGraph *graph)
{
  const double rate =
      self->machine->link_rates || graph->n < 2 ? 0 : rate_of (self, graph->links[0][1]);
  g_autofree char     *id = find_pairs (self, graph);
  g_autoptr (DiagList) diags = diag_list_new ();
  const LinkProfile *link = id != NULL ? profile_set_link (self->profiles, id, NULL, diags) : NULL;
  return link != NULL
                 && technology_order (link->technology, self->gpu->own_links.technology)
                        != TECHNOLOGY_OTHER
                 && (rate <= 0 || fabs (rate / link->bandwidth.value - 1) <= 0.05)
             ? g_steal_pointer (&id)
             : NULL;
}

/* B/s of the narrowest link that a file of rates has. */
static double
least_rate (const Machine *self)
{
  guint least = G_MAXUINT;
  for (guint i = 0; i < self->gpus->len * self->gpus->len; i++)
    if (self->links[i] > 0)
      least = MIN (least, self->links[i]);
  return least * 1e6;
}

/*
 * No profile has them: they are written, with their rates, for a GPU that can have so many. *GPU
 * becomes another one where the model's profile has fewer.
 */
static char *
write_graph (const Guess *self, const LinkGraph *graph, char **gpu)
{
  Machine        *machine = self->machine;
  const GpuLinks *own = &self->gpu->own_links;
  const PairLinks pairs = { graph, graph->n > 2 ? mesh_width (graph) : 0,
                            machine->link_rates ? least_rate (machine) : own->rate,
                            machine->link_rates };
  guint           links = 0, others = 0;
  if (own->technology == NULL)
    {
      ask_intra (machine, NAME_IT, "the file has links between the GPUs, whose profile has none");
      return NULL;
    }
  for (guint a = 0; a < graph->n; a++)
    {
      guint n = 0;
      for (guint b = 0; b < graph->n; b++)
        n += graph->links[a][b] > 0;
      others = MAX (others, n);
      links = MAX (links, link_graph_degree (graph, graph->n, a));
    }
  char *id = machine_write_links (machine, self->gpu, &pairs, self->profiles);
  if (id != NULL && (links > own->count || (own->bridges > 0 && others >= own->bridges))
      && !machine->link_rates)
    {
      g_free (*gpu);
      *gpu = machine_write_gpu (machine, self->gpu, MAX (links, own->count));
    }
  return id;
}

static char *
guess_graph (const Guess *self, char **gpu)
{
  if (self->machine->gpus->len > LINK_GRAPH_MAX)
    {
      g_autofree char *what =
          g_strdup_printf ("links between more than %u GPUs without a switch", LINK_GRAPH_MAX);
      ask_intra (self->machine, NAME_IT, what);
      return NULL;
    }
  g_autofree LinkGraph *graph = graph_of (self->machine);
  char                 *id = find_mesh (self, graph);
  if (id == NULL)
    id = find_bridge (self, graph);
  if (id == NULL)
    id = find_graph (self, graph);
  return id != NULL ? id : write_graph (self, graph, gpu);
}

/* ---- the guess ------------------------------------------------------------------------------- */

/* The generation of 16 lanes of PCIe that carry RATE; 0: none of 3, 4 and 5. */
static guint
pcie_generation (double rate)
{
  for (guint generation = 3; generation <= 5; generation++)
    if (rate > 15e9 * (1 << (generation - 3)) && rate < 16e9 * (1 << (generation - 3)))
      return generation;
  return 0;
}

/*
 * What stands against PCIe of ID, taken by the slots' RATE or, where that says nothing, a board's.
 */
static void
warn_of_pcie (const Guess *self, const char *id, double rate)
{
  const Machine    *machine = self->machine;
  const SourceMark *mark = &machine_gpu (machine, 0)->mark;
  if (rate <= 0)
    diag_warning (machine->diags, mark, "where a slot is slower, name the link with --intra ID",
                  "the file does not say what the GPUs' slots carry: '%s', as '%s' can", id,
                  self->gpu->id);
  else if (pcie_generation (rate) == 0)
    diag_warning (machine->diags, mark,
                  "virtual machines and idle links hide the rate: where the slots are such, give "
                  "'host_link' and a link profile of your own",
                  "slots of %.3g GB/s are not 16 lanes of PCIe 3, 4 or 5: '%s' is taken, as '%s' "
                  "can",
                  rate * 1e-9, id, self->gpu->id);
  if (self->gpu->own_links.technology != NULL && self->gpu->own_links.bridges == 0)
    diag_warning (machine->diags, mark,
                  "virtual machines hide links: where these GPUs have some, name them with --intra "
                  "ID",
                  "'%s' has links of its own (%s), the file shows none: '%s' is taken",
                  self->gpu->id, self->gpu->links.value, id);
}

/* By the slowest slot; where the file has no rate that a board takes, the board's own. */
static char *
guess_pcie (const Guess *self)
{
  const Machine *machine = self->machine;
  double         rate = G_MAXDOUBLE;
  char          *id = NULL;
  guint          generation;
  for (guint i = 0; i < machine->gpus->len; i++)
    rate = MIN (rate, machine_gpu (machine, i)->rate);
  generation = pcie_generation (rate);
  if (generation == 0)
    generation = pcie_generation (self->gpu->host_link.value);
  if (generation > 0)
    {
      g_autofree char *technology = g_strdup_printf ("pcie%u", generation);
      const Wanted wanted = { self->gpu->peer == PEER_NO ? LINK_HOST : LINK_PCIE, technology, 0 };
      id = find_link (self->profiles, &wanted);
    }
  if (id != NULL)
    warn_of_pcie (self, id, rate);
  else
    ask_intra (machine, "name it with --intra ID, such as 'pcie4' or 'pcie4-host'",
               "no links between the GPUs, and their slots are not 16 lanes of PCIe 3, 4 or 5");
  return id;
}

static char *
guess_intra (const Guess *self, char **gpu)
{
  Machine *machine = self->machine;
  if (machine->gpus->len == 1)
    return g_strdup ("none");
  if (!machine->links_said)
    {
      ask_intra (machine, "name it with --intra ID, such as 'nvlink4-switch' or 'pcie4'",
                 "the file does not say how the GPUs are linked");
      return NULL;
    }
  if (!check_counts (self))
    return NULL;
  if (machine->pairs_share_links && self->gpu->own_links.said)
    find_hidden_switch (machine, &self->gpu->own_links);
  const guint switched = count_switched (machine);
  if (switched > 0 && switched < machine->gpus->len)
    {
      ask_intra (machine, NAME_IT, "some GPUs are linked to a switch and some are not");
      return NULL;
    }
  if (switched > 0)
    {
      const GpuLinks *own = &self->gpu->own_links;
      const Wanted    wanted = { LINK_SWITCH, own->technology, 0 };
      char           *id =
          own->technology != NULL && own->bridges == 0 ? find_link (self->profiles, &wanted) : NULL;

      if (id == NULL)
        {
          g_autofree char *what = g_strdup_printf (
              "GPUs at a switch, but no link profile of that kind is for '%s'", self->gpu->id);
          ask_intra (self->machine, "check --gpu, or name the link with --intra ID", what);
        }
      return id;
    }
  return is_linked (machine) ? guess_graph (self, gpu) : guess_pcie (self);
}

/* ---- what stands against it ------------------------------------------------------------------ */

/* Links that are missing, or a GPU that has fewer than its kind's. */
static void
check_switch_links (const Guess *self, const LinkProfile *link)
{
  const Machine *machine = self->machine;
  const double   limit = self->gpu->nvlink_limit.value;
  const double   rate = limit > 0 ? MIN (limit, link->bandwidth.value) : link->bandwidth.value;
  for (guint i = 0; i < machine->gpus->len; i++)
    {
      const MachineDevice *device = machine_gpu (machine, i);
      const double         own = rate_of (self, device->switch_links);
      if (own <= 0 || fabs (own / rate - 1) <= 0.05)
        continue;
      diag_warning (machine->diags, &device->mark, "figures of the profiles stand",
                    "GPU %u has %g GB/s of links into the switch, but '%s' with '%s' %g GB/s", i,
                    own * 1e-9, link->id, self->gpu->id, rate * 1e-9);
      return;
    }
}

/* Bridges of another rate than the profile's. */
static void
check_bridges (const Guess *self, const LinkProfile *link)
{
  const Machine *machine = self->machine;
  for (guint i = 1; i < machine->gpus->len; i += 2)
    {
      const double own = rate_of (self, *machine_link (machine, i, i - 1));
      if (own <= 0 || fabs (own / link->bandwidth.value - 1) <= 0.05)
        continue;
      diag_warning (machine->diags, &machine_gpu (machine, i)->mark,
                    "extend that profile with this 'bandwidth', and name yours with --intra ID",
                    "GPUs %u and %u are bridged with %g GB/s, but '%s' has %g GB/s", i - 1, i,
                    own * 1e-9, link->id, link->bandwidth.value * 1e-9);
      return;
    }
}

static void
check_joined (const Guess *self, const LinkProfile *link)
{
  const guint n = self->machine->gpus->len;
  DiagList   *diags = self->machine->diags;
  if (link->kind == LINK_NONE && n > 1)
    diag_error (diags, NULL, "name the link between them, such as 'pcie4'",
                "intra '%s' joins no GPUs, but the file has %u", link->id, n);
  else if (link->kind == LINK_GRAPH && n > link->graph.n)
    diag_error (diags, NULL, NULL, "intra '%s' joins %u GPUs, but the file has %u", link->id,
                link->graph.n, n);
  else if (link->kind == LINK_SWITCH)
    check_switch_links (self, link);
  else if (link->kind == LINK_PAIRS && !self->machine->link_rates)
    check_bridges (self, link);
}

char *
machine_intra_id (Machine *self, const ImportOptions *options, ProfileSet *profiles,
                  const GpuProfile *profile, char **gpu)
{
  const Guess guess = { self, profiles, profile };
  char       *id = options->intra != NULL ? g_strdup (options->intra) : guess_intra (&guess, gpu);
  if (id == NULL || machine_has_part (self, id)
      || !machine_check_link (profiles, id, FALSE, self->diags))
    return id;
  const LinkProfile *link = profile_set_link (profiles, id, NULL, self->diags);
  if (intra_check (profile, link, self->gpus->len, profiles, &machine_gpu (self, 0)->mark,
                   self->diags))
    check_joined (&guess, link);
  return id;
}
