/*
 * No option is set for nothing and in silence: over every option of every table, in scenarios with
 * and without what options are about, some value moves the answer, is refused, or is warned of. And
 * a warning that an option has no effect is true: with it the answer is the one without it.
 *
 * What is asserted is only that something moves, not that it moves as it should.
 */
#include <check.h>
#include <string.h>

#include "../cases.h"
#include "../suite.h"
#include "answers.h"

#define MOST_VALUES 13

/* ---- scenarios ------------------------------------------------------------------------------- */

#define SHAPE                                                                              \
  "model.arch=llama;model.n_layers=4;model.d_model=1536;model.n_heads=12;model.d_ff=5376;" \
  "model.vocab=32002;training.seq_len=4096;training.grad_accum=2;"

static const struct
{
  const char *name, *settings;
} bases[] = {
  /* none of what most options are about */
  { "plain", SHAPE "cluster.name=2 x hgx-a100-4;strategy.name=fsdp2" },
  { "nodes", SHAPE "cluster.name=4 x dgx-a100;strategy.name=fsdp2;cluster.leaf_nodes=2;"
                   "cluster.routing=ecmp" },
  { "pipeline", SHAPE "cluster.name=dgx-a100;strategy.name=ddp;mesh.pp=2;mesh.tp=2;"
                      "training.grad_accum=8" },
  { "experts", SHAPE "cluster.name=2 x dgx-a100;strategy.name=zero1;mesh.ep=8;model.n_experts=16;"
                     "model.n_experts_per_token=2;model.d_expert=1024;model.n_shared_experts=1" },
  { "single", SHAPE "cluster.name=dgx-h100;cluster.gpus_per_node=1;strategy.name=fsdp2;"
                    "training.optimizer=none;training.compile=true;training.attention=eager;"
                    "training.grad_accum=1" },
  { "adapters", SHAPE
    "cluster.name=p5;strategy.name=zero3;training.peft=lora;"
    "training.optimizer=muon;training.activation_checkpointing=full;training.fused_norm=true" },
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Of options of text. */
static const struct
{
  const char *key, *values; /* separated by semicolons */
} examples[] = {
  { "cluster.gpu", "a100-sxm-80;h100-sxm-80" },
  { "cluster.hosts", "gpu[1-64]" },
  { "cluster.intra", "nvlink2-bridge;pcie4-x16" },
  { "cluster.measured", "all_reduce 1GiB 10 GB/s" },
  { "cluster.name", "dgx-a100;4 x dgx-h100" },
  { "cluster.nic", "ib-edr-100" },
  { "cluster.node", "dgx-a100" },
  { "cluster.placement", "spread:2;random" },
  { "cluster.site_nodes", "1,1;3,1" },
  { "cluster.sites", "2 x 1 Gbit/s 60 ms" },
  { "cluster.figure", "gpu.hbm_bandwidth=1 TB/s" },
  { "cluster.slow_gpus", "3:0.5" },
  { "cluster.slow_nics", "0.0:0.5" },
  { "collective.nccl", "2.10.3;2.18.3" },
  { "mesh.layers", "3,1" },
  { "mesh.order", "dp-tp-cp-pp;tp-cp-pp-dp" },
  { "mesh.shard", "2" },
  { "model.arch", "gpt" },
  { "model.config", "llama-3-8b" },
  { "strategy.layer_errors", "nowhere.csv" },
  { "strategy.shard", "2" },
  { "strategy.worker", "2;all" },
  { "strategy.zero_hpz_partition_size", "1;node" },
  { "training.framework", "megatron" },
  { "training.kernels", "cuda-12.1;rocm-6.1" },
  { "training.lengths", "nowhere.csv" },
  { "training.lora_target_modules", "q_proj" },
  { "training.matrix_parameters", "*q_proj*" },
  { "training.measured_kernels", "nowhere.yaml" },
  { "training.recompute_modules", "mlp" },
  { "training.shard_block", "16rows" },
};

/* What moves no answer, and why. */
static const struct
{
  const char *key, *why;
} silent[] = {
  { "cluster.hosts", "names that a placement from a file may use" },
  { "cluster.nic", "a part of a machine, whether a job uses it or not" },
  { "cluster.nics", "the same" },
  { "cluster.pcie_acs", "the same of its settings" },
  { "collective.nchannels_per_net_peer", "of messages between nodes, which strategies may send" },
  { "collective.pxn", "the same" },
  { "collective.nvls", "taken where it is the fastest" },
  { "memory.max_split_size", "whether a cached block is split for another is up to the sizes" },
  { "mesh.deallocate_pipeline_outputs", "other GPUs may be the fullest" },
  { "model.d_ff", "a shape without it is refused, whatever its blocks are" },
  { "model.name", "a name" },
  { "replay.extrapolate", "how it is simulated" },
  { "replay.granularity", "the same" },
  { "strategy.elastic", "what a lost site costs: shardsim plan" },
  { "training.expert_tensors", "of formats that cut or pad tensors" },
  { "strategy.order", "blocks that are alike can be exchanged in any order" },
};

static void
add (GPtrArray *values, char *value)
{
  if (!g_ptr_array_find_with_equal_func (values, value, g_str_equal, NULL))
    g_ptr_array_add (values, value);
  else
    g_free (value);
}

static void
add_number (GPtrArray *values, const OptionSpec *spec, double number)
{
  gboolean ranged = spec->min != 0 || spec->max != 0;

  if (ranged && (number < spec->min || (spec->max >= spec->min && number > spec->max)))
    return;
  if (spec->type == OPTION_INT)
    add (values, g_strdup_printf ("%" G_GINT64_FORMAT, (gint64) number));
  else
    add (values, quantity_format_exact (spec->kind, number));
}

static void
add_numbers (GPtrArray *values, const OptionSpec *spec)
{
  const double tries[] = { 2, 1, 4, 8, 0, 3, 16, 0.5, 0.9, 1e3, 1e6, 1e8, 1e9 };

  for (guint i = 0; i < G_N_ELEMENTS (tries); i++)
    if (spec->type == OPTION_QUANTITY || tries[i] == (gint64) tries[i])
      add_number (values, spec, tries[i]);
}

static GPtrArray *
values_of (const char *key, const OptionSpec *spec)
{
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    if (g_str_equal (examples[i].key, key))
      {
        g_auto (GStrv) list = g_strsplit (examples[i].values, ";", -1);

        for (char **value = list; *value != NULL; value++)
          add (values, g_strdup (*value));
        return values;
      }
  if (spec->type == OPTION_BOOL)
    {
      add (values, g_strdup ("true"));
      add (values, g_strdup ("false"));
    }
  else if (spec->type == OPTION_ENUM)
    for (guint i = 0; spec->choices[i] != NULL; i++)
      add (values, g_str_has_suffix (spec->choices[i], "K") ? g_strdup_printf (
                       "%.*s2", (int) strlen (spec->choices[i]) - 1, spec->choices[i])
                                                            : g_strdup (spec->choices[i]));
  else if (spec->type != OPTION_STRING)
    add_numbers (values, spec);
  return values;
}

static InputFiles *files;

/* ---- the test -------------------------------------------------------------------------------- */

static GString *faults;
static gboolean talks;
/* Else a quarter of the options, another one on each base, where memory is what is looked at. */
static gboolean takes_all;

static void
check_option (guint base, const char *section, const OptionSpec *spec, const char *before,
              const char *more)
{
  g_autofree char      *key = g_strdup_printf ("%s.%s", section, spec->key);
  g_autofree char      *settings = g_strdup_printf ("%s;%s", bases[base].settings, more);
  g_autoptr (GPtrArray) values = values_of (key, spec);
  gboolean              moved = FALSE, warned = FALSE, refused = FALSE, tried = FALSE;
  g_autofree char      *why = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (silent); i++)
    if (g_str_equal (silent[i].key, key))
      return;
  for (guint i = 0; i < MIN (values->len, MOST_VALUES) && !(moved || warned); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *answer =
          answer_to (files, settings, key, g_ptr_array_index (values, i), diags);
      gboolean said = answers_are_warned (diags, spec->key);

      tried = TRUE;
      refused |= answer == NULL;
      if (answer == NULL && why == NULL)
        why = diag_list_first_reason (diags);
      moved |= answer != NULL && !g_str_equal (answer, before);
      warned |= said;
      if (said && answer != NULL && !g_str_equal (answer, before))
        g_string_append_printf (faults, "%s %s %s: %s = %s is said to have no effect\n",
                                bases[base].name, section, more, key,
                                (char *) g_ptr_array_index (values, i));
    }
  if (talks)
    g_printerr ("%s\t%s\t%s\t%s%s%s%s\t%s\n", bases[base].name, more, key, moved ? "moved " : "",
                warned ? "warned " : "", refused ? "refused" : "", tried ? "" : "NO VALUES",
                why ? why : "");
  if (!moved && !warned && !refused)
    g_string_append_printf (faults, "%s: %s (%s) moves nothing and nothing is said\n",
                            bases[base].name, key, more);
}

/* The answer to BASE with MORE; NULL after a fault: it is refused. */
static char *
answer_of_base (guint base, const char *more)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *settings = g_strdup_printf ("%s;%s", bases[base].settings, more);
  char                *answer = answer_to (files, settings, NULL, NULL, diags);

  if (answer == NULL)
    {
      g_autofree char *why = diag_list_first_reason (diags);

      g_string_append_printf (faults, "%s %s: base refused: %s\n", bases[base].name, more, why);
    }
  return answer;
}

static void
check_table (guint base, const char *section, const OptionSpec *table, const char *before,
             const char *more)
{
  for (guint i = 0; before != NULL && table != NULL && table[i].key != NULL; i++)
    if (takes_all || (i + base) % 4 == 0)
      check_option (base, section, &table[i], before, more);
}

START_TEST (test_options)
{
  static const char *const sections[] = { "cluster", "model",      "training", "mesh",
                                          "memory",  "collective", "replay" };
  g_autofree char         *before = answer_of_base ((guint) _i, "");

  for (guint s = 0; s < G_N_ELEMENTS (sections); s++)
    check_table ((guint) _i, sections[s], scenario_section_table (sections[s]), before, "");
  ck_assert_msg (faults->len == 0, "%s", faults->str);
}
END_TEST

START_TEST (test_strategies)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  const Strategy         *strategy = strategy_set_list (set)[_i];
  const char             *around = strategy->outer ? "strategy.inner.name=zero1" : "";
  g_autofree char        *more = NULL;

  if (g_str_equal (strategy->name, "ppu"))
    around = "strategy.inner.name=zero1;training.trained_slices=2;strategy.local_steps=8";
  more = g_strdup_printf ("strategy.name=%s;%s", strategy->name, around);
  for (guint base = 0; base < 2; base++)
    {
      g_autofree char *before = answer_of_base (base, more);

      check_table (base, "strategy", strategy->options, before, more);
    }
  ck_assert_msg (faults->len == 0, "%s", faults->str);
}
END_TEST

static void
setup (void)
{
  faults = g_string_new (NULL);
  files = input_files_new ();
}

static void
teardown (void)
{
  g_string_free (faults, TRUE);
  input_files_free (files);
}

SUITE_MAIN (option_effects)
{
  g_autoptr (StrategySet) set = strategy_set_new ();
  Suite                  *suite = suite_create ("option-effects");
  TCase                  *tc = tcase_create ("options");
  int                     n = 0;

  talks = argc > 1;
  takes_all = cases_of (100) >= 10;
  (void) argv;
  while (strategy_set_list (set)[n] != NULL)
    n++;
  tcase_set_timeout (tc, 600); /* of many predictions */
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, test_options, 0, G_N_ELEMENTS (bases));
  tcase_add_loop_test (tc, test_strategies, 0, n);
  suite_add_tcase (suite, tc);
  return suite_run (suite);
}
