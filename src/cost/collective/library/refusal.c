/* Wishes that the library cannot follow. */
#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/library/collective.h"

static gboolean
node_has_multicast (const Cluster *cluster, guint node, const LibraryProfile *library)
{
  const GpuProfile *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

  return cluster_intra_profile (cluster, node)->kind == LINK_SWITCH
         && cluster_gpus_of_node (cluster, node) > 2 /* NCCL's NVLS has no use for fewer */
         && library_profile_generation (library, gpu)->nvls_channels > 0;
}

/* The first node whose GPUs no switch multicasts to; their number where all have one. */
static guint
find_without_multicast (const Cluster *cluster, const LibraryProfile *library)
{
  const guint n = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);

  for (guint node = 0; node < n; node++)
    if (!node_has_multicast (cluster, node, library))
      return node;
  return cluster_n_nodes (cluster);
}

/* NULL, or why SHARP cannot run on CLUSTER: a network whose switches are not known to reduce. */
static char *
refuse_sharp (const Cluster *cluster)
{
  const guint n = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);

  for (guint node = 0; node < n && cluster_n_nodes (cluster) > 1; node++)
    {
      const LinkProfile *nic = cluster_nic_profile (cluster, node);

      if (nic != NULL && nic->sharp_efficiency.value <= 0)
        return g_strdup_printf ("'sharp' is asked for, but the switches of '%s' do not reduce: its "
                                "profile has no 'sharp_efficiency'",
                                nic->id);
    }
  return NULL;
}

/* Whether the algorithm that is asked for, if any, needs the switches inside nodes. */
static gboolean
asks_for_multicast (const CollectiveOptions *self)
{
  return self->algorithm != ALGORITHM_N && algorithm_list[self->algorithm]->multicasts;
}

static const char *
contradiction (const CollectiveOptions *self)
{
  if (self->nvls == NVLS_OFF && asks_for_multicast (self))
    return "is asked for, but NVLS is off";
  if (self->collnet_refused && self->algorithm != ALGORITHM_N
      && algorithm_list[self->algorithm]->in_switches)
    return "is asked for, but the switches refuse to reduce";
  return NULL;
}

/*
 * NULL, or why multicast cannot be had on CLUSTER: NVLS that is on fails on any node without it, an
 * algorithm runs in the groups that have it.
 */
static char *
refuse_multicast (const CollectiveOptions *self, const Cluster *cluster)
{
  const LibraryProfile *library = cluster_library (cluster, self->library);
  const guint           n = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);
  guint                 node = find_without_multicast (cluster, library), with = 0;
  g_autofree char      *wish =
      self->nvls != NVLS_ON
               ? g_strdup_printf ("'%s' is asked for", COLLECTIVE_ALGORITHM_NAMES[self->algorithm])
               : g_strdup ("NVLS is on");

  while (with < n && self->nvls != NVLS_ON && !node_has_multicast (cluster, with, library))
    with++;
  if (node == cluster_n_nodes (cluster) || (self->nvls != NVLS_ON && with < n))
    return NULL;
  return g_strdup_printf ("%s, but no switch multicasts between '%s' over '%s'", wish,
                          cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node))->id,
                          cluster_intra_profile (cluster, node)->id);
}

char *
collective_options_refusal (const CollectiveOptions *self, const Cluster *cluster,
                            RefusedWish *wish)
{
  const char *why = contradiction (self);
  char       *refusal = NULL;
  RefusedWish about = { "algorithm", "drop one of the two" };

  if (self->sharp && self->collnet_refused)
    {
      about.key = "collnet_refused";
      refusal = g_strdup ("the switches cannot both reduce ('sharp') and refuse to ('collnet' "
                          "asked for in vain)");
    }
  else if (why != NULL)
    refusal = g_strdup_printf ("'%s' %s", COLLECTIVE_ALGORITHM_NAMES[self->algorithm], why);
  if (refusal == NULL && cluster != NULL && self->sharp)
    {
      about = (RefusedWish){ "sharp", "leave it out: the library then takes what the network has" };
      refusal = refuse_sharp (cluster);
    }
  if (refusal == NULL && cluster != NULL && (self->nvls == NVLS_ON || asks_for_multicast (self)))
    {
      about.key = self->nvls == NVLS_ON ? "nvls" : "algorithm";
      about.hint = "leave it out: the library takes NVLS where more than two GPUs of a node are "
                   "behind a switch that multicasts (NVSwitch of Hopper and later)";
      refusal = refuse_multicast (self, cluster);
    }
  if (refusal != NULL && wish != NULL)
    *wish = about;
  return refusal;
}

/* ---- the algorithm and the protocol of one communicator -------------------------------------- */

typedef struct
{
  const Cluster *cluster;
  CollectiveKind kind;
  const guint32 *ranks;
  guint          n_ranks;
} Asked;

/* What OPTIONS lead to; existence does not depend on the size. */
static CollectiveCost
choose (const Asked *self, const CollectiveOptions *options)
{
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (self->cluster, self->kind, self->ranks, self->n_ranks, options);
  CollectiveCost cost;

  collective_plan_cost (plan, 1 << 20, &cost);
  cost.loads = NULL; /* the plan's */
  return cost;
}

static gboolean
follows (const CollectiveCost *cost, const CollectiveOptions *options)
{
  return (options->algorithm == ALGORITHM_N || cost->algorithm == options->algorithm)
         && (options->protocol == PROTOCOL_N || cost->protocol == options->protocol);
}

/* "what there is: ring, tree": what may be asked for in the place of what OPTIONS ask for. */
static char *
list_instead (const Asked *self, const CollectiveOptions *options, gboolean algorithm)
{
  GString    *list = g_string_new ("what there is: ");
  const guint n = algorithm ? ALGORITHM_N : PROTOCOL_N;

  for (guint i = 0, n_found = 0; i < n; i++)
    {
      CollectiveOptions one = *options;
      CollectiveCost    cost;

      if (algorithm)
        {
          one.algorithm = (CollectiveAlgorithm) i;
          one.protocol = PROTOCOL_N;
        }
      else
        one.protocol = (CollectiveProtocol) i;
      cost = choose (self, &one);
      if (follows (&cost, &one))
        g_string_append_printf (list, "%s%s", n_found++ > 0 ? ", " : "",
                                algorithm ? COLLECTIVE_ALGORITHM_NAMES[i]
                                          : COLLECTIVE_PROTOCOL_NAMES[i]);
    }
  return g_string_free (list, FALSE);
}

char *
collective_choice_refusal (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                           guint n_ranks, const CollectiveOptions *asked, char **hint)
{
  const Asked    self = { cluster, kind, ranks, n_ranks };
  CollectiveCost cost;

  if (n_ranks == 1 || (asked->algorithm == ALGORITHM_N && asked->protocol == PROTOCOL_N))
    return NULL;
  cost = choose (&self, asked);
  if (follows (&cost, asked))
    return NULL;
  if (asked->algorithm != ALGORITHM_N && cost.algorithm != asked->algorithm)
    {
      if (hint != NULL)
        *hint = list_instead (&self, asked, TRUE);
      return g_strdup_printf ("there is no %s %s over %u ranks on %s",
                              collective_algorithm_name (asked->algorithm),
                              collective_kind_name (kind), n_ranks, cluster_title (cluster));
    }
  if (hint != NULL)
    *hint = list_instead (&self, asked, FALSE);
  return g_strdup_printf ("the %s algorithm does not run under %s on %s",
                          collective_algorithm_name (cost.algorithm),
                          collective_protocol_name (asked->protocol), cluster_title (cluster));
}

/* ---- on a whole cluster ---------------------------------------------------------------------- */

/* KIND has the algorithm that OPTIONS force, wherever it exists: spares the plans of the others. */
static gboolean
may_run (CollectiveKind kind, const CollectiveOptions *options)
{
  return options->algorithm == ALGORITHM_N
         || algorithm_find (FALSE, kind, options->algorithm) != NULL
         || algorithm_find (TRUE, kind, options->algorithm) != NULL;
}

/* Over GPUs 0, STEP, 2 STEP, ... below N. */
static gboolean
runs_over (const Cluster *cluster, guint step, guint n, const CollectiveOptions *options)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 gpu = 0; gpu < n; gpu += step)
    g_array_append_val (ranks, gpu);
  for (guint kind = 0; ranks->len > 1 && kind < COLLECTIVE_N_KINDS; kind++)
    {
      g_autofree char *refusal = NULL;

      if (!may_run ((CollectiveKind) kind, options))
        continue;
      refusal = collective_choice_refusal (cluster, (CollectiveKind) kind,
                                           (const guint32 *) (gconstpointer) ranks->data,
                                           ranks->len, options, NULL);
      if (refusal == NULL)
        return TRUE;
    }
  return FALSE;
}

char *
collective_forced_refusal (const CollectiveOptions *self, const Cluster *cluster, RefusedWish *wish)
{
  const guint n = cluster_n_gpus (cluster), node = cluster_gpus_of_node (cluster, 0);

  if (n == 1 || (self->algorithm == ALGORITHM_N && self->protocol == PROTOCOL_N)
      || runs_over (cluster, 1, node, self) || runs_over (cluster, node, n, self)
      || runs_over (cluster, 1, n, self))
    return NULL;
  *wish = (RefusedWish){ self->algorithm != ALGORITHM_N ? "algorithm" : "protocol",
                         "auto leaves it to the library" };
  if (self->algorithm == ALGORITHM_N)
    return g_strdup_printf ("nothing runs under %s on %s",
                            collective_protocol_name (self->protocol), cluster_title (cluster));
  return g_strdup_printf ("there is no %s%s%s on %s", collective_algorithm_name (self->algorithm),
                          self->protocol != PROTOCOL_N ? " under " : "",
                          self->protocol != PROTOCOL_N ? collective_protocol_name (self->protocol)
                                                       : "",
                          cluster_title (cluster));
}
