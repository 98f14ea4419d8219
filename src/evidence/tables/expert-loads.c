#include "evidence/tables/expert-loads.h"

#include <math.h>
#include <string.h>

#define POWER_LAW "power_law_"
#define N_DRAWS   8
#define SEED      20240607

/* Ends of the law where there are more rows than experts, and where not. */
#define LEAST          1.0
#define MOST_OF_TOKENS 0.8
#define LEAST_OF_FEW   0.01
#define MOST_OF_FEW    2.0

/* The tiles of EXPERTS of ROWS each. */
static void
add_tiles (ExpertLoads *self, double rows, double experts)
{
  for (guint i = 0; i < EXPERT_N_SIDES; i++)
    self->tiles[i] += experts * ceil (rows / (EXPERT_LEAST_SIDE << i));
}

static ExpertLoads
balanced (const ExpertRouting *self)
{
  const double local = MAX (self->experts / self->ranks, 1);
  const double rows = MAX (self->tokens * self->topk * local / self->experts, 1);

  ExpertLoads even = { .rows = rows, .used = round (MIN (local, rows)) };

  add_tiles (&even, rows / even.used, even.used);
  return even;
}

/* Loads of all experts, up to a factor; their sum. */
static double
draw (const ExpertRouting *self, double power, GRand *rand, double *loads, guint n)
{
  const gboolean few = self->tokens * self->topk <= self->experts;
  const double   least = few ? LEAST_OF_FEW : LEAST,
               most = few ? MOST_OF_FEW : MAX (MOST_OF_TOKENS * self->tokens, 2 * LEAST);
  const double low = pow (least, 1 - power), high = pow (most, 1 - power);
  double       sum = 0;

  for (guint i = 0; i < n; i++)
    {
      loads[i] = pow ((high - low) * g_rand_double (rand) + low, 1 / (1 - power));
      sum += loads[i];
    }
  return sum;
}

/* Of the rank with the most rows; a token goes to an expert once. */
static ExpertLoads
largest (const ExpertRouting *self, const double *loads, guint n, double sum)
{
  const guint local = MAX (n / (guint) self->ranks, 1);
  ExpertLoads most = { 0 };

  for (guint first = 0; first + local <= n; first += local)
    {
      ExpertLoads rank = { 0 };

      for (guint i = first; i < first + local; i++)
        {
          const double rows =
              MIN (round (loads[i] / sum * self->tokens * self->topk), self->tokens);

          rank.rows += rows;
          rank.used += rows >= 1;
          add_tiles (&rank, rows, 1);
        }
      if (rank.rows > most.rows)
        most = rank;
    }
  return most;
}

static ExpertLoads
by_power_law (const ExpertRouting *self, double power)
{
  const guint        n = (guint) self->experts;
  g_autoptr (GRand)  rand = g_rand_new_with_seed (SEED);
  g_autofree double *loads = g_new (double, n);
  ExpertLoads        mean = { 0 };

  for (guint i = 0; i < N_DRAWS; i++)
    {
      const double      sum = draw (self, power, rand, loads, n);
      const ExpertLoads one = largest (self, loads, n, sum);

      mean.rows += one.rows / N_DRAWS;
      mean.used += one.used / N_DRAWS;
      for (guint side = 0; side < EXPERT_N_SIDES; side++)
        mean.tiles[side] += one.tiles[side] / N_DRAWS;
    }
  mean.used = MAX (mean.used, 1);
  mean.rows = MAX (mean.rows, mean.used);
  for (guint side = 0; side < EXPERT_N_SIDES; side++)
    mean.tiles[side] = MAX (mean.tiles[side], mean.used);
  return mean;
}

gboolean
expert_loads (const ExpertRouting *routing, const char *distribution, ExpertLoads *loads)
{
  double power;

  if (g_str_equal (distribution, "balanced"))
    *loads = balanced (routing);
  else if (g_str_has_prefix (distribution, POWER_LAW)
           && (power = g_ascii_strtod (distribution + strlen (POWER_LAW), NULL)) > 1)
    *loads = by_power_law (routing, power);
  else
    return FALSE;
  return TRUE;
}
