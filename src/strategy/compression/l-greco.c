#include "strategy/compression/l-greco.h"

#include <math.h>
#include <string.h>

typedef struct
{
  guint    buckets;
  double  *best; /* [buckets + 1]: least size of the layers so far with at most so much error */
  double  *next;
  guint16 *from; /* [layer][buckets + 1]: the choice that led there */
} Knapsack;

/* The choices of one layer, with ERRORS in buckets, on top of the layers before it. */
static void
add_layer (Knapsack *self, const GrecoChoice *choices, const guint *errors, guint n, guint16 *from)
{
  double *swap = self->best;

  for (guint d = 0; d <= self->buckets; d++)
    self->next[d] = INFINITY;
  for (guint c = 0; c < n; c++)
    for (guint d = errors[c]; d <= self->buckets; d++)
      if (self->best[d - errors[c]] + choices[c].size < self->next[d])
        {
          self->next[d] = self->best[d - errors[c]] + choices[c].size;
          from[d] = (guint16) c;
        }
  self->best = self->next;
  self->next = swap;
}

gboolean
greco_choose (const GrecoChoice *table, guint n_layers, guint n_choices, double budget,
              guint buckets, guint *chosen)
{
  const gsize         cells = (gsize) buckets + 1;
  g_autofree double  *best = g_new0 (double, cells);
  g_autofree double  *next = g_new0 (double, cells);
  g_autofree guint16 *from = g_new0 (guint16, cells * n_layers);
  g_autofree guint   *errors = g_new0 (guint, (gsize) n_layers * n_choices);
  Knapsack            self = { buckets, best, next, from };
  guint               left = buckets;

  g_assert (n_choices <= G_MAXUINT16);
  if (budget <= 0)
    return FALSE;
  for (guint i = 0; i < n_layers * n_choices; i++)
    {
      /* An error is counted in buckets; one beyond them never fits. */
      double bucket = ceil (table[i].error * buckets / budget);

      errors[i] = bucket > buckets ? buckets + 1 : (guint) MAX (bucket, 1);
    }
  for (guint l = 0; l < n_layers; l++)
    add_layer (&self, table + (gsize) l * n_choices, errors + (gsize) l * n_choices, n_choices,
               from + l * cells);
  if (isinf (self.best[buckets]))
    return FALSE;
  for (guint l = n_layers; l-- > 0;)
    {
      chosen[l] = from[l * cells + left];
      left -= errors[(gsize) l * n_choices + chosen[l]];
    }
  return TRUE;
}

GrecoChoice
greco_total (const GrecoChoice *table, guint n_layers, guint n_choices, const guint *chosen)
{
  GrecoChoice sum = { 0, 0 };

  for (guint l = 0; l < n_layers; l++)
    {
      const GrecoChoice *choice = &table[(gsize) l * n_choices + chosen[l]];

      sum.size += choice->size;
      sum.error += choice->error;
    }
  return sum;
}

void
greco_power_law_errors (guint64 values, double power, guint64 n, double *errors)
{
  double sum = 0;

  g_assert (n <= values + 1);
  for (guint64 i = values; i > 0; i--)
    {
      if (i < n)
        errors[i] = sum;
      sum += pow ((double) i, -2 * power);
    }
  errors[0] = sum;
  for (guint64 r = 0; r < n; r++)
    errors[r] = sqrt (errors[r] / sum);
}
