/*
 * How the frameworks' jobs say what context ranks exchange, in files as their users have them: what
 * is read, and what is refused with its reason. Sources: Megatron-LM, training/arguments.py
 * (cp_comm_type; hierarchical_context_parallel_sizes, whose product is the context ranks, the first
 * level of neighbours); Megatron-DeepSpeed, arguments.py; accelerate, docs/source/concept_guides/
 * sequence_parallelism.md; 360-LLaMA-Factory, README.
 */
#include <string.h>

#include "../suite.h"
#include "import/job/job.h"

#define MEGATRON                                                                              \
  "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 4 --hidden-size 4096 " \
  "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 32768 " \
  "--max-position-embeddings 32768 --micro-batch-size 1 --global-batch-size 16 --bf16 "       \
  "--vocab-size 32000 --use-distributed-optimizer --overlap-grad-reduce "

#define ACCELERATE(type)                                                                    \
  "compute_environment: LOCAL_MACHINE\ndistributed_type: " type "\nmixed_precision: bf16\n" \
  "num_machines: 2\nnum_processes: 16\nparallelism_config:\n"                               \
  "  parallelism_config_dp_replicate_size: 1\n  parallelism_config_dp_shard_size: 4\n"      \
  "  parallelism_config_sp_size: 4\n  parallelism_config_sp_backend: deepspeed\n"           \
  "  parallelism_config_sp_seq_length_is_variable: true\n"                                  \
  "  parallelism_config_sp_attn_implementation: flash_attention_2\n"

#define FACTORY(mode)                                                                           \
  "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: full\n"            \
  "template: llama3\ncutoff_len: 32768\nper_device_train_batch_size: 1\n"                       \
  "gradient_accumulation_steps: 2\nbf16: true\nflash_attn: fa2\ndeepspeed: ds_z3_config.json\n" \
  "sequence_parallel_size: 4\n" mode

#define FSDP_CONTEXT                                                                          \
  "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"       \
  "num_machines: 2\nnum_processes: 16\nfsdp_config: {fsdp_version: 2}\nparallelism_config:\n" \
  "  parallelism_config_dp_shard_size: 4\n  parallelism_config_cp_size: 4\n"

typedef struct
{
  const char *file, *text;
  gint64      cp;      /* 0: it is refused, */
  ContextKind context; /* else in this way */
  gint64      ulysses;
  const char *said; /* a part of the diagnostics; NULL: no matter */
} Case;

static const Case cases[] = {
  { "run.sh", MEGATRON "--context-parallel-size 4\n", 4, CONTEXT_RING, 1, NULL },
  { "run.sh", MEGATRON "--context-parallel-size 4 --cp-comm-type p2p\n", 4, CONTEXT_RING, 1, NULL },
  { "run.sh", MEGATRON "--context-parallel-size 4 --cp-comm-type allgather\n", 4,
    CONTEXT_ALL_GATHER, 1, NULL },
  { "run.sh", MEGATRON "--context-parallel-size 4 --cp-comm-type a2a\n", 4, CONTEXT_ULYSSES, 1,
    NULL },
  /* 8 neighbours that divide heads, in rings of 2; by a variable, and the other way round */
  { "run.sh",
    "CP=16\n" MEGATRON "--context-parallel-size $CP --cp-comm-type a2a+p2p \\\n"
    "  --hierarchical-context-parallel-sizes 8 2\n",
    16, CONTEXT_USP, 8, NULL },
  { "run.sh",
    MEGATRON "--hierarchical-context-parallel-sizes 2 8 --cp-comm-type a2a+p2p "
             "--context-parallel-size 16\n",
    16, CONTEXT_USP, 2, NULL },
  /* sizes beside another kind have no effect, as in Megatron-LM */
  { "run.sh",
    MEGATRON "--context-parallel-size 16 --cp-comm-type a2a "
             "--hierarchical-context-parallel-sizes 8 2\n",
    16, CONTEXT_ULYSSES, 1, NULL },
  { "run.sh",
    MEGATRON "--context-parallel-size 16 --cp-comm-type a2a+p2p "
             "--hierarchical-context-parallel-sizes 8 4\n",
    0, CONTEXT_USP, 0, "it is not the product of '--hierarchical-context-parallel-sizes': 32" },
  { "run.sh", MEGATRON "--context-parallel-size 16 --cp-comm-type a2a+p2p\n", 0, CONTEXT_USP, 0,
    "how many ranks divide heads is not said: '--hierarchical-context-parallel-sizes A R'" },
  { "run.sh", MEGATRON "--context-parallel-size 16 --cp-comm-type p2p a2a\n", 0, CONTEXT_RING, 0,
    "all layers exchange keys and values in one way here" },
  { "run.sh", MEGATRON "--ds-sequence-parallel-size 4\n", 4, CONTEXT_ULYSSES, 1, NULL },
  { "nemo.yaml",
    "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nmodel:\n  mcore_gpt: true\n"
    "  micro_batch_size: 1\n  global_batch_size: 16\n  encoder_seq_length: 32768\n"
    "  num_layers: 4\n  hidden_size: 4096\n  num_attention_heads: 32\n"
    "  context_parallel_size: 16\n  cp_comm_type: a2a+p2p\n"
    "  hierarchical_context_parallel_sizes: [8, 2]\n  tokenizer: {type: GPT2BPETokenizer}\n",
    16, CONTEXT_USP, 8, NULL },
  /* DeepSpeed's sequence parallelism is that of Ulysses, by its own file or by what launches it */
  { "ds.json",
    "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, "
    "\"zero_optimization\": {\"stage\": 3}, \"bf16\": {\"enabled\": true}, "
    "\"sequence_parallel_size\": 4}",
    4, CONTEXT_ULYSSES, 1, NULL },
  { "acc.yaml", ACCELERATE ("DEEPSPEED") "deepspeed_config:\n  zero_stage: 3\n", 4, CONTEXT_ULYSSES,
    1, NULL },
  { "acc.yaml", ACCELERATE ("FSDP") "fsdp_config: {fsdp_version: 2}\n", 0, CONTEXT_RING, 0,
    "its sequence parallelism is DeepSpeed's: 'distributed_type: DEEPSPEED'" },
  /* context ranks of FSDP2 gather keys, unless their blocks go round */
  { "acc.yaml", FSDP_CONTEXT, 4, CONTEXT_ALL_GATHER, 1, NULL },
  { "acc.yaml", FSDP_CONTEXT "  parallelism_config_cp_comm_strategy: allgather\n", 4,
    CONTEXT_ALL_GATHER, 1, NULL },
  { "acc.yaml", FSDP_CONTEXT "  parallelism_config_cp_comm_strategy: alltoall\n", 4, CONTEXT_RING,
    1, NULL },
  { "hf.yaml",
    "model_name_or_path: meta-llama/Llama-3.1-8B\noutput_dir: out\nmax_length: 32768\n"
    "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\n"
    "deepspeed: ds_z3_config.json\n"
    "parallelism_config: {sp_size: 4, sp_backend: deepspeed, dp_shard_size: 4}\n",
    4, CONTEXT_ULYSSES, 1, NULL },
  { "lf.yaml", FACTORY (""), 4, CONTEXT_RING, 1, NULL },
  { "lf.yaml", FACTORY ("sequence_parallel_mode: zigzag-ring\n"), 4, CONTEXT_RING, 1, NULL },
  { "lf.yaml", FACTORY ("sequence_parallel_mode: ulysses\n"), 4, CONTEXT_ULYSSES, 1, NULL },
  { "lf.yaml", FACTORY ("sequence_parallel_mode: usp\n"), 0, CONTEXT_RING, 0,
    "zigzag-ring or ulysses" },
};

START_TEST (test_contexts)
{
  static const ScenarioOverride given[] = { { "cluster.name", "2 x dgx-h100", "test" },
                                            { "model.config", "llama-3-8b", "test" },
                                            { "training.seq_len", "32768", "test" } };
  const Case                   *one = &cases[_i];
  const gboolean                has_model = strstr (one->text, "--num-layers") != NULL
                             || strstr (one->text, "num_layers") != NULL
                             || strstr (one->text, "model_name") != NULL;
  const JobRequest      request = { .overrides = given, .n_overrides = has_model ? 1 : 3 };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = job_load (one->file, one->text, &request, NULL, diags);
  g_autofree char      *said = diag_list_format (diags, FALSE);

  ck_assert_msg ((all != NULL) == (one->cp > 0), "%s", said);
  if (one->said != NULL)
    ck_assert_msg (strstr (said, one->said) != NULL, "'%s' is not in %s", one->said, said);
  if (all != NULL)
    {
      const MeshOptions *mesh = &((Scenario *) g_ptr_array_index (all, 0))->mesh;

      ck_assert_int_eq (mesh->cp, one->cp);
      ck_assert_int_eq ((ContextKind) mesh->context, one->context);
      ck_assert_int_eq (MAX (mesh->ulysses, 1), one->ulysses);
    }
}
END_TEST

SUITE_MAIN (job_context)
{
  Suite *suite = suite_create ("job-context");
  TCase *tcase = tcase_create ("job-context");

  tcase_add_loop_test (tcase, test_contexts, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
