/*
 * Random models, meshes and options for the property tests of strategies. Everything follows from
 * the seed.
 */
#pragma once

#include "model/step/sequence-lengths.h"
#include "strategy/registry.h"

typedef struct
{
  ModelShape      shape;
  TrainingOptions training;
  MeshOptions     mesh;
  GPtrArray      *stages;  /* Workload of each pipeline stage */
  GPtrArray      *batches; /* of unlike sequences the same of each micro-batch, in the place of
                              `stages`; or NULL */
  PlanBatches     rows;    /* of `in`, with those */
  PlanInput       in;
  InputFiles     *files;  /* of `in` */
  GPtrArray      *blocks; /* option structs and inner choices, freed with the plan */
  StrategyChoice *choice;
  Schedule       *schedule; /* built while drawing, or NULL */
  GString        *description;
  const gchar    *text; /* what was drawn, for messages: of `description` */
} RandomPlan;

/*
 * Draws a plan for STRATEGY. CASE_ cycles through the values of boolean and enum options, so that a
 * few dozen consecutive cases use each at least once; numbers are drawn from a few sizes between
 * the option's bounds, the default among them. Lossy options have their defaults in three cases of
 * four.
 */
RandomPlan *random_plan_new (const Strategy *strategy, guint32 seed, guint case_);

/*
 * The same on the axes of a mesh, which three cases in four have: tensor, context and expert ranks,
 * pipelines of all kinds. Where STRATEGY refuses pipelines and experts, without these.
 */
RandomPlan *random_plan_new_mesh (const Strategy *strategy, guint32 seed, guint case_);

/*
 * The same with sequences that differ, where a plan takes them: drawn, dealt evenly, or by turns as
 * a partition divides them. Plans that take none have none.
 */
RandomPlan *random_plan_new_lengths (const Strategy *strategy, guint32 seed, guint case_);

/*
 * Makes SELF's workloads again, of sequences that differ (random-lengths.c). FALSE: its model, mesh
 * or training takes none, and nothing has changed.
 */
gboolean random_plan_draw_lengths (RandomPlan *self, guint case_);

/* The row of ROLE of SELF's schedule. */
guint random_plan_row (const RandomPlan *self, const Schedule *schedule, guint role);

void random_plan_free (RandomPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RandomPlan, random_plan_free)
