/*
 * The order in which strategies issue collectives in a steady step, against the orders that the
 * systems' descriptions state: G3 is the all-gather of unit 3, R3 its reduce-scatter, A3 an
 * all-reduce, D3 and H3 copies to and from the host, S3 that of a slice which stays on the GPU, C3
 * the all-gather of such slices. A llama of 3 blocks: units 0 (embedding), 1-3, 4 (head). Each is
 * on the stream that the systems give it.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "policy-rows.h"
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
  /* The head's unit goes as well: no root's rule. */
  { "fsdp2", "reshard_root=true", "G0 G1 G2 G3 G4 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  /* A list of two units before each, in the place of the one that is implied. */
  { "fsdp2", "modules_to_backward_prefetch=2", "G0 G1 G2 G3 G4 G3 G2 R4 G1 R3 G0 R2 R1 R0" },
  { "fsdp2", "backward_prefetch=false,modules_to_backward_prefetch=1",
    "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  { "fsdp2", "modules_to_forward_prefetch=2", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  /* A slice of each unit that goes is kept by two ranks, and gathered there. */
  { "fsdp2", "reshard_after_forward=2", "G0 S0 G1 S1 G2 S2 G3 S3 G4 C3 R4 C2 R3 C1 R2 C0 R1 R0" },
  { "fsdp2", "reshard_after_forward=1", "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0" },
  { "fsdp2", "reshard_after_forward=4", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  /* veScale takes its order from it. */
  { "vescale", "", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  { "vescale", "modules_to_backward_prefetch=2", "G0 G1 G2 G3 G4 G3 G2 R4 G1 R3 G0 R2 R1 R0" },
  /* The shard's gradient is all-reduced over the replicas after each reduce-scatter. */
  { "hsdp", "shard=2", "G0 G1 G2 G3 G4 G3 R4 A4 G2 R3 A3 G1 R2 A2 G0 R1 A1 R0 A0" },
  /* FSDP1 keeps the root's parameters (embedding and head). BACKWARD_PRE, BACKWARD_POST, none. */
  { "fsdp1", "backward_prefetch=pre", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 R1 R0" },
  { "fsdp1", "backward_prefetch=post", "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 R1 R0" },
  { "fsdp1", "backward_prefetch=none", "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 R0" },
  { "fsdp1", "forward_prefetch=true,backward_prefetch=none",
    "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 R0" },
  /*
   * Megatron-FSDP gathers ahead by elements: all of this model. Embedding and head stay, and their
   * backward passes gather nothing ahead. Half of a communication unit of 2 is one unit ahead; two
   * buffers hold the block that is used and one ahead, or two ahead of the embedding.
   */
  { "megatron-fsdp", "", "G0 G1 G2 G3 G4 R4 G3 G2 G1 R3 R2 R1 R0" },
  { "megatron-fsdp", "suggested_communication_unit_size=2",
    "G0 G1 G2 G3 G4 R4 G3 G2 R3 G1 R2 R1 R0" },
  { "megatron-fsdp", "suggested_communication_unit_size=1",
    "G0 G1 G2 G3 G4 R4 G3 R3 G2 R2 G1 R1 R0" },
  { "megatron-fsdp", "fsdp_double_buffer=true", "G0 G1 G2 G3 G4 R4 G3 G2 R3 G1 R2 R1 R0" },
  /* The other strategies have whole parameters, which come once a step from the optimizer's. */
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim_grads",
    "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim,overlap_param_gather=false",
    "R4 R3 R2 R1 R0 G0 G1 G2 G3 G4" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim,overlap_grad_reduce=false",
    "G0 G1 G2 G3 G4 R0 R1 R2 R3 R4" },
  /*
   * So have those of the distributed optimizer, in the buckets of its gradients, which are called
   * by their first module: of 20 000 elements or more 8192 + 4096 + 64 + 8192 and what is left of
   * the head, block 3, 2 and 1, and the table. One bucket is gathered ahead of that which is used.
   */
  { "zero1",
    "reduce=reduce_scatter,overlap_comm=true,overlap_param_gather=true,"
    "bucket_bytes=40000 B",
    "G0 G3 G8 G12 G17 G21 G26 R26 R21 R17 R12 R8 R3 R4294967295" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=no_shard", "A4 A3 A2 A1 A0" },
  /*
   * SimpleFSDP names buckets by their first module: 0 the table, 9 modules from 1, 10 and 19 on, 28
   * the head. Forward and backward are a graph each: nothing is gathered ahead between them.
   */
  { "simplefsdp", "", "G0 G1 G10 G19 G28 G28 G19 R28 G10 R19 G1 R10 G0 R1 R0" },
  { "simplefsdp", "reordering=false", "G0 G1 G10 G19 G28 G28 R28 G19 R19 G10 R10 G1 R1 G0 R0" },
  { "simplefsdp", "reshard_after_forward=false", "G0 G1 G10 G19 G28 R28 R19 R10 R1 R0" },
};

/* Of two micro-steps. */
static const Case two_cases[] = {
  /* Shards are all-reduced over outer data parallelism in the last micro-step alone. */
  { "megatron-fsdp", "shard=2",
    "G0 G1 G2 G3 G4 R4 G3 G2 G1 R3 R2 R1 R0 G1 G2 G3 R4 A4 G3 G2 G1 R3 A3 R2 A2 R1 A1 R0 A0" },
  /* Where these share the optimizer, its parts come before each gathering of the first one. */
  { "megatron-fsdp", "shard=2,outer_dp_sharding_strategy=optim",
    "G0 G0 G1 G1 G2 G2 G3 G3 G4 G4 R4 G3 G3 G2 G2 G1 G1 R3 R2 R1 R0 "
    "G1 G2 G3 R4 R4 G3 G2 G1 R3 R3 R2 R2 R1 R1 R0 R0" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim", "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim_grads",
    "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0 R4 R3 R2 R1 R0" },
  /* No gradient is reduced before the last of two micro-steps; parameters come and go as ever. */
  { "fsdp2", "requires_gradient_sync=false",
    "G0 G1 G2 G3 G4 G3 G2 G1 G0 G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  { "fsdp2", "",
    "G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0 G0 G1 G2 G3 G4 G3 R4 G2 R3 G1 R2 G0 R1 R0" },
  /* Reduced shards wait for the last micro-step as well, or they alone do. */
  { "hsdp", "shard=2,requires_all_reduce=false,reshard_after_forward=false",
    "G0 G1 G2 G3 G4 R4 R3 R2 R1 R0 G0 G1 G2 G3 G4 R4 A4 R3 A3 R2 A2 R1 A1 R0 A0" },
  { "hsdp", "shard=2,requires_gradient_sync=false,reshard_after_forward=false",
    "G0 G1 G2 G3 G4 G0 G1 G2 G3 G4 R4 A4 R3 A3 R2 A2 R1 A1 R0 A0" },
};

static Workload *
small_llama (void)
{
  return llama_of (3, 1, NULL, NULL);
}

static char
letter_of (const Schedule *schedule, const ScheduleItem *item)
{
  static const char letters[COLLECTIVE_N_KINDS] = {
    [COLLECTIVE_ALL_GATHER] = 'G', [COLLECTIVE_REDUCE_SCATTER] = 'R', [COLLECTIVE_ALL_REDUCE] = 'A'
  };

  if (item->kind == ITEM_MOVE)
    return item->collective == move_kind (PLACE_HBM, PLACE_HBM)      ? 'S'
           : item->collective == move_kind (PLACE_HBM, PLACE_PINNED) ? 'D'
                                                                     : 'H';
  if (item->kind != ITEM_COLLECTIVE)
    return '\0';
  if (g_str_equal (schedule_comm_info (schedule, item->ref)->name, "post_forward"))
    return 'C';
  return letters[item->collective];
}

static char *
order_of (const Schedule *schedule)
{
  ScheduleItems       items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      char                letter = letter_of (schedule, item);

      if (letter != '\0')
        g_string_append_printf (out, "%s%c%u", out->len > 0 ? " " : "", letter, item->unit);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/*
 * The stream of each letter, as the systems name them (hop-rows.c has where from); the first row
 * counts whose OPTION is among a case's. Megatron-FSDP's outer ranks have streams of their own.
 */
static const struct
{
  const char *strategy, *option, *streams;
} streams[] = {
  { "fsdp1", "", "G unshard, R post_backward" },
  { "fsdp2", "", "G all_gather, C all_gather, S compute, R reduce_scatter" },
  { "hsdp", "", "G all_gather, R reduce_scatter, A all_reduce" },
  { "vescale", "", "G all_gather, R reduce_scatter" },
  { "simplefsdp", "", "G collectives, R collectives" },
  { "megatron-fsdp", "overlap_param_gather=false", "G compute, R reduce" },
  { "megatron-fsdp", "overlap_grad_reduce=false", "G all_gather, R compute" },
  { "megatron-fsdp", "outer_dp_sharding_strategy=optim",
    "G all_gather, G outer_all_gather, R reduce, R outer_reduce" },
  { "zero1", "", "G all_gather, R reduce" },
  { "megatron-fsdp", "no_shard", "A reduce" },
  { "megatron-fsdp", "", "G all_gather, R reduce, A outer_reduce" },
};

/* Every hop of ROLE that has a letter is on the stream that goes with it. */
static void
assert_streams (const Schedule *schedule, guint role, const Case *c)
{
  ScheduleItems  items = schedule_items (schedule, role, SECTION_STEADY);
  g_auto (GStrv) all = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (streams) && all == NULL; i++)
    if (g_str_equal (streams[i].strategy, c->strategy)
        && strstr (c->options, streams[i].option) != NULL)
      all = g_strsplit (streams[i].streams, ", ", -1);
  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      char                letter = letter_of (schedule, item);
      g_autofree char    *text =
          letter != '\0' ? g_strdup_printf ("%c %s", letter,
                                               schedule_stream_info (schedule, item->stream)->name)
                            : NULL;

      ck_assert_msg (text == NULL || g_strv_contains ((const char *const *) all, text), "%s %s: %s",
                     c->strategy, c->options, text);
    }
}

static void
assert_order (const Case *c, guint micro_steps)
{
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (3, micro_steps, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  g_autofree char     *order = NULL;

  set_options (strategy, options, c->options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule != NULL);
  ck_assert (schedule_check (schedule, &in.mesh, NULL, diags));
  order = order_of (schedule);
  ck_assert_str_eq (order, c->order);
  assert_streams (schedule, 0, c);
  option_table_clear (strategy->options, options);
}

START_TEST (test_order)
{
  assert_order (&cases[_i], 1);
}
END_TEST

START_TEST (test_order_of_two)
{
  assert_order (&two_cases[_i], 2);
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
  { "fsdp2", "reshard_after_forward=2",
    "G0 S0 G1 S1 G2 S2 C0 S0 C1 S1 C2 S2 C2 C1 C0 S0 S1 S2 C2 C1 C0 R0 R1 R2" },
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
  ck_assert (schedule_check (schedule, &in.mesh, NULL, diags));
  order = order_of (schedule);
  ck_assert_str_eq (order, c->order);
  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    assert_streams (schedule, role, c);
  option_table_clear (strategy->options, options);
  option_table_clear (mesh_options, &mesh);
}
END_TEST

/*
 * CPU offload in three micro-steps on four ranks, pinned and pageable: P = 2 x 100 x 64 for the
 * tables, 3 x (4 x 64^2 + 3 x 64 x 128 + 2 x 64) for the blocks, 64 for the norm: 136 128, a rank
 * has 34 032. The host adds up the gradients of two micro-steps, and updates once; gradients go to
 * it three times in 4 bytes, each of the units but the head comes twice, the head (6 464) once.
 */
START_TEST (test_offload_counts)
{
  const Strategy      *strategy = strategy_find ("fsdp2");
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (3, 3, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  const Place          home = _i == 0 ? PLACE_PINNED : PLACE_PAGEABLE;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  PlanTotals           totals = { 0 };

  set_options (strategy, options,
               _i == 0 ? "cpu_offload=true" : "cpu_offload=true,pin_memory=false");
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule != NULL && schedule_check (schedule, &in.mesh, NULL, diags));
  schedule_totals (schedule, 0, &totals);
  ck_assert_double_eq_tol (totals.host[HOST_STREAM], 2 * 34032, 1e-6);
  ck_assert_double_eq_tol (totals.host[HOST_ADAM], 34032, 1e-6);
  ck_assert_double_eq_tol (totals.moves[move_kind (PLACE_HBM, home)], 3 * 4 * 34032, 1e-6);
  ck_assert_double_eq_tol (totals.moves[move_kind (home, PLACE_HBM)],
                           3 * 4 * (2 * 34032 - 6464 / 4), 1e-6);
  option_table_clear (strategy->options, options);
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
  guint                gathers[2] = { 0 }, copies[MOVE_N] = { 0 }, scatters = 0;

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

      if (item->kind == ITEM_MOVE)
        copies[item->collective]++;
      else if (item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_REDUCE_SCATTER)
        scatters++;
      else if (item->kind == ITEM_COLLECTIVE)
        gathers[schedule_comm_info (schedule, item->ref)->group.size == 4 ? 0 : 1]++;
    }
  ck_assert_uint_eq (gathers[0], rows[_i].across);
  ck_assert_uint_eq (gathers[1], rows[_i].node);
  ck_assert_uint_eq (copies[move_kind (PLACE_HBM, PLACE_PINNED)], rows[_i].to_host);
  ck_assert_uint_eq (copies[move_kind (PLACE_PINNED, PLACE_HBM)], rows[_i].from_host);
  ck_assert_uint_eq (scatters, 1);
  option_table_clear (strategy->options, options);
}
END_TEST

/*
 * Parameters that the inner strategy keeps in pinned memory are averaged: the GPUs bring them, add
 * them up, and send them back; the hosts add up what is theirs. 4 ranks are 2 workers of 2: a rank
 * has half of the parameters in fp32. CO2 sends a copy in bf16, and its hosts' average of it moves.
 */
static const struct
{
  const char *strategy, *options, *order;
} averages[] = {
  { "local-sgd", "worker=node", "D A scale H" },
  { "local-sgd", "worker=node,transport=host", "A cpu-scale" },
  { "co2", "worker=node", "momentum D copy A step H" },
  { "co2", "worker=node,transport=host", "momentum D copy H2 A D2 step H" },
  { "diloco", "worker=node", "D difference A momentum step H" },
  { "diloco", "worker=node,outer_state=pageable", "D H difference A momentum step H H" },
  { "diloco", "worker=node,transport=host,outer_state=pinned,outer_optimizer=host",
    "cpu-difference A cpu-step" },
  { "eager-diloco", "worker=node", "momentum D difference A step H" },
  { "streaming-diloco", "worker=node,local_steps=4,fragments=1,overlap=0,payload=fp32,merge=0",
    "D D difference A momentum step H H" },
};

static const char *
outer_word (const ScheduleItem *item, guint64 held)
{
  if (item->kind == ITEM_MOVE && item->collective == move_kind (PLACE_PINNED, PLACE_HBM))
    return item->bytes == 4 * held ? "D" : item->bytes == 2 * held ? "D2" : "?";
  if (item->kind == ITEM_MOVE)
    return item->bytes == 4 * held ? "H" : item->bytes == 2 * held ? "H2" : "?";
  if (item->kind == ITEM_COLLECTIVE)
    return "A";
  if (item->kind == ITEM_HOST_OP)
    return g_str_equal (item->label, "scale")              ? "cpu-scale"
           : g_str_equal (item->label, "outer_difference") ? "cpu-difference"
           : g_str_equal (item->label, "outer_step")       ? "cpu-step"
                                                           : item->label;
  return g_str_equal (item->label, "outer_momentum")     ? "momentum"
         : g_str_equal (item->label, "outer_copy")       ? "copy"
         : g_str_equal (item->label, "outer_step")       ? "step"
         : g_str_equal (item->label, "outer_difference") ? "difference"
                                                         : item->label;
}

START_TEST (test_averages_of_the_host)
{
  const Strategy      *outer = strategy_find (averages[_i].strategy);
  const Strategy      *inner = strategy_find ("fsdp2");
  g_autofree gpointer  outer_options = g_malloc0 (outer->options_size);
  g_autofree gpointer  inner_options = g_malloc0 (inner->options_size);
  g_autoptr (Workload) workload = small_llama ();
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice under = { inner, inner_options, NULL };
  const StrategyChoice choice = { outer, outer_options, &under };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  g_autoptr (GString)  order = g_string_new (NULL);
  ScheduleItems        items;

  set_options (outer, outer_options, averages[_i].options);
  set_options (inner, inner_options, "cpu_offload=true");
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule != NULL && schedule_check (schedule, &in.mesh, NULL, diags));
  items = schedule_items (schedule, 0, SECTION_STEADY);
  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (item->phase == PHASE_OUTER
          && (item->kind == ITEM_MOVE || item->kind == ITEM_COLLECTIVE || item->kind == ITEM_HOST_OP
              || item->kind == ITEM_KERNEL))
        g_string_append_printf (order, "%s%s", order->len > 0 ? " " : "",
                                outer_word (item, workload_n_parameters (workload) / 2));
    }
  ck_assert_str_eq (order->str, averages[_i].order);
  option_table_clear (outer->options, outer_options);
  option_table_clear (inner->options, inner_options);
}
END_TEST

/*
 * What a route with codecs emits, op by op, the first time that FIRST stands on STREAM: encoded
 * before the first hop that has a codec, decoded behind the last, at every hop of a reduction; on
 * the host where the data is in its memory.
 */
static const struct
{
  const char *row, *stream, *first, *ops;
} walks[] = {
  { "row-qgz", "reduce", "interleave",
    "interleave encode all_to_all decode_add_encode all_to_all decode_add gradient_add" },
  /* the head's matrix, then the norm's 64 elements, copied and reduced by themselves */
  { "zeropp", "reduce", "interleave",
    "interleave encode all_to_all decode_add_encode all_to_all decode_add reduce_scatter encode" },
  { "row-tensors", "reduce", "interleave",
    "interleave encode all_to_all decode_add reduce_scatter encode" },
  /* what came encoded is decoded where its first module is used */
  { "row-qwz", "all_gather", "encode", "encode all_gather" },
  { "row-qwz", "assemble", "copy_in", "copy_in decode copy_out copy_out" },
  { "zeropp", "all_gather", "encode", "encode all_gather" },
  { "zeropp", "all_gather", "all_gather_copy", "all_gather_copy" },
  { "row-drives", "host_copy", "hbm to pinned", "hbm to pinned, pinned to nvme" },
  { "row-drives", "host_copy", "nvme to pinned", "nvme to pinned, pinned to hbm" },
  { "row-coded-copy", "host_copy", "encode", "encode hbm to pinned, decode" },
  { "row-recast-copy", "all_gather", "decode", "decode cast encode all_gather" },
  { "row-wide-drives", "host_copy", "hbm to pinned", "hbm to pinned, cast pinned to nvme" },
  { "row-fsdp2-coded", "all_gather", "encode", "encode all_gather decode" },
  { "row-fsdp2-coded", "reduce_scatter", "encode", "encode all_to_all decode_add" },
  { "row-compressed", "reduce", "encode", "encode all_to_all decode_add_encode all_gather decode" },
};

static const Strategy *
find_row (const char *name)
{
  for (guint i = 0; policy_rows[i] != NULL; i++)
    if (g_str_equal (policy_rows[i]->name, name))
      return policy_rows[i];
  return strategy_find (name);
}

static gboolean
is_op (const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE || item->kind == ITEM_MOVE || item->kind == ITEM_KERNEL
         || item->kind == ITEM_HOST_OP;
}

START_TEST (test_walks)
{
  const Strategy      *row = find_row (walks[_i].row);
  g_autofree gpointer  options = g_malloc0 (row->options_size);
  g_autoptr (Workload) workload = small_llama ();
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { row, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  g_autoptr (GString)  ops = g_string_new (NULL);
  ScheduleItems        items;

  option_table_defaults (row->options, options);
  if (row->issue == find_row ("row-qgz")->issue)
    set_options (row, options, "param_persistence_threshold=64,max_reuse_distance=0");
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  items = schedule_items (schedule, 0, SECTION_STEADY);
  for (guint i = 0; i < items.n && ops->len < strlen (walks[_i].ops); i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (is_op (item)
          && g_str_equal (schedule_stream_info (schedule, item->stream)->name, walks[_i].stream)
          && (ops->len > 0 || g_str_equal (item->label, walks[_i].first)))
        g_string_append_printf (ops, "%s%s%s", ops->len > 0 ? " " : "", item->label,
                                item->kind == ITEM_MOVE ? "," : "");
    }
  if (g_str_has_suffix (ops->str, ","))
    g_string_truncate (ops, ops->len - 1);
  ck_assert_str_eq (ops->str, walks[_i].ops);
  option_table_clear (row->options, options);
}
END_TEST

/* What a step of NAME moves, without overlap, with one and with three micro-steps. */
static void
totals_of (const char *name, guint micros, PlanTotals *totals)
{
  const Strategy      *strategy = find_row (name);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (3, micros, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;

  set_options (strategy, options,
               "param_persistence_threshold=64,max_reuse_distance=0,overlap_comm=false");
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  schedule_totals (schedule, 0, totals);
  option_table_clear (strategy->options, options);
}

/*
 * hpZ whose second copy is in host memory moves what FCDP without overlap does: each collective's
 * bytes over each group, and each copy to and from the host.
 */
START_TEST (test_hpz_on_the_host_is_fcdp)
{
  PlanTotals hpz = { 0 }, fcdp = { 0 };
  guint      to = move_kind (PLACE_HBM, PLACE_PINNED), from = move_kind (PLACE_PINNED, PLACE_HBM);

  totals_of ("row-hpz-host", _i == 0 ? 1 : 3, &hpz);
  totals_of ("fcdp", _i == 0 ? 1 : 3, &fcdp);
  ck_assert_uint_eq (hpz.n_traffic, fcdp.n_traffic);
  for (guint i = 0; i < fcdp.n_traffic; i++)
    {
      const TrafficTotal *a = &hpz.traffic[i], *b = &fcdp.traffic[i];

      ck_assert (a->kind == b->kind && a->group.size == b->group.size
                 && a->group.stride == b->group.stride && a->codec == b->codec);
      ck_assert (a->bytes == b->bytes && a->bytes > 0);
    }
  ck_assert (hpz.moves[to] == fcdp.moves[to] && fcdp.moves[to] > 0);
  ck_assert (hpz.moves[from] == fcdp.moves[from] && fcdp.moves[from] > fcdp.moves[to] / 2);
}
END_TEST

SUITE_MAIN (order)
{
  Suite *suite = suite_create ("order");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_order, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_offload_counts, 0, 2);
  tcase_add_loop_test (tcase, test_order_of_two, 0, G_N_ELEMENTS (two_cases));
  tcase_add_loop_test (tcase, test_order_of_stages, 0, G_N_ELEMENTS (stage_cases));
  tcase_add_loop_test (tcase, test_deepspeed_counts, 0, 2);
  tcase_add_loop_test (tcase, test_walks, 0, G_N_ELEMENTS (walks));
  tcase_add_loop_test (tcase, test_hpz_on_the_host_is_fcdp, 0, 2);
  tcase_add_loop_test (tcase, test_averages_of_the_host, 0, G_N_ELEMENTS (averages));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
