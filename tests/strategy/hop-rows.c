#include "hop-rows.h"

/*
 * DeepSpeed's communicators up to v0.19.2: of all-gathers, of reduce-scatters (a clone of the world
 * group: utils/groups.py), of hpZ's second copy, and of qgZ's all-to-alls inside nodes and across
 * them. FCDP has one of its own for the node.
 */
#define GATHERS    "data"
#define REDUCES    "data, cloned"
#define HPZ        "hpZ"
#define QGZ_NODE   "node"
#define QGZ_ACROSS "across nodes"
#define FCDP_NODE  "node"

/* Every module above the norms comes and goes by itself. */
#define PLAIN "param_persistence_threshold=64,max_reuse_distance=0,prefetch_bucket_size=0"

/* Norms, which are whole on every rank, behind the optimizer (stage3.py, _post_step). */
#define PERSISTENT "all_gather 8: O, " GATHERS ", on compute\n"

#define FSDP2_IN_NODES                              \
  "all_gather 2: F123 B123, shard, on all_gather\n" \
  "reduce_scatter 2: B123, shard, on reduce_scatter\n"
#define DDP_IN_NODES "all_reduce 2: B3, data, on reduce\n"
/* fairscale reduces the flat gradient behind the backward pass. */
#define FLAT_IN_NODES "all_reduce 2: B3, data, on compute\n"

const System hop_rows[] = {
  /*
   * Replicas. The last micro-step's gradients alone (no_sync; gradient_accumulation_boundary);
   * stages 1 and 2 gather what was updated (stage_1_and_2.py, step). HybridZeroOptimizer
   * broadcasts. Stage 2 reduces in each micro-step.
   */
  { "ddp", "", "all_reduce 8: B3, data, on reduce" },
  { "ddp", "overlap_comm=false", "all_reduce 8: B3, data, on compute" },
  { "ddp", "compression=int8-block",
    "all_to_all 2 int8-block: B3, data in a node, on reduce\n"
    "all_to_all 4 every 2 int8-block: B3, data across nodes, on reduce\n"
    "all_gather 4 every 2 int8-block: B3, data across nodes, on reduce\n"
    "all_gather 2 int8-block: B3, data in a node, on reduce" },
  { "zero1", "",
    "all_reduce 8: B3, data, on compute\n"
    "all_gather 8: O, data, on compute" },
  { "zero1", "reduce=reduce_scatter,overlap_comm=true",
    "reduce_scatter 8: B3, data, on reduce\n"
    "all_gather 8: O, data, on compute" },
  { "zero1", "reduce=reduce_scatter,shard=node,overlap_comm=true",
    "reduce_scatter 2: B3, shard, on reduce\n"
    "all_reduce 4 every 2: B3, replica, on reduce\n"
    "all_gather 2: O, shard, on compute" },
  { "zero1", "partition=tensors,shard=node",
    "all_reduce 8: B3, data, on compute\n"
    "broadcast 2: O, shard, on compute" },
  { "zero2", "",
    "reduce_scatter 8: B123, data, on compute\n"
    "all_gather 8: O, data, on compute" },
  { "zero2", "overlap_comm=true,reduce=all_reduce",
    "all_reduce 8: B123, data, on reduce\n"
    "all_gather 8: O, data, on compute" },
  /* From the second micro-step on the host's sum comes back to be added to. */
  { "zero-offload", "overlap_comm=true",
    "reduce_scatter 8: B123, data, on reduce\n"
    "pinned to hbm: B23, on reduce\n"
    "hbm to pinned: B123, on reduce\n"
    "pinned to hbm: O, on compute\n"
    "all_gather 8: O, data, on compute" },

  /* DeepSpeed's coordinator: __allgather_stream, reduce_and_partition_stream (stage3.py). */
  { "zero3", PLAIN,
    "all_gather 8: F123 B123, " GATHERS ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n" PERSISTENT },
  { "zero3", PLAIN ",overlap_comm=false",
    "all_gather 8: F123 B123 O, " GATHERS ", on compute\n"
    "reduce_scatter 8: B123, " REDUCES ", on compute" },
  /* What is recomputed is gathered once for that and its backward pass; no tensor is whole. */
  { "zero3", "variant=paper",
    "all_gather 8: F123 B123, " GATHERS ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce" },
  { "zero-infinity", PLAIN,
    "pinned to hbm: F123 B123, on host_fetch\n"
    "all_gather 8: F123 B123, " GATHERS ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n"
    "pinned to hbm: B23, on reduce\n"
    "hbm to pinned: B123, on reduce\n"
    "pinned to hbm: O, on compute\n" PERSISTENT },
  { "zero-infinity", PLAIN ",offload_optimizer=nvme,offload_param=nvme,pipeline_read=true",
    "nvme to pinned: F123 B123, on nvme_fetch\n"
    "pinned to hbm: F123 B123, on host_fetch\n"
    "all_gather 8: F123 B123, " GATHERS ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n"
    "nvme to pinned: B23, on nvme_gradients\n"
    "pinned to hbm: B23, on reduce\n"
    "hbm to pinned: B123, on reduce\n"
    "pinned to nvme: B123, on nvme_gradients\n"
    "nvme to pinned: O, on nvme_swap_in\n"
    "pinned to nvme: O, on cpu\n"
    "pinned to nvme: O, on compute\n"
    "nvme to pinned: O, on compute\n"
    "pinned to hbm: O, on compute\n" PERSISTENT },
  /* Replicas add up at the boundary alone (mics.py, allreduce_mics_shard_grads). */
  { "mics", PLAIN,
    "all_gather 2: F123 B123, shard, on all_gather\n"
    "reduce_scatter 2: B123, shard, on reduce\n"
    "all_reduce 4 every 2: B3, replica, on reduce\n"
    "all_gather 2: O, shard, on compute" },
  { "mics", PLAIN ",shard=4,mics_hierarchical_params_gather=true",
    "all_gather 2 every 2: F123 B123, nodes of the shard, on all_gather\n"
    "all_gather 2: F123 B123, node, on all_gather\n"
    "reduce_scatter 4: B123, shard, on reduce\n"
    "all_reduce 2 every 4: B3, replica, on reduce\n"
    "all_gather 4: O, shard, on compute" },
  /* All ranks for the first use of a step; then the node's copy. Norms as under zero3. */
  { "zeropp", PLAIN,
    "all_gather 8 int8-block: F1, " GATHERS ", on all_gather\n"
    "hbm to hbm: F1, on compute\n"
    "all_gather 2 int8-block: F23 B123, " HPZ ", on all_gather\n"
    "all_to_all 2 int4-block: B123, " QGZ_NODE ", on reduce\n"
    "all_to_all 4 every 2 int4-block: B123, " QGZ_ACROSS ", on reduce\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n" PERSISTENT },
  { "zeropp", PLAIN ",zero_quantized_weights=false,zero_quantized_gradients=false",
    "all_gather 8: F1, " GATHERS ", on all_gather\n"
    "hbm to hbm: F1, on compute\n"
    "all_gather 2: F23 B123, " HPZ ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n" PERSISTENT },
  { "fcdp", PLAIN,
    "all_gather 8: F1, " GATHERS ", on all_gather\n"
    "hbm to pinned: F1, on host_copy\n"
    "pinned to hbm: F23 B123, on host_copy\n"
    "all_gather 2: F23 B123, " FCDP_NODE ", on all_gather\n"
    "reduce_scatter 8: B123, " REDUCES ", on reduce\n" PERSISTENT },

  /* FSDP1 (_runtime_utils.py, _init_streams and _reduce_grad). */
  { "fsdp1", "",
    "all_gather 8: F123 B123, shard, on unshard\n"
    "reduce_scatter 8: B123, shard, on post_backward" },
  { "fsdp1", "shard=node",
    "all_gather 2: F123 B123, shard, on unshard\n"
    "reduce_scatter 2: B123, shard, on post_backward\n"
    "all_reduce 4 every 2: B123, replica, on all_reduce" },

  /* fully_shard (_fsdp_param_group.py, FSDPCommContext; _fsdp_collectives.py). */
  { "fsdp2", "",
    "all_gather 8: F123 B123, shard, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce_scatter" },
  { "fsdp2", "requires_gradient_sync=false",
    "all_gather 8: F123 B123, shard, on all_gather\n"
    "reduce_scatter 8: B3, shard, on reduce_scatter" },
  { "fsdp2", "cpu_offload=true",
    "pinned to hbm: F123 B123, on copy_in\n"
    "all_gather 8: F123 B123, shard, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce_scatter\n"
    "hbm to pinned: B123, on reduce_scatter" },
  { "fsdp2", "shard=4,reshard_after_forward=2",
    "all_gather 4: F123, shard, on all_gather\n"
    "hbm to hbm: F123, on compute\n"
    "all_gather 2: B123, post_forward, on all_gather\n"
    "reduce_scatter 4: B123, shard, on reduce_scatter\n"
    "all_reduce 2 every 4: B123, replica, on all_reduce" },
  { "hsdp", "", FSDP2_IN_NODES "all_reduce 4 every 2: B123, replica, on all_reduce" },
  { "hsdp", "requires_gradient_sync=false",
    "all_gather 2: F123 B123, shard, on all_gather\n"
    "reduce_scatter 2: B3, shard, on reduce_scatter\n"
    "all_reduce 4 every 2: B3, replica, on all_reduce" },
  { "vescale", "",
    "all_gather 8: F123 B123, shard, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce_scatter" },
  { "vescale", "create_all_gather_group=true",
    "all_gather 8: F123 B123, shard all-gather, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce_scatter" },

  /* Functional collectives: the stream is the communicator's. */
  { "simplefsdp", "",
    "all_gather 8: F123 B123, shard, on collectives\n"
    "reduce_scatter 8: B123, shard, on collectives" },
  { "simplefsdp", "shard=node",
    "all_gather 2: F123 B123, shard, on collectives\n"
    "reduce_scatter 2: B123, shard, on collectives\n"
    "all_reduce 4 every 2: B123, replica, on all_reduce" },

  /* Megatron-FSDP: outer ranks take part in the last micro-step, and in the first one. */
  { "megatron-fsdp", "",
    "all_gather 8: F123 B123, shard, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce" },
  { "megatron-fsdp", "shard=node",
    "all_gather 2: F123 B123, shard, on all_gather\n"
    "reduce_scatter 2: B123, shard, on reduce\n"
    "all_reduce 4 every 2: B3, outer, on outer_reduce" },
  { "megatron-fsdp", "shard=node,outer_dp_sharding_strategy=optim",
    "all_gather 4 every 2: F1 B1, outer, on outer_all_gather\n"
    "all_gather 2: F123 B123, shard, on all_gather\n"
    "reduce_scatter 2: B123, shard, on reduce\n"
    "reduce_scatter 4 every 2: B3, outer, on outer_reduce" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim,create_all_gather_group=true",
    "all_gather 8: F1, shard all-gather, on all_gather\n"
    "reduce_scatter 8: B3, shard, on reduce" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim_grads",
    "all_gather 8: F1, shard, on all_gather\n"
    "reduce_scatter 8: B123, shard, on reduce" },

  /* ZO2 (zo2.py: upload_stream, offload_stream); DistZO2 by its abstract. */
  { "zo2", "",
    "pinned to hbm: F123, on upload\n"
    "hbm to pinned: F123, on offload\n"
    "all_reduce 8: O, replicas, on compute" },
  { "zo2", "overlap=false",
    "pinned to hbm: F123, on compute\n"
    "hbm to pinned: F123, on compute\n"
    "all_reduce 8: O, replicas, on compute" },
  { "distzo2", "perturbation_parallel=true",
    "pinned to hbm: F123, on upload\n"
    "all_gather 2: F123, slices, on exchange\n"
    "hbm to pinned: F123, on offload\n"
    "all_gather 2: O, passes, on compute\n"
    "all_reduce 4 every 2: O, replicas, on compute" },
};

const Nested hop_rows_nested[] = {
  { { "zero3", PLAIN,
      "all_gather 8: F123 R123 B123, " GATHERS ", on all_gather\n"
      "reduce_scatter 8: B123, " REDUCES ", on reduce\n" PERSISTENT },
    .training = "activation_checkpointing=full" },
  /*
   * Workers of a node each: those of one place in their nodes exchange, on a stream that the inner
   * strategy does not know.
   */
  { { "local-sgd", "local_steps=4",
      FSDP2_IN_NODES "all_reduce 4 every 2: X4, workers, on average" },
    .inner = "fsdp2" },
  { { "local-sgd", "local_steps=4,transport=host",
      DDP_IN_NODES "hbm to pinned: X4, on average\n"
                   "all_reduce 4 every 2: X4, workers of hosts, on average\n"
                   "pinned to hbm: X4, on average" },
    .inner = "ddp" },
  { { "co2", "local_steps=4",
      "reduce_scatter 2: B123, data, on compute\n"
      "all_gather 2: O, data, on compute\n"
      "all_reduce 4 every 2: X4, workers, on average" },
    .inner = "zero2" },
  /* Owners of parts sum over all ranks; the release averages nothing in between. */
  { { "co2", "local_steps=4,variant=release",
      FLAT_IN_NODES "reduce 8: X4, workers, on average\n"
                    "broadcast 8: X4, workers, on average" },
    .inner = "ddp" },
  /* The first ranks average every f steps in between. */
  { { "slowmo", "local_steps=6,localsgd_frequency=2",
      FLAT_IN_NODES "all_reduce 4 every 2: X2 X4, leaders, on average\n"
                    "broadcast 2: X2 X4, worker, on average\n"
                    "reduce 8: X6, workers, on average\n"
                    "broadcast 8: X6, workers, on average" },
    .inner = "ddp",
    .others = FLAT_IN_NODES "broadcast 2: X2 X4, worker, on average\n"
                            "reduce 8: X6, workers, on average\n"
                            "broadcast 8: X6, workers, on average" },
  { { "diloco", "local_steps=4", FSDP2_IN_NODES "all_reduce 4 every 2: X4, workers, on average" },
    .inner = "fsdp2" },
  /* Parts are decoded and added up between the two (torchft/quantization.py). */
  { { "diloco", "local_steps=4,payload=int8-block",
      FSDP2_IN_NODES "all_to_all 4 every 2 int8-block: X4, workers, on average\n"
                     "all_gather 4 every 2 int8-block: X4, workers, on average" },
    .inner = "fsdp2" },
  { { "eager-diloco", "local_steps=4",
      FSDP2_IN_NODES "all_reduce 4 every 2: X4, workers, on average" },
    .inner = "fsdp2" },
  /* Three fragments, used behind steps 2, 4 and 6, leave a step before. */
  { { "streaming-diloco", "local_steps=6,fragments=3,overlap=1",
      FSDP2_IN_NODES "pinned to hbm: X1 X2 X3 X4 X5 X6, on compute\n"
                     "all_to_all 4 every 2 fp4-e3m0: X1 X3 X5, workers, on average\n"
                     "all_gather 4 every 2 fp4-e3m0: X1 X3 X5, workers, on average\n"
                     "hbm to pinned: X2 X4 X6, on compute" },
    .inner = "fsdp2" },
  { { "streaming-diloco", "local_steps=6,fragments=3,overlap=0",
      FSDP2_IN_NODES "pinned to hbm: X2 X4 X6, on compute\n"
                     "all_to_all 4 every 2 fp4-e3m0: X2 X4 X6, workers, on average\n"
                     "all_gather 4 every 2 fp4-e3m0: X2 X4 X6, workers, on average\n"
                     "hbm to pinned: X2 X4 X6, on compute" },
    .inner = "fsdp2" },
  /*
   * Worker i trains slice i mod 2: workers 0 and 2 (ranks 0 and 4) own the same one, workers 0 and
   * 1 (ranks 0 and 2) have both between them.
   */
  { { "ppu", "local_steps=6,fragments=3,overlap=1",
      DDP_IN_NODES "all_reduce 4 every 2: X1 X3 X5, workers, on average\n"
                   "all_reduce 2 every 4: X1 X3 X5, owners, on average\n"
                   "all_gather 2 every 2: X1 X3 X5, slices, on average" },
    .inner = "ddp",
    .training = "trained_slices=2" },
  /* The first rank of a worker, by its host (hivemind_diloco.py). */
  { { "opendiloco", "local_steps=4",
      DDP_IN_NODES "hbm to pageable: X4, on average\n"
                   "all_reduce 4 every 2: X4, workers of hosts, on average\n"
                   "pageable to hbm: X4, on average\n"
                   "broadcast 2: X4, worker, on average" },
    .inner = "ddp",
    .others = DDP_IN_NODES "broadcast 2: X4, worker, on average" },
  { { "prime", "local_steps=4",
      FSDP2_IN_NODES "hbm to pageable: X4, on average\n"
                     "all_reduce 4 every 2 uint8-ring: X4, workers of hosts, on average\n"
                     "pageable to hbm: X4, on average" },
    .inner = "fsdp2" },
};

const guint hop_rows_n = G_N_ELEMENTS (hop_rows);
const guint hop_rows_nested_n = G_N_ELEMENTS (hop_rows_nested);
