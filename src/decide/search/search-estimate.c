/* What a candidate probably takes: its bounds times what simulations of its like took over them. */
#include "decide/search/search-private.h"

#define SURE     0.92 /* of the memory that may be taken: what is estimated below surely fits */
#define HOPELESS 1.05 /* of it: what is estimated above surely does not */

/* Whose simulations are counted together, of one kind of pipeline. */
typedef enum
{
  LIKE_OWN,    /* the same variant's */
  LIKE_FAMILY, /* and those that are a change of its strategy away from each other */
  LIKE_ALL,
  N_LIKE,
} Like;

Ratio *
search_ratios_new (const Search *self)
{
  return g_new0 (Ratio, (gsize) SEARCH_PIPELINES * (2 * self->space->variants->len + 1));
}

static guint
base_of (const Search *self, const Candidate *candidate)
{
  return ((const SearchVariant *) g_ptr_array_index (self->space->variants, candidate->variant))
      ->base;
}

static Ratio *
ratio_of (const Search *self, const Candidate *candidate, Like like)
{
  const guint n = self->space->variants->len;
  const guint rows[] = { candidate->variant, n + base_of (self, candidate), 2 * n };

  return &self->ratios[SEARCH_PIPELINES * rows[like] + candidate->pipeline];
}

/* What is known of the most alike; 1: nothing is. */
static double
mean_ratio (const Search *self, const Candidate *candidate, gboolean memory)
{
  for (Like like = 0; like < N_LIKE; like++)
    {
      const Ratio *ratio = ratio_of (self, candidate, like);

      if (memory && ratio->n_memory > 0)
        return ratio->memory / ratio->n_memory;
      if (!memory && ratio->n_time > 0)
        return ratio->time / ratio->n_time;
    }
  return 1;
}

void
search_learn (Search *self, const Candidate *candidate, double seconds, double bytes)
{
  const double time = seconds / candidate->bound;
  const double memory = candidate->low > 0 ? bytes / (double) candidate->low : 0;

  for (Like like = 0; like < N_LIKE; like++)
    {
      Ratio *ratio = ratio_of (self, candidate, like);

      ratio->time += time;
      ratio->n_time += time > 0;
      ratio->memory += memory;
      ratio->n_memory += memory > 0;
    }
}

double
search_probable (const Search *self, const Candidate *candidate)
{
  return candidate->score * mean_ratio (self, candidate, FALSE);
}

double
search_probable_memory (const Search *self, const Candidate *candidate)
{
  return (double) candidate->low * mean_ratio (self, candidate, TRUE);
}

gboolean
search_is_hopeless (const Search *self, const Candidate *candidate)
{
  return search_probable_memory (self, candidate) > HOPELESS * search_memory (self);
}

gboolean
search_is_sure (const Search *self, const Candidate *candidate)
{
  return ratio_of (self, candidate, LIKE_FAMILY)->n_memory > 0
         && search_probable_memory (self, candidate) <= SURE * search_memory (self);
}
