/*
 * The event heap against a plain array that is searched: 500 seeded sequences of insertions,
 * moves, removals and pops.
 */
#include "../suite.h"
#include "engine/event-heap.h"
#include "fixture.h"

#define N_EVENTS 40

typedef struct
{
  gboolean scheduled;
  SimTime  time;
  guint64  sequence;
} Slow;

static gint
first_of (const Slow *slow)
{
  gint best = -1;

  for (gint i = 0; i < N_EVENTS; i++)
    if (slow[i].scheduled
        && (best < 0 || slow[i].time < slow[best].time
            || (slow[i].time == slow[best].time && slow[i].sequence < slow[best].sequence)))
      best = i;
  return best;
}

static void
pop_both (EventHeap *heap, Slow *slow, guint seed)
{
  gint best = first_of (slow);

  ck_assert_msg (event_heap_is_empty (heap) == (best < 0), "seed %u", seed);
  if (best < 0)
    return;
  ck_assert_msg (event_heap_time (heap) == slow[best].time, "seed %u", seed);
  ck_assert_msg (event_heap_pop (heap) == slow[best].sequence, "seed %u", seed);
  slow[best].scheduled = FALSE;
}

static void
check_sequence (guint seed)
{
  g_autoptr (EventHeap) heap = event_heap_new ();
  g_autoptr (GRand)     rand = g_rand_new_with_seed (seed);
  Slow                  slow[N_EVENTS] = { 0 };

  for (guint i = 0; i < N_EVENTS; i++)
    ck_assert_uint_eq (event_heap_add (heap), i);
  for (guint step = 0; step < 400; step++)
    {
      EventId event = (EventId) g_rand_int_range (rand, 0, N_EVENTS);
      switch (g_rand_int_range (rand, 0, 6))
        {
        case 0:
          event_heap_remove (heap, event);
          slow[event].scheduled = FALSE;
          break;
        case 1:
          pop_both (heap, slow, seed);
          break;
        default:
          slow[event] =
              (Slow){ TRUE, (SimTime) g_rand_int_range (rand, 0, 50), event * 7 % N_EVENTS };
          event_heap_set (heap, event, slow[event].time, slow[event].sequence);
        }
      ck_assert_msg (event_heap_time_of (heap, event)
                         == (slow[event].scheduled ? slow[event].time : SIM_TIME_MAX),
                     "seed %u", seed);
    }
  for (guint i = 0; i <= N_EVENTS; i++)
    pop_both (heap, slow, seed);
}

START_TEST (random_sequences)
{
  for (guint seed = 0; seed < 500; seed++)
    check_sequence (seed);
}
END_TEST

SUITE_MAIN (event_heap)
{
  Suite *suite = suite_create ("event-heap");
  TCase *tcase = tcase_create ("heap");

  tcase_add_test (tcase, random_sequences);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
