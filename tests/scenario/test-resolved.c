/*
 * A resolved scenario: what it makes of the options, that it depends on nothing that its maker may
 * change or free, and that files are read once however many are resolved. Not that the parts are
 * right: that is their own layers' tests.
 */
#include "../replay/fixture.h"
#include "../suite.h"
#include "scenario/resolved.h"
#include "scenario/software.h"

static ResolvedScenario *
resolve (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ResolvedScenario    *resolved = resolved_new (scenario, profiles, diags);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  ck_assert_str_eq (text, "");
  ck_assert_ptr_nonnull (resolved);
  return resolved;
}

static Scenario *
stacked (void)
{
  return fixture_scenario ("cluster.name", "2 x dgx-a100", "model.config", "llama-3-8b",
                           "training.seq_len", "2048", "training.grad_accum", "4",
                           "training.framework", "megatron-lm-2021", "mesh.tp", "2", "mesh.pp", "2",
                           "strategy.name", "local-sgd", "strategy.inner.name", "zero1", NULL);
}

START_TEST (test_parts)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (Scenario)         scenario = stacked ();
  g_autoptr (ResolvedScenario) resolved = resolve (scenario, profiles);
  const PlanInput             *in = &resolved->input;

  ck_assert_uint_eq (cluster_n_gpus (resolved->cluster), 16);
  ck_assert_uint_eq (resolved->n_data_ranks, 4);
  ck_assert_uint_eq (in->mesh.world, 16);
  ck_assert_uint_eq (in->mesh.n_ranks, 4);
  ck_assert_uint_eq (in->mesh.ranks_per_node, 8);
  ck_assert_uint_eq (in->mesh.stride, 2);
  ck_assert_uint_eq (in->mesh.stages, 2);
  ck_assert_ptr_eq (in->workload, resolved->workload);
  ck_assert_ptr_eq (in->stages[0], resolved->workload);
  ck_assert_ptr_ne (in->stages[1], resolved->workload);
  ck_assert_uint_eq (in->round_steps, 0);
  ck_assert_ptr_null (in->batches);
  ck_assert_ptr_null (resolved->lengths);
  ck_assert_str_eq (resolved->strategy->strategy->name, "local-sgd");
  ck_assert_str_eq (resolved->strategy->inner->strategy->name, "zero1");
  ck_assert_ptr_null (resolved->strategy->inner->inner);
}
END_TEST

/*
 * What was measured scales the cluster of a scenario, by the library that the scenario asks for;
 * out of reach it is an error, but with figures that are varied the nearest network.
 */
START_TEST (test_measured)
{
  static const ProfileEnd ends[] = { PROFILE_AS_GIVEN, PROFILE_PESSIMISTIC };

  for (guint v = 0; v < G_N_ELEMENTS (ends); v++)
    for (guint above = 0; above < 2; above++)
      {
        g_autoptr (ProfileSet) profiles = profile_set_new_at (NULL, ends[v]);
        g_autoptr (DiagList)   diags = diag_list_new ();
        g_autoptr (Scenario)   scenario =
            fixture_scenario ("cluster.name", "2 x dgx-a100", "cluster.measured",
                              above ? "all_reduce 1GiB 900 GB/s" : "all_reduce 1GiB 50 GB/s",
                              "collective.algorithm", "ring", "model.config", "llama-3-8b",
                              "training.seq_len", "2048", "strategy.name", "fsdp2", NULL);
        g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

        ck_assert_uint_eq (diag_list_n_errors (diags), above && v == 0);
        ck_assert ((resolved == NULL) == (above && v == 0));
        if (resolved != NULL)
          ck_assert (above ? cluster_network_scale (resolved->cluster) >= 1
                           : cluster_network_scale (resolved->cluster) < 0.9);
      }
}
END_TEST

/* What a framework launches reaches the workload, and is none of the options. */
START_TEST (test_framework)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (Scenario)         scenario = stacked ();
  g_autoptr (ResolvedScenario) resolved = resolve (scenario, profiles);
  const FrameworkTraits        none = { 0 };

  ck_assert_ptr_nonnull (resolved->framework);
  ck_assert_mem_ne (&resolved->framework->traits, &none, sizeof none);
  ck_assert_mem_eq (&workload_training (resolved->workload)->traits, &resolved->framework->traits,
                    sizeof none);
  ck_assert_mem_eq (&resolved->scenario->training.traits, &none, sizeof none);
}
END_TEST

START_TEST (test_stands_alone)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  Scenario                    *scenario = stacked ();
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Scenario)         in_force = scenario_in_force (scenario, profiles, diags);
  g_autofree char             *before = scenario_print (in_force), *after = NULL;
  g_autoptr (ResolvedScenario) resolved = resolve (scenario, profiles);
  const ResolvedScenario      *other = resolved_ref (resolved);

  scenario->training.grad_accum = 8;
  scenario_free (scenario);
  g_clear_pointer (&resolved, resolved_unref);
  after = scenario_print (other->scenario);
  ck_assert_str_eq (after, before);
  ck_assert_int_eq (workload_training (other->workload)->grad_accum, 4);
  ck_assert_str_eq (other->strategy->inner->strategy->name, "zero1");
  resolved_unref (other);
}
END_TEST

START_TEST (test_files_are_read_once)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (Scenario)         scenario = stacked ();
  g_autoptr (ResolvedScenario) one = resolve (scenario, profiles), two = NULL;
  guint                        n_read = input_files_n_read (profile_set_files (profiles));

  ck_assert_uint_gt (n_read, 0);
  two = resolve (scenario, profiles);
  ck_assert_uint_eq (input_files_n_read (profile_set_files (profiles)), n_read);
  ck_assert_str_eq (workload_shape (two->workload)->name, workload_shape (one->workload)->name);
}
END_TEST

/* Of every part that does not hold, in one pass. */
START_TEST (test_errors)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "2 x dgx-a900", "model.config", "llama-3-9b",
                        "training.seq_len", "2048", "strategy.name", "ddp", NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  ck_assert_ptr_null (resolved_new (scenario, profiles, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 2);
  text = diag_list_format (diags, FALSE);
  ck_assert_ptr_nonnull (strstr (text, "dgx-a900"));
  ck_assert_ptr_nonnull (strstr (text, "llama-3-9b"));
}
END_TEST

/* Fewer micro-steps are the same on the same cluster, whoever goes first. */
START_TEST (test_micro_steps)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Scenario)         scenario = stacked ();
  g_autoptr (ResolvedScenario) all = resolve (scenario, profiles), few = NULL;
  const Cluster               *cluster = all->cluster;

  few = resolved_with_micro_steps (all, 2, diags);
  ck_assert_ptr_nonnull (few);
  ck_assert_int_eq (workload_training (all->workload)->grad_accum, 4);
  g_clear_pointer (&all, resolved_unref);
  ck_assert_ptr_eq (few->cluster, cluster);
  ck_assert_uint_eq (cluster_n_gpus (few->cluster), 16);
  ck_assert_int_eq (few->scenario->training.grad_accum, 2);
  ck_assert_int_eq (workload_training (few->workload)->grad_accum, 2);
  ck_assert_mem_eq (&workload_training (few->workload)->traits, &few->framework->traits,
                    sizeof few->framework->traits);
  ck_assert_ptr_eq (few->input.workload, few->workload);
  ck_assert_str_eq (few->strategy->inner->strategy->name, "zero1");
}
END_TEST

/* An interleaved pipeline takes them in groups of its stages. */
START_TEST (test_too_few_micro_steps)
{
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Scenario)         scenario = stacked ();
  g_autoptr (ResolvedScenario) all = NULL, few = NULL;

  scenario->mesh.pipeline = PIPELINE_INTERLEAVED;
  scenario->mesh.vp = 2;
  all = resolve (scenario, profiles);
  few = resolved_with_micro_steps (all, 3, diags);
  ck_assert_ptr_null (few);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

/*
 * What is laid out on another's stages is what it is by itself: its layers are shared between
 * stages, each of which alone builds the same; and what does not divide is refused.
 */
START_TEST (test_stages)
{
  static const char *const layouts[][2] = { { "mesh.pp", "1" },
                                            { "mesh.pp", "4" },
                                            { "mesh.vp", "2" },
                                            { "mesh.pipeline", "zbv" },
                                            { "mesh.pipeline", "dualpipe" } };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  g_autoptr (Scenario)     source = fixture_scenario (
          "cluster.name", "2 x dgx-a100", "model.config", "llama-3-8b", "training.seq_len", "2048",
          "training.global_batch", "32", "training.activation_checkpointing", "layers:2", "mesh.tp",
          "2", "mesh.pp", "2", "strategy.name", "zero1", NULL);
  g_autoptr (ResolvedScenario) base = resolve (source, profiles);

  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++)
    {
      const ScenarioOverride       layout = { layouts[i][0], layouts[i][1], "test" };
      g_autoptr (DiagList)         diags = diag_list_new ();
      g_autoptr (Scenario)         scenario = scenario_with (source, NULL, &layout, 1, diags);
      g_autoptr (ResolvedScenario) alone = resolve (scenario, profiles);
      g_autoptr (ResolvedScenario) on = resolved_on_mesh (base, scenario, NULL, diags);

      ck_assert_ptr_nonnull (on);
      ck_assert_uint_eq (on->n_data_ranks, alone->n_data_ranks);
      ck_assert_uint_eq (on->input.mesh.stages, alone->input.mesh.stages);
      for (guint s = 0; s < alone->input.mesh.stages; s++)
        {
          const Workload      *shared = on->input.stages[s];
          g_autoptr (Workload) own = workload_new_stage (
              workload_shape (shared), workload_training (shared), workload_mesh (shared), s);

          ck_assert_int_eq (workload_training (shared)->grad_accum,
                            workload_training (alone->input.stages[s])->grad_accum);
          ck_assert_uint_eq (workload_n_layers (shared), workload_n_layers (own));
          ck_assert_double_eq (workload_executed_flops (shared), workload_executed_flops (own));
          for (guint l = 0; l < workload_n_layers (own); l++)
            {
              const LayerDesc *a = workload_layer (shared, l), *b = workload_layer (own, l);

              ck_assert_int_eq (a->kind, b->kind);
              ck_assert_uint_eq (a->class_, b->class_);
              ck_assert_int_eq (a->checkpoint, b->checkpoint);
              ck_assert_uint_eq (a->elements, b->elements);
              ck_assert_uint_eq (a->saved_bytes, b->saved_bytes);
              ck_assert_uint_eq (a->n_backward, b->n_backward);
            }
        }
    }
  {
    const ScenarioOverride layout = { "mesh.pp", "3", "test" };
    g_autoptr (DiagList)   diags = diag_list_new ();
    g_autoptr (Scenario)   scenario = scenario_with (source, NULL, &layout, 1, diags);

    ck_assert_ptr_null (resolved_on_mesh (base, scenario, NULL, diags));
    ck_assert_uint_gt (diag_list_n_errors (diags), 0);
  }
}
END_TEST

static gboolean
programs_are_equal (const MemoryProgram *a, const MemoryProgram *b)
{
  gboolean equal = a->n_steps == b->n_steps && a->n_to_peak == b->n_to_peak;

  for (guint i = 0; equal && i < a->n_steps; i++)
    equal = a->steps[i].tensor == b->steps[i].tensor && a->steps[i].bytes == b->steps[i].bytes;
  return equal;
}

/* Whether LAYER has as many kernels as OTHER, and its tensors come and go in the same order. */
static gboolean
layers_are_equal (const LayerDesc *layer, const LayerDesc *other)
{
  return layer->checkpoint == other->checkpoint && layer->n_forward == other->n_forward
         && layer->n_recompute == other->n_recompute && layer->n_backward == other->n_backward
         && layer->saved_bytes == other->saved_bytes && layer->working_bytes == other->working_bytes
         && layer->backward_bytes == other->backward_bytes
         && programs_are_equal (&layer->forward_memory, &other->forward_memory)
         && programs_are_equal (&layer->backward_memory, &other->backward_memory);
}

/* How many layers of ONE have the kernels of the same layer of one of KNOWN, not a copy of them. */
static guint
count_shared (const ResolvedScenario *one, const GPtrArray *known)
{
  guint n = 0;

  for (guint l = 0; l < workload_n_layers (one->workload); l++)
    for (guint k = 0; k < known->len; k++)
      {
        const ResolvedScenario *other = g_ptr_array_index (known, k);
        const LayerDesc        *a = workload_layer (one->workload, l);

        if (workload_layer (other->workload, l)->forward == a->forward)
          {
            n++;
            break;
          }
      }
  return n;
}

static void
release (gpointer resolved)
{
  resolved_unref (resolved);
}

/*
 * What other choices of checkpointing have built of a scenario's layers is what it would build
 * itself. The last choice keeps some layers whole and recomputes others: it builds none.
 */
START_TEST (test_known_layers)
{
  static const char *const modes[] = { "none",         "selective",       "full",
                                       "selective-op", "selective-layer", "layers:3" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  g_autoptr (Scenario)     source = fixture_scenario (
          "model.config", "qwen3-30b-a3b", "cluster.name", "2 x dgx-a100", "strategy.name", "zero1",
          "training.seq_len", "2048", "mesh.tp", "2", "mesh.sp", "1", "mesh.ep", "4", NULL);
  g_autoptr (ResolvedScenario) base = resolve (source, profiles);
  g_autoptr (GPtrArray)        known = g_ptr_array_new_with_free_func (release);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      const ScenarioOverride       mode = { "training.activation_checkpointing", modes[i], "test" };
      g_autoptr (DiagList)         diags = diag_list_new ();
      g_autoptr (Scenario)         scenario = scenario_with (source, NULL, &mode, 1, diags);
      g_autoptr (ResolvedScenario) alone = resolve (scenario, profiles);
      ResolvedScenario            *on = resolved_on_mesh (base, scenario, known, diags);

      ck_assert_ptr_nonnull (on);
      ck_assert_uint_eq (workload_n_layers (on->workload), workload_n_layers (alone->workload));
      ck_assert_double_eq (workload_executed_flops (on->workload),
                           workload_executed_flops (alone->workload));
      for (guint l = 0; l < workload_n_layers (alone->workload); l++)
        ck_assert (layers_are_equal (workload_layer (on->workload, l),
                                     workload_layer (alone->workload, l)));
      if (i + 1 == G_N_ELEMENTS (modes))
        ck_assert_uint_eq (count_shared (on, known), workload_n_layers (on->workload));
      g_ptr_array_add (known, on);
    }
}
END_TEST

SUITE_MAIN (resolved)
{
  Suite *suite = suite_create ("resolved");
  TCase *tcase = tcase_create ("core");

  tcase_add_test (tcase, test_parts);
  tcase_add_test (tcase, test_measured);
  tcase_add_test (tcase, test_framework);
  tcase_add_test (tcase, test_stands_alone);
  tcase_add_test (tcase, test_files_are_read_once);
  tcase_add_test (tcase, test_errors);
  tcase_add_test (tcase, test_micro_steps);
  tcase_add_test (tcase, test_too_few_micro_steps);
  tcase_add_test (tcase, test_stages);
  tcase_add_test (tcase, test_known_layers);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
