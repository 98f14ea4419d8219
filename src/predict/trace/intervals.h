/* Lists of stretches of time: what runs when. */
#pragma once

#include "engine/engine.h"

typedef struct
{
  SimTime start, end;
} Interval;

GArray *intervals_new (void); /* of Interval */

/* Adds the part of START..END inside WITHIN; what goes on where the last one ended joins it. */
void intervals_add (GArray *list, SimTime start, SimTime end, Interval within);

/* By start. Most lists are in order as they are made. */
void intervals_sort (GArray *list);
gint intervals_compare (gconstpointer a, gconstpointer b);

/* Length of the union of LIST outside the union of BUSY; both sorted. */
SimTime intervals_outside (const GArray *list, const GArray *busy);
