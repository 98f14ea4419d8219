#include "predict/columns.h"

#include <math.h>

#include "predict/trace/stages.h"

#define GIB 1073741824.0

/* ---- of a prediction ------------------------------------------------------------------------- */

static const ScenarioSetting *
setting_of (const Column *column, gconstpointer row)
{
  return prediction_setting (row, column->of, column->key);
}

static const char *
setting_text (const Column *column, gconstpointer row)
{
  const ScenarioSetting *setting = setting_of (column, row);

  return setting != NULL ? setting->value : NULL;
}

static double
setting_number (const Column *column, gconstpointer row)
{
  const ScenarioSetting *setting = setting_of (column, row);

  if (setting == NULL)
    return NAN;
  return column->kind == COLUMN_BOOL ? g_str_equal (setting->value, "true")
                                     : (double) g_ascii_strtoll (setting->value, NULL, 10);
}

COLUMN_NUMBER_OF (Prediction, tokens_p10, prediction_tokens_at (p, p->step_band.p90))
COLUMN_NUMBER_OF (Prediction, tokens_p50, prediction_tokens_at (p, p->step_band.p50))
COLUMN_NUMBER_OF (Prediction, tokens_p90, prediction_tokens_at (p, p->step_band.p10))

COLUMN_NUMBER_OF (Prediction, is_tight, prediction_is_tight (p))

/* Marked where it leaves little. */
static char *
show_peak (const Column *column, gconstpointer row)
{
  return g_strdup_printf ("%.1f GiB%s", column_number (column, row),
                          prediction_is_tight (row) ? "!" : "");
}

const Column prediction_columns[] = {
  { "scenario", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, scenario),
    .about = "its name" },
  { "strategy", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, strategy),
    .about = "with its inner ones: `local-sgd over fsdp2`" },
  { "fits", NULL, COLUMN_BOOL, COLUMN_MORE, COLUMN_MEMBER (Prediction, fits),
    .about = "into GPU and host memory" },
  { "step_time_s", "step", COLUMN_TIME, COLUMN_GROWS, COLUMN_MEMBER (Prediction, step_time_s),
    .about = "from one step's end to the next one's" },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, COLUMN_MORE,
    COLUMN_MEMBER (Prediction, tokens_per_s_per_gpu) },
  { "mfu_percent", "MFU", COLUMN_PERCENT, COLUMN_MORE, COLUMN_MEMBER (Prediction, mfu_percent),
    .about =
        "model FLOPs (see `flops_convention`) over the FLOP/s that the GPU's profile quotes; no "
        "recomputation" },
  { "hardware_tflops_per_gpu", NULL, COLUMN_NUMBER, COLUMN_MORE,
    COLUMN_MEMBER (Prediction, hardware_tflops_per_gpu), .unit = "TFLOP/s",
    .about = "model FLOPs and what recomputation executes again, both by `flops_convention`" },
  { "peak_allocated_gib", NULL, COLUMN_GIB, 0, COLUMN_MEMBER (Prediction, hbm.allocated),
    .scale = 1 / GIB,
    .about = "of the fullest GPU: what the framework's allocator has handed out" },
  { "peak_reserved_gib", NULL, COLUMN_GIB, 0, COLUMN_MEMBER (Prediction, hbm.reserved),
    .scale = 1 / GIB, .about = "what it holds from the device" },
  { "peak_device_gib", "peak GPU memory", COLUMN_GIB, 0, COLUMN_MEMBER (Prediction, hbm.device),
    .scale = 1 / GIB, .about = "what the driver reports as used", .show = show_peak },
  { "peak_host_gib", "peak host memory", COLUMN_GIB, COLUMN_IF_ANY,
    COLUMN_MEMBER (Prediction, host.device), .scale = 1 / GIB,
    .about = "of the node with the least head-room: buffers of the strategy in host memory" },
  { "inter_node_bytes_per_gpu", "inter-node/GPU", COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, inter_node_bytes_per_gpu),
    .about = "payload that a GPU sends to other nodes" },
  { "exposed_comm_s", "exposed comm", COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS,
    COLUMN_MEMBER (Prediction, exposed_comm_s),
    .about = "collectives run and the compute stream is idle, on rank 0; on unlike nodes, of the "
             "first rank of each make on the one that waits most" },
  { "binding_resource", "bound by", COLUMN_TEXT, 0, COLUMN_MEMBER (Prediction, binding_resource),
    .about = "what bound the largest part of the critical path: `sm`, `hbm`, `nic.tx`, `channels`, "
             "`latency`, `host` ..." },
  { "model", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, model) },
  { "cluster", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, cluster),
    .about = "what it is made of: `4 nodes x 8 a40-48, nvlink-pairs, 1 ib-edr-100`" },
  { "n_gpus", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (Prediction, n_gpus) },
  { "tokens_per_s", NULL, COLUMN_RATE, COLUMN_MORE, COLUMN_MEMBER (Prediction, tokens_per_s),
    .about = "of all GPUs" },
  { "samples_per_s", NULL, COLUMN_RATE, COLUMN_MORE, COLUMN_MEMBER (Prediction, samples_per_s),
    .about = "sequences, of all GPUs" },
  { "model_tflops_per_gpu", NULL, COLUMN_NUMBER, COLUMN_MORE,
    COLUMN_MEMBER (Prediction, model_tflops_per_gpu), .unit = "TFLOP/s",
    .about = "what `mfu_percent` counts" },
  { "hfu_percent", NULL, COLUMN_PERCENT, COLUMN_MORE, COLUMN_MEMBER (Prediction, hfu_percent),
    .about = "`hardware_tflops_per_gpu` over the same base: never below `mfu_percent`, and equal "
             "without recomputation" },
  { "flops_convention", NULL, COLUMN_TEXT, COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, flops_convention),
    .about = "how a model's FLOPs are counted: `causal` by default, `palm`, `6n` "
             "([models.md](models.md))" },
  { "intra_node_bytes_per_gpu", NULL, COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, intra_node_bytes_per_gpu),
    .about = "payload that a GPU sends inside its node" },
  { "host_link_bytes_per_gpu", NULL, COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, host_link_bytes_per_gpu),
    .about = "copies between GPU and host memory" },
  { "inter_node_bytes_per_nic", NULL, COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, inter_node_bytes_per_nic),
    .about = "what a card sends, mean over the cards" },
  { "hbm_peak_op", NULL, COLUMN_TEXT, 0, COLUMN_MEMBER (Prediction, hbm.peak_op),
    .about = "the allocation that made the peak of GPU memory" },
  { "steady", NULL, COLUMN_BOOL, COLUMN_MORE, COLUMN_MEMBER (Prediction, steady),
    .about = "a period repeated the one before it" },
  { "step_time_low_s", "low", COLUMN_TIME, COLUMN_OPTIONAL | COLUMN_IF_ANY,
    COLUMN_MEMBER (Prediction, step_time_low_s),
    .about =
        "with `--interval`: the least of `step_time_s` and of what all hardware figures at the "
        "good and at the bad end of their ranges give" },
  { "step_time_high_s", "high", COLUMN_TIME, COLUMN_OPTIONAL | COLUMN_IF_ANY,
    COLUMN_MEMBER (Prediction, step_time_high_s), .about = "the most of the three" },
  { "time_compute_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_COMPUTE]),
    .about = "critical path: kernels of the model. These parts add up to `step_time_s`" },
  { "time_optimizer_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_OPTIMIZER]), .about = "the optimizer's kernels" },
  { "time_copy_kernels_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_COPY_KERNELS]), .about = "copies and casts on the GPU" },
  { "time_inter_node_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_INTER_NODE]),
    .about = "collectives and messages that cross nodes" },
  { "time_intra_node_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_INTRA_NODE]), .about = "those inside a node" },
  { "time_host_copies_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_HOST_COPIES]),
    .about = "copies between GPU and host memory" },
  { "time_latency_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_LATENCY]), .about = "start and end of kernels" },
  { "time_host_s", NULL, COLUMN_TIME, COLUMN_GROWS, COLUMN_MEMBER (Prediction, parts[TIME_HOST]),
    .about = "the issuing thread" },
  { "time_memory_s", NULL, COLUMN_TIME, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, parts[TIME_MEMORY]), .about = "blocked in an allocation" },
  { "time_skew_s", NULL, COLUMN_TIME, COLUMN_GROWS, COLUMN_MEMBER (Prediction, parts[TIME_SKEW]),
    .about = "kernels at the pace of the slowest GPU instead of the mean one" },
  { "bubble_s", NULL, COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS,
    COLUMN_MEMBER (Prediction, bubble_s),
    .about = "pipelines: nothing runs on a GPU, mean over all. None of the parts: they split one "
             "path, this is of all GPUs" },
  { "token_imbalance", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_MEMBER (Prediction, imbalance),
    .unit = "ratio",
    .about = "sequences of different lengths: the fullest data rank's tokens over the mean" },
  /* what it is of */
  { "seq_len", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "training",
    .unit = "tokens", .about = "of a sequence, or the longest" },
  { "micro_batch", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "training",
    .unit = "sequences", .about = "a data rank works on at a time" },
  { "grad_accum", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "training",
    .about = "micro-steps a step" },
  { "shard", NULL, COLUMN_WORD, COLUMN_ORIGIN, .text = setting_text, .of = "mesh",
    .about = "`mesh.shard`, where it was set" },
  { "data_ranks", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (Prediction, n_data_ranks), .unit = "ranks",
    .about = "that work on sequences of their own: a step has `data_ranks` x `micro_batch` x "
             "`grad_accum` sequences" },
  { "tp", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "ranks", .about = "tensor parallelism" },
  { "sp", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "0 or 1", .about = "sequence parallelism of the tensor group" },
  { "cp", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "ranks", .about = "context parallelism" },
  { "ep", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "ranks", .about = "expert parallelism" },
  { "pp", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "stages", .about = "of the pipeline" },
  { "vp", NULL, COLUMN_COUNT, COLUMN_ORIGIN, .number = setting_number, .of = "mesh",
    .unit = "chunks", .about = "a stage" },
  { "precision", NULL, COLUMN_WORD, COLUMN_ORIGIN, .text = setting_text, .of = "training",
    .about = "as in a scenario file, like the next four" },
  { "activation_checkpointing", NULL, COLUMN_WORD, COLUMN_ORIGIN, .text = setting_text,
    .of = "training" },
  { "attention", NULL, COLUMN_WORD, COLUMN_ORIGIN, .text = setting_text, .of = "training" },
  { "compile", NULL, COLUMN_BOOL, COLUMN_ORIGIN, .number = setting_number, .of = "training" },
  { "optimizer", NULL, COLUMN_WORD, COLUMN_ORIGIN, .text = setting_text, .of = "training" },
  { "profiles", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, profiles),
    .about = "hardware profiles with their hashes" },
  COLUMNS_OF_THE_PROGRAM (0),
  { "time_outer_s", NULL, COLUMN_TIME, COLUMN_GROWS, COLUMN_MEMBER (Prediction, parts[TIME_OUTER]),
    .about = "critical path: kernels of the outer step of `local-sgd`; a part like those from "
             "`time_compute_s` on" },
  { "peak_nvme_gib", NULL, COLUMN_GIB, 0, COLUMN_MEMBER (Prediction, drives.device),
    .scale = 1 / GIB, .about = "peak of a node's drives, the node that has most there" },
  /* what it was extrapolated from */
  { "replayed_micro_batches", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL | COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, n_replayed),
    .about = "where the result follows from fewer micro-batches than `grad_accum` "
             "([replay.md](replay.md)): the most that were replayed; empty: all were" },
  { "replayed_steps", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL | COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, n_steps_replayed),
    .about =
        "where it follows from fewer steps of a round than it has: the most that were replayed; "
        "empty: all were" },
  { "round_steps", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL | COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, n_steps),
    .about = "steps of that round; empty where all were replayed" },
  /* what it was scaled to */
  { "network_scale", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL | COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, network_scale), .unit = "ratio",
    .about = "what `cluster.measured` makes of the network's rates "
             "([scenarios.md](scenarios.md#a-network-that-was-measured)); empty: the profiles'" },
  { "network", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, network),
    .about = "the same in words, with what was measured" },
  /* over placements and hashes */
  { "placements", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL | COLUMN_ORIGIN,
    COLUMN_MEMBER (Prediction, n_placements),
    .about = "draws of placement and hashes that the next six are over "
             "([hardware.md](hardware.md#a-band)); empty: none was asked for" },
  { "step_time_p10_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (Prediction, step_band.p10), .about = "a tenth of the draws are below" },
  { "step_time_p50_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (Prediction, step_band.p50), .about = "the median of the draws" },
  { "step_time_p90_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (Prediction, step_band.p90), .about = "nine tenths of the draws are below" },
  { "tokens_per_s_per_gpu_p10", NULL, COLUMN_RATE, COLUMN_OPTIONAL | COLUMN_MORE,
    .number = tokens_p10, .about = "at `step_time_p90_s`" },
  { "tokens_per_s_per_gpu_p50", NULL, COLUMN_RATE, COLUMN_OPTIONAL | COLUMN_MORE,
    .number = tokens_p50, .about = "at `step_time_p50_s`" },
  { "tokens_per_s_per_gpu_p90", NULL, COLUMN_RATE, COLUMN_OPTIONAL | COLUMN_MORE,
    .number = tokens_p90, .about = "at `step_time_p10_s`" },
  { "caveats", NULL, COLUMN_TEXT, COLUMN_ORIGIN, COLUMN_MEMBER (Prediction, caveats),
    .about =
        "what makes tokens worth another amount than those of synchronous training: local steps, "
        "replicas, how late, as what sent (gradients: as less than they were computed in, to "
        "other ranks); empty: nothing" },
  { "tight", NULL, COLUMN_BOOL, 0, .number = is_tight,
    .about = "it fits, and less than 3 % of a GPU's memory is left, or allocations went through "
             "only after cached segments were given back" },
  { "host_loading_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (Prediction, host_loading_bytes),
    .about = "where the host keeps states: what a node may hold at most before the first step, the "
             "whole model in fp32 in each process; not part of the peak, nor of `fits` "
             "([memory](memory.md#host-memory-of-deepspeed)). Else 0" },
  /* sums that only the extrapolation and figures read */
  { NULL, NULL, COLUMN_NUMBER, COLUMN_GROWS, COLUMN_MEMBER (Prediction, tokens_per_step) },
  { NULL, NULL, COLUMN_NUMBER, COLUMN_GROWS, COLUMN_MEMBER (Prediction, model_flops) },
  { NULL, NULL, COLUMN_NUMBER, COLUMN_GROWS, COLUMN_MEMBER (Prediction, hardware_flops) },
  { NULL, NULL, COLUMN_NUMBER, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, inter_node_forward_bytes_per_gpu) },
  { NULL, NULL, COLUMN_NUMBER, COLUMN_GROWS,
    COLUMN_MEMBER (Prediction, inter_node_backward_bytes_per_gpu) },
  { 0 },
};

/* ---- of its parts ---------------------------------------------------------------------------- */

/* "12", or "1 in 4 steps" of what happens less than once a step. */
static char *
show_calls (const Column *column, gconstpointer row)
{
  const double calls = column_number (column, row), period = 1 / calls;

  if (calls < 1 && fabs (period - round (period)) < 1e-6 * period)
    return g_strdup_printf ("1 in %.0f steps", period);
  return g_strdup_printf ("%.10g", calls);
}

const Column traffic_columns[] = {
  { "group", "group", COLUMN_WORD, 0, COLUMN_MEMBER (TrafficUse, group),
    .about = "a list, an entry a communicator and collective" },
  { "collective", "collective", COLUMN_WORD, 0, COLUMN_MEMBER (TrafficUse, collective),
    .about = "`all_gather`, ..." },
  { "calls", "calls", COLUMN_NUMBER, COLUMN_GROWS, COLUMN_MEMBER (TrafficUse, calls),
    .about = "a step", .show = show_calls },
  { "size_bytes", "S in all", COLUMN_BYTES, COLUMN_GROWS, COLUMN_MEMBER (TrafficUse, bytes),
    .about = "sum of the sizes S as nccl-tests counts them" },
  { "inter_node_bytes_per_gpu", "between nodes/GPU", COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (TrafficUse, inter_node_per_gpu) },
  { "intra_node_bytes_per_gpu", "inside nodes/GPU", COLUMN_BYTES, COLUMN_GROWS,
    COLUMN_MEMBER (TrafficUse, intra_node_per_gpu) },
  { "exposed_s", "exposed", COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS,
    COLUMN_MEMBER (TrafficUse, exposed_s), .about = "the rank of `exposed_comm_s`" },
  { 0 },
};

const Column binding_columns[] = {
  { "resource", "resource", COLUMN_WORD, 0, COLUMN_MEMBER (BindingUse, resource),
    .about = "a list, the largest first" },
  { "seconds", "binds for", COLUMN_TIME, COLUMN_GROWS, COLUMN_MEMBER (BindingUse, seconds),
    .about = "of the critical path that it bound" },
  { "utilisation", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (BindingUse, utilisation), .unit = "ratio",
    .about = "of the busiest resource of this kind, mean over the step" },
  { 0 },
};

/* Means over the ranks of a stage; memory of its fullest one. */
const Column stage_columns[] = {
  { "stage", "stage", COLUMN_COUNT, 0, COLUMN_MEMBER (StageUse, stage), .about = "from 0" },
  { "layers", "layers", COLUMN_TEXT, 0, COLUMN_MEMBER (StageUse, layers),
    .about = "\"embedding, blocks 0-9 40-49\": chunk by chunk, blocks from 0" },
  { "n_blocks", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (StageUse, n_blocks) },
  { "has_embedding", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (StageUse, embedding) },
  { "has_head", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (StageUse, head) },
  { "n_parameters", "weights", COLUMN_AMOUNT, 0, COLUMN_MEMBER (StageUse, n_parameters),
    .about = "of one rank" },
  { "fits", "fits", COLUMN_BOOL, 0, COLUMN_MEMBER (StageUse, hbm.fits), .about = "its GPU memory" },
  { "peak_allocated_gib", "allocated", COLUMN_GIB, 0, COLUMN_MEMBER (StageUse, hbm.allocated),
    .scale = 1 / GIB, .about = "of its fullest rank, as the first table's" },
  { "peak_reserved_gib", "reserved", COLUMN_GIB, 0, COLUMN_MEMBER (StageUse, hbm.reserved),
    .scale = 1 / GIB, .about = "of its fullest rank, as the first table's" },
  { "peak_device_gib", "device", COLUMN_GIB, 0, COLUMN_MEMBER (StageUse, hbm.device),
    .scale = 1 / GIB, .about = "of its fullest rank, as the first table's" },
  { "place", NULL, COLUMN_TEXT, 0, COLUMN_MEMBER (StageUse, hbm.place), .about = "that rank" },
  { "peak_op", NULL, COLUMN_TEXT, 0, COLUMN_MEMBER (StageUse, hbm.peak_op),
    .about = "the allocation of the device peak" },
  { "busy_s", "busy", COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS, COLUMN_MEMBER (StageUse, busy_s),
    .about = "kernels run on a stream that computes" },
  { "bubble_s", "bubble", COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS,
    COLUMN_MEMBER (StageUse, bubble_s), .about = "nothing runs" },
  { "exposed_comm_s", "exposed comm", COLUMN_TIME, COLUMN_GROWS | COLUMN_WAITS,
    COLUMN_MEMBER (StageUse, exposed_comm_s),
    .about = "collectives and messages run, and no such kernel" },
  { 0 },
};

const Column memory_columns[] = {
  { "place", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (MemoryUse, place),
    .about = "GPU memory at its fullest rank" },
  { "capacity_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, capacity) },
  { "peak_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, device),
    .about = "what the driver reports" },
  { "waiting_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, waiting),
    .about = "of the peak: freed by the host, still used on the device" },
  { "allocated_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, allocated),
    .about = "peak of the allocator's hand-outs" },
  { "reserved_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, reserved),
    .about = "peak of what it holds" },
  { "cached_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, cached),
    .about = "of the peak: held for nobody" },
  { "allocation_retries", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (MemoryUse, n_retries),
    .about = "allocations that went through only after cached segments were given back" },
  { "excess_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (MemoryUse, excess),
    .about = "over the capacity; 0: it fits" },
  { "peak_op", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (MemoryUse, peak_op),
    .about = "the allocation that made the peak" },
  { "overflow_op", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (MemoryUse, overflow_op),
    .about = "the first one over the capacity, or null" },
  { 0 },
};
