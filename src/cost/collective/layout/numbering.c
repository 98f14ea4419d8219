#include "cost/collective/layout/numbering-private.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_TABLE 16

static NumberingPage *
page_at (const Numbering *self, guint32 i)
{
  return &g_array_index (self->pages, NumberingPage, i);
}

static void
open_table (Numbering *self, guint32 size)
{
  self->table = g_new (guint32, size);
  memset (self->table, 0xff, size * sizeof (guint32));
  self->mask = size - 1;
}

void
numbering_init (Numbering *self)
{
  self->pages = g_array_new (FALSE, FALSE, sizeof (NumberingPage));
  self->last = self->n = 0;
  open_table (self, FIRST_TABLE);
}

void
numbering_clear (Numbering *self)
{
  g_clear_pointer (&self->pages, g_array_unref);
  g_clear_pointer (&self->table, g_free);
}

/* Where PAGE is in the table, or belongs. */
static guint32
slot_of (const Numbering *self, guint32 page)
{
  guint32 slot = (guint32) ((page * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> 32) & self->mask;

  while (self->table[slot] != NUMBERING_NONE && page_at (self, self->table[slot])->page != page)
    slot = (slot + 1) & self->mask;
  return slot;
}

static void
add_page (Numbering *self, guint32 page)
{
  g_array_set_size (self->pages, self->pages->len + 1);
  memset (page_at (self, self->pages->len - 1), 0xff, sizeof (NumberingPage));
  page_at (self, self->pages->len - 1)->page = page;
  if (2 * self->pages->len > self->mask)
    {
      g_free (self->table);
      open_table (self, 2 * (self->mask + 1));
      for (guint32 i = 0; i < self->pages->len; i++)
        self->table[slot_of (self, page_at (self, i)->page)] = i;
    }
  else
    self->table[slot_of (self, page)] = self->pages->len - 1;
}

NumberingPage *
numbering_search (Numbering *self, guint32 id, gboolean add)
{
  guint32 found = self->table[slot_of (self, id / NUMBERING_PAGE)];

  if (found == NUMBERING_NONE && !add)
    return NULL;
  if (found == NUMBERING_NONE)
    {
      found = self->pages->len;
      add_page (self, id / NUMBERING_PAGE);
    }
  self->last = found;
  return page_at (self, found);
}

static int
compare_pages (const void *a, const void *b)
{
  const NumberingPage *x = *(NumberingPage *const *) a, *y = *(NumberingPage *const *) b;

  return x->page < y->page ? -1 : x->page > y->page;
}

void
numbering_sort (const Numbering *self, guint32 *numbers)
{
  g_autofree NumberingPage **pages = g_new (NumberingPage *, self->pages->len);

  for (guint i = 0; i < self->pages->len; i++)
    pages[i] = page_at (self, i);
  qsort (pages, self->pages->len, sizeof *pages, compare_pages);
  for (guint i = 0; i < self->pages->len; i++)
    for (guint k = 0; k < NUMBERING_PAGE; k++)
      if (pages[i]->number[k] != NUMBERING_NONE)
        *numbers++ = pages[i]->number[k];
}
