/*
 * No figure of the hardware is set for nothing and in silence: over every figure that machines of
 * many kinds have, some large change of it moves the answer, or it is refused or warned of. And a
 * warning is true: with that value the answer is the one without it.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "answers.h"
#include "scenario/resolved.h"

#define SHAPE                                                                              \
  "model.arch=llama;model.n_layers=2;model.d_model=1536;model.n_heads=12;model.d_ff=5376;" \
  "model.vocab=32002;training.seq_len=2048;training.grad_accum=2;"

static const struct
{
  const char *name, *settings;
} bases[] = {
  { "plain", SHAPE "cluster.name=2 x hgx-a100-4;strategy.name=fsdp2" },
  { "node", SHAPE "cluster.name=dgx-h100;strategy.name=fsdp2" },
  { "gpu", SHAPE "cluster.name=dgx-h100;cluster.gpus_per_node=1;strategy.name=fsdp2" },
  { "pipeline", SHAPE "cluster.name=2 x dgx-a100;strategy.name=ddp;mesh.pp=2;mesh.tp=2;"
                      "training.grad_accum=8" },
  { "offload", SHAPE "cluster.name=2 x dgx-a100;strategy.name=zero3;"
                     "strategy.offload_optimizer=cpu" },
  { "nvme", SHAPE "cluster.name=2 x dgx-a100;strategy.name=zero-infinity" },
  { "eager", SHAPE "cluster.name=2 x dgx-a100;strategy.name=fsdp2;training.compile=false;"
                   "training.framework=torchtitan" },
  { "pcie", SHAPE "cluster.name=2 x a40x8-nvlink-pairs;strategy.name=zero3" },
  { "fp8", SHAPE "cluster.name=2 x dgx-h100;strategy.name=fsdp2;training.fp8_recipe=delayed" },
  { "efa", SHAPE "cluster.name=4 x p5;strategy.name=hsdp" },
};

/* What plays a part that nothing waits for. */
static const struct
{
  const char *base, *figure, *why;
} hidden[] = {
  { "offload", "nic.hop_ll128", "of what is sent once, before the first step" },
};

static gboolean
is_hidden (guint base, const char *figure)
{
  for (guint i = 0; i < G_N_ELEMENTS (hidden); i++)
    if (g_str_equal (hidden[i].base, bases[base].name) && g_str_equal (hidden[i].figure, figure))
      return TRUE;
  return FALSE;
}

static InputFiles *files;
static GString    *faults;
static gboolean    talks;

/* The figures of the hardware of SETTINGS. */
static GArray *
figures_of (const char *settings)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Scenario)         scenario = answers_scenario (settings, NULL, NULL, diags);
  g_autoptr (ProfileSet)       profiles = profile_set_new_shared (NULL, NULL, files);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  return resolved_figures (resolved);
}

/* What is said of one value. */
typedef struct
{
  gboolean moved, warned, refused;
} Outcome;

static Outcome
try_value (guint base, const HardwareFigure *figure, double value, const char *before)
{
  g_autofree char     *text = hardware_figure_format_exact (figure, value);
  g_autofree char     *setting = g_strdup_printf ("%s=%s", figure->name, text);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *answer =
      answer_to (files, bases[base].settings, "cluster.figure", setting, diags);

  return (Outcome){ .moved = answer != NULL && !g_str_equal (answer, before),
                    .warned = answers_are_warned (diags, figure->name),
                    .refused = answer == NULL };
}

/* Up to the first value that moves the answer. */
static void
check_figure (guint base, const HardwareFigure *figure, const char *before)
{
  const double factors[] = { 0.5, 2, 0.1, 10, 1000 };
  gboolean     moved = FALSE, said = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (factors) && !moved; i++)
    {
      const double  value = hardware_figure_clamp (figure, figure->value * factors[i]);
      const Outcome outcome = try_value (base, figure, value, before);

      moved = outcome.moved;
      said |= outcome.warned || outcome.refused;
      if (outcome.moved && outcome.warned)
        g_string_append_printf (faults, "%s: %s times %g moves the answer and is warned of\n",
                                bases[base].name, figure->name, factors[i]);
    }
  if (talks)
    g_printerr ("%s\t%s\t%s\n", bases[base].name, figure->name,
                moved  ? "moves"
                : said ? "said"
                       : "SILENT");
  if (!moved && !said && !is_hidden (base, figure->name))
    g_string_append_printf (faults, "%s: %s moves nothing and nothing is said\n", bases[base].name,
                            figure->name);
}

START_TEST (test_figures)
{
  const guint          base = (guint) _i;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *before = answer_to (files, bases[base].settings, NULL, NULL, diags);
  g_autofree char     *why = diag_list_first_reason (diags);
  g_autoptr (GArray)   figures = NULL;

  ck_assert_msg (before != NULL, "%s: %s", bases[base].name, why);
  figures = figures_of (bases[base].settings);
  for (guint i = 0; i < figures->len; i++)
    check_figure (base, &g_array_index (figures, HardwareFigure, i), before);
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

SUITE_MAIN (figure_effects)
{
  Suite *suite = suite_create ("figure-effects");
  TCase *tc = tcase_create ("figures");

  talks = argc > 1;
  (void) argv;
  tcase_set_timeout (tc, 600); /* of many predictions */
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, test_figures, 0, G_N_ELEMENTS (bases));
  suite_add_tcase (suite, tc);
  return suite_run (suite);
}
