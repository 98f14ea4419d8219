/* What the tests of generation share. */
#pragma once

#include <check.h>
#include <math.h>

#include "serve/generator.h"

#define CLOSE(a, b, tolerance) ck_assert_double_eq_tol (a, b, (tolerance) *fabs (1.0 * (b)))

/* A model on a cluster. */
typedef struct
{
  ModelShape        shape;
  GenerationOptions options;
  ProfileSet       *profiles;
  Cluster          *cluster;
  DiagList         *diags;
} Fixture;

static inline Fixture
fixture_new (const char *model, const char *cluster)
{
  Fixture        self = { .profiles = profile_set_new (NULL), .diags = diag_list_new () };
  ModelOptions   options = { .config = (char *) model };
  ClusterOptions wanted = { 0 };

  ck_assert (model_resolve (&options, NULL, NULL, &self.shape, NULL, self.diags));
  option_table_defaults (generation_options, &self.options);
  option_table_defaults (cluster_options, &wanted);
  g_free (wanted.name);
  wanted.name = g_strdup (cluster);
  self.cluster = cluster_new (&wanted, self.profiles, NULL, self.diags);
  ck_assert_ptr_nonnull (self.cluster);
  option_table_clear (cluster_options, &wanted);
  return self;
}

static inline void
fixture_clear (Fixture *self)
{
  option_table_clear (generation_options, &self->options);
  model_shape_clear (&self->shape);
  cluster_free (self->cluster);
  profile_set_free (self->profiles);
  diag_list_free (self->diags);
}

static inline Generator *
generator_of (Fixture *self)
{
  Generator *generator = generator_new (&self->shape, &self->options, self->cluster,
                                        &collective_default_options, self->diags);

  ck_assert_msg (generator != NULL, "%s", diag_list_first_message (self->diags));
  return generator;
}

static inline GenerationTime
step (Fixture *self, double sequences, double tokens, double cached)
{
  g_autoptr (Generator) generator = generator_of (self);
  const SequenceGroup   group = { sequences, tokens, cached };
  GenerationTime        time;

  generator_step (generator, &group, 1, &time);
  return time;
}
