/*
 * Measured kernels: times that equal the model's change nothing, one more millisecond in a row is
 * one more in every layer and micro-step that it is of, and nothing else moves; a scenario that
 * differs from what was measured is refused, and so is a file that says nothing clear.
 */
#include "../suite.h"
#include "fixture.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "cost/kernel/measured-times.h"

#define LAYERS 2
#define ACCUM  3

static char *file;

static void
set_up (void)
{
  int handle = g_file_open_tmp ("shardsim-measured-XXXXXX.yaml", &file, NULL);

  ck_assert_int_ge (handle, 0);
  g_close (handle, NULL);
}

static void
tear_down (void)
{
  g_unlink (file);
  g_clear_pointer (&file, g_free);
}

static void
say (const char *text)
{
  g_unlink (file); /* it is not cut to size */
  ck_assert (g_file_set_contents_full (file, text, -1, 0, 0600, NULL));
}

/* A step of two layers on one GPU, whose kernels are long against their issue. */
static Scenario *
scenario_of (const char *measured, const char *key, const char *value)
{
  return fixture_scenario (
      "cluster.gpu", "a100-sxm-80", "cluster.intra", "nvlink3-switch", "cluster.gpus_per_node", "1",
      "cluster.nodes", "1", "model.arch", "llama", "model.n_layers", "2", "model.d_model", "4096",
      "model.n_heads", "32", "model.d_ff", "11008", "model.vocab", "32000", "training.seq_len",
      "2048", "training.micro_batch", "2", "training.grad_accum", "3", "strategy.name", "zero1",
      measured != NULL ? "training.measured_kernels" : "model.n_layers",
      measured != NULL ? measured : "2", key != NULL ? key : "model.n_layers",
      value != NULL ? value : "2", NULL);
}

static double
step_of (const char *measured, const char *key, const char *value)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = scenario_of (measured, key, value);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);

  return replay_step_time (replay);
}

/* ---- the model's own times ------------------------------------------------------------------- */

static double
sum_of (KernelModel *model, const KernelDesc *kernels, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    {
      KernelCost cost;

      kernel_model_cost (model, &kernels[i], &cost);
      sum += cost.alone;
    }
  return sum;
}

/* What the model says, row by row; ALL: one row a phase. */
static void
modelled_rows (const ReplayPlan *plan, gboolean all, MeasuredTable *table)
{
  const ResolvedScenario *resolved = replay_plan_resolved (plan);
  const Workload         *workload = resolved->workload;
  g_autoptr (KernelModel) model = kernel_model_new (cluster_gpu_profile (resolved->cluster, 0));
  ScheduleItems           items = schedule_items (replay_plan_schedule (plan), 0, SECTION_STEADY);
  MeasuredRow            *optimizer = &table->rows[MEASURED_ALL_LAYERS][MEASURED_OPTIMIZER];

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      guint            at = all ? MEASURED_ALL_LAYERS : layer->kind;
      double           times[] = { sum_of (model, layer->forward, layer->n_forward),
                                   sum_of (model, layer->recompute, layer->n_recompute),
                                   sum_of (model, layer->backward, layer->n_backward) };

      for (guint phase = 0; phase < G_N_ELEMENTS (times); phase++)
        {
          MeasuredRow *row = &table->rows[at][phase];

          if (times[phase] == 0)
            continue;
          row->given = TRUE;
          row->seconds = (all ? row->seconds : 0) + times[phase];
          row->flops = (all ? row->flops : 0) + measured_layer_flops (layer, (MeasuredPhase) phase);
        }
    }
  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && items.items[i].phase == PHASE_OPTIMIZER)
      {
        optimizer->given = TRUE;
        optimizer->seconds += sum_of (model, items.items[i].kernel, 1);
        optimizer->bytes += items.items[i].kernel->read_bytes + items.items[i].kernel->write_bytes;
      }
}

START_TEST (test_own_times_change_nothing)
{
  gboolean               all = _i == 1;
  double                 plain = step_of (NULL, "training.activation_checkpointing", "full");
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = scenario_of (NULL, "training.activation_checkpointing", "full");
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  MeasuredTable          table = { 0 };
  g_autofree char       *text = NULL;
  double                 measured;

  modelled_rows (plan, all, &table);
  text =
      measured_kernels_print (&table, "a100-sxm-80", &scenario->training, &scenario->mesh, "test");
  say (text);
  measured = step_of (file, "training.activation_checkpointing", "full");
  ck_assert_msg (fabs (measured - plain) <= 1e-9 * plain, "%.17g is not %.17g", measured, plain);
  { /* twice all rows: the compute doubles, and with one GPU nearly all is compute */
    for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
      for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
        table.rows[layer][phase].seconds *= 2;
    g_free (text);
    text = measured_kernels_print (&table, "a100-sxm-80", &scenario->training, &scenario->mesh,
                                   "test");
    say (text);
    measured = step_of (file, "training.activation_checkpointing", "full");
    ck_assert_msg (measured > 1.97 * plain && measured <= 2 * plain, "%.17g is not twice %.17g",
                   measured, plain);
  }
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

#define ON "measured_on: { gpu: a100-sxm-80, training: { seq_len: 2048, micro_batch: 2 } }\n"

/* What the step has more when ROW has one millisecond more. */
static const struct
{
  const char *row, *key, *value;
  double      ms;
} differences[] = {
  { "layer: block, phase: forward", NULL, NULL, LAYERS *ACCUM },
  { "layer: block, phase: backward", NULL, NULL, LAYERS *ACCUM },
  { "layer: embedding, phase: forward", NULL, NULL, ACCUM },
  { "layer: head, phase: backward", NULL, NULL, ACCUM },
  { "layer: all, phase: forward", NULL, NULL, ACCUM },
  { "layer: all, phase: recompute", "training.activation_checkpointing", "full", ACCUM },
  { "layer: block, phase: recompute+backward", "training.activation_checkpointing", "full",
    LAYERS *ACCUM },
  { "layer: block, phase: recompute", "training.activation_checkpointing", "full", LAYERS *ACCUM },
  { "layer: block, phase: recompute", NULL, NULL, 0 }, /* nothing is recomputed */
  { "layer: block, phase: forward", "training.grad_accum", "5", LAYERS * 5 },
  { "layer: block, phase: forward", "model.n_layers", "3", 3 * ACCUM },
};

START_TEST (test_a_millisecond_more)
{
  double           steps[2];
  g_autofree char *text = NULL;

  for (guint i = 0; i < 2; i++)
    {
      g_free (text);
      text =
          g_strdup_printf (ON "kernels:\n  - { %s, time: %u ms }\n", differences[_i].row, 200 + i);
      say (text);
      steps[i] = step_of (file, differences[_i].key, differences[_i].value);
    }
  ck_assert_msg (fabs (steps[1] - steps[0] - differences[_i].ms * 1e-3) <= 1e-8, "%s: %.12g ms",
                 differences[_i].row, (steps[1] - steps[0]) * 1e3);
}
END_TEST

/* The optimizer's time goes with its bytes: a quarter of a shard takes a quarter of the time. */
START_TEST (test_optimizer_by_bytes)
{
  double steps[2];

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *text = g_strdup_printf (
          ON "kernels:\n  - { layer: all, phase: optimizer, time: %u ms, bytes: 28e9 }\n",
          100 * (i + 1));

      say (text);
      steps[i] = step_of (file, "training.optimizer", "adamw-fused");
    }
  { /* fp32 parameter, gradient and moments read, all but the gradient written, and a bf16 copy */
    g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
    g_autoptr (Scenario)   scenario = scenario_of (NULL, NULL, NULL);
    g_autoptr (DiagList)   diags = diag_list_new ();
    g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
    double n = (double) workload_n_parameters (replay_plan_resolved (plan)->workload);
    double clip = (steps[1] - steps[0]) * 28e9 / 0.1 / n; /* bytes a parameter */

    ck_assert_msg (clip >= 4 + 3 * 4 + 2 && clip <= 60 && fabs (clip - rint (clip)) < 1e-3,
                   "%.9g bytes a parameter", clip);
  }
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct
{
  const char *text, *key, *value, *why;
} refusals[] = {
  { ON "kernels: [ { layer: block, phase: forward, time: 1 ms } ]", "training.seq_len", "4096",
    "'seq_len' is '4096', the kernels of 'FILE' were measured with '2048'" },
  { "measured_on: { gpu: h100-sxm-80 }\nkernels: [ { layer: all, phase: forward, time: 1 ms } ]",
    NULL, NULL,
    "the kernels of 'FILE' were measured on GPU 'h100-sxm-80', the cluster has 'a100-sxm-80'" },
  { ON "kernels: [ { layer: block, phase: forward, time: 1 ms, flops: 7e9 } ]", NULL, NULL,
    "layer 'block', phase 'forward' of 'FILE': 7000000000 FLOPs were measured, this scenario has "
    "1726576852992" },
  { "kernels: [ { layer: all, phase: forward, time: 1 ms } ]", NULL, NULL,
    "missing 'measured_on'" },
  { ON, NULL, NULL, "no rows of 'kernels'" },
  { ON "kernels: [ { layer: block, time: 1 ms } ]", NULL, NULL, "missing 'phase'" },
  { ON "kernels: [ { layer: block, phase: forward } ]", NULL, NULL, "missing 'time'" },
  { ON "kernels: [ { layer: block, phase: forward, time: 1 } ]", NULL, NULL,
    "expected a time such as '1.3 us', got '1', which has no unit" },
  { ON "kernels: [ { layer: all, phase: optimizer, time: 1 ms } ]", NULL, NULL,
    "the optimizer wants 'layer: all' and 'bytes'" },
  { ON "kernels:\n- { layer: all, phase: forward, time: 1 ms }\n"
       "- { layer: head, phase: forward, time: 1 ms }\n",
    NULL, NULL, "phase 'forward' has rows of 'head' and of 'all' layers" },
  { ON "kernels:\n- { layer: head, phase: forward, time: 1 ms }\n"
       "- { layer: head, phase: forward, time: 1 ms }\n",
    NULL, NULL, "a second row of layer 'head' and phase 'forward'" },
  { ON "kernels:\n- { layer: all, phase: backward, time: 1 ms }\n"
       "- { layer: all, phase: recompute+backward, time: 1 ms }\n",
    NULL, NULL, "rows of 'recompute+backward' beside rows of 'recompute' or 'backward'" },
  { ON "kernel: []\n", NULL, NULL, "unknown key 'kernel'" },
  { ON "kernels: [ { layer: block, phase: forward, time: 1 ms } ]", "training.lengths", "x.csv",
    "times are measured at one length of sequences, 'lengths' has several" },
};

START_TEST (test_refused)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   scenario = NULL;
  g_autoptr (GString)    want = g_string_new (refusals[_i].why);

  say (refusals[_i].text);
  scenario = scenario_of (file, refusals[_i].key, refusals[_i].value);
  ck_assert_ptr_null (replay_plan_scenario (scenario, profiles, diags));
  g_string_replace (want, "FILE", file, 0);
  ck_assert_str_eq (diag_list_first_message (diags), want->str);
}
END_TEST

/* Every row that can be written is read back, and blocks of unlike kinds are told. */
START_TEST (test_rows_read_back)
{
  g_autoptr (Scenario)   scenario = scenario_of (NULL, NULL, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  const Workload        *workload = replay_plan_resolved (plan)->workload;

  for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
    for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
      {
        MeasuredTable    table = { 0 };
        MeasuredRow     *row = &table.rows[layer][phase];
        g_autofree char *text = NULL;
        g_autofree char *word = g_strdup_printf (
            "layer: %s, phase: %s,", measured_layer_name (layer), measured_phase_name (phase));
        g_autoptr (MeasuredKernels) back = NULL;

        if (phase == MEASURED_OPTIMIZER && layer != MEASURED_ALL_LAYERS)
          continue;
        *row = (MeasuredRow){ TRUE, 1.0 / 3, 1e15 + 1, 2e9 + 3 };
        text = measured_kernels_print (&table, "x", &scenario->training, &scenario->mesh, "test");
        ck_assert_ptr_nonnull (strstr (text, word));
        say (text);
        back = measured_kernels_load (file, diags);
        ck_assert_msg (back != NULL, "%s", diag_list_first_message (diags));
        ck_assert_double_eq_tol (measured_kernels_row (back, layer, phase)->seconds, row->seconds,
                                 1e-14);
        ck_assert_double_eq (measured_kernels_row (back, layer, phase)->flops, row->flops);
        ck_assert_double_eq (measured_kernels_row (back, layer, phase)->bytes, row->bytes);
      }
  ck_assert (measured_blocks_are_alike (workload, MEASURED_FORWARD));
  {
    g_autoptr (Scenario) unlike =
        scenario_of (NULL, "training.activation_checkpointing", "selective-layer");
    g_autoptr (ReplayPlan) other = replay_plan_scenario (unlike, profiles, diags);

    workload = replay_plan_resolved (other)->workload;
    ck_assert (!measured_blocks_are_alike (workload, MEASURED_RECOMPUTE));
    ck_assert (measured_blocks_are_alike (workload, MEASURED_BACKWARD));
  }
}
END_TEST

SUITE_MAIN (measured)
{
  Suite *suite = suite_create ("measured");
  TCase *tcase = tcase_create ("all");

  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_loop_test (tcase, test_own_times_change_nothing, 0, 2);
  tcase_add_loop_test (tcase, test_a_millisecond_more, 0, G_N_ELEMENTS (differences));
  tcase_add_test (tcase, test_optimizer_by_bytes);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refusals));
  tcase_add_test (tcase, test_rows_read_back);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
