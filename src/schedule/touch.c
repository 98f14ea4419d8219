#include "schedule/touch-private.h"

gboolean
clock_learn (guint32 *clock, const guint32 *other, guint n)
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
touch_is_over (const Touch *touch, const guint32 *clock)
{
  return touch->position <= clock[touch->thread];
}

void
cell_reset (Cell *cell)
{
  cell->write.position = 0;
  cell->n_reads = 0;
}

void
cell_add_read (Cell *cell, const Touch *touch)
{
  for (guint i = 0; i < cell->n_reads; i++)
    if (cell->reads[i].thread == touch->thread)
      {
        cell->reads[i] = *touch;
        return;
      }
  if (cell->n_reads == cell->room)
    {
      cell->room = cell->room * 2 + 2;
      cell->reads = g_renew (Touch, cell->reads, cell->room);
    }
  cell->reads[cell->n_reads++] = *touch;
}

static gboolean
same_touch (const Touch *a, const Touch *b)
{
  return a->thread == b->thread && a->position == b->position && a->item == b->item;
}

const Touch *
cell_conflict (const Cell *cell, const Touch *touch, const guint32 *clock, gboolean writes)
{
  if (!touch_is_over (&cell->write, clock) && !same_touch (&cell->write, touch))
    return &cell->write;
  for (guint i = 0; i < cell->n_reads && writes; i++)
    if (!touch_is_over (&cell->reads[i], clock) && !same_touch (&cell->reads[i], touch))
      return &cell->reads[i];
  return NULL;
}
