#include "cost/collective/library/config.h"

#define OPTION(member) G_STRUCT_OFFSET (CollectiveConfig, member)

static const char *const nvls_uses[] = { "auto", "off", "on", NULL };
static const char *const ring_wishes[] = { "auto", "ranks", "best", NULL };
static const char *const pxn_wishes[] = { "auto", "off", "on", NULL };

const OptionSpec collective_options[] = {
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = collective_algorithm_words,
    .offset = OPTION (algorithm),
    .fallback = "auto",
    .needs = "a second GPU",
    .help = "auto = NCCL's choice; one that a collective does not have leaves that one to NCCL; "
            "between plain hosts ring, for all-to-all pairwise or linear, for broadcast and reduce "
            "pipeline or ring" },
  { .key = "protocol",
    .type = OPTION_ENUM,
    .choices = collective_protocol_words,
    .offset = OPTION (protocol),
    .fallback = "auto",
    .needs = "a second GPU",
    .help = "auto = NCCL's choice; the same for protocols" },
  { .key = "nccl",
    .type = OPTION_STRING,
    .offset = OPTION (nccl),
    .optional = TRUE,
    .help = "version whose tuning tables choose, such as 2.28.9, or an alias in a profile of the "
            "library; unset or unknown = the newest known",
    .source = "NVIDIA/nccl src/graph/tuning.cc" },
  { .key = "sharp",
    .type = OPTION_BOOL,
    .offset = OPTION (sharp),
    .fallback = "false",
    .needs = "a second node",
    .help = "the network's switches reduce (SHARP), and NCCL may use them" },
  { .key = "collnet",
    .type = OPTION_BOOL,
    .offset = OPTION (collnet),
    .fallback = "false",
    .needs = "a second node",
    .help = "the older name of 'sharp'" },
  { .key = "collnet_refused",
    .type = OPTION_BOOL,
    .offset = OPTION (collnet_refused),
    .fallback = "false",
    .needs = "a second node",
    .help = "CollNet is asked for and the switches refuse: NCCL has prepared its channels",
    .source = "NCCL_COLLNET_ENABLE; NVIDIA/nccl src/graph/connect.cc" },
  { .key = "single_process",
    .type = OPTION_BOOL,
    .offset = OPTION (single_process),
    .fallback = "false",
    .needs = "a second GPU",
    .help = "one process drives all GPUs of a node: launches come one after another" },
  { .key = "nvls",
    .type = OPTION_ENUM,
    .choices = nvls_uses,
    .offset = OPTION (nvls),
    .fallback = "auto",
    .help = "multicast in NVLink switches; on: an error where there is none",
    .source = "NCCL_NVLS_ENABLE" },
  { .key = "pxn",
    .type = OPTION_ENUM,
    .choices = pxn_wishes,
    .offset = OPTION (pxn),
    .fallback = "auto",
    .needs = "a second node",
    .help = "a second node leave by the card of the receiver's rail, over NVLink to the "
            "GPU next to it; auto = as the library's release does",
    .source = "NCCL_PXN_DISABLE, NCCL_P2P_PXN_LEVEL" },
  { .key = "nchannels",
    .type = OPTION_INT,
    .offset = OPTION (nchannels),
    .optional = TRUE,
    .min = 1,
    .max = COLLECTIVE_MAX_CHANNELS,
    .needs = "a second GPU",
    .help = "channels of rings and trees; unset = those of NCCL's search",
    .source = "NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS" },
  { .key = "nchannels_per_net_peer",
    .type = OPTION_INT,
    .offset = OPTION (nchannels_per_net_peer),
    .optional = TRUE,
    .min = 1,
    .max = COLLECTIVE_MAX_CHANNELS,
    .needs = "a second node",
    .help = "channels of a send/receive pair over the network; unset = by NCCL's rule",
    .source = "NCCL_NCHANNELS_PER_NET_PEER" },
  { .key = "buffsize",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = OPTION (buffsize),
    .optional = TRUE,
    .min = COLLECTIVE_LEAST_BUFFER,
    .max = COLLECTIVE_MOST_BUFFER,
    .needs = "a second GPU",
    .help = "of a connection under Simple, for whose eighths trees' chunks are; unset = as the "
            "network's plug-in sets it, else the library",
    .source = "NCCL_BUFFSIZE" },
  { .key = "tuner",
    .type = OPTION_BOOL,
    .offset = OPTION (tuner),
    .fallback = "true",
    .needs = "a plug-in of the network",
    .help = "the network's plug-in says what runs where it knows better (on AWS's nodes); false = "
            "NCCL's own choice",
    .source = "NCCL_TUNER_PLUGIN, OFI_NCCL_TUNER_TYPE" },
  { .key = "split_data",
    .type = OPTION_BOOL,
    .offset = OPTION (split_data),
    .fallback = "false",
    .needs = "several queue pairs",
    .help = "messages are cut over the queue pairs of a connection; else these take them in turn",
    .source = "NCCL_IB_SPLIT_DATA_ON_QPS" },
  { .key = "timed_calls",
    .type = OPTION_BOOL,
    .offset = OPTION (timed_calls),
    .fallback = "false",
    .help = "each call is timed by itself, as torch.distributed's benchmarks do: the host's time "
            "to issue it counts, the node profile's issue_collective" },
  { .key = "host_ring_order",
    .type = OPTION_ENUM,
    .choices = ring_wishes,
    .offset = OPTION (host_ring_order),
    .fallback = "auto",
    .needs = "sites",
    .help = "in which order rings of the hosts visit their members: best = so that the slowest "
            "link between sites is as fast as can be; auto = as the strategy's system does",
    .source = "arXiv:2412.01152" },
  { 0 },
};

gboolean
collective_config_check (const CollectiveConfig *self, ProfileSet *profiles, const SourceMark *mark,
                         DiagList *diags)
{
  g_autoptr (DiagList)  own = diag_list_new (); /* mistakes in profiles are the cluster's to tell */
  g_autoptr (GPtrArray) libraries = profile_set_libraries (profiles, own);

  return libraries == NULL || library_profile_check (libraries, self->nccl, mark, diags);
}

gboolean
collective_config_check_wishes (const CollectiveConfig *self, const Cluster *cluster,
                                const OptionMarks *marks, DiagList *diags)
{
  const CollectiveOptions options = collective_config_options (self);
  RefusedWish             wish;
  g_autofree char        *reason = collective_options_refusal (&options, cluster, &wish);

  if (reason == NULL)
    return TRUE;
  diag_error (
      diags,
      option_mark (marks, wish.key, g_str_equal (wish.key, "sharp") ? "collnet" : NULL, NULL),
      wish.hint, "%s", reason);
  return FALSE;
}

CollectiveOptions
collective_config_options (const CollectiveConfig *self)
{
  CollectiveOptions options = collective_default_options;

  if (self->algorithm > 0)
    options.algorithm = (CollectiveAlgorithm) (self->algorithm - 1);
  if (self->protocol > 0)
    options.protocol = (CollectiveProtocol) (self->protocol - 1);
  options.library = self->nccl;
  options.sharp = self->sharp || self->collnet;
  options.collnet_refused = self->collnet_refused;
  options.single_process = self->single_process;
  options.nvls = self->nvls;
  options.pxn = self->pxn;
  options.channels = (guint) self->nchannels;
  options.net_peer_channels = (guint) self->nchannels_per_net_peer;
  options.buffsize = self->buffsize;
  options.library_chooses = !self->tuner;
  options.split_data = self->split_data;
  options.timed_calls = self->timed_calls;
  options.ring_wish = self->host_ring_order;
  return options;
}
