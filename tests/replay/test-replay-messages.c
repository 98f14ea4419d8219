/*
 * Messages between halves of the ranks, after the model's kernels: alone one takes what its plan
 * says; the two of one group call move side by side, two calls one after another; a send waits for
 * its receive and holds its SMs meanwhile; all ranks of a half fold into one; what follows on the
 * stream follows the whole call. And passes of dualpipe run concurrently. Not asserted: how a
 * pipeline uses messages.
 */
#include <math.h>

#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

#define BYTES ((guint64) 64 << 20)

typedef enum
{
  MAIL_ONE,   /* the first half sends */
  MAIL_BOTH,  /* both send and receive, in one call */
  MAIL_TURNS, /* first one way, then the other */
  MAIL_LATE,  /* the second half is late */
} MailKind;

typedef struct
{
  gint64 kind;
} MailOptions;

static const OptionSpec mail_options[] = {
  { .key = "kind",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (MailOptions, kind),
    .fallback = "0",
    .help = "what is sent" },
  { 0 },
};

static guint
mail_role (const PlanInput *in, G_GNUC_UNUSED gconstpointer opt, guint rank)
{
  return rank >= in->mesh.n_ranks / 2;
}

static void
send_or_receive (const StrategyRun *run, CommRef comm, guint sender)
{
  ScheduleP2p message = { run->role == sender ? MESSAGE_SEND : MESSAGE_RECEIVE,
                          comm,
                          1 - run->role,
                          SCHEDULE_NONE,
                          BYTES,
                          sender == 0 ? "there" : "back" };

  schedule_p2p (run->b, SCHEDULE_COMPUTE, &message, 1);
}

static void
exchange (const StrategyRun *run, CommRef comm)
{
  const ScheduleP2p messages[] = {
    { MESSAGE_SEND, comm, 1 - run->role, SCHEDULE_NONE, BYTES, run->role == 0 ? "there" : "back" },
    { MESSAGE_RECEIVE, comm, 1 - run->role, SCHEDULE_NONE, BYTES,
      run->role == 0 ? "back" : "there" },
  };

  schedule_p2p (run->b, SCHEDULE_COMPUTE, messages, G_N_ELEMENTS (messages));
}

static void
mail_step_end (StrategyRun *run)
{
  MailKind   kind = (MailKind) ((const MailOptions *) run->options)->kind;
  CommRef    comm = schedule_comm (run->b, "halves",
                                   (MeshGroup){ .size = 2, .stride = run->in->mesh.n_ranks / 2 });
  KernelDesc slow = kernel_desc_stream (KERNEL_COPY, "slow", DTYPE_BF16, 1 << 30, 1 << 30, 1);
  KernelDesc after = kernel_desc_stream (KERNEL_COPY, "after", DTYPE_BF16, 1, 1, 1);

  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  if (kind == MAIL_LATE && run->role == 1)
    schedule_kernel (run->b, SCHEDULE_COMPUTE, &slow);
  if (kind == MAIL_BOTH)
    exchange (run, comm);
  else
    send_or_receive (run, comm, 0);
  if (kind == MAIL_TURNS)
    send_or_receive (run, comm, 1);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &after);
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
}

static const Strategy mail = {
  .api = STRATEGY_API_VERSION,
  .name = "mail",
  .title = "messages after the model's kernels",
  .options_size = sizeof (MailOptions),
  .options = mail_options,
  .role = mail_role,
  .hooks = { .init = data_anywhere, .step_end = mail_step_end },
};

static Replay *
mail_replay (ProfileSet *profiles, const char *nodes, MailKind kind)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", nodes, "model.arch", "llama", "model.n_layers",
      "1", "model.d_model", "64", "model.n_heads", "2", "model.d_ff", "128", "model.vocab", "100",
      "training.seq_len", "16", "training.micro_batch", "1", "strategy.name", "ddp", NULL);

  scenario->strategy->strategy = &mail;
  g_free (scenario->strategy->options);
  scenario->strategy->options = g_new0 (MailOptions, 1);
  ((MailOptions *) scenario->strategy->options)->kind = kind;
  return fixture_replay (scenario, profiles, FALSE, 0);
}

/* The last op of LABEL that RANK took part in. */
static const OpRecord *
last_op (const Replay *replay, const char *label, guint rank)
{
  const OpRecord *found = NULL;

  for (OpId op = 0; op < engine_n_ops (replay_engine (replay)); op++)
    {
      g_autofree char   *name = replay_op_label (replay, op);
      g_autoptr (GArray) members = replay_op_members (replay, op);

      for (guint i = 0; i < members->len; i++)
        if (g_str_has_prefix (name, label) && g_array_index (members, guint, i) == rank)
          found = engine_op_record (replay_engine (replay), op);
    }
  ck_assert_ptr_nonnull (found);
  return found;
}

static void
assert_alone (const Replay *replay, const OpRecord *record)
{
  const Cluster             *cluster = replay_cluster (replay);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new_message (cluster, 0, cluster_n_gpus (cluster) / 2, NULL);
  CollectiveCost cost;
  double         seconds = sim_time_to_seconds (record->end - record->begin);

  collective_plan_cost (plan, (double) BYTES, &cost);
  ck_assert_msg (fabs (seconds - cost.time) < 3e-12, "took %.15g s, alone %.15g s", seconds,
                 cost.time);
}

START_TEST (test_one_message)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = mail_replay (profiles, _i == 0 ? "1" : "4", MAIL_ONE);
  const OpRecord        *there = last_op (replay, "there", 0);

  ck_assert_uint_eq (replay_n_ranks (replay), 2);
  ck_assert_ptr_eq (there, last_op (replay, "there", 1));
  assert_alone (replay, there);
  ck_assert (last_op (replay, "after", 0)->begin >= there->end);
  ck_assert (last_op (replay, "after", 1)->begin >= there->end);
}
END_TEST

/* Cards and switches carry both ways at once. */
START_TEST (test_one_call_moves_both_ways_at_once)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     both = mail_replay (profiles, _i == 0 ? "1" : "4", MAIL_BOTH);
  g_autoptr (Replay)     turns = mail_replay (profiles, _i == 0 ? "1" : "4", MAIL_TURNS);
  const OpRecord        *there = last_op (both, "there", 0), *back = last_op (both, "back", 0);

  ck_assert_uint_eq (there->begin, back->begin);
  assert_alone (both, there);
  assert_alone (both, back);
  ck_assert (last_op (both, "after", 0)->begin >= MAX (there->end, back->end));
  ck_assert (last_op (both, "after", 1)->begin >= MAX (there->end, back->end));
  there = last_op (turns, "there", 1);
  back = last_op (turns, "back", 1);
  ck_assert (back->begin >= there->end);
  assert_alone (turns, back);
}
END_TEST

START_TEST (test_a_send_waits_for_its_receive)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = mail_replay (profiles, "1", MAIL_LATE);
  const OpRecord        *there = last_op (replay, "there", 0), *slow = last_op (replay, "slow", 1);

  ck_assert_uint_eq (there->begin, slow->end);
  ck_assert (there->first_arrival < slow->end);
  assert_alone (replay, there);
}
END_TEST

/* Half of the GPUs of four nodes send 64 MiB each through their cards; of one node, over NVLink. */
START_TEST (test_traffic)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = mail_replay (profiles, _i == 0 ? "1" : "4", MAIL_ONE);
  g_autoptr (GArray)     all = replay_bound_traffic (replay_bound (replay), WHOLE_PERIOD);
  const ReplayTraffic   *traffic = &g_array_index (all, ReplayTraffic, 0);

  ck_assert_uint_eq (all->len, 1);
  ck_assert_int_eq (traffic->kind, COLLECTIVE_SEND_RECV);
  ck_assert_uint_eq (traffic->calls, 1);
  ck_assert (traffic->bytes == (double) BYTES);
  ck_assert (fabs (traffic->inter_node_per_gpu - (_i == 0 ? 0 : BYTES / 2.0)) < 1);
  ck_assert (fabs (traffic->intra_node_per_gpu - (_i == 0 ? BYTES / 2.0 : 0)) < 1);
}
END_TEST

/* ---- concurrent passes ---------------------------------------------------------------------- */

static gboolean
has_member (const Replay *replay, OpId op, guint rank)
{
  g_autoptr (GArray) members = replay_op_members (replay, op);

  for (guint i = 0; i < members->len; i++)
    if (g_array_index (members, guint, i) == rank)
      return TRUE;
  return FALSE;
}

/*
 * Of the time that RANK's expert collectives take, the part in which its kernels run, each kernel's
 * stream by itself.
 */
static double
hidden_part (const Replay *replay, guint rank)
{
  const Engine *engine = replay_engine (replay);
  StreamId      first = replay_rank (replay, rank)->first_stream;
  guint         n_streams = schedule_n_streams (replay_schedule (replay));
  double        all = 0, hidden = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord     *record = engine_op_record (engine, op);
      const ScheduleItem *item = replay_op (replay, op).item;

      if (item->kind != ITEM_COLLECTIVE || item->collective != COLLECTIVE_ALL_TO_ALL
          || !has_member (replay, op, rank))
        continue;
      all += (double) (record->end - record->begin);
      for (OpId other = 0; other < engine_n_ops (engine); other++)
        {
          const OpRecord *r = engine_op_record (engine, other);

          if (r->stream >= first && r->stream < first + n_streams
              && replay_op (replay, other).item->kind == ITEM_KERNEL && r->begin < record->end
              && r->end > record->begin)
            hidden += (double) (MIN (r->end, record->end) - MAX (r->begin, record->begin));
        }
    }
  ck_assert (all > 0);
  return hidden / all;
}

/*
 * Experts on four nodes. Only dualpipe, and an interleaved pipeline that overlaps, compute while
 * they dispatch and combine: a forward pass beside a backward one. The share that is hidden is not
 * asserted beyond a tenth: it is up to the sizes, and to which kernel an exchange has to wait for
 * when it starts.
 */
START_TEST (test_dualpipe_hides_dispatch)
{
  static const char *const pipelines[] = { "1f1b", "zbv", "interleaved", "dualpipe",
                                           "interleaved" };
  const gboolean           interleaved = _i == 2 || _i == 4;
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "4", "model.arch", "llama", "model.n_layers",
      "4", "model.d_model", "1024", "model.n_heads", "8", "model.d_ff", "1024", "model.vocab",
      "1000", "model.n_experts", "16", "model.n_experts_per_token", "2", "training.seq_len", "2048",
      "training.micro_batch", "2", "training.grad_accum", "8", "mesh.pp", "2", "mesh.ep", "16",
      "mesh.pipeline", pipelines[_i], "mesh.p2p", "direct", "mesh.vp", interleaved ? "2" : "1",
      "mesh.moe_overlap", _i == 4 ? "true" : "false", "strategy.name", "zero1", NULL);

  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);
  double             part = hidden_part (replay, 0);

  if (_i < 3)
    ck_assert_msg (part < 1e-3, "%s hides %.3g", pipelines[_i], part);
  else
    ck_assert_msg (part > 0.1, "%s hides %.3g", pipelines[_i], part);
}
END_TEST

/* ---- shared experts ------------------------------------------------------------------------- */

/* Seconds of the last operation NAME on rank 0. */
static double
time_of (const Replay *replay, const char *name)
{
  const Engine *engine = replay_engine (replay);

  for (OpId op = engine_n_ops (engine); op-- > 0;)
    {
      const OpRecord *record = engine_op_record (engine, op);

      if (g_strcmp0 (replay_op (replay, op).item->label, name) == 0 && has_member (replay, op, 0))
        return (double) (record->end - record->begin) * 1e-12;
    }
  ck_abort_msg ("no operation '%s'", name);
}

/*
 * A step of one block on two GPUs, each half of whose shared experts takes longer than an exchange
 * of tokens, so that those that run with one save all its time. The return of the forward pass has
 * one product with it, of all SMs, and becomes ready as that one does: it starts behind it. The
 * other three begin with the second of several kernels. Two of those are products of all SMs that
 * lose the few that an exchange holds, and up to a wave: together less than 0.7 of an exchange,
 * since a wave takes 34 us (128 x 128 x 1024 x 2 FLOP on an SM of 1 TFLOP/s) in the one and 268 us
 * (8 times as deep) in the other, an exchange 571 us.
 */
START_TEST (test_shared_experts_hide_dispatch)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  double                 step[2], exchange = 0, saved;

  for (guint with = 0; with < 2; with++)
    {
      g_autoptr (Scenario) scenario = fixture_scenario (
          "cluster.node", "toy-pair", "cluster.nodes", "1", "model.arch", "llama", "model.n_layers",
          "1", "model.d_model", "1024", "model.n_heads", "8", "model.d_ff", "1024", "model.vocab",
          "128", "model.n_experts", "4", "model.n_experts_per_token", "2", "model.n_shared_experts",
          "8", "training.seq_len", "12800", "mesh.ep", "2", "mesh.shared_expert_overlap",
          with ? "true" : "false", "strategy.name", "ddp", NULL);
      g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

      step[with] = replay_step_time (replay);
      if (!with)
        exchange = time_of (replay, "experts.dispatch");
    }
  saved = (step[0] - step[1]) / exchange;
  ck_assert_msg (saved < 3 && saved > 2.3, "%g exchanges are hidden", saved);
}
END_TEST

/* Seconds of a step on four nodes over rails with narrow leaves. */
static double
step_on_rails (ProfileSet *profiles, const char *pxn, const char *ep, const char *pp)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "4", "cluster.fabric", "rails",
      "cluster.leaf_nodes", "4", "cluster.oversubscription", "16", "collective.pxn", pxn,
      "model.arch", "llama", "model.n_layers", "8", "model.d_model", "1024", "model.n_heads", "8",
      "model.d_ff", "1024", "model.vocab", "1000", "model.n_experts", "32",
      "model.n_experts_per_token", "2", "training.seq_len", "2048", "training.micro_batch", "2",
      "mesh.ep", ep, "mesh.pp", pp, "strategy.name", "zero1", NULL);

  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  return replay_step_time (replay);
}

/*
 * Dispatch and combination are all-to-alls of their group, so they keep to their rails with PXN. A
 * pipeline's messages have communicators of two ranks, where nobody can relay: on or off is one.
 */
START_TEST (test_dispatch_keeps_to_rails)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  ck_assert_double_lt (step_on_rails (profiles, "auto", "32", "1"),
                       0.8 * step_on_rails (profiles, "off", "32", "1"));
  ck_assert (step_on_rails (profiles, "auto", "1", "8")
             == step_on_rails (profiles, "off", "1", "8"));
}
END_TEST

/*
 * Seconds of a step on four nodes whose tokens have 8 of 32 experts, in passes side by side; rows
 * are padded, so that the host is no part of it.
 */
static double
step_with_dispatch (ProfileSet *profiles, const char *dispatch, const char *sms)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "4", "model.arch", "llama", "model.n_layers",
      "4", "model.d_model", "1024", "model.n_heads", "8", "model.d_ff", "1024", "model.vocab",
      "1000", "model.n_experts", "32", "model.n_experts_per_token", "8", "training.seq_len", "2048",
      "training.micro_batch", "2", "training.grad_accum", "8", "mesh.pp", "2", "mesh.ep", "16",
      "mesh.pipeline", "dualpipe", "mesh.dispatch", dispatch, "mesh.dispatch_sms", sms,
      "mesh.capacity_factor", "1", "mesh.pad_to_capacity", "true", "strategy.name", "zero1", NULL);

  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  return replay_step_time (replay);
}

/*
 * An expert group has two nodes: a token crosses a card once at most, not 4 times of 8. SMs that
 * the exchange holds are missing to the pass of the other direction.
 */
START_TEST (test_two_level_dispatch)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const double           step = step_with_dispatch (profiles, "two-level", "20");

  ck_assert_double_lt (step, 0.8 * step_with_dispatch (profiles, "nccl", "20"));
  ck_assert_double_lt (1.02 * step, step_with_dispatch (profiles, "two-level", "100"));
}
END_TEST

static Suite *
messages_suite (void)
{
  Suite *suite = suite_create ("replay-messages");
  TCase *tcase = tcase_create ("messages");

  tcase_add_loop_test (tcase, test_one_message, 0, 2);
  tcase_add_loop_test (tcase, test_one_call_moves_both_ways_at_once, 0, 2);
  tcase_add_test (tcase, test_a_send_waits_for_its_receive);
  tcase_add_loop_test (tcase, test_traffic, 0, 2);
  tcase_add_loop_test (tcase, test_dualpipe_hides_dispatch, 0, 5);
  tcase_add_test (tcase, test_dispatch_keeps_to_rails);
  tcase_add_test (tcase, test_shared_experts_hide_dispatch);
  tcase_add_test (tcase, test_two_level_dispatch);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (replay_messages)
{
  return fixture_main (messages_suite ());
}
