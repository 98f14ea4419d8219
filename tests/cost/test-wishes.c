/*
 * Asserts what the settings of the library and of its hosts change, by rule and by arithmetic done
 * by hand: channels (NVIDIA/nccl src/graph/connect.cc), multicast, the host's part of a timed call,
 * access control on PCIe, cards driven through sockets; and which wishes are refused. Not asserted:
 * agreement with measurements, and what queue pairs do.
 */
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  const char       *gpu, *intra, *nic;
  guint             nodes, gpus;
  CollectiveOptions asked;
  guint             channels;
} ChannelCase;

#define RING .algorithm = ALGORITHM_RING, .protocol = PROTOCOL_SIMPLE

static Cluster *
cluster_by_parts (Fixture *fixture, const ChannelCase *one)
{
  fixture_init (fixture, NULL, one->nodes);
  fixture->options.gpus_per_node = one->gpus;
  fixture->options.gpu = g_strdup (one->gpu);
  fixture->options.intra = g_strdup (one->intra);
  fixture->options.nic = g_strdup (one->nodes > 1 ? one->nic : NULL);
  fixture->options.nics = one->nodes > 1 ? (gint64) one->gpus : -1;
  return fixture_cluster (fixture);
}

static CollectiveCost
cost_of (const Cluster *cluster, CollectiveKind kind, double bytes,
         const CollectiveOptions *options)
{
  g_autofree guint32        *ranks = fixture_all (cluster);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, kind, ranks, cluster_n_gpus (cluster), options);
  CollectiveCost cost;

  collective_plan_cost (plan, bytes, &cost);
  cost.loads = NULL;
  return cost;
}

/*
 * 8 cards of 400 Gbit/s are 8 channels of the search at 48 GB/s, twice that run: 16. CollNet adds
 * half, granted or not, but not on one node, not with one GPU a node, and not where the GPUs' links
 * are as slow as the cards. 2 cards of 800 Gbit/s are 2 x 96, split 4 x 48, doubled 8, and because
 * 48 is more than 45 doubled again; with CollNet 12, then 24; on GPUs before Hopper nothing is. A
 * number that is asked for stands.
 */
static const ChannelCase channel_cases[] = {
  { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING }, 16 },
  { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING, .collnet_refused = TRUE }, 24 },
  { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING, .sharp = TRUE }, 24 },
  { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING, .nvls = NVLS_OFF }, 16 },
  { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING, .channels = 5 }, 5 },
  { "b200-sxm-180",
    "nvlink5-switch",
    "ib-ndr-400",
    4,
    8,
    { RING, .sharp = TRUE, .channels = 64 },
    64 },
  { "b200-sxm-180", "nvlink5-switch", "none", 1, 8, { RING }, 32 },
  { "b200-sxm-180", "nvlink5-switch", "none", 1, 8, { RING, .sharp = TRUE }, 32 },
  { "h100-sxm-80", "none", "ib-ndr-400", 4, 1, { RING }, 4 },
  { "h100-sxm-80", "none", "ib-ndr-400", 4, 1, { RING, .sharp = TRUE }, 4 },
  { "b200-sxm-180", "nvlink5-switch", "ib-xdr-800", 4, 2, { RING }, 16 },
  { "b200-sxm-180", "nvlink5-switch", "ib-xdr-800", 4, 2, { RING, .sharp = TRUE }, 24 },
  { "h100-sxm-80", "nvlink4-switch", "ib-ndr-400", 4, 2, { RING }, 8 },
  { "a100-sxm-80", "nvlink3-switch", "ib-ndr-400", 4, 2, { RING }, 8 },
  { "t4-16", "pcie3", "ib-hdr-200", 4, 4, { RING, .sharp = TRUE }, 8 },
};

START_TEST (test_channels)
{
  const ChannelCase  *one = &channel_cases[_i];
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, one);
  const guint channels = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1e10, &one->asked).channels;

  ck_assert_msg (channels == one->channels, "case %d: %u channels, expected %u", _i, channels,
                 one->channels);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* More channels carry more where channels bind, and never less. */
START_TEST (test_channels_carry)
{
  const ChannelCase   few = { "b200-sxm-180", "nvlink5-switch", "ib-ndr-400", 4, 8, { RING }, 16 };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &few);
  CollectiveOptions   options = few.asked;
  double              before = INFINITY;

  for (options.channels = 1; options.channels <= COLLECTIVE_MAX_CHANNELS; options.channels++)
    {
      const double time = cost_of (cluster, COLLECTIVE_ALL_GATHER, 8e9, &options).time;

      ck_assert_double_le (time, before * (1 + 1e-12));
      if (options.channels == 2)
        ck_assert_double_lt (time, 0.6 * before);
      before = time;
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Off: neither NVLS nor its trees, chosen or asked for; on: what is chosen anyway. */
START_TEST (test_multicast)
{
  for (guint nodes = 1; nodes <= 2; nodes++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      CollectiveOptions   options = collective_default_options;
      CollectiveAlgorithm own = nodes == 1 ? ALGORITHM_NVLS : ALGORITHM_NVLS_TREE;

      fixture_init (&fixture, "dgx-h100", nodes);
      cluster = fixture_cluster (&fixture);
      options.nvls = NVLS_ON;
      ck_assert_int_eq (cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1e9, &options).algorithm, own);
      options.nvls = NVLS_OFF;
      for (double bytes = 8; bytes < 1e10; bytes *= 8)
        ck_assert_int_ne (cost_of (cluster, COLLECTIVE_ALL_REDUCE, bytes, &options).algorithm, own);
      options.algorithm = own;
      ck_assert_int_ne (cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1e9, &options).algorithm, own);
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
}
END_TEST

/*
 * Groups of n of a node's 8 GPUs have n channels of the switch, each at most a port over n + 1, of
 * the search's list: of H100 (18 x 20.6 GB/s) 60 GB/s for 4, so 4 x 60 x 0.85 x 3/4 x 2 = 306 GB/s
 * against a ring's 360, and 60 for 5, 408; of B200 (18 x 40.1) 90 for 6, 6 x 90 x 0.74 x 5/6 x 2 =
 * 666 against 720, and 90 for 7, 799.
 */
static const struct
{
  const char *gpu, *intra;
  guint       least; /* GPUs that the switch reduces for */
} group_cases[] = { { "h100-sxm-80", "nvlink4-switch", 5 },
                    { "b200-sxm-180", "nvlink5-switch", 7 } };

START_TEST (test_multicast_of_groups)
{
  const ChannelCase where = {
    .gpu = group_cases[_i].gpu, .intra = group_cases[_i].intra, .nodes = 1, .gpus = 8
  };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
  g_autofree guint32 *ranks = fixture_all (cluster);

  for (guint n = 2; n <= 8; n++)
    {
      g_autoptr (CollectivePlan) plan = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks,
                                                             n, &collective_default_options);
      CollectiveCost             cost;

      collective_plan_cost (plan, 1e9, &cost);
      ck_assert_int_eq (cost.algorithm,
                        n < group_cases[_i].least ? ALGORITHM_RING : ALGORITHM_NVLS);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * LL inside a node of H100: 3 us of a kernel, 1.6 us once and 0.84 us for each of 7 steps; and a
 * channel's 8 operations on 128 bytes at 6.9 GB/s.
 */
START_TEST (test_ll_inside)
{
  const ChannelCase   where = { "h100-sxm-80", "nvlink4-switch", NULL, 1, 8, { 0 }, 0 };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
  CollectiveOptions   asked = collective_default_options;

  asked.algorithm = ALGORITHM_RING;
  asked.protocol = PROTOCOL_LL;
  ck_assert_double_eq_tol (cost_of (cluster, COLLECTIVE_ALL_GATHER, 1024, &asked).time,
                           3e-6 + 1.6e-6 + 7 * 0.84e-6 + 1024 / 6.9e9, 1e-10);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * A tree over 4 nodes of GH200 passes 4 hops between them. 2 KiB are 4 KiB on the wire under LL,
 * which Slingshot sends at once; of 8 bytes more each hop is announced, two ways of 1.3 us.
 */
START_TEST (test_announced_messages)
{
  const ChannelCase   where = { "gh200-96", "nvlink4-mesh", "slingshot-200", 4, 4, { 0 }, 0 };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
  CollectiveOptions   asked = collective_default_options;
  double              eager, announced;

  asked.algorithm = ALGORITHM_TREE;
  asked.protocol = PROTOCOL_LL;
  eager = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 2048, &asked).time;
  announced = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 2056, &asked).time;
  ck_assert_double_eq_tol (announced - eager, 4 * 2 * 1.3e-6, 2e-8);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Cards behind the CPU of a GPU's module: LL128 from release 2.28 on. */
START_TEST (test_ll128_over_a_module)
{
  const ChannelCase        where = { "gh200-96", "nvlink4-mesh", "slingshot-200", 4, 4, { 0 }, 0 };
  static const char *const releases[] = { "2.21", "2.28" };

  for (guint i = 0; i < G_N_ELEMENTS (releases); i++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
      CollectiveOptions   asked = collective_default_options;
      gboolean            ran = FALSE;

      asked.library = releases[i];
      for (double bytes = 8; bytes < 1e10; bytes *= 2)
        ran |= cost_of (cluster, COLLECTIVE_ALL_REDUCE, bytes, &asked).protocol == PROTOCOL_LL128;
      ck_assert_int_eq (ran, i == 1);
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
}
END_TEST

/*
 * What 8 B200 and 8 cards of 400 Gbit/s a node ran unasked under release 2.29.7: an all-reduce of
 * 8 GiB takes the forced ring's time on 4 to 32 nodes, and another on 2, 64 and 67 (Together's log
 * of April 2026). By the library's figures on 64 nodes: ring 8 GiB / 192 GB/s + 1.4 x 4.8 ms, trees
 * over what switches reduced 8 GiB / 175 GB/s + 0.3 ms.
 */
static const struct
{
  guint               nodes;
  CollectiveAlgorithm runs;
} big_cases[] = { { 2, ALGORITHM_NVLS_TREE }, { 4, ALGORITHM_RING },  { 8, ALGORITHM_RING },
                  { 16, ALGORITHM_RING },     { 32, ALGORITHM_RING }, { 64, ALGORITHM_NVLS_TREE },
                  { 67, ALGORITHM_NVLS_TREE } };

START_TEST (test_big_all_reduce)
{
  const ChannelCase where = { .gpu = "b200-sxm-180",
                              .intra = "nvlink5-switch",
                              .nic = "ib-ndr-400",
                              .nodes = big_cases[_i].nodes,
                              .gpus = 8 };
  CollectiveOptions asked = collective_default_options;
  Fixture           fixture;

  asked.library = "2.29.7";
  {
    g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
    CollectiveCost      cost = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 8.0 * (1 << 30), &asked);

    ck_assert_int_eq (cost.algorithm, big_cases[_i].runs);
    ck_assert_int_eq (cost.protocol, PROTOCOL_SIMPLE);
  }
  fixture_clear (&fixture);
}
END_TEST

/*
 * Networks leave fewer protocols: on p4d Simple alone, on TCPXO not LL. What is asked for overrides
 * them, and one node has no network: LL, then the switch, which has Simple alone. On p5 releases of
 * the library before 2.18.5 ran under a plug-in that left Simple alone.
 */
static const struct
{
  const char *nic, *release;
  guint       nodes;
  gboolean    ll, ll128;
} left_cases[] = {
  { "efa-100", NULL, 2, TRUE, TRUE },       { "efa-100", "2.18.5", 2, TRUE, TRUE },
  { "efa-100", "2.18.1", 2, FALSE, FALSE }, { "efa-100-sendrecv", NULL, 2, FALSE, FALSE },
  { "tcpxo-200", NULL, 2, FALSE, TRUE },    { "efa-100-sendrecv", NULL, 1, TRUE, FALSE },
};

START_TEST (test_protocols_left)
{
  const ChannelCase where = { .gpu = "h100-sxm-80",
                              .intra = "nvlink4-switch",
                              .nic = left_cases[_i].nic,
                              .nodes = left_cases[_i].nodes,
                              .gpus = 8 };
  gboolean          ran[PROTOCOL_N] = { FALSE };
  Fixture           fixture;

  {
    g_autoptr (Cluster) cluster = cluster_by_parts (&fixture, &where);
    CollectiveOptions   asked = collective_default_options;

    asked.library = left_cases[_i].release;
    for (double bytes = 8; bytes < 1e10; bytes *= 2)
      ran[cost_of (cluster, COLLECTIVE_ALL_REDUCE, bytes, &asked).protocol] = TRUE;
    ck_assert_int_eq (ran[PROTOCOL_LL], left_cases[_i].ll);
    ck_assert_int_eq (ran[PROTOCOL_LL128], left_cases[_i].ll128);
    ck_assert (ran[PROTOCOL_SIMPLE]);
    asked.protocol = PROTOCOL_LL;
    ck_assert_int_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 8, &asked).protocol, PROTOCOL_LL);
  }
  fixture_clear (&fixture);
}
END_TEST

/*
 * The plug-in of 2023 on p5. Its settings are the process's: eight ranks inside one of two nodes
 * have Simple alone as well, and nothing that the switch multicasts. A ring of 64 nodes takes 511
 * steps with two chunks on their way: 255 hops between nodes and the last step's, each 69 - 14 us
 * longer than under the library's own hop of 14 us.
 */
START_TEST (test_plug_in_of_an_older_library)
{
  const guint32     ranks[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  CollectiveOptions old = collective_default_options, newer = collective_default_options;
  Fixture           fixture;

  old.library = "2.18.1";
  newer.library = "2.20";
  newer.protocol = PROTOCOL_SIMPLE;
  fixture_init (&fixture, "p5", 64);
  {
    g_autoptr (Cluster)        cluster = fixture_cluster (&fixture);
    g_autoptr (CollectivePlan) inside =
        collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, G_N_ELEMENTS (ranks), &old);
    CollectiveCost slow = cost_of (cluster, COLLECTIVE_ALL_GATHER, 1 << 20, &old);
    CollectiveCost fast = cost_of (cluster, COLLECTIVE_ALL_GATHER, 1 << 20, &newer);

    ck_assert_double_eq_tol (slow.time - fast.time, 256 * 55e-6, 1e-7);
    for (double bytes = 8; bytes < 1e10; bytes *= 8)
      {
        CollectiveCost cost;

        collective_plan_cost (inside, bytes, &cost);
        ck_assert_int_eq (cost.protocol, PROTOCOL_SIMPLE);
        ck_assert_int_ne (cost.algorithm, ALGORITHM_NVLS);
      }
  }
  fixture_clear (&fixture);
}
END_TEST

/* A call that is timed by itself takes the host's 15 us more, at every size and step by step. */
START_TEST (test_timed_calls)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  ck_assert_double_eq (cluster_node_profile (cluster, 0)->issue_collective.value, 15e-6);
  for (double bytes = 8; bytes < 1e10; bytes *= 8)
    {
      CollectiveCost without, with;

      options.timed_calls = FALSE;
      without = cost_of (cluster, COLLECTIVE_ALL_GATHER, bytes, &options);
      options.timed_calls = TRUE;
      with = cost_of (cluster, COLLECTIVE_ALL_GATHER, bytes, &options);
      ck_assert_double_eq_tol (with.time - without.time, 15e-6, 1e-12);
      ck_assert_double_eq_tol (with.latency - without.latency, 15e-6, 1e-12);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* What one GPU exchanges with another node puts on its switch's uplink. */
static double
uplink_payload (Fixture *fixture, guint32 peer, ResourceKind kind)
{
  g_autoptr (Cluster) cluster = fixture_cluster (fixture);
  const guint32       ranks[] = { 0, peer };
  g_autoptr (Laid)    plan = laid_new (cluster, COLLECTIVE_SEND_RECV, ranks, 2, ALGORITHM_N);

  return plan_sum (plan, cluster, kind, 0);
}

/*
 * A GPU and its card under one switch: nothing goes up. Under access control what the GPU sends
 * goes up and down on its way to the card, and what the card receives on its way to the GPU: 2 S
 * each way. By parts the same holds for boards with an NVSwitch, which are taken to have switches.
 * The switch of 4 A100 joined all to all is not known: nothing.
 */
START_TEST (test_access_control)
{
  static const ChannelCase parts[] = {
    { "h100-sxm-80", "nvlink4-switch", "ib-ndr-400", 2, 8, { RING }, 0 },
    { "a100-sxm-40", "nvlink3-mesh", "ib-hdr-200", 2, 4, { RING }, 0 },
  };
  const double expected[] = { 2, 0 };
  Fixture      fixture;

  fixture_init (&fixture, "dgx-h100", 2);
  ck_assert_double_eq (uplink_payload (&fixture, 8, RESOURCE_SWITCH_UP), 0);
  fixture.options.pcie_acs = TRUE;
  assert_near (uplink_payload (&fixture, 8, RESOURCE_SWITCH_UP), 2);
  assert_near (uplink_payload (&fixture, 8, RESOURCE_SWITCH_DOWN), 2);
  fixture_clear (&fixture);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      cluster_free (cluster_by_parts (&fixture, &parts[i]));
      ck_assert_double_eq (uplink_payload (&fixture, parts[i].gpus, RESOURCE_SWITCH_UP), 0);
      fixture.options.pcie_acs = TRUE;
      assert_near (uplink_payload (&fixture, parts[i].gpus, RESOURCE_SWITCH_UP), expected[i]);
      fixture_clear (&fixture);
    }
}
END_TEST

/* The card's profile names another, staged in host memory; one that names none is refused. */
START_TEST (test_sockets)
{
  const ChannelCase slingshot = {
    "a100-sxm-40", "nvlink3-mesh", "slingshot-200", 2, 4, { RING }, 0
  };
  Fixture              fixture;
  g_autoptr (Cluster)  with = cluster_by_parts (&fixture, &slingshot);
  g_autoptr (Cluster)  without = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();

  fixture.options.nic_sockets = TRUE;
  without = fixture_cluster (&fixture);
  ck_assert_str_eq (cluster_nic_profile (without, 0)->id, "tcp-200");
  ck_assert_double_eq (cluster_nic_profile (without, 0)->bandwidth.value,
                       cluster_nic_profile (with, 0)->bandwidth.value);
  ck_assert (cluster_gpu_card_is_direct (with, 0, 0));
  ck_assert (!cluster_gpu_card_is_direct (without, 0, 0));
  g_free (fixture.options.nic);
  fixture.options.nic = g_strdup ("ib-hdr-200");
  ck_assert_ptr_null (cluster_new (&fixture.options, fixture.profiles, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "nic 'ib-hdr-200' does not say what it is over sockets");
  g_clear_pointer (&with, cluster_free);
  g_clear_pointer (&without, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* NODE: NULL, any. */
static void
assert_refused (const CollectiveOptions *options, const char *node, const char *reason)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree char    *said = NULL;

  fixture_init (&fixture, node, 2);
  cluster = node != NULL ? fixture_cluster (&fixture) : NULL;
  said = collective_options_refusal (options, cluster, NULL);
  ck_assert_pstr_eq (said, reason);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}

START_TEST (test_refusals)
{
  CollectiveOptions options = collective_default_options;

  assert_refused (&options, "dgx-a100", NULL);
  options.nvls = NVLS_ON;
  assert_refused (&options, "dgx-h100", NULL);
  assert_refused (&options, NULL, NULL);
  assert_refused (&options, "dgx-a100",
                  "NVLS is on, but no switch multicasts between 'a100-sxm-80' over "
                  "'nvlink3-switch'");
  assert_refused (&options, "mn5-acc",
                  "NVLS is on, but no switch multicasts between 'h100-sxm-64' over 'nvlink4-mesh'");
  options.nvls = NVLS_AUTO;
  options.algorithm = ALGORITHM_NVLS_TREE;
  assert_refused (&options, "dgx-h100", NULL);
  assert_refused (&options, "dgx-a100",
                  "'nvls_tree' is asked for, but no switch multicasts between 'a100-sxm-80' over "
                  "'nvlink3-switch'");
  options.nvls = NVLS_OFF;
  assert_refused (&options, NULL, "'nvls_tree' is asked for, but NVLS is off");
  options.algorithm = ALGORITHM_COLLNET_CHAIN;
  assert_refused (&options, "dgx-h100", NULL);
  options.collnet_refused = TRUE;
  assert_refused (&options, NULL,
                  "'collnet_chain' is asked for, but the switches refuse to reduce");
  options.sharp = TRUE;
  options.collnet_refused = FALSE;
  assert_refused (&options, "dgx-h100", NULL);
  assert_refused (&options, "a3-high",
                  "'sharp' is asked for, but the switches of 'tcpx-200' do not reduce: its profile "
                  "has no 'sharp_efficiency'");
  options.collnet_refused = TRUE;
  assert_refused (&options, NULL,
                  "the switches cannot both reduce ('sharp') and refuse to ('collnet' asked for in "
                  "vain)");
}
END_TEST

/* What is forced runs in some group of the cluster, or is an error: NCCL stops there. */
START_TEST (test_forced)
{
  static const struct
  {
    CollectiveAlgorithm algorithm;
    CollectiveProtocol  protocol;
    guint               nodes;
    const char         *refusal;
  } cases[] = {
    { ALGORITHM_N, PROTOCOL_LL, 1, NULL },
    { ALGORITHM_TREE, PROTOCOL_N, 1, NULL },
    { ALGORITHM_NVLS, PROTOCOL_N, 1, NULL },
    { ALGORITHM_NVLS, PROTOCOL_N, 2, NULL }, /* inside the node */
    { ALGORITHM_PAT, PROTOCOL_N, 2, NULL },  /* over one GPU a node */
    { ALGORITHM_PAT, PROTOCOL_N, 1, "there is no pat on 1 node x 8 h100-sxm-80, nvlink4-switch" },
    { ALGORITHM_NVLS_TREE, PROTOCOL_LL, 2, "there is no nvls_tree under ll on 2 nodes x 8" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      g_autofree char    *said = NULL;
      CollectiveOptions   options = collective_default_options;
      RefusedWish         wish;

      options.algorithm = cases[i].algorithm;
      options.protocol = cases[i].protocol;
      fixture_init (&fixture, "dgx-h100", cases[i].nodes);
      cluster = fixture_cluster (&fixture);
      said = collective_forced_refusal (&options, cluster, &wish);
      if (cases[i].refusal == NULL)
        ck_assert_pstr_eq (said, NULL);
      else
        ck_assert_msg (said != NULL && g_str_has_prefix (said, cases[i].refusal), "%u: %s", i,
                       said);
      if (said != NULL)
        ck_assert_str_eq (wish.key, "algorithm");
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
}
END_TEST

static Suite *
wishes_suite (void)
{
  Suite *suite = suite_create ("wishes");
  TCase *library = tcase_create ("library"), *hosts = tcase_create ("hosts");

  tcase_add_loop_test (library, test_channels, 0, G_N_ELEMENTS (channel_cases));
  tcase_add_test (library, test_channels_carry);
  tcase_add_test (library, test_multicast);
  tcase_add_loop_test (library, test_multicast_of_groups, 0, G_N_ELEMENTS (group_cases));
  tcase_add_test (library, test_ll_inside);
  tcase_add_test (library, test_announced_messages);
  tcase_add_test (library, test_ll128_over_a_module);
  tcase_add_loop_test (library, test_big_all_reduce, 0, G_N_ELEMENTS (big_cases));
  tcase_add_loop_test (library, test_protocols_left, 0, G_N_ELEMENTS (left_cases));
  tcase_add_test (library, test_plug_in_of_an_older_library);
  tcase_add_test (library, test_timed_calls);
  tcase_add_test (library, test_refusals);
  tcase_add_test (library, test_forced);
  tcase_add_test (hosts, test_access_control);
  tcase_add_test (hosts, test_sockets);
  suite_add_tcase (suite, library);
  suite_add_tcase (suite, hosts);
  return suite;
}

SUITE_MAIN (wishes)
{
  return suite_run (wishes_suite ());
}
