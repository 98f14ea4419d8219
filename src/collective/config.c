#include "collective/config.h"

static const char *const algorithms[] = {
  "auto",      "ring",           "tree",          "nvls",     "nvls_tree",
  "pat",       "collnet_direct", "collnet_chain", "pairwise", "hierarchical",
  "all_pairs", "linear",         "pipeline",      NULL
};
G_STATIC_ASSERT (G_N_ELEMENTS (algorithms) == ALGORITHM_N + 2);

static const char *const protocols[] = { "auto", "ll", "ll128", "simple", NULL };
G_STATIC_ASSERT (G_N_ELEMENTS (protocols) == PROTOCOL_N + 2);

#define OPTION(member) G_STRUCT_OFFSET (CollectiveConfig, member)

const OptionSpec collective_options[] = {
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = algorithms,
    .offset = OPTION (algorithm),
    .fallback = "auto",
    .help = "auto = NCCL's choice; one that a collective does not have leaves that one to NCCL; "
            "between plain hosts ring, for all-to-all pairwise or linear, for broadcast and reduce "
            "pipeline or ring" },
  { .key = "protocol",
    .type = OPTION_ENUM,
    .choices = protocols,
    .offset = OPTION (protocol),
    .fallback = "auto",
    .help = "auto = NCCL's choice; the same for protocols" },
  { .key = "nccl",
    .type = OPTION_STRING,
    .offset = OPTION (nccl),
    .optional = TRUE,
    .help =
        "version whose tuning tables choose, such as 2.28.9; unset, unknown or RCCL = the newest "
        "known",
    .source = "NVIDIA/nccl src/graph/tuning.cc" },
  { .key = "collnet",
    .type = OPTION_BOOL,
    .offset = OPTION (collnet),
    .fallback = "false",
    .help = "the network's switches reduce (SHARP), and NCCL may use them" },
  { .key = "single_process",
    .type = OPTION_BOOL,
    .offset = OPTION (single_process),
    .fallback = "false",
    .help = "one process drives all GPUs of a node: launches come one after another" },
  { 0 },
};

/* Numbers with a dot between each two. */
static gboolean
is_version (const char *text)
{
  do
    {
      if (!g_ascii_isdigit (*text))
        return FALSE;
      while (g_ascii_isdigit (*text))
        text++;
    }
  while (*text == '.' && *++text != '\0');
  return *text == '\0' && text[-1] != '.';
}

gboolean
collective_config_check (const CollectiveConfig *self, const SourceMark *mark, DiagList *diags)
{
  if (self->nccl == NULL || is_version (self->nccl)
      || g_ascii_strcasecmp (self->nccl, "unknown") == 0
      || g_ascii_strcasecmp (self->nccl, "RCCL") == 0)
    return TRUE;
  diag_error (diags, mark, "its number, such as '2.28.9', or 'unknown' or 'RCCL'",
              "expected a version for 'nccl', got '%s'", self->nccl);
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
  options.collnet = self->collnet;
  options.single_process = self->single_process;
  return options;
}
