/*
 * CO2: workers train on their own for H steps, then send their parameters to each other by an
 * asynchronous all-reduce that the next round hides; the average that is used is one round old. A
 * rank averages what it holds: its shard under ZeRO-3, everything under ZeRO-1 and ZeRO-2.
 *
 * At the end of round t: wait for the average of round t - 1; m <- beta m + (x_old - average) /
 * Lambda, clipped; send x; x_old <- x_old - alpha m; go on from x_old. Source: arXiv:2401.16265,
 * algorithm 2. The released code's outer step is SlowMo's: blocking, over all ranks, by owners of
 * parts; gradients are averaged in the node as one flat copy behind the backward pass. A thread of
 * its own would average parameters among the workers' first ranks, but it is woken by an outer step
 * alone, behind which no such average is due where `localsgd_frequency` divides `outer_frequency`,
 * as 3 does 48: it never comes (fairscale-CO2, co2.py, _maybe_perform_co2, _CO2_AAR).
 */
#include "strategy/outer/leader-average.h"
#include "strategy/outer/sync.h"
#include "strategy/shards/group.h"

enum
{
  VARIANT_PAPER,
  VARIANT_RELEASE,
};

typedef struct
{
  LeaderAverageOptions leader_average;
  gint                 variant;
} Co2Options;

static const char *const variants[] = { "paper", "release", NULL };

static const OptionSpec co2_options[] = {
  WORKERS_OPTIONS ("48", "fairscale-CO2, outer_frequency"),
  { .key = "variant",
    .type = OPTION_ENUM,
    .choices = variants,
    .offset = G_STRUCT_OFFSET (Co2Options, variant),
    .fallback = "paper",
    .help = "the paper's average that is a round late, or the released code's blocking outer step",
    .source = "arXiv:2401.16265; fairscale-CO2, co2.py" },
  LEADER_AVERAGE_SHARDS ("variant: release"),
  { 0 },
};

static gboolean
co2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const Co2Options *o = opt;

  if (o->variant == VARIANT_RELEASE)
    return leader_average_check (in, opt, diags);
  return workers_check (in, opt, diags);
}

/* The paper's parameters travel as kernels read them. */
static void
co2_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  const Co2Options *o = opt;

  if (o->variant == VARIANT_RELEASE)
    {
      leader_average_exchange (in, &o->leader_average, exchange);
      return;
    }
  workers_exchange (in, &o->leader_average.workers,
                    training_compute_dtype (workload_training (in->workload)), exchange);
  exchange->delay = EXCHANGE_ROUND_LATE;
  exchange->outer = OUTER_MOMENTUM;
}

static void
co2_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner)
{
  if (((const Co2Options *) opt)->variant == VARIANT_RELEASE)
    leader_average_narrow (in, opt, inner);
}

const Strategy strategy_co2 = {
  .api = STRATEGY_API_VERSION,
  .name = "co2",
  .title = "CO2: local steps, and an asynchronous average that is one round late",
  .source = "arXiv:2401.16265",
  .options_size = sizeof (Co2Options),
  .options = co2_options,
  .check = co2_check,
  .narrow = co2_narrow,
  .exchange = co2_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters and outer momentum: fp32, of what the rank holds, HBM; variant "
            "release: a part of them on each of the first 32 ranks\n"
            "what is averaged: a copy in compute precision, always in flight, HBM",
  .missing =
      "the staleness gap penalty's own arithmetic (a factor in the momentum's kernel here)\n"
      "variant release: plain averages where localsgd_frequency does not divide local_steps\n"
      "the optimizer's own copy of the parameters on the GPU: the outer step does not refresh it",
};
