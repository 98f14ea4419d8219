/* How long single ops take: collectives, messages, and copies inside a GPU and to the host. */
#pragma once

#include "replay/run/replay.h"

typedef struct
{
  char  *label; /* as schedules have it: "copy_out", "all_gather" */
  guint  n;     /* that end in the last period, on one rank */
  double median_s;
} OpTime;

/*
 * Those that end in the last period of what was replayed and in which world rank RANK takes part,
 * by label: a newly allocated array of OpTime in order of appearance. A collective counts from the
 * arrival of its last rank. The median is of most models a block's: embedding and head are few.
 */
GArray *op_times_new (const Replay *replay, guint rank);
GArray *op_times_copy (const GArray *times);
