/*
 * Numbers ids (resources, nodes) from 0 in the order of their first occurrence: arrays by number
 * cost what a group touches, not what the cluster has. Ids lie in pages, found by a hash; ids that
 * are near each other, as those of a node, mostly hit the page of the one before.
 */
#pragma once

#include <glib.h>

#define NUMBERING_PAGE 64
#define NUMBERING_NONE G_MAXUINT32

typedef struct
{
  guint32 page;                   /* id / NUMBERING_PAGE */
  guint32 number[NUMBERING_PAGE]; /* NUMBERING_NONE: not met */
} NumberingPage;

typedef struct
{
  GArray  *pages; /* NumberingPage */
  guint32 *table; /* [mask + 1] open addressing: index of a page; NUMBERING_NONE = free */
  guint32  mask, last;
  guint    n;
} Numbering;

void numbering_init (Numbering *self);
void numbering_clear (Numbering *self);

/* Writes all numbers to NUMBERS [n], in ascending order of their ids. */
void numbering_sort (const Numbering *self, guint32 *numbers);

/*
 * The page that holds ID, and is `last` from now on; NULL where there is none. With ADD there is
 * one.
 */
NumberingPage *numbering_search (Numbering *self, guint32 id, gboolean add);

static inline NumberingPage *
numbering_page (Numbering *self, guint32 id, gboolean add)
{
  if (self->last < self->pages->len)
    {
      NumberingPage *last = &g_array_index (self->pages, NumberingPage, self->last);

      if (last->page == id / NUMBERING_PAGE)
        return last;
    }
  return numbering_search (self, id, add);
}

/* The number of ID, or NUMBERING_NONE. */
static inline guint32
numbering_find (Numbering *self, guint32 id)
{
  const NumberingPage *page = numbering_page (self, id, FALSE);

  return page != NULL ? page->number[id % NUMBERING_PAGE] : NUMBERING_NONE;
}

/* The number of ID, which is the next one when it is new: `n` has risen then. */
static inline guint32
numbering_get (Numbering *self, guint32 id)
{
  guint32 *number = &numbering_page (self, id, TRUE)->number[id % NUMBERING_PAGE];

  if (*number == NUMBERING_NONE)
    *number = self->n++;
  return *number;
}
