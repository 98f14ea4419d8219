#include "decide/plan/run-goal.h"

#include <string.h>

#include "base/config/option-needs.h"

#define OPTION(member_) .offset = G_STRUCT_OFFSET (RunOptions, member_)
#define TIME_OF(key_, needs_, member_, help_)                                     \
  {                                                                               \
    .key = key_, .needs = needs_, .type = OPTION_QUANTITY, .kind = QUANTITY_TIME, \
    OPTION (goal.member_), .optional = TRUE, .help = help_                        \
  }

#define MOST_OF_A_GPU 1e9 /* of price and W */

static const char *const tiers[] = { "given", "nvme", NULL };

const OptionSpec run_options[] = {
  { .key = "tokens",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (goal.tokens),
    .min = 1,
    .max = 1e18,
    .help = "tokens to train on: 2T" },
  { .key = "days",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (days),
    .optional = TRUE,
    .min = 1e-3,
    .max = 1e6,
    .help = "deadline" },
  { .key = "budget",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (goal.budget),
    .optional = TRUE,
    .min = 1e-3,
    .max = 1e18,
    .help = "in the currency of the price" },
  { .key = "price",
    .type = OPTION_STRING,
    OPTION (price),
    .optional = TRUE,
    .help = "of a GPU and hour: 2.5, or by type of node 'dgx-h100=2.5,dgx-a100=1.2'" },
  { .key = "power",
    .type = OPTION_STRING,
    OPTION (power),
    .optional = TRUE,
    .help = "of a GPU with its share of the node and of cooling: '1.3 kW', or by type of node" },
  TIME_OF ("gpu_mtbf", NULL, failures.gpu_mtbf_s, "mean time between failures of a GPU: '50000 h'"),
  TIME_OF ("node_mtbf", NULL, failures.node_mtbf_s, "the same of the rest of a node"),
  TIME_OF ("job_mtbf", NULL, failures.job_mtbf_s,
           "the same of the job for reasons that take no node: software, network"),
  TIME_OF ("restart", "failures", failures.restart_s,
           "from a failure to the next step: noticed, started, the checkpoint read"),
  { .key = "checkpoint_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    OPTION (goal.checkpoint_bytes),
    .optional = TRUE,
    .needs = "checkpoints",
    .help = "size of a checkpoint; unset: the weights and moments that the optimizer keeps" },
  { .key = "checkpoint_bandwidth",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BANDWIDTH,
    OPTION (goal.checkpoint_bps),
    .optional = TRUE,
    .needs = "checkpoints",
    .help = "at which the job writes it: '400 GB/s'" },
  { .key = "checkpoint_node_bandwidth",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BANDWIDTH,
    OPTION (goal.checkpoint_node_bps),
    .optional = TRUE,
    .needs = "checkpoints",
    .help = "at which each node writes its part, to its drives or host memory: '5 GB/s'" },
  { .key = "checkpoint_tier",
    .type = OPTION_ENUM,
    .choices = tiers,
    OPTION (checkpoint_tier),
    .fallback = "given",
    .needs = "checkpoints",
    .help = "nvme: each node writes its part to its drives, at the rate of the node's profile; "
            "given: at a bandwidth above" },
  TIME_OF ("checkpoint_stall", "checkpoints", checkpoint_s,
           "how long one holds up training, where it is written in the background"),
  TIME_OF ("checkpoint_interval", NULL, failures.interval_s,
           "of work between checkpoints; unset: the best (Daly 2006)"),
  { .key = "spares",
    .type = OPTION_INT,
    OPTION (n_spares),
    .fallback = "0",
    .min = 0,
    .max = 100000,
    .help = "nodes that stand by, and are paid" },
  TIME_OF ("repair", "failures of nodes", failures.repair_s,
           "mean time until a failed node is back; unset: another is there at once"),
  TIME_OF (
      "site_mtbf", NULL, failures.site_mtbf_s,
      "mean time between losses of a site (cluster.sites): eight of '96 h' lose one every 12 h"),
  TIME_OF ("site_repair", "site_mtbf > 0", failures.site_repair_s,
           "mean time until a lost site is back"),
  TIME_OF ("notice", "losses of sites", failures.notice_s,
           "how long all wait until a site that is lost is left out, where others go on without"),
  TIME_OF ("join", "losses of sites", failures.join_s,
           "how long all wait until a site that comes back has the state; unset: a checkpoint's "
           "bytes over the best link to it"),
  TIME_OF ("straggler_mtbf", NULL, failures.straggler_mtbf_s,
           "mean time of a node until it is slow for a while"),
  TIME_OF ("straggler_time", "straggler_mtbf > 0", failures.straggler_s, "for how long"),
  { .key = "straggler_slowdown",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (goal.failures.straggler_slowdown),
    .fallback = "1",
    .min = 1,
    .max = 1000,
    .needs = "straggler_mtbf > 0",
    .help = "steps take so many times as long then" },
  { .key = "slow_node_probability",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (goal.failures.slow_node_probability),
    .optional = TRUE,
    .max = 1,
    .help = "of a node: it is slow for the whole run, and all wait for it: '1 %'" },
  { .key = "slow_node_rate",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (goal.slow_node_rate),
    .optional = TRUE,
    .min = 0.001,
    .max = 1,
    .needs = "slow_node_probability > 0",
    .help = "of its speed that the GPUs of such a node have: 0.9" },
  { .key = "jitter",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (goal.failures.jitter),
    .optional = TRUE,
    .max = 1,
    .help = "coefficient of variation of a step's time" },
  { .key = "runs",
    .type = OPTION_INT,
    OPTION (n_runs),
    .fallback = "200",
    .min = 10,
    .max = 100000,
    .needs = "chance",
    .help = "runs that are sampled" },
  { .key = "runs_seed",
    .type = OPTION_INT,
    OPTION (seed),
    .fallback = "0",
    .min = 0,
    .max = G_MAXUINT32,
    .needs = "chance",
    .help = "of the sampled runs" },
  { 0 },
};

/* That of TYPE in "VALUE" or "TYPE=VALUE,..."; 0 where there is none. FALSE after a diagnostic. */
static gboolean
value_of (const char *text, const char *key, QuantityKind kind, const char *type, double *value,
          DiagList *diags)
{
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ",", -1);
  gboolean       good = TRUE;

  *value = 0;
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char      *equals = strchr (parts[i], '=');
      g_autofree char *name =
          equals != NULL ? g_strndup (parts[i], (gsize) (equals - parts[i])) : g_strdup (type);
      g_autofree char *why = NULL;
      double           number;

      if (!quantity_parse (kind, equals != NULL ? equals + 1 : parts[i], &number, &why))
        {
          diag_error (diags, NULL, NULL, "--%s: %s", key, why);
          good = FALSE;
        }
      else if (number > MOST_OF_A_GPU)
        {
          diag_error (diags, NULL, NULL, "--%s: '%s' of one GPU is more than %g", key,
                      equals != NULL ? equals + 1 : parts[i], MOST_OF_A_GPU);
          good = FALSE;
        }
      else if (g_ascii_strcasecmp (g_strstrip (name), type) == 0)
        *value = number;
    }
  return good;
}

/* Every TYPE of "TYPE=VALUE,..." is one of TYPES, and stands there once. */
static void
check_names (const char *text, const char *key, const char *const *types, DiagList *diags)
{
  g_auto (GStrv)         parts = g_strsplit (text != NULL ? text : "", ",", -1);
  g_autofree char       *hint = g_strjoinv (", ", (char **) types);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char      *equals = strchr (parts[i], '=');
      g_autofree char *name =
          equals != NULL ? g_strstrip (g_strndup (parts[i], (gsize) (equals - parts[i]))) : NULL;
      gboolean known = name == NULL;

      for (guint t = 0; types[t] != NULL; t++)
        known |= name != NULL && g_ascii_strcasecmp (name, types[t]) == 0;
      if (!known)
        diag_error (diags, NULL, hint, "--%s: '%s' is no type of node of this plan", key, name);
      else if (!g_hash_table_add (seen, g_ascii_strdown (name != NULL ? name : "", -1)))
        diag_error (diags, NULL, "a value for all types, or one for each",
                    "--%s: %s%s%s given twice", key, name != NULL ? "'" : "a value for all types",
                    name != NULL ? name : "", name != NULL ? "' is" : " is");
    }
}

gboolean
run_options_check_types (const RunOptions *self, const char *const *types, DiagList *diags)
{
  const guint before = diag_list_n_errors (diags);

  check_names (self->price, "price", types, diags);
  check_names (self->power, "power", types, diags);
  return diag_list_n_errors (diags) == before;
}

/* What the facts of options are about. */
typedef struct
{
  const RunGoal  *goal;
  const RunFacts *facts;
} About;

static gboolean
loses_sites (gconstpointer about)
{
  const About *self = about;

  return self->facts->has_trace || goodput_loses_sites (&self->goal->failures);
}

static gboolean
fails_nodes (gconstpointer about)
{
  const GoodputInput *failures = &((const About *) about)->goal->failures;

  return failures->gpu_mtbf_s > 0 || failures->node_mtbf_s > 0;
}

static gboolean
fails (gconstpointer about)
{
  return fails_nodes (about) || ((const About *) about)->goal->failures.job_mtbf_s > 0
         || loses_sites (about);
}

static gboolean
writes_checkpoints (gconstpointer about)
{
  return fails (about) || ((const About *) about)->goal->failures.interval_s > 0;
}

static gboolean
has_chance (gconstpointer about)
{
  const GoodputInput *failures = &((const About *) about)->goal->failures;

  return fails (about) || failures->jitter > 0 || failures->straggler_mtbf_s > 0
         || failures->slow_node_probability > 0;
}

static const OptionFact facts_of_runs[] = {
  { "failures", fails, "say how often: --gpu-mtbf, --node-mtbf or --job-mtbf" },
  { "failures of nodes", fails_nodes, "say how often: --gpu-mtbf or --node-mtbf" },
  { "losses of sites", loses_sites, "say how often: --site-mtbf '96 h', of each" },
  { "checkpoints", writes_checkpoints, "give --checkpoint-interval, or rates of failures" },
  { "chance", has_chance, "say what varies from run to run: rates of failures, or --jitter" },
  { 0 },
};

/* What rates of failures need. */
static void
check_failures (const RunGoal *goal, const RunFacts *facts, DiagList *diags)
{
  const GoodputInput *failures = &goal->failures;
  const RunFacts      alone = { 0 }; /* a trace says what its events take */
  const About         about = { goal, &alone };

  if (writes_checkpoints (&about) && goal->checkpoint_s == 0 && goal->checkpoint_bps == 0
      && goal->checkpoint_node_bps == 0)
    diag_error (diags, NULL,
                "--checkpoint-bandwidth, --checkpoint-node-bandwidth or --checkpoint-stall",
                "failures need to know what a checkpoint takes");
  if (fails (&about) && failures->restart_s == 0)
    diag_error (diags, NULL, "--restart '10 min'", "failures need to know what a restart takes");
  if (failures->site_mtbf_s > 0 && !facts->has_sites)
    diag_error (diags, NULL, "--sites: a matrix of the links between them",
                "--site-mtbf has no use where all nodes are at one place");
  if (failures->straggler_mtbf_s > 0
      && (failures->straggler_s == 0 || failures->straggler_slowdown == 1))
    diag_error (diags, NULL, "--straggler-time '1 h' --straggler-slowdown 1.2",
                "slow nodes need to know how slow and how long");
  if (failures->slow_node_probability > 0 && goal->slow_node_rate == 0)
    diag_error (
        diags, NULL,
        "--slow-node-rate 0.9: of its speed that such a node has, from 0.1 % to below 100 %",
        "--slow-node-probability does not say how slow such a node is: a node that is slow "
        "for good needs both a probability and a rate");
  else if (failures->slow_node_probability > 0 && goal->slow_node_rate == 1)
    diag_error (diags, NULL, "0.1 % to below 100 %, as in --slow-node-rate 0.9",
                "--slow-node-rate: at all of its speed a node is not slow");
}

gboolean
run_options_goal (const RunOptions *self, const RunFacts *facts, RunGoal *goal, DiagList *diags)
{
  const guint       before = diag_list_n_errors (diags);
  const About       about = { goal, facts };
  const OptionScope scope = { run_options, self, self, facts_of_runs, &about };

  *goal = self->goal;
  goal->deadline_s = self->days * 86400;
  goal->bytes_per_parameter = facts->bytes_per_parameter;
  goal->failures.n_spares = (guint) self->n_spares;
  goal->n_runs = (guint) self->n_runs;
  goal->seed = (guint32) self->seed;
  if (self->checkpoint_tier == RUN_TIER_NVME)
    {
      goal->checkpoint_bps = 0;
      goal->checkpoint_node_bps = facts->drive_write_bps;
      if (facts->drive_write_bps == 0)
        diag_error (diags, NULL, "--checkpoint-node-bandwidth '5 GB/s'",
                    "--checkpoint-tier: no profile of '%s' says what its drives write",
                    facts->type);
    }
  value_of (self->power, "power", QUANTITY_POWER, facts->type, &goal->power_w, diags);
  if (value_of (self->price, "price", QUANTITY_COUNT, facts->type, &goal->price, diags)
      && goal->budget > 0 && goal->price == 0)
    diag_error (diags, NULL, "--price 2.5: of a GPU and hour", "a budget needs a price");
  check_failures (goal, facts, diags);
  if (diag_list_n_errors (diags) == before)
    option_warn_idle (&scope, NULL, diags);
  return diag_list_n_errors (diags) == before;
}
