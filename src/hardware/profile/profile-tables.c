#include "hardware/profile/profile-tables-private.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/version.h"

/* Bounds are there to catch a wrong unit or a slipped zero, not to judge hardware. */
#define GPU(member)  G_STRUCT_OFFSET (GpuProfile, member)
#define LINK(member) G_STRUCT_OFFSET (LinkProfile, member)
#define NODE(member) G_STRUCT_OFFSET (NodeProfile, member)
#define REQUIRED     NAN

const char *const profile_architectures[] = { "volta",     "turing", "ampere", "ada",   "hopper",
                                              "blackwell", "cdna",   "cdna2",  "cdna3", "cdna4",
                                              "vega",      "pascal", "host",   NULL };

static const char *const link_kinds[] = { "none", "switch", "mesh",    "pairs", "graph",
                                          "pcie", "host",   "network", NULL };

static const char *const link_routings[] = { "adaptive", "ecmp", NULL };
static const char *const link_protocols[] = { "all", "no_ll", "simple", NULL };
static const char *const link_pxns[] = { "on", "off", NULL };
static const char *const link_nvls[] = { "on", "off", NULL };
static const char *const gpu_direct_levels[] = { "pxb", "phb", "sys", NULL };

static const OptionSpec gpu_scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = GPU (title), .help = "what it is" },
  { .key = "architecture",
    .type = OPTION_STRING,
    .offset = GPU (architecture),
    .help = "generation" },
  { .key = "bf16", .type = OPTION_BOOL, .offset = GPU (bf16), .help = "has bf16 matrix units" },
  { .key = "mxfp8",
    .type = OPTION_BOOL,
    .offset = GPU (mxfp8),
    .fallback = "false",
    .help = "its fp8 units take block scales" },
  { .key = "fp8_any_layout",
    .type = OPTION_BOOL,
    .offset = GPU (fp8_any_layout),
    .fallback = "false",
    .help = "its fp8 products take operands of one scale in either layout" },
  { .key = "c2c",
    .type = OPTION_BOOL,
    .offset = GPU (c2c),
    .fallback = "false",
    .help = "shares a module with its CPU" },
  { .key = "pci_ids",
    .type = OPTION_STRING,
    .offset = GPU (pci_ids),
    .optional = TRUE,
    .help = "vendor and device as PCI has them, as in '1002:74a1 1002:74b5'" },
  { .key = "chip",
    .type = OPTION_STRING,
    .offset = GPU (chip),
    .optional = TRUE,
    .help = "names of its chip in topology files: gfx942, or sm90 for compute capability 9.0" },
  { .key = "usual",
    .type = OPTION_BOOL,
    .offset = GPU (usual),
    .fallback = "false",
    .help = "is taken where a file shows the chip, and not which model has it" },
  { 0 },
};

static const FigureSpec gpu_figures[] = {
  { "matmul_16bit", QUANTITY_COMPUTE, GPU (matmul_16bit), REQUIRED, 1e12, 1e17 },
  { "matmul_fp32", QUANTITY_COMPUTE, GPU (matmul_fp32), REQUIRED, 1e11, 1e16 },
  { "matmul_fp8", QUANTITY_COMPUTE, GPU (matmul_fp8), 0, 1e12, 1e17 },
  { "matmul_fp4", QUANTITY_COMPUTE, GPU (matmul_fp4), 0, 1e12, 1e17 },
  { "mfu_base", QUANTITY_COMPUTE, GPU (mfu_base), 0, 1e12, 1e17 },
  { "sms", QUANTITY_COUNT, GPU (sms), REQUIRED, 1, 4096 },
  { "hbm_bandwidth", QUANTITY_BANDWIDTH, GPU (hbm_bandwidth), REQUIRED, 1e10, 1e14 },
  { "hbm_bytes", QUANTITY_BYTES, GPU (hbm_bytes), REQUIRED, 1e9, 1e13 },
  { "runtime_bytes", QUANTITY_BYTES, GPU (runtime_bytes), REQUIRED, 0, 2e10 },
  { "host_link", QUANTITY_BANDWIDTH, GPU (host_link), REQUIRED, 1e8, 1e13 },
  { "host_copy_efficiency", QUANTITY_RATIO, GPU (host_copy_efficiency), REQUIRED, 0.05, 1 },
  { "host_copy_latency", QUANTITY_TIME, GPU (host_copy_latency), 0, 0, 1e-3 },
  { "host_duplex_efficiency", QUANTITY_RATIO, GPU (host_duplex_efficiency), 0, 0.5, 1 },
  { "nvlink_limit", QUANTITY_BANDWIDTH, GPU (nvlink_limit), 0, 1e9, 1e13 },
  { "matmul_efficiency", QUANTITY_RATIO, GPU (matmul_efficiency), REQUIRED, 0.05, 1.2 },
  { "matmul_fp8_efficiency", QUANTITY_RATIO, GPU (matmul_fp8_efficiency), 0, 0.05, 1.2 },
  { "matmul_fp8_block_efficiency", QUANTITY_RATIO, GPU (matmul_fp8_block_efficiency), 0, 0.05,
    1.2 },
  { "matmul_fp4_efficiency", QUANTITY_RATIO, GPU (matmul_fp4_efficiency), 0, 0.05, 1.2 },
  { "matmul_operand_bandwidth", QUANTITY_BANDWIDTH, GPU (matmul_operand_bandwidth), 0, 1e9, 1e13 },
  { "matmul_k_overhead", QUANTITY_COUNT, GPU (matmul_k_overhead), 0, 0, 4096 },
  { "sustained_clock", QUANTITY_RATIO, GPU (sustained_clock), 1, 0.3, 1 },
  { "stream_efficiency", QUANTITY_RATIO, GPU (stream_efficiency), REQUIRED, 0.05, 1 },
  { "widening_bandwidth", QUANTITY_BANDWIDTH, GPU (widening_bandwidth), 0, 1e10, 1e14 },
  { "scatter_add_bandwidth", QUANTITY_BANDWIDTH, GPU (scatter_add_bandwidth), 0, 1e9, 1e14 },
  { "reduction_efficiency", QUANTITY_RATIO, GPU (reduction_efficiency), 1, 0.05, 1 },
  { "attention_efficiency", QUANTITY_RATIO, GPU (attention_efficiency), REQUIRED, 0.02, 1.2 },
  { "attention_backward_efficiency", QUANTITY_RATIO, GPU (attention_backward_efficiency), REQUIRED,
    0.02, 1.2 },
  { "flash1_efficiency", QUANTITY_RATIO, GPU (flash1_efficiency), 0, 0.02, 1.2 },
  { "flash1_backward_efficiency", QUANTITY_RATIO, GPU (flash1_backward_efficiency), 0, 0.02, 1.2 },
  { "flash3_efficiency", QUANTITY_RATIO, GPU (flash3_efficiency), 0, 0.02, 1.2 },
  { "flash3_backward_efficiency", QUANTITY_RATIO, GPU (flash3_backward_efficiency), 0, 0.02, 1.2 },
  { "cudnn_efficiency", QUANTITY_RATIO, GPU (cudnn_efficiency), 0, 0.02, 1.2 },
  { "cudnn_backward_efficiency", QUANTITY_RATIO, GPU (cudnn_backward_efficiency), 0, 0.02, 1.2 },
  { "attention_softmax_dims", QUANTITY_COUNT, GPU (attention_softmax_dims), 0, 0, 256 },
  { "cudnn_softmax_dims", QUANTITY_COUNT, GPU (cudnn_softmax_dims), 0, 0, 256 },
  { "fmha_efficiency", QUANTITY_RATIO, GPU (fmha_efficiency), 0, 0.02, 1.2 },
  { "fmha_fp8_efficiency", QUANTITY_RATIO, GPU (fmha_fp8_efficiency), 0, 0.02, 1.2 },
  { "fmha_softmax_dims", QUANTITY_COUNT, GPU (fmha_softmax_dims), 0, 0, 512 },
  { "fmha_block_latency", QUANTITY_TIME, GPU (fmha_block_latency), 0, 0, 1e-3 },
  { "decode_efficiency", QUANTITY_RATIO, GPU (decode_efficiency), 0, 0.02, 1.2 },
  { "decode_latency", QUANTITY_TIME, GPU (decode_latency), 0, 0, 1e-3 },
  { "decode_sum_latency", QUANTITY_TIME, GPU (decode_sum_latency), 0, 0, 1e-3 },
  { "decode_block_latency", QUANTITY_TIME, GPU (decode_block_latency), 0, 0, 1e-3 },
  { "decode_fp8_block_latency", QUANTITY_TIME, GPU (decode_fp8_block_latency), 0, 0, 1e-3 },
  { "decode_head_latency", QUANTITY_TIME, GPU (decode_head_latency), 0, 0, 1e-3 },
  { "experts_efficiency", QUANTITY_RATIO, GPU (experts_efficiency), 0, 0.02, 1.2 },
  { "experts_fp8_efficiency", QUANTITY_RATIO, GPU (experts_fp8_efficiency), 0, 0.02, 1.2 },
  { "experts_fp8_block_efficiency", QUANTITY_RATIO, GPU (experts_fp8_block_efficiency), 0, 0.02,
    1.2 },
  { "experts_fp4_efficiency", QUANTITY_RATIO, GPU (experts_fp4_efficiency), 0, 0.02, 1.2 },
  { "experts_latency", QUANTITY_TIME, GPU (experts_latency), 0, 0, 1e-2 },
  { "experts_fp8_latency", QUANTITY_TIME, GPU (experts_fp8_latency), 0, 0, 1e-2 },
  { "experts_fp8_block_latency", QUANTITY_TIME, GPU (experts_fp8_block_latency), 0, 0, 1e-2 },
  { "experts_fp4_latency", QUANTITY_TIME, GPU (experts_fp4_latency), 0, 0, 1e-2 },
  { "experts_operand_bandwidth", QUANTITY_BANDWIDTH, GPU (experts_operand_bandwidth), 0, 0, 1e13 },
  { "experts_k_overhead", QUANTITY_COUNT, GPU (experts_k_overhead), 0, 0, 4096 },
  { "l2_bytes", QUANTITY_BYTES, GPU (l2_bytes), 0, 0, 1e10 },
  { "l2_bandwidth", QUANTITY_BANDWIDTH, GPU (l2_bandwidth), 0, 0, 1e15 },
  { "tile_m", QUANTITY_COUNT, GPU (tile_m), REQUIRED, 8, 1024 },
  { "tile_n", QUANTITY_COUNT, GPU (tile_n), REQUIRED, 8, 1024 },
  { "small_tile_power", QUANTITY_RATIO, GPU (small_tile_power), 1, 0, 1 },
  { "kernel_latency", QUANTITY_TIME, GPU (kernel_latency), REQUIRED, 0, 1e-3 },
  { "graph_latency", QUANTITY_TIME, GPU (graph_latency), 0, 0, 1e-3 },
  { "jitter", QUANTITY_RATIO, GPU (jitter), 0, 0, 0.2 },
  { 0 },
};

static const FactSpec gpu_facts[] = {
  { "links", GPU (links), NULL },
  { "peer_access", GPU (peer_access), NULL },
  { 0 },
};

static const OptionSpec link_scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = LINK (title), .help = "what it is" },
  { .key = "kind",
    .type = OPTION_ENUM,
    .choices = link_kinds,
    .offset = LINK (kind),
    .help = "shape" },
  { .key = "technology", .type = OPTION_STRING, .offset = LINK (technology), .help = "family" },
  { .key = "links",
    .type = OPTION_STRING,
    .offset = LINK (links),
    .optional = TRUE,
    .help = "linked pairs of a graph, as in '0-1:2 0-2'" },
  { .key = "gpu_direct",
    .type = OPTION_BOOL,
    .offset = LINK (gpu_direct),
    .fallback = "false",
    .help = "the card reads GPU memory" },
  { .key = "over_sockets",
    .type = OPTION_STRING,
    .offset = LINK (over_sockets),
    .optional = TRUE,
    .help = "the profile that stands for the card where the library drives it through sockets" },
  { .key = "older_gpus",
    .type = OPTION_STRING,
    .offset = LINK (older_gpus),
    .optional = TRUE,
    .help = "architectures of GPUs beside which 'beside_older' stands for the card" },
  { .key = "beside_older",
    .type = OPTION_STRING,
    .offset = LINK (beside_older),
    .optional = TRUE,
    .help = "the profile that stands for the card beside 'older_gpus'" },
  { .key = "older_library",
    .type = OPTION_STRING,
    .offset = LINK (older_library),
    .optional = TRUE,
    .help = "under releases of the library before this one 'under_older' stands for the card" },
  { .key = "under_older",
    .type = OPTION_STRING,
    .offset = LINK (under_older),
    .optional = TRUE,
    .help = "the profile that stands for the card under releases before 'older_library'" },
  { .key = "under_older_gpus",
    .type = OPTION_STRING,
    .offset = LINK (under_older_gpus),
    .optional = TRUE,
    .help = "architectures of GPUs beside which 'under_older' does; absent = all" },
  { .key = "serial_exchange",
    .type = OPTION_BOOL,
    .offset = LINK (serial_exchange),
    .fallback = "false",
    .help = "two plain hosts that send each other messages do so one after the other" },
  { 0 },
};

static const OptionSpec link_routing = { .key = "routing",
                                         .type = OPTION_ENUM,
                                         .choices = link_routings,
                                         .offset = LINK (routing) };

static const OptionSpec link_protocol = { .key = "protocols",
                                          .type = OPTION_ENUM,
                                          .choices = link_protocols,
                                          .offset = LINK (protocols) };

static const OptionSpec link_pxn = { .key = "pxn",
                                     .type = OPTION_ENUM,
                                     .choices = link_pxns,
                                     .offset = LINK (pxn) };

static const OptionSpec link_multicast = { .key = "nvls",
                                           .type = OPTION_ENUM,
                                           .choices = link_nvls,
                                           .offset = LINK (nvls) };

static const FactSpec link_facts[] = {
  { "routing", LINK (routing_fact), &link_routing },
  { "protocols", LINK (protocols_fact), &link_protocol },
  { "pxn", LINK (pxn_fact), &link_pxn },
  { "nvls", LINK (nvls_fact), &link_multicast },
  { 0 },
};

static const FigureSpec link_figures[] = {
  { "bandwidth", QUANTITY_BANDWIDTH, LINK (bandwidth), 0, 1e5, 1e13 }, /* required but for 'none' */
  { "efficiency", QUANTITY_RATIO, LINK (efficiency), 1, 0.01, 1 },
  { "packet_payload", QUANTITY_BYTES, LINK (packet_payload), 0, 1, 1e6 },
  { "packet_overhead", QUANTITY_BYTES, LINK (packet_overhead), 0, 1, 1e6 },
  { "library_share", QUANTITY_RATIO, LINK (library_share), 1, 0.01, 1 },
  { "latency", QUANTITY_TIME, LINK (latency), 0, 0, 10 },
  { "hop_ll", QUANTITY_TIME, LINK (hop_ll), 0, 0, 1 },
  { "hop_ll128", QUANTITY_TIME, LINK (hop_ll128), 0, 0, 1 },
  { "hop_simple", QUANTITY_TIME, LINK (hop_simple), 0, 0, 1 },
  { "inside_start_ll", QUANTITY_TIME, LINK (inside_start_ll), 0, 0, 1 },
  { "inside_hop_ll", QUANTITY_TIME, LINK (inside_hop_ll), 0, 0, 1 },
  { "inside_ll_rate", QUANTITY_BANDWIDTH, LINK (inside_ll_rate), 0, 1e6, 1e13 },
  { "post_ll", QUANTITY_TIME, LINK (post_ll), 0, 0, 1 },
  { "post_ll128", QUANTITY_TIME, LINK (post_ll128), 0, 0, 1 },
  { "ll_rate", QUANTITY_BANDWIDTH, LINK (ll_rate), 0, 1e6, 1e13 },
  { "ll128_rate", QUANTITY_BANDWIDTH, LINK (ll128_rate), 0, 1e6, 1e13 },
  { "channel_rate", QUANTITY_BANDWIDTH, LINK (channel_rate), 0, 1e6, 1e13 },
  { "p2p_rate", QUANTITY_BANDWIDTH, LINK (p2p_rate), 0, 1e6, 1e13 },
  { "sharp_efficiency", QUANTITY_RATIO, LINK (sharp_efficiency), 0, 0.01, 1 },
  { "p2p_chunk", QUANTITY_BYTES, LINK (p2p_chunk), 0, 1024, 1e9 },
  { "buffsize", QUANTITY_BYTES, LINK (buffsize), 0, 1 << 16, 1e9 },
  { "reported_latency", QUANTITY_TIME, LINK (reported_latency), 0, 0, 1e-2 },
  { "peer_latency", QUANTITY_TIME, LINK (peer_latency), 0, 0, 1 },
  { "staged_rate", QUANTITY_BANDWIDTH, LINK (staged_rate), 0, 1e6, 1e13 },
  { "sockets", QUANTITY_COUNT, LINK (sockets), 0, 1, 64 },
  { "duplex_efficiency", QUANTITY_RATIO, LINK (duplex_efficiency), 0, 0.1, 1 },
  { "eager_limit", QUANTITY_BYTES, LINK (eager_limit), 0, 0, 1e12 },
  { "queue", QUANTITY_BYTES, LINK (queue), 0, 0, 1e9 },
  { "unaligned_slowdown", QUANTITY_RATIO, LINK (unaligned_slowdown), 0, 1, 100 },
  { "nvls_latency", QUANTITY_TIME, LINK (nvls_latency), 0, 0, 1 },
  { "nvls_efficiency", QUANTITY_RATIO, LINK (nvls_efficiency), 0, 0.01, 2 },
  { "launch", QUANTITY_TIME, LINK (launch), 0, 0, 1 },
  { 0 },
};

/* Without GPUs, a link or cards of its own, a node profile serves clusters given by parts. */
static const OptionSpec node_scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = NODE (title), .help = "what it is" },
  { .key = "gpu", .type = OPTION_STRING, .offset = NODE (gpu), .optional = TRUE, .help = "GPU id" },
  { .key = "intra",
    .type = OPTION_STRING,
    .offset = NODE (intra),
    .optional = TRUE,
    .help = "link id" },
  { .key = "nic",
    .type = OPTION_STRING,
    .offset = NODE (nic),
    .optional = TRUE,
    .help = "card id" },
  { .key = "gpu_direct_level",
    .type = OPTION_ENUM,
    .choices = gpu_direct_levels,
    .offset = NODE (gpu_direct_level),
    .fallback = "pxb",
    .help = "the farthest cards that read GPU memory" },
  { 0 },
};

static const FigureSpec node_figures[] = {
  { "gpus", QUANTITY_COUNT, NODE (gpus), REQUIRED, 1, 1024 },
  { "nics", QUANTITY_COUNT, NODE (nics), REQUIRED, 0, 256 },
  { "sockets", QUANTITY_COUNT, NODE (sockets), REQUIRED, 1, 64 },
  { "pcie_switches", QUANTITY_COUNT, NODE (pcie_switches), REQUIRED, 0, 256 },
  { "pcie_upper", QUANTITY_COUNT, NODE (pcie_upper), 0, 0, 256 },
  { "pcie_uplink", QUANTITY_BANDWIDTH, NODE (pcie_uplink), 0, 1e9, 1e13 },
  { "socket_link", QUANTITY_BANDWIDTH, NODE (socket_link), 0, 1e9, 1e13 },
  { "host_bridge_rate", QUANTITY_BANDWIDTH, NODE (host_bridge_rate), 0, 1e8, 1e13 },
  { "dram_bandwidth", QUANTITY_BANDWIDTH, NODE (dram_bandwidth), REQUIRED, 1e9, 1e13 },
  { "dram_bytes", QUANTITY_BYTES, NODE (dram_bytes), REQUIRED, 1e9, 1e15 },
  { "cores", QUANTITY_COUNT, NODE (cores), REQUIRED, 1, 65536 },
  { "cpu_adam_rate", QUANTITY_COUNT, NODE (cpu_adam_rate), 0, 1e6, 1e13 },
  { "nvme_read", QUANTITY_BANDWIDTH, NODE (nvme_read), 0, 1e7, 1e13 },
  { "nvme_write", QUANTITY_BANDWIDTH, NODE (nvme_write), 0, 1e7, 1e13 },
  { "nvme_bytes", QUANTITY_BYTES, NODE (nvme_bytes), 0, 1e9, 1e16 },
  { "issue_eager", QUANTITY_TIME, NODE (issue_eager), REQUIRED, 1e-7, 1e-2 },
  { "issue_compiled", QUANTITY_TIME, NODE (issue_compiled), REQUIRED, 1e-7, 1e-2 },
  { "issue_collective", QUANTITY_TIME, NODE (issue_collective), REQUIRED, 1e-7, 1e-2 },
  { "issue_hook", QUANTITY_TIME, NODE (issue_hook), REQUIRED, 1e-7, 1e-2 },
  { 0 },
};

static const ListSpec node_lists[] = {
  { "gpu_switch", NODE (gpu_switch) },
  { "nic_switch", NODE (nic_switch) },
  { "gpu_socket", NODE (gpu_socket) },
  { "nic_socket", NODE (nic_socket) },
  { "switch_socket", NODE (switch_socket) },
  { "switch_upper", NODE (switch_upper) },
  { 0 },
};

const char *
link_kind_name (LinkKind kind)
{
  return link_kinds[kind];
}

const char *
gpu_direct_level_name (gint level)
{
  return gpu_direct_levels[level];
}

/* ---- what a table cannot say ----------------------------------------------------------------- */

static const SourceMark *
mark_of (const ConfigNode *root, const char *key)
{
  const ConfigNode *node = config_node_get (root, key);
  return config_node_mark (node != NULL ? node : root);
}

static void
peer_check (GpuProfile *gpu, const ConfigNode *root, DiagList *diags)
{
  const char *text = gpu->peer_access.value;
  if (text == NULL)
    return;
  gpu->peer = strcmp (text, "true") == 0 ? PEER_YES : PEER_NO;
  if (gpu->peer == PEER_NO && strcmp (text, "false") != 0)
    diag_error (diags, mark_of (root, "peer_access"), "valid values: true, false",
                "'%s' does not say whether there is peer access", text);
}

/*
 * What KEY says is of the profile's own file, or of one that it is laid over: not of a model that
 * it extends.
 */
static gboolean
is_own (const ConfigNode *root, const char *key)
{
  const char      *other = mark_of (root, key)->file, *file = config_node_mark (root)->file;
  g_autofree char *own = file != NULL ? g_path_get_basename (file) : NULL;
  g_autofree char *base = other != NULL ? g_path_get_basename (other) : NULL;

  return g_strcmp0 (own, base) == 0;
}

/* The names by which files of other programs show this model; those of the extended one are its. */
static void
names_check (GpuProfile *gpu, const ConfigNode *root, DiagList *diags)
{
  g_auto (GStrv) words = NULL;

  if (!is_own (root, "pci_ids"))
    g_clear_pointer (&gpu->pci_ids, g_free);
  if (!is_own (root, "usual"))
    gpu->usual = FALSE;
  words = g_strsplit (gpu->pci_ids != NULL ? gpu->pci_ids : "", " ", -1);
  for (guint i = 0; words[i] != NULL; i++)
    if (gpu->pci_ids != NULL && !g_regex_match_simple ("^[0-9a-f]{4}:[0-9a-f]{4}$", words[i], 0, 0))
      diag_error (diags, mark_of (root, "pci_ids"),
                  "write vendor and device with four digits each, as in '10de:2330 10de:2331'",
                  "'%s' is no PCI id", words[i]);
}

static void
gpu_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  GpuProfile *gpu = profile;
  names_check (gpu, root, diags);
  if (gpu->architecture != NULL && !g_strv_contains (profile_architectures, gpu->architecture))
    {
      g_autofree char *hint = suggest_hint (gpu->architecture, profile_architectures);
      diag_error (diags, mark_of (root, "architecture"), hint, "unknown architecture '%s'",
                  gpu->architecture);
    }
  peer_check (gpu, root, diags);
  if (gpu->links.value != NULL)
    gpu_links_parse (&gpu->own_links, gpu->links.value, mark_of (root, "links"), diags);
  if (gpu->mfu_base.value == 0) /* not given: MFU is quoted on the datasheet's rate */
    {
      g_free (gpu->mfu_base.source);
      gpu->mfu_base = gpu->matmul_16bit;
      gpu->mfu_base.source = g_strdup (gpu->matmul_16bit.source);
    }
}

/* A measured efficiency stands; without one it follows from the packets. */
static void
derive_efficiency (LinkProfile *link, const ConfigNode *root, DiagList *diags)
{
  const double payload = link->packet_payload.value, overhead = link->packet_overhead.value;
  const double share = payload / (payload + overhead);
  Figure      *figure = &link->efficiency;

  if (config_node_get (root, "efficiency") != NULL)
    return;
  if (payload <= 0 || overhead <= 0)
    {
      if (config_node_get (root, "packet_payload") == NULL
          || config_node_get (root, "packet_overhead") == NULL) /* else they are the mistake */
        diag_error (diags, config_node_mark (root),
                    "write what was measured, or 'packet_payload' and 'packet_overhead' of a "
                    "network, from which it follows",
                    "missing 'efficiency'");
      return;
    }
  figure->value = share * link->library_share.value;
  figure->low = share * link->library_share.low;
  figure->high = share * link->library_share.high;
  figure->confidence = CONFIDENCE_ESTIMATE;
  figure->source = g_strdup_printf ("not measured: library_share of %g x %g bytes of data in %g on "
                                    "the line, by the packet figures",
                                    link->library_share.value, payload, payload + overhead);
}

static void
link_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *kind = config_node_get (root, "kind");
  LinkProfile      *link = profile;
  if (link->kind == LINK_GRAPH && link->links == NULL)
    diag_error (diags, config_node_mark (root),
                "write links: \"0-1:2 0-2\", pairs of GPUs and their links",
                "a graph without 'links'");
  else if (link->kind != LINK_GRAPH && link->links != NULL)
    diag_error (diags, mark_of (root, "links"), "they are of the kind 'graph'",
                "'links' means nothing to this kind");
  else if (link->links != NULL)
    link_graph_parse (&link->graph, link->links, mark_of (root, "links"), diags);
  if (link->older_library != NULL && !version_is_valid (link->older_library))
    diag_error (diags, mark_of (root, "older_library"), "numbers and dots, such as \"2.18.5\"",
                "'%s' is no version", link->older_library);
  if ((link->older_library != NULL) != (link->under_older != NULL))
    diag_error (diags,
                mark_of (root, link->older_library != NULL ? "older_library" : "under_older"), NULL,
                "'older_library' and 'under_older' belong together");
  if (kind != NULL && g_strcmp0 (config_node_text (kind), link_kinds[LINK_NONE]) == 0)
    return;
  if (config_node_get (root, "bandwidth") == NULL)
    diag_error (diags, config_node_mark (root), NULL, "missing 'bandwidth'");
  derive_efficiency (profile, root, diags);
}

/* A part that is named by its file, "../link/box-links.yaml", is found from the node's. */
static void
find_part (char **part, const char *key, const ConfigNode *root)
{
  const char      *file = mark_of (root, key)->file;
  g_autofree char *folder = file != NULL ? g_path_get_dirname (file) : NULL;
  g_autofree char *own = *part;

  *part =
      own != NULL && folder != NULL && g_str_has_suffix (own, ".yaml") && !g_path_is_absolute (own)
          ? g_build_filename (folder, own, NULL)
          : g_steal_pointer (&own);
}

static void
node_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  NodeProfile *node = profile;
  find_part (&node->gpu, "gpu", root);
  find_part (&node->intra, "intra", root);
  find_part (&node->nic, "nic", root);
  if (node->pcie_switches.value > 0 && node->pcie_uplink.value <= 0)
    diag_error (diags, mark_of (root, "pcie_switches"),
                "give 'pcie_uplink', what one switch carries to its socket",
                "PCIe switches without 'pcie_uplink'");
  if (node->pcie_upper.value > node->pcie_switches.value)
    diag_error (diags, mark_of (root, "pcie_upper"),
                "they join switches, so there are fewer of them",
                "%g upper switches over %g 'pcie_switches'", node->pcie_upper.value,
                node->pcie_switches.value);
  if (node->sockets.value > 1 && node->socket_link.value <= 0)
    diag_error (diags, mark_of (root, "sockets"),
                "give 'socket_link', what one socket sends to another",
                "several sockets without 'socket_link'");
  if ((node->nvme_read.value > 0) != (node->nvme_write.value > 0)
      || (node->nvme_read.value > 0) != (node->nvme_bytes.value > 0))
    diag_error (diags, config_node_mark (root), NULL,
                "'nvme_read', 'nvme_write' and 'nvme_bytes' belong together");
  placement_check (node, root, diags);
}

const char *
node_profile_placement (const NodeProfile *node, guint i, const GArray **list)
{
  const ListSpec *spec = &node_lists[i];
  if (spec->key != NULL)
    *list = G_STRUCT_MEMBER (GArray *, node, spec->offset);
  return spec->key;
}

const char *
profile_fact_at (const FactSpec *facts, gconstpointer profile, guint i, const Fact **fact)
{
  if (facts[i].key != NULL)
    *fact = G_STRUCT_MEMBER_P (profile, facts[i].offset);
  return facts[i].key;
}

const char *
gpu_profile_fact (const GpuProfile *gpu, guint i, const Fact **fact)
{
  return profile_fact_at (gpu_facts, gpu, i, fact);
}

const char *
link_profile_fact (const LinkProfile *link, guint i, const Fact **fact)
{
  return profile_fact_at (link_facts, link, i, fact);
}

/* Of which there is not a little more or less, all else being the same. */
static const char *const gpu_shapes[] = { "sms", "tile_m", "tile_n", NULL };
static const char *const link_shapes[] = { "sockets", NULL };
static const char *const node_shapes[] = { "gpus",          "nics",       "sockets",
                                           "pcie_switches", "pcie_upper", NULL };

/* ---- kinds ----------------------------------------------------------------------------------- */

static const TableSpec gpu_table = { "matmul", offsetof (GpuProfile, matmul_curve),
                                     offsetof (GpuProfile, measured_on), matmul_curve_load };

static const ProfileKind gpu_kind = { .name = "gpu",
                                      .size = sizeof (GpuProfile),
                                      .scalars = gpu_scalars,
                                      .figures = gpu_figures,
                                      .check = gpu_check,
                                      .table = &gpu_table,
                                      .facts = gpu_facts,
                                      .shapes = gpu_shapes };
static const ProfileKind link_kind = { .name = "link",
                                       .size = sizeof (LinkProfile),
                                       .scalars = link_scalars,
                                       .figures = link_figures,
                                       .check = link_check,
                                       .facts = link_facts,
                                       .shapes = link_shapes };
static const ProfileKind node_kind = { .name = "node",
                                       .size = sizeof (NodeProfile),
                                       .scalars = node_scalars,
                                       .figures = node_figures,
                                       .lists = node_lists,
                                       .check = node_check,
                                       .shapes = node_shapes };

const ProfileKind *const profile_kinds[] = { &gpu_kind,
                                             &link_kind,
                                             &node_kind,
                                             &framework_profile_kind,
                                             &library_profile_kind,
                                             &kernel_release_kind,
                                             &tuner_profile_kind,
                                             NULL };

/* Clusters have a loader of their own. */
const char *const profile_kind_names[] = { "gpu",     "link",  "node",    "framework", "library",
                                           "kernels", "tuner", "cluster", NULL };

const ProfileKind *
profile_kind_find (const char *name)
{
  for (guint i = 0; profile_kinds[i] != NULL; i++)
    if (strcmp (profile_kinds[i]->name, name) == 0)
      return profile_kinds[i];
  return NULL;
}

gboolean
profile_words_have (const char *words, const char *word)
{
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", " ", -1);

  return word != NULL && g_strv_contains ((const char *const *) split, word);
}
