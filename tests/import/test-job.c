/*
 * Jobs of frameworks: what small ones, written by hand, become, key by key; what is refused, with
 * its line and what helps; and which framework a file is of. That what is written for a framework
 * is read again is tests/report/test-job-round.c.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "../suite.h"
#include "import/job/job.h"

#define MOST_EXPECTED 24

/* ---- jobs that are read ---------------------------------------------------------------------- */

typedef struct
{
  const char *file, *text;
  const char *user[10];                /* key, value, ... */
  const char *expected[MOST_EXPECTED]; /* "mesh.tp=8", ... */
} Read;

static const Read reads[] = {
  { "tt.toml",
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
    "global_batch_size = 64\nseq_len = 4_096\n[parallelism]\ntensor_parallel_degree = 4\n"
    "[activation_checkpoint]\nmode = \"full\"\n[compile]\nenable = true\n"
    "components = [\"model\"]\n[optimizer]\nname = \"AdamW\"\nlr = 3e-4\n"
    "implementation = \"foreach\"\n",
    { "cluster.name", "4 x dgx-h100" },
    { "model.config=llama-3-8b", "training.micro_batch=2", "training.global_batch=64",
      "training.seq_len=4096", "mesh.tp=4", "mesh.sp=1", "strategy.name=fsdp2",
      "strategy.shard=all", "training.activation_checkpointing=full", "training.compile=true",
      "training.compile_components=model", "training.optimizer=adamw",
      "training.reduce_dtype=fp32" } },
  /* names of 2024 */
  { "tt.toml",
    "[model]\nname = \"llama3\"\nflavor = \"70B\"\nnorm_type = \"rmsnorm\"\n"
    "[training]\nbatch_size = 8\nseq_len = 8192\nwarmup_steps = 200\ncompile = false\n"
    "data_parallel_degree = -1\ntensor_parallel_degree = 8\n"
    "[experimental]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"gpipe\"\n"
    "[float8]\nenable_float8_linear = true\nenable_fsdp_float8_all_gather = true\n"
    "precompute_float8_dynamic_scale_for_fsdp = true\n[optimizer]\nfused = false\n",
    { "cluster.name", "4 x dgx-h100" },
    { "model.config=llama-3-70b", "training.micro_batch=1", "training.grad_accum=8", "mesh.tp=8",
      "mesh.pp=2", "mesh.pipeline=gpipe", "training.fp8_recipe=tensorwise",
      "training.fp8_gather=precomputed", "training.optimizer=adamw", "strategy.shard=all" } },
  /* replicas of shard groups; quantized linears by their later name; chunks of stages */
  { "tt.toml",
    "[model]\nname = \"llama3\"\nflavor = \"405B\"\nconverters = [\"quantize.linear.float8\"]\n"
    "[training]\nlocal_batch_size = 4\nseq_len = 8192\n[parallelism]\n"
    "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = -1\n"
    "tensor_parallel_degree = 8\npipeline_parallel_degree = 4\n"
    "pipeline_parallel_schedule = \"Interleaved1F1B\"\nfsdp_reshard_after_forward = \"never\"\n"
    "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n",
    { "cluster.name", "64 x dgx-h100" },
    { "strategy.name=hsdp", "strategy.shard=8", "strategy.reshard_after_forward=false", "mesh.vp=2",
      "mesh.pipeline=interleaved", "training.fp8_recipe=rowwise",
      "mesh.layers=15, 16, 16, 16, 16, 16, 16, 15", "mesh.deallocate_pipeline_outputs=false" } },
  { "ds.json",
    "{\"train_micro_batch_size_per_gpu\": \"auto\", \"gradient_accumulation_steps\": \"auto\",\n"
    " \"train_batch_size\": \"auto\",\n"
    " \"gradient_clipping\": \"auto\", \"bf16\": {\"enabled\": \"auto\"},\n"
    " \"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\",\n"
    "  \"stage3_prefetch_bucket_size\": \"auto\",\n"
    "  \"stage3_param_persistence_threshold\": \"auto\", \"stage3_max_live_parameters\": 1e9,\n"
    "  \"stage3_max_reuse_distance\": \"auto\", \"sub_group_size\": \"auto\"}}\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b", "training.micro_batch", "2",
      "training.seq_len", "2048" },
    { "strategy.name=zero3", "strategy.reduce_bucket_size=16777216",
      "strategy.prefetch_bucket_size=15099494", "strategy.param_persistence_threshold=40960",
      "strategy.max_live_parameters=1000000000", "training.micro_batch=2", "training.grad_accum=1",
      "training.clip_gradients=true", "training.precision=bf16-mixed", "training.seq_len=2048" } },
  { "ds.json",
    "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 1,\n"
    " \"fp16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"},\n"
    " \"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true,\n"
    "  \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}}\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=zero-offload", "strategy.overlap_comm=true", "training.global_batch=64",
      "training.precision=fp16-mixed", "training.optimizer=adamw-fused",
      "training.clip_gradients=false" } },
  { "ds.json",
    "{\"train_micro_batch_size_per_gpu\": 1, \"tensor_parallel\": {\"autotp_size\": 2},\n"
    " \"zero_optimization\": {\"stage\": 3, \"zero_hpz_partition_size\": 8,\n"
    "  \"zero_quantized_weights\": true}}\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=zeropp", "strategy.zero_hpz_partition_size=8",
      "strategy.zero_quantized_weights=true", "mesh.tp=2", "mesh.sp=0",
      "training.precision=fp32" } },
  /* a batch of all ranks and micro-steps make the micro-batch */
  { "ds.json",
    "{\"train_batch_size\": 128, \"gradient_accumulation_steps\": 2,\n"
    " \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}}\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=zero1", "training.micro_batch=4", "training.grad_accum=2",
      "strategy.reduce=reduce_scatter", "strategy.bucket_bytes=1 GB" } },
  /* the cluster that is given is followed */
  { "tt.toml",
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
    "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 32\n",
    { "cluster.name", "4 x dgx-h100" },
    { "strategy.name=hsdp", "strategy.shard=16" } },
  /* no stage: DDP, its buckets DeepSpeed's, of elements */
  { "ds.json",
    "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true},\n"
    " \"zero_optimization\": {\"stage\": 0, \"reduce_bucket_size\": 1e6}}\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=ddp", "strategy.bucket_bytes=2 MB", "strategy.overlap_comm=false" } },
  { "acc.yaml",
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"
    "fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n"
    "  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true\n"
    "num_machines: 2\nnum_processes: 16\n",
    { "cluster.name", "dgx-h100", "model.config", "llama-3-8b" },
    { "cluster.name=2 x dgx-h100", "strategy.name=fsdp2", "strategy.reshard_after_forward=false",
      "strategy.cpu_offload=true", "training.activation_checkpointing=full",
      "training.precision=bf16-mixed" } },
  { "acc.yaml",
    "distributed_type: FSDP\nmixed_precision: 'no'\nnum_processes: 16\nfsdp_config:\n"
    "  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2\n  fsdp_backward_prefetch: BACKWARD_POST\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=fsdp1", "strategy.shard=node", "strategy.reshard_after_forward=false",
      "strategy.backward_prefetch=post", "training.precision=fp32" } },
  { "acc.yaml",
    "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n"
    "  zero_stage: 3\n  offload_optimizer_device: cpu\n  gradient_accumulation_steps: 4\n",
    { "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b" },
    { "strategy.name=zero3", "strategy.offload_optimizer=cpu", "training.grad_accum=4",
      "training.precision=bf16-mixed" } },
  /* a part of a node */
  { "acc.yaml",
    "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 2\nmixed_precision: fp16\n",
    { "cluster.name", "dgx-h100", "model.config", "llama-3-8b" },
    { "cluster.node=dgx-h100", "cluster.gpus_per_node=2", "strategy.name=ddp" } },
  { "hf.yaml",
    "model_name_or_path: llama-3-8b\nper_device_train_batch_size: 2\n"
    "gradient_accumulation_steps: 8\nbf16: true\ngradient_checkpointing: true\n"
    "optim: adamw_torch_fused\nlearning_rate: 1.0e-5\nmax_length: 4096\n"
    "fsdp: full_shard auto_wrap\nfsdp_config:\n  version: 2\ntorch_compile: true\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.config=llama-3-8b", "training.micro_batch=2", "training.grad_accum=8",
      "training.precision=bf16-mixed", "training.activation_checkpointing=full",
      "training.optimizer=adamw-fused", "training.seq_len=4096", "strategy.name=fsdp2",
      "training.compile=true", "training.clip_gradients=true" } },
  { "hf.yaml",
    "model_name_or_path: llama-3-8b\nper_device_train_batch_size: 1\nbf16: true\n"
    "deepspeed:\n  zero_optimization: { stage: 2 }\n  bf16: { enabled: auto }\n"
    "  train_micro_batch_size_per_gpu: auto\nlearning_rate: 1.0e-5\n",
    { "cluster.name", "1 x dgx-h100" },
    { "strategy.name=zero2", "training.micro_batch=1", "training.precision=bf16-mixed" } },
  /* Megatron-LM: what its parser fills in, the vocabulary padded over tensor ranks */
  { "run.sh",
    "#!/bin/bash\nTP=8\nARGS=(\n  --num-layers 96 --hidden-size 12288\n  --num-attention-heads 96\n"
    "  --seq-length 2048 --max-position-embeddings 2048\n  --micro-batch-size 1\n"
    "  --global-batch-size 1536 --fp16 --clip-grad 1.0\n)\n"
    "torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py ${ARGS[@]} \\\n"
    "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 16 --vocab-file $1\n",
    { "cluster.name", "16 x dgx-h100" },
    { "model.n_layers=96", "model.vocab=51200", "model.positions=learned", "mesh.tp=8",
      "mesh.pp=16", "mesh.sp=0", "mesh.scatter_gather=true", "training.precision=fp16-mixed",
      "training.global_batch=1536", "training.dropout=true", "strategy.name=ddp",
      "strategy.overlap_comm=false", "training.clip_gradients=true" } },
  /* experts, grouped queries, the distributed optimizer, chunks of stages, a dense first layer */
  { "run.sh",
    "torchrun p.py --use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu "
    "--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
    "--position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 --seq-length 4096 "
    "--micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer "
    "--overlap-grad-reduce --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "
    "--moe-permute-fusion "
    "--moe-layer-freq '([0]*1+[1]*31)' --expert-model-parallel-size 8 "
    "--mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 "
    "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4 "
    "--tokenizer-type Llama2Tokenizer --recompute-granularity selective "
    "--recompute-modules moe_act layernorm --fp8-format hybrid --fp8-recipe blockwise\n",
    { "cluster.name", "8 x dgx-h100" },
    { "model.arch=llama",
      "model.n_kv_heads=8",
      "model.n_experts=8",
      "model.n_experts_per_token=2",
      "model.first_dense_layers=1",
      "model.mtp=1",
      "model.vocab=32000",
      "model.norm=rmsnorm",
      "model.biases=no",
      "model.tied_embeddings=no",
      "mesh.ep=8",
      "mesh.pp=4",
      "mesh.vp=2",
      "mesh.p2p=direct",
      "strategy.name=zero1",
      "strategy.reduce=reduce_scatter",
      "strategy.gradient_dtype=fp32",
      "strategy.overlap_comm=true",
      "training.activation_checkpointing=selective",
      "training.recompute_modules=moe_act,layernorm",
      "training.fp8_recipe=blockwise",
      "training.expert_permutation=fused",
      "training.dropout=false" } },
  /* words of 2021; the width of a gate that is not told */
  { "run.sh",
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--model-parallel-size 2 --batch-size 4 --DDP-impl local --checkpoint-activations "
    "--distribute-checkpointed-activations --fp16 --vocab-size 50257\n",
    { "cluster.name", "1 x dgx-a100" },
    { "mesh.tp=2", "training.micro_batch=4", "training.activation_checkpointing=full",
      "training.partition_activations=true", "training.framework=megatron-lm-2021",
      "strategy.overlap_comm=false", "model.vocab=50432", "training.attention=fused-softmax" } },
  { "run.sh",
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --swiglu --seq-length 1024 "
    "--micro-batch-size 4 --bf16 --vocab-size 50257 --use-megatron-fsdp "
    "--data-parallel-sharding-strategy optim_grads_params --overlap-grad-reduce "
    "--overlap-param-gather --no-gradient-accumulation-fusion "
    "--decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 3 "
    "--pipeline-model-parallel-size 4 --clip-grad 0\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.d_ff=5440", "strategy.name=megatron-fsdp",
      "strategy.data_parallel_sharding_strategy=optim_grads_params",
      "strategy.overlap_param_gather=true", "strategy.gradient_accumulation_fusion=false",
      "mesh.layers=5, 8 x 2, 3", "training.clip_gradients=false" } },
  /* what blocks are made of beyond their widths; parameters in fp8, kernels that are not fused */
  { "run.sh",
    "torchrun p.py --use-mcore-models --num-layers 24 --hidden-size 2048 "
    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels "
    "64 --swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias "
    "--qk-layernorm --softmax-type learnable --window-size 127,0 --window-attn-skip-freq 2 "
    "--position-embedding-type none --no-rope-fusion --no-bias-swiglu-fusion --seq-length "
    "4096 --micro-batch-size 1 --bf16 --vocab-size 1000 --use-distributed-optimizer "
    "--overlap-grad-reduce --overlap-param-gather --fp8-format hybrid --fp8-param-gather "
    "--pipeline-model-parallel-size 3 --num-virtual-stages-per-pipeline-rank 1 "
    "--account-for-loss-in-pipeline-split --account-for-embedding-in-pipeline-split "
    "--global-batch-size 64\n",
    { "cluster.name", "3 x dgx-h100" },
    { "model.biases=qkv", "model.qk_norm=head", "model.attention_sinks=yes",
      "model.sliding_window=128", "model.sliding_period=2", "model.positions=none",
      "training.fused_rotary=false", "training.fused_gate=false", "training.fp8_params=true",
      "strategy.overlap_param_gather=true", "mesh.pp=3" } },
  /* products in fp4, but for the last blocks; one at the start is what Megatron-LM defaults to */
  { "run.sh",
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--micro-batch-size 1 --bf16 --vocab-size 1000 --fp4-format e2m1 --fp4-recipe nvfp4 "
    "--first-last-layers-bf16 --num-layers-at-end-in-bf16 4\n",
    { "cluster.name", "1 x dgx-b200" },
    { "training.fp8_recipe=nvfp4", "training.num_layers_at_start_in_bf16=1",
      "training.num_layers_at_end_in_bf16=4" } },
  /* the first and the last of 4 stages have a block less, for embedding and head */
  { "run.sh",
    "--num-layers 14 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--micro-batch-size 1 --bf16 --vocab-size 1000 --pipeline-model-parallel-size 4 "
    "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split\n",
    { "cluster.name", "1 x dgx-h100" },
    { "mesh.pp=4", "mesh.layers=3, 4, 4, 3" } },
  { "run.sh",
    "--num-layers 15 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--micro-batch-size 1 --bf16 --vocab-size 1000 --pipeline-model-parallel-size 2 "
    "--account-for-loss-in-pipeline-split\n",
    { "cluster.name", "1 x dgx-h100" },
    { "mesh.layers=8, 7" } },
  /* latent attention, with Megatron's widths where none are told */
  { "run.sh",
    "torchrun p.py --use-mcore-models --num-layers 27 --hidden-size 2048 --num-attention-heads 16 "
    "--ffn-hidden-size 10944 --swiglu --normalization RMSNorm --disable-bias-linear "
    "--position-embedding-type rope --multi-latent-attention --kv-lora-rank 512 --q-lora-rank 1536 "
    "--qk-layernorm --v-head-dim 96 --kv-channels 16 --seq-length 4096 --micro-batch-size 1 "
    "--bf16 --vocab-size 1000\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.kv_lora_rank=512", "model.q_lora_rank=1536", "model.qk_nope_head_dim=128",
      "model.qk_rope_head_dim=64", "model.v_head_dim=96", "model.qk_norm=auto" } },
  /* MLPerf: variables alone */
  { "config_DGXH100_1x8x4xtp4pp1cp2.sh",
    "#!/bin/bash\nexport LORA_A2A=1\nexport FP8=True\nexport TP=4\nexport PP=1\nexport CP=2\n"
    "export SP=1\nexport MBS=1\nexport MINIBS=1\nexport DGXNNODES=1\nexport DGXNGPU=8\n"
    "export FP8_ACT=1\n",
    { "cluster.name", "1 x dgx-h100" },
    { "mesh.tp=4", "mesh.cp=2", "mesh.sp=1", "training.peft=lora", "training.lora_r=16",
      "training.lora_target_modules=q_proj+k_proj+v_proj,o_proj", "training.lora_a2a=true",
      "training.lora_dropout=0.1", "training.fp8_recipe=delayed",
      "training.activation_func_fp8_input_store=true" } },
  { "config.sh",
    "export MINIBS=${MINIBS:=16}\nexport MICRO_BATCH_SIZE=2\nexport TENSOR_MODEL_PARALLEL=4\n"
    "export PIPELINE_MODEL_PARALLEL=2\nexport INTERLEAVED_PIPELINE=4\nexport CONTEXT_PARALLEL=1\n"
    "export MODEL_SIZE=\"8b\"\nexport FP8=True\nexport FP8_RECIPE=tensorwise\n"
    "export DGXNNODES=4\nexport DGXNGPU=8\nexport LR=0.0004\n",
    { "cluster.name", "4 x dgx-h100" },
    { "model.config=llama-3-8b", "mesh.tp=4", "mesh.sp=1", "mesh.pp=2", "mesh.vp=4",
      "training.micro_batch=2", "training.grad_accum=8", "training.fp8_recipe=tensorwise",
      "training.seq_len=8192", "strategy.name=zero1" } },
  { "nt.yaml",
    "model:\n  dtype: bfloat16\n  ddp_bucket_cap_mb: 25\n  make_vocab_size_divisible_by: 1\n"
    "  model_config: {num_hidden_layers: 36, hidden_size: 2048, num_attention_heads: 16,\n"
    "    num_key_value_heads: 4, intermediate_size: 11008, vocab_size: 128256,\n"
    "    tie_word_embeddings: true, moe_config: null, _attn_implementation: flash_attention_2}\n"
    "optimizer:\n  zero_stage: 0\n  accumulate_grad_in_fp32: true\n  clip_grad: 1.0\n"
    "  optimizer_factory: {name: adamW, torch_adam_is_fused: true}\n"
    "parallelism: {dp: 2, tp: 2, pp: 2, pp_engine: afab, tp_mode: REDUCE_SCATTER,\n"
    "  tp_linear_async_communication: true}\n"
    "tokens: {micro_batch_size: 3, batch_accumulation_per_replica: 4, sequence_length: 4096}\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.n_layers=36", "model.tied_embeddings=yes", "mesh.tp=2", "mesh.sp=1",
      "mesh.async_tp=true", "mesh.pp=2", "mesh.pipeline=gpipe", "training.micro_batch=3",
      "training.grad_accum=4", "training.optimizer=adamw-fused", "strategy.name=ddp",
      "strategy.gradient_dtype=fp32", "strategy.bucket_bytes=25 MiB" } },
  /* names of other keys; more sequences at a time than a rank has */
  { "mpt.yaml",
    "variables: {len: 2048}\nmax_seq_len: ${variables.len}\nmodel: {name: mpt_causal_lm,\n"
    "  d_model: 4096, n_heads: 32, n_layers: 32, expansion_ratio: 4,\n"
    "  max_seq_len: '${max_seq_len}',\n"
    "  vocab_size: 50368, attn_config: {attn_impl: triton, alibi: true}}\n"
    "optimizer: {name: decoupled_adamw, lr: 1.2e-4}\nglobal_train_batch_size: 64\n"
    "device_train_microbatch_size: 8\nprecision: amp_bf16\n"
    "algorithms: {gradient_clipping: {clipping_type: norm, clipping_threshold: 1.0}}\n"
    "fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, device_mesh: [2, 8],\n"
    "  activation_checkpointing: true, limit_all_gathers: true}\n",
    { "cluster.name", "2 x dgx-h100" },
    { "model.arch=mpt", "model.d_ff=16384", "training.seq_len=2048", "training.micro_batch=4",
      "training.global_batch=64", "training.reduce_dtype=bf16", "strategy.name=fsdp1",
      "strategy.shard=8", "training.activation_checkpointing=full",
      "training.clip_gradients=true" } },
  { "lf.yaml",
    "model_name_or_path: Qwen/Qwen3-30B-A3B-Instruct-2507\nstage: sft\nfinetuning_type: full\n"
    "template: qwen3_nothink\ncutoff_len: 4096\nper_device_train_batch_size: 1\nbf16: true\n"
    "gradient_accumulation_steps: 8\ntensor_model_parallel_size: 1\nsequence_parallel: false\n"
    "pipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\nmoe_grouped_gemm: true\n"
    "use_distributed_optimizer: true\noverlap_grad_reduce: true\nrecompute_granularity: full\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.config=Qwen/Qwen3-30B-A3B-Instruct-2507", "mesh.pp=4", "mesh.ep=2",
      "strategy.name=zero1", "training.activation_checkpointing=full", "training.grad_accum=8",
      "training.seq_len=4096", "training.framework=megatron-core-2025" } },
  { "hf.yaml",
    "model_name_or_path: Qwen/Qwen2.5-7B\nmax_length: 4096\nbf16: true\n"
    "per_device_train_batch_size: 1\nfsdp: full_shard auto_wrap\n"
    "fsdp_config: {fsdp_offload_params: true, backward_prefetch: backward_pre}\n",
    { "cluster.name", "1 x dgx-h100" },
    { "strategy.name=fsdp2", "strategy.cpu_offload=true", "training.micro_batch=1" } },
  { "lf.yaml",
    "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\nfinetuning_type: lora\n"
    "lora_target: q_proj,v_proj\nlora_rank: 16\nquantization_bit: 4\ntemplate: llama3\n"
    "per_device_train_batch_size: 2\nbf16: true\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.config=meta-llama/Meta-Llama-3-8B-Instruct", "training.peft=lora",
      "training.lora_r=16", "training.lora_target_modules=q_proj,v_proj",
      "training.load_in_4bit=true", "training.seq_len=2048",
      "training.activation_checkpointing=full", "strategy.name=ddp" } },
  { "ax.yaml",
    "base_model: NousResearch/Llama-3.2-1B\nsequence_len: 2048\nsample_packing: true\n"
    "adapter: lora\nlora_r: 16\nlora_target_linear: true\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 4\noptimizer: adamw_8bit\nbf16: auto\n"
    "gradient_checkpointing: true\nflash_attention: true\ndatasets:\n  - path: x\n    type: y\n"
    "fsdp_config:\n  fsdp_version: 2\n  reshard_after_forward: true\n  auto_wrap_policy: X\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.config=NousResearch/Llama-3.2-1B", "training.peft=lora", "training.lora_r=16",
      "training.optimizer=adamw-8bit", "training.micro_batch=2", "training.grad_accum=4",
      "training.precision=bf16-mixed", "training.activation_checkpointing=full",
      "strategy.name=fsdp2", "strategy.reshard_after_forward=true" } },
  /* variables with what stands for them; the framework's defaults */
  { "primus.yaml",
    "exp_name: ${PRIMUS_EXP_NAME:x}\nmodules:\n  pre_trainer:\n    framework: megatron\n"
    "    config: pre_trainer.yaml\n    model: ${PRIMUS_MODEL:llama3.1_70B}.yaml\n    overrides:\n"
    "      micro_batch_size: 4\n      seq_length: 8192\n      global_batch_size: 256\n"
    "      tensor_model_parallel_size: ${PRIMUS_TP:8}\n      sequence_parallel: 1\n"
    "      use_distributed_optimizer: true\n      overlap_grad_reduce: true\n"
    "      gradient_accumulation_fusion: false\n      recompute_granularity: full\n"
    "      recompute_method: block\n      recompute_num_layers: 8\n      fp8: hybrid\n",
    { "cluster.name", "2 x dgx-h100" },
    { "model.config=llama-3-70b", "mesh.tp=8", "mesh.sp=1", "strategy.name=zero1",
      "training.micro_batch=4", "training.activation_checkpointing=full",
      "training.recompute_layers=8", "training.precision=bf16-mixed", "training.fp8_recipe=delayed",
      "strategy.gradient_accumulation_fusion=false" } },
  { "bridge.yaml",
    "model: {num_layers: 32, hidden_size: 4096, ffn_hidden_size: 14336, num_attention_heads: 32,\n"
    "  num_query_groups: 8, group_query_attention: true, seq_length: 8192, vocab_size: 128256,\n"
    "  gated_linear_unit: true, normalization: RMSNorm, position_embedding_type: rope,\n"
    "  add_bias_linear: false, share_embeddings_and_output_weights: false,\n"
    "  tensor_model_parallel_size: 2, sequence_parallel: true, context_parallel_size: 2}\n"
    "train: {train_iters: 20, global_batch_size: 128, micro_batch_size: 1}\n"
    "ddp: {grad_reduce_in_fp32: false}\nmixed_precision: bf16_with_fp8_current_scaling_mixed\n",
    { "cluster.name", "2 x dgx-h100" },
    { "model.n_kv_heads=8", "model.tied_embeddings=no", "mesh.tp=2", "mesh.sp=1", "mesh.cp=2",
      "training.fp8_recipe=tensorwise", "strategy.name=zero1", "strategy.gradient_dtype=auto",
      "training.num_layers_at_start_in_bf16=1", "training.num_layers_at_end_in_bf16=1",
      "training.framework=megatron-bridge-2025" } },
  { "bridge.yaml",
    "model: {num_layers: 32, hidden_size: 4096, ffn_hidden_size: 14336, num_attention_heads: 32,\n"
    "  num_query_groups: 8, seq_length: 8192, vocab_size: 128256, gated_linear_unit: true,\n"
    "  normalization: RMSNorm, position_embedding_type: rope, add_bias_linear: false,\n"
    "  share_embeddings_and_output_weights: false}\n"
    "train: {train_iters: 20, global_batch_size: 128, micro_batch_size: 1}\n"
    "ddp: {grad_reduce_in_fp32: false}\n"
    "mixed_precision: {bf16: true, fp4: e2m1, fp4_recipe: nvfp4, first_last_layers_bf16: true,\n"
    "  num_layers_at_end_in_bf16: 4}\n",
    { "cluster.name", "2 x dgx-b200" },
    { "training.fp8_recipe=nvfp4", "training.num_layers_at_end_in_bf16=4",
      "training.framework=megatron-bridge-2025" } },
  { "nemo.yaml",
    "trainer: {devices: 8, num_nodes: 2, precision: bf16, gradient_clip_val: 1.0}\n"
    "model:\n  mcore_gpt: true\n  micro_batch_size: 2\n  global_batch_size: 128\n"
    "  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n"
    "  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n"
    "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 11008\n  num_attention_heads: 32\n"
    "  activation: fast-swiglu\n  bias: false\n  normalization: rmsnorm\n  hidden_dropout: 0.0\n"
    "  attention_dropout: 0.0\n  position_embedding_type: rope\n  sequence_parallel: true\n"
    "  activations_checkpoint_granularity: selective\n  tokenizer: {type: GPT2BPETokenizer}\n"
    "  optim: {name: distributed_fused_adam, overlap_grad_sync: true, lr: 2e-4}\n",
    { "cluster.name", "2 x dgx-h100" },
    { "model.arch=llama", "model.positions=rotary", "model.norm=rmsnorm", "model.vocab=50688",
      "training.seq_len=4096", "training.activation_checkpointing=selective",
      "training.precision=bf16-mixed", "training.dropout=false", "strategy.name=zero1",
      "strategy.overlap_comm=true", "mesh.tp=4", "mesh.pp=2" } },
  { "auto.yaml",
    "step_scheduler: {global_batch_size: 64, local_batch_size: 8}\n"
    "model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained,\n"
    "  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B}\n"
    "distributed: {strategy: fsdp2, dp_size: none, tp_size: 2, cp_size: 1, pp_size: 2,\n"
    "  reshard_after_forward: false,\n"
    "  sequence_parallel: false, activation_checkpointing: true,\n"
    "  pipeline: {pp_schedule: 1f1b, pp_microbatch_size: 1}}\n"
    "optimizer: {_target_: torch.optim.AdamW}\npacked_sequence: {packed_sequence_size: 4096}\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.config=meta-llama/Llama-3.1-8B", "strategy.name=fsdp2", "mesh.tp=2", "mesh.pp=2",
      "strategy.reshard_after_forward=false", "mesh.pipeline=1f1b", "training.micro_batch=1",
      "training.global_batch=64", "training.seq_len=4096",
      "training.activation_checkpointing=full" } },
  /* digits in groups, a later optimizer by the nearest, attention by its new name */
  { "ax.yaml",
    "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 16_384\nmicro_batch_size: 1\n"
    "optimizer: adamw_torch_4bit\nbf16: auto\nattention: eager\n"
    "deepspeed: zero3.json\n",
    { "cluster.name", "1 x dgx-h100" },
    { "training.seq_len=16384", "training.optimizer=adamw-8bit", "training.attention=eager",
      "strategy.name=zero3" } },
  /* weights in bf16 go before the loop's precision */
  { "lf.yaml",
    "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: full\n"
    "cutoff_len: 2048\npure_bf16: true\nbf16: true\n",
    { "cluster.name", "1 x dgx-h100" },
    { "training.precision=bf16", "training.seq_len=2048" } },
  /* NeMo's resolvers, one in another */
  { "nemo.yaml",
    "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n  mcore_gpt: true\n"
    "  micro_batch_size: 1\n  global_batch_size: ${multiply:${divide_ceil:30, 8}, 8}\n"
    "  encoder_seq_length: ${divide_floor:8200, 2}\n  num_layers: 4\n  hidden_size: 512\n"
    "  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n  num_attention_heads: 8\n"
    "  tokenizer: {type: GPT2BPETokenizer}\n",
    { "cluster.name", "1 x dgx-h100" },
    { "model.d_ff=2048", "training.global_batch=32", "training.seq_len=4100" } },
  /* chunks of a layout; rotary embeddings of latent attention are its own; DeepSpeed's file */
  { "layout.sh",
    "torchrun pretrain_gpt.py --num-layers 14 --hidden-size 1024 --num-attention-heads 8 \\\n"
    "  --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 \\\n"
    "  --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'E|(t,t|)*5,t*3|tL' \\\n"
    "  --multi-latent-attention --position-embedding-type rope --empty-unused-memory-level 1 \\\n"
    "  --deepspeed_config ds.json --zero-stage 1\n",
    { "cluster.name", "2 x dgx-h100" },
    { "mesh.pp=4", "mesh.vp=2", "mesh.layers=0, 2, 2, 2, 2, 2, 3, 1", "model.kv_lora_rank=32",
      "strategy.name=zero1" } },
};

static GPtrArray *
load (const char *file, const char *text, const char *const *user, gboolean lenient,
      JobAccount **account, DiagList *diags)
{
  ScenarioOverride overrides[4];
  guint            n = 0;
  JobRequest       request = { .overrides = overrides, .lenient = lenient };

  for (; user[2 * n] != NULL; n++)
    overrides[n] = (ScenarioOverride){ user[2 * n], user[2 * n + 1], "test" };
  request.n_overrides = n;
  return job_load (file, text, &request, account, diags);
}

/* Of "training.seq_len", or NULL. Newly allocated. */
static char *
value_of (const Scenario *scenario, const char *name)
{
  g_autoptr (GArray) settings = scenario_settings (scenario);

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);
      g_autofree char       *own = g_strdup_printf ("%s.%s", setting->section, setting->spec->key);

      if (g_str_equal (own, name))
        return g_strdup (setting->value);
    }
  return NULL;
}

START_TEST (test_reads)
{
  const Read           *read = &reads[_i];
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;
  g_autofree char      *said = NULL;
  JobAccount           *account = NULL;

  all = load (read->file, read->text, read->user, FALSE, &account, diags);
  said = diag_list_format (diags, FALSE);
  ck_assert_msg (all != NULL && all->len == 1, "%s", said);
  ck_assert_ptr_nonnull (account);
  ck_assert_uint_eq (job_account_count (account, JOB_UNKNOWN), 0);
  for (guint i = 0; read->expected[i] != NULL; i++)
    {
      const char      *equals = strchr (read->expected[i], '=');
      g_autofree char *name = g_strndup (read->expected[i], (gsize) (equals - read->expected[i]));
      g_autofree char *got = value_of (g_ptr_array_index (all, 0), name);

      ck_assert_msg (g_strcmp0 (got, equals + 1) == 0, "%s: got '%s', want '%s'", name,
                     got != NULL ? got : "nothing", equals + 1);
    }
  job_account_free (account);
}
END_TEST

/* ---- what is said ---------------------------------------------------------------------------- */

typedef struct
{
  const char *file, *text;
  const char *user[10];
  const char *said[8]; /* parts of the diagnostics */
  gboolean    good;    /* and the job is read */
} Said;

#define TITAN "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
#define HERE                       \
  {                                \
    "cluster.name", "1 x dgx-h100" \
  }

static const Said sayings[] = {
  /* all that is missing at once, each with its option */
  { "ds.json",
    "{\"zero_optimization\": {\"stage\": 3}}",
    { NULL },
    { "error: the job does not say the cluster", "--cluster '4 x dgx-h100'",
      "error: the job does not say the model", "--model llama-3-8b" },
    FALSE },
  /* no job at all, beside a type of node, whose number the job would say */
  { "none.sh",
    "#!/bin/bash\necho nothing\n",
    { "cluster.name", "dgx-h100" },
    { "error: neither a scenario nor a job of a framework that is known here" },
    FALSE },
  /* TOML's own terms, line and column */
  { "tt.toml", "[training]\nseq_len = = 4\n", HERE, { "tt.toml:2:11: error: TOML: " }, FALSE },
  { "tt.toml", "[model\n", HERE, { "tt.toml:1:", "TOML: " }, FALSE },
  { "tt.toml", "[a]\nb = 1\n[a]\nc = 2\n", HERE, { "tt.toml:3:", "TOML: " }, FALSE },
  /* a chunk of none but a further token's layer; chunks that the stages do not divide */
  { "m.sh",
    "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 \\\n"
    "  --seq-length 64 --micro-batch-size 1 --global-batch-size 8 --bf16 \\\n"
    "  --pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Ett|tt|m|L'\n",
    HERE,
    { "m.sh:3:36: error: '--pipeline-model-parallel-layout: Ett|tt|m|L' cannot be followed",
      "chunks of blocks (t)" },
    FALSE },
  { "m.sh",
    "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 \\\n"
    "  --seq-length 64 --micro-batch-size 1 --global-batch-size 8 --bf16 \\\n"
    "  --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Ett|t|tL'\n",
    HERE,
    { "error: '--pipeline-model-parallel-layout: Ett|t|tL' cannot be followed" },
    FALSE },
  { "tt.toml",
    TITAN
    "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"DualPipeV\"\n",
    HERE,
    { "tt.toml:6:30: error: 'parallelism.pipeline_parallel_schedule: DualPipeV' cannot be followed",
      "'--lenient' predicts without it" },
    FALSE },
  { "tt.toml",
    TITAN "[training]\nseq_lenn = 4096\n",
    HERE,
    { "tt.toml:5:12: warning: no table of torchtitan knows the key 'training.seq_lenn'",
      "did you mean 'training.seq_len'?" },
    TRUE },
  { "tt.toml",
    "[model]\nname = \"flux\"\nflavor = \"flux-dev\"\n[training]\nseq_len = 1\n",
    HERE,
    { "tt.toml:3:10: error: the model 'flux/flux-dev' cannot be predicted", "a diffusion model",
      "'--model NAME'" },
    FALSE },
  { "tt.toml",
    "[model]\nname = \"flux\"\nflavor = \"flux-dev\"\n[training]\nseq_len = 1\n",
    { "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b" },
    { "warning: the model 'flux/flux-dev' is not what is predicted" },
    TRUE },
  /* what is wrong with a value later on is said at the job's line */
  { "tt.toml",
    TITAN "[training]\nseq_len = 0\n",
    HERE,
    { "tt.toml:5:11: error: 'seq_len'" },
    FALSE },
  /* two keys that do not agree */
  { "tt.toml",
    TITAN "[training]\nseq_len = 1024\nlocal_batch_size = 2\nbatch_size = 4\n",
    HERE,
    { "error: 'training.micro_batch' is '4' here, and '2' by line 6" },
    FALSE },
  { "run.sh",
    "--num-layers 2 --hidden-size 256 --num-attention-heads 2 --seq-length 128 --vocab-size 1000 "
    "--micro-batch-size 1 --bf16 \\\n --fp8-format hybrid \\\n --fp4-format e2m1\n",
    { "cluster.name", "1 x dgx-b200" },
    { "run.sh:3:2: error: 'training.fp8_recipe' is 'nvfp4' here, and 'delayed' by line 2" },
    FALSE },
  { "run.sh",
    "--num-layers 2 --hidden-size 256 --num-attention-heads 2 --seq-length 128 --vocab-size 1000 "
    "--micro-batch-size 1 --bf16 --fp8-format hybrid --first-last-layers-bf16\n",
    HERE,
    { "'--first-last-layers-bf16: true' cannot be followed", "delayed scaling" },
    FALSE },
  { "run.sh",
    "--num-layers 2 --hidden-size 256 --num-attention-heads 2 --seq-length 128 --vocab-size 1000 "
    "--micro-batch-size 1 --bf16 --fp4-format e2m1 --fp4-recipe custom --fp4-param-gather\n",
    { "cluster.name", "1 x dgx-b200" },
    { "'--fp4-format: e2m1' cannot be followed" },
    FALSE },
  { "ds.json",
    "{\"zero_optimization\": {\"stage\": 2,\n"
    "\"offload_optimizer\": {\"device\": \"nvme\"}}}",
    { "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b" },
    { "ds.json:1:33: error: 'zero_optimization.stage: 2' cannot be followed",
      "only stage 3 takes drives" },
    FALSE },
  { "acc.yaml",
    "distributed_type: MEGATRON_LM\nnum_processes: 8\n",
    { "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b" },
    { "acc.yaml:1:19: error: 'distributed_type: MEGATRON_LM' cannot be followed" },
    FALSE },
  { "acc.yaml",
    "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 2\n",
    { "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b" },
    { "warning: the job has 2 processes, the cluster 16 GPUs",
      "the cluster that is given is the one predicted" },
    TRUE },
  { "ds.json",
    "{\"train_batch_size\": CONFIG_BATCH, \"zero_optimization\": {\"stage\": 1}}",
    { "cluster.name", "1 x dgx-h100", "model.config", "llama-3-8b" },
    { "'train_batch_size: CONFIG_BATCH' cannot be followed", "a number is wanted" },
    FALSE },
  { "ds.json",
    "{\"a\": 1, \"b\": {\"c\": 2}}",
    { "cluster.name", "1 x dgx-h100" },
    { "unknown key 'a'" },
    FALSE },
  { "x.toml",
    "[tool]\nname = \"x\"\n",
    HERE,
    { "neither a scenario nor a job of a framework", "--as NAME" },
    FALSE },
  /* a scenario with a slip is one, not a job */
  { "x.yaml",
    "clustr: { name: dgx-h100 }\nmodel: llama-3-8b\n",
    HERE,
    { "x.yaml:1:1: error: unknown key 'clustr'", "did you mean 'cluster'?" },
    FALSE },
  /* what a script takes from elsewhere is said where it takes it */
  { "run.sh",
    "A=\"--num-layers 2 --hidden-size 256 --num-attention-heads 2\"\nsource ./COMMON.sh\n"
    "python pretrain_gpt.py $A --seq-length 128 --vocab-size 1000 --micro-batch-size 1\n",
    HERE,
    { "run.sh:2:8: warning: 'COMMON.sh' is not beside the script" },
    TRUE },
  { "run.sh",
    "--num-layers 2 --hidden-size 256 --num-attention-heads 2 --seq-length 128 "
    "--vocab-size 1000\\\n --optimizer-cpu-offload\n",
    HERE,
    { "run.sh:2:2: error: '--optimizer-cpu-offload: true' cannot be followed",
      "'--lenient' predicts without it" },
    FALSE },
  { "run.sh",
    "--num-layers 2 --hidden-size 256 --num-attention-heads 2 --seq-length 128 --vocab-size 1000 "
    "--use-distributed-optimizer --overlap-param-gather --deterministic-mode "
    "--fp32-residual-connection --window-size 3,4 --num-experts 4 --moe-layer-freq 2\n",
    HERE,
    { "'--overlap-param-gather: true' cannot be followed", "it goes with '--overlap-grad-reduce'",
      "'--deterministic-mode: true' cannot be followed",
      "'--fp32-residual-connection: true' cannot be followed", "'a window: 3,4' cannot be followed",
      "'layers with experts: 2' cannot be followed" },
    FALSE },
  { "tt.toml",
    TITAN "[optimizer]\nearly_step_in_backward = true\n[parallelism]\n"
          "enable_compiled_autograd = true\n",
    HERE,
    { "'optimizer.early_step_in_backward: true' cannot be followed",
      "'parallelism.enable_compiled_autograd: true' cannot be followed" },
    FALSE },
  { "run.sh",
    "if [ x = y ]; then\n  --num-layers 2 --hidden-size 4\n",
    HERE,
    { "run.sh:1:1: error: syntax error: 'if' without 'fi'" },
    FALSE },
  { "nt.yaml",
    "model: {model_config: {hidden_size: 8, hidden_size: 256, num_hidden_layers: 2,\n"
    "  num_attention_heads: 2, intermediate_size: 512, vocab_size: 1000}}\n"
    "parallelism: {tp: 1, dp: 8}\ntokens: {micro_batch_size: 1, sequence_length: 128}\n",
    HERE,
    { "warning: key 'hidden_size' comes twice: the last one counts" },
    TRUE },
};

START_TEST (test_sayings)
{
  const Said           *one = &sayings[_i];
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = load (one->file, one->text, one->user, FALSE, NULL, diags);
  g_autofree char      *said = diag_list_format (diags, FALSE);

  ck_assert_msg ((all != NULL) == one->good, "%s", said);
  for (guint i = 0; one->said[i] != NULL; i++)
    ck_assert_msg (strstr (said, one->said[i]) != NULL, "'%s' not in:\n%s", one->said[i], said);
}
END_TEST

/* Files of many keys, each of which would be looked for in all tables, are refused before. */
/* Of YAML, JSON and TOML, good and broken, no message and no account has a secret's value. */
START_TEST (test_secrets)
{
  static const char *const user[] = { "cluster.name", "1 x dgx-h100", NULL };
  static const char *const jobs[][2] = {
    { "x.yaml", "stage: sft\nfinetuning_type: full\nhub_token: S3CR\nmy_secret: {a: S3CR}\n" },
    { "x.yaml", "stage: sft\nfinetuning_type: full\napi_key: [S3CR\n" },
    { "x.json", "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 9}, "
                "\"hub\": {\"password\": \"S3CR\"}}" },
    { "x.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\nwandb_api_key = \"S3CR\"\n" },
    { "x.toml", "[model]\nwandb_api_key = \"S3CR\n" },
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GString)    text = g_string_new (NULL);
  g_autofree char       *said = NULL;
  g_autoptr (GPtrArray)  all = NULL;
  g_autoptr (JobAccount) account = NULL;

  all = load (jobs[_i][0], jobs[_i][1], user, FALSE, &account, diags);
  said = diag_list_format (diags, FALSE);
  if (account != NULL)
    for (guint i = 0; i < account->entries->len; i++)
      {
        const JobEntry *entry = g_ptr_array_index (account->entries, i);

        g_string_append_printf (text, "%s %s\n", entry->key, entry->value);
      }
  ck_assert_ptr_null (strstr (said, "S3CR"));
  ck_assert_ptr_null (strstr (text->str, "S3CR"));
}
END_TEST

START_TEST (test_many_keys)
{
  static const char *const user[] = { "cluster.name", "1 x dgx-h100", NULL };
  g_autoptr (GString)      text = g_string_new (TITAN "[training]\n");
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GPtrArray)    all = NULL;

  for (guint i = 0; i < 20000; i++)
    g_string_append_printf (text, "key%u = %u\n", i, i);
  all = load ("tt.toml", text->str, user, FALSE, NULL, diags);
  ck_assert_ptr_null (all);
  ck_assert_str_eq (diag_list_first_message (diags),
                    "it has 20002 keys, of which a job may have 20000");
}
END_TEST

/* What --as names and what the file has must go together. */
START_TEST (test_as)
{
  const JobRequest      request = { .as = "torchtitan" }, unknown = { .as = "torchtitam" };
  const char           *text = "{\"zero_optimization\": {\"stage\": 3}}";
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = job_load ("ds.json", text, &request, NULL, diags);
  g_autoptr (GPtrArray) none = job_load ("ds.json", text, &unknown, NULL, diags);
  g_autofree char      *said = diag_list_format (diags, FALSE);

  ck_assert (all == NULL && none == NULL);
  ck_assert_msg (strstr (said, "no key of it is one of torchtitan") != NULL, "%s", said);
  ck_assert_msg (strstr (said, "did you mean 'torchtitan'?") != NULL, "%s", said);
}
END_TEST

/* With --lenient what cannot be followed is a warning and stands in the account. */
START_TEST (test_lenient)
{
  static const char *const user[] = { "cluster.name", "1 x dgx-h100", NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (JobAccount)   account = NULL;
  g_autoptr (GPtrArray)    all = load ("tt.toml",
                                       TITAN "[parallelism]\npipeline_parallel_degree = 2\n"
                                                "pipeline_parallel_schedule = \"DualPipeV\"\n",
                                       user, TRUE, &account, diags);
  g_autofree char         *said = diag_list_format (diags, FALSE);

  ck_assert_msg (all != NULL, "%s", said);
  ck_assert_msg (strstr (said, "is not followed") != NULL, "%s", said);
  ck_assert_uint_eq (job_account_count (account, JOB_NOT_FOLLOWED), 1);
}
END_TEST

/* The user's word counts, and rows see it: a strategy of another kind drops the file's options. */
START_TEST (test_user_first)
{
  static const char *const user[] = {
    "cluster.name", "1 x dgx-h100", "strategy.name", "zero3", "training.micro_batch", "3", NULL
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all =
      load ("tt.toml", TITAN "[training]\nlocal_batch_size = 8\nseq_len = 1024\n", user, FALSE,
            NULL, diags);
  g_autofree char *said = diag_list_format (diags, FALSE), *strategy = NULL, *micro = NULL;

  ck_assert_msg (all != NULL, "%s", said);
  strategy = value_of (g_ptr_array_index (all, 0), "strategy.name");
  micro = value_of (g_ptr_array_index (all, 0), "training.micro_batch");
  ck_assert_str_eq (strategy, "zero3");
  ck_assert_str_eq (micro, "3");
}
END_TEST

/* A file beside the job's is read with it; one that is not there is said. */
static const struct
{
  const char *setting, *content, *strategy;
} beside[] = {
  { "deepspeed: part.json\n", "{\"zero_optimization\": {\"stage\": 1}}", "zero1" },
  { "fsdp: full_shard\nfsdp_config: part.json\n", "{\"version\": 2}", "fsdp2" }, /* as a map */
};

START_TEST (test_file_beside)
{
  static const char *const user[] = { "cluster.name", "1 x dgx-h100", NULL };
  g_autofree char         *folder = g_dir_make_tmp ("shardsim-job-XXXXXX", NULL);
  g_autofree char         *job = g_build_filename (folder, "sft.yaml", NULL);
  g_autofree char         *part = g_build_filename (folder, "part.json", NULL);
  g_autofree char *text = g_strconcat ("model_name_or_path: llama-3-8b\nlearning_rate: 1e-5\n"
                                       "per_device_train_batch_size: 1\nbf16: true\n",
                                       beside[_i].setting, NULL);

  for (guint there = 0; there < 2; there++)
    {
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (GPtrArray) all = NULL;
      g_autofree char      *said = NULL, *strategy = NULL;

      if (there)
        ck_assert (g_file_set_contents (part, beside[_i].content, -1, NULL));
      all = load (job, text, user, FALSE, NULL, diags);
      said = diag_list_format (diags, FALSE);
      ck_assert_int_eq (all != NULL, there);
      ck_assert_msg (there || strstr (said, "the file is not there") != NULL, "%s", said);
      if (all != NULL)
        strategy = value_of (g_ptr_array_index (all, 0), "strategy.name");
      ck_assert (!there || g_strcmp0 (strategy, beside[_i].strategy) == 0);
    }
  g_remove (part);
  g_rmdir (folder);
}
END_TEST

/* What 'import job' writes is the scenario that the job is. */
START_TEST (test_text)
{
  const Read            *read = &reads[_i];
  ScenarioOverride       overrides[4];
  guint                  n = 0;
  JobRequest             request = { .overrides = overrides };
  g_autofree char       *folder = g_dir_make_tmp ("shardsim-job-XXXXXX", NULL);
  g_autofree char       *file = g_build_filename (folder, read->file, NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (JobAccount) account = NULL;
  g_autofree char       *text = NULL, *first = NULL, *second = NULL;
  g_autoptr (GPtrArray)  all = NULL, again = NULL;

  for (; read->user[2 * n] != NULL; n++)
    overrides[n] = (ScenarioOverride){ read->user[2 * n], read->user[2 * n + 1], "test" };
  request.n_overrides = n;
  ck_assert (g_file_set_contents (file, read->text, -1, NULL));
  text = job_scenario_text (file, &request, &account, diags);
  ck_assert_ptr_nonnull (text);
  all = job_load (file, NULL, &request, NULL, diags);
  again = scenario_load_text (NULL, file, text, NULL, 0, diags);
  ck_assert_ptr_nonnull (all);
  ck_assert_msg (again != NULL, "%s", text);
  first = scenario_print (g_ptr_array_index (all, 0));
  second = scenario_print (g_ptr_array_index (again, 0));
  ck_assert_str_eq (first, second);
  g_remove (file);
  g_rmdir (folder);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

/* Every key that a framework is written by is read: by a row, or by the mapping. */
START_TEST (test_options_are_read)
{
  g_auto (GStrv)       names = framework_names (FALSE);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint n = 0; names[n] != NULL; n++)
    {
      g_autoptr (Framework) framework = framework_load (names[n], diags);

      ck_assert_ptr_nonnull (framework);
      ck_assert_msg (framework->readings->len == 0 || framework->detect[0] != NULL,
                     "%s is never detected", names[n]);
      for (guint i = 0; framework->readings->len > 0 && i < framework->options->len; i++)
        {
          const FrameworkOption *option = g_ptr_array_index (framework->options, i);
          gboolean               found = FALSE;
          const char            *rest;

          for (guint r = 0; r < framework->readings->len; r++)
            found |= framework_pattern_matches (
                ((FrameworkReading *) g_ptr_array_index (framework->readings, r))->match.name,
                option->key, &rest);
          for (guint r = 0; r < framework->rules->len; r++)
            {
              const FrameworkRule *rule = g_ptr_array_index (framework->rules, r);

              found |= rule->action == RULE_SET && rule->option == i;
            }
          ck_assert_msg (found, "%s: nothing reads '%s'", names[n], option->key);
        }
    }
}
END_TEST

/* Options that rows set are options of ours, or facts that are turned into some. */
START_TEST (test_rows_set_options)
{
  g_auto (GStrv)       names = framework_names (FALSE);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint n = 0; names[n] != NULL; n++)
    {
      g_autoptr (Framework) framework = framework_load (names[n], diags);

      for (guint i = 0; i < framework->readings->len; i++)
        {
          const FrameworkReading *row = g_ptr_array_index (framework->readings, i);
          const char             *option = row->option, *dot = strchr (option, '.');
          g_autofree char        *section =
              dot != NULL ? g_strndup (option, (gsize) (dot - option)) : NULL;
          const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL;
          gboolean          found = *option == '\0' || g_str_has_prefix (option, "fact.")
                           || g_str_equal (option, "strategy.name")
                           || (table != NULL && option_table_find (table, dot + 1) != NULL);

          for (const Strategy *const *list = strategy_list (); !found && *list != NULL; list++)
            found = g_strcmp0 (section, "strategy") == 0 && (*list)->options != NULL
                    && option_table_find ((*list)->options, dot + 1) != NULL;
          ck_assert_msg (found, "%s: no option '%s'", names[n], option);
        }
    }
}
END_TEST

/*
 * What is not followed is an error. A warning is for what something near is predicted of, what
 * depends on samples, and files that are not there: these rows and no others.
 */
START_TEST (test_warnings_are_few)
{
  static const char *const near[] = {
    "accelerate fsdp_config.fsdp_offload_params", /* FSDP2's offload */
    "hf-trainer fsdp",
    "deepspeed zero_optimization.stage", /* stage 2's offload */
    "deepspeed zero_optimization.offload_optimizer.pin_memory",
    "deepspeed zero_optimization.offload_param.pin_memory",
    "llm-foundry optimizer.name", /* one moment, as SGD with momentum */
    "axolotl sample_packing",     /* lengths of samples */
    "hf-trainer packing",
    "hf-trainer group_by_length",
    "hf-trainer auto_find_batch_size", /* which is known when it has run */
    "megatron-lm --reset-attention-mask",
    "hf-trainer deepspeed",           /* the file's name says much */
    "megatron-lm --deepspeed_config", /* the line has the stage */
    "megatron-lm --deepspeed-config",
    "megatron-lm --empty-unused-memory-level", /* the host's time for the cache */
    "axolotl optim",                           /* 4 bits a state as 8 */
    NULL,
  };
  g_auto (GStrv)       names = framework_names (FALSE);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint n = 0; names[n] != NULL; n++)
    {
      g_autoptr (Framework) framework = framework_load (names[n], diags);

      for (guint i = 0; i < framework->readings->len; i++)
        {
          const FrameworkReading *row = g_ptr_array_index (framework->readings, i);
          g_autofree char        *key = g_strdup_printf ("%s %s", names[n], row->match.name);

          ck_assert_msg (row->action != READING_WARN || row->level > 0
                             || g_strv_contains (near, key),
                         "'%s' only warns", key);
        }
    }
}
END_TEST

SUITE_MAIN (job)
{
  Suite *suite = suite_create ("job");
  TCase *tests = tcase_create ("job");

  tcase_add_loop_test (tests, test_reads, 0, G_N_ELEMENTS (reads));
  tcase_add_loop_test (tests, test_sayings, 0, G_N_ELEMENTS (sayings));
  tcase_add_loop_test (tests, test_secrets, 0, 5);
  tcase_add_test (tests, test_many_keys);
  tcase_add_test (tests, test_as);
  tcase_add_test (tests, test_lenient);
  tcase_add_test (tests, test_user_first);
  tcase_add_loop_test (tests, test_file_beside, 0, G_N_ELEMENTS (beside));
  tcase_add_loop_test (tests, test_text, 0, G_N_ELEMENTS (reads));
  tcase_add_test (tests, test_options_are_read);
  tcase_add_test (tests, test_rows_set_options);
  tcase_add_test (tests, test_warnings_are_few);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
