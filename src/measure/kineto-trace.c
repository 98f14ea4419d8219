#include "measure/kineto-trace.h"

#include <math.h>
#include <string.h>

#include "measure/json-stream.h"

#define MAX_NS 9.0e18

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct
{
  guint64      thread;
  gint64       start, end;
  RangeMeaning meaning;
  gint64       sequence; /* of backward functions, or -1 */
} Range;

/* Where on the host something was launched, or a forward op with a sequence number began. */
typedef struct
{
  guint64 thread;
  gint64  at;
  gint64  id; /* correlation of a launch; sequence number of an op */
} Launch;

typedef struct
{
  JsonStream  *stream;
  StepTrace   *trace;
  GArray      *ranges, *launches, *ops; /* Range, Launch, Launch */
  GArray      *correlations;            /* gint64 a kernel */
  GHashTable  *meanings;                /* name -> RangeMeaning */
  gint64       device;                  /* of the kernels, or -1 */
  json_object *devices;                 /* all that the process saw; NULL: not said */
} Reading;

static json_object *
member (json_object *object, const char *key)
{
  json_object *value = NULL;

  if (json_object_is_type (object, json_type_object))
    json_object_object_get_ex (object, key, &value);
  return value;
}

static const char *
text_of (json_object *object, const char *key)
{
  json_object *value = member (object, key);

  return json_object_is_type (value, json_type_string) ? json_object_get_string (value) : "";
}

/* FALLBACK: it is not there, or no number. */
static double
number_of (json_object *object, const char *key, double fallback)
{
  json_object *value = member (object, key);
  double       number = fallback;

  if (json_object_is_type (value, json_type_int) || json_object_is_type (value, json_type_double))
    number = json_object_get_double (value);
  return isfinite (number) ? number : fallback;
}

static gint64
whole_of (json_object *object, const char *key)
{
  double number = number_of (object, key, -1);

  return fabs (number) < MAX_NS ? (gint64) number : -1;
}

/* Microseconds with fractions, since the epoch at most; FALSE: no sound time. */
static gboolean
time_of (json_object *event, const char *key, gint64 *ns)
{
  json_object *value = member (event, key);
  double       us = number_of (event, key, -1);
  double       most = g_str_equal (key, "dur") ? TRACE_LONGEST_US : MAX_NS / 4e3;

  *ns = 0;
  if (!(us >= 0 && us <= most))
    return FALSE;
  /* whole ones are taken exactly: since the epoch, nanoseconds are beyond a double */
  *ns = json_object_is_type (value, json_type_int) ? json_object_get_int64 (value) * 1000
                                                   : (gint64) rint (us * 1e3);
  return TRUE;
}

static guint64
thread_of (json_object *event)
{
  return ((guint64) whole_of (event, "pid") << 32) ^ (guint64) whole_of (event, "tid");
}

static double
bytes_an_element (const char *dtype)
{
  static const struct
  {
    const char *name;
    double      bytes;
  } types[] = {
    { "BFloat16", 2 }, { "Half", 2 }, { "Float8", 1 }, { "Float", 4 },
    { "Double", 8 },   { "Long", 8 }, { "Int", 4 },    { "Short", 2 },
    { "Byte", 1 },     { "Char", 1 }, { "Bool", 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (g_str_has_prefix (dtype, types[i].name))
      return types[i].bytes;
  return 0;
}

static void
take_collective (Reading *self, json_object *args, TraceKernel *kernel)
{
  const char *collective = text_of (args, "Collective name");
  double      elements =
      MAX (number_of (args, "In msg nelems", 0), number_of (args, "Out msg nelems", 0));

  kernel->collective = g_string_chunk_insert_const (
      self->trace->strings, *collective != '\0' ? collective : kernel->name);
  kernel->bytes = MAX (elements, 0) * bytes_an_element (text_of (args, "dtype"));
  kernel->group = (guint) CLAMP (number_of (args, "Group size", 0), 0, 1e9);
  kernel->owner.part = TRACE_COMMUNICATION;
}

static void
take_kernel (Reading *self, json_object *event)
{
  const char  *name = text_of (event, "name");
  json_object *args = member (event, "args");
  gint64       device = whole_of (args, "device"), correlation = whole_of (args, "correlation");
  TraceKernel  kernel = { .step = -1, .owner = { TRACE_UNKNOWN, TRACE_NO_BLOCK } };

  if (!time_of (event, "ts", &kernel.start_ns) || !time_of (event, "dur", &kernel.duration_ns))
    {
      json_stream_fail (self->stream, NULL, "a kernel without a sound 'ts' or 'dur'");
      return;
    }
  if (self->device >= 0 && device >= 0 && device != self->device)
    {
      json_stream_fail (self->stream, "a rank has one", "kernels of a second GPU");
      return;
    }
  self->device = device >= 0 ? device : self->device;
  kernel.name = g_string_chunk_insert_const (self->trace->strings, name);
  kernel.launch = kernel.start_ns;
  if (g_str_has_prefix (name, "nccl") || strstr (name, "rccl") != NULL
      || member (args, "Collective name") != NULL)
    take_collective (self, args, &kernel);
  g_array_append_val (self->trace->kernels, kernel);
  g_array_append_val (self->correlations, correlation);
}

static RangeMeaning
meaning_of (Reading *self, const char *name)
{
  RangeMeaning *known = g_hash_table_lookup (self->meanings, name);

  if (known == NULL)
    {
      RangeMeaning meaning = range_meaning (name);

      known = g_memdup2 (&meaning, sizeof meaning);
      g_hash_table_insert (self->meanings, g_strdup (name), known);
    }
  return *known;
}

static void
take_range (Reading *self, json_object *event, gboolean is_op)
{
  json_object *args = member (event, "args");
  Range        range = { .thread = thread_of (event),
                         .meaning = meaning_of (self, text_of (event, "name")),
                         .sequence = whole_of (args, "Sequence number") };
  gint64       duration;

  if (!time_of (event, "ts", &range.start) || !time_of (event, "dur", &duration))
    return;
  range.end = range.start + duration;
  if (range.meaning.kind != RANGE_NOTHING)
    g_array_append_val (self->ranges, range);
  if (is_op && range.sequence >= 0 && range.meaning.kind != RANGE_BACKWARD
      && range.meaning.kind != RANGE_CHECKPOINT)
    {
      Launch op = { range.thread, range.start, range.sequence };

      g_array_append_val (self->ops, op);
    }
}

static void
take_launch (Reading *self, json_object *event)
{
  Launch launch = { .thread = thread_of (event),
                    .id = whole_of (member (event, "args"), "correlation") };

  if (launch.id >= 0 && time_of (event, "ts", &launch.at))
    g_array_append_val (self->launches, launch);
}

static void
take_event (Reading *self, json_object *event)
{
  const char *category = text_of (event, "cat");

  if (!g_str_equal (text_of (event, "ph"), "X"))
    return;
  if (g_str_equal (category, "kernel"))
    take_kernel (self, event);
  else if (g_str_equal (category, "cpu_op") || g_str_equal (category, "user_annotation")
           || g_str_equal (category, "python_function"))
    take_range (self, event, g_str_equal (category, "cpu_op"));
  else if (g_str_has_suffix (category, "_runtime") || g_str_has_suffix (category, "_driver"))
    take_launch (self, event);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void
read_events (Reading *self)
{
  JsonStream *stream = self->stream;

  if (!json_stream_take (stream, '['))
    return;
  while (!json_stream_failed (stream) && json_stream_peek (stream) != ']')
    {
      json_object *event;

      if (json_stream_n_entries (stream) > 0 && !json_stream_take (stream, ','))
        return;
      event = json_stream_value (stream);
      if (!json_stream_failed (stream) && !json_object_is_type (event, json_type_object))
        json_stream_fail (stream, NULL, "an event that is no object");
      if (!json_stream_failed (stream))
        take_event (self, event);
      json_object_put (event);
      json_stream_count (stream);
    }
  json_stream_take (stream, ']');
}

static void
take_header (Reading *self, const char *key, json_object *value)
{
  if (g_str_equal (key, "distributedInfo"))
    {
      self->trace->rank = whole_of (value, "rank");
      self->trace->n_ranks = whole_of (value, "world_size");
    }
  else if (g_str_equal (key, "deviceProperties") && json_object_is_type (value, json_type_array)
           && self->devices == NULL)
    self->devices = json_object_get (value);
}

/* A process sees all GPUs of its node; its kernels say which of them is its own. */
static void
take_device (Reading *self)
{
  gsize        n = self->devices != NULL ? json_object_array_length (self->devices) : 0;
  json_object *own = n > 0 ? json_object_array_get_idx (self->devices, 0) : NULL;
  TraceDevice *device = &self->trace->device;

  for (gsize i = 0; self->device >= 0 && i < n; i++)
    if (whole_of (json_object_array_get_idx (self->devices, i), "id") == self->device)
      own = json_object_array_get_idx (self->devices, i);
  if (own == NULL)
    return;
  device->name = g_strdup (text_of (own, "name"));
  device->sms = whole_of (own, "numSms");
  device->bytes = MAX (number_of (own, "totalGlobalMem", 0), 0);
}

/* The members of the document: the events, and what is said beside them. */
static gboolean
read_members (Reading *self)
{
  JsonStream *stream = self->stream;
  gboolean    found = FALSE, first = TRUE;

  if (!json_stream_take (stream, '{'))
    return FALSE;
  for (; !json_stream_failed (stream) && json_stream_peek (stream) != '}'; first = FALSE)
    {
      json_object     *key;
      g_autofree char *name = NULL;

      if (!first && !json_stream_take (stream, ','))
        return FALSE;
      if (json_stream_peek (stream) != '"')
        return json_stream_take (stream, '"');
      key = json_stream_value (stream);
      name = g_strdup (key != NULL ? json_object_get_string (key) : "");
      json_object_put (key);
      if (!json_stream_take (stream, ':'))
        return FALSE;
      if (g_str_equal (name, "traceEvents") && !found)
        {
          found = TRUE;
          read_events (self);
        }
      else
        {
          json_object *value = json_stream_value (stream);

          take_header (self, name, value);
          json_object_put (value);
        }
    }
  if (!json_stream_take (stream, '}'))
    return FALSE;
  return found
         || json_stream_fail (stream, "a trace of PyTorch's profiler has it", "no 'traceEvents'");
}

/* ---- whose kernels they are ------------------------------------------------------------------ */

static gint
compare_ranges (gconstpointer a, gconstpointer b)
{
  const Range *x = a, *y = b;

  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end; /* the outer one first */
}

static gint
compare_ids (gconstpointer a, gconstpointer b)
{
  const Launch *x = a, *y = b;

  return x->id < y->id ? -1 : x->id > y->id;
}

/* A place on a thread whose ranges are wanted: of kernel `index`, or of forward op `index`. */
typedef struct
{
  guint64  thread;
  gint64   at;
  guint32  index;
  gboolean is_op;
} Point;

static gint
compare_points (gconstpointer a, gconstpointer b)
{
  const Point *x = a, *y = b;

  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static const Launch *
find_launch (const GArray *launches, gint64 correlation)
{
  guint low = 0, high = launches->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (launches, Launch, middle).id < correlation)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < launches->len && g_array_index (launches, Launch, low).id == correlation)
    return &g_array_index (launches, Launch, low);
  return NULL;
}

/* Kernels get the time of their launch. */
static GArray *
collect_points (Reading *self)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (Point));

  g_array_sort (self->launches, compare_ids);
  for (guint i = 0; i < self->trace->kernels->len; i++)
    {
      TraceKernel  *kernel = &g_array_index (self->trace->kernels, TraceKernel, i);
      const Launch *launch =
          find_launch (self->launches, g_array_index (self->correlations, gint64, i));
      Point point = { .index = i };

      if (launch == NULL)
        continue;
      kernel->launch = point.at = launch->at;
      point.thread = launch->thread;
      if (kernel->owner.part == TRACE_UNKNOWN)
        kernel->owner.part = TRACE_FORWARD;
      g_array_append_val (points, point);
    }
  for (guint i = 0; i < self->ops->len; i++)
    {
      const Launch *op = &g_array_index (self->ops, Launch, i);
      Point         point = { op->thread, op->at, i, TRUE };

      g_array_append_val (points, point);
    }
  g_array_sort (points, compare_points);
  return points;
}

/* BLOCKS: of forward ops by sequence number, plus one. */
static TraceOwner
owner_at (const GArray *stack, GHashTable *blocks)
{
  TraceOwner owner = { TRACE_FORWARD, TRACE_NO_BLOCK };

  for (guint i = 0; i < stack->len; i++)
    {
      const Range *range = &g_array_index (stack, Range, i);
      gpointer     block = g_hash_table_lookup (blocks, &range->sequence);

      trace_owner_enter (&owner, range->meaning,
                         block != NULL ? (gint32) GPOINTER_TO_INT (block) - 1 : TRACE_NO_BLOCK);
    }
  return owner;
}

static void
note_op (const Reading *self, guint32 index, TraceOwner owner, GHashTable *blocks)
{
  const Launch *op = &g_array_index (self->ops, Launch, index);

  if (owner.part == TRACE_FORWARD && owner.block >= 0)
    g_hash_table_insert (blocks, g_memdup2 (&op->id, sizeof op->id),
                         GINT_TO_POINTER (owner.block + 1));
}

/*
 * Walks POINTS, those of forward ops (OPS) or of kernels, with a stack of the ranges around each.
 * First ops, so that backward functions find the blocks of their forward ops.
 */
static void
walk (const Reading *self, const GArray *points, gboolean ops, GHashTable *blocks)
{
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (Range));
  guint              next = 0;

  for (guint i = 0; i < points->len; i++)
    {
      const Point *point = &g_array_index (points, Point, i);

      for (; next < self->ranges->len; next++)
        {
          const Range *range = &g_array_index (self->ranges, Range, next);

          if (range->thread > point->thread
              || (range->thread == point->thread && range->start > point->at))
            break;
          if (range->thread == point->thread && range->meaning.kind != RANGE_STEP)
            g_array_append_val (stack, *range);
        }
      for (guint k = stack->len; k-- > 0;)
        if (g_array_index (stack, Range, k).thread != point->thread
            || g_array_index (stack, Range, k).end <= point->at)
          g_array_remove_index (stack, k);
      if (point->is_op != ops)
        continue;
      if (ops)
        note_op (self, point->index, owner_at (stack, blocks), blocks);
      else if (g_array_index (self->trace->kernels, TraceKernel, point->index).owner.part
               != TRACE_COMMUNICATION)
        g_array_index (self->trace->kernels, TraceKernel, point->index).owner =
            owner_at (stack, blocks);
    }
}

static gint
compare_starts (gconstpointer a, gconstpointer b)
{
  const Range *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

/* A step is of all threads; a kernel without a launch is in the step that it runs in. */
static void
find_steps (Reading *self)
{
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (Range));

  for (guint i = 0; i < self->ranges->len; i++)
    if (g_array_index (self->ranges, Range, i).meaning.kind == RANGE_STEP)
      g_array_append_val (steps, g_array_index (self->ranges, Range, i));
  g_array_sort (steps, compare_starts);
  for (guint k = 0; k < self->trace->kernels->len; k++)
    {
      TraceKernel *kernel = &g_array_index (self->trace->kernels, TraceKernel, k);
      guint        low = 0, high = steps->len;

      while (low < high) /* the first one that starts behind the launch */
        {
          guint middle = (low + high) / 2;

          if (g_array_index (steps, Range, middle).start <= kernel->launch)
            low = middle + 1;
          else
            high = middle;
        }
      if (low > 0 && kernel->launch < g_array_index (steps, Range, low - 1).end)
        kernel->step = g_array_index (steps, Range, low - 1).meaning.number;
    }
}

static void
find_owners (Reading *self)
{
  g_autoptr (GHashTable) blocks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray)     points = collect_points (self);

  g_array_sort (self->ranges, compare_ranges);
  walk (self, points, TRUE, blocks);
  walk (self, points, FALSE, blocks);
  find_steps (self);
}

/* ---- entry point ----------------------------------------------------------------------------- */

static void
read_document (Reading *self)
{
  JsonStream *stream = self->stream;
  char        first = json_stream_peek (stream);

  if (first == '[')
    read_events (self);
  else if (first != '\0')
    read_members (self);
  else
    json_stream_fail_whole (stream, NULL, "the file is empty");
  if (!json_stream_failed (stream) && json_stream_peek (stream) != '\0')
    json_stream_fail (stream, NULL, "something behind the end of the document");
}

StepTrace *
kineto_trace_load (const char *file, DiagList *diags)
{
  g_autoptr (JsonStream) stream = json_stream_open (file, diags);
  g_autoptr (StepTrace)  trace = step_trace_new ();
  Reading                self = { .stream = stream, .trace = trace, .device = -1 };

  if (stream == NULL)
    return NULL;
  trace->has_times = TRUE;
  self.ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  self.launches = g_array_new (FALSE, FALSE, sizeof (Launch));
  self.ops = g_array_new (FALSE, FALSE, sizeof (Launch));
  self.correlations = g_array_new (FALSE, FALSE, sizeof (gint64));
  self.meanings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  read_document (&self);
  if (!json_stream_failed (stream))
    {
      find_owners (&self);
      take_device (&self);
    }
  json_object_put (self.devices);
  g_array_unref (self.ranges);
  g_array_unref (self.launches);
  g_array_unref (self.ops);
  g_array_unref (self.correlations);
  g_hash_table_unref (self.meanings);
  return json_stream_failed (stream) ? NULL : g_steal_pointer (&trace);
}
