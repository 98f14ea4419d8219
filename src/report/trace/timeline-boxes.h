/*
 * A timeline cut to a window and to as many boxes as somebody can look at: what is narrower than
 * a grain is drawn as one box with its neighbours.
 */
#pragma once

#include "report/trace/timeline.h"

/* What is asked for. */
typedef struct
{
  SimTime from, to; /* inside the timeline; `to` 0: its end */
  guint   rank;     /* whose lanes; TIMELINE_ALL_RANKS: of each the lanes that mostly compute */
  guint   most;     /* boxes, at least one for each lane */
} TimelineWindow;

#define TIMELINE_ALL_RANKS G_MAXUINT

/* One slice, or some that follow each other in a lane. */
typedef struct
{
  SimTime              begin, end; /* inside the window */
  guint                n;          /* slices */
  const TimelineSlice *longest;    /* of them, as far as they lie in the window */
} TimelineBox;

/*
 * SELF's slices that overlap WINDOW, by lane and then by time. The grain is the least from a
 * TIMELINE_PIXELS-th of the window on, doubled, with which there are no more than WINDOW->most: a
 * box of several slices has no gap of a grain. Newly allocated; it points into SELF.
 */
#define TIMELINE_PIXELS 2000
GArray *timeline_boxes (const Timeline *self, const TimelineWindow *window);
