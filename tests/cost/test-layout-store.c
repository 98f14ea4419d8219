/*
 * A plan costs the same with layouts that others left: over clusters, kinds, groups, ways of
 * messages and sizes that come again in any order. What is alike is laid once; clusters that differ
 * in an option or a figure are not alike. Not asserted: speed, the store's bound.
 */
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "cost/collective/layout/layout-store.h"
#include "fixture.h"

typedef struct
{
  InputFiles  *files;
  LayoutStore *store;
  double       speed; /* of the network, B/s; 0: the profile's own */
  PxnWish      pxn;
  double       network, hops; /* scales; 0: as the profile has it */
} Alike;

/* Loads, times and choices of KIND over every STRIDE-th GPU of NODES nodes, by way of STORE. */
static char *
costs (const Alike *self, guint nodes, gboolean slow, CollectiveKind kind, guint stride,
       LayoutStore *store)
{
  static const double    sizes[] = { 4, 1e6, 1e9 };
  const FigureChange     change = { "link", "ib-ndr-400", "bandwidth", self->speed, FALSE };
  const ProfileVariant   variant = { .changes = &change, .n_changes = self->speed > 0 };
  g_autoptr (ProfileSet) profiles = profile_set_new_shared (NULL, &variant, self->files);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Cluster)    cluster = NULL;
  CollectiveOptions      options = collective_default_options;
  ClusterOptions         wanted = { 0 };
  guint32                ranks[64];
  guint                  n = 0;
  GString               *out = g_string_new (NULL);

  option_table_defaults (cluster_options, &wanted);
  wanted.node = g_strdup ("dgx-h100");
  wanted.nodes = nodes;
  wanted.oversubscription = slow ? 4 : 1;
  wanted.leaf_nodes = 1;
  cluster = cluster_new (&wanted, profiles, NULL, diags);
  ck_assert_ptr_nonnull (cluster);
  if (self->network > 0)
    cluster_scale_network (cluster, self->network);
  if (self->hops > 0)
    cluster_scale_hops (cluster, self->hops);
  for (guint32 gpu = 0; gpu < cluster_n_gpus (cluster); gpu += stride)
    ranks[n++] = gpu;
  options.layouts = store;
  options.pxn = self->pxn;
  {
    g_autoptr (CollectivePlan) plan = collective_plan_new (cluster, kind, ranks, n, &options);

    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      {
        CollectiveCost cost;

        collective_plan_cost (plan, sizes[i], &cost);
        g_string_append_printf (out, "%d %u %.17g %u\n", cost.algorithm, cost.n_loads, cost.time,
                                cost.binding);
        for (guint l = 0; l < cost.n_loads; l++)
          g_string_append_printf (out, "%u %.17g %.17g\n", cost.loads[l].resource,
                                  cost.loads[l].payload, cost.loads[l].service);
      }
  }
  option_table_clear (cluster_options, &wanted);
  return g_string_free (out, FALSE);
}

START_TEST (what_others_left_costs_the_same)
{
  static const CollectiveKind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER,
                                          COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_TO_ALL };
  g_autoptr (InputFiles)      files = input_files_new ();
  g_autoptr (LayoutStore)     store = layout_store_new ();
  Alike                       self = { files, store, 0, PXN_AUTO, 0, 0 };
  guint                       n_first = 0;

  for (guint round = 0; round < 2; round++)
    {
      for (guint i = 0; i < 4 * 2 * 2 * 2 * 2; i++)
        {
          const guint      nodes = 2 << (i / 4 % 2), stride = 1 + (i / 8 % 2) * 7;
          const gboolean   slow = i / 16 % 2;
          g_autofree char *kept = NULL, *alone = NULL;

          self.pxn = i / 32 % 2 == 0 ? PXN_AUTO : PXN_OFF;
          kept = costs (&self, nodes, slow, kinds[i % 4], stride, store);
          alone = costs (&self, nodes, slow, kinds[i % 4], stride, NULL);
          ck_assert_str_eq (kept, alone);
        }
      n_first = round == 0 ? layout_store_n_made (store) : n_first;
    }
  ck_assert_uint_ge (n_first, 32);
  ck_assert_uint_eq (layout_store_n_made (store), n_first);
}
END_TEST

START_TEST (changed_figures_are_kept_for_nobody)
{
  g_autoptr (InputFiles)  files = input_files_new ();
  g_autoptr (LayoutStore) store = layout_store_new ();
  const Alike             given = { files, store, 0, PXN_AUTO, 0, 0 };
  const Alike             changed = { files, store, 10e9, PXN_AUTO, 0, 0 };
  g_autofree char        *before = costs (&given, 2, FALSE, COLLECTIVE_ALL_GATHER, 1, store);
  const guint             n_made = layout_store_n_made (store);
  g_autofree char        *kept = costs (&changed, 2, FALSE, COLLECTIVE_ALL_GATHER, 1, store);
  g_autofree char        *alone = costs (&changed, 2, FALSE, COLLECTIVE_ALL_GATHER, 1, NULL);

  ck_assert_str_eq (kept, alone);
  ck_assert_str_ne (kept, before);
  ck_assert_uint_eq (layout_store_n_made (store), n_made);
}
END_TEST

/* No layout depends on how long hops take; on what the network carries it does. */
START_TEST (hops_are_no_part_of_a_layout)
{
  g_autoptr (InputFiles)  files = input_files_new ();
  g_autoptr (LayoutStore) store = layout_store_new ();
  const Alike             half = { files, store, 0, PXN_AUTO, 0.5, 0 };
  const Alike             far = { files, store, 0, PXN_AUTO, 0.5, 7 };
  const Alike             third = { files, store, 0, PXN_AUTO, 1 / 3.0, 7 };
  g_autofree char        *near_text = costs (&half, 4, FALSE, COLLECTIVE_ALL_REDUCE, 1, store);
  const guint             n_made = layout_store_n_made (store);
  g_autofree char        *kept = costs (&far, 4, FALSE, COLLECTIVE_ALL_REDUCE, 1, store);
  g_autofree char        *alone = costs (&far, 4, FALSE, COLLECTIVE_ALL_REDUCE, 1, NULL);
  g_autofree char        *slower = NULL, *slower_alone = NULL;

  ck_assert_str_eq (kept, alone);
  ck_assert_str_ne (kept, near_text);
  ck_assert_uint_eq (layout_store_n_made (store), n_made);
  slower = costs (&third, 4, FALSE, COLLECTIVE_ALL_REDUCE, 1, store);
  slower_alone = costs (&third, 4, FALSE, COLLECTIVE_ALL_REDUCE, 1, NULL);
  ck_assert_str_eq (slower, slower_alone);
  ck_assert_uint_gt (layout_store_n_made (store), n_made);
}
END_TEST

SUITE_MAIN (layout_store)
{
  Suite *suite = suite_create ("layout-store");
  TCase *tcase = tcase_create ("layout-store");

  tcase_add_test (tcase, what_others_left_costs_the_same);
  tcase_add_test (tcase, changed_figures_are_kept_for_nobody);
  tcase_add_test (tcase, hops_are_no_part_of_a_layout);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
