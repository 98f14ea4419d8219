/*
 * How fast the engine is: ranks that each issue kernels (SM waves and HBM) with an all-gather and
 * a copy to the host every twenty, over links that collectives cross; once with equal ranks, whose
 * events fall together, and once with every rank at a speed of its own. Then the ratio of the
 * incremental solver to one that solves everything, at a smaller size.
 *
 * bench-engine [RANKS KERNELS]
 */
#include "engine/engine-private.h"

#include <stdlib.h>
#include <sys/resource.h>

#define KERNELS_PER_UNIT 20
#define NODE             8
#define MICROSECOND      G_GUINT64_CONSTANT (1000000)

typedef struct
{
  ResourceId sm, hbm, pcie;
  StreamId   compute, comm, copy;
  guint      kernel;
  gboolean   paid;
  double     factor;
  OpId       gathered; /* of the last unit */
} Rank;

typedef struct
{
  Engine     *engine;
  guint       n_ranks, n_kernels;
  Rank       *ranks;
  ResourceId *nics, *fabric;
  OrderId     order;
  OpId       *collectives; /* by unit */
} World;

/* Every rank's HBM and PCIe, every node's card, and a fabric link a pair of ranks. */
static OpId
new_all_gather (World *w)
{
  g_autofree Demand *demands = g_new (Demand, 4 * w->n_ranks);
  guint              n = 0;

  for (guint r = 0; r < w->n_ranks; r++)
    {
      demands[n++] = (Demand){ w->ranks[r].hbm, 2e8 };
      demands[n++] = (Demand){ w->ranks[r].pcie, 1e8 };
      demands[n++] = (Demand){ w->fabric[r], 1e8 };
      if (r % NODE == 0)
        demands[n++] = (Demand){ w->nics[r / NODE], 1e8 };
    }
  OpSpec spec = { .class_ = OP_TRAFFIC,
                  .latency = 20 * MICROSECOND,
                  .demands = demands,
                  .n_demands = n,
                  .waves = { ENGINE_NONE, 0, 0 },
                  .share = 1e-8,
                  .members = w->n_ranks,
                  .order = w->order };
  return engine_op_new (w->engine, &spec);
}

static void
submit_unit (World *w, Rank *rank, guint unit)
{
  Demand demands[] = { { rank->pcie, 5e7 }, { rank->hbm, 5e7 } };
  OpSpec copy = { .class_ = OP_TRAFFIC,
                  .latency = 5 * MICROSECOND,
                  .demands = demands,
                  .n_demands = 2,
                  .waves = { ENGINE_NONE, 0, 0 },
                  .share = 2e-8,
                  .members = 1,
                  .order = ENGINE_NONE };

  if (w->collectives[unit] == ENGINE_NONE)
    w->collectives[unit] = new_all_gather (w);
  engine_submit (w->engine, w->collectives[unit], rank->comm, rank->sm, 8);
  engine_submit (w->engine, engine_op_new (w->engine, &copy), rank->copy, ENGINE_NONE, 0);
  if (rank->gathered != ENGINE_NONE)
    engine_stream_wait (w->engine, rank->compute, rank->gathered);
  rank->gathered = w->collectives[unit];
}

static void
submit_kernel (World *w, Rank *rank)
{
  Demand demand = { rank->hbm, 1e8 * rank->factor };
  OpSpec spec = { .class_ = OP_KERNEL,
                  .latency = 2 * MICROSECOND,
                  .demands = &demand,
                  .n_demands = 1,
                  .waves = { rank->sm, 1000, 4e-5 * rank->factor },
                  .share = 2e3 / rank->factor,
                  .members = 1,
                  .order = ENGINE_NONE };

  engine_submit (w->engine, engine_op_new (w->engine, &spec), rank->compute, ENGINE_NONE, 0);
}

static HostYield
rank_step (Engine *e, HostId host, gpointer user)
{
  World *w = user;
  Rank  *rank = &w->ranks[host];
  OpId   room = engine_stream_room (e, rank->compute);

  if (rank->kernel == w->n_kernels)
    return (HostYield){ .kind = HOST_END };
  if (room != ENGINE_NONE)
    return (HostYield){ .kind = HOST_WAIT, .wait = room };
  if (!rank->paid)
    {
      rank->paid = TRUE;
      return (HostYield){ .kind = HOST_WORK, .work = 6 * MICROSECOND };
    }
  rank->paid = FALSE;
  if (rank->kernel % KERNELS_PER_UNIT == 0)
    submit_unit (w, rank, rank->kernel / KERNELS_PER_UNIT);
  submit_kernel (w, rank);
  rank->kernel++;
  return (HostYield){ .kind = HOST_WORK };
}

static void
add_rank (World *w, guint r, gboolean equal)
{
  Engine *e = w->engine;

  w->ranks[r] = (Rank){
    .sm = engine_add_resource (e, "sm", 132),
    .hbm = engine_add_resource (e, "hbm", 3e12),
    .pcie = engine_add_resource (e, "pcie", 5e10),
    .compute = engine_add_stream (e, "compute", 0, 1024),
    .comm = engine_add_stream (e, "comm", 0, 0),
    .copy = engine_add_stream (e, "copy", 0, 0),
    .factor = equal ? 1 : 1 + (double) (r * 7919 % 1000) / 1e4,
    .gathered = ENGINE_NONE,
  };
  w->fabric[r] = engine_add_resource (e, "fabric", 5e10);
  if (r % NODE == 0)
    w->nics[r / NODE] = engine_add_resource (e, "nic", 4e10);
  engine_add_host (e, "host", rank_step, w);
}

/* Seconds of a run; the counters of the engine go to *COUNTERS. */
static double
run (guint n_ranks, guint n_kernels, gboolean equal, gboolean full, EngineCounters *counters)
{
  World w = { .engine = engine_new (), .n_ranks = n_ranks, .n_kernels = n_kernels };
  guint n_units = n_kernels / KERNELS_PER_UNIT + 1;

  engine_set_full_resolve (w.engine, full);
  w.ranks = g_new (Rank, n_ranks);
  w.fabric = g_new (ResourceId, n_ranks);
  w.nics = g_new (ResourceId, n_ranks / NODE + 1);
  w.collectives = g_new (OpId, n_units);
  for (guint i = 0; i < n_units; i++)
    w.collectives[i] = ENGINE_NONE;
  w.order = engine_add_order (w.engine, "comm");
  for (guint r = 0; r < n_ranks; r++)
    add_rank (&w, r, equal);

  gint64   start = g_get_monotonic_time ();
  gboolean done = engine_run (w.engine, NULL);
  double   seconds = (double) (g_get_monotonic_time () - start) / 1e6;
  g_assert (done);
  *counters = engine_counters (w.engine);
  engine_free (w.engine);
  g_free (w.ranks);
  g_free (w.fabric);
  g_free (w.nics);
  g_free (w.collectives);
  return seconds;
}

static void
report (const char *name, double seconds, const EngineCounters *counters)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  g_print ("%-24s %8.3f s  %9.3g events/s  %9" G_GUINT64_FORMAT " solves  %10" G_GUINT64_FORMAT
           " ops visited  %ld MiB peak\n",
           name, seconds, (double) counters->events / seconds, counters->solves, counters->visited,
           usage.ru_maxrss / 1024);
}

int
main (int argc, char **argv)
{
  guint n_ranks = argc > 2 ? (guint) atoi (argv[1]) : 256,
        n_kernels = argc > 2 ? (guint) atoi (argv[2]) : 2000;
  EngineCounters counters, full_counters;

  report ("equal ranks", run (n_ranks, n_kernels, TRUE, FALSE, &counters), &counters);
  report ("unlike ranks", run (n_ranks, n_kernels, FALSE, FALSE, &counters), &counters);
  double incremental = run (32, 200, FALSE, FALSE, &counters),
         full = run (32, 200, FALSE, TRUE, &full_counters);
  report ("small, incremental", incremental, &counters);
  report ("small, full", full, &full_counters);
  g_print ("incremental is %.1f times as fast as full at 32 x 200\n", full / incremental);
  return 0;
}
