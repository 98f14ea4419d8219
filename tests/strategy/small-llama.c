#include "small-llama.h"

#include <check.h>

/* OPTIONS of TABLE from "key=value;key=value". */
static void
set_all (const OptionSpec *table, gpointer options, const char *text, const char *between)
{
  g_auto (GStrv)       pairs = g_strsplit (text, between, -1);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (char **pair = pairs; *pair != NULL; pair++)
    {
      g_auto (GStrv) words = g_strsplit (*pair, "=", 2);

      ck_assert_msg (option_set_key (table, options, words[0], words[1], NULL, diags), "%s",
                     diag_list_first_message (diags));
    }
}

void
set_options (const Strategy *strategy, gpointer options, const char *text)
{
  option_table_defaults (strategy->options, options);
  set_all (strategy->options, options, text, ",");
}

typedef struct
{
  const char *training; /* NULL: nothing beside the rest */
  gboolean    clips, checkpoints, on_host, sliced, no_optimizer, lora;
  guint       in_splits, out_splits;

  FrameworkTraits traits;
} Extras;

static Workload *
build (guint blocks, guint micros, Extras extras, const MeshOptions *mesh, Workload **last)
{
  ModelOptions         options = { 0 };
  ModelShape           shape = { 0 };
  TrainingOptions      training = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  Workload            *workload;

  option_table_defaults (model_options, &options);
  option_table_defaults (training_options, &training);
  options.arch = g_strdup ("llama");
  options.n_layers = blocks;
  options.d_model = 64;
  options.n_heads = 4;
  options.n_kv_heads = 4;
  options.d_ff = 128;
  options.vocab = 100;
  training.seq_len = 32;
  training.micro_batch = 1;
  training.grad_accum = micros;
  training.clip_gradients = extras.clips;
  training.checkpointing = extras.checkpoints ? CHECKPOINT_FULL : CHECKPOINT_NONE;
  training.cpu_checkpointing = extras.on_host;
  if (extras.no_optimizer)
    training.optimizer = OPTIMIZER_NONE;
  training.partition_activations = extras.sliced;
  training.peft = extras.lora ? PEFT_LORA : PEFT_NONE;
  training.tiled_in_splits = extras.in_splits;
  training.tiled_out_splits = extras.out_splits;
  training.traits = extras.traits;
  if (extras.training != NULL)
    set_all (training_options, &training, extras.training, ";");
  ck_assert (model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  workload = mesh != NULL ? workload_new_stage (&shape, &training, mesh, 0)
                          : workload_new (&shape, &training);
  if (last != NULL)
    *last = workload_new_stage (&shape, &training, mesh, 1);
  model_shape_clear (&shape);
  option_table_clear (model_options, &options);
  option_table_clear (training_options, &training);
  return workload;
}

Workload *
llama_of (guint blocks, guint micros, const MeshOptions *mesh, Workload **last)
{
  return build (blocks, micros, (Extras){ 0 }, mesh, last);
}

Workload *
llama_clipped (guint blocks, guint micros)
{
  return build (blocks, micros, (Extras){ .clips = TRUE }, NULL, NULL);
}

Workload *
llama_checkpointed (guint blocks, guint micros, gboolean on_host)
{
  return build (blocks, micros, (Extras){ .checkpoints = TRUE, .on_host = on_host }, NULL, NULL);
}

Workload *
llama_sliced (guint blocks, guint micros, gboolean on_host)
{
  const Extras extras = { .checkpoints = TRUE, .on_host = on_host, .sliced = TRUE };
  MeshOptions  mesh = { 0 };
  Workload    *workload;

  option_table_defaults (mesh_options, &mesh);
  mesh.tp = 2;
  mesh_normalise (&mesh);
  workload = build (blocks, micros, extras, &mesh, NULL);
  option_table_clear (mesh_options, &mesh);
  return workload;
}

Workload *
llama_without_optimizer (guint blocks)
{
  return build (blocks, 1, (Extras){ .no_optimizer = TRUE }, NULL, NULL);
}

Workload *
llama_trained (guint blocks, const char *training)
{
  return build (blocks, 1, (Extras){ .training = training }, NULL, NULL);
}

Workload *
llama_staged (guint blocks, const char *training, const MeshOptions *mesh, Workload **last)
{
  return build (blocks, 2, (Extras){ .training = training }, mesh, last);
}

Workload *
llama_tiled (guint blocks, guint in_splits, guint out_splits)
{
  return build (blocks, 1, (Extras){ .in_splits = in_splits, .out_splits = out_splits }, NULL,
                NULL);
}

Workload *
llama_lora (guint blocks, guint micros)
{
  return build (blocks, micros, (Extras){ .in_splits = 1, .out_splits = 1, .lora = TRUE }, NULL,
                NULL);
}

Workload *
llama_of_framework (guint blocks, const FrameworkTraits *traits, const char *training)
{
  return build (blocks, 1, (Extras){ .traits = *traits, .training = training }, NULL, NULL);
}

Schedule *
schedule_under (const Workload *workload, const Mesh *mesh, const char *strategy,
                const char *options)
{
  const Strategy      *found = strategy_find (strategy);
  g_autofree gpointer  own = g_malloc0 (found->options_size);
  const PlanInput      in = { .workload = workload, .mesh = *mesh };
  const StrategyChoice choice = { found, own, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  Schedule            *schedule;

  set_options (found, own, options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL && schedule_check (schedule, &in.mesh, NULL, diags), "%s",
                 diag_list_first_message (diags));
  option_table_clear (found->options, own);
  return schedule;
}
