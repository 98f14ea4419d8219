/*
 * The closed forms of compressors, from the papers: sums over the model's tensors.
 *
 * PowerSGD of rank r sends r (n + m) of an n x m matrix, by 6 r n m FLOPs (Vogels et al.,
 * arXiv:1905.13727, 3). Top-k sends k values with their indices, of which all ranks' come
 * together.
 */
#include "driver/expect.h"
#include "strategy/compression-private.h"

#include <math.h>

/* ---- PowerSGD -------------------------------------------------------------------------------- */

/* Rank of the factors of TENSOR; 0: they would not be small enough. */
static double
rank_of (const TensorDesc *tensor, const CompressionOptions *o)
{
  double rows = (double) tensor->shape[0], columns = (double) tensor->elements / rows;
  double rank = MIN (MIN (rows, columns), (double) o->rank);

  return rows * columns > rank * o->min_rate * (rows + columns) ? rank : 0;
}

static double
sent (const TensorDesc *tensor, gconstpointer data)
{
  double rank = rank_of (tensor, data), rows = (double) tensor->shape[0];

  return rank > 0 ? rank * (rows + (double) tensor->elements / rows) : (double) tensor->elements;
}

static double
left_as_it_is (const TensorDesc *tensor, gconstpointer data)
{
  return rank_of (tensor, data) > 0 ? 0 : (double) tensor->elements;
}

static double
compressed_by_rank (const TensorDesc *tensor, gconstpointer data)
{
  return rank_of (tensor, data) * (double) tensor->elements;
}

/*
 * Elements that Gram-Schmidt of both factors passes over: of r columns each is read twice and
 * written once (3 r), and each of the r (r - 1) / 2 pairs reads 4 and writes 3; a column with any
 * behind it is read twice more (2 (r - 1)).
 */
static double
orthogonalised (const TensorDesc *tensor, gconstpointer data)
{
  double r = rank_of (tensor, data), rows = (double) tensor->shape[0];

  return r > 0 ? (rows + (double) tensor->elements / rows) * (3.5 * r * r + 1.5 * r - 2) : 0;
}

static double
columns_filled (const TensorDesc *tensor, gconstpointer data)
{
  return rank_of (tensor, data) * (double) tensor->elements / (double) tensor->shape[0];
}

/* Bytes of a gradient as it is reduced. */
static double
value_bytes (const UnitPolicy *policy)
{
  return dtype_bits (policy->routes[ROUTE_REDUCE].hops[0].dtype) / 8.0;
}

void
powersgd_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
               IssueForm *form)
{
  const CompressionOptions *o = policy->compression;
  double                    e = value_bytes (policy), all = expect_tensors (in, kind, sent, o);
  double                    rest = expect_tensors (in, kind, left_as_it_is, o);
  double                    gradients = expect_trainable_padded (in, policy, kind, 1);

  form->all_reduced[kind] += policy->routes[ROUTE_REDUCE].hops[0].group.size > 1 ? all * e : 0;
  form->flops += 6 * expect_tensors (in, kind, compressed_by_rank, o);
  form->coded += e * (4 * rest + expect_tensors (in, kind, orthogonalised, o));
  if (!o->warm_start)
    form->coded += e * expect_tensors (in, kind, columns_filled, o);
  if (o->error_feedback) /* 3 passes: 2 in, 1 out; 1 in, 1 out; 2 in, 1 out */
    form->coded += e * 8 * gradients;
  form->states += e * ((o->error_feedback ? gradients : 0) + (o->warm_start ? all - rest : 0));
  form->high +=
      e
      * ((o->error_feedback ? bucket : 0) + MIN (rest, bucket) + (o->warm_start ? 0 : all - rest));
}

/* ---- top-k ----------------------------------------------------------------------------------- */

static double
largest (const TensorDesc *tensor, gconstpointer data)
{
  const CompressionOptions *o = data;
  double                    n = (double) tensor->elements;

  return o->top_k > 0 ? MIN ((double) o->top_k, n) : MAX (1, floor (n * o->ratio));
}

void
top_k_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
            IssueForm *form)
{
  const CompressionOptions *o = policy->compression;
  const double              index = 4;
  double                    e = value_bytes (policy), k = expect_tensors (in, kind, largest, o);
  double                    g = policy->routes[ROUTE_REDUCE].hops[0].group.size;
  double                    gradients = expect_trainable_padded (in, policy, kind, 1);

  form->all_gathered[kind] += g > 1 ? g * k * (e + index) : 0;
  /* selected: all in, k out; zeros: all out; k of each rank in, and added to what is there */
  form->coded += e * gradients + k * (e + index) + e * gradients + g * k * (3 * e + index);
  if (o->error_feedback) /* 2 in, 1 out; 1 in but for k indices, 1 out and k zeros */
    form->coded += 5 * e * gradients + k * (e + index);
  form->states += o->error_feedback ? e * gradients : 0;
  form->high += (1 + g) * (e + index) * MIN (k, bucket);
}
