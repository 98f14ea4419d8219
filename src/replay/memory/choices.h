/*
 * Which free blocks the requests of a stretch took, to know without doing them again whether the
 * same requests would leave an allocator as it is.
 *
 * Let a stretch lead from a state S to S + E: all blocks as before, and E, segments that the device
 * gave meanwhile and that are whole and free. Done once more, a request finds what it found the
 * first time and those of E that the device had not given by then. It takes the first that is large
 * enough, in the order of sizes and addresses: where none of E comes before what was taken, the
 * same again. Where the device gave a segment, it is now that one of E, at the same address, and
 * there is one block less in which the two times differ. When all of E has been taken so, the state
 * is that of the first time, and so is the end.
 */
#pragma once

#include "replay/memory/free-blocks.h"

/* A block, as allocator_state has them, by address. */
typedef struct
{
  guint64 address, size, stream, flags;
} BlockState;

enum
{
  BLOCK_SMALL = 1 << 0,
  BLOCK_FREE = 1 << 1,
  BLOCK_HAS_PREV = 1 << 2,
  BLOCK_HAS_NEXT = 1 << 3,
};

/* What allocator_state begins with; the blocks follow. */
typedef struct
{
  guint64 next_address, reserved;
} AllocatorStateHead;

typedef struct _Choices Choices;

Choices *choices_new (void);
void     choices_free (Choices *self);

/* A stretch begins in STATE (guint64), which is taken over. KEEP: what it takes will be added. */
void choices_begin (Choices *self, GArray *state, gboolean keep);

/* Nothing more is known of the stretch: segments have gone back to the device. */
void choices_spoil (Choices *self);

/* What a request took. */
typedef struct
{
  guint64   size; /* what it became */
  guint32   stream;
  gboolean  small;
  FreeBlock taken; /* that size is the front of it */
} Choice;

/* The stretch's next request. */
void choices_add (Choices *self, const Choice *choice);

/* Whether the stretch, which has led to STATE, would lead from there to the same again. */
gboolean choices_repeat (const Choices *self, const GArray *state);
