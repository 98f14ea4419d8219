/*
 * The checker: a sound schedule passes, and each fault is found and placed. Faults are put into the
 * steady section by the toy strategy; what a fault would do to a replay is not tested here.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "toy.h"

/* LENGTH: tokens of a sequence. */
static char *
check_toy_once (const ToyOptions *options, gint64 length, SoundPrograms *known)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  const StrategyChoice choice = { &toy_layer, options, NULL };
  g_autoptr (Schedule) schedule = NULL;
  const Mesh           mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 };
  g_autoptr (DiagList) diags = diag_list_new ();
  gboolean             sound;

  training.seq_len = length;
  workload = workload_new (&toy_shape, &training);
  schedule = toy_build (workload, 4, &choice);
  sound = schedule_check_once (schedule, &mesh, known, NULL, diags);
  ck_assert_int_eq (sound, !diag_list_has_errors (diags));
  return g_strdup (diag_list_first_message (diags));
}

static char *
check_toy (const ToyOptions *options)
{
  return check_toy_once (options, toy_training.seq_len, NULL);
}

typedef struct
{
  ToyFault    fault;
  guint       n_roles;
  const char *place, *what; /* how the first message begins and ends */
} FaultCase;

static const FaultCase fault_cases[] = {
  { TOY_WAIT_UNRECORDED, 1, "role 0, steady section, item 0 (wait): ",
    "waits for event e999, which is not recorded before it" },
  { TOY_WAIT_OLD_EVENT, 1,
    "role 0, steady section, item 0 (wait): ", "waits for an event of another section" },
  { TOY_FREE_AFTER_NOTHING, 1, "role 0, steady section, item ",
    "(free 'gathered', block 0): waits for event e999, which is not recorded before it" },
  { TOY_DOUBLE_FREE, 1, "role 0, steady section, item ",
    "(free 'gathered', block 0): frees buffer b" },
  { TOY_USE_AFTER_FREE, 1, "role 0, steady section, item ", " ('gathered') after it is freed" },
  { TOY_LEAK, 1, "role 0, steady section, item ", " is never freed" },
  { TOY_OLD_BUFFER, 1, "role 0, steady section, item ", "(copy 'fault', block 0): uses buffer b" },
  { TOY_FREE_PERSISTENT, 1,
    "role 0, steady section, item 0 (free 'shard'): ", "frees buffer b0 of the init section" },
  { TOY_BYTES_DIFFER, 2,
    "communicator 'shard': its ranks do not issue the same collectives: role 0, steady section, ",
    "(collective 'gather', block 0): all_gather of 131330 bytes" },
  { TOY_KIND_DIFFERS, 2,
    "communicator 'shard': its ranks do not issue the same collectives: role 0, steady section, ",
    "(collective 'gather', block 0): broadcast of 131328 bytes" },
  { TOY_COUNT_DIFFERS, 2,
    "communicator 'shard': its ranks do not issue the same collectives: role 0, steady section, ",
    "(collective 'gather', block 1): all_gather of 131328 bytes" },
  { TOY_TAIL_DIFFERS, 2,
    "communicator 'shard': its ranks do not issue the same collectives: role 0, steady section, ",
    "(collective 'tail'): all_gather of 16 bytes, but role 1, steady section, item " },
  { TOY_DEADLOCK, 2, "deadlock: role 0, steady section, item 0 (collective 'fault'): ",
    "the other ranks of 'shard' never reach it" },
};

START_TEST (finds_each_fault)
{
  const FaultCase *fault = &fault_cases[_i];
  const ToyOptions options = { .fault = fault->fault, .n_roles = fault->n_roles };
  g_autofree char *message = check_toy (&options);

  ck_assert_ptr_nonnull (message);
  ck_assert_msg (g_str_has_prefix (message, fault->place), "%s", message);
  ck_assert_msg (strstr (message, fault->what) != NULL, "%s", message);
}
END_TEST

/* A fault is found whatever sound programs are known: those without it, and those with others. */
START_TEST (finds_faults_besides_what_is_known)
{
  g_autoptr (SoundPrograms) known = sound_programs_new ();

  for (guint n_roles = 1; n_roles <= 2; n_roles++)
    {
      const ToyOptions options = { .n_roles = n_roles };
      g_autofree char *message = check_toy_once (&options, toy_training.seq_len, known);

      ck_assert_msg (message == NULL, "%s", message);
    }
  for (guint i = 0; i < G_N_ELEMENTS (fault_cases); i++)
    {
      const ToyOptions options = { .fault = fault_cases[i].fault,
                                   .n_roles = fault_cases[i].n_roles };
      g_autofree char *message = check_toy_once (&options, toy_training.seq_len, known);
      g_autofree char *again = check_toy_once (&options, toy_training.seq_len, known);

      ck_assert_ptr_nonnull (message);
      ck_assert_msg (strstr (message, fault_cases[i].what) != NULL, "%s", message);
      ck_assert_str_eq (again, message);
    }
}
END_TEST

/* Other amounts need no other proof, in any of the roles; another program does. */
START_TEST (proves_programs_once)
{
  g_autoptr (SoundPrograms) known = sound_programs_new ();
  const ToyOptions          one = { .n_roles = 1 };
  guint                     n_first;

  g_free (check_toy_once (&one, 128, known));
  n_first = sound_programs_n_known (known);
  g_free (check_toy_once (&one, 256, known));
  ck_assert_uint_eq (n_first, 0);
  ck_assert_uint_eq (sound_programs_n_known (known), 1);
}
END_TEST

START_TEST (passes_sound_schedules)
{
  for (guint n_roles = 1; n_roles <= 4; n_roles *= 2)
    {
      const ToyOptions options = { .n_roles = n_roles };
      g_autofree char *message = check_toy (&options);

      ck_assert_msg (message == NULL, "%s", message);
    }
}
END_TEST

/*
 * Ranks 0 and 2 have role 0, ranks 1 and 3 role 1: groups {0, 2} and {1, 3} hold one role each, so
 * their sequences may differ.
 */
START_TEST (roles_that_never_meet_may_differ)
{
  static const ToyFault faults[] = { TOY_BYTES_DIFFER, TOY_KIND_DIFFERS, TOY_COUNT_DIFFERS,
                                     TOY_DEADLOCK };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      const ToyOptions options = { .fault = faults[i], .n_roles = 2, .apart = TRUE };
      g_autofree char *message = check_toy (&options);

      ck_assert_msg (message == NULL, "%s", message);
    }
}
END_TEST

/* ---- schedules written by hand --------------------------------------------------------------- */

static ScheduleBuilder *
builder_new (const Workload *workload, guint n_roles, guint n_ranks)
{
  guint32 *roles = g_new (guint32, n_ranks);

  for (guint rank = 0; rank < n_ranks; rank++)
    roles[rank] = rank % n_roles;
  return toy_builder (workload, n_roles, roles, n_ranks);
}

static void
end_sections (ScheduleBuilder *b, guint n_roles)
{
  for (guint role = 0; role < n_roles; role++)
    for (guint s = SECTION_FIRST; s < SECTION_N; s++)
      {
        schedule_builder_select (b, role, (ScheduleSection) s);
        schedule_builder_end_step (b);
      }
}

static char *
check_built (ScheduleBuilder *b, guint n_ranks)
{
  g_autoptr (Schedule) schedule = schedule_builder_finish (b);
  const Mesh           mesh = { .n_ranks = n_ranks, .world = n_ranks };
  g_autoptr (DiagList) diags = diag_list_new ();

  schedule_check (schedule, &mesh, NULL, diags);
  return g_strdup (diag_list_first_message (diags));
}

START_TEST (counts_steps)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 1, 4);
  g_autofree char     *message = NULL;

  end_sections (b, 1);
  schedule_builder_end_step (b); /* of the steady section, once more */
  message = check_built (b, 4);
  ck_assert_str_eq (message, "role 0, steady section, item 2: 2 steps are marked instead of 1");
}
END_TEST

START_TEST (groups_must_tile_the_ranks)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 1, 4);
  g_autofree char     *message = NULL;

  schedule_comm (b, "odd", (MeshGroup){ .size = 3, .stride = 1 });
  end_sections (b, 1);
  message = check_built (b, 4);
  ck_assert_str_eq (message, "communicator 'odd': groups of 3 ranks, 1 apart, do not tile 4 ranks");
}
END_TEST

typedef enum
{
  CARRY_AND_WAIT,
  CARRY_ONLY,
  TAKE_ONLY,
} CarryCase;

/*
 * Each period ends with a copy to the host that nobody waits for, and the next one writes what it
 * reads: sound only behind the event that is carried over.
 */
static char *
check_carried (CarryCase how)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 1, 2);
  StreamRef            side = schedule_stream (b, "side", 0);
  KernelDesc           kernel = kernel_desc_stream (KERNEL_COPY, "write", DTYPE_BF16, 8, 8, 1);
  BufferRef            data;

  schedule_builder_select (b, 0, SECTION_INIT);
  data = schedule_alloc (b, PLACE_HBM, POOL_PARAMETER, 64, "data");
  for (guint s = SECTION_FIRST; s < SECTION_N; s++)
    {
      schedule_builder_select (b, 0, (ScheduleSection) s);
      if (how != CARRY_ONLY)
        schedule_wait (b, SCHEDULE_COMPUTE, schedule_carried (b, "sent"));
      schedule_kernel (b, SCHEDULE_COMPUTE, &kernel);
      schedule_uses (b, data, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_wait_stream (b, side, SCHEDULE_COMPUTE);
      schedule_move (b, side, PLACE_HBM, PLACE_PINNED, 64, "send");
      schedule_uses (b, data, SCHEDULE_WHOLE, ACCESS_READ);
      if (how != TAKE_ONLY)
        schedule_carry (b, "sent", schedule_record (b, side));
      schedule_builder_end_step (b);
    }
  return check_built (b, 2);
}

START_TEST (events_are_carried_over)
{
  g_autofree char *sound = check_carried (CARRY_AND_WAIT);
  g_autofree char *unordered = check_carried (CARRY_ONLY);
  g_autofree char *nothing = check_carried (TAKE_ONLY);

  ck_assert_msg (sound == NULL, "%s", sound);
  ck_assert_msg (g_str_has_prefix (unordered, "role 0, steady section, item 0 (kernel 'write'): "
                                              "may run before role 0, first section"),
                 "%s", unordered);
  ck_assert_str_eq (nothing, "role 0, first section, item 0 (take 'sent'): takes an event that no "
                             "section carries");
}
END_TEST

typedef enum
{
  PASS_SOUND,
  PASS_UNORDERED, /* freed while the copy may still read it */
  PASS_UNFREED,
  PASS_UNLIKE, /* the steady one is larger */
  PASS_ONCE,   /* the steady section carries none */
  PASS_UNSEEN, /* the first section carries none */
  PASS_TWICE,
} PassCase;

/*
 * Each period writes a fragment that a copy still reads at its end; the next one waits and frees
 * it.
 */
static char *
check_passed (PassCase how)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 1, 2);
  StreamRef            side = schedule_stream (b, "side", 0);
  KernelDesc           kernel = kernel_desc_stream (KERNEL_COPY, "write", DTYPE_BF16, 8, 8, 1);

  schedule_builder_select (b, 0, SECTION_INIT);
  for (guint s = SECTION_FIRST; s < SECTION_N; s++)
    {
      guint     bytes = how == PASS_UNLIKE && s == SECTION_STEADY ? 128 : 64;
      BufferRef fragment;

      schedule_builder_select (b, 0, (ScheduleSection) s);
      fragment = schedule_alloc (b, PLACE_HBM, POOL_COMMUNICATION, bytes, "fragment");
      schedule_kernel (b, SCHEDULE_COMPUTE, &kernel);
      schedule_uses (b, fragment, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_wait_stream (b, side, SCHEDULE_COMPUTE);
      schedule_move (b, side, PLACE_HBM, PLACE_PINNED, bytes, "send");
      schedule_uses (b, fragment, SCHEDULE_WHOLE, ACCESS_READ);
      if (how != PASS_UNORDERED)
        schedule_wait (b, SCHEDULE_COMPUTE, schedule_carried (b, "sent"));
      if (how != PASS_UNFREED)
        schedule_free (b, schedule_carried_buffer (b, "fragment"));
      schedule_carry (b, "sent", schedule_record (b, side));
      if (how == (s == SECTION_FIRST ? PASS_UNSEEN : PASS_ONCE))
        {
          schedule_wait_stream (b, SCHEDULE_COMPUTE, side);
          schedule_free (b, fragment);
        }
      else
        schedule_carry_buffer (b, "fragment", fragment);
      if (how == PASS_TWICE)
        schedule_carry_buffer (b, "again", fragment);
      schedule_builder_end_step (b);
    }
  return check_built (b, 2);
}

static const struct
{
  PassCase    how;
  const char *what; /* NULL: sound */
} pass_cases[] = {
  { PASS_SOUND, NULL },
  { PASS_UNORDERED, "'fragment' goes back to the pool of 'compute', but role 0, first section" },
  { PASS_UNFREED, "carries 'fragment' while the one that was carried before is not freed" },
  { PASS_UNLIKE, "carries 128 bytes in hbm as 'fragment', which has 64 bytes in hbm" },
  { PASS_ONCE, "this period finds 'fragment' and carries none to the next" },
  { PASS_UNSEEN, "this period carries 'fragment' and finds none" },
  { PASS_TWICE, "carries buffer b0, which this section has not, or no longer" },
};

START_TEST (buffers_are_carried_over)
{
  g_autofree char *message = check_passed (pass_cases[_i].how);

  if (pass_cases[_i].what == NULL)
    ck_assert_msg (message == NULL, "%s", message);
  else
    ck_assert_msg (message != NULL && strstr (message, pass_cases[_i].what) != NULL, "%s", message);
}
END_TEST

typedef enum
{
  WAIT_NOWHERE,
  WAIT_ON_HOST,
  WAIT_ON_STREAM,
} WaitPlace;

/*
 * Role 0 issues X, then Y, role 1 the other way round, each on its own stream: a deadlock only
 * where the second waits for the first.
 */
static char *
check_waits (WaitPlace place)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 2, 2);
  StreamRef            streams[2] = { schedule_stream (b, "x", 0), schedule_stream (b, "y", 0) };
  CommRef              comms[2] = { schedule_comm (b, "x", (MeshGroup){ .size = 2, .stride = 1 }),
                                    schedule_comm (b, "y", (MeshGroup){ .size = 2, .stride = 1 }) };

  for (guint role = 0; role < 2; role++)
    {
      schedule_builder_select (b, role, SECTION_INIT);
      schedule_all_reduce (b, streams[role], comms[role], payload_of_bytes (8), "first");
      if (place == WAIT_ON_HOST)
        schedule_host_wait (b, schedule_record (b, streams[role]));
      if (place == WAIT_ON_STREAM)
        schedule_wait_stream (b, streams[1 - role], streams[role]);
      schedule_all_reduce (b, streams[1 - role], comms[1 - role], payload_of_bytes (8), "second");
    }
  end_sections (b, 2);
  return check_built (b, 2);
}

START_TEST (deadlock_through_waits)
{
  const char *expected =
      "deadlock: role 0, init section, item 0 (collective 'first'): the other ranks of 'x' never "
      "reach it";
  g_autofree char *without = check_waits (WAIT_NOWHERE);
  g_autofree char *on_host = check_waits (WAIT_ON_HOST);
  g_autofree char *on_stream = check_waits (WAIT_ON_STREAM);

  ck_assert_msg (without == NULL, "%s", without);
  ck_assert_str_eq (on_host, expected);
  ck_assert_str_eq (on_stream, expected);
}
END_TEST

/*
 * Role 0: B then A on one stream, a second A on another; role 1: A, then B, then the second A. The
 * second A of role 0 is ready at once, but cannot stand in for its first, which is stuck behind B.
 */
START_TEST (a_later_collective_does_not_overtake)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 2, 2);
  StreamRef            x = schedule_stream (b, "x", 0), y = schedule_stream (b, "y", 0);
  CommRef              comm_a = schedule_comm (b, "a", (MeshGroup){ .size = 2, .stride = 1 }),
          comm_b = schedule_comm (b, "b", (MeshGroup){ .size = 2, .stride = 1 });
  g_autofree char *message = NULL;

  schedule_builder_select (b, 0, SECTION_INIT);
  schedule_all_reduce (b, x, comm_b, payload_of_bytes (8), "b");
  schedule_all_reduce (b, x, comm_a, payload_of_bytes (8), "a 1");
  schedule_all_reduce (b, y, comm_a, payload_of_bytes (8), "a 2");
  schedule_builder_select (b, 1, SECTION_INIT);
  schedule_all_reduce (b, x, comm_a, payload_of_bytes (8), "a 1");
  schedule_all_reduce (b, x, comm_b, payload_of_bytes (8), "b");
  schedule_all_reduce (b, x, comm_a, payload_of_bytes (8), "a 2");
  end_sections (b, 2);
  message = check_built (b, 2);
  ck_assert_str_eq (
      message,
      "deadlock: role 0, init section, item 0 (collective 'b'): the other ranks of 'b' never reach "
      "it");
}
END_TEST

/*
 * On one communicator the order of issue counts, not the stream: both roles issue the same bytes,
 * from streams in any order.
 */
START_TEST (communicators_are_serial)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 2, 2);
  StreamRef            streams[2] = { schedule_stream (b, "x", 0), schedule_stream (b, "y", 0) };
  CommRef              comm = schedule_comm (b, "all", (MeshGroup){ .size = 2, .stride = 1 });
  g_autofree char     *message = NULL;

  for (guint role = 0; role < 2; role++)
    {
      schedule_builder_select (b, role, SECTION_INIT);
      schedule_all_reduce (b, streams[role], comm, payload_of_bytes (8), "first");
      schedule_wait_stream (b, streams[1 - role], streams[role]);
      schedule_all_reduce (b, streams[1 - role], comm, payload_of_bytes (8), "second");
    }
  end_sections (b, 2);
  message = check_built (b, 2);
  ck_assert_msg (message == NULL, "%s", message);
}
END_TEST

/* ---- data ------------------------------------------------------------------------------------ */

typedef enum
{
  DATA_SOUND,
  DATA_READ_EARLY,  /* compute does not wait for the gather */
  DATA_WRITE_EARLY, /* the gather does not wait for the kernel that reads what it overwrites */
  DATA_UNWRITTEN,   /* nothing writes what the kernel reads */
  DATA_OTHER_PART,  /* only another part is written */
  DATA_PACE,        /* a wait for pace is all that orders gather and kernel */
  DATA_FREE_EARLY,  /* memory goes back to the gather's pool while compute still reads it */
  DATA_FREE_AFTER,  /* the same behind an event of compute */
  DATA_POOL,        /* the gather uses memory of compute's pool without waiting for compute */
  DATA_NEXT_PERIOD, /* only the next period's gather meets this one's kernel */
  DATA_TWO_READERS, /* the next gather waits for the last of two streams that read */
  DATA_LEFT_OUT,    /* a collective of one rank: no op, but its place on the stream counts */
} DataFault;

static void
gather_and_read (ScheduleBuilder *b, StreamRef side, CommRef comm, BufferRef shard, BufferRef whole,
                 DataFault fault)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_COPY, "read", DTYPE_BF16, 8, 8, 1);
  EventRef   gathered;

  schedule_all_gather (b, side, comm, payload_of_bytes (64), "gather");
  schedule_uses (b, shard, 1, ACCESS_READ);
  if (fault != DATA_UNWRITTEN)
    schedule_uses (b, whole, fault == DATA_OTHER_PART ? 2 : 1, ACCESS_WRITE);
  gathered = schedule_record (b, side);
  if (fault == DATA_PACE)
    schedule_pace (b, SCHEDULE_COMPUTE, gathered);
  else if (fault != DATA_READ_EARLY && fault != DATA_LEFT_OUT)
    schedule_wait (b, SCHEDULE_COMPUTE, gathered);
  schedule_kernel (b, SCHEDULE_COMPUTE, &kernel);
  schedule_uses (b, whole, 1, ACCESS_READ);
}

/* What READER reads behind all that SIDE has done, which then waits for it. */
static void
read_and_hold (ScheduleBuilder *b, StreamRef reader, StreamRef side, BufferRef whole)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_COPY, "read again", DTYPE_BF16, 8, 8, 1);

  schedule_wait (b, reader, schedule_record (b, side));
  schedule_kernel (b, reader, &kernel);
  schedule_uses (b, whole, 1, ACCESS_READ);
  schedule_wait (b, side, schedule_record (b, reader));
}

static void
emit_data_step (ScheduleBuilder *b, StreamRef side, StreamRef reader, CommRef comm, BufferRef shard,
                DataFault fault)
{
  StreamRef home = fault == DATA_POOL ? SCHEDULE_COMPUTE : side;
  BufferRef whole = schedule_alloc_on (b, home, PLACE_HBM, POOL_GATHERED, 64, "whole");
  EventRef  read;

  gather_and_read (b, side, comm, shard, whole, fault);
  if (fault == DATA_POOL) /* what compute still reads goes to its pool; the gather takes it */
    {
      schedule_free (b, whole);
      whole = schedule_alloc_on (b, home, PLACE_HBM, POOL_GATHERED, 64, "whole");
      gather_and_read (b, side, comm, shard, whole, fault);
    }
  read = schedule_record (b, SCHEDULE_COMPUTE);
  if (fault == DATA_TWO_READERS)
    read_and_hold (b, reader, side, whole);
  if (fault == DATA_WRITE_EARLY || fault == DATA_TWO_READERS)
    gather_and_read (b, side, comm, shard, whole, fault);
  schedule_free_after (b, whole, fault == DATA_FREE_EARLY ? SCHEDULE_NONE : read);
  if (fault != DATA_NEXT_PERIOD)
    schedule_host_wait (b, schedule_record (b, SCHEDULE_COMPUTE));
  schedule_builder_end_step (b);
}

static char *
check_data (DataFault fault)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = builder_new (workload, 1, 4);
  StreamRef            side = schedule_stream (b, "side", 0);
  StreamRef            reader = schedule_stream (b, "reader", 0);
  CommRef              comm =
      schedule_comm (b, "all", (MeshGroup){ .size = fault == DATA_LEFT_OUT ? 1 : 4, .stride = 1 });
  BufferRef shard = schedule_alloc (b, PLACE_HBM, POOL_PARAMETER, 16, "shard");
  BufferRef kept = schedule_alloc (b, PLACE_HBM, POOL_CACHE, 64, "kept");

  for (guint s = SECTION_FIRST; s < SECTION_N; s++)
    {
      schedule_builder_select (b, 0, (ScheduleSection) s);
      if (fault == DATA_NEXT_PERIOD)
        {
          gather_and_read (b, side, comm, shard, kept, fault);
          schedule_builder_end_step (b);
        }
      else
        emit_data_step (b, side, reader, comm, shard, fault);
    }
  return check_built (b, 4);
}

static const struct
{
  DataFault   fault;
  const char *message; /* NULL: sound */
} data_cases[] = {
  { DATA_SOUND, NULL },
  { DATA_FREE_AFTER, NULL },
  { DATA_READ_EARLY,
    "role 0, first section, item 3 (kernel 'read'): may run before role 0, first section, item 1 "
    "(collective 'gather'), which writes what it reads ('whole', block 0): no event orders them" },
  { DATA_PACE,
    "role 0, first section, item 4 (kernel 'read'): may run before role 0, first section, item 1 "
    "(collective 'gather'), which writes what it reads ('whole', block 0): no event orders them" },
  { DATA_WRITE_EARLY,
    "role 0, first section, item 6 (collective 'gather'): may run before role 0, first section, "
    "item 4 (kernel 'read'), which reads what it writes ('whole', block 0): no event orders them" },
  { DATA_UNWRITTEN,
    "role 0, first section, item 4 (kernel 'read'): reads 'whole', block 0, which nothing "
    "wrote" },
  { DATA_OTHER_PART, "role 0, first section, item 4 (kernel 'read'): reads 'whole', block 0, which "
                     "nothing wrote" },
  { DATA_FREE_EARLY,
    "role 0, first section, item 6 (free 'whole'): 'whole' goes back to the pool of 'side', but "
    "role 0, first section, item 4 (kernel 'read') may still use it: no event orders them" },
  { DATA_POOL,
    "role 0, first section, item 7 (collective 'gather'): the memory of 'whole', block 0 comes "
    "from the pool of 'compute', whose ops may still use it: no event orders them" },
  { DATA_NEXT_PERIOD,
    "role 0, steady section, item 0 (collective 'gather'): may run before role 0, first section, "
    "item 3 (kernel 'read'), which reads what it writes ('kept', block 0): no event orders them" },
  { DATA_TWO_READERS,
    "role 0, first section, item 11 (collective 'gather'): may run before role 0, first section, "
    "item 4 (kernel 'read'), which reads what it writes ('whole', block 0): no event orders them" },
  { DATA_LEFT_OUT,
    "role 0, first section, item 2 (kernel 'read'): may run before what 'side' does before role 0, "
    "first section, item 1 (record), which writes what it reads ('whole', block 0): no event "
    "orders them" },
};

START_TEST (data_is_ordered)
{
  g_autofree char *message = check_data (data_cases[_i].fault);

  if (data_cases[_i].message == NULL)
    ck_assert_msg (message == NULL, "%s", message);
  else
    ck_assert_str_eq (message, data_cases[_i].message);
}
END_TEST

/* Named as a unit of the model, also by a stage that does not begin with the first one. */
START_TEST (data_without_a_place)
{
  const ToyOptions     options = { .fault = TOY_NOT_DECLARED };
  const StrategyChoice choice = { &toy_layer, &options, NULL };
  MeshOptions          mesh = { 0 };
  g_autoptr (Workload) first = NULL, last = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  const Workload      *stages[2];
  PlanInput            in;

  option_table_defaults (mesh_options, &mesh);
  mesh.pp = 2;
  stages[0] = first = workload_new_stage (&toy_shape, &toy_training, &mesh, 0);
  stages[1] = last = workload_new_stage (&toy_shape, &toy_training, &mesh, 1);
  in = (PlanInput){ .workload = first,
                    .mesh = { .n_ranks = 2, .ranks_per_node = 2, .world = 4, .stages = 2 },
                    .stages = stages };
  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "strategy 'toy-layer' does not say where the gradient of head is before "
                    "something uses it");
  option_table_clear (mesh_options, &mesh);
}
END_TEST

/* What the host reads it has waited for. */
START_TEST (the_host_touches_data)
{
  for (guint waits = 0; waits < 2; waits++)
    {
      g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
      ScheduleBuilder     *b = builder_new (workload, 1, 4);
      BufferRef            data = schedule_data (b, "loss");
      KernelDesc           kernel = kernel_desc_stream (KERNEL_COPY, "loss", DTYPE_BF16, 8, 8, 1);
      g_autofree char     *message = NULL;

      schedule_kernel (b, SCHEDULE_COMPUTE, &kernel);
      schedule_uses (b, data, SCHEDULE_WHOLE, ACCESS_WRITE);
      if (waits)
        schedule_host_wait (b, schedule_record (b, SCHEDULE_COMPUTE));
      schedule_host_touches (b, data, SCHEDULE_WHOLE, ACCESS_READ);
      end_sections (b, 1);
      message = check_built (b, 4);
      if (waits)
        ck_assert_msg (message == NULL, "%s", message);
      else
        ck_assert_str_eq (
            message,
            "what 'the host' does before role 0, init section, item 1: may run before role "
            "0, init section, item 0 (kernel 'loss'), which writes what it reads ('loss'): "
            "no event orders them");
    }
}
END_TEST

/* ---- messages -------------------------------------------------------------------------------- */

typedef enum
{
  MESSAGES_SOUND,
  MESSAGES_NO_RECEIVE,
  MESSAGES_SIZES,
  MESSAGES_SEND_FIRST, /* both send, then receive, on one stream: each waits for the other */
  MESSAGES_ONE_CALL,   /* the same as one call */
} MessageFault;

/* Two stages of two ranks each: ranks 0 and 1 have role 0, ranks 2 and 3 role 1. */
static char *
check_exchange (MessageFault fault)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  guint32             *roles = g_new (guint32, 4);
  ScheduleBuilder     *b;
  StreamRef            stream;
  CommRef              comm;

  for (guint rank = 0; rank < 4; rank++)
    roles[rank] = rank / 2;
  b = toy_builder (workload, 2, roles, 4);
  stream = schedule_stream (b, "x", 0);
  comm = schedule_comm (b, "stages", (MeshGroup){ .size = 2, .stride = 2 });
  for (guint role = 0; role < 2; role++)
    {
      guint64     odd = fault == MESSAGES_SIZES && role == 1 ? 4 : 0;
      ScheduleP2p both[] = { { MESSAGE_SEND, comm, 1 - role, SCHEDULE_NONE, 8 + odd, "out" },
                             { MESSAGE_RECEIVE, comm, 1 - role, SCHEDULE_NONE, 8, "in" } };
      gboolean    apart = fault == MESSAGES_SEND_FIRST;

      schedule_builder_select (b, role, SECTION_INIT);
      if (fault == MESSAGES_NO_RECEIVE && role == 1)
        schedule_p2p (b, stream, both, 1);
      else if (fault == MESSAGES_SOUND) /* as a pair of neighbours: one sends first */
        {
          schedule_p2p (b, stream, &both[role], 1);
          schedule_p2p (b, stream, &both[1 - role], 1);
        }
      else
        schedule_p2p (b, stream, both, apart ? 1 : 2);
      if (apart)
        schedule_p2p (b, stream, &both[1], 1);
    }
  end_sections (b, 2);
  return check_built (b, 4);
}

START_TEST (messages_meet)
{
  g_autofree char *sound = check_exchange (MESSAGES_SOUND);
  g_autofree char *one_call = check_exchange (MESSAGES_ONE_CALL);
  g_autofree char *alone = check_exchange (MESSAGES_NO_RECEIVE);
  g_autofree char *sizes = check_exchange (MESSAGES_SIZES);
  g_autofree char *stuck = check_exchange (MESSAGES_SEND_FIRST);

  ck_assert_msg (sound == NULL, "%s", sound);
  ck_assert_msg (one_call == NULL, "%s", one_call);
  ck_assert_str_eq (
      alone,
      "role 0, init section, item 0 (p2p 'out'): role 1 has no message for this send on 'stages'");
  ck_assert_str_eq (sizes,
                    "role 0, init section, item 1 (p2p 'in'): receive of 8 bytes on 'stages' "
                    "meets 12 bytes of role 1");
  ck_assert_str_eq (
      stuck,
      "deadlock: role 0, init section, item 0 (p2p 'out'): the other ranks of 'stages' never reach "
      "it");
}
END_TEST

SUITE_MAIN (schedule_check)
{
  Suite *suite = suite_create ("schedule-check");
  TCase *tcase = tcase_create ("check");

  tcase_add_test (tcase, finds_faults_besides_what_is_known);
  tcase_add_test (tcase, proves_programs_once);
  tcase_add_loop_test (tcase, finds_each_fault, 0, G_N_ELEMENTS (fault_cases));
  tcase_add_test (tcase, passes_sound_schedules);
  tcase_add_test (tcase, roles_that_never_meet_may_differ);
  tcase_add_test (tcase, counts_steps);
  tcase_add_test (tcase, groups_must_tile_the_ranks);
  tcase_add_test (tcase, deadlock_through_waits);
  tcase_add_test (tcase, events_are_carried_over);
  tcase_add_loop_test (tcase, buffers_are_carried_over, 0, G_N_ELEMENTS (pass_cases));
  tcase_add_test (tcase, a_later_collective_does_not_overtake);
  tcase_add_test (tcase, communicators_are_serial);
  tcase_add_loop_test (tcase, data_is_ordered, 0, G_N_ELEMENTS (data_cases));
  tcase_add_test (tcase, data_without_a_place);
  tcase_add_test (tcase, the_host_touches_data);
  tcase_add_test (tcase, messages_meet);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
