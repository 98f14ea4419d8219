/*
 * A cluster: nodes of GPUs, host memory, PCIe, NVLink and network cards under a leaf-and-spine
 * fabric, as a list of resources and the routes over them. GPUs are numbered node by node.
 * Building one for 100 000 GPUs takes well under a second.
 */
#pragma once

#include "base/config/option-marks.h"
#include "hardware/profile/library-profile.h"
#include "hardware/profile/tuner-profile.h"
#include "vocabulary/collective-kind.h"

/*
 * The `cluster` section of a scenario. Either `name` ("4 x dgx-a100", a node id, or a profile of
 * hwprofiles/cluster) or parts.
 */
typedef struct
{
  char  *name;
  char  *node; /* a node profile whose parts the other options override */
  gint64 nodes, gpus_per_node;
  char  *gpu, *intra, *nic;
  gint64 nics;             /* -1 = the node's own */
  gint   fabric;           /* ClusterFabric */
  gint   routing;          /* ClusterRouting */
  gint64 leaf_nodes;       /* nodes under one leaf; 0 = all (one non-blocking switch) */
  double oversubscription; /* a leaf's downlinks over its uplinks, in sum; 1 = non-blocking */
  char  *slow_gpus;   /* "3:0.8,17:0.5": GPU index and the fraction of its speed that is left */
  double dram_bytes;  /* host memory a node; 0 = the node's own */
  char  *figure;      /* "nic.bandwidth=200 Gbit/s, gpu.hbm_bandwidth=3 TB/s": figure-settings.h */
  char  *measured;    /* "all_reduce 1GiB 94 GB/s": what the network is scaled to */
  gint64 group_nodes; /* nodes of one pod, or of one group of a dragonfly; 0 = one for all */
  double spine_oversubscription; /* of a pod: what its leaves send up over what goes to the core */
  double taper;   /* of a dragonfly group: bandwidth to other groups over what its cards inject */
  gint64 uplinks; /* of a leaf, where routing chooses among them; 0 = one a card's rate */
  gint64 routing_seed; /* of ecmp */
  char  *slow_nics;    /* "3.0:0.5": node.card and the fraction of its rate that is left */
  gint   gpu_direct;   /* ClusterGpuDirect */
  gboolean pcie_acs;   /* access control: peer traffic under a PCIe switch goes up and down again */
  gboolean nic_sockets; /* cards are driven through sockets instead of by their own interface */
  /* Of a fabric that other jobs share. */
  gint64 fabric_nodes; /* nodes that hang under the whole fabric; 0 = the job's, or the profile's */
  char  *hosts;        /* names of them all, as in 'gpu[001-128]' */
  char  *placement;    /* which of them the job has: a word, or the file of a list of hosts */
  gint64 placement_seed; /* of placements that are drawn */
  double background;     /* of the fabric's links, what other jobs use */
  gint64 qps;            /* queue pairs of a connection, each hashed on its own: of ecmp */
  gint64 placements;     /* draws that a band of predictions is taken over; 0 = no band */
  /* Of a cluster at several sites. */
  char  *sites;       /* the matrix of their links: a file, or a name of hwprofiles/sites */
  char  *site_nodes;  /* "2,4" or "oregon:2,tokyo:4"; NULL = evenly */
  gint64 wan_streams; /* TCP connections of a flow between sites */
  double wan_window;  /* of a connection, B; 0 = no limit */
} ClusterOptions;

typedef enum
{
  FABRIC_LEAF_SPINE, /* all cards of a node under the node's leaf, all leaves under one spine */
  FABRIC_RAILS,      /* card k of every node under rail k's leaves; pods where group_nodes is set */
  FABRIC_FAT_TREE,   /* as leaf-spine, in pods of group_nodes whose spines hang under a core */
  FABRIC_DRAGONFLY,  /* groups of group_nodes, each joined to each other one */
} ClusterFabric;

/*
 * Spray keeps the symmetry: a leaf's uplinks are one resource a direction, and so are a pod's and a
 * group's. The others have a resource for every uplink, and each pair of cards keeps to its own.
 */
typedef enum
{
  ROUTING_SPRAY,   /* ideal spraying over the spines */
  ROUTING_D_MOD_K, /* the destination's number chooses: modulo the uplinks, level by level */
  ROUTING_ECMP,    /* a hash of the queue pair and of routing_seed chooses */
  /* As options only: */
  ROUTING_ADAPTIVE, /* by load, packet by packet: modelled as spray */
  ROUTING_AUTO,     /* what the card's profile says */
} ClusterRouting;

typedef enum
{
  GPU_DIRECT_AUTO, /* where link, distance and node profile allow it */
  GPU_DIRECT_OFF,  /* network traffic is staged in host memory */
} ClusterGpuDirect;

extern const OptionSpec cluster_options[];

/* "4 x dgx-a100" as `name` becomes the node's name and 4 as `nodes`: the same cluster. */
void cluster_options_split_name (ClusterOptions *options);

typedef enum
{
  RESOURCE_SM,
  RESOURCE_HBM,
  RESOURCE_PCIE_UP, /* GPU to host: its own link */
  RESOURCE_PCIE_DOWN,
  RESOURCE_SWITCH_UP, /* PCIe switch to socket */
  RESOURCE_SWITCH_DOWN,
  RESOURCE_SOCKET_LINK, /* socket a to socket b */
  RESOURCE_DRAM,        /* a socket's memory: reads and writes together */
  RESOURCE_CORES,       /* a node's cores: core-seconds per second */
  RESOURCE_NVLINK_OUT,  /* GPU into the switch */
  RESOURCE_NVLINK_IN,
  RESOURCE_NVLINK_PAIR, /* direct link, one direction */
  RESOURCE_NIC_TX,
  RESOURCE_NIC_RX,
  RESOURCE_LEAF_UP, /* all uplinks of a leaf, sprayed */
  RESOURCE_LEAF_DOWN,
  RESOURCE_NVME_READ,
  RESOURCE_NVME_WRITE,
  RESOURCE_GROUP_UP, /* pod to core, or group to other groups, sprayed */
  RESOURCE_GROUP_DOWN,
  RESOURCE_GLOBAL_LINK, /* from one group of a dragonfly to another */
  RESOURCE_PCIE_BOTH,   /* both directions of a GPU's host link, where they hold each other up */
  RESOURCE_WAN_LINK,    /* from one site to another */
  RESOURCE_N_KINDS,
} ResourceKind;

const char *resource_kind_name (ResourceKind kind);       /* "nic.tx" */
gboolean    resource_kind_is_network (ResourceKind kind); /* a card, or what joins cards */

typedef struct
{
  ResourceKind kind;
  double       capacity;   /* raw, in the resource's unit per second */
  double       efficiency; /* of collectives on it: service bytes = payload / efficiency */
  guint32      node;       /* G_MAXUINT32 for leaves */
  guint32      index; /* of its kind in the node (GPU, card, socket, switch), or in the fabric */
} ClusterResource;

typedef struct _Cluster Cluster;

/*
 * OPTIONS come from option_table_defaults (cluster_options, ...) plus what is set: a zeroed
 * struct means a node without cards. Without `name` and `node` the parts hang on the node profile
 * 'generic'. NULL after diagnostics at the MARKS (may be NULL) of the options. The profiles are
 * taken from PROFILES, which must
 * outlive the cluster.
 */
Cluster *cluster_new (const ClusterOptions *options, ProfileSet *profiles, const OptionMarks *marks,
                      DiagList *diags);
void     cluster_free (Cluster *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Cluster, cluster_free)

/* All that OPTIONS say, alike for those that say the same. Newly allocated. */
char *cluster_options_text (const ClusterOptions *options);

/*
 * Alike for clusters of the same options and profiles, whose resources carry the same: it does not
 * say how long hops take. NULL: its figures are nobody else's.
 */
const char *cluster_key (const Cluster *self);

/* What it was made of: those that it was given, with the figures that its options set. */
ProfileSet *cluster_profiles (const Cluster *self);

guint    cluster_n_nodes (const Cluster *self);
guint    cluster_n_gpus (const Cluster *self);
guint    cluster_gpus_of_node (const Cluster *self, guint node);
guint    cluster_node_of_gpu (const Cluster *self, guint gpu);
guint    cluster_first_gpu (const Cluster *self, guint node);
guint    cluster_nics_of_node (const Cluster *self, guint node);
gboolean cluster_is_uniform (const Cluster *self); /* nodes of one make (slow GPUs do not count) */
const GpuProfile  *cluster_gpu_profile (const Cluster *self, guint gpu);
const NodeProfile *cluster_node_profile (const Cluster *self,
                                         guint node); /* with the scenario's overrides applied */
const LinkProfile *cluster_intra_profile (const Cluster *self, guint node);

/* Where a card or a GPU hangs in its node. */
typedef struct
{
  gint  pcie_switch; /* -1 = directly under the socket's root complex */
  gint  upper;       /* the switch above that one, counted on from the last of them; -1 = none */
  guint socket;
} Attachment;

Attachment cluster_gpu_at (const Cluster *self, guint gpu);
Attachment cluster_card_at (const Cluster *self, guint node, guint card);

/* The levels of switches above the nodes, as they were laid out. */
typedef struct
{
  ClusterFabric kind;
  guint  leaves, rails; /* leaves x rails in all; 0 leaves: one switch that nothing is lost in */
  guint  leaf_nodes;    /* under a leaf */
  guint  groups;        /* pods, or groups of a dragonfly; 0: none */
  guint  group_nodes;   /* of one */
  double oversubscription, spine_oversubscription, taper; /* as ClusterOptions has them */
} FabricShape;

FabricShape cluster_fabric_shape (const Cluster *self);

/* NULL without cards */
const LinkProfile *cluster_nic_profile (const Cluster *self, guint node);
/* The same under release VERSION of the library; NULL, or no version: nothing is said of it. */
const LinkProfile *cluster_nic_profile_under (const Cluster *self, guint node, const char *version);
/*
 * The release NAME of kernels (kernel-release.h) runs on all of its GPUs. Called once, before
 * anybody keeps one of their profiles. FALSE after diagnostics at MARK: there is none, or it has no
 * kernels for some GPU.
 */
gboolean cluster_set_kernels (Cluster *self, const char *name, const SourceMark *mark,
                              DiagList *diags);

/* Of library_profile_nearest: what runs collectives between its GPUs. */
const LibraryProfile *cluster_library (const Cluster *self, const char *version);

/*
 * What the plug-in of its network tells the library of release VERSION (as above) to run; NULL:
 * nothing, or nodes are unlike.
 */
const TunerProfile *cluster_tuner (const Cluster *self, const char *version);
/* The release that published runs on GPUs like its first usually were of; NULL: the newest. */
const char *cluster_usual_release (const Cluster *self);
/* 1, or what slow_gpus left: not in the capacities */
double cluster_gpu_speed (const Cluster *self, guint gpu);
/* "4 nodes x 8 a40-48, nvlink-pairs, 1 ib-edr-100" */
const char *cluster_title (const Cluster *self);

/*
 * "4 leaves of 2 nodes, oversubscribed 2; spray"; NULL for one switch over all. Newly allocated.
 */
char *cluster_fabric_title (const Cluster *self);

/*
 * What the cluster profile says of the fabric with a source, where the scenario says nothing else:
 * the I-th fact and its key; NULL at the end.
 */
const char *cluster_fact (const Cluster *self, guint i, const Fact **fact);

/*
 * A collective over all GPUs that the user measured (`measured`), by its bus bandwidth as
 * nccl-tests counts it. measured.h finds the scale of the network that explains it.
 */
typedef struct
{
  CollectiveKind kind;
  double         bytes, bus; /* S; B/s */
  double         scale;      /* that explains this one alone */
  gboolean       hops;       /* it is theirs, as they are most of it; else the network's */
  double         before;     /* bus bandwidth that is predicted on the profiles' network, B/s */
  double         after;      /* and as it is scaled */
} ClusterMeasured;

guint                  cluster_n_measured (const Cluster *self);
const ClusterMeasured *cluster_measured (const Cluster *self, guint i);
ClusterMeasured       *cluster_note_measured (Cluster *self, guint i); /* to fill */
GArray *cluster_copy_measured (const Cluster *self); /* ClusterMeasured; NULL: nothing was */

/*
 * Sets what all cards and the fabric between them carry to SCALE (positive) of what the profiles
 * say; the GPUs' library does not know of it. Not while others read SELF. The largest scale leaves
 * the cards their line rate.
 */
void   cluster_scale_network (Cluster *self, double scale);
double cluster_network_scale (const Cluster *self); /* 1 unless it was scaled */
double cluster_most_network_scale (const Cluster *self);

/* The same of what a hop between nodes takes: times as long. */
void   cluster_scale_hops (Cluster *self, double scale);
double cluster_hop_scale (const Cluster *self); /* 1 unless it was scaled */

/*
 * "scaled to measured all_reduce 94 GB/s at 1 GiB: x 0.87 of the profile, all_reduce predicted 108
 * GB/s before and 94 GB/s after"; NULL where nothing was measured. Newly allocated.
 */
char *cluster_network_title (const Cluster *self);

guint                  cluster_n_resources (const Cluster *self);
const ClusterResource *cluster_resource (const Cluster *self, guint id);
char *cluster_resource_name (const Cluster *self, guint id); /* "node3.nic0.tx"; newly allocated */

/*
 * Id of the INDEX-th resource of KIND that belongs to a GPU (SM, HBM, PCIE_*, NVLINK_OUT/IN) or
 * G_MAXUINT32.
 */
guint cluster_gpu_resource (const Cluster *self, guint gpu, ResourceKind kind);
guint cluster_node_resource (const Cluster *self, guint node, ResourceKind kind, guint index);

/* How far apart two ends are, as NCCL classes them. */
typedef enum
{
  PATH_LOCAL,
  PATH_NVLINK,
  PATH_NVB, /* over NVLink through one other GPU */
  PATH_C2C, /* GPU and CPU share a module */
  PATH_PIX, /* one PCIe switch */
  PATH_PXB, /* several PCIe switches of one root port */
  PATH_PXN, /* GPU to card: over NVLink to a GPU that is near the card */
  PATH_PHB, /* through a socket's root complex */
  PATH_SYS, /* across sockets */
  PATH_NET,
} PathClass;

const char *path_class_name (PathClass class_); /* "pix" */

/*
 * The links that a transfer crosses, in order; without the GPUs' own HBM and SMs, which are the
 * algorithm's matter. A resource that it crosses twice is listed twice (host memory that is
 * written and read again).
 */
#define ROUTE_MAX (21 + 4 * 64) /* the nodes', 4 links of the fabric a queue pair, one of sites */
typedef struct
{
  guint     n;
  guint32   resources[ROUTE_MAX];
  double    shares[ROUTE_MAX]; /* of the transfer: 1 but of the fabric's, see FabricLink */
  PathClass class_;
  double    latency; /* sum of the links' own one-way latencies, s */
  double    wan;     /* the part of it between sites */
  double    flow;    /* B/s of one flow at most, between sites; 0: nothing limits it */
  guint32   link;    /* between sites; not set where `wan` is 0 */
} Route;

/*
 * GPU to GPU. Between nodes CARD picks the card at both ends (modulo their numbers); -1 = each
 * GPU's nearest card.
 */
void cluster_route_gpus (const Cluster *self, guint from, guint to, gint card, Route *route);

/*
 * The same between nodes with OUT at the sender and IN at the receiver, each modulo the node's
 * cards or -1, and FLOWS as below.
 */
void cluster_route_cards (const Cluster *self, guint from, gint out, guint to, gint in, guint flows,
                          Route *route);

/*
 * Whether the part that the figure NAME begins with, its cards or the links in a node, has nothing
 * to do: WITHOUT "a second node"; *HINT says how to have that.
 */
gboolean cluster_figure_lacks (const Cluster *self, const char *name, const char **without,
                               const char **hint);

/* A link between leaves, and the share of a transfer that crosses it. */
typedef struct
{
  guint32 resource;
  double  share; /* 1 but where queue pairs go different ways */
} FabricLink;

/*
 * What lies between the leaf of card OUT of node FROM and that of card IN of node TO, the link
 * between their sites included: each link
 * once, in order of the first queue pair that crosses it, written to LINKS; their number. FLOWS
 * queue pairs share the bytes evenly and are hashed one by one, those beyond the most left out;
 * all the same where nothing is hashed.
 */
#define FABRIC_QPS_MAX   32
#define FABRIC_FLOWS_MAX 64
#define FABRIC_MAX       (4 * FABRIC_FLOWS_MAX + 1)
guint cluster_route_fabric (const Cluster *self, guint from, guint out, guint to, guint in,
                            guint flows, FabricLink links[FABRIC_MAX]);

/* Queue pairs of a connection, where each is hashed by itself; else 0. */
guint cluster_hashed_qps (const Cluster *self);

/* What a cluster draws, so that another seed makes another cluster. */
typedef enum
{
  CLUSTER_DRAWS_PLACEMENT = 1 << 0, /* by placement_seed */
  CLUSTER_DRAWS_ROUTES = 1 << 1,    /* by routing_seed */
} ClusterDraws;

ClusterDraws cluster_draws (const Cluster *self);
guint64      cluster_routing_seed (const Cluster *self); /* the scenario's, or the profile's */

/* Whether TEXT, a `placement`, is a file's name; the same of `sites` (NULL: it is none). */
gboolean cluster_placement_is_file (const char *text);
gboolean cluster_sites_is_file (const char *text);

/*
 * FALSE where pairs of cards keep to links of their own, so that like nodes may have unlike shares
 * of them.
 */
gboolean cluster_routing_is_symmetric (const Cluster *self);

/*
 * What card CARD of NODE crosses on its way out of its leaf and of its group, and back; only where
 * routing is symmetric. G_MAXUINT32 where there is no such level.
 */
#define FABRIC_LEVELS 2
typedef struct
{
  guint32 up[FABRIC_LEVELS], down[FABRIC_LEVELS]; /* leaf, group */
} FabricPort;

FabricPort cluster_fabric_port (const Cluster *self, guint node, guint card);

/*
 * GPU to CARD of its own node. PXN: the GPU is farther than PXB, and NVLink joins it to one that is
 * not. Without that, cluster_gpu_card_pcie.
 */
PathClass cluster_gpu_card_path (const Cluster *self, guint gpu, guint card);
PathClass cluster_gpu_card_pcie (const Cluster *self, guint gpu, guint card);

/* TRUE when CARD reads and writes GPU's memory itself; else routes are staged in host memory. */
gboolean cluster_gpu_card_is_direct (const Cluster *self, guint gpu, guint card);

/* Whether NODE is given by parts: nothing says which cards its GPUs are near to. */
gboolean cluster_node_is_unplaced (const Cluster *self, guint node);

/* Whether CARD hangs under a root complex, so that its traffic with GPUs crosses a host bridge. */
gboolean cluster_card_is_behind_bridge (const Cluster *self, guint node, guint card);

/*
 * GPU memory to its node's host memory (the nearest socket's) and back; NVMe through host memory.
 */
void cluster_route_to_host (const Cluster *self, guint gpu, Route *route);
void cluster_route_from_host (const Cluster *self, guint gpu, Route *route);

/*
 * The card nearest to GPU: under its PCIe switch, else its socket, else any; GPUs that see the
 * same cards take them in turn. G_MAXUINT32 without cards.
 */
guint cluster_nearest_card (const Cluster *self, guint gpu);
guint cluster_socket_of_gpu (const Cluster *self, guint gpu);
