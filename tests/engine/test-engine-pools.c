/*
 * Pools: peaks, categories, deferred releases, blocked allocations, overflow. Sizes and times are
 * worked out by hand.
 */
#include "../suite.h"
#include "fixture.h"

#include <string.h>

START_TEST (peaks_and_categories)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             p = engine_add_pool (e, "hbm", 100);

  engine_pool_take (e, p, POOL_RUNTIME, 10, 1);
  engine_pool_take (e, p, POOL_PARAMETER, 40, 2);
  engine_pool_take (e, p, POOL_ACTIVATION, 30, 3); /* allocated 70, device 80: the peaks */
  engine_pool_release (e, p, POOL_ACTIVATION, &(PoolRequest){ .bytes = 30 }, ENGINE_NONE);
  engine_pool_take (e, p, POOL_GATHERED, 25, 4); /* 65, 75 */
  engine_pool_take (e, p, POOL_RUNTIME, 6, 5);   /* 65, 81: the device's peak */

  const PoolStats *s = engine_pool_stats (e, p);
  ck_assert_uint_eq (s->allocated.bytes, 70);
  ck_assert_uint_eq (s->allocated.tag, 3);
  ck_assert_uint_eq (s->allocated.by_category[POOL_PARAMETER], 40);
  ck_assert_uint_eq (s->allocated.by_category[POOL_ACTIVATION], 30);
  ck_assert_uint_eq (s->allocated.by_category[POOL_GATHERED], 0);
  ck_assert_uint_eq (s->reserved.bytes, 70);
  ck_assert_uint_eq (s->device.bytes, 81);
  ck_assert_uint_eq (s->device.tag, 5);
  ck_assert_uint_eq (s->device.by_category[POOL_RUNTIME], 16);
  ck_assert_uint_eq (s->now[POOL_ACTIVATION], 0);
  ck_assert_uint_eq (s->peak_by_category[POOL_ACTIVATION], 30);
  ck_assert (!s->overflowed);
  ck_assert_uint_eq (engine_n_pools (e), 1);
  ck_assert_str_eq (engine_pool_name (e, p), "hbm");
}
END_TEST

START_TEST (only_the_first_overflow_is_kept)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             p = engine_add_pool (e, "hbm", 100);

  engine_pool_take (e, p, POOL_OPTIMIZER, 100, 1);
  ck_assert (!engine_pool_stats (e, p)->overflowed);
  engine_pool_take (e, p, POOL_GRADIENT, 1, 2);
  engine_pool_take (e, p, POOL_GRADIENT, 50, 3);
  const PoolStats *s = engine_pool_stats (e, p);
  ck_assert (s->overflowed);
  ck_assert_uint_eq (s->overflow.bytes, 101);
  ck_assert_uint_eq (s->overflow.tag, 2);
  ck_assert_uint_eq (s->device.bytes, 151);
}
END_TEST

/* ---- allocations by hosts -------------------------------------------------------------------- */

typedef struct
{
  PoolId   pool;
  StreamId stream;
  guint    phase;
  guint64  first, second; /* sizes */
  gboolean deferred;      /* the first one's release waits for its op (4 s) */
  SimTime  second_time;
  OpId     op;
} Program;

/* Takes `first`, uses it in an op of 4 s, releases it, works 1 s, takes `second`, submits an op. */
static HostYield
program_step (Engine *e, HostId host, gpointer user)
{
  Program *p = user;

  (void) host;
  switch (p->phase++)
    {
    case 0:
      return (HostYield){ .kind = HOST_ALLOC,
                          .pool = p->pool,
                          .category = POOL_GATHERED,
                          .request.bytes = p->first,
                          .tag = 1 };
    case 1:
      p->op = test_submit (e, p->stream, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (4) });
      engine_pool_release (e, p->pool, POOL_GATHERED, &(PoolRequest){ .bytes = p->first },
                           p->deferred ? p->op : ENGINE_NONE);
      return (HostYield){ .kind = HOST_WORK, .work = SECONDS (1) };
    case 2:
      return (HostYield){ .kind = HOST_ALLOC,
                          .pool = p->pool,
                          .category = POOL_GATHERED,
                          .request.bytes = p->second,
                          .tag = 2 };
    default:
      p->second_time = engine_now (e);
      test_submit (e, engine_add_stream (e, "t", 0, 0),
                   (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (1) });
      return (HostYield){ .kind = HOST_END };
    }
}

static Program
add_program (Engine *e, PoolId pool, guint64 first, guint64 second, gboolean deferred)
{
  return (Program){ .pool = pool,
                    .stream = engine_add_stream (e, "s", 0, 0),
                    .first = first,
                    .second = second,
                    .deferred = deferred };
}

START_TEST (a_release_in_host_order_is_at_once)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 70, FALSE);
  engine_add_host (e, "h", program_step, &p);

  test_run (e);
  ck_assert_uint_eq (p.second_time, SECONDS (1));
  ck_assert_uint_eq (engine_pool_stats (e, pool)->allocated.bytes, 70);
}
END_TEST

START_TEST (what_fits_beside_a_deferred_release_goes_on)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 40, TRUE);
  engine_add_host (e, "h", program_step, &p);

  test_run (e);
  ck_assert_uint_eq (p.second_time, SECONDS (1));
  const PoolStats *s = engine_pool_stats (e, pool);
  ck_assert_uint_eq (s->allocated.bytes, 60); /* 60, released, then 40 */
  ck_assert_uint_eq (s->allocated.tag, 1);
  ck_assert_uint_eq (s->allocated.waiting, 0);
  ck_assert_uint_eq (s->reserved.bytes, 60);
  ck_assert_uint_eq (s->device.bytes, 100); /* the 60 wait until 4 s, 40 come at 1 s */
  ck_assert_uint_eq (s->device.tag, 2);
  ck_assert_uint_eq (s->device.waiting, 60);
  ck_assert_uint_eq (s->device.by_category[POOL_GATHERED], 100);
  ck_assert_uint_eq (s->peak_by_category[POOL_GATHERED], 100);
  ck_assert_uint_eq (s->now[POOL_GATHERED], 40);
  ck_assert_uint_eq (s->waiting[POOL_GATHERED], 0);
}
END_TEST

typedef struct
{
  const PoolStats *stats;
  guint64          now, waiting;
} Glance;

static void
glance (Engine *e, gpointer user)
{
  Glance *g = user;

  (void) e;
  g->now = g->stats->now[POOL_GATHERED];
  g->waiting = g->stats->waiting[POOL_GATHERED];
}

/* 60 live at 0 s and wait until 4 s; 30 come at 1 s. */
START_TEST (released_bytes_wait_for_their_op)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 30, TRUE);
  const PoolStats   *s = engine_pool_stats (e, pool);
  Glance             at[] = { { .stats = s }, { .stats = s }, { .stats = s } };
  TestCall           calls[] = { { SECONDS (0.5), glance, &at[0] },
                                 { SECONDS (2), glance, &at[1] },
                                 { SECONDS (5), glance, &at[2] } };
  TestTimer          timer = { calls, G_N_ELEMENTS (calls), 0 };
  engine_add_host (e, "h", program_step, &p);
  test_add_timer (e, "t", &timer);

  test_run (e);
  ck_assert_uint_eq (at[0].now, 0);
  ck_assert_uint_eq (at[0].waiting, 60);
  ck_assert_uint_eq (at[1].now, 30);
  ck_assert_uint_eq (at[1].waiting, 60);
  ck_assert_uint_eq (at[2].now, 30);
  ck_assert_uint_eq (at[2].waiting, 0);
  ck_assert_uint_eq (s->allocated.bytes, 60);
  ck_assert_uint_eq (s->device.bytes, 90);
}
END_TEST

START_TEST (what_does_not_fit_waits_for_the_release)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 41, TRUE);
  HostId             host = engine_add_host (e, "h", program_step, &p);
  SimTime            parts[CAUSE_N] = { 0 };
  guint              n;

  test_run (e);
  ck_assert_uint_eq (p.second_time, SECONDS (4));
  ck_assert_uint_eq (engine_pool_stats (e, pool)->allocated.bytes, 60);
  ck_assert (!engine_pool_stats (e, pool)->overflowed);
  const HostBlock *blocks = engine_host_blocks (e, host, &n);
  ck_assert_uint_eq (n, 1);
  ck_assert_int_eq (blocks[0].cause, CAUSE_MEMORY);
  ck_assert_uint_eq (blocks[0].start, SECONDS (1));
  ck_assert_uint_eq (blocks[0].end, SECONDS (4));
  ck_assert_uint_eq (blocks[0].op, p.op); /* whose end let it go */
  test_walk (e, 1, parts);
  ck_assert_uint_eq (parts[CAUSE_LATENCY], SECONDS (5));
}
END_TEST

START_TEST (what_can_never_fit_overflows)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 140, TRUE);
  engine_add_host (e, "h", program_step, &p);

  test_run (e);
  ck_assert_uint_eq (p.second_time, SECONDS (4)); /* when nothing is outstanding any more */
  const PoolStats *s = engine_pool_stats (e, pool);
  ck_assert (s->overflowed);
  ck_assert_uint_eq (s->overflow.bytes, 140);
  ck_assert_uint_eq (s->overflow.time, SECONDS (4));
  ck_assert_uint_eq (s->overflow.tag, 2);
}
END_TEST

START_TEST (blocked_hosts_go_in_order)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "dram", 100);
  Program a = add_program (e, pool, 50, 60, TRUE), b = add_program (e, pool, 50, 40, TRUE);
  engine_add_host (e, "a", program_step, &a);
  engine_add_host (e, "b", program_step, &b);

  /* both block at 1 s; at 4 s a's release leaves 50: b's 40 fits, a's 60 does not until b's
     release makes room for it */
  test_run (e);
  ck_assert_uint_eq (a.second_time, SECONDS (4));
  ck_assert_uint_eq (b.second_time, SECONDS (4));
  ck_assert_uint_eq (engine_pool_stats (e, pool)->allocated.bytes, 100);
  ck_assert_uint_eq (engine_pool_stats (e, pool)->device.bytes, 100);
  ck_assert (!engine_pool_stats (e, pool)->overflowed);
}
END_TEST

/* What the device holds: the release at 0 s changes nothing, the op's end does. */
START_TEST (the_log_has_every_change)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = add_program (e, pool, 60, 41, TRUE);
  guint              n;
  engine_add_host (e, "h", program_step, &p);

  engine_pool_take (e, pool, POOL_CACHE, 1, 0); /* not kept */
  engine_keep_pool_log (e, TRUE);
  test_run (e);
  const PoolChange *log = engine_pool_log (e, &n);
  ck_assert_uint_eq (n, 3);
  ck_assert_uint_eq (log[0].bytes, 60);
  ck_assert_uint_eq (log[1].bytes, 0);
  ck_assert_uint_eq (log[1].time, SECONDS (4));
  ck_assert_uint_eq (log[2].bytes, 41);
  ck_assert_int_eq (log[2].category, POOL_GATHERED);
}
END_TEST

/*
 * Takes 60, whose release waits for an op that waits for another; takes 50 more before it submits
 * that other one.
 */
static HostYield
circle_step (Engine *e, HostId host, gpointer user)
{
  Program *p = user;

  (void) host;
  switch (p->phase++)
    {
    case 0:
      return (HostYield){ .kind = HOST_ALLOC, .pool = p->pool, .request.bytes = 60 };
    case 1:
      p->op = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (1) });
      engine_stream_wait (e, p->stream, p->op);
      engine_pool_release (
          e, p->pool, 0, &(PoolRequest){ .bytes = 60 },
          test_submit (e, p->stream, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (4) }));
      return (HostYield){ .kind = HOST_ALLOC, .pool = p->pool, .request.bytes = 50 };
    default:
      p->second_time = engine_now (e);
      engine_submit (e, p->op, engine_add_stream (e, "t", 0, 0), ENGINE_NONE, 0);
      return (HostYield){ .kind = HOST_END };
    }
}

START_TEST (memory_that_waits_for_its_own_host_overflows)
{
  g_autoptr (Engine) e = engine_new ();
  PoolId             pool = engine_add_pool (e, "hbm", 100);
  Program            p = { .pool = pool, .stream = engine_add_stream (e, "s", 0, 0) };

  engine_add_host (e, "h", circle_step, &p);
  test_run (e);
  ck_assert_uint_eq (p.second_time, 0);
  ck_assert_uint_eq (engine_now (e), SECONDS (5));
  ck_assert (engine_pool_stats (e, pool)->overflowed);
  ck_assert_uint_eq (engine_pool_stats (e, pool)->overflow.bytes, 110);
}
END_TEST

/* ---- an allocator ---------------------------------------------------------------------------- */

/* Gives out all in pages of 16 and keeps those that come back; what is asked for is a guint64. */
typedef struct
{
  guint64  reserved, cached;
  guint64  detached; /* bytes of the one that waits */
  GString *calls;    /* one letter each: take, Take in vain, release, detach, give, trim */
} Pages;

static guint64
in_pages (gconstpointer what)
{
  return (*(const guint64 *) what + 15) / 16 * 16;
}

static gboolean
pages_take (gpointer allocator, gconstpointer what, guint64 capacity, guint *done)
{
  Pages   *self = allocator;
  guint64  bytes = in_pages (what), reused = MIN (bytes, self->cached);
  gboolean fits = self->reserved + bytes - reused <= capacity;

  g_string_append_c (self->calls, fits ? 't' : 'T');
  if (!fits)
    return FALSE;
  self->cached -= reused;
  self->reserved += bytes - reused;
  *done = 1;
  return TRUE;
}

static void
pages_release (gpointer allocator, gconstpointer what)
{
  Pages *self = allocator;

  g_string_append_c (self->calls, 'r');
  self->cached += in_pages (what);
}

static guint32
pages_detach (gpointer allocator, gconstpointer what)
{
  Pages *self = allocator;

  g_string_append_c (self->calls, 'd');
  self->detached = in_pages (what);
  return 5;
}

static void
pages_give (gpointer allocator, guint32 detached)
{
  Pages *self = allocator;

  ck_assert_uint_eq (detached, 5);
  g_string_append_c (self->calls, 'g');
  self->cached += self->detached;
}

static guint64
pages_trim (gpointer allocator)
{
  Pages  *self = allocator;
  guint64 trimmed = self->cached;

  g_string_append_c (self->calls, 'x');
  self->reserved -= trimmed;
  self->cached = 0;
  return trimmed;
}

static guint64
pages_reserved (gconstpointer allocator)
{
  return ((const Pages *) allocator)->reserved;
}

static void
pages_free (gpointer allocator)
{
  g_string_append_c (((Pages *) allocator)->calls, 'f');
}

static const PoolAllocator pages_allocator = {
  .take = pages_take,
  .release = pages_release,
  .detach = pages_detach,
  .give = pages_give,
  .trim = pages_trim,
  .reserved = pages_reserved,
  .free = pages_free,
};

/* Takes 50, of 64 reserved; its release waits for an op of 4 s; 90 more go on only then. */
static HostYield
pages_step (Engine *e, HostId host, gpointer user)
{
  static const guint64 first = 50, second = 90;
  Program             *p = user;

  (void) host;
  switch (p->phase++)
    {
    case 0:
      return (HostYield){ .kind = HOST_ALLOC, .pool = p->pool, .request = { first, &first } };
    case 1:
      p->op = test_submit (e, p->stream, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (4) });
      engine_pool_release (e, p->pool, 0, &(PoolRequest){ first, &first }, p->op);
      return (HostYield){ .kind = HOST_ALLOC, .pool = p->pool, .request = { second, &second } };
    case 2:
      p->second_time = engine_now (e);
      engine_pool_release (e, p->pool, 0, &(PoolRequest){ second, &second }, ENGINE_NONE);
      return (HostYield){ .kind = HOST_END };
    default:
      g_assert_not_reached ();
    }
}

START_TEST (a_pool_calls_its_allocator)
{
  Engine *e = engine_new ();
  PoolId  pool = engine_add_pool (e, "hbm", 100);
  Pages   pages = { .calls = g_string_new (NULL) };
  Program p = { .pool = pool, .stream = engine_add_stream (e, "s", 0, 0) };

  engine_pool_set_allocator (e, pool, &pages_allocator, &pages);
  engine_add_host (e, "h", pages_step, &p);
  test_run (e);
  ck_assert_uint_eq (p.second_time, SECONDS (4));
  ck_assert (engine_is_idle (e));
  ck_assert_uint_eq (engine_pool_stats (e, pool)->reserved.bytes, 96);
  ck_assert_uint_eq (engine_pool_stats (e, pool)->allocated.bytes, 90);
  ck_assert_uint_eq (engine_pool_stats (e, pool)->n_retries, 0); /* pages are joined: none went */
  engine_free (e);
  ck_assert_str_eq (pages.calls->str, "tdTgtrf");
  g_string_free (pages.calls, TRUE);
}
END_TEST

SUITE_MAIN (engine_pools)
{
  Suite *suite = suite_create ("engine-pools");
  TCase *peaks = tcase_create ("peaks"), *hosts = tcase_create ("allocations");

  tcase_add_test (peaks, peaks_and_categories);
  tcase_add_test (peaks, only_the_first_overflow_is_kept);
  tcase_add_test (hosts, a_release_in_host_order_is_at_once);
  tcase_add_test (hosts, what_fits_beside_a_deferred_release_goes_on);
  tcase_add_test (hosts, released_bytes_wait_for_their_op);
  tcase_add_test (hosts, what_does_not_fit_waits_for_the_release);
  tcase_add_test (hosts, what_can_never_fit_overflows);
  tcase_add_test (hosts, blocked_hosts_go_in_order);
  tcase_add_test (hosts, the_log_has_every_change);
  tcase_add_test (hosts, a_pool_calls_its_allocator);
  tcase_add_test (hosts, memory_that_waits_for_its_own_host_overflows);
  suite_add_tcase (suite, peaks);
  suite_add_tcase (suite, hosts);
  return test_main (suite);
}
