/*
 * The closed forms of compressors, from the papers: sums over the model's tensors.
 *
 * PowerSGD of rank r sends r (n + m) of an n x m matrix, by 6 r n m FLOPs (Vogels et al.,
 * arXiv:1905.13727, 3). Where L-GreCo chooses r, which tests judge by themselves, the ranks are
 * those that it chose. Top-k sends k values with their indices, of which all ranks' come
 * together.
 */
#include "driver/oracle/expect.h"
#include "strategy/compression/compression-private.h"
#include "strategy/compression/layer-ranks.h"

#include <math.h>

/* ---- PowerSGD -------------------------------------------------------------------------------- */

typedef struct
{
  const CompressionOptions *options;
  const LayerRanks         *chosen; /* NULL: the uniform rank is everyone's */
} Ranks;

static double
uniform_rank (const TensorDesc *tensor, const CompressionOptions *o)
{
  double rows = (double) tensor->shape[0], columns = (double) tensor->elements / rows;
  double rank = MIN (MIN (rows, columns), (double) o->rank);

  return rows * columns > rank * o->min_rate * (rows + columns) ? rank : 0;
}

/* Rank of the factors of TENSOR; 0: they would not be small enough. */
static double
rank_of (const TensorDesc *tensor, guint layer, const Ranks *ranks)
{
  return ranks->chosen != NULL ? (double) layer_ranks_of (ranks->chosen, layer, tensor)
                               : uniform_rank (tensor, ranks->options);
}

static double
sent (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  double rank = rank_of (tensor, layer, data), rows = (double) tensor->shape[0];

  return rank > 0 ? rank * (rows + (double) tensor->elements / rows) : (double) tensor->elements;
}

static double
left_as_it_is (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  return rank_of (tensor, layer, data) > 0 ? 0 : (double) tensor->elements;
}

static double
compressed_by_rank (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  return rank_of (tensor, layer, data) * (double) tensor->elements;
}

/*
 * Elements that Gram-Schmidt of both factors passes over: of r columns each is read twice and
 * written once (3 r), and each of the r (r - 1) / 2 pairs reads 4 and writes 3; a column with any
 * behind it is read twice more (2 (r - 1)).
 */
static double
orthogonalised (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  double r = rank_of (tensor, layer, data), rows = (double) tensor->shape[0];

  return r > 0 ? (rows + (double) tensor->elements / rows) * (3.5 * r * r + 1.5 * r - 2) : 0;
}

static double
columns_filled (const TensorDesc *tensor, guint layer, gconstpointer data)
{
  return rank_of (tensor, layer, data) * (double) tensor->elements / (double) tensor->shape[0];
}

static double
elements (const TensorDesc *tensor, G_GNUC_UNUSED guint layer, G_GNUC_UNUSED gconstpointer data)
{
  return (double) tensor->elements;
}

/* Bytes of a gradient as it is reduced. */
static double
value_bytes (const UnitPolicy *policy)
{
  return dtype_bits (policy->routes[ROUTE_REDUCE].hops[0].dtype) / 8.0;
}

/*
 * Ranks that are tried: the integers from floor (low r0) to ceil (high r0) that compress the matrix
 * at all. Columns of all of them together, and how many they are.
 */
static double
tried (const TensorDesc *tensor, const CompressionOptions *o, double *n)
{
  double rows = (double) tensor->shape[0], columns = (double) tensor->elements / rows, sum = 0;
  double uniform = uniform_rank (tensor, o);
  double most = MIN (ceil (o->max_rank_ratio * (double) o->rank), MIN (rows, columns));

  *n = 0;
  for (double r = MIN (MAX (floor (o->min_rank_ratio * (double) o->rank), 1), uniform);
       uniform > 0 && r <= most && rows * columns > r * o->min_rate * (rows + columns); r++)
    {
      sum += r;
      *n += 1;
    }
  return sum;
}

/* 5 power iterations are 10 products of n m x r; a step takes its part in whole columns. */
static double
iterated (const TensorDesc *tensor, G_GNUC_UNUSED guint layer, gconstpointer data)
{
  const CompressionOptions *o = data;
  double                    n, columns = 10 * tried (tensor, o, &n);

  return ceil (columns / (double) o->adjust_freq) * (double) tensor->elements;
}

static double
n_tried (const TensorDesc *tensor, G_GNUC_UNUSED guint layer, gconstpointer data)
{
  double n;

  tried (tensor, data, &n);
  return n;
}

/* Of each step: L-GreCo's sums of up to 10 gradients, its search among 10 000 errors. */
static void
greco_form (const PlanInput *in, const CompressionOptions *o, guint kind, double e,
            double gradients, double times, IssueForm *form)
{
  double steps = (double) o->adjust_freq;

  if (o->layer_ranks != LAYER_RANKS_GRECO || o->adjust_freq == 0)
    return;
  form->coded += times * MIN (10, steps) / steps * gradients * (e + 4 + 4);
  form->flops += 2 * expect_tensors (in, kind, iterated, o);
  form->host_sums += floor (10000 * expect_tensors (in, kind, n_tried, o) / steps);
  form->states += 4 * gradients;
}

void
powersgd_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
               double times, IssueForm *form)
{
  const CompressionOptions *o = policy->compression;
  g_autoptr (DiagList)      said = diag_list_new ();
  g_autoptr (LayerRanks)    chosen = layer_ranks_new (in, o, kind, said);
  const Ranks               r = { o, chosen };
  double                    e = value_bytes (policy), all = expect_tensors (in, kind, sent, &r);
  double                    rest = expect_tensors (in, kind, left_as_it_is, &r);
  double                    gradients = expect_tensors (in, kind, elements, NULL);

  form->all_reduced[kind] +=
      policy->routes[ROUTE_REDUCE].hops[0].group.size > 1 ? times * all * e : 0;
  form->flops += times * 6 * expect_tensors (in, kind, compressed_by_rank, &r);
  form->coded += times * e * (4 * rest + expect_tensors (in, kind, orthogonalised, &r));
  if (!o->warm_start)
    form->coded += times * e * expect_tensors (in, kind, columns_filled, &r);
  if (o->error_feedback) /* 3 passes: 2 in, 1 out; 1 in, 1 out; 2 in, 1 out */
    form->coded += times * e * 8 * gradients;
  form->states += e * ((o->error_feedback ? gradients : 0) + (o->warm_start ? all - rest : 0));
  form->high +=
      e
      * ((o->error_feedback ? bucket : 0) + MIN (rest, bucket) + (o->warm_start ? 0 : all - rest));
  greco_form (in, o, kind, e, gradients, times, form);
}

/* ---- top-k ----------------------------------------------------------------------------------- */

static double
largest (const TensorDesc *tensor, G_GNUC_UNUSED guint layer, gconstpointer data)
{
  const CompressionOptions *o = data;
  double                    n = (double) tensor->elements;

  return o->top_k > 0 ? MIN ((double) o->top_k, n) : MAX (1, floor (n * o->ratio));
}

void
top_k_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket, double times,
            IssueForm *form)
{
  const CompressionOptions *o = policy->compression;
  const double              index = 4;
  double                    e = value_bytes (policy), k = expect_tensors (in, kind, largest, o);
  double                    g = policy->routes[ROUTE_REDUCE].hops[0].group.size;
  double                    gradients = expect_tensors (in, kind, elements, NULL);

  form->all_gathered[kind] += g > 1 ? times * g * k * (e + index) : 0;
  /* selected: all in, k out; zeros: all out; k of each rank in, and added to what is there */
  form->coded +=
      times * (e * gradients + k * (e + index) + e * gradients + g * k * (3 * e + index));
  if (o->error_feedback) /* 2 in, 1 out; 1 in but for k indices, 1 out and k zeros */
    form->coded += times * (5 * e * gradients + k * (e + index));
  form->states += o->error_feedback ? e * gradients : 0;
  form->high += (1 + g) * (e + index) * MIN (k, bucket);
}

/* ---- of a policy ----------------------------------------------------------------------------- */

void
compressed_form (const PlanInput *in, const Policy *policy, double bucket, IssueForm *form)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];
      gboolean          last = kind->routes[ROUTE_REDUCE].hops[0].cadence == CADENCE_LAST;

      if (kind->compressor != NULL)
        kind->compressor->form (in, kind, k, bucket, last ? 1 : expect_micro_steps (in), form);
    }
}
