/*
 * Megatron-FSDP's double buffers, two of each thing: of the blocks that most blocks are like
 * (FixedPoolAllocator).
 */
#include "strategy/emit/common.h"
#include "strategy/runtime/megatron/issue-megatron-private.h"

/* What most blocks are alike in. */
static const LayerDesc *
common_block (const StrategyRun *run)
{
  const LayerDesc *common = NULL;
  guint            most = 0;

  for (guint u = 0; u < run->n_units; u++)
    {
      guint n = 0;

      for (guint i = u;
           i < run->n_units && megatron_is_block (run, u) && megatron_part_of (run, u) == 0; i++)
        n += run->units[i].desc == run->units[u].desc;
      if (n > most)
        {
          common = run->units[u].desc;
          most = n;
        }
    }
  return common;
}

static void
fill_pool (StrategyRun *run, gboolean gradients, PoolCategory category, const char *label)
{
  MegatronState *s = run->state;
  DoubleBuffer  *pool = &s->pools[gradients];
  guint          unit = 0;

  while (run->units[unit].desc != s->common)
    unit++;
  for (guint n = 0; n < N_BUFFERS; n++)
    for (guint u = unit; u < run->n_units && run->units[u].layer == run->units[unit].layer; u++)
      pool->buffers[n][u - unit] =
          schedule_alloc (run->b, PLACE_HBM, category,
                          gradients ? run->shares[u].trainable_padded * reduced_bytes (run)
                                    : run->shares[u].padded * compute_bytes (run->policy),
                          label);
}

void
megatron_make_pools (StrategyRun *run)
{
  MegatronState *s = run->state;

  for (guint p = 0; p < G_N_ELEMENTS (s->pools); p++)
    for (guint n = 0; n < N_BUFFERS * MAX_PARTS; n++)
      s->pools[p].buffers[n / MAX_PARTS][n % MAX_PARTS] = SCHEDULE_NONE;
  s->common = megatron_has_double_buffers (run) ? common_block (run) : NULL;
  if (s->common != NULL && megatron_is_gathered (run, 0))
    fill_pool (run, FALSE, POOL_GATHERED, "double buffer of parameters");
  if (s->common != NULL && megatron_cuts_gradients (run))
    fill_pool (run, TRUE, POOL_GRADIENT, "double buffer of gradients");
}

/* A buffer for UNIT that is not taken; SCHEDULE_NONE: there is none. */
BufferRef
megatron_take_buffer (StrategyRun *run, guint unit, gboolean gradients)
{
  MegatronState *s = run->state;
  DoubleBuffer  *pool = &s->pools[gradients];
  guint          part = megatron_part_of (run, unit);

  for (guint n = 0; n < N_BUFFERS && run->units[unit].desc == s->common; n++)
    if (pool->buffers[n][part] != SCHEDULE_NONE && !pool->taken[n][part])
      {
        pool->taken[n][part] = TRUE;
        return pool->buffers[n][part];
      }
  return SCHEDULE_NONE;
}

/* Memory that is nobody's double buffer is freed. */
void
megatron_give_buffer (StrategyRun *run, BufferRef buffer, gboolean gradients)
{
  DoubleBuffer *pool = &((MegatronState *) run->state)->pools[gradients];

  for (guint n = 0; n < N_BUFFERS * MAX_PARTS; n++)
    if (buffer == pool->buffers[n / MAX_PARTS][n % MAX_PARTS] && buffer != SCHEDULE_NONE)
      {
        pool->taken[n / MAX_PARTS][n % MAX_PARTS] = FALSE;
        return;
      }
  schedule_free (run->b, buffer);
}
