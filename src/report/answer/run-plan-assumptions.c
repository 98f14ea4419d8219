/* What a planned run rests on: prices, failures and checkpoints as they were given. */
#include "base/config/column.h"
#include "report/answer/run-plan-private.h"

#define OF_GOAL(member_) G_STRUCT_OFFSET (RunGoal, member_)

/* Where 0 is "not given", it says what that means. */
typedef struct
{
  const char  *name;
  gsize        offset; /* of the goal */
  const char  *unset;
  QuantityKind kind;
  gboolean     is_count; /* a guint, else a double */
} Assumption;

static const Assumption assumptions[] = {
  { "price of a GPU and hour", OF_GOAL (price), "not known", QUANTITY_COUNT, FALSE },
  { "power of a GPU with its share of the node", OF_GOAL (power_w), "not known", QUANTITY_POWER,
    FALSE },
  { "between failures of a GPU", OF_GOAL (failures.gpu_mtbf_s), "never", QUANTITY_TIME, FALSE },
  { "between failures of the rest of a node", OF_GOAL (failures.node_mtbf_s), "never",
    QUANTITY_TIME, FALSE },
  { "between failures of the job", OF_GOAL (failures.job_mtbf_s), "never", QUANTITY_TIME, FALSE },
  { "from a failure to the next step", OF_GOAL (failures.restart_s), "none", QUANTITY_TIME, FALSE },
  { "bytes that a parameter keeps", OF_GOAL (bytes_per_parameter), "none", QUANTITY_BYTES, FALSE },
  { "checkpoint", OF_GOAL (checkpoint_bytes), "what all parameters keep", QUANTITY_BYTES, FALSE },
  { "its bandwidth, of the job", OF_GOAL (checkpoint_bps), "not given", QUANTITY_BANDWIDTH, FALSE },
  { "its bandwidth, of a node", OF_GOAL (checkpoint_node_bps), "not given", QUANTITY_BANDWIDTH,
    FALSE },
  { "it holds up training", OF_GOAL (checkpoint_s), "size over bandwidth", QUANTITY_TIME, FALSE },
  { "work between checkpoints", OF_GOAL (failures.interval_s), "the best (Daly)", QUANTITY_TIME,
    FALSE },
  { "until a failed node is back", OF_GOAL (failures.repair_s), "another is there at once",
    QUANTITY_TIME, FALSE },
  { "between losses of a site", OF_GOAL (failures.site_mtbf_s), "never", QUANTITY_TIME, FALSE },
  { "until a lost site is back", OF_GOAL (failures.site_repair_s), "at once", QUANTITY_TIME,
    FALSE },
  { "all wait until a lost site is left out", OF_GOAL (failures.notice_s), "none", QUANTITY_TIME,
    FALSE },
  { "all wait until a site that is back has the state", OF_GOAL (failures.join_s),
    "size over the best link to it", QUANTITY_TIME, FALSE },
  { "until a node is slow for a while", OF_GOAL (failures.straggler_mtbf_s), "never", QUANTITY_TIME,
    FALSE },
  { "for how long", OF_GOAL (failures.straggler_s), "", QUANTITY_TIME, FALSE },
  { "steps take so many times as long", OF_GOAL (failures.straggler_slowdown), "", QUANTITY_COUNT,
    FALSE },
  { "a node is slow for good, probability", OF_GOAL (failures.slow_node_probability), "never",
    QUANTITY_RATIO, FALSE },
  { "the rate of its GPUs then", OF_GOAL (slow_node_rate), "", QUANTITY_RATIO, FALSE },
  { "jitter of a step", OF_GOAL (failures.jitter), "none", QUANTITY_RATIO, FALSE },
  { "nodes that stand by, and are paid", OF_GOAL (failures.n_spares), "none", QUANTITY_COUNT,
    TRUE },
  { "sampled runs", OF_GOAL (n_runs), "none", QUANTITY_COUNT, TRUE },
};

/* "50000 h": rates of failures are said in hours. Newly allocated. */
static char *
assumption_text (QuantityKind kind, double value)
{
  return kind == QUANTITY_TIME && value >= 2 * HOUR ? g_strdup_printf ("%.10g h", value / HOUR)
                                                    : quantity_format (kind, value, 4);
}

COLUMN_NUMBER_OF (Assumption, assumed,
                  p->is_count ? G_STRUCT_MEMBER (guint, column->of, p->offset)
                              : G_STRUCT_MEMBER (double, column->of, p->offset))

static char *
show_assumed (const Column *column, gconstpointer row)
{
  const Assumption *p = row;
  const double      value = assumed (column, row);

  return value > 0 ? assumption_text (p->kind, value) : g_strdup (p->unset);
}

static const char *
cluster_of (const RunPlanAnswer *self, guint i)
{
  return ((const RunPlan *) g_ptr_array_index (self->plans, i))->cluster;
}

void
run_plan_describe_assumptions (Document *document, const RunPlanAnswer *self)
{
  g_autoptr (GArray) shown = g_array_new (TRUE, TRUE, sizeof (Column));
  const Column name = { NULL, "assumption", COLUMN_WORD, 0, COLUMN_MEMBER (Assumption, name) };

  g_array_append_val (shown, name);
  for (guint p = 0; p < self->plans->len; p++)
    {
      const Column type = { .title = cluster_of (self, p),
                            .kind = COLUMN_NUMBER,
                            .number = assumed,
                            .of = &self->goals[p],
                            .show = show_assumed };

      if (p == 0 || !g_str_equal (cluster_of (self, p), cluster_of (self, p - 1)))
        g_array_append_val (shown, type);
    }
  document_section (document, "Assumptions");
  document_table (document, (const Column *) (void *) shown->data,
                  (Rows){ assumptions, G_N_ELEMENTS (assumptions), sizeof (Assumption) });
  document_line (document,
                 "A number of nodes meets the goal when nine sampled runs in ten do. Rates "
                 "of failures, prices and power are as they were given: no profile has "
                 "them.");
  document_line (document, "Not modelled: failures that come in groups, rates that change over a "
                           "run, work that goes on with fewer nodes where a strategy exchanges "
                           "each step, ramps of batch or sequence length, evaluation.");
}
