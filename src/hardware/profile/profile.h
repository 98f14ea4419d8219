/*
 * Hardware profiles: hwprofiles/KIND/ID.yaml, KIND one of gpu, link, node, framework, library,
 * kernels, tuner and cluster. Every figure has a value with its unit, a source and a confidence,
 * optionally a range:
 *
 *   hbm_bandwidth: { value: 696 GB/s, source: "NVIDIA A40 datasheet", confidence: datasheet }
 *
 * `extends: ID` takes another profile of the same kind and overrides it; a new value needs its
 * own source and confidence, and drops the old range. Unknown, duplicate and missing keys are
 * errors.
 */
#pragma once

#include "base/config/config.h"
#include "base/config/option.h"
#include "base/file/input-files.h"
#include "engine/engine.h"
#include "hardware/profile/matmul-curve.h"
#include "hardware/topology/gpu-links.h"
#include "hardware/topology/link-graph.h"
#include "vocabulary/framework-traits.h"

typedef enum
{
  CONFIDENCE_DATASHEET,
  CONFIDENCE_MEASURED,
  CONFIDENCE_ESTIMATE,
} Confidence;

const char *confidence_name (Confidence confidence);

typedef struct
{
  double     value;     /* base unit */
  double     low, high; /* plausible range; both equal `value` where none is given */
  Confidence confidence;
  char      *source; /* owned by the profile; NULL where the figure is a default of the format */
} Figure;

/* What a profile says in words instead of a number. All NULL: it does not say. */
typedef struct
{
  char      *value, *source; /* owned by the profile */
  Confidence confidence;
} Fact;

/* Whether GPUs read each other's memory over PCIe. */
typedef enum
{
  PEER_UNKNOWN,
  PEER_NO,
  PEER_YES,
} PeerAccess;

typedef struct _KernelRelease KernelRelease; /* kernel-release.h */

typedef struct _GpuProfile GpuProfile;
struct _GpuProfile
{
  char *id, *title,
      *architecture;   /* "volta", "ampere", "ada", "hopper", "blackwell", "cdna2", ...; "host": no
                          GPU, see gpu_profile_is_host */
  Figure matmul_16bit; /* dense FLOP/s of bf16/fp16 products at the boost clock (the datasheet's) */
  Figure matmul_fp32;  /* FLOP/s of fp32 matrix products as frameworks run them (TF32 where that is
                          the default, else plain fp32) */
  Figure matmul_fp8;   /* dense FLOP/s of fp8 products; 0: it has no units for them */
  Figure matmul_fp4;   /* the same of nvfp4 products (E2M1 with a scale each 16) */
  gboolean bf16;       /* has bf16 matrix units */
  gboolean mxfp8;      /* its fp8 units take a scale for each 32 elements (OCP's MX formats) */
  gboolean fp8_any_layout; /* its fp8 products take operands of one scale in either layout */
  gboolean c2c;            /* shares a module with its CPU: host_link is no PCIe */
  Figure   mfu_base;       /* FLOP/s that MFU is quoted on */
  Figure   sms;            /* streaming multiprocessors or compute units */
  Figure   hbm_bandwidth;  /* B/s */
  Figure   hbm_bytes;      /* usable: what the driver reports as total */
  Figure   runtime_bytes;  /* taken outside the framework's allocator by context and libraries;
                             communicators are counted apart */
  Figure   host_link;      /* B/s a direction, after PCIe encoding: what the link could carry */
  Figure   host_copy_efficiency;   /* of pinned copies by the copy engine */
  Figure   host_copy_latency;      /* start-up of one such copy, s */
  Figure   host_duplex_efficiency; /* of each direction's copies while both run; 0: they do not hold
                                      each other up */
  Figure nvlink_limit; /* B/s a direction the GPU itself can drive; 0 = the intra link's own rate */
  /* kernel model */
  Figure matmul_efficiency; /* a large product's main loop against matmul_16bit, measured briefly */
  Figure matmul_fp8_efficiency; /* the same of fp8 against matmul_fp8; 0: as matmul_efficiency */
  Figure matmul_fp8_block_efficiency; /* the same with a scale a block; 0: as with one a tensor */
  Figure matmul_fp4_efficiency; /* the same of nvfp4 against matmul_fp4; 0: as matmul_efficiency */
  Figure matmul_operand_bandwidth; /* B/s at which operands come to an SM from L2; 0: not known, and
                                      small_tile_power says what smaller tiles cost */
  Figure matmul_k_overhead;  /* start and end of a tile, in inner-dimension elements that take as
                               long */
  Figure sustained_clock;    /* of matrix products and attention: speed under hours of load against
                               short measurements */
  Figure stream_efficiency;  /* of a long streaming kernel against hbm_bandwidth */
  Figure widening_bandwidth; /* B/s read and written by copies that cast an element at a time to a
                                wider type (KernelDesc.widens); 0: as other streaming kernels */
  Figure scatter_add_bandwidth; /* B/s of elements that atomics add to others, one by one, as two
                                   bytes each (KernelDesc.scattered); 0: nobody measured it */
  Figure reduction_efficiency;  /* of norms, softmax and losses against streaming kernels */
  Figure attention_efficiency,
      attention_backward_efficiency; /* FlashAttention-2, head size 128, masked; of matmul_16bit */
  Figure flash1_efficiency,
      flash1_backward_efficiency; /* of version 1 and Triton's of its time; 0: as version 2 */
  Figure flash3_efficiency, flash3_backward_efficiency; /* the same of version 3; 0: as cuDNN's */
  Figure cudnn_efficiency, cudnn_backward_efficiency;   /* of cuDNN's; 0: as version 2 */
  Figure attention_softmax_dims;               /* an exponential's cost, in dimensions of a head */
  Figure cudnn_softmax_dims;                   /* of cuDNN's kernels and version 3; 0: the same */
  Figure fmha_efficiency, fmha_fp8_efficiency; /* of TensorRT-LLM's forward kernels, between start
                                                  and end of a block; of matmul_16bit, matmul_fp8;
                                                  0: as cuDNN's */
  Figure fmha_softmax_dims;                    /* of both */
  Figure fmha_block_latency;                   /* start and end of a thread block of theirs, s */
  /* decoding attention over a cache (TensorRT-LLM's): */
  Figure decode_efficiency; /* of hbm_bandwidth where caches are long; 0: as stream_efficiency */
  Figure decode_latency;    /* start, with what rotates queries and writes the cache, s; 0: of two
                               kernels */
  Figure
      decode_sum_latency; /* more where few sequences are cut into parts, which are added up, s */
  Figure decode_block_latency, decode_fp8_block_latency; /* of a thread block, a key-value head of a
                                   sequence, s; 0: not known, an H100's */
  Figure decode_head_latency; /* the same where every query head has keys of its own; 0: as those */
  Figure experts_efficiency, experts_fp8_efficiency, experts_fp8_block_efficiency,
      experts_fp4_efficiency; /* of TensorRT-LLM's grouped products, as matmul_*; 0: as those */
  Figure experts_latency, experts_fp8_latency, experts_fp8_block_latency,
      experts_fp4_latency;           /* of all kernels of a layer of them, s; 0: of ten kernels */
  Figure  experts_operand_bandwidth; /* as matmul_*, of grouped products; 0: as those */
  Figure  experts_k_overhead;
  Figure  l2_bytes, l2_bandwidth; /* L2, for what a repeated kernel finds there; 0: not known */
  Figure  tile_m, tile_n;         /* output tile of a matrix product's thread block */
  Figure  small_tile_power; /* of a smaller tile's operand reuse against the full one's: its rate */
  Figure  kernel_latency;   /* start-up and tail of one kernel on the device, s */
  Figure  graph_latency;    /* the same inside of a CUDA graph; 0: as kernel_latency */
  GArray *matmul_curve; /* MatmulPoint: products measured beside the profile of this id; or NULL */
  const GpuProfile *measured_on; /* this one before figures were changed (FigureChange): what the
                                    curve is of; NULL: nothing was changed */
  /* what runs on it (cluster_set_kernels), in shares of these figures; NULL: as they are */
  const KernelRelease *release;
  Figure jitter; /* coefficient of variation of the speed of GPUs of this kind among each other; 0:
                     none known */
  /* how it may be joined to others; no prediction is made of it (intra-fit.h) */
  Fact       links, peer_access;
  char      *pci_ids; /* "1002:74a1 1002:74b5": of this model, also as virtual functions; or NULL */
  char      *chip;    /* "gfx90a gfx910", "sm90": what topology files call its chip; or NULL */
  gboolean   usual;   /* it is taken where no more than the chip is known */
  GpuLinks   own_links; /* `links`, read */
  PeerAccess peer;      /* `peer_access`, read */
};

/*
 * A plain host: its one rank is a process, `hbm` is the memory that the process works in,
 * `host_link` what a core copies, `sms` are cores. Its cards read that memory; its collectives are
 * MPI's (cost/collective/library/collective.h).
 */
gboolean gpu_profile_is_host (const GpuProfile *gpu);

typedef enum
{
  LINK_NONE,
  LINK_SWITCH, /* every GPU has `bandwidth` into a non-blocking switch */
  LINK_MESH,   /* `bandwidth` a pair of GPUs and direction */
  LINK_PAIRS,  /* GPUs 2i and 2i+1 are bridged with `bandwidth`; the rest go over PCIe */
  LINK_GRAPH,  /* pairs of `links`, `bandwidth` a link and direction; the rest over a GPU or PCIe */
  LINK_PCIE,   /* peer-to-peer over PCIe: the GPUs' own host links */
  LINK_HOST,   /* no peer access: staged through host memory */
  LINK_NETWORK,
} LinkKind;

/* How a network's switches spread what crosses them. */
typedef enum
{
  LINK_ROUTING_ADAPTIVE, /* by load: packets, or whole flows that move away from full links */
  LINK_ROUTING_ECMP,     /* a flow keeps the way that its hash names */
} LinkRouting;

/* Which of the library's protocols a network's plug-in or its provider's settings leave. */
typedef enum
{
  LINK_PROTOCOLS_ALL,
  LINK_PROTOCOLS_NO_LL,  /* LL128 and Simple */
  LINK_PROTOCOLS_SIMPLE, /* where data may arrive in any order */
} LinkProtocols;

/* Whether the library may relay messages over NVLink to another card (PXN). */
typedef enum
{
  LINK_PXN_ON,
  LINK_PXN_OFF, /* the provider's settings turn it off */
} LinkPxn;

/* Whether the library may use what NVLink's switches multicast. */
typedef enum
{
  LINK_NVLS_ON,
  LINK_NVLS_OFF, /* the plug-in turns it off, inside nodes as well */
} LinkNvls;

typedef struct
{
  char    *id, *title;
  LinkKind kind;
  char    *technology; /* "nvlink4", "pcie4", "infiniband", "roce", "efa", "tcp", ...: keys the
                          collective tables */
  Figure   bandwidth;  /* B/s a direction: per GPU (switch), pair (mesh, pairs), link (graph), or
                          card (network) */
  /*
   * Of collectives' large messages against bandwidth: measured, or where a profile gives the two
   * bytes below instead, library_share x packet_payload / (packet_payload + packet_overhead).
   */
  Figure efficiency;
  Figure packet_payload;   /* networks: bytes of data in a full packet */
  Figure packet_overhead;  /* networks: bytes that the line carries around them */
  Figure library_share;    /* networks: what the collective library reaches of the payload's rate */
  Figure reported_latency; /* networks: what the plug-in tells the library, s a hop: for its choice
                              alone */
  Figure latency; /* one way, of the wire and its cards or switches, s: beyond the collective
                     library's own hop cost */
  /*
   * What the collective library reaches over this link; calibrated a link family and generation at
   * a time (docs/collectives.md). 0: the library's own table for the GPU's generation.
   */
  Figure hop_ll, hop_ll128, hop_simple; /* s a step of a ring or tree over the hop, by protocol */
  /*
   * Of rings and trees under LL that stay in a node: s paid once, s a step, B/s of a channel; 0: as
   * between nodes, where hops inside them are calibrated together with networks, which hide them.
   */
  Figure inside_start_ll, inside_hop_ll, inside_ll_rate;
  Figure post_ll, post_ll128; /* networks: least time of a step inside a node of a ring that goes
                                 over them, s: the proxies' posting keeps ranks at its pace */
  Figure ll_rate;      /* B/s of data under LL: of one channel; networks: of a node's proxies */
  Figure ll128_rate;   /* B/s of data of one channel under LL128 */
  Figure channel_rate; /* the same under Simple */
  Figure p2p_rate;     /* the same of a send/receive channel */
  Figure p2p_chunk;    /* networks: bytes that a send/receive channel hands to the card at once, as
                          the network's plug-in sets it; 0: as the library does */
  Figure buffsize;     /* networks: bytes of a connection's buffer under Simple, as the network's
                          plug-in or scripts set it (NCCL_BUFFSIZE); 0: as the library does */
  Figure peer_latency; /* networks: of the host's proxy for each further remote peer of an
                          all-to-all, s */
  Figure sharp_efficiency;  /* networks: of a card whose switches reduce, against bandwidth; 0: as
                              elsewhere */
  Figure staged_rate;       /* networks: the same where data is staged in host memory */
  Figure sockets;           /* networks of sockets: connections that share a channel's data */
  Figure duplex_efficiency; /* networks: of each direction while both are in use */
  Figure eager_limit; /* networks: bytes of the longest message that is sent without announcing it:
                         of sockets by plain hosts (btl_tcp_eager_limit; 0: its default), of others
                         by the library's plug-in, on the wire (0: none is announced) */
  Figure queue; /* networks of sockets: bytes of data that a card which is sending sends before what
                   comes next: the answer to an announced message waits for them */
  Figure unaligned_slowdown; /* where a rank's part is no multiple of 16 bytes, but under LL: times
                                as long (NVIDIA/nccl issue 413) */
  Figure nvls_latency;       /* in the switch; networks: of a tree's level between NVLS nodes, s */
  Figure nvls_efficiency;    /* of NVLS traffic on the GPUs' ports, against bandwidth */
  Figure launch; /* of a collective between GPUs that this link joins, beyond kernel_latency, s */
  char  *links;  /* of a graph, as written */
  LinkGraph graph;
  Fact      routing_fact;
  gint      routing; /* networks: LinkRouting, as routing_fact says */
  Fact      protocols_fact;
  gint      protocols; /* networks: LinkProtocols, as protocols_fact says */
  Fact      pxn_fact;
  gint      pxn; /* networks: LinkPxn, as pxn_fact says */
  Fact      nvls_fact;
  gint      nvls;       /* networks: LinkNvls, as nvls_fact says */
  gboolean  gpu_direct; /* networks: card reads GPU memory; otherwise staged through host memory */
  char     *over_sockets; /* networks: id of the profile that stands for this card where the library
                         drives it through sockets; NULL: none */
  char     *older_gpus, *beside_older; /* networks: beside GPUs of these architectures (separated by
                                      spaces) the card is as the profile of that id says */
  char     *older_library, *under_older; /* networks: under releases of the library before this one
                                            the card is as the profile of that id says ... */
  char     *under_older_gpus; /* ... beside GPUs of these architectures (separated by spaces); NULL:
                                 beside all */
  gboolean  serial_exchange;  /* networks of sockets: two hosts that send each other announced
                                messages do so one after the other */
} LinkProfile;

#define PLACEMENT_NONE (-1)

/* NCCL_NET_GDR_LEVEL of the site. */
typedef enum
{
  GPU_DIRECT_PXB, /* NCCL's default */
  GPU_DIRECT_PHB,
  GPU_DIRECT_SYS,
} GpuDirectLevel;

typedef struct
{
  char *id, *title;
  char *gpu, *intra, *nic; /* ids */
  gint  gpu_direct_level;  /* GpuDirectLevel: the farthest cards that read GPU memory */
  /*
   * Where things hang, one gint a thing, PLACEMENT_NONE = under none; NULL: spread in order. A GPU
   * or card under no switch has a socket.
   */
  GArray *gpu_switch, *nic_switch, *gpu_socket, *nic_socket;
  GArray *switch_socket, *switch_upper;
  Figure  gpus, nics, sockets;
  Figure  pcie_switches; /* a node; GPUs and cards are spread over them in order; 0 = every device
                            under its root complex */
  Figure  pcie_upper;    /* between those and the sockets, spread over these in order; 0 = none */
  Figure  pcie_uplink;   /* B/s a direction from a PCIe switch towards its socket */
  Figure  socket_link;   /* B/s a direction between sockets */
  Figure  host_bridge_rate; /* B/s each way, card under a root complex and GPUs; 0: not limited */
  Figure  dram_bandwidth;   /* B/s a socket */
  Figure  dram_bytes;       /* a node */
  Figure  cores;            /* a node */
  Figure  cpu_adam_rate;    /* parameters/s a node that CPU Adam updates; 0 = unknown */
  Figure  nvme_read, nvme_write, nvme_bytes; /* a node; 0 = none */
  /* the issuing thread, s */
  Figure issue_eager; /* host time a launch of an eager framework, Python and dispatcher included */
  Figure issue_compiled;   /* of compiled code or graphs' replays */
  Figure issue_collective; /* host time to enqueue one collective */
  Figure issue_hook;       /* a framework hook (module pre/post hook) */
} NodeProfile;

/*
 * A setting of a run that a framework's generation implies, where a table of measurements says
 * nothing about it.
 */
typedef struct
{
  char *set, *to; /* "training.activation_checkpointing", "full" */
  char
      *instead_of; /* where this word was set, which the framework uses in a sense of its own; NULL:
                       where nothing was */
  char      *strategy; /* under this one only; NULL: any */
  char      *below;    /* "model.d_ff 10000": where that setting is a number below; NULL: always */
  char      *where;    /* "training.peft: lora, mesh.cp: 1": where the row says all of this; NULL:
                          always */
  char      *gpus;     /* "hopper blackwell": on GPUs of these architectures only; NULL: on any */
  char      *called;   /* where the table calls it by this one of its names only; NULL: by any */
  char      *source;
  SourceMark mark;
} FrameworkImplied;

/*
 * A generation of a training framework: what it launches and keeps, and what that costs its issuing
 * thread. Figures that are not given are the node's. Files of hwprofiles/framework/.
 */
typedef struct
{
  char *id, *title;
  char *names;       /* what tables of measurements call it, separated by ';'; may be NULL */
  char *default_for; /* strategies whose runs of today are taken for its runs, with spaces between
                        them; "*": those that no other profile names; NULL: none */
  FrameworkTraits traits;
  /* what the file says of each trait, for printing */
  struct
  {
    Fact newest_flash, fused_loss, compiled_loss, fused_adam, adam_lists, keeps_table, loss_scaling,
        one_communicator, first_coordinator, softmax_keys, casts_scores, loss, held_outputs,
        gpt_dropout, recomputes_all, keeps_rotary, keeps_gathered, cats_sequence, keeps_fp8,
        caches_fp8_weights, fp8_params, fused_gate, fused_rotary, loss_copies, holds_scattered,
        logs_memory, copies_qkv, attention_prologue;
  } said;
  GArray *implies; /* FrameworkImplied, in the file's order; may be NULL */
  Figure issue_eager, issue_compiled, issue_collective, issue_hook; /* as a node's; 0: the node's */
  Figure issue_backward; /* of eager kernels of the backward pass; 0: as issue_eager */
  Figure issue_step;     /* a step's data, logging and schedules, while the GPU has nothing to do */
} FrameworkProfile;

const char *link_kind_name (LinkKind kind);     /* "graph" */
const char *gpu_direct_level_name (gint level); /* "pxb" */

/* Kinds of profiles, folders of hwprofiles/: "gpu", "link", ..., "cluster"; NULL-terminated. */
extern const char *const profile_kind_names[];

typedef struct _ProfileSet ProfileSet;

/*
 * Loads profiles on demand from DIR (NULL: the shipped hwprofiles/). DIR may be several folders,
 * separated as in PATH: an id is taken from the first that has it, and a profile that extends its
 * own id is laid over that of a later folder. Not shared between threads; what it reads can be.
 */
ProfileSet *profile_set_new (const char *dir);

/*
 * The same with every rate and efficiency, and every time, at one end of its range: pessimistic
 * takes low rates and long times, optimistic the contrary. Figures without a range, sizes and
 * counts that grade no hardware keep their values.
 */
typedef enum
{
  PROFILE_PESSIMISTIC = -1,
  PROFILE_AS_GIVEN = 0,
  PROFILE_OPTIMISTIC = 1,
} ProfileEnd;

ProfileSet *profile_set_new_at (const char *dir, ProfileEnd end);

/* One figure that is another than its file says: KEY of the profile KIND/ID. */
typedef struct
{
  const char *kind, *id, *key; /* "gpu", "a40-48" (NULL: any), "hbm_bandwidth" */
  double      value;           /* base unit */
  /*
   * Its file says VALUE: what else the profile has, such as measured products, stays as it is. Else
   * the hardware is another than the one that they were measured on.
   */
  gboolean as_written;
} FigureChange;

/* How the figures of a set differ from their files; all zero: they do not. */
typedef struct
{
  ProfileEnd          end;
  const FigureChange *changes; /* after the above; those of profiles that nobody uses do nothing */
  guint               n_changes;
  gboolean            todays_frameworks; /* profile_set_todays_framework finds some */
} ProfileVariant;

/*
 * The same with the figures of VARIANT (NULL: as given), over FILES, which outlives the set and may
 * serve others in other threads (NULL: files of its own). Each set tells the diagnostics of the
 * profiles that it hands out.
 */
ProfileSet *profile_set_new_shared (const char *dir, const ProfileVariant *variant,
                                    InputFiles *files);

/* The profiles of SELF, which outlives it, with N more CHANGES; of one figure the last counts. */
ProfileSet *profile_set_new_changed (ProfileSet *self, const FigureChange *changes, guint n);

/* What the set reads from. */
InputFiles *profile_set_files (const ProfileSet *self);

/*
 * What tells the profiles of this set from those of others that read from the same files; NULL:
 * none do, or figures of this one are changed.
 */
const char *profile_set_shared_key (const ProfileSet *self);

/* Whether its figures are others than the files say: at an end of their ranges, or changed. */
gboolean profile_set_is_varied (const ProfileSet *self);

void profile_set_free (ProfileSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ProfileSet, profile_set_free)

/*
 * The profile of ID, or NULL after diagnostics (unknown ids get the nearest name, at MARK). Owned
 * by the set.
 */
const GpuProfile  *profile_set_gpu (ProfileSet *self, const char *id, const SourceMark *mark,
                                    DiagList *diags);
const LinkProfile *profile_set_link (ProfileSet *self, const char *id, const SourceMark *mark,
                                     DiagList *diags);
const NodeProfile *profile_set_node (ProfileSet *self, const char *id, const SourceMark *mark,
                                     DiagList *diags);

/*
 * The ids of KIND, in order, whose files have all of WORDS in them, or extend others that may: a
 * profile that plays no part without them need not be loaded, which takes a hundred times as long.
 * Owned by the set.
 */
const char *const *profile_set_mentioning (ProfileSet *self, const char *kind,
                                           const char *const *words);

/* What FILE, a profile of hwprofiles/cluster, says; NULL after diagnostics. Owned by the set. */
const ConfigDoc *profile_set_cluster (ProfileSet *self, const char *file, DiagList *diags);

/*
 * The generation whose id or one of whose names is TEXT; else the last, by id, with a name of the
 * same first word; else NULL and a warning. NULL with errors where a profile cannot be read.
 */
const FrameworkProfile *profile_set_framework (ProfileSet *self, const char *text,
                                               const SourceMark *mark, DiagList *diags);

/* NULL without a warning where there is none. */
const FrameworkProfile *profile_set_find_framework (ProfileSet *self, const char *text,
                                                    DiagList *diags);

/*
 * The generation that STRATEGY is taken to run on today: of the profiles that are its `default_for`
 * the one whose id ends with the latest year ("torchtitan-2026"). NULL: there is none, or the set
 * was not asked to have any. Profiles with mistakes are passed over.
 */
const FrameworkProfile *profile_set_todays_framework (ProfileSet *self, const char *strategy);

/*
 * Whether SETTING is one of runs of STRATEGY on GPUs of ARCHITECTURE (NULL: not known, which holds
 * for settings of any GPU only), whatever a table calls the framework.
 */
gboolean framework_implied_holds (const FrameworkImplied *setting, const char *strategy,
                                  const char *architecture);

/* The title of KIND/ID, which is no cluster; NULL after diagnostics. Owned by the set. */
const char *profile_set_title (ProfileSet *self, const char *kind, const char *id, DiagList *diags);

/* "'a/gpu', 'b/gpu'": where profiles of KIND are searched. Newly allocated. */
char *profile_set_folders (ProfileSet *self, const char *kind);

/* Sorted ids of KIND ("gpu", "link", ..., "cluster"); strv owned by the caller. */
char **profile_set_list (ProfileSet *self, const char *kind);

/*
 * TRUE when the profile KIND/ID can be loaded: a file, a link "wan-RATE-TIME" such as
 * "wan-10g-50ms" (Gbit/s or, with m, Mbit/s; one way), which is wan-1g-30ms at another rate and
 * time, or a link "lan-RATE" such as "lan-50m", which is lan-100m at another rate.
 */
gboolean profile_set_has (ProfileSet *self, const char *kind, const char *id);

/*
 * The kind of profile that FILE is, by its keys: one of profile_kind_names. "node" where it cannot
 * be read.
 */
const char *profile_file_kind (const char *file);

/*
 * Path of the profile KIND/ID, or NULL when there is none. Newly allocated. An ID may be the path
 * of a profile's file, "mine/box.yaml", here and wherever an id is.
 */
char *profile_set_file (ProfileSet *self, const char *kind, const char *id);

/* Adds "unknown KIND 'ID'" with the nearest id. */
void profile_set_unknown (ProfileSet *self, const char *kind, const char *id,
                          const SourceMark *mark, DiagList *diags);

/* The figures of a profile for printing (`shardsim hardware a40-48`). */
typedef struct
{
  const char   *key;
  QuantityKind  kind;
  double        min, max; /* of plausible values: others are taken for mistakes */
  gboolean      is_shape; /* a number of parts, of which there is not a little more or less */
  const Figure *figure;
} FigureView;

/*
 * All figures of the profile KIND/ID ("gpu", "link", "node", "framework"); NULL after diagnostics.
 * Newly allocated array of FigureView.
 */
GArray *profile_set_figures (ProfileSet *self, const char *kind, const char *id, DiagList *diags);

/*
 * The figure KEY that profiles of KIND may have, into VIEW without the figure itself. FALSE: they
 * have none, and *HINT, newly allocated, is what is near it.
 */
gboolean profile_kind_figure (const char *kind, const char *key, FigureView *view, char **hint);

/* What a profile says in words, for printing: the fact and its key; NULL at the end. */
const char *gpu_profile_fact (const GpuProfile *gpu, guint i, const Fact **fact);
const char *link_profile_fact (const LinkProfile *link, guint i, const Fact **fact);
const char *framework_profile_fact (const FrameworkProfile *framework, guint i, const Fact **fact);

/* The placement lists of a node profile for printing; TEXT "0 0 1 none", newly allocated. */
char       *placement_format (const GArray *list);
const char *node_profile_placement (const NodeProfile *node, guint i,
                                    const GArray **list); /* key; NULL at the end */

/*
 * Changes the figure KEY of the profile KIND/ID in memory, of a set that shares no files:
 * calibration tries values. Clusters made before keep what they derived from it. FALSE when there
 * is no such figure.
 */
gboolean profile_set_override (ProfileSet *self, const char *kind, const char *id, const char *key,
                               double value);
