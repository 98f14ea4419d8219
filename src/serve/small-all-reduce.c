#include "serve/small-all-reduce.h"

#define FLAG 1.5e-6 /* s: written by one GPU, seen by another over NVLink. [estimate] */

/* What links alone take to bring BYTES to every rank. */
static double
link_seconds (CollectivePlan *gather, double bytes)
{
  CollectiveCost cost;

  collective_plan_cost (gather, bytes, &cost);
  return MAX (cost.time - cost.latency, 0);
}

double
small_all_reduce_seconds (ServeAllReduce shot, CollectivePlan *gather, double bytes, double start)
{
  const double n = collective_plan_n_ranks (gather);

  g_assert (shot == SERVE_ALL_REDUCE_ONE_SHOT || shot == SERVE_ALL_REDUCE_TWO_SHOT);
  return shot == SERVE_ALL_REDUCE_ONE_SHOT ? start + FLAG + link_seconds (gather, n * bytes)
                                           : start + 2 * (FLAG + link_seconds (gather, bytes));
}
