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

/* Whether blocks are heeded where SPEC is CHOICE and all else as it is. */
static gboolean
heeds_with (const DriverLevel *level, const OptionSpec *spec, const char *choice)
{
  const Strategy      *strategy = level->strategy;
  g_autoptr (DiagList) unread = diag_list_new ();
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  Policy               policy = { 0 };

  option_table_copy (strategy->options, level->run.options, options);
  if (option_set (spec, options, choice, NULL, unread)
      && (strategy->check == NULL || strategy->check (&level->in, options, unread)))
    strategy->policy (&level->in, options, &policy);
  option_table_clear (strategy->options, options);
  return heeds_blocks (&policy);
}

/* What to take so that blocks are heeded. */
static char *
hint_of (const DriverLevel *level)
{
  const char *name = level->strategy->name;

  for (const OptionSpec *spec = level->strategy->options; spec != NULL && spec->key != NULL; spec++)
    for (guint i = 0; spec->type == OPTION_ENUM && spec->choices[i] != NULL; i++)
      if (heeds_with (level, spec, spec->choices[i]))
        return g_strdup_printf ("with '%s: %s' shards of '%s' heed blocks", spec->key,
                                spec->choices[i], name);
  return g_strdup ("leave it out, or take ragged shards: 'vescale' has them, and 'fsdp2' with "
                   "'shard_format: ragged'");
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
  g_autofree char   *reason = NULL, *hint = NULL;

  if (workload_training (level->in.workload)->shard_block == NULL || policy == NULL
      || level->strategy->policy == NULL)
    return;
  reason = idle_because (level->strategy, policy);
  if (reason == NULL)
    return;
  hint = heeds_blocks (policy) ? g_strdup ("leave it out") : hint_of (level);
  diag_list_set_key (diags, "shard_block");
  diag_warning (diags, NULL, hint, "'shard_block' has no effect: %s", reason);
  diag_list_set_key (diags, NULL);
}
