/*
 * Every wait of every strategy is held by something: without it the data check finds a fault, or
 * nothing changes, because the same order follows from what is left, or it is one that only bounds
 * what is in flight (ScheduleWait), which has a test here of its own. A framework waits by rule, so
 * a wait may also be spare: no data needs it here, but its like, of the same strategy's stream for
 * the same other stream, is missed elsewhere.
 *
 * Asserted: for each wait of a schedule one of the four. What order follows is computed here anew
 * (Closure), with clocks that count ops. Not asserted: that the waits are those of the real
 * systems.
 */
#include <check.h>
#include <string.h>

#include "../cases.h"
#include "../suite.h"
#include "random-plan.h"
#include "schedule/schedule-private.h"
#include "small-llama.h"

#define CASES 100

/* ---- which ops come after which -------------------------------------------------------------- */

typedef struct
{
  guint    n;      /* streams */
  guint32 *clocks; /* [stream][stream]: ops of a stream that are over before the next one here; last
                      the host's */
  guint32 *events;
  guint32 *carried; /* [slot][stream] */
  guint32  hash;    /* of the clocks of all ops so far */
} Closure;

static void
join_clocks (guint32 *clock, const guint32 *other, guint n)
{
  for (guint i = 0; i < n; i++)
    clock[i] = MAX (clock[i], other[i]);
}

static void
close_item (Closure *self, const ScheduleItem *item)
{
  guint32 *host = self->clocks + (gsize) self->n * self->n;
  guint32 *clock =
      item->stream != SCHEDULE_NONE ? self->clocks + (gsize) item->stream * self->n : host;
  guint32 *event = self->events + (gsize) item->ref * self->n;

  if (item->stream != SCHEDULE_NONE)
    join_clocks (clock, host, self->n);
  switch ((ItemKind) item->kind)
    {
    case ITEM_RECORD:
      memcpy (event, clock, self->n * sizeof *event);
      break;
    case ITEM_CARRY:
      memcpy (self->carried + (gsize) item->event * self->n, event, self->n * sizeof *event);
      break;
    case ITEM_TAKE:
      memcpy (event, self->carried + (gsize) item->event * self->n, self->n * sizeof *event);
      break;
    case ITEM_WAIT:
    case ITEM_HOST_WAIT:
      join_clocks (clock, event, self->n);
      break;
    case ITEM_KERNEL:
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
    case ITEM_HOST_OP:
    case ITEM_P2P:
      for (guint i = 0; i < self->n; i++)
        self->hash = (self->hash ^ clock[i]) * 16777619u;
      if (!item->more || item->kind != ITEM_P2P)
        clock[item->stream]++;
      break;
    default:
      break;
    }
}

/* A number that stands for the order of all ops of ROLE, into a second steady period. */
static guint32
order_of (const Schedule *schedule, guint role)
{
  static const ScheduleSection sections[] = { SECTION_INIT, SECTION_FIRST, SECTION_STEADY,
                                              SECTION_STEADY };
  guint                        n = schedule_n_streams (schedule);
  Closure                      self = { .n = n, .hash = 2166136261u };

  self.clocks = g_new0 (guint32, (gsize) (n + 1) * n);
  self.carried = g_new0 (guint32, ((gsize) schedule_n_carried (schedule, role) + 1) * n);
  for (guint s = 0; s < G_N_ELEMENTS (sections); s++)
    {
      ScheduleItems items = schedule_items (schedule, role, sections[s]);

      self.events =
          g_new0 (guint32, ((gsize) schedule_n_events (schedule, role, sections[s]) + 1) * n);
      for (guint i = 0; i < items.n; i++)
        close_item (&self, &items.items[i]);
      g_free (self.events);
    }
  g_free (self.clocks);
  g_free (self.carried);
  return self.hash;
}

/* ---- waits that are left out ----------------------------------------------------------------- */

/* The waits of one stream for one other. */
typedef struct
{
  guint noticed;
  char *spare; /* one that nothing misses; NULL: none */
} Like;

typedef struct
{
  const RandomPlan *plan;
  Schedule         *schedule;
  guint             role;
  ScheduleSection   section;
  guint32           order; /* with all waits */
  GHashTable       *likes; /* "strategy: waiting for other" -> Like */
  guint             noticed, redundant, pacing, spare;
  guint             late, early; /* frees that need their event, and that do not */
} Dropper;

static gboolean
is_sound (const Schedule *schedule, guint role)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  StopPoll             poll = { .stop = NULL };

  return schedule_check_data (schedule, role, &poll, diags);
}

static void
like_free (gpointer data)
{
  Like *self = data;

  g_free (self->spare);
  g_free (self);
}

/* A pass that is concurrent with another has its own compute stream, which no strategy knows of. */
static const char *
stream_name (const Schedule *schedule, StreamRef stream)
{
  const ScheduleStream *info =
      stream != SCHEDULE_NONE ? schedule_stream_info (schedule, stream) : NULL;

  return info == NULL ? "host" : info->role == STREAM_COMPUTES ? "compute" : info->name;
}

static const char *
inner_name (const StrategyChoice *choice)
{
  while (choice->inner != NULL)
    choice = choice->inner;
  return choice->strategy->name;
}

static StreamRef recorder_of (const Vector *items, EventRef event);

/* The stream that records what is carried in SLOT: a period carries it as the one before did. */
static StreamRef
carrier_of (const Vector *items, guint32 slot)
{
  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_CARRY && item->event == slot)
        return recorder_of (items, item->ref);
    }
  ck_abort_msg ("nobody carries slot %u", slot);
}

/* The stream that records EVENT. */
static StreamRef
recorder_of (const Vector *items, EventRef event)
{
  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_RECORD && item->ref == event)
        return item->stream;
      if (item->kind == ITEM_TAKE && item->ref == event)
        return carrier_of (items, item->event);
    }
  ck_abort_msg ("nobody records e%u", event);
}

static Like *
like_of (Dropper *self, const Vector *items, const ScheduleItem *wait)
{
  g_autofree char *key = g_strdup_printf (
      "%s: %s for %s", inner_name (self->plan->choice), stream_name (self->schedule, wait->stream),
      stream_name (self->schedule, recorder_of (items, wait->ref)));
  Like *like = g_hash_table_lookup (self->likes, key);

  if (like == NULL)
    g_hash_table_insert (self->likes, g_steal_pointer (&key), like = g_new0 (Like, 1));
  return like;
}

static void
note_spare (Dropper *self, Like *like, guint index)
{
  g_autofree char *place = NULL;

  self->spare++;
  if (like->spare != NULL)
    return;
  place = schedule_item_place (self->schedule, self->role, self->section, index);
  like->spare = g_strdup_printf ("%s\n%s", place, self->plan->text);
}

/* A copy of pageable memory blocks the host, whether anybody needs that or not. */
static gboolean
is_of_pageable_copy (const Vector *items, guint index)
{
  const ScheduleItem *item = &vector_at (items, ScheduleItem, index);

  return item->kind == ITEM_HOST_WAIT && index >= 2 && item[-1].kind == ITEM_RECORD
         && item[-2].kind == ITEM_MOVE && move_blocks_host (item[-2].collective);
}

static void
drop_wait (Dropper *self, guint index)
{
  Vector            *items = schedule_program (self->schedule, self->role, self->section)->items;
  ScheduleItem      *item = &vector_at (items, ScheduleItem, index);
  const ScheduleItem kept = *item;
  Like              *like = like_of (self, items, &kept);
  gboolean           is_noticed, is_redundant;

  if (is_of_pageable_copy (items, index))
    return;
  *item = (ScheduleItem){ .kind = ITEM_HOST_HOOK, .stream = SCHEDULE_NONE };
  is_noticed = !is_sound (self->schedule, self->role);
  is_redundant = !is_noticed && order_of (self->schedule, self->role) == self->order;
  *item = kept;
  if (is_noticed)
    self->noticed++, like->noticed++;
  else if (is_redundant)
    self->redundant++;
  else if (kept.collective == WAIT_FOR_PACE)
    self->pacing++;
  else
    note_spare (self, like, index);
}

static void
assert_likes_are_missed (GHashTable *likes)
{
  GHashTableIter iter;
  gpointer       key, value;

  g_hash_table_iter_init (&iter, likes);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const Like *like = value;

      ck_assert_msg (like->spare == NULL || like->noticed > 0, "nobody misses a wait of %s: %s",
                     (const char *) key, like->spare);
    }
}

/*
 * Memory that goes back at once instead of behind an event: a fault, or its uses are over where it
 * goes.
 */
static void
drop_event (Dropper *self, guint index)
{
  Vector       *items = schedule_program (self->schedule, self->role, self->section)->items;
  ScheduleItem *item = &vector_at (items, ScheduleItem, index);
  guint32       event = item->event;

  item->event = SCHEDULE_NONE;
  if (is_sound (self->schedule, self->role))
    self->early++;
  else
    self->late++;
  item->event = event;
}

static void
drop_waits_of_section (Dropper *self)
{
  const Vector *items = schedule_program (self->schedule, self->role, self->section)->items;

  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_WAIT || item->kind == ITEM_HOST_WAIT)
        drop_wait (self, i);
      else if (item->kind == ITEM_FREE && item->event != SCHEDULE_NONE)
        drop_event (self, i);
    }
}

static void
drop_waits (Dropper *self)
{
  for (self->role = 0; self->role < schedule_n_roles (self->schedule); self->role++)
    {
      ck_assert (is_sound (self->schedule, self->role));
      self->order = order_of (self->schedule, self->role);
      for (guint s = 0; s < schedule_n_sections (self->schedule); s++)
        {
          self->section = (ScheduleSection) s;
          drop_waits_of_section (self);
        }
    }
}

/* Plans of few items: each wait takes a walk over all of them. */
static gboolean
is_small (const Schedule *schedule)
{
  guint n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    n += schedule_items (schedule, role, SECTION_STEADY).n;
  return n <= 2500;
}

/* What few plans do not miss, others do: a fifth of them at least. */
static guint
n_cases (void)
{
  return MAX (cases_of (CASES), CASES / 5);
}

static void
drop_waits_of_plan (Dropper *self, const RandomPlan *plan, Schedule *schedule)
{
  self->plan = plan;
  self->schedule = schedule;
  drop_waits (self);
}

/*
 * A plan whose first micro-step fills the buffers that lead to drives several times. Few random
 * ones do, and later micro-steps read what the drives have first, behind which all is written.
 */
static void
drop_waits_of_narrow_buffers (Dropper *self, const Strategy *strategy)
{
  static const char *const options[][2] = {
    { "offload_optimizer", "nvme" },   { "optimizer_buffer_count", "4" }, { "sub_group_size", "1" },
    { "reduce_bucket_size", "10000" }, { "overlap_comm", "true" },
  };
  g_autoptr (RandomPlan) plan = NULL;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Schedule)   schedule = NULL;

  if (strategy->options == NULL
      || option_table_find (strategy->options, "optimizer_buffer_count") == NULL)
    return;
  plan = random_plan_new (strategy, 20135, 135);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    ck_assert (option_set_key (strategy->options, (gpointer) plan->choice->options, options[i][0],
                               options[i][1], NULL, diags));
  schedule = schedule_build (&plan->in, plan->choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  drop_waits_of_plan (self, plan, schedule);
}

static void
drop_waits_of_strategy (const Strategy *strategy, GHashTable *likes)
{
  Dropper all = { .likes = likes };
  guint   n_plans = 0;

  for (guint i = 0; n_plans < n_cases () && i < 10 * CASES; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new_mesh (strategy, 20000 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = plan->schedule != NULL
                                            ? g_steal_pointer (&plan->schedule)
                                            : schedule_build (&plan->in, plan->choice, diags);

      if (!is_small (schedule))
        continue;
      drop_waits_of_plan (&all, plan, schedule);
      n_plans++;
    }
  drop_waits_of_narrow_buffers (&all, strategy);
  g_printerr (
      "# %s: %u plans; of the waits %u are noticed, %u redundant, %u pace, %u are spare; of "
      "the events of frees %u are noticed, %u not needed\n",
      strategy->name, n_plans, all.noticed, all.redundant, all.pacing, all.spare, all.late,
      all.early);
  ck_assert_uint_eq (n_plans, n_cases ());
  ck_assert_uint_gt (all.noticed, n_plans);
  /* who gives memory back on the stream that used it last needs no event: so does this one */
  if (g_str_equal (strategy->name, "simplefsdp"))
    ck_assert_uint_eq (all.late + all.early, 0);
  else
    ck_assert_uint_gt (all.late,
                       n_plans < CASES ? 0 : n_plans); /* megatron-fsdp: some two a plan */
}

START_TEST (every_wait_is_missed)
{
  g_autoptr (GHashTable) likes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, like_free);

  for (guint i = 0; strategy_list ()[i] != NULL; i++)
    drop_waits_of_strategy (strategy_list ()[i], likes);
  assert_likes_are_missed (likes);
}
END_TEST

/* ---- what waits for pace bound --------------------------------------------------------------- */

typedef struct
{
  const char *strategy, *options;
  ItemKind    kind;  /* ITEM_ALLOC: its blocks' buffers not freed; ITEM_COLLECTIVE: ops not over */
  const char *label; /* of them */
  guint       most;  /* at any time, as far as the host knows, the one that it issues included */
  guint       without; /* if the host waited for no pace */
  gboolean each; /* the host comes to the bound before each wait, and nothing else follows these */
} Bound;

/*
 * A llama of 6 blocks on 4 ranks: 44 gathered modules, 8 units. FSDP1 (arXiv:2304.11277, 3.4.2):
 * two all-gathers whose memory is not free again; a prefetched one comes on top, as it is issued
 * while its predecessor is in use. FSDP2: the output of the all-gather that is copied out and of
 * the one before it, or of those that a list gathers ahead. DeepSpeed: three fetches and the
 * one that is issued, which comes before the wait; two reductions and that one.
 */
static const Bound bounds[] = {
  { "fsdp1", "backward_prefetch=none", ITEM_ALLOC, "flat parameter", 2, 12, TRUE },
  { "fsdp1", "backward_prefetch=pre", ITEM_ALLOC, "flat parameter", 3, 12, FALSE },
  { "fsdp1", "backward_prefetch=post", ITEM_ALLOC, "flat parameter", 2, 12, FALSE },
  { "fsdp1", "forward_prefetch=true,backward_prefetch=none", ITEM_ALLOC, "flat parameter", 3, 12,
    FALSE },
  { "fsdp2", "", ITEM_ALLOC, "all-gather output", 2, 2, FALSE },
  { "fsdp2", "modules_to_forward_prefetch=3", ITEM_ALLOC, "all-gather output", 4, 4, FALSE },
  { "fsdp2", "modules_to_backward_prefetch=5", ITEM_ALLOC, "all-gather output", 5, 5, FALSE },
  { "zero3", "prefetch_bucket_size=0,max_reuse_distance=0,param_persistence_threshold=64",
    ITEM_COLLECTIVE, "all_gather", 4, 88, FALSE },
  { "zero3", "reduce_bucket_size=1", ITEM_COLLECTIVE, "reduce_scatter", 3, 57, FALSE },
};

typedef struct
{
  const Schedule *schedule;
  const Bound    *bound;
  Closure         closure;
  guint32 *until; /* [item][stream]: clock at which what the item began ends; G_MAXUINT32: not yet
                     said */
  GArray  *begun; /* guint: items */
} Counter;

/* The root's own parameters stay gathered. */
static gboolean
is_of_block (const Schedule *schedule, guint unit)
{
  guint layer = schedule_unit_layer (schedule, unit);

  return layer > 0 && layer + 1 < workload_n_layers (schedule_role_workload (schedule, 0));
}

static gboolean
is_counted (const Counter *self, const ScheduleItem *item)
{
  if (item->kind != self->bound->kind || g_strcmp0 (item->label, self->bound->label) != 0)
    return FALSE;
  if (item->kind == ITEM_COLLECTIVE)
    return TRUE;
  return is_of_block (self->schedule, schedule_buffer_info (self->schedule, 0, item->ref)->unit);
}

static gboolean
host_knows (const Counter *self, guint item)
{
  const guint32 *host = self->closure.clocks + (gsize) self->closure.n * self->closure.n;

  for (guint s = 0; s < self->closure.n; s++)
    if (self->until[(gsize) item * self->closure.n + s] > host[s])
      return FALSE;
  return TRUE;
}

/* Memory that is given back without an event serves the next one in its stream's order. */
static void
note_free (Counter *self, const ScheduleItem *item)
{
  guint         n = self->closure.n;
  ScheduleItems items = schedule_items (self->schedule, 0, SECTION_FIRST);

  for (guint i = 0; i < self->begun->len; i++)
    {
      guint    at = g_array_index (self->begun, guint, i);
      guint32 *until = self->until + (gsize) at * n;

      if (items.items[at].kind != ITEM_ALLOC || items.items[at].ref != item->ref)
        continue;
      memset (until, 0, n * sizeof *until);
      if (item->event != SCHEDULE_NONE)
        memcpy (until, self->closure.events + (gsize) item->event * n, n * sizeof *until);
    }
}

static guint
count_begun (const Counter *self)
{
  guint n = 0;

  for (guint i = 0; i < self->begun->len; i++)
    n += !host_knows (self, g_array_index (self->begun, guint, i));
  return n;
}

static void
begin_counted (Counter *self, const ScheduleItem *item, guint index)
{
  guint    n = self->closure.n;
  guint32 *until = self->until + (gsize) index * n;

  for (guint s = 0; s < n; s++)
    until[s] = item->kind == ITEM_ALLOC ? G_MAXUINT32 : 0;
  if (item->kind == ITEM_COLLECTIVE)
    until[item->stream] = self->closure.clocks[(gsize) item->stream * n + item->stream] + 1;
  g_array_append_val (self->begun, index);
}

/*
 * The most of what BOUND counts that the host has begun in the first step and does not know to be
 * over.
 */
static guint
most_in_flight (const Schedule *schedule, const Bound *bound)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_FIRST);
  guint         n = schedule_n_streams (schedule), most = 0;
  Counter       self = { .schedule = schedule, .bound = bound, .closure = { .n = n } };

  self.closure.clocks = g_new0 (guint32, (gsize) (n + 1) * n);
  self.closure.events =
      g_new0 (guint32, ((gsize) schedule_n_events (schedule, 0, SECTION_FIRST) + 1) * n);
  self.until = g_new0 (guint32, (gsize) items.n * n);
  self.begun = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < items.n; i++)
    {
      if (is_counted (&self, &items.items[i]))
        {
          begin_counted (&self, &items.items[i], i);
          most = MAX (most, count_begun (&self));
        }
      if (items.items[i].kind == ITEM_FREE)
        note_free (&self, &items.items[i]);
      else
        close_item (&self.closure, &items.items[i]);
    }
  g_free (self.closure.clocks);
  g_free (self.closure.events);
  g_free (self.until);
  g_array_unref (self.begun);
  return most;
}

static Schedule *
build_small (const Strategy *strategy, gconstpointer options, const Workload *workload)
{
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  Schedule            *schedule = schedule_build (&in, &choice, diags);

  ck_assert (schedule != NULL && schedule_check (schedule, &in.mesh, NULL, diags));
  return schedule;
}

static gboolean
is_host_pace (const ScheduleItem *item)
{
  return item->kind == ITEM_HOST_WAIT && item->collective == WAIT_FOR_PACE;
}

/* Without the host's waits for pace, or without the one at ONLY. */
static guint
most_without (Schedule *schedule, const Bound *bound, guint only)
{
  Vector            *items = schedule_program (schedule, 0, SECTION_FIRST)->items;
  g_autofree guint8 *dropped = g_new0 (guint8, items->len);
  guint              most;

  for (guint i = 0; i < items->len; i++)
    if (is_host_pace (&vector_at (items, ScheduleItem, i)) && (only == SCHEDULE_NONE || only == i))
      {
        vector_at (items, ScheduleItem, i).kind = ITEM_HOST_HOOK;
        dropped[i] = 1;
      }
  most = most_in_flight (schedule, bound);
  for (guint i = 0; i < items->len; i++)
    if (dropped[i])
      vector_at (items, ScheduleItem, i).kind = ITEM_HOST_WAIT;
  return most;
}

/*
 * Each of them is missed before a block of the forward pass: the next one comes too late. Backward,
 * some wait for the head, which is not counted.
 */
static void
assert_each_bounds (Schedule *schedule, const Bound *bound)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_FIRST);

  for (guint i = 0; i < items.n; i++)
    if (is_host_pace (&items.items[i]) && items.items[i].phase == PHASE_FORWARD
        && is_of_block (schedule, items.items[i].unit))
      ck_assert_msg (most_without (schedule, bound, i) > bound->most, "%s: item %u", bound->options,
                     i);
}

START_TEST (what_is_in_flight_is_bounded)
{
  const Bound         *bound = &bounds[_i];
  const Strategy      *strategy = strategy_find (bound->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (6, 1, NULL, NULL);
  g_autoptr (Schedule) schedule = NULL;

  set_options (strategy, options, bound->options);
  schedule = build_small (strategy, options, workload);
  ck_assert_uint_eq (most_in_flight (schedule, bound), bound->most);
  ck_assert_uint_eq (most_without (schedule, bound, SCHEDULE_NONE), bound->without);
  if (bound->each)
    assert_each_bounds (schedule, bound);
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (waits)
{
  Suite *suite = suite_create ("waits");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, every_wait_is_missed);
  tcase_add_loop_test (tcase, what_is_in_flight_is_bounded, 0, G_N_ELEMENTS (bounds));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
