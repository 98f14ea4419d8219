/*
 * What the reader of the profiler's traces keeps of them. Private to it.
 */
#pragma once

#include "import/trace/json-stream.h"
#include "import/trace/kineto-trace.h"

typedef struct
{
  guint64      thread;
  gint64       start, end;
  RangeMeaning meaning;
  gint64       sequence; /* of backward functions, or -1 */
} KinetoRange;

/* Where on the host something was launched, or a forward op with a sequence number began. */
typedef struct
{
  guint64 thread;
  gint64  at;
  gint64  id; /* correlation of a launch; sequence number of an op */
} KinetoLaunch;

typedef struct
{
  JsonStream  *stream;
  StepTrace   *trace;
  GArray      *ranges, *launches, *ops; /* KinetoRange, KinetoLaunch, KinetoLaunch */
  GArray      *correlations;            /* gint64 a kernel */
  GHashTable  *meanings;                /* name -> RangeMeaning */
  gint64       device;                  /* of the kernels, or -1 */
  json_object *devices;                 /* all that the process saw; NULL: not said */
  GHashTable  *categories;              /* name -> number of events */
  GString     *keys;                    /* of the document, ", " between them */
} KinetoReading;

/*
 * kineto-owners.c: gives the kernels their launches, whose they are and their steps. The arrays are
 * sorted.
 */
void kineto_place_kernels (KinetoReading *self);
