#include "model/step/documents.h"

#include <math.h>

double
documents_pairs (double seq_len, double window, double length)
{
  double w = MIN (window, seq_len), q = exp (-w / length);

  /* the form below is a difference of large numbers where documents are much longer */
  if (w < 1e-3 * length)
    return seq_len * w - w * w / 2 - (seq_len * w * w / 2 - w * w * w / 3) / length;
  return seq_len * length * (1 - q) - length * length + q * length * (length + w);
}

double
documents_prefix_pairs (double tokens, double window)
{
  return tokens <= window ? tokens * tokens / 2 : (tokens - window / 2) * window;
}

#define SEED        1 /* any */
#define MAX_DRAWS   (1 << 17)
#define MAX_SAMPLES 4096
#define MIN_SAMPLES 16

/* Adds to PAIRS, a chunk each, the pairs of a document at [BEGIN, END), in chunks of WIDTH. */
static void
add_document (double *pairs, guint n, double width, double begin, double end)
{
  guint last = MIN ((guint) (end / width), n - 1);

  for (guint c = MIN ((guint) (begin / width), n - 1); c <= last; c++)
    {
      double from = MAX (begin, c * width) - begin, to = MIN (end, (c + 1) * width) - begin;

      pairs[c] += (to * to - from * from) / 2;
    }
}

static double
fullest_rank (const double *pairs, guint ranks)
{
  double fullest = 0;

  for (guint r = 0; r < ranks; r++)
    fullest = MAX (fullest, pairs[r] + pairs[2 * ranks - 1 - r]);
  return fullest;
}

double
documents_imbalance (double seq_len, double length, guint ranks)
{
  const guint  n = 2 * ranks;
  const double width = seq_len / n;
  const guint  samples =
      (guint) CLAMP (MAX_DRAWS / (1 + seq_len / length), MIN_SAMPLES, MAX_SAMPLES);
  g_autofree double *pairs = g_new0 (double, n);
  g_autoptr (GRand)  rand = g_rand_new_with_seed (SEED);
  double             fullest = 0, sum = 0;

  if (ranks == 1)
    return 1;
  for (guint i = 0; i < samples; i++)
    {
      double begin = 0;

      for (guint c = 0; c < n; c++)
        pairs[c] = 0;
      while (begin < seq_len)
        {
          double end = begin - length * log (1 - g_rand_double (rand));

          end = MIN (end, seq_len); /* a macro: it would draw twice */
          add_document (pairs, n, width, begin, end);
          begin = end;
        }
      for (guint c = 0; c < n; c++)
        sum += pairs[c];
      fullest += fullest_rank (pairs, ranks);
    }
  return fullest * ranks / sum;
}
