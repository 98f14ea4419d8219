#include "schedule/access-history-private.h"

gboolean
vector_clock_merge (guint32 *clock, const guint32 *other, guint n)
{
  gboolean changed = FALSE;

  for (guint t = 0; t < n; t++)
    if (other[t] > clock[t])
      {
        clock[t] = other[t];
        changed = TRUE;
      }
  return changed;
}

gboolean
access_is_over (const Access *access, const guint32 *clock)
{
  return access->position <= clock[access->thread];
}

void
access_history_reset (AccessHistory *history)
{
  history->write.position = 0;
  history->n_reads = 0;
}

void
access_history_add_read (AccessHistory *history, const Access *access)
{
  for (guint i = 0; i < history->n_reads; i++)
    if (history->reads[i].thread == access->thread)
      {
        history->reads[i] = *access;
        return;
      }
  if (history->n_reads == history->room)
    {
      history->room = history->room * 2 + 2;
      history->reads = g_renew (Access, history->reads, history->room);
    }
  history->reads[history->n_reads++] = *access;
}

static gboolean
same_access (const Access *a, const Access *b)
{
  return a->thread == b->thread && a->position == b->position && a->item == b->item;
}

const Access *
access_history_conflict (const AccessHistory *history, const Access *access, const guint32 *clock,
                         gboolean writes)
{
  if (!access_is_over (&history->write, clock) && !same_access (&history->write, access))
    return &history->write;
  for (guint i = 0; i < history->n_reads && writes; i++)
    if (!access_is_over (&history->reads[i], clock) && !same_access (&history->reads[i], access))
      return &history->reads[i];
  return NULL;
}
