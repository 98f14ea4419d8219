/* What a call tells other threads while it works: it writes, and they read at any time. */
#pragma once

#include <pthread.h>

#include "api/shardsim.h"
#include "base/work-count.h"
#include "decide/search/search.h"

struct ShardsimStop
{
  Stop      stop;
  WorkCount count;

  pthread_mutex_t lock;
  gint64          begin; /* us of the monotonic clock; 0: it waits */
  char           *work;  /* NULL: there is but one piece of work */
  GArray         *found; /* ProgressFound, of the search that is under way: the best few */
};

void call_begin (ShardsimStop *self);

/* WORK: "searching 4 x dgx-h100", which is copied. What another search has found is forgotten. */
void call_begin_search (ShardsimStop *self, const char *work);

/* A SearchOptions.tell; USER: the call. */
void call_tell_found (const SearchFound *found, gpointer user);
