/* Tables of measured training runs, and what their errors come to: by hand. */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "evidence/tables/run-order.h"
#include "evidence/tables/training-private.h"
#include "report/validation/validate-training.h"

#define HEADER                                                                                    \
  "id,source,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads,vocab,seq_len," \
  "micro_batch,grad_accum,strategy,shard,tp,activation_checkpointing,options,metric,value,unit,"  \
  "use,remark\n"
#define NODE  ",x,1,2,a100-sxm-40,nvlink3-switch,0,none,"
#define MODEL "gpt,2,256,4,1000,128,"

/* TEXT as a file. Newly allocated name; the caller removes the file. */
static const char goals[] =
    "- { rows: speed, of: time, sources: [other, layouts], median: 6 %, p90: 0.15 }\n"
    "- { rows: fits, of: fits, sources: [layouts], right: 0.95 }\n"
    "- { rows: tau, of: ranking, sources: [layouts], tau: 0.8 }\n";

/* Newly allocated name of the goals beside TABLE. */
static char *
goals_beside (const char *table)
{
  return g_strdup_printf ("%.*s.goals.yaml", (int) (strlen (table) - strlen (".csv")), table);
}

static char *
write_table (const char *text)
{
  char *name = NULL;
  gint  fd = g_file_open_tmp ("shardsim-training-XXXXXX.csv", &name, NULL);

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  return name;
}

/* With the goals WANTED (NULL: none) beside it; NULL after mistakes. */
static TrainingTable *
try_text (const char *text, const char *wanted, DiagList *diags)
{
  g_autofree char       *name = write_table (text), *beside = goals_beside (name);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  TrainingTable         *table;

  ck_assert (wanted == NULL || g_file_set_contents (beside, wanted, -1, NULL));
  table = training_table_load (name, profiles, diags);
  g_unlink (name);
  g_unlink (beside);
  return table;
}

static TrainingTable *
load_text_and_goals (const char *text, const char *wanted)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingTable       *table = try_text (text, wanted, diags);

  ck_assert_msg (table != NULL, "%s", diag_list_first_message (diags));
  return table;
}

static TrainingTable *
load_text (const char *text)
{
  return load_text_and_goals (text, goals);
}

/*
 * The summary of TEXT's rows, had they been predicted as PREDICTED with SHARES of memory (NAN: not
 * simulated).
 */
static TrainingValidation *
summary_of_goals (const char *text, const char *wanted, const double *predicted,
                  const double *shares)
{
  TrainingValidation *self = training_validation_new (load_text_and_goals (text, wanted));

  for (guint i = 0; i < self->table->rows->len; i++)
    {
      const TrainingRow *measured = &g_array_index (self->table->rows, TrainingRow, i);
      ValidatedTraining  row = { .measured = measured };

      if (isnan (predicted[i]))
        row.reason = g_strdup ("no");
      else
        {
          row.predicted = predicted[i];
          row.error = measured->metric != METRIC_FITS ? predicted[i] / measured->value - 1 : 0;
          row.memory_share = shares != NULL ? shares[i] : 0.5;
        }
      g_array_append_val (self->rows, row);
    }
  training_summarise (self);
  return self;
}

static TrainingValidation *
summary_of (const char *text, const double *predicted, const double *shares)
{
  return summary_of_goals (text, goals, predicted, shares);
}

static const char *
setting_of (const TrainingTable *table, guint row, const char *key)
{
  const GArray *settings = g_array_index (table->rows, TrainingRow, row).settings;

  for (guint i = 0; i < settings->len; i++)
    if (strcmp (g_array_index (settings, ScenarioOverride, i).key, key) == 0)
      return g_array_index (settings, ScenarioOverride, i).value;
  return NULL;
}

/*
 * x 1 2 3 4, y 1 3 2 4: five pairs agree, one does not: 4 / 6. With y 1 2 2 4 five agree, one is
 * tied in y: 5 / sqrt (6 * 5). Both tied in the same pair: 5 / sqrt (5 * 5) = 1.
 */
START_TEST (test_tau)
{
  const double x[] = { 1, 2, 3, 4 }, swapped[] = { 1, 3, 2, 4 }, tied[] = { 1, 2, 2, 4 },
               down[] = { 4, 3, 2, 1 }, equal[] = { 7, 7, 7, 7 };

  ck_assert_double_eq_tol (statistics_kendall_tau_b (x, x, 4), 1, 1e-12);
  ck_assert_double_eq_tol (statistics_kendall_tau_b (x, down, 4), -1, 1e-12);
  ck_assert_double_eq_tol (statistics_kendall_tau_b (x, swapped, 4), 4.0 / 6, 1e-12);
  ck_assert_double_eq_tol (statistics_kendall_tau_b (x, tied, 4), 5 / sqrt (30), 1e-12);
  ck_assert_double_eq_tol (statistics_kendall_tau_b (tied, tied, 4), 1, 1e-12);
  ck_assert (isnan (statistics_kendall_tau_b (x, equal, 4)));
  ck_assert (isnan (statistics_kendall_tau_b (x, x, 1)));
}
END_TEST

/*
 * Times 10 8 12 s: the fastest is the second. Picking the third costs 12 / 8 - 1. As rates the
 * third is the fastest: picking the second costs 12 / 8 - 1 again. Of equals the first is picked.
 */
START_TEST (test_regret)
{
  const double measured[] = { 10, 8, 12 }, third[] = { 3, 2, 1 }, second[] = { 1, 5, 2 },
               equal[] = { 4, 4, 4 };
  double regret = NAN;

  ck_assert_uint_eq (training_regret (measured, third, 3, TRUE, &regret), 2);
  ck_assert_double_eq_tol (regret, 0.5, 1e-12);
  ck_assert_uint_eq (training_regret (measured, second, 3, FALSE, &regret), 1);
  ck_assert_double_eq_tol (regret, 0.5, 1e-12);
  ck_assert_uint_eq (training_regret (measured, equal, 3, TRUE, &regret), 0);
  ck_assert_double_eq_tol (regret, 0.25, 1e-12);
  ck_assert_uint_eq (training_regret (measured, measured, 3, TRUE, &regret), 1);
  ck_assert_double_eq (regret, 0);
}
END_TEST

START_TEST (test_source)
{
  static const struct
  {
    const char *id, *source;
  } cases[] = {
    { "mpt-0099", "mpt" },
    { "modalities-mn5-0046-r2", "modalities-mn5" },
    { "modalities-mn5", "modalities-mn5" },
    { "megatron-sc21-0001", "megatron-sc21" },
    { "vtrain-single", "vtrain-single" },
    { "a-r2", "a" },
    { "-0001", "-0001" },
    { "12", "12" },
    { "x-1-2", "x-1" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *source = training_source_of_id (cases[i].id);

      ck_assert_str_eq (source, cases[i].source);
    }
}
END_TEST

#define RUN(id, micro, tp, remark_source, metric, value, use) \
  id NODE MODEL micro ",1,ddp,all," tp ",none,," metric "," value ",," use "," remark_source "\n"

/*
 * Group a: times 10 8 12 (one differs in tp, one in the remark) predicted 11 8 9: order swapped
 * between first and third: tau 1/3, picks the fastest. The rate of a group of its own has no
 * partner; a row to calibrate with and one that is not simulated count nowhere. Errors of a's
 * times: +0.1, 0, -0.25: median of the absolute ones 0.1, 90 % at place 1.8: 0.1 + 0.8 * 0.15, mean
 * -0.05.
 */
START_TEST (test_summary)
{
  static const char text[] = HEADER RUN ("a-01", "1", "1", "", "step_time_s", "10", "test")
      RUN ("a-02", "2", "1", "", "step_time_s", "8", "test")
          RUN ("a-03", "1", "2", "odd", "step_time_s", "12", "test")
              RUN ("a-04", "1", "1", "", "step_time_s", "1", "calibrate")
                  RUN ("b-01", "1", "1", "", "tokens_per_s_per_gpu", "100", "")
                      RUN ("b-02", "2", "1", "", "tokens_per_s_per_gpu", "300", "test");
  const double                   predicted[] = { 11, 8, 9, 5, 150, NAN };
  g_autoptr (TrainingValidation) v = summary_of (text, predicted, NULL);
  const TrainingErrors          *of_a = &g_array_index (v->errors, TrainingErrors, 0);
  const TrainingErrors          *of_b = &g_array_index (v->errors, TrainingErrors, 1);
  const LayoutRanking           *layouts = &g_array_index (v->layouts, LayoutRanking, 0);

  ck_assert_uint_eq (v->errors->len, 4); /* a, b, and all of either metric */
  ck_assert_str_eq (of_a->source, "a");
  ck_assert_uint_eq (of_a->errors.n, 3);
  ck_assert_uint_eq (of_a->n_failed, 0);
  ck_assert_double_eq_tol (of_a->errors.median_abs, 0.1, 1e-12);
  ck_assert_double_eq_tol (of_a->errors.p90_abs, 0.22, 1e-12);
  ck_assert_double_eq_tol (of_a->errors.mean, -0.05, 1e-12);
  ck_assert_str_eq (of_b->source, "b");
  ck_assert_uint_eq (of_b->errors.n, 1);
  ck_assert_uint_eq (of_b->n_failed, 1);
  ck_assert_uint_eq (v->speed.n, 4);
  ck_assert_uint_eq (v->layouts->len, 1);
  ck_assert_uint_eq (layouts->n, 3);
  ck_assert_double_eq_tol (layouts->tau, 1.0 / 3, 1e-12);
  ck_assert_double_eq (layouts->regret, 0);
  ck_assert_str_eq (layouts->pick, "a-02");
  ck_assert_str_eq (layouts->best, "a-02");
  ck_assert_uint_eq (v->rankings->len, 2); /* a, all */
  ck_assert_uint_eq (v->goals->len, 0);    /* none of the sources that goals are about */
}
END_TEST

/* Two ran, one predicted not to; two ran out of memory, one predicted at 80 % of capacity. */
START_TEST (test_fits)
{
  static const char text[] = HEADER RUN ("layouts-1", "1", "1", "", "fits", "1", "test")
      RUN ("layouts-2", "2", "1", "", "fits", "1", "test")
          RUN ("layouts-3", "1", "2", "", "fits", "0", "test")
              RUN ("layouts-4", "1", "1", "", "fits", "0", "test")
                  RUN ("layouts-5", "8", "1", "", "step_time_s", "2", "test");
  const double predicted[] = { 1, 0, 0, 1, 2 }, shares[] = { 0.5, 1.1, 1.5, 0.8, 1.2 };
  g_autoptr (TrainingValidation) v = summary_of (text, predicted, shares);
  const GoalResult              *goal = &g_array_index (v->goals, GoalResult, 1);

  ck_assert_uint_eq (v->fits.n[1][1], 1);
  ck_assert_uint_eq (v->fits.n[1][0], 1);
  ck_assert_uint_eq (v->fits.n[0][0], 1);
  ck_assert_uint_eq (v->fits.n[0][1], 1);
  ck_assert_uint_eq (v->fits.n_wrongly_full, 1);
  ck_assert_double_eq (v->fits.lowest_share, 0.8);
  ck_assert_uint_eq (v->fits.offenders->len, 1);
  ck_assert_uint_eq (g_array_index (v->fits.offenders, guint, 0), 3);
  ck_assert_uint_eq (v->goals->len, 2); /* time, then fits; one row has no group to be ranked in */
  ck_assert_int_eq (goal->goal->kind, GOAL_FITS);
  ck_assert_double_eq_tol (goal->first, 0.5, 1e-12);
  ck_assert_double_eq (goal->second, 1);
  ck_assert (!goal->met);
  ck_assert_double_eq_tol (goal[-1].goal->first, 0.06, 1e-12);
  ck_assert_double_eq (goal[-1].goal->second, 0.15);
  ck_assert_str_eq (goal[-1].goal->sources[1], "layouts");
  ck_assert_uint_eq (g_array_index (v->errors, TrainingErrors, 0).errors.n, 1); /* fits: no error */
}
END_TEST

#define ON(id, nodes, metric, value)                                          \
  id "," nodes ",2,a100-sxm-40,nvlink3-switch,2,ib-hdr-200,gpt,2,256,4,1000," \
     "128,ddp," metric "," value ","
#define RATE(id, nodes) ON (id, nodes, "tokens_per_s_per_gpu", "100") ",\n"
#define TIME(id, nodes) ON (id, nodes, "step_time_s", "10") ",\n"
#define NETWORK(id, all_reduce, all_gather) \
  ON (id, "4", "step_time_s", "1") all_reduce "," all_gather "\n"
#define NODES_HEADER                                                         \
  "id,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads," \
  "vocab,seq_len,strategy,metric,value,all_reduce_bus_gbs,all_gather_bus_gbs\n"

/*
 * Errors of the speed: of rates 0, +0.1 and +0.3 and +0.1 on 1, 2, 4, 4 nodes, of times 10 s
 * predicted as 8 and as 5 s on 4 and 16 nodes +0.25 and +1. Slopes a doubling: of the rates' five
 * pairs 0.1, 0.15, 0.05, 0.2 and 0, in the middle 0.1; of the times' one 0.75 / 2. What was not
 * simulated and memory count nowhere.
 */
START_TEST (test_by_nodes)
{
  static const char text[] = NODES_HEADER RATE ("a-1", "4") RATE ("a-2", "1") RATE ("a-3", "2")
      RATE ("a-4", "4") TIME ("b-1", "4") TIME ("b-2", "16") TIME ("b-3", "64") ON (
          "c-1", "8", "peak_reserved_gib", "10") ",\n" ON ("c-2", "8", "mfu_percent", "40") ",\n";
  static const char wanted[] =
      "- { rows: large, of: time, sources: [a], nodes: 4, median: 0.21 }\n"
      "- { rows: trend of a, of: trend, sources: [a], slope: 0.1000001 }\n"
      "- { rows: trend of b, of: trend, sources: [b, c], slope: 0.03 }\n"
      "- { rows: trend of a on many, of: trend, sources: [a], nodes: 4, slope: 0.03 }\n";
  static const struct
  {
    const char *source;
    guint       n_nodes, n;
    double      median_abs;
  } expected[] = {
    { "a", 1, 1, 0 },     { "a", 2, 1, 0.1 },  { "a", 4, 2, 0.2 }, { "b", 4, 1, 0.25 },
    { "b", 16, 1, 1 },    { "c", 8, 1, 0.5 },  { NULL, 1, 1, 0 },  { NULL, 2, 1, 0.1 },
    { NULL, 4, 3, 0.25 }, { NULL, 8, 1, 0.5 }, { NULL, 16, 1, 1 },
  };
  const double                   predicted[] = { 130, 100, 110, 110, 8, 5, NAN, 20, 60 };
  g_autoptr (TrainingValidation) v = summary_of_goals (text, wanted, predicted, NULL);
  const NodesTrend              *trends = (const NodesTrend *) (void *) v->trends->data;
  const GoalResult              *goal = (const GoalResult *) (void *) v->goals->data;

  ck_assert_uint_eq (v->nodes->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < v->nodes->len; i++)
    {
      const NodesErrors *group = &g_array_index (v->nodes, NodesErrors, i);

      ck_assert_pstr_eq (group->source, expected[i].source);
      ck_assert_uint_eq (group->n_nodes, expected[i].n_nodes);
      ck_assert_uint_eq (group->errors.n, expected[i].n);
      ck_assert_double_eq_tol (group->errors.median_abs, expected[i].median_abs, 1e-12);
    }
  ck_assert_uint_eq (v->trends->len, 3); /* a, b, all; c is on one number of nodes */
  ck_assert_uint_eq (trends[0].n, 4);
  ck_assert_uint_eq (trends[0].fewest, 1);
  ck_assert_uint_eq (trends[0].most, 4);
  ck_assert_double_eq_tol (trends[0].slope, 0.1, 1e-12);
  ck_assert_double_eq_tol (trends[1].slope, 0.375, 1e-12);
  ck_assert_ptr_null (trends[2].source);
  ck_assert_uint_eq (trends[2].n, 7);
  ck_assert_uint_eq (v->goals->len, 3); /* nothing of a grows from 4 nodes on */
  ck_assert_uint_eq (goal[0].n, 2);
  ck_assert (goal[0].met && isinf (goal[0].goal->second));
  ck_assert (goal[1].met);
  ck_assert_double_eq_tol (goal[1].first, 0.1, 1e-12);
  ck_assert_str_eq (goal[2].goal->title, "trend of b");
  ck_assert (!goal[2].met);
}
END_TEST

/*
 * From 16 nodes on, without any goal: errors of the rates +0.5 on 2 nodes, 0, +0.04 and +0.08 on
 * 16, 32 and 64. The three pairs from 16 on all have 0.04 a doubling; with 2 nodes there are also
 * -0.5 / 3, -0.46 / 4 and -0.42 / 5, and the median of the six lies midway between the latter and
 * 0.04.
 */
START_TEST (test_trend_of_many_nodes)
{
  static const char text[] =
      NODES_HEADER  RATE ("a-1", "2") RATE ("a-2", "16") RATE ("a-3", "32") RATE ("a-4", "64");
  const double      predicted[] = { 150, 100, 104, 108 };
  g_autoptr (TrainingValidation) v = summary_of_goals (text, NULL, predicted, NULL);
  const NodesTrend              *trends = (const NodesTrend *) (void *) v->trends->data;

  ck_assert_uint_eq (v->goals->len, 0);
  ck_assert_uint_eq (v->trends->len, 4); /* a and all, each over all nodes and from 16 on */
  for (guint i = 0; i < 4; i += 2)
    {
      ck_assert_pstr_eq (trends[i + 1].source, trends[i].source);
      ck_assert_uint_eq (trends[i].fewest, 2);
      ck_assert_double_eq_tol (trends[i].slope, (0.04 - 0.42 / 5) / 2, 1e-12);
      ck_assert_uint_eq (trends[i + 1].fewest, 16);
      ck_assert_uint_eq (trends[i + 1].n, 3);
      ck_assert_double_eq_tol (trends[i + 1].slope, 0.04, 1e-12);
    }
}
END_TEST

/*
 * What was measured of the network is kept with the run and tells no runs apart; a number that is
 * none is why its row counts nowhere. Nodes by number or by the cluster's name.
 */
START_TEST (test_networks)
{
  static const char text[] =
      NODES_HEADER  NETWORK ("a-1", "188.9", "114.8") NETWORK ("a-2", "", "120")
          NETWORK ("a-3", "", "") NETWORK ("a-4", "-3", "") NETWORK ("a-5", "3 GB/s", "");
  static const char named[] =
      "id,cluster,arch,n_layers,d_model,n_heads,vocab,seq_len,strategy,nccl,metric,value\n"
      "a-1,12 x dgx-a100,gpt,2,256,4,1000,128,ddp,2.3.1,fits,1\n"
      "a-2,mine,gpt,2,256,4,1000,128,ddp,2.99,fits,1\n";
  g_autoptr (TrainingTable) table = load_text (text), other = load_text (named);
  const TrainingRow        *rows = (const TrainingRow *) table->rows->data;
  const TrainingRow        *by_name = (const TrainingRow *) other->rows->data;

  ck_assert_str_eq (rows[0].measured, "all_reduce 1GiB 188.9 GB/s, all_gather 1GiB 114.8 GB/s");
  ck_assert_str_eq (rows[1].measured, "all_gather 1GiB 120 GB/s");
  ck_assert_ptr_null (rows[2].measured);
  ck_assert_ptr_eq (rows[0].configuration, rows[2].configuration);
  ck_assert_str_eq (rows[3].unmodelled,
                    "expected a bandwidth in GB/s for 'all_reduce_bus_gbs', got '-3'");
  ck_assert_str_eq (rows[4].unmodelled,
                    "expected a bandwidth in GB/s for 'all_reduce_bus_gbs', got '3 GB/s' (no unit "
                    "belongs here)");
  ck_assert_uint_eq (rows[0].n_nodes, 4);
  ck_assert_uint_eq (by_name[0].n_nodes, 12);
  ck_assert_uint_eq (by_name[1].n_nodes, 0);
  /* the release of a run that is older than all known ones: the oldest; newer ones as they are */
  ck_assert_str_eq (setting_of (other, 0, "collective.nccl"), "2.12");
  ck_assert_str_eq (setting_of (other, 1, "collective.nccl"), "2.99");
}
END_TEST

/*
 * Slow among their neighbours is what takes more than twice as long for a pass of a micro-step over
 * all stages. A run of one node, and one of more tokens than all others, is none.
 */
START_TEST (test_slow_runs)
{
#define SLOW_RUN(id, nodes, mb, accum, pp, tp, value)                                            \
  id "," nodes ",8,a100-sxm-80,nvlink3-switch,8,ib-hdr-200,gpt,2,2048,16,1000,128," mb "," accum \
     "," pp "," tp ",zero1,step_time_s," value "\n"
  static const char text[] =
      "id,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads,vocab,seq_len,"
      "micro_batch,grad_accum,pp,tp,strategy,metric,value\n" SLOW_RUN (
          "a-1", "2", "2", "4", "1", "8", "4")         /* 4 / 4 * 1 = 1 s a pass */
      SLOW_RUN ("a-2", "2", "1", "4", "2", "8", "5")   /* 5 / 5 * 2 = 2 s: twice is not more */
      SLOW_RUN ("a-3", "2", "1", "4", "2", "8", "5.5") /* 2.2 s: slow */
      SLOW_RUN ("a-4", "2", "4", "4", "1", "8", "12")  /* 3 s, but of more tokens than all */
      SLOW_RUN ("a-5", "1", "1", "4", "1", "8", "12")  /* 3 s on one node */
      SLOW_RUN ("a-6", "2", "1", "4", "1", "16", "40") /* alone with 16 tensor ranks, over nodes */
      SLOW_RUN ("b-1", "2", "1", "4", "1", "8", "40"); /* of another source */
  static const char wanted[] =
      "- { rows: all, of: time, sources: [a, b], median: 0.1 }\n"
      "- { rows: healthy, of: time, sources: [a, b], healthy: true, median: 0.1 }\n"
      "- { rows: over nodes, of: time, sources: [a], tensor_over_nodes: true, median: 0.1 }\n";
  const double                   predicted[] = { 4, 5, 1, 12, 12, 20, 40 };
  g_autoptr (TrainingValidation) v = summary_of_goals (text, wanted, predicted, NULL);
  const GoalResult              *goal = (const GoalResult *) (void *) v->goals->data;

  for (guint i = 0; i < v->rows->len; i++)
    ck_assert_int_eq (training_row_at (v, i)->measured->slow, i == 2);
  ck_assert_uint_eq (goal[0].n, 7);
  ck_assert_uint_eq (goal[1].n, 6);
  ck_assert_double_eq (goal[1].first, 0);
  ck_assert_uint_eq (goal[2].n, 1);
  ck_assert_double_eq (goal[2].first, 0.5);
}
END_TEST

/*
 * Three strategies train one model: 10 8 12 s are predicted 11 9 10, two of three pairs in the
 * right order, tau 1/3. The fourth run is of a wider model, which nothing is ranked with. Groups of
 * layouts have a run each: no goal is about them.
 */
START_TEST (test_ranking_of_strategies)
{
#define AS(id, width, strategy, value) \
  id NODE "gpt,2," width ",4,1000,128,1,1," strategy ",all,1,none,,step_time_s," value ",,test,\n"
  static const char text[] = HEADER AS ("a-01", "256", "ddp", "10") AS ("a-02", "256", "zero1", "8")
      AS ("a-03", "256", "fsdp1", "12") AS ("a-04", "512", "ddp", "1");
  static const char wanted[] =
      "- { rows: layouts, of: ranking, sources: [a], tau: 0.8 }\n"
      "- { rows: strategies, of: ranking, sources: [a], strategies: true, tau: 0.3 }\n";
  const double                   predicted[] = { 11, 9, 10, 20 };
  g_autoptr (TrainingValidation) v = summary_of_goals (text, wanted, predicted, NULL);
  const GoalResult              *goal = &g_array_index (v->goals, GoalResult, 0);

  ck_assert_uint_eq (v->goals->len, 1);
  ck_assert_str_eq (goal->goal->title, "strategies");
  ck_assert_uint_eq (goal->n, 1);
  ck_assert_double_eq_tol (goal->first, 1.0 / 3, 1e-12);
  ck_assert (goal->met);
}
END_TEST

/*
 * Goals of memory are about one peak each, and where the kind is not said it is what was allocated.
 * Of two runs that ran one is predicted to fit, of two that did not both are predicted not to,
 * where the goal of any outcome has three of four.
 */
START_TEST (test_goals_of_memory)
{
  static const char text[] = HEADER RUN ("a-1", "1", "1", "", "peak_allocated_gib", "10", "test")
      RUN ("a-2", "1", "1", "", "peak_gib", "10", "test")
          RUN ("a-3", "1", "1", "", "peak_reserved_gib", "10", "test")
              RUN ("a-4", "1", "1", "", "peak_device_gb", "10", "test")
                  RUN ("a-5", "1", "1", "", "fits", "1", "test")
                      RUN ("a-6", "1", "2", "", "fits", "1", "test")
                          RUN ("a-7", "1", "1", "", "fits", "0", "test")
                              RUN ("a-8", "1", "2", "", "fits", "0", "test");
  static const char wanted[] =
      "- { rows: allocated, of: memory, peak: allocated, sources: [a], median: 0.01 }\n"
      "- { rows: reserved, of: memory, sources: [a], median: 0.2 }\n"
      "- { rows: device, of: memory, peak: device, sources: [a], median: 0.04 }\n"
      "- { rows: any, of: fits, sources: [a], right: 0.7 }\n"
      "- { rows: ran, of: fits, outcome: ran, sources: [a], right: 1 }\n"
      "- { rows: not, of: fits, outcome: out_of_memory, sources: [a], right: 0.95 }\n";
  const double predicted[] = { 11, 13, 12, 14, 1, 0, 0, 0 };
  const double shares[] = { 1, 1, 1, 1, 0.5, 1.1, 0.8, 1.2 };
  static const struct
  {
    double   first;
    guint    n;
    gboolean met;
  } expected[] = { { 0.2, 2, FALSE },  { 0.2, 1, TRUE },  { 0.4, 1, FALSE },
                   { 0.75, 4, FALSE }, { 0.5, 2, FALSE }, { 1, 2, TRUE } };
  g_autoptr (TrainingValidation) v = summary_of_goals (text, wanted, predicted, shares);

  ck_assert_uint_eq (v->goals->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < v->goals->len; i++)
    {
      const GoalResult *goal = &g_array_index (v->goals, GoalResult, i);

      ck_assert_uint_eq (goal->n, expected[i].n);
      ck_assert_double_eq_tol (goal->first, expected[i].first, 1e-12);
      ck_assert_int_eq (goal->met, expected[i].met);
    }
  ck_assert_double_eq (g_array_index (v->goals, GoalResult, 3).second, 1);
}
END_TEST

/* Mistakes in the goals are the table's: a bound that is missing, or of another kind. */
START_TEST (test_bad_goals)
{
  static const char *const cases[] = {
    "rows: no list\n",
    "- { rows: speed, of: time, sources: [a], p90: 0.06 }\n",
    "- { rows: speed, of: trend, sources: [a], slope: 0.03, median: 0.06 }\n",
    "- { rows: speed, of: time, sources: [a], median: 0.06, nodes: 0 }\n",
    "- { rows: tau, of: ranking, sources: [a], tau: 0.8, nodes: 16 }\n",
    "- { rows: tau, of: ranking, sources: [a], tau: 0.8, p90: 0.1 }\n",
    "- { rows: speed, of: time, sources: [a], median: 0.06, peak: device }\n",
    "- { rows: peak, of: memory, sources: [a], median: 0.06, outcome: ran }\n",
    "- { rows: fits, of: fits, sources: [a], right: 0.9, healthy: true }\n",
    "- { rows: fits, of: fits, sources: [a], right: 0.9, strategies: true }\n",
    "- { rows: fits, of: fits, right: 0.9 }\n",
    "- { rows: fits, of: fitting, sources: [a], median: 0.1, p90: 0.9 }\n",
    "- { of: fits, sources: [a], right: 0.9 }\n",
    "- { rows: fits, of: fits, sources: [a], right: 95 }\n",
    "- { rows: fits, of: fits, sources: [a], right: 0.9, lest: 2 }\n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();

      ck_assert_ptr_null (
          try_text (HEADER RUN ("a-1", "1", "1", "", "fits", "1", "test"), cases[i], diags));
      ck_assert_msg (diag_list_n_errors (diags) == 1, "%s", cases[i]);
    }
}
END_TEST

/*
 * How cells become options: grad-op, `all` of a strategy without groups, further options, another
 * name of a strategy. MFU that others published counts all pairs of tokens, unless a row says else.
 */
START_TEST (test_mapping)
{
  static const char text[] = HEADER
      "a-1" NODE    MODEL "1,1,fsdp2,grad-op,1,none,,step_time_s,1,s,test,\n"
      "a-2" NODE MODEL "1,1,zero2,all,1,,flops_convention=6n,step_time_s,1,s,test,\n"
      "a-3" NODE MODEL "1,1,fsdp1,2,1,full,async_tp=1; backward_prefetch=post,fits,1,,test,\n"
      "a-4" NODE MODEL
      "1,1,fsdp1,2,1,full,async_tp=1; backward_prefetch=post,step_time_s,1,,test,\n"
      "a-5" NODE            MODEL "1,1,zero++,all,1,full,,fits,0,,calibrate,\n";
  g_autoptr (TrainingTable) table = load_text (text);
  const TrainingRow        *rows = (const TrainingRow *) table->rows->data;

  ck_assert_str_eq (setting_of (table, 0, "mesh.shard"), "all");
  ck_assert_str_eq (setting_of (table, 0, "strategy.reshard_after_forward"), "false");
  ck_assert_ptr_null (setting_of (table, 1, "mesh.shard"));
  ck_assert_ptr_null (setting_of (table, 1, "training.activation_checkpointing"));
  ck_assert_str_eq (setting_of (table, 1, "strategy.name"), "zero2");
  ck_assert_str_eq (setting_of (table, 2, "mesh.shard"), "2");
  ck_assert_str_eq (setting_of (table, 2, "mesh.async_tp"), "1");
  ck_assert_str_eq (setting_of (table, 2, "strategy.backward_prefetch"), "post");
  ck_assert_str_eq (setting_of (table, 0, "training.flops_convention"), "palm");
  ck_assert_str_eq (setting_of (table, 1, "training.flops_convention"), "6n");
  ck_assert_ptr_eq (rows[2].configuration, rows[3].configuration);
  ck_assert_ptr_ne (rows[1].configuration, rows[2].configuration);
  ck_assert (rows[4].calibrates);
  ck_assert (strategy_find ("zeropp") != NULL || rows[4].unmodelled != NULL);
}
END_TEST

/* What frameworks imply, unless a cell says otherwise. */
START_TEST (test_framework)
{
  static const char text[] =
      "id,node,arch,n_layers,d_model,n_heads,vocab,seq_len,strategy,activation_checkpointing,"
      "scatter_gather,framework,metric,value\n"
      "a-1,x,gpt,2,256,4,1000,128,ddp,selective,,megatron-lm 2021,fits,1\n"
      "a-2,x,gpt,2,256,4,1000,128,ddp,selective,0,oneflow or megatron-lm 2021,fits,1\n"
      "a-3,x,gpt,2,256,4,1000,128,zero1,,,megatron-deepspeed 2021-22,fits,1\n"
      "a-4,x,gpt,2,256,4,1000,128,zero1,,,megatron-deepspeed 2023,fits,1\n"
      "a-5,x,gpt,2,256,4,1000,128,fsdp1,selective,,\"fms-fsdp, torch 2.2+ nightly\",fits,1\n"
      "a-6,x,gpt,2,256,4,1000,128,fsdp1,none,,fms-fsdp,fits,1\n"
      "a-7,x,gpt,2,256,4,1000,128,fsdp1,selective,,torchtitan 2024,fits,1\n";
  g_autoptr (TrainingTable) table = load_text (text);

  ck_assert_str_eq (setting_of (table, 2, "training.launch_blocking"), "true");
  ck_assert_ptr_null (setting_of (table, 3, "training.launch_blocking"));
  ck_assert_str_eq (setting_of (table, 0, "strategy.overlap_comm"), "false");
  ck_assert_str_eq (setting_of (table, 0, "mesh.scatter_gather"), "true");
  ck_assert_str_eq (setting_of (table, 0, "training.activation_checkpointing"), "selective");
  ck_assert_str_eq (setting_of (table, 1, "mesh.scatter_gather"), "0");
  ck_assert_str_eq (setting_of (table, 2, "strategy.gradient_dtype"), "fp32-beside");
  ck_assert_str_eq (setting_of (table, 2, "mesh.p2p"), "batched");
  ck_assert_ptr_null (setting_of (table, 3, "strategy.gradient_dtype"));
  ck_assert_str_eq (setting_of (table, 4, "training.activation_checkpointing"), "full");
  ck_assert_str_eq (setting_of (table, 5, "training.activation_checkpointing"), "none");
  ck_assert_str_eq (setting_of (table, 6, "training.activation_checkpointing"), "selective");
}
END_TEST

/*
 * Words of fp8 are two settings: the recipe is the word's, or the framework's own, unless `options`
 * say which; tensorwise where nobody does.
 */
START_TEST (test_fp8_words)
{
  static const char text[] =
      "id,node,arch,n_layers,d_model,n_heads,vocab,seq_len,strategy,precision,options,framework,"
      "metric,value\n"
      "a-1,x,gpt,2,256,4,1000,128,fsdp2,fp8,,torchtitan 2024,fits,1\n"
      "a-2,x,gpt,2,256,4,1000,128,fsdp2,fp8,fp8_recipe=rowwise,torchtitan 2025,fits,1\n"
      "a-3,x,gpt,2,256,4,1000,128,zero1,fp8,,nemo 24.12 (megatron-core),fits,1\n"
      "a-4,x,gpt,2,256,4,1000,128,zero1,fp8,,megatron-bridge 25.11 (megatron-core),fits,1\n"
      "a-5,x,gpt,2,256,4,1000,128,zero1,MXFP8,,nemo 24.12 (megatron-core),fits,1\n"
      "a-6,x,gpt,2,256,4,1000,128,zero1,bf16-mixed,,nemo 24.12 (megatron-core),fits,1\n"
      "a-7,x,gpt,2,256,4,1000,128,zero1,nvfp4,,nemo 24.12 (megatron-core),fits,1\n"
      "a-8,x,gpt,2,256,4,1000,128,zero1,mxfp4,,nemo 24.12 (megatron-core),fits,1\n";
  static const char *const  want[] = { "tensorwise", "rowwise", "delayed", "tensorwise",
                                       "mxfp8",      NULL,      "nvfp4" };
  g_autoptr (TrainingTable) table = load_text (text);
  const TrainingRow        *rows = (const TrainingRow *) table->rows->data;

  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    {
      ck_assert_ptr_null (rows[i].unmodelled);
      ck_assert_str_eq (setting_of (table, i, "training.precision"), "bf16-mixed");
      ck_assert_pstr_eq (setting_of (table, i, "training.fp8_recipe"), want[i]);
    }
  ck_assert_ptr_nonnull (rows[7].unmodelled);
}
END_TEST

static void
write_profile (const char *folder, const char *text)
{
  g_autofree char *frameworks = g_build_filename (folder, "framework", NULL);
  g_autofree char *file = g_build_filename (frameworks, "own.yaml", NULL);

  ck_assert_int_eq (g_mkdir_with_parents (frameworks, 0700), 0);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
}

static void
remove_profile (const char *folder)
{
  g_autofree char *frameworks = g_build_filename (folder, "framework", NULL);
  g_autofree char *file = g_build_filename (frameworks, "own.yaml", NULL);

  g_unlink (file);
  g_rmdir (frameworks);
  g_rmdir (folder);
}

/* What a profile of one's own implies; a setting that there is not is the profile's mistake. */
START_TEST (test_own_framework)
{
  static const char rows[] =
      "id,node,arch,n_layers,d_model,n_heads,vocab,seq_len,strategy,framework,metric,value\n"
      "a-1,x,gpt,2,256,4,1000,128,ddp,own,fits,1\n"
      "a-2,x,gpt,2,256,4,1000,128,fsdp1,own,fits,1\n"
      "a-3,x,gpt,2,256,4,1000,128,ddp,elder own,fits,1\n";
  static const char title[] = "title: x\nnames: elder own\nimplies:\n";
  g_autofree char  *folder = g_dir_make_tmp ("shardsim-framework-XXXXXX", NULL);
  g_autofree char  *good =
      g_strconcat (title, "- { set: mesh.tp, to: \"4\", strategy: ddp, source: x }\n",
                   "- { set: mesh.pp, to: \"2\", called: elder own, source: x }\n",
                   "- { set: mesh.cp, to: \"2\", below: model.n_heads 5, source: x }\n",
                   "- { set: mesh.ep, to: \"2\", below: model.n_heads 4, source: x }\n",
                   "- { set: mesh.vp, to: \"2\", below: model.d_ff 9, source: x }\n",
                   "- { set: mesh.sp, to: \"1\", where: \"model.arch: gpt, model.n_heads: 4\", "
                   "source: x }\n",
                   "- { set: mesh.etp, to: \"1\", where: \"model.arch: gpt, model.n_heads: 5\", "
                   "source: x }\n",
                   NULL);
  g_autofree char *bad = g_strconcat (
      title, "- { set: mesh.tpp, to: \"4\", source: x }\n",
      "- { set: mesh.tp, to: four, source: x }\n", "- { set: nowhere.tp, to: \"4\", source: x }\n",
      "- { set: strategy.x, to: \"4\", source: x, strategy: y }\n",
      "- { set: strategy.x, to: a, source: x, strategy: ddp }\n",
      "- { set: mesh.tp, to: \"4\", source: x, below: model.d_ff }\n",
      "- { set: mesh.tp, to: \"4\", source: x, below: mesh.d_ff 4 }\n",
      "- { set: mesh.tp, to: \"4\", source: x, where: \"model.arch gpt\" }\n", NULL);
  g_autofree char     *file = write_table (rows);
  g_autoptr (DiagList) diags = diag_list_new ();

  write_profile (folder, good);
  {
    g_autoptr (ProfileSet)    profiles = profile_set_new (folder);
    g_autoptr (TrainingTable) table = training_table_load (file, profiles, diags);

    ck_assert_ptr_nonnull (table);
    ck_assert_str_eq (setting_of (table, 0, "mesh.tp"), "4");
    ck_assert_ptr_null (setting_of (table, 0, "mesh.pp"));
    ck_assert_ptr_null (setting_of (table, 1, "mesh.tp"));
    ck_assert_str_eq (setting_of (table, 2, "mesh.tp"), "4");
    ck_assert_str_eq (setting_of (table, 2, "mesh.pp"), "2");
    /* 4 heads: below 5, not below 4; of d_ff nothing is said */
    ck_assert_str_eq (setting_of (table, 0, "mesh.cp"), "2");
    ck_assert_ptr_null (setting_of (table, 0, "mesh.ep"));
    ck_assert_ptr_null (setting_of (table, 0, "mesh.vp"));
    /* both terms hold, or one does not */
    ck_assert_str_eq (setting_of (table, 0, "mesh.sp"), "1");
    ck_assert_ptr_null (setting_of (table, 0, "mesh.etp"));
  }
  write_profile (folder, bad);
  {
    g_autoptr (ProfileSet) profiles = profile_set_new (folder);

    ck_assert_ptr_null (training_table_load (file, profiles, diags));
    ck_assert_uint_eq (diag_list_n_errors (diags), 8); /* once, whatever the number of rows */
  }
  remove_profile (folder);
  g_unlink (file);
}
END_TEST

/* Two tensor ranks share the 128 tokens of a step. */
START_TEST (test_tokens)
{
  static const char text[] = HEADER RUN ("a-01", "1", "2", "", "step_time_s", "0.01", "test")
      RUN ("a-01", "1", "2", "", "tokens_per_s_per_gpu", "1", "test");
  const PredictOptions           options = { 0 };
  g_autoptr (TrainingValidation) v = validate_training (load_text (text), &options, 1);

  ck_assert_uint_eq (v->n_failed, 0);
  ck_assert_double_eq_tol (training_row_at (v, 0)->predicted * training_row_at (v, 1)->predicted,
                           64, 1e-9);
}
END_TEST

/*
 * Rows that ask for memory only are planned, with fewer micro-steps; with a row of speed beside
 * them they are replayed: the same peaks.
 */
START_TEST (test_plan)
{
  static const char planned[] =
      "id,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads,vocab,seq_len,"
      "grad_accum,pp,strategy,metric,value\n"
      "a-1,1,4,a100-sxm-40,nvlink3-switch,0,none,gpt,4,256,4,1000,128,16,2,zero1,peak_reserved_gib,"
      "1\n"
      "a-1,1,4,a100-sxm-40,nvlink3-switch,0,none,gpt,4,256,4,1000,128,16,2,zero1,"
      "peak_allocated_gib,1\n"
      "a-1,1,4,a100-sxm-40,nvlink3-switch,0,none,gpt,4,256,4,1000,128,16,2,zero1,fits,1\n";
  static const char last[] =
      "a-1,1,4,a100-sxm-40,nvlink3-switch,0,none,gpt,4,256,4,1000,128,16,2,zero1,step_time_s,1\n";
  g_autofree char               *replayed = g_strconcat (planned, last, NULL);
  const PredictOptions           options = { 0 };
  g_autoptr (TrainingValidation) plan = validate_training (load_text (planned), &options, 1);
  g_autoptr (TrainingValidation) run = validate_training (load_text (replayed), &options, 1);

  ck_assert_uint_eq (plan->n_failed + run->n_failed, 0);
  for (guint i = 0; i < plan->rows->len; i++)
    {
      ck_assert_double_gt (training_row_at (plan, i)->predicted, 0);
      ck_assert_double_eq_tol (training_row_at (plan, i)->predicted,
                               training_row_at (run, i)->predicted, 1e-9);
    }
}
END_TEST

/*
 * A framework that logs rank 0: the peak of the first stage, where the last one's logits, 256 x
 * 65536 in fp32 and more, fill most memory. Both planned and beside a row of speed.
 */
START_TEST (test_logged_rank)
{
#define LOGGED(framework, metric)                                                        \
  "a-1,1,4,a100-sxm-40,nvlink3-switch,0,none,gpt,4,256,4,65536,256,4,2,zero1," framework \
  "," metric ",1\n"
  static const char columns[] =
      "id,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads,vocab,seq_len,"
      "grad_accum,pp,strategy,framework,metric,value\n";
  g_autofree char *planned =
      g_strconcat (columns, LOGGED ("nanotron 2024-25", "peak_allocated_gib"), NULL);
  g_autofree char *replayed =
      g_strconcat (planned, LOGGED ("nanotron 2024-25", "step_time_s"), NULL);
  g_autofree char     *fullest = g_strconcat (columns, LOGGED ("", "peak_allocated_gib"), NULL);
  const PredictOptions options = { 0 };
  g_autoptr (TrainingValidation) plan = validate_training (load_text (planned), &options, 1);
  g_autoptr (TrainingValidation) run = validate_training (load_text (replayed), &options, 1);
  g_autoptr (TrainingValidation) other = validate_training (load_text (fullest), &options, 1);
  const double                   logits = 256.0 * 65536 * 4 / (1 << 30);

  ck_assert_uint_eq (plan->n_failed + run->n_failed + other->n_failed, 0);
  ck_assert_double_gt (training_row_at (other, 0)->predicted,
                       training_row_at (plan, 0)->predicted + logits);
  ck_assert_double_eq_tol (training_row_at (plan, 0)->predicted,
                           training_row_at (run, 0)->predicted, 1e-9);
}
END_TEST

/*
 * Behind the run of 10 those of 1, 2, 3 and 4 take as long, one after another; behind 9 there is 1,
 * then 2, and 6 is in the middle. Of equals the earlier goes first while they are the largest.
 */
START_TEST (test_order)
{
  static const double even[] = { 3, 10, 1, 4, 2 }, odd[] = { 6, 2, 9, 1 }, same[] = { 1, 1 };
  g_autofree guint   *a = run_order_new (even, 5), *b = run_order_new (odd, 4);
  g_autofree guint   *c = run_order_new (same, 2);
  static const guint  of_even[] = { 1, 2, 4, 0, 3 }, of_odd[] = { 2, 3, 1, 0 };

  ck_assert_mem_eq (a, of_even, sizeof of_even);
  ck_assert_mem_eq (b, of_odd, sizeof of_odd);
  ck_assert_uint_eq (c[0], 0);
  ck_assert_uint_eq (c[1], 1);
  g_free (run_order_new (NULL, 0));
}
END_TEST

/* Large runs that outweigh the small ones follow one another when these are over. */
START_TEST (test_order_of_large_runs)
{
  static const double works[] = { 8, 8, 8, 1 };
  static const guint  expected[] = { 0, 3, 2, 1 };
  g_autofree guint   *order = run_order_new (works, 4);

  ck_assert_mem_eq (order, expected, sizeof expected);
}
END_TEST

/*
 * The engine behind it: a run with two figures is simulated once, the same in one thread and in
 * three, and a bad one says why.
 */
START_TEST (test_prediction)
{
  static const char text[] = HEADER RUN ("a-01", "1", "1", "", "step_time_s", "0.01", "test")
      RUN ("a-01", "1", "1", "", "fits", "1", "test")
          RUN ("a-02", "2", "1", "", "step_time_s", "0.01", "test")
              RUN ("a-03", "2", "3", "", "step_time_s", "0.01", "test");
  const PredictOptions           options = { 0 };
  g_autoptr (TrainingValidation) one = validate_training (load_text (text), &options, 1);
  g_autoptr (TrainingValidation) three = validate_training (load_text (text), &options, 3);
  g_autoptr (GString)            first = g_string_new (NULL), second = g_string_new (NULL);

  ck_assert_uint_eq (one->n_simulated, 3);
  ck_assert_uint_eq (one->n_failed, 1);
  ck_assert_ptr_null (training_row_at (one, 0)->reason);
  ck_assert_double_gt (training_row_at (one, 0)->predicted, 0);
  ck_assert_double_eq (training_row_at (one, 1)->predicted, 1);
  ck_assert_double_eq (training_row_at (one, 0)->memory_share,
                       training_row_at (one, 1)->memory_share);
  ck_assert_ptr_nonnull (training_row_at (one, 3)->reason);
  report_answer (&training_rows, one, FORMAT_JSON, first);
  report_answer (&training_rows, three, FORMAT_JSON, second);
  ck_assert_str_eq (first->str, second->str);
}
END_TEST

/*
 * Releases that have one profile are one run and keep their names; one whose name implies a setting
 * of its own is another, as is a release with another profile.
 */
START_TEST (test_releases_of_one_profile)
{
  static const char text[] =
      "id,node,nodes,arch,n_layers,d_model,n_heads,d_ff,vocab,seq_len,strategy,framework,metric,"
      "value,options\n"
#define RELEASE_ROW(id, release, options) \
  id ",dgx-a100,1,llama,2,256,4,512,1000,128,zero1," release ",step_time_s,1," options "\n"
      RELEASE_ROW ("a-1", "megatron-bridge 25.09 (megatron-core)", "")
          RELEASE_ROW ("a-2", "megatron-bridge 25.11 (megatron-core)", "")
              RELEASE_ROW ("a-3", "megatron-bridge 25.09 (megatron-core)", "peft=lora")
                  RELEASE_ROW ("a-4", "megatron-bridge 25.11 (megatron-core)", "peft=lora")
                      RELEASE_ROW ("a-5", "megatron-lm 2021", "");
  const PredictOptions           options = { 0 };
  g_autoptr (TrainingValidation) self = validate_training (load_text (text), &options, 1);

  ck_assert_uint_eq (self->n_failed, 0);
  ck_assert_uint_eq (self->n_simulated, 4);
  ck_assert_double_eq (training_row_at (self, 0)->predicted, training_row_at (self, 1)->predicted);
  ck_assert_str_eq (setting_of (self->table, 1, "training.framework"),
                    "megatron-bridge 25.11 (megatron-core)");
  ck_assert_str_ne (training_row_at (self, 0)->measured->configuration,
                    training_row_at (self, 4)->measured->configuration);
}
END_TEST

/*
 * Columns of measured networks change nothing by themselves, neither predictions nor which rows are
 * one run; used, they are `cluster.measured`, but on one node. A network that was measured at half
 * of what it is predicted makes steps longer.
 */
START_TEST (test_measured_networks)
{
  static const char columns[] =
      "id,node,nodes,arch,n_layers,d_model,n_heads,vocab,seq_len,strategy,metric,value,"
      "all_reduce_bus_gbs,all_gather_bus_gbs,reduce_scatter_bus_gbs\n";
#define MEASURED_ROW(id, nodes, metric, networks) \
  id ",dgx-a100," nodes ",gpt,2,2048,16,1000,128,fsdp2," metric ",1," networks "\n"
  g_autofree char *text = g_strconcat (columns, MEASURED_ROW ("a-1", "4", "step_time_s", "20,,"),
                                       MEASURED_ROW ("a-2", "4", "fits", ",19,21"),
                                       MEASURED_ROW ("a-3", "1", "step_time_s", "230,,"),
                                       MEASURED_ROW ("a-4", "4", "step_time_s", "x,,"),
                                       MEASURED_ROW ("a-5", "4", "step_time_s", "900,,"), NULL);
  const PredictOptions           options = { 0 };
  TrainingTable                 *used = load_text (text);
  g_autoptr (TrainingValidation) blind = validate_training (load_text (text), &options, 1);
  g_autoptr (TrainingValidation) with = NULL;

  ck_assert_uint_eq (blind->n_simulated, 2); /* four nodes, and one */
  ck_assert_uint_eq (blind->n_failed, 1);
  ck_assert_ptr_nonnull (strstr (training_row_at (blind, 3)->reason, "all_reduce_bus_gbs"));
  ck_assert_double_eq (training_row_at (blind, 4)->predicted,
                       training_row_at (blind, 0)->predicted);
  ck_assert_ptr_null (training_row_at (blind, 0)->measured->network);
  training_table_use_networks (used);
  with = validate_training (used, &options, 1);
  ck_assert_uint_eq (used->n_networks, 3);
  ck_assert_uint_eq (with->n_failed, 2);
  ck_assert_str_eq (training_row_at (with, 0)->measured->network, "all_reduce 1GiB 20 GB/s");
  ck_assert_str_eq (training_row_at (with, 1)->measured->network,
                    "all_gather 1GiB 19 GB/s, reduce_scatter 1GiB 21 GB/s");
  ck_assert_double_gt (training_row_at (with, 0)->predicted,
                       1.5 * training_row_at (blind, 0)->predicted);
  ck_assert_double_eq (training_row_at (with, 2)->predicted, training_row_at (blind, 2)->predicted);
  ck_assert_ptr_nonnull (strstr (training_row_at (with, 4)->reason, "'measured'"));
}
END_TEST

SUITE_MAIN (validate_training)
{
  Suite *suite = suite_create ("validate training");
  TCase *tests = tcase_create ("validate training");

  tcase_add_test (tests, test_tau);
  tcase_add_test (tests, test_ranking_of_strategies);
  tcase_add_test (tests, test_regret);
  tcase_add_test (tests, test_source);
  tcase_add_test (tests, test_summary);
  tcase_add_test (tests, test_fits);
  tcase_add_test (tests, test_by_nodes);
  tcase_add_test (tests, test_trend_of_many_nodes);
  tcase_add_test (tests, test_networks);
  tcase_add_test (tests, test_slow_runs);
  tcase_add_test (tests, test_goals_of_memory);
  tcase_add_test (tests, test_bad_goals);
  tcase_add_test (tests, test_mapping);
  tcase_add_test (tests, test_framework);
  tcase_add_test (tests, test_fp8_words);
  tcase_add_test (tests, test_own_framework);
  tcase_add_test (tests, test_tokens);
  tcase_add_test (tests, test_plan);
  tcase_add_test (tests, test_logged_rank);
  tcase_add_test (tests, test_order);
  tcase_add_test (tests, test_order_of_large_runs);
  tcase_add_test (tests, test_prediction);
  tcase_add_test (tests, test_releases_of_one_profile);
  tcase_add_test (tests, test_measured_networks);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
