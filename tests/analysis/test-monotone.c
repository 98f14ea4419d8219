/*
 * Better hardware makes no step longer, and more work none shorter: of random scenarios figures of
 * the hardware are improved, memory among them, nodes are doubled, and micro-batch, sequence and
 * recomputation grow, one at a time.
 *
 * Each change is judged twice. *Apart* each op takes its own time (engine_set_apart), so a step is
 * a longest path and the rules hold to rounding; but where the collective library runs something
 * otherwise (another algorithm, protocol, number of channels, other cards): that is its choice, by
 * its own tables, and not always the faster one. *Together*, as scenarios are predicted, ops share
 * what they run on and collectives wait for SMs, and one that is through sooner may meet another
 * one: the anomalies of scheduling (Graham, SIAM J. Appl. Math. 17, 1969). The first judgement
 * tells them from faults; here they are counted and bounded.
 *
 * Not asserted: by how much a choice of the library is the slower one.
 */
#include <stdio.h>

#include "../cases.h"
#include "../replay/fixture.h"
#include "analysis/variation.h"

#define N_CASES        500
#define EXACT          1e-6 /* of a step, apart: picoseconds that each op is rounded to */
#define SEEN           1e-3 /* of a step, together: what counts as an anomaly */
#define MOST           0.02 /* of a step: the largest anomaly */
#define OFTEN          0.01 /* of all changes: how many are anomalies */
#define OFTEN_CHOSEN   0.01 /* of all changes: how many are choices of the library */
#define SHARE_OF_TURNS 3    /* one figure in so many is changed in a case */

typedef enum
{
  JUDGED_GOOD,
  JUDGED_FAULT,  /* worse, apart, by the same algorithms */
  JUDGED_CHOICE, /* worse, apart: the library runs something otherwise */
  JUDGED_MEETS,  /* worse together only */
  JUDGED_N,
} Judgement;

typedef struct
{
  guint       seed;
  Scenario   *scenario;
  Prediction *together, *apart;
  guint       n[JUDGED_N];     /* of all cases */
  double      worst[JUDGED_N]; /* part of a step */
} Trial;

/* NULL where there is no such scenario, or nothing that is worth comparing. */
static Prediction *
predict_as (const Trial *self, const Variation *variation, gboolean apart)
{
  const PredictOptions   options = { .replay.apart = apart, .no_band = TRUE };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) prediction =
      variation != NULL ? predict_varied (self->scenario, NULL, variation, 1, &options, diags)
                        : predict (self->scenario, &options, diags, NULL);

  if (prediction == NULL || !prediction->steady || !prediction->fits)
    return NULL;
  return g_steal_pointer (&prediction);
}

static gboolean
runs_alike (const Prediction *a, const Prediction *b)
{
  if (a->traffic->len != b->traffic->len)
    return FALSE;
  for (guint i = 0; i < a->traffic->len; i++)
    if (g_array_index (a->traffic, TrafficUse, i).ways
        != g_array_index (b->traffic, TrafficUse, i).ways)
      return FALSE;
  return TRUE;
}

/* By how much of a token's time BETTER takes longer; negative: it does not. */
static double
setback (const Prediction *worse, const Prediction *better, gboolean a_token)
{
  double tokens = a_token ? worse->tokens_per_step / better->tokens_per_step : 1;

  return better->step_time_s / worse->step_time_s * tokens - 1;
}

/*
 * WHAT, as VARIATION says, makes it better, or (WORK) more to do. A_TOKEN: the scenario's GPUs are
 * others, and what counts is the time of a token.
 */
static void
judge (Trial *self, const char *what, const Variation *variation, gboolean work, gboolean a_token)
{
  g_autoptr (Prediction) together = predict_as (self, variation, FALSE);
  g_autoptr (Prediction) apart = together != NULL ? predict_as (self, variation, TRUE) : NULL;
  Judgement              judged = JUDGED_GOOD;
  double                 alone, met;

  if (apart == NULL)
    return;
  alone = work ? setback (apart, self->apart, a_token) : setback (self->apart, apart, a_token);
  met = work ? setback (together, self->together, a_token)
             : setback (self->together, together, a_token);
  if (alone > EXACT)
    judged = runs_alike (self->apart, apart) ? JUDGED_FAULT : JUDGED_CHOICE;
  else if (met > SEEN)
    judged = JUDGED_MEETS;
  if (judged != JUDGED_GOOD)
    fprintf (stderr, "# case %u, %s, %s: %+.3f %% of a step, apart %+.4f %%\n", self->seed,
             self->together->strategy, what, 100 * met, 100 * alone);
  self->n[judged]++;
  self->worst[judged] = MAX (self->worst[judged], MAX (met, alone));
}

/* ---- hardware -------------------------------------------------------------------------------- */

static void
judge_figures (Trial *self, GRand *rand)
{
  static const double  factors[] = { 1.2, 2 };
  g_autoptr (DiagList) diags = diag_list_new ();
  const PredictOptions options = { 0 };
  g_autoptr (GArray)   figures = scenario_figures (self->scenario, &options, diags);

  for (guint i = 0; i < figures->len; i++)
    {
      const HardwareFigure *figure = &g_array_index (figures, HardwareFigure, i);
      const gint            better = hardware_figure_better (figure);
      const double          by = factors[g_rand_int_range (rand, 0, G_N_ELEMENTS (factors))];
      Variation             change = { .figure = figure };

      if (better == 0 || g_rand_int_range (rand, 0, SHARE_OF_TURNS) > 0)
        continue;
      change.value =
          hardware_figure_clamp (figure, better > 0 ? figure->value * by : figure->value / by);
      judge (self, figure->name, &change, FALSE, FALSE);
    }
}

/*
 * Twice the nodes do twice the work, in no more time a token than before: where each rank is a data
 * rank, so that no group comes to span what it did not, and under one switch.
 */
static void
judge_nodes (Trial *self)
{
  const ClusterOptions *cluster = &self->scenario->cluster;
  const MeshOptions    *mesh = &self->scenario->mesh;
  g_autofree char      *twice = g_strdup_printf ("%" G_GINT64_FORMAT, 2 * cluster->nodes);
  const Variation       change = { .key = "cluster.nodes", .text = twice };

  if (cluster->name == NULL && cluster->sites == NULL && cluster->leaf_nodes == 0
      && cluster->nodes > 1 && mesh->tp * mesh->cp * mesh->pp * MAX (mesh->ep, 1) == 1)
    judge (self, "twice the nodes", &change, FALSE, TRUE);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void
judge_more (Trial *self, const char *key, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  const Variation  change = { .key = key, .text = text };

  judge (self, key, &change, TRUE, FALSE);
}

static void
judge_work (Trial *self)
{
  static const char *const checkpointing[] = {
    [CHECKPOINT_NONE] = "none", [CHECKPOINT_SELECTIVE] = "selective", [CHECKPOINT_FULL] = "full"
  };
  const TrainingOptions *training = &self->scenario->training;

  judge_more (self, "training.micro_batch", training->micro_batch + 1);
  judge_more (self, "training.seq_len", training->seq_len + 256);
  judge_more (self, "training.seq_len", training->seq_len * 2);
  for (gint more = training->checkpointing + 1; more <= CHECKPOINT_FULL; more++)
    {
      const Variation change = { .key = "training.activation_checkpointing",
                                 .text = checkpointing[more] };

      judge (self, change.text, &change, TRUE, FALSE);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void
judge_case (Trial *self, ProfileSet *profiles, guint seed)
{
  g_autoptr (GRand)    rand = g_rand_new_with_seed (seed);
  g_autoptr (Scenario) scenario =
      seed % 2 == 0 ? fixture_random (rand, profiles) : fixture_random_mesh (rand, seed, profiles);
  g_autoptr (Prediction) together = NULL, apart = NULL;

  self->seed = seed;
  self->scenario = scenario;
  self->together = together = predict_as (self, NULL, FALSE);
  self->apart = apart = together != NULL ? predict_as (self, NULL, TRUE) : NULL;
  if (apart == NULL)
    return;
  ck_assert_double_le (apart->step_time_s, together->step_time_s * (1 + EXACT));
  judge_figures (self, rand);
  judge_nodes (self);
  judge_work (self);
}

START_TEST (test_monotone)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const guint            n = cases_of (N_CASES);
  Trial                  trial = { 0 };
  guint                  all = 0;

  for (guint i = 0; i < n; i++)
    judge_case (&trial, profiles, i);
  for (Judgement j = 0; j < JUDGED_N; j++)
    all += trial.n[j];
  fprintf (stderr,
           "# %u changes: %u worse as the library chooses (%.2f %% at most), %u as ops meet (%.2f "
           "%%)\n",
           all, trial.n[JUDGED_CHOICE], 100 * trial.worst[JUDGED_CHOICE], trial.n[JUDGED_MEETS],
           100 * trial.worst[JUDGED_MEETS]);
  ck_assert_uint_gt (all, 10 * n);
  ck_assert_uint_eq (trial.n[JUDGED_FAULT], 0);
  ck_assert_double_le (trial.worst[JUDGED_MEETS], MOST);
  ck_assert_double_le (trial.n[JUDGED_MEETS], OFTEN * all + 1);
  ck_assert_double_le (trial.n[JUDGED_CHOICE], OFTEN_CHOSEN * all + 1);
}
END_TEST

int
main (void)
{
  Suite *suite = suite_create ("monotone");
  TCase *tcase = tcase_create ("random scenarios");

  tcase_add_test (tcase, test_monotone);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
