/* Whether blocks that somebody asked for (workload/shard-block.h) have an effect on shards. */
#include "driver/driver-private.h"

static gboolean
heeds_blocks (const Policy *policy)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    if (policy->kinds[k].format != NULL && policy->kinds[k].format->heeds_blocks)
      return TRUE;
  return FALSE;
}

static gboolean
shards_something (const Policy *policy)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    for (guint state = 0; state < STATE_N; state++)
      if (policy->kinds[k].states[state].group.size > 1)
        return TRUE;
  return FALSE;
}

/* Why blocks have no effect under POLICY of STRATEGY; NULL: they have one. */
static char *
idle_because (const Strategy *strategy, const Policy *policy)
{
  const ShardFormat *format = policy->kinds[0].format;

  if (!shards_something (policy))
    return g_strdup_printf ("strategy '%s' shards nothing here", strategy->name);
  if (format == NULL || heeds_blocks (policy))
    return NULL;
  if (format->owned != NULL)
    return g_strdup ("ranks own whole tensors");
  return g_strdup_printf ("shards of format '%s' heed no blocks", format->name);
}

void
driver_warn_of_blocks (const Driver *self, DiagList *diags)
{
  const DriverLevel *level = &self->stages[0].levels[self->n_levels - 1];
  const Policy      *policy = self->stages[0].policy;
  g_autofree char   *reason = NULL;

  if (workload_training (level->in.workload)->shard_block == NULL || policy == NULL
      || level->strategy->policy == NULL)
    return;
  reason = idle_because (level->strategy, policy);
  if (reason == NULL)
    return;
  diag_list_set_key (diags, "shard_block");
  diag_warning (diags, NULL,
                heeds_blocks (policy) ? "leave it out"
                                      : "leave it out, or take ragged shards: 'vescale' has them, "
                                        "and 'fsdp2' with 'shard_format: ragged'",
                "'shard_block' has no effect: %s", reason);
  diag_list_set_key (diags, NULL);
}
