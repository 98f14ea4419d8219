/*
 * What the search for what fits finds: of small models on the hand-made hardware, whose GPU has as
 * much memory as a case says. Of each case the options that save it are known. Also: budgets are
 * kept, and a search that they end says so; threads change nothing. Not asserted: step times, and
 * that whatever takes several levers is found.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <signal.h>

#include "../suite.h"
#include "base/intern.h"
#include "decide/explore/change-private.h"
#include "decide/explore/remedies.h"
#include "decide/plan/planned.h"
#include "replay/bind/plan-memory.h"

#define MAX_KEYS 40

typedef struct
{
  const char *hbm;            /* of a GPU: "1.5 GB" */
  const char *keys[MAX_KEYS]; /* and values, after those of `small` */
} Case;

/*
 * Five heads, one layer, odd sequences and an option of the strategy's own in each case: neither
 * tensor, pipeline or context ranks nor another strategy is possible.
 */
static const char *const small[] = {
  "cluster.node",
  "hand-pair",
  "cluster.nodes",
  "2",
  "model.arch",
  "llama",
  "model.n_layers",
  "1",
  "model.d_model",
  "800",
  "model.n_heads",
  "5",
  "model.d_ff",
  "2000",
  "model.vocab",
  "500",
  "training.seq_len",
  "401",
  "memory.allocator",
  "ideal",
  NULL,
};

typedef struct
{
  char          *folder, *profiles;
  Scenario      *scenario;
  Prediction    *prediction; /* of the scenario as it is */
  PredictOptions options;
} Fixture;

static void
write_gpu (Fixture *self, const char *hbm)
{
  g_autofree char *gpus = g_build_filename (self->folder, "gpu", NULL);
  g_autofree char *file = g_build_filename (gpus, "hand.yaml", NULL);
  g_autofree char *text = g_strdup_printf ("extends: hand\nhbm_bytes: { value: %s, source: "
                                           "\"by definition\", confidence: datasheet }\n",
                                           hbm);

  ck_assert_int_eq (g_mkdir_with_parents (gpus, 0700), 0);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
}

static guint
add_keys (ScenarioOverride *list, guint n, const char *const *keys)
{
  for (; *keys != NULL; keys += 2)
    {
      ck_assert_uint_lt (n, MAX_KEYS);
      list[n++] = (ScenarioOverride){ keys[0], keys[1], "test" };
    }
  return n;
}

static void
fixture_start (Fixture *self, const Case *case_)
{
  ScenarioOverride      list[MAX_KEYS];
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) all = NULL;
  guint                 n = add_keys (list, add_keys (list, 0, small), case_->keys);

  *self = (Fixture){ .folder = g_dir_make_tmp ("shardsim-remedies-XXXXXX", NULL) };
  write_gpu (self, case_->hbm);
  self->profiles = g_strdup_printf ("%s" G_SEARCHPATH_SEPARATOR_S "%s/docs/worked/hwprofiles",
                                    self->folder, g_getenv ("SHARDSIM_SOURCE_ROOT"));
  self->options.profile_dir = self->profiles;
  all = scenario_load (NULL, NULL, list, n, diags);
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  self->scenario = scenario_copy (g_ptr_array_index (all, 0));
  self->prediction = predict (self->scenario, &self->options, diags, &error);
  ck_assert_msg (self->prediction != NULL, "%s", diag_list_first_message (diags));
}

static void
fixture_end (Fixture *self)
{
  g_autofree char *gpus = g_build_filename (self->folder, "gpu", NULL);
  g_autofree char *file = g_build_filename (gpus, "hand.yaml", NULL);

  ck_assert_int_eq (g_remove (file), 0);
  ck_assert_int_eq (g_rmdir (gpus), 0);
  ck_assert_int_eq (g_rmdir (self->folder), 0);
  prediction_free (self->prediction);
  scenario_free (self->scenario);
  g_free (self->profiles);
  g_free (self->folder);
}

static gint
compare_words (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Options of all remedies, sorted, joined by " | ". */
static char *
found_options (const Remedies *remedies)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  for (guint i = 0; i < remedies->found->len; i++)
    g_ptr_array_add (words, ((const Remedy *) g_ptr_array_index (remedies->found, i))->options);
  g_ptr_array_sort (words, compare_words);
  g_ptr_array_add (words, NULL);
  return g_strjoinv (" | ", (char **) words->pdata);
}

/* What is found for CASE_, which does not fit, within BUDGET. */
static Remedies *
search (Fixture *self, const Case *case_, const RemedyBudget *budget)
{
  fixture_start (self, case_);
  ck_assert (!self->prediction->fits);
  return remedies_find (self->scenario, NULL, self->prediction, &self->options, budget);
}

/* As many plans as there are changes of one lever: others come with an axis that has ranks. */
static RemedyBudget
one_lever (const Case *case_)
{
  RemedyBudget       budget = remedy_default_budget;
  Fixture            fixture;
  g_autoptr (GArray) moves = NULL;

  fixture_start (&fixture, case_);
  moves = lever_moves (fixture.scenario, NULL, fixture.prediction->n_gpus, LEVER_REMEDY);
  budget.max_planned = 0;
  for (guint i = 0; i < moves->len; i++)
    budget.max_planned += g_array_index (moves, Move, i).needs == NULL;
  fixture_end (&fixture);
  return budget;
}

static const struct
{
  const char *wanted;
  Case        case_;
} one_lever_cases[] = {
  /* Activations: half of them fit, and checkpointing is on. */
  { "--micro-batch 2 --grad-accum 2",
    { "1 GB",
      { "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true", "training.micro_batch", "4",
        "training.seq_len", "6001", "training.activation_checkpointing", "full", "training.compile",
        "true", NULL } } },
  /* Activations of one sequence, of seven layers. */
  { "--activation-checkpointing selective --recompute-modules core_attn,layernorm,mlp",
    { "1 GB",
      { "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true", "training.seq_len", "6001",
        "model.n_layers", "7", NULL } } },
  /* Inputs of twelve recomputed blocks, which only leave the GPU if all of each is recomputed. */
  { "--activation-checkpointing full --cpu-checkpointing=true",
    { "1 GB",
      { "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true", "training.seq_len", "24001",
        "model.n_layers", "12", "model.d_ff", "400", "training.attention", "flash2",
        "training.compile", "true", NULL } } },
  /* State, 16 bytes a parameter of 117 million, over two GPUs; the host has no room for it. */
  { "--set strategy.shard=all",
    { "1.2 GB",
      { "strategy.name", "fsdp2", "strategy.shard", "2", "model.d_model", "3000", "model.d_ff",
        "9000", "cluster.dram_bytes", "1 GB", "training.activation_checkpointing", "full",
        NULL } } },
  /* The same state on every GPU: ten heads and even sequences allow for tensor ranks. */
  { "--tp 2 --sp 1 --grad-accum 2",
    { "1.6 GB",
      { "strategy.name", "ddp", "strategy.overlap_comm", "true", "model.n_heads", "10",
        "training.seq_len", "402", "model.d_model", "3000", "model.d_ff", "9000",
        "training.activation_checkpointing", "full", NULL } } },
  /* All of seven blocks are recomputed, not two. */
  { "--activation-checkpointing full --recompute-layers 0",
    { "1 GB",
      { "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true", "training.seq_len", "9001",
        "cluster.nodes", "1", "model.n_layers", "7", "training.activation_checkpointing", "full",
        "training.recompute_layers", "2", "training.attention", "flash2", "training.compile",
        "true", NULL } } },
  /* The state in host memory, all of it on each node: half of it has room. */
  { "--set strategy.shard=all",
    { "1.2 GB",
      { "strategy.name", "fsdp2", "strategy.cpu_offload", "true", "strategy.shard", "2",
        "model.d_model", "3000", "model.d_ff", "9000", "cluster.dram_bytes", "1.5 GB",
        "training.activation_checkpointing", "full", NULL } } },
};

/* The lever that saves a case is found, and nothing else, which would not fit. */
START_TEST (test_one_lever)
{
  RemedyBudget      budget = one_lever (&one_lever_cases[_i].case_);
  Fixture           fixture;
  Remedies         *remedies = search (&fixture, &one_lever_cases[_i].case_, &budget);
  g_autofree char  *found = found_options (remedies);
  const Prediction *prediction;

  ck_assert_str_eq (found, one_lever_cases[_i].wanted);
  prediction = ((const Remedy *) g_ptr_array_index (remedies->found, 0))->prediction;
  ck_assert (prediction->fits);
  ck_assert_double_eq_tol (prediction->tokens_per_step, fixture.prediction->tokens_per_step, 1e-6);
  ck_assert_ptr_null (remedies->nearest);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* A plan knows that host memory overflows: only what fits there is simulated. */
START_TEST (test_host_is_planned)
{
  const Case  *case_ = &one_lever_cases[G_N_ELEMENTS (one_lever_cases) - 1].case_;
  RemedyBudget budget = one_lever (case_);
  Fixture      fixture;
  Remedies    *remedies = search (&fixture, case_, &budget);

  ck_assert (fixture.prediction->hbm.fits);
  ck_assert (!fixture.prediction->host.fits);
  ck_assert_uint_eq (remedies->n_simulated, 1);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* State and activations: halving either leaves too much. */
static const Case two_levers = {
  "1.3 GB",
  { "strategy.name", "ddp", "strategy.overlap_comm", "true", "training.micro_batch", "4",
    "model.n_heads", "10", "training.seq_len", "3002", "model.d_model", "3000", "model.d_ff",
    "6000", "training.activation_checkpointing", "full", NULL },
};

static gboolean
has_options (const Remedies *remedies, const char *options)
{
  for (guint i = 0; i < remedies->found->len; i++)
    if (g_str_equal (((const Remedy *) g_ptr_array_index (remedies->found, i))->options, options))
      return TRUE;
  return FALSE;
}

START_TEST (test_two_levers)
{
  RemedyBudget budget = one_lever (&two_levers);
  Fixture      fixture;
  Remedies    *remedies = search (&fixture, &two_levers, &budget);

  ck_assert_uint_eq (remedies->found->len, 0); /* one does not do */
  remedies_free (remedies);
  fixture_end (&fixture);
  remedies = search (&fixture, &two_levers, &remedy_default_budget);
  ck_assert (has_options (remedies, "--micro-batch 1 --tp 2 --sp 1 --grad-accum 8"));
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* The state alone is twice the memory, and nothing divides it: the nearest is named. */
START_TEST (test_nothing)
{
  static const Case case_ = {
    "1 GB",
    { "strategy.name", "ddp", "strategy.overlap_comm", "true", "model.d_model", "3000",
      "model.d_ff", "9000", "training.activation_checkpointing", "full", NULL },
  };
  Fixture   fixture;
  Remedies *remedies = search (&fixture, &case_, &remedy_default_budget);

  ck_assert_uint_eq (remedies->found->len, 0);
  ck_assert_ptr_nonnull (remedies->nearest);
  ck_assert (!remedies->cut);
  ck_assert_uint_gt (remedies->lacking, 800000000); /* 16 bytes x 117 million, less 1 GB */
  ck_assert_uint_le (remedies->lacking, fixture.prediction->hbm.excess);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* A closed form says no more than the plan, and of a state alone what it takes by hand. */
START_TEST (test_least_excess)
{
  static const Case state = {
    "1 GB",
    { "strategy.name", "ddp", "strategy.overlap_comm", "true", "model.d_model", "3000",
      "model.d_ff", "9000", "training.activation_checkpointing", "full", NULL },
  };
  g_autoptr (DiagList) diags = diag_list_new ();
  Fixture              fixture;

  for (guint i = 0; i < G_N_ELEMENTS (one_lever_cases); i++)
    {
      fixture_start (&fixture, &one_lever_cases[i].case_);
      ck_assert_int_le (scenario_least_excess (fixture.scenario, &fixture.options, diags),
                        scenario_planned_excess (fixture.scenario, &fixture.options, NULL, diags));
      fixture_end (&fixture);
    }
  fixture_start (&fixture, &state); /* 16 bytes x 117 million, less 1 GB */
  ck_assert_int_gt (scenario_least_excess (fixture.scenario, &fixture.options, diags), 800000000);
  fixture_end (&fixture);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
}
END_TEST

/* A search that a bound ends says so, whichever it is, and keeps it. */
START_TEST (test_budgets)
{
  RemedyBudget planned = remedy_default_budget, simulated = planned, items = planned;
  RemedyBudget events = planned;
  Fixture      fixture;
  Remedies    *remedies = search (&fixture, &one_lever_cases[3].case_, &remedy_default_budget);

  ck_assert (!remedies->cut);
  remedies_free (remedies);
  fixture_end (&fixture);

  planned.max_planned = 5;
  remedies = search (&fixture, &two_levers, &planned);
  ck_assert (remedies->cut);
  ck_assert_uint_eq (remedies->n_planned, 5);
  remedies_free (remedies);
  fixture_end (&fixture);

  simulated.max_simulated = 1;
  remedies = search (&fixture, &two_levers, &simulated);
  ck_assert (remedies->cut);
  ck_assert_uint_eq (remedies->n_simulated, 1);
  remedies_free (remedies);
  fixture_end (&fixture);

  events.max_events = events.max_events_of_one = 1;
  remedies = search (&fixture, &one_lever_cases[3].case_, &events);
  ck_assert (remedies->cut);
  ck_assert_uint_eq (remedies->found->len, 0);  /* each simulation ends before its end */
  ck_assert_uint_le (remedies->n_simulated, 5); /* four begin together, and the nearest */
  remedies_free (remedies);
  fixture_end (&fixture);

  items.max_planned_items = 1;
  remedies = search (&fixture, &two_levers, &items);
  ck_assert (remedies->cut);
  ck_assert_uint_le (remedies->n_planned, 8); /* that many begin before the items are counted */
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* Plans and simulations take a small multiple of what the scenario took, or some seconds. */
START_TEST (test_budget_after)
{
  const guint64 given[] = { 0, 1000, 1000000, 3000000, 20000000, 1000000000 };
  const guint64 least = remedy_default_budget.max_events;

  for (guint i = 0; i < G_N_ELEMENTS (given); i++)
    {
      const RemedyBudget budget = remedy_budget_after (given[i]);
      const guint64      plans = budget.max_planned_items / 3;

      ck_assert_uint_ge (budget.max_events, least);
      ck_assert_uint_le (budget.max_events + plans, MAX (least + plans, 4 * given[i]));
      ck_assert_uint_ge (budget.max_events_of_one, given[i]); /* what is alike may be simulated */
      ck_assert_uint_le (budget.max_events_of_one, MAX (budget.max_events, given[i]));
      ck_assert_uint_eq (budget.max_planned_items, remedy_default_budget.max_planned_items);
    }
}
END_TEST

/* A simulation that is ended at once is charged for its plan, and the charges keep to the bound. */
START_TEST (test_charge)
{
  RemedyBudget         budget = remedy_default_budget;
  g_autoptr (DiagList) diags = diag_list_new ();
  guint64              n_items = 0;
  Fixture              fixture;
  Remedies            *remedies;

  budget.max_events_of_one = 1;
  budget.max_events = 2000;
  remedies = search (&fixture, &one_lever_cases[3].case_, &budget);
  scenario_planned_excess (fixture.scenario, &fixture.options, &n_items, diags);
  ck_assert_msg (remedies->n_events >= n_items / 3,
                 "%" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT " items", remedies->n_events,
                 n_items);
  ck_assert_uint_le (remedies->n_events, 2 * (budget.max_events + n_items));
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* A stop that is due leaves what was found by then, here nothing, and says so. */
START_TEST (test_stop)
{
  const RemedyBudget budget = one_lever (&one_lever_cases[2].case_);
  Stop               stop = { .signal = SIGINT };
  Fixture            fixture;
  Remedies          *remedies;

  remedies = search (&fixture, &one_lever_cases[2].case_, &budget);
  ck_assert_ptr_null (remedies->ended_by);
  fixture.options.replay.stop = &stop;
  remedies_free (remedies);
  remedies = remedies_find (fixture.scenario, NULL, fixture.prediction, &fixture.options, &budget);
  ck_assert (remedies->cut);
  ck_assert_str_eq (remedies->ended_by, "SIGINT");
  ck_assert_uint_eq (remedies->n_simulated, 0);
  ck_assert_uint_eq (remedies->found->len, 0);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* The last simulation, of the least excessive plan, may turn out to fit: then it is a remedy. */
START_TEST (test_nearest_that_fits)
{
  RemedyBudget budget = one_lever (&one_lever_cases[2].case_);
  Fixture      fixture;
  Remedies    *remedies;

  budget.max_simulated = 0;
  remedies = search (&fixture, &one_lever_cases[2].case_, &budget);
  ck_assert_uint_eq (remedies->n_simulated, 1);
  ck_assert_uint_eq (remedies->found->len, 1);
  ck_assert (has_options (remedies, one_lever_cases[2].wanted));
  ck_assert_ptr_null (remedies->nearest);
  ck_assert (remedies->cut);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

/* CASE_ fits by its plan alone: a block that another stream still uses cannot be seen there. */
static void
assert_only_planned (const Case *case_)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (ReplayPlan) plan = NULL;
  Fixture                fixture;

  fixture_start (&fixture, case_);
  ck_assert (!fixture.prediction->fits);
  profiles = profile_set_new (fixture.profiles);
  plan = replay_plan_scenario (fixture.scenario, profiles, diags);
  ck_assert_ptr_nonnull (plan);
  ck_assert_int_le (replay_plan_excess (plan), 0);
  g_clear_pointer (&plan, replay_plan_unref);
  g_clear_pointer (&profiles, profile_set_free);
  fixture_end (&fixture);
}

#define CHECKPOINTED                                                                           \
  "memory.allocator", "caching", "cluster.nodes", "1", "model.n_layers", "5", "model.d_model", \
      "1300", "model.d_ff", "5300", "model.vocab", "16400", "training.seq_len", "148",         \
      "training.micro_batch", "16", "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true"

/*
 * A way to checkpoint that is planned to fit does not; another one is found, which does, and before
 * it: what has room for all that plans do not know comes first, though it leaves more of the GPU.
 */
START_TEST (test_another_of_a_lever)
{
  static const Case case_ = { "2.5493 GB", { CHECKPOINTED, NULL } };
  static const Case layer = {
    "2.5493 GB", { CHECKPOINTED, "training.activation_checkpointing", "selective-layer", NULL }
  };
  RemedyBudget budget = one_lever (&case_), first = budget;
  Fixture      fixture;
  Remedies    *remedies;

  assert_only_planned (&layer);
  remedies = search (&fixture, &case_, &budget);
  ck_assert (has_options (remedies, "--activation-checkpointing selective-op"));
  ck_assert (!has_options (remedies, "--activation-checkpointing selective-layer"));
  ck_assert_uint_gt (remedies->n_simulated, remedies->found->len);
  remedies_free (remedies);
  fixture_end (&fixture);

  first.max_simulated = 1;
  remedies = search (&fixture, &case_, &first);
  ck_assert_uint_eq (remedies->n_simulated, 1);
  ck_assert_uint_eq (remedies->found->len, 1);
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

#define DEAD_END                                                                               \
  "memory.allocator", "caching", "cluster.nodes", "3", "model.n_layers", "3", "model.d_model", \
      "1300", "model.d_ff", "1200", "model.vocab", "19700", "training.seq_len", "1151",        \
      "strategy.name", "fsdp1", "strategy.limit_all_gathers", "true"

/* What is planned to fit and does not is nearest to a remedy: it is tried with further levers. */
START_TEST (test_planned_to_fit_goes_on)
{
  static const Case case_ = { "1.11 GB", { DEAD_END, "training.micro_batch", "4", NULL } };
  static const Case one = {
    "1.11 GB", { DEAD_END, "training.micro_batch", "1", "training.grad_accum", "4", NULL }
  };
  Fixture   fixture;
  Remedies *remedies;

  assert_only_planned (&one);
  remedies = search (&fixture, &case_, &remedy_default_budget);
  ck_assert (has_options (remedies,
                          "--micro-batch 1 --set strategy.backward_prefetch=none --grad-accum 4"));
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

START_TEST (test_threads)
{
  const Case      *case_ = &one_lever_cases[2].case_;
  RemedyBudget     budget = one_lever (case_), four = budget;
  Fixture          fixture, again;
  Remedies        *remedies = search (&fixture, case_, &budget), *other;
  g_autofree char *found = found_options (remedies), *same = NULL;

  four.n_threads = 4;
  other = search (&again, case_, &four);
  same = found_options (other);
  ck_assert_str_eq (found, same);
  ck_assert_str_ne (found, "");
  ck_assert_uint_eq (remedies->n_planned, other->n_planned);
  ck_assert_uint_eq (remedies->n_simulated, other->n_simulated);
  remedies_free (remedies);
  remedies_free (other);
  fixture_end (&fixture);
  fixture_end (&again);
}
END_TEST

/* However many values an option has: 'sp' comes with tensor ranks, and with nothing else. */
START_TEST (test_many_moves)
{
  const char        *words[201] = { NULL };
  OptionSpec         table[2] = { { .key = "colour", .type = OPTION_ENUM, .choices = words } };
  gint               value = 0;
  StrategyConfig     config = { .marks.table = table, .options = &value }, *own;
  Fixture            fixture;
  g_autoptr (GArray) moves = NULL;
  guint              n_tensor = 0, n_colours = 0;

  for (guint i = 0; i + 1 < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *word = g_strdup_printf ("w%u", i);

      words[i] = intern_text (word);
    }
  fixture_start (&fixture, &two_levers);
  own = fixture.scenario->strategy;
  fixture.scenario->strategy = &config;
  moves = lever_moves (fixture.scenario, NULL, 8, LEVER_REMEDY);
  fixture.scenario->strategy = own;
  for (guint i = 0; i < moves->len; i++)
    {
      const Move *move = &g_array_index (moves, Move, i);

      ck_assert_int_eq (g_strcmp0 (move->also_key, "mesh.sp") == 0,
                        g_str_equal (move->key, "mesh.tp"));
      n_tensor += g_str_equal (move->key, "mesh.tp");
      n_colours += g_str_equal (move->key, "strategy.colour");
    }
  ck_assert_uint_eq (n_tensor, 3); /* 2, 4, 8 */
  ck_assert_uint_eq (n_colours, 199);
  fixture_end (&fixture);
}
END_TEST

/*
 * Of two stages nothing is set: what only stages have comes with them, and by itself is no change.
 * Who asks what is faster, one at a time, does not get it.
 */
START_TEST (test_moves_that_come_with_others)
{
  Fixture            fixture;
  g_autoptr (GArray) moves = NULL, faster = NULL;
  Change             stages = { .n = 1 };
  guint              n_waiting = 0;

  fixture_start (&fixture, &two_levers);
  moves = lever_moves (fixture.scenario, NULL, 8, LEVER_REMEDY);
  faster = lever_moves (fixture.scenario, NULL, 8, LEVER_ADVICE);
  for (guint i = 0; i < moves->len; i++)
    {
      const Move *move = &g_array_index (moves, Move, i);

      if (g_str_equal (move->key, "mesh.pp"))
        stages.moves[0] = move;
      if (g_str_equal (move->key, "mesh.vp") || g_str_equal (move->key, "mesh.pipeline"))
        {
          ck_assert_str_eq (move->needs, "mesh.pp");
          ck_assert (change_sets (&stages, move->needs));
          ck_assert (!change_sets (&(Change){ .n = 0 }, move->needs));
          n_waiting++;
        }
    }
  ck_assert_uint_gt (n_waiting, 1);
  for (guint i = 0; i < faster->len; i++)
    ck_assert_ptr_null (g_array_index (faster, Move, i).needs);
  fixture_end (&fixture);
}
END_TEST

/* ---- sequences of unlike length -------------------------------------------------------------- */

/* A step of four data ranks: one sequence of 48 000 tokens, seven of 2000. */
static const char long_one[] = "length\n48000\n2000\n2000\n2000\n2000\n2000\n2000\n2000\n";

static const struct
{
  const char *first, *half; /* options that hold it, and what has half as many ranks for it */
  Case        case_;        /* beside the file */
} sequence_cases[] = {
  { "--tokens-per-rank 12000",
    "24000",
    { "1.2 GB",
      { "strategy.name", "ddp", "training.partition", "hybrid", "training.tokens_per_rank", "48000",
        "training.seq_len", "48000", "training.attention", "flash2", "training.grad_accum", "2",
        NULL } } },
  { "--partition hybrid --tokens-per-rank 12000",
    "24000",
    { "1.2 GB",
      { "strategy.name", "zero1", "training.seq_len", "48000", "training.attention", "flash2",
        "training.grad_accum", "2", NULL } } },
  { "--cp 4 --grad-accum 8",
    "2",
    { "1 GB",
      { "strategy.name", "fsdp2", "training.seq_len", "48000", "training.attention", "flash2",
        "training.grad_accum", "2", NULL } } },
};

/* Whether SELF's scenario fits with VALUE of KEY and, of other partitions, of hybrid's sets. */
static gboolean
fits_with (const Fixture *self, const char *key, const char *value)
{
  const gboolean         sets = g_str_equal (key, "training.tokens_per_rank");
  const ScenarioOverride list[] = {
    { key, value, "test" },
    sets ? (ScenarioOverride){ "training.partition", "hybrid", "test" }
         : (ScenarioOverride){ "training.grad_accum", "4", "test" }
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario = scenario_with (self->scenario, NULL, list, 2, diags);
  g_autoptr (Prediction) prediction = predict (scenario, &self->options, diags, &error);

  ck_assert_msg (prediction != NULL, "%s", diag_list_first_message (diags));
  return prediction->fits;
}

/*
 * The sequence that does not fit is named, with the ranks that have it, and the fewest that hold
 * it: half as many do not. The others have a rank each and fit.
 */
START_TEST (test_sequence)
{
  Case             case_ = sequence_cases[_i].case_;
  const gboolean   cp = g_str_has_prefix (sequence_cases[_i].first, "--cp");
  RemedyBudget     nothing = { .n_threads = 1 };
  Fixture          fixture;
  Remedies        *remedies;
  g_autofree char *file = NULL;
  gint             fd = g_file_open_tmp ("shardsim-lengths-XXXXXX.csv", &file, NULL);
  guint            n = 0;

  ck_assert_int_ge (fd, 0);
  ck_assert (g_close (fd, NULL));
  ck_assert (g_file_set_contents (file, long_one, -1, NULL));
  while (case_.keys[n] != NULL)
    n++;
  case_.keys[n] = "training.lengths";
  case_.keys[n + 1] = file;
  remedies = search (&fixture, &case_, &nothing);
  ck_assert_int_eq (fixture.prediction->hbm.sequence, 48000);
  ck_assert_uint_eq (fixture.prediction->hbm.sequence_ranks, 1);
  ck_assert_str_eq (remedies->sequence, sequence_cases[_i].first);
  ck_assert (
      !fits_with (&fixture, cp ? "mesh.cp" : "training.tokens_per_rank", sequence_cases[_i].half));
  remedies_free (remedies);
  fixture_end (&fixture);
  ck_assert_int_eq (g_remove (file), 0);
}
END_TEST

/* A state that is too large by itself is no sequence's fault. */
START_TEST (test_state_is_no_sequence)
{
  static const Case case_ = { "1 GB",
                              { "strategy.name", "ddp", "model.d_model", "3000", "model.d_ff",
                                "9000", "training.lengths", "magi", "training.attention", "flash2",
                                NULL } };
  Fixture           fixture;
  RemedyBudget      nothing = { .n_threads = 1 };
  Remedies         *remedies = search (&fixture, &case_, &nothing);

  ck_assert_int_eq (fixture.prediction->hbm.sequence, 0);
  ck_assert_ptr_null (remedies->sequence); /* nobody is to blame */
  remedies_free (remedies);
  fixture_end (&fixture);
}
END_TEST

SUITE_MAIN (remedies)
{
  Suite *suite = suite_create ("remedies");
  TCase *tcase = tcase_create ("remedies");

  tcase_add_loop_test (tcase, test_one_lever, 0, G_N_ELEMENTS (one_lever_cases));
  tcase_add_test (tcase, test_host_is_planned);
  tcase_add_test (tcase, test_two_levers);
  tcase_add_test (tcase, test_nothing);
  tcase_add_test (tcase, test_least_excess);
  tcase_add_test (tcase, test_budgets);
  tcase_add_test (tcase, test_charge);
  tcase_add_test (tcase, test_planned_to_fit_goes_on);
  tcase_add_test (tcase, test_budget_after);
  tcase_add_test (tcase, test_stop);
  tcase_add_test (tcase, test_nearest_that_fits);
  tcase_add_test (tcase, test_another_of_a_lever);
  tcase_add_test (tcase, test_threads);
  tcase_add_test (tcase, test_many_moves);
  tcase_add_test (tcase, test_moves_that_come_with_others);
  tcase_add_loop_test (tcase, test_sequence, 0, G_N_ELEMENTS (sequence_cases));
  tcase_add_test (tcase, test_state_is_no_sequence);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
