/*
 * Releases of the library that runs collectives between GPUs: hwprofiles/library/. What it believes
 * an algorithm costs when it chooses among them, how it sizes channels and chunks, and what its
 * search knows of links.
 *
 * The choice uses these figures as they are. What an operation really takes is calibrated a link
 * family at a time (profile.h: LinkProfile) and starts from them where no measurement is.
 */
#pragma once

#include "hardware/profile/profile.h"
#include "vocabulary/collective-algorithm.h"

/* The kinds of hop that the library tells apart. */
typedef enum
{
  HOP_NVLINK,
  HOP_PCIE,
  HOP_NET,
  HOP_N,
} HopClass;

/* By number of nodes: one, two, more. */
#define NODE_CASES 3

#define LIBRARY_SPEEDS   24 /* at most, of a search */
#define CORRECTION_SIZES 24 /* log2 (S / 64 bytes) */

/* Limits of one generation of GPUs, B/s, and what the library does on it. */
typedef struct
{
  char *architectures; /* separated by spaces */
  struct
  {
    char *ring_ll128, *tree_ll128, *tree_simple, *nvls_tree, *intra_speeds, *inter_speeds;
  } said;    /* the lists as written */
  double ll; /* of LL on one node, all channels */
  double ring_ll128[NODE_CASES], tree_ll128[NODE_CASES], tree_simple[NODE_CASES],
      nvls_tree[NODE_CASES];    /* a channel */
  gboolean nvls_tree_corrected; /* by size, as trees under Simple are */
  double   nvls_efficiency;
  double   channel_rate;    /* B/s that one thread block copies under Simple; 0: not known */
  double   link, link_wire; /* what the search takes a link to carry, and its wire rate */
  double   link_factor;     /* of the two */
  double   pair_link;       /* B/s of one link, as channels of a pair are counted */
  double   intra_speeds[LIBRARY_SPEEDS],
      inter_speeds[LIBRARY_SPEEDS]; /* B/s a channel that the search tries, descending, then 0 */
  double split_many;  /* B/s of a channel from which more than four of them run as two each */
  double double_from; /* between nodes few channels faster than this, B/s, are doubled; 0: never */
  double collnet_direct;        /* of CollNet direct's rate, what the choice takes it for */
  double all_reduce_net_factor; /* of a ring's latency: Simple, several nodes */
  gint64 nvls_channels, nvls_channels_net; /* thread blocks that NVLS runs on: one node, several */
  gint64 node_channels;                    /* thread blocks of a ring on one node of 8 GPUs */
  gboolean ll128;                          /* the protocol is on by default */
  gboolean ll128_net;                      /* between nodes, too */
  gboolean ll128_over_pxn;                 /* also where a card is reached over another GPU */
  double all_pairs; /* bytes up to which all-reduce is two hops of every pair of a mesh; 0: never */
  gint64 pxn_from;  /* ranks of a communicator from which messages between nodes leave by the
                          card of the receiver's rail (PXN); 0: never */
  char  *source;
  gint   confidence; /* Confidence */
  SourceMark mark;
} LibraryGeneration;

/*
 * A channel's chunk of a tree under Simple is halved while its part of S has fewer than `chunks` of
 * them a level, down to LEAST bytes.
 */
typedef struct
{
  gint64     chunks;
  double     least;
  char      *source;
  gint       confidence; /* Confidence */
  SourceMark mark;
} TreeHalving;

typedef struct
{
  char  *id, *title;
  char  *version; /* the first release that has these figures */
  char  *aliases; /* names of libraries that are built on them, separated by spaces; may be NULL */
  char  *usual;   /* architectures whose published runs are taken to be of it where they do not say
                     their release, separated by spaces; may be NULL */
  double base[ALGORITHM_N][PROTOCOL_N];       /* s */
  double hop[HOP_N][ALGORITHM_N][PROTOCOL_N]; /* s */
  double post[PROTOCOL_N];         /* s: floor of a hop in a node while the network is used */
  double thread_bytes[PROTOCOL_N]; /* bytes a channel is given at least: threads x bytes a thread */
  float  tree_correction[PROTOCOL_N][CORRECTION_SIZES];
  Figure ll_net_two, ll_net_more; /* B/s of LL between two nodes, more: the host's proxies */
  Figure buffsize; /* bytes of a connection's buffer under Simple, eight slots: NCCL_BUFFSIZE */
  Figure chunk_tree, chunk_nvls, chunk_nvls_wide; /* bytes; wide: from 4 nodes */
  Figure nvls_buffer;  /* bytes of a head's buffer of a channel, one way; 0: as under Simple */
  Figure nvls_credits; /* bytes beside each */
  Figure chunk_p2p, chunk_p2p_net; /* bytes; over NVLink, otherwise */
  Figure staged_channel;           /* B/s that a channel moves through host memory */
  Figure p2p_batch;                /* point-to-point operations that one launch runs side by side */
  Figure p2p_part;     /* least bytes of a point-to-point channel, up to p2p_small channels */
  Figure p2p_ll;       /* bytes that a pair exchanges under LL at most */
  Figure p2p_part_big; /* the same beyond p2p_small channels */
  Figure p2p_small;
  /*
   * Channels of a pair over the network: p2p_net_start of them, or where that is 0 one for each
   * p2p_net_rate of a card (B/s; rounded up to a power of two); halved while channels x
   * ceil (ranks / p2p_round_ranks) exceeds p2p_rounds times all channels.
   */
  Figure  p2p_net_start, p2p_net_rate, p2p_round_ranks, p2p_rounds;
  Figure  p2p_gap;               /* s between two chunks of a channel over the network */
  Figure  process_launch;        /* s of host time a GPU, of one process that drives all */
  Figure  process_peer;          /* the same a GPU and peer of a point-to-point operation */
  Figure  process_channel;       /* s a channel by which its kernels start later */
  GArray *generations;           /* LibraryGeneration, newest first */
  GArray *latencies, *protocols; /* as written; base, hop, post, ... are made of them */
  GArray
      *tree_halvings; /* TreeHalving, one after another; NULL or empty: chunks stay as they are */

  gboolean nvls_at_use;  /* its buffers come with the first collective that runs on it */
  gboolean pxn_over_c2c; /* PXN and LL128 also by cards behind the CPU of a GPU's module */
} LibraryProfile;

/* B/s of LL between N_NODES (2 or more). */
double library_profile_ll_net (const LibraryProfile *self, guint n_nodes);

/* Of a tree's bandwidth at BYTES, what the library takes it for; 1 from N_SIZES doublings on. */
double library_profile_correction (const LibraryProfile *self, CollectiveProtocol protocol,
                                   double bytes, guint n_sizes);

/* What SELF does on GPUs of this kind: every architecture has its generation. */
const LibraryGeneration *library_profile_generation (const LibraryProfile *self,
                                                     const GpuProfile     *gpu);

/*
 * All releases, newest first; owned by the caller, the profiles by the set. NULL after diagnostics
 * where one has mistakes or there is none. Folders without libraries have the shipped ones.
 */
GPtrArray *profile_set_libraries (ProfileSet *self, DiagList *diags);

/*
 * Of LIBRARIES the release VERSION or the newest older one, or the newest that has it as an alias;
 * NULL or "unknown": the newest. NULL where there is none.
 */
const LibraryProfile *library_profile_find (const GPtrArray *libraries, const char *version);

/*
 * The same for what a measurement says of itself, which nobody can change: the oldest where all are
 * newer, the newest for a name that no profile has.
 */
const LibraryProfile *library_profile_nearest (const GPtrArray *libraries, const char *version);

/* Of LIBRARIES the one that published runs on GPUs like GPU usually ran; NULL: none is known. */
const LibraryProfile *library_profile_usual (const GPtrArray *libraries, const GpuProfile *gpu);

/* FALSE after a diagnostic at MARK (may be NULL) with what is known: VERSION means none of them. */
gboolean library_profile_check (const GPtrArray *libraries, const char *version,
                                const SourceMark *mark, DiagList *diags);
