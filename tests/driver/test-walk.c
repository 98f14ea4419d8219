/*
 * The driver's walk: the exact sequence of a small model, and properties over random shapes (every
 * kernel once, in its unit's bracket). Does not judge the workload's numbers.
 */
#include <check.h>
#include <stdlib.h>

#include "../schedule/anywhere.h"
#include "../schedule/toy.h"
#include "../suite.h"

static const ToyOptions sound = { 0 };

/* ---- exact sequence -------------------------------------------------------------------------- */

static const char *
short_name (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && item->phase != PHASE_OPTIMIZER
             ? "kernels"
             : schedule_item_kind_name (item->kind);
}

/*
 * "phase unit: kind(label) ..." with a line for each run of one phase and unit; the model's kernels
 * that follow each other are one word.
 */
static char *
outline (const Schedule *schedule, guint role, ScheduleSection section)
{
  ScheduleItems items = schedule_items (schedule, role, section);
  GString      *text = g_string_new (NULL);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i], *before = i > 0 ? item - 1 : NULL;
      gboolean same = before != NULL && before->phase == item->phase && before->unit == item->unit;
      const char *unit =
          item->unit != SCHEDULE_NONE ? schedule_unit_name (schedule, item->unit) : "-";

      if (!same)
        g_string_append_printf (text, "%s%s %s:", before != NULL ? "\n" : "",
                                schedule_phase_name (item->phase), unit);
      if (same && g_str_equal (short_name (item), "kernels")
          && g_str_equal (short_name (before), "kernels"))
        continue;
      g_string_append_printf (text, " %s", short_name (item));
      if (item->label != NULL && !g_str_equal (short_name (item), "kernels"))
        g_string_append_printf (text, "(%s)", item->label);
    }
  return g_string_free (text, FALSE);
}

static void
assert_outline (const Schedule *schedule, ScheduleSection section, const char *expected)
{
  g_autofree char *text = outline (schedule, 0, section);

  ck_assert_str_eq (text, expected);
}

#define GATHER "alloc(gathered) record wait collective(gather) record wait kernels"
#define FORWARD(unit) \
  "forward " unit ": alloc(saved) alloc(working) " GATHER " free(gathered) free(working)\n"
#define BACKWARD(unit)                         \
  "backward " unit ": alloc(backward) " GATHER \
  " record wait collective(reduce) free(gathered) free(backward) free(saved)\n"
#define END                                \
  "optimizer -: record wait kernel(sgd)\n" \
  "none -: record host_wait step"

START_TEST (walks_two_layers)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  const StrategyChoice choice = { &toy_layer, &sound, NULL };
  g_autoptr (Schedule) schedule = toy_build (workload, 4, &choice);

  assert_outline (schedule, SECTION_INIT, "none -: alloc(shard) record");
  assert_outline (schedule, SECTION_FIRST,
                  "forward -: alloc(first) free(first)\n" FORWARD ("embedding") FORWARD ("block 0")
                      FORWARD ("block 1") FORWARD ("head") BACKWARD ("head") BACKWARD ("block 1")
                          BACKWARD ("block 0") BACKWARD ("embedding") END);
  assert_outline (schedule, SECTION_STEADY,
                  FORWARD ("embedding") FORWARD ("block 0") FORWARD ("block 1") FORWARD ("head")
                      BACKWARD ("head") BACKWARD ("block 1") BACKWARD ("block 0")
                          BACKWARD ("embedding") END);
}
END_TEST

/* ---- what the driver allocates --------------------------------------------------------------- */

static void
assert_buffer (const Schedule *schedule, guint layer, const char *label, PoolCategory category,
               guint64 bytes)
{
  guint n_found = 0;

  for (guint b = 0; b < schedule_n_buffers (schedule, 0); b++)
    {
      const ScheduleBuffer *buffer = schedule_buffer_info (schedule, 0, b);

      if (g_strcmp0 (buffer->label, label) != 0
          || schedule_unit_layer (schedule, buffer->unit) != layer)
        continue;
      ck_assert_uint_eq (buffer->bytes, bytes);
      ck_assert_int_eq (buffer->category, category);
      ck_assert_int_eq (buffer->place, PLACE_HBM);
      n_found++;
    }
  ck_assert_uint_eq (n_found, bytes > 0 ? 2 : 0); /* the first and the steady period */
}

START_TEST (allocates_activations_of_each_layer)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  const StrategyChoice choice = { &toy_module, &sound, NULL };
  g_autoptr (Schedule) schedule = toy_build (workload, 4, &choice);

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      assert_buffer (schedule, l, "working", POOL_ACTIVATION, layer->working_bytes);
      assert_buffer (schedule, l, "saved", POOL_ACTIVATION, layer->saved_bytes);
      assert_buffer (schedule, l, "backward", POOL_WORKSPACE, layer->backward_bytes);
    }
}
END_TEST

/* ---- what hooks see -------------------------------------------------------------------------- */

/* A strategy whose options are the text that its hooks append to, and whose period is 2 steps. */
static GString *
witness_text (StrategyRun *run)
{
  return *(GString *const *) run->options;
}

static guint
witness_period (const PlanInput *in, gconstpointer opt)
{
  (void) in;
  (void) opt;
  return 2;
}

static void
witness_init (StrategyRun *run)
{
  data_anywhere (run);
  *(guint *) run->state = 40 + run->n_units;
  g_string_append_printf (witness_text (run), "init of section %d\n", run->section);
}

static void
witness_clear (StrategyRun *run)
{
  g_string_append_printf (witness_text (run), "clear %u", *(const guint *) run->state);
}

static void
witness_step_begin (StrategyRun *run)
{
  g_string_append_printf (witness_text (run), "section %d step %u:", run->section, run->step);
}

static const char
    use_letters[] = { [USE_FORWARD] = 'F', [USE_RECOMPUTATION] = 'R', [USE_BACKWARD] = 'B' };

static void
witness_begin (StrategyRun *run, const UnitSlot *slot)
{
  if (slot->unit == 0 && slot->use == USE_FORWARD)
    g_string_append_printf (witness_text (run), " micro %u%s%s", slot->micro,
                            slot->first ? " first" : "", slot->last ? " last" : "");
  g_string_append_printf (witness_text (run), " (%c%u", use_letters[slot->use], slot->unit);
}

static void
witness_end (StrategyRun *run, const UnitSlot *slot)
{
  ck_assert_ptr_eq (slot->plan, &run->units[slot->unit]);
  ck_assert_uint_eq (slot->micro, run->micro);
  g_string_append_printf (witness_text (run), " %c%u", use_letters[slot->use], slot->unit);
}

static void
witness_gradient (StrategyRun *run, const UnitSlot *slot)
{
  g_string_append_printf (witness_text (run), " [%u", slot->unit);
}

static void
witness_ready (StrategyRun *run, const UnitSlot *slot)
{
  g_string_append_printf (witness_text (run), " %u%s", slot->unit, slot->last ? "!" : "");
}

static void
witness_chunk (StrategyRun *run, const UnitSlot *slot)
{
  g_string_append_printf (witness_text (run), " chunk %u-%u", slot->first_unit, slot->end_unit);
}

static void
witness_done (StrategyRun *run)
{
  g_string_append (witness_text (run), " done");
}

static void
witness_turn (StrategyRun *run)
{
  g_string_append (witness_text (run), " turn");
}

static void
witness_micro_end (StrategyRun *run)
{
  g_string_append_printf (witness_text (run), " end of %u", run->micro);
}

static void
witness_update (StrategyRun *run)
{
  g_string_append (witness_text (run), " update\n");
}

static void
witness_round (StrategyRun *run)
{
  g_string_append_printf (witness_text (run), "round ends with step %u\n", run->step);
}

static const Strategy witness = {
  .api = STRATEGY_API_VERSION,
  .name = "witness",
  .options_size = sizeof (GString *),
  .period = witness_period,
  .hooks = { .state_size = sizeof (guint),
             .granularity = UNIT_LAYER,
             .init = witness_init,
             .clear = witness_clear,
             .step_begin = witness_step_begin,
             .use_begin = witness_begin,
             .use_end = witness_end,
             .backward_begin = witness_turn,
             .gradient_begin = witness_gradient,
             .gradient_ready = witness_ready,
             .chunk_end = witness_chunk,
             .micro_step_end = witness_micro_end,
             .backward_done = witness_done,
             .step_end = witness_update,
             .round_end = witness_round },
};

#define FORWARD_WALK         " (F0 F0 (F1 F1 (F2 F2 turn"
#define BACKWARD_WALK(ready) " (B2 [2 B2 2" ready " (B1 [1 B1 1" ready " (B0 [0 B0 0" ready
#define STEP_WALK                                                                        \
  " micro 0 first" FORWARD_WALK BACKWARD_WALK ("") " end of 0 micro 1 last" FORWARD_WALK \
                                BACKWARD_WALK ("!") " chunk 0-3 end of 1 done update\n"

/*
 * One block, two micro-steps; under an outer strategy of two periods, so that the inner step starts
 * again.
 */
START_TEST (hooks_see_where_the_walk_stands)
{
  ModelShape            shape = toy_shape;
  TrainingOptions       training = toy_training;
  const ToyOuterOptions two = { 2 };
  g_autoptr (GString)   text = g_string_new (NULL);
  const StrategyChoice  inner = { &witness, &text, NULL };
  const StrategyChoice  outer = { &toy_outer, &two, &inner };
  g_autoptr (Workload)  workload = NULL;
  g_autoptr (Schedule)  schedule = NULL;

  shape.n_layers = 1;
  training.grad_accum = 2;
  workload = workload_new (&shape, &training);
  schedule = toy_build (workload, 4, &outer);
  ck_assert_uint_eq (schedule_steps_per_period (schedule), 4);
  ck_assert_str_eq (
      text->str,
      "init of section 0\n"
      "section 1 step 0:" STEP_WALK "section 1 step 1:" STEP_WALK "round ends with step 1\n"
      "section 1 step 0:" STEP_WALK "section 1 step 1:" STEP_WALK "round ends with step 1\n"
      "section 2 step 0:" STEP_WALK "section 2 step 1:" STEP_WALK "round ends with step 1\n"
      "section 2 step 0:" STEP_WALK "section 2 step 1:" STEP_WALK "round ends with step 1\n"
      "clear 43");
}
END_TEST

/* ---- hooks under pipelines ------------------------------------------------------------------- */

/* How often each hook was called, of all stages. Options are a pointer to it. */
typedef struct
{
  guint forward, backward, begun, ready, last, chunks, micro_steps, done;
  guint open; /* gradients that began and are not complete */
} HookCounts;

static HookCounts *
counts_of (StrategyRun *run)
{
  return *(HookCounts *const *) run->options;
}

static void
count_use (StrategyRun *run, const UnitSlot *slot)
{
  counts_of (run)->forward += slot->use == USE_FORWARD;
  counts_of (run)->backward += slot->use == USE_BACKWARD;
}

static void
count_begun (StrategyRun *run, const UnitSlot *slot)
{
  (void) slot;
  counts_of (run)->begun++;
  counts_of (run)->open++;
}

static void
count_ready (StrategyRun *run, const UnitSlot *slot)
{
  ck_assert_uint_gt (counts_of (run)->open, 0);
  counts_of (run)->ready++;
  counts_of (run)->open--;
  counts_of (run)->last += slot->last;
}

static void
count_chunk (StrategyRun *run, const UnitSlot *slot)
{
  ck_assert_uint_eq (slot->unit, slot->first_unit);
  counts_of (run)->chunks++;
}

static void
count_micro_step (StrategyRun *run)
{
  counts_of (run)->micro_steps++;
}

static void
count_done (StrategyRun *run)
{
  ck_assert_uint_eq (counts_of (run)->open, 0);
  counts_of (run)->done++;
}

static const Strategy counter = {
  .api = STRATEGY_API_VERSION,
  .name = "counter",
  .options_size = sizeof (HookCounts *),
  .hooks = { .granularity = UNIT_LAYER,
             .init = data_anywhere,
             .use_begin = count_use,
             .gradient_begin = count_begun,
             .gradient_ready = count_ready,
             .chunk_end = count_chunk,
             .micro_step_end = count_micro_step,
             .backward_done = count_done },
};

/*
 * Whether a backward pass is split or not, a gradient is begun and complete once a micro-step, and
 * last once a step; each chunk ends once, and each stage is done once. In two periods.
 */
START_TEST (hooks_do_not_see_split_passes)
{
  const PipelineKind   kind = (PipelineKind) (PIPELINE_GPIPE + _i);
  const guint          pp = 2, micros = 4;
  ModelShape           shape = toy_shape;
  TrainingOptions      training = toy_training;
  MeshOptions          mesh = { 0 };
  HookCounts           counts = { 0 }, *pointer = &counts;
  const StrategyChoice choice = { &counter, &pointer, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) first = NULL, second = NULL;
  g_autoptr (Schedule) schedule = NULL;
  const Workload      *stages[2];
  PlanInput in = { .mesh = { .n_ranks = 1, .world = 2, .ranks_per_node = 2, .stages = 2 } };
  guint     units, chunks = kind >= PIPELINE_ZBV || kind == PIPELINE_INTERLEAVED ? 2 : 1;
  guint     copies = kind == PIPELINE_DUALPIPE ? 2 : 1;

  option_table_defaults (mesh_options, &mesh);
  mesh.pp = pp;
  mesh.pipeline = (gint) kind;
  mesh.vp = kind == PIPELINE_INTERLEAVED ? 2 : 1;
  mesh_normalise (&mesh);
  shape.n_layers = 4;
  training.grad_accum = micros;
  stages[0] = first = workload_new_stage (&shape, &training, &mesh, 0);
  stages[1] = second = workload_new_stage (&shape, &training, &mesh, 1);
  in.workload = stages[0];
  in.stages = stages;
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  units = 6; /* embedding, blocks, head; each micro-batch passes all of them once */
  ck_assert_uint_eq (counts.forward, 2 * units * micros);
  ck_assert_uint_eq (counts.backward, 2 * units * micros);
  ck_assert_uint_eq (counts.begun, 2 * units * micros);
  ck_assert_uint_eq (counts.ready, 2 * units * micros);
  ck_assert_uint_eq (counts.last, 2 * units * copies);
  ck_assert_uint_eq (counts.chunks, 2 * pp * chunks);
  ck_assert_uint_eq (counts.micro_steps, 2 * pp * chunks * (micros / copies));
  ck_assert_uint_eq (counts.done, 2 * pp);
  option_table_clear (mesh_options, &mesh);
}
END_TEST

/* Kernels of NAME in the steps of all roles. */
static guint
count_named (const Schedule *schedule, const char *name)
{
  guint n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    {
      ScheduleItems items = schedule_items (schedule, role, SECTION_STEADY);

      for (guint i = 0; i < items.n; i++)
        n += items.items[i].kind == ITEM_KERNEL && g_str_equal (items.items[i].kernel->name, name);
    }
  return n;
}

/*
 * Four blocks on two stages, four micro-steps: each block's weight is cast once a step (DualPipe:
 * on both stages that have the block), its input in each micro-step.
 */
START_TEST (casts_cached_weights_once)
{
  const PipelineKind   kind = (PipelineKind) (PIPELINE_GPIPE + _i);
  ModelShape           shape = toy_shape;
  TrainingOptions      training = toy_training;
  MeshOptions          mesh = { 0 };
  const StrategyChoice choice = { &toy_layer, &sound, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) first = NULL, second = NULL;
  g_autoptr (Schedule) schedule = NULL;
  const Workload      *stages[2];
  PlanInput in = { .mesh = { .n_ranks = 1, .world = 2, .ranks_per_node = 2, .stages = 2 } };

  option_table_defaults (mesh_options, &mesh);
  mesh.pp = 2;
  mesh.pipeline = (gint) kind;
  mesh.vp = kind == PIPELINE_INTERLEAVED ? 2 : 1;
  mesh_normalise (&mesh);
  shape.n_layers = 4;
  training.grad_accum = 4;
  training.fp8_recipe = FP8_DELAYED;
  training.traits.caches_fp8_weights = TRUE;
  stages[0] = first = workload_new_stage (&shape, &training, &mesh, 0);
  stages[1] = second = workload_new_stage (&shape, &training, &mesh, 1);
  in.workload = stages[0];
  in.stages = stages;
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (count_named (schedule, "mlp.down.weight.cast"),
                     kind == PIPELINE_DUALPIPE ? 8 : 4);
  ck_assert_uint_eq (count_named (schedule, "mlp.down.input.cast"), 4 * 4);
  option_table_clear (mesh_options, &mesh);
}
END_TEST

/* ---- every kernel once, in order, in its unit ------------------------------------------------ */

typedef struct
{
  const KernelDesc *kernels;
  guint             n;
} KernelList;

static KernelList
kernel_list (const LayerDesc *layer, SchedulePhase phase)
{
  switch (phase)
    {
    case PHASE_FORWARD:
      return (KernelList){ layer->forward, layer->n_forward };
    case PHASE_RECOMPUTE:
      return (KernelList){ layer->recompute, layer->n_recompute };
    default:
      return (KernelList){ layer->backward, layer->n_backward };
    }
}

/*
 * The kernels of one layer's pass start at items[at]: all of the list, each once, as listed.
 * Returns where they end.
 */
static guint
assert_pass (const Workload *workload, const GArray *units, const GArray *items, guint at,
             guint layer, SchedulePhase phase)
{
  KernelList list = kernel_list (workload_layer (workload, layer), phase);

  for (guint k = 0; k < list.n; k++, at++)
    {
      const ScheduleItem *item;
      const PlanUnit     *unit;

      ck_assert_uint_lt (at, items->len);
      item = &g_array_index (items, ScheduleItem, at);
      unit = &g_array_index (units, PlanUnit, item->unit);
      ck_assert_ptr_eq (item->kernel, &list.kernels[k]);
      ck_assert_int_eq (item->phase, phase);
      ck_assert_uint_eq (unit->layer, layer);
      if (item->kernel->module >= 0 && unit->module >= 0)
        ck_assert_int_eq (item->kernel->module, unit->module);
    }
  return at;
}

static GArray *
model_kernels (const Schedule *schedule, ScheduleSection section)
{
  ScheduleItems items = schedule_items (schedule, 0, section);
  GArray       *kernels = g_array_new (FALSE, FALSE, sizeof (ScheduleItem));

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && items.items[i].phase != PHASE_OPTIMIZER)
      g_array_append_val (kernels, items.items[i]);
  return kernels;
}

static void
assert_partition (const Schedule *schedule, UnitGranularity granularity, ScheduleSection section,
                  guint n_micro)
{
  const Workload    *workload = schedule_role_workload (schedule, 0);
  g_autoptr (GArray) kernels = model_kernels (schedule, section);
  g_autoptr (GArray) units = plan_units (workload, granularity);
  guint              n_layers = workload_n_layers (workload);
  guint              at = 0;

  for (guint m = 0; m < n_micro; m++)
    {
      for (guint l = 0; l < n_layers; l++)
        at = assert_pass (workload, units, kernels, at, l, PHASE_FORWARD);
      for (guint l = n_layers; l-- > 0;)
        {
          at = assert_pass (workload, units, kernels, at, l, PHASE_RECOMPUTE);
          at = assert_pass (workload, units, kernels, at, l, PHASE_BACKWARD);
        }
    }
  ck_assert_uint_eq (at, kernels->len);
}

static ModelShape
random_shape (GRand *rand)
{
  ModelShape shape = toy_shape;

  shape.n_layers = g_rand_int_range (rand, 1, 5);
  shape.head_dim = G_GINT64_CONSTANT (8) * g_rand_int_range (rand, 1, 5);
  shape.n_kv_heads = g_rand_int_range (rand, 1, 4);
  shape.n_heads = shape.n_kv_heads * g_rand_int_range (rand, 1, 4);
  shape.d_model = shape.n_heads * shape.head_dim;
  shape.d_ff = G_GINT64_CONSTANT (8) * g_rand_int_range (rand, 1, 40);
  shape.vocab = g_rand_int_range (rand, 10, 1000);
  shape.gated_mlp = g_rand_boolean (rand);
  shape.tied_embeddings = g_rand_boolean (rand);
  shape.attention_bias = shape.output_bias = g_rand_boolean (rand);
  shape.mlp_bias = g_rand_boolean (rand);
  shape.qk_norm = g_rand_boolean (rand);
  shape.norm = g_rand_boolean (rand) ? MODEL_NORM_RMS : MODEL_NORM_LAYER;
  shape.position = g_rand_boolean (rand) ? MODEL_POSITION_ROTARY : MODEL_POSITION_LEARNED;
  shape.max_positions = 64;
  if (g_rand_int_range (rand, 0, 3) == 0)
    {
      shape.n_experts = g_rand_int_range (rand, 2, 9);
      shape.n_experts_per_token = g_rand_int_range (rand, 1, 3);
      shape.d_expert = 16;
      shape.moe_period = 1;
    }
  return shape;
}

static TrainingOptions
random_training (GRand *rand)
{
  TrainingOptions training = toy_training;

  training.grad_accum = g_rand_int_range (rand, 1, 4);
  training.checkpointing = g_rand_int_range (rand, 0, 3);
  training.attention = g_rand_int_range (rand, 0, 4);
  training.fused_norm = g_rand_boolean (rand);
  training.compile = g_rand_boolean (rand);
  return training;
}

START_TEST (emits_every_kernel_once)
{
  const guint32     seed = 20240611;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint n = 0; n < 300; n++)
    {
      ModelShape           shape = random_shape (rand);
      TrainingOptions      training = random_training (rand);
      g_autoptr (Workload) workload = workload_new (&shape, &training);
      const StrategyChoice choice = { n % 2 == 0 ? &toy_layer : &toy_module, &sound, NULL };
      g_autoptr (Schedule) schedule = toy_build (workload, 4, &choice);
      const Mesh           mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 };
      g_autoptr (DiagList) diags = diag_list_new ();

      g_printerr ("# seed %u case %u\n", seed, n);
      assert_partition (schedule, choice.strategy->hooks.granularity, SECTION_FIRST,
                        (guint) training.grad_accum);
      assert_partition (schedule, choice.strategy->hooks.granularity, SECTION_STEADY,
                        (guint) training.grad_accum);
      ck_assert_msg (schedule_check (schedule, &mesh, NULL, diags), "%s",
                     diag_list_first_message (diags));
    }
}
END_TEST

/* ---- units ----------------------------------------------------------------------------------- */

static void
assert_units_cover (const Workload *workload, UnitGranularity granularity)
{
  g_autoptr (GArray) units = plan_units (workload, granularity);
  guint64            owned = 0;

  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      owned += unit->own_elements;
      ck_assert_uint_le (unit->shares, u);
      ck_assert_uint_ge (unit->layer, u > 0 ? (unit - 1)->layer : 0);
    }
  ck_assert_uint_eq (owned, workload_n_parameters (workload));
}

START_TEST (units_own_every_parameter_once)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint n = 0; n < 200; n++)
    {
      ModelShape           shape = random_shape (rand);
      g_autoptr (Workload) workload = workload_new (&shape, &toy_training);

      assert_units_cover (workload, UNIT_LAYER);
      assert_units_cover (workload, UNIT_MODULE);
    }
}
END_TEST

START_TEST (tied_heads_share_the_embedding)
{
  ModelShape           shape = toy_shape;
  g_autoptr (Workload) workload = NULL;
  g_autoptr (GArray)   layers = NULL, modules = NULL;
  const PlanUnit      *head, *table;

  shape.tied_embeddings = TRUE;
  workload = workload_new (&shape, &toy_training);
  layers = plan_units (workload, UNIT_LAYER);
  modules = plan_units (workload, UNIT_MODULE);

  ck_assert_uint_eq (layers->len, 4);
  head = &g_array_index (layers, PlanUnit, 3);
  ck_assert_uint_eq (head->shares, 0);
  ck_assert_uint_eq (head->elements, 64); /* its norm */
  ck_assert_uint_eq (head->own_elements, 64);

  table = &g_array_index (modules, PlanUnit, modules->len - 1);
  ck_assert_int_eq (table->module, -1);
  ck_assert_uint_eq (table->layer, 3);
  ck_assert_uint_eq (table->elements, 512UL * 64);
  ck_assert_uint_eq (table->own_elements, 0);
  ck_assert_uint_eq (table->shares, 0);
  ck_assert_ptr_eq (table->tensors, &workload_layer (workload, 0)->tensors[0]);
}
END_TEST

/*
 * The head's product runs inside the bracket of the unit that gathers the table, forward and
 * backward.
 */
START_TEST (tied_product_runs_in_the_tables_unit)
{
  ModelShape           shape = toy_shape;
  const StrategyChoice choice = { &toy_module, &sound, NULL };
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;
  ScheduleItems        items;
  guint                n_products = 0;

  shape.tied_embeddings = TRUE;
  workload = workload_new (&shape, &toy_training);
  schedule = toy_build (workload, 4, &choice);
  items = schedule_items (schedule, 0, SECTION_STEADY);
  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && items.items[i].kernel->kind == KERNEL_MATMUL
        && schedule_unit_layer (schedule, items.items[i].unit) == 3)
      {
        ck_assert_uint_eq (items.items[i].unit, schedule_n_units (schedule) - 1);
        n_products++;
      }
  ck_assert_uint_eq (n_products, 3); /* forward, gradient of the input, gradient of the weight */
}
END_TEST

/* ---- recomputation --------------------------------------------------------------------------- */

static guint
count_items (const Schedule *schedule, ScheduleSection section, ItemKind kind, const char *label,
             SchedulePhase phase)
{
  ScheduleItems items = schedule_items (schedule, 0, section);
  guint         n = 0;

  for (guint i = 0; i < items.n; i++)
    n += items.items[i].kind == kind
         && (label == NULL || g_strcmp0 (items.items[i].label, label) == 0)
         && (phase == PHASE_N || items.items[i].phase == phase);
  return n;
}

static Schedule *
build_checkpointed (const Workload *workload, const Strategy *strategy)
{
  const StrategyChoice choice = { strategy, &sound, NULL };

  return toy_build (workload, 4, &choice);
}

/*
 * Modules of a block run their forward hooks again; a block that is one unit is gathered once for
 * both.
 */
START_TEST (recomputation_calls_module_hooks)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) modules = NULL, layers = NULL;
  guint                n_modules;

  training.checkpointing = CHECKPOINT_FULL;
  workload = workload_new (&toy_shape, &training);
  modules = build_checkpointed (workload, &toy_module);
  layers = build_checkpointed (workload, &toy_layer);
  n_modules = workload_layer (workload, 1)->n_modules;

  ck_assert_uint_gt (workload_layer (workload, 1)->n_recompute, 0);
  ck_assert_uint_eq (
      count_items (modules, SECTION_STEADY, ITEM_COLLECTIVE, "gather", PHASE_RECOMPUTE),
      2UL * n_modules);
  ck_assert_uint_eq (
      count_items (layers, SECTION_STEADY, ITEM_COLLECTIVE, "gather", PHASE_RECOMPUTE), 0);
  ck_assert_uint_gt (count_items (layers, SECTION_STEADY, ITEM_KERNEL, NULL, PHASE_RECOMPUTE), 0);
}
END_TEST

/* Only the attention core is repeated: it reads no parameters, so nothing is gathered for it. */
START_TEST (selective_recomputation_gathers_nothing)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;

  training.checkpointing = CHECKPOINT_SELECTIVE;
  training.attention = ATTENTION_EAGER;
  workload = workload_new (&toy_shape, &training);
  schedule = build_checkpointed (workload, &toy_module);

  ck_assert_uint_gt (count_items (schedule, SECTION_STEADY, ITEM_KERNEL, NULL, PHASE_RECOMPUTE), 0);
  ck_assert_uint_eq (count_items (schedule, SECTION_STEADY, ITEM_COLLECTIVE, NULL, PHASE_RECOMPUTE),
                     0);
}
END_TEST

/* ---- nesting --------------------------------------------------------------------------------- */

START_TEST (inner_hooks_run_under_an_outer_strategy)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const ToyOuterOptions three = { 3 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };
  const StrategyChoice  outer = { &toy_outer, &three, &inner };
  g_autoptr (Schedule)  schedule = toy_build (workload, 8, &outer);
  const ScheduleComm   *shard = schedule_comm_info (schedule, 0);

  ck_assert_uint_eq (schedule_steps_per_period (schedule), 3);
  ck_assert_str_eq (shard->name, "shard"); /* the inner strategy sees half of the mesh */
  ck_assert_uint_eq (shard->group.size, 4);
  ck_assert_uint_eq (count_items (schedule, SECTION_STEADY, ITEM_STEP, NULL, PHASE_N), 3);
  ck_assert_uint_eq (
      count_items (schedule, SECTION_STEADY, ITEM_COLLECTIVE, "reduce", PHASE_BACKWARD), 12);
  ck_assert_uint_eq (
      count_items (schedule, SECTION_STEADY, ITEM_COLLECTIVE, "average", PHASE_OUTER), 1);
  ck_assert_uint_eq (count_items (schedule, SECTION_FIRST, ITEM_COLLECTIVE, "average", PHASE_OUTER),
                     1);
}
END_TEST

START_TEST (rounds_nest)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const ToyOuterOptions two = { 2 }, three = { 3 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };
  const StrategyChoice  middle = { &toy_outer, &three, &inner };
  const StrategyChoice  outer = { &toy_outer, &two, &middle };
  g_autoptr (Schedule)  schedule = toy_build (workload, 8, &outer);
  g_autofree char      *text = outline (schedule, 0, SECTION_STEADY);

  ck_assert_uint_eq (schedule_steps_per_period (schedule), 6);
  ck_assert_uint_eq (schedule_comm_info (schedule, 0)->group.size, 2);
  ck_assert_uint_eq (
      count_items (schedule, SECTION_STEADY, ITEM_COLLECTIVE, "average", PHASE_OUTER), 2 + 1);
  /* both close their round after the last optimizer and before the last host wait */
  ck_assert (g_str_has_suffix (text, "optimizer -: record wait kernel(sgd)\n"
                                     "outer -: collective(average) collective(average)\n"
                                     "none -: record host_wait step"));
}
END_TEST

START_TEST (outer_hooks_extend_inner_ones)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const ToyOuterOptions one = { 1 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };
  const StrategyChoice  outer = { &toy_extending, &one, &inner };
  g_autoptr (Schedule)  schedule = toy_build (workload, 4, &outer);
  g_autofree char      *text = outline (schedule, 0, SECTION_STEADY);

  assert_outline (schedule, SECTION_INIT, "none -: alloc(shard) record alloc(outer state)");
  ck_assert_uint_eq (count_items (schedule, SECTION_STEADY, ITEM_HOST_HOOK, NULL, PHASE_FORWARD),
                     4);
  ck_assert_uint_eq (
      count_items (schedule, SECTION_STEADY, ITEM_COLLECTIVE, "gather", PHASE_FORWARD), 4);
  ck_assert (
      g_str_has_suffix (text, "kernel(sgd) copy(outer copy)\nnone -: record host_wait step"));
}
END_TEST

/* ---- what schedule_build refuses ------------------------------------------------------------- */

static void
assert_refused (const StrategyChoice *choice, const char *message) /* as it begins */
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (schedule_build (&in, choice, diags));
  ck_assert_msg (g_str_has_prefix (diag_list_first_message (diags), message), "%s",
                 diag_list_first_message (diags));
}

START_TEST (refuses_stacks_that_do_not_fit)
{
  const ToyOuterOptions one = { 1 }, big = { 1u << 20 }, huge = { 1u << 30 };
  const ToyOptions      gaps = { .fault = TOY_ROLES_WITH_GAPS, .n_roles = 2 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };

  assert_refused (&(StrategyChoice){ &toy_outer, &one, NULL },
                  "strategy 'toy-outer' needs an inner strategy");
  assert_refused (&(StrategyChoice){ &toy_layer, &sound, &inner },
                  "strategy 'toy-layer' takes no inner strategy ('toy-layer' given)");
  assert_refused (&(StrategyChoice){ &toy_layer, &gaps, NULL },
                  "strategy 'toy-layer' does not number its roles from 0 without gaps");
  assert_refused (
      &(StrategyChoice){ &toy_outer, &huge, &inner },
      "strategy 'toy-outer': a period of 1073741824 steps is too long (at most 33554432)");
  assert_refused (&(StrategyChoice){ &toy_outer, &big, &inner },
                  "strategy 'toy-outer': a period of 1048576 steps would take ");
}
END_TEST

static guint
items_of_period (gint64 grad_accum)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;
  const StrategyChoice choice = { &toy_layer, &sound, NULL };

  training.grad_accum = grad_accum;
  workload = workload_new (&toy_shape, &training);
  schedule = toy_build (workload, 4, &choice);
  return schedule_items (schedule, 0, SECTION_STEADY).n;
}

/*
 * Refused after the first micro-step: the number is what that one takes, 2^20 times, in two
 * periods; nothing of the step's end.
 */
START_TEST (refuses_a_million_micro_steps_at_the_first)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  const StrategyChoice choice = { &toy_layer, &sound, NULL };
  g_autofree char     *text = NULL;
  PlanInput            in = { .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  guint64              micro_step = items_of_period (3) - items_of_period (2);

  training.grad_accum = 1 << 20;
  workload = workload_new (&toy_shape, &training);
  in.workload = workload;
  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  text = g_strdup_printf ("strategy 'toy-layer': a period of 1 steps would take %" G_GUINT64_FORMAT
                          " schedule items (at most 33554432)",
                          (micro_step << 20) * 2);
  ck_assert_str_eq (diag_list_first_message (diags), text);
}
END_TEST

/* ---- mesh ------------------------------------------------------------------------------------ */

START_TEST (mesh_groups)
{
  const Mesh mesh = { .n_ranks = 32, .ranks_per_node = 8, .world = 64 },
             small = { .n_ranks = 4, .ranks_per_node = 8, .world = 64 },
             unequal = { .n_ranks = 12, .world = 12 };
  guint32 members[4];

  ck_assert_uint_eq (mesh_all (&mesh).size, 32);
  ck_assert_uint_eq (mesh_node (&mesh).size, 8);
  ck_assert_uint_eq (mesh_node (&small).size, 4);
  ck_assert_uint_eq (mesh_node (&unequal).size, 1);
  ck_assert_uint_eq (mesh_across (&mesh, mesh_node (&mesh)).size, 4);
  ck_assert_uint_eq (mesh_across (&mesh, mesh_node (&mesh)).stride, 8);
  ck_assert_uint_eq (mesh_n_nodes (&mesh), 4);
  ck_assert_uint_eq (mesh_n_nodes (&small), 1);
  ck_assert_uint_eq (mesh_n_nodes (&unequal), 0);
  ck_assert (mesh_group_tiles (&mesh, (MeshGroup){ .size = 4, .stride = 8 }));
  ck_assert (!mesh_group_tiles (&mesh, (MeshGroup){ .size = 4, .stride = 16 }));
  ck_assert (!mesh_group_tiles (&mesh, (MeshGroup){ .size = 3, .stride = 1 }));
  ck_assert (!mesh_group_tiles (&mesh, (MeshGroup){ .size = 0, .stride = 1 }));

  mesh_group_members ((MeshGroup){ .size = 4, .stride = 8 }, 43, members); /* 43 = 32 + 8 + 3 */
  ck_assert_uint_eq (members[0], 35);
  ck_assert_uint_eq (members[1], 43);
  ck_assert_uint_eq (members[3], 59);
}
END_TEST

/*
 * 64 ranks on nodes of 8: tensor groups of 2, two stages of 32 ranks, so 16 data ranks, 4 on each
 * of a stage's 4 nodes.
 */
START_TEST (mesh_axes)
{
  const Mesh mesh = {
    .n_ranks = 16, .ranks_per_node = 8, .world = 64, .stride = 2, .stages = 2, .experts = 4
  };
  const Mesh wide = { .n_ranks = 4, .ranks_per_node = 8, .world = 64, .stride = 8, .stages = 2 };
  const Mesh odd = { .n_ranks = 2, .ranks_per_node = 8, .world = 24, .stride = 3, .stages = 4 };
  const Mesh tight = { .n_ranks = 2, .ranks_per_node = 8, .world = 32, .stride = 2, .stages = 8 };
  MeshGroup  stages = mesh_stages (&mesh);
  Mesh       experts = mesh_of_experts (&mesh);
  guint32    members[4];

  ck_assert_uint_eq (mesh_all (&mesh).size, 16);
  ck_assert_uint_eq (mesh_all (&mesh).stride, 2);
  ck_assert_uint_eq (mesh_node (&mesh).size, 4);
  ck_assert_uint_eq (mesh_node (&mesh).stride, 2);
  ck_assert_uint_eq (mesh_across (&mesh, mesh_node (&mesh)).size, 4);
  ck_assert_uint_eq (mesh_across (&mesh, mesh_node (&mesh)).stride, 8);
  ck_assert_uint_eq (mesh_n_nodes (&mesh), 4);
  ck_assert_uint_eq (mesh_node_ranks (&wide), 1); /* a tensor group fills a node */
  ck_assert_uint_eq (mesh_n_nodes (&wide), 4);
  ck_assert_uint_eq (mesh_node_ranks (&odd), 0);   /* nodes hold 2 or 3 tensor groups */
  ck_assert_uint_eq (mesh_node_ranks (&tight), 2); /* two stages a node */
  ck_assert_uint_eq (mesh_tensor (&mesh).size, 2);
  ck_assert_uint_eq (stages.size, 2);
  ck_assert_uint_eq (stages.stride, 32);
  ck_assert_uint_eq (mesh_experts (&mesh).stride, 2);
  ck_assert_uint_eq (mesh_context (&mesh, 8).size, 8);
  ck_assert_uint_eq (experts.n_ranks, 4);
  ck_assert_uint_eq (mesh_all (&experts).stride, 8);
  ck_assert (mesh_group_tiles (&mesh, mesh_all (&experts)));
  ck_assert (!mesh_group_tiles (&mesh, stages));         /* spans stages */
  mesh_group_members (mesh_all (&experts), 45, members); /* 45 = 32 + 13, 13 = 8 + 5 */
  ck_assert_uint_eq (members[0], 37);
  ck_assert_uint_eq (members[1], 45);
  ck_assert_uint_eq (members[3], 61);
}
END_TEST

SUITE_MAIN (walk)
{
  Suite *suite = suite_create ("schedule-walk");
  TCase *tcase = tcase_create ("walk");

  tcase_add_test (tcase, walks_two_layers);
  tcase_add_test (tcase, allocates_activations_of_each_layer);
  tcase_add_test (tcase, hooks_see_where_the_walk_stands);
  tcase_add_loop_test (tcase, hooks_do_not_see_split_passes, 0,
                       PIPELINE_DUALPIPE - PIPELINE_GPIPE + 1);
  tcase_add_loop_test (tcase, casts_cached_weights_once, 0, PIPELINE_DUALPIPE - PIPELINE_GPIPE + 1);
  tcase_add_test (tcase, emits_every_kernel_once);
  tcase_add_test (tcase, units_own_every_parameter_once);
  tcase_add_test (tcase, tied_heads_share_the_embedding);
  tcase_add_test (tcase, tied_product_runs_in_the_tables_unit);
  tcase_add_test (tcase, recomputation_calls_module_hooks);
  tcase_add_test (tcase, selective_recomputation_gathers_nothing);
  tcase_add_test (tcase, inner_hooks_run_under_an_outer_strategy);
  tcase_add_test (tcase, rounds_nest);
  tcase_add_test (tcase, outer_hooks_extend_inner_ones);
  tcase_add_test (tcase, refuses_stacks_that_do_not_fit);
  tcase_add_test (tcase, refuses_a_million_micro_steps_at_the_first);
  tcase_add_test (tcase, mesh_groups);
  tcase_add_test (tcase, mesh_axes);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
