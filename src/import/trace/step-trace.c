#include "import/trace/step-trace.h"
#include "base/intern.h"

#include <string.h>

const char *
trace_part_name (TracePart part)
{
  static const char *const names[] = { "forward",        "recompute",     "backward", "optimizer",
                                       "strategy's own", "communication", "unknown" };

  return names[part];
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The number behind one of WORDS, which begins a component of NAME; -1: there is none. */
static gint64
number_behind (const char *name, const char *const *words)
{
  for (guint w = 0; words[w] != NULL; w++)
    for (const char *at = strstr (name, words[w]); at != NULL; at = strstr (at + 1, words[w]))
      {
        const char *digits = at + strlen (words[w]);
        gsize       n = strspn (digits, "0123456789");

        if (n > 0 && n < 7 && (at == name || !g_ascii_isalnum (at[-1])))
          return g_ascii_strtoll (digits, NULL, 10);
      }
  return -1;
}

/* "nn.Module: LlamaDecoderLayer_3": 3; -1: no block. */
static gint64
block_of_module (const char *name)
{
  static const char module[] = "nn.Module: ";
  const char       *line = strrchr (name, '_');

  if (!g_str_has_prefix (name, module) || line == NULL || !g_ascii_isdigit (line[1])
      || strspn (line + 1, "0123456789") != strlen (line + 1) || strlen (line) > 7)
    return -1;
  if (line - name < 5
      || (strncmp (line - 5, "Block", 5) != 0 && strncmp (line - 5, "Layer", 5) != 0))
    return -1;
  return g_ascii_strtoll (line + 1, NULL, 10);
}

RangeMeaning
range_meaning (const char *name)
{
  static const char *const strategies[] = { "FSDP::",
                                            "fsdp::",
                                            "FullyShardedDataParallel._",
                                            "c10d::",
                                            "nccl:",
                                            "record_param_comms",
                                            "torch.distributed.ddp.reducer" };
  static const char *const blocks[] = { "layers.", "h.", "blocks.", "block.", "layer.", NULL };
  static const char        step[] = "ProfilerStep#";
  static const char        backward[] = "autograd::engine::evaluate_function: ";
  RangeMeaning             meaning = { RANGE_NOTHING, -1 };

  if (g_str_has_prefix (name, step))
    return (RangeMeaning){ RANGE_STEP, g_ascii_strtoll (name + strlen (step), NULL, 10) };
  if (g_str_has_prefix (name, backward))
    return (RangeMeaning){ g_str_has_prefix (name + strlen (backward), "CheckpointFunction")
                               ? RANGE_CHECKPOINT
                               : RANGE_BACKWARD,
                           -1 };
  if (g_str_has_prefix (name, "Optimizer.step#"))
    return (RangeMeaning){ RANGE_OPTIMIZER, -1 };
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    if (g_str_has_prefix (name, strategies[i]))
      return (RangeMeaning){ RANGE_STRATEGY, -1 };
  meaning.number = number_behind (name, blocks);
  if (meaning.number < 0)
    meaning.number = block_of_module (name);
  meaning.kind = meaning.number >= 0 ? RANGE_BLOCK : RANGE_NOTHING;
  return meaning;
}

void
trace_owner_enter (TraceOwner *self, RangeMeaning meaning, gint32 block)
{
  if (self->part == TRACE_STRATEGY)
    return;
  switch (meaning.kind)
    {
    case RANGE_OPTIMIZER:
      self->part = TRACE_OPTIMIZER;
      break;
    case RANGE_BACKWARD:
    case RANGE_CHECKPOINT:
      self->part = meaning.kind == RANGE_BACKWARD ? TRACE_BACKWARD : TRACE_RECOMPUTE;
      self->block = block != TRACE_NO_BLOCK ? block : self->block;
      break;
    case RANGE_BLOCK:
      if (self->part == TRACE_BACKWARD)
        self->part = TRACE_RECOMPUTE;
      if (self->block == TRACE_NO_BLOCK) /* parts of a block may have numbers of their own */
        self->block = (gint32) meaning.number;
      break;
    case RANGE_STRATEGY:
      self->part = TRACE_STRATEGY;
      break;
    case RANGE_NOTHING:
    case RANGE_STEP:
      break;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

StepTrace *
step_trace_new (void)
{
  StepTrace *self = g_new0 (StepTrace, 1);

  self->strings = g_string_chunk_new (4096);
  self->kernels = g_array_new (FALSE, FALSE, sizeof (TraceKernel));
  self->rank = self->n_ranks = self->device.sms = -1;
  return self;
}

void
step_trace_free (StepTrace *self)
{
  if (self == NULL)
    return;
  g_string_chunk_free (self->strings);
  g_array_unref (self->kernels);
  g_free (self->device.name);
  g_free (self->seen);
  g_free (self);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The last step with a forward and a backward pass: kernels of a step are launched together. */
static gint64
last_whole_step (const StepTrace *self)
{
  gint64   found = -1, now = -1;
  gboolean forward = FALSE, backward = FALSE;

  for (guint i = 0; i < self->kernels->len; i++)
    {
      const TraceKernel *kernel = &g_array_index (self->kernels, TraceKernel, i);

      if (kernel->step != now)
        forward = backward = FALSE;
      now = kernel->step;
      forward |= kernel->owner.part == TRACE_FORWARD;
      backward |= kernel->owner.part == TRACE_BACKWARD;
      if (now >= 0 && forward && backward)
        found = now;
    }
  return found;
}

static gboolean
has_steps (const StepTrace *self)
{
  for (guint i = 0; i < self->kernels->len; i++)
    if (g_array_index (self->kernels, TraceKernel, i).step >= 0)
      return TRUE;
  return FALSE;
}

/* Clipping and unscaling have no range: what is launched behind the last backward pass. */
static void
find_tail (StepTrace *self)
{
  guint last = self->kernels->len;

  for (guint i = 0; i < self->kernels->len; i++)
    {
      TracePart part = g_array_index (self->kernels, TraceKernel, i).owner.part;

      if (part == TRACE_BACKWARD || part == TRACE_RECOMPUTE)
        last = i;
    }
  for (guint i = last; i < self->kernels->len; i++)
    {
      TraceOwner *owner = &g_array_index (self->kernels, TraceKernel, i).owner;

      if (owner->part == TRACE_FORWARD && owner->block == TRACE_NO_BLOCK)
        owner->part = TRACE_OPTIMIZER;
    }
}

/* What the trace has instead. */
static void
say_no_kernels (const StepTrace *self, const SourceMark *mark, DiagList *diags)
{
  static const char *const host[] = { "cpu_op", "user_annotation", "python_function", "Operator" };
  gboolean                 known = FALSE;
  g_autofree char         *hint = NULL;

  for (guint i = 0; self->seen != NULL && i < G_N_ELEMENTS (host); i++)
    known |= strstr (self->seen, host[i]) != NULL;
  if (self->seen != NULL)
    hint = g_strdup_printf (
        "its events: %s; %s", *self->seen != '\0' ? self->seen : "none with a category ('cat')",
        known ? "profile with the activities of CPU and CUDA, while the GPU works"
              : "is it of another profiler? That of PyTorch has 'kernel' for a GPU's kernels");
  diag_error (diags, mark, hint, "no kernels of a GPU in the trace%s",
              known ? ": it is of the host alone" : "");
}

gboolean
step_trace_select_step (StepTrace *self, const char *file, gint64 *step, DiagList *diags)
{
  const SourceMark mark = { .file = intern_text (file) };
  const gboolean   none = self->kernels->len == 0;
  guint            n = 0;

  if (!has_steps (self) && *step >= 0)
    {
      diag_error (diags, &mark, "leave --step away", "no step is named: 'ProfilerStep#N'");
      return FALSE;
    }
  if (*step < 0)
    *step = last_whole_step (self);
  if (has_steps (self) && *step < 0)
    {
      diag_error (diags, &mark, "--step N takes a step as it is",
                  "no step has kernels of a forward and of a backward pass");
      return FALSE;
    }
  for (guint i = 0; i < self->kernels->len; i++)
    {
      TraceKernel kernel = g_array_index (self->kernels, TraceKernel, i);

      if (kernel.step == *step)
        g_array_index (self->kernels, TraceKernel, n++) = kernel;
    }
  g_array_set_size (self->kernels, n);
  find_tail (self);
  if (n == 0 && none)
    say_no_kernels (self, &mark, diags);
  else if (n == 0)
    diag_error (diags, &mark, NULL, "no kernels of a GPU in step %" G_GINT64_FORMAT " of the trace",
                *step);
  return n > 0;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Recomputation belongs to the backward pass. */
static gboolean
is_backward (const TraceOwner *owner)
{
  return owner->part == TRACE_RECOMPUTE || owner->part == TRACE_BACKWARD;
}

static void
block_range (const StepTrace *self, gboolean backward, gint32 *first, gint32 *last)
{
  *first = G_MAXINT32;
  *last = -1;
  for (guint i = 0; i < self->kernels->len; i++)
    {
      const TraceOwner *owner = &g_array_index (self->kernels, TraceKernel, i).owner;

      if (owner->block < 0 || is_backward (owner) != backward || owner->part > TRACE_BACKWARD)
        continue;
      *first = MIN (*first, owner->block);
      *last = MAX (*last, owner->block);
    }
}

/*
 * In a forward pass what comes before the blocks is the embedding, what comes behind the last one
 * the head; in a backward pass the reverse.
 */
void
step_trace_place_layers (StepTrace *self)
{
  gint32   first[2], last[2], seen = TRACE_NO_BLOCK;
  gboolean now = FALSE;

  for (guint way = 0; way < 2; way++)
    block_range (self, way == 1, &first[way], &last[way]);
  for (guint i = 0; i < self->kernels->len; i++)
    {
      TraceOwner *owner = &g_array_index (self->kernels, TraceKernel, i).owner;
      gboolean    way = is_backward (owner);

      if (owner->part > TRACE_BACKWARD)
        continue;
      if (way != now)
        seen = TRACE_NO_BLOCK;
      now = way;
      if (owner->block != TRACE_NO_BLOCK)
        seen = owner->block;
      else if (last[way] < 0)
        continue; /* no block is named */
      else if (seen == TRACE_NO_BLOCK)
        owner->block = way ? TRACE_HEAD : TRACE_EMBEDDING;
      else if (seen == (way ? first[way] : last[way]))
        owner->block = way ? TRACE_EMBEDDING : TRACE_HEAD;
      else
        owner->block = seen;
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

typedef struct
{
  gint64 start, end;
} Span;

static gint
compare_spans (gconstpointer a, gconstpointer b)
{
  const Span *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

/* When kernels ran that are no communication: disjoint, in order. */
static GArray *
busy_spans (const StepTrace *self)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (Span));
  guint   n = 0;

  for (guint i = 0; i < self->kernels->len; i++)
    {
      const TraceKernel *kernel = &g_array_index (self->kernels, TraceKernel, i);
      Span               span = { kernel->start_ns, kernel->start_ns + kernel->duration_ns };

      if (kernel->owner.part != TRACE_COMMUNICATION)
        g_array_append_val (spans, span);
    }
  g_array_sort (spans, compare_spans);
  for (guint i = 0; i < spans->len; i++)
    {
      Span  span = g_array_index (spans, Span, i);
      Span *before = n > 0 ? &g_array_index (spans, Span, n - 1) : NULL;

      if (before != NULL && span.start <= before->end)
        before->end = MAX (before->end, span.end);
      else
        g_array_index (spans, Span, n++) = span;
    }
  g_array_set_size (spans, n);
  return spans;
}

static gint64
exposed_part (const GArray *busy, const TraceKernel *kernel)
{
  gint64 end = kernel->start_ns + kernel->duration_ns, covered = 0;
  guint  low = 0, high = busy->len;

  while (low < high) /* the first span that ends behind the kernel's start */
    {
      guint middle = (low + high) / 2;

      if (g_array_index (busy, Span, middle).end <= kernel->start_ns)
        low = middle + 1;
      else
        high = middle;
    }
  for (; low < busy->len && g_array_index (busy, Span, low).start < end; low++)
    {
      const Span *span = &g_array_index (busy, Span, low);

      covered += MIN (span->end, end) - MAX (span->start, kernel->start_ns);
    }
  return kernel->duration_ns - covered;
}

static TraceCollective *
find_like (GArray *all, const TraceKernel *kernel)
{
  const TraceCollective one = { .collective = kernel->collective,
                                .bytes = kernel->bytes,
                                .group = kernel->group };

  for (guint i = 0; i < all->len; i++)
    {
      TraceCollective *like = &g_array_index (all, TraceCollective, i);

      if (like->bytes == one.bytes && like->group == one.group
          && g_str_equal (like->collective, one.collective))
        return like;
    }
  g_array_append_val (all, one);
  return &g_array_index (all, TraceCollective, all->len - 1);
}

static gint
compare_collectives (gconstpointer a, gconstpointer b)
{
  const TraceCollective *x = a, *y = b;

  if (x->total_ns != y->total_ns)
    return x->total_ns > y->total_ns ? -1 : 1;
  return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

GArray *
step_trace_collectives (const StepTrace *self)
{
  GArray            *all = g_array_new (FALSE, TRUE, sizeof (TraceCollective));
  g_autoptr (GArray) busy = busy_spans (self);

  for (guint i = 0; i < self->kernels->len; i++)
    {
      const TraceKernel *kernel = &g_array_index (self->kernels, TraceKernel, i);
      TraceCollective   *like;

      if (kernel->owner.part != TRACE_COMMUNICATION)
        continue;
      like = find_like (all, kernel);
      like->n++;
      like->total_ns += kernel->duration_ns;
      like->exposed_ns = self->has_times ? like->exposed_ns + exposed_part (busy, kernel) : -1;
    }
  g_array_sort (all, compare_collectives);
  return all;
}
