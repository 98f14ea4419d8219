/*
 * What no issue could emit, and what one does not carry, is said before anything is emitted: a
 * policy with a fault, and the message. Not asserted: policies that are carried (test-strategy.c).
 */
#include <check.h>

#include "../suite.h"
#include "small-llama.h"
#include "strategy/policy/deepspeed-offload.h"
#include "strategy/policy/replicated.h"
#include "strategy/runtime/buckets/issue-slices.h"
#include "strategy/runtime/fsdp1/issue-fsdp1.h"
#include "strategy/shards/format.h"
#include "strategy/systems/fsdp2.h"

#define EACH CADENCE_MICRO_STEP

static const DeepspeedOptions deepspeed = {
  .param_persistence_threshold = 64,
  .issue = { .prefetch_bucket_size = 1000, .reduce_bucket_size = 1000, .sub_group_size = 1000 }
};
static const Fsdp2Options fsdp2 = { .shard = (char *) "all",
                                    .requires_gradient_sync = TRUE,
                                    .requires_all_reduce = TRUE };

static UnitPolicy *
zero3 (const PlanInput *in, Policy *policy)
{
  deepspeed_policy (in, &deepspeed, "data", mesh_all (&in->mesh), policy);
  return &policy->kinds[0];
}

static UnitPolicy *
sharded (const PlanInput *in, Policy *policy)
{
  fsdp2_policy (in, &fsdp2, policy);
  return &policy->kinds[0];
}

static void
sums_blocks (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->routes[ROUTE_REDUCE].hops[0].codec = codec_find ("int8-block");
}

static void
frozen_as_they_are (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->routes[ROUTE_FROZEN] = kind->routes[ROUTE_GATHER];
}

static void
encodes_on_drives (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_NVME };
  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_HBM, PLACE_NVME, policy->compute, EACH)->codec =
      codec_find ("fp8");
}

static void
gathers_on_the_host (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_PINNED };
  policy_add_collective (&kind->routes[ROUTE_COPY], COLLECTIVE_ALL_GATHER, "node", kind->copy.group,
                         policy->compute, EACH);
}

static void
leaps (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_NVME };
  policy_add_move (&kind->routes[ROUTE_COPY], PLACE_PINNED, PLACE_HBM, policy->compute, EACH);
}

static void
fills_elsewhere (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_NVME };
  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_HBM, PLACE_PINNED, policy->compute, EACH);
}

static void
never_fills (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_HBM };
  policy_add_collective (&kind->routes[ROUTE_COPY], COLLECTIVE_ALL_GATHER, "node", kind->copy.group,
                         policy->compute, EACH);
}

static void
never_reads (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ { .size = 1, .stride = 1 }, policy->compute, 1, PLACE_PINNED };
  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_HBM, PLACE_PINNED, policy->compute, EACH);
}

static void
keeps_what_is_there (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  policy_add_second_copy (kind, "node", mesh_node (&in->mesh), PLACE_HBM, policy->compute);
  policy_keep_copies (kind, "node", 1000);
}

static void
never_keeps (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  policy_add_second_copy (kind, "node", mesh_node (&in->mesh), PLACE_PINNED, policy->compute);
  kind->kept_copies = 1000;
}

static void
keeps_slices (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = sharded (in, policy);

  (void) opt;
  policy_add_second_copy (kind, "node", mesh_node (&in->mesh), PLACE_HBM, policy->compute);
  policy_keep_copies (kind, "node", 1000);
}

static void
casts_on_drives (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  kind->copy = (PolicyState){ { .size = 1, .stride = 1 }, policy->compute, 1, PLACE_PINNED };
  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_HBM, PLACE_NVME, policy->compute, EACH);
  policy_add_move (&kind->routes[ROUTE_FILL], PLACE_NVME, PLACE_PINNED, DTYPE_FP32, EACH);
}

static void
shuffles_parameters (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->routes[ROUTE_GATHER].hops[0].kind = COLLECTIVE_ALL_TO_ALL;
}

static void
gathers_last (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->routes[ROUTE_GATHER].hops[0].cadence = CADENCE_LAST;
}

static void
stays_gathered (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy);
  policy->stays = TRUE;
}

static void
updates_late (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy);
  policy->late_update = TRUE;
}

/* HOP over the node alone. */
static void
stay_in_node (const PlanInput *in, PolicyHop *hop)
{
  hop->group = mesh_node (&in->mesh);
  hop->name = "node";
}

static void
gathers_a_node (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  stay_in_node (in, &zero3 (in, policy)->routes[ROUTE_GATHER].hops[0]);
}

static void
reduces_a_node (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  stay_in_node (in, &zero3 (in, policy)->routes[ROUTE_REDUCE].hops[0]);
}

static void
scatters_last (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = zero3 (in, policy);

  (void) opt;
  stay_in_node (in, &kind->routes[ROUTE_REDUCE].hops[0]);
  policy_add_collective (&kind->routes[ROUTE_REDUCE], COLLECTIVE_REDUCE_SCATTER, "across",
                         mesh_across (&in->mesh, mesh_node (&in->mesh)), policy->compute,
                         CADENCE_LAST);
}

/* The only hop, on gradients that nobody has cut before. */
static void
cuts_last (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->routes[ROUTE_REDUCE].hops[0].cadence = CADENCE_LAST;
}

static void
shuffles_last (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  cuts_last (in, opt, policy);
  policy->kinds[0].routes[ROUTE_REDUCE].hops[0].kind = COLLECTIVE_ALL_TO_ALL;
}

static void
reduces_later (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->routes[ROUTE_REDUCE].hops[0].cadence = CADENCE_LATER;
}

static void
lives_on_drives (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->states[STATE_PARAMETERS].home = PLACE_NVME;
}

static void
keeps_a_copy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy)->copy =
      (PolicyState){ mesh_node (&in->mesh), policy->compute, 1, PLACE_HBM };
}

static void
updates_elsewhere (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  UnitPolicy *kind = sharded (in, policy);

  (void) opt;
  kind->states[STATE_OPTIMIZER].home = kind->states[STATE_GRADIENTS].home = PLACE_PINNED;
}

static void
reads_elsewhere (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy)->states[STATE_GRADIENTS].home = PLACE_PINNED;
}

static void
mixes_cadences (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  policy_add_collective (&sharded (in, policy)->routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE,
                         "replica", (MeshGroup){ .size = 1, .stride = 1 }, policy->compute,
                         CADENCE_LAST);
}

static void
adds_up_what_left (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const DeepspeedOffload offload = { .optimizer = OFFLOAD_CPU, .ratio = 1 };
  UnitPolicy            *kind = zero3 (in, policy);

  (void) opt;
  offload_policy (&offload, policy);
  policy_add_collective (&kind->routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE, "replica",
                         (MeshGroup){ .size = 1, .stride = 1 }, policy->compute, CADENCE_LAST);
}

static void
stays_whole (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy);
  policy->whole_below = 64;
}

static void
stores (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  policy_add_collective (&sharded (in, policy)->routes[ROUTE_STORE], COLLECTIVE_ALL_REDUCE, "shard",
                         mesh_all (&in->mesh), policy->compute, EACH);
}

static void
moves_gradients (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  slices_policy (in, COLLECTIVE_REDUCE_SCATTER, policy);
  policy_add_move (&policy->kinds[0].routes[ROUTE_REDUCE], PLACE_HBM, PLACE_PINNED, policy->compute,
                   EACH);
}

static void
shares_a_name (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  policy_add_collective (&zero3 (in, policy)->routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE, "data",
                         mesh_node (&in->mesh), policy->compute, CADENCE_LAST);
}

static void
two_kinds (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy);
  policy->kinds[1] = policy->kinds[0];
  policy->n_kinds = 2;
}

static void
sharded_in_slices (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy);
}

static void
slices_in_buckets (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  slices_policy (in, COLLECTIVE_REDUCE_SCATTER, policy);
}

static const Compressor no_compressor = { .name = "nothing" };
static Issue            issue_without; /* DeepSpeed's, that takes none */
static Issue            issue_plain;   /* FSDP2's, that keeps no sums between micro-steps */

static void
compresses_shards (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->compressor = &no_compressor;
}

static void
compresses_parts (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  replicated_policy (in, DTYPE_BF16, COLLECTIVE_REDUCE_SCATTER, TRUE, policy);
  policy->kinds[0].compressor = &no_compressor;
}

static void
compresses_twice (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  PolicyRoute *reduce = &policy->kinds[0].routes[ROUTE_REDUCE];

  (void) opt;
  replicated_policy (in, DTYPE_BF16, COLLECTIVE_ALL_REDUCE, FALSE, policy);
  policy_add_collective (reduce, COLLECTIVE_ALL_REDUCE, "again", mesh_node (&in->mesh), DTYPE_BF16,
                         reduce->hops[0].cadence);
  policy->kinds[0].compressor = &no_compressor;
}

/* Matrices go one way, and all else none. */
static void
perturbs (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  replicated_policy (in, DTYPE_BF16, COLLECTIVE_ALL_REDUCE, FALSE, policy);
  policy->passes = 2;
}

static void
leaves_vectors (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  zero3 (in, policy)->reduced.dims = 2;
}

static void
reduces_tensors (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy)->reduced.dims = 2;
}

static void
shards_on_drives (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  (void) opt;
  sharded (in, policy)->states[STATE_PARAMETERS].home = PLACE_NVME;
}

static const struct
{
  void (*policy) (const PlanInput *in, gconstpointer opt, Policy *policy);
  const Issue *issue;
  const char  *message;
} cases[] = {
  { sums_blocks, &issue_deepspeed, "no reduce_scatter adds up what is encoded as 'int8-block'" },
  { frozen_as_they_are, &issue_deepspeed,
    "its route of gathering frozen parameters encodes nothing" },
  { encodes_on_drives, &issue_deepspeed, "'fp8' is not encoded or decoded on drives" },
  { gathers_on_the_host, &issue_deepspeed,
    "its route of gathering the second copy has all_gather of what is in pinned host memory" },
  { leaps, &issue_deepspeed,
    "its route of gathering the second copy moves from pinned host memory what is in NVMe drives" },
  { fills_elsewhere, &issue_deepspeed,
    "its route of filling the second copy ends in pinned host memory, not in NVMe drives" },
  { never_fills, &issue_deepspeed,
    "it keeps a second copy, and its route of filling the second copy is empty" },
  { never_reads, &issue_deepspeed,
    "it keeps a second copy, and its route of gathering the second copy is empty" },
  { keeps_what_is_there, &issue_deepspeed,
    "it keeps copies in GPU memory that have no home elsewhere" },
  { never_keeps, &issue_deepspeed,
    "it keeps a second copy, and its route of keeping the second copy in GPU memory is empty" },
  { keeps_slices, &issue_fsdp2,
    "its issue takes no route of keeping the second copy in GPU memory" },
  { casts_on_drives, &issue_deepspeed,
    "its route of filling the second copy casts to fp32 on drives" },
  { shuffles_parameters, &issue_deepspeed, "its route of gathering has all_to_all" },
  { gathers_last, &issue_deepspeed,
    "its route of gathering has a hop at the last micro-step only" },
  { stays_gathered, &issue_deepspeed,
    "its issue keeps nothing gathered from forward to backward uses" },
  { updates_late, &issue_fsdp2, "its issue has no update that shows one step late" },
  { gathers_a_node, &issue_deepspeed, "its route of gathering puts together 2 parts of 4" },
  { reduces_a_node, &issue_deepspeed,
    "its reduction leaves a part in 2 to each rank; gradients are shared by 4" },
  { scatters_last, &issue_deepspeed,
    "its issue does not reduce some hops in each micro-step and then reduce_scatter at the last "
    "one" },
  { cuts_last, &issue_deepspeed,
    "its issue does not cut whole gradients into shards at the last micro-step" },
  { shuffles_last, &issue_deepspeed,
    "its issue does not cut whole gradients into shards at the last micro-step" },
  { reduces_later, &issue_deepspeed, "its issue does not reduce in each micro-step but the first" },
  { lives_on_drives, &issue_deepspeed,
    "its issue updates parameters where they live, in NVMe drives" },
  { shards_on_drives, &issue_fsdp2, "its issue does not keep parameters in NVMe drives" },
  { shares_a_name, &issue_deepspeed, "two groups have the communicator 'data'" },
  { two_kinds, &issue_deepspeed, "its issue takes one kind of unit" },
  { keeps_a_copy, &issue_fsdp1, "its issue keeps no second copy in GPU memory" },
  { updates_elsewhere, &issue_fsdp2,
    "its issue updates parameters where they live, in GPU memory" },
  { reads_elsewhere, &issue_fsdp2,
    "gradients are in pinned host memory, and the optimizer that reads them in GPU memory" },
  { mixes_cadences, &issue_plain,
    "its issue does not reduce some hops in each micro-step and then all_reduce at the last one" },
  { adds_up_what_left, &issue_deepspeed,
    "its reduction adds up shards at the last micro-step, when they are in pinned host memory" },
  { stays_whole, &issue_fsdp2, "its issue cuts all tensors" },
  { stores, &issue_fsdp2, "its issue takes no route of storing gradients" },
  { sharded_in_slices, &issue_slices, "its issue takes no route of gathering" },
  { moves_gradients, &issue_slices, "its issue takes no moves in a route of reduction" },
  { perturbs, &issue_buckets, "its issue runs no perturbed passes" },
  { leaves_vectors, &issue_deepspeed, "tensors that its reduction does not take have no route" },
  { reduces_tensors, &issue_fsdp2, "its issue does not reduce tensors on their own" },
  { compresses_shards, &issue_without, "its issue takes no compressor" },
  { compresses_shards, &issue_deepspeed,
    "'nothing' takes the place of one all_reduce of plain gradients" },
  { compresses_parts, &issue_buckets,
    "'nothing' takes the place of one all_reduce of plain gradients" },
  { compresses_twice, &issue_buckets,
    "'nothing' takes the place of one all_reduce of plain gradients" },
  { slices_in_buckets, &issue_buckets, "its issue does not reduce in each micro-step" },
};

START_TEST (test_diagnosed)
{
  const Strategy strategy = {
    .api = STRATEGY_API_VERSION, .name = "row", .policy = cases[_i].policy, .issue = cases[_i].issue
  };
  const StrategyChoice choice = { &strategy, NULL, NULL };
  g_autoptr (Workload) workload = llama_of (3, 2, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *message = g_strdup_printf ("strategy 'row': %s", cases[_i].message);

  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  ck_assert_str_eq (diag_list_first_message (diags), message);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

SUITE_MAIN (policy_check)
{
  Suite *suite = suite_create ("policy-check");
  TCase *tcase = tcase_create ("all");

  issue_without = issue_deepspeed;
  issue_without.carries.compressors = FALSE;
  issue_plain = issue_fsdp2;
  issue_plain.carries.mixed_cadence = FALSE;
  tcase_add_loop_test (tcase, test_diagnosed, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
