/*
 * Rings and messages over fabrics against their steps: where the plan's closed form says that a
 * leaf's uplinks, a slow card or two rings on one uplink bind, every step executed over the links
 * says so as well. Within 3 %, at 4 GiB.
 */
#include "../suite.h"
#include "replay/run/collective-run.h"

#include <check.h>
#include <math.h>

#define SIZE 0x1p32

typedef struct
{
  double analytic, step;
} Times;

/* WISHES: NULL for a ring. */
static Times
time_collective (ProfileSet *profiles, const char *settings, CollectiveKind kind,
                 const CollectiveOptions *wishes)
{
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_auto (GStrv)             items = g_strsplit (settings, ";", -1);
  ClusterOptions             options = { 0 };
  g_autoptr (Cluster)        cluster = NULL;
  g_autofree guint32        *ranks = NULL;
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveOptions          ring = wishes != NULL ? *wishes : collective_default_options;
  CollectiveRunItem          item = { .bytes = SIZE };
  SimTime                    finish;
  guint                      n;

  option_table_defaults (cluster_options, &options);
  for (guint i = 0; items[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (items[i], "=", 2);

      ck_assert (option_set_key (cluster_options, &options, pair[0], pair[1], NULL, diags));
    }
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  ck_assert_msg (cluster != NULL, "%s: %s", settings, diag_list_first_message (diags));
  n = cluster_n_gpus (cluster);
  ranks = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    ranks[i] = i;
  ring.algorithm = ALGORITHM_RING;
  ring.protocol = PROTOCOL_SIMPLE;
  plan = collective_plan_new (cluster, kind, ranks, n, &ring);
  item.plan = plan;
  ck_assert (collective_run_step (cluster, &item, 1, &finish, NULL));
  return (Times){ collective_plan_time (plan, SIZE), sim_time_to_seconds (finish) };
}

static Times
time_ring (ProfileSet *profiles, const char *settings)
{
  return time_collective (profiles, settings, COLLECTIVE_ALL_GATHER, NULL);
}

/*
 * SLOWER: how many times as long as the same ring over one switch, by the arguments of
 * tests/cost/test-fabric-loads.c; 0: nothing is said.
 */
typedef struct
{
  const char *settings;
  double      slower;
} FabricCase;

static const FabricCase cases[] = {
  { "name=8 x dgx-a100", 1 },
  /* a leaf of 4 nodes is left by one node's rings: 4 times oversubscribed costs nothing ... */
  { "name=8 x dgx-a100;leaf_nodes=4;oversubscription=4", 1 },
  /* ... and 8 times twice as long, for the leaf's boundary alone */
  { "name=8 x dgx-a100;leaf_nodes=4;oversubscription=8", 2 },
  { "name=8 x dgx-a100;fabric=fat-tree;leaf_nodes=2;group_nodes=4;spine_oversubscription=8", 2 },
  { "name=8 x dgx-a100;fabric=dragonfly;group_nodes=4;taper=0.125", 2 },
  /* one card at half its rate, of 64 */
  { "name=8 x dgx-a100;slow_nics=5.3:0.5", 2 },
  /* every ring has an uplink of a card's rate for itself, of 32; of 4 slower ones two share one */
  { "name=8 x dgx-a100;leaf_nodes=4;routing=d-mod-k", 1 },
  { "name=8 x dgx-a100;leaf_nodes=4;oversubscription=8;uplinks=4;routing=d-mod-k", 2 },
  /* a leaf of 4 nodes has half a node's uplinks, whoever has its other nodes ... */
  { "name=8 x dgx-a100;fabric_nodes=32;leaf_nodes=4;oversubscription=8;placement=spread:8", 2 },
  /* ... or the uplinks of one node, of which other jobs have half */
  { "name=8 x dgx-a100;leaf_nodes=4;oversubscription=4;background=50 %", 2 },
  /* hashed: the closed form's, whatever that is */
  { "name=8 x dgx-a100;fabric_nodes=32;leaf_nodes=4;routing=ecmp;qps=4;placement=random", 0 },
  { "name=8 x dgx-a100;leaf_nodes=2;routing=ecmp;qps=3;routing_seed=5", 0 },
};

START_TEST (test_rings)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const Times            flat = time_ring (profiles, cases[0].settings);
  const Times            self = time_ring (profiles, cases[_i].settings);

  ck_assert_msg (fabs (self.step / self.analytic - 1) < 0.03,
                 "%s: %g s by steps, %g s in closed form", cases[_i].settings, self.step,
                 self.analytic);
  ck_assert (self.step >= flat.step * 0.999);
  ck_assert_msg (cases[_i].slower == 0
                     || fabs (self.step / flat.step / cases[_i].slower - 1) < 0.03,
                 "%s: %g times as long as over one switch, not %g", cases[_i].settings,
                 self.step / flat.step, cases[_i].slower);
}
END_TEST

/*
 * 8 nodes on rails, one leaf each with a quarter of its cards' rate: with PXN nothing leaves a
 * rail, so the messages take what they take over one switch. Without, 7 of 8 bytes of an all-to-all
 * cross leaves, which takes 7/8 x 4 times as long.
 */
typedef struct
{
  CollectiveKind kind;
  PxnWish        pxn;
  double         slower;
} MessageCase;

static const MessageCase message_cases[] = {
  { COLLECTIVE_ALL_TO_ALL, PXN_AUTO, 1 },
  { COLLECTIVE_SEND_RECV, PXN_AUTO, 1 },
  { COLLECTIVE_ALL_TO_ALL, PXN_OFF, 3.5 },
};

START_TEST (test_messages)
{
  const MessageCase     *one = &message_cases[_i];
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  CollectiveOptions      wishes = collective_default_options;
  const Times            flat = time_collective (profiles, "name=8 x dgx-h100", one->kind, &wishes);
  Times                  self;

  wishes.pxn = one->pxn;
  self =
      time_collective (profiles, "name=8 x dgx-h100;fabric=rails;leaf_nodes=8;oversubscription=4",
                       one->kind, &wishes);
  ck_assert_msg (fabs (self.step / self.analytic - 1) < 0.03, "%g s by steps, %g s in closed form",
                 self.step, self.analytic);
  ck_assert_msg (fabs (self.step / flat.step / one->slower - 1) < 0.03,
                 "%g times as long as over one switch, not %g", self.step / flat.step, one->slower);
}
END_TEST

SUITE_MAIN (fabric_step)
{
  Suite *suite = suite_create ("fabric-step");
  TCase *tcase = tcase_create ("fabric-step");

  tcase_add_loop_test (tcase, test_rings, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_messages, 0, G_N_ELEMENTS (message_cases));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
