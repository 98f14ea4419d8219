#include "posttrain/responses.h"

#include <math.h>

#include "base/compare.h"
#include "model/step/length-distribution.h"

#define BISECTIONS 40

/* N even quantiles of the log-normal distribution of mean 1: another mean scales them. */
static double *
unit_quantiles (double spread, guint n)
{
  const LengthDraw draw = length_distribution_of_mean (1, spread);
  double          *units = g_new (double, n);

  for (guint i = 0; i < n; i++)
    units[i] = length_distribution_quantile (&draw, (i + 0.5) / n);
  return units;
}

/* Mean of the N quantiles UNITS, scaled by SCALE and cut at LONGEST. */
static double
cut_mean (const double *units, guint n, double scale, double longest)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += MIN (scale * units[i], longest);
  return sum / n;
}

/* The scale whose mean behind the cut is MEAN; where all are cut, one that cuts them. */
static double
scale_of_cut_mean (const double *units, guint n, double mean, double longest)
{
  double low = mean, high = mean;

  while (cut_mean (units, n, high, longest) < MIN (mean, longest * (1 - 1e-9)))
    high *= 2;
  for (guint i = 0; i < BISECTIONS; i++)
    {
      const double middle = (low + high) / 2;

      if (cut_mean (units, n, middle, longest) < mean)
        low = middle;
      else
        high = middle;
    }
  return high;
}

static void
shuffle (GArray *responses, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint i = responses->len; i > 1; i--)
    {
      ServeRequest *last = &g_array_index (responses, ServeRequest, i - 1);
      ServeRequest *other =
          &g_array_index (responses, ServeRequest, (guint) g_rand_int_range (rand, 0, (gint32) i));
      const ServeRequest kept = *last;

      *last = *other;
      *other = kept;
    }
}

/* How many of N do not end. */
static guint
n_endless (const RlConfig *config, guint n)
{
  return (guint) MIN (ceil (config->endless * n), n - 1.0);
}

GArray *
responses_draw (const RlConfig *config, guint n, double longest)
{
  const double       most = longest - config->prompt_tokens;
  const guint        endless = n_endless (config, n), rest = n - endless;
  const double       sum = MIN (config->response_tokens, most) * n - most * endless;
  g_autofree double *units = unit_quantiles (config->length_spread, rest);
  const double       scale = scale_of_cut_mean (units, rest, MAX (sum / rest, 1), most);
  GArray            *responses = g_array_sized_new (FALSE, FALSE, sizeof (ServeRequest), n);

  for (guint i = 0; i < n; i++)
    {
      const double       length = i < rest ? MIN (scale * units[i], most) : most;
      const ServeRequest response = { 0, (guint32) config->prompt_tokens,
                                      (guint32) MAX (round (length), 1) };

      g_array_append_val (responses, response);
    }
  shuffle (responses, (guint32) config->seed);
  return responses;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Windows that LENGTHS, ascending, take: first fit, the longest first. */
static guint
windows_of (const GArray *lengths, double window)
{
  g_autoptr (GArray) room = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = lengths->len; i-- > 0;)
    {
      const double length = MIN (g_array_index (lengths, double, i), window);
      guint        w = 0;

      while (w < room->len && g_array_index (room, double, w) < length)
        w++;
      if (w == room->len)
        g_array_append_val (room, window);
      g_array_index (room, double, w) -= length;
    }
  return room->len;
}

PackedResponses
responses_pack (const GArray *responses, guint first, guint n, guint n_ranks, double window)
{
  PackedResponses    packed = { 0 };
  g_autoptr (GArray) lengths = g_array_new (FALSE, FALSE, sizeof (double));
  double             tokens = 0;

  for (guint rank = 0; rank < n_ranks; rank++)
    {
      g_array_set_size (lengths, 0);
      for (guint i = first + rank; i < first + n; i += n_ranks)
        {
          const ServeRequest *response = &g_array_index (responses, ServeRequest, i);
          const double        length = (double) response->prompt + response->output;

          g_array_append_val (lengths, length);
          tokens += length;
        }
      g_array_sort (lengths, compare_doubles);
      packed.windows = MAX (packed.windows, windows_of (lengths, window));
    }
  packed.length = tokens / n;
  packed.filled = tokens / (packed.windows * n_ranks);
  return packed;
}
