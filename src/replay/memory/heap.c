#include "replay/memory/heap.h"

#include <string.h>

/* The blocks of a buffer or a frame: one in place, or a list. */
typedef struct
{
  guint32  n, one;
  guint32 *many;
} HeapBuffer;

struct _Heap
{
  Allocator *allocator;
  GArray    *buffers;  /* HeapBuffer, by the caller's number */
  GArray    *detached; /* HeapBuffer */
  GArray    *unused;   /* guint32: entries of `detached` */
  GArray    *noted;    /* guint64: of append_buffers, at heap_note; NULL: it was never called */
};

Heap *
heap_new_with (const AllocatorRules *rules)
{
  Heap *self = g_new0 (Heap, 1);

  self->allocator = allocator_new_with (rules);
  self->buffers = g_array_new (FALSE, TRUE, sizeof (HeapBuffer));
  self->detached = g_array_new (FALSE, TRUE, sizeof (HeapBuffer));
  self->unused = g_array_new (FALSE, FALSE, sizeof (guint32));
  return self;
}

Heap *
heap_new (AllocatorKind kind)
{
  return heap_new_with (&(AllocatorRules){ .kind = kind });
}

void
heap_keep (Heap *self, guint64 bytes)
{
  allocator_take (self->allocator, bytes, 0, G_MAXUINT64);
}

static void
free_lists (GArray *buffers)
{
  for (guint i = 0; i < buffers->len; i++)
    g_free (g_array_index (buffers, HeapBuffer, i).many);
  g_array_unref (buffers);
}

void
heap_free (Heap *self)
{
  if (self == NULL)
    return;
  allocator_free (self->allocator);
  free_lists (self->buffers);
  free_lists (self->detached);
  g_array_unref (self->unused);
  g_clear_pointer (&self->noted, g_array_unref);
  g_free (self);
}

static HeapBuffer *
buffer_at (Heap *self, guint32 i)
{
  if (i >= self->buffers->len)
    g_array_set_size (self->buffers, i + 1);
  return &g_array_index (self->buffers, HeapBuffer, i);
}

static guint32 *
blocks_of (HeapBuffer *buffer)
{
  return buffer->many != NULL ? buffer->many : &buffer->one;
}

static void
open_buffer (HeapBuffer *buffer, guint n)
{
  g_assert (buffer->n == 0);
  buffer->n = n;
  buffer->one = ALLOC_NONE;
  if (n > 1)
    {
      buffer->many = g_new (guint32, n);
      memset (buffer->many, 0xff, n * sizeof (guint32));
    }
}

static void
give_buffer (Heap *self, HeapBuffer *buffer)
{
  const guint32 *blocks = blocks_of (buffer);

  for (guint i = 0; i < buffer->n; i++)
    if (blocks[i] != ALLOC_NONE)
      allocator_give (self->allocator, blocks[i]);
  g_clear_pointer (&buffer->many, g_free);
  buffer->n = 0;
}

static gboolean
take_block (Heap *self, guint64 bytes, guint32 stream, guint64 capacity, guint32 *block)
{
  guint64 reserved = allocator_reserved (self->allocator);

  *block = allocator_take (self->allocator, bytes, stream,
                           capacity > reserved ? capacity - reserved : 0);
  return *block != ALLOC_NONE;
}

static gboolean
run_step (Heap *self, const HeapRequest *request, const MemoryStep *step, guint64 capacity)
{
  guint32 *block = &blocks_of (buffer_at (self, request->frame))[step->tensor];

  if (step->bytes > 0)
    return take_block (self, step->bytes, request->stream, capacity, block);
  if (*block != ALLOC_NONE)
    allocator_give (self->allocator, *block);
  *block = ALLOC_NONE;
  return TRUE;
}

/* Whether the tensor that STEP makes is there when PROGRAM is over. */
static gboolean
is_left (const MemoryProgram *program, guint step)
{
  for (guint i = step + 1; i < program->n_steps; i++)
    if (program->steps[i].tensor == program->steps[step].tensor)
      return FALSE;
  return program->steps[step].bytes > 0;
}

/* Of a buffer that is no frame: the rest of its program runs when it goes. */
static gboolean
has_rest (const HeapRequest *request)
{
  return request->program != NULL && request->n_frame == 0;
}

gboolean
heap_allocate (Heap *self, const HeapRequest *request, guint64 capacity, guint *done)
{
  guint       n = request->program != NULL ? request->program->n_to_peak : 1;
  HeapBuffer *buffer = buffer_at (self, request->buffer);

  if (request->n_frame > 0)
    {
      const MemoryProgram *program = request->program;

      if (*done == 0 && buffer->n == 0)
        open_buffer (buffer, request->n_frame);
      for (; program != NULL && *done < program->n_steps; (*done)++)
        if (is_left (program, *done) && !run_step (self, request, &program->steps[*done], capacity))
          return FALSE;
      return TRUE;
    }
  if (request->program == NULL && *done == 0 && buffer->n == 0)
    open_buffer (buffer, n);
  for (; *done < n; (*done)++)
    if (request->program != NULL
            ? !run_step (self, request, &request->program->steps[*done], capacity)
            : !take_block (self, request->bytes, request->stream, capacity, blocks_of (buffer)))
      return FALSE;
  return TRUE;
}

static void
run_rest (Heap *self, const HeapRequest *request)
{
  for (guint i = request->program->n_to_peak; i < request->program->n_steps; i++)
    run_step (self, request, &request->program->steps[i], G_MAXUINT64);
}

void
heap_release (Heap *self, const HeapRequest *request)
{
  if (has_rest (request))
    run_rest (self, request);
  else
    give_buffer (self, buffer_at (self, request->buffer));
}

guint32
heap_detach (Heap *self, const HeapRequest *request)
{
  HeapBuffer *buffer = buffer_at (self, request->buffer);
  guint32     i = self->detached->len;

  if (has_rest (request))
    {
      run_rest (self, request);
      return HEAP_NONE;
    }
  if (self->unused->len > 0)
    {
      i = g_array_index (self->unused, guint32, self->unused->len - 1);
      g_array_set_size (self->unused, self->unused->len - 1);
    }
  else
    g_array_set_size (self->detached, i + 1);
  g_array_index (self->detached, HeapBuffer, i) = *buffer;
  *buffer = (HeapBuffer){ 0 };
  return i;
}

void
heap_give (Heap *self, guint32 detached)
{
  if (detached == HEAP_NONE)
    return;
  give_buffer (self, &g_array_index (self->detached, HeapBuffer, detached));
  g_array_append_val (self->unused, detached);
}

guint64
heap_trim (Heap *self)
{
  return allocator_trim (self->allocator);
}

guint64
heap_reserved (const Heap *self)
{
  return allocator_reserved (self->allocator);
}

/* Which buffers hold which blocks. */
static void
append_buffers (const Heap *self, GArray *numbers)
{
  for (guint i = 0; i < self->buffers->len; i++)
    {
      HeapBuffer   *buffer = &g_array_index (self->buffers, HeapBuffer, i);
      const guint64 words[] = { i, buffer->n };

      if (buffer->n == 0)
        continue;
      g_array_append_vals (numbers, words, G_N_ELEMENTS (words));
      for (guint b = 0; b < buffer->n; b++)
        {
          guint32 block = blocks_of (buffer)[b];
          guint64 address =
              block != ALLOC_NONE ? allocator_address (self->allocator, block) : G_MAXUINT64;

          g_array_append_val (numbers, address);
        }
    }
}

void
heap_state (const Heap *self, GArray *numbers)
{
  append_buffers (self, numbers);
  allocator_state (self->allocator, numbers);
}

static GArray *
buffers_now (const Heap *self)
{
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (guint64));

  append_buffers (self, numbers);
  return numbers;
}

void
heap_note (Heap *self)
{
  g_clear_pointer (&self->noted, g_array_unref);
  self->noted = buffers_now (self);
  allocator_note (self->allocator);
}

gboolean
heap_repeats (Heap *self)
{
  GArray  *now = buffers_now (self), *before = self->noted;
  gboolean alike =
      allocator_repeats (self->allocator) && now->len == before->len
      && (now->len == 0 || memcmp (now->data, before->data, now->len * sizeof (guint64)) == 0);

  g_array_unref (before);
  self->noted = now;
  return alike;
}

/* ---- as a pool's allocator ------------------------------------------------------------------- */

static gboolean
pool_heap_take (gpointer heap, gconstpointer request, guint64 capacity, guint *done)
{
  return heap_allocate (heap, request, capacity, done);
}

static void
pool_heap_release (gpointer heap, gconstpointer request)
{
  heap_release (heap, request);
}

static guint32
pool_heap_detach (gpointer heap, gconstpointer request)
{
  return heap_detach (heap, request);
}

static void
pool_heap_give (gpointer heap, guint32 detached)
{
  heap_give (heap, detached);
}

static guint64
pool_heap_trim (gpointer heap)
{
  return heap_trim (heap);
}

static guint64
pool_heap_reserved (gconstpointer heap)
{
  return heap_reserved (heap);
}

static void
pool_heap_state (gconstpointer heap, GArray *numbers)
{
  heap_state (heap, numbers);
}

static void
pool_heap_note (gpointer heap)
{
  heap_note (heap);
}

static gboolean
pool_heap_repeats (gpointer heap)
{
  return heap_repeats (heap);
}

static void
pool_heap_free (gpointer heap)
{
  heap_free (heap);
}

const PoolAllocator heap_pool_allocator = {
  .take = pool_heap_take,
  .release = pool_heap_release,
  .detach = pool_heap_detach,
  .give = pool_heap_give,
  .trim = pool_heap_trim,
  .reserved = pool_heap_reserved,
  .state = pool_heap_state,
  .note = pool_heap_note,
  .repeats = pool_heap_repeats,
  .free = pool_heap_free,
};
