/*
 * The `collective` section of a scenario: what may be asked of the collective library. The same
 * table drives the command line.
 */
#pragma once

#include "cost/collective/library/collective.h"

typedef struct
{
  gint     algorithm;      /* 0 = auto, else CollectiveAlgorithm + 1 */
  gint     protocol;       /* 0 = auto, else CollectiveProtocol + 1 */
  char    *nccl;           /* version; NULL = unknown */
  gboolean sharp, collnet; /* two names of one wish */
  gboolean collnet_refused;
  gboolean single_process;
  gint     nvls;                              /* NvlsUse */
  gint     pxn;                               /* PxnWish */
  gint64   nchannels, nchannels_per_net_peer; /* 0 = the library's own */
  double   buffsize;                          /* 0 = the network's or the library's own */
  gboolean tuner;
  gboolean split_data;
  gboolean timed_calls;
  gint     host_ring_order; /* RingWish */
} CollectiveConfig;

extern const OptionSpec collective_options[];

/*
 * FALSE after a diagnostic at MARK (may be NULL): no profile of PROFILES is of the release `nccl`,
 * of an older one or of this name.
 */
gboolean collective_config_check (const CollectiveConfig *self, ProfileSet *profiles,
                                  const SourceMark *mark, DiagList *diags);

/*
 * FALSE after a diagnostic: SELF contradicts itself, or asks for what CLUSTER (NULL: not known) has
 * not. MARKS: of its options, may be NULL.
 */
gboolean collective_config_check_wishes (const CollectiveConfig *self, const Cluster *cluster,
                                         const OptionMarks *marks, DiagList *diags);

/* The same for collective_plan_new; `library` borrows from SELF. */
CollectiveOptions collective_config_options (const CollectiveConfig *self);
