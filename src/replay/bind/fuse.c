/*
 * Kernels that run back to back on one stream as few ops.
 *
 * Set: a group is a run of kernels on one stream, of one phase (and layer, and module), with
 * nothing between them but hooks, allocations and frees, which act on the host alone. Kernel k is
 * issued I_k after the group's start and runs for d_k; P_k is the sum of d before it, D that of
 * all. One by one the group ends at max over k of (I_k + D - P_k), or D after what stood before it
 * on the stream. Computed: one submission at S = max over k of (I_k - P_k) of an op of length D,
 * which ends at the same instants: streams bound by the host stay bound by it. The host's own time,
 * allocations and frees stay where they were.
 *
 * Kernels bound by HBM, those bound by SMs, wide and narrow, and copies (which reports tell apart)
 * are an op each, one after another: so each keeps its sums of SM time (as a function of the SMs
 * that are left, wave by wave), of bytes and of latency, and slows down with concurrent traffic as
 * its kernels would. What changes is only their order within the group.
 */
#include "replay/bind/fuse-private.h"

#include <math.h>
#include <string.h>

/*
 * Kernels of a group: a part of what a stream's launch queue holds; one where another stream's
 * kernels or collectives run at the same time, which start where a kernel ends.
 */
#define MAX_KERNELS    256
#define MAX_CONCURRENT 1

/*
 * SMs that collectives hold at most while narrow kernels run, which then need not wait for one
 * another.
 */
#define HELD_SMS 32

typedef enum
{
  BUCKET_SM,
  BUCKET_NARROW, /* of a wave that leaves room for a collective */
  BUCKET_HBM,
  BUCKET_COPY,
  BUCKET_N,
} Bucket;

typedef struct
{
  Program        *program;
  const Schedule *schedule;
  ScheduleItems   items;
  ProgramItem    *compiled;
  Granularity     granularity;
  guint           max_kernels;
  GHashTable     *known; /* of FuseMemory */
  GArray         *key;   /* guint32: unit, phase, stream, kernels of the current group */
} Fuser;

/* ---- groups ---------------------------------------------------------------------------------- */

/* Acts on the host alone, whatever the device does. */
static gboolean
is_between (const ScheduleItem *item)
{
  return item->kind == ITEM_HOST_HOOK || item->kind == ITEM_ALLOC || item->kind == ITEM_FREE
         || item->kind == ITEM_PASS;
}

static guint
layer_of (const Fuser *self, const ScheduleItem *item)
{
  return item->unit != SCHEDULE_NONE ? schedule_unit_layer (self->schedule, item->unit)
                                     : SCHEDULE_NONE;
}

/*
 * What an op stands for is of one phase; unless all of a pass may be one op, of one layer; by
 * modules, of one unit and module.
 */
static gboolean
belongs (const Fuser *self, const ScheduleItem *first, const ScheduleItem *item, gint *module)
{
  if (item->stream != first->stream || item->phase != first->phase)
    return FALSE;
  if (self->granularity == GRANULARITY_PASS)
    return TRUE;
  if (item->unit != first->unit && layer_of (self, item) != layer_of (self, first))
    return FALSE;
  if (self->granularity == GRANULARITY_LAYER)
    return TRUE;
  if (item->unit != first->unit
      || (*module >= 0 && item->kernel->module >= 0 && item->kernel->module != *module))
    return FALSE;
  *module = MAX (*module, item->kernel->module);
  return TRUE;
}

/* Index of the last kernel of the group that begins at FIRST. */
static guint
group_end (const Fuser *self, guint first)
{
  const ScheduleItem *items = self->items.items;
  guint               last = first, n = 1;
  gint                module = items[first].kernel->module;

  for (guint i = first + 1; i < self->items.n && n < self->max_kernels; i++)
    {
      if (is_between (&items[i]))
        continue;
      if (items[i].kind != ITEM_KERNEL || !belongs (self, &items[first], &items[i], &module))
        break;
      last = i;
      n++;
    }
  return last;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static const BoundKernel *
kernel_at (const Fuser *self, guint32 index)
{
  return &g_array_index (self->program->kernels, BoundKernel, index);
}

static double
busy_seconds (const BoundKernel *kernel)
{
  return kernel->share > 0 ? 1 / kernel->share : 0;
}

static Bucket
bucket_of (const Fuser *self, const ScheduleItem *item, guint32 kernel)
{
  const BoundKernel *cost = kernel_at (self, kernel);
  double             hbm = cost->hbm_bytes / self->program->gpu->hbm_bandwidth.value;

  if (item->kernel->kind == KERNEL_COPY)
    return BUCKET_COPY;
  if (cost->wave_units > 0 && cost->wave_units + HELD_SMS <= self->program->gpu->sms.value)
    return BUCKET_NARROW;
  return hbm >= busy_seconds (cost) * (1 - 1e-6) ? BUCKET_HBM : BUCKET_SM;
}

static void
add_part (GArray *parts, guint first, double units, double seconds)
{
  WavePart part = { units, seconds, 1 };

  for (guint i = first; i < parts->len; i++)
    {
      WavePart *known = &g_array_index (parts, WavePart, i);

      if (known->units == units && known->unit_seconds == seconds)
        {
          known->count++;
          return;
        }
    }
  g_array_append_val (parts, part);
}

/* The sums over the kernels of one bucket. */
static BoundKernel
sum_kernels (const Fuser *self, const guint32 *kernels, guint n)
{
  GArray     *parts = self->program->parts;
  BoundKernel sum = { .first_part = parts->len };
  double      busy = 0, squares = 0;

  for (guint i = 0; i < n; i++)
    {
      const BoundKernel *one = kernel_at (self, kernels[i]);

      sum.latency = sim_time_add (sum.latency, one->latency);
      sum.sm_seconds += one->sm_seconds;
      sum.hbm_bytes += one->hbm_bytes;
      busy += busy_seconds (one);
      squares += busy_seconds (one) * busy_seconds (one) / one->pieces;
      if (one->wave_units > 0 && one->wave_seconds > 0)
        add_part (parts, sum.first_part, one->wave_units, one->wave_seconds);
    }
  sum.n_parts = parts->len - sum.first_part;
  sum.share = busy > 0 ? 1 / busy : 0;
  sum.pieces = squares > 0 ? busy * busy / squares : 1;
  return sum;
}

/* Appends the op of N items of one bucket. */
static void
append_op (const Fuser *self, Bucket bucket, const guint *items, const guint32 *kernels, guint n)
{
  FusedOp     op = { .item = self->items.items[items[0]], .kernel = kernels[0] };
  BoundKernel sum;
  KernelDesc *desc;

  if (n > 1)
    {
      static const char *const names[BUCKET_N] = { "products", "small products", "element-wise",
                                                   "copies" };
      static const KernelKind  kinds[BUCKET_N] = { KERNEL_MATMUL, KERNEL_MATMUL, KERNEL_ELEMENTWISE,
                                                   KERNEL_COPY };

      sum = sum_kernels (self, kernels, n);
      desc = g_new (KernelDesc, 1);
      *desc = kernel_desc_stream (kinds[bucket], names[bucket], DTYPE_BF16, 0, 0, 0);
      desc->flops = 0;
      g_ptr_array_add (self->program->descs, desc);
      for (guint i = 0; i < n; i++)
        {
          const KernelDesc *one = self->items.items[items[i]].kernel;

          desc->flops += one->flops;
          desc->read_bytes += one->read_bytes;
          desc->write_bytes += one->write_bytes;
          desc->launches += one->launches;
        }
      op.item.kernel = desc;
      op.item.label = NULL;
      op.kernel = self->program->kernels->len;
      g_array_append_val (self->program->kernels, sum);
    }
  g_array_append_val (self->program->fused, op);
}

static guint32
make_group (const Fuser *self, guint first, guint last)
{
  FusedGroup group = { .first = self->program->fused->len,
                       .stream = self->items.items[first].stream };
  guint      items[BUCKET_N][MAX_KERNELS], n[BUCKET_N] = { 0 };
  guint32    kernels[BUCKET_N][MAX_KERNELS];

  for (guint i = first; i <= last; i++)
    if (self->items.items[i].kind == ITEM_KERNEL)
      {
        Bucket b = bucket_of (self, &self->items.items[i], self->compiled[i].kernel);

        items[b][n[b]] = i;
        kernels[b][n[b]++] = self->compiled[i].kernel;
        group.n_kernels++;
      }
  for (Bucket b = 0; b < BUCKET_N; b++)
    if (n[b] > 0)
      append_op (self, b, items[b], kernels[b], n[b]);
  group.n = self->program->fused->len - group.first;
  g_array_append_val (self->program->groups, group);
  return self->program->groups->len - 1;
}

/* ---- what has been met before ---------------------------------------------------------------- */

static guint
hash_key (gconstpointer data)
{
  const GArray *key = data;
  guint         hash = 5381;

  for (guint i = 0; i < key->len; i++)
    hash = hash * 33 + g_array_index (key, guint32, i);
  return hash;
}

static gboolean
equal_keys (gconstpointer a, gconstpointer b)
{
  const GArray *x = a, *y = b;

  return x->len == y->len && memcmp (x->data, y->data, x->len * sizeof (guint32)) == 0;
}

static guint32
find_group (Fuser *self, guint first, guint last)
{
  const ScheduleItem *item = &self->items.items[first];
  guint32             head[] = { item->unit, item->phase, item->stream };
  gpointer            value;
  guint32             group;

  g_array_set_size (self->key, 0);
  g_array_append_vals (self->key, head, G_N_ELEMENTS (head));
  for (guint i = first; i <= last; i++)
    if (self->items.items[i].kind == ITEM_KERNEL)
      g_array_append_val (self->key, self->compiled[i].kernel);
  if (g_hash_table_lookup_extended (self->known, self->key, NULL, &value))
    return GPOINTER_TO_UINT (value);
  group = make_group (self, first, last);
  g_hash_table_insert (self->known, g_array_copy (self->key), GUINT_TO_POINTER (group));
  return group;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* S: when the group is submitted, after its start. */
static SimTime
submission (const Fuser *self, guint first, guint last)
{
  SimTime issued = 0, before = 0, at = 0;

  for (guint i = first; i <= last; i++)
    {
      issued = sim_time_add (issued, self->compiled[i].issue);
      if (self->items.items[i].kind == ITEM_KERNEL)
        {
          const BoundKernel *kernel = kernel_at (self, self->compiled[i].kernel);

          if (issued > before)
            at = MAX (at, issued - before);
          before = sim_time_add (before, kernel->latency);
          before = sim_time_add (before, sim_time_from_seconds (busy_seconds (kernel)));
        }
    }
  return at;
}

/* Notes where the group is submitted: during the issue of the item that the host is at then. */
static void
place_group (Fuser *self, guint first, guint last)
{
  SimTime at = submission (self, first, last), passed = 0;
  guint32 group = find_group (self, first, last);

  for (guint i = first; i <= last; i++)
    if (self->items.items[i].kind == ITEM_KERNEL)
      self->compiled[i].kernel = REPLAY_NONE;
  for (guint i = first; i <= last; i++)
    {
      ProgramItem *item = &self->compiled[i];

      if (sim_time_add (passed, item->issue) >= at)
        {
          item->group = group;
          item->early = at - passed;
          item->issue -= item->early;
          return;
        }
      passed += item->issue;
    }
  g_assert_not_reached ();
}

/* Host time of items that ask nothing of anybody is paid before the next one that does. */
static void
carry_issues (Fuser *self)
{
  SimTime carried = 0;

  for (guint i = 0; i < self->items.n; i++)
    {
      ProgramItem *item = &self->compiled[i];
      ItemKind     kind = (ItemKind) self->items.items[i].kind;
      gboolean     quiet =
          kind == ITEM_HOST_HOOK || (kind == ITEM_KERNEL && item->kernel == REPLAY_NONE);

      if (item->group != REPLAY_NONE)
        {
          item->early = sim_time_add (item->early, carried);
          carried = 0;
        }
      item->issue = sim_time_add (item->issue, carried);
      carried = 0;
      if (quiet && i + 1 < self->items.n)
        {
          carried = item->issue;
          item->issue = 0;
        }
    }
}

static void
fuse_section (Fuser *self, StopPoll *poll)
{
  for (guint i = 0; i < self->items.n && !stop_poll (poll); i++)
    if (self->items.items[i].kind == ITEM_KERNEL)
      {
        guint last = group_end (self, i);

        if (last > i)
          place_group (self, i, last);
        i = last;
      }
  carry_issues (self);
}

/* Kernels or collectives on two streams; messages between stages are few. */
static gboolean
has_concurrent_work (const Program *program, const Schedule *schedule)
{
  guint32 stream = SCHEDULE_NONE;

  for (ScheduleSection s = SECTION_FIRST; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (schedule, program->role, s);

      for (guint i = 0; i < items.n; i++)
        {
          const ScheduleItem *item = &items.items[i];

          if ((item->kind != ITEM_KERNEL && item->kind != ITEM_COLLECTIVE)
              || item->stream == stream)
            continue;
          if (stream != SCHEDULE_NONE)
            return TRUE;
          stream = item->stream;
        }
    }
  return FALSE;
}

void
fuse_program (Program *program, const Schedule *schedule, Granularity granularity, StopPoll *poll)
{
  g_autoptr (GHashTable) known =
      g_hash_table_new_full (hash_key, equal_keys, (GDestroyNotify) g_array_unref, NULL);
  g_autoptr (GArray) key = g_array_new (FALSE, FALSE, sizeof (guint32));

  Fuser self = {
    .program = program, .schedule = schedule, .granularity = granularity, .known = known, .key = key
  };

  self.max_kernels = has_concurrent_work (program, schedule) ? MAX_CONCURRENT : MAX_KERNELS;
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    {
      if (s == SECTION_STEADY && program->items[s] == program->items[SECTION_FIRST])
        continue;
      self.items = schedule_items (schedule, program->role, s);
      self.compiled = (ProgramItem *) (gpointer) program->items[s]->data;
      fuse_section (&self, poll);
    }
}
