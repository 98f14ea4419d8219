#include "evidence/tables/run-order.h"

#include <stdlib.h>

typedef struct
{
  guint  run;
  double work;
} RunWork;

/* The largest first, of equals the earlier. */
static int
compare_work (const void *a, const void *b)
{
  const RunWork *x = a, *y = b;

  if (x->work != y->work)
    return x->work > y->work ? -1 : 1;
  return (x->run > y->run) - (x->run < y->run);
}

guint *
run_order_new (const double *work, guint n)
{
  g_autofree RunWork *works = g_new (RunWork, n);
  guint              *order = g_new (guint, n);
  guint               large = 0, small = n; /* those that are left: large .. small - 1 */
  double              ahead = 0;            /* work of large ones over that of small ones */

  for (guint i = 0; i < n; i++)
    works[i] = (RunWork){ i, work[i] };
  if (n > 0)
    qsort (works, n, sizeof *works, compare_work);
  for (guint i = 0; i < n; i++)
    {
      const RunWork *next = ahead <= 0 ? &works[large++] : &works[--small];

      ahead += ahead <= 0 ? next->work : -next->work;
      order[i] = next->run;
    }
  return order;
}
