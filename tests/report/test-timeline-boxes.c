/*
 * Boxes of a timeline made by hand: what is wide stands by itself, what is narrower than a grain is
 * one with its neighbours, and the window cuts. Asserts places and sums by arithmetic, not what the
 * slices of a replay are: test-html.c has that.
 */
#include "../suite.h"

#include "report/trace/timeline-boxes.h"

#define LENGTH 2000000 /* a grain is 1001 */

static Timeline *
timeline_made (guint n_lanes)
{
  Timeline *self = g_new0 (Timeline, 1);

  self->length = self->period = LENGTH;
  self->ranks = g_ptr_array_new_with_free_func (g_free);
  self->labels = g_ptr_array_new_with_free_func (g_free);
  self->lanes = g_array_new (FALSE, FALSE, sizeof (TimelineLane));
  self->slices = g_array_new (FALSE, FALSE, sizeof (TimelineSlice));
  self->memory = g_array_new (FALSE, FALSE, sizeof (TimelineLevel));
  for (guint i = 0; i < n_lanes; i++)
    {
      const TimelineLane lane = { NULL, i / 2 }; /* two a rank */

      g_array_append_val (self->lanes, lane);
    }
  return self;
}

static void
add (Timeline *self, guint lane, SimTime begin, SimTime duration, TimePart part)
{
  const TimelineSlice slice = { .begin = begin, .duration = duration, .lane = lane, .part = part };

  g_array_append_val (self->slices, slice);
}

static const TimelineBox *
box_at (const GArray *boxes, guint i)
{
  ck_assert_uint_lt (i, boxes->len);
  return &g_array_index (boxes, TimelineBox, i);
}

static void
assert_box (const TimelineBox *box, SimTime begin, SimTime end, guint n)
{
  ck_assert_uint_eq (box->begin, begin);
  ck_assert_uint_eq (box->end, end);
  ck_assert_uint_eq (box->n, n);
}

START_TEST (test_narrow_neighbours_are_one)
{
  g_autoptr (Timeline) self = timeline_made (2);
  g_autoptr (GArray)   boxes = NULL;
  const TimelineWindow window = { .most = 100 };
  const TimelineSlice *slices;

  add (self, 0, 0, 5000, TIME_COMPUTE);
  add (self, 0, 5000, 100, TIME_COMPUTE);
  add (self, 0, 5200, 300, TIME_OPTIMIZER);
  add (self, 0, 5500, 200, TIME_COMPUTE);
  add (self, 0, 9000, 100, TIME_COMPUTE); /* further away than a grain */
  add (self, 1, 9100, 100, TIME_COMPUTE); /* another lane */
  boxes = timeline_boxes (self, &window);
  slices = (const TimelineSlice *) (gconstpointer) self->slices->data;
  ck_assert_uint_eq (boxes->len, 4);
  assert_box (box_at (boxes, 0), 0, 5000, 1);
  assert_box (box_at (boxes, 1), 5000, 5700, 3);
  ck_assert_ptr_eq (box_at (boxes, 1)->longest, &slices[2]);
  assert_box (box_at (boxes, 2), 9000, 9100, 1);
  assert_box (box_at (boxes, 3), 9100, 9200, 1);
}
END_TEST

START_TEST (test_window)
{
  g_autoptr (Timeline) self = timeline_made (4);
  g_autoptr (GArray)   boxes = NULL, of_all = NULL;
  TimelineWindow       window = { .from = 1000, .to = 2000, .rank = 1, .most = 100 };

  add (self, 0, 0, 5000, TIME_COMPUTE);
  add (self, 2, 0, 1000, TIME_COMPUTE);    /* ends where it begins */
  add (self, 2, 1500, 5000, TIME_COMPUTE); /* reaches out of it */
  add (self, 3, 100, 300, TIME_COMPUTE);
  add (self, 3, 500, 1000, TIME_HOST); /* mostly */
  boxes = timeline_boxes (self, &window);
  ck_assert_uint_eq (boxes->len, 2);
  assert_box (box_at (boxes, 0), 1500, 2000, 1);
  assert_box (box_at (boxes, 1), 1000, 1500, 1);
  window.rank = TIMELINE_ALL_RANKS; /* lanes that mostly compute */
  of_all = timeline_boxes (self, &window);
  ck_assert_uint_eq (of_all->len, 2);
  ck_assert_uint_eq (box_at (of_all, 0)->longest->lane, 0);
  ck_assert_uint_eq (box_at (of_all, 1)->longest->lane, 2);
}
END_TEST

/* However few are wanted: no more, no slice lost, and they follow each other. */
START_TEST (test_most)
{
  g_autoptr (Timeline) self = timeline_made (2);

  for (SimTime i = 0; i < 1000; i++)
    add (self, 0, i * 2000, 1500, TIME_COMPUTE);
  for (guint most = 1; most <= 1024; most *= 4)
    {
      const TimelineWindow window = { .most = most };
      g_autoptr (GArray)   boxes = timeline_boxes (self, &window);
      guint                n = 0;

      ck_assert_uint_le (boxes->len, MAX (most, 2));
      for (guint i = 0; i < boxes->len; i++)
        {
          n += box_at (boxes, i)->n;
          ck_assert (i == 0 || box_at (boxes, i)->begin >= box_at (boxes, i - 1)->end);
        }
      ck_assert_uint_eq (n, 1000);
      ck_assert_uint_eq (box_at (boxes, 0)->begin, 0);
      ck_assert_uint_eq (box_at (boxes, boxes->len - 1)->end, 999 * 2000 + 1500);
    }
}
END_TEST

SUITE_MAIN (timeline_boxes)
{
  Suite *suite = suite_create ("timeline-boxes");
  TCase *tc = tcase_create ("boxes");

  tcase_add_test (tc, test_narrow_neighbours_are_one);
  tcase_add_test (tc, test_window);
  tcase_add_test (tc, test_most);
  suite_add_tcase (suite, tc);
  return suite_run (suite);
}
