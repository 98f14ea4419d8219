/*
 * PyTorch's fully_shard (FSDP2): every tensor sharded on its leading dimension in fp32, gathered in
 * compute precision. Source: torch/distributed/fsdp/_fully_shard.
 */
#include "strategy/systems/fsdp2.h"

const char *const fsdp2_reshard_choices[] = { "auto", "true", "false", "K", NULL };

static const OptionSpec fsdp2_options[] = { FSDP2_OPTIONS ("all", "rows-inside"), { 0 } };

/* Ranks that share what stays after forward; 0: it is freed or kept as a whole. */
static guint
ranks_after_forward (const Fsdp2Options *options, guint shard)
{
  guint n = (guint) MAX (options->reshard_after_forward - RESHARD_TO, 0);

  return n > 1 && n < shard ? n : 0;
}

/* As fully_shard takes a number: a divisor of the shard group; 1 is false, all of them is true. */
static gboolean
check_reshard (const PlanInput *in, const Fsdp2Options *options, DiagList *diags)
{
  ShardGroups groups[2];
  gint64      asked = options->reshard_after_forward - RESHARD_TO;

  unit_groups (&in->mesh, options->shard, groups, NULL);
  if (asked > groups[0].shard_group.size)
    {
      return diag_option_error (
          diags, "reshard_after_forward", "take a divisor of it, true or false",
          "'reshard_after_forward' of %" G_GINT64_FORMAT " ranks is more than the shard "
          "group of %u",
          asked, groups[0].shard_group.size);
    }
  for (guint kind = 0; kind < G_N_ELEMENTS (groups); kind++)
    {
      guint shard = groups[kind].shard_group.size, n = ranks_after_forward (options, shard);

      if (n == 0 || shard % n == 0)
        continue;
      return diag_option_error (
          diags, "reshard_after_forward", "take a divisor of it, true or false",
          "'reshard_after_forward' of %u ranks does not divide the shard group of %u%s", n, shard,
          kind > 0 ? " that experts have" : "");
    }
  return TRUE;
}

/*
 * As _fsdp_param.py has it: what a tensor makes for its gathering is asked of its shard, never of a
 * slice. Formats that products read in place have no place for two types.
 */
static gboolean
check_gather (const PlanInput *in, const Fsdp2Options *options, DiagList *diags)
{
  const ShardFormat *format = shard_format_find (shard_format_all[options->format]);

  if (workload_training (in->workload)->fp8_gather == FP8_GATHER_NONE)
    return TRUE;
  if (shard_format_is_in_place (format))
    return diag_option_error (diags, "shard_format", "take 'shard_format: rows-inside'",
                              "with 'fp8_gather' parameters are copied out of what was gathered");
  if (options->cpu_offload
      && workload_training (in->workload)->fp8_gather == FP8_GATHER_PRECOMPUTED)
    return diag_option_error (diags, "cpu_offload", "set 'fp8_gather' to searched",
                              "scales are precomputed of shards in GPU memory");
  if (options->reshard_after_forward > RESHARD_TO + 1)
    return diag_option_error (diags, "reshard_after_forward", "take true or false",
                              "with 'fp8_gather' no slices of what was gathered stay");
  return TRUE;
}

gboolean
fsdp2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const Fsdp2Options *options = opt;

  return check_unit_groups (&in->mesh, options->shard, diags) && check_reshard (in, options, diags)
         && check_gather (in, options, diags)
         && compression_check (in, &options->compression, diags);
}

/* Shards live at HOME, in host memory: they come from there, and their gradients go there. */
static void
offload (UnitPolicy *policy, Place home)
{
  PolicyRoute gather = policy->routes[ROUTE_GATHER];
  Dtype       master = policy->states[STATE_PARAMETERS].dtype;

  for (guint state = 0; state < STATE_N; state++)
    policy->states[state].home = home;
  policy->routes[ROUTE_GATHER] = (PolicyRoute){ .n = 0 };
  policy_add_move (&policy->routes[ROUTE_GATHER], home, PLACE_HBM, master, CADENCE_MICRO_STEP)
      ->label = "parameters";
  policy->routes[ROUTE_GATHER].hops[policy->routes[ROUTE_GATHER].n++] = gather.hops[0];
  policy_add_move (&policy->routes[ROUTE_REDUCE], PLACE_HBM, home, master, CADENCE_MICRO_STEP)
      ->label = "gradients";
}

/*
 * What of a reduction waits for the last micro-step: all of it (torch/distributed/pipelining/
 * stage.py, backward_maybe_with_nosync; set_requires_gradient_sync), or what follows the shard
 * group's part where there are replicas (set_requires_all_reduce).
 */
static void
reduce_last (PolicyRoute *route, gboolean all)
{
  guint shards = policy_n_scatters (route);
  guint first = all ? 0 : policy_next (route, shards, HOP_MOVE) > shards ? shards : route->n;

  for (guint h = first; h < route->n; h++)
    route->hops[h].cadence = CADENCE_LAST;
}

void
fsdp2_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const Fsdp2Options    *o = opt;
  gboolean               pipelined = in->mesh.stages > 1;
  const TrainingOptions *training = workload_training (in->workload);

  shard_policy (in, o->shard, shard_format_find (shard_format_all[o->format]), policy);
  for (guint kind = 0; kind < policy->n_kinds; kind++)
    {
      MeshGroup group = policy->kinds[kind].states[STATE_PARAMETERS].group;
      guint     ranks = ranks_after_forward (o, group.size);

      policy->kinds[kind].routes[ROUTE_GATHER].hops[0].narrow =
          training->fp8_gather != FP8_GATHER_NONE;

      if (ranks > 0) /* neighbours of the shard group share slices of what was gathered */
        policy_add_second_copy (&policy->kinds[kind], "post_forward",
                                mesh_group_part (group, ranks), PLACE_HBM, policy->compute);
      if (o->cpu_offload)
        offload (&policy->kinds[kind], o->pin_memory ? PLACE_PINNED : PLACE_PAGEABLE);
      if (pipelined || !o->requires_gradient_sync || !o->requires_all_reduce)
        reduce_last (&policy->kinds[kind].routes[ROUTE_REDUCE],
                     pipelined || !o->requires_gradient_sync);
    }
  policy->stays = o->reshard_after_forward == RESHARD_NEVER
                  || o->reshard_after_forward == RESHARD_TO + 1
                  || (o->reshard_after_forward == RESHARD_AUTO && pipelined);
  policy->issue = &o->issue;
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_fsdp2 = {
  .api = STRATEGY_API_VERSION,
  .name = "fsdp2",
  .title = "PyTorch fully_shard: per-parameter sharding, implicit prefetch, copy-in and copy-out",
  .source = "pytorch torch/distributed/fsdp/_fully_shard",
  .options_size = sizeof (Fsdp2Options),
  .options = fsdp2_options,
  .check = fsdp2_check,
  .policy = fsdp2_policy,
  .issue = &issue_fsdp2,
  .states = FSDP2_STATES,
  .missing = FSDP2_MISSING,
};
