#include "model/mesh/parallel.h"

#define FIELD(member) G_STRUCT_OFFSET (MeshOptions, member)

#define MESH_AXIS(axis, text)                                                            \
  {                                                                                      \
    .key = #axis, .type = OPTION_INT, .offset = FIELD (axis), .fallback = "1", .min = 1, \
    .max = 1 << 20, .help = text                                                         \
  }

static const char *const pipeline_choices[] = { "auto",        "gpipe",    "1f1b",
                                                "interleaved", "zb-h1",    "zb-h2",
                                                "zbv",         "dualpipe", NULL };
static const char *const dispatch_choices[] = { "nccl", "two-level", "deepep", NULL };
static const char *const dispatch_dtype_choices[] = { "auto", "fp8", NULL };
static const char *const p2p_choices[] = { "batched-sync", "batched", "direct", NULL };
static const char *const async_choices[] = { "slices", "userbuffers", NULL };
static const char *const cut_choices[] = { "even", "cost", NULL };
static const char *const context_choices[] = { "ring", "all-gather", "ulysses", "usp", NULL };

const OptionSpec mesh_options[MESH_N_OPTIONS + 1] = {
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = FIELD (shard),
    .optional = TRUE,
    .help = "group that parameters are sharded over: all, node, or a number of ranks; unset: the "
            "strategy's own" },
  MESH_AXIS (tp, "tensor-parallel ranks"),
  { .key = "tp_rows",
    .type = OPTION_INT,
    .offset = FIELD (tp_rows),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .help = "rows of tensor-parallel ranks, of which 'tp' is the columns: they divide the residual "
            "stream",
    .source = "arXiv:2502.08145 (AxoNN)" },
  { .key = "sp",
    .type = OPTION_INT,
    .offset = FIELD (sp),
    .fallback = "0",
    .min = 0,
    .max = 1,
    .needs = "tp > 1",
    .help = "sequence parallelism of the tensor group: 0 or 1" },
  MESH_AXIS (pp, "pipeline stages"),
  MESH_AXIS (cp, "context-parallel ranks"),
  { .key = "vp",
    .type = OPTION_INT,
    .offset = FIELD (vp),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .needs = "pp > 1",
    .help = "virtual pipeline chunks a stage" },
  MESH_AXIS (ep, "expert-parallel ranks"),
  { .key = "etp",
    .type = OPTION_INT,
    .offset = FIELD (etp),
    .fallback = "0",
    .min = 0,
    .max = 1 << 20,
    .needs = "experts",
    .help =
        "tensor-parallel ranks of routed experts, which with 'ep' fold tensor, context and data "
        "ranks; 0: as many as 'tp'",
    .source = "arXiv:2504.14960; Megatron-LM, --expert-tensor-parallel-size" },
  { .key = "pipeline",
    .type = OPTION_ENUM,
    .choices = pipeline_choices,
    .offset = FIELD (pipeline),
    .fallback = "auto",
    .needs = "pp > 1",
    .help = "pipeline schedule; auto: interleaved where vp > 1, else 1f1b",
    .source = "arXiv:2104.04473, arXiv:2401.10241, arXiv:2412.19437" },
  { .key = "micro_batch_group",
    .type = OPTION_INT,
    .offset = FIELD (micro_batch_group),
    .fallback = "0",
    .min = 0,
    .max = 1 << 20,
    .needs = "an interleaved pipeline",
    .help = "micro-batches that an interleaved pipeline takes through a chunk before the next "
            "chunk's turn; 0: as many as stages",
    .source = "arXiv:2407.21783, 3.3.2 (N); Megatron-LM, "
              "--microbatch-group-size-per-virtual-pipeline-stage" },
  { .key = "context",
    .type = OPTION_ENUM,
    .choices = context_choices,
    .offset = FIELD (context),
    .fallback = "ring",
    .needs = "cp > 1",
    .help = "how context-parallel ranks get each other's keys and values: they travel round, are "
            "gathered, or each rank gets all tokens of some heads (ulysses), among neighbours that "
            "form a ring (usp)",
    .source = "arXiv:2310.01889, arXiv:2309.14509, arXiv:2405.07719" },
  { .key = "ulysses",
    .type = OPTION_INT,
    .offset = FIELD (ulysses),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .needs = "context: usp",
    .help = "neighbouring context ranks that divide the heads; rings go over every such rank",
    .source = "arXiv:2405.07719" },
  { .key = "ring_proxies",
    .type = OPTION_INT,
    .offset = FIELD (ring_proxies),
    .fallback = "1",
    .min = 1,
    .max = 64,
    .needs = "context: ring|usp",
    .help =
        "GPUs of a node over whose cards a ring's block of keys and values goes to another node, "
        "a part each; 1: over the sender's own",
    .source = "arXiv:2509.21841, routing layer" },
  { .key = "capacity_factor",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = FIELD (capacity_factor),
    .fallback = "0",
    .min = 0.001,
    .max = 1 << 20,
    .or_zero = TRUE,
    .needs = "experts",
    .help = "tokens that an expert takes over its balanced share; 0: all that are routed to it" },
  { .key = "pad_to_capacity",
    .type = OPTION_BOOL,
    .offset = FIELD (pad_to_capacity),
    .fallback = "false",
    .needs = "capacity_factor > 0",
    .help = "each expert's rows are padded to its capacity: the host does not wait for their "
            "numbers",
    .source = "Megatron-LM, --moe-pad-expert-input-to-capacity" },
  { .key = "routing_skew",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = FIELD (routing_skew),
    .fallback = "1",
    .min = 1,
    .max = 1 << 20,
    .needs = "ep > 1",
    .help = "tokens of the fullest expert-parallel rank over the mean" },
  { .key = "dispatch",
    .type = OPTION_ENUM,
    .choices = dispatch_choices,
    .offset = FIELD (dispatch),
    .fallback = "nccl",
    .needs = "ep > 1",
    .help = "how tokens reach their experts: NCCL's all-to-all, once for each expert; once a "
            "node, then over NVLink once a GPU; or so in fp8 to the experts (DeepEP)",
    .source = "arXiv:2412.19437, 3.2.2" },
  { .key = "dispatch_dtype",
    .type = OPTION_ENUM,
    .choices = dispatch_dtype_choices,
    .offset = FIELD (dispatch_dtype),
    .fallback = "auto",
    .needs = "dispatch: two-level",
    .help = "what a two-level dispatch sends: as activations are, or fp8 with a scale for 128 "
            "elements; results come back as activations are",
    .source = "arXiv:2412.19437, 3.3.2" },
  { .key = "nodes_per_token",
    .type = OPTION_INT,
    .offset = FIELD (nodes_per_token),
    .fallback = "0",
    .min = 0,
    .max = 1 << 20,
    .needs = "dispatch: two-level|deepep",
    .help = "nodes that the experts of a token lie on at most, of a two-level dispatch; 0: any",
    .source = "arXiv:2412.19437, 2.1.2" },
  { .key = "dispatch_sms",
    .type = OPTION_INT,
    .offset = FIELD (dispatch_sms),
    .fallback = "20",
    .min = 1,
    .max = 1024,
    .needs = "dispatch: two-level|deepep",
    .help = "SMs that a two-level dispatch or return holds on each GPU while it runs",
    .source = "arXiv:2412.19437, 3.2.2" },
  { .key = "p2p",
    .type = OPTION_ENUM,
    .choices = p2p_choices,
    .offset = FIELD (p2p),
    .fallback = "batched-sync",
    .needs = "pp > 1, pipeline: auto|gpipe|1f1b|interleaved",
    .help = "messages between pipeline stages: group calls that the host waits for, or only the "
            "device, or each on a stream of its own",
    .source = "Megatron-LM, core/pipeline_parallel/p2p_communication.py (batch_p2p_sync)" },
  { .key = "scatter_gather",
    .type = OPTION_BOOL,
    .offset = FIELD (scatter_gather),
    .fallback = "false",
    .needs = "pp > 1, tp > 1, no sp",
    .help = "each tensor-parallel rank sends its part of an activation to the next stage, which "
            "gathers it",
    .source = "arXiv:2104.04473, 4.1" },
  { .key = "deallocate_pipeline_outputs",
    .type = OPTION_BOOL,
    .offset = FIELD (deallocate_pipeline_outputs),
    .fallback = "true",
    .needs = "pp > 1",
    .help = "a stage frees what it handed on when it has been sent; false: when its backward pass "
            "is over",
    .source = "Megatron-LM, core/pipeline_parallel/schedules.py (deallocate_output_tensor)" },
  { .key = "order",
    .type = OPTION_STRING,
    .offset = FIELD (order),
    .fallback = "tp-cp-dp-pp",
    .needs = "two axes of ranks",
    .help =
        "how ranks count the axes tp, tp_rows, cp, ep, dp and pp, the first fastest; tp-cp-pp-dp: "
        "stages next to each other",
    .source = "Megatron-LM, core/parallel_state.py (RankGenerator) and --use-tp-pp-dp-mapping" },
  { .key = "cut",
    .type = OPTION_ENUM,
    .choices = cut_choices,
    .offset = FIELD (cut),
    .fallback = "even",
    .needs = "pp > 1",
    .help = "what chunks of a pipeline have equal shares of: blocks, or the cost of the products "
            "of blocks and head",
    .source = "nanotron, models/base.py (build_model)" },
  { .key = "layers",
    .type = OPTION_STRING,
    .offset = FIELD (layers),
    .optional = TRUE,
    .needs = "pp > 1",
    .help = "blocks of each chunk of a pipeline in the model's order, as in '7, 14 x 8, 7'; the "
            "first and the last may have 0; unset: by 'cut'",
    .source = "Megatron-LM, --pipeline-model-parallel-layout and "
              "--decoder-first-pipeline-num-layers" },
  { .key = "async_tp",
    .type = OPTION_BOOL,
    .offset = FIELD (async_tp),
    .fallback = "false",
    .needs = "tensor ranks",
    .help = "collectives of the tensor group overlap concurrent products" },
  { .key = "async_tp_by",
    .type = OPTION_ENUM,
    .choices = async_choices,
    .offset = FIELD (async_tp_by),
    .fallback = "slices",
    .needs = "async_tp: true",
    .help = "how: collectives of the library concurrent with slices of products, or Transformer "
            "Engine's userbuffers, whose gathers hold no SMs",
    .source = "NVIDIA/TransformerEngine, transformer_engine/common/comm_gemm_overlap" },
  { .key = "moe_overlap",
    .type = OPTION_BOOL,
    .offset = FIELD (moe_overlap),
    .fallback = "false",
    .needs = "an interleaved pipeline, ep > 1",
    .help = "an interleaved pipeline runs a forward and a backward pass side by side: either "
            "computes while tokens of the other travel to experts and back",
    .source = "Megatron-LM, --overlap-moe-expert-parallel-comm" },
  { .key = "shared_expert_overlap",
    .type = OPTION_BOOL,
    .offset = FIELD (shared_expert_overlap),
    .fallback = "false",
    .needs = "shared experts, ep > 1",
    .help = "shared experts run while tokens travel to routed experts and back",
    .source = "Megatron-LM, --moe-shared-expert-overlap" },
  { 0 },
};

PipelineKind
mesh_pipeline (const MeshOptions *mesh)
{
  if (mesh->pp <= 1)
    return PIPELINE_1F1B;
  if (mesh->pipeline != PIPELINE_AUTO)
    return (PipelineKind) mesh->pipeline;
  return mesh->vp > 1 ? PIPELINE_INTERLEAVED : PIPELINE_1F1B;
}

guint
mesh_chunks (const MeshOptions *mesh)
{
  switch (mesh_pipeline (mesh))
    {
    case PIPELINE_INTERLEAVED:
      return (guint) MAX (mesh->vp, 1);
    case PIPELINE_ZBV:
    case PIPELINE_DUALPIPE:
      return 2;
    default:
      return 1;
    }
}

guint
mesh_model_chunks (const MeshOptions *mesh)
{
  guint stages = (guint) MAX (mesh->pp, 1);

  return mesh_pipeline (mesh) == PIPELINE_DUALPIPE ? stages : stages * mesh_chunks (mesh);
}

gboolean
mesh_ends_meet (const MeshOptions *mesh)
{
  PipelineKind pipeline = mesh_pipeline (mesh);

  return mesh->pp <= 1 || pipeline == PIPELINE_ZBV || pipeline == PIPELINE_DUALPIPE;
}

void
mesh_normalise (MeshOptions *mesh)
{
  gint64 *degrees[] = { &mesh->tp, &mesh->pp, &mesh->cp, &mesh->vp, &mesh->ep, &mesh->tp_rows };

  for (gsize i = 0; i < G_N_ELEMENTS (degrees); i++)
    *degrees[i] = MAX (*degrees[i], 1);
  if (mesh->etp == 0)
    mesh->etp = mesh->tp;
  if (mesh->tp == 1)
    mesh->sp = 0;
  if (mesh_tensor_ranks (mesh) == 1)
    mesh->async_tp = 0;
  if (mesh->ep == 1)
    mesh->dispatch = DISPATCH_NCCL;
  mesh->moe_overlap &= mesh->ep > 1 && mesh_pipeline (mesh) == PIPELINE_INTERLEAVED;
  mesh->shared_expert_overlap &= mesh->ep > 1;
  mesh->pad_to_capacity &= mesh->capacity_factor > 0;
}

gint64
mesh_tensor_ranks (const MeshOptions *mesh)
{
  return MAX (mesh->tp, 1) * MAX (mesh->tp_rows, 1);
}

gint64
mesh_replica (const MeshOptions *mesh)
{
  return mesh_tensor_ranks (mesh) * MAX (mesh->cp, 1) * MAX (mesh->pp, 1);
}

gint64
mesh_context_heads (const MeshOptions *mesh)
{
  if (mesh->context == CONTEXT_ULYSSES)
    return MAX (mesh->cp, 1);
  return mesh->context == CONTEXT_USP && mesh->cp > 1 ? MAX (mesh->ulysses, 1) : 1;
}

gboolean
mesh_context_rings (const MeshOptions *mesh)
{
  return mesh->cp > 1
         && (mesh->context == CONTEXT_RING
             || (mesh->context == CONTEXT_USP && mesh_context_heads (mesh) < mesh->cp));
}

gint64
mesh_expert_owners (const MeshOptions *mesh)
{
  return mesh->whole_experts ? MAX (mesh->tp, 1) : 1;
}

gint64
mesh_expert_slices (const MeshOptions *mesh)
{
  return mesh->whole_experts ? 1 : mesh->etp;
}

gboolean
mesh_folds_experts (const MeshOptions *mesh)
{
  return mesh->etp != 0 && mesh->etp != MAX (mesh->tp, 1);
}

double
mesh_expert_fill (const MeshOptions *mesh)
{
  if (mesh->capacity_factor <= 0)
    return mesh->routing_skew;
  return mesh->pad_to_capacity ? mesh->capacity_factor
                               : MIN (mesh->routing_skew, mesh->capacity_factor);
}

double
mesh_rows_kept (const MeshOptions *mesh)
{
  const double capacity = mesh->capacity_factor, ranks = MAX ((double) mesh->ep, 1);
  const double fullest = MIN (mesh->routing_skew, ranks);
  const double other = ranks > 1 ? (ranks - fullest) / (ranks - 1) : 0;

  if (capacity <= 0)
    return 1;
  return (MIN (fullest, capacity) + (ranks - 1) * MIN (other, capacity)) / ranks;
}

gboolean
mesh_spreads_experts (const MeshOptions *mesh)
{
  return mesh->ep > 1 || mesh_folds_experts (mesh);
}

gboolean
mesh_dispatches_by_node (const MeshOptions *mesh)
{
  return mesh->dispatch != DISPATCH_NCCL;
}

gboolean
mesh_dispatches_fp8 (const MeshOptions *mesh)
{
  return mesh->dispatch_dtype == DISPATCH_DTYPE_FP8 || mesh->dispatch == DISPATCH_DEEPEP;
}

gboolean
mesh_batches_messages (const MeshOptions *mesh)
{
  PipelineKind kind = mesh_pipeline (mesh);

  return mesh->p2p != MESH_P2P_DIRECT
         && (kind == PIPELINE_GPIPE || kind == PIPELINE_1F1B || kind == PIPELINE_INTERLEAVED);
}
