#include "predict/idle-figures.h"

#include "base/config/option-needs.h"
#include "hardware/profile/figure-settings.h"
#include "predict/prediction.h"
#include "replay/bind/bound.h"

/* A pipeline's stages, and what of a step's micro-batches is done once. */
#define MICRO_BATCHES(stages) (2 * (stages) + 2)

#define APART 10.0 /* the values that a figure is tried at, from the one that it has */

/* Where micro-batches are alike and many, with few. */
static ResolvedScenario *
resolve_few (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList)         none = diag_list_new ();
  g_autoptr (ResolvedScenario) whole = resolved_new (scenario, profiles, none);
  const gint64                 most = MICRO_BATCHES (scenario->mesh.pp);
  ResolvedScenario            *few = NULL;

  if (whole != NULL && whole->lengths == NULL && whole->scenario->training.grad_accum > most)
    few = resolved_with_micro_steps (whole, (guint) most, none);
  return few != NULL ? few : g_steal_pointer (&whole);
}

/* All that predictions of SCENARIO follow from; 0: there is none. */
static guint64
fingerprint (const Scenario *scenario, ProfileSet *profiles)
{
  const PlanOptions            part = { .round_steps = 1 };
  g_autoptr (DiagList)         none = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = resolve_few (scenario, profiles);
  g_autoptr (ReplayPlan)  plan = resolved != NULL ? replay_plan_new (resolved, part, none) : NULL;
  g_autoptr (ReplayBound) bound = plan != NULL ? replay_bound_new (plan, FALSE) : NULL;
  const double            base = bound != NULL ? prediction_mfu_base (resolved->cluster) : 0;

  return bound != NULL ? replay_bound_fingerprint (bound, base) : 0;
}

/* ---- of anything ----------------------------------------------------------------------------- */

/* Whether with SETTINGS as the cluster's figures all is as with its own. */
typedef gboolean (*SameWith) (const char *settings, gpointer about);

typedef struct
{
  const char       *settings; /* the cluster's own */
  const Cluster    *cluster;
  const SourceMark *mark; /* where they were set */
  SameWith          same;
  gpointer          about;
} Trial;

static gboolean
plays_a_part (const Trial *self, const HardwareFigure *figure)
{
  const double more = figure->value > 0 ? figure->value * APART : figure->max;
  const double others[] = { more, figure->value / APART };

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autoptr (DiagList) none = diag_list_new ();
      g_autofree char     *settings = g_strdup (self->settings);
      g_autofree char     *text =
          hardware_figure_format_exact (figure, hardware_figure_clamp (figure, others[i]));

      figure_settings_set (&settings, figure->name, text, NULL, none);
      if (!self->same (settings, self->about))
        return TRUE;
    }
  return FALSE;
}

/* Warns of FIGURE if it plays no part; else FALSE. */
static gboolean
try_figure (const Trial *self, const HardwareFigure *figure, DiagList *diags)
{
  const char *without, *hint;

  if (plays_a_part (self, figure))
    return FALSE;
  if (cluster_figure_lacks (self->cluster, figure->name, &without, &hint))
    option_warn_without (figure->name, without, hint, self->mark, diags);
  else
    diag_warning (diags, self->mark, "leave it out; 'shardsim sensitivity' lists what has one",
                  "'%s' has no effect: a tenth of it and ten times as much are the same here",
                  figure->name);
  return TRUE;
}

/* ---- of a step ------------------------------------------------------------------------------- */

typedef struct
{
  const Scenario *scenario;
  ProfileSet     *profiles;
  guint64         as_it_is;
} Step;

static gboolean
same_step (const char *settings, gpointer about)
{
  const Step          *self = about;
  g_autoptr (Scenario) other = scenario_copy (self->scenario);

  g_free (other->cluster.figure);
  other->cluster.figure = g_strdup (settings);
  return fingerprint (other, self->profiles) == self->as_it_is;
}

/* Warns of FIGURE if it plays no part in SCENARIO; else FALSE. */
static gboolean
warn_of_figure (const Scenario *scenario, ProfileSet *profiles, const HardwareFigure *figure,
                DiagList *diags)
{
  g_autoptr (DiagList)         none = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, none);
  Step  step = { scenario, profiles, resolved != NULL ? fingerprint (scenario, profiles) : 0 };
  Trial trial = { .settings = scenario->cluster.figure, .same = same_step, .about = &step };

  if (step.as_it_is == 0 || !resolved_runs_framework (resolved, figure->name))
    return FALSE;
  trial.cluster = resolved->cluster;
  trial.mark = option_mark (scenario_marks (resolved->scenario, cluster_options), "figure", NULL);
  return try_figure (&trial, figure, diags);
}

void
idle_figures_warn_of_all (const Scenario *const *scenarios, guint n, ProfileSet *profiles,
                          DiagList *diags)
{
  g_autoptr (GArray) figures = n > 0 ? figure_settings_list (scenarios[0]->cluster.figure) : NULL;

  for (guint f = 0; figures != NULL && f < figures->len; f++)
    {
      const HardwareFigure *figure = &g_array_index (figures, HardwareFigure, f);
      g_autoptr (DiagList)  said = diag_list_new (); /* of others than the first: the same again */
      guint                 i = n - 1;

      while (i > 0 && warn_of_figure (scenarios[i], profiles, figure, said))
        i--;
      if (i == 0)
        warn_of_figure (scenarios[0], profiles, figure, diags);
    }
}

void
idle_figures_warn (const Scenario *scenario, ProfileSet *profiles, DiagList *diags)
{
  idle_figures_warn_of_all (&scenario, 1, profiles, diags);
}

/* ---- of a collective ------------------------------------------------------------------------- */

typedef struct
{
  const CollectiveBandInput *input;
  CollectiveSweep           *as_it_is[FIDELITY_STEP + 1]; /* where it was asked for */
} Collective;

static gboolean
same_sample (const Collective *self, const CollectiveSample *a, const CollectiveSample *b)
{
  gboolean same = a->time == b->time && a->alone == b->alone && a->channels == b->channels;

  for (guint i = 0; a->concurrent != NULL && i < self->input->options->n_concurrent; i++)
    same &= a->concurrent[i] == b->concurrent[i];
  return same;
}

/* As fluid, which is soon done, and where that is the same as exactly as it is asked for. */
static gboolean
same_collective (const char *settings, gpointer about)
{
  Collective    *self = about;
  const Fidelity asked = self->input->options->fidelity;
  ClusterOptions wanted = *self->input->cluster;
  gboolean       same = TRUE;

  for (guint fidelity = MIN (asked, FIDELITY_FLUID); same && fidelity <= asked; fidelity++)
    {
      CollectiveSweep            *one = self->as_it_is[fidelity];
      g_autoptr (CollectiveSweep) other = NULL;

      if (one == NULL)
        one = self->as_it_is[fidelity] =
            collective_sweep_again (self->input, self->input->cluster, fidelity, NULL);
      wanted.figure = (char *) settings;
      other = collective_sweep_again (self->input, &wanted, fidelity, NULL);
      same = one != NULL && other != NULL;
      for (guint i = 0; same && i < one->samples->len; i++)
        same = same_sample (self, &g_array_index (one->samples, CollectiveSample, i),
                            &g_array_index (other->samples, CollectiveSample, i));
    }
  return same;
}

void
idle_figures_warn_collective (const CollectiveBandInput *input, const Cluster *cluster,
                              const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GArray) figures = figure_settings_list (input->cluster->figure);
  Collective         collective = { .input = input };
  const Trial trial = { input->cluster->figure, cluster, mark, same_collective, &collective };

  for (guint i = 0; i < figures->len; i++)
    try_figure (&trial, &g_array_index (figures, HardwareFigure, i), diags);
  for (guint i = 0; i < G_N_ELEMENTS (collective.as_it_is); i++)
    g_clear_pointer (&collective.as_it_is[i], collective_sweep_free);
}
