#include "import/trace/kineto-trace.h"

#include <math.h>
#include <string.h>

#include "import/trace/kineto-private.h"

#define MAX_NS 9.0e18

/* ---- events ---------------------------------------------------------------------------------- */

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

/* A process or a thread, which are numbers or, of older profilers, texts. */
static guint64
id_of (json_object *event, const char *key)
{
  const char *text = text_of (event, key);
  guint64     number;

  if (*text == '\0')
    return (guint64) whole_of (event, key);
  return g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &number, NULL) ? number
                                                                              : g_str_hash (text);
}

static guint64
thread_of (json_object *event)
{
  return (id_of (event, "pid") << 32) ^ id_of (event, "tid");
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
take_kernel (KinetoReading *self, json_object *event)
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
    {
      const char *collective = text_of (args, "Collective name");
      double      elements =
          MAX (number_of (args, "In msg nelems", 0), number_of (args, "Out msg nelems", 0));

      kernel.collective = g_string_chunk_insert_const (
          self->trace->strings, *collective != '\0' ? collective : kernel.name);
      kernel.bytes = MAX (elements, 0) * bytes_an_element (text_of (args, "dtype"));
      kernel.group = (guint) CLAMP (number_of (args, "Group size", 0), 0, 1e9);
      kernel.owner.part = TRACE_COMMUNICATION;
    }
  g_array_append_val (self->trace->kernels, kernel);
  g_array_append_val (self->correlations, correlation);
}

static RangeMeaning
meaning_of (KinetoReading *self, const char *name)
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
take_range (KinetoReading *self, json_object *event, gboolean is_op)
{
  json_object *args = member (event, "args");
  KinetoRange  range = { .thread = thread_of (event),
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
      KinetoLaunch op = { range.thread, range.start, range.sequence };

      g_array_append_val (self->ops, op);
    }
}

/* What a category of events is of a GPU's work. */
typedef enum
{
  EVENT_OTHER,
  EVENT_KERNEL,
  EVENT_OP,
  EVENT_RANGE,
  EVENT_LAUNCH,
} EventKind;

/* Of this profiler and of its first releases (PyTorch 1.8 to 1.11). */
static const struct
{
  const char *category;
  EventKind   kind;
} categories[] = {
  { "kernel", EVENT_KERNEL },         { "cpu_op", EVENT_OP },
  { "user_annotation", EVENT_RANGE }, { "python_function", EVENT_RANGE },
  { "Kernel", EVENT_KERNEL },         { "Operator", EVENT_OP },
  { "Runtime", EVENT_LAUNCH },
};

static EventKind
kind_of (const char *category)
{
  for (guint i = 0; i < G_N_ELEMENTS (categories); i++)
    if (g_str_equal (category, categories[i].category))
      return categories[i].kind;
  return g_str_has_suffix (category, "_runtime") || g_str_has_suffix (category, "_driver")
             ? EVENT_LAUNCH
             : EVENT_OTHER;
}

#define MOST_CATEGORIES 64

static void
count_category (KinetoReading *self, const char *category)
{
  const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (self->categories, category));

  if (*category != '\0' && strlen (category) <= 64
      && (n > 0 || g_hash_table_size (self->categories) < MOST_CATEGORIES))
    g_hash_table_insert (self->categories, g_strdup (category), GUINT_TO_POINTER (n + 1));
}

static void
take_event (KinetoReading *self, json_object *event)
{
  const char     *category = text_of (event, "cat");
  const EventKind kind = kind_of (category);
  KinetoLaunch    launch;

  count_category (self, category);
  if (!g_str_equal (text_of (event, "ph"), "X"))
    return;
  switch (kind)
    {
    case EVENT_KERNEL:
      take_kernel (self, event);
      break;
    case EVENT_OP:
    case EVENT_RANGE:
      take_range (self, event, kind == EVENT_OP);
      break;
    case EVENT_LAUNCH:
      launch = (KinetoLaunch){ .thread = thread_of (event),
                               .id = whole_of (member (event, "args"), "correlation") };
      if (launch.id >= 0 && time_of (event, "ts", &launch.at))
        g_array_append_val (self->launches, launch);
      break;
    case EVENT_OTHER:
      break;
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static void
read_events (KinetoReading *self)
{
  JsonStream *stream = self->stream;

  if (!json_stream_expect (stream, '['))
    return;
  while (!json_stream_failed (stream) && json_stream_peek (stream) != ']')
    {
      json_object *event;

      if (json_stream_n_entries (stream) > 0 && !json_stream_expect (stream, ','))
        return;
      event = json_stream_value (stream);
      if (!json_stream_failed (stream) && !json_object_is_type (event, json_type_object))
        json_stream_fail (stream, NULL, "an event that is no object");
      if (!json_stream_failed (stream))
        take_event (self, event);
      json_object_put (event);
      json_stream_count (stream);
    }
  json_stream_expect (stream, ']');
}

static void
take_header (KinetoReading *self, const char *key, json_object *value)
{
  if (g_str_equal (key, "distributedInfo"))
    {
      self->trace->rank = whole_of (value, "rank");
      self->trace->n_ranks = whole_of (value, "world_size");
    }
  else if ((g_str_equal (key, "deviceProperties") || g_str_equal (key, "computeProperties"))
           && json_object_is_type (value, json_type_array) && self->devices == NULL)
    self->devices = json_object_get (value);
}

/* A process sees all GPUs of its node; its kernels say which of them is its own. */
static void
take_device (KinetoReading *self)
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
  device->sms = MAX (whole_of (own, "numSms"), whole_of (own, "multiProcessorCount"));
  device->bytes = MAX (number_of (own, "totalGlobalMem", 0), 0);
}

/* Documents that other tools write, by a key that tells them. */
static const struct
{
  const char *key, *hint;
} others[] = {
  { "nodes",
    "'nodes': that is an execution trace of PyTorch (ExecutionTraceObserver), which has no "
    "durations: take the profiler's own, or both as Chakra's converter joins them (.et)" },
  { "segments", "'segments': that is a snapshot of the allocator's memory" },
  { "device_traces", "'device_traces': that is a snapshot of the allocator's memory" },
  { "entries", "'entries': that is a record of the flight recorder of collectives" },
  { "rocprofiler-sdk-tool", "that is rocprofv3's: take the profiler of PyTorch" },
  { "benchmarks", "'benchmarks': that is a result of a benchmark" },
};

/* FALSE after a diagnostic: KEY tells that the document is of another tool. */
static gboolean
check_key (KinetoReading *self, const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (key, others[i].key))
      return json_stream_fail_whole (self->stream, others[i].hint, "no trace of the profiler");
  if (self->keys->len < 200)
    g_string_append_printf (self->keys, "%s'%.40s'", self->keys->len > 0 ? ", " : "", key);
  return TRUE;
}

static gboolean
fail_without_events (KinetoReading *self)
{
  g_autofree char *hint =
      self->keys->len > 0 ? g_strdup_printf (
          "a trace of PyTorch's profiler has it; the document has %s", self->keys->str)
                          : g_strdup ("a trace of PyTorch's profiler has it");

  return json_stream_fail (self->stream, hint, "no 'traceEvents'");
}

/* The members of the document: the events, and what is said beside them. */
static gboolean
read_members (KinetoReading *self)
{
  JsonStream *stream = self->stream;
  gboolean    found = FALSE, first = TRUE;

  if (!json_stream_expect (stream, '{'))
    return FALSE;
  for (; !json_stream_failed (stream) && json_stream_peek (stream) != '}'; first = FALSE)
    {
      json_object     *key;
      g_autofree char *name = NULL;

      if (!first && !json_stream_expect (stream, ','))
        return FALSE;
      if (json_stream_peek (stream) != '"')
        return json_stream_expect (stream, '"');
      key = json_stream_value (stream);
      name = g_strdup (key != NULL ? json_object_get_string (key) : "");
      json_object_put (key);
      if (!json_stream_expect (stream, ':'))
        return FALSE;
      if (g_str_equal (name, "traceEvents") && !found)
        {
          found = TRUE;
          read_events (self);
        }
      else
        {
          if (!found && !check_key (self, name))
            return FALSE;
          json_object *value = json_stream_value (stream);

          take_header (self, name, value);
          json_object_put (value);
        }
    }
  if (!json_stream_expect (stream, '}'))
    return FALSE;
  return found || fail_without_events (self);
}

/* ---- what it has ----------------------------------------------------------------------------- */

static gint
compare_counts (gconstpointer a, gconstpointer b, gpointer counts)
{
  const char *const *x = a, *const *y = b;
  const guint        n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, *x));
  const guint        m = GPOINTER_TO_UINT (g_hash_table_lookup (counts, *y));

  return n != m ? (n > m ? -1 : 1) : strcmp (*x, *y);
}

/* "cpu_op 512, cuda_runtime 80": the most frequent first. */
static char *
list_categories (GHashTable *counts)
{
  guint             n;
  g_autofree char **names = (char **) g_hash_table_get_keys_as_array (counts, &n);
  GString          *text = g_string_new (NULL);
  const guint       most = 6;

  g_qsort_with_data (names, (gint) n, sizeof *names, compare_counts, counts);
  for (guint i = 0; i < MIN (n, most); i++)
    g_string_append_printf (text, "%s%s %u", i > 0 ? ", " : "", names[i],
                            GPOINTER_TO_UINT (g_hash_table_lookup (counts, names[i])));
  return g_string_free (text, FALSE);
}

/* ---- entry point ----------------------------------------------------------------------------- */

static void
read_document (KinetoReading *self)
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
  KinetoReading          self = { .stream = stream, .trace = trace, .device = -1 };

  if (stream == NULL)
    return NULL;
  trace->has_times = TRUE;
  self.ranges = g_array_new (FALSE, FALSE, sizeof (KinetoRange));
  self.launches = g_array_new (FALSE, FALSE, sizeof (KinetoLaunch));
  self.ops = g_array_new (FALSE, FALSE, sizeof (KinetoLaunch));
  self.correlations = g_array_new (FALSE, FALSE, sizeof (gint64));
  self.meanings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self.categories = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self.keys = g_string_new (NULL);
  read_document (&self);
  if (!json_stream_failed (stream))
    {
      kineto_place_kernels (&self);
      take_device (&self);
      trace->seen = list_categories (self.categories);
    }
  g_hash_table_unref (self.categories);
  g_string_free (self.keys, TRUE);
  json_object_put (self.devices);
  g_array_unref (self.ranges);
  g_array_unref (self.launches);
  g_array_unref (self.ops);
  g_array_unref (self.correlations);
  g_hash_table_unref (self.meanings);
  return json_stream_failed (stream) ? NULL : g_steal_pointer (&trace);
}
