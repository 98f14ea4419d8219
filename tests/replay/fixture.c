#include "fixture.h"
#include "../suite.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_OVERRIDES 64

typedef struct
{
  ScenarioOverride list[MAX_OVERRIDES];
  guint            n;
  GStringChunk    *strings;
} Overrides;

static void
overrides_add (Overrides *self, const char *key, const char *value)
{
  g_assert (self->n < MAX_OVERRIDES);
  self->list[self->n++] =
      (ScenarioOverride){ g_string_chunk_insert (self->strings, key),
                          g_string_chunk_insert (self->strings, value), "test" };
}

static void
overrides_add_int (Overrides *self, const char *key, gint64 value)
{
  char text[32];

  g_snprintf (text, sizeof text, "%" G_GINT64_FORMAT, value);
  overrides_add (self, key, text);
}

static Scenario *
load (const Overrides *overrides, DiagList *diags)
{
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, overrides->list, overrides->n, diags);

  return all != NULL ? scenario_copy (g_ptr_array_index (all, 0)) : NULL;
}

static void
fail_on (const DiagList *diags, const GError *error)
{
  g_autofree char *text = diag_list_format (diags, FALSE);

  if (*text != '\0' || error != NULL)
    ck_abort_msg ("%s%s", text, error != NULL ? error->message : "");
}

Scenario *
fixture_scenario (const char *key, ...)
{
  Overrides            overrides = { .strings = g_string_chunk_new (256) };
  g_autoptr (DiagList) diags = diag_list_new ();
  Scenario            *scenario;
  va_list              args;

  va_start (args, key);
  while (key != NULL)
    {
      overrides_add (&overrides, key, va_arg (args, const char *)); /* NOLINT: started above */
      key = va_arg (args, const char *);
    }
  va_end (args);
  scenario = load (&overrides, diags);
  fail_on (diags, NULL);
  g_string_chunk_free (overrides.strings);
  return scenario;
}

Scenario *
fixture_toy_scenario (const char *node, const Strategy *strategy, gpointer options)
{
  Scenario *scenario = fixture_scenario (
      "cluster.node", node, "cluster.nodes", "1", "model.arch", "llama", "model.n_layers", "1",
      "model.d_model", "64", "model.n_heads", "2", "model.d_ff", "128", "model.vocab", "100",
      "training.seq_len", "16", "training.micro_batch", "1", "strategy.name", "ddp", NULL);

  scenario->strategy->strategy = strategy;
  g_free (scenario->strategy->options);
  scenario->strategy->options = options;
  return scenario;
}

ProfileSet *
fixture_toy_profiles (void)
{
  g_autofree char *dir =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "replay", "profiles", NULL);

  return profile_set_new (dir);
}

Replay *
fixture_replay (const Scenario *scenario, ProfileSet *profiles, gboolean unfolded,
                guint min_periods)
{
  const BoundOptions how = { .unfolded = unfolded };

  return fixture_replay_bound (scenario, profiles, &how, min_periods);
}

Replay *
fixture_replay_bound (const Scenario *scenario, ProfileSet *profiles, const BoundOptions *how,
                      guint min_periods)
{
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  ReplayOptions           options = { .min_periods = min_periods };
  g_autoptr (ReplayPlan)  plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (ReplayBound) bound = NULL;
  Replay                 *replay = NULL;

  if (plan != NULL)
    {
      bound = replay_bound_new_with (plan, how);
      replay = replay_new (bound, &options, &error);
    }
  if (replay == NULL)
    fail_on (diags, error);
  ck_assert_ptr_nonnull (replay);
  return replay;
}

/* ---- random scenarios ------------------------------------------------------------------------ */

#define PICK(rand, list) ((list)[g_rand_int_range (rand, 0, G_N_ELEMENTS (list))])

static void
random_parts (Overrides *o, GRand *rand, guint *nodes, guint *gpus)
{
  static const struct
  {
    const char *gpu, *intra;
  } joined[] = { { "a40-48", "nvlink-pairs" },        { "a40-48", "pcie4" },
                 { "a100-sxm-80", "nvlink3-switch" }, { "a100-sxm-80", "nvlink3-mesh" },
                 { "h100-sxm-80", "nvlink4-switch" }, { "h100-sxm-80", "pcie4-host" } };
  static const char *const nic[] = { "ib-edr-100", "ib-hdr-200", "tcp-100" };
  static const guint       per_node[] = { 1, 2, 4, 8, 3 };
  static const guint       nics[] = { 1, 2, 4 };
  const gint32             part = g_rand_int_range (rand, 0, G_N_ELEMENTS (joined));

  *gpus = PICK (rand, per_node);
  overrides_add_int (o, "cluster.nodes", *nodes);
  overrides_add_int (o, "cluster.gpus_per_node", *gpus);
  overrides_add (o, "cluster.gpu", joined[part].gpu);
  overrides_add (o, "cluster.intra", joined[part].intra);
  overrides_add (o, "cluster.nic", PICK (rand, nic));
  overrides_add_int (o, "cluster.nics", PICK (rand, nics));
}

static void
random_named (Overrides *o, GRand *rand, guint *nodes, guint *gpus)
{
  static const char *const names[] = { "dgx-a100", "a40x8-nvlink-pairs", "dgx-h100" };

  *gpus = 8;
  if (g_rand_int_range (rand, 0, 4) == 0)
    {
      *nodes = 4; /* two of each kind */
      overrides_add (o, "cluster.name", "mixed-a100-a40");
      return;
    }
  overrides_add (o, "cluster.node", PICK (rand, names));
  overrides_add_int (o, "cluster.nodes", *nodes);
}

/*
 * A larger fabric that other jobs share, and where this one lies. Drawn apart, by SEED: the draws
 * of the rest of the scenario stay what they are.
 */
static void
random_placement (Overrides *o, guint32 seed, guint nodes, const char *routing)
{
  static const char *const placements[] = { "packed", "random", "scattered", "spread:2" };
  GRand                   *rand = g_rand_new_with_seed (seed);
  const char              *placement = PICK (rand, placements);

  if (g_str_equal (placement, "spread:2") && nodes < 2)
    placement = "packed";
  overrides_add_int (o, "cluster.fabric_nodes", (gint64) nodes * g_rand_int_range (rand, 2, 5));
  overrides_add (o, "cluster.placement", placement);
  if (g_str_equal (placement, "random") || g_str_equal (placement, "scattered"))
    overrides_add_int (o, "cluster.placement_seed", g_rand_int_range (rand, 0, 1000));
  if (g_str_equal (routing, "ecmp"))
    overrides_add_int (o, "cluster.qps", g_rand_int_range (rand, 1, 9));
  if (g_rand_boolean (rand))
    overrides_add (o, "cluster.background", "25 %");
  g_rand_free (rand);
}

/* Two or three sites with unlike links, where there are nodes for them. */
static void
add_sites (Overrides *o, guint nodes)
{
  const char      *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char *file = g_build_filename (root != NULL ? root : ".", "tests/hardware/sites",
                                            nodes > 2 ? "three.csv" : "two.csv", NULL);

  if (nodes < 2)
    return;
  overrides_add (o, "cluster.sites", file);
  overrides_add_int (o, "cluster.wan_streams", 4);
}

static void
random_fabric (Overrides *o, GRand *rand, guint nodes)
{
  static const char *const oversubscription[] = { "1", "2", "3.5" };
  static const char *const routings[] = { "spray", "d-mod-k", "ecmp" };
  static const char *const fabrics[] = { "leaf-spine", "rails", "fat-tree", "dragonfly" };
  const char              *fabric = PICK (rand, fabrics), *routing;
  gint                     leaf_nodes = g_rand_int_range (rand, 1, (gint) nodes + 1);

  if (g_rand_int_range (rand, 0, 2) == 0)
    {
      if (leaf_nodes % 2 == 1)
        add_sites (o, nodes);
      return;
    }
  overrides_add_int (o, "cluster.leaf_nodes", leaf_nodes);
  overrides_add (o, "cluster.oversubscription", PICK (rand, oversubscription));
  routing = PICK (rand, routings);
  overrides_add (o, "cluster.routing", routing);
  overrides_add (o, "cluster.fabric", fabric);
  if (!g_str_equal (fabric, "leaf-spine"))
    overrides_add_int (o, "cluster.group_nodes", (gint64) 2 * leaf_nodes);
  if (nodes > 1 && g_rand_int_range (rand, 0, 4) == 0)
    overrides_add (o, "cluster.slow_nics", "1.0:0.5");
  if (leaf_nodes % 2 == 1)
    random_placement (
        o,
        (guint32) (97 * nodes + 31 * (guint) leaf_nodes + strlen (routing) + 7 * strlen (fabric)),
        nodes, routing);
}

static void
random_slow (Overrides *o, GRand *rand, guint n_gpus)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint               n = g_rand_int_range (rand, 0, 4);

  if (n > 2)
    return;
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%u:%s", i > 0 ? "," : "",
                            (guint) g_rand_int_range (rand, 0, (gint) n_gpus),
                            g_rand_int_range (rand, 0, 2) ? "0.5" : "0.75");
  if (n > 0)
    overrides_add (o, "cluster.slow_gpus", text->str);
}

static void
random_model (Overrides *o, GRand *rand)
{
  static const char *const arch[] = { "gpt", "llama" };

  overrides_add (o, "model.arch", PICK (rand, arch));
  overrides_add_int (o, "model.n_layers", g_rand_int_range (rand, 1, 4));
  overrides_add_int (o, "model.d_model", (gint64) 256 * g_rand_int_range (rand, 1, 17));
  overrides_add_int (o, "model.n_heads", 8);
  overrides_add_int (o, "model.d_ff", (gint64) 512 * g_rand_int_range (rand, 1, 33));
  overrides_add_int (o, "model.vocab", (gint64) 1000 * g_rand_int_range (rand, 1, 20));
}

static void
random_training (Overrides *o, GRand *rand)
{
  static const char *const checkpointing[] = { "none", "selective", "full" };

  overrides_add_int (o, "training.seq_len", (gint64) 256 * g_rand_int_range (rand, 1, 9));
  overrides_add_int (o, "training.grad_accum", g_rand_int_range (rand, 1, 3));
  overrides_add (o, "training.activation_checkpointing", PICK (rand, checkpointing));
  overrides_add (o, "training.compile", g_rand_int_range (rand, 0, 2) ? "true" : "false");
}

typedef gboolean (*IsOfKind) (const Strategy *strategy);

/* One that exchanges slices takes no other workload: test-rounds.c. */
static gboolean
is_outer (const Strategy *strategy)
{
  return strategy->outer && !g_str_equal (strategy->name, "ppu");
}

/* Those of gradients; of outer ones the two plainest. */
static gboolean
is_plain (const Strategy *strategy)
{
  return !strategy_perturbs (strategy)
         && (!strategy->outer || g_str_equal (strategy->name, "co2")
             || g_str_equal (strategy->name, "local-sgd"));
}

/* The INDEX-th strategy of KIND, round and round; *N: how many there are. */
static const Strategy *
nth_strategy (guint index, IsOfKind kind, guint *n)
{
  g_autoptr (GPtrArray) some = g_ptr_array_new ();

  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    if (kind (*list))
      g_ptr_array_add (some, (gpointer) *list);
  *n = some->len;
  return some->pdata[index % some->len];
}

/*
 * One in nine is of zeroth order, and an outer one is any of these; what the others are depends on
 * neither.
 */
static const Strategy *
draw_strategy (GRand *rand)
{
  g_autoptr (GRand) other = g_rand_copy (rand);
  const Strategy   *strategy;
  guint             turn, n;

  g_rand_int (other); /* that draw is of the others */
  turn = (guint) g_rand_int_range (other, 0, 18);
  nth_strategy (0, is_plain, &n);
  strategy = nth_strategy ((guint) g_rand_int_range (rand, 0, (gint) n), is_plain, &n);
  if (turn < 2)
    return nth_strategy (turn, strategy_perturbs, &n);
  return strategy->outer ? nth_strategy (g_rand_int (other), is_outer, &n) : strategy;
}

static void
random_strategy (Overrides *o, GRand *rand, guint gpus)
{
  const Strategy *strategy = draw_strategy (rand);

  overrides_add (o, "strategy.name", strategy->name);
  if (strategy_perturbs (strategy))
    overrides_add (o, "training.activation_checkpointing", "none");
  if (strategy->outer)
    {
      static const char *const inner[] = { "ddp", "fsdp2", "zero1" };
      const char              *drawn = PICK (rand, inner);
      gboolean                 whole = strategy->role != NULL; /* what a leader exchanges */

      overrides_add (o, "strategy.local_steps", "3"); /* a first, one between, a last */
      overrides_add (o, "strategy.inner.name",
                     whole && g_str_equal (drawn, "fsdp2") ? "zero2" : drawn);
    }
  else if (option_table_find (strategy->options, "shard") != NULL && gpus > 1
           && g_rand_int_range (rand, 0, 2))
    overrides_add (o, "strategy.shard", g_rand_int_range (rand, 0, 2) ? "node" : "all");
}

Scenario *
fixture_random (GRand *rand, ProfileSet *profiles)
{
  Scenario *scenario = NULL;

  /* Some combinations do not exist (hsdp on unequal groups, slow GPUs named twice): draw again. */
  for (guint attempt = 0; scenario == NULL && attempt < 50; attempt++)
    {
      Overrides            o = { .strings = g_string_chunk_new (256) };
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (Cluster)  cluster = NULL;
      guint                nodes = g_rand_int_range (rand, 1, 6), gpus;

      (g_rand_int_range (rand, 0, 3) ? random_parts : random_named) (&o, rand, &nodes, &gpus);
      random_fabric (&o, rand, nodes);
      random_slow (&o, rand, nodes * gpus);
      random_model (&o, rand);
      random_training (&o, rand);
      random_strategy (&o, rand, gpus);
      scenario = load (&o, diags);
      if (scenario == NULL)
        fail_on (diags, NULL);
      cluster = cluster_new (&scenario->cluster, profiles, NULL, diags);
      if (cluster == NULL)
        g_clear_pointer (&scenario, scenario_free);
      g_string_chunk_free (o.strings);
    }
  ck_assert_ptr_nonnull (scenario);
  return scenario;
}

/* ---- random meshes --------------------------------------------------------------------------- */

static void
random_mesh_cluster (Overrides *o, GRand *rand)
{
  static const guint nodes[] = { 1, 2, 4 }, gpus[] = { 2, 4, 8 };
  guint              n = PICK (rand, nodes), g;

  random_parts (o, rand, &n, &g);
  g = n == 4 ? 4 : PICK (rand, gpus); /* 16 ranks at most */
  overrides_add_int (o, "cluster.gpus_per_node", g);
  random_fabric (o, rand, n);
  if (g_rand_int_range (rand, 0, 3) == 0)
    random_slow (o, rand, n * g);
}

static void
random_experts (Overrides *o, GRand *rand, guint tp)
{
  static const guint       degrees[] = { 1, 2, 4 };
  static const char *const capacities[] = { "0", "1.25" };
  guint                    ep = PICK (rand, degrees), chosen = g_rand_int_range (rand, 1, 3);

  overrides_add_int (o, "model.n_experts", 4);
  overrides_add_int (o, "model.n_experts_per_token", chosen);
  overrides_add_int (o, "mesh.ep", ep);
  overrides_add (o, "model.n_shared_experts", ep > 1 ? "2" : "0");
  overrides_add (o, "mesh.capacity_factor", PICK (rand, capacities));
  overrides_add (o, "mesh.pad_to_capacity", chosen == 1 ? "true" : "false");
  overrides_add (o, "mesh.routing_skew", ep > 1 && g_rand_boolean (rand) ? "1.5" : "1");
  if (tp > 1)
    overrides_add_int (o, "mesh.sp", 1);
  else if (ep > 1 && g_rand_boolean (rand))
    {
      overrides_add (o, "mesh.dispatch", "two-level");
      return;
    }
  overrides_add (o, "mesh.shared_expert_overlap", ep > 1 ? "true" : "false");
}

/* The micro-steps and blocks that it needs. */
static void
random_pipeline (Overrides *o, GRand *rand, guint case_)
{
  static const char *const kinds[] = { "gpipe", "1f1b", "interleaved", "zb-h1",
                                       "zb-h2", "zbv",  "dualpipe" };
  static const char *const p2p[] = { "batched-sync", "batched", "direct" };
  const char              *kind = kinds[case_ % G_N_ELEMENTS (kinds)];
  gint64                   pp = g_rand_int_range (rand, 0, 3) == 0 ? 4 : 2;

  overrides_add_int (o, "mesh.pp", pp);
  overrides_add (o, "mesh.order", g_rand_boolean (rand) ? "tp-cp-dp-pp" : "tp-cp-pp-dp");
  overrides_add (o, "mesh.pipeline", kind);
  overrides_add (o, "mesh.p2p", PICK (rand, p2p));
  overrides_add (o, "mesh.scatter_gather", g_rand_boolean (rand) ? "true" : "false");
  overrides_add_int (o, "mesh.vp", g_str_equal (kind, "interleaved") ? 2 : 1);
  overrides_add_int (o, "training.grad_accum", pp * 2);
  overrides_add_int (o, "model.n_layers", 2 * pp + g_rand_int_range (rand, 0, 2));
}

static void
random_axes (Overrides *o, GRand *rand, guint case_)
{
  static const guint       degrees[] = { 1, 2, 4 };
  static const char *const contexts[] = { "ring", "all-gather" };
  static const char *const waits[] = { "none", "forward", "backward" };
  guint                    tp = PICK (rand, degrees);

  overrides_add_int (o, "mesh.tp", tp);
  overrides_add_int (o, "mesh.cp", g_rand_int_range (rand, 0, 3) == 0 ? 2 : 1);
  overrides_add (o, "mesh.context", PICK (rand, contexts));
  if (tp > 1)
    {
      overrides_add_int (o, "mesh.sp", g_rand_boolean (rand));
      overrides_add (o, "mesh.async_tp", g_rand_int_range (rand, 0, 4) ? "false" : "true");
      overrides_add (o, "mesh.async_tp_by", case_ % 2 == 0 ? "userbuffers" : "slices");
    }
  if (case_ % 4 == 0)
    random_experts (o, rand, tp);
  overrides_add (o, "training.micro_step_sync", waits[case_ % 5 % G_N_ELEMENTS (waits)]);
  overrides_add (o, "training.cuda_graphs", case_ % 3 == 0 ? "block" : "none");
  if (case_ % 3 != 0)
    random_pipeline (o, rand, case_);
}

Scenario *
fixture_random_mesh (GRand *rand, guint case_, ProfileSet *profiles)
{
  for (guint attempt = 0; attempt < 400; attempt++)
    {
      Overrides            o = { .strings = g_string_chunk_new (256) };
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (GError)   error = NULL;
      g_autoptr (Scenario) scenario = NULL;
      g_autoptr (Replay)   replay = NULL;
      ReplayOptions        options = { 0 };

      random_mesh_cluster (&o, rand);
      random_model (&o, rand);
      random_training (&o, rand);
      random_strategy (&o, rand, 2);
      random_axes (&o, rand, case_);
      scenario = load (&o, diags);
      g_string_chunk_free (o.strings);
      if (scenario == NULL)
        fail_on (diags, NULL);
      replay = replay_run (scenario, profiles, &options, diags, &error); /* or axes do not fit */
      if (replay != NULL)
        return g_steal_pointer (&scenario);
    }
  ck_abort_msg ("case %u: no mesh fits", case_);
}

GBytes *
fixture_record (const Replay *replay)
{
  const Engine *engine = replay_engine (replay);
  GByteArray   *bytes = g_byte_array_new ();

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord     *r = engine_op_record (engine, op);
      const TraceSegment *segments = engine_segments (engine, r);
      const guint64       words[] = { r->tag,           r->issue,  r->begin,     r->end,
                                      r->first_arrival, r->drain,  r->gate,      r->gate_op,
                                      r->gate_host,     r->stream, r->n_segments };

      g_byte_array_append (bytes, (const guint8 *) words, sizeof words);
      for (guint i = 0; i < r->n_segments; i++)
        {
          const guint64 segment[] = { segments[i].duration, segments[i].cause,
                                      segments[i].resource };

          g_byte_array_append (bytes, (const guint8 *) segment, sizeof segment);
        }
    }
  return g_byte_array_free_to_bytes (bytes);
}

Scenario *
fixture_random_case (guint32 seed, guint case_, ProfileSet *profiles)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed + case_);

  return case_ % 2 == 0 ? fixture_random_mesh (rand, case_ / 2, profiles)
                        : fixture_random (rand, profiles);
}

int
fixture_main (Suite *suite)
{
  return suite_run (suite);
}
