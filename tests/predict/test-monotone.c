/*
 * Better hardware makes no step longer, and more work none shorter: of random scenarios figures of
 * the hardware are improved, memory among them, nodes are doubled, and micro-batch, sequence and
 * recomputation grow, one at a time.
 *
 * Each change is judged twice. *Apart* each op takes its own time (engine_set_apart), so a step is
 * a longest path and the rules hold to rounding. Where one does not, each op that takes longer is
 * looked at: it must be a collective that the library runs otherwise, by another algorithm,
 * protocol or number of channels, over other links, or with parts of no whole 16 bytes (the tests
 * better-cards and alignment have these on the part alone), and its time is bounded; and the step
 * is longer by no more than all of them are. *Together*, as scenarios are predicted, ops share what
 * they run on and collectives wait for SMs, and one that is through sooner may meet another one:
 * the anomalies of scheduling (Graham, SIAM J. Appl. Math. 17, 1969).
 * The first judgement tells them from faults; here they are counted and bounded.
 */
#include <stdio.h>

#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"
#include "hardware/sites/sites.h"
#include "predict/variation.h"

/*
 * Times as long that a collective takes at most which is run otherwise: NCCL chooses by tables of
 * its own, and LL sends two bytes for one. Parts that become unaligned slow a link down, too.
 */
#define CHOSEN 2.0

#define N_CASES        500
#define EXACT          1e-6  /* of a step, apart: picoseconds that each op is rounded to */
#define SEEN           1e-3  /* of a step, together: what counts as an anomaly */
#define MOST           0.02  /* of a step: the largest anomaly */
#define OFTEN          0.002 /* of all changes: how many are anomalies */
#define CORRECTED      1.06  /* times as long: less of a product near measured ones, at most */
#define TICKS          1e-11 /* s: rounding of an op */
#define OFTEN_CHOSEN   0.002 /* of all changes: how many are choices of the library */
#define SHARE_OF_TURNS 3     /* one figure in so many is changed in a case */

typedef enum
{
  JUDGED_GOOD,
  JUDGED_FAULT,  /* worse, apart, by ops that run as before */
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
      variation != NULL ? predict_varied (self->scenario, NULL, variation, 1, &options)
                        : predict (self->scenario, &options, diags, NULL);

  if (prediction == NULL || !prediction->steady || !prediction->fits)
    return NULL;
  return g_steal_pointer (&prediction);
}

/* The same with its replay, apart; PROFILES must outlive it. NULL as above. */
static Replay *
replay_of (const Trial *self, const Variation *variation, ProfileSet **profiles)
{
  const gboolean option =
      variation != NULL
      && (variation->figure == NULL || g_str_equal (variation->figure->kind, "cluster"));
  FigureChange         change = { 0 };
  PredictOptions       options = { .replay.apart = TRUE, .no_band = TRUE, .changes = &change };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) varied = NULL;
  Replay              *replay = NULL;

  if (option)
    {
      const HardwareFigure *figure = variation->figure;
      g_autofree char      *text =
          figure != NULL ? number_format_exact (variation->value) : g_strdup (variation->text);
      const ScenarioOverride one = { figure != NULL ? figure->name : variation->key, text, "test" };

      varied = scenario_with (self->scenario, NULL, &one, 1, diags);
    }
  else if (variation != NULL)
    {
      change = (FigureChange){ .kind = variation->figure->kind,
                               .id = variation->figure->id,
                               .key = variation->figure->key,
                               .value = variation->value };
      options.n_changes = 1;
    }
  prediction_free (predict_with_replay (option ? varied : self->scenario, &options, &replay,
                                        profiles, diags, NULL));
  return replay;
}

/* What an op is in any replay of its schedule: newly allocated. */
static char *
place_of (const Replay *replay, OpId op)
{
  const ReplayOp   what = replay_op (replay, op);
  g_autofree char *label = replay_op_label (replay, op);

  return g_strdup_printf ("%u %u %u %s", replay_rank (replay, what.rank)->rank, what.step,
                          what.index, label);
}

/* Ops of the last period that was replayed: their durations, s, by place. */
static GHashTable *
durations_of (const Replay *replay)
{
  GHashTable   *durations = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  const Engine *engine = replay_engine (replay);

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      double         *seconds = g_new (double, 1);

      *seconds = sim_time_to_seconds (record->end - record->begin);
      g_hash_table_replace (durations, place_of (replay, op), seconds);
    }
  return durations;
}

/* How the library runs collectives of OP's communicator and kind; NULL: it is none. */
static const GArray *
ways_of (const GArray *traffic, const Replay *replay, OpId op)
{
  const ScheduleItem *item = replay_op (replay, op).item;

  if (item->kind != ITEM_COLLECTIVE && item->kind != ITEM_P2P)
    return NULL;
  for (guint i = 0; i < traffic->len; i++)
    {
      const ReplayTraffic *use = &g_array_index (traffic, ReplayTraffic, i);

      if (use->comm == item->ref
          && use->kind
                 == (item->kind == ITEM_P2P ? COLLECTIVE_SEND_RECV
                                            : (CollectiveKind) item->collective))
        return use->ways;
    }
  return NULL;
}

/* Whether A and B list the same algorithms, protocols, channels, alignments and links. */
static gboolean
are_alike (const GArray *a, const GArray *b)
{
  if (a->len != b->len)
    return FALSE;
  for (guint i = 0; i < a->len; i++)
    {
      const TrafficWay *x = &g_array_index (a, TrafficWay, i),
                       *y = &g_array_index (b, TrafficWay, i);

      if (x->algorithm != y->algorithm || x->protocol != y->protocol || x->channels != y->channels
          || x->unaligned != y->unaligned || x->resources != y->resources || x->links != y->links)
        return FALSE;
    }
  return TRUE;
}

/* Bytes of WAYS whose parts are no whole 16 bytes. */
static double
unaligned_bytes (const GArray *ways)
{
  double bytes = 0;

  for (guint i = 0; i < ways->len; i++)
    bytes += g_array_index (ways, TrafficWay, i).unaligned
                 ? g_array_index (ways, TrafficWay, i).bytes
                 : 0;
  return bytes;
}

/*
 * How many times as long a collective of REPLAY may take that is run in ways TO instead of FROM.
 * Between sites there is no bound: the library weighs cards, and knows nothing of the links there.
 */
static double
most_of_choice (const Replay *replay, const GArray *from, const GArray *to)
{
  const Cluster     *cluster = replay_cluster (replay);
  const LinkProfile *nic = cluster_nic_profile (cluster, 0);
  double             slowdown = cluster_intra_profile (cluster, 0)->unaligned_slowdown.value;

  if (cluster_n_sites (cluster) > 0)
    return G_MAXDOUBLE;
  if (unaligned_bytes (to) <= unaligned_bytes (from))
    return CHOSEN;
  if (nic != NULL)
    slowdown = MAX (slowdown, nic->unaligned_slowdown.value);
  return CHOSEN * MAX (slowdown, 1);
}

/*
 * A product near measured ones is corrected by their mean, which is another where there is more of
 * it, while its waves may be as many: it may take a little less.
 */
static gboolean
is_corrected (const Replay *replay, OpId op)
{
  const ReplayOp what = replay_op (replay, op);
  const guint    gpu = replay_rank (replay, what.rank)->rank;

  return what.item->kind == ITEM_KERNEL && what.item->kernel->kind == KERNEL_MATMUL
         && cluster_gpu_profile (replay_cluster (replay), gpu)->matmul_curve != NULL;
}

/*
 * On a path through ops of which each takes its own time what they take longer adds up: the last
 * period of MORE takes LIMIT times that of LESS and LONGER, what its ops take beyond that, at most.
 */
static void
check_period (const Replay *less, const Replay *more, double limit, double longer)
{
  const double seconds = sim_time_to_seconds (replay_period (more)),
               most = limit * sim_time_to_seconds (replay_period (less)) + longer;

  ck_assert_msg (seconds <= most * (1 + EXACT), "a period of %g s, by what its ops take %g s",
                 seconds, most);
}

/*
 * Whether all ops that take longer in MORE than in LESS, and LIMIT times as long, are collectives
 * that the library runs otherwise, in a time that is bounded, and there are some.
 */
static gboolean
is_chosen (const Replay *less, const Replay *more, double limit)
{
  g_autoptr (GHashTable) before = durations_of (less);
  g_autoptr (GArray)     ways = replay_bound_traffic (replay_bound (less), WHOLE_PERIOD);
  g_autoptr (GArray)     other_ways = replay_bound_traffic (replay_bound (more), WHOLE_PERIOD);
  const Engine          *engine = replay_engine (more);
  const guint            last = replay_op (more, engine_n_ops (engine) - 1).period;
  double                 longer = 0; /* s, of the last period's ops */
  guint                  n = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord  *record = engine_op_record (engine, op);
      g_autofree char *place = place_of (more, op);
      const double    *known = g_hash_table_lookup (before, place);
      const GArray    *to = ways_of (other_ways, more, op), *from = ways_of (ways, more, op);
      const double     most = limit * (is_corrected (more, op) ? CORRECTED : 1);
      const double     seconds = sim_time_to_seconds (record->end - record->begin);
      const gboolean   chosen = from != NULL && to != NULL && !are_alike (from, to);

      if (replay_op (more, op).period == last)
        longer += MAX (seconds - (known != NULL ? limit * *known : 0), 0);
      if (known != NULL && seconds <= most * *known + TICKS)
        continue;
      n++;
      if (chosen
          && (known == NULL || seconds <= most * *known * most_of_choice (more, from, to) + TICKS))
        continue;
      if (chosen)
        fprintf (stderr, "# '%s' is run otherwise, and takes %.2f times as long\n", place,
                 seconds / *known);
      else
        fprintf (stderr, "# '%s' takes longer, and is run as before\n", place);
      return FALSE;
    }
  check_period (less, more, limit, longer);
  return n > 0;
}

/* Whether what is worse with VARIATION is so by the library's choice. */
static gboolean
is_choice (const Trial *self, const Variation *variation, gboolean work, double limit)
{
  ProfileSet *profiles[2] = { NULL, NULL };
  Replay     *with = replay_of (self, variation, &profiles[0]);
  Replay     *without = replay_of (self, NULL, &profiles[1]);
  gboolean    chosen = work ? is_chosen (with, without, limit) : is_chosen (without, with, limit);

  replay_free (with);
  replay_free (without);
  profile_set_free (profiles[0]);
  profile_set_free (profiles[1]);
  return chosen;
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
 * twice as many, and what counts is the time of a token.
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
    judged = is_choice (self, variation, work, a_token ? 2 : 1) ? JUDGED_CHOICE : JUDGED_FAULT;
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

/* Parts that become unaligned are copied over PCIe element by element, as the library does. */
START_TEST (test_unaligned)
{
  static const guint     seeds[] = { 170, 370 };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  Trial                  trial = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (seeds); i++)
    judge_case (&trial, profiles, seeds[i]);
  ck_assert_uint_eq (trial.n[JUDGED_CHOICE], G_N_ELEMENTS (seeds));
  ck_assert_uint_eq (trial.n[JUDGED_FAULT], 0);
}
END_TEST

SUITE_MAIN (monotone)
{
  Suite *suite = suite_create ("monotone");
  TCase *tcase = tcase_create ("random scenarios");

  tcase_add_test (tcase, test_monotone);
  tcase_add_test (tcase, test_unaligned);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
