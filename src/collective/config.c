#include "collective/config.h"

#define OPTION(member) G_STRUCT_OFFSET (CollectiveConfig, member)

const OptionSpec collective_options[] = {
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = collective_algorithm_words,
    .offset = OPTION (algorithm),
    .fallback = "auto",
    .help = "auto = NCCL's choice; one that a collective does not have leaves that one to NCCL; "
            "between plain hosts ring, for all-to-all pairwise or linear, for broadcast and reduce "
            "pipeline or ring" },
  { .key = "protocol",
    .type = OPTION_ENUM,
    .choices = collective_protocol_words,
    .offset = OPTION (protocol),
    .fallback = "auto",
    .help = "auto = NCCL's choice; the same for protocols" },
  { .key = "nccl",
    .type = OPTION_STRING,
    .offset = OPTION (nccl),
    .optional = TRUE,
    .help = "version whose tuning tables choose, such as 2.28.9, or an alias in a profile of the "
            "library; unset or unknown = the newest known",
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

gboolean
collective_config_check (const CollectiveConfig *self, ProfileSet *profiles, const SourceMark *mark,
                         DiagList *diags)
{
  g_autoptr (DiagList)  own = diag_list_new (); /* mistakes in profiles are the cluster's to tell */
  g_autoptr (GPtrArray) libraries = profile_set_libraries (profiles, own);

  return libraries == NULL || library_profile_check (libraries, self->nccl, mark, diags);
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
