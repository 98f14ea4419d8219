/*
 * A resolved scenario: what its options name, read, checked and made once. The cluster, what each
 * rank computes, and what its strategies are told; all that follows (plans, replays, predictions)
 * shares one and only reads it.
 */
#pragma once

#include "scenario/scenario.h"

typedef struct
{
  const Scenario         *scenario;  /* the options in force: a copy of what was given, with the
                                        framework's (software.h) and the micro-steps that a global
                                        batch makes */
  ProfileSet             *profiles;  /* that cluster and framework point into: the cluster's */
  const FrameworkProfile *framework; /* NULL: none in particular */
  gboolean                framework_by_default; /* nobody named it */
  const Cluster          *cluster;
  /*
   * Of a rank of the first stage, with the training and mesh options as they are in force. Where
   * micro-batches differ, that of the one with the most tokens.
   */
  const Workload        *workload;
  const SequenceLengths *lengths;      /* NULL: all micro-batches are alike */
  guint                  n_data_ranks; /* that work on sequences of their own */
  PlanInput              input;        /* of the outermost strategy, for whole rounds */
  const StrategyChoice  *strategy;     /* the outermost, with those inside */
} ResolvedScenario;

/* hardware_figures of SELF. */
GArray *resolved_figures (const ResolvedScenario *self);

/* Whether the figure NAME is of the framework that this scenario runs on, or of none at all. */
gboolean resolved_runs_framework (const ResolvedScenario *self, const char *name);

/* Whether SPEC, of the TABLE of a section, is set and has no effect. */
gboolean resolved_is_idle (const ResolvedScenario *self, const OptionSpec *table,
                           const OptionSpec *spec);

/* The scenario_settings of its scenario, each of which knows whether it has an effect. */
GArray *resolved_settings (const ResolvedScenario *self);

/*
 * Resolves SCENARIO, of which it keeps a copy. PROFILES, whose files the model and the lengths come
 * from as well, must outlive it. NULL after diagnostics.
 */
ResolvedScenario *resolved_new (const Scenario *scenario, ProfileSet *profiles, DiagList *diags);

/*
 * The same with N micro-steps a step, which are alike; on SELF's own cluster, to which it refers.
 * NULL after diagnostics: a pipeline may need more.
 */
ResolvedScenario *resolved_with_micro_steps (const ResolvedScenario *self, guint n,
                                             DiagList *diags);

/*
 * SCENARIO, which differs from SELF's in nothing but its mesh and training options other than
 * 'kernels' and 'framework': on SELF's cluster and under its profiles. What was checked of the
 * cluster is not checked again, nor training options that are the same. KNOWN (may be NULL) are
 * ResolvedScenarios that differ from SCENARIO in `activation_checkpointing` alone: what they have
 * built of its layers is shared. NULL after diagnostics.
 */
ResolvedScenario *resolved_on_mesh (const ResolvedScenario *self, const Scenario *scenario,
                                    const GPtrArray *known, DiagList *diags);

/* Nobody changes what others refer to: the same object, freed with the last reference. */
const ResolvedScenario *resolved_ref (const ResolvedScenario *self);
void                    resolved_unref (const ResolvedScenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ResolvedScenario, resolved_unref)
