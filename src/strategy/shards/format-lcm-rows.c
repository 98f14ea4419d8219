/* The format whose shards are multiples of all rows of a unit: none of them is ever cut. */
#include "strategy/shards/format.h"

#include <math.h>

/*
 * Rows of widths that share no factor have a common multiple beyond all memory. So many elements a
 * unit are counted at most (2^10 units of 16 bytes an element are 64 bits): it does not fit anyway.
 */
#define MOST_ELEMENTS (G_GUINT64_CONSTANT (1) << 50)

static guint64
rounded_up (guint64 elements, guint64 m)
{
  return (elements + m - 1) / m * m;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static guint64
row_of (const TensorDesc *tensor)
{
  guint64 row = tensor->elements / tensor->shape[0];

  g_assert (row > 0); /* no tensor is empty */
  return row;
}

static guint64
greatest_common_divisor (guint64 a, guint64 b)
{
  while (b > 0)
    {
      guint64 rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/*
 * The least common multiple of the rows of all tensors: shards are multiples of it. G_MAXUINT64:
 * beyond what 64 bits hold.
 */
static guint64
common_block (const TensorDesc *tensors, guint n)
{
  guint64 block = 1;

  for (guint i = 0; i < n; i++)
    {
      const guint64 row = row_of (&tensors[i]);

      if (!g_uint64_checked_mul (&block, block / greatest_common_divisor (block, row), row))
        return G_MAXUINT64;
    }
  return block;
}

/* END in shards of whole BLOCKs for M ranks, at most MOST_ELEMENTS, but never less than END. */
static guint64
padded_end (guint64 end, guint m, guint64 block)
{
  guint64 whole, padded;

  if (g_uint64_checked_mul (&whole, block, m) && whole <= MOST_ELEMENTS)
    {
      padded = rounded_up (end, whole);
      if (padded <= MOST_ELEMENTS)
        return padded;
    }
  return MAX (MOST_ELEMENTS / m * m, rounded_up (end, m));
}

typedef struct
{
  const TensorDesc *tensors;
  guint             n;
  guint64           block;
  guint64          *starts;
  gboolean         *placed;
} RowLayout;

static guint64
place (RowLayout *self, guint i, guint64 start)
{
  self->starts[i] = start;
  self->placed[i] = TRUE;
  return start + self->tensors[i].elements;
}

/*
 * A gap before GAP_END that begins at AT takes the tail of no tensor: the first later large tensor
 * whose remainder fits starts inside it, so that its whole blocks begin at GAP_END. Returns where
 * the gap goes on to, and sets *END to where what follows may begin.
 */
static guint64
place_conjugate (RowLayout *self, guint after, guint64 at, guint64 gap_end, guint64 *end)
{
  for (guint i = after + 1; i < self->n; i++)
    {
      guint64 elements = self->tensors[i].elements, rest = elements % self->block;

      if (self->placed[i] || elements < self->block || rest == 0 || rest > gap_end - at)
        continue;
      *end = place (self, i, gap_end - rest);
      return gap_end - rest;
    }
  *end = gap_end;
  return gap_end;
}

/*
 * Tensors smaller than a block fill [AT, END), the largest that fits first, each on its own rows.
 */
static void
place_fragments (RowLayout *self, guint64 at, guint64 end)
{
  for (;;)
    {
      guint   best = self->n;
      guint64 start = 0;

      for (guint i = 0; i < self->n; i++)
        {
          guint64 from = rounded_up (at, row_of (&self->tensors[i]));

          if (self->placed[i] || self->tensors[i].elements >= self->block
              || from + self->tensors[i].elements > end
              || (best < self->n && self->tensors[best].elements >= self->tensors[i].elements))
            continue;
          best = i;
          start = from;
        }
      if (best == self->n)
        return;
      at = place (self, best, start);
    }
}

/* Tensors of a block and more, in order; what they leave open is filled. Returns their end. */
static guint64
place_large (RowLayout *self)
{
  guint64 cursor = 0;

  for (guint i = 0; i < self->n; i++)
    {
      guint64 end, gap_end, open;

      if (self->placed[i] || self->tensors[i].elements < self->block)
        continue;
      end = place (self, i, cursor);
      gap_end = rounded_up (end, self->block);
      open = gap_end == end ? end : place_conjugate (self, i, end, gap_end, &cursor);
      if (gap_end == end)
        cursor = end;
      place_fragments (self, end, open);
    }
  return cursor;
}

static guint64
layout_lcm_rows (const TensorDesc *tensors, guint n, guint m, G_GNUC_UNUSED guint order,
                 guint64 *starts)
{
  g_autofree gboolean *placed = g_new0 (gboolean, MAX (n, 1));
  g_autofree guint64  *places = g_new0 (guint64, MAX (n, 1));
  RowLayout            self = { tensors, n, common_block (tensors, n), places, placed };
  guint64              cursor = place_large (&self), end = 0;

  place_fragments (&self, cursor, G_MAXUINT64);
  for (guint i = 0; i < n; i++)
    {
      end = MAX (end, places[i] + tensors[i].elements);
      if (starts != NULL)
        starts[i] = places[i];
    }
  return padded_end (end, m, self.block);
}

static guint64
padded_lcm_rows (const TensorDesc *tensors, guint n, guint m)
{
  return layout_lcm_rows (tensors, n, m, 0, NULL);
}

/* ---- formula --------------------------------------------------------------------------------- */

/*
 * The same by remainders: in order, a large tensor that does not end with its last block shares
 * that one with the first later one whose own remainder fits beside; small ones that fit into what
 * is left of such a block vanish there, the largest first; those that are left follow at the end.
 */
typedef struct
{
  guint64  elements, row;
  gboolean gone;
} RowItem;

/* Where the small ones of N ITEMS end that fit from AT to END, largest first; they are gone. */
static guint64
formula_fill (RowItem *items, guint n, guint64 block, guint64 at, guint64 end)
{
  RowItem *next;

  do
    {
      next = NULL;
      for (guint i = n; i-- > 0;)
        {
          RowItem *item = &items[i];
          guint64  skip = (item->row - at % item->row) % item->row;

          if (!item->gone && item->elements < block && at + skip + item->elements <= end
              && (next == NULL || item->elements >= next->elements))
            next = item;
        }
      if (next != NULL)
        {
          at += (next->row - at % next->row) % next->row + next->elements;
          next->gone = TRUE;
        }
    }
  while (next != NULL);
  return at;
}

/* Elements in multiples of M blocks; counted up to 2^50, in multiples of M. */
static double
formula_padded (double elements, double m, double block)
{
  const double whole = m * block, padded = whole * ceil (elements / whole);

  return padded <= 0x1p50 ? padded : fmax (m * floor (0x1p50 / m), m * ceil (elements / m));
}

static double
formula_lcm_rows (const TensorDesc *tensors, guint n, guint m)
{
  g_autofree RowItem *items = g_new0 (RowItem, n + 1);
  guint64             block = 1, blocks = 0, shard;
  gboolean            beyond = FALSE;

  for (guint i = 0; i < n; i++)
    {
      guint64 common, rest;

      items[i] = (RowItem){ tensors[i].elements, tensors[i].elements / tensors[i].shape[0], FALSE };
      g_assert (items[i].row > 0); /* no tensor is empty */
      common = block;
      for (guint64 of = items[i].row; of > 0; common = rest)
        {
          rest = of;
          of = common % of;
        }
      if (!g_uint64_checked_mul (&block, block / common, items[i].row))
        beyond = TRUE;
    }
  if (beyond)
    block = G_MAXUINT64 / 2; /* more than any tensor has */
  for (guint i = 0; i < n; i++)
    {
      guint64 rest = items[i].elements % block, left = block - rest;

      if (items[i].gone || items[i].elements < block)
        continue;
      blocks += items[i].elements / block + (rest > 0);
      for (guint o = i + 1; o < n && rest > 0; o++)
        if (!items[o].gone && items[o].elements > block && items[o].elements % block != 0
            && items[o].elements % block <= block - rest)
          {
            items[o].gone = TRUE;
            blocks += items[o].elements / block;
            left -= items[o].elements % block;
            break;
          }
      if (rest > 0)
        formula_fill (items, n, block, rest, rest + left);
    }
  shard = blocks * block + formula_fill (items, n, block, 0, G_MAXUINT64 / 2);
  return formula_padded ((double) shard, m, (double) block);
}

const ShardFormat format_lcm_rows = {
  .name = "lcm-rows",
  .title = "one buffer a unit, whose shards are multiples of all its tensors' rows",
  .source = "Megatron-LM, megatron/core/distributed/fsdp, layout.py",
  .padded = padded_lcm_rows,
  .formula = formula_lcm_rows,
  .layout = layout_lcm_rows,
};
