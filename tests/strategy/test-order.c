/*
 * The order in which strategies issue collectives in a steady step, against the orders that the
 * systems' descriptions state: G3 is the all-gather of unit 3, R3 its reduce-scatter, A3 an
 * all-reduce, D3 and H3 copies to and from the host. A llama of 3 blocks: units 0 (embedding), 1-3,
 * 4 (head).
 */
#include <check.h>

#include "small-llama.h"

typedef struct
{
  const char *strategy, *options, *order;
} Case;

static const Case cases[] = {
  /*
   * Embedding and head included, the head stays gathered; then unit i - 1 is gathered before unit i
   * is reduced.
   */
  { "fsdp2", "", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  { "fsdp2", "backward_prefetch=false", "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 G0 R0" },
  { "fsdp2", "reshard_after_forward=false", "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0" },
  /* The shard's gradient is all-reduced over the replicas after each reduce-scatter. */
  { "hsdp", "shard=2", "G0 G1 G2 G3 G4 G3 R4 A4 G2 R3 A3 G1 R2 A2 G0 R1 A1 R0 A0" },
  /* FSDP1 keeps the root's parameters (embedding and head). BACKWARD_PRE, BACKWARD_POST, none. */
  { "fsdp1", "backward_prefetch=pre", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 R1 R0" },
  { "fsdp1", "backward_prefetch=post", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 R1 R0" },
  { "fsdp1", "backward_prefetch=none", "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 R0" },
  { "fsdp1", "forward_prefetch=true,backward_prefetch=none",
    "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 R0" },
};

static Workload *
small_llama (void)
{
  return llama_of (3, 1, NULL, NULL);
}

static char *
order_of (const Schedule *schedule)
{
  static const char letters[COLLECTIVE_N_KINDS] = {
    [COLLECTIVE_ALL_GATHER] = 'G', [COLLECTIVE_REDUCE_SCATTER] = 'R', [COLLECTIVE_ALL_REDUCE] = 'A'
  };
  ScheduleItems       items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      char                letter = item->kind == ITEM_COLLECTIVE ? letters[item->collective]
                                   : item->kind == ITEM_COPY     ? "DH"[item->collective]
                                                                 : '\0';

      if (letter != '\0')
        g_string_append_printf (out, "%s%c%u", out->len > 0 ? " " : "", letter, item->unit);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

START_TEST (test_order)
{
  const Case          *c = &cases[_i];
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = small_llama ();
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  g_autofree char     *order = NULL;

  set_options (strategy, options, c->options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule != NULL);
  order = order_of (schedule);
  ck_assert_str_eq (order, c->order);
  option_table_clear (strategy->options, options);
}
END_TEST

/*
 * The first of two stages under 1F1B: units 0 (embedding), 1, 2; passes F0 F1 B0 F2 B1 B2.
 * PyTorch's stages gather once and reduce once, in forward order; when they give parameters back
 * after each forward pass, those that a backward pass gathered are there for the next pass. FSDP1
 * knows nothing of stages.
 */
static const Case stage_cases[] = {
  { "fsdp2", "", "G0 G1 G2 R0 R1 R2" },
  { "fsdp2", "reshard_after_forward=true", "G0 G1 G2 G0 G1 G2 G2 G1 G0 G2 G1 G0 R0 R1 R2" },
  { "hsdp", "shard=2", "G0 G1 G2 R0 A0 R1 A1 R2 A2" },
  { "fsdp1", "", "G0 G1 G2 G1 G2 G2 G1 R2 R1 R0 G0 G1 G2 G2 G1 R2 R1 R0 G2 G1 R2 G0 R1 R0" },
};

START_TEST (test_order_of_stages)
{
  const Case          *c = &stage_cases[_i];
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  MeshOptions          mesh = { 0 };
  g_autoptr (Workload) first = NULL, last = NULL;
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  g_autofree char     *order = NULL;
  const Workload      *stages[2];
  PlanInput            in;

  option_table_defaults (mesh_options, &mesh);
  mesh.pp = 2;
  stages[0] = first = llama_of (4, 3, &mesh, &last);
  stages[1] = last;
  in = (PlanInput){ .workload = first,
                    .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 8, .stages = 2 },
                    .stages = stages };
  set_options (strategy, options, c->options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule != NULL);
  ck_assert (schedule_check (schedule, &in.mesh, diags));
  order = order_of (schedule);
  ck_assert_str_eq (order, c->order);
  option_table_clear (strategy->options, options);
  option_table_clear (mesh_options, &mesh);
}
END_TEST

/*
 * DeepSpeed, module by module, nothing kept or gathered ahead: a forward and a backward all-gather
 * a module above the threshold, one bucket of gradients a step, and one all-gather of the small
 * persistent tensors. Under FCDP the backward gathers come from the host.
 */
START_TEST (test_deepspeed_counts)
{
  static const struct
  {
    const char *strategy;
    guint       across, node, to_host, from_host;
  } rows[] = { { "zero3", 2 * 23 + 1, 0, 0, 0 }, { "fcdp", 23 + 1, 23, 23, 23 } };
  const Strategy      *strategy = strategy_find (rows[_i].strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = small_llama ();
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  ScheduleItems        items;
  guint                gathers[2] = { 0 }, copies[COPY_N] = { 0 }, scatters = 0;

  /*
   * 7 matrices a block, the embedding, the head: 3 * 7 + 2 = 23 modules; norms of 64 elements stay
   * whole.
   */
  set_options (strategy, options,
               "prefetch_bucket_size=0,max_reuse_distance=0,param_persistence_threshold=64");
  schedule = schedule_build (&in, &choice, diags);
  items = schedule_items (schedule, 0, SECTION_STEADY);
  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (item->kind == ITEM_COPY)
        copies[item->collective]++;
      else if (item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_REDUCE_SCATTER)
        scatters++;
      else if (item->kind == ITEM_COLLECTIVE)
        gathers[schedule_comm_info (schedule, item->ref)->group.size == 4 ? 0 : 1]++;
    }
  ck_assert_uint_eq (gathers[0], rows[_i].across);
  ck_assert_uint_eq (gathers[1], rows[_i].node);
  ck_assert_uint_eq (copies[COPY_TO_HOST], rows[_i].to_host);
  ck_assert_uint_eq (copies[COPY_FROM_HOST], rows[_i].from_host);
  ck_assert_uint_eq (scatters, 1);
  option_table_clear (strategy->options, options);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("order");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_order, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_order_of_stages, 0, G_N_ELEMENTS (stage_cases));
  tcase_add_loop_test (tcase, test_deepspeed_counts, 0, 2);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
