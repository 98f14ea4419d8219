#include "step-fixture.h"

#include <check.h>

void
fixture_init (Fixture *self, const char *node, guint nodes)
{
  *self = (Fixture){ .profiles = profile_set_new (NULL) };
  option_table_defaults (cluster_options, &self->options);
  self->options.node = g_strdup (node);
  self->options.nodes = nodes;
}

void
fixture_build (Fixture *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  self->cluster = cluster_new (&self->options, self->profiles, NULL, diags);
  ck_assert_msg (self->cluster != NULL, "%s", diag_list_first_message (diags));
}

void
fixture_clear (Fixture *self)
{
  for (guint i = 0; i < 2; i++)
    collective_plan_free (self->plans[i]);
  cluster_free (self->cluster);
  option_table_clear (cluster_options, &self->options);
  profile_set_free (self->profiles);
}

CollectivePlan *
fixture_plan (Fixture *self, guint place, CollectiveKind kind, CollectiveAlgorithm algorithm,
              CollectiveProtocol protocol, const guint32 *ranks, guint n)
{
  CollectiveOptions   options = collective_default_options;
  g_autofree guint32 *all = g_new (guint32, cluster_n_gpus (self->cluster));

  for (guint i = 0; i < cluster_n_gpus (self->cluster); i++)
    all[i] = i;
  options.algorithm = algorithm;
  options.protocol = protocol;
  self->plans[place] =
      collective_plan_new (self->cluster, kind, ranks != NULL ? ranks : all,
                           ranks != NULL ? n : cluster_n_gpus (self->cluster), &options);
  return self->plans[place];
}

guint32 *
fixture_even_and_odd (const Fixture *self)
{
  guint    n = cluster_n_gpus (self->cluster);
  guint32 *ranks = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    ranks[i % 2 * (n / 2) + i / 2] = i;
  return ranks;
}

double
fixture_step (const Fixture *self, CollectivePlan *plan, double bytes)
{
  CollectiveRunItem item = { plan, bytes, 0 };
  SimTime           finish;

  ck_assert (collective_run_step (self->cluster, &item, 1, &finish, NULL));
  return sim_time_to_seconds (finish);
}

double
fixture_fluid (const Fixture *self, CollectivePlan *plan, double bytes)
{
  CollectiveRunItem item = { plan, bytes, 0 };
  SimTime           finish;

  ck_assert (collective_run_fluid (self->cluster, &item, 1, &finish, NULL));
  return sim_time_to_seconds (finish);
}

double
fixture_allowed (double bytes)
{
  return bytes >= LARGE ? 0.03 : 0.15;
}
