/*
 * Policies that cannot be, or that their issue does not carry, are diagnosed before anything is
 * emitted: whoever writes a row or a plug-in reads here what is missing.
 */
#include "driver/walk/driver-private.h"

typedef struct
{
  const char        *strategy;
  const Issue       *issue; /* NULL: the strategy has hooks of its own, which it answers for */
  const UnitPolicy  *kind;
  PolicyRouteKind    which;
  const PolicyRoute *route;
  DiagList          *diags;
} Checker;

static const char *const route_names[ROUTE_N] = {
  [ROUTE_GATHER] = "gathering",
  [ROUTE_REDUCE] = "reduction",
  [ROUTE_REST] = "reducing other tensors",
  [ROUTE_STORE] = "storing gradients",
  [ROUTE_UPDATE] = "updates",
  [ROUTE_FILL] = "filling the second copy",
  [ROUTE_COPY] = "gathering the second copy",
  [ROUTE_KEEP] = "keeping the second copy in GPU memory",
  [ROUTE_KEPT] = "gathering what is kept of the second copy",
  [ROUTE_FROZEN] = "gathering frozen parameters",
  [ROUTE_LOAD] = "loading optimizer states",
  [ROUTE_SAVE] = "saving optimizer states",
  [ROUTE_RENEW] = "renewing shards",
};

static const char *const state_names[STATE_N] = {
  [STATE_PARAMETERS] = "parameters",
  [STATE_GRADIENTS] = "gradients",
  [STATE_OPTIMIZER] = "optimizer states",
};

static const char *const cadence_names[] = {
  [CADENCE_MICRO_STEP] = "in each micro-step",
  [CADENCE_LAST] = "at the last micro-step only",
  [CADENCE_LATER] = "in each micro-step but the first",
};

G_GNUC_PRINTF (3, 4)
static gboolean
fails (const Checker *self, const char *hint, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list          args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  diag_error (self->diags, NULL, hint, "strategy '%s': %s", self->strategy, text);
  return FALSE;
}

/* ---- hops ------------------------------------------------------------------------------------ */

static gboolean
check_codec (const Checker *self, const PolicyHop *hop)
{
  if (hop->codec == NULL)
    return TRUE;
  if (hop->hop == HOP_COLLECTIVE && collective_kind_sums (hop->kind) && hop->codec->every_hop)
    return fails (self, "reduce by all-to-alls: ranks decode what they bring and add it up",
                  "no %s adds up what is encoded as '%s'", collective_kind_name (hop->kind),
                  hop->codec->name);
  if (hop->hop == HOP_MOVE && (hop->from == PLACE_NVME || hop->to == PLACE_NVME))
    return fails (self, "encode what moves between memories",
                  "'%s' is not encoded or decoded on drives", hop->codec->name);
  return TRUE;
}

static gboolean
check_collective (const Checker *self, const PolicyHop *hop, Place place)
{
  if (place != PLACE_HBM)
    return fails (self, "move it to the GPU before", "its route of %s has %s of what is in %s",
                  route_names[self->which], collective_kind_name (hop->kind), place_title (place));
  if (hop->kind == COLLECTIVE_SEND_RECV
      || (hop->kind == COLLECTIVE_ALL_TO_ALL && !policy_route_reduces (self->which)))
    return fails (self, "all_gather, reduce_scatter, all_reduce; all_to_all in a reduction",
                  "its route of %s has %s", route_names[self->which],
                  collective_kind_name (hop->kind));
  return TRUE;
}

static gboolean
check_move (const Checker *self, const PolicyHop *hop, Place place)
{
  if (hop->from != place)
    return fails (self, NULL, "its route of %s moves from %s what is in %s",
                  route_names[self->which], place_title (hop->from), place_title (place));
  if (self->issue != NULL && (self->issue->carries.moves & 1u << self->which) == 0)
    return fails (self, NULL, "its issue takes no moves in a route of %s",
                  route_names[self->which]);
  return TRUE;
}

/* Uses are of micro-steps alike: what gathers for one gathers for all. */
static gboolean
check_uses (const Checker *self, const PolicyHop *hop)
{
  const guint of_copies = 1u << ROUTE_FILL | 1u << ROUTE_COPY | 1u << ROUTE_KEEP | 1u << ROUTE_KEPT;
  const guint of_shards = 1u << ROUTE_GATHER | 1u << ROUTE_FROZEN;
  gboolean    of_uses = ((of_copies | of_shards) & 1u << self->which) != 0;

  if (!of_uses || hop->cadence == CADENCE_MICRO_STEP)
    return TRUE;
  return fails (self, NULL, "its route of %s has a hop %s", route_names[self->which],
                cadence_names[hop->cadence]);
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Where optimizer states are while they are updated: what is on drives comes to the host. */
static Place
updated_in (const Checker *self)
{
  Place home = self->kind->states[STATE_OPTIMIZER].home;

  return home == PLACE_NVME ? PLACE_PINNED : home;
}

static Place
begins_in (const Checker *self)
{
  switch (self->which)
    {
    case ROUTE_GATHER:
    case ROUTE_FROZEN:
      return self->kind->states[STATE_PARAMETERS].home;
    case ROUTE_LOAD:
      return self->kind->states[STATE_OPTIMIZER].home;
    case ROUTE_SAVE:
    case ROUTE_RENEW:
      return updated_in (self);
    case ROUTE_COPY:
      return self->kind->copy.home;
    case ROUTE_STORE:
      return self->route->n > 0 && self->route->hops[0].hop == HOP_MOVE ? self->route->hops[0].from
                                                                        : PLACE_HBM;
    case ROUTE_UPDATE:
      return self->issue != NULL && self->issue->carries.updates_home
                 ? self->kind->states[STATE_PARAMETERS].home
                 : self->kind->states[STATE_OPTIMIZER].home;
    case ROUTE_REDUCE:
    case ROUTE_REST:
    case ROUTE_FILL:
    case ROUTE_KEEP:
    case ROUTE_KEPT:
    case ROUTE_N:
      break;
    }
  return PLACE_HBM;
}

static Place
ends_in (const Checker *self)
{
  switch (self->which)
    {
    case ROUTE_STORE:
      return self->kind->states[STATE_GRADIENTS].home;
    case ROUTE_REDUCE:
    case ROUTE_REST:
      return self->kind->routes[ROUTE_STORE].n > 0 ? PLACE_HBM
                                                   : self->kind->states[STATE_GRADIENTS].home;
    case ROUTE_FILL:
      return self->kind->copy.home;
    case ROUTE_LOAD:
      return updated_in (self);
    case ROUTE_SAVE:
      return self->kind->states[STATE_OPTIMIZER].home;
    case ROUTE_RENEW:
      return self->kind->states[STATE_PARAMETERS].home;
    case ROUTE_GATHER:
    case ROUTE_FROZEN:
    case ROUTE_COPY:
    case ROUTE_KEEP:
    case ROUTE_KEPT:
    case ROUTE_UPDATE:
    case ROUTE_N:
      break;
    }
  return PLACE_HBM;
}

static gboolean
check_hops (const Checker *self)
{
  Place place = begins_in (self);

  for (guint h = 0; h < self->route->n; h++)
    {
      const PolicyHop *hop = &self->route->hops[h];

      if (h > 0 && place == PLACE_NVME && hop->dtype != hop[-1].dtype)
        return fails (self, "cast what moves between memories",
                      "its route of %s casts to %s on drives", route_names[self->which],
                      dtype_name (hop->dtype));
      if (!check_codec (self, hop) || !check_uses (self, hop)
          || !(hop->hop == HOP_MOVE ? check_move (self, hop, place)
                                    : check_collective (self, hop, place)))
        return FALSE;
      if (hop->hop == HOP_MOVE)
        place = hop->to;
    }
  if (place != ends_in (self) && self->route->n > 0)
    return fails (self, NULL, "its route of %s ends in %s, not in %s", route_names[self->which],
                  place_title (place), place_title (ends_in (self)));
  return TRUE;
}

/* Of N ranks that hold a part each: those whose parts a route puts together. */
static gboolean
check_gathers_all (const Checker *self, guint n)
{
  guint64 together = 1;

  for (guint h = 0; h < self->route->n; h++)
    if (self->route->hops[h].hop == HOP_COLLECTIVE
        && self->route->hops[h].kind == COLLECTIVE_ALL_GATHER)
      together *= self->route->hops[h].group.size;
  return together == n
         || fails (self, NULL, "its route of %s puts together %" G_GUINT64_FORMAT " parts of %u",
                   route_names[self->which], together, n);
}

/* What is due at the last micro-step only works on the shards that all of them have left. */
static gboolean
check_cadence (const Checker *self)
{
  guint cadences = self->issue != NULL ? self->issue->carries.cadences : 0;
  guint scatters = policy_n_scatters (self->route), seen = 0;

  for (guint h = 0; h < self->route->n && cadences != 0; h++)
    {
      const PolicyHop *hop = &self->route->hops[h];
      const gboolean   cuts = h < scatters && !self->issue->carries.last_scatters;

      seen |= 1u << hop->cadence;
      if ((cadences & 1u << hop->cadence) == 0)
        return fails (self, NULL, "its issue does not reduce %s", cadence_names[hop->cadence]);
      if (hop->cadence == CADENCE_LAST && seen == 1u << CADENCE_LAST && cuts)
        return fails (self, "scatter in each micro-step, and add up the shards at the last one",
                      "its issue does not cut whole gradients into shards at the last micro-step");
      if (seen == 1u << hop->cadence)
        continue;
      if (!self->issue->carries.mixed_cadence || hop->cadence != CADENCE_LAST || cuts)
        return fails (self, NULL,
                      "its issue does not reduce some hops in each micro-step and then "
                      "%s at the last one",
                      collective_kind_name (hop->kind));
      if (self->kind->states[STATE_GRADIENTS].home != PLACE_HBM
          && !self->issue->carries.partial_on_gpu)
        return fails (self, "keep gradients on the GPU, or reduce over all ranks at once",
                      "its reduction adds up shards at the last micro-step, when they are in %s",
                      place_title (self->kind->states[STATE_GRADIENTS].home));
    }
  return TRUE;
}

/* The shards that a reduction leaves are the gradients', or those that the optimizer takes. */
static gboolean
check_leaves_shards (const Checker *self)
{
  guint   gradients = self->kind->states[STATE_GRADIENTS].group.size;
  guint   optimizer = self->kind->states[STATE_OPTIMIZER].group.size;
  guint64 parts = 1, together = 1;

  for (guint h = 0; h < self->route->n; h++)
    {
      const PolicyHop *hop = &self->route->hops[h];

      if (policy_hop_scatters (ROUTE_REDUCE, hop))
        parts *= hop->group.size;
      else if (hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_ALL_GATHER)
        together *= hop->group.size;
    }
  if (parts == gradients * together || self->kind->compressor != NULL
      || (self->issue->carries.whole_reduction
          && (parts == together || parts == optimizer * together)))
    return TRUE;
  return fails (self, NULL,
                "its reduction leaves a part in %" G_GUINT64_FORMAT
                " to each rank; gradients are shared by %u",
                parts / together, gradients);
}

/* Tensors that the reduction does not take are reduced, too. */
static gboolean
check_rest (const Checker *self)
{
  if (self->kind->reduced.dims == 0)
    return TRUE;
  if ((self->issue->carries.routes & 1u << ROUTE_REST) == 0)
    return fails (self, "an issue that does: issue_deepspeed",
                  "its issue does not reduce tensors on their own");
  return self->kind->routes[ROUTE_REST].n > 0
         || fails (self, NULL, "tensors that its reduction does not take have no route");
}

static gboolean
check_route (Checker *self)
{
  const UnitPolicy *kind = self->kind;

  if (self->issue != NULL && self->route->n > 0
      && (self->issue->carries.routes & 1u << self->which) == 0)
    return fails (self, NULL, "its issue takes no route of %s", route_names[self->which]);
  if (!check_hops (self))
    return FALSE;
  if (self->issue == NULL)
    return TRUE;
  switch (self->which)
    {
    case ROUTE_GATHER:
      return check_gathers_all (self, kind->states[STATE_PARAMETERS].group.size);
    case ROUTE_FROZEN:
      if (self->route->n > 0 && self->route->hops[0].codec == NULL)
        return fails (self, "give the first hop the codec as which frozen shards rest",
                      "its route of %s encodes nothing", route_names[self->which]);
      return self->route->n == 0
             || check_gathers_all (self, kind->states[STATE_PARAMETERS].group.size);
    case ROUTE_COPY:
      return check_gathers_all (self, MAX (kind->copy.group.size, 1));
    case ROUTE_KEPT:
      return self->route->n == 0 || check_gathers_all (self, kind->copy.group.size);
    case ROUTE_REDUCE:
      return check_rest (self) && check_cadence (self) && check_leaves_shards (self);
    case ROUTE_REST:
      return self->route->n == 0 || (check_cadence (self) && check_leaves_shards (self));
    case ROUTE_STORE:
    case ROUTE_UPDATE:
    case ROUTE_FILL:
    case ROUTE_KEEP:
    case ROUTE_LOAD:
    case ROUTE_SAVE:
    case ROUTE_RENEW:
    case ROUTE_N:
      break;
    }
  return TRUE;
}

/* A compressor takes what one collective would sum over a group that has it all. */
static gboolean
check_compressor (const Checker *self)
{
  const PolicyRoute *reduce = &self->kind->routes[ROUTE_REDUCE];
  gboolean           alone = reduce->n > 0 && reduce->hops[0].hop == HOP_COLLECTIVE
                   && reduce->hops[0].kind == COLLECTIVE_ALL_REDUCE
                   && reduce->hops[0].codec == NULL;

  if (self->kind->compressor == NULL)
    return TRUE;
  if (self->issue == NULL || !self->issue->carries.compressors)
    return fails (self, "an issue that does: issue_buckets", "its issue takes no compressor");
  for (guint h = 1; h < reduce->n; h++)
    alone = alone && reduce->hops[h].hop == HOP_MOVE;
  return alone
         || fails (self, "reduce by one plain all_reduce",
                   "'%s' takes the place of one all_reduce of plain gradients",
                   self->kind->compressor->name);
}

/* Hops that name one communicator go over one group. */
static gboolean
check_names (const Checker *self)
{
  g_autoptr (GHashTable) groups = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint r = 0; r < ROUTE_N; r++)
    for (guint h = 0; h < self->kind->routes[r].n; h++)
      {
        const PolicyHop *hop = &self->kind->routes[r].hops[h];
        const MeshGroup *known;

        if (hop->hop != HOP_COLLECTIVE)
          continue;
        if (hop->name == NULL)
          return fails (self, NULL, "a hop of its route of %s names no communicator",
                        route_names[r]);
        known = g_hash_table_lookup (groups, hop->name);
        if (known != NULL && (!mesh_group_equal (*known, hop->group)))
          return fails (self, "a name for each group", "two groups have the communicator '%s'",
                        hop->name);
        g_hash_table_insert (groups, (gpointer) hop->name, (gpointer) &hop->group);
      }
  return TRUE;
}

/* ---- states ---------------------------------------------------------------------------------- */

static gboolean
check_homes (const Checker *self)
{
  const IssueCarries *carries = &self->issue->carries;
  const PolicyState  *copy = &self->kind->copy, *states = self->kind->states;

  for (guint state = 0; state < STATE_N; state++)
    if ((carries->homes[state] & 1u << states[state].home) == 0)
      return fails (self, NULL, "its issue does not keep %s in %s", state_names[state],
                    place_title (states[state].home));
  if (states[STATE_GRADIENTS].home != states[STATE_OPTIMIZER].home)
    return fails (self, NULL, "gradients are in %s, and the optimizer that reads them in %s",
                  place_title (states[STATE_GRADIENTS].home),
                  place_title (states[STATE_OPTIMIZER].home));
  if (carries->updates_home && states[STATE_PARAMETERS].home != updated_in (self)
      && self->kind->routes[ROUTE_RENEW].n == 0)
    return fails (self, NULL, "its issue updates parameters where they live, in %s",
                  place_title (states[STATE_PARAMETERS].home));
  if (copy->group.size > 0 && (carries->copies & 1u << copy->home) == 0)
    return fails (self, "an issue that does: issue_deepspeed",
                  "its issue keeps no second copy in %s", place_title (copy->home));
  return TRUE;
}

/* Whoever reads a second copy finds what was put there. */
static gboolean
check_copy (const Checker *self)
{
  static const PolicyRouteKind needed[] = { ROUTE_FILL, ROUTE_COPY, ROUTE_KEEP, ROUTE_KEPT };
  guint n = self->kind->copy.group.size == 0 ? 0 : self->kind->kept_copies > 0 ? 4 : 2;

  if (self->kind->kept_copies > 0 && (n == 0 || self->kind->copy.home == PLACE_HBM))
    return fails (self, NULL, "it keeps copies in GPU memory that have no home elsewhere");
  for (guint i = 0; i < n; i++)
    if (self->kind->routes[needed[i]].n == 0)
      return fails (self, NULL, "it keeps a second copy, and its route of %s is empty",
                    route_names[needed[i]]);
  return TRUE;
}

gboolean
policy_check (const Strategy *strategy, const Policy *policy, DiagList *diags)
{
  Checker self = { .strategy = strategy->name, .issue = strategy->issue, .diags = diags };

  if (self.issue != NULL && policy->n_kinds > 1 && self.issue->carries.one_kind)
    return fails (&self, NULL, "its issue takes one kind of unit");
  if (self.issue != NULL && policy->whole_below > 0 && !self.issue->carries.whole_tensors)
    return fails (&self, NULL, "its issue cuts all tensors");
  if (self.issue != NULL && policy->stays && !self.issue->carries.stays)
    return fails (&self, NULL, "its issue keeps nothing gathered from forward to backward uses");
  if (self.issue != NULL && policy->late_update && !self.issue->carries.late_update)
    return fails (&self, NULL, "its issue has no update that shows one step late");
  if (self.issue != NULL && policy->on_gpu > 0 && !self.issue->carries.part_on_gpu)
    return fails (&self, NULL, "its issue leaves no part of the optimizer on the GPU");
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      self.kind = &policy->kinds[k];
      if (!check_names (&self) || (self.issue != NULL && !check_homes (&self)))
        return FALSE;
      for (guint r = 0; r < ROUTE_N; r++)
        {
          self.which = (PolicyRouteKind) r;
          self.route = &self.kind->routes[r];
          if (!check_route (&self))
            return FALSE;
        }
      if (!check_copy (&self) || !check_compressor (&self))
        return FALSE;
    }
  return TRUE;
}

/* One rank speaks for others, or owns a part of what all have: all have everything. */
static gboolean
needs_whole (const Exchange *exchange)
{
  return exchange->leader || exchange->owners > 0 || exchange->base_every > 0;
}

gboolean
policy_check_average (const Strategy *strategy, const Policy *policy, const Exchange *exchange,
                      DiagList *diags)
{
  const Checker self = { .strategy = strategy->name, .issue = strategy->issue, .diags = diags };

  for (guint k = 0; k < policy->n_kinds && needs_whole (exchange); k++)
    if (policy->kinds[k].states[STATE_PARAMETERS].group.size > 1)
      return fails (&self, "take an inner strategy that keeps them whole: ddp, zero1, zero2",
                    "it shards parameters, of which one rank exchanges what others need");
  if (self.issue == NULL || (self.issue->carries.averaged_host && !needs_whole (exchange)))
    return TRUE;
  for (guint k = 0; k < policy->n_kinds; k++)
    for (guint state = 0; state < STATE_N; state++)
      if (policy->kinds[k].states[state].home != PLACE_HBM)
        return fails (&self, "leave offload out, or take zero-offload or fsdp2 with cpu_offload",
                      "an average over workers does not reach what its issue keeps off the GPU");
  return TRUE;
}

/*
 * Layers of multi-token prediction read the embedding's table again. Where that is on another
 * stage, the first of them has a copy, which the others read: no gathering heeds that.
 */
gboolean
policy_check_tables (const Strategy *strategy, const Policy *policy, const Workload *workload,
                     DiagList *diags)
{
  const Checker     self = { .strategy = strategy->name, .issue = strategy->issue, .diags = diags };
  const ModelShape *shape = workload_shape (workload);
  const MeshOptions *mesh = workload_mesh (workload);
  gboolean           gathers = FALSE;

  for (guint k = 0; k < policy->n_kinds; k++)
    gathers |= policy->kinds[k].states[STATE_PARAMETERS].group.size > 1;
  if (shape->n_mtp > 0 && self.issue != NULL && !self.issue->carries.shared_tables)
    return fails (&self, "leave 'mtp' of the model out, or take zero1, fsdp2 or megatron-fsdp",
                  "layers that predict further tokens read the embedding's table again, which its "
                  "issue brings for no other layer than a tied head");
  if (shape->n_mtp > (shape->tied_embeddings ? 0 : 1) && !mesh_ends_meet (mesh) && gathers)
    return fails (&self, "take zero1, no pipeline, or 'mtp' of 1 and an untied head",
                  "it shards parameters, and several layers read the table on the last stage");
  return TRUE;
}

/*
 * Frozen weights in 4 bits or fp8 pass as the 16-bit elements that hold them: what would cast or
 * encode these would not bring them back.
 */
gboolean
policy_check_packed (const Strategy *strategy, const Policy *policy, const Workload *workload,
                     DiagList *diags)
{
  const Checker self = { .strategy = strategy->name, .issue = strategy->issue, .diags = diags };

  const char *kept = workload_training (workload)->load_in_4bit
                         ? "'load_in_4bit'"
                         : "a framework that keeps frozen weights in fp8";

  if (!workload_packs (workload))
    return TRUE;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];

      if (dtype_bits (kind->states[STATE_PARAMETERS].dtype) != 16)
        return fails (&self, "set 'training.precision' to bf16",
                      "it keeps parameters in %u bits, and those of %s lie in elements of 16",
                      dtype_bits (kind->states[STATE_PARAMETERS].dtype), kept);
      for (guint r = 0; r < ROUTE_N; r++)
        for (guint h = 0; h < kind->routes[r].n; h++)
          if (!policy_route_reduces ((PolicyRouteKind) r) && kind->routes[r].hops[h].codec != NULL)
            return fails (&self, "set the option that quantises its weights to false",
                          "%s encodes the elements that hold weights of %s", route_names[r], kept);
    }
  return TRUE;
}

/* Products take weights as fully_shard has gathered them: another runtime brings 16 bits. */
gboolean
policy_check_narrow (const Strategy *strategy, const Policy *policy, const Workload *workload,
                     DiagList *diags)
{
  const PolicyRoute *gather = &policy->kinds[0].routes[ROUTE_GATHER];

  if (workload_training (workload)->fp8_gather == FP8_GATHER_NONE)
    return TRUE;
  for (guint h = 0; h < gather->n; h++)
    if (gather->hops[h].narrow)
      return TRUE;
  diag_error (diags, NULL, "set 'training.fp8_gather' to none, or take fsdp2 or hsdp",
              "strategy '%s' gathers no parameters in fp8", strategy->name);
  return FALSE;
}
