/* What the files of the resolved scenario share: the object with all that it owns. */
#pragma once

#include "scenario/resolved.h"

typedef struct
{
  ResolvedScenario view; /* what others see: the first member */
  Scenario        *scenario;
  TrainingOptions  training;    /* the scenario's, with what the framework's generation launches */
  const ResolvedScenario *base; /* that the cluster is of, a reference; NULL: its own */
  gboolean                is_checked; /* its training is base's, checked with it */
  const GPtrArray        *known;      /* ResolvedScenario: resolved_on_mesh's; NULL: none */
  Cluster                *cluster;
  Workload             ***batches;      /* [different micro-batches][pipeline stage] */
  PlanBatches             plan_batches; /* the same for the schedule, where there are lengths */
  StrategyChoice         *chain;        /* outermost first */
} Resolution;

/*
 * What ranks compute of the model SHAPE on SELF's cluster (NULL where that failed): a workload for
 * each pipeline stage and each different micro-batch. FALSE after diagnostics.
 */
gboolean resolved_make_workloads (Resolution *self, const ModelShape *shape, DiagList *diags);
void     resolved_free_workloads (Resolution *self);

/*
 * The micro-steps that a global batch makes on SELF's cluster become those of SELF's options. FALSE
 * after diagnostics: it does not divide, or the micro-steps that were given make another one.
 */
gboolean resolved_settle_batch (Resolution *self, DiagList *diags);

/* Tensor ranks that divide the tokens of a context rank. */
gint64 resolved_sequence_parts (const Resolution *self);

/* What SELF's lengths are drawn from (LENGTHS_N: nothing), and the file they are else; g_free. */
LengthDraw resolved_length_draw (const Resolution *self);
char      *resolved_lengths_file (const Resolution *self);

/* Whether SELF's documents can be packed, and they packed; FALSE and NULL after diagnostics. */
gboolean resolved_check_packing (const Resolution *self, const ModelShape *shape, DiagList *diags);
const SequenceLengths *resolved_pack_lengths (const Resolution *self, const ModelShape *shape,
                                              DiagList *diags);

/* Different micro-batches. */
guint resolved_n_batches (const Resolution *self);

/* Warns of options of SELF's sections that have no effect. */
void resolved_warn_idle (const ResolvedScenario *self, DiagList *diags);

/* Diagnoses a dispatch of tokens between expert ranks of MESH that SELF's cluster does not take. */
gboolean resolved_check_dispatch (const Resolution *self, const Mesh *mesh, DiagList *diags);

/* Diagnoses a precision that SELF's GPUs or its products do not take. */
gboolean resolved_check_precision (const Resolution *self, DiagList *diags);
