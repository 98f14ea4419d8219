/*
 * How a cluster is laid out in memory: groups of like nodes, and inside a node a fixed order of
 * resource kinds.
 */
#pragma once

#include <pthread.h>

#include "base/file/input-files.h"
#include "hardware/cluster/cluster.h"
#include "hardware/sites/site-matrix.h"

#define NO_RESOURCE           G_MAXUINT32
#define CLUSTER_MAX_GPUS      1000000u
#define CLUSTER_MAX_RESOURCES (1u << 26)

/*
 * Like nodes. Node n has resources first_resource + (n - first_node) * n_resources + offset[kind]
 * + index. `profile` is the node's with what the scenario overrides; its strings belong to the
 * profile set or to the group.
 */
typedef struct
{
  guint              first_node, n_nodes;
  guint              first_gpu, gpus, nics;
  guint              first_card; /* cards numbered through the cluster */
  guint              sockets, switches, upper;
  guint              slots; /* GPU positions of the node: its GPUs hang as the first of that many */
  guint              first_resource, n_resources;
  guint              offset[RESOURCE_N_KINDS], count[RESOURCE_N_KINDS];
  NodeProfile        profile;
  const GpuProfile  *gpu;
  const LinkProfile *intra, *nic; /* nic: NULL without cards */
  const LinkProfile *older_nic;   /* under releases before nic->older_library; NULL: none is */
  char              *gpu_id, *intra_id, *nic_id, *override_source;
  gboolean           unplaced;         /* given by parts: where GPUs and cards hang is not said */
  Attachment        *gpu_at, *card_at; /* of each of a node's; see node_group_place */
} NodeGroup;

/*
 * Leaf r * leaves + l hangs over run l of nodes and, on rails, over their cards r. Resources in
 * order: leaves' uplinks, leaves' downlinks, groups' uplinks, groups' downlinks, global links; a
 * leaf's together, then by spine, then by core switch.
 */
typedef struct
{
  ClusterFabric  kind;
  ClusterRouting routing;
  guint64        seed;
  guint          leaf_nodes, group_nodes; /* nodes a leaf and a group; 0 = all */
  double         oversubscription, spine_oversubscription, taper;
  guint          leaves, rails; /* leaves = 0: no leaf resources */
  guint          groups;        /* 0: no group resources */
  guint          uplinks;       /* a leaf has; 1 when sprayed */
  guint          core_links;    /* a spine of a pod has; or links from group to group */
  guint          slots;         /* nodes under the whole fabric */
  guint32       *slot_of;       /* [n_nodes] where each hangs; NULL: node i in slot i */
  guint          most_nics;     /* that a node has */
  guint          qps;
  double         background;
  gboolean       drawn;     /* slot_of is, by a seed */
  const char    *placement; /* interned: as it was asked for */
  guint          first_leaf_up, first_leaf_down, first_group_up, first_group_down, first_global;
} Fabric;

/* Where nodes stand (sites.h). */
typedef struct
{
  const SiteMatrix *matrix;  /* of the input files; NULL: all at one place */
  guint32          *of_node; /* [n_nodes] */
  guint             first;   /* resource */
  double            streams; /* connections of a flow */
  double            window;  /* of a connection, B; 0: no limit */
} Sites;

/* What a cluster profile says of the fabric, and who says so. */
typedef struct
{
  const char *key; /* of cluster_options */
  Fact        fact;
} ClusterFact;

/* One network card that runs below its rate. */
typedef struct
{
  guint  node, card;
  double fraction;
} SlowNic;

/* proximity-tables.c: the tables of the nodes that proximity.c was asked for. */
typedef struct
{
  pthread_mutex_t lock;
  GHashTable     *of_node; /* node -> Proximity, NULL where it has no cards */
} ProximityTables;

void proximity_tables_init (ProximityTables *self);
void proximity_tables_clear (ProximityTables *self);
void proximity_tables_drop (ProximityTables *self); /* capacities have changed */

struct _Cluster
{
  GArray          *groups;    /* NodeGroup */
  ProfileSet      *profiles;  /* of cluster_profiles */
  ProfileSet      *changed;   /* the same where figures were set, owned; or NULL */
  GPtrArray       *libraries; /* of profile_set_libraries */
  GPtrArray       *tuners;    /* of profile_set_tuners */
  GPtrArray       *released;  /* GpuProfile of cluster_set_kernels, owned; or NULL */
  guint            n_nodes, n_gpus, n_cards;
  Fabric           fabric;
  Sites            sites;
  gboolean         gpu_direct;
  gboolean         pcie_acs, nic_sockets; /* of ClusterOptions */
  ClusterResource *resources;
  guint            n_resources;
  GArray          *facts;         /* ClusterFact, or NULL */
  double          *speeds;        /* [n_gpus], or NULL when all are whole */
  GArray          *slow_nics;     /* SlowNic */
  GArray          *measured;      /* ClusterMeasured, or NULL */
  double           network_scale; /* 0: as the profiles have it */
  double           hop_scale;     /* of hops between nodes; 0: the same */
  double *unscaled; /* [n_resources] capacities at scale 1; NULL: the network was not scaled */
  char   *title;
  char   *key;        /* of cluster_key, or NULL */
  char   *scaled_key; /* the same of the scaled network, or NULL */
  ProximityTables *proximity;
};

/* cluster-options.c: fills the groups, the fabric and the speeds; FALSE after diagnostics. */
gboolean cluster_read_options (Cluster *self, const ClusterOptions *options, ProfileSet *profiles,
                               const OptionMarks *marks, DiagList *diags);

/* cluster-slow.c: fill `speeds` and `slow_nics` from TEXT; diagnostics at MARK. */
void cluster_read_slow_gpus (Cluster *cluster, const char *text, const SourceMark *mark,
                             DiagList *diags);
void cluster_read_slow_nics (Cluster *cluster, const char *text, const SourceMark *mark,
                             DiagList *diags);

/* cluster-measured.c: fills `measured` from TEXT; diagnostics at MARK. */
void cluster_read_measured (Cluster *cluster, const char *text, const SourceMark *mark,
                            DiagList *diags);

/* cluster-idle.c: warns of what was GIVEN and has no effect. */
void cluster_warn_idle (const Cluster *self, const ClusterOptions *given, const OptionMarks *marks,
                        DiagList *diags);

/* cluster-lookup.c */
const NodeGroup *cluster_group_of_node (const Cluster *self, guint node);

/* cluster.c */
gboolean cluster_has_copy_limit (const GpuProfile *gpu); /* whether it has a RESOURCE_PCIE_BOTH */

/*
 * placement.c: finds where GPUs and cards of a node hang, once its counts are known: routes ask for
 * them for every step of a collective.
 */
void node_group_place (NodeGroup *group);

/*
 * job-placement.c: which slots of the fabric the job's nodes have, into `fabric`; diagnostics where
 * they do not fit. FILES: what host files are read from.
 */
void cluster_place_job (Cluster *self, const ClusterOptions *options, InputFiles *files,
                        const OptionMarks *marks, DiagList *diags);

/* fabric.c: whether the options fit the fabric that they name. */
void fabric_check_options (const ClusterOptions *options, const OptionMarks *marks,
                           DiagList *diags);

/* fabric.c: the number of resources from id FIRST on; their capacities; the name of one. */
guint64 fabric_lay_out (Cluster *self, guint64 first);
void    fabric_fill (Cluster *self);
char   *fabric_resource_name (const Cluster *self, const ClusterResource *resource);

/* sites.c: the same of the links between sites; the options, and what the title says of them. */
void    cluster_read_sites (Cluster *self, const ClusterOptions *options, ProfileSet *profiles,
                            const OptionMarks *marks, DiagList *diags);
guint64 sites_lay_out (Cluster *self, guint64 first);
void    sites_fill (Cluster *self);
char   *sites_resource_name (const Cluster *self, const ClusterResource *resource);
void    sites_append_title (const Cluster *self, GString *text);
