#include "strategy/outer/fragments.h"

static void
add_piece (GArray *pieces, guint fragment, guint64 elements)
{
  FragmentPiece piece = { fragment, elements };

  g_array_append_val (pieces, piece);
}

static guint64
sliced_elements (const PlanUnit *unit)
{
  guint64 sum = 0;

  for (guint t = 0; t < unit->n_trainable; t++)
    sum += unit->trainable[t].sliced ? unit->trainable[t].elements : 0;
  return sum;
}

/* The tensors or units of the model, with the elements that they have there. */
static GArray *
whole_pieces (const StrategyRun *run, ExchangePieces grain)
{
  GArray *pieces = g_array_new (FALSE, FALSE, sizeof (FragmentPiece));

  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit *unit = &run->units[u];
      guint           fragment;

      if (unit->own_elements == 0 || unit->trainable_elements == 0)
        continue;
      fragment = exchange_fragment_of (run->exchange, run->in->workload, unit->layer);
      if (grain != EXCHANGE_BY_TENSOR)
        add_piece (pieces, fragment, unit->trainable_elements);
      for (guint t = 0; t < unit->n_trainable && grain == EXCHANGE_BY_TENSOR; t++)
        add_piece (pieces, fragment, unit->trainable[t].elements);
    }
  return pieces;
}

/* Each has its part of TOTAL; the rest of a rounding goes with the next one. */
static void
cut (GArray *pieces, guint64 total)
{
  double  all = 0, at = 0;
  guint64 had = 0;

  for (guint i = 0; i < pieces->len; i++)
    all += (double) g_array_index (pieces, FragmentPiece, i).elements;
  for (guint i = 0; i < pieces->len; i++)
    {
      FragmentPiece *piece = &g_array_index (pieces, FragmentPiece, i);
      guint64        end;

      at += (double) piece->elements;
      end = i + 1 == pieces->len ? total : (guint64) (at / all * (double) total);
      piece->elements = end - had;
      had = end;
    }
}

static GArray *
sums_of_fragments (GArray *pieces, guint n)
{
  GArray *sums = g_array_new (FALSE, FALSE, sizeof (FragmentPiece));

  for (guint f = 0; f < n; f++)
    add_piece (sums, f, 0);
  for (guint i = 0; i < pieces->len; i++)
    {
      const FragmentPiece *piece = &g_array_index (pieces, FragmentPiece, i);

      g_array_index (sums, FragmentPiece, piece->fragment).elements += piece->elements;
    }
  g_array_unref (pieces);
  return sums;
}

GArray *
fragment_pieces (const StrategyRun *run)
{
  GArray *pieces = whole_pieces (run, run->exchange->pieces);

  cut (pieces, strategy_trainable_share (run));
  return run->exchange->pieces == EXCHANGE_AT_ONCE
             ? sums_of_fragments (pieces, run->exchange->fragments)
             : pieces;
}

guint64
fragment_share (const StrategyRun *run, guint fragment, guint64 total)
{
  g_autoptr (GArray) pieces = whole_pieces (run, run->exchange->pieces);
  guint64            sum = 0;

  cut (pieces, total);
  for (guint i = 0; i < pieces->len; i++)
    {
      const FragmentPiece *piece = &g_array_index (pieces, FragmentPiece, i);

      sum += piece->fragment == fragment ? piece->elements : 0;
    }
  return sum;
}

guint64
fragment_sliced (const StrategyRun *run, guint fragment, guint64 total)
{
  guint64 before = 0, own = 0, sliced = 0, all = 0;

  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit *unit = &run->units[u];
      guint64         elements = unit->own_elements > 0 ? sliced_elements (unit) : 0;
      guint           of = exchange_fragment_of (run->exchange, run->in->workload, unit->layer);

      all += unit->own_elements > 0 ? unit->trainable_elements : 0;
      sliced += elements;
      before += of < fragment ? elements : 0;
      own += of == fragment ? elements : 0;
    }
  if (sliced == 0)
    return 0;
  total = (guint64) ((double) total * (double) sliced / (double) all);
  return (guint64) ((double) (before + own) / (double) sliced * (double) total)
         - (guint64) ((double) before / (double) sliced * (double) total);
}
