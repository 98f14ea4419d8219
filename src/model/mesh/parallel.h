/*
 * The `mesh` section of a scenario: how ranks are laid out on the axes of parallel training.
 *
 * Unless `order` says otherwise, world ranks count the axes in the order tensor, context, data,
 * pipeline, tensor fastest (Megatron-LM's default and PyTorch's mesh pp, dp, cp, tp): rank = t + tp
 * * (c + cp * (d + dp * p)), dp = world / (tp * cp * pp). Expert groups lie on consecutive data
 * ranks: ep divides dp * cp. Where `etp` is not tp, the experts of a stage have a mesh of their own
 * over all its ranks (arXiv:2504.14960, folding): rank = et + etp * (e + ep * d), so that expert
 * groups span tensor, context and data ranks. A strategy spans the data and context ranks of one
 * (t, p): it sees neither tensor nor pipeline ranks.
 */
#pragma once

#include "base/config/option.h"

typedef enum
{
  PIPELINE_AUTO, /* interleaved where vp > 1, else 1f1b */
  PIPELINE_GPIPE,
  PIPELINE_1F1B,
  PIPELINE_INTERLEAVED,
  PIPELINE_ZB_H1,
  PIPELINE_ZB_H2,
  PIPELINE_ZBV,
  PIPELINE_DUALPIPE,
} PipelineKind;

typedef enum
{
  CONTEXT_RING,       /* keys and values travel round the group, hidden behind attention */
  CONTEXT_ALL_GATHER, /* keys and values are gathered before attention */
  CONTEXT_ULYSSES,    /* all-to-alls: all tokens of a share of the heads (arXiv:2309.14509) */
  CONTEXT_USP, /* that among `ulysses` neighbours, a ring of such groups (arXiv:2405.07719) */
} ContextKind;

/* How the messages of gpipe, 1f1b and interleaved are called; other pipelines are always direct. */
typedef enum
{
  MESH_P2P_BATCHED_SYNC, /* Megatron-LM: messages between two slots in one call that the host waits
                            for */
  MESH_P2P_BATCHED,      /* the same, only the device waits */
  MESH_P2P_DIRECT,       /* each on a stream of its own, while kernels run */
} MeshP2p;

/* Where the model is cut into chunks: model/mesh/stage-cut.h. */
typedef enum
{
  MESH_CUT_EVEN, /* as many blocks each, embedding and head counted as one where that is even */
  MESH_CUT_COST, /* at equal shares of the products of blocks and head (nanotron) */
} MeshCut;

/* Who moves what overlaps products of the tensor group. */
typedef enum
{
  MESH_ASYNC_TP_SLICES,      /* the library, concurrent with products in as many slices as ranks */
  MESH_ASYNC_TP_USERBUFFERS, /* Transformer Engine's userbuffers, with sequence parallelism */
} MeshAsyncTp;

/* How tokens reach the ranks that hold their experts. */
typedef enum
{
  DISPATCH_NCCL,      /* once for each of their experts: an all-to-all of pairs */
  DISPATCH_TWO_LEVEL, /* once a node, inside it once a GPU (vocabulary/dispatch.h) */
  DISPATCH_DEEPEP,    /* the same, in fp8 to the experts: DeepEP as DeepSeek-V3 uses it */
} MeshDispatch;

typedef enum
{
  DISPATCH_DTYPE_AUTO, /* as activations are */
  DISPATCH_DTYPE_FP8,
} MeshDispatchDtype;

typedef struct
{
  char    *shard; /* all, node, or a number of ranks: the group that parameters are sharded over
                     (strategies that shard) */
  gint64   tp, sp, pp, cp, vp, ep; /* sp: 0 or 1; vp: chunks of layers a stage; 0 and 1 mean none */
  gint64   tp_rows; /* ranks of the second tensor axis, which divides the residual stream; 0: 1 */
  gint64   micro_batch_group; /* interleaved: micro-batches in a row through a chunk; 0: pp */
  gint64   etp;               /* tensor-parallel ranks of routed experts; 0: tp */
  gint     pipeline;          /* PipelineKind */
  gint     context;           /* ContextKind */
  gint64   ulysses;           /* CONTEXT_USP: context ranks that divide the heads */
  gint64   ring_proxies;      /* GPUs over whose cards a ring's block goes to another node */
  double   capacity_factor;   /* tokens that an expert takes, over the balanced share; 0: as many as
                               are routed to it */
  gboolean pad_to_capacity; /* fewer are padded to it, so that the host knows the numbers of rows */
  double   routing_skew;    /* tokens of the fullest expert rank over the mean; >= 1 */
  gint     dispatch;        /* MeshDispatch */
  gint     dispatch_dtype;  /* MeshDispatchDtype: of what goes to experts, not of what comes back */
  gint64   nodes_per_token; /* that its experts lie on at most; 0: any number */
  gint64   dispatch_sms;    /* that a two-level exchange holds on each GPU */
  gint     p2p;             /* MeshP2p */
  gboolean scatter_gather;  /* each tensor rank sends its part of an activation to the next stage,
                               which gathers it; not with sp */
  gboolean deallocate_pipeline_outputs; /* what a stage handed on is freed when it has been sent,
                                           else when its backward pass is over */
  char    *order;         /* how world ranks count the axes, the first fastest: mesh-order.h */
  gint     cut;           /* MeshCut */
  char    *layers;        /* blocks of each chunk, stage-cut.h; NULL: by `cut` */
  gboolean async_tp;      /* the tensor group's collectives overlap concurrent products, */
  gint     async_tp_by;   /* MeshAsyncTp */
  gboolean moe_overlap;   /* interleaved: a forward pass runs beside a backward pass, so that either
                           computes while the other dispatches and combines */
  gboolean whole_experts; /* no option, of generation: tensor ranks, which have all tokens, divide
                             experts among them instead of each expert's width */
  gboolean shared_expert_overlap; /* shared experts run while tokens travel to routed ones */
} MeshOptions;

#define MESH_N_OPTIONS 31
extern const OptionSpec mesh_options[MESH_N_OPTIONS + 1];

/*
 * Resolves PIPELINE_AUTO; a single stage has no pipeline, whatever is asked for: 1F1B with one
 * chunk.
 */
PipelineKind mesh_pipeline (const MeshOptions *mesh);

/* Chunks of layers of one stage, and of the whole model (DualPipe: pp, each on two stages). */
guint mesh_chunks (const MeshOptions *mesh);
guint mesh_model_chunks (const MeshOptions *mesh);

/* TRUE when a rank that has the embedding has the head too (one stage, ZBV, DualPipe). */
gboolean mesh_ends_meet (const MeshOptions *mesh);

/* Degrees of 0 become 1, an etp of 0 tp; what has no effect on such degrees is none. */
void mesh_normalise (MeshOptions *mesh);

/* Tensor-parallel ranks of both axes; ranks of a replica of the model. Degrees of 0 count as 1. */
gint64 mesh_tensor_ranks (const MeshOptions *mesh);
gint64 mesh_replica (const MeshOptions *mesh);

/* Context ranks that divide the heads among them: 1, all of them, or `ulysses`. */
gint64 mesh_context_heads (const MeshOptions *mesh);

/* Whether keys and values travel round a ring of context ranks. */
gboolean mesh_context_rings (const MeshOptions *mesh);

/* Tensor ranks that divide experts among them; and those that divide each. One of both is 1. */
gint64 mesh_expert_owners (const MeshOptions *mesh);
gint64 mesh_expert_slices (const MeshOptions *mesh);

/* Whether routed experts are divided over other ranks than attention. */
gboolean mesh_folds_experts (const MeshOptions *mesh);

/*
 * Rows that the fullest expert rank gets, over the balanced share. A mesh has one rank's workload
 * stand for all, so it is the fullest one's.
 */
double mesh_expert_fill (const MeshOptions *mesh);

/*
 * Of the rows that are routed to experts, the share that `capacity_factor` leaves, where one expert
 * rank is fuller by `routing_skew` and the others are alike: 1 without a capacity.
 */
double mesh_rows_kept (const MeshOptions *mesh);

/* Whether a rank shares its routed experts with other ranks than the rest of its layers. */
gboolean mesh_spreads_experts (const MeshOptions *mesh);

/* Whether a token goes once a node; whether it goes to its experts in fp8. */
gboolean mesh_dispatches_by_node (const MeshOptions *mesh);
gboolean mesh_dispatches_fp8 (const MeshOptions *mesh);

/*
 * Whether messages go in group calls between slots: a matter of `p2p`, for the pipelines that have
 * such calls.
 */
gboolean mesh_batches_messages (const MeshOptions *mesh);
