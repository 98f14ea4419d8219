#include "serve/apart-search.h"

#include <math.h>

#define MOST_RANKS         8 /* of a tensor group */
#define MOST_MICRO_BATCHES 4
#define KNEE               128 /* sequences or rows from which slopes are taken */

typedef struct
{
  Apart            *apart;
  const ApartPools *pools;
  ApartLoad         load;
  ApartSearch      *search;
} Trial;

/* What one more sequence of a micro-batch costs attention, or experts. */
static double
slope_of (Apart *self, ApartLoad load, gboolean experts)
{
  ApartAnswer one, two;

  load.batch = KNEE;
  apart_set (self, 1, 1);
  apart_answer (self, load, &one);
  if (experts) /* as many sequences as make KNEE rows of an expert */
    load.batch = ceil (KNEE * KNEE / one.rows);
  apart_answer (self, load, &one);
  load.batch *= 2;
  apart_answer (self, load, &two);
  return experts ? (two.times.experts_s - one.times.experts_s) / (two.rows - one.rows)
                 : (two.times.attention_s - one.times.attention_s)
                       / (two.micro_batch - one.micro_batch);
}

double
apart_balanced_replicas (Apart *self, const ApartLoad *load)
{
  const double k1 = slope_of (self, *load, FALSE), k3 = slope_of (self, *load, TRUE);
  ApartLoad    one_load = *load;
  ApartAnswer  one;

  one_load.batch = KNEE;
  apart_answer (self, one_load, &one);
  return k1 / (k3 * one.rows / one.micro_batch); /* b_e = b_a n_a K / E, here of one replica */
}

static gboolean
has_room (const Trial *self, const ApartAnswer *answer)
{
  const guint a = answer->attention_tp * answer->attention_replicas,
              e = answer->expert_tp * answer->expert_nodes;

  if (self->pools->attention == self->pools->experts)
    return a + e <= cluster_n_gpus (self->pools->attention);
  return a <= cluster_n_gpus (self->pools->attention) && e <= cluster_n_gpus (self->pools->experts);
}

static void
try_replicas (Trial *self, guint n)
{
  ApartAnswer *best = &self->search->best;

  for (guint m = 1; m <= MOST_MICRO_BATCHES; m++)
    {
      ApartAnswer one;

      apart_set (self->apart, n, m);
      apart_answer (self->apart, self->load, &one);
      if (!has_room (self, &one))
        return;
      self->search->tried++;
      if (one.fits && one.in_limit && one.tokens_per_s_per_price > best->tokens_per_s_per_price)
        *best = one;
    }
}

static void
try_ranks (Trial *self)
{
  const double balanced = apart_balanced_replicas (self->apart, &self->load);
  const guint  gpus = cluster_n_gpus (self->pools->attention);

  for (guint n = 1; n <= gpus; n *= 2)
    try_replicas (self, n);
  if (!isfinite (balanced) || balanced > gpus)
    return;
  for (gint n = (gint) balanced - 1; n <= (gint) balanced + 2; n++)
    if (n > 0)
      try_replicas (self, (guint) n);
}

gboolean
apart_search (const ModelShape *shape, const GenerationOptions *generation,
              const ApartOptions *options, const ApartPools *pools,
              const CollectiveOptions *library, ApartLoad load, ApartSearch *search,
              DiagList *diags)
{
  GenerationOptions    own = *generation;
  ApartOptions         wanted = *options;
  Trial                trial = { .pools = pools, .load = load, .search = search };
  g_autoptr (DiagList) whys = diag_list_new ();

  *search = (ApartSearch){ 0 };
  trial.load.batch = 0;
  wanted.attention_replicas = wanted.micro_batches = 1;
  for (own.tp = 1; own.tp <= MOST_RANKS; own.tp *= 2)
    for (wanted.expert_tp = 1; wanted.expert_tp <= MOST_RANKS; wanted.expert_tp *= 2)
      {
        g_autoptr (Apart) apart = apart_new (shape, &own, &wanted, pools, library, whys);

        trial.apart = apart;
        if (apart != NULL)
          try_ranks (&trial);
      }
  if (search->tried == 0)
    diag_error (diags, NULL, NULL, "no instance is possible: %s", diag_list_first_message (whys));
  else if (search->best.n_gpus == 0)
    diag_error (diags, NULL, "more GPUs a group, a longer limit, or shorter sequences",
                "none of %u instances has room for its weights and a sequence in time",
                search->tried);
  return search->best.n_gpus > 0;
}
