/*
 * The caching allocator by hand: rounding, the two pools, segments, best fit, splitting, joining,
 * streams, trimming; and on random sequences that blocks never overlap, that no more is in use than
 * reserved, and that everything comes back.
 */
#include "../engine/fixture.h"
#include "../suite.h"
#include "replay/memory/device-heap.h"
#include "replay/memory/heap.h"

#include <string.h>

#define KIB(n) ((guint64) (n) << 10)
#define MIB(n) ((guint64) (n) << 20)
#define ROOM   G_MAXUINT64

START_TEST (small_requests_share_segments_of_two_mib)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);
  AllocBlock one = allocator_take (a, 1, 0, ROOM), two = allocator_take (a, 513, 0, ROOM);

  ck_assert_uint_eq (allocator_size (a, one), 512);
  ck_assert_uint_eq (allocator_size (a, two), 1024);
  ck_assert_uint_eq (allocator_address (a, two), allocator_address (a, one) + 512);
  ck_assert_uint_eq (allocator_reserved (a), MIB (2));
  ck_assert_uint_eq (allocator_in_use (a), 1536);
  allocator_take (a, MIB (1), 0, ROOM); /* 2 MiB - 1536 B hold it */
  ck_assert_uint_eq (allocator_reserved (a), MIB (2));
  allocator_take (a, MIB (1), 0, ROOM); /* 1 MiB - 1536 B do not */
  ck_assert_uint_eq (allocator_reserved (a), MIB (4));
}
END_TEST

START_TEST (large_requests_take_20_mib_or_whole_2_mib)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);

  allocator_take (a, MIB (1) + 1, 0, ROOM); /* of a segment of 20 MiB */
  ck_assert_uint_eq (allocator_reserved (a), MIB (20));
  allocator_take (a, MIB (9), 0, ROOM); /* the rest of it */
  ck_assert_uint_eq (allocator_reserved (a), MIB (20));
  allocator_take (a, MIB (10), 0, ROOM); /* 10 MiB - 512 B are left: too little */
  ck_assert_uint_eq (allocator_reserved (a), MIB (30));
  allocator_take (a, MIB (11), 0, ROOM); /* rounded to 12 MiB; the rest of 1 MiB is not split off */
  ck_assert_uint_eq (allocator_reserved (a), MIB (42));
  ck_assert_uint_eq (allocator_in_use (a), MIB (1) + 512 + MIB (9) + MIB (10) + MIB (12));
}
END_TEST

START_TEST (the_smallest_block_that_fits_is_taken)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);
  AllocBlock            big = allocator_take (a, MIB (40), 0, ROOM);
  AllocBlock            fit = allocator_take (a, MIB (24), 0, ROOM), again;
  guint64               at = allocator_address (a, fit);

  allocator_give (a, big);
  allocator_give (a, fit);
  again = allocator_take (a, MIB (22), 0, ROOM);
  ck_assert_uint_eq (allocator_address (a, again), at);
  ck_assert_uint_eq (allocator_size (a, again), MIB (22)); /* 2 MiB were split off */
  ck_assert_uint_eq (allocator_reserved (a), MIB (64));
}
END_TEST

START_TEST (neighbours_join_again)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);
  AllocBlock            whole = allocator_take (a, MIB (30), 0, ROOM), part[3];

  allocator_give (a, whole);
  for (guint i = 0; i < 3; i++)
    part[i] = allocator_take (a, MIB (10), 0, ROOM);
  ck_assert_uint_eq (allocator_reserved (a), MIB (30));
  allocator_give (a, part[0]);
  allocator_give (a, part[2]);
  allocator_give (a, part[1]);
  whole = allocator_take (a, MIB (30), 0, ROOM);
  ck_assert_uint_eq (allocator_reserved (a), MIB (30));
  ck_assert_uint_eq (allocator_n_segments (a), 1);
}
END_TEST

/* 30 MiB are free in all, but no 20 of them in one piece. */
START_TEST (fragments_do_not_hold_a_large_block)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING),
                        e = allocator_new (ALLOCATOR_EXPANDABLE);
  Allocator *both[] = { a, e };
  guint64    reserved[] = { MIB (60) + MIB (20), MIB (60) + MIB (20) };

  for (guint k = 0; k < 2; k++)
    {
      AllocBlock part[6];

      allocator_give (both[k], allocator_take (both[k], MIB (60), 0, ROOM));
      for (guint i = 0; i < 6; i++)
        part[i] = allocator_take (both[k], MIB (10), 0, ROOM);
      for (guint i = 0; i < 6; i += 2)
        allocator_give (both[k], part[i]);
      allocator_take (both[k], MIB (20), 0, ROOM);
      ck_assert_uint_eq (allocator_reserved (both[k]), reserved[k]);
    }
}
END_TEST

START_TEST (a_growing_segment_uses_its_free_end)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_EXPANDABLE);
  AllocBlock            first = allocator_take (a, MIB (30), 0, ROOM), second;

  ck_assert_uint_eq (allocator_reserved (a), MIB (40)); /* two pages of 20 MiB */
  second = allocator_take (a, MIB (30), 0, ROOM);       /* 10 MiB are there: one page more */
  ck_assert_uint_eq (allocator_reserved (a), MIB (60));
  ck_assert_uint_eq (allocator_address (a, second), allocator_address (a, first) + MIB (30));
  allocator_give (a, second);
  ck_assert_uint_eq (allocator_trim (a),
                     MIB (20)); /* its second page; the first holds 10 MiB of `first` */
  ck_assert_uint_eq (allocator_reserved (a), MIB (40));
  allocator_give (a, first);
  ck_assert_uint_eq (allocator_trim (a), MIB (40));
}
END_TEST

START_TEST (streams_do_not_share)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);

  allocator_give (a, allocator_take (a, MIB (16), 3, ROOM));
  allocator_take (a, MIB (16), 2, ROOM);
  allocator_take (a, MIB (16), 4, ROOM);
  ck_assert_uint_eq (allocator_reserved (a), MIB (48));
  allocator_take (a, MIB (16), 3, ROOM);
  ck_assert_uint_eq (allocator_reserved (a), MIB (48));
}
END_TEST

START_TEST (trimming_gives_whole_segments_only)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);
  AllocBlock one = allocator_take (a, MIB (5), 0, ROOM), two = allocator_take (a, MIB (5), 0, ROOM);
  AllocBlock three = allocator_take (a, MIB (64), 0, ROOM);

  ck_assert_uint_eq (allocator_take (a, MIB (64), 0, MIB (63)), ALLOC_NONE);
  allocator_give (a, two);
  allocator_give (a, three);
  ck_assert_uint_eq (allocator_trim (a), MIB (64));
  ck_assert_uint_eq (allocator_reserved (a), MIB (20));
  ck_assert_uint_eq (allocator_peak (a), MIB (84));
  allocator_give (a, one);
  ck_assert_uint_eq (allocator_trim (a), MIB (20));
  ck_assert_uint_eq (allocator_n_segments (a), 0);
}
END_TEST

/* ---- random sequences ------------------------------------------------------------------------ */

#define N_SLOTS 200

static guint64
random_size (GRand *rand)
{
  static const guint64 scale[] = { KIB (1), KIB (600), MIB (2), MIB (12), MIB (90) };

  return 1 + g_rand_int (rand) % scale[g_rand_int_range (rand, 0, G_N_ELEMENTS (scale))];
}

static gboolean
overlap (const Allocator *a, AllocBlock x, AllocBlock y)
{
  return allocator_address (a, x) < allocator_address (a, y) + allocator_size (a, y)
         && allocator_address (a, y) < allocator_address (a, x) + allocator_size (a, x);
}

static void
assert_apart (const Allocator *a, const AllocBlock *slots)
{
  guint n = 0;

  for (guint i = 0; i < N_SLOTS; i++)
    for (guint j = 0; slots[i] != ALLOC_NONE && j < i; j++)
      n += slots[j] != ALLOC_NONE && overlap (a, slots[i], slots[j]);
  ck_assert_uint_eq (n, 0);
}

static void
random_sequence (AllocatorKind kind, guint32 seed)
{
  g_autoptr (Allocator) a = allocator_new (kind);
  g_autoptr (GRand)     rand = g_rand_new_with_seed (seed);
  AllocBlock            slots[N_SLOTS];
  guint64               sum = 0;

  memset (slots, 0xff, sizeof slots);
  for (guint i = 0; i < 2000; i++)
    {
      guint slot = (guint) g_rand_int_range (rand, 0, N_SLOTS);

      if (slots[slot] != ALLOC_NONE)
        {
          sum -= allocator_size (a, slots[slot]);
          allocator_give (a, slots[slot]);
          slots[slot] = ALLOC_NONE;
        }
      else
        {
          guint64 bytes = random_size (rand);

          slots[slot] = allocator_take (a, bytes, (guint32) g_rand_int_range (rand, 0, 3), ROOM);
          ck_assert_uint_ge (allocator_size (a, slots[slot]), bytes);
          sum += allocator_size (a, slots[slot]);
        }
      if (i % 500 == 499)
        {
          allocator_trim (a);
          assert_apart (a, slots);
        }
      ck_assert_uint_eq (allocator_in_use (a), sum);
      ck_assert_uint_ge (allocator_reserved (a), sum);
    }
  assert_apart (a, slots);
  for (guint i = 0; i < N_SLOTS; i++)
    if (slots[i] != ALLOC_NONE)
      allocator_give (a, slots[i]);
  ck_assert_uint_eq (allocator_in_use (a), 0);
  sum = allocator_reserved (a);
  ck_assert_uint_eq (allocator_trim (a), sum);
  ck_assert_uint_eq (allocator_reserved (a), 0);
}

START_TEST (random_sequences_are_sound)
{
  for (guint32 seed = 1; seed <= 40; seed++)
    {
      random_sequence (ALLOCATOR_CACHING, seed);
      random_sequence (ALLOCATOR_EXPANDABLE, seed);
    }
}
END_TEST

/* ---- buffers --------------------------------------------------------------------------------- */

/*
 * A pass over a layer: 20 MiB that are kept, 12 MiB that go after the peak, 30 MiB that come then
 * in their place and more.
 */
static const MemoryStep steps[] = {
  { 0, MIB (20) }, { 1, MIB (12) }, { 1, 0 }, { 2, MIB (10) }, { 2, 0 },
};
static const MemoryProgram program = { steps, G_N_ELEMENTS (steps), 2, 3 };

START_TEST (a_program_stops_at_its_peak)
{
  g_autoptr (Heap) heap = heap_new (ALLOCATOR_CACHING);
  HeapRequest      frame = { .buffer = 7, .bytes = MIB (20), .n_frame = 3 };
  HeapRequest      working = { .buffer = 8, .bytes = MIB (12), .program = &program, .frame = 7 };
  guint            done = 0;

  ck_assert (heap_allocate (heap, &frame, ROOM, &done));
  ck_assert_uint_eq (heap_reserved (heap), 0);
  /* 20 MiB went through, 12 MiB do not */
  ck_assert (!heap_allocate (heap, &working, MIB (31), &done));
  ck_assert_uint_eq (done, 1);
  ck_assert (heap_allocate (heap, &working, MIB (32), &done));
  ck_assert_uint_eq (heap_reserved (heap), MIB (32));
  heap_release (heap, &working); /* 10 MiB come from the 12 */
  ck_assert_uint_eq (heap_reserved (heap), MIB (32));
  heap_release (heap, &frame);
  ck_assert_uint_eq (heap_trim (heap), MIB (32));
}
END_TEST

/* What a frame held when its program was over comes back without it: 20 MiB. */
START_TEST (a_frame_comes_back)
{
  g_autoptr (Heap) heap = heap_new (ALLOCATOR_CACHING);
  HeapRequest      frame = {
         .buffer = 7, .bytes = MIB (20), .n_frame = 3, .program = &program, .frame = 7
  };
  guint   done = 0;
  guint32 detached;

  ck_assert (!heap_allocate (heap, &frame, MIB (19), &done));
  ck_assert (heap_allocate (heap, &frame, MIB (20), &done));
  ck_assert_uint_eq (heap_reserved (heap), MIB (20));
  ck_assert_uint_eq (heap_trim (heap), 0); /* in use */
  detached = heap_detach (heap, &frame);
  ck_assert_uint_eq (heap_trim (heap), 0);
  heap_give (heap, detached);
  ck_assert_uint_eq (heap_trim (heap), MIB (20));
}
END_TEST

START_TEST (a_detached_buffer_keeps_its_blocks)
{
  g_autoptr (Heap) heap = heap_new (ALLOCATOR_CACHING);
  HeapRequest      request = { .buffer = 0, .bytes = MIB (24) };
  guint            done = 0;
  guint32          detached;

  ck_assert (heap_allocate (heap, &request, ROOM, &done));
  ck_assert_uint_eq (heap_reserved (heap), MIB (24));
  detached = heap_detach (heap, &request);
  done = 0;
  ck_assert (
      heap_allocate (heap, &request, ROOM, &done)); /* the number is free, the memory is not */
  ck_assert_uint_eq (heap_reserved (heap), MIB (48));
  heap_give (heap, detached);
  heap_release (heap, &request);
  ck_assert_uint_eq (heap_trim (heap), MIB (48));
}
END_TEST

/*
 * The work of N layers that each leave a fragment behind, on a device that is full: every request
 * misses the cache and trims. Then the fragments come back in an order of their own.
 */
static guint64
work_of_fragments (AllocatorKind kind, guint n)
{
  g_autoptr (Allocator)  a = allocator_new (kind);
  g_autofree AllocBlock *kept = g_new (AllocBlock, n), *gone = g_new (AllocBlock, n);

  for (guint i = 0; i < n; i++)
    {
      guint64 size = MIB (2) + 512 * ((guint64) i * 7919 % n);

      allocator_trim (a);
      gone[i] = allocator_take (a, size, 0, ROOM);
      kept[i] = allocator_take (a, MIB (12), 0, ROOM);
      if (i % 2 == 0)
        allocator_give (a, gone[i]);
    }
  for (guint i = 0; i < n; i++)
    {
      guint at = (guint) ((guint64) i * 7919 % n);

      allocator_trim (a);
      allocator_give (a, kept[at]);
      if (at % 2 == 1)
        allocator_give (a, gone[at]);
    }
  ck_assert_uint_eq (allocator_in_use (a), 0);
  return allocator_work (a);
}

/* What A holds: newly allocated. */
static GArray *
state_of (const Allocator *a)
{
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (guint64));

  allocator_state (a, numbers);
  return numbers;
}

static gboolean
same_state (const Allocator *a, const GArray *before)
{
  g_autoptr (GArray) now = state_of (a);

  return now->len == before->len
         && memcmp (now->data, before->data, now->len * sizeof (guint64)) == 0;
}

/* Whatever blocks are called: what comes back to where it lay is the same, what does not is not. */
START_TEST (a_state_says_where_blocks_lie)
{
  static const AllocatorKind kinds[] = { ALLOCATOR_CACHING, ALLOCATOR_EXPANDABLE };
  g_autoptr (Allocator)      a = allocator_new (kinds[_i]);
  AllocBlock                 blocks[] = { allocator_take (a, MIB (4), 0, ROOM),
                                          allocator_take (a, MIB (4), 0, ROOM),
                                          allocator_take (a, MIB (12), 0, ROOM) };
  guint64                    first = allocator_address (a, blocks[0]);
  g_autoptr (GArray)         before = state_of (a);
  AllocBlock                 other;

  allocator_give (a, blocks[0]);
  ck_assert (!same_state (a, before)); /* free */
  allocator_give (a, blocks[1]);
  blocks[1] = allocator_take (a, MIB (4), 0, ROOM);
  ck_assert_uint_eq (allocator_address (a, blocks[1]), first);
  ck_assert (!same_state (a, before));
  blocks[0] = allocator_take (a, MIB (4), 0, ROOM);
  ck_assert (same_state (a, before)); /* they changed names */
  other = allocator_take (a, MIB (30), 0, ROOM);
  allocator_give (a, other);
  ck_assert (!same_state (a, before)); /* a segment more is cached */
  allocator_trim (a);
  ck_assert_uint_eq (allocator_reserved (a), MIB (20));
}
END_TEST

/* Two buffers that changed places are not what they were. */
START_TEST (a_state_says_which_buffer_holds_what)
{
  static const HeapRequest requests[] = { { .buffer = 0, .bytes = MIB (4) },
                                          { .buffer = 1, .bytes = MIB (4) } };
  g_autoptr (Heap)         heap = heap_new (ALLOCATOR_CACHING);
  GArray                  *states[3];

  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    {
      guint swapped = i == 1, done[2] = { 0 };

      states[i] = g_array_new (FALSE, FALSE, sizeof (guint64));
      ck_assert (heap_allocate (heap, &requests[swapped], ROOM, &done[0]));
      ck_assert (heap_allocate (heap, &requests[1 - swapped], ROOM, &done[1]));
      heap_state (heap, states[i]);
      heap_release (heap, &requests[0]);
      heap_release (heap, &requests[1]);
    }
  for (guint i = 1; i < G_N_ELEMENTS (states); i++)
    {
      ck_assert_uint_eq (states[i]->len, states[0]->len);
      ck_assert_int_eq (memcmp (states[i]->data, states[0]->data, states[0]->len * 8) != 0, i == 1);
    }
  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    g_array_unref (states[i]);
}
END_TEST

/* Takes and gives back, in an order that SEED decides, always the same; ends with nothing taken. */
static void
stretch (Allocator *a, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  AllocBlock        slots[20];

  memset (slots, 0xff, sizeof slots);
  for (guint i = 0; i < 200; i++)
    {
      AllocBlock *slot = &slots[g_rand_int_range (rand, 0, G_N_ELEMENTS (slots))];
      guint64     bytes = random_size (rand);
      guint32     stream = g_rand_boolean (rand);

      if (*slot != ALLOC_NONE)
        allocator_give (a, *slot);
      *slot = *slot == ALLOC_NONE ? allocator_take (a, bytes, stream, ROOM) : ALLOC_NONE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (slots); i++)
    if (slots[i] != ALLOC_NONE)
      allocator_give (a, slots[i]);
}

/* How often stretches of SEED are known to repeat; of them, after others that took segments. */
static guint
known_repeats (AllocatorKind kind, guint32 seed, guint *after_growth)
{
  g_autoptr (Allocator) a = allocator_new (kind);
  guint                 n = 0;

  allocator_note (a);
  for (guint i = 0; i < 6; i++)
    {
      guint64            reserved = allocator_reserved (a);
      gboolean           grew, repeats;
      g_autoptr (GArray) before = NULL;

      stretch (a, seed);
      grew = allocator_reserved (a) > reserved;
      before = state_of (a);
      repeats = allocator_repeats (a);
      n += repeats;
      *after_growth += repeats && grew;
      ck_assert (grew || repeats);
      if (!repeats)
        continue;
      stretch (a, seed);
      ck_assert (same_state (a, before));
      allocator_note (a);
    }
  return n;
}

/* What is said to repeat does, also where the first time took segments that the next finds free. */
START_TEST (what_repeats_is_known_beforehand)
{
  static const AllocatorKind kinds[] = { ALLOCATOR_CACHING, ALLOCATOR_EXPANDABLE };
  guint                      after_growth = 0;

  for (guint32 seed = 1; seed <= 100; seed++)
    ck_assert_uint_gt (known_repeats (kinds[_i], seed, &after_growth), 0);
  ck_assert_int_eq (after_growth > 0, kinds[_i] == ALLOCATOR_CACHING);
}
END_TEST

/*
 * Two blocks of 30 MiB at once take two segments, which the next time serve them in the same order.
 * Where the first came from 40 MiB that were free, the next time it gets the segment that the
 * second took: the smallest that holds it.
 */
START_TEST (a_fresh_segment_may_serve_another)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);
  AllocBlock            first, second;

  if (_i == 1)
    allocator_give (a, allocator_take (a, MIB (40), 0, ROOM));
  allocator_note (a);
  first = allocator_take (a, MIB (30), 0, ROOM);
  second = allocator_take (a, MIB (30), 0, ROOM);
  allocator_give (a, first);
  allocator_give (a, second);
  ck_assert_uint_eq (allocator_reserved (a), MIB (_i == 0 ? 60 : 70));
  ck_assert_int_eq (allocator_repeats (a), _i == 0);
}
END_TEST

/* What went back to the device meanwhile is not where it was. */
START_TEST (what_trims_is_not_known_to_repeat)
{
  g_autoptr (Allocator) a = allocator_new (ALLOCATOR_CACHING);

  allocator_note (a);
  allocator_give (a, allocator_take (a, MIB (30), 0, ROOM));
  allocator_trim (a);
  allocator_give (a, allocator_take (a, MIB (30), 0, ROOM));
  ck_assert (!allocator_repeats (a));
}
END_TEST

START_TEST (work_is_nearly_linear)
{
  const AllocatorKind kinds[] = { ALLOCATOR_CACHING, ALLOCATOR_EXPANDABLE };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      guint64 few = work_of_fragments (kinds[k], 2000), many = work_of_fragments (kinds[k], 32000);

      ck_assert_uint_gt (few, 2000);      /* something is counted */
      ck_assert_uint_lt (many, 32 * few); /* of 16 times as many; a list in one piece: 256 times */
    }
}
END_TEST

/*
 * roundup_power2_divisions:4 (the example of PyTorch's notes on memory): 1200 becomes 1280 between
 * 1024 and 2048, in quarters of 256; with 512 B as the least block the same in kilobytes. Powers of
 * two stay, and so do sizes up to 4 x 512 B.
 */
START_TEST (sizes_between_powers_of_two_are_rounded)
{
  const AllocatorRules none = { 0 }, four = { .divisions = 4 };

  ck_assert_uint_eq (alloc_rules_round (&four, KIB (1200)), KIB (1280));
  ck_assert_uint_eq (alloc_rules_round (&four, KIB (1280) + 1), KIB (1536));
  ck_assert_uint_eq (alloc_rules_round (&four, KIB (1024)), KIB (1024));
  ck_assert_uint_eq (alloc_rules_round (&four, KIB (1800)), KIB (2048));
  ck_assert_uint_eq (alloc_rules_round (&four, 1025), 1536);
  ck_assert_uint_eq (alloc_rules_round (&four, 1), 512);
  ck_assert_uint_eq (alloc_rules_round (&none, KIB (1200)), KIB (1200));
  ck_assert_uint_eq (alloc_rules_round (&none, KIB (1200) + 1), KIB (1200) + 512);
}
END_TEST

/*
 * max_split_size of 100 MiB: a block of 200 MiB serves neither 40 MiB nor 150 (50 would be left),
 * and 190 MiB take all of it; without it the first 40 MiB are cut off.
 */
START_TEST (large_blocks_are_not_split)
{
  const AllocatorRules  rules = { .max_split = MIB (100) };
  g_autoptr (Allocator) a = allocator_new_with (&rules), plain = allocator_new (ALLOCATOR_CACHING);

  allocator_give (a, allocator_take (a, MIB (200), 0, ROOM));
  allocator_give (plain, allocator_take (plain, MIB (200), 0, ROOM));
  allocator_take (a, MIB (40), 0, ROOM);
  allocator_take (plain, MIB (40), 0, ROOM);
  ck_assert_uint_eq (allocator_reserved (plain), MIB (200));
  ck_assert_uint_eq (allocator_reserved (a), MIB (240));
  allocator_take (a, MIB (150), 0, ROOM);
  ck_assert_uint_eq (allocator_reserved (a), MIB (390));
  ck_assert_uint_eq (allocator_size (a, allocator_take (a, MIB (190), 0, ROOM)), MIB (200));
  ck_assert_uint_eq (allocator_reserved (a), MIB (390));
}
END_TEST

/*
 * Of PyTorch's products in two threads 8.125 MiB each before Hopper, which share a segment of 20
 * MiB, and 32 MiB since; Transformer Engine's 4 and 32 beside them. MI300X: 128 MiB.
 */
START_TEST (products_keep_their_workspaces)
{
  static const struct
  {
    const char *architecture;
    Workspaces  kind;
    double      bytes, reserved; /* MiB */
  } cases[] = {
    { "hopper", WORKSPACES_NONE, 0, 0 },
    { "ampere", WORKSPACES_TORCH, 16.25, 20 },
    { "ampere", WORKSPACES_TRANSFORMER_ENGINE, 20.25, 40 },
    { "hopper", WORKSPACES_TORCH, 64, 64 },
    { "blackwell", WORKSPACES_TRANSFORMER_ENGINE, 96, 96 },
    { "cdna3", WORKSPACES_TORCH, 256, 256 },
    { "cdna2", WORKSPACES_TORCH, 64, 64 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char              *architecture = (char *) cases[i].architecture;
      const GpuProfile   gpu = { .architecture = architecture };
      const MemoryConfig config = { .workspaces = (gint) cases[i].kind };
      const MemoryConfig ideal = { .allocator = ALLOCATOR_IDEAL };
      const MeshOptions  mesh = { .tp = 1 };
      g_autoptr (Heap)   heap = device_heap_new (&config, &gpu, &mesh);

      ck_assert_double_eq ((double) device_heap_workspaces (&config, &gpu, &mesh) / MIB (1),
                           cases[i].bytes);
      ck_assert_double_eq ((double) heap_reserved (heap) / MIB (1), cases[i].reserved);
      ck_assert_uint_eq (heap_trim (heap), 0);
      ck_assert_ptr_null (device_heap_new (&ideal, &gpu, &mesh));
    }
}
END_TEST

SUITE_MAIN (alloc)
{
  const TTest *const tests[] = {
    small_requests_share_segments_of_two_mib,
    large_requests_take_20_mib_or_whole_2_mib,
    the_smallest_block_that_fits_is_taken,
    neighbours_join_again,
    fragments_do_not_hold_a_large_block,
    a_growing_segment_uses_its_free_end,
    streams_do_not_share,
    trimming_gives_whole_segments_only,
    random_sequences_are_sound,
    a_program_stops_at_its_peak,
    a_frame_comes_back,
    a_detached_buffer_keeps_its_blocks,
    a_state_says_which_buffer_holds_what,
    what_trims_is_not_known_to_repeat,
    work_is_nearly_linear,
    sizes_between_powers_of_two_are_rounded,
    large_blocks_are_not_split,
    products_keep_their_workspaces,
  };
  Suite *suite = suite_create ("alloc");
  TCase *all = tcase_create ("alloc");

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    tcase_add_test (all, tests[i]);
  tcase_add_loop_test (all, a_state_says_where_blocks_lie, 0, 2);
  tcase_add_loop_test (all, what_repeats_is_known_beforehand, 0, 2);
  tcase_add_loop_test (all, a_fresh_segment_may_serve_another, 0, 2);
  suite_add_tcase (suite, all);
  return test_main (suite);
}
